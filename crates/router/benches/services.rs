//! Services of the router itself: addresses given by DHCP, names answered from the cache, SNMP's walk over
//! 25,000 queues. Prints what they take beside the bounds they are to meet, and fails where one is missed.
//!
//! ```text
//! DISCOVER ─► OFFER ─► REQUEST ─► ACK     10,000 clients: exchanges a second, bytes a lease
//! query ─► answer, ten frames forwarded    between two looks at the clock: answers a second beside 1 Mpps
//! GETBULK ─► 30 values ─► GETBULK …        25,000 queues: seconds, the longest breath
//! ```

// A router, and wires to it.
mod device;

use allocation_counter::measure;
use device::{CHUNK, Device, own_mac, with_tags};
use port::{Batch, Port};
use std::fmt::Write;
use std::time::Duration;
use wire::craft::{self, ip};
use wire::dhcp::{self, Kind, Message, option};
use wire::snmp::agent::{self, Request};
use wire::{MacAddr, dns, layers};

/// Clients of the DHCP server.
const CLIENTS: u32 = 10_000;
/// Names in the cache.
const NAMES: u32 = 1000;
/// Queues that are walked over.
const QUEUES: u32 = 25_000;

/// What missed its bound.
#[derive(Default)]
struct Missed(Vec<String>);

impl Missed {
    fn check(&mut self, what: &str, figure: f64, unit: &str, bound: f64, at_least: bool) {
        let word = if at_least { "at least" } else { "at most" };
        println!("{what:52} {figure:>12.1} {unit}   ({word} {bound} {unit})");
        if (figure < bound) == at_least {
            self.0.push(what.to_string());
        }
    }
}

fn main() {
    // Asked for a list of tests, or to run some: there are none.
    if std::env::args().any(|arg| arg == "--list" || arg == "--test") {
        return;
    }
    let mut missed = Missed::default();
    leases(&mut missed);
    names(&mut missed);
    walk(&mut missed);
    assert!(missed.0.is_empty(), "missed: {}", missed.0.join(", "));
}

impl Device {
    /// What came out of a port.
    fn take(&mut self, port: usize) -> Vec<Vec<u8>> {
        let (mut frames, mut batch) = (Vec::new(), Batch::new());
        while self.wires[port].receive(self.now, &mut self.pool, &mut batch) > 0 {
            frames.extend(batch.as_slice().iter().map(|frame| self.slab.bytes(frame).to_vec()));
            batch.free_all(&mut self.pool);
        }
        frames
    }
}

/// A UDP datagram of a host on the first port to the router.
fn datagram(src: (u32, u16), dst: (u32, u16), mac: MacAddr, payload: &[u8]) -> Vec<u8> {
    let dst_mac = if dst.0 == u32::MAX { MacAddr::BROADCAST } else { own_mac(1) };
    let frame = craft::udp(src.0, src.1, dst.0, dst.1);
    craft::Frame { src_mac: mac, dst_mac, payload, ..frame }.build()
}

/// The payload of a datagram.
fn payload(frame: &[u8]) -> &[u8] {
    let layers = layers::network(frame).expect("a packet");
    &frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)]
}

/// 10,000 clients get their leases.
fn leases(missed: &mut Missed) {
    let mut device = Device::new(
        "/ip address add address=10.1.0.1/16 interface=ether1\n/ip pool add name=p ranges=10.1.1.0-10.1.99.255
/ip dhcp-server network add address=10.1.0.0/16 gateway=10.1.0.1 dns-server=10.1.0.1
/ip dhcp-server add name=s interface=ether1 address-pool=p lease-time=1h conflict-detection=no",
    );
    let mac = |n: u32| MacAddr([6, 1, 0, 0, (n >> 8) as u8, n as u8]);
    let said = |n: u32, kind: Kind, wanted: u32| {
        let (xid, chaddr) = (n, mac(n));
        let mut message = Message { op: dhcp::REQUEST, xid, chaddr, ..Message::default() };
        message.push(option::KIND, [kind as u8]);
        message.push(option::CLIENT_ID, [&[1][..], &chaddr.0].concat());
        message.push(option::HOST_NAME, format!("host-{n:05}").into_bytes());
        if wanted != 0 {
            message.push_addresses(option::REQUESTED, &[wanted]);
        }
        let (nobody, all) = ((0, dhcp::CLIENT_PORT), (u32::MAX, dhcp::SERVER_PORT));
        datagram(nobody, all, mac(n), &message.to_bytes())
    };
    let (mut took, mut acked) = (Duration::ZERO, 0);
    let memory = measure(|| {
        for first in (0..CLIENTS).step_by(CHUNK) {
            let clients = first..CLIENTS.min(first + CHUNK as u32);
            let asked: Vec<_> = clients.map(|n| said(n, Kind::Discover, 0)).collect();
            device.send(0, &asked);
            took += device.breathe();
            let offers = device.take(0);
            let offers = offers.iter().filter_map(|frame| Message::read(payload(frame)));
            let wanted: Vec<_> = offers.map(|o| said(o.xid, Kind::Request, o.yiaddr)).collect();
            device.send(0, &wanted);
            took += device.breathe();
            let answers = device.take(0);
            let kinds = answers.iter().filter_map(|frame| Message::read(payload(frame))?.kind());
            acked += kinds.filter(|kind| *kind == Kind::Ack).count();
        }
    });
    assert_eq!(acked, CLIENTS as usize, "{:?}", device.router.discards());
    let a_second = f64::from(CLIENTS) / took.as_secs_f64();
    missed.check("DHCP, exchanges", a_second, "/s", 2000.0, true);
    // With whatever else the router keeps of a host: its ARP entry, log lines.
    let bytes = memory.bytes_current as f64 / f64::from(CLIENTS);
    missed.check("DHCP, memory a lease", bytes, "B", 200.0, false);
}

