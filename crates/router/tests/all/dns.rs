//! Names: what is answered here, what is passed on and kept, and what is not believed.

use crate::rig::{Rig, mac, own_mac};
use proptest::prelude::*;
use router::discard::Discard;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use wire::craft::{self, ip};
use wire::dns::{self, Message, code, flag, kind};
use wire::layers::{self, protocol};

const CONFIG: &str = "\
/ip address add address=10.0.0.1/24 interface=ether1
/ip address add address=192.0.2.1/24 interface=ether2
/ip dns set allow-remote-requests=yes servers=192.0.2.53,192.0.2.54
/ip dns static
add name=router.lan address=10.0.0.1 ttl=1h
add name=two.lan address=10.0.0.2
add name=two.lan address=10.0.0.3
add name=six.lan type=AAAA address=2001:db8::6
add name=www.lan type=CNAME cname=two.lan
add name=out.lan type=CNAME cname=Example.com
add name=loop.lan type=CNAME cname=loop.lan
add name=below.lan address=10.0.0.9 match-subdomain=yes
add name=gone.lan type=NXDOMAIN
add name=off.lan address=10.0.0.8 disabled=yes
add name=mail.lan type=MX mx-exchange=router.lan mx-preference=10
add name=mail.lan type=TXT text=\"v=spf1 -all\"
add name=mail.lan type=NS ns=router.lan
add name=_sip._udp.lan type=SRV srv-target=router.lan srv-port=5060 srv-priority=1 srv-weight=2
add name=listed.lan address=10.0.0.77 address-list=seen ttl=1m
add regexp=\".*\\\\.ads\\\\..*\" type=NXDOMAIN
add regexp=\"^printer[0-9]\\$\" address=10.0.0.7
";

const HOST: u32 = ip(10, 0, 0, 5);
const SERVERS: [u32; 2] = [ip(192, 0, 2, 53), ip(192, 0, 2, 54)];

fn rig(more: &str) -> Rig {
    // There cannot be many slabs.
    thread_local!(static SLAB: port::Slab = port::Slab::new(4096).unwrap());
    let mut rig = SLAB.with(|slab| Rig::with_slab(slab, &[port::Capabilities::default(); 2]));
    rig.run(CONFIG);
    rig.run(more);
    rig.introduce(1, mac(5), HOST, ip(10, 0, 0, 1));
    rig.introduce(2, mac(53), SERVERS[0], ip(192, 0, 2, 1));
    rig.introduce(2, mac(54), SERVERS[1], ip(192, 0, 2, 1));
    rig
}

/// A datagram to the router.
fn datagram(port: u8, (src, sport): (u32, u16), dst: (u32, u16), payload: &[u8]) -> Vec<u8> {
    let src_mac = if port == 1 { mac(5) } else { mac(53) };
    let frame = craft::udp(src, sport, dst.0, dst.1);
    craft::Frame { src_mac, dst_mac: own_mac(port), payload, ..frame }.build()
}

/// An address and a port.
type End = (u32, u16);

/// UDP payloads that left by a port, with who sends them and to whom.
fn payloads(frames: &[Vec<u8>]) -> Vec<(End, End, Vec<u8>)> {
    let all = frames.iter().filter_map(|frame| {
        let layers = layers::network(frame).ok()?;
        let tuple = layers.tuple;
        let payload = frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)].to_vec();
        let ends = ((tuple.src, tuple.src_port), (tuple.dst, tuple.dst_port));
        (tuple.protocol == protocol::UDP).then_some((ends.0, ends.1, payload))
    });
    all.collect()
}

impl Rig {
    /// The host asks from a port; what it is answered at once.
    fn asks(&mut self, port: u16, query: &[u8]) -> Option<Vec<u8>> {
        self.send(1, &datagram(1, (HOST, port), (ip(10, 0, 0, 1), 53), query));
        self.breathe();
        self.answered(port)
    }

