//! Hostile clients of our PPTP server.

use super::SERVER;
use crate::pppoe::log;
use crate::rig::{Rig, mac};
use crate::talker::{Line, Talker};
use router::discard::Discard;
use std::time::Duration;
use wire::craft::{self, ip};
use wire::pptp::{Header, Message};
use wire::{MacAddr, TcpFlags};

const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xaa]);

fn line(host: u8) -> Line {
    let (src, dst) = (ip(10, 0, 0, host), ip(10, 0, 0, 2));
    Line { host, src, dst, mac: OWN, by: 2, to: 1723 }
}

fn dial(rig: Rig, host: u8, port: u16) -> Talker {
    let talker = Talker::dial(rig, line(host), port);
    assert!(talker.is_open());
    talker
}

fn ask(talker: &mut Talker, message: Message) -> Option<Message> {
    Message::read(&talker.say(&message.write()))
}

fn rig() -> Rig {
    let mut rig = Rig::new(2, "/interface ethernet set ether2 mac-address=02:00:00:00:00:aa");
    rig.run(SERVER);
    rig.run("/ppp secret add name=bob password=secret");
    rig
}

#[test]
fn messages_of_others() {
    let mut talker = dial(rig(), 9, 4000);
    // In pieces, and several at once.
    let start = Message::StartRequest.write();
    for byte in &start[..start.len() - 1] {
        assert_eq!(talker.say(&[*byte]), b"");
    }
    let both = [&start[155..], &Message::EchoRequest { id: 7 }.write()].concat();
    let said = talker.say(&both);
    assert_eq!(Message::read(&said), Some(Message::StartReply { result: 1 }));
    assert_eq!(Message::read(&said[156..]), Some(Message::EchoReply { id: 7 }));
    // What is for clients, and of kinds that nobody knows.
    for message in [
        Message::StartReply { result: 1 },
        Message::CallReply { call: 1, peer: 1, result: 1, window: 1 },
        Message::CallGone { call: 1, result: 1 },
        Message::LinkInfo { peer: 1 },
        Message::WanError { peer: 1 },
        Message::EchoReply { id: 1 },
        Message::CallClear { call: 99 },
    ] {
        assert_eq!(ask(&mut talker, message), None, "{message:?}");
    }
    let mut unknown = Message::EchoRequest { id: 1 }.write();
    unknown[9] = 99;
    assert_eq!(talker.say(&unknown), b"");
    // Calls, until there are enough; the same one again; one that ends.
    for n in 0..70_u16 {
        let request = Message::CallRequest { call: n + 1, serial: 1, window: 8 };
        let Some(Message::CallReply { call, peer, result, .. }) = ask(&mut talker, request) else {
            panic!("a reply to {n}");
        };
        assert_eq!((peer, result), (n + 1, if n < 64 { 1 } else { 4 }));
        assert_eq!(call != 0, n < 64);
    }
    let end = ask(&mut talker, Message::CallClear { call: 1 });
    assert!(matches!(end, Some(Message::CallGone { result: 4, .. })), "{end:?}");
    let again = ask(&mut talker, Message::CallRequest { call: 2, serial: 1, window: 8 });
    assert!(matches!(again, Some(Message::CallReply { peer: 2, result: 1, .. })), "{again:?}");
    assert!(!talker.over);
    let said = ask(&mut talker, Message::StopRequest { reason: 1 });
    assert_eq!(said, Some(Message::StopReply));
    assert!(talker.over, "{:#?}", log(&talker.rig));
    let frames = talker.rig.router.frames();
    assert!(frames.balance(), "{frames:?}");
}

#[test]
fn no_pptp_at_all() {
    let mut rig = rig();
    for (n, said) in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 12], &[0xff; 500]].iter().enumerate() {
        let mut talker = dial(rig, 9, 4000 + n as u16);
        talker.say(said);
        assert!(talker.over, "{n}");
        assert!(log(&talker.rig).iter().any(|line| line.contains("10.0.0.9 does not speak PPTP")));
        rig = talker.rig;
    }
    // Who says nothing is sent away.
    let mut talker = dial(rig, 9, 5000);
    talker.rig.wait(Duration::from_secs(29));
    talker.hear();
    assert!(!talker.over);
    talker.rig.wait(Duration::from_secs(3));
    talker.hear();
    assert!(talker.over);
}

