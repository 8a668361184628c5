//! ARP packets (RFC 826), as frames, and the neighbours typed in `/ip arp`.

use super::menu::ARP;
use super::neighbour::{Neighbours, Status, Waiting};
use crate::interface::InterfaceId;
use crate::program::Program;
use config::{Tree, Value};
use port::{Frame, Pool};
use std::collections::{HashMap, VecDeque};
use wire::MacAddr;
use wire::arp::{ArpMessage, LEN};
use wire::layers::ETHERTYPE_ARP;

/// A frame that carries `message` from `src` to `dst`, padded to 60 bytes. `None` when the pool is
/// empty.
pub fn frame(pool: &mut Pool, message: ArpMessage, src: MacAddr, dst: MacAddr) -> Option<Frame> {
    let mut frame = pool.alloc(60)?;
    let bytes = pool.slab().bytes_mut(&mut frame);
    bytes[..6].copy_from_slice(&dst.0);
    bytes[6..12].copy_from_slice(&src.0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_ARP.to_be_bytes());
    bytes[14..14 + LEN].copy_from_slice(&message.to_bytes());
    bytes[14 + LEN..].fill(0);
    Some(frame)
}

/// The neighbours typed in `/ip arp`, on interfaces that are enabled.
pub(crate) type Typed = HashMap<(InterfaceId, u32), MacAddr>;

/// Reads the neighbours that are to be entered for good.
pub(crate) fn typed(tree: &Tree, program: &Program) -> Typed {
    let typed = tree.read(&ARP).filter(|item| !item.bool("disabled")).filter_map(|item| {
        let interface = program.names.find(&item.text("interface"))?;
        match (&*item.value("address"), &*item.value("mac-address")) {
            (&Value::Address(address), &Value::Mac(mac)) => {
                Some(((interface, u32::from(address)), mac))
            }
            _ => None,
        }
    });
    typed.filter(|&((at, _), _)| program.is_enabled(at)).collect()
}

/// Brings the neighbours in line with a new configuration: those typed are entered for good, those
/// no longer typed go, and so do learnt ones whose link is down. Returns the frames that waited for
/// one that went.
pub(crate) fn configure(
    neighbours: &mut Neighbours,
    typed: &Typed,
    program: &Program,
) -> VecDeque<Waiting> {
    let orphans = neighbours.retain(|neighbour, status| {
        let own = program.interface(neighbour.interface);
        if status == Status::OtherEnd {
            return own.running && program.is_point_to_point(own.id);
        }
        let is_typed = typed.contains_key(&(neighbour.interface, neighbour.address));
        let is_there = if is_typed { own.enabled } else { own.running };
        is_there && is_typed == (status == Status::Permanent)
    });
    for (&(interface, address), &mac) in typed {
        neighbours.set_permanent(interface, address, mac);
    }
    orphans
}
