//! Names: asked for and answered over IPv6, in address lists, and those that others know by a name of
//! their own.

use crate::ipv6::{self, Sent, introduce, ip6};
use crate::rig::{Rig, mac, own_mac};
use std::net::Ipv6Addr;
use std::time::Duration;
use wire::checksum::Sum;
use wire::craft::{self, ip};
use wire::dns::{self, Message, kind};
use wire::layers::{self, protocol};
use wire::{Ipv6, craft::Frame};

const CONFIG: &str = "
/ip address add address=192.0.2.1/24 interface=ether2
/ip dns set allow-remote-requests=yes servers=192.0.2.53
";
const SERVER: u32 = ip(192, 0, 2, 53);
const SERVER6: &str = "2001:db8:2::b";
const HOST: &str = "2001:db8:1::a";
const ROUTER: &str = "2001:db8:1::1";

/// A router of both families, with a name server of IPv4 and a host of each of IPv6.
fn rig(more: &str) -> Rig {
    let mut rig = ipv6::rig(&format!("{CONFIG}{more}"));
    rig.introduce(2, mac(53), SERVER, ip(192, 0, 2, 1));
    rig
}

/// A datagram over IPv6, with its checksum.
fn datagram6(port: u8, n: u8, ends: (&str, u16), to: (Ipv6Addr, u16), payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len() as u16;
    let ports = [ends.1.to_be_bytes(), to.1.to_be_bytes(), len.to_be_bytes(), [0, 0]].concat();
    let mut udp = [&ports[..], payload].concat();
    let (src, dst) = (ip6(ends.0), to.0);
    let sum = Sum::pseudo_ipv6(src.octets(), dst.octets(), protocol::UDP, len.into());
    let sum = sum.bytes(&udp).finish().to_be_bytes();
    udp[6..8].copy_from_slice(&sum);
    let (src_mac, dst_mac, next_header) = (mac(n), own_mac(port), protocol::UDP);
    Sent { src_mac, dst_mac, src, dst, next_header, hop_limit: 64, payload: udp }.build()
}

/// What left by a port over IPv6: to whom, between which ports, and what.
fn datagrams6(frames: &[Vec<u8>]) -> Vec<(Ipv6Addr, [u16; 2], Vec<u8>)> {
    let udp = |frame: &Vec<u8>| {
        let packet = Ipv6::new(frame.get(14..)?).ok().filter(|_| frame[12..14] == [0x86, 0xdd])?;
        let udp = packet.payload();
        let is_udp = packet.next_header() == protocol::UDP;
        let (src, dst) = (packet.src().octets(), packet.dst().octets());
        let sum = Sum::pseudo_ipv6(src, dst, protocol::UDP, udp.len() as u32).bytes(udp);
        let ports = [0, 2].map(|at| u16::from_be_bytes([udp[at], udp[at + 1]]));
        (is_udp && sum.is_ok()).then(|| (packet.dst(), ports, udp[8..].to_vec()))
    };
    frames.iter().filter_map(udp).collect()
}

/// The same over IPv4, to the name server: the port it came from.
fn queries(rig: &mut Rig) -> Vec<(u16, Vec<u8>)> {
    let udp = |frame: &Vec<u8>| {
        let layers = layers::network(frame).ok()?;
        let tuple = layers.tuple;
        let payload = frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)].to_vec();
        let is_it = (tuple.protocol, tuple.dst, tuple.dst_port) == (protocol::UDP, SERVER, 53);
        is_it.then_some((tuple.src_port, payload))
    };
    rig.take(2).iter().filter_map(udp).collect()
}

/// An answer with these addresses.
fn response(query: &[u8], kind: u16, answers: &[(u32, &[u8])]) -> Vec<u8> {
    let mut read = Message::read(query).unwrap();
    read.edns = None;
    let name = read.name.clone();
    let answers: Vec<_> =
        answers.iter().map(|(ttl, data)| (name.clone(), kind, *ttl, data.to_vec())).collect();
    dns::response(query, &read, 0, &answers)
}

