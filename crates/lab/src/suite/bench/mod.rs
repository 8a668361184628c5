//! A bench: a tester and a device in a place that has time, as a measurer of the procedures.
//!
//! ```text
//!  TrialInput ─► streams, senders ─► Task ─► Testbed::run ─► counts, latencies ─► TrialOutput
//!                                              └ real (two cores) or simulated (virtual time)
//! ```
//!
//! The order of a trial is RFC 2544 §23's: the device is introduced and what it learns it learns
//! before; senders stop, the tester listens on, and only then is anything read.

// Where it stands.
mod testbed;
// Trials of a load.
mod load;
// Of connections.
mod connections;
// Of a bridge.
mod bridge;
// The tester by itself.
mod alone;

pub(super) use connections::Used;
pub use testbed::{Surroundings, Testbed};

use super::frames::{built, stream, template};
use super::modifier::Asked;
use super::plan::{Modifier, Plan, Traffic};
use crate::jumbo;
use crate::tester::Task;
use crate::ways::{self, Between, Way};
use measure::procedure::{Measurer, Stop, TrialInput, TrialOutput};
use measure::schedule::{Load, Pace, Schedule};
use measure::trial::{Conditions, Counts, Trial};
use measure::watch::Watch;
use measure::{FrameSize, Receiver, Sender, Stream, Template, Variation};
use std::time::Duration;
use wire::{BitRate, FrameLen, MacAddr, Moment, PacketRate};

/// A bench for one configuration.
pub struct Bench<'a, P> {
    /// Where it stands.
    pub place: P,
    pub(super) plan: &'a Plan,
    pub(super) modifier: Modifier,
    pub(super) link: BitRate,
    pub(super) frame: FrameSize,
    /// What the device was asked and told meanwhile.
    pub(super) asked: Asked,
    /// Which connections it has seen.
    pub(super) used: Used,
    /// What was lost when it was looked whether frames come through.
    pub(super) first_look: Option<String>,
    /// How things stood when the trial under way began.
    before: Surroundings,
    /// Whether everybody was introduced, and no trial was run since.
    introduced: bool,
}

