//! The program that makes the frames: one run for every page the kernel offers.
//!
//! ```text
//!  done? ─► clock ─► due? ─► end? ─► which stream ─► write its frame ─► when is the next due ─► out
//!    └────────────────┴───────┴─► drop: the page goes back, nothing happened
//! ```
//!
//! R6 is the frame and at last its device, R7 the shared state, R8 the time, R9 the context; the others are lost at calls.

use super::plan::{Edit, Plan};
use super::word;
use super::write::write;
use crate::linux::Unavailable;
use crate::linux::bpf::assembler::{Alu, Assembler, If, Instruction, Label, Register::*, Size};
use crate::linux::bpf::map::Kind;
use crate::linux::bpf::{Map, SharedArray, action, helper};
use std::io;

/// What the program looks up: all in the one value of one map.
pub(super) struct Tables {
    bytes: Vec<u8>,
    /// Where the round of streams stands, and how long it is.
    round: (usize, usize),
    /// By stream: where the part of its frame stands that is too long for the code.
    pub(super) rest: Vec<usize>,
    /// By stream and edit: where its values stand.
    pub(super) values: Vec<Vec<usize>>,
}

/// Bytes of a frame that are written by instructions; what follows is copied by the kernel.
pub(super) const IN_CODE: usize = 128;

impl Tables {
    pub(super) fn of(plan: &Plan) -> Tables {
        let mut bytes = Vec::new();
        let mut enter = |entry: &[u8]| {
            let at = bytes.len();
            bytes.extend_from_slice(entry);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            at
        };
        let round = plan.round();
        let round = if plan.streams().len() > 1 { (enter(&round), round.len()) } else { (0, 1) };
        let rest = |frame: &Vec<u8>, enter: &mut dyn FnMut(&[u8]) -> usize| {
            frame.get(IN_CODE..).map_or(0, enter)
        };
        let rest = plan.streams().iter().map(|s| rest(&s.frame, &mut enter)).collect();
        let mut values_of = |edit: &Edit| {
            let Edit::Values { bytes, values, .. } = edit else { return 0 };
            let mut padded = Vec::with_capacity(values.len() / bytes * bytes.next_multiple_of(8));
            for value in values.chunks(*bytes) {
                padded.extend_from_slice(value);
                padded.resize(padded.len().next_multiple_of(8), 0);
            }
            enter(&padded)
        };
        let values =
            plan.streams().iter().map(|s| s.edits.iter().map(&mut values_of).collect()).collect();
        Tables { bytes, round, rest, values }
    }

    /// In the kernel; `None` if there is nothing to look up.
    pub(super) fn load(&self) -> Result<Option<Map>, Unavailable> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let map = Map::new(Kind::Array, "tables", 4, self.bytes.len(), 1)?;
        map.update(&[0; 4], &self.bytes)?;
        Ok(Some(map))
    }
}

/// Offset of a word of the state in bytes.
pub(super) const fn at(word: usize) -> i16 {
    (word * 8) as i16
}

pub(super) fn assemble(
    plan: &Plan,
    state: &SharedArray,
    device: &Map,
    tables_map: Option<&Map>,
    tables: &Tables,
) -> Result<Vec<Instruction>, Unavailable> {
    let mut a = Assembler::new();
    let (drop, done, send) = (a.label(), a.label(), a.label());
    a.set(R9, R1);
    a.address(R7, state.map(), 0);
    is_one_due(&mut a, drop, done);
    let blocks: Vec<Label> = plan.streams().iter().map(|_| a.label()).collect();
    if blocks.len() > 1 {
        whose_turn(&mut a, tables_map.expect("a round is in the tables"), tables.round);
        choose(&mut a, &blocks, 0, drop);
    }
    for (i, (stream, block)) in plan.streams().iter().zip(blocks).enumerate() {
        a.bind(block);
        let spare = plan.longest() - stream.frame.len();
        let places = (tables.rest[i], tables.values[i].as_slice());
        write(&mut a, stream, word::STREAMS + i, spare, tables_map, places, drop);
        a.set(R6, stream.out as i32);
        a.jump(send);
    }
    a.bind(send);
    next_due(&mut a);
    out(&mut a, device);
    a.bind(done);
    a.store(Size::U64, R7, at(word::DONE), 1);
    a.bind(drop);
    a.set(R0, action::DROP);
    a.exit();
    if a.len() > Assembler::REACH {
        let error = io::Error::other(format!("{} instructions are too many", a.len()));
        let unavailable = Unavailable::because("assemble the generator", error);
        return Err(unavailable.remedy("use fewer streams, or fewer edits in each"));
    }
    Ok(a.finish())
}

