//! Routers in a row, on simulated wires, in virtual time exact to the nanosecond.
//!
//! ```text
//! [ 0 ] ether2 ══ ether1 [ 1 ] ether2 ══ ether1 [ 2 ]      … the ends' outer ports are unplugged
//! ```

#![allow(dead_code)] // each test file uses its part

use config::{Call, Display, Group, Interpreter, Job, Progress, Record, Reply, Started};
use port::simulated::{self, Link, SimulatedPort};
use port::{Capabilities, Slab};
use router::{COMMANDS, MENUS, PortInfo, Router};
use std::time::Duration;
use wire::{BitRate, MacAddr, Moment};

/// Routers in a row.
pub(crate) struct Chain {
    pub(crate) routers: Vec<Router>,
    pub(crate) consoles: Vec<Interpreter>,
    ports: Vec<Vec<SimulatedPort>>,
    /// The other ends of the outer ports.
    _unplugged: Vec<SimulatedPort>,
    pub(crate) now: Moment,
}

/// A command that has been started.
pub(crate) struct Running {
    at: usize,
    call: Call,
    job: Box<dyn Job<Router>>,
    again: Moment,
    /// All it has yielded.
    pub(crate) records: Vec<Record>,
    /// As a pipe would show it.
    pub(crate) text: String,
    /// What it returned, once it has.
    pub(crate) reply: Option<Result<Reply, String>>,
}

impl Chain {
    /// A router for each script; 1 Gbit/s wires with this delay.
    pub(crate) fn new(delay: Duration, scripts: &[&str]) -> Chain {
        let slab = Slab::new(4096).unwrap();
        let link = Link { delay, ..Link::new(BitRate::gbps(1.0)) };
        let wires = (0..=scripts.len()).map(|_| simulated::wire(link).unwrap());
        let (left, right): (Vec<_>, Vec<_>) = wires.unzip();
        let (mut left, mut right) = (left.into_iter(), right.into_iter());
        // Each router has the right end of the wire before it and the left end of that behind it.
        let mut unplugged = vec![left.next().unwrap()];
        let mut ports: Vec<Vec<SimulatedPort>> = Vec::new();
        for _ in scripts {
            ports.push(vec![right.next().unwrap(), left.next().unwrap()]);
        }
        unplugged.extend(right.next());
        let mut chain = Chain {
            routers: Vec::new(),
            consoles: Vec::new(),
            ports,
            _unplugged: unplugged,
            now: Moment::ZERO,
        };
        for (n, script) in scripts.iter().enumerate() {
            let infos = (1..=2).map(|port| PortInfo {
                name: format!("ether{port}"),
                mac: MacAddr([2, 0, 0, 0, n as u8, port]),
                capabilities: Capabilities::default(),
            });
            let router = Router::new(infos.collect(), &slab);
            let mut console = Interpreter::new(MENUS.to_vec()).with_commands(COMMANDS);
            *console.tree_mut() = router.factory_tree();
            chain.routers.push(router);
            chain.consoles.push(console);
            chain.run(n, script);
        }
        chain
    }

    /// Runs a script on a router's console; no command in it may take time.
    pub(crate) fn run(&mut self, at: usize, script: &str) -> String {
        let (router, console) = (&mut self.routers[at], &mut self.consoles[at]);
        let output = console.run(script, &router.status(self.now));
        let output = output.unwrap_or_else(|error| panic!("{script}: {error}"));
        router.configure(console.tree(), self.now).unwrap();
        for call in &output.calls {
            let done = router.start(call, console.tree(), self.now);
            assert!(matches!(done, Ok(Started::Done(_))), "{script}: takes time or fails");
        }
        output.text
    }

    /// Starts a command that takes time.
    pub(crate) fn start(&mut self, at: usize, script: &str) -> Result<Running, String> {
        let (router, console) = (&mut self.routers[at], &mut self.consoles[at]);
        let output = console.run(script, &router.status(self.now));
        let output = output.map_err(|error| error.text)?;
        let call = output.calls[0].clone();
        match router.start(&call, console.tree(), self.now)? {
            Started::Done(reply) => panic!("{script}: done at once: {reply:?}"),
            Started::Job(job) => Ok(Running {
                at,
                call,
                job,
                again: self.now,
                records: Vec::new(),
                text: String::new(),
                reply: None,
            }),
        }
    }

    /// Lets time pass, polling the command when it asks for it, until it ends or the time is over.
    pub(crate) fn go_on(&mut self, running: &mut Running, time: Duration) {
        let end = self.now + time;
        while running.reply.is_none() && self.now < end {
            running.poll(self);
            let until = if running.reply.is_some() { self.now } else { running.again.min(end) };
            self.advance(until);
        }
    }

    /// Runs a command to its end.
    pub(crate) fn complete(&mut self, at: usize, script: &str) -> Running {
        let mut running =
            self.start(at, script).unwrap_or_else(|error| panic!("{script}: {error}"));
        self.go_on(&mut running, Duration::from_secs(600));
        assert!(running.reply.is_some(), "{script}: does not end\n{}", running.text);
        running
    }

    /// Lets time pass without anybody at a console.
    pub(crate) fn wait(&mut self, time: Duration) {
        self.advance(self.now + time);
    }

    /// Goes from arrival to arrival, and at least from millisecond to millisecond.
    fn advance(&mut self, until: Moment) {
        loop {
            for (router, ports) in self.routers.iter_mut().zip(&mut self.ports) {
                router.breathe(self.now, ports);
            }
            if self.now >= until {
                return;
            }
            let arrivals = self.ports.iter().flatten().filter_map(SimulatedPort::next_arrival);
            let tick = Moment::from_nanos((self.now.as_nanos() / 1_000_000 + 1) * 1_000_000);
            let next = arrivals.chain([tick, until]).filter(|&at| at > self.now).min();
            self.now = next.unwrap_or(until);
        }
    }
}

impl Running {
    fn poll(&mut self, chain: &mut Chain) {
        let (router, before) = (&mut chain.routers[self.at], self.records.len());
        match self.job.poll(router, chain.now, &mut self.records) {
            Ok(Progress::Again(again)) => {
                assert!(again > chain.now, "would be polled for ever at {:?}", chain.now);
                self.again = again;
                if self.records.len() > before {
                    self.show(before, false);
                }
            }
            Ok(Progress::Done(reply)) => {
                self.reply = Some(Ok(reply));
                self.job.stop(router, chain.now);
                self.show(before, true);
            }
            Err(error) => {
                self.reply = Some(Err(error));
                self.job.stop(router, chain.now);
            }
        }
    }

    /// As when Q is pressed.
    pub(crate) fn stop(&mut self, chain: &mut Chain) {
        self.job.stop(&mut chain.routers[self.at], chain.now);
        self.show(self.records.len(), true);
    }

    fn show(&mut self, before: usize, last: bool) {
        let group = Group {
            call: &self.call,
            records: &self.records[before..],
            before,
            latest: self.records.last(),
            last,
            width: 80,
        };
        if let Display::Append(show) | Display::Redraw(show) = self.call.command.display {
            self.text += &show(&group);
        }
    }

    /// A value of the last record.
    pub(crate) fn last(&self, name: &str) -> String {
        let value = self.records.last().and_then(|record| record.get(name));
        value.map_or(String::new(), ToString::to_string)
    }
}
