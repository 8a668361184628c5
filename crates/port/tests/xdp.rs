//! AF_XDP ports on veth pairs in namespaces: what goes in comes out, or is counted.
//!
//! ```text
//! one pair    namespace a: port on va ════ namespace b: port on vb        one slab for both
//! two pairs   kernel ══ port ─ forwarder ─ port ══ kernel                 and for the forwarder
//! ```

mod veth;

use port::linux::bpf::Mode;
use port::linux::xdp::{Facts, Link, Options, XdpPort};
use port::linux::{Namespace, Unavailable};
use port::{Batch, Frame, Pool, Port, PortCounters, Slab, Slots};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use veth::{Veth, sh};
use wire::craft::{self, ip};
use wire::{Moment, Udp};

const NOW: Moment = Moment::ZERO;
type Opened = Result<XdpPort, Unavailable>;

fn open_in(namespace: &Namespace, name: &str, slab: &Slab, options: &Options) -> Opened {
    namespace.run(|| XdpPort::open(name, slab, options)).unwrap()
}

/// Ports on both ends of a pair.
fn ends(pair: &Veth, slab: &Slab, options: &Options) -> (XdpPort, XdpPort) {
    let open = |at, name| open_in(at, name, slab, options).unwrap_or_else(|why| panic!("{why}"));
    (open(&pair.a, "va"), open(&pair.b, "vb"))
}

/// Waits until `is_done` says so; what it last said otherwise is in the panic.
#[allow(clippy::disallowed_methods)] // what the kernel does takes its own time
fn wait(what: &str, mut is_done: impl FnMut() -> Result<(), String>) {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match is_done() {
            Ok(()) => return,
            Err(state) if Instant::now() > until => panic!("{what}: {state}"),
            Err(_) => std::thread::yield_now(),
        }
    }
}

