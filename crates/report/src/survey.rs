//! Test frames of captures, as a document, as records and as JSON.

use crate::document::{Cell, Column, Document, Table, optional};
use crate::number::thousands;
use measure::survey::{Capture, Delay, SCHEMA, Seen, Sender, Surveys, Thread};
use std::fmt::Write;

/// What missing and the others are, below each table.
const NOTES: [&str; 2] = [
    "missing: numbers between the lowest and the highest that came, those that came damaged among them",
    "wrong size: a length in the headers is not the frame's; what a capture cut off is not looked at",
];

/// Of each capture a sentence, and a table with a line for each run of each stream.
pub fn document(all: &[Capture]) -> Document {
    let mut document = Document::default();
    for of in all {
        document.note(sentence(of));
        match of.runs.is_empty() {
            true => document.note("no frames of wirespeed's or of the kernel's pktgen"),
            false => document.table(table(of)),
        }
    }
    document
}

/// A record: a run of a capture, or a capture without any.
type Record<'a> = (&'a Capture, Option<&'a Seen>);

/// The columns of [`records`]; what an older version did not count is empty.
fn columns<'a>() -> [Column<Record<'a>>; 27] {
    [
        ("file", |(of, _)| of.file.clone()),
        ("stream", |(_, seen)| optional(seen.map(|seen| sender(seen.sender)))),
        ("run", |(_, seen)| optional(seen.map(|seen| seen.run))),
        ("bytes_min_l2_with_fcs", |(_, seen)| optional(seen.map(|seen| seen.bytes.0))),
        ("bytes_max_l2_with_fcs", |(_, seen)| optional(seen.map(|seen| seen.bytes.1))),
        ("first_ns_since_1970", |(_, seen)| optional(seen.map(|seen| seen.span_ns.0))),
        ("last_ns_since_1970", |(_, seen)| optional(seen.map(|seen| seen.span_ns.1))),
        ("received_frames", |(_, seen)| optional(seen.map(|seen| seen.received))),
        ("missing_frames", |(_, seen)| optional(seen.map(|seen| seen.missing))),
        ("duplicate_frames", |(_, seen)| optional(seen.map(|seen| seen.duplicate))),
        ("reordered_frames", |(_, seen)| optional(seen.map(|seen| seen.reordered))),
        ("reordering_extent_max_frames", |(_, seen)| optional(seen.map(|seen| seen.extent_max))),
        ("stale_frames", |(_, seen)| optional(seen.map(|seen| seen.stale))),
        ("gaps", |(_, seen)| optional(seen.and_then(|seen| seen.gaps))),
        ("wrong_size_frames", |(_, seen)| optional(seen.and_then(|seen| seen.wrong_size))),
        ("bad_checksum_frames", |(_, seen)| optional(seen.and_then(|seen| seen.bad_checksum))),
        ("one_clock", |(_, seen)| optional(delay(seen).map(|delay| delay.one_clock))),
        ("delay_min_ns", |(_, seen)| optional(delay(seen).map(|delay| delay.min_ns))),
        ("delay_median_ns", |(_, seen)| optional(delay(seen).map(|delay| delay.median_ns))),
        ("delay_p99_ns", |(_, seen)| optional(delay(seen).map(|delay| delay.p99_ns))),
        ("delay_max_ns", |(_, seen)| optional(delay(seen).map(|delay| delay.max_ns))),
        ("file_frames", |(of, _)| of.frames.to_string()),
        ("file_foreign_frames", |(of, _)| of.foreign.to_string()),
        ("file_cut_frames", |(of, _)| of.cut.to_string()),
        ("file_damaged_frames", |(of, _)| optional(of.damaged)),
        ("file_first_ns_since_1970", |(of, _)| optional(of.span_ns.map(|span| span.0))),
        ("file_last_ns_since_1970", |(of, _)| optional(of.span_ns.map(|span| span.1))),
    ]
}

fn delay(seen: Option<&Seen>) -> Option<Delay> {
    seen?.delay
}

/// A record for each run, and one for a capture without any; nothing is rounded.
pub fn records(all: &[Capture]) -> Table {
    let records = all.iter().flat_map(|of| {
        let runs = of.runs.iter().map(Some);
        runs.chain(of.runs.is_empty().then_some(None)).map(move |seen| (of, seen))
    });
    Table::records(&columns(), records)
}

/// The same of several captures as JSON.
///
/// # Errors
/// None is known: nothing in it has no JSON.
pub fn json(captures: Vec<Capture>) -> Result<String, String> {
    crate::json::write(&Surveys { schema: SCHEMA.to_string(), captures })
}

