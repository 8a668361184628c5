//! `wirespeed bench` as its user meets it: what it refuses and how, and what it writes.

use measure::{Family, Mode};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn wirespeed(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wirespeed")).args(arguments).output().unwrap()
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn refusals() {
    let empty = scratch("empty.txt");
    std::fs::write(&empty, "# nothing\n2001:db8::/32\n").unwrap();
    let four = scratch("four.txt");
    std::fs::write(&four, "1.0.0.0/24\n").unwrap();
    let wrong = scratch("wrong.txt");
    std::fs::write(&wrong, "1.0.0.0/24\nnot a prefix\n").unwrap();
    let not_gzip = scratch("not.gz");
    std::fs::write(&not_gzip, "1.0.0.0/24\n").unwrap();
    let [empty, four, wrong, not_gzip] =
        [&empty, &four, &wrong, &not_gzip].map(|path| path.to_str().unwrap());
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&[], 2, &["Usage: wirespeed <COMMAND>"]),
        (&["frobnicate"], 2, &["unrecognized subcommand 'frobnicate'"]),
        (&["bench", "--sizes", "20"], 2, &["'20'", "smallest Ethernet frame has 64 bytes"]),
        (&["bench", "--sizes", "64,9861"], 2, &["'9861'", "that is sent here has 9860 bytes"]),
        (&["bench", "--sizes", "big"], 2, &["'big'", "a number of bytes, 64 to 9860"]),
        (&["bench", "--modes", "switching"], 2, &["the modes are: bridging, routing"]),
        (
            &["bench", "--configurations", "nat"],
            2,
            &["the configurations are: none, 25-filter-rules, ", "bgp-table"],
        ),
        (
            &["bench", "--modes", "bridging", "--configurations", "fasttrack"],
            2,
            &["no such row: the configurations of this mode are none, 25-filter-rules"],
        ),
        (&["bench", "--family", "ipx"], 2, &["the families are: ipv4, ipv6"]),
        (
            &["bench", "--family", "ipv6", "--sizes", "64,512"],
            2,
            &["--sizes 64: an IPv6 test frame has at least 84 bytes"],
        ),
        (
            &["bench", "--family=ipv4,ipv6", "--device=external", "--port=xdp:a", "--port=xdp:b"],
            2,
            &["for one row at a time: name it by --modes, --family and --configurations"],
        ),
        (&["bench", "--family", "ipv6", "--routes", four], 3, &["there is no IPv6 prefix in it"]),
        (&["bench", "--duration", "5"], 2, &["a time has a unit"]),
        (&["bench", "--duration", "5h"], 2, &["a time has a unit"]),
        (
            &["bench", "--criterion", "ndr"],
            2,
            &["no such criterion: rfc2544, tst009, csit-ndr, csit-pdr, mikrotik"],
        ),
        (
            &["bench", "--criterion", "mikrotik", "--cores", "1"],
            2,
            &["a router that is fed from memory on one core has none: --cores 2"],
        ),
        (
            &["bench", "--criterion", "mikrotik", "--compare", "--device", "linux,wirespeed"],
            2,
            &["cannot be used with"],
        ),
        (&["bench", "--cores", "3"], 2, &["'3'", "1..=2"]),
        (&["bench", "--cores", "1", "--device", "linux"], 2, &["behind wires"]),
        (
            &["bench", "--cores", "1", "--compare", "--device", "linux,wirespeed"],
            2,
            &["leave --cores out"],
        ),
        (&["bench", "--seed", "-1"], 2, &["'-1'"]),
        (
            &["bench", "--routes", "/no/such/file"],
            3,
            &["cannot read the routes in /no/such/file: No such file", "check the path"],
        ),
        (&["bench", "--routes", empty], 3, &["there is no IPv4 prefix in it"]),
        (&["bench", "--routes", wrong], 3, &["line 2: expected a prefix", "\"not a prefix\""]),
        (&["bench", "--routes", not_gzip], 3, &["cannot read the routes in", "gzip"]),
        (
            &["bench", "--json", "/no/such/folder/x.json"],
            3,
            &["cannot write the results to /no/such/folder/x.json", "check the path"],
        ),
    ];
    for (arguments, code, expected) in cases {
        let output = wirespeed(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        for part in *expected {
            assert!(stderr.contains(part), "{arguments:?}: {part:?} in\n{stderr}");
        }
    }
}

#[test]
fn help_shows_an_example_and_nothing_that_is_not_there() {
    let help = String::from_utf8(wirespeed(&["bench", "--help"]).stdout).unwrap();
    for part in ["Examples:", "--quick", "--routes", "Exit codes:", "64,512,1518"] {
        assert!(help.contains(part), "{part:?} in\n{help}");
    }
    let help = String::from_utf8(wirespeed(&["--help"]).stdout).unwrap();
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let names: Vec<_> =
        commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        names,
        ["bench", "test", "iperf3", "lab", "router", "console", "import", "calc", "report", "help"],
        "{help}"
    );
}

