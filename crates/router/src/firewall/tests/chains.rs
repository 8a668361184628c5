//! Chains, actions, log lines, and the rules of the source documents.

use super::*;
use crate::firewall::filter::{Answer, RejectWith, dummy_rule};
use wire::TcpFlags;
use wire::craft::{self, Body, ip};
use wire::icmp::IcmpHeader;

const A: u32 = ip(10, 0, 0, 1);
const B: u32 = ip(172, 16, 5, 9);

fn udp() -> Packet {
    Packet::of(&craft::udp(A, 4000, B, 53))
}

fn tcp(flags: TcpFlags, state: ConnectionState) -> Packet {
    Packet { state, ..Packet::of(&craft::tcp(A, 4000, B, 80, flags)) }
}

fn icmp(kind: u8, code: u8) -> Packet {
    let header = IcmpHeader { kind, code, ..IcmpHeader::echo_request(1, 1) };
    Packet::of(&Frame { src: A, dst: B, body: Body::Icmp(header), ..Frame::default() })
}

/// Source 001, as it stands there: the rules any firewall should have, then the icmp chain.
const SOURCE_001: &str = r#"/ip firewall filter
add chain=forward protocol=tcp connection-state=invalid action=drop comment="drop invalid connections"
add chain=forward connection-state=established action=accept \ 
 	comment="allow already established connections"
add chain=forward connection-state=related action=accept comment="allow related connections"
add chain=forward protocol=icmp action=jump jump-target=icmp
add chain=icmp protocol=icmp icmp-options=0:0 action=accept comment="echo reply"
add chain=icmp protocol=icmp icmp-options=3:0 action=accept comment="net unreachable"
add chain=icmp protocol=icmp icmp-options=3:1 action=accept comment="host unreachable"
add chain=icmp protocol=icmp icmp-options=3:4 action=accept comment="host unreachable fragmentation required"
add chain=icmp protocol=icmp icmp-options=4:0 action=accept comment="allow source quench"
add chain=icmp protocol=icmp icmp-options=8:0 action=accept comment="allow echo request"
add chain=icmp protocol=icmp icmp-options=11:0 action=accept comment="allow time exceed"
add chain=icmp protocol=icmp icmp-options=12:0 action=accept \ 
 	comment="allow parameter bad"
add chain=icmp action=drop comment="deny all other types"
"#;

#[test]
fn the_rules_of_source_001_act() {
    use ConnectionState::{Established, Invalid, New, Related};
    use Decision::{Accept, Drop};
    let ack = TcpFlags::ACK;
    // A packet, what becomes of it, and which rules count it.
    let cases: &[(Packet, Decision, &[usize])] = &[
        (tcp(ack, Invalid), Drop, &[0]),
        (tcp(ack, Established), Accept, &[1]),
        (tcp(TcpFlags::SYN, Related), Accept, &[2]),
        (tcp(TcpFlags::SYN, New), Accept, &[]),
        (udp(), Accept, &[]),
        (Packet { state: Invalid, ..udp() }, Accept, &[]),
        (icmp(0, 0), Accept, &[3, 4]),
        (icmp(3, 1), Accept, &[3, 6]),
        (icmp(3, 3), Drop, &[3, 12]),
        (icmp(8, 0), Accept, &[3, 9]),
        (icmp(12, 0), Accept, &[3, 11]),
        (icmp(13, 0), Drop, &[3, 12]),
        (Packet { state: Established, ..icmp(13, 0) }, Accept, &[1]),
    ];
    for (packet, want, counting) in cases {
        let mut fixture = Fixture::new(SOURCE_001);
        assert_eq!(fixture.reasons(), [""; 13]);
        assert_eq!(fixture.forward(packet), *want, "{packet:?}");
        let counted: Vec<u64> = (0..13).map(|i| counting.contains(&i).into()).collect();
        assert_eq!(fixture.packets(), counted, "{packet:?}");
        let bytes = fixture.counted().iter().map(|count| count.bytes).max().unwrap_or(0);
        let want_bytes = if counting.is_empty() { 0 } else { packet.ip_len().into() };
        assert_eq!(bytes, want_bytes, "IP length is counted");
    }
}

