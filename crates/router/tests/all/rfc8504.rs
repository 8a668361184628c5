//! Demands of RFC 8504 (IPv6 node requirements) on a router, section by section, with the RFC that it cites:
//! the frames that come, and what becomes of the last of them. What a router says by itself (RFC 4861 §6.2,
//! RFC 4862 §5.4, RFC 3810) stands in [`ipv6_nd`](crate::ipv6_nd).

use crate::ipv6::{Sent, advertisement, discards, ip6, ping, rig, says, solicitation, to};
use crate::rig::mac;
use wire::Ipv6;
use wire::ipv6::header;

/// Section, what it is about, more of a configuration, the frames by the first port, what comes of the
/// last: `port: protocol, hop limit` of each frame that leaves, and why it was dropped.
type Case = (&'static str, &'static str, &'static str, Vec<Vec<u8>>, &'static str);

fn far() -> Sent {
    to("2001:db8:2::b")
}

/// A packet behind these extension headers.
fn behind(next_header: u8, headers: &[u8], sent: Sent) -> Vec<u8> {
    let mut inner = sent.build();
    let payload = [headers, &inner.split_off(54)].concat();
    let mut frame = Sent { next_header, ..sent }.build();
    frame.truncate(54);
    frame[18..20].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    [frame, payload].concat()
}

/// A piece of a packet's payload: where it begins, whether more follow.
fn piece(sent: &Sent, from: usize, to: usize, more: bool) -> Vec<u8> {
    let whole = sent.build()[54..].to_vec();
    let [a, b] = (from as u16 | u16::from(more)).to_be_bytes();
    let header = [sent.next_header, 0, a, b, 0, 0, 0, 7];
    let payload = [&header[..], &whole[from..to.min(whole.len())]].concat();
    Sent { next_header: header::FRAGMENT, payload, ..sent.clone() }.build()
}

fn long(len: usize) -> Sent {
    Sent { payload: vec![0; len - 40], next_header: 253, ..far() }
}

fn changed(mut frame: Vec<u8>, at: usize, to: u8) -> Vec<u8> {
    frame[at] = to;
    frame
}

fn said(port: usize, frame: &[u8]) -> String {
    let packet = Ipv6::new(&frame[14..]).unwrap();
    let found = packet.extensions().unwrap();
    let upper = &frame[14 + usize::from(found.end)..];
    let class = match packet.traffic_class() {
        0 => String::new(),
        class => format!(", class {class}"),
    };
    let is_first = found.fragment.is_none_or(|(offset, _)| offset == 0);
    match found.protocol {
        header::ICMPV6 if is_first => {
            let word = u32::from_be_bytes([upper[4], upper[5], upper[6], upper[7]]);
            let word = if upper[0] < 128 { format!(" {word}") } else { String::new() };
            format!("{port}: icmp {}/{}{word}", upper[0], upper[1])
        }
        protocol => format!("{port}: {protocol}, {}{class}", packet.hop_limit()),
    }
}

fn check((section, what, script, frames, expected): &Case) {
    for reference in [false, true] {
        let mut rig = rig(script);
        rig.router.set_reference(reference);
        let mut last = Vec::new();
        for frame in frames {
            last = rig.pass(1, frame);
        }
        let out = last.iter().map(|(port, frame)| said(*port, frame));
        let why = discards(&rig).into_iter().map(|(why, _)| why.to_string());
        let became: Vec<String> = out.chain(why).collect();
        assert_eq!(became.join(" | "), *expected, "§{section} {what}, reference {reference}");
        assert!(rig.router.frames().balance(), "§{section} {what}");
    }
}

