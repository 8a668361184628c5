//! `wirespeed iperf3 --device external` as its user meets it: what it refuses, and that the machine's
//! interfaces are its own again, however the program ends.
//!
//! ```text
//!  r, the machine: eth1 ═══ a0 [ br0 ] b0 ═══ eth2      a, the box: a bridge
//! ```
#![cfg(target_os = "linux")]

mod rig;

use rig::{PATIENCE, Rig, sh};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Long enough to be ended in the middle.
const PLAN: &str = "name = \"t\"\ndevices = [\"external\"]\npackets = [1500]\nprotocols = [\"udp\"]\n\
                    udp-rate = \"1M\"\nstreams = 1\nduration = \"600s\"\n";
/// Hosts of one network: the box is a bridge.
const WORDS: [&str; 12] = [
    "--device",
    "external",
    "--port",
    "a=eth1",
    "--port",
    "b=eth2",
    "--address",
    "a=198.18.1.2/24",
    "--address",
    "b=198.18.1.3/24",
    "--link",
    "1G",
];

/// A bridge between the cables of both hosts, in host a's place.
fn bridge(rig: &Rig) {
    let there = rig.a.path();
    sh(&rig.b, &format!("ip address flush dev b0; ip link set b0 netns {}", there.display()));
    sh(
        &rig.a,
        "ip address flush dev a0; ip link add name br0 type bridge stp_state 0
         ip link set a0 master br0; ip link set b0 master br0; ip link set b0 up; ip link set br0 up
         ip address add 198.18.1.9/24 dev br0",
    );
}

fn start(rig: &Rig, plan: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
    command.args(["iperf3", plan]).args(WORDS);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    rig.r.spawn(command).unwrap()
}

/// Waits until the box sees somebody at this address, or nobody any more.
fn answers(rig: &Rig, address: &str, expected: bool) {
    for _ in 0..PATIENCE.as_millis() / 200 {
        let words =
            format!("ip neighbour flush dev br0; ping -q -c 1 -W 1 {address} && echo yes || true");
        if sh(&rig.a, &words).contains("yes") == expected {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("{address}, expected {expected}\n{}", sh(&rig.r, "ip -d link"));
}

#[test]
fn interfaces_are_back_however_it_ends() {
    let Some(rig) = Rig::new("iperf3", &["ping", "iperf3"]) else { return };
    bridge(&rig);
    let plan = rig.file("plan.toml", PLAN);
    // Of the carriers that have just come, `ip` hears a little later.
    sh(&rig.r, "while ip link | grep -q NO-CARRIER; do sleep 0.05; done");
    let links = sh(&rig.r, "ip -d link");
    for signal in ["INT", "KILL"] {
        let mut child = start(&rig, &plan);
        answers(&rig, "198.18.1.3", true);
        let again = [&["iperf3", &plan], &WORDS[..]].concat();
        rig.wirespeed_says(&again, 3, "cannot take the interface eth1: process ");
        sh(&rig.r, &format!("kill -s {signal} {}", child.id()));
        child.wait().unwrap();
        answers(&rig, "198.18.1.3", false);
        // The machine's own stack has its frames again.
        sh(&rig.r, "ip address add 198.18.1.7/24 dev eth1");
        answers(&rig, "198.18.1.7", true);
        sh(&rig.r, "ip address flush dev eth1");
        assert_eq!(sh(&rig.r, "ip -d link"), links, "after {signal}");
    }
}

#[test]
fn what_is_refused() {
    let Some(rig) = Rig::new("iperf3-refused", &["iperf3"]) else { return };
    let plan = rig.file("plan.toml", PLAN);
    let external = ["iperf3", &plan, "--device", "external"];
    for (words, code, expected) in [
        (&[][..], 2, "an external device has two ports or more: "),
        (&["--port", "a=eth1", "--port", "b=eth9"], 3, "interface eth9: No such device"),
        (&["--port", "a=eth1", "--port", "b=eth1"], 2, "a and b are the same interface, eth1"),
        (&["--port", "a=lo", "--port", "b=eth2"], 3, "cannot lend lo: it has no MAC address"),
        (&["--port", "a=eth1", "--port", "b=eth2", "--address", "a=10.0.0.2/8"], 2, "RFC 6815"),
        (&["--port", "a=eth1", "--port", "b=eth2"], 3, "nobody answers ARP for 198.18.1.1 at eth1"),
    ] {
        rig.wirespeed_says(&[&external, words].concat(), code, expected);
    }
    sh(&rig.r, "ip address add 192.0.2.1/24 dev eth1");
    let words = ["--port", "a=eth1", "--port", "b=eth2"];
    rig.wirespeed_says(&[&external, &words[..]].concat(), 3, "--allow-in-use");
}
