//! How late frames of each stream and each direction were, against what the same file says otherwise.
//!
//! ```text
//!  histogram ─► how many, percentiles ─► PDV           IPDV ─► no more than latencies differ
//!  first frame … last: rate                                 └► jitter: no more than IPDV
//!  streams, directions ─► the trial: how many, the longest time ─► PDV and IPDV of the procedure
//! ```
//!
//! Files that were written before a figure was kept have none, and nothing is said.

use super::super::Kind;
use super::is_valid;
use measure::histogram::at_quantile;
use measure::procedure::spread::Spread;
use measure::result::Latency;
use measure::suite_result::{
    Cell, DirectionRecord, Figure, Ipdv, StreamRecord, TrialRecord, total,
};
use std::collections::BTreeMap;

/// Checks a cell; `exact` if its least and greatest times are.
pub(super) fn check(cell: &Cell, exact: bool, note: &mut impl FnMut(Kind, String)) {
    let mut wrong = |text: String| note(Kind::Inconsistent, text);
    for trial in cell.trials.iter().filter(is_valid) {
        for stream in &trial.streams {
            of_stream(stream, exact, &mut |text| wrong(format!("{}: {text}", stream.name)));
        }
        for way in &trial.directions {
            let DirectionRecord { from, to, .. } = way;
            of_direction(way, exact, &mut |text| wrong(format!("from {from} to {to}: {text}")));
        }
        together(trial, exact, &mut wrong);
        if let Some(latency) = trial.latency.filter(|_| exact) {
            differences(latency, trial.ipdv, &mut wrong);
            steepest(latency, trial.ipdv, exact, &mut wrong);
        }
    }
    if cell.procedure == "delay-variation" {
        variations(cell, &mut wrong);
        variations_by_way(cell, &mut wrong);
    } else if cell.procedure == "latency" {
        tagged_by_way(cell, &mut wrong);
    }
}

/// Three digits are kept.
fn near(a: u64, b: u64) -> bool {
    a.abs_diff(b) as f64 <= b as f64 * 2e-3 + 1.0
}

fn of_stream(stream: &StreamRecord, exact: bool, wrong: &mut impl FnMut(String)) {
    let StreamRecord { sent, received, capture, .. } = stream;
    if let Some(latency) = stream.latency {
        // Of a replay not every frame can be told from those like it.
        if latency.count > *received || capture.is_none() && latency.count != *received {
            wrong(format!("latencies of {} frames, and {received} received", latency.count));
        }
        of_histogram(&stream.histogram, latency, wrong);
        varies(latency, stream.pdv_ns, stream.ipdv, wrong);
        steepest(latency, stream.ipdv, exact, wrong);
    }
    for (what, rate, frames) in
        [("sent", stream.sending, *sent), ("received", stream.arriving, *received)]
    {
        if let Some(rate) = rate.filter(|rate| !rate.is_of(frames)) {
            let seconds = rate.ns as f64 / 1e9;
            wrong(format!(
                "{} fps {what}, and {frames} frames from the first to the last in {seconds} s",
                rate.fps
            ));
        }
    }
    let (Some(jitter), Some(most)) = (stream.jitter_ns, stream.jitter_max_ns) else { return };
    if jitter > most * (1.0 + 1e-9) {
        wrong(format!("a jitter of {jitter:.1} ns, and {most:.1} at most"));
    }
    // The filter's values are means of what it is fed with.
    let steepest = stream.ipdv.map_or(0, |ipdv| ipdv.min_ns.abs().max(ipdv.max_ns.abs()));
    if stream.ipdv.is_some() && most > steepest as f64 * 1.01 + 1.0 {
        wrong(format!("a jitter of {most:.1} ns, and no frame differs by more than {steepest}"));
    }
    // And it takes a sixteenth of each difference (RFC 3550 §6.4.1).
    let least = steepest as f64 / 16.0;
    if most < least * 0.98 - 1.0 {
        wrong(format!("a jitter of {most:.1} ns at most, and one difference makes it {least:.1}"));
    }
    let sum = stream.ipdv.map_or(most, |ipdv| ipdv.mean_abs_ns * ipdv.pairs as f64 / 16.0);
    if most > sum * 1.02 + 1.0 {
        wrong(format!("a jitter of {most:.1} ns, and all differences make it {sum:.1}"));
    }
}

