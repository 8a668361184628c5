//! The state machine of VRRP (RFC 5798 §6.4; RFC 3768 has the same), pure: what happens and `now`
//! come in, what is to be done goes out.
//!
//! ```text
//!              priority 255                         a better one is heard
//! initialize ───────────────► master ──────────────────────────────────────► backup
//!      │  ▲                    │ ▲ nobody was heard for 3 intervals and the skew │ ▲
//!      │  └── link down ───────┘ └───────────────────────────────────────────────┘ │
//!      └────────────────────────────────────────────────────────────────────────────┘
//! ```

use std::net::IpAddr;
use std::time::Duration;
use wire::Moment;
use wire::vrrp::Advertisement;

/// What a virtual router is told by its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// 255 is the addresses' owner.
    pub priority: u8,
    /// Between two advertisements.
    pub interval: Duration,
    /// Takes over from a master whose priority is lower.
    pub preempts: bool,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its link is down.
    Initialize,
    /// Another one is the master, for all it knows, until then.
    Backup { until: Moment },
    /// It is; then it advertises next.
    Master { next: Moment },
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Nothing,
    /// Say that it is the master.
    Advertise,
    /// It has become the master: hosts are to be told where the addresses are now.
    TakeOver,
}

/// One virtual router.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    standing: Standing,
    /// How often the master advertises: version 3 lets a backup learn it.
    masters: Duration,
    /// It has become the master, and nobody has been told.
    fresh: bool,
    /// Whether it was master when somebody asked last; of one that was neither, nothing.
    was: Option<bool>,
    /// The latest number of an authentication header, heard or sent.
    sequence: u32,
    /// Who has advertised last.
    pub(crate) speaker: Option<IpAddr>,
}

impl Machine {
    /// One whose link was not looked at yet.
    pub(crate) const NEW: Machine = Machine {
        standing: Standing::Initialize,
        masters: Duration::ZERO,
        fresh: false,
        was: None,
        sequence: 0,
        speaker: None,
    };

    /// Whether it has the addresses.
    pub(crate) fn is_master(&self) -> bool {
        matches!(self.standing, Standing::Master { .. })
    }

    /// Whether it waits for its turn.
    pub(crate) fn is_backup(&self) -> bool {
        matches!(self.standing, Standing::Backup { .. })
    }

    /// Whether it has become master, or backup, since somebody asked last.
    pub(crate) fn news(&mut self) -> Option<bool> {
        let is = match self.standing {
            Standing::Initialize => None,
            Standing::Backup { .. } => Some(false),
            Standing::Master { .. } => Some(true),
        };
        let was = std::mem::replace(&mut self.was, is);
        is.filter(|_| is != was)
    }

