//! Streams of a plan: headers, lengths, fields, a rate and a shape, each started and stopped alone.
//!
//! ```text
//!  [[stream]] ─► StreamTable ─► Spec ─┬ frames(hosts) ─► FramePlan    what
//!                                     └ schedule(link) ─► Schedule    when
//! ```
//!
//! A table says what is other than usual; what it does not say are the test hosts' addresses, the
//! device's MAC address, right checksums. Everything is tried out when the plan is read: nothing is
//! sent of a stream that cannot be.
//!
//! Missing: **streams that follow each other by name** (say `start`), **more than 256 streams**,
//! **several templates in one stream**.

// Fields and their values.
mod field;
// Rates, shapes, when it ends.
mod load;
// Whom its frames could reach.
mod reach;
// Lengths, by number, range, weight, name or genome.
pub(super) mod sizes;
#[cfg(test)]
mod tests;

pub use load::Shape;
pub(in crate::suite) use load::{above_the_wire, due_at_once};
pub(super) use load::{number_or_text, start, words};
pub(super) use reach::is_for_benchmarks;

use super::read::{Allowed, count, ports as ports_of};
use super::value::{Number, Source};
use super::{BadPlan, Replay, Scaling};
use field::{FieldTable, Setting, TupleTable};
use measure::frame::{BadFrame, FramePlan, Link, Varying};
use measure::schedule::Rate;
use measure::stack::{Hosts, Place, Stack};
use measure::{Lengths, Mix};
use serde::Deserialize;
use std::time::Duration;
use toml::Spanned;
use wire::{BitRate, FrameLen, MacAddr};

/// The most streams there can be: their number is a byte of every frame.
pub const MOST: usize = 256;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct StreamTable {
    name: Option<Spanned<String>>,
    from: Option<Spanned<i64>>,
    to: Option<Spanned<i64>>,
    stack: Spanned<String>,
    sizes: Spanned<Number>,
    rate: Spanned<Number>,
    shape: Option<Spanned<String>>,
    packets: Option<Spanned<i64>>,
    duration: Option<Spanned<String>>,
    start: Option<Spanned<String>>,
    seed: Option<u64>,
    udp_checksum: Option<bool>,
    #[serde(default)]
    field: Vec<Spanned<FieldTable>>,
    #[serde(default)]
    tuple: Vec<Spanned<TupleTable>>,
}

/// A stream as a plan has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// The port it goes from, from 0.
    pub from: usize,
    /// The port where it is expected.
    pub to: usize,
    /// Its headers.
    pub stack: Stack,
    /// Its lengths.
    pub lengths: Lengths,
    /// The mix that they are.
    pub mix: Option<Mix>,
    /// How fast: in the mean, or (of several bursts) within each.
    pub rate: Rate,
    /// In which shape.
    pub shape: Shape,
    /// No more frames than this.
    pub packets: Option<u64>,
    /// No longer than this.
    pub duration: Option<Duration>,
    /// When it begins.
    pub start: Duration,
    /// Where its random choices start from.
    pub seed: u64,
    /// Whether UDP over IPv4 has a checksum.
    udp_checksum: bool,
    set: Vec<(Place, u128)>,
    varying: Vec<Varying>,
    links: Vec<Link>,
}

/// Of a port of the tester: RFC 5180's network for benchmarks, as 198.18.0.0/15 is IPv4's.
pub(crate) fn ipv6_host(port: usize) -> u128 {
    0x2001_0002 << 96 | (port as u128 + 1) << 64 | 2
}

impl Spec {
    /// Its frames between these hosts.
    pub fn frames(&self, hosts: &Hosts) -> FramePlan {
        let mut plan = self.stack.plan(hosts, self.lengths.clone(), self.udp_checksum);
        for (place, value) in &self.set {
            place.set(&mut plan, *value);
        }
        plan.varying.clone_from(&self.varying);
        plan.links.clone_from(&self.links);
        plan
    }

    /// Its mean length in bytes, L2 with FCS.
    pub fn mean_l2(&self) -> f64 {
        match &self.lengths {
            Lengths::Even(least, most) => f64::from(least.l2() + most.l2()) / 2.0,
            Lengths::InTurn(all) => {
                let bytes: u64 = all.iter().map(|frame| u64::from(frame.l2())).sum();
                bytes as f64 / all.len().max(1) as f64
            }
        }
    }

    /// The longest of its frames.
    pub fn longest(&self) -> FrameLen {
        self.lengths.extremes().map_or(FrameLen::MIN, |(_, longest)| longest)
    }

    /// Its lengths in words.
    pub fn sizes(&self) -> String {
        match (&self.mix, &self.lengths) {
            (Some(mix), _) => mix.to_string(),
            (None, Lengths::Even(least, most)) if least != most => {
                format!("{} to {}, each as likely", least.l2(), most.l2())
            }
            _ => self.longest().l2().to_string(),
        }
    }

    /// Shorter, as a plan is made short.
    pub(super) fn scale(&mut self, scaling: &Scaling) {
        let by = scaling.divide_durations_by;
        self.start = self.start.div_f64(by);
        let shorter = |time: Duration| time.min(time.div_f64(by).max(scaling.shortest));
        self.duration = self.duration.map(shorter);
    }
}

