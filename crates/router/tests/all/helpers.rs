//! Helpers of connection tracking behind masquerade: SIP, PPTP and IRC, and `/ip firewall service-port`.
//! (FTP and TFTP: `nat.rs`.) Every frame out is read anew, its checksums recomputed.

use crate::rig::{Rig, mac, own_mac};
use wire::craft::{Body, Frame, ip};
use wire::layers::{self, protocol};
use wire::tcp::{TcpFlags, TcpHeader};
use wire::{FiveTuple, checksum};

const CLIENT: u32 = ip(10, 0, 1, 1);
const NEIGHBOUR: u32 = ip(10, 0, 1, 2);
const SERVER: u32 = ip(10, 0, 2, 1);
const OTHER: u32 = ip(10, 0, 2, 2);
const OUTSIDE: u32 = ip(10, 0, 2, 254);

/// Only what is established or related comes in; whoever is inside may begin anything.
const SCRIPT: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade
/ip firewall filter
add chain=forward connection-state=established,related action=accept
add chain=forward in-interface=ether1 action=accept
add chain=forward action=drop
add chain=input action=drop";

fn rig(script: &str, reference: bool) -> Rig {
    let mut rig = Rig::new(2, SCRIPT);
    rig.run(script);
    rig.router.set_reference(reference);
    for (port, n, host, own) in [
        (1, 1, CLIENT, ip(10, 0, 1, 254)),
        (1, 2, NEIGHBOUR, ip(10, 0, 1, 254)),
        (2, 3, SERVER, OUTSIDE),
        (2, 4, OTHER, OUTSIDE),
    ] {
        rig.introduce(port, mac(n), host, own);
    }
    rig
}

fn tuple(src: (u32, u16), dst: (u32, u16), protocol: u8) -> FiveTuple {
    FiveTuple { src: src.0, src_port: src.1, dst: dst.0, dst_port: dst.1, protocol }
}

/// Sends it from where its source is; the 5-tuple and payload of the one frame that came out.
fn pass(
    rig: &mut Rig,
    t: FiveTuple,
    numbers: (u32, u32),
    payload: &[u8],
) -> Option<(FiveTuple, Vec<u8>)> {
    let (port, n) = match t.src {
        CLIENT => (1, 1),
        NEIGHBOUR => (1, 2),
        SERVER => (2, 3),
        _ => (2, 4),
    };
    let (seq, ack) = numbers;
    let flags = if ack == 0 { TcpFlags::SYN } else { TcpFlags::ACK };
    // An end's first segment.
    let flags = if ack != 0 && seq % 100 == 99 { TcpFlags::SYN | TcpFlags::ACK } else { flags };
    let (src_port, dst_port) = (t.src_port, t.dst_port);
    let body = match t.protocol {
        protocol::TCP => Body::Tcp {
            header: TcpHeader { src_port, dst_port, seq, ack, flags, window: 8000, urgent: 0 },
            options: &[],
        },
        protocol::UDP => Body::Udp { src_port, dst_port },
        protocol => Body::Ip { protocol },
    };
    let frame = Frame { src: t.src, dst: t.dst, body, payload, ..Frame::default() };
    let frame = Frame { src_mac: mac(n), dst_mac: own_mac(port as u8), ..frame }.build();
    let out = rig.pass(port, &frame);
    assert!(out.len() <= 1, "{out:02x?}");
    let (_, frame) = out.first()?;
    let layers = layers::parse(frame).unwrap();
    let (l3, l4, end) = (layers.l3.into(), usize::from(layers.l4), usize::from(layers.l3_end));
    assert!(checksum::is_ok(&frame[l3..l3 + 20]));
    let (seen, body) = (layers.tuple, &frame[if l4 == 0 { l3 + 20 } else { l4 }..end]);
    let header_len = match layers.protocol {
        protocol::UDP => {
            assert!(checksum::udp_ok(seen.src, seen.dst, body));
            8
        }
        protocol::TCP => {
            assert!(checksum::tcp_ok(seen.src, seen.dst, body));
            20
        }
        _ => 0,
    };
    Some((seen, body[header_len..].to_vec()))
}

fn udp(rig: &mut Rig, src: (u32, u16), dst: (u32, u16), text: &str) -> Option<(FiveTuple, String)> {
    let text = text.replace('\n', "\r\n");
    let (seen, payload) = pass(rig, tuple(src, dst, protocol::UDP), (0, 0), text.as_bytes())?;
    Some((seen, String::from_utf8(payload).unwrap().replace("\r\n", "\n")))
}

