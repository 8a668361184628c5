//! Offered load, what came of it, and the share that is said to be lost.
//!
//! ```text
//!  Tx (fps), Rx (fps), Loss (%)         loss = (tx - rx) / tx; rx is no more than tx, and than the wire
//!  tx_packets, rx_packets, Loss (%)     the same of counts
//!  begin_ns, interval_ns                a row receives what one before it sent: not compared
//!  sending_ns, arriving_ns              each rate has a time of its own: counts are compared, not rates
//! ```

use super::rates::digit;
use super::table::{Row, Table};
use super::{Kind, Known, L1, Note, above, wires_of};

/// A column of what was sent, of what was received, and what they are of.
const PAIRS: [(&str, &str, &str); 2] =
    [("tx_packet", "rx_packet", "frames"), ("tx_pps", "rx_pps", "frames a second")];

/// Checks tables of frame sizes, or of losses, that have such a pair.
pub(super) fn check(table: &Table, known: &Known, note: &mut Note) -> bool {
    // (An interface that sends and receives does so of different frames.)
    let is_of_tests = table.has("size_bytes") || table.has("loss_percent");
    let has = |(tx, rx, _): &(&str, &str, &str)| is_of_tests && table.has_all(&[tx, rx]);
    let is_series = table.has_all(&["begin_ns", "interval_ns"]);
    let has_times = table.has("sending_ns") || table.has("arriving_ns");
    let is_compared = |(_, _, what): &(&str, &str, &str)| match *what {
        "frames" => !is_series,
        _ => !has_times,
    };
    let all = PAIRS.into_iter().filter(has).collect::<Vec<_>>();
    let pairs: Vec<_> = all.iter().copied().filter(is_compared).collect();
    for (row, pair) in table.rows().iter().flat_map(|row| pairs.iter().map(move |pair| (row, pair)))
    {
        one(table, row, *pair, note);
    }
    if table.has_all(&["rx_pps", "size_bytes"]) {
        table.rows().iter().for_each(|row| wire(table, row, known, note));
    }
    !all.is_empty()
}

fn one(table: &Table, row: &Row, (tx, rx, what): (&str, &str, &str), note: &mut Note) {
    let number = |name| table.number(row, name);
    let (Some(sent), Some(received)) = (number(tx), number(rx)) else { return };
    let received =
        received - number("duplicate_packet").filter(|_| what == "frames").unwrap_or(0.0);
    // A count is exact, a rate is as exact as it is printed.
    let slack = match what {
        "frames" => 0.0,
        _ => (digit(table, row, tx) + digit(table, row, rx)) / 2.0 + sent * 1e-9,
    };
    if received > sent + slack {
        // (Counts beside those of lost ones are looked at with them.)
        if !(what == "frames" && table.has("lost_packet")) {
            let text = format!("{received} {what} received of {sent} sent");
            note(Some(row.line), Kind::Impossible, text);
        }
        return;
    }
    let Some(loss) = number("loss_percent").filter(|_| sent > 0.0) else { return };
    let exact = (sent - received) / sent * 100.0;
    if (exact - loss).abs() > digit(table, row, "loss_percent") * 0.51 + slack / sent * 100.0 {
        let text = format!("{received} of {sent} {what} leave a loss of {exact:.4} %, not {loss}");
        note(Some(row.line), Kind::Inconsistent, text);
    }
}

/// What is received is no more than the wire carries.
fn wire(table: &Table, row: &Row, known: &Known, note: &mut Note) {
    let (Some(size), Some(rate), Some(wire)) = (
        table.number(row, "size_bytes").filter(|size| *size > 0.0),
        table.number(row, "rx_pps"),
        wires_of(table, row, known),
    ) else {
        return;
    };
    let most = wire / (size + L1) / 8.0;
    if rate > most + digit(table, row, "rx_pps") {
        let text = format!(
            "{rate} frames of {size} bytes received a second are {} the wire's {most:.0}",
            above(rate, most)
        );
        note(Some(row.line), Kind::Impossible, text);
    }
}
