//! The LACPDU (IEEE 802.1AX §6.4.2.3): what the two ends of a link that may be aggregated tell each
//! other.
//!
//! ```text
//! | 01 80 C2 00 00 02 | source | 0x8809 | 1 | 1 | 1, 20, actor 15, 0 3 | 2, 20, partner 15, 0 3 |
//!                                                | 3, 16, delay 2, 0 12 | 0, 0, 0 50 |
//! actor, partner: | system priority 2 | system 6 | key 2 | port priority 2 | port 2 | state 1 |
//! ```

use crate::MacAddr;
use crate::bytes::{be16, mac, put};

/// Slow protocols' EtherType.
pub const ETHERTYPE: u16 = 0x8809;
/// Where LACPDUs go.
pub const GROUP: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x02]);
/// Length behind the Ethernet header.
pub const LEN: usize = 110;

/// The bits of [`End::state`].
pub mod state {
    /// Speaks unasked.
    pub const ACTIVITY: u8 = 1;
    /// Wants to hear each second; else each half a minute.
    pub const TIMEOUT: u8 = 2;
    /// May be aggregated.
    pub const AGGREGATION: u8 = 4;
    /// Is in the right aggregate.
    pub const SYNCHRONIZATION: u8 = 8;
    /// Takes frames in.
    pub const COLLECTING: u8 = 16;
    /// Sends frames.
    pub const DISTRIBUTING: u8 = 32;
    /// Has never heard the other end, or not for long.
    pub const DEFAULTED: u8 = 64;
    /// Has not heard the other end in time.
    pub const EXPIRED: u8 = 128;
}

/// One end of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Its system's priority.
    pub system_priority: u16,
    /// Its system.
    pub system: MacAddr,
    /// Ports of one key may be aggregated.
    pub key: u16,
    /// Its port's priority.
    pub port_priority: u16,
    /// Its port.
    pub port: u16,
    /// See [`state`].
    pub state: u8,
}

/// What one end says of itself, and what it knows of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lacpdu {
    /// The sender.
    pub actor: End,
    /// The receiver, as the sender knows it.
    pub partner: End,
}

impl Lacpdu {
    /// Reads what follows the Ethernet header; `None` if it is cut off or another slow protocol's.
    pub fn read(bytes: &[u8]) -> Option<Lacpdu> {
        let bytes: &[u8; LEN] = bytes.first_chunk()?;
        // Later versions have more behind, and begin alike.
        let begins = bytes[0] == 1 && bytes[1] >= 1 && bytes[2..4] == [1, 20];
        (begins && bytes[22..24] == [2, 20])
            .then(|| Lacpdu { actor: end(bytes, 4), partner: end(bytes, 24) })
    }

    /// Its bytes behind the Ethernet header.
    pub fn to_bytes(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&[1, 1, 1, 20]);
        write(&mut bytes, 4, &self.actor);
        bytes[22..24].copy_from_slice(&[2, 20]);
        write(&mut bytes, 24, &self.partner);
        bytes[42..44].copy_from_slice(&[3, 16]);
        bytes
    }
}

fn end(bytes: &[u8], at: usize) -> End {
    End {
        system_priority: be16(bytes, at),
        system: mac(bytes, at + 2),
        key: be16(bytes, at + 8),
        port_priority: be16(bytes, at + 10),
        port: be16(bytes, at + 12),
        state: bytes[at + 14],
    }
}

fn write(bytes: &mut [u8], at: usize, end: &End) {
    put(bytes, at, end.system_priority.to_be_bytes());
    put(bytes, at + 2, end.system.0);
    put(bytes, at + 8, end.key.to_be_bytes());
    put(bytes, at + 10, end.port_priority.to_be_bytes());
    put(bytes, at + 12, end.port.to_be_bytes());
    bytes[at + 14] = end.state;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let actor = End {
            system_priority: 65535,
            system: MacAddr([2, 0, 0, 0, 0, 1]),
            key: 15,
            port_priority: 255,
            port: 2,
            state: state::ACTIVITY | state::AGGREGATION,
        };
        let partner = End { state: 0x3d, port: 1, ..actor };
        let said = Lacpdu { actor, partner };
        let bytes = said.to_bytes();
        assert_eq!(Lacpdu::read(&bytes), Some(said));
        assert_eq!(bytes[..10], [1, 1, 1, 20, 0xff, 0xff, 2, 0, 0, 0]);
        for at in 0..LEN {
            assert_eq!(Lacpdu::read(&bytes[..at]), None);
        }
        for at in [0, 1, 2, 3, 22, 23] {
            let mut other = bytes;
            other[at] = 0;
            assert_eq!(Lacpdu::read(&other), None, "byte {at}");
        }
    }
}
