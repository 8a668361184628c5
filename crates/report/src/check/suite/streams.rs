//! Figures of streams and replays against the trial that counted them, and lengths against bytes.
//!
//! ```text
//!  from, to: two of the plan's ports
//!  figures: streams, sent, received, lost … ◄─► the last trial     bytes ◄─► frames x their lengths
//! ```

use super::super::Kind;
use measure::SuiteResults;
use measure::suite_result::{Cell, StreamRecord, TrialRecord, total};

/// Checks a cell.
pub(super) fn check(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let ports = ports(&results.plan);
    for trial in &cell.trials {
        let streams = trial.streams.iter().map(|one| (one.from, one.to, one.name.as_str()));
        let ways = trial.directions.iter().map(|one| (one.from, one.to, "a direction"));
        for (from, to, name) in streams.chain(ways) {
            let are_ports = [from, to].iter().all(|port| (1..=ports).contains(port));
            if !are_ports || from == to {
                let text = format!("{name}: from port {from} to port {to}, of {ports}");
                note(Kind::Impossible, text);
            }
        }
    }
    let mut wrong = |text: String| note(Kind::Inconsistent, text);
    for stream in cell.trials.iter().flat_map(|trial| &trial.streams) {
        of_stream(stream, &mut |text| wrong(format!("{}: {text}", stream.name)));
    }
    let Some(last) = cell.trials.last().filter(|_| cell.procedure == "streams") else { return };
    type Count = fn(&TrialRecord) -> u64;
    let counts: [(&str, Count); 7] = [
        ("streams", |trial| trial.streams.len() as u64),
        ("sent", |trial| trial.sent),
        ("received", |trial| trial.received),
        ("lost", |trial| trial.sent.saturating_sub(trial.received)),
        ("elsewhere", |trial| total(trial.streams.iter().map(|one| one.elsewhere))),
        ("damaged", |trial| trial.corrupt),
        ("foreign", |trial| trial.foreign),
    ];
    for (name, count) in counts {
        let figure = cell.figures.iter().find(|figure| figure.name == name);
        let (Some(said), counted) = (figure.and_then(|one| one.value), count(last)) else {
            continue;
        };
        if (said - counted as f64).abs() > 0.5 {
            wrong(format!("{name}: {said}, and its last trial counted {counted}"));
        }
    }
}

/// How many ports a plan's device has: two of a router; of a bridge that does not say it there may be as
/// many as there can be.
fn ports(plan: &str) -> u32 {
    let Ok(plan) = toml::from_str::<toml::Table>(plan) else { return MOST_PORTS };
    let of = |table: &str, key: &str| plan.get(table)?.get(key).cloned();
    let said = of("device", "ports").and_then(|ports| u32::try_from(ports.as_integer()?).ok());
    let flows = of("traffic", "flows");
    let is_router = flows.is_some_and(|flows| flows.as_str() != Some("hosts"));
    said.unwrap_or(if is_router { 2 } else { MOST_PORTS })
}

/// The most ports a device has.
const MOST_PORTS: u32 = 16;

/// So many frames have so many bytes, and what is sent takes no longer than the trial.
fn of_stream(stream: &StreamRecord, wrong: &mut impl FnMut(String)) {
    let StreamRecord { received, bytes, sizes, .. } = stream;
    if let Some((least, most)) = lengths(sizes) {
        let (low, high) = (received.saturating_mul(least), received.saturating_mul(most));
        if !(low..=high).contains(bytes) {
            wrong(format!(
                "{bytes} bytes of {received} frames, whose lengths are {least} to {most}"
            ));
        }
    }
    // Where nothing is lost or overtaken each frame but the first has a neighbour. (Of a replay not every
    // frame can be told from those like it.)
    let whole = stream.lost == 0 && stream.reordered == 0 && stream.gaps == 0;
    if let Some(ipdv) = stream.ipdv.filter(|_| whole && stream.capture.is_none())
        && ipdv.pairs.checked_add(1) != Some(*received)
    {
        wrong(format!("{} pairs of neighbours among {received} frames in a row", ipdv.pairs));
    }
}

/// The shortest and the longest of `64`, `70 to 148, mean 84.9`, `…; frames with FCS: 64:7, 1518:1, mean
/// 361.8 B`; none of what is told otherwise.
fn lengths(sizes: &str) -> Option<(u64, u64)> {
    if let Some((_, of_mix)) = sizes.split_once("frames with FCS: ") {
        let lengths = || of_mix.split(", ").filter_map(|one| one.split_once(':')?.0.parse().ok());
        return Some((lengths().min()?, lengths().max()?));
    }
    let range = sizes.split(',').next()?;
    let (least, most) = range.split_once(" to ").unwrap_or((range, range));
    Some((least.parse().ok()?, most.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::lengths;

    #[test]
    fn lengths_as_they_are_told() {
        for (sizes, expected) in [
            ("64", Some((64, 64))),
            ("64 to 1518, each as likely", Some((64, 1518))),
            ("70 to 271, mean 127.7", Some((70, 271))),
            (
                "IMIX - aA (A=594); frames with FCS: 64:7, 594:4, 1518:1, mean 361.8 B; its author counts L3",
                Some((64, 1518)),
            ),
            ("as they come", None),
            ("", None),
        ] {
            assert_eq!(lengths(sizes), expected, "{sizes}");
        }
    }
}
