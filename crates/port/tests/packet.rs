//! AF_PACKET ports against the kernel at the other end of a veth pair.

#[path = "cable/mod.rs"]
mod cable;
mod veth;

use cable::{Cable, iperf, no_loss, receive, receive_now, send, socket, wait_for};
use port::linux::Namespace;
use port::linux::interface::Offloads;
use port::linux::packet::{Options, PacketPort};
use port::slab::Slots;
use port::{Batch, Port, Slab};
use veth::{Veth, sh, switch};
use wire::craft::{self, ip};
use wire::vlan::Tci;
use wire::{MacAddr, Moment, Udp};

/// What a program's kernel leaves to others.
const HANDED_ON: Offloads = Offloads { tx_checksum: true, tso: true, gso: true, ..Offloads::NONE };
/// Our end's address.
const OURS: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

fn open(at: &Namespace, name: &str, slab: &Slab, options: &Options) -> PacketPort {
    let port = at.run(|| PacketPort::open(name, slab, options)).unwrap();
    port.unwrap_or_else(|unavailable| panic!("{unavailable}"))
}

/// A pair whose end `vb` has 10.0.0.1/24 and knows us as 10.0.0.2.
fn pair() -> Option<Veth> {
    let pair = Veth::new()?;
    sh(&pair.b, "ip address add 10.0.0.1/24 dev vb");
    sh(&pair.b, &format!("ip neighbour add 10.0.0.2 dev vb lladdr {OURS}"));
    Some(pair)
}

fn mac_of(at: &Namespace, name: &str) -> MacAddr {
    sh(at, &format!("cat /proc/self/net/dev > /dev/null; ip -br link show {name}"))
        .split_ascii_whitespace()
        .nth(2)
        .and_then(|mac| mac.parse().ok())
        .expect("a MAC address")
}

fn frame_to(to: MacAddr, port: u16, payload: &[u8]) -> craft::Frame<'_> {
    let frame = craft::udp(ip(10, 0, 0, 2), 2, ip(10, 0, 0, 1), port);
    craft::Frame { src_mac: OURS, dst_mac: to, payload, ..frame }
}

#[test]
fn every_length_comes_and_goes_and_our_own_do_not_come_back() {
    let Some(pair) = pair() else { return };
    let slab = Slab::new(4096).unwrap();
    let mut port = open(&pair.a, "va", &slab, &Options::default());
    let (socket, mut pool, theirs) = (socket(&pair.b, 7), slab.pool(), mac_of(&pair.b, "vb"));
    let payload: Vec<u8> = (0..1472).map(|n| n as u8).collect();
    let mut bytes = (0, 0);
    for len in 0..=1472 {
        socket.send_to(&payload[..len], "10.0.0.2:9").unwrap();
        let frame = receive(&mut port, &mut pool, 1).pop().expect("a frame");
        assert_eq!(frame.len(), 42 + len);
        let udp = Udp::new(&slab.bytes(&frame)[34..]).unwrap();
        assert_eq!(udp.payload(), &payload[..len]);
        assert!(udp.checksum_ok(ip(10, 0, 0, 1), ip(10, 0, 0, 2)));
        pool.free(frame);
        let answer = frame_to(theirs, 7, &payload[..len]).build();
        send(&mut port, &slab, std::slice::from_ref(&answer));
        let mut got = [0; 2000];
        assert_eq!(socket.recv(&mut got).unwrap(), len);
        assert_eq!(got[..len], payload[..len]);
        bytes = (bytes.0 + 42 + len as u64, bytes.1 + answer.len() as u64);
    }
    assert!(receive_now(&mut port, &mut pool).is_empty());
    let counters = port.counters();
    no_loss(counters);
    assert_eq!((counters.rx_packet, counters.tx_packet), (1473, 1473));
    assert_eq!((counters.rx_byte, counters.tx_byte), bytes);
    drop(pool);
    assert_eq!(slab.frames_out(), 0);
}

/// What the kernel's stack has received, by its own count of IP packets, and the echo requests that it
/// has answered.
fn kernels_own(at: &Namespace) -> [u64; 2] {
    let text = sh(at, "cat /proc/self/net/snmp");
    let field = |kind: &str, name: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(kind));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let at = names.split(' ').position(|word| word == name).unwrap();
        values.split(' ').nth(at).unwrap().parse().unwrap()
    };
    [field("Ip: ", "InReceives"), field("Icmp: ", "OutEchoReps")]
}

