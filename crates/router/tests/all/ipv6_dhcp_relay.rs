//! `/ipv6 dhcp-relay`: a client of ours on one side, a server of ours on another, and messages that a relay
//! does not pass on.

use crate::ipv6::{Sent, discards, ip6, ping};
use crate::rig::{Rig, mac, own_mac};
use port::Capabilities;
use std::time::Duration;
use wire::Ipv6;
use wire::checksum::Sum;
use wire::dhcp6::{Association, CLIENT_PORT, Kind, Message, Relayed, SERVER_PORT, SERVERS, option};
use wire::icmpv6::group_mac;
use wire::layers::protocol;

const HOME: &str = "/interface ethernet set ether1 mac-address=02:00:00:00:00:77
/ipv6 dhcp-client add interface=ether1 request=address,prefix pool-name=home rapid-commit=no";
const RELAY: &str = "/ipv6 address
add address=2001:db8:1::1/64 interface=ether1 advertise=no
add address=2001:db8:2::2/64 interface=ether2 advertise=no
/ipv6 dhcp-relay add interface=ether1 dhcp-server=2001:db8:2::1";
const ISP: &str = "/interface ethernet set ether1 mac-address=02:00:00:00:00:99
/ipv6 pool add name=isp prefix=2001:db8:100::/40 prefix-length=56
/ipv6 pool add name=one prefix=2001:db8:1::/64 prefix-length=128
/ipv6 address add address=2001:db8:2::1/64 interface=ether1 advertise=no
/ipv6 dhcp-server add name=s interface=ether1 address-pool=one prefix-pool=isp lease-time=2m";

fn fresh(script: &str) -> Rig {
    let mut rig = Rig::with_ports(&[Capabilities::default(); 2]);
    rig.run(script);
    rig
}

/// Lets time pass with cables between these ports.
fn cables(rigs: &mut [Rig], cables: &[[(usize, usize); 2]], seconds: u64) {
    for _ in 0..seconds * 10 {
        for rig in rigs.iter_mut() {
            rig.wait(Duration::from_millis(100));
        }
        for &[a, b] in cables {
            for (from, to) in [(a, b), (b, a)] {
                for frame in rigs[from.0].take(from.1) {
                    rigs[to.0].send(to.1, &frame);
                }
            }
        }
        rigs.iter_mut().for_each(Rig::breathe);
    }
}

/// RFC 8415 §19: an address and a prefix are had by way of a relay, or of two, kept and given back; to the
/// prefix the server's route leads by the relay.
#[test]
fn there_and_back() {
    let second = "/interface ethernet set ether1 mac-address=02:00:00:00:00:55
/interface ethernet set ether2 mac-address=02:00:00:00:00:56
/ipv6 address add address=2001:db8:3::1/64 interface=ether1 advertise=no
/ipv6 address add address=2001:db8:1::2/64 interface=ether2 advertise=no
/ipv6 dhcp-relay add interface=ether1 dhcp-server=2001:db8:1::1";
    for relays in [1, 2] {
        let mut rigs = vec![fresh(HOME), fresh(ISP), fresh(RELAY)];
        let mut wires = vec![[(0, 1), (2, 1)], [(2, 2), (1, 1)]];
        if relays == 2 {
            rigs.push(fresh(second));
            wires = vec![[(0, 1), (3, 1)], [(3, 2), (2, 1)], [(2, 2), (1, 1)]];
        }
        let count = |rigs: &mut [Rig], at: usize, what: &str| -> usize {
            let (menu, rest) = what.split_once(" where ").unwrap();
            rigs[at].run(&format!("{menu} print count-only where {rest}")).trim().parse().unwrap()
        };
        let bound = "/ipv6 dhcp-client where status=bound";
        cables(&mut rigs, &wires, 10);
        let status = rigs[0].run("/ipv6 dhcp-client print detail");
        assert_eq!(count(&mut rigs, 0, bound), 1, "{relays}: {status}");
        assert_eq!(count(&mut rigs, 1, "/ipv6 dhcp-server binding where status=bound"), 2);
        let routes = rigs[1].run("/ipv6 route print");
        let line = routes.lines().find(|line| line.contains("2001:db8:100::/56"));
        let line = line.unwrap_or_else(|| panic!("{routes}"));
        assert!(line.contains("A") && line.contains("2001:db8:2::2"), "{routes}");
        // It is renewed, by way of the relay, and given back.
        cables(&mut rigs, &wires, 150);
        assert_eq!(count(&mut rigs, 0, bound), 1);
        let long = "/ipv6 dhcp-server binding where expires-after>50s";
        assert_eq!(count(&mut rigs, 1, long), 2);
        rigs[0].run("/ipv6 dhcp-client disable 0");
        cables(&mut rigs, &wires, 1);
        let left = rigs[1].run("/ipv6 dhcp-server binding print count-only");
        assert_eq!(left.trim(), "0");
        for rig in &rigs {
            assert!(rig.router.frames().balance());
            assert!(discards(rig).iter().all(|(why, _)| *why != "bad-dhcp"), "{:?}", discards(rig));
        }
    }
}

