//! Slots beside the table of connections: whether others were told of each, or who has told of it.
//!
//! ```text
//!            ┌─ nobody ──── scan: told ───► own ─── scan: it is not there any more ─► told that it is gone
//! a slot ────┤                               ▲
//!            └─ take: heard ─► of a master ──┴─ used here, or that is master no more
//!                                   └─ said to be gone, or not told of for long ─► removed
//! ```
//!
//! Slots lie in the order of connections' numbers; one whose connection began at another time is of an older one.

use super::{SILENT, Synchronized};
use crate::firewall::connection::told::{Known, Outline};
use crate::firewall::connection::{ConnectionId, Connections};
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::ip::family::Family;
use wire::layers::protocol;
use wire::vrrp_sync::{HEADER_LEN, MAX_LEN, Record, State};
use wire::{FiveTuple, Moment};

/// Slots that are looked at in one tick: 500,000 a second.
const SLICE: u32 = 1024;
/// Datagrams in one tick: with IPv4's records 90,000 connections a second, 34 Mbit/s.
const DATAGRAMS: usize = 6;
/// When what has not changed is told again, milliseconds: a quarter of the timeout, between these.
const AGAIN_MS: (u32, u32) = (1_000, 15_000);
/// When what is not told of any more is forgotten, milliseconds.
const FORGET_MS: u32 = 60_000;

/// What is known of a family's connections, by their numbers.
pub(crate) struct Book<A> {
    slots: Vec<Slot<A>>,
    /// Where the pass is.
    pub(super) at: u32,
}

impl<A> Default for Book<A> {
    fn default() -> Book<A> {
        Book { slots: Vec::new(), at: 0 }
    }
}

/// What was told of a connection, or by whom.
#[derive(Clone, Copy, Debug, Default)]
struct Slot<A> {
    whose: Whose,
    original: FiveTuple<A>,
    /// Which connection of this number it was.
    created_ms: u32,
    print: u32,
    /// When it was told of last.
    at_ms: u32,
    round: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Whose {
    /// Nothing is known.
    #[default]
    Nobody,
    /// It was told of.
    Own,
    /// The master of this virtual router has told of it.
    Of(InterfaceId),
}

/// What one tick tells.
pub(super) struct Teller {
    now: Moment,
    /// Whether somebody wants to know.
    tells: bool,
    round: u16,
    /// Slots that may still be looked at.
    budget: u32,
    /// The records of each.
    pub(super) datagrams: Vec<Vec<u8>>,
}

impl Teller {
    pub(super) fn new(now: Moment, tells: bool, round: u16) -> Teller {
        Teller { now, tells, round, budget: SLICE, datagrams: Vec::new() }
    }

    fn is_full(&self) -> bool {
        let is_last = self.datagrams.len() >= DATAGRAMS;
        is_last && self.datagrams.last().is_some_and(|last| !Teller::fits(last))
    }

    fn fits(datagram: &[u8]) -> bool {
        HEADER_LEN + datagram.len() + Record::MAX_LEN <= MAX_LEN
    }

    fn put(&mut self, record: Record) {
        match self.datagrams.last_mut() {
            Some(last) if Teller::fits(last) => record.write(last),
            _ => {
                let mut fresh = Vec::with_capacity(MAX_LEN);
                record.write(&mut fresh);
                self.datagrams.push(fresh);
            }
        }
    }
}

/// A record of an address family.
pub(crate) trait Recorded: Family {
    fn record(state: State<Self>, gone: bool) -> Record;
}

impl Recorded for u32 {
    fn record(state: State<u32>, gone: bool) -> Record {
        Record::V4(state, gone)
    }
}

impl Recorded for u128 {
    fn record(state: State<u128>, gone: bool) -> Record {
        Record::V6(state, gone)
    }
}

impl<A: Recorded> Book<A> {
    /// Goes on with the pass; whether it is over.
    pub(super) fn scan(
        &mut self,
        table: &mut Connections<A>,
        to: &mut Teller,
        sync: &Synchronized,
    ) -> bool {
        let end = table.numbers();
        while self.at < end {
            if to.budget == 0 || to.is_full() {
                return false;
            }
            to.budget -= 1;
            self.reach(self.at as usize, table);
            self.look(ConnectionId(self.at), table, to, sync);
            self.at += 1;
        }
        true
    }