/// The interface has an address of the kernel's: it answers, unless the port has the frames alone; and
/// does so again when the port is gone.
#[test]
fn the_kernel_has_a_copy_or_nothing() {
    if veth::left_out::lacks(&["ping"]) {
        return;
    }
    let Some(pair) = pair() else { return };
    sh(&pair.a, "ip address add 10.0.0.2/24 dev va; ip link set va address 02:00:00:00:00:09");
    let slab = Slab::new(512).unwrap();
    let ping = |answered: bool| {
        let done = sh(&pair.b, "ping -c 3 -i 0.01 -W 1 10.0.0.2 | grep -c 'bytes from' || true");
        assert_eq!(done.trim(), if answered { "3" } else { "0" });
    };
    for (alone, answers) in [(false, 3), (true, 0), (false, 3)] {
        let mut port = open(&pair.a, "va", &slab, &Options { alone, ..Options::default() });
        match port.alone() {
            Err(why) => return veth::left_out::left_out_in_part(why),
            Ok(is) => assert_eq!(is, alone),
        }
        let (before, mut pool) = (kernels_own(&pair.a), slab.pool());
        ping(!alone);
        let after = kernels_own(&pair.a);
        assert_eq!([after[0] - before[0], after[1] - before[1]], [answers; 2], "alone: {alone}");
        let frames = receive_now(&mut port, &mut pool);
        let requests = frames.iter().filter(|frame| slab.bytes(frame)[23..].starts_with(&[1]));
        assert_eq!(requests.count(), 3, "we have them all either way");
        frames.into_iter().for_each(|frame| pool.free(frame));
        no_loss(port.counters());
    }
    ping(true);
}

/// Foreign addresses and tags, between two ports of ours: nothing is as the kernel would have it.
#[test]
fn tags_and_foreign_addresses_come_through() {
    let Some(pair) = Veth::new() else { return };
    let slab = Slab::new(512).unwrap();
    let mut a = open(&pair.a, "va", &slab, &Options::default());
    let mut b = open(&pair.b, "vb", &slab, &Options { offload: true, ..Options::default() });
    let mut pool = slab.pool();
    let plain = frame_to(MacAddr([0x06, 1, 2, 3, 4, 5]), 7, &[3; 50]);
    let service = {
        let mut bytes = craft::Frame { vlan: Some(Tci::new(7, 3)), ..plain }.build();
        bytes[12..14].copy_from_slice(&[0x88, 0xa8]);
        bytes
    };
    let twice = {
        let mut bytes = service.clone();
        bytes.splice(16..16, [0x81, 0x00, 0, 9]);
        bytes
    };
    let full = craft::Frame { payload: &[4; 1472], ..plain };
    let frames = [
        plain.build(),
        craft::Frame { vlan: Some(Tci(5)), ..plain }.build(),
        craft::Frame { vlan: Some(Tci::new(4095, 7)), ..full }.build(),
        service,
        twice,
        vec![0xff; 14],
    ];
    for (name, from, to) in [("a to b", &mut a, &mut b)] {
        for frame in &frames {
            send(from, &slab, std::slice::from_ref(frame));
            let mut got = receive(to, &mut pool, 1);
            let got = got.pop().unwrap_or_else(|| panic!("{name}: {frame:02x?} is lost"));
            assert_eq!((slab.bytes(&got), slab.offload(&got)), (&frame[..], None), "{name}");
            pool.free(got);
        }
    }
    // What is longer than the wire carries does not go, and is counted.
    send(&mut a, &slab, &[frames[0].clone(), vec![0xff; 1800], frames[0].clone()]);
    assert_eq!(receive(&mut b, &mut pool, 2).into_iter().map(|f| pool.free(f)).count(), 2);
    assert_eq!((a.counters().tx_drop, a.counters().tx_packet), (1, 8));
}

