//! Everything CI runs, in its order: what fails soonest first.
//!
//! Each step prints a heading, what it runs, and how long it took. The first failure ends the run.
//!
//! ```text
//!  format ─► build ─► test ────────────────────────────────────► bare ─► bench ─► compare
//!                 └─► clippy ─► docs ─► fuzz ─► swarm (nice 19) ─┘
//! ```
//!
//! The tests wait more than they compute: on two cores a third of the time is theirs. So four times as many of a test
//! program's run at once as usual, and what only computes runs beside them, with what they leave over. (Not `bare`: its
//! tests have clocks as well, and with what is left over some were too late.)
//! All of them use one build, that of `cargo test`: what is measured here is whether it runs, not how
//! fast, and a release build would be a third of the time. Programs are run as that build made them: `cargo run`
//! alone would build most crates once more, for what tests depend on gives others' dependencies other features.
//! Nothing here knows where it runs: on a developer's machine it is the same.

// The tests where none of the tools is installed.
mod bare;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// A step: its name, what it is for, and how it is run.
type Step = (&'static str, &'static str, fn(&Path) -> Result<(), String>);

/// All steps, in order.
const STEPS: &[Step] = &[
    ("format", "rustfmt has nothing to say", format),
    ("build", "the programs and every test program", build),
    ("test", "every test of every crate, tidy among them; none ignored", test),
    ("clippy", "all targets, warnings denied", clippy),
    ("docs", "rustdoc, warnings denied", docs),
    ("fuzz", "each fuzz target for a few seconds", fuzz),
    ("swarm", "networks drawn from fresh seeds", swarm),
    ("bare", "tests that run programs, where CI's tools are not installed", bare::run),
    ("bench", "the quick table on one core has every row", bench),
    ("compare", "the kernel and our router by turns, on veths", compare),
];

/// The steps that run beside `test` when all are run: they need processors, no time of their own.
const BESIDE: &[&str] = &["clippy", "docs", "fuzz", "swarm"];

/// Fuzz targets, and seconds for each.
const FUZZ: &[&str] = &[
    "frame_parse",
    "script_parse",
    "router",
    "pcap",
    "layer7",
    "announced",
    "sessions",
    "api_sentence",
];
const FUZZ_SECONDS: &str = "5";

/// The rows of the table: mode and configurations, each in every size.
const ROWS: &[(&str, &[&str])] = &[
    ("bridging", &["none", "25-filter-rules"]),
    (
        "routing",
        &["none", "25-filter-rules", "25-simple-queues", "fasttrack", "conntrack", "bgp-table"],
    ),
];
const SIZES: &[u64] = &[64, 512, 1518];

/// Prints the steps.
pub(crate) fn list() {
    for (name, purpose, _) in STEPS {
        println!("{name:<10}{purpose}");
    }
}

