//! Progress of whatever measures: a bar on a terminal, plain lines elsewhere. On stderr, so that a table
//! can be piped.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// Shows progress over `n` rows.
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    done: usize,
    n: usize,
}

impl Shown {
    pub(crate) fn new(n: usize, colours: bool) -> Shown {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(n as u64);
            let bar_style = if colours { "{bar:30.green}" } else { "{bar:30}" };
            let template = format!("{bar_style} {{pos}}/{{len}}  {{msg}}");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style);
            }
            bar
        });
        Shown { bar, done: 0, n }
    }

    /// What is measured now.
    pub(crate) fn begin(&self, what: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(what());
        }
    }

    /// A row is there: what it says.
    pub(crate) fn done(&mut self, row: impl FnOnce() -> String) {
        self.done += 1;
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => say!("[{}/{}] {}", self.done, self.n, row()),
        }
    }

    /// What is said beside rows.
    pub(crate) fn remark(&self, line: String) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => say!("{line}"),
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