fn of_direction(way: &DirectionRecord, exact: bool, wrong: &mut impl FnMut(String)) {
    let received = way.received;
    let Some(latency) = way.latency else { return };
    if latency.count != received {
        wrong(format!("latencies of {} frames, and {received} received", latency.count));
    }
    if let Some(tagged) = way.tagged {
        if tagged.count > latency.count {
            wrong(format!("{} tagged frames of {received}", tagged.count));
        }
        if let Some(fault) = tagged.fault() {
            wrong(format!("tagged frames: {fault}"));
        }
        let (least, most) = (latency.min_ns, latency.max_ns);
        let below = tagged.min_ns < least && !near(tagged.min_ns, least);
        if below || tagged.max_ns > most && !near(tagged.max_ns, most) {
            let Latency { min_ns, max_ns, .. } = tagged;
            wrong(format!("tagged frames took {min_ns} to {max_ns} ns, and all {least} to {most}"));
        }
    }
    varies(latency, way.pdv_ns, way.ipdv, wrong);
    // Of older files the wires' own time was taken off what was rounded.
    if exact {
        steepest(latency, way.ipdv, exact, wrong);
    }
}

/// Percentiles are the histogram's.
fn of_histogram(histogram: &[(u64, u64)], latency: Latency, wrong: &mut impl FnMut(String)) {
    if histogram.is_empty() {
        return;
    }
    let total = histogram.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    if total != latency.count {
        wrong(format!("a histogram of {total} latencies, and {} were measured", latency.count));
    }
    for (name, share, said) in [
        ("least", 0.0, latency.min_ns),
        ("p50", 0.5, latency.p50_ns),
        ("p99", 0.99, latency.p99_ns),
        ("p99.9", 0.999, latency.p999_ns),
        ("max", 1.0, latency.max_ns),
    ] {
        if let Some(exact) = at_quantile(histogram, share).filter(|exact| !near(said, *exact)) {
            wrong(format!("latency {name}: {said} ns, and the histogram says {exact}"));
        }
    }
}

fn varies(
    latency: Latency,
    pdv_ns: Option<u64>,
    ipdv: Option<Ipdv>,
    wrong: &mut impl FnMut(String),
) {
    let Latency { min_ns, p999_ns, .. } = latency;
    if let Some(fault) = latency.fault() {
        wrong(fault);
    }
    let exact = p999_ns.saturating_sub(min_ns);
    if let Some(pdv) = pdv_ns.filter(|pdv| *pdv != exact) {
        wrong(format!("a PDV of {pdv} ns, and p99.9 less the least is {exact}"));
    }
    differences(latency, ipdv, wrong);
}

fn differences(latency: Latency, ipdv: Option<Ipdv>, wrong: &mut impl FnMut(String)) {
    let (count, Some(ipdv)) = (latency.count, ipdv) else { return };
    let Ipdv { pairs, min_ns: least, median_ns: median, max_ns: most, mean_abs_ns: mean } = ipdv;
    if pairs >= count.max(1) {
        wrong(format!("{pairs} pairs of neighbours among {count} frames"));
    }
    if least > median || median > most {
        wrong(format!("IPDV out of order: {least}, {median}, {most} ns"));
    }
    let steepest = least.unsigned_abs().max(most.unsigned_abs());
    // The steepest fall and rise are pairs of their own, if there are both; two digits of older files.
    let both = if least < 0 && most > 0 { most.abs_diff(least) } else { steepest };
    let low = (both as f64 * 0.98 - 2.0).max(0.0) / pairs.max(1) as f64;
    if !(low..=steepest as f64 * 1.01 + 1.0).contains(&mean) {
        wrong(format!("IPDV {mean} ns in the mean, and {steepest} at most"));
    }
}

