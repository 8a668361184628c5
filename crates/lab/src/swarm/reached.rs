//! States that somebody should reach at times: what a swarm that reaches them no more has lost.

use router::Router;
use router::discard::Discard;
use std::collections::BTreeMap;

/// How often each state was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached(BTreeMap<String, u64>);

impl Reached {
    /// A state was reached.
    pub(super) fn see(&mut self, state: String) {
        *self.0.entry(state).or_default() += 1;
    }

    /// What a router's counters say of where it has been.
    pub(super) fn note(&mut self, router: &Router) {
        for (reason, _) in router.discards().iter().filter(|(_, n)| *n > 0) {
            self.see(format!("discard {reason}"));
        }
        let paths = router.path_counts();
        for (path, n) in [
            ("IPv4 FastPath", paths.ipv4_fast_path.packets),
            ("FastTrack", paths.ipv4_fasttrack.packets),
            ("bridge FastPath", paths.bridge_fast_path.packets),
            ("recipes", paths.replayed),
        ] {
            if n > 0 {
                self.see(path.to_string());
            }
        }
    }

    /// Takes in what another run has reached.
    pub fn join(&mut self, other: &Reached) {
        for (state, n) in &other.0 {
            *self.0.entry(state.clone()).or_default() += n;
        }
    }

    /// All states that were reached, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(state, n)| (state.as_str(), *n))
    }

    /// Whether a state was reached.
    pub fn has(&self, state: &str) -> bool {
        self.0.contains_key(state)
    }

    /// The reasons to discard that nobody has met.
    pub fn never_discarded(&self) -> Vec<&'static str> {
        let all = Discard::ALL.iter().map(|reason| reason.name());
        all.filter(|name| !self.has(&format!("discard {name}"))).collect()
    }
}
