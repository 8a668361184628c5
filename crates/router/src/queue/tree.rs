//! HTB, the hierarchical token bucket: who of those that wait in a tree may send.
//!
//! ```text
//!                root                 rows: by level and priority, classes that may send by their own right
//!              ／    ＼
//!          inner      leaf            feeds: by priority, children that borrow from their parent
//!         ／   ＼
//!      leaf    leaf                   a class is  green   below limit-at: sends by its own right
//!                                                 yellow  below max-limit: borrows from its parent
//!                                                 red     at max-limit: waits
//! ```
//!
//! As the kernel's: first whoever is green on the lowest level, which satisfies every limit-at; then
//! whoever borrows from a green parent, best priority first, equal ones in turn, each as many bytes as
//! the others. What is sent is paid for by the leaf and all above it: max-limits by all of them,
//! limit-ats from the lender upwards. A root is green below its max-limit.
//!
//! Classes in which nobody waits are in no list and cost nothing; when somebody comes their colours are
//! found anew. A class that is not green and in whose tree somebody waits stands in the timing wheel,
//! by when its colour may change.
//!
//! Never holds packets: those are the disciplines'.

use super::burst::Burst;
use super::discipline::{Discipline, Kind, Next, Shared};
use super::leaf::QueueLeafId;
use super::nodes::List;
use super::settings::Settings;
use super::wheel::Wheel;
use class::{Class, Colour, Inner, Link, Stands, assured};
use wire::Moment;

// Classes of trees.
mod class;

/// How many levels a tree may have.
pub const LEVELS: usize = 8;
const PRIORITIES: usize = 8;
const NONE: u32 = u32::MAX;
/// This bit of a key in the wheel says that the others are a class's place.
pub(super) const CLASS: u32 = 1 << 31;
/// Bytes a class may send in its turn.
const QUANTUM: i32 = 1514;

/// All trees.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    pub(super) classes: Vec<Class>,
    free: Vec<u32>,
    rows: [[u32; PRIORITIES]; LEVELS],
    /// Bit p: somebody is in the row of this priority.
    row_bits: [u8; LEVELS],
    shared: Shared,
}

impl Default for Forest {
    fn default() -> Forest {
        Forest {
            classes: Vec::new(),
            free: Vec::new(),
            rows: [[NONE; PRIORITIES]; LEVELS],
            row_bits: [0; LEVELS],
            shared: Shared::default(),
        }
    }
}

impl Forest {
    /// Makes a class, with the tokens of a bucket that limited it before; its place in the tree is
    /// found by [`grow`](Self::grow).
    pub(super) fn make(&mut self, id: QueueLeafId, settings: Settings, now: Moment) -> u32 {
        let discipline = Discipline::new(&settings.kind, &mut self.shared, now);
        let class = Class::new(id, settings, discipline, now);
        match self.free.pop() {
            Some(at) => {
                self.classes[at as usize] = class;
                at
            }
            None => {
                self.classes.push(class);
                self.classes.len() as u32 - 1
            }
        }
    }

    /// Ends a class in which nobody waits any more.
    pub(super) fn end(&mut self, at: u32, wheel: &mut Wheel) {
        self.forget_event(at, wheel);
        self.class(at).id = QueueLeafId(NONE);
        self.free.push(at);
    }

    /// Gives a class other settings; says whether it stands elsewhere by them, so that trees must
    /// [`grow`](Self::grow) anew. Whom another kind of queue has no room for is in the list's
    /// `dropped`.
    pub(super) fn set(
        &mut self,
        at: u32,
        settings: Settings,
        list: &mut List,
        now: Moment,
    ) -> bool {
        let class = &mut self.classes[at as usize];
        let old = std::mem::replace(&mut class.settings, settings);
        class.assured = class.assured.with_limit(assured(&settings), now).with_room_for_a_packet();
        class.most = class.most.with_limit(settings.limit, now).with_room_for_a_packet();
        class.rate = settings.limit.rate;
        if class.burst.is_some() != settings.bursts() || old.burst != settings.burst {
            class.burst = settings.bursts().then(|| match class.burst.take() {
                Some(burst) => Box::new(burst.with_limit(settings.burst)),
                None => Box::new(Burst::new(settings.burst)),
            });
        }
        if old.kind != settings.kind {
            let mut discipline = Discipline::new(&settings.kind, &mut self.shared, now);
            class.discipline.drain(list, |list, node| discipline.enqueue(list, node, now));
            class.discipline = discipline;
        }
        if old.inner != settings.inner {
            class.inner = settings.inner.then(Inner::new);
        }
        class.take_in();
        !old.stands_as(&settings)
    }

