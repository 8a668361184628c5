//! Hosts of a lab: their interfaces, their programs, and that nothing of them is left.

use crate::rig;
use lab::run::RunError;
use lab::topology::Time;
use rig::{can_have_hosts, plan, run, up};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Two hosts back to back, and these steps.
fn two(steps: &str) -> String {
    format!(
        "
name: two
topology:
  kinds: {{ linux: {{ exec: [ip link set lo mtu 60000] }} }}
  nodes:
    a: {{ kind: linux, addresses: {{ eth1: [10.0.0.1/24, 10.0.1.1/32], lo: 10.9.9.1/32 }}, gateway: 10.0.0.2 }}
    b: {{ kind: linux, addresses: {{ eth1: 10.0.0.2/24 }}, routes: {{ 10.9.9.0/24: 10.0.0.1 }} }}
  links:
    - {{ endpoints: [a:eth1, b:eth1], mtu: 1400 }}
steps:
{steps}
"
    )
}

#[test]
fn steps_run_programs() {
    if !can_have_hosts(&["ping"]) {
        return;
    }
    let check = |step: &str, passes: bool, shown: &[&str]| {
        let (report, transcript) = run(&plan(&two(step)));
        assert_eq!(report.passed(), passes, "{step}\n{transcript}");
        for shown in shown {
            assert!(transcript.contains(shown), "{step}\n{shown:?} in\n{transcript}");
        }
    };
    for (step, passes, shown) in [
        // What is sent before is lost.
        (
            "- { node: a, exec: ip -o link show eth1, expect: [output: ' state UP '] }",
            true,
            &[" state UP "][..],
        ),
        (
            "- { node: a, exec: ping -c 1 -W 5 10.9.9.1, expect: [output: ' 0% packet loss'] }",
            true,
            &["a$ ping -c 1 -W 5 10.9.9.1\n", "PASS output:  0% packet loss"],
        ),
        // Across the veth pair, its MTU and both routes.
        (
            "- { node: b, exec: ping -c 1 -W 5 -M do -s 1372 10.9.9.1 }",
            true,
            &["# a:eth1: tx off, tso off, gso off", "1380 bytes from 10.9.9.1"],
        ),
        (
            "- { node: b, exec: ping -c 1 -M do -s 1373 10.9.9.1, fails: exit status 1 }",
            true,
            &["message too long, mtu=1400", "PASS refused: exit status 1\n"],
        ),
        // How a program ends.
        (
            "- { node: a, exec: sh -c 'echo no >&2; exit 3' }",
            false,
            &["\nno\nexit status 3\nFAIL no error: exit status 3"],
        ),
        ("- { node: a, exec: 'sh -c \"kill -9 $$\"' }", true, &["a$ sh -c 'kill -9 $$'"]),
        (
            "- { node: a, exec: no-such-program }",
            false,
            &["FAIL no error: no-such-program: there is no such program here"],
        ),
        (
            "- { node: a, exec: sleep 60, timeout: 100ms, fails: no end within 100ms }",
            true,
            &["PASS"],
        ),
        ("- { node: a, exec: printf half, expect: [output: ^half$] }", true, &["PASS"]),
        // Values of what it printed, and the table.
        (
            "- { node: a, exec: [echo, '{\"a\": [1, {\"b\": 2.5e6}]}'], expect: [{ json: a.1.b, at-least: 2e6 }],\n    table: [{ row: rate, column: ours, json: a.1.b, times: 0.000001, digits: 1 },\n            { row: rate, column: theirs, text: 7 }] }",
            true,
            &["PASS json: a.1.b at-least: 2e6", "\n       ours   theirs\nrate    2.5        7\n"],
        ),
        (
            "- { node: a, exec: echo firewall total 12.5%, expect: [{ field: 3, of: ^firew, at-most: 12.4 }] }",
            false,
            &["FAIL field: 3 of: ^firew at-most: 12.4: 12.5"],
        ),
        (
            "- { node: a, exec: echo x, table: [{ row: r, column: c, json: a }] }",
            false,
            &["FAIL table: r, c: no JSON was printed"],
        ),
        // What goes on.
        (
            "
- { node: b, exec: sh -c 'echo up; sleep 0.1; echo done', background: x, ready: ^up$ }
- { join: x, expect: [output: ^done$] }",
            true,
            &["b$ sh -c 'echo up; sleep 0.1; echo done' &\nup\n", "b$ wait x\ndone\n"],
        ),
        (
            "
- { node: b, exec: sh -c 'echo 1; exec sleep 60', background: x }
- { node: a, exec: sleep 0.1 }
- { stop: x, expect: [output: ^1$] }",
            true,
            &["b$ kill x\n1\n"],
        ),
        (
            "- { node: b, exec: sh -c 'echo sorry; exit 1', background: x, ready: ^up$ }",
            false,
            &["FAIL no error: it is not ready: exit status 1"],
        ),
        ("- { node: b, exec: sleep 60, background: x }", true, &["PASS two: 1 of 1"]),
    ] {
        check(step, passes, shown);
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    let mut plan = plan(&two(""));
    plan.time = Time::Virtual;
    let language = std::sync::Arc::new(lab::node::language(&[]));
    let refused = lab::run::Lab::up(&plan, &language, lab::live::Interrupt::default());
    assert!(matches!(refused, Err(RunError::Virtual)));
    if !can_have_hosts(&[]) {
        return;
    }
    plan.time = Time::Real;
    let lab::topology::Kind::Linux(host) = &mut plan.topology.nodes[1].kind else { panic!() };
    host.exec.push(["ip", "link", "set", "eth7", "up"].map(str::to_string).into());
    let refused = lab::run::Lab::up(&plan, &language, lab::live::Interrupt::default());
    let Err(error) = refused else { panic!("there is no eth7") };
    assert_eq!(
        error.to_string(),
        "node b: ip link set eth7 up: exit status 1: Cannot find device \"eth7\""
    );
}

/// What this test does in a process of its own, to be killed: a lab whose programs go on.
const VICTIM: &str = "LAB_VICTIM";
/// Found in the programs' arguments, and nowhere else.
const MARK: &str = "31.415926";

/// All processes whose arguments have the mark.
fn marked() -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(MARK) && line.contains("sleep")).collect()
}

#[test]
fn nothing_is_left_of_a_lab_that_was_killed() {
    if !can_have_hosts(&[]) {
        return;
    }
    let mark = MARK.to_string();
    if std::env::var_os(VICTIM).is_some() {
        let deep = format!("sh -c 'setsid sleep {mark}1 & echo up; sleep {mark}2'");
        let lab = two(&format!(
            "- {{ node: a, exec: \"{deep}\", background: x, ready: ^up }}\n\
             - {{ node: b, exec: sleep {mark}3 }}"
        ));
        let plan = plan(&lab);
        up(&plan).run(&plan, &mut |_| {});
        panic!("it was not killed");
    }
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim.args(["--exact", "hosts::nothing_is_left_of_a_lab_that_was_killed"]).env(VICTIM, "1");
    let mut victim = victim.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Both sleeps of the shell, the shell, and the third.
    wait_until("they run", || marked().len() >= 4);
    victim.kill().unwrap();
    victim.wait().unwrap();
    wait_until("they are gone", || marked().is_empty());
}

/// Waits for something to become so.
#[allow(clippy::disallowed_methods)]
fn wait_until(what: &str, so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "not within 60 s: {what}; {:#?}", marked());
        std::thread::sleep(Duration::from_millis(5));
    }
}
