//! Trials of a bridge: addresses, broadcasts, congestion (RFC 2889).

use super::{Bench, Testbed};
use crate::suite::frames::template;
use crate::tester::Task;
use crate::traffic::tester_mac as mac;
use measure::procedure::{Stop, TrialOutput};
use measure::trial::Outcome;
use measure::{Field, Pick, Sender, Template, Values, Variation};
use std::time::Duration;
use wire::{MacAddr, PacketRate};

impl<P: Testbed> Bench<'_, P> {
    /// What a bridge learns of N addresses, shown by port 1, when port 0 sends to each.
    pub(super) fn learn(&mut self, n: u64, rate: PacketRate) -> Result<TrialOutput, Stop> {
        const FIRST: u64 = 0x0600_0100_0000;
        self.renew()?;
        let ports = self.place.tester().wires.len();
        let addresses = || Values::Range(FIRST, FIRST + n - 1);
        let vary = |field| Variation::Fields(vec![(field, addresses(), Pick::InTurn)]);
        let show = self.plain(0, template(self.plan, 1, 0, None), vary(Field::SrcMac))?;
        let start = self.begin();
        let mut senders: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        senders[1].push(self.sender(show, rate, n, Duration::ZERO)?);
        let (task, counts) = self.measured(Task::new(start, senders), None)?;
        let duration = Duration::from_secs_f64(n as f64 / rate.0);
        let shown = self.judge(start, duration, &task, counts);
        if matches!(shown.trial.outcome, Outcome::Invalid(_)) {
            return Ok(shown);
        }
        let to_each = self.plain(1, template(self.plan, 0, 1, None), vary(Field::DstMac))?;
        let start = self.begin();
        let test = PacketRate(rate.0.min(self.highest().0 / 10.0).min(50_000.0));
        let mut senders: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        senders[0].push(self.sender(to_each, test, n, Duration::ZERO)?);
        // Out of the other ports come those that it has not learnt.
        let (task, counts) = self.measured(Task::new(start, senders), None)?;
        let duration = Duration::from_secs_f64(n as f64 / test.0);
        Ok(self.judge(start, duration, &task, counts))
    }

    pub(super) fn broadcast(
        &mut self,
        load: PacketRate,
        duration: Duration,
    ) -> Result<TrialOutput, Stop> {
        let ports = self.place.tester().wires.len();
        let start = self.begin();
        let to_all = Template { dst_mac: MacAddr([0xff; 6]), ..template(self.plan, 0, 1, None) };
        let stream = self.plain(0, to_all, Variation::NONE)?;
        let frames = (load.0 * duration.as_secs_f64()).max(1.0) as u64;
        let mut senders: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        senders[0].push(self.sender(stream, load, frames, Duration::ZERO)?);
        let task = Task::new(start, senders).expecting(start, |from, _, at| at != from);
        let (task, mut counts) = self.measured(task, None)?;
        // Each frame is to come out of every other port.
        counts.sent *= ports as u64 - 1;
        counts.intended *= ports as u64 - 1;
        Ok(self.judge(start, duration, &task, counts))
    }

    pub(super) fn congestion(
        &mut self,
        load: PacketRate,
        duration: Duration,
    ) -> Result<TrialOutput, Stop> {
        let ports = self.place.tester().wires.len();
        let start = self.begin();
        let frames = |load: PacketRate| (load.0 * duration.as_secs_f64()).max(1.0) as u64;
        let mut senders: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        let all = [(0, 0, 2, load * 0.5), (1, 0, 3, load * 0.5), (2, 1, 3, load)];
        for (id, from, to, load) in all {
            let template = Template { dst_mac: mac(to), ..template(self.plan, from, to, None) };
            let stream = self.plain(id, template, Variation::NONE)?;
            senders[from].push(self.sender(stream, load, frames(load), Duration::ZERO)?);
        }
        let comes = |_, id, at| all.iter().any(|(of, _, to, _)| (*of, *to) == (id, at));
        let task = Task::new(start, senders).expecting(start, comes);
        let (task, counts) = self.measured(task, None)?;
        let output = self.judge(start, duration, &task, counts);
        let sent = task.senders[0].first().map_or(0, |sender| sender.sent().offered);
        Ok(TrialOutput { aside: Some((sent, task.receivers[2].tally(0).received)), ..output })
    }
}
