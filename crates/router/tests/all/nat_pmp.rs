//! `/ip nat-pmp`: hosts inside open ports of the address outside, and nobody else does.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use std::time::Duration;
use wire::TcpFlags;
use wire::craft::{self, Frame, ip};
use wire::layers::{self, protocol};
use wire::nat_pmp::{Mapping, PORT, result};

const CONFIG: &str = "\
/ip address add address=10.0.0.1/24 interface=ether1
/ip address add address=192.0.2.1/24 interface=ether2
/ip firewall filter
add chain=forward connection-state=established,related
add chain=forward connection-nat-state=!dstnat connection-state=new in-interface=ether2 action=drop
/ip firewall nat
add chain=srcnat action=masquerade out-interface=ether2
add chain=dstnat protocol=tcp dst-port=7777 action=dst-nat to-addresses=10.0.0.6
/ip nat-pmp interfaces
add interface=ether1 type=internal
add interface=ether2 type=external
/ip nat-pmp set enabled=yes
";

const ROUTER: u32 = ip(10, 0, 0, 1);
const OUTSIDE: u32 = ip(192, 0, 2, 1);
const HOST: u32 = ip(10, 0, 0, 5);
const OTHER: u32 = ip(10, 0, 0, 6);
const FAR: u32 = ip(192, 0, 2, 9);

fn rig(more: &str) -> Rig {
    let mut rig = Rig::new(2, &format!("{CONFIG}{more}"));
    introduce(&mut rig);
    rig
}

fn introduce(rig: &mut Rig) {
    rig.introduce(1, mac(5), HOST, ROUTER);
    rig.introduce(1, mac(6), OTHER, ROUTER);
    rig.introduce(2, mac(9), FAR, OUTSIDE);
}

fn from(port: u8, frame: Frame) -> Vec<u8> {
    let src_mac = if port == 1 { mac(5) } else { mac(9) };
    Frame { src_mac, dst_mac: own_mac(port), ..frame }.build()
}

/// What a host is answered.
fn ask(rig: &mut Rig, host: u32, payload: &[u8]) -> Option<Vec<u8>> {
    let sent = rig.pass(1, &from(1, Frame { payload, ..craft::udp(host, 4000, ROUTER, PORT) }));
    let (port, frame) = sent.first()?;
    let layers = layers::network(frame).unwrap();
    if layers.tuple.protocol != protocol::UDP {
        return None;
    }
    assert_eq!((*port, layers.tuple.dst, layers.tuple.src_port), (1, host, PORT));
    Some(frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)].to_vec())
}

/// A mapping: the result, the port outside, and for how long.
fn map(rig: &mut Rig, host: u32, asked: Mapping) -> (u16, u16, u32) {
    let mut payload = vec![0, if asked.protocol == protocol::TCP { 2 } else { 1 }, 0, 0];
    payload.extend(asked.internal.to_be_bytes());
    payload.extend(asked.external.to_be_bytes());
    payload.extend(asked.lifetime.to_be_bytes());
    let answer = ask(rig, host, &payload).expect("an answer");
    assert_eq!((answer[0], answer[1], answer.len()), (0, payload[1] | 128, 16));
    let short = |at: usize| u16::from_be_bytes([answer[at], answer[at + 1]]);
    assert_eq!(short(8), asked.internal);
    let lifetime = u32::from_be_bytes(*answer.last_chunk().unwrap());
    (short(2), short(10), lifetime)
}

const WEB: Mapping = Mapping { protocol: 6, internal: 80, external: 8080, lifetime: 3600 };

/// Where a segment from far away to a port outside ends: the port it leaves by, whom it is for.
fn way(rig: &mut Rig, src_port: u16, port: u16) -> Option<(u32, u16)> {
    let sent = rig.pass(2, &from(2, craft::tcp(FAR, src_port, OUTSIDE, port, TcpFlags::SYN)));
    let (out, frame) = sent.first()?;
    let tuple = layers::network(frame).unwrap().tuple;
    (*out == 1).then_some((tuple.dst, tuple.dst_port))
}

#[test]
fn a_host_opens_a_port() {
    for reference in [true, false] {
        let mut rig = rig("");
        rig.router.set_reference(reference);
        assert_eq!(way(&mut rig, 1000, 8080), None, "nobody's");
        let outside = ask(&mut rig, HOST, &[0, 0]).unwrap();
        assert_eq!((&outside[..4], &outside[8..]), (&[0, 128, 0, 0][..], &[192, 0, 2, 1][..]));
        assert_eq!(map(&mut rig, HOST, WEB), (result::SUCCESS, 8080, 3600));
        for turn in 0..3 {
            assert_eq!(way(&mut rig, 2000, 8080), Some((HOST, 80)), "{turn} {reference}");
        }
        // What comes back is from the address outside again.
        let sent =
            rig.pass(1, &from(1, craft::tcp(HOST, 80, FAR, 2000, TcpFlags::SYN | TcpFlags::ACK)));
        let tuple = layers::network(&sent[0].1).unwrap().tuple;
        assert_eq!((sent[0].0, tuple.src, tuple.src_port), (2, OUTSIDE, 8080));
        let print = rig.run("/ip firewall nat print");
        assert!(print.contains("nat-pmp, ") && print.contains("to-ports=80"), "{print}");
        assert!(!rig.run("/export").contains("8080"));
        assert!(rig.router.frames().balance());
    }
}

