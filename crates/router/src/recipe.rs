//! Recipes: what a flow's packet went through, kept so that the next ones need not.
//!
//! ```text
//! slow path ─► Trace ─► Recipe (shared by all flows that go the same way) ◄─ Flow::recipe
//!                         │ replayed: guard? ─► count once ─► queue ─► out
//!                         └ fold: one count ─► every rule's counter on the way
//! ```
//!
//! A thousand flows that pass the same 25 rules share one recipe, hot in the cache; replaying adds
//! to one count, whatever the number of rules, and readers fold it into the rules' counters first.
//! What differs between flows (next hop, translation, their own counts, and the queue, of which there may
//! be a million) is in the flow's line.
//!
//! Recipes are made for one program. A change of it raises the generation that flows compare with
//! theirs. If it is of a few rules or of queues, it leaves a [`Difference`], and a flow's next packet
//! finds out whether that concerns it: most keep their recipe (`fast::revalidate`). What changes
//! more, or what came too long ago, forgets all recipes at once; what they counted is folded bit by
//! bit in the breaths that follow ([`Recipes::settle`]), so that forgetting takes no time.

use crate::counter::{Count, CounterId, Counters};
use crate::firewall::connection::flow::{Kept, flow_flag};
use crate::firewall::gate::Gate;
use crate::firewall::mark::Marks;
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::interface::tunnel::TunnelAt;
use crate::queue::Path;
use crate::secret::Secret;
use crate::trace::{Edited, Guard, Trace};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use wire::{Ipv4, MacAddr};

/// What all packets of a recipe have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Way {
    /// What was looked at on the way, and found.
    pub(crate) guard: Guard,
    /// The interfaces they came through.
    pub(crate) ingress: IngressId,
    /// The one of them that IP sees.
    pub(crate) in_interface: InterfaceId,
    /// They end here: what a tunnel has put around others is taken off.
    pub(crate) inward: bool,
    /// The tunnel that the one they were recorded with was of.
    pub(crate) tunnel: Option<TunnelAt>,
    /// They are FastTracked: counted as such, and only while their flow says so.
    pub(crate) fasttrack: bool,
    /// They count as FastPath, received and sent.
    pub(crate) fast: bool,
    /// What mangle writes into their headers.
    pub(crate) edits: Edits,
    /// What they are marked with when they leave.
    pub(crate) marks: Marks,
}

impl Way {
    /// Whether a packet of a flow with these flags, with such a length, TTL, TOS and [flags](Guard::admits), goes a
    /// special way as the first did.
    #[inline(always)]
    pub(crate) fn admits(
        &self,
        flow_flags: u8,
        (ip_len, ttl, tos, flags): (u16, u8, u8, u16),
        src_mac: MacAddr,
    ) -> bool {
        let lacks_fasttrack = self.fasttrack && flow_flags & flow_flag::FASTTRACK == 0;
        !self.inward && !lacks_fasttrack && self.guard.admits(ip_len, ttl, tos, flags, src_mac)
    }
}

/// What mangle writes into the headers of all packets of a recipe, who leave with these values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Edits {
    pub(crate) ttl: Option<u8>,
    pub(crate) dscp: Option<u8>,
    pub(crate) clear_df: bool,
    /// Whether there is any of these.
    pub(crate) any: bool,
}

impl Edits {
    /// What was written of a header, which is now this one.
    pub(crate) fn of(edited: Edited, ip: &[u8]) -> Edits {
        Edits {
            ttl: edited.ttl.then(|| ip[8]),
            dscp: edited.dscp.then(|| ip[1] >> 2),
            clear_df: edited.df,
            any: edited != Edited::default(),
        }
    }

    /// The same of IPv6.
    pub(crate) fn of6(edited: Edited, ip: &[u8]) -> Edits {
        Edits {
            ttl: edited.ttl.then(|| ip[7]),
            dscp: edited.dscp.then(|| (ip[0] << 4 | ip[1] >> 4) >> 2),
            clear_df: false,
            any: edited != Edited::default(),
        }
    }

