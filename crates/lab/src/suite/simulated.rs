//! Tester and device in virtual time: wires with a rate, a processor that takes its time.
//!
//! ```text
//!  tester ══ wire ══ ring ─► processor: so many ns a frame, now and then a pause ─► router ══ wire ══
//!                    full: dropped, counted
//! ```
//!
//! The router is the real one; what is modelled is how long it takes: a constant for each frame and
//! each of its bytes, and a pause every so often. A frame leaves when its time is over, never
//! before. All of it follows from the plan and its seed: the same on every machine.
//!
//! Never reads a clock. Missing: **what rules cost**: the model's time does not know them.

use super::bench::Testbed;
use super::device::BuiltIn;
use super::inside::Dropped;
use super::plan;
use crate::tester::task::RESIDUAL;
use crate::tester::{Subnet, Task, Tester};
use measure::procedure::Stop;
use port::simulated::{self, Link, SimulatedPort};
use port::slab::{SlabError, Slots};
use port::{Batch, Frame, Pool, Port, PortCounters, Slab};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::{BitRate, FrameLen, Moment};

/// A device in virtual time.
pub struct Simulated {
    tester: Tester<SimulatedPort>,
    ports: Vec<Served>,
    device: BuiltIn,
    slab: Slab,
    pool: Pool,
    model: plan::Simulated,
    now: Moment,
    /// The frame that is worked on: whose port, and when that is over.
    serving: Option<(usize, Moment)>,
    /// The port looked at first.
    turn: usize,
    next_pause: Moment,
    /// While it starts, nothing is received.
    down_until: Moment,
    interrupt: Arc<AtomicBool>,
    without: bool,
}

/// One of the device's ports: a wire, and a ring before the processor.
struct Served {
    wire: SimulatedPort,
    ring: VecDeque<Frame>,
    most: usize,
    /// How many frames the router may take now.
    allow: usize,
    dropped: u64,
}

impl Served {
    /// What has come by now goes into the ring, or is lost if that is full.
    fn pull(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        while self.wire.receive(now, pool, batch) > 0 {
            for frame in batch.drain() {
                if self.ring.len() < self.most {
                    self.ring.push_back(frame);
                } else {
                    self.dropped += 1;
                    pool.free(frame);
                }
            }
        }
    }
}

impl Port for Served {
    fn receive(&mut self, _: Moment, _: &mut Pool, batch: &mut Batch) -> usize {
        let n = self.allow.min(batch.room()).min(self.ring.len());
        self.allow -= n;
        for frame in self.ring.drain(..n) {
            batch.push(frame);
        }
        n
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        self.wire.send(now, pool, batch);
    }

    fn counters(&self) -> PortCounters {
        let wire = self.wire.counters();
        PortCounters { rx_drop: wire.rx_drop + self.dropped, ..wire }
    }
}

/// Frames a wire's own ends hold: more than any ring of a device.
const ENDS: usize = 1 << 13;

const NEVER: Moment = Moment::from_nanos(u64::MAX);

/// No fewer frames, however short the wires are.
const LEAST: usize = 1 << 16;
/// No more, however long they are: 9 GB of ordinary slots, of which what is used takes memory.
const MOST: usize = 1 << 22;
/// What a transmit buffer holds, and what the router may keep for itself.
const KEPT: usize = 1 << 13;

/// How many of the shortest frames there can be at once, in wires, rings and router.
fn frames_under_way(ports: usize, model: &plan::Simulated) -> usize {
    let wire = model.link.max_frames(FrameLen::MIN).0 * model.delay.as_secs_f64();
    // Both ways.
    let wires = 2 * ports * (wire.ceil() as usize).saturating_add(2 * KEPT);
    (wires + ports * model.ring).clamp(LEAST, MOST)
}

/// As many frames, or what of them the system has memory for.
fn slab(mut frames: usize, slots: Slots) -> Result<Slab, SlabError> {
    loop {
        match Slab::with(frames, slots) {
            Err(SlabError::NoMemory(_)) if frames > LEAST => frames = (frames / 2).max(LEAST),
            slab => return slab,
        }
    }
}

