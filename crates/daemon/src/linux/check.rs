//! The check of the machine, before anything is touched: `wirespeed router --check`.
//!
//! ```text
//!  ports and their options ─┐                                    ┌ good
//!  rights, limits, kernel   ┼─► Finding: what, what is, and what ┼ better: what to type
//!  cores                    ┘            is to be done about it  ┼ warn: it starts, and something
//!                                                                │       will not work
//!                                                                └ stop: it would not start
//! ```
//!
//! Only looks: it opens sockets and maps and closes them, and reads files. It attaches nothing, sets
//! nothing, and binds to no interface, so it cannot find out who else has bound to one: what uses an
//! interface is known when the router starts.

// Rights, limits, the kernel.
mod machine;
// An interface, and what is asked of it.
mod interface;
// A processor.
mod processor;

use crate::real::PortSpec;
use port::linux::Unavailable;
use port::slab::Slots;

/// What a router is to have.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Its ports.
    pub ports: &'a [PortSpec],
    /// How many threads it has.
    pub threads: usize,
    /// The processors they are to run on: the router's, then the workers'.
    pub cores: &'a [usize],
    /// What its frames take, in bytes.
    pub memory: u64,
    /// How long they can be.
    pub slots: Slots,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It works, and could be better.
    Better,
    /// It starts, and something will not work.
    Warn,
    /// The router would not start.
    Stop,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whose it is: a port's name, `machine`, `core 1`.
    pub of: String,
    /// What: `driver`, `queues`, `memory lock`.
    pub what: String,
    /// What is.
    pub is: String,
    /// How bad that is.
    pub verdict: Verdict,
    /// What to do about it, with the command to type; empty if nothing.
    pub advice: String,
}

/// All findings, in the order in which they were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// As printed.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Good => "ok",
            Verdict::Better => "better",
            Verdict::Warn => "WARN",
            Verdict::Stop => "STOP",
        }
    }
}

impl Report {
    /// Whether something of this one's would keep the router from starting.
    pub fn stops_at(&self, of: &str) -> bool {
        self.findings.iter().any(|f| f.of == of && f.verdict == Verdict::Stop)
    }

    /// Whether something would keep the router from starting.
    pub fn stops(&self) -> bool {
        self.findings.iter().any(|finding| finding.verdict == Verdict::Stop)
    }

    /// As a table, each advice on a line of its own below what it is about.
    pub fn table(&self) -> String {
        let width = |of: fn(&Finding) -> &str| {
            self.findings.iter().map(|finding| of(finding).len()).max().unwrap_or(0)
        };
        let (of, what) = (width(|f| &f.of), width(|f| &f.what));
        let mut text = String::new();
        for f in &self.findings {
            let verdict = f.verdict.word();
            text += &format!("{:of$}  {:what$}  {verdict:6}  {}\n", f.of, f.what, f.is);
            if !f.advice.is_empty() {
                text += &format!("{:indent$}{}\n", "", f.advice, indent = of + what + 12);
            }
        }
        text
    }

    /// As JSON.
    pub fn json(&self) -> serde_json::Value {
        let finding = |f: &Finding| {
            serde_json::json!({
                "of": f.of,
                "what": f.what,
                "is": f.is,
                "verdict": f.verdict.word().to_lowercase(),
                "advice": f.advice,
            })
        };
        let findings: Vec<_> = self.findings.iter().map(finding).collect();
        serde_json::json!({ "stops": self.stops(), "findings": findings })
    }

    pub(crate) fn add(
        &mut self,
        of: &str,
        what: &str,
        is: impl Into<String>,
        verdict: Verdict,
        advice: &str,
    ) {
        self.findings.push(Finding {
            of: of.to_string(),
            what: what.to_string(),
            is: is.into(),
            verdict,
            advice: advice.to_string(),
        });
    }

    pub(crate) fn good(&mut self, of: &str, what: &str, is: impl Into<String>) {
        self.add(of, what, is, Verdict::Good, "");
    }

    pub(crate) fn stop(&mut self, of: &str, what: &str, why: &Unavailable, advice: &str) {
        let advice = why.remedy.as_deref().unwrap_or(advice);
        let is = format!("cannot {}: {}", why.tried, why.error);
        self.add(of, what, is, Verdict::Stop, advice);
    }
}

/// Looks at the machine, at each interface, and at each core the router's threads are to run on.
pub fn check(wanted: &Wanted<'_>) -> Report {
    let mut report = Report::default();
    machine::look(&mut report, wanted);
    for port in wanted.ports {
        if let Err(why) = interface::look(&mut report, port, wanted) {
            report.stop(&port.name, "interface", &why, "");
        }
    }
    processor::all(&mut report, wanted.cores);
    report
}

/// What follows `name` on its line.
fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests;
