//! The iperf3 method's results as a document, and their files.
//!
//! ```text
//! TCP, one way, 1 pair of 8 streams, wire 1,000 Mbps(L1)
//! device        byte(L3)  Mbps(payload)  Mbps(L3)  …  of wire  limit   sent again  data sheet
//! node to node       128          449.9     757.7  …    98.3%  hosts            0     1,515.4
//! ```
//!
//! Before them stand two devices against each other, where both were measured; behind them how long
//! packets took, and what TCP made of paths (RFC 6349). The last column doubles layer 3, every packet
//! counted in and out: what to compare data sheets with, and nothing else.
//!
//! Never opens a file; never hides a row that cannot be, or is invalid: it is marked, and the reason
//! stands above.

use crate::beside::{self, Beside};
use crate::document::{Cell, Document, Table, once};
use crate::html::{self, environment};
use crate::number::thousands;
use crate::suite::whole;
use measure::iperf3::{
    Direction, HostPath, HostTransfer, Latency, Protocol, Results, Row, Tool, mixed,
};
use measure::{Comparison, Limit};

/// All of it.
pub fn document(results: &Results) -> Document {
    let mut document = Document::new(&results.name);
    notices(&mut document, results);
    let at = &results.environment;
    document.terminal_only(format!("{}, {}", at.cpu, at.kernel));
    compared(&mut document, results);
    for (protocol, direction) in groups(results) {
        let alike =
            |row: &&Row| (row.setting.protocol, row.setting.direction) == (protocol, direction);
        throughput(&mut document, results, &results.rows.iter().filter(alike).collect::<Vec<_>>());
    }
    if !results.rows.is_empty() {
        document.note(
            "Mbps: 10^6 bit/s, all pairs together, by the receivers' bytes and seconds. L3: IP packets; \
             L2 -FCS: frames without FCS; L2: with it. Data sheet: L3 twice, in and out; to compare data \
             sheets with, and nothing else.",
        );
        document.note(LIMITS);
    }
    latencies(&mut document, &results.latencies);
    paths(&mut document, &results.paths);
    for repeated in results.repeated() {
        document.note(format!("Repeated: {repeated}"));
    }
    for omitted in &results.omitted {
        document.note(format!("Omitted: {omitted}"));
    }
    how(&mut document, results);
    document
}

/// What must not be overlooked.
fn notices(document: &mut Document, results: &Results) {
    if let Some(why) = &results.incomplete_because {
        document.notice("Incomplete", why);
    }
    if results.quick {
        document.notice("Shortened", "too short to be a result");
    }
    results.invalid().into_iter().for_each(|invalid| document.notice("Invalid", invalid));
    results.faults().into_iter().for_each(|fault| document.notice("Impossible", fault));
}

/// Devices that are compared where others were measured, too, as results call them.
const COMPARED: [&str; 2] = ["linux kernel", "wirespeed router"];

/// What was measured through two devices, our router beside the kernel or the two that there are; turns
/// in which one of both is invalid are left out.
fn compared(document: &mut Document, results: &Results) {
    let Some(pair) = pair(results) else { return };
    let lines = turns(results, pair);
    let turns = lines.iter().map(|line| line.comparison.base_pps.len()).max();
    let turns = match turns {
        None => return,
        Some(1) => "one turn of each".to_string(),
        Some(n) => format!("medians of {n} turns"),
    };
    let [base, device] = pair;
    document.heading(format!("{device} beside {base}: {turns}"));
    document.table(beside::table((1, &["what"]), pair, &lines));
}

/// Which two devices are compared.
fn pair(results: &Results) -> Option<[&str; 2]> {
    let rows = results.rows.iter().map(|row| row.setting.device.as_str());
    let devices = once(rows.chain(results.latencies.iter().map(|of| of.device.as_str())));
    if COMPARED.iter().all(|device| devices.contains(device)) {
        return Some(COMPARED);
    }
    devices.try_into().ok()
}

/// All that was measured through these two, in the order of its first appearance.
fn turns(results: &Results, devices: [&str; 2]) -> Vec<Beside> {
    let rows = results.rows.iter().map(|row| {
        let of = &row.setting;
        let what = format!("{}, {}, {} byte, Mbps(L3)", of.protocol, of.direction, of.packet);
        (what, false, of.device.as_str(), row.validity.is_valid().then_some(row.l3_mbps))
    });
    let times = results.latencies.iter().map(|of| {
        let us = of.validity.is_valid().then_some(of.median_ns as f64 / 1e3);
        (format!("{}, median, µs", of.tool), true, of.device.as_str(), us)
    });
    let all: Vec<_> = rows.chain(times).collect();
    let mut lines = Vec::new();
    for (what, is_time) in once(all.iter().map(|(what, is_time, ..)| (what, *is_time))) {
        let [base, device] = devices.map(|device| {
            let of = all.iter().filter(move |(w, _, of, _)| w == what && *of == device);
            of.map(|(.., value)| *value)
        });
        let sound: Vec<(f64, f64)> = base.zip(device).filter_map(|(a, b)| a.zip(b)).collect();
        if !sound.is_empty() {
            let (words, comparison) = (vec![what.clone()], Comparison::of(sound));
            lines.push(Beside { words, marks: [""; 2], comparison, unit: 1.0, is_time });
        }
    }
    lines
}

