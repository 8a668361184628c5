//! `igmp-snooping`: which ports want which multicast, as hosts say by IGMP and MLD (RFC 4541).
//!
//! ```text
//! report ─► [hear] ─► group: its ports, until membership-interval  ─┐
//! query  ─► [hear] ─► ports of routers, until querier-interval     ─┴► frames of the group go there alone
//! leave  ─► [hear] ─► a little later it is out; at once with fast-leave
//! ```
//!
//! A group that nobody has joined is flooded, as are those that all hosts hear (224.0.0.0/24, ff02::1, the
//! groups of neighbour discovery). Reports go to routers alone, so that no host holds its own back for
//! another's. Whatever is for a group is for the router as well.
//!
//! Never sends: it needs a querier in the network, as a router that speaks IGMP. Missing:
//! **multicast-querier**, and sources (who reports by IGMPv3 or MLDv2 gets the group from everybody).

use super::Bridge;
use crate::interface::InterfaceId;
use std::collections::HashMap;
use std::net::Ipv6Addr;
use std::time::Duration;
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use wire::{Moment, checksum, icmpv6};

/// What is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snooping {
    /// `membership-interval`.
    pub membership: Duration,
    /// `querier-interval`.
    pub querier: Duration,
    /// `last-member-interval` times `last-member-query-count`.
    pub last_member: Duration,
}

/// `multicast-router` of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouterPort {
    /// While a querier is heard there.
    #[default]
    Temporary,
    /// Always.
    Permanent,
    /// Never.
    Disabled,
}

/// Groups at most, of all VLANs together; others are flooded.
const MAX: usize = 4096;

/// What a bridge has heard.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// By VLAN and MAC address.
    all: HashMap<(u16, u64), Group>,
    routers: Vec<(InterfaceId, Moment)>,
    /// Where routers are: those heard, and those configured.
    router_ports: Vec<InterfaceId>,
    /// When the first of all this ends.
    next: Option<Moment>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    members: Vec<(InterfaceId, Moment)>,
    /// Where its frames go: members and routers.
    ports: Vec<InterfaceId>,
}

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    /// A router asks.
    Query,
    /// A host wants these groups, and those no more.
    Report { joins: Vec<u64>, leaves: Vec<u64> },
}

impl Groups {
    /// Hears a frame for a group that came in by a port; whether it is for routers alone.
    pub(crate) fn hear(
        &mut self,
        now: Moment,
        bridge: &Bridge,
        from: InterfaceId,
        vid: u16,
        frame: &[u8],
    ) -> bool {
        let (Some(settings), Some(port)) = (&bridge.snooping, bridge.port(from)) else {
            return false;
        };
        match said(frame) {
            None => return false,
            Some(Said::Query) if port.router == RouterPort::Temporary => {
                let end = now + settings.querier;
                let is_new = enter(&mut self.routers, from, end);
                self.until(end);
                if is_new {
                    self.renew(bridge);
                }
                return false;
            }
            Some(Said::Query) => return false,
            Some(Said::Report { joins, leaves }) => {
                for mac in joins {
                    self.join((vid, mac), from, now + settings.membership);
                }
                for mac in leaves {
                    let end = if port.fast_leave { now } else { now + settings.last_member };
                    self.leave((vid, mac), from, end);
                }
            }
        }
        self.expire(now, bridge);
        true
    }

    /// Where frames of a group go; `None` if nobody has joined it: everywhere.
    pub(crate) fn ports(&self, vid: u16, mac: u64) -> Option<&[InterfaceId]> {
        self.all.get(&(vid, mac)).map(|group| &group.ports[..])
    }

    /// Where what is for routers alone goes; `None` if no router is known: everywhere.
    pub(crate) fn routers(&self) -> Option<&[InterfaceId]> {
        Some(&self.router_ports[..]).filter(|ports| !ports.is_empty())
    }

    /// All groups: VLAN, MAC address, and the ports that have joined.
    pub(crate) fn rows(&self) -> Vec<(u16, u64, Vec<InterfaceId>)> {
        let row = |(&(vid, mac), group): (&(u16, u64), &Group)| {
            (vid, mac, group.members.iter().map(|&(port, _)| port).collect())
        };
        let mut rows: Vec<_> = self.all.iter().map(row).collect();
        rows.sort();
        rows
    }

