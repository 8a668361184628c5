//! What an interface lost ahead of a port's sockets, which know nothing of it.
//!
//! ```text
//!  wire ─► interface ─┬─────────────────────► socket ─┬─► received
//!                     └ too long, damaged:            └ no slot, ring full:
//!                       the interface counts            the socket counts,
//!                                                       of native XDP the interface as well
//! ```
//!
//! Where the interface counts both, what the sockets have counted is taken off. The sockets are of
//! several ports, perhaps, which are asked one after the other: what all of them say *after* the
//! interface was asked is at least what it had of theirs, so that no frame is counted twice, and
//! what is missing now is there when they are asked next. Drivers of which some count theirs
//! elsewhere look as if they had lost less ahead; all that sockets count is told anyway.
//!
//! What was lost before the port was opened is none of ours. To ask costs microseconds (an old
//! card's driver reads its registers for it: a hundred), so it is done for one of 64 at most.

use super::Unavailable;
use super::losses::{Losses, Lost, Way};
use crate::cycles;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of an interface.
pub(super) struct Ahead(Mutex<State>);

struct State {
    losses: Losses,
    /// What the interface counts as well, by socket.
    sockets: Vec<Socket>,
    /// What the interface said, as long as not all sockets have been asked since.
    said: Option<Lost>,
    ahead: Lost,
    /// When it may be asked again, in cycles.
    due: u64,
}

#[derive(Clone, Default)]
struct Socket {
    lost: u64,
    /// Whether it was asked after the interface.
    asked: bool,
    /// It is closed, and loses no more.
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
            sockets: vec![Socket::default(); sockets],
            said: None,
            ahead: Lost::default(),
            due: 0,
        })))
    }

    /// Asks the interface, if it is time. Then its sockets are to be asked.
    pub(super) fn ask(&self) {
        let mut state = self.lock();
        let now = || cycles::NOW.map_or(u64::MAX, |now| now());
        let begin = now();
        if state.said.is_some() || begin < state.due {
            return;
        }
        let said = state.losses.so_far();
        state.said = Some(said);
        state.sockets.iter_mut().for_each(|socket| socket.asked = socket.closed);
        let end = now();
        state.due = end.saturating_add(end.saturating_sub(begin).saturating_mul(REST));
    }

    /// So many frames this socket has lost until now; whether it has lost its last.
    pub(super) fn told(&self, socket: u32, lost: u64, closed: bool) {
        if let Some(socket) = self.lock().sockets.get_mut(socket as usize) {
            *socket = Socket { lost, asked: true, closed };
        }
    }

    /// What was lost ahead of all sockets, as far as that is known.
    pub(super) fn so_far(&self) -> Lost {
        let mut state = self.lock();
        if let Some(said) = state.said
            && state.sockets.iter().all(|socket| socket.asked)
        {
            let sockets: u64 = state.sockets.iter().map(|socket| socket.lost).sum();
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
