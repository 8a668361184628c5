//! `/ipv6 firewall nat`: what packets, their answers and errors about them become, with all their checksums.

use crate::ipv6::{Sent, discards, introduce, ip6, rig};
use crate::rig::{mac, own_mac};
use wire::checksum::Sum;
use wire::ipv6::header;
use wire::layers::protocol;

const NAT: &str = "/ipv6 firewall nat add";
/// Behind ether1 and behind ether2, and the router there.
const A: &str = "2001:db8:1::a";
const B: &str = "2001:db8:2::b";
const OWN_1: &str = "2001:db8:1::1";
const OWN_2: &str = "2001:db8:2::1";

/// A packet as it comes by a port, or leaves by it.
fn at(port: u8, leaves: bool, next_header: u8, src: &str, dst: &str, payload: Vec<u8>) -> Sent {
    let (src, dst) = (ip6(src), ip6(dst));
    let (src_mac, dst_mac) = match leaves {
        true => (own_mac(port), mac(port)),
        false => (mac(port), own_mac(port)),
    };
    let hop_limit = if leaves { 63 } else { 64 };
    let mut sent = Sent { src_mac, dst_mac, src, dst, next_header, hop_limit, payload };
    let field = match next_header {
        protocol::UDP => 6,
        protocol::TCP => 16,
        _ => return sent, // of ICMPv6 by whoever builds it
    };
    let len = sent.payload.len() as u32;
    let sum = Sum::pseudo_ipv6(src.octets(), dst.octets(), next_header, len);
    let sum = sum.bytes(&sent.payload).finish();
    sent.payload[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    sent
}

/// UDP between an address with a port and another.
fn udp(port: u8, leaves: bool, (src, src_port): (&str, u16), (dst, dst_port): (&str, u16)) -> Sent {
    let [ports, rest] =
        [[src_port, dst_port], [12, 0]].map(|words| words.map(u16::to_be_bytes).concat());
    at(port, leaves, protocol::UDP, src, dst, [ports, rest, vec![1, 2, 3, 4]].concat())
}

/// A TCP segment between such, with these flags.
fn tcp(port: u8, leaves: bool, src: (&str, u16), dst: (&str, u16), flags: u8, seq: u32) -> Sent {
    let mut payload = [src.1, dst.1].map(u16::to_be_bytes).concat();
    payload.extend(seq.to_be_bytes());
    payload.extend(
        if flags & 0x10 == 0 { 0 } else { 1u32 + if flags & 2 == 0 { 0 } else { 9 } }.to_be_bytes(),
    );
    payload.extend([0x50, flags, 0x20, 0, 0, 0, 0, 0]);
    at(port, leaves, protocol::TCP, src.0, dst.0, payload)
}

fn echo(port: u8, leaves: bool, src: &str, dst: &str, kind: u8, identifier: u16) -> Sent {
    let [a, b] = identifier.to_be_bytes();
    at(port, leaves, header::ICMPV6, src, dst, vec![kind, 0, 0, 0, a, b, 0, 1, 9, 9, 9])
}

/// An error about a packet.
fn error(port: u8, leaves: bool, src: &str, dst: &str, about: &Sent) -> Sent {
    let quoted = about.build()[14..].to_vec();
    at(port, leaves, header::ICMPV6, src, dst, [vec![1, 4, 0, 0, 0, 0, 0, 0], quoted].concat())
}

/// Sends each packet by its port, and compares what comes out; three times, for recipes.
fn check(rules: &str, steps: &[(u8, Sent, u8, Sent)]) {
    for reference in [true, false] {
        let mut rig = rig(rules);
        rig.router.set_reference(reference);
        for round in 0..3 {
            for (n, (port, sent, to, expected)) in steps.iter().enumerate() {
                let out = rig.pass((*port).into(), &sent.build());
                let expected = [(usize::from(*to), expected.build())];
                assert_eq!(out, expected, "{rules}: {round}.{n}, {:?}", discards(&rig));
            }
        }
        assert!(rig.router.frames().balance(), "{:?}", rig.router.frames());
    }
}

/// As [`check`], for what host a says to somebody, and how b answers: as it leaves and comes, by UDP.
fn both_ways(rules: &str, said: [(&str, u16); 2], translated: [(&str, u16); 2]) {
    let ([src, dst], [new_src, new_dst]) = (said, translated);
    check(
        rules,
        &[
            (1, udp(1, false, src, dst), 2, udp(2, true, new_src, new_dst)),
            (2, udp(2, false, new_dst, new_src), 1, udp(1, true, dst, src)),
        ],
    );
}

#[test]
fn addresses_and_ports() {
    let masquerade = format!("{NAT} chain=srcnat out-interface=ether2 action=masquerade");
    both_ways(&masquerade, [(A, 1000), (B, 53)], [(OWN_2, 1000), (B, 53)]);
    let rule = format!("{NAT} chain=srcnat protocol=udp action=masquerade to-ports=7000");
    both_ways(&rule, [(A, 1000), (B, 53)], [(OWN_2, 7000), (B, 53)]);
    // The rest of the network's prefix is another's, too.
    let rule = format!("{NAT} chain=srcnat action=src-nat to-address=2001:db8:2::77/128");
    both_ways(&rule, [(A, 1000), (B, 53)], [("2001:db8:2::77", 1000), (B, 53)]);
    let rule = format!("{NAT} chain=srcnat action=netmap to-address=2001:db8:2:5::/64");
    both_ways(&rule, [(A, 1000), (B, 53)], [("2001:db8:2:5::a", 1000), (B, 53)]);
    let rule = format!(
        "{NAT} chain=dstnat dst-address={OWN_1} protocol=udp dst-port=80 action=dst-nat \
         to-address={B}/128 to-ports=8080"
    );
    both_ways(&rule, [(A, 1000), (OWN_1, 80)], [(A, 1000), (B, 8080)]);
    let rule = format!(
        "{NAT} chain=dstnat dst-address=2001:db8:f::/64 action=netmap to-address=2001:db8:2::/64"
    );
    both_ways(&rule, [(A, 1000), ("2001:db8:f::b", 80)], [(A, 1000), (B, 80)]);
    // Both at once, as for hosts behind the same port.
    let rule = format!(
        "{masquerade}\n{NAT} chain=dstnat dst-address={OWN_1} action=dst-nat to-address={B}/128"
    );
    both_ways(&rule, [(A, 1000), (OWN_1, 80)], [(OWN_2, 1000), (B, 80)]);
    // The rules are IPv4's: what is not translated stays.
    let rule = format!("{NAT} chain=srcnat protocol=tcp action=masquerade");
    both_ways(&rule, [(A, 1000), (B, 53)], [(A, 1000), (B, 53)]);
}

#[test]
fn segments_and_echoes() {
    let masquerade = &format!("{NAT} chain=srcnat action=masquerade");
    let (a, b, own) = ((A, 1000), (B, 80), (OWN_2, 1000));
    check(
        masquerade,
        &[
            (1, tcp(1, false, a, b, 2, 9), 2, tcp(2, true, own, b, 2, 9)),
            (2, tcp(2, false, b, own, 0x12, 0), 1, tcp(1, true, b, a, 0x12, 0)),
            (1, tcp(1, false, a, b, 0x10, 10), 2, tcp(2, true, own, b, 0x10, 10)),
        ],
    );
    check(
        masquerade,
        &[
            (1, echo(1, false, A, B, 128, 7), 2, echo(2, true, OWN_2, B, 128, 7)),
            (2, echo(2, false, B, OWN_2, 129, 7), 1, echo(1, true, B, A, 129, 7)),
        ],
    );
}

/// An error about what was translated comes to whoever sent it, about what that one sent.
#[test]
fn errors() {
    let masquerade = &format!("{NAT} chain=srcnat action=masquerade");
    let far = "2001:db8:2::c";
    // What is quoted as it arrived there, and as it was sent: one hop more has been taken.
    let quoted = |sent: Sent| Sent { hop_limit: 63, ..sent };
    let (sent, left) = (udp(1, false, (A, 1000), (B, 53)), udp(2, true, (OWN_2, 1000), (B, 53)));
    check(
        masquerade,
        &[
            (1, sent.clone(), 2, left.clone()),
            (
                2,
                error(2, false, far, OWN_2, &left),
                1,
                error(1, true, far, A, &quoted(sent.clone())),
            ),
        ],
    );
    // Of an echo, too, whose checksum covers the addresses.
    let (ping, left) = (echo(1, false, A, B, 128, 7), echo(2, true, OWN_2, B, 128, 7));
    check(
        masquerade,
        &[
            (1, ping.clone(), 2, left.clone()),
            (2, error(2, false, far, OWN_2, &left), 1, error(1, true, far, A, &quoted(ping))),
        ],
    );
    // From behind a destination that is translated: it comes from that.
    let rule = &format!("{NAT} chain=dstnat dst-address={OWN_1} action=dst-nat to-address={B}/128");
    let (sent, left) = (udp(1, false, (A, 1000), (OWN_1, 80)), udp(2, true, (A, 1000), (B, 80)));
    check(
        rule,
        &[
            (1, sent.clone(), 2, left.clone()),
            (2, error(2, false, B, A, &left), 1, error(1, true, OWN_1, A, &quoted(sent))),
        ],
    );
    // What is redirected to the router, where nobody listens.
    let mut rig =
        rig(&format!("{NAT} chain=dstnat protocol=udp dst-port=53 action=redirect to-ports=5353"));
    let sent = udp(1, false, (A, 1000), (B, 53));
    let told = rig.pass(1, &sent.build());
    let [(1, told)] = &told[..] else { panic!("{told:02x?}, {:?}", discards(&rig)) };
    let expected = error(1, true, B, A, &sent);
    assert_eq!(told[14 + 8..], Sent { hop_limit: 64, ..expected }.build()[14 + 8..]);
}

/// Two hosts that use the same port towards the same one; pieces; the end of an address.
#[test]
fn ports_pieces_and_ends() {
    let masquerade = &format!("{NAT} chain=srcnat action=masquerade");
    let mut rig = rig(masquerade);
    introduce(&mut rig, 1, 3, "2001:db8:1::c", OWN_1);
    rig.pass(1, &udp(1, false, (A, 1000), (B, 53)).build());
    let out = rig.pass(1, &udp(1, false, ("2001:db8:1::c", 1000), (B, 53)).build());
    let port = u16::from_be_bytes([out[0].1[54], out[0].1[55]]);
    assert_ne!(port, 1000);
    assert_eq!(out[0].1, udp(2, true, (OWN_2, port), (B, 53)).build());
    // A datagram in pieces: all have the new address, the first the new checksum.
    let mut whole = [vec![0x03, 0xe9, 0, 53, 0, 72, 0, 0], vec![7; 64]].concat();
    let sum = |payload: &[u8], src: &str| {
        Sum::pseudo_ipv6(ip6(src).octets(), ip6(B).octets(), 17, 72).bytes(payload).finish()
    };
    let old = sum(&whole, A);
    whole[6..8].copy_from_slice(&old.to_be_bytes());
    let piece = |offset: u16, part: &[u8]| {
        let mut payload = vec![17, 0];
        payload.extend((offset | u16::from(offset == 0)).to_be_bytes());
        payload.extend([0, 0, 0, 77]);
        payload.extend(part);
        at(1, false, header::FRAGMENT, A, B, payload).build()
    };
    rig.pass(1, &piece(40, &whole[40..]));
    let out = rig.pass(1, &piece(0, &whole[..40]));
    let [(2, first), (2, second)] = &out[..] else { panic!("{out:02x?}, {:?}", discards(&rig)) };
    assert!([first, second].iter().all(|frame| frame[22..38] == ip6(OWN_2).octets()));
    let mut whole = [&first[62..], &second[62..]].concat();
    let new = u16::from_be_bytes([whole[6], whole[7]]);
    whole[6..8].fill(0);
    assert_eq!(new, sum(&whole, OWN_2));
    // Masqueraded connections end with the address.
    assert_eq!(rig.router.connections6().len(), 3);
    let shown = rig.run("/ipv6 firewall connection print");
    assert!(shown.contains('s'), "{shown}");
    rig.run("/ipv6 address set [find address=2001:db8:2::1/64] address=2001:db8:2::2/64");
    assert_eq!(
        rig.router.connections6().len(),
        0,
        "{}",
        rig.run("/ipv6 firewall connection print")
    );
}

/// Rules that can never be, and what is said of them.
#[test]
fn refused() {
    let mut rig = rig("");
    let cases = [
        ("chain=srcnat action=src-nat", "src-nat"),
        ("chain=dstnat action=masquerade", "srcnat only"),
        ("chain=srcnat action=netmap", "netmap"),
        ("chain=dstnat action=redirect to-ports=80", "proto is tcp"),
    ];
    for (rule, why) in cases {
        let said = rig.try_run(&format!("{NAT} {rule}"));
        let shown = rig.run("/ipv6 firewall nat print");
        let text = said.map_or_else(|error| error.to_string(), |_| shown);
        assert!(text.contains(why), "{rule}: {text}");
    }
}
