//! `export`: the script that makes this configuration again.
//!
//! ```text
//! /ip firewall filter
//! add action=accept chain=forward comment="allow already established connections" \
//!     connection-state=established
//! ```
//!
//! Properties are alphabetical, what has its default is left out (`compact`, unless `verbose`),
//! and physical lines hold at most 79 characters (unless `terse`, one whole command per line).
//! Run on a device without configuration, the script gives the same tree; lists with secrets
//! ([`Access::Secret`]: `/user`) are left out, as RouterOS leaves users out.
//!
//! `hide-sensitive` leaves out passwords and keys, and kept lines that have any. `version=` writes in
//! the words of a version of RouterOS, which the device knows ([`Translate`](crate::Translate)), instead
//! of those that were typed.

use crate::Version;
use crate::inert;
use crate::parse::pick;
use crate::run::{Line, Run};
use crate::script::{quote, quote_always};
use crate::{Access, Error, Item, ItemId, Menu, MenuKind, Reply, Translated, Tree, Type, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What fits on a physical line, the closing backslash included.
const WIDTH: usize = 79;
const INDENT: &str = "    ";

/// What `version=` takes.
pub(crate) const VERSION: Type = Type::Enum(&["6", "7"]);

#[derive(Default)]
struct Style {
    verbose: bool,
    terse: bool,
    hides: bool,
    words: Translated,
}

/// Properties that `hide-sensitive` leaves out.
const SENSITIVE: &[&str] = &[
    "authentication-password",
    "encryption-password",
    "ipsec-secret",
    "password",
    "pre-shared-key",
    "private-key",
    "secret",
    "trap-community",
];

impl Run<'_> {
    /// `export [compact | verbose] [terse] [file=] [version=]` of a menu and those below it.
    pub(crate) fn export(&mut self, line: Line) -> Result<Reply, Error> {
        const WORDS: [&str; 5] =
            ["compact", "hide-sensitive", "terse", "verbose", "show-sensitive"];
        let mut style = Style::default();
        let (mut file, mut version) = (None, None);
        for word in line.words {
            let flag = word.plain().and_then(|word| pick(WORDS.into_iter(), word).ok());
            match (flag, &word.name) {
                (Some("verbose"), _) => style.verbose = true,
                (Some("terse"), _) => style.terse = true,
                (Some("hide-sensitive"), _) => style.hides = true,
                (Some(_), _) => {}
                (None, Some((name, _))) if name == "file" => {
                    file = Some((self.text_of(word, line.path)?, word.value_at));
                }
                (None, Some((name, _))) if name == "version" => {
                    let value = self.value_of(word, "version", &VERSION, line.path)?;
                    let is_old = value.to_string() == "6";
                    version = Some((if is_old { Version::V6 } else { Version::V7 }, word.value_at));
                }
                (None, _) => {
                    let help = format!("parameters are {}, file, version", WORDS.join(", "));
                    return Err(Error::end_of_command(word.at).help(help));
                }
            }
        }
        self.settle()?;
        let typed = self.tree.clone();
        if let Some((version, at)) = version {
            let text = "this device knows no other words than those typed";
            let translate = self.language.translate.ok_or_else(|| Error::missing(at, text))?;
            style.words = translate(&mut self.tree, version);
        }
        if let Some((name, at)) = file {
            let ((), text) = self.capture(|run| {
                run.export_below(line.path, &style);
                Ok(())
            })?;
            self.write(&name, "rsc", &text, at)?;
        } else {
            self.export_below(line.path, &style);
        }
        self.tree = typed;
        Ok(Reply::Nothing)
    }

    fn export_below(&mut self, path: &str, style: &Style) {
        let banner = self.look(|view| view.status.banner());
        let banner = banner.iter().map(|line| format!("# {line}").trim_end().to_string() + "\n");
        let banner: String = banner.collect();
        self.print_text(banner);
        let below = |menu: &&&Menu| {
            let rest = menu.path.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '/']))
        };
        for menu in self.language.menus().iter().filter(below) {
            let has_secret = menu.properties.iter().any(|p| p.access == Access::Secret);
            if menu.is_list() && has_secret {
                continue;
            }
            let text = self.export_menu(menu, style);
            self.print_text(text);
        }
    }

    fn export_menu(&mut self, menu: &Menu, style: &Style) -> String {
        let mut text = String::new();
        if menu.path == inert::MENU.path {
            let says = |item: &&Arc<Item>| {
                let line = item.get("line").map(Value::to_string).unwrap_or_default();
                let word = |name: &&str| line.contains(&format!("{name}="));
                !style.hides || !line.contains("-key=") && !SENSITIVE.iter().any(word)
            };
            let items = self.tree.items(menu.path).iter().filter(says);
            return inert::export(items.map(|item| &**item), style.terse);
        }
        let mut remarks = self.remarks(menu);
        let others = self.tree.items(menu.path).iter();
        let others = others.filter_map(|item| style.words.remarks.get_key_value(&item.id));
        remarks.extend(others.map(|(id, remark)| (*id, remark.clone())));
        let mut begins = Vec::new();
        self.look(|view| begins = view.status.factory(menu));
        if begins.is_empty() && menu.property("default").is_some() {
            let mut factory = Tree::default();
            self.language.furnish(&mut factory);
            begins = factory.items(menu.path).iter().map(|item| item.values.clone()).collect();
        }
        let commands = self.commands(menu, style, &begins);
        if !commands.is_empty() && !style.terse {
            text += menu.path;
            text.push('\n');
        }
        for (id, words) in commands {
            if let Some(remark) = remarks.get(&id) {
                text += &format!("# {remark}\n");
            }
            if style.terse {
                text += menu.path;
                for Piece { name, value } in words {
                    text += &format!(" {name}{value}");
                }
            } else {
                text += &wrap(&words);
            }
            text.push('\n');
        }
        text
    }

    /// Why items are invalid, as RouterOS has it above them.
    fn remarks(&mut self, menu: &Menu) -> HashMap<ItemId, String> {
        /// Items looked at in one go, while packets wait.
        const PAGE: usize = 64;
        let mut remarks = HashMap::new();
        let items = self.tree.items(menu.path).to_vec();
        for page in items.chunks(PAGE) {
            self.look(|view| {
                for item in page {
                    let remark = view.status.remark(menu, item);
                    // A name in it may have a line's end in it.
                    let remark = remark.map(|text| text.replace(char::is_control, " "));
                    remarks.extend(remark.map(|remark| (item.id, remark)));
                }
            });
        }
        remarks
    }

    /// The commands that make a menu's items.
    fn commands(
        &self,
        menu: &Menu,
        style: &Style,
        begins: &[BTreeMap<&'static str, Value>],
    ) -> Vec<(ItemId, Vec<Piece>)> {
        let untouched = Item::new(ItemId(0), BTreeMap::new());
        let items = self.tree.items(menu.path).iter();
        let items = items.enumerate().filter(|(_, item)| !item.dynamic);
        let fixed = match menu.kind {
            MenuKind::List { fixed, .. } => fixed,
            // Its items are exported where they are.
            MenuKind::Union { .. } => return Vec::new(),
            MenuKind::Settings => {
                let item = self.tree.settings(menu.path).unwrap_or(&untouched);
                let words = properties(menu, item, style, None, &untouched);
                let words = (!words.is_empty()).then(|| (item.id, command("set", words)));
                return words.into_iter().collect();
            }
        };
        if !fixed {
            let begins = begins.iter().map(|values| Item::new(ItemId(0), values.clone()));
            let begins: Vec<Item> = begins.collect();
            let commands = items.filter_map(|(number, item)| {
                if item.get("default") != Some(&Value::Bool(true)) {
                    let words = properties(menu, item, style, None, &untouched);
                    return Some((item.id, command("add", words)));
                }
                // The device begins with it: what is said is how it differs.
                let same = |new: &&Item| match menu.key() {
                    Some(key) => new.name(key) == item.name(key),
                    None => true,
                };
                let mut same = begins.iter().filter(same);
                let new = match (&begins[..], menu.key()) {
                    ([only], _) => Some(only),
                    (_, Some(_)) => same.next(),
                    (_, None) => same.nth(number),
                };
                // One alone is found without its name.
                let key = menu.key().filter(|_| begins.len() != 1);
                let words = properties(menu, item, style, key, new.unwrap_or(&untouched));
                let which = match begins.len() {
                    1 => "[ find default=yes ]".to_string(),
                    _ => selector(menu, item, number),
                };
                let mut set = command("set", vec![Piece::word(which)]);
                let any = !words.is_empty();
                set.extend(words);
                any.then_some((item.id, set))
            });
            return commands.collect();
        }
        let mut factory = Tree::default();
        self.language.furnish(&mut factory);
        let sets = items.filter_map(|(number, item)| {
            let same =
                |new: &&Arc<Item>| menu.key().is_some_and(|key| new.name(key) == item.name(key));
            let new = factory.items(menu.path).iter().find(same);
            let new = new.map_or(&untouched, |new| &**new);
            let words = properties(menu, item, style, menu.key(), new);
            let mut set = command("set", vec![Piece::word(selector(menu, item, number))]);
            let any = !words.is_empty();
            set.extend(words);
            any.then_some((item.id, set))
        });
        sets.collect()
    }
}