    /// Sees to it that there is a slot. Memory for all is asked for at once, and provided as it is touched.
    #[inline]
    fn reach(&mut self, place: usize, table: &Connections<A>) {
        if self.slots.len() <= place {
            if self.slots.capacity() == 0 {
                self.slots.reserve_exact(table.max_entries());
            }
            self.slots.resize(place + 1, Slot::default());
        }
    }

    /// Looks at one number.
    #[inline]
    fn look(
        &mut self,
        id: ConnectionId,
        table: &mut Connections<A>,
        to: &mut Teller,
        sync: &Synchronized,
    ) {
        let slot = &mut self.slots[id.0 as usize];
        let (now_ms, outline) = (to.now.as_millis_u32(), table.outline(id));
        if outline.is_none_or(|is| is.created_ms != slot.created_ms) {
            if slot.whose == Whose::Own && to.tells {
                to.put(A::record(gone(slot.original), true));
            }
            *slot = Slot::default();
        }
        let Some(outline) = outline else { return };
        if let Whose::Of(interface) = slot.whose {
            let teller = sync.has_master(interface);
            if let Some(teller) = teller.filter(|_| !is_used_since(table, id, slot.at_ms)) {
                let is_old = now_ms.wrapping_sub(slot.at_ms) >= FORGET_MS;
                if is_old && to.now < teller.heard_at + SILENT {
                    table.remove(id);
                    *slot = Slot::default();
                }
                return;
            }
            *slot = Slot::default();
        }
        if !to.tells || !slot.is_due(&outline, to.round, now_ms) {
            return;
        }
        let mark = |mark: Mark| sync.learnt.marks.0.get(&mark).copied().unwrap_or(0);
        let state = table.tell(id, to.now, mark).filter(|state| sync.is_through(state));
        let Some(state) = state else { return };
        *slot = Slot {
            whose: Whose::Own,
            original: state.original,
            created_ms: outline.created_ms,
            print: outline.print,
            at_ms: now_ms,
            round: to.round,
        };
        to.put(A::record(state, false));
    }

    /// Takes in what the master of a virtual router has said.
    pub(crate) fn take(
        &mut self,
        table: &mut Connections<A>,
        (state, gone): (&State<A>, bool),
        mark: Mark,
        from: InterfaceId,
        now: Moment,
    ) {
        let is_told = |table: &Connections<A>, id: ConnectionId| {
            let slot = self.slots.get(id.0 as usize);
            let slot = slot.filter(|slot| slot.whose == Whose::Of(from));
            let created_ms = table.outline(id).map(|outline| outline.created_ms);
            let slot = slot.filter(|slot| Some(slot.created_ms) == created_ms);
            slot.is_some_and(|slot| !is_used_since(table, id, slot.at_ms))
        };
        if gone {
            if let Some(id) = table.begun_by(&state.original).filter(|&id| is_told(table, id)) {
                table.remove(id);
            }
            return;
        }
        let id = match table.known(state) {
            Known::Same(id) if is_told(table, id) || table.is_older(id, state, now) => {
                table.renew(id, state, mark, now);
                id
            }
            Known::Nobody => match table.enter_told(state, mark, now) {
                Some(id) => id,
                None => return,
            },
            _ => return,
        };
        let place = id.0 as usize;
        self.reach(place, table);
        let created_ms = table.outline(id).map_or(0, |outline| outline.created_ms);
        let (original, at_ms) = (state.original, now.as_millis_u32());
        self.slots[place] =
            Slot { whose: Whose::Of(from), original, created_ms, print: 0, at_ms, round: 0 };
    }
}

impl<A> Slot<A> {
    /// Whether the connection is to be told of.
    fn is_due(&self, outline: &Outline, round: u16, now_ms: u32) -> bool {
        let again = (outline.timeout_ms / 4).clamp(AGAIN_MS.0, AGAIN_MS.1);
        self.whose == Whose::Nobody
            || self.print != outline.print
            || self.round != round
            || now_ms.wrapping_sub(self.at_ms) >= again
    }
}

/// Whether a packet of the connection was seen here since then.
fn is_used_since<A: Family>(table: &Connections<A>, id: ConnectionId, at_ms: u32) -> bool {
    table.last_ms(id).is_some_and(|last_ms| last_ms.wrapping_sub(at_ms) as i32 > 0)
}

/// What is told of a connection that has ended.
fn gone<A: Family>(original: FiveTuple<A>) -> State<A> {
    let tcp = u8::from(original.protocol == protocol::TCP);
    let reply = FiveTuple { protocol: original.protocol, ..FiveTuple::default() };
    State { original, reply, tcp, ..State::default() }
}

#[cfg(test)]
mod tests {
    use super::super::{Peering, Standing, TICK};
    use super::*;
    use crate::firewall::connection::New;
    use std::time::Duration;
    use wire::vrrp_sync;

