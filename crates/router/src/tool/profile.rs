//! `/tool profile`: what the router's time goes to.
//!
//! ```text
//! breath ─ receive ─ fast or slow ─ flush ─┬─ 250 of 251: only how long it took, busy or idle
//!            │          │           │      └─ 1 of 251: a mark at every box and pass
//!            ethernet   networking  ethernet, firewall, queuing, bridging …
//! ```
//!
//! True shares: the time of all breaths is measured while a profile runs, and shared out in the
//! proportions of those that are looked at box by box. What reading the counter costs is measured
//! first, taken off each reading and shown as `profiling`. While a session has the router
//! ([`Router::in_session`]), time is management's; after a breath that received nothing it is idle,
//! for its owner may sleep then.
//!
//! The router reads no clock: its owner gives it one for this purpose
//! ([`Router::set_profiler`]; [`port::cycles::NOW`]). In virtual time there is none, and nothing to
//! measure.
//!
//! Cost: while no profile runs, a branch a breath and one a box of the slow path; the replay of
//! recipes is compiled a second time with marks, so that its usual form has none.
//! `cargo bench -p router --bench profile` compares off and on in turns of one run: 13.75 and 13.78 ns
//! a packet of FastPath, 20.66 and 20.75 of recipes behind 25 rules; over three runs +0.25 to +0.37 %
//! and +0.43 to +0.76 %. (With two readings of the clock a breath it was 1.33 %.)
//!
//! Missing: **logging** and **routing** apart (they count where they happen), and **other cores**
//! (a router is on one).

use crate::router::Router;
use crate::step::Step;
use config::{
    Call, Command, Display, Group, Job, Progress, Property, Record, Reply, Started, Type, Unnamed,
    Value,
};
use std::fmt::Write;
use std::time::Duration;
use wire::Moment;

/// `/tool profile`.
pub(crate) static COMMAND: Command = Command {
    menu: "/tool",
    name: "profile",
    unnamed: Unnamed::Nothing,
    parameters: &[
        Property::new(
            "cpu",
            Type::Or(&["all", "total"], &Type::Number(0, 0)),
            "Each core by itself (all, or its number), or together (total). A router is on one.",
        )
        .default("total"),
        Property::new("duration", Type::Time, "For how long; until it is interrupted if left out."),
        Property::new("freeze-frame-interval", Type::Time, "How often to show it.").default("1s"),
    ],
    display: Display::Redraw(show),
    help: "Shows what the router's time goes to, in percent.",
};

/// What time goes to, as RouterOS calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Facility {
    /// Ports: receiving and sending.
    Ethernet,
    /// IP: routing, neighbours, ICMP.
    Networking,
    /// Filter, NAT, connection tracking.
    Firewall,
    /// Simple queues.
    Queuing,
    /// Bridges, and their filter.
    Bridging,
    /// Sessions, and changes of the configuration.
    Management,
    /// This.
    Profiling,
    /// What was not looked at.
    Unclassified,
    /// Nothing.
    Idle,
}

use Facility::{
    Bridging, Ethernet, Firewall, Idle, Management, Networking, Profiling, Queuing, Unclassified,
};

impl Facility {
    /// All of them.
    pub const ALL: [Facility; 9] = [
        Ethernet,
        Networking,
        Firewall,
        Queuing,
        Bridging,
        Management,
        Profiling,
        Unclassified,
        Idle,
    ];

    /// As printed.
    pub const fn name(self) -> &'static str {
        match self {
            Ethernet => "ethernet",
            Networking => "networking",
            Firewall => "firewall",
            Queuing => "queuing",
            Bridging => "bridging",
            Management => "management",
            Profiling => "profiling",
            Unclassified => "unclassified",
            Idle => "idle",
        }
    }

    /// Whose a box is.
    const fn of(step: Step) -> Facility {
        match step {
            Step::BridgeDstNat
            | Step::BridgingDecision
            | Step::BridgeForward
            | Step::BridgeSrcNat
            | Step::BridgeInput
            | Step::BridgeOutput => Bridging,
            Step::RawPrerouting
            | Step::TrackPrerouting
            | Step::ManglePrerouting
            | Step::DstNat
            | Step::MangleForward
            | Step::FilterForward
            | Step::MangleInput
            | Step::FilterInput
            | Step::RawOutput
            | Step::TrackOutput
            | Step::MangleOutput
            | Step::FilterOutput
            | Step::ManglePostrouting
            | Step::SrcNat => Firewall,
            Step::HtbGlobalInput
            | Step::SimpleQueuesInput
            | Step::HtbGlobal
            | Step::SimpleQueues
            | Step::InterfaceHtb => Queuing,
            _ => Networking,
        }
    }
}

