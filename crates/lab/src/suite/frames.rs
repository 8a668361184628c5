//! The test frames of a plan's traffic: RFC 2544's, from a port to another.
//!
//! ```text
//!  Plan, port, size ─► Template, Variation ─► Stream
//! ```

use super::plan::{Plan, Traffic};
use crate::net::Net;
use crate::traffic::tester_mac as mac;
use measure::{
    Ends, Family, Field, FramePlan, FrameSize, Pick, Stream, StreamPlan, Template, Values,
    Variation,
};
use std::net::IpAddr;
use wire::{Ipv4Prefix, MacAddr};

/// The RFC's test frame from a port to another: a UDP echo request (C.2.6.4), its payload neither
/// all zeros nor all ones.
pub(crate) fn template(
    plan: &Plan,
    from: usize,
    to: usize,
    device_mac: Option<MacAddr>,
) -> Template {
    let host = |port: usize| plan.ends[port.min(1)].host;
    Template {
        src_mac: mac(from),
        dst_mac: device_mac.unwrap_or_else(|| mac(to)),
        ends: Ends::V4 { src: host(from), dst: host(to) },
        src_port: 0xc020,
        dst_port: 7,
        fill: 0xa5,
        udp_checksum: plan.udp_checksum,
        ..Template::default()
    }
}

/// The address of a port of a mesh, each its own, of those that are for benchmarks (RFC 6815): bridges do
/// not look at it.
fn on_a_bridge(port: usize) -> u32 {
    u32::from_be_bytes([198, 18, 1, 2 + port as u8])
}

/// The stream of the plan's traffic from a port, of those that take turns there one: to the other port,
/// or to one of a mesh.
///
/// # Errors
/// The frame length is none a frame can have.
pub(crate) fn stream(
    plan: &Plan,
    id: u8,
    (from, turn): (usize, usize),
    size: &FrameSize,
    device_mac: Option<MacAddr>,
) -> Result<Stream, String> {
    let to = plan.traffic.destination(from, turn);
    let variation = match plan.traffic {
        Traffic::Pair { .. } | Traffic::Hosts { .. } => Variation::NONE,
        Traffic::Networks { .. } => {
            let base = plan.ends[to].network.bits() & 0xffff_0000;
            let behind = (65..=254).map(|n| Ipv4Prefix::new(base | n << 8, 24));
            let anywhere = Values::Networks(behind.collect());
            Variation::Fields(vec![(Field::Dst, anywhere, Pick::Random)])
        }
    };
    let mut template = template(plan, from, to, device_mac);
    if let (Family::Ipv6, net) = (plan.traffic.family(turn), Net::of(Family::Ipv6)) {
        let host = |port| match net.host(port, 0) {
            IpAddr::V6(host) => u128::from(host),
            IpAddr::V4(_) => unreachable!("a net of IPv6"),
        };
        template.ends = Ends::V6 { src: host(from), dst: host(to) };
    }
    if plan.traffic.mesh().is_some() {
        template.ends = Ends::V4 { src: on_a_bridge(from), dst: on_a_bridge(to) };
    }
    let seed = plan.seed ^ u64::from(id) << 32;
    built(id, template, size, variation, seed)
}

/// A stream of frames of this size.
///
/// # Errors
/// Why there is none, in a sentence.
pub(crate) fn built(
    id: u8,
    template: Template,
    size: &FrameSize,
    variation: Variation,
    seed: u64,
) -> Result<Stream, String> {
    match (size, variation) {
        (FrameSize::One(frame), variation) => {
            let plan = StreamPlan { id, template, frame: *frame, variation, seed };
            plan.build().map_err(|bad| bad.to_string())
        }
        (FrameSize::Mix(_), variation @ Variation::Fields(_)) => {
            let plan = FramePlan::of_template(&template, &variation, size.lengths());
            plan.build(id, 0, seed).map_err(|bad| bad.to_string())
        }
        (FrameSize::Mix(mix), Variation::Flows { .. }) => {
            Err(format!("connections are opened by frames of one length, not of {}", mix.label()))
        }
    }
}
