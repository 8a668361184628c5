//! RADIUS: our PPPoE server asks a server that a test plays, tells it of sessions, and does what it wants.

use crate::pppoe::{Pair, id, log};
use crate::rig::{mac, own_mac};
use router::discard::Discard;
use std::time::Duration;
use wire::craft::{self, ip};
use wire::radius::{self, Packet, attribute, code, microsoft, mikrotik};

const RADIUS: &str = "/radius add service=ppp address=10.0.2.1 secret=shared timeout=500ms\n\
                      /ppp aaa set use-radius=yes";
const SECRET: &[u8] = b"shared";

/// The host of the server's first network, on which RADIUS is played.
struct Host<'a> {
    pair: &'a mut Pair,
    /// What it was told: kind of status, and the packet.
    told: Vec<(u32, Packet)>,
    asked: Vec<Packet>,
}

impl Host<'_> {
    /// Lets so many seconds pass, and answers; `accept` says what is accepted with, or that it is not.
    fn play(&mut self, seconds: u64, accept: impl Fn(&Packet) -> Option<Packet>) {
        for _ in 0..seconds * 10 {
            for rig in [&mut self.pair.client, &mut self.pair.server] {
                rig.now = rig.now + Duration::from_millis(100);
            }
            self.pair.settle();
            for frame in self.pair.server.take(1) {
                let is_udp = frame[12..14] == [8, 0] && frame[23] == 17;
                let Some(said) = Packet::read(&frame[42..]).filter(|_| is_udp) else { continue };
                let port = u16::from_be_bytes([frame[34], frame[35]]);
                let to = u16::from_be_bytes([frame[36], frame[37]]);
                let reply = match said.code {
                    code::ACCESS_REQUEST => {
                        self.asked.push(said.clone());
                        let reject = Packet::new(code::ACCESS_REJECT, said.id, [0; 16]);
                        accept(&said).unwrap_or(reject)
                    }
                    code::ACCOUNTING_REQUEST => {
                        assert!(said.is_proved([0; 16], SECRET));
                        let status = said.number(attribute::ACCT_STATUS_TYPE).unwrap();
                        self.told.push((status, said.clone()));
                        Packet::new(code::ACCOUNTING_RESPONSE, said.id, [0; 16])
                    }
                    _ => continue,
                };
                let reply = Packet { id: said.id, ..reply };
                self.send(to, port, &reply.write_answer(said.authenticator, SECRET));
            }
            self.pair.settle();
        }
    }

    fn send(&mut self, from: u16, to: u16, payload: &[u8]) {
        let frame = craft::Frame {
            src_mac: mac(2),
            dst_mac: own_mac(1),
            payload,
            ..craft::udp(ip(10, 0, 2, 1), from, ip(10, 0, 2, 254), to)
        };
        self.pair.server.send(1, &frame.build());
    }
}

