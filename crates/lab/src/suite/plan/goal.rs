//! Search Goals of one's own (RFC 9971 §4.6), beside the presets that have names.
//!
//! ```text
//!  [[goal]]                                  [[procedure]]
//!  name = "voice"                            kind = "throughput"
//!  loss-ratio = "0.1%"                       criteria = ["voice", "csit-ndr"]
//!  exceed-ratio = "25%"
//!  final-trial = "2s"
//!  duration-sum = "40s"    ─► throughput[voice 2s/40s 0.1% exceed 25%]
//! ```
//!
//! What is not said is the preset `rfc2544`'s: no loss, one trial of 60 seconds, bounds 0.5 % apart.

use super::BadPlan;
use super::reader::{ProcedureTable, or};
use super::value::{Number, Source};
use measure::mlrsearch::Goal;
use serde::Deserialize;
use toml::Spanned;

/// A goal as it stands in the plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct GoalTable {
    name: Spanned<String>,
    loss_ratio: Option<Spanned<Number>>,
    exceed_ratio: Option<Spanned<Number>>,
    width: Option<Spanned<Number>>,
    initial_trial: Option<Spanned<String>>,
    final_trial: Option<Spanned<String>>,
    duration_sum: Option<Spanned<String>>,
}

/// Reads a plan's goals.
///
/// # Errors
/// [`BadPlan`]: a goal makes no sense, its name is taken, or no procedure asks for it.
pub(super) fn goals(
    source: Source<'_>,
    tables: &[Spanned<GoalTable>],
    procedures: &Spanned<Vec<Spanned<ProcedureTable>>>,
) -> Result<Vec<Goal>, BadPlan> {
    let mut goals: Vec<Goal> = vec![];
    for table in tables {
        let goal = read(source, table.get_ref())?;
        let name = &table.get_ref().name;
        goal.check().map_err(|bad| source.bad(name, bad.to_string()))?;
        let taken = ["bisection", "verified"].contains(&goal.preset.as_str())
            || Goal::preset(&goal.preset).is_some()
            || goals.iter().any(|other| other.preset == goal.preset);
        if taken {
            return Err(source.bad(name, format!("{:?} has another meaning already", goal.preset)));
        }
        let asks = |procedure: &Spanned<ProcedureTable>| {
            let criteria = procedure.get_ref().criteria.as_ref();
            criteria
                .is_some_and(|all| all.get_ref().iter().any(|one| *one.get_ref() == goal.preset))
        };
        if !procedures.get_ref().iter().any(asks) {
            let why = format!("no throughput has {:?} among its criteria", goal.preset);
            return Err(source.bad(name, why));
        }
        goals.push(goal);
    }
    Ok(goals)
}

fn read(source: Source<'_>, table: &GoalTable) -> Result<Goal, BadPlan> {
    let name = table.name.get_ref();
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || !name.chars().all(is_word) {
        let why = format!("{name:?} is no name: letters, digits, and any of - _ .");
        return Err(source.bad(&table.name, why));
    }
    let like = Goal::rfc2544();
    let share = |value: &Spanned<Number>| match value.get_ref().share() {
        Some(0.0) => Ok(0.0),
        _ => source.share(value, "a ratio"),
    };
    let ratio = |value, otherwise| or(value, otherwise, share);
    let time = |value, otherwise| or(value, otherwise, |it| source.trial(it));
    // The last trials are not longer than all of them together, nor are the first than the last.
    let duration_sum = time(&table.duration_sum, like.duration_sum)?;
    let final_trial = time(&table.final_trial, like.final_trial.min(duration_sum))?;
    let initial_trial = time(&table.initial_trial, like.initial_trial.min(final_trial))?;
    Ok(Goal {
        preset: name.clone(),
        loss_ratio: ratio(&table.loss_ratio, like.loss_ratio)?,
        exceed_ratio: ratio(&table.exceed_ratio, like.exceed_ratio)?,
        width: ratio(&table.width, like.width)?,
        initial_trial,
        final_trial,
        duration_sum,
        ..like
    })
}
