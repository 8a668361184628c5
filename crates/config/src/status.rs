//! What the running device adds to the configuration: values only it knows, items it made itself,
//! rules about items, and commands of its own.

use crate::{Item, ItemId, Menu, Property, Tree, Value};
use std::collections::BTreeMap;

/// Asked by the interpreter for what only the device knows. All methods have an answer, so a
/// device implements what it has; `()` is a device that knows nothing.
///
/// Never changes anything: commands that do are handed out as [`Call`]s once the script is
/// taken over.
pub trait Status {
    /// The value of a read-only property (a counter, an `actual-mtu`, a flag), or of one that was
    /// not typed and has no default (a port's own `mac-address`). For a settings menu `item` is
    /// `None` as long as nothing was typed in it.
    fn value(&self, menu: &Menu, item: Option<&Item>, property: &str) -> Option<Value> {
        let _ = (menu, item, property);
        None
    }

    /// A remark on an item, shown as a comment: why it is invalid.
    fn remark(&self, menu: &Menu, item: &Item) -> Option<String> {
        let _ = (menu, item);
        None
    }

    /// Items the device made, shown behind the user's, or from [`FIRST_AHEAD`] on ahead of them.
    /// Their identities start at [`FIRST_DYNAMIC`] and must be stable from call to call; `dynamic`
    /// is to be true.
    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        let _ = menu;
        Vec::new()
    }

    /// A rule about a whole item, asked when an `add` or `set` is about to put it into `tree`,
    /// which holds the item's old state, if it has one.
    ///
    /// # Errors
    /// RouterOS's words: `failure: ports can be specified if proto is tcp,udp,udp-lite,dccp,sctp`.
    fn check(&self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        let _ = (menu, item, tree);
        Ok(())
    }

    /// The lines at the head of an export, without `# `: the date, the model.
    fn banner(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Status for () {}

/// The first identity of a dynamic item; the tree's own stay below.
pub const FIRST_DYNAMIC: u32 = 0x8000_0000;

/// Dynamic items from this identity on are shown ahead of the user's: RouterOS's dummy rules.
pub const FIRST_AHEAD: u32 = 0xffff_0000;

/// The items of a menu as they are shown: those of the user with those of the device around them.
pub(crate) fn around<'a>(
    own: &'a [Item],
    dynamic: &'a [Item],
) -> impl Iterator<Item = &'a Item> + Clone {
    let is_ahead = |item: &&Item| item.id.0 >= FIRST_AHEAD;
    let behind = dynamic.iter().filter(move |item| !is_ahead(item));
    dynamic.iter().filter(is_ahead).chain(own).chain(behind)
}

/// A command of the device's own in one menu: `reset-counters`, `quick`, `monitor-traffic`. The
/// interpreter reads its arguments; the device runs it ([`Call`]).
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The menu's path. There need not be a [`Menu`] of this path.
    pub menu: &'static str,
    /// As typed.
    pub name: &'static str,
    /// What a word without `=` means.
    pub unnamed: Unnamed,
    /// The parameters.
    pub parameters: &'static [Property],
    /// One sentence.
    pub help: &'static str,
}

/// What a word without `=` means to a [`Command`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// It is refused.
    Nothing,
    /// It selects items of the menu: `reset-counters 0,1`.
    Items,
    /// It is the value of this parameter: `ping 1.2.3.4`.
    Parameter(&'static str),
}

/// A command to run, its arguments read and checked.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which.
    pub command: &'static Command,
    /// The items selected; `None` if no selector was given.
    pub items: Option<Vec<ItemId>>,
    /// The arguments given. Those that are not here have their defaults.
    pub arguments: BTreeMap<&'static str, Value>,
}

impl Call {
    /// What was given for a parameter, else its default.
    pub fn argument(&self, name: &str) -> Option<Value> {
        let parameter = self.command.parameters.iter().find(|parameter| parameter.name == name);
        let given = self.arguments.get(name).cloned();
        given.or_else(|| parameter.and_then(Property::default_value))
    }
}
