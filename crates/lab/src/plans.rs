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
                name if programs.iter().any(|of| name.starts_with(of)) => Kind::Programs,
                _ => Kind::Suite,
            };
            assert_eq!(kind(&std::fs::read_to_string(plan.path()).unwrap()), expected, "{name}");
        }
        assert_eq!(kind("no plan at all"), Kind::Suite);
    }
}
