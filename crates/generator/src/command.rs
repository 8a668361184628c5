//! The generator's commands, and how they begin.
//!
//! ```text
//! quick         a test, shown second by second; Q or its end stops it
//! start, stop   a test in the background; stats and monitor show it
//! inject        one frame                inject-pcap   a capture
//! ```

use super::Generator;
use super::display;
use super::inject::{Replay, Sent};
use super::menu::template::{bytes, hex};
use super::menu::{COUNT, INTERFACES, PORTS, STREAMS, TEMPLATES};
use super::plan::NoTest;
use super::quick::{Quick, Start};
use super::stats;
use config::{Call, Command, Display, Job, Progress, Property, Record, Reply, Started, Type};
use config::{Unnamed, Value};
use std::time::Duration;
use wire::Moment;

const MENU: &str = "/tool traffic-generator";

/// The commands of the generator's menus.
pub static COMMANDS: [&Command; 10] = [
    &Command {
        menu: MENU,
        name: "quick",
        unnamed: Unnamed::Nothing,
        parameters: &[
            TEST[0],
            TEST[1],
            TEST[2],
            TEST[3],
            TEST[4],
            TEST[5],
            TEST[6],
            TEST[7],
            TEST[8],
            TEST[9],
            TEST[10],
            TEST[11],
            TEST[12],
            TEST[13],
            Property::new("entries-to-show", Type::Number(1, 1000), "Seconds shown at a time.")
                .default("1"),
            Property::new(
                "freeze-frame-interval",
                Type::Time,
                "How often what is shown is brought up to date.",
            )
            .default("1s"),
        ],
        display: Display::Redraw(display::quick),
        help: "Sends streams and shows what comes back, until Q or the end of its duration.",
    },
    &Command {
        menu: MENU,
        name: "start",
        unnamed: Unnamed::Nothing,
        parameters: &TEST,
        display: Display::Nothing,
        help: "Begins a test in the background.",
    },
    &Command {
        menu: MENU,
        name: "stop",
        unnamed: Unnamed::Nothing,
        parameters: &[],
        display: Display::Nothing,
        help: "Stops the test under way.",
    },
    &Command {
        menu: MENU,
        name: "monitor",
        unnamed: Unnamed::Nothing,
        parameters: &[
            Property::new("duration", Type::Time, "How long to watch."),
            Property::new("once", Type::Bool, "Shows it once."),
        ],
        display: Display::Redraw(display::block),
        help: "What the test under way does.",
    },
    &Command {
        menu: MENU,
        name: "inject",
        unnamed: Unnamed::Nothing,
        parameters: &[
            Property::new("interface", Type::Reference(INTERFACES), "Where.").required(),
            Property::new("data", Type::Custom(hex), "The frame, hexadecimal, no FCS.").required(),
            Property::missing("priority", "frames have no priority here"),
        ],
        display: Display::Nothing,
        help: "Sends one frame.",
    },
    &Command {
        menu: MENU,
        name: "inject-pcap",
        unnamed: Unnamed::Nothing,
        parameters: &[
            Property::new("interface", Type::Reference(INTERFACES), "Where.").required(),
            Property::new("pcap-file", Type::Text, "A pcap or pcapng file.").required(),
            Property::new(
                "speed-multiplier",
                Type::Number(1, 1_000_000),
                "How many times as fast.",
            )
            .default("1"),
            Property::new("loop", Type::Bool, "Whether it begins again at its end.").default("no"),
        ],
        display: Display::Redraw(display::block),
        help: "Sends the frames of a capture at their times.",
    },
    &Command {
        menu: "/tool traffic-generator stats stream",
        name: "print",
        unnamed: Unnamed::Nothing,
        parameters: &[],
        display: Display::Append(display::stream),
        help: "The test's seconds, and all of it, by stream.",
    },
    &Command {
        menu: "/tool traffic-generator stats port",
        name: "print",
        unnamed: Unnamed::Nothing,
        parameters: &[],
        display: Display::Append(display::port),
        help: "The test's seconds, and all of it, by port.",
    },
    &Command {
        menu: "/tool traffic-generator stats raw",
        name: "print",
        unnamed: Unnamed::Nothing,
        parameters: &[],
        display: Display::Append(display::raw),
        help: "The test's seconds, and all of it, by stream and port.",
    },
    &Command {
        menu: "/tool traffic-generator stats latency-distribution",
        name: "print",
        unnamed: Unnamed::Nothing,
        parameters: &[
            Property::new("stream-num", Type::Number(0, 15), "Of this stream."),
            Property::new("seq", Type::Number(1, i64::MAX), "Of this second."),
        ],
        display: Display::Append(display::distribution),
        help: "How many packets took how long.",
    },
];

