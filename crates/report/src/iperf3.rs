//! The iperf3 method's table, and its result files.
//!
//! ```text
//! node to node, TCP, one way, 1 pair of 8 streams, wire 1,000 Mbps(L1)
//!   byte(L3)  Mbps(payload)  Mbps(L3)  Mbps(L2 -FCS)  Mbps(L2)   kpps  of wire  limit   sent again  data sheet
//!        128          449.9     757.7          840.6     864.3  740.0    98.3%  hosts            0     1,515.4
//! ```
//!
//! Behind them stand how long packets took, and our router beside the kernel where both were measured.
//! The last column doubles layer 3, every packet counted in and out: what to compare data sheets
//! with, and nothing else.
//!
//! Never opens a file; never hides a row that cannot be, or is invalid: what is wrong with it stands
//! below.

// How long packets took, and one device beside another.
pub(crate) mod beside;
// What TCP made of paths (RFC 6349).
mod path;

use crate::json::ReadError;
use crate::number::thousands;
use measure::Limit;
use measure::iperf3::{Protocol, Results, Row, SCHEMA, Setting, mixed};
use std::fmt::Write;

/// The tables, a group for each device, protocol and direction; what is remarkable below.
pub fn render(results: &Results) -> String {
    let mut out = String::new();
    let environment = &results.environment;
    let quick = if results.quick { " (quick: too short to be a result)" } else { "" };
    let _ = writeln!(out, "{}{quick}", results.name);
    let _ = writeln!(out, "{}, {}", environment.cpu, environment.kernel);
    let mut rest = results.rows.as_slice();
    while let Some(first) = rest.first() {
        let alike = |row: &&Row| group(&row.setting) == group(&first.setting);
        // A device's rows of one group may come in pieces: long packets have hosts of their own.
        let rows: Vec<&Row> = results.rows.iter().filter(alike).collect();
        let is_new = results.rows.iter().find(alike).is_some_and(|row| std::ptr::eq(row, first));
        if is_new {
            table(&mut out, results, &rows);
        }
        rest = &rest[1..];
    }
    out += &beside::latencies(results);
    out += &beside::medians(results);
    out.extend(results.paths.iter().map(path::table));
    if !results.rows.is_empty() {
        out += "\nMbps: 10^6 bit/s, all pairs together, by the receivers' bytes and seconds. L3: IP \
                packets; L2 -FCS: frames as the source counts them; L2: with FCS. Data sheet: L3 \
                twice, in and out.\n";
        let _ = writeln!(out, "{LIMITS}");
    }
    for (at, setup) in results.setups.iter().enumerate() {
        if results.setups[..at].contains(setup) {
            continue; // another turn
        }
        let _ = writeln!(out, "{}, MTU {}:", setup.device, setup.mtu);
        for fact in &setup.facts {
            let _ = writeln!(out, "  {fact}");
        }
    }
    for omitted in &results.omitted {
        let _ = writeln!(out, "OMITTED  {omitted}");
    }
    for repeated in results.repeated() {
        let _ = writeln!(out, "REPEATED  {repeated}");
    }
    for invalid in results.invalid() {
        let _ = writeln!(out, "INVALID  {invalid}");
    }
    for fault in results.faults() {
        let _ = writeln!(out, "IMPOSSIBLE  {fault}");
    }
    if let Some(why) = &results.incomplete_because {
        let _ = writeln!(out, "INCOMPLETE  {why}");
    }
    out
}

fn group(setting: &Setting) -> (&str, Protocol, measure::iperf3::Direction) {
    (&setting.device, setting.protocol, setting.direction)
}

/// What stands behind the figures of what is invalid.
pub(crate) fn mark(invalid: Option<&String>) -> &'static str {
    if invalid.is_some() { "  invalid" } else { "" }
}