impl Simulated {
    /// A device with `n` ports and this configuration, and such slots for frames.
    ///
    /// # Errors
    /// No frames, no such wires, or the script was refused.
    pub fn new(
        (n, slots): (usize, Slots),
        script: &str,
        subnets: Vec<Subnet>,
        model: &plan::Simulated,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Simulated, Stop> {
        let slab = slab(frames_under_way(n, model), slots)
            .map_err(|error| Stop::Broken(format!("no frames for the device: {error}")))?;
        let link = Link { delay: model.delay, rx_ring: ENDS, ..Link::new(model.link) };
        let (mut wires, mut ports) = (vec![], vec![]);
        for port in 0..n {
            let link = match model.bottleneck.filter(|_| port == 0) {
                Some((rate, tx_buffer)) => Link { rate, tx_buffer, ..link },
                None => link,
            };
            let ends = simulated::wire(link).map_err(|bad| Stop::Broken(bad.to_string()))?;
            // What the bottleneck has no room for is lost on the path, and was sent.
            let is_bottleneck = port == 0 && model.bottleneck.is_some();
            wires.push(if is_bottleneck { ends.0.buffering() } else { ends.0 });
            let (ring, most) = (VecDeque::new(), model.ring);
            ports.push(Served { wire: ends.1, ring, most, allow: 0, dropped: 0 });
        }
        Ok(Simulated {
            tester: Tester::new(wires, &slab, subnets),
            ports,
            device: BuiltIn::new(n, &slab, script)?,
            pool: slab.pool(),
            slab,
            model: model.clone(),
            now: Moment::from_nanos(1),
            serving: None,
            turn: 0,
            next_pause: Moment::ZERO + model.pause_every,
            down_until: Moment::ZERO,
            interrupt,
            without: false,
        })
    }

    /// When something is to happen in the device that nobody sends.
    fn next(&self) -> Moment {
        if let Some((_, done)) = self.serving {
            return done;
        }
        let arrivals = self.ports.iter().filter_map(|port| port.wire.next_arrival());
        let arrival = arrivals.min().unwrap_or(NEVER);
        if self.without {
            return arrival;
        }
        let waiting = self.ports.iter().any(|port| !port.ring.is_empty());
        let work = if waiting { self.now } else { arrival };
        work.min(self.device.router.next_due(self.now)).max(self.down_until.min(work))
    }

    /// Whether a frame is anywhere in it.
    fn is_busy(&self) -> bool {
        self.serving.is_some()
            || self.ports.iter().any(|p| !p.ring.is_empty() || p.wire.next_arrival().is_some())
    }

    /// How long frames are waited for after the last one: two seconds, and what the plan's own wires
    /// take, with those that wait for a bottleneck.
    fn patience(&self) -> Duration {
        const LONGEST: FrameLen = FrameLen::with_fcs(9238);
        let queue = |(rate, frames): (BitRate, usize)| frames as f64 / rate.max_frames(LONGEST).0;
        let queue = self.model.bottleneck.map_or(0.0, queue);
        RESIDUAL + 2 * self.model.delay + Duration::from_secs_f64(queue)
    }

    /// Why time stands still: somebody is to send, and there are no frames.
    fn starved(&self) -> Stop {
        let plan::Simulated { link, delay, pause, frame_ns, .. } = self.model;
        let frame = Duration::from_nanos(frame_ns);
        Stop::Broken(format!(
            "no frames are left in virtual time: {} are under way, before a device that takes {frame:?} \
             a frame and pauses for {pause:?}, and in wires of {link:#} that take {delay:?}; it takes a \
             shorter `delay`, `pause` or `frame`, a slower `link` or longer frames",
            self.slab.frames_out()
        ))
    }

    /// What happens in the device at this moment.
    fn step(&mut self, batch: &mut Batch) {
        let Simulated { ports, pool, now, .. } = self;
        let now = *now;
        for port in ports.iter_mut() {
            port.pull(now, pool, batch);
        }
        if self.without {
            for from in 0..ports.len() & !1 {
                while let Some(frame) = ports[from].ring.pop_front() {
                    batch.push(frame);
                    ports[from ^ 1].wire.send(now, pool, batch);
                }
            }
            return;
        }
        if now < self.down_until {
            for port in ports.iter_mut() {
                port.dropped += port.ring.len() as u64;
                port.ring.drain(..).for_each(|frame| pool.free(frame));
            }
            return;
        }
        match self.serving {
            Some((port, done)) if done <= now => {
                ports[port].allow = 1;
                self.device.router.breathe(now, ports);
                ports[port].allow = 0;
                self.serving = None;
            }
            None if self.device.router.next_due(now) <= now => {
                self.device.router.breathe(now, ports);
            }
            _ => {}
        }
        if self.serving.is_none() {
            let n = self.ports.len();
            let waiting =
                (0..n).map(|i| (self.turn + i) % n).find(|&at| !self.ports[at].ring.is_empty());
            if let Some(at) = waiting {
                let len = self.ports[at].ring.front().map_or(0, Frame::len) as u64 + 4;
                self.serving = Some((at, now + self.service(len)));
                self.turn = (at + 1) % n;
            }
        }
    }

    /// How long the next frame takes.
    fn service(&mut self, l2: u64) -> Duration {
        let ns = self.model.frame_ns + l2 * self.model.byte_ps / 1000;
        let mut time = Duration::from_nanos(ns);
        if self.now >= self.next_pause {
            time += self.model.pause;
            while self.next_pause <= self.now {
                self.next_pause = self.next_pause + self.model.pause_every;
            }
        }
        time
    }

    fn start_anew(&mut self) -> Result<(), Stop> {
        self.device.start_anew()?;
        // What it held is gone.
        self.serving = None;
        for port in &mut self.ports {
            port.dropped += port.ring.len() as u64;
            port.ring.drain(..).for_each(|frame| self.pool.free(frame));
        }
        Ok(())
    }
}

impl Testbed for Simulated {
    type Wire = SimulatedPort;

