//! Trials that are not plainly good or bad: frames that came otherwise than once, whole and in their
//! order, and trials that say nothing.
//!
//! ```text
//!   configuration  byte  procedure   trials  invalid  duplicate  reordered  wrong size
//!   none             64  throughput      14        2         12   3 (by 2)           0
//!   none 64 byte, throughput: 2 invalid: 2 like this: the tester's own receive ring lost 7 frames
//! ```
//!
//! Sums over all trials of a cell. Gaps and foreign frames stand beside the others, and are no reason
//! for a line of their own: where frames are lost are gaps, and devices send their own.

use super::{short, time};
use crate::document::Table;
use measure::suite_result::{Cell, SuiteResults, TrialRecord, total};

/// What is counted of a trial.
type Count = (&'static str, fn(&TrialRecord) -> u64);

/// Each is a reason for a line.
const FAULTS: [Count; 7] = [
    ("duplicate", |trial| trial.duplicate),
    ("reordered", |trial| trial.reordered),
    ("wrong size", |trial| trial.wrong_size),
    ("bad checksum", TrialRecord::bad_checksum),
    // Of replays, of whose frames nobody knows what of them is a checksum.
    ("altered", TrialRecord::altered),
    ("too late", |trial| trial.stale),
    ("own ring full", |trial| trial.tester_rx_drop),
];

/// These are not.
const BESIDE: [Count; 2] = [("gaps", |trial| trial.gaps), ("foreign", |trial| trial.foreign)];

fn sum(cell: &Cell, (_, of): &Count) -> u64 {
    total(cell.trials.iter().map(of))
}

fn invalid(cell: &Cell) -> usize {
    cell.trials.iter().filter(|trial| !trial.is_valid()).count()
}

fn is_shown(cell: &&Cell) -> bool {
    invalid(cell) > 0 || FAULTS.iter().any(|fault| sum(cell, fault) > 0)
}

/// A line for each cell with something to say. Faults that no frame has have no column.
pub(crate) fn counted(results: &SuiteResults) -> Table {
    let cells: Vec<&Cell> = results.cells.iter().filter(is_shown).collect();
    let seen = |count: &&Count| cells.iter().any(|cell| sum(cell, count) > 0);
    let counts: Vec<&Count> = FAULTS.iter().chain(&BESIDE).filter(seen).collect();
    let heads = ["configuration", "byte", "procedure", "trials", "invalid"].into_iter();
    let mut table = Table::new(1, heads.chain(counts.iter().map(|(name, _)| *name)));
    for cell in cells {
        let place = [
            cell.configuration.clone(),
            cell.size().to_string(),
            cell.procedure.clone(),
            cell.trials.len().to_string(),
            invalid(cell).to_string(),
        ];
        let extent = cell.trials.iter().map(|trial| trial.extent_max).max().unwrap_or(0);
        let counted = counts.iter().map(|count| match (count.0, sum(cell, count)) {
            ("reordered", n) if n > 0 && extent > 0 => format!("{n} (by {extent})"),
            (_, n) => n.to_string(),
        });
        table.row(place.into_iter().chain(counted));
    }
    table
}

/// Why trials are invalid: of each cell how many are, and for each reason how many and the last of them.
pub(crate) fn reasons(results: &SuiteResults) -> Vec<String> {
    let mut out = vec![];
    for cell in results.cells.iter().filter(|cell| invalid(cell) > 0) {
        // The same words with other numbers are the same reason.
        let mut reasons: Vec<(String, usize, &str)> = vec![];
        for trial in cell.trials.iter().filter(|trial| !trial.is_valid()) {
            let why = trial.outcome.strip_prefix("invalid: ").unwrap_or(&trial.outcome);
            let words: Vec<&str> = why
                .split(' ')
                .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
                .collect();
            let words = words.join(" ");
            match reasons.iter_mut().find(|(known, ..)| *known == words) {
                Some((_, n, last)) => (*n, *last) = (*n + 1, why),
                None => reasons.push((words, 1, why)),
            }
        }
        reasons.sort_by_key(|(_, n, _)| std::cmp::Reverse(*n));
        let each = reasons.iter().map(|(_, n, last)| match n {
            1 => (*last).to_string(),
            n => format!("{n} like this: {last}"),
        });
        out.push(format!(
            "{} {}, {}: {} invalid: {}",
            cell.configuration,
            cell.size().words(),
            cell.procedure,
            invalid(cell),
            each.collect::<Vec<String>>().join("; ")
        ));
    }
    out
}

/// How disturbed the valid trials were: for how long their threads stood still, or the host took their
/// processors away, and how much that is. Nothing where nothing was.
pub(crate) fn disturbed(results: &SuiteResults) -> Option<String> {
    let away = |trial: &TrialRecord| trial.stood_still_ns.saturating_add(trial.stolen_ns);
    let valid = || {
        let all = results.cells.iter().flat_map(|cell| cell.trials.iter().map(move |t| (cell, t)));
        all.filter(|(_, trial)| trial.is_valid())
    };
    let n = valid().filter(|(_, trial)| away(trial) > 0).count();
    let (cell, worst) = valid().max_by_key(|(_, trial)| away(trial)).filter(|_| n > 0)?;
    let sum = valid().fold(0u64, |sum, (_, trial)| sum.saturating_add(away(trial)));
    let lasted: f64 = valid().map(|(_, trial)| trial.duration).sum();
    let [sum_s, worst_ns] = [sum as f64 / 1e9, away(worst) as f64];
    Some(format!(
        "In {n} of {} valid trials the system suspended a test thread, {} % of the sending time ({} in all), \
         and {} at most, in one of {} s ({} {}, {}). What it took of a frame's latency is in that latency.",
        valid().count(),
        short(sum_s / lasted.max(1e-9) * 100.0),
        time(sum as f64),
        time(worst_ns),
        short(worst.duration),
        cell.configuration,
        cell.size().words(),
        cell.procedure
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Cell as Shown;

    #[test]
    fn what_trials_saw() {
        let mut results = crate::suite::read(include_str!("../../data/test-1.json")).unwrap();
        let said = (counted(&results).rows.len(), reasons(&results).len());
        assert_eq!(said, (0, 0), "nothing to say");
        let cell = &mut results.cells[0];
        let n = cell.trials.len().to_string();
        (cell.trials[0].gaps, cell.trials[0].foreign) = (9, 2);
        assert_eq!(counted(&results).rows.len(), 0, "loss and ARP are nothing special");
        let cell = &mut results.cells[0];
        (cell.trials[0].duplicate, cell.trials[1].duplicate) = (3, 4);
        (cell.trials[1].reordered, cell.trials[1].extent_max) = (5, 2);
        (cell.trials[1].corrupt, cell.trials[1].wrong_size) = (8, 6);
        cell.trials[1].outcome = "invalid: the clocks differ by 3s".to_string();
        let table = counted(&results);
        assert_eq!(
            table.heads[5..].join(","),
            "duplicate,reordered,wrong size,bad checksum,gaps,foreign"
        );
        let expected = ["none", "64", "throughput", &n, "1", "7", "5 (by 2)", "6", "2", "9", "2"];
        assert_eq!(table.rows, [expected.map(Shown::from).to_vec()]);
        let why = "none 64 byte, throughput: 1 invalid: the clocks differ by 3s";
        assert_eq!(reasons(&results), [why]);
        // Of a replay nobody knows what was a checksum.
        let altered = |n: u64| {
            let text = format!(
                "{{\"name\":\"a\",\"from\":1,\"to\":2,\"stack\":\"\",\"sizes\":\"\",\"load\":\"\",\
                 \"seed\":0,\"intended\":9,\"sent\":9,\"received\":9,\"lost\":0,\"bytes\":0,\
                 \"capture\":{{\"file\":\"a.pcap\",\"altered\":{n}}}}}"
            );
            serde_json::from_str(&text).unwrap()
        };
        let mut replayed = results.clone();
        replayed.cells[0].trials[1].streams = vec![altered(2)];
        let table = counted(&replayed);
        assert_eq!(table.heads[7..9].join(","), "wrong size,altered", "{table:?}");
        assert_eq!(table.rows[0][7..9], ["6", "2"].map(Shown::from), "{table:?}");
        assert_eq!(disturbed(&results), None);
        let trial = &mut results.cells[0].trials[0];
        (trial.stood_still_ns, trial.stolen_ns) = (2_000_000, 1_000_000);
        results.cells[0].trials[1].stood_still_ns = 9_000_000; // of the invalid one
        let said = disturbed(&results).unwrap();
        assert!(said.contains("In 1 of"), "{said}");
        assert!(said.contains("(none 64 byte, throughput)"), "{said}");
        let text = crate::suite::document(&results).text();
        assert!(text.contains(&said), "{text}");
        assert!(text.contains("5 (by 2)") && text.contains(why), "{text}");
    }
}
