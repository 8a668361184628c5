//! TAP ports against the kernel they are the other end of.

#[path = "cable/mod.rs"]
mod cable;
mod veth;

use cable::{Cable, iperf, no_loss, receive, receive_now, send, socket, wait_for};
use port::linux::tap::{Options, TapPort};
use port::linux::{Namespace, Unavailable};
use port::slab::Slots;
use port::{Port, Slab};
use veth::sh;
use wire::craft::{self, ip};
use wire::{MacAddr, Udp, layers};

/// A namespace; `None`, said on standard error, without rights or `ip` (`CI`: panics).
fn namespace() -> Option<Namespace> {
    if veth::left_out::lacks(&["ip"]) {
        return None;
    }
    match Namespace::new() {
        Ok(namespace) => Some(namespace),
        Err(unavailable) => {
            veth::left_out::left_out(unavailable);
            None
        }
    }
}

fn open(at: &Namespace, slab: &Slab, options: &Options) -> Result<TapPort, Unavailable> {
    at.run(|| {
        // No router solicitations, which nobody counts.
        let quiet = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
        std::fs::write(quiet, "1").unwrap();
        TapPort::open("tap0", slab, options)
    })
    .unwrap()
}

const PLAIN: fn() -> Options = || Options { offload: false, ..Options::default() };
/// Our end's address.
const OURS: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

/// A port at an interface with 10.0.0.1/24, which knows us as 10.0.0.2.
fn with_address(at: &Namespace, slab: &Slab, options: &Options) -> TapPort {
    let port = open(at, slab, options).unwrap_or_else(|unavailable| panic!("{unavailable}"));
    sh(at, "ip address add 10.0.0.1/24 dev tap0");
    sh(at, &format!("ip neighbour add 10.0.0.2 dev tap0 lladdr {OURS}"));
    port
}

/// A datagram to the kernel's socket.
fn datagram(port: &TapPort, to: u16, payload: &[u8]) -> Vec<u8> {
    let frame = craft::udp(ip(10, 0, 0, 2), 2, ip(10, 0, 0, 1), to);
    craft::Frame { src_mac: OURS, dst_mac: port.facts().mac, payload, ..frame }.build()
}

#[test]
fn every_length_comes_and_goes() {
    let Some(at) = namespace() else { return };
    let slab = Slab::new(4096).unwrap();
    let mut port = with_address(&at, &slab, &PLAIN());
    let (socket, mut pool) = (socket(&at, 7), slab.pool());
    let payload: Vec<u8> = (0..1472).map(|n| n as u8).collect();
    let mut bytes = (0, 0);
    for len in 0..=1472 {
        socket.send_to(&payload[..len], "10.0.0.2:9").unwrap();
        let mut frames = receive(&mut port, &mut pool, 1);
        let frame = frames.pop().expect("a frame");
        assert_eq!((frame.len(), slab.offload(&frame)), (42 + len, None));
        let udp = Udp::new(&slab.bytes(&frame)[34..]).unwrap();
        assert_eq!(udp.payload(), &payload[..len]);
        assert!(udp.checksum_ok(ip(10, 0, 0, 1), ip(10, 0, 0, 2)));
        pool.free(frame);
        let answer = datagram(&port, 7, &payload[..len]);
        send(&mut port, &slab, std::slice::from_ref(&answer));
        let mut got = [0; 2000];
        assert_eq!(socket.recv(&mut got).unwrap(), len);
        assert_eq!(got[..len], payload[..len]);
        bytes = (bytes.0 + 42 + len as u64, bytes.1 + answer.len() as u64);
    }
    let counters = port.counters();
    no_loss(counters);
    assert_eq!((counters.rx_packet, counters.tx_packet), (1473, 1473));
    assert_eq!((counters.rx_byte, counters.tx_byte), bytes);
    drop(pool);
    assert_eq!(slab.frames_out(), 0);
    assert!(sh(&at, "ip -o link").contains("tap0"));
    drop(port);
    assert!(!sh(&at, "ip -o link").contains("tap0"), "a TAP interface was left behind");
}

