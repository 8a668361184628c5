//! API commands: what a program says in attributes, and gets in records.
//!
//! ```text
//! /ip/firewall/filter/print  =.proplist=.id,chain  ?disabled=false
//! └──── walk, exactly ────┘   └─ attributes ───┘   └ queries ────┘
//!        └─► the same commands as scripts run ─► records: .id chain … as exact values
//! ```
//!
//! Names are not abbreviated here, values are written without units and blanks, and errors say no
//! line (`routeros/A-script.md`, A.6). Sentences, tags and logins are the server's business.
//!
//! What goes on (`listen`, `=follow=`) stands in `follow.rs`.

use crate::arguments::Slot;
use crate::follow::{Follow, Wanted};
use crate::language::{Choice, Verb};
use crate::query::Query;
use crate::run::{Line, Run};
use crate::script::{Datum, Operator, Part, Word};
use crate::sheet::properties;
use crate::view::Cursor;
use crate::{At, Command, Error, Host, How, Item, ItemId, Menu, Reply, Session, Unnamed, Value};
use std::collections::HashSet;

/// One API command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The path and the command: `/ip/address/print`.
    pub command: String,
    /// `=name=value` words, `.proplist` among them.
    pub attributes: Vec<(String, String)>,
    /// `?` words, without the question mark.
    pub queries: Vec<String>,
}

/// Why an API command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// 0 missing item or command, 1 argument value, 2 interrupted.
    pub category: Option<u8>,
    /// RouterOS's words.
    pub message: String,
}

/// Named values, as a program gets them.
pub(crate) type Fields = Vec<(String, String)>;

impl Request {
    /// A command without attributes.
    pub fn new(command: impl Into<String>) -> Request {
        Request { command: command.into(), ..Request::default() }
    }

