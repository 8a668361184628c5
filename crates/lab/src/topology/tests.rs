//! Lab files, right and wrong.

use super::*;
use config::Pattern;

const LAB: &str = r#"
name: two
seed: 7
topology:
  defaults: { startup-config: all.rsc }
  kinds:
    wirespeed: { ports: 4 }
  nodes:
    dut: { kind: wirespeed, ports: 13, startup-config: dut.rsc }
    tg:
  links:
    - endpoints: ["dut:ether1", "tg:ether1"]
      rate: 2.5G
      delay: 10us
    - endpoints: [dut:ether13, "tg:ether4"]
steps:
  - title: see
    node: tg
    run: |
      /ip address print
      :put 1
    expect:
      - output: ^1$
      - value: /ip settings get ip-forward
        node: dut
        is: yes
  - wait: 1.5ms
"#;

#[test]
fn a_lab_is_read() {
    let lab = Topology::read(LAB).unwrap();
    assert_eq!((lab.name.as_str(), lab.time, lab.seed), ("two", Time::Virtual, 7));
    let router = |node: usize| lab.nodes[node].router().unwrap();
    let nodes: Vec<_> = [0, 1].map(|at| (&*lab.nodes[at].name, router(at).ports)).into();
    assert_eq!(nodes, [("dut", 13), ("tg", 4)]);
    assert_eq!(router(0).startup_config.as_deref(), Some("dut.rsc"));
    assert_eq!(router(1).startup_config.as_deref(), Some("all.rsc"));
    let end = |node, port| End { node, port };
    assert_eq!(lab.links[0].ends, [end(0, 1), end(1, 1)]);
    assert_eq!(
        (lab.links[0].rate, lab.links[0].delay),
        (BitRate(2.5e9), Duration::from_micros(10))
    );
    assert_eq!(lab.links[1].ends, [end(0, 13), end(1, 4)]);
    assert_eq!((lab.links[1].rate, lab.links[1].delay), (BitRate(1e9), Duration::ZERO));
    let [step, wait] = lab.steps.as_slice() else { panic!("{:#?}", lab.steps) };
    assert!(matches!(&step.action, Action::Run(1, text) if text == "/ip address print\n:put 1\n"));
    assert!(
        matches!(&step.expect[1].test, Test::Value { source: Source::Value { node: 0, .. }, .. }),
        "{step:#?}"
    );
    assert!(matches!(&wait.action, Action::Wait(time) if time.as_micros() == 1500), "{wait:#?}");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(LAB.contains(from), "{from:?} is not in the lab");
        let fault = Topology::read(&LAB.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(fault.contains(expected), "{to:?}: {fault:?}, expected {expected:?}");
    };
    for (from, to, expected) in [
        (
            "seed: 7",
            "sead: 7",
            "3:1: sead is no key here; legal are: name, time, seed, topology, s",
        ),
        ("seed: 7", "seed: -1", "3:7: a whole number from 0"),
        ("seed: 7", "seed: &a 7\ntime: *a", "4:7: aliases are not read"),
        ("seed: 7", "seed: !!int 7", "3:7: tags are not read"),
        ("seed: 7", "name: 7", "3:1: name is there twice, first in line 2"),
        ("seed: 7", "time: slow", "3:7: slow is no time; legal: virtual, real"),
        ("seed: 7", "seed: [7", "not YAML"),
        ("seed: 7", "seed: [7]", "3:7: a text is wanted here"),
        (
            "seed: 7",
            &format!("seed: {}1{}", "[".repeat(40), "]".repeat(40)),
            "nested deeper than 16",
        ),
        ("name: two", "name: ../two", "2:7: a name is 1 to 60 letters"),
        ("name: two\n", "", "2:1: the key name is missing here"),
        ("topology:", "topology: {}\nsteps2:", "5:1: steps2 is no key"),
        (
            "kind: wirespeed,",
            "kind: cisco,",
            "there is no kind cisco of node; legal: wirespeed, linux",
        ),
        ("kind: wirespeed,", "kind: linux,", "9:32: ports is not for a node of kind linux"),
        (
            "kind: wirespeed,",
            "image: x,",
            "image is no key here; legal are: kind, ports, startup-config, addr",
        ),
        ("ports: 13", "ports: 65", "9:36: a whole number from 1 to 64"),
        ("dut:ether1\"", "dut:ether14\"", "12:19: dut has no port ether14; its ports: ether1-13"),
        ("dut:ether1\"", "dut:ether0\"", "dut has no port ether0"),
        ("dut:ether1\"", "dut:wlan1\"", "dut has no port wlan1"),
        ("dut:ether1\"", "dut\"", "an endpoint is a node and a port: dut:ether1"),
        ("dut:ether1\"", "duck:ether1\"", "there is no node duck; the nodes: dut, tg"),
        ("tg:ether4", "tg:ether1", "tg:ether1 has a cable already"),
        ("tg:ether4", "dut:ether13", "dut:ether13 has a cable already"),
        (", \"tg:ether4\"]", "]", "a link has two endpoints"),
        ("2.5G", "2.5Gbps", "13:13: a rate is 1k to 1000G"),
        ("2.5G", "1e9", "a rate is 1k to 1000G"),
        ("2.5G", "infG", "a rate is 1k to 1000G"),
        ("10us", "10", "14:14: a time is a number with its unit"),
        ("10us", "2h", "a time is a number with its unit"),
        (
            "rate: 2.5G",
            "loss: 1%",
            "loss is no key here; legal are: endpoints, rate, delay, mtu, backend",
        ),
        ("    node: tg\n", "", "on which node? node: is missing; the nodes: dut, tg"),
        ("    node: tg\n", "    node: xy\n", "there is no node xy"),
        ("  - wait: 1.5ms", "  - {wait: 1s, run: x}", "one of run, script, wait, exec, join, stop"),
        ("  - wait: 1.5ms", "  - {title: x}", "one of these keys: run, script, wait, exec"),
        ("  - wait: 1.5ms", "  - {wait: 1s, fails: x}", "waiting does not fail"),
        ("output: ^1$", "output: (", "no regular expression"),
        ("output: ^1$", "output: x\n        is: y", "is goes with value:, not with output:"),
        ("is: yes", "at-least: many", "a number is wanted here"),
        ("        is: yes\n", "", "one of these keys: is, matches, at-least, at-most"),
        ("is: yes", "is: ''", "nothing stands here"),
    ] {
        check(from, to, expected);
    }
}

