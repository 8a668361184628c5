//! Host table of a bridge: the port behind which each MAC address is.
//!
//! ```text
//!  bucket = one cache line, four places, no pointers
//!  | (mac, port) ×4 : 32 B | last seen ×4 : 16 B | VLAN ×4 : 8 B | local ×4, overflowed | spare |
//!
//!  mac ─► first bucket ─► found, or not overflowed: done        (one line, nearly always)
//!                    └──► second bucket                         (when the first was full once)
//! ```
//!
//! A look-up and a learning of a known host are one probe each and write nothing, but for a new
//! stamp once a second. Two buckets a host bound every search; a table that finds no place doubles,
//! up to its limit: from then on new hosts are not learnt (their frames are flooded) and counted in
//! [`Hosts::refused`].
//!
//! Never decides where a frame goes (that is [`super::Bridge::decide`]); never expires a host by
//! itself ([`Hosts::age`] is called with a budget). Missing: **static entries**.
//!
//! # DoS
//! The places of a MAC depend on a seed. A sender who knows it anyway can fill two buckets and keep
//! single hosts from being learnt; he cannot make a search longer, or the table larger than its
//! limit.

use super::groups::Groups;
use crate::interface::InterfaceId;
use port::tags::{equal_of_four, equal_words};
use wire::MacAddr;

/// Hosts a bridge keeps unless told otherwise.
pub const MAX_HOSTS: usize = 1 << 17;

/// Buckets up to which a table doubles for any collision: 32 KB.
const SMALL: usize = 256;
/// Stamps are this coarse, in ms: a host that talks all the time is written once a second.
const STAMP: u32 = 1000;

/// What a look-up found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// The port it is behind; for a local address the port (or the bridge) whose own it is.
    pub port: InterfaceId,
    /// The router's own address.
    pub local: bool,
}

/// What learning did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learnt {
    /// Nothing new.
    Known,
    /// A new host.
    New,
    /// A known host, behind another port than before.
    Moved,
    /// Not learnt: the address is one of the router's own, so this frame came back in a loop.
    Own,
    /// Not learnt: no place, or not the address of a host (a group, or all zeros).
    Refused,
}

/// One row of `/interface bridge host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address.
    pub mac: MacAddr,
    /// The VLAN; 0 where there are none.
    pub vid: u16,
    /// Where it is.
    pub host: Host,
    /// Milliseconds since it was last seen (give or take a second); 0 for local addresses.
    pub age_ms: u32,
}

/// What a host is found by: its address, and the VLAN if the bridge knows any.
///
/// As a number: the VLAN id in the upper 16 bits, the address in the others.
#[inline(always)]
pub fn key(vid: u16, mac: u64) -> u64 {
    u64::from(vid) << 48 | mac
}

const ADDRESS: u64 = (1 << 48) - 1;

/// Four places in one cache line. A place is free when its word is 0.
#[repr(align(64))]
#[derive(Clone, Copy, Default)]
struct Bucket {
    /// MAC in the upper 48 bits, port in the lower 16 (a bridge takes no others): "same host, same port" is one comparison.
    words: [u64; 4],
    /// When last seen, ms.
    seen: [u32; 4],
    /// In which VLAN; 0 where there are none.
    vids: [u16; 4],
    /// Bit n: place n is a local address.
    local: u8,
    /// Whether a host that belongs here first was ever put into its second bucket.
    overflowed: bool,
}

impl Bucket {
    /// All four places at once: which one it is cannot be foreseen, so a branch for each would
    /// cost more than three needless comparisons.
    #[inline(always)]
    fn find(&self, key: u64) -> Option<usize> {
        let of_vlan = equal_of_four(&self.vids, (key >> 48) as u16);
        let hits = equal_words::<16>(&self.words, key << 16) & of_vlan;
        (hits != 0 && key & ADDRESS != 0).then(|| hits.trailing_zeros() as usize)
    }

    /// Whether what is there is of the key's VLAN, if there are any. An address in two VLANs of one
    /// bucket is rare: who asks so looks at one place.
    #[inline(always)]
    fn is_of_vlan<const VLANS: bool>(&self, place: usize, key: u64) -> bool {
        !VLANS || self.vids[place] == (key >> 48) as u16
    }

    /// The key of a place that is taken.
    #[inline]
    fn key(&self, place: usize) -> u64 {
        key(self.vids[place], self.words[place] >> 16)
    }

    #[inline]
    fn host(&self, place: usize) -> Host {
        Host {
            port: InterfaceId(u32::from(self.words[place] as u16)),
            local: self.local >> place & 1 == 1,
        }
    }
}