    /// Takes out what has ended.
    #[inline]
    pub(crate) fn expire(&mut self, now: Moment, bridge: &Bridge) {
        if self.next.is_some_and(|next| next <= now) {
            self.routers.retain(|&(_, end)| end > now);
            for group in self.all.values_mut() {
                group.members.retain(|&(_, end)| end > now);
            }
            self.renew(bridge);
        }
    }

    /// The bridge is another one: ports that are gone, or do not run, are forgotten.
    pub(crate) fn adopt(&mut self, bridge: &Bridge, is_there: impl Fn(InterfaceId) -> bool) {
        if bridge.snooping.is_none() {
            *self = Groups::default();
            return;
        }
        let is_router = |port: &InterfaceId| {
            bridge.port(*port).is_some_and(|port| port.router == RouterPort::Temporary)
        };
        self.routers.retain(|(port, _)| is_router(port) && is_there(*port));
        for group in self.all.values_mut() {
            group.members.retain(|&(port, _)| is_there(port));
        }
        self.renew(bridge);
    }

    fn join(&mut self, key: (u16, u64), port: InterfaceId, end: Moment) {
        if self.all.len() >= MAX && !self.all.contains_key(&key) {
            return;
        }
        let group = self.all.entry(key).or_default();
        // A host says so again and again: only what is new costs more than a look.
        if enter(&mut group.members, port, end) {
            group.renew(&self.router_ports);
        }
        self.until(end);
    }

    fn leave(&mut self, key: (u16, u64), port: InterfaceId, end: Moment) {
        let members = self.all.get_mut(&key).map(|group| &mut group.members);
        let member = members.and_then(|all| all.iter_mut().find(|(member, _)| *member == port));
        if let Some((_, ends)) = member {
            *ends = end.min(*ends);
            self.until(end);
        }
    }

    fn until(&mut self, end: Moment) {
        self.next = Some(self.next.map_or(end, |next| next.min(end)));
    }

    /// Finds anew where everything goes.
    fn renew(&mut self, bridge: &Bridge) {
        self.all.retain(|_, group| !group.members.is_empty());
        let permanent = bridge.ports().iter().filter(|port| port.router == RouterPort::Permanent);
        let routers = self.routers.iter().map(|&(port, _)| port);
        self.router_ports = routers.chain(permanent.map(|port| port.interface)).collect();
        for group in self.all.values_mut() {
            group.renew(&self.router_ports);
        }
        let members = self.all.values().flat_map(|group| &group.members);
        self.next = members.chain(&self.routers).map(|&(_, end)| end).min();
    }
}

impl Group {
    fn renew(&mut self, routers: &[InterfaceId]) {
        self.ports.clear();
        self.ports.extend(self.members.iter().map(|&(port, _)| port));
        let is_member = |port: &InterfaceId| self.members.iter().any(|(member, _)| member == port);
        self.ports.extend(routers.iter().filter(|port| !is_member(port)));
    }
}

/// Enters a port, or gives it a later end; whether it is new.
fn enter(ports: &mut Vec<(InterfaceId, Moment)>, port: InterfaceId, end: Moment) -> bool {
    match ports.iter_mut().find(|(known, _)| *known == port) {
        Some((_, ends)) => {
            *ends = end;
            false
        }
        None => {
            ports.push((port, end));
            true
        }
    }
}

/// The MAC address of a group of IPv4, if it is not one that all hosts hear.
fn mac4(group: &[u8]) -> Option<u64> {
    let group: [u8; 4] = group.try_into().ok()?;
    let is_local = group[..3] == [224, 0, 0];
    let mac = 0x0100_5e00_0000 | u64::from(u32::from_be_bytes(group) & 0x7f_ffff);
    (group[0] >> 4 == 14 && !is_local).then_some(mac)
}

