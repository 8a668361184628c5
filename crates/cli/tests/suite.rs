//! `wirespeed test` as a user meets it: a plan in virtual time, an impossible plan, ctrl-C.

// How long something took is read here, at the edge.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PLAN: &str = r#"
name = "small"
[device]
configuration = "device.rsc"
[medium]
link = "10G"
[traffic]
frame-sizes = [64, 512]
flows = "pair"
[[procedure]]
kind = "throughput"
[[procedure]]
kind = "frame-loss"
"#;

/// A folder with a plan and a device's configuration, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, plan: &str) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("wirespeed-suite-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("plan.toml"), plan).unwrap();
        let device = "/ip address add address=198.18.1.1/24 interface=ether1\n\
                      /ip address add address=198.19.1.1/24 interface=ether2\n";
        std::fs::write(folder.join("device.rsc"), device).unwrap();
        Folder(folder)
    }

    fn path(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn wirespeed(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirespeed")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_plan_in_virtual_time() {
    let folder = Folder::with("plan", PLAN);
    let (plan, json, html) =
        (folder.path("plan.toml"), folder.path("a.json"), folder.path("a.html"));
    let out = wirespeed(&["test", &plan, "--virtual", "--json", &json, "--html", &html]);
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{stdout}{stderr}");
    for expected in
        ["Throughput (RFC 2544 §26.1)", "SHORTENED: durations divided by 300", "512", "0 loss]"]
    {
        assert!(stdout.contains(expected), "{expected} in {stdout}");
    }
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("<svg") && page.contains("the wire (theoretical)"));
    let results = report::suite::read(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!((results.complete, results.cells.len()), (true, 4));
    assert_eq!(results.plan, PLAN);
}

#[test]
fn impossible_plans_are_refused_with_their_place() {
    let folder = Folder::with("bad", &PLAN.replace("64, 512", "63, 512"));
    let plan = folder.path("plan.toml");
    let out = wirespeed(&["test", &plan, "--virtual"]);
    let stderr = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("plan.toml:8:16: frames of 63 bytes"), "{stderr}");
    assert!(out.stdout.is_empty());
    let out = wirespeed(&["test", &folder.path("none.toml")]);
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
}

#[test]
fn figures_survive_a_full_disk() {
    if !std::path::Path::new("/dev/full").exists() {
        eprintln!("skipped: no /dev/full here");
        return;
    }
    let folder = Folder::with("full", PLAN);
    let out = wirespeed(&["test", &folder.path("plan.toml"), "--virtual", "--json", "/dev/full"]);
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(3), "{stderr}");
    assert!(
        stderr.contains("No space left on device") && stderr.contains("printed above"),
        "{stderr}"
    );
    assert!(stdout.contains("Frame loss rate"), "{stdout}");
}

#[test]
fn ctrl_c_ends_it_and_keeps_what_there_is() {
    // Hours, if nobody stopped it.
    let long = format!(
        "{PLAN}\n[virtual]\nlink = \"10G\"\n[virtual.scaling]\ndivide-durations-by = 1.0\n"
    );
    let folder = Folder::with("interrupted", &long);
    let (plan, json) = (folder.path("plan.toml"), folder.path("a.json"));
    let child = Command::new(env!("CARGO_BIN_EXE_wirespeed"))
        .args(["test", &plan, "--virtual", "--json", &json])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It runs when it has seen that the file can be written, and its signals are its own then.
    let begun = Instant::now();
    while !std::path::Path::new(&json).exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let stopped = Instant::now();
    let out = child.wait_with_output().unwrap();
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(1), "{stdout}{stderr}");
    assert!(stopped.elapsed() < Duration::from_secs(5), "{:?}", stopped.elapsed());
    assert!(stdout.contains("INCOMPLETE: interrupted"), "{stdout}{stderr}");
    let results = report::suite::read(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(
        (results.complete, results.incomplete_because.as_deref()),
        (false, Some("interrupted"))
    );
}
