//! Random configurations: a layout of ports, and lines that a user may type in any order.
//!
//! ```text
//! 10.0.n.0/24 is the network behind ether n, the router is .254 there: on the port itself, on the
//! bridge that the port belongs to, or on a VLAN of either: `trunk n`, whose frames the hosts behind
//! ether n tag, or `access n`, where a bridge with VLAN filtering does.
//! ```

mod bridge;
mod mangle;
mod rules6;
mod tunnels;
mod untracked;

pub(crate) use bridge::Vlans;

use crate::session::SECRET;
use bridge::{bridge_nat_rule, bridge_rule};
use mangle::mangle_rule;
use port::Capabilities;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use rules6::{addresses, change6, common6, rule6};
use tunnels::tunnels;

/// How many ports the router has.
pub(crate) const PORTS: u8 = 4;

/// A layout, and what was typed.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    /// Bit n: ether n+1 is a port of bridge1.
    bridged: u8,
    /// Bit n: the hosts behind ether n+1 tag their frames.
    tagged: u8,
    vlans: Vlans,
    /// Bit n: ether n+1 cannot receive, or send, in FastPath.
    slow: (u8, u8),
    /// The bridge has a spanning tree.
    tree: bool,
    /// A PPPoE server is where the network behind this port is.
    pub(crate) session: Option<u8>,
    /// It is L2TP's, and the server everywhere.
    pub(crate) l2tp: bool,
    /// Ether4 is the slave of a bond of this mode, which is in its place.
    bonded: Option<&'static str>,
    typed: Vec<String>,
}

impl Configuration {
    /// A layout (bit n: ether n+1 is bridged), and these lines.
    pub(crate) fn of(bridged: u8, typed: &[&str]) -> Configuration {
        let typed = typed.iter().map(ToString::to_string).collect();
        Configuration {
            bridged,
            tagged: 0,
            vlans: Vlans::Unaware,
            slow: (0, 0),
            tree: false,
            session: None,
            l2tp: false,
            bonded: None,
            typed,
        }
    }

    /// The same with PPPoE's session, if there is one.
    #[allow(dead_code, reason = "not everybody who takes this file asks for it")]
    pub(crate) fn of_pppoe(self) -> Configuration {
        Configuration { l2tp: false, ..self }
    }

