//! The language a device speaks: its menus and commands, and what a word means at each path.
//!
//! ```text
//! Menus (tables) ──┐
//!                  ├─► Language ─► every session of the device, the API and the console alike
//! Commands ────────┘
//! ```
//!
//! Made once, shared, never changed. Knows nothing of the configuration or the running device.

use crate::{Command, Item, ItemId, Menu, MenuKind, Tree};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Menus and commands, mounted together.
#[derive(Clone, Debug, Default)]
pub struct Language {
    menus: Vec<&'static Menu>,
    commands: Vec<&'static Command>,
    by_path: HashMap<&'static str, Mounted>,
    /// What can be said at each path there is; the root is the empty path.
    choices: HashMap<&'static str, BTreeMap<&'static str, Choice>>,
    factory: Option<&'static Factory>,
    pub(crate) translate: Option<Translate>,
}

/// What every device of a language has from the beginning, whatever it is: the entries of lists
/// that nobody adds to (`/ip service`), and what they may become. A script finds them on a device
/// that is not served (yet), too, so that what one device has exported another takes.
#[derive(Debug)]
pub struct Factory {
    /// Brings the entries that are not there.
    pub install: fn(&mut Tree),
    /// What an item that is added or changed must not be, in RouterOS's words.
    pub check: fn(&Menu, &Item) -> Result<(), String>,
}

/// A version of RouterOS, whose words `export version=` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The last of version 6: 6.49.
    V6,
    /// Version 7, as it has been since 7.13.
    V7,
}

/// Says a configuration in the words of a version: what is called otherwise there, or stands in another
/// menu.
pub type Translate = fn(&mut Tree, Version) -> Translated;

/// What an export of a translated configuration has to know beside it.
#[derive(Clone, Debug, Default)]
pub struct Translated {
    /// What stands above items that have no counterpart there.
    pub remarks: HashMap<ItemId, String>,
    /// Properties, by menu, that are written even if they have their default: there it is another one.
    pub written: &'static [(&'static str, &'static str)],
    /// Properties, by menu, that are a word alone if they are yes, and not said if they are no.
    pub flags: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Debug)]
struct Mounted {
    menu: &'static Menu,
    /// The menus its items are in: itself, or those that it unites.
    members: Vec<&'static Menu>,
    /// The menus whose items may not be named like one of its own, itself included.
    namespace: Vec<&'static Menu>,
    /// Its path, and those of the menus that unite it with others.
    known_as: Vec<&'static str>,
}

impl Language {
    /// A language of these menus and commands. `export` writes the menus in this order, so let
    /// those that others refer to come first.
    pub fn new(
        menus: impl IntoIterator<Item = &'static Menu>,
        commands: impl IntoIterator<Item = &'static Command>,
    ) -> Language {
        let menus: Vec<_> = menus.into_iter().collect();
        let commands: Vec<_> = commands.into_iter().collect();
        let mut language = Language { menus, commands, ..Language::default() };
        language.mount();
        let paths = language.paths();
        for path in &paths {
            let choices = language.choices_at(path, &paths);
            language.choices.insert(path, choices);
        }
        language
    }

    /// The same with what its devices have from the beginning.
    pub fn with_factory(self, factory: &'static Factory) -> Language {
        Language { factory: Some(factory), ..self }
    }

    /// The same with its words in each version of RouterOS.
    pub fn with_versions(self, translate: Translate) -> Language {
        Language { translate: Some(translate), ..self }
    }

    /// Brings what a device has from the beginning.
    pub(crate) fn furnish(&self, tree: &mut Tree) {
        if let Some(factory) = self.factory {
            (factory.install)(tree);
        }
    }

    /// Whether an entry may be so.
    pub(crate) fn check(&self, menu: &Menu, item: &Item) -> Result<(), String> {
        self.factory.map_or(Ok(()), |factory| (factory.check)(menu, item))
    }

    fn mount(&mut self) {
        for &menu in &self.menus {
            let members = self.menus.iter().filter(|other| menu.shows(other)).copied().collect();
            let (namespace, known_as) = (Vec::new(), vec![menu.path]);
            self.by_path.insert(menu.path, Mounted { menu, members, namespace, known_as });
        }
        // Whatever one reference may mean must have different names, and what one menu unites.
        let mut groups: Vec<Vec<&'static str>> =
            self.menus.iter().map(|menu| vec![menu.path]).collect();
        for property in self.menus.iter().flat_map(|menu| menu.properties) {
            property.kind.each_reference(&mut |paths| groups.push(paths.to_vec()));
        }
        let mut namespaces: BTreeMap<&str, BTreeSet<&'static str>> = BTreeMap::new();
        for group in groups {
            let members = group.iter().flat_map(|path| self.members(path));
            let named = members.filter(|menu| menu.key().is_some()).map(|menu| menu.path);
            let named: BTreeSet<&'static str> = named.collect();
            for path in &named {
                namespaces.entry(path).or_default().extend(&named);
            }
        }
        for (path, names) in namespaces {
            let others = names.into_iter().filter_map(|name| self.menu(name)).collect();
            if let Some(mounted) = self.by_path.get_mut(path) {
                mounted.namespace = others;
            }
        }
        for menu in &self.menus {
            if matches!(menu.kind, MenuKind::Union { .. }) {
                for member in self.menus.iter().filter(|other| menu.shows(other)) {
                    if let Some(mounted) = self.by_path.get_mut(member.path) {
                        mounted.known_as.push(menu.path);
                    }
                }
            }
        }
    }

