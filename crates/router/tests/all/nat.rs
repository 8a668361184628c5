//! `/ip firewall nat`, from end to end: what the other side sees, and what comes back. Every frame
//! out is read anew and all its checksums recomputed.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use wire::craft::{self, Body, Frame, ip};
use wire::icmp::IcmpHeader;
use wire::layers::{self, protocol};
use wire::tcp::{TcpFlags, TcpHeader};
use wire::{FiveTuple, checksum};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
/ip settings set icmp-rate-limit=0";

const CLIENT: u32 = ip(10, 0, 1, 1);
const NEIGHBOUR: u32 = ip(10, 0, 1, 2);
const SERVER: u32 = ip(10, 0, 2, 1);
const INSIDE: u32 = ip(10, 0, 1, 254);
const OUTSIDE: u32 = ip(10, 0, 2, 254);

fn rig(script: &str, reference: bool) -> Rig {
    let mut rig = Rig::new(2, &format!("{NETS}\n/ip firewall nat\n{script}"));
    rig.router.set_reference(reference);
    rig.introduce(1, mac(1), CLIENT, INSIDE);
    rig.introduce(1, mac(2), NEIGHBOUR, INSIDE);
    rig.introduce(2, mac(3), SERVER, OUTSIDE);
    rig
}

/// From which port a host's frames come, and from which address.
fn of_host(host: u32) -> (usize, wire::MacAddr) {
    match host {
        CLIENT => (1, mac(1)),
        NEIGHBOUR => (1, mac(2)),
        _ => (2, mac(3)),
    }
}

fn tuple(src: (u32, u16), dst: (u32, u16)) -> FiveTuple {
    FiveTuple { src: src.0, src_port: src.1, dst: dst.0, dst_port: dst.1, protocol: protocol::UDP }
}

fn datagram(t: FiveTuple, from: u32) -> (usize, Vec<u8>) {
    let (port, src_mac) = of_host(from);
    let udp = craft::udp(t.src, t.src_port, t.dst, t.dst_port);
    (port, Frame { src_mac, dst_mac: own_mac(port as u8), payload: b"hello", ..udp }.build())
}

/// Sends it from a host; the port and 5-tuple of the one frame that came out, checksums verified.
fn pass(rig: &mut Rig, t: FiveTuple, from: u32) -> Option<(usize, FiveTuple)> {
    let (port, frame) = datagram(t, from);
    let out = rig.pass(port, &frame);
    assert!(out.len() <= 1, "{out:02x?}");
    out.first().map(|(port, frame)| (*port, sound(frame).tuple))
}

/// The frame's layers, all checksums found right.
fn sound(frame: &[u8]) -> layers::Layers {
    let layers = layers::parse(frame).unwrap();
    let (l3, l4, end) = (layers.l3.into(), usize::from(layers.l4), usize::from(layers.l3_end));
    assert!(checksum::is_ok(&frame[l3..l4]), "header checksum of {frame:02x?}");
    let (t, body) = (layers.tuple, &frame[l4..end]);
    let ok = match layers.protocol {
        protocol::UDP => checksum::udp_ok(t.src, t.dst, body),
        protocol::TCP => checksum::tcp_ok(t.src, t.dst, body),
        _ => checksum::is_ok(body),
    };
    assert!(ok, "transport checksum of {frame:02x?}");
    layers
}