/// Runs the steps named, one after another; or all.
pub(crate) fn run(root: &Path, only: &[&str]) -> ExitCode {
    if let Some(unknown) = only.iter().find(|&only| STEPS.iter().all(|(name, ..)| name != only)) {
        eprintln!("xtask ci: no step {unknown}; there are:");
        list();
        return ExitCode::from(2);
    }
    let began = now();
    let all = only.is_empty();
    let is_run = |name: &str| if all { !BESIDE.contains(&name) } else { only.contains(&name) };
    for (name, purpose, step) in STEPS.iter().filter(|(name, ..)| is_run(name)) {
        println!("\n=== {name}: {purpose}");
        let step_began = now();
        let outcome = match *name {
            "test" if all => beside(root, *step),
            _ => step(root),
        };
        let took = seconds(step_began.elapsed());
        match outcome {
            Ok(()) => println!("=== {name}: done in {took}"),
            Err(error) => {
                println!("=== {name}: FAILED after {took}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("\n=== all done in {}", seconds(began.elapsed()));
    ExitCode::SUCCESS
}

/// Runs `step`, and this program with the steps of [`BESIDE`] meanwhile, whose output is printed
/// when both have ended.
fn beside(root: &Path, step: fn(&Path) -> Result<(), String>) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(program).arg("ci").args(BESIDE).current_dir(root);
    std::thread::scope(|scope| {
        let others = scope.spawn(move || (command.output(), command));
        let outcome = step(root);
        let (output, command) = others.join().expect("to run a command does not panic");
        let output = output.map_err(|error| format!("{command:?}: {error}"))?;
        print!("{}", String::from_utf8_lossy(&output.stdout));
        print!("{}", String::from_utf8_lossy(&output.stderr));
        outcome?;
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("{command:?}: {}", output.status))
        }
    })
}

fn format(root: &Path) -> Result<(), String> {
    cargo(root, &["fmt", "--all", "--check"])
}

fn clippy(root: &Path) -> Result<(), String> {
    cargo(root, &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-Dwarnings"])
}

fn docs(root: &Path) -> Result<(), String> {
    let mut command = command(root, &["doc", "--workspace", "--no-deps", "--quiet"]);
    finish(command.env("RUSTDOCFLAGS", "-Dwarnings"))
}

/// Builds what `cargo test` runs, so that a compiler's error ends the run before anything else does.
fn build(root: &Path) -> Result<(), String> {
    // Not all programs: this one runs.
    cargo(root, &["build", "--bin", "wirespeed", "--bin", "fuzz", "--tests", "--quiet"])
}

/// Runs one of our programs, built as the tests are.
fn program(root: &Path, name: &str, arguments: &[&str]) -> Result<(), String> {
    finish(&mut built(root, name, arguments)?)
}

/// The command for that.
fn built(root: &Path, name: &str, arguments: &[&str]) -> Result<Command, String> {
    build(root)?;
    println!("$ {name} {}", arguments.join(" "));
    let xtask = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut command = Command::new(xtask.with_file_name(name));
    command.args(arguments).current_dir(root);
    Ok(command)
}

/// Runs `cargo test` as README says it, and refuses tests that did not run.
fn test(root: &Path) -> Result<(), String> {
    let mut command = test_command(root, &["test"]);
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let programs = String::from_utf8_lossy(&output.stderr);
    print!("{programs}");
    for (program, seconds) in slowest(&programs, &text) {
        println!("{seconds:>8.1} s {program}");
    }
    if !output.status.success() {
        println!("{text}");
        return Err(format!("{command:?}: {}", output.status));
    }
    let (passed, ignored) = tally(&text);
    // In the words of those who look for how many tests have run.
    println!("{passed} passed, 0 failed, {ignored} skipped");
    match ignored {
        0 if passed > 0 => Ok(()),
        0 => Err("no test has run".to_string()),
        n => Err(format!("{n} ignored: assert the wrong behaviour with a FIXME instead")),
    }
}

/// A command that runs tests, four for each core unless the user has said how many: they wait most of their time.
fn test_command(root: &Path, arguments: &[&str]) -> Command {
    const THREADS: &str = "RUST_TEST_THREADS";
    let mut command = command(root, arguments);
    if std::env::var_os(THREADS).is_none() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (4 * cores).to_string());
    }
    command
}

/// The ten test programs that took longest, and their seconds, of what cargo says of them and what they say.
fn slowest<'a>(programs: &'a str, output: &str) -> Vec<(&'a str, f64)> {
    let names = programs
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("Running ") || line.starts_with("Doc-tests "));
    let took = output.lines().filter(|line| line.starts_with("test result:"));
    let took = took.filter_map(|line| {
        let (_, seconds) = line.split_once("finished in ")?;
        seconds.trim_end_matches('s').parse().ok()
    });
    let mut all: Vec<(&str, f64)> = names.zip(took).collect();
    all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    all.truncate(10);
    all
}

/// Adds up the lines `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn tally(output: &str) -> (u64, u64) {
    let count = |line: &str, what: &str| -> u64 {
        let before = line.split(what).next().unwrap_or_default().trim_end();
        before.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
    };
    let results = output.lines().filter(|line| line.starts_with("test result:"));
    results.fold((0, 0), |(passed, ignored), line| {
        (passed + count(line, "passed"), ignored + count(line, "ignored"))
    })
}

/// Seeds that nobody has run before; a state that used to be reached must be.
fn swarm(root: &Path) -> Result<(), String> {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs());
    let seed = (since * 1000).to_string();
    let reach = "crates/lab/tests/swarm-reached.txt";
    let words = ["lab", "swarm", "--seeds", "400", "--minutes", "3", "--output", "target/swarm"];
    program(root, "wirespeed", &[&words[..], &["--seed", &seed, "--reach", reach]].concat())
}