/// How a fixed item is found again: by what it was called in the factory, its name or its number.
fn selector(menu: &Menu, item: &Item, number: usize) -> String {
    let text = |value: &Value| quote(&value.to_string());
    if let Some(name) = item.get("default-name") {
        return format!("[ find default-name={} ]", text(name));
    }
    match menu.key().and_then(|key| item.get(key)) {
        Some(name) => text(name),
        None => number.to_string(),
    }
}

/// What `add` or `set` must say of an item that is `new` before, alphabetically. A fixed item's key is
/// said by the selector, unless the item has been renamed.
fn properties(
    menu: &Menu,
    item: &Item,
    style: &Style,
    fixed_key: Option<&str>,
    new: &Item,
) -> Vec<Piece> {
    let mut words = BTreeMap::new();
    let is_in = |names: &[(&str, &str)], name| names.contains(&(menu.path, name));
    for property in menu.properties {
        if matches!(property.access, Access::ReadOnly | Access::Secret | Access::Missing(_)) {
            continue;
        }
        if style.hides && SENSITIVE.contains(&property.name) {
            continue;
        }
        let typed = item.get(property.name);
        let said = match item.get("default-name") {
            original @ Some(_) => typed == original && !style.verbose,
            None => true,
        };
        if fixed_key == Some(property.name) && said {
            continue;
        }
        let default = new.get(property.name).cloned().or_else(|| property.default_value());
        let verbose = style.verbose || is_in(style.words.written, property.name);
        if is_in(style.words.flags, property.name) {
            if typed == Some(&Value::Bool(true)) {
                words.insert(property.name, None);
            }
            continue;
        }
        let value = match typed {
            Some(value) if verbose || default.as_ref() != Some(value) => value.clone(),
            None if verbose => match default {
                Some(value) => value,
                None => continue,
            },
            _ => continue,
        };
        words.insert(property.name, Some(quote(&value.to_string())));
    }
    if menu.is_list() {
        if item.comment != new.comment {
            words.insert("comment", Some(quote(&item.comment)));
        }
        if item.disabled != new.disabled || style.verbose {
            words.insert("disabled", Some(Value::Bool(item.disabled).to_string()));
        }
    }
    let piece = |(name, value)| match value {
        Some(value) => Piece { name: format!("{name}="), value },
        None => Piece::word(name),
    };
    words.into_iter().map(piece).collect()
}