    fn tester(&mut self) -> &mut Tester<SimulatedPort> {
        &mut self.tester
    }

    fn now(&self) -> Moment {
        self.now
    }

    fn run(&mut self, task: &mut Task, mut reset_at: Option<Moment>) -> Result<(), Stop> {
        let mut batch = Batch::new();
        let (mut n, mut before) = (0u32, (Moment::ZERO, 0));
        // Nothing to send: a while for what is asked and answered.
        let until = self.now + Duration::from_millis(5);
        let nothing = task.senders.is_empty();
        let waits = nothing || task.talk.is_some() || task.until_quiet;
        // Interrupted: nothing more is sent, and what is under way comes, in a while.
        let mut leaves = NEVER;
        self.tester.tick(self.now, task);
        loop {
            n = n.wrapping_add(1);
            if n.is_multiple_of(1024) && self.interrupt.load(Ordering::Relaxed) && leaves == NEVER {
                leaves = self.now + self.patience();
            }
            let is_leaving = leaves != NEVER;
            if is_leaving && (task.talk.is_some() || self.now >= leaves) {
                return Err(Stop::Interrupted);
            }
            if n.is_multiple_of(1024) {
                let starved = task.starved();
                if before.0 == self.now && before.1 < starved {
                    return Err(self.starved());
                }
                before = (self.now, starved);
            }
            let arrivals = self.tester.wires.iter().filter_map(SimulatedPort::next_arrival);
            let arrival = arrivals.min().unwrap_or(NEVER);
            let over = if nothing { self.now >= until } else { task.is_done(self.now) };
            let over = over || is_leaving;
            if over && arrival == NEVER && !self.is_busy() {
                break;
            }
            let due = if is_leaving { NEVER } else { task.next_due() };
            let next = self.next();
            let reset = reset_at.unwrap_or(NEVER);
            // After that only what is still under way counts.
            let until = if nothing && self.now < until { until } else { NEVER };
            let at = next.min(arrival).min(due).min(reset).min(until);
            self.now = self.now.max(at);
            // What comes from now on is late. It is taken off the wires: no other trial's load.
            if over && !waits && self.now > task.sent_all() + self.patience() {
                task.close();
            }
            if reset_at.is_some_and(|at| at <= self.now) {
                reset_at = None;
                self.start_anew()?;
                self.down_until = self.now + self.model.boot;
            }
            if next <= self.now {
                self.step(&mut batch);
            }
            if arrival <= self.now && is_leaving {
                self.tester.receive(self.now, task);
            } else if arrival <= self.now || due <= self.now {
                self.tester.tick(self.now, task);
            }
        }
        if leaves != NEVER {
            return Err(Stop::Interrupted);
        }
        // RFC 2544 §23 d, e: nothing is under way, so time costs nothing.
        self.now = self.now + RESIDUAL;
        Ok(())
    }

