//! The project's own chores: `cargo xtask ci`, `cargo xtask fuzz` and `cargo xtask tidy`.
//!
//! ```text
//! .ci/run ─► xtask ci ─┬─ fmt, clippy, docs
//!                      ├─ cargo test ── tidy, and every crate's tests
//!                      ├─ cargo test once more, where no tools are installed
//!                      ├─ the program: swarm, bench (every row there?), kernel and router by turns
//!                      └─ fuzz targets, briefly
//! ```
//!
//! Depends on no crate of ours, so that it can judge them all.

// Everything CI runs, in its order.
mod ci;
// Fuzzing guided by coverage.
mod fuzz;
// What `cargo metadata` says about the workspace.
mod metadata;
// What the compiler does not check: edges, docs, purity, licences, links, the packet flow.
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci            everything CI runs
  ci STEP…      only these steps; `ci --list` names them
  fuzz TARGET   fuzzes a target by libFuzzer, whose options may follow
  tidy          what the compiler does not check, also run by `cargo test`";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ci", "--list"] => {
            ci::list();
            ExitCode::SUCCESS
        }
        ["ci", steps @ ..] => ci::run(&root(), steps),
        ["fuzz", arguments @ ..] => fuzz::run(&root(), arguments),
        ["tidy"] => report_tidy(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        other => {
            eprintln!("xtask: unknown command: {}\n\n{USAGE}", other.join(" "));
            ExitCode::from(2)
        }
    }
}

fn report_tidy() -> ExitCode {
    let complaints = match tidy::complaints(&root()) {
        Ok(complaints) => complaints,
        Err(error) => {
            eprintln!("xtask tidy: {error}");
            return ExitCode::from(3);
        }
    };
    for complaint in &complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => ExitCode::SUCCESS,
        n => {
            println!("{n} untidy");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's root folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}
