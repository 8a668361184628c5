//! What a capture has of test frames, as a table.

use crate::number::thousands;
use measure::survey::{Capture, Delay, SCHEMA, Seen, Sender, Surveys, Thread};
use std::fmt::Write;

/// The table: a line for each run of each stream, and what is none of theirs.
pub fn render(of: &Capture) -> String {
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
    out.push('\n');
    let all = of.runs.as_slice();
    if all.is_empty() {
        return out + "no frames of wirespeed's or of the kernel's pktgen\n";
    }
    let head =
        ["stream", "run", "byte", "frames/s", "received", "missing", "duplicate", "reordered"];
    let delays = ["delay min", "median", "99 %", "max"];
    let mut rows = vec![head.into_iter().chain(delays).map(String::from).collect::<Vec<_>>()];
    rows.extend(all.iter().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..rows[0].len()).filter_map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        out += cells.collect::<Vec<_>>().join("  ").trim_end();
        out.push('\n');
    }
    let is_other = |seen: &Seen| seen.delay.is_some_and(|delay| !delay.one_clock);
    if all.iter().any(is_other) {
        out += "+: above the least; the sender's clock was not the capture's\n";
    }
    for seen in all.iter().filter(|seen| seen.stale > 0) {
        let (stream, run) = (sender(seen.sender), seen.run);
        _ = writeln!(out, "{stream}, run {run}: {} more so late that nobody knows", seen.stale);
    }
    let alike = Sender::Pktgen { which: Thread::Alike };
    if all.iter().any(|seen| seen.sender == alike) {
        out += "pktgen, threads: several send at the same time, and nothing in their frames tells them \
                apart; they are counted as one, so that numbers of theirs are duplicate which no copies \
                are (give each a udp_src_min of its own)\n";
    }
    out + "missing: numbers between the lowest and the highest that came\n"
}

/// The same of several captures as JSON, indented, with a newline at the end.
///
/// # Errors
/// None is known: nothing in it has no JSON.
pub fn json(captures: Vec<Capture>) -> Result<String, String> {
    let surveys = Surveys { schema: SCHEMA.to_string(), captures };
    let text = serde_json::to_string_pretty(&surveys).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

fn sender(sender: Sender) -> String {
    match sender {
        Sender::Stream { stream, test: 0 } => format!("{stream}"),
        Sender::Stream { stream, test } => format!("{stream} of test {test}"),
        Sender::Pktgen { which } => which.to_string(),
    }
}

fn row(seen: &Seen) -> Vec<String> {
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
    let mut row = vec![sender(seen.sender), seen.run.to_string(), bytes, thousands(rate)];
    row.extend(counts);
    row.push(reordered);
    row.extend(match seen.delay {
        None => [const { String::new() }; 4],
        Some(Delay { one_clock, min_ns, median_ns, p99_ns, max_ns }) => {
            let plus = if one_clock { "" } else { "+" };
            [min_ns, median_ns, p99_ns, max_ns].map(|ns| format!("{plus}{ns} ns"))
        }
    });
    row
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let read: Surveys = serde_json::from_str(&written).unwrap();
        assert_eq!((read.schema.as_str(), &read.captures), (SCHEMA, &vec![capture.clone()]));
        assert!(
            written.contains("\"one_clock\": true") && written.contains("\"kind\": \"stream\"")
        );
        let text = render(&capture);
        let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
        assert!(text.starts_with("a.pcap: 8 frames in "), "{text}");
        assert!(text.contains("2 of them foreign, 1 of these not captured whole"), "{text}");
        assert_eq!(lines[2][..8], ["0", "1", "64", "664,451.8", "3", "1", "0", "0"], "{text}");
        assert_eq!(lines[2][8..], ["40", "ns", "50", "ns", "60", "ns", "60", "ns"], "{text}");
        assert_eq!(lines[3][..4], ["9", "of", "test", "9"], "{text}");
        assert_eq!(lines[3][11..], ["+0", "ns", "+10", "ns", "+20", "ns", "+20", "ns"], "{text}");
        assert!(text.contains("above the least"), "{text}");
        let nothing = render(&Survey::default().capture("b.pcap", None));
        assert!(nothing.contains("0 frames") && nothing.contains("no frames of wirespeed's"));
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
