//! Fields of a stream: what is put into them, what they go through, and which go together.
//!
//! ```text
//!  [[stream.field]] name = "ipv4.dst"     value = …                            put there, and stays
//!                                         list, increment, decrement, random   with step, mask
//!  [[stream.tuple]] fields = [a, b, …]    rows = [[…], …]                      a table's rows
//!                                         values = [[…], …], flows = N         N combinations
//! ```
//!
//! A mask says which bits change; the others stay as `value` or the header's own have them. Of an
//! IPv6 address the last 64 bits can change.

use crate::net::FOR_TESTS;
use crate::suite::plan::BadPlan;
use crate::suite::plan::read::{Allowed, count};
use crate::suite::plan::value::Source;
use measure::frame::{Link, Varying};
use measure::stack::{Form, Place, Stack};
use measure::{Pick, Values};
use serde::Deserialize;
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use toml::Spanned;
use wire::{Ipv4Prefix, MacAddr};

/// A value as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Whole(i64),
    Text(String),
}

/// One value, a range, a network; or several of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Many {
    One(Scalar),
    List(Vec<Scalar>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FieldTable {
    name: Spanned<String>,
    value: Option<Spanned<Scalar>>,
    list: Option<Spanned<Many>>,
    increment: Option<Spanned<Many>>,
    decrement: Option<Spanned<Many>>,
    random: Option<Spanned<Many>>,
    step: Option<Spanned<i64>>,
    mask: Option<Spanned<Scalar>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TupleTable {
    fields: Spanned<Vec<Spanned<String>>>,
    rows: Option<Spanned<Vec<Spanned<Vec<Scalar>>>>>,
    values: Option<Spanned<Vec<Spanned<Many>>>>,
    flows: Option<Spanned<i64>>,
    order: Option<Spanned<String>>,
}

/// What the tables say.
#[derive(Default)]
pub(super) struct Setting {
    pub(super) set: Vec<(Place, u128)>,
    pub(super) varying: Vec<Varying>,
    pub(super) links: Vec<Link>,
}

/// The values of a field: numbers of its own, not yet in their place.
enum Numbers {
    Range(u128, u128),
    List(Vec<u128>),
}

/// What a field's values are read with.
#[derive(Clone, Copy)]
struct Reader<'a> {
    source: Source<'a>,
    stack: &'a Stack,
    allowed: Allowed,
}

impl Setting {
    /// Reads all tables of a stream.
    ///
    /// # Errors
    /// [`BadPlan`].
    pub(super) fn read(
        source: Source<'_>,
        stack: &Stack,
        fields: &[Spanned<FieldTable>],
        tuples: &[Spanned<TupleTable>],
        allowed: Allowed,
    ) -> Result<Setting, BadPlan> {
        let reader = Reader { source, stack, allowed };
        let mut setting = Setting::default();
        let mut seen: Vec<&str> = vec![];
        let tables = fields.iter().map(|table| &table.get_ref().name);
        let columns = tuples.iter().flat_map(|table| table.get_ref().fields.get_ref());
        for name in tables.chain(columns) {
            if seen.contains(&name.get_ref().as_str()) {
                let why = "this field has a table before: all that is said of a field is in one";
                return Err(source.bad(name, why));
            }
            seen.push(name.get_ref());
        }
        for table in fields {
            setting.field(reader, table)?;
        }
        for table in tuples {
            setting.tuple(reader, table)?;
        }
        Ok(setting)
    }

    fn field(&mut self, reader: Reader<'_>, spanned: &Spanned<FieldTable>) -> Result<(), BadPlan> {
        let (source, table) = (reader.source, spanned.get_ref());
        let place = reader.place(&table.name)?;
        if let Some(value) = &table.value {
            self.set.push((place, reader.one(&table.name, place, value)?));
        }
        let ways = [
            (&table.list, Pick::InTurn),
            (&table.increment, Pick::InTurn),
            (&table.decrement, Pick::Backwards),
            (&table.random, Pick::Random),
        ];
        let mut said = ways.into_iter().filter_map(|(many, pick)| Some((many.as_ref()?, pick)));
        let Some((many, pick)) = said.next() else {
            if let Some(stray) = table.step.as_ref() {
                return Err(source.bad(stray, "a step is an increment's or a decrement's"));
            }
            if let Some(stray) = table.mask.as_ref() {
                let why = "a mask says which bits change: those of a list, an increment, a decrement, \
                           or random";
                return Err(source.bad(stray, why));
            }
            return match table.value {
                Some(_) => Ok(()),
                None => {
                    let why =
                        "a field has a value, a list, an increment, a decrement, or is random";
                    Err(source.bad(&table.name, why))
                }
            };
        };
        if let Some((other, _)) = said.next() {
            return Err(source.bad(other, "one of list, increment, decrement and random"));
        }
        let numbers = reader.many(&table.name, place, many, pick == Pick::Backwards)?;
        let step = table.step.as_ref().map_or(Ok(1), |step| count(source, step, 1 << 48))?;
        let is_range = matches!(numbers, Numbers::Range(..));
        if let Some(value) = table.step.as_ref().filter(|_| pick == Pick::Random || !is_range) {
            return Err(source.bad(value, "a step goes through a range, up or down"));
        }
        if let (Some(value), Numbers::Range(first, last)) = (&table.step, &numbers)
            && u128::from(step) > last - first
            && step > 1
        {
            let why = format!(
                "a step of {step} leaves the range at once: it goes on by {} at most",
                last - first
            );
            return Err(source.bad(value, why));
        }
        if let Some(value) =
            table.value.as_ref().filter(|_| table.mask.is_none() && place.bits <= 64)
        {
            let why = format!(
                "nothing of this value stays: all bits of {} change; say which do with mask = …, or \
                 leave the value out",
                table.name.get_ref()
            );
            return Err(source.bad(value, why));
        }
        // Of an address of 128 bits the first half stays: it is put there.
        if place.bits > 64 && table.value.is_none() {
            self.set.push((place, numbers.first()));
        }
        let mask = match &table.mask {
            None => u64::MAX,
            Some(mask) => {
                reader.number(&table.name, Place { bits: place.bits.min(64), ..place }, mask)?
                    as u64
            }
        };
        if let Some(value) = table.mask.as_ref().filter(|_| mask == 0) {
            return Err(source.bad(value, "a mask says which bits change, and this one has none"));
        }
        if let Some(value) = table.mask.as_ref().filter(|_| pick != Pick::Random)
            && let Some((one, other)) = numbers.made_one(step, mask)
        {
            let why = format!(
                "under this mask {one:#x} and {other:#x}, which {} goes through, are one value: a mask with \
                 all bits that change, or values that differ in its bits",
                table.name.get_ref()
            );
            return Err(source.bad(value, why));
        }
        let backwards = pick == Pick::Backwards;
        let values = numbers.values(place, step, backwards);
        let values = values.map_err(|why| source.bad(many, why))?;
        self.varying.push(varying(place, mask, values, pick, None));
        Ok(())
    }

    fn tuple(&mut self, reader: Reader<'_>, spanned: &Spanned<TupleTable>) -> Result<(), BadPlan> {
        let (source, table) = (reader.source, spanned.get_ref());
        let names = table.fields.get_ref();
        let places = names.iter().map(|name| reader.place(name)).collect::<Result<Vec<_>, _>>()?;
        if places.len() < 2 {
            return Err(source.bad(&table.fields, "two fields at least: one alone is a field"));
        }
        let pick = match table.order.as_ref().map(|order| (order, order.get_ref().as_str())) {
            None | Some((_, "in turn")) => Pick::InTurn,
            Some((_, "backwards")) => Pick::Backwards,
            Some((_, "random")) => Pick::Random,
            Some((order, _)) => {
                return Err(
                    source.bad(order, "orders are \"in turn\", \"backwards\" and \"random\"")
                );
            }
        };
        let link = self.links.len();
        match (&table.rows, &table.values) {
            (Some(rows), None) => {
                if let Some(flows) = &table.flows {
                    return Err(source.bad(flows, "rows are all there are; flows are of values"));
                }
                let columns = reader.rows(names, &places, rows)?;
                for (place, column) in places.iter().zip(columns) {
                    self.column(source, rows, (*place, pick), (link, 1), &Numbers::List(column))?;
                }
                self.links.push(Link { count: rows.get_ref().len() as u64, pick });
            }
            (None, Some(values)) => {
                let all = values.get_ref();
                if all.len() != places.len() {
                    let why = format!("{} values for {} fields", all.len(), places.len());
                    return Err(source.bad(values, why));
                }
                let mut combinations = 1u64;
                for ((place, name), many) in places.iter().zip(names).zip(all) {
                    let numbers = reader.many(name, *place, many, false)?;
                    self.column(source, many, (*place, pick), (link, combinations), &numbers)?;
                    combinations = combinations.saturating_mul(numbers.count());
                }
                let count = match &table.flows {
                    None => combinations,
                    Some(flows) => count(source, flows, combinations.min(1 << 62) as i64 as u64)?,
                };
                self.links.push(Link { count, pick });
            }
            _ => {
                let why = "a tuple has rows, each with a value for every field; or values, all that \
                           each field goes through";
                return Err(source.bad(&table.fields, why));
            }
        }
        Ok(())
    }

    /// A field of a tuple.
    fn column<T>(
        &mut self,
        source: Source<'_>,
        at: &Spanned<T>,
        (place, pick): (Place, Pick),
        link: (usize, u64),
        numbers: &Numbers,
    ) -> Result<(), BadPlan> {
        if place.bits > 64 {
            self.set.push((place, numbers.first()));
        }
        let values = numbers.values(place, 1, false).map_err(|why| source.bad(at, why))?;
        self.varying.push(varying(place, u64::MAX, values, pick, Some(link)));
        Ok(())
    }
}

impl Numbers {
    fn first(&self) -> u128 {
        match self {
            Numbers::Range(first, _) => *first,
            Numbers::List(list) => list.first().copied().unwrap_or_default(),
        }
    }

    fn count(&self) -> u64 {
        match self {
            Numbers::Range(first, last) => {
                u64::try_from(last - first).map_or(u64::MAX, |n| n.saturating_add(1))
            }
            Numbers::List(list) => list.len() as u64,
        }
    }

    /// Two different values, of the first million, that a mask makes one.
    fn made_one(&self, step: u64, mask: u64) -> Option<(u64, u64)> {
        const FIRST: usize = 1 << 20;
        let all: Box<dyn Iterator<Item = u128> + '_> = match self {
            Numbers::Range(first, last) => {
                Box::new((*first..=*last).step_by(usize::try_from(step).unwrap_or(usize::MAX)))
            }
            Numbers::List(list) => Box::new(list.iter().copied()),
        };
        let mut seen = HashMap::new();
        all.take(FIRST).map(|value| value as u64).find_map(|value| {
            let first = *seen.entry(value & mask).or_insert(value);
            (first != value).then_some((first, value))
        })
    }

    /// As they stand in the frame's bytes. Backwards every `step`th is counted from the last.
    fn values(&self, place: Place, step: u64, backwards: bool) -> Result<Values, String> {
        let halves = |value: u128| (value >> 64, value as u64);
        let low = |value: u128| match place.bits > 64 && halves(value).0 != halves(self.first()).0 {
            true => {
                Err("of an IPv6 address only the last 64 bits change: the first are others here")
            }
            false => Ok((value as u64) << place.shift),
        };
        Ok(match self {
            Numbers::Range(first, last) => {
                let (first, last) = (low(*first)?, low(*last)?);
                let step = step << place.shift;
                let whole = (last - first) / step * step;
                match (step, backwards) {
                    (1, _) => Values::Range(first, last),
                    (_, true) => Values::Steps { first: last - whole, last, step },
                    (_, false) => Values::Steps { first, last, step },
                }
            }
            Numbers::List(list) => {
                Values::List(list.iter().map(|value| low(*value)).collect::<Result<_, _>>()?)
            }
        })
    }
}

