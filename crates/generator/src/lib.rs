//! `/tool traffic-generator`: the tester as a part of a RouterOS box.
//!
//! ```text
//!  menus ─► catalogue ─┬─► stack, payload ─► FramePlan ─► Stream ─┐
//!  Surroundings ─► assume (ports, MAC addresses) ─┘               ▼
//!                                        ports ◄── poll ──── [Test] ◄── take ── frames received
//!                                                              │
//!                    quick, start, stats: Records ◄── Samples ─┘
//! ```
//!
//! The box calls [`Generator::configure`] with each configuration, [`Generator::attend`] and
//! [`Generator::poll`] at each breath, and [`Generator::take`] with each batch it has received,
//! before the router sees it: the frames of the test under way are counted and taken out, all
//! others stay. When no test is under way that is one branch. Commands are [`Job`](config::Job)s on
//! whatever has a generator ([`command::start`]).
//!
//! What it sends is seen by nobody but the wire: no sniffer, torch or firewall of its own box.
//! Read `test.rs` first, then `stack.rs`; the tables of its menus are in [`menu`].
//!
//! Never knows the box beyond [`Surroundings`]. Missing: **several cores**,
//! **several templates for one stream**, **jumbo frames** (1,920 bytes are the most).

// The tables of its menus.
pub mod menu;

// What it asks of the box it is part of.
pub mod surroundings;

// What was typed, read.
mod catalogue;

// Header stacks to frames.
mod stack;

// What stands behind the headers; raw templates.
mod payload;

// Where packets go out, and whose MAC addresses they have.
mod assume;

// What is counted.
pub mod count;

// One test: sending, draining, done.
mod test;

// From what was asked for to a test.
mod plan;

// Single frames and captures, sent as they are.
mod inject;

// What its menus show.
mod status;

// Its commands, and how they begin.
pub mod command;

// `quick`.
mod quick;

// `stats` and `monitor`: records.
mod stats;

// Records as a terminal shows them.
mod display;

pub use command::{COMMANDS, start};
pub use count::{Counts, Flow, Latency, Sample};
pub use menu::MENUS;
pub use status::check;
pub use surroundings::{Interface, Surroundings};

use assume::Assumptions;
use catalogue::Catalogue;
use config::Tree;
use inject::Injector;
use port::{Batch, Pool, Port};
use test::Test;
use wire::Moment;

/// The traffic generator of a box.
#[derive(Debug, Default)]
pub struct Generator {
    catalogue: Catalogue,
    assumptions: Assumptions,
    /// The test under way.
    test: Option<Box<Test>>,
    /// The last one, for `stats`.
    last: Option<Box<Test>>,
    injector: Injector,
    /// Makes the random values of each test others, and each box's history repeatable.
    tests: u64,
}

impl Generator {
    /// One that has nothing to do.
    pub fn new() -> Generator {
        Generator::default()
    }

    /// Where the random values of its tests start from.
    pub fn set_seed(&mut self, seed: u64) {
        // Below are the numbers of its tests, above them nothing may overflow.
        self.tests = (seed & 0xffff_ffff) << 20;
    }

    /// Takes over a configuration. Templates that are new or changed are looked at: what is to be
    /// assumed of them is assumed now. A test under way goes on as it was begun.
    pub fn configure(&mut self, tree: &Tree, now: Moment, surroundings: &mut dyn Surroundings) {
        self.catalogue = Catalogue::read(tree, surroundings.interfaces());
        self.assumptions.configure(&self.catalogue, now, surroundings);
    }

    /// Looks for answers of the neighbours that were asked.
    #[inline]
    pub fn attend(&mut self, now: Moment, surroundings: &mut dyn Surroundings) {
        self.assumptions.attend(now, surroundings);
    }

    /// Sends what is due.
    #[inline]
    pub fn poll<P: Port>(&mut self, now: Moment, pool: &mut Pool, ports: &mut [P]) {
        if let Some(test) = &mut self.test {
            test.poll(now, pool, ports);
            if test.is_done() {
                self.last = self.test.take();
            }
        }
        if self.injector.is_busy() {
            self.injector.poll(now, pool, ports);
        }
    }

    /// Takes the frames of the test under way out of a batch that port number `port` has received;
    /// the others stay, in their order.
    #[inline]
    pub fn take(&mut self, now: Moment, port: usize, pool: &mut Pool, batch: &mut Batch) {
        if let Some(test) = &mut self.test {
            test.take(now, port, pool, batch);
        }
    }

    /// Whether a test is under way, draining included. Meanwhile the box's frames are looked at
    /// before its FastPath sees them.
    #[inline]
    pub fn is_running(&self) -> bool {
        self.test.is_some()
    }

    /// Whether [`poll`](Self::poll) has anything to do, now or later.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.test.is_some() || self.injector.is_busy()
    }

    /// When [`poll`](Self::poll) has something to do next; `None` if nothing is under way.
    pub fn next_due(&self, now: Moment) -> Option<Moment> {
        let test = self.test.as_ref().and_then(|test| test.next_due(now));
        let waiting = self.assumptions.next_due();
        [test, waiting, self.injector.next_due(now)].into_iter().flatten().min()
    }

    /// What the test under way, or else the last one, has counted so far; none if there was none.
    pub fn totals(&self) -> Option<Sample> {
        self.shown().map(Test::total)
    }

    /// The test that `stats` shows.
    fn shown(&self) -> Option<&Test> {
        self.test.as_deref().or(self.last.as_deref())
    }
}

impl AsMut<Generator> for Generator {
    fn as_mut(&mut self) -> &mut Generator {
        self
    }
}

#[cfg(test)]
mod tests;