/// Reads the streams of a plan, and tries them out.
///
/// # Errors
/// [`BadPlan`].
pub(super) fn streams(
    source: Source<'_>,
    tables: &[Spanned<StreamTable>],
    replays: &[Replay],
    (link, ports, seed): (BitRate, usize, u64),
    allowed: Allowed,
) -> Result<Vec<Spec>, BadPlan> {
    let mut all: Vec<Spec> = vec![];
    if let Some(table) = tables.get(MOST) {
        return Err(source.bad(table, format!("more than {MOST} streams")));
    }
    for (index, table) in tables.iter().enumerate() {
        let seed = seed ^ (index as u64 + 1) << 32;
        let spec = stream(source, table, (index, ports, seed), allowed)?;
        if let Some(other) = all.iter().position(|other| other.name == spec.name) {
            let why =
                format!("{:?} is stream {}, too: give it a name of its own", spec.name, other + 1);
            return Err(match &table.get_ref().name {
                Some(name) => source.bad(name, why),
                None => source.bad(table, why),
            });
        }
        if replays.iter().any(|replay| replay.name == spec.name) {
            let why = format!("{:?} is a replay's name, too: give it one of its own", spec.name);
            return Err(match &table.get_ref().name {
                Some(name) => source.bad(name, why),
                None => source.bad(table, why),
            });
        }
        all.push(spec);
    }
    if let Some((index, why)) = above_the_wire(&all, replays, link) {
        return Err(source.bad(&tables[index].get_ref().rate, why));
    }
    for (spec, table) in all.iter().zip(tables) {
        if let (Some(why), Some(shape)) = (spec.burst_is_longer(link), &table.get_ref().shape) {
            return Err(source.bad(shape, why));
        }
    }
    Ok(all)
}

/// Whether the receiver would call some of a stream's first frames damaged, though nothing happened to
/// them.
fn is_damaged(mut stream: measure::Stream) -> bool {
    let mut bytes = vec![];
    (0..16).any(|number| {
        bytes.clear();
        bytes.resize(stream.next_len(), 0);
        stream.write(wire::Moment::ZERO, &mut bytes);
        !stream.is_intact(&bytes, number)
    })
}

fn stream(
    source: Source<'_>,
    spanned: &Spanned<StreamTable>,
    (index, ports, seed): (usize, usize, u64),
    allowed: Allowed,
) -> Result<Spec, BadPlan> {
    let table = spanned.get_ref();
    let name = table
        .name
        .as_ref()
        .map_or_else(|| format!("stream {}", index + 1), |name| name.get_ref().clone());
    if let Some(spanned) = table.name.as_ref().filter(|_| name.trim().is_empty()) {
        return Err(source.bad(spanned, "a name is not empty: results go by it"));
    }
    let [from, to] = ports_of(source, (&table.from, &table.to), ports, "stream")?;
    let stack = Stack::parse(table.stack.get_ref());
    let stack = stack.map_err(|bad| source.bad(&table.stack, bad.to_string()))?;
    let (lengths, mix) = sizes::read(source, &table.sizes, FrameLen::MAX)?;
    let (rate, shape) = load::read(source, &table.rate, table.shape.as_ref())?;
    let time =
        |value: &Option<Spanned<String>>| value.as_ref().map(|text| source.time(text)).transpose();
    let (duration, start) = (time(&table.duration)?, start(source, table.start.as_ref())?);
    let most = 1_000_000_000_000;
    let packets = table.packets.as_ref().map(|n| count(source, n, most)).transpose()?;
    let fields = Setting::read(source, &stack, &table.field, &table.tuple, allowed)?;
    let spec = Spec {
        name,
        from,
        to,
        stack,
        lengths,
        mix,
        rate,
        shape,
        packets,
        duration,
        start,
        seed: table.seed.unwrap_or(seed),
        udp_checksum: table.udp_checksum.unwrap_or(true),
        set: fields.set,
        varying: fields.varying,
        links: fields.links,
    };
    spec.ends().map_err(|why| source.bad(spanned, why))?;
    let hosts = Hosts {
        src_mac: MacAddr::default(),
        dst_mac: MacAddr::default(),
        // Somebody who may; who they are is looked at elsewhere.
        src: 0xc612_0102,
        dst: 0xc613_0102,
        src6: ipv6_host(from),
        dst6: ipv6_host(to),
    };
    // What a build would refuse is refused here, where there is a line to point to.
    let built = spec.frames(&hosts).build(0, 0, spec.seed);
    match built {
        Ok(built) if is_damaged(built.clone()) => {
            let why = format!(
                "frames of {} are damaged as they are sent: a field makes a length or a checksum wrong, \
                 and the device would be blamed for it",
                spec.name
            );
            Err(source.bad(spanned, why))
        }
        Ok(_) if !allowed.external || allowed.any_address => Ok(spec),
        Ok(mut built) => match reach::outside(&mut built, &spec.stack.raw()) {
            None => Ok(spec),
            Some(address) => {
                let why = format!(
                    "frames of {} have the address {address}, which is not in 198.18.0.0/15 or \
                     2001:2::/48, set aside for benchmarks: frames that leave this machine could reach \
                     somebody (RFC 6815); if they cannot, say --allow-any-address",
                    spec.name
                );
                Err(source.bad(&table.stack, why))
            }
        },
        Err(BadFrame::TooShort(need, have)) => {
            let why = format!(
                "frames of {} bytes: headers, trailer and FCS of {} take {}",
                have + 4,
                spec.stack,
                need + 4
            );
            Err(source.bad(&table.sizes, why))
        }
        Err(BadFrame::VaryingTwice(at)) => {
            let why = format!("two fields change the same bits, at byte {at} of the frame");
            Err(source.bad(spanned, why))
        }
        Err(bad) => Err(source.bad(spanned, bad.to_string())),
    }
}
