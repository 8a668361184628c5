//! A node in this process, as a server sees it: one of a lab, or one to try things on.

use crate::failure::Failure;
use config::{Host, Language};
use daemon::clock::{self, Clock};
use daemon::live::{Door, Interrupt, Live};
use daemon::machine;
use daemon::node::{self, Node, Socket};
use daemon::underway::Files;
use port::Slab;
use std::sync::Arc;

/// A live node, as its server sees it.
pub struct Served {
    door: Door,
    files: Files,
    language: Arc<Language>,
}

impl Served {
    /// A node behind this door, with these files.
    pub fn new(door: Door, files: Files, language: Arc<Language>) -> Served {
        Served { door, files, language }
    }

    /// A node of ports without cables, to try things on; it lives as long as the second of what is
    /// returned. Its files are those of the current directory.
    pub fn scratch(ports: usize) -> Result<(Served, Live), Failure> {
        /// Frames a router without cables can hold.
        const FRAMES: usize = 1 << 14;
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Failure::Environment(format!("cannot make a device in memory: {what}: {error}"))
        };
        let slab = Slab::new(FRAMES).map_err(|error| failed("its frames", &error))?;
        let clock = Clock::start();
        let environment = machine::environment(clock::unix());
        let node = Node::new("MikroTik", 1, ports, &slab, environment, clock.now());
        let sockets = (0..ports).map(|_| Socket::empty()).collect();
        let live = Live::start(node, sockets, clock, None);
        let live = live.map_err(|error| failed("its thread", &error))?;
        let files = std::env::current_dir().map_or(Files::none(), Files::of);
        let language = language();
        Ok((Served::new(live.door(), files, language), live))
    }
}

impl serve::Device for Served {
    fn language(&self) -> Arc<Language> {
        Arc::clone(&self.language)
    }

    fn host(&self) -> Box<dyn Host + '_> {
        // The server's own wait ends what is cancelled.
        Box::new(self.door.host(self.files.clone(), Interrupt::default()))
    }
}

/// What every device speaks here, served or not: what one has exported another takes.
pub fn language() -> Arc<Language> {
    Arc::new(node::language(serve::MENUS).with_factory(&serve::FACTORY))
}
