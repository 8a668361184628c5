//! Bindings: which label stands for which network, here and at the next hops.
//!
//! ```text
//! routes have changed, a peer has said something, the configuration is another one
//!   └─► [settle]: our networks ─► no label, or explicit null      ─► peers are told
//!                 networks behind next hops ─► a label of our own ─► peers are told, Routes::own
//!                                           └► that of the next hop ─► Routes::bind
//! ```
//!
//! All of it is found anew each time and compared with what there is: nothing follows from the order of events.

use super::ldp;
use crate::ip::route::Way;
use crate::router::Router;
use std::collections::{BTreeMap, BTreeSet};
use wire::Ipv4Prefix;
use wire::mpls::Label;

/// The bindings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    /// Ours, implicit null among them.
    pub(crate) own: BTreeMap<Ipv4Prefix, Label>,
    /// Networks that next hops have a label for.
    remote: BTreeSet<Ipv4Prefix>,
    /// What routes and configuration there were when all this was found out.
    seen: Option<(u64, u64)>,
}

/// Whether something has changed since [`settle`] was called last.
pub(super) fn are_stale(r: &Router) -> bool {
    r.services.ldp.bindings.seen != Some((r.v4.routes.changes(), r.changes))
}

impl Bindings {
    /// Has all of it found out anew.
    pub(super) fn forget(&mut self) {
        self.seen = None;
    }
}

/// Brings routes and bindings up to date.
pub(super) fn settle(r: &mut Router) {
    let own = own(r);
    let mut has_changed = false;
    let old = std::mem::take(&mut r.services.ldp.bindings.own);
    for prefix in old.keys().filter(|prefix| !own.contains_key(prefix)) {
        r.v4.routes.own(*prefix, None);
        has_changed = true;
    }
    for (prefix, &label) in own.iter().filter(|(prefix, label)| old.get(prefix) != Some(label)) {
        r.v4.routes.own(*prefix, Some(label).filter(|label| *label >= Label::FIRST));
        has_changed = true;
    }
    r.services.ldp.bindings.own = own;
    let remote = remote(r);
    let before = std::mem::take(&mut r.services.ldp.bindings.remote);
    for prefix in before.into_iter().filter(|prefix| !remote.contains_key(prefix)) {
        has_changed |= r.v4.routes.bind(prefix, Vec::new());
    }
    r.services.ldp.bindings.remote = remote.keys().copied().collect();
    for (prefix, bound) in remote {
        has_changed |= r.v4.routes.bind(prefix, bound);
    }
    if has_changed {
        r.learnt.recipes.forget();
    }
    r.services.ldp.bindings.seen = Some((r.v4.routes.changes(), r.changes));
}

/// The label of each network that there is to be.
fn own(r: &Router) -> BTreeMap<Ipv4Prefix, Label> {
    let mpls = &r.program.mpls;
    let mut own = BTreeMap::new();
    if let Some(ldp) = &mpls.ldp {
        let here = r.program.addresses.iter().filter(|own| r.program.runs(own.interface));
        own.extend(here.map(|own| (own.network, ldp.null)));
        let wants = |prefix: &Ipv4Prefix| prefix.len() > 0 || ldp.distributes_default;
        let networks: Vec<Ipv4Prefix> = r.v4.routes.inner().map(|(prefix, _)| prefix).collect();
        let before = &r.services.ldp.bindings.own;
        let kept = |prefix: &Ipv4Prefix| before.get(prefix).filter(|old| **old >= Label::FIRST);
        let mut used: BTreeSet<Label> = mpls.own.iter().map(|(_, label)| *label).collect();
        used.extend(networks.iter().filter_map(kept));
        let mut next = mpls.range.0.number();
        for prefix in networks.into_iter().filter(wants) {
            let label = match kept(&prefix) {
                Some(label) => *label,
                None => {
                    let free = (next..=mpls.range.1.number()).filter_map(Label::new);
                    let Some(label) = free.into_iter().find(|label| !used.contains(label)) else {
                        break; // all are in use: the others have none
                    };
                    next = label.number() + 1;
                    used.insert(label);
                    label
                }
            };
            own.entry(prefix).or_insert(label);
        }
    }
    own.extend(mpls.own.iter().copied());
    own
}

/// What next hops want to see in front of packets for each network.
fn remote(r: &Router) -> BTreeMap<Ipv4Prefix, Vec<(Way, Label)>> {
    let mpls = &r.program.mpls;
    if !mpls.is_on {
        return BTreeMap::new();
    }
    let label = |prefix: Ipv4Prefix, way: Way| {
        let typed = mpls.remote.iter().find(|(to, hop, _)| (*to, *hop) == (prefix, way.1));
        let typed = typed.map(|(_, _, label)| *label);
        typed.or_else(|| ldp::label_of(&r.services.ldp, prefix, way.1))
    };
    let bound = |(prefix, ways): (Ipv4Prefix, &[Way])| {
        let plain = ways.iter().filter(|way| !r.program.is_point_to_point(way.0));
        let bound = plain.filter_map(|&way| Some((way, label(prefix, way)?)));
        Some((prefix, bound.collect::<Vec<_>>())).filter(|(_, bound)| !bound.is_empty())
    };
    r.v4.routes.inner().filter_map(bound).collect()
}
