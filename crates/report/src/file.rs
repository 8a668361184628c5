//! A result file of any of our commands: read by its schema, shown, and taken apart into records.
//!
//! ```text
//!  text ─► Kind, by "schema" ─► File ─┬─► document  text, Markdown, a page
//!                                     ├─► records   CSV, JSON: figures, trials, streams, series
//!                                     └─► compare   with others of its kind
//! ```

use crate::compare::{self, Compared};
use crate::document::{Document, Table};
use crate::json::ReadError;
use crate::{bench, export, iperf3, json, suite, survey};
use measure::Environment;

/// The results in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum File {
    /// Of `wirespeed bench`.
    Bench(measure::Results),
    /// Of `wirespeed test`.
    Suite(measure::SuiteResults),
    /// Of `wirespeed iperf3`.
    Iperf3(measure::iperf3::Results),
    /// Of `wirespeed report pcap`: counts of captures.
    Survey(measure::survey::Surveys),
}

/// Records of a file, by what each is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Rows and figures.
    Figures,
    /// Trials.
    Trials,
    /// Streams and directions of trials.
    Streams,
    /// Intervals of time series.
    Series,
}

impl File {
    /// Reads it, whatever of ours it is and of whatever version.
    ///
    /// # Errors
    /// [`ReadError`] says whether it is JSON, whose it is, and where it is damaged.
    pub fn read(text: &str) -> Result<File, ReadError> {
        let schema = json::schema(text)?;
        Ok(match schema.split('/').next().unwrap_or_default() {
            "wirespeed-test" => File::Suite(suite::read(text)?),
            "wirespeed-iperf3" => File::Iperf3(json::read(text)?),
            "wirespeed-survey" => File::Survey(json::read(text)?),
            _ => File::Bench(json::read(text)?),
        })
    }

    /// As it is written: JSON, with a newline at the end.
    ///
    /// # Errors
    /// Something in it is not a number, which JSON has no word for.
    pub fn write(&self) -> Result<String, String> {
        match self {
            File::Bench(results) => json::write(results),
            File::Suite(results) => json::write(results),
            File::Iperf3(results) => json::write(results),
            File::Survey(surveys) => json::write(surveys),
        }
    }

    /// The same, and why it is not all that was asked for.
    #[must_use]
    pub fn incomplete(mut self, why: &str) -> File {
        let why = Some(why.to_string());
        match &mut self {
            File::Bench(results) => results.incomplete_because = why,
            File::Suite(results) => (results.complete, results.incomplete_because) = (false, why),
            File::Iperf3(results) => results.incomplete_because = why,
            File::Survey(_) => {}
        }
        self
    }

