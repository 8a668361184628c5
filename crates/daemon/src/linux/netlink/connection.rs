//! The connections that the kernel tracks in a namespace: how many, and all of them forgotten.
//!
//! ```text
//!  ctnetlink ◄── statistics? ─► how many, and how many there may be
//!            ◄── delete, and no connection named ─► all are gone when it answers
//! ```
//!
//! Source: `linux/netfilter/nfnetlink.h`, `linux/netfilter/nfnetlink_conntrack.h`; the module
//! `nf_conntrack_netlink`. Missing: **single connections**.

use super::message::{Message, attribute};
use super::socket::Netlink;
use port::linux::{Namespace, Unavailable};

/// How full the table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filling {
    /// Connections.
    pub entries: u64,
    /// The most there can be; none if the kernel does not say.
    pub most: Option<u64>,
}

/// The connections of one namespace.
pub struct Connections(Netlink);

// linux/netfilter/nfnetlink.h, nfnetlink_conntrack.h: the subsystem is the upper byte.
const DELETE: u16 = 1 << 8 | 2;
const STATISTICS: u16 = 1 << 8 | 5;
const ENTRIES: u16 = 1;
const MOST: u16 = 2;
/// `struct nfgenmsg` of IPv4.
const HEADER: [u8; 4] = [2, 0, 0, 0];

impl Connections {
    /// Of `namespace`.
    ///
    /// # Errors
    /// [`Unavailable`]: this kernel tells nothing of its connections.
    pub fn open_in(namespace: &Namespace) -> Result<Connections, Unavailable> {
        let opened = namespace.run(Netlink::open_netfilter);
        let opened =
            opened.map_err(|error| Unavailable::because("enter a network namespace", error))?;
        opened.map(Connections)
    }

    /// How many there are.
    ///
    /// # Errors
    /// [`Unavailable`]: no rights, or no such kernel module.
    pub fn filling(&mut self) -> Result<Filling, Unavailable> {
        let (mut entries, mut most) = (None, None);
        let ask = Message::new(STATISTICS, 0, &HEADER);
        let tried = || "ask how many connections are tracked".to_string();
        self.0.get(tried, ask, &mut |message| {
            let number = |kind| {
                let bytes = attribute(message.body.get(4..)?, kind)?.try_into().ok()?;
                Some(u64::from(u32::from_be_bytes(bytes)))
            };
            (entries, most) = (number(ENTRIES), number(MOST));
        })?;
        let none = || Unavailable::because(tried(), std::io::Error::other("no number came"));
        Ok(Filling { entries: entries.ok_or_else(none)?, most })
    }

    /// Forgets all of them.
    ///
    /// # Errors
    /// As of [`filling`](Connections::filling).
    pub fn forget(&mut self) -> Result<(), Unavailable> {
        let all = Message::new(DELETE, 0, &HEADER);
        self.0.request(|| "delete all tracked connections".to_string(), all, 0)
    }
}
