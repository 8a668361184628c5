//! `wirespeed test` as a user meets it: a plan in virtual time, an impossible plan.

use std::path::PathBuf;
use std::process::{Command, Output};

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
