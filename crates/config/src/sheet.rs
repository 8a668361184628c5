//! Items for the eye: from rows of values to tables, runs and lines.
//!
//! ```text
//! Flags: X - disabled, I - invalid, D - dynamic
//!  #   ADDRESS            NETWORK         INTERFACE      a table, where the menu names columns
//!  0   1.1.1.254/24       1.1.1.0         ether1
//!
//!  0 X  ;;; allow already established connections        name=value runs elsewhere, and with
//!       chain=forward action=accept                      `detail`
//! ```
//!
//! Rows come in blocks; the first one, of up to [`FIRST_BLOCK`] rows, settles the widths, so a
//! table of a million rows needs no more memory than one of a thousand.

use crate::export::shown;
use crate::number;
use crate::script::{Datum, quote};
use crate::view::View;
use crate::{Access, Item, ItemId, Menu, MenuKind, Property, Type, Value};
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

/// Wider cells are cut, with three dots.
const MAX_CELL: usize = 40;

/// Rows that settle the widths of those behind them.
pub(crate) const FIRST_BLOCK: usize = 1000;

/// How `print` shows things.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layout {
    Brief,
    Detail,
    Terse,
    ValueList,
    Stats,
    StatsDetail,
    AsValue,
    CountOnly,
}

/// What a layout makes of rows.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Table,
    /// Cells alone.
    Lines,
    Runs,
    Terse,
    ValueList,
}

/// An item, read for showing.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) id: ItemId,
    flags: String,
    comment: String,
    remark: Option<String>,
    /// Of what it has values for, in the order of the menu's table.
    values: Vec<(&'static Property, Value)>,
}

/// Rows on their way to the eye.
pub(crate) struct Sheet {
    menu: &'static Menu,
    form: Form,
    properties: Vec<&'static Property>,
    /// Characters in a line.
    width: usize,
    /// The number of the next row.
    number: usize,
    /// Whether the header is there.
    begun: bool,
    n_digits: usize,
    n_flags: usize,
    /// Of the columns.
    widths: Vec<usize>,
}

impl View<'_> {
    /// What a sheet needs of an item.
    pub(crate) fn row(&self, sheet: &Sheet, member: &Menu, item: &Item) -> Row {
        let menu = sheet.menu;
        let properties = sheet.properties.iter();
        let value =
            |p: &&'static Property| Some((*p, self.value(menu, member, Some(item), p.name)?));
        Row {
            id: item.id,
            flags: self.flags(menu, member, item),
            comment: item.comment.clone(),
            remark: self.status.remark(member, item),
            values: properties.filter_map(value).collect(),
        }
    }

    fn flags(&self, menu: &Menu, member: &Menu, item: &Item) -> String {
        let set = |name| self.value(menu, member, Some(item), name) == Some(Value::Bool(true));
        let flags = flags(menu);
        if !flags.iter().any(|flag| flag.beside) {
            return flags.iter().filter(|flag| set(flag.name)).map(|flag| flag.letter).collect();
        }
        let mut places = vec![' '];
        for flag in flags {
            if flag.beside {
                places.push(' ');
            }
            if let Some(place) = places.last_mut().filter(|place| **place == ' ' && set(flag.name))
            {
                *place = flag.letter;
            }
        }
        places.into_iter().collect()
    }
}

impl Row {
    /// Its values by name, its identity first.
    pub(crate) fn as_value(&self) -> Vec<(Option<String>, Datum)> {
        let mut fields = vec![(".id", Datum::Id(self.id))];
        let values = self.values.iter();
        fields.extend(values.map(|(p, value)| (p.name, Datum::from(value.clone()))));
        if !self.comment.is_empty() {
            fields.push(("comment", Datum::Text(self.comment.clone())));
        }
        fields.into_iter().map(|(name, datum)| (Some(name.to_string()), datum)).collect()
    }

