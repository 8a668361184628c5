//! CDP, versions 1 and 2: what stands behind the two MAC addresses.
//!
//! ```text
//! | length 2 | AA AA 03 00 00 0C 20 00 | version 1 | ttl 1 | checksum 2 | type 2 │ length 2 │ value … |
//!                                                                               └ with these four bytes
//! ```

use super::{Told, be16, text};
use crate::{MacAddr, checksum};

/// Where it goes.
pub const GROUP: MacAddr = MacAddr([0x01, 0, 0x0c, 0xcc, 0xcc, 0xcc]);

const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0];
const DEVICE: u16 = 1;
const ADDRESSES: u16 = 2;
const PORT: u16 = 3;
const CAPABILITIES: u16 = 4;
const VERSION: u16 = 5;
const PLATFORM: u16 = 6;
const ROUTER: u32 = 1;
const BRIDGE: u32 = 2;

/// Whether a frame's bytes behind its addresses are CDP's.
pub fn is_cdp(bytes: &[u8]) -> bool {
    bytes.get(2..10) == Some(&SNAP)
}

/// Writes it.
pub fn write(told: &Told) -> Vec<u8> {
    let ttl = u8::try_from(told.ttl).unwrap_or(u8::MAX);
    let mut body = vec![1, ttl, 0, 0];
    let mut put = |kind: u16, value: &[u8]| {
        body.extend(kind.to_be_bytes());
        body.extend((value.len() as u16 + 4).to_be_bytes());
        body.extend(value);
    };
    put(DEVICE, told.identity.as_bytes());
    if let Some(address) = told.address {
        // One address, of network layer protocol 0xcc: IPv4.
        put(ADDRESSES, &[&[0, 0, 0, 1, 1, 1, 0xcc, 0, 4][..], &address.to_be_bytes()].concat());
    }
    put(PORT, told.interface.as_bytes());
    let all = [(told.routes, ROUTER), (told.bridges, BRIDGE)];
    let can: u32 = all.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum();
    put(CAPABILITIES, &can.to_be_bytes());
    put(PLATFORM, format!("{} {}", told.platform, told.board).as_bytes());
    // Who computes the checksum of an odd number of bytes does not agree with everybody.
    let fill = if body.len() % 2 == told.version.len() % 2 { "" } else { " " };
    let mut put = |kind: u16, value: &[u8]| {
        body.extend(kind.to_be_bytes());
        body.extend((value.len() as u16 + 4).to_be_bytes());
        body.extend(value);
    };
    put(VERSION, format!("{}{fill}", told.version).as_bytes());
    let sum = checksum::of(&body);
    body[2..4].copy_from_slice(&sum.to_be_bytes());
    let len = (SNAP.len() + body.len()) as u16;
    [&len.to_be_bytes()[..], &SNAP, &body].concat()
}

/// Reads it; `None` if it is damaged. It does not say its MAC address.
pub fn read(bytes: &[u8]) -> Option<Told> {
    let (len, rest) = be16(bytes)?;
    let body = rest.get(..len.into())?.strip_prefix(&SNAP)?;
    let [1 | 2, ttl, _, _, ..] = *body else { return None };
    if body.len() % 2 == 0 && !checksum::is_ok(body) {
        return None;
    }
    let (mut told, mut rest) = (Told { ttl: ttl.into(), ..Told::default() }, &body[4..]);
    while !rest.is_empty() {
        let (kind, after) = be16(rest)?;
        let (len, after) = be16(after)?;
        let (value, after) = after.split_at_checked(usize::from(len).checked_sub(4)?)?;
        rest = after;
        match kind {
            DEVICE => told.identity = text(value),
            ADDRESSES => {
                let first = value.get(4..13)?.strip_prefix(&[1, 1, 0xcc, 0, 4]);
                told.address = first.and_then(|own| own.try_into().ok()).map(u32::from_be_bytes);
            }
            PORT => told.interface = text(value),
            CAPABILITIES => {
                let can = u32::from_be_bytes(value.try_into().ok()?);
                (told.routes, told.bridges) = (can & ROUTER != 0, can & BRIDGE != 0);
            }
            VERSION => told.version = text(value).trim_end().to_string(),
            PLATFORM => told.board = text(value),
            _ => {}
        }
    }
    told.platform = told.board.split(' ').next().unwrap_or_default().to_string();
    (!told.identity.is_empty()).then_some(told)
}
