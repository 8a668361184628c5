//! Addresses of links; IPv6's are only read.

use super::message::{Message, Received, attribute, ipv4, u32_at};
use super::socket::{CREATE, EXCLUSIVE, Netlink};
use port::linux::Unavailable;
use std::net::{IpAddr, Ipv4Addr};

/// An address of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The link's number.
    pub interface: u32,
    /// The address itself.
    pub address: IpAddr,
    /// Of the network it is in.
    pub prefix_len: u8,
}

// linux/rtnetlink.h, linux/if_addr.h.
pub(super) const NEW: u16 = 20;
pub(super) const DEL: u16 = 21;
const GET: u16 = 22;
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const BROADCAST: u16 = 4;
const INET: u8 = 2;
const INET6: u8 = 10;

/// `struct ifaddrmsg`.
fn header(prefix_len: u8, interface: u32) -> [u8; 8] {
    let mut header = [INET, prefix_len, 0, 0, 0, 0, 0, 0];
    header[4..].copy_from_slice(&interface.to_ne_bytes());
    header
}

impl Address {
    /// What a message says of an address of IPv4 or IPv6.
    pub(super) fn read(message: &Received<'_>) -> Option<Address> {
        let family = *message.body.first()?;
        let attributes = message.body.get(8..)?;
        let local = attribute(attributes, LOCAL).or(attribute(attributes, ADDRESS))?;
        Some(Address {
            interface: u32_at(message.body, 4)?,
            address: match family {
                INET => Ipv4Addr::from(ipv4(local)?).into(),
                INET6 => IpAddr::from(<[u8; 16]>::try_from(local).ok()?),
                _ => return None,
            },
            prefix_len: message.body[1],
        })
    }
}

/// The request for a dump of all of IPv4.
fn all_of_ipv4() -> Message {
    Message::new(GET, 0, &header(0, 0))
}

/// The request for a dump of all of them.
pub(super) fn all() -> Message {
    Message::new(GET, 0, &[0; 8])
}

impl Netlink {
    /// All IPv4 addresses.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn addresses(&mut self) -> Result<Vec<Address>, Unavailable> {
        let mut addresses = Vec::new();
        self.dump("list the addresses", all_of_ipv4, &mut |message| match message {
            None => addresses.clear(),
            Some(message) => addresses.extend(Address::read(&message)),
        })?;
        Ok(addresses)
    }

    /// Gives a link an address, with the broadcast address of its network.
    ///
    /// # Errors
    /// [`Unavailable`]: no such link, or it has the address already.
    ///
    /// # Panics
    /// If `prefix_len` is above 32.
    pub fn add_address(
        &mut self,
        name: &str,
        address: Ipv4Addr,
        prefix_len: u8,
    ) -> Result<(), Unavailable> {
        let index = self.link(name)?.index;
        let octets = address.octets();
        let mut message = Message::new(NEW, CREATE | EXCLUSIVE, &header(prefix_len, index))
            .with(LOCAL, &octets)
            .with(ADDRESS, &octets);
        if prefix_len < 31 {
            let last = u32::from(address) | !wire::prefix::mask(prefix_len);
            message = message.with(BROADCAST, &last.to_be_bytes());
        }
        self.request(|| format!("add the address {address}/{prefix_len} to {name}"), message, 0)
    }

    /// Takes an address away from a link.
    ///
    /// # Errors
    /// [`Unavailable`]: it has no such address.
    pub fn delete_address(
        &mut self,
        name: &str,
        address: Ipv4Addr,
        prefix_len: u8,
    ) -> Result<(), Unavailable> {
        let index = self.link(name)?.index;
        let message =
            Message::new(DEL, 0, &header(prefix_len, index)).with(LOCAL, &address.octets());
        let tried = || format!("take the address {address}/{prefix_len} away from {name}");
        self.request(tried, message, 0)
    }
}
