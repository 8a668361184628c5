//! A trial router: what a packet would do is done to it, and the real one stays as it is.
//!
//! ```text
//!  real router ── shared: program
//!              ── lent: routes, connections (only asked) ──► trial ── given back ──► real
//!              ── copied: neighbours, hosts, tokens, dice, flows' recipes ─┘
//!              ── its own: frames, counters, log, ports
//! ```
//!
//! The trial runs the very code of `flow.rs` and `fast`. Nothing is lent that it could change: of
//! connections it changes copies in a table of its own, and what it remembers in the routes' leaves
//! (which neighbour a gateway is) is taken back. What is copied takes as long as the tables are
//! large: about a millisecond for 25,000 simple queues, 8,192 neighbours and 10,000 rules.

use super::question6;
use crate::firewall::connection::Connections;
use crate::firewall::connection::flow::FlowId;
use crate::flow::{MOST_TUNNELS, Resume};
use crate::interface::tunnel::{Head, Tunnels};
use crate::parts::Stacked;
use crate::router::Router;
use port::{Frame, Slab};
use std::time::Duration;
use wire::gre::{self, Gre};
use wire::l2tp3::is_version_3;
use wire::layers::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Layers, protocol};
use wire::pppoe::{self, ETHERTYPE_SESSION};
use wire::{FiveTuple, Moment, icmp, l2tp, pptp};

/// Frames a trial may have in hand, beside two for each port: floods.
const FRAMES: usize = 192;

/// The connections that a frame is about, by their tuples: its own, if it is of the family, and those that
/// errors in it quote packets of, and of packets in tunnels.
#[derive(Clone, Debug, Default)]
struct About<A> {
    own: Option<FiveTuple<A>>,
    others: Vec<FiveTuple<A>>,
}

/// The same of both families.
#[derive(Clone, Debug)]
pub(super) struct Concerned {
    four: About<u32>,
    six: About<u128>,
}

impl Concerned {
    /// Whom a frame concerns.
    pub(super) fn by(tunnels: &Tunnels, frame: &[u8]) -> Concerned {
        let (own6, quoted6) = six(frame);
        let (own4, quoted4) = four(frame);
        let mut six_others: Vec<_> = quoted6.into_iter().collect();
        let mut four_others: Vec<_> = quoted4.into_iter().collect();
        let mut next = inside(tunnels, frame);
        for _ in 0..MOST_TUNNELS {
            let Some(frame) = next else { break };
            let ((own6, quoted6), (own4, quoted4)) = (six(&frame), four(&frame));
            six_others.extend(own6.into_iter().chain(quoted6));
            four_others.extend(own4.into_iter().chain(quoted4));
            next = inside(tunnels, &frame);
        }
        Concerned {
            four: About { own: own4, others: four_others },
            six: About { own: own6, others: six_others },
        }
    }
}

/// A frame's tuple of IPv6, and that of the packet that an error quotes, as its answers have it.
fn six(frame: &[u8]) -> (Option<FiveTuple<u128>>, Option<FiveTuple<u128>>) {
    let found = question6::tuple(frame);
    let quoted = found.and_then(|(_, upper)| question6::quoted(upper));
    (found.map(|(tuple, _)| tuple), quoted.map(FiveTuple::reversed))
}

/// The same of IPv4.
fn four(frame: &[u8]) -> (Option<FiveTuple>, Option<FiveTuple>) {
    let Ok(layers) = layers::network(frame) else { return (None, None) };
    let l4 = usize::from(layers.l4);
    let quoted = frame.get(l4 + icmp::HEADER_LEN..usize::from(layers.l3_end));
    let quoted = quoted.filter(|_| layers.protocol == protocol::ICMP && l4 != 0);
    let quoted = quoted.and_then(|quoted| layers::quoted(quoted).ok());
    (Some(layers.tuple), quoted.map(|quoted| quoted.tuple.reversed()))
}

