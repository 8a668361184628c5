//! Namespaces with a veth pair between them, for tests of ports on real interfaces.
//!
//! ```text
//! namespace a: veth `va` ════ veth `vb`: namespace b
//! ```
//!
//! Offloads that fake checksums or make super-frames are off at both ends. Nothing is left behind:
//! the namespaces have no names, and end with the test's process.

#![allow(dead_code)] // not every test uses all of it

#[path = "../left_out/mod.rs"]
pub(crate) mod left_out;

use left_out::{lacks, left_out};
use port::linux::Namespace;
use port::linux::interface::{Offloads, set_offloads};
use std::net::IpAddr;
use std::process::Command;

/// A veth pair, an end in each of two new namespaces, up.
pub(crate) struct Veth {
    /// Where the interface `va` is.
    pub(crate) a: Namespace,
    /// Where the interface `vb` is.
    pub(crate) b: Namespace,
}

impl Veth {
    /// A pair with one queue; `None`, said on standard error, where there are no rights for it, or no
    /// `ip` (except when `CI` is set: then it panics).
    pub(crate) fn new() -> Option<Veth> {
        Veth::with("numrxqueues 1 numtxqueues 1")
    }

    /// The same for a test that takes these programs; `None`, said, too, where one is not here.
    pub(crate) fn taking(programs: &[&str]) -> Option<Veth> {
        if lacks(programs) { None } else { Veth::new() }
    }

    /// The same with these words for `ip link add`, on both ends.
    pub(crate) fn with(words: &str) -> Option<Veth> {
        if lacks(&["ip"]) {
            return None;
        }
        let (a, b) = match (Namespace::new(), Namespace::new()) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(unavailable), _) | (_, Err(unavailable)) => {
                left_out(unavailable);
                return None;
            }
        };
        for namespace in [&a, &b] {
            // Nobody is to announce himself. Without IPv6 nobody can.
            let quiet = || std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            let _ = namespace.run(quiet).unwrap();
        }
        let there = b.path();
        let pair = format!(
            "ip link add name va {words} type veth peer name vb {words} netns {}",
            there.display()
        );
        sh(&a, &pair);
        for (namespace, name) in [(&a, "va"), (&b, "vb")] {
            switch(namespace, name, Offloads::NONE);
            sh(namespace, &format!("ip link set lo up; ip link set {name} up"));
        }
        Some(Veth { a, b })
    }
}

/// Makes an interface's offloads these.
pub(crate) fn switch(namespace: &Namespace, name: &str, offloads: Offloads) {
    let switched = namespace.run(|| set_offloads(name, offloads)).unwrap();
    switched.unwrap_or_else(|unavailable| panic!("{unavailable}"));
}

/// Runs a shell's words in a namespace and returns what they print.
///
/// # Panics
/// If they fail.
pub(crate) fn sh(namespace: &Namespace, words: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", words]);
    let output = namespace.output(command).unwrap_or_else(|error| panic!("{words}: {error}"));
    let [out, err] =
        [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    assert!(output.status.success(), "{words}: {}\n{out}{err}", output.status);
    out
}

/// Whom a packet is for, or an ARP request or a neighbour solicitation asks for.
///
/// # Panics
/// If the frame is too short for any of these.
pub(crate) fn target(frame: &[u8]) -> IpAddr {
    let four = |at: usize| frame[at..].first_chunk::<4>().map(|&four| IpAddr::from(four));
    let six = |at: usize| frame[at..].first_chunk::<16>().map(|&six| IpAddr::from(six));
    let target = match (&frame[12..14], frame[20], frame.get(54)) {
        ([8, 6], ..) => four(38),
        ([8, 0], ..) => four(30),
        (_, 58, Some(135)) => six(62),
        _ => six(38),
    };
    target.expect("a whole header")
}
