//! A captured frame's Ethernet header: tags and MAC addresses.

use wire::MacAddr;
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_SVLAN, ETHERTYPE_VLAN};

/// What becomes of VLAN tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vlan {
    /// They stay.
    #[default]
    Keep,
    /// All are taken off.
    Strip,
    /// All are taken off, and one of this VLAN put on.
    Set(u16),
}

/// The EtherType behind all tags, and where what it names begins.
pub(super) fn behind_tags(frame: &[u8]) -> (u16, usize) {
    let mut at = 12;
    loop {
        let Some(kind) = frame.get(at..at + 2) else { return (0, frame.len()) };
        let kind = u16::from_be_bytes([kind[0], kind[1]]);
        if !matches!(kind, ETHERTYPE_VLAN | ETHERTYPE_SVLAN) {
            return (kind, at + 2);
        }
        at += 4;
    }
}

/// Whether a frame carries IPv4 or IPv6.
pub fn is_ip(frame: &[u8]) -> bool {
    matches!(behind_tags(frame).0, ETHERTYPE_IPV4 | ETHERTYPE_IPV6)
}

impl Vlan {
    /// Does it to a frame, which is no shorter than 60 bytes afterwards.
    pub(super) fn apply(self, frame: &mut Vec<u8>) {
        let tags = 12..behind_tags(frame).1.saturating_sub(2).max(12);
        match self {
            Vlan::Keep => return,
            Vlan::Strip => drop(frame.drain(tags)),
            Vlan::Set(id) => {
                let [high, low] = id.to_be_bytes();
                frame.splice(tags, [0x81, 0x00, high, low]);
            }
        }
        frame.resize(frame.len().max(60), 0);
    }
}

/// From and to other MAC addresses; one of a group stays what it is to whom.
pub(super) fn set_macs(frame: &mut [u8], src: MacAddr, dst: MacAddr) {
    if frame[0] & 1 == 0 {
        frame[..6].copy_from_slice(&dst.0);
    }
    frame[6..12].copy_from_slice(&src.0);
}
