//! A generator in the kernel: frames made by a BPF program, sent without a copy or a system call
//! each.
//!
//! ```text
//!  Plan ─ open ─► program ─┐                      Schedule ─ start ─► state (shared words)
//!                          ▼                                            ▲
//!  run ─► test run over live frames: page ─► [is one due? ─► write it ─► count] ─► device's queue
//!                                              └ no: page back                      │ 16 at a time
//!                                                       accepted, refused ◄─────────┘ (tracepoint)
//! ```
//!
//! The program looks at the clock for every page it gets (`bpf_ktime_get_ns`, which is
//! `CLOCK_MONOTONIC`): a frame leaves when it is due, at the earliest, and what is late is made up
//! for in bursts, so the offered load is the intended one or [`Sent`] says how much is owed.
//! Every frame made is either accepted by the device or refused, and the kernel's own tracepoints
//! say which; nothing is estimated.
//!
//! The device must be able to transmit XDP frames (`ndo_xdp_xmit`). The far end of a veth pair
//! takes them only while it polls, that is with an XDP program (a
//! [`Counter`](super::Counter)) or with GRO on; until then all are refused, and counted so.
//!
//! Never touches the interface: nothing is attached to it. Missing: **frames longer than a page
//! holds** (3,400 bytes), **several cores on one plan** (open a generator for each).

// Frames, and what changes from one to the next.
pub mod plan;

// The program that makes the frames.
mod program;
// The part of it that writes one stream's frame.
mod write;
// What the device made of the frames.
mod watch;
// What ends the system call when all is sent.
mod alarm;

pub use plan::{BadPlan, Edit, Pick, Plan, Stream};

use alarm::Alarm;

use super::map::Kind;
use super::program::Link;
use super::{Map, Program, SharedArray, clock_ns, interface_index};
use crate::linux::{Namespace, Unavailable};
use std::time::Duration;

/// Makes a plan's frames and sends them out of one interface or several.
pub struct Generator {
    plan: Plan,
    program: Program,
    state: SharedArray,
    /// Held for the program: the devices, and the plan's tables.
    _devices: Map,
    _tables: Option<Map>,
    _watches: [Link; 2],
    schedule: Schedule,
    /// Frames of each stream when the schedule was started.
    before: Vec<u64>,
    /// A frame as long as the longest, from which the kernel's pages are made.
    page: Vec<u8>,
    batch: u32,
}

/// Words of the state that program and process share.
mod word {
    /// Not 0 once nothing is due any more.
    pub(super) const DONE: usize = 0;
    /// When the next frame is due …
    pub(super) const DUE: usize = 1;
    /// … and the fraction of a nanosecond, in `PER`ths.
    pub(super) const FRACTION: usize = 2;
    /// From one frame to the next: whole nanoseconds …
    pub(super) const STEP: usize = 3;
    /// … and `PER`ths.
    pub(super) const STEP_FRACTION: usize = 4;
    pub(super) const PER: usize = 5;
    /// Frames due then or later are not sent.
    pub(super) const END_DUE: usize = 6;
    /// Nothing is sent then or later.
    pub(super) const END_NOW: usize = 7;
    /// No more frames than this.
    pub(super) const AT_MOST: usize = 8;
    /// Frames made since the start.
    pub(super) const MADE: usize = 9;
    pub(super) const LATE_NS_MAX: usize = 10;
    /// When the latest frame was made.
    pub(super) const LAST: usize = 11;
    /// Frames made and not yet seen at the device: more than 0 only while the kernel has software
    /// interrupts disabled for us, on the processor `CPU`.
    pub(super) const PENDING: usize = 12;
    pub(super) const CPU: usize = 13;
    pub(super) const ACCEPTED: usize = 14;
    pub(super) const REFUSED: usize = 15;
    /// What the device said last, as a negative error number.
    pub(super) const ERROR: usize = 16;
    /// Position in the pattern of streams.
    pub(super) const SLOT: usize = 17;
    /// Frames made of each stream since the generator was opened.
    pub(super) const STREAMS: usize = 32;
}

/// When frames are sent. Times are those of [`clock_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// So many frames in so many nanoseconds, all streams together; `None`: as fast as it can.
    pub pace: Option<(u64, u64)>,
    /// When the first frame is due.
    pub start_ns: u64,
    /// Frames due at this time after the start, or later, are not sent any more.
    pub duration: Duration,
    /// No more frames than this.
    pub at_most: u64,
}

