//! ARP packets (RFC 826), as frames.

use port::{Frame, Pool};
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
