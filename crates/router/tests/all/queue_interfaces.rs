//! Queues of interfaces: trees on whatever stands on a port, and how frames wait at a port.

use crate::rig::{Rig, mac, own_mac};
use config::Interpreter;
use port::simulated::{self, Link, SimulatedPort};
use port::{Batch, Capabilities, Pool, Port, Slab};
use router::{COMMANDS, MENUS, PortInfo, Router};
use std::time::Duration;
use wire::arp::ArpMessage;
use wire::craft::{self, ip};
use wire::{BitRate, Moment};

/// From host 1 by port 1 to host 2 behind port 2, 128 bytes of IP.
fn datagram(port: u16) -> craft::Frame<'static> {
    craft::Frame {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        payload: &[7; 100],
        ..craft::udp(ip(10, 0, 1, 1), port, ip(10, 0, 2, 1), 2000)
    }
}

/// Links on the way to host 2, the trees there, and what each of them has counted after ten datagrams
/// of 128 bytes, one of them marked: (name, packets, bytes).
type Case = (&'static str, &'static str, &'static [(&'static str, i64, i64)]);

const CASES: &[Case] = &[
    (
        "/interface vlan add name=two interface=ether2 vlan-id=20",
        "add name=a parent=two max-limit=100M
         add name=b parent=ether2 max-limit=100M",
        // The VLAN's is before the tag, the port's behind it; it has the questions of ARP, too.
        &[("a", 11, 10 * 142 + 60), ("b", 11, 10 * 146 + 64)],
    ),
    (
        "/interface vlan add name=two interface=ether2 vlan-id=20",
        "add name=a parent=two packet-mark=m
         add name=b parent=ether2 packet-mark=m
         add name=c parent=ether2",
        &[("a", 1, 142), ("b", 1, 146), ("c", 10, 9 * 146 + 64)],
    ),
    (
        "/interface bridge add name=two protocol-mode=none
         /interface bridge port add bridge=two interface=ether2",
        "add name=root parent=two max-limit=1M
         add name=a parent=root packet-mark=m limit-at=64k
         add name=b parent=root",
        &[("a", 1, 142), ("b", 10, 9 * 142 + 60), ("root", 11, 10 * 142 + 60)],
    ),
    (
        "/interface bonding add name=two slaves=ether2 mode=active-backup
         /interface vlan add name=other interface=two vlan-id=9",
        "add name=a parent=two max-limit=10M
         add name=none parent=other",
        &[("a", 11, 10 * 142 + 60), ("none", 0, 0)],
    ),
];

#[test]
fn trees_stand_on_any_interface() {
    for (n, (links, trees, counted)) in CASES.iter().enumerate() {
        for reference in [false, true] {
            let mut rig = Rig::new(
                2,
                &format!(
                    "{links}
                    /ip address add address=10.0.1.254/24 interface=ether1
                    /ip address add address=10.0.2.254/24 interface=two
                    /ip firewall mangle add chain=forward src-port=1009 protocol=udp \
                        action=mark-packet new-packet-mark=m
                    /queue tree
                    {trees}"
                ),
            );
            rig.router.set_reference(reference);
            // The neighbour is asked for, through the trees; who waits for its answer keeps its mark.
            assert_eq!(rig.pass(1, &datagram(1009).build()).len(), 1, "case {n}: the question");
            let asked = ArpMessage::request(own_mac(2), ip(10, 0, 2, 254), ip(10, 0, 2, 1));
            let mut answer = craft::arp(asked.reply_from(mac(2))).build();
            if links.contains("interface=ether2 vlan-id=20") {
                answer.splice(12..12, [0x81, 0x00, 0, 20]);
            }
            let late = rig.pass(2, &answer).len();
            let sent = (1000..1009).map(|port| rig.pass(1, &datagram(port).build()).len());
            assert_eq!(late + sent.sum::<usize>(), 10, "case {n}");
            for &(name, packets, bytes) in *counted {
                let get = |what: &str| format!("[/queue tree get {name} {what}]");
                let said =
                    rig.run(&format!(":put ({} . \" \" . {})", get("packets"), get("bytes")));
                let expected = format!("{packets} {bytes}");
                assert_eq!(said.trim(), expected, "case {n}, {name}, reference {reference}");
            }
        }
    }
}

