//! Lists of names and values: `/interface monitor-traffic`, `/tool speed-test`, settings' counters.
//!
//! ```text
//!  rx-packets-per-second, rx-bits-per-second   what a packet counts for
//!  ping-min-avg-max, loss, tcp-download …      in order, in proportion, and with how busy a CPU
//!  … Packets, … Bytes                          bytes a packet has
//! ```

use super::numbers::number;
use super::table::{Row, Table};
use super::{Kind, Known, Note, above, tracked};

/// Checks lists of `field` and `value`, those of one `run` or `window` together.
pub(super) fn check(table: &Table, known: &Known, note: &mut Note) -> bool {
    if !table.has_all(&["field", "value"]) {
        return false;
    }
    let mut applied = false;
    for row in table.rows() {
        let (field, value) = (table.text(row, "field"), table.text(row, "value"));
        let other = |name: &str| {
            let same = |other: &&Row| {
                ["run", "window"].iter().all(|g| table.text(other, g) == table.text(row, g))
                    && table.text(other, "field") == name
            };
            table.rows().iter().find(same).map(|other| table.text(other, "value"))
        };
        if let Some(direction) = field.strip_suffix("-packets-per-second") {
            if let Some(bits) = other(&format!("{direction}-bits-per-second")) {
                monitor(row, direction, (value, bits), note);
                applied = true;
            }
        } else if let Some(what) = field.strip_suffix(" Packets") {
            if let Some(bytes) = other(&format!("{what} Bytes")) {
                tracked::size(row, &format!("{what}: "), (value, bytes), note);
                applied = true;
            }
        } else if field.ends_with("-min-avg-max") {
            ordered(row, field, value, note);
            applied = true;
        } else if field == "loss" {
            loss(row, value, note);
            applied = true;
        } else if field.ends_with("-download") || field.ends_with("-upload") {
            transfer(row, (field, value), known.link(""), note);
            applied = true;
        }
    }
    applied
}

/// `7.4Gbps`: the number in bits a second, and what its last digit is worth.
fn rate(text: &str) -> Option<(f64, f64)> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
    let scale = match text[digits.len()..].chars().next()? {
        'k' => 1e3,
        'M' => 1e6,
        'G' => 1e9,
        'b' => 1.0,
        _ => return None,
    };
    let after = digits.split_once('.').map_or(0, |(_, after)| after.len());
    Some((number(digits)? * scale, scale * 10f64.powi(-(after as i32))))
}

/// Packets and bits a second of one interface: frames without FCS are 60 bytes at least.
fn monitor(row: &Row, direction: &str, (packets, bits): (&str, &str), note: &mut Note) {
    let (Some(pps), Some((printed, digit))) = (number(packets), rate(bits)) else { return };
    if pps <= 0.0 {
        return;
    }
    let at = |bytes: f64| pps * bytes * 8.0;
    let fits = |bytes: f64| (at(bytes) - printed).abs() <= digit / 2.0;
    let cut_off = |bytes: f64| ((at(bytes) / digit).floor() * digit - printed).abs() < digit / 10.0;
    let sizes = || (60..=1600).map(f64::from);
    let rounded = sizes().find(|&bytes| fits(bytes));
    match rounded.or_else(|| sizes().find(|&bytes| cut_off(bytes))) {
        Some(bytes) if bytes < 64.0 => {
            let exact = at(bytes) / 1e9;
            let cut = if rounded.is_none() {
                format!(", and the {exact:.3} Gbps that makes are cut off, not rounded")
            } else {
                String::new()
            };
            let text = format!(
                "{direction}: {packets} packets in {bits}: {bytes} bytes each, of 64 byte frames \
                 without FCS{cut}"
            );
            note(Some(row.line), Kind::Ambiguous, text);
        }
        Some(_) => {}
        None if printed < at(60.0) => {
            let text = format!(
                "{direction}: {packets} packets a second in {bits} would be of {:.1} bytes, and \
                 no frame is shorter than 60 without FCS",
                printed / pps / 8.0
            );
            note(Some(row.line), Kind::Impossible, text);
        }
        None => {}
    }
}

/// `541us / 609us / 3.35ms`: lowest, mean, highest.
fn ordered(row: &Row, field: &str, value: &str, note: &mut Note) {
    let seconds = |text: &str| {
        let text = text.trim();
        let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
        let scale = match &text[digits.len()..] {
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            _ => return None,
        };
        digits.parse::<f64>().ok().map(|number| number * scale)
    };
    let times: Option<Vec<f64>> = value.split('/').map(seconds).collect();
    if times.is_some_and(|times| !times.is_sorted()) {
        note(Some(row.line), Kind::Inconsistent, format!("{field}: {value} do not ascend"));
    }
}

/// `0% (0/100)`.
fn loss(row: &Row, value: &str, note: &mut Note) {
    let Some((percent, counts)) = value.split_once('%') else { return };
    let counts = counts.trim().trim_start_matches('(').trim_end_matches(')').split_once('/');
    let numbers = counts.and_then(|(lost, of)| Some((number(lost)?, number(of)?)));
    let (Some(percent), Some((lost, of))) = (number(percent), numbers) else { return };
    if lost > of || lost < 0.0 {
        note(Some(row.line), Kind::Impossible, format!("{lost} packets lost of {of}"));
    } else if of > 0.0 && (lost / of * 100.0 - percent).abs() > 0.51 {
        let text = format!("{lost} of {of} packets are {:.1} %, not {percent}", lost / of * 100.0);
        note(Some(row.line), Kind::Inconsistent, text);
    }
}

/// `820Mbps local-cpu-load:100% remote-cpu-load:84%`.
fn transfer(row: &Row, (field, value): (&str, &str), link: Option<f64>, note: &mut Note) {
    let mut words = value.split(' ');
    if let (Some((rate, _)), Some(link)) = (words.next().and_then(rate), link)
        && rate > link
    {
        let text = format!(
            "{field}: {:.1} Mbps of payload are {} the wire",
            rate / 1e6,
            above(rate, link)
        );
        note(Some(row.line), Kind::Impossible, text);
    }
    for word in words {
        let Some((side, load)) = word.split_once("-cpu-load:") else { continue };
        if let Some(load) = number(load).filter(|load| *load > 90.0) {
            let text = format!(
                "{field}: the {side} CPU was busy for {load} %: the tester may be the limit"
            );
            note(Some(row.line), Kind::Ambiguous, text);
        }
    }
}
