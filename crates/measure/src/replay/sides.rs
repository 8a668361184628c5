//! Sides of a replay: which frames leave by the first port, and which by the second.
//!
//! ```text
//!  hosts       a ─► b  first ever: a is first, b second      a ─► c: c second
//!              b ─► a                                        d ─► c: d first, …
//!  interface   seen at that one: first          networks    from one of them: first
//! ```
//!
//! By hosts, as tcpprep's automatic modes do it and not by conversation: a router or a bridge has each
//! host on one port. The first to speak is first, but of a TCP conversation that the capture has from
//! its SYN+ACK on, which is an answer. What is not IP goes by its MAC address, as IP did before.

use super::addresses::addresses;
use super::capture::Captured;
use super::ethernet::behind_tags;
use super::network::Network;
use std::collections::HashMap;
use std::net::IpAddr;
use wire::layers::{ETHERTYPE_ARP, ETHERTYPE_IPV4};

/// One of two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The replay's `from`.
    First,
    /// Its `to`.
    Second,
}

impl Side {
    fn other(self) -> Side {
        if self == Side::First { Side::Second } else { Side::First }
    }

    /// 0 or 1.
    pub fn index(self) -> usize {
        usize::from(self == Side::Second)
    }
}

/// How frames are parted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// All leave by the first port.
    None,
    /// By host: who speaks first, and who answers.
    Hosts,
    /// What this interface of the file saw leaves by the first.
    Interface(u32),
    /// What comes from these networks leaves by the first.
    Networks(Vec<Network>),
}

/// The side of every frame.
pub fn sides(frames: &[Captured], split: &Split) -> Vec<Side> {
    let of = |first: bool| if first { Side::First } else { Side::Second };
    match split {
        Split::None => vec![Side::First; frames.len()],
        Split::Interface(id) => frames.iter().map(|frame| of(frame.interface == *id)).collect(),
        Split::Networks(networks) => {
            let from = |frame: &Captured| addresses(&frame.bytes).first().copied();
            let is_in = |address| networks.iter().any(|network| network.contains(address));
            frames.iter().map(|frame| of(from(frame).is_some_and(is_in))).collect()
        }
        Split::Hosts => {
            let mut known = Known::default();
            frames.iter().map(|frame| known.side(&frame.bytes)).collect()
        }
    }
}

/// Who is where.
#[derive(Default)]
struct Known {
    hosts: HashMap<IpAddr, Side>,
    macs: HashMap<[u8; 6], Side>,
}

impl Known {
    fn side(&mut self, frame: &[u8]) -> Side {
        let mut mac = [0; 6];
        mac.copy_from_slice(&frame[6..12]);
        let all = addresses(frame);
        let side = match all.as_slice() {
            [src, dst, ..] if !src.is_unspecified() => {
                // Nobody is the group, or the network's broadcast address.
                let group = frame[0] & 1 == 1 && behind_tags(frame).0 != ETHERTYPE_ARP;
                self.of_hosts(*src, Some(*dst).filter(|_| !group), is_answer(frame))
            }
            _ => self.macs.get(&mac).copied().unwrap_or(Side::First),
        };
        self.macs.entry(mac).or_insert(side);
        side
    }

    fn of_hosts(&mut self, src: IpAddr, dst: Option<IpAddr>, answer: bool) -> Side {
        let of = |host: Option<IpAddr>| host.and_then(|host| self.hosts.get(&host).copied());
        let side = of(Some(src)).or_else(|| of(dst).map(Side::other));
        let first = if answer { Side::Second } else { Side::First };
        let side = *self.hosts.entry(src).or_insert(side.unwrap_or(first));
        if let Some(dst) = dst {
            self.hosts.entry(dst).or_insert(side.other());
        }
        side
    }
}

/// SYN and ACK of TCP over IPv4.
fn is_answer(frame: &[u8]) -> bool {
    let (kind, at) = behind_tags(frame);
    let Some(packet) = frame.get(at..).filter(|_| kind == ETHERTYPE_IPV4) else { return false };
    let header = packet.first().map_or(0, |byte| usize::from(byte & 15) * 4);
    let is_whole_tcp = packet.get(9) == Some(&6) && packet.get(6).is_some_and(|b| b & 0x1f == 0);
    is_whole_tcp && packet.get(header + 13).is_some_and(|flags| flags & 0x12 == 0x12)
}