/// A message in UDP to port 547 of the relay.
fn says(port: u8, src: &str, dst: &str, from: u16, bytes: &[u8]) -> Vec<u8> {
    let (src, dst) = (ip6(src), ip6(dst));
    let mut payload = [from.to_be_bytes(), SERVER_PORT.to_be_bytes()].concat();
    let len = 8 + bytes.len() as u16;
    payload.extend(len.to_be_bytes());
    payload.extend([0, 0]);
    payload.extend(bytes);
    let sum = Sum::pseudo_ipv6(src.octets(), dst.octets(), protocol::UDP, len.into());
    let sum = sum.bytes(&payload).finish().to_be_bytes();
    payload[6..8].copy_from_slice(&sum);
    let dst_mac = if dst.is_multicast() { group_mac(dst) } else { own_mac(port) };
    let src_mac = mac(port);
    let next_header = protocol::UDP;
    Sent { src, dst, dst_mac, src_mac, next_header, payload, ..ping("::1") }.build()
}

fn asks(kind: Kind, change: impl Fn(&mut Message)) -> Vec<u8> {
    let mut message = Message::new(kind, 7);
    message.push(option::CLIENT_ID, [9]);
    message.push(option::ELAPSED, [0, 150]);
    message.associations.push(Association { is_pd: true, iaid: 1, ..Association::default() });
    change(&mut message);
    message.to_bytes()
}

fn relayed(reply: bool, hops: u8, name: &str, inside: Vec<u8>) -> Vec<u8> {
    let options = vec![(option::INTERFACE_ID, name.as_bytes().to_vec()), (option::RELAYED, inside)];
    let (link, peer) = (ip6("2001:db8:1::1"), ip6("fe80::c"));
    Relayed { reply, hops, link, peer, options }.to_bytes()
}

