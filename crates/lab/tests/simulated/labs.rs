//! Labs from their files to their reports.

use lab::live::Interrupt;
use lab::run::{Lab, Plan, Report, Scripts};
use lab::topology::{Time, Topology};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn labs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")
}

fn plan(yaml: &str, time: Time) -> Plan {
    let topology = Topology::read(yaml).unwrap_or_else(|fault| panic!("{fault}\n{yaml}"));
    let scripts = Scripts::read(&topology, &labs()).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let (seed, limit) = (topology.seed, Duration::from_secs(30));
    Plan { topology, scripts, time, seed, files: None, rehearsed: false, limit }
}

/// Runs a lab; returns what came of it and the transcript.
fn run(plan: &Plan) -> (Report, String) {
    let language = Arc::new(lab::node::language(&[]));
    let mut lab = Lab::up(plan, &language, Interrupt::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut transcript = String::new();
    let report = lab.run(plan, &mut |event| transcript.push_str(&event.to_string()));
    lab.down().unwrap();
    (report, transcript)
}

/// One node and these steps.
fn steps(steps: &str) -> Plan {
    let lab = "name: one\ntopology: { nodes: { r1: { ports: 2 } } }\nsteps:";
    plan(&format!("{lab}\n{steps}"), Time::Virtual)
}

#[test]
fn every_lab_of_ours_is_right() {
    let mut n = 0;
    for file in std::fs::read_dir(labs()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|end| end == "yaml") {
            plan(&std::fs::read_to_string(path).unwrap(), Time::Real);
            n += 1;
        }
    }
    assert!(n > 0);
}

#[test]
fn two_routers_as_they_were_the_last_time() {
    let yaml = std::fs::read_to_string(labs().join("two-routers.yaml")).unwrap();
    let plan = plan(&yaml, Time::Virtual);
    let (report, transcript) = run(&plan);
    assert_eq!(transcript, include_str!("../golden/two-routers.txt"));
    assert!(report.passed());
    assert_eq!(run(&plan).1, transcript, "another run");
}

#[test]
fn each_host_has_its_uplink() {
    let yaml = std::fs::read_to_string(labs().join("two-uplinks.yaml")).unwrap();
    let (report, transcript) = run(&plan(&yaml, Time::Virtual));
    assert!(report.passed(), "{transcript}");
}

/// Scripts that nobody types: netwatch's, the scheduler's.
#[test]
fn scripts_run_by_themselves() {
    let yaml = std::fs::read_to_string(labs().join("netwatch.yaml")).unwrap();
    let (report, transcript) = run(&plan(&yaml, Time::Virtual));
    assert!(report.passed(), "{transcript}");
}

/// The article's routing by IPv6.
#[test]
fn ipv6_as_the_article_has_ipv4() {
    let yaml = std::fs::read_to_string(labs().join("routing-performance-ipv6.yaml")).unwrap();
    let (report, transcript) =
        run(&plan(&yaml.replace("duration=1s", "duration=20ms"), Time::Virtual));
    assert!(report.passed(), "{transcript}");
}

