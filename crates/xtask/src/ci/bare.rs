//! The tests on a bare machine: whoever clones this has no iperf3, and is to see each test pass, or
//! be left out with a line that says what it needs.
//!
//! ```text
//!  PATH, without what .ci/run installs ─► target/bare, a folder of links ─► cargo test, CI not set
//! ```
//!
//! Only tests that say that they take programs are run: test programs as a whole, unit tests by their modules.
//! The rest is the same on any machine. Nothing is installed or taken away: a program is hidden by not being in
//! the folder. Most of the time is that of tests that need no more than `ip`.

use super::test_command;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Programs of `.ci/run` that a bare machine has as well: tests of real networks that need no more
/// are run.
const STAYS: &[&str] = &["cc", "gzip", "ip", "sysctl"];

/// What a test program that may be left out calls, itself or in a module that it shares with others.
const SAYS: &[&str] = &["lacks(", "left_out("];

/// What a file with such unit tests names: the module that has both.
const UNIT_SAYS: &str = "left_out::";

/// Modules that test programs share, by their folders in `tests`.
const SHARED: &[&str] = &["rig", "veth"];

/// Runs them.
pub(super) fn run(root: &Path) -> Result<(), String> {
    let script = read(&root.join(".ci/run"))?;
    let hidden = hidden(&script);
    if hidden.len() < 10 {
        return Err(format!(".ci/run has these tools only: {hidden:?}"));
    }
    let folder = root.join("target/bare");
    let path = std::env::var_os("PATH").unwrap_or_default();
    link(std::env::split_paths(&path), &hidden, &folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    // Of all crates, as in the step before: with a choice of crates much would be built anew.
    let tests = programs(root)?;
    let words: Vec<&str> = tests.iter().flat_map(|test| ["--test", test]).collect();
    let modules = modules(root)?;
    let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
    let mut left_out = 0;
    for words in
        [[&["test"], &words[..]].concat(), [&["test", "--lib", "--"], &modules[..]].concat()]
    {
        let mut command = test_command(root, &words);
        command.env("PATH", &folder).env_remove("CI").stderr(Stdio::piped());
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            println!("{}{said}", String::from_utf8_lossy(&output.stdout));
            return Err(format!("{command:?}: {}", output.status));
        }
        left_out += said.lines().filter(|line| line.starts_with("left out")).count();
    }
    println!("{left_out} left out, the others passed; hidden were {}", hidden.join(" "));
    if left_out > 0 {
        Ok(())
    } else {
        Err("nothing was left out: was anything hidden?".to_string())
    }
}

/// The commands in `.ci/run`'s list of `command=package` that are hidden.
fn hidden(script: &str) -> Vec<&str> {
    let list = script.split("tools=(").nth(1).and_then(|rest| rest.split(')').next());
    let names = list.unwrap_or("").split_whitespace().filter_map(|pair| pair.split('=').next());
    names.filter(|name| !STAYS.contains(name)).collect()
}

/// Makes the folder hold a link to each file of the others but for the hidden ones; what comes first
/// wins, as in `PATH`.
fn link(
    from: impl Iterator<Item = PathBuf>,
    hidden: &[&str],
    folder: &Path,
) -> std::io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let mut seen = BTreeSet::new();
    // What `PATH` names need not be there.
    for entry in from.filter_map(|at| fs::read_dir(at).ok()).flatten().flatten() {
        let name = entry.file_name();
        let is_hidden = name.to_str().is_some_and(|name| hidden.contains(&name));
        if !is_hidden && seen.insert(name.clone()) {
            std::os::unix::fs::symlink(entry.path(), folder.join(name))?;
        }
    }
    Ok(())
}

