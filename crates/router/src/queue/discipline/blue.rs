//! BLUE (Feng and others, 2002) beside CoDel, the two of which are CAKE's COBALT: a flow that does not heed
//! CoDel fills the queue, so a part of its packets is dropped by chance, which grows with each time that it does.

use std::time::Duration;
use wire::Moment;

/// Of so many packets a flow loses its part.
const WHOLE: u16 = 4096;
/// What that part grows by, and shrinks by, as in Linux: at most once in CoDel's target.
const MORE: u16 = 16;
const LESS: u16 = 1;

/// The flows of a tin by number; none that never filled the queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Blue {
    flows: Vec<State>,
    random: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Of [`WHOLE`].
    part: u16,
    changed: Moment,
}

impl Blue {
    /// The queue is full, and this flow has most of it.
    pub(super) fn full(&mut self, flow: u32, target: Duration, now: Moment) {
        let len = self.flows.len().max(flow as usize + 1);
        self.flows.resize(len, State::default());
        let state = &mut self.flows[flow as usize];
        if now.since(state.changed) > target {
            *state = State { part: (state.part + MORE).min(WHOLE), changed: now };
        }
    }

    /// This flow has nothing left.
    #[inline]
    pub(super) fn empty(&mut self, flow: u32, target: Duration, now: Moment) {
        let Some(state) = self.flows.get_mut(flow as usize) else { return };
        if state.part > 0 && now.since(state.changed) > target {
            *state = State { part: state.part - LESS, changed: now };
        }
    }

    /// A number belongs to another flow from now on.
    pub(super) fn forget(&mut self, flow: u32) {
        if let Some(state) = self.flows.get_mut(flow as usize) {
            *state = State::default();
        }
    }

    /// Whether a packet of this flow is dropped.
    #[inline]
    pub(super) fn drops(&mut self, flow: u32) -> bool {
        let Some(state) = self.flows.get(flow as usize).filter(|state| state.part > 0) else {
            return false;
        };
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((self.random >> 20) as u16) < state.part
    }
}
