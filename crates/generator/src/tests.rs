//! The generator in a box of its own: three ports, virtual time, scripts as they are typed.
//!
//! ```text
//! box: ether1 ══ cable ══ ether2     what ether1 sends comes back at ether2, harmed if asked for
//!      ether3 ══ cable ══ outside    what it sends is looked at, what is put in comes in
//! ```

mod commands;
mod documents;
mod inject;
mod run;
mod stacks;
mod templates;

use super::*;
use config::{
    Display, Group, Interpreter, Menu, MenuKind, Progress, Property, Record, Started, Type, Value,
};
use port::Slab;
use port::fault::{FaultCounters, Faults, FaultyPort};
use port::simulated::{self, Link, SimulatedPort};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use wire::{BitRate, MacAddr};

/// A box's ports, as the router brings them.
static ETHERNET: Menu = Menu {
    path: "/interface ethernet",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: true },
    properties: &[Property::new("name", Type::Text, "Its name.")],
    help: "Ports.",
};

/// The box's addresses, 1.1.1.1 to 3.3.3.3 and 2001:db8:1::1 to 2001:db8:3::1, and neighbours at .254 and
/// ::fe that answer when they like.
struct Hosts {
    /// Nobody answers before.
    silent_until: Moment,
    asked: Vec<(usize, IpAddr)>,
}

const GATEWAY_MAC: MacAddr = MacAddr([2, 0, 0, 0, 9, 0xfe]);

fn own(port: usize) -> Ipv4Addr {
    Ipv4Addr::from([port as u8 + 1; 4])
}

fn own6(port: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, port as u16 + 1, 0, 0, 0, 0, 1)
}

fn mac(port: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, port as u8 + 1])
}

impl Surroundings for Hosts {
    fn interfaces(&self) -> Vec<Interface> {
        (0..3)
            .map(|port| Interface { name: format!("ether{}", port + 1), mac: mac(port) })
            .collect()
    }

    fn owner(&self, address: IpAddr) -> Option<usize> {
        (0..3).find(|port| own(*port) == address || own6(*port) == address)
    }

    fn source(&self, port: usize, toward: IpAddr) -> Option<IpAddr> {
        Some(if toward.is_ipv4() { own(port).into() } else { own6(port).into() })
    }

    fn route(&self, to: IpAddr) -> Option<(usize, IpAddr)> {
        let near = |port: &usize| match to {
            IpAddr::V4(to) => own(*port).octets()[..3] == to.octets()[..3],
            IpAddr::V6(to) => own6(*port).octets()[..8] == to.octets()[..8],
        };
        (0..3).find(near).map(|port| (port, to))
    }

    fn resolve(&mut self, now: Moment, port: usize, address: IpAddr) -> Option<MacAddr> {
        self.asked.push((port, address));
        let is_gateway = match address {
            IpAddr::V4(address) => address.octets()[3] == 254,
            IpAddr::V6(address) => address.segments()[7] == 0xfe,
        };
        (now >= self.silent_until && is_gateway).then_some(GATEWAY_MAC)
    }
}

type Wire = FaultyPort<SimulatedPort>;

struct Box_ {
    interpreter: Interpreter,
    generator: Generator,
    hosts: Hosts,
    slab: Slab,
    pool: Pool,
    ports: Vec<Wire>,
    outside: SimulatedPort,
    now: Moment,
    step: Duration,
    /// Frames the generator left to the box.
    left: Vec<Vec<u8>>,
    /// Frames that left at ether3.
    seen: Vec<Vec<u8>>,
    /// What `inject-pcap` may read.
    file: Vec<u8>,
    width: usize,
}

const LINK: Link = Link { delay: Duration::from_micros(5), ..Link::new(BitRate::gbps(1.0)) };

impl Box_ {
    fn new() -> Box_ {
        Box_::with(Faults::default())
    }

    /// Whose ether2 receives with these faults.
    fn with(faults: Faults) -> Box_ {
        let slab = Slab::new(16_384).unwrap();
        let menus = [&ETHERNET].into_iter().chain(MENUS);
        let mut interpreter = Interpreter::new(menus).with_commands(COMMANDS);
        for port in 1..=3 {
            let name = Value::Text(format!("ether{port}"));
            interpreter.tree_mut().push(&ETHERNET, [("name", name)].into());
        }
        let (one, two) = simulated::wire(LINK).unwrap();
        let (three, outside) = simulated::wire(LINK).unwrap();
        let plain = |port| FaultyPort::new(port, Faults::default(), 1);
        let mut new = Box_ {
            interpreter,
            generator: Generator::new(),
            hosts: Hosts { silent_until: Moment::ZERO, asked: vec![] },
            pool: slab.pool(),
            slab,
            ports: vec![plain(one), FaultyPort::new(two, faults, 7), plain(three)],
            outside,
            now: Moment::from_nanos(1_000_000_000),
            step: Duration::from_micros(20),
            left: vec![],
            seen: vec![],
            file: vec![],
            width: 104,
        };
        new.configure();
        new
    }

