//! Trials of connections: established, and forgotten (RFC 9693).
//!
//! ```text
//!  open       initiator ── N frames, N tuples ─► device ─► responder: notes what it saw
//!  establish  open, then one frame back on each
//!  tear down  open, then the device forgets
//! ```

use super::{Bench, Testbed};
use crate::suite::frames::template;
use crate::tester::Task;
use measure::procedure::{Stop, TrialOutput};
use measure::trial::{Outcome, Trial};
use measure::watch::{Tuple, Watch};
use measure::{Field, Pick, Values, Variation};
use std::time::Duration;
use wire::PacketRate;

/// The initiator's ports, from here on; they change fastest.
const FIRST_PORT: u64 = 1024;

/// The servers' ports of a trial of TCP: with the clients' and eight hosts on both sides more than
/// sixteen million tuples, of which a NAT that hides all clients behind one address still has two.
const SERVICES: u16 = 4;

/// What trials have used so far of the tuples there are, by the responder's ports.
///
/// A device that was made anew sees the same ones in every trial. One that is still the same, even if
/// it was told to forget, never sees one twice: what it kept, a connection in its time-wait or a flow
/// in its hardware, is then in its table and nowhere else.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::suite) struct Used {
    udp: u64,
    tcp: u16,
}

impl Used {
    /// The responder's first port for `n` connections of UDP.
    ///
    /// # Errors
    /// [`Stop::Broken`]: there are none left.
    fn udp(&mut self, remembers: bool, n: u64) -> Result<u64, Stop> {
        if !remembers {
            return Ok(1);
        }
        let first = self.udp + 1;
        self.udp += n.div_ceil(65_536 - FIRST_PORT);
        if self.udp > 65_535 { Err(Used::up()) } else { Ok(first) }
    }

    /// The servers' first and last port.
    ///
    /// # Errors
    /// [`Stop::Broken`]: there are none left.
    pub(in crate::suite) fn tcp(&mut self, remembers: bool) -> Result<(u16, u16), Stop> {
        /// Of the first trial.
        const FIRST: u16 = 80;
        let first = FIRST + self.tcp;
        if remembers {
            self.tcp = self
                .tcp
                .checked_add(SERVICES)
                .filter(|n| *n < u16::MAX - FIRST - SERVICES)
                .ok_or_else(Used::up)?;
        }
        Ok((first, first + SERVICES - 1))
    }

    fn up() -> Stop {
        Stop::Broken("there is no connection left that this device does not know".to_string())
    }
}

impl<P: Testbed> Bench<'_, P> {
    /// N frames, N connections; what the responder saw of them.
    fn open(&mut self, n: u64, rate: PacketRate) -> Result<(TrialOutput, Vec<Tuple>), Stop> {
        let template = template(self.plan, 0, 1, self.device_mac(0));
        let first = self.used.udp(self.place.remembers(), n)?;
        let fields = vec![
            (Field::SrcPort, Values::Range(FIRST_PORT, 65_535)),
            (Field::DstPort, Values::Range(first, 65_535)),
        ];
        let variation = Variation::Flows { fields, count: n as usize, pick: Pick::InTurn };
        let stream = self.plain(0, template, variation)?;
        let start = self.begin();
        let sender = self.sender(stream, rate, n, Duration::ZERO)?;
        let watch = Watch::Tuples(Vec::with_capacity(n as usize));
        let task = Task::new(start, vec![vec![sender], vec![]]).watched(watch);
        let (mut task, counts) = self.measured(task, None)?;
        let duration = Duration::from_secs_f64(n as f64 / rate.0);
        let output = self.judge(start, duration, &task, counts);
        let Watch::Tuples(seen) = std::mem::take(&mut task.watch) else { unreachable!() };
        Ok((output, seen))
    }

    pub(super) fn establish(
        &mut self,
        n: u64,
        rate: PacketRate,
        validation: PacketRate,
    ) -> Result<TrialOutput, Stop> {
        self.renew()?;
        let (output, seen) = self.open(n, rate)?;
        if output.trial.outcome != Outcome::Pass {
            return Ok(output);
        }
        // The responder answers each to where it seemed to come from.
        let list = |of: usize| Values::List(seen.iter().map(|t| u64::from(t[of])).collect());
        let fields = [(Field::Src, 1), (Field::Dst, 0), (Field::SrcPort, 3), (Field::DstPort, 2)];
        let fields = fields.map(|(field, of)| (field, list(of), Pick::InTurn)).to_vec();
        let template = template(self.plan, 1, 0, self.device_mac(1));
        let stream = self.plain(1, template, Variation::Fields(fields))?;
        let start = self.begin();
        let sender = self.sender(stream, validation, n, Duration::ZERO)?;
        let (task, counts) = self.measured(Task::new(start, vec![vec![], vec![sender]]), None)?;
        let duration = Duration::from_secs_f64(n as f64 / validation.0);
        let TrialOutput { trial: back, mut conditions, .. } =
            self.judge(start, duration, &task, counts);
        let both = output.trial.counts.and(&back.counts);
        conditions.stood_still += output.conditions.stood_still;
        conditions.stolen += output.conditions.stolen;
        Ok(TrialOutput { conditions, ..TrialOutput::of(Trial { counts: both, ..back }) })
    }

    pub(super) fn tear_down(&mut self, n: u64) -> Result<TrialOutput, Stop> {
        self.renew()?;
        // Slowly: this is not about how quickly they are established.
        let (mut output, _) = self.open(n, PacketRate(20_000.0))?;
        if output.is_interrupted() {
            return Ok(output);
        }
        let (known, time) = self.place.forget()?;
        output.time = (known >= n).then_some(time);
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_remembers_sees_no_connection_twice() {
        let mut used = Used::default();
        // Made anew: the same every time.
        assert_eq!([used.udp(false, 1 << 20), used.udp(false, 1)], [Ok(1), Ok(1)]);
        assert_eq!([used.tcp(false), used.tcp(false)], [Ok((80, 83)), Ok((80, 83))]);
        // 64,512 ports of the initiator for each of the responder's.
        let found = [64_512, 64_513, 1, 1].map(|n| used.udp(true, n).unwrap());
        assert_eq!(found, [1, 2, 4, 5]);
        let found = [(); 3].map(|()| used.tcp(true).unwrap());
        assert_eq!(found, [(80, 83), (84, 87), (88, 91)]);
        // At the end it is said, and nothing is used again.
        let last = (0..).map_while(|_| used.tcp(true).ok()).last().unwrap();
        assert!(last.1 > 65_000 && used.tcp(true).is_err(), "{last:?}");
        let trials = (0..).take_while(|_| used.udp(true, 1 << 22).is_ok()).count();
        assert!((900..1100).contains(&trials) && used.udp(true, 1 << 22).is_err(), "{trials}");
    }
}