type Times = [u64; Facility::ALL.len()];

/// One breath in so many is looked at box by box: often enough for a second's shares, and a prime,
/// so that it does not fall in step with anything.
const EVERY: u32 = 251;

/// What a router counts while a profile runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profiler {
    clock: Option<fn() -> u64>,
    /// Profiles that run.
    running: u32,
    /// This breath is looked at box by box.
    pub(crate) sampling: bool,
    breaths: u32,
    /// What reading the clock costs.
    reading: u64,
    /// Until when all time is shared out, and whose the time behind it is.
    shared_out: u64,
    state: State,
    /// What is being done, since when, and what time a packet goes back to.
    here: u8,
    since: u64,
    home: u8,
    /// Of this breath, and of all breaths looked at that had something to do.
    breath: Times,
    sampled: Times,
    /// Of all time since the last reading.
    busy: u64,
    idle: u64,
    managed: u64,
}

/// What the router is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Breathing with nothing to do, or waiting for the next breath.
    #[default]
    Idle,
    /// Breathing, frames in hand.
    Busy,
    /// Nothing: a session has it.
    Managed,
}

impl Profiler {
    /// A breath begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if self.running != 0 {
            self.begin_breath();
        }
    }

    /// A session has the router, or has it no longer.
    pub(crate) fn in_session(&mut self, begins: bool) {
        if self.running != 0 {
            self.share_out(if begins { State::Managed } else { State::Idle });
        }
    }

    /// It ends, having received something, or done something else that was due, or neither.
    #[inline]
    pub(crate) fn end(&mut self, received: bool, worked: bool) {
        if self.running != 0 {
            self.end_breath(received, worked);
        }
    }

    /// From here on time is this facility's.
    #[inline]
    pub(crate) fn enter(&mut self, facility: Facility) {
        if self.sampling {
            self.mark(facility as u8);
        }
    }

    /// From here on, and whenever a packet is at its end.
    #[inline]
    pub(crate) fn settle_in(&mut self, facility: Facility) {
        if self.sampling {
            self.home = facility as u8;
            self.mark(facility as u8);
        }
    }

    /// A packet is at its end.
    #[inline]
    pub(crate) fn go_home(&mut self) {
        if self.sampling {
            self.mark(self.home);
        }
    }

    /// A packet comes to a box.
    #[inline]
    pub(crate) fn at(&mut self, step: Step) {
        if self.sampling {
            self.mark(Facility::of(step) as u8);
        }
    }

    fn now(&self) -> u64 {
        self.clock.map_or(0, |clock| clock())
    }

    /// One reading a breath: the time since the last one belongs to what the breath before was.
    #[cold]
    fn begin_breath(&mut self) {
        self.share_out(State::Busy);
        self.breaths = self.breaths.wrapping_add(1);
        self.sampling = self.breaths.is_multiple_of(EVERY);
        if self.sampling {
            let now = self.shared_out;
            (self.here, self.since, self.breath) = (Ethernet as u8, now, Times::default());
        }
    }

    #[cold]
    fn end_breath(&mut self, received: bool, worked: bool) {
        if self.sampling {
            self.mark(Ethernet as u8);
            self.sampling = false;
            if received || worked {
                for (sum, time) in self.sampled.iter_mut().zip(self.breath) {
                    *sum += time;
                }
            }
        }
        match (received, worked) {
            (true, _) => self.state = State::Busy,
            // Chores, and then perhaps a sleep.
            (false, true) => self.share_out(State::Idle),
            (false, false) => self.state = State::Idle,
        }
    }

    /// Up to now time belongs to the state there was.
    fn share_out(&mut self, next: State) {
        let now = self.now();
        let time = now.saturating_sub(self.shared_out);
        match self.state {
            State::Idle => self.idle += time,
            State::Busy => self.busy += time,
            State::Managed => self.managed += time,
        }
        (self.shared_out, self.state) = (now, next);
    }

    #[cold]
    fn mark(&mut self, to: u8) {
        let now = self.now();
        let spent = now.saturating_sub(self.since);
        self.breath[usize::from(self.here)] += spent.saturating_sub(self.reading);
        self.breath[Profiling as usize] += spent.min(self.reading);
        (self.here, self.since) = (to, now);
    }

    fn start(&mut self) {
        if self.running == 0 {
            *self = Profiler { clock: self.clock, ..Profiler::default() };
            let readings = (0..64).map(|_| {
                let first = self.now();
                self.now().saturating_sub(first)
            });
            self.reading = readings.min().unwrap_or(0);
            self.shared_out = self.now();
        }
        self.running += 1;
    }

    fn stop(&mut self) {
        self.running = self.running.saturating_sub(1);
        self.sampling = false;
    }

    /// The shares since the last call, in tenths of a percent; together they are 1000.
    fn shares(&mut self) -> [u64; Facility::ALL.len()] {
        tenths(self.times())
    }

    /// The counter's steps since the last call, by facility.
    fn times(&mut self) -> [u128; Facility::ALL.len()] {
        let mut times: [u128; Facility::ALL.len()] = [0; Facility::ALL.len()];
        let looked_at: u64 = self.sampled.iter().sum();
        for (time, &sampled) in times.iter_mut().zip(&self.sampled) {
            if looked_at != 0 {
                *time = u128::from(self.busy) * u128::from(sampled) / u128::from(looked_at);
            }
        }
        if looked_at == 0 {
            times[Unclassified as usize] = u128::from(self.busy);
        }
        times[Management as usize] += u128::from(self.managed);
        times[Idle as usize] += u128::from(self.idle);
        (self.busy, self.idle, self.managed, self.sampled) = (0, 0, 0, Times::default());
        times
    }
}