    pub(crate) fn capabilities(&self) -> Vec<Capabilities> {
        let port = |n: u8| Capabilities {
            fast_path_rx: self.slow.0 >> n & 1 == 0,
            fast_path_tx: self.slow.1 >> n & 1 == 0,
            ..Capabilities::default()
        };
        (0..PORTS).map(port).collect()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let apart = matches!(self.vlans, Vlans::Apart | Vlans::Mixed);
        let filtering = if apart { " vlan-filtering=yes" } else { "" };
        let tree = if self.tree { "" } else { " protocol-mode=none" };
        let mut lines = vec![
            format!("/interface bridge add name=bridge1{tree}{filtering}"),
            "/interface list add name=some".to_string(),
            "/queue type add name=fair kind=fq-codel fq-codel-limit=6 fq-codel-target=1ms \
             fq-codel-interval=20ms"
                .to_string(),
            "/queue type add name=fine kind=cake cake-rtt=20ms cake-memlimit=4000 cake-bandwidth=300k \
             cake-overhead-scheme=pppoe-llcsnap cake-ack-filter=filter cake-wash=yes"
                .to_string(),
            "/queue type add name=early kind=red red-limit=8 red-min-threshold=1 \
             red-max-threshold=5 red-burst=2 red-avg-packet=100"
                .to_string(),
            "/queue type add name=each kind=pcq pcq-rate=32k pcq-classifier=src-address,dst-port \
             pcq-src-address6-mask=64"
                .to_string(),
            "/queue type add name=bytes kind=bfifo bfifo-limit=700".to_string(),
            "/queue type add name=delay kind=codel codel-target=1ms codel-interval=10ms codel-ecn=yes"
                .to_string(),
            "/queue simple add name=top target=10.0.0.0/16 disabled=yes".to_string(),
            "/interface list add name=other include=some exclude=dynamic".to_string(),
            "/interface list member add list=some interface=ether1".to_string(),
            "/interface list member add list=some interface=bridge1".to_string(),
            "/ip firewall layer7-protocol add name=abc regexp=abc|^GET".to_string(),
            "/ip firewall layer7-protocol add name=any regexp=..".to_string(),
        ];
        lines
            .extend(self.bonded.map(|mode| {
                format!("/interface bonding add name=bond4 slaves=ether4 mode={mode}")
            }));
        let bit = |bits: u8, n: u8| bits >> (n - 1) & 1 == 1;
        let others = |n: u8| {
            let others = (1..=PORTS).filter(|&m| m != n && bit(self.bridged, m));
            let others = others.filter(|_| self.vlans == Vlans::Mixed);
            let bonded = |m| m == 4 && self.bonded.is_some();
            let name = |m| if bonded(m) { ",bond4".into() } else { format!(",ether{m}") };
            others.map(name).collect::<String>()
        };
        for n in 1..=PORTS {
            let (bridged, tagged) = (bit(self.bridged, n), bit(self.tagged, n));
            let (mut port, trunk) = (format!("ether{n}"), format!("trunk{n}"));
            if n == 4 && self.bonded.is_some() {
                port = "bond4".to_string();
            }
            let below = tagged && (!bridged || self.vlans == Vlans::Below);
            if below {
                lines.push(format!("/interface vlan add name={trunk} interface={port} vlan-id=5"));
            }
            let member = if below { &trunk } else { &port };
            if !bridged {
                lines.extend(addresses(n, member));
                lines.extend(self.server(n, member));
                continue;
            }
            let pvid = if apart && !tagged { format!(" pvid=2{n}") } else { String::new() };
            let add = "/interface bridge port add bridge=bridge1";
            // All but one forward at once; that one needs three seconds.
            let edge = if self.tree && n != 2 { " edge=yes" } else { "" };
            lines.push(format!("{add} interface={member}{pvid}{edge}"));
            let on = match (apart, tagged && !below) {
                (false, false) => "bridge1".to_string(),
                (_, true) => trunk,
                (true, false) => format!("access{n}"),
            };
            let id = if tagged { format!("1{n}") } else { format!("2{n}") };
            if on != "bridge1" {
                lines.push(format!("/interface vlan add name={on} interface=bridge1 vlan-id={id}"));
            }
            if apart {
                let mine = if tagged { format!(",{port}") } else { String::new() };
                let tagged = format!("bridge1{mine}{}", others(n));
                let add = "/interface bridge vlan add bridge=bridge1";
                lines.push(format!("{add} vlan-ids={id} tagged={tagged}"));
            }
            lines.extend(addresses(n, &on));
            lines.extend(self.server(n, &on));
        }
        lines.extend(self.typed.iter().cloned());
        lines
    }

    /// The PPPoE server on the interface of a network, if it is there.
    fn server(&self, n: u8, on: &str) -> Option<String> {
        let mut add = format!("/interface pppoe-server server add interface={on}");
        if self.l2tp {
            let set = "/interface l2tp-server server set enabled=yes default-profile=p";
            add = format!("{set} allow-fast-path=yes");
        }
        let line = format!("{SECRET}\n{add} keepalive-timeout=disabled authentication=pap");
        (self.session == Some(n)).then_some(line)
    }
}

