//! `/ip firewall mangle` and `raw`, `/ip route rule`: what becomes of packets, on the slow path and
//! after it.

use crate::rig::{Rig, mac, own_mac};
use wire::craft::{self, Body, Frame, ip};
use wire::tcp::TcpHeader;
use wire::{Ipv4, Tcp, TcpFlags};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
add address=10.0.3.254/24 interface=ether3
/ip route
add gateway=10.0.2.1
add gateway=10.0.3.1 routing-mark=wan
";

/// A router with a host on each of its three ports.
fn rig(script: &str) -> Rig {
    let mut rig = Rig::new(3, &format!("{NETS}{script}"));
    for n in 1..=3 {
        rig.introduce(n.into(), mac(n), ip(10, 0, n, 1), ip(10, 0, n, 254));
    }
    rig
}

/// From the first host to somewhere else.
fn udp(dst: u32) -> Frame<'static> {
    Frame { src_mac: mac(1), dst_mac: own_mac(1), ..craft::udp(ip(10, 0, 1, 1), 1000, dst, 53) }
}

fn answer(dst: u32) -> Frame<'static> {
    Frame { src_mac: mac(2), dst_mac: own_mac(2), ..craft::udp(dst, 53, ip(10, 0, 1, 1), 1000) }
}

/// Sends the same packet five times; the last ones by its recipe, if it has one. All must leave alike.
fn five(rig: &mut Rig, frame: &Frame) -> (usize, Vec<u8>, u64) {
    let before = rig.router.path_counts().replayed;
    let mut all: Vec<_> = (0..5).map(|_| rig.pass(1, &frame.build())).collect();
    let last = all.pop().unwrap();
    for (n, out) in all.iter().enumerate() {
        assert_eq!(*out, last, "packet {n}; {:?}", rig.router.discards());
    }
    let (port, bytes) = last.into_iter().next().unwrap_or_default();
    (port, bytes, rig.router.path_counts().replayed - before)
}

#[test]
fn headers_are_edited_on_every_path() {
    let add = "/ip firewall mangle\nadd chain=";
    // Rules; then DSCP with ECN, TTL and DF behind. The packet comes with 0x2b, 64 and DF.
    let cases = [
        ("", (0x2b, 63, true)),
        ("forward action=change-dscp new-dscp=46", (0xbb, 63, true)),
        ("prerouting action=change-ttl new-ttl=set:200", (0x2b, 199, true)),
        ("postrouting action=change-ttl new-ttl=set:200", (0x2b, 200, true)),
        ("prerouting action=change-ttl new-ttl=increment:10", (0x2b, 73, true)),
        ("forward action=change-ttl new-ttl=decrement:3", (0x2b, 60, true)),
        ("postrouting action=clear-df", (0x2b, 63, false)),
        // What is written is what later rules see.
        (
            "prerouting action=change-dscp new-dscp=1\nadd chain=forward dscp=1 \
             action=change-ttl new-ttl=set:9",
            (0x07, 9, true),
        ),
        (
            "prerouting action=change-dscp new-dscp=1 passthrough=no\nadd chain=prerouting \
             action=change-dscp new-dscp=2",
            (0x07, 63, true),
        ),
        // From mark to mark.
        (
            "prerouting action=mark-connection new-connection-mark=c connection-mark=no-mark\nadd \
             chain=prerouting connection-mark=c action=mark-packet new-packet-mark=p\nadd \
             chain=postrouting packet-mark=q,p action=change-dscp new-dscp=3",
            (0x0f, 63, true),
        ),
        (
            "prerouting action=mark-packet new-packet-mark=p\nadd \
             chain=forward packet-mark=!p action=change-dscp new-dscp=3\nadd \
             chain=forward packet-mark=no-mark action=change-dscp new-dscp=3",
            (0x2b, 63, true),
        ),
    ];
    for (rules, want) in cases {
        let script = if rules.is_empty() { String::new() } else { format!("{add}{rules}") };
        let mut rig = rig(&format!("/ip firewall connection tracking set enabled=yes\n{script}"));
        let frame = Frame { tos: 0x2b, ttl: 64, ..udp(ip(10, 0, 2, 1)) };
        let mut first = frame.build();
        first[20] |= 0x40;
        Ipv4::new(&mut first[14..]).unwrap().fill_checksum();
        let mut replayed = 0;
        for n in 0..5 {
            let out = rig.pass(1, &first);
            assert_eq!(out.len(), 1, "{rules}: {:?}", rig.router.discards());
            let header = Ipv4::new(&out[0].1[14..]).unwrap();
            assert!(header.checksum_ok(), "{rules}, packet {n}");
            let got = (header.tos(), header.ttl(), header.dont_fragment());
            assert_eq!(got, want, "{rules}, packet {n}");
            replayed = rig.router.path_counts().replayed;
        }
        assert!(replayed >= 3, "{rules}: {replayed}");
    }
}

