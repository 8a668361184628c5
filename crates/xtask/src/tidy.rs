//! Tidiness: what the compiler does not check, and the documents promise.
//!
//! Each rule is a function from text to complaints, with its own test that a breach is seen. A
//! complaint says what to do about it. All of them run as one test, so `cargo test` is enough.

// Source files and documents, read once.
mod tree;

// The allowed edges between crates: ARCHITECTURE.md's table against `cargo metadata`.
mod edges;
// The packet flow: flow.rs, step.rs and ARCHITECTURE.md say the same.
mod flow;
// Licences of everything we are built from.
mod licences;
// Links in the documents lead somewhere.
mod links;
// Module docs, lengths, `unsafe`, and the purity of `router` and `measure`.
mod sources;

use crate::metadata;
use std::path::Path;
use tree::Tree;

/// Everything untidy in the workspace at `root`, one sentence each.
///
/// # Errors
/// If the workspace cannot be read: files, or what `cargo metadata` answers.
pub(crate) fn complaints(root: &Path) -> Result<Vec<String>, String> {
    let tree = Tree::read(root)?;
    let packages = metadata::read(root)?;
    let architecture = tree.document("ARCHITECTURE.md");
    let router = |name: &str| tree.source(&format!("crates/router/src/{name}"));
    Ok([
        edges::check(architecture, &metadata::edges(&packages)),
        flow::check(architecture, router("step.rs"), router("flow.rs")),
        licences::check(&packages),
        links::check(root, &tree.documents),
        sources::check(&tree.sources),
    ]
    .concat())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        let complaints = super::complaints(&crate::root()).expect("a readable workspace");
        assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
    }
}