/// What the whole capture is.
fn sentence(of: &Capture) -> String {
    let (first, last) = of.span_ns.unwrap_or_default();
    let span = (last - first) as f64 / 1e9;
    let mut out = format!("{}: {} frames in {span:.9} s", of.file, of.frames);
    match (of.foreign, of.cut) {
        (0, _) => {}
        (foreign, 0) => _ = write!(out, ", {foreign} of them foreign"),
        (foreign, cut) => {
            _ = write!(out, ", {foreign} of them foreign, {cut} of these not captured whole");
        }
    }
    if let Some(damaged @ 1..) = of.damaged {
        _ = write!(out, ", {damaged} with a damaged trailer, of a stream unknown therefore");
    }
    out
}

/// A line for each run, and what has to be said of them.
fn table(of: &Capture) -> Table {
    let heads = [
        "stream",
        "run",
        "byte",
        "frames/s",
        "received",
        "missing",
        "duplicate",
        "reordered",
        "gaps",
        "wrong size",
        "bad checksum",
        "delay min",
        "median",
        "99 %",
        "max",
    ];
    let mut table = Table::new(1, heads);
    of.runs.iter().for_each(|seen| table.row(row(seen)));
    let all = of.runs.as_slice();
    if all.iter().any(|seen| seen.delay.is_some_and(|delay| !delay.one_clock)) {
        let text = "+: above the least; the sender's clock was not the capture's";
        table.notes.push(text.to_string());
    }
    for seen in all.iter().filter(|seen| seen.stale > 0) {
        let (stream, run) = (sender(seen.sender), seen.run);
        let text = format!("{stream}, run {run}: {} more so late that nobody knows", seen.stale);
        table.notes.push(text);
    }
    let alike = Sender::Pktgen { which: Thread::Alike };
    if all.iter().any(|seen| seen.sender == alike) {
        table.notes.push(
            "pktgen, threads: several send at the same time, and nothing in their frames tells them \
             apart; they are counted as one, so that numbers of theirs are duplicate which no copies \
             are (give each a udp_src_min of its own)"
                .to_string(),
        );
    }
    table.notes.extend(NOTES.map(String::from));
    table
}

fn row(seen: &Seen) -> Vec<Cell> {
    let bytes = match seen.bytes {
        (least, most) if least == most => format!("{least}"),
        (least, most) => format!("{least}-{most}"),
    };
    let span = (seen.span_ns.1 - seen.span_ns.0) as f64 / 1e9;
    let rate = (seen.received.saturating_sub(1)) as f64 / span;
    let reordered = match seen.extent_max {
        0 => format!("{}", seen.reordered),
        extent => format!("{} (by {extent})", seen.reordered),
    };
    let counts = [seen.received, seen.missing, seen.duplicate].map(|n| n.to_string());
    let row = [sender(seen.sender), seen.run.to_string(), bytes, thousands(rate)];
    let mut row: Vec<Cell> =
        row.into_iter().chain(counts).chain([reordered]).map(Cell::from).collect();
    row.extend([seen.gaps, seen.wrong_size, seen.bad_checksum].map(Cell::maybe));
    row.extend(match seen.delay {
        None => [const { String::new() }; 4].map(Cell::from),
        Some(Delay { one_clock, min_ns, median_ns, p99_ns, max_ns }) => {
            let plus = if one_clock { "" } else { "+" };
            [min_ns, median_ns, p99_ns, max_ns].map(|ns| format!("{plus}{ns} ns").into())
        }
    });
    row
}

