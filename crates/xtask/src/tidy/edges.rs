//! The allowed edges between crates.
//!
//! ARCHITECTURE.md's table, whose header has a column `may depend on`, says which crates a crate
//! may need; `cargo metadata` says which it does need. Test dependencies are free.

use std::collections::{BTreeMap, BTreeSet};

/// Crates and the crates they may or do depend on.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// Complains about edges the table does not allow, and crates only one side knows.
pub(crate) fn check(architecture: &str, actual: &Edges) -> Vec<String> {
    let allowed = table(architecture);
    let mut complaints = Vec::new();
    for (name, edges) in actual {
        let Some(allowed) = allowed.get(name) else {
            complaints.push(format!("ARCHITECTURE.md: crate `{name}` is not in the crate table"));
            continue;
        };
        for edge in edges.difference(allowed) {
            complaints.push(format!(
                "crates/{name}/Cargo.toml: `{name}` may not depend on `{edge}` (ARCHITECTURE.md)"
            ));
        }
    }
    for name in allowed.keys().filter(|name| !actual.contains_key(*name)) {
        complaints.push(format!("ARCHITECTURE.md: there is no crate `{name}`"));
    }
    complaints
}

/// Reads the table: the first column's name, and the names in the column `may depend on`.
fn table(architecture: &str) -> Edges {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
    };
    let mut lines = architecture.lines();
    let column = lines.by_ref().find_map(|line| {
        let header = cells(line);
        (line.starts_with('|') && header[0] == "crate")
            .then(|| header.iter().position(|cell| cell == "may depend on"))?
    });
    let Some(column) = column else { return Edges::new() };
    let rows = lines.take_while(|line| line.starts_with('|')).map(cells);
    rows.filter(|row| row.len() > column && row[0].starts_with('`'))
        .map(|row| (names(&row[0]).into_iter().collect(), names(&row[column])))
        .collect()
}

/// The names in backticks.
fn names(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
        # Title\n\n\
        | crate | is | may depend on | must never |\n\
        | --- | --- | --- | --- |\n\
        | `wire` | what `bytes` mean | – | do I/O |\n\
        | `port` | how frames come | `wire` | look |\n\
        \n\
        | `other` | table | `wire` | |\n";

    fn edges(edges: &[(&str, &[&str])]) -> Edges {
        let set = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        edges.iter().map(|(name, to)| (name.to_string(), set(to))).collect()
    }

    #[test]
    fn reads_the_table() {
        assert_eq!(table(TABLE), edges(&[("wire", &[]), ("port", &["wire"])]));
        assert_eq!(table("| a | b |"), Edges::new());
    }

    #[test]
    fn sees_a_wrong_edge_and_a_missing_crate() {
        let check = |actual: &[(&str, &[&str])]| check(TABLE, &edges(actual));
        assert_eq!(check(&[("wire", &[]), ("port", &["wire"])]), [""; 0]);
        assert_eq!(check(&[("wire", &[]), ("port", &[])]), [""; 0], "an edge need not be used");
        let complaints = check(&[("wire", &["port"]), ("lab", &[])]);
        assert_eq!(complaints.len(), 3, "{complaints:#?}");
        assert!(complaints[0].contains("`lab` is not in"));
        assert!(complaints[1].contains("`wire` may not depend on `port`"));
        assert!(complaints[2].contains("no crate `port`"));
    }
}