/// The bytes of the frame number `number`, of `len` bytes: to everyone, of a type of its own.
fn bytes(number: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![0xff; 6];
    bytes.extend([2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    bytes.extend(number.to_be_bytes());
    bytes.extend((bytes.len()..len).map(|at| (at as u32 + number) as u8));
    bytes.truncate(len);
    bytes
}

fn send(port: &mut XdpPort, pool: &mut Pool, frames: impl IntoIterator<Item = Vec<u8>>) {
    let mut batch = Batch::new();
    for bytes in frames {
        let mut frame = pool.alloc(bytes.len()).expect("a free frame");
        pool.slab().bytes_mut(&mut frame).copy_from_slice(&bytes);
        batch.push(frame);
        if batch.room() == 0 {
            port.send(NOW, pool, &mut batch);
        }
    }
    port.send(NOW, pool, &mut batch);
    assert!(batch.is_empty());
}

/// Receives frames of our type until there are `n`, and frees them.
fn collect(port: &mut XdpPort, pool: &mut Pool, n: usize) -> Vec<Vec<u8>> {
    let (mut got, mut batch) = (vec![], Batch::new());
    wait("frames", || {
        port.receive(NOW, pool, &mut batch);
        for frame in batch.drain() {
            let bytes = pool.slab().bytes(&frame).to_vec();
            pool.free(frame);
            got.extend((bytes[12..14] == [0x88, 0xb5]).then_some(bytes));
        }
        let state = || format!("{} of {n}: {:?} {:?}", got.len(), port.counters(), port.drops());
        if got.len() >= n { Ok(()) } else { Err(state()) }
    });
    got
}

fn tx(frames: &[Vec<u8>]) -> PortCounters {
    let tx_byte = frames.iter().map(|bytes| bytes.len() as u64).sum();
    PortCounters { tx_packet: frames.len() as u64, tx_byte, ..PortCounters::default() }
}

fn rx(frames: &[Vec<u8>]) -> PortCounters {
    let rx_byte = frames.iter().map(|bytes| bytes.len() as u64).sum();
    PortCounters { rx_packet: frames.len() as u64, rx_byte, ..PortCounters::default() }
}

/// Each length arrives as it was sent, in order, counted once; and all slots come home.
#[test]
fn every_length_arrives_and_is_counted_once() {
    let modes = [Some(Mode::Native), Some(Mode::Generic), None];
    let budgets = [32, 2048];
    let slots = [Slots::STANDARD, Slots::ALIGNED, Slots::JUMBO];
    for ((mode, budget), slots) in modes.into_iter().zip(budgets.into_iter().cycle()).zip(slots) {
        let Some(pair) = Veth::new() else { return };
        let slab = Slab::with(4096, slots).unwrap();
        let options = Options { mode, budget, ring: 512, ..Options::default() };
        let (mut a, mut b) = ends(&pair, &slab, &options);
        let mut pool = slab.pool();
        let frames: Vec<_> = (60..=1514).map(|len| bytes(len as u32, len)).collect();
        let mut got = vec![];
        for chunk in frames.chunks(300) {
            send(&mut a, &mut pool, chunk.iter().cloned());
            got.extend(collect(&mut b, &mut pool, chunk.len()));
        }
        for (got, sent) in got.iter().zip(&frames) {
            assert!(got == sent, "{} bytes, {mode:?} {slots:?}: {got:02x?}", sent.len());
        }
        let facts: &Facts = b.facts();
        assert_eq!(facts.mode, mode.unwrap_or(Mode::Native), "{facts}");
        assert!(!facts.zero_copy && facts.shares_umem && facts.rx_queues == 1, "{facts}");
        assert!(facts.tried[0].contains("veth has no zero-copy"), "{facts}");
        assert_eq!((a.counters(), b.counters()), (tx(&frames), rx(&frames)), "{mode:?} {slots:?}");
        drop((a, b, pool));
        assert_eq!(slab.frames_out(), 0, "{mode:?} {slots:?}");
    }
}

/// Hands frames from port to port until it is told to stop.
fn forward(a: &mut XdpPort, b: &mut XdpPort, pool: &mut Pool, stop: &AtomicBool) {
    let mut batch = Batch::new();
    while !stop.load(Ordering::Relaxed) {
        a.receive(NOW, pool, &mut batch);
        b.send(NOW, pool, &mut batch);
        b.receive(NOW, pool, &mut batch);
        a.send(NOW, pool, &mut batch);
    }
}

/// What a kernel's ping says across a forwarder between two pairs, in four namespaces. With a count
/// and a deadline it fails unless so many answers come.
fn ping_across(slots: Slots, mtu: u32, ping: &str) -> Option<String> {
    let (one, two) = (Veth::taking(&["ping"])?, Veth::new()?);
    let slab = Slab::with(4096, slots).unwrap();
    sh(&one.a, &format!("ip link set va mtu {mtu}; ip address add 10.0.0.1/24 dev va"));
    sh(&two.b, &format!("ip link set vb mtu {mtu}; ip address add 10.0.0.2/24 dev vb"));
    sh(&one.b, &format!("ip link set vb mtu {mtu}"));
    sh(&two.a, &format!("ip link set va mtu {mtu}"));
    let options = Options { ring: 256, ..Options::default() };
    let mut a = open_in(&one.b, "vb", &slab, &options).unwrap_or_else(|error| panic!("{error}"));
    let mut b = open_in(&two.a, "va", &slab, &options).unwrap_or_else(|error| panic!("{error}"));
    let stop = AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| forward(&mut a, &mut b, &mut slab.pool(), &stop));
        let said = std::panic::catch_unwind(|| sh(&one.a, ping));
        stop.store(true, Ordering::Relaxed);
        said
    });
    let said = said.unwrap_or_else(|_| panic!("{:?} {:?} {}", a.drops(), b.drops(), a.facts()));
    let (a_count, b_count) = (a.counters(), b.counters());
    assert_eq!(a_count.rx_packet, b_count.tx_packet, "{:?}", b.drops());
    assert_eq!(b_count.rx_byte, a_count.tx_byte, "{:?}", a.drops());
    // A busy machine may make the answers late, but nothing may be missing.
    for count in [a_count, b_count] {
        assert_eq!((count.rx_drop, count.tx_drop), (0, 0), "{:?} {:?}", a.drops(), b.drops());
    }
    drop((a, b));
    assert_eq!(slab.frames_out(), 0);
    Some(said)
}

#[test]
fn kernels_ping_each_other_through_two_ports() {
    let ping = "ping -c 20 -i 0.01 -s 1472 -M do -w 20 10.0.0.2";
    let Some(said) = ping_across(Slots::STANDARD, 1500, ping) else { return };
    assert!(!said.contains("wrong data"), "{said}");
}

#[test]
fn jumbo_frames_come_and_go_in_several_buffers() {
    let ping = "ping -c 20 -i 0.01 -s 8972 -M do -p a55a -w 20 10.0.0.2";
    let Some(said) = ping_across(Slots::JUMBO, 9000, ping) else { return };
    assert!(!said.contains("wrong data"), "{said}");
}