/// What a test can be told, by `quick` and `start`: lists have a value for each stream, or one.
const TEST: [Property; 14] = [
    Property::new("tx-template", Type::List(&Type::Reference(TEMPLATES)), "What is sent."),
    Property::new("stream", Type::List(&Type::Reference(STREAMS)), "These streams."),
    Property::new("port", Type::List(&Type::Reference(PORTS)), "Where."),
    Property::new("interface", Type::List(&Type::Reference(INTERFACES)), "Where."),
    Property::new("num", Type::List(&Type::Number(0, 15)), "The streams' numbers."),
    Property::new("id", Type::List(&Type::Number(0, 15)), "The same, as v7 calls it."),
    Property::new("packet-size", Type::List(&Type::Numbers(0, 65_535)), "Bytes without FCS."),
    Property::new("pps", Type::List(&Type::Number(0, 4_294_967_295)), "Packets a second."),
    Property::new("mbps", Type::List(&Type::Number(0, 4_294_967_295)), "Megabits a second."),
    Property::new("packet-count", Type::List(&COUNT), "Packets in all; 0: no end."),
    Property::new("test-id", Type::Number(0, 255), "Instead of the settings'."),
    Property::new("measure-out-of-order", Type::Bool, "Instead of the settings'."),
    Property::new("duration", Type::Time, "How long; without it until it is stopped."),
    Property::missing("cpu-core", "the generator has one core, its box's"),
];

/// Begins one of the [`COMMANDS`] on a device that has a generator.
///
/// # Errors
/// RouterOS's words.
pub fn start<D: AsMut<Generator> + ?Sized>(
    device: &mut D,
    call: &Call,
    now: Moment,
) -> Result<Started<D>, String> {
    let generator = device.as_mut();
    let nothing = || Started::Done(Reply::Nothing);
    let records = |records: Vec<Record>| -> Started<D> { Started::Job(Box::new(Once(records))) };
    Ok(match (call.command.menu, call.command.name) {
        (MENU, "quick") => Started::Job(Box::new(Quick::new(call.clone(), now))),
        (MENU, "start") => match generator.begin(call, now) {
            Ok(_) => nothing(),
            Err(NoTest::Bad(why)) => return Err(why),
            Err(NoTest::Wait(_)) => Started::Job(Box::new(Start::new(call.clone(), now))),
        },
        (MENU, "stop") => {
            match &mut generator.test {
                Some(test) => test.stop(now),
                None => return Err("failure: no test is under way".to_string()),
            }
            nothing()
        }
        (MENU, "monitor") => Started::Job(Box::new(Monitor::new(call, now))),
        (MENU, "inject") => {
            let port = generator.port(call)?;
            let data = call.argument("data").map(|data| bytes(&data.to_string()));
            generator.injector.add(port, data.unwrap_or_default())?;
            nothing()
        }
        (MENU, "inject-pcap") => {
            let port = generator.port(call)?;
            Started::Job(Box::new(InjectPcap { call: call.clone(), port, file: None, at: now }))
        }
        ("/tool traffic-generator stats stream", _) => records(stats::stream(generator)),
        ("/tool traffic-generator stats port", _) => records(stats::port(generator)),
        ("/tool traffic-generator stats raw", _) => records(stats::raw(generator)),
        ("/tool traffic-generator stats latency-distribution", _) => {
            let number = |name: &str| match call.argument(name) {
                Some(Value::Number(number)) => Some(number as u64),
                _ => None,
            };
            records(stats::distribution(generator, number("stream-num"), number("seq")))
        }
        (_, name) => return Err(format!("bad command name {name}")),
    })
}