/// Ways to log in, and what an accepted one gets.
#[test]
fn users_that_another_host_knows() {
    for way in ["pap", "chap", "mschap1", "mschap2"] {
        let profile = "/ppp profile add name=p local-address=10.9.0.1";
        let pool = "/ip pool add name=far ranges=10.9.0.50-10.9.0.60";
        let server = format!(
            "$S authentication={way} default-profile=p\n{RADIUS}\n{profile}\n{pool}\n\
             /radius incoming set accept=yes\n/ppp aaa set interim-update=10s"
        );
        let mut pair = Pair::new("$C", &server.replace("default-profile=p\n", "\n"));
        // Nobody has answered by now.
        let refused = "user bob authentication failed - radius timeout";
        assert!(log(&pair.server).iter().any(|line| line == refused), "{:#?}", log(&pair.server));
        pair.server.run("/interface pppoe-server server set [find] default-profile=p");
        let mut host = Host { pair: &mut pair, told: Vec::new(), asked: Vec::new() };
        host.play(20, |said| {
            if way == "pap" {
                let hidden = said.get(attribute::USER_PASSWORD)?;
                let shown = radius::show(hidden, SECRET, &said.authenticator);
                assert!(shown.starts_with(b"secret\0"));
            }
            let mut accept = Packet::new(code::ACCESS_ACCEPT, 0, [0; 16]);
            accept.put(attribute::FRAMED_POOL, b"far");
            accept.put(attribute::CLASS, b"gold");
            accept.put(attribute::FRAMED_ROUTE, b"10.77.0.0/16");
            accept.put(attribute::FILTER_ID, b"no.mail.in");
            accept.put_number(attribute::SESSION_TIMEOUT, 3600);
            accept.put_vendor(mikrotik::VENDOR, mikrotik::RATE_LIMIT, b"1M/2M");
            if way == "mschap2" {
                let said = said.vendor(microsoft::VENDOR, microsoft::CHAP2_RESPONSE)?;
                assert_eq!(said.len(), 50);
                // A proof that is wrong: the client does not believe it.
                let proof = [&[1], &b"S=0000"[..]].concat();
                accept.put_vendor(microsoft::VENDOR, microsoft::CHAP2_SUCCESS, &proof);
            }
            Some(accept)
        });
        let asked = &host.asked[0];
        assert_eq!(asked.text(attribute::USER_NAME).as_deref(), Some("bob"), "{way}");
        let told: Vec<u32> = host.told.iter().map(|(status, _)| *status).collect();
        if way == "mschap2" {
            assert_eq!(told, [0; 0]);
            assert_eq!(id(&pair.server, "<pppoe-bob>"), None);
            continue;
        }
        assert_eq!(told, [1, 3], "{way} {:#?}", log(&host.pair.server));
        let start = &host.told[0].1;
        assert_eq!(start.text(attribute::CLASS).as_deref(), Some("gold"));
        assert_eq!(start.number(attribute::FRAMED_IP_ADDRESS), Some(ip(10, 9, 0, 60)));
        let session = start.text(attribute::ACCT_SESSION_ID).unwrap();
        for (command, line) in [
            ("/queue simple print", "max-limit=1M/2M"),
            ("/ip route print", "10.77.0.0/16"),
            ("/ip pool used print", "10.9.0.60"),
            ("/ip firewall filter print", "jump-target=no.mail"),
        ] {
            let text = host.pair.server.run(command);
            assert!(text.contains(line), "{command} {text}");
        }
        // Others may not end it, the server may.
        let mut end = Packet::new(code::DISCONNECT_REQUEST, 9, [0; 16]);
        end.put(attribute::ACCT_SESSION_ID, session.as_bytes());
        host.send(3799, 3799, &end.write_request(b"another"));
        host.play(1, |_| None);
        assert_eq!(host.pair.server.router.discards().get(Discard::BadRadius), 1);
        assert!(id(&host.pair.server, "<pppoe-bob>").is_some());
        host.send(3799, 3799, &end.write_request(SECRET));
        host.play(1, |_| None);
        assert_eq!(id(&host.pair.server, "<pppoe-bob>"), None);
        let (status, stop) = host.told.last().unwrap();
        assert_eq!((*status, stop.number(attribute::ACCT_TERMINATE_CAUSE)), (2, Some(6)));
        pair.balanced();
    }
}

/// The first server is silent, the second one knows; and a user with a secret here is not asked for.
#[test]
fn another_server() {
    let server = format!(
        "/ppp profile add name=p local-address=10.9.0.1\n$S authentication=chap default-profile=p\n\
         /radius add service=ppp address=10.0.2.9 secret=x\n{RADIUS}"
    );
    let mut pair = Pair::new("$C", &server);
    let mut host = Host { pair: &mut pair, told: Vec::new(), asked: Vec::new() };
    host.play(20, |_| {
        let mut accept = Packet::new(code::ACCESS_ACCEPT, 0, [0; 16]);
        accept.put_number(attribute::FRAMED_IP_ADDRESS, ip(10, 9, 0, 7));
        accept.put_vendor(mikrotik::VENDOR, mikrotik::RATE_LIMIT, b"fast");
        Some(accept)
    });
    assert!(id(&pair.server, "<pppoe-bob>").is_some(), "{:#?}", log(&pair.server));
    let line = "user bob: max-limit in fast, not fast";
    assert!(log(&pair.server).iter().any(|said| said == line), "{:#?}", log(&pair.server));

    let mut pair = Pair::new("$C", &format!("$S\n$P\n{RADIUS}"));
    assert!(id(&pair.server, "<pppoe-bob>").is_some());
    let mut host = Host { pair: &mut pair, told: Vec::new(), asked: Vec::new() };
    host.play(5, |_| None);
    assert_eq!(host.asked, []);
}
