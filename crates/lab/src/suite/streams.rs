//! The plan's own streams: all of them at once, each with its headers, lengths and schedule.
//!
//! ```text
//!  Spec ─► FramePlan ─► Stream ─► Sender ─┐ by port
//!                          │              ├─► Task ─► Testbed::run ─► of each: sent, and its tally
//!                          └─► Receiver ──┘ of the port where it is expected
//! ```
//!
//! What a frame does not say of itself is RFC 2544's: from the test host of its port to that of the
//! other, by the device's MAC address if it is a router.
//!
//! Never decides whether a stream can be: the plan did.

use super::bench::{Bench, Testbed};
use super::find::Finding;
use super::plan::stream::{above_the_wire, due_at_once, ipv6_host};
use super::plan::{Plan, Procedure, Replay, Spec};
use super::replays;
use crate::jumbo;
use crate::tester::Task;
use crate::traffic::tester_mac as mac;
use measure::latency_histogram::LatencyHistogram;
use measure::procedure::streams::{self, StreamOutput};
use measure::procedure::{Run, Stop, TrialOutput};
use measure::send::Sent;
use measure::stack::Hosts;
use measure::suite_result::{Figure, TrialRecord};
use measure::trial::{Conditions, Outcome, Trial};
use measure::{Receiver, Sender, Stream, receive};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::{BitRate, FrameLen};

/// What is sent, for results.
pub(super) const TRAFFIC: &str = "the plan's own streams";

/// How long they take on wires of this rate.
pub(super) fn duration(plan: &Plan, link: BitRate) -> Duration {
    let streams = plan.streams().iter().filter_map(|spec| spec.until(link).ok());
    streams.max().unwrap_or_default().max(replays::duration(&plan.replays, link))
}

/// How many ports send.
pub(super) fn senders(plan: &Plan) -> usize {
    let streams = plan.streams().iter().map(|spec| spec.from);
    let mut ports: Vec<usize> = streams.chain(replays::senders(&plan.replays)).collect();
    ports.sort_unstable();
    ports.dedup();
    ports.len()
}

/// The shortest and the longest frames of each stream, and the longest of each replay: of as many lengths
/// as a table of the tester's own rates can have.
pub(super) fn lengths(plan: &Plan) -> Vec<FrameLen> {
    const MOST: usize = 12;
    let of_streams = plan.streams().iter().filter_map(|spec| spec.lengths.extremes());
    let mut lengths: Vec<FrameLen> = of_streams.flat_map(|(a, b)| [a, b]).collect();
    lengths.extend(plan.replays.iter().map(Replay::longest));
    lengths.sort_unstable();
    lengths.dedup();
    if lengths.len() > MOST {
        let n = lengths.len() - 1;
        lengths = (0..MOST).map(|at| lengths[at * n / (MOST - 1)]).collect();
    }
    lengths
}

/// Whether the plan runs nothing else.
pub(super) fn are_all(plan: &Plan) -> bool {
    plan.procedures.iter().all(|procedure| matches!(procedure, Procedure::Streams(_)))
}