    /// With a further attribute.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Request {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// With a further query word, without the question mark.
    pub fn query(mut self, word: impl Into<String>) -> Request {
        self.queries.push(word.into());
        self
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

impl Trap {
    pub(crate) fn new(category: Option<u8>, message: impl Into<String>) -> Trap {
        Trap { category, message: message.into() }
    }

    fn unknown(parameter: &str) -> Trap {
        Trap::new(None, format!("unknown parameter {parameter}"))
    }
}

impl std::fmt::Display for Trap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Trap {}

impl From<Error> for Trap {
    fn from(error: Error) -> Trap {
        let text = match error.text.find(" (line ") {
            Some(place) => &error.text[..place],
            None => &error.text,
        };
        let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
        match text {
            "no such item" => Trap::new(Some(0), "no such item (4)"),
            "interrupted" => Trap::new(Some(2), text),
            "expected end of command" => Trap::new(None, "unknown parameter"),
            _ if begins(&["bad command name", "expected command name"]) => {
                Trap::new(Some(0), "no such command")
            }
            _ if begins(&[
                "input does",
                "invalid ",
                "value of ",
                "ambiguous ",
                "missing value",
            ]) =>
            {
                Trap::new(Some(1), text)
            }
            _ => Trap::new(None, text),
        }
    }
}

impl Session {
    /// Runs one API command; `out` gets its records.
    ///
    /// # Errors
    /// Why it was refused; what it would have changed is as it was.
    pub fn execute(
        &mut self,
        request: &Request,
        host: &mut dyn Host,
        out: &mut dyn FnMut(Vec<(String, String)>),
    ) -> Result<Reply, Trap> {
        let (path, verb) = self.find_command(&request.command)?;
        let session = Session::new(self.language.clone());
        let mut unseen = |_| {};
        let mut run = Run::new(&session, How::Typed, host, &mut unseen);
        let mut trap = None;
        let result = run.whole(|run| {
            run.request(path, verb, request, out).map_err(|why| {
                let error = Error::new(At::default(), why.message.clone());
                trap = Some(why);
                error
            })
        });
        result.map_err(|error| trap.unwrap_or_else(|| error.into()))
    }

    fn find_command(&self, command: &str) -> Result<(&'static str, Verb), Trap> {
        let prefix = || Trap::new(Some(0), "no such command prefix");
        let mut path = "";
        let mut steps = command.strip_prefix('/').ok_or_else(prefix)?.split('/').peekable();
        while let Some(step) = steps.next() {
            let last = steps.peek().is_none();
            match self.language.choices(path).get(step) {
                Some(Choice::Menu(deeper)) if !last => path = deeper,
                Some(Choice::Verb(verb)) if last => return Ok((path, *verb)),
                None if last && ["getall", "listen"].contains(&step) => {
                    let print = self.language.choices(path).get("print");
                    if let Some(Choice::Verb(print)) = print {
                        return Ok((path, *print));
                    }
                }
                _ if last => break,
                _ => return Err(prefix()),
            }
        }
        Err(Trap::new(Some(0), "no such command"))
    }
}

impl Run<'_> {
    fn request(
        &mut self,
        path: &'static str,
        verb: Verb,
        request: &Request,
        out: &mut dyn FnMut(Fields),
    ) -> Result<Reply, Trap> {
        let menu = self.language.menu(path);
        match (verb, menu) {
            (Verb::Device(command), _) => self.device_request(path, command, request, out),
            (Verb::Print, Some(menu)) => self.print_request(menu, request, out),
            (Verb::Find, Some(menu)) => {
                let query = Query::new(menu, &request.queries)?;
                known(request, &[])?;
                let mut ids = Vec::new();
                self.matching(menu, &query, None, &mut |_, id, _| ids.push(id), None)?;
                Ok(Reply::Items(ids))
            }
            (Verb::Export, _) | (_, None) => Err(Trap::new(Some(0), "no such command")),
            (_, Some(menu)) => {
                let words = words(menu, verb, request)?;
                let line = Line { path, at: At::default(), words: &words };
                Ok(match self.command(verb, line)? {
                    list @ Datum::Array(_) if matches!(verb, Verb::Get) => {
                        Reply::Text(list.argument())
                    }
                    datum => datum.into_reply(),
                })
            }
        }
    }

    /// `print`, `getall` and `listen`.
    fn print_request(
        &mut self,
        menu: &'static Menu,
        request: &Request,
        out: &mut dyn FnMut(Fields),
    ) -> Result<Reply, Trap> {
        const FOLLOW: [&str; 3] = ["follow", "follow-only", "interval"];
        let listens = request.command.ends_with("/listen").then_some(Follow::Changes);
        let attributes = request.attributes.iter();
        let follow = attributes.filter_map(|(name, value)| Follow::of(name, value).transpose());
        let follow = listens.map(Ok).into_iter().chain(follow).next().transpose()?;
        // The layouts are for the eye: a program always gets all.
        const LAYOUTS: [&str; 9] = [
            "brief",
            "detail",
            "stats",
            "stats-detail",
            "terse",
            "value-list",
            "as-value",
            "without-paging",
            "where",
        ];
        known(request, &[&LAYOUTS[..], &FOLLOW, &["count-only", "from", ".proplist"]].concat())?;
        let query = Query::new(menu, &request.queries)?;
        let mut from = None;
        if let Some(numbers) = request.attribute("from").filter(|_| menu.is_list()) {
            let ids = self.select(menu, &bare(numbers), menu.path)?;
            from = Some(ids.into_iter().collect::<HashSet<_>>());
        }
        let wanted = wanted(request);
        if request.attribute("count-only").is_some() {
            let mut count = 0;
            self.matching(menu, &query, from.as_ref(), &mut |_, _, _| count += 1, None)?;
            return Ok(Reply::Text(count.to_string()));
        }
        if let Some(follow) = follow {
            let (names, from) = (wanted.as_deref(), from.as_ref());
            return self.follow(follow, &Wanted { menu, query: &query, from, names }, out);
        }
        let wanted = Some(wanted.as_deref());
        self.matching(menu, &query, from.as_ref(), &mut |_, _, fields| out(fields), wanted)?;
        Ok(Reply::Nothing)
    }

    /// Walks over the items, or the settings, that a query means. `fields` says which values are
    /// wanted: none, all (`Some(None)`) or those of these names.
    pub(crate) fn matching(
        &mut self,
        menu: &'static Menu,
        query: &Query,
        from: Option<&HashSet<ItemId>>,
        each: &mut dyn FnMut(&mut Self, ItemId, Fields),
        fields: Option<Option<&[String]>>,
    ) -> Result<(), Trap> {
        self.settle()?;
        if !menu.is_list() {
            let item = self.tree.settings(menu.path).cloned();
            let fields = self.look(|view| {
                let value = |name: &str| view.value(menu, menu, item.as_ref(), name);
                query.holds(value).then(|| read(menu, fields, None, value))
            });
            if let Some(fields) = fields {
                each(self, ItemId(0), fields);
            }
            return Ok(());
        }
        let mut cursor = Cursor::default();
        while let Some(page) = self.page(menu, &mut cursor, true, |view, member, item| {
            let value = |name: &str| view.value(menu, member, Some(item), name);
            let shown = from.is_none_or(|ids| ids.contains(&item.id)) && query.holds(value);
            shown.then(|| (item.id, read(menu, fields, Some(item), value)))
        }) {
            for (id, fields) in page {
                each(self, id, fields);
            }
        }
        Ok(())
    }

    fn device_request(
        &mut self,
        path: &'static str,
        command: &'static Command,
        request: &Request,
        out: &mut dyn FnMut(Fields),
    ) -> Result<Reply, Trap> {
        let mut words = Vec::new();
        for (name, value) in &request.attributes {
            let is_selector = matches!(name.as_str(), ".id" | "numbers");
            let parameter = command.parameters.iter().find(|parameter| parameter.name == name);
            if is_selector && command.unnamed == Unnamed::Items {
                words.push(bare(value));
            } else if let Some(parameter) = parameter {
                // A flag is said by its name: `=once=`.
                let flag = value.is_empty() && parameter.kind.is_bool();
                words.push(word(name, if flag { "yes" } else { value }));
            } else if name != ".proplist" {
                return Err(Trap::unknown(name));
            }
        }
        let line = Line { path, at: At::default(), words: &words };
        let menu = self.language.menu(path);
        let call = self.device(command, menu, line)?;
        let wanted = wanted(request);
        let redrawn = matches!(command.display, crate::Display::Redraw(_));
        let mut section = 0;
        let reply = self.poll(&call, At::default(), &mut |_, records, _| {
            for record in records {
                let mut fields = Fields::new();
                for (name, value) in &record.0 {
                    if wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|it| it == name)) {
                        fields.push((name.to_string(), plain(value)));
                    }
                }
                if redrawn {
                    fields.push((".section".to_string(), section.to_string()));
                }
                out(fields);
            }
            section += usize::from(!records.is_empty());
        });
        Ok(reply?)
    }
}

