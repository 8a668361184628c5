//! Additions of the running device to the configuration: values only it knows, items it made itself, and
//! rules about items.

use crate::{Item, ItemId, Menu, Tree, Value};
use std::collections::BTreeMap;

/// Asked by the interpreter for what only the device knows. All methods have an answer, so a
/// device implements what it has; `()` is a device that knows nothing.
///
/// Never changes anything; commands that do are a [`Host`](crate::Host)'s.
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
    /// is to be true. Those from [`FIRST_AHEAD`] on come first, and are few.
    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        let _ = menu;
        Vec::new()
    }

    /// [`dynamic`](Self::dynamic), a page at a time: at most `max` items of those behind `after`. A
    /// device with many items of its own (connections) walks its table here, so that nobody needs
    /// them all at once.
    fn dynamic_page(&self, menu: &Menu, after: Option<ItemId>, max: usize) -> Vec<Item> {
        let all = self.dynamic(menu);
        let from = after.map_or(0, |after| {
            all.iter().position(|item| item.id == after).map_or(all.len(), |at| at + 1)
        });
        all.into_iter().skip(from).take(max).collect()
    }

    /// One of [`dynamic`](Self::dynamic), by its identity. A device with many items of its own knows better
    /// than to look at them all: scripts ask for each.
    fn dynamic_item(&self, menu: &Menu, id: ItemId) -> Option<Item> {
        self.dynamic(menu).into_iter().find(|item| item.id == id)
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

    /// The values of the items that a list begins with on a new device, in their order; `default` is yes
    /// in each. An export says how they differ from that.
    fn factory(&self, menu: &Menu) -> Vec<BTreeMap<&'static str, Value>> {
        let _ = menu;
        Vec::new()
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