/// A tree on a VLAN keeps its rate, whichever path the flow takes, and what waits is marked below.
#[test]
fn a_tree_on_a_vlan_limits() {
    for reference in [false, true] {
        let mut rig = Rig::new(
            2,
            "/interface vlan add name=two interface=ether2 vlan-id=20
             /ip address add address=10.0.1.254/24 interface=ether1
             /ip address add address=10.0.2.254/24 interface=two
             /ip arp add address=10.0.2.1 mac-address=06:00:00:00:00:02 interface=two
             /ip firewall mangle add chain=forward action=mark-packet new-packet-mark=m
             /queue tree add name=a parent=two max-limit=1136k bucket-size=0.001 queue=default
             /queue tree add name=b parent=ether2 packet-mark=m",
        );
        rig.router.set_reference(reference);
        let mut passed = 0;
        for ms in 0..2000 {
            rig.send(1, &datagram(1000 + ms % 3).build());
            rig.now = rig.now + Duration::from_millis(1);
            rig.breathe();
            let out = rig.take(2);
            assert!(out.iter().all(|frame| frame.len() == 146), "tagged");
            passed += out.len();
        }
        // 142 bytes at 1136 kbit/s: one a millisecond.
        assert!((1990..=2001).contains(&passed), "{passed}");
        rig.run("/queue tree set a max-limit=568k");
        passed = 0;
        for ms in 0..2000 {
            rig.send(1, &datagram(1000 + ms % 3).build());
            rig.now = rig.now + Duration::from_millis(1);
            rig.breathe();
            passed += rig.take(2).len();
        }
        assert!((995..=1002).contains(&passed), "{passed}, reference {reference}");
        let marked = rig.run(":put [/queue tree get b packets]");
        assert!(marked.trim().parse::<usize>().unwrap() > 2990, "{marked}");
    }
}

/// A router between a fast line and a slow one, in virtual time.
struct Slow {
    router: Router,
    console: Interpreter,
    now: Moment,
    ports: Vec<SimulatedPort>,
    ends: Vec<SimulatedPort>,
    slab: Slab,
    pool: Pool,
}

impl Slow {
    fn new(queue: &str) -> Slow {
        let slab = Slab::new(4096).unwrap();
        let infos = (1..=2).map(|n| PortInfo {
            name: format!("ether{n}"),
            mac: own_mac(n),
            capabilities: Capabilities::default(),
        });
        let router = Router::new(infos.collect(), &slab);
        let mut console = Interpreter::new(MENUS.to_vec()).with_commands(COMMANDS);
        *console.tree_mut() = router.factory_tree();
        let wire = |rate| simulated::wire(Link::new(BitRate(rate))).unwrap();
        let (ports, ends) = [1e9, 10e6].map(wire).into_iter().unzip();
        let pool = slab.pool();
        let mut slow = Slow { router, console, now: Moment::ZERO, ports, ends, slab, pool };
        slow.run(&format!(
            "/ip address add address=10.0.1.254/24 interface=ether1
             /ip address add address=10.0.2.254/24 interface=ether2
             /ip arp add address=10.0.2.1 mac-address=06:00:00:00:00:02 interface=ether2
             /queue type add name=fair kind=fq-codel
             /queue type add name=two kind=pfifo pfifo-limit=2
             /queue interface set ether2 queue={queue}"
        ));
        slow
    }

    fn run(&mut self, script: &str) -> String {
        let output = self.console.run(script, &self.router.status(self.now)).unwrap();
        self.router.configure(self.console.tree(), self.now).unwrap();
        output.text
    }

    /// Sends a frame in.
    fn send(&mut self, bytes: &[u8]) {
        let mut frame = self.pool.alloc(bytes.len()).unwrap();
        self.slab.bytes_mut(&mut frame).copy_from_slice(bytes);
        let mut batch = Batch::new();
        batch.push(frame);
        self.ends[0].send(self.now, &mut self.pool, &mut batch);
    }