/// The same of IPv6: not of one node, nor all nodes', nor neighbour discovery's.
fn mac6(group: &[u8]) -> Option<u64> {
    let group: [u8; 16] = group.try_into().ok()?;
    let low = u32::from_be_bytes([group[12], group[13], group[14], group[15]]);
    let is_everybodys = group[1] & 15 < 2 || low == 1 || low >> 24 == 0xff;
    (group[0] == 0xff && !is_everybodys).then_some(0x3333_0000_0000 | u64::from(low))
}

/// What a frame says, with a VLAN tag or without; nothing if it is neither IGMP nor MLD.
fn said(frame: &[u8]) -> Option<Said> {
    let mut at = 12;
    let ether_type = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    while matches!(ether_type(at)?, 0x8100 | 0x88a8 | 0x9100) {
        at += 4;
    }
    let ip = frame.get(at + 2..)?;
    match ether_type(at)? {
        ETHERTYPE_IPV4 => {
            let header = usize::from(ip.first()? & 15) * 4;
            let end = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]));
            let is_whole = u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]) & 0x3fff == 0;
            let is_igmp = *ip.get(9)? == IGMP && is_whole;
            let message = ip.get(header..end).filter(|message| is_igmp && checksum::is_ok(message));
            igmp(message?)
        }
        ETHERTYPE_IPV6 => {
            let end = 40 + usize::from(u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]));
            // With Router Alert in a hop-by-hop header (RFC 3810 §5).
            let is_mld = *ip.get(6)? == 0 && *ip.get(40)? == ICMPV6;
            let begin = 48 + usize::from(*ip.get(41)?) * 8;
            let address = |at: usize| Some(Ipv6Addr::from(*ip.get(at..)?.first_chunk::<16>()?));
            let (src, dst) = (address(8)?, address(24)?);
            let message = ip.get(begin..end).filter(|_| is_mld)?;
            icmpv6::is_intact(src, dst, message).then(|| mld(message)).flatten()
        }
        _ => None,
    }
}

const IGMP: u8 = 2;
const ICMPV6: u8 = 58;

/// RFC 2236 §2, RFC 3376 §4.
fn igmp(message: &[u8]) -> Option<Said> {
    let one = || mac4(message.get(4..8)?);
    let (mut joins, mut leaves) = (Vec::new(), Vec::new());
    match *message.first()? {
        0x11 => return Some(Said::Query),
        0x12 | 0x16 => joins.extend(one()),
        0x17 => leaves.extend(one()),
        0x22 => {
            let n = usize::from(u16::from_be_bytes([*message.get(6)?, *message.get(7)?]));
            records(message.get(8..)?, n, 4, mac4, &mut joins, &mut leaves);
        }
        _ => return None,
    }
    Some(Said::Report { joins, leaves })
}

/// RFC 2710 §3, RFC 3810 §5.
fn mld(message: &[u8]) -> Option<Said> {
    let one = || mac6(message.get(8..24)?);
    let (mut joins, mut leaves) = (Vec::new(), Vec::new());
    match *message.first()? {
        130 => return Some(Said::Query),
        131 => joins.extend(one()),
        132 => leaves.extend(one()),
        143 => {
            let n = usize::from(u16::from_be_bytes([*message.get(6)?, *message.get(7)?]));
            records(message.get(8..)?, n, 16, mac6, &mut joins, &mut leaves);
        }
        _ => return None,
    }
    Some(Said::Report { joins, leaves })
}

/// Records of a report of IGMPv3 or MLDv2: `len` is that of an address.
fn records(
    mut bytes: &[u8],
    n: usize,
    len: usize,
    mac: fn(&[u8]) -> Option<u64>,
    joins: &mut Vec<u64>,
    leaves: &mut Vec<u64>,
) {
    for _ in 0..n {
        let Some((&[kind, words, high, low], rest)) = bytes.split_first_chunk() else { return };
        let sources = usize::from(u16::from_be_bytes([high, low]));
        let Some(group) = rest.get(..len) else { return };
        match (kind, sources) {
            // It wants it from nobody: INCLUDE without sources.
            (1 | 3, 0) => leaves.extend(mac(group)),
            (1..=5, _) => joins.extend(mac(group)),
            _ => {}
        }
        let Some(next) = rest.get(len * (1 + sources) + usize::from(words) * 4..) else { return };
        bytes = next;
    }
}
