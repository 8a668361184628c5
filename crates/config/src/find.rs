//! Which items a selector (`0,1`, `ether1`, `*2`, `[find …]`) or a condition
//! (`chain=input !disabled comment~"^temp"`) means.

use crate::line::{Operator, Part, Word};
use crate::parse::pick;
use crate::pattern::Pattern;
use crate::run::{Line, Run, mismatch};
use crate::view::{Cursor, View, is_told};
use crate::{Access, AnyName, Error, Item, ItemId, Menu, Mismatch, Reply, Type, Value};

/// One condition; several are and-ed.
pub(crate) struct Condition {
    name: &'static str,
    kind: Type,
    test: Test,
}

enum Test {
    /// `disabled`, `!disabled`.
    Flag(bool),
    /// `chain=input`: the value, if the text is one, and the text.
    Compare(Operator, Option<Value>, String),
    /// `comment~"^temp"`.
    Matches(Pattern),
}

impl Run<'_> {
    /// `find [where] conditions`.
    pub(crate) fn find(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
        let words = match line.words {
            [word, rest @ ..] if word.plain() == Some("where") => rest,
            words => words,
        };
        let conditions = self.conditions(menu, words, line.path)?;
        let told = self.told(menu, &conditions)?;
        let (mut found, mut cursor) = (Vec::new(), Cursor::default());
        while let Some(page) = self.page(menu, &mut cursor, told, |view, member, item| {
            view.holds(menu, member, item, &conditions).then_some(item.id)
        }) {
            found.extend(page);
        }
        Ok(Reply::Items(found))
    }

    /// Whether these conditions ask what only the running device knows; if so, what was changed
    /// takes effect first.
    pub(crate) fn told(
        &mut self,
        menu: &'static Menu,
        conditions: &[Condition],
    ) -> Result<bool, Error> {
        let told = conditions.iter().any(|c| is_told(self.language, menu, c.name));
        if told {
            self.settle()?;
        }
        Ok(told)
    }

    /// `get item property`, in settings `get property`.
    pub(crate) fn get(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
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
        Ok(Reply::Text(value.map(|value| value.to_string()).unwrap_or_default()))
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
                Part::Plain(text) => {
                    // `0,[find …]` leaves an empty name beside the comma.
                    for name in text.split(',').filter(|name| !name.is_empty()) {
                        ids.push(self.one(menu, name, word)?);
                    }
                }
                Part::Quoted(name) if name.is_empty() => {}
                Part::Quoted(name) => ids.push(self.one(menu, name, word)?),
                Part::Command(inner) => match self.bracket(inner, path)? {
                    Reply::Items(found) => ids.extend(found),
                    Reply::Text(name) => ids.push(self.one(menu, &name, word)?),
                    Reply::Nothing => {}
                },
            }
        }
        let mut seen = std::collections::HashSet::new();
        ids.retain(|id| seen.insert(*id));
        // `[ ]` may have found its items in another menu.
        if self.are_here(menu, &ids) { Ok(ids) } else { Err(no_such()) }
    }

    /// The item of this number, `*ID` or name.
    fn one(&mut self, menu: &'static Menu, typed: &str, word: &Word) -> Result<ItemId, Error> {
        let no_such = || Error::new(word.value_at, "no such item");
        if let Some(hex) = typed.strip_prefix('*') {
            let id = u32::from_str_radix(hex, 16).map(ItemId).map_err(|_| no_such())?;
            return Ok(id);
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
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                Err(no_such().help(crate::error::choices(typed, &names)))
            }
        }
    }

    /// Reads conditions; they stand at the end of a line.
    pub(crate) fn conditions(
        &mut self,
        menu: &'static Menu,
        words: &[Word],
        path: &'static str,
    ) -> Result<Vec<Condition>, Error> {
        let mut conditions = Vec::new();
        for word in words {
            let unknown = |why, name: &str| match why {
                Mismatch::NoMatch(words) => {
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    let help =
                        format!("conditions are about {}", crate::error::choices(name, &words));
                    Error::end_of_command(word.at).help(help)
                }
                why => mismatch("condition", &Type::Text, name, why, word.at),
            };
            let Some((name, operator)) = &word.name else {
                let flag = word.plain().ok_or_else(|| Error::end_of_command(word.at))?;
                match flag {
                    "and" | "&&" => continue,
                    "or" | "||" | "in" => {
                        return Err(Error::missing(word.at, "expressions with or"));
                    }
                    _ => {}
                }
                let name = flag.strip_prefix('!').unwrap_or(flag);
                let (name, kind) = field(menu, name).map_err(|why| unknown(why, name))?;
                conditions.push(Condition { name, kind, test: Test::Flag(!flag.starts_with('!')) });
                continue;
            };
            let (name, kind) = field(menu, name).map_err(|why| unknown(why, name))?;
            let text = self.text_of(word, path)?;
            if *operator == Operator::Matches {
                let pattern = Pattern::new(&text);
                let pattern = pattern.map_err(|why| Error::syntax(word.value_at, why))?;
                conditions.push(Condition { name, kind, test: Test::Matches(pattern) });
                continue;
            }
            let value = kind.parse(&text, &AnyName).ok();
            conditions.push(Condition { name, kind, test: Test::Compare(*operator, value, text) });
        }
        Ok(conditions)
    }
}

