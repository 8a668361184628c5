//! From YAML to a [`Topology`]: nodes, links, and whether they fit together.

use super::steps;
use super::yaml::{Fault, Node};
use super::{End, LinkSpec, MOST_NODES, MOST_PORTS, NodeSpec, Time, Topology};
use std::time::Duration;
use wire::BitRate;

/// The rate of a link that does not say: a gigabit port's.
const RATE: BitRate = BitRate(1e9);

pub(super) fn topology(root: &Node) -> Result<Topology, Fault> {
    let file = root.map(&["name", "time", "seed", "topology", "steps"])?;
    let time = file.get("time").map_or(Ok(Time::Virtual), time)?;
    let seed = file.get("seed").map_or(Ok(1), |node| node.number(0, u64::MAX))?;
    let section = file.need("topology")?;
    let section = section.map(&["defaults", "kinds", "nodes", "links"])?;
    let defaults = section.get("defaults").map_or(Ok(Spec::default()), Spec::read)?;
    let mut kinds = Spec::default();
    if let Some(node) = section.get("kinds")
        && let Some(wirespeed) = node.map(&[KIND])?.get(KIND)
    {
        kinds = Spec::read(wirespeed)?;
    }
    let entries = section.need("nodes")?;
    let (mut nodes, mut given) = (Vec::<NodeSpec>::new(), Vec::new());
    for (key, value) in entries.entries()? {
        let spec = Spec::read(value)?.or(&kinds).or(&defaults);
        nodes.push(NodeSpec {
            name: name(key)?,
            ports: 0,
            startup_config: spec.startup_config,
            at: key.at,
        });
        given.push(spec.ports);
    }
    if nodes.is_empty() || nodes.len() > MOST_NODES {
        return Err(entries.fault(format!("a lab has 1 to {MOST_NODES} nodes")));
    }
    let mut links = Vec::new();
    for node in section.get("links").map_or(Ok(&[][..]), Node::list)? {
        let link = link(node, &nodes, &given, &links)?;
        links.push(link);
    }
    // A node that does not say has the ports its links use.
    for (at, (node, given)) in nodes.iter_mut().zip(&given).enumerate() {
        let ends = links.iter().flat_map(|link| link.ends).filter(|end| end.node == at);
        node.ports = given.unwrap_or_else(|| ends.map(|end| end.port).max().unwrap_or(1));
    }
    let steps = file.get("steps").map_or(Ok(&[][..]), Node::list)?;
    let steps = steps.iter().map(|step| steps::read(step, &nodes));
    let steps = steps.collect::<Result<_, _>>()?;
    Ok(Topology { name: name(file.need("name")?)?, time, seed, nodes, links, steps })
}

pub(super) fn time(node: &Node) -> Result<Time, Fault> {
    match node.text()? {
        "virtual" => Ok(Time::Virtual),
        "real" => Ok(Time::Real),
        other => Err(node.fault(format!("{other} is no time; legal: virtual, real"))),
    }
}

const KIND: &str = "wirespeed";

/// What a node, the defaults or a kind say.
#[derive(Default)]
struct Spec {
    ports: Option<usize>,
    startup_config: Option<String>,
}

impl Spec {
    fn read(node: &Node) -> Result<Spec, Fault> {
        let map = node.map(&["kind", "ports", "startup-config"])?;
        if let Some(kind) = map.get("kind")
            && kind.text()? != KIND
        {
            let text = kind.text()?;
            return Err(kind.fault(format!("there is no kind {text} of node; legal: {KIND}")));
        }
        let ports = map.get("ports").map(|node| node.number(1, MOST_PORTS as u64)).transpose()?;
        let startup_config = map.get("startup-config").map(Node::text).transpose()?;
        Ok(Spec {
            ports: ports.map(|ports| ports as usize),
            startup_config: startup_config.map(str::to_string),
        })
    }

    fn or(self, other: &Spec) -> Spec {
        Spec {
            ports: self.ports.or(other.ports),
            startup_config: self.startup_config.or_else(|| other.startup_config.clone()),
        }
    }
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
    nodes: &[NodeSpec],
    ports: &[Option<usize>],
    before: &[LinkSpec],
) -> Result<LinkSpec, Fault> {
    let map = node.map(&["endpoints", "rate", "delay"])?;
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
    let rate = map.get("rate").map_or(Ok(RATE), rate)?;
    let delay = map.get("delay").map_or(Ok(Duration::ZERO), duration)?;
    Ok(LinkSpec { ends, rate, delay, at: node.at })
}

/// `dut:ether1`.
fn end(node: &Node, nodes: &[NodeSpec], ports: &[Option<usize>]) -> Result<End, Fault> {
    let text = node.text()?;
    let Some((name, port)) = text.split_once(':') else {
        return Err(node.fault("an endpoint is a node and a port: dut:ether1"));
    };
    let at = find(node, name, nodes)?;
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
fn number(digits: &str) -> Option<f64> {
    let legal = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    digits.parse().ok().filter(|_| legal)
}
