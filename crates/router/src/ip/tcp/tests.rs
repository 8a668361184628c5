//! Two ends in virtual time, and a net between them that loses packets and puts them out of order.

use super::*;
use std::net::Ipv4Addr;

const CLIENT: End = End { address: 0x0a00_0001, port: 50_000 };
const SERVER: End = End { address: 0x0a00_0002, port: 1723 };
/// As either end calls the connection.
const ENDS: [Ends; 2] = [(CLIENT, SERVER), (SERVER, CLIENT)];

struct Net {
    now: Moment,
    /// The client's, and the server's.
    ends: [Tcp; 2],
    /// Of 100 packets so many are lost, and as many late.
    bad: u64,
    dice: u64,
    late: Vec<(usize, Vec<u8>)>,
}

impl Net {
    fn new(bad: u64) -> Net {
        let now = Moment::from_nanos(1_000_000_000);
        let ends = [Tcp::default(), Tcp::default()];
        Net { now, ends, bad, dice: 7, late: Vec::new() }
    }

    fn dial(bad: u64) -> Net {
        let mut net = Net::new(bad);
        assert!(net.ends[0].connect(net.now, Service::Pptp, ENDS[0], 1));
        net.ends[0].run(net.now, ENDS[0]);
        net
    }

    fn throw(&mut self) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.dice >> 33) % 100
    }

    fn deliver(&mut self, to: usize, packet: Vec<u8>) {
        let (now, end) = (self.now, &mut self.ends[to]);
        let begins = packet[33] & 0x12 == 0x02;
        if !end.knows(ENDS[to]) && begins && to == 1 {
            assert!(end.accept(now, Service::Pptp, ENDS[to], 2));
        }
        end.receive(now, ENDS[to], packet);
    }

    fn settle(&mut self) {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for from in 0..2 {
                while let Some(packet) = self.ends[from].leaving() {
                    moved = true;
                    match self.throw() {
                        n if n < self.bad => {}
                        n if n < 2 * self.bad => self.late.push((1 - from, packet)),
                        _ => self.deliver(1 - from, packet),
                    }
                }
            }
        }
    }

    /// Lets time go on.
    fn wait(&mut self, ms: u64) {
        for _ in 0..ms / 10 {
            self.now = self.now + Duration::from_millis(10);
            for (to, packet) in std::mem::take(&mut self.late) {
                self.deliver(to, packet);
            }
            for end in &mut self.ends {
                while let Some(ends) = end.is_due(self.now) {
                    end.run(self.now, ends);
                }
            }
            self.settle();
        }
    }

    fn progress(&self) -> [Progress; 2] {
        [0, 1].map(|n| self.ends[n].progress(ENDS[n]))
    }
}

#[test]
fn what_is_said_is_heard_in_order() {
    for bad in [0, 10, 20] {
        let mut net = Net::dial(bad);
        net.wait(20_000);
        assert_eq!(net.progress(), [Progress::Open; 2], "{bad}");
        let said: Vec<u8> = (0..5000_u32).map(|n| (n / 7) as u8).collect();
        let (mut sent, mut heard) = ([0, 0], [Vec::new(), Vec::new()]);
        for _ in 0..6000 {
            for n in 0..2 {
                let part = &said[sent[n]..said.len().min(sent[n] + 168)];
                if net.ends[n].write(ENDS[n], part) {
                    sent[n] += part.len();
                }
                net.ends[n].run(net.now, ENDS[n]);
            }
            net.wait(100);
            for (n, heard) in heard.iter_mut().enumerate() {
                heard.extend(net.ends[n].read(ENDS[n]));
            }
            if heard.iter().all(|heard| heard.len() == said.len()) {
                break;
            }
        }
        assert!(heard.iter().all(|heard| *heard == said), "{bad} {sent:?} {}", heard[0].len());
        net.ends[0].close(net.now, ENDS[0]);
        net.wait(10_000);
        assert_eq!(net.ends[1].progress(ENDS[1]), Progress::Ending);
        net.ends[1].close(net.now, ENDS[1]);
        net.wait(60_000);
        assert!(net.ends.iter().all(Tcp::is_empty), "{bad} {:?}", net.progress());
    }
}

#[test]
fn nobody_answers() {
    let mut net = Net::dial(100);
    net.wait(40_000);
    assert_eq!(net.ends[0].progress(ENDS[0]), Progress::Over);
    net.ends[0].close(net.now, ENDS[0]);
    assert!(net.ends[0].is_empty());

    // And in the middle of it: what is not acknowledged for so long is over.
    let mut net = Net::dial(0);
    net.wait(100);
    net.bad = 100;
    assert!(net.ends[0].write(ENDS[0], b"hello"));
    net.ends[0].run(net.now, ENDS[0]);
    net.wait(40_000);
    assert_eq!(net.progress(), [Progress::Over, Progress::Open]);
}