/// The name server answers what it was asked, with these addresses of IPv4.
fn answer(rig: &mut Rig, answers: &[(u32, [u8; 4])]) -> usize {
    let asked = queries(rig);
    for (port, query) in &asked {
        let answers: Vec<(u32, &[u8])> = answers.iter().map(|(ttl, at)| (*ttl, &at[..])).collect();
        let payload = response(query, kind::A, &answers);
        let frame = craft::udp(SERVER, 53, ip(192, 0, 2, 1), *port);
        let (src_mac, dst_mac) = (mac(53), own_mac(2));
        rig.send(2, &Frame { src_mac, dst_mac, payload: &payload, ..frame }.build());
    }
    rig.breathe();
    asked.len()
}

fn first(bytes: &[u8]) -> Vec<u8> {
    let read = Message::read(bytes).unwrap();
    bytes[read.records[0].data.clone()].to_vec()
}

#[test]
fn hosts_of_ipv6_are_answered_and_servers_of_ipv6_asked() {
    let mut rig = rig("/ip dns set servers=2001:db8:2::b
        /ip dns static add name=router.lan address=10.0.0.1");
    let ask = |rig: &mut Rig, name: &str, id| {
        let query = dns::query(id, name, kind::A, 512).unwrap();
        rig.send(1, &datagram6(1, 1, (HOST, 5000), (ip6(ROUTER), 53), &query));
        rig.breathe();
        datagrams6(&rig.take(1))
    };
    let said = ask(&mut rig, "router.lan", 1);
    let [(to, [53, 5000], typed)] = &said[..] else { panic!("{said:?}") };
    assert_eq!((*to, first(typed)), (ip6(HOST), vec![10, 0, 0, 1]));
    // What is not typed, the server knows.
    assert!(ask(&mut rig, "example.com", 2).is_empty());
    let asked = datagrams6(&rig.take(2));
    let [(server, [port, 53], query)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(*server, ip6(SERVER6));
    let said = response(query, kind::A, &[(60, &[1, 2, 3, 4])]);
    let own = (ip6("2001:db8:2::1"), *port);
    rig.send(2, &datagram6(2, 2, (SERVER6, 53), own, &said));
    rig.breathe();
    let said = datagrams6(&rig.take(1));
    let [(_, [53, 5000], answer)] = &said[..] else { panic!("{said:?}") };
    assert_eq!(first(answer), [1, 2, 3, 4]);
    // A datagram with a wrong checksum is none.
    let query = dns::query(3, "router.lan", kind::A, 512).unwrap();
    let mut bad = datagram6(1, 1, (HOST, 5000), (ip6(ROUTER), 53), &query);
    *bad.last_mut().unwrap() ^= 1;
    rig.send(1, &bad);
    rig.breathe();
    assert!(datagrams6(&rig.take(1)).is_empty());
    assert_eq!(ipv6::discards(&rig), [("bad-dns", 1)]);
}

/// A name may be one that `/ip dns forwarders` knows the servers of, or stand beside addresses of both families.
#[test]
fn forwarders() {
    for (to, servers) in [
        ("there", &[SERVER6][..]),
        ("2001:db8:2::b,192.0.2.53", &[SERVER6]),
        ("192.0.2.53,2001:db8:2::b", &["192.0.2.53"]),
    ] {
        let mut rig = rig(&format!(
            "/ip dns set servers=\"\"
             /ip dns forwarders add name=there dns-servers=2001:db8:2::b
             /ip dns static add name=corp.lan type=FWD match-subdomain=yes forward-to={to}"
        ));
        let query = dns::query(1, "www.corp.lan", kind::A, 512).unwrap();
        rig.send(1, &datagram6(1, 1, (HOST, 5000), (ip6(ROUTER), 53), &query));
        rig.breathe();
        let frames = rig.take(2);
        let mut asked: Vec<String> =
            datagrams6(&frames).iter().map(|(to, ..)| to.to_string()).collect();
        let of_ipv4 = frames.iter().filter_map(|frame| layers::network(frame).ok());
        let of_ipv4 = of_ipv4.filter(|layers| layers.tuple.dst_port == 53 && layers.tuple.dst != 0);
        asked.extend(of_ipv4.map(|layers| std::net::Ipv4Addr::from(layers.tuple.dst).to_string()));
        asked.retain(|address| servers.contains(&address.as_str()) || !address.starts_with("0."));
        asked.dedup();
        assert_eq!(asked, servers, "{to}");
    }
    let error = rig("").try_run("/ip dns static add name=x type=FWD forward-to=nobody");
    assert!(error.unwrap_err().text.contains("there is no nobody"));
}

/// The addresses of a name are in the list until its TTL is over and a little longer; it is asked for
/// again, and what is removed is out at once.
#[test]
fn names_in_address_lists() {
    let mut rig = rig("/ip firewall address-list
        add list=blocked address=Bad.example.com
        add list=other address=bad.example.com disabled=yes
        /ip firewall filter add chain=forward dst-address-list=blocked action=drop");
    let blocked = |rig: &mut Rig| {
        let rows = rig.run("/ip firewall address-list print");
        let rows = rows.lines().filter(|line| line.contains("D ") && line.contains("blocked"));
        rows.map(|line| line.split_whitespace().nth(3).unwrap_or("").to_string())
            .collect::<Vec<_>>()
    };
    rig.wait(Duration::from_secs(1));
    assert_eq!(answer(&mut rig, &[(60, [1, 2, 3, 4]), (60, [1, 2, 3, 5])]), 1);
    assert_eq!(
        blocked(&mut rig),
        ["1.2.3.4", "1.2.3.5"],
        "{}",
        rig.run("/ip firewall address-list print")
    );
    // It is asked for again when its TTL is over, and the address is in the list meanwhile.
    rig.wait(Duration::from_secs(59));
    assert_eq!(queries(&mut rig).len(), 0);
    rig.introduce(2, mac(53), SERVER, ip(192, 0, 2, 1));
    rig.wait(Duration::from_millis(1500));
    assert_eq!(blocked(&mut rig), ["1.2.3.4", "1.2.3.5"]);
    assert_eq!(answer(&mut rig, &[(60, [1, 2, 3, 5])]), 1);
    rig.wait(Duration::from_secs(31));
    assert_eq!(blocked(&mut rig), ["1.2.3.5"], "what is not said any more ends");
    // A name that is removed takes its addresses along.
    rig.run("/ip firewall address-list remove [find list=blocked]");
    rig.wait(Duration::from_secs(1));
    assert_eq!(blocked(&mut rig), [""; 0]);
    rig.wait(Duration::from_secs(120));
    assert_eq!(queries(&mut rig).len(), 0, "nobody wants to know any more");
    let frames = rig.router.frames();
    assert!(frames.balance(), "{frames:?}");
}

/// The same of IPv6, and of a name that is typed here.
#[test]
fn names_in_address_lists_of_ipv6() {
    let mut rig = rig("/ip dns static add name=six.lan type=AAAA address=2001:db8:9::6
        /ip dns static add name=six.lan address=10.9.9.9
        /ipv6 firewall address-list add list=six address=six.lan
        /ip firewall address-list add list=four address=six.lan");
    rig.wait(Duration::from_secs(1));
    introduce(&mut rig, 1, 1, HOST, ROUTER);
    let six = rig.run("/ipv6 firewall address-list print");
    assert!(six.contains("2001:db8:9::6/128"), "{six}");
    let four = rig.run("/ip firewall address-list print");
    assert!(four.contains("10.9.9.9") && !four.contains("2001"), "{four}");
    let export = rig.run("/export");
    assert!(export.contains("add address=six.lan list=six"), "{export}");
    assert!(!export.contains("10.9.9.9 list"), "{export}");
}
