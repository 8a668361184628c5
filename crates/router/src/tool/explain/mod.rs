//! `/tool explain`: a packet's way through this router, in words, and why it is not faster.
//!
//! ```text
//! arguments ─► question: a frame ─► trial router ─► story ─► words: rows     ─► terminal
//!                                       │                └─► picture: SVG    ─► a file
//!                                       └─► conversation: the path of the next packets, and why
//! ```
//!
//! Our own: RouterOS has nothing like it. The packet goes through the very code that carries
//! packets, on a trial router beside the real one; nothing is counted, sent, learnt or
//! asked. So what it says is what will happen, dice and token buckets included, as long as nothing
//! else comes first.
//!
//! Missing: **fragments** and **options** as arguments, and **what comes out of tunnels** (there
//! are none).

// How the next packets travel, tried out.
mod next;
// The same of IPv6: the frames of a conversation.
mod next6;
// The frame that is asked about.
mod question;
// The same of IPv6.
mod question6;
// Why not faster, and what to change.
mod reason;
// A router to try things on.
mod trial;
// The story in words.
mod words;

use crate::discard::Discard;
use crate::flow;
use crate::interface::InterfaceId;
use crate::router::Router;
use crate::step::Step;
use crate::story::{Event, Near, tuple};
use crate::tool::{Told, picture};
use config::{Call, Command, Display, Group, Record, Started, Tree, Unnamed, Value};
use question::Question;
use std::fmt::Write;
use trial::Concerned;
use wire::Moment;
use wire::layers;

pub use reason::Reason;

/// `/tool explain`.
pub(crate) static COMMAND: Command = Command {
    menu: "/tool",
    name: "explain",
    unnamed: Unnamed::Nothing,
    parameters: &question::PARAMETERS,
    display: Display::Append(show),
    help: "Takes a packet through the packet flow in words, and says why it is not faster. Nothing is sent.",
};

/// What became of the packet at a box, or of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It went on.
    #[default]
    Passes,
    /// The box is not built, and lets everything through.
    Missing,
    /// The rule matched.
    Matches,
    /// A condition of the rule did not hold.
    NoMatch,
    /// It ended.
    Drops,
    /// It left the router.
    Sent,
    /// It is kept until something happens.
    Waits,
    /// The router answers.
    Answers,
    /// The router makes a packet of its own.
    Makes,
}

impl Verdict {
    /// As programs get it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Passes => "passes",
            Verdict::Missing => "missing",
            Verdict::Matches => "matches",
            Verdict::NoMatch => "no-match",
            Verdict::Drops => "drops",
            Verdict::Sent => "sent",
            Verdict::Waits => "waits",
            Verdict::Answers => "answers",
            Verdict::Makes => "makes",
        }
    }
}

/// One line of the explanation: a box, a rule, or a remark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The box, if the line is one's.
    pub step: Option<Step>,
    /// The rule's number as `print` shows it, if the line is a rule's.
    pub rule: Option<usize>,
    /// What became of the packet.
    pub verdict: Verdict,
    /// In words.
    pub text: String,
    /// How many packets of the router's own are told of, one within the other.
    pub makes: usize,
    /// How many jumps deep the rule stands.
    pub depth: usize,
}

/// Who carries a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Box by box.
    Slow,
    /// IPv4 FastPath.
    FastPath,
    /// The bridge's FastPath.
    BridgeFastPath,
    /// FastTrack.
    Fasttrack,
    /// A recipe: what a packet before it went through, replayed with all its counters.
    Recipe,
    /// The same code as FastPath, but not counted as it: a port's driver, or a setting, forbids.
    Batch,
}

impl Path {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Slow => "slow path",
            Path::FastPath => "fast path",
            Path::BridgeFastPath => "bridge fast path",
            Path::Fasttrack => "fasttracked",
            Path::Recipe => "recipe",
            Path::Batch => "fast, not counted as fast path",
        }
    }
}

