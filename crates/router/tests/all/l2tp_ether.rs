//! Ethernet behind L2TP version 3: what is sent, whose cookie is believed, and what is refused.

use crate::rig::{Rig, mac, own_mac};
use crate::tunnels::{Pair, answer, datagram, script};
use router::discard::Discard;
use wire::craft::{self, ip};
use wire::vlan::Tci;
use wire::{Udp, checksum};

/// Both ends' sessions, and what is behind the outer IP header of the first one's packets.
const SESSIONS: &[(&str, u8, &[u8])] = &[
    ("l2tp-proto-version=l2tpv3-ip", 115, &[0, 0, 0, 2]),
    (
        "l2tp-proto-version=l2tpv3-ip send-cookie=0000000$me peer-cookie=0000000$you",
        115,
        &[0, 0, 0, 2, 0, 0, 0, 1],
    ),
    (
        "l2tp-proto-version=l2tpv3-ip use-l2-specific-sublayer=yes \
         send-cookie=ABCDEF000000000$me peer-cookie=abcdef000000000$you",
        115,
        &[0, 0, 0, 2, 0xab, 0xcd, 0xef, 0, 0, 0, 0, 1, 0, 0, 0, 0],
    ),
    ("", 17, &[6, 165, 6, 165, 0, 158, 0, 0, 0, 3, 0, 0, 0, 0, 0, 2]),
    (
        "send-cookie=0000000$me peer-cookie=0000000$you use-l2-specific-sublayer=yes",
        17,
        &[6, 165, 6, 165, 0, 166, 0, 0, 0, 3, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0],
    ),
];

const ADD: &str = "/interface l2tp-ether add name=t connect-to=192.168.0.$you unmanaged-mode=yes \
                   local-session-id=$me remote-session-id=$you";

/// Through both routers, in FastPath where it is allowed, with and without a firewall.
#[test]
fn routed() {
    for (session, protocol, header) in SESSIONS {
        for (more, fast) in [
            ("", true),
            (
                "/ip firewall filter add chain=input action=accept connection-state=established,new",
                false,
            ),
            ("/interface l2tp-server server set enabled=yes", true),
        ] {
            let mut pair = Pair::new(&script(&format!(
                "{ADD} {session} allow-fast-path=yes
                 /ip address add address=172.16.0.$me/30 interface=t
                 /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you
                 {more}"
            )));
            assert!(pair.runs(0, "t") && pair.runs(1, "t"), "{session}");
            let sent = craft::Frame { tos: 0xb8, ..datagram(&[7; 100]) };
            let back = answer(&[8; 1000]);
            for n in 0..6 {
                let out = pair.pass(&sent.build());
                assert_eq!(out.len(), 1, "{n} {session} {:?}", pair.routers[1].router.discards());
                let inner = craft::Frame { ttl: 63, ..sent }.build();
                assert_eq!(
                    out[0][14..],
                    craft::Frame { ttl: 62, ..sent }.build()[14..],
                    "{session}"
                );
                let (_, frame) = pair.seen.last().expect("a frame");
                assert_eq!((frame[23], frame[15]), (*protocol, 0xb8), "{session}");
                assert!(checksum::is_ok(&frame[14..34]), "{session}");
                assert_eq!(frame[34..34 + header.len()], **header, "{session}");
                assert_eq!(frame[34 + header.len() + 14..], inner[14..], "{session}");
                assert_eq!(pair.pass_back(&back.build()).len(), 1, "{n} {session}");
            }
            let [(rx, _), (tx, _)] = pair.fast_counts(1, "t");
            assert_eq!(rx > 3 && tx > 3, fast, "{session} {more}: {rx} {tx}");
            let replayed = pair.routers[1].router.path_counts().replayed;
            assert!(replayed > 6, "{session} {more}: {replayed}");
            // What does not fit leaves in pieces, and comes out whole.
            let long = datagram(&[9; 1392]);
            assert_eq!(pair.pass(&long.build()).len(), 1, "{session}");
            pair.balanced();
        }
    }
}

/// Both hosts in one network, frames of any length, with tags as well.
#[test]
fn bridged() {
    for (session, ..) in SESSIONS {
        let mut pair = Pair::new(&format!(
            "{ADD} {session} mtu=1500
             /interface bridge add name=b protocol-mode=none
             /interface bridge port add bridge=b interface=ether1
             /interface bridge port add bridge=b interface=t"
        ));
        for len in [10, 400, 1472] {
            for vlan in [None, Some(Tci::new(30, 0))] {
                let frame =
                    craft::Frame { dst_mac: mac(2), vlan, ..datagram(&vec![3; len]) }.build();
                for _ in 0..3 {
                    assert_eq!(pair.pass(&frame), std::slice::from_ref(&frame), "{session} {len}");
                }
            }
        }
        pair.balanced();
    }
}

