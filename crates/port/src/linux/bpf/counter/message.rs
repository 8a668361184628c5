//! Messages of devices about test frames, in the program that counts: an ICMP error quotes the packet that it
//! is about, a short one whole, and so ends as a test frame ends.
//!
//! ```text
//!  Ethernet ─► tag? ─► tag? ─┬─ IPv4 ─► ICMP 3, 4, 5, 11, 12 ─► an IPv4 header behind ─┐
//!                            └─ IPv6 ─► ICMPv6 1 to 4 ────────► an IPv6 header behind ─┴─► foreign
//!                               all else ─► on
//! ```
//!
//! The same as `measure`'s receiver asks, where it asks it: of frames that are not what was expected.
//! Missing: **ARP**, whose end the program would have to know by chance as a stream and a time of this
//! trial; **more than two tags**; **IPv6 extension headers**.

use super::program::{DATA, DATA_END};
use crate::linux::bpf::assembler::{Alu, Assembler, If, Label, Register::*, Size};

const ETHERNET: i16 = 14;
/// Of the ICMP header, in front of what is quoted.
const ICMP: i16 = 8;

/// Goes to `is_one` with an ICMP error that quotes a packet, else on. The context is at `context` of the
/// stack; R1 to R5 are lost.
pub(super) fn is_error(a: &mut Assembler, context: i16, is_one: Label) {
    let (v4, v6, quotes_v4, other) = (a.label(), a.label(), a.label(), a.label());
    a.load(Size::U64, R1, R10, context);
    a.load(Size::U32, R2, R1, DATA);
    a.load(Size::U32, R3, R1, DATA_END);
    for tags in 0..3 {
        // An IPv4 header without options, and what it must quote: an error is no shorter.
        reaches(a, ETHERNET + 20 + ICMP + 1, other);
        a.load(Size::U16, R4, R2, 12);
        a.jump_if(R4, If::Equal, on_the_wire(0x0800), v4);
        a.jump_if(R4, If::Equal, on_the_wire(0x86dd), v6);
        if tags < 2 {
            let tagged = a.label();
            a.jump_if(R4, If::Equal, on_the_wire(0x8100), tagged);
            a.jump_if(R4, If::NotEqual, on_the_wire(0x88a8), other);
            a.bind(tagged);
            a.alu(Alu::Add, R2, 4);
        }
    }
    a.jump(other);

    a.bind(v4);
    half_is(a, ETHERNET, 4, other);
    a.load(Size::U8, R4, R2, ETHERNET + 9);
    a.jump_if(R4, If::NotEqual, 1, other);
    // Behind the options, if there are any.
    a.load(Size::U8, R4, R2, ETHERNET);
    a.alu(Alu::And, R4, 0xf);
    a.alu(Alu::ShiftLeft, R4, 2);
    a.alu(Alu::Add, R2, R4);
    reaches(a, ETHERNET + ICMP + 1, other);
    a.load(Size::U8, R4, R2, ETHERNET);
    for kind in [3, 4, 5, 11, 12] {
        a.jump_if(R4, If::Equal, kind, quotes_v4);
    }
    a.jump(other);
    a.bind(quotes_v4);
    half_is(a, ETHERNET + ICMP, 4, other);
    a.load(Size::U8, R4, R2, ETHERNET + ICMP);
    a.alu(Alu::And, R4, 0xf);
    a.jump_if(R4, If::AtLeast, 5, is_one);
    a.jump(other);

    a.bind(v6);
    reaches(a, ETHERNET + 40 + ICMP + 1, other);
    half_is(a, ETHERNET, 6, other);
    a.load(Size::U8, R4, R2, ETHERNET + 6);
    a.jump_if(R4, If::NotEqual, 58, other);
    a.load(Size::U8, R4, R2, ETHERNET + 40);
    a.jump_if(R4, If::Equal, 0, other);
    a.jump_if(R4, If::Greater, 4, other);
    half_is(a, ETHERNET + 40 + ICMP, 6, other);
    a.jump(is_one);
    a.bind(other);
}

/// A word of 16 bits as it is read from a frame.
fn on_the_wire(word: u16) -> i32 {
    i32::from(word.to_be())
}

/// Goes on if the frame has so many bytes from R2 on.
fn reaches(a: &mut Assembler, bytes: i16, other: Label) {
    a.set(R5, R2);
    a.alu(Alu::Add, R5, i32::from(bytes));
    a.jump_if(R5, If::Greater, R3, other);
}

/// Goes on if the first half of a byte is this: an IP version.
fn half_is(a: &mut Assembler, at: i16, version: i32, other: Label) {
    a.load(Size::U8, R4, R2, at);
    a.alu(Alu::ShiftRight, R4, 4);
    a.jump_if(R4, If::NotEqual, version, other);
}