/// Every length around the ends of the buffers, content and order.
fn check_long_frames(mode: Mode) {
    let Some(pair) = Veth::new() else { return };
    sh(&pair.a, "ip link set va mtu 9800");
    sh(&pair.b, "ip link set vb mtu 9800");
    let slab = Slab::with(2048, Slots::JUMBO).unwrap();
    let (mut a, mut b) =
        ends(&pair, &slab, &Options { mode: Some(mode), ring: 256, ..Options::default() });
    assert!(a.facts().multi_buffer, "{}", a.facts());
    let mut pool = slab.pool();
    let lens = [60, 3839, 3840, 3841, 4095, 4096, 4097, 7680, 7681, 8191, 8192, 8193, 9014, 9814];
    let frames: Vec<_> = lens.iter().zip(0..).map(|(&len, i)| bytes(i, len)).collect();
    for round in 0..20 {
        send(&mut a, &mut pool, frames.iter().cloned());
        let got = collect(&mut b, &mut pool, frames.len());
        for (got, sent) in got.iter().zip(&frames) {
            assert!(got == sent, "round {round}: {} of {} bytes", got.len(), sent.len());
        }
    }
    assert_eq!(a.counters().tx_packet, 20 * frames.len() as u64, "{:?}", a.drops());
    assert_eq!(b.counters().rx_byte, a.counters().tx_byte, "{:?}", b.drops());
    drop((a, b, pool));
    assert_eq!(slab.frames_out(), 0);
}

#[test]
fn long_frames_arrive_whole() {
    check_long_frames(Mode::Native);
    check_long_frames(Mode::Generic);
}

/// A port for each queue: what is sent by one arrives by the queue of the same number.
#[test]
fn each_queue_is_a_port() {
    let Some(pair) = Veth::with("numrxqueues 4 numtxqueues 4") else { return };
    let slab = Slab::new(8192).unwrap();
    let (a, mut b) = ends(&pair, &slab, &Options { ring: 128, ..Options::default() });
    assert_eq!((a.facts().rx_queues, a.facts().tx_queues), (4, 4), "{}", a.facts());
    let mut pool = slab.pool();
    let mut senders = a.queues();
    assert_eq!(senders.len(), 4);
    let frames = |queue: usize| (0..50).map(move |i| bytes(queue as u32 * 100 + i, 60));
    for (number, sender) in senders.iter_mut().enumerate() {
        send(sender, &mut pool, frames(number));
        assert_eq!(collect(&mut b, &mut pool, 50), frames(number).collect::<Vec<_>>());
    }
    let mut receivers = b.queues();
    for (number, (sender, receiver)) in senders.iter_mut().zip(&mut receivers).enumerate() {
        send(sender, &mut pool, frames(number));
        assert_eq!(collect(receiver, &mut pool, 50), frames(number).collect::<Vec<_>>());
    }
    for port in senders.iter().chain(&receivers) {
        assert_eq!(
            (port.counters().rx_drop, port.counters().tx_drop),
            (0, 0),
            "{:?}",
            port.drops()
        );
    }
    // One may go before the others.
    receivers.remove(1);
    senders.remove(1);
    send(&mut senders[1], &mut pool, frames(9));
    assert_eq!(collect(&mut receivers[1], &mut pool, 50).len(), 50);
    drop((senders, receivers, pool));
    assert_eq!(slab.frames_out(), 0);
}

