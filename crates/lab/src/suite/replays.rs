//! The plan's replays: captures sent again beside its streams, each way counted by itself.
//!
//! ```text
//!  Replay ─► Script ─┬► Player ─► from one port or both ─┐
//!                    └► Returned: each way's frames ◄────┴─► Task ─► of each way: sent, and its tally
//! ```
//!
//! Hosts of a capture that are in a port's network are there for the time of the trial: they say so to
//! the device before, and answer its ARP.
//!
//! Never decides whether a replay can be: the plan did.

use super::bench::{Bench, Testbed};
use super::plan::Replay;
use crate::tester::Task;
use crate::traffic::tester_mac as mac;
use measure::procedure::Stop;
use measure::procedure::streams::{CaptureOutput, StreamOutput};
use measure::replay::{Player, Returned, Script, Side, Way};
use std::time::Duration;
use wire::{BitRate, Moment};

/// Hosts that introduce themselves at once: no more than rings hold.
const AT_ONCE: usize = 64;

/// The ways of a replay that have frames.
pub(super) fn ways(replay: &Replay) -> impl Iterator<Item = Side> + '_ {
    [Side::First, Side::Second].into_iter().filter(|side| replay.plan.sends(*side))
}

/// The ports by which replays send.
pub(super) fn senders(replays: &[Replay]) -> impl Iterator<Item = usize> + '_ {
    replays.iter().flat_map(|replay| ways(replay).map(|side| replay.ports[side.index()]))
}

/// How long they take on wires of this rate.
pub(super) fn duration(replays: &[Replay], link: BitRate) -> Duration {
    replays.iter().filter_map(|replay| replay.until(link).ok()).max().unwrap_or_default()
}

impl<P: Testbed> Bench<'_, P> {
    /// The hosts of captures are on their ports, and the device knows them.
    pub(super) fn settle_hosts(&mut self) -> Result<(), Stop> {
        let mut guests = vec![];
        for end in self.plan.ends_on_ports() {
            let hosts = self.plan.replays.iter().map(|replay| replay.hosts_in(end));
            let hosts = hosts.collect::<Result<Vec<_>, _>>().map_err(Stop::Broken)?;
            let mut hosts = hosts.concat();
            hosts.sort_unstable();
            hosts.dedup();
            guests.push(hosts);
        }
        self.place.tester().settle(guests.clone());
        for (port, hosts) in guests.iter().enumerate() {
            for hosts in hosts.chunks(AT_ONCE) {
                let now = self.place.now();
                self.place.tester().announce_guests(now, port, hosts);
                self.run_task(Task::new(now, vec![]))?;
            }
        }
        Ok(())
    }

    /// Puts the replays into a task that begins then, of each no more than `most` frames.
    pub(super) fn replay(&mut self, task: &mut Task, start: Moment, most: u64) -> Result<(), Stop> {
        let link = self.link;
        let scripts: Vec<Script> = (self.plan.replays.iter())
            .map(|replay| {
                let macs = replay.ports.map(|port| self.device_mac(port));
                let [a, b] = replay.ports;
                let macs =
                    [(mac(a), macs[0].unwrap_or(mac(b))), (mac(b), macs[1].unwrap_or(mac(a)))];
                let script = replay.plan.script(replay.hosts_macs.then_some(macs), link);
                script.map_err(|bad| Stop::Broken(format!("{}: {bad}", replay.name)))
            })
            .collect::<Result<_, _>>()?;
        // Both ways of each, whether they have frames or not.
        let ways = self.plan.replays.iter().zip(&scripts).flat_map(|(replay, script)| {
            let [from, to] = replay.ports;
            let way = |to, side| Way { to, script, side };
            [way(to, Side::First), way(from, Side::Second)]
        });
        task.returned = Some(Box::new(Returned::new(ways, |len| self.place.wire_time(len))));
        let replays = self.plan.replays.iter().zip(scripts).enumerate();
        task.players = replays
            .map(|(n, (replay, script))| {
                Player::new(script, start + replay.start, most, replay.ports, [2 * n, 2 * n + 1])
            })
            .collect();
        Ok(())
    }

    /// What came of each way, and how late the last frame was.
    pub(super) fn replayed(&self, task: &Task) -> (Vec<StreamOutput>, Duration) {
        let (mut outputs, mut late) = (vec![], Duration::ZERO);
        let Some(returned) = &task.returned else { return (outputs, late) };
        for (n, (replay, player)) in self.plan.replays.iter().zip(&task.players).enumerate() {
            let both = ways(replay).count() > 1;
            let last = player.both().map(|sent| sent.last);
            late = late.max(last[0].max(last[1]).since(player.last_due()));
            for side in ways(replay) {
                let (from, to) = match (side, replay.ports) {
                    (Side::First, [from, to]) => (from, to),
                    (Side::Second, [from, to]) => (to, from),
                };
                let (back, sent) = (returned.of(2 * n + side.index()), player.sent(side));
                let name = match both {
                    true => format!("{} {} ► {}", replay.name, from + 1, to + 1),
                    false => replay.name.clone(),
                };
                let altered = back.tally.corrupt;
                outputs.push(StreamOutput {
                    name,
                    ports: (from as u32 + 1, to as u32 + 1),
                    stack: replay.described(),
                    sizes: replay.sizes(side),
                    load: replay.load(),
                    seed: 0,
                    intended: sent.intended,
                    sent: sent.went_out(),
                    waited: self.waited(&sent),
                    tally: back.tally,
                    elsewhere: back.elsewhere,
                    latency: Some(back.latency).filter(|all| !all.is_empty()),
                    variation: back.variation,
                    sending: sent.first.map(|first| sent.last.since(first)),
                    capture: Some(CaptureOutput { file: replay.file.clone(), altered }),
                });
            }
        }
        (outputs, late)
    }
}
