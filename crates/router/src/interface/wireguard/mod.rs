//! WireGuard: interfaces whose packets go to peers by their addresses, encrypted, in UDP.
//!
//! ```text
//! | IPv4 | UDP | 4 | receiver | counter | packet, padded | tag |
//!
//!  out: to whom the longest allowed-address leads        in: whose keys open it, and whose allowed-address the
//!       ─► his session ─► LOCAL OUT                          source is ─► as by any interface
//! ```
//!
//! A peer is a public key: where he is follows from what comes of him. Keys are made anew every two minutes by a
//! Noise handshake, and nothing is said to whoever does not know the router's public key. Packets wait while
//! there are no keys. Outside is IPv4 or IPv6.

// What is done with the menus.
pub(crate) mod facilities;
// The menus, and what they mean.
pub(crate) mod menu;
// How keys are agreed upon.
pub(crate) mod noise;
// What is known of peers.
pub(crate) mod state;

use super::InterfaceId;
use config::ItemId;
use noise::{Key, KeyPair, Statics};
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// A secret key and its public one, as both are typed.
pub fn key_pair(secret: &[u8; 32]) -> [String; 2] {
    [*secret, noise::public(secret)].map(|key| menu::encoded(&key))
}

/// An interface's place in [`Program::wireguards`](crate::program::Program).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireguardAt(pub u16);

/// An interface as compiled; one that is disabled has no peers, and nobody is listened to.
#[derive(Clone, Debug, PartialEq)]
pub struct Wireguard {
    /// Its number as an interface.
    pub(crate) interface: InterfaceId,
    pub(crate) item: ItemId,
    pub(crate) name: String,
    pub(crate) enabled: bool,
    /// `listen-port`.
    pub(crate) port: u16,
    /// `private-key`; `None` if none was typed.
    pub(crate) keys: Option<KeyPair>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) allowed: Allowed,
}

/// A peer as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) item: ItemId,
    pub(crate) name: String,
    pub(crate) public: Key,
    /// `preshared-key`; zeros if there is none.
    pub(crate) shared: Key,
    /// Where he is to be found: an address or a name, and his port.
    pub(crate) endpoint: Option<(String, u16)>,
    /// `persistent-keepalive`.
    pub(crate) keepalive: Option<Duration>,
    /// Whether he has to begin.
    pub(crate) is_responder: bool,
}

impl Peer {
    /// What both ends know for good.
    pub(crate) fn statics(&self, own: KeyPair) -> Statics {
        Statics { own, other: self.public, shared: self.shared }
    }
}

/// Whose an address is: of all networks the longest that has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// By their lengths, the longest first: networks, and the places of peers.
    v4: Vec<(u8, HashMap<u32, usize>)>,
    v6: Vec<(u8, HashMap<u128, usize>)>,
}

/// What is left of an address behind a prefix of this length.
fn cut4(address: u32, len: u8) -> u32 {
    address & u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0)
}

fn cut6(address: u128, len: u8) -> u128 {
    address & u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
}

impl Allowed {
    /// A network is a peer's, whosever it was before.
    pub(crate) fn add(&mut self, network: IpAddr, len: u8, peer: usize) {
        fn of<T>(all: &mut Vec<(u8, HashMap<T, usize>)>, len: u8) -> &mut HashMap<T, usize> {
            let at = all.partition_point(|(other, _)| *other > len);
            if all.get(at).is_none_or(|(other, _)| *other != len) {
                all.insert(at, (len, HashMap::new()));
            }
            &mut all[at].1
        }
        match network {
            IpAddr::V4(v4) => of(&mut self.v4, len).insert(cut4(v4.into(), len), peer),
            IpAddr::V6(v6) => of(&mut self.v6, len).insert(cut6(v6.into(), len), peer),
        };
    }

    /// The peer whose an address is.
    pub(crate) fn find(&self, address: IpAddr) -> Option<usize> {
        match address {
            IpAddr::V4(v4) => {
                let bits = v4.to_bits();
                self.v4.iter().find_map(|(len, all)| all.get(&cut4(bits, *len)).copied())
            }
            IpAddr::V6(v6) => {
                let bits = v6.to_bits();
                self.v6.iter().find_map(|(len, all)| all.get(&cut6(bits, *len)).copied())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_network_decides() {
        let mut allowed = Allowed::default();
        for (network, len, peer) in [
            ("0.0.0.0", 0, 0),
            ("10.0.0.0", 8, 1),
            ("10.1.0.0", 16, 2),
            ("10.1.2.3", 32, 3),
            ("10.1.0.0", 16, 4),
            ("::", 0, 5),
            ("2001:db8::", 32, 6),
        ] {
            allowed.add(network.parse().unwrap(), len, peer);
        }
        for (address, peer) in [
            ("192.0.2.1", 0),
            ("10.2.0.1", 1),
            ("10.1.9.9", 4),
            ("10.1.2.3", 3),
            ("2001:db8::1", 6),
            ("2001:db9::1", 5),
        ] {
            assert_eq!(allowed.find(address.parse().unwrap()), Some(peer), "{address}");
        }
        assert_eq!(Allowed::default().find("10.0.0.1".parse().unwrap()), None);
    }
}