fn varying(
    place: Place,
    mask: u64,
    values: Values,
    pick: Pick,
    link: Option<(usize, u64)>,
) -> Varying {
    // The last 8 bytes of an address of 16.
    let (at, width) = (place.at + place.width.saturating_sub(8), place.width.min(8));
    let own = u64::MAX >> (64 - place.bits.min(64));
    Varying { at, width, mask: (mask & own) << place.shift, values, pick, link }
}

impl Reader<'_> {
    fn place(self, name: &Spanned<String>) -> Result<Place, BadPlan> {
        let place = self.stack.place(name.get_ref());
        place.map_err(|bad| self.source.bad(name, bad.to_string()))
    }

    /// A value of a field, which may be sent.
    fn one(
        self,
        name: &Spanned<String>,
        place: Place,
        value: &Spanned<Scalar>,
    ) -> Result<u128, BadPlan> {
        let number = self.number(name, place, value)?;
        self.allow(name, number, value)?;
        Ok(number)
    }

    fn number(
        self,
        name: &Spanned<String>,
        place: Place,
        value: &Spanned<Scalar>,
    ) -> Result<u128, BadPlan> {
        read(name.get_ref(), place, value.get_ref()).map_err(|why| self.source.bad(value, why))
    }

    /// Whether this may be the source or destination of what leaves the machine.
    fn allow<T>(
        self,
        name: &Spanned<String>,
        number: u128,
        at: &Spanned<T>,
    ) -> Result<(), BadPlan> {
        let ours = match name.get_ref().split(['.', '#']).next() {
            _ if !self.allowed.external || self.allowed.any_address => true,
            Some("ipv4") if name.get_ref().ends_with("src") || name.get_ref().ends_with("dst") => {
                FOR_TESTS.contains(number as u32)
            }
            // RFC 5180: 2001:2::/48.
            Some("ipv6") if name.get_ref().ends_with("src") || name.get_ref().ends_with("dst") => {
                number >> 80 == 0x2001_0002_0000
            }
            _ => true,
        };
        if ours {
            return Ok(());
        }
        let why = "not in 198.18.0.0/15 or 2001:2::/48, which are set aside for benchmarks: frames \
                   that leave this machine could reach somebody (RFC 6815); if they cannot, say \
                   --allow-any-address";
        Err(self.source.bad(at, why))
    }

    /// What a field goes through; `down` if a range is written from the highest on.
    fn many(
        self,
        name: &Spanned<String>,
        place: Place,
        many: &Spanned<Many>,
        down: bool,
    ) -> Result<Numbers, BadPlan> {
        let field = name.get_ref();
        let of = |value: &Scalar| read(field, place, value);
        let numbers = match many.get_ref() {
            Many::One(Scalar::Text(text)) => range(field, place, text, down),
            Many::One(one) => of(one).map(|one| Numbers::Range(one, one)),
            Many::List(list) if list.is_empty() => Err("a list of nothing".to_string()),
            Many::List(list) => list.iter().map(of).collect::<Result<_, _>>().map(Numbers::List),
        };
        let numbers = numbers.map_err(|why| self.source.bad(many, why))?;
        let all = match &numbers {
            // What is between two of a network is in it.
            Numbers::Range(first, last) => &[*first, *last][..],
            Numbers::List(list) => list,
        };
        all.iter().try_for_each(|number| self.allow(name, *number, many))?;
        Ok(numbers)
    }

    /// A table's columns.
    fn rows(
        self,
        names: &[Spanned<String>],
        places: &[Place],
        rows: &Spanned<Vec<Spanned<Vec<Scalar>>>>,
    ) -> Result<Vec<Vec<u128>>, BadPlan> {
        let mut columns = vec![vec![]; places.len()];
        for row in rows.get_ref() {
            if row.get_ref().len() != places.len() {
                let why = format!("{} values for {} fields", row.get_ref().len(), places.len());
                return Err(self.source.bad(row, why));
            }
            for (at, value) in row.get_ref().iter().enumerate() {
                let number = read(names[at].get_ref(), places[at], value);
                let number = number.map_err(|why| self.source.bad(row, why))?;
                self.allow(&names[at], number, row)?;
                columns[at].push(number);
            }
        }
        match columns.first() {
            Some(column) if !column.is_empty() => Ok(columns),
            _ => Err(self.source.bad(rows, "no rows")),
        }
    }
}