    /// What there is of it that could be valid, a row or a trial, if none of them is.
    pub fn nothing_valid(&self) -> Option<&'static str> {
        let (what, n, valid) = match self {
            File::Bench(results) => {
                let valid = |row: &&measure::Row| row.verdict != measure::Verdict::Invalid;
                ("row", results.rows.len(), results.rows.iter().filter(valid).count())
            }
            File::Suite(results) => {
                let trials = || results.cells.iter().flat_map(|cell| &cell.trials);
                ("trial", trials().count(), trials().filter(|trial| trial.is_valid()).count())
            }
            File::Iperf3(results) => ("row", 1, usize::from(!results.is_all_invalid())),
            File::Survey(_) => return None,
        };
        (n > 0 && valid == 0).then_some(what)
    }

    /// The command that writes such files.
    pub fn command(&self) -> &'static str {
        match self {
            File::Bench(_) => "`bench`",
            File::Suite(_) => "`test`",
            File::Iperf3(_) => "`iperf3`",
            File::Survey(_) => "`report pcap`",
        }
    }

    /// Why it is not all that was asked for.
    pub fn incomplete_because(&self) -> Option<&str> {
        match self {
            File::Bench(results) => results.incomplete_because.as_deref(),
            File::Iperf3(results) => results.incomplete_because.as_deref(),
            File::Survey(_) => None,
            File::Suite(results) if results.complete => None,
            File::Suite(results) => {
                Some(results.incomplete_because.as_deref().unwrap_or("it is not known why"))
            }
        }
    }

    /// What its plan is called.
    pub fn name(&self) -> &str {
        match self {
            File::Bench(_) => "bench",
            File::Suite(results) => &results.name,
            File::Iperf3(results) => &results.name,
            File::Survey(_) => "report pcap",
        }
    }

    /// Where and how it was measured; a survey does not say.
    pub fn environment(&self) -> Option<&Environment> {
        match self {
            File::Bench(results) => Some(&results.environment),
            File::Suite(results) => Some(&results.environment),
            File::Iperf3(results) => Some(&results.environment),
            File::Survey(_) => None,
        }
    }

    /// What in it says nothing of a device, and why; a suite's trials say it of themselves.
    pub fn invalid(&self) -> Vec<String> {
        match self {
            File::Bench(results) => bench::invalid(results),
            File::Iperf3(results) => results.invalid(),
            File::Suite(_) | File::Survey(_) => vec![],
        }
    }

    /// All in it that cannot be.
    pub fn faults(&self) -> Vec<String> {
        match self {
            File::Bench(results) => results.faults(),
            File::Suite(results) => results.faults(),
            File::Iperf3(results) => results.faults(),
            File::Survey(_) => vec![],
        }
    }

    /// All of it.
    pub fn document(&self) -> Document {
        match self {
            File::Bench(results) => bench::document(results),
            File::Suite(results) => suite::document(results),
            File::Iperf3(results) => iperf3::document(results),
            File::Survey(surveys) => survey::document(&surveys.captures),
        }
    }

    /// What other programs read, nothing rounded.
    ///
    /// # Errors
    /// Why such a file has none of these.
    pub fn records(&self, of: Records) -> Result<Table, String> {
        let without = |what: &str, others: &str| {
            Err(format!("results of {} keep no {what}, those of {others} do", self.command()))
        };
        Ok(match (of, self) {
            (Records::Figures, File::Bench(results)) => export::bench(results),
            (Records::Figures, File::Suite(results)) => export::suite(results),
            (Records::Figures, File::Iperf3(results)) => export::iperf3(results),
            (Records::Figures, File::Survey(surveys)) => survey::records(&surveys.captures),
            (Records::Trials, File::Bench(results)) => {
                if results.rows.iter().all(|row| row.trials.is_empty()) {
                    return Err("it was written by a version that kept no trials of `bench`".into());
                }
                export::bench_trials(results)
            }
            (Records::Trials, File::Suite(results)) => export::suite_trials(results),
            (Records::Trials, _) => return without("trials", "`test` and `bench`"),
            (Records::Streams, File::Suite(results)) => export::suite_parts(results),
            (Records::Streams, File::Survey(_)) => {
                return without("streams beside their tables", "`test`");
            }
            (Records::Streams, _) => return without("streams", "`test`"),
            (Records::Series, File::Suite(results)) => export::suite_series(results),
            (Records::Series, _) => return without("time series", "`test`"),
        })
    }
}

/// Runs of one command against each other: all runs of a base, and all that are compared with it.
///
/// # Errors
/// They are not of one command, or of one that compares nothing.
pub fn compare(base: &[File], files: &[File]) -> Result<Compared, String> {
    let both = || base.iter().chain(files);
    if let Some(of) = both().find(|file| matches!(file, File::Survey(_))) {
        return Err(format!(
            "these are counts of captures, by {}, and are not compared",
            of.command()
        ));
    }
    let kind = both().next().map(File::command);
    if let Some(other) = both().find(|file| Some(file.command()) != kind) {
        return Err(format!(
            "one has results of {}, and the others of {}: they measure different things",
            other.command(),
            kind.unwrap_or_default()
        ));
    }
    Ok(compare::compare(base, files))
}
