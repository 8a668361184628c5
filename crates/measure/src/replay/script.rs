//! A replay worked out: every frame of a loop, when it is due and what it is known by.
//!
//! ```text
//!  ReplayPlan ─ script(MACs, wire) ─► Script { cues of one loop, how many frames in all }
//! ```

use super::addresses::{addresses, readdress};
use super::capture::{Capture, Captured};
use super::ethernet::{Vlan, behind_tags, is_ip, set_macs};
use super::network::{AddressMap, Network, Step};
use super::print::{Lens, Print};
use super::sides::{Side, Split, sides};
use super::tempo::{AboveTheWire, Beat, Tempo, Timetable};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use wire::{BitRate, FrameLen, MacAddr};

/// What is replayed, how fast, how often.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayPlan {
    /// The frames, with the addresses of the first loop.
    pub frames: Vec<Captured>,
    /// Who sends each.
    pub sides: Vec<Side>,
    /// How fast.
    pub tempo: Tempo,
    /// How often: once at least.
    pub loops: u64,
    /// No more frames than this, all loops together.
    pub packets: Option<u64>,
    /// None that is due later than this.
    pub duration: Option<Duration>,
    /// How addresses go on with each loop.
    pub steps: Vec<Step>,
    /// What frames are known by.
    pub lens: Lens,
}

impl Capture {
    /// Whether a frame of it has an address in this network.
    pub fn has_address_in(&self, network: &Network) -> bool {
        let mut all = self.frames.iter().flat_map(|frame| addresses(&frame.bytes));
        all.any(|address| network.contains(address))
    }

    /// Two addresses of its frames that a map makes one, and that one: conversations that the capture has
    /// apart would be the same. `counts` says which frames are looked at.
    pub fn merged(
        &self,
        map: &AddressMap,
        counts: impl Fn(&[u8]) -> bool,
    ) -> Option<([IpAddr; 2], IpAddr)> {
        let mut whose: BTreeMap<IpAddr, IpAddr> = BTreeMap::new();
        let frames = self.frames.iter().filter(|frame| counts(&frame.bytes));
        frames.flat_map(|frame| addresses(&frame.bytes)).find_map(|address| {
            let new = map.of(address);
            let first = *whose.entry(new).or_insert(address);
            (first != address).then_some(([first, address], new))
        })
    }
}

impl ReplayPlan {
    /// All frames of a capture, once, as fast as they were captured.
    ///
    /// Who sends what is settled before tags and addresses are changed: a split names what is in the
    /// capture.
    pub fn of(capture: &Capture, split: &Split, vlan: Vlan, map: &AddressMap) -> ReplayPlan {
        let (mut frames, sides) = (capture.frames.clone(), sides(&capture.frames, split));
        for frame in &mut frames {
            vlan.apply(&mut frame.bytes);
            readdress(&mut frame.bytes, &mut |address| map.of(address));
        }
        let (tempo, loops, packets, duration) = (Tempo::Speed(1.0), 1, None, None);
        let (steps, lens) = (vec![], Lens::default());
        ReplayPlan { frames, sides, tempo, loops, packets, duration, steps, lens }
    }

    /// Whether one of its frames has an address in this network, in the first loop.
    pub fn has_address_in(&self, network: &Network) -> bool {
        let mut all = self.frames.iter().flat_map(|frame| addresses(&frame.bytes));
        all.any(|address| network.contains(address))
    }

    /// Leaves out what is not IP, and says how many frames that were.
    pub fn leave_out_what_is_not_ip(&mut self) -> u64 {
        let before = self.frames.len();
        let both = self.frames.drain(..).zip(self.sides.drain(..));
        let (frames, sides) = both.filter(|(frame, _)| is_ip(&frame.bytes)).unzip();
        (self.frames, self.sides) = (frames, sides);
        (before - self.frames.len()) as u64
    }

    /// Whether a side has frames.
    pub fn sends(&self, side: Side) -> bool {
        self.sides.contains(&side)
    }

    /// The shortest of a side's frames, the mean in bytes (L2 with FCS), and the longest.
    pub fn lengths(&self, side: Side) -> Option<(FrameLen, f64, FrameLen)> {
        let both = self.frames.iter().zip(&self.sides).filter(|(_, of)| **of == side);
        let all: Vec<FrameLen> = both.map(|(frame, _)| len(frame)).collect();
        let sum: u64 = all.iter().map(|len| u64::from(len.l2())).sum();
        Some((*all.iter().min()?, sum as f64 / all.len() as f64, *all.iter().max()?))
    }

    /// Every address of every loop, with the first frame that has it, counted from 1.
    ///
    /// # Errors
    /// Of one that leaves its network with so many loops: it, that frame, and the network.
    pub fn addresses(&self) -> Result<BTreeMap<IpAddr, usize>, (IpAddr, usize, Step)> {
        let mut all = BTreeMap::new();
        for (index, frame) in self.frames.iter().enumerate() {
            for address in addresses(&frame.bytes) {
                all.entry(address).or_insert(index + 1);
            }
        }
        let first: Vec<(IpAddr, usize)> = all.iter().map(|(a, n)| (*a, *n)).collect();
        for step in &self.steps {
            for &(address, number) in first.iter().filter(|(a, _)| step.network.contains(*a)) {
                for turn in 1..self.loops {
                    let moved = step.of(address, turn).ok_or((address, number, *step))?;
                    all.entry(moved).or_insert(number);
                }
            }
        }
        Ok(all)
    }