/// A call that the client makes: it says where it is, hears voice from elsewhere than it called, and
/// speaks.
#[test]
fn sip_says_where_voice_is_heard() {
    let invite = "INVITE sip:bob@10.0.2.1 SIP/2.0\nVia: SIP/2.0/UDP 10.0.1.1:5060\nContact: <sip:a@10.0.1.1:5060>\nContent-Type: application/sdp\nContent-Length: 48\n\nv=0\nc=IN IP4 10.0.1.1\nm=audio 8000 RTP/AVP 0\n";
    let answer = "SIP/2.0 200 OK\nVia: SIP/2.0/UDP 10.0.2.254:5060\nContent-Type: application/sdp\nContent-Length: 50\n\nv=0\nc=IN IP4 10.0.2.1\nm=audio 9000 RTP/AVP 0\n";
    let check = |direct: bool, reference: bool| {
        let mut rig = rig("", reference);
        if !direct {
            rig.run("/ip firewall service-port set sip sip-direct-media=no");
        }
        // The neighbour has the port already.
        udp(&mut rig, (NEIGHBOUR, 8000), (OTHER, 7), "x").expect("sent");
        let (seen, said) = udp(&mut rig, (CLIENT, 5060), (SERVER, 5060), invite).expect("sent");
        assert_eq!(seen, tuple((OUTSIDE, 5060), (SERVER, 5060), protocol::UDP));
        assert_eq!(said, invite.replace("10.0.1.1", "10.0.2.254").replace("th: 48", "th: 50"));
        let (seen, said) = udp(&mut rig, (SERVER, 5060), (OUTSIDE, 5060), answer).expect("back");
        assert_eq!(seen, tuple((SERVER, 5060), (CLIENT, 5060), protocol::UDP));
        assert_eq!(said, answer.replace("10.0.2.254", "10.0.1.1"));
        // Voice, and what is said of it, to the client; from elsewhere if that may be.
        let source = if direct { OTHER } else { SERVER };
        assert_eq!(udp(&mut rig, (source, 9100), (OUTSIDE, 8002), "x"), None);
        if !direct {
            assert_eq!(udp(&mut rig, (OTHER, 9000), (OUTSIDE, 8001), "x"), None);
        }
        for port in [8001, 8000] {
            for _ in 0..3 {
                let heard = udp(&mut rig, (source, port + 1000), (OUTSIDE, port), "voice");
                let want = tuple((source, port + 1000), (CLIENT, port), protocol::UDP);
                assert_eq!(heard.map(|heard| heard.0), Some(want));
            }
        }
        // The client speaks to the server: related as well, though nothing has come from there.
        if direct {
            rig.run("/ip firewall filter add chain=forward place-before=1 connection-state=new action=drop");
            for _ in 0..3 {
                let spoken = udp(&mut rig, (CLIENT, 8000), (SERVER, 9000), "voice");
                let want = tuple((OUTSIDE, 8000), (SERVER, 9000), protocol::UDP);
                assert_eq!(spoken.map(|spoken| spoken.0), Some(want));
            }
        }
        let shown = rig.run("/ip firewall connection print detail");
        assert!(
            shown.contains("connection-type=\"sip\"") || shown.contains("connection-type=sip"),
            "{shown}"
        );
    };
    for reference in [false, true] {
        check(true, reference);
        check(false, reference);
    }
    // Without the helper nothing is read.
    let mut rig = rig("/ip firewall service-port set sip disabled=yes", false);
    let (_, said) = udp(&mut rig, (CLIENT, 5060), (SERVER, 5060), invite).expect("sent");
    assert_eq!(said, invite);
    assert_eq!(udp(&mut rig, (SERVER, 9000), (OUTSIDE, 8000), "x"), None);
}

fn message(kind: u8, rest: &[u8]) -> Vec<u8> {
    let head = [0, 12 + rest.len() as u8, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, kind, 0, 0];
    [&head[..], rest].concat()
}

fn gre(call: u16, payload: &[u8]) -> Vec<u8> {
    let [a, b] = call.to_be_bytes();
    [&[0x30, 1, 0x88, 0x0b, 0, payload.len() as u8, a, b, 0, 0, 0, 1], payload].concat()
}

