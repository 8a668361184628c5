//! `wirespeed report`: what can be done with results that are there.

use crate::failure::Failure;
use clap::{Args, Subcommand};
use measure::survey::{Capture, Survey};
use port::record::{ETHERNET, ReadError, Reader};
use report::check::{self, Known};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  wirespeed report html results/run.json --output run.html
  wirespeed report compare --base monday1.json,monday2.json tuesday1.json tuesday2.json
  wirespeed report check results/run.json
  wirespeed report check iperf3.json --link 1G
  wirespeed report pcap behind-the-router.pcapng
  wirespeed report pcap --json before.pcap behind.pcap
  wirespeed report check table-2014.csv table-2016.csv --link CCR1072=8x10G")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Can these numbers be? Rates above the wire, sums that do not add up, counters that wrapped,
    /// layers that are none
    ///
    /// Reads results of wirespeed, what iperf3 --json writes, and tables in CSV with columns such
    /// as size_bytes, kpps, mbps; tx_packet, rx_packet, lost_packet; packet_l3, l3_mbps. Exits with
    /// 1 if something is wrong; numbers that are only rounded are told and are no fault.
    Check {
        /// The files; those of the same shape are compared, too
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// What the wires of a device carry together: 10G, 8x1G+2x10G, CCR1072=8x10G
        #[arg(long, value_name = "[DEVICE=]RATE", value_parser = link)]
        link: Vec<(String, f64)>,
    },
    /// Draws results as one HTML page: charts, tables, where and how it was measured
    Html {
        /// Results of `bench`, `test` or `iperf3`
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The page
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// Prints the tables of results again
    Table {
        /// Results of `bench`, `test` or `iperf3`
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// As what
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Counts the test frames of captures: of wirespeed's streams, and of the kernel's pktgen
    ///
    /// For each stream, and each time it began anew: received, missing, duplicate and reordered
    /// frames, and how late they were by the capture's clock. What is none of theirs is foreign.
    /// Threads of pktgen are told apart by an address or a port of their own; those that have none
    /// are counted as one, and that is said.
    Pcap {
        /// pcap or pcapng, of Ethernet
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print JSON (wirespeed-survey/1) instead of tables
        #[arg(long)]
        json: bool,
    },
    /// Compares runs cell by cell: medians, spread, and a verdict where there is one
    ///
    /// Four runs of each are the least that can say anything. To compare two devices on one
    /// machine, let `bench --compare` measure them by turns instead.
    Compare {
        /// The runs to compare with
        #[arg(long, required = true, value_name = "FILE,…", value_delimiter = ',')]
        base: Vec<PathBuf>,
        /// The runs that are compared
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// The table of the documents
    Text,
    /// A line for each row, nothing rounded
    Csv,
    /// For whoever writes about it
    Markdown,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.what {
        What::Check { files, link } => check(files, link),
        What::Pcap { files, json } => pcaps(files, *json),
        What::Table { file, format } => {
            print!("{}", table(file, *format)?);
            Ok(())
        }
        What::Compare { base, files } => {
            let all = |files: &[PathBuf]| files.iter().map(results).collect::<Result<Vec<_>, _>>();
            print!("{}", report::compare::render(&all(base)?, &all(files)?));
            Ok(())
        }
        What::Html { file, output } => {
            let (name, text) = read(file)?;
            let page = match Kind::of(&text) {
                Kind::Suite => report::html::suite_page(&suite(&name, &text)?),
                Kind::Iperf3 => report::html::iperf3_page(&iperf3(&name, &text)?),
                Kind::Bench => report::html::page(&results(file)?),
            };
            std::fs::write(output, page).map_err(|error| {
                Failure::Environment(format!("cannot write {}: {error}", output.display()))
            })
        }
    }
}

fn read(path: &PathBuf) -> Result<(String, String), Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::Environment(format!("cannot read {}: {error}", path.display()))
    })?;
    Ok((path.display().to_string(), text))
}

/// Whose results a file has.
enum Kind {
    Bench,
    Suite,
    Iperf3,
}

impl Kind {
    fn of(text: &str) -> Kind {
        let value = || serde_json::from_str(text);
        match report::suite::is_suite(text) {
            true => Kind::Suite,
            false if value().is_ok_and(|value| report::iperf3::is_one(&value)) => Kind::Iperf3,
            false => Kind::Bench,
        }
    }
}

