//! Running a procedure, and what it found in figures: each named by its criterion.
//!
//! ```text
//!  Procedure (of a plan) ─► measure::procedure, trial by trial ─► figures, remarks, loss, latencies
//! ```
//!
//! Never knows which device it is, nor where.

use super::plan::{Criterion, Procedure, Traffic};
use measure::latency_histogram::LatencyHistogram;
use measure::mlrsearch::MlrSearch;
use measure::procedure::again::{self, Again, Seen};
use measure::procedure::back_to_back::{self, BackToBack, Bursts};
use measure::procedure::bisect::Bound;
use measure::procedure::bridge;
use measure::procedure::connections::{self, Capacity};
use measure::procedure::frame_loss::{self, LossPoint};
use measure::procedure::latency::{self, Latency};
use measure::procedure::recovery::{self, Recovery};
use measure::procedure::throughput::{self, Bisection, Throughput};
use measure::procedure::variation::{self, DelayVariation};
use measure::procedure::{Run, Stop, TrialInput, Tried};
use measure::result::Limit;
use measure::suite_result::{Figure, TesterAlone, limit};
use measure::trial::Outcome;
use std::time::Duration;
use wire::PacketRate;

/// What a procedure found, before it is a cell.
#[derive(Default)]
pub(super) struct Finding {
    pub(super) figures: Vec<Figure>,
    pub(super) limited_by: Option<Limit>,
    pub(super) remarks: Vec<String>,
    pub(super) points: Vec<LossPoint>,
    pub(super) histogram: Vec<(u64, u64)>,
}

impl Finding {
    pub(super) fn of(figures: impl IntoIterator<Item = Figure>) -> Finding {
        Finding { figures: figures.into_iter().collect(), ..Finding::default() }
    }

    pub(super) fn remark(mut self, when: bool, text: impl Into<String>) -> Finding {
        if when {
            self.remarks.push(text.into());
        }
        self
    }

    /// Says how many repetitions said nothing, or lost frames.
    fn repetitions(self, invalid: u32, lossy: u32) -> Finding {
        self.remark(invalid > 0, format!("{invalid} repetitions invalid"))
            .remark(lossy > 0, format!("{lossy} repetitions lost frames"))
    }
}

/// What procedures of one size know of each other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// The throughput found before, for those that want it.
    pub(super) rate: Option<PacketRate>,
    /// What frame loss trials saw before, and how long they were.
    pub(super) seen: (Seen, Duration),
    /// Whether the procedure under way comes before its turn in the plan.
    pub(super) is_early: bool,
}

