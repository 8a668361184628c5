//! Fields of headers: where they are, and how people write them.
//!
//! ```text
//!  vlan.vid      bits 0 to 11 of the 2 bytes at the tag's beginning
//!  ipv4#2.dst    the second IPv4 header's destination
//!  raw.4:2       2 bytes, 4 after the raw header's beginning
//! ```
//!
//! Lengths, checksums and versions are computed: they are no fields.

use super::{BadStack, Header, Stack};
use crate::frame::FramePlan;

/// How a field's values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 7, 0x0800.
    Number,
    /// 02:00:00:00:00:01.
    Mac,
    /// 198.18.1.2.
    Ipv4,
    /// 2001:2::1.
    Ipv6,
}

/// A field in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the bytes begin that it is in.
    pub at: usize,
    /// How many they are: 1 to 16.
    pub width: usize,
    /// Bits behind it in these bytes.
    pub shift: u32,
    /// Its own.
    pub bits: u32,
    /// How it is written.
    pub form: Form,
}

impl Place {
    /// The largest value there is room for.
    pub fn largest(&self) -> u128 {
        u128::MAX >> (128 - self.bits)
    }

    /// Puts a value there.
    ///
    /// # Panics
    /// If the plan's headers end before; a place is its own stack's.
    pub fn set(&self, plan: &mut FramePlan, value: u128) {
        let bytes = &mut plan.header[self.at..self.at + self.width];
        let old = bytes.iter().fold(0u128, |all, byte| all << 8 | u128::from(*byte));
        let mask = self.largest() << self.shift;
        let new = old & !mask | value << self.shift & mask;
        bytes.copy_from_slice(&new.to_be_bytes()[16 - self.width..]);
    }

    /// What is there.
    ///
    /// # Panics
    /// See [`set`](Self::set).
    pub fn get(&self, plan: &FramePlan) -> u128 {
        let bytes = &plan.header[self.at..self.at + self.width];
        let all = bytes.iter().fold(0u128, |all, byte| all << 8 | u128::from(*byte));
        all >> self.shift & self.largest()
    }
}

/// Name, where its bytes begin in the header and how many they are, bits behind it, its own bits.
type Field = (&'static str, usize, usize, u32, u32, Form);

fn fields(header: &Header) -> &'static [Field] {
    use Form::{Ipv4, Ipv6, Mac, Number};
    match header {
        Header::Eth => {
            &[("dst", 0, 6, 0, 48, Mac), ("src", 6, 6, 0, 48, Mac), ("type", 12, 2, 0, 16, Number)]
        }
        Header::Vlan | Header::Svlan => &[
            ("pcp", 0, 2, 13, 3, Number),
            ("dei", 0, 2, 12, 1, Number),
            ("vid", 0, 2, 0, 12, Number),
            ("type", 2, 2, 0, 16, Number),
        ],
        Header::Mpls => &[
            ("label", 0, 4, 12, 20, Number),
            ("tc", 0, 4, 9, 3, Number),
            ("s", 0, 4, 8, 1, Number),
            ("ttl", 0, 4, 0, 8, Number),
        ],
        Header::Arp => &[
            ("op", 6, 2, 0, 16, Number),
            ("sha", 8, 6, 0, 48, Mac),
            ("spa", 14, 4, 0, 32, Ipv4),
            ("tha", 18, 6, 0, 48, Mac),
            ("tpa", 24, 4, 0, 32, Ipv4),
        ],
        Header::Ipv4 => &[
            ("dscp", 1, 1, 2, 6, Number),
            ("ecn", 1, 1, 0, 2, Number),
            ("id", 4, 2, 0, 16, Number),
            ("df", 6, 2, 14, 1, Number),
            ("mf", 6, 2, 13, 1, Number),
            ("fragment", 6, 2, 0, 13, Number),
            ("ttl", 8, 1, 0, 8, Number),
            ("protocol", 9, 1, 0, 8, Number),
            ("src", 12, 4, 0, 32, Ipv4),
            ("dst", 16, 4, 0, 32, Ipv4),
        ],
        Header::Ipv6 => &[
            ("traffic-class", 0, 4, 20, 8, Number),
            ("flow-label", 0, 4, 0, 20, Number),
            ("next-header", 6, 1, 0, 8, Number),
            ("hop-limit", 7, 1, 0, 8, Number),
            ("src", 8, 16, 0, 128, Ipv6),
            ("dst", 24, 16, 0, 128, Ipv6),
        ],
        Header::Icmp | Header::Icmpv6 => &[
            ("type", 0, 1, 0, 8, Number),
            ("code", 1, 1, 0, 8, Number),
            ("id", 4, 2, 0, 16, Number),
            ("seq", 6, 2, 0, 16, Number),
        ],
        Header::Udp => &[("src", 0, 2, 0, 16, Number), ("dst", 2, 2, 0, 16, Number)],
        Header::Tcp => &[
            ("src", 0, 2, 0, 16, Number),
            ("dst", 2, 2, 0, 16, Number),
            ("seq", 4, 4, 0, 32, Number),
            ("ack", 8, 4, 0, 32, Number),
            ("flags", 13, 1, 0, 8, Number),
            ("window", 14, 2, 0, 16, Number),
            ("urgent", 18, 2, 0, 16, Number),
        ],
        Header::Gre => &[("type", 2, 2, 0, 16, Number)],
        Header::Cw => &[("sequence", 2, 2, 0, 16, Number)],
        Header::Raw(_) => &[],
    }
}