fn bench(root: &Path) -> Result<(), String> {
    const FILE: &str = "target/bench.json";
    program(root, "wirespeed", &["bench", "--quick", "--cores", "1", "--json", FILE])?;
    let text =
        std::fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    let results = serde_json::from_str(&text).map_err(|error| format!("{FILE}: {error}"))?;
    let missing = missing_rows(&results);
    if missing.is_empty() { Ok(()) } else { Err(format!("no row {}", missing.join(", no row "))) }
}

/// Needs root: without it, says so and goes on, except with `CI` set.
fn compare(root: &Path) -> Result<(), String> {
    const FILE: &str = "target/compare.json";
    /// What the program ends with where the machine lacks something.
    const ENVIRONMENT: i32 = 3;
    let words = ["bench", "--device", "linux,wirespeed", "--compare", "--quick", "--json", FILE];
    let mut command = built(root, "wirespeed", &words)?;
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.code() == Some(ENVIRONMENT) && std::env::var_os("CI").is_none() {
        println!("skipped: it takes root, and the tools that .ci/run installs");
        return Ok(());
    }
    if !status.success() {
        return Err(format!("{command:?}: {status}"));
    }
    let text =
        std::fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    let results: Value = serde_json::from_str(&text).map_err(|error| format!("{FILE}: {error}"))?;
    println!("{}", compared(&results)?);
    Ok(())
}

/// The devices of a comparison, in the order of their tables.
const COMPARED: &[&str] = &["linux kernel", "wirespeed on veth"];

/// What a comparison's file says: each device has each row, sound, or invalid with the evidence, or
/// left out with the reason. On a machine that does other things as well any row may be invalid.
fn compared(results: &Value) -> Result<String, String> {
    let all = |name: &str| results[name].as_array().map_or(&[][..], Vec::as_slice);
    let says = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let (mut said, mut wrong) = (Vec::new(), Vec::new());
    for device in COMPARED {
        let (mut sound, mut invalid, mut left_out) = (0, 0, 0);
        for (mode, configurations) in ROWS {
            // The quick comparison leaves the full table out.
            for name in configurations.iter().filter(|name| **name != "bgp-table") {
                let is_it = |row: &&Value| {
                    let at = [&row["device"], &row["mode"], &row["configuration"]];
                    at.map(Value::as_str) == [Some(*device), Some(*mode), Some(*name)]
                };
                let omitted = all("setups").iter().filter(is_it).find(|s| says(&s["omitted"]));
                match (all("rows").iter().find(is_it), omitted) {
                    (None, Some(_)) => left_out += 1,
                    (None, None) => wrong.push(format!("{device} has no row {mode} {name}")),
                    (Some(row), _) if !says(&row["medium"]["generator"]) => {
                        wrong.push(format!("{device}, {mode} {name}: nobody sent"));
                    }
                    (Some(row), _) => match row["verdict"].as_str() {
                        Some("pass" | "fail") if row["forwarded"].as_u64() > Some(0) => sound += 1,
                        Some("invalid") if says(&row["remark"]) => invalid += 1,
                        verdict => wrong.push(format!(
                            "{device}, {mode} {name}: {verdict:?}, and no evidence: {row}"
                        )),
                    },
                }
            }
        }
        said.push(format!("{device}: {sound} rows sound, {invalid} invalid, {left_out} left out"));
    }
    let ratios = all("comparisons").iter().filter(|row| row["ratio"].as_f64().is_some()).count();
    said.push(format!("{ratios} of {} compared", all("comparisons").len()));
    if wrong.is_empty() { Ok(said.join("; ")) } else { Err(wrong.join("; ")) }
}

