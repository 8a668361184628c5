//! The iperf3 method of source 002: real iperf3 processes, pinned in pairs, through a device.
//!
//! ```text
//! plan ─► for each device, MTU:  rig ─► for each protocol, direction, length:  pairs ─► Row
//!           node to node               iperf3 -s ◄═══ packets of one length ═══ iperf3 -c
//!           the kernel as a router     (N of them, a port and a processor each)
//!           the built-in router           for each of ping, irtt:  their times ─► Latency
//!           what is outside (two of this machine's interfaces)
//! ```
//!
//! Nothing of what iperf3 writes is thrown away; what it means on other layers is
//! [`measure::iperf3`]'s. What the machine disturbed is measured once more, a few times at most, and then
//! is invalid. Never uses `-O` (esnet/iperf #236): all pairs run before and after the time that counts.
//! Missing: **hosts on other machines**, **packets with IP options**.

// What is to be measured.
pub mod plan;
// Processors of processes and threads.
mod processors;
// Processes.
mod pair;
// ping and irtt.
mod latency;
// What TCP makes of a path (RFC 6349).
mod path;
// The machine's activity meanwhile.
mod activity;
// Hosts, wires, devices.
mod rig;
// What is connected to two interfaces.
pub mod external;
// How it is all set up.
mod maker;

pub use external::External;
pub use plan::{Device, Plan};
pub use rig::{Rig, RigError};

use crate::live::Interrupt;
use activity::Activity;
use measure::Environment;
use measure::iperf3::{Arrived, Direction, Pair, Protocol, Results, Row, SCHEMA, Setting};
use measure::iperf3::{figures, undisturbed};
use processors::Processors;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io;
use std::time::Duration;
use wire::throughput::tcp::iperf3_with;

/// The first pair's port.
const PORT: u16 = 5201;
/// How long all go on after what counts, so that none has the wire for itself while it counts.
const COOL_DOWN: Duration = Duration::from_secs(1);
/// What starting, handshakes and the last reports may take, on a busy machine.
const GRACE: Duration = Duration::from_secs(20);

/// An ordinary interface's MTU.
const ORDINARY: u32 = 1500;
/// How often each place is tried: who wakes whom first can make one run twice as fast as the next.
const PROBES: usize = 3;

/// The longest packets of the built-in router (`/interface ethernet`).
const ROUTERS_MTU: u32 = 1886;

/// How to run a plan.
pub struct Options {
    /// The plan's text, for the result.
    pub text: String,
    /// The built-in router's script, beside its addresses.
    pub script: String,
    /// Shortened as the plan says.
    pub quick: bool,
    /// Raised to end it: what was measured is kept.
    pub interrupt: Interrupt,
    /// Where it is run.
    pub environment: Environment,
    /// What is outside, if that is among the plan's devices.
    pub external: Option<External>,
}

/// It did not begin, or a row could not be measured.
#[derive(Debug)]
pub enum Iperf3Error {
    /// Hosts and device cannot be had.
    Rig(Device, RigError),
    /// A program is not here: Debian's package of it.
    NotInstalled(&'static str),
    /// One could not be started.
    Start(io::Error),
    /// One did not do what it was to; which, and what is known.
    Failed(String),
    /// Somebody wanted an end.
    Interrupted,
}

impl fmt::Display for Iperf3Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Iperf3Error::Rig(device, error) => write!(f, "{}: {error}", device.name()),
            Iperf3Error::NotInstalled(package) => write!(
                f,
                "{package} is not installed: install it (Debian: apt install {package}) and try \
                 again"
            ),
            Iperf3Error::Start(error) => write!(f, "cannot start a program: {error}"),
            Iperf3Error::Failed(why) => f.write_str(why),
            Iperf3Error::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Iperf3Error {}

impl Iperf3Error {
    fn rig(device: Device, error: RigError) -> Iperf3Error {
        match error {
            RigError::Interrupted => Iperf3Error::Interrupted,
            error => Iperf3Error::Rig(device, error),
        }
    }

