//! A stream's load: how fast, in which shape, and when it is over.
//!
//! ```text
//!  rate    10000   "10kpps"   "100Mbps(L2)"   "5%" of the wire
//!  shape   constant   burst 16   multi-burst 3 x 16, 1ms apart   poisson   ramp to 10kpps
//!  until   packets, duration, or both; several bursts end by themselves
//! ```
//!
//! A rate is the mean, but that of several bursts, which is the one within each. Bits say of which
//! layer they are: L1 with preamble and gap, L2 with FCS, L3 the IP packet. At a rate of bits frames of
//! several lengths are each as long apart as they are long; of frames a second all gaps are one, unless
//! the longest of them takes its wire longer than that.

use super::Spec;
use crate::plans::quantity;
use crate::suite::plan::value::{Number, Source};
use crate::suite::plan::{BadPlan, Replay};
use measure::replay::Side;
use measure::schedule::{Bursts, Load, Rate, Schedule, Several};
use measure::{Lengths, Pace};
use std::fmt;
use std::time::Duration;
use toml::Spanned;
use wire::{BitRate, Moment, PacketRate};

/// What a schedule looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Each frame at its time.
    Constant,
    /// So many back to back.
    Burst(u32),
    /// So many bursts of so many frames, so far apart.
    MultiBurst(u32, u32, Duration),
    /// Random gaps.
    Poisson,
    /// On to this rate.
    Ramp(Rate),
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Constant => f.write_str("constant"),
            Shape::Burst(burst) => write!(f, "burst {burst}"),
            Shape::MultiBurst(bursts, burst, apart) => {
                write!(f, "multi-burst {bursts} x {burst}, {apart:?} apart")
            }
            Shape::Poisson => f.write_str("poisson"),
            Shape::Ramp(to) => write!(f, "ramp to {}", words(*to)),
        }
    }
}

/// A rate as one would write it.
pub(in crate::suite::plan) fn words(rate: Rate) -> String {
    let bits = |bits: BitRate, layer| format!("{} Mbps({layer})", bits.as_mbps());
    match rate {
        Rate::Frames(rate) => format!("{} pps", rate.0),
        Rate::L1(rate) => bits(rate, "L1"),
        Rate::L2(rate) => bits(rate, "L2"),
        Rate::L3(rate) => bits(rate, "L3"),
        Rate::Percent(percent) => format!("{percent}%"),
    }
}

/// The longest a stream takes, as the longest time that a plan can say.
const DAY: Duration = Duration::from_secs(86_400);

/// Reads rate and shape.
///
/// # Errors
/// [`BadPlan`].
pub(super) fn read(
    source: Source<'_>,
    rate: &Spanned<Number>,
    shape: Option<&Spanned<String>>,
) -> Result<(Rate, Shape), BadPlan> {
    let rate = number_or_text(rate.get_ref()).map_err(|why| source.bad(rate, why))?;
    let Some(text) = shape else { return Ok((rate, Shape::Constant)) };
    let shape = a_shape(source, text)?;
    Ok((rate, shape))
}

/// A rate as it stands in a plan.
pub(in crate::suite::plan) fn number_or_text(value: &Number) -> Result<Rate, String> {
    match value {
        Number::Whole(frames) => above_zero(Rate::Frames(PacketRate(*frames as f64))),
        Number::Float(frames) => above_zero(Rate::Frames(PacketRate(*frames))),
        Number::Text(text) => a_rate(text),
    }
}

/// When a stream begins; at once, if it is not said.
pub(in crate::suite::plan) fn start(
    source: Source<'_>,
    value: Option<&Spanned<String>>,
) -> Result<Duration, BadPlan> {
    match value {
        None => Ok(Duration::ZERO),
        Some(text) if text.get_ref() == "0s" => Ok(Duration::ZERO),
        Some(text) => source.time(text),
    }
}

fn above_zero(rate: Rate) -> Result<Rate, String> {
    let value = match rate {
        Rate::Frames(rate) => rate.0,
        Rate::L1(rate) | Rate::L2(rate) | Rate::L3(rate) => rate.0,
        Rate::Percent(percent) => percent,
    };
    match value > 0.0 && value.is_finite() {
        true => Ok(rate),
        false => Err("a rate is above zero".to_string()),
    }
}

