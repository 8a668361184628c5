//! A bench: a tester and a device in a place that has time, as a measurer of the procedures.
//!
//! ```text
//!  TrialInput ─► streams, senders ─► Duty ─► Place::run ─► counts, latencies ─► TrialOutput
//!                                              └ real (two cores) or simulated (virtual time)
//! ```
//!
//! The order of a trial is RFC 2544 §23's: the device is introduced and what it learns it learns
//! before; senders stop, the tester listens on, and only then is anything read.

use super::beside::{Asked, Shares};
use super::plan::{Modifier, Plan, Traffic};
use super::tester::{Duty, Tester, mac, stream, template};
use measure::procedure::{Measurer, Stop, Tag, TrialInput, TrialOutput};
use measure::schedule::{Load, Pace, Schedule};
use measure::suite_result::TesterAlone;
use measure::trial::{Conditions, Counts, Outcome, Trial};
use measure::watch::{Delays, Losses, Silence, Tuple, Watch};
use measure::{Field, Pick, Sender, Stream, StreamPlan, Template, Values, Variation};
use port::Port;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{BitRate, FrameLen, MacAddr, Moment, PacketRate};

/// Where tester and device are, and what time is there.
pub trait Place {
    /// The wires.
    type Wire: Port;

    /// The tester.
    fn tester(&mut self) -> &mut Tester<Self::Wire>;

    /// What time it is.
    fn now(&self) -> Moment;

    /// How long after now a trial begins at the earliest: threads have to be there by then.
    fn lead(&self) -> Duration {
        Duration::ZERO
    }

    /// Runs tester and device until all is sent and nothing comes any more; if `reset_at` is given,
    /// the device is started anew then.
    ///
    /// # Errors
    /// [`Stop`].
    fn run(&mut self, duty: &mut Duty, reset_at: Option<Moment>) -> Result<(), Stop>;

    /// Whether the device can be started anew; else only its owner can.
    fn can_renew(&self) -> bool {
        true
    }

    /// A device that knows nothing, in the old one's place.
    ///
    /// # Errors
    /// [`Stop`].
    fn renew(&mut self) -> Result<(), Stop>;

    /// Makes the device forget all its connections: how many they were, and how long it took; none
    /// where that has no meaning.
    fn forget(&mut self) -> Option<(u64, Duration)> {
        None
    }

    /// With or without a device between the wires: without, it is the tester that is measured.
    ///
    /// # Errors
    /// [`Stop`]: there are no wires to be without one.
    fn bypass(&mut self, without: bool) -> Result<(), Stop>;

    /// Whether there is none between them now.
    fn is_bypassed(&self) -> bool;

    /// What of a measured latency is the wires' own.
    fn wire_time(&self, _frame: FrameLen) -> Duration {
        Duration::ZERO
    }

    /// Whether its time is no clock's.
    fn is_simulated(&self) -> bool {
        false
    }

    /// Frames so far that came through the device and found the tester's own end of a wire full,
    /// beyond what the wires themselves count.
    fn found_no_room(&self) -> u64 {
        0
    }

    /// What is known of the device beyond its configuration, a line each.
    fn witness(&self) -> Vec<String> {
        vec![]
    }

    /// What the device dropped, in its words.
    fn discards(&self) -> String;

    /// How long the machine's host kept the processors for itself so far.
    fn stolen(&self) -> Duration {
        Duration::ZERO
    }
}

/// A bench for one configuration.
pub struct Bench<'a, P> {
    /// Where it stands.
    pub place: P,
    pub(super) plan: &'a Plan,
    pub(super) modifier: Modifier,
    link: BitRate,
    pub(super) frame: FrameLen,
    /// What the device was asked and told meanwhile.
    pub(super) asked: Asked,
}

