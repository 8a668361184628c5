//! Contradictions between tables that are given together.
//!
//! ```text
//!  two tables of rates     the same measurement twice; the same device in two versions
//!  price list, rates       the packets a second that a model is sold with, and those that were measured
//!  models, rates           twice what was measured one way
//!  tests, counters         the rate a stream was to have, and the one it had
//! ```

use super::counters;
use super::rates::{is_forwarding, kpps};
use super::table::{Row, Table};
use super::{Finding, Kind, ports};

/// A file's name, and its table.
type Named<'a> = (&'a str, Table);

/// Whether a table says something of others, though there may be nothing to check in it alone.
pub(super) fn knows(table: &Table) -> bool {
    table.has_all(&["packet_size_no_fcs", "mbps_per_stream"])
}

/// Checks every pair.
pub(super) fn check(tables: &[Named<'_>], findings: &mut Vec<Finding>) {
    for (i, one) in tables.iter().enumerate() {
        for (j, other) in tables.iter().enumerate() {
            let mut note = |row: &Row, kind, text| {
                let (file, line) = (one.0.to_string(), Some(row.line));
                findings.push(Finding { file, line, kind, text });
            };
            if j < i && is_forwarding(&one.1) && is_forwarding(&other.1) {
                twice(one, other, &mut note);
                versions(one, other, &mut note);
            }
            if ports::mpps(&one.1).is_some() && is_forwarding(&other.1) {
                sold(one, other, &mut note);
            }
            if one.1.has_all(&["model", "typical"]) && other.1.has_all(&["dut", "l3_mbps"]) {
                doubled(one, other, &mut note);
            }
            if knows(&other.1) {
                counters::asked(&one.1, other, &mut note);
            }
        }
    }
}

/// Takes a finding in the first of two tables.
pub(super) type NoteRow<'a> = dyn FnMut(&Row, Kind, String) + 'a;

/// Columns that two measurements must have in common to be one.
fn keys<'a>(table: &'a Table, other: &Table) -> Vec<&'a str> {
    const NUMBERS: [&str; 7] =
        ["kpps", "pps", "mpps", "mbps", "gbps", "wire_percent", "loss_percent"];
    const ABOUT: [&str; 4] = ["seed", "table", "underlined_wire_speed", "mbps_rule"];
    let names = table.columns().iter().map(String::as_str);
    let is_rate = |name: &str| {
        table.bits().iter().any(|(at, _)| table.position(name) == Some(*at))
            || NUMBERS.contains(&name)
    };
    let is_key = |name: &&str| !is_rate(name) && !ABOUT.contains(name) && other.has(name);
    names.filter(is_key).collect()
}

/// The same measurement in two files.
fn twice((_, table): &Named<'_>, (other_file, other): &Named<'_>, note: &mut NoteRow) {
    let keys = keys(table, other);
    if !keys.contains(&"size_bytes") || keys.len() < 3 {
        return;
    }
    for row in table.rows() {
        let same =
            |found: &&Row| keys.iter().all(|key| table.text(row, key) == other.text(found, key));
        let Some(found) = other.rows().iter().find(same) else { continue };
        let (Some(here), Some(there)) = (kpps(table, row), kpps(other, found)) else { continue };
        // Vendors print hundreds of packets.
        if (here - there).abs() > 0.051 {
            let what: Vec<&str> = keys.iter().map(|key| table.text(row, key)).collect();
            let text = format!(
                "{}: {here} kpps here, {there} in {other_file}:{}",
                what.join(" "),
                found.line
            );
            note(row, Kind::Inconsistent, text);
        }
    }
}

