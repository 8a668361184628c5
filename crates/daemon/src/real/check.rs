//! The check of a router's ports: `wirespeed router --check`.
//!
//! ```text
//!  config.rsc ─► taken over by a router without cables ──────► Report
//!  PortSpec … ─► linux::check (interfaces, rights, cores) ───►
//!             ─► are two the same interface? is one somebody else's? ►
//! ```
//!
//! The configuration is rehearsed: all its commands run, on a router that is thrown away, with ports
//! of the names asked for. What it writes to files is let fall. Its delays are waited for.

use super::claim::Claim;
use super::spec::PortSpec;
use super::{Plan, StartError, identity, kernel, limits, open, running};
use crate::clock::{self, Clock};
use crate::linux::check::{self, Finding, Report, Verdict, Wanted};
use crate::live::{Interrupt, Live};
use crate::machine;
use crate::node::{Node, Socket};
use config::{Language, Status};
use port::Slab;
use port::linux::interface::Interface;
use port::linux::{Namespace, Unavailable};
use port::slab::Slots;
use router::PortInfo;
use std::path::Path;
use std::sync::Arc;
use wire::Moment;

/// Frames of the router that a configuration is tried on.
const FRAMES: usize = 4096;

/// Looks at what this router would need, its threads on these processors, and takes over its
/// configuration, which is in `file`, on a router without cables. Changes nothing.
pub fn check(plan: &Plan, file: &Path, cores: &[usize], language: &Arc<Language>) -> Report {
    let plan = &Plan { ports: running::with_kernel(plan), ..plan.clone() };
    let mut report = Report { findings: vec![] };
    // What cannot be looked at stops it anyway; the others tell how much memory there must be.
    let looks = plan.ports.iter().filter_map(|spec| Some((spec.clone(), open::look(spec).ok()?)));
    let (ports, looks): (Vec<_>, Vec<_>) = looks.unzip();
    let enough = limits::descriptors(ports.iter().zip(&looks), plan.workers);
    let (slots, memory) = match running::slab(&Plan { ports, ..plan.clone() }, &looks) {
        Ok(slab) => (slab.slots(), slab.capacity() * slab.slots().stride()),
        Err(error) => {
            report.add("machine", "frames", error.to_string(), Verdict::Stop, "ask for fewer");
            (Slots::STANDARD, 0)
        }
    };
    match limits::room(memory as u64) {
        // A router is made to try it on.
        Ok(()) => drop(report.findings.splice(0..0, configuration(plan, file, language))),
        Err(why) => report.stop("machine", "memory", &why, ""),
    }
    if let Err(why) = enough {
        report.stop("machine", "descriptors", &why, "");
    }
    let wanted = Wanted {
        ports: &plan.ports,
        threads: plan.workers + 1,
        cores,
        memory: memory as u64,
        slots,
    };
    report.findings.extend(check::check(&wanted).findings);
    let routes = running::routes_of(plan).and_then(|of| of.map(kernel::open).transpose());
    match routes {
        Ok(None) => {}
        Ok(Some(_)) => report.good("machine", "kernel routes", "there to be followed"),
        Err(why) => report.stop("machine", "kernel routes", &why, ""),
    }
    if let Err((spec, why)) = identity::distinct(&plan.ports) {
        report.stop(&spec.name, "interface", &why, "");
    }
    for spec in &plan.ports {
        if let Err(why) = free(spec) {
            report.stop(&spec.name, "in use", &why, "");
        }
    }
    report
}

/// Whether the configuration would be taken over, and what in it could never work.
fn configuration(plan: &Plan, file: &Path, language: &Arc<Language>) -> Vec<Finding> {
    let file = file.display();
    let finding = |is: String, verdict, advice: &str| {
        let (of, what) = ("router".to_string(), "configuration".to_string());
        Finding { of, what, is, verdict, advice: advice.to_string() }
    };
    match rehearse(plan, language) {
        Ok(remarks) => {
            let mut found = vec![finding(format!("{file} has no error"), Verdict::Good, "")];
            found.extend(remarks.into_iter().map(|remark| finding(remark, Verdict::Warn, "")));
            found
        }
        Err(error @ StartError::Startup(_)) => vec![finding(
            format!("{file}:{error}"),
            Verdict::Stop,
            "correct it: of a configuration with an error nothing is taken over",
        )],
        Err(error) => vec![finding(error.to_string(), Verdict::Stop, "")],
    }
}

/// Takes over the configuration of a router that has no interfaces, and is gone then. What stands
/// above items in `print`: rules that can never match, a bridge whose loops are not broken.
///
/// # Errors
/// [`StartError::Startup`]: it has an error.
pub(super) fn rehearse(plan: &Plan, language: &Arc<Language>) -> Result<Vec<String>, StartError> {
    let slab = Slab::new(FRAMES).map_err(StartError::Slab)?;
    let info = |spec: &PortSpec| PortInfo {
        name: spec.name.clone(),
        // That an interface is not there is said elsewhere.
        mac: open::look(spec).map_or_else(|_| open::made_up(spec), |look| look.mac),
        capabilities: open::capabilities(spec, slab.slots()),
    };
    let infos: Vec<_> = plan.ports.iter().map(info).collect();
    let sockets = plan.ports.iter().map(|_| Socket::empty()).collect();
    let (clock, environment) = (Clock::start(), machine::environment(clock::unix()));
    let node = Node::with_ports(&plan.name, infos, &slab, environment, clock.now());
    let live = Live::start(node, sockets, clock, None).map_err(StartError::System)?;
    let door = live.door();
    running::import(&door, plan, plan.files.rehearsed(), language, &Interrupt::default())?;
    // A router that has panicked has said so to the import.
    Ok(door.with(remarks).unwrap_or_default())
}

/// A few, with the menu each is about.
fn remarks(node: &mut Node, now: Moment) -> Vec<String> {
    const MOST: usize = 8;
    let tree = node.tree().clone();
    let status = node.status(now);
    let items = router::MENUS.iter().flat_map(|menu| {
        tree.items(menu.path).iter().filter_map(|item| {
            let remark = status.remark(menu, item).filter(|_| !item.disabled)?;
            let name = menu.key().map_or(String::new(), |key| format!(" {}", item.name(key)));
            Some(format!("{}{name}: {remark}", menu.path).replace(char::is_control, " "))
        })
    });
    let mut remarks: Vec<String> = items.take(MOST + 1).collect();
    if remarks.len() > MOST {
        remarks[MOST] = "and more of these: see them in print".to_string();
    }
    remarks
}

/// Whether no other router has the interface: its lock is taken and given back.
fn free(spec: &PortSpec) -> Result<(), Unavailable> {
    let look = || match Interface::of(&spec.interface) {
        Ok(interface) => Claim::take(&interface.name, interface.index).map(drop),
        // That it is not there is said elsewhere.
        Err(_) => Ok(()),
    };
    match &spec.namespace {
        None => look(),
        Some(name) => match Namespace::open(name).map(|place| place.run(look)) {
            Ok(Ok(looked)) => looked,
            _ => Ok(()),
        },
    }
}