impl View<'_> {
    pub(crate) fn holds(
        &self,
        menu: &Menu,
        member: &Menu,
        item: &Item,
        conditions: &[Condition],
    ) -> bool {
        conditions.iter().all(|condition| {
            let value = self.value(menu, member, Some(item), condition.name);
            match &condition.test {
                Test::Flag(wanted) => {
                    let set = match value {
                        Some(Value::Bool(value)) => value,
                        Some(value) => value.to_string() != "",
                        None => false,
                    };
                    set == *wanted
                }
                Test::Matches(pattern) => {
                    pattern.matches(&value.map(|value| value.to_string()).unwrap_or_default())
                }
                Test::Compare(operator, typed, text) => {
                    compare(value.as_ref(), *operator, typed.as_ref(), text, &condition.kind)
                }
            }
        })
    }
}

/// What conditions and `get` can name.
pub(crate) fn field(menu: &'static Menu, typed: &str) -> Result<(&'static str, Type), Mismatch> {
    const BUILT_IN: [(&str, Type); 4] = [
        ("comment", Type::Text),
        ("disabled", Type::Bool),
        ("dynamic", Type::Bool),
        (".id", Type::Text),
    ];
    let built_in = BUILT_IN.iter().filter(|_| menu.is_list());
    let theirs =
        menu.properties.iter().filter(|p| !matches!(p.access, Access::Secret | Access::Missing(_)));
    let theirs = theirs.map(|property| (property.name, property.kind));
    let fields: Vec<(&'static str, Type)> = built_in.copied().chain(theirs).collect();
    let name = pick(fields.iter().map(|(name, _)| *name), typed)?;
    fields.into_iter().find(|field| field.0 == name).ok_or(Mismatch::NoMatch(Vec::new()))
}

pub(crate) fn compare(
    value: Option<&Value>,
    operator: Operator,
    typed: Option<&Value>,
    text: &str,
    kind: &Type,
) -> bool {
    let equal = || match (value, typed) {
        (Some(value), Some(typed)) => value == typed,
        (Some(value), None) => value.to_string() == text,
        (None, _) => text.is_empty(),
    };
    let order = || {
        let value = value?;
        let typed = typed.cloned().or_else(|| kind.parse(text, &AnyName).ok())?;
        match (magnitude(value), magnitude(&typed)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => Some(value.to_string().cmp(&typed.to_string())),
        }
    };
    match operator {
        Operator::Equal => equal(),
        Operator::NotEqual => !equal(),
        Operator::Less => order().is_some_and(std::cmp::Ordering::is_lt),
        Operator::Greater => order().is_some_and(std::cmp::Ordering::is_gt),
        Operator::LessEqual => order().is_some_and(std::cmp::Ordering::is_le),
        Operator::GreaterEqual => order().is_some_and(std::cmp::Ordering::is_ge),
        Operator::Matches => false,
    }
}

/// What `<` and `>` compare.
fn magnitude(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Number(number) => (*number).into(),
        Value::Rate(rate) => (*rate).into(),
        Value::Numbers(low, _) => (*low).into(),
        Value::Time(time) => time.as_micros() as i128,
        Value::Address(address) => u32::from(*address).into(),
        _ => return None,
    })
}