/// Runs a procedure.
pub(super) fn find(
    run: &mut Run<'_>,
    procedure: &Procedure,
    (wire, simulated, traffic): (PacketRate, bool, Traffic),
    alone: &TesterAlone,
    known: &mut Known,
) -> Result<Finding, Stop> {
    let Known { rate, seen, .. } = known;
    let mol = PacketRate(alone.rate.min(wire.0));
    // What the wires of those who receive carry, of each who sends.
    let carried = PacketRate(wire.0 * traffic.share());
    // Simulated wires are the limit there is: no tester is.
    let most_fps = PacketRate(if simulated { f64::INFINITY } else { alone.rate });
    let load = rate.unwrap_or_default();
    if rate.is_none() && procedure.builds_on().is_some() {
        let why = "no throughput was found that this could be measured at";
        return Ok(Finding::default().remark(true, why));
    }
    Ok(match procedure {
        Procedure::Throughput { criteria, trial, confirmation, precision, lowest, highest } => {
            let (lowest, highest) = (lowest.of(wire), highest.of(wire));
            let most = PacketRate(mol.0.min(carried.0));
            let bounds = (lowest, PacketRate(highest.0.min(most.0)));
            if bounds.0.0 >= bounds.1.0 {
                let why = format!(
                    "not searched: the plan tries nothing below {lowest} (`lowest`), and {most} is \
                     all that can be sent"
                );
                return Ok(Finding::default().remark(true, why));
            }
            let lengths = (*trial, *confirmation);
            let seen = if seen.1 >= *confirmation { seen.0 } else { Seen::default() };
            let found = throughputs(run, criteria, lengths, *precision, bounds, &seen)?;
            let (found, again): (Vec<Throughput>, Vec<Option<Again>>) = found.into_iter().unzip();
            // The first criterion's is what the other procedures are run at.
            *rate = found.first().and_then(|first| first.rate);
            let by_plan = highest.0 < 0.999 * most.0;
            let mut finding = of_throughputs(&found, carried, most_fps, by_plan);
            for one in found.iter().filter(|one| one.rate.is_none() && !one.disturbed) {
                finding.remarks.push(format!("{}: nothing below {lowest} was tried", one.metric));
            }
            finding.remarks.extend(found.iter().filter_map(|one| held(&run.journal, one)));
            for (one, again) in found.iter().zip(again) {
                finding.remarks.extend(again.map(|again| format!("{}: {again}", one.metric)));
            }
            finding
        }
        Procedure::Latency(plan @ Latency { duration, after, tagged, repetitions }) => {
            let found = latency::latency(run, load, plan)?;
            let (long, way) = (duration.as_secs_f64(), worst_of(found.directions));
            let mut figures = vec![Figure::of("load", Some(load.0), "fps")];
            if *tagged == 1 {
                let name = format!("latency[rfc2544 {long}s {repetitions}x{way}]");
                figures.push(Figure::spread(name, found.tagged, |s| s.mean, "ns"));
            } else {
                let each = found.tagged_each;
                let name =
                    |what| format!("{what}[rfc8219 {each} tagged {long}s {repetitions}x{way}]");
                figures.push(Figure::spread(name("TL"), found.typical, |s| s.median, "ns"));
                figures.push(Figure::spread(name("WCL"), found.worst, |s| s.median, "ns"));
            }
            if let Some(all) = &found.all {
                for (name, quantile) in
                    [("all frames p50", 0.5), ("all frames p99", 0.99), ("all frames p99.9", 0.999)]
                {
                    let ns = all.at_quantile(quantile) as f64;
                    figures.push(Figure::of(name, Some(ns), "ns"));
                }
                figures.push(Figure::of("all frames max", Some(all.max() as f64), "ns"));
            }
            let histogram = found.all.as_ref().map_or(vec![], LatencyHistogram::buckets);
            let floor = alone.latency_floor_ns;
            let (each, left) = (found.tagged_each, duration.saturating_sub(*after).as_secs_f64());
            let fewer = format!(
                "{each} frames are tagged of {tagged}: at {:.0} fps no more are sent in the last {left} s",
                load.0
            );
            Finding { histogram, ..Finding::of(figures) }
                .remark(each < *tagged, fewer)
                .remark(found.tagged_lost > 0, format!("{} tagged frames lost", found.tagged_lost))
                .repetitions(found.invalid, found.lossy)
                // Of simulated wires there is none.
                .remark(!simulated && floor > 0, format!("the tester alone sees {floor} ns"))
        }
        Procedure::DelayVariation(plan @ DelayVariation { duration, repetitions }) => {
            let found = variation::variation(run, load, plan)?;
            let (long, way) = (duration.as_secs_f64(), worst_of(found.directions));
            let name = |what| format!("{what}[rfc8219 {long}s {repetitions}x{way}]");
            let histogram = found.all.as_ref().map_or(vec![], LatencyHistogram::buckets);
            let finding = Finding::of([
                Figure::of("load", Some(load.0), "fps"),
                Figure::spread(name("PDV"), found.pdv, |s| s.median, "ns"),
                Figure::spread(name("IPDV min"), found.ipdv_min, |s| s.median, "ns"),
                Figure::spread(name("IPDV median"), found.ipdv_median, |s| s.median, "ns"),
                Figure::spread(name("IPDV max"), found.ipdv_max, |s| s.median, "ns"),
            ]);
            Finding { histogram, ..finding }.repetitions(found.invalid, found.lossy)
        }
        Procedure::FrameLoss(plan) => {
            let points = frame_loss::frame_loss(run, wire, plan)?;
            *seen = (Seen::of(&points), plan.duration);
            let free = points.iter().filter(|p| p.lost == 0 && !p.invalid);
            let free = free.map(|point| point.load_percent).reduce(f64::max);
            let at_most = points.first().filter(|p| !p.invalid).map(|p| p.loss_percent);
            let invalid = points.iter().filter(|point| point.invalid).count();
            let figures = [
                Figure::of("loss at 100% of the wire", at_most, "%"),
                Figure::of("highest load without loss", free, "%"),
            ];
            let odd = odd_losses(&points);
            let mut finding = Finding { points, ..Finding::of(figures) };
            finding.remarks.extend(odd);
            finding.remark(
                invalid > 0,
                format!(
                    "{invalid} of the loads stayed invalid: the tester fell short, or was disturbed"
                ),
            )
        }
        Procedure::BackToBack(plan) => {
            of_bursts(&back_to_back::back_to_back(run, (wire, load), plan)?, plan)
        }
        Procedure::Recovery(plan @ Recovery { overload, repetitions, .. }) => {
            let found = recovery::recovery(run, (load, mol), plan)?;
            let can_be = load.0 < 0.999 * mol.0;
            let name =
                format!("recovery[rfc2544 {}s overload {repetitions}x]", overload.as_secs_f64());
            let never = "times it had not recovered when watching ended";
            Finding::of([
                Figure::spread(name, found.times, |s| s.mean, "ns"),
                // A load that the wire carries, and the device too, is none.
                Figure::of("overload", can_be.then_some(found.load.0), "fps"),
            ])
            .repetitions(found.invalid, 0)
            .remark(found.never > 0, format!("{} {never}", found.never))
            .remark(
                found.unharmed > 0 && can_be,
                format!(
                    "{} repetitions lost nothing at 110 % of the throughput: there was nothing to \
                     recover from",
                    found.unharmed
                ),
            )
            .remark(!can_be, "no recovery test: the device forwards everything the wire, or the tester, can send")
        }
        Procedure::Reset { before, watch, repetitions } => {
            let found = recovery::reset(run, load, *before, *watch, *repetitions)?;
            Finding::of([Figure::spread(
                format!("reset[rfc6201 software {repetitions}x]"),
                found.times,
                |s| s.mean,
                "ns",
            )])
            .repetitions(found.invalid, 0)
            .remark(found.never > 0, format!("{} times it did not come back", found.never))
        }
        Procedure::Forwarding { duration } => {
            let most = PacketRate(mol.0.min(carried.0));
            let found = bridge::forwarding(run, most, *rate, *duration)?;
            // Whether all ports send is what such a figure is of.
            let (seconds, ports) = (duration.as_secs_f64(), traffic.distribution());
            let name = |what: &str| format!("{what}[rfc2889 {seconds}s, {ports}]");
            let finding = Finding::of([
                Figure::of("MOL (this tester's, from each port)", Some(found.mol), "fps"),
                Figure::of(name("FRMOL"), Some(found.frmol), "fps in all"),
                Figure::of(name("MFR"), Some(found.mfr), "fps in all"),
                Figure::of("load at MFR", Some(found.mfr_load), "fps"),
            ]);
            finding
                .remark(found.tester_limited, "the tester fell short in some trials")
                .remark(
                    traffic.share() < 1.0,
                    format!(
                        "no load is tried of which the one port's wire could not carry all: from each {:.1} \
                         % of a wire at most",
                        100.0 * traffic.share()
                    ),
                )
                .remark(found.frmol < 0.95 * found.mfr, "it forwards less the more is offered")
        }
        Procedure::Congestion { duration } => {
            let found = bridge::congestion(run, (mol, wire), *duration)?;
            let (excess, buffered) = (found.excess_percent, found.buffered);
            Finding::of([
                Figure::of("loss to the free port", Some(found.uncongested_loss_percent), "%"),
                Figure::of("loss to the congested port", Some(found.congested_loss_percent), "%"),
            ])
            .remark(found.head_of_line_blocking, "head-of-line blocking, or overload")
            .remark(found.back_pressure, "back pressure")
            .remark(
                buffered > 0 && !found.invalid,
                format!(
                    "buffered: the trial is too short to show it; {excess:.1} % of what is offered \
                     to the congested port is more than it carries, and {buffered} frames of that \
                     waited"
                ),
            )
            .remark(found.invalid, "invalid: the tester fell short")
        }
        Procedure::AddressCaching { most, rate } => {
            let rate = &PacketRate(rate.0.min(mol.0));
            let found = bridge::address_caching(run, *most, *rate)?;
            let at_least = found.bound == Bound::Highest;
            let name = format!("address caching capacity[rfc2889 learned at {}/s]", rate.0);
            let finding = Finding::of([Figure::of(name, found.best, "addresses")]);
            searched(finding, found.bound, (Some(*rate), wire, most_fps))
                .remark(at_least, format!("at least: no more than {most} were tried"))
        }
        Procedure::AddressLearning { addresses, precision } => {
            let bounds = (PacketRate(100.0), mol);
            let found = bridge::address_learning(run, *addresses, bounds, *precision)?;
            let name = format!("address learning rate[rfc2889 {addresses} addresses]");
            let finding = Finding::of([Figure::of(name, found.best, "/s")]);
            searched(finding, found.bound, (found.best.map(PacketRate), wire, most_fps))
                .remark(found.bound == Bound::Highest, "at least: the tester shows no more")
        }
        Procedure::Broadcast { duration, precision } => {
            let bounds = (mol * 0.001, mol);
            let found = bridge::broadcast(run, bounds, *precision, *duration)?;
            let name = format!("broadcast throughput[rfc2889 {}s 0 loss]", duration.as_secs_f64());
            let finding = Finding::of([Figure::of(name, found.best, "fps")]);
            searched(finding, found.bound, (found.best.map(PacketRate), wire, most_fps))
        }
        Procedure::Establishment(plan) => {
            let found = connections::establishment(run, (mol * 0.0001, mol), plan)?;
            let n = plan.connections;
            let name = format!("maximum connection establishment rate[rfc9693 {n} connections]");
            let figure = Figure::of(name, found.best, "/s");
            let rate = found.best.map(PacketRate);
            searched(Finding::of([figure]), found.bound, (rate, wire, most_fps))
                .remark(found.bound == Bound::Highest, "at least: the tester offers no more")
        }
        Procedure::TearDown { connections, repetitions } => {
            let found = match connections::tear_down(run, *connections, *repetitions) {
                // Not the end of the suite: time there does not run while a command does.
                Err(Stop::Broken(why)) => return Ok(Finding::default().remark(true, why)),
                found => found?,
            };
            let name = format!(
                "connection tear-down rate[rfc9693 {connections} connections {repetitions}x]"
            );
            Finding::of([Figure::spread(name, found, |s| s.median, "/s")])
        }
        Procedure::Capacity(plan @ Capacity { most, rate, error, .. }) => {
            let plan = Capacity { rate: PacketRate(rate.0.min(mol.0)), ..*plan };
            let (found, at) = connections::capacity(run, &plan)?;
            let name = format!("connection table capacity[rfc9693 within {error}]");
            let finding = Finding::of([
                Figure::of(name, found.connections.map(|n| n as f64), "connections"),
                Figure::of("establishment rate at it", at.map(|rate| rate.0), "/s"),
            ]);
            searched(finding, found.bound, (at, wire, most_fps)).remark(
                found.bound == Bound::Highest,
                format!("at least: no more than {most} were tried"),
            )
        }
        Procedure::Tcp(_) | Procedure::Streams(_) => unreachable!("found elsewhere"),
    })
}