/// One port of several queues: a flow goes by one of them, in order, and all have some.
#[test]
fn what_is_sent_is_spread_by_flow() {
    const FLOWS: u16 = 40;
    let Some(pair) = Veth::with("numrxqueues 3 numtxqueues 3") else { return };
    let slab = Slab::new(8192).unwrap();
    let (mut a, b) = ends(&pair, &slab, &Options { ring: 1024, ..Options::default() });
    let mut pool = slab.pool();
    for number in 0..20u8 {
        let frame = |flow| craft::udp(ip(10, 0, 0, 1), 1000 + flow, ip(10, 0, 1, 1), 7);
        let bytes = |flow| craft::Frame { payload: &[number], ..frame(flow) }.build();
        send(&mut a, &mut pool, (0..FLOWS).map(bytes));
    }
    assert_eq!(a.counters().tx_packet, 800, "{:?}", a.drops());
    let (mut next, mut batch) = ([0; FLOWS as usize], Batch::new());
    let mut ports = b.queues();
    let mut flows = vec![BTreeSet::new(); ports.len()];
    wait("all frames", || {
        for (port, flows) in ports.iter_mut().zip(&mut flows) {
            port.receive(NOW, &mut pool, &mut batch);
            for frame in batch.drain() {
                let udp = Udp::new(&slab.bytes(&frame)[34..]).unwrap();
                let flow = usize::from(udp.src_port() - 1000);
                assert_eq!(udp.payload()[0], next[flow], "flow {flow}");
                next[flow] += 1;
                flows.insert(flow);
                pool.free(frame);
            }
        }
        if next == [20; FLOWS as usize] { Ok(()) } else { Err(format!("{next:?}")) }
    });
    assert!(flows.iter().all(|flows| !flows.is_empty()), "{flows:?}");
    assert_eq!(flows.iter().map(BTreeSet::len).sum::<usize>(), FLOWS.into(), "{flows:?}");
    drop((a, ports, pool));
    assert_eq!(slab.frames_out(), 0);
}

/// What is for an address that is named the kernel's goes to the kernel, ARP too, and nothing else.
#[test]
fn the_kernel_keeps_what_is_for_its_addresses() {
    for (mode, slots) in [(Mode::Native, Slots::STANDARD), (Mode::Generic, Slots::JUMBO)] {
        let Some(pair) = Veth::taking(&["ping"]) else { return };
        sh(&pair.a, "ip address add 10.0.0.1/24 dev va");
        sh(&pair.b, "for n in 2 3; do ip address add 10.0.0.$n/24 dev vb; done");
        let slab = Slab::with(1024, slots).unwrap();
        let options = Options { mode: Some(mode), kernel: true, ring: 256, ..Options::default() };
        let mut port = open_in(&pair.b, "vb", &slab, &options).unwrap();
        let kernels = port.kernels().expect("it was asked for");
        let (mut pool, mut batch) = (slab.pool(), Batch::new());
        let mut pass = |address: &str, expected: bool| {
            let words = format!("ping -q -c 1 -W 1 {address} || true");
            // A busy machine may be late with an answer, but not for ever.
            let answered = (0..if expected { 30 } else { 1 })
                .any(|_| sh(&pair.a, &words).contains(" 1 received"));
            assert_eq!(answered, expected, "{address}, {mode:?} {}", port.facts());
            let mut here = 0;
            port.receive(NOW, &mut pool, &mut batch);
            for frame in batch.drain() {
                here += usize::from(veth::target(slab.bytes(&frame)).to_string() == address);
                pool.free(frame);
            }
            assert_eq!(here == 0, expected, "{address}: {here} frames, {mode:?}");
        };
        pass("10.0.0.2", false);
        assert!(kernels.set(&[[10, 0, 0, 2].into()].into()).unwrap());
        pass("10.0.0.2", true);
        pass("10.0.0.3", false);
        assert!(!kernels.set(&[[10, 0, 0, 2].into()].into()).unwrap());
        assert!(kernels.set(&[[10, 0, 0, 3].into()].into()).unwrap());
        pass("10.0.0.3", true);
        pass("10.0.0.2", false);
        // The same by IPv6, whose neighbours are solicited.
        let on =
            |end| format!("echo 0 >/proc/sys/net/ipv6/conf/{end}/disable_ipv6; ip address add");
        sh(&pair.a, &format!("{} 2001:db8::1/64 dev va nodad", on("va")));
        sh(&pair.b, &format!("for n in 2 3; do {} 2001:db8::$n/64 dev vb nodad; done", on("vb")));
        pass("2001:db8::2", false);
        assert!(kernels.set(&["2001:db8::2".parse().unwrap()].into()).unwrap());
        pass("2001:db8::2", true);
        pass("2001:db8::3", false);
    }
}

/// A queue that cannot send goes along with one that can.
#[test]
fn queues_that_only_receive_are_shared_out() {
    let Some(pair) = Veth::with("numrxqueues 5 numtxqueues 2") else { return };
    let slab = Slab::new(8192).unwrap();
    let (a, b) = ends(&pair, &slab, &Options { ring: 64, ..Options::default() });
    assert_eq!((a.facts().rx_queues, a.facts().tx_queues), (5, 2), "{}", a.facts());
    let (mut a, mut b, mut pool) = (a.queues(), b.queues(), slab.pool());
    let descriptors: Vec<usize> = a.iter().map(|port| port.descriptors().len()).collect();
    assert_eq!(descriptors, [3, 2]);
    for (a, b) in a.iter_mut().zip(&mut b) {
        send(a, &mut pool, [bytes(1, 60)]);
        assert_eq!(collect(b, &mut pool, 1), [bytes(1, 60)]);
    }
    drop((a, b, pool));
    assert_eq!(slab.frames_out(), 0);
}

