//! `/ip dns static`: names that are answered here.
//!
//! Regular expressions are asked first, in their order, then names. A name that is typed is answered
//! here alone: of the kind that was not typed there is nothing. Of `FWD` the names are known, and others
//! are asked for what they say.

use super::menu::{FORWARDERS, STATIC};
use super::names::List;
use crate::firewall::matcher::layer7;
use config::{Item, Read, Tree, Value};
use regex_automata::meta::Regex;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::dns::{self, code, kind};

/// The memory of one pattern's automaton, bytes.
const MAX_AUTOMATON: usize = 1 << 18;
/// The longest chain of names that stand for others.
const MAX_CHAIN: usize = 8;

/// A `name`.
pub(super) fn name(text: &str) -> Result<Value, String> {
    match dns::name_bytes(text) {
        Some(_) if !text.is_empty() => Ok(Value::Text(text.to_string())),
        _ => Err("a name, as router.lan".to_string()),
    }
}

/// A `text`: of some 1,000 bytes, so that an answer with it fits a frame.
pub(super) fn text(text: &str) -> Result<Value, String> {
    match text.len() > 1000 {
        true => Err("a text of up to 1000 bytes".to_string()),
        false => Ok(Value::Text(text.to_string())),
    }
}

/// A `regexp`; an empty one is none.
pub(super) fn regexp(text: &str) -> Result<Value, String> {
    match text.len() > 255 {
        true => Err("a regular expression of up to 255 characters".to_string()),
        false if text.is_empty() => Ok(Value::Text(String::new())),
        false => match layer7::automaton(&[text], MAX_AUTOMATON) {
            Ok(_) => Ok(Value::Text(text.to_string())),
            Err(why) => Err(format!("a regular expression: {why}")),
        },
    }
}

/// An `address`.
pub(super) fn address(text: &str) -> Result<Value, String> {
    let (v4, v6) = (text.parse::<Ipv4Addr>(), text.parse::<Ipv6Addr>());
    match (v4, v6) {
        (Ok(address), _) => Ok(Value::Address(address)),
        (_, Ok(address)) => Ok(Value::Text(address.to_string())),
        _ => Err("an address".to_string()),
    }
}

/// What is said of a name.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    A(Ipv4Addr),
    Aaaa(Ipv6Addr),
    Cname(String),
    NoSuchName,
    /// Other kinds: which, and the data.
    Data(u16, Vec<u8>),
    /// These servers know.
    Forward(Vec<IpAddr>),
}

#[derive(Clone, Debug)]
struct Entry {
    said: Said,
    ttl: u32,
    /// Names below it, too.
    below: bool,
    /// The address list that what is said goes to.
    list: Option<List>,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Typed {
    by_name: HashMap<String, Vec<Entry>>,
    patterns: Vec<(Regex, Entry)>,
    by_address: HashMap<Ipv4Addr, (String, u32)>,
    /// Whether any name stands for those below it.
    any_below: bool,
    /// Whether other servers are asked for any.
    pub(super) any_forward: bool,
}

/// A record: whose, its kind, TTL and data.
pub(crate) type Record = (String, u16, u32, Vec<u8>);

/// An answer.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) records: Vec<Record>,
    /// A name that is not typed, which the last one stands for: what is said of it belongs here, too.
    pub(crate) open: Option<String>,
    /// The servers that know it; none: those that are asked for everything.
    pub(super) servers: Vec<IpAddr>,
    /// Address lists that the addresses go to.
    pub(super) lists: Vec<List>,
}

impl Typed {
    /// The enabled items.
    pub(crate) fn compile(tree: &Tree) -> Typed {
        let mut all = Typed::default();
        for item in tree.read(&STATIC).filter(|item| !item.bool("disabled")) {
            let Some(said) = said(&item, tree) else { continue };
            let ttl = item.time("ttl").as_secs().min(i32::MAX as u64) as u32;
            let list = Some(item.text("address-list")).filter(|list| !list.is_empty());
            let list = list.map(List::typed);
            all.any_forward |= matches!(said, Said::Forward(_));
            let entry = Entry { said, ttl, below: item.bool("match-subdomain"), list };
            let (name, pattern) = (item.text("name").to_ascii_lowercase(), item.text("regexp"));
            if let Ok(pattern) = layer7::automaton(&[&pattern], MAX_AUTOMATON)
                && name.is_empty()
            {
                all.patterns.push((pattern, entry));
                continue;
            }
            if let Said::A(address) = entry.said {
                all.by_address.entry(address).or_insert((name.clone(), ttl));
            }
            all.any_below |= entry.below;
            all.by_name.entry(name).or_default().push(entry);
        }
        all
    }

    /// What is said of a name here; `None` if it is not typed.
    pub(crate) fn find(&self, name: &str, wanted: u16) -> Option<Answer> {
        let mut answer = Answer {
            code: code::NO_ERROR,
            records: Vec::new(),
            open: None,
            servers: Vec::new(),
            lists: Vec::new(),
        };
        let address = reversed(name).filter(|_| wanted == kind::PTR);
        if let Some((name_of, ttl)) = address.and_then(|address| self.by_address.get(&address)) {
            let data = dns::name_bytes(name_of)?;
            answer.records.push((name.to_string(), kind::PTR, *ttl, data));
            return Some(answer);
        }
        let mut name = name.to_string();
        for step in 0..MAX_CHAIN {
            let Some(entries) = self.entries(&name) else {
                answer.open = Some(name);
                return Some(answer).filter(|_| step > 0);
            };
            let mut next = None;
            for Entry { said, ttl, list, .. } in entries {
                let (kind, data) = match said {
                    Said::NoSuchName => {
                        answer.code = code::NO_SUCH_NAME;
                        return Some(answer);
                    }
                    Said::Forward(servers) => {
                        (answer.open, answer.servers) = (Some(name), servers.clone());
                        answer.lists.extend(list.clone());
                        return Some(answer);
                    }
                    Said::Data(kind, data) if wanted == *kind => (*kind, data.clone()),
                    Said::A(address) if wanted == kind::A => (kind::A, address.octets().to_vec()),
                    Said::Aaaa(address) if wanted == kind::AAAA => {
                        (kind::AAAA, address.octets().to_vec())
                    }
                    Said::Cname(other) if next.is_none() => {
                        next = Some(other.clone()).filter(|_| wanted != kind::CNAME);
                        (kind::CNAME, dns::name_bytes(other)?)
                    }
                    _ => continue,
                };
                answer.lists.extend(list.clone());
                answer.records.push((name.clone(), kind, *ttl, data));
            }
            match next {
                Some(other) => name = other.to_ascii_lowercase(),
                None => return Some(answer),
            }
        }
        Some(answer)
    }