    /// The number of the next authentication header.
    pub(crate) fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.saturating_add(1);
        self.sequence
    }

    /// Takes in the number of one that was heard; false if it is older than the last. (Two masters may have the
    /// same.)
    pub(crate) fn is_fresh(&mut self, sequence: u32) -> bool {
        let fresh = sequence >= self.sequence;
        self.sequence = self.sequence.max(sequence);
        fresh
    }

    /// When something is due.
    pub(crate) fn due(&self) -> Option<Moment> {
        match self.standing {
            Standing::Initialize => None,
            Standing::Backup { until } => Some(until),
            Standing::Master { next } => Some(next),
        }
    }

    /// Does what is due. `link`: whether the interface below runs; `speaks`: whether its own does, so
    /// that something can be sent.
    pub(crate) fn tick(&mut self, now: Moment, link: bool, speaks: bool, own: Settings) -> Act {
        match self.standing {
            _ if !link => {
                *self = Machine { sequence: self.sequence, ..Machine::NEW };
                Act::Nothing
            }
            Standing::Initialize if own.priority == 255 => self.take_over(now),
            Standing::Initialize => {
                self.masters = own.interval;
                self.standing = Standing::Backup { until: now + self.down_after(own) };
                Act::Nothing
            }
            Standing::Backup { until } if now >= until => self.take_over(now),
            Standing::Master { next } if now >= next && speaks => {
                self.standing = Standing::Master { next: now + own.interval };
                if std::mem::take(&mut self.fresh) { Act::TakeOver } else { Act::Advertise }
            }
            _ => Act::Nothing,
        }
    }

    /// Does the same in a group, whose master stands so.
    pub(crate) fn follow(
        &mut self,
        now: Moment,
        (link, speaks): (bool, bool),
        own: Settings,
        leader: &Machine,
    ) -> Act {
        match (leader.standing, self.standing) {
            (Standing::Master { .. }, Standing::Master { .. }) => self.tick(now, link, speaks, own),
            _ if !link => self.tick(now, link, speaks, own),
            (Standing::Master { .. }, _) => self.take_over(now),
            (standing, _) => {
                let until = match standing {
                    Standing::Backup { until } => until,
                    _ => Moment::from_nanos(u64::MAX),
                };
                self.standing = Standing::Backup { until };
                Act::Nothing
            }
        }
    }

    /// Takes in what another one of the same virtual router has said, from `src`; `address` is the
    /// own one on that network.
    pub(crate) fn heard(
        &mut self,
        now: Moment,
        said: &Advertisement,
        src: IpAddr,
        address: IpAddr,
        own: Settings,
    ) {
        match self.standing {
            Standing::Initialize => {}
            // It stops: the next best begins at once.
            Standing::Backup { .. } if said.priority == 0 => {
                self.standing = Standing::Backup { until: now + self.skew(own) };
            }
            Standing::Backup { .. } if !own.preempts || said.priority >= own.priority => {
                let interval = Duration::from_millis(u64::from(said.interval_cs) * 10);
                self.masters = if interval.is_zero() { own.interval } else { interval };
                self.standing = Standing::Backup { until: now + self.down_after(own) };
            }
            Standing::Backup { .. } => {}
            Standing::Master { .. } if said.priority == 0 => {
                self.standing = Standing::Master { next: now };
            }
            Standing::Master { .. }
                if said.priority > own.priority
                    || said.priority == own.priority && src > address =>
            {
                let interval = Duration::from_millis(u64::from(said.interval_cs) * 10);
                self.masters = if interval.is_zero() { own.interval } else { interval };
                self.standing = Standing::Backup { until: now + self.down_after(own) };
            }
            Standing::Master { .. } => {}
        }
    }

    fn take_over(&mut self, now: Moment) -> Act {
        (self.standing, self.fresh) = (Standing::Master { next: now }, true);
        Act::Nothing
    }

    /// `Skew_Time`: of two backups the better one is first.
    fn skew(&self, own: Settings) -> Duration {
        self.masters * (256 - u32::from(own.priority)) / 256
    }

    /// `Master_Down_Interval`.
    fn down_after(&self, own: Settings) -> Duration {
        self.masters * 3 + self.skew(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Settings =
        Settings { priority: 100, interval: Duration::from_secs(1), preempts: true };

    /// Milliseconds, who says what there, and what it is afterwards: m, b or i.
    type Step = (u64, Option<u8>, char);

    fn check(own: Settings, steps: &[Step]) {
        let (mut machine, mut at) = (Machine::NEW, 0);
        for &(then, said, expected) in steps {
            for ms in at..=then {
                let now = Moment::ZERO + Duration::from_millis(ms);
                machine.tick(now, true, true, own);
                if let (true, Some(priority)) = (ms == then, said) {
                    let said = Advertisement { priority, interval_cs: 100, ..Default::default() };
                    machine.heard(now, &said, [0, 0, 0, 5].into(), [0, 0, 0, 4].into(), own);
                }
            }
            at = then + 1;
            let is = match machine.standing {
                Standing::Initialize => 'i',
                Standing::Backup { .. } => 'b',
                Standing::Master { .. } => 'm',
            };
            assert_eq!(is, expected, "at {then} ms of {steps:?}: {machine:?}");
        }
    }

    #[test]
    fn standings() {
        // 3 s and 156/256 of one: 3,609 ms.
        check(OWN, &[(0, None, 'b'), (3609, None, 'b'), (3610, None, 'm')]);
        check(OWN, &[(1000, Some(200), 'b'), (4609, None, 'b'), (4610, None, 'm')]);
        // A worse master is not heeded, but by one that does not preempt.
        check(OWN, &[(3000, Some(50), 'b'), (3610, None, 'm')]);
        let polite = Settings { preempts: false, ..OWN };
        check(polite, &[(3000, Some(50), 'b'), (6609, None, 'b'), (6610, None, 'm')]);
        // One that stops is followed after the skew alone.
        check(OWN, &[(1000, Some(0), 'b'), (1609, None, 'b'), (1610, None, 'm')]);
        // The owner begins at once.
        check(Settings { priority: 255, ..OWN }, &[(0, None, 'm'), (100, Some(254), 'm')]);
        // A better one, and of equals the one with the higher address.
        check(OWN, &[(4000, Some(99), 'm'), (4001, Some(101), 'b')]);
        check(OWN, &[(4000, Some(100), 'b')]);
    }

    #[test]
    fn a_master_advertises_at_its_interval() {
        let (mut machine, own) = (Machine::NEW, Settings { priority: 255, ..OWN });
        let acts: Vec<(u64, Act)> = (0..2500)
            .map(|ms| {
                let now = Moment::ZERO + Duration::from_millis(ms);
                (ms, machine.tick(now, true, ms >= 3, own))
            })
            .filter(|(_, act)| *act != Act::Nothing)
            .collect();
        let expected = [(3, Act::TakeOver), (1003, Act::Advertise), (2003, Act::Advertise)];
        assert_eq!(acts, expected);
        machine.tick(Moment::ZERO, false, false, own);
        assert_eq!(machine.standing, Standing::Initialize);
    }
}