fn a_rate(text: &str) -> Result<Rate, String> {
    let none = || {
        format!(
            "{text:?} is no rate: 10000 or \"10kpps\" (frames a second), \"100Mbps(L1)\" or (L2) or \
             (L3), \"5%\" of the wire"
        )
    };
    let text = text.trim();
    let number = |text: &str| quantity(text.trim()).ok_or_else(none);
    if let Some(percent) = text.strip_suffix('%') {
        return above_zero(Rate::Percent(percent.trim().parse().map_err(|_| none())?));
    }
    if let Some(frames) = text.strip_suffix("pps").or(text.strip_suffix("fps")) {
        return Ok(Rate::Frames(PacketRate(number(frames)?)));
    }
    if text.ends_with("bps") {
        return Err(format!("{text:?} of which layer? {text}(L1), (L2) with FCS or (L3), IP"));
    }
    for (end, layer) in [("bps(L1)", 1), ("bps(L2)", 2), ("bps(L3)", 3)] {
        if let Some(bits) = text.strip_suffix(end) {
            let bits = BitRate(number(bits)?);
            return Ok(match layer {
                1 => Rate::L1(bits),
                2 => Rate::L2(bits),
                _ => Rate::L3(bits),
            });
        }
    }
    number(text).map(|frames| Rate::Frames(PacketRate(frames)))
}

fn a_shape(source: Source<'_>, spanned: &Spanned<String>) -> Result<Shape, BadPlan> {
    let text = spanned.get_ref();
    let none = || {
        let why = format!(
            "{text:?} is no shape: constant, burst 16, multi-burst 3 x 16, 1ms apart, poisson, or \
             ramp to 10kpps"
        );
        source.bad(spanned, why)
    };
    let frames = |text: &str| {
        let n = text.trim().parse::<u32>().ok();
        n.filter(|n| (1..=1_000_000).contains(n)).ok_or_else(none)
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words.as_slice() {
        ["constant"] => Shape::Constant,
        ["poisson"] => Shape::Poisson,
        ["burst", burst] => Shape::Burst(frames(burst)?),
        ["multi-burst", bursts, "x", burst, apart, "apart"] => {
            let burst = frames(burst.strip_suffix(',').unwrap_or(burst))?;
            let apart = Spanned::new(spanned.span(), (*apart).to_string());
            Shape::MultiBurst(frames(bursts)?, burst, source.time(&apart)?)
        }
        ["ramp", "to", rate @ ..] => {
            Shape::Ramp(a_rate(&rate.join(" ")).map_err(|why| source.bad(spanned, why))?)
        }
        _ => return Err(none()),
    })
}

impl Spec {
    /// Frames a second of one of its rates, on a wire.
    ///
    /// # Errors
    /// It is above the wire: why, in a sentence.
    fn frames_of(&self, rate: Rate, link: BitRate) -> Result<PacketRate, String> {
        let l2 = self.mean_l2();
        if matches!(rate, Rate::L3(_)) && !self.stack.has_ip() {
            let name = &self.name;
            return Err(format!("{name}: a rate of layer 3, and no IP packet: say (L2) or (L1)"));
        }
        // Behind the Ethernet header, tags and labels; less the FCS.
        let l3 = l2 - 4.0 - self.stack.before_ip() as f64;
        rate.frames(l2, l3, Some(link)).map_err(|bad| format!("{}: {bad}", self.name))
    }

    /// Whether its frames, whatever their lengths, are equally far apart on this wire.
    pub(in crate::suite) fn has_one_gap(&self, link: BitRate) -> bool {
        let Rate::Frames(rate) = self.rate else { return false };
        rate.0 * 8.0 * f64::from(self.longest().l1()) <= link.0
    }

    /// The highest rate it has, in L1 bits a second.
    fn peak(&self, link: BitRate) -> Result<f64, String> {
        let mut peak = self.frames_of(self.rate, link)?.0;
        if let Shape::Ramp(to) = self.shape {
            peak = peak.max(self.frames_of(to, link)?.0);
        }
        Ok(peak * 8.0 * (self.mean_l2() + 20.0))
    }

