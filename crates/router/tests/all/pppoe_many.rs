//! A hundred thousand subscribers of two PPPoE servers, and a storm of those who only ask.

use crate::pppoe::{Pair, datagram};
use crate::rig::{Rig, mac, own_mac};
use router::interface::pppoe::Standing;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::time::Duration;
use wire::MacAddr;
use wire::craft::{self, ip};
use wire::ppp::{Control, protocol};
use wire::pppoe::{self, Code, Discovery, tag};

/// A subscriber that knows no more than it must: PAP, and an address.
#[derive(Default)]
struct Subscriber {
    user: String,
    /// The port it is behind.
    port: u8,
    id: u16,
    /// Both ends' options of LCP are taken.
    lcp: (bool, bool),
    open: bool,
}

fn discovery(dst: MacAddr, src: MacAddr, code: Code, tags: &[(u16, &[u8])]) -> Vec<u8> {
    let packet = Discovery::write(code, 0, tags);
    [&dst.0[..], &src.0, &[0x88, 0x63], &packet].concat()
}

impl Subscriber {
    /// What it answers to a frame.
    fn hear(&mut self, mac: MacAddr, frame: &[u8]) -> Vec<Vec<u8>> {
        if frame[12..14] == [0x88, 0x63] {
            let Some(said) = Discovery::read(&frame[14..]) else { return Vec::new() };
            return match said.code {
                Code::Pado => {
                    let cookie = said.tag(tag::AC_COOKIE).unwrap();
                    let tags = [(tag::SERVICE_NAME, &b""[..]), (tag::AC_COOKIE, cookie)];
                    vec![discovery(own_mac(self.port), mac, Code::Padr, &tags)]
                }
                Code::Pads => {
                    self.id = said.session;
                    let data = [5, 6, 1, 2, 3, self.id as u8];
                    vec![self.say(mac, protocol::LCP, Control { code: 1, id: 1, data: &data })]
                }
                _ => Vec::new(),
            };
        }
        let Some((_, ppp)) = pppoe::session(&frame[14..]) else { return Vec::new() };
        let kind = u16::from_be_bytes([ppp[0], ppp[1]]);
        let Some(said) = Control::read(&ppp[2..]) else { return Vec::new() };
        let mut out = Vec::new();
        match (kind, said.code) {
            (protocol::LCP | protocol::IPCP, 1) => {
                out.push(self.say(mac, kind, Control { code: 2, ..said }));
                self.lcp.0 |= kind == protocol::LCP;
            }
            (protocol::LCP, 2) => self.lcp.1 = true,
            (protocol::PAP, 2) => {
                let data = [3, 6, 0, 0, 0, 0];
                out.push(self.say(mac, protocol::IPCP, Control { code: 1, id: 1, data: &data }));
            }
            (protocol::IPCP, 3) => {
                out.push(self.say(mac, kind, Control { code: 1, id: 2, data: said.data }));
            }
            (protocol::IPCP, 2) => self.open = true,
            _ => {}
        }
        if kind == protocol::LCP && self.lcp == (true, true) {
            let user = self.user.as_bytes();
            let data = [&[user.len() as u8], user, &[1, b'p']].concat();
            out.push(self.say(mac, protocol::PAP, Control { code: 1, id: 1, data: &data }));
        }
        out
    }

    fn say(&self, mac: MacAddr, kind: u16, control: Control) -> Vec<u8> {
        let packet = control.write(kind);
        let header = pppoe::header(self.id, packet.len() as u16);
        [&own_mac(self.port).0[..], &mac.0, &[0x88, 0x64], &header, &packet].concat()
    }
}

/// So many at once.
const WAVE: usize = 250;

/// A router with this many subscribers, half of them on each of two ports: what each takes of memory, and
/// how long all of them took, the slowest wave counted for all.
fn subscribed(many: usize) -> (Rig, i64, Duration) {
    let mut script = "/ip pool add name=p ranges=10.64.0.1-10.66.255.254\n\
                      /ppp profile add name=p local-address=10.9.0.1 remote-address=p use-ipv6=no \
                      change-tcp-mss=no\n\
                      /interface pppoe-server server\n\
                      add interface=ether2 default-profile=p authentication=pap\n\
                      add interface=ether3 default-profile=p authentication=pap\n\
                      /ppp secret\n"
        .to_string();
    for n in 0..many {
        writeln!(script, "add name=user{n} password=p").unwrap();
    }
    let mut rig = Rig::new(3, &script);
    let begun = rig.now;
    let used = allocation_counter::measure(|| {
        for wave in 0..many / WAVE {
            let subscriber = |n: usize| {
                let [.., a, b, c] = n.to_be_bytes();
                let (user, port) = (format!("user{n}"), 2 + (n % 2) as u8);
                let subscriber = Subscriber { user, port, ..Subscriber::default() };
                (MacAddr([6, 2, 0, a, b, c]), subscriber)
            };
            let mut all: HashMap<MacAddr, Subscriber> =
                (WAVE * wave..WAVE * (wave + 1)).map(subscriber).collect();
            for (&mac, host) in &all {
                let padi = [(tag::SERVICE_NAME, &b""[..])];
                rig.send(host.port.into(), &discovery(MacAddr::BROADCAST, mac, Code::Padi, &padi));
            }
            for _ in 0..100 {
                rig.now = rig.now + Duration::from_millis(1);
                let mut said = true;
                while std::mem::take(&mut said) {
                    rig.breathe();
                    for frame in [rig.take(2), rig.take(3)].concat() {
                        let mac = MacAddr(*frame.first_chunk().unwrap());
                        let Some(host) = all.get_mut(&mac) else { continue };
                        said = true;
                        let port = host.port;
                        host.hear(mac, &frame)
                            .iter()
                            .for_each(|frame| rig.send(port.into(), frame));
                    }
                }
                if all.values().all(|host| host.open) {
                    break;
                }
            }
            assert!(all.values().all(|host| host.open), "wave {wave}");
        }
        // They are told to the compiler together, the more there are.
        for _ in 0..200 {
            rig.now = rig.now + Duration::from_secs(1);
            rig.breathe();
            rig.take(2);
            rig.take(3);
            if rig.router.program().sessions.list().len() == many {
                break;
            }
        }
    });
    assert_eq!(rig.router.program().sessions.list().len(), many);
    let each = used.bytes_current / many as i64;
    println!("{each} bytes a session of {many}, with its interface, address, route and all");
    let took = rig.now - begun;
    (rig, each, took)
}

