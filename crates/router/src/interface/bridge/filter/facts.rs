//! What bridge rules can look at, in five words.
//!
//! ```text
//!  word 0 | destination MAC 48                  | EtherType 16              |
//!  word 1 | source MAC 48                       | packet type 8 | protocol 8 |
//!  word 2 | source address 32   | destination address 32                    |   IP or ARP
//!  word 3 | source port, or ARP opcode 16 | destination port 16 | in 16 | out 16 |
//!  word 4 | in bridge 16 | out bridge 16 | tagged, VLAN 16 | kind 16          |
//! ```
//!
//! Fields a frame does not have are zero; `kind` says which it has.

use super::Chain;
use crate::packet::View;
use wire::layers::{ETHERTYPE_ARP, ETHERTYPE_IPV4, protocol};

/// A field: its word, how far from the right, and how wide (as a mask).
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) word: u8,
    pub(super) shift: u8,
    pub(super) mask: u64,
}

const fn field(word: u8, shift: u8, bits: u8) -> Field {
    Field { word, shift, mask: (1 << bits) - 1 }
}

pub(super) const DST_MAC: Field = field(0, 16, 48);
pub(super) const ETHER_TYPE: Field = field(0, 0, 16);
pub(super) const SRC_MAC: Field = field(1, 16, 48);
pub(super) const PACKET_TYPE: Field = field(1, 8, 8);
pub(super) const PROTOCOL: Field = field(1, 0, 8);
pub(super) const SRC: Field = field(2, 32, 32);
pub(super) const DST: Field = field(2, 0, 32);
pub(super) const SRC_PORT: Field = field(3, 48, 16);
pub(super) const DST_PORT: Field = field(3, 32, 16);
pub(super) const ARP_OPCODE: Field = SRC_PORT;
pub(super) const IN_PORT: Field = field(3, 16, 16);
pub(super) const OUT_PORT: Field = field(3, 0, 16);
pub(super) const IN_BRIDGE: Field = field(4, 48, 16);
pub(super) const OUT_BRIDGE: Field = field(4, 32, 16);
/// The VLAN, and above it whether there is a tag.
pub(super) const VLAN: Field = field(4, 16, 13);
pub(super) const TAGGED: u64 = 1 << 12;
/// [`KIND_ARP`], [`KIND_IP`], [`KIND_PORTS`] or 0.
pub(super) const KIND: Field = field(4, 0, 2);
/// The one bit that both kinds of IP have.
pub(super) const ANY_IP: Field = Field { mask: KIND_IP, ..KIND };

/// ARP for IPv4.
pub(super) const KIND_ARP: u64 = 1;
/// IPv4 without ports: other protocols and later fragments.
pub(super) const KIND_IP: u64 = 2;
/// UDP or TCP with its ports.
pub(super) const KIND_PORTS: u64 = 3;

/// `packet-type`, in the order of the numbers.
pub(super) const PACKET_TYPES: &[&str] = &["broadcast", "host", "multicast", "other-host"];
const BROADCAST: u64 = 0;
const HOST: u64 = 1;
const MULTICAST: u64 = 2;
const OTHER_HOST: u64 = 3;

/// A frame, as the rules see it.
#[derive(Debug)]
pub(super) struct Facts([u64; 8]);

impl Facts {
    pub(super) fn of(chain: Chain, view: &View) -> Facts {
        let (frame, layers) = (view.frame, view.layers);
        let be16 = |at: usize| -> u64 {
            let bytes = frame.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |&bytes| u64::from(u16::from_be_bytes(bytes)))
        };
        let be32 = |at: usize| be16(at) << 16 | be16(at + 2);
        let dst_mac = view.dst_mac();
        let packet_type = match chain {
            _ if dst_mac.is_broadcast() => BROADCAST,
            _ if dst_mac.is_multicast() => MULTICAST,
            Chain::Input => HOST,
            Chain::Forward | Chain::Output => OTHER_HOST,
        };
        let untagged = layers.vlan.is_none();
        let (mut kind, mut ports, mut addresses, mut ip_protocol) = (0, 0, 0, 0);
        if untagged && layers.ether_type == ETHERTYPE_IPV4 {
            let tuple = &layers.tuple;
            let has_ports =
                layers.l4 != 0 && matches!(layers.protocol, protocol::TCP | protocol::UDP);
            if has_ports {
                ports = u64::from(tuple.src_port) << 16 | u64::from(tuple.dst_port);
            }
            kind = if has_ports { KIND_PORTS } else { KIND_IP };
            addresses = u64::from(tuple.src) << 32 | u64::from(tuple.dst);
            ip_protocol = u64::from(layers.protocol);
        } else if untagged && layers.ether_type == ETHERTYPE_ARP {
            // RFC 826: opcode after 6 bytes, the sender's address after 14, the target's after 24.
            let at = usize::from(layers.l3);
            kind = KIND_ARP;
            ports = be16(at + 6) << 16;
            addresses = be32(at + 14) << 32 | be32(at + 24);
        }
        let vlan = layers.vlan.map_or(0, |tci| TAGGED | u64::from(tci & 0xfff));
        let interfaces = u64::from(view.in_bridge_port.0) << 16 | u64::from(view.out_bridge_port.0);
        let bridges = u64::from(view.in_interface.0) << 16 | u64::from(view.out_interface.0);
        Facts([
            dst_mac.to_u64() << 16 | be16(12),
            view.src_mac().to_u64() << 16 | packet_type << 8 | ip_protocol,
            addresses,
            ports << 32 | interfaces,
            bridges << 32 | vlan << 16 | kind,
            0,
            0,
            0,
        ])
    }

    /// A word; eight, of which five are used, so that no number is out of range.
    #[inline]
    pub(super) fn word(&self, word: u8) -> u64 {
        self.0[usize::from(word & 7)]
    }

    pub(super) fn is_arp(&self) -> bool {
        self.word(KIND.word) & KIND.mask == KIND_ARP
    }
}

/// A question about one field: is its value, masked, within a range?
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub(super) field: Field,
    pub(super) first: u64,
    pub(super) last: u64,
    /// The answer must be no.
    pub(super) not: bool,
}

impl Test {
    pub(super) fn is(field: Field, value: u64) -> Test {
        Test { field, first: value, last: value, not: false }
    }

    #[inline]
    pub(super) fn holds(&self, facts: &Facts) -> bool {
        let value = facts.word(self.field.word) >> self.field.shift & self.field.mask;
        (self.first <= value && value <= self.last) != self.not
    }

    /// The test as value and mask of its whole word, if it asks for one value.
    pub(super) fn masked(&self) -> Option<(u64, u64)> {
        let Field { shift, mask, .. } = self.field;
        if self.not {
            None
        } else if self.first == self.last {
            Some((self.first << shift, mask << shift))
        } else {
            // A range that is exactly a prefix: the bits in which its ends agree.
            let low = (self.first ^ self.last).checked_ilog2().map_or(0, |bit| (2 << bit) - 1);
            let whole = self.first & low == 0 && self.last & low == low;
            whole.then_some((self.first << shift, (mask & !low) << shift))
        }
    }
}
