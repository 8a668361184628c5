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

use crate::firewall::connection::Connections;
use crate::flow::Resume;
use crate::router::Router;
use port::{Frame, Slab};
use std::time::Duration;
use wire::{FiveTuple, Moment};

/// Frames a trial may have in hand, beside two for each port: floods.
const FRAMES: usize = 192;

impl Router {
    /// Does something to a trial router that is like this one for packets of `tuple`, and for what
    /// quotes a packet of `quoted`.
    ///
    /// # Errors
    /// No memory for the trial's frames.
    pub(super) fn on_trial<T>(
        &mut self,
        now: Moment,
        tuple: &FiveTuple,
        quoted: Option<FiveTuple>,
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
        trial.v4.silent.clone_from(&self.v4.silent);
        trial.learnt.ingresses.clone_from(&self.learnt.ingresses);
        trial.learnt.egresses.clone_from(&self.learnt.egresses);
        trial.queues = self.queues.trial();
        trial.rules = self.rules.clone();
        trial.stats.counters = self.stats.counters.zeroed();
        trial.v4.icmp_limit = self.v4.icmp_limit;
        trial.tools.echoes.clone_from(&self.tools.echoes);
        trial.stats.interface_counts = vec![Default::default(); self.stats.interface_counts.len()];
        // Chores are for routers whose time goes on.
        trial.chores_at = now;
        trial.io.now = now;

        let recipe = self.v4.connections.flows().find(tuple.hash(), tuple).and_then(|flow| {
            let flow = self.v4.connections.flow(flow);
            let holds = flow.generation == self.learnt.recipes.generation() && flow.recipe != 0;
            holds.then_some(flow.recipe)
        });
        trial.learnt.recipes = self.learnt.recipes.only(recipe);

        let outer = self.outer_tuples();
        let leaves = self.v4.routes.leaves().to_vec();
        std::mem::swap(&mut self.v4.routes, &mut trial.v4.routes);
        let real = std::mem::replace(&mut self.v4.connections, Connections::new(0));
        let tuples: Vec<FiveTuple> = [*tuple].into_iter().chain(quoted).chain(outer).collect();
        trial.v4.connections = Connections::in_front_of(real, &tuples, now);
        if recipe.is_some()
            && let Some(flow) = trial.v4.connections.flows().find(tuple.hash(), tuple)
        {
            trial.v4.connections.flow_mut(flow).recipe = 1;
        }

        let result = run(&mut trial);

        std::mem::swap(&mut self.v4.routes, &mut trial.v4.routes);
        self.v4.routes.restore(leaves);
        let connections = std::mem::replace(&mut trial.v4.connections, Connections::new(0));
        if let Some(real) = connections.real() {
            self.v4.connections = real;
        }
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
        frames.extend(self.queues.take_waiting().flat_map(Resume::frames));
        let end = now + Duration::from_secs(3600);
        frames
            .extend(self.v4.reassembly.expired(end).into_iter().flatten().map(|piece| piece.frame));
        for frame in frames {
            self.io.pool.free(frame);
        }
    }
}