impl<'a, P: Place> Bench<'a, P> {
    /// A bench in this place, whose wires carry `link`.
    pub fn new(place: P, plan: &'a Plan, modifier: Modifier, link: BitRate) -> Bench<'a, P> {
        let (frame, asked) = (FrameLen::MIN, Asked::default());
        Bench { place, plan, modifier, link, frame, asked }
    }

    /// The wire's highest rate of the frames of now.
    pub fn highest(&self) -> PacketRate {
        self.link.max_frames(self.frame)
    }

    /// Goes on to frames of another length: introduces tester and device to each other, and sees
    /// that frames come through.
    ///
    /// # Errors
    /// [`Stop::Broken`]: they do not.
    pub fn prepare(&mut self, frame: FrameLen) -> Result<(), Stop> {
        // The largest that come through are what TCP is to find out.
        self.meet(if self.plan.is_all_tcp() { FrameLen::MIN } else { frame })?;
        let (mut sent, mut received) = (0, 0);
        for _ in 0..5 {
            let duration = Duration::from_millis(20);
            // Before the senders are made: what is sent earlier than that is no frame of this trial.
            let start = self.start();
            let senders = self.senders(PacketRate(2000.0), duration, Duration::ZERO)?;
            let counts = self.duty(Duty::new(start, senders), None)?.1;
            (sent, received) = (counts.sent, counts.received);
            if sent == received {
                self.frame = frame;
                return Ok(());
            }
        }
        Err(Stop::Broken(format!(
            "the device does not forward: of {sent} frames of {frame} bytes at 2000 a second \
             {received} came back; it dropped {}",
            self.place.discards()
        )))
    }

    /// Goes on to frames of another length, and introduces tester and device to each other.
    pub(super) fn meet(&mut self, frame: FrameLen) -> Result<(), Stop> {
        self.frame = frame;
        self.place.tester().introduce_again();
        self.introduce()
    }

    /// ARP, or a frame of every host.
    fn introduce(&mut self) -> Result<(), Stop> {
        let ports = self.place.tester().wires.len();
        if let Traffic::Hosts { .. } = self.plan.traffic {
            let (start, mut senders) = (self.start(), vec![]);
            for port in 0..ports {
                let template = template(self.plan, port, (port + 1) % ports, None);
                let stream = self.plain(port as u8, template, Variation::NONE)?;
                senders.push(vec![self.sender(stream, PacketRate(1000.0), 3, Duration::ZERO)?]);
            }
            // Twice: the second time everybody is known.
            self.duty(Duty::new(start, senders), None)?;
            return Ok(());
        }
        for _ in 0..20 {
            self.duty(Duty::new(self.place.now(), vec![]), None)?;
            if self.place.tester().device_macs[..2].iter().all(Option::is_some) {
                return Ok(());
            }
            self.place.tester().ask_again();
        }
        let macs = &self.place.tester().device_macs;
        let silent =
            self.plan.ends.iter().zip(macs).enumerate().find(|(_, (_, mac))| mac.is_none());
        let (port, address) = silent.map_or((0, 0), |(port, (end, _))| (port, end.device));
        Err(Stop::Broken(format!(
            "nobody answers ARP for the device's address, {}, on port {}",
            Ipv4Addr::from(address),
            port + 1
        )))
    }

    /// The tester alone, with no device between the wires: as fast as it can, or (where wires are
    /// simulated) as fast as these go.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn self_test(&mut self, duration: Duration) -> Result<TesterAlone, Stop> {
        // What it did once it can do, however busy the machine was the other times.
        let times = if self.place.is_simulated() { 1 } else { 3 };
        self.place.bypass(true)?;
        let tried: Result<Vec<TesterAlone>, Stop> =
            (0..times).map(|_| self.alone(duration)).collect();
        self.place.bypass(false)?;
        let best = tried?.into_iter().max_by(|a, b| a.rate.total_cmp(&b.rate));
        best.ok_or_else(|| Stop::Broken("the tester was not tried".to_string()))
    }

    fn alone(&mut self, duration: Duration) -> Result<TesterAlone, Stop> {
        let (start, highest) = (self.start(), self.highest());
        let mut senders = self.senders(highest, duration, Duration::ZERO)?;
        if !self.place.is_simulated() {
            for sender in senders.iter_mut().flatten() {
                let schedule = Schedule { load: Load::FullSpeed, start, duration };
                *sender = Sender::new(sender.stream().clone(), schedule);
            }
        }
        let (duty, counts) = self.duty(Duty::new(start, senders), None)?;
        let took = duration.max(duty.last_sent().since(start));
        let each = counts.received as f64 / self.plan.traffic.senders() as f64;
        let rate = each / took.as_secs_f64();
        let floor = match self.place.is_simulated() {
            true => duty.receivers[0].latency().min(),
            false => self.floor(PacketRate((rate / 100.0).max(100.0)), duration)?,
        };
        let wires = self.place.wire_time(self.frame).as_nanos() as u64;
        Ok(TesterAlone {
            frame_size: self.frame.l2(),
            rate,
            latency_floor_ns: floor.saturating_sub(wires),
            lossy: counts.received != counts.sent,
        })
    }

