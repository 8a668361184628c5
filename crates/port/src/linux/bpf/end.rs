//! The program that ends an interface's frames before the kernel's own stack has them.
//!
//! ```text
//!  packet sockets ◄─ frame ─► counted ─► without a tag, for an address of the kernel's? ─► its network stack
//!                                             └ no ─► ends here
//! ```
//!
//! The question is asked only where there is a map of such addresses. Counted is what came past the
//! sockets, whether they had it or not: while an interface goes down, the kernel takes its sockets off
//! it before it has handed out all that came.

use super::assembler::{Alu, Assembler, If, Register::*, Size};
use super::redirect::{Context, pass_to_kernel};
use super::{Map, Program, SharedArray, helper, ingress};
use crate::linux::Unavailable;
use std::sync::atomic::Ordering;

/// Fields of its context (`struct __sk_buff`).
const PACKET_TYPE: i16 = 4;
const VLAN_PRESENT: i16 = 20;
/// `PACKET_LOOPBACK`, a copy of a multicast of the kernel's own: packet sockets do not take it.
const LOOPBACK: i32 = 5;
const INGRESS: Context = Context { data: 76, data_end: 80, pass: ingress::PASS };

/// So many bytes are asked about, those of an ARP packet.
const ASKED: i32 = 42;

/// Processors count on lines of memory of their own, up to so many, so that none waits for another.
const LINES: i32 = 64;
/// Words, and the logarithm of the bytes, of such a line.
const LINE: usize = 8;
const LINE_SHIFT: i32 = 6;

/// How many frames came to the program.
pub struct Past(SharedArray);

impl Past {
    /// None yet.
    ///
    /// # Errors
    /// As of [`Map::new`].
    pub fn new() -> Result<Past, Unavailable> {
        Ok(Past(SharedArray::new("past", LINES as usize * LINE)?))
    }

    /// Frames, until now.
    pub fn frames(&self) -> u64 {
        self.0.words().iter().step_by(LINE).map(|word| word.load(Ordering::Relaxed)).sum()
    }
}

/// Loads the program, which counts in `past`. What is for one of the kernel's addresses, in a map as
/// [`redirect::addresses`](super::redirect::addresses) makes them, passes.
///
/// # Errors
/// As of [`Program::ingress`].
pub fn end(past: &Past, kernels: Option<&Map>) -> Result<Program, Unavailable> {
    let mut a = Assembler::new();
    a.set(R6, R1);
    let counted = a.label();
    a.load(Size::U32, R2, R6, PACKET_TYPE);
    a.jump_if(R2, If::Equal, LOOPBACK, counted);
    a.call(helper::GET_SMP_PROCESSOR_ID);
    a.alu(Alu::And, R0, LINES - 1);
    a.alu(Alu::ShiftLeft, R0, LINE_SHIFT);
    a.address(R1, past.0.map(), 0);
    a.alu(Alu::Add, R1, R0);
    a.set(R2, 1);
    // (Two processors may share a line.)
    a.atomic_add(R1, 0, R2);
    a.bind(counted);
    if let Some(kernels) = kernels {
        let ours = a.label();
        a.set(R1, R6);
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