    const VRRP: InterfaceId = InterfaceId(9);

    /// A master, its backup, and their tables.
    struct Both {
        sync: [Synchronized; 2],
        tables: [Connections; 2],
        now: Moment,
        /// Whether what is said is lost.
        deaf: bool,
    }

    fn tuple(n: u16) -> FiveTuple {
        FiveTuple { src: 1, dst: 2, src_port: n, dst_port: 53, protocol: protocol::UDP }
    }

    impl Both {
        fn new(rooms: [usize; 2]) -> Both {
            let now = Moment::ZERO + Duration::from_secs(1000);
            let sync = [Standing::Master, Standing::Backup].map(|standing| {
                let mut peering = Peering::new(VRRP, now);
                peering.standing = standing;
                if standing == Standing::Master {
                    assert!(peering.greet(now, 5, 77, 1));
                }
                Synchronized { peerings: vec![peering], ..Synchronized::default() }
            });
            let tables = rooms.map(Connections::new);
            Both { sync, tables, now, deaf: false }
        }

        fn begin(&mut self, n: usize, new: &New) {
            self.tables[n].confirm(new, self.now).unwrap();
        }

        /// Time passes, with whatever is due.
        fn wait(&mut self, ms: u64) {
            for _ in 0..ms / 2 {
                self.now = self.now + TICK;
                let [master, backup] = &mut self.sync;
                let [table, other] = &mut self.tables;
                let mut none = Connections::new(0);
                let datagrams = master.scan(self.now, (table, &mut none));
                assert!(datagrams.len() <= DATAGRAMS);
                for records in datagrams {
                    assert!(HEADER_LEN + records.len() <= MAX_LEN);
                    if self.deaf {
                        continue;
                    }
                    backup.peerings[0].heard_at = self.now;
                    let header = vrrp_sync::Header {
                        kind: vrrp_sync::Kind::Connections,
                        vrid: 1,
                        is_ipv6: false,
                        epoch: 0,
                        sequence: 0,
                        whole: 0,
                    };
                    let (_, records) =
                        vrrp_sync::read(&[&header.to_bytes()[..], &records].concat()).unwrap();
                    for record in records {
                        let Record::V4(state, gone) = record else { panic!("{record:?}") };
                        backup.v4.take(other, (&state, gone), Mark::NONE, VRRP, self.now);
                    }
                }
                backup.scan(self.now, (other, &mut none));
                table.sweep(self.now, 1000);
                other.sweep(self.now, 1000);
            }
        }

        /// Who is in the backup's table.
        fn there(&self) -> Vec<u16> {
            let all = self.tables[1].list(self.now);
            let mut ports: Vec<u16> = all.map(|entry| entry.original.src_port).collect();
            ports.sort_unstable();
            ports
        }

