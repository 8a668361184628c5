//! Connections that a master tells its backups of: who takes over goes on with them.

use crate::ipv6::{self, Sent, ip6};
use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use std::time::Duration;
use wire::arp::Operation;
use wire::craft::{self, Body, Frame, ip};
use wire::layers::{self, protocol};
use wire::tcp::{TcpFlags, TcpHeader};
use wire::vrrp_sync::{Header, Kind, Record, State};
use wire::{Arp, FiveTuple, MacAddr, Moment, checksum, vrrp};

const CLIENT: u32 = ip(192, 168, 0, 9);
const SERVER: u32 = ip(198, 51, 100, 9);
/// What both routers have together outside.
const OUTSIDE: u32 = ip(198, 51, 100, 100);
const CLIENT6: &str = "2001:db8:1::9";
const SERVER6: &str = "2001:db8:2::9";

const ACK: TcpFlags = TcpFlags::ACK;
const SYN_ACK: TcpFlags = TcpFlags(0x12);

/// Two routers between two networks, joined by both; the first has the higher priority.
struct Pair {
    routers: [Rig; 2],
    /// Which of a router's cables are cut, by port.
    dark: [[bool; 3]; 2],
    /// How many of the next datagrams about connections are lost.
    losing: usize,
    /// What came to the networks' hosts: of which router, by which port.
    seen: Vec<(usize, usize, Vec<u8>)>,
    /// Datagrams about connections, as they were sent.
    told: Vec<(usize, Vec<u8>)>,
}

/// Addresses outside belong to the virtual router alone, so that who masquerades has them.
const COMMON: &str = "
/ip address add address=192.168.0.100/32 interface=vrrp1
/ip address add address=198.51.100.100/24 interface=vrrp2
/ip firewall connection tracking set loose-tcp-tracking=no
/ip firewall filter
add chain=input protocol=udp dst-port=8275 action=accept
add chain=forward connection-state=established,related action=accept
add chain=forward connection-state=new src-address=192.168.0.0/24 action=accept
add chain=forward action=drop";

impl Pair {
    /// Each with its own properties of the inner `/interface vrrp`, and lines more.
    fn new(properties: [&str; 2], more: &str) -> Pair {
        let routers = [0, 1].map(|n| Pair::router(n, Moment::ZERO, properties[n], more));
        Pair { routers, dark: [[false; 3]; 2], losing: 0, seen: Vec::new(), told: Vec::new() }
    }

    fn router(n: usize, now: Moment, properties: &str, more: &str) -> Rig {
        let (mut rig, priority, host) = (Rig::new(3, ""), [200, 100][n], n + 1);
        rig.now = now;
        for port in 1..=3 {
            let mac = own(n, port);
            rig.run(&format!("/interface ethernet set ether{port} mac-address={mac}"));
        }
        rig.run(&format!(
            "/ip address
             add address=192.168.0.{host}/24 interface=ether1
             add address=10.255.0.{host}/24 interface=ether2
             add address=10.7.0.{host}/24 interface=ether3
             /interface vrrp
             add interface=ether1 vrid=1 priority={priority} {properties}
             add interface=ether2 vrid=2 group-master=vrrp1"
        ));
        rig.run(COMMON);
        rig.run(more);
        rig
    }

    /// A router that knows nothing is in another's place.
    fn reboot(&mut self, n: usize, properties: &str, more: &str) {
        let now = self.routers[n].now;
        self.routers[n] = Pair::router(n, now, properties, more);
        self.dark[n] = [false; 3];
    }

    fn is_master(&mut self, n: usize) -> bool {
        self.routers[n].run(":put [:len [/interface vrrp find master]]").trim() == "2"
    }