    /// Writes them into a header of IPv6.
    #[inline(never)]
    pub(crate) fn write6(&self, ip: &mut [u8]) {
        if let Some(limit) = self.ttl {
            ip[7] = limit;
        }
        if let Some(dscp) = self.dscp {
            let ecn = ip[1] >> 4 & 3;
            ip[0] = 0x60 | dscp >> 2;
            ip[1] = (dscp << 2 | ecn) << 4 | ip[1] & 0xf;
        }
    }

    /// Writes them into a header without options, and its checksum.
    #[inline(never)]
    pub(crate) fn write(&self, ip: &mut [u8]) {
        let Ok(mut ip) = Ipv4::new(ip) else { return };
        if let Some(ttl) = self.ttl {
            ip.set_ttl(ttl);
        }
        if let Some(dscp) = self.dscp {
            ip.set_tos(dscp << 2 | ip.tos() & 3);
        }
        if self.clear_df {
            ip.clear_dont_fragment();
        }
    }
}

/// A way, the counters on it, and what has passed since they were last brought up to date.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) way: Way,
    /// The way asks for more than most: it ends here, is FastTracked, writes into headers, or has looked
    /// at something that is not the same for all packets. To know that it does not takes one look.
    pub(crate) is_special: bool,
    pub(crate) count: Count,
    counters: Box<[CounterId]>,
    /// The next recipe with the same hash; 0 if there is none.
    same_hash: u32,
}

/// A recipe, and the queues on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Queued {
    recipe: u32,
    queues: Path,
}

/// This bit of a number says that the others are the place of a [`Queued`]: there are several queues on
/// the way. One alone is in the flow's line.
const QUEUED: u32 = 1 << 23;

impl Kept {
    /// Whether there are several queues on the way.
    #[inline(always)]
    pub(crate) fn is_by_several(self) -> bool {
        self.recipe() & QUEUED != 0
    }
}

/// Where on its way a packet meets a rule: its addresses and interfaces are others at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// In raw: as it came, and no connection is known.
    Untracked,
    /// In mangle's prerouting: as it came.
    Arrived,
    /// After the routing decision: its destination is translated, its way out known.
    Routed,
    /// In a chain that may be reached from several of these.
    Any,
}

/// What a change of the program made different for flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Difference {
    /// The rules that were changed, as they were and as they are, each with the stage at which a
    /// packet meets it: packets that pass none of these gates fare as before.
    pub(crate) gates: Vec<(Stage, Gate)>,
    /// Another queue may be a flow's.
    pub(crate) queues: bool,
}

impl Difference {
    /// More rules than this are too many to ask every flow about.
    pub(crate) const MAX_GATES: usize = 64;
}

/// All recipes that are known; number 0 is none.
#[derive(Debug)]
pub(crate) struct Recipes {
    list: Vec<Recipe>,
    /// By hash of way and counters: looked up for each packet on the slow path, so without
    /// making a key of its own.
    numbers: HashMap<u64, u32, Secret>,
    queued: Vec<Queued>,
    /// Their places.
    places: HashMap<Queued, u32, Secret>,
    generation: u32,
    /// The generation with which all were forgotten last.
    epoch: u32,
    /// What the last changes made different, with the generation each began.
    differences: VecDeque<(u32, Difference)>,
    /// The generation since which all of them are known.
    known: u32,
    /// The generation in which an address came into a list, or left it, last.
    moved: HashMap<u32, u32>,
    /// Forgotten, but what they counted is still to be folded.
    forgotten: Vec<Vec<Recipe>>,
}

/// More different ways than this are not kept apart: all are forgotten and learnt anew. A million queues
/// have two each.
const MAX: usize = 1 << 21;
/// More than this are not all in the caches.
const MANY: usize = 1024;
/// How many changes a flow may have missed and still ask what they were.
const DIFFERENCES: usize = 32;
/// More addresses than this are not remembered to have moved: all is forgotten.
const MAX_MOVED: usize = 1 << 16;