/// One end has forgotten all, and the other not: a new connection with the same ports comes about.
#[test]
fn begun_anew() {
    let mut net = Net::dial(0);
    net.wait(100);
    assert_eq!(net.progress(), [Progress::Open; 2]);
    net.ends[0] = Tcp::default();
    assert!(net.ends[0].connect(net.now, Service::Pptp, ENDS[0], 99));
    net.ends[0].run(net.now, ENDS[0]);
    net.settle();
    assert_eq!(net.progress()[1], Progress::Over, "the new one's reset");
    net.ends[1].close(net.now, ENDS[1]);
    net.wait(5000);
    assert_eq!(net.progress(), [Progress::Open; 2]);
    net.ends[1].abort(net.now, ENDS[1]);
    net.settle();
    assert_eq!(net.progress(), [Progress::Over; 2]);
}

fn syn(from: End, to: End) -> Vec<u8> {
    let mut packet = vec![0; 40];
    packet[20..22].copy_from_slice(&from.port.to_be_bytes());
    packet[22..24].copy_from_slice(&to.port.to_be_bytes());
    packet[24] = 9;
    (packet[32], packet[33], packet[34]) = (0x50, 0x02, 0x10);
    let sum = wire::checksum::tcp(from.address, to.address, &packet[20..]);
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
    crate::ip::icmp::write_ipv4(&mut packet, 0, 6, from.address, to.address);
    packet
}

/// A flood of requests is bounded, and nobody who is there notices.
#[test]
fn a_flood() {
    let mut net = Net::dial(0);
    net.wait(100);
    let host = |n: u32| End { address: u32::from(Ipv4Addr::new(172, 16, 0, 0)) + n, port: 1024 };
    for n in 0..20_000 {
        let ends = (SERVER, host(n));
        assert!(net.ends[1].accept(net.now, Service::Pptp, ends, n.into()), "{n}");
        net.ends[1].receive(net.now, ends, syn(host(n), SERVER));
        assert_eq!(net.ends[1].progress(ends), Progress::Opening);
        while net.ends[1].leaving().is_some() {}
    }
    assert_eq!(net.ends[1].connections.len(), MOST_HALF_OPEN + 1);
    assert_eq!(net.progress(), [Progress::Open; 2]);
    // Of one host there are so many, and others still find room.
    for port in 1..1000 {
        let one = End { address: 5, port };
        let taken = net.ends[1].accept(net.now, Service::Pptp, (SERVER, one), 1);
        assert_eq!(taken, usize::from(port) <= MOST_OF_HOST, "{port}");
        net.ends[1].receive(net.now, (SERVER, one), syn(one, SERVER));
    }
    while net.ends[1].leaving().is_some() {}
    assert!(net.ends[0].write(ENDS[0], b"hello"));
    net.ends[0].run(net.now, ENDS[0]);
    net.settle();
    assert_eq!(net.ends[1].read(ENDS[1]), b"hello");
    // They are given up in time.
    for _ in 0..300 {
        net.now = net.now + Duration::from_millis(100);
        while let Some(ends) = net.ends[1].is_due(net.now) {
            net.ends[1].run(net.now, ends);
            if net.ends[1].progress(ends) == Progress::Over {
                net.ends[1].close(net.now, ends);
            }
        }
    }
    assert!(net.ends[1].half_open.is_empty());
    assert!(net.ends[1].connections.len() <= 1 && net.ends[1].by_host.len() <= 1);
}

/// Any bytes behind an IPv4 header: no panic, and no connection that was not there.
#[test]
fn hostile() {
    let mut net = Net::dial(0);
    net.wait(100);
    for n in 0..50_000_u64 {
        let len = 20 + (net.throw() % 60) as usize;
        let mut packet = vec![0; 20];
        packet.extend((20..20 + len).map(|_| (net.throw() as u8).wrapping_mul(3)));
        packet[20..22].copy_from_slice(&CLIENT.port.to_be_bytes());
        packet[22..24].copy_from_slice(&SERVER.port.to_be_bytes());
        crate::ip::icmp::write_ipv4(&mut packet, 0, 6, CLIENT.address, SERVER.address);
        net.ends[1].receive(net.now, ENDS[1], packet);
        while net.ends[1].leaving().is_some() {}
        if net.ends[1].progress(ENDS[1]) == Progress::Over {
            net.ends[1].close(net.now, ENDS[1]);
            assert!(net.ends[1].accept(net.now, Service::Pptp, ENDS[1], n));
        }
    }
    assert!(net.ends[1].connections.len() <= 1);
}
