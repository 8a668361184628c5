//! A trial router: what a packet would do is done to it, and the real one stays as it is.
//!
//! ```text
//!  real router ── shared: program
//!              ── lent: routes, connections (only asked) ──► trial ── given back ──► real
//!              ── copied: neighbours, hosts, tokens, dice, one flow's recipe ─┘
//!              ── its own: frames, counters, log, ports
//! ```
//!
//! The trial runs the very code of `flow.rs` and `fast`. Nothing is lent that it could change: of
//! connections it changes copies in a table of its own, and what it remembers in the routes' leaves
//! (which neighbour a gateway is) is taken back. What is copied takes as long as the tables are
//! large: about a millisecond for 25,000 simple queues, 8,192 neighbours and 10,000 rules.

use super::question6;
use crate::firewall::connection::Connections;
use crate::flow::Resume;
use crate::parts::Stacked;
use crate::router::Router;
use port::{Frame, Slab};
use std::time::Duration;
use wire::layers::{self, protocol};
use wire::{FiveTuple, Moment, icmp};

/// Frames a trial may have in hand, beside two for each port: floods.
const FRAMES: usize = 192;

/// The connections that a frame is about, by their tuples: its own, if it is of the family, and the one
/// that an error in it quotes a packet of.
#[derive(Clone, Copy, Debug, Default)]
struct About<A> {
    own: Option<FiveTuple<A>>,
    quoted: Option<FiveTuple<A>>,
}

/// The same of both families.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concerned {
    four: About<u32>,
    six: About<u128>,
}

impl Concerned {
    /// Whom a frame concerns.
    pub(super) fn by(frame: &[u8]) -> Concerned {
        let six = question6::tuple(frame);
        let quoted = six.and_then(|(_, upper)| question6::quoted(upper));
        let (own, quoted) = (six.map(|(tuple, _)| tuple), quoted.map(FiveTuple::reversed));
        let six = About { own, quoted };
        let four = match layers::network(frame) {
            Ok(layers) => {
                let l4 = usize::from(layers.l4);
                let quoted = frame.get(l4 + icmp::HEADER_LEN..usize::from(layers.l3_end));
                let quoted = quoted.filter(|_| layers.protocol == protocol::ICMP && l4 != 0);
                let quoted = quoted.and_then(|quoted| layers::quoted(quoted).ok());
                let quoted = quoted.map(|quoted| quoted.tuple.reversed());
                About { own: Some(layers.tuple), quoted }
            }
            Err(_) => About::default(),
        };
        Concerned { four, six }
    }
}

/// The recipe of a tuple's flow, if it holds.
fn recipe<F: Stacked>(r: &Router, tuple: Option<FiveTuple<F>>) -> Option<u32> {
    let tuple = tuple?;
    let flow = F::connections(r).flows().find(F::hash_of(&tuple), &tuple)?;
    let flow = F::connections(r).flow(flow);
    let holds = flow.generation == r.learnt.recipes.generation() && flow.recipe != 0;
    holds.then_some(flow.recipe)
}

/// Puts a trial's table in front of the real one; the flow of `own` has the one recipe there is then.
fn lend<F: Stacked>(
    real: &mut Router,
    trial: &mut Router,
    about: About<F>,
    others: Vec<FiveTuple<F>>,
    has_recipe: bool,
    now: Moment,
) {
    let table = std::mem::replace(F::connections_mut(real), Connections::new(0));
    let tuples: Vec<_> = about.own.into_iter().chain(about.quoted).chain(others).collect();
    *F::connections_mut(trial) = Connections::in_front_of(table, &tuples, now);
    let connections = F::connections_mut(trial);
    if has_recipe
        && let Some(own) = about.own
        && let Some(flow) = connections.flows().find(F::hash_of(&own), &own)
    {
        connections.flow_mut(flow).recipe = 1;
    }
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
        trial.link.bonds.clone_from(&self.link.bonds);
        trial.link.machines.clone_from(&self.link.machines);
        trial.link.up.clone_from(&self.link.up);
        trial.link.sessions.clone_from(&self.link.sessions);
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
        trial.tools.echoes.clone_from(&self.tools.echoes);
        trial.stats.interface_counts = vec![Default::default(); self.stats.interface_counts.len()];
        // Chores are for routers whose time goes on.
        trial.chores_at = now;
        trial.io.now = now;

        let Concerned { four, six } = concerned;
        let of_six = recipe(self, six.own);
        let of_four = recipe(self, four.own).filter(|_| of_six.is_none());
        trial.learnt.recipes = self.learnt.recipes.only(of_four.or(of_six));

        let outer = self.outer_tuples();
        let leaves = self.v4.routes.leaves().to_vec();
        std::mem::swap(&mut self.v4.routes, &mut trial.v4.routes);
        lend(self, &mut trial, four, outer, of_four.is_some(), now);
        lend(self, &mut trial, six, Vec::new(), of_six.is_some(), now);

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
            let (dst, protocol) = (tunnel.remote, tunnel.carries.protocol());
            let own = own.clone().filter(|&src| tunnel.local == 0 || tunnel.local == src);
            own.map(move |src| FiveTuple { src, dst, protocol, ..FiveTuple::default() })
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
