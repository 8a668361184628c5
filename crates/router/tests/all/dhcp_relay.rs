//! `/ip dhcp-relay`: a client on one side, its server on another.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use std::time::Duration;
use wire::craft::{self, ip};
use wire::dhcp::{self, Message, option};
use wire::layers;

const CONFIG: &str = "\
/ip address add address=10.0.0.1/24 interface=ether1
/ip address add address=192.0.2.1/24 interface=ether2
/ip arp add address=192.0.2.67 mac-address=06:00:00:00:00:43 interface=ether2
/ip dhcp-relay add interface=ether1 dhcp-server=192.0.2.67";

const SERVER: u32 = ip(192, 0, 2, 67);

fn request() -> Message {
    let mut message = Message { op: dhcp::REQUEST, xid: 7, chaddr: mac(5), ..Message::default() };
    message.push(option::KIND, [1]);
    message
}

fn ask(rig: &mut Rig, bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let frame = craft::udp(0, 68, u32::MAX, 67);
    let macs = (mac(5), wire::MacAddr::BROADCAST);
    let frame = craft::Frame { src_mac: macs.0, dst_mac: macs.1, payload: bytes, ..frame };
    rig.pass(1, &frame.build())
}

fn payload(frame: &[u8]) -> (layers::FiveTuple, Vec<u8>) {
    let layers = layers::network(frame).unwrap();
    (layers.tuple, frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)].to_vec())
}

#[test]
fn there_and_back() {
    for (more, circuit) in [("", false), (" add-relay-info=yes", true)] {
        let mut rig = Rig::new(2, &format!("{CONFIG}{more}"));
        let out = ask(&mut rig, &request().to_bytes());
        let [(2, frame)] = &out[..] else { panic!("{out:?} {:?}", rig.router.discards()) };
        let (tuple, bytes) = payload(frame);
        assert_eq!((tuple.src, tuple.dst), (ip(192, 0, 2, 1), SERVER));
        let asked = Message::read(&bytes).unwrap();
        assert_eq!((asked.giaddr, bytes[3], asked.chaddr), (ip(10, 0, 0, 1), 1, mac(5)));
        let info = asked.get(82).map(<[u8]>::to_vec);
        let expected = [&[1, 6], &b"ether1"[..], &[2, 17], b"06:00:00:00:00:05"].concat();
        assert_eq!(info, circuit.then_some(expected));
        let mut reply = Message {
            op: dhcp::REPLY,
            yiaddr: ip(10, 0, 0, 99),
            options: vec![(option::KIND, vec![2])],
            ..asked
        };
        info.into_iter().for_each(|info| reply.push(82, info));
        reply.push(option::SERVER, SERVER.to_be_bytes());
        let bytes = reply.to_bytes();
        let frame = craft::udp(SERVER, 67, ip(10, 0, 0, 1), 67);
        let frame =
            craft::Frame { src_mac: mac(67), dst_mac: own_mac(2), payload: &bytes, ..frame };
        let out = rig.pass(2, &frame.build());
        let [(1, frame)] = &out[..] else { panic!("{out:?} {:?}", rig.router.discards()) };
        assert_eq!(frame[..6], mac(5).0);
        let (tuple, bytes) = payload(frame);
        assert_eq!((tuple.src, tuple.dst, tuple.dst_port), (ip(10, 0, 0, 1), reply.yiaddr, 68));
        let told = Message::read(&bytes).unwrap();
        assert_eq!(told.get(82), None);
        assert_eq!(told.addresses(option::SERVER), [SERVER]);
        assert!(rig.router.frames().balance());
    }
}

#[test]
fn what_is_not_passed_on() {
    let mut looping = request().to_bytes();
    looping[3] = 16;
    let mut liar = request();
    liar.push(82, [1, 1, 65]);
    for (config, bytes, bad) in [
        ("", looping, 1),
        ("", liar.to_bytes(), 1),
        ("", vec![1; 30], 1),
        (" delay-threshold=2s", request().to_bytes(), 0),
        (
            "\n/ip firewall filter add chain=input protocol=udp dst-port=67 action=drop",
            request().to_bytes(),
            0,
        ),
    ] {
        let mut rig = Rig::new(2, &format!("{CONFIG}{config}"));
        assert_eq!(ask(&mut rig, &bytes), [], "{config}");
        rig.wait(Duration::from_secs(1));
        assert_eq!(rig.router.discards().get(Discard::BadDhcp), bad, "{config}");
        assert!(rig.router.frames().balance());
    }
}

