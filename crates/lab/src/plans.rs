//! Kinds of plans, told apart by what they have.
//!
//! ```text
//!  [[procedure]]             ─► suite    trials of the tester's own frames
//!  configurations            ─► bench    the performance table
//!  devices, without either   ─► iperf3   programs of others: iperf3, ping, irtt
//! ```
//!
//! Never says whether a plan can be carried out: whoever runs it does.

/// What runs a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`suite`](crate::suite).
    Suite,
    /// [`bench`](crate::bench).
    Table,
    /// [`iperf3`](crate::iperf3).
    Programs,
}

/// Of a plan's text; of what is none, a suite's: there it is refused with its place.
pub fn kind(text: &str) -> Kind {
    let plan: toml::Table = text.parse().unwrap_or_default();
    let has = |key| plan.contains_key(key);
    match (has("procedure"), has("configurations"), plan.get("devices")) {
        (false, true, _) => Kind::Table,
        (false, false, Some(_)) => Kind::Programs,
        _ => Kind::Suite,
    }
}

/// A number above zero with k, M, G or T for 10³ to 10¹²: `10G` is 10¹⁰.
pub fn quantity(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(['k', 'M', 'G', 'T']);
    let factor = match &text[digits.len()..] {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    };
    let value = digits.trim().parse::<f64>().ok()? * factor;
    (value > 0.0 && value.is_finite()).then_some(value)
}

/// Seconds of a time with its unit, ns, us, ms, s or m: `200ms`, `60s`.
pub fn seconds(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match &text[digits.len()..] {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    digits.trim().parse::<f64>().ok().map(|number| number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_that_come_with_the_program() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");
        let programs = ["iperf3", "latency-beside-the-kernel", "rfc6349-hosts"];
        for plan in std::fs::read_dir(folder).unwrap().flatten() {
            let name = plan.file_name().into_string().unwrap();
            let expected = match name.as_str() {
                "performance-table.toml" => Kind::Table,
                name if name.starts_with("tunnels") => Kind::Table,
                name if programs.iter().any(|of| name.starts_with(of)) => Kind::Programs,
                _ => Kind::Suite,
            };
            assert_eq!(kind(&std::fs::read_to_string(plan.path()).unwrap()), expected, "{name}");
        }
        assert_eq!(kind("no plan at all"), Kind::Suite);
    }
}