    /// When frames are due on wires of this rate.
    ///
    /// # Errors
    /// [`AboveTheWire`].
    pub fn timetable(&self, wire: BitRate) -> Result<Timetable, AboveTheWire> {
        let beat = |(frame, side): (&Captured, &Side)| {
            let before_ip = behind_tags(&frame.bytes).1;
            Beat { side: *side, time_ns: frame.time_ns, len: len(frame), before_ip }
        };
        let beats: Vec<Beat> = self.frames.iter().zip(&self.sides).map(beat).collect();
        self.tempo.timetable(&beats, wire)
    }

    /// How many frames are sent in all.
    pub fn total(&self, timetable: &Timetable) -> u64 {
        let all = self.loops.saturating_mul(self.frames.len() as u64);
        let by_time = self.duration.map_or(u64::MAX, |duration| {
            timetable.before(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
        });
        all.min(by_time).min(self.packets.unwrap_or(u64::MAX))
    }

    /// How long after the first its last frame is due, on wires of this rate.
    ///
    /// # Errors
    /// [`AboveTheWire`].
    pub fn until(&self, wire: BitRate) -> Result<Duration, AboveTheWire> {
        let timetable = self.timetable(wire)?;
        let last = self.total(&timetable).saturating_sub(1);
        Ok(Duration::from_nanos(timetable.time_of(last)))
    }

    /// The mean rate of a side in L1 bits a second, on wires of this rate.
    ///
    /// # Errors
    /// [`AboveTheWire`].
    pub fn mean(&self, side: Side, wire: BitRate) -> Result<BitRate, AboveTheWire> {
        let both = self.frames.iter().zip(&self.sides).filter(|(_, of)| **of == side);
        let bytes: u64 = both.map(|(frame, _)| u64::from(len(frame).l1())).sum();
        Ok(BitRate(bytes as f64 * 8e9 / self.timetable(wire)?.period_ns as f64))
    }

    /// All of it, worked out. `macs` are from whom and to whom each side sends; none if frames keep
    /// theirs.
    ///
    /// # Errors
    /// [`AboveTheWire`].
    pub fn script(
        &self,
        macs: Option<[(MacAddr, MacAddr); 2]>,
        wire: BitRate,
    ) -> Result<Script, AboveTheWire> {
        let timetable = self.timetable(wire)?;
        let total = self.total(&timetable);
        let cue = |(frame, side): (&Captured, &Side)| {
            let mut bytes = frame.bytes.clone();
            if let Some(macs) = macs {
                let (src, dst) = macs[side.index()];
                set_macs(&mut bytes, src, dst);
            }
            let print = Print::of(&bytes, self.lens);
            Cue { side: *side, bytes, print }
        };
        let cues = self.frames.iter().zip(&self.sides).map(cue).collect();
        let (steps, lens) = (self.steps.clone(), self.lens);
        Ok(Script { cues, timetable, total, steps, lens })
    }
}

fn len(frame: &Captured) -> FrameLen {
    FrameLen::without_fcs(frame.bytes.len() as u32)
}

/// A frame of a loop.
#[derive(Clone, Debug)]
pub(super) struct Cue {
    pub(super) side: Side,
    pub(super) bytes: Vec<u8>,
    pub(super) print: Print,
}

/// A replay as it will be.
#[derive(Clone, Debug)]
pub struct Script {
    pub(super) cues: Vec<Cue>,
    pub(super) timetable: Timetable,
    pub(super) total: u64,
    pub(super) steps: Vec<Step>,
    pub(super) lens: Lens,
}

impl Script {
    /// How many frames a side sends in all, of so many at most from both.
    pub fn frames(&self, side: Side, most: u64) -> u64 {
        let total = self.total.min(most);
        let (n, of) = (self.cues.len() as u64, |cue: &&Cue| cue.side == side);
        let whole = self.cues.iter().filter(of).count() as u64;
        let rest = self.cues[..(total % n) as usize].iter().filter(of).count() as u64;
        total / n * whole + rest
    }

    /// How many frames there are that differ: of all loops if addresses go on, else of one.
    pub(super) fn distinct(&self, side: Side) -> u64 {
        let most = if self.steps.is_empty() { self.cues.len() as u64 } else { u64::MAX };
        self.frames(side, most)
    }

    /// Makes a frame of a loop that of another, and says what it is known by.
    pub(super) fn renumber(&self, bytes: &mut [u8], turn: u64) -> Print {
        let step = |address: IpAddr| {
            let step = self.steps.iter().find(|step| step.network.contains(address));
            // The plan made sure that it stays in its network.
            step.and_then(|step| step.of(address, turn)).unwrap_or(address)
        };
        readdress(bytes, &mut { step });
        Print::of(bytes, self.lens)
    }
}
