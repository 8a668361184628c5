//! The kernel's packet generator in a capture: its threads told apart, where their frames allow it.
//!
//! ```text
//! all frames ── by time made, do numbers rise? ── yes ─► one thread
//!                          │ no: several count at the same time
//!                          └─ of each field: do they rise among the frames that have one value? ─► a thread each
//!                                              none does ─► several, alike: counted as one
//! ```
//!
//! Each of its threads numbers its own frames from 1. Threads are told by whatever is theirs alone: an
//! address, a port. Fields that go at random, or round, do not help: numbers rise among no value's
//! frames, or there are too many values.
//!
//! All of its frames are kept up to the end, some 40 bytes each. Missing: **threads told by two fields
//! together**.

use crate::frame::Look;
use crate::pktgen::{Fields, Header};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use wire::MacAddr;

/// Whose a frame of the generator's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Thread {
    /// There is one thread.
    Only,
    /// That of this address.
    From(IpAddr),
    /// That to this address.
    To(IpAddr),
    /// That from this UDP port.
    FromPort(u16),
    /// That to this UDP port.
    ToPort(u16),
    /// That from this MAC address.
    FromMac(#[serde(with = "mac")] [u8; 6]),
    /// That to this MAC address.
    ToMac(#[serde(with = "mac")] [u8; 6]),
    /// There are several, and nobody knows which.
    Alike,
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Thread::Only => f.write_str("pktgen"),
            Thread::From(address) => write!(f, "pktgen from {address}"),
            Thread::To(address) => write!(f, "pktgen to {address}"),
            Thread::FromPort(port) => write!(f, "pktgen from port {port}"),
            Thread::ToPort(port) => write!(f, "pktgen to port {port}"),
            Thread::FromMac(mac) => write!(f, "pktgen from {}", MacAddr(*mac)),
            Thread::ToMac(mac) => write!(f, "pktgen to {}", MacAddr(*mac)),
            Thread::Alike => f.write_str("pktgen, threads"),
        }
    }
}

/// A MAC address as everybody writes it.
mod mac {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use wire::MacAddr;

    pub(super) fn serialize<S: Serializer>(mac: &[u8; 6], to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&MacAddr(*mac))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 6], D::Error> {
        let text = String::deserialize(from)?;
        let mac: Result<MacAddr, _> = text.parse();
        mac.map(|mac| mac.0).map_err(|_| de::Error::custom(format!("{text:?} is no MAC address")))
    }
}

/// What could tell threads apart; those that a router leaves as they are come first.
const MARKS: [fn(&Fields) -> Thread; 6] = [
    |of| Thread::FromPort(of.ports.0),
    |of| Thread::ToPort(of.ports.1),
    |of| Thread::From(of.addresses.0),
    |of| Thread::To(of.addresses.1),
    |of| Thread::FromMac(of.macs.0),
    |of| Thread::ToMac(of.macs.1),
];

/// More threads than processors nobody has; more values than this are none of threads.
const THREADS: usize = 256;
/// Of a single thread one frame in so many may be out of its order: clocks are set.
const OTHERS: usize = 50;

/// A frame of the generator's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// What it says.
    pub(super) header: Header,
    /// When it was captured, in nanoseconds since 1970.
    pub(super) captured_ns: u64,
    /// L2 with FCS.
    pub(super) l2: u32,
    /// What its headers look like.
    pub(super) look: Look,
    /// Which of the fields that were seen are its.
    fields: u32,
}

/// All frames of the generator's so far, in the order of the capture.
#[derive(Debug, Default)]
pub(super) struct Frames {
    frames: Vec<Frame>,
    fields: Vec<Fields>,
    known: HashMap<Fields, u32>,
}

impl Frames {
    /// Keeps one.
    pub(super) fn push(
        &mut self,
        header: Header,
        fields: Fields,
        captured_ns: u64,
        l2: u32,
        look: Look,
    ) {
        let Frames { frames, fields: all, known } = self;
        let fields = *known.entry(fields).or_insert_with(|| {
            all.push(fields);
            all.len() as u32 - 1
        });
        frames.push(Frame { header, captured_ns, l2, look, fields });
    }

    /// Each thread's frames, in the order of the capture.
    pub(super) fn threads(&self) -> Vec<(Thread, Vec<Frame>)> {
        let all: Vec<&Frame> = self.frames.iter().collect();
        if all.is_empty() {
            return Vec::new();
        }
        if rises(all) {
            return vec![(Thread::Only, self.frames.clone())];
        }
        let told = MARKS.iter().filter_map(|mark| self.told(*mark));
        let fewest = told.min_by_key(BTreeMap::len);
        let owned = |(which, frames): (Thread, Vec<&Frame>)| {
            (which, frames.into_iter().copied().collect::<Vec<_>>())
        };
        match fewest {
            Some(threads) => threads.into_iter().map(owned).collect(),
            None => vec![(Thread::Alike, self.frames.clone())],
        }
    }

    /// The frames by one of their fields, if that tells threads apart.
    fn told(&self, mark: fn(&Fields) -> Thread) -> Option<BTreeMap<Thread, Vec<&Frame>>> {
        let mut threads: BTreeMap<Thread, Vec<&Frame>> = BTreeMap::new();
        for frame in &self.frames {
            threads.entry(mark(&self.fields[frame.fields as usize])).or_default().push(frame);
            if threads.len() > THREADS {
                return None;
            }
        }
        (threads.len() > 1 && threads.values().all(|frames| rises(frames.clone())))
            .then_some(threads)
    }
}

/// Whether numbers rise with the time at which frames were made, but for a few: then one has made them
/// all. Who begins anew falls back to where he began, or below; of two that count at the same time the
/// later frame has the lower number again and again. Copies of a frame are one. Frames that do not say
/// when they were made are taken as captured.
fn rises(mut frames: Vec<&Frame>) -> bool {
    let made = |frame: &Frame| match frame.header.time_ns {
        0 => frame.captured_ns,
        time_ns => time_ns,
    };
    let of = |frame: &&Frame| (made(frame), frame.header.number);
    frames.sort_by_key(of);
    frames.dedup_by_key(|frame| of(frame));
    let mut began = frames.first().map_or(0, |frame| frame.header.number);
    let mut falls = 0;
    for pair in frames.windows(2) {
        let [before, number] = [pair[0], pair[1]].map(|frame| frame.header.number);
        let by = number.wrapping_sub(before) as i32;
        // Without times a number twice is a copy; with times it is another's.
        let is_twice = by == 0 && pair[1].header.time_ns > 0;
        let anew = by < 0 && number.wrapping_sub(began) as i32 <= 0;
        falls += usize::from(is_twice || (by < 0 && !anew));
        if by < 0 {
            began = number;
        }
    }
    falls * OTHERS <= frames.len()
}