/// The hosts of one bridge.
#[derive(Clone)]
pub struct Hosts {
    buckets: Vec<Bucket>,
    /// `64 - log2(buckets)`: the upper bits of the product are the bucket's number.
    shift: u32,
    seed: u64,
    len: usize,
    max: usize,
    refused: u64,
    version: u32,
    /// Where the next sweep goes on.
    cursor: usize,
    /// Ports that the spanning tree does not let forward, and whether they learn; mostly none.
    closed: Vec<(InterfaceId, bool)>,
    /// Which of them want which multicast.
    pub(crate) groups: Groups,
}

impl Hosts {
    /// An empty table for at most `max` hosts; `seed` should be hard to guess.
    pub fn new(seed: u64, max: usize) -> Hosts {
        let buckets = vec![Bucket::default(); 16];
        // The multiplier must be odd; mixing spreads a seed such as 1 over all its bits.
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03 | 1;
        let (closed, groups) = (Vec::new(), Groups::default());
        let (len, refused, version, cursor) = (0, 0, 0, 0);
        Hosts { buckets, shift: 60, seed, len, max, refused, version, cursor, closed, groups }
    }

    /// How many hosts are known, local addresses included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Hosts that were not learnt because there was no place for them.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Changes whenever a look-up may answer otherwise than before: for caches of answers.
    #[inline]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Closes these ports, and opens all others: what the spanning tree says. Whether a closed port
    /// learns hosts is said with it.
    pub fn close(&mut self, ports: impl IntoIterator<Item = (InterfaceId, bool)>) {
        self.closed = ports.into_iter().collect();
        self.version = self.version.wrapping_add(1);
    }

    /// Whether frames may come in and go out by a port.
    #[inline(always)]
    pub fn is_open(&self, port: InterfaceId) -> bool {
        self.closed.is_empty() || self.closed.iter().all(|&(closed, _)| closed != port)
    }

    /// Whether hosts are learnt of frames that come in by a port, open or not.
    pub fn learns_at(&self, port: InterfaceId) -> bool {
        self.closed.iter().all(|&(closed, learns)| closed != port || learns)
    }

