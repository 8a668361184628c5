//! The commands a client has under way.
//!
//! ```text
//! .tag=1 ─► [listen …]                     a lane for each tag, a thread for each lane
//! .tag=2 ─► [print]
//! (none) ─► [add] [add] [add]              of one tag one after the other
//! ```
//!
//! Commands of different tags run beside each other; those of one tag, or of none, in the order they
//! came in, so that a client that does not wait for its answers gets them in order.

use crate::sentence::Sentence;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tags with a command under way, for one client.
const LANES: usize = 64;

/// Commands that wait for others of their tag, and their bytes, for one client.
const WAITING: usize = 4096;
const WAITING_BYTES: usize = 4 << 20;

/// A tag, or none.
pub(crate) type Tag = Option<Vec<u8>>;

/// A command and what stops it.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) sentence: Sentence,
    pub(crate) stop: Arc<AtomicBool>,
    bytes: usize,
}

/// What to do with a new command.
#[derive(Debug)]
pub(crate) enum Enter {
    /// Start a thread for it.
    Start(Task),
    /// Nothing: it waits for its turn.
    Waits,
    /// Refuse it.
    Full(&'static str),
}

#[derive(Debug, Default)]
pub(crate) struct Lanes {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lanes: BTreeMap<Tag, Lane>,
    waiting: usize,
    waiting_bytes: usize,
}

#[derive(Debug)]
struct Lane {
    stop: Arc<AtomicBool>,
    waiting: VecDeque<Task>,
}

impl Lanes {
    /// Takes a command in.
    pub(crate) fn enter(&self, sentence: Sentence) -> Enter {
        let mut state = self.lock();
        let tag = sentence.tag().map(<[u8]>::to_vec);
        let bytes = sentence.words.iter().map(Vec::len).sum();
        let task = Task { sentence, stop: Arc::default(), bytes };
        let State { lanes, waiting, waiting_bytes } = &mut *state;
        if let Some(lane) = lanes.get_mut(&tag) {
            if *waiting == WAITING || *waiting_bytes + bytes > WAITING_BYTES {
                return Enter::Full(
                    "failure: too many commands are waiting for others of their tag",
                );
            }
            (*waiting, *waiting_bytes) = (*waiting + 1, *waiting_bytes + bytes);
            lane.waiting.push_back(task);
            return Enter::Waits;
        }
        if lanes.len() == LANES {
            return Enter::Full("failure: too many commands under way (64)");
        }
        lanes.insert(tag, Lane { stop: Arc::clone(&task.stop), waiting: VecDeque::new() });
        Enter::Start(task)
    }

    /// One of this tag has ended: the next, or the end of the lane.
    pub(crate) fn next(&self, tag: &Tag) -> Option<Task> {
        let mut state = self.lock();
        let State { lanes, waiting, waiting_bytes } = &mut *state;
        self.ended.notify_all();
        let lane = lanes.get_mut(tag)?;
        let Some(task) = lane.waiting.pop_front() else {
            lanes.remove(tag);
            return None;
        };
        (*waiting, *waiting_bytes) = (*waiting - 1, *waiting_bytes - task.bytes);
        lane.stop = Arc::clone(&task.stop);
        Some(task)
    }

    /// Stops the commands of one tag, or all, those that wait as well; `true` if there were any.
    /// Returns when they have ended, or after `patience`.
    pub(crate) fn cancel(&self, only: Option<&[u8]>, patience: Duration) -> bool {
        let mut state = self.lock();
        let mut stopped = Vec::new();
        for (tag, lane) in &state.lanes {
            if only.is_none() || only == tag.as_deref() {
                stopped.push(Arc::clone(&lane.stop));
                stopped.extend(lane.waiting.iter().map(|task| Arc::clone(&task.stop)));
            }
        }
        stopped.iter().for_each(|stop| stop.store(true, Ordering::Relaxed));
        let is_stopped = |stop: &Arc<AtomicBool>| stopped.iter().any(|s| Arc::ptr_eq(s, stop));
        let under_way = |state: &mut State| {
            state.lanes.values().any(|lane| {
                is_stopped(&lane.stop) || lane.waiting.iter().any(|task| is_stopped(&task.stop))
            })
        };
        if !patience.is_zero() {
            let waited = self.ended.wait_timeout_while(state, patience, under_way);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        !stopped.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(command: &str, tag: &str) -> Sentence {
        Sentence::new(command).tagged(Some(tag.as_bytes()).filter(|tag| !tag.is_empty()))
    }

    fn started(entered: Enter) -> Option<Task> {
        match entered {
            Enter::Start(task) => Some(task),
            _ => None,
        }
    }

    #[test]
    fn one_after_the_other_and_side_by_side() {
        let lanes = Lanes::default();
        let first = started(lanes.enter(sentence("/a", ""))).unwrap();
        assert!(matches!(lanes.enter(sentence("/b", "")), Enter::Waits));
        assert!(started(lanes.enter(sentence("/c", "7"))).is_some());
        assert_eq!(first.sentence.kind(), "/a");
        assert_eq!(lanes.next(&None).unwrap().sentence.kind(), "/b");
        assert!(lanes.next(&None).is_none());
        assert!(started(lanes.enter(sentence("/d", ""))).is_some(), "the lane was free again");
    }

    #[test]
    fn cancelled_ones_and_those_behind_them() {
        let lanes = Lanes::default();
        let seven = started(lanes.enter(sentence("/a", "7"))).unwrap();
        lanes.enter(sentence("/b", "7"));
        let eight = started(lanes.enter(sentence("/c", "8"))).unwrap();
        assert!(!lanes.cancel(Some(b"9"), Duration::ZERO));
        assert!(lanes.cancel(Some(b"7"), Duration::ZERO));
        let stopped = |task: &Task| task.stop.load(Ordering::Relaxed);
        assert!(stopped(&seven) && stopped(&lanes.next(&Some(b"7".into())).unwrap()));
        assert!(!stopped(&eight));
        assert!(lanes.cancel(None, Duration::ZERO) && stopped(&eight));
    }

    #[test]
    fn bounded() {
        let lanes = Lanes::default();
        for n in 0..LANES {
            assert!(started(lanes.enter(sentence("/a", &n.to_string()))).is_some());
        }
        assert!(matches!(lanes.enter(sentence("/a", "more")), Enter::Full(_)));
        for _ in 0..WAITING {
            assert!(matches!(lanes.enter(sentence("/a", "0")), Enter::Waits));
        }
        assert!(matches!(lanes.enter(sentence("/a", "0")), Enter::Full(_)));
        lanes.next(&Some(b"0".into()));
        assert!(matches!(lanes.enter(sentence("/a", "0")), Enter::Waits));
        let long = sentence(&"x".repeat(WAITING_BYTES), "0");
        lanes.next(&Some(b"0".into()));
        assert!(matches!(lanes.enter(long), Enter::Full(_)));
    }
}
