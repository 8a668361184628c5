//! Virtual time's properties, for a plan.

use super::Scaling;
use std::time::Duration;
use wire::BitRate;

/// What a device in virtual time is like: a processor that takes its time for each frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// L1 rate of every wire.
    pub link: BitRate,
    /// Every wire's delay, one way.
    pub delay: Duration,
    /// The first port's wire is slower: its L1 rate, and the frames that wait for it at either end.
    pub bottleneck: Option<(BitRate, usize)>,
    /// For each frame.
    pub frame_ns: u64,
    /// And for each of its bytes, in picoseconds.
    pub byte_ps: u64,
    /// Now and then it does something else: so often …
    pub pause_every: Duration,
    /// … for so long.
    pub pause: Duration,
    /// Frames each port's receive ring holds.
    pub ring: usize,
    /// How long it takes to start.
    pub boot: Duration,
    /// What makes the plan short there.
    pub scaling: Scaling,
}

impl Simulated {
    /// What happens in words, for results.
    pub fn describe(&self) -> String {
        let bottleneck = self.bottleneck.map_or(String::new(), |(rate, buffer)| {
            format!(", the first of {rate:#} with buffers of {buffer} frames")
        });
        let delay = match self.delay {
            Duration::ZERO => String::new(),
            delay => format!(" and {delay:?} one way"),
        };
        format!(
            "simulated: wires of {:#}{delay}{bottleneck}, {} ns and {} ps a byte for each frame, every {:?} a pause \
             of {:?}, receive rings of {} frames",
            self.link, self.frame_ns, self.byte_ps, self.pause_every, self.pause, self.ring
        )
    }
}
