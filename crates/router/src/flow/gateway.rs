//! Gateways that are asked whether they live: `check-gateway`.
//!
//! ```text
//! look ─► [tick] ─► echo requests, ARP requests, solicitations ─► output, link_out
//!            └────► who is silent ─► news ─► Compiler::set_up ─► routes
//! ```

use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::ip::gateway::{Gateway, How, KEEPALIVE, Probe};
use crate::router::Router;
use crate::tool::echo::Request;
use std::collections::BTreeSet;
use std::net::IpAddr;
use wire::{Ipv6Prefix, Moment};

/// Asks those that are to be asked by now; `silent` takes those that do not answer. Returns when
/// something is due next, if that is before `due`.
pub(super) fn tick(
    r: &mut Router,
    now: Moment,
    silent: &mut BTreeSet<Gateway>,
    mut due: Moment,
) -> Moment {
    let mut probes = std::mem::take(&mut r.link.probes);
    for probe in &mut probes {
        if let Some(ping) = probe.ping {
            let answers = r.tools.echoes.take(ping, now);
            if answers.iter().any(|answer| answer.error.is_none()) {
                probe.life.heard();
            }
        }
        let asks = probe.life.tick(now, probe.check.hop.is_some(), Some(KEEPALIVE));
        due = probe.life.due().map_or(due, |at| due.min(at));
        if asks {
            ask(r, now, probe);
        }
        if probe.is_silent() {
            silent.insert(probe.check.gateway);
        }
    }
    r.link.probes = probes;
    due
}

/// Sends a request.
fn ask(r: &mut Router, now: Moment, probe: &mut Probe) {
    let check = probe.check;
    let Some((interface, neighbour)) = check.hop else { return };
    let Gateway { address, bound, .. } = check.gateway;
    let is_near = match address {
        // An interface that is named decides for addresses of its link alone: others, which are
        // neighbours there all the same, are asked for as such.
        IpAddr::V6(own) => bound.is_some() && !Ipv6Prefix::LINK_LOCAL.contains(own.into()),
        IpAddr::V4(_) => false,
    };
    let (arp, dst, out) = match check.how == How::Arp || is_near {
        // Where nobody is looked for, only a ping can tell.
        true if !r.program.is_point_to_point(interface) => (true, neighbour, interface),
        _ => (false, address, bound),
    };
    if probe.ping.is_none() {
        let request = Request { table: check.gateway.table, ..request(arp, dst, out) };
        probe.ping = r.tools.echoes.begin(request).ok();
    }
    if let Some(ping) = probe.ping {
        r.send_echo(now, ping, probe.sent);
        probe.sent += 1;
    }
}

fn request(arp: bool, dst: IpAddr, interface: InterfaceId) -> Request {
    Request {
        dst,
        src: None,
        table: Mark::NONE,
        interface,
        size: 56,
        ttl: 255,
        dscp: 0,
        dont_fragment: false,
        arp,
        timeout: KEEPALIVE.interval,
    }
}

/// Takes over who is to be asked; whoever was asked before keeps what is known of it.
pub(crate) fn adopt(r: &mut Router) {
    let mut old = std::mem::take(&mut r.link.probes);
    let program = &r.program;
    for &check in program.gateways.checks.iter().chain(&program.v6.gateways.checks) {
        let same =
            |probe: &Probe| (probe.check.gateway, probe.check.how) == (check.gateway, check.how);
        let mut probe = match old.iter().position(same) {
            Some(at) => old.swap_remove(at),
            None => Probe::new(check),
        };
        // ARP asks the neighbour, which may be another one now.
        if probe.check.hop != check.hop
            && let Some(ping) = probe.ping.take()
        {
            r.tools.echoes.end(ping);
        }
        probe.check = check;
        r.link.probes.push(probe);
    }
    for ping in old.into_iter().filter_map(|probe| probe.ping) {
        r.tools.echoes.end(ping);
    }
}