    fn answered(&mut self, port: u16) -> Option<Vec<u8>> {
        let all = payloads(&self.take(1));
        let mut mine = all.into_iter().filter(|(_, to, _)| *to == (HOST, port));
        mine.next().map(|(from, _, payload)| {
            assert_eq!(from, (ip(10, 0, 0, 1), 53));
            payload
        })
    }

    /// What servers are asked now: which, from which port, and what.
    fn asked(&mut self) -> Vec<(u32, u16, Vec<u8>)> {
        let all = payloads(&self.take(2)).into_iter();
        let queries = all.filter(|(_, to, _)| to.1 == 53);
        queries.map(|(from, to, payload)| (to.0, from.1, payload)).collect()
    }

    /// A server says something to that port.
    fn says(&mut self, server: u32, port: u16, response: &[u8]) {
        self.send(2, &datagram(2, (server, 53), (ip(192, 0, 2, 1), port), response));
        self.breathe();
    }
}

fn balanced(rig: &Rig) {
    let frames = rig.router.frames();
    assert!(frames.balance(), "{frames:?} {:?}", rig.router.discards());
}

/// A server's response: an address for each name, with a TTL.
fn response(query: &[u8], code: u16, answers: &[(&str, u32, [u8; 4])]) -> Vec<u8> {
    let read = Message::read(query).unwrap();
    let answers: Vec<_> = answers
        .iter()
        .map(|(name, ttl, at)| (name.to_string(), kind::A, *ttl, at.to_vec()))
        .collect();
    let mut bytes = dns::response(query, &read, code, &answers);
    if read.edns.is_some() {
        bytes[11] += 1;
        bytes.extend(dns::edns(1232));
    }
    bytes
}

/// `0 router.lan A 10.0.0.1 3600`: code, and each answer.
fn show(bytes: &[u8]) -> String {
    let read = Message::read(bytes).unwrap_or_else(|| panic!("{bytes:02x?}"));
    assert_eq!(read.flags & (flag::RESPONSE | flag::RECURSES), flag::RESPONSE | flag::RECURSES);
    let mut text = read.code().to_string();
    for record in &read.records[..read.answers] {
        let data = &bytes[record.data.clone()];
        let data = match record.kind {
            kind::A => format!("A {}", Ipv4Addr::from(*data.first_chunk::<4>().unwrap())),
            kind::AAAA => format!("AAAA {}", Ipv6Addr::from(*data.first_chunk::<16>().unwrap())),
            kind::TXT => format!("TXT {}", String::from_utf8_lossy(&data[1..])),
            kind::NS | kind::MX | kind::SRV => {
                let (kind, len) = match record.kind {
                    kind::MX => ("MX", 2),
                    kind::SRV => ("SRV", 6),
                    _ => ("NS", 0),
                };
                let name = dns::read_name(bytes, record.data.start + len).unwrap().0;
                let numbers = data[..len].chunks(2);
                let numbers: String =
                    numbers.map(|n| format!("{} ", n[0] as u16 * 256 + n[1] as u16)).collect();
                format!("{kind} {numbers}{name}")
            }
            other => {
                let name = dns::read_name(bytes, record.data.start).unwrap().0;
                format!("{} {name}", if other == kind::PTR { "PTR" } else { "CNAME" })
            }
        };
        text += &format!(", {} {data} {}", record.name, record.ttl);
    }
    text
}

