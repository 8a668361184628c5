//! Result files: JSON, one [`measure::Results`], with the name and version of its format.
//!
//! The version is looked at before anything else, so that a file of another one is refused by its
//! name and not by a field that is missing. A stored file of every version is in `data/`.
//!
//! Never opens a file: text in, text out.

use measure::Results;
use measure::result::{OLDER, SCHEMA};
use serde::Deserialize;
use std::fmt;

/// The results as JSON, indented, with a newline at the end.
///
/// # Errors
/// A rate that is not a number (JSON has none) would not be read again: the row's place is named.
pub fn write(results: &Results) -> Result<String, WriteError> {
    for (i, row) in results.rows.iter().enumerate() {
        let optional = [row.router_ns_per_packet, row.fast_path_share, row.no_drop, row.tester_pps];
        let rates = [row.duration, row.pps, row.kpps, row.l1_mbps, row.l2_mbps, row.l3_mbps];
        let mut all = rates.into_iter().chain(optional.into_iter().flatten()).chain(row.wire_mbps);
        if !all.all(f64::is_finite) {
            return Err(WriteError { row: i });
        }
    }
    for (i, compared) in results.comparisons.iter().enumerate() {
        let rates = &compared.comparison;
        if !rates.base_pps.iter().chain(&rates.device_pps).all(|rate| rate.is_finite()) {
            return Err(WriteError { row: i });
        }
    }
    let mut text = serde_json::to_string_pretty(results).map_err(|_| WriteError { row: 0 })?;
    text.push('\n');
    Ok(text)
}

/// A row, or a comparison, holds something that is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteError {
    /// Which row, or comparison, from 0.
    pub row: usize,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row or comparison {} of the results holds a rate that is not a number", self.row)
    }
}

impl std::error::Error for WriteError {}

/// The text is no result file that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// Not JSON.
    NotJson(String),
    /// JSON, but without `schema`: no result file.
    NoSchema,
    /// A result file of another command's, of another format, or of a version to come.
    OtherSchema(String),
    /// Of this format, but something is missing or of another type.
    Malformed {
        /// The format.
        schema: String,
        /// What, and where.
        error: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotJson(error) => write!(f, "not JSON: {error}"),
            ReadError::NoSchema => write!(
                f,
                "no result file: it has no \"schema\", which those of `wirespeed bench --json` begin \
                 with: {SCHEMA:?}"
            ),
            ReadError::OtherSchema(schema) => {
                let kind = schema.split('/').next().unwrap_or("");
                let all = [
                    (SCHEMA, OLDER),
                    (measure::suite_result::SCHEMA, &measure::suite_result::OLDER),
                    (measure::iperf3::SCHEMA, &[]),
                    (measure::survey::SCHEMA, &measure::survey::OLDER),
                ];
                let ours = all.into_iter().find(|ours| ours.0.split('/').next() == Some(kind));
                let (ours, older) = ours.unwrap_or((SCHEMA, OLDER));
                if ours == schema || older.contains(&schema.as_str()) {
                    let command = match kind.trim_start_matches("wirespeed-") {
                        "survey" => "report pcap",
                        command => command,
                    };
                    return write!(
                        f,
                        "results of `wirespeed {command}` ({schema:?}), and other results are wanted here"
                    );
                }
                write!(
                    f,
                    "a result file of the format {schema:?}; this version reads {ours:?} and older ones"
                )
            }
            ReadError::Malformed { schema, error } => {
                write!(f, "a damaged {schema:?} file: {error}")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads a result file.
///
/// # Errors
/// [`ReadError`] says whether it is JSON, whose it is, and where it is damaged.
pub fn read(text: &str) -> Result<Results, ReadError> {
    match schema(text)? {
        schema if schema != SCHEMA && !OLDER.contains(&schema.as_str()) => {
            Err(ReadError::OtherSchema(schema))
        }
        schema => parse(&schema, text),
    }
}

/// A file of this format, from the text: only so does an error know its line and column.
pub(crate) fn parse<'a, T: Deserialize<'a>>(schema: &str, text: &'a str) -> Result<T, ReadError> {
    let malformed = |error: serde_json::Error| {
        let (schema, error) = (schema.to_string(), error.to_string());
        ReadError::Malformed { schema, error }
    };
    serde_json::from_str(text).map_err(malformed)
}

/// The name of a result file's format.
pub(crate) fn schema(text: &str) -> Result<String, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| ReadError::NotJson(error.to_string()))?;
    let head: Head = serde_json::from_value(value).map_err(|_| ReadError::NoSchema)?;
    head.schema.ok_or(ReadError::NoSchema)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str = include_str!("../data/bench-2.json");
    const OF_VERSION_1: &str = include_str!("../data/bench-1.json");

    #[test]
    fn the_stored_file_is_read_and_written_again() {
        let results = read(STORED).unwrap();
        assert_eq!(
            (results.rows.len(), results.setups.len(), results.comparisons.len()),
            (2, 2, 1)
        );
        assert_eq!(results.rows[0].medium.wire, "veth");
        for row in &results.rows {
            assert_eq!(row.faults(), [], "{row:?}");
        }
        assert_eq!(write(&results).unwrap(), STORED);
    }

    #[test]
    fn a_file_of_version_1_is_read() {
        let results = read(OF_VERSION_1).unwrap();
        assert_eq!(results.rows.len(), 2);
        assert_eq!(results.rows[0].pps, 14_880_952.0);
        assert_eq!(results.rows[0].medium.wire, "memory", "there was nothing else");
        for row in &results.rows {
            assert_eq!(row.faults(), [], "{row:?}");
        }
    }

    #[test]
    fn refused() {
        let other = STORED.replace("wirespeed-bench/2", "wirespeed-bench/3");
        let damaged = STORED.replacen("\"pps\"", "\"ppm\"", 1);
        let wrong = STORED.replacen("\"routing\"", "\"flying\"", 1);
        for (text, expected) in [
            ("", "not JSON: EOF while parsing"),
            ("{\"schema\": ", "not JSON: EOF while parsing"),
            ("[]", "no result file"),
            ("7", "no result file"),
            ("{}", "no result file: it has no \"schema\""),
            ("{\"schema\": 1}", "no result file"),
            (
                "{\"schema\": \"wirespeed-bench/2\"}",
                "damaged \"wirespeed-bench/2\" file: missing field",
            ),
            (
                &other,
                "format \"wirespeed-bench/3\"; this version reads \"wirespeed-bench/2\" and older",
            ),
            (
                "{\"schema\": \"wirespeed-test/1\"}",
                "results of `wirespeed test` (\"wirespeed-test/1\"), and other results are wanted",
            ),
            (&damaged, "missing field `pps` at line"),
            (&wrong, "unknown variant `flying`, expected `bridging` or `routing` at line"),
        ] {
            let error = read(text).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(expected), "{expected:?} in {error:?}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_not_written() {
        let mut results = read(STORED).unwrap();
        results.rows[1].kpps = f64::NAN;
        assert_eq!(write(&results), Err(WriteError { row: 1 }));
    }
}
