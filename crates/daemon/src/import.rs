//! Report of an import: how much of another box's configuration would work here, command by command and in
//! total.
//!
//! ```text
//! FILE.rsc ─► text ─► a device with the ports it names ─► config::survey ─► Surveyed
//!             BOM, CRLF, Windows' code page                 works, without a meaning, missing, refused
//! ```
//!
//! Commands without a meaning are those of hardware that is not here (wireless, LCD, LEDs …): they
//! would change nothing about what happens to a packet, and are kept ([`config::inert`]).

use crate::node;
use config::interpreter::Interpreter;
use config::survey::{self, Tried, Verdict};
use config::{Error, Factory, Item, Menu, Status, Tree, Value};
use port::{Capabilities, Slab};
use router::{PortInfo, Router};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use wire::{MacAddr, Moment};

/// A file, and what of it would work.
#[derive(Clone, Debug, Serialize)]
pub struct Surveyed {
    /// Its name.
    pub file: String,
    /// All its commands.
    pub total: Count,
    /// By menu: those with commands that do not work, and all others.
    pub menus: BTreeMap<String, Count>,
    /// Each command that does not simply work.
    pub lines: Vec<Line>,
}

/// How many commands there are, and what would come of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// All.
    pub commands: usize,
    /// Those that work.
    pub works: usize,
    /// Those without a meaning here.
    pub inert: usize,
    /// Those of what this router has not.
    pub missing: usize,
    /// Those refused for another reason.
    pub refused: usize,
}

/// A command that does not simply work.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The line it begins at.
    pub line: u32,
    /// The menu.
    pub menu: String,
    /// The command.
    pub text: String,
    /// `inert`, `missing`, `refused`, or `works` with a remark.
    pub verdict: &'static str,
    /// Why.
    pub why: String,
}

impl Count {
    /// Takes in others.
    pub fn add(&mut self, other: Count) {
        self.commands += other.commands;
        self.works += other.works;
        self.inert += other.inert;
        self.missing += other.missing;
        self.refused += other.refused;
    }

    /// How many of a hundred work, or have no meaning here; 100 of none. Rounded down, so that 100
    /// means all.
    pub fn percent(self) -> usize {
        (100 * (self.works + self.inert)).checked_div(self.commands).unwrap_or(100)
    }
}

/// The text of a file: UTF-8, or Windows' code page where it is not.
pub fn text(bytes: &[u8]) -> String {
    // What is not UTF-8 is Windows-1252 in practice; its upper half is close to Latin-1.
    let text = std::str::from_utf8(bytes).map(str::to_string);
    let text = text.unwrap_or_else(|_| bytes.iter().map(|&byte| char::from(byte)).collect());
    text.replace("\r\n", "\n")
}

/// A device on paper: what may be typed, and nothing that runs.
struct Paper;

impl Status for Paper {
    fn check(&self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        node::check(menu, item, tree).unwrap_or(Ok(()))
    }

    fn factory(&self, menu: &Menu) -> Vec<BTreeMap<&'static str, Value>> {
        router::status::factory(menu)
    }
}

/// Menus that are not the node's, and what a device has of them from the beginning: its server's.
pub type Others = (&'static [&'static Menu], Option<&'static Factory>);

/// Tries a file's commands on a device that has the ports it names.
///
/// # Errors
/// The script cannot be read, or there is no memory for a device.
pub fn survey(file: &str, script: &str, others: Others) -> Result<Surveyed, String> {
    tolerant(file, script, others, None).map(|(surveyed, _)| surveyed)
}

/// [`survey()`], and what such a device exports then: as it was typed, or in the words of a version.
///
/// # Errors
/// As [`survey()`]'s.
pub fn tolerant(
    file: &str,
    script: &str,
    (others, factory): Others,
    version: Option<&str>,
) -> Result<(Surveyed, String), String> {
    let slab = Slab::new(1024).map_err(|error| error.to_string())?;
    let ports = ports(script).into_iter().enumerate().map(|(at, name)| PortInfo {
        name,
        mac: MacAddr([2, 0, 0, 0, (at >> 8) as u8, at as u8]),
        capabilities: Capabilities::default(),
    });
    let mut router = Router::new(ports.collect(), &slab);
    let menus = node::menus().into_iter().chain(others.iter().copied());
    let interpreter = Interpreter::new(menus).with_commands(node::commands());
    let mut interpreter = interpreter.with_versions(router::version::translate);
    *interpreter.tree_mut() = router.factory_tree();
    if let Some(factory) = factory {
        interpreter = interpreter.with_factory(factory);
    }
    let tried = survey::survey(script, &mut interpreter, &Paper);
    let tried = tried.map_err(|error: Error| error.to_string())?;
    // Rules that were accepted and can never match say so once they are compiled.
    let configured = router.configure(interpreter.tree(), Moment::ZERO);
    configured.map_err(|error| error.to_string())?;
    let status = router.status(Moment::ZERO);
    let remark = |tried: &Tried| {
        let menu = interpreter.menus().iter().find(|menu| menu.path == tried.menu)?;
        let made = |item: &&std::sync::Arc<Item>| tried.items.contains(&item.id);
        let item = interpreter.tree().items(menu.path).iter().find(made)?;
        status.remark(menu, item)
    };
    let (mut total, mut lines) = (Count::default(), Vec::new());
    let mut menus: BTreeMap<String, Count> = BTreeMap::new();
    for tried in tried {
        let mut count = Count { commands: 1, ..Count::default() };
        let (verdict, why) = match &tried.verdict {
            Verdict::Works => {
                count.works = 1;
                ("works", remark(&tried).unwrap_or_default())
            }
            Verdict::Inert(why) => {
                count.inert = 1;
                ("inert", (*why).to_string())
            }
            Verdict::Missing(why) => {
                count.missing = 1;
                ("missing", why.clone())
            }
            Verdict::Refused(why) => {
                count.refused = 1;
                ("refused", why.clone())
            }
        };
        total.add(count);
        menus.entry(tried.menu.clone()).or_default().add(count);
        if !why.is_empty() {
            let Tried { at, menu, text, .. } = tried;
            lines.push(Line { line: at.line, menu, text, verdict, why });
        }
    }
    let version = version.map(|version| format!(" version={version}")).unwrap_or_default();
    let export =
        interpreter.run(&format!("/export{version}"), &Paper).map_err(|error| error.to_string())?;
    Ok((Surveyed { file: file.to_string(), total, menus, lines }, export.text))
}

/// The ports that a script speaks of, by the names a factory gives: `ether1`, `sfp-sfpplus1`, `combo1`.
fn ports(script: &str) -> Vec<String> {
    const KINDS: &[&str] =
        &["ether", "sfp", "sfpplus", "sfp-sfpplus", "sfp28-", "qsfp28-", "qsfpplus", "combo"];
    let is_port = |word: &&str| {
        let kind = KINDS.iter().filter_map(|kind| word.strip_prefix(kind));
        kind.into_iter().any(|number| {
            !number.is_empty()
                && number.len() < 5
                && number.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        })
    };
    let words = script.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let mut found: BTreeSet<String> = words.filter(is_port).map(String::from).collect();
    // A device of five is the least there is.
    found.extend((1..=5).map(|number| format!("ether{number}")));
    let mut found: Vec<String> = found.into_iter().collect();
    found.sort_by_key(|name| {
        let at = name.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
        (name[..at].to_string(), name[at..].parse::<u32>().unwrap_or(0))
    });
    found.truncate(200);
    found
}

#[cfg(test)]
mod tests;
