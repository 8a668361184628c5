//! From a plan's text to the plan, or to the place where it cannot be.
//!
//! ```text
//!  TOML ─► File (tables as they stand) ─► each value read ─► each procedure ─► the whole ─► Plan
//! ```
//!
//! A key that nothing reads is refused: it would be a wish that nobody grants.

use super::value::{Number, Rate, Source};
use super::{BadPlan, Criterion, Modifier, Plan, Procedure, Scaling, Simulated, Traffic, contains};
use measure::mlrsearch::{Goal, MlrSearch};
use measure::template::FRAME_LENGTHS;
use serde::Deserialize;
use std::time::Duration;
use toml::Spanned;
use wire::{BitRate, FrameLen, Ipv4Prefix, PacketRate};

/// What whoever asks takes upon themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// The device is outside, and there are addresses that are not for benchmarks (RFC 6815).
    pub any_address: bool,
    /// The device is behind real interfaces.
    pub external: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    name: String,
    #[serde(default = "one")]
    seed: u64,
    device: Device,
    medium: Medium,
    traffic: TrafficTable,
    procedure: Spanned<Vec<Spanned<ProcedureTable>>>,
    quick: Option<ScalingTable>,
    #[serde(rename = "virtual")]
    simulated: Option<SimulatedTable>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Device {
    configuration: Option<String>,
    ports: Option<Spanned<i64>>,
    #[serde(default)]
    modifiers: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Medium {
    link: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TrafficTable {
    frame_sizes: Spanned<Vec<Spanned<i64>>>,
    flows: Spanned<String>,
    bidirectional: Option<bool>,
    networks: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScalingTable {
    divide_durations_by: Option<Spanned<f64>>,
    shortest: Option<Spanned<String>>,
    repetitions_at_most: Option<Spanned<i64>>,
    frame_sizes: Option<Spanned<Vec<Spanned<i64>>>>,
    modifiers: Option<Vec<Spanned<String>>>,
    precision: Option<Spanned<Number>>,
    counts_at_most: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SimulatedTable {
    link: Option<Spanned<String>>,
    frame: Option<Spanned<String>>,
    byte_ps: Option<Spanned<i64>>,
    pause_every: Option<Spanned<String>>,
    pause: Option<Spanned<String>>,
    ring: Option<Spanned<i64>>,
    boot: Option<Spanned<String>>,
    scaling: Option<ScalingTable>,
}

/// All that procedures can be told; which one takes what, [`procedure`] knows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProcedureTable {
    kind: Spanned<String>,
    criteria: Option<Spanned<Vec<Spanned<String>>>>,
    trial: Option<Spanned<String>>,
    confirmation: Option<Spanned<String>>,
    duration: Option<Spanned<String>>,
    after: Option<Spanned<String>>,
    longest: Option<Spanned<String>>,
    overload: Option<Spanned<String>>,
    before: Option<Spanned<String>>,
    watch: Option<Spanned<String>>,
    precision: Option<Spanned<Number>>,
    lowest: Option<Spanned<Number>>,
    highest: Option<Spanned<Number>>,
    rate: Option<Spanned<Number>>,
    step: Option<Spanned<Number>>,
    validation: Option<Spanned<Number>>,
    tagged: Option<Spanned<i64>>,
    repetitions: Option<Spanned<i64>>,
    verify: Option<Spanned<i64>>,
    connections: Option<Spanned<i64>>,
    addresses: Option<Spanned<i64>>,
    first: Option<Spanned<i64>>,
    most: Option<Spanned<i64>>,
    error: Option<Spanned<i64>>,
}

/// Reads a plan.
///
/// # Errors
/// [`BadPlan`]: what cannot be, where it stands, and what could be.
pub fn read(text: &str, allowed: Allowed) -> Result<Plan, BadPlan> {
    let source = Source(text);
    let file: File = toml::from_str(text).map_err(|error| BadPlan {
        at: error.span().map(|span| source.at(span.start)),
        why: error.message().to_string(),
    })?;
    let link = BitRate(source.bits(&file.medium.link)?);
    let sizes = sizes(source, &file.traffic.frame_sizes)?;
    let traffic = traffic(source, &file.traffic)?;
    let networks = networks(source, &file.traffic, allowed)?;
    let modifiers = modifiers(source, &file.device.modifiers)?;
    let mut procedures = Vec::new();
    let reader = Reader { source, link, sizes: &sizes };
    for table in file.procedure.get_ref() {
        procedures.push(reader.procedure(table.get_ref())?);
    }
    if procedures.is_empty() {
        return Err(source.bad(&file.procedure, "a plan has at least one procedure"));
    }
    let ports = match &file.device.ports {
        None => procedures.iter().map(Procedure::ports).max().unwrap_or(2),
        Some(ports) => {
            let least = procedures.iter().max_by_key(|procedure| procedure.ports());
            let least = least.map_or((2, ""), |p| (p.ports(), p.name()));
            match usize::try_from(*ports.get_ref()) {
                Ok(n) if (least.0..=16).contains(&n) => n,
                _ => {
                    let why = format!("{} to 16 ports ({} needs so many)", least.0, least.1);
                    return Err(source.bad(ports, why));
                }
            }
        }
    };
    fits(source, &file, traffic, &modifiers)?;
    let none = ScalingTable {
        divide_durations_by: None,
        shortest: None,
        repetitions_at_most: None,
        frame_sizes: None,
        modifiers: None,
        precision: None,
        counts_at_most: None,
    };
    let quick = scaling(source, file.quick.as_ref().unwrap_or(&none))?;
    let simulated = simulated(source, file.simulated.as_ref(), &quick)?;
    Ok(Plan {
        name: file.name,
        configuration: file.device.configuration,
        ports,
        modifiers,
        link,
        sizes,
        traffic,
        networks,
        procedures,
        seed: file.seed,
        quick,
        simulated,
    })
}

/// Whether traffic and modifiers are what the procedures are for.
fn fits(
    source: Source<'_>,
    file: &File,
    traffic: Traffic,
    modifiers: &[Modifier],
) -> Result<(), BadPlan> {
    let bridged = matches!(traffic, Traffic::Hosts { .. });
    for table in file.procedure.get_ref() {
        let kind = &table.get_ref().kind;
        let of_bridges = matches!(
            kind.get_ref().as_str(),
            "address-caching" | "address-learning" | "broadcast" | "congestion"
        );
        let of_routers =
            matches!(kind.get_ref().as_str(), "establishment" | "tear-down" | "capacity" | "reset");
        if of_bridges && !bridged {
            let why = format!("{} is for bridges: flows = \"hosts\"", kind.get_ref());
            return Err(source.bad(kind, why));
        }
        if of_routers && bridged {
            let why = format!("{} is for routers: flows = \"pair\"", kind.get_ref());
            return Err(source.bad(kind, why));
        }
    }
    match file.device.modifiers.iter().zip(modifiers).find(|(_, m)| **m != Modifier::None) {
        Some((name, _)) if bridged => {
            Err(source.bad(name, "modifiers are for routers: flows = \"pair\" or \"networks\""))
        }
        _ => Ok(()),
    }
}

fn sizes(source: Source<'_>, list: &Spanned<Vec<Spanned<i64>>>) -> Result<Vec<FrameLen>, BadPlan> {
    let (least, most) = (FRAME_LENGTHS.0.l2(), FRAME_LENGTHS.1.l2());
    let mut sizes = Vec::new();
    for size in list.get_ref() {
        let bytes = *size.get_ref();
        if bytes < i64::from(least) {
            let why = format!(
                "frames of {bytes} bytes: the smallest Ethernet frame has {least}, its FCS counted"
            );
            return Err(source.bad(size, why));
        }
        if bytes > i64::from(most) {
            let why = format!("frames of {bytes} bytes: at most {most}, their FCS counted");
            return Err(source.bad(size, why));
        }
        sizes.push(FrameLen::with_fcs(bytes as u32));
    }
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        return Err(source.bad(list, "at least one frame size"));
    }
    Ok(sizes)
}

fn traffic(source: Source<'_>, table: &TrafficTable) -> Result<Traffic, BadPlan> {
    let bidirectional = table.bidirectional.unwrap_or(true);
    match table.flows.get_ref().as_str() {
        "pair" => Ok(Traffic::Pair { bidirectional }),
        "networks" => Ok(Traffic::Networks { bidirectional }),
        "hosts" => Ok(Traffic::Hosts { bidirectional }),
        _ => Err(source.bad(&table.flows, "flows are \"pair\", \"networks\" or \"hosts\"")),
    }
}

fn networks(
    source: Source<'_>,
    table: &TrafficTable,
    allowed: Allowed,
) -> Result<[Ipv4Prefix; 2], BadPlan> {
    let of = |second: u8| Ipv4Prefix::new(u32::from_be_bytes([198, second, 1, 0]), 24);
    let Some(list) = &table.networks else { return Ok([of(18), of(19)]) };
    let [a, b] = list.get_ref().as_slice() else {
        return Err(source.bad(list, "two networks: behind the first port and behind the second"));
    };
    let benchmarks = Ipv4Prefix::new(u32::from_be_bytes([198, 18, 0, 0]), 15);
    let read = |text: &Spanned<String>| {
        let network = source.prefix(text)?;
        if network.len() > 28 {
            return Err(
                source.bad(text, "a network has room for the device and 13 hosts: up to /28")
            );
        }
        if allowed.external && !allowed.any_address && !contains(benchmarks, network) {
            let why = format!(
                "{network} is not in 198.18.0.0/15, which is set aside for benchmarks: frames that \
                 leave this machine could reach somebody (RFC 6815); if they cannot, say \
                 --allow-any-address"
            );
            return Err(source.bad(text, why));
        }
        Ok(network)
    };
    let (first, second) = (read(a)?, read(b)?);
    if contains(first, second) || contains(second, first) {
        return Err(source.bad(b, format!("{second} and {first} overlap")));
    }
    Ok([first, second])
}

fn modifiers(source: Source<'_>, names: &[Spanned<String>]) -> Result<Vec<Modifier>, BadPlan> {
    let all: Vec<&str> = Modifier::ALL.iter().map(|(name, _)| *name).collect();
    let read = |name: &Spanned<String>| {
        let known = Modifier::ALL.iter().find(|(known, _)| known == name.get_ref());
        known.map(|(_, modifier)| *modifier).ok_or_else(|| {
            source.bad(name, format!("{:?}: modifiers are {}", name.get_ref(), all.join(", ")))
        })
    };
    match names {
        [] => Ok(vec![Modifier::None]),
        names => names.iter().map(read).collect(),
    }
}

fn scaling(source: Source<'_>, table: &ScalingTable) -> Result<Scaling, BadPlan> {
    let mut scaling = Scaling {
        divide_durations_by: 300.0,
        shortest: Duration::from_millis(20),
        repetitions_at_most: 3,
        sizes: vec![],
        modifiers: vec![],
        precision: 0.01,
        counts_at_most: u64::MAX,
    };
    if let Some(by) = &table.divide_durations_by {
        scaling.divide_durations_by = *by.get_ref();
        if !(1.0..=1e6).contains(by.get_ref()) {
            return Err(source.bad(by, "durations are divided by 1 to 1000000"));
        }
    }
    if let Some(shortest) = &table.shortest {
        scaling.shortest = source.time(shortest)?;
    }
    if let Some(n) = &table.repetitions_at_most {
        scaling.repetitions_at_most = count(source, n, 10_000)? as u32;
    }
    if let Some(n) = &table.counts_at_most {
        scaling.counts_at_most = count(source, n, 1 << 22)?;
    }
    if let Some(list) = &table.frame_sizes {
        scaling.sizes = sizes(source, list)?;
    }
    if let Some(names) = &table.modifiers {
        scaling.modifiers = modifiers(source, names)?;
    }
    if let Some(precision) = &table.precision {
        scaling.precision = source.share(precision, "a precision")?;
    }
    Ok(scaling)
}

fn simulated(
    source: Source<'_>,
    table: Option<&SimulatedTable>,
    quick: &Scaling,
) -> Result<Simulated, BadPlan> {
    let mut simulated = Simulated {
        link: BitRate::mbps(100.0),
        frame_ns: 4000,
        byte_ps: 1000,
        pause_every: Duration::from_millis(10),
        pause: Duration::from_micros(50),
        ring: 256,
        boot: Duration::from_millis(100),
        scaling: quick.clone(),
    };
    let Some(table) = table else { return Ok(simulated) };
    if let Some(link) = &table.link {
        simulated.link = BitRate(source.bits(link)?);
    }
    if let Some(frame) = &table.frame {
        simulated.frame_ns = source.time(frame)?.as_nanos() as u64;
    }
    if let Some(byte) = &table.byte_ps {
        simulated.byte_ps = count(source, byte, 1_000_000_000)?;
    }
    for (value, into) in [
        (&table.pause_every, &mut simulated.pause_every),
        (&table.pause, &mut simulated.pause),
        (&table.boot, &mut simulated.boot),
    ] {
        if let Some(value) = value {
            *into = source.time(value)?;
        }
    }
    if let Some(pause) = table.pause.as_ref().filter(|_| simulated.pause >= simulated.pause_every) {
        return Err(source.bad(pause, "a pause is shorter than the time between two"));
    }
    if let Some(ring) = &table.ring {
        simulated.ring = count(source, ring, 1 << 13)? as usize;
    }
    if let Some(table) = &table.scaling {
        simulated.scaling = scaling(source, table)?;
    }
    Ok(simulated)
}

/// A number from 1 on.
fn count(source: Source<'_>, value: &Spanned<i64>, most: u64) -> Result<u64, BadPlan> {
    match u64::try_from(*value.get_ref()) {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        _ => Err(source.bad(value, format!("a number from 1 to {most}"))),
    }
}

struct Reader<'a> {
    source: Source<'a>,
    link: BitRate,
    sizes: &'a [FrameLen],
}

impl Reader<'_> {
    fn procedure(&self, table: &ProcedureTable) -> Result<Procedure, BadPlan> {
        let takes: &[&str] = match table.kind.get_ref().as_str() {
            "throughput" => {
                &["criteria", "trial", "confirmation", "precision", "verify", "lowest", "highest"]
            }
            "latency" => &["duration", "after", "tagged", "repetitions"],
            "delay-variation" => &["duration", "repetitions"],
            "frame-loss" => &["step", "duration"],
            "back-to-back" => &["longest", "step", "verify", "repetitions"],
            "recovery" => &["overload", "watch", "repetitions"],
            "reset" => &["before", "watch", "repetitions"],
            "forwarding" | "congestion" => &["duration"],
            "address-caching" => &["most", "rate"],
            "address-learning" => &["addresses", "precision"],
            "broadcast" => &["duration", "precision"],
            "establishment" => &["connections", "precision", "validation"],
            "tear-down" => &["connections", "repetitions"],
            "capacity" => &["first", "most", "rate", "error"],
            _ => {
                let why = "kinds are throughput, latency, delay-variation, frame-loss, \
                           back-to-back, recovery, reset, forwarding, address-caching, \
                           address-learning, broadcast, congestion, establishment, tear-down, \
                           capacity";
                return Err(self.source.bad(&table.kind, why));
            }
        };
        self.only(table, takes)?;
        let time = |value: &Option<Spanned<String>>, default: u64| match value {
            Some(value) => self.source.time(value),
            None => Ok(Duration::from_secs(default)),
        };
        let share = |value: &Option<Spanned<Number>>, default: f64, what: &str| match value {
            Some(value) => self.source.share(value, what),
            None => Ok(default),
        };
        let number = |value: &Option<Spanned<i64>>, default: u64, most: u64| match value {
            Some(value) => count(self.source, value, most),
            None => Ok(default),
        };
        let times = |default| number(&table.repetitions, default, 10_000).map(|n| n as u32);
        let precision = |default| share(&table.precision, default, "a precision");
        Ok(match table.kind.get_ref().as_str() {
            "throughput" => self.throughput(table)?,
            "latency" => {
                let duration = time(&table.duration, 120)?;
                let after = time(&table.after, 60)?;
                if let Some(value) = table.after.as_ref().filter(|_| after >= duration) {
                    let why = "the frame is tagged before the stream ends";
                    return Err(self.source.bad(value, why));
                }
                let tagged = number(&table.tagged, 1, 1_000_000)?;
                Procedure::Latency { duration, after, tagged, repetitions: times(20)? }
            }
            "delay-variation" => Procedure::DelayVariation {
                duration: time(&table.duration, 60)?,
                repetitions: times(20)?,
            },
            "frame-loss" => {
                let step = share(&table.step, 0.1, "a step")?;
                if let Some(value) = table.step.as_ref().filter(|_| step > 0.1 + 1e-9) {
                    let why = "the step is 10 % of the highest rate at most (RFC 2544 §26.3)";
                    return Err(self.source.bad(value, why));
                }
                Procedure::FrameLoss { step, duration: time(&table.duration, 60)? }
            }
            "back-to-back" => {
                let longest = time(&table.longest, 2)?;
                if let Some(value) =
                    table.longest.as_ref().filter(|_| longest > Duration::from_secs(30))
                {
                    let why = "a burst takes 30 seconds at most (RFC 9004 §5.4)";
                    return Err(self.source.bad(value, why));
                }
                let step = match &table.step {
                    None => 1,
                    Some(value) => match value.get_ref() {
                        Number::Whole(n) if *n > 0 => *n as u64,
                        _ => return Err(self.source.bad(value, "a step is a number of frames")),
                    },
                };
                let verify = number(&table.verify, 1, 10)? as u32;
                Procedure::BackToBack { longest, step, verify, repetitions: times(50)? }
            }
            "recovery" => Procedure::Recovery {
                overload: time(&table.overload, 60)?,
                watch: time(&table.watch, 10)?,
                repetitions: times(3)?,
            },
            "reset" => Procedure::Reset {
                before: time(&table.before, 10)?,
                watch: time(&table.watch, 60)?,
                repetitions: times(1)?,
            },
            "forwarding" => Procedure::Forwarding { duration: time(&table.duration, 30)? },
            "congestion" => Procedure::Congestion { duration: time(&table.duration, 30)? },
            "broadcast" => Procedure::Broadcast {
                duration: time(&table.duration, 30)?,
                precision: precision(0.01)?,
            },
            "address-caching" => Procedure::AddressCaching {
                most: number(&table.most, 65_536, 1 << 20)?,
                rate: self.rate(table.rate.as_ref(), 50_000.0)?,
            },
            "address-learning" => Procedure::AddressLearning {
                addresses: number(&table.addresses, 4096, 1 << 20)?,
                precision: precision(0.01)?,
            },
            "establishment" => Procedure::Establishment {
                connections: number(&table.connections, 10_000, 1 << 22)?,
                precision: precision(0.01)?,
                validation: share(&table.validation, 1.0, "validation")?,
            },
            "tear-down" => Procedure::TearDown {
                connections: number(&table.connections, 10_000, 1 << 22)?,
                repetitions: times(10)?,
            },
            _ => {
                let most = number(&table.most, 1 << 20, 1 << 22)?;
                let first = number(&table.first, 1000, 1 << 22)?;
                if let Some(value) = table.first.as_ref().filter(|_| first > most) {
                    let why = format!("the bounds of the search cross: first {first}, most {most}");
                    return Err(self.source.bad(value, why));
                }
                let rate = self.rate(table.rate.as_ref(), 100_000.0)?;
                Procedure::Capacity { first, most, rate, error: number(&table.error, 1, 1 << 20)? }
            }
        })
    }

    /// Nothing is set that this kind does not take.
    fn only(&self, table: &ProcedureTable, takes: &[&str]) -> Result<(), BadPlan> {
        macro_rules! set {
            ($($name:ident),*) => {
                [$((stringify!($name), table.$name.as_ref().map(Spanned::span))),*]
            };
        }
        let set = set!(
            criteria,
            trial,
            confirmation,
            duration,
            after,
            longest,
            overload,
            before,
            watch,
            precision,
            lowest,
            highest,
            rate,
            step,
            validation,
            tagged,
            repetitions,
            verify,
            connections,
            addresses,
            first,
            most,
            error
        );
        let stray = set.into_iter().find(|(name, span)| span.is_some() && !takes.contains(name));
        let Some((name, Some(span))) = stray else { return Ok(()) };
        let why = format!("{} takes {}, not {name}", table.kind.get_ref(), takes.join(", "));
        Err(BadPlan { at: Some(self.source.at(span.start)), why })
    }

    fn throughput(&self, table: &ProcedureTable) -> Result<Procedure, BadPlan> {
        let source = self.source;
        let verify = match &table.verify {
            Some(value) => count(source, value, 10)? as u32,
            None => 2,
        };
        let mut criteria = Vec::new();
        for name in table.criteria.as_ref().map_or(&[][..], |list| list.get_ref()) {
            criteria.push(match name.get_ref().as_str() {
                "bisection" => Criterion::Bisection,
                "verified" => Criterion::Verified(verify),
                preset => match Goal::preset(preset) {
                    Some(goal) => Criterion::Goal(goal),
                    None => {
                        let presets = Goal::presets().map(|goal| goal.preset);
                        let why = format!(
                            "{preset:?}: criteria are bisection, verified (by TST 009), and the \
                             goals {}",
                            presets.join(", ")
                        );
                        return Err(source.bad(name, why));
                    }
                },
            });
        }
        if criteria.is_empty() {
            criteria.push(Criterion::Bisection);
        }
        let confirmation = match &table.confirmation {
            Some(value) => source.time(value)?,
            None => Duration::from_secs(60),
        };
        let trial = match &table.trial {
            Some(value) => source.time(value)?,
            None => confirmation.min(Duration::from_secs(10)),
        };
        if let Some(value) = table.trial.as_ref().filter(|_| trial > confirmation) {
            let why = "the trials that narrow are not longer than the one that confirms";
            return Err(source.bad(value, why));
        }
        let lowest = self.bound(table.lowest.as_ref(), 0.001)?;
        let highest = self.bound(table.highest.as_ref(), 1.0)?;
        if let Some(value) =
            table.lowest.as_ref().or(table.highest.as_ref()).filter(|_| lowest >= highest)
        {
            let why = format!(
                "the bounds of the search cross: the lowest load is {}% of the wire, the highest {}%",
                lowest * 100.0,
                highest * 100.0
            );
            return Err(source.bad(value, why));
        }
        let precision = match &table.precision {
            Some(value) => source.share(value, "a precision")?,
            None => 0.001,
        };
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

    /// A bound of a search as a share of the wire's rate.
    fn bound(&self, value: Option<&Spanned<Number>>, default: f64) -> Result<f64, BadPlan> {
        let Some(value) = value else { return Ok(default) };
        let share = match self.source.rate(value)? {
            Rate::Share(share) => share,
            // Of the longest frames, of which the wire carries the fewest.
            Rate::Frames(rate) => rate / self.fewest().1.0,
        };
        if share > 1.0 {
            return Err(self.above_the_wire(value));
        }
        Ok(share)
    }

    fn rate(&self, value: Option<&Spanned<Number>>, default: f64) -> Result<PacketRate, BadPlan> {
        let (_, most) = self.fewest();
        let Some(value) = value else { return Ok(PacketRate(default.min(most.0))) };
        let rate = match self.source.rate(value)? {
            Rate::Share(share) => most * share,
            Rate::Frames(rate) => PacketRate(rate),
        };
        if rate.0 > most.0 * 1.000_001 { Err(self.above_the_wire(value)) } else { Ok(rate) }
    }

    /// The longest frames, and how many of them the wire carries.
    fn fewest(&self) -> (FrameLen, PacketRate) {
        let longest = self.sizes.last().copied().unwrap_or(FrameLen::MAX);
        (longest, self.link.max_frames(longest))
    }

    fn above_the_wire(&self, value: &Spanned<Number>) -> BadPlan {
        let (longest, most) = self.fewest();
        let why = format!(
            "a rate above the wire: {:#} carries {most} of {longest} bytes at most",
            self.link
        );
        self.source.bad(value, why)
    }
}