/// Whoever does not read, or has no slots to receive into, loses frames, and knows how many.
#[test]
fn starvation_is_counted() {
    let Some(pair) = Veth::new() else { return };
    let slab = Slab::new(1024).unwrap();
    let (mut a, mut b) = ends(&pair, &slab, &Options { ring: 128, ..Options::default() });
    let mut pool = slab.pool();
    let count = |a: &XdpPort, b: &XdpPort| {
        let (a, b) = (a.counters(), b.counters());
        (a.tx_packet + a.tx_drop, a.tx_packet - b.rx_packet - b.rx_drop)
    };
    // It does not read.
    for i in 0..10 {
        send(&mut a, &mut pool, (0..60).map(|n| bytes(i * 100 + n, 60)));
    }
    wait("all accounted for", || {
        let drops = b.drops();
        let lost = drops.rx_no_slot + drops.rx_ring_full;
        if lost == 600 - 128 { Ok(()) } else { Err(format!("{drops:?} {:?}", a.counters())) }
    });
    assert_eq!(collect(&mut b, &mut pool, 128).len(), 128);
    assert_eq!(count(&a, &b), (600, 0), "{:?} {:?}", a.drops(), b.drops());

    // It reads, but all the slab's frames are held.
    let mut held: Vec<Frame> = vec![];
    let mut batch = Batch::new();
    held.extend(std::iter::from_fn(|| pool.alloc(60)).take(slab.capacity()));
    let spare: Vec<Frame> = held.drain(..100).collect();
    spare.into_iter().for_each(|frame| batch_or_free(&mut batch, frame, &mut pool));
    a.send(NOW, &mut pool, &mut batch);
    held.extend(std::iter::from_fn(|| pool.alloc(60)));
    // Its 128 slots are used up by what arrives, and it gets no more.
    let mut sent = 0;
    wait("starved", || {
        a.receive(NOW, &mut pool, &mut batch); // completions
        batch.free_all(&mut pool);
        if let Some(frame) = pool.alloc(60) {
            batch.push(frame);
            a.send(NOW, &mut pool, &mut batch);
            sent += 1;
        }
        b.receive(NOW, &mut pool, &mut batch);
        held.extend(batch.drain());
        let drops = b.drops();
        if drops.rx_no_slot > 500 && drops.fill_ring_empty > 0 {
            Ok(())
        } else {
            Err(format!("{drops:?} after {sent}"))
        }
    });
    let (offered, missing) = count(&a, &b);
    assert!(offered >= 600 + sent && missing == 0, "{offered} {missing} {sent}: {:?}", b.drops());
    // With frames again, it goes on.
    held.into_iter().for_each(|frame| pool.free(frame));
    b.receive(NOW, &mut pool, &mut batch);
    batch.free_all(&mut pool);
    send(&mut a, &mut pool, (0..50).map(|n| bytes(9000 + n, 60)));
    assert_eq!(collect(&mut b, &mut pool, 50).len(), 50);
    assert_eq!(count(&a, &b).1, 0);
    drop((a, b, pool));
    assert_eq!(slab.frames_out(), 0);
}

/// Whether something can be read, or becomes so within `ms`.
fn is_woken(port: &XdpPort, ms: i32) -> bool {
    let poll = |fd: std::os::fd::BorrowedFd| libc::pollfd {
        fd: std::os::fd::AsRawFd::as_raw_fd(&fd),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut fds: Vec<_> = port.descriptors().into_iter().map(poll).collect();
    // SAFETY: as many as are there.
    unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, ms) > 0 }
}

#[test]
fn its_descriptors_wake() {
    let Some(pair) = Veth::with("numrxqueues 2 numtxqueues 2") else { return };
    let slab = Slab::new(1024).unwrap();
    let (a, mut b) = ends(&pair, &slab, &Options { ring: 64, ..Options::default() });
    let mut pool = slab.pool();
    for sender in &mut a.queues() {
        assert!(!is_woken(&b, 0));
        send(sender, &mut pool, [bytes(1, 60)]);
        assert!(is_woken(&b, 5000));
        collect(&mut b, &mut pool, 1);
    }
    assert!(!is_woken(&b, 0) && b.failure().is_none());
}

