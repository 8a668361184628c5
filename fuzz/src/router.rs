//! Any configuration and any frames: the fast router against the slow one.
//!
//! ```text
//! input ─► snippets, operations ─┬─► router, as it is          ─┬─► same frames, same counters,
//!                                └─► router, slow path only    ─┘   and no frame is lost inside
//! ```
//!
//! The first two bytes choose snippets of configuration; then come operations, one after another:
//! a frame made from a few fields, an answer to the last frame that came out (so that connections
//! get established), raw bytes, time, another snippet, a packet of IPv6. Both routers see the same at the same
//! virtual time.

use crate::router6;
use crate::script_parse::{console, ports};
use config::Interpreter;
use port::memory::{self, MemoryPort};
use port::{Batch, Pool, Port, Slab};
use router::{MENUS, Router};
use std::time::Duration;
use wire::arp::ArpMessage;
use wire::craft::{self, Body, Frame, ip};
use wire::icmp::IcmpHeader;
use wire::layers::{self, ETHERTYPE_IPV4, protocol};
use wire::tcp::{TcpFlags, TcpHeader};
use wire::vlan::Tci;
use wire::{MacAddr, Moment, Tcp, checksum};

/// What configurations are made of. Some exclude each other: what is refused is left out.
const SNIPPETS: &[&str] = &[
    "/interface bridge add name=bridge1 protocol-mode=none\n/interface bridge port\n\
     add bridge=bridge1 interface=ether3\nadd bridge=bridge1 interface=ether4\n\
     /ip address set [find interface=ether3] interface=bridge1",
    "/ip firewall connection tracking set enabled=yes",
    "/ip firewall filter\nadd chain=forward connection-state=established,related \
     action=fasttrack-connection\nadd chain=forward connection-state=established,related",
    "/ip firewall filter\nadd chain=forward src-address=172.16.1.0/24 action=drop\n\
     add chain=forward src-address=172.16.2.0/24 action=drop\nadd chain=forward protocol=udp",
    "/ip firewall filter add chain=forward packet-size=300-700 action=drop",
    "/ip firewall filter add chain=forward connection-state=invalid action=drop",
    "/ip firewall filter\nadd chain=forward protocol=tcp dst-port=80 tcp-flags=syn,!ack \
     action=jump jump-target=web\nadd chain=web limit=2,2:packet\n\
     add chain=web action=reject reject-with=tcp-reset protocol=tcp",
    "/ip firewall filter add chain=forward ttl=less-than:10 action=reject",
    "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade",
    "/ip firewall nat add chain=dstnat protocol=tcp dst-port=8080 action=dst-nat \
     to-addresses=10.0.2.1 to-ports=80",
    "/queue simple\nadd target=10.0.9.0/24 max-limit=1M/1M\n\
     add target=10.0.1.0/24 max-limit=256k/256k",
    "/ip settings set allow-fast-path=no",
    "/interface ethernet set ether2 mtu=600",
    "/ip route\nadd dst-address=10.9.0.0/16 gateway=10.0.2.1,10.0.2.2\n\
     add dst-address=10.9.1.0/24 type=blackhole\nadd dst-address=10.9.2.0/24 type=prohibit",
    "/interface bridge filter add chain=forward mac-protocol=arp action=drop",
    "/interface ethernet set ether2 disabled=yes",
];

/// What every configuration begins with.
const ADDRESSES: &str = "/ip address\nadd address=10.0.1.254/24 interface=ether1\n\
                         add address=10.0.2.254/24 interface=ether2\n\
                         add address=10.0.3.254/24 interface=ether3";

const PORTS: u8 = 4;

