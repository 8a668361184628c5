//! Files: `import` runs one, `export file=` and `print file=` write one, `/file` shows them.
//!
//! ```text
//! /file print           what there is                    /file add name=a.txt contents="one"
//! /file get a.txt contents   of at most 4,095 bytes      /file set a.txt contents="two"; remove a.txt
//! ```
//!
//! An import is taken over as a whole, and of one that fails nothing is left; its error names the
//! line and the column in the file. Inside another import it is a part of that.
//!
//! Never touches a file system: files are the [`Host`](crate::Host)'s.

use crate::arguments::missing;
use crate::inert;
use crate::language::Verb;
use crate::run::{Line, Run};
use crate::script::Operator;
use crate::{
    At, Error, FIRST_AHEAD, FIRST_DYNAMIC, How, Item, ItemId, Menu, MenuKind, Property, Reply,
    Status, Type, Value,
};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use wire::date;

/// The menu; a device that has files lists it among its own.
pub static MENU: Menu = Menu {
    path: "/file",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", Type::Text, "Its name, with those of the folders it is in.")
            .required()
            .column(),
        Property::new("type", Type::Text, "What its ending says.").read_only().column(),
        Property::new("size", Type::Number(0, i64::MAX), "Bytes.").read_only().column(),
        Property::new("creation-time", Type::Text, "When it was written last, UTC.")
            .read_only()
            .column(),
        Property::new("contents", Type::Text, "The text, of at most 4,095 bytes."),
    ],
    help: "The files of the device.",
};

/// Files whose contents are longer are shown without, as RouterOS does.
pub const LONGEST_SHOWN: usize = 4095;

/// A file of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, with those of the folders it is in.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// When it was written last, in seconds since 1970.
    pub written: u64,
    /// Its text, unless it is longer than [`LONGEST_SHOWN`], or none.
    pub contents: Option<String>,
}

/// What there is in `/file`: its items are none of the configuration's.
struct Listing(Vec<Item>);

impl Listing {
    fn of(mut files: Vec<File>) -> Listing {
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let mut items: Vec<Item> = Vec::new();
        for file in files {
            // By its name, so that it stays the same whatever comes and goes.
            let mut hasher = DefaultHasher::new();
            file.name.hash(&mut hasher);
            let room = u64::from(FIRST_AHEAD - FIRST_DYNAMIC);
            let mut id = ItemId(FIRST_DYNAMIC + (hasher.finish() % room) as u32);
            while items.iter().any(|item| item.id == id) {
                id.0 -= u32::from(id.0 > FIRST_DYNAMIC);
            }
            let text = |text: &str| Value::Text(text.to_string());
            let kind = match file.name.rsplit_once('.') {
                Some((_, "rsc")) => "script".to_string(),
                Some((_, ending)) => format!(".{ending} file"),
                None => "file".to_string(),
            };
            let (days, clock) = (file.written / 86_400, date::clock(file.written));
            let (year, month, day) = date::civil(days);
            let month = date::MONTHS[month as usize - 1];
            let mut values = BTreeMap::from([
                ("name", text(&file.name)),
                ("type", text(&kind)),
                ("size", Value::Number(file.size as i64)),
                ("creation-time", text(&format!("{month}/{day:02}/{year} {clock}"))),
            ]);
            values.extend(file.contents.map(|contents| ("contents", Value::Text(contents))));
            items.push(Item::new(id, values));
        }
        Listing(items)
    }
}

impl Status for Listing {
    fn dynamic(&self, _: &Menu) -> Vec<Item> {
        self.0.clone()
    }
}

/// What a file that imports itself may do.
const DEPTH: usize = 20;

/// A file's content as a text.
///
/// # Errors
/// What it is instead, and what to do.
pub fn text_of_file(content: Vec<u8>) -> Result<String, &'static str> {
    String::from_utf8(content).map_err(|error| match error.as_bytes() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the file is UTF-16; save it as UTF-8",
        _ => "the file is not UTF-8",
    })
}