/// What lies in a frame of a tunnel or a session, as a frame; of what is encrypted nothing is known.
fn inside(tunnels: &Tunnels, frame: &[u8]) -> Option<Vec<u8>> {
    let packet = |ether_type: u16, packet: &[u8]| {
        Some([&[0; 12][..], &ether_type.to_be_bytes(), packet].concat())
    };
    let ppp = |ppp: &[u8]| match ppp.strip_prefix(&[0xff, 0x03]).unwrap_or(ppp) {
        [0x00, 0x21, rest @ ..] => packet(ETHERTYPE_IPV4, rest),
        [0x00, 0x57, rest @ ..] => packet(ETHERTYPE_IPV6, rest),
        _ => None,
    };
    // Behind two tags at most.
    let mut at = 12;
    while at < 20 && matches!(frame.get(at..at + 2)?, [0x81, 0x00] | [0x88, 0xa8]) {
        at += 4;
    }
    if frame.get(at..at + 2)? == ETHERTYPE_SESSION.to_be_bytes() {
        return ppp(pppoe::session(&frame[at + 2..])?.1);
    }
    let layers = layers::network(frame).ok().filter(|of| of.ether_type == ETHERTYPE_IPV4)?;
    let (header, end) = (frame.get(usize::from(layers.l3))?, usize::from(layers.l3_end));
    let begin = usize::from(layers.l3) + usize::from(header & 15) * 4;
    let payload = frame.get(begin..end)?;
    match layers.protocol {
        protocol::IPIP => packet(ETHERTYPE_IPV4, payload),
        protocol::IPV6 => packet(ETHERTYPE_IPV6, payload),
        protocol::GRE if layers::pptp_call(payload).is_some() => {
            let (_, range) = pptp::locate(payload)?;
            ppp(&payload[range])
        }
        protocol::GRE => match Gre::read(payload)? {
            Gre::Packet { protocol, at, .. } => packet(protocol, payload.get(at..)?),
            Gre::Eoip { len, .. } => {
                payload.get(gre::EOIP_LEN..gre::EOIP_LEN + len).map(<[u8]>::to_vec)
            }
        },
        protocol::L2TP => in_session(tunnels, &layers, payload),
        protocol::UDP if layers.tuple.dst_port == l2tp::PORT => {
            let udp = payload.get(8..)?;
            if is_version_3(udp) {
                return in_session(tunnels, &layers, payload);
            }
            let (header, range) = l2tp::locate(udp)?;
            ppp(&udp[range]).filter(|_| !header.control)
        }
        _ => None,
    }
}

/// What lies in an outer packet of L2TP version 3: how long its head is, its session says.
fn in_session(tunnels: &Tunnels, layers: &Layers, payload: &[u8]) -> Option<Vec<u8>> {
    let head = Head::read(layers.protocol, payload)?;
    let at = tunnels.find((layers.tuple.src, layers.tuple.dst), layers.protocol, head)?;
    Some(payload[tunnels.get(at).l2tp?.frame_in(payload)?].to_vec())
}

/// Puts a trial's table in front of the real one, with the recipes of the flows in it.
fn lend<F: Stacked>(
    real: &mut Router,
    trial: &mut Router,
    about: About<F>,
    outer: Vec<FiveTuple<F>>,
    now: Moment,
) {
    let table = std::mem::replace(F::connections_mut(real), Connections::new(0));
    let tuples: Vec<_> = about.own.into_iter().chain(about.others).chain(outer).collect();
    *F::connections_mut(trial) = Connections::in_front_of(table, &tuples, now);
    let mut lent = std::mem::take(&mut trial.learnt.recipes);
    let connections = F::connections_mut(trial);
    for id in (0..connections.flows().end()).map(FlowId) {
        if let Some(flow) = connections.flows().get(id).copied() {
            let kept = lent.lend(&real.learnt.recipes, flow.kept());
            connections.flow_mut(id).keep(kept, flow.generation);
        }
    }
    trial.learnt.recipes = lent;
}

fn give_back<F: Stacked>(real: &mut Router, trial: &mut Router) {
    let lent = std::mem::replace(F::connections_mut(trial), Connections::new(0));
    if let Some(table) = lent.real() {
        *F::connections_mut(real) = table;
    }
}

