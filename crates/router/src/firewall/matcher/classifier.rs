//! `per-connection-classifier`: a share of all connections, chosen by hash.
//!
//! ```text
//! both-addresses-and-ports:2/0   hash(fields) mod 2 = 0
//! ```
//!
//! MikroTik documents the recipe, not the hash: fields become 32 bits, these are divided, the
//! remainder is compared. This hash is ours. That of `both-…` fields is the same for a packet and its
//! reply, so that both directions of a connection are in one share.

use crate::firewall::syntax;
use config::Value;
use wire::FiveTuple;

/// `per-connection-classifier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classifier {
    fields: Fields,
    /// What the hash is divided by.
    pub denominator: u32,
    /// What has to remain.
    pub remainder: u32,
}

/// Which fields of either end are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields {
    src: End,
    dst: End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct End {
    address: bool,
    port: bool,
}

impl Fields {
    fn parse(word: &str) -> Option<Fields> {
        let (end, which) = [("src-", (true, false)), ("dst-", (false, true))]
            .iter()
            .chain(&[("both-", (true, true))])
            .find_map(|&(prefix, which)| Some((word.strip_prefix(prefix)?, which)))?;
        let end = match (end, which) {
            ("address", (true, false) | (false, true)) | ("addresses", (true, true)) => {
                End { address: true, port: false }
            }
            ("port", (true, false) | (false, true)) | ("ports", (true, true)) => {
                End { address: false, port: true }
            }
            ("address-and-port", (true, false) | (false, true))
            | ("addresses-and-ports", (true, true)) => End { address: true, port: true },
            _ => return None,
        };
        let of = |is_asked: bool| if is_asked { end } else { End::default() };
        Some(Fields { src: of(which.0), dst: of(which.1) })
    }
}

impl End {
    /// A 32-bit share of the hash; 0 if nothing of this end is looked at.
    fn hash(self, address: u128, port: u16) -> u32 {
        if self == End::default() {
            return 0;
        }
        let address = match (self.address, u32::try_from(address)) {
            (false, _) => 0,
            (true, Ok(short)) => short.into(),
            (true, Err(_)) => {
                let (network, host) = (mix((address >> 64) as u64), mix(address as u64));
                u64::from(network.rotate_left(16) ^ host)
            }
        };
        let port = if self.port { u64::from(port) } else { 0 };
        mix(address << 16 | port)
    }
}

/// SplitMix64's last step: each bit of the input moves half of the output.
fn mix(n: u64) -> u32 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((n ^ (n >> 31)) >> 32) as u32
}

impl Classifier {
    /// Reads `fields:denominator/remainder`.
    pub fn parse(text: &str) -> Option<Classifier> {
        let (fields, share) = text.split_once(':')?;
        let (denominator, remainder) = share.split_once('/')?;
        let denominator = syntax::number(denominator).filter(|&n| n > 0)?;
        let remainder = syntax::number(remainder)?;
        Some(Classifier { fields: Fields::parse(fields)?, denominator, remainder })
    }

    /// Whether a packet is in the share. Where there are no ports they are 0.
    pub(crate) fn holds<A: Copy + Into<u128>>(&self, tuple: &FiveTuple<A>) -> bool {
        let src = self.fields.src.hash(tuple.src.into(), tuple.src_port);
        let dst = self.fields.dst.hash(tuple.dst.into(), tuple.dst_port);
        mix(u64::from(src) + u64::from(dst)) % self.denominator == self.remainder
    }
}

/// Reads `per-connection-classifier`.
pub fn read(text: &str) -> Result<Value, String> {
    let expected = "fields:denominator/remainder, as in both-addresses:2/0; fields are \
                    src-address, dst-address, both-addresses, src-port, dst-port, both-ports, \
                    src-address-and-port, dst-address-and-port or both-addresses-and-ports";
    syntax::keep(text, Classifier::parse(text).is_some(), expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::layers::protocol;

    const FIELDS: [&str; 9] = [
        "src-address",
        "dst-address",
        "both-addresses",
        "src-port",
        "dst-port",
        "both-ports",
        "src-address-and-port",
        "dst-address-and-port",
        "both-addresses-and-ports",
    ];

    fn share(fields: &str, denominator: u32, tuple: &FiveTuple) -> u32 {
        let of = |remainder| Classifier::parse(&format!("{fields}:{denominator}/{remainder}"));
        let shares: Vec<u32> = (0..denominator).filter(|&n| of(n).unwrap().holds(tuple)).collect();
        assert_eq!(shares.len(), 1, "{fields} {denominator} {tuple:?}");
        shares[0]
    }

    fn tuple(n: u32) -> FiveTuple {
        // Neighbours of a network, as clients are.
        let (src, dst) = (0x0a00_0000 + n % 251, 0xc000_0200 + n % 241);
        let (src_port, dst_port) = (1024 + (n % 997) as u16, (n % 65_521) as u16);
        FiveTuple { src, dst, src_port, dst_port, protocol: protocol::TCP }
    }

    #[test]
    fn each_connection_is_in_one_share_and_shares_are_alike() {
        for fields in FIELDS {
            for denominator in [1, 2, 3, 5, 8] {
                let mut shares = vec![0u32; denominator as usize];
                for n in 0..2000 {
                    shares[share(fields, denominator, &tuple(n * 7919)) as usize] += 1;
                }
                let fair = 2000 / denominator;
                let fits = |&n: &u32| n * 10 >= fair * 7 && n * 10 <= fair * 13;
                assert!(shares.iter().all(fits), "{fields}:{denominator} {shares:?}");
            }
        }
    }

    #[test]
    fn only_the_fields_named_decide_and_both_is_the_same_in_reverse() {
        let other = |fields: &str, t: FiveTuple| FiveTuple {
            src: if fields.contains("src-address") { t.src } else { !t.src },
            dst: if fields.contains("dst-address") { t.dst } else { !t.dst },
            src_port: if fields.ends_with("port") && fields.starts_with("src") {
                t.src_port
            } else {
                !t.src_port
            },
            dst_port: if fields.ends_with("port") && fields.starts_with("dst") {
                t.dst_port
            } else {
                !t.dst_port
            },
            ..t
        };
        for n in 0..100 {
            let t = tuple(n * 31);
            for fields in FIELDS {
                let same = if fields.starts_with("both") { t.reversed() } else { other(fields, t) };
                assert_eq!(share(fields, 7, &t), share(fields, 7, &same), "{fields} {t:?}");
            }
        }
    }

    #[test]
    fn syntax() {
        for bad in ["", "src-address", "src-address:2", "src-addresses:2/0", "both-address:2/0"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read("both-ports:0/0").is_err() && read("src-port:2/7").is_ok());
    }
}
