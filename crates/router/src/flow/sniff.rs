//! `sniff-tzsp`, `sniff-pc`, and the sniffer's `streaming-server`: copies, sent to whoever watches.
//!
//! ```text
//! mangle: rule ─► [copy] ─► next rule … ─► [send] ─► the packet goes on
//!                                            └─► LOCAL OUT: as the router's own, by routes, rules and queues
//!
//! tzsp  │ 1 │ 0 │ 0 1 │ 1 │ Ethernet header │ IP …      Wireshark's port is 37008
//! pc    │ sniff-id (4) │ IP …                           PacketCable's call content, to a CALEA server
//! ```
//!
//! The sniffer's are whole frames as they stand on the wire, at the end of a breath.
//!
//! A copy is as its rule sees the packet: edited and translated so far. Copies are no more copied, nor
//! are the outer packets of the router's own tunnels, in which copies may lie. What does not fit one
//! frame with its headers is not copied, and counted as a frame that was not there.

use super::local::local_out;
use crate::discard::Discard;
use crate::firewall::effect::Watcher;
use crate::interface::InterfaceId;
use crate::ip::datagram::{self, End};
use crate::ip::dns::resolver::own_address;
use crate::packet::Packet;
use crate::router::Router;
use crate::story::{Event, Made};
use port::Frame;
use wire::layers::protocol;
use wire::{Layers, MacAddr, Moment};

/// Version 1, a received packet, Ethernet; and no tags but the last.
const TZSP: [u8; 5] = [1, 0, 0, 1, 1];

/// Makes a copy of a packet, or of each piece it came in.
pub(super) fn copy(r: &mut Router, p: &mut Packet, to: Watcher) {
    // Each packet is sent, so each has to come by.
    p.trace.once = true;
    let tuple = &p.layers.tuple;
    let is_own = p.in_interface == InterfaceId::NONE;
    let is_copy = (tuple.dst, tuple.dst_port) == (to.address, to.port);
    let is_copy = is_copy && tuple.protocol == protocol::UDP;
    if r.tools.copies.sending || is_own && (is_copy || r.link.depth > 0) {
        return;
    }
    copy_frame(r, &p.frame, &p.layers, to);
    for piece in &p.rest {
        copy_frame(r, &piece.frame, &piece.layers, to);
    }
}

fn copy_frame(r: &mut Router, frame: &Frame, layers: &Layers, to: Watcher) {
    // Without a way there is nobody to send to.
    let Some(own) = own_address(r, to.address) else { return };
    let slab = r.io.slab.clone();
    let bytes = slab.bytes(frame);
    let packet = &bytes[usize::from(layers.l3)..usize::from(layers.l3_end)];
    let payload = match to.id {
        Some(id) => [&id.to_be_bytes()[..], packet].concat(),
        None => [&TZSP[..], &bytes[..12], &layers.ether_type.to_be_bytes(), packet].concat(),
    };
    let ends = (End { address: own, port: to.port }, End { address: to.address, port: to.port });
    let macs = (MacAddr::default(), MacAddr::default());
    match datagram::udp(&mut r.io.pool, macs, ends, &payload) {
        Some(made) => r.tools.copies.made.push(made),
        None => r.stats.discards.add(Discard::NoFrame),
    }
}

/// Sends what the sniffer has seen to its `streaming-server`; whether that was anything.
pub(super) fn stream(r: &mut Router, now: Moment) -> bool {
    let Some((to, frames)) = r.tools.taps.take_streamed() else { return false };
    let Some(own) = own_address(r, to.address) else { return false };
    let ends = (End { address: own, port: to.port }, to);
    for frame in frames {
        let macs = (MacAddr::default(), MacAddr::default());
        match datagram::udp(&mut r.io.pool, macs, ends, &[&TZSP[..], &frame].concat()) {
            Some(made) => r.tools.copies.made.push(made),
            None => r.stats.discards.add(Discard::NoFrame),
        }
    }
    send(r, now);
    true
}

/// Sends the copies of a packet, which has passed the rules.
pub(super) fn send(r: &mut Router, now: Moment) {
    if r.tools.copies.made.is_empty() {
        return;
    }
    let mut made = std::mem::take(&mut r.tools.copies.made);
    // What becomes of them is not the packet's business.
    let last = r.stats.last_discard;
    r.tools.copies.sending = true;
    for copy in made.drain(..) {
        r.stats.tally.made += 1;
        r.tell(|| Event::Makes(Made::Copy));
        local_out(r, now, copy);
        r.tell(|| Event::Done);
    }
    r.tools.copies.sending = false;
    r.tools.copies.made = made;
    r.stats.last_discard = last;
}
