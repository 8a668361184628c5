//! The program that counts: one run for every frame the interface receives.
//!
//! ```text
//!  queue 0? ─► tail ─► parity ─► mark, stream ─► clock, time ─► length, IPv4 ─► number ─► latency
//!     │         │        └ damaged                  │               └ corrupt      │        └ drop
//!     └ pass    └──────────────── foreign: pass ────┘                              └ duplicate …
//! ```
//!
//! Before a frame is called corrupt or damaged, it is asked whether it is an ICMP error about one
//! ([`message`]): those are foreign.
//!
//! R6 is the tail, R7 the shared state, R8 the stream's words, R9 the time; the context is kept on
//! the stack.

use super::of_stream as of;
use super::sequence::{self, Outcomes};
use super::{Tail, histogram, message, word};
use crate::linux::bpf::assembler::{
    Alu, Assembler, If, Instruction, Label, Register, Register::*, Size,
};
use crate::linux::bpf::{SharedArray, action, helper};

/// Fields of the context (`struct xdp_md`).
pub(super) const DATA: i16 = 0;
pub(super) const DATA_END: i16 = 4;
const RX_QUEUE_INDEX: i16 = 16;

/// On the stack: the context, and the frame's length.
const CONTEXT: i16 = -8;
const LENGTH: i16 = -16;

/// The longest frame there can be in one buffer.
const FRAME_MAX: i32 = 4096;

/// How far in the future the time of a frame may be: the clock is read without a lock.
const SKEW_NS: i32 = 1_000_000_000;

/// Offset of a word in bytes.
pub(super) const fn at(word: usize) -> i16 {
    assert!(word < 4096, "a word beyond an instruction's reach");
    (word * 8) as i16
}

pub(super) fn assemble(tail: &Tail, streams: usize, state: &SharedArray) -> Vec<Instruction> {
    let mut a = Assembler::new();
    let (foreign, other_queue, damaged) = (a.label(), a.label(), a.label());
    let (corrupt, counted_corrupt, drop, pass) = (a.label(), a.label(), a.label(), a.label());
    let sequence = Outcomes {
        in_order: a.label(),
        late: a.label(),
        duplicate: a.label(),
        stale: a.label(),
        absurd: corrupt,
    };
    a.store(Size::U64, R10, CONTEXT, R1);
    a.address(R7, state.map(), 0);
    a.load(Size::U32, R2, R1, RX_QUEUE_INDEX);
    a.jump_if(R2, If::NotEqual, 0, other_queue);
    find_tail(&mut a, tail, foreign);
    parity(&mut a, tail, damaged);
    whose(&mut a, tail, streams, foreign);
    when(&mut a, tail, foreign);
    let wrong_size = a.label();
    is_intact(&mut a, wrong_size, corrupt);
    a.load(Size::U64, R1, R6, tail.number as i16);
    a.big_endian(R1, 64);
    a.set_u64(R2, tail.number_mask);
    a.alu(Alu::And, R1, R2);
    sequence::arrive(&mut a, &sequence);

    a.bind(sequence.late);
    count(&mut a, R8, of::REORDERED);
    a.bind(sequence.in_order);
    count(&mut a, R8, of::RECEIVED);
    received(&mut a, tail, drop);
    a.jump(drop);
    for (label, word) in [(sequence.duplicate, of::DUPLICATE), (sequence.stale, of::STALE)] {
        a.bind(label);
        count(&mut a, R8, word);
        a.jump(drop);
    }
    a.bind(wrong_size);
    message::is_error(&mut a, CONTEXT, foreign);
    count(&mut a, R8, of::WRONG_SIZE);
    a.jump(counted_corrupt);
    a.bind(corrupt);
    message::is_error(&mut a, CONTEXT, foreign);
    a.bind(counted_corrupt);
    count(&mut a, R8, of::CORRUPT);
    a.jump(drop);
    a.bind(damaged);
    // It may be ours: then it names a stream of ours, and a time of this trial.
    whose(&mut a, tail, streams, foreign);
    when(&mut a, tail, foreign);
    message::is_error(&mut a, CONTEXT, foreign);
    count(&mut a, R7, word::CORRUPT);
    a.bind(drop);
    a.set(R0, action::DROP);
    a.exit();
    a.bind(other_queue);
    // Other queues are other processors'.
    a.set(R2, 1);
    a.atomic_add(R7, at(word::OTHER_QUEUE), R2);
    a.jump(pass);
    a.bind(foreign);
    count(&mut a, R7, word::FOREIGN);
    a.bind(pass);
    a.set(R0, action::PASS);
    a.exit();
    a.finish()
}

