//! The reader of a plan's text: the plan, or the place where it cannot be.
//!
//! ```text
//!  TOML ─► File (tables as they stand) ─► each value read ─► each procedure ─► the whole ─► Plan
//! ```
//!
//! A key that nothing reads is refused: it would be a wish that nobody grants.

use super::goal::{GoalTable, goals};
use super::reader::{ProcedureTable, Reader, or};
use super::replay::{Common, Open, ReplayTable, replays};
use super::stream::{StreamTable, streams};
use super::value::{Number, Source};
use super::{
    BadPlan, Distribution, End, Mesh, Modifier, Plan, Procedure, Scaling, Simulated, Traffic,
    frame_sizes,
};
use crate::net::{NOT_FOR_TESTS, contains, is_for_tests};
use measure::template::shortest;
use measure::{Family, FrameSize};
use serde::Deserialize;
use std::time::Duration;
use toml::Spanned;
use wire::{BitRate, FrameLen, Ipv4Prefix};

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
    #[serde(default)]
    stream: Vec<Spanned<StreamTable>>,
    #[serde(default)]
    goal: Vec<Spanned<GoalTable>>,
    #[serde(default)]
    replay: Vec<Spanned<ReplayTable>>,
    procedure: Spanned<Vec<Spanned<ProcedureTable>>>,
    #[serde(default)]
    quick: ScalingTable,
    #[serde(default, rename = "virtual")]
    simulated: SimulatedTable,
}