/// No neighbours differ by more than the slowest frame from the fastest, nor does one pair in several
/// ways.
fn steepest(latency: Latency, ipdv: Option<Ipdv>, exact: bool, wrong: &mut impl FnMut(String)) {
    let Some(Ipdv { pairs, min_ns, median_ns, max_ns, mean_abs_ns }) = ipdv else { return };
    let one =
        (min_ns, max_ns, mean_abs_ns) == (median_ns, median_ns, median_ns.unsigned_abs() as f64);
    if exact && pairs == 1 && !one {
        wrong(format!(
            "IPDV {min_ns}, {median_ns}, {max_ns} ns, {mean_abs_ns} in the mean, of one pair of frames"
        ));
    }
    let steepest = min_ns.unsigned_abs().max(max_ns.unsigned_abs());
    let apart = latency.max_ns.saturating_sub(latency.min_ns);
    // Older files have two digits of differences, three of latencies.
    let most = match exact {
        true => apart as f64,
        false => apart as f64 * 1.01 + latency.max_ns as f64 * 2e-3 + 2.0,
    };
    if steepest as f64 > most {
        wrong(format!("an IPDV of {steepest} ns, and no latencies are more than {apart} apart"));
    }
}

/// Of all together as much as of each.
fn together(trial: &TrialRecord, exact: bool, wrong: &mut impl FnMut(String)) {
    let same = |a: u64, b: u64| if exact { a == b } else { near(a, b) };
    let streams: Vec<Latency> = trial.streams.iter().filter_map(|one| one.latency).collect();
    let ways: Vec<Latency> = trial.directions.iter().filter_map(|one| one.latency).collect();
    for (of, each) in [("streams", &streams), ("directions", &ways)] {
        let Some(all) = trial.latency.filter(|_| !each.is_empty()) else { continue };
        let sum = each.iter().fold(0u64, |sum, one| sum.saturating_add(one.count));
        if sum != all.count {
            wrong(format!("latencies of {} frames, and {sum} of its {of}", all.count));
        }
    }
    // Of directions of older files the wires' own time was taken off.
    let of_ways = if exact { ways } else { vec![] };
    for (of, each) in [("streams", streams), ("directions", of_ways)] {
        let (least, most) = (each.iter().map(|one| one.min_ns), each.iter().map(|one| one.max_ns));
        let (Some(all), Some(least), Some(most)) = (trial.latency, least.min(), most.max()) else {
            continue;
        };
        let (min, max) = (all.min_ns, all.max_ns);
        if !(same(min, least) && same(max, most)) {
            wrong(format!("latencies of {min} to {max} ns, and of its {of} {least} to {most}"));
        }
    }
    type Count = (&'static str, u64, fn(&DirectionRecord) -> u64);
    let counts: [Count; 2] =
        [("intended", trial.intended, |way| way.intended), ("sent", trial.sent, |way| way.sent)];
    for (what, all, of) in counts.into_iter().filter(|_| !trial.directions.is_empty()) {
        let sum = total(trial.directions.iter().map(of));
        if sum != all {
            wrong(format!("{all} frames {what}, and {sum} of its directions"));
        }
    }
    // After an overload and over a reset it is back when both directions are.
    let times: Vec<Option<u64>> = trial.directions.iter().map(|way| way.time_ns).collect();
    if times.iter().all(Option::is_none) {
        return;
    }
    // A way without a time came back never from a reset, and was never overloaded.
    let longest = match trial.kind.as_str() {
        "reset" if times.contains(&None) => None,
        _ => times.into_iter().flatten().max(),
    };
    let (said, exact) = (trial.time_ns.unwrap_or(0), longest.unwrap_or(0));
    if said != exact {
        wrong(format!("a time of {said} ns, and the longest of its directions is {exact}"));
    }
}

/// Of several directions a figure is that of the worst, and says so.
const WORST: &str = " worst direction]";

/// What each direction of a trial has.
type OfWay = fn(&DirectionRecord) -> Option<f64>;

/// Of each direction what its valid trials have, one after the other.
fn by_way(cell: &Cell, of: OfWay) -> BTreeMap<(u32, u32), Vec<f64>> {
    let mut ways: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for way in cell.trials.iter().filter(is_valid).flat_map(|trial| &trial.directions) {
        ways.entry((way.from, way.to)).or_default().extend(of(way));
    }
    ways
}

/// The figure is the median of the repetitions of the direction where that is the worst.
fn variations_by_way(cell: &Cell, wrong: &mut impl FnMut(String)) {
    type Bad = fn(f64) -> f64;
    let each: [(&str, OfWay, Bad); 4] = [
        ("PDV[", |way| way.pdv_ns.map(|ns| ns as f64), |ns| ns),
        ("IPDV min[", |way| way.ipdv.map(|all| all.min_ns as f64), |ns| -ns),
        ("IPDV median[", |way| way.ipdv.map(|all| all.median_ns as f64), f64::abs),
        ("IPDV max[", |way| way.ipdv.map(|all| all.max_ns as f64), |ns| ns),
    ];
    for (start, of, bad) in each {
        let Some((name, value)) = worst_figure(cell, start) else { continue };
        let ways = by_way(cell, of);
        let medians = ways.values().filter_map(|each| Some(Spread::of(each)?.median));
        let worst = medians.max_by(|a, b| bad(*a).total_cmp(&bad(*b)));
        if let Some(worst) = worst.filter(|worst| (bad(*worst) - bad(value)).abs() > 1e-6) {
            wrong(format!("{name}: {value} ns, and of its directions the worst has {worst}"));
        }
    }
}

/// Latencies of tagged frames: no direction is worse, and the worst is as bad.
fn tagged_by_way(cell: &Cell, wrong: &mut impl FnMut(String)) {
    type Pick = fn(&Spread) -> f64;
    let mean: Pick = |s| s.mean;
    let median: Pick = |s| s.median;
    let each: [(&str, OfWay, OfWay, Pick); 3] = [
        ("latency[", |way| Some(way.tagged?.min_ns as f64), most_tagged, mean),
        (
            "TL[",
            |way| Some(way.tagged?.p50_ns as f64),
            |way| Some(way.tagged?.p99_ns as f64),
            median,
        ),
        ("WCL[", |way| Some(way.tagged?.p99_ns as f64), most_tagged, median),
    ];
    for (start, least, most, pick) in each {
        let Some((name, value)) = worst_figure(cell, start) else { continue };
        let worst = |of: OfWay| {
            let ways = by_way(cell, of);
            let all = ways.values().filter_map(|each| Spread::of(each));
            all.map(|spread| pick(&spread)).reduce(f64::max)
        };
        let (Some(low), Some(high)) = (worst(least), worst(most)) else { continue };
        // Three digits are kept.
        if value < low * 0.998 - 1.0 || value > high * 1.002 + 1.0 {
            wrong(format!(
                "{name}: {value} ns, and of its directions the worst has {low} to {high}"
            ));
        }
    }
}

fn most_tagged(way: &DirectionRecord) -> Option<f64> {
    Some(way.tagged?.max_ns as f64)
}

/// Name and value of a figure of the worst direction.
fn worst_figure<'a>(cell: &'a Cell, start: &str) -> Option<(&'a str, f64)> {
    let of = |figure: &&Figure| figure.name.starts_with(start) && figure.name.ends_with(WORST);
    let figure = cell.figures.iter().find(of)?;
    Some((&figure.name, figure.value?))
}