    /// The numbers of a class in which somebody waits, or below it, have changed.
    pub(super) fn renew(&mut self, at: u32, wheel: &mut Wheel, now: Moment) {
        if self.classes[at as usize].active != 0 {
            self.recolour(at, wheel, now);
        }
    }

    /// Finds every class's place anew; `find` knows the place of a class by its number. Takes time by
    /// how many classes there are in trees.
    pub(super) fn grow(
        &mut self,
        find: impl Fn(QueueLeafId) -> u32,
        wheel: &mut Wheel,
        now: Moment,
    ) {
        self.rows = [[NONE; PRIORITIES]; LEVELS];
        self.row_bits = [0; LEVELS];
        for at in 0..self.classes.len() as u32 {
            self.forget_event(at, wheel);
            let class = self.class(at);
            (class.active, class.colour) = (0, Colour::Red);
            if let Some(inner) = &mut class.inner {
                inner.feeds = [NONE; PRIORITIES];
            }
            let inner = class.settings.inner;
            class.level =
                if inner { (LEVELS as u8 - 1).saturating_sub(class.settings.depth) } else { 0 };
            class.parent = class.settings.parent.map_or(NONE, &find);
            class.take_in();
        }
        for at in 0..self.classes.len() as u32 {
            if self.classes[at as usize].id.0 != NONE && self.waits(at) {
                self.wake(at, wheel, now);
            }
        }
    }

    /// Takes a class's discipline out; nobody can wait in what stands in its place.
    pub(super) fn take_discipline(&mut self, at: u32, now: Moment) -> Discipline {
        let none = Discipline::new(&Kind::Pfifo(0), &mut self.shared, now);
        std::mem::replace(&mut self.class(at).discipline, none)
    }

    /// Whether there is no class.
    pub(super) fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Bytes and packets that passed a class.
    pub(super) fn passed(&self, at: Option<u32>) -> (u64, u64) {
        at.and_then(|at| self.classes.get(at as usize)).map_or((0, 0), |class| class.passed)
    }

    /// Whether somebody waits in a class.
    pub(super) fn waits(&self, at: u32) -> bool {
        self.classes[at as usize].discipline.waiting().0 > 0
    }

    /// Whether somebody may send now.
    pub(super) fn is_ready(&self) -> bool {
        self.row_bits != [0; LEVELS]
    }

    /// The packet that a port may send now, of its class.
    pub(super) fn pull(&mut self, at: u32, list: &mut List, now: Moment) -> Next {
        self.class(at).discipline.dequeue(list, now)
    }

    /// Whether a packet need not wait in a port's class: nobody does, and its kind does not mind.
    pub(super) fn is_idle(&self, at: u32) -> bool {
        self.classes[at as usize].passes_idle() && !self.waits(at)
    }

    /// Lets `len` bytes pass at once, if nobody waits in the class and it may send; it was paid for
    /// and counted.
    pub(super) fn pass(&mut self, at: u32, len: u32, wheel: &mut Wheel, now: Moment) -> bool {
        let class = &self.classes[at as usize];
        if self.is_ready() || !class.passes_idle() || self.waits(at) {
            return false;
        }
        let mut lender = at;
        loop {
            match self.class(lender).colour_at(now) {
                Colour::Green => break,
                Colour::Yellow if self.classes[lender as usize].parent != NONE => {
                    lender = self.classes[lender as usize].parent;
                }
                _ => return false,
            }
        }
        self.charge(at, lender, len, wheel, now);
        true
    }

