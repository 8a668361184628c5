//! `wirespeed test` as a user meets it: a plan in virtual time, an impossible plan.

mod folder;

use folder::{Folder, SMALL, command, text, wirespeed};

#[test]
fn a_plan_in_virtual_time() {
    let folder = Folder::with("plan", SMALL);
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
    assert_eq!(results.plan, SMALL);
}

#[test]
fn impossible_plans_are_refused_with_their_place() {
    let folder = Folder::with("bad", &SMALL.replace("64, 512", "63, 512"));
    let plan = folder.path("plan.toml");
    let out = wirespeed(&["test", &plan, "--virtual"]);
    let stderr = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("plan.toml:8:16: frames of 63 bytes"), "{stderr}");
    assert!(out.stdout.is_empty());
    let out = wirespeed(&["test", &folder.path("none.toml")]);
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
}

/// A run of hours leaves its files, whatever it was called with.
#[test]
fn files_are_written_unless_none_are_wanted() {
    let folder = Folder::with("files", SMALL);
    let left = |of: &str| {
        let files = std::fs::read_dir(folder.path(of)).unwrap().map(|file| file.unwrap().path());
        let mut ends: Vec<_> = files.filter_map(|file| file.extension().map(Into::into)).collect();
        ends.sort();
        ends
    };
    for (options, expected) in [
        (&["--no-files"][..], &["rsc", "toml"][..]),
        (&["--json", "a.json"], &["json", "rsc", "toml"]),
        (&[], &["json", "rsc", "toml"]),
        (&["--output", "runs/of today"], &["json", "rsc", "toml"]),
    ] {
        let mut command = command(&["test", "plan.toml", "--virtual"]);
        let out = command.args(options).current_dir(folder.path("")).output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{options:?}: {}", text(&out.stderr));
        let left: Vec<std::ffi::OsString> = left("");
        assert_eq!(left, expected, "{options:?}");
    }
    for of in ["results", "runs/of today"] {
        assert_eq!(left(of), ["html", "json"], "{of}");
    }
    let mut command = command(&["test", "plan.toml", "--virtual", "--output", "plan.toml/x"]);
    let out = command.current_dir(folder.path("")).output().unwrap();
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("cannot make the folder plan.toml/x"), "{:?}", out.stderr);
}

/// A program that hangs: a key that was pressed twice ends nothing, who asks again a second later does.
#[cfg(unix)]
#[test]
fn asked_twice() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    use std::time::Duration;
    let folder = Folder::with("asked-twice", SMALL);
    // Whoever reads the results takes nothing, and there is no room left.
    let (reader, mut full) = std::io::pipe().unwrap();
    full.write_all(&[0; 1 << 16]).unwrap();
    let mut test = command(&["test", &folder.path("plan.toml"), "--virtual", "--no-files"]);
    let mut child = test.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    // Its last words: what follows are the results.
    assert!(said.any(|line| line.unwrap().starts_with("[4/4] ")));
    let pid = rustix::process::Pid::from_child(&child);
    let ask = |signal| rustix::process::kill_process(pid, signal).unwrap();
    ask(rustix::process::Signal::INT);
    ask(rustix::process::Signal::TERM);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(child.try_wait().unwrap(), None, "the second one was too soon");
    ask(rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last = said.last().unwrap().unwrap();
    assert_eq!(last, "wirespeed: asked twice: ended at once, and the result is not written");
    drop(reader);
}

/// Every plan of ours, and RFC 2544's with each modifier: numbers that can be, whoever checks them.
#[test]
fn no_plan_of_ours_measures_what_cannot_be() {
    let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");
    let folder = Folder::with("all-plans", SMALL);
    let mut all = vec![];
    for file in std::fs::read_dir(plans).unwrap() {
        let path = file.unwrap().path();
        let plan = std::fs::read_to_string(&path).unwrap_or_default();
        if path.extension().is_some_and(|end| end == "toml") && plan.contains("[[procedure]]") {
            all.push(path.display().to_string());
        }
    }
    let each = std::fs::read_to_string(format!("{plans}/rfc2544.toml")).unwrap();
    let (general, _) = each.split_once("[virtual.scaling]").unwrap();
    let general = general.replace("../configs/rfc2544.rsc", "device.rsc");
    let config = std::fs::read(format!("{plans}/../configs/rfc2544.rsc")).unwrap();
    folder.write("device.rsc", config);
    let short = "[virtual.scaling]\ndivide-durations-by = 300.0\nshortest = \"50ms\"\n\
                 repetitions-at-most = 1\nframe-sizes = [64, 512]\nprecision = \"0.5%\"\n";
    all.push(folder.write("each.toml", format!("{general}{short}")));
    assert!(all.len() > 8, "{all:?}");
    for plan in all {
        let json = folder.path("result.json");
        let out = wirespeed(&["test", &plan, "--virtual", "--json", &json]);
        assert_eq!(out.status.code(), Some(0), "{plan}: {}", text(&out.stderr));
        let out = wirespeed(&["report", "check", &json]);
        let said = text(&out.stdout) + &text(&out.stderr);
        assert_eq!((out.status.code(), said.as_str()), (Some(0), ""), "{plan}");
    }
}

/// What would change nothing is refused, each in a sentence.
#[test]
fn options_that_would_do_nothing() {
    let folder = Folder::with("idle", SMALL);
    let plan = folder.path("plan.toml");
    for (option, expected) in [
        (&["--quick"][..], "--quick would change nothing"),
        (&["--link", "10M"], "the wires of virtual time are the plan's"),
    ] {
        let out = wirespeed(&[&["test", &plan, "--virtual"], option].concat());
        let stderr = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    }
}

/// Runs of one command against each other, and not of two.
#[test]
fn runs_are_compared() {
    let data = |name: &str| format!("{}/../report/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let [suite, tcp, bench, iperf3] =
        ["test-2.json", "test-2-tcp.json", "bench-2.json", "iperf3-1.json"].map(data);
    for (base, other, code, expected) in [
        (&suite, &suite, 0, "throughput[rfc2544 0.02s 0 loss]"),
        (&iperf3, &iperf3, 0, ": L3"),
        (&bench, &bench, 0, "verdict"),
        (&suite, &tcp, 2, "the runs have nothing in common to compare"),
        (&bench, &suite, 2, "has results of `test`, and the others of `bench`"),
        (&iperf3, &bench, 2, "has results of `bench`, and the others of `iperf3`"),
    ] {
        for two in [&["--base", base, other][..], &[base, other]] {
            let out = wirespeed(&[&["report", "compare"], two].concat());
            let said = text(&out.stdout) + &text(&out.stderr);
            assert_eq!(out.status.code(), Some(code), "{said}");
            assert!(said.contains(expected), "{expected} in {said}");
        }
    }
}

/// One file that is none keeps no other from being checked.
#[test]
fn files_are_checked_each() {
    let folder = Folder::with("each", SMALL);
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/data/check/S4-interface-rates.csv");
    let (words, none) = (folder.write("words.csv", "a,b\n1,2\n"), folder.path("none.csv"));
    for (files, code, parts) in [
        (
            vec![words.as_str(), none.as_str(), table],
            1,
            vec!["not checked", "cannot read", "rx 60 in 11 rows"],
        ),
        (vec![&none, &words], 3, vec!["not checked", "cannot read"]),
        (vec![&words], 2, vec!["no columns to check: there are `a`, `b`"]),
    ] {
        let out = wirespeed(&[&["report", "check"], files.as_slice()].concat());
        let said = text(&out.stdout) + &text(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}
