//! The run loop: every configuration, device and frame size, the devices by turns where they are
//! compared.
//!
//! ```text
//!  each by itself   linux: ready, highest load, search below it │ wirespeed: ready, highest, search
//!  compared         turn 1: linux, wirespeed │ turn 2: wirespeed, linux │ turn 3: linux, wirespeed │ …
//! ```
//!
//! By turns, whatever the machine does beside it does to all of them. Each device has veth pairs of its
//! own, made alike, and only one is loaded at a time. The order changes with every turn, so that none is
//! always the one after the other. The first device is what the others are compared with. What the
//! numbers say, and which turns say nothing, is [`measure::compare`]'s.

use super::device::{Alone, Cannot, Device, Job, Turn, no_setup, set_up};
use super::wired::Limits;
use super::{BenchError, Kept, Kind, Progress, criterion, is_disturbed, is_repeated};
use measure::result::{Compared, Setup, kind};
use measure::suite_result::TrialRecord;
use measure::trial::Outcome;
use measure::{Comparison, Measured, Row, Trial};
use std::collections::BTreeSet;
use std::ptr;
use std::time::Duration;
use wire::{FrameLen, PacketRate};

/// Measures one configuration of these devices, which take turns if there are several; so do its families.
///
/// # Errors
/// [`BenchError`].
pub(super) fn measure(
    kinds: &[Kind],
    jobs: &[Job<'_>],
    limits: &mut Limits,
    kept: &Kept,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), BenchError> {
    let mut devices = Vec::new();
    for job in jobs {
        for (n, kind) in kinds.iter().enumerate() {
            match set_up(kind, job) {
                Ok(device) => devices.push((job, n, device)),
                Err(Cannot::Failed(error)) => return Err(error),
                Err(Cannot::Omitted(reason)) => {
                    let omitted = Some(reason);
                    let setup = Setup { omitted, ..no_setup(kind.name(), job.configuration) };
                    progress(Progress::Omitted(&setup));
                    kept.setup(setup);
                }
            }
        }
    }
    let sizes_of = |job: &Job<'_>| job.plan.sizes_of(job.configuration);
    let sizes: BTreeSet<FrameLen> = jobs.iter().flat_map(sizes_of).collect();
    for frame in sizes {
        let mut cells = Vec::new();
        let of_size = devices.iter_mut().filter(|(job, ..)| sizes_of(job).contains(&frame));
        for (job, n, device) in of_size {
            let (job, n) = (*job, *n);
            progress(Progress::Begin(device.name(), job.configuration, frame));
            if let Some(alone) = device.ready(job, frame, limits, progress)? {
                let (turns, trials) = (Vec::new(), alone.trials.clone());
                cells.push(Cell { job, n, device: device.as_mut(), alone, turns, trials });
            }
        }
        let turns = jobs.iter().filter_map(|job| job.plan.turns).max();
        for turn in 0..turns.unwrap_or(1).max(1) {
            let mut order: Vec<&mut Cell<'_>> = cells.iter_mut().collect();
            if turn % 2 == 1 {
                order.reverse();
            }
            order.into_iter().try_for_each(Cell::highest)?;
        }
        let of_one_job = cells.chunk_by(|a, b| ptr::eq(a.job, b.job));
        for compared in of_one_job.flat_map(|cells| compared(frame, cells)) {
            kept.compared(compared);
        }
        for cell in cells {
            let row = cell.row(frame)?;
            kept.row(row.clone());
            progress(Progress::Done(&row));
        }
    }
    let setups = devices.into_iter().filter_map(|(_, _, device)| device.finish());
    setups.for_each(|setup| kept.setup(setup));
    Ok(())
}

/// A device with frames of one size.
struct Cell<'a> {
    job: &'a Job<'a>,
    /// Its place among the devices.
    n: usize,
    device: &'a mut dyn Device,
    alone: Alone,
    /// At the highest load.
    turns: Vec<Turn>,
    /// All of them, the tester's own before the others.
    trials: Vec<TrialRecord>,
}