    /// Lets the router live until then; the source ports of what came out, in order.
    fn until(&mut self, end: Moment) -> Vec<u16> {
        let mut out = Vec::new();
        while self.now < end {
            let due = self.router.next_due(self.now);
            let arrival = self.ports[0].next_arrival().unwrap_or(end);
            let next = due.min(arrival).max(self.now + Duration::from_nanos(1)).min(end);
            self.now = next;
            while self.router.breathe(self.now, &mut self.ports) > 0 {}
            let mut batch = Batch::new();
            while self.ends[1].receive(self.now, &mut self.pool, &mut batch) > 0 {
                let port = |frame| {
                    let bytes = self.slab.bytes(frame);
                    u16::from_be_bytes([bytes[34], bytes[35]])
                };
                out.extend(batch.as_slice().iter().map(port));
                batch.free_all(&mut self.pool);
            }
        }
        out
    }
}

/// 30 long packets of one flow, one of another: with the kinds of queue, when does that one come out,
/// how many are dropped, and does FastPath send?
#[test]
fn frames_wait_at_a_slow_port_as_its_queue_says() {
    let long = |port| craft::Frame { payload: &[7; 1400], ..datagram(port) }.build();
    // (queue, place of the one among those that came out, of how many, sent in FastPath)
    let cases = [
        ("only-hardware-queue", 30, 31, true),
        ("ethernet-default", 30, 31, false),
        ("two", 99, 3, false),
        ("fair", 3, 31, false),
    ];
    for (queue, place, came, fast) in cases {
        let mut slow = Slow::new(queue);
        for _ in 0..30 {
            slow.send(&long(1000));
        }
        slow.send(&long(2000));
        let early = slow.until(Moment::from_nanos(5_000_000));
        // 1462 bytes on the line at 10 Mbit/s: 1.17 ms each.
        assert_eq!(early.len(), came.min(4), "{queue}");
        let said = slow.run(":put [/queue interface get ether2 queued-packets]");
        let waiting: usize = said.trim().parse().unwrap();
        assert_eq!(waiting > 0, !fast && came > 3, "{queue}: {waiting} wait");
        let out = [early, slow.until(Moment::from_nanos(100_000_000))].concat();
        assert_eq!(out.len(), came, "{queue}");
        assert_eq!(out.iter().position(|&port| port == 2000).unwrap_or(99), place, "{queue}");
        let dropped = slow.run(":put [/interface get ether2 tx-queue-drop]");
        assert_eq!(dropped.trim().parse::<usize>().unwrap(), 31 - came, "{queue}");
        let sent = slow.run(":put [/interface get ether2 fp-tx-packet]");
        assert_eq!(sent.trim() != "0", fast, "{queue}: FastPath");
        let active = slow.run(":put [/queue interface get ether2 active-queue]");
        assert_eq!(active.trim(), queue);
        assert!(slow.router.frames().balance(), "{queue}: {:?}", slow.router.frames());
    }
}

/// What waits survives another kind of queue, and leaves by the hardware's if there is none any more.
#[test]
fn another_kind_keeps_what_waits() {
    for kind in ["fair", "only-hardware-queue"] {
        let mut slow = Slow::new("ethernet-default");
        for _ in 0..20 {
            slow.send(&craft::Frame { payload: &[7; 1400], ..datagram(1000) }.build());
        }
        let early = slow.until(Moment::from_nanos(5_000_000)).len();
        slow.run(&format!("/queue interface set [find interface=ether2] queue={kind}"));
        let late = slow.until(Moment::from_nanos(100_000_000)).len();
        assert_eq!((early, late), (4, 16), "{kind}");
    }
}

/// Ports are there from the beginning, the others have no queue, and a name changes with its port's.
#[test]
fn the_list_is_of_all_interfaces() {
    let mut rig = Rig::new(
        2,
        "/interface bridge add name=lan
         /queue interface set ether1 queue=ethernet-default
         /interface ethernet set ether1 name=wan",
    );
    let list = rig.run("/queue interface print");
    for words in [
        ["wan", "ethernet-default", "ethernet-default"],
        ["ether2", "only-hardware-queue", "only-hardware-queue"],
        ["lan", "no-queue", "no-queue"],
    ] {
        let has = |line: &str| line.split_whitespace().skip(1).eq(words);
        assert!(list.lines().any(has), "{words:?} in\n{list}");
    }
    assert!(rig.run("/export").contains("/queue interface\nset wan queue=ethernet-default"));
    let error = rig.try_run("/queue interface set [find interface=lan] queue=default");
    assert!(error.is_err(), "a bridge has none");
}
