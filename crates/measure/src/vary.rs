//! Variation from frame to frame: fields, the values they go through, and in which order.
//!
//! ```text
//! Fields   each field by itself, in turn or at random       (hosts of a bridge, fresh addresses)
//! Flows    the first N combinations of all fields' values   (N connections, exactly)
//! ```
//!
//! Flow `i` is read off its number, the first field's values changing fastest, so N flows are
//! distinct by construction (as in RFC 9693's enumerated port ranges).
//!
//! Never writes a frame: that is [`stream`](crate::stream). Masks and payload bytes, at any place
//! of any header stack, vary by a frame plan ([`frame`](crate::frame)).

use crate::{Family, Prng};
use std::fmt;
use wire::{Ipv4Prefix, Ipv6Prefix};

/// A field that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Destination MAC address, as a number of 48 bits.
    DstMac,
    /// Source MAC address, as a number of 48 bits.
    SrcMac,
    /// Source address; of IPv6 its last eight bytes.
    Src,
    /// Destination address; of IPv6 its last eight bytes.
    Dst,
    /// UDP source port.
    SrcPort,
    /// UDP destination port.
    DstPort,
}

impl Field {
    /// The largest value the field can hold.
    pub const fn max(self, family: Family) -> u64 {
        match (self, family) {
            (Field::DstMac | Field::SrcMac, _) => 0xffff_ffff_ffff,
            (Field::Src | Field::Dst, Family::Ipv4) => 0xffff_ffff,
            (Field::Src | Field::Dst, Family::Ipv6) => u64::MAX,
            (Field::SrcPort | Field::DstPort, _) => 0xffff,
        }
    }
}

/// The values a field goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// All from the first to the last, both included.
    Range(u64, u64),
    /// Every `step`th (1 or more) from the first on, not beyond the last.
    Steps {
        /// The first.
        first: u64,
        /// None is greater.
        last: u64,
        /// From one to the next.
        step: u64,
    },
    /// These.
    List(Vec<u64>),
    /// One address out of each of these networks. In turn: the network's first host address
    /// (the second address; the first of a /31 or /32). At random: any address of a network, all
    /// networks being equally likely however large they are.
    Networks(Vec<Ipv4Prefix>),
    /// The same of IPv6, of networks up to /64: all of an address.
    Networks6(Vec<Ipv6Prefix>),
}

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// One after the other, then again from the first.
    InTurn,
    /// From the last to the first, then again from the last.
    Backwards,
    /// Each one independent of the last, from the stream's seed.
    Random,
}

/// How a stream's frames differ from their template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variation {
    /// Every field by itself; none for frames that are all alike.
    Fields(Vec<(Field, Values, Pick)>),
    /// Distinct flows: the first `count` combinations of addresses and ports.
    Flows {
        /// The fields and their values, fastest first. No MAC addresses.
        fields: Vec<(Field, Values)>,
        /// How many, at most [`MAX_FLOWS`].
        count: usize,
        /// Which one is next.
        pick: Pick,
    },
}

/// The most flows a stream keeps (16 bytes each).
pub const MAX_FLOWS: usize = 1 << 22;

/// The variation cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadVariation {
    /// No value at all, or a range the wrong way round.
    NoValues(Field),
    /// The field cannot hold this value, but at most that one.
    TooLarge(Field, u64, u64),
    /// Networks are of addresses, and those of IPv6 a /64 at most.
    Networks(Field),
    /// The field is named twice.
    Twice(Field),
    /// Flows are addresses and ports: MAC addresses are varied as fields.
    MacInFlows,
    /// So many flows were asked for, the values have only so many combinations (or the limit of
    /// [`MAX_FLOWS`] is lower). No flow at all is as wrong.
    Flows(usize, u64),
}

