//! From YAML to a [`Topology`]: nodes, links, and whether they fit together.

use super::hosts::{self, KEYS as HOST_KEYS, LINUX_KEYS, UML_KEYS};
use super::steps;
use super::yaml::{Fault, Map, Node};
use super::{
    Backend, End, HostSpec, Kind, LinkSpec, MOST_MACHINES, MOST_NODES, MOST_PORTS, NodeSpec,
    RouterSpec, Time, Topology,
};
use std::time::Duration;
use wire::BitRate;

/// The rate of a link that does not say: a gigabit port's.
const RATE: BitRate = BitRate(1e9);

pub(super) fn topology(root: &Node) -> Result<Topology, Fault> {
    let file = root.map(&["name", "time", "seed", "topology", "steps"])?;
    let seed = file.get("seed").map_or(Ok(1), |node| node.number(0, u64::MAX))?;
    let section = file.need("topology")?;
    let section = section.map(&["defaults", "kinds", "nodes", "links"])?;
    let defaults = section.get("defaults").map(Layers::map).transpose()?;
    let kinds = section.get("kinds").map(|node| node.map(&KINDS)).transpose()?;
    let of_kind = |name| kinds.as_ref().and_then(|kinds| kinds.get(name)).map(Layers::map);
    let of_kinds = KINDS.map(|kind| of_kind(kind).transpose());
    let [wirespeed, linux, uml] = of_kinds;
    let of_kinds = [wirespeed?, linux?, uml?];
    // Whatever they say is to be right, whoever it is for.
    for map in [&defaults].into_iter().chain(&of_kinds) {
        let layers = Layers([map.as_ref(), None, None]);
        layers.kind()?;
        router(&layers)?;
        hosts::read(&layers)?;
    }
    let entries = section.need("nodes")?;
    let given: Vec<_> = entries.entries()?;
    let maps = given.iter().map(|(_, value)| Layers::map(value)).collect::<Result<Vec<_>, _>>()?;
    let (mut nodes, mut ports, mut layers) = (Vec::<NodeSpec>::new(), Vec::new(), Vec::new());
    for ((key, _), map) in given.iter().zip(&maps) {
        let kind = Layers([Some(map), defaults.as_ref(), None]).kind()?;
        let others = match KINDS[kind] {
            LINUX => [&ROUTER_KEYS[..], &UML_KEYS].concat(),
            UML => [&ROUTER_KEYS[..], &LINUX_KEYS].concat(),
            _ => [&HOST_KEYS[..], &LINUX_KEYS, &UML_KEYS].concat(),
        };
        if let Some((key, node)) = others.iter().find_map(|key| Some((key, map.get(key)?))) {
            return Err(node.fault(format!("{key} is not for a node of kind {}", KINDS[kind])));
        }
        let of = Layers([Some(map), of_kinds[kind].as_ref(), defaults.as_ref()]);
        let router = router(&of)?;
        ports.push(router.0);
        let kind = match KINDS[kind] {
            LINUX => {
                Kind::Linux(HostSpec { modules: Vec::new(), vector: None, ..hosts::read(&of)? })
            }
            UML => Kind::Uml(HostSpec { offloads: false, ..hosts::read(&of)? }),
            _ => Kind::Wirespeed(RouterSpec { ports: 0, startup_config: router.1 }),
        };
        nodes.push(NodeSpec { name: name(key)?, kind, at: key.at });
        layers.push(of);
    }
    if nodes.is_empty() || nodes.len() > MOST_NODES {
        return Err(entries.fault(format!("a lab has 1 to {MOST_NODES} nodes")));
    }
    if let Some(node) = nodes.iter().filter(|node| node.is_machine()).nth(MOST_MACHINES) {
        return Err(node.at.fault(format!("a lab has at most {MOST_MACHINES} nodes of kind uml")));
    }
    let mut links = Vec::new();
    for node in section.get("links").map_or(Ok(&[][..]), Node::list)? {
        let link = link(node, &mut nodes, &ports, &links)?;
        links.push(link);
    }
    for node in &nodes {
        let Some(vector) = node.host().and_then(|host| host.vector.as_ref()) else { continue };
        let is_host = |other: &NodeSpec| other.name == vector.inside && !other.is_machine();
        if !nodes.iter().any(|other| is_host(other) && other.host().is_some()) {
            return Err(node.at.fault(format!("{} is no node of kind linux", vector.inside)));
        }
        if links.iter().flat_map(|link| link.ends).any(|end| nodes[end.node].name == node.name) {
            return Err(node.at.fault("a node with vector has no links"));
        }
    }
    for (at, (node, layers)) in nodes.iter_mut().zip(&layers).enumerate() {
        let ends = links.iter().flat_map(|link| link.ends).filter(|end| end.node == at);
        match &mut node.kind {
            // A node that does not say has the ports its links use.
            Kind::Wirespeed(router) => {
                let most = ends.map(|end| end.port).max().unwrap_or(1);
                router.ports = ports[at].unwrap_or(most);
            }
            Kind::Linux(host) | Kind::Uml(host) => hosts::give_addresses(host, &node.name, layers)?,
        }
    }
    let steps = file.get("steps").map_or(Ok(&[][..]), Node::list)?;
    let steps = steps::read(steps, &nodes)?;
    let name = name(file.need("name")?)?;
    let mut topology = Topology { name, time: Time::Virtual, seed, nodes, links, steps };
    if topology.has_hosts() {
        topology.time = Time::Real;
    }
    if let Some(node) = file.get("time") {
        if time(node)? == Time::Virtual && topology.has_hosts() {
            return Err(node.fault("a lab with nodes of kind linux or uml runs in real time only"));
        }
        topology.time = time(node)?;
    }
    Ok(topology)
}

