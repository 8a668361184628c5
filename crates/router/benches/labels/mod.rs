//! MPLS: labels switched, taken off, put on; of as many networks as labels.

use crate::device::{CHUNK, Device, own_mac};
use crate::{hosts, routed, run, udp_flows};
use criterion::Criterion;
use std::fmt::Write;
use wire::MacAddr;
use wire::craft::{self, ip};
use wire::mpls::{ETHERTYPE_MPLS, Entry, Label};

/// Networks, and labels.
const N: u32 = 1000;
/// The first of ours.
const FIRST: u32 = 1000;

/// A router whose next hop wants to see these labels: none for networks behind it if there is no `first`.
fn switching(first: Option<u32>) -> Device {
    let mut script = String::new();
    for n in 0..N {
        let net = format!("10.{}.{}.0/24", 100 + n / 256, n % 256);
        let theirs = first.map_or("impl-null".to_string(), |first| (first + n).to_string());
        _ = write!(
            script,
            "/ip route add dst-address={net} gateway=10.0.2.1\n\
             /mpls local-bindings add dst-address={net} label={}\n\
             /mpls remote-bindings add dst-address={net} nexthop=10.0.2.1 label={theirs}\n",
            FIRST + n
        );
    }
    let mut device = routed(&script);
    device.breathe();
    device
}

/// Frames with labels in a random order, 64 bytes with the FCS.
fn labelled() -> Vec<(usize, Vec<Vec<u8>>)> {
    let mut random = 1u64;
    let mut frame = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let n = (random >> 33) as u32 % N;
        let dst = ip(10, (100 + n / 256) as u8, (n % 256) as u8, 1);
        let plain = craft::udp(ip(10, 0, 1, 1), 1, dst, 7);
        let (src_mac, dst_mac) = (MacAddr([6, 0, 0, 0, 0, 1]), own_mac(1));
        let plain = craft::Frame { src_mac, dst_mac, ..plain }.build();
        let label = Label::new(FIRST + n).expect("a label");
        let entry = Entry { label, class: 0, is_bottom: true, ttl: 60 };
        let mut bytes = plain[..12].to_vec();
        bytes.extend(ETHERTYPE_MPLS.to_be_bytes());
        bytes.extend(entry.bytes());
        bytes.extend(&plain[14..56]);
        bytes
    };
    vec![(0, (0..16 * CHUNK).map(|_| frame()).collect())]
}

pub(crate) fn labels(c: &mut Criterion) {
    let mut device = switching(Some(5000));
    run(c, "1,000 labels, another one", &mut device, &labelled());
    let mut device = switching(None);
    run(c, "1,000 labels, taken off", &mut device, &labelled());
    let push = "/mpls remote-bindings add dst-address=11.0.0.0/8 nexthop=10.0.2.1 label=77
        /ip route add dst-address=11.0.0.0/8 gateway=10.0.2.1\n";
    let frames = |flows: usize| {
        let to = |frame: &Vec<u8>| {
            let (ports, plain) = (u16::from_be_bytes([frame[34], frame[35]]), ip(10, 0, 1, 1));
            let out = craft::udp(plain, ports, ip(11, 0, 0, 1), 7);
            craft::Frame { dst_mac: own_mac(1), ..out }.build()
        };
        vec![(0, udp_flows(flows, false)[0].1.iter().map(to).collect())]
    };
    let mut device = routed(push);
    hosts(&mut device, 1);
    run(c, "a label put on, small table", &mut device, &frames(4 * CHUNK));
    let mut device = routed(&format!("{push}/ip firewall connection tracking set enabled=yes\n"));
    hosts(&mut device, 1);
    run(c, "a label put on, conntrack", &mut device, &frames(4 * CHUNK));
}
