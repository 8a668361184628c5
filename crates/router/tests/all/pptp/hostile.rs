//! A host that speaks TCP well enough to say anything to our server.

use super::SERVER;
use crate::pppoe::log;
use crate::rig::{Rig, mac};
use router::discard::Discard;
use std::time::Duration;
use wire::craft::{self, ip};
use wire::pptp::{Header, Message};
use wire::{MacAddr, Tcp, TcpFlags};

const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xaa]);

struct Talker {
    rig: Rig,
    host: u8,
    port: u16,
    seq: u32,
    ack: u32,
    /// The other end says no more.
    over: bool,
}

fn rig() -> Rig {
    let mut rig = Rig::new(2, "/interface ethernet set ether2 mac-address=02:00:00:00:00:aa");
    rig.run(SERVER);
    rig.run("/ppp secret add name=bob password=secret");
    rig
}

impl Talker {
    fn dial(rig: Rig, host: u8, port: u16) -> Talker {
        let mut talker = Talker { rig, host, port, seq: 1000, ack: 0, over: false };
        talker.send(TcpFlags::SYN, b"");
        talker.seq += 1;
        talker.hear();
        assert_ne!(talker.ack, 0, "SYN and ACK");
        talker.send(TcpFlags::ACK, b"");
        talker.hear();
        talker
    }

    fn send(&mut self, flags: TcpFlags, payload: &[u8]) {
        let (src, dst) = (ip(10, 0, 0, self.host), ip(10, 0, 0, 2));
        let mut bytes = craft::Frame {
            src_mac: mac(self.host),
            dst_mac: OWN,
            payload,
            ..craft::tcp(src, self.port, dst, 1723, flags)
        }
        .build();
        bytes.truncate(54 + payload.len());
        bytes[38..42].copy_from_slice(&self.seq.to_be_bytes());
        bytes[42..46].copy_from_slice(&self.ack.to_be_bytes());
        bytes[48..50].copy_from_slice(&[0xff, 0xff]);
        bytes[50..52].fill(0);
        let sum = wire::checksum::tcp(src, dst, &bytes[34..]);
        bytes[50..52].copy_from_slice(&sum.to_be_bytes());
        self.rig.send(2, &bytes);
        self.rig.breathe();
    }

    /// What the server has said, acknowledged.
    fn hear(&mut self) -> Vec<u8> {
        let mut said = Vec::new();
        let mut frames = self.rig.take(2);
        // Whoever is asked for is there.
        let asked = |frame: &Vec<u8>| frame[12..14] == [8, 6];
        for frame in frames.iter().filter(|frame| asked(frame)) {
            let question = wire::Arp::new(&frame[14..]).unwrap().message();
            let answer = question.reply_from(mac(self.host));
            self.rig.send(2, &craft::Frame { dst_mac: OWN, ..craft::arp(answer) }.build());
        }
        self.rig.breathe();
        frames.retain(|frame| !asked(frame));
        frames.extend(self.rig.take(2).into_iter().filter(|frame| !asked(frame)));
        for frame in frames {
            let to = [&[10, 0, 0, self.host][..], &[6, 0xbb], &self.port.to_be_bytes()].concat();
            if frame[23] != 6 || frame[30..38] != to {
                continue;
            }
            let len = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            let segment = &frame[34..14 + len];
            let tcp = Tcp::new(segment).unwrap();
            let payload = &segment[usize::from(segment[12] >> 4) * 4..];
            if tcp.flags().contains(TcpFlags::SYN) {
                self.ack = tcp.seq().wrapping_add(1);
            } else if tcp.seq() == self.ack {
                self.ack = self.ack.wrapping_add(payload.len() as u32);
                said.extend(payload);
                let ends = TcpFlags::FIN.0 | TcpFlags::RST.0;
                self.over |= tcp.flags().0 & ends != 0;
            }
        }
        said
    }

    fn say(&mut self, payload: &[u8]) -> Vec<u8> {
        self.send(TcpFlags(TcpFlags::ACK.0 | TcpFlags::PSH.0), payload);
        self.seq = self.seq.wrapping_add(payload.len() as u32);
        let said = self.hear();
        self.send(TcpFlags::ACK, b"");
        said
    }

    fn ask(&mut self, message: Message) -> Option<Message> {
        Message::read(&self.say(&message.write()))
    }
}

#[test]
fn messages_of_others() {
    let mut talker = Talker::dial(rig(), 9, 4000);
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
        assert_eq!(talker.ask(message), None, "{message:?}");
    }
    let mut unknown = Message::EchoRequest { id: 1 }.write();
    unknown[9] = 99;
    assert_eq!(talker.say(&unknown), b"");
    // Calls, until there are enough; the same one again; one that ends.
    for n in 0..70_u16 {
        let request = Message::CallRequest { call: n + 1, serial: 1, window: 8 };
        let Some(Message::CallReply { call, peer, result, .. }) = talker.ask(request) else {
            panic!("a reply to {n}");
        };
        assert_eq!((peer, result), (n + 1, if n < 64 { 1 } else { 4 }));
        assert_eq!(call != 0, n < 64);
    }
    let end = talker.ask(Message::CallClear { call: 1 });
    assert!(matches!(end, Some(Message::CallGone { result: 4, .. })), "{end:?}");
    let again = talker.ask(Message::CallRequest { call: 2, serial: 1, window: 8 });
    assert!(matches!(again, Some(Message::CallReply { peer: 2, result: 1, .. })), "{again:?}");
    assert!(!talker.over);
    let said = talker.ask(Message::StopRequest { reason: 1 });
    assert_eq!(said, Some(Message::StopReply));
    assert!(talker.over, "{:#?}", log(&talker.rig));
    let frames = talker.rig.router.frames();
    assert!(frames.balance(), "{frames:?}");
}

#[test]
fn no_pptp_at_all() {
    let mut rig = rig();
    for (n, said) in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 12], &[0xff; 500]].iter().enumerate() {
        let mut talker = Talker::dial(rig, 9, 4000 + n as u16);
        talker.say(said);
        assert!(talker.over, "{n}");
        assert!(log(&talker.rig).iter().any(|line| line.contains("10.0.0.9 does not speak PPTP")));
        rig = talker.rig;
    }
    // Who says nothing is sent away.
    let mut talker = Talker::dial(rig, 9, 5000);
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
    let mut talker = Talker::dial(rig(), 9, 4000);
    talker.ask(Message::StartRequest);
    let reply = talker.ask(Message::CallRequest { call: 5, serial: 1, window: 8 });
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
    let mut talker = Talker::dial(rig(), 9, 4000);
    talker.ask(Message::StartRequest);
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
    assert_eq!(talker.ask(Message::EchoRequest { id: 5 }), Some(Message::EchoReply { id: 5 }));
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
