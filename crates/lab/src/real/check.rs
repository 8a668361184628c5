//! What the machine allows a router with these ports: `wirespeed router --check`.
//!
//! ```text
//!  PortSpec … ─► linux::check (interfaces, rights, cores) ─► Report
//!             ─► is an interface somebody else's? ─────────►
//! ```

use super::claim::Claim;
use super::running::frames;
use super::spec::{Backend, PortSpec};
use crate::linux::check::{self, Finding, How, Report, Verdict, Wanted};
use port::linux::interface::Interface;
use port::linux::{Namespace, Unavailable};
use port::slab::Slots;

/// What a frame's slot keeps for itself, about.
const HEADROOM: usize = 128;

/// Looks at what a router with these ports and workers would need, its threads on these processors;
/// changes nothing.
pub fn check(ports: &[PortSpec], workers: usize, cores: &[usize]) -> Report {
    let wanted = ports.iter().map(|spec| Wanted {
        port: spec.name.clone(),
        how: match spec.backend {
            Backend::Xdp => How::Xdp,
            Backend::Packet => How::Packet,
            Backend::Tap => How::Tap,
        },
        interface: spec.interface.clone(),
        namespace: spec.namespace.clone(),
    });
    let wanted: Vec<_> = wanted.collect();
    let memory = frames(ports, workers, |_| 1) * (Slots::STANDARD.max_frame() + HEADROOM);
    let mut report = check::check(&wanted, cores, memory as u64);
    for spec in ports {
        if let Err(why) = free(spec) {
            report.findings.push(Finding {
                of: spec.name.clone(),
                what: "in use".to_string(),
                is: why.error.to_string(),
                verdict: Verdict::Stop,
                advice: why.remedy.unwrap_or_default(),
            });
        }
    }
    report
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