fn batch_or_free(batch: &mut Batch, frame: Frame, pool: &mut Pool) {
    if batch.room() > 0 {
        batch.push(frame);
    } else {
        pool.free(frame);
    }
}

fn link(port: &XdpPort, wanted: Link) {
    wait("link", || match port.link() {
        link if link == wanted => Ok(()),
        other => Err(format!("{other:?}, not {wanted:?}")),
    });
}

#[test]
fn a_link_that_is_down_loses_what_is_sent_and_comes_back() {
    let Some(pair) = Veth::new() else { return };
    sh(&pair.a, "ip link set va down");
    let slab = Slab::new(2048).unwrap();
    let (mut a, mut b) = ends(&pair, &slab, &Options { ring: 256, ..Options::default() });
    let mut pool = slab.pool();
    let frames: Vec<_> = (0..100).map(|n| bytes(n, 60)).collect();
    sh(&pair.a, "ip link set va up"); // both were opened while it was down
    let mut dropped = 0;
    for (namespace, name) in [(&pair.a, "va"), (&pair.b, "vb")] {
        link(&a, Link::Running);
        send(&mut a, &mut pool, frames.iter().cloned());
        assert_eq!(collect(&mut b, &mut pool, 100), frames);
        sh(namespace, &format!("ip link set {name} down"));
        link(&a, Link::Down);
        link(&b, Link::Down);
        send(&mut a, &mut pool, frames.iter().cloned());
        dropped += 100;
        assert_eq!(a.counters().tx_drop, dropped, "{name} down: {:?}", a.drops());
        sh(namespace, &format!("ip link set {name} up"));
    }
    link(&a, Link::Running);
    send(&mut a, &mut pool, frames.iter().cloned());
    assert_eq!(collect(&mut b, &mut pool, 100), frames);
    let drops = a.drops();
    assert_eq!((drops.tx_link_down, drops.tx_refused), (100, 100), "its own side, the peer's");
    assert_eq!((a.counters().tx_packet, b.counters().rx_packet), (300, 300));
    drop((a, b, pool));
    assert_eq!(slab.frames_out(), 0);
}

/// The link goes down between two system calls for the same frames, too.
#[test]
fn a_link_that_goes_down_and_up_under_load_loses_nothing_uncounted() {
    let Some(pair) = Veth::new() else { return };
    let slab = Slab::new(4096).unwrap();
    let (mut a, b) = ends(&pair, &slab, &Options { ring: 512, ..Options::default() });
    let (mut pool, over, mut handed) = (slab.pool(), AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            sh(&pair.a, "for _ in $(seq 150); do ip link set va down; ip link set va up; done");
            over.store(true, Ordering::Release);
        });
        while !over.load(Ordering::Acquire) {
            send(&mut a, &mut pool, (0..200).map(|n| bytes(n, 60)));
            handed += 200;
        }
    });
    link(&a, Link::Running);
    wait("what is sent or lost", || {
        send(&mut a, &mut pool, [bytes(0, 60)]);
        handed += 1;
        let PortCounters { tx_packet, tx_drop, .. } = a.counters();
        let state = || format!("{handed} frames: {:?} {:?}", a.counters(), a.drops());
        if tx_packet + tx_drop == handed { Ok(()) } else { Err(state()) }
    });
    let drops = a.drops();
    assert!(drops.tx_link_down > 0 && a.counters().tx_packet > 0, "{:?} {drops:?}", a.counters());
    drop((a, b, pool));
    assert_eq!(slab.frames_out(), 0);
}

