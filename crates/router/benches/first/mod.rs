//! First packets: each packet a connection of its own, while those before it come to their ends.
//!
//! ```text
//! 1 µs of the router's clock a packet, udp-timeout=1s ─► a million connections, begun and ended at that rate
//! ```

use super::device::{CHUNK, Device, own_mac};
use criterion::{Criterion, Throughput};
use std::fmt::Write;
use std::time::Duration;
use wire::craft::{self, ip};
use wire::{MacAddr, Moment};

/// Connections that live at the same time.
const LIVE: usize = 1 << 20;

/// A million connections a second, and a way to all destinations.
const NETS: &str = "/ip firewall connection tracking set udp-timeout=1s
/ip address\nadd address=10.0.1.254/24 interface=ether1\nadd address=10.0.2.254/24 interface=ether2
/ip route\nadd dst-address=0.0.0.0/0 gateway=10.0.2.1\nadd dst-address=10.1.0.0/16 gateway=10.0.1.1\n";

/// Rules of networks, hosts and ports, as ClassBench's lists have them; none decides.
pub(crate) fn rules(n: u32) -> String {
    let mut script = "/ip firewall filter\n".to_string();
    for i in 0..n {
        let hash = i.wrapping_mul(0x9e37_79b9) >> 8;
        let (net, host, port) = (hash % 200, hash / 200 % 250, 1000 + hash / 50_000 % 2000);
        let rule = match i % 4 {
            0 => format!("src-address=10.1.{net}.{host} protocol=udp"),
            1 => format!("src-address=10.1.{net}.0/24 dst-address=10.3.{host}.0/24"),
            2 => format!("dst-address=10.3.{net}.{host} protocol=udp dst-port={port}"),
            _ => format!("protocol=udp dst-address=10.3.{net}.0/24 dst-port={port}-{}", port + 20),
        };
        writeln!(script, "add chain=forward action=passthrough {rule}").expect("a string");
    }
    script
}

/// The `n`th connection's first packet, from and to anywhere.
fn frame(n: u64) -> Vec<u8> {
    let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let [a, b, c, d, e, f, g, h] = hash.to_be_bytes();
    let (src, dst) = (ip(10, 1, a % 200, b % 250), ip(10, 3, c % 200, d % 250));
    let ports = [u16::from_be_bytes([e, f]) | 1024, 1000 + u16::from_be_bytes([g, h]) % 2048];
    let plain = craft::udp(src, ports[0], dst, ports[1]);
    let (src_mac, dst_mac) = (MacAddr([6, 0, 0, 0, 0, 1]), own_mac(1));
    craft::Frame { src_mac, dst_mac, ..plain }.build()
}

/// The same from 64 hosts to 64 others and four ports: their classes are warm, their connections are not.
fn frame_of_few(n: u64) -> Vec<u8> {
    let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let [a, b, c, d, e, ..] = hash.to_be_bytes();
    let (src, dst) = (ip(10, 1, a % 8, b % 8), ip(10, 3, c % 8, d % 8));
    let plain = craft::udp(src, (n >> 4) as u16 | 1024, dst, 1000 + u16::from(e % 4) * 500);
    let (src_mac, dst_mac) = (MacAddr([6, 0, 0, 0, 0, 1]), own_mac(1));
    craft::Frame { src_mac, dst_mac, ..plain }.build()
}

/// Times chunks of first packets, nanoseconds a packet.
fn run(c: &mut Criterion, name: &str, script: &str, frame: fn(u64) -> Vec<u8>) {
    let mut device = Device::new(&format!("{NETS}{script}"));
    for side in [1, 2] {
        let mac = MacAddr([6, 0, 0, 0, 0, side]);
        device.introduce(usize::from(side) - 1, mac, ip(10, 0, side, 1), ip(10, 0, side, 254));
    }
    let mut n = 0;
    let mut pass = |device: &mut Device| {
        let frames: Vec<_> = (n..n + CHUNK as u64).map(frame).collect();
        n += CHUNK as u64;
        device.send(0, &frames);
        device.now = Moment::from_nanos(device.now.as_nanos() + 1000 * CHUNK as u64 - 20_000);
        let time = device.breathe();
        let out = device.drain();
        let lost = device.router.discards();
        assert!((CHUNK..CHUNK + 4).contains(&out), "{out} of {CHUNK}: {lost:?}");
        time
    };
    for _ in 0..2 * LIVE / CHUNK {
        pass(&mut device);
    }
    let mut group = c.benchmark_group("ns/packet");
    group.throughput(Throughput::Elements(CHUNK as u64));
    group.bench_function(name, |b| {
        b.iter_custom(|times| (0..times).map(|_| pass(&mut device)).sum::<Duration>());
    });
    group.finish();
}

/// New connections with few rules and NAT, and with many.
pub(crate) fn first(c: &mut Criterion) {
    let nat = "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade\n";
    run(c, "first packets, tracked", "/ip firewall connection tracking set enabled=yes\n", frame);
    let few = format!("{}{nat}", super::rules());
    run(c, "first packets, 25 filter rules, masqueraded", &few, frame);
    let many = rules(10_000);
    run(c, "first packets, 10,000 filter rules", &many, frame);
    let without = "/ip firewall connection tracking set enabled=no\n";
    let many = format!("{without}{many}");
    run(c, "first packets, 10,000 filter rules, not tracked", &many, frame);
    run(c, "first packets, 10,000 filter rules, not tracked, warm classes", &many, frame_of_few);
}
