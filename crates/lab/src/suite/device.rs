//! The built-in router as a suite's device: made of a script, and made to forget.

use super::inside::Dropped;
use crate::device;
use config::Interpreter;
use measure::procedure::Stop;
use port::{Port, Slab};
use router::{MENUS, Router};
use wire::{MacAddr, Moment};

/// What it is called in results.
pub(super) const DEVICE: &str = "wirespeed router";

/// Its address on a port. (A kernel between veths is given the same ones.)
pub(super) fn mac(port: usize) -> MacAddr {
    device::port_mac(port + 1)
}

/// The router, and what of those before it counts on.
pub(super) struct BuiltIn {
    pub(super) router: Router,
    n: usize,
    slab: Slab,
    script: String,
    dropped: Dropped,
    left: u64,
}

impl BuiltIn {
    /// One with `n` ports and this configuration.
    ///
    /// # Errors
    /// The script was refused: where, and why.
    pub(super) fn new(n: usize, slab: &Slab, script: &str) -> Result<BuiltIn, Stop> {
        let router = router(n, slab, script).map_err(Stop::Broken)?;
        let (slab, script) = (slab.clone(), script.to_string());
        Ok(BuiltIn { router, n, slab, script, dropped: Dropped::default(), left: 0 })
    }

    /// One that knows nothing takes its place.
    ///
    /// # Errors
    /// As of [`BuiltIn::new`].
    pub(super) fn start_anew(&mut self) -> Result<(), Stop> {
        let router = router(self.n, &self.slab, &self.script).map_err(Stop::Broken)?;
        (self.dropped, self.left) = (self.dropped.with(&self.router), self.left());
        self.router = router;
        Ok(())
    }

    /// Frames that left it so far.
    pub(super) fn left(&self) -> u64 {
        self.left + device::left(&self.router)
    }

    /// What it dropped so far, and its ports' rings.
    pub(super) fn dropped(&self, ports: &[impl Port]) -> Dropped {
        self.dropped.with(&self.router).with_rings(ports.iter().map(Port::counters))
    }
}

/// A router with `n` ports and this configuration.
///
/// # Errors
/// The script was refused: where, and why.
pub(super) fn router(n: usize, slab: &Slab, script: &str) -> Result<Router, String> {
    let mut router = device::router(n, slab);
    let refused = |error: config::Error| {
        format!("the configuration, line {} column {}: {error}", error.at.line, error.at.column)
    };
    let tree = device::typed(&mut router, script).map_err(refused)?;
    let configured = router.configure(&tree, Moment::ZERO);
    configured.map_err(|error| format!("the configuration: {error}"))?;
    Ok(router)
}

/// Ends all connections by the console's own command; how many they were. `None` if it was
/// refused.
pub(super) fn forget(router: &mut Router, now: Moment) -> Option<u64> {
    let known = router.connections().len() as u64;
    let menus = MENUS.to_vec();
    let mut console = Interpreter::new(menus).with_commands(router::COMMANDS);
    *console.tree_mut() = router.factory_tree();
    let output = console.run("/ip firewall connection remove [find]", &router.status(now)).ok()?;
    for call in &output.calls {
        router.start(call, console.tree(), now).ok()?;
    }
    router.connections().is_empty().then_some(known)
}
