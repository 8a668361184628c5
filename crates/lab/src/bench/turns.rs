//! Devices by turns: a trial of each, then of each again, so that whatever the machine does beside
//! it does to all of them.
//!
//! ```text
//!  turn 1: linux, wirespeed │ turn 2: wirespeed, linux │ turn 3: linux, wirespeed │ …
//! ```
//!
//! Each device has veth pairs of its own, made alike, and only one is loaded at a time. The order
//! changes with every turn, so that none is always the one after the other. The first device is
//! what the others are compared with. What the numbers say, and which turns say nothing, is
//! [`measure::compare`]'s.

use super::wired::{Alone, Job, Limits, Turn, WiredTestbed, set_up};
use super::{BenchError, Kept, Progress};
use measure::result::Compared;
use measure::trial::Outcome;
use measure::{Comparison, Trial};
use wire::FrameLen;

/// Measures one configuration of all devices by turns.
///
/// # Errors
/// [`BenchError`].
pub(super) fn measure(
    job: &Job<'_>,
    limits: &mut Limits,
    kept: &Kept,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), BenchError> {
    let mut stands = Vec::new();
    for kind in &job.plan.devices {
        stands.extend(set_up(kind, job, kept, progress)?);
    }
    for &frame in &job.plan.sizes {
        if stands.is_empty() {
            break;
        }
        let alone = limits.of(job, frame)?;
        cell(job, frame, alone, &mut stands, kept, progress)?;
    }
    stands.into_iter().for_each(|stand| kept.setup(stand.finish()));
    Ok(())
}

fn cell(
    job: &Job<'_>,
    frame: FrameLen,
    alone: &Alone,
    stands: &mut [WiredTestbed],
    kept: &Kept,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), BenchError> {
    let n_turns = job.plan.turns.unwrap_or(1).max(1);
    // One that loses frames before it is measured takes no part; without the first there is nothing
    // to compare with.
    let (mut there, mut has_base) = (Vec::new(), true);
    for (i, stand) in stands.iter_mut().enumerate() {
        progress(Progress::Begin(stand.name(), job.configuration, frame));
        match stand.is_ready(job, frame, progress)? {
            true => there.push(stand),
            false => has_base &= i > 0,
        }
    }
    let mut stands = there;
    let mut turns: Vec<Vec<Turn>> = stands.iter().map(|_| Vec::new()).collect();
    for turn in 0..n_turns {
        let mut order: Vec<usize> = (0..stands.len()).collect();
        if turn % 2 == 1 {
            order.reverse();
        }
        for i in order {
            turns[i].push(stands[i].highest()?);
        }
    }
    let trials: Vec<Vec<&Trial>> =
        turns.iter().map(|turns| turns.iter().map(|turn| &turn.ran.trial).collect()).collect();
    for (i, stand) in stands.iter().enumerate().skip(1).filter(|_| has_base) {
        // What one cannot help is no verdict on the other.
        if !(stand.is_fair() && stands[0].is_fair()) {
            continue;
        }
        let pairs = trials[0].iter().copied().zip(trials[i].iter().copied());
        kept.compared(Compared {
            mode: job.configuration.mode,
            configuration: job.configuration.name.to_string(),
            frame_size: frame.l2(),
            base: stands[0].name().to_string(),
            device: stand.name().to_string(),
            comparison: Comparison::of_trials(pairs),
        });
    }
    for (stand, mut turns) in stands.iter().zip(turns) {
        turns.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        // A sound trial if there is one: the one in the middle.
        turns.sort_by_key(|turn| matches!(turn.ran.trial.outcome, Outcome::Invalid(_)));
        let sound = |turn: &&Turn| !matches!(turn.ran.trial.outcome, Outcome::Invalid(_));
        let n_sound = turns.iter().filter(sound).count();
        let n = if n_sound > 0 { n_sound } else { turns.len() };
        let turn = &turns[(n - 1) / 2];
        let row = stand.row(job, frame, turn, alone, None);
        kept.row(row.clone());
        progress(Progress::Done(&row));
    }
    Ok(())
}

/// Frames per second; none of a trial that says nothing.
fn rate(turn: &Turn) -> f64 {
    turn.ran.trial.forwarding_rate().0
}
