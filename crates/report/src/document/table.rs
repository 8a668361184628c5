//! A table of results: heads, rows and notes, drawn once for every form there is.
//!
//! ```text
//!                          64 byte              groups, above the heads of their columns
//!  Mode     Configuration  kpps      Mbps(L2)   heads, those of words first
//!  Routing  none       119,047.6w    60,952.4   cells, each with a mark that a note explains
//! ```

use crate::html::escape;
use std::fmt::Write;

/// Heads longer than this stand above the table in text, by number.
const LONGEST_HEAD: usize = 22;

/// A page is not wider than so many columns: then rows and columns change places.
const WIDEST: usize = 8;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What stands above so many columns each, from the first behind the words; may be none.
    pub groups: Vec<(String, usize)>,
    /// A name for each column.
    pub heads: Vec<String>,
    /// How many columns, from the first, are words: these are set to the left.
    pub words: usize,
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// What a reader must know, below.
    pub notes: Vec<String>,
}

/// A cell: what is in it, and its mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// `-` where there is nothing.
    pub text: String,
    /// A letter or a word that a note explains; empty most of the time.
    pub mark: &'static str,
    /// What a page has room for beside it.
    pub aside: String,
}

impl Cell {
    /// What there is, or that there is nothing.
    pub fn maybe(value: Option<impl ToString>) -> Cell {
        value.map_or("-".to_string(), |value| value.to_string()).into()
    }

    /// The same with a mark.
    pub fn marked(self, mark: &'static str) -> Cell {
        Cell { mark: mark.trim(), ..self }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }
}

