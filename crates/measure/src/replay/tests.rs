//! Captures read, parted, readdressed, played, and known again.

use super::*;
use crate::schedule::Rate;
use port::record::Record;
use port::{Batch, Slab, memory, pcap};
use proptest::prelude::*;
use std::net::IpAddr;
use std::time::Duration;
use wire::{BitRate, FrameLen, Moment, PacketRate, checksum, craft};

const GIGABIT: BitRate = BitRate(1e9);

fn file(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = pcap::Writer::new(vec![]).unwrap();
    for (ns, bytes) in frames {
        writer.write(&Record::ethernet(*ns, bytes)).unwrap();
    }
    writer.finish().unwrap()
}

fn capture(frames: &[(u64, Vec<u8>)]) -> Capture {
    Capture::read(&file(frames)).unwrap_or_else(|bad| panic!("{bad}"))
}

/// The captures that come with the program.
fn committed(name: &str) -> Capture {
    let path = format!("{}/../../captures/{name}", env!("CARGO_MANIFEST_DIR"));
    Capture::read(&std::fs::read(path).unwrap()).unwrap_or_else(|bad| panic!("{name}: {bad}"))
}

fn udp(src: u32, dst: u32, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    craft::Frame { payload, ..craft::udp(src, ports.0, dst, ports.1) }.build()
}

