//! A case that runs: boxes, hosts and cables in virtual time, from event to event.
//!
//! ```text
//!  calm            storm                              quiet            calm again
//!  who reaches  ►  flows, faults, lines, restarts  ►  undone, idle  ►  everybody reaches whom he
//!  whom?                                                               reached before
//!  └──────── after each breath of a box: fast = slow, frames accounted for, nothing twice ────────┘
//! ```

use super::case::{Case, Harm, Kind, What, address};
use super::client::Client;
use super::dice::Dice;
use super::host::{Came, Host, Mark, Own};
use super::pair::Pair;
use super::reached::Reached;
use router::Link;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::time::Duration;
use wire::Moment;

/// Why a case failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// When, of the virtual time.
    pub at: Moment,
    /// Where, and what is wrong.
    pub what: String,
}

/// What came of a case.
pub struct Outcome {
    /// Nothing, if all is well.
    pub failure: Option<Failure>,
    /// What states were reached.
    pub reached: Reached,
    /// Frames on cables, with their times: the last ones.
    pub frames: Vec<(Moment, Vec<u8>)>,
    /// How many frames there were.
    pub n_frames: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum End {
    Box(usize, usize),
    Host(usize),
}

struct Cable {
    ends: [End; 2],
    delay: Duration,
    /// How it harms frames now: until when, how often of a million times.
    harms: Vec<(Harm, u32, Moment)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive(End, Vec<u8>),
    Breathe(usize),
    Send(usize),
    Happen(usize),
    LinkUp(usize, usize),
    /// Of a pair of hosts, for the how manieth time.
    Probe(u16, u16),
}

struct Net<'a> {
    case: &'a Case,
    now: Moment,
    boxes: Vec<Pair>,
    trees: Vec<[config::Tree; 2]>,
    /// The event that lets a box breathe next.
    due: Vec<Moment>,
    hosts: Vec<Host>,
    cables: Vec<Cable>,
    by_end: HashMap<End, usize>,
    events: BinaryHeap<Reverse<(Moment, u64, Event)>>,
    n_events: u64,
    dice: Dice,
    /// By flow: how many packets were sent, and the client if it is TCP.
    sent: Vec<(u32, Client)>,
    /// By flow and direction: the highest number that came, and all that came.
    came: HashMap<(u16, bool), (u32, HashSet<u32>)>,
    /// Probes that were answered: pairs of hosts, by place.
    answered: HashSet<u16>,
    /// Whether frames may come twice, or out of order.
    twice: bool,
    late: bool,
    frames: VecDeque<(Moment, Vec<u8>)>,
    n_frames: u64,
    /// How many there may be, and what is said of more.
    limit: (u64, &'static str),
    reached: Reached,
}

/// How often a box breathes at least, so that its timers are served.
const BREATH: Duration = Duration::from_millis(20);
/// How long sessions, leases and tunnels have to come up before it is asked who reaches whom.
const SETTLED: Duration = Duration::from_secs(10);
/// How long after the storm everything must be back: longer than an ARP entry is believed.
const QUIET: Duration = Duration::from_secs(40);
/// How long a packet may go on before that, in a circle.
const LAST_HOPS: Duration = Duration::from_secs(2);
/// How often each pair of hosts is tried, and how long apart.
const TRIES: u16 = 4;
const APART: Duration = Duration::from_millis(400);
/// The port by which they are told, where UDP has it in a frame of IPv4 without tags.
const SYNC: [u8; 2] = wire::vrrp_sync::PORT.to_be_bytes();
/// Frames that are kept of a run.
const KEPT: usize = 2000;
/// A storm of more frames than this is not looked at to its end: routes may lead in a circle, and
/// each packet goes round until its TTL is used up.
const MOST_FRAMES: u64 = 2_000_000;
const TOO_MANY: &str = "the storm has too many frames";
/// More frames than this while no flow sends are going round for ever.
const MOST_QUIET: u64 = 300_000;
/// And so many where a storm's last packets are among them.
const MOST_LAST: u64 = 3_000_000;

/// Runs a case to its end, or until something is wrong.
pub(super) fn run(case: &Case) -> Outcome {
    let mut net = match Net::new(case) {
        Ok(net) => net,
        Err(what) => {
            let failure = Some(Failure { at: Moment::ZERO, what });
            return Outcome { failure, reached: Reached::default(), frames: vec![], n_frames: 0 };
        }
    };
    let what = net.all().err().filter(|what| what != TOO_MANY);
    let at = net.now;
    for own in &net.boxes {
        net.reached.note(own.router());
    }
    let Net { reached, frames, n_frames, .. } = net;
    let failure = what.map(|what| Failure { at, what });
    Outcome { failure, reached, frames: frames.into(), n_frames }
}

impl<'a> Net<'a> {
    fn new(case: &'a Case) -> Result<Net<'a>, String> {
        let mut boxes = Vec::new();
        for (number, spec) in case.boxes.iter().enumerate() {
            let pair = Pair::new(number as u8 + 1, spec, case.seed);
            boxes.push(pair.map_err(|error| format!("{}: {error}", spec.name))?);
        }
        let hosts = case.hosts.iter().zip(1..).map(|(spec, number)| Host::new(number, spec));
        let mut by_end = HashMap::new();
        let mut cables = Vec::new();
        for (at, spec) in case.cables.iter().enumerate() {
            let end = |text: &String| end_of(case, text).ok_or(format!("there is no {text}"));
            let ends = [end(&spec.ends[0])?, end(&spec.ends[1])?];
            by_end.extend(ends.map(|end| (end, at)));
            let delay = Duration::from_micros(spec.delay_us.max(1));
            cables.push(Cable { ends, delay, harms: Vec::new() });
        }
        let harms = |how: Harm| {
            let is = |what: &What| matches!(what, What::Harm { how: own, .. } if *own == how);
            case.events.iter().any(|event| is(&event.what))
        };
        Ok(Net {
            now: Moment::ZERO,
            trees: boxes.iter().map(Pair::trees).collect(),
            due: vec![Moment::from_nanos(u64::MAX); boxes.len()],
            boxes,
            hosts: hosts.collect(),
            cables,
            by_end,
            events: BinaryHeap::new(),
            n_events: 0,
            dice: Dice::new(case.seed),
            sent: vec![(0, Client::default()); case.flows.len()],
            came: HashMap::new(),
            answered: HashSet::new(),
            // A bond of mode broadcast sends each frame by every slave.
            twice: harms(Harm::Twice)
                || may_be_two(case)
                || case.boxes.iter().flat_map(|own| &own.lines).any(|l| l.contains("=broadcast")),
            late: may_overtake(case),
            frames: VecDeque::new(),
            n_frames: 0,
            limit: (MOST_FRAMES, TOO_MANY),
            reached: Reached::default(),
            case,
        })
    }

    fn all(&mut self) -> Result<(), String> {
        for at in 0..self.boxes.len() {
            self.breathe_at(at, self.now);
        }
        self.advance(self.now + SETTLED)?;
        let before = self.probe()?;
        let begin = self.now;
        for (flow, spec) in self.case.flows.iter().enumerate() {
            self.at(begin + Duration::from_micros(spec.every_us), Event::Send(flow));
        }
        for (event, spec) in self.case.events.iter().enumerate() {
            self.at(begin + Duration::from_millis(spec.at_ms), Event::Happen(event));
        }
        let end = begin + Duration::from_millis(self.case.storm_ms);
        while self.now < end {
            self.advance((self.now + Duration::from_millis(250)).min(end))?;
            self.compare()?;
        }
        self.events.retain(|Reverse((.., event))| {
            !matches!(event, Event::Send(_) | Event::Happen(_) | Event::LinkUp(..))
        });
        for at in 0..self.boxes.len() {
            for port in 0..self.case.boxes[at].ports {
                self.boxes[at].set_link(port.into(), Link::default(), self.now)?;
            }
            self.boxes[at].restore(&self.trees[at], self.now)?;
            self.breathe_at(at, self.now);
        }
        self.cables.iter_mut().for_each(|cable| cable.harms.clear());
        // What a cable made two of again and again may still be on its way, until its TTL is used up.
        let endless = "frames go round and round though nobody sends";
        self.limit = (self.n_frames + MOST_LAST, endless);
        self.advance(self.now + LAST_HOPS)?;
        self.limit = (self.n_frames + MOST_QUIET, endless);
        self.advance(self.now + QUIET)?;
        self.compare()?;
        self.hosts.iter_mut().for_each(Host::forget);
        let after = self.probe()?;
        self.compare()?;
        let mut lost = before.difference(&after).copied().collect::<Vec<_>>();
        lost.sort_unstable();
        // All at once may be too much for a queue: those that are left try again alone.
        let mut silent = Vec::new();
        for pair in lost {
            if !self.reaches(pair)? {
                silent.push(pair);
            }
        }
        let lost = silent;
        let Some(&pair) = lost.first() else { return Ok(()) };
        let (from, to, own) = self.pair(pair);
        let name = |at: usize| &self.case.hosts[at].name;
        let text = "no longer reaches, though all faults are over and all changes are undone,";
        let whom = own.map_or(String::new(), |own| own.address.to_string());
        let more = lost.len() - 1;
        Err(format!("{} {text} {} at {whom} (and {more} more pairs)", name(from), name(to)))
    }

    /// A pair of hosts by its number, and the second one's address that is meant.
    fn pair(&self, pair: u16) -> (usize, usize, Option<Own>) {
        let (pair, n) = (usize::from(pair), self.hosts.len());
        let (from, to) = (pair / (2 * n), pair % n);
        let host = &self.hosts[to];
        (from, to, if pair % (2 * n) < n { Some(host.v4) } else { host.v6 })
    }

    /// Lets each host ping each other one; the pairs that could.
    fn probe(&mut self) -> Result<HashSet<u16>, String> {
        self.answered.clear();
        let n = self.hosts.len();
        for pair in (0..2 * n * n).filter(|pair| pair / (2 * n) != pair % n) {
            for sequence in 0..TRIES {
                // A little apart, so that they do not all meet in one queue.
                let at = self.now + APART * u32::from(sequence);
                let at = at + Duration::from_micros(137 * (pair / 2) as u64);
                self.at(at, Event::Probe(pair as u16, sequence));
            }
        }
        self.advance(self.now + APART * u32::from(TRIES) + Duration::from_millis(200))?;
        Ok(self.answered.clone())
    }

    /// Whether a pair of hosts has an answer when nobody else sends, and for longer than a router
    /// needs to find out that a neighbour is not where it was (RFC 4861 §7.3: 5 s and three questions).
    fn reaches(&mut self, pair: u16) -> Result<bool, String> {
        const TRIES: u16 = 30;
        self.answered.clear();
        for sequence in 0..TRIES {
            self.at(self.now + APART * u32::from(sequence), Event::Probe(pair, sequence));
        }
        self.advance(self.now + APART * u32::from(TRIES) + Duration::from_millis(200))?;
        Ok(self.answered.contains(&pair))
    }

    fn at(&mut self, at: Moment, event: Event) {
        self.n_events += 1;
        self.events.push(Reverse((at, self.n_events, event)));
    }

    fn breathe_at(&mut self, own: usize, at: Moment) {
        if at < self.due[own] {
            self.due[own] = at;
            self.at(at, Event::Breathe(own));
        }
    }

    fn advance(&mut self, until: Moment) -> Result<(), String> {
        while self.events.peek().is_some_and(|Reverse((at, ..))| *at <= until) {
            let Some(Reverse((at, _, event))) = self.events.pop() else { break };
            self.now = at;
            self.take(event)?;
            if self.n_frames > self.limit.0 {
                return Err(self.limit.1.to_string());
            }
        }
        self.now = until;
        Ok(())
    }

    fn take(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Arrive(End::Box(own, port), frame) => {
                self.boxes[own].receive(port, &frame, self.now);
                self.breathe_at(own, self.now);
            }
            Event::Arrive(End::Host(host), frame) => self.host_receives(host, &frame)?,
            Event::Breathe(own) if self.due[own] == self.now => {
                self.due[own] = Moment::from_nanos(u64::MAX);
                let sent = self.boxes[own].breathe(self.now).map_err(|e| self.about(own, &e))?;
                for (port, frame) in sent {
                    self.carry(End::Box(own, port), frame);
                }
                let errand = self.boxes[own].next_errand(self.now);
                let next = errand.map_or(self.now + BREATH, |at| at.min(self.now + BREATH));
                self.breathe_at(own, next.max(self.now + Duration::from_micros(1)));
            }
            // A breath that came earlier by another reason.
            Event::Breathe(_) => {}
            Event::Send(flow) => self.send(flow),
            Event::Happen(event) => self.happen(event)?,
            Event::LinkUp(own, port) => {
                let (pair, now) = (&mut self.boxes[own], self.now);
                pair.set_link(port, Link::default(), now).map_err(|e| self.about(own, &e))?;
            }
            Event::Probe(pair, sequence) => {
                let mut out = Vec::new();
                let (from, _, own) = self.pair(pair);
                if let Some(own) = own {
                    self.hosts[from].ping(own.address, pair, sequence, &mut out);
                }
                self.leave(from, out);
            }
        }
        Ok(())
    }

