//! `print`: items and settings for the eye.
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
//! Printing gives the items the numbers that later commands of the session mean.
//!
//! **Missing**: `interval=`, `follow`, `file=`.

use crate::export::shown;
use crate::find::Condition;
use crate::line::Operator;
use crate::number;
use crate::parse::pick;
use crate::run::{Line, Run};
use crate::status::around;
use crate::{Access, Error, Item, Menu, MenuKind, Property, Reply, Type, Value};
use std::fmt::Write as _;

/// Of the terminal.
const WIDTH: usize = 80;
/// Wider cells are cut, with three dots.
const MAX_CELL: usize = 40;

#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Brief,
    Detail,
    Terse,
    ValueList,
    Stats,
    AsValue,
    CountOnly,
}

/// Which properties a run shows.
#[derive(Clone, Copy)]
enum Shown {
    All,
    /// All but counters.
    Settings,
    /// The counters, and what tells items apart.
    Stats,
}

impl Run<'_> {
    /// `print [layout] [from=items] [where conditions]`.
    pub(crate) fn print(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
        const LAYOUTS: [(&str, Layout); 8] = [
            ("brief", Layout::Brief),
            ("detail", Layout::Detail),
            ("terse", Layout::Terse),
            ("value-list", Layout::ValueList),
            ("stats", Layout::Stats),
            ("as-value", Layout::AsValue),
            ("count-only", Layout::CountOnly),
            ("without-paging", Layout::Brief),
        ];
        const MISSING: [&str; 5] = ["append", "file", "follow", "follow-only", "interval"];
        let mut layout = Layout::Brief;
        let mut from = None;
        let mut conditions = Vec::new();
        let mut words = line.words.iter();
        while let Some(word) = words.next() {
            let name = word.name.as_ref().map(|(name, _)| name.as_str()).or(word.plain());
            match (&word.name, name) {
                (_, Some(name)) if MISSING.contains(&name) => {
                    return Err(Error::missing(word.at, format!("print {name}")));
                }
                (Some((name, Operator::Equal)), _) if name == "from" && menu.is_list() => {
                    from = Some(self.select(menu, word, line.path)?);
                    continue;
                }
                (None, Some("where")) if menu.is_list() => {
                    conditions = self.conditions(menu, words.as_slice(), line.path)?;
                    break;
                }
                (None, Some("without-paging")) => continue,
                _ => {}
            }
            let names = LAYOUTS.iter().map(|(name, _)| *name);
            let flag = word.plain().and_then(|flag| pick(names.clone(), flag).ok());
            let found = flag.and_then(|flag| LAYOUTS.iter().find(|(name, _)| *name == flag));
            let names: Vec<&str> = names.chain(["where", "from"]).collect();
            let help = || format!("parameters are {}", names.join(", "));
            layout = found.ok_or_else(|| Error::end_of_command(word.at).help(help()))?.1;
        }
        if !menu.is_list() {
            return Ok(self.print_settings(menu, layout));
        }
        let items = self.chosen(menu, from.as_deref(), &conditions);
        match layout {
            Layout::CountOnly => {
                let _ = writeln!(self.text, "{}", items.len());
                return Ok(Reply::Text(items.len().to_string()));
            }
            Layout::AsValue => {
                let text: Vec<String> =
                    items.iter().map(|item| self.as_value(menu, item)).collect();
                let text = text.join(";");
                let _ = writeln!(self.text, "{text}");
                return Ok(Reply::Text(text));
            }
            _ => {}
        }
        self.numbers.insert(menu.path, items.iter().map(|item| item.id).collect());
        let columns = columns(menu, layout);
        let text = match layout {
            Layout::Terse => self.terse(menu, &items),
            Layout::ValueList => self.value_list(menu, &items),
            Layout::Brief | Layout::Stats if !columns.is_empty() => {
                self.table(menu, &items, &columns)
            }
            Layout::Stats => self.runs(menu, &items, Shown::Stats),
            Layout::Detail => self.runs(menu, &items, Shown::All),
            _ => self.runs(menu, &items, Shown::Settings),
        };
        self.text += &text;
        Ok(Reply::Nothing)
    }

    fn chosen(
        &self,
        menu: &Menu,
        from: Option<&[crate::ItemId]>,
        conditions: &[Condition],
    ) -> Vec<Item> {
        let dynamic = self.status.dynamic(menu);
        let items = around(self.tree.items(menu.path), &dynamic);
        let items = items.filter(|item| from.is_none_or(|ids| ids.contains(&item.id)));
        items.filter(|item| self.holds(menu, item, conditions)).cloned().collect()
    }

    /// Right-aligned names, one per line.
    fn print_settings(&mut self, menu: &Menu, layout: Layout) -> Reply {
        let item = self.tree.settings(menu.path);
        let shown: Vec<(&str, String)> = properties(menu, true)
            .map(|property| {
                let value = self.value(menu, item, property.name);
                (property.name, value.map(|value| value.to_string()).unwrap_or_default())
            })
            .collect();
        if layout == Layout::AsValue {
            let pairs = shown.iter().map(|(name, value)| format!("{name}={value}"));
            let text = pairs.collect::<Vec<_>>().join(";");
            let _ = writeln!(self.text, "{text}");
            return Reply::Text(text);
        }
        let width = shown.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
        for (name, value) in shown {
            let _ = writeln!(self.text, "{}", format!("{name:>width$}: {value}").trim_end());
        }
        Reply::Nothing
    }

    /// `.id=*1;chain=forward;…`.
    fn as_value(&self, menu: &Menu, item: &Item) -> String {
        let mut text = format!(".id={}", item.id);
        for (property, value) in self.values(menu, item, Shown::All) {
            let _ = write!(text, ";{}={value}", property.name);
        }
        if !item.comment.is_empty() {
            let _ = write!(text, ";comment={}", item.comment);
        }
        text
    }

    /// What an item has values for, in the table's order. Flags stand in front instead.
    fn values(&self, menu: &Menu, item: &Item, which: Shown) -> Vec<(&'static Property, Value)> {
        let shown = |p: &&Property| {
            p.flag.is_none()
                && match which {
                    Shown::All => true,
                    Shown::Settings => !is_counter(p),
                    Shown::Stats => is_counter(p) || tells_apart(menu, p),
                }
        };
        let properties = properties(menu, true).filter(shown);
        let values = properties.filter_map(|p| Some((p, self.value(menu, Some(item), p.name)?)));
        values.collect()
    }

    fn pairs(&self, menu: &Menu, item: &Item, which: Shown) -> Vec<String> {
        let values = self.values(menu, item, which).into_iter();
        let pairs = values.map(|(p, value)| format!("{}={}", p.name, shown(&value, is_text(p))));
        pairs.collect()
    }

    fn flags(&self, menu: &Menu, item: &Item) -> String {
        let set = |name| self.value(menu, Some(item), name) == Some(Value::Bool(true));
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

    /// Number, flags and remarks of each item, then what `body` makes of it, indented alike.
    fn listing(
        &self,
        menu: &Menu,
        items: &[Item],
        min_flags: usize,
        mut body: impl FnMut(&Item, usize) -> Vec<String>,
    ) -> String {
        let mut text = String::new();
        let digits = items.len().saturating_sub(1).to_string().len().max(2);
        let flags: Vec<String> = items.iter().map(|item| self.flags(menu, item)).collect();
        let n_flags = flags.iter().map(String::len).max().unwrap_or(0).max(min_flags);
        let indent = digits + 1 + n_flags + 1;
        for (number, (item, flags)) in items.iter().zip(&flags).enumerate() {
            let mut lines = Vec::new();
            let remark = self.status.remark(menu, item);
            let comment = Some(&item.comment).filter(|comment| !comment.is_empty());
            lines.extend(comment.into_iter().chain(&remark).map(|remark| {
                // A line break in a comment would look like another item.
                format!(";;; {}", remark.replace(['\n', '\r'], " "))
            }));
            lines.extend(body(item, indent));
            for (i, line) in lines.iter().enumerate() {
                let start = match i {
                    0 => format!("{number:>digits$} {flags:n_flags$} "),
                    _ => " ".repeat(indent),
                };
                text += format!("{start}{line}").trim_end();
                text.push('\n');
            }
        }
        text
    }

    fn runs(&self, menu: &Menu, items: &[Item], which: Shown) -> String {
        let body = |item: &Item, indent: usize| {
            let mut lines = vec![String::new()];
            for pair in self.pairs(menu, item, which) {
                let line = lines
                    .last_mut()
                    .filter(|line| line.is_empty() || indent + line.len() + 1 + pair.len() < WIDTH);
                match line {
                    Some(line) if line.is_empty() => *line = pair,
                    Some(line) => *line += &format!(" {pair}"),
                    None => lines.push(pair),
                }
            }
            lines.push(String::new());
            lines
        };
        let text = self.listing(menu, items, 2, body);
        format!("{}{}\n", legend(menu), text.trim_end_matches('\n'))
    }

    /// One line per item, for `grep`.
    fn terse(&self, menu: &Menu, items: &[Item]) -> String {
        let mut text = String::new();
        for (number, item) in items.iter().enumerate() {
            let mut words = vec![format!("{number:>2}")];
            let flags = self.flags(menu, item).trim_end().to_string();
            words.extend(Some(flags).filter(|flags| !flags.is_empty()));
            if !item.comment.is_empty() {
                words.push(format!("comment={}", crate::line::quote(&item.comment)));
            }
            words.extend(self.pairs(menu, item, Shown::All));
            text += &(words.join(" ") + "\n");
        }
        text
    }

    fn value_list(&self, menu: &Menu, items: &[Item]) -> String {
        let mut text = String::new();
        for item in items {
            let values = self.values(menu, item, Shown::All);
            let width = values.iter().map(|(p, _)| p.name.len()).max().unwrap_or(0) + 2;
            for (property, value) in values {
                let _ = writeln!(text, "{:>width$}: {value}", property.name);
            }
            text.push('\n');
        }
        text
    }

    fn table(&self, menu: &Menu, items: &[Item], columns: &[&'static Property]) -> String {
        let cell = |item: &Item, property: &Property| {
            let value = self.value(menu, Some(item), property.name);
            let text = value.map_or(String::new(), |value| match value {
                Value::Number(number) if is_counter(property) => number::signed_count(number),
                value => value.to_string(),
            });
            if text.chars().count() <= MAX_CELL {
                return text;
            }
            text.chars().take(MAX_CELL - 3).chain("...".chars()).collect()
        };
        let rows: Vec<Vec<String>> =
            items.iter().map(|item| columns.iter().map(|p| cell(item, p)).collect()).collect();
        let widths: Vec<usize> = columns
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let cells = rows.iter().map(|row| row[i].chars().count());
                cells.chain([p.name.len()]).max().unwrap_or(0)
            })
            .collect();
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).zip(columns);
            let cells = cells.map(|((cell, width), property)| {
                if is_counter(property) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:width$}")
                }
            });
            cells.collect::<Vec<_>>().join(" ")
        };
        let mut next = rows.iter();
        let body = |_: &Item, _| vec![next.next().map(|row| line(row)).unwrap_or_default()];
        let listing = self.listing(menu, items, 1, body);
        // The title stands where the rows stand: behind the number and the widest flags.
        let digits = items.len().saturating_sub(1).to_string().len().max(2);
        let n_flags =
            items.iter().map(|item| self.flags(menu, item).len()).max().unwrap_or(0).max(1);
        let titles: Vec<String> = columns.iter().map(|p| p.name.to_uppercase()).collect();
        let title = format!("{:>digits$} {:n_flags$} {}", "#", "", line(&titles));
        format!("{}{}\n{listing}", legend(menu), title.trim_end())
    }
}

