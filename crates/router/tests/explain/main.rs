//! `/tool explain`: what it says, to the letter, and that it comes true.
//!
//! ```text
//! cases.txt:  ## name │ configuration │ @ what happened before │ > /tool explain … │ what it says
//! ```
//!
//! `WIRESPEED_BLESS=1 cargo test -p router --test explain` writes what is said now into the file.

mod comes_true;
#[path = "../differential/configuration.rs"]
#[allow(dead_code)] // each test uses its part
mod configuration;
#[path = "../rig/mod.rs"]
mod rig;
#[path = "../differential/session.rs"]
mod session;
#[path = "../differential/traffic.rs"]
#[allow(dead_code)]
mod traffic;

use config::{Display, Group};
use rig::{Rig, mac, own_mac};
use std::fmt::Write;
use wire::TcpFlags;
use wire::craft::{self, Frame, ip};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/explain/cases.txt");

/// One case of the file.
#[derive(Default)]
struct Case<'a> {
    name: &'a str,
    configuration: Vec<&'a str>,
    before: Vec<&'a str>,
    question: &'a str,
    said: String,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            cases.push(Case { name, ..Case::default() });
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        if let Some(before) = line.strip_prefix("@ ") {
            case.before.push(before);
        } else if let Some(question) = line.strip_prefix("> ") {
            case.question = question;
        } else if case.question.is_empty() {
            case.configuration.push(line);
        } else {
            let _ = writeln!(case.said, "{line}");
        }
    }
    cases
}

/// Three ports; 10.0.n.254 is the router's address on ether n, where 10.0.n.1 is known.
fn rig(case: &Case) -> Rig {
    let mut rig = Rig::new(3, "");
    let bridged = case.configuration.iter().any(|line| line.contains("/interface bridge port"));
    if !bridged {
        for n in 1..=3u8 {
            rig.run(&format!("/ip address add address=10.0.{n}.254/24 interface=ether{n}"));
            rig.introduce(n.into(), mac(n), ip(10, 0, n, 1), ip(10, 0, n, 254));
        }
    }
    for line in &case.configuration {
        rig.run(line);
    }
    for happened in &case.before {
        happen(&mut rig, happened);
    }
    rig
}

/// `PORT udp|tcp-FLAGS|ping SRC:PORT DST:PORT`, frames as hosts send them.
fn happen(rig: &mut Rig, what: &str) {
    let words: Vec<&str> = what.split(' ').collect();
    let [port, kind, src, dst] = words[..] else { panic!("{what}?") };
    let side = |text: &str| {
        let (address, port) = text.split_once(':').unwrap_or((text, "0"));
        let address: std::net::Ipv4Addr = address.parse().unwrap();
        (u32::from(address), port.parse::<u16>().unwrap())
    };
    let (port, src, dst) = (port.parse::<u8>().unwrap(), side(src), side(dst));
    let frame = match kind {
        "udp" => craft::udp(src.0, src.1, dst.0, dst.1),
        "syn" => craft::tcp(src.0, src.1, dst.0, dst.1, TcpFlags::SYN),
        "ping" => craft::ping(src.0, dst.0),
        other => panic!("{other}?"),
    };
    let bridged = rig.router.program().interface(rig.ether(port)).bridge.is_some();
    let dst_mac = if bridged { mac(dst.0 as u8) } else { own_mac(port) };
    let src_mac = if bridged { mac(src.0 as u8) } else { mac(port) };
    rig.pass(port.into(), &Frame { src_mac, dst_mac, ..frame }.build());
}

/// All there is to see of a router, and of its frames.
fn everything(rig: &mut Rig) -> String {
    let mut lines = rig.state();
    lines.push(format!("{:?} {:?}", rig.router.frames(), rig.router.path_counts()));
    lines.push(format!("{} in use", rig.frames_in_use()));
    let routes = rig.router.routes();
    lines.push(format!("{:?}", routes.leaves()));
    lines.push(format!("{:?}", rig.router.log().iter().count()));
    lines.join("\n")
}

#[test]
fn says_what_happens_and_changes_nothing() {
    let text = std::fs::read_to_string(CASES).unwrap();
    let mut blessed = String::new();
    let mut wrong = String::new();
    for case in cases(&text) {
        let mut rig = rig(&case);
        let before = everything(&mut rig);
        let output = rig.console.run(case.question, &rig.router.status(rig.now));
        let call = &output.unwrap_or_else(|why| panic!("{}: {why}", case.name)).calls[0];
        let tree = rig.console.tree().clone();
        let said = match rig.router.explain(call, &tree, rig.now) {
            Ok(explanation) => {
                if let Some(folder) = std::env::var_os("WIRESPEED_PICTURES") {
                    let name = format!("{}.svg", case.name.replace([' ', ',', ':'], "-"));
                    let path = std::path::Path::new(&folder).join(name);
                    std::fs::write(path, explanation.picture()).unwrap();
                }
                let records = explanation.records();
                let Display::Append(show) = call.command.display else { panic!() };
                let latest = records.last();
                let group =
                    Group { call, records: &records, before: 0, latest, last: true, width: 80 };
                show(&group)
            }
            Err(why) => format!("{why}\n"),
        };
        let after = everything(&mut rig);
        assert_eq!(before, after, "{}: explaining has changed the router", case.name);
        let _ = writeln!(blessed, "## {}", case.name);
        for line in &case.configuration {
            let _ = writeln!(blessed, "{line}");
        }
        for line in &case.before {
            let _ = writeln!(blessed, "@ {line}");
        }
        let _ = write!(blessed, "> {}\n{}\n", case.question, said);
        if said.trim_end() != case.said.trim_end() {
            let _ = writeln!(wrong, "## {}\n{said}--- instead of\n{}", case.name, case.said);
        }
    }
    if std::env::var_os("WIRESPEED_BLESS").is_some() {
        std::fs::write(CASES, blessed).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{wrong}");
}
