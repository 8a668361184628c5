//! Reasons of bridge filter rules that did not match, for somebody who asks: as
//! [`firewall::told`](crate::firewall::told) does it.

use super::Filter;
use super::facts::{Facts, Test};
use crate::firewall::rule::Books;
use crate::firewall::syntax::protocol_name;
use crate::firewall::told::{Failed, Has, Met};
use crate::packet::View;
use config::ItemId;
use std::net::Ipv4Addr;
use std::ops::Range;
use wire::layers::{ETHERTYPE_ARP, ETHERTYPE_IPV4, protocol};

/// What a rule is called, and all it tests, with the property each test comes from.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) item: ItemId,
    pub(super) tests: Box<[(&'static str, Test)]>,
}

impl Filter {
    /// Tells that the tests of these rules turned the frame away.
    #[cold]
    pub(super) fn tell_passed_over(
        &self,
        rules: Range<u32>,
        facts: &Facts,
        view: &View,
        books: &mut Books,
        depth: usize,
    ) {
        for at in rules {
            let tests = self.notes.get(at as usize).map_or(&[][..], |note| &note.tests);
            let failing = tests.iter().find(|(_, test)| !test.holds(facts));
            self.tell(at, failing.map(|&(name, _)| name), view, books, depth);
        }
    }

    /// Tells what became of a rule: the property that did not hold, or that it matched. `depth` is
    /// how many returns belong to others.
    #[inline]
    pub(super) fn tell(
        &self,
        at: u32,
        failed: Option<&'static str>,
        view: &View,
        books: &mut Books,
        depth: usize,
    ) {
        let depth = books.state.returns.len() - depth;
        if let (Some(told), Some(note)) = (&mut books.state.told, self.notes.get(at as usize)) {
            let failed = failed.map(|property| Failed { property, has: has(property, view) });
            let met = Met { rule: note.item, depth, failed };
            // A rule that names a list stands here once for each interface: it is told of once.
            match told.last_mut() {
                Some(last) if last.rule == met.rule && last.failed.is_some() => *last = met,
                _ => told.push(met),
            }
        }
    }
}

/// What the frame has there.
fn has(property: &str, view: &View) -> Has {
    let layers = view.layers;
    let tuple = &layers.tuple;
    let is_ip = layers.vlan.is_none() && layers.ether_type == ETHERTYPE_IPV4;
    let ported =
        is_ip && layers.l4 != 0 && matches!(layers.protocol, protocol::TCP | protocol::UDP);
    let dst = view.dst_mac();
    Has::Text(match property {
        "in-interface" | "in-interface-list" => return Has::Interface(view.in_bridge_port),
        "out-interface" | "out-interface-list" => return Has::Interface(view.out_bridge_port),
        "in-bridge" | "in-bridge-list" => return Has::Interface(view.in_interface),
        "out-bridge" | "out-bridge-list" => return Has::Interface(view.out_interface),
        "mac-protocol" => match (layers.vlan, layers.ether_type) {
            (Some(_), _) => "vlan".to_string(),
            (None, ETHERTYPE_IPV4) => "ip".to_string(),
            (None, ETHERTYPE_ARP) => "arp".to_string(),
            (None, other) => format!("0x{other:04x}"),
        },
        "src-mac-address" => view.src_mac().to_string(),
        "dst-mac-address" => dst.to_string(),
        "packet-type" if dst.is_broadcast() => "broadcast".to_string(),
        "packet-type" if dst.is_multicast() => "multicast".to_string(),
        "packet-type" => "unicast".to_string(),
        "vlan-id" => match layers.vlan {
            Some(tci) => (tci & 0xfff).to_string(),
            None => return Has::Nothing,
        },
        "src-address" if is_ip => Ipv4Addr::from(tuple.src).to_string(),
        "dst-address" if is_ip => Ipv4Addr::from(tuple.dst).to_string(),
        "ip-protocol" if is_ip => protocol_name(layers.protocol),
        "src-port" if ported => tuple.src_port.to_string(),
        "dst-port" if ported => tuple.dst_port.to_string(),
        "limit" => "reached".to_string(),
        _ => return Has::Nothing,
    })
}