#[test]
fn programs_talk_through_two_of_them() {
    if veth::left_out::lacks(&["ping", "iperf3", "ss"]) {
        return;
    }
    let plain = Slab::new(2048).unwrap();
    let large = Slab::with(1024, Slots::holding(65_152).unwrap()).unwrap();
    for (name, slab, options) in [
        ("super-frames to super-frames", &large, [Options::default(), Options::default()]),
        ("super-frames to plain frames", &large, [Options::default(), PLAIN()]),
        ("cut when received", &plain, [Options::default(), PLAIN()]),
        ("plain", &plain, [PLAIN(), PLAIN()]),
    ] {
        let (Some(a), Some(b)) = (namespace(), namespace()) else { return };
        let ports = [(&a, 1), (&b, 2)].map(|(at, n)| {
            let port = open(at, slab, &options[n - 1]).unwrap();
            sh(at, &format!("ip address add 10.0.0.{n}/24 dev tap0"));
            port
        });
        let [first, second] = ports;
        let cable = Cable::between(slab, first, second);
        let text = sh(&a, "ping -c 20 -i 0.01 -W 5 10.0.0.2; ping -c 2 -i 0.1 -s 5000 10.0.0.2");
        assert!(text.contains("20 received") && text.contains("2 received"), "{name}: {text}");
        let rate = iperf(&a, &b, "10.0.0.2", "");
        assert!(rate > 50e6, "{name}: {rate} bit/s");
        let (first, second, notes) = cable.end();
        eprintln!("{name}: {:.2} Gbit/s, unfinished {notes:?}", rate / 1e9);
        let counters = (first.counters(), second.counters());
        assert_eq!(counters.0.tx_drop + counters.1.tx_drop, 0, "{name}: {counters:?}");
        assert_eq!(notes[0] > 0, options[0].offload, "{name}: {counters:?}");
    }
}

#[test]
fn what_is_left_to_do_is_noted() {
    let Some(at) = namespace() else { return };
    let slab = Slab::new(512).unwrap();
    let mut port = with_address(&at, &slab, &Options::default());
    let mut pool = slab.pool();
    let socket = socket(&at, 7);
    socket.send_to(b"hello", "10.0.0.2:9").unwrap();
    let mut frame = receive(&mut port, &mut pool, 1).pop().expect("a frame");
    let offload = slab.offload(&frame).expect("a note");
    assert_eq!((offload.l4, offload.segment, offload.tcp), (34, 0, false));
    let tuple = layers::parse(slab.bytes(&frame)).unwrap().tuple;
    wire::segment::complete(slab.bytes_mut(&mut frame), offload);
    let udp = Udp::new(&slab.bytes(&frame)[34..]).unwrap();
    assert!(udp.checksum_ok(tuple.src, tuple.dst) && udp.checksum() != 0);
    pool.free(frame);
}

#[test]
fn what_we_are_too_slow_for_is_counted() {
    let Some(at) = namespace() else { return };
    let slab = Slab::new(64).unwrap();
    let mut port = with_address(&at, &slab, &PLAIN());
    let socket = socket(&at, 7);
    for _ in 0..5000 {
        socket.send_to(&[1; 100], "10.0.0.2:9").unwrap();
    }
    let mut pool = slab.pool();
    let mut received = 0;
    loop {
        let mut frames = receive_now(&mut port, &mut pool);
        if frames.is_empty() {
            break;
        }
        received += frames.len() as u64;
        frames.drain(..).for_each(|frame| pool.free(frame));
    }
    let counters = port.counters();
    assert_eq!(counters.rx_packet, received);
    assert!(received >= 500, "{counters:?}");
    assert_eq!(counters.rx_packet + counters.rx_drop, 5000, "{counters:?}");
    // No free slot: the frame waits in the kernel until there is one.
    let held: Vec<_> = std::iter::from_fn(|| pool.alloc(0)).collect();
    socket.send_to(b"late", "10.0.0.2:9").unwrap();
    assert!(receive_now(&mut port, &mut pool).is_empty());
    held.into_iter().for_each(|frame| pool.free(frame));
    assert_eq!(receive(&mut port, &mut pool, 1).len(), 1);
}

#[test]
fn the_link_goes_and_comes_and_the_interface_goes() {
    let Some(at) = namespace() else { return };
    let slab = Slab::new(512).unwrap();
    let mut port = with_address(&at, &slab, &PLAIN());
    let mut pool = slab.pool();
    let frame = datagram(&port, 7, b"x");
    sh(&at, "ip link set tap0 down");
    send(&mut port, &slab, std::slice::from_ref(&frame));
    assert_eq!(port.counters().tx_drop, 1);
    assert!(receive_now(&mut port, &mut pool).is_empty() && !port.is_gone());
    sh(&at, "ip link set tap0 up");
    sh(&at, &format!("ip neighbour replace 10.0.0.2 dev tap0 lladdr {OURS}"));
    let socket = socket(&at, 7);
    send(&mut port, &slab, std::slice::from_ref(&frame));
    assert_eq!(socket.recv(&mut [0; 10]).unwrap(), 1);
    socket.send_to(b"y", "10.0.0.2:9").unwrap();
    assert_eq!(receive(&mut port, &mut pool, 1).into_iter().map(|f| pool.free(f)).count(), 1);

    port.set_carrier(false).unwrap();
    wait_for("no carrier", || sh(&at, "ip link show tap0").contains("NO-CARRIER"));
    port.set_carrier(true).unwrap();
    wait_for("carrier", || !sh(&at, "ip link show tap0").contains("NO-CARRIER"));

    sh(&at, "ip link delete tap0");
    send(&mut port, &slab, std::slice::from_ref(&frame));
    assert!(receive_now(&mut port, &mut pool).is_empty() && port.is_gone());
    assert_eq!(port.counters().tx_drop, 2);
    drop(pool);
    assert_eq!(slab.frames_out(), 0);
}