impl fmt::Display for BadVariation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadVariation::NoValues(field) => write!(f, "{field:?}: no values to go through"),
            BadVariation::TooLarge(field, value, most) => {
                write!(f, "{field:?}: {value} is more than {most}")
            }
            BadVariation::Networks(field) => {
                write!(f, "{field:?} is in no such network: of the same family, of IPv6 up to /64")
            }
            BadVariation::Twice(field) => write!(f, "{field:?} is varied twice"),
            BadVariation::MacInFlows => {
                f.write_str("flows differ in addresses and ports: vary MAC addresses as fields")
            }
            BadVariation::Flows(count, most) => {
                write!(f, "{count} flows: there can be 1 to {most} of these values")
            }
        }
    }
}

impl std::error::Error for BadVariation {}

impl Values {
    /// How many there are.
    pub fn count(&self) -> u64 {
        match self {
            Values::Range(first, last) => last.saturating_sub(*first).saturating_add(1),
            Values::Steps { first, last, step } => {
                (last.saturating_sub(*first) / step.max(&1)).saturating_add(1)
            }
            Values::List(list) => list.len() as u64,
            Values::Networks(networks) => networks.len() as u64,
            Values::Networks6(networks) => networks.len() as u64,
        }
    }

    /// The value at `index`, which is below [`count`](Self::count); of networks of IPv6 the first eight
    /// bytes.
    #[inline]
    pub(crate) fn at(&self, index: u64) -> u64 {
        match self {
            Values::Range(first, _) => first + index,
            Values::Steps { first, step, .. } => first + index * step,
            Values::List(list) => list[index as usize],
            Values::Networks(networks) => {
                let network = networks[index as usize];
                u64::from(network.bits()) + u64::from(network.len() < 31)
            }
            Values::Networks6(networks) => first_half(networks[index as usize].bits()),
        }
    }

    /// Asks for the value at `index` to be brought near.
    #[inline]
    fn prefetch(&self, index: usize) {
        match self {
            Values::Range(..) | Values::Steps { .. } => {}
            Values::List(list) => port::prefetch::element(list, index),
            Values::Networks(networks) => port::prefetch::element(networks, index),
            Values::Networks6(networks) => port::prefetch::element(networks, index),
        }
    }

    /// The value at `index`, or another address of that network.
    #[inline]
    fn any_at(&self, index: u64, prng: &mut Prng) -> u64 {
        match self {
            Values::Networks(networks) => {
                let network = networks[index as usize];
                let hosts = u64::from(network.last() - network.bits()) + 1;
                u64::from(network.bits()) + prng.below(hosts)
            }
            Values::Networks6(networks) => {
                let network = networks[index as usize];
                let [first, last] = [network.bits(), network.last()].map(first_half);
                first + prng.below((last - first).saturating_add(1))
            }
            _ => self.at(index),
        }
    }

    /// The largest; `None` if there is none, or the range is the wrong way round.
    pub(crate) fn largest(&self) -> Option<u64> {
        match self {
            Values::Range(first, last) => (first <= last).then_some(*last),
            Values::Steps { first, last, step } => (first <= last && *step > 0).then_some(*last),
            Values::List(list) => list.iter().max().copied(),
            Values::Networks(networks) => networks.iter().map(|n| u64::from(n.last())).max(),
            Values::Networks6(networks) => networks.iter().map(|n| first_half(n.last())).max(),
        }
    }

    fn check(&self, field: Field, family: Family) -> Result<(), BadVariation> {
        let is_address = matches!(field, Field::Src | Field::Dst);
        let fits = match self {
            Values::Networks(_) => family == Family::Ipv4,
            Values::Networks6(all) => {
                is_address && family == Family::Ipv6 && all.iter().all(|n| n.len() <= 64)
            }
            _ => true,
        };
        let most = field.max(family);
        match self.largest() {
            None => Err(BadVariation::NoValues(field)),
            Some(_) if !fits => Err(BadVariation::Networks(field)),
            Some(value) if value > most => Err(BadVariation::TooLarge(field, value, most)),
            Some(_) => Ok(()),
        }
    }
}

/// The first eight bytes of an IPv6 address.
fn first_half(address: u128) -> u64 {
    (address >> 64) as u64
}

impl Variation {
    /// Frames that are all alike.
    pub const NONE: Variation = Variation::Fields(Vec::new());