    /// Somebody has begun to wait in a class.
    pub(super) fn wake(&mut self, at: u32, wheel: &mut Wheel, now: Moment) {
        let class = &self.classes[at as usize];
        if class.active == 0 && class.stands != Stands::AtPort {
            self.activate(at, class.priority(), wheel, now);
        }
    }

    /// A class's moment in the wheel has come.
    pub(super) fn due(&mut self, at: u32, wheel: &mut Wheel, now: Moment) {
        self.class(at).event = NONE;
        let class = &self.classes[at as usize];
        if class.active == 0 && self.waits(at) && class.stands != Stands::AtPort {
            return self.wake(at, wheel, now);
        }
        self.recolour(at, wheel, now);
    }

    /// The same of a class that stands alone, while nobody else may send: the packet that goes now, as
    /// [`next`](Self::next) would give it. Most full queues are such ones.
    pub(super) fn due_alone(
        &mut self,
        at: u32,
        list: &mut List,
        wheel: &mut Wheel,
        now: Moment,
    ) -> Option<(QueueLeafId, u32)> {
        let is_ready = self.is_ready();
        let class = &mut self.classes[at as usize];
        let is_alone = matches!(class.stands, Stands::Alone | Stands::Assured);
        let waits = is_alone && class.active != 0 && class.colour == Colour::Red;
        if is_ready || !waits || class.most.clear(now).is_some() {
            self.due(at, wheel, now);
            return None;
        }
        class.event = NONE;
        while class.deficit <= 0 {
            class.deficit += QUANTUM;
        }
        let node = match class.discipline.dequeue(list, now) {
            Next::Packet(node) => node,
            rest => {
                class.active = 0;
                if let Next::Later(when) = rest {
                    class.event = wheel.enter(when, CLASS | at);
                }
                return None;
            }
        };
        let len = list[node].len;
        class.deficit -= len.min(1 << 24) as i32;
        class.most.charge(len);
        class.count(len);
        if class.stands == Stands::Assured {
            class.assured.clear(now);
            class.assured.charge(len);
        }
        let (id, active) = (class.id, class.active);
        if class.discipline.waiting().0 == 0 {
            class.active = 0;
        } else if let Some(when) = class.most.debt_until() {
            class.event = wheel.enter(when, CLASS | at);
        } else {
            class.colour = Colour::Green;
            self.link(at, active, wheel, now);
        }
        Some((id, node))
    }

    /// The packet that goes now, and whose it is; it was paid for and counted.
    pub(super) fn next(
        &mut self,
        list: &mut List,
        wheel: &mut Wheel,
        now: Moment,
    ) -> Option<(QueueLeafId, u32)> {
        while let Some(level) = self.row_bits.iter().position(|&bits| bits != 0) {
            let priority = self.row_bits[level].trailing_zeros() as usize;
            let lender = self.turn(self.rows[level][priority], priority);
            self.rows[level][priority] = lender;
            let mut leaf = lender;
            while let Some(inner) = &self.classes[leaf as usize].inner {
                let child = self.turn(inner.feeds[priority], priority);
                self.set_feed(leaf, priority, child);
                leaf = child;
            }
            match self.class(leaf).discipline.dequeue(list, now) {
                Next::Packet(node) => {
                    let len = list[node].len;
                    // Everybody from the leaf to the lender has had its turn.
                    let mut class = leaf;
                    loop {
                        self.class(class).deficit -= len.min(1 << 24) as i32;
                        if class == lender {
                            break;
                        }
                        class = self.classes[class as usize].parent;
                    }
                    self.charge(leaf, lender, len, wheel, now);
                    if !self.waits(leaf) {
                        self.rest(leaf, wheel, now);
                    }
                    return Some((self.classes[leaf as usize].id, node));
                }
                Next::Empty => self.rest(leaf, wheel, now),
                Next::Later(when) => {
                    self.rest(leaf, wheel, now);
                    self.class(leaf).event = wheel.enter(when, CLASS | leaf);
                }
            }
        }
        None
    }

