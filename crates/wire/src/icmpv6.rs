//! ICMPv6 (RFC 4443), and neighbour discovery in it (RFC 4861).
//!
//! ```text
//! | type 1 | code 1 | checksum 2 | rest 4 | data …
//!   error:     rest = unused | MTU | pointer 4;  data = as much of the packet as fits 1280 bytes
//!   discovery: rest = flags …;  data = target 16, options: | type 1 | length in 8 bytes 1 | … |
//! ```
//!
//! Views accept any bytes. Never decides whether a message is believed: that is the router's, but
//! for what makes it no message at all (RFC 4861 §6.1, §7.1).

use crate::bytes::{be32, put};
use crate::checksum::Sum;
use crate::ipv6::header::ICMPV6;
use crate::layers::Malformed;
use crate::mac::MacAddr;
use std::net::Ipv6Addr;

/// Length of the header, the "rest" included.
pub const HEADER_LEN: usize = 8;
/// Length of a solicitation or an advertisement of a neighbour without options.
pub const NEIGHBOUR_LEN: usize = 24;

/// Message types.
pub mod kind {
    /// Destination unreachable.
    pub const UNREACHABLE: u8 = 1;
    /// Packet too big.
    pub const TOO_BIG: u8 = 2;
    /// Time exceeded.
    pub const TIME_EXCEEDED: u8 = 3;
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: u8 = 4;
    /// Who listens to which groups? (RFC 2710, RFC 3810)
    pub const LISTENER_QUERY: u8 = 130;
    /// Somebody listens to a group, in version 1's words.
    pub const LISTENER_REPORT_V1: u8 = 131;
    /// The last one does no longer, in version 1's words.
    pub const LISTENER_DONE_V1: u8 = 132;
    /// Who listens to which groups, in version 2's words.
    pub const LISTENER_REPORT_V2: u8 = 143;
    /// Echo request: a ping.
    pub const ECHO_REQUEST: u8 = 128;
    /// Echo reply: a ping's answer.
    pub const ECHO_REPLY: u8 = 129;
    /// Router solicitation.
    pub const ROUTER_SOLICITATION: u8 = 133;
    /// Router advertisement.
    pub const ROUTER_ADVERTISEMENT: u8 = 134;
    /// Neighbour solicitation: who has this address?
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    /// Neighbour advertisement: it is here.
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
    /// Redirect.
    pub const REDIRECT: u8 = 137;
}

/// Option types of neighbour discovery (RFC 4861 §4.6, RFC 8106).
pub mod option {
    /// The sender's link-layer address.
    pub const SOURCE: u8 = 1;
    /// The target's link-layer address.
    pub const TARGET: u8 = 2;
    /// A prefix of the link.
    pub const PREFIX: u8 = 3;
    /// As much of the packet that is redirected as fits.
    pub const REDIRECTED: u8 = 4;
    /// The link's MTU.
    pub const MTU: u8 = 5;
    /// Recursive DNS servers.
    pub const DNS: u8 = 25;
}

/// Whether messages of this type are errors, which are never answered by others.
pub const fn is_error(kind: u8) -> bool {
    kind < 128
}

/// The checksum of a message whose own checksum is 0.
pub fn checksum(src: Ipv6Addr, dst: Ipv6Addr, message: &[u8]) -> u16 {
    let len = message.len() as u32;
    Sum::pseudo_ipv6(src.octets(), dst.octets(), ICMPV6, len).bytes(message).finish()
}

/// Whether a message, with its checksum, is intact.
pub fn is_intact(src: Ipv6Addr, dst: Ipv6Addr, message: &[u8]) -> bool {
    let len = message.len() as u32;
    Sum::pseudo_ipv6(src.octets(), dst.octets(), ICMPV6, len).bytes(message).is_ok()
}

/// Writes the checksum of a message.
pub fn fill_checksum(src: Ipv6Addr, dst: Ipv6Addr, message: &mut [u8]) {
    put(message, 2, [0, 0]);
    let sum = checksum(src, dst, message);
    put(message, 2, sum.to_be_bytes());
}

/// The group in which an address is asked for (RFC 4291 §2.7.1).
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::from([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c])
}

/// The MAC address of a group (RFC 2464 §7).
pub fn group_mac(group: Ipv6Addr) -> MacAddr {
    let [.., a, b, c, d] = group.octets();
    MacAddr([0x33, 0x33, a, b, c, d])
}

