//! The page of the iperf3 method: devices beside each other, rate against packet length beside what the
//! wire carries, how long packets take, what TCP makes of the path; every row in a table, and all one
//! needs to repeat it.

// How long packets took.
mod latency;
// What TCP makes of paths.
mod path;

use super::chart::{Chart, Series, escape};
use super::{STYLE, about_environment};
use crate::iperf3::{LIMITS, beside, limit};
use crate::number::thousands;
use crate::suite::whole;
use measure::compare::median;
use measure::iperf3::{Direction, Protocol, Results, Row};
use std::fmt::Write;

/// The page, a whole HTML document.
pub fn page(results: &Results) -> String {
    let title = &results.name;
    let mut body = format!("<h1>{}</h1>\n", escape(title));
    body += &notices(results);
    body += &besides(results);
    for (protocol, direction) in groups(results) {
        let rows: Vec<&Row> = results
            .rows
            .iter()
            .filter(|row| (row.setting.protocol, row.setting.direction) == (protocol, direction))
            .collect();
        let _ = writeln!(body, "<h2>{protocol}, {direction}</h2>");
        let valid: Vec<&Row> = rows.iter().filter(|row| row.validity.is_valid()).copied().collect();
        body += &chart(protocol, direction, &valid);
        body += &table(protocol, results, &rows);
    }
    if !results.rows.is_empty() {
        body += "<p class=\"note\">Mbps: 10<sup>6</sup> bit/s, all pairs together, by the receivers' \
                 bytes and seconds. L3: IP packets; L2: frames with FCS. Data sheet: L3 twice, in and \
                 out; to compare data sheets with, and nothing else.</p>\n";
        let _ = writeln!(body, "<p class=\"note\">{LIMITS}</p>");
    }
    body += &latency::part(results);
    body += &path::part(results);
    for repeated in results.repeated() {
        let _ = writeln!(body, "<p class=\"note\">Repeated: {}</p>", escape(&repeated));
    }
    for omitted in &results.omitted {
        let _ = writeln!(body, "<p class=\"note\">Omitted: {}</p>", escape(omitted));
    }
    body += &how(results);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n<main>\n{body}</main>\n</html>\n",
        escape(title)
    )
}

/// What must not be overlooked.
fn notices(results: &Results) -> String {
    let mut out = String::new();
    let mut notice = |name: &str, text: &str| {
        let _ = writeln!(out, "<p class=\"notice\"><b>{name}.</b> {}.</p>", escape(text));
    };
    if let Some(why) = &results.incomplete_because {
        notice("Incomplete", why);
    }
    if results.quick {
        notice("Shortened", "Too short to be a result");
    }
    for invalid in results.invalid() {
        notice("Invalid", &invalid);
    }
    for fault in results.faults() {
        notice("Impossible", &fault);
    }
    out
}

/// What stands behind a figure that is invalid.
fn mark(invalid: Option<&String>) -> &'static str {
    if invalid.is_some() { "<sup>invalid</sup>" } else { "" }
}

/// Two devices beside each other, medians of their turns; nothing if there are no two.
fn besides(results: &Results) -> String {
    let Some(devices) = beside::devices(results) else { return String::new() };
    let compared = beside::compared(results, devices);
    if compared.is_empty() {
        return String::new();
    }
    let [a, b] = devices.map(escape);
    let mut out = format!(
        "<h2>{b} beside {a}</h2>\n<table class=\"num\">\n<thead><tr><th>Measured</th><th>{a}</th><th>{b}</th>\
         <th>Ratio</th></tr></thead>\n<tbody>\n"
    );
    let mut turns = 1;
    for of in &compared {
        let _ = write!(out, "<tr><td>{}</td>", escape(&of.what));
        for side in &of.turns {
            let (n, least, most) = side.spread();
            turns = turns.max(n);
            let _ = write!(out, "<td>{}", thousands(side.median()));
            if n > 1 {
                let (least, most) = (thousands(least), thousands(most));
                let _ = write!(out, "<br><small>{least} to {most}</small>");
            }
            out += "</td>";
        }
        let _ = writeln!(out, "<td>{:.2}</td></tr>", of.ratio());
    }
    out += "</tbody>\n</table>\n";
    let what = match turns {
        1 => String::new(),
        n => format!("Medians of {n} turns, and the least and the most of them. "),
    };
    let _ = writeln!(
        out,
        "<p class=\"note\">{what}Ratio: the second by the first. Of Mbps more is better, of µs \
         less.</p>"
    );
    out
}

