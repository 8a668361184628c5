//! Captures that a plan replays: which, by which ports, how fast and how often, with whose addresses.
//!
//! ```text
//!  [[replay]] ─► ReplayTable ─► file read, split, readdressed ─► Replay ─ plan.script(…) ─► frames
//! ```
//!
//! A table of its own and no kind of `[[stream]]`: a replay has two ports at once, and headers, lengths
//! and fields are the capture's. Streams and replays of a plan are run together.
//!
//! The whole file is looked at when the plan is read: nothing is sent of a capture that cannot be.
//!
//! Missing: **addresses given out by themselves**, **IPv6 neighbours** (nobody answers for them).

use super::read::{Allowed, count, ports};
use super::stream::is_for_benchmarks;
use super::stream::{number_or_text, start, words};
use super::value::{Number, Source};
use super::{BadPlan, End, Scaling};
use measure::replay::{
    AddressMap, Capture, Lens, Network, ReplayPlan, Side, Split, Step, Tempo, Vlan, is_ip,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;
use wire::{BitRate, FrameLen};

/// The most frames that are kept apart: of a capture, or of all loops that have their own addresses.
const MOST_FRAMES: u64 = 10_000_000;

/// Reads a file that a plan names: its bytes, or why they cannot be had.
pub type Open<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReplayTable {
    name: Option<Spanned<String>>,
    file: Spanned<String>,
    from: Option<Spanned<i64>>,
    to: Option<Spanned<i64>>,
    split: Option<Spanned<SplitTable>>,
    speed: Option<Spanned<f64>>,
    rate: Option<Spanned<Number>>,
    #[serde(rename = "loop")]
    loops: Option<Spanned<i64>>,
    packets: Option<Spanned<i64>>,
    duration: Option<Spanned<String>>,
    start: Option<Spanned<String>>,
    #[serde(default)]
    map: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    merge_addresses: bool,
    #[serde(default)]
    each_loop: BTreeMap<Spanned<String>, Spanned<i64>>,
    macs: Option<Spanned<String>>,
    vlan: Option<Spanned<Number>>,
    recognise: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SplitTable {
    Word(String),
    Networks(Vec<String>),
}

/// A capture as a plan replays it.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Its name.
    pub name: String,
    /// The file, as the plan names it.
    pub file: String,
    /// The ports of its two sides, from 0.
    pub ports: [usize; 2],
    /// When it begins.
    pub start: Duration,
    /// Whether MAC addresses become those of hosts and device.
    pub hosts_macs: bool,
    /// What is sent when.
    pub plan: Arc<ReplayPlan>,
    /// What was done to its frames, in words.
    done: String,
    /// What it asks for and nothing of it can be, in sentences: the replay is another than was meant.
    pub warnings: Vec<String>,
}

impl Replay {
    /// The longest of its frames.
    pub fn longest(&self) -> FrameLen {
        let longest = [Side::First, Side::Second].map(|side| self.plan.lengths(side));
        longest.iter().flatten().map(|lengths| lengths.2).max().unwrap_or(FrameLen::MIN)
    }

    /// How long after the beginning its last frame is due.
    ///
    /// # Errors
    /// It is above the wire: why, in a sentence.
    pub fn until(&self, link: BitRate) -> Result<Duration, String> {
        let until = self.plan.until(link).map_err(|bad| {
            let port = self.ports[bad.side.index()] + 1;
            format!("{}, by port {port}: {bad}", self.name)
        })?;
        Ok(self.start + until)
    }

    /// The file and what was done to its frames, in words.
    pub fn described(&self) -> String {
        format!("{}{}", self.file, self.done)
    }

    /// The lengths of what a side sends, in words.
    pub fn sizes(&self, side: Side) -> String {
        match self.plan.lengths(side) {
            Some((least, _, most)) if least == most => most.l2().to_string(),
            Some((least, mean, most)) => {
                format!("{} to {}, mean {mean:.1}", least.l2(), most.l2())
            }
            None => "none".to_string(),
        }
    }

    /// How fast, how often and how long, in words.
    pub fn load(&self) -> String {
        let ReplayPlan { tempo, loops, packets, duration, .. } = &*self.plan;
        let mut said = match tempo {
            Tempo::Speed(speed) => format!("captured speed x {speed}"),
            Tempo::Rate(rate) => format!("{}, both ports together", words(*rate)),
            Tempo::Wires => "as soon as each port's wire is free".to_string(),
        };
        if *loops > 1 {
            let _ = write!(said, ", {loops} loops");
        }
        if let Some(packets) = packets {
            let _ = write!(said, ", {packets} packets at most");
        }
        if let Some(duration) = duration {
            let _ = write!(said, ", {duration:?} at most");
        }
        if !self.start.is_zero() {
            let _ = write!(said, ", from {:?} on", self.start);
        }
        said
    }

    /// Hosts of the capture in a port's network, for whom somebody has to answer: all but our own.
    ///
    /// # Errors
    /// One of them is the device: why that cannot be, in a sentence.
    pub fn hosts_in(&self, end: &End) -> Result<Vec<u32>, String> {
        let all = self.plan.addresses().map_err(|_| "addresses leave their network".to_string())?;
        let mut hosts = vec![];
        for (address, number) in all {
            let IpAddr::V4(v4) = address else { continue };
            let bits = v4.to_bits();
            let inside = end.network.bits() < bits && bits < end.network.last();
            if bits == end.device {
                return Err(format!(
                    "{}: {v4}, in frame {number} of {}, is the device's own address: another \
                     network in map",
                    self.name, self.file
                ));
            }
            if inside && ![end.host, end.router].contains(&bits) {
                hosts.push(bits);
            }
        }
        Ok(hosts)
    }

    /// Shorter, as a plan is made short: what was captured stays as it was.
    pub(super) fn scale(&mut self, scaling: &Scaling) {
        let by = scaling.divide_durations_by;
        self.start = self.start.div_f64(by);
        if let Some(time) = self.plan.duration {
            let shorter = time.min(time.div_f64(by).max(scaling.shortest));
            Arc::make_mut(&mut self.plan).duration = Some(shorter);
        }
    }
}

/// What all replays of a plan have in common.
#[derive(Clone, Copy)]
pub(super) struct Common<'a> {
    pub(super) source: Source<'a>,
    pub(super) link: BitRate,
    /// The most ports there are.
    pub(super) ports: usize,
    /// Who is on the first two; nobody on a bridge.
    pub(super) ends: Option<[End; 2]>,
    pub(super) allowed: Allowed,
    pub(super) open: &'a Open<'a>,
}

