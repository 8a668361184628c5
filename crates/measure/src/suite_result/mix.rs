//! Mixes of lengths as a file has them, and what a cell's frames are called.
//!
//! ```text
//!  mixes: imix = aAaaAagaAaAa, A = 594 …, 12 frames of 4342 bytes     once, with all one needs
//!    ▲                                                                 to send the same
//!  cells, self-tests: frame_size 362, mix "imix"                      a length: frame_size alone
//! ```
//!
//! The frame size of a mix is its mean, rounded, for whoever sorts by numbers; nothing is reckoned
//! with it. A mix and a length of the same mean are two sizes.

use super::SuiteResults;
use crate::Mix;
use crate::mix::{LETTERS, written_genome};
use crate::size::Cycle;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use wire::{BitRate, FrameLen, PacketRate};

/// A mix of lengths (RFC 6985).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixRecord {
    /// What cells call it.
    pub name: String,
    /// A letter a frame, in the order in which they are sent, over and over.
    pub genome: String,
    /// What the letters stand for: L2 bytes with FCS.
    pub letters: BTreeMap<char, u32>,
    /// Frames of one cycle.
    pub frames: u64,
    /// Their bytes, L2 with FCS: divided by `frames` the mean, exactly.
    pub l2_bytes: u64,
    /// In which layer its author counts: `L2`, or `L3` for IP packets.
    pub layer: String,
    /// What its order was drawn with, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl MixRecord {
    /// Of a mix.
    pub fn of(mix: &Mix) -> MixRecord {
        let (genome, own) = mix.genome_of_sequence();
        let known = LETTERS.iter().filter(|(letter, _)| genome.contains(*letter)).copied();
        let own = own.iter().map(|(letter, frame)| (*letter, frame.l2()));
        let Cycle { frames, l2_bytes } = mix.cycle();
        MixRecord {
            name: mix.label(),
            letters: known.chain(own).collect(),
            genome,
            frames,
            l2_bytes,
            layer: mix.layer().to_string(),
            seed: mix.seed(),
        }
    }

    /// Its frames and bytes.
    pub fn cycle(&self) -> Cycle {
        Cycle { frames: self.frames.max(1), l2_bytes: self.l2_bytes }
    }

    /// What its genome says of the same; `None` if it has letters that stand for nothing.
    pub fn cycle_of_genome(&self) -> Option<Cycle> {
        let lengths = self.genome.chars().map(|letter| self.letters.get(&letter));
        let l2_bytes = lengths.map(|l2| l2.map(|l2| u64::from(*l2))).sum::<Option<u64>>()?;
        Some(Cycle { frames: self.genome.chars().count() as u64, l2_bytes })
    }
}

impl fmt::Display for MixRecord {
    /// All that a reader needs to send the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MixRecord { name, genome, letters, frames, l2_bytes, layer, seed } = self;
        let letters: Vec<String> =
            letters.iter().map(|(letter, l2)| format!("{letter}={l2}")).collect();
        write!(
            f,
            "{name}: IMIX - {} ({}), bytes with FCS, in the mean {l2_bytes}/{frames} = {:.1} byte",
            written_genome(&genome.chars().collect::<Vec<_>>()),
            letters.join(" "),
            self.cycle().mean_l2()
        )?;
        if layer != "L2" {
            write!(f, "; its author counts {layer}")?;
        }
        seed.map_or(Ok(()), |seed| write!(f, "; order shuffled by seed {seed}"))
    }
}

/// What a cell's frames are: a length, or a mix by its name. Lengths come first, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size<'a> {
    /// The mix.
    pub mix: Option<&'a str>,
    /// L2 bytes with FCS; of a mix the mean, rounded.
    pub l2: u32,
}

impl Size<'_> {
    /// In a sentence: `64 byte`, `imix`.
    pub fn words(self) -> String {
        match self.mix {
            None => format!("{} byte", self.l2),
            Some(mix) => mix.to_string(),
        }
    }
}