#[test]
fn flows_stay_in_order_on_two_queues() {
    let Some(at) = namespace() else { return };
    let slab = Slab::new(4096).unwrap();
    let port = with_address(&at, &slab, &Options { queues: 2, ..PLAIN() });
    assert_eq!(port.facts().queues, 2);
    let sockets: Vec<_> = (0..32).map(|n| socket(&at, 1000 + n)).collect();
    for number in 0..20_u8 {
        for socket in &sockets {
            socket.send_to(&[number], "10.0.0.2:9").unwrap();
        }
    }
    let mut pool = slab.pool();
    let mut next = vec![0; 32];
    let mut by_queue = vec![];
    let mut ports = port.queues();
    for port in &mut ports {
        let mut frames = vec![];
        loop {
            let more = receive_now(port, &mut pool);
            if more.is_empty() {
                break;
            }
            frames.extend(more);
        }
        by_queue.push(frames.len());
        for frame in frames {
            let udp = Udp::new(&slab.bytes(&frame)[34..]).unwrap();
            let flow = usize::from(udp.src_port() - 1000);
            assert_eq!(udp.payload(), [next[flow]], "flow {flow}");
            next[flow] += 1;
            pool.free(frame);
        }
    }
    assert_eq!(next, [20; 32], "{by_queue:?}");
    assert!(by_queue.iter().all(|&n| n > 0), "{by_queue:?}");
}

/// What is sent is spread by flow: the kernel answers by the queue that a flow came by.
#[test]
fn each_flow_is_sent_by_a_queue_of_its_own() {
    const FLOWS: u16 = 16;
    let Some(at) = namespace() else { return };
    let slab = Slab::new(1024).unwrap();
    let mut port = with_address(&at, &slab, &Options { queues: 2, ..PLAIN() });
    let server = socket(&at, 7);
    let frames: Vec<_> = (0..FLOWS)
        .map(|flow| {
            let frame = craft::udp(ip(10, 0, 0, 2), 1000 + flow, ip(10, 0, 0, 1), 7);
            craft::Frame { src_mac: OURS, dst_mac: port.facts().mac, ..frame }.build()
        })
        .collect();
    send(&mut port, &slab, &frames);
    for _ in 0..FLOWS {
        let (_, from) = server.recv_from(&mut [0; 10]).unwrap();
        server.send_to(b"back", from).unwrap();
    }
    let (mut pool, mut by_queue) = (slab.pool(), vec![]);
    for (queue, port) in port.queues().iter_mut().enumerate() {
        let answers = receive_now(port, &mut pool);
        by_queue.push(answers.len());
        for frame in answers {
            let flow = Udp::new(&slab.bytes(&frame)[34..]).unwrap().dst_port() - 1000;
            let sent_by = layers::flow(&frames[usize::from(flow)]) >> 31;
            assert_eq!(sent_by as usize, queue, "flow {flow}");
            pool.free(frame);
        }
    }
    assert_eq!(by_queue.iter().sum::<usize>(), FLOWS.into(), "{by_queue:?}");
    assert!(by_queue.iter().all(|&n| n > 0), "{by_queue:?}");
}

#[test]
fn what_cannot_be_had_is_said_with_the_remedy() {
    let Some(at) = namespace() else { return };
    let slab = Slab::new(64).unwrap();
    sh(&at, "ip link add name va type veth peer name vb; ip tuntap add tap1 mode tap");
    sh(&at, "ip tuntap add tap2 mode tap multi_queue");
    let open = |name: &str, queues| {
        let options = Options { queues, ..Options::default() };
        at.run(|| TapPort::open(name, &slab, &options)).unwrap()
    };
    let held = open("tap1", 1).unwrap();
    assert!(!held.facts().made);
    for (name, queues, expected) in [
        ("va", 1, "cannot open the TAP interface va: Invalid argument (os error 22); it is no TAP"),
        ("tap1", 1, "busy (os error 16); another program has it"),
        ("a/b", 1, "1 to 15 letters"),
        ("tap3", 0, "1 to 256 queues"),
    ] {
        let text = open(name, queues).map(|_| ()).unwrap_err().to_string();
        assert!(text.contains(expected), "{name}: {text}");
    }
    drop(held);
    let text = open("tap1", 2).map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("made without `multi_queue`"), "{text}");
    // One that is there is taken with fewer queues than it could have, and stays.
    for queues in [1, 2] {
        assert_eq!(open("tap2", queues).unwrap().facts().queues, queues);
    }
    assert!(sh(&at, "ip -o link").contains("tap2"));
}
