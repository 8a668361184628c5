//! The built-in router as a suite's device: made of a script, and made to forget.

use crate::device;
use config::Interpreter;
use port::Slab;
use router::{MENUS, Router};
use wire::{MacAddr, Moment};

/// What it is called in results.
pub(super) const DEVICE: &str = "wirespeed router";

/// Its address on a port. (A kernel between veths is given the same ones.)
pub(super) fn mac(port: usize) -> MacAddr {
    device::port_mac(port + 1)
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
