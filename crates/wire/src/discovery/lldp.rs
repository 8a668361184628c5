//! LLDP (IEEE 802.1AB): what stands behind the Ethernet header.
//!
//! ```text
//! | type 7 bits │ length 9 bits │ value … |   chassis, port, TTL, …, end
//! ```
//!
//! **Missing**: what organizations have added (802.3, MED).

use super::{Told, be16, text};
use crate::MacAddr;

/// The EtherType.
pub const ETHERTYPE: u16 = 0x88cc;
/// Where it goes: the nearest bridge.
pub const GROUP: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x0e]);

const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TTL: u8 = 3;
const NAME: u8 = 5;
const DESCRIPTION: u8 = 6;
const CAPABILITIES: u8 = 7;
const ADDRESS: u8 = 8;
const IS_MAC: u8 = 4;
const IS_INTERFACE_NAME: u8 = 5;
const BRIDGE: u16 = 1 << 2;
const ROUTER: u16 = 1 << 4;

/// Writes it; `index` is the interface's number in the IF-MIB.
pub fn write(told: &Told, index: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |kind: u8, value: &[&[u8]]| {
        let value = value.concat();
        let len = value.len().min(511) as u16;
        bytes.extend((u16::from(kind) << 9 | len).to_be_bytes());
        bytes.extend(&value[..len.into()]);
    };
    put(CHASSIS, &[&[IS_MAC], &told.mac.0]);
    put(PORT, &[&[IS_INTERFACE_NAME], told.interface.as_bytes()]);
    put(TTL, &[&told.ttl.to_be_bytes()]);
    put(NAME, &[told.identity.as_bytes()]);
    let Told { platform, board, version, .. } = told;
    put(DESCRIPTION, &[format!("{platform} {board} {version}").as_bytes()]);
    let all = [(told.bridges, BRIDGE), (told.routes, ROUTER)];
    let enabled: u16 = all.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum();
    put(CAPABILITIES, &[&(BRIDGE | ROUTER).to_be_bytes(), &enabled.to_be_bytes()]);
    // An address's family, and the interface by its index; no object identifier.
    let mut address = |family: u8, address: &[u8]| {
        let len = address.len() as u8 + 1;
        put(ADDRESS, &[&[len, family], address, &[2], &index.to_be_bytes(), &[0]]);
    };
    told.address.inspect(|own| address(1, &own.to_be_bytes()));
    told.address6.inspect(|own| address(2, &own.to_be_bytes()));
    put(0, &[]);
    bytes
}

/// Reads it; `None` if it is damaged, or has not what it must begin with.
pub fn read(bytes: &[u8]) -> Option<Told> {
    let (mut told, mut rest, mut seen) = (Told::default(), bytes, [false; 3]);
    loop {
        let (head, after) = be16(rest)?;
        let (kind, len) = ((head >> 9) as u8, head & 0x1ff);
        let (value, after) = after.split_at_checked(len.into())?;
        rest = after;
        match kind {
            0 => break,
            CHASSIS if value.first() == Some(&IS_MAC) => {
                told.mac = MacAddr(value[1..].try_into().ok()?);
            }
            PORT => told.interface = text(value.get(1..)?),
            TTL => told.ttl = be16(value)?.0,
            NAME => told.identity = text(value),
            DESCRIPTION => told.board = text(value),
            CAPABILITIES => {
                let enabled = be16(value.get(2..)?)?.0;
                (told.bridges, told.routes) = (enabled & BRIDGE != 0, enabled & ROUTER != 0);
            }
            ADDRESS => {
                let len = usize::from(*value.first()?);
                match value.get(1..=len)?.split_first()? {
                    (1, own) => told.address = own.try_into().ok().map(u32::from_be_bytes),
                    (2, own) => told.address6 = own.try_into().ok().map(u128::from_be_bytes),
                    _ => {}
                }
            }
            _ => {}
        }
        if let Some(seen) = seen.get_mut(usize::from(kind) - 1) {
            *seen = true;
        }
    }
    told.platform = told.board.split(' ').next().unwrap_or_default().to_string();
    (seen == [true; 3]).then_some(told)
}