/// R6 becomes the frame's last bytes.
fn find_tail(a: &mut Assembler, tail: &Tail, foreign: Label) {
    let bytes = tail.bytes as i32;
    a.load(Size::U32, R6, R1, DATA);
    a.load(Size::U32, R3, R1, DATA_END);
    a.set(R4, R3);
    a.alu(Alu::Sub, R4, R6);
    a.jump_if(R4, If::Less, bytes, foreign);
    a.jump_if(R4, If::Greater, FRAME_MAX, foreign);
    a.store(Size::U64, R10, LENGTH, R4);
    a.alu(Alu::Sub, R4, bytes);
    a.alu(Alu::Add, R6, R4);
    a.set(R4, R6);
    a.alu(Alu::Add, R4, bytes);
    a.jump_if(R4, If::Greater, R3, foreign);
}

fn parity(a: &mut Assembler, tail: &Tail, damaged: Label) {
    a.set(R1, 0);
    let mut from = 0;
    for (size, bytes) in [(Size::U64, 8), (Size::U32, 4), (Size::U16, 2), (Size::U8, 1)] {
        while tail.bytes - from >= bytes {
            a.load(size, R2, R6, from as i16);
            a.alu(Alu::Xor, R1, R2);
            from += bytes;
        }
    }
    for shift in [32, 16, 8] {
        a.set(R2, R1);
        a.alu(Alu::ShiftRight, R2, shift);
        a.alu(Alu::Xor, R1, R2);
    }
    a.alu(Alu::And, R1, 0xff);
    a.jump_if(R1, If::NotEqual, i32::from(tail.parity), damaged);
}

/// R8 becomes the stream's words.
fn whose(a: &mut Assembler, tail: &Tail, streams: usize, foreign: Label) {
    let (place, value) = tail.mark;
    a.load(Size::U8, R1, R6, place as i16);
    a.jump_if(R1, If::NotEqual, i32::from(value), foreign);
    a.load(Size::U8, R1, R6, tail.stream as i16);
    a.alu(Alu::ShiftLeft, R1, 3);
    a.alu(Alu::Add, R1, R7);
    a.load(Size::U64, R8, R1, at(word::PLACES));
    a.jump_if(R8, If::Equal, 0, foreign);
    a.alu(Alu::Sub, R8, 1);
    a.jump_if(R8, If::AtLeast, streams as i32, foreign);
    a.alu(Alu::Mul, R8, (of::WORDS * 8) as i32);
    a.alu(Alu::Add, R8, R7);
    a.alu(Alu::Add, R8, (word::STREAMS * 8) as i32);
}

/// R9 becomes the time; goes on with frames sent in this trial.
fn when(a: &mut Assembler, tail: &Tail, foreign: Label) {
    a.call(helper::KTIME_GET_NS);
    a.set(R9, R0);
    time_of_sending(a, tail, R1);
    a.load(Size::U64, R2, R7, at(word::BEGIN));
    a.jump_if(R1, If::Less, R2, foreign);
    a.alu(Alu::Add, R0, SKEW_NS);
    a.jump_if(R1, If::Greater, R0, foreign);
}

/// By the clock of the program. (R4 is lost.)
fn time_of_sending(a: &mut Assembler, tail: &Tail, to: Register) {
    a.load(Size::U64, to, R6, tail.time as i16);
    a.big_endian(to, 64);
    if tail.zero_ns > 0 {
        a.set_u64(R4, tail.zero_ns);
        a.alu(Alu::Add, to, R4);
    }
}