/// What leaves, `port: source > destination port kind hops link peer`, or why not.
#[test]
fn what_is_passed_on() {
    let all = SERVERS.to_string();
    let client = |bytes: &[u8]| (1, says(1, "fe80::c", &all, CLIENT_PORT, bytes));
    let below = |bytes: &[u8]| (1, says(1, "2001:db8:1::9", "2001:db8:1::1", SERVER_PORT, bytes));
    let server = |bytes: &[u8]| (2, says(2, "2001:db8:2::1", "2001:db8:2::2", SERVER_PORT, bytes));
    let other = |bytes: &[u8]| (2, says(2, "2001:db8:2::66", "2001:db8:2::2", SERVER_PORT, bytes));
    let solicit = || asks(Kind::Solicit, |_| ());
    let offer = || asks(Kind::Advertise, |_| ());
    let up = "2: 2001:db8:2::2 > 2001:db8:2::1 547 forward 0 2001:db8:1::1 fe80::c ether1";
    let down = "1: fe80::ff:fe00:1 > fe80::c 546 Advertise";
    let patient = " delay-time=2s";
    let nameless = || {
        let (link, peer) = (ip6("2001:db8:1::1"), ip6("fe80::c"));
        let options = vec![(option::RELAYED, offer())];
        Relayed { reply: true, hops: 0, link, peer, options }.to_bytes()
    };
    #[rustfmt::skip]
    let cases: Vec<(&str, &str, (u8, Vec<u8>), &str)> = vec![
        ("a client's", "", client(&solicit()), up),
        ("by an address that is typed", " link-address=2001:db8:9::1", client(&solicit()),
            "2: 2001:db8:2::2 > 2001:db8:2::1 547 forward 0 2001:db8:9::1 fe80::c ether1"),
        ("another relay's", "", below(&relayed(false, 3, "x", solicit())),
            "2: 2001:db8:2::2 > 2001:db8:2::1 547 forward 4 :: 2001:db8:1::9 ether1"),
        ("a server's", "", server(&relayed(true, 0, "ether1", offer())), down),
        ("a server's, by the link", "", server(&nameless()), down),
        ("who waits for less", patient, client(&solicit()), ""),
        ("who waits for long", patient, client(&asks(Kind::Solicit, |m| m.options[1].1 = vec![0, 200])), up),
        ("a server's, from a client", "", client(&offer()), "bad-dhcp"),
        ("too many relays", "", below(&relayed(false, 8, "x", solicit())), "bad-dhcp"),
        ("nothing", "", client(&[]), "bad-dhcp"),
        ("no message", "", client(&[1, 2]), "bad-dhcp"),
        ("an option past its end", "", client(&[solicit(), vec![0, 9, 0, 4]].concat()), "bad-dhcp"),
        ("a relay's, cut off", "", below(&[12; 33]), "bad-dhcp"),
        ("by another interface", "", server(&relayed(true, 0, "ether2", offer())), "bad-dhcp"),
        ("with nothing in it", "", server(&relayed(true, 0, "ether1", Vec::new())), "bad-dhcp"),
        ("a client's in a reply", "", server(&relayed(true, 0, "ether1", solicit())), "bad-dhcp"),
        ("somebody else's reply", "", other(&relayed(true, 0, "ether1", offer())), "no-listener"),
    ];
    for (what, more, (port, frame), expected) in cases {
        let mut rig = fresh(&format!("{RELAY}{more}"));
        rig.wait(Duration::from_secs(5));
        (1..=2).for_each(|port| drop(rig.take(port)));
        for (port, src, own) in [
            (1, "2001:db8:1::9", "2001:db8:1::1"),
            (2, "2001:db8:2::1", "2001:db8:2::2"),
            (2, "2001:db8:2::66", "2001:db8:2::2"),
        ] {
            crate::ipv6::introduce(&mut rig, port, port, src, own);
        }
        let asked = crate::ipv6::solicitation("fe80::ff:fe00:1", Some(mac(1)));
        rig.pass(1, &crate::ipv6::says(1, "fe80::c", "ff02::1:ff00:1", asked).build());
        let out = rig.pass(port.into(), &frame);
        let said = out.iter().filter_map(|(port, frame)| {
            let packet = Ipv6::new(&frame[14..]).unwrap();
            let udp = packet.payload();
            (packet.next_header() == protocol::UDP).then_some(())?;
            let (to, bytes) = (u16::from_be_bytes([udp[2], udp[3]]), &udp[8..]);
            let head = format!("{port}: {} > {} {to}", packet.src(), packet.dst());
            Some(match Relayed::read(bytes) {
                Some(told) => {
                    let name = String::from_utf8(told.get(option::INTERFACE_ID)?.to_vec()).unwrap();
                    assert!(told.get(option::RELAYED).is_some() && !told.reply);
                    format!("{head} forward {} {} {} {name}", told.hops, told.link, told.peer)
                }
                None => format!("{head} {:?}", Message::read(bytes)?.kind),
            })
        });
        let why = discards(&rig).into_iter().map(|(why, _)| why.to_string());
        let became: Vec<String> = said.chain(why).collect();
        assert_eq!(became.join(" | "), expected, "{what}");
        assert!(rig.router.frames().balance(), "{what}");
    }
}

#[test]
fn what_is_no_relay() {
    let mut rig = fresh(RELAY);
    for (line, expected) in [
        (
            "/ipv6 dhcp-relay add interface=ether1 dhcp-server=2001:db8::1",
            "has a dhcp server or relay",
        ),
        ("/ipv6 dhcp-server add interface=ether1", "has a dhcp server or relay"),
        ("/ipv6 dhcp-relay add interface=ether2 dhcp-server=fe80::1", "no address beyond a link"),
        ("/ipv6 dhcp-relay add interface=ether2 dhcp-server=ff05::1:3", "no address beyond a link"),
        ("/ipv6 dhcp-relay add interface=ether2 dhcp-server=::", "must be a server's address"),
        ("/ipv6 dhcp-relay add interface=ether2 dhcp-server=10.0.0.1", "an IPv6 address"),
        ("/ipv6 dhcp-relay add interface=ether2", "dhcp-server"),
    ] {
        let error = rig.try_run(line).unwrap_err();
        assert!(format!("{error:?}").contains(expected), "{line}: {error:?}");
    }
    let export = rig.run("/ipv6 dhcp-relay export");
    assert!(
        export.contains("add dhcp-server=2001:db8:2::1 interface=ether1 name=relay1"),
        "{export}"
    );
}