/// Losses that do not grow with the load, and a search that ended without the two loads in a row that
/// lose nothing (RFC 2544 §26.3).
fn odd_losses(points: &[LossPoint]) -> Vec<String> {
    let valid: Vec<&LossPoint> = points.iter().filter(|point| !point.invalid).collect();
    let Some(free) = valid.iter().position(|point| point.lost == 0) else { return vec![] };
    let mut odd = vec![];
    let below = valid[free..].iter().filter(|point| point.lost > 0);
    if let Some(worst) = below.max_by(|a, b| a.loss_percent.total_cmp(&b.loss_percent)) {
        odd.push(format!(
            "it lost nothing at {} % of the wire, and {:.3} % at {} %, which is less",
            valid[free].load_percent, worst.loss_percent, worst.load_percent
        ));
    }
    if !matches!(points, [.., a, b] if [a, b].iter().all(|point| !point.invalid && point.lost == 0))
    {
        odd.push("no two loads in a row were free of loss (RFC 2544 §26.3)".to_string());
    }
    odd
}

/// What names say of figures of several directions.
fn worst_of(directions: usize) -> &'static str {
    if directions > 1 { " worst direction" } else { "" }
}

/// What is to be said of a throughput whose frames came for longer than they were sent, by more than a
/// tenth: the device held them, and a longer trial has it forward less (RFC 2544 §24).
fn held(journal: &[Tried], found: &Throughput) -> Option<String> {
    let rate = found.rate?;
    let passed = journal.iter().rev().find_map(|tried| match tried.input {
        TrialInput::Steady { load, duration, .. }
            if load == rate && tried.output.trial.outcome == Outcome::Pass =>
        {
            Some((tried.output.arriving?.as_secs_f64(), duration.as_secs_f64()))
        }
        _ => None,
    });
    let (came, sent) = passed.filter(|(came, sent)| *came > 1.1 * sent)?;
    Some(format!(
        "{}: frames came for {came:.3} s that were sent in {sent} s: the device held them, and forwards \
         less than that for longer",
        found.metric
    ))
}

