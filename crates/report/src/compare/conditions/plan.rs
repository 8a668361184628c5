//! Parts of a plan that make figures what they are, and which figures these are.
//!
//! ```text
//!  frame sizes, modifiers, criteria, devices …   which cells there are: left out
//!  [medium], [traffic] …                         all cells
//!  [[procedure]], [[stream]], [[goal]] …         the cells of the procedure, if both plans have it
//!  [quick], [virtual.scaling]                    all cells, if the run was by that
//! ```
//!
//! So a plan that has only been given one more frame size measures the same in the others, and one
//! with another `trial` measures another throughput and the same latency.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A plan's keys and values that matter, a line each: those of all cells, and by procedure.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Meant {
    pub(super) all: String,
    pub(super) procedures: BTreeMap<String, String>,
}

/// Which lengths a run had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lengths {
    Plan,
    Quick,
    Virtual,
}

/// Keys that only say which cells there are, or by what chance: of `wirespeed test`.
const CELLS: [&str; 5] = ["frame-sizes", "modifiers", "name", "seed", "device"];
/// And of `wirespeed iperf3`.
const CELLS_OF_IPERF3: [&str; 7] =
    ["name", "devices", "protocols", "directions", "packets", "latency", "windows"];

/// A plan of `wirespeed test`.
pub(super) fn of_suite(text: &str, lengths: Lengths) -> Meant {
    let Ok(mut plan) = toml::from_str::<Map<String, Value>>(text) else {
        return Meant { all: lines_of(text), ..Meant::default() };
    };
    let mut meant = Meant::default();
    let tables = |value: Option<Value>| match value {
        Some(Value::Array(tables)) => tables,
        _ => Vec::new(),
    };
    let word = |table: &Value, key: &str| table[key].as_str().unwrap_or("").to_string();
    for mut table in tables(plan.remove("procedure")) {
        let kind = word(&table, "kind");
        if let Value::Object(keys) = &mut table {
            // A figure's name has its criterion.
            keys.retain(|key, _| !["kind", "criteria"].contains(&key.as_str()));
        }
        let lines = meant.procedures.entry(kind.clone()).or_default();
        flat(&kind, &table, lines);
    }
    for name in ["stream", "replay", "goal"] {
        let of = if name == "goal" { "throughput" } else { "streams" };
        for (i, table) in tables(plan.remove(name)).into_iter().enumerate() {
            let own = match (name, table.get("name")) {
                // A goal is a figure of its own, under its own name.
                ("goal", Some(goal)) => format!("goal {goal}"),
                ("goal", None) => format!("goal {i}"),
                _ => of.to_string(),
            };
            flat(name, &table, meant.procedures.entry(own).or_default());
        }
    }
    let simulated = plan.remove("virtual");
    let scaling = simulated.as_ref().and_then(|table| table.get("scaling")).cloned();
    let quick = plan.remove("quick");
    let scaling = match lengths {
        Lengths::Plan => None,
        Lengths::Quick => quick,
        Lengths::Virtual => scaling.or(quick),
    };
    plan.extend(scaling.map(|scaling| ("quick".to_string(), scaling)));
    for (key, value) in plan.iter().filter(|(key, _)| !CELLS.contains(&key.as_str())) {
        flat(key, value, &mut meant.all);
    }
    meant
}

/// A plan of `wirespeed iperf3`.
pub(super) fn of_iperf3(text: &str, quick: bool) -> String {
    let Ok(plan) = toml::from_str::<Map<String, Value>>(text) else { return lines_of(text) };
    let mut out = String::new();
    for (key, value) in &plan {
        if !CELLS_OF_IPERF3.contains(&key.as_str()) && (quick || key != "quick") {
            flat(key, value, &mut out);
        }
    }
    out
}