/// What kept a row from being higher, in a word.
pub(crate) fn limit(results: &Results, row: &Row) -> &'static str {
    match results.limit(row) {
        Some(Limit::Wire) => "wire",
        Some(Limit::Tester) => "hosts",
        Some(_) => "device",
        None => "-",
    }
}

/// What these words mean.
pub(crate) const LIMITS: &str = "Limit: the wire (99 % of it and more), the hosts (alone, node to \
                                 node, they do less than 1.2 times that), else the device; - where \
                                 the hosts were not measured alone, and of invalid rows.";

fn table(out: &mut String, results: &Results, rows: &[&Row]) {
    let Some(Row { setting: of, .. }) = rows.first() else { return };
    let each = if of.pairs == 1 { "pair" } else { "pairs" };
    let wire = match of.link_mbps {
        Some(mbps) => format!("wire {} Mbps(L1)", thousands(mbps)),
        None => "a wire without a rate".to_string(),
    };
    let _ = writeln!(
        out,
        "\n{}, {}, {}, {} {each} of {} streams, {wire}",
        of.device, of.protocol, of.direction, of.pairs, of.streams
    );
    let gone = match of.protocol {
        Protocol::Tcp => "sent again",
        Protocol::Udp => "lost",
    };
    let _ = writeln!(
        out,
        "{:>10}{:>15}{:>11}{:>15}{:>11}{:>10}{:>9}{:>8}{gone:>13}{:>13}",
        "byte(L3)",
        "Mbps(payload)",
        "Mbps(L3)",
        "Mbps(L2 -FCS)",
        "Mbps(L2)",
        "kpps",
        "of wire",
        "limit",
        "data sheet"
    );
    for row in rows {
        let share = row.most_l3_mbps().map(|most| format!("{:.1}%", row.l3_mbps / most * 100.0));
        let gone = match of.protocol {
            Protocol::Tcp => row.retransmits.map(|n| n.to_string()),
            Protocol::Udp => row.lost.map(|n| n.to_string()),
        };
        let wrong = if row.faults().is_empty() { "" } else { "  !" };
        let mark = mark(row.validity.invalid.as_ref());
        let _ = writeln!(
            out,
            "{:>10}{:>15}{:>11}{:>15}{:>11}{:>10}{:>9}{:>8}{:>13}{:>13}{mark}{wrong}",
            row.setting.packet,
            thousands(row.payload_mbps),
            thousands(row.l3_mbps),
            thousands(row.l2_without_fcs_mbps),
            thousands(row.l2_mbps),
            thousands(row.kpps),
            share.unwrap_or("-".to_string()),
            limit(results, row),
            gone.unwrap_or("-".to_string()),
            thousands(row.data_sheet_mbps),
        );
    }
    if let Some(mix) = mixed(rows) {
        let _ = writeln!(
            out,
            "simple IMIX (IP 40:7, 576:4, 1500:1), computed: {} Mbps(L3), {} kpps; {}",
            thousands(mix.l3_mbps),
            thousands(mix.kpps),
            mix.basis
        );
    }
    for row in rows {
        for remark in &row.remarks {
            let _ = writeln!(out, "  {} byte: {remark}", row.setting.packet);
        }
    }
}

/// The results as JSON, indented, with a newline at the end.
///
/// # Errors
/// A rate is not a number, which JSON has none of.
pub fn write(results: &Results) -> Result<String, String> {
    let finite = |row: &Row| row.payload_mbps.is_finite() && row.kpps.is_finite();
    if let Some(at) = results.rows.iter().position(|row| !finite(row)) {
        return Err(format!("row {at} of the results holds a rate that is not a number"));
    }
    let mut text = serde_json::to_string_pretty(results).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(text)
}

/// Whether it is a file of this kind, of whatever version.
pub fn is_one(value: &serde_json::Value) -> bool {
    value["schema"].as_str().is_some_and(|schema| schema.starts_with("wirespeed-iperf3/"))
}