/// What would happen to a packet.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Box by box, rule by rule.
    pub rows: Vec<Row>,
    /// The packet: `udp 10.0.1.1:1000->10.0.2.1:53`.
    pub packet: String,
    /// It ends here: nothing leaves, and the router does not take it.
    pub dropped: bool,
    /// In a few words: `leaves by ether2`, `dropped: filter-drop`.
    pub verdict: String,
    /// The frames that would leave, by port in the order of the ports.
    pub sent: Vec<(InterfaceId, Vec<u8>)>,
    /// What would be discarded.
    pub discards: Vec<Discard>,
    /// Who would carry this packet; `None` for one of the router's own.
    pub path: Option<Path>,
    /// Who would carry the next ones, once both sides talk; `None` if there is nothing to carry.
    pub next: Option<Path>,
    /// The first reason why the next ones are not carried faster.
    pub reason: Option<Reason>,
    /// The boxes on its way, those of packets that the router makes left out.
    pub way: Vec<Step>,
}

/// How often a trial's queues are asked whether somebody may go now: for the packet, and for what is
/// made of it.
const RELEASES: usize = 4;

impl Router {
    /// What would happen to the packet that `/tool explain` is asked about. Nothing changes.
    ///
    /// # Errors
    /// RouterOS's words for arguments that say too little or contradict each other.
    pub fn explain(
        &mut self,
        call: &Call,
        tree: &Tree,
        now: Moment,
    ) -> Result<Explanation, String> {
        let question = Question::read(self, call)?;
        self.explain_frame(question.port, &question.frame, tree, now)
    }

    /// What would happen if this frame came in by this port now, or, without a port, if the router
    /// itself had made it. Nothing changes.
    ///
    /// # Errors
    /// `failure: …` if the frame is longer than frames can be, or there is no memory for a trial.
    pub fn explain_frame(
        &mut self,
        port: InterfaceId,
        frame: &[u8],
        tree: &Tree,
        now: Moment,
    ) -> Result<Explanation, String> {
        let concerned = Concerned::by(&self.program.tunnels, frame);
        let reference = self.reference();
        let quick = |trial: &mut Router| match (port, reference) {
            (InterfaceId::NONE, _) => None,
            (_, true) => Some((Path::Slow, Vec::new())),
            _ => next::carry(trial, now, port, frame),
        };
        let carried = self.on_trial(now, concerned.clone(), quick)?;
        let path = carried.map(|(path, _)| path);
        self.on_trial(now, concerned, |trial| {
            let too_long = || format!("failure: a frame of {} bytes is too long", frame.len());
            let frames = next::enter(trial, port, frame).ok_or_else(too_long)?;
            trial.listen();
            let mut frames = frames;
            for frame in frames.drain() {
                match port {
                    InterfaceId::NONE if question6::is_ipv6(trial, &frame) => {
                        flow::v6::local_out(trial, now, frame, InterfaceId::NONE);
                    }
                    InterfaceId::NONE => flow::local_out(trial, now, frame),
                    port => flow::enter(trial, now, port, frame),
                }
            }
            // What a released packet makes may wait in its turn, and go at once as well.
            for _ in 0..RELEASES {
                if trial.queues.next_deadline().is_none_or(|deadline| deadline > now) {
                    break;
                }
                flow::timers::release(trial, now);
            }
            let story = trial.listen();
            let sent = next::sent(trial);
            let arrives = arrives(trial, port, frame);
            let rows = words::Writer::new(trial, tree, now).write(&arrives, &story);
            let outcome = Outcome::of(&story);
            let (next, reason) = match &outcome.out[..] {
                &[out, ..] if port.is_some() && !outcome.turned && !outcome.local => {
                    let left = next::settle(trial, now, sent.clone());
                    let left = left.into_iter().find(|(to, _)| *to == out).map(|(_, frame)| frame);
                    let talk = left.and_then(|left| {
                        next::conversation(trial, now, (port, frame), (out, &left))
                    });
                    talk.map_or((None, None), |(next, reason)| (Some(next), reason))
                }
                _ => (None, None),
            };
            let next = if reference { next.map(|_| Path::Slow) } else { next };
            Ok(Explanation {
                rows,
                packet: what(frame),
                dropped: outcome.ended.is_some() && outcome.out.is_empty(),
                verdict: outcome.words(trial),
                sent,
                discards: outcome.discards,
                path,
                next,
                reason,
                way: outcome.way,
            })
        })?
    }
}