/// Without its cookie no packet is a session's, by recipe neither; nor are damaged ones.
#[test]
fn believed_by_its_cookie() {
    let mut pair = Pair::new(&format!(
        "{ADD} peer-cookie=deadbee$you send-cookie=deadbee$me
         /interface l2tp-ether add name=u connect-to=192.168.0.$you unmanaged-mode=yes \
         l2tp-proto-version=l2tpv3-ip local-session-id=5 remote-session-id=5 peer-cookie=0102030405060708
         /ip address add address=172.16.0.$me/30 interface=t
         /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you"
    ));
    for _ in 0..3 {
        assert_eq!(pair.pass(&datagram(&[7; 40]).build()).len(), 1);
    }
    let (_, good) = pair.seen.last().cloned().expect("an outer packet");
    let changed = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] ^= byte;
        frame
    };
    let summed = |wrong: u8| {
        let mut frame = good.clone();
        let (src, dst) = (ip(192, 168, 0, 1), ip(192, 168, 0, 2));
        Udp::new(&mut frame[34..]).expect("UDP").fill_checksum(src, dst);
        frame[40] ^= wrong;
        frame
    };
    let bare = |protocol: u8, payload: &[u8]| {
        let body = craft::Body::Ip { protocol };
        let frame = craft::udp(ip(192, 168, 0, 1), 0, ip(192, 168, 0, 2), 0);
        craft::Frame { src_mac: own_mac(2), dst_mac: own_mac(2), body, payload, ..frame }.build()
    };
    let cases = [
        ("as it was", good.clone(), None),
        ("with a checksum", summed(0), None),
        ("with a wrong one", summed(1), Some(Discard::MalformedTunnel)),
        ("another cookie", changed(34 + 16, 1), Some(Discard::BadL2tpCookie)),
        ("the other end's", changed(34 + 19, 3), Some(Discard::BadL2tpCookie)),
        ("another session", changed(34 + 15, 4), Some(Discard::NoListener)),
        ("a control message", changed(34 + 8, 0x80), Some(Discard::MalformedTunnel)),
        ("longer than it is", changed(34 + 4, 0x80), Some(Discard::NoListener)),
        ("version 2", changed(34 + 9, 1), Some(Discard::NoListener)),
        ("nothing", bare(115, &[]), Some(Discard::MalformedTunnel)),
        ("half a cookie", bare(115, &[0, 0, 0, 5, 1, 2, 3]), Some(Discard::BadL2tpCookie)),
        (
            "no frame",
            bare(115, &[0, 0, 0, 5, 1, 2, 3, 4, 5, 6, 7, 8]),
            Some(Discard::BadL2tpCookie),
        ),
        (
            "half a frame",
            bare(115, &[0, 0, 0, 5, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
            Some(Discard::MalformedEthernet),
        ),
        (
            "a control message in IP",
            bare(115, &[0, 0, 0, 0, 0xc8, 3, 0, 20]),
            Some(Discard::MalformedTunnel),
        ),
        // Of UDP's session, not of IP's.
        (
            "another protocol",
            bare(115, &[0, 0, 0, 2, 0xde, 0xad, 0xbe, 0xe1]),
            Some(Discard::NoListener),
        ),
    ];
    for (what, frame, why) in cases {
        let rig = &mut pair.routers[1];
        rig.take(1);
        let before = why.map(|why| rig.router.discards().get(why));
        rig.send(2, &frame);
        rig.breathe();
        let out = rig.take(1).len();
        rig.take(2); // the sender is told
        let discards = rig.router.discards();
        assert_eq!(out, usize::from(why.is_none()), "{what}: {discards:?}");
        assert_eq!(why.map(|why| discards.get(why)), before.map(|n| n + 1), "{what}: {discards:?}");
    }
    pair.balanced();
}

#[test]
fn refused() {
    let add = "/interface l2tp-ether add unmanaged-mode=yes local-session-id=1 remote-session-id=2";
    let mut rig = Rig::new(2, &format!("{add} name=l connect-to=10.0.0.1 send-cookie=DEADBEEF"));
    for (line, why) in [
        (
            "/interface l2tp-ether add connect-to=10.0.0.2 local-session-id=1 remote-session-id=2"
                .into(),
            "unmanaged-mode",
        ),
        (format!("{add} connect-to=10.0.0.1"), "l has this session of 10.0.0.1 already"),
        (format!("{add} connect-to=224.0.0.1"), "no host"),
        (format!("{add} connect-to=10.0.0.2 local-address=10.0.0.2"), "to itself"),
        (format!("{add} connect-to=10.0.0.2 peer-cookie=123"), "8 or 16 hexadecimal digits"),
        (format!("{add} connect-to=10.0.0.2 peer-cookie=0x123456"), "8 or 16 hexadecimal digits"),
        (format!("{add} connect-to=10.0.0.2 cookie-length=4-bytes"), "control messages"),
        (format!("{add} connect-to=10.0.0.2 use-ipsec=yes"), "/ip ipsec policy"),
        (format!("{} connect-to=10.0.0.2", add.replace("mode=yes", "mode=no")), "control messages"),
        (format!("{} connect-to=10.0.0.2", add.replace("id=1", "id=0")), "1..4294967295"),
    ] {
        match rig.try_run(&line) {
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(why), "{line}: {text}");
            }
            Ok(_) => panic!("{line} was taken"),
        }
    }
    // The same session in IP is another one.
    rig.run(&format!("{add} connect-to=10.0.0.1 l2tp-proto-version=l2tpv3-ip"));
    rig.run("/interface vlan add interface=l vlan-id=5");
    let printed = rig.run("/interface print");
    assert!(printed.contains("l2tp-ether"), "{printed}");
    let exported = rig.run("/interface l2tp-ether export");
    assert!(exported.contains("send-cookie=deadbeef"), "{exported}");
}
