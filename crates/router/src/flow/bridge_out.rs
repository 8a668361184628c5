//! Box D: frames leave by a port of a bridge, with the tag that their VLAN has there.

use super::link_out;
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::program::BridgeAt;
use crate::router::Router;
use wire::Moment;

/// Box D: out by a port of a bridge, with the tag that frames of the VLAN have there.
pub(super) fn bridge_out(
    r: &mut Router,
    now: Moment,
    mut p: Packet,
    at: BridgeAt,
    to: InterfaceId,
) {
    let program = r.program.clone();
    let bridge = program.bridge(at);
    if let (Some(class), Some(vlans)) = (p.class, &bridge.filtering) {
        let tagged = vlans.member(bridge.place(to)).is_tagged(class.tci.id());
        if (class.tagged || tagged) && p.frame.has_offload() {
            return r.finish_in(p, |r, p| bridge_out(r, now, p, at, to));
        }
        if class.tagged {
            r.pop_tag(&mut p);
        }
        if tagged && !r.push_tag(&mut p.frame, vlans.tag(class.tci)) {
            return r.discard(p, Discard::NoFrame);
        }
    }
    let fast = p.fast;
    let frame = r.recycle(p);
    link_out(r, now, to, frame, fast)
}
