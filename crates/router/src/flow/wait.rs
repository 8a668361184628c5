//! The queues' boxes: packets that pass, wait, go on where they waited, or end there.
//!
//! ```text
//! offer ─┬─ pass ─────────────────────────────────► the next box
//!        ├─ wait ─► … ─► release ─► resume ─┬─ Out ─► the next queue, ip_out
//!        │            └─► dropped            ├─ In ──► the next queue, local in
//!        └─ no room: dropped                 └─ Link ► physical out-interface
//! ```

use super::bridged::{self, Bridged};
use super::mangle::{set_traffic_class, traffic_class};
use super::{arrived, ip_out, leave::Leaving, v6};
use crate::discard::Discard;
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::parts::Stacked;
use crate::queue::{Decision, Label, Marks, Path, QueueLeafId, Waited};
use crate::router::Router;
use crate::story::Event;
use port::{Frame, Slab};
use wire::layers::{ETHERTYPE_IPV6, protocol};
use wire::{Ipv4, Moment, TcpFlags};

/// What a packet is to a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Its IP length and 14.
    pub(crate) len: u32,
    /// What kinds of queues look at.
    pub(crate) label: Label,
}

/// Where a packet that waited in a queue goes on.
#[derive(Debug)]
pub(crate) enum Resume {
    /// Behind HTB global or the simple queues of what leaves.
    Out(Leaving),
    /// The same of IPv6: apart, so that what waits of IPv4 is no longer.
    Out6(Box<Leaving<u128>>),
    /// The same of what is for the router.
    In(Box<Arriving>),
    /// The same of what a bridge passes on.
    Bridged(Box<Bridged>),
    /// Behind the interface's HTB.
    Link {
        /// By which it leaves.
        interface: InterfaceId,
        /// The whole frame.
        frame: Frame,
        /// It counts as sent in FastPath.
        fast: bool,
        /// How deep in tunnels it lies.
        depth: u8,
        /// Its packet mark: there may be trees on interfaces below.
        mark: Mark,
    },
}

/// A packet for the router itself that has not passed all its queues.
#[derive(Debug)]
pub(crate) struct Arriving {
    pub(crate) p: Packet,
    pub(crate) queues: Path,
    pub(crate) cost: Cost,
}

impl Resume {
    /// Its frame, and where the IP header begins; 0 if that is to be found.
    fn frame_mut(&mut self) -> (&mut Frame, u16) {
        match self {
            Resume::Out(leaving) => (&mut leaving.frame, leaving.l3),
            Resume::Out6(leaving) => (&mut leaving.frame, leaving.l3),
            Resume::In(arriving) => (&mut arriving.p.frame, arriving.p.layers.l3),
            Resume::Bridged(bridged) => (&mut bridged.p.frame, bridged.p.layers.l3),
            Resume::Link { frame, .. } => (frame, 0),
        }
    }

    /// Its first frame.
    pub(crate) fn frame(&self) -> &Frame {
        match self {
            Resume::Out(leaving) => &leaving.frame,
            Resume::Out6(leaving) => &leaving.frame,
            Resume::In(arriving) => &arriving.p.frame,
            Resume::Bridged(bridged) => &bridged.p.frame,
            Resume::Link { frame, .. } => frame,
        }
    }

    /// All its frames.
    pub(crate) fn frames(self) -> Vec<Frame> {
        let (frame, rest) = match self {
            Resume::Out(leaving) => (leaving.frame, leaving.rest.into_vec()),
            Resume::Out6(leaving) => (leaving.frame, leaving.rest.into_vec()),
            Resume::In(arriving) => (arriving.p.frame, arriving.p.rest),
            Resume::Bridged(bridged) => (bridged.p.frame, bridged.p.rest),
            Resume::Link { frame, .. } => (frame, Vec::new()),
        };
        std::iter::once(frame).chain(rest.into_iter().map(|piece| piece.frame)).collect()
    }

