//! Links in the documents lead somewhere.
//!
//! Files and folders in this repository must exist, as seen from the document's folder. Addresses on the web are not tried: CI would
//! then fail for other people's reasons.

use super::tree::File;
use std::path::Path;

/// Complains about links to files that are not there, and about documents without any text.
pub(crate) fn check(root: &Path, documents: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        if !documents.iter().any(|document| document.path == name && !document.text.is_empty()) {
            complaints.push(format!("{name}: missing"));
        }
    }
    for File { path, text } in documents {
        let folder = root.join(path).parent().map_or(root.to_path_buf(), Path::to_path_buf);
        for (n, line) in text.lines().enumerate() {
            for target in targets(line).filter(|target| !folder.join(target).exists()) {
                complaints.push(format!("{path}:{}: no such file: {target}", n + 1));
            }
        }
    }
    complaints
}

/// The files that a line of Markdown links to.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_a_broken_link() {
        let document = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let text =
            "[a](Cargo.toml), [b](src/main.rs#top) and\n[c](https://x/y) [d](no/such.rs) [e](#f)";
        let below = "[a](../lib.rs) [b](links.rs) [c](../Cargo.toml)";
        let documents = [
            document("README.md", text),
            document("ARCHITECTURE.md", "x"),
            document("src/tidy/x.md", below),
        ];
        let complaints = check(Path::new(env!("CARGO_MANIFEST_DIR")), &documents);
        assert_eq!(
            complaints,
            [
                "CONTRIBUTING.md: missing",
                "README.md:2: no such file: no/such.rs",
                "src/tidy/x.md:1: no such file: ../lib.rs",
                "src/tidy/x.md:1: no such file: ../Cargo.toml",
            ]
        );
    }
}
