//! `print`: items and settings for the eye, a page at a time.
//!
//! ```text
//! options ─► page of rows (one look) ─► sheet (text) ─► out, and on to the next page
//! ```
//!
//! Printing gives the items the numbers that later commands of the session mean. How things look
//! stands in [`sheet`](crate::sheet).
//!
//! **Missing**: `interval=`, `follow`, `file=`.

use crate::find::Condition;
use crate::line::Operator;
use crate::parse::pick;
use crate::run::{Line, Run};
use crate::sheet::{FIRST_BLOCK, Layout, Row, Sheet, counted, properties};
use crate::view::Cursor;
use crate::{Error, ItemId, Menu, Property, Reply, Value};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// Rows whose numbers are remembered.
const MAX_NUMBERS: usize = 1 << 20;

/// What `print` was asked for.
struct Options {
    layout: Layout,
    from: Option<HashSet<ItemId>>,
    conditions: Vec<Condition>,
}

impl Run<'_> {
    /// `print [layout] [from=items] [where conditions]`.
    pub(crate) fn print(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
        let options = self.print_options(menu, line)?;
        self.settle()?;
        if !menu.is_list() {
            return Ok(self.print_settings(menu, options.layout));
        }
        match options.layout {
            Layout::CountOnly => {
                let mut count = 0;
                self.rows(menu, &options, &mut |_, rows| count += rows.len());
                self.print_text(format!("{count}\n"));
                Ok(Reply::Text(count.to_string()))
            }
            Layout::AsValue => {
                let mut text = Vec::new();
                self.rows(menu, &options, &mut |_, rows| {
                    text.extend(rows.iter().map(Row::as_value));
                });
                let text = text.join(";");
                self.print_text(format!("{text}\n"));
                Ok(Reply::Text(text))
            }
            _ => {
                let mut ids = Vec::new();
                self.rows(menu, &options, &mut |_, rows| {
                    let room = MAX_NUMBERS - ids.len();
                    ids.extend(rows.iter().take(room).map(|row| row.id));
                });
                self.numbers.insert(menu.path, Arc::new(ids));
                Ok(Reply::Nothing)
            }
        }
    }

    fn print_options(&mut self, menu: &'static Menu, line: Line) -> Result<Options, Error> {
        const LAYOUTS: [(&str, Layout); 9] = [
            ("brief", Layout::Brief),
            ("detail", Layout::Detail),
            ("terse", Layout::Terse),
            ("value-list", Layout::ValueList),
            ("stats", Layout::Stats),
            ("stats-detail", Layout::StatsDetail),
            ("as-value", Layout::AsValue),
            ("count-only", Layout::CountOnly),
            ("without-paging", Layout::Brief),
        ];
        const MISSING: [&str; 5] = ["append", "file", "follow", "follow-only", "interval"];
        let mut options = Options { layout: Layout::Brief, from: None, conditions: Vec::new() };
        let mut words = line.words.iter();
        while let Some(word) = words.next() {
            let name = word.name.as_ref().map(|(name, _)| name.as_str()).or(word.plain());
            match (&word.name, name) {
                (_, Some(name)) if MISSING.contains(&name) => {
                    return Err(Error::missing(word.at, format!("print {name}")));
                }
                (Some((name, Operator::Equal)), _) if name == "from" && menu.is_list() => {
                    let from = self.select(menu, word, line.path)?;
                    options.from = Some(from.into_iter().collect());
                    continue;
                }
                (None, Some("where")) if menu.is_list() => {
                    options.conditions = self.conditions(menu, words.as_slice(), line.path)?;
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
            options.layout = found.ok_or_else(|| Error::end_of_command(word.at).help(help()))?.1;
        }
        Ok(options)
    }

    /// Walks over the rows asked for, printing them if the layout is one for the eye; `seen` gets
    /// each page.
    fn rows(
        &mut self,
        menu: &'static Menu,
        options: &Options,
        seen: &mut dyn FnMut(&mut Self, &[Row]),
    ) {
        let mut sheet = Sheet::new(menu, options.layout, self.width);
        let shows = !matches!(options.layout, Layout::AsValue | Layout::CountOnly);
        let mut cursor = Cursor::default();
        // The widths are settled by a good many rows, but nobody waits for the last of them.
        let mut first = Some(Vec::new());
        while let Some(page) = self.page(menu, &mut cursor, true, |view, member, item| {
            let from = options.from.as_ref().is_none_or(|ids| ids.contains(&item.id));
            let shown = from && view.holds(menu, member, item, &options.conditions);
            shown.then(|| view.row(&sheet, member, item))
        }) {
            seen(self, &page);
            match &mut first {
                _ if !shows => {}
                Some(rows) => {
                    rows.extend(page);
                    if rows.len() >= FIRST_BLOCK {
                        let text = sheet.block(rows);
                        self.print_text(text);
                        first = None;
                    }
                }
                None => {
                    let text = sheet.block(&page);
                    self.print_text(text);
                }
            }
        }
        if let Some(rows) = first.filter(|_| shows) {
            let text = sheet.block(&rows);
            self.print_text(text);
        }
    }

    /// Right-aligned names, one per line.
    fn print_settings(&mut self, menu: &'static Menu, layout: Layout) -> Reply {
        let item = self.tree.settings(menu.path).cloned();
        let shown: Vec<(&str, String)> = self.look(|view| {
            let text = |property: &Property| {
                let value = view.value(menu, menu, item.as_ref(), property.name);
                let eye = |value: &Value| match layout {
                    Layout::AsValue => value.to_string(),
                    _ => counted(property, value).unwrap_or_else(|| value.to_string()),
                };
                value.as_ref().map(eye).unwrap_or_default()
            };
            properties(menu, true).map(|property| (property.name, text(property))).collect()
        });
        if layout == Layout::AsValue {
            let pairs = shown.iter().map(|(name, value)| format!("{name}={value}"));
            let text = pairs.collect::<Vec<_>>().join(";");
            self.print_text(format!("{text}\n"));
            return Reply::Text(text);
        }
        let width = shown.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
        let mut text = String::new();
        for (name, value) in shown {
            let _ = writeln!(text, "{}", format!("{name:>width$}: {value}").trim_end());
        }
        self.print_text(text);
        Reply::Nothing
    }
}
