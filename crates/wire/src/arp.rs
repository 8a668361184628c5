//! ARP for IPv4 over Ethernet (RFC 826).
//!
//! ```text
//! | 1, 0x0800, 6, 4 | operation 2 | sender MAC 6, IP 4 | target MAC 6, IP 4 |   28 bytes
//! ```
//!
//! Never keeps a table: that is the router's. Missing: **RARP, InARP and other hardware
//! types**: they are [malformed](crate::layers::Malformed::Arp).

use crate::bytes::{be16, be32, mac, put};
use crate::layers::Malformed;
use crate::mac::MacAddr;

/// Length of the message.
pub const LEN: usize = 28;

/// Hardware Ethernet, protocol IPv4, address lengths 6 and 4.
const FIXED: [u8; 6] = [0, 1, 8, 0, 6, 4];

/// What the sender wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Who has the target address?
    Request,
    /// The sender has the sender address.
    Reply,
    /// Anything else.
    Other(u16),
}

impl Operation {
    /// The number on the wire.
    pub const fn number(self) -> u16 {
        match self {
            Operation::Request => 1,
            Operation::Reply => 2,
            Operation::Other(n) => n,
        }
    }

    /// From the number on the wire.
    pub const fn from_number(n: u16) -> Operation {
        match n {
            1 => Operation::Request,
            2 => Operation::Reply,
            n => Operation::Other(n),
        }
    }
}

/// A view of a message.
#[derive(Clone, Copy, Debug)]
pub struct Arp<B>(B);

impl<B: AsRef<[u8]>> Arp<B> {
    /// Looks at the bytes behind the Ethernet header; padding may follow.
    ///
    /// # Errors
    /// [`Malformed::Arp`] if cut off, or not for IPv4 over Ethernet.
    #[inline]
    pub fn new(bytes: B) -> Result<Arp<B>, Malformed> {
        match bytes.as_ref().first_chunk::<LEN>() {
            Some(message) if message[..6] == FIXED => Ok(Arp(bytes)),
            _ => Err(Malformed::Arp),
        }
    }

    /// Request or reply.
    #[inline]
    pub fn operation(&self) -> Operation {
        Operation::from_number(be16(self.0.as_ref(), 6))
    }

    /// The message as a value.
    #[inline]
    pub fn message(&self) -> ArpMessage {
        let b = self.0.as_ref();
        ArpMessage {
            operation: self.operation(),
            sender_mac: mac(b, 8),
            sender_ip: be32(b, 14),
            target_mac: mac(b, 18),
            target_ip: be32(b, 24),
        }
    }
}

/// The message as a value. IP addresses in host order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpMessage {
    /// Request or reply.
    pub operation: Operation,
    /// Who speaks.
    pub sender_mac: MacAddr,
    /// Address of who speaks; 0 in a probe (RFC 5227).
    pub sender_ip: u32,
    /// Who is spoken to; zero in a request.
    pub target_mac: MacAddr,
    /// The address asked for, or of who is spoken to.
    pub target_ip: u32,
}

impl ArpMessage {
    /// "Who has `target_ip`? Tell `sender_ip`." To be broadcast.
    pub const fn request(sender_mac: MacAddr, sender_ip: u32, target_ip: u32) -> ArpMessage {
        let target_mac = MacAddr([0; 6]);
        ArpMessage { operation: Operation::Request, sender_mac, sender_ip, target_mac, target_ip }
    }

    /// The answer to this request: "`mac` has the address you asked for."
    pub const fn reply_from(self, mac: MacAddr) -> ArpMessage {
        ArpMessage {
            operation: Operation::Reply,
            sender_mac: mac,
            sender_ip: self.target_ip,
            target_mac: self.sender_mac,
            target_ip: self.sender_ip,
        }
    }

    /// Whether the sender announces its own address (RFC 5227 §1.1).
    pub const fn is_gratuitous(self) -> bool {
        self.sender_ip == self.target_ip
    }

    /// The message's bytes.
    pub fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        put(&mut bytes, 0, FIXED);
        put(&mut bytes, 6, self.operation.number().to_be_bytes());
        put(&mut bytes, 8, self.sender_mac.0);
        put(&mut bytes, 14, self.sender_ip.to_be_bytes());
        put(&mut bytes, 18, self.target_mac.0);
        put(&mut bytes, 24, self.target_ip.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: [u8; LEN] = [
        0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x00, 0x0c, 0x42, 0x00, 0x00, 0x01, 192,
        168, 88, 1, 0, 0, 0, 0, 0, 0, 192, 168, 88, 254,
    ];

    #[test]
    fn known_bytes() {
        let request =
            ArpMessage::request(MacAddr([0, 0x0c, 0x42, 0, 0, 1]), 0xc0a8_5801, 0xc0a8_58fe);
        assert_eq!(Arp::new(REQUEST).unwrap().message(), request);
        assert_eq!(request.to_bytes(), REQUEST);
    }

    #[test]
    fn reply_turns_round() {
        let request = Arp::new(REQUEST).unwrap().message();
        let reply = request.reply_from(MacAddr([2; 6]));
        assert_eq!((reply.sender_ip, reply.target_ip), (request.target_ip, request.sender_ip));
        assert_eq!((reply.sender_mac, reply.target_mac), (MacAddr([2; 6]), request.sender_mac));
        assert_eq!(Arp::new(reply.to_bytes()).unwrap().operation(), Operation::Reply);
    }

    #[test]
    fn other_hardware_is_refused() {
        for at in 0..FIXED.len() {
            let mut other = REQUEST;
            other[at] ^= 0x20;
            assert_eq!(Arp::new(other).unwrap_err(), Malformed::Arp, "byte {at}");
        }
        assert_eq!(Arp::new(&REQUEST[..27]).unwrap_err(), Malformed::Arp);
    }
}
