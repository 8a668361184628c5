//! Failures in a user's hands: full disks, files that are none, addresses of other people, and ctrl-C. No
//! measured result is lost, and every refusal is one line.

mod folder;
#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;

use folder::{Folder, SMALL, command, text};
use port::linux::Namespace;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

/// Runs it, and returns its exit code, what it printed, and its errors.
fn wirespeed(arguments: &[&str]) -> (Option<i32>, String, String) {
    told(command(arguments).output().unwrap())
}

fn told(output: Output) -> (Option<i32>, String, String) {
    let [out, err] = [output.stdout, output.stderr].map(|bytes| text(&bytes));
    (output.status.code(), out, err)
}

/// Two processors, which a tester and a device by the clock take.
fn are_two() -> bool {
    let two = lab::placement::pair().is_some();
    if !two {
        left_out::left_out("one processor");
    }
    two
}

#[test]
fn figures_survive_a_full_disk() {
    let folder = Folder::with("full", SMALL);
    let plan = folder.path("plan.toml");
    let iperf3 = "name = \"t\"\ndevices = [\"direct\"]\npackets = [1500]\npairs = 1\n\
                  duration = \"1s\"\nwarm-up = \"1s\"\nlink = \"20M\"\n";
    let iperf3 = folder.write("iperf3.toml", iperf3);
    let bench = "bench --cores=1 --duration=1ms --sizes=128 --modes=routing --configurations=none";
    for (line, figures) in [
        (format!("test {plan} --virtual --json /dev/full"), "Frame loss rate"),
        (format!("test {plan} --virtual --html /dev/full"), "Frame loss rate"),
        (format!("test {plan} --virtual --json /dev/full --html /dev/full"), "Frame loss rate"),
        (format!("{bench} --json /dev/full"), "none (fast path)"),
        (format!("iperf3 {iperf3} --json /dev/full"), "1500"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "iperf3" {
            if left_out::lacks(&["iperf3", "ip", "tc"]) {
                continue;
            }
            if let Err(unavailable) = Namespace::new() {
                left_out::left_out(unavailable);
                continue;
            }
        }
        // Where the results then go.
        let (code, out, err) =
            told(command(&words).current_dir(folder.path(".")).output().unwrap());
        assert_eq!(code, Some(3), "{line}: {err}");
        assert!(out.contains(figures), "{line}: {out}");
        for expected in ["/dev/full", "No space left on device", "the figures are printed above"] {
            assert!(err.contains(expected), "{line}: {expected} in {err}");
        }
        let last = err.lines().last().unwrap_or_default();
        assert_eq!(
            last.matches("No space left").count(),
            line.matches("/dev/full").count(),
            "{err}"
        );
    }
}

/// What is read is not written over, and no file is written twice, however it is spelt: refused before
/// anything is run.
#[test]
fn a_file_for_each() {
    let folder = Folder::with("apart", SMALL);
    let plan = folder.path("plan.toml");
    let (a, again) = (folder.path("a"), folder.path("./a"));
    let page = folder.write("same.json", include_str!("../../report/data/test-1.json"));
    let device = folder.path("./device.rsc");
    std::fs::hard_link(&plan, folder.path("hard.pcap")).unwrap();
    std::os::unix::fs::symlink("plan.toml", folder.path("soft.json")).unwrap();
    let files = || {
        let of = |entry: std::io::Result<std::fs::DirEntry>| {
            let path = entry.unwrap().path();
            (path.clone(), std::fs::read(path).unwrap())
        };
        let mut all: Vec<_> = std::fs::read_dir(folder.path(".")).unwrap().map(of).collect();
        all.sort();
        all
    };
    let before = files();
    for (line, expected) in [
        (
            format!("test {plan} --virtual --json {a} --html {again}"),
            "--json is written there, too",
        ),
        (format!("test {plan} --virtual --json - --html -"), "--json is written there, too"),
        (format!("test {plan} --virtual --json {plan}"), "that is the plan"),
        (format!("test {plan} --virtual --html {}", folder.path("soft.json")), "that is the plan"),
        (format!("test {plan} --pcap {}", folder.path("hard.pcap")), "that is the plan"),
        (format!("test {plan} --virtual --json {device}"), "that is the device's configuration"),
        (format!("report html {page} --output {page}"), "that is the results"),
        (format!("bench --routes {page} --json {page}"), "that is the table of routes"),
    ] {
        let (code, out, err) = wirespeed(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((code, out.as_str()), (Some(2), ""), "{line}: {err}");
        assert!(err.contains(expected) && err.lines().count() == 1, "{line}: {err}");
        assert!(files() == before, "{line}");
    }
}

/// By the clock and in virtual time: nothing more is sent (`lab::suite`'s tests count that), what
/// there is is printed and written, and the file is read again.
#[test]
fn ctrl_c_ends_it_and_keeps_what_there_is() {
    // Hours, if nobody stopped it.
    let long = format!(
        "{SMALL}\n[virtual]\nlink = \"10G\"\n[virtual.scaling]\ndivide-durations-by = 1.0\n"
    );
    let folder = Folder::with("interrupted", &long);
    let plan = folder.path("plan.toml");
    for (name, how, code) in [
        ("virtual", &["--virtual"][..], "INT"),
        ("real", &[][..], "INT"),
        ("ended", &["--virtual"][..], "TERM"),
    ] {
        if name == "real" && !are_two() {
            continue;
        }
        let [json, html] = ["json", "html"].map(|end| folder.path(&format!("{name}.{end}")));
        let mut command = command(&["test", &plan, "--json", &json, "--html", &html]);
        let child = command.args(how).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        // It runs when its signals are its own; SIGTERM, 15, is the second.
        let status = format!("/proc/{}/status", child.id());
        let catches = || {
            let status = std::fs::read_to_string(&status).unwrap_or_default();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            mask.is_some_and(|mask| mask & 1 << (15 - 1) != 0)
        };
        while !catches() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(200));
        let pid = rustix::process::Pid::from_child(&child);
        let signal = match code {
            "INT" => rustix::process::Signal::INT,
            _ => rustix::process::Signal::TERM,
        };
        rustix::process::kill_process(pid, signal).unwrap();
        let (code, out, err) = told(child.wait_with_output().unwrap());
        assert_eq!(code, Some(1), "{name}: {out}{err}");
        let results = report::suite::read(&std::fs::read_to_string(&json).unwrap()).unwrap();
        let why = results.incomplete_because.as_deref();
        if name == "real" && why != Some("interrupted") {
            let busy = format!("too busy a machine for a tester and a device: {why:?}");
            left_out::left_out_in_part(busy);
            continue;
        }
        assert_eq!((results.complete, why), (false, Some("interrupted")), "{name}");
        assert!(out.contains("INCOMPLETE: interrupted"), "{name}: {out}{err}");
        assert!(err.ends_with("wirespeed: incomplete: interrupted\n"), "{name}: {err}");
        assert!(std::fs::read_to_string(&html).unwrap().contains("interrupted"), "{name}");
        // And the file is read again, by whoever asks.
        for (again, code, expected) in [
            (["report", "check", &json], 1, "the run is incomplete: interrupted"),
            (["report", "table", &json], 0, "INCOMPLETE: interrupted"),
        ] {
            let (found, out, err) = wirespeed(&again);
            assert_eq!((found, out.contains(expected)), (Some(code), true), "{name}: {out}{err}");
        }
    }
}

/// What is killed cannot write its results: what there was a while ago stands beside them.
#[test]
fn a_killed_suite_leaves_what_there_was() {
    if !are_two() {
        return;
    }
    let (general, _) = SMALL.split_once("[[procedure]]").unwrap();
    let quick_one = "[[procedure]]\nkind = \"frame-loss\"\nduration = \"20ms\"\n";
    let plan = format!("{general}{quick_one}[[procedure]]\nkind = \"throughput\"\n");
    let folder = Folder::with("killed", &plan);
    let (plan, json) = (folder.path("plan.toml"), folder.path("a.json"));
    let so_far = format!("{json}.so-far");
    let mut command = command(&["test", &plan, "--quick", "--json", &json]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    while !Path::new(&so_far).exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    let (_, out, err) = told(child.wait_with_output().unwrap());
    if err.contains("incomplete: ") {
        left_out::left_out_in_part(format!("too busy a machine for a tester and a device: {err}"));
        return;
    }
    assert!(!Path::new(&json).exists() && Path::new(&so_far).exists(), "{out}{err}");
    let (code, out, err) = wirespeed(&["report", "table", &so_far]);
    assert_eq!(code, Some(0), "{out}{err}");
    for part in ["INCOMPLETE: this is what there was while the run went on", "Frame loss"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn files_that_are_no_results() {
    let folder = Folder::with("files", SMALL);
    let whole = include_str!("../../report/data/test-1.json");
    let of_bench = include_str!("../../report/data/bench-2.json");
    let good = folder.write("good.json", of_bench);
    let newer = |text: &str, from: &str, to: &str| text.replacen(from, to, 1);
    let unlike = |text: &str| newer(text, "\"environment\"", "\"surroundings\"");
    std::fs::create_dir(folder.path("folder.json")).unwrap();
    for (name, content, expected) in [
        ("none.json", None, "cannot read"),
        ("folder.json", None, "cannot read"),
        ("bytes.json", Some(vec![0xff, 0xfe, 0, 1]), "cannot read"),
        ("empty.json", Some(vec![]), ""),
        ("words.json", Some(b"no results yet".to_vec()), ""),
        ("cut.json", Some(whole[..whole.len() / 2].into()), "not JSON: EOF while parsing"),
        ("bench-cut.json", Some(of_bench[..of_bench.len() - 9].into()), "not JSON: EOF while"),
        ("other.json", Some(b"{\"a\": 1}".to_vec()), "no result file: it has no \"schema\""),
        ("foreign.json", Some(b"{\"schema\": \"x/1\"}".to_vec()), "of the format \"x/1\""),
        (
            "new.json",
            Some(newer(whole, "wirespeed-test/1", "wirespeed-test/3").into()),
            "of the format \"wirespeed-test/3\"; this version reads \"wirespeed-test/2\" and older",
        ),
        (
            "bench-new.json",
            Some(newer(of_bench, "wirespeed-bench/2", "wirespeed-bench/9").into()),
            "of the format \"wirespeed-bench/9\"; this version reads \"wirespeed-bench/2\" and older",
        ),
        (
            "bench-damaged.json",
            Some(unlike(of_bench).into()),
            "a damaged \"wirespeed-bench/2\" file",
        ),
    ] {
        let path = content.map_or(folder.path(name), |content| folder.write(name, content));
        let page = folder.path("page.html");
        for what in [
            vec!["check", &path],
            vec!["check", &good, &path],
            vec!["table", &path],
            vec!["table", "--format", "csv", &path],
            vec!["html", &path, "--output", &page],
            vec!["compare", &good, &path],
            vec!["compare", "--base", &path, &good],
        ] {
            let (code, out, err) = wirespeed(&[&["report"], &what[..]].concat());
            let expected_code = if expected == "cannot read" { 3 } else { 2 };
            assert_eq!(code, Some(expected_code), "{what:?}: {out}{err}");
            assert_eq!((out.as_str(), err.lines().count()), ("", 1), "{what:?}: {err}");
            for part in [expected, path.as_str(), "wirespeed: "] {
                assert!(err.contains(part), "{what:?}: {part} in {err}");
            }
            assert!(!Path::new(&page).exists(), "{what:?}");
        }
    }
    // The right file for the wrong command, and a page that nobody can keep.
    let suite = folder.write("suite.json", whole);
    let table = folder.write("table.csv", "device,size,kpps\nRB1,64,1\nRB2,64,1\n");
    let words = folder.write("words.csv", "chain,rules\nforward,25\n");
    for (what, code, expected) in [
        (vec!["compare", "--base", &good, &suite], 2, "has results of `test`, and the others of"),
        (vec!["compare", &good], 2, "one file without --base: `report compare A B` takes two"),
        (vec!["compare", &good, &good, &good], 2, "3 files without --base: `report compare A B`"),
        (vec!["table", "--format", "trials", &good], 2, "kept no trials of `bench`"),
        (
            vec!["check", &table, "--link", "C=1G"],
            2,
            "--link: no device's name begins with `C`: there are RB1, RB2",
        ),
        (vec!["check", &words], 2, "there are `chain`, `rules`; looked for is a frame size"),
        (vec!["html", &suite, "--output", "/dev/full"], 3, "cannot write /dev/full: No space left"),
        (vec!["html", &suite, "--output", "/nowhere/a.html"], 3, "cannot write /nowhere/a.html"),
    ] {
        let (found, out, err) = wirespeed(&[&["report"], &what[..]].concat());
        assert_eq!((found, out.as_str()), (Some(code), ""), "{what:?}: {err}");
        assert!(err.contains(expected) && err.lines().count() == 1, "{what:?}: {err}");
    }
}

/// What could reach somebody is refused before any interface is looked at: those that are named here
/// do not exist, which nobody notices (RFC 6815).
#[test]
fn addresses_of_other_people() {
    let elsewhere = SMALL.replace("flows", "networks = [\"10.0.0.0/24\", \"10.0.1.0/24\"]\nflows");
    let folder = Folder::with("addresses", SMALL);
    let (plan, elsewhere) = (folder.path("plan.toml"), folder.write("elsewhere.toml", &elsewhere));
    let ports = "--device external --port a=xdp:no-such-1 --port b=packet:no-such-2";
    let why = "198.18.0.0/15";
    let there = "--address b=192.168.7.9/24 --gateway b=192.168.7.1";
    for (line, code, expected) in [
        (format!("test {elsewhere} {ports}"), 2, why),
        (format!("test {plan} {ports} {there}"), 2, why),
        (format!("test {plan} {ports} --pcap {}", folder.path("a.pcap")), 3, "no-such-1"),
        (format!("bench {ports} {there}"), 2, why),
        // Whoever says so may, and then the interface is what is missing.
        (format!("test {elsewhere} {ports} --allow-any-address"), 3, "no-such-1"),
        (format!("test {plan} {ports} {there} --allow-any-address"), 3, "no-such-1"),
        (format!("test {plan} {ports}"), 3, "no-such-1"),
        (format!("bench {ports} {there} --allow-any-address"), 3, "no-such-1"),
    ] {
        let (found, out, err) = wirespeed(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((found, out.as_str()), (Some(code), ""), "{line}: {err}");
        assert!(err.contains(expected) && err.lines().count() == 1, "{line}: {err}");
        assert_eq!(err.contains("RFC 6815"), code == 2, "{line}: {err}");
        assert!(code == 3 || !err.contains("no-such"), "{line}: {err}");
    }
}