    /// What it is, but for counters: equal as long as nobody has changed it.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        (&self.flags, &self.comment, &self.remark).hash(&mut hash);
        for (property, value) in self.values.iter().filter(|(p, _)| !is_counter(p)) {
            (property.name, value.to_string()).hash(&mut hash);
        }
        hash.finish()
    }

    fn pairs(&self) -> Vec<String> {
        let values = self.values.iter();
        let pairs = values.map(|(p, value)| format!("{}={}", p.name, shown(value, is_text(p))));
        pairs.collect()
    }

    /// Pairs for the eye: counts in groups, rates in a unit.
    fn counted_pairs(&self) -> Vec<String> {
        let values = self.values.iter();
        let pairs = values.map(|(p, value)| match counted(p, value) {
            Some(text) => format!("{}={text}", p.name),
            None => format!("{}={}", p.name, shown(value, is_text(p))),
        });
        pairs.collect()
    }

    fn cells(&self, columns: &[&'static Property]) -> Vec<String> {
        let cell = |column: &&'static Property| {
            let value = self.values.iter().find(|(property, _)| property.name == column.name);
            let text = value.map_or(String::new(), |(property, value)| {
                counted(property, value).unwrap_or_else(|| value.to_string())
            });
            if text.chars().count() <= MAX_CELL || column.line {
                return text;
            }
            text.chars().take(MAX_CELL - 3).chain("...".chars()).collect()
        };
        columns.iter().map(cell).collect()
    }
}

impl Sheet {
    /// For the items of a menu, with so many characters in a line.
    pub(crate) fn new(menu: &'static Menu, layout: Layout, width: usize) -> Sheet {
        let columns = columns(menu, layout);
        let form = match layout {
            Layout::Terse => Form::Terse,
            Layout::ValueList => Form::ValueList,
            Layout::Brief if columns.iter().any(|column| column.line) => Form::Lines,
            Layout::Brief | Layout::Stats if !columns.is_empty() => Form::Table,
            _ => Form::Runs,
        };
        let shown = |p: &&Property| {
            p.flag.is_none()
                && match (form, layout) {
                    (Form::Table | Form::Lines, _) => {
                        columns.iter().any(|column| column.name == p.name)
                    }
                    (Form::Runs, Layout::Stats | Layout::StatsDetail) => {
                        is_counter(p) || tells_apart(menu, p)
                    }
                    // All but counters, unless those are all there is to say.
                    (Form::Runs, Layout::Brief) => !is_counter(p),
                    (_, Layout::AsValue) => true,
                    _ => !is_counter(p) || !is_configured(menu),
                }
        };
        let properties = match form {
            Form::Table | Form::Lines => columns,
            _ => properties(menu, true).filter(shown).collect(),
        };
        let (n_digits, n_flags, widths) = (2, 0, Vec::new());
        Sheet { menu, form, properties, width, number: 0, begun: false, n_digits, n_flags, widths }
    }

    /// The next rows, behind the header if they are the first.
    pub(crate) fn block(&mut self, rows: &[Row]) -> String {
        let mut text = String::new();
        let first = !self.begun;
        if first {
            text += &self.begin(rows);
        }
        for row in rows {
            match self.form {
                Form::Table => {
                    let line = self.line(&row.cells(&self.properties));
                    self.entry(&mut text, row, vec![line]);
                }
                Form::Runs => {
                    if self.number > 0 {
                        text.push('\n');
                    }
                    let lines = self.run(row);
                    self.entry(&mut text, row, lines);
                }
                Form::Lines => {
                    // A line break in one would look like two.
                    let line = row.cells(&self.properties).join(" ").replace(['\n', '\r'], " ");
                    let _ = writeln!(text, "{}", line.trim_end());
                }
                Form::Terse => text += &self.terse(row),
                Form::ValueList => text += &value_list(row),
            }
            self.number += 1;
        }
        if first && rows.is_empty() && self.form == Form::Runs {
            text.push('\n');
        }
        text
    }