/// Reads a result file.
///
/// # Errors
/// [`ReadError`] says whether it is JSON, whose it is, and where it is damaged.
pub fn read(text: &str) -> Result<Results, ReadError> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| ReadError::NotJson(error.to_string()))?;
    match value["schema"].as_str() {
        None => Err(ReadError::NoSchema),
        Some(schema) if schema != SCHEMA => Err(ReadError::OtherSchema(schema.to_string())),
        Some(schema) => crate::json::parse(schema, text),
    }
}

// What is invalid, wherever it is shown.
#[cfg(test)]
mod invalid;

#[cfg(test)]
mod tests {
    use super::*;

    /// A quick run of `plans/iperf3.toml`.
    pub(super) const STORED: &str = include_str!("../data/iperf3-1.json");

    #[test]
    fn the_stored_file_is_read_written_again_and_shown() {
        let results = read(STORED).unwrap();
        assert_eq!(write(&results).unwrap(), STORED);
        let text = render(&results);
        for row in &results.rows {
            let rate = thousands(row.l3_mbps);
            let line = text.lines().find(|line| line.contains(&format!(" {rate} ")));
            assert!(line.is_some(), "{rate} in\n{text}");
        }
        for part in ["node to node, TCP, one way", "wirespeed router, TCP", "Mbps(L3)", "IMIX"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("IMPOSSIBLE") && !text.contains("  !\n"), "{text}");
    }

    #[test]
    fn what_cannot_be_is_marked() {
        let mut results = read(STORED).unwrap();
        results.rows[0].setting.link_mbps = Some(1.0);
        results.incomplete_because = Some("interrupted".to_string());
        let text = render(&results);
        assert!(text.contains("  !\n") && text.contains("INCOMPLETE  interrupted"), "{text}");
        assert!(text.contains("% above the wire's 1"), "{text}");
        results.rows[0].kpps = f64::NAN;
        assert!(write(&results).unwrap_err().contains("row 0"));
    }

    /// A file may say anything of a path: it is shown, and what cannot be is named.
    #[test]
    fn paths_that_cannot_be() {
        const PATHS: &str = include_str!("../../../results/2026-11-22-rfc6349-hosts-quick.json");
        type Change = fn(&mut measure::iperf3::HostPath);
        let changes: [(Change, &str); 6] = [
            (|of| of.mtu = 0, "an MTU of 0 bytes"),
            (|of| of.mtu = 39, "an MTU of 39 bytes"),
            (|of| of.mtu = u32::MAX, "an MTU of 4294967295 bytes"),
            (|of| of.rtt_ns = 0, "a round trip of 0 ns"),
            (|of| of.packets_per_second = 0.0, "0 packets a second"),
            (|of| of.transfers[0].retransmits = u64::MAX, "an efficiency of"),
        ];
        for (change, expected) in changes {
            let mut results = read(PATHS).unwrap();
            change(&mut results.paths[0]);
            let text = render(&results);
            assert!(text.contains(expected), "{expected} in\n{text}");
            crate::html::iperf3_page(&results);
            crate::export::iperf3_csv(&results);
            crate::export::iperf3_markdown(&results);
            crate::compare::iperf3(&[read(PATHS).unwrap()], &[results.clone()]);
            let files = [("x".to_string(), write(&results).unwrap())];
            let found = crate::check::check(&files, &crate::check::Known::default()).findings;
            assert!(found.iter().any(|one| one.to_string().contains(expected)), "{found:?}");
        }
    }

    #[test]
    fn refused() {
        let other = STORED.replace(SCHEMA, "wirespeed-iperf3/2");
        let damaged = STORED.replacen("\"l3_mbps\"", "\"l4_mbps\"", 1);
        for (text, expected) in [
            ("", "not JSON"),
            ("{}", "no result file"),
            (&other, "format \"wirespeed-iperf3/2\""),
            (&damaged, "missing field `l3_mbps`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
