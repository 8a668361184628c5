//! The facilities of the firewall's tables: `/ip firewall raw`, `mangle`, `filter`, `nat` and
//! `address-list`.

use super::address_list::{AddressLists, entries};
use super::compile::Setting;
use super::filter::{self, Filter};
use super::mangle::{self, Mangle};
use super::matcher::layer7::{self, Patterns};
use super::menu;
use super::nat::Nat;
use super::raw::{self, Raw};
use crate::compiler::Compiling;
use crate::counter::Count;
use crate::facility::{self, DONE, Facility, Rows};
use crate::interface::bridge::facilities::SETTINGS as BRIDGES;
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::ppp::filters;
use crate::ip::facilities::ROUTE;
use crate::ip::ipsec::facilities::POLICY as IPSEC;
use crate::ip::nat_pmp;
use crate::ipv6::firewall as firewall6;
use crate::router::Router;
use crate::status::{RouterStatus, number};
use config::{Call, FIRST_AHEAD, Item, ItemId, Started, Tree, Value};
use std::sync::Arc;
use wire::Moment;

/// `/ip firewall address-list`.
pub(crate) static ADDRESS_LIST: Facility = Facility {
    compile: |c| c.program.lists = Arc::new(AddressLists::compile(c.tree)),
    check: |item, _| menu::check_entry(item),
    rows: Rows::Few(entries::rows),
    commands: &[(&entries::ADD, entries::add), (&entries::REMOVE, entries::remove)],
    ..Facility::of(&menu::ADDRESS_LIST)
};

/// `/ip firewall layer7-protocol`.
pub(crate) static LAYER7: Facility = Facility {
    compile: |c| c.program.patterns = Arc::new(Patterns::compile(c.tree)),
    ..Facility::of(&layer7::LAYER7)
};

/// `/ip firewall raw`.
pub(crate) static RAW: Facility = Facility {
    after: &[&INTERFACES, &BRIDGES, &ADDRESS_LIST, &LAYER7, &IPSEC],
    compile: |c| {
        c.remove_rules(&raw::MENU);
        let (old, before) = (c.program.raw.clone(), c.before(&RAW));
        let patched = before.and_then(|before| old.patched(&mut setting(c), before));
        let raw = patched.unwrap_or_else(|| Raw::compile(&mut setting(c)));
        c.program.raw = Arc::new(raw);
    },
    check: |item, _| menu::check(item),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| Some(status.router.program.raw.invalid(item.id)?.to_string()),
    commands: &[
        (&facility::reset(&raw::MENU), reset_rules),
        (&facility::reset_all(&raw::MENU), reset_rules),
    ],
    ..Facility::of(&raw::MENU)
};

/// `/ip firewall mangle`.
pub(crate) static MANGLE: Facility = Facility {
    after: &[&INTERFACES, &BRIDGES, &ADDRESS_LIST, &LAYER7, &IPSEC],
    compile: |c| {
        c.remove_rules(&mangle::MENU);
        let (old, before) = (c.program.mangle.clone(), c.before(&MANGLE));
        let patched = before.and_then(|before| old.patched(&mut setting(c), before));
        let mangle = patched.unwrap_or_else(|| Mangle::compile(&mut setting(c)));
        c.program.mangle = Arc::new(mangle);
        // Gateways of rules are routes.
        let before = c.last_tree().map(mangle::gateways);
        if !c.has_compiled(&ROUTE) && before.is_some_and(|old| old != mangle::gateways(c.tree)) {
            (ROUTE.compile)(c);
        }
    },
    check: |item, _| menu::check(item),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| Some(status.router.program.mangle.invalid(item.id)?.to_string()),
    rows: Rows::Few(|status| dummy_rules(status, &mangle::DUMMIES)),
    commands: &[
        (&facility::reset(&mangle::MENU), reset_rules),
        (&facility::reset_all(&mangle::MENU), reset_rules),
    ],
    ..Facility::of(&mangle::MENU)
};