impl Cell<'_> {
    /// A trial at the highest load the tester can offer.
    fn highest(&mut self) -> Result<(), BenchError> {
        let Cell { job, device, trials, .. } = self;
        self.turns.push(repeated(&mut **device, (None, job.plan.duration), trials)?);
        Ok(())
    }

    /// The turn that stands for all: a sound one if there is one, that in the middle.
    fn middle(&mut self) -> Turn {
        let sound = |turn: &Turn| !matches!(turn.ran.trial.outcome, Outcome::Invalid(_));
        self.turns.sort_by(|a, b| rate(a).0.total_cmp(&rate(b).0));
        self.turns.sort_by_key(|turn| !sound(turn));
        let n = match self.turns.iter().filter(|turn| sound(turn)).count() {
            0 => self.turns.len(),
            n => n,
        };
        self.turns.swap_remove((n - 1) / 2)
    }

    fn row(mut self, frame: FrameLen) -> Result<Row, BenchError> {
        let turn = self.middle();
        let Cell { job, device, alone, mut trials, .. } = self;
        let (highest, rate) = (turn.ran.trial, rate(&turn));
        // A search begins at the rate at the highest load: of a machine that is busy there is none.
        let searched = job.plan.turns.is_none() && device.takes_loads() && !is_disturbed(&highest);
        let goal = (job.plan.criterion.as_ref(), job.plan.short());
        let rates = (rate, alone.at_least(rate));
        let met = match searched {
            false => None,
            true => criterion::search(goal, rates, highest, |load, duration| {
                Ok(repeated(&mut *device, (Some(load), duration), &mut trials)?.ran.trial)
            })?,
        };
        let mut row = Measured {
            device: device.name().to_string(),
            mode: job.configuration.mode,
            family: job.configuration.family,
            configuration: job.configuration.name.to_string(),
            frame,
            cores: if job.plan.pair.is_some() { 2 } else { 1 },
            trial: highest,
            router_time: device.tells_time().then_some(turn.ran.worked),
            fast_path_share: turn.fast_path_share,
            wire: device.wire(),
            met,
            tester: if device.is_tester() { Some(rate) } else { alone.rate },
            latency: turn.ran.latency,
            trials,
            medium: device.medium(&turn.cost),
            environment: job.environment.clone(),
        }
        .row();
        let of_size = job.plan.said_of_size(job.configuration, frame);
        let remarks = row.remark.take().into_iter().chain(of_size).chain(device.remark());
        let remarks: Vec<String> = remarks.collect();
        row.remark = (!remarks.is_empty()).then(|| remarks.join("; "));
        Ok(row)
    }
}

/// A trial at this load for so long: once more, a few times at most, if it says nothing.
fn repeated(
    device: &mut dyn Device,
    (load, duration): (Option<PacketRate>, Duration),
    trials: &mut Vec<TrialRecord>,
) -> Result<Turn, BenchError> {
    let kind = if load.is_some() { kind::SEARCH } else { kind::HIGHEST };
    let mut repeats = 0;
    loop {
        let turn = device.trial(load, duration)?;
        trials.push(turn.ran.record(kind, load));
        if !is_repeated(&turn.ran.trial, repeats) {
            return Ok(turn);
        }
        repeats += 1;
    }
}

/// Frames per second; none of a trial that says nothing.
fn rate(turn: &Turn) -> PacketRate {
    turn.ran.trial.forwarding_rate()
}

/// Each device beside the first, where that has a part in it; what one cannot help is no verdict on the
/// other.
fn compared(frame: FrameLen, cells: &[Cell<'_>]) -> Vec<Compared> {
    let Some((base, others)) = cells.split_first().filter(|(base, _)| base.n == 0) else {
        return vec![];
    };
    fn trials<'a>(cell: &'a Cell<'_>) -> impl Iterator<Item = &'a Trial> {
        cell.turns.iter().map(|turn| &turn.ran.trial)
    }
    let fair = |cell: &&Cell<'_>| cell.device.unfair().is_none() && base.device.unfair().is_none();
    let compared = others.iter().filter(fair).map(|cell| Compared {
        mode: cell.job.configuration.mode,
        family: cell.job.configuration.family,
        configuration: cell.job.configuration.name.to_string(),
        frame_size: frame.l2(),
        base: base.device.name().to_string(),
        device: cell.device.name().to_string(),
        comparison: Comparison::of_trials(trials(base).zip(trials(cell))),
    });
    compared.collect()
}