impl Default for Recipes {
    fn default() -> Recipes {
        Recipes {
            list: Vec::new(),
            numbers: HashMap::default(),
            queued: Vec::new(),
            places: HashMap::default(),
            generation: 1,
            epoch: 1,
            differences: VecDeque::new(),
            known: 1,
            moved: HashMap::new(),
            forgotten: Vec::new(),
        }
    }
}

impl Recipes {
    /// The generation that flows' recipes must have to count.
    #[inline(always)]
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Whether they are too many for the caches.
    #[inline(always)]
    pub(crate) fn are_many(&self) -> bool {
        self.list.len().max(self.queued.len()) > MANY
    }

    /// Asks for the memory of what is kept.
    #[inline(always)]
    pub(crate) fn prefetch(&self, kept: Kept) {
        let number = kept.recipe();
        if number & QUEUED == 0 {
            port::prefetch::element(&self.list, (number as usize).wrapping_sub(1));
        } else {
            port::prefetch::element(&self.queued, (number & !QUEUED) as usize);
        }
    }

    /// The queues on the way.
    pub(crate) fn queues(&self, kept: Kept) -> Path {
        match kept.queue() {
            None => resolve(&self.queued, kept.recipe()).map_or(Path::NONE, |(_, &queues)| queues),
            one => Path::of([one, None, None]),
        }
    }

    /// The recipe of a number, or of what is kept.
    pub(crate) fn get(&self, number: u32) -> Option<&Recipe> {
        let (recipe, _) = resolve(&self.queued, number)?;
        self.list.get((recipe as usize).wrapping_sub(1))
    }