impl Router {
    /// Does something to a trial router that is like this one for a frame, and all that it is about.
    ///
    /// # Errors
    /// No memory for the trial's frames.
    pub(super) fn on_trial<T>(
        &mut self,
        now: Moment,
        concerned: Concerned,
        run: impl FnOnce(&mut Router) -> T,
    ) -> Result<T, String> {
        let frames = FRAMES + 2 * self.io.ports.len();
        let slab = Slab::new(frames).map_err(|error| format!("failure: {error}"))?;
        let mut trial = Router::with_room(self.io.ports.clone(), &slab, 0);
        trial.program = self.program.clone();
        trial.io.ways_out.clone_from(&self.io.ways_out);
        trial.tools.closed.clone_from(&self.tools.closed);
        trial.v4.neighbours = self.v4.neighbours.trial();
        trial.link.hosts.clone_from(&self.link.hosts);
        trial.link.lives.clone_from(&self.link.lives);
        trial.link.identification = self.link.identification;
        trial.link.tcp = self.link.tcp.trial();
        trial.link.bonds.clone_from(&self.link.bonds);
        trial.link.machines.clone_from(&self.link.machines);
        trial.link.sync = self.link.sync.trial();
        trial.link.up.clone_from(&self.link.up);
        trial.link.sessions.clone_from(&self.link.sessions);
        trial.link.calls.clone_from(&self.link.calls);
        trial.link.silent.clone_from(&self.link.silent);
        trial.learnt.ingresses.clone_from(&self.learnt.ingresses);
        trial.learnt.egresses.clone_from(&self.learnt.egresses);
        trial.queues = self.queues.trial();
        trial.rules = self.rules.clone();
        trial.stats.counters = self.stats.counters.zeroed();
        trial.v4.icmp_limit = self.v4.icmp_limit;
        trial.v6.icmp_limit = self.v6.icmp_limit;
        trial.v6.neighbours = self.v6.neighbours.trial();
        trial.services.v6.clone_from(&self.services.v6);
        trial.services.ipsec = self.services.ipsec.clone();
        trial.tools.echoes.clone_from(&self.tools.echoes);
        trial.stats.interface_counts = vec![Default::default(); self.stats.interface_counts.len()];
        // Chores are for routers whose time goes on.
        trial.chores_at = now;
        trial.io.now = now;

        let Concerned { four, six } = concerned;
        let mut recipes = self.learnt.recipes.trial();
        if let Some(tuples) = &self.program.tuples {
            let classes = four.own.iter().chain(&four.others).map(|tuple| tuples.class(tuple));
            let mut first_packets =
                self.learnt.first_packets.of_classes(&classes.collect::<Vec<_>>());
            for kept in first_packets.kept() {
                *kept = recipes.lend(&self.learnt.recipes, *kept);
            }
            trial.learnt.first_packets = first_packets;
        }
        trial.learnt.recipes = recipes;

        let outer = self.outer_tuples();
        let leaves = self.v4.routes.leaves().to_vec();
        std::mem::swap(&mut self.v4.routes, &mut trial.v4.routes);
        lend(self, &mut trial, four, outer, now);
        lend(self, &mut trial, six, Vec::new(), now);

        let result = run(&mut trial);

        std::mem::swap(&mut self.v4.routes, &mut trial.v4.routes);
        self.v4.routes.restore(leaves);
        give_back::<u32>(self, &mut trial);
        give_back::<u128>(self, &mut trial);
        trial.free_all(now);
        Ok(result)
    }

    /// The connections of tunnels' own packets, a few: a packet may leave in one of them.
    fn outer_tuples(&self) -> Vec<FiveTuple> {
        const MOST: usize = 8;
        let own = self.program.addresses.iter().map(|own| own.address);
        let tuples = self.program.tunnels.list().iter().flat_map(|tunnel| {
            let (dst, protocol) = (tunnel.remote, tunnel.protocol());
            let own = own.clone().filter(|&src| tunnel.local == 0 || tunnel.local == src);
            let port = if protocol == protocol::UDP { l2tp::PORT } else { 0 };
            own.map(move |src| FiveTuple { src, dst, src_port: port, dst_port: port, protocol })
        });
        tuples.filter(|tuple| self.v4.connections.is_taken(tuple)).take(MOST).collect()
    }

    /// Frees all frames of a trial that is over: a slab that has its frames home can go.
    fn free_all(mut self, now: Moment) {
        let mut frames: Vec<Frame> = Vec::new();
        for outbox in &mut self.io.outboxes {
            frames.extend(outbox.take());
        }
        frames.extend(self.v4.neighbours.take_waiting().map(|waiting| waiting.frame));
        frames.extend(self.v6.neighbours.take_waiting().map(|waiting| waiting.frame));
        frames.extend(self.queues.take_waiting().flat_map(Resume::frames));
        let end = now + Duration::from_secs(3600);
        frames
            .extend(self.v4.reassembly.expired(end).into_iter().flatten().map(|piece| piece.frame));
        frames
            .extend(self.v6.reassembly.expired(end).into_iter().flatten().map(|piece| piece.frame));
        for frame in frames {
            self.io.pool.free(frame);
        }
    }
}
