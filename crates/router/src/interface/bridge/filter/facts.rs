//! Facts of a frame that bridge rules look at, in eight words.
//!
//! ```text
//!  word 0 | destination MAC 48                  | EtherType 16              |
//!  word 1 | source MAC 48                       | packet type 8 | protocol 8 |
//!  word 2 | source address 32   | destination address 32                    |   IP or ARP
//!  word 3 | source port, or ARP opcode 16 | destination port 16 | in 16 | out 16 |
//!  word 4 | in bridge 16 | out bridge 16 | priority 3, tagged 1, VLAN 12 | kind 16 |
//!  word 5 | of ARP: hardware 16, protocol 16, gratuitous 1; of a tagged frame: EtherType behind |
//!         | of 802.2: DSAP 8, SNAP's type 16; of a BPDU: type 8, flags 8, port 16             |
//!  word 6 | ARP's source MAC 48, or a BPDU's root: priority 16, address 48                    |
//!  word 7 | ARP's target MAC 48, or a BPDU's sender: priority 16, address 48                  |
//! ```
//!
//! A BPDU's cost and age are in word 2, its other times in word 3. Fields a frame does not have are
//! zero; `kind` says which it has.

use super::Chain;
use crate::interface::InterfaceId;
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
/// Whether there is a tag.
pub(super) const HAS_TAG: Field = field(4, 28, 1);
pub(super) const VLAN_PRIORITY: Field = field(4, 29, 3);
/// The EtherType behind the outermost tag.
pub(super) const VLAN_ENCAP: Field = field(5, 0, 16);
pub(super) const ARP_HARDWARE: Field = field(5, 48, 16);
pub(super) const ARP_PROTOCOL: Field = field(5, 32, 16);
/// An ARP packet for the sender's own address.
pub(super) const GRATUITOUS: Field = field(5, 0, 1);
pub(super) const ARP_SRC_MAC: Field = field(6, 16, 48);
pub(super) const ARP_DST_MAC: Field = field(7, 16, 48);
pub(super) const SAP: Field = field(5, 56, 8);
pub(super) const SNAP_TYPE: Field = field(5, 40, 16);
pub(super) const STP_TYPE: Field = field(5, 32, 8);
pub(super) const STP_FLAGS: Field = field(5, 24, 8);
pub(super) const STP_PORT: Field = field(5, 8, 16);
pub(super) const STP_ROOT_PRIORITY: Field = field(6, 48, 16);
pub(super) const STP_ROOT_ADDRESS: Field = field(6, 0, 48);
pub(super) const STP_SENDER_PRIORITY: Field = field(7, 48, 16);
pub(super) const STP_SENDER_ADDRESS: Field = field(7, 0, 48);
pub(super) const STP_ROOT_COST: Field = field(2, 32, 32);
pub(super) const STP_MSG_AGE: Field = field(2, 16, 16);
pub(super) const STP_MAX_AGE: Field = field(2, 0, 16);
pub(super) const STP_HELLO_TIME: Field = field(3, 48, 16);
pub(super) const STP_FORWARD_DELAY: Field = field(3, 32, 16);
/// [`KIND_ARP`], [`KIND_IP`], [`KIND_PORTS`], [`KIND_LLC`], [`KIND_STP`] or 0.
pub(super) const KIND: Field = field(4, 0, 4);
/// The one bit that 802.2 frames of all kinds have.
pub(super) const ANY_LLC: Field = Field { mask: KIND_LLC, ..KIND };
/// The one bit that both kinds of IP have.
pub(super) const ANY_IP: Field = Field { mask: KIND_IP, ..KIND };

/// ARP for IPv4.
pub(super) const KIND_ARP: u64 = 1;
/// IPv4 without ports: other protocols and later fragments.
pub(super) const KIND_IP: u64 = 2;
/// UDP or TCP with its ports.
pub(super) const KIND_PORTS: u64 = 3;
/// 802.2, which has a length where others have their EtherType.
pub(super) const KIND_LLC: u64 = 4;
/// A spanning tree's configuration message or notification.
pub(super) const KIND_STP: u64 = 12;

/// `packet-type`, in the order of the numbers.
pub(super) const PACKET_TYPES: &[&str] = &["broadcast", "host", "multicast", "other-host"];
const BROADCAST: u64 = 0;
const HOST: u64 = 1;
const MULTICAST: u64 = 2;
const OTHER_HOST: u64 = 3;

/// What stands where others have their EtherType is a length up to here, as `mac-protocol=802.2` has
/// it.
const LONGEST_LENGTH: u64 = 0x05ff;

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
            Chain::Forward | Chain::Output | Chain::DstNat | Chain::SrcNat => OTHER_HOST,
        };
        let untagged = layers.vlan.is_none();
        let mut more = [0; 3];
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
            let gratuitous = be32(at + 14) == be32(at + 24);
            more = [
                be16(at) << 48 | be16(at + 2) << 32 | u64::from(gratuitous),
                (be32(at + 8) << 16 | be16(at + 12)) << 16,
                (be32(at + 18) << 16 | be16(at + 22)) << 16,
            ];
        } else if untagged && be16(12) <= LONGEST_LENGTH {
            kind = KIND_LLC;
            more[0] = (be16(14) >> 8) << 56;
            // SNAP: AA AA 03, an organisation, a type.
            if be16(14) == 0xaaaa {
                more[0] |= be16(20) << 40;
            }
            if be16(14) == 0x4242 && be16(17) == 0 {
                kind = KIND_STP;
                more[0] |= (be16(20) >> 8) << 32 | (be16(21) >> 8) << 24 | be16(42) << 8;
                addresses = be32(30) << 32 | be16(44) << 16 | be16(46);
                ports = be16(48) << 16 | be16(50);
                more[1] = be32(22) << 32 | be32(26);
                more[2] = be32(34) << 32 | be32(38);
            }
        }
        if layers.vlan.is_some() {
            more[0] = be16(16);
        }
        let vlan = layers
            .vlan
            .map_or(0, |tci| u64::from(tci >> 13) << 13 | TAGGED | u64::from(tci & 0xfff));
        let both = |one: InterfaceId, two: InterfaceId| {
            u64::from(one.short()) << 16 | u64::from(two.short())
        };
        let interfaces = both(view.in_bridge_port, view.out_bridge_port);
        let bridges = both(view.in_interface, view.out_interface);
        Facts([
            dst_mac.to_u64() << 16 | be16(12),
            view.src_mac().to_u64() << 16 | packet_type << 8 | ip_protocol,
            addresses,
            ports << 32 | interfaces,
            bridges << 32 | vlan << 16 | kind,
            more[0],
            more[1],
            more[2],
        ])
    }

    /// A word; there are eight, so that no number is out of range.
    #[inline]
    pub(super) fn word(&self, word: u8) -> u64 {
        self.0[usize::from(word & 7)]
    }

    /// Whether it is ARP or 802.2, whose fields are in no key of the verdicts that are kept.
    pub(super) fn is_keyless(&self) -> bool {
        let kind = self.word(KIND.word) & KIND.mask;
        kind == KIND_ARP || kind & KIND_LLC != 0
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