#[test]
fn a_table_a_file_and_progress() {
    let routes = scratch("routes.txt");
    let list: String = (1..=99).map(|i| format!("{i}.0.0.0/8\n{i}.1.2.0/24\n")).collect();
    std::fs::write(&routes, list).unwrap();
    let json = scratch("results.json");
    let output = wirespeed(&[
        "bench",
        "--cores=1",
        "--duration=1ms",
        "--sizes=128",
        "--modes=routing",
        "--configurations=none,fasttrack,bgp-table",
        "--seed=7",
        "--routes",
        routes.to_str().unwrap(),
        "--json",
        json.to_str().unwrap(),
    ]);
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    // On a machine that other programs have for themselves there is no figure, and no tax.
    let is_busy = stderr.contains("invalid: other programs had");
    assert!(is_busy || output.status.code() == Some(0), "{stderr}");
    for part in ["128 byte", "none (fast path)", "full BGP table", "198 routes", " tax"] {
        let is_there = stdout.contains(part) || is_busy && part == " tax";
        assert!(is_there, "{part:?} in\n{stdout}");
    }
    assert!(stderr.contains("[1/3] wirespeed router: Routing, none, 128 byte: "), "{stderr}");
    assert!(stderr.contains("[3/3] wirespeed router: Routing, bgp-table, 128 byte: "), "{stderr}");

    let text = std::fs::read_to_string(&json).unwrap();
    let results = report::read::<measure::Results>(&text).unwrap();
    assert_eq!(report::write(&results).unwrap(), text);
    assert_eq!((results.rows.len(), results.environment.seed), (3, 7));
    let environment = &results.environment;
    assert!(!environment.commit.is_empty() && !environment.cpu.is_empty(), "{environment:?}");
    assert!(environment.command.contains("--cores=1") && environment.timestamp.ends_with('Z'));
    for row in &results.rows {
        assert_eq!(row.faults(), [], "{row:?}");
        assert_eq!((row.cores, row.frame_size, row.lost), (1, 128, 0));
        assert_eq!(row.environment, results.environment);
    }
}

/// Both families in one run: the plan's 64 byte are the shortest frame there is, and IPv4 has that, too.
#[test]
fn both_families() {
    let (routes, json) = (scratch("both.txt"), scratch("both.json"));
    let list: String = (1..=99).map(|i| format!("{i}.0.0.0/8\n24{i:02}:{i}::/32\n")).collect();
    std::fs::write(&routes, list).unwrap();
    let output = wirespeed(&[
        "bench",
        "--quick",
        "--family=ipv6,ipv4",
        "--cores=1",
        "--duration=1ms",
        "--configurations=none,fasttrack,bgp-table",
        "--routes",
        routes.to_str().unwrap(),
        "--json",
        json.to_str().unwrap(),
    ]);
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let is_busy = stderr.contains("invalid: other programs had");
    assert!(is_busy || output.status.code() == Some(0), "{stderr}");
    for part in [
        "Routing IPv6  fasttrack, 25 ipv6 filter rules",
        "Routing IPv6, 84 byte: in place of 64 byte: no IPv6 test frame is shorter",
        "by IPv4: the rate of IPv6 divided by that of IPv4, all else the same",
        "99 routes (",
    ] {
        let is_there = stdout.contains(part) || is_busy && part.starts_with("by IPv4");
        assert!(is_there, "{part:?} in\n{stdout}");
    }
    // Bridging, IPv4 and IPv6 of each length.
    assert!(
        stderr.contains("[24/24] wirespeed router: Routing IPv6, bgp-table, 1518 byte"),
        "{stderr}"
    );
    let results =
        report::read::<measure::Results>(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let of = |mode, family| {
        let is_it = |row: &&measure::Row| (row.mode, row.family) == (mode, family);
        results.rows.iter().filter(is_it).map(|row| row.frame_size).collect::<Vec<_>>()
    };
    assert_eq!(of(Mode::Bridging, Family::Ipv4), [64, 512, 1518]);
    assert_eq!(of(Mode::Routing, Family::Ipv4), [64, 84, 512, 1518].repeat(3));
    assert_eq!(of(Mode::Routing, Family::Ipv6), [84, 512, 1518].repeat(3));
    for row in &results.rows {
        assert_eq!((row.faults(), row.lost), (vec![], 0), "{row:?}");
    }
}

/// What has been measured by then is printed and written, and says that it is not all.
#[test]
fn ctrl_c_keeps_the_rows_there_are() {
    let json = scratch("interrupted.json");
    let json = json.to_str().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
    command.args(["bench", "--cores", "1", "--duration", "300ms", "--json", json]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = said.find(|line| !line.as_ref().unwrap().starts_with("warning: "));
    let first = first.unwrap().unwrap();
    assert!(first.starts_with("[1/24] wirespeed router: Bridging, none, 64 byte"), "{first}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = said.map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{rest:?}");
    assert_eq!(rest.last().map(String::as_str), Some("wirespeed: interrupted"));
    assert!(out.contains("INCOMPLETE: interrupted\n"), "{out}");
    let results =
        report::read::<measure::Results>(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert!((1..24).contains(&results.rows.len()), "{out}");
    assert_eq!(results.incomplete_because.as_deref(), Some("interrupted"));
}

/// What is killed cannot write its results: what there was stands beside them. Who ends in order leaves
/// only the file that was asked for.
#[test]
fn what_is_killed_leaves_the_rows_there_were() {
    let json = scratch("killed.json");
    let so_far = scratch("killed.json.so-far");
    let _ = (std::fs::remove_file(&json), std::fs::remove_file(&so_far));
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
    command.args(["bench", "--cores", "1", "--duration", "100ms", "--json"]).arg(&json);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    // The file is written after a row is told.
    let second = said.find(|line| line.as_ref().unwrap().starts_with("[2/24]"));
    assert!(second.is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!json.exists());
    let results =
        report::read::<measure::Results>(&std::fs::read_to_string(&so_far).unwrap()).unwrap();
    assert!((1..24).contains(&results.rows.len()));
    let why = results.incomplete_because.unwrap();
    assert!(why.contains("while the run went on"), "{why}");

    let json = json.to_str().unwrap();
    let done = ["bench", "--cores=1", "--duration=1ms", "--sizes=64", "--modes=bridging"];
    wirespeed(&[&done[..], &["--json", json]].concat());
    assert!(std::path::Path::new(json).exists() && !so_far.exists());
}