    fn settle(&mut self) {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for (n, port) in (0..2).flat_map(|n| (1..=3).map(move |port| (n, port))) {
                self.routers[n].breathe();
                for frame in self.routers[n].take(port) {
                    moved = true;
                    self.pass_on(n, port, frame);
                }
            }
        }
    }

    fn pass_on(&mut self, n: usize, port: usize, frame: Vec<u8>) {
        if self.dark[n][port - 1] {
            return;
        }
        if is_about_connections(&frame) {
            self.told.push((n, frame.clone()));
            if self.losing > 0 {
                self.losing -= 1;
                return;
            }
        }
        if !self.dark[1 - n][port - 1] {
            self.routers[1 - n].send(port, &frame);
        }
        // Hosts answer.
        if let Some(asked) =
            frame[12..14].eq(&[8, 6]).then(|| Arp::new(&frame[14..]).unwrap().message())
            && let Some((_, host)) = HOSTS.iter().find(|(address, _)| *address == asked.target_ip)
            && asked.operation == Operation::Request
        {
            self.routers[n].send(port, &craft::arp(asked.reply_from(mac(*host))).build());
        }
        self.seen.push((n, port, frame));
    }

    fn wait(&mut self, ms: u64) {
        for _ in 0..ms {
            for rig in &mut self.routers {
                rig.now = rig.now + Duration::from_millis(1);
            }
            self.settle();
        }
    }

    /// A host's frame comes to both routers; which of them let it pass, by which port, and as what.
    fn send(&mut self, port: usize, frame: &[u8]) -> Option<(usize, usize, Vec<u8>)> {
        self.seen.clear();
        for n in 0..2 {
            if !self.dark[n][port - 1] {
                self.routers[n].send(port, frame);
            }
        }
        self.settle();
        let to_host = |frame: &[u8]| HOSTS.iter().any(|&(_, n)| frame[..6] == mac(n).0);
        let is_arp = |frame: &[u8]| frame[12..14] == [8, 6];
        let mut out = self.seen.drain(..).filter(|(_, _, f)| to_host(f) && !is_arp(f));
        let first = out.next();
        assert_eq!(out.next(), None);
        first
    }

    /// A segment from the client, or from the server; who let it pass, and its tuple afterwards.
    fn segment(
        &mut self,
        back: bool,
        flags: TcpFlags,
        seq: u32,
        ack: u32,
    ) -> Option<(usize, FiveTuple)> {
        let (src, dst, src_mac, dst_mac, port) = match back {
            false => (CLIENT, SERVER, mac(9), vrrp::mac(1), 1),
            true => (SERVER, OUTSIDE, mac(8), vrrp::mac(2), 2),
        };
        let (src_port, dst_port) = if back { (80, 1000) } else { (1000, 80) };
        let header = TcpHeader { src_port, dst_port, seq, ack, flags, window: 8000, urgent: 0 };
        let body = Body::Tcp { header, options: &[] };
        let frame = Frame { src, dst, src_mac, dst_mac, body, ..Frame::default() }.build();
        let (n, to, frame) = self.send(port, &frame)?;
        // Who knows no connection refuses it.
        (to != port).then(|| (n, sound(&frame)))
    }

    /// A TCP connection is opened through a router.
    fn open(&mut self, by: usize) {
        let (there, back) = (Some((by, THERE)), Some((by, BACK)));
        assert_eq!(self.segment(false, TcpFlags::SYN, 100, 0), there);
        assert_eq!(self.segment(true, SYN_ACK, 500, 101), back);
        assert_eq!(self.segment(false, ACK, 101, 501), there);
    }

    /// A router's connections of hosts, as it shows them.
    fn connections(&self, n: usize) -> Vec<String> {
        let rig = &self.routers[n];
        let own = |address: u32| [192, 10].contains(&(address >> 24)) && address & 0xff < 9;
        let all = rig.router.connections().list(rig.now).filter(|entry| !own(entry.original.src));
        all.map(|entry| {
            let (to, back) = (entry.original, entry.reply);
            format!("{} {to:?} {back:?} {:?} {:?}", entry.flags, entry.tcp_state, entry.mark)
        })
        .collect()
    }

    /// A router's cables are cut: by these ports.
    fn cut(&mut self, n: usize, ports: &[usize]) {
        for &port in ports {
            self.dark[n][port - 1] = true;
            self.routers[n].run(&format!("/interface ethernet disable ether{port}"));
        }
    }

    fn goes_dark(&mut self, n: usize) {
        self.cut(n, ALL);
    }

    fn comes_back(&mut self, n: usize) {
        self.dark[n] = [false; 3];
        self.routers[n].run("/interface ethernet enable [find]");
    }

    fn discards(&self, n: usize, why: Discard) -> u64 {
        self.routers[n].router.discards().get(why)
    }

    fn balanced(&self) {
        for rig in &self.routers {
            let frames = rig.router.frames();
            assert!(frames.balance(), "{frames:?} {:?}", rig.router.discards());
        }
    }
}