/// `traffic.bidirectional = true`.
fn flat(key: &str, value: &Value, out: &mut String) {
    match value {
        Value::Object(table) => {
            for (name, value) in
                table.iter().filter(|(name, _)| !CELLS[..2].contains(&name.as_str()))
            {
                flat(&format!("{key}.{name}"), value, out);
            }
        }
        value => *out += &format!("{key} = {value}\n"),
    }
}

/// A script, or a text that is no plan of today, without remarks.
pub(super) fn lines_of(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "name = \"x\"\n[device]\nconfiguration = \"a.rsc\"\n[medium]\nlink = \"10G\"\n\
                        [traffic]\nframe-sizes = [64]\nflows = \"pair\"\n\
                        [[procedure]]\nkind = \"throughput\"\ncriteria = [\"bisection\"]\ntrial = \"1s\"\n\
                        [[procedure]]\nkind = \"latency\"\nduration = \"1s\"\n\
                        [quick]\nframe-sizes = [64]\nprecision = \"2%\"\n\
                        [virtual]\nframe = \"1us\"\n[virtual.scaling]\nprecision = \"1%\"\n";

    /// Which figures a change of the plan makes others.
    #[test]
    fn what_a_change_makes_another() {
        let cases: [(&str, &str, Lengths, &[&str]); 16] = [
            ("name = \"x\"", "# Mine.\nname = \"x\" # a plan", Lengths::Plan, &[]),
            ("name = \"x\"", "name = \"x\"\nseed = 7", Lengths::Plan, &[]),
            ("a.rsc", "b.rsc", Lengths::Plan, &[]),
            ("configuration", "modifiers = [\n\"none\"\n]\nconfiguration", Lengths::Plan, &[]),
            ("[64]\nflows", "[64, 128]\nflows", Lengths::Plan, &[]),
            ("[\"bisection\"]", "[\"bisection\", \"csit-ndr\"]", Lengths::Plan, &[]),
            ("[quick]", "[[procedure]]\nkind = \"recovery\"\n[quick]", Lengths::Plan, &[]),
            ("[quick]", "[[goal]]\nname = \"g\"\nloss = \"1%\"\n[quick]", Lengths::Plan, &[]),
            ("10G", "1G", Lengths::Plan, &["all"]),
            ("\"pair\"", "\"networks\"", Lengths::Plan, &["all"]),
            ("trial = \"1s\"", "trial = \"2s\"", Lengths::Plan, &["throughput"]),
            ("duration = \"1s\"", "duration = \"9s\"", Lengths::Quick, &["latency"]),
            ("\"2%\"", "\"3%\"", Lengths::Quick, &["all"]),
            ("\"2%\"", "\"3%\"", Lengths::Plan, &[]),
            ("\"1%\"", "\"3%\"", Lengths::Virtual, &["all"]),
            ("1us", "2us", Lengths::Virtual, &[]),
        ];
        for (from, to, lengths, expected) in cases {
            assert!(PLAN.contains(from), "{from}");
            let one = of_suite(PLAN, lengths);
            let other = of_suite(&PLAN.replace(from, to), lengths);
            let mut found = if one.all == other.all { vec![] } else { vec!["all"] };
            let both = one.procedures.iter().filter_map(|(kind, lines)| {
                (lines != other.procedures.get(kind)?).then_some(kind.as_str())
            });
            found.extend(both);
            assert_eq!(found, expected, "{from} {to}");
        }
        let iperf3 = "packets = [1500]\nduration = \"1s\"\n[quick]\nduration = \"1s\"\n";
        let change = |from, to| of_iperf3(&iperf3.replace(from, to), false);
        assert_eq!(change("[1500]", "[128, 1500]"), of_iperf3(iperf3, false));
        assert_ne!(
            change("[1500]\nduration = \"1s\"", "[1500]\nduration = \"2s\""),
            change("x", "x")
        );
        // What is none is compared as it stands.
        assert_eq!(of_suite("# x\n= y\n", Lengths::Plan).all, "= y\n");
    }
}
