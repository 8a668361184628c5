//! `add`, `set`, `remove` and the other commands that change items.

use crate::arguments::{Changes, Slot, missing, slot};
use crate::inert;
use crate::run::{Line, Run};
use crate::script::{Operator, Word};
use crate::{
    Access, Call, Command, Error, FIRST_DYNAMIC, Item, ItemId, Menu, MenuKind, Reply, Value,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

impl Run<'_> {
    pub(crate) fn add(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
        let extras =
            if is_ordered(menu) { &["copy-from", "place-before"][..] } else { &["copy-from"] };
        let arguments = self.arguments(menu, line, extras, None)?;
        let mut model = None;
        if let Some(word) = arguments.extras.get("copy-from") {
            let no_such = || Error::new(word.value_at, "no such item");
            let [id] = self.select(menu, word, line.path)?[..] else { return Err(no_such()) };
            model = Some(self.tree.item(menu.path, id).cloned().ok_or_else(no_such)?);
        }
        let mut before = None;
        if let Some(word) = arguments.extras.get("place-before") {
            let found = self.select(menu, word, line.path);
            let text = "failure: item referred by 'place-before' does not exist";
            let place = found.ok().and_then(|ids| self.place_of(menu, *ids.first()?));
            before = Some(place.ok_or_else(|| Error::new(word.value_at, text))?);
        }
        self.edit(line.at)?;
        let mut item = Item::new(self.tree.new_id(), BTreeMap::new());
        if let Some(model) = model {
            item = Item { id: item.id, ..model };
            // A copy with a name of its own, where names are made up.
            if let MenuKind::List { key: Some(key), auto_name: Some(_), .. } = menu.kind {
                item.values.remove(key);
            }
        }
        arguments.changes.apply(&mut item);
        if let MenuKind::List { key: Some(key), auto_name: Some(prefix), .. } = menu.kind
            && item.name(key).is_empty()
        {
            item.values.insert(key, Value::Text(self.free_name(menu, prefix)));
        }
        // What the device takes by a command of its own does not become part of the configuration.
        let command = self.own_command(menu, "add").filter(|command| {
            command.parameters.iter().any(|parameter| item.get(parameter.name).is_some())
        });
        if let Some(command) = command {
            self.changed(line.at);
            self.call(Call { arguments: item.values, ..Call::of(command) }, line.at)?;
            return Ok(Reply::Nothing);
        }
        self.check(menu, &item, line)?;
        let id = item.id;
        if let Some(key) = menu.key() {
            self.index.add(menu, item.name(key), id);
        }
        let items = self.tree.items_mut(menu.path);
        items.insert(before.unwrap_or(items.len()).min(items.len()), Arc::new(item));
        self.changed(line.at);
        Ok(Reply::Items(vec![id]))
    }

    pub(crate) fn set(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
        if !menu.is_list() {
            let arguments = self.arguments(menu, line, &[], None)?;
            self.edit(line.at)?;
            let mut item = self.tree.settings_mut(menu).clone();
            arguments.changes.apply(&mut item);
            self.check(menu, &item, line)?;
            *self.tree.settings_mut(menu) = item;
            self.changed(line.at);
            return Ok(Reply::Nothing);
        }
        let arguments = self.arguments(menu, line, &["numbers"], Some("numbers"))?;
        let ids = self.selected(menu, line, &arguments.extras)?;
        self.change(menu, line, &ids, "change", &arguments.changes)
    }

    /// `unset items property`.
    pub(crate) fn unset(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
        let [selector, names @ ..] = line.words else {
            return Err(missing(line, "numbers"));
        };
        let ids = self.select(menu, selector, line.path)?;
        let mut changes = Changes::default();
        for word in names {
            let name = match &word.name {
                Some((name, Operator::Equal)) if name == "value-name" => {
                    self.text_of(word, line.path)?
                }
                None => self.text_of(word, line.path)?,
                Some(_) => return Err(Error::end_of_command(word.at)),
            };
            match slot(menu, &[], &name, word, true)? {
                Slot::Property(property) => changes.values.push((property, None)),
                Slot::Comment => changes.comment = Some(String::new()),
                _ => return Err(Error::end_of_command(word.at)),
            }
        }
        if names.is_empty() {
            return Err(missing(line, "value-name"));
        }
        self.change(menu, line, &ids, "change", &changes)
    }

    pub(crate) fn disable(
        &mut self,
        menu: &'static Menu,
        line: Line,
        disabled: bool,
    ) -> Result<Reply, Error> {
        let ids = self.only_items(menu, line)?;
        let changes = Changes { disabled: Some(disabled), ..Changes::default() };
        self.change(menu, line, &ids, if disabled { "disable" } else { "enable" }, &changes)
    }

    /// `comment items "text"`.
    pub(crate) fn comment(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
        const NAMES: [&str; 2] = ["numbers", "comment"];
        let mut given = [None; 2];
        for word in line.words {
            let place = match &word.name {
                Some((name, _)) => NAMES.iter().position(|known| known == name),
                None => given.iter().position(Option::is_none),
            };
            match place.filter(|&place| given[place].is_none()) {
                Some(place) => given[place] = Some(word),
                None => return Err(Error::end_of_command(word.at)),
            }
        }
        let [Some(selector), Some(word)] = given else {
            let absent = NAMES.iter().zip(given).filter(|(_, word)| word.is_none());
            let absent: Vec<&str> = absent.map(|(name, _)| *name).collect();
            return Err(missing(line, &absent.join(" ")));
        };
        let ids = self.select(menu, selector, line.path)?;
        let comment = Some(self.text_of(word, line.path)?);
        self.change(menu, line, &ids, "change", &Changes { comment, ..Changes::default() })
    }

    pub(crate) fn remove(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
        let mut ids = self.only_items(menu, line)?;
        if let Some(command) = self.own_command(menu, "remove") {
            let (made, ours) = ids.into_iter().partition(|id| id.0 >= FIRST_DYNAMIC);
            let made: Vec<ItemId> = made;
            if !made.is_empty() {
                self.call(Call { items: Some(made), ..Call::of(command) }, line.at)?;
            }
            ids = ours;
            if ids.is_empty() {
                return Ok(Reply::Nothing);
            }
        }
        self.edit(line.at)?;
        self.places(menu, line, &ids, "remove")?;
        let ids: HashSet<ItemId> = ids.into_iter().collect();
        let mut gone = HashMap::new();
        self.tree.items_mut(menu.path).retain(|item| {
            let goes = ids.contains(&item.id);
            if goes && let Some(key) = menu.key() {
                // RouterOS shows a reference to an item that is gone by its identity.
                gone.insert(item.name(key).to_string(), item.id.to_string());
            }
            !goes
        });
        gone.keys().for_each(|name| self.index.remove(menu, name));
        self.rename(menu, &gone);
        self.changed(line.at);
        Ok(Reply::Nothing)
    }

    /// `move items destination`: before that item; to the end without one.
    pub(crate) fn shift(&mut self, menu: &'static Menu, line: Line) -> Result<Reply, Error> {
        let mut words = [None, None];
        for (i, word) in line.words.iter().enumerate() {
            let place = match &word.name {
                None => i,
                Some((name, Operator::Equal)) if name == "numbers" => 0,
                Some((name, Operator::Equal)) if name == "destination" => 1,
                Some(_) => 2,
            };
            match words.get_mut(place) {
                Some(empty @ None) => *empty = Some(word),
                _ => return Err(Error::end_of_command(word.at)),
            }
        }
        let numbers = words[0].ok_or_else(|| missing(line, "numbers"))?;
        let ids = self.select(menu, numbers, line.path)?;
        let before = match words[1] {
            Some(word) => match self.select(menu, word, line.path)?.as_slice() {
                [id] => Some(*id),
                _ => return Err(Error::new(word.value_at, "no such item")),
            },
            None => None,
        };
        self.edit(line.at)?;
        self.places(menu, line, &ids, "move")?;
        let chosen: HashSet<ItemId> = ids.iter().copied().collect();
        let items = self.tree.items_mut(menu.path);
        // Before an item that moves itself means before the next one that stays.
        let from = before.and_then(|id| items.iter().position(|item| item.id == id));
        let stays = |item: &&Arc<Item>| !chosen.contains(&item.id);
        let before = from.and_then(|from| items[from..].iter().find(stays).map(|item| item.id));
        let (mut moved, mut stay): (Vec<Arc<Item>>, Vec<Arc<Item>>) =
            std::mem::take(items).into_iter().partition(|item| chosen.contains(&item.id));
        moved.sort_by_key(|item| ids.iter().position(|id| *id == item.id));
        let place = before.and_then(|id| stay.iter().position(|item| item.id == id));
        let place = place.unwrap_or(stay.len());
        stay.splice(place..place, moved);
        *items = stay;
        self.changed(line.at);
        Ok(Reply::Nothing)
    }

    /// The items of a command that takes nothing else.
    pub(crate) fn only_items(
        &mut self,
        menu: &'static Menu,
        line: Line,
    ) -> Result<Vec<ItemId>, Error> {
        let mut extras = BTreeMap::new();
        for word in line.words {
            let named = word.name.as_ref().is_some_and(|(name, _)| name != "numbers");
            if named || extras.insert("numbers", word).is_some() {
                return Err(Error::end_of_command(word.at));
            }
        }
        self.selected(menu, line, &extras)
    }

    pub(crate) fn selected(
        &mut self,
        menu: &'static Menu,
        line: Line,
        extras: &BTreeMap<&'static str, &Word>,
    ) -> Result<Vec<ItemId>, Error> {
        let word = extras.get("numbers").ok_or_else(|| missing(line, "numbers"))?;
        self.select(menu, word, line.path)
    }

    /// Changes items, all of them or none.
    fn change(
        &mut self,
        menu: &'static Menu,
        line: Line,
        ids: &[ItemId],
        verb: &str,
        changes: &Changes,
    ) -> Result<Reply, Error> {
        self.edit(line.at)?;
        let places = self.places(menu, line, ids, verb)?;
        let mut old = Vec::with_capacity(places.len());
        for (member, place) in places {
            match self.change_one(menu, member, place, line, changes) {
                Ok(item) => old.push((member, place, item)),
                Err(error) => {
                    for (member, place, item) in old.into_iter().rev() {
                        self.replace(member, place, item);
                    }
                    return Err(error);
                }
            }
        }
        self.changed(line.at);
        Ok(Reply::Nothing)
    }

    /// Changes one item, and returns what it was.
    fn change_one(
        &mut self,
        menu: &'static Menu,
        member: &'static Menu,
        place: usize,
        line: Line,
        changes: &Changes,
    ) -> Result<Arc<Item>, Error> {
        let own;
        let changes = if member.path == menu.path {
            changes
        } else {
            own = self.of_member(member, line, changes)?;
            &own
        };
        let mut item = Item::clone(&self.tree.items(member.path)[place]);
        changes.apply(&mut item);
        self.check(member, &item, line)?;
        Ok(self.replace(member, place, Arc::new(item)))
    }

    /// Puts an item in the place of another, and returns that. References follow its name.
    fn replace(&mut self, menu: &'static Menu, place: usize, item: Arc<Item>) -> Arc<Item> {
        let new = menu.key().map(|key| item.name(key).to_string());
        let old = std::mem::replace(&mut self.tree.items_mut(menu.path)[place], item);
        let names = menu.key().map(|key| old.name(key).to_string()).zip(new);
        if let Some(names) = names.filter(|(old, new)| old != new) {
            self.index.remove(menu, &names.0);
            self.index.add(menu, &names.1, old.id);
            self.rename(menu, &[names].into());
        }
        old
    }

    /// What was said to a menu that unites others, as the item's own menu understands it.
    fn of_member(
        &mut self,
        member: &'static Menu,
        line: Line,
        changes: &Changes,
    ) -> Result<Changes, Error> {
        let mut own = Changes { values: Vec::new(), ..changes.clone() };
        for (said, value) in &changes.values {
            let property = member.property(said.name);
            let property = property.filter(|property| property.access != Access::ReadOnly);
            let Some(property) = property else {
                let help = format!("{} has no {}", member.path, said.name);
                return Err(Error::end_of_command(line.at).help(help));
            };
            if let (Access::Missing(remark), Some(_)) = (property.access, value) {
                return Err(Error::missing(line.at, remark));
            }
            let value = match value {
                // The tables may differ in what they take.
                Some(value) => Some(self.read_as(
                    &value.to_string(),
                    property.name,
                    &property.kind,
                    line.at,
                )?),
                None => None,
            };
            own.values.push((property, value));
        }
        Ok(own)
    }

    /// The rules every item obeys: what is required is there, names differ; then the device's.
    fn check(&mut self, menu: &'static Menu, item: &Item, line: Line) -> Result<(), Error> {
        let required = menu.properties.iter().filter(|property| {
            let is_key = menu.key() == Some(property.name);
            (property.access == Access::Required || is_key) && item.get(property.name).is_none()
        });
        let absent: Vec<&str> = required.map(|property| property.name).collect();
        if !absent.is_empty() {
            return Err(missing(line, &absent.join(" ")));
        }
        if menu.path == inert::MENU.path {
            inert::check(item).map_err(|text| Error::new(line.at, text))?;
        }
        if let Some(key) = menu.key() {
            let name = item.name(key);
            let namespace = self.language.namespace(menu.path);
            for &other in namespace {
                if self
                    .named(other, name)
                    .is_some_and(|id| id != item.id || other.path != menu.path)
                {
                    // Names shared by several menus are those of `/interface …`.
                    let kind = menu.path.trim_start_matches('/').split(' ').next().unwrap_or("");
                    let several = namespace.len() > 1;
                    let what =
                        if several { format!("{kind} with such") } else { "such".to_string() };
                    return Err(Error::new(line.at, format!("failure: already have {what} {key}"))
                        .help(format!("{name} is in {}", other.path)));
                }
            }
        }
        let ours = self.language.check(menu, item);
        let checked = ours.and_then(|()| self.host.check(menu, item, &self.tree));
        checked.map_err(|text| Error::new(line.at, text))
    }

    /// What the device does itself of a command that lists have: entries that it keeps.
    fn own_command(&self, menu: &Menu, name: &str) -> Option<&'static Command> {
        let commands = self.language.commands().iter().copied();
        { commands }.find(|command| command.menu == menu.path && command.name == name)
    }

    /// Where the items stand, in the order asked for.
    ///
    /// # Errors
    /// If one was made by the device and not by the user.
    fn places(
        &self,
        menu: &Menu,
        line: Line,
        ids: &[ItemId],
        verb: &str,
    ) -> Result<Vec<(&'static Menu, usize)>, Error> {
        let wanted: HashSet<ItemId> = ids.iter().copied().collect();
        let is_wanted = |id: &ItemId| match ids {
            [one] => one == id,
            _ => wanted.contains(id),
        };
        let mut places = HashMap::new();
        for &member in self.language.members(menu.path) {
            let items = self.tree.items(member.path).iter().enumerate();
            let ours = items.filter(|(_, item)| is_wanted(&item.id) && !item.dynamic);
            places.extend(ours.map(|(place, item)| (item.id, (member, place))));
        }
        let places: Option<Vec<_>> = ids.iter().map(|id| places.get(id).copied()).collect();
        let kind = menu.path.rsplit([' ', '/']).next().unwrap_or("item");
        places.ok_or_else(|| Error::new(line.at, format!("failure: cannot {verb} dynamic {kind}")))
    }

    fn place_of(&self, menu: &Menu, id: ItemId) -> Option<usize> {
        self.tree.items(menu.path).iter().position(|item| item.id == id)
    }

    /// References follow when an item is renamed.
    fn rename(&mut self, menu: &Menu, new_names: &HashMap<String, String>) {
        if new_names.is_empty() {
            return;
        }
        let known_as = self.language.known_as(menu.path);
        for other in self.language.menus() {
            for property in other.properties {
                let mut refers = false;
                property.kind.each_reference(&mut |paths| {
                    refers |= paths.iter().any(|path| known_as.contains(path));
                });
                if !refers {
                    continue;
                }
                for item in self.tree.existing_mut(other.path) {
                    let Some(old) = item.get(property.name) else { continue };
                    let mut value = old.clone();
                    property.kind.rename(&mut value, known_as, new_names);
                    if value != *old {
                        Arc::make_mut(item).values.insert(property.name, value);
                    }
                }
            }
        }
    }
}

fn is_ordered(menu: &Menu) -> bool {
    matches!(menu.kind, MenuKind::List { ordered: true, .. })
}
