//! The performance table on a page: rates and the tax, and below it what else is known of each cell.
//!
//! ```text
//!                        64 byte            512 byte
//!  Mode  Configuration   kpps  Mbps  tax    …            ns/packet  kpps(0 loss)  fast path
//! ```

use super::chart::escape;
use super::sizes;
use crate::table::{criterion, details, find, label, legend_of, mark, meanings, order, rate};
use measure::{Results, Row};
use std::fmt::Write;

/// A column of each frame size: its name, and its cell as markup.
struct Column<'a> {
    name: &'a str,
    cell: Cell<'a>,
}

type Cell<'a> = Box<dyn Fn(&Row) -> Option<String> + 'a>;

/// Both tables, and what stands below them.
pub(super) fn tables(results: &Results, rows: &[&Row]) -> String {
    let kpps = |row: &Row| format!("{}<sup>{}</sup>", rate(row, row.kpps), mark(row).trim());
    let tax = |row: &Row| {
        let tax = results.tax(row).filter(|_| row.configuration != "none");
        tax.map(|tax| format!("{tax:.2}")).unwrap_or_default()
    };
    let rates = [
        Column { name: "kpps", cell: Box::new(|row| Some(kpps(row))) },
        Column { name: "Mbps (L2)", cell: Box::new(|row| Some(rate(row, row.l2_mbps))) },
        Column { name: "tax", cell: Box::new(|row| Some(tax(row))) },
    ];
    let mut out = grid(rows, &rates)
        + "<p class=\"note\">Mbps (L2): 10<sup>6</sup> bit/s of frames with FCS. Tax: the rate of plain \
           forwarding divided by this one.</p>\n";
    for line in legend_of(rows) {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&line));
    }
    let (name, what) = criterion(rows);
    let known = details(rows, &name);
    let columns: Vec<Column<'_>> = known
        .iter()
        .map(|column| Column {
            name: column.name,
            cell: Box::new(|row| {
                let text = (column.cell)(row)?;
                Some(match text.strip_suffix('t') {
                    Some(number) => format!("{}<sup>t</sup>", escape(number)),
                    None => escape(text.trim_end()),
                })
            }),
        })
        .collect();
    if !columns.is_empty() {
        out += &grid(rows, &columns);
        let _ = writeln!(
            out,
            "<p class=\"note\">{}.</p>",
            escape(&meanings(rows, &known, &what).join("; "))
        );
    }
    out
}

fn grid(rows: &[&Row], columns: &[Column<'_>]) -> String {
    let (sizes, n) = (sizes(rows), columns.len());
    let mut out = "<table class=\"tight\">\n<thead><tr><th rowspan=\"2\">Mode</th>\
                   <th rowspan=\"2\">Configuration</th>"
        .to_string();
    for size in &sizes {
        let _ = write!(out, "<th colspan=\"{n}\">{size} byte</th>");
    }
    out += "</tr>\n<tr>";
    for _ in &sizes {
        columns.iter().for_each(|column| {
            let _ = write!(out, "<th>{}</th>", escape(column.name.trim_end()));
        });
    }
    out += "</tr></thead>\n<tbody>\n";
    for (mode, name) in order(rows) {
        let _ = write!(out, "<tr><td>{mode}</td><td>{}</td>", escape(&label(mode, name)));
        for &size in &sizes {
            let row = find(rows, mode, name, size);
            for column in columns {
                let cell = row.and_then(|row| (column.cell)(row));
                let _ = write!(out, "<td>{}</td>", cell.as_deref().unwrap_or("–"));
            }
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table>\n"
}
