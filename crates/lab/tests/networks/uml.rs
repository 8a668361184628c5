//! Machines of a lab, with a Linux kernel of their own: their programs, their links, and that nothing
//! of them is left.

use crate::rig;
use lab::live::Interrupt;
use lab::run::{Lab, RunError};
use rig::{can_have_machines, labs, patient, run, up};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Two machines back to back, and these steps.
fn two(steps: &str) -> String {
    format!(
        "
name: two
topology:
  nodes:
    a: {{ kind: uml, addresses: {{ eth1: [10.0.0.1/24, 10.0.1.1/32], lo: 10.9.9.1/32 }}, gateway: 10.0.0.2 }}
    b: {{ kind: uml, addresses: {{ eth1: 10.0.0.2/24 }}, routes: {{ 10.9.9.0/24: 10.0.0.1 }} }}
  links:
    - {{ endpoints: [a:eth1, b:eth1], mtu: 1400 }}
steps:
{steps}
"
    )
}

/// Why a lab does not come up.
fn refused(yaml: &str) -> RunError {
    let language = Arc::new(lab::node::language(&[]));
    match Lab::up(&patient(yaml), &language, Interrupt::default()) {
        Ok(_) => panic!("it came up:\n{yaml}"),
        Err(error) => error,
    }
}

#[test]
fn a_kernel_of_its_own_behind_our_router() {
    if !can_have_machines() {
        return;
    }
    let yaml = std::fs::read_to_string(labs().join("uml-peer.yaml")).unwrap();
    let (report, transcript) = run(&patient(&yaml));
    assert!(report.passed(), "{transcript}");
    assert!(transcript.contains("# r1:ether1 to peer:eth1: L2TPv3 over UDP\n"), "{transcript}");
}

/// Each of these is as on a host, whose tests are in `hosts.rs`.
#[test]
fn steps_run_programs() {
    if !can_have_machines() {
        return;
    }
    let (report, transcript) = run(&patient(&two(r#"
- { node: a, exec: 'busybox ping -c 1 -W 5 -s 1372 10.0.0.2', expect: [output: ' 0% packet loss'] }
- { node: b, exec: 'busybox ping -c 1 -W 5 10.9.9.1', expect: [output: ' 0% packet loss'] }
- { node: a, exec: 'ip -o link show eth1', expect: [output: ' mtu 1400 '] }
- { node: a, exec: [sh, -c, 'echo no >&2; exit 3'], fails: exit status 3, expect: [output: ^no$] }
- { node: a, exec: [sh, -c, 'exit 143'], fails: ended by signal 15, timeout: 20s }
- { node: a, exec: no-such-program, fails: exit status 127, expect: [output: no-such-program] }
- { node: a, exec: sleep 60, timeout: 100ms, fails: no end within 100ms }
- { node: a, exec: printf half, expect: [output: ^half$] }
- node: a
  exec: [printf, '<%s>\n', "it's", ' a  b ', "two\nlines", '\n$HOME', 'ä "é"']
  expect:
    - output: "^<it's>$"
    - output: ^< a  b >$
    - output: ^<two$
    - output: ^lines>$
    - output: '^<\\n\$HOME>$'
    - output: '^<ä "é">$'
- node: a
  exec: [sh, -c, 'seq 20000; seq 20000 | md5sum']
  expect: [output: ^1$, output: ^20000$, output: ^e071f707df7b]
- node: a
  exec: [sh, -c, 'test -t 0 || test -t 1 || test -t 2 || echo no terminal']
  expect: [output: ^no terminal$]
- { node: a, exec: ls, expect: [output: ^uml-peer.yaml$] }
- { node: a, exec: [sh, -c, 'echo mine >mine.txt; cat mine.txt'], expect: [output: ^mine$] }
- { node: a, exec: cat mine.txt, expect: [output: ^mine$] }
- { node: b, exec: cat mine.txt, fails: exit status 1 }
- { node: b, exec: [sh, -c, 'echo up; sleep 0.1; echo done'], background: x, ready: ^up$ }
- { join: x, expect: [output: ^done$] }
- { node: b, exec: [sh, -c, 'setsid sleep 61 & echo 1; exec sleep 60'], background: y, ready: ^1$ }
- { stop: y }
- { node: b, exec: [sh, -c, 'cat /proc/[0-9]*/comm'], expect: [no-output: ^sleep$] }
"#)));
    assert!(report.passed(), "{transcript}");
    assert!(!labs().join("mine.txt").exists(), "what is written there stays there");
}

/// Tags come as they are sent, one or two, and a bridge inside sees its frames once: what a packet
/// socket would not carry.
#[test]
fn trunks_are_carried_between_machines() {
    if !can_have_machines() {
        return;
    }
    let machine = |host: u8| {
        format!(
            "{{ kind: uml, modules: [8021q, bridge], exec: [
        ip link add link eth1 name eth1.10 type vlan id 10,
        ip link add link eth1 name eth1.s type vlan id 100 protocol 802.1ad,
        ip link add link eth1.s name eth1.s.20 type vlan id 20,
        ip address add 10.0.10.{host}/24 dev eth1.10, ip link set eth1.10 up,
        ip address add 10.0.20.{host}/24 dev eth1.s.20, ip link set eth1.s up, ip link set eth1.s.20 up,
        ip link add bridge type bridge vlan_filtering 1 vlan_default_pvid 0,
        ip link set eth2 down, ip link set eth2 master bridge, ip link set eth2 up, ip link set bridge up,
        bridge vlan add dev eth2 vid 30, bridge vlan add dev bridge vid 30 self,
        ip link add link bridge name bridge.30 type vlan id 30,
        ip address add 10.0.30.{host}/24 dev bridge.30, ip link set bridge.30 up] }}"
        )
    };
    let lab = format!(
        "
name: trunks
topology:
  nodes:
    a: {}
    b: {}
  links:
    - {{ endpoints: [a:eth1, b:eth1] }}
    - {{ endpoints: [a:eth2, b:eth2] }}
steps:
  - {{ node: a, exec: busybox ping -c 2 -W 5 -s 1472 10.0.10.2, expect: [output: ' 0% packet loss'] }}
  - {{ node: a, exec: busybox ping -c 2 -W 5 -s 1472 10.0.20.2, expect: [output: ' 0% packet loss'] }}
  - {{ node: a, exec: busybox ping -c 2 -W 5 -s 1472 10.0.30.2, expect: [output: ' 0% packet loss', no-output: DUP] }}
",
        machine(1),
        machine(2)
    );
    let (report, transcript) = run(&patient(&lab));
    assert!(report.passed(), "{transcript}");
}

