//! An assembler for BPF: a call for each instruction, labels for jumps.
//!
//! ```text
//!  a.load(U32, R2, R1, 16)              r2 = *(u32 *)(r1 + 16)
//!  a.alu(Add, R2, 7); a.alu(Xor, R2, R3)  r2 += 7; r2 ^= r3
//!  a.jump_if(R2, Less, 64, small)       if r2 < 64 goto small
//!  a.bind(small); a.exit()              small: exit
//! ```
//!
//! R0 is what calls and the program return, R1 to R5 are arguments and lost in calls, R6 to R9 stay,
//! R10 is the end of 512 bytes of stack. The encoding is that of RFC 9669. Numbers in frames are
//! big-endian, memory is the machine's: [`Assembler::big_endian`] turns one into the other.
//!
//! Never checks what a program does: that is the kernel's verifier.

use super::Map;
use std::os::fd::AsRawFd;

/// One instruction, as the kernel takes it (RFC 9669 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    opcode: u8,
    /// Source in the upper half, destination in the lower (on a little-endian machine).
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// One of the eleven registers of 64 bits.
#[allow(missing_docs)] // they have no more to say
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// How much a load or store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A byte.
    U8 = 0x10,
    /// Two bytes.
    U16 = 0x08,
    /// Four bytes.
    U32 = 0x00,
    /// Eight bytes.
    U64 = 0x18,
}

/// What is done to a register, in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// `+=`
    Add = 0x00,
    /// `-=`
    Sub = 0x10,
    /// `*=`
    Mul = 0x20,
    /// `/=`, unsigned; by zero is zero.
    Div = 0x30,
    /// `|=`
    Or = 0x40,
    /// `&=`
    And = 0x50,
    /// `<<=`
    ShiftLeft = 0x60,
    /// `>>=`, unsigned.
    ShiftRight = 0x70,
    /// `%=`, unsigned; by zero changes nothing.
    Mod = 0x90,
    /// `^=`
    Xor = 0xa0,
    /// `=`
    Set = 0xb0,
}

/// When a jump is taken; all unsigned, in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum If {
    /// `==`
    Equal = 0x10,
    /// `>`
    Greater = 0x20,
    /// `>=`
    AtLeast = 0x30,
    /// `&`: they have a bit in common.
    AnyOf = 0x40,
    /// `!=`
    NotEqual = 0x50,
    /// `<`
    Less = 0xa0,
    /// `<=`
    AtMost = 0xb0,
}

/// The second operand: a register, or a number of 32 bits, which is sign-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A number.
    Number(i32),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Operand {
        Operand::Register(register)
    }
}

impl From<i32> for Operand {
    fn from(number: i32) -> Operand {
        Operand::Number(number)
    }
}

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// A program being written.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<Instruction>,
    /// By label: where it stands, once that is known.
    labels: Vec<Option<usize>>,
    /// Jumps, by their place, and the labels they go to.
    jumps: Vec<(usize, Label)>,
}

const LOAD: u8 = 0x61;
const STORE_NUMBER: u8 = 0x62;
const STORE: u8 = 0x63;
const ALU64: u8 = 0x07;
const JUMP: u8 = 0x05;
const FROM_REGISTER: u8 = 0x08;
const LOAD_IMMEDIATE_64: u8 = 0x18;
const ATOMIC_U64: u8 = 0xdb;
const TO_BIG_ENDIAN: u8 = 0xdc;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// What the source register says in a load of 64 immediate bits: it is the descriptor of a map …
const PSEUDO_MAP: u8 = 1;
/// … or that, and an offset in the map's only value.
const PSEUDO_MAP_VALUE: u8 = 2;

impl Assembler {
    /// An empty program.
    pub fn new() -> Assembler {
        Assembler::default()
    }

    /// A label to be [bound](Self::bind) to a place later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label stands here: before the next instruction.
    ///
    /// # Panics
    /// If it stands elsewhere already.
    pub fn bind(&mut self, label: Label) {
        let here = self.code.len();
        let before = self.labels[label.0].replace(here);
        assert!(before.is_none(), "{label:?} is bound at {before:?} and {here}");
    }

    /// `to = *(size *)(at + offset)`; the upper bits become zero.
    pub fn load(&mut self, size: Size, to: Register, at: Register, offset: i16) {
        self.push(LOAD | size as u8, to, at as u8, offset, 0);
    }

