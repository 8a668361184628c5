//! State of IPsec: IKE SAs, by which keys are agreed upon, and their children, which packets are encrypted with.
//!
//! ```text
//!  policy ─► the child in use ─┐
//!  SPI ────────────────────────┴► Child, both directions ─► its IKE SA
//! ```

use super::crypt::{Group, Prf, Sealer};
use super::ikev1;
use super::propose::{ChildSuite, Suite};
use super::settings::{Id, Key, Peer, Policy};
use crate::counter::Count;
use crate::ip::datagram::End;
use config::ItemId;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use wire::Moment;
use wire::ike::Selector;

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Ike {
    /// By the router's own SPI.
    pub(super) sas: BTreeMap<u64, IkeSa>,
    /// Those of version 1, by the router's own cookie.
    pub(super) v1: BTreeMap<u64, ikev1::Sa>,
    /// By the SPI of what comes.
    pub(crate) children: BTreeMap<u32, Child>,
    /// By [policy](Policy::key) the child that packets leave by.
    pub(crate) current: HashMap<Key, u32>,
    /// By peer: not before then is it asked again.
    pub(super) retry: BTreeMap<ItemId, Moment>,
    /// When something is due next.
    pub(crate) due: Moment,
}

impl Ike {
    /// Whether anything was agreed upon, or is being.
    pub(crate) fn has_any(&self) -> bool {
        !self.sas.is_empty() || !self.v1.is_empty() || !self.children.is_empty()
    }

    /// Forgets all keys; nobody is told.
    pub(crate) fn forget(&mut self, now: Moment) {
        *self = Ike { due: now, ..Ike::default() };
    }
}

/// A trial encrypts with the same keys, and agrees upon none.
impl Clone for Ike {
    fn clone(&self) -> Ike {
        let (children, current) = (self.children.clone(), self.current.clone());
        let due = Moment::from_nanos(u64::MAX);
        Ike { children, current, due, ..Ike::default() }
    }
}

/// An IKE SA.
#[derive(Debug)]
pub(crate) struct IkeSa {
    pub(super) peer: Arc<Peer>,
    /// The router's, and the other one.
    pub(super) ends: (End, End),
    /// There is NAT on the way: packets go in UDP.
    pub(super) in_nat: bool,
    /// The router began it.
    pub(super) began: bool,
    /// The initiator's, and the responder's.
    pub(super) spis: [u64; 2],
    pub(super) phase: Phase,
    pub(super) keys: Option<Keys>,
    pub(super) setup: Option<Box<Setup>>,
    /// The number of the next request, and of the next one that is to come.
    pub(super) next_id: u32,
    pub(super) expected: u32,
    /// The last one answered, and how: it may come again.
    pub(super) answered: Option<(u32, Vec<u8>)>,
    pub(super) pending: Option<Pending>,
    pub(super) wishes: VecDeque<Wish>,
    pub(super) heard: Moment,
    /// When NAT on the way is to be kept open again.
    pub(super) keep: Moment,
    pub(super) since: Moment,
    /// When its keys are to be made anew.
    pub(super) renew: Moment,
    pub(super) other_id: Option<Id>,
}

/// How far an IKE SA is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A secret is being agreed upon.
    Init,
    /// There is one, and both ends prove who they are.
    Auth,
    Up,
}

/// The keys of an IKE SA.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) suite: Suite,
    /// Others are made of it.
    pub(super) derive: Vec<u8>,
    pub(super) own: Sealer,
    pub(super) other: Sealer,
    /// Those that identities are proven with.
    pub(super) proofs: [Vec<u8>; 2],
    /// Messages sealed.
    pub(super) sealed: u64,
}

impl Keys {
    /// The keys of an IKE SA (RFC 7296 §2.14, and §2.18 if there were keys before); `began` is who has these.
    pub(super) fn new(
        suite: Suite,
        before: Option<(Prf, &[u8])>,
        shared: &[u8],
        nonces: [&[u8]; 2],
        spis: [u64; 2],
        began: bool,
    ) -> Keys {
        let prf = suite.prf;
        let [i, r] = nonces;
        let seed = match before {
            None => prf.of(&[i, r].concat(), &[shared]),
            Some((before, key)) => before.of(key, &[shared, i, r]),
        };
        let [spi_i, spi_r] = spis.map(u64::to_be_bytes);
        let (cipher, proof) = (suite.encryption.key_len(), suite.integrity.key_len());
        let lens = [prf.len(), proof, proof, cipher, cipher, prf.len(), prf.len()];
        let [derive, ai, ar, ei, er, pi, pr] = prf.keys(&seed, &[i, r, &spi_i, &spi_r], lens);
        let sealer =
            |key: &[u8], proof: &[u8]| Sealer::new(suite.encryption, key, suite.integrity, proof);
        let (one, two) = (sealer(&ei, &ai), sealer(&er, &ar));
        let (own, other) = if began { (one, two) } else { (two, one) };
        Keys { suite, derive, own, other, proofs: [pi, pr], sealed: 0 }
    }

    /// What packets are encrypted with: from who asked, and to (§2.17).
    pub(super) fn child(
        &self,
        suite: ChildSuite,
        shared: &[u8],
        [i, r]: [&[u8]; 2],
    ) -> [Sealer; 2] {
        let [cipher, proof] = suite.key_lens();
        let lens = [cipher, proof, cipher, proof];
        let [ei, ai, er, ar] = self.suite.prf.keys(&self.derive, &[shared, i, r], lens);
        [suite.sealer(&ei, &ai), suite.sealer(&er, &ar)]
    }
}