/// Reads the replays of a plan.
///
/// # Errors
/// [`BadPlan`].
pub(super) fn replays(
    common: Common<'_>,
    tables: &[Spanned<ReplayTable>],
) -> Result<Vec<Replay>, BadPlan> {
    let mut all: Vec<Replay> = vec![];
    for (index, table) in tables.iter().enumerate() {
        let replay = common.replay(index, table)?;
        let other = all.iter().position(|other| other.name == replay.name);
        let why = match other {
            _ if replay.name.trim().is_empty() => {
                "a name is not empty: results go by it".to_string()
            }
            Some(other) => {
                format!("{:?} is replay {}, too: give it a name of its own", replay.name, other + 1)
            }
            None => {
                all.push(replay);
                continue;
            }
        };
        return Err(match &table.get_ref().name {
            Some(name) => common.source.bad(name, why),
            None => common.source.bad(table, why),
        });
    }
    Ok(all)
}

impl Common<'_> {
    fn replay(self, index: usize, spanned: &Spanned<ReplayTable>) -> Result<Replay, BadPlan> {
        let (source, table) = (self.source, spanned.get_ref());
        let name = table
            .name
            .as_ref()
            .map_or_else(|| format!("replay {}", index + 1), |name| name.get_ref().clone());
        let most = if self.ends.is_some() { 2 } else { self.ports };
        let ports = ports(source, (&table.from, &table.to), most, "replay")?;
        let bytes = (self.open)(table.file.get_ref());
        let bytes = bytes.map_err(|why| source.bad(&table.file, why))?;
        let file = table.file.get_ref().clone();
        let refused = |why: String| source.bad(&table.file, format!("{file}: {why}"));
        let capture = Capture::read(&bytes).map_err(|bad| refused(bad.to_string()))?;
        let split = self.split(table)?;
        if let (Split::Interface(id), Some(spanned)) = (&split, &table.split)
            && !capture.frames.iter().any(|frame| frame.interface == *id)
        {
            let most = capture.frames.iter().map(|frame| frame.interface).max().unwrap_or(0);
            let why = format!(
                "no frame of {file} came by interface {id}; its interfaces are 0 to {most} (pcap files \
                 have one)"
            );
            return Err(source.bad(spanned, why));
        }
        let vlan = vlan(source, table.vlan.as_ref())?;
        let map = self.map(table)?;
        self.merged(table, &capture, &map)?;
        let mut plan = ReplayPlan::of(&capture, &split, vlan, &map);
        let mut done = String::new();
        if capture.padded > 0 {
            let _ = write!(done, ", {} frames padded to 64 bytes", capture.padded);
        }
        if self.ends.is_some() {
            let left = plan.leave_out_what_is_not_ip();
            if plan.frames.is_empty() {
                return Err(refused(
                    "no frame of it is IP, and a router forwards nothing else".into(),
                ));
            }
            if left > 0 {
                let _ = write!(done, ", {left} frames left out that are not IP");
            }
        }
        if let Vlan::Set(id) = vlan {
            let _ = write!(done, ", in VLAN {id}");
        }
        for (from, to) in &table.map {
            let _ = write!(done, ", {} as {}", from.get_ref(), to.get_ref());
        }
        (plan.tempo, plan.loops) = (tempo(source, table)?, 1);
        if let Some(loops) = &table.loops {
            plan.loops = count(source, loops, 1_000_000)?;
        }
        if let Some(packets) = &table.packets {
            plan.packets = Some(count(source, packets, 1_000_000_000_000)?);
        }
        plan.duration = table.duration.as_ref().map(|text| source.time(text)).transpose()?;
        plan.steps = self.steps(table, plan.loops)?;
        for step in &plan.steps {
            let _ = write!(done, ", {} on by {} each loop", step.network, step.by);
        }
        plan.lens = lens(source, table.recognise.as_ref())?;
        if plan.lens == Lens::Payloads {
            done += ", known by payloads";
        }
        let distinct =
            plan.frames.len() as u64 * if plan.steps.is_empty() { 1 } else { plan.loops };
        if distinct > MOST_FRAMES {
            return Err(refused(format!(
                "{distinct} frames that differ, {MOST_FRAMES} at most: fewer loops, or no each-loop"
            )));
        }
        let hosts_macs = macs(source, table.macs.as_ref())?;
        let start = start(source, table.start.as_ref())?;
        let warnings = self.in_vain(table, (&capture, &plan));
        let plan = Arc::new(plan);
        let replay = Replay { name, file, ports, start, hosts_macs, plan, done, warnings };
        self.addresses(&replay).map_err(|why| source.bad(&table.file, why))?;
        let at_once = capture.frames.len() > 1 && capture.frames.iter().all(|f| f.time_ns == 0);
        let advice = match (at_once, &table.rate) {
            (true, None) => "; all its frames have one time: give them a rate, rate = \"10kpps\"",
            _ => "",
        };
        replay.until(self.link).map_err(|why| why + advice).map_err(|why| {
            match (&table.speed, &table.rate) {
                (Some(value), _) => source.bad(value, why),
                (None, Some(value)) => source.bad(value, why),
                (None, None) => source.bad(spanned, why),
            }
        })?;
        Ok(replay)
    }

    fn split(self, table: &ReplayTable) -> Result<Split, BadPlan> {
        let Some(spanned) = &table.split else { return Ok(Split::Hosts) };
        let bad = |why: String| self.source.bad(spanned, why);
        match spanned.get_ref() {
            SplitTable::Word(word) => match word.split_once(' ').unwrap_or((word, "")) {
                ("hosts", "") => Ok(Split::Hosts),
                ("none", "") => Ok(Split::None),
                ("interface", id) if id.parse::<u32>().is_ok() => {
                    Ok(Split::Interface(id.parse().unwrap_or_default()))
                }
                _ => Err(bad(format!(
                    "{word:?} parts nothing: \"hosts\" (who speaks first leaves by the first port, who \
                     answers by the second), \"interface 0\" of a pcapng file, [\"10.0.0.0/8\"], or \
                     \"none\" (all by the first)"
                ))),
            },
            SplitTable::Networks(all) => {
                let read = |text: &String| text.parse().map_err(|why| bad(format!("{why}")));
                if all.is_empty() {
                    return Err(bad("no network: all would leave by the second port; \"none\" sends all by the first".into()));
                }
                Ok(Split::Networks(all.iter().map(read).collect::<Result<_, _>>()?))
            }
        }
    }

    fn map(self, table: &ReplayTable) -> Result<AddressMap, BadPlan> {
        let mut pairs = vec![];
        for (from, to) in &table.map {
            let (old, new) = (self.network(from)?, self.network(to)?);
            if !old.is_like(&new) {
                let why = format!("{old} and {new}: both of IPv4, or both of IPv6");
                return Err(self.source.bad(to, why));
            }
            pairs.push((old, new));
        }
        Ok(AddressMap::new(pairs))
    }

    /// Whether the map leaves hosts apart that the capture has apart, unless that is not wanted.
    fn merged(
        self,
        table: &ReplayTable,
        capture: &Capture,
        map: &AddressMap,
    ) -> Result<(), BadPlan> {
        // By a router nothing else is sent.
        let counts = |frame: &[u8]| self.ends.is_none() || is_ip(frame);
        let merged = if table.merge_addresses { None } else { capture.merged(map, counts) };
        let Some(([one, other], new)) = merged else { return Ok(()) };
        let why = format!(
            "{one} and {other} of {} both become {new}, and what they say would be one host's: a network as \
             large as theirs, a line of its own for one of them, or, if that is meant, merge-addresses = \
             true",
            table.file.get_ref()
        );
        let of = |(from, _): &(&Spanned<String>, &Spanned<String>)| {
            let network = self.network(from);
            network.is_ok_and(|network| network.contains(other) || network.contains(one))
        };
        Err(match table.map.iter().find(of) {
            Some((_, to)) => self.source.bad(to, why),
            None => self.source.bad(&table.file, why),
        })
    }

    fn network(self, text: &Spanned<String>) -> Result<Network, BadPlan> {
        text.get_ref().parse().map_err(|why| self.source.bad(text, format!("{why}")))
    }

    /// Networks that no frame has an address of: of the map in the capture, of `each-loop` behind it.
    fn in_vain(self, table: &ReplayTable, (capture, plan): (&Capture, &ReplayPlan)) -> Vec<String> {
        let file = table.file.get_ref();
        let mapped = table.map.keys().filter(|from| {
            self.network(from).is_ok_and(|network| !capture.has_address_in(&network))
        });
        let mapped = mapped.map(|from| format!("map: no frame of {file} is in {}", from.get_ref()));
        let stepped = plan.steps.iter().filter(|step| !plan.has_address_in(&step.network));
        let behind = if table.map.is_empty() { "" } else { ", as the map leaves it," };
        let stepped = stepped
            .map(|step| format!("each-loop: no frame of {file}{behind} is in {}", step.network));
        mapped.chain(stepped).collect()
    }

    fn steps(self, table: &ReplayTable, loops: u64) -> Result<Vec<Step>, BadPlan> {
        let mut steps = vec![];
        for (network, by) in &table.each_loop {
            if loops == 1 {
                let why = "each-loop is of replays that loop: loop = 10";
                return Err(self.source.bad(network, why));
            }
            let by = count(self.source, by, 1 << 32)?;
            steps.push(Step { network: self.network(network)?, by });
        }
        Ok(steps)
    }

    /// Whether frames have addresses that they may have.
    fn addresses(self, replay: &Replay) -> Result<(), String> {
        let file = &replay.file;
        let all = replay.plan.addresses().map_err(|(address, number, step)| {
            format!(
                "{file}: {address}, in frame {number}, leaves {} with {} loops of {} each: fewer, or a \
                 larger network",
                step.network, replay.plan.loops, step.by
            )
        })?;
        for end in self.ends.iter().flatten() {
            replay.hosts_in(end)?;
        }
        let Allowed { external: true, any_address: false } = self.allowed else { return Ok(()) };
        match all.into_iter().find(|(address, _)| !is_for_benchmarks(*address)) {
            None => Ok(()),
            Some((address, number)) => Err(format!(
                "{file}: {address}, in frame {number}, is not in 198.18.0.0/15 or 2001:2::/48, which \
                 are set aside for benchmarks: frames that leave this machine could reach somebody \
                 (RFC 6815); give it another in map, or, if they cannot, say --allow-any-address"
            )),
        }
    }
}