impl<P: Testbed> Bench<'_, P> {
    /// Between whom a stream goes.
    fn ends_of(&mut self, spec: &Spec) -> Hosts {
        let (from, to) = (spec.from, spec.to);
        let device_mac = self.device_mac(from);
        let host = |port: usize| self.plan.ends[port.min(1)].host;
        Hosts {
            src_mac: mac(from),
            dst_mac: device_mac.unwrap_or_else(|| mac(to)),
            src: host(from),
            dst: host(to),
            src6: ipv6_host(from),
            dst6: ipv6_host(to),
        }
    }

    fn stream_of(&mut self, number: usize, spec: &Spec) -> Result<Stream, Stop> {
        let hosts = self.ends_of(spec);
        let built = spec.frames(&hosts).build(number as u8, 0, spec.seed);
        built.map_err(|bad| Stop::Broken(format!("{}: {bad}", spec.name)))
    }

    /// How long a frame waited for its wire, where somebody sees that.
    pub(super) fn waited(&self, sent: &Sent) -> Option<Duration> {
        self.place.is_simulated().then(|| Duration::from_nanos(sent.waited_ns_max))
    }

    /// A trial of all streams, of each no more than `most` frames.
    pub(super) fn streams(&mut self, duration: Duration, most: u64) -> Result<TrialOutput, Stop> {
        let specs = self.plan.streams();
        let link = self.link;
        // The plan was read for its own wires; simulated ones may carry less.
        if let Some((_, why)) = above_the_wire(specs, &self.plan.replays, link) {
            return Err(Stop::Broken(why));
        }
        let ports = self.place.tester().wires.len();
        let built = specs.iter().enumerate().map(|(number, spec)| self.stream_of(number, spec));
        let built = built.collect::<Result<Vec<Stream>, Stop>>()?;
        if !self.plan.replays.is_empty() {
            self.settle_hosts()?;
        }
        let start = self.begin();
        let mut senders: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        // Where the sender of each is: the port, and which of that port's.
        let mut at = vec![];
        for (spec, stream) in specs.iter().zip(&built) {
            let (schedule, packets) = spec.schedule(start, link).map_err(Stop::Broken)?;
            let of_port = &mut senders[spec.from];
            at.push((spec.from, of_port.len()));
            let sender = match spec.has_one_gap(link) {
                true => Sender::new(stream.clone(), schedule),
                false => Sender::by_length(stream.clone(), schedule),
            };
            let most = packets.unwrap_or(u64::MAX).min(most);
            of_port.push(if most < u64::MAX { sender.at_most(most) } else { sender });
        }
        let expected = |port: usize| {
            let here = specs.iter().zip(&built).filter(move |(spec, _)| spec.to == port);
            Receiver::new(start, here.map(|(_, stream)| stream))
        };
        let mut receivers: Vec<Receiver> = (0..ports).map(expected).collect();
        if !self.place.wire_time(FrameLen::MIN).is_zero() {
            let less = |receiver: Receiver| receiver.less_wires(|len| self.place.wire_time(len));
            receivers = receivers.into_iter().map(less).collect();
        }
        let mut task = Task::new(start, senders);
        task.receivers = receivers;
        if !self.plan.replays.is_empty() {
            self.replay(&mut task, start, most)?;
        }
        let (mut task, mut counts) = self.measured(task, None)?;
        let elsewhere = |number: usize| -> u64 {
            task.receivers.iter().map(|receiver| receiver.strays(number as u8)).sum()
        };
        let mut outputs = vec![];
        let mut late = Duration::ZERO;
        for (number, spec) in specs.iter().enumerate() {
            let (port, index) = at[number];
            let sender = &task.senders[port][index];
            let sent = sender.sent();
            let due = sent.offered.checked_sub(1).and_then(|last| sender.time_of(last));
            // Of random gaps the last one's is forgotten. In virtual time nothing is late but what the
            // wire had no room for: more bytes at random than the rate says, or others' turn.
            if let Some(due) = due.or(spec.duration).filter(|_| !self.place.is_simulated()) {
                late = late.max(sent.last.since(start + spec.start + due));
            }
            let receiver = &task.receivers[spec.to];
            outputs.push(StreamOutput {
                name: spec.name.clone(),
                ports: (spec.from as u32 + 1, spec.to as u32 + 1),
                stack: spec.stack.to_string(),
                sizes: spec.sizes(),
                load: spec.load(),
                seed: spec.seed,
                intended: sent.intended,
                sent: sent.went_out(),
                waited: self.waited(&sent),
                tally: receiver.tally(number as u8),
                elsewhere: elsewhere(number),
                latency: receiver.latency_of(number as u8).filter(|all| !all.is_empty()),
                variation: receiver.variation_of(number as u8),
                sending: sent.first.map(|first| sent.last.since(first)),
                capture: None,
            });
        }
        let stray: u64 = outputs.iter().map(|output| output.elsewhere).sum();
        counts.foreign -= stray;
        let (replayed, behind) = self.replayed(&task);
        if !self.place.is_simulated() {
            late = late.max(behind);
        }
        let stray = stray + replayed.iter().map(|output| output.elsewhere).sum::<u64>();
        outputs.extend(replayed);
        let conditions = Conditions { overrun: late, ..task.conditions };
        let mut output = TrialOutput::of(Trial::judge(duration, counts, &conditions));
        output.flooded = stray;
        output.latency =
            outputs.iter().filter_map(|one| one.latency.clone()).reduce(|mut all, one| {
                all.add(&one);
                all
            });
        output.streams = outputs;
        let mut delays = receive::delays(&task.receivers);
        if let Some(returned) = &task.returned {
            delays.add(&returned.delays());
        }
        output.variation = delays.variation();
        output.conditions = conditions;
        output.series = task.series();
        Ok(output)
    }
}

