//! Counted losses while a port's own interface, or the other end of its wire, is switched off and on under
//! load.

#[path = "cable/mod.rs"]
mod cable;
mod veth;

use cable::{receive_now, send, wait_for};
use port::linux::packet::{self, PacketPort};
use port::linux::xdp::{self, XdpPort};
use port::linux::{Namespace, bpf::Mode};
use port::{Pool, Port, PortCounters, Slab};
use std::sync::atomic::{AtomicBool, Ordering};
use veth::{Veth, sh};

/// Receives all that is there.
fn empty(port: &mut impl Port, pool: &mut Pool) {
    while receive_now(port, pool).into_iter().map(|frame| pool.free(frame)).count() > 0 {}
}

/// Both ends of a pair send to each other while each is switched off and on: what was sent has come or is
/// counted as lost, where the kernel is `honest` about it: from the port, and to it.
fn check<P: Port + Send>(
    what: &str,
    honest: [bool; 2],
    open: impl FnOnce(&Namespace, &Slab) -> Vec<P>,
) {
    let Some(pair) = Veth::new() else { return };
    let slab = Slab::new(8192).unwrap();
    let mut near = open(&pair.a, &slab);
    let options = packet::Options { ring: 512, ..packet::Options::default() };
    let mut far = pair.b.run(|| PacketPort::open("vb", &slab, &options).unwrap()).unwrap();
    let frame = |n: u8| [vec![0xff; 6], vec![2, 0, 0, 0, 0, 1, 0x88, 0xb5], vec![n; 46]].concat();
    let frames: Vec<_> = (0..200).map(frame).collect();
    let (mut pool, over) = (slab.pool(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..100 {
                sh(&pair.a, "ip link set va down; ip link set va up");
                sh(&pair.b, "ip link set vb down; sleep 0.01; ip link set vb up");
            }
            over.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            let mut pool = slab.pool();
            while !over.load(Ordering::Acquire) {
                send(&mut far, &slab, &frames);
                empty(&mut far, &mut pool);
            }
        });
        while !over.load(Ordering::Acquire) {
            send(&mut near[0], &slab, &frames);
            near.iter_mut().for_each(|near| empty(near, &mut pool));
        }
    });
    let mut told = String::new();
    wait_for("what was sent has come or is counted", || {
        near.iter_mut().for_each(|near| empty(near, &mut pool));
        empty(&mut far, &mut pool);
        let (near, far) = (near.iter().map(P::counters).sum(), far.counters());
        let state = format!("{what}\nnear {near:?}\nfar {far:?}");
        let is_told = |from: PortCounters, to: PortCounters| {
            let (sent, came) = (from.tx_packet, to.rx_packet);
            // (What a veth's other end does not take counts at both.)
            assert!(came <= sent && came + to.rx_drop <= sent + from.tx_drop, "{state}");
            from.tx_drop > 0 && sent <= came + to.rx_drop
        };
        let all = [is_told(near, far) || !honest[0], is_told(far, near) || !honest[1]];
        if told != state {
            println!("{state}");
            told = state;
        }
        all == [true; 2]
    });
}

#[test]
fn by_af_packet() {
    let plain = packet::Options { ring: 512, ..packet::Options::default() };
    // What may have to be cut goes by the interface's qdisc, and that which is put in its place when it
    // is switched off calls sent what it drops.
    for (options, honest) in [
        (packet::Options { queues: 2, ..plain.clone() }, [true, true]),
        (packet::Options { offload: true, ..plain.clone() }, [false, true]),
    ] {
        check(&format!("{options:?}"), honest, |at, slab| {
            at.run(|| PacketPort::open("va", slab, &options)).unwrap().unwrap().queues()
        });
    }
}

#[test]
fn by_af_xdp() {
    // A veth that is switched off frees what waits in its ring for the program, and counts it nowhere.
    for (mode, honest) in [(Mode::Native, [true, false]), (Mode::Generic, [true, true])] {
        let options = xdp::Options { ring: 512, mode: Some(mode), ..xdp::Options::default() };
        check(&format!("{options:?}"), honest, |at, slab| {
            vec![at.run(|| XdpPort::open("va", slab, &options)).unwrap().unwrap()]
        });
    }
}