    /// `*(size *)(at + offset) = from`: a register's lower bits, or a number's.
    pub fn store(&mut self, size: Size, at: Register, offset: i16, from: impl Into<Operand>) {
        match from.into() {
            Operand::Register(from) => self.push(STORE | size as u8, at, from as u8, offset, 0),
            Operand::Number(n) => self.push(STORE_NUMBER | size as u8, at, 0, offset, n),
        }
    }

    /// `*(u64 *)(at + offset) += from`, whole even against other processors.
    pub fn atomic_add(&mut self, at: Register, offset: i16, from: Register) {
        self.push(ATOMIC_U64, at, from as u8, offset, 0);
    }

    /// `to = to (what) operand`.
    pub fn alu(&mut self, what: Alu, to: Register, operand: impl Into<Operand>) {
        match operand.into() {
            Operand::Register(r) => {
                self.push(ALU64 | FROM_REGISTER | what as u8, to, r as u8, 0, 0);
            }
            Operand::Number(n) => self.push(ALU64 | what as u8, to, 0, 0, n),
        }
    }

    /// `to = operand`.
    pub fn set(&mut self, to: Register, operand: impl Into<Operand>) {
        self.alu(Alu::Set, to, operand);
    }

    /// `to = number`, all 64 bits; one instruction if 32 say it.
    pub fn set_u64(&mut self, to: Register, number: u64) {
        match i32::try_from(number as i64) {
            Ok(short) => self.set(to, short),
            Err(_) => self.wide(to, 0, number as i32, (number >> 32) as i32),
        }
    }

    /// `to = the map`, as helpers take it.
    pub fn map(&mut self, to: Register, map: &Map) {
        self.wide(to, PSEUDO_MAP, map.as_raw_fd(), 0);
    }

    /// `to = &value + offset`, of a map that is an array of one value.
    pub fn address(&mut self, to: Register, map: &Map, offset: usize) {
        self.wide(to, PSEUDO_MAP_VALUE, map.as_raw_fd(), offset as i32);
    }

    /// The lower `bits` (16, 32 or 64) between the machine's order and the network's; the others
    /// become zero.
    pub fn big_endian(&mut self, register: Register, bits: i32) {
        self.push(TO_BIG_ENDIAN, register, 0, 0, bits);
    }

    /// `goto label`
    pub fn jump(&mut self, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(JUMP, Register::R0, 0, 0, 0);
    }

    /// `if left (condition) right goto label`
    pub fn jump_if(
        &mut self,
        left: Register,
        condition: If,
        right: impl Into<Operand>,
        label: Label,
    ) {
        self.jumps.push((self.code.len(), label));
        let opcode = JUMP | condition as u8;
        match right.into() {
            Operand::Register(right) => {
                self.push(opcode | FROM_REGISTER, left, right as u8, 0, 0);
            }
            Operand::Number(n) => self.push(opcode, left, 0, 0, n),
        }
    }

    /// Calls a [`helper`](super::helper).
    pub fn call(&mut self, helper: i32) {
        self.push(CALL, Register::R0, 0, 0, helper);
    }

    /// Returns R0.
    pub fn exit(&mut self) {
        self.push(EXIT, Register::R0, 0, 0, 0);
    }

    /// How many instructions, as jumps count them, a jump reaches over.
    pub const REACH: usize = i16::MAX as usize;

    /// How many instructions there are so far.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// The instructions, jumps resolved.
    ///
    /// # Panics
    /// If a jump goes to a label that was never bound, or further than 32,767 instructions.
    pub fn finish(mut self) -> Vec<Instruction> {
        for (from, label) in self.jumps {
            let to = self.labels[label.0];
            let to = to.unwrap_or_else(|| panic!("{label:?}, jumped to from {from}, is nowhere"));
            let distance = to as i64 - (from as i64 + 1);
            self.code[from].offset = i16::try_from(distance)
                .unwrap_or_else(|_| panic!("a jump over {distance} instructions at {from}"));
        }
        self.code
    }

    /// A load of 64 immediate bits: two slots.
    fn wide(&mut self, to: Register, source: u8, low: i32, high: i32) {
        self.push(LOAD_IMMEDIATE_64, to, source, 0, low);
        self.push(0, Register::R0, 0, 0, high);
    }

