//! Counts of a batch on the interfaces above its port.
//!
//! ```text
//! frame ─► add ─┬─ the same way as the last one: two additions
//!               └─ another way: count the old one on each of its interfaces, begin anew
//! ```
//!
//! So VLANs and bridges are counted for next to nothing where frames come in runs.

use crate::counter::Count;
use crate::flow;
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::interface::rewrite::EgressId;
use crate::router::Router;
use port::Frame;
use wire::Moment;

/// What came in and went out since it was counted last.
#[derive(Default)]
pub(crate) struct Passed {
    ingress: IngressId,
    /// Length on arrival.
    came: Count,
    came_fast: Count,
    egress: EgressId,
    /// IP's interface of that way.
    top: InterfaceId,
    /// Length from the IP header on.
    left: Count,
    left_fast: Count,
}

impl Passed {
    /// Counts a frame of `len` bytes on arrival.
    #[inline(always)]
    pub(super) fn came(&mut self, r: &mut Router, ingress: IngressId, len: usize, fast: bool) {
        if ingress != self.ingress {
            self.settle_in(r);
            self.ingress = ingress;
        }
        self.came.add(len as u64);
        if fast {
            self.came_fast.add(len as u64);
        }
    }

    /// Counts frames that came the same way, with their lengths on arrival.
    #[inline]
    pub(super) fn came_together(&mut self, r: &mut Router, by: IngressId, all: Count, fast: bool) {
        if by != self.ingress {
            self.settle_in(r);
            self.ingress = by;
        }
        self.came.merge(all);
        if fast {
            self.came_fast.merge(all);
        }
    }

    /// Counts a frame of `len` bytes from its IP header on, which leaves this way from IP's interface on.
    #[inline(always)]
    pub(super) fn left(
        &mut self,
        r: &mut Router,
        (egress, top): (EgressId, InterfaceId),
        len: usize,
        fast: bool,
    ) {
        if !egress.has_layers() {
            return;
        }
        if (egress, top) != (self.egress, self.top) {
            self.settle_out(r);
            (self.egress, self.top) = (egress, top);
        }
        self.left.add(len as u64);
        if fast {
            self.left_fast.add(len as u64);
        }
    }

    /// Leaves a frame to the slow path, which may look at what was counted: a session may end.
    #[inline(never)]
    pub(super) fn leave(&mut self, r: &mut Router, now: Moment, port: InterfaceId, frame: Frame) {
        self.settle(r);
        flow::enter(r, now, port, frame);
    }

    /// Counts on the interfaces: at the end of a batch.
    #[inline]
    pub(crate) fn settle(&mut self, r: &mut Router) {
        self.settle_in(r);
        self.settle_out(r);
    }

    #[inline(never)]
    fn settle_in(&mut self, r: &mut Router) {
        let (came, fast) = (std::mem::take(&mut self.came), std::mem::take(&mut self.came_fast));
        if came.packets == 0 {
            return;
        }
        let mut layers = r.learnt.ingresses.layers(self.ingress).peekable();
        while let Some((interface, cut)) = layers.next() {
            let counts = &mut r.stats.interface_counts[interface.index()];
            // A port's frames were counted when they were received.
            if layers.peek().is_some() {
                counts.rx.merge(longer(came, -i64::from(cut)));
            }
            counts.fast_rx.merge(longer(fast, -i64::from(cut)));
        }
    }

    #[inline(never)]
    fn settle_out(&mut self, r: &mut Router) {
        let (left, fast) = (std::mem::take(&mut self.left), std::mem::take(&mut self.left_fast));
        if left.packets == 0 {
            return;
        }
        for (interface, header) in r.learnt.egresses.layers(self.egress, self.top) {
            let counts = &mut r.stats.interface_counts[interface.index()];
            counts.tx.merge(longer(left, header.into()));
            if r.program.interface(interface).fast_tx {
                counts.fast_tx.merge(longer(fast, header.into()));
            }
        }
    }
}

/// The same frames, each so many bytes longer.
fn longer(count: Count, by: i64) -> Count {
    let bytes = count.bytes.wrapping_add_signed(by * count.packets as i64);
    Count { bytes, ..count }
}