#[test]
fn a_deleted_interface_is_gone_and_its_slots_come_home() {
    let Some(pair) = Veth::new() else { return };
    let Some(other) = Veth::new() else { return };
    let slab = Slab::new(2048).unwrap();
    let options = Options { ring: 256, ..Options::default() };
    let (mut a, b) = ends(&pair, &slab, &options);
    let mut pool = slab.pool();
    send(&mut a, &mut pool, (0..50).map(|n| bytes(n, 60)));
    sh(&pair.b, "ip link delete vb");
    link(&a, Link::Gone);
    assert_eq!(b.link(), Link::Gone);
    assert_eq!(b.failure().unwrap(), "the interface vb is gone");
    send(&mut a, &mut pool, (0..50).map(|n| bytes(n, 60)));
    assert_eq!((a.counters().tx_packet, a.drops().tx_link_down), (50, 50));
    // The sockets that began the UMEM cannot share it any more; new ones do without.
    let (mut c, mut d) = ends(&other, &slab, &options);
    send(&mut c, &mut pool, (0..50).map(|n| bytes(n, 60)));
    assert_eq!(collect(&mut d, &mut pool, 50).len(), 50);
    // A pair of the same name is another.
    sh(
        &pair.a,
        &format!("ip link add va type veth peer name vb netns {}", pair.b.path().display()),
    );
    assert_eq!(a.link(), Link::Gone);
    drop((a, b, c, d, pool));
    assert_eq!(slab.frames_out(), 0);
}

#[test]
fn an_interface_in_use_is_said_and_had_again_afterwards() {
    let Some(pair) = Veth::new() else { return };
    let slab = Slab::new(1024).unwrap();
    let options = Options { ring: 64, ..Options::default() };
    let first = open_in(&pair.a, "va", &slab, &options).unwrap();
    let theirs = Slab::new(1024).unwrap();
    let Err(unavailable) = open_in(&pair.a, "va", &theirs, &options) else { panic!("two ports") };
    let said = unavailable.to_string();
    assert!(said.contains("bind an AF_XDP socket to va: ") && said.contains("busy"), "{said}");
    assert!(said.contains("another program has va in use"), "{said}");
    assert!(theirs.frames_out() == 0 && first.link() == Link::Running);
    drop(first);
    for _ in 0..3 {
        let again = open_in(&pair.a, "va", &slab, &options).unwrap();
        assert_eq!(slab.frames_out(), 64, "in the kernel, and in no pool: {}", again.facts());
        drop(again);
        assert_eq!(slab.frames_out(), 0);
    }
    // Nothing stays attached.
    let shown = sh(&pair.a, "ip link show va");
    assert!(!shown.contains("xdp"), "{shown}");
}

/// No test by itself: what another one starts, and kills. It has a port, says so, and reads.
#[test]
fn a_process_that_has_a_port() {
    let Some(name) = std::env::var_os("HAVE_PORT") else { return };
    let slab = Slab::new(1024).unwrap();
    let port = XdpPort::open(name.to_str().unwrap(), &slab, &Options::default());
    let mut port = port.unwrap_or_else(|unavailable| panic!("{unavailable}"));
    println!("has {}", port.facts());
    let (mut pool, mut batch) = (slab.pool(), Batch::new());
    loop {
        port.receive(NOW, &mut pool, &mut batch);
        port.send(NOW, &mut pool, &mut batch);
    }
}

/// Killed under load, it leaves nothing: the interface is the kernel's again, and ours to open.
#[test]
fn nothing_stays_of_a_process_that_was_killed() {
    let Some(pair) = Veth::taking(&["ping"]) else { return };
    sh(&pair.a, "ip address add 10.0.0.1/24 dev va");
    sh(&pair.b, "ip address add 10.0.0.2/24 dev vb");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_process_that_has_a_port", "--nocapture"]);
    command.env("HAVE_PORT", "vb").stdout(Stdio::piped());
    let mut child = pair.b.spawn(command).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find(|line| line.contains("has vb")).unwrap();
    assert!(said.contains("has vb (veth): AF_XDP, native, copy mode, 1 queue"), "{said}");
    assert!(sh(&pair.b, "ip link show vb").contains("prog/xdp"));
    sh(&pair.a, "ping -c 100 -i 0.001 -W 0.01 10.0.0.2 || true"); // its ARP comes back as it went
    child.kill().unwrap();
    child.wait().unwrap();
    wait("detached", || match sh(&pair.b, "ip link show vb") {
        shown if shown.contains("xdp") => Err(shown),
        _ => Ok(()),
    });
    sh(&pair.a, "ip neighbour flush dev va; ping -c 1 -w 10 10.0.0.2");
    let slab = Slab::new(1024).unwrap();
    let again = open_in(&pair.b, "vb", &slab, &Options::default());
    assert!(again.is_ok(), "{:?}", again.err().map(|unavailable| unavailable.to_string()));
}

