//! The router's own time per packet, 64-byte frames, one core: each way through it.
//!
//! ```text
//! refill (not timed) ─► wires ─► [ breathe ] (timed) ─► wires ─► drain (not timed)
//! ```
//!
//! Frames lie in the caches as a network card with direct cache access would leave them: written by
//! another, within the last 4,096 frames. Labelled metric × way: `ns/packet/…`.

// A router, and wires to it.
mod device;
// Connections that begin.
mod first;
// MPLS.
mod labels;
// PPPoE's and L2TP's servers.
mod sessions;
// IPv6's devices and frames.
mod six;
// What DPDK's testpmd does meanwhile.
mod testpmd;

use config::Value;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use device::{CHUNK, Device, own_mac, tree_of, with_tags};
use router::ip::fib::{list, synthetic, synthetic6};
use router::ip::route::Target;
use router::queue::menu::SIMPLE;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;
use wire::arp::ArpMessage;
use wire::craft::{self, ip};
use wire::gre;
use wire::layers::protocol;
use wire::{Ipv4Prefix, Ipv6Prefix, MacAddr, Moment};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: port::huge::Allocator = port::huge::Allocator;

/// The least time each way took for a packet, in nanoseconds.
static LEAST: Mutex<Vec<(String, f64)>> = Mutex::new(Vec::new());

impl Device {
    /// Sends all frames once, both ways in turn, untimed: hosts, connections, recipes.
    fn warm_up(&mut self, traffic: &[(usize, Vec<Vec<u8>>)]) {
        for _ in 0..4 {
            for (port, frames) in traffic {
                for chunk in frames.chunks(CHUNK) {
                    self.send(*port, chunk);
                    self.breathe();
                    self.drain();
                }
            }
        }
    }
}

/// Times `traffic` in chunks, going round and round.
fn run(c: &mut Criterion, name: &str, device: &mut Device, traffic: &[(usize, Vec<Vec<u8>>)]) {
    device.warm_up(traffic);
    let chunks: Vec<(usize, &[Vec<u8>])> = traffic
        .iter()
        .flat_map(|(port, frames)| frames.chunks_exact(CHUNK).map(|chunk| (*port, chunk)))
        .collect();
    let mut at = 0;
    let mut least = f64::MAX;
    let mut group = c.benchmark_group("ns/packet");
    group.throughput(Throughput::Elements(CHUNK as u64));
    group.bench_function(name, |b| {
        b.iter_custom(|n| {
            let mut time = Duration::ZERO;
            for _ in 0..n {
                let (port, chunk) = chunks[at % chunks.len()];
                at += 1;
                device.send(port, chunk);
                time += device.breathe();
                let out = device.drain();
                // It may ask for neighbours meanwhile.
                let lost = device.router.discards();
                assert!((CHUNK..CHUNK + 64).contains(&out), "{out} of {CHUNK}: {lost:?}");
            }
            least = least.min(time.as_nanos() as f64 / (n * CHUNK as u64) as f64);
            time
        });
    });
    group.finish();
    if least < f64::MAX {
        LEAST.lock().expect("no panic before").push((name.to_owned(), least));
    }
    let counts = device.router.path_counts();
    println!("{name}: {} replayed", counts.replayed);
}

