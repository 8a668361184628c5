//! Logging in: one attempt at a time, and the next of somebody who has failed after a while.
//!
//! ```text
//! /login name password ─► Door: this source has failed lately? wait ─► check ─┬─► User
//!                               others go ahead meanwhile                     └─► fails: wait longer
//! ```
//!
//! Checking a password costs 20 ms and 19 MiB on purpose; one check at a time bounds what strangers
//! can make the device spend. Failures are counted by where they come from, so that nobody is held
//! up by somebody else's.
//!
//! The challenge of RouterOS before 6.43 is refused: to check its answer a device must keep the
//! password itself.

use crate::stream::Peer;
use crate::user::{Account, User};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// RouterOS's words.
pub(crate) const REFUSED: &str = "invalid user name or password (6)";

/// What a client of RouterOS before 6.43 is told.
pub(crate) const NO_CHALLENGE: &str = "failure: log in with =name= and =password=, as clients of \
     RouterOS 6.43 and later do: passwords are kept hashed here, so there is no challenge";

/// After the first failure; it doubles with each.
const FIRST_DELAY: Duration = Duration::from_millis(250);
const LAST_DELAY: Duration = Duration::from_secs(8);

/// A source that has not failed for so long is forgotten.
const FORGET: Duration = Duration::from_secs(600);

/// Sources remembered; beyond them the one that failed longest ago is forgotten.
const SOURCES: usize = 4096;

/// Where logins are checked.
#[derive(Debug, Default)]
pub(crate) struct Door {
    failures: Mutex<Failures>,
}

impl Door {
    /// Checks a password when it is this source's turn; `account` is looked up then. `None` if it
    /// is not accepted, or if the turn does not come before `deadline`.
    pub(crate) fn enter(
        &self,
        from: Peer,
        password: &str,
        deadline: Instant,
        account: impl FnOnce() -> Option<Account>,
    ) -> Option<User> {
        let source = source(from);
        let mut failures = loop {
            let failures = self.lock();
            let wait = failures.wait(source, now());
            if wait.is_zero() {
                break failures;
            }
            drop(failures);
            if now() + wait >= deadline {
                return None;
            }
            std::thread::sleep(wait);
        };
        // The lock is held while checking: one at a time.
        let user = match account() {
            Some(account) => account.accepts(password).then_some(account.user),
            None => {
                Account::accepts_nobody(password);
                None
            }
        };
        match &user {
            Some(_) => failures.forget(source),
            None => failures.add(source, now()),
        }
        user
    }

    fn lock(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A network of 64 bits belongs to one customer, so to one who guesses.
fn source(from: Peer) -> Peer {
    match from {
        Peer::Remote(IpAddr::V6(address)) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            Peer::Remote(IpAddr::V6(Ipv6Addr::from_bits(network)))
        }
        _ => from,
    }
}

/// Who has failed lately.
#[derive(Debug, Default)]
struct Failures {
    sources: BTreeMap<Peer, Failed>,
}

#[derive(Debug)]
struct Failed {
    times: u32,
    last: Instant,
}

impl Failures {
    /// How long this source has to wait until it may try.
    fn wait(&self, source: Peer, now: Instant) -> Duration {
        let Some(failed) = self.sources.get(&source) else { return Duration::ZERO };
        let delay = FIRST_DELAY * 2u32.saturating_pow(failed.times.saturating_sub(1).min(8));
        (failed.last + delay.min(LAST_DELAY)).saturating_duration_since(now)
    }

    fn add(&mut self, source: Peer, now: Instant) {
        self.sources.retain(|_, failed| now.saturating_duration_since(failed.last) < FORGET);
        if self.sources.len() >= SOURCES && !self.sources.contains_key(&source) {
            let oldest = self.sources.iter().min_by_key(|(_, failed)| failed.last);
            if let Some(oldest) = oldest.map(|(source, _)| *source) {
                self.sources.remove(&oldest);
            }
        }
        let failed = self.sources.entry(source).or_insert(Failed { times: 0, last: now });
        *failed = Failed { times: failed.times.saturating_add(1), last: now };
    }

    fn forget(&mut self, source: Peer) {
        self.sources.remove(&source);
    }
}

#[expect(clippy::disallowed_methods, reason = "how long somebody who logs in has to wait")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u32) -> Peer {
        Peer::Remote(IpAddr::V4(n.into()))
    }

    #[test]
    fn each_failure_doubles_the_wait_of_its_source_alone() {
        let (mut failures, start) = (Failures::default(), now());
        let ms = Duration::from_millis;
        for expected in [250, 500, 1000, 2000, 4000, 8000, 8000] {
            failures.add(peer(1), start);
            assert_eq!(failures.wait(peer(1), start), ms(expected));
            assert_eq!(failures.wait(peer(1), start + ms(100)), ms(expected - 100));
            assert_eq!(failures.wait(peer(2), start), Duration::ZERO);
        }
        assert_eq!(failures.wait(peer(1), start + ms(8000)), Duration::ZERO);
        failures.forget(peer(1));
        assert_eq!(failures.wait(peer(1), start), Duration::ZERO);
    }

    #[test]
    fn sources_are_bounded_and_forgotten() {
        let (mut failures, start) = (Failures::default(), now());
        for n in 0..SOURCES as u32 + 10 {
            failures.add(peer(n), start + Duration::from_millis(n.into()));
        }
        assert_eq!(failures.sources.len(), SOURCES);
        assert!(
            !failures.sources.contains_key(&peer(9)) && failures.sources.contains_key(&peer(10))
        );
        failures.add(peer(1), start + 2 * FORGET);
        assert_eq!(failures.sources.len(), 1);
    }

    #[test]
    fn one_network_is_one_source() {
        let peer = |address: &str| source(Peer::Remote(address.parse().unwrap()));
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::2:3"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
        assert_eq!(source(Peer::Local), Peer::Local);
    }
}
