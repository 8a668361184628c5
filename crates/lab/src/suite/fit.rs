//! Whether a plan can be carried out on a device: asked before anything is sent.
//!
//! Never opens an interface; it looks at what the system says of it.

use super::plan::{Plan, Procedure};
use super::run::Device;
use super::wired;
use crate::real::open;
use port::linux::Unavailable;
use std::fmt;
use wire::BitRate;

/// Why not.
#[derive(Debug)]
pub enum Unfit {
    /// It cannot be: why, and what could be.
    Impossible(String),
    /// An interface is not there.
    Unavailable(Unavailable),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Impossible(why) => f.write_str(why),
            Unfit::Unavailable(unavailable) => unavailable.fmt(f),
        }
    }
}

impl std::error::Error for Unfit {}

impl From<Unavailable> for Unfit {
    fn from(unavailable: Unavailable) -> Unfit {
        Unfit::Unavailable(unavailable)
    }
}

/// The plan as the device can be put through it: with `link` as its wires' rate, or that of an
/// external device's interfaces where they tell. As quick, or not, as it is told.
///
/// # Errors
/// [`Unfit`].
pub fn fit(plan: &Plan, device: &Device, link: Option<BitRate>) -> Result<Plan, Unfit> {
    let impossible = |why: String| Err(Unfit::Impossible(why));
    let mut plan = plan.clone();
    plan.link = link.unwrap_or(plan.link);
    let name = match device {
        Device::BuiltIn => return Ok(plan),
        Device::Linux => "the kernel between two veths",
        Device::External(_) => "an external device",
    };
    if plan.ports > 2 {
        return impossible(format!("the plan wants {} ports: {name} has two", plan.ports));
    }
    if plan.procedures.iter().all(Procedure::starts_anew) {
        return impossible(format!(
            "every procedure of the plan starts the device anew: nobody but its owner can do that \
             to {name}"
        ));
    }
    let Device::External(external) = device else { return Ok(plan) };
    let speed = wired::speed(&external.ports)?;
    match (link, speed) {
        (Some(link), Some(speed)) if link.0 > speed.0 => {
            let [a, b] = &external.ports;
            return impossible(format!(
                "a rate above the wire: {link:#}, and the slower of {} and {} has {speed:#}",
                a.interface, b.interface
            ));
        }
        (None, Some(speed)) => plan.link = speed,
        _ => {}
    }
    for spec in &external.ports {
        let mtu = open::look(spec)?.mtu;
        // The header and the FCS are not in it.
        let sizes = plan.sizes.iter().chain(&plan.quick.sizes);
        if let Some(size) = sizes.max().filter(|size| size.l2() > mtu + 18) {
            return impossible(format!(
                "frames of {size} bytes do not leave by {}, whose MTU is {mtu}",
                spec.interface
            ));
        }
    }
    Ok(plan)
}
