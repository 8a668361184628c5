//! `print`: items and settings for the eye, a page at a time.
//!
//! ```text
//! options ─► page of rows (one look) ─► sheet (text) ─► out, and on to the next page
//! ```
//!
//! Printing gives the items the numbers that later commands of the session mean. How things look
//! stands in [`sheet`](crate::sheet).
//!
//! `follow` looks for changes every half second.

use crate::condition::Condition;
use crate::parse::pick;
use crate::run::{Line, Run};
use crate::script::data::Array;
use crate::script::{Datum, Operator};
use crate::sheet::{FIRST_BLOCK, Layout, Row, Sheet, counted, properties};
use crate::view::Cursor;
use crate::{At, Error, ItemId, Menu, Piece, Property, Type, Value};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Rows whose numbers are remembered.
const MAX_NUMBERS: usize = 1 << 20;

/// Between two looks for what has changed.
const FOLLOW: Duration = Duration::from_millis(500);
/// The shortest `interval=`.
const SHORTEST: Duration = Duration::from_millis(100);

/// What `print` was asked for.
struct Options {
    layout: Layout,
    from: Option<HashSet<ItemId>>,
    condition: Condition,
    /// Goes on printing what changes, from now on or from the beginning.
    follow: Option<Follow>,
    /// Prints all again and again.
    interval: Option<Duration>,
    /// Where the name of the file stands, and the name.
    file: Option<(At, String)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Follow {
    Only,
    All,
}

impl Run<'_> {
    /// `print [layout] [from=items] [where conditions]`.
    pub(crate) fn print(&mut self, menu: &'static Menu, line: Line) -> Result<Datum, Error> {
        let options = self.print_options(menu, line)?;
        self.settle()?;
        if let Some((at, name)) = &options.file {
            let (datum, text) = self.capture(|run| run.print_once(menu, &options, line))?;
            self.write(name, "txt", &text, *at)?;
            return Ok(datum);
        }
        if let Some(interval) = options.interval {
            loop {
                let (_, frame) = self.capture(|run| run.print_once(menu, &options, line))?;
                (self.out)(Piece::Frame(frame));
                self.pause(interval, line.at)?;
            }
        }
        if let Some(follow) = options.follow {
            return self.print_changes(menu, &options, follow, line);
        }
        self.print_once(menu, &options, line)
    }

    /// Prints items, and then those that are new or change (but for counters), until it is
    /// interrupted.
    fn print_changes(
        &mut self,
        menu: &'static Menu,
        options: &Options,
        follow: Follow,
        line: Line,
    ) -> Result<Datum, Error> {
        let mut sheet = Sheet::new(menu, options.layout, self.width);
        let mut before: Option<HashMap<ItemId, u64>> = None;
        loop {
            let (mut now, mut cursor) = (HashMap::new(), Cursor::default());
            while let Some(page) = self.page(menu, &mut cursor, true, |view, member, item| {
                let shown = view.holds(menu, member, item, &options.condition);
                shown.then(|| view.row(&sheet, member, item))
            }) {
                let is_news = |row: &Row| match &before {
                    None => follow == Follow::All,
                    Some(before) => before.get(&row.id) != Some(&row.fingerprint()),
                };
                now.extend(page.iter().map(|row| (row.id, row.fingerprint())));
                let news: Vec<Row> = page.into_iter().filter(is_news).collect();
                if !news.is_empty() {
                    let text = sheet.block(&news);
                    self.print_text(text);
                }
            }
            before = Some(now);
            self.pause(FOLLOW, line.at)?;
        }
    }

    fn print_once(
        &mut self,
        menu: &'static Menu,
        options: &Options,
        line: Line,
    ) -> Result<Datum, Error> {
        if !menu.is_list() {
            return self.print_settings(menu, options.layout, line);
        }
        match options.layout {
            Layout::CountOnly => {
                let mut count = 0;
                self.rows(menu, options, &mut |_, rows| count += rows.len());
                self.print_datum(Datum::Number(count as i64))
            }
            Layout::AsValue => {
                let mut items = Vec::new();
                self.rows(menu, options, &mut |_, rows| {
                    items.extend(rows.iter().map(Row::as_value));
                });
                let items: Result<Vec<Datum>, _> = items.into_iter().map(Array::keyed).collect();
                let array = items.and_then(Array::of);
                let array = array.map_err(|_| Error::new(line.at, "value is too large"))?;
                self.print_datum(array)
            }
            _ => {
                let mut ids = Vec::new();
                self.rows(menu, options, &mut |_, rows| {
                    let room = MAX_NUMBERS - ids.len();
                    ids.extend(rows.iter().take(room).map(|row| row.id));
                });
                self.numbers.insert(menu.path, Arc::new(ids));
                Ok(Datum::Nothing)
            }
        }
    }

