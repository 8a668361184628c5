//! The promise behind recipes, on random rules and packets.

use super::*;
use proptest::prelude::*;
use wire::craft::{self, Body, ip};
use wire::icmp::IcmpHeader;
use wire::tcp::TcpHeader;
use wire::{FrameLen, MacAddr, TcpFlags};

/// What a guard is asked about: length, TTL, TOS, flags or ICMP, source MAC.
pub(super) fn fields(packet: &Packet) -> (u16, u8, u8, u16, MacAddr) {
    let view = packet.view();
    let (ip, transport) = (view.ip(), view.transport());
    let flags = match packet.layers.protocol {
        6 => transport[13].into(),
        1 => u16::from_be_bytes([transport[0], transport[1]]),
        _ => 0,
    };
    (view.ip_len, ip[8], ip[1], flags, view.src_mac())
}

/// The constants of a flow.
#[derive(Clone, Copy, Debug)]
struct Flow {
    protocol: u8,
    src: u8,
    dst: u8,
    port: u16,
    in_interface: u16,
    state: ConnectionState,
    srcnat: bool,
}

/// What varies within a flow.
#[derive(Clone, Copy, Debug)]
struct Vary {
    len: u32,
    ttl: u8,
    tos: u8,
    flags: u8,
    code: u8,
    mac: u8,
    mss: bool,
}

fn packet(flow: Flow, vary: Vary) -> Packet {
    let flags = TcpFlags(vary.flags);
    let header = TcpHeader { src_port: flow.port, dst_port: 80, flags, ..TcpHeader::default() };
    let options: &[u8] = if vary.mss { &[2, 4, 5, 180] } else { &[] };
    let body = match flow.protocol {
        6 => Body::Tcp { header, options },
        17 => Body::Udp { src_port: flow.port, dst_port: 80 },
        // Errors: their ports are zero whatever the type, so they are one flow.
        _ => Body::Icmp(IcmpHeader { kind: 3, code: vary.code, ..IcmpHeader::echo_request(0, 0) }),
    };
    let mut packet = Packet::of(&Frame {
        src: ip(10, 0, 0, flow.src),
        dst: ip(10, 0, 1, flow.dst),
        src_mac: MacAddr([2, 0, 0, 0, 0, vary.mac]),
        ttl: vary.ttl,
        tos: vary.tos,
        len: Some(FrameLen::with_fcs(vary.len)),
        body,
        ..craft::udp(0, 0, 0, 0)
    });
    (packet.in_interface, packet.state) = (InterfaceId(flow.in_interface.into()), flow.state);
    packet.srcnat = flow.srcnat;
    packet
}

fn flows() -> impl Strategy<Value = Flow> {
    let states = [ConnectionState::New, ConnectionState::Established, ConnectionState::Related];
    let protocol = prop::sample::select(vec![1, 6, 17]);
    let port = prop::sample::select(vec![79, 80, 81, 1024]);
    let state = prop::sample::select(states.to_vec());
    (protocol, 0..4u8, 0..4u8, port, 1..3u16, state, any::<bool>()).prop_map(
        |(protocol, src, dst, port, in_interface, state, srcnat)| Flow {
            protocol,
            src,
            dst,
            port,
            in_interface,
            state,
            srcnat,
        },
    )
}

fn variations() -> impl Strategy<Value = Vary> {
    let len = prop::sample::select(vec![82, 90, 118, 119, 200]);
    let flags = prop::sample::select(vec![0x02, 0x10, 0x12, 0x18, 0x11, 0x04]);
    (len, 62..66u8, prop::sample::select(vec![0, 0xb8]), flags, 0..3u8, 1..3u8, any::<bool>())
        .prop_map(|(len, ttl, tos, flags, code, mac, mss)| Vary {
            len,
            ttl,
            tos,
            flags,
            code,
            mac,
            mss,
        })
}

/// Matchers; each may be in a rule or not. Those that need a protocol bring it along.
const MATCHERS: &[&[&str]] = &[
    &[
        "",
        "",
        "protocol=tcp",
        "protocol=!tcp",
        "protocol=udp dst-port=80",
        "protocol=tcp src-port=!80",
        "protocol=tcp port=79,81",
        "protocol=tcp tcp-flags=syn,!ack",
        "protocol=tcp tcp-flags=!rst",
        "protocol=tcp tcp-mss=1460",
        "protocol=icmp icmp-options=3:1",
        "protocol=icmp icmp-options=!3:0-1",
    ],
    &["", "", "src-address=10.0.0.0/31", "src-address=!10.0.0.1", "src-address=10.0.0.1-10.0.0.2"],
    &["", "", "dst-address=10.0.1.0/31", "dst-address-list=few", "dst-address-list=!few"],
    &["", "", "in-interface=ether1", "in-interface=!ether1", "in-interface=all-ethernet"],
    &["", "", "connection-state=established,related", "connection-state=!new"],
    &["", "", "", "connection-nat-state=srcnat", "connection-nat-state=!srcnat"],
    &["", "", "", "packet-size=0-100", "packet-size=!72-101", "packet-size=101"],
    &["", "", "", "ttl=equal:64", "ttl=less-than:64", "ttl=not-equal:63"],
    &["", "", "", "dscp=46", "dscp=!0"],
    &["", "", "", "src-mac-address=02:00:00:00:00:01", "src-mac-address=!02:00:00:00:00:01"],
    &["", "", "", "", "", "limit=1,1", "nth=2,1", "random=50", "content=x"],
    &["", "", "", "", "", "", "log=yes", "log=no"],
];

