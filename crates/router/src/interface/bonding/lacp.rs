//! LACP (IEEE 802.1AX §6.4) for one slave, pure: `now` and what the other end says come in; what to
//! say, and whether frames may pass, go out.
//!
//! ```text
//! receive:  defaulted ──► current ──(3 s, or 90 s, of silence)──► expired ──(3 s)──► defaulted
//!               ▲   a LACPDU ▲ └────────────────────────────────────┘ a LACPDU
//! mux:      selected, and the other end in sync ─► collecting and distributing, both at once
//! ```
//!
//! Speaks unasked. Missing: **standby ports** by priority, **marker protocol**.

use std::time::Duration;
use wire::Moment;
use wire::lacp::{End, Lacpdu, state};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receive {
    /// The other end was never heard, or not for long.
    Defaulted,
    /// It was heard; until then it must speak again.
    Current(Moment),
    /// It was not; it is asked to speak quickly.
    Expired(Moment),
}

/// What a slave knows of its other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    receive: Receive,
    partner: End,
    /// The other end has what we are right, and is in sync with it.
    agrees: bool,
    /// What was said last of ourselves.
    said: Option<Lacpdu>,
    /// When to speak next, whatever happens.
    next: Moment,
    /// Not before then, however much there is to say.
    earliest: Moment,
}

const FAST: Duration = Duration::from_secs(1);
const SLOW: Duration = Duration::from_secs(30);
/// Three LACPDUs a second, no more.
const PAUSE: Duration = Duration::from_millis(333);

impl Machine {
    /// One that has heard nothing.
    pub(crate) const NEW: Machine = Machine {
        receive: Receive::Defaulted,
        partner: End {
            system_priority: 0,
            system: wire::MacAddr([0; 6]),
            key: 0,
            port_priority: 0,
            port: 0,
            state: 0,
        },
        agrees: false,
        said: None,
        next: Moment::ZERO,
        earliest: Moment::ZERO,
    };

    /// Who is at the other end, while it is heard: links to the same one may be aggregated.
    pub(crate) fn partner(&self) -> Option<(u16, wire::MacAddr, u16)> {
        let End { system_priority, system, key, .. } = self.partner;
        let can = self.partner.state & state::AGGREGATION != 0;
        (matches!(self.receive, Receive::Current(_)) && can).then_some((
            system_priority,
            system,
            key,
        ))
    }

    /// Whether frames may pass, if it is selected.
    pub(crate) fn passes(&self, selected: bool) -> bool {
        selected && self.agrees && matches!(self.receive, Receive::Current(_))
    }

    /// Takes in what the other end says; `own` is this end.
    pub(crate) fn heard(&mut self, now: Moment, said: &Lacpdu, own: &End) {
        let wait = if own.state & state::TIMEOUT != 0 { FAST * 3 } else { SLOW * 3 };
        self.receive = Receive::Current(now + wait);
        self.partner = said.actor;
        let knows = |end: &End| (end.system_priority, end.system, end.key, end.port);
        let right = knows(&said.partner) == knows(own);
        self.agrees = right && said.actor.state & state::SYNCHRONIZATION != 0;
        const SEEN: u8 = state::ACTIVITY | state::TIMEOUT | state::SYNCHRONIZATION;
        let was = self.said.map_or(0, |said| said.actor.state);
        if !right || (said.partner.state ^ was) & SEEN != 0 {
            self.next = now; // it has not understood yet
        }
    }

    /// The link is gone.
    pub(crate) fn down(&mut self) {
        *self = Machine::NEW;
    }

    /// What is to be said now, if anything; `own` without its state but for activity and timeout.
    pub(crate) fn tick(&mut self, now: Moment, own: &End, selected: bool) -> Option<Lacpdu> {
        match self.receive {
            Receive::Current(until) if now >= until => {
                self.receive = Receive::Expired(now + FAST * 3);
                self.partner.state &= !state::SYNCHRONIZATION;
                self.partner.state |= state::TIMEOUT;
                self.agrees = false;
            }
            Receive::Expired(until) if now >= until => {
                self.receive = Receive::Defaulted;
                (self.partner, self.agrees) = (End::default(), false);
            }
            _ => {}
        }
        let mut actor = End { state: own.state | state::AGGREGATION, ..*own };
        if selected {
            actor.state |= state::SYNCHRONIZATION;
        }
        if self.passes(selected) {
            actor.state |= state::COLLECTING | state::DISTRIBUTING;
        }
        actor.state |= match self.receive {
            Receive::Defaulted => state::DEFAULTED,
            Receive::Expired(_) => state::EXPIRED,
            Receive::Current(_) => 0,
        };
        let says = Lacpdu { actor, partner: self.partner };
        let new = self.said.is_none_or(|said| said.actor != actor);
        if now < self.earliest || !(new || now >= self.next) {
            return None;
        }
        let often = self.partner.state & state::TIMEOUT != 0
            || !matches!(self.receive, Receive::Current(_));
        (self.next, self.earliest) = (now + if often { FAST } else { SLOW }, now + PAUSE);
        self.said = Some(says);
        Some(says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::MacAddr;

    fn end(n: u8, rate: u8) -> End {
        let state = state::ACTIVITY | rate;
        End { system: MacAddr([2, 0, 0, 0, 0, n]), key: 1, port: n.into(), state, ..End::default() }
    }

    /// Two ends agree within a second, speak as often as the other one wants, and part when they hear
    /// nothing.
    #[test]
    fn two_ends() {
        for (rate, each, silence) in [(state::TIMEOUT, 1, 3), (0, 30, 90)] {
            let (own, mut machines) = ([end(1, rate), end(2, rate)], [Machine::NEW; 2]);
            let mut said = Vec::new();
            let mut run = |machines: &mut [Machine; 2], from: u64, to: u64, cut: bool| {
                for ms in (from..to).step_by(10) {
                    let now = Moment::ZERO + Duration::from_millis(ms);
                    for n in 0..2 {
                        let selected = machines[n].partner().is_some();
                        if let Some(says) = machines[n].tick(now, &own[n], selected) {
                            said.push((ms, n));
                            if !cut {
                                machines[1 - n].heard(now, &says, &own[1 - n]);
                            }
                        }
                    }
                }
            };
            let pass = |machines: &[Machine; 2]| machines.map(|m| m.passes(m.partner().is_some()));
            run(&mut machines, 0, 1500, false);
            assert_eq!(pass(&machines), [true; 2], "{machines:?}");
            run(&mut machines, 1500, 400_000, false);
            assert_eq!(pass(&machines), [true; 2]);
            run(&mut machines, 400_000, 400_000 + silence * 1000 - each * 1000 - 1000, true);
            assert_eq!(pass(&machines), [true; 2], "silent for a while");
            run(
                &mut machines,
                400_000 + silence * 1000 - each * 1000 - 1000,
                400_000 + silence * 1000 + 10,
                true,
            );
            assert_eq!(pass(&machines), [false; 2], "silent for {silence} s");
            let late = said.iter().filter(|(ms, _)| (100_000..400_000).contains(ms)).count() as u64;
            assert_eq!(late, 2 * 300 / each);
        }
    }
}