    /// Who of a ring has its turn.
    fn turn(&mut self, mut at: u32, priority: usize) -> u32 {
        loop {
            let class = &mut self.classes[at as usize];
            if class.deficit > 0 {
                return at;
            }
            class.deficit += QUANTUM;
            at = class.link(priority).next;
        }
    }

    /// Nobody waits in a leaf any more, or nobody who may go.
    fn rest(&mut self, at: u32, wheel: &mut Wheel, now: Moment) {
        let active = self.classes[at as usize].active;
        self.deactivate(at, active, wheel, now);
    }

    /// Pays: max-limits from the leaf upwards, limit-ats from the lender upwards.
    fn charge(&mut self, leaf: u32, lender: u32, len: u32, wheel: &mut Wheel, now: Moment) {
        let (mut at, mut lends) = (leaf, false);
        while at != NONE {
            lends |= at == lender;
            let class = self.class(at);
            class.settle(now);
            class.most.charge(len);
            class.count(len);
            if lends && class.stands != Stands::Alone && class.is_assured {
                class.assured.charge(len);
            }
            let (mut parent, active) = (NONE, class.active);
            if class.stands == Stands::InTree {
                parent = class.parent;
                class.burst.iter_mut().for_each(|burst| burst.count(len));
            }
            if active != 0 {
                self.recolour(at, wheel, now);
            }
            at = parent;
        }
    }

    /// Finds a class's colour, and moves it to the list where it belongs.
    fn recolour(&mut self, at: u32, wheel: &mut Wheel, now: Moment) {
        let class = self.class(at);
        let (old, new) = (class.colour, class.colour_at(now));
        if old != new {
            let active = class.active;
            self.unlink(at, active, wheel, now);
            self.class(at).colour = new;
            self.link(at, active, wheel, now);
        }
        self.schedule(at, wheel, now);
    }

    fn activate(&mut self, at: u32, priorities: u8, wheel: &mut Wheel, now: Moment) {
        let class = self.class(at);
        if class.active == 0 {
            class.colour = class.colour_at(now);
            class.deficit = QUANTUM;
        }
        let fresh = priorities & !class.active;
        class.active |= fresh;
        self.link(at, fresh, wheel, now);
        self.schedule(at, wheel, now);
    }

    fn deactivate(&mut self, at: u32, priorities: u8, wheel: &mut Wheel, now: Moment) {
        self.unlink(at, priorities, wheel, now);
        let class = self.class(at);
        class.active &= !priorities;
        if class.active == 0 {
            self.forget_event(at, wheel);
        }
    }

    /// Puts an active class where its colour belongs.
    fn link(&mut self, at: u32, priorities: u8, wheel: &mut Wheel, now: Moment) {
        let Class { colour, parent, level, .. } = self.classes[at as usize];
        let mut begun = 0;
        for p in bits(priorities) {
            match colour {
                Colour::Green => {
                    let head = self.rows[usize::from(level)][p];
                    self.rows[usize::from(level)][p] = self.join(at, head, p);
                    self.row_bits[usize::from(level)] |= 1 << p;
                }
                Colour::Yellow => {
                    let head = self.feed(parent, p);
                    let head = self.join(at, head, p);
                    self.set_feed(parent, p, head);
                    begun |= u8::from(self.classes[at as usize].link(p).next == at) << p;
                }
                Colour::Red => {}
            }
        }
        if begun != 0 {
            self.activate(parent, begun, wheel, now);
        }
    }

