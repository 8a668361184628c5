//! MNDP: MikroTik's neighbour discovery, a UDP payload from port 5678 to port 5678 of everybody.
//!
//! ```text
//! | 0 2 | sequence 2 | type 2 │ length 2 │ value … | … |        uptime: little endian
//! | 0 0 0 0 |                                                 a question: speak now
//! ```

use super::{Told, be16, text};
use crate::MacAddr;

/// Both ports.
pub const PORT: u16 = 5678;
/// Seconds for which what was said holds: three times a minute.
pub const TTL: u16 = 180;

const MAC: u16 = 1;
const IDENTITY: u16 = 5;
const VERSION: u16 = 7;
const PLATFORM: u16 = 8;
const UPTIME: u16 = 10;
const BOARD: u16 = 12;
const UNPACK: u16 = 14;
const IPV6: u16 = 15;
const INTERFACE: u16 = 16;
const IPV4: u16 = 17;

/// Whether a payload asks everybody to speak.
pub fn is_question(payload: &[u8]) -> bool {
    payload == [0; 4]
}

/// Writes a payload.
pub fn write(told: &Told, sequence: u16) -> Vec<u8> {
    let mut bytes = vec![0, 0];
    bytes.extend(sequence.to_be_bytes());
    let mut put = |kind: u16, value: &[u8]| {
        bytes.extend(kind.to_be_bytes());
        bytes.extend((value.len() as u16).to_be_bytes());
        bytes.extend(value);
    };
    put(MAC, &told.mac.0);
    put(IDENTITY, told.identity.as_bytes());
    put(VERSION, told.version.as_bytes());
    put(PLATFORM, told.platform.as_bytes());
    told.uptime.inspect(|uptime| put(UPTIME, &uptime.to_le_bytes()));
    put(BOARD, told.board.as_bytes());
    put(UNPACK, &[1]);
    told.address6.inspect(|address| put(IPV6, &address.to_be_bytes()));
    put(INTERFACE, told.interface.as_bytes());
    told.address.inspect(|address| put(IPV4, &address.to_be_bytes()));
    bytes
}

/// Reads a payload; `None` if it is none, or says nothing of who it is from.
pub fn read(payload: &[u8]) -> Option<Told> {
    let mut told = Told { routes: true, ttl: TTL, ..Told::default() };
    let mut rest = payload.get(4..)?;
    let mut is_from = None;
    while !rest.is_empty() {
        let (kind, after) = be16(rest)?;
        let (len, after) = be16(after)?;
        let (value, after) = after.split_at_checked(len.into())?;
        rest = after;
        match kind {
            MAC => is_from = Some(MacAddr(value.try_into().ok()?)),
            IDENTITY => told.identity = text(value),
            VERSION => told.version = text(value),
            PLATFORM => told.platform = text(value),
            UPTIME => told.uptime = Some(u32::from_le_bytes(value.try_into().ok()?)),
            BOARD => told.board = text(value),
            IPV6 => told.address6 = Some(u128::from_be_bytes(value.try_into().ok()?)),
            INTERFACE => told.interface = text(value),
            IPV4 => told.address = Some(u32::from_be_bytes(value.try_into().ok()?)),
            _ => {}
        }
    }
    is_from.map(|mac| Told { mac, ..told })
}