/// What a story comes to.
#[derive(Default)]
struct Outcome {
    /// The ports by which the packet leaves, or will when its neighbour answers.
    out: Vec<InterfaceId>,
    discards: Vec<Discard>,
    way: Vec<Step>,
    ended: Option<Discard>,
    local: bool,
    turned: bool,
    waits: Option<Near>,
    queued: bool,
    held: bool,
}

impl Outcome {
    fn of(story: &[Event]) -> Outcome {
        let mut outcome = Outcome::default();
        let mut makes = 0;
        for event in story {
            match event {
                Event::Makes(_) => makes += 1,
                Event::Done => makes -= 1,
                Event::Discarded(why) => {
                    outcome.discards.push(*why);
                    if makes == 0 {
                        outcome.ended = Some(*why);
                    }
                }
                _ if makes > 0 => {}
                Event::At(step) => outcome.way.push(*step),
                Event::Sent(port) => outcome.out.push(*port),
                Event::Local => outcome.local = true,
                Event::Decapsulated(_) | Event::Decrypted { .. } => outcome.local = false,
                Event::Turned => outcome.turned = true,
                Event::Waits { hop, .. } => outcome.waits = Some(*hop),
                Event::Queued { decision: crate::queue::Decision::Enqueue, .. } => {
                    outcome.queued = true;
                }
                Event::Resumed => outcome.queued = false,
                Event::Collected => outcome.held = true,
                _ => {}
            }
        }
        if let (Some(hop), true) = (outcome.waits, outcome.out.is_empty()) {
            outcome.out.push(hop.interface);
        }
        outcome.out.dedup();
        outcome
    }

    fn words(&self, r: &Router) -> String {
        let name = |id: InterfaceId| &*r.program.interface(id).name;
        let out: Vec<&str> = self.out.iter().map(|&port| name(port)).collect();
        let out = out.join(", ");
        match self {
            Outcome { held: true, .. } => "waits for the rest of its datagram".to_string(),
            Outcome { queued: true, .. } => "waits in its queue".to_string(),
            Outcome { waits: Some(hop), .. } => {
                format!("waits for neighbour {} on {}", hop.address, name(hop.interface))
            }
            Outcome { turned: true, out: ports, .. } if !ports.is_empty() => {
                format!("to the router itself, which answers by {out}")
            }
            Outcome { ended: Some(why), out: ports, .. } if ports.is_empty() => {
                format!("dropped: {why}")
            }
            Outcome { out: ports, local: true, .. } if !ports.is_empty() => {
                format!("flooded by {out}, and to the router itself")
            }
            Outcome { local: true, .. } => "to the router itself".to_string(),
            Outcome { out: ports, .. } if ports.len() > 1 => format!("flooded by {out}"),
            Outcome { out: ports, .. } if ports.len() == 1 => format!("leaves by {out}"),
            _ => "to the router itself".to_string(),
        }
    }
}

/// `udp 10.0.1.1:5->10.0.2.1:6`.
fn what(frame: &[u8]) -> String {
    match layers::network(frame) {
        Ok(layers) if layers.ether_type == layers::ETHERTYPE_IPV4 => tuple(&layers.tuple),
        Ok(_) if question6::tuple(frame).is_some() => {
            question6::tuple(frame).map_or(String::new(), |(whole, _)| tuple(&whole))
        }
        Ok(layers) => format!("EtherType 0x{:04x}", layers.ether_type),
        Err(malformed) => format!("{malformed:?}, malformed"),
    }
}