/// All ports.
const ALL: &[usize] = &[1, 2, 3];
/// Hosts, and the numbers of their MAC addresses.
const HOSTS: [(u32, u8); 3] = [(CLIENT, 9), (SERVER, 8), (ip(192, 168, 0, 7), 7)];

/// The connection's segments as the server sees them, and answers as the client does.
const THERE: FiveTuple =
    FiveTuple { src: OUTSIDE, dst: SERVER, src_port: 1000, dst_port: 80, protocol: protocol::TCP };
const BACK: FiveTuple =
    FiveTuple { src: SERVER, dst: CLIENT, src_port: 80, dst_port: 1000, protocol: protocol::TCP };

/// A router's MAC address on a port (from 1).
fn own(n: usize, port: u8) -> MacAddr {
    let mut mac = own_mac(port);
    mac.0[4] = n as u8;
    mac
}

fn is_about_connections(frame: &[u8]) -> bool {
    frame[12..14] == [8, 0] && frame[23] == protocol::UDP && frame[36..38] == 8275u16.to_be_bytes()
}

/// The frame's tuple, all checksums found right.
fn sound(frame: &[u8]) -> FiveTuple {
    let layers = layers::parse(frame).unwrap();
    let (l4, end, t) = (usize::from(layers.l4), usize::from(layers.l3_end), layers.tuple);
    assert!(checksum::is_ok(&frame[14..l4]) && checksum::tcp_ok(t.src, t.dst, &frame[l4..end]));
    t
}

const SYNC: [&str; 2] = ["sync-connection-tracking=yes"; 2];
const MASQUERADE: &str = "/ip firewall nat add chain=srcnat src-address=192.168.0.0/24 \
                          out-interface=vrrp2 action=masquerade";
const SRCNAT: &str = "/ip firewall nat add chain=srcnat src-address=192.168.0.0/24 \
                      out-interface=vrrp2 action=src-nat to-addresses=198.51.100.100";

/// The master dies: what was established goes on by the other one, in both directions, translated as
/// before; without synchronization it is over.
#[test]
fn a_connection_outlives_its_router() {
    let remote = ["remote-address=10.7.0.2", "remote-address=10.7.0.1"]
        .map(|remote| format!("sync-connection-tracking=yes {remote}"));
    let remote = [&*remote[0], &*remote[1]];
    for (properties, nat, cut, goes_on) in [
        (SYNC, SRCNAT, ALL, true),
        (SYNC, MASQUERADE, ALL, true),
        (remote, SRCNAT, ALL, true),
        // What ends there because its address has gone, does not end here.
        (remote, MASQUERADE, &[1], true),
        (["", ""], SRCNAT, ALL, false),
        (["sync-connection-tracking=yes", ""], SRCNAT, ALL, false),
        (["", "sync-connection-tracking=yes"], SRCNAT, ALL, false),
    ] {
        // Who speaks first differs.
        for first_back in [false, true] {
            let mut pair = Pair::new(properties, nat);
            pair.wait(5000);
            pair.open(0);
            pair.wait(250);
            let (told, own) = (pair.connections(1), pair.connections(0));
            assert_eq!(told == own, goes_on, "{properties:?} {nat}: {told:#?} {own:#?}");
            pair.cut(0, cut);
            pair.wait(5000);
            // What was under way when the master died is lost: it is acknowledged ahead of what was seen.
            let ways = [(first_back, 4000), (!first_back, 1000), (first_back, 4100)];
            for (back, ahead) in ways {
                let (seq, ack) = if back { (501, 101) } else { (101, 501) };
                let got = pair.segment(back, ACK, seq + ahead, ack + ahead);
                let expected = if back { (1, BACK) } else { (1, THERE) };
                let expected = goes_on.then_some(expected);
                assert_eq!(got, expected, "{properties:?} {nat} {:?}", pair.connections(1));
            }
            pair.balanced();
        }
    }
}