/// Tenths of a percent that add up to 1000: what is cut off goes to those that lost most.
fn tenths(times: [u128; Facility::ALL.len()]) -> [u64; Facility::ALL.len()] {
    let total: u128 = times.iter().sum();
    let mut shares = [0; Facility::ALL.len()];
    if total == 0 {
        shares[Idle as usize] = 1000;
        return shares;
    }
    for (share, time) in shares.iter_mut().zip(times) {
        *share = (time * 1000 / total) as u64;
    }
    let mut by_loss: Vec<usize> = (0..shares.len()).collect();
    by_loss.sort_by_key(|&at| std::cmp::Reverse(times[at] * 1000 % total));
    let left = 1000 - shares.iter().sum::<u64>();
    for &at in by_loss.iter().take(left as usize) {
        shares[at] += 1;
    }
    shares
}

impl Router {
    /// Gives the router something to measure its own work by: a counter that goes forward evenly,
    /// such as [`port::cycles::NOW`]. `None` (in virtual time) makes `/tool profile` refuse.
    pub fn set_profiler(&mut self, clock: Option<fn() -> u64>) {
        self.tools.profiler = Profiler { clock, ..Profiler::default() };
    }

    /// Begins to look at what the router's time goes to, for who owns it: `/tool profile` without a
    /// console. Measures nothing if the router has no counter ([`Router::set_profiler`]).
    pub fn begin_profile(&mut self) {
        self.tools.profiler.start();
    }

    /// Ends that, and says what it went to, in steps of the counter.
    pub fn end_profile(&mut self) -> impl Iterator<Item = (Facility, u64)> + use<> {
        let times = self.tools.profiler.times();
        self.tools.profiler.stop();
        let times = times.map(|time| u64::try_from(time).unwrap_or(u64::MAX));
        Facility::ALL.into_iter().zip(times).filter(|&(_, time)| time > 0)
    }

    /// Tells a running `/tool profile` that between two breaths a session has the router, or has it
    /// no longer: that time is `management`.
    pub fn in_session(&mut self, begins: bool) {
        self.tools.profiler.in_session(begins);
    }
}

/// Starts `/tool profile`.
pub(super) fn start(r: &mut Router, call: &Call, now: Moment) -> Result<Started<Router>, String> {
    if r.tools.profiler.clock.is_none() {
        return Err("failure: nothing takes time here: in virtual time there is no profile".into());
    }
    let time = |name| match call.argument(name) {
        Some(Value::Time(time)) => Some(time),
        _ => None,
    };
    let interval = time("freeze-frame-interval").unwrap_or_default();
    if !(Duration::from_millis(100)..=Duration::from_secs(60)).contains(&interval) {
        return Err("value of freeze-frame-interval out of range (100ms..1m)".to_string());
    }
    let cpu = match call.argument("cpu") {
        Some(Value::Text(total)) if total == "total" => Value::Text("all".to_string()),
        _ => Value::Number(0),
    };
    let end = time("duration").map(|duration| now + duration);
    r.tools.profiler.start();
    Ok(Started::Job(Box::new(Profile { cpu, interval, next: now + interval, end })))
}