    /// How many they are.
    pub(crate) fn len(&self) -> u64 {
        1 + match self {
            Resume::Out(leaving) => leaving.rest.len() as u64,
            Resume::Out6(leaving) => leaving.rest.len() as u64,
            Resume::In(arriving) => arriving.p.rest.len() as u64,
            Resume::Bridged(bridged) => bridged.p.rest.len() as u64,
            Resume::Link { .. } => 0,
        }
    }
}

const _: () = assert!(
    size_of::<Option<Resume>>() == 64,
    "a packet waits in one cache line, and its label in another"
);

/// A family whose packets wait in queues.
pub(crate) trait Waits: Stacked {
    /// Lets it wait.
    fn resume(leaving: Leaving<Self>) -> Resume;

    /// It has passed all queues.
    fn out(r: &mut Router, now: Moment, leaving: Leaving<Self>);
}

impl Waits for u32 {
    #[inline(always)]
    fn resume(leaving: Leaving) -> Resume {
        Resume::Out(leaving)
    }

    #[inline(always)]
    fn out(r: &mut Router, now: Moment, leaving: Leaving) {
        ip_out(r, now, leaving)
    }
}

impl Waits for u128 {
    fn resume(leaving: Leaving<u128>) -> Resume {
        Resume::Out6(Box::new(leaving))
    }

    fn out(r: &mut Router, now: Moment, leaving: Leaving<u128>) {
        v6::leave(r, now, leaving)
    }
}

/// What leaves passes the queues that it has not passed yet.
pub(super) fn out<F: Waits>(r: &mut Router, now: Moment, mut leaving: Leaving<F>, cost: Cost) {
    while let Some(leaf) = leaving.queues.first() {
        leaving.queues = leaving.queues.rest();
        let decision = r.queues.offer(leaf, now, cost.len);
        r.tell(|| Event::Queued { leaf, decision });
        if decision != Decision::Pass {
            return queue(r, now, leaf, decision, F::resume(leaving), cost);
        }
    }
    F::out(r, now, leaving);
}

/// So does what is for the router.
pub(super) fn inward(r: &mut Router, now: Moment, mut arriving: Arriving) {
    while let Some(leaf) = arriving.queues.first() {
        arriving.queues = arriving.queues.rest();
        let cost = arriving.cost;
        let decision = r.queues.offer(leaf, now, cost.len);
        r.tell(|| Event::Queued { leaf, decision });
        if decision != Decision::Pass {
            return queue(r, now, leaf, decision, Resume::In(Box::new(arriving)), cost);
        }
    }
    match arriving.p.layers.ether_type {
        ETHERTYPE_IPV6 => arrived::<u128>(r, now, arriving.p),
        _ => arrived::<u32>(r, now, arriving.p),
    }
}

/// And what a bridge passes on.
pub(super) fn across(r: &mut Router, now: Moment, mut bridged: Bridged) {
    while let Some(leaf) = bridged.queues.first() {
        bridged.queues = bridged.queues.rest();
        let cost = bridged.cost;
        let decision = r.queues.offer(leaf, now, cost.len);
        r.tell(|| Event::Queued { leaf, decision });
        if decision != Decision::Pass {
            return queue(r, now, leaf, decision, Resume::Bridged(Box::new(bridged)), cost);
        }
    }
    bridged::leave(r, now, bridged)
}

/// Lets a packet wait in its queue, or ends it there.
pub(crate) fn queue(
    r: &mut Router,
    now: Moment,
    leaf: QueueLeafId,
    decision: Decision,
    mut resume: Resume,
    mut cost: Cost,
) {
    match decision {
        Decision::Enqueue if !r.io.slab.is_short() => {
            if cost.label.tuple.protocol == protocol::TCP {
                cost.label.ack = plain_ack(header(&mut r.io.slab, &mut resume));
            }
            r.queues.enqueue(leaf, resume, cost.len, cost.label, now);
            end_dropped(r);
        }
        Decision::Enqueue => {
            r.queues.refuse(leaf);
            end(r, resume, Discard::FramesShort);
        }
        _ => end(r, resume, Discard::QueueFull),
    }
}