    /// A program of this package could not be started.
    fn start(package: &'static str, error: io::Error) -> Iperf3Error {
        match error.kind() {
            io::ErrorKind::NotFound => Iperf3Error::NotInstalled(package),
            _ => Iperf3Error::Start(error),
        }
    }
}

/// What a run says while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// What was measured, in a few words.
    Line(String),
    /// All there is by now.
    Kept(&'a Results),
}

/// Measures everything a plan asks for; `tell` gets each row when it is there. What
/// fails after the first row does not take the others with it: it is why the results are incomplete.
///
/// # Errors
/// [`Iperf3Error`], if there is not one row.
pub fn run(
    plan: &Plan,
    options: &Options,
    mut tell: impl FnMut(Progress<'_>),
) -> Result<Results, Iperf3Error> {
    let mut plan = if options.quick { plan.quickened() } else { plan.clone() };
    if let Some(external) = options.external.as_ref().filter(|_| plan.is_of(Device::External)) {
        // Before anything is measured: interfaces that cannot be lent end it at once.
        let seen = external.look();
        let seen = seen.map_err(|error| Iperf3Error::rig(Device::External, error.into()))?;
        // All wires are as slow as those there, so that the baseline can be compared.
        plan.link = plan.link.map(|link| seen.wire.map_or(link, |wire| link.min(wire)));
    }
    if !plan.packets.is_empty() || !plan.windows.is_empty() {
        pair::installed()?;
    }
    let mut results = Results {
        schema: SCHEMA.to_string(),
        name: plan.name.clone(),
        plan: options.text.clone(),
        quick: options.quick,
        environment: options.environment.clone(),
        incomplete_because: None,
        omitted: Vec::new(),
        setups: Vec::new(),
        rows: Vec::new(),
        latencies: Vec::new(),
        paths: Vec::new(),
    };
    if let Err(error) = measure(&plan, options, &mut results, &mut tell) {
        let asked = matches!(error, Iperf3Error::Interrupted);
        let Results { rows, latencies, paths, .. } = &results;
        if rows.is_empty() && latencies.is_empty() && paths.is_empty() && !asked {
            return Err(error);
        }
        results.incomplete_because = Some(error.to_string());
    }
    Ok(results)
}

fn measure(
    plan: &Plan,
    options: &Options,
    results: &mut Results,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Iperf3Error> {
    let cores = match plan.cores.as_slice() {
        [] => port::affinity::allowed(),
        cores => cores.to_vec(),
    };
    let mut places = HashMap::new();
    for &device in &plan.devices {
        let limit = longest(device, options)?;
        for (mtu, packets) in by_mtu(&plan.packets, plan.is_of_paths()) {
            let is_ordinary = mtu == ORDINARY;
            let (packets, long): (Vec<u32>, Vec<u32>) =
                packets.into_iter().partition(|packet| *packet <= limit.mtu);
            let omitted = |packet| limit.omitted(device, packet);
            results.omitted.extend(long.into_iter().map(omitted));
            if packets.is_empty() && !(is_ordinary && plan.is_of_paths()) {
                continue;
            }
            let mtu = mtu.min(limit.mtu);
            let (place, found) = match places.entry(device) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(probe(plan, options, device, &cores)?),
            };
            let of = |error| Iperf3Error::rig(device, error);
            let rig = Rig::new(plan, options, device, mtu, place).map_err(of)?;
            if device == Device::External
                && !is_ordinary
                && !path::carries(&rig, mtu, &options.interrupt)?
            {
                results.omitted.push(format!(
                    "{}, packets of {mtu} bytes: they do not come through whole; the device's own \
                     MTU is smaller",
                    device.name()
                ));
                continue;
            }
            let mut setup = rig.setup.clone();
            setup.facts.extend(found.clone());
            results.setups.push(setup);
            for setting in settings(plan, device, rig.link_mbps, &packets) {
                let row = row(plan, &rig, &setting, place, &options.interrupt)?;
                let (name, rate) = (row.setting.name(), row.l3_mbps);
                let but = but(row.validity.invalid.as_ref());
                tell(Progress::Line(format!("{name}: {rate:.1} Mbps(L3){but}")));
                results.rows.push(row);
                tell(Progress::Kept(results));
            }
            for &tool in plan.latency.iter().filter(|_| is_ordinary) {
                let of = latency::measure(&rig, tool, plan.duration, &options.interrupt)?;
                let (name, median) = (device.name(), of.median_ns as f64 / 1e3);
                let but = but(of.validity.invalid.as_ref());
                let line = format!("{name}, {tool}: {median:.1} µs there and back, median{but}");
                tell(Progress::Line(line));
                results.latencies.push(of);
                tell(Progress::Kept(results));
            }
            if !plan.windows.is_empty() && is_ordinary {
                let mut line = |line| tell(Progress::Line(line));
                let path = path::measure(plan, &rig, place, &options.interrupt, &mut line)?;
                results.paths.push(path);
                tell(Progress::Kept(results));
            }
        }
    }
    Ok(())
}

/// The longest packets of a device's interfaces, and what would let them have longer ones.
struct Longest {
    mtu: u32,
    remedy: &'static str,
}

impl Longest {
    fn omitted(&self, device: Device, packet: u32) -> String {
        let (name, Longest { mtu, remedy }) = (device.name(), self);
        format!("{name}, packets of {packet} bytes: its interfaces' MTU is {mtu}{remedy}")
    }
}

fn longest(device: Device, options: &Options) -> Result<Longest, Iperf3Error> {
    Ok(match (device, &options.external) {
        (Device::Wirespeed, _) => Longest { mtu: ROUTERS_MTU, remedy: " at most" },
        (Device::External, Some(external)) => {
            let seen = external.look();
            let seen = seen.map_err(|error| Iperf3Error::rig(device, error.into()))?;
            let remedy = " here: `ip link set … mtu`, and the device's own";
            Longest { mtu: seen.mtu, remedy }
        }
        _ => Longest { mtu: u32::MAX, remedy: "" },
    })
}

/// The place at which a device is fastest, and how that was found, if there was a choice.
fn probe(
    plan: &Plan,
    options: &Options,
    device: Device,
    cores: &[usize],
) -> Result<(Processors, Option<String>), Iperf3Error> {
    let mut candidates = Processors::candidates(plan, device, cores);
    if let [_] = candidates.as_slice() {
        return Ok((candidates.remove(0), None));
    }
    let probe = plan.probe();
    let limit = longest(device, options)?.mtu;
    let mtu = probe.packets[0].max(ORDINARY).min(limit);
    let mut rates = vec![Vec::new(); candidates.len()];
    for _ in 0..PROBES {
        for (rates, place) in rates.iter_mut().zip(&candidates) {
            let of = |error| Iperf3Error::rig(device, error);
            let rig = Rig::new(&probe, options, device, mtu, place).map_err(of)?;
            let setting = settings(&probe, device, rig.link_mbps, &[probe.packets[0].min(limit)]);
            let setting = setting.into_iter().next().expect("a protocol and a direction");
            let row = row(&probe, &rig, &setting, place, &options.interrupt)?;
            rates.extend(row.validity.is_valid().then_some(row.l3_mbps));
        }
    }
    let median = |mut rates: Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        measure::compare::median(&rates).unwrap_or(0.0)
    };
    let medians: Vec<f64> = rates.into_iter().map(median).collect();
    let found = candidates.iter().zip(&medians);
    let found: Vec<_> = found.map(|(place, rate)| format!("{} {rate:.0}", place.name)).collect();
    let best = (0..medians.len()).max_by(|&a, &b| medians[a].total_cmp(&medians[b])).unwrap_or(0);
    let place = candidates.swap_remove(best);
    let found = format!(
        "places, Mbps(L3), medians of {PROBES} seconds by turns: {}: {}",
        found.join(", "),
        place.name
    );
    Ok((place, Some(found)))
}

/// What is measured of a device with packets of these lengths, in order.
fn settings(plan: &Plan, device: Device, link_mbps: Option<f64>, packets: &[u32]) -> Vec<Setting> {
    let mut settings = Vec::new();
    for &protocol in &plan.protocols {
        for &direction in &plan.directions {
            settings.extend(packets.iter().map(|&packet| Setting {
                device: device.name().to_string(),
                protocol,
                direction,
                packet,
                timestamps: plan.timestamps,
                pairs: plan.pairs,
                streams: plan.streams,
                link_mbps,
            }));
        }
    }
    settings
}

/// The lengths an ordinary interface carries, and each longer one with an MTU of its own. There are
/// ordinary interfaces in any case if something else wants them.
fn by_mtu(packets: &[u32], wanted: bool) -> Vec<(u32, Vec<u32>)> {
    let (ordinary, long): (Vec<u32>, Vec<u32>) = packets.iter().partition(|&&n| n <= ORDINARY);
    let ordinary = (wanted || !ordinary.is_empty()).then_some((ORDINARY, ordinary));
    ordinary.into_iter().chain(long.into_iter().map(|packet| (packet, vec![packet]))).collect()
}

/// What is to be said of an invalid figure behind it.
fn but(invalid: Option<&String>) -> String {
    invalid.map_or(String::new(), |why| format!("; invalid: {why}"))
}

/// Measures one row; once more if it was disturbed.
fn row(
    plan: &Plan,
    rig: &Rig,
    setting: &Setting,
    place: &Processors,
    interrupt: &Interrupt,
) -> Result<Row, Iperf3Error> {
    undisturbed(|| once(plan, rig, setting.clone(), place, interrupt), |row| &mut row.validity)
}

fn once(
    plan: &Plan,
    rig: &Rig,
    setting: Setting,
    place: &Processors,
    interrupt: &Interrupt,
) -> Result<Row, Iperf3Error> {
    let by = iperf3_with(setting.packet, setting.headers());
    let by =
        by.ok_or_else(|| Iperf3Error::Failed(format!("no packet of {} bytes", setting.packet)))?;
    let (warm_up, duration) = (plan.warm_up.as_secs(), plan.duration.as_secs());
    let ways: &[bool] = match setting.direction {
        Direction::OneWay => &[false],
        Direction::BothWays => &[false, true],
    };
    let mut specs = Vec::new();
    let mut reversed = Vec::new();
    for _ in 0..plan.pairs {
        for &reverse in ways {
            let (from, to) = if reverse { (1, 0) } else { (0, 1) };
            let n = specs.len();
            let port = PORT + n as u16;
            let words = |text: String| text.split(' ').map(str::to_string).collect::<Vec<_>>();
            let [sender, receiver] = [false, true].map(|is_server| place.affinity(n, is_server));
            let write = plan.write.filter(|_| setting.protocol == Protocol::Tcp);
            let write = write.unwrap_or(by.length);
            let protocol = match setting.protocol {
                Protocol::Tcp => format!("-M {}", by.mss),
                Protocol::Udp => {
                    let streams = f64::from(plan.pairs) * f64::from(plan.streams);
                    format!("-u -b {:.0}", plan.udp_rate.map_or(0.0, |rate| rate / streams))
                }
            };
            let client = words(format!(
                "-4 -c {} -p {port} -t {} -i 1 -P {} -l {} {protocol}{sender} \
                 --connect-timeout 5000 --json",
                rig.addresses[to],
                warm_up + duration + COOL_DOWN.as_secs(),
                plan.streams,
                write
            ));
            let server = words(format!("-4 -s -1 -p {port} -i 1{receiver} --json"));
            specs.push(pair::Spec {
                from: &rig.hosts[from],
                to: &rig.hosts[to],
                port,
                client,
                server,
            });
            reversed.push(reverse);
        }
    }
    let limit = plan.warm_up + plan.duration + COOL_DOWN + GRACE;
    let mut around = Activity::of(place, plan.warm_up..plan.warm_up + plan.duration);
    let before = rig.arrived();
    let wrote = pair::run(&specs, limit, interrupt, &mut |since| around.at(since));
    let wrote = wrote?;
    let after = rig.arrived();
    let (_, conditions) = around.end();
    let mut pairs = Vec::new();
    for (wrote, reverse) in wrote.into_iter().zip(reversed) {
        let window = warm_up as f64..(warm_up + duration) as f64;
        let figures = figures(&wrote.client, &wrote.server, window, by.length);
        let figures = figures
            .map_err(|why| Iperf3Error::Failed(format!("`{}`: {why}", wrote.client_command)))?;
        let pair::Wrote { client_command, server_command, client, server } = wrote;
        pairs.push(Pair { reverse, client_command, server_command, figures, client, server });
    }
    // Both ways, there are acknowledgements of the other way among them.
    let arrived = before.zip(after).filter(|_| setting.direction == Direction::OneWay);
    let arrived = arrived.map(|(before, after)| Arrived {
        frames: after.frames - before.frames,
        bytes: after.bytes - before.bytes,
    });
    let packet = setting.packet;
    let row = Row::of(setting, pairs, arrived).map(|row| row.judged(&conditions));
    row.ok_or_else(|| Iperf3Error::Failed(format!("no packet of {packet} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_packets_have_wires_of_their_own() {
        let got = by_mtu(&[128, 9000, 1500, 4000], false);
        assert_eq!(got, [(1500, vec![128, 1500]), (9000, vec![9000]), (4000, vec![4000])]);
        assert_eq!(by_mtu(&[2000], false), [(2000, vec![2000])]);
        assert_eq!(by_mtu(&[2000], true), [(1500, vec![]), (2000, vec![2000])]);
    }
}
