//! `wirespeed report`: what can be done with results that are there.

use crate::failure::Failure;
use crate::keep;
use clap::{Args, Subcommand};
use measure::survey::{Capture, Survey};
use port::record::{ETHERNET, ReadError, Reader};
use report::check::{self, Known};
use report::compare::Compared;
use report::file::{File, Records};
use std::io::BufReader;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = "\
Examples:
  wirespeed report html results/2026-11-20-epyc-1-core.json --output run.html
  wirespeed report compare monday.json tuesday.json
  wirespeed report compare --base monday1.json,monday2.json tuesday1.json tuesday2.json
  wirespeed report table --format trials results/2026-11-23-rfc2544-virtual.json
  wirespeed report check results/2026-11-20-epyc-1-core.json
  wirespeed report check iperf3.json --link 1G
  wirespeed report pcap behind-the-router.pcapng
  wirespeed report pcap --json before.pcap behind.pcap
  wirespeed report pcap --format csv behind.pcap
  wirespeed report check table-2014.csv table-2016.csv --link CCR1072=8x10G")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Can these numbers be? Rates above the wire, layers that are ambiguous or contradict each other,
    /// counters that wrapped
    ///
    /// Reads results of wirespeed, what iperf3 --json writes, and tables in CSV, parted by commas,
    /// semicolons or tabs. Columns that are known, by these names or what others call them: frame
    /// size with frames a second, bits a second or both (`Frame size [bytes]`, `Throughput (fps)`,
    /// `rate (kpps)`, `Mbps L3`, `L2 Gbit/s`, or `64 byte kpps` and so on), `Tx (fps)` and `Rx (fps)`;
    /// tx_packet, rx_packet, lost_packet, duplicate_packet; packet_l3 with l3_mbps; tx_pps with
    /// tx_mbps. Of these, cells that are no numbers are told, of others that nothing looks at them.
    ///
    /// A file that cannot be checked is told, and the others are checked. Exits with 1 if something
    /// is wrong, with 2 if something could not be checked; what is only rounded, and a warning, is
    /// told and is no fault.
    Check {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// What the wires of a device carry together: 10G, 8x1G+2x10G, CCR1072=8x10G; a device is
        /// named by the beginning of its name in the files
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
        /// Results of `bench`, `test` or `iperf3`, or of `report pcap --json`
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// As what
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Counts the test frames of captures: of wirespeed's streams, and of the kernel's pktgen
    ///
    /// For each stream, and each time it began anew: received, missing, duplicate and reordered
    /// frames, gaps, those of a wrong size or with a bad checksum, and how late they were by the
    /// capture's clock. What is none of theirs is foreign.
    ///
    /// What was sent a capture does not say: a size is wrong that the frame's own headers contradict
    /// (IP's and UDP's lengths; pieces of packets), a checksum where IP's, UDP's, TCP's or ICMP's is.
    /// A UDP checksum of 0 is none. One that a network card has still to fill in, captured on the
    /// sender, is bad. A frame that a snap length cut off is not damaged: its headers are looked at as
    /// far as they go, and without its trailer it is foreign, unless it is pktgen's.
    ///
    /// Threads of pktgen are told apart by an address or a port of their own; those that have none
    /// are counted as one, and that is said.
    Pcap {
        /// pcap or pcapng, of Ethernet
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print JSON (wirespeed-survey/2) instead of tables
        #[arg(long)]
        json: bool,
        /// As what
        #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
        format: Written,
    },
    /// Compares runs cell by cell: medians, spread, and a verdict where there is one
    ///
    /// Runs of `bench`, of `test` or of `iperf3`, all of one of them: `A B` compares B with A, and
    /// --base names several to compare with. Cells that only one side has are named; runs that have
    /// none in common are refused (exit code 2). Four runs of each are the least that can say
    /// anything; copies of one run count once. Chances are those of all cells together (Benjamini and
    /// Hochberg). What was measured with other traffic, over other wires, by a plan or device script
    /// that makes other figures of them is named, and has no verdict; a plan that has only more cells
    /// (a frame size) makes none. To compare two devices on one machine, let `bench --compare` measure
    /// them by turns instead.
    Compare {
        /// The runs to compare with; without it the first of two files
        #[arg(long, value_name = "FILE,…", value_delimiter = ',')]
        base: Vec<PathBuf>,
        /// The runs that are compared
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// How what captures have is written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Written {
    /// A table for each capture
    Text,
    /// A line for each run of each stream, nothing rounded
    Csv,
    /// For whoever writes about it
    Markdown,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// The tables, as at the end of a run
    Text,
    /// A line for each row, nothing rounded
    Csv,
    /// For whoever writes about it
    Markdown,
    /// The same lines as JSON: an array of objects
    Json,
    /// A line for each trial of a `test`, nothing rounded: CSV
    Trials,
    /// A line for each stream and each direction of each trial of a `test`, nothing rounded: CSV
    Streams,
    /// A line for each interval of the time series of a `test`: CSV
    Series,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.what {
        What::Check { files, link } => check(files, link),
        What::Pcap { files, json, format } => pcaps(files, *json, *format),
        What::Table { file, format } => {
            out!("{}", table(file, *format)?);
            Ok(())
        }
        What::Compare { base, files } => {
            let (base, files) = sides(base, files)?;
            let Compared { text, lines } = compare(base, files)?;
            out!("{text}");
            match lines {
                0 => Err(Failure::Usage("the runs have nothing in common to compare".to_string())),
                _ => Ok(()),
            }
        }
        What::Html { file, output } => {
            keep::apart(&[("the results", file.clone())], &[("--output", Some(output))])?;
            let results = self::file(file)?;
            if matches!(results, File::Survey(_)) {
                let why = "these are counts of captures, by `report pcap`, and are not drawn";
                return Err(Failure::Usage(format!("{}: {why}", file.display())));
            }
            let page = results.document().page();
            if keep::is_stdout(output) {
                out!("{page}");
                return Ok(());
            }
            keep::replace(output, &page).map_err(|error| {
                Failure::Environment(format!("cannot write {}: {error}", output.display()))
            })
        }
    }
}

fn read(path: &Path) -> Result<(String, String), Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::Environment(format!("cannot read {}: {error}", path.display()))
    })?;
    Ok((path.display().to_string(), text))
}

