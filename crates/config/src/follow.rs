//! API commands that go on: `listen`, and `print` with `=follow=`, `=follow-only=` or `=interval=`.
//!
//! ```text
//! print =follow=       all items, then each that is new, has changed, or is gone
//! listen               the same without the items there are at first (= print =follow-only=)
//! print =interval=5s   all items again and again, numbered by .section
//! ```
//!
//! The device tells nobody of changes, so we look: a page at a time, and the longer a look at the
//! whole menu takes, the more time passes until the next, so that following a long one costs packets
//! little. What counts or runs by itself (counters, times) is told with a change, but is none.
//! Between two looks a fingerprint is kept of each item, not the item.

use crate::api::{Fields, Trap};
use crate::query::Query;
use crate::run::Run;
use crate::sheet::is_counter;
use crate::{Access, At, Error, ItemId, Menu, Property, Reply, Type, Value};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The shortest time between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// How much longer than the look the time until the next is.
const REST: u32 = 20;

/// How a command goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// With what changes, behind all there is.
    All,
    /// With what changes.
    Changes,
    /// With all there is, at this interval.
    Every(Duration),
}

/// Which items, and what of them.
pub(crate) struct Wanted<'a> {
    pub(crate) menu: &'static Menu,
    pub(crate) query: &'a Query,
    pub(crate) from: Option<&'a HashSet<ItemId>>,
    /// The values; all if `None`.
    pub(crate) names: Option<&'a [String]>,
}

impl Follow {
    /// What an attribute asks for.
    pub(crate) fn of(name: &str, value: &str) -> Result<Option<Follow>, Trap> {
        Ok(match name {
            "follow" => Some(Follow::All),
            "follow-only" => Some(Follow::Changes),
            "interval" => match Type::Time.parse(value, &crate::AnyName) {
                Ok(Value::Time(interval)) => Some(Follow::Every(interval.max(PAUSE))),
                _ => return Err(Trap::new(Some(1), "invalid time value for argument interval")),
            },
            _ => None,
        })
    }
}

impl Run<'_> {
    /// Goes on until it is interrupted.
    pub(crate) fn follow(
        &mut self,
        follow: Follow,
        wanted: &Wanted,
        out: &mut dyn FnMut(Fields),
    ) -> Result<Reply, Trap> {
        let mut known = HashMap::new();
        for round in 0u64.. {
            let began = self.host.now();
            self.refresh();
            let pause = match follow {
                Follow::Every(interval) => {
                    self.all(wanted, &mut |mut fields| {
                        fields.push((".section".to_string(), round.to_string()));
                        out(fields);
                    })?;
                    interval
                }
                _ => {
                    let silent = round == 0 && follow == Follow::Changes;
                    let mut ignored = |_| {};
                    let out = if silent { &mut ignored } else { &mut *out };
                    self.changes(wanted, &mut known, round, out)?;
                    PAUSE
                }
            };
            let rest = self.host.now().since(began).saturating_mul(REST);
            if !self.host.wait(self.host.now() + pause.max(rest)) {
                break;
            }
        }
        Err(Error::interrupted(At::default()).into())
    }

    fn all(&mut self, wanted: &Wanted, out: &mut dyn FnMut(Fields)) -> Result<(), Trap> {
        let Wanted { menu, query, from, names } = *wanted;
        self.matching(menu, query, from, &mut |_, _, fields| out(fields), Some(names))
    }

    /// What differs from what is `known`: a fingerprint, and the round in which the item was seen.
    fn changes(
        &mut self,
        wanted: &Wanted,
        known: &mut HashMap<ItemId, (u64, u64)>,
        round: u64,
        out: &mut dyn FnMut(Fields),
    ) -> Result<(), Trap> {
        let Wanted { menu, query, from, names } = *wanted;
        let mut each = |run: &mut Self, id, fields: Fields| {
            let now = run.fingerprint(menu, &fields);
            let before = known.insert(id, (now, round));
            if before.is_none_or(|(before, _)| before != now) {
                out(fields);
            }
        };
        self.matching(menu, query, from, &mut each, Some(names))?;
        known.retain(|id, (_, seen)| {
            if *seen != round && menu.is_list() {
                let field = |name: &str, value: String| (name.to_string(), value);
                out(vec![field(".id", id.to_string()), field(".dead", "true".to_string())]);
            }
            *seen == round
        });
        Ok(())
    }

    fn fingerprint(&self, menu: &Menu, fields: &Fields) -> u64 {
        let members = self.language.members(menu.path).iter().copied();
        let menus: Vec<&Menu> = members.chain([menu]).collect();
        let moves =
            |name: &str| menus.iter().filter_map(|menu| menu.property(name)).any(moves_by_itself);
        let mut hasher = DefaultHasher::new();
        fields.iter().filter(|(name, _)| !moves(name)).for_each(|field| field.hash(&mut hasher));
        hasher.finish()
    }
}

/// Whether it changes without anything having happened.
fn moves_by_itself(property: &Property) -> bool {
    let is_time = property.access == Access::ReadOnly && matches!(property.kind, Type::Time);
    is_time || is_counter(property)
}