    /// Whether it is over some time.
    ///
    /// # Errors
    /// It is not, or what says so cannot be: why, in a sentence.
    pub(super) fn ends(&self) -> Result<(), String> {
        match (self.shape, self.packets, self.duration) {
            (Shape::Ramp(_), _, None) => Err("a ramp has a duration: duration = \"2s\"".into()),
            (Shape::MultiBurst(..), ..) => Ok(()),
            (_, None, None) => Err("packets = 1000 or duration = \"2s\": when is it over?".into()),
            _ => Ok(()),
        }
    }

    /// What is sent when, from `begin` on, over a wire; and no more frames than that in all.
    ///
    /// # Errors
    /// It cannot be: why, in a sentence.
    pub fn schedule(
        &self,
        begin: Moment,
        link: BitRate,
    ) -> Result<(Schedule, Option<u64>), String> {
        let pace = |said: Rate| -> Result<Pace, String> {
            let rate = self.frames_of(said, link)?;
            let all = said == Rate::Percent(100.0);
            if let Lengths::Even(a, b) = &self.lengths
                && all
                && a == b
            {
                // In whole numbers.
                return Pace::of_wire(link.0 as u64, *a).ok_or_else(|| "no such wire".into());
            }
            Pace::of(rate).ok_or_else(|| format!("{}: no frames at {} a second", self.name, rate.0))
        };
        let from = pace(self.rate)?;
        let load = match self.shape {
            Shape::Constant => Load::Paced(from),
            Shape::Burst(burst) => {
                Load::Bursts(Bursts { pace: from, burst, within: pace(Rate::Percent(100.0))? })
            }
            Shape::MultiBurst(bursts, burst, apart) => {
                Load::Several(Several { pace: from, burst, apart, bursts })
            }
            Shape::Poisson => Load::Poisson { pace: from, seed: self.seed },
            Shape::Ramp(to) => Load::Ramp { from, to: pace(to)? },
        };
        if let Some(last) = last_due(&load, self.packets)
            && self.duration.is_none()
            && last > DAY
        {
            return Err(format!(
                "{}: the last of its packets is due after {:.0} s, and no stream takes longer than a day, \
                 {} s: fewer packets, a higher rate, or duration = \"60m\", which ends it",
                self.name,
                last.as_secs_f64(),
                DAY.as_secs()
            ));
        }
        // Random gaps may be longer than their mean.
        let duration = self.duration.unwrap_or(10 * DAY);
        Ok((Schedule { load, start: begin + self.start, duration }, self.packets))
    }

    /// How long after the beginning its last frame is due; of random gaps about.
    ///
    /// # Errors
    /// See [`schedule`](Self::schedule).
    pub fn until(&self, link: BitRate) -> Result<Duration, String> {
        let (schedule, most) = self.schedule(Moment::ZERO, link)?;
        let by_time = self.duration.unwrap_or(DAY);
        let until = last_due(&schedule.load, most).map_or(by_time, |last| last.min(by_time));
        // A burst that has begun is sent to its end.
        let last = match (schedule.load, schedule.frames()) {
            (Load::Bursts(bursts), Some(n)) => {
                bursts.time_of(n.min(most.unwrap_or(n)).saturating_sub(1))
            }
            _ => Duration::ZERO,
        };
        Ok(self.start + until.max(last))
    }

    /// Why one burst takes longer than the stream is to.
    pub(super) fn burst_is_longer(&self, link: BitRate) -> Option<String> {
        let (Shape::Burst(burst), Some(duration)) = (self.shape, self.duration) else {
            return None;
        };
        let frames = u64::from(burst).min(self.packets.unwrap_or(u64::MAX));
        let takes = frames as f64 * 8.0 * (self.mean_l2() + 20.0) / link.0;
        (takes > duration.as_secs_f64()).then(|| {
            format!(
                "{}: {frames} frames back to back take {takes:.3} s, and the stream is to be over after \
                 {duration:?}: a burst that has begun is sent to its end; fewer frames, or packets = … \
                 instead of duration",
                self.name
            )
        })
    }