/// A rule; a datagram and who sends it; where and how it comes out; who answers that, and where
/// and how the answer comes out. Five times, so that recipes have their turn.
type Case = (&'static str, FiveTuple, u32, (usize, FiveTuple), u32, (usize, FiveTuple));

#[test]
fn there_and_back() {
    let (client, server) = ((CLIENT, 1000), (SERVER, 53));
    let public = (OUTSIDE, 53);
    #[rustfmt::skip]
    let cases: &[Case] = &[
        ("add chain=srcnat out-interface=ether2 action=masquerade",
         tuple(client, server), CLIENT, (2, tuple((OUTSIDE, 1000), server)),
         SERVER, (1, tuple(server, client))),
        ("add chain=srcnat protocol=udp action=masquerade to-ports=5000",
         tuple(client, server), CLIENT, (2, tuple((OUTSIDE, 5000), server)),
         SERVER, (1, tuple(server, client))),
        ("add chain=srcnat action=src-nat to-addresses=10.0.2.250",
         tuple(client, server), CLIENT, (2, tuple((ip(10, 0, 2, 250), 1000), server)),
         SERVER, (1, tuple(server, client))),
        ("add chain=dstnat dst-address=10.0.2.254 protocol=udp dst-port=53 action=dst-nat \
          to-addresses=10.0.1.1 to-ports=5353",
         tuple((SERVER, 1000), public), SERVER, (1, tuple((SERVER, 1000), (CLIENT, 5353))),
         CLIENT, (2, tuple(public, (SERVER, 1000)))),
        // Hairpin: the client reaches its own neighbour by the public address.
        ("add chain=dstnat dst-address=10.0.2.254 protocol=udp action=dst-nat to-addresses=10.0.1.2\n\
          add chain=srcnat src-address=10.0.1.0/24 dst-address=10.0.1.0/24 action=masquerade",
         tuple(client, public), CLIENT, (1, tuple((INSIDE, 1000), (NEIGHBOUR, 53))),
         NEIGHBOUR, (1, tuple(public, client))),
        ("add chain=srcnat src-address=10.0.1.1 action=accept\n\
          add chain=srcnat action=masquerade",
         tuple(client, server), CLIENT, (2, tuple(client, server)),
         SERVER, (1, tuple(server, client))),
    ];
    for (n, (script, there, sender, out, answers, back)) in cases.iter().enumerate() {
        for reference in [false, true] {
            let mut rig = rig(script, reference);
            for round in 0..5 {
                let got = pass(&mut rig, *there, *sender);
                assert_eq!(got, Some(*out), "case {n}, {round}: {:?}", rig.router.discards());
                let got = pass(&mut rig, out.1.reversed(), *answers);
                assert_eq!(got, Some(*back), "case {n}, {round}, the answer");
            }
            let counts = rig.router.rule_counts("/ip firewall nat", rig.console.tree());
            assert_eq!(counts[0].packets, 1, "case {n}: rules see first packets only");
        }
    }
}

/// What the router itself says about a redirected packet comes from where the client sent it.
#[test]
fn redirected_to_the_router() {
    for reference in [false, true] {
        let mut rig =
            rig("add chain=dstnat protocol=udp dst-port=53 action=redirect to-ports=99", reference);
        let (port, frame) = datagram(tuple((CLIENT, 1000), (SERVER, 53)), CLIENT);
        let out = rig.pass(port, &frame);
        let [(1, error)] = &out[..] else { panic!("{out:02x?} {:?}", rig.router.discards()) };
        let layers = sound(error);
        assert_eq!((layers.tuple.src, layers.tuple.dst), (SERVER, CLIENT), "from whom it asked");
        let quoted = layers::quoted(&error[42..]).unwrap().tuple;
        assert_eq!(quoted, tuple((CLIENT, 1000), (SERVER, 53)), "about what it sent");
    }
}

/// An ICMP error about a translated packet is translated as well, and so is what it quotes.
#[test]
fn errors_are_translated_inside() {
    for reference in [false, true] {
        let mut rig = rig("add chain=srcnat out-interface=ether2 action=masquerade", reference);
        let there = tuple((CLIENT, 1000), (SERVER, 53));
        let (port, frame) = datagram(there, CLIENT);
        let out = rig.pass(port, &frame);
        let packet = &out[0].1[14..];
        let mut error = Frame {
            src_mac: mac(3),
            dst_mac: own_mac(2),
            src: SERVER,
            dst: OUTSIDE,
            body: Body::Icmp(IcmpHeader::echo_request(0, 0)),
            payload: &packet[..33],
            ..Frame::default()
        }
        .build();
        error[34..38].copy_from_slice(&[3, 3, 0, 0]);
        let sum = checksum::icmp(&error[34..75]);
        error[36..38].copy_from_slice(&sum.to_be_bytes());
        let out = rig.pass(2, &error);
        let [(1, inside)] = &out[..] else { panic!("{out:02x?} {:?}", rig.router.discards()) };
        let layers = sound(inside);
        assert_eq!((layers.tuple.src, layers.tuple.dst), (SERVER, CLIENT));
        assert_eq!(layers::quoted(&inside[42..]).unwrap().tuple, there);
        assert!(checksum::is_ok(&inside[42..62]), "the quoted header's checksum");
        // As the client sent it: of the quoted datagram all is there.
        assert!(checksum::udp_ok(CLIENT, SERVER, &inside[62..75]), "the quoted checksum");
    }
}

#[test]
fn ports_run_out_and_it_is_counted() {
    let mut rig = rig("add chain=srcnat protocol=udp action=masquerade to-ports=6000-6009", false);
    let mut used = Vec::new();
    for port in 1000..1020 {
        let out = pass(&mut rig, tuple((CLIENT, port), (SERVER, 53)), CLIENT);
        used.extend(out.map(|(_, tuple)| tuple.src_port));
    }
    used.sort_unstable();
    assert_eq!(used, (6000..6010).collect::<Vec<_>>());
    assert_eq!(rig.router.discards().get(Discard::NatPortsExhausted), 10);
    // Towards another server all of them are free again.
    let other = pass(&mut rig, tuple((CLIENT, 1000), (SERVER, 54)), CLIENT);
    assert!(other.is_some());
    assert!(rig.router.frames().balance());
}

#[test]
fn what_is_masqueraded_ends_with_the_address() {
    let rules = "add chain=srcnat src-address=10.0.1.1 out-interface=ether2 action=masquerade\n\
                 add chain=srcnat src-address=10.0.1.2 action=src-nat to-addresses=10.0.2.254";
    for change in [
        "/ip address disable [find interface=ether2]",
        "/ip address set [find interface=ether2] address=10.0.2.253/24",
        "/interface ethernet disable ether2",
    ] {
        let mut rig = rig(rules, false);
        for (host, port) in [(CLIENT, 1000), (NEIGHBOUR, 2000)] {
            let sent = tuple((host, port), (SERVER, 53));
            assert!(pass(&mut rig, sent, host).is_some_and(|(_, t)| t.src == OUTSIDE), "{change}");
        }
        assert_eq!(rig.router.connections().len(), 2);
        rig.run("/ip address set [find interface=ether1] comment=nothing");
        assert_eq!(rig.router.connections().len(), 2, "nothing has changed");
        rig.run(change);
        assert_eq!(rig.router.connections().len(), 1, "{change}: that of src-nat stays");
    }
}

#[test]
fn networks_are_mapped_one_to_one_both_ways() {
    let rules = "add chain=srcnat src-address=10.0.1.0/24 action=netmap to-addresses=10.7.0.0/24\n\
                 add chain=dstnat dst-address=10.8.0.0/24 action=netmap to-addresses=10.0.2.0/24\n\
                 /ip route add dst-address=10.7.0.0/24 gateway=10.0.2.1";
    for reference in [true, false] {
        let mut rig = rig(rules, reference);
        for _ in 0..5 {
            let sent = tuple((CLIENT, 1000), (ip(10, 8, 0, 1), 53));
            let there = tuple((ip(10, 7, 0, 1), 1000), (SERVER, 53));
            assert_eq!(pass(&mut rig, sent, CLIENT), Some((2, there)));
            let back = tuple((ip(10, 8, 0, 1), 53), (CLIENT, 1000));
            assert_eq!(pass(&mut rig, there.reversed(), SERVER), Some((1, back)));
        }
    }
}

/// TFTP answers from another port than it was asked at (RFC 1350 §4): the answer is related, and is
/// translated as the request was, whichever side asked.
#[test]
fn tftp_answers_from_another_port() {
    const FILTER: &str = "/ip firewall filter
        add chain=forward connection-state=established,related action=accept
        add chain=forward connection-state=new protocol=udp dst-port=69 action=accept
        add chain=forward action=drop
        add chain=input action=drop";
    let request = b"\x00\x01config\x00octet\x00";
    for reference in [false, true] {
        for (rule, from, asked, server, seen_by_server) in [
            (
                "add chain=srcnat action=masquerade out-interface=ether2",
                CLIENT,
                SERVER,
                SERVER,
                OUTSIDE,
            ),
            (
                "add chain=dstnat dst-port=69 protocol=udp action=dst-nat to-addresses=10.0.1.1",
                SERVER,
                OUTSIDE,
                CLIENT,
                SERVER,
            ),
            ("", CLIENT, SERVER, SERVER, CLIENT),
        ] {
            let mut rig = rig(&format!("{rule}\n{FILTER}"), reference);
            let (port, src_mac) = of_host(from);
            let udp = craft::udp(from, 4000, asked, 69);
            let asks =
                Frame { src_mac, dst_mac: own_mac(port as u8), payload: request, ..udp }.build();
            let out = rig.pass(port, &asks);
            assert_eq!(sound(&out[0].1).tuple, tuple((seen_by_server, 4000), (server, 69)));
            // Somebody else's, and to another port.
            let other = if server == SERVER { ip(10, 0, 2, 9) } else { NEIGHBOUR };
            assert_eq!(pass(&mut rig, tuple((other, 3000), (seen_by_server, 4000)), server), None);
            assert_eq!(pass(&mut rig, tuple((server, 3000), (seen_by_server, 4001)), server), None);
            for round in 0..3 {
                let data = pass(&mut rig, tuple((server, 3000), (seen_by_server, 4000)), server);
                assert_eq!(
                    data,
                    Some((port, tuple((asked, 3000), (from, 4000)))),
                    "{rule} {round}"
                );
                let ack = pass(&mut rig, tuple((from, 4000), (asked, 3000)), from);
                let to = of_host(server).0;
                assert_eq!(
                    ack,
                    Some((to, tuple((seen_by_server, 4000), (server, 3000)))),
                    "{rule} {round}"
                );
            }
            // It was announced once.
            assert_eq!(pass(&mut rig, tuple((server, 3001), (seen_by_server, 4000)), server), None);
            let shown = rig.run("/ip firewall connection print");
            assert!(
                shown.lines().any(|line| line
                    .split_whitespace()
                    .nth(1)
                    .is_some_and(|flags| flags.starts_with('E'))),
                "{shown}"
            );
        }
    }
}

/// One end of a TCP connection: whom it is and whom it sees, and its numbers.
struct End {
    own: (u32, u16),
    peer: (u32, u16),
    seq: u32,
    ack: u32,
}

/// Sends a segment from an end; what the other end has is checked: numbers, addresses, text.
fn say(rig: &mut Rig, ends: &mut [End; 2], from: usize, text: &str, heard: &str, flags: TcpFlags) {
    let End { own, peer, seq, ack } = ends[from];
    let (port, src_mac) = of_host(own.0);
    let header =
        TcpHeader { src_port: own.1, dst_port: peer.1, seq, ack, flags, window: 8000, urgent: 0 };
    let body = Body::Tcp { header, options: &[] };
    let frame = Frame {
        src: own.0,
        dst: peer.0,
        body,
        src_mac,
        dst_mac: own_mac(port as u8),
        ..Frame::default()
    };
    let out = rig.pass(port, &Frame { payload: text.as_bytes(), ..frame }.build());
    assert_eq!(out.len(), 1, "{text:?} {flags:?}: {:?}", rig.router.discards());
    let (to, frame) = &out[0];
    let layers = sound(frame);
    let tcp = wire::Tcp::new(&frame[layers.l4.into()..layers.l3_end.into()]).unwrap();
    let other = &mut ends[1 - from];
    let tuple = FiveTuple {
        src: other.peer.0,
        src_port: other.peer.1,
        dst: other.own.0,
        dst_port: other.own.1,
        protocol: protocol::TCP,
    };
    assert_eq!((*to, layers.tuple), (of_host(other.own.0).0, tuple), "{text:?}");
    assert_eq!(std::str::from_utf8(tcp.payload()).unwrap(), heard);
    let first = u32::from(flags.contains(TcpFlags::SYN));
    if first == 0 {
        assert_eq!(tcp.seq(), other.ack, "the numbers go on where they were: {text:?}");
    }
    if flags.contains(TcpFlags::ACK) {
        assert_eq!(tcp.ack(), other.seq, "what was sent is acknowledged: {text:?}");
    }
    other.ack = tcp.seq().wrapping_add(first + heard.len() as u32);
    ends[from].seq = seq.wrapping_add(first + text.len() as u32);
}

fn shake_hands(rig: &mut Rig, ends: &mut [End; 2]) {
    say(rig, ends, 0, "", "", TcpFlags::SYN);
    say(rig, ends, 1, "", "", TcpFlags::SYN | TcpFlags::ACK);
    say(rig, ends, 0, "", "", TcpFlags::ACK);
}

/// FTP says in its text where the data connections go to: it is rewritten, numbers and all, and they
/// are related. A server behind us, a client behind us, and nobody translated.
#[test]
fn ftp_says_where_its_data_go() {
    const FILTER: &str = "/ip firewall filter
        add chain=forward connection-state=established,related action=accept
        add chain=forward connection-state=new protocol=tcp dst-port=21 action=accept
        add chain=forward action=drop
        add chain=input action=drop";
    const OUT: &str = "add chain=srcnat action=masquerade out-interface=ether2";
    const IN: &str =
        "add chain=dstnat dst-port=21 protocol=tcp action=dst-nat to-addresses=10.0.1.1";
    for reference in [false, true] {
        // Rule; client, whom it asks, who answers, whom that sees.
        for (rule, client, asked, server, seen) in [
            (OUT, CLIENT, SERVER, SERVER, OUTSIDE),
            (IN, SERVER, OUTSIDE, CLIENT, SERVER),
            ("", CLIENT, SERVER, SERVER, CLIENT),
        ] {
            let mut rig = rig(&format!("{rule}\n{FILTER}"), reference);
            let mut ends = [
                End { own: (client, 1025), peer: (asked, 21), seq: 0xffff_fff0, ack: 0 },
                End { own: (server, 21), peer: (seen, 1025), seq: 7000, ack: 0 },
            ];
            let ack = TcpFlags::ACK;
            let comma =
                |address: u32| std::net::Ipv4Addr::from(address).to_string().replace('.', ",");
            let dots = |address: u32| std::net::Ipv4Addr::from(address).to_string();
            shake_hands(&mut rig, &mut ends);
            say(&mut rig, &mut ends, 1, "220 here\r\n", "220 here\r\n", ack);
            let mut at = 156;
            for round in 0..3 {
                // Active: the client waits.
                let (said, heard) = (
                    format!("PORT {},{at},64\r\n", comma(client)),
                    format!("PORT {},{at},64\r\n", comma(seen)),
                );
                say(&mut rig, &mut ends, 0, &said, &heard, ack);
                say(&mut rig, &mut ends, 1, "200 ok\r\n", "200 ok\r\n", ack);
                let port = (at << 8) + 64;
                let mut data = [
                    End { own: (server, 20), peer: (seen, port), seq: 1, ack: 0 },
                    End { own: (client, port), peer: (asked, 20), seq: 90, ack: 0 },
                ];
                shake_hands(&mut rig, &mut data);
                for _ in 0..3 {
                    say(
                        &mut rig,
                        &mut data,
                        0,
                        "PORT 1,2,3,4,5,6\r\n",
                        "PORT 1,2,3,4,5,6\r\n",
                        ack,
                    );
                    say(&mut rig, &mut data, 1, "", "", ack);
                }
                // Passive: the server waits.
                say(&mut rig, &mut ends, 0, "PASV\r\n", "PASV\r\n", ack);
                let (said, heard) = (
                    format!("227 there ({},{at},65).\r\n", comma(server)),
                    format!("227 there ({},{at},65).\r\n", comma(asked)),
                );
                say(&mut rig, &mut ends, 1, &said, &heard, ack);
                say(&mut rig, &mut ends, 0, "", "", ack);
                let port = (at << 8) + 65;
                let mut data = [
                    End { own: (client, 6000 + at), peer: (asked, port), seq: 1, ack: 0 },
                    End { own: (server, port), peer: (seen, 6000 + at), seq: 90, ack: 0 },
                ];
                shake_hands(&mut rig, &mut data);
                say(&mut rig, &mut data, 1, "file", "file", ack);
                // Extended, both.
                let port = (at << 8) + 66;
                let (said, heard) = (
                    format!("EPRT |1|{}|{port}|\r\n", dots(client)),
                    format!("EPRT |1|{}|{port}|\r\n", dots(seen)),
                );
                say(&mut rig, &mut ends, 0, &said, &heard, ack);
                let said = format!("229 there (|||{}|)\r\n", port + 1);
                say(&mut rig, &mut ends, 1, &said, &said, ack);
                let mut data = [
                    End { own: (client, 6500 + at), peer: (asked, port + 1), seq: 1, ack: 0 },
                    End { own: (server, port + 1), peer: (seen, 6500 + at), seq: 90, ack: 0 },
                ];
                shake_hands(&mut rig, &mut data);
                at += 1 + round;
            }
            // Of somebody else's address nothing is believed.
            let said = "PORT 10,0,9,9,200,1\r\n";
            say(&mut rig, &mut ends, 0, said, said, ack);
        }
    }
}
