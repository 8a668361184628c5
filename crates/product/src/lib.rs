//! The product's commands: `router`, `console`, `import`, and what every command of the program needs.
//!
//! ```text
//!  router ──► daemon::real (a node on interfaces), serve ─► until it is ended
//!  console ─► serve (a terminal) ══ API ══ a device
//!  import ──► daemon::import ─► what of another box's configuration would work here
//! ```
//!
//! The wall between the product and the bench: nothing here links `measure`'s methods, `lab` or
//! `report`, and what measures cannot lean on what is not in a router that somebody runs.
//!
//! Never measures.

// What goes to standard output and standard error. First: the others use its macros.
#[macro_use]
pub mod out;
// Why a command ended, and the exit code of it.
pub mod failure;
// What ends a run in good order.
pub mod signals;
// A node in this process, as a server sees it.
pub mod served;
// `wirespeed router`.
#[cfg(target_os = "linux")]
pub mod router;
// `wirespeed console`.
pub mod console;
// `wirespeed import`.
pub mod import;
