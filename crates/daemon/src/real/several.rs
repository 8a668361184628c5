//! Several queues of one interface as one line.
//!
//! ```text
//!  queue 0 ─┐            ┌─► queue 0
//!  queue 1 ─┴ by turns ──┴─► queue 1    (a flow always by the same one)
//! ```

use super::hot_plug::Line;
use port::queues::{Spread, Turns};
use port::{Batch, Capabilities, Pool, Port, PortCounters};
use std::os::fd::BorrowedFd;
use wire::Moment;

/// Some queues.
struct Several {
    lines: Vec<Line>,
    turns: Turns,
    spread: Spread,
}

/// One line of these; `None` if there is none.
pub fn several(mut lines: Vec<Line>) -> Option<Line> {
    match lines.len() {
        0 | 1 => lines.pop(),
        _ => {
            // Flows may have been spread over workers before.
            let (turns, spread) = (Turns::default(), Spread::second());
            Some(Box::new(Several { lines, turns, spread }))
        }
    }
}

impl Port for Several {
    #[inline]
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.turns.receive(&mut self.lines, batch, |line, batch| line.receive(now, pool, batch))
    }

    #[inline]
    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        let Several { lines, spread, .. } = self;
        spread
            .send(lines.len(), pool, batch, |line, pool, batch| lines[line].send(now, pool, batch));
    }

    fn counters(&self) -> PortCounters {
        self.lines.iter().map(Port::counters).sum()
    }

    fn capabilities(&self) -> Capabilities {
        self.lines[0].capabilities()
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.lines.iter().flat_map(Port::descriptors).collect()
    }

    fn failure(&self) -> Option<String> {
        self.lines.iter().find_map(Port::failure)
    }

    fn close(&mut self) {
        self.lines.iter_mut().for_each(Port::close);
    }
}