/// The interface identifier of a MAC address: modified EUI-64 (RFC 4291 appendix A).
pub fn interface_id(mac: MacAddr) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}

/// A solicitation or an advertisement of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Whether it is an advertisement.
    pub advertisement: bool,
    /// Of an advertisement: the sender is a router.
    pub router: bool,
    /// It answers a solicitation.
    pub solicited: bool,
    /// It counts even against what is known.
    pub override_: bool,
    /// Whose address it is about.
    pub target: Ipv6Addr,
    /// The link-layer address: the source's of a solicitation, the target's of an advertisement.
    pub mac: Option<MacAddr>,
}

impl Neighbour {
    /// Reads a message that begins at its ICMPv6 header.
    ///
    /// # Errors
    /// [`Malformed::Transport`] if it is none, cut off, about a group, or an option has no length.
    pub fn read(message: &[u8]) -> Result<Neighbour, Malformed> {
        let (head, rest) = message.split_first_chunk::<24>().ok_or(Malformed::Transport)?;
        let advertisement = match head[0] {
            kind::NEIGHBOUR_SOLICITATION => false,
            kind::NEIGHBOUR_ADVERTISEMENT => true,
            _ => return Err(Malformed::Transport),
        };
        let mut target = [0; 16];
        target.copy_from_slice(&head[8..]);
        let target = Ipv6Addr::from(target);
        if head[1] != 0 || target.is_multicast() {
            return Err(Malformed::Transport);
        }
        let wanted = if advertisement { option::TARGET } else { option::SOURCE };
        let flag = |bit: u8| advertisement && head[4] & bit != 0;
        Ok(Neighbour {
            advertisement,
            router: flag(0x80),
            solicited: flag(0x40),
            override_: flag(0x20),
            target,
            mac: link_layer(rest, wanted)?,
        })
    }

    /// The message, its checksum yet to be written, and how many bytes of it there are: the last
    /// eight are the option.
    pub fn to_bytes(self) -> ([u8; 32], usize) {
        let mut bytes = [0; 32];
        let flags = |set: bool, bit: u8| if set { bit } else { 0 };
        if self.advertisement {
            bytes[0] = kind::NEIGHBOUR_ADVERTISEMENT;
            bytes[4] = flags(self.router, 0x80)
                | flags(self.solicited, 0x40)
                | flags(self.override_, 0x20);
        } else {
            bytes[0] = kind::NEIGHBOUR_SOLICITATION;
        }
        put(&mut bytes, 8, self.target.octets());
        let Some(mac) = self.mac else { return (bytes, NEIGHBOUR_LEN) };
        bytes[24] = if self.advertisement { option::TARGET } else { option::SOURCE };
        bytes[25] = 1;
        put(&mut bytes, 26, mac.0);
        (bytes, 32)
    }
}

/// The source's link-layer address in a router solicitation.
///
/// # Errors
/// [`Malformed::Transport`] if it is none, or an option has no length.
pub fn router_solicitation(message: &[u8]) -> Result<Option<MacAddr>, Malformed> {
    let (head, rest) = message.split_first_chunk::<8>().ok_or(Malformed::Transport)?;
    if head[0] != kind::ROUTER_SOLICITATION || head[1] != 0 {
        return Err(Malformed::Transport);
    }
    link_layer(rest, option::SOURCE)
}

/// The first link-layer address among options, of this kind.
fn link_layer(rest: &[u8], wanted: u8) -> Result<Option<MacAddr>, Malformed> {
    let mut found = None;
    each_option(rest, |kind, data| {
        if kind == wanted && data.len() == 6 && found.is_none() {
            found = data.first_chunk().map(|mac| MacAddr(*mac));
        }
    })?;
    Ok(found)
}

/// Goes over all options, each its kind and what stands behind its length: one without a length makes
/// the message none (RFC 4861 §4.6).
pub(crate) fn each_option(
    mut rest: &[u8],
    mut each: impl FnMut(u8, &[u8]),
) -> Result<(), Malformed> {
    while !rest.is_empty() {
        let &[kind, len, ..] = rest else { return Err(Malformed::Transport) };
        let (this, behind) =
            rest.split_at_checked(usize::from(len) * 8).ok_or(Malformed::Transport)?;
        each(kind, this.get(2..).ok_or(Malformed::Transport)?);
        rest = behind;
    }
    Ok(())
}