/// What ends on the master ends on the backup, be it closed or removed; what is silent there is as silent here.
#[test]
fn ends_and_timeouts_go_over() {
    let mut pair = Pair::new(SYNC, SRCNAT);
    pair.wait(5000);
    pair.open(0);
    pair.wait(20_000);
    let left = |pair: &Pair, n: usize| {
        let rig = &pair.routers[n];
        let mut all = rig.router.connections().list(rig.now);
        let ours = all.find(|entry| entry.original.src == CLIENT).expect("the connection");
        (format!("{:?}", ours.tcp_state.unwrap()), ours.timeout.as_secs())
    };
    let expected = ("Established".to_string(), 86_400 - 20);
    assert_eq!((left(&pair, 0), left(&pair, 1)), (expected.clone(), expected));
    for (back, flags, seq, ack) in [
        (false, TcpFlags(0x11), 101, 501),
        (true, TcpFlags(0x11), 501, 102),
        (false, ACK, 102, 502),
    ] {
        assert!(pair.segment(back, flags, seq, ack).is_some());
    }
    pair.wait(200);
    let expected = ("TimeWait".to_string(), 9);
    assert_eq!((left(&pair, 0), left(&pair, 1)), (expected.clone(), expected));
    pair.wait(10_500);
    assert_eq!([pair.connections(0), pair.connections(1)], [[""; 0]; 2]);

    pair.open(0);
    pair.wait(200);
    assert_eq!(pair.connections(1).len(), 1);
    pair.routers[0].run("/ip firewall connection remove [find where src-address~\"192.168.0.9\"]");
    pair.wait(200);
    assert_eq!([pair.connections(0), pair.connections(1)], [[""; 0]; 2]);
    pair.balanced();
}

/// Whatever of it is lost, the tables are the same in the end.
#[test]
fn lost_datagrams_heal() {
    for losing in [1, 2, 5] {
        let mut pair = Pair::new(SYNC, SRCNAT);
        pair.wait(5000);
        pair.losing = losing;
        pair.open(0);
        pair.wait(250);
        assert_eq!(pair.connections(1).len(), 0, "{losing} lost");
        pair.wait(31_000);
        assert_eq!((pair.losing, pair.connections(1)), (0, pair.connections(0)), "{losing} lost");
        assert_eq!(pair.connections(1).len(), 1);
    }
}

/// A better router that comes back takes over when it has got the connections, and those go on; if nobody tells
/// it, after a while.
#[test]
fn who_comes_back_waits_for_connections() {
    for (backs, longest_ms) in [(SYNC[1], 8000), ("", 36_000)] {
        let mut pair = Pair::new([SYNC[0], backs], SRCNAT);
        pair.goes_dark(0);
        pair.wait(5000);
        pair.open(1);
        pair.reboot(0, SYNC[0], SRCNAT);
        let (mut ms, text) = (0, "vrrp1 has got all connections");
        while !pair.is_master(0) {
            pair.wait(100);
            ms += 100;
            assert!(ms <= longest_ms, "{ms} ms and no master");
        }
        let knows = !backs.is_empty();
        assert!(knows || ms > 30_000, "{ms} ms");
        assert_eq!(pair.routers[0].run("/log print").contains(text), knows);
        assert_eq!(pair.connections(0).len(), usize::from(knows));
        pair.wait(500);
        let got = pair.segment(true, ACK, 501, 101);
        assert_eq!(got, knows.then_some((0, BACK)));
        // It tells the other one in its turn.
        let told = pair.connections(1);
        assert_eq!(told.len(), 1);
        pair.goes_dark(0);
        pair.wait(5000);
        assert_eq!(pair.segment(false, ACK, 101, 501), Some((1, THERE)));
        pair.balanced();
    }
}