    /// The shortest way of a frame from the tester to itself, in nanoseconds: at a load so low that
    /// none waits until those of its batch are made.
    fn floor(&mut self, load: PacketRate, duration: Duration) -> Result<u64, Stop> {
        let start = self.start();
        let senders = self.senders(load, duration, Duration::ZERO)?;
        let (duty, _) = self.duty(Duty::new(start, senders), None)?;
        Ok(duty.receivers[0].latency().min())
    }

    /// When a trial that is made now begins.
    pub(super) fn start(&self) -> Moment {
        self.place.now() + self.place.lead()
    }

    pub(super) fn device_mac(&mut self, port: usize) -> Option<MacAddr> {
        match self.plan.traffic {
            Traffic::Hosts { .. } => None,
            _ => self.place.tester().device_macs.get(port).copied().flatten(),
        }
    }

    pub(super) fn plain(
        &self,
        id: u8,
        template: Template,
        variation: Variation,
    ) -> Result<Stream, Stop> {
        let (frame, seed) = (self.frame, self.plan.seed ^ u64::from(id));
        let plan = StreamPlan { id, template, frame, variation, seed };
        plan.build().map_err(|bad| Stop::Broken(bad.to_string()))
    }

    pub(super) fn pace(&self, rate: PacketRate) -> Result<Pace, Stop> {
        let pace = if (rate.0 / self.highest().0 - 1.0).abs() < 1e-9 {
            Pace::of_wire(self.link.0 as u64, self.frame)
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
        Ok(Sender::new(stream, Schedule { load, start, duration }).at_most(frames))
    }

    /// The plan's streams at a load from each sending port; numbers from `first` on.
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
            let stream = stream(self.plan, first + port as u8, port, self.frame, device_mac);
            let stream = stream.map_err(|bad| Stop::Broken(bad.to_string()))?;
            senders.push(Sender::new(stream, Schedule { load, start, duration }));
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

    /// Runs a duty and counts.
    pub(super) fn duty(
        &mut self,
        mut duty: Duty,
        reset_at: Option<Moment>,
    ) -> Result<(Duty, Counts), Stop> {
        self.place.tester().begin(&mut duty);
        let full = self.place.found_no_room();
        let ran = self.place.run(&mut duty, reset_at);
        self.note(&duty);
        ran?;
        let mut counts = duty.counts(self.place.tester());
        counts.tester_rx_drop += self.place.found_no_room().saturating_sub(full);
        Ok((duty, counts))
    }

    /// What came of a duty that was to take so long.
    fn judge(
        &mut self,
        start: Moment,
        duration: Duration,
        duty: &Duty,
        counts: Counts,
        stolen: Duration,
    ) -> TrialOutput {
        let overrun = duty.last_sent().since(start + duration);
        let stood_still = duty.stood_still;
        let conditions = Conditions { overrun, stolen, stood_still, ..Conditions::default() };
        TrialOutput::of(Trial::judge(duration, counts, &conditions))
    }

    fn steady(
        &mut self,
        load: PacketRate,
        duration: Duration,
        tag: Option<Tag>,
    ) -> Result<TrialOutput, Stop> {
        let (start, stolen) = (self.start(), self.place.stolen());
        let Shares { rest: load, broadcasts, control } = self.share(load, start, duration)?;
        let senders = self.senders(load, duration, Duration::ZERO)?;
        let frames = (load.0 * duration.as_secs_f64()) as u64;
        let tags = tag.map_or(vec![], |tag| tags(tag, frames, duration));
        let watch = Watch::Delays(Box::new(Delays::new(0, tags)));
        let mut duty = Duty::new(start, senders).watched(watch);
        (duty.beside, duty.control) = (broadcasts, control);
        let (duty, counts) = self.duty(duty, None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        let mut output = self.judge(start, duration, &duty, counts, stolen);
        let wires = self.place.wire_time(self.frame).as_nanos() as u64;
        let mut all = duty.receivers[0].latency();
        if wires > 0 {
            let whole = all.clone();
            all.reset();
            for value in whole.iter_recorded() {
                let ns = value.value_iterated_to().saturating_sub(wires);
                all.saturating_record_n(ns, value.count_at_value());
            }
        }
        output.latency = Some(all);
        if let Watch::Delays(delays) = &duty.watch {
            let tagged = delays.tagged_ns().iter();
            output.tagged_ns = tagged.map(|ns| ns.saturating_sub(wires)).collect();
            output.ipdv_ns = delays.ipdv_ns();
        }
        Ok(output)
    }

    fn burst(&mut self, frames: u64) -> Result<TrialOutput, Stop> {
        let (start, stolen, highest) = (self.start(), self.place.stolen(), self.highest());
        let duration = Duration::from_secs_f64(frames as f64 / highest.0);
        let long = Duration::from_secs(86_400);
        let mut senders = self.senders(highest, long, Duration::ZERO)?;
        for sender in senders.iter_mut().flatten() {
            let (load, start) = (Load::Paced(self.pace(highest)?), start);
            let schedule = Schedule { load, start, duration: long };
            let stream = sender.stream().clone();
            *sender = Sender::new(stream, schedule).at_most(frames);
        }
        let mut duty = Duty::new(start, senders);
        duty.control = self.control(start, duration);
        let (duty, counts) = self.duty(duty, None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        Ok(self.judge(start, duration, &duty, counts, stolen))
    }

    fn step_down(
        &mut self,
        (high, high_for): (PacketRate, Duration),
        (low, low_for): (PacketRate, Duration),
    ) -> Result<TrialOutput, Stop> {
        /// The streams of the second part have numbers from here on.
        const LOW: u8 = 16;
        let (start, stolen) = (self.start(), self.place.stolen());
        let mut senders = self.senders(high, high_for, Duration::ZERO)?;
        let after = self.streams_at(LOW, low, low_for, high_for)?;
        for (all, low) in senders.iter_mut().zip(after) {
            all.extend(low);
        }
        let watch = Watch::Losses(Box::new(Losses::from(LOW)));
        let mut duty = Duty::new(start, senders).watched(watch);
        duty.control = self.control(start, high_for + low_for);
        let (duty, counts) = self.duty(duty, None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        let mut output = self.judge(start, high_for + low_for, &duty, counts, stolen);
        if let Watch::Losses(losses) = &duty.watch {
            let of_low = duty.senders.iter().flatten().filter(|s| s.stream().id() >= LOW);
            let last = of_low.filter_map(|s| losses.last(s.stream().id(), s.sent().offered)).max();
            // When that frame was due is when it was sent: the trial is invalid otherwise.
            output.time = last.map(|n| Duration::from_secs_f64((n + 1) as f64 / low.0));
        }
        Ok(output)
    }

    fn reset(
        &mut self,
        load: PacketRate,
        before: Duration,
        after: Duration,
    ) -> Result<TrialOutput, Stop> {
        let (start, stolen) = (self.start(), self.place.stolen());
        let senders = self.senders(load, before + after, Duration::ZERO)?;
        let reset_at = start + before;
        let watch = Watch::Silence(Silence::ending_after(reset_at));
        let mut duty = Duty::new(start, senders).watched(watch);
        duty.control = self.control(start, before + after);
        let (duty, counts) = self.duty(duty, Some(reset_at))?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        let mut output = self.judge(start, before + after, &duty, counts, stolen);
        if let Watch::Silence(silence) = &duty.watch {
            output.time = silence.longest();
        }
        Ok(output)
    }

    /// A device that knows nothing but its configuration and the hosts.
    pub(super) fn renew(&mut self) -> Result<(), Stop> {
        self.place.renew()?;
        self.place.tester().introduce_again();
        self.introduce()
    }

    /// N frames, N connections; what the responder saw of them.
    fn open(&mut self, n: u64, rate: PacketRate) -> Result<(TrialOutput, Vec<Tuple>), Stop> {
        let template = template(self.plan, 0, 1, self.device_mac(0));
        let fields = vec![
            (Field::SrcPort, Values::Range(1024, 65_535)),
            (Field::DstPort, Values::Range(1, 1000)),
        ];
        let variation = Variation::Flows { fields, count: n as usize, pick: Pick::InTurn };
        let stream = self.plain(0, template, variation)?;
        let (start, stolen) = (self.start(), self.place.stolen());
        let sender = self.sender(stream, rate, n, Duration::ZERO)?;
        let watch = Watch::Tuples(Vec::with_capacity(n as usize));
        let duty = Duty::new(start, vec![vec![sender], vec![]]).watched(watch);
        let (mut duty, counts) = self.duty(duty, None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        let duration = Duration::from_secs_f64(n as f64 / rate.0);
        let output = self.judge(start, duration, &duty, counts, stolen);
        let Watch::Tuples(seen) = std::mem::take(&mut duty.watch) else { unreachable!() };
        Ok((output, seen))
    }

    fn establish(
        &mut self,
        n: u64,
        rate: PacketRate,
        validation: PacketRate,
    ) -> Result<TrialOutput, Stop> {
        self.renew()?;
        let (output, seen) = self.open(n, rate)?;
        if output.trial.outcome != Outcome::Pass {
            return Ok(output);
        }
        // The responder answers each to where it seemed to come from.
        let list = |of: usize| Values::List(seen.iter().map(|t| u64::from(t[of])).collect());
        let fields = [(Field::Src, 1), (Field::Dst, 0), (Field::SrcPort, 3), (Field::DstPort, 2)];
        let fields = fields.map(|(field, of)| (field, list(of), Pick::InTurn)).to_vec();
        let template = template(self.plan, 1, 0, self.device_mac(1));
        let stream = self.plain(1, template, Variation::Fields(fields))?;
        let (start, stolen) = (self.start(), self.place.stolen());
        let sender = self.sender(stream, validation, n, Duration::ZERO)?;
        let (duty, counts) = self.duty(Duty::new(start, vec![vec![], vec![sender]]), None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        let duration = Duration::from_secs_f64(n as f64 / validation.0);
        let back = self.judge(start, duration, &duty, counts, stolen).trial;
        let there = output.trial.counts;
        let both = Counts {
            intended: there.intended + back.counts.intended,
            sent: there.sent + back.counts.sent,
            received: there.received + back.counts.received,
            reordered: there.reordered + back.counts.reordered,
            ..back.counts
        };
        Ok(TrialOutput::of(Trial { counts: both, ..back }))
    }

    fn tear_down(&mut self, n: u64) -> Result<TrialOutput, Stop> {
        self.renew()?;
        // Slowly: this is not about how quickly they are established.
        let (mut output, _) = self.open(n, PacketRate(20_000.0))?;
        match self.place.forget() {
            None => Err(Stop::Broken("forgetting takes no time in virtual time".into())),
            Some((known, time)) => {
                output.time = (known >= n).then_some(time);
                Ok(output)
            }
        }
    }

    /// What a bridge learns of N addresses, shown by port 1, when port 0 sends to each.
    fn learn(&mut self, n: u64, rate: PacketRate) -> Result<TrialOutput, Stop> {
        const FIRST: u64 = 0x0600_0100_0000;
        self.renew()?;
        let ports = self.place.tester().wires.len();
        let addresses = || Values::Range(FIRST, FIRST + n - 1);
        let vary = |field| Variation::Fields(vec![(field, addresses(), Pick::InTurn)]);
        let show = self.plain(0, template(self.plan, 1, 0, None), vary(Field::SrcMac))?;
        let start = self.start();
        let mut senders: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        senders[1].push(self.sender(show, rate, n, Duration::ZERO)?);
        let (duty, counts) = self.duty(Duty::new(start, senders), None)?;
        let duration = Duration::from_secs_f64(n as f64 / rate.0);
        let shown = self.judge(start, duration, &duty, counts, Duration::ZERO);
        if matches!(shown.trial.outcome, Outcome::Invalid(_)) {
            return Ok(shown);
        }
        let to_each = self.plain(1, template(self.plan, 0, 1, None), vary(Field::DstMac))?;
        let (start, stolen) = (self.start(), self.place.stolen());
        let test = PacketRate(rate.0.min(self.highest().0 / 10.0).min(50_000.0));
        let mut senders: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        senders[0].push(self.sender(to_each, test, n, Duration::ZERO)?);
        let duty = Duty::new(start, senders).receiving_on_each_port(start);
        let (duty, mut counts) = self.duty(duty, None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        let flooded = duty.receivers[2..].iter().map(|r| r.total().received).sum();
        counts.received = duty.receivers[1].total().received;
        let duration = Duration::from_secs_f64(n as f64 / test.0);
        let output = self.judge(start, duration, &duty, counts, stolen);
        Ok(TrialOutput { flooded, ..output })
    }

    fn broadcast(&mut self, load: PacketRate, duration: Duration) -> Result<TrialOutput, Stop> {
        let ports = self.place.tester().wires.len();
        let (start, stolen) = (self.start(), self.place.stolen());
        let to_all = Template { dst_mac: MacAddr([0xff; 6]), ..template(self.plan, 0, 1, None) };
        let stream = self.plain(0, to_all, Variation::NONE)?;
        let frames = (load.0 * duration.as_secs_f64()).max(1.0) as u64;
        let mut senders: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        senders[0].push(self.sender(stream, load, frames, Duration::ZERO)?);
        let duty = Duty::new(start, senders).receiving_on_each_port(start);
        let (duty, mut counts) = self.duty(duty, None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        // Each frame is to come out of every other port.
        counts.sent *= ports as u64 - 1;
        counts.intended *= ports as u64 - 1;
        Ok(self.judge(start, duration, &duty, counts, stolen))
    }

    fn congestion(&mut self, load: PacketRate, duration: Duration) -> Result<TrialOutput, Stop> {
        let ports = self.place.tester().wires.len();
        let (start, stolen) = (self.start(), self.place.stolen());
        let frames = |load: PacketRate| (load.0 * duration.as_secs_f64()).max(1.0) as u64;
        let mut senders: Vec<Vec<Sender>> = (0..ports).map(|_| vec![]).collect();
        for (id, from, to, load) in [(0, 0, 2, load * 0.5), (1, 0, 3, load * 0.5), (2, 1, 3, load)]
        {
            let template = Template { dst_mac: mac(to), ..template(self.plan, from, to, None) };
            let stream = self.plain(id, template, Variation::NONE)?;
            senders[from].push(self.sender(stream, load, frames(load), Duration::ZERO)?);
        }
        let (duty, counts) = self.duty(Duty::new(start, senders), None)?;
        let stolen = self.place.stolen().saturating_sub(stolen);
        let output = self.judge(start, duration, &duty, counts, stolen);
        let sent = duty.senders[0].first().map_or(0, |sender| sender.sent().offered);
        Ok(TrialOutput { aside: Some((sent, duty.receivers[0].tally(0).received)), ..output })
    }
}

/// The numbers of the tagged frames among so many.
fn tags(tag: Tag, frames: u64, duration: Duration) -> Vec<u64> {
    let share = tag.after.as_secs_f64() / duration.as_secs_f64().max(1e-9);
    let first = (frames as f64 * share).ceil() as u64;
    let left = frames.saturating_sub(first);
    let n = tag.frames.min(left);
    (0..n).map(|i| first + left * i / n).collect()
}

impl<P: Place> Measurer for Bench<'_, P> {
    fn trial(&mut self, input: &TrialInput) -> Result<TrialOutput, Stop> {
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
                let frame = std::mem::replace(&mut self.frame, frame);
                let output = self.steady(load, duration, None);
                self.frame = frame;
                output
            }
            TrialInput::Tcp(load) => self.tcp(load),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn tagged_frames_are_spread_over_the_rest() {
        let tag = |frames| Tag { after: SECOND * 60, frames };
        assert_eq!(tags(tag(1), 1200, SECOND * 120), [600]);
        assert_eq!(tags(tag(4), 1200, SECOND * 120), [600, 750, 900, 1050]);
        assert_eq!(tags(tag(500), 4, SECOND * 120), [2, 3], "no more than there are");
    }
}
