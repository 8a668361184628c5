//! Priority tags: an 802.1Q tag with VLAN id 0 says how urgent a frame is, and names no VLAN.
//!
//! ```text
//! | destination | source | 0x8100 | priority 3, DEI 1, VLAN id 0 | 0x0800 | IPv4 …
//!                          └──────────── taken off ─────────────┘   then it is plain IPv4
//! ```
//!
//! Some hosts, switches and access networks send everything so. To whoever knows no VLANs there such
//! a frame is an untagged one (IEEE 802.1Q-2018 §6.9), which the router's own IP is: it takes the tag
//! off. RouterOS does the same by its Linux kernel, which looks for a VLAN interface and, of VLAN 0
//! alone, lets the frame pass without one (`vlan_do_receive`); both leave the priority be.
//! (`ingress-priority` sees that of tags that name a VLAN.)
//! A bridge without VLAN filtering forwards such frames as they are, in both.
//!
//! Missing: **a tag behind the first**, and **802.1ad's tags**, which are no priority tags of a host's.

use port::{Frame, Slab};
use wire::layers::ETHERTYPE_VLAN;
use wire::vlan::{self, TAG_LEN, Tag};

/// The priority of a frame's outer tag; `None` if it has none, or one that names no VLAN.
#[inline]
pub(crate) fn of(frame: &[u8]) -> Option<u8> {
    Tag::of(frame).filter(|tag| tag.tci.id() != 0).map(|tag| tag.tci.priority())
}

/// Takes a frame's priority tag off; whether it had one, and no other behind it.
#[cold]
pub(crate) fn take_off(slab: &Slab, frame: &mut Frame) -> bool {
    let is_priority = |tag: Tag| tag.tpid == ETHERTYPE_VLAN && tag.tci.id() == 0;
    let bytes = slab.bytes(frame);
    let is_last = !matches!(bytes.get(16..18), Some([0x81 | 0x91, 0x00] | [0x88, 0xa8]));
    if !is_last || !Tag::of(bytes).is_some_and(is_priority) {
        return false;
    }
    let tag = vlan::pop(slab.bytes_mut(frame));
    debug_assert!(tag.is_some_and(is_priority));
    frame.pull(TAG_LEN);
    true
}