/// What kept a search from a better figure, which took frames at such a rate from one port: a
/// connection, or an address, is one frame. The tester alone sends `most`, and what has not 1.2 times
/// that much above it is not said to be the device's.
fn searched(
    finding: Finding,
    bound: Bound,
    (rate, wire, most): (Option<PacketRate>, PacketRate, PacketRate),
) -> Finding {
    let rate = rate.unwrap_or_default();
    let limited_by = match bound {
        Bound::Highest => None,
        Bound::Tester => Some(Limit::Tester),
        Bound::Loss | Bound::TrialsSpent => Some(limit(rate, wire, most, false)),
    };
    let times = most.0 / rate.0;
    let of_tester = limited_by == Some(Limit::Tester) && bound != Bound::Tester;
    Finding { limited_by, ..finding }.remark(
        of_tester,
        format!("tester-limited, the tester alone sends {times:.2} times as many frames"),
    )
}

fn throughputs(
    run: &mut Run<'_>,
    criteria: &[Criterion],
    (trial, confirmation): (Duration, Duration),
    precision: f64,
    (lowest, highest): (PacketRate, PacketRate),
    seen: &Seen,
) -> Result<Vec<(Throughput, Option<Again>)>, Stop> {
    let goals = criteria.iter().filter_map(|criterion| match criterion {
        Criterion::Goal(goal) => Some(goal.clone()),
        _ => None,
    });
    let goals: Vec<_> = goals.collect();
    let mut by_goal = vec![];
    if !goals.is_empty() {
        let warm_up = trial.min(Duration::from_secs(1));
        let search = MlrSearch { goals, lowest, highest, warm_up, ..MlrSearch::default() };
        throughput::check(&search).map_err(|bad| Stop::Broken(bad.to_string()))?;
        by_goal = throughput::goals(run, &search)?;
    }
    let mut by_goal = by_goal.into_iter();
    let mut found = vec![];
    for criterion in criteria {
        let search = Bisection { lowest, highest, precision, trial, confirmation, verify: 0 };
        found.extend(match criterion {
            Criterion::Bisection => Some(again::contradicted(run, &search, seen)?),
            Criterion::Verified(verify) => {
                let search = Bisection { verify: *verify, ..search };
                Some(again::contradicted(run, &search, seen)?)
            }
            Criterion::Goal(_) => by_goal.next().map(|found| (found, None)),
        });
    }
    Ok(found)
}

