//! Routes while packets flow: several gateways, changes, a full table coming and going.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use router::firewall::connection::Flags;
use router::ip::route::Target;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::Ipv4Prefix;
use wire::craft::{self, Frame, ip};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
add address=10.0.3.254/24 interface=ether3";

fn rig(script: &str) -> Rig {
    let mut rig = Rig::new(3, &format!("{NETS}\n{script}"));
    for n in 1..=3 {
        rig.introduce(n.into(), mac(n), ip(10, 0, n, 1), ip(10, 0, n, 254));
    }
    rig
}

fn datagram(src_port: u16, dst: u32) -> Vec<u8> {
    let udp = craft::udp(ip(10, 0, 1, 1), src_port, dst, 2000);
    Frame { src_mac: mac(1), dst_mac: own_mac(1), ..udp }.build()
}

/// By which port it left.
fn way(rig: &mut Rig, src_port: u16, dst: u32) -> usize {
    let out = rig.pass(1, &datagram(src_port, dst));
    assert_eq!(out.len(), 1, "{:?}", rig.router.discards());
    out[0].0
}

/// The load is spread over pairs of addresses, and a pair keeps its way, whatever its ports.
#[test]
fn several_gateways_share_and_stick() {
    const SCRIPT: &str = "/ip route add dst-address=172.16.0.0/16 gateway=10.0.2.1,10.0.3.1";
    for more in ["", "\n/ip firewall connection tracking set enabled=yes"] {
        let mut rig = rig(&format!("{SCRIPT}{more}"));
        let mut shares = BTreeMap::<usize, usize>::new();
        for host in 0..200 {
            let dst = ip(172, 16, 1, host);
            let first = way(&mut rig, 1000, dst);
            assert!((1001..1004).all(|port| way(&mut rig, port, dst) == first));
            *shares.entry(first).or_default() += 1;
        }
        assert!(shares.len() == 2 && shares.values().all(|&n| n > 60), "{shares:?}");
    }
}

/// A route that changes takes effect with the next packet, recipe or not, and loses none.
#[test]
fn a_change_loses_nothing() {
    for more in ["", "\n/ip firewall filter add chain=forward action=accept"] {
        for reference in [false, true] {
            let mut rig =
                rig(&format!("/ip route add dst-address=172.16.0.0/16 gateway=10.0.2.1{more}"));
            rig.router.set_reference(reference);
            for round in 0..10 {
                let (from, to) = if round % 2 == 0 { (2, 3) } else { (3, 2) };
                for _ in 0..5 {
                    assert_eq!(way(&mut rig, 1000, ip(172, 16, 0, 1)), from);
                }
                rig.run(&format!("/ip route set [find static] gateway=10.0.{to}.1"));
            }
            assert_eq!(rig.router.discards().total(), 0);
            assert!(rig.router.frames().balance());
        }
    }
}

/// A neighbour that is used is asked again before its time is up; nothing waits for that.
#[test]
fn probing_loses_nothing() {
    for reference in [false, true] {
        let mut rig = rig("/ip settings set arp-timeout=3s");
        rig.router.set_reference(reference);
        let mut asked = 0;
        for _ in 0..100 {
            rig.now = rig.now + Duration::from_millis(100);
            let out = rig.pass(1, &datagram(1000, ip(10, 0, 2, 1)));
            let (arp, sent): (Vec<_>, Vec<_>) =
                out.iter().partition(|(_, frame)| frame[12..14] == [0x08, 0x06]);
            assert_eq!(sent.len(), 1, "at {:?}: {:?}", rig.now, rig.router.discards());
            for (port, request) in arp.into_iter().filter(|(port, _)| *port == 2) {
                let message = wire::Arp::new(&request[14..]).unwrap().message();
                assert_eq!(request[..6], mac(2).0, "the one who answered last is asked");
                rig.send(*port, &craft::arp(message.reply_from(mac(2))).build());
                asked += 1;
            }
        }
        assert!((2..=4).contains(&asked), "{asked} requests in 10 s");
    }
}

