//! Mixes of frame lengths: an "IMIX" with its sizes, layer, sequence and seed, never the name alone.
//!
//! ```text
//! simple   IP 40 × 7, 576 × 4, 1500 × 1      genome aaafg   64 64 64 1280 1518, over and over
//!    └──────────────┬───────────────────────────────┘
//!                   ▼
//!        Mix { sequence of lengths }  ─► one stream whose lengths go by turns
//!                                     ─► shares: a stream for each length, at its share of the rate
//! ```
//!
//! There is no standard mix; RFC 6985 gives a notation for whatever was used, a genome: one letter
//! a frame. Lengths in a genome are L2 with FCS; the simple mix of the iperf3 how-to counts IP
//! packets, and says so.

use crate::Prng;
use crate::size::Cycle;
use std::fmt;
use wire::FrameLen;

/// The letters of RFC 6985 §4, with the frame lengths they stand for: L2 with FCS.
pub const LETTERS: [(char, u32); 10] = [
    ('a', 64),
    ('b', 128),
    ('c', 256),
    ('d', 512),
    ('e', 1024),
    ('f', 1280),
    ('g', 1518),
    ('h', 2112),
    ('i', 9000),
    ('j', 16000),
];

/// A mix: which lengths, how many of each, in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    name: String,
    /// Length and weight, shortest first.
    shares: Vec<(FrameLen, u32)>,
    sequence: Vec<FrameLen>,
    /// In which layer its author counts, with what he calls the lengths.
    layer: &'static str,
    seed: Option<u64>,
}

/// No such mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadMix {
    /// Neither a name nor a genome; the letter that is none of RFC 6985's or of the table's.
    Letter(char),
    /// `z` without an MTU.
    NoMtu,
    /// Nothing in it, or more than 10,000 frames in a sequence.
    Length(usize),
    /// A weight of 0.
    Weight,
    /// So many lengths that RFC 6985 has no letter for: it leaves 26 to whoever needs them.
    Letters(usize),
}

impl fmt::Display for BadMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadMix::Letter(letter) => write!(
                f,
                "{letter} stands for no length: use simple, csit, trex, or a genome of a to j, z \
                 and letters A to Z of your own"
            ),
            BadMix::NoMtu => f.write_str("z stands for the MTU, which is not known here"),
            BadMix::Length(n) => write!(f, "a mix of {n} frames: use 1 to {MOST}"),
            BadMix::Weight => f.write_str("a weight of 0: leave the length out instead"),
            BadMix::Letters(n) => write!(
                f,
                "{n} lengths that a genome has no letter for: it has A to Z for others than its own"
            ),
        }
    }
}

impl std::error::Error for BadMix {}

/// The longest sequence.
const MOST: usize = 10_000;

/// RFC 6985's letter for a length.
fn letter_of(frame: FrameLen) -> Option<char> {
    LETTERS.iter().find(|(_, bytes)| *bytes == frame.l2()).map(|(letter, _)| *letter)
}

impl Mix {
    /// A mix by its name (`simple`, `csit`, `trex`) or its genome (`aaafg`, RFC 6985), whose own
    /// letters (A to Z) and `z` stand for what `table` says.
    ///
    /// # Errors
    /// [`BadMix`].
    pub fn of(text: &str, table: &[(char, FrameLen)]) -> Result<Mix, BadMix> {
        let l2 = FrameLen::with_fcs;
        let ip = |bytes: u32| FrameLen::with_fcs((bytes + 18).max(64));
        match text {
            // Source 002: IP packets; 40 bytes are padded to the shortest frame.
            "simple" => Mix::weighted(text, "L3", &[(ip(40), 7), (ip(576), 4), (ip(1500), 1)]),
            "csit" => Mix::weighted(text, "L2", &[(l2(64), 7), (l2(570), 4), (l2(1518), 1)]),
            "trex" => Mix::weighted(text, "L2", &[(l2(64), 7), (l2(594), 4), (l2(1518), 1)]),
            genome => Mix::genome(genome, table),
        }
    }

    fn genome(genome: &str, table: &[(char, FrameLen)]) -> Result<Mix, BadMix> {
        let length = |letter: char| {
            let known = LETTERS.iter().find(|(known, _)| *known == letter);
            let own = table.iter().find(|(own, _)| *own == letter);
            match (known, own) {
                (Some((_, bytes)), _) => Ok(FrameLen::with_fcs(*bytes)),
                (None, Some((_, frame))) => Ok(*frame),
                (None, None) if letter == 'z' => Err(BadMix::NoMtu),
                (None, None) => Err(BadMix::Letter(letter)),
            }
        };
        let sequence = genome.chars().map(length).collect::<Result<Vec<_>, _>>()?;
        let mut shares: Vec<(FrameLen, u32)> = Vec::new();
        for &frame in &sequence {
            match shares.iter_mut().find(|(known, _)| *known == frame) {
                Some((_, weight)) => *weight += 1,
                None => shares.push((frame, 1)),
            }
        }
        Mix::new(genome, "L2", shares, sequence)
    }

