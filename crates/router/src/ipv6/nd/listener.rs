//! Listener discovery for the router's own groups (RFC 3810, RFC 2710): so that switches that snoop bring
//! what is sent to them.
//!
//! ```text
//! group joined ─► report, and another within a second       left ─► report
//! query ─ up to its delay ─► report of all, or of the group that was asked for
//! ```
//!
//! Version 1 is spoken for 260 seconds after somebody has asked in it. Never forwards: the router
//! routes no multicast.

use super::send;
use super::settings::Link;
use crate::interface::InterfaceId;
use crate::ipv6::icmp;
use crate::packet::Ends;
use crate::router::Router;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;
use wire::Moment;
use wire::icmpv6;
use wire::ipv6::header;
use wire::mld::{self, Query, Record};

/// What was told of a link's groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Listener {
    /// Those listened to, and the reports of them that are to come.
    groups: BTreeMap<u128, Option<Pending>>,
    v1_until: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    at: Moment,
    record: Record,
    /// Whether one more comes behind it.
    again: bool,
}

/// Unsolicited Report Interval (RFC 3810 §9.11), in milliseconds.
const UNSOLICITED_MS: u64 = 1000;
/// Older Version Querier Present Timeout (RFC 3810 §9.12) of usual queriers.
const V1: Duration = Duration::from_secs(260);
/// What of groups fits a report.
const MOST: usize = 50;

/// Does what is due; `near` is the link's own address, if it is sure.
pub(super) fn tick(
    r: &mut Router,
    now: Moment,
    link: &Link,
    near: Option<u128>,
    state: &mut Listener,
) -> Option<Moment> {
    let mut records = Vec::new();
    state.groups.retain(|group, _| {
        let stays = link.groups.contains(group);
        if !stays {
            records.push((Record::Leaves, Ipv6Addr::from(*group)));
        }
        stays
    });
    for &group in &link.groups {
        let delay = Duration::from_millis(r.services.dice.throw() % UNSOLICITED_MS);
        let pending = Pending { at: now + delay, record: Record::Joins, again: true };
        state.groups.entry(group).or_insert(Some(pending));
    }
    let mut next: Option<Moment> = None;
    for (&group, pending) in &mut state.groups {
        let Some(due) = pending else { continue };
        if due.at <= now {
            records.push((due.record, Ipv6Addr::from(group)));
            let delay = Duration::from_millis(r.services.dice.throw() % UNSOLICITED_MS);
            let again = Pending { at: now + delay, again: false, ..*due };
            *pending = due.again.then_some(again);
        }
        if let Some(pending) = pending {
            next = Some(next.map_or(pending.at, |next| next.min(pending.at)));
        }
    }
    // Who has no address yet says so as nobody (RFC 3590).
    let src = near.unwrap_or(0);
    if now < state.v1_until {
        for &(record, group) in &records {
            let to = if record == Record::Leaves { mld::ROUTERS } else { group };
            report(r, now, link.interface, (src, to), &mld::report_v1(record, group));
        }
    } else {
        for records in records.chunks(MOST) {
            report(r, now, link.interface, (src, mld::REPORTS), &mld::report(records));
        }
    }
    next
}

fn report(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    (src, dst): (u128, Ipv6Addr),
    bytes: &[u8],
) {
    let (ends, alert) = (Ends { src, dst: dst.into() }, mld::ALERT.len());
    let len = alert + bytes.len();
    let frame = icmp::packet(&mut r.io.pool, ends, header::HOP_BY_HOP, 1, len, |to| {
        to[..alert].copy_from_slice(&mld::ALERT);
        to[alert..].copy_from_slice(bytes);
        icmpv6::fill_checksum(src.into(), dst, &mut to[alert..]);
    });
    send(r, now, interface, frame);
}

/// Somebody asks who listens.
pub(crate) fn asked(r: &mut Router, now: Moment, interface: InterfaceId, query: Query) {
    let most = query.delay.as_millis().max(1) as u64;
    let at = now + Duration::from_millis(r.services.dice.throw() % most);
    let Some(state) = r.services.v6.links.get_mut(&interface) else { return };
    let listener = &mut state.listener;
    if query.is_v1 {
        listener.v1_until = now + V1;
    }
    for (&group, pending) in &mut listener.groups {
        let asked = query.group.is_none_or(|asked| u128::from(asked) == group);
        if asked && pending.is_none_or(|pending| pending.at > at) {
            *pending = Some(Pending { at, record: Record::Listens, again: false });
        }
    }
    r.services.due = r.services.due.min(at);
}
