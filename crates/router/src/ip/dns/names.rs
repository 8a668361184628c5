//! Names in address lists: their addresses are in the list for as long as they may be believed.
//!
//! ```text
//! /ip firewall address-list ─► [tick] ─┬─ known ────────────────► the list, until its TTL and a little longer
//!   add list=x address=NAME     ▲      └─ asked ─► the answer ─┘
//!                               └──────── when the TTL is over ─┘
//! ```
//!
//! As RouterOS does: of a name each address is an entry of its own, dynamic, which ends by itself. The
//! little longer is for the next answer to come before the last one ends.

use super::resolver::{enter, known};
use crate::firewall::address_list::AddressLists;
use crate::ip::family::Block;
use crate::router::Router;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;
use wire::dns::kind;

/// How much longer than its TTL an address stays.
const GRACE: Duration = Duration::from_secs(30);
/// When a name without an answer is asked for again.
const AGAIN: Duration = Duration::from_secs(5);
/// And one that has no address.
const NONE_AGAIN: Duration = Duration::from_secs(60);

/// An address list that what is said of a name goes to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct List {
    pub(super) name: String,
    /// The name that is an entry of it, and the kind of its addresses; of `/ip dns static` none.
    of: Option<(String, u16)>,
}

impl List {
    /// The `address-list` of a typed name.
    pub(super) fn typed(name: String) -> List {
        List { name, of: None }
    }

    /// An entry of `/ip firewall address-list` or of IPv6's, in lower case.
    pub(crate) fn entry(name: &str, of: &str, is_ipv6: bool) -> List {
        let kind = if is_ipv6 { kind::AAAA } else { kind::A };
        List { name: name.to_string(), of: Some((of.to_ascii_lowercase(), kind)) }
    }

    /// Whether addresses of this kind go there.
    pub(super) fn is_for(&self, kind: u16) -> bool {
        self.of.as_ref().is_none_or(|(_, of)| *of == kind)
    }

    /// How long an address stays.
    pub(super) fn time(&self, ttl: u32) -> Duration {
        let longer = if self.of.is_some() { GRACE } else { Duration::ZERO };
        Duration::from_secs(ttl.max(1).into()) + longer
    }
}

/// What is known of the names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// The lists that they are of.
    lists: Option<Arc<AddressLists>>,
    all: BTreeMap<List, State>,
    /// When the first is due.
    next: Option<Moment>,
}

/// What is known of one.
#[derive(Clone, Debug)]
struct State {
    /// When it is asked for next.
    due: Moment,
    /// The addresses that are in the list by it, and until when.
    entered: Vec<(Vec<u8>, Moment)>,
}

impl Names {
    /// What is said of a name went to its list.
    pub(super) fn entered(&mut self, now: Moment, list: &List, said: &[(u16, u32, &[u8])]) {
        let Some(state) = self.all.get_mut(list) else { return };
        state.entered.retain(|(_, end)| *end > now);
        state.due = now + NONE_AGAIN;
        let ours = said.iter().filter(|(kind, ..)| list.is_for(*kind) && is_address(*kind));
        let ttl = ours.clone().map(|(_, ttl, _)| (*ttl).max(1)).min();
        if let Some(ttl) = ttl {
            state.due = now + Duration::from_secs(ttl.into());
        }
        for (_, ttl, data) in ours {
            state.entered.retain(|(known, _)| known != data);
            state.entered.push((data.to_vec(), now + list.time(*ttl)));
        }
        self.next = Some(self.next.map_or(state.due, |next| next.min(state.due)));
    }
}

fn is_address(kind: u16) -> bool {
    matches!(kind, kind::A | kind::AAAA)
}

/// Asks for what is due; when the next is.
pub(super) fn tick(r: &mut Router, now: Moment) -> Option<Moment> {
    settle(r, now);
    if r.services.names.next.is_some_and(|next| next <= now) {
        let all = r.services.names.all.iter_mut().filter(|(_, state)| state.due <= now);
        let due: Vec<List> = all
            .map(|(list, state)| {
                state.due = now + AGAIN;
                list.clone()
            })
            .collect();
        for list in due {
            let Some((name, kind)) = &list.of else { continue };
            if let Some(said) = known(r, now, name, *kind, Some(&list)) {
                let said: Vec<_> =
                    said.iter().map(|(kind, ttl, data)| (*kind, *ttl, &data[..])).collect();
                enter(r, now, std::slice::from_ref(&list), &said);
            }
        }
        let names = &mut r.services.names;
        names.next = names.all.values().map(|state| state.due).min();
    }
    r.services.names.next
}

/// Takes over the names of the configuration: what was entered by those that are gone goes.
fn settle(r: &mut Router, now: Moment) {
    let lists = r.program.lists.clone();
    if r.services.names.lists.as_ref().is_some_and(|known| Arc::ptr_eq(known, &lists)) {
        return;
    }
    let names = &mut r.services.names;
    let mut gone = std::mem::take(&mut names.all);
    for list in lists.names() {
        let state = gone.remove(list).unwrap_or(State { due: now, entered: Vec::new() });
        names.all.insert(list.clone(), state);
    }
    let (mut gone4, mut gone6) = (Vec::new(), Vec::new());
    for (list, state) in gone {
        for (address, _) in state.entered {
            match (<[u8; 4]>::try_from(&address[..]), <[u8; 16]>::try_from(&address[..])) {
                (Ok(address), _) => {
                    gone4.push((list.name.clone(), Block::host(u32::from_be_bytes(address))));
                }
                (_, Ok(address)) => {
                    gone6.push((list.name.clone(), Block::host(u128::from_be_bytes(address))));
                }
                _ => {}
            }
        }
        // Another name of the list may have the same address.
        let others = names.all.iter_mut().filter(|(other, _)| other.name == list.name);
        others.for_each(|(_, state)| state.due = now);
    }
    names.lists = Some(lists);
    names.next = names.all.values().map(|state| state.due).min();
    if !gone4.is_empty() || !gone6.is_empty() {
        r.rules.lists.remove(&gone4);
        r.rules.lists6.remove(&gone6);
        r.follow_lists();
    }
}
