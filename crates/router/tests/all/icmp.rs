//! ICMP errors about packets that the router does not forward (RFC 792, RFC 1812 §4.3), and their rate.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use std::time::Duration;
use wire::craft::{self, Frame, ip};
use wire::layers;
use wire::{Icmp, Ipv4, checksum};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
/interface ethernet set ether2 mtu=600
/ip route
add dst-address=172.16.1.0/24 type=unreachable
add dst-address=172.16.2.0/24 type=prohibit
add dst-address=172.16.3.0/24 type=blackhole";

fn rig(more: &str) -> Rig {
    let mut rig = Rig::new(2, &format!("{NETS}\n{more}"));
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig
}

fn to(dst: u32) -> Frame<'static> {
    Frame { src_mac: mac(1), dst_mac: own_mac(1), ..craft::udp(ip(10, 0, 1, 1), 1000, dst, 2000) }
}

/// Type, code and second word of the error that came back, after everything in it was checked:
/// all checksums, the addresses, and that it quotes the packet.
fn error_in(frame: &[u8], about: &[u8]) -> (u8, u8, u32) {
    let packet = Ipv4::new(&frame[14..]).unwrap();
    assert!(packet.checksum_ok());
    assert_eq!((packet.src(), packet.dst()), (ip(10, 0, 1, 254), ip(10, 0, 1, 1)));
    let icmp = Icmp::new(packet.payload()).unwrap();
    assert!(icmp.checksum_ok());
    let (quote, end) = (icmp.payload(), layers::parse(about).unwrap().l3_end);
    // The TTL may have been taken already, with the header's checksum.
    assert_eq!(quote[12..20], about[26..34], "quotes its addresses");
    assert_eq!(quote.len(), (usize::from(end) - 14).min(576 - 28));
    let word = packet.payload()[4..8].try_into().unwrap();
    (icmp.kind(), icmp.code(), u32::from_be_bytes(word))
}

/// Configuration, packet, and the answer's type, code, second word; or none; and the reason.
type Case<'a> = (String, Frame<'a>, Option<(u8, u8, u32)>, Discard);

#[test]
fn errors_by_cause() {
    let payload = [7; 800];
    let far = ip(10, 0, 2, 1);
    let reject = |with: &str| format!("/ip firewall filter add chain=forward action=reject{with}");
    let plain = String::new();
    #[rustfmt::skip]
    let cases: Vec<Case> = vec![
        (plain.clone(), Frame { ttl: 1, ..to(far) }, Some((11, 0, 0)), Discard::TtlExceeded),
        (plain.clone(), Frame { ttl: 0, ..to(far) }, Some((11, 0, 0)), Discard::TtlExceeded),
        (plain.clone(), to(ip(8, 8, 8, 8)), Some((3, 0, 0)), Discard::NoRoute),
        (plain.clone(), to(ip(172, 16, 1, 1)), Some((3, 1, 0)), Discard::RouteUnreachable),
        (plain.clone(), to(ip(172, 16, 2, 1)), Some((3, 13, 0)), Discard::RouteProhibit),
        (plain.clone(), to(ip(172, 16, 3, 1)), None, Discard::RouteBlackhole),
        (plain.clone(), to(ip(10, 0, 1, 254)), Some((3, 3, 0)), Discard::NoListener),
        (plain.clone(), Frame { body: craft::Body::Ip { protocol: 99 }, ..to(ip(10, 0, 1, 254)) },
         Some((3, 2, 0)), Discard::NoListener),
        (plain.clone(), Frame { payload: &payload, dont_fragment: true, ..to(far) },
         Some((3, 4, 600)), Discard::FragmentationNeeded),
        (reject(""), to(far), Some((3, 0, 0)), Discard::FilterReject),
        (reject(" reject-with=icmp-port-unreachable"), to(far), Some((3, 3, 0)), Discard::FilterReject),
        (reject(" reject-with=icmp-admin-prohibited"), to(far), Some((3, 13, 0)), Discard::FilterReject),
        ("/ip settings set ip-forward=no".into(), to(far), None, Discard::ForwardingOff),
        // Never about a broadcast, a group, an ICMP error, a source that is no host.
        (plain.clone(), Frame { dst_mac: wire::MacAddr::BROADCAST, ttl: 1, ..to(far) }, None, Discard::OtherHost),
        (plain.clone(), to(ip(224, 0, 0, 5)), None, Discard::MulticastDestination),
        (plain, Frame { src: ip(127, 0, 0, 1), ttl: 1, ..to(far) }, None, Discard::MartianSource),
    ];
    for (n, (script, frame, answer, why)) in cases.into_iter().enumerate() {
        for reference in [false, true] {
            let mut rig = rig(&script);
            rig.router.set_reference(reference);
            let bytes = frame.build();
            let out = rig.pass(1, &bytes);
            let got: Vec<_> =
                out.iter().map(|(port, reply)| (*port, error_in(reply, &bytes))).collect();
            let expected: Vec<_> = answer.into_iter().map(|answer| (1, answer)).collect();
            assert_eq!(got, expected, "case {n}");
            let discards: Vec<_> = rig.router.discards().iter().collect();
            assert_eq!(discards, [(why, 1)], "case {n}");
            assert!(rig.router.frames().balance(), "case {n}: {:?}", rig.router.frames());
        }
    }
}

#[test]
fn ten_errors_a_second() {
    for (script, per_second) in [("", 10), ("/ip settings set icmp-rate-limit=3", 3)] {
        let mut rig = rig(script);
        rig.wait(Duration::from_secs(2));
        for second in 0..3 {
            let frame = to(ip(8, 8, 8, 8)).build();
            let answered: usize = (0..50).map(|_| rig.pass(1, &frame).len()).sum();
            assert_eq!(answered, per_second, "second {second}");
            rig.wait(Duration::from_secs(1));
        }
        let limited = rig.router.discards().get(Discard::IcmpRateLimited);
        assert_eq!(limited, 3 * (50 - per_second as u64));
    }
}

#[test]
fn a_ping_is_answered_with_its_data() {
    let data: Vec<u8> = (0..=255).collect();
    for reference in [false, true] {
        let mut rig = rig("/ip firewall connection tracking set enabled=yes");
        rig.router.set_reference(reference);
        for dst in [ip(10, 0, 1, 254), ip(10, 0, 2, 254)] {
            let ping = Frame { payload: &data, ..craft::ping(ip(10, 0, 1, 1), dst) };
            let ping = Frame { src_mac: mac(1), dst_mac: own_mac(1), ttl: 3, ..ping };
            let out = rig.pass(1, &ping.build());
            let [(1, reply)] = &out[..] else {
                panic!(
                    "{out:?} {dst:x} {:?} {:?}",
                    rig.router.discards(),
                    rig.router.connections().list(rig.now).collect::<Vec<_>>()
                )
            };
            let packet = Ipv4::new(&reply[14..]).unwrap();
            assert!(packet.checksum_ok() && checksum::is_ok(packet.payload()));
            assert_eq!((packet.src(), packet.dst(), packet.ttl()), (dst, ip(10, 0, 1, 1), 64));
            assert_eq!((packet.payload()[0], &packet.payload()[8..]), (0, &data[..]));
        }
    }
}
