//! Writing one stream's frame: its bytes, then what changes.
//!
//! ```text
//!  R6 ─► | bytes by instructions (128) | the rest, copied |
//!           ▲ numbers, time, values ─► parity ─► checksums
//! ```
//!
//! All of the frame is written every time: the page may come back from a device that changed it,
//! or from another stream. What is written last is summed last: a checksum's constant part is known
//! here, only the words that change are added in the program.

use super::plan::{Edit, Pick, Stream};
use super::program::{IN_CODE, at};
use crate::linux::bpf::assembler::{Alu, Assembler, If, Label, Register, Register::*, Size};
use crate::linux::bpf::{Map, helper};
use std::ops::Range;
use std::slice::from_ref;

/// Where frame and its end stand in the context (`struct xdp_md`).
const DATA: i16 = 0;
const DATA_END: i16 = 4;

/// The instructions for one stream, whose frames are counted in this `word` of the state and are
/// `spare` bytes shorter than the page's. Its tables: the rest of the frame, and values by edit.
pub(super) fn write(
    a: &mut Assembler,
    stream: &Stream,
    word: usize,
    spare: usize,
    tables: Option<&Map>,
    (rest, values): (usize, &[usize]),
    bad: Label,
) {
    let frame = &stream.frame;
    if spare > 0 {
        a.set(R1, R9);
        a.set(R2, -(spare as i32));
        a.call(helper::XDP_ADJUST_TAIL);
        a.jump_if(R0, If::NotEqual, 0, bad);
    }
    if let (Some(tables), true) = (tables, frame.len() > IN_CODE) {
        a.set(R1, R9);
        a.set(R2, IN_CODE as i32);
        a.address(R3, tables, rest);
        a.set(R4, (frame.len() - IN_CODE) as i32);
        a.call(helper::XDP_STORE_BYTES);
        a.jump_if(R0, If::NotEqual, 0, bad);
    }
    a.load(Size::U32, R6, R9, DATA);
    a.load(Size::U32, R1, R9, DATA_END);
    a.set(R2, R6);
    a.alu(Alu::Add, R2, frame.len() as i32);
    a.jump_if(R2, If::Greater, R1, bad);

    let changes = Changes::of(stream);
    for (offset, size) in pieces(&changes.still(IN_CODE.min(frame.len()))) {
        // A number of 32 bits, in the machine's order.
        let bytes = &frame[offset..offset + bytes_of(size)];
        let mut word = [0; 4];
        match cfg!(target_endian = "little") {
            true => word[..bytes.len()].copy_from_slice(bytes),
            false => word[4 - bytes.len()..].copy_from_slice(bytes),
        }
        a.store(size, R6, offset as i16, i32::from_ne_bytes(word));
    }
    for (edit, &values) in stream.edits.iter().zip(values) {
        value(a, edit, word, tables, values, bad);
    }
    for edit in &stream.edits {
        if let Edit::Parity { at, over, is } = edit {
            parity(a, frame, &changes, *at, over, *is);
        }
    }
    for edit in &stream.edits {
        if let Edit::Checksum { .. } = edit {
            checksum(a, frame, &changes, edit);
        }
    }
    a.load(Size::U64, R1, R7, at(word));
    a.alu(Alu::Add, R1, 1);
    a.store(Size::U64, R7, at(word), R1);
}

/// Which bytes of a stream's frames are written by an edit that is no checksum.
struct Changes(Vec<bool>);

impl Changes {
    fn of(stream: &Stream) -> Changes {
        let mut changes = vec![false; stream.frame.len()];
        let is_checksum = |edit: &&Edit| matches!(edit, Edit::Checksum { .. });
        for edit in stream.edits.iter().filter(|edit| !is_checksum(edit)) {
            changes[edit.place()].fill(true);
        }
        Changes(changes)
    }

    /// Runs of bytes below `end` that stay.
    fn still(&self, end: usize) -> Vec<Range<usize>> {
        runs(0..end, |at| !self.0[at])
    }
}