    /// The menus.
    pub fn menus(&self) -> &[&'static Menu] {
        &self.menus
    }

    /// The commands of the device's own.
    pub fn commands(&self) -> &[&'static Command] {
        &self.commands
    }

    /// The menu of this path.
    pub fn menu(&self, path: &str) -> Option<&'static Menu> {
        self.by_path.get(path).map(|mounted| mounted.menu)
    }

    /// The menus the items of this one are in: itself, or those that it unites.
    pub(crate) fn members(&self, path: &str) -> &[&'static Menu] {
        self.by_path.get(path).map_or(&[], |mounted| &mounted.members)
    }

    /// The menus whose items may not be named like one of this menu.
    pub(crate) fn namespace(&self, path: &str) -> &[&'static Menu] {
        self.by_path.get(path).map_or(&[], |mounted| &mounted.namespace)
    }

    /// The paths under which a reference may mean items of this menu.
    pub(crate) fn known_as(&self, path: &str) -> &[&'static str] {
        self.by_path.get(path).map_or(&[], |mounted| &mounted.known_as)
    }

    /// What can be said at a path: the words that lead deeper, and the commands.
    pub(crate) fn choices(&self, path: &str) -> &BTreeMap<&'static str, Choice> {
        const NONE: &BTreeMap<&str, Choice> = &BTreeMap::new();
        self.choices.get(path).unwrap_or(NONE)
    }

    /// Every path that has something behind it.
    fn paths(&self) -> BTreeSet<&'static str> {
        let mut paths = BTreeSet::from([""]);
        let menus = self.menus.iter().map(|menu| menu.path);
        for path in menus.chain(self.commands.iter().map(|command| command.menu)) {
            let path = if path == "/" { "" } else { path };
            let ends = path.match_indices(' ').map(|(end, _)| end);
            paths.extend(ends.chain([path.len()]).map(|end| &path[..end]));
        }
        paths
    }

    fn choices_at(
        &self,
        path: &'static str,
        paths: &BTreeSet<&'static str>,
    ) -> BTreeMap<&'static str, Choice> {
        let mut choices = BTreeMap::new();
        for &(name, verb) in Verb::all(self.menu(path)) {
            choices.insert(name, Choice::Verb(verb));
        }
        if path.is_empty() {
            choices.insert("import", Choice::Verb(Verb::Import));
        }
        let here = |menu: &str| menu == path || (menu == "/" && path.is_empty());
        for command in self.commands.iter().filter(|command| here(command.menu)) {
            // Of a command that the menu has anyway the device does a part: `Run::own_command`.
            choices.entry(command.name).or_insert(Choice::Verb(Verb::Device(command)));
        }
        let blank = if path.is_empty() { "/" } else { " " };
        for &deeper in paths.range(path..).take_while(|deeper| deeper.starts_with(path)) {
            let rest = deeper.strip_prefix(path).and_then(|rest| rest.strip_prefix(blank));
            if let Some(word) = rest.filter(|word| !word.is_empty() && !word.contains(' ')) {
                choices.insert(word, Choice::Menu(deeper));
            }
        }
        choices
    }
}

/// What a word means at a path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Choice {
    Menu(&'static str),
    Verb(Verb),
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verb {
    Add,
    Set,
    Unset,
    Remove,
    Enable,
    Disable,
    Move,
    Comment,
    Find,
    Get,
    Print,
    Export,
    Import,
    Device(&'static Command),
}

impl Verb {
    /// The commands that a menu has because of its kind.
    fn all(menu: Option<&Menu>) -> &'static [(&'static str, Verb)] {
        use MenuKind::{List, Settings, Union};
        const LIST: &[(&str, Verb)] = &[
            ("comment", Verb::Comment),
            ("disable", Verb::Disable),
            ("enable", Verb::Enable),
            ("export", Verb::Export),
            ("find", Verb::Find),
            ("get", Verb::Get),
            ("print", Verb::Print),
            ("set", Verb::Set),
            ("unset", Verb::Unset),
            // Only where the user makes the items.
            ("add", Verb::Add),
            ("remove", Verb::Remove),
            // Only where their order matters.
            ("move", Verb::Move),
        ];
        const SETTINGS: &[(&str, Verb)] = &[
            ("export", Verb::Export),
            ("get", Verb::Get),
            ("print", Verb::Print),
            ("set", Verb::Set),
        ];
        match menu.map(|menu| menu.kind) {
            None => &SETTINGS[..1],
            Some(Settings) => SETTINGS,
            Some(Union { .. } | List { fixed: true, .. }) => &LIST[..9],
            Some(List { ordered: false, .. }) => &LIST[..11],
            Some(List { .. }) => LIST,
        }
    }
}
