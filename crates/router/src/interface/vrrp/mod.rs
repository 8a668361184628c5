//! `/interface vrrp`: of several routers one has the addresses, and hosts do not notice which.
//!
//! ```text
//! host ─► 00:00:5E:00:01:VRID ─► ether1 ─► link_in ─┬─ the interface's own frames
//!                                                   └─► vrrp1, while it is the master ─► IP
//! master: an advertisement each interval to 224.0.0.18 ─► backups: nobody for 3 intervals? mine.
//! ```
//!
//! A virtual router stands on an interface of Ethernet frames. Its `Machine` is pure; while it is
//! the master its interface runs, its addresses are the router's own, ARP answers for them with the
//! virtual address. Those of a group stand as its master does, whatever is heard of them.
//!
//! Over IPv6 (`v3-protocol=ipv6`) the virtual router's MAC address is 00:00:5E:00:02:VRID, of which it has an
//! address of the link's, the same on all routers; neighbour discovery answers as ARP does. With
//! `authentication=ah` an advertisement of version 2 is believed if its header is made with the password, and
//! is not older than the last. With `sync-connection-tracking` whoever takes over knows the connections (`sync`).
//! Missing: **FastPath through a bridge**.

// The state machine.
pub(crate) mod machine;
// What a master tells its backups of connections.
pub(crate) mod sync;
// The menu.
pub mod menu;

pub(crate) use machine::Machine;

use super::{InterfaceId, Names};
use config::{Read, Value};
use machine::Settings;
use wire::MacAddr;
use wire::vrrp::Authentication;

/// A virtual router as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vrrp {
    /// Its number as an interface.
    pub interface: InterfaceId,
    /// The interface it stands on.
    pub on: InterfaceId,
    /// The virtual router's number.
    pub vrid: u8,
    /// VRRP's version.
    pub version: u8,
    /// `v3-protocol=ipv6`: it speaks by IPv6, and has addresses of IPv6.
    pub is_ipv6: bool,
    /// By what others are believed.
    pub authentication: Authentication,
    /// `password`, filled up with zeros: the key of the authentication header.
    pub key: [u8; 8],
    /// The master of its group, if that is another one.
    pub leader: Option<InterfaceId>,
    /// What its machine is told.
    pub settings: Settings,
    /// `sync-connection-tracking`: as the master it tells the others of all connections.
    pub syncs: bool,
    /// `remote-address`: the other router's; without one that is found out.
    pub remote: Option<u32>,
    /// `on-master`, `on-backup`.
    pub(crate) scripts: [String; 2],
}

impl Vrrp {
    /// Reads an item.
    pub(super) fn read(
        item: &Read,
        names: &Names,
        interface: InterfaceId,
        on: InterfaceId,
    ) -> Vrrp {
        let mut key = [0; 8];
        for (to, from) in key.iter_mut().zip(Vrrp::password(item).unwrap_or_default().bytes()) {
            *to = from;
        }
        Vrrp {
            interface,
            on,
            vrid: item.number("vrid") as u8,
            version: item.number("version") as u8,
            is_ipv6: Vrrp::is_ipv6(item),
            authentication: match item.text("authentication").as_str() {
                "simple" => Authentication::Simple(key),
                "ah" => Authentication::Header,
                _ => Authentication::None,
            },
            key,
            leader: Vrrp::leader(item).and_then(|name| names.find(&name)),
            settings: Settings {
                priority: item.number("priority") as u8,
                interval: item.time("interval"),
                preempts: item.bool("preemption-mode"),
            },
            syncs: item.bool("sync-connection-tracking"),
            remote: Vrrp::remote(item),
            scripts: ["on-master", "on-backup"].map(|name| item.text(name)),
        }
    }

    /// The other router's address, if it is said; 0.0.0.0 is none.
    fn remote(item: &Read) -> Option<u32> {
        match item.opt("remote-address").as_deref() {
            Some(Value::Address(address)) => Some((*address).into()).filter(|&remote| remote != 0),
            _ => None,
        }
    }

    fn is_ipv6(item: &Read) -> bool {
        item.text("v3-protocol") == "ipv6"
    }

    /// The virtual router's MAC address.
    pub(crate) fn mac(&self) -> MacAddr {
        if self.is_ipv6 { wire::vrrp::mac6(self.vrid) } else { wire::vrrp::mac(self.vrid) }
    }

    /// The name of the master of its group, if that is another one.
    fn leader(item: &Read) -> Option<String> {
        let said = ["group-master", "group-authority"].map(|name| item.text(name));
        let own = |name: &String| ["none", "self", item.name()].contains(&name.as_str());
        said.into_iter().find(|name| !own(name))
    }

    /// The password; empty if there is none.
    fn password(item: &Read) -> Option<String> {
        match item.opt("password").as_deref() {
            None => Some(String::new()),
            Some(Value::Text(text)) => Some(text.clone()),
            Some(_) => None,
        }
    }

    /// The interval in hundredths of a second.
    pub(crate) fn interval_cs(&self) -> u16 {
        u16::try_from(self.settings.interval.as_millis() / 10).unwrap_or(u16::MAX)
    }
}