/// The names of test programs that may be left out.
fn programs(root: &Path) -> Result<BTreeSet<String>, String> {
    let mut programs = BTreeSet::new();
    for name in entries(&root.join("crates"))? {
        let tests = name.join("tests");
        for path in if tests.is_dir() { entries(&tests)? } else { vec![] } {
            let main = if path.is_dir() { path.join("main.rs") } else { path.clone() };
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            if main.extension().is_some_and(|is| is == "rs") && main.is_file() {
                let text = read(&main)?;
                let mut modules =
                    SHARED.iter().filter(|name| text.contains(&format!("mod {name};")));
                // A module that is not in this crate is another's, which says it.
                let module_says = |name: &&str| {
                    read(&tests.join(name).join("mod.rs")).map_or(true, |text| says(&text))
                };
                if says(&text) || modules.any(module_says) {
                    programs.insert(name.to_string());
                }
            }
        }
    }
    Ok(programs)
}

/// The modules whose unit tests may be left out, as words of their names.
fn modules(root: &Path) -> Result<BTreeSet<String>, String> {
    let (mut modules, mut folders) = (BTreeSet::new(), Vec::new());
    folders.extend(entries(&root.join("crates"))?.into_iter().map(|path| path.join("src")));
    while let Some(folder) = folders.pop() {
        for path in if folder.is_dir() { entries(&folder)? } else { vec![] } {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|is| is == "rs")
                && path.file_name().is_some_and(|name| name != "bare.rs")
                && read(&path)?.contains(UNIT_SAYS)
            {
                let name = |path: &Path| path.file_stem()?.to_str().map(str::to_owned);
                let own = name(&path).filter(|name| !["mod", "tests"].contains(&name.as_str()));
                modules.extend(own.or_else(|| name(&folder)).map(|name| format!("{name}::")));
            }
        }
    }
    Ok(modules)
}

fn says(text: &str) -> bool {
    SAYS.iter().any(|words| text.contains(words))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let all = fs::read_dir(folder).and_then(|all| all.map(|entry| Ok(entry?.path())).collect());
    all.map_err(|error| format!("{}: {error}", folder.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn what_ci_installs_is_hidden() {
        let script = read(&root().join(".ci/run")).unwrap();
        let hidden = hidden(&script);
        for name in ["ethtool", "nft", "ping", "iperf3", "tshark", "python3"] {
            assert!(hidden.contains(&name), "{name}: {hidden:?}");
        }
        assert!(!hidden.contains(&"ip") && !hidden.contains(&"cc"), "{hidden:?}");
        assert!(super::hidden("nothing").is_empty());
    }

    #[test]
    fn programs_that_take_others_are_found() {
        let found = programs(&root()).unwrap();
        for (takes, takes_none) in [
            ("packet", "slabs"),
            ("witnesses", "tcp_memory"),
            ("wires", "simulated"),
            ("kernel", "differential"),
            ("routers", "calc"),
        ] {
            assert!(found.contains(takes) && !found.contains(takes_none), "{found:?}");
        }
    }

    #[test]
    fn modules_whose_tests_take_others_are_found() {
        let found = modules(&root()).unwrap();
        for name in ["netlink::", "namespace::", "stacks::"] {
            assert!(found.contains(name), "{found:?}");
        }
        assert!(found.len() < 20, "{found:?}");
    }

    #[test]
    fn the_first_of_a_name_wins_and_the_hidden_are_not_there() {
        let home = std::env::temp_dir().join(format!("wirespeed-bare-{}", std::process::id()));
        let [a, b, to] = ["a", "b", "to"].map(|name| home.join(name));
        for (folder, name) in [(&a, "sh"), (&b, "sh"), (&b, "ip"), (&b, "nft")] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(name), "").unwrap();
        }
        // A second time, too.
        for _ in 0..2 {
            let from = [a.clone(), home.join("none"), b.clone()].into_iter();
            link(from, &["nft"], &to).unwrap();
            assert_eq!(fs::read_link(to.join("sh")).unwrap(), a.join("sh"));
            assert!(to.join("ip").is_file() && !to.join("nft").exists());
        }
        fs::remove_dir_all(home).unwrap();
    }
}
