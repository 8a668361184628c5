//! Result files: JSON with the name and version of its format, one reader and one writer for all.
//!
//! The version is looked at before anything else, so that a file of another one is refused by its
//! name and not by a field that is missing. A stored file of every version is in `data/`.
//!
//! Never opens a file: text in, text out.

use measure::result::SCHEMA;
use measure::survey::Surveys;
use measure::{Results, SuiteResults, iperf3};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A kind of result file.
pub trait Format: Serialize + DeserializeOwned + PartialEq {
    /// Its name and version.
    const SCHEMA: &'static str;
    /// Versions before it that are read: what they lack is empty.
    const OLDER: &'static [&'static str];
    /// The command that writes it.
    const COMMAND: &'static str;
}

macro_rules! formats {
    ($($results:ty, $of:path, $command:literal, $older:expr;)*) => {
        $(impl Format for $results {
            const SCHEMA: &'static str = { use $of as of; of::SCHEMA };
            const OLDER: &'static [&'static str] = $older;
            const COMMAND: &'static str = $command;
        })*
        /// All of them: name, older names, command.
        const FORMATS: &[(&str, &[&str], &str)] =
            &[$((<$results>::SCHEMA, <$results>::OLDER, $command)),*];
    };
}

formats! {
    Results, measure::result, "bench", measure::result::OLDER;
    SuiteResults, measure::suite_result, "test", &measure::suite_result::OLDER;
    iperf3::Results, measure::iperf3, "iperf3", &[];
    Surveys, measure::survey, "report pcap", &measure::survey::OLDER;
}

/// Results as JSON, with a newline at the end.
///
/// # Errors
/// Something in them is not a number, which JSON has no word for: it would not be read again.
pub fn write<T: Format>(results: &T) -> Result<String, String> {
    let text = match T::COMMAND {
        "test" => crate::lines::write(results)?,
        _ => serde_json::to_string_pretty(results).map_err(|error| error.to_string())? + "\n",
    };
    match read::<T>(&text) {
        Ok(again) if again == *results => Ok(text),
        Ok(_) => Err("something in the results is not a number".to_string()),
        Err(error) => Err(format!("something in the results is not a number: {error}")),
    }
}

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
                let kind = |schema: &str| schema.split('/').next().map(str::to_string);
                let ours = FORMATS.iter().find(|(ours, ..)| kind(ours) == kind(schema));
                let &(ours, older, command) = ours.unwrap_or(&FORMATS[0]);
                if ours == schema || older.contains(&schema.as_str()) {
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

/// Reads a result file of one kind, of this version or an older one.
///
/// # Errors
/// [`ReadError`] says whether it is JSON, whose it is, and where it is damaged.
pub fn read<T: Format>(text: &str) -> Result<T, ReadError> {
    let schema = schema(text)?;
    if schema != T::SCHEMA && !T::OLDER.contains(&schema.as_str()) {
        return Err(ReadError::OtherSchema(schema));
    }
    // From the text: only so does an error know its line and column.
    serde_json::from_str(text)
        .map_err(|error| ReadError::Malformed { schema, error: error.to_string() })
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

    fn read(text: &str) -> Result<Results, ReadError> {
        super::read(text)
    }

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
        assert!(write(&results).unwrap_err().contains("is not a number"));
    }
}
