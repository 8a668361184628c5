//! One step: what it does, and then what was expected of it.

use super::report::{Event, Found, StepReport};
use super::{LIMIT, Lab, Nodes, Plan, lines};
use crate::host::Host;
use crate::live::Live;
use crate::node;
use crate::topology::{Action, Expectation, Step};
use config::{How, Piece, Session};
use std::time::Duration;

/// The pause between two looks at what is to become so.
const LOOK: Duration = Duration::from_millis(50);

impl Lab {
    pub(super) fn step(
        &mut self,
        plan: &Plan,
        step: &Step,
        events: &mut dyn FnMut(Event<'_>),
    ) -> StepReport {
        let mut report = StepReport { title: step.title.clone(), ..StepReport::default() };
        match &step.action {
            Action::Wait(time) => self.wait(*time),
            Action::Run(node, script) => self.type_in(*node, script, plan, &mut report, events),
            Action::Script(node, name) => {
                let script = plan.scripts.get(name);
                self.type_in(*node, script, plan, &mut report, events);
            }
            Action::Exec(node, program) => self.exec(*node, program, plan, &mut report, events),
            Action::Start(node, program, name, ready) => {
                let ready = ready.as_ref();
                self.start(*node, program, name, ready, plan, &mut report, events);
            }
            Action::Join(name, limit) => {
                self.join(name, limit.unwrap_or(plan.limit), &mut report, events);
            }
            Action::Stop(name) => self.stop(name, &mut report, events),
        }
        match (&step.fails, report.refused.take()) {
            (None, None) => {}
            (Some(pattern), Some(refused)) if pattern.matches(&refused) => {
                report.found(Found::met(format!("refused: {refused}")), events);
            }
            (None, Some(refused)) => {
                report.refused = Some(refused.clone());
                report.found(Found::not("no error".to_string(), refused), events);
            }
            (Some(_), refused) => {
                let found = refused.unwrap_or_else(|| "it was accepted".to_string());
                report.found(Found::not("refused with other words".to_string(), found), events);
            }
        }
        let here = |expected: &&Expectation| expected.time.is_none_or(|time| time == plan.time);
        for expectation in step.expect.iter().filter(here) {
            let found = self.look_until_met(plan, expectation, &report);
            report.found(found, events);
        }
        for cell in &step.table {
            match self.fill(plan, cell, &report) {
                Ok(cell) => report.table.push(cell),
                Err(why) => {
                    let cell = format!("table: {}, {}", cell.row, cell.column);
                    report.found(Found::not(cell, why), events);
                }
            }
        }
        let failed = self.lives().iter().find_map(Live::failure);
        if let Some(why) = failed.or_else(|| self.hosts.iter().find_map(Host::failure)) {
            report.found(Found::not("all nodes go on".to_string(), why), events);
            report.ends = true;
        }
        report
    }

    /// Looks again, with pauses, as long as the expectation allows.
    fn look_until_met(&mut self, plan: &Plan, wanted: &Expectation, report: &StepReport) -> Found {
        let mut left = wanted.within;
        loop {
            let found = self.look(plan, wanted, report);
            let pause = left.min(LOOK);
            if found.met || pause.is_zero() || self.interrupt.is_raised() {
                return found;
            }
            self.wait(pause);
            left -= pause;
        }
    }

    fn wait(&mut self, time: Duration) {
        match &mut self.nodes {
            Nodes::Virtual(world) => world.advance(world.now() + time),
            Nodes::Real(..) => drop(self.interrupt.wait(time)),
        }
    }

    /// Types a script on a router, command by command, up to the first that is refused.
    fn type_in(
        &mut self,
        node: usize,
        script: &str,
        plan: &Plan,
        report: &mut StepReport,
        events: &mut dyn FnMut(Event<'_>),
    ) {
        report.node = Some(self.names[node].clone());
        let mut session = self.sessions[node].clone();
        for command in lines::commands(script) {
            let prompt = self.prompt(node, &session);
            report.typed(&prompt, command, events);
            let mut frame = String::new();
            let mut print = |piece: Piece| {
                let (text, next) = match piece {
                    Piece::Text(text) => (std::mem::take(&mut frame) + &text, String::new()),
                    // Of what a terminal redraws, only the last picture is kept.
                    Piece::Frame(next) => (String::new(), next),
                };
                frame = next;
                if !text.is_empty() {
                    report.printed(&text, events);
                }
            };
            let done = self.with_host(node, plan.limit, |host| {
                session.run(command, How::Typed, host, &mut print)
            });
            print(Piece::Text(String::new()));
            if let Err(error) = done {
                report.refused(&error.to_string(), error.text, events);
                break;
            }
        }
        self.sessions[node] = session;
    }

    /// `[admin@dut] /ip address> `, as RouterOS writes it.
    fn prompt(&mut self, node: usize, session: &Session) -> String {
        let place = session.place();
        let name = self.with_host(node, LIMIT, |host| node::name(&host.tree()));
        format!("[admin@{name}] {}> ", if place == "/" { "" } else { place })
    }
}