/// Takes a capability from the calling thread.
fn give_up(capability: u32) {
    let mut header = [0x2008_0522u32, 0]; // _LINUX_CAPABILITY_VERSION_3, this thread
    let mut data = [0u32; 6]; // effective, permitted, inheritable; twice 32 bits
    // SAFETY: header and data are as long as this version's.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_capget, &raw mut header, &raw mut data), 0);
        data[(capability / 32) as usize * 3] &= !(1 << (capability % 32));
        assert_eq!(libc::syscall(libc::SYS_capset, &raw mut header, &raw const data), 0);
    }
}

#[test]
fn what_cannot_be_had_is_said_with_the_remedy() {
    let Some(pair) = Veth::new() else { return };
    let (small, large) = (Slab::new(256).unwrap(), Slab::new(1 << 15).unwrap());
    let options = Options { ring: 64, ..Options::default() };
    const NET_RAW: u32 = 13;
    const IPC_LOCK: u32 = 14;
    let asked = Options { zero_copy: Some(true), ..options.clone() };
    let cases = [
        ("none", &small, &options, None, ["none: No such device", "`ip link`"]),
        ("va", &small, &options, Some(NET_RAW), ["open an AF_XDP socket: ", "run as root"]),
        ("va", &large, &options, Some(IPC_LOCK), ["No buffer space", "`ulimit -l 69632` or more"]),
        ("va", &small, &asked, None, ["Operation not supported", "has no zero-copy"]),
        ("long", &small, &options, None, ["its MTU of 9000 makes frames of 9014", "mtu 1906"]),
    ];
    sh(&pair.a, "ip link add long mtu 9000 type veth peer name peer");
    for (name, slab, options, without, expected) in cases {
        let open = || {
            without.into_iter().for_each(give_up);
            XdpPort::open(name, slab, options).err().map(|unavailable| unavailable.to_string())
        };
        let said = pair.a.run(open).unwrap().unwrap_or_else(|| panic!("{expected:?}: opened"));
        assert!(expected.iter().all(|words| said.contains(words)), "{said}");
        assert_eq!(slab.frames_out(), 0, "{said}");
    }
}

/// What the interface drops before any socket is counted, and nothing twice.
#[test]
fn what_the_interface_drops_is_counted_once() {
    for (mode, queues, apart) in [
        (Mode::Native, 1, false),
        (Mode::Generic, 1, false),
        (Mode::Native, 2, true),
        (Mode::Generic, 2, true),
    ] {
        let words = format!("numrxqueues {queues} numtxqueues {queues}");
        let Some(pair) = Veth::with(&words) else { return };
        sh(&pair.b, "ip link set vb mtu 1400");
        let slab = Slab::new(4096).unwrap();
        let options = Options { mode: Some(mode), ring: 64, ..Options::default() };
        let a = open_in(&pair.a, "va", &slab, &Options { ring: 512, ..Options::default() });
        let mut pool = slab.pool();
        // Those before the port was there are none of its own.
        let mut a = a.unwrap();
        send(&mut a, &mut pool, (0..50).map(|i| bytes(i, 1500)));
        assert_eq!(a.counters().tx_packet, 0, "the other end's MTU is shorter");
        let b = open_in(&pair.b, "vb", &slab, &options).unwrap();
        let mut receivers = if apart { b.queues() } else { vec![b] };
        // Nobody reads: some fit the rings, the others find no slot or no place.
        send(&mut a, &mut pool, (0..300).map(|i| bytes(i, 60)));
        send(&mut a, &mut pool, (0..70).map(|i| bytes(i, 1500)));
        // (What finds the veth's own ring full has not left the other end.)
        let all = a.counters().tx_packet + 70;
        let (mut received, mut batch) = (0, Batch::new());
        wait("what was sent is received or counted", || {
            for port in &mut receivers {
                received += port.receive(NOW, &mut pool, &mut batch);
                batch.free_all(&mut pool);
            }
            let drops: port::linux::xdp::Drops = receivers.iter().map(XdpPort::drops).sum();
            let by_socket = drops.rx_no_slot + drops.rx_ring_full;
            let lost: u64 = receivers.iter().map(|port| port.counters().rx_drop).sum();
            let state = format!("{received} received, {lost} lost, {mode:?} {queues} {drops:?}");
            assert!(drops.rx_ahead <= 70 && received as u64 + lost <= all, "{state}");
            let done = by_socket > 0 && drops.rx_ahead == 70 && received as u64 + lost == all;
            if done { Ok(()) } else { Err(state) }
        });
    }
}
