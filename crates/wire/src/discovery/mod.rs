//! Neighbour discovery on a link: what a device says of itself, unasked, in three protocols.
//!
//! ```text
//! MNDP  UDP 5678 to all              MikroTik's             a neighbour's names, addresses, uptime
//! LLDP  01:80:C2:00:00:0E, 0x88CC    IEEE 802.1AB           bridges keep it on the link
//! CDP   01:00:0C:CC:CC:CC, SNAP      Cisco's, version 1, 2  other bridges flood it
//! ```
//!
//! All three are lists of TLVs. Reading takes any bytes, never panics, and keeps no text longer than
//! [`LONGEST`].

pub mod cdp;
pub mod lldp;
pub mod mndp;

use crate::MacAddr;

/// Bytes of a text that are kept.
pub const LONGEST: usize = 64;

/// What a device says of itself; what it does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Its address on the link.
    pub mac: MacAddr,
    /// Its name.
    pub identity: String,
    /// Whose it is: `MikroTik`.
    pub platform: String,
    /// Of its software.
    pub version: String,
    /// What it runs on.
    pub board: String,
    /// Its interface on the link.
    pub interface: String,
    /// Its address.
    pub address: Option<u32>,
    /// Its address of IPv6.
    pub address6: Option<u128>,
    /// Seconds since it was started.
    pub uptime: Option<u32>,
    /// It is a router.
    pub routes: bool,
    /// It is a bridge.
    pub bridges: bool,
    /// Seconds for which this holds; 0: it is gone.
    pub ttl: u16,
}

/// A text as it is kept: no control characters, so that nobody's console is told what to do.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    text.trim_end_matches('\0').replace(char::is_control, " ")
}

/// A number of two bytes at the front, and what follows it.
fn be16(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (two, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*two), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told() -> Told {
        Told {
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            identity: "gw".to_string(),
            platform: "MikroTik".to_string(),
            version: "0.1 (wirespeed)".to_string(),
            board: "x86".to_string(),
            interface: "ether1".to_string(),
            address: Some(0x0a00_0001),
            address6: Some(0xfe80 << 112 | 1),
            uptime: Some(77),
            routes: true,
            bridges: true,
            ttl: 120,
        }
    }

    #[test]
    fn what_is_said_is_heard() {
        let told = told();
        // Of MNDP and CDP some things cannot be said.
        let mndp = Told { routes: true, bridges: false, ttl: mndp::TTL, ..told.clone() };
        assert_eq!(mndp::read(&mndp::write(&told, 5)), Some(mndp));
        let lldp = Told {
            uptime: None,
            platform: "MikroTik".to_string(),
            version: String::new(),
            board: "MikroTik x86 0.1 (wirespeed)".to_string(),
            ..told.clone()
        };
        assert_eq!(lldp::read(&lldp::write(&told, 1)), Some(lldp));
        let heard = cdp::read(&cdp::write(&told)).unwrap();
        let cdp = Told { mac: MacAddr::default(), uptime: None, address6: None, ..told };
        let board = format!("{} {}", cdp.platform, cdp.board);
        assert_eq!(heard, Told { platform: "MikroTik".to_string(), board, ..cdp });
    }

    proptest! {
        #[test]
        fn any_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..80), at: usize, which in 0..3) {
            let told = told();
            let mut whole = match which {
                0 => mndp::write(&told, 1),
                1 => lldp::write(&told, 1),
                _ => cdp::write(&told),
            };
            whole.truncate(at % whole.len());
            whole.append(&mut bytes);
            let all = [mndp::read(&whole), lldp::read(&whole), cdp::read(&whole)];
            for told in all.into_iter().flatten() {
                prop_assert!(told.identity.len() <= 3 * LONGEST);
            }
        }
    }
}
