//! Fuzzing guided by coverage: libFuzzer with the stable compiler.
//!
//! ```text
//!  fuzz/seeds/TARGET ──┐
//!                      ├─► inputs that reach new edges ─► fuzz/corpus/TARGET
//!  fuzz/corpus/TARGET ─┘        └─► one that panics, or takes 5 s ─► fuzz/artifacts/
//! ```
//!
//! LLVM's pass that counts edges is in every rustc (`-Cpasses=sancov-module`); what a nightly compiler has
//! beside it is AddressSanitizer, which forbidden `unsafe` makes worth little here. The crates are built with it in
//! `target/guided`, by the profile `fuzz`, so that what overflows panics.

use crate::ci;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The flags that cargo-fuzz gives, but for those of a sanitizer.
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// What makes libFuzzer learn the words that an input is compared with. The `router` target does without: its input
/// is read byte by byte, and two thirds of its time went into hooks at the comparisons of tables being built.
const COMPARES: &str = "-Cllvm-args=-sanitizer-coverage-trace-compares";

/// What libFuzzer is told first; the user's own options come behind.
const OPTIONS: &[&str] = &["-timeout=5", "-rss_limit_mb=4096", "-print_final_stats=1"];

/// Builds a target and runs it: `cargo xtask fuzz TARGET [libFuzzer's options]`.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> ExitCode {
    match fuzz(root, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn fuzz(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let Some((target, options)) = arguments.split_first() else {
        return Err(format!("which target? {}", targets(root)?.join(", ")));
    };
    if !targets(root)?.iter().any(|known| known == target) {
        return Err(format!("no target {target}: {}", targets(root)?.join(", ")));
    }
    let host = host()?;
    let folder = root.join("target/guided");
    let program = folder.join(&host).join("fuzz").join(target);
    let mut flags: Vec<&str> = FLAGS.to_vec();
    if *target != "router" {
        flags.push(COMPARES);
    }
    if cfg!(target_arch = "x86_64") {
        flags.push("-Ctarget-cpu=x86-64-v3"); // as in .cargo/config.toml, which these replace
    }
    let words = ["build", "--profile", "fuzz", "-p", "fuzz", "--features", "libfuzzer"];
    // With a target named, build scripts and macros are not instrumented.
    let more = ["--bin", target, "--target", &host, "--target-dir", "target/guided"];
    let mut build = ci::command(root, &[&words[..], &more[..]].concat());
    ci::finish(build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")))?;
    let corpus = root.join("fuzz/corpus").join(target);
    let artifacts = root.join("fuzz/artifacts");
    for made in [&corpus, &artifacts] {
        fs::create_dir_all(made).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    let mut run = Command::new(program);
    run.args(OPTIONS).args(options).current_dir(root);
    run.arg(format!("-artifact_prefix={}/{target}-", artifacts.display()));
    ci::finish(run.arg(corpus).arg(root.join("fuzz/seeds").join(target)))
}

/// The targets, which are files.
fn targets(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("fuzz/fuzz_targets");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let stem = |path: std::path::PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = entries.filter_map(|entry| stem(entry.ok()?.path())).collect();
    names.sort();
    Ok(names)
}

/// The machine's target triple.
fn host() -> Result<String, String> {
    let mut rustc = Command::new("rustc");
    let output = rustc.arg("-vV").output().map_err(|error| format!("{rustc:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("{rustc:?} names no host: {text}"))
}