/// `by_plan`: no load that the wire and the tester could have done was left out but by the plan.
fn of_throughputs(
    found: &[Throughput],
    wire: PacketRate,
    mol: PacketRate,
    by_plan: bool,
) -> Finding {
    let mut finding = Finding::default();
    for one in found {
        finding.figures.push(Figure::of(&one.metric, one.rate.map(|rate| rate.0), "fps"));
        let by_tester = one.bound == Bound::Tester;
        let rate = one.rate.unwrap_or_default();
        // Of a goal that allows loss by what comes through: a load that is the wire's may lose a fifth.
        let forwarded = one.conditional.unwrap_or(rate);
        let limited = match limit(forwarded, wire, mol, by_tester) {
            Limit::Device if one.bound == Bound::Highest && by_plan => Limit::Plan,
            limited => limited,
        };
        finding.limited_by.get_or_insert(limited);
        if let Some(figure) = finding.figures.last_mut().filter(|figure| figure.value.is_some()) {
            figure.limited_by = Some(limited);
        }
        if limited == Limit::Plan {
            let why = "at least: the plan tries nothing higher (`highest`)";
            finding.remarks.push(format!("{}: {why}", one.metric));
        }
        if one.rate.is_none() {
            finding.remarks.push(format!("{}: no load met it", one.metric));
        }
        if one.bound == Bound::TrialsSpent {
            finding.remarks.push(format!("{}: the search ended before it was close", one.metric));
        }
        if one.disturbed {
            let why = "the search ended early, with what had passed by then: the machine was so \
                       busy that trials stayed disturbed";
            finding.remarks.push(format!("{}: {why}", one.metric));
        } else if by_tester {
            let why = "higher loads were beyond the tester: trials stayed invalid";
            finding.remarks.push(format!("{}: {why}", one.metric));
        } else if limited == Limit::Tester && one.rate.is_some() {
            let headroom = mol.0 / rate.0;
            finding.remarks.push(format!(
                "{}: tester-limited, the tester alone does {headroom:.2} times this",
                one.metric
            ));
        }
    }
    // Of a goal (RFC 9971) also what is to stand beside the relevant lower bound.
    for one in found.iter().filter(|one| one.conditional.is_some()) {
        for (what, rate) in [("upper bound", one.above), ("conditional", one.conditional)] {
            let name = format!("{what} {}", one.metric);
            finding.figures.extend(rate.map(|rate| Figure::of(name, Some(rate.0), "fps")));
        }
        if !one.regular {
            // A load that the wire, or the plan, does not have cannot be the upper bound.
            let why = match one.above {
                None if one.bound == Bound::Highest => {
                    "irregular (RFC 9971): the highest load met it, no upper bound can be"
                }
                _ => "irregular (RFC 9971): the bounds are not as close as was asked for",
            };
            finding.remarks.push(format!("{}: {why}", one.metric));
        }
    }
    finding
}