        fn end(&mut self, n: usize, port: u16) {
            let id = self.tables[n].begun_by(&tuple(port)).unwrap();
            assert!(self.tables[n].remove(id));
        }
    }

    #[test]
    fn what_changes_is_told() {
        let mut both = Both::new([8, 8]);
        both.begin(0, &New::udp(tuple(1)));
        both.begin(0, &New::udp(tuple(2)));
        both.wait(120);
        assert_eq!(both.there(), [1, 2]);
        both.end(0, 1);
        both.wait(120);
        assert_eq!(both.there(), [2]);
        // Both end it at the same time.
        both.wait(9500);
        assert_eq!((both.there(), both.tables[0].len()), (vec![2], 1));
        both.wait(1000);
        assert_eq!((both.there(), both.tables[0].len()), (vec![], 0));
    }

    #[test]
    fn what_is_lost_heals() {
        let mut both = Both::new([8, 8]);
        let mut settings = *both.tables[1].settings();
        settings.timeouts.set(crate::firewall::connection::Class::Udp, Duration::from_secs(3600));
        both.tables.iter_mut().for_each(|table| table.configure(settings));
        both.deaf = true;
        both.begin(0, &New::udp(tuple(1)));
        both.begin(0, &New::udp(tuple(2)));
        both.wait(1000);
        assert_eq!(both.there(), []);
        both.deaf = false;
        both.wait(15_000);
        assert_eq!(both.there(), [1, 2]);
        // That it ended is lost: it is not told of any more.
        both.deaf = true;
        both.end(0, 1);
        both.wait(200);
        both.deaf = false;
        both.wait(45_000);
        assert_eq!(both.there(), [1, 2]);
        both.wait(17_000);
        assert_eq!(both.there(), [2]);
        // Of a master that says nothing any more nothing is forgotten.
        both.deaf = true;
        both.wait(120_000 + SILENT.as_millis() as u64);
        assert_eq!(both.there(), [2]);
    }

    /// A table that is full takes no more, and whoever is there stays.
    #[test]
    fn a_full_table_takes_no_more() {
        let mut both = Both::new([8, 3]);
        both.begin(1, &New::udp(tuple(100)));
        (1..=8).for_each(|port| both.begin(0, &New::udp(tuple(port))));
        both.wait(3000);
        assert_eq!(both.there(), [1, 2, 100]);
    }

    /// What was seen here stays as it is, whatever is told of it.
    #[test]
    fn what_was_seen_here_stays() {
        let mut both = Both::new([8, 8]);
        let other = FiveTuple { src: 7, ..tuple(1) };
        let mut new = New::udp(tuple(1));
        new.translated = other;
        both.begin(1, &new);
        both.begin(0, &New::udp(tuple(1)));
        both.wait(1000);
        let reply = both.tables[1].list(both.now).next().unwrap().reply;
        assert_eq!((both.there(), reply), (vec![1], other.reversed()));
        both.end(0, 1);
        both.wait(1000);
        assert_eq!(both.there(), [1]);
        // The same connection was seen here later.
        both.deaf = true;
        both.begin(0, &New::udp(tuple(2)));
        both.wait(500);
        both.begin(1, &New::udp(tuple(2)));
        both.deaf = false;
        both.wait(4000);
        both.end(0, 2);
        both.wait(1000);
        assert_eq!(both.there(), [1, 2]);
    }

    #[test]
    fn large_tables_are_told_bit_by_bit() {
        const MANY: u16 = 20_000;
        let mut both = Both::new([30_000, 30_000]);
        (0..MANY).for_each(|port| both.begin(0, &New::udp(tuple(port))));
        both.wait(20);
        let first = both.there().len();
        assert!((1000..5000).contains(&first), "{first}");
        assert_eq!(both.sync[0].peerings[0].peers[0].answered, 0, "it has not got all yet");
        both.wait(400);
        assert_eq!(both.there().len(), usize::from(MANY));
        assert_eq!(both.sync[0].peerings[0].peers[0].answered, 77);
    }
}