/// `1-9`, `198.18.1.2-198.18.1.9`, `198.18.0.0/16`, `2001:2:0:1::/64`; one value is a range of its own.
fn range(field: &str, place: Place, text: &str, down: bool) -> Result<Numbers, String> {
    let of = |text: &str| read(field, place, &Scalar::Text(text.trim().to_string()));
    if place.form == Form::Ipv4 && text.contains('/') {
        let network: Ipv4Prefix =
            text.trim().parse().map_err(|_| format!("{text:?} is no network: 198.18.0.0/16"))?;
        return Ok(Numbers::Range(network.bits().into(), network.last().into()));
    }
    if place.form == Form::Ipv6 && text.contains('/') {
        return network(text.trim());
    }
    let Some((first, last)) = text.split_once('-') else {
        return of(text).map(|one| Numbers::Range(one, one));
    };
    let (first, last) = (of(first)?, of(last)?);
    match (down, first <= last) {
        (false, true) => Ok(Numbers::Range(first, last)),
        (true, _) if first >= last => Ok(Numbers::Range(last, first)),
        (true, _) => Err(format!("{text}: a decrement goes down, from the highest to the lowest")),
        (false, _) => Err(format!("{text}: from the lowest to the highest (or a decrement)")),
    }
}

/// The addresses of an IPv6 network, of which a frame's program has the last 64 bits.
fn network(text: &str) -> Result<Numbers, String> {
    let parts = text.split_once('/').and_then(|(address, len)| {
        let len = len.parse::<u32>().ok().filter(|len| *len <= 128)?;
        Some((u128::from(address.parse::<Ipv6Addr>().ok()?), len))
    });
    let (address, len) = parts.ok_or_else(|| format!("{text:?} is no network: 2001:2:0:1::/64"))?;
    if len < 64 {
        return Err(format!(
            "{text}: of an IPv6 address the last 64 bits change, so a network is a /64 or a smaller one"
        ));
    }
    let hosts = u128::MAX.checked_shr(len).unwrap_or(0);
    if address & hosts != 0 {
        return Err(format!(
            "{text}: bits behind the first {len} are set: {}/{len}",
            Ipv6Addr::from(address & !hosts)
        ));
    }
    Ok(Numbers::Range(address, address | hosts))
}