/// What was sent since the schedule was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that were due by now (at full speed: those that were made).
    pub intended: u64,
    /// Frames made, each with a sequence number of its own, by stream.
    pub made: Vec<u64>,
    /// Those the device took.
    pub accepted: u64,
    /// Those it did not take: its queue was full, it was down, the frame too long.
    pub refused: u64,
    /// What it said last, as an error number, if any was refused.
    pub error: Option<i32>,
    /// How late the latest frame was, in nanoseconds.
    pub late_ns_max: u64,
    /// When the last frame was made.
    pub last_ns: u64,
}

impl Sent {
    /// All frames made.
    pub fn made(&self) -> u64 {
        self.made.iter().sum()
    }

    /// Frames that were due and have not been made.
    pub fn owed(&self) -> u64 {
        self.intended.saturating_sub(self.made())
    }
}

/// The longest a sleep takes too long, on an idle machine.
const AWAKE_NS: u64 = 2_000_000;

/// How long after the last frame is due the call is ended if that was not sent.
const GRACE_NS: u64 = 100_000_000;

impl Generator {
    /// A generator that sends all of a plan out of this interface of the calling thread's
    /// namespace. It may run in any thread.
    ///
    /// # Errors
    /// [`Unavailable`]: no such interface, no rights, an old kernel.
    pub fn open(interface: &str, plan: Plan) -> Result<Generator, Unavailable> {
        let outs = plan.outs();
        Generator::with(plan, |devices| {
            let index = interface_index(interface)?;
            (0..outs).try_for_each(|out| devices.set(out as u32, index))
        })
    }

    /// A generator that sends each stream out of its interface ([`Stream::out`]), of whatever
    /// namespace it is.
    ///
    /// # Errors
    /// As of [`open`](Self::open); a namespace cannot be entered.
    ///
    /// # Panics
    /// If the plan goes out of more interfaces than there are.
    pub fn through(
        interfaces: &[(&Namespace, &str)],
        plan: Plan,
    ) -> Result<Generator, Unavailable> {
        let (outs, given) = (plan.outs(), interfaces.len());
        assert!(outs <= given, "a plan for {outs} interfaces, and {given} are given");
        Generator::with(plan, |devices| {
            for (out, (namespace, interface)) in interfaces.iter().take(outs).enumerate() {
                let enter = || devices.set(out as u32, interface_index(interface)?);
                namespace.run(enter).unwrap_or_else(|error| {
                    Err(Unavailable::because(format!("find the interface {interface}"), error))
                })?;
            }
            Ok(())
        })
    }

