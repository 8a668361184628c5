//! A trial router: what a packet would do is done to it, and the real one stays as it is.
//!
//! ```text
//!  real router ── lent: program, routes, connections (only asked) ──► trial ── given back ──► real
//!              ── copied: neighbours, hosts, tokens, dice, one flow's recipe ─┘
//!              ── its own: frames, counters, log, ports
//! ```
//!
//! The trial runs the very code of `flow.rs` and `fast`. Nothing is lent that it could change: of
//! connections it changes copies in a table of its own, and what it remembers in the routes' leaves
//! (which neighbour a gateway is) is taken back. What is copied takes as long as the tables are
//! large: about a millisecond for 25,000 simple queues, 8,192 neighbours and 10,000 rules.

use crate::firewall::connection::Connections;
use crate::router::Router;
use port::Slab;
use wire::{FiveTuple, Moment};

/// Frames a trial may have in hand: a flood by all ports of a bridge, and the fragments of it.
const FRAMES: usize = 1024;

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
        let slab = Slab::new(FRAMES).map_err(|error| format!("failure: {error}"))?;
        let mut trial = Router::with_room(self.ports.clone(), &slab, 0);
        trial.neighbours = self.neighbours.trial();
        trial.hosts.clone_from(&self.hosts);
        trial.queues = self.queues.trial();
        trial.rule_state = self.rule_state.clone();
        trial.counters = self.counters.zeroed();
        trial.icmp_limit = self.icmp_limit;
        trial.tools.echoes.clone_from(&self.tools.echoes);
        trial.interface_counts = vec![Default::default(); self.interface_counts.len()];
        // Chores are for routers whose time goes on.
        trial.chores_at = now;

        let recipe = self.connections.flows().find(tuple.hash(), tuple).and_then(|flow| {
            let flow = self.connections.flow(flow);
            let holds = flow.generation == self.recipes.generation() && flow.recipe != 0;
            holds.then_some(flow.recipe)
        });
        trial.recipes = self.recipes.only(recipe);

        let leaves = self.routes.leaves().to_vec();
        std::mem::swap(&mut self.program, &mut trial.program);
        std::mem::swap(&mut self.routes, &mut trial.routes);
        let real = std::mem::replace(&mut self.connections, Connections::new(0));
        let tuples: Vec<FiveTuple> = [*tuple].into_iter().chain(quoted).collect();
        trial.connections = Connections::in_front_of(real, &tuples, now);
        if recipe.is_some()
            && let Some(flow) = trial.connections.flows().find(tuple.hash(), tuple)
        {
            trial.connections.flow_mut(flow).recipe = 1;
        }

        let result = run(&mut trial);

        std::mem::swap(&mut self.program, &mut trial.program);
        std::mem::swap(&mut self.routes, &mut trial.routes);
        self.routes.restore(leaves);
        if let Some(real) = trial.connections.real() {
            self.connections = real;
        }
        Ok(result)
    }
}