#[test]
fn ten_thousand_sessions() {
    let (_, each, took) = subscribed(10_000);
    assert!(took <= Duration::from_secs(5), "{took:?}");
    assert!(each < 700, "{each} bytes a session");
}

/// More than 65,536: their interfaces, ways and numbers are told apart, and packets find them.
#[test]
fn a_hundred_thousand_sessions() {
    let (mut rig, each, _) = subscribed(100_000);
    assert!(each <= 640, "{each} bytes a session");
    rig.run("/ip address add address=10.0.1.1/24 interface=ether1");
    rig.introduce(1, mac(1), ip(10, 0, 1, 9), ip(10, 0, 1, 1));
    let program = rig.router.program();
    let all = program.sessions.list();
    let numbers: HashSet<_> = all.iter().map(|standing| standing.interface).collect();
    assert_eq!(numbers.len(), all.len());
    let last = all.iter().max_by_key(|standing| standing.interface.0).unwrap().clone();
    assert!(last.interface.0 > 1 << 16);
    // A number in 16 bits would be this one's.
    let other = all.iter().find(|other| other.interface.0 == last.interface.0 & 0xffff).unwrap();
    let other = other.clone();
    for Standing { interface, session } in [&last, &other, &last] {
        let port = if session.on() == rig.ether(2) { 2 } else { 3 };
        let datagram = craft::Frame {
            src_mac: mac(1),
            dst_mac: own_mac(1),
            payload: &[7; 100],
            ..craft::udp(ip(10, 0, 1, 9), 1000, session.remote, 2000)
        };
        let back = craft::udp(session.remote, 2000, ip(10, 0, 1, 9), 1000);
        let before = rig.router.interface_counts(*interface);
        for _ in 0..3 {
            let out = rig.pass(1, &datagram.build());
            let [(to, frame)] = &out[..] else { panic!("{out:?}") };
            assert_eq!((*to, &frame[..6]), (port, &session.peer().0[..]));
            assert_eq!(pppoe::session(&frame[14..]).unwrap().0, session.id());
            let ip = &craft::Frame { payload: &[8; 100], ..back }.build()[14..];
            let header = pppoe::header(session.id(), ip.len() as u16 + 2);
            let head = [&own_mac(port as u8).0[..], &session.peer().0, &[0x88, 0x64]].concat();
            let out = rig.pass(port, &[&head[..], &header, &[0, 0x21], ip].concat());
            let [(1, frame)] = &out[..] else { panic!("{out:?}") };
            assert_eq!(frame[14 + 28..], [8; 100]);
        }
        let counts = rig.router.interface_counts(*interface);
        let [rx, tx, fast_rx, fast_tx] = [
            counts.rx.packets - before.rx.packets,
            counts.tx.packets - before.tx.packets,
            counts.fast_rx.packets - before.fast_rx.packets,
            counts.fast_tx.packets - before.fast_tx.packets,
        ];
        assert_eq!((rx, tx), (3, 3));
        assert!(fast_rx >= 2 && fast_tx >= 2, "{fast_rx} {fast_tx}");
    }
}

/// Fifty thousand who ask and never come: a session does not notice, and nothing is kept of them.
#[test]
fn a_storm() {
    let mut pair = Pair::new(
        "$C add-default-route=yes",
        "$S\n$P\n/ip route add dst-address=10.0.1.0/24 gateway=10.9.0.2",
    );
    let used = allocation_counter::measure(|| {
        for n in 0..50_000_u32 {
            let [_, b, c, d] = n.to_be_bytes();
            let mac = MacAddr([6, 1, 0, b, c, d]);
            let padi = discovery(MacAddr::BROADCAST, mac, Code::Padi, &[(tag::SERVICE_NAME, b"")]);
            pair.server.send(2, &padi);
            if n % 64 == 0 {
                pair.server.breathe();
                pair.server.take(2);
            }
        }
        pair.server.breathe();
        pair.server.take(2);
    });
    assert!(used.bytes_current < 100_000, "{} bytes are kept", used.bytes_current);
    let out = pair.pass(&datagram(&[1; 99]).build());
    assert_eq!(out.len(), 1, "{:?}", pair.server.router.discards());
    pair.wait(20);
    assert_eq!(pair.server.router.program().sessions.list().len(), 1);
    pair.balanced();
}