/// `name=` and `value`, between which a line may break; or a word alone.
struct Piece {
    name: String,
    value: String,
}

impl Piece {
    fn word(word: impl Into<String>) -> Piece {
        Piece { name: word.into(), value: String::new() }
    }
}

fn command(verb: &str, words: Vec<Piece>) -> Vec<Piece> {
    let mut command = vec![Piece::word(verb)];
    command.extend(words);
    command
}

/// One command on as many physical lines as it needs.
fn wrap(words: &[Piece]) -> String {
    let mut lines = Lines { done: String::new(), line: String::new() };
    for (i, Piece { name, value }) in words.iter().enumerate() {
        let last = i + 1 == words.len();
        let blank = if last { "" } else { " " };
        if value.is_empty() {
            lines.put(&format!("{name}{blank}"), last);
        } else {
            lines.put(name, false);
            lines.put_value(value, blank, last);
        }
    }
    lines.done + &lines.line
}

struct Lines {
    done: String,
    line: String,
}

impl Lines {
    /// Whether so many characters fit; behind them the backslash must, unless they are the last.
    fn fits(&self, len: usize, last: bool) -> bool {
        self.line.len() + len + usize::from(!last) <= WIDTH
    }

    fn put(&mut self, text: &str, last: bool) {
        if !self.fits(text.len(), last) {
            self.break_line();
        }
        self.line += text;
    }

