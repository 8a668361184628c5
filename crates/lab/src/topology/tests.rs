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
    let nodes: Vec<_> = lab.nodes.iter().map(|node| (&*node.name, node.ports)).collect();
    assert_eq!(nodes, [("dut", 13), ("tg", 4)]);
    assert_eq!(lab.nodes[0].startup_config.as_deref(), Some("dut.rsc"));
    assert_eq!(lab.nodes[1].startup_config.as_deref(), Some("all.rsc"));
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
    assert!(matches!(&step.expect[1].test, Test::Value { node: 0, .. }), "{step:#?}");
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
        ("kind: wirespeed,", "kind: linux,", "there is no kind linux of node; legal: wirespeed"),
        ("kind: wirespeed,", "image: x,", "image is no key here; legal are: kind, ports, startup"),
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
        ("rate: 2.5G", "loss: 1%", "loss is no key here; legal are: endpoints, rate, delay"),
        ("    node: tg\n", "", "on which node? node: is missing; the nodes: dut, tg"),
        ("    node: tg\n", "    node: xy\n", "there is no node xy"),
        ("  - wait: 1.5ms", "  - {wait: 1s, run: x}", "one of run, script, wait"),
        ("  - wait: 1.5ms", "  - {title: x}", "one of these keys: run, script, wait"),
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