/// What came of a stream.
#[derive(Clone, Copy, Debug)]
struct Came<'a> {
    name: &'a str,
    /// Its shortest and its longest frames.
    lengths: (FrameLen, FrameLen),
    /// Bytes of each between the Ethernet header and the IP packet: no MTU counts them.
    tags: u32,
    sent: u64,
    received: u64,
}

/// What is said where streams of long frames lost all of them, and others came through whole. One whose
/// shortest frames are not too long, and came as little, has lost them for another reason.
fn too_long(streams: &[Came<'_>]) -> Option<String> {
    let untagged = |len: FrameLen, tags| FrameLen::with_fcs(len.l2().saturating_sub(tags));
    let whole = streams.iter().filter(|one| one.sent > 0 && one.received == one.sent);
    let came = whole.map(|one| untagged(one.lengths.1, one.tags)).max()?;
    let lost = streams.iter().filter(|one| {
        let shortest = untagged(one.lengths.0, one.tags);
        one.sent > 0 && one.received == 0 && shortest > came.max(FrameLen::MAX)
    });
    let names: Vec<&str> = lost.clone().map(|one| one.name).collect();
    let longest = lost.map(|one| untagged(one.lengths.1, one.tags)).max()?;
    Some(format!(
        "nothing of {} came, of frames of up to {} bytes, and those of {} bytes did: {}",
        names.join(", "),
        longest.l2(),
        came.l2(),
        jumbo::advice(longest)
    ))
}

/// What is said where nothing of a stream came, and the device, ours, says why it dropped frames.
pub(super) fn dropped_whole(
    trials: &[TrialRecord],
    dropped: &BTreeMap<String, u64>,
) -> Option<String> {
    let streams = trials.last().map_or(&[][..], |trial| &trial.streams);
    let lost = streams.iter().filter(|one| one.sent > 0 && one.received + one.elsewhere == 0);
    let names: Vec<&str> = lost.map(|one| one.name.as_str()).collect();
    let reasons: Vec<String> = dropped.iter().map(|(why, n)| format!("{n} as {why}")).collect();
    (!names.is_empty() && !reasons.is_empty()).then(|| {
        format!("nothing of {} came; the device dropped {}", names.join(", "), reasons.join(", "))
    })
}

/// What is said where frames went later than due, by more than a frame of each of the others by their
/// port takes: so much streams at constant rates cost one another.
fn waited(outputs: &[StreamOutput], longest: &[FrameLen], link: BitRate) -> Option<String> {
    let wire_time = |len: FrameLen| Duration::from_secs_f64(f64::from(8 * len.l1()) / link.0);
    let said = outputs.iter().enumerate().filter_map(|(n, one)| {
        let others = outputs.iter().zip(longest).enumerate();
        let others = others.filter(|(m, (of, _))| *m != n && of.ports.0 == one.ports.0);
        let usual: Duration = others.map(|(_, (_, len))| wire_time(*len)).sum();
        // Times are rounded by a nanosecond.
        let waited = one.waited.filter(|time| *time > usual + Duration::from_nanos(1))?;
        Some(format!("{} by up to {waited:.1?}", one.name))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| {
        let said = said.join(", ");
        format!("frames that were due while others had their port's wire went later: {said}")
    })
}

/// The same by the clock, where nobody sees when the wire is free: which ports it may be of.
fn may_wait(plan: &Plan, link: BitRate) -> Option<String> {
    let ports = due_at_once(plan.streams(), &plan.replays, link);
    let ports: Vec<String> = ports.iter().map(|port| (port + 1).to_string()).collect();
    (!ports.is_empty()).then(|| {
        format!(
            "at times more is due by port {} than the wire carries: frames then go one after the other, \
             later than due, and their latency has in it what they waited at the tester's own end; \
             --virtual and --pcap tell how long that is",
            ports.join(" and ")
        )
    })
}

/// Runs the streams of a plan, and what was found of all of them together.
pub(super) fn find(run: &mut Run<'_>, plan: &Plan, link: BitRate) -> Result<Finding, Stop> {
    let output = streams::streams(run, duration(plan, link))?;
    let counts = output.trial.counts;
    let sum = |of: fn(&StreamOutput) -> u64| output.streams.iter().map(of).sum::<u64>() as f64;
    let figures = [
        ("streams", output.streams.len() as f64, "streams"),
        ("sent", counts.sent as f64, "frames"),
        ("received", counts.received as f64, "frames"),
        ("lost", counts.lost().unwrap_or_default() as f64, "frames"),
        ("elsewhere", sum(|one| one.elsewhere), "frames"),
        ("damaged", counts.corrupt as f64, "frames"),
        ("foreign", counts.foreign as f64, "frames"),
    ];
    let figures = figures.map(|(name, value, unit)| Figure::of(name, Some(value), unit));
    let histogram = output.latency.as_ref().map_or(vec![], LatencyHistogram::buckets);
    let finding = Finding { histogram, ..Finding::of(figures) };
    // The plan's streams are first, in its order.
    let streams = plan.streams().iter().zip(&output.streams);
    let streams: Vec<Came<'_>> = streams
        .map(|(spec, one)| Came {
            name: &one.name,
            lengths: spec.lengths.extremes().unwrap_or((FrameLen::MIN, FrameLen::MIN)),
            tags: (spec.stack.before_ip() as u32).saturating_sub(14),
            sent: one.sent,
            received: one.tally.received,
        })
        .collect();
    let replayed =
        plan.replays.iter().flat_map(|one| replays::ways(one).map(move |_| one.longest()));
    let longest: Vec<FrameLen> = plan.streams().iter().map(Spec::longest).chain(replayed).collect();
    let waited = match output.streams.iter().any(|one| one.waited.is_some()) {
        true => waited(&output.streams, &longest, link),
        false => may_wait(plan, link),
    };
    let remarks = [too_long(&streams), waited];
    let finding =
        remarks.into_iter().flatten().fold(finding, |finding, why| finding.remark(true, why));
    Ok(match output.trial.outcome {
        Outcome::Invalid(reason) => {
            finding.remark(true, format!("invalid, nothing about the device: {reason}"))
        }
        _ => finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_are_too_long_for_the_way() {
        let mix = |name, lengths: (u32, u32), tags, received| {
            let lengths = (FrameLen::with_fcs(lengths.0), FrameLen::with_fcs(lengths.1));
            Came { name, lengths, tags, sent: 10, received }
        };
        let stream = |name, l2, received| mix(name, (l2, l2), 0, received);
        let advice = "an interface on their way has an MTU below 9000";
        for (streams, expected) in [
            (vec![stream("a", 64, 10), stream("b", 9018, 0), stream("c", 1600, 0)], Some("b, c")),
            (vec![stream("a", 1518, 10), stream("b", 9018, 0)], Some("b")),
            (vec![stream("a", 64, 10), mix("b", (1604, 9022), 4, 0)], Some("b")),
            // Some of each came, nothing did, short ones did not: another reason.
            (vec![stream("a", 64, 10), stream("b", 9018, 1)], None),
            (vec![stream("a", 64, 0), stream("b", 9018, 0)], None),
            (vec![stream("a", 9018, 10), stream("b", 64, 0)], None),
            (vec![stream("a", 64, 10), stream("b", 1518, 0)], None),
            (vec![stream("a", 64, 10), mix("b", (72, 9018), 0, 0)], None),
            (vec![stream("a", 64, 10), mix("b", (1522, 1522), 4, 0)], None),
            (vec![], None),
        ] {
            let said = too_long(&streams).unwrap_or_default();
            let begin = expected.map_or(String::new(), |names| format!("nothing of {names} came"));
            assert!(said.starts_with(&begin), "{streams:?}: {said}");
            assert_eq!(said.contains(advice), expected.is_some(), "{streams:?}: {said}");
        }
    }
}