    /// Settles the widths; returns the header.
    fn begin(&mut self, rows: &[Row]) -> String {
        self.begun = true;
        self.n_digits = rows.len().saturating_sub(1).to_string().len().max(2);
        let n_flags = rows.iter().map(|row| row.flags.len()).max().unwrap_or(0);
        match self.form {
            Form::Runs => {
                self.n_flags = n_flags.max(2);
                legend(self.menu, self.width)
            }
            Form::Table => {
                self.n_flags = n_flags.max(1);
                let mut titles: Vec<String> =
                    self.properties.iter().map(|p| p.name.to_uppercase()).collect();
                let least = |(p, title): (&&Property, &String)| match p.width {
                    0 => title.len(),
                    width => width,
                };
                let mut widths: Vec<usize> =
                    self.properties.iter().zip(&titles).map(least).collect();
                for row in rows {
                    for (width, cell) in widths.iter_mut().zip(row.cells(&self.properties)) {
                        *width = (*width).max(cell.chars().count());
                    }
                }
                for (title, &width) in titles.iter_mut().zip(&widths) {
                    if title.len() > width {
                        title.truncate(width.saturating_sub(2));
                        *title += "..";
                    }
                }
                self.widths = widths;
                // The title stands where the rows stand: behind the number and the widest flags.
                let Sheet { n_digits, n_flags, .. } = *self;
                let title = self.line(&titles);
                let title = format!("{:>n_digits$} {:n_flags$} {title}", "#", "");
                format!("{}{}\n", legend(self.menu, self.width), title.trim_end())
            }
            Form::Lines | Form::Terse | Form::ValueList => String::new(),
        }
    }

    /// Number, flags and remarks of an item, then what stands behind them, indented alike.
    fn entry(&self, text: &mut String, row: &Row, body: Vec<String>) {
        let Sheet { n_digits, n_flags, number, .. } = *self;
        let indent = self.indent();
        let comment = Some(&row.comment).filter(|comment| !comment.is_empty());
        // A line break in a comment would look like another item.
        let remarks = comment.into_iter().chain(&row.remark);
        let remarks = remarks.map(|remark| format!(";;; {}", remark.replace(['\n', '\r'], " ")));
        for (i, line) in remarks.chain(body).enumerate() {
            let start = match i {
                0 => format!("{number:>n_digits$} {:n_flags$} ", row.flags),
                _ => " ".repeat(indent),
            };
            *text += format!("{start}{line}").trim_end();
            text.push('\n');
        }
    }

    fn indent(&self) -> usize {
        self.n_digits + 1 + self.n_flags + 1
    }

    fn line(&self, cells: &[String]) -> String {
        let cells = cells.iter().zip(&self.widths).zip(&self.properties);
        let cells = cells.map(|((cell, width), property)| {
            if is_counter(property) { format!("{cell:>width$}") } else { format!("{cell:width$}") }
        });
        cells.collect::<Vec<_>>().join(" ")
    }

    fn run(&self, row: &Row) -> Vec<String> {
        let indent = self.indent();
        let mut lines = vec![String::new()];
        for pair in row.counted_pairs() {
            let fits = |line: &&mut String| {
                line.is_empty() || indent + line.len() + 1 + pair.len() < self.width
            };
            match lines.last_mut().filter(fits) {
                Some(line) if line.is_empty() => *line = pair,
                Some(line) => *line += &format!(" {pair}"),
                None => lines.push(pair),
            }
        }
        lines
    }

    /// One line per item, for `grep`.
    fn terse(&self, row: &Row) -> String {
        let mut words = vec![format!("{:>2}", self.number)];
        let flags = row.flags.trim_end().to_string();
        words.extend(Some(flags).filter(|flags| !flags.is_empty()));
        if !row.comment.is_empty() {
            words.push(format!("comment={}", quote(&row.comment)));
        }
        words.extend(row.pairs());
        words.join(" ") + "\n"
    }
}

fn value_list(row: &Row) -> String {
    let mut text = String::new();
    let width = row.values.iter().map(|(p, _)| p.name.len()).max().unwrap_or(0) + 2;
    for (property, value) in &row.values {
        let _ = writeln!(text, "{:>width$}: {value}", property.name);
    }
    text.push('\n');
    text
}