/// `/ip firewall filter`.
pub(crate) static FILTER: Facility = Facility {
    after: &[&INTERFACES, &BRIDGES, &ADDRESS_LIST, &LAYER7, &IPSEC],
    compile: |c| {
        c.remove_rules(&menu::FILTER);
        let (old, before) = (c.program.filter.clone(), c.before(&FILTER));
        let of_sessions = filters::rules(&c.program.opened);
        let before = before.filter(|_| of_sessions.is_empty());
        let patched = before.and_then(|before| old.patched(&mut setting(c), before));
        let whole = || Filter::compile_and(&mut setting(c), &of_sessions);
        let filter = patched.unwrap_or_else(whole);
        c.program.filter = Arc::new(filter);
    },
    check: |item, _| menu::check(item),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| {
        let filter = &status.router.program.filter;
        let why = filter.invalid(item.id).map(ToString::to_string);
        why.or_else(|| shadow(filter.shadowed_by(item.id)?, made_rules(status).len()))
    },
    rows: Rows::Few(made_rules),
    commands: &[
        (&facility::reset(&menu::FILTER), reset_rules),
        (&facility::reset_all(&menu::FILTER), reset_rules),
    ],
    ..Facility::of(&menu::FILTER)
};

/// `/ip firewall nat`.
pub(crate) static NAT: Facility = Facility {
    after: &[&INTERFACES, &BRIDGES, &ADDRESS_LIST, &LAYER7, &IPSEC],
    compile: |c| {
        c.remove_rules(&menu::NAT);
        let (old, before) = (c.program.nat.clone(), c.before(&NAT));
        let patched = before.and_then(|before| old.patched(&mut setting(c), before));
        let nat = patched.unwrap_or_else(|| Nat::compile(&mut setting(c)));
        c.program.nat = Arc::new(nat);
    },
    check: |item, _| menu::check(item),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| {
        let nat = &status.router.program.nat;
        let why = nat.invalid(item.id).map(ToString::to_string);
        why.or_else(|| shadow(nat.shadowed_by(item.id)?, 0))
    },
    rows: Rows::Few(nat_pmp::rules),
    commands: &[
        (&facility::reset(&menu::NAT), reset_rules),
        (&facility::reset_all(&menu::NAT), reset_rules),
    ],
    ..Facility::of(&menu::NAT)
};

/// `/ipv6 firewall address-list`.
pub(crate) static ADDRESS_LIST6: Facility = Facility {
    part_of: Some(&ADDRESS_LIST),
    check: |item, _| menu::check_entry(item),
    rows: Rows::Few(entries::rows6),
    commands: &[(&entries::ADD6, entries::add6), (&entries::REMOVE6, entries::remove6)],
    ..Facility::of(&firewall6::ADDRESS_LIST)
};

/// `/ipv6 firewall raw`.
pub(crate) static RAW6: Facility = Facility {
    after: &[&INTERFACES, &BRIDGES, &ADDRESS_LIST],
    compile: |c| {
        c.remove_rules(&firewall6::RAW);
        c.program.v6.raw = Some(Arc::new(Raw::compile6(&mut setting(c), firewall6::RAW.path)));
    },
    check: |item, _| menu::check_of(item, "icmpv6"),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| {
        Some(status.router.program.v6.raw.as_ref()?.invalid(item.id)?.to_string())
    },
    commands: &[
        (&facility::reset(&firewall6::RAW), reset_rules),
        (&facility::reset_all(&firewall6::RAW), reset_rules),
    ],
    ..Facility::of(&firewall6::RAW)
};

/// `/ipv6 firewall mangle`.
pub(crate) static MANGLE6: Facility = Facility {
    after: &[&INTERFACES, &BRIDGES, &ADDRESS_LIST],
    compile: |c| {
        c.remove_rules(&firewall6::MANGLE);
        let mangle = Mangle::compile6(&mut setting(c), firewall6::MANGLE.path);
        c.program.v6.mangle = Some(Arc::new(mangle));
    },
    check: |item, _| menu::check_of(item, "icmpv6"),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| {
        Some(status.router.program.v6.mangle.as_ref()?.invalid(item.id)?.to_string())
    },
    rows: Rows::Few(|status| dummy_rules6(status, &mangle::DUMMIES)),
    commands: &[
        (&facility::reset(&firewall6::MANGLE), reset_rules),
        (&facility::reset_all(&firewall6::MANGLE), reset_rules),
    ],
    ..Facility::of(&firewall6::MANGLE)
};