/// A profile under way.
struct Profile {
    cpu: Value,
    interval: Duration,
    next: Moment,
    end: Option<Moment>,
}

impl Job<Router> for Profile {
    fn poll(
        &mut self,
        r: &mut Router,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        let over = self.end.is_some_and(|end| end <= now);
        if now >= self.next || over {
            self.next = now + self.interval;
            let shares = r.tools.profiler.shares();
            let mut rows: Vec<_> = Facility::ALL.into_iter().zip(shares).collect();
            rows.retain(|&(facility, share)| share > 0 || facility == Idle);
            rows.sort_by_key(|&(facility, _)| facility.name());
            out.extend(rows.into_iter().map(|(facility, share)| {
                let usage = format!("{}.{}%", share / 10, share % 10);
                Record::default()
                    .with("name", Value::Text(facility.name().to_string()))
                    .with("cpu", self.cpu.clone())
                    .with("usage", Value::Text(usage))
            }));
        }
        if over {
            return Ok(Progress::Done(Reply::Nothing));
        }
        Ok(Progress::Again(self.end.map_or(self.next, |end| end.min(self.next))))
    }

    fn stop(&mut self, r: &mut Router, _: Moment) {
        r.tools.profiler.stop();
    }
}

/// `NAME CPU USAGE`.
fn show(group: &Group) -> String {
    if group.records.is_empty() {
        return String::new();
    }
    let mut out = format!("{:<24}{:>3}{:>12}\n", "NAME", "CPU", "USAGE");
    for record in group.records {
        let text = |name| record.get(name).map_or(String::new(), ToString::to_string);
        let _ = writeln!(out, "{:<24}{:>3}{:>12}", text("name"), text("cpu"), text("usage"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let check = |times: [u128; 9]| {
            let shares = tenths(times);
            assert_eq!(shares.iter().sum::<u64>(), 1000, "{times:?}");
            shares
        };
        assert_eq!(check([0; 9])[Idle as usize], 1000);
        assert_eq!(check([1, 1, 1, 0, 0, 0, 0, 0, 0])[..3], [334, 333, 333]);
        assert_eq!(check([7, 0, 0, 0, 0, 0, 0, 0, 993])[..2], [7, 0]);
        check([u64::MAX.into(), 1, 2, 3, 4, 5, 6, 7, u64::MAX.into()]);
    }

    #[test]
    fn breaths_are_shared_out_as_the_ones_looked_at() {
        // A clock that ticks by itself: each reading is ten later than the last.
        fn ticks() -> u64 {
            thread_local!(static NOW: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
            NOW.with(|now| {
                now.set(now.get() + 10);
                now.get()
            })
        }
        let mut profiler = Profiler { clock: Some(ticks), ..Profiler::default() };
        profiler.begin();
        profiler.end(true, false);
        assert_eq!(profiler.busy, 0, "nothing is measured while no profile runs");
        profiler.start();
        assert_eq!(profiler.reading, 10);
        profiler.reading = 0;
        for n in 0..EVERY * 4 {
            let works = n % 2 == 0;
            profiler.begin();
            if works {
                profiler.settle_in(Networking);
                profiler.at(Step::FilterForward);
                profiler.at(Step::PhysicalOut);
            }
            profiler.end(works, false);
            if n % 8 == 0 {
                profiler.in_session(true);
                profiler.in_session(false);
            }
        }
        let shares = profiler.shares();
        let of = |facility: Facility| shares[facility as usize];
        assert!((of(Firewall) * 2).abs_diff(of(Networking)) <= 1, "{shares:?}");
        assert!(of(Idle) > 0 && of(Management) > 0 && of(Unclassified) == 0, "{shares:?}");
        // What follows chores is idle, the chores are not.
        profiler.begin();
        profiler.end(false, true);
        profiler.begin();
        profiler.end(false, true);
        profiler.begin();
        assert_eq!((profiler.busy, profiler.managed), (20, 0));
        assert!(profiler.idle >= 20, "{}", profiler.idle);
        profiler.stop();
        assert!(!profiler.sampling);
    }
}