/// A value as a field's form has it.
fn read(field: &str, place: Place, value: &Scalar) -> Result<u128, String> {
    let text = match value {
        Scalar::Whole(number) => number.to_string(),
        Scalar::Text(text) => text.clone(),
    };
    let hex = text.strip_prefix("0x").map(|hex| u128::from_str_radix(hex, 16).ok());
    let plain = hex.unwrap_or_else(|| text.parse::<u128>().ok());
    let example = match place.form {
        Form::Number => "a number, 7 or 0x07",
        Form::Mac => "an address, 02:00:00:00:00:01",
        Form::Ipv4 => "an address, 198.18.1.2",
        Form::Ipv6 => "an address, 2001:2:0:1::2",
    };
    let read = match place.form {
        Form::Number => plain,
        Form::Mac => text.parse::<MacAddr>().ok().map(|mac| mac.to_u64().into()),
        Form::Ipv4 => text.parse::<Ipv4Addr>().ok().map(|ip| u32::from(ip).into()),
        Form::Ipv6 => text.parse::<Ipv6Addr>().ok().map(u128::from),
    };
    // A mask is written as a number, too.
    let number = read.or(hex.flatten()).ok_or_else(|| format!("{text:?}: {field} is {example}"))?;
    if number > place.largest() {
        return Err(format!(
            "{text}: {field} has {} bits, {} at most",
            place.bits,
            place.largest()
        ));
    }
    Ok(number)
}