    fn about(&self, own: usize, error: &str) -> String {
        format!("{}: {error}", self.case.boxes[own].name)
    }

    fn compare(&mut self) -> Result<(), String> {
        for own in 0..self.boxes.len() {
            self.boxes[own].compare(self.now).map_err(|error| self.about(own, &error))?;
        }
        Ok(())
    }

    fn leave(&mut self, host: usize, frames: Vec<Vec<u8>>) {
        for frame in frames {
            self.carry(End::Host(host), frame);
        }
    }

    /// A frame goes out at one end of a cable, and comes in at the other, or what its faults leave.
    fn carry(&mut self, from: End, mut frame: Vec<u8>) {
        let Some(&at) = self.by_end.get(&from) else { return };
        self.n_frames += 1;
        if frame.get(36..38) == Some(&SYNC) {
            self.reached.see("a backup is told of connections".to_string());
        }
        if self.frames.len() == KEPT {
            self.frames.pop_front();
        }
        self.frames.push_back((self.now, frame.clone()));
        let cable = &mut self.cables[at];
        let [a, b] = cable.ends;
        let to = if a == from { b } else { a };
        let mut arrival = self.now + cable.delay;
        let mut copies = 1;
        let now = self.now;
        cable.harms.retain(|(.., until)| *until > now);
        for &(how, ppm, _) in &cable.harms {
            let dice = &mut self.dice;
            if !dice.ppm(ppm) {
                continue;
            }
            let place = dice.below(frame.len());
            match how {
                Harm::Loss => copies = 0,
                Harm::Twice => copies += 1,
                Harm::Flip if !frame.is_empty() => frame[place] ^= 1 << dice.below(8),
                Harm::Cut => frame.truncate(place),
                Harm::Late => {
                    arrival = arrival + Duration::from_micros(dice.between(100, 3000));
                }
                Harm::Flip => {}
            }
        }
        for _ in 0..copies {
            self.at(arrival, Event::Arrive(to, frame.clone()));
        }
    }

