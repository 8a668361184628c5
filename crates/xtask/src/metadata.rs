//! `cargo metadata` of the workspace, as far as we ask.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// A package of the workspace or one it is built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The SPDX expression of its manifest; empty if there is none.
    pub(crate) license: String,
    /// Whether it is ours.
    pub(crate) member: bool,
    /// Packages in this repository that it needs to be built, not only tested.
    pub(crate) edges: BTreeSet<String>,
}

/// All packages of the workspace whose manifest is `root/Cargo.toml`.
///
/// # Errors
/// With what cargo said, or what was not as expected in its answer.
pub(crate) fn read(root: &Path) -> Result<Vec<Package>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: not JSON: {error}"))?;
    packages(&metadata).ok_or_else(|| "cargo metadata: no packages in its answer".to_string())
}

/// Reads the answer's list of packages.
fn packages(metadata: &Value) -> Option<Vec<Package>> {
    let members: BTreeSet<&str> =
        metadata["workspace_members"].as_array()?.iter().filter_map(Value::as_str).collect();
    let package = |package: &Value| {
        Some(Package {
            name: package["name"].as_str()?.to_string(),
            version: package["version"].as_str()?.to_string(),
            license: package["license"].as_str().unwrap_or_default().to_string(),
            member: members.contains(package["id"].as_str()?),
            edges: package["dependencies"]
                .as_array()?
                .iter()
                .filter(|dependency| dependency["path"].is_string() && dependency["kind"] != "dev")
                .filter_map(|dependency| dependency["name"].as_str().map(str::to_string))
                .collect(),
        })
    };
    metadata["packages"].as_array()?.iter().map(package).collect()
}

/// The edges between our own crates.
pub(crate) fn edges(packages: &[Package]) -> BTreeMap<String, BTreeSet<String>> {
    let ours = packages.iter().filter(|package| package.member);
    ours.map(|package| (package.name.clone(), package.edges.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn test_dependencies_are_no_edges() {
        let packages = packages(&json!({
            "workspace_members": ["a#1"],
            "packages": [{
                "name": "a", "version": "1", "id": "a#1", "license": null,
                "dependencies": [
                    {"name": "wire", "path": "/x/wire", "kind": null},
                    {"name": "build", "path": "/x/build", "kind": "build"},
                    {"name": "lab", "path": "/x/lab", "kind": "dev"},
                    {"name": "serde", "kind": null},
                ],
            }],
        }))
        .unwrap();
        let edges = edges(&packages);
        assert_eq!(edges["a"].iter().collect::<Vec<_>>(), ["build", "wire"]);
    }
}
