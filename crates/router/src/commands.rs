//! What the console can tell a running router to do beside changing its configuration: counters
//! back to zero, connections away; what takes time is in [`tool`](crate::tool).
//!
//! ```text
//! config::Interpreter ─► Output::calls ─► (configure first) ─► Router::start ─┬─► done at once: here
//!                                                                             └─► tool
//! ```

use crate::interface::bridge;
use crate::interface::monitor::MONITOR;
use crate::parts::{InterfaceCounts, Trouble};
use crate::router::Router;
use crate::status;
use crate::tool::explain;
use crate::tool::monitor::MONITOR_TRAFFIC;
use crate::tool::ping::{FLOOD_PING, PING};
use crate::tool::profile;
use crate::tool::sniffer::menu::{QUICK, SAVE, START, STOP};
use crate::tool::torch::TORCH;
use config::{Call, Command, Display, ItemId, Tree, Unnamed};

/// The commands of the router's menus, for [`config::Interpreter::with_commands`].
pub static COMMANDS: [&Command; 22] = [
    &explain::COMMAND,
    &profile::COMMAND,
    &PING,
    &FLOOD_PING,
    &TORCH,
    &START,
    &STOP,
    &SAVE,
    &QUICK,
    &MONITOR_TRAFFIC,
    &MONITOR,
    &reset("/ip firewall filter"),
    &reset_all("/ip firewall filter"),
    &reset("/ip firewall nat"),
    &reset_all("/ip firewall nat"),
    &reset("/interface bridge filter"),
    &reset_all("/interface bridge filter"),
    &reset("/queue simple"),
    &reset_all("/queue simple"),
    &reset("/interface"),
    &reset("/interface ethernet"),
    &Command {
        menu: "/ip firewall connection",
        name: "remove",
        unnamed: Unnamed::Items,
        parameters: &[],
        display: Display::Nothing,
        help: "Ends connections; their next packets begin new ones.",
    },
];

const fn reset(menu: &'static str) -> Command {
    let help = "Sets the counters of these items to zero.";
    Command {
        menu,
        name: "reset-counters",
        unnamed: Unnamed::Items,
        parameters: &[],
        display: Display::Nothing,
        help,
    }
}

const fn reset_all(menu: &'static str) -> Command {
    let help = "Sets the counters of all items to zero.";
    Command {
        menu,
        name: "reset-counters-all",
        unnamed: Unnamed::Nothing,
        parameters: &[],
        display: Display::Nothing,
        help,
    }
}

impl Router {
    /// Runs one of the commands that take no time. The dummy rule's counters stay, which are those
    /// of FastTrack itself.
    ///
    /// # Errors
    /// RouterOS's words for a command without items, and for one that is not the router's.
    pub(crate) fn at_once(&mut self, call: &Call, tree: &Tree) -> Result<(), String> {
        let all = || tree.items(call.command.menu).iter().map(|item| item.id).collect();
        let items: Vec<ItemId> = match (call.command.unnamed, &call.items) {
            (Unnamed::Items, Some(items)) => items.clone(),
            (Unnamed::Items, None) => {
                return Err("missing value(s) of argument(s) numbers".to_string());
            }
            _ => all(),
        };
        self.learnt.recipes.fold(&mut self.stats.counters);
        match (call.command.menu, call.command.name) {
            ("/ip firewall connection", "remove") => {
                for connection in items.into_iter().filter_map(status::connection) {
                    self.v4.connections.remove(connection);
                }
            }
            ("/queue simple", "reset-counters" | "reset-counters-all") => {
                let books = &self.program.books;
                let queues = items.into_iter().filter_map(|item| books.queues.find(item));
                queues.for_each(|queue| self.queues.reset(queue));
            }
            ("/interface" | "/interface ethernet", "reset-counters") => {
                let ids = &self.program.books.interfaces;
                for id in items.into_iter().filter_map(|item| ids.find(item)) {
                    self.stats.interface_counts[id.index()] = InterfaceCounts::default();
                    self.stats.troubles[id.index()] = Trouble::default();
                }
            }
            (menu, "reset-counters" | "reset-counters-all") if has_rules(menu) => {
                let book = &self.program.books.counters;
                for id in items.into_iter().filter_map(|item| book.find(item)) {
                    self.stats.counters.reset(id);
                }
            }
            (_, name) => return Err(format!("bad command name {name}")),
        }
        Ok(())
    }
}

fn has_rules(menu: &str) -> bool {
    use crate::firewall::menu::{FILTER, NAT};
    [FILTER.path, NAT.path, bridge::filter::menu::FILTER.path].contains(&menu)
}