/// The screens of source 003 (J-S3-firewall-rules.csv, 52 to 60 and 335), interfaces shortened.
const SOURCE_003: &str = r#"
/ip firewall address-list
add list=bogons address=10.0.0.0/8
add list=bogons address=169.254.0.0/16
/ip firewall filter
add chain=forward action=drop connection-state=new connection-nat-state=!dstnat in-interface=ether1 comment="Drop new connections from internet that is not dst-natted"
add chain=forward action=fasttrack-connection connection-state=established,related
add chain=forward action=accept connection-state=established,related
add chain=forward action=drop connection-state=invalid
add chain=forward action=drop in-interface=bridge1 dst-address-list=bogons
add chain=forward action=drop in-interface=bridge1 src-address=!192.168.2.0/24
add chain=forward action=drop in-interface=ether1 src-address-list=bogons
add chain=forward action=jump jump-target=viruses
add chain=viruses protocol=tcp dst-port=135-139 action=drop
add chain=viruses protocol=udp dst-port=135-139 action=drop
add chain=forward action=accept comment="Accept everything else"
"#;

#[test]
fn the_rules_of_source_003_act() {
    use ConnectionState::{Established, Invalid, New};
    use Decision::{Accept, Drop};
    let lan = |dst, port| Packet {
        in_interface: BRIDGE1,
        ..Packet::of(&craft::udp(ip(192, 168, 2, 5), 4000, dst, port))
    };
    let wan =
        |dstnat| Packet { dstnat, ..Packet::of(&craft::udp(B, 4000, ip(192, 168, 2, 5), 80)) };
    let cases: &[(Packet, Decision, &[usize])] = &[
        (wan(false), Drop, &[0]),
        (wan(true), Accept, &[7, 10]),
        // Both rules count the same packets.
        (Packet { state: Established, ..wan(false) }, Accept, &[1, 2]),
        (Packet { state: Invalid, ..wan(true) }, Drop, &[3]),
        (lan(ip(10, 1, 1, 1), 53), Drop, &[4]),
        (Packet { in_interface: BRIDGE1, ..udp() }, Drop, &[5]),
        (Packet { dstnat: true, ..udp() }, Drop, &[6]),
        (lan(B, 137), Drop, &[7, 9]),
        (lan(B, 140), Accept, &[7, 10]),
        (Packet { state: New, ..lan(B, 53) }, Accept, &[7, 10]),
    ];
    for (packet, want, counting) in cases {
        let mut fixture = Fixture::new(SOURCE_003);
        assert_eq!(fixture.reasons(), [""; 11]);
        let verdict = fixture.run(FilterChain::Forward, packet);
        assert_eq!(verdict.decision, *want, "{packet:?}");
        assert_eq!(verdict.fasttrack, packet.state == Established);
        let counted: Vec<u64> = (0..11).map(|i| counting.contains(&i).into()).collect();
        assert_eq!(fixture.packets(), counted, "{packet:?}");
    }
}

#[test]
fn walks_go_top_down_and_come_back() {
    // Rules of the filter, the decision on a packet, and how often each rule counts it.
    let cases: &[(&str, Decision, &[u64])] = &[
        ("add chain=forward action=passthrough\nadd chain=forward", Decision::Accept, &[1, 1]),
        ("add chain=forward\nadd chain=forward action=drop", Decision::Accept, &[1, 0]),
        ("add chain=input action=drop\nadd chain=output action=drop", Decision::Accept, &[0, 0]),
        (
            "add chain=forward action=return\nadd chain=forward action=drop",
            Decision::Accept,
            &[1, 0],
        ),
        (
            // The end of an own chain goes back to the rule after the jump; so does return.
            "add chain=forward action=jump jump-target=a\n\
             add chain=forward action=jump jump-target=b\n\
             add chain=forward action=drop\n\
             add chain=a action=passthrough\n\
             add chain=b action=jump jump-target=a\n\
             add chain=b action=return\n\
             add chain=b action=accept",
            Decision::Drop,
            &[1, 1, 1, 2, 1, 1, 0],
        ),
        (
            // An own chain may end the walk; chains may be written in any order.
            "add chain=a action=accept\nadd chain=forward action=jump jump-target=a\n\
             add chain=forward action=drop",
            Decision::Accept,
            &[1, 1, 0],
        ),
        (
            "add chain=forward action=drop disabled=yes\n\
             add chain=forward action=log\nadd chain=forward action=drop",
            Decision::Drop,
            &[0, 1, 1],
        ),
    ];
    for &(rules, want, counts) in cases {
        let mut fixture = Fixture::new(&format!("/ip firewall filter\n{rules}"));
        assert_eq!(fixture.forward(&udp()), want, "{rules}");
        assert_eq!(fixture.packets(), counts, "{rules}");
        // The trace lists what was counted, as often as it was.
        assert_eq!(fixture.trace.counters.len() as u64, counts.iter().sum::<u64>(), "{rules}");
    }
}