#[test]
fn what_cannot_be_is_said() {
    if !can_have_machines() {
        return;
    }
    let one = |node: &str| {
        format!("name: one\ntopology: {{ nodes: {{ a: {{ kind: uml, {node} }} }} }}\n")
    };
    for (node, expected) in [
        ("modules: [8021]", "node a: cannot load the module 8021: there is none of that name in"),
        ("modules: [8021]", "; is it one of 8021q, "),
        ("modules: [frob]", "modules.dep lists those there are"),
        (
            "exec: [ip link set eth7 up]",
            "node a: ip link set eth7 up: exit status 1: Cannot find device \"eth7\"",
        ),
    ] {
        let error = refused(&one(node)).to_string();
        assert!(error.contains(expected), "{node}: {error}");
    }
}

/// A machine that ends by itself fails the lab, which says why.
#[test]
fn a_kernel_that_ends_is_noticed() {
    if !can_have_machines() {
        return;
    }
    let (report, transcript) = run(&patient(&two("
- { node: a, exec: sleep 60, background: nap }
- { node: a, exec: sh -c 'echo c >/proc/sysrq-trigger', timeout: 20s }
- { join: nap }
")));
    assert!(!report.passed(), "{transcript}");
    assert!(
        transcript.contains("FAIL all nodes go on: node a: its kernel has ended:"),
        "{transcript}"
    );
    assert!(!transcript.contains("wait nap"), "nothing follows\n{transcript}");
}

/// What this test does in a process of its own, to be killed: a lab whose programs go on.
const VICTIM: &str = "LAB_VICTIM";

/// The kernels among the children of a process, and of these.
fn kernels(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lines = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> = lines
        .flat_map(|line| line.split_whitespace().flat_map(str::parse).collect::<Vec<_>>())
        .collect();
    let is_kernel = |pid: u32| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        program.ends_with("linux.uml")
    };
    let found = children.into_iter().flat_map(|pid| match is_kernel(pid) {
        true => vec![pid],
        false => kernels(pid),
    });
    found.collect()
}

#[test]
fn nothing_is_left_of_a_lab_that_was_killed() {
    if !can_have_machines() {
        return;
    }
    if std::env::var_os(VICTIM).is_some() {
        let plan = patient(&two("- { node: b, exec: sh -c 'echo up; sleep 600' }"));
        let mut lab = up(&plan);
        println!("is up");
        lab.run(&plan, &mut |_| {});
        panic!("it was not killed");
    }
    // Killed while it boots, and when its programs run.
    for booted in [false, true] {
        let mut victim = Command::new(std::env::current_exe().unwrap());
        let test = "uml::nothing_is_left_of_a_lab_that_was_killed";
        victim.args(["--exact", test, "--nocapture"]).env(VICTIM, "1");
        let mut victim = victim.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = std::io::BufReader::new(victim.stdout.take().unwrap());
        wait_until("they boot", || kernels(victim.id()).len() == 2);
        if booted {
            let mut line = String::new();
            while !line.contains("is up") {
                line.clear();
                assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0);
            }
        }
        let kernels = kernels(victim.id());
        let namespaces: Vec<_> = kernels.iter().map(|pid| namespaces(&pid.to_string())).collect();
        victim.kill().unwrap();
        victim.wait().unwrap();
        wait_until("they are gone", || {
            kernels.iter().all(|pid| !Path::new("/proc").join(pid.to_string()).exists())
                && inhabited().iter().all(|there| !namespaces.contains(there))
        });
    }
}

/// The namespaces of processes, network and mounts that a process is in.
fn namespaces(pid: &str) -> [String; 3] {
    ["pid", "net", "mnt"].map(|kind| {
        let link = std::fs::read_link(format!("/proc/{pid}/ns/{kind}"));
        link.unwrap_or_default().display().to_string()
    })
}

/// Those of all processes.
fn inhabited() -> Vec<[String; 3]> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let pids = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    pids.map(|pid| namespaces(&pid)).collect()
}

/// Waits for something to become so.
#[allow(clippy::disallowed_methods)]
fn wait_until(what: &str, so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !so() {
        assert!(Instant::now() < end, "not within 120 s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
