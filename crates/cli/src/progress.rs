//! Progress of a bench: a bar on a terminal, plain lines elsewhere. On stderr, so
//! that a table can be piped.

use indicatif::{ProgressBar, ProgressStyle};
use lab::bench::Progress;
use measure::{Row, Verdict};
use std::io::IsTerminal;

/// Shows progress over `n` cells.
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

    pub(crate) fn show(&mut self, progress: &Progress<'_>) {
        match (progress, &self.bar) {
            (Progress::Begin(device, what, frame), Some(bar)) => {
                let (mode, name, size) = (what.mode, what.name, frame.l2());
                bar.set_message(format!("{device}: {mode}, {name}, {size} byte"));
            }
            (Progress::Begin(..), None) => {}
            (Progress::Done(_), Some(bar)) => bar.inc(1),
            (Progress::Done(row), None) => {
                self.done += 1;
                say!(
                    "[{}/{}] {}: {}, {}, {} byte: {}",
                    self.done,
                    self.n,
                    row.device,
                    row.mode,
                    row.configuration,
                    row.frame_size,
                    figure(row)
                );
            }
            (Progress::Omitted(setup), bar) => {
                let reason = setup.omitted.as_deref().unwrap_or_default();
                let line = format!(
                    "{}: no row {}, {}: {reason}",
                    setup.device, setup.mode, setup.configuration
                );
                match bar {
                    Some(bar) => bar.println(line),
                    None => say!("{line}"),
                }
            }
        }
    }
}

/// The rate of a row; of an invalid one there is none.
fn figure(row: &Row) -> String {
    match row.verdict {
        Verdict::Invalid => {
            format!("invalid: {}", row.remark.as_deref().unwrap_or("it does not say why"))
        }
        Verdict::Pass | Verdict::Fail => format!("{:.1} kpps", row.kpps),
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
