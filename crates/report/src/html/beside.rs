//! Devices beside each other on a page: what `bench --compare` is run for, before their own tables.
//!
//! ```text
//!  Mode  Configuration  Byte  linux kernel  wirespeed on veth  Ratio  Least  Most  Verdict
//! ```

use super::chart::escape;
use crate::turns::{Beside, besides};
use measure::Results;
use std::fmt::Write;

/// A table for each pair; nothing where nothing was compared.
pub(super) fn section(results: &Results) -> String {
    let mut out = String::new();
    for Beside { base, device, lines, notes } in besides(results) {
        let [a, b] = [base, device].map(escape);
        let _ = writeln!(
            out,
            "<h2>{b} beside {a}</h2>\n<div class=\"wide\"><table class=\"num\">\n<thead><tr><th>Mode</th>\
             <th>Configuration</th><th>Byte</th><th>{a}, kpps</th><th>{b}, kpps</th><th>Ratio</th>\
             <th>Least</th><th>Most</th><th>Verdict</th></tr></thead>\n<tbody>"
        );
        for line in lines {
            let cells = line.iter().map(|cell| format!("<td>{}</td>", escape(cell.trim_end())));
            let _ = writeln!(out, "<tr>{}</tr>", cells.collect::<String>());
        }
        out += "</tbody>\n</table></div>\n";
        for note in notes {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&note));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_compared_is_on_the_page() {
        let results = crate::json::read(include_str!("../../data/bench-2.json")).unwrap();
        let page = crate::html::page(&results);
        for part in [
            "<title>wirespeed on veth beside linux</title>",
            "<h1>wirespeed on veth beside linux</h1>",
            "<h2>wirespeed on veth beside linux</h2>",
            "<td>500.0</td><td>875.0t</td><td>1.75</td><td>1.50</td><td>2.00</td><td>unclear</td>",
            "ratio: the median of the turns",
        ] {
            assert!(page.contains(part), "{part} in\n{page}");
        }
        let alone = Results { comparisons: vec![], ..results };
        assert_eq!(section(&alone), "");
    }
}