/// `/ipv6 firewall filter`.
pub(crate) static FILTER6: Facility = Facility {
    after: &[&INTERFACES, &BRIDGES, &ADDRESS_LIST],
    compile: |c| {
        c.remove_rules(&firewall6::FILTER);
        let filter = firewall6::Filter::compile(&mut setting(c));
        c.program.v6.filter = Some(Arc::new(filter));
    },
    check: |item, _| menu::check_of(item, "icmpv6"),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| {
        let filter = status.router.program.v6.filter.as_ref()?;
        let why = filter.invalid(item.id).map(ToString::to_string);
        why.or_else(|| {
            shadow(filter.shadowed_by(item.id)?, dummy_rules6(status, &["forward"]).len())
        })
    },
    rows: Rows::Few(|status| dummy_rules6(status, &["forward"])),
    commands: &[
        (&facility::reset(&firewall6::FILTER), reset_rules),
        (&facility::reset_all(&firewall6::FILTER), reset_rules),
    ],
    ..Facility::of(&firewall6::FILTER)
};

/// `/ipv6 firewall nat`.
pub(crate) static NAT6: Facility = Facility {
    after: &[&INTERFACES, &BRIDGES, &ADDRESS_LIST],
    compile: |c| {
        c.remove_rules(&firewall6::NAT);
        c.program.v6.nat = Some(Arc::new(Nat::compile6(&mut setting(c))));
    },
    check: |item, _| menu::check_of(item, "icmpv6"),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| {
        let nat = status.router.program.v6.nat.as_ref()?;
        let why = nat.invalid(item.id).map(ToString::to_string);
        why.or_else(|| shadow(nat.shadowed_by(item.id)?, 0))
    },
    commands: &[
        (&facility::reset(&firewall6::NAT), reset_rules),
        (&facility::reset_all(&firewall6::NAT), reset_rules),
    ],
    ..Facility::of(&firewall6::NAT)
};

/// Why no packet reaches a rule: that of this number, behind those the router made itself.
fn shadow(number: usize, ahead: usize) -> Option<String> {
    Some(format!("rule {} takes all its packets", number + ahead))
}

/// What the rules of a table are compiled with.
fn setting<'a>(c: &'a mut Compiling) -> Setting<'a> {
    let program = &mut c.program;
    Setting {
        tree: c.tree,
        lists: &program.lists,
        patterns: &program.patterns,
        names: &program.names,
        marks: &program.books.marks,
        use_ip_firewall: program.bridges_use_ip_firewall,
        ipsec: program.ipsec.is_some(),
        book: &mut program.books.counters,
        slots: &mut program.books.slots,
    }
}

/// Sets the counters of rules to zero. The dummy rule's stay, which are those of FastTrack itself.
pub(crate) fn reset_rules(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    _: Moment,
) -> Result<Started<Router>, String> {
    r.learnt.recipes.fold(&mut r.stats.counters);
    let book = &r.program.books.counters;
    for id in facility::items(call, tree)?.into_iter().filter_map(|item| book.find(item)) {
        r.stats.counters.reset(id);
    }
    DONE
}

/// In front of all rules while a connection is fasttracked, one for each of these chains.
fn dummy_rules(status: &RouterStatus, chains: &[&str]) -> Vec<Item> {
    let fasttracked = status.router.v4.connections.fasttracked();
    dummies_of(fasttracked, status.router.stats.paths.ipv4_fasttrack, chains)
}

/// The filter's rules that nobody has typed, which stand before all others.
fn made_rules(status: &RouterStatus) -> Vec<Item> {
    let of_sessions = filters::rules(&status.router.program.opened);
    [dummy_rules(status, &["forward"]), of_sessions].concat()
}

/// The same of IPv6.
fn dummy_rules6(status: &RouterStatus, chains: &[&str]) -> Vec<Item> {
    let fasttracked = status.router.v6.connections.fasttracked();
    dummies_of(fasttracked, status.router.stats.paths.ipv6_fasttrack, chains)
}

fn dummies_of(fasttracked: usize, count: Count, chains: &[&str]) -> Vec<Item> {
    if fasttracked == 0 {
        return Vec::new();
    }
    let rule = |(id, chain): (u32, &&str)| {
        let mut rule = filter::dummy_rule(ItemId(id), chain);
        rule.values.insert("bytes", number(count.bytes));
        rule.values.insert("packets", number(count.packets));
        rule
    };
    (FIRST_AHEAD..).zip(chains).map(rule).collect()
}

impl RouterStatus<'_> {
    /// What is counted of a rule.
    pub(crate) fn rule(&self, rule: &Item, property: &str) -> Option<Value> {
        let counter = self.router.program.books.counters.find(rule.id);
        let count = counter.map(|id| self.router.stats.counters.get(id)).unwrap_or_default();
        match property {
            "bytes" => Some(number(count.bytes)),
            "packets" => Some(number(count.packets)),
            _ => None,
        }
    }
}
