//! Results of the device's sending, as the kernel itself says them, a bulk at a time.
//!
//! ```text
//!  program: PENDING += 1 ─► bulk of up to 16 ─► device ─► xdp_devmap_xmit(sent, drops, error)
//!                        └─► cannot be queued ─────────► xdp_redirect_err(error)
//! ```
//!
//! These tracepoints see every redirect of the machine. Ours are told apart without looking at a
//! device: from the making of a frame to its bulk's sending, software interrupts are disabled on
//! the processor it is made on, so nothing else redirects there while frames are `PENDING`.

use super::program::at;
use super::word;
use crate::linux::Unavailable;
use crate::linux::bpf::assembler::{Alu, Assembler, If, Instruction, Register::*, Size};
use crate::linux::bpf::{Link, Program, SharedArray, helper};

/// Begins to watch.
pub(super) fn watch(state: &SharedArray) -> Result<[Link; 2], Unavailable> {
    let bulk = Program::tracepoint("sent", &sent(state))?;
    let error = Program::tracepoint("refused", &refused(state))?;
    Ok([bulk.trace("xdp_devmap_xmit")?, error.trace("xdp_redirect_err")?])
}

/// `xdp_devmap_xmit(from, to, int sent, int drops, int err)`
fn sent(state: &SharedArray) -> Vec<Instruction> {
    of_ours(state, |a| {
        let fine = a.label();
        a.load(Size::U64, R1, R6, 16);
        a.load(Size::U64, R2, R6, 24);
        a.load(Size::U64, R3, R6, 32);
        add(a, word::ACCEPTED, |a| a.alu(Alu::Add, R0, R1));
        add(a, word::REFUSED, |a| a.alu(Alu::Add, R0, R2));
        a.alu(Alu::Add, R1, R2);
        add(a, word::PENDING, |a| a.alu(Alu::Sub, R0, R1));
        a.jump_if(R3, If::Equal, 0, fine);
        a.store(Size::U64, R7, at(word::ERROR), R3);
        a.bind(fine);
    })
}

/// `xdp_redirect_err(device, program, target, int err, …)`
fn refused(state: &SharedArray) -> Vec<Instruction> {
    of_ours(state, |a| {
        a.load(Size::U64, R3, R6, 24);
        add(a, word::REFUSED, |a| a.alu(Alu::Add, R0, 1));
        add(a, word::PENDING, |a| a.alu(Alu::Sub, R0, 1));
        a.store(Size::U64, R7, at(word::ERROR), R3);
    })
}

/// A program that does something if the event is about our frames.
fn of_ours(state: &SharedArray, then: impl FnOnce(&mut Assembler)) -> Vec<Instruction> {
    let mut a = Assembler::new();
    let not_ours = a.label();
    a.set(R6, R1);
    a.address(R7, state.map(), 0);
    a.load(Size::U64, R8, R7, at(word::PENDING));
    a.jump_if(R8, If::Equal, 0, not_ours);
    a.call(helper::GET_SMP_PROCESSOR_ID);
    a.load(Size::U64, R1, R7, at(word::CPU));
    a.jump_if(R0, If::NotEqual, R1, not_ours);
    then(&mut a);
    // All is sent: what is left of the system call's pages need not be gone through.
    a.load(Size::U64, R1, R7, at(word::DONE));
    a.jump_if(R1, If::Equal, 0, not_ours);
    a.set(R1, libc::SIGURG);
    a.call(helper::SEND_SIGNAL_THREAD);
    a.bind(not_ours);
    a.set(R0, 0);
    a.exit();
    a.finish()
}

/// Changes a word of the state, in R0.
fn add(a: &mut Assembler, word: usize, change: impl FnOnce(&mut Assembler)) {
    a.load(Size::U64, R0, R7, at(word));
    change(a);
    a.store(Size::U64, R7, at(word), R0);
}
