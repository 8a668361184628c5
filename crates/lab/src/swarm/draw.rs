//! A case drawn from a seed: a tree of routers, networks of every make at them, and trouble.
//!
//! ```text
//!   r1 ─── r2 ─── r4          between routers: see `links`
//!    └──── r3                 networks: a port, a bridge, VLANs (the hosts' or the bridge's), a switch,
//!                             with the router's own address or a virtual one, which it may share
//! ```
//!
//! Each seed switches most features off, so that those that are on meet each other often (swarm
//! testing, Groce et al. 2012). Every case lets some hosts reach some others; which, the run finds out.

// Links between routers.
mod links;
// Routers that share a virtual address.
mod backup;

pub(super) use backup::is_backup;

use super::case::{self, Cable, Case, Event, Flow, Harm, Host, Kind, V6, What};
use super::dice::Dice;
use super::lines::{
    BRIDGES, CHANGES, DEFAULT, DEFAULT6, FILTER, FILTER6, LAN, NOBODY, QUEUES, RAW, SETTINGS,
};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The most routers of a case.
const MOST: usize = 6;

struct Drawing {
    dice: Dice,
    case: Case,
    /// By router: the networks behind it, which others route to.
    networks: Vec<Vec<[String; 2]>>,
    /// By router: its interface and address toward its parent, and the parent's address there.
    up: Vec<Option<Up>>,
    /// Whether networks have IPv6 as well.
    v6: bool,
    /// Whether routers agree upon labels.
    labels: bool,
}

#[derive(Clone)]
struct Up {
    parent: usize,
    interface: String,
    own: String,
    theirs: String,
    /// The two addresses of IPv6, if it has them.
    v6: Option<[String; 2]>,
    /// Whether the default route is told, not learnt.
    told: bool,
}

/// The case of a seed.
pub fn draw(seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let storm_ms = dice.of(&[500, 1000, 2000, 4000]);
    let case = Case { seed, storm_ms, ..Case::default() };
    let (v6, labels) = (dice.percent(50), dice.percent(30));
    let mut drawing = Drawing { dice, case, networks: Vec::new(), up: Vec::new(), v6, labels };
    let n = match drawing.dice.below(10) {
        0..3 => 1,
        3..9 => drawing.dice.between(2, 4) as usize,
        _ => MOST,
    };
    for at in 0..n {
        drawing.router(at);
    }
    drawing.routes();
    for at in 0..n {
        drawing.facilities(at);
    }
    drawing.flows();
    drawing.events();
    drawing.case
}

impl Drawing {
    fn line(&mut self, at: usize, line: String) {
        self.case.boxes[at].lines.push(line);
    }

    /// A free port of a box.
    fn port(&mut self, at: usize) -> u8 {
        self.case.boxes[at].ports += 1;
        self.case.boxes[at].ports
    }

    fn new_box(&mut self, name: String) -> usize {
        self.case.boxes.push(case::Box { name, ports: 0, lines: Vec::new() });
        self.networks.push(Vec::new());
        self.up.push(None);
        self.case.boxes.len() - 1
    }

    fn cable(&mut self, a: String, b: String) {
        let delay_us = self.dice.of(&[1, 10, 100, 1000, 5000]);
        self.cable_of([a, b], delay_us);
    }

    fn cable_of(&mut self, ends: [String; 2], delay_us: u64) {
        self.case.cables.push(Cable { ends, delay_us });
    }

    fn end(&self, at: usize, port: u8) -> String {
        format!("{}:{port}", self.case.boxes[at].name)
    }

    /// A router, its way to an earlier one, and the networks at it.
    fn router(&mut self, number: usize) {
        let at = self.new_box(format!("r{}", number + 1));
        // Switches stand among the boxes; routers are found by their names.
        let routers: Vec<usize> = (0..at).filter(|&other| self.is_router(other)).collect();
        if self.labels {
            let set = format!("/mpls ldp set enabled=yes lsr-id=10.255.0.{}", number + 1);
            self.line(at, set);
        }
        if !routers.is_empty() {
            let parent = self.dice.of(&routers);
            self.up[at] = Some(self.link(number, [parent, at]));
        }
        for _ in 0..self.dice.of(&[1, 1, 1, 2]) {
            self.network(at);
        }
    }

    fn is_router(&self, at: usize) -> bool {
        self.case.boxes[at].name.starts_with('r')
    }