    fn send(&mut self, flow: usize) {
        let spec = &self.case.flows[flow];
        let from = self.case.hosts.iter().position(|host| host.name == spec.from);
        let to = address(&self.case.hosts, &spec.to);
        let (Some(from), Some(to)) = (from, to) else { return };
        let mut out = Vec::new();
        for _ in 0..spec.burst.max(1) {
            let (number, client) = &mut self.sent[flow];
            *number += 1;
            let mark = Mark { flow: flow as u16, answer: false, number: *number };
            if spec.kind == Kind::Odd {
                let dice = &mut self.dice;
                out.extend(self.hosts[from].odd(to, |n| dice.below(n)));
                continue;
            }
            if spec.kind != Kind::Tcp {
                self.hosts[from].datagram(to, spec.kind, mark, spec.len, &mut out);
                continue;
            }
            let (flags, numbers, asks) = client.next();
            let payload = if asks { mark.payload(spec.len) } else { Vec::new() };
            let port = client.port(flow as u16);
            self.hosts[from].segment(to, port, flags, numbers, &payload, &mut out);
        }
        self.leave(from, out);
        self.at(self.now + Duration::from_micros(spec.every_us.max(100)), Event::Send(flow));
    }

    fn host_receives(&mut self, host: usize, frame: &[u8]) -> Result<(), String> {
        let mut out = Vec::new();
        let came = self.hosts[host].receive(frame, &mut out);
        self.leave(host, out);
        match came {
            None => {}
            Some(Came::Pong(pair, _)) => {
                self.answered.insert(pair);
            }
            Some(Came::Segment { port, flags, seq, ack, len }) => {
                let spec = self.case.flows.iter().zip(&mut self.sent).zip(0..);
                for ((spec, (_, client)), flow) in spec {
                    if spec.kind == Kind::Tcp
                        && self.case.hosts[host].name == spec.from
                        && client.port(flow) == port
                    {
                        client.take(flags, seq, ack, len, u32::from(spec.len.max(10)));
                    }
                }
            }
            Some(Came::Marked(mark)) => {
                let seen = self.came.entry((mark.flow, mark.answer)).or_default();
                let (flow, number) = (mark.flow, mark.number);
                if !seen.1.insert(number) && !self.twice {
                    return Err(format!("packet {number} of flow {flow} came twice"));
                }
                if number < seen.0 && !self.late {
                    let last = seen.0;
                    return Err(format!("packet {number} of flow {flow} came after {last}"));
                }
                seen.0 = seen.0.max(number);
            }
        }
        Ok(())
    }