#[test]
fn built_in_chains_are_apart() {
    let rules = "/ip firewall filter\nadd chain=input action=drop\n\
                 add chain=forward action=reject\nadd chain=output action=accept";
    let mut fixture = Fixture::new(rules);
    let reject = Decision::Reject(RejectWith::NetworkUnreachable);
    let chains = [FilterChain::Input, FilterChain::Forward, FilterChain::Output];
    for (chain, want) in chains.into_iter().zip([Decision::Drop, reject, Decision::Accept]) {
        assert_eq!(fixture.run(chain, &udp()).decision, want, "{chain:?}");
    }
    assert_eq!(fixture.packets(), [1, 1, 1]);
}

#[test]
fn each_rejection_has_its_answer() {
    let cases = [
        ("icmp-network-unreachable", Some(0)),
        ("icmp-host-unreachable", Some(1)),
        ("icmp-protocol-unreachable", Some(2)),
        ("icmp-port-unreachable", Some(3)),
        ("icmp-network-prohibited", Some(9)),
        ("icmp-host-prohibited", Some(10)),
        ("icmp-admin-prohibited", Some(13)),
        ("tcp-reset", None),
    ];
    for (word, code) in cases {
        let rule = format!("add chain=forward protocol=tcp action=reject reject-with={word}");
        let mut fixture = Fixture::new(&format!("/ip firewall filter {rule}"));
        let packet = tcp(TcpFlags::SYN, ConnectionState::New);
        let Decision::Reject(reject) = fixture.forward(&packet) else { panic!("{word}") };
        let want = code.map_or(Answer::TcpReset, |code| Answer::Icmp { kind: 3, code });
        assert_eq!(reject.answer(), want, "{word}");
    }
}

#[test]
fn fasttrack_is_for_tcp_and_udp() {
    let rule = "/ip firewall filter add chain=forward action=fasttrack-connection";
    for (packet, want) in
        [(udp(), true), (tcp(TcpFlags::ACK, ConnectionState::New), true), (icmp(8, 0), false)]
    {
        let mut fixture = Fixture::new(rule);
        let verdict = fixture.run(FilterChain::Forward, &packet);
        assert_eq!(verdict, FilterVerdict { decision: Decision::Accept, fasttrack: want });
        assert_eq!(fixture.packets(), [1]);
        assert!(!fixture.trace.once);
    }
}

