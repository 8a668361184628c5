//! RIP: what routers tell each other of networks (RFC 2453; version 1: RFC 1058).
//!
//! ```text
//! │ command 1 │ version 1 │ 0 2 │ then for each route, 20 bytes:
//! │ family 2 │ tag 2 │ network 4 │ mask 4 │ next hop 4 │ metric 4 │
//!                                └─ of version 1 zeros ─┘
//! ```
//!
//! In version 1 a network has the mask of its class. Missing: **authentication**.

use crate::bytes::{be16, be32};
use crate::prefix::mask;
use crate::{Ipv4Prefix, MacAddr};

/// The UDP port, of both sides.
pub const PORT: u16 = 520;
/// To all routers on the wire, in version 2; version 1 has broadcasts.
pub const GROUP: u32 = u32::from_be_bytes([224, 0, 0, 9]);
/// The same, as Ethernet has it.
pub const GROUP_MAC: MacAddr = MacAddr([0x01, 0, 0x5e, 0, 0, 9]);
/// No message has more (§3.6).
pub const MOST: usize = 25;

const RESPONSE: u8 = 2;
const INTERNET: u16 = 2;

/// Which RIP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// RFC 1058: networks without masks, broadcast.
    One = 1,
    /// RFC 2453: with masks, to a group.
    Two = 2,
}

/// A network, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network.
    pub network: Ipv4Prefix,
    /// 1 to 15 routers away; 16 is out of reach.
    pub metric: u32,
}

/// An update of these routes, at most [`MOST`], as a UDP payload; whoever sends it is the way there.
/// In version 1 their masks are left out: they have to be those of their classes.
pub fn response(version: Version, routes: &[Route]) -> Vec<u8> {
    let mut bytes = vec![RESPONSE, version as u8, 0, 0];
    for Route { network, metric } in routes.iter().take(MOST) {
        bytes.extend(INTERNET.to_be_bytes());
        bytes.extend([0; 2]);
        let mask = if version == Version::One { 0 } else { mask(network.len()) };
        for word in [network.bits(), mask, 0, *metric] {
            bytes.extend(word.to_be_bytes());
        }
    }
    bytes
}

/// The routes of an update; `None` if a UDP payload is none.
pub fn routes(payload: &[u8]) -> Option<impl Iterator<Item = Route> + '_> {
    let (&[command, version, _, _], entries) = payload.split_first_chunk::<4>()?;
    let is_one = version == Version::One as u8;
    let known = is_one || version == Version::Two as u8;
    let is_update = command == RESPONSE && known && entries.len().is_multiple_of(20);
    let of_internet = |entry: &&[u8]| be16(entry, 0) == INTERNET;
    let read = move |entry: &[u8]| {
        let (address, mask) = (be32(entry, 4), be32(entry, 8));
        let network = match is_one {
            true => classful(address),
            false => Ipv4Prefix::new(address & mask, mask.leading_ones() as u8),
        };
        Route { network, metric: be32(entry, 16) }
    };
    is_update.then(|| entries.chunks_exact(20).filter(of_internet).map(read))
}

/// The network of an address that comes without a mask: its class's, or (0.0.0.0) all; the address
/// itself, if it has more bits than that.
fn classful(address: u32) -> Ipv4Prefix {
    let class = match address >> 24 {
        _ if address == 0 => 0,
        0..128 => 8,
        128..192 => 16,
        _ => 24,
    };
    let is_network = address & !mask(class) == 0;
    Ipv4Prefix::new(address, if is_network { class } else { 32 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message() {
        let network = Ipv4Prefix::new(0xc633_6420, 27);
        let bytes = response(Version::Two, &[Route { network, metric: 16 }]);
        let entry = [0, 2, 0, 0, 198, 51, 100, 32, 255, 255, 255, 224, 0, 0, 0, 0, 0, 0, 0, 16];
        assert_eq!(bytes, [&[2, 2, 0, 0], &entry[..]].concat());
        let many = response(Version::Two, &[Route { network, metric: 1 }; 40]);
        assert_eq!(many.len(), 4 + 20 * MOST);
        for (at, byte) in [(0, 1), (1, 3)] {
            let mut other = bytes.clone();
            other[at] = byte;
            assert!(routes(&other).is_none(), "byte {at}");
        }
        assert!(routes(&bytes[..23]).is_none());
    }

    /// Version 1 has no masks: whoever reads it goes by the class.
    #[test]
    fn without_masks() {
        for (text, expected) in [
            ([198, 18, 32, 0], "198.18.32.0/24"),
            ([172, 16, 0, 0], "172.16.0.0/16"),
            ([10, 0, 0, 0], "10.0.0.0/8"),
            ([10, 1, 0, 0], "10.1.0.0/32"),
            ([0, 0, 0, 0], "0.0.0.0/0"),
        ] {
            let network = Ipv4Prefix::new(u32::from_be_bytes(text), 32);
            let bytes = response(Version::One, &[Route { network, metric: 7 }]);
            assert_eq!(bytes[..8], [2, 1, 0, 0, 0, 2, 0, 0]);
            assert_eq!(bytes[8..], [text, [0; 4], [0; 4], [0, 0, 0, 7]].concat());
            let read: Vec<Route> = routes(&bytes).unwrap().collect();
            let said: Vec<String> = read.iter().map(|route| route.network.to_string()).collect();
            assert_eq!((said, read[0].metric), (vec![expected.to_string()], 7));
        }
    }

    proptest! {
        #[test]
        fn reads_what_was_written(list in prop::collection::vec((any::<u32>(), 0u8..=32, 1u32..=16), 0..26)) {
            let route = |(bits, len, metric): (u32, u8, u32)| {
                Route { network: Ipv4Prefix::new(bits & mask(len), len), metric }
            };
            let all: Vec<Route> = list.into_iter().map(route).collect();
            let read: Option<Vec<Route>> = routes(&response(Version::Two, &all)).map(Iterator::collect);
            let all = all[..all.len().min(MOST)].to_vec();
            prop_assert_eq!(read, Some(all));
        }

        #[test]
        fn any_bytes_are_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..90)) {
            let _ = routes(&bytes).map(Iterator::count);
        }
    }
}
