//! The iperf3 method's rows for other programs.

use super::{escaped, optional};
use crate::number::thousands;
use measure::iperf3::{Protocol, Results, Row};
use std::fmt::Write;

/// A column of the CSV: its name, and how a row has it.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: [Column; 18] = [
    ("device", |row| row.setting.device.clone()),
    ("protocol", |row| row.setting.protocol.to_string()),
    ("direction", |row| row.setting.direction.to_string()),
    ("packet_l3", |row| row.setting.packet.to_string()),
    ("pairs", |row| row.setting.pairs.to_string()),
    ("streams", |row| row.setting.streams.to_string()),
    ("length", |row| row.length.to_string()),
    ("mss", |row| row.mss.to_string()),
    ("payload_mbps", |row| row.payload_mbps.to_string()),
    ("l3_mbps", |row| row.l3_mbps.to_string()),
    ("l2_without_fcs_mbps", |row| row.l2_without_fcs_mbps.to_string()),
    ("l2_mbps", |row| row.l2_mbps.to_string()),
    ("l1_mbps", |row| row.l1_mbps.to_string()),
    ("kpps", |row| row.kpps.to_string()),
    ("link_l1_mbps", |row| optional(row.setting.link_mbps)),
    ("retransmits", |row| optional(row.retransmits)),
    ("lost_packet", |row| optional(row.lost)),
    ("fault", |row| row.faults().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
];

/// All rows as CSV (RFC 4180), with a header, nothing rounded.
pub fn iperf3_csv(results: &Results) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Into memory nothing fails.
    let _ = writer.write_record(COLUMNS.iter().map(|(name, _)| *name));
    for row in &results.rows {
        let _ = writer.write_record(COLUMNS.iter().map(|(_, of)| of(row)));
    }
    String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
}

/// All rows as a Markdown table, with what cannot be said below it.
pub fn iperf3_markdown(results: &Results) -> String {
    let mut out = String::from(
        "| device | protocol | direction | packet (L3) | Mbps (payload) | Mbps (L3) | Mbps (L2) | \
         kpps | of the wire | lost or sent again |\n\
         | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in &results.rows {
        let share = row.most_l3_mbps().map(|most| format!("{:.1}%", row.l3_mbps / most * 100.0));
        let gone = match row.setting.protocol {
            Protocol::Tcp => optional(row.retransmits),
            Protocol::Udp => optional(row.lost),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {gone} |",
            escaped(&row.setting.device),
            row.setting.protocol,
            row.setting.direction,
            row.setting.packet,
            thousands(row.payload_mbps),
            thousands(row.l3_mbps),
            thousands(row.l2_mbps),
            thousands(row.kpps),
            share.unwrap_or_default(),
        );
    }
    for fault in results.faults() {
        let _ = writeln!(out, "\n**Impossible:** {}.", escaped(&fault));
    }
    if let Some(why) = &results.incomplete_because {
        let _ = writeln!(out, "\n**Incomplete:** {}.", escaped(why));
    }
    out
}
