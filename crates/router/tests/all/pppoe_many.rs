//! Ten thousand subscribers of one PPPoE server, and a storm of those who only ask.

use crate::pppoe::{Pair, datagram};
use crate::rig::{Rig, own_mac};
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;
use wire::MacAddr;
use wire::ppp::{Control, protocol};
use wire::pppoe::{self, Code, Discovery, tag};

/// A subscriber that knows no more than it must: PAP, and an address.
#[derive(Default)]
struct Subscriber {
    user: String,
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
                    vec![discovery(own_mac(2), mac, Code::Padr, &tags)]
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
        [&own_mac(2).0[..], &mac.0, &[0x88, 0x64], &header, &packet].concat()
    }
}

const MANY: usize = 10_000;
const WAVE: usize = 250;

#[test]
fn ten_thousand_sessions() {
    let mut script = "/ip pool add name=p ranges=10.64.0.1-10.64.255.254\n\
                      /ppp profile add name=p local-address=10.9.0.1 remote-address=p use-ipv6=no\n\
                      /interface pppoe-server server add interface=ether2 default-profile=p \
                      authentication=pap\n"
        .to_string();
    for n in 0..MANY {
        writeln!(script, "/ppp secret add name=user{n} password=p").unwrap();
    }
    let mut rig = Rig::new(2, &script);
    let begun = rig.now;
    let used = allocation_counter::measure(|| {
        for wave in 0..MANY / WAVE {
            let mut all: HashMap<MacAddr, Subscriber> = (0..WAVE)
                .map(|n| {
                    let n = wave * WAVE + n;
                    let mac = MacAddr([6, 2, 0, 0, (n >> 8) as u8, n as u8]);
                    (mac, Subscriber { user: format!("user{n}"), ..Subscriber::default() })
                })
                .collect();
            for &mac in all.keys() {
                rig.send(
                    2,
                    &discovery(MacAddr::BROADCAST, mac, Code::Padi, &[(tag::SERVICE_NAME, b"")]),
                );
            }
            for _ in 0..100 {
                rig.now = rig.now + Duration::from_millis(1);
                rig.breathe();
                let mut frames = rig.take(2);
                while !frames.is_empty() {
                    for frame in std::mem::take(&mut frames) {
                        let mac = MacAddr(*frame.first_chunk().unwrap());
                        let Some(host) = all.get_mut(&mac) else { continue };
                        host.hear(mac, &frame).iter().for_each(|frame| rig.send(2, frame));
                    }
                    rig.breathe();
                    frames = rig.take(2);
                }
                if all.values().all(|host| host.open) {
                    break;
                }
            }
            assert!(all.values().all(|host| host.open), "wave {wave}");
        }
        rig.now = rig.now + Duration::from_secs(1);
        rig.breathe();
    });
    assert_eq!(rig.router.program().sessions.list().len(), MANY);
    let took = (rig.now - begun).as_secs();
    assert!(took <= 5, "{took} s");
    let each = used.bytes_current / MANY as i64;
    println!("{each} bytes a session, with its interface, address, route and all");
    assert!(each < 1_000, "{each} bytes a session");
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