/// Runs both routers through the input's operations and compares them.
pub fn run(input: &[u8]) {
    let mut input = Bytes(input);
    let chosen = u16::from_be_bytes([input.next(), input.next()]);
    let mut twins = Twins::new();
    for (n, snippet) in SNIPPETS.iter().enumerate() {
        if chosen & 1 << n != 0 {
            twins.configure(snippet);
        }
    }
    for port in 1..=PORTS {
        for host in 1..=2 {
            let request = ArpMessage::request(mac(port, host), address(port, host), gateway(port));
            twins.send(port, &craft::arp(request).build());
        }
    }
    while !input.0.is_empty() {
        let operation = input.next();
        match operation % 8 {
            0..=2 => {
                let (port, frame) = made(&mut input);
                twins.send(port, &frame);
            }
            3 => {
                if let Some((port, frame)) = twins.answer(input.next()) {
                    twins.send(port, &frame);
                }
            }
            4 => {
                let port = 1 + input.next() % PORTS;
                let len = usize::from(input.next());
                let mend = input.next();
                let mut frame = input.take(len).to_vec();
                if mend & 1 != 0 {
                    mend_ipv4(&mut frame);
                }
                if mend & 2 != 0 && frame.len() >= 6 {
                    frame[..6].copy_from_slice(&own_mac(port).0);
                }
                twins.send(port, &frame);
            }
            5 => twins.wait(Duration::from_millis(1 << (input.next() % 15))),
            6 => twins.configure(SNIPPETS[usize::from(input.next()) % SNIPPETS.len()]),
            // What IPv6 brings: a snippet with the hosts that it is for, packets.
            _ if operation >= 0xc0 => {
                twins.configure(
                    router6::SNIPPETS[usize::from(input.next()) % router6::SNIPPETS.len()],
                );
                for (port, host) in (1..PORTS).flat_map(|port| [(port, 1), (port, 2)]) {
                    twins.send(port, &router6::solicitation(port, host, mac(port, host)));
                }
            }
            _ if operation >= 0x80 => {
                let [who, rest @ ..] = [(); 5].map(|()| input.next());
                let (port, host) = (1 + who % PORTS, 1 + who / 4 % 2);
                let macs = (mac(port, host), own_mac(port));
                twins.send(port, &router6::packet((port, host), macs, rest));
            }
            _ => twins.breathe(),
        }
    }
    twins.end();
}

/// A frame made of six bytes: right in every length and checksum.
fn made(input: &mut Bytes<'_>) -> (u8, Vec<u8>) {
    let [who, to, what, flags, size, odd] = [(); 6].map(|()| input.next());
    let (port, host) = (1 + who % PORTS, 1 + who / 4 % 2);
    let other = 1 + to % PORTS;
    let dst = match to / 4 % 8 {
        0..=3 => address(other, 1 + to / 32 % 3),
        4 => gateway(port),
        5 => ip(10, 9, to / 32, 1),
        6 => ip(10, 0, other, 255),
        _ => ip(192, 0, 2, 1),
    };
    let (src_port, dst_port) =
        (1000 + u16::from(what / 4 % 4), [80, 8080, 53, 2000][usize::from(what / 16 % 4)]);
    let header = TcpHeader {
        src_port,
        dst_port,
        flags: TcpFlags(flags),
        seq: u32::from(odd) << 4,
        ack: u32::from(size) << 4,
        window: 65535,
        urgent: 0,
    };
    let body = match what % 4 {
        0 => Body::Udp { src_port, dst_port },
        1 => Body::Icmp(IcmpHeader::echo_request(1, flags.into())),
        2 if what & 0x80 != 0 => Body::Ip { protocol: flags },
        _ => Body::Tcp { header, options: &[] },
    };
    let payload = vec![what; usize::from(size) * 6];
    let frame = Frame {
        src_mac: mac(port, host),
        dst_mac: if odd & 0xc0 == 0xc0 { mac(other, 1) } else { own_mac(port) },
        src: address(port, host),
        dst,
        ttl: if odd & 0x30 == 0x30 { odd & 3 } else { 64 },
        options: if odd & 0x2c == 0x2c { &[7, 7, 4, 0, 0, 0, 0] } else { &[] },
        more_fragments: odd & 0x1d == 0x1d,
        dont_fragment: odd & 0x13 == 0x13,
        vlan: (odd & 0x4b == 0x4b).then_some(Tci(odd.into())),
        body,
        payload: &payload,
        ..Frame::default()
    };
    (port, frame.build())
}

/// The two routers, and what last came out of them.
struct Twins {
    fast: Bench,
    slow: Bench,
    now: Moment,
    /// Frames on the wires, not received yet.
    sent: usize,
    last: Option<(u8, Vec<u8>)>,
    /// The operations, for who has to understand a failure.
    story: Vec<String>,
}

impl Twins {
    fn new() -> Twins {
        let (fast, slow) = (Bench::new(false), Bench::new(true));
        let mut twins =
            Twins { fast, slow, now: Moment::ZERO, sent: 0, last: None, story: Vec::new() };
        twins.configure(ADDRESSES);
        twins
    }