#[test]
fn programs_talk_through_two_of_them() {
    if veth::left_out::lacks(&["ping", "iperf3", "ss"]) {
        return;
    }
    let plain = Slab::new(2048).unwrap();
    let large = Slab::with(1024, Slots::holding(65_152).unwrap()).unwrap();
    let handed_on = Options { offload: true, ..Options::default() };
    for (name, slab, options, offloads) in [
        ("plain", &plain, Options::default(), false),
        ("done by us", &plain, Options::default(), true),
        ("done by us in long slots", &large, Options::default(), true),
        ("handed on", &large, handed_on.clone(), true),
        ("handed on, cut to fit", &plain, handed_on, true),
    ] {
        let (Some(a), Some(b)) = (Veth::new(), Veth::new()) else { return };
        for (pair, n) in [(&a, 1), (&b, 2)] {
            sh(&pair.a, &format!("ip address add 10.0.0.{n}/24 dev va"));
            if offloads {
                switch(&pair.a, "va", HANDED_ON);
            }
        }
        let cable = Cable::between(
            slab,
            open(&a.b, "vb", slab, &options),
            open(&b.b, "vb", slab, &options),
        );
        let text = sh(&a.a, "ping -c 20 -i 0.01 -W 5 10.0.0.2; ping -c 2 -i 0.1 -s 5000 10.0.0.2");
        assert!(text.contains("20 received") && text.contains("2 received"), "{name}: {text}");
        let rate = iperf(&a.a, &b.a, "10.0.0.2", "");
        let (first, second, notes) = cable.end();
        let counters = (first.counters(), second.counters());
        eprintln!("{name}: {:.2} Gbit/s, unfinished {notes:?}, {counters:?}", rate / 1e9);
        assert!(rate > 50e6, "{name}: {rate} bit/s");
        assert_eq!(notes[0] > 0, options.offload, "{name}");
    }
}

#[test]
fn what_finds_the_ring_full_is_counted() {
    let Some(pair) = pair() else { return };
    let slab = Slab::new(4096).unwrap();
    let mut port = open(&pair.a, "va", &slab, &Options { ring: 64, ..Options::default() });
    let socket = socket(&pair.b, 7);
    for _ in 0..1000 {
        socket.send_to(&[1; 100], "10.0.0.2:9").unwrap();
    }
    wait_for("all have come", || {
        let counters = port.counters();
        counters.rx_drop > 0 && 1000 - counters.rx_drop <= 64
    });
    let mut pool = slab.pool();
    let rest = 1000 - port.counters().rx_drop as usize;
    let kept = receive(&mut port, &mut pool, rest);
    let counters = port.counters();
    assert_eq!(counters.rx_packet + counters.rx_drop, 1000, "{counters:?}");
    kept.into_iter().for_each(|frame| pool.free(frame));
    // No free slot: the frame waits in the ring until there is one.
    let held: Vec<_> = std::iter::from_fn(|| pool.alloc(0)).collect();
    socket.send_to(b"late", "10.0.0.2:9").unwrap();
    assert!(receive_now(&mut port, &mut pool).is_empty());
    held.into_iter().for_each(|frame| pool.free(frame));
    assert_eq!(receive(&mut port, &mut pool, 1).len(), 1);
}

/// What the interface drops before any socket is counted, and nothing twice; what the kernel's own stack
/// would drop is none of it.
#[test]
fn what_the_interface_drops_is_counted_once() {
    for queues in [1, 2] {
        let Some(pair) = pair() else { return };
        sh(&pair.a, "ip link set va mtu 1000");
        let slab = Slab::new(4096).unwrap();
        let mut far = open(&pair.b, "vb", &slab, &Options::default());
        let mut pool = slab.pool();
        // Of a type that the kernel does not know.
        let frame = |n: u16, len: usize| {
            let mut bytes = [[0xff; 6], [2, 0, 0, 0, 0, 1]].concat();
            bytes.extend([0x88, 0xb5]);
            bytes.extend(n.to_be_bytes());
            bytes.resize(len, 0);
            bytes
        };
        let mut send = |n: u16, len: usize| {
            for n in 0..n {
                let mut one = pool.alloc(len).unwrap();
                slab.bytes_mut(&mut one).copy_from_slice(&frame(n, len));
                let mut batch = Batch::new();
                batch.push(one);
                far.send(Moment::ZERO, &mut pool, &mut batch);
            }
        };
        send(50, 1400);
        let port = open(&pair.a, "va", &slab, &Options { ring: 64, queues, ..Options::default() });
        let mut ports = port.queues();
        send(200, 60);
        send(70, 1400);
        let (mut received, mut batch, mut pool) = (0, Batch::new(), slab.pool());
        wait_for("what was sent is received or counted", || {
            for port in &mut ports {
                received += port.receive(Moment::ZERO, &mut pool, &mut batch) as u64;
                batch.free_all(&mut pool);
            }
            let lost: u64 = ports.iter().map(|port| port.counters().rx_drop).sum();
            assert!(received + lost <= 270, "{received} received, {lost} lost");
            received >= 64 && lost > 70 && received + lost == 270
        });
    }
}

