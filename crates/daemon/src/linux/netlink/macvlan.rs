//! A child of a link that has all of its frames: a macvlan in passthru mode.
//!
//! ```text
//!   our namespace                     another
//!   eth1 ───── every frame ─────────► t0          the same MAC address, ARP, addresses of its own
//!   (its settings stay as they are)   └ when it goes, with its namespace at the latest, eth1 is as before
//! ```
//!
//! Unlike a link that is moved it cannot be lost: whoever dies leaves the parent where it was.
//! Nothing is set at the parent, not even promiscuous mode: the child has its address.
//!
//! Source: `linux/if_link.h`, `drivers/net/macvlan.c`.

use super::link::{INFO, INFO_DATA, INFO_KIND, MTU, NAME, NAMESPACE_FD, NEW, header};
use super::message::Message;
use super::socket::{CREATE, EXCLUSIVE, Netlink};
use port::linux::{Namespace, Unavailable};
use std::os::fd::AsRawFd;

const LINK: u16 = 5;
const MODE: u16 = 1;
const FLAGS: u16 = 2;
/// `MACVLAN_MODE_PASSTHRU`.
const PASSTHRU: u32 = 8;
/// `MACVLAN_FLAG_NOPROMISC`.
const NO_PROMISCUITY: u16 = 1;
/// `EOPNOTSUPP`: nobody knows such links.
const UNKNOWN: i32 = 95;

impl Netlink {
    /// Makes `name` in `namespace`, to which all frames of `parent` go from now on.
    ///
    /// # Errors
    /// [`Unavailable`]: no such parent, or it has children already (`EINVAL`), or is a bridge's port
    /// (`EBUSY`); rights are lacking; the kernel has no macvlan.
    pub fn add_passthru(
        &mut self,
        parent: &str,
        name: &str,
        namespace: &Namespace,
        mtu: u32,
    ) -> Result<(), Unavailable> {
        let index = self.link(parent)?.index;
        let message = Message::new(NEW, CREATE | EXCLUSIVE, &header(0, 0, 0))
            .with_name(NAME, name)
            .with_u32(LINK, index)
            .with_u32(MTU, mtu)
            .with_u32(NAMESPACE_FD, namespace.file().as_raw_fd() as u32)
            .with_nest(INFO, |info| {
                info.with_name(INFO_KIND, "macvlan").with_nest(INFO_DATA, |data| {
                    data.with_u32(MODE, PASSTHRU).with(FLAGS, &NO_PROMISCUITY.to_ne_bytes())
                })
            });
        let made = self.request(|| format!("make a macvlan of {parent}"), message, 0);
        made.map_err(|refused| match refused.error.raw_os_error() {
            Some(UNKNOWN) => refused.remedy("this kernel has no macvlan (CONFIG_MACVLAN)"),
            _ => refused,
        })
    }
}