    /// Rate and shape and end in words.
    pub fn load(&self) -> String {
        let mut said = words(self.rate);
        if self.shape != Shape::Constant {
            said += &format!(" {}", self.shape);
        }
        if let Some(packets) = self.packets {
            said += &format!(", {packets} packets");
        }
        if let Some(duration) = self.duration {
            said += &format!(", {duration:?}");
        }
        if !self.start.is_zero() {
            said += &format!(", from {:?} on", self.start);
        }
        said
    }
}

/// When the last of so many frames is due, after the start; of random gaps about. Nothing if only time
/// ends them.
fn last_due(load: &Load, packets: Option<u64>) -> Option<Duration> {
    let (all, pace) = match *load {
        Load::Several(several) => {
            let frames = several.frames().min(packets.unwrap_or(u64::MAX));
            return Some(several.time_of(frames.checked_sub(1)?));
        }
        Load::Paced(pace) | Load::Poisson { pace, .. } => (packets?, pace),
        Load::Bursts(Bursts { pace, .. }) => (packets?, pace),
        _ => return None,
    };
    Some(pace.time_of(all.checked_sub(1)?))
}

/// The first stream that is too much for its port's wire, with those and the replays that are sent at
/// the same time, and why.
pub(in crate::suite) fn above_the_wire(
    streams: &[Spec],
    replays: &[Replay],
    link: BitRate,
) -> Option<(usize, String)> {
    let mut known: Vec<(usize, Duration, Duration, f64)> = vec![];
    for replay in replays {
        // One by itself was looked at before.
        let Ok(until) = replay.until(link) else { continue };
        for (port, side) in replay.ports.into_iter().zip([Side::First, Side::Second]) {
            let mean = replay.plan.mean(side, link).map_or(0.0, |mean| mean.0);
            known.push((port, replay.start, until, mean));
        }
    }
    for (index, spec) in streams.iter().enumerate() {
        let (peak, until) = match (spec.peak(link), spec.until(link)) {
            (Ok(peak), Ok(until)) => (peak, until),
            (Err(why), _) | (_, Err(why)) => return Some((index, why)),
        };
        known.push((spec.from, spec.start, until, peak));
        // There are the most when one of them begins.
        for &(_, begins, ..) in &known {
            let at_once = known.iter().filter(|(from, start, until, _)| {
                *from == spec.from && *start <= begins && begins < *until
            });
            let sum: f64 = at_once.map(|(.., peak)| peak).sum();
            if sum > link.0 * (1.0 + 1e-6) {
                let why = format!(
                    "a rate above the wire: with {} what port {} sends at the same time is {:.1} Mbps \
                     (L1), and the wire carries {:#}",
                    spec.name,
                    spec.from + 1,
                    sum / 1e6,
                    link
                );
                return Some((index, why));
            }
        }
    }
    None
}

/// The ports by which at times more is due than their wire carries: in a burst, at random or as it was
/// captured, beside something else.
pub(in crate::suite) fn due_at_once(
    streams: &[Spec],
    replays: &[Replay],
    link: BitRate,
) -> Vec<usize> {
    let streams = streams.iter().filter_map(|spec| {
        let uneven = matches!(spec.shape, Shape::Burst(_) | Shape::Poisson);
        let most = if uneven { link.0 } else { spec.peak(link).ok()? };
        Some((spec.from, spec.start, spec.until(link).ok()?, most))
    });
    let replays = replays.iter().flat_map(|replay| {
        let sides = [Side::First, Side::Second].into_iter().filter(|side| replay.plan.sends(*side));
        let until = replay.until(link).unwrap_or_default();
        sides.map(move |side| (replay.ports[side.index()], replay.start, until, link.0))
    });
    let all: Vec<(usize, Duration, Duration, f64)> = streams.chain(replays).collect();
    let is_too_much = |(port, begins): (usize, Duration)| {
        let at_once = all.iter().filter(|(from, start, until, _)| {
            *from == port && *start <= begins && begins <= *until
        });
        at_once.map(|(.., most)| most).sum::<f64>() > link.0 * (1.0 + 1e-6)
    };
    // There are the most when one of them begins.
    let begins = all.iter().map(|(port, start, ..)| (*port, *start));
    let mut ports: Vec<usize> =
        begins.filter(|at| is_too_much(*at)).map(|(port, _)| port).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}
