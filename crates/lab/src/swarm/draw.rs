//! A case drawn from a seed: a tree of routers, networks of every make at them, and trouble.
//!
//! ```text
//!   r1 ─── r2 ─── r4          between routers: plain, tagged, or from a bridge
//!    └──── r3                 networks: a port, a bridge, VLANs (the hosts' or the bridge's), a switch
//! ```
//!
//! Each seed switches most features off, so that those that are on meet each other often (swarm
//! testing, Groce et al. 2012). Every case lets some hosts reach some others; which, the run finds out.

use super::case::{self, Cable, Case, Event, Flow, Harm, Host, Kind, What};
use super::dice::Dice;
use std::net::Ipv4Addr;

/// The most routers of a case.
const MOST: usize = 6;

struct Drawing {
    dice: Dice,
    case: Case,
    /// By router: the networks behind it, which others route to.
    networks: Vec<Vec<String>>,
    /// By router: its interface and address toward its parent, and the parent's address there.
    up: Vec<Option<Up>>,
}

#[derive(Clone)]
struct Up {
    parent: usize,
    interface: String,
    own: String,
    theirs: String,
}

/// The case of a seed.
pub fn draw(seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let storm_ms = dice.of(&[500, 1000, 2000, 4000]);
    let case = Case { seed, storm_ms, ..Case::default() };
    let mut drawing = Drawing { dice, case, networks: Vec::new(), up: Vec::new() };
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
        self.case.cables.push(Cable { ends: [a, b], delay_us });
    }

    fn end(&self, at: usize, port: u8) -> String {
        format!("{}:{port}", self.case.boxes[at].name)
    }

    /// A router, its way to an earlier one, and the networks at it.
    fn router(&mut self, number: usize) {
        let at = self.new_box(format!("r{}", number + 1));
        // Switches stand among the boxes; routers are found by their names.
        let routers: Vec<usize> = (0..at).filter(|&other| self.is_router(other)).collect();
        if !routers.is_empty() {
            let parent = self.dice.of(&routers);
            let (theirs, own) = (format!("10.200.{number}.1"), format!("10.200.{number}.2"));
            let make = self.dice.below(10);
            let vlan = self.dice.between(1, 4094);
            let ports = [self.port(parent), self.port(at)];
            self.cable(self.end(parent, ports[0]), self.end(at, ports[1]));
            let below = [1, 2].map(|n| format!("10.201.{number}.{n}"));
            let below = [[&below[0], &below[1]], [&below[1], &below[0]]];
            let mut interfaces = [parent, at]
                .iter()
                .zip(ports)
                .zip(below)
                .map(|((&own, port), below)| self.between(own, port, make, vlan, below))
                .collect::<Vec<_>>();
            let (down, interface) = (interfaces.remove(0), interfaces.remove(0));
            self.line(parent, format!("/ip address add address={theirs}/30 interface={down}"));
            self.line(at, format!("/ip address add address={own}/30 interface={interface}"));
            self.up[at] = Some(Up { parent, interface, own, theirs });
        }
        for _ in 0..self.dice.of(&[1, 1, 1, 2]) {
            self.network(at);
        }
    }

    fn is_router(&self, at: usize) -> bool {
        self.case.boxes[at].name.starts_with('r')
    }

    /// The interface toward another router: the port, a VLAN on it, two, a bridge or a bond with it, or
    /// a tunnel between the addresses `below`.
    fn between(
        &mut self,
        at: usize,
        port: u8,
        make: usize,
        vlan: u64,
        below: [&String; 2],
    ) -> String {
        let on = format!("ether{port}");
        match make {
            0..3 => on,
            3 => {
                self.line(
                    at,
                    format!("/interface vlan add name=v{port} interface={on} vlan-id={vlan}"),
                );
                format!("v{port}")
            }
            4 => {
                let outer =
                    format!("/interface vlan add name=s{port} interface={on} vlan-id={vlan}");
                self.line(at, format!("{outer} use-service-tag=yes"));
                self.line(
                    at,
                    format!("/interface vlan add name=c{port} interface=s{port} vlan-id=7"),
                );
                format!("c{port}")
            }
            6 => {
                let modes = ["active-backup", "balance-xor", "balance-rr", "broadcast"];
                let mode = modes[vlan as usize % modes.len()];
                let add = format!("/interface bonding add name=o{port} slaves={on}");
                self.line(at, format!("{add} mode={mode}"));
                format!("o{port}")
            }
            7..10 => {
                let [own, theirs] = below;
                self.line(at, format!("/ip address add address={own}/30 interface={on}"));
                let kind = ["ipip", "gre", "eoip"][make - 7];
                let id = if kind == "eoip" { format!(" tunnel-id={vlan}") } else { String::new() };
                let add = format!("/interface {kind} add name=u{port} remote-address={theirs}{id}");
                self.line(at, format!("{add} keepalive=500ms,3"));
                format!("u{port}")
            }
            _ => {
                self.line(at, format!("/interface bridge add name=t{port} protocol-mode=none"));
                self.line(at, format!("/interface bridge port add bridge=t{port} interface={on}"));
                format!("t{port}")
            }
        }
    }

    /// A network of hosts at a router.
    fn network(&mut self, at: usize) {
        let number = self.case.hosts.len() + 1;
        let prefix = format!("10.{}.{number}", at + 1);
        self.networks[at].push(format!("{prefix}.0/24"));
        let n = self.dice.between(1, 2) as u8;
        let vlan = self.dice.between(1, 4094) as u16;
        let make = self.dice.below(7);
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
        self.line(at, format!("/ip address add address={prefix}.254/24 interface={interface}"));
        for (end, host) in ends.into_iter().zip(1..) {
            let name = format!("h{}", self.case.hosts.len() + 1);
            let address =
                |last: u8| -> Ipv4Addr { format!("{prefix}.{last}").parse().expect("an address") };
            let (address, gateway) = (address(host), address(254));
            self.case.hosts.push(Host {
                name: name.clone(),
                address,
                prefix: 24,
                gateway,
                vlan: tag,
            });
            self.cable(end, name);
        }
    }

    /// The way up is the default; what is below is routed there.
    fn routes(&mut self) {
        for at in 0..self.case.boxes.len() {
            let Some(mut up) = self.up[at].clone() else { continue };
            self.line(at, format!("/ip route add gateway={}", up.theirs));
            let networks = self.networks[at].clone();
            loop {
                for network in &networks {
                    let line = format!("/ip route add dst-address={network} gateway={}", up.own);
                    self.line(up.parent, line);
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
                to: if self.dice.percent(10) {
                    self.dice.of(NOBODY).to_string()
                } else {
                    names[to].clone()
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
                let all = [SETTINGS, FILTER, RAW, QUEUES, BRIDGES, CHANGES, CHANGES];
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

/// Addresses of nobody, in networks that are there or are not.
const NOBODY: &[&str] =
    &["10.1.1.99", "10.2.2.99", "10.200.1.2", "172.16.0.1", "172.17.0.1", "8.8.8.8"];

const SETTINGS: &[&str] = &[
    "/ip settings set allow-fast-path=no",
    "/ip settings set icmp-rate-limit=0",
    "/ip settings set arp-timeout=5s",
    "/ip settings set max-neighbor-entries=8",
    "/ip firewall connection tracking set enabled=yes",
    "/ip firewall connection tracking set enabled=no",
    "/ip firewall connection tracking set loose-tcp-tracking=no",
    "/ip firewall connection tracking set udp-timeout=2s udp-stream-timeout=4s icmp-timeout=1s",
    "/interface ethernet set ether1 mtu=1400",
    "/interface ethernet set [find] mtu=600",
    "/ip route add dst-address=172.16.0.0/16 type=unreachable",
    "/ip route add dst-address=172.17.0.0/16 type=blackhole",
    "/ip route add dst-address=172.18.0.0/16 type=prohibit",
];

/// The default firewall's rules.
const DEFAULT: &[&str] = &[
    "/ip firewall filter add chain=input protocol=icmp action=accept",
    "/ip firewall filter add chain=input connection-state=established,related action=accept",
    "/ip firewall filter add chain=forward connection-state=established,related \
     action=fasttrack-connection",
    "/ip firewall filter add chain=forward connection-state=established,related action=accept",
    "/ip firewall filter add chain=forward connection-state=invalid action=drop",
];

const FILTER: &[&str] = &[
    "/ip firewall filter add chain=forward action=passthrough",
    "/ip firewall filter add chain=forward protocol=tcp dst-port=80 action=accept",
    "/ip firewall filter add chain=forward protocol=udp dst-port=7 action=accept log=yes",
    "/ip firewall filter add chain=forward protocol=tcp tcp-flags=syn,!ack action=passthrough",
    "/ip firewall filter add chain=forward packet-size=600-1500 action=passthrough",
    "/ip firewall filter add chain=forward src-address=10.1.0.0/16 protocol=udp action=drop",
    "/ip firewall filter add chain=forward protocol=tcp dst-address=10.2.0.0/16 action=reject \
     reject-with=tcp-reset",
    "/ip firewall filter add chain=forward protocol=udp dst-address=10.3.0.0/16 action=reject",
    "/ip firewall filter add chain=forward ttl=less-than:63 action=jump jump-target=far",
    "/ip firewall filter add chain=far protocol=icmp action=return",
    "/ip firewall filter add chain=far action=log log-prefix=far",
    "/ip firewall filter add chain=forward in-interface=all-vlan action=passthrough",
    "/ip firewall filter add chain=forward limit=50,5:packet action=passthrough",
    "/ip firewall filter add chain=forward nth=3,1 action=passthrough",
    "/ip firewall filter add chain=output action=passthrough",
    "/ip firewall nat add chain=dstnat protocol=tcp dst-port=81 action=redirect to-ports=80",
    "/ip firewall filter add chain=forward per-connection-classifier=both-addresses:2/0 \
     action=passthrough",
    "/ip firewall filter add chain=forward connection-bytes=1000-100000 action=passthrough",
    "/ip firewall filter add chain=forward protocol=udp dst-limit=20,5,dst-address/10s action=accept",
    "/ip firewall filter add chain=forward protocol=tcp connection-limit=3,32 action=log",
    "/ip firewall filter add chain=forward protocol=udp action=add-src-to-address-list \
     address-list=seen address-list-timeout=1s",
    "/ip firewall filter add chain=forward src-address-list=seen action=passthrough",
    "/ip firewall nat add chain=srcnat src-address=10.2.0.0/16 action=netmap to-addresses=10.99.0.0/16",
];

/// Raw and mangle: what is left untracked, marked, edited.
const RAW: &[&str] = &[
    "/ip firewall raw add chain=prerouting protocol=udp dst-port=7 action=notrack",
    "/ip firewall raw add chain=prerouting src-address=10.2.0.0/16 action=accept",
    "/ip firewall raw add chain=prerouting protocol=icmp packet-size=500-2000 action=drop",
    "/ip firewall raw add chain=output action=notrack",
    "/ip firewall mangle add chain=prerouting connection-state=new action=mark-connection \
     new-connection-mark=c1",
    "/ip firewall mangle add chain=prerouting connection-mark=c1 action=mark-packet new-packet-mark=p1",
    "/ip firewall mangle add chain=forward packet-mark=p1 action=change-dscp new-dscp=10",
    "/ip firewall mangle add chain=forward protocol=tcp tcp-flags=syn action=change-mss new-mss=600",
    "/ip firewall mangle add chain=postrouting action=change-ttl new-ttl=decrement:1",
    "/ip firewall mangle add chain=postrouting packet-mark=!p1 action=mark-packet new-packet-mark=p2 \
     passthrough=no",
    "/ip firewall mangle add chain=forward connection-state=established action=fasttrack-connection",
    "/ip firewall mangle add chain=output action=set-priority new-priority=3",
    "/ip firewall mangle add chain=prerouting src-address=10.1.0.0/16 action=mark-routing \
     new-routing-mark=second",
    "/ip route add dst-address=10.0.0.0/8 gateway=10.200.1.1 routing-mark=second",
    "/ip route rule add src-address=10.2.0.0/16 action=lookup table=second",
    "/ip firewall filter add chain=input action=passthrough",
    "/ip firewall filter add chain=forward connection-nat-state=srcnat action=passthrough",
    "/ip firewall filter add chain=forward packet-mark=p1 connection-mark=c1 action=passthrough",
    "/ip firewall filter add chain=forward connection-state=untracked action=log",
];

const QUEUES: &[&str] = &[
    "/queue simple add target=10.1.0.0/16 max-limit=100M/100M",
    "/queue simple add target=10.0.0.0/8 max-limit=2M/2M",
    "/queue simple add target=10.2.0.0/16 dst=10.1.0.0/16 max-limit=500k/10M bucket-size=0.01/0.01",
    "/queue simple add target=ether1 max-limit=5M/5M queue=default/default",
    "/queue simple add target=10.1.1.0/24 max-limit=1M/2M limit-at=100k/100k priority=1/2 \
     queue=pcq-upload-default/pcq-download-default",
    "/queue simple add target=10.1.2.0/24 max-limit=2M/2M burst-limit=8M/8M burst-threshold=1M/1M \
     burst-time=2s/2s queue=hotspot-default/synchronous-default",
    "/queue simple add target=10.3.0.0/16 total-max-limit=1M total-queue=wireless-default",
    "/queue tree add parent=global max-limit=20M",
    "/queue tree add parent=global packet-mark=p1 max-limit=500k queue=default",
    "/queue tree add parent=ether1 max-limit=10M queue=pcq-download-default",
    "/queue tree add parent=ether1 packet-mark=p2,no-mark max-limit=1M bucket-size=0.01",
];

const BRIDGES: &[&str] = &[
    "/interface bridge settings set allow-fast-path=no",
    "/interface bridge set [find] ageing-time=2s",
    "/interface bridge port set [find interface=ether2] learn=no",
    "/interface bridge filter add chain=forward action=passthrough",
    "/interface bridge filter add chain=forward mac-protocol=arp action=accept log=yes",
    "/interface bridge filter add chain=input action=passthrough",
    "/interface bridge filter add chain=forward mac-protocol=ip src-address=10.0.0.0/8 \
     ip-protocol=udp action=drop",
    "/interface bridge filter add chain=output packet-type=broadcast action=passthrough",
];

/// What is typed while packets flow.
const CHANGES: &[&str] = &[
    "/ip firewall filter remove [find]",
    "/ip firewall filter disable [find chain=forward]",
    "/ip firewall filter enable [find]",
    "/ip firewall filter add chain=forward action=drop",
    "/ip firewall nat remove [find]",
    "/ip firewall mangle remove [find]",
    "/ip firewall mangle disable [find chain=prerouting]",
    "/ip firewall mangle set [find action=mark-packet] new-packet-mark=p3",
    "/ip firewall raw remove [find]",
    "/ip firewall connection remove [find]",
    "/ip firewall filter reset-counters-all",
    "/queue simple remove [find]",
    "/queue tree disable [find]",
    "/queue simple set [find] queue=default-small/default-small",
    "/ip route rule remove [find]",
    "/ip firewall address-list add list=seen address=10.1.0.0/16 timeout=1s",
    "/ip firewall address-list remove [find]",
    "/queue simple set [find] max-limit=1M/1M",
    "/queue simple set [find] queue=hotspot-default/pcq-download-default",
    "/queue tree set [find] max-limit=2M",
    "/queue tree remove [find]",
    "/ip route remove [find dst-address=0.0.0.0/0]",
    "/ip route disable [find static]",
    "/ip route enable [find static]",
    "/ip address disable [find]",
    "/ip address enable [find]",
    "/interface ethernet disable ether1",
    "/interface ethernet enable ether1",
    "/interface ethernet set ether1 mac-address=02:00:00:00:77:01",
    "/interface vlan disable [find]",
    "/interface gre disable [find]",
    "/interface gre enable [find]",
    "/interface eoip set [find] dscp=46 keepalive=1s,2",
    "/interface bonding set [find] mode=active-backup",
    "/interface vlan enable [find]",
    "/interface bridge port disable [find]",
    "/interface bridge port enable [find]",
    "/interface bridge set [find] vlan-filtering=yes",
    "/interface bridge set [find] vlan-filtering=no",
    "/interface bridge port set [find] pvid=9",
    "/ip settings set ip-forward=no",
    "/ip settings set ip-forward=yes",
];
