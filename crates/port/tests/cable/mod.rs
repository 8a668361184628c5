//! A cable between two ports, as a router would be one that changes nothing: what comes in by one
//! goes out by the other, finished where the other does not do it.
//!
//! ```text
//! namespace a: interface ══ port ══ [ thread ] ══ port ══ interface: namespace b
//! ```

#![allow(dead_code)] // not every test uses all of it
#![allow(clippy::disallowed_methods)] // what the kernel does takes its own time

use port::linux::Namespace;
use port::{Batch, Frame, Pool, Port, PortCounters, Slab};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::Moment;
use wire::segment::{self, Large};

/// A thread between two ports, until it is ended.
pub(crate) struct Cable<A, B> {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<(A, B, [u64; 2])>,
}

impl<A: Port + Send + 'static, B: Port + Send + 'static> Cable<A, B> {
    pub(crate) fn between(slab: &Slab, mut a: A, mut b: B) -> Cable<A, B> {
        let ended = Arc::new(AtomicBool::new(false));
        let (mut pool, until) = (slab.pool(), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            let mut notes = [0; 2];
            while !until.load(Ordering::Relaxed) {
                let n = pass(&mut a, &mut b, &mut pool, &mut notes[0])
                    + pass(&mut b, &mut a, &mut pool, &mut notes[1]);
                if n == 0 {
                    std::thread::yield_now();
                }
            }
            (a, b, notes)
        });
        Cable { ended, thread }
    }

    /// Ends it: the ports, and how many frames came by each that were not finished.
    pub(crate) fn end(self) -> (A, B, [u64; 2]) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().expect("the cable")
    }
}

/// Moves what has come in by one port out by the other.
fn pass(from: &mut impl Port, to: &mut impl Port, pool: &mut Pool, notes: &mut u64) -> usize {
    let (mut batch, mut out) = (Batch::new(), Batch::new());
    let n = from.receive(Moment::ZERO, pool, &mut batch);
    let takes = to.capabilities().offload;
    for mut frame in batch.drain() {
        let Some(offload) = pool.slab().offload(&frame) else {
            push(to, pool, &mut out, frame);
            continue;
        };
        *notes += 1;
        if takes.take(offload) {
            push(to, pool, &mut out, frame);
            continue;
        }
        let slab = pool.slab().clone();
        match Large::new(slab.bytes(&frame), offload) {
            None => {
                frame.clear_offload();
                segment::complete(slab.bytes_mut(&mut frame), offload);
                push(to, pool, &mut out, frame);
            }
            Some(large) => {
                for n in 0..large.len() {
                    let mut segment = pool.alloc(large.segment_len(n)).expect("a frame");
                    large.write(n, slab.bytes_mut(&mut segment));
                    push(to, pool, &mut out, segment);
                }
                pool.free(frame);
            }
        }
    }
    to.send(Moment::ZERO, pool, &mut out);
    n
}

fn push(to: &mut impl Port, pool: &mut Pool, out: &mut Batch, frame: Frame) {
    out.push(frame);
    if out.room() == 0 {
        to.send(Moment::ZERO, pool, out);
    }
}

/// Sends frames of these bytes.
pub(crate) fn send(port: &mut impl Port, slab: &Slab, frames: &[Vec<u8>]) {
    let (mut pool, mut batch) = (slab.pool(), Batch::new());
    for bytes in frames {
        let mut frame = pool.alloc(bytes.len()).unwrap();
        slab.bytes_mut(&mut frame).copy_from_slice(bytes);
        batch.push(frame);
        if batch.room() == 0 {
            port.send(Moment::ZERO, &mut pool, &mut batch);
        }
    }
    port.send(Moment::ZERO, &mut pool, &mut batch);
}

/// Receives what is there, a batch at most.
pub(crate) fn receive_now(port: &mut impl Port, pool: &mut Pool) -> Vec<Frame> {
    let mut batch = Batch::new();
    port.receive(Moment::ZERO, pool, &mut batch);
    batch.drain().collect()
}

/// A socket of the kernel's at 10.0.0.1, which waits a minute at most for what it receives.
pub(crate) fn socket(at: &Namespace, port: u16) -> UdpSocket {
    let socket = at.run(|| UdpSocket::bind(("10.0.0.1", port)).unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket
}

/// Receives until `enough` frames have come, or for five seconds.
pub(crate) fn receive(port: &mut impl Port, pool: &mut Pool, enough: usize) -> Vec<Frame> {
    let (mut frames, mut batch) = (Vec::new(), Batch::new());
    let end = Instant::now() + Duration::from_secs(5);
    while frames.len() < enough && Instant::now() < end {
        if port.receive(Moment::ZERO, pool, &mut batch) == 0 {
            std::thread::yield_now();
        }
        frames.extend(batch.drain());
    }
    frames
}

/// Waits until it is so, at most five seconds.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not so after five seconds");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The bit rate of TCP from `a` to a server at `address` in `b`, for two seconds.
pub(crate) fn iperf(a: &Namespace, b: &Namespace, address: &str, words: &str) -> f64 {
    let mut server = Command::new("iperf3");
    server.args(["-s", "-1"]).stdout(Stdio::null());
    let mut server = b.spawn(server).unwrap();
    // Asked of `ss`: a connection of ours would end a server that serves one.
    wait_for("iperf3 listens", || {
        let mut look = Command::new("ss");
        look.args(["-Hltn", "sport = :5201"]);
        b.output(look).is_ok_and(|output| !output.stdout.is_empty())
    });
    let mut client = Command::new("sh");
    client.args(["-c", &format!("timeout 20 iperf3 -c {address} -t 2 -J {words}")]);
    let output = a.output(client).unwrap();
    if !output.status.success() {
        let _ = server.kill();
    }
    let _ = server.wait();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    // Not worth a JSON reader: the last `sum_received` has the rate.
    let at = text.rfind("sum_received").unwrap_or_else(|| panic!("{text}"));
    let rate = text[at..].split_once("\"bits_per_second\":").expect("a rate").1;
    let rate = rate.split([',', '\n']).next().unwrap_or_default();
    rate.trim().parse().unwrap_or_else(|_| panic!("{rate}"))
}

/// What must hold of a port that was alone with its interface.
pub(crate) fn no_loss(counters: PortCounters) {
    assert_eq!((counters.rx_drop, counters.tx_drop), (0, 0), "{counters:?}");
}
