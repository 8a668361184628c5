//! State of WireGuard's peers: handshakes, sessions, and when something is due (§6).
//!
//! ```text
//!  session    0 s ─ used ─► 120 s ─ begun anew by who began ─► 180 s ─ no packet is taken ─► 540 s ─ forgotten
//!  handshake  asked every 5 s, for 90 s; then packets that wait are given up
//! ```
//!
//! Pure: `now` comes in, and what is to be done goes out.

use super::Wireguard;
use super::noise::{Begun, Key, KeyPair, Keys, Timestamp};
use config::ItemId;
use port::Frame;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;
use wire::wireguard::MAC;

/// Keys are made anew after so long, by who has made them.
const REKEY_AFTER: Duration = Duration::from_secs(120);
/// And nobody takes a packet of them after so long.
const REJECT_AFTER: Duration = Duration::from_secs(180);
/// So often an initiation is sent.
const AGAIN: Duration = Duration::from_secs(5);
/// And for so long.
const GIVE_UP: Duration = Duration::from_secs(90);
/// Who has taken a packet says something within this time.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// A cookie is worth so much.
const COOKIE_FOR: Duration = Duration::from_secs(120);
/// Packets by one key.
const REKEY_AFTER_MESSAGES: u64 = 1 << 60;
pub(crate) const REJECT_AFTER_MESSAGES: u64 = u64::MAX - (1 << 13);
/// Of one peer one initiation is taken in this time.
const INITIATIONS: Duration = Duration::from_millis(20);
/// Packets that wait for a peer's keys.
pub(crate) const MOST_WAITING: usize = 64;
/// Initiations a second before they have to prove their address.
const BUSY: u32 = 100;

/// A session: keys of both ways, and the numbers by which both ends know them.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) own: u32,
    pub(crate) theirs: u32,
    pub(crate) keys: Keys,
    /// Packets sent.
    pub(crate) counter: u64,
    pub(crate) window: Window,
    since: Moment,
    /// Whether this end has begun the handshake.
    began: bool,
}

/// A handshake that this end has begun.
pub(crate) struct Handshake {
    pub(crate) own: u32,
    pub(crate) begun: Begun,
    /// What proved the initiation, for a cookie.
    pub(crate) mac: [u8; MAC],
}

/// What is known of a peer.
#[derive(Default)]
pub(crate) struct PeerState {
    /// Where he is, and the router's own end.
    pub(crate) endpoint: Option<(Option<IpAddr>, SocketAddr)>,
    /// What was made of a name, or typed.
    said: Option<SocketAddr>,
    pub(crate) handshake: Option<Handshake>,
    /// What packets leave by; what they left by before; what the other end has not used yet.
    pub(crate) current: Option<Session>,
    previous: Option<Session>,
    next: Option<Session>,
    /// The greatest time of his initiations.
    heard: Timestamp,
    /// When the last one was taken.
    taken: Option<Moment>,
    pub(crate) cookie: Option<([u8; MAC], Moment)>,
    pub(crate) waiting: Vec<Frame>,
    pub(crate) bytes: [u64; 2],
    /// When keys were agreed upon last.
    pub(crate) shaken: Option<Moment>,
    /// When an initiation was sent last, and the first one of this attempt.
    asked: Option<Moment>,
    asks_since: Option<Moment>,
    /// A packet was sent at this moment, and nothing has come since.
    unanswered: Option<Moment>,
    /// A packet has come at this moment, and nothing was sent since.
    owes: Option<Moment>,
    /// When something was sent last, for `persistent-keepalive`.
    sent: Option<Moment>,
}

/// What a peer is to be done with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) asks: bool,
    pub(crate) keepalive: bool,
    /// Packets that wait are given up.
    pub(crate) gives_up: bool,
}

impl Session {
    pub(crate) fn new((own, theirs): (u32, u32), keys: Keys, now: Moment, began: bool) -> Session {
        Session { own, theirs, keys, counter: 0, window: Window::default(), since: now, began }
    }

    pub(crate) fn is_usable(&self, now: Moment) -> bool {
        now.since(self.since) < REJECT_AFTER && self.counter < REJECT_AFTER_MESSAGES
    }
}

impl PeerState {
    /// The session that packets leave by.
    pub(crate) fn sends_by(&mut self, now: Moment) -> Option<&mut Session> {
        self.current.as_mut().filter(|session| session.is_usable(now))
    }

    /// The session by which packets with this number come.
    pub(crate) fn session(&mut self, own: u32) -> Option<&mut Session> {
        let all = [&mut self.current, &mut self.next, &mut self.previous];
        all.into_iter().flatten().find(|session| session.own == own)
    }

    /// The numbers that are the peer's.
    fn numbers(&self) -> impl Iterator<Item = u32> {
        let sessions = [&self.current, &self.next, &self.previous].into_iter().flatten();
        let shakes = self.handshake.iter().map(|handshake| handshake.own);
        sessions.map(|session| session.own).chain(shakes)
    }

