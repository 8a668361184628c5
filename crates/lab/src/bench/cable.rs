//! A cable from the tester to itself: one veth pair, and nothing else between.
//!
//! ```text
//!  Tester ══ t0 ═══ veth ═══ t1 ══ Tester
//! ```
//!
//! What receives at an end works where the other end sends from, as of any veth: threads of their own
//! would take the tester's processor from it. Offloads that make super-frames are off.

use super::BenchError;
use super::commands::ask;
use super::veth::{TESTER_ENDS, switch_offloads};
use crate::jumbo;
use port::linux::Namespace;
use std::fs;
use wire::FrameLen;

/// The pair, as long as this lives.
pub(super) struct Cable {
    places: [Namespace; 2],
}

impl Cable {
    /// A new one, up, for frames of up to this length.
    ///
    /// # Errors
    /// [`BenchError`]: no rights, or a program is lacking.
    pub(super) fn new(longest: FrameLen) -> Result<Cable, BenchError> {
        let cable = Cable { places: [Namespace::new()?, Namespace::new()?] };
        let mtu = jumbo::mtu(longest).map_or(String::new(), |mtu| format!(" mtu {mtu}"));
        let queues = format!("numrxqueues 1 numtxqueues 1{mtu}");
        let ([a, b], there) = (TESTER_ENDS, cable.places[1].path());
        for place in &cable.places {
            // Nobody is to announce himself. Without IPv6 nobody can.
            let quiet = || fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            let _ = place.run(quiet);
        }
        let there = there.display();
        let pair =
            format!("ip link add name {a} {queues} type veth peer name {b} {queues} netns {there}");
        ask(&cable.places[0], &pair)?;
        for (place, end) in cable.ends() {
            switch_offloads(place, end)?;
        }
        for (place, end) in cable.ends() {
            ask(place, &format!("ip link set {end} up"))?;
        }
        Ok(cable)
    }

    /// Its ends and where they are.
    pub(super) fn ends(&self) -> [(&Namespace, &'static str); 2] {
        [(&self.places[0], TESTER_ENDS[0]), (&self.places[1], TESTER_ENDS[1])]
    }
}
