//! Frames that leave by a port with a queue of its own: as many as it has room for, the rest waits.

use super::wait::{Cost, Resume, end_dropped, mark, queue};
use crate::firewall::mark::Mark;
use crate::queue::{Decision, QueueLeafId};
use crate::router::Router;
use port::{Frame, Port};
use wire::Moment;

/// Sends what the port has room for, in the order of its kind of queue; lets the others wait.
#[cold]
#[inline(never)]
pub(crate) fn send_by_queue<P: Port>(
    r: &mut Router,
    now: Moment,
    at: usize,
    leaf: QueueLeafId,
    port: &mut P,
) {
    let interface = r.program.ports[at];
    let mut frames = r.io.outboxes[at].take();
    for frame in frames.drain(..) {
        let len = frame.len() as u32;
        if has_room(port, now) && r.queues.pass_to_port(leaf, len) {
            send(r, now, at, frame, port);
            continue;
        }
        let cost = Cost { len, label: r.label(leaf, &frame) };
        let resume = Resume::Link { interface, frame, fast: false, depth: 0, mark: Mark::NONE };
        queue(r, now, leaf, Decision::Enqueue, resume, cost);
    }
    r.io.outboxes[at].put_back(frames);
    let due = loop {
        if !has_room(port, now) {
            break port.next_start();
        }
        match r.queues.pull(leaf, now) {
            Ok((mut resume, marks)) => {
                if marks.any() {
                    mark(r, &mut resume, marks);
                }
                for frame in resume.frames() {
                    send(r, now, at, frame, port);
                }
            }
            Err(due) => break due,
        }
    };
    end_dropped(r);
    r.io.room_at = r.io.room_at.into_iter().chain(due).min();
}

/// Whether what is sent now goes at once, as far as the port knows.
fn has_room<P: Port>(port: &P, now: Moment) -> bool {
    port.next_start().is_none_or(|start| start <= now)
}

fn send<P: Port>(r: &mut Router, now: Moment, at: usize, frame: Frame, port: &mut P) {
    let counts = &mut r.stats.interface_counts[r.program.ports[at].index()];
    counts.tx.add(frame.len() as u64);
    r.stats.tally.sent += 1;
    r.io.outgoing.push(frame);
    port.send(now, &mut r.io.pool, &mut r.io.outgoing);
}