/// Frames wait for an unknown neighbour, the oldest gives way; three requests, then the senders
/// are told.
#[test]
fn a_neighbour_that_does_not_answer() {
    let mut rig = rig("/ip settings set icmp-rate-limit=0");
    for port in 0..70 {
        rig.pass(1, &datagram(port, ip(10, 0, 2, 9)));
    }
    assert_eq!(rig.router.held().neighbours, 64);
    assert_eq!(rig.router.discards().get(Discard::NeighbourQueueFull), 6);
    rig.wait(Duration::from_secs(5));
    assert_eq!(rig.router.held().total(), 0);
    assert_eq!(rig.router.discards().get(Discard::NeighbourUnreachable), 64);
    let errors = rig.take(1);
    assert!(errors.len() == 64 && errors.iter().all(|e| e[34..36] == [3, 1]), "host unreachable");
    assert!(rig.router.frames().balance());
}

/// 100,000 routes are fed and withdrawn between batches; the flow that does not depend on them
/// loses nothing, the one that does follows them.
#[test]
fn a_full_table_comes_and_goes() {
    let mut rig = rig("/ip route add gateway=10.0.2.1");
    let three = rig.ether(3);
    let prefixes = || (0..100_000u32).map(|n| Ipv4Prefix::new(ip(20, 0, 0, 0) + (n << 8), 24));
    let dst = ip(20, 5, 5, 5);
    for _ in 0..2 {
        assert_eq!(way(&mut rig, 1, dst), 2);
        let gateway = Target::Gateways(vec![(three, ip(10, 0, 3, 1))]);
        let all = prefixes().map(|prefix| (prefix, gateway.clone()));
        rig.router.feed_routes(all).unwrap();
        assert_eq!((way(&mut rig, 1, dst), way(&mut rig, 1, ip(30, 0, 0, 1))), (3, 2));
        assert_eq!(rig.router.withdraw_routes(prefixes()), 100_000);
    }
    assert_eq!(rig.router.discards().total(), 0);
}

/// A simple queue passes what it is told to, in virtual time, and counts the rest.
#[test]
fn a_queue_keeps_its_rate() {
    for reference in [false, true] {
        // 80 kbit/s: of 1,014 bytes each (IP and 14), about ten a second.
        let script = "/queue simple add target=10.0.1.1/32 max-limit=80k/0";
        let mut rig = rig(script);
        rig.router.set_reference(reference);
        let payload = [0; 972];
        let udp = craft::udp(ip(10, 0, 1, 1), 1, ip(10, 0, 2, 1), 2);
        let frame = Frame { src_mac: mac(1), dst_mac: own_mac(1), payload: &payload, ..udp };
        let frame = frame.build();
        let mut passed = 0;
        for _ in 0..1000 {
            rig.now = rig.now + Duration::from_millis(10);
            let out = rig.pass(1, &frame);
            passed += out.iter().filter(|(port, frame)| *port == 2 && frame.len() > 1000).count();
        }
        let bits = passed * 1014 * 8;
        assert!((792_000..=825_000).contains(&bits), "{bits} bits in 10 s");
        let stats = rig.router.queue_stats(rig.console.tree())[0][0];
        assert_eq!(stats.packets as usize, passed);
        assert_eq!(stats.packets + stats.dropped + stats.queued_packets, 1000);
        assert_eq!(rig.router.discards().get(Discard::QueueFull), stats.dropped);
        assert!(rig.router.frames().balance());
    }
}

/// A flood of new flows does not end those that are established.
#[test]
fn a_flood_leaves_established_connections() {
    let mut rig = rig("/ip firewall connection tracking set enabled=yes udp-timeout=1s");
    let there = datagram(1000, ip(10, 0, 2, 1));
    let back = craft::udp(ip(10, 0, 2, 1), 2000, ip(10, 0, 1, 1), 1000);
    let back = Frame { src_mac: mac(2), dst_mac: own_mac(2), ..back }.build();
    for _ in 0..2 {
        assert_eq!((rig.pass(1, &there).len(), rig.pass(2, &back).len()), (1, 1));
    }
    for port in 2000..12_000 {
        assert_eq!(way(&mut rig, port, ip(10, 0, 2, 1)), 2);
    }
    assert_eq!(rig.router.connections().len(), 10_001);
    rig.wait(Duration::from_secs(70));
    let left: Vec<_> = rig.router.connections().list(rig.now).collect();
    assert_eq!(left.len(), 1, "the flood timed out");
    assert!(left[0].flags.has(Flags::ASSURED) && left[0].original.src_port == 1000);
}
