//! Programs on the lab's hosts: run to their end, or started and let go on.
//!
//! ```text
//! exec ──────────────────────► prints … ─► exit status
//! exec + background ─► ready ─► goes on ─┬─ join: waits for its end ─► exit status
//!                                        ├─ stop: ends it
//!                                        └─ the lab's end
//! ```
//!
//! One that takes longer than it may is ended, and so is one under way when the user has had enough.

use super::report::{Event, StepReport};
use super::{Lab, Plan, RunError};
use crate::host::{Ended, Process};
use crate::topology::Program;
use config::Pattern;
use std::io;
use std::time::Duration;

/// Those that go on: their names, hosts and processes.
#[derive(Default)]
pub(super) struct Programs(Vec<(String, usize, Process)>);

impl Lab {
    /// Runs a program on a host before the first step.
    pub(super) fn prepare(
        &self,
        node: usize,
        words: &[String],
        limit: Duration,
    ) -> Result<(), RunError> {
        let failed = |why: String| RunError::Exec {
            node: self.names[node].clone(),
            command: shown(words),
            why,
        };
        let mut process =
            self.host(node).start(words).map_err(|error| failed(unstarted(words, &error)))?;
        let mut text = String::new();
        let told = &mut |piece: &str| text.push_str(piece);
        let ended = process.wait(limit, &|| self.interrupt.is_raised(), told, &mut || false);
        match self.why(ended, limit) {
            None => Ok(()),
            Some(why) => Err(failed(format!("{why}: {text}"))),
        }
    }

    /// Runs a program to its end.
    pub(super) fn exec(
        &mut self,
        node: usize,
        program: &Program,
        plan: &Plan,
        report: &mut StepReport,
        events: &mut dyn FnMut(Event<'_>),
    ) {
        report.node = Some(self.names[node].clone());
        report.typed(&self.dollar(node), &shown(&program.words), events);
        let limit = program.timeout.unwrap_or(plan.limit);
        match self.host(node).start(&program.words) {
            Ok(mut process) => self.follow(&mut process, limit, report, events),
            Err(error) => report.ended(&unstarted(&program.words, &error), events),
        }
    }

    /// Starts a program that goes on, once it has printed a line that matches.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn start(
        &mut self,
        node: usize,
        program: &Program,
        name: &str,
        ready: Option<&Pattern>,
        plan: &Plan,
        report: &mut StepReport,
        events: &mut dyn FnMut(Event<'_>),
    ) {
        report.node = Some(self.names[node].clone());
        report.typed(&self.dollar(node), &format!("{} &", shown(&program.words)), events);
        let mut process = match self.host(node).start(&program.words) {
            Ok(process) => process,
            Err(error) => return report.ended(&unstarted(&program.words, &error), events),
        };
        if let Some(ready) = ready {
            let limit = program.timeout.unwrap_or(plan.limit);
            let report = &std::cell::RefCell::new(report);
            let ended = process.wait(
                limit,
                &|| self.interrupt.is_raised(),
                &mut |piece| report.borrow_mut().printed(piece, events),
                &mut || report.borrow().output().any(|line| ready.matches(line)),
            );
            let is_ready = report.borrow().output().any(|line| ready.matches(line));
            if !is_ready {
                let why = match ended {
                    Some(ended) => ended.failure().unwrap_or_else(|| "it has ended".to_string()),
                    None => format!("not within {limit:?}"),
                };
                process.kill();
                return report.borrow_mut().ended(&format!("it is not ready: {why}"), events);
            }
        }
        self.programs.0.push((name.to_string(), node, process));
    }

    /// Waits for the end of one that goes on.
    pub(super) fn join(
        &mut self,
        name: &str,
        limit: Duration,
        report: &mut StepReport,
        events: &mut dyn FnMut(Event<'_>),
    ) {
        let Some((node, mut process)) = self.programs.take(name) else {
            return report.ended("it was never started", events);
        };
        report.node = Some(self.names[node].clone());
        report.typed(&self.dollar(node), &format!("wait {name}"), events);
        self.follow(&mut process, limit, report, events);
    }

    /// Ends one that goes on.
    pub(super) fn stop(
        &mut self,
        name: &str,
        report: &mut StepReport,
        events: &mut dyn FnMut(Event<'_>),
    ) {
        let Some((node, mut process)) = self.programs.take(name) else {
            return report.ended("it was never started", events);
        };
        report.node = Some(self.names[node].clone());
        report.typed(&self.dollar(node), &format!("kill {name}"), events);
        process.kill();
        // What it had printed before.
        let told = &mut |piece: &str| report.printed(piece, events);
        process.wait(Duration::from_secs(1), &|| false, told, &mut || false);
    }

    /// Shows what a program prints up to its end, which is to be a good one.
    fn follow(
        &self,
        process: &mut Process,
        limit: Duration,
        report: &mut StepReport,
        events: &mut dyn FnMut(Event<'_>),
    ) {
        let told = &mut |piece: &str| report.printed(piece, events);
        let ended = process.wait(limit, &|| self.interrupt.is_raised(), told, &mut || false);
        if ended.is_none() {
            process.kill();
        }
        if let Some(why) = self.why(ended, limit) {
            report.ended(&why, events);
        }
    }

    fn why(&self, ended: Option<Ended>, limit: Duration) -> Option<String> {
        match ended {
            Some(ended) => ended.failure(),
            None if self.interrupt.is_raised() => Some("interrupted".to_string()),
            None => Some(format!("no end within {limit:?}")),
        }
    }

    /// `pc$ `.
    fn dollar(&self, node: usize) -> String {
        format!("{}$ ", self.names[node])
    }
}

impl Programs {
    fn take(&mut self, name: &str) -> Option<(usize, Process)> {
        let at = self.0.iter().position(|(other, ..)| other == name)?;
        let (_, node, process) = self.0.remove(at);
        Some((node, process))
    }
}

/// Why a program could not be started.
fn unstarted(words: &[String], error: &io::Error) -> String {
    match (error.kind(), words.first()) {
        (io::ErrorKind::NotFound, Some(name)) => format!("{name}: there is no such program here"),
        (_, name) => format!("{}: {error}", name.map_or("", String::as_str)),
    }
}

/// A program and its arguments as a shell would take them.
fn shown(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%^".contains(c);
    let words = words.iter().map(|word| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    words.collect::<Vec<_>>().join(" ")
}