pub(crate) fn configuration() -> impl Strategy<Value = Configuration> {
    let bridged = select(vec![0b0000, 0b0000, 0b0000, 0b0011, 0b1100, 0b0111, 0b1111]);
    let slow = prop_oneof![4 => Just((0, 0)), 1 => (0..16u8, 0..16u8)];
    // Firewalls come in whole, or not at all, so that the quick ways have their turn.
    let common = proptest::collection::vec(common(), 0..6);
    let rules = prop_oneof![1 => Just(0), 2 => 1..8usize];
    let rules = rules.prop_flat_map(|n| proptest::collection::vec(rule(), 0..=n));
    let queues = prop_oneof![2 => Just(0), 1 => 1..4usize];
    let queues = queues.prop_flat_map(|n| proptest::collection::vec(queue(), 0..=n));
    let tagged = select(vec![0b0000, 0b0000, 0b0000, 0b0001, 0b0101, 0b1111]);
    let vlans = select(vec![Vlans::Unaware, Vlans::Apart, Vlans::Mixed, Vlans::Below]);
    let tree = select(vec![false, false, true]);
    let modes =
        ["active-backup", "balance-xor", "balance-rr", "broadcast", "balance-tlb", "balance-alb"];
    let bonded = prop_oneof![3 => Just(None), 1 => select(modes.to_vec()).prop_map(Some)];
    let session = prop_oneof![3 => Just(None), 1 => (1..=PORTS).prop_map(Some)];
    let layout = (bridged, tagged, vlans, slow, tree, bonded, session, any::<bool>());
    let is_untracked = prop::bool::weighted(0.25);
    (layout, common, rules, queues, tunnels(), is_untracked).prop_map(
        |(
            (bridged, tagged, vlans, slow, tree, bonded, session, l2tp),
            common,
            rules,
            queues,
            tunnels,
            is_untracked,
        )| {
            let typed = untracked::lines(is_untracked, [tunnels, common, rules, queues].concat());
            Configuration { bridged, tagged, vlans, slow, tree, bonded, session, l2tp, typed }
        },
    )
}

/// What somebody may type while packets flow.
pub(crate) fn change() -> impl Strategy<Value = String> {
    const CHANGES: &[&str] = &[
        "/ip firewall filter remove [find]",
        "/ip firewall filter remove [find action=drop]",
        "/ip firewall filter disable [find chain=forward]",
        "/ip firewall filter enable [find]",
        "/ip route rule remove [find]",
        "/ip route rule disable [find table=wan]",
        "/ip route remove [find routing-mark=wan]",
        "/ip firewall mangle remove [find]",
        "/ip firewall mangle disable [find chain=prerouting]",
        "/ip firewall mangle enable [find]",
        "/ip firewall raw remove [find]",
        "/ip firewall raw disable [find action=notrack]",
        "/ip firewall nat remove [find]",
        "/ip firewall nat disable [find]",
        "/queue simple remove [find]",
        "/queue simple set [find] max-limit=1M/1M",
        "/queue simple disable [find]",
        "/queue simple enable [find name=top]",
        "/queue simple enable [find name=top]",
        "/queue simple set [find name=top] max-limit=64k/64k",
        "/queue simple set [find] queue=fair/early",
        "/queue simple set [find] priority=2/7",
        "/queue simple set [find name!=top] parent=top",
        "/queue type set [find name=fair] fq-codel-limit=2",
        "/queue tree set [find] max-limit=1M",
        "/queue tree remove [find]",
        "/ip route remove [find dst-address=172.16.0.0/16]",
        "/ip route disable [find dst-address=172.16.1.0/24]",
        "/ip route enable [find dst-address=172.16.1.0/24]",
        "/ip firewall connection remove [find]",
        "/ip firewall filter reset-counters-all",
        "/ip address disable [find interface=ether2]",
        "/ip address enable [find]",
        "/interface ethernet disable ether2",
        "/interface ethernet enable ether2",
        "/interface ethernet set ether2 mac-address=02:00:00:00:0a:02",
        "/interface bridge port remove [find interface=ether2]",
        "/interface bridge port disable [find]",
        "/interface bridge set [find] dhcp-snooping=yes",
        "/interface bridge set [find] igmp-snooping=yes",
        "/interface bridge settings set use-ip-firewall=yes",
        "/interface bridge port set [find interface=ether1] trusted=yes",
        "/interface bridge port enable [find]",
        "/interface list member remove [find interface=bridge1]",
        "/interface list member add list=other interface=ether2",
        "/interface vlan disable [find name~\"1\"]",
        "/interface vlan enable [find]",
        "/interface vlan set [find name~\"2\"] vlan-id=6",
        "/interface bridge set bridge1 vlan-filtering=no",
        "/interface bridge set bridge1 vlan-filtering=yes",
        "/interface bridge set bridge1 pvid=21",
        "/interface bridge vlan remove [find vlan-ids=12]",
        "/interface bridge port set [find interface=ether1] pvid=22",
        "/ip firewall address-list add list=fresh address=10.0.1.2 timeout=4s",
        "/ip firewall address-list add list=some address=10.0.2.0/24 timeout=15s",
        "/ip firewall address-list remove [find dynamic]",
        "/ip firewall address-list remove [find]",
        "/interface ipip disable [find]",
        "/interface gre set [find] remote-address=10.0.2.2",
        "/interface eoip remove [find]",
        "/interface vrrp disable [find]",
        "/interface bonding disable [find]",
        "/interface bonding set [find] mode=active-backup",
        "/interface ethernet disable ether4",
        "/interface vrrp set [find] priority=1",
        "/interface pppoe-server server disable [find]",
        "/ppp profile set [find] change-tcp-mss=yes",
        "/ip settings set ip-forward=no",
        "/ip settings set ip-forward=yes",
    ];
    prop_oneof![
        8 => select(CHANGES).prop_map(String::from),
        2 => change6(),
        4 => common(),
        4 => rule(),
        4 => queue(),
    ]
}