/// The rows that a result file should have and has not.
fn missing_rows(results: &Value) -> Vec<String> {
    let name =
        |mode: &str, configuration: &str, size: u64| format!("{mode} {configuration} {size}");
    let rows = results["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let there: BTreeSet<String> = rows
        .iter()
        .filter(|row| row["forwarded"].as_u64().is_some_and(|frames| frames > 0))
        .filter_map(|row| {
            let (mode, configuration) = (row["mode"].as_str()?, row["configuration"].as_str()?);
            Some(name(mode, configuration, row["frame_size"].as_u64()?))
        })
        .collect();
    let mut missing = Vec::new();
    for (mode, configurations) in ROWS {
        for configuration in *configurations {
            missing.extend(SIZES.iter().map(|&size| name(mode, configuration, size)));
        }
    }
    missing.retain(|row| !there.contains(row));
    missing
}

/// Fuzzes with the plain runner, which needs no nightly compiler.
fn fuzz(root: &Path) -> Result<(), String> {
    for target in FUZZ {
        program(root, "fuzz", &[target, "--seconds", FUZZ_SECONDS])?;
    }
    Ok(())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<(), String> {
    finish(&mut command(root, arguments))
}

pub(crate) fn command(root: &Path, arguments: &[&str]) -> Command {
    println!("$ cargo {}", arguments.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(root);
    command
}

pub(crate) fn finish(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

#[expect(clippy::disallowed_methods, reason = "how long a step took, for the reader of the log")]
fn now() -> Instant {
    Instant::now()
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn adds_up_tests() {
        let output = "running 3 tests\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
            noise: 7 passed\n\
            test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(tally(output), (15, 1));
        assert_eq!(tally(""), (0, 0));
    }

    #[test]
    fn finds_the_slowest_programs() {
        let programs = "   Compiling one\n     Running unittests src/lib.rs (a)\n     Running tests/b.rs (b)\n   Doc-tests c\n";
        let output = "test result: ok. 1 passed; finished in 0.50s\nnoise\n\
            test result: ok. 1 passed; finished in 12.00s\ntest result: ok. 0 passed; finished in 0.00s\n";
        let expected = [
            ("Running tests/b.rs (b)", 12.0),
            ("Running unittests src/lib.rs (a)", 0.5),
            ("Doc-tests c", 0.0),
        ];
        assert_eq!(slowest(programs, output), expected);
        assert_eq!(slowest("", output), []);
    }

    /// Each device's row may be invalid, or left out, but not without saying why.
    #[test]
    fn a_comparison_has_every_row_or_says_why_not() {
        let row = |device: &str, mode: &str, name: &str, verdict: &str| {
            json!({"device": device, "mode": mode, "configuration": name, "verdict": verdict,
                   "forwarded": 1, "medium": {"generator": "kernel"}})
        };
        let (mut rows, mut names) = (Vec::new(), Vec::new());
        for device in COMPARED {
            for (mode, configurations) in ROWS {
                for name in configurations.iter().filter(|name| **name != "bgp-table") {
                    rows.push(row(device, mode, name, "fail"));
                    names.push((*device, *mode, *name));
                }
            }
        }
        let said = compared(&json!({"rows": rows})).unwrap();
        assert!(said.contains("linux kernel: 7 rows sound, 0 invalid, 0 left out"), "{said}");
        let first = names[0];
        rows[0] = row(first.0, first.1, first.2, "invalid");
        assert!(compared(&json!({"rows": rows})).unwrap_err().contains("no evidence"));
        rows[0]["remark"] = json!("the tester's ring");
        assert!(compared(&json!({"rows": rows})).unwrap().contains("6 rows sound, 1 invalid"));
        rows.remove(0);
        assert!(compared(&json!({"rows": rows})).unwrap_err().contains("has no row"));
        let mut setup = row(first.0, first.1, first.2, "");
        setup["omitted"] = json!("no flow tables");
        let said = compared(&json!({"rows": rows, "setups": [setup]})).unwrap();
        assert!(said.contains("6 rows sound, 0 invalid, 1 left out"), "{said}");
    }

    #[test]
    fn names_missing_rows() {
        assert_eq!(missing_rows(&json!({})).len(), 24);
        let row = |size: u64, forwarded: u64| json!({"mode": "routing", "configuration": "none", "frame_size": size, "forwarded": forwarded});
        let missing = missing_rows(&json!({"rows": [row(64, 10), row(512, 0)]}));
        assert!(!missing.contains(&"routing none 64".to_string()), "{missing:?}");
        assert!(missing.contains(&"routing none 512".to_string()), "nothing was forwarded");
        assert_eq!(missing.len(), 23);
    }
}
