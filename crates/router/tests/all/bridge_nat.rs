//! `/interface bridge nat`: MAC addresses rewritten between the ports of a bridge, on both paths.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use wire::arp::ArpMessage;
use wire::craft::{self, Frame, ip};

const BRIDGE: &str = "/interface bridge add name=b protocol-mode=none
/interface bridge port add bridge=b interface=ether1
/interface bridge port add bridge=b interface=ether2
/interface bridge port add bridge=b interface=ether3
/ip address add address=10.0.0.254/24 interface=b\n";

fn rig(rule: &str, reference: bool) -> Rig {
    let mut rig = Rig::new(3, &format!("{BRIDGE}/interface bridge nat add {rule}"));
    rig.router.set_reference(reference);
    rig
}

fn frame(src: u8, dst: u8) -> Frame<'static> {
    let template = craft::udp(ip(10, 0, 0, src), 1000, ip(10, 0, 0, dst), 2000);
    Frame { src_mac: mac(src), dst_mac: mac(dst), ..template }
}

/// Hosts 1, 2 and 3 behind the ports of their numbers; a frame from 1 to 2, and where it comes out
/// as what.
#[test]
fn addresses_are_rewritten() {
    type Case = (&'static str, &'static [(usize, u8, u8)]);
    const TO_3: &str = "chain=dstnat action=dst-nat to-dst-mac-address=06:00:00:00:00:03";
    const FROM_9: &str = "chain=srcnat action=src-nat to-src-mac-address=06:00:00:00:00:09";
    const CASES: &[Case] = &[
        (TO_3, &[(3, 1, 3)]),
        (FROM_9, &[(2, 9, 2)]),
        ("chain=srcnat out-interface=ether2 action=drop", &[]),
        ("chain=dstnat in-interface=ether2 action=drop", &[(2, 1, 2)]),
        ("chain=dstnat action=accept", &[(2, 1, 2)]),
    ];
    for (rule, expected) in CASES {
        for reference in [true, false] {
            let mut rig = rig(&format!("{rule} comment=x disabled=yes"), reference);
            for host in 1..=3 {
                rig.pass(host.into(), &frame(host, 77).build());
            }
            rig.run("/interface bridge nat enable 0");
            for n in 1..4 {
                let out = rig.pass(1, &frame(1, 2).build());
                let expected: Vec<_> = expected
                    .iter()
                    .map(|&(port, src, dst)| {
                        let (src_mac, dst_mac) = (mac(src), mac(dst));
                        (port, Frame { src_mac, dst_mac, ..frame(1, 2) }.build())
                    })
                    .collect();
                assert_eq!(out, expected, "{rule}");
                let counted = rig.run(":put [/interface bridge nat get 0 packets]");
                let hit = if rule.contains("ether2 action=drop") && rule.contains("dstnat") {
                    0
                } else {
                    n
                };
                assert_eq!(counted.trim(), hit.to_string(), "{rule}");
            }
            assert!(rig.router.frames().balance());
        }
    }
}

/// `redirect` makes the router the destination; `arp-reply` answers for another, and only requests.
#[test]
fn the_router_takes_and_answers() {
    for reference in [true, false] {
        let mut taken = rig("chain=dstnat action=redirect", reference);
        let ping = Frame {
            src_mac: mac(1),
            dst_mac: mac(2),
            ..craft::ping(ip(10, 0, 0, 1), ip(10, 0, 0, 254))
        };
        taken.introduce(1, mac(1), ip(10, 0, 0, 1), ip(10, 0, 0, 254));
        let out = taken.pass(1, &ping.build());
        assert!(matches!(&out[..], [(1, reply)] if reply[34] == 0), "{out:02x?}");

        let rule = "chain=dstnat action=arp-reply to-arp-reply-mac-address=06:00:00:00:00:09 \
                    arp-dst-address=10.0.0.7";
        let mut answered = rig(rule, reference);
        let request = ArpMessage::request(mac(1), ip(10, 0, 0, 1), ip(10, 0, 0, 7));
        let reply = Frame { src_mac: mac(9), ..craft::arp(request.reply_from(mac(9))) };
        let out = answered.pass(1, &craft::arp(request).build());
        assert_eq!(out, [(1, reply.build())]);
        // Others are flooded as ever.
        let other = ArpMessage::request(mac(1), ip(10, 0, 0, 1), ip(10, 0, 0, 8));
        assert_eq!(answered.pass(1, &craft::arp(other).build()).len(), 2);
        assert!(answered.router.frames().balance());
    }
}

/// What is routed out by the bridge passes srcnat, each frame; and goes the short way again when the
/// rules are gone.
#[test]
fn routed_frames_too() {
    let script = "/interface bridge add name=b protocol-mode=none
         /interface bridge port add bridge=b interface=ether2
         /ip address add address=10.0.1.254/24 interface=ether1
         /ip address add address=10.0.2.254/24 interface=b";
    let mut rig = Rig::new(2, script);
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    let frame = craft::udp(ip(10, 0, 1, 1), 1, ip(10, 0, 2, 1), 2);
    let frame = Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame }.build();
    let src = |rig: &mut Rig| rig.pass(1, &frame)[0].1[6..12].to_vec();
    for _ in 0..3 {
        assert_eq!(src(&mut rig), own_mac(2).0);
    }
    rig.run("/interface bridge nat add chain=srcnat action=src-nat to-src-mac-address=06:00:00:00:00:09");
    for _ in 0..3 {
        assert_eq!(src(&mut rig), mac(9).0);
    }
    rig.run("/interface bridge nat remove 0");
    for _ in 0..3 {
        assert_eq!(src(&mut rig), own_mac(2).0);
    }
    assert_eq!(rig.router.discards().get(Discard::BridgeNatDrop), 0);
}

/// An action that lacks its address, or stands in the wrong chain.
#[test]
fn refused() {
    for (rule, why) in [
        ("chain=srcnat action=src-nat", "needs to-src-mac-address"),
        ("chain=srcnat action=redirect", "cannot be in chain srcnat"),
        (
            "chain=dstnat action=src-nat to-src-mac-address=06:00:00:00:00:09",
            "cannot be in chain dstnat",
        ),
        ("chain=dstnat action=set-priority", "not built"),
    ] {
        let mut rig = Rig::new(3, BRIDGE);
        let error = rig.try_run(&format!("/interface bridge nat add {rule}")).unwrap_err();
        assert!(error.text.contains(why), "{rule}: {}", error.text);
    }
}