    /// A network of hosts at a router.
    fn network(&mut self, at: usize) {
        let number = self.case.hosts.len() + 1;
        let prefix = format!("10.{}.{number}", at + 1);
        let network6 = format!("2001:db8:{}:{number}::/64", at + 1);
        self.networks[at].push([format!("{prefix}.0/24"), network6]);
        let n = self.dice.between(1, 2) as u8;
        let vlan = self.dice.between(1, 4094) as u16;
        let make = self.dice.below(7);
        // The hosts' gateway: the router's own address, or one that VRRP has.
        let is_virtual = self.dice.percent(if make == 2 { 50 } else { 15 });
        let mut backup = None;
        let mut tag = None;
        let mut ends = Vec::new();
        let name = format!("lan{number}");
        let interface = match make {
            // A port, or a VLAN that its host knows.
            0 | 1 => {
                let port = self.port(at);
                ends.push(self.end(at, port));
                match make {
                    0 => format!("ether{port}"),
                    _ => {
                        tag = Some(vlan);
                        let add = format!("/interface vlan add name={name} interface=ether{port}");
                        self.line(at, format!("{add} vlan-id={vlan}"));
                        name
                    }
                }
            }
            // Behind a switch, that is a bridge of its own.
            2 => {
                let port = self.port(at);
                let switch = self.new_box(format!("s{number}"));
                self.line(
                    switch,
                    "/interface bridge add name=bridge1 protocol-mode=none".to_string(),
                );
                let uplink = self.port(switch);
                self.cable(self.end(at, port), self.end(switch, uplink));
                for _ in 0..n {
                    let port = self.port(switch);
                    ends.push(self.end(switch, port));
                }
                if is_virtual && self.dice.percent(70) {
                    backup = Some(self.backup(at, switch, number));
                }
                for port in 1..=self.case.boxes[switch].ports {
                    let add = "/interface bridge port add bridge=bridge1 interface=ether";
                    self.line(switch, format!("{add}{port}"));
                }
                format!("ether{port}")
            }
            // A bridge of ports; with VLAN filtering its hosts are in one of its VLANs.
            _ => {
                let filtering = make >= 5;
                let yes = if filtering { " vlan-filtering=yes" } else { "" };
                self.line(at, format!("/interface bridge add name={name} protocol-mode=none{yes}"));
                for _ in 0..n {
                    let port = self.port(at);
                    ends.push(self.end(at, port));
                    let pvid = if filtering { format!(" pvid={vlan}") } else { String::new() };
                    let add = format!("/interface bridge port add bridge={name}");
                    self.line(at, format!("{add} interface=ether{port}{pvid}"));
                }
                if filtering && vlan != 1 {
                    let add = format!("/interface bridge vlan add bridge={name} tagged={name}");
                    self.line(at, format!("{add} vlan-ids={vlan}"));
                    let add = format!("/interface vlan add name={name}v interface={name}");
                    self.line(at, format!("{add} vlan-id={vlan}"));
                    format!("{name}v")
                } else {
                    name
                }
            }
        };
        let prefix6 = format!("2001:db8:{}:{number}:", at + 1);
        let own = if is_virtual { 253 } else { 254 };
        self.address(at, &interface, [&prefix, &prefix6], own);
        if let Some(backup) = backup {
            self.address(backup, "ether1", [&prefix, &prefix6], 252);
            self.share([(at, &interface), (backup, "ether1")], number, [&prefix, &prefix6]);
        } else if is_virtual {
            self.virtual_address(at, &interface, number, [&prefix, &prefix6], ["", ""]);
        }
        for (end, host) in ends.into_iter().zip(1..) {
            let name = format!("h{}", self.case.hosts.len() + 1);
            let address =
                |last: u8| -> Ipv4Addr { format!("{prefix}.{last}").parse().expect("an address") };
            let (address, gateway) = (address(host), address(254));
            let address6 = |last: u8| -> Ipv6Addr {
                format!("{prefix6}:{last:x}").parse().expect("an address")
            };
            self.case.hosts.push(Host {
                name: name.clone(),
                address,
                prefix: 24,
                gateway,
                v6: self.v6.then(|| V6 { address: address6(host), gateway: address6(0xfe) }),
                vlan: tag,
            });
            self.cable(end, name);
        }
    }

    /// The way up is the default; what is below is routed there.
    fn routes(&mut self) {
        for at in 0..self.case.boxes.len() {
            let Some(mut up) = self.up[at].clone() else { continue };
            if up.told {
                self.line(at, format!("/ip route add gateway={}", up.theirs));
            }
            if let Some([theirs, _]) = &up.v6 {
                self.line(at, format!("/ipv6 route add dst-address=::/0 gateway={theirs}"));
            }
            let networks = self.networks[at].clone();
            // Whether all links so far have IPv6.
            let mut v6 = true;
            loop {
                v6 &= up.v6.is_some();
                for [network, network6] in &networks {
                    let line = format!("/ip route add dst-address={network} gateway={}", up.own);
                    self.line(up.parent, line);
                    if let Some([_, own]) = up.v6.as_ref().filter(|_| v6) {
                        let add = format!("/ipv6 route add dst-address={network6} gateway={own}");
                        self.line(up.parent, add);
                    }
                }
                match self.up[up.parent].clone() {
                    Some(above) => up = above,
                    None => break,
                }
            }
        }
    }

