//! Sequence numbers of received frames: the meaning is that of `measure`'s `sequence`, instruction by
//! instruction.
//!
//! ```text
//!   stale │ ◄──── 65,536 numbers: one bit each, 64 a word ────► │ not yet come
//!         floor                                            next (highest + 1)
//! ```
//!
//! A ring of bits behind the highest number seen; words are cleared as `next` enters them.

use super::of_stream::{self, NEXT, START, WINDOW_WORDS};
use super::program::at;
use crate::linux::bpf::assembler::{Alu, Assembler, If, Label, Register, Register::*, Size};

/// Where to go on.
pub(super) struct Outcomes {
    /// The highest so far.
    pub(super) in_order: Label,
    /// The first time, after a higher one.
    pub(super) late: Label,
    /// Not the first time.
    pub(super) duplicate: Label,
    /// Behind the window.
    pub(super) stale: Label,
    /// Further ahead than any sender can be.
    pub(super) absurd: Label,
}

const WINDOW_BITS: i32 = WINDOW_WORDS as i32 * 64;

/// A number, in R1, comes to the stream whose words are at R8. R0 to R5 are lost.
pub(super) fn arrive(a: &mut Assembler, to: &Outcomes) {
    let (back, ahead, mark) = (a.label(), a.label(), a.label());
    a.load(Size::U64, R2, R8, at(NEXT));
    a.jump_if(R1, If::Less, R2, back);
    a.jump_if(R1, If::Greater, R2, ahead);
    // The next one: a word is cleared as it is entered.
    let entered = a.label();
    a.set(R3, R1);
    a.alu(Alu::And, R3, 63);
    a.jump_if(R3, If::NotEqual, 0, entered);
    word_of(a, R3);
    a.store(Size::U64, R3, 0, 0);
    a.bind(entered);
    a.jump(mark);

    // Those between may still come: their words are cleared, and there are no more than all.
    a.bind(ahead);
    a.set(R3, R1);
    a.alu(Alu::Sub, R3, R2);
    a.alu(Alu::ShiftRight, R3, 32);
    a.jump_if(R3, If::NotEqual, 0, to.absurd);
    a.load(Size::U64, R0, R8, at(of_stream::GAPS));
    a.alu(Alu::Add, R0, 1);
    a.store(Size::U64, R8, at(of_stream::GAPS), R0);
    a.alu(Alu::Add, R2, 63);
    a.alu(Alu::ShiftRight, R2, 6); // the first word not entered
    a.set(R4, R1);
    a.alu(Alu::ShiftRight, R4, 6); // the word of the number
    let again = a.label();
    a.set(R5, 0);
    a.bind(again);
    a.jump_if(R4, If::Less, R2, mark);
    a.set(R3, R4);
    a.alu(Alu::And, R3, WINDOW_WORDS as i32 - 1);
    a.alu(Alu::ShiftLeft, R3, 3);
    a.alu(Alu::Add, R3, R8);
    a.store(Size::U64, R3, at(of_stream::WINDOW), 0);
    a.alu(Alu::Sub, R4, 1);
    a.alu(Alu::Add, R5, 1);
    a.jump_if(R5, If::Less, WINDOW_WORDS as i32, again);

    a.bind(mark);
    a.set(R2, R1);
    a.alu(Alu::Add, R2, 1);
    a.store(Size::U64, R8, at(NEXT), R2);
    word_of(a, R3);
    bit_of(a);
    a.load(Size::U64, R2, R3, 0);
    a.alu(Alu::Or, R2, R4);
    a.store(Size::U64, R3, 0, R2);
    a.jump(to.in_order);

    a.bind(back);
    a.load(Size::U64, R3, R8, at(START));
    a.jump_if(R1, If::Less, R3, to.stale);
    a.alu(Alu::Sub, R2, 1);
    a.alu(Alu::Or, R2, 63);
    a.alu(Alu::Sub, R2, R1);
    a.jump_if(R2, If::AtLeast, WINDOW_BITS, to.stale);
    word_of(a, R3);
    bit_of(a);
    a.load(Size::U64, R2, R3, 0);
    a.jump_if(R2, If::AnyOf, R4, to.duplicate);
    a.alu(Alu::Or, R2, R4);
    a.store(Size::U64, R3, 0, R2);
    a.jump(to.late);
}

/// The address of the word with the bit of the number in R1.
fn word_of(a: &mut Assembler, to: Register) {
    a.set(to, R1);
    a.alu(Alu::ShiftRight, to, 6);
    a.alu(Alu::And, to, WINDOW_WORDS as i32 - 1);
    a.alu(Alu::ShiftLeft, to, 3);
    a.alu(Alu::Add, to, R8);
    a.alu(Alu::Add, to, i32::from(at(of_stream::WINDOW)));
}

/// The bit in it, in R4.
fn bit_of(a: &mut Assembler) {
    a.set(R5, R1);
    a.alu(Alu::And, R5, 63);
    a.set(R4, 1);
    a.alu(Alu::ShiftLeft, R4, R5);
}