/// The runs within `range` whose places all satisfy `is`.
fn runs(range: Range<usize>, is: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in range.filter(|&at| is(at)) {
        match runs.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Cuts runs into what one instruction moves, at most four bytes.
fn pieces(runs: &[Range<usize>]) -> Vec<(usize, Size)> {
    let mut pieces = Vec::new();
    for run in runs {
        let mut at = run.start;
        while at < run.end {
            let size = match run.end - at {
                1 => Size::U8,
                2 | 3 => Size::U16,
                _ => Size::U32,
            };
            pieces.push((at, size));
            at += bytes_of(size);
        }
    }
    pieces
}

fn bytes_of(size: Size) -> usize {
    match size {
        Size::U8 => 1,
        Size::U16 => 2,
        Size::U32 => 4,
        Size::U64 => 8,
    }
}

/// Numbers, time and values.
fn value(
    a: &mut Assembler,
    edit: &Edit,
    word: usize,
    tables: Option<&Map>,
    values: usize,
    bad: Label,
) {
    match edit {
        Edit::Number { at: place, bytes, first } => {
            a.load(Size::U64, R1, R7, at(word));
            if *first > 0 {
                a.set_u64(R2, *first);
                a.alu(Alu::Add, R1, R2);
            }
            store_number(a, *place, *bytes, R1);
        }
        Edit::Time { at: place, zero_ns } => {
            a.set(R1, R8);
            if *zero_ns > 0 {
                a.set_u64(R2, *zero_ns);
                a.alu(Alu::Sub, R1, R2);
            }
            store_number(a, *place, 8, R1);
        }
        Edit::Range { at: place, bytes, first, count, pick } => {
            choice(a, word, u64::from(*count), *pick);
            if *first > 0 {
                a.set_u64(R2, *first);
                a.alu(Alu::Add, R1, R2);
            }
            store_number(a, *place, *bytes, R1);
        }
        Edit::Values { at: place, bytes, values: all, pick } => {
            let stride = bytes.next_multiple_of(8);
            let count = all.len() / bytes;
            choice(a, word, count as u64, *pick);
            a.jump_if(R1, If::AtLeast, count as i32, bad); // never: the verifier wants to see it
            a.alu(Alu::Mul, R1, stride as i32);
            a.address(R2, tables.expect("values are in the tables"), values);
            a.alu(Alu::Add, R2, R1);
            let whole = 0..bytes / 8;
            whole.for_each(|i| copy(a, Size::U64, i * 8, *place));
            let rest = bytes / 8 * 8..*bytes;
            pieces(from_ref(&rest)).into_iter().for_each(|(i, size)| copy(a, size, i, *place));
        }
        Edit::Parity { .. } | Edit::Checksum { .. } => {}
    }
}

/// From the value at R2 into the frame.
fn copy(a: &mut Assembler, size: Size, from: usize, place: usize) {
    a.load(size, R1, R2, from as i16);
    a.store(size, R6, (place + from) as i16, R1);
}

/// Stores the lower bytes, big-endian; the register is lost.
fn store_number(a: &mut Assembler, place: usize, bytes: usize, from: Register) {
    let size = match bytes {
        1 => Size::U8,
        2 => Size::U16,
        4 => Size::U32,
        _ => Size::U64,
    };
    if bytes > 1 {
        a.big_endian(from, bytes as i32 * 8);
    }
    a.store(size, R6, place as i16, from);
}

/// A number below `count` in R1, by the frame's number in its stream.
fn choice(a: &mut Assembler, word: usize, count: u64, pick: Pick) {
    a.load(Size::U64, R1, R7, at(word));
    match pick {
        Pick::InTurn if count.is_power_of_two() => {
            a.set_u64(R2, count - 1);
            a.alu(Alu::And, R1, R2);
        }
        Pick::InTurn => {
            a.set_u64(R2, count);
            a.alu(Alu::Mod, R1, R2);
        }
        Pick::Random(seed) => {
            // As SplitMix64 does; the upper half, scaled, is the choice.
            a.set_u64(R2, 0x9e37_79b9_7f4a_7c15);
            a.alu(Alu::Mul, R1, R2);
            a.set_u64(R2, seed);
            a.alu(Alu::Add, R1, R2);
            for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
                a.set(R2, R1);
                a.alu(Alu::ShiftRight, R2, shift);
                a.alu(Alu::Xor, R1, R2);
                a.set_u64(R2, factor);
                a.alu(Alu::Mul, R1, R2);
            }
            a.alu(Alu::ShiftRight, R1, 32);
            a.set_u64(R2, count);
            a.alu(Alu::Mul, R1, R2);
            a.alu(Alu::ShiftRight, R1, 32);
        }
    }
}

fn parity(
    a: &mut Assembler,
    frame: &[u8],
    changes: &Changes,
    place: usize,
    over: &Range<usize>,
    is: u8,
) {
    let still = over.clone().filter(|&at| !changes.0[at]);
    let constant = still.fold(is, |all, at| all ^ frame[at]);
    a.set(R1, i32::from(constant));
    let changing = runs(over.clone(), |at| at != place && changes.0[at]);
    for run in changing {
        let whole = run.len() / 8;
        for i in 0..whole {
            a.load(Size::U64, R2, R6, (run.start + i * 8) as i16);
            a.alu(Alu::Xor, R1, R2);
        }
        let rest = run.start + whole * 8..run.end;
        for (at, size) in pieces(from_ref(&rest)) {
            a.load(size, R2, R6, at as i16);
            a.alu(Alu::Xor, R1, R2);
        }
    }
    for shift in [32, 16, 8] {
        a.set(R2, R1);
        a.alu(Alu::ShiftRight, R2, shift);
        a.alu(Alu::Xor, R1, R2);
    }
    a.store(Size::U8, R6, place as i16, R1);
}

fn checksum(a: &mut Assembler, frame: &[u8], changes: &Changes, edit: &Edit) {
    let Edit::Checksum { at: place, over, plus, never_zero } = edit else { return };
    let mut constant = u64::from(plus.to_be());
    let mut changing: Vec<Range<usize>> = Vec::new();
    for range in over {
        // Word by word, an odd byte at the end by itself.
        for start in range.clone().step_by(2).filter(|start| start != place) {
            let word = start..range.end.min(start + 2);
            if word.clone().any(|at| changes.0[at]) {
                match changing.last_mut() {
                    Some(last) if last.end == start && last.len() == 2 => last.end = word.end,
                    _ => changing.push(word),
                }
            } else {
                let second = word.clone().nth(1).map_or(0, |at| frame[at]);
                constant += u64::from(u16::from_ne_bytes([frame[start], second]));
            }
        }
    }
    a.set_u64(R1, constant);
    for (at, size) in pieces(&changing) {
        a.load(size, R2, R6, at as i16);
        if size == Size::U8 && cfg!(target_endian = "big") {
            a.alu(Alu::ShiftLeft, R2, 8);
        }
        a.alu(Alu::Add, R1, R2);
    }
    // Below 2⁴⁰: after the first fold below 2³², then 2¹⁷, then at most 2¹⁶.
    for _ in 0..4 {
        a.set(R2, R1);
        a.alu(Alu::ShiftRight, R2, 16);
        a.alu(Alu::And, R1, 0xffff);
        a.alu(Alu::Add, R1, R2);
    }
    a.alu(Alu::Xor, R1, 0xffff);
    if *never_zero {
        let not_zero = a.label();
        a.jump_if(R1, If::NotEqual, 0, not_zero);
        a.set(R1, 0xffff);
        a.bind(not_zero);
    }
    a.store(Size::U16, R6, *place as i16, R1);
}
