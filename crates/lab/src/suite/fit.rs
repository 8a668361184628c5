//! The check of a plan against a device, before anything is sent.
//!
//! Never opens an interface; it looks at what the system says of it.

use super::plan::stream::above_the_wire;
use super::plan::{Need, Plan, Traffic};
use super::run::Device;
use crate::interfaces;
use measure::FrameSize;
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
    if let Device::External(external) = device
        && external.ports.len() != plan.ports
    {
        let (n, has) = (plan.ports, external.ports.len());
        let last = char::from(b'a' + (n - 1).min(25) as u8);
        return impossible(format!(
            "the plan wants {n} ports, --port a=… to --port {last}=…: {has} were given"
        ));
    }
    let all = plan.procedures.iter().map(|procedure| meets(device, procedure.need()));
    if let Some(why) = all.map(Result::err).reduce(Option::and).flatten() {
        return impossible(format!("no procedure of the plan can be run: {why}"));
    }
    let Device::External(external) = device else { return Ok(plan) };
    // It may be elsewhere than the plan has it.
    let routed = !matches!(plan.traffic, Traffic::Hosts { .. });
    let ends = plan.ends.iter().filter(|_| routed);
    let hosts = ends.flat_map(|end| plan.replays.iter().map(move |replay| replay.hosts_in(end)));
    if let Some(why) = hosts.filter_map(Result::err).next() {
        return impossible(why);
    }
    let speed = interfaces::speed(&external.ports)?;
    match (link, speed) {
        (Some(link), Some(speed)) if link.0 > speed.0 => {
            let names: Vec<&str> =
                external.ports.iter().map(|port| port.interface.as_str()).collect();
            return impossible(format!(
                "a rate above the wire: {link:#}, and the slowest of {} has {speed:#}",
                names.join(" and ")
            ));
        }
        (None, Some(speed)) => plan.link = speed,
        _ => {}
    }
    let longest = plan.quick.sizes.iter().map(FrameSize::longest).max();
    let longest = longest.map_or(plan.longest(), |quick| quick.max(plan.longest()));
    // The interfaces are there: their speed is known.
    interfaces::carry(&external.ports, longest)
        .map_err(|why| Unfit::Impossible(why.to_string()))?;
    Ok(plan)
}

/// Whether what has a rate of its own in the plan goes over the wires of virtual time, which may carry
/// less than the plan's.
///
/// # Errors
/// It does not: why, in a sentence.
pub fn fits_virtual_time(plan: &Plan) -> Result<(), String> {
    let link = plan.simulated.link;
    let above = above_the_wire(plan.streams(), &plan.replays, link).map(|(_, why)| why);
    let replays = plan.replays.iter().filter_map(|replay| replay.until(link).err());
    match above.into_iter().chain(replays).next() {
        None => Ok(()),
        Some(why) => Err(format!(
            "{why}; wires of virtual time have {link:#} here (link in [virtual]), the plan's {:#}",
            plan.link
        )),
    }
}

/// Whether a device gives a procedure what it needs.
///
/// # Errors
/// Why not, and what helps.
pub(super) fn meets(device: &Device, need: Need) -> Result<(), &'static str> {
    let (outside, reset) = match device {
        Device::BuiltIn => return Ok(()),
        Device::Linux => (false, true),
        Device::External(external) => (true, external.reset.is_some()),
    };
    match need {
        Need::Restart => Err("this device is started anew by its owner, and nobody else"),
        Need::Forgetting if outside => Err(
            "how quickly this device forgets is not told by how long a command takes: only of the \
             built-in router and of the kernel here it is known",
        ),
        Need::EmptyTable if !reset => Err(
            "this device keeps what earlier trials left in its table: it takes --reset-command, \
             which empties it, or waits until all in it has aged",
        ),
        _ => Ok(()),
    }
}

/// What is to be said with a procedure's figures.
pub(super) fn caveat(device: &Device, need: Need) -> Option<&'static str> {
    match device {
        Device::External(external) if external.reset.is_none() && need == Need::NewConnections => {
            Some(
                "the device kept the connections of earlier trials, of which no later one used any \
                 (--reset-command empties its table)",
            )
        }
        _ => None,
    }
}