/// `Flags: X - disabled, D - dynamic `: the menu's flags, whether any item has them or not, in lines
/// of `width` characters.
fn legend(menu: &Menu, width: usize) -> String {
    let flags = flags(menu);
    let mut text = String::new();
    let mut used = 0;
    for (i, Flag { letter, name, .. }) in flags.iter().enumerate() {
        let end = if i + 1 < flags.len() { ", " } else { " " };
        let flag = format!("{letter} - {name}{end}");
        if i == 0 {
            text += "Flags: ";
        } else if used + flag.len() > width {
            text.push('\n');
            used = 0;
        }
        used += flag.len() + if i == 0 { text.len() } else { 0 };
        text += &flag;
    }
    if !flags.is_empty() {
        text.push('\n');
    }
    text
}

struct Flag {
    letter: char,
    name: &'static str,
    beside: bool,
}

/// The menu's own flags in its order; disabled and dynamic are every list's, but one of fixed items
/// names them if they can occur.
fn flags(menu: &Menu) -> Vec<Flag> {
    let own = menu.properties.iter();
    let own = own.filter_map(|p| Some(Flag { letter: p.flag?, name: p.name, beside: p.beside }));
    let mut flags: Vec<Flag> = own.collect();
    if matches!(menu.kind, MenuKind::Union { .. } | MenuKind::List { fixed: true, .. }) {
        return flags;
    }
    if !flags.iter().any(|flag| flag.name == "disabled") {
        flags.insert(0, Flag { letter: 'X', name: "disabled", beside: false });
    }
    if !flags.iter().any(|flag| flag.name == "dynamic") {
        flags.push(Flag { letter: 'D', name: "dynamic", beside: false });
    }
    flags
}

/// What can be shown: what the user sets, and if `told`, what the device says.
pub(crate) fn properties(menu: &Menu, told: bool) -> impl Iterator<Item = &'static Property> {
    menu.properties.iter().filter(move |property| match property.access {
        Access::Optional | Access::Required => true,
        Access::ReadOnly => told,
        Access::Secret | Access::Missing(_) => false,
    })
}

/// A menu's columns; of `stats`, what tells items apart and the counters.
fn columns(menu: &Menu, layout: Layout) -> Vec<&'static Property> {
    if layout != Layout::Stats {
        return properties(menu, true).filter(|property| property.column).collect();
    }
    let counters = menu.properties.iter().filter(|p| is_counter(p) && !p.detail);
    if counters.clone().any(|p| matches!(p.kind, Type::Pair(_))) {
        return Vec::new(); // too wide: RouterOS shows the counters of queues in runs
    }
    properties(menu, false).filter(|p| tells_apart(menu, p)).chain(counters).collect()
}

/// Whether it stands in front of an item's counters: what must be given, else the first two.
fn tells_apart(menu: &Menu, property: &Property) -> bool {
    match menu.key() {
        Some(key) => property.name == key || property.access == Access::Required,
        None => properties(menu, false).take(2).any(|first| first.name == property.name),
    }
}

/// Whether the user has a say in its items; else they are what the device tells.
fn is_configured(menu: &Menu) -> bool {
    matches!(menu.kind, MenuKind::Union { .. }) || properties(menu, false).next().is_some()
}

/// Whether it counts something: a number that nothing bounds, or a rate.
pub(crate) fn is_counter(property: &Property) -> bool {
    let is_count = |kind: &Type| matches!(kind, Type::Number(_, i64::MAX) | Type::Rate);
    property.access == Access::ReadOnly
        && match property.kind {
            Type::Pair(kind) => is_count(kind),
            kind => is_count(&kind),
        }
}

/// A counter's value for the eye: `15 577 081`, `463.3Mbps`; `None` of what is no counter.
pub(crate) fn counted(property: &Property, value: &Value) -> Option<String> {
    fn text(value: &Value) -> Option<String> {
        match value {
            Value::Number(number) => Some(number::signed_count(*number)),
            Value::Rate(rate) => Some(number::rate(*rate)),
            Value::Pair(up, down) => Some(format!("{}/{}", text(up)?, text(down)?)),
            _ => None,
        }
    }
    is_counter(property).then(|| text(value)).flatten()
}

fn is_text(property: &Property) -> bool {
    property.kind.is_free_text()
}
