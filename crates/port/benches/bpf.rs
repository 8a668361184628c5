//! The generator in the kernel on a veth pair: millions of frames a second, and what each costs.
//!
//! ```sh
//! cargo bench -p port --bench bpf           # all of it, half a minute, as root
//! cargo bench -p port --bench bpf -- 1000 inline counter   # a second each, rows with these words
//! ```
//!
//! ```text
//!  generator ─► veth ─► XDP_DROP      what the generator costs
//!                  └──► counter       what the counter costs on top
//! ```
//!
//! "inline": generator, veth and the far end's program share a core, as they do unless the far
//! end's NAPI has a thread; "threaded": the far end has a core of its own.

#[path = "../tests/veth/mod.rs"]
mod veth;

use port::linux::bpf::assembler::{Assembler, Register::R0};
use port::linux::bpf::counter::{Expected, Tail};
use port::linux::bpf::generator::{Edit, Pick, Plan, Schedule, Stream};
use port::linux::bpf::{Counter, Generator, Mode, Program, action, clock_ns, interface_index};
use std::time::Duration;
use veth::{Veth, sh};

fn main() {
    let ms = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(500);
    let duration = Duration::from_millis(ms);
    let Some(pair) = Veth::new() else { return };
    for threaded in [false, true] {
        let place = if threaded { "threaded" } else { "inline" };
        let drop = pair.b.run(|| {
            always(action::DROP).attach(interface_index("vb").unwrap(), Mode::Native).unwrap()
        });
        // The setting is there as soon as a program is.
        let threaded = u8::from(threaded);
        let file = "/sys/class/net/vb/threaded";
        sh(&pair.b, &format!("mount -t sysfs sysfs /sys; echo {threaded} > {file}"));
        for batch in [16, 32, 64, 128, 256] {
            row(&pair, place, "64 B into XDP_DROP", plan(60, false), batch, duration);
        }
        row(&pair, place, "64 B, 1000 flows, UDP checksum", plan(60, true), 64, duration);
        row(&pair, place, "1518 B into XDP_DROP", plan(1514, false), 64, duration);
        std::mem::drop(drop);
        for (what, len) in [("64 B into the counter", 60), ("1518 B into the counter", 1514)] {
            let counter = pair.b.run(|| open_counter(len)).unwrap();
            sh(&pair.b, &format!("mount -t sysfs sysfs /sys; echo {threaded} > {file}"));
            let accepted = row(&pair, place, what, plan(len, false), 64, duration);
            if let Some(accepted) = accepted {
                std::thread::sleep(Duration::from_millis(20)); // for what is in the queue
                let count = counter.read();
                assert_eq!(count.streams[0].received, accepted, "{count:?}");
            }
        }
    }
}

fn open_counter(len: usize) -> Counter {
    let tail = Tail {
        bytes: 18,
        parity: 0xb5,
        stream: 1,
        mark: (2, 0),
        number: 2,
        number_mask: (1 << 56) - 1,
        time: 10,
        zero_ns: 0,
    };
    let expected = Expected { stream: 0, frame_bytes: Some(len), ipv4: true };
    Counter::open("vb", Mode::Native, &tail, &[expected]).unwrap()
}

fn always(action: i32) -> Program {
    let mut a = Assembler::new();
    a.set(R0, action);
    a.exit();
    Program::xdp("always", &a.finish(), false).unwrap()
}

fn plan(len: usize, checksums: bool) -> Plan {
    let mut frame = vec![0; len];
    frame[12] = 8;
    frame[14] = 0x45;
    let sum = wire::checksum::ipv4_header(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    let mut edits = vec![
        Edit::Number { at: len - 16, bytes: 8, first: 0 },
        Edit::Time { at: len - 8, zero_ns: 0 },
        Edit::Parity { at: len - 18, over: len - 18..len, is: 0xb5 },
    ];
    if checksums {
        let values = (0..12_000u32).map(|i| (i * 7) as u8).collect();
        edits.push(Edit::Values { at: 26, bytes: 12, values, pick: Pick::Random(1) });
        edits.extend([Edit::ipv4_checksum(14), Edit::udp_checksum(14, len)]);
    }
    Plan::new(vec![Stream { frame, edits, share: 1, out: 0 }]).unwrap()
}

/// Runs a plan, prints what it cost, and returns how many frames the interface took; `None` if the
/// row is not asked for.
fn row(
    pair: &Veth,
    place: &str,
    what: &str,
    plan: Plan,
    batch: u32,
    duration: Duration,
) -> Option<u64> {
    let label = format!("{place:9} {what:32} batch {batch:3}");
    let fits = |word: String| {
        word.starts_with("--") || word.parse::<u64>().is_ok() || label.contains(&word)
    };
    if !std::env::args().skip(1).all(fits) {
        return None;
    }
    let mut generator = pair.a.run(|| Generator::open("va", plan)).unwrap().unwrap();
    generator.batches_of(batch);
    let start_ns = clock_ns();
    generator.start(Schedule { pace: None, start_ns, duration, at_most: u64::MAX });
    let before = cpu_ns();
    generator.run(u64::MAX).unwrap();
    let cpu = cpu_ns() - before;
    let sent = generator.sent();
    let each = cpu as f64 / sent.made() as f64;
    let wall = (sent.last_ns - start_ns) as f64;
    println!(
        "{label}: {:6.3} Mpps of a core's time ({each:5.1} ns each), \
         {:6.3} in all; refused {:4.1} %",
        1e3 / each,
        sent.made() as f64 * 1e3 / wall,
        sent.refused as f64 * 100.0 / sent.made() as f64
    );
    assert_eq!(sent.made(), sent.accepted + sent.refused, "{sent:?}");
    Some(sent.accepted)
}

/// What this thread has had of a processor: on a busy machine the only measure of cost. Software
/// interrupts that run on it are in it.
fn cpu_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is ours; every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
