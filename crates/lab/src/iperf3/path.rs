//! RFC 6349 between the two hosts: the path by ping and UDP, then iperf3's transfers over it.
//!
//! ```text
//!  ping -M do -s …    ─► MTU          ping -A ─► round trip         iperf3 -u ─► narrowest place
//!  iperf3 -w WINDOW   ─► a transfer for each window, `streams` connections
//! ```

use super::activity::Activity;
use super::latency::{self, PINGS_OF_A_PATH};
use super::plan::Plan;
use super::processors::Processors;
use super::rig::Rig;
use super::{Iperf3Error, PORT, but, pair, row};
use crate::live::Interrupt;
use measure::iperf3::{Direction, HostPath, Protocol, Setting, Tool, undisturbed};
use std::time::Duration;

/// IPv4's and ICMP's headers.
const PING_HEADERS: u32 = 28;
/// The smallest MTU tried: no path of IPv4 need carry more (RFC 791).
const LEAST: u32 = 576;
/// What starting and ending may take, on a busy machine.
const GRACE: Duration = Duration::from_secs(20);

/// The path through a device, and a transfer for each of the plan's windows; `tell` gets each.
///
/// # Errors
/// [`Iperf3Error`]; no process is left then.
pub(super) fn measure(
    plan: &Plan,
    rig: &Rig,
    place: &Processors,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(String),
) -> Result<HostPath, Iperf3Error> {
    let own = rig.setup.mtu;
    let mtu = path_mtu(rig, own, interrupt)?;
    let mtu = mtu
        .ok_or_else(|| Iperf3Error::Failed(format!("no packet of {LEAST} bytes comes through")))?;
    let empty = latency::measure(rig, Tool::Ping, PINGS_OF_A_PATH, interrupt)?;
    // A full wire: the payload alone is what it carries in all, and the shaper keeps it to that.
    let full = Plan { pairs: 1, streams: 1, udp_rate: plan.link, ..plan.clone() };
    let device = rig.setup.device.clone();
    let setting = Setting {
        device: device.clone(),
        protocol: Protocol::Udp,
        direction: Direction::OneWay,
        packet: mtu,
        timestamps: false,
        pairs: 1,
        streams: 1,
        link_mbps: rig.link_mbps,
    };
    let narrowest = row(&full, rig, &setting, place, interrupt)?;
    let took = Duration::from_nanos(empty.took_ns) + narrowest.counted();
    let mut path = HostPath {
        device,
        mtu,
        mtu_is_limit: mtu < own,
        rtt_ns: empty.min_ns,
        packets_per_second: narrowest.kpps * 1e3,
        took_ns: Some(took.as_nanos() as u64),
        validity: empty.validity.and(narrowest.validity),
        transfers: Vec::new(),
    };
    for &window in &plan.windows {
        let [sender, receiver] = [false, true].map(|is_server| place.affinity(0, is_server));
        let client = format!(
            "-4 -c {} -p {PORT} -t {} -i 1 -P {} -w {window}{sender} --connect-timeout 5000 --json",
            rig.addresses[1],
            plan.duration.as_secs(),
            plan.streams
        );
        let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
        let spec = pair::Spec {
            from: &rig.hosts[0],
            to: &rig.hosts[1],
            port: PORT,
            client: words(&client),
            server: words(&format!("-4 -s -1 -p {PORT} -i 1{receiver} --json")),
        };
        let once = || {
            let mut around = Activity::of(place, Duration::ZERO..plan.duration);
            let look = &mut |since| around.at(since);
            let specs = std::slice::from_ref(&spec);
            let wrote = pair::run(specs, plan.duration + GRACE, interrupt, look);
            let wrote = wrote?.remove(0);
            let (_, conditions) = around.end();
            let command = &wrote.client_command;
            let of = path.transfer(command, (plan.streams, window), &wrote.client);
            let of = of.map_err(|why| Iperf3Error::Failed(format!("`{command}`: {why}")))?;
            Ok(of.judged(&conditions))
        };
        let of = undisturbed(once, |of| &mut of.validity)?;
        let (device, ratio) = (&path.device, of.ratio);
        let but = but(path.invalid(&of));
        tell(format!("{device}, window {window}: transfer time ratio {ratio:.2}{but}"));
        path.transfers.push(of);
    }
    Ok(path)
}

/// Whether packets of so many bytes come through whole: not if they do not, but short ones do.
pub(super) fn carries(rig: &Rig, bytes: u32, interrupt: &Interrupt) -> Result<bool, Iperf3Error> {
    Ok(comes_through(rig, bytes, interrupt)? || !comes_through(rig, LEAST, interrupt)?)
}

/// Whether one of three pings of so many bytes, which nobody may cut, is answered.
fn comes_through(rig: &Rig, bytes: u32, interrupt: &Interrupt) -> Result<bool, Iperf3Error> {
    let (to, data) = (rig.addresses[1], bytes - PING_HEADERS);
    let command = format!("ping -c 3 -i 0.2 -W 2 -M do -s {data} {to}");
    let said = latency::run(&rig.hosts[0], &command, GRACE, interrupt)?;
    Ok(measure::iperf3::pings(&said).is_some_and(|(_, times)| !times.is_empty()))
}

/// The largest packet up to `own` bytes that comes through whole; none if not even the smallest does.
fn path_mtu(rig: &Rig, own: u32, interrupt: &Interrupt) -> Result<Option<u32>, Iperf3Error> {
    let comes_through = |bytes: u32| comes_through(rig, bytes, interrupt);
    if comes_through(own)? {
        return Ok(Some(own));
    }
    let (mut good, mut bad) = (LEAST.min(own), own);
    if !comes_through(good)? {
        return Ok(None);
    }
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        if comes_through(middle)? { good = middle } else { bad = middle }
    }
    Ok(Some(good))
}