    fn happen(&mut self, event: usize) -> Result<(), String> {
        let now = self.now;
        let place = |name: &str| self.case.boxes.iter().position(|own| own.name == name);
        match &self.case.events[event].what {
            What::Harm { cable, how, ppm, for_ms } => {
                let end = end_of(self.case, cable);
                if let Some(&at) = end.and_then(|end| self.by_end.get(&end)) {
                    let until = now + Duration::from_millis(*for_ms);
                    self.cables[at].harms.push((*how, *ppm, until));
                    self.reached.see(format!("harm {how:?}"));
                }
            }
            What::Type { at, line } => {
                let Some(own) = place(at) else { return Ok(()) };
                match self.boxes[own].run(line, now) {
                    Ok(_) => self.reached.see("typed".to_string()),
                    // What is there already, or not there: the same for both.
                    Err(error) if !error.starts_with("DIFFERENT") => {
                        self.reached.see("refused".to_string());
                    }
                    Err(error) => return Err(self.about(own, &format!("{line}: {error}"))),
                }
                self.breathe_at(own, now);
            }
            What::Restart { at } => {
                let Some(own) = place(at) else { return Ok(()) };
                let trees = self.boxes[own].trees();
                self.boxes[own].restart(now).map_err(|error| self.about(own, &error))?;
                // Items have other numbers now; what is undone later is what it was begun with.
                match trees == self.trees[own] {
                    true => self.trees[own] = self.boxes[own].trees(),
                    false => self.boxes[own].is_renumbered = true,
                }
                self.due[own] = Moment::from_nanos(u64::MAX);
                self.breathe_at(own, now);
                self.reached.see("restarted".to_string());
            }
            What::Flap { port, for_ms } => {
                let Some(End::Box(own, port)) = end_of(self.case, port) else { return Ok(()) };
                let down = Link { running: false, ..Link::default() };
                self.boxes[own].set_link(port, down, now).map_err(|e| self.about(own, &e))?;
                self.at(now + Duration::from_millis(*for_ms), Event::LinkUp(own, port));
                self.breathe_at(own, now);
                self.reached.see("flapped".to_string());
            }
        }
        Ok(())
    }
}

/// Whether packets of a flow may overtake each other: late ones do; so do those that a route led in a
/// circle until it was back (one by a mark too, which FastTrack's are not given any more), and
/// FastTrack's, which do not wait in queues as those before them did. TCP is connections one after the
/// other, which fair queues tell apart.
fn may_overtake(case: &Case) -> bool {
    let has =
        |word: &str| case.boxes.iter().flat_map(|own| &own.lines).any(|line| line.contains(word));
    let disturbs = |what: &What| match what {
        What::Harm { how, .. } => *how == Harm::Late,
        What::Type { .. } | What::Restart { .. } | What::Flap { .. } => true,
    };
    case.events.iter().any(|event| disturbs(&event.what))
        || may_be_two(case)
        || has("fasttrack") && (has("/queue") || has("routing-mark"))
        || (has("/queue type") && case.flows.iter().any(|flow| flow.kind == Kind::Tcp))
}

/// Whether two routers may have a virtual address at once: they do not hear each other for a while, or never,
/// as where a rule takes the TTL of what one of them says.
fn may_be_two(case: &Case) -> bool {
    case.boxes.iter().any(super::draw::is_backup)
}

/// The end that is written so: `box:port`, or a host's name.
fn end_of(case: &Case, text: &str) -> Option<End> {
    let Some((name, port)) = text.split_once(':') else {
        return case.hosts.iter().position(|host| host.name == text).map(End::Host);
    };
    let own = case.boxes.iter().position(|own| own.name == name)?;
    let port = port.parse::<u8>().ok().filter(|port| (1..=case.boxes[own].ports).contains(port))?;
    Some(End::Box(own, usize::from(port) - 1))
}
