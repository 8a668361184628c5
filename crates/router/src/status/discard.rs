//! `/tool discard`: what the router dropped, by reason. Our own menu: RouterOS does not tell.
//!
//! ```text
//!  #   REASON       PACKETS MEANING
//!  0   no-route         312 No route.
//!  1   filter-drop       25 `/ip firewall filter` said drop.
//! ```
//!
//! Only reasons that occurred are shown, since the router was started. What a port lost on the wire
//! (`rx-drop`, `tx-drop` of `/interface print stats`) never was the router's, and is not here.

use super::{RouterStatus, Values, dynamic, number, numbered};
use crate::facility::{Facility, Rows};
use config::{Item, Menu, MenuKind, Property, Type, Value};

/// The facility.
pub(crate) static FACILITY: Facility =
    Facility { rows: Rows::Few(discards), ..Facility::of(&DISCARD) };

/// `/tool discard`.
static DISCARD: Menu = Menu {
    path: "/tool discard",
    kind: MenuKind::List { key: Some("reason"), auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("reason", Type::Text, "Why, in a word.").read_only().column(),
        Property::new("packets", Type::Number(0, i64::MAX), "How many.").read_only().column(),
        Property::new("meaning", Type::Text, "Why, in a sentence.").read_only().column(),
    ],
    help: "What was dropped, by reason.",
};

/// `/tool discard`: the reasons that occurred.
fn discards(status: &RouterStatus) -> Vec<Item> {
    let occurred = status.router.discards().iter().map(|(reason, packets)| {
        let values = Values::from([
            ("reason", Value::Text(reason.to_string())),
            ("packets", number(packets)),
            ("meaning", Value::Text(reason.meaning().to_string())),
        ]);
        dynamic(numbered(reason as u64), values)
    });
    occurred.collect()
}