    fn with(
        plan: Plan,
        enter: impl FnOnce(&Map) -> Result<(), Unavailable>,
    ) -> Result<Generator, Unavailable> {
        let devices = Map::new(Kind::Devices, "devices", 4, 4, plan.outs())?;
        enter(&devices)?;
        let state = SharedArray::new("state", word::STREAMS + plan.streams().len())?;
        let tables = program::Tables::of(&plan);
        let tables_map = tables.load()?;
        let code = program::assemble(&plan, &state, &devices, tables_map.as_ref(), &tables)?;
        let program = Program::xdp("generator", &code, false)?;
        let watches = watch::watch(&state)?;
        let page = vec![0; plan.longest()];
        let before = vec![0; plan.streams().len()];
        let over = Schedule { pace: None, start_ns: 0, duration: Duration::ZERO, at_most: 0 };
        let mut generator = Generator {
            plan,
            program,
            state,
            _devices: devices,
            _tables: tables_map,
            _watches: watches,
            schedule: over,
            before,
            page,
            batch: 64,
        };
        generator.start(over);
        Ok(generator)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// From now on the kernel makes so many frames at once: 1 to 256, and 64 if nobody says. After a
    /// batch, not within one, the far ends are woken, and software interrupts have their turn on the
    /// generator's processor. The kernel's pool has as many pages: those of frames that are under
    /// way beyond it are taken anew.
    ///
    /// # Panics
    /// If it is another number.
    pub fn batches_of(&mut self, frames: u32) {
        assert!((1..=256).contains(&frames), "batches of {frames} frames");
        self.batch = frames;
    }

    /// Begins a schedule; counts begin at 0 again, sequence numbers go on.
    ///
    /// # Panics
    /// If the pace is of no frames or no time.
    pub fn start(&mut self, schedule: Schedule) {
        let Schedule { pace, start_ns, duration, at_most } = schedule;
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let end = start_ns.saturating_add(duration_ns);
        // Frame k is due at start + ceil(k · ns / frames).
        let (frames, ns, end_due, end_now) = match pace {
            Some((frames, ns)) => (frames, ns, end, u64::MAX),
            None => (1, 0, u64::MAX, end),
        };
        assert!(frames > 0 && (ns > 0 || pace.is_none()), "a pace of {pace:?}");
        for (at, value) in [
            (word::DUE, start_ns),
            (word::FRACTION, frames - 1),
            (word::STEP, ns / frames),
            (word::STEP_FRACTION, ns % frames),
            (word::PER, frames),
            (word::END_DUE, end_due),
            (word::END_NOW, end_now),
            (word::AT_MOST, at_most),
            (word::MADE, 0),
            (word::LATE_NS_MAX, 0),
            (word::LAST, 0),
            (word::PENDING, 0),
            (word::ACCEPTED, 0),
            (word::REFUSED, 0),
            (word::ERROR, 0),
            (word::DONE, 0),
        ] {
            self.state.set(at, value);
        }
        self.before = self.made_ever();
        self.schedule = schedule;
    }

    /// Sends until everything of the schedule is sent, or `until_ns` has come; whether all is sent.
    /// Keeps the calling thread's processor busy.
    ///
    /// All of it is one system call, which takes some 30 ms to come back after the last frame (the
    /// kernel waits until nobody can know its pool of pages any more). Nothing is sent meanwhile,
    /// so a trial is one call of this. Within a second there should not be many: the pools' memory
    /// is free only when the last of their frames is.
    ///
    /// # Errors
    /// As of [`Program::run_live`]; no timer can be had.
    pub fn run(&mut self, until_ns: u64) -> Result<bool, Unavailable> {
        let alarm = Alarm::new()?;
        loop {
            let now = clock_ns();
            if self.is_done() || now >= until_ns {
                return Ok(self.is_done());
            }
            let due = self.state.get(word::DUE).min(until_ns);
            if due > now + 2 * AWAKE_NS {
                std::thread::sleep(Duration::from_nanos(due - now - AWAKE_NS));
                continue;
            }
            // At a pace, the last frame ends the call; the alarm only if it never came.
            let end = match self.schedule.pace {
                None => self.schedule.end_ns(),
                Some(_) => self.schedule.end_ns().max(now).saturating_add(GRACE_NS),
            };
            alarm.at(end.min(until_ns));
            // At full speed every page is sent; at a pace nobody knows how many will be idle.
            let repeat = match self.schedule.pace {
                None => self.schedule.at_most - self.state.get(word::MADE),
                Some(_) => u64::MAX,
            };
            let repeat = u32::try_from(repeat.saturating_add(1)).unwrap_or(u32::MAX);
            self.program.run_live(&self.page, repeat, self.batch)?;
        }
    }

    /// How many frames of each stream were made since the generator was opened: the next frame's
    /// number in its stream.
    pub fn made_ever(&self) -> Vec<u64> {
        (0..self.plan.streams().len()).map(|i| self.state.get(word::STREAMS + i)).collect()
    }

    /// Whether all frames of the schedule are made.
    pub fn is_done(&self) -> bool {
        self.state.get(word::DONE) != 0
    }

    /// What was sent since the start. While it runs, the numbers may be of different moments.
    pub fn sent(&self) -> Sent {
        let now = clock_ns();
        let get = |at| self.state.get(at);
        let made: Vec<u64> =
            self.made_ever().iter().zip(&self.before).map(|(now, before)| now - before).collect();
        let total = made.iter().sum();
        let error = get(word::ERROR) as i64;
        Sent {
            intended: self.schedule.intended(now).unwrap_or(total),
            made,
            accepted: get(word::ACCEPTED),
            refused: get(word::REFUSED),
            error: (error != 0).then_some(-error as i32),
            late_ns_max: get(word::LATE_NS_MAX),
            last_ns: get(word::LAST),
        }
    }
}

impl Schedule {
    /// When the last frame is due; at full speed, the end.
    fn end_ns(&self) -> u64 {
        let duration = self.duration.as_nanos();
        let last = self.pace.map_or(duration, |(frames, ns)| {
            let last = u128::from(self.at_most.saturating_sub(1)) * u128::from(ns);
            duration.min(last.div_ceil(u128::from(frames)))
        });
        self.start_ns.saturating_add(u64::try_from(last).unwrap_or(u64::MAX))
    }

    /// How many frames are due by `now_ns`; `None` at full speed.
    fn intended(&self, now_ns: u64) -> Option<u64> {
        let (frames, ns) = self.pace?;
        // Frame k is due after ceil(k · ns / frames): those before x are ceil(x · frames / ns).
        let before = |x: u128| (x * u128::from(frames)).div_ceil(u128::from(ns));
        let passed = now_ns.checked_sub(self.start_ns).map_or(0, |ns| u128::from(ns) + 1);
        let due = before(passed.min(self.duration.as_nanos()));
        Some(u64::try_from(due).unwrap_or(u64::MAX).min(self.at_most))
    }
}
