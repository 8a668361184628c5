//! Many nodes and their cables in virtual time.
//!
//! ```text
//!  now ─► the next event: a frame arrives, something is due ─► its nodes breathe ─► now …
//!         └── in the file's order; nothing else happens in between ──┘
//! ```
//!
//! Time goes from event to event, so an idle second costs a thousand breaths (the router's chores)
//! and no more. A breath takes no time: what a device's processor would not manage does not show
//! here, what cables do not carry does, exact to the nanosecond. The same file and seed give the
//! same bytes on every machine.
//!
//! Never reads a clock, never starts a thread.

use crate::live::Interrupt;
use crate::node::{self, Errand, Node, Socket};
use crate::underway::{Files, Underway, WIND_UP};
use config::{Call, Host, How, Language, Progress, Record, Session, Status, Tree};
use port::{SimulatedPort, Slab};
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;

/// Nodes, cables, and what time it is.
pub struct World {
    now: Moment,
    places: Vec<Place>,
    slab: Slab,
    /// Breaths so far.
    breaths: u64,
    /// What scripts that nobody types are written in.
    language: Option<Arc<Language>>,
    /// Whether one of them is under way.
    in_script: bool,
}

/// A node in its place.
struct Place {
    node: Node,
    sockets: Vec<Socket<SimulatedPort>>,
    /// The sockets with cables.
    wired: Vec<usize>,
    /// Places at the other ends of its cables.
    peers: Vec<usize>,
    /// When something is due that no frame brings.
    due: Moment,
    /// When it must breathe: the earlier of that and the next arrival.
    next: Moment,
}

impl World {
    /// These nodes with their sockets, whose frames are `slab`'s; for each node, the places of those
    /// at the other ends of its cables.
    ///
    /// # Panics
    /// If there are not as many `peers` as nodes.
    pub fn new(
        nodes: Vec<(Node, Vec<Socket<SimulatedPort>>)>,
        peers: Vec<Vec<usize>>,
        slab: Slab,
    ) -> World {
        assert_eq!(nodes.len(), peers.len(), "nodes and their peers");
        let places = nodes.into_iter().zip(peers).map(|((node, sockets), peers)| {
            let wired = sockets.iter().enumerate().filter(|(_, socket)| socket.cable().is_some());
            let wired = wired.map(|(at, _)| at).collect();
            Place { node, sockets, wired, peers, due: Moment::ZERO, next: Moment::ZERO }
        });
        World {
            now: Moment::ZERO,
            places: places.collect(),
            slab,
            breaths: 0,
            language: None,
            in_script: false,
        }
    }

    /// What time it is.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// A node.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn node(&self, place: usize) -> &Node {
        &self.places[place].node
    }

    /// A node, to be changed; whatever it has to send leaves at this moment.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn node_mut(&mut self, place: usize) -> &mut Node {
        self.places[place].next = self.now;
        &mut self.places[place].node
    }

    /// A node's sockets.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn sockets(&self, place: usize) -> &[Socket<SimulatedPort>] {
        &self.places[place].sockets
    }

    /// The slab of all frames.
    pub fn slab(&self) -> &Slab {
        &self.slab
    }

    /// How many breaths all nodes have taken.
    pub fn breaths(&self) -> u64 {
        self.breaths
    }

    /// Lets everything happen that happens until then, and at that very moment.
    pub fn advance(&mut self, until: Moment) {
        while let Some(at) = self.places.iter().map(|place| place.next).min()
            && at <= until
        {
            // What was left over is late already.
            self.now = self.now.max(at);
            for place in 0..self.places.len() {
                if self.places[place].next <= self.now {
                    self.breathe(place);
                }
            }
        }
        self.now = self.now.max(until);
    }

    fn breathe(&mut self, at: usize) {
        let now = self.now;
        let place = &mut self.places[at];
        place.node.breathe(now, &mut place.sockets);
        place.node.breathed(now, now, true);
        self.run_errand(at);
        let place = &mut self.places[at];
        place.due = place.node.next_due(now);
        self.breaths += 1;
        self.places[at].look_ahead();
        for i in 0..self.places[at].peers.len() {
            let peer = self.places[at].peers[i];
            self.places[peer].look_ahead();
        }
    }

    /// Runs a script that nobody typed, within this moment: nothing in it waits.
    fn run_errand(&mut self, at: usize) {
        if self.in_script || !self.places[at].node.has_errands() {
            return;
        }
        let now = self.now;
        let errand = match self.places[at].node.take_errand() {
            Some(Errand::Script(script)) => script,
            Some(Errand::Back(tree)) => {
                // It was in force before, so it is accepted again.
                let _ = self.places[at].node.configure(&tree, now);
                return;
            }
            // There is no disk, and no terminal.
            Some(Errand::Line(..)) | None => return,
        };
        let language = self.language.get_or_insert_with(|| Arc::new(node::language(&[])));
        let mut session = Session::new(Arc::clone(language));
        self.in_script = true;
        let mut host = self.host(at, Files::none(), Interrupt::default()).until(now);
        host.reads_only = !errand.writes;
        let ran = session.run(&errand.source, How::Typed, &mut host, &mut |_| ());
        if let Err(error) = ran {
            host.log("script,error", &format!("{}: {}", errand.name, error.text));
        }
        drop(host);
        self.in_script = false;
    }

    /// A session's way to a node.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn host(&mut self, place: usize, files: Files, interrupt: Interrupt) -> WorldHost<'_> {
        assert!(place < self.places.len(), "no node {place}");
        let underway = Underway::new(files);
        WorldHost { world: self, place, underway, interrupt, reads_only: false, deadline: None }
    }
}