const HOSTS: &str = r#"
name: hosts
topology:
  defaults: { ports: 4 }
  kinds:
    linux: { exec: [ip link], offloads: off }
  nodes:
    r1:
    pc:
      kind: linux
      addresses: { eth1: [10.0.0.2/24, 10.0.0.3/32], lo: 10.9.9.9/32 }
      gateway: 10.0.0.1
      routes: { 10.1.0.0/16: 10.0.0.9 }
    nas: { kind: linux, offloads: on }
  links:
    - { endpoints: [r1:ether1, "pc:eth1"], mtu: 1400, backend: packet }
    - { endpoints: ["nas:lan0", r1:ether2] }
    - { endpoints: ["nas:eth1", "pc:eth2"], mtu: 9000 }
steps:
  - node: pc
    exec: ping -c 1 '10.0.0.1'
    timeout: 2s
    table: [{ row: r, column: c, json: a.b, times: 0.001, digits: 1 }]
  - { node: nas, exec: [sleep, "9"], background: nap, ready: ^x }
  - { join: nap, fails: exit status 1 }
"#;

#[test]
fn hosts_are_read() {
    let lab = Topology::read(HOSTS).unwrap();
    assert_eq!((lab.time, lab.has_hosts()), (Time::Real, true));
    assert_eq!(lab.nodes[0].router().unwrap().ports, 4);
    let pc = lab.nodes[1].host().unwrap();
    assert_eq!(pc.interfaces, ["eth1", "eth2"]);
    let ip = |last| Ipv4Addr::new(10, 0, 0, last);
    let lo = Ipv4Addr::new(10, 9, 9, 9);
    assert_eq!(pc.addresses, [(Some(0), ip(2), 24), (Some(0), ip(3), 32), (None, lo, 32)]);
    assert_eq!(pc.routes[0], (Ipv4Prefix::ALL, ip(1)));
    assert_eq!(pc.routes[1], (Ipv4Prefix::new(0x0a01_0000, 16), ip(9)));
    assert_eq!((pc.interface_to(ip(200)), pc.interface_to(lo)), (Some(0), None));
    assert_eq!(pc.exec, [["ip", "link"]]);
    assert_eq!((pc.offloads, lab.nodes[2].host().unwrap().offloads), (false, true));
    let links: Vec<_> = lab.links.iter().map(|link| (link.mtu, link.backend)).collect();
    let expected = [(Some(1400), Some(Backend::Packet)), (None, None), (Some(9000), None)];
    assert_eq!(links, expected);
    assert_eq!(lab.links[1].ends, [End { node: 2, port: 1 }, End { node: 0, port: 2 }]);
    let Action::Exec(1, ping) = &lab.steps[0].action else { panic!("{:?}", lab.steps[0]) };
    assert_eq!(ping.words, ["ping", "-c", "1", "10.0.0.1"]);
    assert_eq!(ping.timeout, Some(Duration::from_secs(2)));
    assert_eq!(lab.steps[0].table[0].show("1234").unwrap(), "1.2");
    assert!(lab.steps[0].table[0].show("many").is_err());
    assert!(matches!(&lab.steps[1].action, Action::Start(2, _, name, Some(_)) if name == "nap"));
    assert!(matches!(&lab.steps[2].action, Action::Join(name, None) if name == "nap"));
}