/// The most ports a device has.
const MOST_PORTS: usize = 16;

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
    frame_sizes: Option<frame_sizes::Table>,
    flows: Spanned<String>,
    bidirectional: Option<Spanned<bool>>,
    distribution: Option<Spanned<String>>,
    udp_checksum: Option<bool>,
    ipv6: Option<Spanned<String>>,
    networks: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScalingTable {
    divide_durations_by: Option<Spanned<f64>>,
    shortest: Option<Spanned<String>>,
    repetitions_at_most: Option<Spanned<i64>>,
    frame_sizes: Option<frame_sizes::Table>,
    modifiers: Option<Vec<Spanned<String>>>,
    precision: Option<Spanned<Number>>,
    counts_at_most: Option<Spanned<i64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SimulatedTable {
    link: Option<Spanned<String>>,
    delay: Option<Spanned<String>>,
    bottleneck: Option<Spanned<String>>,
    buffer: Option<Spanned<i64>>,
    frame: Option<Spanned<String>>,
    byte_ps: Option<Spanned<i64>>,
    pause_every: Option<Spanned<String>>,
    pause: Option<Spanned<String>>,
    ring: Option<Spanned<i64>>,
    boot: Option<Spanned<String>>,
    scaling: Option<ScalingTable>,
}

/// Reads a plan that names no captures.
///
/// # Errors
/// [`BadPlan`]: what cannot be, where it stands, and what could be.
pub fn read(text: &str, allowed: Allowed) -> Result<Plan, BadPlan> {
    read_with(text, allowed, None, &|file| Err(format!("{file}: nobody is here to read it")))
}

/// Reads a plan, and the captures that it names by `open`. Random choices start from `seed`, if there
/// is one, instead of the plan's own; what has a seed to itself in the plan keeps that.
///
/// # Errors
/// [`BadPlan`]: what cannot be, where it stands, and what could be.
pub fn read_with(
    text: &str,
    allowed: Allowed,
    seed: Option<u64>,
    open: &Open<'_>,
) -> Result<Plan, BadPlan> {
    let source = Source(text);
    let file: File = toml::from_str(text).map_err(|error| BadPlan {
        at: error.span().map(|span| source.at(span.start)),
        why: error.message().to_string(),
    })?;
    let seed = seed.unwrap_or(file.seed);
    let link = BitRate(source.bits(&file.medium.link)?);
    let mut traffic = traffic(source, &file.traffic)?;
    let networks = networks(source, &file.traffic, allowed)?;
    let modifiers = modifiers(source, &file.device.modifiers)?;
    let mut procedures = Vec::new();
    let routed = !matches!(traffic, Traffic::Hosts { .. });
    let ends = routed.then(|| networks.map(End::of));
    let common = Common { source, link, ports: MOST_PORTS, ends, allowed, open };
    let replays = replays(common, &file.replay)?;
    let common = (link, MOST_PORTS, seed);
    let streams = streams(source, &file.stream, &replays, common, allowed)?;
    let sizes = match &file.traffic.frame_sizes {
        Some(list) => frame_sizes::read(source, list)?,
        // Streams have their own; with their shortest they are introduced.
        None => {
            let lengths = streams.iter().filter_map(|stream| stream.lengths.extremes());
            vec![lengths.map(|(shortest, _)| shortest).min().unwrap_or(FrameLen::MIN).into()]
        }
    };
    let nothing = streams.is_empty() && replays.is_empty();
    let goals = goals(source, &file.goal, &file.procedure)?;
    let reader = Reader { source, link, sizes: &sizes, streams: &streams, goals: &goals, nothing };
    for table in file.procedure.get_ref() {
        let procedure = reader.procedure(table.get_ref())?;
        let kind = &table.get_ref().kind;
        let streams = matches!(procedure, Procedure::Streams(_));
        if file.traffic.frame_sizes.is_none() && !streams {
            let why = format!("{} has frame-sizes, in [traffic]", procedure.name());
            return Err(source.bad(kind, why));
        }
        if streams && procedures.contains(&procedure) {
            return Err(source.bad(kind, "streams are all run at once: say so once"));
        }
        procedures.push(procedure);
    }
    if procedures.is_empty() {
        return Err(source.bad(&file.procedure, "a plan has at least one procedure"));
    }
    let replayed = replays.iter().flat_map(|replay| replay.ports).max().map_or(0, |port| port + 1);
    let ports = match &file.device.ports {
        None => procedures.iter().map(Procedure::ports).max().unwrap_or(2).max(replayed),
        Some(ports) => {
            let least = procedures.iter().max_by_key(|procedure| procedure.ports());
            let least = least.map_or((2, ""), |p| (p.ports(), p.name()));
            let least = if replayed > least.0 { (replayed, "replay") } else { least };
            match usize::try_from(*ports.get_ref()) {
                Ok(n) if (least.0..=MOST_PORTS).contains(&n) => n,
                _ => {
                    let why = match meshes(&file).filter(|_| least.0 == 2) {
                        Some(mesh) => format!(
                            "2 to {MOST_PORTS} ports: {}",
                            mesh.of(0).err().unwrap_or_default()
                        ),
                        None => {
                            format!("{} to {MOST_PORTS} ports ({} needs so many)", least.0, least.1)
                        }
                    };
                    return Err(source.bad(ports, why));
                }
            }
        }
    };
    traffic = meshed(source, &file, traffic, ports, &procedures)?;
    fits(source, &file, traffic, &modifiers)?;
    let run = procedures.iter().any(|procedure| matches!(procedure, Procedure::Streams(_)));
    if let Some(table) = file.replay.first().filter(|_| !run) {
        let why = "a replay is run by [[procedure]] kind = \"streams\"";
        return Err(source.bad(table, why));
    }
    for (table, stream) in file.stream.iter().zip(&streams) {
        if !run {
            let why = "a stream is run by [[procedure]] kind = \"streams\"";
            return Err(source.bad(table, why));
        }
        if routed && stream.from.max(stream.to) > 1 {
            let why =
                "a router has networks on ports 1 and 2: flows = \"hosts\" for bridges of more";
            return Err(source.bad(table, why));
        }
    }
    let quick = scaling(source, &file.quick)?;
    let simulated = simulated(source, &file.simulated, &quick)?;
    for (at, (table, procedure)) in file.procedure.get_ref().iter().zip(&procedures).enumerate() {
        let kind = &table.get_ref().kind;
        for sizes in [&sizes, &quick.sizes, &simulated.scaling.sizes] {
            frame_sizes::suit(source, kind, procedure, sizes)?;
        }
        let is_there = |first: &str| procedures[..at].iter().any(|before| before.name() == first);
        if let Some(first) = procedure.builds_on().filter(|first| !is_there(first)) {
            let why =
                format!("{} is run by what {first} finds, which comes before", procedure.name());
            return Err(source.bad(kind, why));
        }
    }
    if traffic.ipv6() > 0 {
        let all = [&sizes, &quick.sizes, &simulated.scaling.sizes].map(Vec::as_slice);
        suits_ipv6(source, &file, all, &procedures)?;
    }
    Ok(Plan {
        name: file.name,
        configuration: file.device.configuration,
        ports,
        modifiers,
        link,
        sizes,
        traffic,
        udp_checksum: file.traffic.udp_checksum.unwrap_or(false),
        ends: networks.map(End::of),
        replays,
        procedures,
        seed,
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

fn traffic(source: Source<'_>, table: &TrafficTable) -> Result<Traffic, BadPlan> {
    let bidirectional = table.bidirectional.as_ref().is_none_or(|both| *both.get_ref());
    match table.flows.get_ref().as_str() {
        "pair" => Ok(Traffic::Pair { bidirectional, ipv6: ipv6(source, table)? }),
        _ if table.ipv6.is_some() => {
            Err(source.bad(&table.flows, "a share of IPv6 is of flows = \"pair\" alone"))
        }
        "networks" => Ok(Traffic::Networks { bidirectional }),
        "hosts" => Ok(Traffic::Hosts { distribution: Distribution::NonMeshed { bidirectional } }),
        _ => Err(source.bad(&table.flows, "flows are \"pair\", \"networks\" or \"hosts\"")),
    }
}

/// Tenths of the frames that are IPv6's.
fn ipv6(source: Source<'_>, table: &TrafficTable) -> Result<u8, BadPlan> {
    let Some(said) = &table.ipv6 else { return Ok(0) };
    let percent = said.get_ref().strip_suffix('%').and_then(|n| n.trim().parse::<u8>().ok());
    let tenths = percent.filter(|percent| *percent <= 100 && percent % 10 == 0);
    let why = "ipv6 is a share of the frames in tens: \"0%\", \"10%\" … \"100%\"";
    tenths.map(|percent| percent / 10).ok_or_else(|| source.bad(said, why))
}

/// Whether the sizes have room for IPv6's headers, and the procedures send frames of it.
fn suits_ipv6(
    source: Source<'_>,
    file: &File,
    sizes: [&[FrameSize]; 3],
    procedures: &[Procedure],
) -> Result<(), BadPlan> {
    let Some(said) = &file.traffic.ipv6 else { return Ok(()) };
    let least = shortest(Family::Ipv6);
    let shortest = sizes.into_iter().flatten().map(FrameSize::shortest).min();
    if let Some(short) = shortest.filter(|short| *short < least) {
        let (short, least) = (short.l2(), least.l2());
        let why = format!(
            "a test frame of IPv6 has {least} bytes at least, not {short}: its headers take 62, the \
             trailer that tells frames apart the rest (RFC 5180 §5.1 begins at 64)"
        );
        return Err(source.bad(said, why));
    }
    let sends = |one: &&Procedure| !one.sends_ipv6();
    match procedures.iter().find(sends) {
        Some(one) => Err(source.bad(said, format!("{} is not implemented for IPv6", one.name()))),
        None => Ok(()),
    }
}

/// Between which of all ports frames are to go, if it is between all.
fn meshes(file: &File) -> Option<Mesh> {
    let name = file.traffic.distribution.as_ref()?.get_ref();
    Mesh::ALL.into_iter().find(|mesh| mesh.name() == name)
}

/// The traffic, once it is known how many ports there are: all of a mesh's have a part in it.
fn meshed(
    source: Source<'_>,
    file: &File,
    traffic: Traffic,
    ports: usize,
    procedures: &[Procedure],
) -> Result<Traffic, BadPlan> {
    let Some(name) = &file.traffic.distribution else { return Ok(traffic) };
    let bad = |why: String| Err(source.bad(name, why));
    let Some(mesh) = meshes(file) else {
        if name.get_ref() == "non-meshed" {
            return Ok(traffic);
        }
        let all = Mesh::ALL.map(|mesh| format!("{:?}", mesh.name())).join(", ");
        return bad(format!("{:?}: distributions are \"non-meshed\", {all}", name.get_ref()));
    };
    if !matches!(traffic, Traffic::Hosts { .. }) {
        return bad("a mesh is for bridges, a router has two networks: flows = \"hosts\"".into());
    }
    let Some(said) = &file.device.ports else {
        return bad(format!(
            "a mesh is of all ports: say in [device] how many, ports = 2 to {MOST_PORTS}"
        ));
    };
    if let Err(why) = mesh.of(ports) {
        return Err(source.bad(said, format!("{}: {why}", mesh.name())));
    }
    match (&file.traffic.bidirectional, mesh) {
        (Some(both), Mesh::Full) if !*both.get_ref() => {
            let why = "each port of a full mesh sends and receives: bidirectional = true, or \
                       distribution = \"non-meshed\"";
            return Err(source.bad(both, why));
        }
        (Some(both), Mesh::OneToMany | Mesh::ManyToOne | Mesh::Unidirectional)
            if *both.get_ref() =>
        {
            let why = format!("{} goes one way: leave bidirectional out", mesh.name());
            return Err(source.bad(both, why));
        }
        _ => {}
    }
    let traffic = Traffic::Hosts { distribution: Distribution::Meshed { mesh, ports } };
    // Before the drop and behind it they are other streams, and there are numbers for 256.
    let many = traffic.senders() * traffic.destinations() > 128;
    if many && procedures.iter().any(|one| matches!(one, Procedure::Recovery(_))) {
        return bad(format!(
            "recovery has two streams from each port to every other, 256 at most: ports = 2 to 11, not \
             {ports}, or distribution = \"non-meshed\""
        ));
    }
    Ok(traffic)
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
    let read = |text: &Spanned<String>| {
        let network = source.prefix(text)?;
        if network.len() > 28 {
            return Err(
                source.bad(text, "a network has room for the device and 13 hosts: up to /28")
            );
        }
        if allowed.external && !allowed.any_address && !is_for_tests(network) {
            return Err(source.bad(text, format!("{network} is not for tests: {NOT_FOR_TESTS}")));
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
    let divisor = |by: &Spanned<f64>| match by.get_ref() {
        divisor if (1.0..=1e6).contains(divisor) => Ok(*divisor),
        _ => Err(source.bad(by, "durations are divided by 1 to 1000000")),
    };
    let names = table.modifiers.as_ref();
    Ok(Scaling {
        divide_durations_by: or(&table.divide_durations_by, 300.0, divisor)?,
        shortest: or(&table.shortest, Duration::from_millis(20), |it| source.trial(it))?,
        repetitions_at_most: or(&table.repetitions_at_most, 3, |n| count(source, n, 10_000))?
            as u32,
        sizes: or(&table.frame_sizes, vec![], |list| frame_sizes::read(source, list))?,
        modifiers: names.map_or(Ok(vec![]), |names| modifiers(source, names))?,
        precision: or(&table.precision, 0.01, |it| source.share(it, "a precision"))?,
        counts_at_most: or(&table.counts_at_most, u64::MAX, |n| count(source, n, 1 << 22))?,
    })
}

fn simulated(
    source: Source<'_>,
    table: &SimulatedTable,
    quick: &Scaling,
) -> Result<Simulated, BadPlan> {
    let time = |value, default| or(value, default, |it| source.time(it));
    let bits = |it: &Spanned<String>| source.bits(it).map(BitRate);
    let number = |value, default, most| or(value, default, |n| count(source, n, most));
    let (ms, us) = (Duration::from_millis, Duration::from_micros);
    let buffer = number(&table.buffer, 100, 1 << 12)? as usize;
    if let Some(buffer) = table.buffer.as_ref().filter(|_| table.bottleneck.is_none()) {
        return Err(source.bad(buffer, "a buffer is a bottleneck's: say its rate, too"));
    }
    let (pause, pause_every) = (time(&table.pause, us(50))?, time(&table.pause_every, ms(10))?);
    if let Some(value) = table.pause.as_ref().filter(|_| pause >= pause_every) {
        return Err(source.bad(value, "a pause is shorter than the time between two"));
    }
    Ok(Simulated {
        link: or(&table.link, BitRate::mbps(100.0), bits)?,
        delay: time(&table.delay, Duration::ZERO)?,
        bottleneck: table.bottleneck.as_ref().map(bits).transpose()?.map(|rate| (rate, buffer)),
        frame_ns: time(&table.frame, us(4))?.as_nanos() as u64,
        byte_ps: number(&table.byte_ps, 1000, 1_000_000_000)?,
        pause_every,
        pause,
        ring: number(&table.ring, 256, 1 << 13)? as usize,
        boot: time(&table.boot, ms(100))?,
        scaling: table.scaling.as_ref().map_or(Ok(quick.clone()), |it| scaling(source, it))?,
    })
}

/// A number from 1 on.
pub(super) fn count(source: Source<'_>, value: &Spanned<i64>, most: u64) -> Result<u64, BadPlan> {
    match u64::try_from(*value.get_ref()) {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        _ => Err(source.bad(value, format!("a number from 1 to {most}"))),
    }
}

/// The ports, from 0, by which something goes in and comes out of a device of so many.
pub(super) fn ports(
    source: Source<'_>,
    (from, to): (&Option<Spanned<i64>>, &Option<Spanned<i64>>),
    most: usize,
    what: &str,
) -> Result<[usize; 2], BadPlan> {
    let port = |value: &Spanned<i64>| match usize::try_from(*value.get_ref()) {
        Ok(port) if (1..=most).contains(&port) => Ok(port - 1),
        _ => Err(source.bad(value, format!("ports are 1 to {most}"))),
    };
    let first = or(from, 0, port)?;
    let second = or(to, usize::from(first == 0), port)?;
    match to {
        Some(value) if first == second => {
            let why = format!("a {what} comes out of another port than it goes in by");
            Err(source.bad(value, why))
        }
        _ => Ok([first, second]),
    }
}
