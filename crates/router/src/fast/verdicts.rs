//! Verdicts of the bridge filter, kept for the next frame that it cannot tell from this one.
//!
//! ```text
//! what the rules look at of the frame ─► 32-byte key ─► one line ─┬─► same: count its recipe, done
//!                                                                 └─► else: walk the rules, keep
//! ```
//!
//! The bridge's recipes: everything its filter looks at is in the key, or else the walk says
//! that it must not be kept ([`Trace::once`](crate::trace::Trace)). Each key has two places; when
//! both are taken, a newcomer ousts whoever has the second, so nothing is aged or full.
//!
//! Never holds what is not plain: tags, fragments, options, headers that are cut off.

use super::has_ports;
use crate::interface::InterfaceId;
use wire::ethernet::is_tag;
use wire::layers::ETHERTYPE_IPV4;

/// Frames that the filter cannot tell apart have the same key.
pub(crate) type Key = [u64; 4];

/// What was said of a key's frames.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Verdict {
    key: Key,
    /// What to count.
    pub(crate) recipe: u32,
    /// The [`epoch`](crate::recipe::Recipes::epoch) it was said in; 0 was never one.
    generation: u32,
    /// Whether the frame may pass.
    pub(crate) accepted: bool,
}

/// The verdicts that are kept, made when the first one is.
#[derive(Default)]
pub(crate) struct Verdicts {
    pairs: Vec<[Verdict; 2]>,
}

/// Pairs of verdicts: 1 MiB of them.
const PAIRS: usize = 1 << 13;

impl Verdicts {
    /// The verdict on these frames under this generation of the program.
    #[inline(always)]
    pub(crate) fn find(&self, key: &Key, generation: u32) -> Option<&Verdict> {
        let [a, b, c, d] = *key;
        let holds = |verdict: &Verdict| {
            // Word by word: the key was just made, and one wide load would have to wait for all
            // the narrow stores before it.
            let [e, f, g, h] = verdict.key;
            (a ^ e) | (b ^ f) | (c ^ g) | (d ^ h) == 0 && verdict.generation == generation
        };
        let [first, second] = self.pairs.get(pair(key))?;
        if holds(first) {
            return Some(first);
        }
        holds(second).then_some(second)
    }

    /// Asks for the lines in which a key's verdict would be.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: &Key) {
        port::prefetch::element(&self.pairs, pair(key));
    }

    /// Keeps a verdict.
    pub(crate) fn keep(&mut self, key: Key, recipe: u32, generation: u32, accepted: bool) {
        if self.pairs.is_empty() {
            self.pairs = vec![[Verdict::default(); 2]; PAIRS];
        }
        let [first, second] = &mut self.pairs[pair(&key)];
        let free = first.generation != generation || first.key == key;
        *if free { first } else { second } = Verdict { key, recipe, generation, accepted };
    }
}

#[inline(always)]
fn pair(&[a, b, c, d]: &Key) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let once = (a ^ c.rotate_left(32)).wrapping_mul(ODD);
    let twice = (once ^ b ^ d.rotate_left(17)).wrapping_mul(ODD);
    (twice >> 32) as usize & (PAIRS - 1)
}

/// The key of a frame on its way between two ports: of its facts (the first four words of
/// `interface/bridge/filter/facts.rs`) the bits in `looks_at`, and of which kind it is. `None` if
/// it is not plain.
#[inline(always)]
pub(crate) fn key(
    frame: &[u8],
    from: InterfaceId,
    to: InterfaceId,
    looks_at: &[u64; 4],
) -> Option<Key> {
    const HAS_PORTS: u64 = 1 << 8;
    let head = frame.first_chunk::<54>()?; // shorter ones are no Ethernet frames
    let be64 =
        |at: usize| -> u64 { head[at..].first_chunk().map_or(0, |b| u64::from_be_bytes(*b)) };
    let ether_type = u16::from_be_bytes([head[12], head[13]]);
    let (mut addresses, mut ports, mut kind, mut ip_protocol) = (0, 0, 0, 0);
    match ether_type {
        tag if is_tag(tag) => return None,
        ETHERTYPE_IPV4 => {
            let total = usize::from(u16::from_be_bytes([head[16], head[17]]));
            let fragment = u16::from_be_bytes([head[20], head[21]]) & 0x3fff;
            if head[14] != 0x45 || !(20..=frame.len() - 14).contains(&total) || fragment != 0 {
                return None;
            }
            // A damaged transport header has no ports: that is another kind of frame.
            if head[14..].first_chunk().is_some_and(|ip| has_ports(ip, total)) {
                (ports, kind) = (be64(34) >> 32, HAS_PORTS);
            }
            (addresses, ip_protocol) = (be64(26), u64::from(head[23]));
        }
        _ => {}
    }
    let sides = u64::from(from.0) << 16 | u64::from(to.0);
    let [a, b, c, d] = looks_at;
    // Which EtherType it is decides which other fields there are.
    Some([
        be64(0) >> 16 << 16 & a | u64::from(ether_type),
        be64(6) >> 16 << 16 & b | ip_protocol & b | kind,
        addresses & c,
        (ports << 32 | sides) & d,
    ])
}
