//! The commit that is built, for results and `--version`, if there is a repository.

use std::process::Command;

fn main() {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let dirty =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| !s.is_empty());
    let commit = commit.map_or("unknown".to_string(), |c| if dirty { c + "-dirty" } else { c });
    println!("cargo::rustc-env=WIRESPEED_COMMIT={commit}");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match commit.as_str() {
        "unknown" => version, // of an archive nobody knows
        commit => format!("{version} ({commit})"),
    };
    println!("cargo::rustc-env=WIRESPEED_VERSION={version}");
    let profile = std::env::var("PROFILE").unwrap_or_default();
    println!("cargo::rustc-env=WIRESPEED_BUILD={profile}");
    // Whatever changes a result: another commit, other code, other configurations.
    println!("cargo::rerun-if-changed=..");
    println!("cargo::rerun-if-changed=../../configs");
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
}
