//! XDP features of a link's driver, by its own word: nothing is attached to find out.
//!
//! ```text
//!  generic netlink: "netdev"? ─► family 23 ─► device 7? ─► basic, redirect, zero-copy …
//! ```
//!
//! Source: `linux/genetlink.h`, `linux/netdev.h`; Linux 6.3.

use super::message::{Message, attribute, u16_at};
use super::socket::Netlink;
use port::linux::Unavailable;

/// What a driver can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpFeatures {
    /// It runs XDP programs (native mode).
    pub native: bool,
    /// They may send frames to other interfaces and sockets.
    pub redirect: bool,
    /// Frames need not be copied for AF_XDP.
    pub zero_copy: bool,
    /// Frames of several buffers: jumbo frames.
    pub several_buffers: bool,
}

// linux/genetlink.h, linux/netdev.h.
const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const GET_DEVICE: u8 = 1;
const DEVICE_INDEX: u16 = 1;
const DEVICE_FEATURES: u16 = 3;
const BASIC: u64 = 1;
const REDIRECT: u64 = 2;
const ZERO_COPY: u64 = 8;
const RX_SG: u64 = 32;

/// `struct genlmsghdr`.
fn header(command: u8) -> [u8; 4] {
    [command, 1, 0, 0]
}

/// What the driver of the link of this number can do, in the calling thread's namespace; `None` if
/// the kernel (before 6.3) does not say.
///
/// # Errors
/// [`Unavailable`]: no such link.
pub fn xdp_features(index: u32) -> Result<Option<XdpFeatures>, Unavailable> {
    let mut netlink = Netlink::open_generic()?;
    let ask = Message::new(CONTROLLER, 0, &header(GET_FAMILY)).with_name(FAMILY_NAME, "netdev");
    let mut family = None;
    let found =
        netlink.get(|| "find what drivers say of themselves".to_string(), ask, &mut |message| {
            let id = message.body.get(4..).and_then(|attributes| attribute(attributes, FAMILY_ID));
            family = id.and_then(|id| u16_at(id, 0));
        });
    let (Ok(()), Some(family)) = (found, family) else { return Ok(None) };
    let ask = Message::new(family, 0, &header(GET_DEVICE)).with_u32(DEVICE_INDEX, index);
    let mut features = None;
    netlink.get(|| format!("ask what interface {index} can do"), ask, &mut |message| {
        let bits = message.body.get(4..).and_then(|all| attribute(all, DEVICE_FEATURES));
        features = bits.and_then(|bits| bits.try_into().ok()).map(u64::from_ne_bytes);
    })?;
    Ok(features.map(|bits| XdpFeatures {
        native: bits & BASIC != 0,
        redirect: bits & REDIRECT != 0,
        zero_copy: bits & ZERO_COPY != 0,
        several_buffers: bits & RX_SG != 0,
    }))
}