fn sender(sender: Sender) -> String {
    match sender {
        Sender::Stream { stream, test: 0 } => format!("{stream}"),
        Sender::Stream { stream, test } => format!("{stream} of test {test}"),
        Sender::Pktgen { which } => which.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::ReadError;

    fn read(text: &str) -> Result<Surveys, ReadError> {
        crate::json::read(text)
    }
    use measure::Trailer;
    use measure::survey::Survey;
    use wire::Moment;

    #[test]
    fn a_capture_as_a_table() {
        let mut survey = Survey::default();
        // By our clock as by the capture's, and one of another clock; the third is lost.
        for (n, late) in [(0, 40), (1, 60), (3, 50)] {
            for (stream, clock) in [(0, 0), (9, 1u64 << 60)] {
                let time = Moment::from_nanos(n * 1000);
                let trailer = Trailer { stream, test: stream, sequence: n, time };
                let frame = [&[0; 42][..], &trailer.to_bytes()].concat();
                survey.frame(clock + n * 1000 + late, &frame, 60);
            }
        }
        survey.frame(7, &[0; 60], 60);
        survey.frame(7, &[0; 60], 600);
        let capture = survey.capture("a.pcap", None);
        let written = json(vec![capture.clone()]).unwrap();
        let read = read(&written).unwrap();
        assert_eq!((read.schema.as_str(), &read.captures), (SCHEMA, &vec![capture.clone()]));
        assert!(
            written.contains("\"one_clock\": true") && written.contains("\"kind\": \"stream\"")
        );
        let text = document(std::slice::from_ref(&capture)).text();
        let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
        assert!(text.starts_with("a.pcap: 8 frames in "), "{text}");
        assert!(text.contains("2 of them foreign, 1 of these not captured whole"), "{text}");
        assert_eq!(lines[2][..8], ["0", "1", "64", "664,451.8", "3", "1", "0", "0"], "{text}");
        assert_eq!(lines[2][8..11], ["1", "0", "0"], "{text}");
        assert_eq!(lines[2][11..], ["40", "ns", "50", "ns", "60", "ns", "60", "ns"], "{text}");
        assert_eq!(lines[3][..4], ["9", "of", "test", "9"], "{text}");
        assert_eq!(lines[3][14..], ["+0", "ns", "+10", "ns", "+20", "ns", "+20", "ns"], "{text}");
        assert!(text.contains("above the least"), "{text}");
        let rows = records(std::slice::from_ref(&capture)).csv();
        let stream = "0,1,64,64,40,3050,3,1,0,0,0,0,1,0,0,true,40,50,60,60";
        let expected = format!("a.pcap,{stream},8,2,1,0,7,{}", (1u64 << 60) + 3050);
        assert_eq!(rows.lines().nth(1), Some(expected.as_str()));
        assert_eq!(rows.lines().map(|line| line.split(',').count()).collect::<Vec<_>>(), [27; 3]);
        let page = document(&[capture.clone(), capture.clone()]).markdown();
        assert_eq!(
            page.matches("| 0 | 1 | 64 | 664,451.8 | 3 | 1 | 0 | 0 | 1 | 0 | 0 | 40 ns |").count(),
            2,
            "{page}"
        );
        let empty = records(&[Survey::default().capture("b.pcap", None)]).csv();
        assert!(empty.ends_with("\nb.pcap,,,,,,,,,,,,,,,,,,,,,0,0,0,0,,\n"), "{empty}");
        let nothing = document(&[Survey::default().capture("b.pcap", None)]).text();
        assert!(nothing.contains("0 frames") && nothing.contains("no frames of wirespeed's"));
    }

    const STORED: &str = include_str!("../data/survey-2.json");
    const OF_VERSION_1: &str = include_str!("../data/survey-1.json");

    #[test]
    fn the_stored_file_is_read_and_written_again() {
        let surveys = read(STORED).unwrap();
        let [capture] = &surveys.captures[..] else { panic!("{surveys:?}") };
        let seen = &capture.runs[0];
        let counted = [seen.gaps, seen.wrong_size, seen.bad_checksum, capture.damaged];
        assert_eq!(counted, [Some(5), Some(1), Some(3), Some(1)]);
        assert_eq!(json(surveys.captures).unwrap(), STORED);
    }

    /// What it did not count is not 0.
    #[test]
    fn a_file_of_version_1_is_read() {
        let surveys = read(OF_VERSION_1).unwrap();
        let [capture] = &surveys.captures[..] else { panic!("{surveys:?}") };
        assert_eq!(
            (capture.runs[0].received, capture.runs[0].gaps, capture.damaged),
            (5, None, None)
        );
        let text = document(std::slice::from_ref(capture)).text();
        let row: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(row[4..13], ["5", "1", "1", "1", "(by", "1)", "-", "-", "-"], "{text}");
        assert!(records(&surveys.captures).csv().contains(",5,1,1,1,1,0,,,,true,"));
        for (text, expected) in [
            ("{}", "no result file"),
            (
                &OF_VERSION_1.replace("survey/1", "survey/3"),
                "this version reads \"wirespeed-survey/2\"",
            ),
            (&OF_VERSION_1.replace("received", "recieved"), "missing field `received` at line"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{expected:?} in {error:?}");
        }
    }

    /// Threads by their names, there and back; those that are alike are said.
    #[test]
    fn threads_have_names() {
        for (thread, name, written) in [
            (Thread::Only, "pktgen", "\"only\""),
            (Thread::From([10, 0, 0, 1].into()), "pktgen from 10.0.0.1", "{\"from\":\"10.0.0.1\"}"),
            (Thread::ToPort(9), "pktgen to port 9", "{\"to-port\":9}"),
            (
                Thread::FromMac([2, 0, 0, 0, 0, 0xfe]),
                "pktgen from 02:00:00:00:00:FE",
                "{\"from-mac\":\"02:00:00:00:00:FE\"}",
            ),
            (Thread::Alike, "pktgen, threads", "\"alike\""),
        ] {
            assert_eq!(
                (thread.to_string().as_str(), serde_json::to_string(&thread).unwrap().as_str()),
                (name, written)
            );
            assert_eq!(serde_json::from_str::<Thread>(written).unwrap(), thread);
        }
    }
}
