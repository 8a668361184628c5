//! `/ip accounting`: how much went from whom to whom, of what is forwarded.
//!
//! ```text
//! filter forward ─► [ACCOUNTING] ─► mangle postrouting
//!                      └─ addresses ─► a counter of their own, as a rule has one ─► recipes list it
//! snapshot take:  what was counted since the last one ─► /ip accounting snapshot; all begins anew
//! ```
//!
//! The box stands behind dst-nat and before src-nat. A pair of addresses has a counter, so that packets that go by
//! recipes are counted for nothing; flows of the same pair share recipes. As in RouterOS it closes IPv4 FastPath, and does not
//! see what is FastTracked. Of more pairs than `threshold` the packets are uncounted.
//!
//! **Missing**: what is from the router or for it (`account-local-traffic`), users, the web page, IPv6 (which
//! RouterOS does not account either).

use crate::counter::{Count, CounterId};
use crate::facility::{DONE, Facility, Rows};
use crate::packet::Packet;
use crate::parts::Stacked;
use crate::router::Router;
use crate::status::{BY_PLACE, RouterStatus, Values, dynamic, ip, number};
use config::{
    Call, Command, Display, Item, ItemId, Menu, MenuKind, Property, Started, Tree, Type, Unnamed,
    Value,
};
use std::collections::HashMap;
use wire::Moment;
use wire::layers::ETHERTYPE_IPV4;

/// `/ip accounting`.
pub(crate) static ACCOUNTING: Menu = Menu {
    path: "/ip accounting",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether what is forwarded is accounted.")
            .default("no"),
        Property::only(
            "account-local-traffic",
            &Type::Bool,
            &["no"],
            "only what is forwarded is accounted",
        )
        .default("no"),
        Property::new("threshold", Type::Number(1, 8192), "Pairs of addresses at most.")
            .default("256"),
    ],
    help: "How much went from whom to whom.",
};

/// `/ip accounting snapshot`.
pub(crate) static SNAPSHOT: Menu = Menu {
    path: "/ip accounting snapshot",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("src-address", Type::Address, "From whom.").read_only().column(),
        Property::new("dst-address", Type::Address, "To whom.").read_only().column(),
        Property::new("packets", Type::Number(0, i64::MAX), "How many.").read_only().column(),
        Property::new("bytes", Type::Number(0, i64::MAX), "Their IP bytes.").read_only().column(),
    ],
    help: "What was accounted when a snapshot was taken.",
};

/// `/ip accounting uncounted`.
pub(crate) static UNCOUNTED: Menu = Menu {
    path: "/ip accounting uncounted",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("packets", Type::Number(0, i64::MAX), "Packets of pairs beyond threshold.")
            .read_only(),
        Property::new("bytes", Type::Number(0, i64::MAX), "Their IP bytes.").read_only(),
    ],
    help: "What was not accounted since the last snapshot.",
};

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    compile: |c| {
        let item = c.tree.read_settings(&ACCOUNTING);
        let most = item.number("threshold") as u32;
        c.program.accounted = item.bool("enabled").then_some(most);
    },
    relearn: true,
    ..Facility::of(&ACCOUNTING)
};

/// `/ip accounting snapshot`.
pub(crate) static SNAPSHOTS: Facility =
    Facility { rows: Rows::Few(rows), commands: &[(&TAKE, take)], ..Facility::of(&SNAPSHOT) };

/// `/ip accounting uncounted`.
pub(crate) static REST: Facility = Facility { setting: rest, ..Facility::of(&UNCOUNTED) };

static TAKE: Command = Command {
    menu: SNAPSHOT.path,
    name: "take",
    unnamed: Unnamed::Nothing,
    parameters: &[],
    display: Display::Nothing,
    help: "Shows what was accounted since the last time, and begins anew.",
};

/// What is accounted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    /// Source and destination, and their counter.
    pairs: HashMap<(u32, u32), u32>,
    /// What the last snapshot has.
    taken: Vec<(u32, u32, Count)>,
}

/// The counter of what is uncounted; pairs have those behind it.
const BEYOND: u32 = 0;

/// ACCOUNTING: the packet's pair of addresses has one more.
pub(crate) fn count<F: Stacked>(r: &mut Router, p: &mut Packet) {
    let Some(most) = r.program.accounted.filter(|_| F::ETHERTYPE == ETHERTYPE_IPV4) else { return };
    let pairs = &mut r.services.accounts.pairs;
    let (pair, known) = ((p.layers.tuple.src, p.layers.tuple.dst), pairs.len() as u32);
    let counter = match pairs.get(&pair) {
        Some(&counter) => counter,
        None if known >= most => BEYOND,
        None => *pairs.entry(pair).or_insert(known + 1),
    };
    let counter = CounterId::of_pair(counter);
    r.stats.counters.add(counter, p.ip_len.into());
    p.trace.counters.push(counter);
}

fn take(r: &mut Router, _: &Call, _: &Tree, _: Moment) -> Result<Started<Router>, String> {
    r.learnt.recipes.fold(&mut r.stats.counters);
    let counters = &r.stats.counters;
    let pairs = std::mem::take(&mut r.services.accounts.pairs);
    let counted = pairs
        .into_iter()
        .map(|((src, dst), counter)| (src, dst, counters.get(CounterId::of_pair(counter))));
    let mut taken: Vec<_> = counted.collect();
    taken.sort_unstable_by_key(|&(src, dst, _)| (src, dst));
    r.services.accounts.taken = taken;
    r.stats.counters.forget_pairs();
    // Their counters are others' from now on.
    r.learnt.recipes.forget();
    DONE
}

fn rows(status: &RouterStatus) -> Vec<Item> {
    let row = |(n, &(src, dst, count)): (u32, &(u32, u32, Count))| {
        let values = Values::from([
            ("src-address", ip(src)),
            ("dst-address", ip(dst)),
            ("packets", number(count.packets)),
            ("bytes", number(count.bytes)),
        ]);
        dynamic(ItemId(BY_PLACE + n), values)
    };
    (0..).zip(&status.router.services.accounts.taken).map(row).collect()
}

fn rest(status: &RouterStatus, property: &str) -> Option<Value> {
    let Count { packets, bytes } = status.router.stats.counters.get(CounterId::of_pair(BEYOND));
    match property {
        "packets" => Some(number(packets)),
        "bytes" => Some(number(bytes)),
        _ => None,
    }
}
