//! IP packet sizes with rates of layer 3, and of "layer 2" as the iperf3 how-to counts it: 14 bytes
//! more, no FCS, no preamble. What we write ourselves has both: `l2_without_fcs_mbps` is that, and
//! `l2_mbps` counts the FCS.

use super::table::{Row, Table};
use super::{Kind, Known, L1, L2, Note, above, link};

/// Checks tables of `packet_l3` and `l3_mbps` (`l2_mbps`, `link`).
pub(super) fn check(table: &Table, known: &Known, note: &mut Note) -> bool {
    if !table.has("packet_l3") {
        return false;
    }
    let rates = table.has("l3_mbps");
    if rates && table.has("l2_mbps") && !table.has("l2_without_fcs_mbps") {
        without_fcs(table, note);
    }
    for row in table.rows() {
        let Some(size) = table.number(row, "packet_l3") else { continue };
        if rates {
            limits(table, row, size, known, note);
        }
    }
    rates
}

/// Rates of layer 2 are of packets and 18 bytes; of 14 they are without FCS.
fn without_fcs(table: &Table, note: &mut Note) {
    let off = |row: &Row| {
        let number = |name| table.number(row, name);
        let (size, l3, l2) = (number("packet_l3")?, number("l3_mbps")?, number("l2_mbps")?);
        // Nearer to 14 than to 18.
        Some((row.line, (l2 / l3 * size - size - 14.0).abs() < 2.0))
    };
    let rows: Vec<(u64, bool)> = table.rows().iter().filter_map(off).collect();
    let Some(&(first, _)) = rows.first() else { return };
    if rows.iter().all(|(_, fits)| *fits) {
        let text = "l2_mbps count 14 bytes more than the packet: layer 2 without FCS, 4 less than \
                    the frame";
        note(Some(first), Kind::Ambiguous, text.to_string());
    }
}

fn limits(table: &Table, row: &Row, size: f64, known: &Known, note: &mut Note) {
    let device = table.text(row, "dut");
    let l3 = table.number(row, "l3_mbps");
    let ours = table.has("l2_without_fcs_mbps");
    let without = if ours { "l2_without_fcs_mbps" } else { "l2_mbps" };
    let l2 = table.number(row, without);
    let with_fcs = table.number(row, "l2_mbps").filter(|_| ours);
    let layers = [("layer 2 (no FCS)", l2, 14.0), ("layer 2 (with FCS)", with_fcs, L2)];
    if let Some(link) = link(table.text(row, "link")).or_else(|| known.link(device)) {
        let wire = size + L2 + L1;
        for (layer, printed, more) in [("layer 3", l3, 0.0)].into_iter().chain(layers) {
            let most = link * (size + more) / wire / 1e6;
            let Some(printed) = printed.filter(|&printed| printed > most + 0.05) else { continue };
            let text = format!(
                "{printed} Mbps on {layer} in packets of {size} bytes are {} what the wire \
                 carries, {most:.1}",
                above(printed, most)
            );
            note(Some(row.line), Kind::Impossible, text);
        }
    }
    for (_, l2, more) in layers {
        let (Some(l3), Some(l2)) = (l3, l2) else { continue };
        let expected = l3 * (size + more) / size;
        if (l2 - expected).abs() > 0.06 * (size + more) / size + 0.06 {
            let text = format!(
                "{l2} Mbps on layer 2 do not fit {l3} on layer 3: {size} + {more} bytes make \
                 {expected:.1}"
            );
            note(Some(row.line), Kind::Inconsistent, text);
        }
    }
}
