//! PPTP's control connections and calls as they happen.
//!
//! ```text
//! client  Connecting: TCP ─► Starting: start ─► Calling: call ─► Open, a call
//! server  Starting: start ─► Open: call ─► a call, and perhaps more of them
//!
//! a call  what is sent has numbers; what comes is [`Seen`] once; what was had is acknowledged by the next
//!         packet, or after half a second
//! ```

use crate::interface::ppp::dial::Dials;
use crate::ip::tcp::Ends;
use config::ItemId;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;
use wire::Moment;
use wire::pptp::Header;

/// Calls of one control connection.
pub(crate) const MOST_LEGS: usize = 64;
/// Calls there can be, of a number's 16 bits.
pub(crate) const MOST: usize = 60_000;
/// How many packets the other end may send without hearing of them.
pub(crate) const WINDOW: u16 = 64;
/// A control connection that is silent so long is asked, and then has as long to answer (§3.1.4).
pub(crate) const ECHO: Duration = Duration::from_secs(60);
/// How long it may take until there is a call.
pub(crate) const OPENING: Duration = Duration::from_secs(30);
/// How long an acknowledgement waits for a packet that it could go with.
const ACKNOWLEDGE: Duration = Duration::from_millis(500);

/// How far a control connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A client dials.
    Connecting,
    /// One end has to begin.
    Starting,
    /// A client wants to have a call.
    Calling,
    Open,
}

/// A control connection.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    /// The client that it belongs to; else it is the server's.
    pub(crate) client: Option<ItemId>,
    pub(crate) phase: Phase,
    /// The beginning of a message.
    pub(crate) said: Vec<u8>,
    /// Its calls, by the numbers they have here.
    pub(crate) legs: Vec<u16>,
    /// The other end was asked whether it is there.
    pub(crate) asked: bool,
    pub(crate) due: Moment,
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    pub(crate) control: Ends,
    /// The other end's number; none as long as it is not known.
    pub(crate) peer_id: Option<u16>,
    /// It is PPP's by now, at this place.
    pub(crate) place: Option<usize>,
    /// The next packet's number.
    next: u32,
    seen: Seen,
    /// Packets that are not acknowledged.
    owed: u16,
    /// It is among those that wait for it.
    waits: bool,
}

impl Leg {
    pub(crate) fn new(control: Ends, peer_id: Option<u16>) -> Leg {
        let (place, next, seen, owed, waits) = (None, 0, Seen::default(), 0, false);
        Leg { control, peer_id, place, next, seen, owed, waits }
    }

    /// The header of what is sent next: a packet, or an acknowledgement alone. `None` as long as the other
    /// end has no number.
    #[inline]
    pub(crate) fn header(&mut self, is_packet: bool) -> Option<Header> {
        let call = self.peer_id?;
        let acknowledged = self.seen.highest.filter(|_| self.owed > 0 || !is_packet);
        self.owed = 0;
        let sequence = is_packet.then_some(self.next);
        self.next = self.next.wrapping_add(u32::from(is_packet));
        Some(Header { call, sequence, acknowledged })
    }
}

/// Which packets have come: the highest number, and those just below it, as many as MPPE puts in order.
#[derive(Clone, Debug, Default)]
struct Seen {
    highest: Option<u32>,
    /// By a number's last bits.
    bits: [u64; ORDER / 64],
}

const ORDER: usize = 256;

impl Seen {
    /// Notes a number; false if it has come before, or too late.
    #[inline]
    fn take(&mut self, number: u32) -> bool {
        let place = |number: u32| (number as usize % ORDER / 64, 1_u64 << (number % 64));
        let (word, bit) = place(number);
        let ahead = match self.highest {
            None => ORDER as u32,
            Some(highest) => number.wrapping_sub(highest),
        };
        if ahead == 0 || ahead > u32::MAX / 2 {
            let is_new = ahead.wrapping_neg() < ORDER as u32 && self.bits[word] & bit == 0;
            self.bits[word] |= if is_new { bit } else { 0 };
            return is_new;
        }
        if ahead as usize >= ORDER {
            self.bits = Default::default();
        } else {
            // What was skipped, and has not come.
            for n in 1..ahead {
                let (word, bit) = place(number.wrapping_sub(n));
                self.bits[word] &= !bit;
            }
        }
        self.bits[word] |= bit;
        self.highest = Some(number);
        true
    }
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    controls: BTreeMap<Ends, Control>,
    due: BTreeSet<(Moment, Ends)>,
    legs: HashMap<u16, Leg>,
    /// Calls that have something to acknowledge, and when.
    owing: VecDeque<(Moment, u16)>,
    /// Those that have so much that it cannot wait.
    full: Vec<u16>,
    next_id: u16,
    /// Its clients.
    pub(crate) dials: Dials,
}

impl State {
    pub(crate) fn is_empty(&self) -> bool {
        self.controls.is_empty() && self.dials.is_empty()
    }

    pub(crate) fn get(&self, ends: Ends) -> Option<&Control> {
        self.controls.get(&ends)
    }

