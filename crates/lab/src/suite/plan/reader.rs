//! A plan's procedures: what each kind takes, and what it is without being told.
//!
//! ```text
//!  [[procedure]] kind = "latency" ─► only what that kind takes ─► each value read ─► Procedure
//! ```

use super::read::count;
use super::value::{Number, Rate, Source};
use super::{BadPlan, Criterion, Offer, Procedure, Spec};
use measure::FrameSize;
use measure::mlrsearch::{Goal, MlrSearch};
use measure::procedure::{
    BackToBack, Capacity, DelayVariation, Establishment, FrameLoss, Latency, Recovery,
};
use serde::Deserialize;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use wire::{BitRate, FrameLen, PacketRate};

/// The table of a procedure, and which of its keys stand there.
macro_rules! keys {
    ($($kind:ty: $($name:ident)*;)*) => {
        /// All that procedures can be told; which one takes what, [`Reader::procedure`] knows.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub(super) struct ProcedureTable {
            pub(super) kind: Spanned<String>,
            $($(pub(super) $name: Option<Spanned<$kind>>,)*)*
        }

        impl ProcedureTable {
            fn set(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
                let all = [$($((stringify!($name), self.$name.as_ref().map(Spanned::span)),)*)*];
                all.into_iter().filter_map(|(name, span)| Some((name, span?)))
            }
        }
    };
}

keys! {
    Vec<Spanned<String>>: criteria;
    String: trial confirmation duration after longest overload before watch hold;
    Number: precision lowest highest rate step validation window;
    i64: tagged repetitions verify connections addresses first most error transactions request
        response;
}

/// Kinds of procedures, and the keys of each.
const KINDS: [(&str, &str); 21] = [
    ("throughput", "criteria trial confirmation precision verify lowest highest"),
    ("latency", "duration after tagged repetitions"),
    ("delay-variation", "duration repetitions"),
    ("frame-loss", "step duration"),
    ("back-to-back", "longest step verify repetitions"),
    ("recovery", "overload watch repetitions"),
    ("reset", "before watch repetitions"),
    ("forwarding", "duration"),
    ("address-caching", "most rate"),
    ("address-learning", "addresses precision"),
    ("broadcast", "duration precision"),
    ("congestion", "duration"),
    ("establishment", "connections precision validation"),
    ("tear-down", "connections repetitions"),
    ("capacity", "first most rate error"),
    ("tcp-connections", "duration precision transactions request response window"),
    ("tcp-concurrent", "first most rate error hold transactions request response window"),
    ("tcp-transactions", "connections repetitions transactions request response window"),
    ("tcp-path", "duration"),
    ("tcp-throughput", "connections window duration"),
    ("streams", ""),
];

/// What a value says, or what holds where none stands.
pub(super) fn or<T, U>(
    value: &Option<Spanned<T>>,
    default: U,
    read: impl FnOnce(&Spanned<T>) -> Result<U, BadPlan>,
) -> Result<U, BadPlan> {
    value.as_ref().map_or(Ok(default), read)
}

/// What a procedure's values are measured by.
pub(super) struct Reader<'a> {
    pub(super) source: Source<'a>,
    pub(super) link: BitRate,
    pub(super) sizes: &'a [FrameSize],
    /// The plan's own.
    pub(super) streams: &'a [Spec],
    /// The plan's own.
    pub(super) goals: &'a [Goal],
    /// Whether there are neither such nor replays.
    pub(super) nothing: bool,
}