/// Ends what kinds of queues have dropped.
pub(super) fn end_dropped(r: &mut Router) {
    while let Some(dropped) = r.queues.take_dropped() {
        end(r, dropped, Discard::QueueFull);
    }
}

fn end(r: &mut Router, resume: Resume, why: Discard) {
    r.tell(|| Event::Discarded(why));
    r.stats.discards.add(why);
    r.stats.tally.more_pieces += resume.len() - 1;
    for frame in resume.frames() {
        r.io.pool.free(frame);
    }
}

/// Writes into a packet what its queue says.
pub(super) fn mark(r: &mut Router, resume: &mut Resume, marks: Marks) {
    let marked =
        |tos: u8| (if marks.wash { tos & 3 } else { tos }) | (if marks.ce { 3 } else { 0 });
    let header = header(&mut r.io.slab, resume);
    if header.first().is_some_and(|byte| byte >> 4 == 6) {
        set_traffic_class(header, marked(traffic_class(header)));
    } else if let Ok(mut ip) = Ipv4::new(header) {
        ip.set_tos(marked(ip.tos()));
    }
}

/// A packet from its IP header on; empty if it has none.
fn header<'a>(slab: &'a mut Slab, resume: &'a mut Resume) -> &'a mut [u8] {
    let (frame, mut l3) = resume.frame_mut();
    // A frame may have got a tag by now.
    if l3 == 0 {
        l3 = wire::layers::network(slab.bytes(frame)).map_or(0, |layers| layers.l3);
    }
    slab.bytes_mut(frame).get_mut(usize::from(l3)..).unwrap_or_default()
}

/// What a packet acknowledges that does nothing else: TCP without data, ACK its only flag, time stamps its
/// only option.
fn plain_ack(ip: &[u8]) -> Option<u32> {
    let first = *ip.first()?;
    let (header, len, protocol) = match first >> 4 {
        4 => (4 * usize::from(first & 0xf), u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]), 9),
        _ => (40, 40 + u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]), 6),
    };
    let is_tcp = *ip.get(protocol)? == protocol::TCP;
    let tcp = ip.get(header..usize::from(len)).filter(|_| is_tcp)?;
    let head = tcp.first_chunk::<20>()?;
    let mut options = tcp.get(20..4 * usize::from(head[12] >> 4))?;
    let is_bare = options.len() + 20 == tcp.len() && head[13] == TcpFlags::ACK.0;
    while let Some((&kind, rest)) = options.split_first() {
        options = match kind {
            0 => &[],
            1 => rest,
            8 => rest.get(9..)?,
            _ => return None,
        };
    }
    is_bare.then(|| u32::from_be_bytes([head[8], head[9], head[10], head[11]]))
}

/// A packet has waited long enough, and gets these marks.
pub(super) fn resume(r: &mut Router, now: Moment, mut resume: Resume, waited: Waited) {
    let Waited { len, label, marks } = waited;
    if marks.any() {
        mark(r, &mut resume, marks);
    }
    r.tell(|| Event::Resumed);
    match resume {
        Resume::Out(leaving) => out(r, now, leaving, Cost { len, label }),
        Resume::Out6(leaving) => out(r, now, *leaving, Cost { len, label }),
        Resume::In(arriving) => inward(r, now, *arriving),
        Resume::Bridged(bridged) => across(r, now, *bridged),
        Resume::Link { interface, frame, fast, depth, mark } => {
            let depth = std::mem::replace(&mut r.link.depth, depth);
            r.io.mark = mark;
            r.put_out(interface, frame, fast);
            (r.io.mark, r.link.depth) = (Mark::NONE, depth);
        }
    }
}