/// Times `traffic` through queues that are always full. `rate` is what each of `queues` is to have, in bits
/// per second, so that as much goes out as comes in; `script` makes them of that.
///
/// Two packets wait for each flow; chunks are sent in an order that no prefetcher foresees.
fn run_full(c: &mut Criterion, name: &str, queues: usize, script: impl Fn(u64) -> String) {
    const LEN: usize = 996; // 1,000 with the FCS
    const STEP: u64 = 20_000; // ns between two chunks: see `breathe`
    let flows = queues.max(CHUNK).next_multiple_of(CHUNK);
    // A thousandth less than what comes: they stay full.
    let rate = (CHUNK * LEN * 8 * 999) as u64 * 1_000_000 / STEP / queues as u64;
    let mut device = Device::with_frames(&format!("{NETS}{}", script(rate)), 4 * flows + 4 * CHUNK);
    device.introduce(0, MacAddr([6, 0, 0, 0, 0, 1]), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    device.introduce(1, MacAddr([6, 0, 0, 0, 0, 2]), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    let frame = |n: usize| {
        let flow = n * 7919 % flows;
        let client = ip(11, 0, 0, 0) + (flow % queues) as u32;
        let port = 10_000 + (flow / queues) as u16;
        let plain = craft::udp(client, port, ip(10, 0, 2, 1), 7);
        let (src_mac, dst_mac) = (MacAddr([6, 0, 0, 0, 0, 1]), own_mac(1));
        craft::Frame { src_mac, dst_mac, payload: &[0; LEN - 42], ..plain }.build()
    };
    let frames: Vec<Vec<u8>> = (0..flows).map(frame).collect();
    let mut chunks = frames.chunks_exact(CHUNK).cycle();
    let (mut sent, mut out) = (0, 0);
    let mut pass = |device: &mut Device, step: u64| {
        device.send(0, chunks.next().expect("there are some"));
        let time = device.breathe();
        device.now = device.now + Duration::from_nanos(step);
        sent += CHUNK;
        out += device.drain();
        (time, sent, out)
    };
    // Each queue's first packet comes in its own time, so that not all are due at once; then they come twice
    // as fast as they go, until two wait.
    for _ in 0..flows / CHUNK {
        pass(&mut device, 0);
    }
    for _ in 0..4 * flows / CHUNK {
        device.now = Moment::from_nanos(device.now.as_nanos() - STEP / 2);
        pass(&mut device, 0);
    }
    let mut group = c.benchmark_group("ns/packet");
    group.throughput(Throughput::Elements(CHUNK as u64));
    group.bench_function(name, |b| {
        b.iter_custom(|n| {
            let (_, sent, before) = pass(&mut device, 0);
            let waiting = sent - before;
            let total = (0..n).map(|_| pass(&mut device, 0).0).sum();
            let (_, sent, out) = pass(&mut device, 0);
            let lost = device.router.discards();
            let passed = out - before;
            assert!(waiting > queues && sent - out > queues, "{} wait {lost:?}", sent - out);
            assert!(passed > n as usize * CHUNK * 9 / 10, "{passed} of {n} chunks passed");
            total
        });
    });
    group.finish();
}

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2\n";

fn routed(script: &str) -> Device {
    tagged(&format!("{NETS}{script}"), [&[], &[]])
}

/// A router that knows a host on each side, whose frames have these tags.
fn tagged(script: &str, tags: [&'static [u16]; 2]) -> Device {
    let mut device = Device { tags, ..Device::new(script) };
    device.introduce(0, MacAddr([6, 0, 0, 0, 0, 1]), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    device.introduce(1, MacAddr([6, 0, 0, 0, 0, 2]), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    device
}

/// UDP both ways, `flows` connections of ten hosts, each with its own port. The connections of even
/// hosts are masqueraded if `nat`: their answers go to the router's address, the port being kept.
fn udp_flows(flows: usize, nat: bool) -> Vec<(usize, Vec<Vec<u8>>)> {
    let there = |n: usize| {
        let src = ip(10, 0, 1, 1) + (n / 1024) as u32;
        let frame = craft::udp(src, 10_000 + n as u16, ip(10, 0, 2, 1), 7);
        craft::Frame { src_mac: MacAddr([6, 0, 0, 0, 0, 1]), dst_mac: own_mac(1), ..frame }.build()
    };
    let back = |n: usize| {
        let src = ip(10, 0, 1, 1) + (n / 1024) as u32;
        let dst = if nat && src.is_multiple_of(2) { ip(10, 0, 2, 254) } else { src };
        let frame = craft::udp(ip(10, 0, 2, 1), 7, dst, 10_000 + n as u16);
        craft::Frame { src_mac: MacAddr([6, 0, 0, 0, 0, 2]), dst_mac: own_mac(2), ..frame }.build()
    };
    vec![(0, (0..flows).map(there).collect()), (1, (0..flows).map(back).collect())]
}

/// The real table if `WIRESPEED_ROUTES` names one (plain text or .gz), else one like it.
fn routes() -> Vec<Ipv4Prefix> {
    read_routes().map_or_else(|| synthetic::prefixes(900_000, 1), |list| list.ipv4)
}

/// The same of IPv6.
fn routes6() -> Vec<Ipv6Prefix> {
    let mut routes =
        read_routes().map_or_else(|| synthetic6::prefixes(160_000, 1), |list| list.ipv6);
    routes.sort_unstable();
    routes.dedup();
    routes
}

fn read_routes() -> Option<list::PrefixList> {
    let path = std::env::var_os("WIRESPEED_ROUTES")?;
    let file = std::fs::File::open(&path).expect("the table");
    let read: Box<dyn std::io::Read> = match path.to_string_lossy().ends_with(".gz") {
        true => Box::new(flate2::read::GzDecoder::new(file)),
        false => Box::new(file),
    };
    Some(list::read(std::io::BufReader::new(read)).expect("prefixes"))
}

fn hosts(device: &mut Device, n: u8) {
    for host in 0..n {
        let mac = MacAddr([6, 0, 0, 0, 0, 1]);
        device.introduce(0, mac, ip(10, 0, 1, 1 + host), ip(10, 0, 1, 254));
    }
}

fn tag_all(frames: &[Vec<u8>], tags: &[u16]) -> Vec<Vec<u8>> {
    frames.iter().map(|frame| with_tags(frame, tags)).collect()
}

/// MikroTik's default firewall for IPv4, without its fasttrack rule.
const DEFAULT_FIREWALL: &str = "/ip firewall filter
add chain=input action=accept connection-state=established,related,untracked
add chain=input action=drop connection-state=invalid
add chain=input action=accept protocol=icmp
add chain=forward action=accept connection-state=established,related,untracked
add chain=forward action=drop connection-state=invalid
add chain=forward action=drop connection-state=new connection-nat-state=!dstnat in-interface=ether2
/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade\n";

/// Frames by the port that they come to.
type Traffic = Vec<(usize, Vec<Vec<u8>>)>;

/// A router with a queue for each of `n` clients, and UDP both ways of `flows` of them, from all over.
fn clients(n: usize, flows: usize) -> (Device, Traffic) {
    let route = "/ip route add dst-address=11.0.0.0/8 gateway=10.0.1.1";
    let mut device = routed(route);
    let mut tree = tree_of(&device.router, &format!("{NETS}{route}"));
    for client in 0..n as u32 {
        let target = Value::List(vec![Value::Cidr((ip(11, 0, 0, 0) + client).into(), 32)]);
        let (up, down) = (Value::Rate(10_000_000_000), Value::Rate(10_000_000_000));
        let limit = Value::Pair(Box::new(up), Box::new(down));
        tree.push(&SIMPLE, BTreeMap::from([("target", target), ("max-limit", limit)]));
    }
    device.router.configure(&tree, device.now).expect("no routes");
    let client = |flow: usize| ip(11, 0, 0, 0) + (flow * (n / flows)) as u32;
    let there = |flow: usize| {
        let frame = craft::udp(client(flow), 10_000, ip(10, 0, 2, 1), 7);
        craft::Frame { src_mac: MacAddr([6, 0, 0, 0, 0, 1]), dst_mac: own_mac(1), ..frame }.build()
    };
    let back = |flow: usize| {
        let frame = craft::udp(ip(10, 0, 2, 1), 7, client(flow), 10_000);
        craft::Frame { src_mac: MacAddr([6, 0, 0, 0, 0, 2]), dst_mac: own_mac(2), ..frame }.build()
    };
    (device, vec![(0, (0..flows).map(there).collect()), (1, (0..flows).map(back).collect())])
}

fn rules() -> String {
    (0..25)
        .map(|n| format!("add chain=forward src-address=172.16.{n}.0/24 action=drop\n"))
        .fold("/ip firewall filter\n".to_owned(), |all, rule| all + &rule)
}

/// 25 rules in each of raw, mangle and filter, of which mangle's last two mark connections and packets,
/// NAT for the even hosts, and simple queues.
fn marked(queues: u8) -> String {
    let nothing = |chain: &str, n: usize| -> String {
        (0..n)
            .map(|n| format!("add chain={chain} src-address=172.16.{n}.0/24 action=drop\n"))
            .collect()
    };
    let pass = |rules: String| rules.replace("action=drop", "action=passthrough");
    let nat: String = (2..=10)
        .step_by(2)
        .map(|host| format!("add chain=srcnat src-address=10.0.1.{host} action=masquerade\n"))
        .collect();
    let queues: String = (0..queues)
        .map(|n| format!("/queue simple add target=10.0.1.{}/32 max-limit=10G/10G\n", 1 + n))
        .collect();
    format!(
        "{queues}/ip firewall raw\n{}/ip firewall mangle\n{}\
         add chain=prerouting connection-mark=no-mark action=mark-connection \
         new-connection-mark=c passthrough=yes\n\
         add chain=prerouting connection-mark=c action=mark-packet new-packet-mark=p\n\
         /ip firewall filter\n{}/ip firewall nat\n{nat}",
        nothing("prerouting", 25),
        pass(nothing("prerouting", 23)),
        nothing("forward", 25),
    )
}

fn paths(c: &mut Criterion) {
    let flows = 10 * CHUNK;

    let mut device = routed("");
    hosts(&mut device, 10);
    run(c, "routing, small table", &mut device, &udp_flows(flows, false));

    let routes = routes();
    let mut device = routed("");
    let ether2 = device.router.program().names.find("ether2").expect("a port");
    let target = Target::Gateways(vec![(ether2, ip(10, 0, 2, 1))]);
    device.router.feed_routes(routes.iter().map(|&prefix| (prefix, target.clone()))).expect("one");
    let mut random = 1u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize
    };
    let frames = (0..1 << 18).map(|_| {
        let prefix = routes[next() % routes.len()];
        let dst = prefix.bits() + (next() as u32 & (prefix.last() - prefix.bits()));
        let frame = craft::udp(ip(10, 0, 1, 1), 1, dst, 7);
        craft::Frame { dst_mac: own_mac(1), ..frame }.build()
    });
    let frames: Vec<_> = frames.collect();
    run(c, "routing, full table, random", &mut device, &[(0, frames)]);

    let mut device = Device::new(
        "/interface bridge add protocol-mode=none\n/interface bridge port\nadd bridge=bridge1 interface=ether1\n\
         add bridge=bridge1 interface=ether2",
    );
    let mac = |side: u8, n: usize| MacAddr([6, side, 0, 0, (n >> 8) as u8, n as u8]);
    let frames = |from: u8, to: u8| {
        let frame = move |n: usize| craft::Frame {
            src_mac: mac(from, n % 500),
            dst_mac: mac(to, (n * 7) % 500),
            ..craft::udp(1 << 24, 1, 2 << 24, 7)
        };
        (0..CHUNK * 4).map(|n| frame(n).build()).collect::<Vec<_>>()
    };
    let traffic = [(0, frames(1, 2)), (1, frames(2, 1))];
    run(c, "bridging, 1,000 hosts", &mut device, &traffic);

    let mut device = Device::new(
        "/interface bridge add protocol-mode=none vlan-filtering=yes\n/interface bridge port\n\
         add bridge=bridge1 interface=ether1 pvid=10\nadd bridge=bridge1 interface=ether2 pvid=10",
    );
    run(c, "bridging, 1,000 hosts, access to access port", &mut device, &traffic);

    let mut device = Device::new(
        "/interface bridge add protocol-mode=none vlan-filtering=yes\n/interface bridge port\n\
         add bridge=bridge1 interface=ether1 pvid=10\nadd bridge=bridge1 interface=ether2\n\
         /interface bridge vlan add bridge=bridge1 vlan-ids=10 tagged=ether2",
    );
    let vlan = [(0, traffic[0].1.clone()), (1, tag_all(&traffic[1].1, &[10]))];
    run(c, "bridging, 1,000 hosts, access to trunk port", &mut device, &vlan);

    let bridge_rules: String = (0..25)
        .map(|n| format!("add chain=forward src-mac-address=06:FF:00:00:00:{n:02X} action=drop\n"))
        .fold(String::new(), |all, rule| all + &rule);
    let mut device = Device::new(&format!(
        "/interface bridge add protocol-mode=none\n/interface bridge port\nadd bridge=bridge1 interface=ether1\n\
         add bridge=bridge1 interface=ether2\n/interface bridge filter\n{bridge_rules}",
    ));
    run(c, "bridging, 1,000 hosts, 25 filter rules", &mut device, &traffic);

    let mut device = routed("/ip firewall connection tracking set enabled=yes\n");
    hosts(&mut device, 10);
    run(c, "conntrack, 10,000 flows", &mut device, &udp_flows(flows, false));

    let mut device = routed(&rules());
    hosts(&mut device, 10);
    // Tracked, since there are rules.
    run(c, "25 filter rules, 10,000 flows", &mut device, &udp_flows(flows, false));

    let queues: String = (0..25)
        .map(|n| format!("add target=10.0.1.{}/32 max-limit=10G/10G\n", 1 + n))
        .fold("/queue simple\n".to_owned(), |all, queue| all + &queue);
    let mut device = routed(&queues);
    hosts(&mut device, 10);
    run(c, "25 simple queues, 10,000 flows", &mut device, &udp_flows(flows, false));

    for n in [25_000, 1_000_000] {
        let (mut device, traffic) = clients(n, flows);
        run(c, &format!("{n} simple queues, 10,000 flows of as many"), &mut device, &traffic);
        println!("  {} B of queues", device.router.queue_bytes());
    }

    let route = "/ip route add dst-address=11.0.0.0/8 gateway=10.0.1.1\n";
    let of_clients = |kind: &'static str| {
        move |rate: u64| {
            let head = format!("{route}/queue type add name=kind kind={kind}\n/queue simple\n");
            (0..25_000).fold(head, |all, n| {
                let client = format!("11.0.{}.{}", n >> 8, n & 255);
                let limit = format!("max-limit={rate}/{rate} bucket-size=0/0 queue=kind/kind");
                all + &format!("add name=q{n} target={client} {limit}\n")
            })
        }
    };
    for kind in ["pfifo", "fq-codel"] {
        run_full(c, &format!("25,000 {kind} queues, all full"), 25_000, of_clients(kind));
    }
    for kind in ["fq-codel", "cake"] {
        run_full(c, &format!("{kind}, full, 1,024 flows"), 1, |rate| {
            format!(
                "{route}/queue type add name=kind kind={kind}\n/queue simple \
                 add target=11.0.0.0 max-limit={rate}/{rate} bucket-size=0/0 queue=kind/kind"
            )
        });
    }

    for (queues, with) in [(0, ""), (25, ", 25 simple queues")] {
        let mut device = routed(&marked(queues));
        hosts(&mut device, 10);
        let rules = "25 rules each of raw, mangle, filter, marks, 10,000 flows, half masqueraded";
        run(c, &format!("{rules}{with}"), &mut device, &udp_flows(flows, true));
    }

    let mut device = routed(&first::rules(10_000));
    hosts(&mut device, 10);
    run(c, "10,000 filter rules, 10,000 flows", &mut device, &udp_flows(flows, false));

    let mut device = routed(
        "/ip firewall mangle\nadd chain=prerouting action=change-dscp new-dscp=46\n\
         add chain=postrouting action=change-ttl new-ttl=set:64\n",
    );
    hosts(&mut device, 10);
    run(c, "DSCP and TTL set, 10,000 flows", &mut device, &udp_flows(flows, false));

    let script = "add chain=forward action=fasttrack-connection connection-state=established\n\
                  add chain=forward action=accept connection-state=established\n";
    let nat: String = (2..=10)
        .step_by(2)
        .map(|host| format!("add chain=srcnat src-address=10.0.1.{host} action=masquerade\n"))
        .fold("/ip firewall nat\n".to_owned(), |all, rule| all + &rule);
    let mut device = routed(&format!("{}{script}{nat}", rules()));
    hosts(&mut device, 10);
    run(c, "fasttrack, 10,000 flows, half masqueraded", &mut device, &udp_flows(flows, true));
}

/// Ways through interfaces that stand on ports, each beside the same without them.
fn links(c: &mut Criterion) {
    let flows = 10 * CHUNK;
    let nat: Vec<_> = udp_flows(flows, false).into_iter().take(1).collect();

    let mut device = routed(DEFAULT_FIREWALL);
    hosts(&mut device, 10);
    run(c, "default firewall, port to port", &mut device, &nat);

    let mut device = tagged(
        &format!(
            "/interface bridge add protocol-mode=none\n/interface bridge port add bridge=bridge1 interface=ether1
/ip address\nadd address=10.0.1.254/24 interface=bridge1
add address=10.0.2.254/24 interface=ether2\n{DEFAULT_FIREWALL}"
        ),
        [&[], &[]],
    );
    hosts(&mut device, 10);
    run(c, "default firewall, bridge to port", &mut device, &nat);

    let traffic = udp_flows(flows, false);
    let over = |tags: &[u16]| -> Vec<_> {
        traffic.iter().map(|(port, frames)| (*port, tag_all(frames, tags))).collect()
    };
    let vlans = "/interface vlan\nadd name=v1 interface=ether1 vlan-id=10
add name=v2 interface=ether2 vlan-id=10
/ip address\nadd address=10.0.1.254/24 interface=v1\nadd address=10.0.2.254/24 interface=v2\n";
    let mut device = tagged(vlans, [&[10], &[10]]);
    hosts(&mut device, 10);
    run(c, "routing, small table, VLAN to VLAN", &mut device, &over(&[10]));

    let tracked = "/ip firewall connection tracking set enabled=yes\n";
    let mut device = tagged(&format!("{vlans}{tracked}"), [&[10], &[10]]);
    hosts(&mut device, 10);
    run(c, "conntrack, 10,000 flows, VLAN to VLAN", &mut device, &over(&[10]));

    let mut device = tagged(
        "/interface vlan\nadd name=o1 interface=ether1 vlan-id=100 use-service-tag=yes
add name=o2 interface=ether2 vlan-id=100 use-service-tag=yes
add name=v1 interface=o1 vlan-id=10\nadd name=v2 interface=o2 vlan-id=10
/ip address\nadd address=10.0.1.254/24 interface=v1\nadd address=10.0.2.254/24 interface=v2\n",
        [&[100, 10], &[100, 10]],
    );
    hosts(&mut device, 10);
    run(c, "routing, small table, QinQ to QinQ", &mut device, &over(&[100, 10]));
}

/// Ways into tunnels and out of them, without anything else and with connections tracked. A tunnel's other
/// end is the host behind the second port.
fn tunnels(c: &mut Criterion) {
    let flows = 10 * CHUNK;
    const L2TP: &str = "local-session-id=1 remote-session-id=1 peer-cookie=deadbeef \
                        send-cookie=deadbeef l2tp-proto-version=l2tpv3-ip unmanaged-mode=yes";
    let l2tp = format!("connect-to=10.0.2.1 allow-fast-path=yes {L2TP}");
    let usual = "remote-address=10.0.2.1 keepalive=0s,0";
    let eoip = format!("{usual} tunnel-id=1");
    let kinds = [("ipip", usual), ("gre", usual), ("eoip", &eoip), ("l2tp-ether", &l2tp)];
    for (menu, ends) in kinds {
        for (with, tracked) in [("", "auto"), (", conntrack", "yes")] {
            let mut device = routed(&format!(
                "/interface {menu} add name=t1 {ends}
/ip address add address=10.0.9.254/24 interface=t1
/ip firewall connection tracking set enabled={tracked}\n"
            ));
            hosts(&mut device, 10);
            let program = device.router.program();
            let own = program.interface(program.names.find("t1").expect("the tunnel")).mac;
            let far = MacAddr([6, 0, 0, 0, 9, 1]);
            let request = ArpMessage::request(far, ip(10, 0, 9, 1), ip(10, 0, 9, 254));
            if ["eoip", "l2tp-ether"].contains(&menu) {
                device.send(1, &[outer(menu, &craft::arp(request).build())]);
                device.breathe();
                device.drain();
            }
            let plain = udp_flows(flows, false).swap_remove(0).1;
            let there = plain.iter().map(|frame| to(frame, ip(10, 0, 9, 1)));
            let back = |n: usize| {
                let dst = ip(10, 0, 1, 1) + (n / 1024) as u32;
                let inner = craft::udp(ip(10, 0, 9, 1), 7, dst, 10_000 + n as u16);
                // The packet of a 64-byte frame: shorter ones, which Ethernet would pad, have no recipe.
                let inner = craft::Frame { payload: &[0; 18], ..inner };
                outer(menu, &craft::Frame { src_mac: far, dst_mac: own, ..inner }.build())
            };
            let traffic = [(0, there.collect()), (1, (0..flows).map(back).collect())];
            run(c, &format!("{menu}, in and out{with}"), &mut device, &traffic);
        }
    }
}

/// Sessions with a client behind the second port, and a bond of that port.
fn sessions(c: &mut Criterion) {
    let flows = 10 * CHUNK;
    for kind in sessions::KINDS {
        // A rule that changes the MSS, which the profile makes, looks at each first segment.
        let bare = "/ppp profile set default change-tcp-mss=no\n";
        let tracked = "/ip firewall connection tracking set enabled=yes\n";
        for (with, more) in [("", bare), (", conntrack", tracked)] {
            let (mut device, traffic) = sessions::logged_in(kind, more, flows, 0);
            run(c, &format!("{}, in and out{with}", kind.0), &mut device, &traffic);
        }
    }
    let of = sessions::ipsec;
    for (name, (server, client)) in [
        ("IPsec, AES-128-GCM", of("enc-algorithms=aes-128-gcm")),
        ("IPsec, AES-128-CBC and SHA-1", of("enc-algorithms=aes-128-cbc auth-algorithms=sha1")),
        ("IPsec, AES-256-CBC and SHA-256", of("enc-algorithms=aes-256-cbc auth-algorithms=sha256")),
        ("WireGuard", sessions::wireguard()),
    ] {
        for (len, payload) in [(64, 18), (1400, 1354)] {
            let kind = (name, &server[..], &client[..]);
            let (mut device, mut traffic) = sessions::logged_in(kind, "", flows, payload);
            traffic.truncate(1);
            run(c, &format!("{name}, {len} bytes, out"), &mut device, &traffic);
        }
    }
    let bond = "/interface bonding add slaves=ether2 mode=balance-xor\n";
    let nets = NETS.replace("interface=ether2", "interface=bonding1");
    let mut device = tagged(&format!("{bond}{nets}"), [&[], &[]]);
    hosts(&mut device, 10);
    run(c, "bond (balance-xor), small table", &mut device, &udp_flows(flows, false));
}

/// A UDP frame to another destination.
fn to(frame: &[u8], dst: u32) -> Vec<u8> {
    let layers = wire::layers::parse(frame).expect("a frame of ours");
    let (src, tuple) = (layers.tuple.src, layers.tuple);
    let again = craft::udp(src, tuple.src_port, dst, tuple.dst_port);
    craft::Frame { src_mac: MacAddr([6, 0, 0, 0, 0, 1]), dst_mac: own_mac(1), ..again }.build()
}

/// A frame in a tunnel's outer packet.
fn outer(menu: &str, inner: &[u8]) -> Vec<u8> {
    let ip_len = usize::from(u16::from_be_bytes([inner[16], inner[17]]));
    let (protocol, payload) = match menu {
        "ipip" => (protocol::IPIP, inner[14..14 + ip_len].to_vec()),
        "gre" => (protocol::GRE, [&gre::header(0x0800), &inner[14..14 + ip_len]].concat()),
        "l2tp-ether" => {
            let session = [0, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef];
            (protocol::L2TP, [&session, inner].concat())
        }
        _ => (protocol::GRE, [&gre::eoip(1, inner.len() as u16), inner].concat()),
    };
    let (src, dst, body) = (ip(10, 0, 2, 1), ip(10, 0, 2, 254), craft::Body::Ip { protocol });
    let (src_mac, dst_mac) = (MacAddr([6, 0, 0, 0, 0, 2]), own_mac(2));
    craft::Frame { src_mac, dst_mac, src, dst, body, payload: &payload, ..Default::default() }
        .build()
}

/// IPv6: frames of 66 bytes, the shortest that carry UDP (62 and the FCS), which IPv4's rows fill to 64.
fn ipv6(c: &mut Criterion) {
    let flows = six::udp_flows(10 * CHUNK);

    let mut device = six::routed("");
    run(c, "IPv6 routing, small table", &mut device, &flows);

    let routes = routes6();
    let mut device = six::routed("");
    six::feed(&mut device, &routes);
    run(
        c,
        "IPv6 routing, full table, random",
        &mut device,
        &[(0, six::anywhere(&routes, 1 << 18))],
    );

    let mut device = six::routed("/ip firewall connection tracking set enabled=yes\n");
    run(c, "IPv6 conntrack, 10,000 flows", &mut device, &flows);

    let mut device = six::routed(&six::rules());
    run(c, "IPv6, 25 filter rules, 10,000 flows", &mut device, &flows);

    let fasttrack = "add chain=forward action=fasttrack-connection connection-state=established\n\
                     add chain=forward action=accept connection-state=established\n";
    let mut device = six::routed(&format!("{}{fasttrack}", six::rules()));
    run(c, "IPv6 fasttrack, 10,000 flows", &mut device, &flows);
}

/// Each way that was measured beside testpmd: 1.0 means as fast.
fn beside_testpmd(_: &mut Criterion) {
    let Some(theirs) = testpmd::ns_per_packet() else { return };
    println!("dpdk-testpmd, mac, two null devices: {theirs:.1} ns a packet");
    for (name, ours) in LEAST.lock().expect("no panic before").iter() {
        println!("{:5.2} of it: {ours:6.1} ns a packet, {name}", theirs / ours);
    }
}

criterion_group!(
    benches,
    paths,
    links,
    tunnels,
    sessions,
    ipv6,
    labels::labels,
    first::first,
    beside_testpmd
);
criterion_main!(benches);
