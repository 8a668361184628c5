//! A port's link: whether its wire carries, and what.
//!
//! ```text
//!  interface down ─► Compiler::set_link ─► Change ─► Router::apply
//!                                                      ├─ its networks and gateways: inactive
//!                                                      ├─ its neighbours and hosts: forgotten
//!                                                      ├─ frames to it and from it: dropped, counted
//!                                                      └─ "ether1 link down" in the log
//! ```
//!
//! A link that changes is a change like one of the configuration: what follows from it is compiled,
//! and swapped between two breaths. The addresses of a port whose link is down stay the router's
//! own, as on Linux.
//!
//! A memory wire is always up. Who watches real interfaces tells the router of theirs.

use crate::ip::route::TooManyTargets;
use crate::program::Program;
use crate::router::Router;
use wire::{MacAddr, Moment};

/// What is known of a port's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Whether frames pass.
    pub running: bool,
    /// The longest IP packet the interface takes; `None` if it takes what its frames hold. A
    /// configured `mtu` above it does not count, and what is bridged may not be longer either.
    pub mtu: Option<u16>,
    /// The interface's own address, if it is not the one the port began with.
    pub mac: Option<MacAddr>,
    /// In Mbit/s, if it has one.
    pub speed_mbps: Option<u32>,
}

impl Default for Link {
    /// A wire that carries.
    fn default() -> Link {
        Link { running: true, mtu: None, mac: None, speed_mbps: None }
    }
}

/// What became of a port's link since the router was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// How often it went down.
    pub(crate) downs: u64,
    pub(crate) last_up: Option<Moment>,
    pub(crate) last_down: Option<Moment>,
}

impl Router {
    /// Tells what has become of a port's link, between two breaths.
    ///
    /// # Errors
    /// More gateways than the FIB can number. Everything is then as it was.
    ///
    /// # Panics
    /// If there is no such port, or somebody [took the compiler](Self::take_compiler): then he calls
    /// [`Compiler::set_link`](crate::Compiler::set_link) and [`Router::apply`].
    pub fn set_link(&mut self, port: usize, link: Link, now: Moment) -> Result<(), TooManyTargets> {
        let compiler = self.compiler.as_mut().expect("the compiler, which somebody took");
        let Some(mut change) = compiler.set_link(port, link) else { return Ok(()) };
        self.apply(&mut change, now)?;
        if let Some(compiler) = &mut self.compiler {
            compiler.taken_over(change);
        }
        Ok(())
    }

    /// Notes and says what has become of links in the program to come.
    pub(crate) fn note_links(&mut self, next: &Program, now: Moment) {
        let links = next.links.iter().zip(self.program.links.iter());
        for ((new, old), (&id, history)) in
            links.zip(next.ports.iter().zip(&mut self.link.histories))
        {
            let name = &next.interface(id).name;
            if new.running && !old.running {
                history.last_up = Some(now);
                let speed = new.speed_mbps.map(speed).unwrap_or_default();
                self.stats.log.say(now, "interface,info", &format!("{name} link up{speed}"));
            }
            if !new.running && old.running {
                history.downs += 1;
                history.last_down = Some(now);
                self.stats.log.say(now, "interface,info", &format!("{name} link down"));
            }
        }
        for (new, old) in next.interfaces.iter().zip(&self.program.interfaces) {
            let (most, configured) = (new.mtu, new.configured_mtu());
            let said = (old.mtu, old.configured_mtu()) == (most, configured);
            if most < configured && new.enabled && !said {
                let text = format!("{} has an MTU of {most}, not {configured}", new.name);
                self.stats.log.say(now, "interface,warning", &text);
            }
        }
    }
}

/// ` (speed 10M, full duplex)`, also `1G`, `2.5G`.
fn speed(mbps: u32) -> String {
    format!(" (speed {}, full duplex)", rate(mbps, ""))
}

/// `100M`, `1G`, `2.5G`, and a unit.
pub(super) fn rate(mbps: u32, unit: &str) -> String {
    match mbps {
        0..1000 => format!("{mbps}M{unit}"),
        _ if mbps.is_multiple_of(1000) => format!("{}G{unit}", mbps / 1000),
        _ => format!("{}.{}G{unit}", mbps / 1000, mbps % 1000 / 100),
    }
}