    pub(crate) fn check(&self, family: Family) -> Result<(), BadVariation> {
        let fields: Vec<(Field, &Values)> = match self {
            Variation::Fields(fields) => fields.iter().map(|(f, v, _)| (*f, v)).collect(),
            Variation::Flows { fields, .. } => fields.iter().map(|(f, v)| (*f, v)).collect(),
        };
        for (i, (field, values)) in fields.iter().enumerate() {
            values.check(*field, family)?;
            if fields[..i].iter().any(|(earlier, _)| earlier == field) {
                return Err(BadVariation::Twice(*field));
            }
        }
        let &Variation::Flows { count, .. } = self else { return Ok(()) };
        if fields.iter().any(|(field, _)| matches!(field, Field::DstMac | Field::SrcMac)) {
            return Err(BadVariation::MacInFlows);
        }
        let combinations = fields.iter().fold(1u64, |all, (_, v)| all.saturating_mul(v.count()));
        let most = combinations.min(MAX_FLOWS as u64);
        if count == 0 || count as u64 > most {
            return Err(BadVariation::Flows(count, most));
        }
        Ok(())
    }
}

/// The values of flow `index`, each with its field.
pub(crate) fn flow(
    fields: &[(Field, Values)],
    index: usize,
) -> impl Iterator<Item = (Field, u64)> + '_ {
    let mut rest = index as u64;
    fields.iter().map(move |(field, values)| {
        let n = values.count();
        let value = values.at(rest % n);
        rest /= n;
        (*field, value)
    })
}

/// Random numbers drawn some frames before they are used, so that what they lead to can be brought
/// near meanwhile: out of 900,000 networks, three times as many frames a second.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    drawn: [u64; AHEAD],
    at: usize,
}

/// Far enough for memory's 150 ns at 10 ns a frame.
const AHEAD: usize = 16;

impl Ahead {
    /// Draws the first numbers, each below `n`.
    pub(crate) fn new(prng: &mut Prng, n: u64) -> Ahead {
        Ahead { drawn: std::array::from_fn(|_| prng.below(n)), at: 0 }
    }

    /// The number drawn longest ago. Draws another one below `n` and hands it to `prefetch`.
    #[inline]
    pub(crate) fn next(&mut self, prng: &mut Prng, n: u64, prefetch: impl FnOnce(usize)) -> u64 {
        let far = prng.below(n);
        prefetch(far as usize);
        let near = std::mem::replace(&mut self.drawn[self.at % AHEAD], far);
        self.at = (self.at + 1) % AHEAD;
        near
    }
}

/// A field on its way through its values.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    values: Values,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    /// The index that is next.
    InTurn(u64),
    /// The index that was last.
    Backwards(u64),
    Random(Ahead),
}

impl Source {
    /// The values are not empty.
    pub(crate) fn new(values: Values, pick: Pick, prng: &mut Prng) -> Source {
        let way = match pick {
            Pick::InTurn => Way::InTurn(0),
            Pick::Backwards => Way::Backwards(values.count()),
            Pick::Random => Way::Random(Ahead::new(prng, values.count())),
        };
        Source { values, way }
    }

    /// What it goes through.
    #[cfg(target_os = "linux")]
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// In which order.
    #[cfg(target_os = "linux")]
    pub(crate) fn pick(&self) -> Pick {
        match self.way {
            Way::InTurn(_) => Pick::InTurn,
            Way::Backwards(_) => Pick::Backwards,
            Way::Random(_) => Pick::Random,
        }
    }

    #[inline]
    pub(crate) fn next(&mut self, prng: &mut Prng) -> u64 {
        let (values, n) = (&self.values, self.values.count());
        match &mut self.way {
            Way::Random(ahead) => {
                let index = ahead.next(prng, n, |far| values.prefetch(far));
                values.any_at(index, prng)
            }
            Way::InTurn(next) => {
                let index = *next;
                *next = if index + 1 == n { 0 } else { index + 1 };
                values.at(index)
            }
            Way::Backwards(last) => {
                *last = if *last == 0 { n } else { *last } - 1;
                values.at(*last)
            }
        }
    }
}