    /// Firewall, translation, queues and settings.
    fn facilities(&mut self, at: usize) {
        let lines = match self.is_router(at) {
            // A backup has no rules of its own: what it passes, its router passes, too.
            false if self.is_backup(at) => self.some(SETTINGS, 1),
            true => {
                let firewall = self.dice.below(4);
                let mut lines = self.some(SETTINGS, 2);
                match firewall {
                    0 => {}
                    1 => lines.extend(self.some(FILTER, 6)),
                    _ => {
                        lines.extend(self.some(RAW, 8));
                        lines.extend(self.some(DEFAULT, DEFAULT.len()));
                        lines.extend(self.some(FILTER, 4));
                    }
                }
                if self.dice.percent(30)
                    && let Some(up) = &self.up[at]
                {
                    let out = format!("out-interface={}", up.interface);
                    lines
                        .push(format!("/ip firewall nat add chain=srcnat {out} action=masquerade"));
                }
                if self.dice.percent(25) {
                    lines.extend(self.some(QUEUES, 3));
                }
                if self.v6 && self.dice.percent(50) {
                    lines.extend(self.some(DEFAULT6, DEFAULT6.len()));
                    lines.extend(self.some(FILTER6, 4));
                }
                if self.dice.percent(30) {
                    lines.extend(self.some(LAN, 3));
                }
                lines
            }
            false => self.some(BRIDGES, 3),
        };
        for line in lines {
            self.line(at, line);
        }
    }

    /// At most so many of these lines, in their order.
    fn some(&mut self, lines: &[&str], most: usize) -> Vec<String> {
        let n = self.dice.below(most + 1);
        let mut picked: Vec<usize> = (0..n).map(|_| self.dice.below(lines.len())).collect();
        picked.sort_unstable();
        picked.dedup();
        picked.into_iter().map(|at| lines[at].to_string()).collect()
    }

    fn flows(&mut self) {
        let names: Vec<String> = self.case.hosts.iter().map(|host| host.name.clone()).collect();
        if names.len() < 2 {
            return;
        }
        for _ in 0..self.dice.between(1, 8) {
            let from = self.dice.below(names.len());
            let to = (from + 1 + self.dice.below(names.len() - 1)) % names.len();
            self.case.flows.push(Flow {
                from: names[from].clone(),
                to: match self.dice.below(20) {
                    0 | 1 => self.dice.of(NOBODY).to_string(),
                    2..11 if self.v6 => format!("{}/6", names[to]),
                    _ => names[to].clone(),
                },
                kind: self.dice.of(&[
                    Kind::Udp,
                    Kind::Udp,
                    Kind::Tcp,
                    Kind::Tcp,
                    Kind::Ping,
                    Kind::Odd,
                ]),
                every_us: self.dice.of(&[500, 2000, 5000, 20_000, 50_000]),
                burst: self.dice.of(&[1, 1, 1, 4, 16]),
                len: self.dice.of(&[10, 64, 400, 1400]),
            });
        }
        for flow in self.case.flows.iter_mut().filter(|flow| flow.kind == Kind::Tcp) {
            (flow.burst, flow.every_us) = (1, flow.every_us.max(2000));
        }
    }

    fn events(&mut self) {
        let n = self.dice.of(&[0, 1, 2, 4, 8, 12]);
        for _ in 0..n {
            let at_ms = self.dice.between(0, self.case.storm_ms);
            let what = self.trouble();
            self.case.events.push(Event { at_ms, what });
        }
    }

    fn trouble(&mut self) -> What {
        let own = self.dice.below(self.case.boxes.len());
        let at = self.case.boxes[own].name.clone();
        let for_ms = self.dice.of(&[1, 10, 100, 1000]);
        match self.dice.below(10) {
            0..4 => {
                let cable = self.dice.below(self.case.cables.len());
                let cable = self.case.cables[cable].ends[0].clone();
                let how =
                    self.dice.of(&[Harm::Loss, Harm::Twice, Harm::Flip, Harm::Cut, Harm::Late]);
                let ppm = self.dice.of(&[10, 1000, 100_000, 1_000_000]);
                What::Harm { cable, how, ppm, for_ms }
            }
            4..8 => {
                let all = [SETTINGS, FILTER, RAW, QUEUES, BRIDGES, FILTER6, LAN, CHANGES, CHANGES];
                let lines = self.dice.of(&all);
                What::Type { at, line: self.dice.of(lines).to_string() }
            }
            8 => What::Restart { at },
            _ => {
                let port = self.dice.between(1, self.case.boxes[own].ports.max(1).into());
                What::Flap { port: format!("{at}:{port}"), for_ms }
            }
        }
    }
}
