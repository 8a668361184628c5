//! `dst-limit`: a bucket for each destination, or pair, or source.
//!
//! ```text
//! dst-limit=10/1s,5,dst-address-and-port/30s     key = what the mode names
//!                                                no packet for 30 s: the bucket goes, and is full anew
//! ```

use crate::firewall::state::Bucket;
use crate::firewall::syntax::{self, Limit};
use config::Value;
use std::collections::HashMap;
use std::time::Duration;
use wire::{FiveTuple, Moment};

/// `dst-limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DstLimit {
    /// The buckets.
    pub limit: Limit,
    mode: Mode,
    /// How long a bucket is kept without packets.
    pub expire: Duration,
}

/// What has a bucket of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    DstAddress,
    DstAddressAndPort,
    SrcAddress,
    SrcAndDstAddresses,
    AddressesAndDstPort,
}

const MODES: [(&str, Mode); 5] = [
    ("dst-address", Mode::DstAddress),
    ("dst-address-and-port", Mode::DstAddressAndPort),
    ("src-address", Mode::SrcAddress),
    ("src-and-dst-addresses", Mode::SrcAndDstAddresses),
    ("addresses-and-dst-port", Mode::AddressesAndDstPort),
];

/// Without packets a bucket goes after this time, unless the rule says otherwise.
const EXPIRE: Duration = Duration::from_secs(10);
/// More buckets than this a rule has not: packets of other keys do not match then.
const MAX: usize = 1 << 16;

impl DstLimit {
    /// Reads `count[/time],burst,mode[/expire]`.
    pub fn parse(text: &str) -> Option<DstLimit> {
        let (limit, mode) = text.rsplit_once(',')?;
        let (mode, expire) = match mode.split_once('/') {
            Some((mode, expire)) => (mode, syntax::time(expire)?),
            None => (mode, EXPIRE),
        };
        let &(_, mode) = MODES.iter().find(|&&(word, _)| word == mode)?;
        let day = Duration::from_secs(7 * 86_400);
        let limit = Limit::parse(limit).filter(|_| !expire.is_zero() && expire <= day)?;
        Some(DstLimit { limit, mode, expire })
    }

    fn key<A: Copy + Into<u128>>(&self, tuple: &FiveTuple<A>) -> (u128, u128, u16) {
        let (src, dst, dst_port) = (tuple.src.into(), tuple.dst.into(), tuple.dst_port);
        match self.mode {
            Mode::DstAddress => (0, dst, 0),
            Mode::DstAddressAndPort => (0, dst, dst_port),
            Mode::SrcAddress => (src, 0, 0),
            Mode::SrcAndDstAddresses => (src, dst, 0),
            Mode::AddressesAndDstPort => (src, dst, dst_port),
        }
    }
}

/// Reads `dst-limit`.
pub fn read(text: &str) -> Result<Value, String> {
    let expected = "count[/time],burst,mode[/expire], as in 10/1s,5,dst-address/1m; modes are \
                    dst-address, dst-address-and-port, src-address, src-and-dst-addresses and \
                    addresses-and-dst-port";
    syntax::keep(text, DstLimit::parse(text).is_some(), expected)
}

/// `limit` and `dst-limit` count packets or bits of IP.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets {
    by_key: HashMap<(u128, u128, u16), (Bucket, Moment)>,
    /// When the idle ones were looked for last.
    swept: Moment,
}

impl Buckets {
    /// Takes a token out of the bucket of a packet of `ip_len` bytes; false if there is none.
    pub(crate) fn take<A: Copy + Into<u128>>(
        &mut self,
        limit: &DstLimit,
        tuple: &FiveTuple<A>,
        ip_len: u16,
        now: Moment,
    ) -> bool {
        let is_full = self.by_key.len() >= MAX;
        if now.since(self.swept) >= if is_full { FULL } else { limit.expire } {
            self.swept = now;
            self.by_key.retain(|_, (_, used)| now.since(*used) < limit.expire);
        }
        let key = limit.key(tuple);
        if self.by_key.len() >= MAX && !self.by_key.contains_key(&key) {
            return false;
        }
        let (bucket, used) = self.by_key.entry(key).or_insert((Bucket::default(), now));
        if now.since(*used) >= limit.expire {
            *bucket = Bucket::default();
        }
        *used = now;
        bucket.take(&limit.limit, ip_len, now)
    }
}

/// When all buckets are in use, idle ones are looked for this often.
const FULL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(text: &str, packets: impl Iterator<Item = (u64, FiveTuple)>) -> usize {
        let (limit, mut buckets) = (DstLimit::parse(text).expect(text), Buckets::default());
        let at = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        packets.filter(|(ms, tuple)| buckets.take(&limit, tuple, 100, at(*ms))).count()
    }

    fn to(n: u32, port: u16) -> FiveTuple {
        FiveTuple { src: n % 2, dst: n, dst_port: port, ..FiveTuple::default() }
    }

    #[test]
    fn each_key_has_a_bucket_of_its_own() {
        let burst = || (0..10).flat_map(|n| (0..5).flat_map(move |p| [(0, to(n, p)); 4]));
        let cases = [(0, 10 * 3), (1, 50 * 3), (2, 2 * 3), (3, 10 * 3), (4, 50 * 3)]
            .map(|(mode, want)| (format!("1/1s,3,{}", MODES[mode as usize].0), want));
        for (text, want) in cases {
            assert_eq!(passed(&text, burst()), want, "{text}");
        }
    }

    #[test]
    fn buckets_fill_again_and_go_when_nobody_asks() {
        let one = |ms: u64| (ms, to(1, 1));
        assert_eq!(passed("1/1s,1,dst-address", (0..3000).map(one)), 3);
        // One packet in a minute would be its share; after ten seconds it is a stranger again.
        assert_eq!(
            passed("1/1m,1,dst-address", [0, 9_000, 18_000, 29_000].map(one).into_iter()),
            2
        );
        assert_eq!(passed("1/1m,1,dst-address/1h", [0, 9_000, 29_000].map(one).into_iter()), 1);
    }

    #[test]
    fn a_flood_of_keys_takes_bounded_memory() {
        let flood = (0..200_000u32).map(|n| (u64::from(n) / 1000, to(n, 1)));
        assert_eq!(passed("1/1s,1,dst-address", flood), MAX);
    }

    #[test]
    fn syntax() {
        for bad in
            ["10,5", "10,5,dst", "10,5,dst-address/0s", "10,5,dst-address/8d", "x,5,dst-address"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