fn tempo(source: Source<'_>, table: &ReplayTable) -> Result<Tempo, BadPlan> {
    match (&table.speed, &table.rate) {
        (None, None) => Ok(Tempo::Speed(1.0)),
        (Some(_), Some(rate)) => Err(source.bad(
            rate,
            "a speed, of the times in the capture, or a rate, whatever they are: not both",
        )),
        (Some(speed), None) => match *speed.get_ref() {
            speed if (1e-6..=1e6).contains(&speed) => Ok(Tempo::Speed(speed)),
            _ => Err(source.bad(speed, "a speed is 0.000001 to 1000000 times the captured one")),
        },
        (None, Some(rate)) => match rate.get_ref() {
            Number::Text(text) if text == "asap" => Ok(Tempo::Wires),
            value => number_or_text(value).map(Tempo::Rate).map_err(|why| {
                source.bad(
                    rate,
                    format!("{why}, \"asap\" for all that the wires of both ports carry"),
                )
            }),
        },
    }
}

fn vlan(source: Source<'_>, value: Option<&Spanned<Number>>) -> Result<Vlan, BadPlan> {
    let Some(spanned) = value else { return Ok(Vlan::Keep) };
    match spanned.get_ref() {
        Number::Text(text) if text == "strip" => Ok(Vlan::Strip),
        Number::Whole(id @ 1..=4094) => Ok(Vlan::Set(*id as u16)),
        _ => {
            Err(source.bad(spanned, "\"strip\" takes tags off, 1 to 4094 puts one in their place"))
        }
    }
}

fn macs(source: Source<'_>, value: Option<&Spanned<String>>) -> Result<bool, BadPlan> {
    let Some(text) = value else { return Ok(true) };
    match text.get_ref().as_str() {
        "hosts" => Ok(true),
        "keep" => Ok(false),
        _ => Err(source.bad(text, "MAC addresses: \"hosts\", ours and the device's, or \"keep\"")),
    }
}

fn lens(source: Source<'_>, value: Option<&Spanned<String>>) -> Result<Lens, BadPlan> {
    let Some(text) = value else { return Ok(Lens::Packets) };
    match text.get_ref().as_str() {
        "packets" => Ok(Lens::Packets),
        "payloads" => Ok(Lens::Payloads),
        _ => Err(source.bad(
            text,
            "frames are known by \"packets\", which routers and bridges leave as they are, or by \
             \"payloads\", which NAT leaves, too",
        )),
    }
}

#[cfg(test)]
mod tests;