    /// A mix of lengths and weights, interleaved as evenly as it can be.
    ///
    /// # Errors
    /// [`BadMix`].
    pub fn weighted(
        name: &str,
        layer: &'static str,
        shares: &[(FrameLen, u32)],
    ) -> Result<Mix, BadMix> {
        if shares.iter().any(|&(_, weight)| weight == 0) {
            return Err(BadMix::Weight);
        }
        let total: u64 = shares.iter().map(|&(_, weight)| u64::from(weight)).sum();
        if total > MOST as u64 {
            return Err(BadMix::Length(total.try_into().unwrap_or(usize::MAX)));
        }
        // Who is furthest behind its share is next; then it pays for a whole round.
        let mut credit = vec![0i64; shares.len()];
        let mut sequence = Vec::new();
        for _ in 0..total {
            credit.iter_mut().zip(shares).for_each(|(credit, share)| *credit += i64::from(share.1));
            let next = (0..shares.len()).rev().max_by_key(|&at| credit[at]).unwrap_or_default();
            credit[next] -= total as i64;
            sequence.push(shares[next].0);
        }
        Mix::new(name, layer, shares.to_vec(), sequence)
    }

    fn new(
        name: &str,
        layer: &'static str,
        mut shares: Vec<(FrameLen, u32)>,
        sequence: Vec<FrameLen>,
    ) -> Result<Mix, BadMix> {
        if !(1..=MOST).contains(&sequence.len()) {
            return Err(BadMix::Length(sequence.len()));
        }
        let unnamed = |(frame, _): &&(FrameLen, u32)| letter_of(*frame).is_none();
        let own = shares.iter().filter(unnamed).count();
        if own > 26 {
            return Err(BadMix::Letters(own));
        }
        shares.sort_unstable();
        Ok(Mix { name: name.to_string(), shares, sequence, layer, seed: None })
    }

    /// The same in a random order (RFC 6985 §5.3: algorithm and seed are part of the result).
    #[must_use]
    pub fn shuffled(mut self, seed: u64) -> Mix {
        let mut prng = Prng::new(seed);
        for at in (1..self.sequence.len()).rev() {
            self.sequence.swap(at, prng.below(at as u64 + 1) as usize);
        }
        self.seed = Some(seed);
        self
    }

    /// What tables and results call it, as one would write it in a plan: `imix`, `csit`,
    /// `64:7,570:4,1518:1`, `aaafg`, `trex shuffled 7`. Of long ones the beginning.
    pub fn label(&self) -> String {
        /// A column of a table holds so many letters.
        const WIDTH: usize = 32;
        let mut label = match self.name.as_str() {
            "simple" => "imix".to_string(),
            name @ ("csit" | "trex") => name.to_string(),
            "weighted" => {
                let share = |(frame, n): &(FrameLen, u32)| format!("{}:{n}", frame.l2());
                self.shares.iter().map(share).collect::<Vec<_>>().join(",")
            }
            genome => {
                let (_, own) = self.genome_of_sequence();
                let own: Vec<_> = own.iter().map(|(c, frame)| format!("{c}={frame}")).collect();
                let own =
                    if own.is_empty() { String::new() } else { format!(" ({})", own.join(" ")) };
                genome.to_string() + &own
            }
        };
        if label.chars().count() > WIDTH {
            label = label.chars().take(WIDTH - 1).collect::<String>() + "…";
        }
        self.seed.map_or(label.clone(), |seed| format!("{label} shuffled {seed}"))
    }

    /// In which layer its author counts: `L2`, or `L3` for the IP packets.
    pub fn layer(&self) -> &'static str {
        self.layer
    }

    /// What its order was drawn with, if it was.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The lengths, in the order they are sent, over and over.
    pub fn sequence(&self) -> &[FrameLen] {
        &self.sequence
    }

    /// Each length with its weight, shortest first.
    pub fn shares(&self) -> &[(FrameLen, u32)] {
        &self.shares
    }

    /// The frames of one cycle of it, and their bytes, L2 with FCS: the mean, exactly.
    pub fn cycle(&self) -> Cycle {
        let l2_bytes = self.sequence.iter().map(|frame| u64::from(frame.l2())).sum();
        Cycle { frames: self.sequence.len() as u64, l2_bytes }
    }

    /// Mean length in bytes, L2 with FCS.
    pub fn mean(&self) -> f64 {
        self.cycle().mean_l2()
    }

    /// Its genome, with the letters of its own that it needs.
    pub fn genome_of_sequence(&self) -> (String, Vec<(char, FrameLen)>) {
        let mut own = Vec::new();
        let genome = self.sequence.iter().map(|&frame| {
            if let Some(letter) = letter_of(frame) {
                return letter;
            }
            match own.iter().find(|(_, known)| *known == frame) {
                Some((letter, _)) => *letter,
                None => {
                    let letter = char::from(b'A' + own.len() as u8);
                    own.push((letter, frame));
                    letter
                }
            }
        });
        (genome.collect(), own)
    }
}

