//! Clients, a router and a server, and cables that lose packets, repeat them and put them out of order.

use super::runs;
use crate::pppoe::{datagram, id, log};
use crate::rig::{Rig, mac};
use router::discard::Discard;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::arp::ArpMessage;
use wire::craft::{self, ip};

/// An end of a cable: a box, and its port.
type End = (usize, usize);

struct Net {
    rigs: Vec<Rig>,
    cables: Vec<[End; 2]>,
    /// Of 100 frames so many are lost, as many come late, and as many twice.
    bad: u64,
    dice: u64,
    late: Vec<(End, Vec<u8>)>,
}

impl Net {
    /// Boxes of two ports with these configurations, and the cables between them.
    fn new(scripts: &[&str], cables: &[[End; 2]]) -> Net {
        let rigs = scripts.iter().enumerate().map(|(n, script)| boot(n, script)).collect();
        Net { rigs, cables: cables.to_vec(), bad: 0, dice: 3, late: Vec::new() }
    }

    fn throw(&mut self) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.dice >> 33) % 100
    }

    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 10_000, "no end of it");
            let mut moved = false;
            self.rigs.iter_mut().for_each(Rig::breathe);
            for cable in self.cables.clone() {
                for (from, to) in [(cable[0], cable[1]), (cable[1], cable[0])] {
                    for frame in self.rigs[from.0].take(from.1) {
                        moved = true;
                        match self.throw() {
                            n if n < self.bad => {}
                            n if n < 2 * self.bad => self.late.push((to, frame)),
                            n => {
                                if n < 3 * self.bad {
                                    self.rigs[to.0].send(to.1, &frame);
                                }
                                self.rigs[to.0].send(to.1, &frame);
                            }
                        }
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn step(&mut self, ms: u64) {
        for rig in &mut self.rigs {
            rig.now = rig.now + Duration::from_millis(ms);
        }
        for (to, frame) in std::mem::take(&mut self.late) {
            self.rigs[to.0].send(to.1, &frame);
        }
        self.settle();
    }

    fn wait(&mut self, seconds: u64) {
        (0..seconds * 20).for_each(|_| self.step(50));
    }

    /// Waits until somebody's session runs; the seconds that it took.
    fn until_runs(&mut self, at: usize, most: u64) -> u64 {
        for second in 0..most {
            if runs(&self.rigs[at]) {
                return second;
            }
            self.wait(1);
        }
        let logs: Vec<_> = self.rigs.iter().map(log).collect();
        panic!("{at} does not run after {most} s: {logs:#?}");
    }

    fn balanced(&mut self) {
        for rig in &mut self.rigs {
            (1..=2).for_each(|port| drop(rig.take(port)));
            let frames = rig.router.frames();
            assert!(frames.balance(), "{frames:?} {:?}", rig.router.discards());
        }
    }
}

fn boot(n: usize, script: &str) -> Rig {
    let mut rig = Rig::new(3, "");
    for port in 1..=3 {
        let mac = format!("02:00:00:00:{n:02x}:0{port}");
        rig.run(&format!("/interface ethernet set ether{port} mac-address={mac}"));
    }
    rig.run(script);
    rig
}

const CLIENT: &str = "/ip address add address=10.0.1.254/24 interface=ether1\n\
                      /ip address add address=192.168.1.1/24 interface=ether2\n\
                      /ip route add dst-address=192.0.2.0/24 gateway=192.168.1.254\n\
                      /interface pptp-client add connect-to=192.0.2.1 user=bob password=secret";
const WAY: &str = "\n/ip route add dst-address=10.0.2.0/24 gateway=pptp-out1";
const OTHER: &str = "/ip address add address=10.0.3.254/24 interface=ether1\n\
                     /ip address add address=192.168.2.1/24 interface=ether2\n\
                     /ip route add dst-address=192.0.2.0/24 gateway=192.168.2.254\n\
                     /interface pptp-client add connect-to=192.0.2.1 user=eve password=secret";
const MIDDLE: &str = "/ip address add address=192.168.1.254/24 interface=ether1\n\
                      /ip address add address=192.0.2.254/24 interface=ether2\n\
                      /ip address add address=192.168.2.254/24 interface=ether3";
const SERVER: &str = "/ip address add address=192.0.2.1/24 interface=ether1\n\
                      /ip address add address=10.0.2.254/24 interface=ether2\n\
                      /ip route add dst-address=192.168.0.0/16 gateway=192.0.2.254\n\
                      /ppp secret add name=bob password=secret local-address=10.9.0.1 \
                      remote-address=10.9.0.2 routes=10.0.1.0/24\n\
                      /ppp secret add name=eve password=secret local-address=10.9.0.1 \
                      remote-address=10.9.0.3 routes=10.0.3.0/24\n\
                      /interface pptp-server server set enabled=yes keepalive-timeout=20";

/// One client, the router, and the server.
fn chain(client: &str, middle: &str, server: &str) -> Net {
    let (client, middle, server) = (
        format!("{CLIENT} {client}{WAY}"),
        format!("{MIDDLE}\n{middle}"),
        format!("{SERVER} {server}"),
    );
    let cables = [[(0, 2), (1, 1)], [(1, 2), (2, 1)]];
    let mut net = Net::new(&[&client, &middle, &server], &cables);
    let host = ArpMessage::request(mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    net.rigs[2].send(2, &craft::arp(host).build());
    net
}

/// Packets are lost, come twice and in another order: the session comes about and stays, and whatever arrives
/// does so once, and as it was sent.
#[test]
fn across_a_bad_net() {
    for (bad, profile) in [(3, "default"), (3, "default-encryption"), (12, "default-encryption")] {
        let (client, server) = (format!("profile={profile}"), format!("default-profile={profile}"));
        let mut net = chain(&client, "", &server);
        net.bad = bad;
        net.until_runs(0, 120);
        net.rigs[2].take(2);
        let mut arrived: BTreeMap<u32, u32> = BTreeMap::new();
        for n in 0..1000_u32 {
            let payload = [&n.to_be_bytes()[..], &[5; 60]].concat();
            let dst_mac = wire::MacAddr([2, 0, 0, 0, 0, 1]);
            net.rigs[0].send(1, &craft::Frame { dst_mac, ..datagram(&payload) }.build());
            net.step(if n % 10 == 0 { 20 } else { 1 });
            for frame in net.rigs[2].take(2) {
                if frame[12..14] == [8, 0] && frame[23] == 17 {
                    assert_eq!(frame[46..106], [5; 60]);
                    let number = u32::from_be_bytes(frame[42..46].try_into().unwrap());
                    *arrived.entry(number).or_default() += 1;
                }
            }
        }
        let case = format!("{bad} {profile} {:?}", net.rigs[2].router.discards());
        assert!(arrived.values().all(|&times| times == 1), "{case}");
        // Two cables.
        assert!(arrived.len() as u64 > 1000 - 30 * bad, "{} {case}", arrived.len());
        assert!(net.rigs[2].router.discards().get(Discard::Repeated) > 5, "{case}");
        assert_eq!(net.rigs[2].router.discards().get(Discard::Undecryptable), 0, "{case}");
        // It stays, or comes again, for as long as the net is as bad.
        net.wait(100);
        net.until_runs(0, 120);
        net.balanced();
    }
}

/// Two clients behind one address, with the same numbers: PPTP's helper tells them apart.
#[test]
fn behind_a_nat() {
    let middle = format!(
        "{MIDDLE}\n/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade"
    );
    let cables = [[(0, 2), (1, 1)], [(1, 2), (2, 1)], [(3, 2), (1, 3)]];
    let mut net = Net::new(&[CLIENT, &middle, SERVER, OTHER], &cables);
    net.until_runs(0, 20);
    net.until_runs(3, 20);
    let text = net.rigs[2].run("/ppp active print");
    assert_eq!(text.matches("192.0.2.254").count(), 2, "{text}");
    for (user, at, host) in [("bob", 0, ip(10, 0, 1, 1)), ("eve", 3, ip(10, 0, 3, 1))] {
        let own = if at == 0 { ip(10, 0, 1, 254) } else { ip(10, 0, 3, 254) };
        let host_there = ArpMessage::request(mac(1), host, own);
        net.rigs[at].send(1, &craft::arp(host_there).build());
        net.settle();
        net.rigs[at].take(1);
        for _ in 0..5 {
            let frame = craft::Frame {
                src_mac: mac(2),
                dst_mac: wire::MacAddr([2, 0, 0, 0, 2, 2]),
                payload: b"to whom it may concern",
                ..craft::udp(ip(10, 0, 2, 1), 1, host, 2)
            };
            net.rigs[2].send(2, &frame.build());
            net.settle();
            let out = net.rigs[at].take(1);
            let found = out.iter().filter(|frame| frame[12..14] == [8, 0]).count();
            assert_eq!(found, 1, "{user} {:?}", net.rigs[1].router.discards());
        }
    }
    net.wait(100);
    assert!(runs(&net.rigs[0]) && runs(&net.rigs[3]));
    net.balanced();
}

/// Either end begins anew, and knows nothing of what was.
#[test]
fn restarts() {
    for nat in ["", "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade"] {
        let mut net = chain("keepalive-timeout=20", nat, "");
        net.until_runs(0, 20);
        for (at, script) in
            [(2, SERVER.to_string()), (0, format!("{CLIENT} keepalive-timeout=20{WAY}"))]
        {
            for _ in 0..3 {
                let (now, mut rig) = (net.rigs[at].now, boot(at, ""));
                rig.now = now;
                rig.run(&script);
                net.rigs[at] = rig;
                net.wait(1);
                net.wait(30);
                net.until_runs(0, 60);
                let name = id(&net.rigs[2], "<pptp-bob>").or(id(&net.rigs[2], "<pptp-bob-1>"));
                assert!(name.is_some(), "{:#?}", log(&net.rigs[2]));
            }
        }
        net.wait(60);
        let text = net.rigs[2].run("/ppp active print");
        assert_eq!(text.matches("192.").count(), 1, "{nat} {text}");
        net.balanced();
    }
}
