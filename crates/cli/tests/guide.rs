//! The commands of README.md and of docs/guide/: whoever types them gets what the page says.
//!
//! ```text
//!  a ```sh block        ─► really run, in a folder with the repository's plans, labs, configs, results
//!  a ```sh parse block  ─► it needs root, interfaces or minutes: its command, options and files are there
//! ```

// A folder of one's own.
mod folder;

use folder::Folder;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A line of a block, continued ones together, without what it says of itself.
struct Line {
    page: String,
    text: String,
    is_run: bool,
}

/// The lines of all blocks of a page that are marked `sh`.
fn lines(page: &str, text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = vec![];
    let (mut block, mut goes_on) = (None, false);
    for line in text.lines() {
        if let Some(info) = line.strip_prefix("```") {
            block = match (block, info) {
                (None, info) => Some(info.to_string()),
                (Some(_), _) => None,
            };
            continue;
        }
        let is_run = match block.as_deref() {
            Some("sh") => true,
            Some("sh parse") => false,
            Some(info) if info.starts_with("sh") => panic!("{page}: a block of `{info}`"),
            _ => continue,
        };
        let line = line.split("  # ").next().unwrap_or_default().trim();
        let (text, more) = line.strip_suffix('\\').map_or((line, false), |text| (text, true));
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => last.text += text,
            None => lines.push(Line { page: page.to_string(), text: text.to_string(), is_run }),
        }
        goes_on = more;
    }
    lines
}

fn all() -> Vec<Line> {
    let guide = std::fs::read_dir(format!("{ROOT}/docs/guide")).unwrap();
    let mut pages: Vec<PathBuf> = guide.map(|page| page.unwrap().path()).collect();
    pages.push(Path::new(ROOT).join("README.md"));
    pages.sort();
    let read = |page: &PathBuf| {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        lines(&name, &std::fs::read_to_string(page).unwrap())
    };
    pages.iter().flat_map(read).collect()
}

fn help(subcommands: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
    let out = command.args(subcommands).arg("--help").output().unwrap();
    assert!(out.status.success(), "{subcommands:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// What of a command of ours is not there; empty if nothing.
fn missing(words: &[&str]) -> Vec<String> {
    let n = if matches!(words[0], "lab" | "report" | "calc") { 2 } else { 1 };
    let n = if words[0].starts_with('-') { 0 } else { n };
    let (subcommands, rest) = words.split_at(n);
    let help = help(subcommands);
    let mut missing = vec![];
    for word in rest {
        let option = word.split('=').next().unwrap_or_default();
        // Options stand at the beginning of their line there, or behind a short one.
        let is_there = |line: &str| {
            line.trim_start().split([' ', '=', '[', ',']).take(3).any(|found| found == option)
        };
        if option.starts_with("--") && !help.lines().any(is_there) {
            missing.push(format!("{subcommands:?} has no {option}"));
        }
        let is_ours = ["plans/", "labs/", "configs/"].iter().any(|of| word.starts_with(of));
        if is_ours && !Path::new(ROOT).join(word).exists() {
            missing.push(format!("no file {word}"));
        }
    }
    missing
}

/// The words of ours in a line, if it starts our program.
fn ours(text: &str) -> Option<Vec<&str>> {
    let text = text.strip_prefix("sudo ").unwrap_or(text);
    let built = text.strip_prefix("cargo run --release -- ");
    let words = built.or_else(|| text.strip_prefix("wirespeed "))?;
    Some(words.split_whitespace().collect())
}

#[test]
fn every_command_has_its_options_and_files() {
    let mut wrong = vec![];
    for Line { page, text, .. } in all() {
        match ours(&text) {
            Some(words) => wrong.extend(missing(&words).iter().map(|why| format!("{page}: {why}"))),
            // README's other commands are cargo's, and what goes into ours comes from the shell.
            None if text == "cargo test" || text.contains("| wirespeed ") => {}
            None if text == "cargo install --path crates/cli" => {
                assert!(Path::new(ROOT).join("crates/cli/Cargo.toml").exists());
            }
            None => wrong.push(format!("{page}: whose command is `{text}`?")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let bad = ["report", "compare", "--frobnicate", "plans/none.toml"];
    assert_eq!(missing(&bad).len(), 2, "{:?}", missing(&bad));
}

/// What runs in moments and needs no rights does what it is written for.
#[test]
#[cfg(unix)]
fn what_is_cheap_really_runs() {
    let folder = Folder::with("guide", "");
    for name in ["plans", "labs", "configs", "captures"] {
        let from = std::fs::canonicalize(Path::new(ROOT).join(name)).unwrap();
        std::os::unix::fs::symlink(from, folder.path(name)).unwrap();
    }
    // A folder of its own: whatever a run leaves goes with it.
    std::fs::create_dir(folder.path("results")).unwrap();
    for file in std::fs::read_dir(Path::new(ROOT).join("results")).unwrap() {
        let file = std::fs::canonicalize(file.unwrap().path()).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if file.is_file() {
            std::os::unix::fs::symlink(&file, folder.path(&format!("results/{name}"))).unwrap();
        }
    }
    let program = Path::new(env!("CARGO_BIN_EXE_wirespeed")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut n = 0;
    for Line { page, text, .. } in all().into_iter().filter(|line| line.is_run) {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-ec", &text]).current_dir(folder.path(".")).env("PATH", &path);
        let out = shell.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        // A machine that other programs have for themselves has no figures, and says so.
        let is_busy = text.contains(" bench ") && said.contains("every row was invalid");
        assert!(out.status.success() || is_busy, "{page}: {text}: {said}");
        n += 1;
    }
    assert!(n > 10, "{n} lines");
}

/// Examples of `--help` name files that exist, or files of the reader's.
#[test]
fn help_names_files_that_exist() {
    let parts: [&[&str]; 8] = [
        &["bench"],
        &["test"],
        &["iperf3"],
        &["lab"],
        &["router"],
        &["console"],
        &["calc"],
        &["report"],
    ];
    for part in parts.iter().filter(|part| cfg!(target_os = "linux") || part[0] != "iperf3") {
        let help = help(part);
        for word in help.split(|c: char| c.is_whitespace() || c == ')' || c == ',') {
            let read = ["plans/", "labs/", "configs/", "results/2"];
            let is_ours = read.iter().any(|of| word.starts_with(of));
            assert!(!is_ours || Path::new(ROOT).join(word).exists(), "{part:?} names {word}");
        }
    }
}

#[test]
fn what_the_program_says_of_itself() {
    let all = help(&[]);
    let first = all.lines().next().unwrap_or_default();
    assert!(first.contains("router") && first.contains("how fast"), "{first}");
    let out = Command::new(env!("CARGO_BIN_EXE_wirespeed")).arg("--version").output().unwrap();
    let version = String::from_utf8(out.stdout).unwrap();
    let expected = format!("wirespeed {}", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(&expected), "{version}");
    // A worktree's `.git` is a file.
    let is_of_git = Path::new(ROOT).join(".git").exists();
    assert_eq!(version.contains(" ("), is_of_git, "{version}");
}

/// One screen, and the two commands that CI and readers type.
#[test]
fn the_readme_is_one_screen() {
    let text = std::fs::read_to_string(format!("{ROOT}/README.md")).unwrap();
    assert!(text.lines().count() <= 80, "{} lines", text.lines().count());
    for command in ["cargo run --release -- bench", "cargo test", "cargo install --path crates/cli"]
    {
        assert!(text.lines().any(|line| line.starts_with(command)), "{command}");
    }
}