/// `ether1, 60 bytes from 06:00:00:00:00:01 to 02:00:00:00:00:01: udp 10.0.1.1:5->10.0.2.1:6`.
fn arrives(r: &Router, port: InterfaceId, frame: &[u8]) -> String {
    let mac = |at: usize| {
        let mac = frame.get(at..).and_then(|bytes| bytes.first_chunk());
        wire::MacAddr(mac.copied().unwrap_or_default())
    };
    let what = what(frame);
    match port {
        InterfaceId::NONE => what,
        port => {
            let name = &r.program.interface(port).name;
            format!("{name}, {} bytes, {} to {}: {what}", frame.len(), mac(6), mac(0))
        }
    }
}

/// Starts `/tool explain`.
pub(super) fn start(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    now: Moment,
) -> Result<Started<Router>, String> {
    let explanation = r.explain(call, tree, now)?;
    let files = match call.argument("picture") {
        Some(Value::Text(name)) => vec![(name, explanation.picture().into_bytes())],
        _ => Vec::new(),
    };
    Ok(Started::Job(Box::new(Told { records: explanation.records(), files })))
}

impl Explanation {
    /// The packet flow as a picture (SVG), with the packet's way lit.
    pub fn picture(&self) -> String {
        let mut said = vec![self.verdict.clone()];
        if let Some(next) = self.next {
            let path = self.path.map_or("", Path::name);
            said.push(format!("this packet: {path} · the next ones: {}", next.name()));
        }
        if let Some(reason) = &self.reason {
            said.push(format!("not faster because {}", reason.why));
        }
        let dropped = self.dropped;
        let title = self.packet.replace("->", " → ");
        picture::draw(&picture::Way { boxes: self.way.clone(), dropped, title, said })
    }

    /// As programs get it: a record for each row, and one that sums up.
    pub fn records(&self) -> Vec<Record> {
        let text = |text: &str| Value::Text(text.to_string());
        let mut records = Vec::new();
        for row in &self.rows {
            let mut record = Record::default();
            if let Some(step) = row.step {
                record = record.with("box", text(step.name()));
            }
            if let Some(rule) = row.rule {
                record = record.with("rule", Value::Number(rule as i64));
            }
            let within = (row.makes + row.depth) as i64;
            record = record.with("within", Value::Number(within));
            record = record.with("verdict", text(row.verdict.name()));
            records.push(record.with("text", text(&row.text)));
        }
        let mut end = Record::default().with("outcome", text(&self.verdict));
        if let Some(path) = self.path {
            end = end.with("path", text(path.name()));
        }
        if let Some(next) = self.next {
            end = end.with("next-path", text(next.name()));
        }
        if let Some(reason) = &self.reason {
            end = end.with("because", text(reason.why)).with("change", text(reason.change));
        }
        records.push(end);
        records
    }
}

/// As a terminal shows it.
fn show(group: &Group) -> String {
    let mut out = String::new();
    let text =
        |record: &Record, name: &str| record.get(name).map_or(String::new(), ToString::to_string);
    let missing = |record: &&Record| text(record, "verdict") == "missing";
    let mut records = group.records.iter().peekable();
    while let Some(record) = records.next() {
        if record.get("outcome").is_some() {
            out.push('\n');
            for (name, value) in &record.0 {
                let _ = writeln!(out, "{name:>11}: {value}");
            }
            continue;
        }
        let within = match record.get("within") {
            Some(Value::Number(n)) => *n as usize * 2,
            _ => 0,
        };
        let said = text(record, "text");
        if missing(&record) {
            // Boxes that do nothing share a line.
            let mut names = text(record, "box");
            while let Some(record) = records.next_if(missing) {
                let _ = write!(names, ", {}", text(record, "box"));
            }
            let _ = writeln!(out, "{:within$} ({names}: missing, passes)", "");
            continue;
        }
        let line = match (record.get("box"), record.get("rule")) {
            (Some(name), _) => format!("{:within$} {:<31} {said}", "", name.to_string()),
            (None, Some(rule)) => format!("{:within$} {:>6}  {said}", "", rule.to_string()),
            (None, None) => format!("{:within$}      -  {said}", ""),
        };
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}