#[test]
fn log_lines_are_in_the_manuals_form() {
    let at = |chain: &'static str, packet: Packet| (chain, packet);
    let input = Packet { out_interface: InterfaceId::NONE, ..icmp(8, 0) };
    let output = Packet { in_interface: InterfaceId::NONE, ..udp() };
    let gre =
        Packet::of(&Frame { src: A, dst: B, body: Body::Ip { protocol: 47 }, ..Frame::default() });
    let push = TcpFlags(TcpFlags::ACK.0 | TcpFlags::PSH.0);
    let nat = Packet { srcnat: true, ..tcp(push, ConnectionState::Established) };
    let cases = [
        (
            at("forward", tcp(TcpFlags::SYN, ConnectionState::New)),
            "forward: in:ether1 out:ether2, connection-state:new src-mac 02:00:00:00:00:01, \
             proto TCP (SYN), 10.0.0.1:4000->172.16.5.9:80, len 40",
        ),
        (
            at("input", input),
            "input: in:ether1 out:(unknown 0), connection-state:new src-mac 02:00:00:00:00:01, \
             proto ICMP (type 8, code 0), 10.0.0.1->172.16.5.9, len 28",
        ),
        (
            at("output", output),
            "output: in:(unknown 0) out:ether2, connection-state:new proto UDP, \
             10.0.0.1:4000->172.16.5.9:53, len 28",
        ),
        (
            at("forward", nat),
            "forward: in:ether1 out:ether2, connection-state:established,snat \
             src-mac 02:00:00:00:00:01, proto TCP (ACK,PSH), 10.0.0.1:4000->172.16.5.9:80, len 40",
        ),
        (
            at("forward", gre),
            "forward: in:ether1 out:ether2, connection-state:new src-mac 02:00:00:00:00:01, \
             proto 47, 10.0.0.1->172.16.5.9, len 20",
        ),
    ];
    for ((chain, packet), want) in cases {
        let rules = format!(
            "/ip firewall filter\nadd chain={chain} action=log\n\
             add chain={chain} action=accept log=yes log-prefix=\"MY RULE\""
        );
        let mut fixture = Fixture::new(&rules);
        let hook = match chain {
            "input" => FilterChain::Input,
            "forward" => FilterChain::Forward,
            _ => FilterChain::Output,
        };
        fixture.now = Moment::from_nanos(5);
        fixture.run(hook, &packet);
        let names = |id| [(ETHER1, "ether1"), (ETHER2, "ether2")].into_iter().find(|n| n.0 == id);
        let lines: Vec<String> = fixture
            .log
            .iter()
            .map(|line| line.display(|id| names(id).map(|(_, name)| name)).to_string())
            .collect();
        assert_eq!(lines, [want.to_string(), format!("MY RULE {want}")]);
        assert_eq!(fixture.log.take().map(|line| line.at), Some(Moment::from_nanos(5)));
    }
}

#[test]
fn a_full_log_loses_the_oldest_lines_and_says_how_many() {
    let rule = "/ip firewall filter add chain=forward action=log";
    let mut fixture = Fixture::new(rule);
    for port in 0..20 {
        fixture.forward(&Packet::of(&craft::udp(A, 4000, B, port)));
    }
    assert_eq!(fixture.log.lost(), 4);
    let first = fixture.log.take().unwrap().display(|_| None).to_string();
    assert!(first.contains("172.16.5.9:4,"), "{first}");
    fixture.log = Log::new(0);
    fixture.forward(&udp());
    assert_eq!((fixture.log.lost(), fixture.log.take().is_none()), (1, true));
}

#[test]
fn the_dummy_rule_shows_what_was_fasttracked() {
    let rule = dummy_rule(ItemId(config::FIRST_DYNAMIC), "forward");
    assert!(rule.dynamic && !rule.disabled);
    assert_eq!(rule.comment, "special dummy rule to show fasttrack counters");
    let text = |name| rule.get(name).map(ToString::to_string);
    assert_eq!(text("chain").as_deref(), Some("forward"));
    assert_eq!(text("action").as_deref(), Some("passthrough"));
}

#[test]
fn deep_and_wide_chains_compile_and_end() {
    // A ladder of 500 chains, and 5,000 rules in one.
    let mut script =
        "/ip firewall filter\nadd chain=forward action=jump jump-target=c0\n".to_string();
    for i in 0..500 {
        script += &format!("add chain=c{i} action=jump jump-target=c{}\n", i + 1);
    }
    for i in 0..5_000 {
        script +=
            &format!("add chain=c500 src-address=192.168.{}.{} action=drop\n", i / 256, i % 256);
    }
    script += "add chain=c500 action=reject";
    let mut fixture = Fixture::new(&script);
    assert_eq!(fixture.forward(&udp()), Decision::Reject(RejectWith::NetworkUnreachable));
    assert_eq!(fixture.packets().iter().sum::<u64>(), 502);
    assert_eq!(fixture.filter.len(), 5_502);
}