/// A router that was cut off for a while has its old table still: it hears of what was new meanwhile.
#[test]
fn back_and_forth() {
    let polite = ["preemption-mode=no sync-connection-tracking=yes"; 2];
    let mut pair = Pair::new(polite, MASQUERADE);
    pair.wait(5000);
    pair.open(0);
    pair.wait(200);
    for round in 0..2 {
        for (gone, other) in [(0, 1), (1, 0)] {
            pair.goes_dark(gone);
            pair.wait(5000);
            assert_eq!(pair.segment(false, ACK, 101, 501), Some((other, THERE)), "round {round}");
            assert_eq!(pair.segment(true, ACK, 501, 101), Some((other, BACK)), "round {round}");
            pair.comes_back(gone);
            pair.wait(3000);
            assert_eq!(pair.connections(gone), pair.connections(other), "round {round}");
        }
    }
    pair.balanced();
}

/// Marks go over by their names: each router numbers them in its own way.
#[test]
fn marks_go_over_by_name() {
    let mark = |name: &str| {
        format!(
            "/ip firewall mangle add chain=forward action=mark-connection new-connection-mark={name}"
        )
    };
    let mut pair = Pair::new(SYNC, "");
    pair.routers[0].run(&mark("voice"));
    pair.routers[1].run(&mark("data"));
    pair.routers[1].run(&mark("voice"));
    pair.wait(5000);
    pair.routers[0].run(SRCNAT);
    pair.open(0);
    pair.wait(200);
    for n in 0..2 {
        let found = ":put [:len [/ip firewall connection find connection-mark=voice]]";
        assert_eq!(pair.routers[n].run(found).trim(), "1");
    }
}

#[test]
fn connections_of_ipv6_go_over() {
    let of = |n: usize| {
        format!(
            "/ipv6 address
             add address=2001:db8:1::{n}/64 interface=ether1
             add address=2001:db8:2::{n}/64 interface=ether2
             /ipv6 firewall filter
             add chain=forward connection-state=established action=accept
             add chain=forward src-address={CLIENT6}/128 action=accept
             add chain=forward action=drop"
        )
    };
    for (properties, goes_on) in [(SYNC, true), (["", ""], false)] {
        let mut pair = Pair::new(properties, "");
        (0..2).for_each(|n| drop(pair.routers[n].run(&of(n + 1))));
        pair.wait(5000);
        // A datagram there or back, by a router; whether it came out.
        let pass = |pair: &mut Pair, n: usize, back: bool| {
            let (port, host, src, dst) =
                if back { (2, 8, SERVER6, CLIENT6) } else { (1, 9, CLIENT6, SERVER6) };
            for (port, host, address) in [(1, 9, CLIENT6), (2, 8, SERVER6)] {
                let own6 = format!("2001:db8:{port}::{}", n + 1);
                let group = wire::icmpv6::solicited_node(ip6(&own6)).to_string();
                let asked = ipv6::solicitation(&own6, Some(mac(host)));
                let asked = ipv6::says(host, address, &group, asked).build();
                pair.routers[n].send(port, &asked);
            }
            let ports: [u8; 4] = if back { [0, 53, 4, 0] } else { [4, 0, 0, 53] };
            let payload = [&ports[..], &[0, 8, 0, 0]].concat();
            let (src_mac, dst_mac) = (mac(host), own(n, port));
            let (src, dst) = (ip6(src), ip6(dst));
            let sent = Sent { src_mac, dst_mac, src, dst, payload, ..ipv6::to(CLIENT6) };
            pair.settle();
            pair.send(port.into(), &sent.build()).is_some()
        };
        assert!(!pass(&mut pair, 0, true));
        assert!([false, true, false].map(|back| pass(&mut pair, 0, back)) == [true; 3]);
        pair.wait(300);
        let count = |n: usize| pair.routers[n].router.connections6().len();
        assert!(count(0) > 0 && (count(1) > 0) == goes_on);
        pair.goes_dark(0);
        pair.wait(4000);
        assert_eq!(pass(&mut pair, 1, true), goes_on);
        pair.balanced();
    }
}