fn common() -> impl Strategy<Value = String> {
    const LINES: &[&str] = &[
        "/ip settings set allow-fast-path=no",
        "/ip settings set icmp-rate-limit=0",
        "/ip settings set icmp-rate-limit=2",
        "/ip settings set arp-timeout=3s",
        "/ip settings set max-neighbor-entries=3",
        "/interface bridge settings set allow-fast-path=no",
        "/ip firewall connection tracking set enabled=yes",
        "/ip firewall connection tracking set enabled=yes",
        "/ip firewall connection tracking set enabled=no",
        "/ip firewall connection tracking set loose-tcp-tracking=no",
        "/ip firewall connection tracking set udp-timeout=2s udp-stream-timeout=5s",
        "/interface ethernet set ether2 mtu=600",
        "/interface ethernet set ether1 mtu=1400",
        "/ppp profile set [find] change-tcp-mss=yes",
        "/interface pppoe-server server set [find] max-mtu=1400",
        "/interface bridge set bridge1 ageing-time=5s",
        "/interface bridge port set [find interface=ether2] learn=no",
        "/interface bridge port set [find] horizon=1",
        "/interface bridge port set [find] ingress-filtering=yes",
        "/interface bridge port set [find interface=ether1] frame-types=admit-only-vlan-tagged",
        "/interface bridge port set [find interface=ether2] \
         frame-types=admit-only-untagged-and-priority-tagged",
        "/interface bridge port set [find interface=ether2] tag-stacking=yes",
        "/interface bridge set bridge1 ingress-filtering=yes",
        "/interface bridge set bridge1 ether-type=0x88a8",
        "/interface bridge set bridge1 ether-type=0x9100",
        "/interface vlan add name=inner interface=ether3 vlan-id=5",
        "/interface vlan set [find name~\"3\"] mtu=700",
        "/interface bridge port set [find interface=ether1] unknown-unicast-flood=no",
        "/ip route add dst-address=172.16.0.0/16 gateway=10.0.2.1",
        "/ip route add dst-address=172.16.0.0/16 gateway=10.0.3.1 distance=5",
        "/ip route add dst-address=172.16.1.0/24 gateway=10.0.2.1,10.0.3.1,10.0.4.2",
        "/ip route add dst-address=172.16.2.0/24 type=blackhole",
        "/ip route add dst-address=172.16.3.0/24 type=unreachable",
        "/ip route add dst-address=172.16.4.0/24 type=prohibit",
        "/ip route add dst-address=172.16.5.0/24 gateway=ether3",
        "/ip route add gateway=10.0.4.1",
        "/ip route add gateway=172.16.7.1 distance=2",
        "/ip route add dst-address=10.0.2.2/32 gateway=10.0.3.2",
        "/ip route add dst-address=172.16.0.0/16 gateway=10.0.4.1 routing-mark=wan",
        "/ip route add gateway=10.0.3.1 routing-mark=wan",
        "/ip route add dst-address=172.16.1.0/24 gateway=10.0.3.1,10.0.4.2 routing-mark=wan",
        "/ip route add dst-address=10.0.2.0/25 type=prohibit routing-mark=wan",
        "/ip route rule add src-address=10.0.1.0/24 table=wan",
        "/ip route rule add interface=ether1 action=lookup-only-in-table table=wan",
        "/ip route rule add dst-address=172.16.5.0/24 action=drop",
        "/ip route rule add routing-mark=wan action=unreachable",
        "/ip route rule add routing-mark=wan dst-address=10.0.0.0/8 table=main",
        "/ip firewall address-list add list=some address=10.0.1.0/24",
        "/ip firewall address-list add list=some address=10.0.3.1-10.0.3.2",
        "/ip address add address=10.0.1.253/24 interface=ether1",
        "/ip address add address=192.0.2.1/32 interface=ether2",
        "/interface vrrp add name=vrrp1 interface=ether3 priority=255
         /ip address add address=10.0.3.200/32 interface=vrrp1",
        "/interface vrrp add name=vrrp2 interface=bridge1 priority=255 version=2
         /ip address add address=10.0.1.200/32 interface=vrrp2",
        "/interface vrrp add name=vrrp3 interface=ether2 interval=100ms
         /ip address add address=10.0.2.200/32 interface=vrrp3",
        "/interface vrrp add name=vrrp4 interface=bridge1 priority=255 v3-protocol=ipv6
         /ipv6 address add address=2001:db8:a00:1::200/64 interface=vrrp4",
        "/interface vrrp add name=vrrp5 interface=ether2 priority=255 v3-protocol=ipv6
         /ipv6 address add address=2001:db8:a00:2::200/128 interface=vrrp5",
    ];
    prop_oneof![5 => select(LINES).prop_map(String::from), 1 => common6()]
}