    /// The same, to count with it, and the queues on the way if there are several.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<(&mut Recipe, &Path)> {
        let (recipe, queues) = resolve(&self.queued, number)?;
        Some((self.list.get_mut((recipe as usize).wrapping_sub(1))?, queues))
    }

    /// What a flow keeps of this way through these queues.
    pub(crate) fn keep(&mut self, way: Way, queues: Path, trace: &Trace) -> Kept {
        if self.queued.len() >= MAX || self.list.len() >= MAX {
            self.forget();
        }
        let recipe = self.recipe(way, trace);
        let first = queues.first();
        if queues.rest() == Path::NONE && first.is_none_or(|leaf| leaf.0 < Kept::END) {
            return Kept::new(recipe, first);
        }
        let queued = Queued { recipe, queues };
        let number = *self.places.entry(queued).or_insert_with(|| {
            self.queued.push(queued);
            (self.queued.len() - 1) as u32 | QUEUED
        });
        Kept::new(number, None)
    }

    /// The number of this way through no queue.
    pub(crate) fn number(&mut self, way: Way, trace: &Trace) -> u32 {
        self.keep(way, Path::NONE, trace).recipe()
    }

    fn recipe(&mut self, way: Way, trace: &Trace) -> u32 {
        let hash = self.numbers.hasher().hash_one((&way, &trace.counters));
        let first = self.numbers.get(&hash).copied().unwrap_or(0);
        let mut number = first;
        while let Some(recipe) = self.list.get((number as usize).wrapping_sub(1)) {
            if recipe.way == way && *recipe.counters == *trace.counters {
                return number;
            }
            number = recipe.same_hash;
        }
        let counters = trace.counters.as_slice().into();
        let is_special = way.inward || way.fasttrack || way.edits.any || !way.guard.admits_all();
        let count = Count::default();
        self.list.push(Recipe { way, is_special, count, counters, same_hash: first });
        let number = self.list.len() as u32;
        self.numbers.insert(hash, number);
        number
    }

    /// None yet, under the same generation and with the same differences, for a trial.
    pub(crate) fn trial(&self) -> Recipes {
        Recipes {
            generation: self.generation,
            epoch: self.epoch,
            differences: self.differences.clone(),
            known: self.known,
            moved: self.moved.clone(),
            ..Recipes::default()
        }
    }

    /// Takes over what a flow keeps of others; says what it keeps of these then.
    pub(crate) fn lend(&mut self, others: &Recipes, kept: Kept) -> Kept {
        let Some(recipe) = others.get(kept.recipe()) else { return Kept::default() };
        self.list.push(Recipe { same_hash: 0, ..recipe.clone() });
        let number = self.list.len() as u32;
        if kept.recipe() & QUEUED == 0 {
            return Kept::new(number, kept.queue());
        }
        self.queued.push(Queued { recipe: number, queues: others.queues(kept) });
        Kept::new((self.queued.len() - 1) as u32 | QUEUED, None)
    }

    /// Brings the rules' counters up to date.
    pub(crate) fn fold(&mut self, counters: &mut Counters) {
        while !self.is_settled() {
            self.settle(counters);
        }
        for recipe in &mut self.list {
            recipe.fold(counters);
        }
    }

    /// Forgets all: what they were recorded under has changed.
    pub(crate) fn forget(&mut self) {
        if !self.list.is_empty() {
            self.forgotten.push(std::mem::take(&mut self.list));
            self.numbers.clear();
            self.queued.clear();
            self.places.clear();
        }
        self.generation = self.generation.wrapping_add(1).max(1);
        self.epoch = self.generation;
        self.differences.clear();
        self.moved.clear();
        self.known = self.generation;
    }

    /// Keeps the recipes over a change; flows find out whether it concerns them.
    pub(crate) fn differ(&mut self, difference: Difference) {
        if self.generation == u32::MAX {
            return self.forget();
        }
        self.generation += 1;
        self.differences.push_back((self.generation, difference));
        if self.differences.len() > DIFFERENCES
            && let Some((generation, _)) = self.differences.pop_front()
        {
            self.known = generation;
        }
    }

    /// Keeps the recipes though an address came into a list, or left it: flows of that address find
    /// out.
    pub(crate) fn address_moved(&mut self, address: u32) {
        if self.generation == u32::MAX || self.moved.len() >= MAX_MOVED {
            return self.forget();
        }
        self.generation += 1;
        self.moved.insert(address, self.generation);
    }

    /// Whether one of these addresses came into a list, or left it, since a generation.
    pub(crate) fn have_moved(&self, addresses: [u32; 4], since: u32) -> bool {
        !self.moved.is_empty()
            && addresses.iter().any(|at| self.moved.get(at).is_some_and(|&moved| moved > since))
    }

    /// What has become different since a generation; `None` if that is not known any more.
    pub(crate) fn since(&self, generation: u32) -> Option<impl Iterator<Item = &Difference>> {
        let later = self.differences.iter().filter(move |(began, _)| *began > generation);
        (generation >= self.known).then(|| later.map(|(_, difference)| difference))
    }

    /// The generation from which on recipes have their numbers.
    #[inline(always)]
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether nothing is left of what was forgotten: its counters may be given to others.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.forgotten.is_empty()
    }

    /// Folds some of what was forgotten: a few microseconds' work.
    #[cold]
    pub(crate) fn settle(&mut self, counters: &mut Counters) {
        let mut folded = 0;
        while folded < SETTLE {
            let Some(list) = self.forgotten.last_mut() else { return };
            match list.pop() {
                Some(mut recipe) => {
                    recipe.fold(counters);
                    folded += 8 + recipe.counters.len();
                }
                None => _ = self.forgotten.pop(),
            }
        }
    }
}

/// The recipe that a number leads to, and the queues on the way.
#[inline(always)]
fn resolve(queued: &[Queued], number: u32) -> Option<(u32, &Path)> {
    if number & QUEUED == 0 {
        return Some((number, &Path::NONE));
    }
    queued.get((number & !QUEUED) as usize).map(|queued| (queued.recipe, &queued.queues))
}

/// How many counters are brought up to date in one breath; a recipe's own work is worth eight.
const SETTLE: usize = 1024;

impl Recipe {
    fn fold(&mut self, counters: &mut Counters) {
        let count = std::mem::take(&mut self.count);
        if count != Count::default() {
            for &counter in &self.counters {
                counters.merge(counter, count);
            }
        }
    }
}