/// What a program gets of an item.
fn read(
    menu: &'static Menu,
    fields: Option<Option<&[String]>>,
    item: Option<&Item>,
    value: impl Fn(&str) -> Option<Value>,
) -> Fields {
    let Some(wanted) = fields else { return Fields::new() };
    let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted.iter().any(|it| it == name));
    let own = properties(menu, true).map(|property| property.name);
    let own = own.filter(|name| !["disabled", "dynamic", "comment"].contains(name));
    let built_in = [".id"].into_iter().filter(|_| item.is_some());
    let state = ["dynamic", "disabled", "comment"].into_iter().filter(|name| match item {
        Some(item) => *name != "comment" || !item.comment.is_empty(),
        None => menu.property(name).is_some(),
    });
    let names = built_in.chain(own).chain(state).filter(|name| is_wanted(name));
    names.filter_map(|name| Some((name.to_string(), plain(&value(name)?)))).collect()
}

/// A value as programs get it: exact, without units and blanks.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Rate(rate) => rate.to_string(),
        Value::Pair(up, down) => format!("{}/{}", plain(up), plain(down)),
        Value::List(values) => values.iter().map(plain).collect::<Vec<_>>().join(","),
        Value::Not(value) => format!("!{}", plain(value)),
        value => value.to_string(),
    }
}

/// The names a `.proplist` asks for.
fn wanted(request: &Request) -> Option<Vec<String>> {
    let names = request.attribute(".proplist")?.split(',').filter(|name| !name.is_empty());
    Some(names.map(str::to_string).collect())
}

/// Refuses attributes that are none of these.
fn known(request: &Request, names: &[&str]) -> Result<(), Trap> {
    let unknown = request.attributes.iter().find(|(name, _)| !names.contains(&name.as_str()));
    unknown.map_or(Ok(()), |(name, _)| Err(Trap::unknown(name)))
}

/// The attributes of a command that changes items or asks for one, as a script would say them:
/// which items first.
fn words(menu: &'static Menu, verb: Verb, request: &Request) -> Result<Vec<Word>, Trap> {
    if !request.queries.is_empty() {
        return Err(Trap::new(None, "query is for print and find"));
    }
    let (mut items, mut words) = (Vec::new(), Vec::new());
    for (name, value) in &request.attributes {
        let selects = menu.is_list() && !matches!(verb, Verb::Add);
        let (name, extra) = match (name.as_str(), verb) {
            (".id" | "numbers" | "number", _) if selects => {
                if !items.is_empty() {
                    return Err(Trap::unknown(name));
                }
                items.push(bare(value));
                continue;
            }
            ("destination", Verb::Move) | ("value-name", Verb::Get | Verb::Unset) => (name, true),
            ("copy-from" | "place-before", Verb::Add) => (name, true),
            (_, Verb::Add | Verb::Set) => (name, false),
            ("comment", Verb::Comment) => (name, false),
            _ => return Err(Trap::unknown(name)),
        };
        let slots = crate::arguments::slots(menu, &[]);
        // `=!name=` unsets, as `!name` does in a script.
        let unset = name.strip_prefix('!').filter(|_| !extra);
        if !extra && !slots.contains_key(unset.unwrap_or(name)) {
            return Err(Trap::unknown(name));
        }
        if unset.is_some() {
            words.push(bare(name));
            continue;
        }
        let empty_flag =
            value.is_empty() && matches!(slots.get(name.as_str()), Some(Slot::Disabled));
        words.push(word(name, if empty_flag { "yes" } else { value }));
    }
    items.extend(words);
    Ok(items)
}

fn word(name: &str, value: &str) -> Word {
    let at = At::default();
    let selects = ["destination", "copy-from", "place-before"].contains(&name);
    let text = value.to_string();
    let value = if selects { Part::Plain(text) } else { Part::Quoted(text) };
    Word { at, name: Some((name.to_string(), Operator::Equal)), value: vec![value], value_at: at }
}

/// A word without a name: which items, or `!name`.
fn bare(text: &str) -> Word {
    let at = At::default();
    Word { at, name: None, value: vec![Part::Plain(text.to_string())], value_at: at }
}