fn queue() -> impl Strategy<Value = String> {
    let targets = [
        "10.0.1.0/24",
        "10.0.2.1/32",
        "10.0.3.0/24,10.0.2.2/32",
        "ether1",
        "ether3",
        "0.0.0.0/0",
        "2001:db8:a00:1::/64",
        "2001:db8:a00:2::1,10.0.2.1",
        "::/0",
    ];
    let dst = select(vec![
        "",
        "",
        "",
        " dst=10.0.2.0/24",
        " dst=ether2",
        " dst=172.16.0.0/16",
        " dst=2001:db8:a00:2::/64",
    ]);
    let rate = || select(vec!["0", "8k", "64k", "1M", "100M"]);
    let depth = select(vec!["", "", " bucket-size=0.001/1", " bucket-size=0/0"]);
    let simple = (select(targets.to_vec()), dst, rate(), rate(), depth, more()).prop_map(
        |(target, dst, up, down, depth, more)| {
            format!("/queue simple add target={target}{dst} max-limit={up}/{down}{depth}{more}")
        },
    );
    const TREES: &[&str] = &[
        "/queue tree add parent=global max-limit=64k",
        "/queue tree add parent=global max-limit=1M queue=fair",
        "/queue tree add parent=ether2 max-limit=64k queue=fair",
        "/queue tree add parent=ether1 max-limit=8k bucket-size=1",
        "/queue tree add parent=ether3 name=root max-limit=1M",
        "/queue tree add parent=root max-limit=64k queue=fine priority=2 packet-mark=a",
        "/queue tree add parent=root limit-at=8k packet-mark=b,no-mark",
        "/queue tree add parent=global max-limit=8k packet-mark=b queue=each",
        "/queue tree add parent=ether2 max-limit=64k packet-mark=a",
        "/queue tree add parent=bridge1 max-limit=64k queue=fair",
        "/queue tree add parent=trunk1 max-limit=64k packet-mark=a",
        "/queue tree add parent=trunk2 max-limit=8k queue=fine",
        "/queue tree add parent=trunk3 max-limit=100M",
        "/queue tree add parent=bond4 max-limit=64k queue=delay",
        "/queue tree add parent=vrrp1 max-limit=8k",
        "/queue tree add parent=tunnel5 max-limit=64k",
    ];
    prop_oneof![4 => simple, 2 => select(TREES).prop_map(String::from)]
}