impl Run<'_> {
    /// The files there are, to be looked at like what a device says.
    pub(crate) fn files(&mut self) -> impl Status + use<> {
        Listing::of(self.host.files())
    }

    /// `add`, `set`, `remove` of `/file`.
    pub(crate) fn change_files(&mut self, verb: Verb, line: Line) -> Result<Reply, Error> {
        let failed = |text| Error::new(line.at, text);
        let Listing(all) = Listing::of(self.host.files());
        let name_of = |id| match all.iter().find(|item| item.id == id) {
            Some(item) => Ok(item.name("name").to_string()),
            None => Err(failed("no such item".to_string())),
        };
        let (names, contents) = match verb {
            Verb::Remove => {
                for id in self.only_items(&MENU, line)? {
                    let name = name_of(id)?;
                    self.host.remove_file(&name).map_err(failed)?;
                }
                return Ok(Reply::Nothing);
            }
            Verb::Add | Verb::Set => {
                let selects: &[_] = if matches!(verb, Verb::Set) { &["numbers"] } else { &[] };
                let arguments = self.arguments(&MENU, line, selects, selects.first().copied())?;
                let given = arguments.changes.values.iter();
                let text = |wanted: &str| {
                    let mut given = given.clone().filter(|(property, _)| property.name == wanted);
                    let value = given.next().and_then(|(_, value)| value.as_ref());
                    value.map(ToString::to_string)
                };
                let names = match (selects, text("name")) {
                    ([], Some(name)) => vec![name],
                    ([], None) => return Err(missing(line, "name")),
                    (_, Some(_)) => {
                        return Err(failed("failure: a file keeps its name".to_string()));
                    }
                    (_, None) => {
                        let ids = self.selected(&MENU, line, &arguments.extras)?;
                        ids.into_iter().map(name_of).collect::<Result<_, _>>()?
                    }
                };
                (names, text("contents"))
            }
            _ => {
                return Err(failed(
                    "failure: files have neither order, comments nor states".to_string(),
                ));
            }
        };
        for name in names {
            let is_new = matches!(verb, Verb::Add);
            if is_new && all.iter().any(|item| *item.name("name") == *name) {
                return Err(failed(format!("failure: there is a file {name} already")));
            }
            if let Some(text) = contents.as_deref().or(is_new.then_some("")) {
                self.host.write_file(&name, text.as_bytes()).map_err(failed)?;
            }
        }
        Ok(Reply::Nothing)
    }

    /// `import file-name=backup.rsc`, `import backup.rsc tolerant=yes confirm=5m`.
    pub(crate) fn import(&mut self, line: Line) -> Result<Reply, Error> {
        let (mut file, mut tolerant, mut confirm) = (None, false, None);
        for word in line.words {
            match &word.name {
                None if file.is_none() => file = Some(word),
                Some((name, Operator::Equal)) if name == "file-name" && file.is_none() => {
                    file = Some(word);
                }
                Some((name, Operator::Equal)) if name == "tolerant" => {
                    let value = self.value_of(word, "tolerant", &Type::Bool, line.path)?;
                    tolerant = value == Value::Bool(true);
                }
                Some((name, Operator::Equal)) if name == "confirm" => {
                    let Value::Time(within) =
                        self.value_of(word, "confirm", &Type::Time, line.path)?
                    else {
                        return Err(Error::end_of_command(word.at));
                    };
                    if within.is_zero() || self.how == How::Import {
                        let text = "failure: confirm is a time, and of no import within another";
                        return Err(Error::new(word.value_at, text));
                    }
                    confirm = Some((within, word.value_at));
                }
                _ => {
                    let help = "parameters are file-name, tolerant, confirm";
                    return Err(Error::end_of_command(word.at).help(help));
                }
            }
        }
        let Some(word) = file else {
            return Err(Error::new(line.at, "missing value(s) of argument(s) file-name"));
        };
        let name = self.text_of(word, line.path)?;
        let failed = |text| Error::new(word.value_at, text);
        let content = self.host.read_file(&name).map_err(failed)?;
        let script = text_of_file(content).map_err(|why| failed(format!("failure: {why}")))?;
        let (script, kept) = if tolerant {
            inert::tolerant(&script).map_err(|error| error.locate_in(&name, &script))?
        } else {
            (script, 0)
        };
        self.settle()?;
        let before = confirm.map(|_| self.host.tree());
        self.descend(DEPTH, line.at)?;
        let place = std::mem::take(&mut self.place);
        let here = self.script;
        self.script = here.wrapping_add(1 << 32);
        let result = match self.how {
            How::Import => self.script(&script),
            How::Typed => {
                self.how = How::Import;
                let result = self.whole(|run| run.script(&script));
                self.how = How::Typed;
                result
            }
        };
        (self.place, self.script) = (place, here);
        self.depth -= DEPTH;
        result.map_err(|error| error.locate_in(&name, &script))?;
        if let (Some((within, at)), Some(before)) = (confirm, before) {
            self.host.go_back(before, within).map_err(|text| Error::new(at, text))?;
            let within = Value::Time(within);
            self.print_text(format!("\nwithout /confirm all goes back after {within}\n"));
        }
        if kept > 0 {
            let kept = format!("\n{kept} lines without a meaning here are kept: /system inert\n");
            self.print_text(kept);
        }
        self.print_text("\nScript file loaded and executed successfully\n");
        Ok(Reply::Nothing)
    }

    /// Writes what was printed; a name without a dot gets this ending.
    pub(crate) fn write(
        &mut self,
        name: &str,
        ending: &str,
        text: &str,
        at: At,
    ) -> Result<(), Error> {
        let name = if name.contains('.') { name.to_string() } else { format!("{name}.{ending}") };
        self.host.write_file(&name, text.as_bytes()).map_err(|text| Error::new(at, text))
    }
}