    /// A handshake that this end has begun is over: its keys are used.
    pub(crate) fn agreed(&mut self, now: Moment, session: Session) {
        self.handshake = None;
        // Whoever was still to use the newer keys has begun anew himself.
        self.previous = self.next.take().or_else(|| self.current.take());
        self.current = Some(session);
        self.shaken_at(now);
    }

    /// One that the other end has begun: its keys are used when he uses them.
    pub(crate) fn answered(&mut self, session: Session) {
        self.next = Some(session);
    }

    /// A packet has come by these keys.
    pub(crate) fn used(&mut self, now: Moment, own: u32) -> bool {
        let is_new = self.next.as_ref().is_some_and(|next| next.own == own);
        if is_new {
            self.previous = self.current.take();
            self.current = self.next.take();
            self.shaken_at(now);
        }
        is_new
    }

    fn shaken_at(&mut self, now: Moment) {
        self.shaken = Some(now);
        self.asks_since = None;
        self.unanswered = None;
    }

    /// Whether an initiation of this time is a new one, and not one of too many; notes it.
    pub(crate) fn is_new(&mut self, now: Moment, time: Timestamp) -> bool {
        let often = self.taken.is_some_and(|taken| now.since(taken) < INITIATIONS);
        if time <= self.heard || often {
            return false;
        }
        (self.heard, self.taken) = (time, Some(now));
        true
    }

    /// Something proven has come.
    pub(crate) fn heard_from(&mut self, now: Moment, is_data: bool) {
        self.unanswered = None;
        if is_data && self.owes.is_none() {
            self.owes = Some(now);
        }
    }

    /// A packet was sent, or a keepalive.
    pub(crate) fn said(&mut self, now: Moment, is_data: bool) {
        (self.sent, self.owes) = (Some(now), None);
        if is_data && self.unanswered.is_none() {
            self.unanswered = Some(now);
        }
    }

    /// An initiation was sent.
    pub(crate) fn asked(&mut self, now: Moment) {
        (self.asked, self.sent) = (Some(now), Some(now));
        self.asks_since.get_or_insert(now);
    }

    /// Somebody wants to send, and there are no keys: the attempt may take as long as one that begins now.
    pub(crate) fn wants(&mut self, now: Moment) {
        self.asks_since = Some(now);
    }

    /// What of it is due by now.
    pub(crate) fn due(&mut self, now: Moment, keepalive: Option<Duration>, begins: bool) -> Due {
        let mut due = Due::default();
        let passed = |at: Option<Moment>, time: Duration| at.is_some_and(|at| now >= at + time);
        if passed(self.shaken, REJECT_AFTER * 3) {
            (self.current, self.previous, self.next) = (None, None, None);
            self.shaken = None;
        }
        if passed(self.asks_since, GIVE_UP) {
            (self.asks_since, self.handshake, self.unanswered) = (None, None, None);
            due.gives_up = true;
        }
        let has_keys = self.sends_by(now).is_some();
        if passed(self.owes, KEEPALIVE) && has_keys {
            due.keepalive = true;
        }
        if let Some(interval) = keepalive.filter(|_| begins || has_keys)
            && self.sent.is_none_or(|sent| now >= sent + interval)
        {
            (due.keepalive, due.asks) = (has_keys, !has_keys);
        }
        let old = |session: &Session| {
            session.began && now >= session.since + REKEY_AFTER
                || session.counter >= REKEY_AFTER_MESSAGES
        };
        let is_old = self.current.as_ref().is_some_and(old) && self.unanswered.is_some();
        let is_silent = passed(self.unanswered, KEEPALIVE + AGAIN);
        due.asks |= self.asks_since.is_some() || is_old || is_silent;
        due.asks &= begins && self.may_ask(now);
        due
    }

    /// Whether the last initiation was sent long enough ago.
    pub(crate) fn may_ask(&self, now: Moment) -> bool {
        self.asked.is_none_or(|asked| now >= asked + AGAIN)
    }

    /// When to look again.
    pub(crate) fn next(&self, now: Moment, keepalive: Option<Duration>) -> Moment {
        let add = |at: Option<Moment>, time: Duration| at.map(|at| at + time);
        let asks = self.asks_since.is_some() || self.unanswered.is_some();
        let times = [
            add(self.shaken, REJECT_AFTER * 3),
            add(self.asks_since, GIVE_UP),
            add(self.owes, KEEPALIVE),
            add(self.unanswered, KEEPALIVE + AGAIN),
            add(self.asked, AGAIN).filter(|_| asks),
            keepalive.map(|interval| self.sent.map_or(now, |sent| sent + interval)),
        ];
        // What is overdue waits for something else: a route, a name.
        let soonest = now + Duration::from_millis(250);
        times.into_iter().flatten().min().unwrap_or(now + REJECT_AFTER).max(soonest)
    }

    /// Whether a cookie of this time is still worth something.
    pub(crate) fn is_fresh(since: Moment, now: Moment) -> bool {
        now < since + COOKIE_FOR
    }

    /// He is to be found there, if that was not said before.
    pub(crate) fn is_said_at(&mut self, end: SocketAddr) {
        if self.said != Some(end) {
            (self.said, self.endpoint) = (Some(end), Some((None, end)));
        }
    }

