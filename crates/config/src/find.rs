//! Selectors of items (`0,1`, `ether1`, `*2`, `[find …]`), and the results of `find` and `get`.

use crate::condition::{Condition, field};
use crate::error::{WORD, choices, shortened};
use crate::parse::pick;
use crate::run::{Line, Run, mismatch};
use crate::script::data::Array;
use crate::script::{Datum, Operator, Part, Word};
use crate::view::{Cursor, is_told};
use crate::{Error, ItemId, Menu, Mismatch, Type, Value};

impl Run<'_> {
    /// `find [where] conditions`.
    pub(crate) fn find(&mut self, menu: &'static Menu, line: Line) -> Result<Datum, Error> {
        let words = match line.words {
            [word, rest @ ..] if word.plain() == Some("where") => rest,
            words => words,
        };
        let condition = self.condition(menu, words, line.path)?;
        let told = self.told(menu, &condition)?;
        let (mut found, mut cursor) = (Vec::new(), Cursor::default());
        while let Some(page) = self.page(menu, &mut cursor, told, |view, member, item| {
            view.holds(menu, member, item, &condition).then_some(item.id)
        }) {
            found.extend(page);
        }
        let found = Array::of(found.into_iter().map(Datum::Id));
        found.map_err(|_| Error::new(line.at, "value is too large"))
    }

    /// Whether a condition asks what only the running device knows; if so, what was changed
    /// takes effect first.
    pub(crate) fn told(
        &mut self,
        menu: &'static Menu,
        condition: &Condition,
    ) -> Result<bool, Error> {
        let told = condition.asks(&|name| is_told(self.language, menu, name));
        if told {
            self.settle()?;
        }
        Ok(told)
    }

    /// `get item property`, in settings `get property`.
    pub(crate) fn get(&mut self, menu: &'static Menu, line: Line) -> Result<Datum, Error> {
        let mut selector = None;
        let mut wanted = None;
        for word in line.words {
            match &word.name {
                Some((name, Operator::Equal)) if name == "value-name" => wanted = Some(word),
                Some((name, Operator::Equal)) if name == "number" => selector = Some(word),
                None if menu.is_list() && selector.is_none() => selector = Some(word),
                None if wanted.is_none() => wanted = Some(word),
                _ => return Err(Error::end_of_command(word.at)),
            }
        }
        let item = match selector {
            Some(word) => match self.select(menu, word, line.path)?.as_slice() {
                [id] => Some(*id),
                _ => return Err(Error::new(word.at, "no such item")),
            },
            None if menu.is_list() => {
                return Err(Error::new(line.at, "missing value(s) of argument(s) number"));
            }
            None => None,
        };
        let Some(word) = wanted else {
            return Err(Error::new(line.at, "missing value(s) of argument(s) value-name"));
        };
        let name = self.text_of(word, line.path)?;
        let (name, _) = field(menu, &name)
            .map_err(|why| mismatch("value-name", &Type::Text, &name, why, word.value_at))?;
        let (member, item) = match item {
            Some(id) => {
                let found = self.item(menu, id);
                let (member, item) = found.ok_or_else(|| Error::new(line.at, "no such item"))?;
                (member, Some(item))
            }
            None => (menu, self.tree.settings(menu.path).cloned()),
        };
        let typed = item.as_ref().is_some_and(|item| item.get(name).is_some());
        if !typed && is_told(self.language, menu, name) {
            self.settle()?;
        }
        let value = self.look(|view| view.value(menu, member, item.as_ref(), name));
        Ok(value.map(Datum::from).unwrap_or_default())
    }

    /// The items a selector names, each once, in the order named.
    pub(crate) fn select(
        &mut self,
        menu: &'static Menu,
        word: &Word,
        path: &'static str,
    ) -> Result<Vec<ItemId>, Error> {
        let no_such = || Error::new(word.value_at, "no such item");
        let mut ids: Vec<ItemId> = Vec::new();
        for part in &word.value {
            match part {
                Part::Plain(text) => self.several(menu, text, word, &mut ids)?,
                Part::Quoted(name) if name.is_empty() => {}
                Part::Quoted(name) => ids.push(self.one(menu, name, word)?),
                part => {
                    let datum = self.part(part, path)?;
                    self.selected_by(menu, &datum, word, &mut ids)?;
                }
            }
        }
        let mut seen = std::collections::HashSet::new();
        ids.retain(|id| seen.insert(*id));
        // `[ ]` may have found its items in another menu.
        if self.are_here(menu, &ids) { Ok(ids) } else { Err(no_such()) }
    }

    /// Names, numbers and identities with commas between them.
    fn several(
        &mut self,
        menu: &'static Menu,
        text: &str,
        word: &Word,
        ids: &mut Vec<ItemId>,
    ) -> Result<(), Error> {
        // `0,[find …]` leaves an empty name beside the comma.
        for name in text.split(',').filter(|name| !name.is_empty()) {
            ids.push(self.one(menu, name, word)?);
        }
        Ok(())
    }

    /// The items that a value means.
    fn selected_by(
        &mut self,
        menu: &'static Menu,
        datum: &Datum,
        word: &Word,
        ids: &mut Vec<ItemId>,
    ) -> Result<(), Error> {
        match datum {
            Datum::Nothing | Datum::Nil => Ok(()),
            Datum::Id(id) => {
                ids.push(*id);
                Ok(())
            }
            Datum::Array(array) => {
                let elements = &array.elements;
                elements.iter().try_for_each(|(_, datum)| self.selected_by(menu, datum, word, ids))
            }
            // A name may hold a comma.
            Datum::Text(name) if self.named(menu, name).is_none() => {
                self.several(menu, name, word, ids)
            }
            datum => {
                ids.push(self.one(menu, &datum.to_string(), word)?);
                Ok(())
            }
        }
    }

    /// The item that a RouterOS begins with has numbers there that exports name: `*0` is the first, `*FFFFFFFE`
    /// the one behind it. Items typed here never have these.
    fn of_the_factory(&self, menu: &'static Menu, id: ItemId) -> Option<ItemId> {
        let place = match id {
            ItemId(0) => 0,
            ItemId(0xffff_fffe) => 1,
            _ => return None,
        };
        let items = self.tree.items(menu.path).iter();
        let mut items = items.filter(|item| item.get("default") == Some(&Value::Bool(true)));
        items.nth(place).map(|item| item.id)
    }

    /// The item of this number, `*ID` or name.
    fn one(&mut self, menu: &'static Menu, typed: &str, word: &Word) -> Result<ItemId, Error> {
        let no_such = || Error::new(word.value_at, "no such item");
        if typed.starts_with('*') {
            let id = ItemId::parse(typed).ok_or_else(no_such)?;
            return Ok(self.of_the_factory(menu, id).unwrap_or(id));
        }
        if typed.bytes().all(|b| b.is_ascii_digit()) {
            let number = typed.parse::<usize>().map_err(|_| no_such())?;
            let id = match self.numbers.get(menu.path) {
                Some(printed) => printed.get(number).copied(),
                None => self.nth(menu, number),
            };
            return id.ok_or_else(no_such);
        }
        if let Some(id) = self.named(menu, typed) {
            return Ok(id);
        }
        if menu.key().is_none() {
            return Err(no_such());
        }
        let names = self.names(menu);
        match pick(names.iter().map(String::as_str), typed) {
            Ok(name) => self.named(menu, name).ok_or_else(no_such),
            Err(Mismatch::Ambiguous(words)) => {
                let why = Mismatch::Ambiguous(words);
                Err(mismatch("numbers", &Type::Text, typed, why, word.value_at))
            }
            Err(_) => {
                let (path, typed) = (menu.path, shortened(typed, WORD));
                let help = match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                    [] => format!("{path} has no entry {typed} on this device, and no other"),
                    names => choices(&typed, names),
                };
                Err(no_such().help(help))
            }
        }
    }
}