/// What is known until both ends have proven who they are.
#[derive(Debug, Default)]
pub(super) struct Setup {
    pub(super) secret: [u8; Group::SECRET],
    pub(super) group: Option<Group>,
    /// The initiator's, and the responder's.
    pub(super) nonces: [Vec<u8>; 2],
    /// The first messages, which are proven.
    pub(super) firsts: [Vec<u8>; 2],
    pub(super) cookie: Vec<u8>,
    /// For which the first child is.
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) spi: u32,
    /// Groups were refused so often.
    pub(super) refused: u32,
}

/// A request that is to be answered.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: u32,
    pub(super) bytes: Vec<u8>,
    pub(super) tries: u32,
    pub(super) again: Moment,
    pub(super) asked: Asked,
}

/// What was asked.
#[derive(Debug)]
pub(super) enum Asked {
    Init,
    Auth,
    Child {
        policy: Arc<Policy>,
        replaces: Option<u32>,
        spi: u32,
        secret: [u8; Group::SECRET],
        nonce: Vec<u8>,
    },
    Rekey {
        spi: u64,
        secret: [u8; Group::SECRET],
        group: Group,
        nonce: Vec<u8>,
    },
    Probe,
    /// That these children are over; that the IKE SA is.
    Delete(Vec<u32>),
    Close,
}

/// What is to be asked when nothing else is.
#[derive(Debug)]
pub(super) enum Wish {
    Child { policy: Arc<Policy>, replaces: Option<u32> },
    Rekey,
    Probe,
    Delete(Vec<u32>),
    Close,
}

/// Of which IKE SA a child is, and what it has of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of {
    /// The router's own SPI, or cookie.
    pub(super) spi: u64,
    pub(super) ends: (End, End),
    pub(super) in_nat: bool,
    pub(super) began: bool,
}

/// What packets of a policy are encrypted with, both ways.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub(crate) policy: Arc<Policy>,
    /// Its IKE SA, by the router's own SPI.
    pub(super) of: u64,
    /// Of what comes, and of what leaves.
    pub(crate) spis: [u32; 2],
    pub(crate) sealers: Arc<[Sealer; 2]>,
    pub(crate) suite: ChildSuite,
    pub(crate) ends: (End, End),
    pub(crate) in_nat: bool,
    pub(crate) is_tunnel: bool,
    /// Which packets: the router's side, and the other one.
    pub(crate) selectors: [Selector; 2],
    /// The last number that left.
    pub(crate) sequence: u32,
    pub(crate) window: Window,
    /// In and out.
    pub(crate) counts: [Count; 2],
    pub(crate) since: Moment,
    pub(crate) renew: Moment,
    pub(crate) ends_at: Moment,
    /// Another one is to take its place, or has.
    pub(super) is_replaced: bool,
}

/// Which numbers have come lately (RFC 4303 §3.4.3).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    highest: u32,
    /// The highest is bit 0.
    seen: u128,
}

impl Window {
    /// How late a number may come.
    pub(crate) const SIZE: u32 = u128::BITS;

    /// Whether a number has not come yet, and not too late.
    pub(crate) fn is_new(&self, number: u32) -> bool {
        match self.highest.checked_sub(number) {
            None => true,
            Some(late) => number != 0 && late < Window::SIZE && self.seen >> late & 1 == 0,
        }
    }

    /// Notes one that has come.
    pub(crate) fn note(&mut self, number: u32) {
        match number.checked_sub(self.highest) {
            Some(ahead) => {
                self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
                self.highest = number;
            }
            None => self.seen |= 1 << (self.highest - number),
        }
    }
}

impl Child {
    /// What it is the child of.
    pub(crate) fn key(&self) -> Key {
        self.policy.key(self.selectors[1].addresses[0])
    }

    /// Whether a packet may come by it; one that leaves, with its ends reversed.
    pub(crate) fn admits(&self, tuple: &wire::FiveTuple) -> bool {
        let [own, other] = &self.selectors;
        other.admits(tuple.protocol, tuple.src_port, tuple.src)
            && own.admits(tuple.protocol, tuple.dst_port, tuple.dst)
    }
}

impl IkeSa {
    /// The router's own SPI.
    pub(super) fn own_spi(&self) -> u64 {
        self.spis[usize::from(!self.began)]
    }

    pub(super) fn of(&self) -> Of {
        let (ends, in_nat, began) = (self.ends, self.in_nat, self.began);
        Of { spi: self.own_spi(), ends, in_nat, began }
    }

    pub(super) fn is_up(&self) -> bool {
        self.phase == Phase::Up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_comes_twice_or_far_too_late() {
        let mut window = Window::default();
        let mut come = Vec::new();
        for number in [1, 2, 5, 4, 4, 200, 72, 73, 73, 71, 5, 199, 0, 200, u32::MAX, u32::MAX - 127]
        {
            let late = come.iter().max().is_some_and(|max: &u32| max.saturating_sub(number) >= 128);
            let expected = number != 0 && !late && !come.contains(&number);
            assert_eq!(window.is_new(number), expected, "{number} behind {come:?}");
            if expected {
                window.note(number);
                come.push(number);
            }
        }
        assert_eq!(come.len(), 9, "{come:?}");
    }
}