impl Generator {
    /// The port a command names.
    fn port(&self, call: &Call) -> Result<usize, String> {
        let name = call.argument("interface").map(|name| name.to_string()).unwrap_or_default();
        let port = self.catalogue.port(&name);
        port.ok_or_else(|| "input does not match any value of interface".to_string())
    }
}

/// A job that has everything at once.
struct Once(Vec<Record>);

impl<D: ?Sized> Job<D> for Once {
    fn poll(
        &mut self,
        _device: &mut D,
        _now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        out.append(&mut self.0);
        Ok(Progress::Done(Reply::Nothing))
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// `monitor`.
struct Monitor {
    next: Moment,
    end: Option<Moment>,
}

impl Monitor {
    fn new(call: &Call, now: Moment) -> Monitor {
        let end = match (call.argument("duration"), call.argument("once")) {
            (_, Some(Value::Bool(true))) => Some(now),
            (Some(Value::Time(duration)), _) => Some(now + duration),
            _ => None,
        };
        Monitor { next: now, end }
    }
}

impl<D: AsMut<Generator> + ?Sized> Job<D> for Monitor {
    fn poll(
        &mut self,
        device: &mut D,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        if now >= self.next {
            out.push(stats::monitor(device.as_mut()));
            self.next = now + SECOND;
        }
        match self.end {
            Some(end) if now >= end => Ok(Progress::Done(Reply::Nothing)),
            end => Ok(Progress::Again(end.map_or(self.next, |end| end.min(self.next)))),
        }
    }
}

/// `inject-pcap`.
struct InjectPcap {
    call: Call,
    port: usize,
    /// `None` until it was asked for, then until it is there.
    file: Option<Option<Result<Vec<u8>, String>>>,
    /// When it is shown next how far it is.
    at: Moment,
}

impl<D: AsMut<Generator> + ?Sized> Job<D> for InjectPcap {
    fn wants_file(&mut self) -> Option<String> {
        if self.file.is_some() {
            return None;
        }
        self.file = Some(None);
        self.call.argument("pcap-file").map(|name| name.to_string())
    }

    fn give_file(&mut self, content: Result<Vec<u8>, String>) {
        self.file = Some(Some(content));
    }

    fn poll(
        &mut self,
        device: &mut D,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        let injector = &mut device.as_mut().injector;
        if let Some(file) = self.file.as_mut().and_then(Option::take) {
            let speed = match self.call.argument("speed-multiplier") {
                Some(Value::Number(speed)) => speed as u64,
                _ => 1,
            };
            let repeat = self.call.argument("loop") == Some(Value::Bool(true));
            let replay = Replay::read(&file?, self.port, speed, repeat, now)?;
            injector.replay(replay)?;
            self.at = now + SECOND;
        }
        let Some(sent) = injector.sent() else {
            return Err("failure: the file was not read".to_string());
        };
        if sent.done || now >= self.at {
            out.push(injected(sent));
            self.at = now + SECOND;
        }
        if sent.done {
            return Ok(Progress::Done(Reply::Nothing));
        }
        Ok(Progress::Again(self.at.min(now + Duration::from_millis(10))))
    }

    fn stop(&mut self, device: &mut D, _now: Moment) {
        device.as_mut().injector.stop();
    }
}

fn injected(sent: Sent) -> Record {
    let number = |number: u64| Value::Number(i64::try_from(number).unwrap_or(i64::MAX));
    Record::default()
        .with("iteration", number(sent.iteration))
        .with("tx-packets", number(sent.packets))
        .with("tx-bytes", number(sent.bytes))
}
