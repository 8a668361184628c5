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
//! a frame. Lengths in a genome are L2 with FCS, the MTU's as well; the simple mix of the iperf3
//! how-to counts IP packets, and says so. What is printed of a mix is read as the same mix again.

// The notation.
mod genome;
#[cfg(test)]
mod tests;

pub(crate) use genome::written as written_genome;

use crate::Prng;
use crate::size::Cycle;
use crate::template::FRAME_LENGTHS;
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
    /// Of each frame of the sequence.
    letters: Vec<char>,
    /// What those stand for that are not RFC 6985's own.
    own: Vec<(char, FrameLen)>,
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
    /// `CUSTOM` with no `IMIX -` behind it.
    Custom,
    /// A table of letters without its end.
    Open,
    /// No letter and its length.
    Entry(String),
    /// A letter with two lengths.
    Twice(char),
    /// One of RFC 6985's own letters with another length than its own.
    Fixed(char, u32),
    /// A letter that RFC 6985 keeps.
    Own(char),
    /// No length of a frame.
    Bytes(u32),
    /// A count of nothing, or with nothing behind it.
    Count(usize),
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
                "{letter} stands for no length: use imix, csit, trex, or a genome: IMIX - aaafg, \
                 with counts IMIX - 20 abcd, 5 ggga, with lengths of your own IMIX - aAz (A=100 \
                 z=9018)"
            ),
            BadMix::NoMtu => f.write_str("z stands for the MTU, which is not known here: z=1518"),
            BadMix::Custom => f.write_str("CUSTOM goes on IMIX - and a genome: CUSTOM IMIX - AAG"),
            BadMix::Open => f.write_str("a bracket is not closed: aA (A=100)"),
            BadMix::Entry(entry) => write!(f, "{entry:?}: a letter and its length, A=100"),
            BadMix::Twice(letter) => write!(f, "{letter} has two lengths: leave one out"),
            BadMix::Fixed(letter, bytes) => {
                write!(f, "{letter} is {bytes} in RFC 6985: take A to Z for a length of your own")
            }
            BadMix::Own(letter) => write!(
                f,
                "{letter}: letters of your own are A to Z, and z for the MTU (a to j are RFC 6985's)"
            ),
            BadMix::Bytes(bytes) => {
                let (least, most) = (FRAME_LENGTHS.0.l2(), FRAME_LENGTHS.1.l2());
                write!(f, "frames of {bytes} bytes: {least} to {most}, their FCS counted")
            }
            BadMix::Count(0) => f.write_str("0 times: leave it out instead"),
            BadMix::Count(n) => {
                write!(f, "{n} times what: a count stands before its letters, 20 abcd")
            }
            BadMix::Length(0) => f.write_str("a mix of nothing: IMIX - aaafg"),
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
    /// A mix as one writes it, and as results have it: `imix`, `csit`, `IMIX - aaafg`,
    /// `IMIX - 20 abcd, 5 ggga`, `IMIX - aAz (A=100 z=9018)`. Its `z` is `mtu`, unless it says
    /// otherwise: the longest frame, L2 with FCS.
    ///
    /// # Errors
    /// [`BadMix`].
    pub fn read(text: &str, mtu: FrameLen) -> Result<Mix, BadMix> {
        let (genome, mut table) = genome::split(text)?;
        if table.iter().all(|(letter, _)| *letter != 'z') {
            table.push(('z', mtu));
        }
        Mix::of(genome, &table)
    }

    /// A mix by its name (`simple` or `imix`, `csit`, `trex`) or its genome (`aaafg`, RFC 6985),
    /// whose own letters (A to Z) and `z` stand for what `table` says.
    ///
    /// # Errors
    /// [`BadMix`].
    pub fn of(text: &str, table: &[(char, FrameLen)]) -> Result<Mix, BadMix> {
        let l2 = FrameLen::with_fcs;
        let ip = |bytes: u32| FrameLen::with_fcs((bytes + 18).max(64));
        match text {
            // Source 002: IP packets; 40 bytes are padded to the shortest frame.
            "simple" | "imix" => {
                Mix::weighted("simple", "L3", &[(ip(40), 7), (ip(576), 4), (ip(1500), 1)])
            }
            "csit" => Mix::weighted(text, "L2", &[(l2(64), 7), (l2(570), 4), (l2(1518), 1)]),
            "trex" => Mix::weighted(text, "L2", &[(l2(64), 7), (l2(594), 4), (l2(1518), 1)]),
            genome => Mix::genome(genome, table),
        }
    }

    fn genome(genome: &str, table: &[(char, FrameLen)]) -> Result<Mix, BadMix> {
        let mut own = vec![];
        let mut length = |letter: char| {
            let known = LETTERS.iter().find(|(known, _)| *known == letter);
            let meant = table.iter().find(|(own, _)| *own == letter);
            match (known, meant) {
                (Some((_, bytes)), _) => Ok(FrameLen::with_fcs(*bytes)),
                (None, Some(&(_, frame))) => {
                    if !own.contains(&(letter, frame)) {
                        own.push((letter, frame));
                    }
                    Ok(frame)
                }
                (None, None) if letter == 'z' => Err(BadMix::NoMtu),
                (None, None) => Err(BadMix::Letter(letter)),
            }
        };
        let letters = genome::letters(genome)?;
        let sequence =
            letters.iter().map(|letter| length(*letter)).collect::<Result<Vec<_>, _>>()?;
        if let Some(long) = sequence.iter().find(|frame| **frame > FRAME_LENGTHS.1) {
            return Err(BadMix::Bytes(long.l2()));
        }
        let mut shares: Vec<(FrameLen, u32)> = Vec::new();
        for &frame in &sequence {
            match shares.iter_mut().find(|(known, _)| *known == frame) {
                Some((_, weight)) => *weight += 1,
                None => shares.push((frame, 1)),
            }
        }
        Mix::new(genome, "L2", shares, sequence, (letters, own))
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
        let unnamed = |frame: &&FrameLen| letter_of(**frame).is_none();
        let mut own: Vec<(char, FrameLen)> = vec![];
        for &frame in sequence.iter().filter(unnamed) {
            if own.iter().all(|(_, known)| *known != frame) {
                own.push((char::from(b'A'.saturating_add(own.len() as u8)), frame));
            }
        }
        if own.len() > 26 {
            return Err(BadMix::Letters(own.len()));
        }
        let of_own = |frame| own.iter().find(|(_, known)| *known == frame).map(|(c, _)| *c);
        let letters = sequence.iter().filter_map(|frame| letter_of(*frame).or(of_own(*frame)));
        let letters = letters.collect();
        Mix::new(name, layer, shares.to_vec(), sequence, (letters, own))
    }

    fn new(
        name: &str,
        layer: &'static str,
        mut shares: Vec<(FrameLen, u32)>,
        sequence: Vec<FrameLen>,
        (letters, own): (Vec<char>, Vec<(char, FrameLen)>),
    ) -> Result<Mix, BadMix> {
        if !(1..=MOST).contains(&sequence.len()) {
            return Err(BadMix::Length(sequence.len()));
        }
        shares.sort_unstable();
        let name = name.to_string();
        Ok(Mix { name, shares, sequence, letters, own, layer, seed: None })
    }

    /// The same in a random order (RFC 6985 §5.3: algorithm and seed are part of the result).
    #[must_use]
    pub fn shuffled(mut self, seed: u64) -> Mix {
        let mut prng = Prng::new(seed);
        for at in (1..self.sequence.len()).rev() {
            let other = prng.below(at as u64 + 1) as usize;
            self.sequence.swap(at, other);
            self.letters.swap(at, other);
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
                let own: Vec<_> =
                    self.own.iter().map(|(c, frame)| format!("{c}={frame}")).collect();
                let own =
                    if own.is_empty() { String::new() } else { format!(" ({})", own.join(" ")) };
                // What begins with a digit is a length otherwise.
                let counted = genome.starts_with(|first: char| first.is_ascii_digit());
                let imix = if counted { "IMIX - " } else { "" };
                format!("{imix}{genome}{own}")
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

    /// Its genome, a letter a frame, with the letters of its own that it needs.
    pub fn genome_of_sequence(&self) -> (String, Vec<(char, FrameLen)>) {
        (self.letters.iter().collect(), self.own.clone())
    }

    /// Its genome as [`read`](Mix::read) takes it: with counts if it is long, and what the letters
    /// stand for that are not RFC 6985's own.
    pub fn notation(&self) -> String {
        let own: Vec<_> =
            self.own.iter().map(|(letter, frame)| format!("{letter}={}", frame.l2())).collect();
        let (open, close) = if own.is_empty() { ("", "") } else { (" (", ")") };
        format!("IMIX - {}{open}{}{close}", genome::written(&self.letters), own.join(" "))
    }
}

impl fmt::Display for Mix {
    /// All that a reader needs to send the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name != genome::written(&self.letters) {
            write!(f, "{}: ", self.name)?;
        }
        write!(f, "{}; frames with FCS: ", self.notation())?;
        let shares: Vec<_> =
            self.shares.iter().map(|(frame, n)| format!("{}:{n}", frame.l2())).collect();
        write!(f, "{}, mean {:.1} B", shares.join(", "), self.mean())?;
        if self.layer != "L2" {
            write!(f, "; its author counts {}", self.layer)?;
        }
        self.seed.map_or(Ok(()), |seed| write!(f, "; order shuffled by seed {seed}"))
    }
}