    pub(crate) fn get_mut(&mut self, ends: Ends) -> Option<&mut Control> {
        self.controls.get_mut(&ends)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (Ends, &Control)> {
        self.controls.iter().map(|(ends, control)| (*ends, control))
    }

    pub(crate) fn add(&mut self, ends: Ends, control: Control) {
        self.due.insert((control.due, ends));
        self.controls.insert(ends, control);
    }

    /// Forgets one, and its calls, which it gives back.
    pub(crate) fn remove(&mut self, ends: Ends) -> Option<(Control, Vec<(u16, Leg)>)> {
        let control = self.controls.remove(&ends)?;
        self.due.remove(&(control.due, ends));
        let legs = control.legs.iter().filter_map(|id| Some((*id, self.legs.remove(id)?)));
        let legs = legs.collect();
        Some((control, legs))
    }

    /// When it is to be looked at again.
    pub(crate) fn wait(&mut self, ends: Ends, due: Moment) {
        let Some(control) = self.controls.get_mut(&ends) else { return };
        self.due.remove(&(std::mem::replace(&mut control.due, due), ends));
        self.due.insert((due, ends));
    }

    /// One that is due now.
    pub(crate) fn is_due(&self, now: Moment) -> Option<Ends> {
        self.due.first().filter(|(due, _)| *due <= now).map(|(_, ends)| *ends)
    }

    /// When the next one is due.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        let owing = self.owing.front().map(|(due, _)| *due);
        self.due.first().map(|(due, _)| *due).into_iter().chain(owing).min()
    }

    /// Gives a new call a number; `None` if there is no room for it. `dice` make it hard to guess.
    pub(crate) fn add_leg(&mut self, leg: Leg, dice: u16) -> Option<u16> {
        if self.legs.len() >= MOST {
            return None;
        }
        self.next_id = self.next_id.wrapping_add(dice % 13);
        loop {
            self.next_id = self.next_id.wrapping_add(1);
            if self.next_id != 0 && !self.legs.contains_key(&self.next_id) {
                break;
            }
        }
        let control = self.controls.get_mut(&leg.control)?;
        control.legs.push(self.next_id);
        self.legs.insert(self.next_id, leg);
        Some(self.next_id)
    }

    #[inline]
    pub(crate) fn leg(&self, id: u16) -> Option<&Leg> {
        self.legs.get(&id)
    }

    #[inline]
    pub(crate) fn leg_mut(&mut self, id: u16) -> Option<&mut Leg> {
        self.legs.get_mut(&id)
    }

    pub(crate) fn remove_leg(&mut self, id: u16) -> Option<Leg> {
        let leg = self.legs.remove(&id)?;
        if let Some(control) = self.controls.get_mut(&leg.control) {
            control.legs.retain(|other| *other != id);
        }
        Some(leg)
    }

    /// The call of a control connection that the other end calls so.
    pub(crate) fn of_peer(&self, ends: Ends, peer_id: u16) -> Option<u16> {
        let legs = self.controls.get(&ends)?.legs.iter();
        let mut legs = legs.filter_map(|id| Some((*id, self.legs.get(id)?)));
        legs.find(|(_, leg)| leg.peer_id == Some(peer_id)).map(|(id, _)| id)
    }

    /// Takes note of a packet's number: whether it is to be taken, and whether the other end is to hear of
    /// that soon, as it may send no more before.
    #[inline]
    pub(crate) fn hear(&mut self, now: Moment, id: u16, number: u32) -> (bool, bool) {
        let Some(leg) = self.legs.get_mut(&id) else { return (false, false) };
        if !leg.seen.take(number) {
            return (false, false);
        }
        leg.owed = leg.owed.saturating_add(1);
        if !leg.waits {
            leg.waits = true;
            self.owing.push_back((now + ACKNOWLEDGE, id));
        }
        let soon = leg.owed == WINDOW / 2;
        if soon {
            self.full.push(id);
        }
        (true, soon)
    }

    /// A call that has had something to acknowledge for long enough.
    pub(crate) fn owing(&mut self, now: Moment) -> Option<u16> {
        if let Some(id) = self.full.pop() {
            return Some(id);
        }
        while let Some(&(_, id)) = self.owing.front().filter(|(due, _)| *due <= now) {
            self.owing.pop_front();
            let Some(leg) = self.legs.get_mut(&id) else { continue };
            leg.waits = false;
            if leg.owed > 0 {
                return Some(id);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in the order in which they come, and whether each is new.
    #[test]
    fn packets_come_once() {
        let max = u32::MAX;
        for (numbers, wanted) in [
            (&[0, 1, 2][..], &[true, true, true][..]),
            (&[5, 3, 4, 3, 5, 6], &[true, true, true, false, false, true]),
            (&[max - 1, max, 0, 1, max], &[true, true, true, true, false]),
            (&[0, 255, 1, 1, 0, 256, 0], &[true, true, true, false, false, true, false]),
            (&[0, 256, 0, 1, 257, 1], &[true, true, false, true, true, false]),
            (&[7, 1000, 744, 745, 745], &[true, true, false, true, false]),
            (&[7, 100_000, 99_999, 7], &[true, true, true, false]),
        ] {
            let mut seen = Seen::default();
            let taken: Vec<bool> = numbers.iter().map(|number| seen.take(*number)).collect();
            assert_eq!(taken, wanted, "{numbers:?}");
        }
    }

    /// Any numbers: each is taken once at most, and what is within the order is.
    #[test]
    fn numbers_against_a_list() {
        let (mut seen, mut known, mut dice) = (Seen::default(), BTreeSet::new(), 1_u64);
        let mut highest = 0_u32;
        for n in 0..100_000_u32 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (n + 400).saturating_sub((dice >> 33) as u32 % 400);
            let late = known.len() > 1 && number + 256 <= highest;
            let wanted = !late && !known.contains(&number);
            if known.is_empty() {
                highest = number;
            }
            assert_eq!(seen.take(number), wanted, "{number} of {highest}");
            if wanted {
                known.insert(number);
                highest = highest.max(number);
            }
        }
    }
}
