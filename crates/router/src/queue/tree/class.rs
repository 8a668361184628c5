//! Classes of trees: what each has, and what a packet touches of it.
//!
//! ```text
//! line 0: number, turn, passed, max-limit │ 1, 2: the wheel's entry, colour, the queue │ the rest: of trees
//!         └──────── who goes ──────────────────────────────────────────┘
//!                                                └── who comes ───────┘
//! ```

use super::{NONE, PRIORITIES};
use crate::queue::bucket::{Bucket, Limit};
use crate::queue::burst::Burst;
use crate::queue::discipline::{Discipline, Fair};
use crate::queue::leaf::QueueLeafId;
use crate::queue::settings::Settings;
use crate::queue::wheel::EntryId;
use std::mem::offset_of;
use std::ops::Range;
use wire::Moment;

/// What a class may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Green,
    Yellow,
    Red,
}

/// A class's neighbours in a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) next: u32,
    pub(super) before: u32,
}

impl Link {
    pub(super) const NONE: Link = Link { next: NONE, before: NONE };
}

/// Whether others decide when a class may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// It has a parent, children or bursts.
    InTree,
    /// It has nothing but a max-limit.
    Alone,
    /// It has a limit-at as well.
    Assured,
    /// Its port asks for what waits.
    AtPort,
}

/// A class that is more than a bucket and a pfifo. What each packet touches stands first: one cache line for who
/// goes, two for who comes, too.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in crate::queue) struct Class {
    pub(super) id: QueueLeafId,
    pub(super) deficit: i32,
    /// Bytes and packets that passed since it is a class.
    pub(in crate::queue) passed: (u64, u64),
    /// That of max-limit.
    pub(super) most: Bucket,
    pub(super) event: EntryId,
    pub(super) colour: Colour,
    /// Bit p: somebody waits in it, or below it, with priority p.
    pub(super) active: u8,
    /// Its own priority from 0 on, and the bit [`PASSES_IDLE`].
    own: u8,
    pub(super) stands: Stands,
    pub(in crate::queue) discipline: Discipline,
    pub(super) level: u8,
    /// It has a limit-at.
    pub(super) is_assured: bool,
    pub(super) parent: u32,
    /// Its place in the ring of its own priority; of an inner class, see there.
    pub(super) link: Link,
    pub(super) inner: Option<Box<Inner>>,
    pub(super) burst: Option<Box<Burst>>,
    /// That of limit-at.
    pub(super) assured: Bucket,
    /// The rate `most` has now: a burst's, maybe.
    pub(super) rate: u64,
    pub(super) settings: Settings,
}

/// What a class with children has more, by priority.
#[derive(Clone, Debug)]
pub(super) struct Inner {
    /// A child that borrows; its ring has the others.
    pub(super) feeds: [u32; PRIORITIES],
    /// The class's own places in rings.
    pub(super) links: [Link; PRIORITIES],
}

impl Inner {
    pub(super) fn new() -> Box<Inner> {
        Box::new(Inner { feeds: [NONE; PRIORITIES], links: [Link::NONE; PRIORITIES] })
    }
}

const _: () = {
    let (coming, going) = (offset_of!(Class, event), offset_of!(Class, discipline));
    assert!(
        coming == 64 && going + Fair::TOUCHED <= 192,
        "a packet that goes touches three cache lines"
    );
};

const PASSES_IDLE: u8 = 1 << 7;

impl Class {
    /// The cache lines that a packet touches that comes, and that goes: with a queue of one flow.
    pub(super) const COMING: Range<usize> = 1..3;
    pub(super) const GOING: Range<usize> = 0..3;

    #[inline]
    pub(super) fn count(&mut self, len: u32) {
        self.passed = (self.passed.0 + u64::from(len), self.passed.1 + 1);
    }

    /// A class with full buckets, in which nobody waits.
    pub(super) fn new(
        id: QueueLeafId,
        settings: Settings,
        discipline: Discipline,
        now: Moment,
    ) -> Class {
        let mut burst = settings.bursts().then(|| Box::new(Burst::new(settings.burst)));
        let rate = burst.as_mut().and_then(|burst| burst.rate(now)).unwrap_or(settings.limit.rate);
        let most = Limit { rate, ..settings.limit };
        let mut class = Class {
            id,
            deficit: 0,
            passed: (0, 0),
            most: Bucket::new(most, now).with_room_for_a_packet(),
            event: NONE,
            colour: Colour::Red,
            active: 0,
            own: 0,
            stands: Stands::InTree,
            discipline,
            level: 0,
            is_assured: false,
            parent: NONE,
            link: Link::NONE,
            inner: settings.inner.then(Inner::new),
            burst,
            assured: Bucket::new(assured(&settings), now).with_room_for_a_packet(),
            rate,
            settings,
        };
        class.take_in();
        class
    }

    /// Keeps at hand what of its settings each packet asks for.
    pub(super) fn take_in(&mut self) {
        let passes_idle = if self.settings.kind.passes_idle() { PASSES_IDLE } else { 0 };
        self.own = passes_idle | (self.settings.priority.clamp(1, 8) - 1);
        self.is_assured = self.settings.limit_at > 0;
        let is_alone = self.parent == NONE && self.inner.is_none() && self.burst.is_none();
        self.stands = match is_alone {
            _ if self.settings.by_port => Stands::AtPort,
            true if self.is_assured => Stands::Assured,
            true => Stands::Alone,
            false => Stands::InTree,
        };
    }

    /// The bit of its own priority.
    #[inline]
    pub(super) fn priority(&self) -> u8 {
        1 << (self.own & !PASSES_IDLE)
    }

    /// Whether its kind asks nothing of a packet that finds nobody waiting.
    #[inline]
    pub(super) fn passes_idle(&self) -> bool {
        self.own & PASSES_IDLE != 0
    }

    /// Its place in the ring of a priority, in which it is.
    pub(super) fn link(&self, p: usize) -> Link {
        self.inner.as_ref().map_or(self.link, |inner| inner.links[p])
    }

    pub(super) fn link_mut(&mut self, p: usize) -> &mut Link {
        match &mut self.inner {
            Some(inner) => &mut inner.links[p],
            None => &mut self.link,
        }
    }

    /// What it may do at `now`.
    pub(super) fn colour_at(&mut self, now: Moment) -> Colour {
        self.settle(now);
        if self.most.clear(now).is_some() {
            Colour::Red
        } else if self.stands != Stands::InTree
            || self.parent == NONE
            || self.is_assured && self.assured.clear(now).is_none()
        {
            Colour::Green
        } else {
            Colour::Yellow
        }
    }

    /// Brings its buckets up to `now`, and the burst.
    pub(super) fn settle(&mut self, now: Moment) {
        if self.stands == Stands::InTree
            && let Some(burst) = &mut self.burst
        {
            let rate = burst.rate(now).unwrap_or(self.settings.limit.rate);
            if rate != self.rate {
                self.rate = rate;
                let limit = Limit { rate, ..self.settings.limit };
                self.most = self.most.with_limit(limit, now).with_room_for_a_packet();
            }
        }
        self.most.clear(now);
        if self.stands != Stands::Alone && self.is_assured {
            self.assured.clear(now);
        }
    }
}

/// A bucket for limit-at: as deep as that of max-limit.
pub(super) fn assured(settings: &Settings) -> Limit {
    Limit { rate: settings.limit_at, ..settings.limit }
}