const ACTIONS: &[&str] = &[
    "accept",
    "drop",
    "passthrough",
    "passthrough",
    "fasttrack-connection",
    "return",
    "reject",
    "jump jump-target=a",
    "jump jump-target=b",
];

/// A rule of one of the chains, as typed.
fn rules() -> impl Strategy<Value = String> {
    let matchers: Vec<_> =
        MATCHERS.iter().map(|choices| prop::sample::select(choices.to_vec())).collect();
    let chain = prop::sample::select(vec!["forward", "forward", "a", "b"]);
    (chain, prop::sample::select(ACTIONS.to_vec()), matchers).prop_map(
        |(chain, action, matchers)| {
            format!("add chain={chain} action={action} {}", matchers.join(" "))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_guard_admits_only_what_goes_the_same_way(
        rules in prop::collection::vec(rules(), 1..8),
        flow in flows(),
        first in variations(),
        others in prop::collection::vec(variations(), 1..24),
        ttl_taken in 0..2u8,
    ) {
        let script = format!(
            "/ip firewall address-list add list=few address=10.0.1.1\n/ip firewall filter\n{}",
            rules.join("\n")
        );
        let mut fixture = Fixture::new(&script);
        // As in forward, where the router has taken one from the TTL on arrival.
        let mut walk = |mut packet: Packet| {
            packet.frame[usize::from(packet.layers.l3) + 8] -= ttl_taken;
            fixture.trace.clear();
            fixture.trace.ttl_taken = ttl_taken;
            let mut books = Books {
                now: fixture.now,
                state: &mut fixture.state,
                trace: &mut fixture.trace,
                counters: &mut fixture.counters,
                log: &mut fixture.log,
            };
            let verdict = fixture.filter.run(FilterChain::Forward, &packet.view(), &mut books);
            let trace = &fixture.trace;
            (verdict, trace.counters.clone(), trace.guard, trace.once)
        };
        let (verdict, counters, guard, once) = walk(packet(flow, first));
        if once {
            return Ok(());
        }
        let (len, ttl, tos, flags, mac) = fields(&packet(flow, first));
        prop_assert!(guard.admits(len, ttl, tos, flags, mac), "{guard:?} rejects its own packet");
        for other in others {
            let (len, ttl, tos, flags, mac) = fields(&packet(flow, other));
            if guard.admits(len, ttl, tos, flags, mac) {
                let (other_verdict, other_counters, _, other_once) = walk(packet(flow, other));
                prop_assert_eq!(other_verdict, verdict, "{:?} {:?}\n{}", guard, other, script);
                prop_assert_eq!(&other_counters, &counters, "{:?} {:?}\n{}", guard, other, script);
                prop_assert!(!other_once, "{:?} {:?}\n{}", guard, other, script);
            }
        }
    }

    /// The gate is nothing but speed: without it, every packet goes the same way.
    #[test]
    fn the_gate_changes_nothing(
        rules in prop::collection::vec(rules(), 1..8),
        packets in prop::collection::vec((flows(), variations()), 1..16),
    ) {
        let script = format!(
            "/ip firewall address-list add list=few address=10.0.1.1\n/ip firewall filter\n{}",
            rules.join("\n")
        );
        let mut with = Fixture::new(&script);
        let mut without = Fixture::new(&script);
        without.filter = without.without_gates();
        for (flow, vary) in packets {
            let packet = packet(flow, vary);
            let verdicts = [
                with.run(FilterChain::Forward, &packet),
                without.run(FilterChain::Forward, &packet),
            ];
            prop_assert_eq!(verdicts[0], verdicts[1], "{:?}\n{}", packet, script);
            prop_assert_eq!(&with.trace.counters, &without.trace.counters, "{}", script);
            // Behind the gate, fewer matchers are reached, so more recipes are possible.
            prop_assert!(without.trace.once || !with.trace.once, "{}", script);
        }
        prop_assert_eq!(with.counted(), without.counted());
    }
}

impl Fixture {
    fn without_gates(&mut self) -> Filter {
        self.setting(Filter::compile_without_gates)
    }
}