    fn configure(&mut self, script: &str) {
        self.breathe();
        self.story.push(script.to_string());
        for bench in [&mut self.fast, &mut self.slow] {
            if bench.console.run(script, &()).is_ok() {
                bench.router.configure(bench.console.tree(), self.now).expect("few targets");
            }
        }
    }

    fn send(&mut self, port: u8, frame: &[u8]) {
        self.story.push(format!("to ether{port}: {}", said(frame)));
        for bench in [&mut self.fast, &mut self.slow] {
            bench.send(self.now, port, frame);
        }
        self.sent += 1;
        if self.sent == 32 {
            self.breathe();
        }
    }

    fn wait(&mut self, time: Duration) {
        self.breathe();
        self.now = self.now + time;
        self.story.push(format!("wait until {:?}", self.now));
        self.breathe();
    }

    /// Lets both breathe, and compares what comes out.
    fn breathe(&mut self) {
        self.sent = 0;
        let (fast, slow) = (self.fast.breathe(self.now), self.slow.breathe(self.now));
        if fast != slow {
            let said = |out: &[(u8, Vec<u8>)]| -> Vec<String> {
                out.iter()
                    .map(|(port, frame)| format!("from ether{port}: {}", said(frame)))
                    .collect()
            };
            self.differ(&said(&fast), &said(&slow));
        }
        let counters = (self.fast.counters(), self.slow.counters());
        if fast != slow || counters.0 != counters.1 {
            self.differ(&counters.0, &counters.1);
            panic!("the fast router differs from the slow one:\n{}", self.story.join("\n"));
        }
        if let Some(last) = fast.into_iter().last() {
            self.story.push(format!("from ether{}: {}", last.0, said(&last.1)));
            self.last = Some(last);
        }
    }

    /// What the receiver of the last frame would say to it.
    fn answer(&mut self, flags: u8) -> Option<(u8, Vec<u8>)> {
        self.breathe();
        let (port, mut frame) = self.last.clone()?;
        let layers = layers::parse(&frame).ok()?;
        if layers.ether_type != ETHERTYPE_IPV4 || layers.l4 == 0 {
            return None;
        }
        let (l3, l4) = (usize::from(layers.l3), usize::from(layers.l4));
        swap(&mut frame, 0, 6, 6);
        swap(&mut frame, l3 + 12, l3 + 16, 4);
        match layers.protocol {
            protocol::TCP => {
                swap(&mut frame, l4, l4 + 2, 2);
                swap(&mut frame, l4 + 4, l4 + 8, 4);
                frame[l4 + 13] = flags;
                let tuple = layers.tuple;
                let mut segment = Tcp::new(&mut frame[l4..usize::from(layers.l3_end)]).ok()?;
                segment.fill_checksum(tuple.dst, tuple.src);
            }
            protocol::UDP => swap(&mut frame, l4, l4 + 2, 2),
            _ => {}
        }
        Some((port, frame))
    }

    /// Lets everything that waits run out, and accounts for it.
    fn end(mut self) {
        for _ in 0..90 {
            self.wait(Duration::from_secs(1));
        }
        for (name, bench) in [("fast", self.fast), ("slow", self.slow)] {
            let slab = bench.slab.clone();
            drop(bench); // with its pools; a frame that somebody still holds stays out
            assert_eq!(slab.frames_out(), 0, "{:#?}\nframes inside the {name} router", self.story);
        }
    }

    /// Notes the lines that only one of the two has, first to last.
    fn differ(&mut self, fast: &[String], slow: &[String]) {
        let same = fast.iter().zip(slow).take_while(|(fast, slow)| fast == slow).count();
        let (fast, slow) = (&fast[same..], &slow[same..]);
        let ends = fast.iter().rev().zip(slow.iter().rev());
        let same = ends.take_while(|(fast, slow)| fast == slow).count();
        for (name, lines) in [("fast", fast), ("slow", slow)] {
            let lines = lines[..lines.len() - same].iter();
            self.story.extend(lines.map(|line| format!("  {name} {line}")));
        }
    }
}

/// One router, our ends of its wires, and its console.
struct Bench {
    router: Router,
    console: Interpreter,
    ports: Vec<MemoryPort>,
    wires: Vec<MemoryPort>,
    slab: Slab,
    pool: Pool,
}

impl Bench {
    fn new(reference: bool) -> Bench {
        let slab = Slab::new(512).expect("a slab");
        let mut router = Router::new(ports(PORTS), &slab);
        router.set_reference(reference);
        let (ports, wires) = (0..PORTS).map(|_| memory::wire(256)).unzip();
        let (console, pool) = (console(&router), slab.pool());
        Bench { router, console, ports, wires, slab, pool }
    }