/// Whether names are of one device, written out or not: `CCR1072-1G-8S+ 1200MHz`, `CCR1072`.
fn is_same_device(a: &str, b: &str) -> bool {
    let word = |name: &str| name.split_whitespace().next().unwrap_or("").to_string();
    let (a, b) = (word(a), word(b));
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let rest = long.strip_prefix(&short);
    // The model's number, not only its first letters.
    let is_model = short.chars().any(|c| c.is_ascii_digit());
    is_model && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The same device with the same configuration, in another version or by another name.
fn versions((_, table): &Named<'_>, (other_file, other): &Named<'_>, note: &mut NoteRow) {
    let is_loose = |name: &str| ["device", "ros_version", "version"].contains(&name);
    let all = keys(table, other);
    let keys: Vec<&str> = all.iter().copied().filter(|name| !is_loose(name)).collect();
    if !all.contains(&"device") || !keys.contains(&"size_bytes") || keys.len() < 2 {
        return;
    }
    for row in table.rows() {
        let matches = |found: &&Row| {
            is_same_device(table.text(row, "device"), other.text(found, "device"))
                && keys.iter().all(|key| table.text(row, key) == other.text(found, key))
                && all.iter().any(|key| table.text(row, key) != other.text(found, key))
        };
        let Some(found) = other.rows().iter().find(matches) else { continue };
        let (Some(here), Some(there)) = (kpps(table, row), kpps(other, found)) else { continue };
        if (here - there).abs() > 0.051 {
            let name = |table: &Table, row: &Row| {
                let (device, version) = (table.text(row, "device"), table.text(row, "ros_version"));
                format!("{device} {version}").trim().to_string()
            };
            let what: Vec<&str> = keys.iter().map(|key| table.text(row, key)).collect();
            let text = format!(
                "{}: {here} kpps of {} here, {there} of {} in {other_file}:{}: another version, or \
                 another device",
                what.join(" "),
                name(table, row),
                name(other, found),
                found.line
            );
            note(row, Kind::Ambiguous, text);
        }
    }
}

/// What a model is sold with, against the most that was measured.
fn sold((_, prices): &Named<'_>, (other_file, other): &Named<'_>, note: &mut NoteRow) {
    let Some(column) = ports::mpps(prices) else { return };
    for row in prices.rows() {
        let (model, Some(sold)) = (prices.text(row, "model"), prices.number(row, column)) else {
            continue;
        };
        let is_it = |found: &&Row| {
            other.text(found, "device").split_whitespace().next().is_some_and(|name| name == model)
        };
        let measured = other.rows().iter().filter(is_it);
        let measured = measured.filter_map(|found| Some((kpps(other, found)? / 1e3, found.line)));
        if let Some((most, line)) = measured.max_by(|a, b| a.0.total_cmp(&b.0))
            && sold > most * 1.001
        {
            let text = format!(
                "{model}: sold with {sold} Mpps; the most that was measured is {most}, in \
                 {other_file}:{line}"
            );
            note(row, Kind::Inconsistent, text);
        }
    }
}

/// What a model does both ways, of what was measured one way.
fn doubled((_, models): &Named<'_>, (other_file, other): &Named<'_>, note: &mut NoteRow) {
    for row in models.rows() {
        let model = models.text(row, "model");
        let measured = other.rows().iter().filter(|found| other.text(found, "dut") == model);
        let measured: Vec<(f64, u64)> = measured
            .filter_map(|found| Some((other.number(found, "l3_mbps")?, found.line)))
            .collect();
        for name in ["max", "typical"] {
            let Some(printed) = models.number(row, name) else { continue };
            let digit = 10f64.powi(-models.decimals(row, name));
            let off = |mbps: f64| 2.0 * mbps / 1e3 - printed;
            if measured.iter().any(|(mbps, _)| off(*mbps).abs() <= digit / 2.0) {
                continue;
            }
            let cut = measured.iter().find(|(mbps, _)| off(*mbps) > 0.0 && off(*mbps) < digit);
            if let Some((mbps, line)) = cut {
                let text = format!(
                    "{model}: 2 x {mbps} Mbps ({other_file}:{line}) are {:.3} Gbps, cut off to {printed}",
                    2.0 * mbps / 1e3
                );
                note(row, Kind::Rounded, text);
            }
        }
    }
}