#[test]
fn the_mss_of_a_syn_is_lowered() {
    let script = "/interface ethernet set ether2 mtu=1400\n/ip firewall mangle add chain=forward \
                  protocol=tcp tcp-flags=syn action=change-mss new-mss=";
    for (new_mss, came, leaves) in
        [("1300", 1460, 1300), ("1300", 1200, 1200), ("clamp-to-pmtu", 1460, 1360)]
    {
        let mut rig = rig(&format!("{script}{new_mss}"));
        let flags = TcpFlags::SYN;
        let header = TcpHeader { src_port: 1000, dst_port: 80, flags, ..TcpHeader::default() };
        let [high, low] = u16::to_be_bytes(came);
        let body = Body::Tcp { header, options: &[2, 4, high, low] };
        let out = rig.pass(1, &Frame { body, ..udp(ip(10, 0, 2, 1)) }.build());
        let segment = Tcp::new(&out[0].1[34..58]).unwrap();
        assert_eq!(segment.mss(), Some(leaves), "{new_mss}");
        assert!(segment.checksum_ok(ip(10, 0, 1, 1), ip(10, 0, 2, 1)), "{new_mss}");
    }
}

#[test]
fn untracked_packets_begin_no_connection_and_have_recipes() {
    let mut rig =
        rig("/ip firewall raw add chain=prerouting dst-port=53 protocol=udp action=notrack
/ip firewall filter
add chain=forward connection-state=untracked
add chain=forward action=drop");
    let (port, _, replayed) = five(&mut rig, &udp(ip(10, 0, 2, 1)));
    assert_eq!((port, replayed), (2, 4));
    assert_eq!(rig.router.connections().len(), 0);
    let mut all = Vec::new();
    for menu in ["/ip firewall raw", "/ip firewall filter"] {
        let counts = rig.router.rule_counts(menu, rig.console.tree());
        all.push(counts.iter().map(|count| count.packets).collect::<Vec<_>>());
    }
    assert_eq!(all, [vec![5], vec![5, 0]]);
    // What was left alone is tracked once the rule is gone, under the same addresses.
    rig.run("/ip firewall raw remove [find]\n/ip firewall filter remove [find]");
    rig.run("/ip firewall connection tracking set enabled=yes");
    five(&mut rig, &udp(ip(10, 0, 2, 1)));
    assert_eq!(rig.router.connections().len(), 1);
}

#[test]
fn raw_drops_before_anything_is_known() {
    let mut rig = rig("/ip firewall raw add chain=prerouting src-address=10.0.1.1 action=drop");
    assert_eq!(rig.pass(1, &udp(ip(10, 0, 2, 1)).build()), []);
    let dropped: Vec<_> =
        rig.router.discards().iter().map(|(why, n)| (why.to_string(), n)).collect();
    assert_eq!(dropped, [("raw-drop".to_string(), 1)]);
    assert_eq!(rig.router.connections().len(), 0);
}

#[test]
fn a_routing_mark_asks_its_table_and_then_main() {
    const MARK: &str = "/ip firewall mangle add chain=prerouting action=mark-routing \
                        new-routing-mark=wan";
    let away = ip(192, 0, 2, 1);
    // Script, destination, the port it leaves by; none if it is dropped.
    let cases = [
        ("", away, Some(2)),
        (MARK, away, Some(3)),
        // The table's default route is for connected networks, too, but not for the router itself.
        (MARK, ip(10, 0, 2, 1), Some(3)),
        (
            "/ip firewall mangle add chain=prerouting action=mark-routing new-routing-mark=x",
            away,
            Some(2),
        ),
        ("/ip firewall mangle add chain=prerouting action=route route-dst=10.0.3.1", away, Some(3)),
        // A gateway that is not there, and one that another rule comes to have.
        ("/ip firewall mangle add chain=prerouting action=route route-dst=10.9.9.9", away, Some(2)),
        (
            "/ip firewall mangle add chain=prerouting action=route route-dst=10.9.9.9
             /ip firewall mangle set 0 route-dst=10.0.3.1",
            away,
            Some(3),
        ),
        ("/ip route rule add src-address=10.0.1.0/24 table=wan", away, Some(3)),
        ("/ip route rule add src-address=10.0.9.0/24 table=wan", away, Some(2)),
        ("/ip route rule add interface=ether1 dst-address=192.0.2.0/24 table=wan", away, Some(3)),
        ("/ip route rule add interface=ether2 table=wan", away, Some(2)),
        ("/ip route rule add dst-address=192.0.2.0/24 action=drop", away, None),
        ("/ip route rule add dst-address=192.0.2.0/24 action=unreachable", away, None),
        // Nothing there: the next one, or no route.
        ("/ip route rule\nadd table=empty\nadd table=wan", away, Some(3)),
        ("/ip route rule\nadd table=empty action=lookup-only-in-table\nadd table=wan", away, None),
    ];
    for (script, dst, want) in cases {
        for tracking in ["yes", "no"] {
            let script =
                format!("/ip firewall connection tracking set enabled={tracking}\n{script}");
            let mut rig = rig(&script);
            let before = rig.router.path_counts();
            for _ in 0..4 {
                let out = rig.pass(1, &udp(dst).build());
                let port = out.first().map(|(port, _)| *port).filter(|&port| port != 1);
                assert_eq!(port, want, "{script}: {:?}", rig.router.discards());
            }
            let after = rig.router.path_counts();
            let fast = after.replayed - before.replayed + after.ipv4_fast_path.packets;
            assert!(want.is_none() || fast >= 2, "{script}: {after:?}");
        }
    }
}

/// A rule that names another gateway: its table is made when the rule is.
#[test]
fn a_rule_names_a_gateway() {
    let mut rig = rig("");
    let away = udp(ip(192, 0, 2, 1)).build();
    let leaves = |rig: &mut Rig| rig.pass(1, &away).first().map(|(port, _)| *port);
    assert_eq!(leaves(&mut rig), Some(2));
    rig.run("/ip firewall mangle add chain=prerouting action=route route-dst=10.0.3.1");
    for _ in 0..3 {
        assert_eq!(leaves(&mut rig), Some(3));
    }
    rig.run("/ip firewall mangle set 0 route-dst=10.0.2.1");
    assert_eq!(leaves(&mut rig), Some(2));
    rig.run("/ip firewall mangle remove 0");
    assert_eq!(leaves(&mut rig), Some(2));
    assert!(rig.try_run("/ip firewall mangle add chain=prerouting action=route").is_err());
    rig.run("/ip firewall mangle add chain=forward action=route route-dst=10.0.2.1");
    let shown = rig.run("/ip firewall mangle print");
    assert!(shown.contains("action=route is possible in prerouting only"), "{shown}");
}

#[test]
fn the_routers_own_packets_are_routed_again_when_they_are_marked() {
    let mut rig = rig("/ip firewall mangle add chain=output action=mark-routing \
                       new-routing-mark=wan");
    // A TTL that runs out is answered to where the mark says.
    let frame = Frame { ttl: 1, ..udp(ip(192, 0, 2, 1)) };
    let out = rig.pass(1, &frame.build());
    assert_eq!(out.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [3]);
}

#[test]
fn marks_of_connections_outlive_changes_and_are_shown() {
    let mut rig = rig("/ip firewall connection tracking set enabled=yes
/ip firewall mangle add chain=prerouting connection-mark=no-mark action=mark-connection \
         new-connection-mark=voice");
    five(&mut rig, &udp(ip(10, 0, 2, 1)));
    rig.pass(2, &answer(ip(10, 0, 2, 1)).build());
    let shown = rig.run("/ip firewall connection print detail");
    assert!(shown.contains("connection-mark=voice"), "{shown}");
    rig.run("/ip firewall mangle remove [find]");
    rig.run(
        "/ip firewall mangle
add chain=forward connection-mark=other action=change-dscp new-dscp=1
add chain=forward connection-mark=voice action=change-dscp new-dscp=46",
    );
    let out = rig.pass(1, &udp(ip(10, 0, 2, 1)).build());
    assert_eq!(out[0].1[15] >> 2, 46);
}

#[test]
fn the_last_packet_mark_too_many_is_invalid() {
    let mut script = String::from("/ip firewall mangle\n");
    for n in 0..4097 {
        script += &format!("add chain=forward action=mark-packet new-packet-mark=m{n:04}\n");
    }
    let mut rig = rig(&script);
    let shown = rig.run("/ip firewall mangle print where invalid");
    assert!(shown.contains("m4096") && !shown.contains("m4095"), "{shown}");
    assert!(shown.contains("bad new mark"), "{shown}");
}

/// Copies go to whoever watches, one of each packet, as the rule sees it; and none of copies.
#[test]
fn copies_are_sent_to_a_watcher() {
    let frame = udp(ip(192, 0, 2, 1)).build();
    // What a rule says; port, what is in front of the packet, and its DSCP in the copy.
    let dscp = "add chain=postrouting action=change-dscp new-dscp=5";
    let (tzsp, pc) =
        ("action=sniff-tzsp sniff-target=10.0.3.1", "action=sniff-pc sniff-target=10.0.3.1");
    let ethernet = [&[1, 0, 0, 1, 1], &frame[..14]].concat();
    let cases = [
        (format!("add chain=prerouting {tzsp}"), 37008, ethernet.clone(), 0),
        (format!("{dscp}\nadd chain=postrouting {tzsp} sniff-target-port=99"), 99, ethernet, 5),
        (format!("add chain=forward {pc} sniff-id=258"), 5000, vec![0, 0, 1, 2], 0),
    ];
    for (rules, port, before, dscp) in cases {
        let jump =
            "add chain=postrouting action=jump jump-target=x\nadd chain=x action=passthrough";
        let mut rig = rig(&format!("/ip firewall mangle\n{jump}\n{rules}"));
        for n in 0..3 {
            let out = rig.pass(1, &frame);
            let ports: Vec<_> = out.iter().map(|(port, _)| *port).collect();
            assert_eq!(ports, [2, 3], "{rules}, packet {n}: {:?}", rig.router.discards());
            let (sent, copy) = (&out[0].1, &out[1].1);
            assert_eq!(copy[36..38], u16::to_be_bytes(port), "{rules}");
            assert_eq!(copy[42..42 + before.len()], before, "{rules}");
            let packet = Ipv4::new(&copy[42 + before.len()..]).unwrap();
            assert_eq!((packet.tos() >> 2, packet.dst()), (dscp, ip(192, 0, 2, 1)), "{rules}");
            assert!(sent.len() >= 42 && wire::checksum::is_ok(&copy[14..34]));
        }
        let counted = rig.run("/ip firewall mangle print stats");
        assert!(rig.router.frames().balance(), "{counted}");
    }
    // To nobody: no way leads there, and the packet goes on.
    let nowhere = "/ip route remove [find static]\n/ip route add dst-address=192.0.2.0/24 \
                   gateway=10.0.2.1\n/ip firewall mangle add chain=forward action=sniff-tzsp \
                   sniff-target=203.0.113.1";
    let mut rig = rig(nowhere);
    assert_eq!(rig.pass(1, &frame).len(), 1);
}

/// So are frames that the sniffer sees, as they stand on the wire, and none of those so sent.
#[test]
fn the_sniffer_streams_what_it_sees() {
    let frame = udp(ip(192, 0, 2, 1)).build();
    let mut rig = rig("/tool sniffer set streaming-enabled=yes streaming-server=10.0.3.1 \
                       filter-direction=rx");
    rig.run("/tool sniffer start");
    for _ in 0..3 {
        let out = rig.pass(1, &frame);
        let ports: Vec<_> = out.iter().map(|(port, _)| *port).collect();
        assert_eq!(ports, [2, 3], "{:?}", rig.router.discards());
        let copy = &out[1].1;
        assert_eq!(copy[36..38], u16::to_be_bytes(37008));
        assert_eq!(copy[42..], [&[1, 0, 0, 1, 1], &frame[..]].concat());
    }
    rig.run("/tool sniffer stop; /tool sniffer set filter-direction=any; /tool sniffer start");
    let out = rig.pass(1, &frame);
    let ports: Vec<_> = out.iter().map(|(port, _)| *port).collect();
    assert_eq!(ports, [2, 3, 3], "what came and what went, and no more");
    rig.run("/tool sniffer stop");
    assert_eq!(rig.pass(1, &frame).len(), 1);
    assert!(rig.router.frames().balance());
}

/// The program that a connection begins as is shown, where a rule has looked at its first payloads.
#[test]
fn a_connections_program_is_shown() {
    const DHT: &[u8] = b"d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe";
    for (rule, payload, expected) in [
        ("p2p=all-p2p action=accept", DHT, "bit-torrent"),
        ("p2p=gnutella action=drop", DHT, "bit-torrent"),
        ("p2p=all-p2p action=accept", b"hello", ""),
        ("action=accept", DHT, ""),
    ] {
        let mut rig = rig(&format!("/ip firewall filter add chain=forward {rule}"));
        rig.pass(1, &Frame { payload, ..udp(ip(8, 8, 8, 8)) }.build());
        let shown = rig.run(":foreach c in=[/ip firewall connection find] do={:put [/ip firewall connection get $c p2p]}");
        assert_eq!(shown.trim(), expected, "{rule}");
    }
}
