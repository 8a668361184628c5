//! The router fed from memory and emptied into memory, only its own time counted.
//!
//! ```text
//!  tester: 512 frames into the wires │ router: breathes until it has them all │ tester: counts
//!                                    t0 ────────── the time counted ──────── t1
//! ```
//!
//! The clock is read once before and once after a chunk of [`CHUNK`] frames. One reading costs
//! about 25 ns, and of the two readings together one falls inside: at 60 Mpps that is 0.3 % of a
//! chunk. The frames were written by the same core just before, so their headers are in its cache,
//! as a network card's writes are in the last level at best; and a chunk of 64-byte frames (two
//! lines each) fits its second level.
//!
//! What this says is what the router's work costs. What a whole machine does shows
//! [`two_cores`](crate::two_cores).

use crate::device::Device;
use crate::tester::Tester;
use measure::trial::{Conditions, Counts};
use measure::{Load, Trial};
use port::{Batch, Port};
use std::time::Duration;

/// Frames between two readings of the clock.
pub const CHUNK: usize = 512;

/// Runs one trial: until the router has worked for `duration`, or four times as much has passed.
/// The trial's duration is the time the router worked.
pub fn trial(device: &mut Device, tester: &mut Tester, duration: Duration) -> Trial {
    let clock = device.clock;
    let start = clock.now();
    let (mut senders, mut receiver) = tester.begin(start, Duration::MAX, Load::FullSpeed);
    let mut worked = Duration::ZERO;
    let mut batch = Batch::new();
    let (mut now, mut turn) = (start, 0);
    while worked < duration && now.since(start) < 4 * duration {
        tester.announce(now);
        for _ in 0..CHUNK / Batch::CAPACITY / 2 {
            for (port, senders) in senders.iter_mut().enumerate() {
                let at = turn % senders.len();
                senders[at].fill(now, &mut tester.pool, &mut batch);
                tester.wires[port].send(now, &mut tester.pool, &mut batch);
            }
            turn += 1;
        }
        let waiting: usize = device.ports.iter().map(|port| port.waiting()).sum();
        let before = clock.now();
        let mut received = 0;
        while received < waiting {
            received += device.router.breathe(before, &mut device.ports);
        }
        now = clock.now();
        worked += now.since(before);
        tester.receive(now, &mut receiver);
    }
    // What a queue still holds comes out in its time.
    for _ in 0..10 {
        device.breathe();
        tester.receive(clock.now(), &mut receiver);
    }
    let sent: Vec<_> = senders.iter().flatten().map(|sender| sender.sent()).collect();
    tester.end(senders);
    Trial::judge(worked, Counts::gather(sent, &receiver, []), &Conditions::default())
}
