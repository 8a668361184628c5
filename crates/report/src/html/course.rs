//! Time series as SVG: what was sent and what came while a trial went on.
//!
//! ```text
//!  frames per second   ┄┄┄┄┄┄┄┄┄┄┄┄┄ sent           strips: the same for each size, one above the other
//!                      ▇▇▇▇▁▁▁▁▇▇▇▇▇ received          64 byte ▇▇▇▇▁▁▁▁▇▇▇▇▇
//!  not back            ____╱────────                  512 byte ▇▇▇▇▁▁▁▁▇▇▇▇▇
//!  greatest latency    ▁▁▁▁    ▃▂▁▁▁
//!                      └──┴──┴──┴──  time
//! ```
//!
//! Every interval is a step as wide as it is long. Never averages over intervals.

use super::chart::round_steps;
use super::svg::{LEFT, RIGHT, Svg};
use crate::suite::{short, time, whole};
use measure::series::Series;
use measure::suite_result::{Cell, TrialRecord};
use std::fmt::Write;

/// Above a panel, for its name.
const HEAD: f64 = 38.0;

/// Something of which there is so much in each interval.
struct Panel {
    name: String,
    high: f64,
    /// What was sent, dashed; what came, as an area.
    sent: Option<Vec<f64>>,
    came: Vec<f64>,
    /// A limit, and what it is.
    limit: Option<(f64, &'static str)>,
    show: fn(f64) -> String,
    /// Beside it, where there are no names.
    said: String,
    /// What line and area are called.
    names: (&'static str, &'static str),
}

/// Seconds of each interval that begins within the trial: the last may be cut off by its end. What came
/// after that is in no interval of a rate.
fn lengths(trial: &TrialRecord, series: &Series) -> Vec<f64> {
    let interval = series.interval_ns as f64 / 1e9;
    let long = trial.tcp.map_or(trial.duration, |tcp| tcp.took_ns as f64 / 1e9);
    let left = |i: usize| long - i as f64 * interval;
    let within = (0..series.len()).take_while(|&i| i == 0 || left(i) > 0.01 * interval);
    within
        .map(|i| {
            if (0.0..interval).contains(&left(i)) { left(i).max(0.01 * interval) } else { interval }
        })
        .collect()
}

fn rates(counts: &[u64], lengths: &[f64]) -> Vec<f64> {
    counts.iter().zip(lengths).map(|(n, long)| *n as f64 / long).collect()
}

/// A trial's course in panels. `wire`: what all its ports could send in a second.
pub(super) fn detail(
    title: &str,
    (trial, series): (&TrialRecord, &Series),
    wire: Option<f64>,
) -> String {
    let lengths = lengths(trial, series);
    let rate = |counts: &[u64]| rates(counts, &lengths);
    let plain = |name: &str, came: Vec<f64>, show| Panel {
        name: name.to_string(),
        high: 70.0,
        sent: None,
        came,
        limit: None,
        show,
        said: String::new(),
        names: ("", ""),
    };
    let mut panels = vec![];
    if trial.tcp.is_some() {
        let mbps = rate(&series.bytes).iter().map(|bytes| bytes * 8.0 / 1e6).collect();
        panels.push(between(plain(
            "Mbps of TCP payload received, both ways together",
            mbps,
            whole,
        )));
        let answered = rate(&series.transactions);
        panels.push(between(plain("requests answered per second", answered, whole)));
        let established = rate(&series.established);
        panels.push(between(plain("connections established per second", established, whole)));
        panels.retain(|panel| panel.came.iter().any(|value| *value > 0.0));
    }
    let frames = if trial.tcp.is_some() { "segments" } else { "frames" };
    let first = Panel {
        high: 120.0,
        sent: Some(rate(&series.sent)),
        limit: wire.map(|rate| (rate, "the wires (theoretical)")),
        names: ("sent", "received"),
        ..plain(&format!("{frames} per second, all ports together"), rate(&series.received), whole)
    };
    panels.insert(0, first);
    let missing = series.missing();
    let missing = &missing[..lengths.len()];
    let at_end = trial.sent.saturating_sub(trial.received);
    let name = format!("{frames} sent so far and not back: under way, or lost");
    let said = format!("lost at the end: {}", whole(at_end as f64));
    panels.push(Panel { said, ..plain(&name, missing.iter().map(|n| *n as f64).collect(), whole) });
    if let Some(latest) = series.latency_max_ns.get(..lengths.len()) {
        let latest: Vec<f64> = latest.iter().map(|ns| *ns as f64).collect();
        let said = format!("at most {}", time(latest.iter().copied().fold(0.0, f64::max)));
        let name = "greatest latency of those received in each interval";
        panels.push(Panel { said, ..plain(name, latest, time) });
    }
    draw(title, (series.interval_ns, lengths.len()), &panels)
}

/// Beside a panel: the least and the most of it.
fn between(panel: Panel) -> Panel {
    let least = panel.came.iter().copied().fold(f64::INFINITY, f64::min);
    let most = panel.came.iter().copied().fold(0.0, f64::max);
    let said = format!("{} to {}", (panel.show)(least), (panel.show)(most));
    Panel { said, ..panel }
}

fn draw(title: &str, (interval_ns, n): (u64, usize), panels: &[Panel]) -> String {
    let whole_time = n as f64 * interval_ns as f64;
    let x = |at: f64| LEFT + at / whole_time * (RIGHT - LEFT);
    let edges: Vec<f64> = (0..=n).map(|i| x(i as f64 * interval_ns as f64)).collect();
    let (mut svg, mut top) = (Svg::default(), 0.0);
    for panel in panels {
        let all = panel.came.iter().chain(panel.sent.iter().flatten()).copied();
        let limit = panel.limit.map(|(value, _)| value);
        let most = all.chain(limit).fold(0.0, f64::max);
        let ticks = if panel.high < 100.0 { vec![0.0, nice(most)] } else { round_steps(&[most]) };
        let high = ticks[ticks.len() - 1];
        let (head, foot) = (top + HEAD, top + HEAD + panel.high);
        let y = |value: f64| foot - (value / high).clamp(0.0, 1.0) * panel.high;
        svg.text("axis", (0.0, top + 18.0), &panel.name);
        for tick in ticks {
            svg.level(y(tick), &(panel.show)(tick));
        }
        svg.path("area c0", &area(&panel.came, &edges, foot, y));
        if let Some(sent) = &panel.sent {
            svg.path("sent", &steps(sent, &edges, y));
            key(&mut svg, head + 10.0, "sent", panel.names.0);
            key(&mut svg, head + 28.0, "area c0", panel.names.1);
        } else {
            svg.text("tick", (RIGHT + 8.0, head + 14.0), &panel.said);
            let _ = write!(svg.words, "{}: {}. ", panel.name, panel.said);
        }
        if let Some((value, name)) = panel.limit {
            svg.path("line reference", &format!("M{LEFT} {:.1}H{RIGHT}", y(value)));
            key(&mut svg, head + 46.0, "line reference", name);
        }
        top = foot;
    }
    let (ticks, name) = times(whole_time);
    svg.below((LEFT, top), ticks.into_iter().map(|(ns, text)| (x(ns), text)), &name);
    let caption = format!("{n} intervals of {}.", time(interval_ns as f64));
    svg.figure(title, top + 56.0, &caption)
}

/// The same of several cells, a strip each; empty if there is nothing to draw.
pub(super) fn strips(title: &str, cells: &[(String, &Cell)]) -> String {
    const HIGH: f64 = 34.0;
    const STRIP: f64 = 50.0;
    let all = cells.iter().filter_map(|(name, cell)| Some((name, cell.course()?)));
    let all: Vec<_> = all.collect();
    let long = |of: &(&String, (&TrialRecord, &Series))| {
        let (trial, series) = of.1;
        lengths(trial, series).len() as u64 * series.interval_ns
    };
    let Some(longest) = all.iter().map(long).max() else { return String::new() };
    let letters = all.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let left = LEFT.max(letters.min(30) as f64 * 7.2 + 8.0);
    let x = |ns: f64| left + ns / longest as f64 * (RIGHT - left);
    let mut svg = Svg::default();
    for (n, (name, (trial, series))) in all.iter().enumerate() {
        let foot = STRIP * (n + 1) as f64;
        let lengths = lengths(trial, series);
        let (sent, came) = (rates(&series.sent, &lengths), rates(&series.received, &lengths));
        let most = sent.iter().chain(&came).copied().fold(1.0, f64::max);
        let y = |value: f64| foot - value / most * HIGH;
        let edges: Vec<f64> =
            (0..=lengths.len()).map(|i| x(i as f64 * series.interval_ns as f64)).collect();
        let lost = trial.sent.saturating_sub(trial.received);
        let latest = series.latency_max_ns.iter().max();
        let below = match (lost, latest) {
            (0, Some(ns)) => format!("none lost, at most {} late", time(*ns as f64)),
            (0, None) => "none lost".to_string(),
            (lost, _) => format!("{} of {} lost", whole(lost as f64), whole(trial.sent as f64)),
        };
        svg.path("grid", &format!("M{left} {foot}H{RIGHT}"));
        svg.path("area c0", &area(&came, &edges, foot, y));
        svg.path("sent", &steps(&sent, &edges, y));
        svg.before((left, foot - 6.0), name);
        let highest = whole(sent.iter().copied().fold(0.0, f64::max));
        svg.text("tick", (RIGHT + 8.0, foot - 20.0), &format!("at most {highest} sent a second"));
        svg.text("tick", (RIGHT + 8.0, foot - 4.0), &below);
        let _ = write!(svg.words, "{name}: {below}. ");
    }
    let bottom = STRIP * all.len() as f64;
    let (ticks, axis) = times(longest as f64);
    svg.below((left, bottom), ticks.into_iter().map(|(ns, text)| (x(ns), text)), &axis);
    let caption = "Dashed: what was sent in each interval, all ports together; the area: what came back. \
                   Each strip has its own height.";
    svg.figure(title, bottom + 56.0, caption)
}

fn key(svg: &mut Svg, y: f64, class: &str, name: &str) {
    let (from, to) = (RIGHT + 8.0, RIGHT + 34.0);
    let shape = match class.starts_with("area") {
        true => format!("M{from} {:.0}H{to}V{:.0}H{from}Z", y - 6.0, y + 4.0),
        false => format!("M{from} {y:.0}H{to}"),
    };
    svg.path(class, &shape);
    svg.text("name", (to + 8.0, y + 4.0), name);
}

/// A round number that is not below.
fn nice(value: f64) -> f64 {
    let Some(top) = round_steps(&[value]).last().copied() else { return 1.0 };
    top
}

/// A level for each interval.
fn steps(values: &[f64], edges: &[f64], y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    for (i, value) in values.iter().enumerate() {
        let pen = if i == 0 {
            format!("M{:.1} {:.1}", edges[0], y(*value))
        } else {
            format!("V{:.1}", y(*value))
        };
        let _ = write!(path, "{pen}H{:.1}", edges[i + 1]);
    }
    path
}

fn area(values: &[f64], edges: &[f64], foot: f64, y: impl Fn(f64) -> f64) -> String {
    let mut path = format!("M{:.1} {foot:.1}", edges[0]);
    for (i, value) in values.iter().enumerate() {
        let _ = write!(path, "V{:.1}H{:.1}", y(*value), edges[i + 1]);
    }
    path + &format!("V{foot:.1}Z")
}

/// Ticks of a time axis of so many nanoseconds, and its name.
fn times(ns: f64) -> (Vec<(f64, String)>, String) {
    let (unit, name) = match ns {
        ns if ns < 2e6 => (1e3, "µs"),
        ns if ns < 2e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let ticks = round_steps(&[ns / unit]).into_iter().filter(|tick| tick * unit <= ns * 1.0001);
    let name = format!("time from the trial's beginning, {name}");
    (ticks.map(|tick| (tick * unit, short(tick))).collect(), name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_is_drawn_is_markup(
            name in ".{0,20}",
            counts in prop::collection::vec((0u64..1 << 40, 0u64..1 << 40, any::<u64>()), 1..50),
            interval_ns in 1u64..1 << 40,
            duration in 0.0f64..1e6,
        ) {
            let text = include_str!("../../data/test-1.json");
            let mut cell = crate::suite::read(text).unwrap().cells.remove(0);
            let column = |of: fn(&(u64, u64, u64)) -> u64| counts.iter().map(of).collect::<Vec<_>>();
            let series = Series {
                interval_ns,
                sent: column(|c| c.0),
                received: column(|c| c.1),
                latency_max_ns: column(|c| c.2),
                ..Series::default()
            };
            cell.trials[0].duration = duration;
            cell.trials[0].series = Some(series);
            let detail = detail(&name, cell.course().unwrap(), Some(1e6));
            for svg in [detail, strips(&name, &[(name.clone(), &cell)])] {
                prop_assert_eq!(svg.matches('<').count(), svg.matches('>').count());
                prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
            }
        }
    }
}
