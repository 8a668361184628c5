//! Distributions as SVG: how many frames took how long, one strip above the other.
//!
//! ```text
//!    64 byte  ▁▁█▇▂▁▁▁▁▁▁▂▁        each strip is as high as its commonest time;
//!   512 byte  ▁▁▁▁█▅▁▁▁▁▁▁▁▂       the ticks are its median and 99.9th percentile
//!             └──┴──┴──┴──┴──  time, each step ten times the last
//! ```
//!
//! Heights are logarithmic: one frame in a million that was late is the one that matters, and on a
//! linear scale it has no height.

use super::chart::{COLOURS, shortened};
use super::svg::{LEFT, RIGHT, Svg};
use crate::suite::time;
use measure::histogram::at_quantile;
use std::fmt::Write;

/// A strip: its name; nanoseconds and how many frames, ascending.
pub(super) type Strip<'a> = (String, &'a [(u64, u64)]);

/// What a letter of a name takes.
const LETTER: f64 = 7.2;
/// Letters of a name, at most.
const ROOM: usize = 30;
const TOP: f64 = 24.0;
/// A strip and the room above it.
const STRIP: f64 = 50.0;
const HIGH: f64 = 38.0;
/// Columns of a strip.
const COLUMNS: usize = 133;

/// The drawing; empty if there is nothing to draw.
pub(super) fn svg<'a>(
    title: &str,
    caption: &str,
    strips: impl IntoIterator<Item = Strip<'a>>,
) -> String {
    let strips: Vec<Strip<'_>> = strips.into_iter().collect();
    let all = strips.iter().flat_map(|(_, buckets)| buckets.iter().map(|(ns, _)| *ns));
    let (Some(least), Some(most)) = (all.clone().min(), all.max()) else { return String::new() };
    let longest = strips.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let left = LEFT.max(longest.min(ROOM) as f64 * LETTER + 8.0);
    let low = (least.max(1) as f64).log10().floor();
    let high = (most.max(1) as f64).log10().ceil().max(low + 1.0);
    let at = |ns: u64| ((ns.max(1) as f64).log10() - low) / (high - low);
    let x = |ns: u64| left + at(ns).clamp(0.0, 1.0) * (RIGHT - left);
    let bottom = TOP + STRIP * strips.len() as f64;
    let height = bottom + 56.0;
    let said = |(name, buckets): &Strip<'_>| {
        let quantile = |share| time(at_quantile(buckets, share).unwrap_or(0) as f64);
        format!("{name}: median {}, 99.9 % within {}.", quantile(0.5), quantile(0.999))
    };
    let words: Vec<String> = strips.iter().map(said).collect();
    let mut svg = Svg { words: words.join(" "), ..Svg::default() };
    svg.text("axis", (0.0, 14.0), "how many (logarithmic height)");
    let powers = (low as i32..=high as i32).map(|power| 10f64.powi(power));
    for ns in powers.clone() {
        svg.path("grid", &format!("M{:.1} {TOP}V{bottom}", x(ns as u64)));
    }
    for (n, (name, buckets)) in strips.iter().enumerate() {
        let foot = TOP + STRIP * (n + 1) as f64;
        let mut columns = [0u64; COLUMNS];
        for &(ns, frames) in *buckets {
            let column = (at(ns) * COLUMNS as f64) as usize;
            let column = &mut columns[column.min(COLUMNS - 1)];
            *column = column.saturating_add(frames);
        }
        let tallest = columns.iter().copied().max().unwrap_or(1).max(2) as f64;
        let step = (RIGHT - left) / COLUMNS as f64;
        let mut path = format!("M{left:.1} {foot:.1}");
        for (i, &frames) in columns.iter().enumerate() {
            // One frame has a height, none has none.
            let tall = ((frames as f64 + 1.0).ln() / (tallest + 1.0).ln()) * HIGH;
            let _ = write!(path, "V{:.1}H{:.1}", foot - tall, left + step * (i + 1) as f64);
        }
        svg.path(&format!("area c{}", n % COLOURS), &format!("{path}V{foot:.1}Z"));
        svg.before((left, foot - 4.0), &shortened(name, ROOM));
        let quantile = |share| at_quantile(buckets, share).unwrap_or(0);
        let (median, worst) = (quantile(0.5), quantile(0.999));
        for ns in [median, worst] {
            svg.path("mark", &format!("M{:.1} {:.1}V{foot:.1}", x(ns), foot - HIGH - 4.0));
        }
        let beside = RIGHT + 8.0;
        svg.text("tick", (beside, foot - 20.0), &format!("median {}", time(median as f64)));
        svg.text("tick", (beside, foot - 4.0), &format!("99.9 % within {}", time(worst as f64)));
    }
    svg.below((left, bottom), powers.map(|ns| (x(ns as u64), round(ns))), "time");
    svg.figure(title, height, caption)
}

/// Nanoseconds without a rest, in the unit that has fewest digits.
pub(super) fn round(ns: f64) -> String {
    match ns.round() {
        ns if ns < 1e3 => format!("{ns} ns"),
        ns if ns < 1e6 => format!("{} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{} ms", ns / 1e6),
        ns => format!("{} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_is_drawn_is_markup(
            name in ".{0,20}",
            buckets in prop::collection::vec((any::<u64>(), 0u64..1 << 40), 0..20),
        ) {
            let mut buckets = buckets;
            buckets.sort_unstable();
            let svg = svg(&name, &name, [(name.clone(), &buckets[..])]);
            prop_assert_eq!(svg.matches('<').count(), svg.matches('>').count());
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
        }
    }
}