impl fmt::Display for Size<'_> {
    /// In a column: `64`, `imix`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mix {
            None => fmt::Display::fmt(&self.l2, f),
            Some(mix) => f.pad(mix),
        }
    }
}

impl SuiteResults {
    /// The mix that is called so.
    pub fn mix(&self, name: &str) -> Option<&MixRecord> {
        self.mixes.iter().find(|mix| mix.name == name)
    }

    /// Frames and bytes of a size; of a mix that the file does not have what its rounded mean says.
    pub fn cycle(&self, size: Size<'_>) -> Cycle {
        let mix = size.mix.and_then(|name| self.mix(name));
        mix.map_or_else(|| FrameLen::with_fcs(size.l2).into(), MixRecord::cycle)
    }

    /// The wire's highest rate of frames of a size, from each port.
    pub fn wire_rate(&self, size: Size<'_>) -> PacketRate {
        self.cycle(size).max_frames(BitRate::mbps(self.wire_mbps))
    }

    /// A rate of frames of a size in 10⁶ bit/s of L2, FCS included.
    pub fn l2_mbps(&self, rate: f64, size: Size<'_>) -> f64 {
        self.cycle(size).l2(PacketRate(rate)).as_mbps()
    }

    /// What cannot be of the mixes, and of the cells that name them.
    pub(super) fn faults_of_mixes(&self) -> Vec<String> {
        let mut faults = vec![];
        for (i, mix) in self.mixes.iter().enumerate() {
            if mix.cycle_of_genome() != Some(mix.cycle()) {
                let MixRecord { name, genome, frames, l2_bytes, .. } = mix;
                faults.push(format!(
                    "{name}: the genome {genome} is not {frames} frames of {l2_bytes} bytes"
                ));
            }
            if self.mixes[..i].iter().any(|other| other.name == mix.name) {
                faults.push(format!("two mixes are called {}", mix.name));
            }
        }
        let cells = self.cells.iter().map(super::Cell::size);
        let alone = self.self_tests.iter().map(super::TesterAlone::size);
        let mut said: Vec<String> = vec![];
        for Size { mix, l2 } in cells.chain(alone) {
            let Some(name) = mix else { continue };
            let fault = match self.mix(name).map(|mix| mix.cycle().mean_l2().round() as u32) {
                None => format!("a cell is of the mix {name}, which the file does not have"),
                Some(mean) if mean != l2 => {
                    format!("a cell of the mix {name} says {l2} bytes, and its mean is {mean}")
                }
                Some(_) => continue,
            };
            if !said.contains(&fault) {
                said.push(fault);
            }
        }
        faults.extend(said);
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_told_whole() {
        for (name, seed, expected) in [
            (
                "simple",
                None,
                "imix: IMIX - aAaaAagaAaAa (A=594 a=64 g=1518), bytes with FCS, in the mean \
                 4342/12 = 361.8 byte; its author counts L3",
            ),
            (
                "aag",
                Some(3),
                "aag shuffled 3: IMIX - gaa (a=64 g=1518), bytes with FCS, in the mean 1646/3 = \
                 548.7 byte; order shuffled by seed 3",
            ),
        ] {
            let mix = Mix::of(name, &[]).unwrap();
            let mix = seed.map_or(mix.clone(), |seed| mix.shuffled(seed));
            let record = MixRecord::of(&mix);
            assert_eq!(record.to_string(), expected);
            assert_eq!(record.cycle_of_genome(), Some(mix.cycle()));
            let read = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<MixRecord>(&read).unwrap(), record, "{read}");
        }
    }

    #[test]
    fn lengths_come_before_mixes() {
        let size = |mix, l2| Size { mix, l2 };
        let mut sizes = [size(Some("imix"), 362), size(None, 1518), size(None, 362)];
        sizes.sort_unstable();
        let [words, columns] = [sizes.map(Size::words), sizes.map(|size| format!("{size:>5}"))];
        assert_eq!(words, ["362 byte", "1518 byte", "imix"]);
        assert_eq!(columns, ["  362", " 1518", " imix"]);
    }
}