impl<'a, P: Testbed> Bench<'a, P> {
    /// A bench in this place, whose wires carry `link`.
    pub fn new(place: P, plan: &'a Plan, modifier: Modifier, link: BitRate) -> Bench<'a, P> {
        let (frame, asked, used) = (FrameLen::MIN.into(), Asked::default(), Used::default());
        let before = Surroundings::default();
        let (first_look, introduced) = (None, false);
        Bench { place, plan, modifier, link, frame, asked, used, first_look, before, introduced }
    }

    /// The wire's highest rate of the frames of now.
    pub fn highest(&self) -> PacketRate {
        self.frame.max_frames(self.link)
    }

    /// Goes on to frames of another length: introduces tester and device to each other, and sees
    /// that frames come through. Where none do for a second, from one port to another, none ever will.
    /// Where some are lost each time, that is what there is to be measured: it is noted, and no error.
    ///
    /// # Errors
    /// [`Stop::Broken`]: nothing comes from one port to another, or nothing of a mix's longest frames.
    pub fn prepare(&mut self, frame: &FrameSize) -> Result<(), Stop> {
        // The largest that come through are what TCP is to find out.
        let smallest = FrameLen::MIN.into();
        self.meet(if self.plan.is_all_tcp() { &smallest } else { frame })?;
        self.first_look = None;
        const SILENT: Duration = Duration::from_secs(1);
        let (mut sent, mut received, mut elsewhere) = (0, 0, 0);
        let (began, mut ways) = (self.place.now(), vec![]);
        // Of a mix every length.
        let each = frame.cycle().frames * self.plan.traffic.destinations() as u64;
        let cycle = Duration::from_micros(500 * each);
        for _ in 0..5 {
            let duration = Duration::from_millis(20).max(cycle);
            // Before the senders are made: what is sent earlier than that is no frame of this trial.
            let start = self.start();
            let senders = self.senders(PacketRate(2000.0), duration, Duration::ZERO)?;
            let (task, counts) = self.run_task(self.task_of(start, senders))?;
            (sent, received, elsewhere) = (counts.sent, counts.received, task.elsewhere());
            // (On a busy machine a port may have had no time to send any.)
            let all_sent = task.ways().iter().all(|way| way.sent > 0);
            if sent == received && all_sent {
                self.frame = frame.clone();
                return Ok(());
            }
            ways::add(&mut ways, task.ways());
            if self.place.now().since(began) >= SILENT && ways.iter().any(Way::is_silent) {
                break;
            }
        }
        let silent = self.silence(&ways);
        let discarded = self.place.discards();
        let elsewhere = match elsewhere {
            0 => String::new(),
            n => format!(", and {n} out of a port they were not sent to"),
        };
        let what = format!("{} at 2000 a second", frame.words());
        let comes = frame.mix().is_none() || self.comes(frame.longest())?;
        if silent.is_none() && received > 0 && comes {
            self.first_look = Some(format!(
                "in a first look the device lost {} of {sent} frames of {what}{elsewhere}",
                sent.saturating_sub(received)
            ));
            self.frame = frame.clone();
            return Ok(());
        }
        let advice = match frame.longest() > FrameLen::MIN && self.comes(FrameLen::MIN)? {
            true => format!("; shorter ones do come: {}", jumbo::advice(frame.longest())),
            false => String::new(),
        };
        Err(Stop::Broken(match silent {
            Some(why) => format!(
                "{why}. Sent were frames of {what}{elsewhere}; it dropped {discarded}{advice}"
            ),
            None => format!(
                "the device does not forward: of {sent} frames of {what} {received} came \
                 back{elsewhere}; it dropped {discarded}{advice}"
            ),
        }))
    }

    /// Which ways carry nothing, and where to look.
    fn silence(&mut self, ways: &[Way]) -> Option<String> {
        let ports = 0..self.place.tester().wires.len();
        let ports: Vec<String> = ports.map(|port| self.place.port_name(port)).collect();
        let between = match self.place.tester().sides() {
            sides if sides.is_empty() => Between::Bridge,
            sides => Between::Router(sides),
        };
        ways::silence(ways, &ports, &between)
    }

    /// Whether any frames of this length come through.
    fn comes(&mut self, len: FrameLen) -> Result<bool, Stop> {
        self.meet(&len.into())?;
        let start = self.start();
        let senders =
            self.senders(PacketRate(2000.0), Duration::from_millis(20), Duration::ZERO)?;
        let (_, counts) = self.run_task(self.task_of(start, senders))?;
        Ok(counts.received > 0)
    }

    /// Goes on to frames of another length, and introduces tester and device to each other.
    pub(super) fn meet(&mut self, frame: &FrameSize) -> Result<(), Stop> {
        self.frame = frame.clone();
        self.place.tester().introduce_again();
        self.introduce()
    }

    /// ARP, or a frame of every host.
    fn introduce(&mut self) -> Result<(), Stop> {
        self.introduced = true;
        let ports = self.place.tester().wires.len();
        if let Traffic::Hosts { .. } = self.plan.traffic {
            let (start, mut senders) = (self.start(), vec![]);
            for port in 0..ports {
                let template = template(self.plan, port, (port + 1) % ports, None);
                let stream = self.plain(port as u8, template, Variation::NONE)?;
                senders.push(vec![self.sender(stream, PacketRate(1000.0), 3, Duration::ZERO)?]);
            }
            // Twice: the second time everybody is known.
            let next = |from, _, at| at == (from + 1) % ports;
            self.run_task(Task::new(start, senders).expecting(start, next))?;
            return Ok(());
        }
        if self.plan.traffic.ipv6() > 0 {
            self.place.tester().speak_ipv6();
        }
        for _ in 0..20 {
            self.run_task(Task::new(self.place.now(), vec![]))?;
            if self.place.tester().unanswered(|_| String::new()).is_none() {
                return Ok(());
            }
            self.place.tester().ask_again();
        }
        let names = (0..ports).map(|port| self.place.port_name(port)).collect::<Vec<_>>();
        let silent = self.place.tester().unanswered(|port| names[port].clone());
        let hint = match self.plan.traffic.ipv6() {
            0 => "",
            _ => " (a plan with IPv6 needs a device that has these addresses)",
        };
        Err(Stop::Broken(silent.unwrap_or_default() + hint))
    }

    /// When a trial that is made now begins.
    pub(super) fn start(&self) -> Moment {
        self.place.now() + self.place.lead()
    }

    /// A trial is begun: how things stand is noted first, and it starts then.
    pub(super) fn begin(&mut self) -> Moment {
        self.before = self.place.surroundings();
        self.start()
    }

    pub(super) fn device_mac(&mut self, port: usize) -> Option<MacAddr> {
        self.place.tester().device_mac(port)
    }

    pub(super) fn plain(
        &self,
        id: u8,
        template: Template,
        variation: Variation,
    ) -> Result<Stream, Stop> {
        let seed = self.plan.seed ^ u64::from(id);
        built(id, template, &self.frame, variation, seed).map_err(Stop::Broken)
    }

    pub(super) fn pace(&self, rate: PacketRate) -> Result<Pace, Stop> {
        let pace = if (rate.0 / self.highest().0 - 1.0).abs() < 1e-9 {
            self.frame.pace_of_wire(self.link.0 as u64)
        } else {
            Pace::of(rate)
        };
        pace.ok_or_else(|| Stop::Broken(format!("no frames can be sent at {} a second", rate.0)))
    }

    /// A sender of so many frames, `later` than now.
    fn sender(
        &self,
        stream: Stream,
        rate: PacketRate,
        frames: u64,
        later: Duration,
    ) -> Result<Sender, Stop> {
        let (load, start) = (Load::Paced(self.pace(rate)?), self.start() + later);
        let duration = Duration::from_secs(86_400);
        Ok(Sender::by_length(stream, Schedule { load, start, duration }).at_most(frames))
    }

    /// The plan's streams, whose frames come where its traffic has them come.
    fn task_of(&self, start: Moment, senders: Vec<Vec<Sender>>) -> Task {
        let (traffic, task) = (self.plan.traffic, Task::new(start, senders));
        if traffic.mesh().is_none() {
            return task;
        }
        let n = traffic.destinations();
        let to = |from, id: u8| traffic.destination(from, usize::from(id) % n);
        task.expecting(start, |from, id, at| to(from, id) == at)
    }

    /// How many streams the plan's traffic has.
    fn streams_n(&self) -> usize {
        self.plan.traffic.senders() * self.plan.traffic.destinations()
    }

    /// The plan's streams at a load from each sending port, to all others of a mesh by turns; numbers
    /// from `first` on.
    fn streams_at(
        &mut self,
        first: u8,
        load: PacketRate,
        duration: Duration,
        later: Duration,
    ) -> Result<Vec<Vec<Sender>>, Stop> {
        let ports = self.place.tester().wires.len();
        let mut all: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        let (load, start) = (Load::Paced(self.pace(load)?), self.start() + later);
        for (port, senders) in all.iter_mut().enumerate().take(self.plan.traffic.senders()) {
            let device_mac = self.device_mac(port);
            let n = self.plan.traffic.destinations();
            let each = (0..n).map(|turn| {
                let id = first + (port * n + turn) as u8;
                stream(self.plan, id, (port, turn), &self.frame, device_mac)
            });
            let streams: Vec<Stream> = each.collect::<Result<_, _>>().map_err(Stop::Broken)?;
            senders.push(Sender::in_turn(streams, Schedule { load, start, duration }));
        }
        Ok(all)
    }

    fn senders(
        &mut self,
        load: PacketRate,
        duration: Duration,
        later: Duration,
    ) -> Result<Vec<Vec<Sender>>, Stop> {
        self.streams_at(0, load, duration, later)
    }

    /// Takes from the latencies what is the wires' own, each frame's by its length: before any is put
    /// into a bucket, whose width is a share of what it holds.
    fn less_wires(&self, task: &mut Task) {
        if self.place.wire_time(FrameLen::MIN).is_zero() {
            return;
        }
        let wire_time = |len| self.place.wire_time(len);
        let less = |receiver: Receiver| receiver.less_wires(wire_time);
        task.receivers = std::mem::take(&mut task.receivers).into_iter().map(less).collect();
        if let Watch::Tags(tags) = &mut task.watch {
            let longest = self.frame.longest();
            tags.iter_mut().for_each(|tags| tags.less_wires(longest, wire_time));
        }
    }

    /// Runs a task that is no trial, and counts.
    ///
    /// # Errors
    /// [`Stop`].
    pub(super) fn run_task(&mut self, task: Task) -> Result<(Task, Counts), Stop> {
        let (task, counts, ran) = self.ran(task, None);
        ran.map(|()| (task, counts))
    }

    /// Runs a trial's task since [`begin`](Self::begin), and counts; one that is interrupted has what
    /// there is by then.
    ///
    /// # Errors
    /// [`Stop`]: nothing was sent yet.
    pub(super) fn measured(
        &mut self,
        task: Task,
        reset_at: Option<Moment>,
    ) -> Result<(Task, Counts), Stop> {
        let (before, lead, began) = (self.before, self.place.lead(), self.place.now());
        let (mut task, counts, ran) = self.ran(task, reset_at);
        let late = task.late();
        if let Some(busy) = &mut task.conditions.busy {
            busy.late = late;
        }
        match ran {
            Err(Stop::Interrupted) if task.has_begun() => {
                let after = self.place.now().since(began + lead);
                task.conditions.interrupted = Some(after);
                return Ok((task, counts));
            }
            ran => ran?,
        }
        before.until(self.place.surroundings(), &mut task.conditions);
        Ok((task, counts))
    }

    fn ran(
        &mut self,
        mut task: Task,
        reset_at: Option<Moment>,
    ) -> (Task, Counts, Result<(), Stop>) {
        self.less_wires(&mut task);
        self.place.tester().begin(&mut task);
        let (full, told) = (self.place.found_no_room(), self.place.left_and_came());
        let ran = self.place.run(&mut task, reset_at);
        let told = told.zip(self.place.left_and_came());
        task.conditions.device_says =
            told.map(|(before, after)| (after.0.wrapping_sub(before.0), after.1 - before.1));
        self.note(&task);
        let mut counts = task.counts(self.place.tester());
        counts.tester_rx_drop += self.place.found_no_room().saturating_sub(full);
        (task, counts, ran)
    }

    /// What came of a task that was to take so long.
    fn judge(
        &mut self,
        start: Moment,
        duration: Duration,
        task: &Task,
        mut counts: Counts,
    ) -> TrialOutput {
        let flooded = task.elsewhere();
        counts.foreign = counts.foreign.saturating_sub(flooded);
        let overrun = task.last_sent().since(start + duration);
        let conditions = Conditions { overrun, ..task.conditions };
        let trial = Trial::judge(duration, counts, &conditions);
        let (arriving, directions) = (task.arriving(), task.directions());
        let beside = task.sent_beside;
        TrialOutput { arriving, flooded, beside, directions, conditions, ..TrialOutput::of(trial) }
    }

    /// A device that knows nothing but its configuration and the hosts.
    pub(super) fn renew(&mut self) -> Result<(), Stop> {
        self.place.renew()?;
        self.place.tester().introduce_again();
        self.introduce()
    }
}

impl<P: Testbed> Measurer for Bench<'_, P> {
    fn trial(&mut self, input: &TrialInput) -> Result<TrialOutput, Stop> {
        // Every trial of a mesh has its learning frames: a host may have aged since the last.
        if self.plan.traffic.mesh().is_some() && !std::mem::take(&mut self.introduced) {
            self.introduce()?;
            self.introduced = false;
        }
        match *input {
            TrialInput::Steady { load, duration, tag } => self.steady(load, duration, tag),
            TrialInput::Burst { frames } => self.burst(frames),
            TrialInput::StepDown { high, high_for, low, low_for } => {
                self.step_down((high, high_for), (low, low_for))
            }
            TrialInput::Reset { load, before, after } => self.reset(load, before, after),
            TrialInput::Establish { connections, rate, validation } => {
                self.establish(connections, rate, validation)
            }
            TrialInput::TearDown { connections } => self.tear_down(connections),
            TrialInput::Learn { addresses, rate } => self.learn(addresses, rate),
            TrialInput::Broadcast { load, duration } => self.broadcast(load, duration),
            TrialInput::Congestion { load, duration } => self.congestion(load, duration),
            TrialInput::Flood { frame, load, duration } => {
                let frame = std::mem::replace(&mut self.frame, frame.into());
                let output = self.steady(load, duration, None);
                self.frame = frame;
                output
            }
            TrialInput::Tcp(load) => self.tcp(load),
            TrialInput::Streams { duration, most } => self.streams(duration, most),
        }
    }
}

#[cfg(test)]
mod tests;
