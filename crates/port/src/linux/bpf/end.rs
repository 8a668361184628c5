//! The program that ends an interface's frames before the kernel's own stack has them.
//!
//! ```text
//!  packet sockets ◄─ frame ─► without a tag, for an address of the kernel's? ─► its network stack
//!                                  └ no ─► ends here
//! ```
//!
//! The question is asked only where there is a map of such addresses.

use super::assembler::{Assembler, If, Register::*, Size};
use super::redirect::{Context, pass_to_kernel};
use super::{Map, Program, helper, ingress};
use crate::linux::Unavailable;

/// Fields of its context (`struct __sk_buff`).
const VLAN_PRESENT: i16 = 20;
const INGRESS: Context = Context { data: 76, data_end: 80, pass: ingress::PASS };

/// So many bytes are asked about, those of an ARP packet.
const ASKED: i32 = 42;

/// Loads the program. What is for one of the kernel's addresses, in a map as
/// [`redirect::addresses`](super::redirect::addresses) makes them, passes.
///
/// # Errors
/// As of [`Program::ingress`].
pub fn end(kernels: Option<&Map>) -> Result<Program, Unavailable> {
    let mut a = Assembler::new();
    if let Some(kernels) = kernels {
        let ours = a.label();
        a.set(R6, R1);
        // The first bytes may be anywhere; of a frame that is shorter they stay where they are.
        a.set(R2, ASKED);
        a.call(helper::SKB_PULL_DATA);
        a.load(Size::U32, R2, R6, VLAN_PRESENT);
        a.jump_if(R2, If::NotEqual, 0, ours);
        pass_to_kernel(&mut a, kernels, &INGRESS);
        a.bind(ours);
    }
    a.set(R0, ingress::DROP);
    a.exit();
    Program::ingress("wirespeed_alone", &a.finish())
}