    fn send(&mut self, now: Moment, port: u8, bytes: &[u8]) {
        let Some(mut frame) = self.pool.alloc(bytes.len()) else { return };
        self.slab.bytes_mut(&mut frame).copy_from_slice(bytes);
        let mut batch = Batch::new();
        batch.push(frame);
        self.wires[usize::from(port) - 1].send(now, &mut self.pool, &mut batch);
    }

    /// What comes out, by port.
    fn breathe(&mut self, now: Moment) -> Vec<(u8, Vec<u8>)> {
        while self.router.breathe(now, &mut self.ports) > 0 {}
        let mut out = Vec::new();
        let mut batch = Batch::new();
        for (port, wire) in (1..).zip(&mut self.wires) {
            while wire.receive(now, &mut self.pool, &mut batch) > 0 {
                let frames = batch.as_slice().iter();
                out.extend(frames.map(|frame| (port, self.slab.bytes(frame).to_vec())));
                batch.free_all(&mut self.pool);
            }
        }
        out
    }

    /// Everything that is counted, one line for each thing that counts.
    fn counters(&mut self) -> Vec<String> {
        let router = &mut self.router;
        let mut lines = Vec::new();
        for n in 1..=PORTS {
            let id = router.program().names.find(&format!("ether{n}")).expect("the port");
            lines.push(format!("ether{n} {:?}", router.interface_counts(id)));
        }
        for menu in MENUS.iter().filter(|menu| menu.property("chain").is_some()) {
            let counts = router.rule_counts(menu.path, self.console.tree());
            lines.extend(counts.iter().map(|count| format!("{} {count:?}", menu.path)));
        }
        let paths = router.path_counts();
        lines.push(format!("ipv4-fast-path {:?}", paths.ipv4_fast_path));
        lines.push(format!("ipv4-fasttrack {:?}", paths.ipv4_fasttrack));
        lines.push(format!("bridge-fast-path {:?}", paths.bridge_fast_path));
        lines.push(format!("discards {:?}", router.discards().iter().collect::<Vec<_>>()));
        lines
    }
}

/// A frame in a few words; all of it is in the input.
fn said(frame: &[u8]) -> String {
    match layers::parse(frame) {
        Ok(layers) if layers.ether_type == ETHERTYPE_IPV4 => {
            let tuple = layers.tuple;
            let [src, dst] = [tuple.src, tuple.dst].map(std::net::Ipv4Addr::from);
            let flags = if tuple.protocol == protocol::TCP && layers.l4 != 0 {
                format!(" flags {:02x}", frame[usize::from(layers.l4) + 13])
            } else {
                String::new()
            };
            let (from, to, ttl) =
                (tuple.src_port, tuple.dst_port, frame[usize::from(layers.l3) + 8]);
            format!(
                "{} {src}:{from} > {dst}:{to} ttl {ttl}{flags}, {} bytes",
                tuple.protocol,
                frame.len()
            )
        }
        Ok(layers) => format!("{:04x}, {} bytes", layers.ether_type, frame.len()),
        Err(malformed) => format!("{malformed:?}, {} bytes {frame:02x?}", frame.len()),
    }
}

fn own_mac(port: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, port])
}

fn mac(port: u8, host: u8) -> MacAddr {
    MacAddr([6, 0, 0, 0, port, host])
}

/// Hosts behind ether4 are in ether3's network, which matters when the two are bridged.
fn address(port: u8, host: u8) -> u32 {
    ip(10, 0, port.min(3), if port == 4 { 100 + host } else { host })
}

fn gateway(port: u8) -> u32 {
    ip(10, 0, port.min(3), 254)
}

/// Makes the IPv4 header checksum right, so that raw bytes get further.
fn mend_ipv4(frame: &mut [u8]) {
    if frame.len() >= 34 && frame[12..14] == [8, 0] {
        let end = (14 + usize::from(frame[14] & 15) * 4).min(frame.len());
        if end >= 34 {
            frame[24..26].fill(0);
            let sum = checksum::of(&frame[14..end]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

/// Swaps two fields.
fn swap(bytes: &mut [u8], a: usize, b: usize, len: usize) {
    let (first, second) = bytes.split_at_mut(b);
    first[a..a + len].swap_with_slice(&mut second[..len]);
}

/// The input, taken from the front; zeros when it is over.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn next(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
