//! Rows and values of `/mpls` and its menus: what they show of the running router.

use super::ldp::Phase;
use crate::interface::InterfaceId;
use crate::ip::route::Target;
use crate::status::{Numbers, RouterStatus, Values, dynamic, ip, number, text};
use config::{Item, Value};
use std::net::Ipv4Addr;
use wire::Ipv4Prefix;
use wire::mpls::Label;

/// `/mpls`.
pub(super) fn setting(status: &RouterStatus, property: &str) -> Option<Value> {
    let router = status.router;
    let counted = router.stats.paths.mpls_fast_path;
    Some(match property {
        "mpls-fast-path-active" => {
            Value::Bool(router.program.mpls.is_on && router.mpls_fast_path())
        }
        "mpls-fast-path-packets" => number(counted.packets),
        "mpls-fast-path-bytes" => number(counted.bytes),
        _ => return None,
    })
}

/// `/mpls ldp neighbor`.
pub(super) fn neighbors(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let peers = status.router.services.ldp.peers.iter();
    let row = |(lsr, peer): (&u32, &super::ldp::Peer)| {
        let values = Values::from([
            ("dynamic", Value::Bool(true)),
            ("operational", Value::Bool(peer.phase == Phase::Operational)),
            ("transport", ip(peer.theirs)),
            ("local-transport", ip(peer.ours)),
            ("peer", Value::Text(name(*lsr))),
            ("addresses", Value::List(peer.addresses.iter().map(|own| ip(*own)).collect())),
        ]);
        dynamic(numbers.of(lsr.to_be_bytes()), values)
    };
    peers.map(row).collect()
}

/// `/mpls local-bindings`.
pub(super) fn local(status: &RouterStatus) -> Vec<Item> {
    let ldp = &status.router.services.ldp;
    let typed = &status.router.program.mpls.own;
    let mut numbers = Numbers::default();
    let own = ldp.bindings.own.iter();
    let own = own.filter(|(prefix, label)| !typed.contains(&(**prefix, **label)));
    let row = |(prefix, label): (&Ipv4Prefix, &Label)| {
        let told = ldp.peers.iter().filter(|(_, peer)| peer.told.get(prefix) == Some(label));
        let peers = told.map(|(lsr, _)| Value::Text(name(*lsr))).collect();
        let values = Values::from([
            ("dynamic", Value::Bool(true)),
            ("dst-address", cidr(*prefix)),
            ("label", Value::Text(written(*label))),
            ("peers", Value::List(peers)),
        ]);
        dynamic(numbers.of(key(*prefix, 0)), values)
    };
    own.map(row).collect()
}

/// `/mpls remote-bindings`.
pub(super) fn remote(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let mut rows = Vec::new();
    for (lsr, peer) in &status.router.services.ldp.peers {
        for (&prefix, &label) in &peer.labels {
            let way = way(status, prefix);
            let is_active = way.is_some_and(|way| peer.addresses.contains(&way.1));
            // Where none is used, its first address stands for it.
            let hop = way.map(|way| way.1).filter(|_| is_active);
            let hop = hop.or(peer.addresses.first().copied()).unwrap_or(peer.theirs);
            let values = Values::from([
                ("dynamic", Value::Bool(true)),
                ("active", Value::Bool(is_active)),
                ("dst-address", cidr(prefix)),
                ("nexthop", ip(hop)),
                ("label", Value::Text(written(label))),
                ("peer", Value::Text(name(*lsr))),
            ]);
            rows.push(dynamic(numbers.of(key(prefix, *lsr)), values));
        }
    }
    rows
}

/// Of a typed line of it.
pub(super) fn remote_value(status: &RouterStatus, item: &Item, property: &str) -> Option<Value> {
    if property != "active" {
        return None;
    }
    let (dst, hop) = (text(item, "dst-address"), text(item, "nexthop"));
    let ways = status.router.v4.routes.inner();
    let is_it = |(prefix, ways): &(Ipv4Prefix, &[(InterfaceId, u32)])| {
        cidr(*prefix).to_string() == dst && ways.iter().any(|way| ip(way.1).to_string() == hop)
    };
    Some(Value::Bool(!item.disabled && ways.into_iter().any(|way| is_it(&way))))
}

/// `/mpls forwarding-table`.
pub(super) fn forwarding(status: &RouterStatus) -> Vec<Item> {
    let router = status.router;
    let mut numbers = Numbers::default();
    let mut rows = Vec::new();
    for (&prefix, &label) in &router.services.ldp.bindings.own {
        if label < Label::FIRST {
            continue;
        }
        let leaf = router.v4.routes.incoming(label);
        let by_ldp = !router.program.mpls.own.contains(&(prefix, label));
        let row = |way: Option<(InterfaceId, u32)>, out: Option<Label>| {
            let mut values = Values::from([
                ("ldp", Value::Bool(by_ldp)),
                ("in-label", Value::Text(label.number().to_string())),
                ("destination", cidr(prefix)),
            ]);
            if let Some(out) = out.filter(|out| out.is_written()) {
                values.insert("out-labels", Value::Text(written(out)));
            }
            if let Some((interface, hop)) = way {
                let name = router.program.interface(interface).name.to_string();
                values.insert("interface", Value::Text(name));
                values.insert("nexthop", ip(hop));
            }
            values
        };
        match router.v4.routes.target(leaf) {
            Some(Target::Gateways(ways)) => {
                for (n, way) in ways.iter().enumerate() {
                    let values = row(Some(*way), router.v4.routes.label(leaf, n));
                    rows.push(dynamic(numbers.of(key(prefix, n as u32)), values));
                }
            }
            _ => rows.push(dynamic(numbers.of(key(prefix, 0)), row(None, None))),
        }
    }
    rows
}

/// The first way that packets for a network take.
fn way(status: &RouterStatus, prefix: Ipv4Prefix) -> Option<(InterfaceId, u32)> {
    let routes = &status.router.v4.routes;
    let is_it = routes.prefix_of(prefix.bits()) == Some(prefix);
    match routes.target(routes.lookup(prefix.bits())) {
        Some(Target::Gateways(ways)) if is_it => ways.first().copied(),
        _ => None,
    }
}

fn key(prefix: Ipv4Prefix, more: u32) -> [u8; 9] {
    let mut key = [prefix.len(); 9];
    key[..4].copy_from_slice(&prefix.bits().to_be_bytes());
    key[4..8].copy_from_slice(&more.to_be_bytes());
    key
}

fn cidr(prefix: Ipv4Prefix) -> Value {
    Value::Cidr(prefix.bits().into(), prefix.len())
}

/// An identifier and its label space.
fn name(lsr: u32) -> String {
    format!("{}:0", Ipv4Addr::from(lsr))
}

fn written(label: Label) -> String {
    match label {
        Label::EXPLICIT_NULL => "expl-null".to_string(),
        Label::IMPLICIT_NULL => "impl-null".to_string(),
        label => label.number().to_string(),
    }
}