#[test]
fn names_that_are_typed() {
    for (name, kind, expected) in [
        ("router.lan", kind::A, "0, router.lan A 10.0.0.1 3600"),
        ("ROUTER.lan", kind::A, "0, router.lan A 10.0.0.1 3600"),
        ("router.lan", kind::AAAA, "0"),
        ("two.lan", kind::A, "0, two.lan A 10.0.0.2 86400, two.lan A 10.0.0.3 86400"),
        ("six.lan", kind::AAAA, "0, six.lan AAAA 2001:db8::6 86400"),
        (
            "www.lan",
            kind::A,
            "0, www.lan CNAME two.lan 86400, two.lan A 10.0.0.2 86400, two.lan A 10.0.0.3 86400",
        ),
        ("www.lan", kind::CNAME, "0, www.lan CNAME two.lan 86400"),
        ("a.b.below.lan", kind::A, "0, a.b.below.lan A 10.0.0.9 86400"),
        ("mail.lan", kind::MX, "0, mail.lan MX 10 router.lan 86400"),
        ("mail.lan", kind::TXT, "0, mail.lan TXT v=spf1 -all 86400"),
        ("mail.lan", kind::NS, "0, mail.lan NS router.lan 86400"),
        ("mail.lan", kind::A, "0"),
        ("_sip._udp.lan", kind::SRV, "0, _sip._udp.lan SRV 1 2 5060 router.lan 86400"),
        ("gone.lan", kind::A, "3"),
        ("x.ads.example", kind::A, "3"),
        ("printer7", kind::A, "0, printer7 A 10.0.0.7 86400"),
        ("1.0.0.10.in-addr.arpa", kind::PTR, "0, 1.0.0.10.in-addr.arpa PTR router.lan 3600"),
        ("example", 252, "4"),
    ] {
        let mut rig = rig("");
        let answer = rig.asks(5000, &dns::query(77, name, kind, 512).unwrap());
        let answer = answer.unwrap_or_else(|| panic!("{name}: no answer"));
        assert_eq!(show(&answer), expected, "{name}");
        let read = Message::read(&answer).unwrap();
        assert_eq!(
            (read.id, &answer[12..12 + name.len() + 1]),
            (
                77,
                &{
                    let mut spelled = dns::name_bytes(name).unwrap();
                    spelled.pop();
                    spelled
                }[..]
            ),
            "in the asker's spelling"
        );
        assert!(rig.asked().is_empty(), "{name}: nobody else is asked");
        balanced(&rig);
    }
    // What only looks like it.
    for name in ["printer77", "off.lan", "x.two.lan", "9.0.0.10.in-addr.arpa"] {
        let mut rig = rig("");
        assert_eq!(rig.asks(5000, &dns::query(77, name, kind::A, 512).unwrap()), None, "{name}");
        assert_eq!(rig.asked().len(), 1, "{name}");
    }
    let mut rig = rig("");
    let round = rig.asks(5000, &dns::query(1, "loop.lan", kind::A, 4096).unwrap()).unwrap();
    assert_eq!(Message::read(&round).unwrap().code(), 0, "it comes to an end");
}