/// What a simple queue may have beside its limit.
fn more() -> impl Strategy<Value = String> {
    const MORE: &[&str] = &[
        "",
        "",
        " parent=top",
        " packet-marks=a",
        " time=0s-3s,thu",
        " time=2s-1d,thu,fri parent=top",
        " packet-marks=b,no-mark parent=top",
        " parent=top priority=1/3 queue=fair/default",
        " limit-at=8k/8k burst-limit=1M/1M burst-threshold=32k/32k burst-time=1s/2s",
        " queue=early/early",
        " queue=hotspot-default/pcq-download-default",
        " queue=delay/each total-max-limit=64k",
        " queue=fine/bytes total-max-limit=1M total-queue=fair",
        " queue=pcq-upload-default/delay parent=top total-limit-at=8k",
    ];
    select(MORE).prop_map(String::from)
}

/// A rule of some table.
fn rule() -> impl Strategy<Value = String> {
    let has_bridge_filter = router::MENUS.iter().any(|m| m.path == "/interface bridge filter");
    prop_oneof![
        6 => filter_rule(),
        6 => rule6(),
        3 => nat_rule(),
        4 => mangle_rule(),
        2 => raw_rule(),
        u32::from(has_bridge_filter) + 1 => bridge_rule(has_bridge_filter),
        1 => bridge_nat_rule(),
    ]
}

fn raw_rule() -> impl Strategy<Value = String> {
    let chain = select(vec!["prerouting", "prerouting", "prerouting", "output", "one"]);
    let action = select(vec![
        "accept",
        "drop",
        "notrack",
        "notrack",
        "notrack",
        "add-src-to-address-list address-list=fresh address-list-timeout=7s",
        "passthrough",
        "jump jump-target=one",
        "return",
        "log",
    ]);
    (chain, matchers(), action).prop_map(|(chain, matchers, action)| {
        let early = matchers.split(' ').filter(|word| {
            !word.starts_with("connection-") && !word.starts_with("layer7-protocol")
        });
        let early = early.collect::<Vec<_>>().join(" ");
        format!("/ip firewall raw add chain={chain}{early} action={action}")
    })
}

/// Matchers of marks.
fn marks() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "",
        "",
        "",
        " priority=5",
        " priority=!0",
        " routing-mark=wan",
        " routing-mark=!wan",
        " packet-mark=a",
        " packet-mark=a,no-mark",
        " packet-mark=!b",
        " connection-mark=no-mark",
        " connection-mark=no-mark",
        " connection-mark=a",
        " connection-mark=!b",
        " connection-mark=c packet-mark=b",
    ])
}