#[test]
fn the_link_goes_and_comes_and_the_interface_goes() {
    let Some(pair) = pair() else { return };
    let slab = Slab::new(512).unwrap();
    let mut port = open(&pair.a, "va", &slab, &Options::default());
    let mut pool = slab.pool();
    let frame = frame_to(mac_of(&pair.b, "vb"), 7, b"x").build();
    sh(&pair.a, "ip link set va down");
    send(&mut port, &slab, std::slice::from_ref(&frame));
    assert_eq!(port.counters().tx_drop, 1);
    assert!(receive_now(&mut port, &mut pool).is_empty() && !port.is_gone());
    sh(&pair.a, "ip link set va up");
    let socket = socket(&pair.b, 7);
    wait_for("the link is up", || sh(&pair.b, "ip link show vb").contains("LOWER_UP"));
    send(&mut port, &slab, std::slice::from_ref(&frame));
    assert_eq!(socket.recv(&mut [0; 10]).unwrap(), 1);
    sh(&pair.b, &format!("ip neighbour replace 10.0.0.2 dev vb lladdr {OURS}"));
    socket.send_to(b"y", "10.0.0.2:9").unwrap();
    assert_eq!(receive(&mut port, &mut pool, 1).into_iter().map(|f| pool.free(f)).count(), 1);

    sh(&pair.b, "ip link delete vb"); // and with it its peer
    send(&mut port, &slab, std::slice::from_ref(&frame));
    assert!(receive_now(&mut port, &mut pool).is_empty() && port.is_gone());
    assert_eq!(port.counters().tx_drop, 2);
}

#[test]
fn flows_stay_in_order_on_two_sockets() {
    let Some(pair) = pair() else { return };
    let slab = Slab::new(4096).unwrap();
    let port = open(&pair.a, "va", &slab, &Options { queues: 2, ..Options::default() });
    let sockets: Vec<_> = (0..32).map(|n| socket(&pair.b, 1000 + n)).collect();
    for number in 0..20_u8 {
        for socket in &sockets {
            socket.send_to(&[number], "10.0.0.2:9").unwrap();
        }
    }
    let mut ports = port.queues();
    assert_eq!(ports.len(), 2);
    let mut pool = slab.pool();
    let (mut next, mut by_socket) = (vec![0; 32], vec![0; 2]);
    wait_for("all have come", || {
        for (port, count) in ports.iter_mut().zip(&mut by_socket) {
            for frame in receive_now(port, &mut pool) {
                let udp = Udp::new(&slab.bytes(&frame)[34..]).unwrap();
                let flow = usize::from(udp.src_port() - 1000);
                assert_eq!(udp.payload(), [next[flow]], "flow {flow}");
                next[flow] += 1;
                *count += 1;
                pool.free(frame);
            }
        }
        by_socket.iter().sum::<u32>() >= 640
    });
    assert_eq!(next, [20; 32], "{by_socket:?}");
    assert!(by_socket.iter().all(|&n| n > 0), "{by_socket:?}");
}

#[test]
fn what_cannot_be_had_is_said_with_the_remedy() {
    let Some(pair) = Veth::new() else { return };
    let slab = Slab::new(64).unwrap();
    let open = |name: &str, queues, ring| {
        let options = Options { queues, ring, ..Options::default() };
        let opened = pair.a.run(|| PacketPort::open(name, &slab, &options)).unwrap();
        opened.map(|_| ()).map_err(|unavailable| unavailable.to_string())
    };
    assert_eq!(open("va", 1, 100), Ok(()));
    for (name, queues, ring, expected) in [
        ("vx", 1, 64, "cannot look at the interface vx: No such device"),
        ("lo", 1, 64, "cannot open lo by AF_PACKET: it is no Ethernet interface"),
        ("va", 0, 64, "1 to 256 queues"),
        ("va", 1, 0, "rings of 1 to 65,536 frames"),
    ] {
        let text = open(name, queues, ring).unwrap_err();
        assert!(text.contains(expected), "{name}: {text}");
    }
}