fn of_bursts(found: &Bursts, plan: &BackToBack) -> Finding {
    let name = |what: &str| {
        format!(
            "{what}[rfc9004 {}x, step {}, verified {}x]",
            plan.repetitions, plan.step, plan.verify
        )
    };
    match *found {
        Bursts::NotApplicable => Finding::of([Figure::of(name("back-to-back"), None, "frames")])
            .remark(true, "not applicable: the throughput is the wire's rate (RFC 9004 §4)"),
        Bursts::AtLimit { frames } => {
            Finding::of([Figure::of(name("back-to-back"), None, "frames")]).remark(
                true,
                format!("no result: a burst of {frames} frames, the limit, was forwarded"),
            )
        }
        Bursts::None { tester, disturbed } => {
            let why = match (tester, disturbed) {
                (_, true) => "the machine was so busy that trials stayed disturbed",
                (true, _) => "the tester cannot send bursts at the wire's rate",
                (false, _) => "no burst was forwarded whole",
            };
            Finding::of([Figure::of(name("back-to-back"), None, "frames")])
                .remark(true, format!("no result: {why}"))
        }
        Bursts::Found { frames, implied_buffer_s, corrected_buffer_s, transient } => Finding::of([
            Figure::spread(name("back-to-back"), Some(frames), |s| s.mean, "frames"),
            Figure::of("implied buffer time", Some(implied_buffer_s * 1e9), "ns"),
            Figure::of("corrected buffer time", Some(corrected_buffer_s * 1e9), "ns"),
        ])
        .remark(transient > 0, format!("{transient} losses were not there when asked again")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A goal that allows a fifth to be lost is met at the wire's rate: what comes through is not that.
    #[test]
    fn wire_speed_is_of_what_comes_through() {
        let (wire, tester) = (PacketRate(1e6), PacketRate(f64::INFINITY));
        for (conditional, limited) in
            [(None, Limit::Wire), (Some(0.9999e6), Limit::Wire), (Some(0.824e6), Limit::Device)]
        {
            let found = Throughput {
                metric: "throughput[goal]".to_string(),
                rate: Some(wire),
                above: None,
                conditional: conditional.map(PacketRate),
                bound: Bound::Highest,
                regular: false,
                disturbed: false,
            };
            let finding = of_throughputs(&[found], wire, tester, false);
            assert_eq!(finding.limited_by, Some(limited), "{conditional:?}");
            assert_eq!(finding.figures[0].limited_by, Some(limited), "{conditional:?}");
        }
    }

    #[test]
    fn losses_that_do_not_grow_with_the_load() {
        for (lost, inverted, two) in [
            (&[30, 0, 0][..], false, true),
            (&[0, 39, 0, 0], true, true),
            (&[40, 0, 39, 0, 4], true, false),
            (&[40, 0], false, false),
            (&[40, 30], false, true),
        ] {
            let points = lost.iter().enumerate().map(|(n, lost)| LossPoint {
                load_percent: 100.0 - 10.0 * n as f64,
                load: 100.0,
                loss_percent: *lost as f64,
                sent: 100,
                lost: *lost,
                invalid: false,
            });
            let odd = odd_losses(&points.collect::<Vec<_>>());
            let says = |what: &str| odd.iter().any(|one| one.contains(what));
            assert_eq!(says("which is less"), inverted, "{lost:?}: {odd:?}");
            assert_eq!(says("no two loads"), !two, "{lost:?}: {odd:?}");
        }
    }

    /// The rule of 1.2 times holds of whatever frames carry.
    #[test]
    fn searches_and_their_testers() {
        let wire = 1e6;
        for (bound, rate, most, expected) in [
            (Bound::Loss, 1e5, 2e5, Some(Limit::Device)),
            (Bound::Loss, 1e5, 1.19e5, Some(Limit::Tester)),
            (Bound::TrialsSpent, 1e5, 1.19e5, Some(Limit::Tester)),
            (Bound::Loss, 1e5, 1.2e5, Some(Limit::Device)),
            (Bound::Tester, 1e5, 2e5, Some(Limit::Tester)),
            (Bound::Highest, 1e5, 1e5, None),
            // Of simulated wires there is no tester.
            (Bound::Loss, 9e5, f64::INFINITY, Some(Limit::Device)),
            (Bound::Loss, 1e6, f64::INFINITY, Some(Limit::Wire)),
        ] {
            let rates = (Some(PacketRate(rate)), PacketRate(wire), PacketRate(most));
            let found = searched(Finding::default(), bound, rates);
            assert_eq!(found.limited_by, expected, "{bound:?} {rate} {most}");
            let told = found.remarks.iter().any(|remark| remark.starts_with("tester-limited"));
            let by_headroom = expected == Some(Limit::Tester) && bound != Bound::Tester;
            assert_eq!(told, by_headroom, "{bound:?} {rate} {most}");
        }
        let none = (None, PacketRate(wire), PacketRate(1e5));
        assert_eq!(searched(Finding::default(), Bound::Loss, none).limited_by, Some(Limit::Device));
    }
}
