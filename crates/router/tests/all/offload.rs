//! Super-frames and checksums that are not written yet: what comes out is what would have come out
//! had the sender finished them.

use crate::rig::{Rig, mac, own_mac};
use port::slab::Slots;
use port::{Capabilities, Offloads, Slab};
use wire::Offload;
use wire::craft::{self, Body, ip};
use wire::segment::{self, Large};
use wire::tcp::{TcpFlags, TcpHeader};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
";
const NAT: &str = "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade
/ip firewall filter
add chain=forward protocol=tcp dst-port=99 action=drop
add chain=forward connection-state=established,related action=accept
add chain=forward connection-state=invalid action=drop
";
const BRIDGE: &str = "/interface bridge add name=bridge1 protocol-mode=none
/interface bridge port
add interface=ether1 bridge=bridge1
add interface=ether2 bridge=bridge1
";

/// A router whose ether2 does this for frames.
fn router(script: &str, offload: Offloads) -> Rig {
    let slab = Slab::with(300, Slots::holding(60_000).unwrap()).unwrap();
    let rest = Capabilities { offload, ..Capabilities::default() };
    let mut rig = Rig::with_slab(&slab, &[Capabilities::default(), rest]);
    rig.run(script);
    if script.contains("address") {
        rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    }
    rig
}

/// Frames of one connection, taken up in its midst: `payload` as TCP or UDP.
fn conversation(tcp: bool, bridged: bool, dont_fragment: bool, payload: &[u8]) -> Vec<Vec<u8>> {
    let dst_mac = if bridged { mac(2) } else { own_mac(1) };
    let frame = craft::Frame {
        src_mac: mac(1),
        dst_mac,
        ident: 77,
        dont_fragment,
        ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000)
    };
    if !tcp {
        return vec![craft::Frame { payload, ..frame }.build()];
    }
    let header =
        TcpHeader { src_port: 1000, dst_port: 2000, window: 60_000, ..TcpHeader::default() };
    let segment = |seq, flags, payload| {
        let body = Body::Tcp { header: TcpHeader { seq, flags, ..header }, options: &[] };
        craft::Frame { body, payload, ..frame }.build()
    };
    let push = TcpFlags::ACK | TcpFlags::PSH;
    vec![segment(1, push, payload), segment(1 + payload.len() as u32, push, payload)]
}

/// Sends what the sender left unfinished through one router, the finished frames through another;
/// returns what came out of each.
fn both(
    script: &str,
    offload: Offloads,
    frames: &[Vec<u8>],
    size: u16,
) -> [Vec<(usize, Vec<u8>)>; 2] {
    let (mut unfinished, mut finished) = (router(script, offload), router(script, offload));
    let (mut got, mut expected) = (vec![], vec![]);
    for frame in frames {
        let note = Offload::of(frame, 34, size).unwrap();
        let mut raw = frame.clone();
        segment::prepare(&mut raw, note);
        unfinished.send_unfinished(1, &raw, Some(note));
        unfinished.breathe();
        for port in 1..=2 {
            for (mut bytes, note) in unfinished.take_unfinished(port) {
                let Some(note) = note else {
                    got.push((port, bytes));
                    continue;
                };
                assert!(offload.take(note), "the port cannot {note:?}");
                match Large::new(&bytes, note) {
                    Some(large) => got.extend(cut(large).into_iter().map(|bytes| (port, bytes))),
                    None => {
                        segment::complete(&mut bytes, note);
                        got.push((port, bytes));
                    }
                }
            }
        }
        match Large::new(frame, note) {
            Some(large) => {
                for segment in cut(large) {
                    expected.extend(finished.pass(1, &segment));
                }
            }
            None => expected.extend(finished.pass(1, frame)),
        }
    }
    for rig in [&unfinished, &finished] {
        assert!(rig.router.frames().balance(), "{:?}", rig.router.frames());
        assert_eq!(rig.frames_in_use() as u64, rig.router.frames().held);
    }
    [got, expected]
}

fn cut(large: Large<'_>) -> Vec<Vec<u8>> {
    let segment = |n| {
        let mut bytes = vec![0; large.segment_len(n)];
        large.write(n, &mut bytes);
        bytes
    };
    (0..large.len()).map(segment).collect()
}

#[test]
fn what_comes_out_is_what_the_finished_frames_would_be() {
    let all = Offloads { checksum: true, tcp: true, udp: true };
    let payload: Vec<u8> = (0..50_000u32).map(|n| (n * 7 % 251) as u8).collect();
    for (name, script) in
        [("routed", NETS), ("translated", &format!("{NETS}{NAT}")), ("bridged", BRIDGE)]
    {
        for tcp in [true, false] {
            for offload in [Offloads::NONE, Offloads { tcp: false, udp: false, ..all }, all] {
                for len in [20, 1400, 3000, 50_000] {
                    let frames = conversation(tcp, name == "bridged", true, &payload[..len]);
                    let [got, expected] = both(script, offload, &frames, 1448);
                    let says = format!("{name} tcp={tcp} {offload:?} {len}");
                    assert!(got == expected, "{says}: {} for {}", got.len(), expected.len());
                    let least = frames.len() * len.div_ceil(1448);
                    assert!(got.iter().filter(|(port, _)| *port == 2).count() >= least, "{says}");
                }
            }
        }
    }
}

#[test]
fn an_mtu_is_compared_with_a_segment() {
    let small = format!("{NETS}/interface ethernet set ether2 mtu=1000\n");
    let payload = [5; 3000];
    for tcp in [true, false] {
        // Without DF each segment is fragmented, as it would have been alone.
        let frames = conversation(tcp, false, false, &payload);
        let [got, expected] = both(&small, Offloads::NONE, &frames, 1400);
        assert_eq!(got, expected);
        assert!(got.len() >= 5 && got.iter().all(|(_, frame)| frame.len() <= 1014));
        // With DF the sender is told.
        let frames = conversation(tcp, false, true, &payload);
        let [got, _] = both(&small, Offloads::NONE, &frames[frames.len() - 1..], 1400);
        let [(1, icmp)] = &got[..] else { panic!("{got:02x?}") };
        assert_eq!(icmp[34..36], [3, 4], "fragmentation needed");
        // And what fits passes whole.
        let [got, expected] = both(&small, Offloads::NONE, &frames, 900);
        assert_eq!(got, expected);
    }
}

/// A queue counts what will be on the wire: each segment with its headers.
#[test]
fn a_queue_counts_segments() {
    let script = format!("{NETS}/queue simple add target=10.0.1.1/32 max-limit=1G/1G\n");
    let frames = conversation(false, false, true, &[1; 10_000]);
    let mut counts = vec![];
    for unfinished in [true, false] {
        let mut rig = router(&script, Offloads::NONE);
        let note = Offload::of(&frames[0], 34, 1000).unwrap();
        if unfinished {
            rig.send_unfinished(1, &frames[0], Some(note));
        } else {
            let large = Large::new(&frames[0], note).unwrap();
            cut(large).iter().for_each(|segment| rig.send(1, segment));
        }
        rig.breathe();
        assert_eq!(rig.take(2).len(), 10);
        let [stats] = &rig.router.queue_stats(rig.console.tree())[..] else { panic!("one queue") };
        counts.push(stats[0].bytes + stats[1].bytes);
    }
    assert_eq!(counts, [10 * (1000 + 28 + 14); 2]);
}