/// `Flags: X - disabled, D - dynamic `: the menu's flags, whether any item has them or not.
fn legend(menu: &Menu) -> String {
    let flags = flags(menu).into_iter();
    let flags: Vec<String> =
        flags.map(|Flag { letter, name, .. }| format!("{letter} - {name}")).collect();
    format!("Flags: {} \n", flags.join(", "))
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
    if matches!(menu.kind, MenuKind::List { fixed: true, .. }) {
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
fn properties(menu: &Menu, told: bool) -> impl Iterator<Item = &'static Property> {
    menu.properties.iter().filter(move |property| match property.access {
        Access::Optional | Access::Required => true,
        Access::ReadOnly => told,
        Access::Missing(_) => false,
    })
}

/// A menu's columns; of `stats`, what tells items apart and the counters.
fn columns(menu: &Menu, layout: Layout) -> Vec<&'static Property> {
    if layout != Layout::Stats {
        return properties(menu, true).filter(|property| property.column).collect();
    }
    let counters = menu.properties.iter().filter(|p| is_counter(p));
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

/// Whether it counts something: a number that nothing bounds, or a rate.
fn is_counter(property: &Property) -> bool {
    let is_count = |kind: &Type| matches!(kind, Type::Number(_, i64::MAX) | Type::Rate);
    property.access == Access::ReadOnly
        && match property.kind {
            Type::Pair(kind) => is_count(kind),
            kind => is_count(&kind),
        }
}

fn is_text(property: &Property) -> bool {
    property.kind.is_free_text()
}