    fn renew(&mut self) -> Result<(), Stop> {
        self.start_anew()
    }

    fn bypass(&mut self, without: bool) -> Result<(), Stop> {
        self.without = without;
        Ok(())
    }

    fn is_bypassed(&self) -> bool {
        self.without
    }

    fn wire_time(&self, frame: FrameLen) -> Duration {
        let bits = 8.0 * f64::from(8 + frame.l2());
        let first = self.model.bottleneck.map_or(self.model.link, |(rate, _)| rate);
        let line = Duration::from_secs_f64(bits / first.0 + bits / self.model.link.0);
        line + 2 * self.model.delay
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn left_and_came(&self) -> Option<(u64, u64)> {
        let counters = self.tester.wires.iter().map(Port::counters);
        let came = counters.map(|counters| counters.rx_packet + counters.rx_drop).sum();
        // Of what is under way when a trial is interrupted nobody knows.
        let refused: u64 = self.ports.iter().map(|port| port.wire.counters().tx_drop).sum();
        // Those refused while the tester was alone are among them: only differences say something.
        let left = self.device.left().wrapping_sub(refused);
        (!self.without).then_some((left, came))
    }

    fn discards(&self) -> String {
        crate::device::discarded(&self.device.router)
    }

    fn dropped(&self) -> Dropped {
        self.device.dropped(&self.ports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::plan::Allowed;
    use crate::suite::{Device, Options, run, scaled};
    use wire::BitRate;

    fn model(link: BitRate, delay: Duration) -> plan::Simulated {
        let mut model = read("10ms").simulated;
        (model.link, model.delay) = (link, delay);
        model
    }

    /// Two ports, frames of 64 bytes at the rate of wires that are long.
    fn read(delay: &str) -> plan::Plan {
        let text = format!(
            "name = \"long\"\n[device]\n[medium]\nlink = \"1G\"\n[traffic]\n\
             frame-sizes = [64]\nflows = \"pair\"\n\
             [[procedure]]\nkind = \"throughput\"\ncriteria = [\"bisection\"]\n\
             [virtual]\nlink = \"1G\"\nframe = \"10us\"\ndelay = \"{delay}\"\n\
             [virtual.scaling]\ndivide-durations-by = 1000.0\nshortest = \"10ms\"\n\
             precision = \"50%\"\n"
        );
        plan::read(&text, Allowed::default()).unwrap_or_else(|bad| panic!("{bad}\n{text}"))
    }

    #[test]
    fn slabs_hold_what_is_under_way() {
        let (ms, gigabit) = (Duration::from_millis, BitRate::gbps(1.0));
        for (ports, link, delay, least) in [
            (2, gigabit, ms(0), LEAST),
            // 1,488,095 a second in each of four wires.
            (2, gigabit, ms(12), 4 * 17_857),
            (4, gigabit, ms(100), 8 * 148_810),
            (2, BitRate::gbps(100.0), ms(86_400_000), MOST),
        ] {
            let frames = frames_under_way(ports, &model(link, delay));
            assert!((least..=MOST).contains(&frames), "{ports} {link:#} {delay:?}: {frames}");
        }
    }

    fn options(quick: bool) -> Options {
        Options {
            device: Device::BuiltIn,
            text: String::new(),
            script: "/ip address add address=198.18.1.1/24 interface=ether1\n\
                     /ip address add address=198.19.1.1/24 interface=ether2"
                .to_string(),
            quick,
            pair: None,
            interrupt: Arc::new(AtomicBool::new(false)),
            environment: measure::Environment::default(),
        }
    }

    /// Where frames are all under way time went no further, and the run never ended.
    #[test]
    fn wires_that_are_too_long_are_told() {
        let options = options(true);
        let (plan, scaling) = scaled(&read("20ms"), &options);
        let results = run(&plan, scaling, &options, |_| {});
        assert_eq!((results.complete, results.incomplete_because), (true, None));

        let plan = read("20ms");
        let subnets = plan.subnets();
        let (ports, script, stop) = ((2, Slots::STANDARD), &options.script, &options.interrupt);
        let place = Simulated::new(ports, script, subnets, &plan.simulated, stop.clone()).unwrap();
        // As if there were fewer frames: others have them.
        let mut held = vec![];
        let mut pool = place.slab.pool();
        while let Some(frame) = pool.alloc(60) {
            held.push(frame);
        }
        held.drain(..2000).for_each(|frame| pool.free(frame));
        drop(pool);
        let modifier = plan::Modifier::None;
        let mut bench =
            crate::suite::bench::Bench::new(place, &plan, modifier, plan.simulated.link);
        let frame = FrameLen::MIN.into();
        bench.prepare(&frame).unwrap();
        let Err(Stop::Broken(why)) = bench.self_test(Duration::from_millis(30)) else {
            panic!("a thousandth of a second holds 1488 frames")
        };
        assert!(why.contains("frames are left in virtual time: "), "{why}");
        assert!(
            why.contains("wires of 1000.0 Mbps that take 20ms; it takes a shorter `delay`"),
            "{why}"
        );
        assert!(why.contains("takes 10µs a frame and pauses for "), "{why}");
    }

    /// A hundred frames a second, and rings that hold 256: of a trial no more comes than in its own time
    /// and the two seconds after it, and nothing of it in the next one.
    #[test]
    fn frames_that_come_late_are_lost() {
        let text = "name = \"slow\"\n[device]\n[medium]\nlink = \"10M\"\n[traffic]\n\
                    frame-sizes = [64]\nflows = \"pair\"\n\
                    [[procedure]]\nkind = \"throughput\"\ncriteria = [\"bisection\"]\n\
                    trial = \"500ms\"\nconfirmation = \"500ms\"\nprecision = \"10%\"\n\
                    [virtual]\nlink = \"10M\"\nframe = \"10ms\"\nring = 256\n";
        let plan = plan::read(text, Allowed::default()).unwrap_or_else(|bad| panic!("{bad}"));
        let options = options(false);
        let results = run(&plan, None, &options, |_| {});
        assert_eq!((results.incomplete_because.as_deref(), results.faults()), (None, vec![]));
        let cell = &results.cells[0];
        assert!(cell.trials.len() > 3, "{:?}", cell.trials);
        for trial in &cell.trials {
            let counts = (trial.sent, trial.received, trial.foreign);
            assert!(trial.received <= 251 && trial.foreign < 10, "{counts:?}");
        }
        let rate = cell.figures[0].value.unwrap();
        assert!(rate <= 251.0, "{rate}");
        let told = |what: &str| cell.remarks.iter().any(|remark| remark.contains(what));
        assert!(
            told("frames came later than a trial waits") && told("frames came for"),
            "{cell:?}"
        );
    }
}
