//! RIP version 2: what routers tell each other of networks (RFC 2453).
//!
//! ```text
//! │ command 1 │ version 1 │ 0 2 │ then for each route, 20 bytes:
//! │ family 2 │ tag 2 │ network 4 │ mask 4 │ next hop 4 │ metric 4 │
//! ```
//!
//! Missing: **authentication**, **version 1's networks without masks**.

use crate::bytes::{be16, be32};
use crate::prefix::mask;
use crate::{Ipv4Prefix, MacAddr};

/// The UDP port, of both sides.
pub const PORT: u16 = 520;
/// To all routers on the wire.
pub const GROUP: u32 = u32::from_be_bytes([224, 0, 0, 9]);
/// The same, as Ethernet has it.
pub const GROUP_MAC: MacAddr = MacAddr([0x01, 0, 0x5e, 0, 0, 9]);
/// No message has more (§3.6).
pub const MOST: usize = 25;

const RESPONSE: u8 = 2;
const VERSION: u8 = 2;
const INTERNET: u16 = 2;

/// A network, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network.
    pub network: Ipv4Prefix,
    /// 1 to 15 routers away; 16 is out of reach.
    pub metric: u32,
}

/// An update of these routes, at most [`MOST`], as a UDP payload; whoever sends it is the way there.
pub fn response(routes: &[Route]) -> Vec<u8> {
    let mut bytes = vec![RESPONSE, VERSION, 0, 0];
    for Route { network, metric } in routes.iter().take(MOST) {
        bytes.extend(INTERNET.to_be_bytes());
        bytes.extend([0; 2]);
        for word in [network.bits(), mask(network.len()), 0, *metric] {
            bytes.extend(word.to_be_bytes());
        }
    }
    bytes
}

/// The routes of an update; `None` if a UDP payload is none.
pub fn routes(payload: &[u8]) -> Option<impl Iterator<Item = Route> + '_> {
    let (&[command, version, _, _], entries) = payload.split_first_chunk::<4>()?;
    let is_update = command == RESPONSE && version == VERSION && entries.len().is_multiple_of(20);
    let of_internet = |entry: &&[u8]| be16(entry, 0) == INTERNET;
    let read = |entry: &[u8]| {
        let mask = be32(entry, 8);
        let network = Ipv4Prefix::new(be32(entry, 4) & mask, mask.leading_ones() as u8);
        Route { network, metric: be32(entry, 16) }
    };
    is_update.then(|| entries.chunks_exact(20).filter(of_internet).map(read))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message() {
        let network = Ipv4Prefix::new(0xc633_6420, 27);
        let bytes = response(&[Route { network, metric: 16 }]);
        let entry = [0, 2, 0, 0, 198, 51, 100, 32, 255, 255, 255, 224, 0, 0, 0, 0, 0, 0, 0, 16];
        assert_eq!(bytes, [&[2, 2, 0, 0], &entry[..]].concat());
        assert_eq!(response(&[Route { network, metric: 1 }; 40]).len(), 4 + 20 * MOST);
        for (at, byte) in [(0, 1), (1, 1)] {
            let mut other = bytes.clone();
            other[at] = byte;
            assert!(routes(&other).is_none(), "byte {at}");
        }
        assert!(routes(&bytes[..23]).is_none());
    }

    proptest! {
        #[test]
        fn reads_what_was_written(list in prop::collection::vec((any::<u32>(), 0u8..=32, 1u32..=16), 0..26)) {
            let route = |(bits, len, metric): (u32, u8, u32)| {
                Route { network: Ipv4Prefix::new(bits & mask(len), len), metric }
            };
            let all: Vec<Route> = list.into_iter().map(route).collect();
            let read: Option<Vec<Route>> = routes(&response(&all)).map(Iterator::collect);
            let all = all[..all.len().min(MOST)].to_vec();
            prop_assert_eq!(read, Some(all));
        }

        #[test]
        fn any_bytes_are_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..90)) {
            let _ = routes(&bytes).map(Iterator::count);
        }
    }
}