impl Place {
    fn look_ahead(&mut self) {
        let arrivals = self.wired.iter().filter_map(|&at| self.sockets[at].cable()?.next_arrival());
        self.next = arrivals.fold(self.due, Moment::min);
    }
}

/// A session on a node in virtual time: while it waits, the world goes on.
pub struct WorldHost<'a> {
    world: &'a mut World,
    place: usize,
    underway: Underway,
    interrupt: Interrupt,
    /// Whether it may change nothing: a script without that right.
    reads_only: bool,
    deadline: Option<Moment>,
}

/// How often a waiting session looks whether the user has had enough, in virtual time: often enough
/// for any traffic, and nothing beside what happens in it.
const LOOK: Duration = Duration::from_millis(5);

impl WorldHost<'_> {
    /// From this moment on nothing waits any more: what is under way then ends, interrupted.
    pub fn until(mut self, deadline: Moment) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

impl Host for WorldHost<'_> {
    fn now(&self) -> Moment {
        self.world.now
    }

    fn look(&mut self, look: &mut dyn FnMut(&dyn Status)) {
        let now = self.world.now;
        look(&self.world.places[self.place].node.status(now));
    }

    fn tree(&mut self) -> Tree {
        self.world.node(self.place).tree().clone()
    }

    fn edit(&mut self) -> Result<Tree, String> {
        if self.reads_only {
            return Err("not enough permissions (9)".to_string());
        }
        // There is no other session while this one runs.
        Ok(self.tree())
    }

    fn commit(&mut self, tree: &Tree) -> Result<(), String> {
        let now = self.world.now;
        self.world.node_mut(self.place).configure(tree, now)
    }

    fn log(&mut self, topics: &str, message: &str) {
        let now = self.world.now;
        self.world.node_mut(self.place).log(now, topics, message);
    }

    fn release(&mut self) {}

    fn go_back(&mut self, to: Tree, after: Duration) -> Result<(), String> {
        let at = self.world.now + after;
        self.world.node_mut(self.place).go_back(to, at);
        Ok(())
    }

    fn start(&mut self, call: &Call) -> Result<Progress, String> {
        let WorldHost { world, underway, place, .. } = self;
        let now = world.now;
        underway.start(call, now, || world.node_mut(*place).start(call, now))
    }

    fn poll(&mut self, out: &mut Vec<Record>) -> Result<Progress, String> {
        let WorldHost { world, underway, place, .. } = self;
        let now = world.now;
        underway.poll(out, |poll| poll(world.node_mut(*place), now))
    }

    fn wind_up(&mut self, out: &mut Vec<Record>) {
        let WorldHost { world, underway, place, .. } = self;
        let now = world.now;
        let mut goes_on = underway.wind_up(|with| with(world.node_mut(*place), now));
        while goes_on && self.world.now < now + WIND_UP {
            match self.poll(out) {
                Ok(Progress::Again(at)) => self.world.advance(at),
                _ => goes_on = false,
            }
        }
    }

    fn stop(&mut self) {
        let WorldHost { world, underway, place, .. } = self;
        let now = world.now;
        underway.stop(|stop| stop(world.node_mut(*place), now));
    }

    fn wait(&mut self, until: Moment) -> bool {
        let deadline = self.deadline.unwrap_or(until);
        let end = until.min(deadline);
        while self.world.now < end && !self.interrupt.is_raised() {
            self.world.advance(end.min(self.world.now + LOOK));
        }
        // What is due at this very moment, when there is nothing to wait for.
        self.world.advance(self.world.now);
        until <= deadline && !self.interrupt.is_raised()
    }

    fn read_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        self.underway.files().read(name)
    }

    fn write_file(&mut self, name: &str, content: &[u8]) -> Result<(), String> {
        self.underway.files().write(name, content)
    }

    fn files(&mut self) -> Vec<config::File> {
        self.underway.files().list()
    }

    fn remove_file(&mut self, name: &str) -> Result<(), String> {
        self.underway.files().remove(name)
    }
}

impl Drop for WorldHost<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}