fn filter_rule() -> impl Strategy<Value = String> {
    let chain = select(vec!["forward", "forward", "forward", "input", "output", "one", "two"]);
    let action = select(vec![
        "accept",
        "accept",
        "drop",
        "passthrough",
        "fasttrack-connection",
        "fasttrack-connection",
        "log log-prefix=L",
        "jump jump-target=one",
        "jump jump-target=two",
        "return",
        "add-src-to-address-list address-list=some",
        "add-dst-to-address-list address-list=fresh",
        "add-src-to-address-list address-list=fresh address-list-timeout=3s",
        "add-dst-to-address-list address-list=some address-list-timeout=20s",
        "reject",
        "reject reject-with=icmp-admin-prohibited",
        "reject reject-with=tcp-reset",
        "tarpit",
        "passthrough log=yes",
    ]);
    (chain, matchers(), marks(), action).prop_map(|(chain, matchers, marks, action)| {
        format!("/ip firewall filter add chain={chain}{matchers}{marks} action={action}")
    })
}

fn nat_rule() -> impl Strategy<Value = String> {
    let source = select(vec![
        "masquerade",
        "masquerade",
        "src-nat to-addresses=10.0.2.254",
        "src-nat to-addresses=10.0.2.250-10.0.2.252",
        "src-nat to-addresses=10.0.2.250-10.0.2.252 randomise-ports=yes",
        "masquerade randomise-ports=yes",
        "netmap to-addresses=10.0.3.128/25",
        "same to-addresses=10.0.2.250-10.0.2.252",
        "same to-addresses=10.0.2.250-10.0.2.252 same-not-by-dst=yes",
        "accept",
        "passthrough",
        "log",
        "add-src-to-address-list address-list=fresh address-list-timeout=5s",
    ]);
    let source = (out(), matchers(), source).prop_map(|(out, matchers, action)| {
        format!("/ip firewall nat add chain=srcnat{out}{matchers} action={action}")
    });
    let ports = select(vec![
        "masquerade to-ports=2000-2001",
        "src-nat to-addresses=10.0.3.254 to-ports=3000",
        "src-nat to-addresses=10.0.1.254 to-ports=1-65535",
    ]);
    let ports = (select(vec!["udp", "tcp"]), ports).prop_map(|(protocol, action)| {
        format!("/ip firewall nat add chain=srcnat protocol={protocol} action={action}")
    });
    let destination = select(vec![
        "/ip firewall nat add chain=dstnat dst-address=10.0.1.254 protocol=tcp action=dst-nat \
         to-addresses=10.0.3.1 to-ports=80",
        "/ip firewall nat add chain=dstnat dst-address=10.0.1.254 protocol=udp action=dst-nat \
         to-addresses=10.0.1.2",
        "/ip firewall nat add chain=dstnat dst-address=10.0.2.254 action=dst-nat \
         to-addresses=10.0.3.1-10.0.3.2",
        "/ip firewall nat add chain=dstnat protocol=udp dst-port=53 action=redirect",
        "/ip firewall nat add chain=dstnat dst-address=10.0.3.128/25 action=netmap \
         to-addresses=10.0.2.0/25",
        "/ip firewall nat add chain=dstnat dst-address=10.0.4.254 action=same \
         to-addresses=10.0.3.1-10.0.3.2",
        "/ip firewall nat add chain=dstnat protocol=tcp dst-port=80 action=redirect to-ports=8080",
        "/ip firewall nat add chain=dstnat protocol=udp action=dst-nat to-addresses=10.0.2.1 \
         to-ports=53",
        "/ip firewall nat add chain=srcnat src-address=10.0.1.0/24 dst-address=10.0.1.0/24 \
         action=masquerade",
    ]);
    prop_oneof![source, ports, destination.prop_map(String::from)]
}

fn out() -> impl Strategy<Value = &'static str> {
    select(vec!["", " out-interface=ether2", " out-interface=!ether1", " out-interface=bridge1"])
}