    /// Takes it out of there.
    fn unlink(&mut self, at: u32, priorities: u8, wheel: &mut Wheel, now: Moment) {
        let Class { colour, parent, level, .. } = self.classes[at as usize];
        let mut ended = 0;
        for p in bits(priorities) {
            match colour {
                Colour::Green => {
                    let head = self.rows[usize::from(level)][p];
                    let head = self.part(at, head, p);
                    self.rows[usize::from(level)][p] = head;
                    if head == NONE {
                        self.row_bits[usize::from(level)] &= !(1 << p);
                    }
                }
                Colour::Yellow => {
                    let head = self.feed(parent, p);
                    let head = self.part(at, head, p);
                    self.set_feed(parent, p, head);
                    ended |= u8::from(head == NONE) << p;
                }
                Colour::Red => {}
            }
        }
        if ended != 0 {
            self.deactivate(parent, ended, wheel, now);
        }
    }

    /// A class joins a ring as its last; returns the ring's head.
    fn join(&mut self, at: u32, head: u32, p: usize) -> u32 {
        if head == NONE {
            *self.class(at).link_mut(p) = Link { next: at, before: at };
            return at;
        }
        let before = self.classes[head as usize].link(p).before;
        *self.class(at).link_mut(p) = Link { next: head, before };
        self.class(before).link_mut(p).next = at;
        self.class(head).link_mut(p).before = at;
        head
    }

    /// A class leaves a ring; returns the ring's head.
    fn part(&mut self, at: u32, head: u32, p: usize) -> u32 {
        let Link { next, before } = self.classes[at as usize].link(p);
        if next == at {
            return NONE;
        }
        self.class(before).link_mut(p).next = next;
        self.class(next).link_mut(p).before = before;
        if head == at { next } else { head }
    }

    fn feed(&self, parent: u32, p: usize) -> u32 {
        self.classes[parent as usize].inner.as_ref().map_or(NONE, |inner| inner.feeds[p])
    }

    fn set_feed(&mut self, parent: u32, p: usize, head: u32) {
        if let Some(inner) = &mut self.class(parent).inner {
            inner.feeds[p] = head;
        }
    }

    /// Enters in the wheel when a class's colour may change, if that matters to anybody.
    fn schedule(&mut self, at: u32, wheel: &mut Wheel, now: Moment) {
        self.forget_event(at, wheel);
        let class = self.class(at);
        if class.active == 0 || class.colour == Colour::Green {
            return;
        }
        let clear = if class.colour == Colour::Red {
            let is_alone = class.stands != Stands::InTree;
            let burst =
                if is_alone { None } else { class.burst.as_ref().map(|burst| burst.next()) };
            let clear = class.most.clear(now).unwrap_or(now);
            Some(burst.map_or(clear, |burst| burst.min(clear)))
        } else {
            class.is_assured.then(|| class.assured.clear(now).unwrap_or(now))
        };
        if let Some(when) = clear {
            self.class(at).event = wheel.enter(when, CLASS | at);
        }
    }

    fn forget_event(&mut self, at: u32, wheel: &mut Wheel) {
        let event = std::mem::replace(&mut self.class(at).event, NONE);
        if event != NONE {
            wheel.leave(event);
        }
    }

    /// Asks for what a packet that comes to a class touches of it.
    #[inline]
    pub(super) fn foresee_coming(&self, at: u32) {
        port::prefetch::lines(&self.classes, at as usize, Class::COMING);
    }

    /// Asks for the tokens of a class, if a packet that comes finds nobody waiting.
    #[inline]
    pub(super) fn foresee_tokens(&self, at: u32) {
        if !self.waits(at) {
            port::prefetch::lines(&self.classes, at as usize, 0..1);
        }
    }

    /// Asks for what a packet that goes touches.
    #[inline]
    pub(super) fn foresee(&self, at: u32) {
        port::prefetch::lines(&self.classes, at as usize, Class::GOING);
    }

    /// Memory taken, in bytes, without what disciplines hold.
    pub(super) fn bytes(&self) -> usize {
        self.classes.capacity() * size_of::<Class>()
    }

    fn class(&mut self, at: u32) -> &mut Class {
        &mut self.classes[at as usize]
    }
}

fn bits(mut set: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (bit < 8).then_some(bit)
    })
}

#[cfg(test)]
mod tests;