/// The machine, what was done to hosts and devices, the plan.
fn how(results: &Results) -> String {
    let mut out = "<h2>Where and how</h2>\n".to_string();
    out += &about_environment(&results.environment);
    for (at, setup) in results.setups.iter().enumerate() {
        if results.setups[..at].contains(setup) {
            continue; // another turn
        }
        let (device, mtu) = (escape(&setup.device), setup.mtu);
        let _ = writeln!(out, "<h3>{device}, MTU {mtu}</h3>\n<ul class=\"note\">");
        for fact in &setup.facts {
            let _ = writeln!(out, "<li>{}</li>", escape(fact));
        }
        let _ = writeln!(
            out,
            "</ul>\n<details><summary>How it was set up</summary><pre>{}</pre></details>",
            escape(&setup.commands.join("\n"))
        );
    }
    let plan = escape(results.plan.trim());
    let _ = writeln!(out, "<details><summary>The plan</summary><pre>{plan}</pre></details>");
    out
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

/// Rate against length, of valid rows; of a single length against turns, if there are several; else nothing.
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
    let turns = |device: &str, packet: u32| -> Vec<Option<f64>> {
        let of = rows.iter().filter(|row| row.setting.device == device);
        let of = of.filter(|row| row.setting.packet == packet);
        of.map(|row| row.validity.is_valid().then_some(row.l3_mbps)).collect()
    };
    let most = |packet: u32| {
        rows.iter().find(|row| row.setting.packet == packet).and_then(|row| row.most_l3_mbps())
    };
    let by_turn = match packets.as_slice() {
        [packet] => {
            let n = devices.iter().map(|device| turns(device, *packet).len()).max().unwrap_or(0);
            (n > 1).then_some((*packet, n))
        }
        _ => None,
    };
    if packets.len() < 2 && by_turn.is_none() {
        return String::new();
    }
    let line = |name: &str, points: Vec<Option<f64>>, reference| Series {
        reference,
        ..Series::line(name, points)
    };
    let (title, x_name, x, wire, lines): (_, _, Vec<String>, Vec<_>, Vec<Series>) = match by_turn {
        Some((packet, n)) => (
            format!("{protocol}, {direction}: rate of IP packets of {packet} bytes, turn by turn"),
            "turn",
            (1..=n).map(|turn| turn.to_string()).collect(),
            vec![most(packet); n],
            devices.iter().map(|device| line(device, turns(device, packet), false)).collect(),
        ),
        None => {
            let middle = |device: &str, packet: u32| {
                let mut all: Vec<f64> = turns(device, packet).into_iter().flatten().collect();
                all.sort_by(f64::total_cmp);
                median(&all)
            };
            let of = |device: &str| packets.iter().map(|&packet| middle(device, packet)).collect();
            (
                format!("{protocol}, {direction}: rate of IP packets by their length"),
                "IP packet, bytes",
                packets.iter().map(u32::to_string).collect(),
                packets.iter().map(|&packet| most(packet)).collect(),
                devices.iter().map(|device| line(device, of(device), false)).collect(),
            )
        }
    };
    let mut series = vec![];
    if wire.iter().any(Option::is_some) {
        series.push(line("the wire (theoretical)", wire, true));
    }
    series.extend(lines);
    let chart = Chart {
        title,
        y_name: "Mbps (L3), all pairs together",
        x_name,
        x,
        series,
        show: |mbps| thousands(mbps).trim_end_matches(".0").to_string(),
        ..Chart::default()
    };
    chart.svg()
}

fn table(protocol: Protocol, results: &Results, rows: &[&Row]) -> String {
    let gone = match protocol {
        Protocol::Tcp => "Sent again",
        Protocol::Udp => "Lost",
    };
    let mut out = format!(
        "<div class=\"wide\"><table class=\"num\">\n<thead><tr><th>Device</th><th>Byte (L3)</th><th>Mbps (payload)</th>\
         <th>Mbps (L3)</th><th>Mbps (L2)</th><th>kpps</th><th>of the wire</th><th>Limit</th><th>{gone}</th>\
         <th>Data sheet</th></tr></thead>\n<tbody>\n"
    );
    for row in rows {
        let share = row.most_l3_mbps().map(|most| format!("{:.1} %", row.l3_mbps / most * 100.0));
        let gone = match protocol {
            Protocol::Tcp => row.retransmits.map(|n| whole(n as f64)),
            Protocol::Udp => row.lost.map(|n| whole(n as f64)),
        };
        let wrong = if row.faults().is_empty() { "" } else { "<sup>!</sup>" };
        let mark = mark(row.validity.invalid.as_ref());
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}{mark}{wrong}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&row.setting.device),
            row.setting.packet,
            thousands(row.payload_mbps),
            thousands(row.l3_mbps),
            thousands(row.l2_mbps),
            thousands(row.kpps),
            share.unwrap_or("–".to_string()),
            limit(results, row).replace('-', "–"),
            gone.unwrap_or("–".to_string()),
            thousands(row.data_sheet_mbps),
        );
    }
    out += "</tbody>\n</table></div>\n";
    let mut said: Vec<(String, usize)> = Vec::new();
    for row in rows {
        for remark in &row.remarks {
            let text = format!("{}, {} byte: {remark}", row.setting.device, row.setting.packet);
            match said.iter_mut().find(|(known, _)| *known == text) {
                Some((_, n)) => *n += 1,
                None => said.push((text, 1)),
            }
        }
    }
    for (text, n) in said {
        let often = if n == 1 { String::new() } else { format!(" ({n} times)") };
        let _ = writeln!(out, "<p class=\"note\">{}{often}</p>", escape(&text));
    }
    out
}
