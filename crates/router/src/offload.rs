//! Frames that are not finished: what their sender left to others is done where they leave.
//!
//! ```text
//! port ─► slow path, one packet, whatever its length ─► physical out ─┬─► as it is, to a port that can
//!         MTU: a segment's length. Checksum: right.                   └─► completed, or cut: `finish`
//!         Queues: bytes as they will be on the wire.
//! ```
//!
//! A super-frame is one packet for rules, connections and counters, as for Linux's; cut here, its
//! segments are counted where they leave. The sniffer shows it as it passes, its checksum not
//! written yet, as tcpdump does. Translation needs not know: the checksum is begun afresh at the end.
//!
//! Such frames never take the fast path (`fast`), which reads lengths and checksums as they stand.
//!
//! Missing: **IPv6** is cut and completed here, but only bridged.

use crate::discard::Discard;
use crate::flow::Cost;
use crate::flow::traffic_class;
use crate::interface::InterfaceId;
use crate::ip::family::Family;
use crate::packet::{Packet, Passing};
use crate::queue::{Label, Path, QueueLeafId};
use crate::router::Router;
use port::Frame;
use wire::FiveTuple;
use wire::layers;
use wire::segment::{self, Large};

impl Router {
    /// The super-frame that a frame is, if it is one.
    #[inline]
    fn large<'a>(&'a self, frame: &'a Frame) -> Option<Large<'a>> {
        if !frame.has_offload() {
            return None;
        }
        Large::new(self.io.slab.bytes(frame), self.io.slab.offload(frame)?)
    }

    /// The IP length that an MTU is compared with: the longest segment's, of a super-frame.
    #[inline]
    pub(crate) fn segment_len(&self, frame: &Frame) -> Option<usize> {
        self.large(frame).map(|large| large.ip_len())
    }

    /// What a packet costs in a queue: its IP length, and 14 for Ethernet; for a super-frame that of
    /// all segments.
    #[inline]
    fn queue_len(&self, p: &Packet) -> u32 {
        match self.large(&p.frame) {
            None => u32::from(p.ip_len) + 14,
            Some(large) => (large.ip_bytes() + 14 * large.len()) as u32,
        }
    }

    /// What a packet with this (untranslated) tuple is to queues.
    #[inline]
    pub(crate) fn cost(&self, p: &Packet, tuple: FiveTuple) -> Cost {
        let tos = self.ip_header(p).get(1).copied().unwrap_or(0);
        let (len, label) = (self.queue_len(p), Label::v4(tuple, tos));
        Cost { len, label }
    }

    /// The same of IPv6, for the queues on its way.
    pub(crate) fn cost6(&self, p: &Packet, tuple: FiveTuple<u128>, queues: Path) -> Cost {
        let class = traffic_class(self.ip_start(p));
        let label = Label::v6(tuple, class, self.queues.lengths6_on(queues));
        Cost { len: self.queue_len(p), label }
    }

    /// What a frame is to a queue of an interface.
    pub(crate) fn label(&self, leaf: QueueLeafId, frame: &Frame) -> Label {
        let bytes = self.io.slab.bytes(frame);
        let layers = layers::network(bytes).unwrap_or_default();
        let ip = bytes.get(usize::from(layers.l3)..).unwrap_or(&[]);
        if layers.ether_type != layers::ETHERTYPE_IPV6 {
            return Label::v4(layers.tuple, ip.get(1).copied().unwrap_or(0));
        }
        let tuple = u128::quoted(ip).map_or_else(FiveTuple::default, |whole| whole.tuple);
        Label::v6(tuple, traffic_class(ip), self.queues.lengths6(leaf).unwrap_or([128; 2]))
    }

    /// Puts a frame that is not finished in its port's outbox: as it is, if the port does the rest.
    #[cold]
    pub(crate) fn transmit_unfinished(&mut self, to: InterfaceId, mut frame: Frame, fast: bool) {
        let takes = self.io.ways_out[to.index()].offload;
        if let Some(offload) = self.io.slab.offload(&frame).filter(|&offload| takes.take(offload)) {
            segment::prepare(self.io.slab.bytes_mut(&mut frame), offload);
            return self.transmit(to, frame, fast);
        }
        let mut segments = std::mem::take(&mut self.io.segments);
        self.finish(frame, &mut segments);
        for frame in segments.drain(..) {
            self.transmit(to, frame, fast);
        }
        self.io.segments = segments;
    }

    /// Finishes a frame that gets another header on its way out, and goes on with what comes of it.
    #[cold]
    pub(crate) fn finish_out(&mut self, frame: Frame, then: impl Fn(&mut Router, Frame)) {
        let mut segments = std::mem::take(&mut self.io.segments);
        self.finish(frame, &mut segments);
        segments.drain(..).for_each(|frame| then(self, frame));
        self.io.segments = segments;
    }

    /// The same of a packet on its way in, whose tag is about to come off.
    #[cold]
    pub(crate) fn finish_in(&mut self, p: Packet, then: impl Fn(&mut Router, Packet)) {
        let cut = usize::from(p.arrived_len).saturating_sub(p.frame.len());
        let Passing { port, arrival, ingress, in_interface, fast, .. } = *p;
        let Passing { in_bridge_port, class, learns, .. } = *p;
        let frame = self.recycle(p);
        let mut segments = Vec::new();
        self.finish(frame, &mut segments);
        for frame in segments {
            let layers = layers::network(self.io.slab.bytes(&frame)).unwrap_or_default();
            let mut segment = self.packet(frame, layers, port);
            segment.arrived_len = (segment.frame.len() + cut) as u16;
            (segment.arrival, segment.ingress, segment.fast) = (arrival, ingress, fast);
            (segment.in_interface, segment.in_bridge_port) = (in_interface, in_bridge_port);
            (segment.class, segment.learns) = (class, learns);
            then(self, segment);
        }
    }

    /// Does what is left to do: what comes of the frame is added to `out`.
    pub(crate) fn finish(&mut self, mut frame: Frame, out: &mut Vec<Frame>) {
        let Some(offload) = self.io.slab.offload(&frame) else {
            frame.clear_offload();
            return out.push(frame);
        };
        if offload.segment == 0 {
            frame.clear_offload();
            segment::complete(self.io.slab.bytes_mut(&mut frame), offload);
            return out.push(frame);
        }
        let slab = self.io.slab.clone();
        let Some(large) = Large::new(slab.bytes(&frame), offload) else {
            return self.discard_frame(frame, Discard::MalformedTransport);
        };
        self.stats.tally.consumed += 1;
        for n in 0..large.len() {
            let Some(mut segment) = self.io.pool.alloc(large.segment_len(n)) else {
                self.stats.discards.add(Discard::NoFrame);
                break;
            };
            self.stats.tally.made += 1;
            large.write(n, slab.bytes_mut(&mut segment));
            out.push(segment);
        }
        self.io.pool.free(frame);
    }
}