    fn break_line(&mut self) {
        self.done += &self.line;
        self.done += "\\\n";
        self.line = INDENT.to_string();
    }

    /// A value goes on the next line if it fits there, else it is broken: lists at their commas,
    /// strings anywhere; what is neither is made a string.
    fn put_value(&mut self, value: &str, blank: &str, last: bool) {
        let whole = format!("{value}{blank}");
        if self.fits(whole.len(), last) || INDENT.len() + whole.len() < WIDTH {
            return self.put(&whole, last);
        }
        if !value.starts_with('"') && value.contains(',') {
            for part in value.split_inclusive(',') {
                self.put(part, false);
            }
            self.line += blank;
            return;
        }
        let string = if value.starts_with('"') { value } else { &quote_always(value) };
        let mut rest = string;
        while !rest.is_empty() {
            let (unit, tail) = rest.split_at(unit_len(rest));
            // Room for the backslash, and for the blank behind the closing quote.
            let closing = if tail.is_empty() { blank.len() } else { 0 };
            let mut unit = unit;
            if !self.fits(unit.len() + closing, false) {
                self.break_line();
                // The next line's first blanks would be dropped.
                unit = if unit == " " { "\\_" } else { unit };
            }
            self.line += unit;
            rest = tail;
        }
        self.line += blank;
    }
}

/// The length of an escape sequence, or of one character: what no line break may split.
fn unit_len(text: &str) -> usize {
    match text.as_bytes() {
        [b'\\', b'0'..=b'9' | b'A'..=b'F', _, ..] => 3,
        [b'\\', _, ..] => 2,
        // Quoted text is ASCII.
        _ => 1,
    }
}

/// A text as `print` shows it in `name="value"`.
pub(crate) fn shown(value: &Value, free_text: bool) -> String {
    let text = value.to_string();
    if free_text { quote_always(&text) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Lexer, Part, Word};

    /// Commands as RouterOS 6 wraps them, put on one line and wrapped again.
    #[test]
    fn wraps_like_routeros() {
        let lines = r#"add action=accept chain=input comment=\
    "defconf: accept established,related,untracked" connection-state=\
    established,related,untracked
add action=drop chain=input comment="defconf: drop invalid" connection-state=\
    invalid
add action=accept chain=input comment="defconf: accept ICMP" protocol=icmp
add action=accept chain=input comment=\
    "defconf: accept to local loopback (for CAPsMAN)" dst-address=127.0.0.1
add action=drop chain=input comment="defconf: drop all not coming from LAN" \
    in-interface-list=!LAN
add action=fasttrack-connection chain=forward comment="defconf: fasttrack" \
    connection-state=established,related
add action=drop chain=forward comment=\
    "defconf: drop all from WAN not DSTNATed" connection-nat-state=!dstnat \
    connection-state=new in-interface-list=WAN
"#
        .replace("\\\\", "\\");
        let mut lexer = Lexer::new(&lines);
        let mut wrapped = String::new();
        while let Ok(Some(statement)) = lexer.next() {
            let pieces: Vec<Piece> = statement.words.iter().map(piece).collect();
            wrapped += &(wrap(&pieces) + "\n");
        }
        assert_eq!(wrapped, lines, "\n{wrapped}");
    }

    fn piece(word: &Word) -> Piece {
        let value = match word.value.as_slice() {
            [Part::Plain(text) | Part::Quoted(text)] => quote(text),
            other => panic!("{other:?}"),
        };
        match &word.name {
            Some((name, _)) => Piece { name: format!("{name}="), value },
            None => Piece::word(value),
        }
    }

    /// A string longer than a line is broken anywhere but inside an escape, a blank at the break
    /// written `\_`.
    #[test]
    fn long_strings() {
        for text in ["x".repeat(300), "a b ".repeat(80), "\"$\n ".repeat(60), "ü ".repeat(50)] {
            for offset in 1..40 {
                let name = "n".repeat(offset);
                let pieces =
                    [Piece::word("add"), Piece { name: format!("{name}="), value: quote(&text) }];
                let wrapped = wrap(&pieces);
                assert!(wrapped.lines().all(|line| line.len() <= WIDTH), "{wrapped}");
                let read =
                    Lexer::new(&wrapped).next().ok().flatten().map(|s| s.words[1].value.clone());
                assert_eq!(read, Some(vec![Part::Quoted(text.clone())]), "{wrapped}");
            }
        }
    }
}
