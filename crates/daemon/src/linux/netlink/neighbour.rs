//! Neighbours of either family: which MAC address an address has on a link. Only IPv4's are written.

use super::message::{Message, Received, attribute, ipv4, u16_at, u32_at};
use super::socket::{CREATE, Netlink, REPLACE};
use port::linux::Unavailable;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::MacAddr;

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The link's number.
    pub interface: u32,
    /// Its address.
    pub address: IpAddr,
    /// Its MAC address; `None` while the kernel looks for it, or in vain.
    pub mac: Option<MacAddr>,
    /// Whether it was configured, and not learned.
    pub permanent: bool,
    /// Whether it is that, or answered lately: not stale.
    pub sure: bool,
}

// linux/rtnetlink.h, linux/neighbour.h.
pub(super) const NEW: u16 = 28;
pub(super) const DEL: u16 = 29;
const GET: u16 = 30;
const DESTINATION: u16 = 1;
const MAC: u16 = 2;
const INET: u8 = 2;
const INET6: u8 = 10;
/// States in which there is an answer: reachable, stale, delay, probe, no ARP, permanent.
const VALID: u16 = REACHABLE | 0x04 | 0x08 | 0x10 | NO_ARP | PERMANENT;
const REACHABLE: u16 = 0x02;
const NO_ARP: u16 = 0x40;
const PERMANENT: u16 = 0x80;

/// `struct ndmsg`.
fn header(interface: u32, state: u16) -> [u8; 12] {
    let mut header = [INET, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header[4..8].copy_from_slice(&interface.to_ne_bytes());
    header[8..10].copy_from_slice(&state.to_ne_bytes());
    header
}

impl Neighbour {
    /// What a message says of a neighbour. Those of multicast and broadcast, which need no
    /// finding, are left out.
    pub(super) fn read(message: &Received<'_>) -> Option<Neighbour> {
        let family = *message.body.first()?;
        let state = u16_at(message.body, 8)?;
        let attributes = message.body.get(12..)?;
        let mac = attribute(attributes, MAC).and_then(|mac| mac.try_into().ok()).map(MacAddr);
        (state & NO_ARP == 0).then_some(())?;
        let bytes = attribute(attributes, DESTINATION)?;
        let address: IpAddr = match family {
            INET => Ipv4Addr::from(ipv4(bytes)?).into(),
            INET6 => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into(),
            _ => return None,
        };
        Some(Neighbour {
            interface: u32_at(message.body, 4)?,
            address,
            mac: mac.filter(|_| state & VALID != 0),
            permanent: state & PERMANENT != 0,
            sure: state & (PERMANENT | REACHABLE) != 0,
        })
    }
}

/// The request for a dump of all of them, of both families.
pub(super) fn all() -> Message {
    Message::new(GET, 0, &[0; 12])
}

impl Netlink {
    /// All neighbours of both families.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>, Unavailable> {
        let mut neighbours = Vec::new();
        self.dump("list the neighbours", all, &mut |message| match message {
            None => neighbours.clear(),
            Some(message) => neighbours.extend(Neighbour::read(&message)),
        })?;
        Ok(neighbours)
    }

    /// Says for good which MAC address an address has on a link.
    ///
    /// # Errors
    /// [`Unavailable`]: no such link, or one without ARP.
    pub fn set_neighbour(
        &mut self,
        name: &str,
        address: Ipv4Addr,
        mac: MacAddr,
    ) -> Result<(), Unavailable> {
        let index = self.link(name)?.index;
        let message = Message::new(NEW, CREATE | REPLACE, &header(index, PERMANENT))
            .with(DESTINATION, &address.octets())
            .with(MAC, &mac.0);
        self.request(|| format!("say that {address} on {name} is {mac}"), message, 0)
    }

    /// Forgets a neighbour.
    ///
    /// # Errors
    /// [`Unavailable`]: no such neighbour.
    pub fn delete_neighbour(&mut self, name: &str, address: Ipv4Addr) -> Result<(), Unavailable> {
        let index = self.link(name)?.index;
        let message = Message::new(DEL, 0, &header(index, 0)).with(DESTINATION, &address.octets());
        self.request(|| format!("forget the neighbour {address} on {name}"), message, 0)
    }
}