#[test]
fn musts() {
    let own = "2001:db8:1::1";
    let asks = || says(3, "2001:db8:1::c", own, solicitation(own, Some(mac(3))));
    let answers = || says(3, "2001:db8:1::c", own, advertisement("2001:db8:1::c", mac(3)));
    let segments =
        |left: u8| [17, 2, 0, left, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let alert = [17, 0, 5, 2, 0, 0, 1, 0];
    let specific = "/ipv6 route add dst-address=2001:db8:9::1/128 type=prohibit
/ipv6 route add dst-address=2001:db8:9:0:8000::/65 type=unreachable
/ipv6 route add dst-address=2001:db8:9::2/127 type=unreachable";
    #[rustfmt::skip]
    let cases: Vec<Case> = vec![
        ("5.1", "RFC 8200 §3: a hop is taken", "", vec![far().build()], "2: 17, 63"),
        ("5.1", "RFC 8200 §3: there the last one ends", "", vec![Sent { hop_limit: 1, ..far() }.build()], "1: icmp 3/0 0 | ttl-exceeded"),
        ("5.1", "RFC 8200 §3: and none at all", "", vec![Sent { hop_limit: 0, ..far() }.build()], "1: icmp 3/0 0 | ttl-exceeded"),
        ("5.1", "RFC 5095 §3: no source routes", "", vec![behind(43, &segments(1), far())], "1: icmp 4/0 42 | source-route"),
        ("5.1", "RFC 8200 §4.4: but those at their end", "", vec![behind(43, &segments(0), far())], "2: 17, 63"),
        ("5.1", "RFC 8200 §4.5: pieces pass", "", vec![piece(&far(), 0, 8, true)], "2: 17, 63"),
        ("5.1", "RFC 8200 §4.5: and are put together by whom they are for", "", vec![piece(&ping(own), 0, 8, true), piece(&ping(own), 8, 99, false)], "1: icmp 129/0 | 1: 58, 64"),
        ("5.1", "RFC 5722 §4: not if they overlap", "", vec![piece(&Sent { dst: ip6(own), ..long(72) }, 0, 16, true), piece(&Sent { dst: ip6(own), ..long(72) }, 8, 32, false)], "bad-fragment"),
        ("5.1", "RFC 6946 §4: a piece that is all of it", "", vec![piece(&ping(own), 0, 99, false)], "1: icmp 129/0"),
        ("5.2", "RFC 7045 §2.1: what no router knows passes", "", vec![Sent { next_header: 253, ..far() }.build()], "2: 253, 63"),
        ("5.2", "RFC 8200 §4.3: options for each hop", "", vec![behind(0, &[17, 0, 1, 4, 0, 0, 0, 0], far())], "2: 17, 63"),
        ("5.2", "RFC 8200 §4.1: but first only", "", vec![behind(60, &[0, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0], far())], "bad-extension-header"),
        ("5.2", "RFC 2675 §3: no link carries a jumbogram", "", vec![changed(behind(0, &[17, 0, 194, 4, 0, 1, 0, 0], far()), 19, 0)], "jumbogram"),
        ("5.3", "RFC 8504 §5.3: a chain has an end", "", vec![behind(60, &[60, 0, 1, 4, 0, 0, 0, 0].repeat(30), far())], "bad-extension-header"),
        ("5.4", "RFC 4861 §7.2.4: who asks is answered", "", vec![asks().build()], "1: icmp 136/0"),
        ("5.4", "RFC 4861 §7.1.1: if he is on the link", "", vec![Sent { hop_limit: 254, ..asks() }.build()], "bad-discovery"),
        ("5.4", "RFC 4861 §7.1.2: as who answers is", "", vec![Sent { hop_limit: 254, ..answers() }.build()], "bad-discovery"),
        ("5.4", "RFC 6980 §5: not in pieces", "", vec![piece(&asks(), 0, 8, true), piece(&asks(), 8, 99, false)], "bad-fragment"),
        ("5.4", "RFC 6980 §5: not in one that is all of it", "", vec![piece(&asks(), 0, 99, false)], "bad-fragment"),
        ("5.7.1", "RFC 8201 §4: too long is told", "", vec![long(1301).build()], "1: icmp 2/0 1300 | packet-too-big"),
        ("5.7.1", "and what fits passes", "", vec![long(1300).build()], "2: 253, 63"),
        ("5.7.2", "RFC 8200 §5: 1280 passes each link", "/interface ethernet set ether2 mtu=1280", vec![long(1280).build()], "2: 253, 63"),
        ("5.8", "RFC 4443 §4.2: pings are answered", "", vec![ping(own).build()], "1: icmp 129/0"),
        ("5.8", "RFC 4443 §3.1: no route", "", vec![to("2001:db9::1").build()], "1: icmp 1/0 0 | no-route"),
        ("5.8", "RFC 4443 §3.1: nobody listens", "", vec![to(own).build()], "1: icmp 1/4 0 | no-listener"),
        ("5.8", "RFC 4443 §3.4: an unknown protocol", "", vec![Sent { next_header: 253, ..to(own) }.build()], "1: icmp 4/1 6 | no-listener"),
        ("5.8", "RFC 4443 §2.4 e1: not about an error", "", vec![Sent { hop_limit: 1, payload: vec![1, 0, 0, 0, 0, 0, 0, 0], ..ping("2001:db8:2::b") }.build()], "ttl-exceeded"),
        ("5.8", "RFC 4443 §2.4 e2: not about a redirect", "", vec![Sent { hop_limit: 1, payload: vec![137; 40], ..ping("2001:db8:2::b") }.build()], "ttl-exceeded"),
        ("5.8", "RFC 4443 §2.4 e3: not to a group", "", vec![to("ff0e::1234").build()], "multicast-destination"),
        ("5.8", "RFC 4443 §2.4 e6: not to who is no host", "", vec![Sent { src: ip6("ff02::1"), ..to(own) }.build()], "martian-source"),
        ("5.12", "RFC 3168 §5: congestion's bits pass", "", vec![changed(far().build(), 15, 0x30)], "2: 17, 63, class 3"),
        ("6.1", "RFC 4291 §2.5.2: nobody is a source", "", vec![Sent { src: ip6("::"), ..far() }.build()], "martian-source"),
        ("6.1", "RFC 4291 §2.5.2: and no destination", "", vec![to("::").build()], "martian-destination"),
        ("6.1", "RFC 4291 §2.5.3: loopback is not on a wire", "", vec![to("::1").build()], "martian-destination"),
        ("6.1", "RFC 4291 §2.5.3: not as a source", "", vec![Sent { src: ip6("::1"), ..far() }.build()], "martian-source"),
        ("6.1", "RFC 4291 §2.5.5.2: mapped IPv4 is not on a wire", "", vec![to("::ffff:192.0.2.1").build()], "martian-destination"),
        ("6.1", "RFC 4291 §2.5.5.2: not as a source", "", vec![Sent { src: ip6("::ffff:192.0.2.1"), ..to(own) }.build()], "martian-source"),
        ("6.1", "RFC 4291 §2.5.6: a link's destination stays there", "", vec![to("fe80::b").build()], "link-local-destination"),
        ("6.1", "RFC 4291 §2.6.1: the routers' anycast address", "", vec![ping("2001:db8:1::").build()], "1: icmp 129/0"),
        ("6.1", "RFC 4291 §2.7: no source is a group", "", vec![Sent { src: ip6("ff0e::1"), ..far() }.build()], "martian-source"),
        ("14.1", "RFC 2711 §2: an alert for others passes", "", vec![behind(0, &alert, far())], "2: 17, 63"),
        ("14.4", "RFC 7608 §2: routes of 128 bits", specific, vec![to("2001:db8:9::1").build()], "1: icmp 1/1 0 | route-prohibit"),
        ("14.4", "RFC 7608 §2: of 127", specific, vec![to("2001:db8:9::3").build()], "1: icmp 1/3 0 | route-unreachable"),
        ("14.4", "RFC 7608 §2: of 65", specific, vec![to("2001:db8:9:0:8000::1").build()], "1: icmp 1/3 0 | route-unreachable"),
        ("14.4", "and what lies beside them", specific, vec![to("2001:db8:9::4").build()], "2: icmp 135/0"),
    ];
    cases.iter().for_each(check);
}