impl Stack {
    /// Where a field is: `ipv4.dst`, of the second such header `ipv4#2.dst`, of raw bytes `raw.4:2`.
    ///
    /// # Errors
    /// [`BadStack`]: the stack has no such header, or the header no such field.
    pub fn place(&self, name: &str) -> Result<Place, BadStack> {
        let Some((header, field)) = name.split_once('.') else {
            return Err(BadStack::Field(name.to_string(), String::new()));
        };
        let (kind, nth) = match header.split_once('#') {
            None => (header, Some(1)),
            Some((kind, nth)) => (kind, nth.parse::<usize>().ok()),
        };
        let nth = nth.and_then(|nth| nth.checked_sub(1));
        let mut all = self.headers.iter().enumerate().filter(|(_, h)| h.name() == kind);
        let Some((index, header)) = nth.and_then(|nth| all.nth(nth)) else {
            return Err(BadStack::NotThere(header.to_string()));
        };
        let offset = self.offset(index);
        if let Header::Raw(bytes) = header {
            return raw(name, field, offset, bytes.len());
        }
        let fields = fields(header);
        let found = fields.iter().find(|(known, ..)| *known == field);
        let Some(&(_, at, width, shift, bits, form)) = found else {
            let names: Vec<String> =
                fields.iter().map(|(known, ..)| format!("{kind}.{known}")).collect();
            return Err(BadStack::Field(name.to_string(), names.join(", ")));
        };
        Ok(Place { at: offset + at, width, shift, bits, form })
    }
}

/// `4:2`: two bytes from the fifth on.
fn raw(name: &str, field: &str, offset: usize, len: usize) -> Result<Place, BadStack> {
    let (at, width) = field.split_once(':').unwrap_or((field, "1"));
    let inside = |at: &usize, width: &usize| {
        (1..=8).contains(width) && at.checked_add(*width).is_some_and(|end| end <= len)
    };
    match (at.parse::<usize>(), width.parse::<usize>()) {
        (Ok(at), Ok(width)) if inside(&at, &width) => {
            let (shift, bits) = (0, 8 * width as u32);
            Ok(Place { at: offset + at, width, shift, bits, form: Form::Number })
        }
        _ => {
            let fields = format!("raw.0:1 to raw.{}:1, up to 8 bytes at once", len - 1);
            Err(BadStack::Field(name.to_string(), fields))
        }
    }
}
