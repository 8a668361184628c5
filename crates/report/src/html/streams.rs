//! Streams of a plan: a table of what came of each, one of what each was, and how late they came.

use super::chart::escape;
use super::distribution::{self, Strip};
use crate::suite::streams::{beside, counted, described, shown};
use measure::suite_result::Cell;
use std::fmt::Write;

/// Of each configuration.
pub(super) fn tables(cells: &[&Cell]) -> String {
    let mut out = String::new();
    for cell in cells {
        let Some(trial) = shown(cell) else { continue };
        if cells.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escape(&cell.configuration));
        }
        out += "<div class=\"wide\"><table>\n";
        for (i, line) in counted(trial).into_iter().enumerate() {
            let (tag, head) = if i == 0 { ("th", "Stream") } else { ("td", "") };
            out += if i == 0 { "<thead><tr>" } else { "<tr>" };
            for (column, text) in line.iter().enumerate() {
                let text = if column == 0 && i == 0 { head } else { text };
                let _ = write!(out, "<{tag}>{}</{tag}>", escape(text));
            }
            out += if i == 0 { "</tr></thead>\n<tbody>\n" } else { "</tr>\n" };
        }
        let _ = writeln!(
            out,
            "</tbody>\n</table></div>\n<p class=\"note\">{}</p>",
            escape(&beside(trial))
        );
        out += "<div class=\"wide\"><table>\n<thead><tr><th>Stream</th><th>Ports</th><th>Headers, lengths, \
                load</th></tr></thead>\n<tbody>\n";
        for [name, way, what] in described(trial) {
            let cells = [name, way, what].map(|text| format!("<td>{}</td>", escape(&text)));
            let _ = writeln!(out, "<tr>{}</tr>", cells.concat());
        }
        out += "</tbody>\n</table></div>\n";
        if !cell.histogram.is_empty() {
            let strip = Strip { name: "all streams".to_string(), buckets: &cell.histogram };
            let title = format!("Distribution of latency: {}", cell.configuration);
            out += &distribution::svg(&title, &[strip]);
        }
    }
    out
}