/// Length and IPv4 header, as far as the stream has them.
fn is_intact(a: &mut Assembler, wrong_size: Label, corrupt: Label) {
    let (any_length, any_protocol) = (a.label(), a.label());
    a.load(Size::U64, R1, R8, at(of::FRAME_BYTES));
    a.jump_if(R1, If::Equal, 0, any_length);
    a.load(Size::U64, R2, R10, LENGTH);
    a.jump_if(R1, If::NotEqual, R2, wrong_size);
    a.bind(any_length);
    a.load(Size::U64, R1, R8, at(of::IPV4));
    a.jump_if(R1, If::Equal, 0, any_protocol);
    a.load(Size::U64, R1, R10, CONTEXT);
    a.load(Size::U32, R2, R1, DATA);
    a.load(Size::U32, R3, R1, DATA_END);
    a.set(R4, R2);
    a.alu(Alu::Add, R4, 34);
    a.jump_if(R4, If::Greater, R3, corrupt);
    a.load(Size::U16, R4, R2, 12);
    a.jump_if(R4, If::NotEqual, i32::from(0x0800u16.to_be()), corrupt);
    a.load(Size::U8, R4, R2, 14);
    a.jump_if(R4, If::NotEqual, 0x45, corrupt);
    a.set(R1, 0);
    for place in [14, 18, 22, 26, 30] {
        a.load(Size::U32, R4, R2, place);
        a.alu(Alu::Add, R1, R4);
    }
    for _ in 0..4 {
        a.set(R4, R1);
        a.alu(Alu::ShiftRight, R4, 16);
        a.alu(Alu::And, R1, 0xffff);
        a.alu(Alu::Add, R1, R4);
    }
    a.jump_if(R1, If::NotEqual, 0xffff, corrupt);
    a.bind(any_protocol);
}

/// Bytes, times and latency of a received frame.
fn received(a: &mut Assembler, tail: &Tail, drop: Label) {
    let (not_first, not_negative, not_least, not_greatest) =
        (a.label(), a.label(), a.label(), a.label());
    a.load(Size::U64, R1, R10, LENGTH);
    add(a, R8, of::BYTES, R1);
    a.store(Size::U64, R8, at(of::LAST), R9);
    a.load(Size::U64, R1, R8, at(of::FIRST));
    a.jump_if(R1, If::NotEqual, 0, not_first);
    a.store(Size::U64, R8, at(of::FIRST), R9);
    a.bind(not_first);
    time_of_sending(a, tail, R2);
    a.set(R1, 0);
    a.jump_if(R2, If::AtLeast, R9, not_negative);
    a.set(R1, R9);
    a.alu(Alu::Sub, R1, R2);
    a.bind(not_negative);
    add(a, R8, of::LATENCY_SUM, R1);
    a.load(Size::U64, R2, R8, at(of::LATENCY_MIN));
    a.jump_if(R1, If::AtLeast, R2, not_least);
    a.store(Size::U64, R8, at(of::LATENCY_MIN), R1);
    a.bind(not_least);
    a.load(Size::U64, R2, R8, at(of::LATENCY_MAX));
    a.jump_if(R1, If::AtMost, R2, not_greatest);
    a.store(Size::U64, R8, at(of::LATENCY_MAX), R1);
    a.bind(not_greatest);
    histogram::bucket(a, drop);
    a.alu(Alu::ShiftLeft, R2, 3);
    a.alu(Alu::Add, R2, R8);
    a.set(R1, 1);
    add(a, R2, of::LATENCIES, R1);
}

fn count(a: &mut Assembler, base: Register, word: usize) {
    a.set(R1, 1);
    add(a, base, word, R1);
}

/// Adds to a word; R0 is lost.
fn add(a: &mut Assembler, base: Register, word: usize, what: Register) {
    a.load(Size::U64, R0, base, at(word));
    a.alu(Alu::Add, R0, what);
    a.store(Size::U64, base, at(word), R0);
}