impl fmt::Display for Mix {
    /// All that a reader needs to send the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (genome, own) = self.genome_of_sequence();
        if self.name != genome {
            write!(f, "{}: ", self.name)?;
        }
        let own: Vec<_> =
            own.iter().map(|(letter, frame)| format!("{letter}={}", frame.l2())).collect();
        let (open, close) = if own.is_empty() { ("", "") } else { (" (", ")") };
        write!(f, "IMIX - {genome}{open}{}{close}; frames with FCS: ", own.join(" "))?;
        let shares: Vec<_> =
            self.shares.iter().map(|(frame, n)| format!("{}:{n}", frame.l2())).collect();
        write!(f, "{}, mean {:.1} B", shares.join(", "), self.mean())?;
        if self.layer != "L2" {
            write!(f, "; its author counts {}", self.layer)?;
        }
        self.seed.map_or(Ok(()), |seed| write!(f, "; order shuffled by seed {seed}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_mixes_say() {
        let own = [('A', FrameLen::with_fcs(100)), ('z', FrameLen::with_fcs(1522))];
        for (text, expected) in [
            (
                "simple",
                "simple: IMIX - aAaaAagaAaAa (A=594); frames with FCS: 64:7, 594:4, 1518:1, mean \
                 361.8 B; its author counts L3",
            ),
            (
                "csit",
                "csit: IMIX - aAaaAagaAaAa (A=570); frames with FCS: 64:7, 570:4, 1518:1, mean \
                 353.8 B",
            ),
            (
                "trex",
                "trex: IMIX - aAaaAagaAaAa (A=594); frames with FCS: 64:7, 594:4, 1518:1, mean \
                 361.8 B",
            ),
            ("aaafg", "IMIX - aaafg; frames with FCS: 64:3, 1280:1, 1518:1, mean 598.0 B"),
            ("Az", "Az: IMIX - AB (A=100 B=1522); frames with FCS: 100:1, 1522:1, mean 811.0 B"),
        ] {
            assert_eq!(Mix::of(text, &own).unwrap().to_string(), expected);
        }
        let weighted = [64, 100].map(|l2| (FrameLen::with_fcs(l2), 2));
        for (mix, label) in [
            (Mix::of("simple", &[]), "imix"),
            (Mix::of("csit", &[]), "csit"),
            (Mix::of("trex", &[]).map(|mix| mix.shuffled(7)), "trex shuffled 7"),
            (Mix::weighted("weighted", "L2", &weighted), "64:2,100:2"),
            (Mix::of("aaafg", &[]), "aaafg"),
            (Mix::of("aA", &own), "aA (A=100)"),
            (Mix::of(&"ag".repeat(20), &[]), "agagagagagagagagagagagagagagaga…"),
        ] {
            assert_eq!(mix.unwrap().label(), label);
        }
        let shuffled = Mix::of("trex", &[]).unwrap().shuffled(7);
        assert!(shuffled.to_string().ends_with("; order shuffled by seed 7"), "{shuffled}");
        assert_ne!(shuffled.sequence(), Mix::of("trex", &[]).unwrap().sequence());
        for (text, bad) in [
            ("aaxg", BadMix::Letter('x')),
            ("az", BadMix::NoMtu),
            ("A", BadMix::Letter('A')),
            ("", BadMix::Length(0)),
        ] {
            assert_eq!(Mix::of(text, &[]), Err(bad));
        }
        let frame = FrameLen::with_fcs(64);
        assert_eq!(Mix::weighted("x", "L2", &[(frame, 0)]), Err(BadMix::Weight));
        assert_eq!(Mix::weighted("x", "L2", &[(frame, 10_001)]), Err(BadMix::Length(10_001)));
        let many: Vec<_> = (65..92).map(|l2| (FrameLen::with_fcs(l2), 1)).collect();
        assert_eq!(Mix::weighted("x", "L2", &many), Err(BadMix::Letters(27)));
        assert!(Mix::weighted("x", "L2", &many[1..]).is_ok());
    }

    proptest! {
        /// Whatever the weights and the order: each length as often as its weight says, and its
        /// frames not bunched together.
        #[test]
        fn each_has_its_share(weights in prop::collection::vec(1u32..50, 1..8), seed in any::<u64>()) {
            let shares: Vec<_> =
                (64u32..).zip(&weights).map(|(l2, &n)| (FrameLen::with_fcs(l2), n)).collect();
            let mix = Mix::weighted("x", "L2", &shares).unwrap();
            let total = mix.sequence().len();
            for &(frame, weight) in &shares {
                let mut seen = 0;
                for (at, &sent) in mix.sequence().iter().enumerate() {
                    seen += u32::from(sent == frame);
                    let fair = (at + 1) as f64 * f64::from(weight) / total as f64;
                    let off = (f64::from(seen) - fair).abs();
                    prop_assert!(off < shares.len() as f64, "{frame:?} after {at}: {seen}, {fair}");
                }
                prop_assert_eq!(seen, weight);
            }
            let mut sorted = mix.clone().shuffled(seed).sequence().to_vec();
            let mut expected = mix.sequence().to_vec();
            sorted.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(sorted, expected);
        }
    }
}
