//! Losses of an interface ahead of a port's sockets, which know nothing of them.
//!
//! ```text
//!  wire ─► interface ─┬─────────────────────► socket ─┬─► received
//!                     └ too long, damaged:            └ no slot, ring full:
//!                       the interface counts            the socket counts,
//!                                                       of native XDP the interface as well
//! ```
//!
//! Where the interface counts both, what the sockets have counted is taken off. Packet sockets have
//! frames that go on from them: of those all that they have seen is taken off what came past them
//! ([`bpf::Past`]), and what is left went while they were taken off the interface, which the kernel
//! does as soon as it is switched off, whatever waits to be handed out. The sockets are of
//! several ports, perhaps, which are asked one after the other: what all of them say *after* the
//! interface was asked is at least what it had of theirs, so that no frame is counted twice, and
//! what is missing now is there when they are asked next. Drivers of which some count theirs
//! elsewhere look as if they had lost less ahead; all that sockets count is told anyway.
//!
//! What was lost before the port was opened is none of ours. To ask costs microseconds (an old
//! card's driver reads its registers for it: a hundred), so it is done for one of 64 at most.

use super::losses::{Losses, Lost, Way};
use super::{Unavailable, bpf};
use crate::cycles;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of an interface.
pub(super) struct Ahead(Mutex<State>);

struct State {
    losses: Losses,
    /// What came past the sockets, and how many of those were so before they could see any.
    past: Option<(bpf::Past, u64)>,
    /// What is counted there as well, by socket.
    sockets: Vec<Socket>,
    /// What the interface said, as long as not all sockets have been asked since.
    said: Option<Lost>,
    ahead: Lost,
    /// When it may be asked again, in cycles.
    due: u64,
}

#[derive(Clone, Default)]
struct Socket {
    frames: u64,
    /// Whether it was asked after the interface.
    asked: bool,
    /// It is closed, and has no more.
    closed: bool,
}

/// So many times as long as asking takes it is not asked again.
const REST: u64 = 64;

impl Ahead {
    /// Of the interface of this name in the calling thread's namespace, from now on. It counts what
    /// so many sockets lose, too.
    pub(super) fn of(name: &str, sockets: usize) -> Result<Ahead, Unavailable> {
        Ok(Ahead(Mutex::new(State {
            losses: Losses::of(name, Way::Received)?,
            past: None,
            sockets: vec![Socket::default(); sockets],
            said: None,
            ahead: Lost::default(),
            due: 0,
        })))
    }

    /// So many sockets have frames that go on from them and are counted once more, there; `seen` is how
    /// many they have had until now.
    pub(super) fn past(self, past: bpf::Past, seen: impl Fn() -> u64) -> Ahead {
        // Frames may come between the two questions, fewer than there are now: so each answer is too
        // low, if it is wrong.
        let before = (0..16).map(|_| past.frames().saturating_sub(seen())).max().unwrap_or(0);
        self.lock().past = Some((past, before));
        self
    }

    /// Asks the interface, if it is time. Then its sockets are to be asked.
    pub(super) fn ask(&self) {
        let mut state = self.lock();
        let now = || cycles::NOW.map_or(u64::MAX, |now| now());
        let begin = now();
        if state.said.is_some() || begin < state.due {
            return;
        }
        let mut said = state.losses.so_far();
        if let Some((past, before)) = &state.past {
            said.dropped += past.frames().saturating_sub(*before);
        }
        state.said = Some(said);
        state.sockets.iter_mut().for_each(|socket| socket.asked = socket.closed);
        let end = now();
        state.due = end.saturating_add(end.saturating_sub(begin).saturating_mul(REST));
    }

    /// So many frames of those that are counted elsewhere as well are this socket's until now; whether
    /// it has had its last.
    pub(super) fn told(&self, socket: u32, frames: u64, closed: bool) {
        if let Some(socket) = self.lock().sockets.get_mut(socket as usize) {
            *socket = Socket { frames, asked: true, closed };
        }
    }

    /// What was lost ahead of all sockets, as far as that is known.
    pub(super) fn so_far(&self) -> Lost {
        let mut state = self.lock();
        if let Some(said) = state.said
            && state.sockets.iter().all(|socket| socket.asked)
        {
            let sockets: u64 = state.sockets.iter().map(|socket| socket.frames).sum();
            let dropped = said.dropped.saturating_sub(sockets);
            state.ahead.dropped = state.ahead.dropped.max(dropped);
            state.ahead.errors = state.ahead.errors.max(said.errors);
            state.said = None;
        }
        state.ahead
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
