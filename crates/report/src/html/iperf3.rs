//! The page of the iperf3 method: rate against packet length beside what the wire carries, every row
//! in a table, and all one needs to repeat it.

use super::chart::{Chart, Series, escape};
use super::{STYLE, about_environment};
use crate::number::thousands;
use measure::iperf3::{Direction, Protocol, Results, Row};
use std::fmt::Write;

/// The page, a whole HTML document.
pub fn page(results: &Results) -> String {
    let title = &results.name;
    let mut body = format!("<h1>{}</h1>\n", escape(title));
    for (is, name, text) in [
        (results.incomplete_because.is_some(), "Incomplete", results.incomplete_because.clone()),
        (results.quick, "Shortened", Some("too short to be a result".to_string())),
    ] {
        if let (true, Some(text)) = (is, text) {
            let _ = writeln!(body, "<p class=\"notice\"><b>{name}.</b> {}.</p>", escape(&text));
        }
    }
    for fault in results.faults() {
        let _ = writeln!(body, "<p class=\"notice\"><b>Impossible.</b> {}.</p>", escape(&fault));
    }
    for (protocol, direction) in groups(results) {
        let rows: Vec<&Row> = results
            .rows
            .iter()
            .filter(|row| (row.setting.protocol, row.setting.direction) == (protocol, direction))
            .collect();
        let _ = writeln!(body, "<h2>{protocol}, {direction}</h2>");
        body += &chart(protocol, direction, &rows);
        body += &table(protocol, &rows);
    }
    body += "<p class=\"note\">Mbps: 10<sup>6</sup> bit/s, all pairs together, by the receivers' bytes \
             and seconds. L3: IP packets; L2: frames with FCS. Data sheet: L3 twice, in and out; to \
             compare data sheets with, and nothing else.</p>\n";
    for omitted in &results.omitted {
        let _ = writeln!(body, "<p class=\"note\">Omitted: {}</p>", escape(&omitted.to_string()));
    }
    body += "<h2>Where and how</h2>\n";
    body += &about_environment(&results.environment);
    for setup in &results.setups {
        let _ = writeln!(
            body,
            "<p class=\"note\">{}, MTU {}: {}</p>",
            escape(&setup.device),
            setup.mtu,
            escape(&setup.facts.join("; "))
        );
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n<main>\n{body}</main>\n</html>\n",
        escape(title)
    )
}

fn groups(results: &Results) -> Vec<(Protocol, Direction)> {
    let mut groups = vec![];
    for row in &results.rows {
        let group = (row.setting.protocol, row.setting.direction);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

fn chart(protocol: Protocol, direction: Direction, rows: &[&Row]) -> String {
    let mut packets: Vec<u32> = rows.iter().map(|row| row.setting.packet).collect();
    packets.sort_unstable();
    packets.dedup();
    let mut devices: Vec<&str> = vec![];
    for row in rows {
        if !devices.contains(&row.setting.device.as_str()) {
            devices.push(&row.setting.device);
        }
    }
    let line = |name: &str, value: &dyn Fn(u32) -> Option<f64>, reference| Series {
        name: name.to_string(),
        points: packets.iter().map(|&packet| value(packet)).collect(),
        reference,
    };
    let most = |packet: u32| {
        rows.iter().find(|row| row.setting.packet == packet).and_then(|row| row.most_l3_mbps())
    };
    let mut series = vec![];
    if packets.iter().any(|&packet| most(packet).is_some()) {
        series.push(line("the wire (theoretical)", &most, true));
    }
    for device in devices {
        let rate = |packet: u32| {
            let is_it = |row: &&&Row| row.setting.device == device && row.setting.packet == packet;
            rows.iter().find(is_it).map(|row| row.l3_mbps)
        };
        series.push(line(device, &rate, false));
    }
    let chart = Chart {
        title: format!("{protocol}, {direction}: rate of IP packets by their length"),
        y_name: "Mbps (L3), all pairs together",
        x_name: "IP packet, bytes",
        x: packets.iter().map(u32::to_string).collect(),
        logarithmic: false,
        series,
        show: |mbps| thousands(mbps).trim_end_matches(".0").to_string(),
    };
    chart.svg()
}

fn table(protocol: Protocol, rows: &[&Row]) -> String {
    let gone = match protocol {
        Protocol::Tcp => "Sent again",
        Protocol::Udp => "Lost",
    };
    let mut out = format!(
        "<table>\n<thead><tr><th>Device</th><th>Byte (L3)</th><th>Mbps (payload)</th>\
         <th>Mbps (L3)</th><th>Mbps (L2)</th><th>kpps</th><th>of the wire</th><th>{gone}</th>\
         <th>Data sheet</th></tr></thead>\n<tbody>\n"
    );
    for row in rows {
        let share = row.most_l3_mbps().map(|most| format!("{:.1} %", row.l3_mbps / most * 100.0));
        let gone = match protocol {
            Protocol::Tcp => row.retransmits.map(|n| n.to_string()),
            Protocol::Udp => row.lost.map(|n| n.to_string()),
        };
        let mark = if row.faults().is_empty() { "" } else { "<sup>!</sup>" };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}{mark}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&row.setting.device),
            row.setting.packet,
            thousands(row.payload_mbps),
            thousands(row.l3_mbps),
            thousands(row.l2_mbps),
            thousands(row.kpps),
            share.unwrap_or("–".to_string()),
            gone.unwrap_or("–".to_string()),
            thousands(row.data_sheet_mbps),
        );
    }
    out += "</tbody>\n</table>\n";
    for row in rows {
        for remark in &row.remarks {
            let (device, packet) = (escape(&row.setting.device), row.setting.packet);
            let remark = escape(remark);
            let _ = writeln!(out, "<p class=\"note\">{device}, {packet} byte: {remark}</p>");
        }
    }
    out
}