fn groups(results: &Results) -> Vec<(Protocol, Direction)> {
    once(results.rows.iter().map(|row| (row.setting.protocol, row.setting.direction)))
}

/// What stands behind a figure of what is invalid.
fn mark(invalid: Option<&String>) -> &'static str {
    if invalid.is_some() { "invalid" } else { "" }
}

/// What kept a row from being higher, in a word.
fn limit(results: &Results, row: &Row) -> &'static str {
    match results.limit(row) {
        Some(Limit::Wire) => "wire",
        Some(Limit::Tester) => "hosts",
        Some(_) => "device",
        None => "-",
    }
}

/// What these words mean.
const LIMITS: &str = "Limit: the wire (99 % of it and more), the hosts (alone, node to node, they do less \
                      than 1.2 times that), else the device; - where the hosts were not measured alone, \
                      and of invalid rows. !: impossible, as said above.";

/// Rows of one protocol and direction.
fn throughput(document: &mut Document, results: &Results, rows: &[&Row]) {
    let Some(Row { setting: of, .. }) = rows.first() else { return };
    let each = if of.pairs == 1 { "pair" } else { "pairs" };
    let wire = match of.link_mbps {
        Some(mbps) => format!("wire {} Mbps(L1)", thousands(mbps)),
        None => "a wire without a rate".to_string(),
    };
    let (protocol, direction) = (of.protocol, of.direction);
    document.heading(format!(
        "{protocol}, {direction}, {} {each} of {} streams, {wire}",
        of.pairs, of.streams
    ));
    let valid: Vec<&Row> = rows.iter().filter(|row| row.validity.is_valid()).copied().collect();
    document.page_only(html::iperf3::rates(protocol, direction, &valid));
    let gone = match protocol {
        Protocol::Tcp => "sent again",
        Protocol::Udp => "lost",
    };
    let heads = [
        "device",
        "byte(L3)",
        "Mbps(payload)",
        "Mbps(L3)",
        "Mbps(L2 -FCS)",
        "Mbps(L2)",
        "kpps",
        "of wire",
        "limit",
        gone,
        "data sheet",
    ];
    let mut table = Table::new(1, heads);
    for row in rows {
        let share = row.most_l3_mbps().map(|most| format!("{:.1}%", row.l3_mbps / most * 100.0));
        let gone = match protocol {
            Protocol::Tcp => row.retransmits,
            Protocol::Udp => row.lost.map(|n| n as u64),
        };
        let wrong = if row.faults().is_empty() { "" } else { "!" };
        let mark = match mark(row.validity.invalid.as_ref()) {
            "" => wrong,
            mark => mark,
        };
        table.row([
            Cell::from(row.setting.device.as_str()),
            row.setting.packet.to_string().into(),
            thousands(row.payload_mbps).into(),
            Cell::from(thousands(row.l3_mbps)).marked(mark),
            thousands(row.l2_without_fcs_mbps).into(),
            thousands(row.l2_mbps).into(),
            thousands(row.kpps).into(),
            Cell::maybe(share),
            limit(results, row).into(),
            Cell::maybe(gone.map(|n| whole(n as f64))),
            thousands(row.data_sheet_mbps).into(),
        ]);
    }
    table.notes = mixes(rows);
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
    table.notes.extend(said.into_iter().map(|(text, n)| match n {
        1 => text,
        n => format!("{text} ({n} times)"),
    }));
    document.table(table);
}

/// What the lengths of each device make of a mix.
fn mixes(rows: &[&Row]) -> Vec<String> {
    let mut devices: Vec<&str> = rows.iter().map(|row| row.setting.device.as_str()).collect();
    devices.dedup();
    let of = |device: &str| {
        let rows: Vec<&Row> =
            rows.iter().filter(|row| row.setting.device == device).copied().collect();
        let mix = mixed(&rows)?;
        Some(format!(
            "{device}, simple IMIX (IP 40:7, 576:4, 1500:1), computed: {} Mbps(L3), {} kpps; {}",
            thousands(mix.l3_mbps),
            thousands(mix.kpps),
            mix.basis
        ))
    };
    let mut all: Vec<String> = devices.into_iter().filter_map(of).collect();
    all.dedup();
    all
}

