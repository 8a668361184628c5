//! Result files: JSON, one [`measure::Results`], with the name and version of its format.
//!
//! The version is looked at before anything else, so that a file of another one is refused by its
//! name and not by a field that is missing. A stored file of every version is in `data/`.
//!
//! Never opens a file: text in, text out.

use measure::Results;
use measure::result::SCHEMA;
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
    let mut text = serde_json::to_string_pretty(results).map_err(|_| WriteError { row: 0 })?;
    text.push('\n');
    Ok(text)
}

/// A row holds something that is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteError {
    /// Which row, from 0.
    pub row: usize,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {} of the results holds a rate that is not a number", self.row)
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
    /// A result file of another format or version.
    OtherSchema(String),
    /// Of this version, but something is missing or of another type.
    Malformed(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotJson(error) => write!(f, "not JSON: {error}"),
            ReadError::NoSchema => write!(
                f,
                "no result file: it has no \"schema\" (files written by `wirespeed bench --json` \
                 begin with {{\"schema\": \"{SCHEMA}\""
            ),
            ReadError::OtherSchema(schema) => write!(
                f,
                "a result file of the format {schema:?}; this version reads {SCHEMA:?} only"
            ),
            ReadError::Malformed(error) => write!(f, "a damaged {SCHEMA:?} file: {error}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads a result file.
///
/// # Errors
/// [`ReadError`] says whether it is JSON, whose it is, and where it is damaged.
pub fn read(text: &str) -> Result<Results, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| ReadError::NotJson(error.to_string()))?;
    let head: Head = serde_json::from_value(value).map_err(|_| ReadError::NoSchema)?;
    match head.schema {
        None => Err(ReadError::NoSchema),
        Some(schema) if schema != SCHEMA => Err(ReadError::OtherSchema(schema)),
        // From the text again: only so does an error know its line and column.
        Some(_) => {
            serde_json::from_str(text).map_err(|error| ReadError::Malformed(error.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str = include_str!("../data/bench-1.json");

    #[test]
    fn the_stored_file_is_read_and_written_again() {
        let results = read(STORED).unwrap();
        assert_eq!(results.rows.len(), 2);
        assert_eq!(results.rows[0].pps, 14_880_952.0);
        for row in &results.rows {
            assert_eq!(row.faults(), [], "{row:?}");
        }
        assert_eq!(write(&results).unwrap(), STORED);
    }

    #[test]
    fn refused() {
        let other = STORED.replace("wirespeed-bench/1", "wirespeed-bench/2");
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
                "{\"schema\": \"wirespeed-bench/1\"}",
                "damaged \"wirespeed-bench/1\" file: missing field",
            ),
            (&other, "format \"wirespeed-bench/2\"; this version reads \"wirespeed-bench/1\" only"),
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