fn addr(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn plan(capture: &Capture, split: &Split) -> ReplayPlan {
    ReplayPlan::of(capture, split, Vlan::Keep, &AddressMap::default())
}

#[test]
fn captures_that_cannot_be_sent() {
    let good = (5, udp(1, 2, (3, 4), b"x"));
    let mut radio = file(std::slice::from_ref(&good));
    radio[20] = 127;
    let mut cut = pcap::Writer::new(vec![]).unwrap();
    cut.write(&Record { original_len: 1500, ..Record::ethernet(0, &good.1) }).unwrap();
    let broken = file(&[good.clone(), good.clone()]);
    for (file, expected) in [
        (file(&[]), "it holds no frames"),
        (b"PK\x03\x04".to_vec(), "at byte 0: neither pcap nor pcapng"),
        (radio, "frame 1 is no Ethernet frame but of link type 127"),
        (cut.finish().unwrap(), "frame 1 was captured in part, 60 of 1500 bytes"),
        (file(&[good.clone(), (6, vec![0; 9857])]), "frame 2 has 9861 bytes with FCS: 18 to 9860"),
        (file(&[(6, vec![0; 13])]), "frame 1 has 17 bytes with FCS"),
        (broken[..broken.len() - 1].to_vec(), "at byte"),
    ] {
        let bad = Capture::read(&file).unwrap_err().to_string();
        assert!(bad.starts_with(expected), "{bad}");
    }
    // Times run backwards once; what is shorter than a wire has it is filled up.
    let short = || good.1[..43].to_vec();
    let read = capture(&[(50, short()), (40, short()), (60, vec![7; 100])]);
    let seen: Vec<_> = read.frames.iter().map(|f| (f.time_ns, f.bytes.len())).collect();
    assert_eq!((seen, read.padded), (vec![(0, 60), (0, 60), (10, 100)], 2));
}

#[test]
fn who_leaves_by_which_port() {
    let frame = |src, dst| (0, udp(src, dst, (1, 2), b""));
    let hosts = [(1, 2), (2, 1), (1, 3), (4, 3), (3, 4), (5, 6), (6, 1)];
    let frames: Vec<_> = hosts.map(|(src, dst)| frame(src, dst)).to_vec();
    let networks = vec!["0.0.0.4/31".parse().unwrap()];
    for (split, expected) in [
        (Split::None, "1111111"),
        // 6 answers 1, who was first, though 5 spoke to it first: it was second then.
        (Split::Hosts, "1211212"),
        (Split::Networks(networks), "2221212"),
        (Split::Interface(0), "1111111"),
        (Split::Interface(1), "2222222"),
    ] {
        let sides = sides(&capture(&frames).frames, &split);
        let seen: String = sides.iter().map(|side| format!("{}", side.index() + 1)).collect();
        assert_eq!(seen, expected, "{split:?}");
    }
    // From the SYN+ACK on: who sends that is no client.
    let mut answer = craft::Frame { ..craft::udp(9, 80, 8, 4000) }.build();
    answer.resize(60, 0);
    answer[16..18].copy_from_slice(&[0, 40]);
    answer[23] = 6;
    answer[14 + 20 + 13] = 0x12;
    let read = capture(&[(0, answer), frame(8, 9)]);
    assert_eq!(sides(&read.frames, &Split::Hosts), [Side::Second, Side::First]);
    // Two interfaces of a pcapng file: the page at one, a ping at the other.
    let two = committed("tiny-two-interfaces.pcapng");
    let lo = sides(&two.frames, &Split::Interface(1));
    for (frame, side) in two.frames.iter().zip(lo) {
        let local = addresses(&frame.bytes).contains(&addr("127.0.0.1"));
        assert_eq!(local, side == Side::First);
    }
    let page = committed("tiny.pcap");
    for (frame, side) in page.frames.iter().zip(sides(&page.frames, &Split::Hosts)) {
        let client = addresses(&frame.bytes)[0] == addr("192.168.88.11");
        assert_eq!(client, side == Side::First);
    }
}

#[test]
fn addresses_become_others() {
    let map = |pairs: &[(&str, &str)]| {
        let read = |(from, to): &(&str, &str)| (from.parse().unwrap(), to.parse().unwrap());
        AddressMap::new(pairs.iter().map(read).collect())
    };
    let map = map(&[
        ("0.0.0.0/0", "198.19.0.0/16"),
        ("10.1.0.0/16", "198.18.1.0/24"),
        ("10.1.2.3/32", "198.18.9.9/32"),
        ("2001:db8::/32", "2001:2:0:1::/64"),
    ]);
    for (from, to) in [
        ("10.1.7.5", "198.18.1.5"),
        ("10.1.2.3", "198.18.9.9"),
        ("8.8.4.4", "198.19.4.4"),
        ("2001:db8:5::7", "2001:2:0:1::7"),
        ("fe80::1", "fe80::1"),
    ] {
        assert_eq!(map.of(addr(from)), addr(to), "{from}");
    }
    for bad in ["10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "::/129", "x/8", ""] {
        assert!(bad.parse::<Network>().is_err(), "{bad}");
    }
    let step = Step { network: "198.18.1.0/24".parse().unwrap(), by: 50 };
    assert_eq!(step.of(addr("198.18.1.5"), 5), Some(addr("198.18.1.255")));
    assert_eq!(step.of(addr("198.18.1.5"), 6), None);
    assert_eq!(step.of(addr("198.18.2.5"), 6), Some(addr("198.18.2.5")));
}

#[test]
fn times_and_loops() {
    // 100 bytes with FCS: 960 ns of a gigabit with preamble and gap.
    let frame = || vec![0; 96];
    let gaps = [0, 10_000, 20_000, 100_000];
    let read = capture(&gaps.map(|ns| (ns, frame())));
    let times = |tempo, loops, more: fn(&mut ReplayPlan)| {
        let mut plan = ReplayPlan { tempo, loops, ..plan(&read, &Split::None) };
        more(&mut plan);
        let timetable = plan.timetable(GIGABIT).map_err(|bad| bad.to_string())?;
        let n = plan.total(&timetable);
        let until = plan.until(GIGABIT).unwrap().as_nanos() as u64;
        let times: Vec<u64> = (0..n).map(|k| timetable.time_of(k)).collect();
        assert_eq!(times.last(), Some(&until));
        Ok::<_, String>(times)
    };
    let nothing: fn(&mut ReplayPlan) = |_| {};
    let speed = |speed| Tempo::Speed(speed);
    assert_eq!(times(speed(1.0), 1, nothing), Ok(gaps.to_vec()));
    assert_eq!(times(speed(2.0), 1, nothing), Ok(gaps.map(|ns| ns / 2).to_vec()), "half");
    assert_eq!(times(speed(0.5), 1, nothing), Ok(gaps.map(|ns| ns * 2).to_vec()));
    let twice = times(speed(1.0), 2, nothing).unwrap();
    // The mean gap, 33333.3 ns, is between the last of one and the first of the next.
    assert_eq!(twice[4..], gaps.map(|ns| ns + 133_334));
    assert_eq!(times(speed(1.0), 9, |p| p.packets = Some(6)).unwrap(), twice[..6]);
    let cut = |p: &mut ReplayPlan| p.duration = Some(Duration::from_nanos(143_334));
    assert_eq!(times(speed(1.0), 9, cut).unwrap(), twice[..5]);
    // 25 times as fast the first three would be 400 ns apart: they follow each other on the wire.
    assert_eq!(times(speed(25.0), 1, nothing), Ok(vec![0, 960, 1920, 4000]));
    let bad = times(speed(1000.0), 1, nothing).unwrap_err();
    assert!(bad.starts_with("a rate above the wire: 28800.000 Mbps (L1)"), "{bad}");
    for (rate, gap) in [
        (Rate::Frames(PacketRate(1e5)), 10_000),
        (Rate::L1(BitRate(96e6)), 10_000),
        (Rate::L2(BitRate(80e6)), 10_000),
        (Rate::L3(BitRate(65.6e6)), 10_000),
        (Rate::Percent(100.0), 960),
    ] {
        let times = times(Tempo::Rate(rate), 2, nothing).unwrap();
        assert_eq!(times, [0, 1, 2, 3, 4, 5, 6, 7].map(|k| k * gap), "{rate:?}");
    }
    assert!(times(Tempo::Rate(Rate::L1(BitRate(1.1e9))), 1, nothing).is_err());
    assert_eq!(times(Tempo::Wires, 2, nothing), Ok((0..8).map(|k| k * 960).collect()));
}

/// Each port has a wire of its own, and no frame begins before one that stands before it.
#[test]
fn as_fast_as_both_wires_carry() {
    let (a, b) = (0x0a00_0001, 0x0a00_0002);
    // 84 bytes of wire or 1,066: 672 ns of a gigabit, 8,528.
    let frame = |from, to, payload| (0, udp(from, to, (1, 2), &vec![7; payload]));
    let read = capture(&[
        frame(a, b, 1000),
        frame(b, a, 10),
        frame(a, b, 10),
        frame(b, a, 1000),
        frame(b, a, 10),
        frame(a, b, 10),
    ]);
    let plan = ReplayPlan { tempo: Tempo::Wires, loops: 2, ..plan(&read, &Split::Hosts) };
    let timetable = plan.timetable(GIGABIT).unwrap();
    let one = [0, 0, 8_528, 8_528, 17_056, 17_056];
    // Then the next: when both wires are free.
    let both: Vec<u64> = one.into_iter().chain(one.map(|ns| ns + 17_728)).collect();
    assert_eq!((0..12).map(|k| timetable.time_of(k)).collect::<Vec<_>>(), both);
    let sum: f64 =
        [Side::First, Side::Second].map(|side| plan.mean(side, GIGABIT).unwrap().0).iter().sum();
    assert!(sum > 1.1e9, "{sum}: more than one wire carries");
}

/// What a router does to a frame on its way.
fn forwarded(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[..12].fill(0x22);
    if frame[12..14] == [8, 0] {
        frame[22] -= 1;
        let sum = checksum::ipv4_header(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    frame
}

/// Plays all of a plan; `device` says what comes out by which port, at what distance.
fn play(
    plan: &ReplayPlan,
    mut device: impl FnMut(usize, &[u8]) -> Vec<(usize, Vec<u8>)>,
) -> (Player, Returned) {
    let script = plan.script(None, GIGABIT).unwrap();
    let ways = [(1, Side::First), (0, Side::Second)];
    let ways = ways.map(|(to, side)| Way { to, script: &script, side });
    let mut returned = Returned::new(ways, |_| Duration::ZERO);
    let (start, slab) = (Moment::from_nanos(1000), Slab::new(256).unwrap());
    let mut player = Player::new(script.clone(), start, u64::MAX, [0, 1], [0, 1]);
    let (mut pool, mut batch) = (slab.pool(), Batch::new());
    let (a, mut b) = memory::wire(128);
    let (c, mut d) = memory::wire(128);
    let mut ours = [a, c];
    while !player.is_done() {
        let now = player.next_due();
        assert!(player.poll(now, &mut pool, &mut ours, &mut returned) > 0);
        for (port, wire) in [&mut b, &mut d].into_iter().enumerate() {
            port::Port::receive(wire, now, &mut pool, &mut batch);
            for frame in batch.drain() {
                for (to, bytes) in device(port, slab.bytes(&frame)) {
                    returned.count(now + Duration::from_nanos(500), to, &bytes);
                }
                pool.free(frame);
            }
        }
    }
    (player, returned)
}

/// Through a router that does its work, in all captures, over and over.
#[test]
fn all_comes_back() {
    for (name, frames) in [("tiny.pcap", 15), ("tiny.pcapng", 14), ("tiny-nano.pcap", 14)] {
        let read = committed(name);
        let steps = vec![Step { network: "192.168.88.0/24".parse().unwrap(), by: 3 }];
        for (loops, steps) in [(1, vec![]), (5, vec![]), (5, steps)] {
            let plan = ReplayPlan { loops, steps, ..plan(&read, &Split::Hosts) };
            let mut seen = std::collections::HashSet::new();
            let (player, returned) = play(&plan, |port, frame| {
                seen.extend(addresses(frame));
                vec![(1 - port, forwarded(frame))]
            });
            let backs = [returned.of(0), returned.of(1)];
            for (sent, back) in player.both().into_iter().zip(&backs) {
                let tally = back.tally;
                assert_eq!((sent.offered, sent.intended), (tally.received, tally.received));
                assert_eq!((tally.duplicate, tally.corrupt, tally.reordered), (0, 0, 0));
                assert_eq!(back.latency.len(), tally.received, "{name}");
                assert!((500..=501).contains(&back.latency.max()), "{}", back.latency.max());
            }
            let all = backs[0].tally.received + backs[1].tally.received;
            assert_eq!(all, frames * loops, "{name}: as many again with each loop");
            assert_eq!(seen.len() as u64, 1 + if plan.steps.is_empty() { 1 } else { loops });
        }
    }
}

/// A device that loses, doubles, delays, changes and answers: each frame counts once.
#[test]
fn what_goes_wrong_is_counted() {
    let frame = |k: u8| udp(1, 2, (3, 4), &[k; 20]);
    let frames: Vec<_> = (0..10u8).map(|k| (u64::from(k) * 1000, frame(k))).collect();
    let plan = plan(&capture(&frames), &Split::None);
    let mut held = vec![];
    let mut k = 0;
    let (player, returned) = play(&plan, |_, frame| {
        let out = forwarded(frame);
        let mut broken = out.clone();
        broken[50] ^= 1;
        let mut nat = out.clone();
        readdress(&mut nat, &mut |a| if a == addr("0.0.0.1") { addr("9.9.9.9") } else { a });
        let mut remarked = out.clone();
        remarked[15] = 46 << 2;
        let error = udp(7, 1, (3, 4), b"from the router");
        k += 1;
        match k {
            1 => vec![],
            2 => vec![(1, out.clone()), (1, out)],
            3 => {
                held = out;
                vec![]
            }
            4 => vec![(1, out), (1, held.clone())],
            5 => vec![(1, broken)],
            6 => vec![(1, nat)],
            7 => vec![(0, out)],
            8 => vec![(1, remarked)],
            9 => vec![(1, out), (0, error)],
            _ => vec![(1, out)],
        }
    });
    let back = returned.of(0);
    let tally = back.tally;
    let counted = (tally.received, tally.duplicate, tally.reordered, tally.corrupt, back.elsewhere);
    assert_eq!(counted, (5, 1, 1, 2, 1), "{tally:?}");
    assert_eq!((player.sent(Side::First).offered, returned.total().received), (10, 5));
    assert_eq!(tally.bytes, 5 * u64::from(FrameLen::without_fcs(62).l2()));
}

/// Frames that are alike: so many sent, so many came; whose latency is not known is in none.
#[test]
fn alike() {
    let frames: Vec<_> = (0..6).map(|k| (k * 1000, udp(1, 2, (3, 4), b"same"))).collect();
    let plan = plan(&capture(&frames), &Split::None);
    let mut k = 0;
    let (_, returned) = play(&plan, |_, frame| {
        k += 1;
        if k == 3 { vec![] } else { vec![(1, forwarded(frame))] }
    });
    let back = returned.of(0);
    assert_eq!((back.tally.received, back.tally.duplicate), (5, 0));
    assert_eq!(back.latency.len(), 2, "from the third on one is missing");
}

/// Through a NAT only payloads are as they were.
#[test]
fn payloads() {
    let read = committed("tiny.pcap");
    let nat = |port: usize, frame: &[u8]| {
        let mut out = forwarded(frame);
        readdress(&mut out, &mut |a| match a {
            a if a == addr("192.168.88.11") => addr("198.51.100.1"),
            a => a,
        });
        out[18..20].copy_from_slice(&[9, 9]); // identification
        let sum = checksum::ipv4_header(&out[14..34]);
        out[24..26].copy_from_slice(&sum.to_be_bytes());
        vec![(1 - port, out)]
    };
    for (lens, received) in [(Lens::Packets, 0), (Lens::Payloads, 15)] {
        let plan = ReplayPlan { lens, ..plan(&read, &Split::Hosts) };
        let (_, returned) = play(&plan, nat);
        let total = returned.total();
        assert_eq!((total.received, total.duplicate, total.corrupt), (received, 0, 0), "{lens:?}");
    }
}

/// IPv4's and the transport's checksum: whether they are right.
fn right(frame: &[u8]) -> (bool, bool) {
    let (src, dst) = (&frame[26..30], &frame[30..34]);
    let u32_of = |b: &[u8]| u32::from_be_bytes([b[0], b[1], b[2], b[3]]);
    let len = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let above = &frame[34..14 + len];
    let transport = match frame[23] {
        6 => checksum::tcp_ok(u32_of(src), u32_of(dst), above),
        17 => checksum::udp_ok(u32_of(src), u32_of(dst), above),
        _ => checksum::is_ok(above),
    };
    (checksum::is_ok(&frame[14..34]), transport)
}

proptest! {
    /// Other addresses, checksums still right; and one that was wrong is wrong still.
    #[test]
    fn checksums_stay_what_they_are(
        src: u32, dst: u32, new: [u8; 4], other: [u8; 4],
        payload in prop::collection::vec(any::<u8>(), 0..60),
        damage in prop::option::of((0usize..2, 1u16..0xffff)),
        ports in (1u16..9, 1u16..9),
    ) {
        let mut frame = udp(src, dst, ports, &payload);
        if let Some((which, by)) = damage {
            let at = [24, 40][which];
            let old = u16::from_be_bytes([frame[at], frame[at + 1]]);
            frame[at..at + 2].copy_from_slice(&old.wrapping_add(by).to_be_bytes());
            // A datagram without a checksum is not wrong.
            prop_assume!(frame[40..42] != [0, 0] && old.wrapping_add(by) != 0xffff && old != 0xffff);
        }
        let before = right(&frame);
        readdress(&mut frame, &mut |address| match address {
            IpAddr::V4(v4) if v4.to_bits() == src => IpAddr::from(new),
            _ => IpAddr::from(other),
        });
        prop_assert_eq!(right(&frame), before, "{:02x?}", frame);
        prop_assert_eq!(before == (true, true), damage.is_none());
    }

    /// Any bytes: nothing panics, and no frame gets another length.
    #[test]
    fn any_bytes(mut bytes in prop::collection::vec(any::<u8>(), 14..200), kind in 0usize..6) {
        let kinds = [[8, 0], [0x86, 0xdd], [8, 6], [0x81, 0], [0x88, 0xa8], [1, 2]];
        bytes[12..14].copy_from_slice(&kinds[kind]);
        if kind < 2 && bytes.len() > 60 {
            bytes[14] = [0x45, 0x60][kind];
            bytes[23] = [1, 6, 17][usize::from(bytes[23]) % 3];
        }
        let len = bytes.len();
        let _ = print::Print::of(&bytes, Lens::Packets);
        let _ = print::Print::of(&bytes, Lens::Payloads);
        readdress(&mut bytes, &mut |address| match address {
            IpAddr::V4(_) => addr("198.18.0.1"),
            IpAddr::V6(_) => addr("2001:2::1"),
        });
        prop_assert_eq!(bytes.len(), len);
        let frame = Captured { time_ns: 0, interface: 0, bytes };
        let _ = sides(&[frame], &Split::Hosts);
    }
}

#[test]
fn tags() {
    let plain = udp(1, 2, (3, 4), &[5; 40]);
    let mut tagged = plain.clone();
    tagged.splice(12..12, [0x88, 0xa8, 0, 7, 0x81, 0, 0, 9]);
    for (vlan, frame, expected) in [
        (Vlan::Keep, &tagged, tagged.clone()),
        (Vlan::Strip, &tagged, plain.clone()),
        (Vlan::Strip, &plain, plain.clone()),
        (Vlan::Set(5), &tagged, [&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat()),
    ] {
        let read = capture(&[(0, frame.clone())]);
        let plan = ReplayPlan::of(&read, &Split::None, vlan, &AddressMap::default());
        assert_eq!(plan.frames[0].bytes, expected, "{vlan:?}");
    }
}