/// How long packets took; nothing if nobody asked.
fn latencies(document: &mut Document, all: &[Latency]) {
    if all.is_empty() {
        return;
    }
    document.heading("How long a packet takes there and back");
    document.page_only(html::iperf3::latencies(all));
    let heads =
        ["device", "asked by", "sent", "lost", "µs: least", "median", "mean", "99 %", "most"];
    let mut table = Table::new(2, heads);
    let us = |ns: u64| Cell::from(thousands(ns as f64 / 1e3));
    let by_tool = |tool: Tool| all.iter().filter(move |of| of.tool == tool);
    for of in by_tool(Tool::Ping).chain(by_tool(Tool::Irtt)) {
        table.row([
            Cell::from(of.device.as_str()),
            of.tool.to_string().into(),
            whole(of.sent as f64).into(),
            whole(of.sent.saturating_sub(of.received) as f64).into(),
            us(of.min_ns),
            us(of.median_ns).marked(mark(of.validity.invalid.as_ref())),
            us(of.mean_ns),
            us(of.p99_ns),
            us(of.max_ns),
        ]);
    }
    table.notes.push(
        "Round trips, from the sending program and back to it: both hosts and their systems are part of \
         them. Lost: packets that were not answered."
            .to_string(),
    );
    document.table(table);
}

/// What TCP made of each path; nothing if no path was measured.
fn paths(document: &mut Document, paths: &[HostPath]) {
    if paths.is_empty() {
        return;
    }
    document.heading("What TCP makes of the path (RFC 6349)");
    document.page_only(html::iperf3::paths(paths));
    let heads = [
        "the path",
        "MTU",
        "round trip, µs",
        "narrowest, Mbps(L2)",
        "BDP, byte",
        "at best, Mbps(TCP)",
    ];
    let mut table = Table::new(1, heads);
    for of in paths {
        let path = of.path();
        table.row([
            Cell::from(of.device.as_str()),
            Cell::from(of.mtu.to_string()).marked(if of.mtu_is_limit { "s" } else { "" }),
            thousands(of.rtt_ns as f64 / 1e3).into(),
            thousands(path.bottleneck_bps() / 1e6).into(),
            whole(path.bdp_bytes().round()).into(),
            thousands(path.ideal_bps() / 1e6).into(),
        ]);
    }
    if paths.iter().any(|of| of.mtu_is_limit) {
        let text = "s: longer packets were tried, and did not come through whole";
        table.notes.push(text.to_string());
    }
    document.table(table);
    let heads = [
        "through",
        "window, byte",
        "of BDP, %",
        "connections",
        "Mbps(TCP payload)",
        "time ratio",
        "efficiency, %",
        "sent again",
        "RTT, µs",
        "buffer delay, %",
    ];
    let mut table = Table::new(1, heads);
    let each = paths.iter().flat_map(|of| of.transfers.iter().map(move |one| (of, one)));
    each.for_each(|(of, one)| table.row(transfer(of, one)));
    table.notes.push(
        "Time ratio: the time that the transfer took by the time that it takes at best; 1 is the best. \
         Efficiency: the share of what was sent that was not sent again. Buffer delay: by how much the \
         round trip was longer than on the empty path. Of BDP: all connections' windows by the \
         bandwidth-delay product; below 100 % the window is the limit."
            .to_string(),
    );
    document.table(table);
}

fn transfer(of: &HostPath, one: &HostTransfer) -> [Cell; 10] {
    let all = f64::from(one.window) * f64::from(one.connections);
    [
        Cell::from(of.device.as_str()),
        whole(f64::from(one.window)).into(),
        whole(all / of.path().bdp_bytes() * 100.0).into(),
        one.connections.to_string().into(),
        thousands(one.bytes as f64 * 8.0 / one.seconds / 1e6).into(),
        Cell::from(format!("{:.3}", one.ratio)).marked(mark(of.invalid(one))),
        format!("{:.3}", one.efficiency).into(),
        whole(one.retransmits as f64).into(),
        Cell::maybe(one.rtt_us.map(|us| whole(us as f64))),
        Cell::maybe(one.buffer_delay.map(whole)),
    ]
}

/// The machine, what was done to hosts and devices, the plan.
fn how(document: &mut Document, results: &Results) {
    document.heading("Where and how");
    document.facts(environment(&results.environment));
    for (at, setup) in results.setups.iter().enumerate() {
        if results.setups[..at].contains(setup) {
            continue; // another turn
        }
        document.note(format!("{}, MTU {}: {}", setup.device, setup.mtu, setup.facts.join("; ")));
        document.folded("How it was set up", &setup.commands.join("\n"));
    }
    document.folded("The plan", &results.plan);
}

#[cfg(test)]
mod tests;