/// Packets of calls that are none, of others' calls, and that contradict themselves.
#[test]
fn packets_of_others() {
    let mut talker = dial(rig(), 9, 4000);
    ask(&mut talker, Message::StartRequest);
    let reply = ask(&mut talker, Message::CallRequest { call: 5, serial: 1, window: 8 });
    let Some(Message::CallReply { call, .. }) = reply else { panic!("{reply:?}") };
    let gre = |call, sequence: Option<u32>, carried: &[u8]| {
        let head = Header { call, sequence, acknowledged: None };
        let mut bytes = vec![0; head.len()];
        head.write(carried.len() as u16, &mut bytes);
        [&bytes[..], carried].concat()
    };
    let lcp = [0xff, 3, 0xc0, 0x21, 9, 1, 0, 8, 0, 0, 0, 0];
    let mut long = gre(call, Some(9), &lcp);
    long[5] = 200;
    let mut routed = gre(call, Some(9), &lcp);
    routed[0] |= 0x40;
    for (what, host, bytes, why) in [
        ("a call that is none", 9, gre(call ^ 1, Some(1), &lcp), Some(Discard::UnknownSession)),
        ("from elsewhere", 8, gre(call, Some(1), &lcp), Some(Discard::UnknownSession)),
        ("good", 9, gre(call, Some(1), &lcp), None),
        ("again", 9, gre(call, Some(1), &lcp), Some(Discard::Repeated)),
        ("late", 9, gre(call, Some(0), &lcp), None),
        (
            "much too late",
            9,
            gre(call, Some(0u32.wrapping_sub(300)), &lcp),
            Some(Discard::Repeated),
        ),
        ("too short for PPP", 9, gre(call, Some(2), &[0xff, 3, 0]), Some(Discard::MalformedTunnel)),
        (
            "IP before anybody has logged in",
            9,
            gre(call, Some(3), &[0, 0x21, 0x45]),
            Some(Discard::InterfaceDown),
        ),
        ("longer than it is", 9, long, Some(Discard::MalformedTunnel)),
        ("with routes", 9, routed, Some(Discard::MalformedTunnel)),
        ("without a number", 9, gre(call, None, &lcp), Some(Discard::MalformedTunnel)),
        ("an acknowledgement", 9, gre(call, None, &[]), None),
    ] {
        let before = why.map(|why| talker.rig.router.discards().get(why));
        let all = talker.rig.router.discards().total();
        let frame = craft::Frame {
            src_mac: mac(host),
            dst_mac: OWN,
            payload: &bytes,
            body: craft::Body::Ip { protocol: 47 },
            ..craft::ping(ip(10, 0, 0, host), ip(10, 0, 0, 2))
        };
        talker.rig.send(2, &frame.build());
        talker.rig.breathe();
        let discards = talker.rig.router.discards();
        let after = why.map(|why| discards.get(why));
        assert_eq!(after, before.map(|n| n + 1), "{what} {discards:?}");
        assert_eq!(discards.total(), all + u64::from(why.is_some()), "{what} {discards:?}");
    }
}

/// Twenty thousand requests, and a connection that does not notice; ports of nobody answer as ever.
#[test]
fn a_storm() {
    let mut talker = dial(rig(), 9, 4000);
    ask(&mut talker, Message::StartRequest);
    for n in 0..20_000_u32 {
        let src = ip(10, 0, 0, 10 + (n % 200) as u8);
        let port = 1024 + (n / 200) as u16;
        let frame = craft::Frame {
            src_mac: mac(7),
            dst_mac: OWN,
            ..craft::tcp(src, port, ip(10, 0, 0, 2), 1723, TcpFlags::SYN)
        };
        talker.rig.send(2, &frame.build());
        if n % 64 == 0 {
            talker.rig.breathe();
            talker.hear();
        }
    }
    talker.rig.breathe();
    talker.hear();
    assert_eq!(
        ask(&mut talker, Message::EchoRequest { id: 5 }),
        Some(Message::EchoReply { id: 5 })
    );
    talker.rig.wait(Duration::from_secs(40));
    talker.hear();
    talker.rig.take(1);
    let frame = craft::Frame {
        src_mac: mac(9),
        dst_mac: OWN,
        ..craft::tcp(ip(10, 0, 0, 9), 6000, ip(10, 0, 0, 2), 1724, TcpFlags::SYN)
    };
    talker.rig.send(2, &frame.build());
    talker.rig.breathe();
    let out = talker.rig.take(2);
    assert!(out.iter().any(|frame| frame[23] == 6 && frame[47] & 4 != 0), "a reset: {out:02x?}");
}