    fn push(&mut self, opcode: u8, to: Register, from: u8, offset: i16, immediate: i32) {
        let registers = match cfg!(target_endian = "little") {
            true => from << 4 | to as u8,
            false => (to as u8) << 4 | from,
        };
        self.code.push(Instruction { opcode, registers, offset, immediate });
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::Register::*;
    use super::*;

    fn bytes(write: impl FnOnce(&mut Assembler)) -> String {
        let mut a = Assembler::new();
        write(&mut a);
        let hex = |i: &Instruction| {
            let [o0, o1] = i.offset.to_le_bytes();
            let [n0, n1, n2, n3] = i.immediate.to_le_bytes();
            let all = [i.opcode, i.registers, o0, o1, n0, n1, n2, n3];
            all.map(|byte| format!("{byte:02x}")).concat()
        };
        a.finish().iter().map(hex).collect::<Vec<_>>().join(" ")
    }

    /// As LLVM's assembler has them (`llvm-mc -triple bpfel`).
    #[test]
    fn encodings() {
        let check = |name: &str, expected: &str, write: &dyn Fn(&mut Assembler)| {
            assert_eq!(bytes(write), expected, "{name}");
        };
        check("r2 = *(u32 *)(r1 + 16)", "6112100000000000", &|a| a.load(Size::U32, R2, R1, 16));
        check("r3 = *(u8 *)(r6 - 1)", "7163ffff00000000", &|a| a.load(Size::U8, R3, R6, -1));
        check("r3 = *(u16 *)(r6 + 2)", "6963020000000000", &|a| a.load(Size::U16, R3, R6, 2));
        check("r0 = *(u64 *)(r10 - 8)", "79a0f8ff00000000", &|a| a.load(Size::U64, R0, R10, -8));
        check("*(u64 *)(r10 - 8) = r1", "7b1af8ff00000000", &|a| a.store(Size::U64, R10, -8, R1));
        check("*(u16 *)(r7 + 0) = r5", "6b57000000000000", &|a| a.store(Size::U16, R7, 0, R5));
        check("*(u8 *)(r7 + 4) = 9", "7207040009000000", &|a| a.store(Size::U8, R7, 4, 9));
        check("*(u32 *)(r7 + 4) = -1", "62070400ffffffff", &|a| a.store(Size::U32, R7, 4, -1));
        check("lock *(u64 *)(r1 + 8) += r2", "db21080000000000", &|a| a.atomic_add(R1, 8, R2));
        check("r1 += 7", "0701000007000000", &|a| a.alu(Alu::Add, R1, 7));
        check("r1 -= r2", "1f21000000000000", &|a| a.alu(Alu::Sub, R1, R2));
        check("r4 %= 10", "970400000a000000", &|a| a.alu(Alu::Mod, R4, 10));
        check("r4 ^= r0", "af04000000000000", &|a| a.alu(Alu::Xor, R4, R0));
        check("r4 >>= 32", "7704000020000000", &|a| a.alu(Alu::ShiftRight, R4, 32));
        check("r9 = r1", "bf19000000000000", &|a| a.set(R9, R1));
        check("r3 = 2", "b703000002000000", &|a| a.set_u64(R3, 2));
        check("r3 = -1", "b7030000ffffffff", &|a| a.set_u64(R3, u64::MAX));
        check("r3 = 0x80000000 ll", "1803000000000080 0000000000000000", &|a| {
            a.set_u64(R3, 0x8000_0000);
        });
        check("r3 = be16 r3", "dc03000010000000", &|a| a.big_endian(R3, 16));
        check("call 51", "8500000033000000", &|a| a.call(51));
        check("exit", "9500000000000000", &|a| a.exit());
    }

    #[test]
    fn jumps() {
        let code = bytes(|a| {
            let (back, end) = (a.label(), a.label());
            a.bind(back);
            a.jump_if(R1, If::Equal, 0, end); // +3
            a.alu(Alu::Sub, R1, 1);
            a.jump_if(R1, If::Less, R2, back); // -3
            a.jump(end); // +0
            a.bind(end);
            a.exit();
        });
        let expected = "1501030000000000 1701000001000000 ad21fdff00000000 \
                        0500000000000000 9500000000000000";
        assert_eq!(code, expected);
    }

    #[test]
    #[should_panic(expected = "is nowhere")]
    fn a_label_without_a_place() {
        let mut a = Assembler::new();
        let label = a.label();
        a.jump(label);
        a.finish();
    }
}