    /// A template `t` from ether1 to ether2.
    fn ready() -> Box_ {
        let mut new = Box_::new();
        new.run(T);
        new
    }

    fn configure(&mut self) {
        let Box_ { interpreter, generator, hosts, now, .. } = self;
        generator.configure(interpreter.tree(), *now, hosts);
    }

    fn breathe(&mut self) {
        let Box_ { generator, hosts, pool, ports, outside, now, .. } = self;
        generator.attend(*now, hosts);
        generator.poll(*now, pool, ports);
        let mut batch = Batch::new();
        for (number, port) in ports.iter_mut().enumerate() {
            while port.receive(*now, pool, &mut batch) > 0 {
                generator.take(*now, number, pool, &mut batch);
                self.left
                    .extend(batch.as_slice().iter().map(|frame| pool.slab().bytes(frame).to_vec()));
                batch.free_all(pool);
            }
        }
        while outside.receive(*now, pool, &mut batch) > 0 {
            self.seen
                .extend(batch.as_slice().iter().map(|frame| pool.slab().bytes(frame).to_vec()));
            batch.free_all(pool);
        }
        self.now = self.now + self.step;
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.breathe();
        }
    }

    /// Puts a frame into ether3.
    fn put(&mut self, bytes: &[u8]) {
        let mut frame = self.pool.alloc(bytes.len()).unwrap();
        self.pool.slab().bytes_mut(&mut frame).copy_from_slice(bytes);
        let mut batch = Batch::new();
        batch.push(frame);
        self.outside.send(self.now, &mut self.pool, &mut batch);
    }

    /// Types a script; commands that take time run to their end. Returns what is shown, and the
    /// records of the last command.
    fn try_run(&mut self, script: &str) -> Result<(String, Vec<Record>), String> {
        let output = self.interpreter.run(script, &self.generator);
        let output = output.map_err(|error| error.to_string())?;
        self.configure();
        let (mut text, mut records) = (output.text, vec![]);
        for call in &output.calls {
            records.clear();
            let mut job = match start(&mut self.generator, call, self.now)? {
                Started::Done(_) => continue,
                Started::Job(job) => job,
            };
            loop {
                while let Some(_name) = job.wants_file() {
                    job.give_file(Ok(self.file.clone()));
                }
                let mut group = vec![];
                let progress = job.poll(&mut self.generator, self.now, &mut group)?;
                let last = matches!(progress, Progress::Done(_));
                let (before, width) = (records.len(), self.width);
                let shown = Group {
                    call,
                    records: &group,
                    before,
                    latest: group.last().or(records.last()),
                    last,
                    width,
                };
                match call.command.display {
                    Display::Append(show) | Display::Redraw(show) => text += &show(&shown),
                    Display::Nothing => {}
                }
                records.append(&mut group);
                match progress {
                    Progress::Again(at) => {
                        while self.now < at {
                            self.breathe();
                        }
                    }
                    Progress::Done(_) => {
                        job.stop(&mut self.generator, self.now);
                        break;
                    }
                }
            }
        }
        Ok((text, records))
    }

    fn run(&mut self, script: &str) -> (String, Vec<Record>) {
        self.try_run(script).unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    fn fails(&mut self, script: &str) -> String {
        match self.try_run(script) {
            Ok((text, _)) => panic!("{script} was accepted: {text}"),
            Err(error) => error.lines().next().unwrap_or_default().to_string(),
        }
    }

    fn struck(&self) -> FaultCounters {
        self.ports[1].struck()
    }

    /// Nothing is under way, and every frame is back.
    fn close(mut self) {
        self.pass(Duration::from_millis(10));
        let Box_ { slab, pool, ports, outside, generator, .. } = self;
        let held: usize = ports.iter().map(FaultyPort::held).sum();
        assert_eq!(held, 0);
        drop((ports, outside, generator, pool));
        assert_eq!(slab.frames_out(), 0, "all frames are back");
    }
}

/// What most tests send: 60 bytes from ether1, to whom it comes back as ether2.
const T: &str = "/tool traffic-generator packet-template
    add name=t header-stack=mac,ip,udp interface=ether1 ip-dst=2.2.2.2";

fn whole(record: &Record, name: &str) -> i64 {
    match record.get(name) {
        Some(Value::Number(number)) => *number,
        other => panic!("{name} is {other:?} in {record:?}"),
    }
}

/// The line that sums up a test.
fn total(records: &[Record]) -> &Record {
    let is_total = |record: &&Record| {
        ["seq", "num"].iter().all(|name| record.get(name) == Some(&Value::Text("TOT".to_string())))
    };
    records.iter().rev().find(is_total).expect("a TOT TOT line")
}

#[test]
fn tables_are_sound() {
    let menus: Vec<&'static Menu> = [&ETHERNET].into_iter().chain(MENUS).collect();
    assert_eq!(config::menu::faults(&menus), Vec::<String>::new());
    for command in COMMANDS {
        for property in command.parameters {
            let _ = property.default_value();
        }
    }
}