/// A column of records: its name with unit and layer, and how a record has it.
pub(crate) type Column<T> = (&'static str, fn(T) -> String);

impl Table {
    /// One without rows; the first `words` columns are words.
    pub fn new<T: Into<String>>(words: usize, heads: impl IntoIterator<Item = T>) -> Table {
        let heads = heads.into_iter().map(Into::into).collect();
        Table { heads, words, ..Table::default() }
    }

    /// Records for other programs: nothing is rounded.
    pub(crate) fn records<T: Copy>(
        columns: &[Column<T>],
        records: impl IntoIterator<Item = T>,
    ) -> Table {
        let mut table = Table::new(0, columns.iter().map(|(name, _)| *name));
        for record in records {
            table.row(columns.iter().map(|(_, of)| of(record)));
        }
        table
    }

    /// Adds a row.
    pub fn row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// For a terminal: columns as wide as they must be, marks below one another.
    pub fn text(&self) -> String {
        let is_long = |head: &&mut String| head.chars().count() > LONGEST_HEAD;
        let mut out = String::new();
        let mut heads = self.heads.clone();
        for (n, head) in (1..).zip(heads[self.words..].iter_mut().filter(is_long)) {
            let _ = writeln!(out, "  ({n}) {head}");
            *head = format!("({n})");
        }
        let marks: Vec<usize> = (0..heads.len())
            .map(|at| self.rows.iter().map(|row| row[at].mark.chars().count()).max().unwrap_or(0))
            .collect();
        // So is a last column that has no numbers: a verdict.
        let is_number = |row: &Vec<Cell>| {
            let first = row.last().and_then(|cell| cell.text.chars().next());
            first.is_none_or(|c| c.is_ascii_digit() || "-+<".contains(c))
        };
        let last = !self.rows.iter().any(is_number);
        let is_words = |at: usize| at < self.words || last && at + 1 == self.heads.len();
        // A mark's place is kept free behind what has none; a word is set apart.
        let shown = |at: usize, text: &str, mark: &str| match is_words(at) {
            true => format!("{text}{mark}"),
            false if marks[at] > 1 => format!("{text} {mark:<width$}", width = marks[at]),
            false => format!("{text}{mark:<width$}", width = marks[at]),
        };
        let head = heads.iter().enumerate().map(|(at, head)| shown(at, head, ""));
        let mut lines: Vec<Vec<String>> = vec![head.collect()];
        for row in &self.rows {
            let cells = row.iter().enumerate();
            lines.push(cells.map(|(at, cell)| shown(at, &cell.text, cell.mark)).collect());
        }
        let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max();
        let widths: Vec<usize> = (0..heads.len()).map(|at| width(at).unwrap_or(0)).collect();
        let mut write_line = |line: String| _ = writeln!(out, "{}", line.trim_end());
        if !self.groups.is_empty() {
            let words = widths[..self.words].iter().map(|width| width + 2).sum::<usize>();
            let mut line = " ".repeat(words.saturating_sub(2));
            let mut at = self.words;
            for (name, n) in &self.groups {
                let width: usize = widths[at..at + n].iter().map(|width| width + 2).sum();
                let _ = write!(line, "{name:^width$}");
                at += n;
            }
            write_line(line);
        }
        for line in &lines {
            let cells = line.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
                match is_words(at) {
                    true => format!("{cell:<width$}"),
                    false => format!("{cell:>width$}"),
                }
            });
            write_line(cells.collect::<Vec<String>>().join("  "));
        }
        if !self.notes.is_empty() {
            out.push('\n');
            self.notes.iter().for_each(|note| _ = writeln!(out, "{note}"));
        }
        out
    }

    /// Heads with what stands above them.
    fn whole_heads(&self) -> Vec<String> {
        let names = self.groups.iter().flat_map(|(name, n)| std::iter::repeat_n(name, *n));
        let mut heads = self.heads.clone();
        for (head, name) in heads[self.words..].iter_mut().zip(names) {
            *head = format!("{name}, {head}");
        }
        heads
    }

    /// For whoever writes about it.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = line(self.whole_heads().iter().map(|head| escaped(head)).collect());
        let side = |at| if at < self.words { "---" } else { "---:" };
        out += &line((0..self.heads.len()).map(|at| side(at).to_string()).collect());
        for row in &self.rows {
            let cells = row.iter().map(|cell| match cell.mark {
                mark if mark.chars().count() > 1 => format!("{} *{mark}*", escaped(&cell.text)),
                mark => escaped(&cell.text) + mark,
            });
            out += &line(cells.collect());
        }
        self.notes.iter().for_each(|note| _ = writeln!(out, "\n*{}*", escaped(note)));
        out
    }

    /// For a page.
    pub fn html(&self) -> String {
        let (columns, rows) = (self.heads.len() - self.words, self.rows.len());
        if self.groups.is_empty()
            && columns > WIDEST
            && rows <= WIDEST
            && self.heads.iter().any(|head| head.chars().count() > LONGEST_HEAD)
        {
            return self.turned().html();
        }
        let tight = if columns > 6 { " tight" } else { "" };
        let said = if columns == 0 { " said" } else { "" };
        let words = self.words;
        let mut out =
            format!("<div class=\"wide\"><table class=\"w{words}{tight}{said}\">\n<thead><tr>");
        // A name may be broken before its criterion.
        let head = |text: &str| escape(text).replace('[', "<wbr>[");
        let (first, rest) = self.heads.split_at(words);
        if self.groups.is_empty() {
            self.heads.iter().for_each(|text| _ = write!(out, "<th>{}</th>", head(text)));
        } else {
            first.iter().for_each(|text| {
                _ = write!(out, "<th rowspan=\"2\">{}</th>", head(text));
            });
            self.groups.iter().for_each(|(name, n)| {
                _ = write!(out, "<th colspan=\"{n}\">{}</th>", head(name));
            });
            out += "</tr>\n<tr>";
            rest.iter().for_each(|text| _ = write!(out, "<th>{}</th>", head(text)));
        }
        out += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            out += "<tr>";
            for Cell { text, mark, aside } in row {
                let text = if text == "-" { "–".to_string() } else { escape(text) };
                let mark = match mark.is_empty() {
                    true => String::new(),
                    false => format!("<sup>{mark}</sup>"),
                };
                let aside = match aside.is_empty() {
                    true => String::new(),
                    false => format!("<small> {}</small>", escape(aside)),
                };
                let _ = write!(out, "<td>{text}{mark}{aside}</td>");
            }
            out += "</tr>\n";
        }
        out += "</tbody>\n</table></div>\n";
        self.notes.iter().for_each(|note| {
            _ = writeln!(out, "<p class=\"note\">{}</p>", escape(note));
        });
        out
    }

    /// Rows as columns.
    fn turned(&self) -> Table {
        let name = |row: &Vec<Cell>| {
            let words = row[..self.words].iter().map(|cell| cell.text.as_str());
            words.collect::<Vec<&str>>().join(", ")
        };
        let mut table =
            Table::new(1, std::iter::once(String::new()).chain(self.rows.iter().map(name)));
        for at in self.words..self.heads.len() {
            let name = std::iter::once(Cell::from(self.heads[at].clone()));
            table.row(name.chain(self.rows.iter().map(|row| row[at].clone())));
        }
        Table { notes: self.notes.clone(), ..table }
    }

    /// For other programs (RFC 4180).
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // Into memory nothing fails.
        let _ = writer.write_record(self.whole_heads());
        for row in &self.rows {
            let _ = writer.write_record(row.iter().map(|cell| &cell.text));
        }
        String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
    }

    /// For other programs: an array of objects, of which each has a text by its column's name. What a
    /// record does not have is left out.
    pub fn json(&self) -> String {
        let heads = self.whole_heads();
        let object = |row: &Vec<Cell>| -> serde_json::Value {
            let cells = heads.iter().zip(row).filter(|(_, cell)| !cell.text.is_empty());
            cells.map(|(head, cell)| (head.clone(), value(&cell.text))).collect()
        };
        let rows: Vec<serde_json::Value> = self.rows.iter().map(object).collect();
        crate::lines::write(&rows).unwrap_or_default()
    }
}