#[test]
fn whose_a_port_is() {
    let mut rig = rig("");
    let udp = Mapping { protocol: 17, ..WEB };
    for (host, asked, expected) in [
        (HOST, WEB, (0, 8080, 3600)),
        // Again: it lives longer.
        (HOST, Mapping { lifetime: 7200, external: 1, ..WEB }, (0, 8080, 7200)),
        // By the other protocol it is the same host's.
        (OTHER, udp, (0, 1024, 3600)),
        (HOST, udp, (0, 8080, 3600)),
        (OTHER, Mapping { internal: 5000, ..WEB }, (0, 5000, 3600)),
        // Ports of the router's own are nobody's.
        (HOST, Mapping { internal: 6000, external: 22, ..WEB }, (0, 6000, 3600)),
        (HOST, Mapping { internal: 22, external: 22, ..WEB }, (0, 1025, 3600)),
        (
            HOST,
            Mapping { internal: 23, external: 2323, lifetime: u32::MAX, ..WEB },
            (0, 2323, 86_400),
        ),
        (HOST, Mapping { internal: 0, ..WEB }, (result::REFUSED, 8080, 3600)),
        // Who is no neighbour there is not the one it says it is.
        (ip(10, 9, 0, 1), WEB, (result::REFUSED, 8080, 3600)),
    ] {
        if host == ip(10, 9, 0, 1) {
            rig.run("/ip route add dst-address=10.9.0.0/16 gateway=10.0.0.5");
        }
        assert_eq!(map(&mut rig, host, asked), expected, "{host:x} {asked:?}");
    }
    // Rules come first.
    assert_eq!(map(&mut rig, HOST, Mapping { internal: 7777, external: 7777, ..WEB }).1, 7777);
    assert_eq!(way(&mut rig, 2999, 7777), Some((OTHER, 7777)));
    // One is given back, then all of TCP.
    let none = Mapping { external: 0, lifetime: 0, ..WEB };
    assert_eq!(map(&mut rig, HOST, none), (0, 0, 0));
    assert_eq!(way(&mut rig, 3000, 8080), None);
    assert_eq!(way(&mut rig, 3001, 6000), Some((HOST, 6000)));
    assert_eq!(map(&mut rig, HOST, Mapping { internal: 0, ..none }), (0, 0, 0));
    assert_eq!(way(&mut rig, 3002, 6000), None);
    assert_eq!(way(&mut rig, 3003, 5000), Some((OTHER, 5000)), "another's stays");
    // What is not asked for again ends.
    rig.wait(Duration::from_secs(3601));
    introduce(&mut rig);
    assert_eq!(way(&mut rig, 3004, 5000), None);
    assert_eq!(rig.run("/ip firewall nat print count-only where dynamic").trim(), "0");
}

#[test]
fn room_is_bounded() {
    let mut rig = rig("");
    let asked = |internal| Mapping { internal, external: 0, ..WEB };
    let results = (2000..2200).map(|port| map(&mut rig, HOST, asked(port)).0);
    assert_eq!(results.filter(|result| *result == result::SUCCESS).count(), 128);
    assert_eq!(map(&mut rig, OTHER, asked(2000)).0, result::SUCCESS);
}

#[test]
fn who_is_not_answered() {
    // Off unless it is enabled; from outside never.
    let mut off = rig("/ip nat-pmp set enabled=no");
    assert_eq!(ask(&mut off, HOST, &[0, 0]), None);
    let mut rig = rig("");
    let sent =
        rig.pass(2, &from(2, Frame { payload: &[0, 0], ..craft::udp(FAR, 1, OUTSIDE, PORT) }));
    let is_udp = |frame: &[u8]| layers::network(frame).unwrap().tuple.protocol == protocol::UDP;
    assert!(!sent.iter().any(|(_, frame)| is_udp(frame)));
    assert_eq!(ask(&mut rig, HOST, &[0, 130, 0, 0]), None, "an answer");
    assert_eq!(rig.router.discards().get(Discard::BadNatPmp), 1);
    assert_eq!(ask(&mut rig, HOST, &[2, 1]).unwrap()[..4], [0, 129, 0, 1], "PCP");
    assert_eq!(ask(&mut rig, HOST, &[0, 9]).unwrap()[..4], [0, 137, 0, 5]);
    rig.run("/ip nat-pmp interfaces disable [find type=external]");
    assert_eq!(ask(&mut rig, HOST, &[0, 0]).unwrap()[..4], [0, 128, 0, 3]);
    assert_eq!(map(&mut rig, HOST, WEB).0, result::NETWORK);
    let balanced = rig.router.frames().balance();
    assert!(balanced, "{:?}", rig.router.discards());
}