/// A result file of any of our commands, in a form.
fn table(path: &Path, format: Format) -> Result<String, Failure> {
    let file = file(path)?;
    let records = |of: Records| {
        let why = |why| Failure::Usage(format!("{}: {why}", path.display()));
        file.records(of).map_err(why)
    };
    Ok(match format {
        Format::Text => file.document().text(),
        Format::Markdown => file.document().markdown(),
        Format::Csv => records(Records::Figures)?.csv(),
        Format::Json => records(Records::Figures)?.json(),
        Format::Trials => records(Records::Trials)?.csv(),
        Format::Streams => records(Records::Streams)?.csv(),
        Format::Series => records(Records::Series)?.csv(),
    })
}

/// Reads a result file of any of our commands.
fn file(path: &Path) -> Result<File, Failure> {
    let (name, text) = read(path)?;
    File::read(&text).map_err(|error| Failure::Usage(format!("{name}: {error}")))
}

/// The runs to compare with, and those that are compared.
fn sides<'a>(
    base: &'a [PathBuf],
    files: &'a [PathBuf],
) -> Result<(&'a [PathBuf], &'a [PathBuf]), Failure> {
    match (base, files) {
        ([], [_, _]) => Ok(files.split_at(1)),
        ([], _) => Err(Failure::Usage(format!(
            "{} without --base: `report compare A B` takes two files; name those to compare with \
             by --base A1,A2 to compare more",
            match files.len() {
                1 => "one file".to_string(),
                n => format!("{n} files"),
            }
        ))),
        _ => Ok((base, files)),
    }
}

/// Runs of one command against each other.
fn compare(base: &[PathBuf], files: &[PathBuf]) -> Result<Compared, Failure> {
    let all =
        |paths: &[PathBuf]| paths.iter().map(|path| file(path)).collect::<Result<Vec<_>, _>>();
    report::file::compare(&all(base)?, &all(files)?).map_err(Failure::Usage)
}

/// Checks each file that can be; one that cannot keeps none of the others from it.
fn check(files: &[PathBuf], link: &[(String, f64)]) -> Result<(), Failure> {
    let (mut texts, mut unread) = (Vec::new(), Vec::new());
    for file in files {
        match read(file) {
            Ok(text) => texts.push(text),
            Err(failure) => unread.push(failure),
        }
    }
    let known = Known { links: link.to_vec() };
    let checked = check::check(&texts, &known);
    if let Some(why) = checked.no_such_device.first() {
        return Err(Failure::Usage(format!("--link: {why}")));
    }
    unread.extend(checked.unread.iter().map(|unread| Failure::Usage(unread.to_string())));
    for finding in &checked.findings {
        outln!("{finding}");
    }
    for left in &checked.not_looked_at {
        say!("{left}");
    }
    let faults = checked.findings.iter().filter(|finding| finding.kind.is_fault()).count();
    // One that is all there is to say is said as the reason for the exit code.
    if faults > 0 || unread.len() > 1 {
        unread.iter().for_each(|failure| outln!("{failure}"));
    }
    let n = unread.len();
    match (faults, unread.into_iter().next()) {
        (0, None) => Ok(()),
        (0, Some(failure)) if n == 1 => Err(failure),
        (0, Some(Failure::Environment(_))) => {
            Err(Failure::Environment(format!("of {} files {n} could not be checked", files.len())))
        }
        (0, Some(_)) => {
            Err(Failure::Usage(format!("of {} files {n} have nothing to check", files.len())))
        }
        (1, _) => {
            let text = "1 figure is impossible or cannot be interpreted".to_string();
            Err(Failure::Failed(text))
        }
        (2.., _) => {
            let text = format!("{faults} figures are impossible or cannot be interpreted");
            Err(Failure::Failed(text))
        }
    }
}

/// Prints what captures have, each up to where it can be read.
fn pcaps(files: &[PathBuf], json: bool, format: Written) -> Result<(), Failure> {
    let mut captures = Vec::new();
    for file in files {
        let capture = pcap(file)?;
        if !json && format == Written::Text {
            out!("{}", report::survey::document(std::slice::from_ref(&capture)).text());
        }
        captures.push(capture);
    }
    let ended = captures.iter().find_map(|of| Some((&of.file, of.incomplete_because.as_ref()?)));
    let ended = ended.map(|(name, why)| {
        Failure::Failed(format!("{name}: {why}; what is before is counted above"))
    });
    match format {
        _ if json => out!("{}", report::survey::json(captures).map_err(Failure::Failed)?),
        Written::Text => {}
        Written::Csv => out!("{}", report::survey::records(&captures).csv()),
        Written::Markdown => out!("{}", report::survey::document(&captures).markdown()),
    }
    ended.map_or(Ok(()), Err)
}

fn pcap(path: &PathBuf) -> Result<Capture, Failure> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path)
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