/// A router solicitation, its checksum yet to be written, and how many bytes of it there are.
pub fn solicit_routers(mac: Option<MacAddr>) -> ([u8; 16], usize) {
    let mut bytes = [0; 16];
    bytes[0] = kind::ROUTER_SOLICITATION;
    let Some(mac) = mac else { return (bytes, HEADER_LEN) };
    bytes[8..10].copy_from_slice(&[option::SOURCE, 1]);
    put(&mut bytes, 10, mac.0);
    (bytes, 16)
}

/// A redirect (RFC 4861 §4.5): `dst` is reached by `target`, which has this MAC address if it is known.
/// The packet it is about is quoted as far as the message keeps to 1280 bytes; the checksum is yet to be
/// written.
pub fn redirect(target: Ipv6Addr, dst: Ipv6Addr, mac: Option<MacAddr>, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind::REDIRECT, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(target.octets());
    bytes.extend(dst.octets());
    if let Some(mac) = mac {
        bytes.extend([option::TARGET, 1]);
        bytes.extend(mac.0);
    }
    let room = usize::from(crate::ipv6::MTU_MIN) - crate::ipv6::HEADER_LEN - bytes.len() - 8;
    // An option's length is in units of eight bytes.
    let quote = &packet[..packet.len().min(room) & !7];
    bytes.extend([option::REDIRECTED, 1 + (quote.len() / 8) as u8, 0, 0, 0, 0, 0, 0]);
    bytes.extend(quote);
    bytes
}

/// The second word of an error: the MTU of "packet too big", the pointer of a parameter problem.
///
/// # Errors
/// [`Malformed::Transport`] if it is cut off.
pub fn word(message: &[u8]) -> Result<u32, Malformed> {
    if message.len() < HEADER_LEN { Err(Malformed::Transport) } else { Ok(be32(message, 4)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_from_addresses() {
        let address: Ipv6Addr = "2001:db8::12:3456".parse().unwrap();
        assert_eq!(solicited_node(address).to_string(), "ff02::1:ff12:3456");
        assert_eq!(group_mac(solicited_node(address)).to_string(), "33:33:FF:12:34:56");
        let mac = MacAddr([0x00, 0x0c, 0x42, 0x01, 0x02, 0x03]);
        assert_eq!(interface_id(mac), 0x020c_42ff_fe01_0203);
    }

    #[test]
    fn neighbours_are_read_as_written() {
        let target: Ipv6Addr = "fe80::1".parse().unwrap();
        let mac = Some(MacAddr([2, 0, 0, 0, 0, 1]));
        for advertisement in [false, true] {
            for (router, solicited, override_) in [(false, false, false), (true, true, true)] {
                for mac in [None, mac] {
                    let flags = (router && advertisement, solicited && advertisement);
                    let override_ = override_ && advertisement;
                    let (router, solicited) = flags;
                    let message =
                        Neighbour { advertisement, router, solicited, override_, target, mac };
                    let (bytes, len) = message.to_bytes();
                    assert_eq!(Neighbour::read(&bytes[..len]), Ok(message));
                }
            }
        }
    }

    #[test]
    fn messages_that_are_none() {
        let with = |change: fn(&mut Vec<u8>)| {
            let (target, mac) = ("fe80::1".parse().unwrap(), Some(MacAddr([2, 0, 0, 0, 0, 1])));
            let (router, solicited, override_) = (false, false, false);
            let message =
                Neighbour { advertisement: false, router, solicited, override_, target, mac };
            let mut bytes = message.to_bytes().0.to_vec();
            change(&mut bytes);
            Neighbour::read(&bytes).map(|message| message.mac.is_some())
        };
        let none = Err(Malformed::Transport);
        assert_eq!(with(|_| ()), Ok(true));
        assert_eq!(with(|bytes| bytes.truncate(24)), Ok(false), "no option");
        assert_eq!(with(|bytes| bytes.truncate(23)), none);
        assert_eq!(with(|bytes| bytes.truncate(25)), none, "half an option");
        assert_eq!(with(|bytes| bytes[25] = 0), none, "without a length");
        assert_eq!(with(|bytes| bytes[25] = 2), none, "beyond the message");
        assert_eq!(with(|bytes| bytes[24] = 9), Ok(false), "another option");
        assert_eq!(with(|bytes| bytes[1] = 1), none, "code");
        assert_eq!(with(|bytes| bytes[0] = 1), none, "type");
        assert_eq!(with(|bytes| bytes[8] = 0xff), none, "a group");
    }
}