/// Goes on if a frame is due, with the time in R8.
fn is_one_due(a: &mut Assembler, drop: Label, done: Label) {
    let load = |a: &mut Assembler, register, word| a.load(Size::U64, register, R7, at(word));
    load(a, R1, word::DONE);
    a.jump_if(R1, If::NotEqual, 0, drop);
    a.call(helper::KTIME_GET_NS);
    a.set(R8, R0);
    load(a, R1, word::END_NOW);
    a.jump_if(R8, If::AtLeast, R1, done);
    load(a, R2, word::MADE);
    load(a, R1, word::AT_MOST);
    a.jump_if(R2, If::AtLeast, R1, done);
    load(a, R3, word::DUE);
    load(a, R1, word::END_DUE);
    a.jump_if(R3, If::AtLeast, R1, done);
    a.jump_if(R8, If::Less, R3, drop);
    // So much too late.
    let in_time = a.label();
    a.set(R1, R8);
    a.alu(Alu::Sub, R1, R3);
    load(a, R3, word::LATE_NS_MAX);
    a.jump_if(R1, If::AtMost, R3, in_time);
    a.store(Size::U64, R7, at(word::LATE_NS_MAX), R1);
    a.bind(in_time);
}

/// Leaves the number of the stream in R1, and steps on in the round.
fn whose_turn(a: &mut Assembler, tables: &Map, (round, len): (usize, usize)) {
    let (within, not_last) = (a.label(), a.label());
    a.load(Size::U64, R2, R7, at(word::SLOT));
    a.jump_if(R2, If::Less, len as i32, within);
    a.set(R2, 0);
    a.bind(within);
    a.address(R1, tables, round);
    a.alu(Alu::Add, R1, R2);
    a.load(Size::U8, R1, R1, 0);
    a.alu(Alu::Add, R2, 1);
    a.jump_if(R2, If::Less, len as i32, not_last);
    a.set(R2, 0);
    a.bind(not_last);
    a.store(Size::U64, R7, at(word::SLOT), R2);
}

/// Jumps to the block of the stream in R1, halving the choice at each step.
fn choose(a: &mut Assembler, blocks: &[Label], first: i32, none: Label) {
    match blocks {
        [] => a.jump(none),
        [only] => a.jump(*only),
        _ => {
            let (lower, upper) = blocks.split_at(blocks.len() / 2);
            let above = a.label();
            let middle = first + lower.len() as i32;
            a.jump_if(R1, If::AtLeast, middle, above);
            choose(a, lower, first, none);
            a.bind(above);
            choose(a, upper, middle, none);
        }
    }
}

/// One step of the schedule, in whole numbers: no drift.
fn next_due(a: &mut Assembler) {
    let (no_carry, last, not_last) = (a.label(), a.label(), a.label());
    a.load(Size::U64, R1, R7, at(word::DUE));
    a.load(Size::U64, R2, R7, at(word::STEP));
    a.alu(Alu::Add, R1, R2);
    a.load(Size::U64, R3, R7, at(word::FRACTION));
    a.load(Size::U64, R2, R7, at(word::STEP_FRACTION));
    a.alu(Alu::Add, R3, R2);
    a.load(Size::U64, R2, R7, at(word::PER));
    a.jump_if(R3, If::Less, R2, no_carry);
    a.alu(Alu::Sub, R3, R2);
    a.alu(Alu::Add, R1, 1);
    a.bind(no_carry);
    a.store(Size::U64, R7, at(word::DUE), R1);
    a.store(Size::U64, R7, at(word::FRACTION), R3);
    a.load(Size::U64, R1, R7, at(word::MADE));
    a.alu(Alu::Add, R1, 1);
    a.store(Size::U64, R7, at(word::MADE), R1);
    a.store(Size::U64, R7, at(word::LAST), R8);
    // Said now, so that who watches the device knows it when the last frame has gone.
    a.load(Size::U64, R2, R7, at(word::AT_MOST));
    a.jump_if(R1, If::AtLeast, R2, last);
    a.load(Size::U64, R1, R7, at(word::DUE));
    a.load(Size::U64, R2, R7, at(word::END_DUE));
    a.jump_if(R1, If::Less, R2, not_last);
    a.bind(last);
    a.store(Size::U64, R7, at(word::DONE), 1);
    a.bind(not_last);
}

/// To the queue of the device in R6. A device that is gone has refused it.
fn out(a: &mut Assembler, device: &Map) {
    let sent = a.label();
    a.call(helper::GET_SMP_PROCESSOR_ID);
    a.store(Size::U64, R7, at(word::CPU), R0);
    a.load(Size::U64, R8, R7, at(word::PENDING));
    a.alu(Alu::Add, R8, 1);
    a.store(Size::U64, R7, at(word::PENDING), R8);
    a.map(R1, device);
    a.set(R2, R6);
    a.set(R3, action::DROP);
    a.call(helper::REDIRECT_MAP);
    a.jump_if(R0, If::Equal, action::REDIRECT, sent);
    a.alu(Alu::Sub, R8, 1);
    a.store(Size::U64, R7, at(word::PENDING), R8);
    a.load(Size::U64, R1, R7, at(word::REFUSED));
    a.alu(Alu::Add, R1, 1);
    a.store(Size::U64, R7, at(word::REFUSED), R1);
    a.store(Size::U64, R7, at(word::ERROR), -libc::ENODEV);
    a.bind(sent);
    a.exit();
}
