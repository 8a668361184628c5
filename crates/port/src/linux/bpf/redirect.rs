//! The program that hands an interface's frames to AF_XDP sockets.
//!
//! ```text
//!  frame of queue q ─► socket q of the map ─► its receive ring
//!                          └ none there ────► the kernel's network stack
//! ```

use super::assembler::{Assembler, Register::*, Size};
use super::{Map, Program, action, helper};
use crate::linux::Unavailable;

/// Where `rx_queue_index` stands in an XDP program's context (`struct xdp_md`).
const RX_QUEUE_INDEX: i16 = 16;

/// Loads the program for the sockets in `sockets` ([`Map::sockets`]). With `frags` it takes frames
/// in several buffers (jumbo frames); the sockets need `XDP_USE_SG` then.
///
/// # Errors
/// As of [`Program::xdp`].
pub fn redirect(sockets: &Map, frags: bool) -> Result<Program, Unavailable> {
    let mut a = Assembler::new();
    a.load(Size::U32, R2, R1, RX_QUEUE_INDEX);
    a.map(R1, sockets);
    a.set(R3, action::PASS);
    a.call(helper::REDIRECT_MAP);
    a.exit();
    Program::xdp("redirect", &a.finish(), frags)
}