/// Of names of type FWD others are asked, and what they say goes to an address list.
#[test]
fn names_that_others_are_asked_for() {
    let mut rig = rig("/ip dns static
add name=corp.example type=FWD forward-to=192.0.2.54 match-subdomain=yes address-list=corp
add name=alias.lan type=CNAME cname=www.corp.example
add name=listed6.lan type=AAAA address=2001:db8::77 address-list=seen
add name=usual.example type=FWD address-list=usual");
    let lists = |rig: &mut Rig| {
        let print =
            "/ip firewall address-list print terse\n/ipv6 firewall address-list print terse";
        let print = rig.run(print);
        let words = print.split_whitespace();
        let shown = words.filter_map(|word| {
            let (name, value) = word.split_once('=')?;
            ["list", "address", "timeout"].contains(&name).then(|| value.to_string())
        });
        shown.collect::<Vec<_>>().join(" ")
    };
    for (port, name) in [(5000, "www.corp.example"), (5001, "alias.lan")] {
        assert_eq!(rig.asks(port, &dns::query(1, name, kind::A, 512).unwrap()), None, "{name}");
    }
    let asked = rig.asked();
    let [(server, from, upward)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(*server, SERVERS[1], "who knows the name is asked, and nobody else");
    let records =
        [("www.corp.example", 60, [10, 7, 0, 1]), ("www.corp.example", 60, [10, 7, 0, 2])];
    rig.says(*server, *from, &response(upward, 0, &records));
    let all = payloads(&rig.take(1));
    let said: Vec<_> = all.iter().map(|(.., answer)| show(answer)).collect();
    assert_eq!(
        said,
        [
            "0, www.corp.example A 10.7.0.1 60, www.corp.example A 10.7.0.2 60",
            "0, alias.lan CNAME www.corp.example 86400, www.corp.example A 10.7.0.1 60, \
             www.corp.example A 10.7.0.2 60"
        ]
    );
    assert_eq!(lists(&mut rig), "corp 10.7.0.1 1m1s corp 10.7.0.2 1m1s");
    // From memory it is listed for no longer than it is believed.
    rig.wait(Duration::from_secs(20));
    let answer = rig.asks(5002, &dns::query(1, "www.corp.example", kind::A, 512).unwrap());
    assert!(show(&answer.unwrap()).contains("10.7.0.1 40"));
    assert_eq!(lists(&mut rig), "corp 10.7.0.1 41s corp 10.7.0.2 41s");
    rig.wait(Duration::from_secs(42));
    assert_eq!(lists(&mut rig), "");
    // Names that are typed are listed by whoever asks.
    rig.introduce(1, mac(5), HOST, ip(10, 0, 0, 1));
    for (name, kind) in [("listed.lan", kind::A), ("listed6.lan", kind::AAAA)] {
        rig.asks(5003, &dns::query(1, name, kind, 512).unwrap()).unwrap();
    }
    assert_eq!(lists(&mut rig), "seen 10.0.0.77 1m1s seen 2001:db8::77/128 1d1s");
    // Without servers of its own, those of /ip dns are asked.
    rig.introduce(2, mac(53), SERVERS[0], ip(192, 0, 2, 1));
    rig.asks(5004, &dns::query(1, "usual.example", kind::A, 512).unwrap());
    assert_eq!(rig.asked().iter().map(|(server, ..)| *server).collect::<Vec<_>>(), [SERVERS[0]]);
    balanced(&rig);
}

#[test]
fn what_others_know_is_passed_on_and_kept() {
    let mut rig = rig("");
    let query = dns::query(77, "Example.com", kind::A, 1232).unwrap();
    assert_eq!(rig.asks(5000, &query), None);
    let asked = rig.asked();
    let [(server, port, upward)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(*server, SERVERS[0]);
    // Meanwhile another asks the same: nobody is asked twice.
    let second = dns::query(78, "example.COM", kind::A, 512).unwrap();
    assert_eq!(rig.asks(5001, &second), None);
    assert!(rig.asked().is_empty());
    // It stands for that one, and waits with the others.
    assert_eq!(rig.asks(5002, &dns::query(79, "out.lan", kind::A, 512).unwrap()), None);
    assert!(rig.asked().is_empty());
    rig.says(*server, *port, &response(upward, 0, &[("example.com", 60, [1, 2, 3, 4])]));
    let all = payloads(&rig.take(1));
    let ids: Vec<_> = all.iter().map(|(_, to, m)| (to.1, Message::read(m).unwrap().id)).collect();
    assert_eq!(ids, [(5000, 77), (5001, 78), (5002, 79)]);
    for ((_, _, answer), (edns, expected)) in all.iter().zip([
        (true, "0, example.com A 1.2.3.4 60"),
        (false, "0, example.com A 1.2.3.4 60"),
        (false, "0, out.lan CNAME example.com 86400, example.com A 1.2.3.4 60"),
    ]) {
        assert_eq!(show(answer), expected);
        assert_eq!(Message::read(answer).unwrap().edns.is_some(), edns);
    }
    // Once.
    rig.says(*server, *port, &response(upward, 0, &[("example.com", 60, [6, 6, 6, 6])]));
    assert!(payloads(&rig.take(1)).is_empty());
    // From memory, until it has ended.
    rig.wait(Duration::from_secs(20));
    let answer = rig.asks(5003, &query).unwrap();
    assert_eq!(show(&answer), "0, example.com A 1.2.3.4 40");
    let print = rig.run("/ip dns cache print");
    assert!(print.contains("example.com") && print.contains("1.2.3.4"), "{print}");
    assert!(print.contains("40s"), "{print}");
    rig.wait(Duration::from_secs(41));
    rig.introduce(1, mac(5), HOST, ip(10, 0, 0, 1));
    rig.introduce(2, mac(53), SERVERS[0], ip(192, 0, 2, 1));
    assert_eq!(rig.asks(5004, &query), None);
    let (server, port, upward) = rig.asked().remove(0);
    // What is not there is kept, too, if the zone says how long.
    let mut none = response(&upward, code::NO_SUCH_NAME, &[]);
    none.truncate(none.len() - 11);
    (none[9], none[11]) = (1, 0);
    none.extend([0, 0, kind::SOA as u8, 0, 1, 0, 0, 0, 9, 0, 22, 0, 0]);
    none.extend([0; 16]);
    none.extend(7u32.to_be_bytes());
    rig.says(server, port, &none);
    assert_eq!(show(&rig.answered(5004).unwrap()), "3");
    assert_eq!(show(&rig.asks(5005, &query).unwrap()), "3");
    assert!(rig.run("/ip dns cache print").contains("NXDOMAIN"));
    rig.run("/ip dns cache flush");
    assert_eq!(rig.asks(5006, &query), None);
    assert_eq!(rig.asked().len(), 1);
    balanced(&rig);
}

#[test]
fn what_was_not_asked_for_is_not_believed() {
    let mut rig = rig("");
    rig.asks(5000, &dns::query(77, "example.com", kind::A, 512).unwrap());
    let (server, port, upward) = rig.asked().remove(0);
    let good = response(&upward, 0, &[("example.com", 60, [6, 6, 6, 6])]);
    let other = dns::query(0, "example.net", kind::A, 512).unwrap();
    let mut other = response(&other, 0, &[("example.com", 60, [6, 6, 6, 6])]);
    other[..2].copy_from_slice(&upward[..2]);
    let mut id = good.clone();
    id[1] ^= 1;
    let mut no_response = good.clone();
    no_response[2] &= 0x7f;
    for (name, from, to, bytes) in [
        ("another id", server, port, &id),
        ("another port", server, port ^ 1, &good),
        ("another server", SERVERS[1], port, &good),
        ("another question", server, port, &other),
        ("no response", server, port, &no_response),
    ] {
        rig.says(from, to, bytes);
        assert!(payloads(&rig.take(1)).is_empty(), "{name}");
    }
    assert_eq!(rig.router.discards().get(Discard::BadDns), 3);
    rig.says(server, port, &good);
    assert_eq!(show(&rig.answered(5000).unwrap()), "0, example.com A 6.6.6.6 60");
    // What it says of other names beside is not kept for them.
    rig.run("/ip dns cache flush");
    rig.asks(5001, &dns::query(1, "a.com", kind::A, 512).unwrap());
    let (server, port, upward) = rig.asked().remove(0);
    let beside = [("a.com", 60, [1, 1, 1, 1]), ("bank.com", 60, [6, 6, 6, 6])];
    rig.says(server, port, &response(&upward, 0, &beside));
    rig.take(1);
    assert_eq!(rig.asks(5002, &dns::query(1, "bank.com", kind::A, 512).unwrap()), None);
    // Ports and numbers are not the same every time.
    let ports: std::collections::HashSet<_> = (0..20)
        .flat_map(|n| {
            rig.asks(6000, &dns::query(1, &format!("n{n}.com"), kind::A, 512).unwrap());
            rig.asked().into_iter().map(|(_, port, query)| (port, query[..2].to_vec()))
        })
        .collect();
    assert!(ports.len() >= 20, "{ports:?}");
    balanced(&rig);
}

#[test]
fn servers_that_do_not_answer() {
    let mut rig = rig("/ip dns set max-concurrent-queries=2");
    let query = |n: u16| dns::query(n, &format!("n{n}.com"), kind::A, 512).unwrap();
    assert_eq!(rig.asks(5001, &query(1)), None);
    assert_eq!(rig.asks(5002, &query(2)), None);
    assert_eq!(show(&rig.asks(5003, &query(3)).unwrap()), "2", "too many at a time");
    let mut asked: Vec<u32> = rig.asked().into_iter().map(|(server, ..)| server).collect();
    let mut answers = Vec::new();
    for _ in 0..101 {
        rig.wait(Duration::from_millis(100));
        // They are there, but say nothing.
        asked.extend(rig.asked().into_iter().map(|(server, ..)| server));
        answers.extend(payloads(&rig.take(1)));
        for (server, host) in SERVERS.iter().zip([53, 54]) {
            let arp = wire::arp::ArpMessage::request(mac(host), *server, ip(192, 0, 2, 1));
            rig.send(2, &craft::arp(arp).build());
            rig.breathe();
            asked.extend(rig.asked().into_iter().map(|(server, ..)| server));
        }
    }
    assert_eq!(asked.len(), 10, "two questions, every 2 s for 10 s");
    assert_eq!(asked.iter().filter(|server| **server == SERVERS[1]).count(), 4);
    balanced(&rig);
    // No server at all.
    let mut rig = self::rig("/ip dns set servers=\"\"");
    assert_eq!(show(&rig.asks(5000, &query(1)).unwrap()), "2");
    // The router itself is not asked: that would never end.
    let mut rig = self::rig("/ip dns set servers=10.0.0.1");
    assert_eq!(show(&rig.asks(5000, &query(1)).unwrap()), "2");
}

#[test]
fn the_route_to_a_server_says_where_the_router_asks_from() {
    let mut rig = rig("/ip route add dst-address=192.0.2.53/32 gateway=ether2 pref-src=10.0.0.1");
    rig.asks(5000, &dns::query(7, "example.com", kind::A, 512).unwrap());
    let from: Vec<u32> = payloads(&rig.take(2)).iter().map(|((src, _), ..)| *src).collect();
    assert_eq!(from, [ip(10, 0, 0, 1)]);
}

#[test]
fn answers_that_are_too_long() {
    let names: Vec<String> = (0..40).map(|n| format!("n{n}.example.com")).collect();
    for (max, cut) in [(512, true), (1232, false)] {
        let mut rig = rig("");
        rig.asks(5000, &dns::query(77, "example.com", kind::A, max).unwrap());
        let (server, port, upward) = rig.asked().remove(0);
        let answers: Vec<_> = names.iter().map(|name| (name.as_str(), 60, [1, 2, 3, 4])).collect();
        let long = response(&upward, 0, &answers[..30]);
        assert!((600..1200).contains(&long.len()), "{}", long.len());
        rig.says(server, port, &long);
        let answer = Message::read(&rig.answered(5000).unwrap()).unwrap();
        assert_eq!(answer.flags & flag::TRUNCATED != 0, cut, "{max}");
        assert_eq!(answer.answers, if cut { 0 } else { 30 });
        balanced(&rig);
    }
}

#[test]
fn who_may_ask() {
    let query = dns::query(1, "router.lan", kind::A, 512).unwrap();
    for (script, why) in [
        ("/ip dns set allow-remote-requests=no", Discard::NoListener),
        (
            "/ip firewall filter add chain=input in-interface=ether1 protocol=udp dst-port=53 \
             action=drop",
            Discard::FilterDrop,
        ),
    ] {
        let mut rig = rig(script);
        assert_eq!(rig.asks(5000, &query), None, "{script}");
        assert_eq!(rig.router.discards().get(why), 1, "{script}");
        balanced(&rig);
    }
    // A firewall that lets in what is established lets the servers' answers in.
    let mut rig = rig("/ip firewall filter
add chain=input connection-state=established,related
add chain=input in-interface=ether2 action=drop");
    rig.asks(5000, &dns::query(77, "example.com", kind::A, 512).unwrap());
    let (server, port, upward) = rig.asked().remove(0);
    rig.says(server, port, &response(&upward, 0, &[("example.com", 60, [1, 2, 3, 4])]));
    assert_eq!(show(&rig.answered(5000).unwrap()), "0, example.com A 1.2.3.4 60");
}

#[test]
fn memory_is_bounded() {
    let mut rig = rig("/ip dns set cache-size=64KiB cache-max-ttl=1m");
    for n in 0..400u16 {
        rig.asks(5000, &dns::query(n, &format!("n{n}.com"), kind::A, 512).unwrap());
        let (server, port, upward) = rig.asked().remove(0);
        let name = format!("n{n}.com");
        rig.says(server, port, &response(&upward, 0, &[(&name, 3600, [1, 2, 3, 4])]));
        assert_eq!(show(&rig.answered(5000).unwrap()), format!("0, {name} A 1.2.3.4 3600"));
    }
    let used = rig.run(":put [/ip dns get cache-used]");
    let used: u32 = used.trim().trim_end_matches("KiB").parse().unwrap();
    assert!((32..=64).contains(&used), "{used}");
    // What is believed for a minute only is passed on so.
    let kept = rig.asks(5000, &dns::query(1, "n399.com", kind::A, 512).unwrap()).unwrap();
    assert_eq!(show(&kept), "0, n399.com A 1.2.3.4 60");
    rig.wait(Duration::from_secs(61));
    assert_eq!(rig.run(":put [/ip dns get cache-used]").trim(), "0KiB");
    balanced(&rig);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut rig = rig("");
    for (script, words) in [
        ("/ip dns static add address=1.2.3.4", "either name or regexp"),
        ("/ip dns static add name=x regexp=y address=1.2.3.4", "exclude each other"),
        ("/ip dns static add name=x", "needs an address"),
        ("/ip dns static add name=x type=AAAA address=1.2.3.4", "needs an address"),
        ("/ip dns static add name=x type=CNAME", "cname"),
        ("/ip dns static add name=x..y address=1.2.3.4", "name"),
        ("/ip dns static add regexp=\"(\" address=1.2.3.4", "regexp"),
        ("/ip dns static add name=x type=FWD forward-to=localhost", "forward-to"),
        ("/ip dns static add name=x type=MX", "mx-exchange must be specified"),
        ("/ip dns static add name=x type=NS", "ns must be specified"),
        ("/ip dns static add name=x type=SRV srv-port=7", "srv-target must be specified"),
        ("/ip dns static add name=x type=TXT", "text must be specified"),
        ("/ip dns set use-doh-server=https://1.1.1.1/dns-query", "by UDP"),
        ("/ip dns set cache-size=1KiB", "cache-size"),
    ] {
        let error = rig.try_run(script).expect_err(script);
        let text = format!("{} {}", error.text, error.help);
        assert!(text.contains(words), "{script}: {text}");
    }
}

proptest! {
    /// Whatever comes as a query or as a response: nothing panics, every frame is accounted for, and
    /// answers are well formed.
    #[test]
    fn nothing_anybody_says_does_harm(
        noise in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..12),
        tail in proptest::collection::vec(any::<u8>(), 0..80),
        name in "[a-z]{1,8}(\\.lan)?",
    ) {
        let mut rig = rig("");
        let spoil = |mut bytes: Vec<u8>| {
            bytes.extend(&tail);
            for &(at, byte) in &noise {
                let at = usize::from(at) % bytes.len();
                bytes[at] = byte;
            }
            bytes
        };
        let query = dns::query(7, &name, kind::A, 4096).unwrap();
        let mut answers: Vec<Vec<u8>> = rig.asks(5000, &spoil(query.clone())).into_iter().collect();
        rig.asks(5001, &query);
        for (server, port, upward) in rig.asked() {
            rig.says(server, port, &spoil(response(&upward, 0, &[(&name, 60, [1, 2, 3, 4])])));
            let mut bent = spoil(response(&upward, 0, &[(&name, 60, [1, 2, 3, 4])]));
            bent[..2].copy_from_slice(&upward[..2]);
            let end = 12 + Message::read(&upward).unwrap().question_end - 12;
            bent[2] |= 0x80;
            bent[4..6].copy_from_slice(&[0, 1]);
            bent[12..end].copy_from_slice(&upward[12..end]);
            rig.says(server, port, &bent);
        }
        answers.extend(rig.answered(5001));
        for answer in &answers {
            prop_assert!(Message::read(answer).is_some(), "{answer:02x?}");
        }
        rig.run("/ip dns cache print");
        rig.wait(Duration::from_millis(300));
        balanced(&rig);
    }
}
