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
//! What differs between flows (next hop, translation, their own counts) is in the flow's line.
//!
//! Recipes are made for one program: every change of it folds and forgets them all, and raises the
//! generation that flows compare with theirs.

use crate::counter::{Count, CounterId, Counters};
use crate::interface::InterfaceId;
use crate::queue::leaf::QueueLeafId;
use crate::trace::{Guard, Trace};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What all packets of a recipe have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Way {
    /// What was looked at on the way, and found.
    pub(crate) guard: Guard,
    /// The port they came in by.
    pub(crate) port: InterfaceId,
    /// The simple queue they go through.
    pub(crate) queue: Option<QueueLeafId>,
    /// They are FastTracked: counted as such, and only while their flow says so.
    pub(crate) fasttrack: bool,
    /// They count as FastPath, received and sent.
    pub(crate) fast: bool,
}

/// A way, the counters on it, and what has passed since they were last brought up to date.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) way: Way,
    pub(crate) count: Count,
    counters: Box<[CounterId]>,
}

/// All recipes of the current generation; number 0 is none.
#[derive(Debug)]
pub(crate) struct Recipes {
    list: Vec<Recipe>,
    /// By hash of way and counters: looked up for each packet on the slow path, so without
    /// making a key of its own.
    numbers: HashMap<u64, Vec<u32>>,
    generation: u32,
}

/// More different ways than this are not kept apart: all are forgotten and learnt anew.
const MAX: usize = 1 << 16;

impl Default for Recipes {
    fn default() -> Recipes {
        Recipes { list: Vec::new(), numbers: HashMap::new(), generation: 1 }
    }
}

impl Recipes {
    /// The generation that flows' recipes must have to count.
    #[inline(always)]
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// The recipe of a number other than 0.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Recipe> {
        self.list.get_mut((number as usize).wrapping_sub(1))
    }

    /// The number of this way; a new recipe if nobody went it before.
    pub(crate) fn number(&mut self, way: Way, trace: &Trace, counters: &mut Counters) -> u32 {
        let mut hasher = DefaultHasher::new();
        (&way, &trace.counters).hash(&mut hasher);
        let hash = hasher.finish();
        let same = |&&number: &&u32| {
            let recipe = &self.list[number as usize - 1];
            recipe.way == way && *recipe.counters == *trace.counters
        };
        if let Some(&number) = self.numbers.get(&hash).and_then(|all| all.iter().find(same)) {
            return number;
        }
        if self.list.len() == MAX {
            self.forget(counters);
        }
        let counters = trace.counters.as_slice().into();
        self.list.push(Recipe { way, count: Count::default(), counters });
        let number = self.list.len() as u32;
        self.numbers.entry(hash).or_default().push(number);
        number
    }

    /// Brings the rules' counters up to date.
    pub(crate) fn fold(&mut self, counters: &mut Counters) {
        for recipe in &mut self.list {
            let count = std::mem::take(&mut recipe.count);
            if count != Count::default() {
                for &counter in &recipe.counters {
                    counters.merge(counter, count);
                }
            }
        }
    }

    /// Folds and forgets all: what they were recorded under has changed.
    pub(crate) fn forget(&mut self, counters: &mut Counters) {
        self.fold(counters);
        self.list.clear();
        self.numbers.clear();
        self.generation = self.generation.wrapping_add(1).max(1);
    }
}