/// The article's labs, but a second each time is twenty milliseconds here. `BLESS=1` writes what is
/// then to be committed.
#[test]
fn the_article_as_it_was_the_last_time() {
    for name in ["routing-performance", "bridging-performance"] {
        let yaml = std::fs::read_to_string(labs().join(format!("{name}.yaml"))).unwrap();
        let yaml = yaml.replace("duration=1s", "duration=20ms");
        let plan = plan(&yaml, Time::Virtual);
        let (report, transcript) = run(&plan);
        assert!(report.passed(), "{transcript}");
        assert_eq!(run(&plan).1, transcript, "another run");
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let golden = golden.join(format!("{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &transcript).unwrap();
        }
        assert_eq!(transcript, std::fs::read_to_string(&golden).unwrap_or_default());
    }
}

/// What is left to chance follows from the seed.
#[test]
fn a_seed_decides_what_is_left_to_chance() {
    let lab = "
name: dice
topology:
  nodes: { a: , b: }
  links: [ endpoints: [a:ether1, b:ether1] ]
steps:
  - node: b
    run: |
      /ip address add address=1.1.1.2/24 interface=ether1
      /ip firewall filter add chain=input random=50 action=drop
  - node: a
    run: |
      /ip address add address=1.1.1.1/24 interface=ether1
      /ping 1.1.1.2 count=20 interval=10ms
";
    let pings = |seed| {
        let (_, transcript) = run(&Plan { seed, ..plan(lab, Time::Virtual) });
        let lines = transcript.lines().filter(|line| line.contains("1.1.1.2  "));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let first = pings(1);
    assert_eq!(first.len(), 20, "{first:#?}");
    assert_eq!(pings(1), first);
    assert_ne!(pings(2), first);
}

#[test]
fn two_routers_in_real_time() {
    let yaml = std::fs::read_to_string(labs().join("two-routers.yaml")).unwrap();
    let (report, transcript) = run(&plan(&yaml, Time::Real));
    assert!(report.passed(), "{transcript}");
}

#[test]
fn what_is_not_as_expected_fails() {
    let check = |step: &str, passes: bool, shown: &str| {
        let (report, transcript) = run(&steps(step));
        assert_eq!(report.passed(), passes, "{step}\n{transcript}");
        assert!(transcript.contains(shown), "{step}\n{shown:?} in\n{transcript}");
    };
    for (step, passes, shown) in [
        ("- { node: r1, run: ':put 7' }", true, "[admin@r1] > :put 7\n7\n"),
        ("- { node: r1, run: ':put 7', expect: [output: '^7$'] }", true, "PASS output: ^7$\n"),
        ("- { node: r1, run: ':put 7', expect: [output: '^8$'] }", false, "FAIL output: ^8$: no l"),
        ("- { node: r1, run: ':put 7', expect: [no-output: 8] }", true, "PASS no-output: 8"),
        ("- { node: r1, run: ':put 7', expect: [no-output: 7] }", false, "FAIL no-output: 7: 7\n"),
        ("- { node: r1, run: frob }", false, "FAIL no error: bad command name frob"),
        ("- { node: r1, run: frob, fails: bad command }", true, "PASS refused: bad command name"),
        (
            "- { node: r1, run: frob, fails: interrupted }",
            false,
            "FAIL refused with other words: b",
        ),
        ("- { node: r1, run: ':put 7', fails: x }", false, "other words: it was accepted"),
        // What follows a refused command is not typed.
        ("- { node: r1, run: \"frob\\n:put 7\", fails: bad }", true, "PASS"),
        (
            "- { wait: 1s, expect: [{ value: /system resource get uptime, node: r1, is: 1s }] }",
            true,
            "PASS value: /system resource get uptime is: 1s\n",
        ),
        (
            "- { wait: 1s, expect: [{ value: /system resource get uptime, node: r1, is: 2s }] }",
            false,
            "FAIL value: /system resource get uptime is: 2s: 1s\n",
        ),
        (
            "- { wait: 1ms, expect: [{ value: /system x, node: r1, is: 2s }] }",
            false,
            "FAIL value: /system x is: 2s: bad command name x",
        ),
        (
            "- { wait: 1ms, expect: [{ value: :put 1, node: r1, is: 2, time: real }] }",
            true,
            "PASS one: 1 of 1 steps, 0 met, 0 not met",
        ),
        // What never ends by itself ends at the limit.
        ("- { node: r1, run: /ping 1.1.1.1 }", false, "interrupted"),
    ] {
        check(step, passes, shown);
    }
}

/// A test without an end is ended at the step's limit; what it sent has come by then, and its totals
/// are shown all the same.
#[test]
fn an_interrupted_test_shows_its_totals() {
    let lab = "
name: endless
topology:
  nodes: { a: , b: }
  links: [ { endpoints: [a:ether1, b:ether1], delay: 10ms } ]
steps:
  - node: b
    run: /ip address add address=1.1.1.2/24 interface=ether1
  - node: a
    run: |
      /ip address add address=1.1.1.1/24 interface=ether1
      /tool traffic-generator packet-template
      add name=t header-stack=mac,ip,udp ip-dst=1.1.1.1 ip-gateway=1.1.1.2 interface=ether1
      ..
      quick tx-template=t packet-size=60 pps=1000
";
    let (_, transcript) = run(&plan(lab, Time::Virtual));
    let total = transcript.lines().rfind(|line| line.starts_with("TOT    TOT"));
    let counts =
        "29 971 480.0kbps        29 971 480.0kbps             0             0      0bps 20ms";
    assert!(total.is_some_and(|total| total.contains(counts)), "{transcript}");
    assert!(transcript.contains("interrupted"), "{transcript}");
}

#[test]
fn a_session_stays_where_it_was() {
    let (_, transcript) = run(&steps(
        "
- { node: r1, run: /ip address }
- { node: r1, run: add address=1.1.1.1/24 interface=ether2 }
- { node: r1, run: print, expect: [{ value: :put 1, is: 1 }] }
- { node: r1, run: /system identity set name=edge }
- { node: r1, run: .. }
",
    ));
    for prompt in [
        "[admin@r1] > /ip address\n",
        "[admin@r1] /ip address> add",
        "[admin@r1] /ip address> print\n",
        "[admin@edge] /ip address> ..\n",
    ] {
        assert!(transcript.contains(prompt), "{prompt:?} in\n{transcript}");
    }
}