/// Names are answered from the cache while ten times as many packets pass.
fn names(missed: &mut Missed) {
    let mut script = "/ip address\nadd address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2\n/ip dns set allow-remote-requests=yes\n/ip dns static\n"
        .to_string();
    for n in 0..NAMES {
        writeln!(script, "add name=host{n}.example address=192.0.2.{}", n % 250).expect("a string");
    }
    let mut device = Device::new(&script);
    let host = MacAddr([6, 0, 0, 0, 0, 1]);
    device.introduce(0, host, ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    device.introduce(1, MacAddr([6, 0, 0, 0, 0, 2]), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    let passing = craft::udp(ip(10, 0, 1, 1), 1, ip(10, 0, 2, 1), 2);
    let passing = craft::Frame { src_mac: host, dst_mac: own_mac(1), ..passing }.build();
    let frame = |n: u32| match n % 11 {
        0 => {
            let name = format!("host{}.example", n / 11 % NAMES);
            let query = dns::query(n as u16, &name, dns::kind::A, 0).expect("a name");
            datagram((ip(10, 0, 1, 1), 5000), (ip(10, 0, 1, 254), 53), host, &query)
        }
        _ => with_tags(&passing, &[]),
    };
    let frames: Vec<_> = (0..11 * 8 * CHUNK as u32).map(frame).collect();
    let (mut least, mut answered) = (f64::MAX, 0);
    for _ in 0..20 {
        let mut took = Duration::ZERO;
        for chunk in frames.chunks(CHUNK) {
            device.send(0, chunk);
            took += device.breathe();
            let answers = device.take(0);
            answered += answers.iter().filter(|f| dns::Message::read(payload(f)).is_some()).count();
            device.take(1);
        }
        least = least.min(took.as_secs_f64() / frames.len() as f64);
    }
    assert_eq!(answered, 20 * frames.len() / 11, "{:?}", device.router.discards());
    let a_second = 1.0 / (11.0 * least);
    missed.check("DNS, answers beside ten times as many packets", a_second, "/s", 100_000.0, true);
}

/// A manager walks over all queues.
fn walk(missed: &mut Missed) {
    let mut script =
        "/ip address add address=10.0.1.254/24 interface=ether1\n/snmp set enabled=yes\n\
                      /queue simple\n"
            .to_string();
    for n in 0..QUEUES {
        let [_, a, b, c] = n.to_be_bytes();
        writeln!(script, "add name=q{n} target=11.{a}.{b}.{c}/32 max-limit=1M/1M")
            .expect("a string");
    }
    let mut device = Device::new(&script);
    let host = MacAddr([6, 0, 0, 0, 0, 1]);
    device.introduce(0, host, ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    // MikroTik's table of simple queues.
    let table = [1, 3, 6, 1, 4, 1, 14_988, 1, 1, 2, 1];
    let (mut name, mut took, mut longest, mut values) =
        (table.to_vec(), Duration::ZERO, Duration::ZERO, 0);
    loop {
        let request = Request {
            is_2c: true,
            community: b"public".to_vec(),
            kind: agent::Kind::GetBulk,
            request: 1,
            non_repeaters: 0,
            repetitions: 50,
            names: vec![name.clone()],
        };
        let (from, to) = ((ip(10, 0, 1, 1), 5000), (ip(10, 0, 1, 254), 161));
        device.send(0, &[datagram(from, to, host, &agent::request(&request))]);
        let breath = device.breathe();
        (took, longest) = (took + breath, longest.max(breath));
        // The router may say something of its own beside.
        let said = device.take(0);
        let names = said.iter().find_map(|frame| agent::names(payload(frame)));
        let names = names.unwrap_or_else(|| {
            panic!("no response after {values} values: {said:02x?} {:?}", device.router.discards())
        });
        let within: Vec<_> = names.iter().filter(|name| name.starts_with(&table)).collect();
        values += within.len();
        match within.last() {
            // Behind the last one the same name comes again.
            Some(last) if within.len() == names.len() && **last != name => name.clone_from(last),
            _ => break,
        }
    }
    assert!(values >= QUEUES as usize, "{values} values of {QUEUES} queues");
    println!("{:52} {values:>12}", "SNMP, values of 25,000 queues");
    missed.check("SNMP, the whole walk", took.as_secs_f64(), "s", 2.0, false);
    missed.check(
        "  of which packets wait at a time",
        longest.as_secs_f64() * 1e6,
        "us",
        1000.0,
        false,
    );
}