impl Reader<'_> {
    /// A procedure of a plan.
    pub(super) fn procedure(&self, table: &ProcedureTable) -> Result<Procedure, BadPlan> {
        let kind = table.kind.get_ref().as_str();
        let Some((_, takes)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            let kinds = KINDS.map(|(name, _)| name).join(", ");
            return Err(self.source.bad(&table.kind, format!("kinds are {kinds}")));
        };
        self.only(table, takes)?;
        if kind.starts_with("tcp-") {
            return self.tcp(table).map(Procedure::Tcp);
        }
        let time =
            |value, default| or(value, Duration::from_secs(default), |it| self.source.time(it));
        let trial = |value, default| or(value, Duration::from_secs(default), |it| self.trial(it));
        let share = |value, default, what| or(value, default, |it| self.source.share(it, what));
        let number = |value, default, most| or(value, default, |it| count(self.source, it, most));
        let times = |default| number(&table.repetitions, default, 10_000).map(|n| n as u32);
        let precision = |default| share(&table.precision, default, "a precision");
        Ok(match kind {
            "throughput" => self.throughput(table)?,
            "latency" => {
                let duration = trial(&table.duration, 120)?;
                let after = time(&table.after, 60)?;
                if let Some(value) = table.after.as_ref().filter(|_| after >= duration) {
                    let why = "the frame is tagged before the stream ends";
                    return Err(self.source.bad(value, why));
                }
                let tagged = number(&table.tagged, 1, 1_000_000)?;
                Procedure::Latency(Latency { duration, after, tagged, repetitions: times(20)? })
            }
            "delay-variation" => Procedure::DelayVariation(DelayVariation {
                duration: trial(&table.duration, 60)?,
                repetitions: times(20)?,
            }),
            "frame-loss" => {
                let step = share(&table.step, 0.1, "a step")?;
                if let Some(value) = table.step.as_ref().filter(|_| step > 0.1 + 1e-9) {
                    let why = "the step is 10 % of the highest rate at most (RFC 2544 §26.3)";
                    return Err(self.source.bad(value, why));
                }
                Procedure::FrameLoss(FrameLoss { step, duration: trial(&table.duration, 60)? })
            }
            "back-to-back" => {
                let longest = time(&table.longest, 2)?;
                if let Some(value) =
                    table.longest.as_ref().filter(|_| longest > Duration::from_secs(30))
                {
                    let why = "a burst takes 30 seconds at most (RFC 9004 §5.4)";
                    return Err(self.source.bad(value, why));
                }
                let step = or(&table.step, 1, |value| match value.get_ref() {
                    Number::Whole(n) if *n > 0 => Ok(*n as u64),
                    _ => Err(self.source.bad(value, "a step is a number of frames")),
                })?;
                let verify = number(&table.verify, 1, 10)? as u32;
                Procedure::BackToBack(BackToBack { longest, step, verify, repetitions: times(50)? })
            }
            "recovery" => Procedure::Recovery(Recovery {
                overload: trial(&table.overload, 60)?,
                watch: time(&table.watch, 10)?,
                repetitions: times(3)?,
            }),
            "reset" => Procedure::Reset {
                before: time(&table.before, 10)?,
                watch: time(&table.watch, 60)?,
                repetitions: times(1)?,
            },
            "forwarding" => Procedure::Forwarding { duration: trial(&table.duration, 30)? },
            "congestion" => Procedure::Congestion { duration: trial(&table.duration, 30)? },
            "broadcast" => Procedure::Broadcast {
                duration: trial(&table.duration, 30)?,
                precision: precision(0.01)?,
            },
            "streams" if self.nothing => {
                let why =
                    "streams runs the plan's [[stream]] and [[replay]] tables, and there is none";
                return Err(self.source.bad(&table.kind, why));
            }
            "streams" => Procedure::Streams(self.streams.to_vec()),
            "address-caching" => Procedure::AddressCaching {
                most: number(&table.most, 65_536, 1 << 20)?,
                rate: self.rate(table.rate.as_ref(), 50_000.0)?,
            },
            "address-learning" => Procedure::AddressLearning {
                addresses: number(&table.addresses, 4096, 1 << 20)?,
                precision: precision(0.01)?,
            },
            "establishment" => Procedure::Establishment(Establishment {
                connections: number(&table.connections, 10_000, 1 << 22)?,
                precision: precision(0.01)?,
                validation: share(&table.validation, 1.0, "validation")?,
            }),
            "tear-down" => Procedure::TearDown {
                connections: number(&table.connections, 10_000, 1 << 22)?,
                repetitions: times(10)?,
            },
            _ => Procedure::Capacity(self.capacity(table, 100_000.0)?),
        })
    }

    /// A search for how many there can be at once, shown or opened at a rate.
    pub(super) fn capacity(&self, table: &ProcedureTable, rate: f64) -> Result<Capacity, BadPlan> {
        let number = |value, default, most| or(value, default, |it| count(self.source, it, most));
        let most = number(&table.most, 1 << 20, 1 << 22)?;
        let first = number(&table.first, 1000.min(most), 1 << 22)?;
        if let Some(value) = table.first.as_ref().filter(|_| first > most) {
            let why = format!("the bounds of the search cross: first {first}, most {most}");
            return Err(self.source.bad(value, why));
        }
        let rate = self.rate(table.rate.as_ref(), rate)?;
        Ok(Capacity { first, most, rate, error: number(&table.error, 1, 1 << 20)? })
    }

    /// How long a trial takes whose frames are counted: so long that there are some, of the longest.
    fn trial(&self, value: &Spanned<String>) -> Result<Duration, BadPlan> {
        /// With fewer the first and the last are most of what is measured.
        const LEAST: f64 = 10.0;
        let time = self.source.trial(value)?;
        let longest = self.longest();
        let frames = longest.max_frames(self.link).0 * time.as_secs_f64();
        if frames >= LEAST {
            return Ok(time);
        }
        let why = format!(
            "{time:?} of frames prove nothing: {:#} carry {frames:.1} of {} in that time, and a trial \
             has {LEAST} or more",
            self.link,
            longest.words()
        );
        Err(self.source.bad(value, why))
    }

    /// Nothing is set that this kind does not take.
    fn only(&self, table: &ProcedureTable, takes: &str) -> Result<(), BadPlan> {
        let stray = table.set().find(|(name, _)| !takes.split(' ').any(|one| one == *name));
        let Some((name, span)) = stray else { return Ok(()) };
        let takes = if takes.is_empty() { "nothing".to_string() } else { takes.replace(' ', ", ") };
        let why = format!("{} takes {takes}, not {name}", table.kind.get_ref());
        Err(BadPlan { at: Some(self.source.at(span.start)), why })
    }

    fn throughput(&self, table: &ProcedureTable) -> Result<Procedure, BadPlan> {
        let source = self.source;
        let verify = or(&table.verify, 2, |value| count(source, value, 10))? as u32;
        let mut criteria = Vec::new();
        let names = table.criteria.as_ref().map_or(&[][..], |list| list.get_ref());
        for (i, name) in names.iter().enumerate() {
            if names[..i].iter().any(|before| before.get_ref() == name.get_ref()) {
                let why = format!("{:?} is asked for already", name.get_ref());
                return Err(source.bad(name, why));
            }
            criteria.push(match name.get_ref().as_str() {
                "bisection" => Criterion::Bisection,
                "verified" => Criterion::Verified(verify),
                goal => Criterion::Goal(self.goal(goal).map_err(|why| source.bad(name, why))?),
            });
        }
        match &table.criteria {
            Some(value) if criteria.is_empty() => {
                let why =
                    "a throughput by no criterion: name one, or leave the key out for bisection";
                return Err(source.bad(value, why));
            }
            None => criteria.push(Criterion::Bisection),
            Some(_) => {}
        }
        self.of_no_criterion(table, &criteria)?;
        let trial = |value, default| or(value, default, |it| self.trial(it));
        let confirmation = trial(&table.confirmation, Duration::from_secs(60))?;
        let trial = trial(&table.trial, confirmation.min(Duration::from_secs(10)))?;
        if let Some(value) = table.trial.as_ref().filter(|_| trial > confirmation) {
            let why = "the trials that narrow are not longer than the one that confirms";
            return Err(source.bad(value, why));
        }
        let highest = self.bound(table.highest.as_ref(), Offer::Share(1.0))?;
        let lowest = self.bound(table.lowest.as_ref(), highest.times(0.001))?;
        let crosses = |size: &&FrameSize| {
            let wire = size.max_frames(self.link);
            lowest.of(wire).0 >= highest.of(wire).0.min(wire.0)
        };
        if let Some(value) = table.lowest.as_ref().or(table.highest.as_ref())
            && let Some(size) = self.sizes.iter().find(crosses)
        {
            let wire = size.max_frames(self.link);
            let share = |offer: Offer| 100.0 * offer.of(wire).0.min(wire.0) / wire.0;
            let why = format!(
                "the bounds of the search cross: of {} the lowest load is {:.4}% of the wire, the \
                 highest {:.4}%",
                size.words(),
                share(lowest),
                share(highest)
            );
            return Err(source.bad(value, why));
        }
        let precision = or(&table.precision, 0.001, |value| source.share(value, "a precision"))?;
        let goals: Vec<Goal> = criteria
            .iter()
            .filter_map(|criterion| match criterion {
                Criterion::Goal(goal) => Some(goal.clone()),
                _ => None,
            })
            .collect();
        let search = MlrSearch { goals, ..MlrSearch::default() };
        if let Some(value) = table.criteria.as_ref().filter(|_| !search.goals.is_empty()) {
            search.check().map_err(|bad| source.bad(value, bad.to_string()))?;
        }
        Ok(Procedure::Throughput { criteria, trial, confirmation, precision, lowest, highest })
    }

    /// The goal of this name: the plan's own, or a preset.
    fn goal(&self, name: &str) -> Result<Goal, String> {
        let own = self.goals.iter().find(|goal| goal.preset == name).cloned();
        own.or_else(|| Goal::preset(name)).ok_or_else(|| {
            let presets = Goal::presets().map(|goal| goal.preset);
            format!(
                "{name:?}: criteria are bisection, verified (by TST 009), the goals {}, and the \
                 plan's own, in [[goal]] tables",
                presets.join(", ")
            )
        })
    }

    /// Nothing is set that none of the criteria takes: goals have their own lengths and widths.
    fn of_no_criterion(
        &self,
        table: &ProcedureTable,
        criteria: &[Criterion],
    ) -> Result<(), BadPlan> {
        let (mut halves, mut verifies) = (false, false);
        for criterion in criteria {
            halves |= !matches!(criterion, Criterion::Goal(_));
            verifies |= matches!(criterion, Criterion::Verified(_));
        }
        let keys = [
            ("trial", table.trial.as_ref().map(Spanned::span), halves),
            ("confirmation", table.confirmation.as_ref().map(Spanned::span), halves),
            ("precision", table.precision.as_ref().map(Spanned::span), halves),
            ("verify", table.verify.as_ref().map(Spanned::span), verifies),
        ];
        for (name, span, takes) in keys {
            let Some(span) = span.filter(|_| !takes) else { continue };
            let whose = if name == "verify" { "verified" } else { "bisection and verified" };
            let why = format!("{name} is of the criteria {whose}, and none of these is asked for");
            return Err(BadPlan { at: Some(self.source.at(span.start)), why });
        }
        Ok(())
    }

    /// A bound of a search: not above what the wire carries of the shortest frames. (Of longer ones
    /// the wire is the bound then.)
    fn bound(&self, value: Option<&Spanned<Number>>, default: Offer) -> Result<Offer, BadPlan> {
        let Some(value) = value else { return Ok(default) };
        let offer = self.offer(value)?;
        let rate = |size: &&FrameSize| size.max_frames(self.link).0;
        let shortest = self.sizes.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        match shortest {
            Some(size) if self.is_above(offer, size) => Err(self.above_the_wire(value, size)),
            _ => Ok(offer),
        }
    }

    fn rate(&self, value: Option<&Spanned<Number>>, default: f64) -> Result<PacketRate, BadPlan> {
        let longest = self.longest();
        let most = longest.max_frames(self.link);
        let Some(value) = value else { return Ok(PacketRate(default.min(most.0))) };
        let offer = self.offer(value)?;
        if self.is_above(offer, &longest) {
            return Err(self.above_the_wire(value, &longest));
        }
        Ok(offer.of(most))
    }

    fn offer(&self, value: &Spanned<Number>) -> Result<Offer, BadPlan> {
        Ok(match self.source.rate(value)? {
            Rate::Share(share) => Offer::Share(share),
            Rate::Frames(rate) => Offer::Rate(PacketRate(rate)),
        })
    }

    /// The longest frames, of a mix in the mean: of which the wire carries the fewest.
    fn longest(&self) -> FrameSize {
        let rate = |size: &FrameSize| size.max_frames(self.link).0;
        let longest = self.sizes.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
        longest.cloned().unwrap_or(FrameLen::MAX.into())
    }

    fn is_above(&self, offer: Offer, size: &FrameSize) -> bool {
        let most = size.max_frames(self.link);
        offer.of(most).0 > most.0 * 1.000_001
    }

    fn above_the_wire(&self, value: &Spanned<Number>, size: &FrameSize) -> BadPlan {
        let (most, words) = (size.max_frames(self.link), size.words());
        let why =
            format!("a rate above the wire: {:#} carries {most} of {words} at most", self.link);
        self.source.bad(value, why)
    }
}