/// A cell of a record: empty where there is nothing.
pub(crate) fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A number, where it is one.
fn value(text: &str) -> serde_json::Value {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    match serde_json::from_str(text) {
        Ok(value) if is_number => value,
        _ => text.into(),
    }
}

/// What ends no cell of Markdown.
pub(super) fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(1, ["name", "kpps", "Mbps(L2)"]);
        table.groups = vec![("64 byte".to_string(), 2)];
        table.row([Cell::from("a|b"), Cell::from("1.5").marked("w"), Cell::from("10.0")]);
        table.row([Cell::from("c"), Cell::from("20.0"), Cell::maybe(None::<u32>)]);
        table.notes = vec!["w: wire speed <reached>".to_string()];
        table
    }

    #[test]
    fn one_table_in_each_form() {
        let table = table();
        let text = "         64 byte
name  kpps   Mbps(L2)
a|b    1.5w      10.0
c     20.0          -

w: wire speed <reached>
";
        assert_eq!(table.text(), text, "\n{}", table.text());
        assert_eq!(
            table.markdown(),
            "| name | 64 byte, kpps | 64 byte, Mbps(L2) |\n| --- | ---: | ---: |\n\
             | a\\|b | 1.5w | 10.0 |\n| c | 20.0 | - |\n\n*w: wire speed <reached>*\n"
        );
        let page = table.html();
        for part in [
            "<th rowspan=\"2\">name</th><th colspan=\"2\">64 byte</th>",
            "<td>1.5<sup>w</sup></td>",
            "<td>–</td>",
            "&lt;reached&gt;",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert_eq!(
            table.csv(),
            "name,\"64 byte, kpps\",\"64 byte, Mbps(L2)\"\na|b,1.5,10.0\nc,20.0,-\n"
        );
        let read: serde_json::Value = serde_json::from_str(&table.json()).unwrap();
        assert_eq!(read[0]["64 byte, kpps"], 1.5);
        assert_eq!(read[0]["name"], "a|b");
    }

    /// Long names stand above by number; on a page a table that is too wide is turned.
    #[test]
    fn long_names() {
        let long = "throughput[rfc2544 60s 0 loss]";
        let mut table = Table::new(1, ["name".to_string(), long.to_string()]);
        table.row(["none", "1"]);
        assert_eq!(table.text(), format!("  (1) {long}\nname  (1)\nnone    1\n"));
        let heads = (0..10).map(|n| format!("{long} {n}"));
        let mut table = Table::new(1, std::iter::once("name".to_string()).chain(heads));
        table.row((0..11).map(|n| n.to_string()));
        let page = table.html();
        assert!(page.contains("<tr><td>throughput[rfc2544 60s 0 loss] 9</td><td>10</td></tr>"));
    }
}