/// Results of any of our commands: of `bench`, of a suite, of the iperf3 method.
fn table(file: &PathBuf, format: Format) -> Result<String, Failure> {
    let (name, text) = read(file)?;
    Ok(match Kind::of(&text) {
        Kind::Suite => {
            let results = suite(&name, &text)?;
            match format {
                Format::Text => report::suite::render(&results),
                Format::Csv => report::export::suite_csv(&results),
                Format::Markdown => report::export::suite_markdown(&results),
            }
        }
        Kind::Iperf3 => {
            let results = iperf3(&name, &text)?;
            match format {
                Format::Text => report::iperf3::render(&results),
                Format::Csv => report::export::iperf3_csv(&results),
                Format::Markdown => report::export::iperf3_markdown(&results),
            }
        }
        Kind::Bench => {
            let results = results(file)?;
            match format {
                Format::Text => report::render(&results),
                Format::Csv => report::export::csv(&results),
                Format::Markdown => report::export::markdown(&results),
            }
        }
    })
}

fn iperf3(name: &str, text: &str) -> Result<measure::iperf3::Results, Failure> {
    report::iperf3::read(text).map_err(|error| Failure::Usage(format!("{name}: {error}")))
}

fn suite(name: &str, text: &str) -> Result<measure::suite_result::SuiteResults, Failure> {
    report::suite::read(text).map_err(|error| Failure::Usage(format!("{name}: {error}")))
}

fn results(path: &PathBuf) -> Result<measure::Results, Failure> {
    let (name, text) = read(path)?;
    report::read(&text).map_err(|error| Failure::Usage(format!("{name}: {error}")))
}

fn check(files: &[PathBuf], link: &[(String, f64)]) -> Result<(), Failure> {
    let files = files.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let known = Known { links: link.to_vec() };
    let findings =
        check::check(&files, &known).map_err(|error| Failure::Usage(error.to_string()))?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.iter().filter(|finding| finding.kind != check::Kind::Rounded).count() {
        0 => Ok(()),
        n => Err(Failure::Failed(format!("{n} numbers cannot be, or cannot be understood"))),
    }
}

/// Prints what captures have, each up to where it can be read.
fn pcaps(files: &[PathBuf], json: bool) -> Result<(), Failure> {
    let mut captures = Vec::new();
    for file in files {
        let capture = pcap(file)?;
        if !json {
            print!("{}", report::survey::render(&capture));
        }
        captures.push(capture);
    }
    let ended = captures.iter().find_map(|of| Some((&of.file, of.incomplete_because.as_ref()?)));
    let ended = ended.map(|(name, why)| {
        Failure::Failed(format!("{name}: {why}; what is before is counted above"))
    });
    if json {
        print!("{}", report::survey::json(captures).map_err(Failure::Failed)?);
    }
    ended.map_or(Ok(()), Err)
}

fn pcap(path: &PathBuf) -> Result<Capture, Failure> {
    let name = path.display().to_string();
    let file = File::open(path)
        .map_err(|error| Failure::Environment(format!("cannot read {name}: {error}")))?;
    let usage = |error: ReadError| Failure::Usage(format!("{name}: {error}"));
    let mut reader = Reader::new(BufReader::new(file)).map_err(usage)?;
    let mut survey = Survey::default();
    let ended = loop {
        match reader.read() {
            Ok(Some(record)) if record.link_type == ETHERNET => {
                survey.frame(record.timestamp_ns, record.bytes, record.original_len);
            }
            Ok(Some(record)) => {
                let link = record.link_type;
                let why =
                    format!("{name}: frames of link type {link}, and only Ethernet's are read");
                return Err(Failure::Usage(why));
            }
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    Ok(survey.capture(&name, ended))
}

fn link(text: &str) -> Result<(String, f64), String> {
    let (device, rate) = text.rsplit_once('=').unwrap_or(("", text));
    let rate = check::link(rate).ok_or("a rate is 1G, 8x10G, 8x1G+2x10G or 1000Base-T")?;
    Ok((device.to_string(), rate))
}