/// Somebody else's reply is not believed.
#[test]
fn replies_of_others() {
    let mut rig = Rig::new(2, CONFIG);
    let reply = Message { op: dhcp::REPLY, giaddr: ip(10, 0, 0, 1), ..request() };
    let bytes = reply.to_bytes();
    let frame = craft::udp(ip(192, 0, 2, 66), 67, ip(10, 0, 0, 1), 67);
    let frame = craft::Frame { src_mac: mac(66), dst_mac: own_mac(2), payload: &bytes, ..frame };
    rig.introduce(2, mac(66), ip(192, 0, 2, 66), ip(192, 0, 2, 1));
    let out = rig.pass(2, &frame.build());
    assert!(out.iter().all(|(port, _)| *port == 2), "{out:?}");
}

const BEHIND: &str = "\
/ip address add address=192.0.2.67/24 interface=ether1
/ip arp add address=192.0.2.1 mac-address=06:00:00:00:00:01 interface=ether1
/ip route add dst-address=10.0.0.0/16 gateway=192.0.2.1
/ip pool add name=here ranges=192.0.2.100-192.0.2.110
/ip pool add name=one ranges=10.0.0.10-10.0.0.11
/ip pool add name=two ranges=10.0.1.10-10.0.1.11
/ip dhcp-server network add address=10.0.0.0/24 gateway=10.0.0.1
/ip dhcp-server network add address=10.0.1.0/24 gateway=10.0.1.1
/ip dhcp-server add name=here interface=ether1 address-pool=here conflict-detection=no
/ip dhcp-server add name=one interface=ether1 address-pool=one relay=10.0.0.1 lease-time=10m authoritative=yes
/ip dhcp-server add name=any interface=ether1 address-pool=two relay=255.255.255.255
";

/// RFC 1542 §4, RFC 3046: relays' clients have a server each, by the relay's address; they renew by themselves.
#[test]
fn the_server_behind() {
    let mut rig = Rig::new(2, BEHIND);
    let (one, two, server) = (ip(10, 0, 0, 1), ip(10, 0, 1, 1), ip(192, 0, 2, 67));
    let mut said = |from: (u32, u16), edit: &dyn Fn(&mut Message)| {
        let mut message =
            Message { op: dhcp::REQUEST, xid: 7, chaddr: mac(5), ..Message::default() };
        edit(&mut message);
        let bytes = message.to_bytes();
        let frame = craft::udp(from.0, from.1, server, 67);
        let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), payload: &bytes, ..frame };
        let out = rig.pass(1, &frame.build());
        assert!(rig.router.frames().balance());
        let frame = &out.first()?.1;
        let (tuple, bytes) = payload(frame);
        let message = Message::read(&bytes).unwrap();
        Some(((tuple.dst, tuple.dst_port), message))
    };
    let kind = |kind: u8| move |message: &mut Message| message.push(option::KIND, [kind]);
    for (relay, expected) in [(one, ip(10, 0, 0, 11)), (two, ip(10, 0, 1, 11))] {
        let by = |message: &mut Message| {
            message.giaddr = relay;
            message.push(82, *b"\x01\x02ab");
        };
        let (to, offer) = said((relay, 67), &|message| {
            kind(1)(message);
            by(message);
        })
        .unwrap();
        assert_eq!((to, offer.giaddr, offer.yiaddr), ((relay, 67), relay, expected));
        assert_eq!(offer.get(82), Some(&b"\x01\x02ab"[..]));
        assert_eq!(offer.addresses(option::ROUTER), [relay]);
        assert_eq!(offer.addresses(option::SERVER), [server]);
        let (to, ack) = said((relay, 67), &|message| {
            kind(3)(message);
            message.push_addresses(option::REQUESTED, &[expected]);
            message.push_addresses(option::SERVER, &[server]);
            by(message);
        })
        .unwrap();
        assert_eq!((to, ack.kind(), ack.yiaddr), ((relay, 67), Some(dhcp::Kind::Ack), expected));
        let (to, ack) = said((expected, 68), &|message| {
            kind(3)(message);
            message.ciaddr = expected;
        })
        .unwrap();
        assert_eq!((to, ack.kind(), ack.giaddr), ((expected, 68), Some(dhcp::Kind::Ack), 0));
        assert_eq!(ack.get(82), None);
    }
    // What is of another network is refused, by way of the relay, to everybody there.
    let (to, nak) = said((one, 67), &|message| {
        kind(3)(message);
        message.chaddr = mac(6);
        message.giaddr = one;
        message.push_addresses(option::REQUESTED, &[ip(172, 16, 0, 9)]);
    })
    .unwrap();
    assert_eq!((to, nak.kind()), ((one, 67), Some(dhcp::Kind::Nak)));
    assert_eq!(nak.flags & dhcp::BROADCAST, dhcp::BROADCAST);
    let leases = rig.run("/ip dhcp-server lease print count-only where status=bound");
    assert_eq!(leases.trim(), "2");
    let again = rig.try_run("/ip dhcp-server add interface=ether1 relay=10.0.0.1").unwrap_err();
    assert!(again.text.contains("for relay 10.0.0.1"), "{again:?}");
}