    /// Prints a value, unless somebody asks for it.
    fn print_datum(&mut self, datum: Datum) -> Result<Datum, Error> {
        if !self.in_bracket {
            self.print_text(format!("{datum}\n"));
        }
        Ok(datum)
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
        let mut options = Options {
            layout: Layout::Brief,
            from: None,
            condition: Condition::All(Vec::new()),
            follow: None,
            interval: None,
            file: None,
        };
        let mut words = line.words.iter();
        while let Some(word) = words.next() {
            let name = word.name.as_ref().map(|(name, _)| name.as_str()).or(word.plain());
            match (&word.name, name) {
                (Some((name, Operator::Equal)), _) if name == "file" => {
                    options.file = Some((word.value_at, self.text_of(word, line.path)?));
                    continue;
                }
                (Some((name, Operator::Equal)), _) if name == "interval" => {
                    let time = self.value_of(word, "interval", &Type::Time, line.path)?;
                    options.interval = match time {
                        Value::Time(time) => Some(time.max(SHORTEST)),
                        _ => None,
                    };
                    continue;
                }
                (None, Some("follow")) if menu.is_list() => {
                    options.follow = Some(Follow::All);
                    continue;
                }
                (None, Some("follow-only")) if menu.is_list() => {
                    options.follow = Some(Follow::Only);
                    continue;
                }
                (None, Some("append")) => return Err(Error::missing(word.at, "print append")),
                (Some((name, Operator::Equal)), _) if name == "from" && menu.is_list() => {
                    let from = self.select(menu, word, line.path)?;
                    options.from = Some(from.into_iter().collect());
                    continue;
                }
                (None, Some("where")) if menu.is_list() => {
                    options.condition = self.condition(menu, words.as_slice(), line.path)?;
                    break;
                }
                (None, Some("without-paging")) => continue,
                _ => {}
            }
            let names = LAYOUTS.iter().map(|(name, _)| *name);
            let flag = word.plain().and_then(|flag| pick(names.clone(), flag).ok());
            let found = flag.and_then(|flag| LAYOUTS.iter().find(|(name, _)| *name == flag));
            let names: Vec<&str> = names
                .chain(["where", "from", "interval", "follow", "follow-only", "file"])
                .collect();
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
            let shown = from && view.holds(menu, member, item, &options.condition);
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
    fn print_settings(
        &mut self,
        menu: &'static Menu,
        layout: Layout,
        line: Line,
    ) -> Result<Datum, Error> {
        let item = self.tree.settings(menu.path).cloned();
        let shown: Vec<(&Property, Option<Value>)> = self.look(|view| {
            let value = |name| view.value(menu, menu, item.as_ref(), name);
            properties(menu, true).map(|property| (property, value(property.name))).collect()
        });
        if layout == Layout::AsValue {
            let named = |(property, value): (&Property, Option<Value>)| {
                (Some(property.name.to_string()), value.map(Datum::from).unwrap_or_default())
            };
            let array = Array::keyed(shown.into_iter().map(named).collect());
            let array = array.map_err(|_| Error::new(line.at, "value is too large"))?;
            return self.print_datum(array);
        }
        let width = shown.iter().map(|(property, _)| property.name.len()).max().unwrap_or(0) + 2;
        let mut text = String::new();
        for (property, value) in shown {
            let name = property.name;
            let eye = |value: Value| counted(property, &value).unwrap_or(value.to_string());
            let value = value.map(eye).unwrap_or_default();
            let _ = writeln!(text, "{}", format!("{name:>width$}: {value}").trim_end());
        }
        self.print_text(text);
        Ok(Datum::Nothing)
    }
}