    /// Memory taken by the table, in bytes.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
    }

    /// Asks for the cache line in which `mac` (a [`key`]) would be found; its number, for
    /// [`lookup_at`](Self::lookup_at) and [`learn_at`](Self::learn_at).
    #[inline(always)]
    pub fn prefetch(&self, mac: u64) -> u32 {
        let first = self.places(mac).0;
        port::prefetch::element(&self.buckets, first);
        first as u32
    }

    /// Where the host with this address (a [`key`]) is.
    #[inline(always)]
    pub fn lookup(&self, mac: u64) -> Option<Host> {
        let (bucket, place) = self.find(mac)?;
        Some(self.buckets[bucket].host(place))
    }

    /// The same, where it is known whether there are VLANs and in which line it would be found: as
    /// [`prefetch`](Self::prefetch) said, though the table may have grown since.
    #[inline(always)]
    pub fn lookup_at<const VLANS: bool>(&self, line: u32, mac: u64) -> Option<Host> {
        if let Some(bucket) = self.buckets.get(line as usize) {
            let hits = equal_words::<16>(&bucket.words, mac << 16);
            let place = hits.trailing_zeros() as usize & 3;
            if hits != 0 && mac & ADDRESS != 0 && bucket.is_of_vlan::<VLANS>(place, mac) {
                return Some(bucket.host(place));
            }
        }
        self.lookup_again(mac)
    }

    /// Wherever it is.
    #[cold]
    #[inline(never)]
    fn lookup_again(&self, mac: u64) -> Option<Host> {
        self.lookup(mac)
    }

    /// Notes that a frame from `mac` (a [`key`]) came in by `port` at `now_ms`
    /// ([`wire::Moment::as_millis_u32`]).
    #[inline(always)]
    pub fn learn(&mut self, mac: u64, port: InterfaceId, now_ms: u32) -> Learnt {
        self.learn_at::<true>(self.places(mac).0 as u32, mac, port, now_ms)
    }

    /// The same, where it is known whether there are VLANs and in which line it would be found.
    #[inline(always)]
    pub fn learn_at<const VLANS: bool>(
        &mut self,
        line: u32,
        mac: u64,
        port: InterfaceId,
        now_ms: u32,
    ) -> Learnt {
        if let Some(bucket) = self.buckets.get_mut(line as usize) {
            let word = mac << 16 | u64::from(port.0);
            let hits = equal_words::<0>(&bucket.words, word) & !bucket.local;
            let place = hits.trailing_zeros() as usize & 3;
            if hits != 0 && bucket.is_of_vlan::<VLANS>(place, mac) {
                let seen = &mut bucket.seen[place];
                if now_ms.wrapping_sub(*seen) >= STAMP {
                    *seen = now_ms;
                }
                return Learnt::Known;
            }
        }
        self.learn_slowly(mac, port, now_ms)
    }

    /// Everything but the common case: in the second bucket, moved, new, or not to be learnt.
    #[cold]
    fn learn_slowly(&mut self, mac: u64, port: InterfaceId, now_ms: u32) -> Learnt {
        if mac & ADDRESS == 0 || mac >> 40 & 1 == 1 {
            return Learnt::Refused;
        }
        let Some((bucket, place)) = self.find(mac) else {
            if self.len < self.max && self.insert(mac, Host { port, local: false }, now_ms) {
                return Learnt::New;
            }
            self.refused += 1;
            return Learnt::Refused;
        };
        let bucket = &mut self.buckets[bucket];
        let host = bucket.host(place);
        if host.local {
            return Learnt::Own;
        }
        if now_ms.wrapping_sub(bucket.seen[place]) >= STAMP {
            bucket.seen[place] = now_ms;
        }
        if host.port == port {
            return Learnt::Known;
        }
        bucket.words[place] = mac << 16 | u64::from(port.0);
        self.version = self.version.wrapping_add(1);
        Learnt::Moved
    }

    /// Makes the local addresses exactly these; what was learnt under one of them is replaced. Two
    /// ports may share an address (the first keeps it). Local addresses do not count against the
    /// table's limit, and where all places are taken they oust a learnt host.
    pub fn set_local(&mut self, addresses: impl IntoIterator<Item = (MacAddr, InterfaceId)>) {
        self.remove_where(|_, host| host.local);
        for (mac, port) in addresses {
            let (mac, host) = (mac.to_u64(), Host { port, local: true });
            match self.lookup(mac) {
                Some(Host { local: true, .. }) => continue,
                Some(_) => self.remove_where(|other, _| other.to_u64() == mac),
                None => {}
            }
            if mac != 0 && !self.insert(mac, host, 0) {
                let first = self.places(mac).0;
                if let Some(place) = (0..4).find(|&i| !self.buckets[first].host(i).local) {
                    self.clear(first, place);
                    self.insert(mac, host, 0);
                }
            }
        }
    }

    /// Forgets the hosts learnt behind `port`; local addresses stay.
    pub fn remove_port(&mut self, port: InterfaceId) {
        self.remove_where(|_, host| host.port == port && !host.local);
    }

    /// Forgets learnt hosts of VLANs, or those of none, when a bridge begins or ends to filter them.
    pub fn keep_vlans(&mut self, vlans: bool) {
        for bucket in 0..self.buckets.len() {
            for place in 0..4 {
                let held = &self.buckets[bucket];
                let taken = held.words[place] != 0 && !held.host(place).local;
                if taken && (held.vids[place] != 0) != vlans {
                    self.clear(bucket, place);
                }
            }
        }
    }

    /// Forgets the hosts for which `gone` says so.
    pub fn remove_where(&mut self, mut gone: impl FnMut(MacAddr, Host) -> bool) {
        for bucket in 0..self.buckets.len() {
            for place in 0..4 {
                let word = self.buckets[bucket].words[place];
                let host = self.buckets[bucket].host(place);
                if word != 0 && gone(MacAddr::from_u64(word >> 16), host) {
                    self.clear(bucket, place);
                }
            }
        }
    }

    /// Looks at up to `budget` places, going on where the last sweep ended, and forgets hosts that
    /// were silent for `ageing_ms`: at most a second late, never early. Returns how many.
    ///
    /// The caller spreads the work: a few dozen places now and then see the whole table many times
    /// within an ageing time.
    pub fn age(&mut self, now_ms: u32, ageing_ms: u32, budget: usize) -> usize {
        let limit = ageing_ms.saturating_add(STAMP);
        let mut aged = 0;
        for _ in 0..budget.div_ceil(4).min(self.buckets.len()) {
            self.cursor = (self.cursor + 1) & (self.buckets.len() - 1);
            for place in 0..4 {
                let bucket = &self.buckets[self.cursor];
                let silent = now_ms.wrapping_sub(bucket.seen[place]);
                if bucket.words[place] != 0 && !bucket.host(place).local && silent >= limit {
                    self.clear(self.cursor, place);
                    aged += 1;
                }
            }
        }
        aged
    }

    /// All hosts, in no particular order.
    pub fn rows(&self, now_ms: u32) -> impl Iterator<Item = Row> {
        self.buckets.iter().flat_map(move |bucket| {
            (0..4).filter(|&place| bucket.words[place] != 0).map(move |place| {
                let host = bucket.host(place);
                let age_ms = if host.local { 0 } else { now_ms.wrapping_sub(bucket.seen[place]) };
                let mac = MacAddr::from_u64(bucket.words[place] >> 16);
                Row { mac, vid: bucket.vids[place], host, age_ms }
            })
        })
    }

    /// A MAC's first and second bucket.
    #[inline]
    fn places(&self, mac: u64) -> (usize, usize) {
        // The product's upper bits depend on all bits of the MAC; its middle ones, rotated up and
        // multiplied again, are as good as a second hash.
        let hash = mac.wrapping_mul(self.seed);
        let hash = (hash ^ hash >> 32).wrapping_mul(self.seed);
        let first = (hash >> self.shift) as usize;
        let second = (hash.rotate_left(32) >> self.shift) as usize;
        (first, second)
    }

    /// The bucket and place of a MAC.
    #[inline]
    fn find(&self, mac: u64) -> Option<(usize, usize)> {
        let (first, second) = self.places(mac);
        let bucket = &self.buckets[first];
        if let Some(place) = bucket.find(mac) {
            return Some((first, place));
        }
        if !bucket.overflowed {
            return None;
        }
        self.buckets[second].find(mac).map(|place| (second, place))
    }

    /// Puts a host that is not there yet in; `false` if there is no place.
    fn insert(&mut self, mac: u64, host: Host, now_ms: u32) -> bool {
        // Half full at most: then one host in twenty has to be looked for in its second bucket.
        if self.len >= self.buckets.len() * 2 {
            self.double();
        }
        loop {
            if self.settle(mac, host, now_ms) {
                break;
            }
            // Both full. An eighth full at least, or somebody makes addresses that collide: then
            // doubling would only waste memory. In a small table five hosts meet by chance.
            if self.len * 2 < self.buckets.len() && self.buckets.len() >= SMALL {
                return false;
            }
            self.double();
        }
        self.len += 1;
        self.version = self.version.wrapping_add(1);
        true
    }

    /// Puts a host in its first bucket, or else in its second.
    fn settle(&mut self, mac: u64, host: Host, now_ms: u32) -> bool {
        let (first, second) = self.places(mac);
        if self.put(first, mac, host, now_ms) {
            return true;
        }
        self.buckets[first].overflowed = true;
        self.put(second, mac, host, now_ms)
    }

    fn put(&mut self, bucket: usize, mac: u64, host: Host, now_ms: u32) -> bool {
        let bucket = &mut self.buckets[bucket];
        let Some(place) = bucket.words.iter().position(|&word| word == 0) else { return false };
        bucket.words[place] = mac << 16 | u64::from(host.port.0);
        bucket.vids[place] = (mac >> 48) as u16;
        bucket.seen[place] = now_ms;
        bucket.local = bucket.local & !(1 << place) | u8::from(host.local) << place;
        true
    }

    fn clear(&mut self, bucket: usize, place: usize) {
        self.buckets[bucket].words[place] = 0;
        self.buckets[bucket].vids[place] = 0;
        self.buckets[bucket].local &= !(1 << place);
        self.len -= 1;
        self.version = self.version.wrapping_add(1);
    }

    /// Twice as many buckets, or more if a small table is still too crowded for one of its hosts. In
    /// a large one all find a place, or else (addresses made to collide) are forgotten and learnt
    /// again; local addresses choose first.
    fn double(&mut self) {
        let old = std::mem::take(&mut self.buckets);
        let (mut size, hosts) = (old.len(), self.len);
        self.cursor = 0;
        loop {
            size *= 2;
            self.shift -= 1;
            self.buckets = vec![Bucket::default(); size];
            self.len = 0;
            for local in [true, false] {
                for bucket in &old {
                    for place in 0..4 {
                        let (word, host) = (bucket.words[place], bucket.host(place));
                        if word != 0 && host.local == local {
                            let settled = self.settle(bucket.key(place), host, bucket.seen[place]);
                            self.len += usize::from(settled);
                        }
                    }
                }
            }
            if self.len == hosts || size >= SMALL {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
