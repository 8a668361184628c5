//! A modifier's own frames, beside the test's: broadcasts, questions to the device, routing
//! updates (RFC 2544 §11.1 to §11.3).
//!
//! ```text
//!  load ─┬─ the test's frames ────────────► all are to come back
//!        ├─ one in a hundred a broadcast ─► none is
//!        ├─ a question every second ──────► the device's answer
//!        └─ an update every 30 s, A and B by turns, across trials ─► what the device makes of it
//! ```
//!
//! A load is that of all of them together: a wire has no room for more than it carries. Questions are
//! those of a host, updates those of a router beside it, both on the first port.

use super::bench::{Bench, Testbed};
use super::frames::template;
use super::plan::Modifier;
use crate::tester::Task;
use crate::traffic::tester_mac as mac;
use measure::control::{Control, Path, Told};
use measure::procedure::Stop;
use measure::schedule::{Load, Schedule};
use measure::{Ends, Sender, Template, Variation};
use std::time::Duration;
use wire::{MacAddr, Moment, PacketRate};

/// What was asked and told so far.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Of the next question.
    number: i32,
    /// Updates so far: their state is by turns.
    updates: u64,
    told: Told,
    broadcasts: u64,
    /// Test frames that came when nothing was waited for any more.
    too_late: u64,
}

/// A load, divided.
pub(super) struct Shares {
    /// What is left for the test's frames.
    pub(super) rest: PacketRate,
    /// Broadcasts, by port.
    pub(super) broadcasts: Vec<Vec<Sender>>,
    /// What the device is asked and told, and by which port.
    pub(super) control: Vec<(usize, Control)>,
}

impl<P: Testbed> Bench<'_, P> {
    /// Divides a load that begins at `start`.
    pub(super) fn share(
        &mut self,
        load: PacketRate,
        start: Moment,
        duration: Duration,
    ) -> Result<Shares, Stop> {
        let broadcasts = self.broadcasts(load, duration)?;
        let control = self.control(start, duration);
        let n: u64 = control.iter().map(|(_, control)| control.left()).sum();
        let rest = match self.modifier {
            Modifier::Broadcasts => load * 0.99,
            // Of a load so low that there is no room, half.
            _ => PacketRate((load.0 - n as f64 / duration.as_secs_f64()).max(load.0 / 2.0)),
        };
        Ok(Shares { rest, broadcasts, control })
    }

    /// One frame in a hundred is a broadcast (§11.1): the load is shared between the test's frames
    /// and these, which are not to come back.
    fn broadcasts(
        &mut self,
        load: PacketRate,
        duration: Duration,
    ) -> Result<Vec<Vec<Sender>>, Stop> {
        let mut beside = vec![];
        for port in 0..self.place.tester().wires.len() {
            let mut senders = vec![];
            if self.modifier == Modifier::Broadcasts && port < self.plan.traffic.senders() {
                let to_all = Template {
                    dst_mac: MacAddr([0xff; 6]),
                    ends: Ends::V4 {
                        src: self.plan.ends[port.min(1)].host,
                        dst: self.plan.ends[port.min(1)].network.last(),
                    },
                    ..template(self.plan, port, 1 - port, None)
                };
                let stream = self.plain(0xf0 + port as u8, to_all, Variation::NONE)?;
                let (load, start) = (Load::Paced(self.pace(load * 0.01)?), self.start());
                senders.push(Sender::by_length(stream, Schedule { load, start, duration }));
            }
            beside.push(senders);
        }
        Ok(beside)
    }

    /// What the device is asked and told in a trial.
    pub(super) fn control(&mut self, start: Moment, duration: Duration) -> Vec<(usize, Control)> {
        let end = self.plan.ends[0];
        let Some(dst_mac) = self.device_mac(0) else { return vec![] };
        let broadcast = end.network.last();
        let path = |src| Path { src_mac: mac(0), dst_mac, src, dst: end.device, broadcast };
        let asked = &mut self.asked;
        let control = match self.modifier {
            Modifier::Queries => {
                let queries = Control::queries(&path(end.host), asked.number, start, duration);
                asked.number = asked.number.wrapping_add(queries.left() as i32);
                queries
            }
            Modifier::Updates(version) => {
                let when = (start, duration);
                let updates = Control::updates(&path(end.router), version, asked.updates, when);
                asked.updates += updates.left();
                updates
            }
            _ => return vec![],
        };
        vec![(0, control)]
    }

    /// A task is over.
    pub(super) fn note(&mut self, task: &Task) {
        task.control.iter().for_each(|(_, control)| self.asked.told += control.told());
        let broadcasts = task.beside.iter().flatten().map(|sender| sender.sent().offered);
        self.asked.broadcasts += broadcasts.sum::<u64>();
        self.asked.too_late += task.too_late.unwrap_or(0);
    }

    /// How many frames came too late since this was asked last.
    pub(super) fn too_late(&mut self) -> u64 {
        std::mem::take(&mut self.asked.too_late)
    }

    /// What became of a modifier's frames since this was asked last, in sentences: that none were
    /// sent, if there were so many trials and none of them has any.
    pub(super) fn told(&mut self, trials: usize) -> Vec<String> {
        let told = std::mem::take(&mut self.asked.told);
        let sent = told.queries + told.updates + std::mem::take(&mut self.asked.broadcasts);
        if self.modifier.is_ours() && trials > 0 && sent == 0 {
            return vec![
                "without the modifier: trials of this kind have none of its frames".into(),
            ];
        }
        told.describe()
    }
}