/// A few matchers that may stand together.
fn matchers() -> impl Strategy<Value = String> {
    const PROTOCOLS: &[&str] = &[
        " protocol=tcp",
        " protocol=udp",
        " protocol=icmp",
        " protocol=!udp",
        " protocol=tcp dst-port=80",
        " protocol=udp port=53,1000-1001",
        " protocol=udp src-port=!1000",
        " protocol=tcp tcp-flags=syn,!ack",
        " protocol=tcp tcp-flags=psh",
        " protocol=tcp tcp-mss=0-1400",
        " protocol=icmp icmp-options=8:0",
        " protocol=icmp icmp-options=3:0-15",
        " protocol=47",
    ];
    const OTHERS: &[&str] = &[
        " in-interface=ether1",
        " in-interface=!ether2",
        " in-interface=bridge1",
        " in-interface=all-ethernet",
        " in-interface=all-vlan",
        " in-interface-list=some",
        " in-interface-list=!some",
        " out-interface-list=other",
        " in-bridge-port=ether1",
        " fragment=yes",
        " fragment=no",
        " src-mac-address=06:00:00:00:01:01",
        " src-mac-address=!06:00:00:00:01:01",
        " src-address=10.0.1.0/24",
        " src-address=!10.0.1.1",
        " dst-address=10.0.2.1-10.0.2.2",
        " dst-address=!172.16.0.0/16",
        " src-address-type=unicast",
        " dst-address-type=local",
        " dst-address-type=!local",
        " dst-address-type=broadcast,multicast",
        " routing-table=main",
        " routing-table=wan",
        " routing-table=!wan",
        " src-address-list=some",
        " dst-address-list=!some",
        " ttl=less-than:10",
        " ttl=equal:63",
        " ttl=not-equal:1",
        " dscp=10",
        " dscp=!10",
        " packet-size=0-100",
        " packet-size=!28-60",
        " packet-size=500",
        " ipv4-options=any",
        " ipv4-options=none",
        " ipv4-options=no-record-route",
        " connection-state=established,related",
        " connection-state=new",
        " connection-state=invalid",
        " connection-state=!new",
        " connection-state=untracked",
        " connection-nat-state=srcnat",
        " connection-nat-state=dstnat",
        " connection-nat-state=!srcnat",
        " random=50",
        " nth=3,2",
        " limit=5/1s,2:packet",
        " limit=100/1s,1000:bit",
        " content=abc",
        " src-address-list=fresh",
        " dst-address-list=!fresh",
        " in-bridge-port-list=some",
        " out-bridge-port-list=!some",
        " ingress-priority=0",
        " ingress-priority=!3",
        " connection-bytes=0-200",
        " connection-bytes=300-0",
        " connection-bytes=!100-500",
        " connection-limit=2,32",
        " connection-limit=!1,24",
        " connection-rate=0-2k",
        " connection-rate=1k-0",
        " psd=4,3s,3,1",
        " dst-limit=1/1s,2,dst-address",
        " dst-limit=5/1m,1,addresses-and-dst-port/2s",
        " per-connection-classifier=both-addresses:2/0",
        " per-connection-classifier=src-address-and-port:3/1",
        " layer7-protocol=abc",
        " layer7-protocol=!any",
        " tls-host=*.example.com",
        " time=0s-20s,thu",
        " time=23h59m-30s,sun,thu",
    ];
    let protocol = prop_oneof![2 => Just(""), 1 => select(PROTOCOLS)];
    // One of each name: what is negated and what is not would collide.
    let others = prop_oneof![2 => 0..2usize, 1 => 2..4usize];
    let others = others.prop_flat_map(|n| subsequence(OTHERS, n)).prop_map(|picked| {
        let mut names = Vec::new();
        let mut text = String::new();
        for matcher in picked {
            let name = matcher.split('=').next();
            if !names.contains(&name) {
                names.push(name);
                text += matcher;
            }
        }
        text
    });
    (protocol, others).prop_map(|(protocol, others)| format!("{protocol}{others}"))
}