    fn entries(&self, name: &str) -> Option<Vec<&Entry>> {
        let matching = |(pattern, _): &&(Regex, Entry)| pattern.is_match(name);
        if let Some((_, entry)) = self.patterns.iter().find(matching) {
            return Some(vec![entry]);
        }
        if let Some(entries) = self.by_name.get(name) {
            return Some(entries.iter().collect());
        }
        let mut above = name.split_once('.').filter(|_| self.any_below);
        while let Some((_, parent)) = above {
            let entries = self.by_name.get(parent).into_iter().flatten();
            let below: Vec<&Entry> = entries.filter(|entry| entry.below).collect();
            if !below.is_empty() {
                return Some(below);
            }
            above = parent.split_once('.');
        }
        None
    }
}

/// What an item says, if it says anything.
fn said(item: &Read, tree: &Tree) -> Option<Said> {
    let name = |property: &str| {
        let name = Some(item.text(property)).filter(|name| !name.is_empty())?;
        dns::name_bytes(&name)
    };
    let short = |property: &str| (item.number(property) as u16).to_be_bytes();
    Some(match item.text("type").as_str() {
        "MX" => Said::Data(kind::MX, [&short("mx-preference")[..], &name("mx-exchange")?].concat()),
        "NS" => Said::Data(kind::NS, name("ns")?),
        "SRV" => {
            let numbers = ["srv-priority", "srv-weight", "srv-port"].map(short).concat();
            Said::Data(kind::SRV, [numbers, name("srv-target")?].concat())
        }
        // Strings of at most 255 bytes each (RFC 1035 §3.3.14).
        "TXT" => {
            let text = Some(item.text("text")).filter(|text| !text.is_empty())?;
            let strings = text.as_bytes().chunks(255);
            let strings = strings.flat_map(|part| [&[part.len() as u8], part].concat());
            Said::Data(kind::TXT, strings.collect())
        }
        "FWD" => {
            let all = item.list("forward-to");
            let servers = all.iter().flat_map(|to| match to {
                Value::Text(name) => forwarder(tree, name).unwrap_or_default(),
                to => server(to).into_iter().collect(),
            });
            Said::Forward(servers.collect())
        }
        "NXDOMAIN" => Said::NoSuchName,
        "CNAME" => Said::Cname(Some(item.text("cname")).filter(|name| !name.is_empty())?),
        "AAAA" => Said::Aaaa(item.text("address").parse().ok()?),
        _ => Said::A(item.text("address").parse().ok()?),
    })
}

/// The server of a value.
pub(super) fn server(value: &Value) -> Option<IpAddr> {
    match *value {
        Value::Address(address) => Some(address.into()),
        Value::Address6(address) => Some(address.into()),
        _ => None,
    }
}

/// The servers of `/ip dns forwarders` that have a name together.
fn forwarder(tree: &Tree, name: &str) -> Option<Vec<IpAddr>> {
    let mut all = tree.read(&FORWARDERS);
    let it = all.find(|item| item.text("name") == name && !item.bool("disabled"))?;
    Some(it.list("dns-servers").iter().filter_map(server).collect())
}

/// The address of a name as `4.3.2.1.in-addr.arpa`.
fn reversed(name: &str) -> Option<Ipv4Addr> {
    let parts = name.strip_suffix(".in-addr.arpa")?;
    let turned: Vec<&str> = parts.rsplit('.').collect();
    turned.join(".").parse().ok()
}

/// What there is nothing without.
const NEEDS: &[(&str, &str)] = &[
    ("CNAME", "cname"),
    ("MX", "mx-exchange"),
    ("NS", "ns"),
    ("SRV", "srv-target"),
    ("TXT", "text"),
];

/// What an item that is added or changed must not be.
pub(super) fn check(item: &Item, tree: &Tree) -> Result<(), String> {
    let read = STATIC.read(item);
    match (read.text("name").is_empty(), read.text("regexp").is_empty()) {
        (true, true) => return Err("failure: either name or regexp must be specified".to_string()),
        (false, false) => return Err("failure: name and regexp exclude each other".to_string()),
        _ => {}
    }
    for to in read.list("forward-to") {
        if let Value::Text(name) = to
            && !tree.read(&FORWARDERS).any(|known| known.text("name") == *name)
        {
            return Err(format!(
                "failure: forward-to takes addresses and names of /ip dns forwarders; there is no {name}"
            ));
        }
    }
    if said(&read, tree).is_some() {
        return Ok(());
    }
    let kind = read.text("type");
    match NEEDS.iter().find(|(needing, _)| *needing == kind) {
        Some((_, name)) => Err(format!("failure: {name} must be specified")),
        None => Err(format!("failure: {kind} needs an address of its kind")),
    }
}
