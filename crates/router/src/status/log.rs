//! `/log`: what rules, scripts and tools have said.
//!
//! ```text
//! 00:00:01 firewall,info forward: in:ether1 out:ether2, connection-state:new … len 60
//! ```
//!
//! Times are those of the device's own clock, from its start: it has no other.

use super::{RouterStatus, Values, behind, dynamic, numbered};
use crate::facility::{Facility, Rows};
use crate::interface::InterfaceId;
use config::{Item, ItemId, Menu, MenuKind, Property, Type, Value};
use wire::Moment;

/// The facility.
pub(crate) static FACILITY: Facility =
    Facility { rows: Rows::Many { page: log, item: None }, ..Facility::of(&LOG) };

/// `/log`.
static LOG: Menu = Menu {
    path: "/log",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("time", Type::Text, "When, since the start.").read_only().line(),
        Property::new("topics", Type::Text, "Who says it, and how important it is.")
            .read_only()
            .line(),
        Property::new("message", Type::Text, "What.").read_only().line(),
        Property::new("buffer", Type::Text, "The action of /system logging that it is kept by.")
            .read_only(),
    ],
    help: "What rules, scripts and tools have said.",
};

/// `02:15:09`, behind the days if there are any.
pub(crate) fn time(at: Moment) -> String {
    let seconds = at.as_nanos() / 1_000_000_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let clock = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    if days == 0 { clock } else { format!("{days}d {clock}") }
}

/// `/log`, oldest first: at most `max` behind an item.
fn log(status: &RouterStatus, after: Option<ItemId>, max: usize) -> Vec<Item> {
    let first = status.router.stats.log.iter().next().map_or(0, |line| line.number);
    let names = |id| {
        let interface = status.router.program.interfaces.get(InterfaceId::index(id))?;
        Some(&*interface.name)
    };
    let lines = status.router.stats.log.from(behind(first, after)).take(max).map(|line| {
        let values = Values::from([
            ("time", Value::Text(time(line.at))),
            ("topics", Value::Text(line.topics().to_string())),
            ("buffer", Value::Text(line.buffer().to_string())),
            ("message", Value::Text(line.display(names).to_string())),
        ]);
        dynamic(numbered(line.number), values)
    });
    lines.collect()
}