#[test]
fn what_is_wrong_with_hosts_is_said_with_its_place() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(HOSTS.contains(from), "{from:?} is not in the lab");
        let fault = Topology::read(&HOSTS.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(fault.contains(expected), "{to:?}: {fault:?}, expected {expected:?}");
    };
    for (from, to, expected) in [
        (
            "topology:",
            "time: virtual\ntopology:",
            "3:7: a lab with nodes of kind linux or uml runs",
        ),
        ("linux: { exec", "linux: { execs", "execs is no key here"),
        (
            "    r1:\n",
            "    r1: { gateway: 10.0.0.1 }\n",
            "gateway is not for a node of kind wirespeed",
        ),
        ("offloads: on", "ports: 2", "ports is not for a node of kind linux"),
        ("offloads: on", "offloads: maybe", "maybe is neither on nor off"),
        ("gateway: 10.0.0.1", "gateway: 10.0.1.1", "pc has no address of this gateway's network"),
        ("gateway: 10.0.0.1", "gateway: ten", "an IPv4 address is wanted"),
        ("10.0.0.2/24", "10.0.0.2", "an IPv4 address and a length are wanted"),
        ("10.1.0.0/16", "10.1.0.1/16", "the prefix of that length is 10.1.0.0/16"),
        ("10.1.0.0/16", "0.0.0.0/0", "there is a route to it already"),
        ("eth1: [10", "eth9: [10", "no cable goes to pc:eth9; its interfaces: eth1, eth2, lo"),
        ("nas:lan0", "nas:lo", "an interface is 1 to 15 letters"),
        ("nas:lan0", "nas:an-interface-too-long", "an interface is 1 to 15 letters"),
        ("nas:eth1", "nas:lan0", "nas:lan0 has a cable already"),
        ("mtu: 1400", "mtu: 20", "a whole number from 68 to 9000"),
        ("mtu: 1400", "rate: 1G", "rate: a link to a node of kind linux is a veth pair"),
        ("mtu: 9000", "backend: tap", "backend: a link between hosts is a veth pair"),
        ("backend: packet", "backend: dpdk", "dpdk is no backend; legal: xdp, packet, tap"),
        ("r1:ether2] }", "r1:ether2], backend: xdp }", "the host's offloads are on"),
        (
            "exec: ping -c 1 '10.0.0.1'\n    timeout: 2s",
            "run: x",
            "pc is of kind linux: run and script type on a router",
        ),
        ("node: pc", "node: r1", "r1 is a router: exec runs a program on a node of kind linux"),
        ("'10.0.0.1'", "'10.0.0.1", "is not closed"),
        ("json: a.b", "value: /x", "pc is of kind linux; value: asks a router"),
        ("json: a.b", "field: 2", "the key of is missing"),
        ("json: a.b", "json: a, of: b", "of goes with field:, not with json:"),
        (
            "table: [{ row: r, column: c, json: a.b,",
            "expect: [{ json: a.b, at-least: 1, within: 1s }]\n    table: [{ row: r, column: c, json: a.b,",
            "within goes with value:, not with json:",
        ),
        (", times: 0.001", ", times: x", "a decimal number is wanted here"),
        ("timeout: 2s", "ready: x", "ready goes with background"),
        ("join: nap", "join: nope", "no program nope goes on here; those: nap"),
        ("join: nap", "join: nap, node: nas", "nap is on its node: leave node out"),
        ("join: nap, fails", "stop: nap, fails", "fails goes with run, script, exec, join"),
        ("background: nap", "background: nap, fails: x", "fails goes with the join"),
    ] {
        check(from, to, expected);
    }
    let memory = LAB.replacen("rate: 2.5G", "mtu: 1400", 1);
    let fault = Topology::read(&memory).unwrap_err().to_string();
    assert!(fault.contains("mtu: only a link to a node of kind linux or uml has one"), "{fault}");
}

const MACHINES: &str = r#"
name: machines
topology:
  kinds:
    uml: { modules: [8021q] }
  nodes:
    r1: { ports: 2 }
    trunk: { kind: uml, addresses: { eth1: 10.0.0.2/24 }, gateway: 10.0.0.1 }
    bond: { kind: uml, modules: [bonding, sch_netem] }
    pc: { kind: linux }
  links:
    - { endpoints: ["r1:ether1", "trunk:eth1"], mtu: 1400 }
    - { endpoints: ["trunk:eth2", "bond:eth1"] }
    - { endpoints: ["r1:ether2", "pc:eth1"] }
steps:
  - { node: trunk, exec: uname -r }
"#;