/// Two clients behind one address that have chosen the same call ID: GRE finds each of them.
#[test]
fn pptp_calls_have_ids() {
    for reference in [false, true] {
        let mut rig = rig("", reference);
        let clients = [(CLIENT, 1100, 300u16), (NEIGHBOUR, 1200, 400)];
        let mut seen_ids = Vec::new();
        for (client, port, served) in clients {
            let control = tuple((client, port), (SERVER, 1723), protocol::TCP);
            let back = tuple((SERVER, 1723), (OUTSIDE, port), protocol::TCP);
            pass(&mut rig, control, (99, 0), b"").expect("SYN");
            pass(&mut rig, back, (499, 100), b"");
            let request = message(7, &[0, 7, 0, 0]);
            let (_, said) = pass(&mut rig, control, (100, 500), &request).expect("request");
            let id = u16::from_be_bytes([said[12], said[13]]);
            assert!(!seen_ids.contains(&id), "{id}");
            seen_ids.push(id);
            // GRE finds nobody whom the server does not know.
            let [a, b] = served.to_be_bytes();
            let [c, d] = id.to_be_bytes();
            let reply = message(8, &[a, b, c, d, 1, 0]);
            let (_, heard) = pass(&mut rig, back, (500, 100 + 16), &reply).expect("reply");
            assert_eq!(heard, message(8, &[a, b, 0, 7, 1, 0]), "as the client chose");
        }
        for _ in 0..3 {
            for (n, (client, _, served)) in clients.into_iter().enumerate() {
                let to = FiveTuple {
                    src: client,
                    dst: SERVER,
                    protocol: protocol::GRE,
                    ..FiveTuple::default()
                };
                let (seen, sent) = pass(&mut rig, to, (0, 0), &gre(served, b"up")).expect("up");
                assert_eq!((seen.src, seen.dst, seen.dst_port), (OUTSIDE, SERVER, served));
                assert_eq!(sent, gre(served, b"up"));
                let back = FiveTuple { src: SERVER, dst: OUTSIDE, ..to };
                let (seen, sent) =
                    pass(&mut rig, back, (0, 0), &gre(seen_ids[n], b"down")).expect("down");
                assert_eq!((seen.src, seen.dst), (SERVER, client));
                assert_eq!(sent, gre(7, b"down"));
            }
        }
        let back = FiveTuple {
            src: SERVER,
            dst: OUTSIDE,
            protocol: protocol::GRE,
            ..FiveTuple::default()
        };
        assert_eq!(pass(&mut rig, back, (0, 0), &gre(999, b"who")), None);
        let shown = rig.run("/ip firewall connection print detail where protocol=gre");
        assert!(shown.contains("gre-key=300") && shown.contains("gre-key=400"), "{shown}");
    }
}

/// A client of IRC offers a file: whoever was offered it comes from anywhere.
#[test]
fn irc_offers() {
    let mut rig = rig("", false);
    let control = tuple((CLIENT, 1300), (SERVER, 6667), protocol::TCP);
    let back = tuple((SERVER, 6667), (OUTSIDE, 1300), protocol::TCP);
    pass(&mut rig, control, (99, 0), b"").expect("SYN");
    pass(&mut rig, back, (499, 100), b"");
    let offer = b"PRIVMSG x :\x01DCC SEND file 167772417 5000 12\x01\r\n";
    let (_, said) = pass(&mut rig, control, (100, 500), offer).expect("offer");
    let want = "PRIVMSG x :\x01DCC SEND file 167772926 5000 12\x01\r\n";
    assert_eq!(String::from_utf8_lossy(&said), want);
    let fetch = tuple((OTHER, 2000), (OUTSIDE, 5000), protocol::TCP);
    let seen = pass(&mut rig, fetch, (7, 0), b"").expect("SYN").0;
    assert_eq!(seen, tuple((OTHER, 2000), (CLIENT, 5000), protocol::TCP));
}

/// The menu: what it begins with, what may be changed, and the matcher that sees it.
#[test]
fn the_menu() {
    let mut rig = rig("", false);
    let shown = rig.run("/ip firewall service-port print");
    for line in ["ftp    21", "sip    5060", "h323"] {
        let found =
            shown.lines().any(|shown| line.split_whitespace().all(|word| shown.contains(word)));
        assert!(found, "{line}: {shown}");
    }
    rig.run("/ip firewall service-port set ftp,tftp disabled=yes\n/ip firewall service-port set sip ports=5060,5080 sip-timeout=5m");
    let exported = rig.run("/ip firewall service-port export");
    for line in
        ["set ftp disabled=yes", "set tftp disabled=yes", "set sip ports=5060,5080 sip-timeout=5m"]
    {
        assert!(exported.contains(line), "{line}: {exported}");
    }
    for (line, why) in [
        ("set pptp sip-timeout=1m", "sip-timeout is sip's"),
        ("set h323 ports=1720", "h323 has no ports"),
        ("set ftp ports=1,2,3,4,5,6,7,8,9", "at most 8"),
        ("add name=x", ""),
    ] {
        let error = rig.try_run(&format!("/ip firewall service-port {line}")).unwrap_err();
        assert!(error.to_string().contains(why), "{line}: {error}");
    }
    rig.run("/ip firewall filter add chain=forward connection-type=ftp action=accept");
    rig.run("/ip firewall filter add chain=forward connection-type=h323 action=accept");
    let shown = rig.run("/ip firewall filter print");
    assert!(shown.contains("connection-type=h323: no packet matches"), "{shown}");
}