/// The least and the greatest of the repetitions are trials'; of files, and of trials, that have all
/// directions in one.
fn variations(cell: &Cell, wrong: &mut impl FnMut(String)) {
    type Of = fn(&TrialRecord) -> Option<f64>;
    let each: [(&str, Of); 4] = [
        ("PDV[", |trial| trial.latency.map(|all| all.p999_ns.saturating_sub(all.min_ns) as f64)),
        ("IPDV min[", |trial| trial.ipdv.map(|all| all.min_ns as f64)),
        ("IPDV median[", |trial| trial.ipdv.map(|all| all.median_ns as f64)),
        ("IPDV max[", |trial| trial.ipdv.map(|all| all.max_ns as f64)),
    ];
    for (start, of) in each {
        let values = || cell.trials.iter().filter(is_valid).filter_map(of);
        let of = |figure: &&Figure| figure.name.starts_with(start) && !figure.name.ends_with(WORST);
        let figure = cell.figures.iter().find(of);
        let Some((figure, spread)) = figure.and_then(|one| Some((one, one.spread?))) else {
            continue;
        };
        for ns in [spread.min, spread.max] {
            if values().next().is_some() && values().all(|value| (value - ns).abs() > 1e-6) {
                wrong(format!("{}: no trial has {ns} ns", figure.name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Known, check};
    use super::*;
    use measure::SuiteResults;

    /// A small plan in virtual time: two directions, three streams.
    const STORED: &str = include_str!("../../../data/test-2-delays.json");

    fn found(change: impl Fn(&mut SuiteResults)) -> String {
        let mut results = crate::suite::read(STORED).unwrap();
        change(&mut results);
        let text = crate::suite::write(&results).unwrap();
        let findings = check(&[("a.json".to_string(), text)], &Known::default()).findings;
        let faults = findings.iter().filter(|finding| finding.kind.is_fault());
        faults.map(|finding| finding.to_string() + "\n").collect()
    }

    fn cell<'a>(results: &'a mut SuiteResults, procedure: &str) -> &'a mut Cell {
        results.cells.iter_mut().find(|cell| cell.procedure == procedure).unwrap()
    }

    fn stream(results: &mut SuiteResults) -> &mut StreamRecord {
        &mut cell(results, "streams").trials[0].streams[0]
    }

    fn way<'a>(results: &'a mut SuiteResults, procedure: &str) -> &'a mut DirectionRecord {
        &mut cell(results, procedure).trials[0].directions[1]
    }

    /// Each figure of a stream and of a direction, altered: each is told.
    #[test]
    fn altered_copies() {
        type Change = fn(&mut SuiteResults);
        let cases: [(Change, &str); 26] = [
            (|_| {}, ""),
            (|r| stream(r).latency.as_mut().unwrap().count -= 1, "voice: latencies of 199 frames"),
            (|r| stream(r).histogram[0].1 += 1, "voice: a histogram of 201 latencies, and 200"),
            (|r| stream(r).latency.as_mut().unwrap().p50_ns += 500, "voice: latency p50: "),
            (|r| stream(r).latency.as_mut().unwrap().min_ns -= 500, "voice: latency least: "),
            (|r| stream(r).latency.as_mut().unwrap().max_ns += 5000, "voice: latency max: "),
            (|r| *stream(r).pdv_ns.as_mut().unwrap() += 1, "voice: a PDV of "),
            (|r| stream(r).ipdv.as_mut().unwrap().pairs = 200, "voice: 200 pairs of neighbours"),
            (|r| stream(r).ipdv.as_mut().unwrap().min_ns = 1, "voice: IPDV out of order: 1, 0"),
            (|r| stream(r).ipdv.as_mut().unwrap().median_ns = 1 << 40, "voice: IPDV out of order"),
            (|r| stream(r).ipdv.as_mut().unwrap().max_ns = 1 << 40, "voice: an IPDV of 10995116"),
            (
                |r| stream(r).ipdv.as_mut().unwrap().mean_abs_ns = 1e9,
                "voice: IPDV 1000000000 ns in",
            ),
            (|r| stream(r).jitter_ns = Some(1e6), "voice: a jitter of 1000000.0 ns, and 50"),
            (|r| stream(r).jitter_max_ns = Some(1e6), "voice: a jitter of 1000000.0 ns, and no"),
            (
                |r| (stream(r).jitter_ns, stream(r).jitter_max_ns) = (Some(9.0), Some(9.0)),
                "voice: a jitter of 9.0 ns at most, and one difference makes it 17279.9",
            ),
            (
                |r| {
                    let one = &mut cell(r, "streams").trials[0].streams[1];
                    (one.jitter_ns, one.jitter_max_ns) = (Some(0.0), Some(150_000.0));
                },
                ": a jitter of 150000.0 ns, and all differences make it 61964.0",
            ),
            (|r| stream(r).sending.as_mut().unwrap().fps *= 1.01, "fps sent, and 200 frames from"),
            (|r| stream(r).arriving.as_mut().unwrap().ns /= 2, "fps received, and 200 frames"),
            (
                |r| cell(r, "streams").trials[0].latency.as_mut().unwrap().max_ns *= 2,
                "and of its streams ",
            ),
            (
                |r| way(r, "latency").latency.as_mut().unwrap().count -= 5,
                "from 2 to 1: latencies of ",
            ),
            (|r| way(r, "latency").tagged.as_mut().unwrap().count = 1 << 40, "tagged frames of "),
            (|r| *way(r, "delay-variation").pdv_ns.as_mut().unwrap() -= 1, "from 2 to 1: a PDV of"),
            (
                |r| way(r, "delay-variation").ipdv.as_mut().unwrap().max_ns = -5,
                "from 2 to 1: IPDV out of order",
            ),
            (
                |r| *way(r, "reset").time_ns.as_mut().unwrap() += 1_000_000,
                "and the longest of its directions is ",
            ),
            (|r| way(r, "reset").time_ns = None, "and the longest of its directions is 0"),
            (
                |r| {
                    let trials = &mut cell(r, "delay-variation").trials;
                    trials.iter_mut().for_each(|trial| trial.ipdv.as_mut().unwrap().max_ns += 77);
                },
                "IPDV max[rfc8219 0.1s 2x]: no trial has ",
            ),
        ];
        for (change, expected) in cases {
            let found = found(change);
            assert!(found.contains(expected), "{expected}: {found}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{expected}: {found}");
        }
    }

    /// What least and greatest say of each other, where they are exact and where they are edges of
    /// buckets: 50,687 ns of one pair of frames that were 50,451 apart.
    #[test]
    fn differences_and_latencies() {
        let latency = |max_ns| Latency {
            count: 2,
            min_ns: 10_104_687,
            p50_ns: 10_104_687,
            p99_ns: max_ns,
            p999_ns: max_ns,
            max_ns,
        };
        let ipdv = |min_ns, median_ns, max_ns, mean_abs_ns| Ipdv {
            pairs: 1,
            min_ns,
            median_ns,
            max_ns,
            mean_abs_ns,
        };
        let right = ipdv(-50_451, -50_451, -50_451, 50_451.0);
        let wide = ipdv(-50_687, -50_687, -50_432, 50_560.0);
        let apart = "no latencies are more than 50451 apart";
        for (exact, ipdv, expected) in [
            (true, right, vec![]),
            (false, wide, vec![]),
            (true, wide, vec!["50560 in the mean, of one pair of frames", apart]),
            (true, ipdv(-50_452, -50_452, -50_452, 50_452.0), vec![apart]),
            (true, ipdv(50_451, 50_451, 50_451, 50_450.5), vec!["of one pair of frames"]),
            (false, ipdv(-90_000, -90_000, -90_000, 90_000.0), vec![apart]),
        ] {
            let mut said = vec![];
            steepest(latency(10_155_138), Some(ipdv), exact, &mut |text| said.push(text));
            let as_expected = said.iter().zip(&expected).all(|(said, part)| said.contains(part));
            assert!(as_expected && said.len() == expected.len(), "{ipdv:?}: {said:?}");
        }
        // A PDV that latencies do not have.
        let mut said = vec![];
        varies(latency(10_104_687), Some(255), None, &mut |text| said.push(text));
        assert_eq!(said, ["a PDV of 255 ns, and p99.9 less the least is 0"]);
    }

    /// As figures are named since they are of the worst direction: 104.5 and 109.05 us are no variation
    /// of 4.55.
    #[test]
    fn the_worst_direction() {
        const PDV: &str = "PDV[rfc8219 0.1s 2x worst direction]";
        let with = |name: &'static str, value: fn(&[f64; 2]) -> f64| {
            found(move |results| {
                for cell in &mut results.cells {
                    let of = |way: &DirectionRecord| match cell.procedure.as_str() {
                        "delay-variation" => way.pdv_ns.map(|ns| ns as f64),
                        _ => way.tagged.map(|all| all.p50_ns as f64),
                    };
                    let trials = cell.trials.iter().filter(is_valid);
                    let mut ways = [vec![], vec![]];
                    for directions in trials.map(|trial| &trial.directions) {
                        for (all, way) in ways.iter_mut().zip(directions) {
                            all.extend(of(way));
                        }
                    }
                    let medians = ways.map(|all| Spread::of(&all).map_or(0.0, |all| all.median));
                    let start = name.split_once('[').unwrap().0.to_string() + "[";
                    let figures = cell.figures.iter_mut();
                    for figure in figures.filter(|figure| figure.name.starts_with(&start)) {
                        (figure.name, figure.spread) = (name.to_string(), None);
                        figure.value = Some(value(&medians));
                    }
                }
            })
        };
        assert_eq!(with(PDV, |of| of[0].max(of[1])), "");
        let said = with(PDV, |of| of[0].max(of[1]) + 4550.0);
        assert!(said.contains("and of its directions the worst has "), "{said}");
        let tagged = "latency[rfc2544 0.2s 2x worst direction]";
        assert_eq!(with(tagged, |of| of[0].max(of[1])), "");
        let said = with(tagged, |of| of[0].max(of[1]) * 0.9);
        assert!(said.contains("and of its directions the worst has "), "{said}");
    }

    /// Every one of these figures is on the terminal, on the page, in Markdown and in CSV.
    #[test]
    fn shown_everywhere() {
        let mut results = crate::suite::read(STORED).unwrap();
        let [text, page, markdown, csv] = [
            crate::suite::render(&results),
            crate::html::suite_page(&results),
            crate::export::suite_markdown(&results),
            crate::export::suite_parts(&results),
        ];
        let streams = crate::suite::streams::delays(&cell(&mut results, "streams").trials[0]);
        assert_eq!((streams.len(), streams[4][0].as_str()), (5, "all"));
        let silence = crate::suite::ways::by_direction(&[cell(&mut results, "reset")]);
        assert_eq!(silence.len(), 3, "{silence:?}");
        for value in streams.iter().chain(&silence).skip(1).flatten() {
            for (name, shown) in [("text", &text), ("page", &page), ("markdown", &markdown)] {
                let value = if value == "none" { "no filters" } else { value };
                let said = shown.contains(value) || value == "no filters" && name != "page";
                assert!(said || value.starts_with("by "), "{value} in the {name}");
            }
        }
        assert!(page.contains("Distribution of latency of each stream"));
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let heads = reader.headers().unwrap().clone();
        let at = |name: &str| heads.iter().position(|head| head == name).unwrap();
        let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let trials = || results.cells.iter().flat_map(|cell| &cell.trials);
        let parts = trials().map(|trial| trial.streams.len() + trial.directions.len());
        assert_eq!(lines.len(), parts.sum::<usize>());
        let voice = lines.iter().find(|line| &line[at("name")] == "voice").unwrap();
        let trial = trials().find(|trial| !trial.streams.is_empty()).unwrap();
        let one = &trial.streams[0];
        for (name, value) in [
            ("part", "stream".to_string()),
            ("frame_size_l2_with_fcs", "218".to_string()),
            ("mix", String::new()),
            ("sent_frames", one.sent.to_string()),
            ("received_fps", one.arriving.unwrap().fps.to_string()),
            ("pdv_ns", one.pdv_ns.unwrap().to_string()),
            ("ipdv_min_ns", one.ipdv.unwrap().min_ns.to_string()),
            ("jitter_rfc3550_max_ns", one.jitter_max_ns.unwrap().to_string()),
            ("time_ns", String::new()),
        ] {
            assert_eq!(voice[at(name)], value, "{name}");
        }
        // Of lengths that are drawn the mean of what came, and what they are drawn from.
        let back = lines.iter().find(|line| &line[at("name")] == "back").unwrap();
        assert_eq!(back[at("frame_size_l2_with_fcs")], (12_962.0 / 35.0).to_string());
        assert!(back[at("mix")].starts_with("simple: IMIX - "), "{back:?}");
        let reset = lines.iter().find(|line| &line[at("procedure")] == "reset").unwrap();
        assert_eq!((&reset[at("part")], &reset[at("to_port")]), ("direction", "2"));
        assert!(reset[at("time_ns")].parse::<u64>().unwrap() > 0);
        assert!(reset[at("lost_frames")].parse::<u64>().unwrap() > 0);
    }
}