/// What somebody else says is not believed, and counted.
#[test]
fn forged() {
    let mut pair = Pair::new(SYNC, SRCNAT);
    pair.wait(5000);
    let state = State {
        original: FiveTuple { src: CLIENT, dst: SERVER, protocol: protocol::TCP, ..THERE },
        reply: FiveTuple { src: SERVER, dst: CLIENT, src_port: 80, dst_port: 1000, ..THERE },
        tcp: 3,
        left_ms: 1_000_000,
        ..State::default()
    };
    let says = |kind: Kind, vrid: u8| {
        let header = Header { kind, vrid, is_ipv6: false, epoch: 7, sequence: 1, whole: 1 };
        let mut bytes = header.to_bytes().to_vec();
        if kind == Kind::Connections {
            Record::V4(state, false).write(&mut bytes);
        }
        bytes
    };
    let (tells, hello) = (says(Kind::Connections, 1), says(Kind::Hello, 1));
    let master = ip(192, 168, 0, 1);
    let frame = |to: usize, port: u8, src: u32, ttl: u8, payload: &[u8]| {
        let dst = ip(192, 168, 0, to as u8 + 1);
        let udp = craft::udp(src, 8275, dst, 8275);
        Frame { src_mac: mac(7), dst_mac: own(to, port), ttl, payload, ..udp }.build()
    };
    let near = ip(192, 168, 0, 7);
    for (to, port, src, ttl, payload) in [
        (1, 1, near, 255, &tells[..]),
        (1, 1, master, 254, &tells),
        (1, 3, master, 255, &tells),
        (1, 1, master, 255, &tells[..30]),
        (1, 1, master, 255, &[]),
        (1, 1, master, 255, &says(Kind::Connections, 9)),
        (0, 1, near, 254, &hello),
        (0, 1, ip(10, 0, 0, 7), 255, &hello),
        (0, 1, near, 255, &hello[..10]),
    ] {
        let before = pair.discards(to, Discard::BadVrrpSync);
        pair.routers[to].send(port.into(), &frame(to, port, src, ttl, payload));
        pair.settle();
        assert_eq!(
            pair.discards(to, Discard::BadVrrpSync),
            before + 1,
            "{to} {port} {src:x} {ttl} {payload:02x?}: {:?}",
            pair.routers[to].router.discards()
        );
        assert_eq!(pair.connections(1).len(), 0);
    }
    // No more than eight want to be told, of which one is the backup.
    for host in 20..29 {
        let near = ip(192, 168, 0, host);
        pair.routers[0].send(1, &frame(0, 1, near, 255, &hello));
    }
    let before = pair.discards(0, Discard::BadVrrpSync);
    pair.settle();
    assert_eq!(pair.discards(0, Discard::BadVrrpSync), before + 2);
    // What was said before is not heard again.
    let (_, old) = pair.told.iter().rfind(|(n, _)| *n == 0).cloned().expect("the master's");
    let before = pair.discards(1, Discard::Repeated);
    pair.routers[1].send(1, &old);
    pair.settle();
    assert_eq!(pair.discards(1, Discard::Repeated), before + 1);
    // All that speaks for the master is its address.
    pair.routers[1].send(1, &frame(1, 1, master, 255, &tells));
    pair.settle();
    assert_eq!(pair.connections(1).len(), 1);
    pair.balanced();
}

#[test]
fn refused() {
    let mut rig = Rig::new(2, "");
    for (line, why) in [
        ("sync-connection-tracking=maybe", "yes"),
        ("remote-address=224.0.0.1", "no host's"),
        ("v3-protocol=ipv6 sync-connection-tracking=yes", "needs remote-address"),
    ] {
        let line = format!("/interface vrrp add interface=ether1 {line}");
        let text = rig.try_run(&line).expect_err(&line).to_string();
        assert!(text.contains(why), "{line}: {text}");
    }
    rig.run(
        "/interface vrrp add interface=ether1 v3-protocol=ipv6 sync-connection-tracking=yes \
             remote-address=10.0.0.2",
    );
}