#[test]
fn machines_are_read() {
    let lab = Topology::read(MACHINES).unwrap();
    assert_eq!((lab.time, lab.has_hosts()), (Time::Real, true));
    assert_eq!(
        lab.nodes.iter().map(NodeSpec::kind).collect::<Vec<_>>(),
        ["wirespeed", "uml", "uml", "linux"]
    );
    let host = |at: usize| lab.nodes[at].host().unwrap();
    assert_eq!(
        (&host(1).interfaces[..], &host(1).modules[..]),
        (&["eth1".into(), "eth2".into()][..], &["8021q".into()][..])
    );
    assert_eq!(host(2).modules, ["bonding", "sch_netem"]);
    let flags: Vec<_> = lab.nodes.iter().map(NodeSpec::is_machine).collect();
    assert_eq!(flags, [false, true, true, false]);
}

#[test]
fn what_is_wrong_with_machines_is_said_with_its_place() {
    let many: String = (0..9).map(|n| format!("    m{n}: {{ kind: uml }}\n")).collect();
    for (from, to, expected) in [
        (
            "kind: linux }",
            "kind: linux, modules: [dummy] }",
            "modules is not for a node of kind linux",
        ),
        ("ports: 2 }", "ports: 2, modules: [x] }", "modules is not for a node of kind wirespeed"),
        (
            "modules: [bonding,",
            "offloads: on, modules: [bonding,",
            "offloads is not for a node of kind uml",
        ),
        (
            "modules: [bonding,",
            "ports: 2, modules: [bonding,",
            "ports is not for a node of kind uml",
        ),
        (
            "[bonding,",
            "[../bonding,",
            "9:34: a module is letters, digits, - or _, as in lsmod: 8021q",
        ),
        ("modules: [8021q]", "modules: 8021q", "a list is wanted here"),
        (
            "mtu: 1400",
            "rate: 1G",
            "rate: a link to a node of kind uml is L2TPv3 over UDP, without one",
        ),
        ("mtu: 1400", "backend: xdp", "backend: a link to a node of kind uml is L2TPv3 over UDP"),
        ("r1:ether2\", \"pc", "bond:eth2\", \"pc", "put a router between"),
        ("exec: uname -r", "run: /ip", "trunk is of kind uml: run and script type on a router's"),
        ("    pc:", &format!("{many}    pc:"), "a lab has at most 8 nodes of kind uml"),
        ("kind: linux }", "kind: linux, inside: r1 }", "inside is not for a node of kind linux"),
        ("    pc:", "    far: { kind: uml, inside: pc }\n    pc:", "vector is missing"),
        ("    pc:", "    far: { kind: uml, vector: v }\n    pc:", "inside is missing"),
        (
            "    pc:",
            "    far: { kind: uml, inside: r1, vector: v }\n    pc:",
            "r1 is no node of kind linux",
        ),
        (
            "modules: [bonding,",
            "inside: pc, vector: v, modules: [bonding,",
            "with vector has no links",
        ),
    ] {
        assert!(MACHINES.contains(from), "{from:?} is not in the lab");
        let fault = Topology::read(&MACHINES.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(fault.contains(expected), "{to:?}: {fault:?}, expected {expected:?}");
    }
}

#[test]
fn odd_files_are_refused_too() {
    for (text, expected) in [
        ("", "the key topology is missing"),
        ("- a", "a map is wanted here"),
        ("a: b\n---\nc: d\n", "a second document"),
        ("name: x\ntopology: {nodes: }", "a lab has 1 to 64 nodes"),
        ("? [a]\n: b", "a text is wanted here"),
        ("\t", ""),
        ("name: \"\u{0}", ""),
    ] {
        let fault = Topology::read(text).expect_err(text).to_string();
        assert!(fault.contains(expected), "{text:?}: {fault}");
    }
    let long = format!("name: {}", "x".repeat(1 << 20));
    assert!(Topology::read(&long).is_err());
}

#[test]
fn what_a_value_is_to_be() {
    let pattern = |text| Wanted::Matches(Pattern::new(text).unwrap());
    for (wanted, value, holds) in [
        (Wanted::Is("yes".to_string()), "yes", true),
        (Wanted::Is("yes".to_string()), "yes ", false),
        (pattern("^e.*1$"), "ether1", true),
        (pattern("^e.*1$"), "ether2", false),
        (Wanted::AtLeast(3.0), "3", true),
        (Wanted::AtLeast(3.0), "2.9", false),
        (Wanted::AtLeast(3.0), "many", false),
        (Wanted::AtMost(3.0), "3", true),
        (Wanted::AtMost(3.0), "4", false),
        (Wanted::AtMost(3.0), "", false),
    ] {
        assert_eq!(wanted.holds(value), holds, "{wanted:?} {value:?}");
    }
}