    /// Whether keys that this end has made are old enough for new ones, if packets come by them.
    pub(crate) fn is_stale(&self, now: Moment) -> bool {
        let limit = REJECT_AFTER - KEEPALIVE - AGAIN;
        self.current.as_ref().is_some_and(|one| one.began && now.since(one.since) >= limit)
    }
}

/// Which counters have come lately (RFC 6479): thousands, for packets that take several ways.
#[derive(Clone)]
pub(crate) struct Window {
    /// The highest that has come, and one.
    next: u64,
    seen: Box<[u64; Window::WORDS]>,
}

impl Default for Window {
    fn default() -> Window {
        Window { next: 0, seen: Box::new([0; Window::WORDS]) }
    }
}

impl Window {
    const WORDS: usize = 128;
    /// How late a packet may come; a word of the ring is always being cleared.
    const SIZE: u64 = (Window::WORDS as u64 - 1) * 64;

    fn bit(counter: u64) -> (usize, u64) {
        ((counter / 64) as usize % Window::WORDS, 1 << (counter % 64))
    }

    /// Whether a counter has not come yet, and not too late.
    pub(crate) fn is_new(&self, counter: u64) -> bool {
        let (word, bit) = Window::bit(counter);
        counter >= self.next || self.next - counter <= Window::SIZE && self.seen[word] & bit == 0
    }

    /// Notes one that has come.
    pub(crate) fn note(&mut self, counter: u64) {
        if counter >= self.next {
            let (from, to) = (self.next.div_ceil(64), counter / 64);
            let words = (to + 1).saturating_sub(from).min(Window::WORDS as u64);
            for word in 0..words {
                self.seen[(to - word) as usize % Window::WORDS] = 0;
            }
            self.next = counter + 1;
        }
        let (word, bit) = Window::bit(counter);
        self.seen[word] |= bit;
    }
}

/// All peers, and whose a number is.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) peers: BTreeMap<ItemId, PeerState>,
    pub(crate) numbers: HashMap<u32, ItemId>,
    /// Keys of interfaces for which none was typed, until they are.
    pub(crate) made: BTreeMap<ItemId, KeyPair>,
    /// What peers were made of: they begin anew with another key.
    pub(crate) of: BTreeMap<ItemId, (Option<KeyPair>, Key, Key)>,
    /// Where they are in the program: of which interface, and which one there.
    pub(crate) places: BTreeMap<ItemId, (usize, usize)>,
    /// The program that this is of.
    pub(crate) seen: Option<Arc<Vec<Wireguard>>>,
    /// The last time that was said.
    pub(crate) told: Timestamp,
    /// What cookies are made with, and since when.
    secret: Option<(Key, Moment)>,
    /// Initiations in the second that began then.
    initiations: (u32, Option<Moment>),
}

impl State {
    /// The keys of an interface, typed or made.
    pub(crate) fn keys_of(&self, wireguard: &Wireguard) -> Option<KeyPair> {
        wireguard.keys.or_else(|| self.made.get(&wireguard.item).copied())
    }

    /// Whether there are more initiations than are answered without a proof of their address; counts one.
    pub(crate) fn is_busy(&mut self, now: Moment) -> bool {
        let (count, since) = &mut self.initiations;
        if since.is_none_or(|since| now >= since + Duration::from_secs(1)) {
            (*count, *since) = (0, Some(now));
        }
        *count += 1;
        *count > BUSY
    }

    /// What cookies are made with; `random` if it is to be another one.
    pub(crate) fn cookie_secret(&mut self, now: Moment, random: impl FnOnce() -> Key) -> Key {
        match self.secret {
            Some((secret, since)) if now < since + COOKIE_FOR => secret,
            _ => self.secret.insert((random(), now)).0,
        }
    }

    /// The numbers of peers are those that they have.
    pub(crate) fn number_anew(&mut self) {
        self.numbers.clear();
        for (item, peer) in &self.peers {
            self.numbers.extend(peer.numbers().map(|number| (number, *item)));
        }
    }

    /// Packets that wait for keys.
    pub(crate) fn waiting(&self) -> usize {
        self.peers.values().map(|peer| peer.waiting.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Against a set of all that has come.
    #[test]
    fn no_counter_comes_twice() {
        let (mut window, mut seen, mut dice) = (Window::default(), BTreeSet::new(), 7u64);
        let mut highest = 0u64;
        for _ in 0..200_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let ahead = if dice >> 60 == 0 { 9000 } else { 40 };
            let counter =
                (highest + (dice >> 33) % ahead).saturating_sub((dice >> 20) % 9000 % ahead);
            let late = (highest + 1).saturating_sub(counter);
            let expected = late <= Window::SIZE && !seen.contains(&counter);
            assert_eq!(window.is_new(counter), expected, "{counter} of {highest}");
            if expected {
                window.note(counter);
                seen.insert(counter);
                highest = highest.max(counter);
            }
        }
        assert!(highest > 1_000_000 / 64, "{highest}");
    }
}
