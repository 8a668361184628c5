//! Facilities behind the menus of `/ip dns`.

use super::cache::{Kept, kind_name};
use super::menu;
use super::resolver::Settings;
use super::typed;
use crate::facility::{DONE, Facility, Rows};
use crate::status::{Numbers, RouterStatus, Values, dynamic};
use config::{Command, Display, Item, Unnamed, Value};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use wire::dns::{Record, code, kind, read_name};

/// `/ip dns`.
pub(crate) static DNS: Facility = Facility {
    compile: |c| c.program.dns = Arc::new(Settings::compile(c.tree)),
    setting: |status, property| match property {
        "dynamic-servers" => {
            let told = status.router.told_servers().into_iter();
            Some(Value::Text(told.map(|at| at.to_string()).collect::<Vec<_>>().join(",")))
        }
        "cache-used" => {
            let used = status.router.services.resolver.cache.bytes().div_ceil(1024);
            Some(Value::Text(format!("{used}KiB")))
        }
        _ => None,
    },
    ..Facility::of(&menu::DNS)
};

/// `/ip dns static`.
pub(crate) static STATIC: Facility = Facility {
    part_of: Some(&DNS),
    check: |item, tree| typed::check(item, tree),
    ..Facility::of(&menu::STATIC)
};

/// `/ip dns forwarders`.
pub(crate) static FORWARDERS: Facility =
    Facility { part_of: Some(&DNS), ..Facility::of(&menu::FORWARDERS) };

/// `/ip dns cache`.
pub(crate) static CACHE: Facility = Facility {
    rows: Rows::Few(rows),
    commands: &[(&FLUSH, |r, _, _, _| {
        r.services.resolver.cache.flush();
        DONE
    })],
    ..Facility::of(&menu::CACHE)
};

const FLUSH: Command = Command {
    menu: menu::CACHE.path,
    name: "flush",
    unnamed: Unnamed::Nothing,
    parameters: &[],
    display: Display::Nothing,
    help: "Forgets all that name servers have said.",
};

/// What is kept, record by record.
fn rows(status: &RouterStatus) -> Vec<Item> {
    let (mut items, mut numbers) = (Vec::new(), Numbers::default());
    for kept in status.router.services.resolver.cache.iter() {
        let ttl = kept.expires.since(status.now).as_secs();
        let mut add = |name: &str, kind: String, data: String| {
            let id = numbers.of((&kept.read.name, kept.read.kind, name, &kind, &data));
            let values = Values::from([
                ("name", Value::Text(name.to_string())),
                ("type", Value::Text(kind)),
                ("data", Value::Text(data)),
                ("ttl", Value::Time(Duration::from_secs(ttl))),
            ]);
            items.push(dynamic(id, values));
        };
        let answers = &kept.read.records[..kept.read.answers.min(kept.read.records.len())];
        for record in answers {
            add(&record.name, kind_name(record.kind), data(kept, record));
        }
        if answers.is_empty() {
            let none = kept.read.code() == code::NO_SUCH_NAME;
            let kind = if none { "NXDOMAIN".to_string() } else { kind_name(kept.read.kind) };
            add(&kept.read.name, kind, "-".to_string());
        }
    }
    items
}

/// What a record says.
fn data(kept: &Kept, record: &Record) -> String {
    let bytes = &kept.message[record.data.clone()];
    let shown = match record.kind {
        kind::A => bytes.first_chunk().map(|at: &[u8; 4]| Ipv4Addr::from(*at).to_string()),
        kind::AAAA => bytes.first_chunk().map(|at: &[u8; 16]| Ipv6Addr::from(*at).to_string()),
        kind::CNAME | kind::NS | kind::PTR => {
            read_name(&kept.message, record.data.start).map(|(name, _)| name)
        }
        kind::MX => read_name(&kept.message, record.data.start + 2).map(|(name, _)| name),
        _ => None,
    };
    shown.unwrap_or_else(|| format!("{} bytes", bytes.len()))
}