pub(super) fn time(node: &Node) -> Result<Time, Fault> {
    match node.text()? {
        "virtual" => Ok(Time::Virtual),
        "real" => Ok(Time::Real),
        other => Err(node.fault(format!("{other} is no time; legal: virtual, real"))),
    }
}

const WIRESPEED: &str = "wirespeed";
const LINUX: &str = "linux";
const UML: &str = "uml";
const KINDS: [&str; 3] = [WIRESPEED, LINUX, UML];
const ROUTER_KEYS: [&str; 2] = ["ports", "startup-config"];

/// What a node says, what its kind does, and the defaults: the first that says something counts.
pub(super) struct Layers<'a>([Option<&'a Map<'a>>; 3]);

impl<'a> Layers<'a> {
    fn map(node: &'a Node) -> Result<Map<'a>, Fault> {
        node.map(&[&["kind"], &ROUTER_KEYS[..], &HOST_KEYS, &LINUX_KEYS, &UML_KEYS].concat())
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        self.0.iter().flatten().find_map(|map| map.get(key))
    }

    /// Its place among [`KINDS`].
    fn kind(&self) -> Result<usize, Fault> {
        let Some(kind) = self.get("kind") else { return Ok(0) };
        let text = kind.text()?;
        KINDS.iter().position(|kind| *kind == text).ok_or_else(|| {
            let legal = KINDS.join(", ");
            kind.fault(format!("there is no kind {text} of node; legal: {legal}"))
        })
    }
}

/// A router's ports and its script, as far as they are said.
fn router(layers: &Layers<'_>) -> Result<(Option<usize>, Option<String>), Fault> {
    let ports = layers.get("ports").map(|node| node.number(1, MOST_PORTS as u64)).transpose()?;
    let script = layers.get("startup-config").map(Node::text).transpose()?;
    Ok((ports.map(|ports| ports as usize), script.map(str::to_string)))
}

/// A name that can stand in a prompt and in a path.
fn name(node: &Node) -> Result<String, Fault> {
    let text = node.text()?;
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.len() > 60 || text.starts_with('-') || !text.chars().all(legal) {
        return Err(node.fault("a name is 1 to 60 letters, digits, - or _, and begins with no -"));
    }
    Ok(text.to_string())
}

fn link(
    node: &Node,
    nodes: &mut [NodeSpec],
    ports: &[Option<usize>],
    before: &[LinkSpec],
) -> Result<LinkSpec, Fault> {
    let map = node.map(&["endpoints", "rate", "delay", "mtu", "backend"])?;
    let endpoints = map.need("endpoints")?;
    let [a, b] = endpoints.list()? else {
        return Err(endpoints.fault("a link has two endpoints: [\"a:ether1\", \"b:ether1\"]"));
    };
    let ends = [end(a, nodes, ports)?, end(b, nodes, ports)?];
    let used = before.iter().flat_map(|link| link.ends);
    for (at, (&end, node)) in ends.iter().zip([a, b]).enumerate() {
        if used.clone().any(|other| other == end) || ends[..at].contains(&end) {
            return Err(node.fault(format!("{} has a cable already", node.text()?)));
        }
    }
    let hosts: Vec<_> = ends.iter().filter_map(|end| nodes[end.node].host()).collect();
    let machines = ends.iter().filter(|end| nodes[end.node].is_machine()).count();
    let refuse = |keys: &[&str], why: &str| {
        let key = keys.iter().find_map(|key| Some((key, map.get(key)?)));
        key.map_or(Ok(()), |(key, node)| Err(node.fault(format!("{key}: {why}"))))
    };
    match hosts.len() {
        _ if machines == 1 && hosts.len() == 2 => {
            let why = "a node of kind uml is not linked to one of kind linux: put a router between";
            return Err(endpoints.fault(why));
        }
        _ if machines > 0 => refuse(
            &["rate", "delay", "backend"],
            "a link to a node of kind uml is L2TPv3 over UDP, without one",
        )?,
        0 => refuse(&["mtu", "backend"], "only a link to a node of kind linux or uml has one")?,
        1 => refuse(
            &["rate", "delay"],
            "a link to a node of kind linux is a veth pair, without one",
        )?,
        _ => refuse(
            &["rate", "delay", "backend"],
            "a link between hosts is a veth pair, without one",
        )?,
    }
    let backend = map.get("backend").map(hosts::backend).transpose()?;
    if backend == Some(Backend::Xdp) && hosts.iter().any(|host| host.offloads) {
        let why = "the host's offloads are on, and its unfinished frames cannot go through xdp; \
                   legal: packet, tap";
        return Err(map.need("backend")?.fault(why));
    }
    let mtu = map.get("mtu").map(|node| node.number(68, 9000)).transpose()?;
    let rate = map.get("rate").map_or(Ok(RATE), rate)?;
    let delay = map.get("delay").map_or(Ok(Duration::ZERO), duration)?;
    Ok(LinkSpec { ends, rate, delay, mtu: mtu.map(|mtu| mtu as u32), backend, at: node.at })
}

/// `dut:ether1`, `pc:eth1`.
fn end(node: &Node, nodes: &mut [NodeSpec], ports: &[Option<usize>]) -> Result<End, Fault> {
    let text = node.text()?;
    let Some((name, port)) = text.split_once(':') else {
        return Err(node.fault("an endpoint is a node and a port: dut:ether1"));
    };
    let at = find(node, name, nodes)?;
    if let Kind::Linux(host) | Kind::Uml(host) = &mut nodes[at].kind {
        return Ok(End { node: at, port: hosts::interface(host, node, port)? });
    }
    let number = port.strip_prefix("ether").filter(|digits| !digits.starts_with(['0', '+']));
    let number = number.and_then(|digits| digits.parse().ok());
    let most = ports[at].unwrap_or(MOST_PORTS);
    match number.filter(|number| (1..=most).contains(number)) {
        Some(port) => Ok(End { node: at, port }),
        None => Err(node.fault(format!("{name} has no port {port}; its ports: ether1-{most}"))),
    }
}

/// The place of the node that is named so.
pub(super) fn find(node: &Node, name: &str, nodes: &[NodeSpec]) -> Result<usize, Fault> {
    nodes.iter().position(|node| node.name == name).ok_or_else(|| {
        let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
        node.fault(format!("there is no node {name}; the nodes: {}", names.join(", ")))
    })
}

/// `1G`, `100M`, `64k`, `9600`: bits per second on the wire.
fn rate(node: &Node) -> Result<BitRate, Fault> {
    let text = node.text()?;
    let units = [('k', 1e3), ('M', 1e6), ('G', 1e9)];
    let unit = units.into_iter().find(|(unit, _)| text.ends_with(*unit));
    let digits = unit.map_or(text, |(unit, _)| text.trim_end_matches(unit));
    let rate = number(digits).map(|number| number * unit.map_or(1.0, |(_, bits)| bits));
    match rate.filter(|rate| (1000.0..=1e12).contains(rate)) {
        Some(rate) => Ok(BitRate(rate.round())),
        None => Err(node.fault("a rate is 1k to 1000G, in bit/s: 100M, 2.5G")),
    }
}

/// `10us`, `1.5ms`, `2s`.
pub(super) fn duration(node: &Node) -> Result<Duration, Fault> {
    let text = node.text()?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "ns" => Some(1e-9),
        "us" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "m" => Some(60.0),
        _ => None,
    };
    let seconds = seconds.zip(number(digits)).map(|(unit, number)| unit * number);
    match seconds.filter(|seconds| (0.0..=3600.0).contains(seconds)) {
        Some(seconds) => Ok(Duration::from_nanos((seconds * 1e9).round() as u64)),
        None => Err(node.fault("a time is a number with its unit, up to 60m: 10us, 1.5ms, 2s")),
    }
}

/// A decimal number, nothing else that Rust would read as one.
pub(super) fn number(digits: &str) -> Option<f64> {
    let legal = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    digits.parse().ok().filter(|_| legal)
}
