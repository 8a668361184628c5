//! Trials of connections: established, and forgotten (RFC 9693).
//!
//! ```text
//!  open       initiator ── N frames, N tuples ─► device ─► responder: notes what it saw
//!  establish  open, then one frame back on each
//!  tear down  open, then the device forgets
//! ```

use super::{Bench, Place};
use crate::suite::tester::{Duty, template};
use measure::procedure::{Stop, TrialOutput};
use measure::trial::{Counts, Outcome, Trial};
use measure::watch::{Tuple, Watch};
use measure::{Field, Pick, Values, Variation};
use std::time::Duration;
use wire::PacketRate;

impl<P: Place> Bench<'_, P> {
    /// N frames, N connections; what the responder saw of them.
    fn open(&mut self, n: u64, rate: PacketRate) -> Result<(TrialOutput, Vec<Tuple>), Stop> {
        let template = template(self.plan, 0, 1, self.device_mac(0));
        let fields = vec![
            (Field::SrcPort, Values::Range(1024, 65_535)),
            (Field::DstPort, Values::Range(1, 1000)),
        ];
        let variation = Variation::Flows { fields, count: n as usize, pick: Pick::InTurn };
        let stream = self.plain(0, template, variation)?;
        let (start, stolen) = (self.start(), self.place.stolen());
        let sender = self.sender(stream, rate, n, Duration::ZERO)?;
        let watch = Watch::Tuples(Vec::with_capacity(n as usize));
        let duty = Duty::new(start, vec![vec![sender], vec![]]).watched(watch);
        let (mut duty, counts) = self.duty(duty, None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        let duration = Duration::from_secs_f64(n as f64 / rate.0);
        let output = self.judge(start, duration, &duty, counts, stolen);
        let Watch::Tuples(seen) = std::mem::take(&mut duty.watch) else { unreachable!() };
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
        let (start, stolen) = (self.start(), self.place.stolen());
        let sender = self.sender(stream, validation, n, Duration::ZERO)?;
        let (duty, counts) = self.duty(Duty::new(start, vec![vec![], vec![sender]]), None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        let duration = Duration::from_secs_f64(n as f64 / validation.0);
        let back = self.judge(start, duration, &duty, counts, stolen).trial;
        let there = output.trial.counts;
        let both = Counts {
            intended: there.intended + back.counts.intended,
            sent: there.sent + back.counts.sent,
            received: there.received + back.counts.received,
            reordered: there.reordered + back.counts.reordered,
            ..back.counts
        };
        Ok(TrialOutput::of(Trial { counts: both, ..back }))
    }

    pub(super) fn tear_down(&mut self, n: u64) -> Result<TrialOutput, Stop> {
        self.renew()?;
        // Slowly: this is not about how quickly they are established.
        let (mut output, _) = self.open(n, PacketRate(20_000.0))?;
        match self.place.forget() {
            None => Err(Stop::Broken("forgetting takes no time in virtual time".into())),
            Some((known, time)) => {
                output.time = (known >= n).then_some(time);
                Ok(output)
            }
        }
    }
}
