//! DHCP messages (RFC 2131) and their options (RFC 2132), in UDP from and to ports 67 and 68.
//!
//! ```text
//! | op | htype | hlen | hops | xid 4 | secs 2 | flags 2 | ciaddr yiaddr siaddr giaddr 4 each |
//! | chaddr 16 | sname 64 | file 128 | 63 82 53 63 | option: code, length, data … | 255 |
//! ```
//!
//! An option that comes in several parts is put together (RFC 3396), and those in `file` and `sname`
//! are read (option 52). Only Ethernet clients are understood.
//!
//! **Missing**: relay agents' options are kept as they are, never read.

use crate::bytes::{be16, be32};
use crate::{Ipv4Prefix, MacAddr};

/// The server's port.
pub const SERVER_PORT: u16 = 67;
/// The client's port.
pub const CLIENT_PORT: u16 = 68;
/// What a client sends.
pub const REQUEST: u8 = 1;
/// What a server sends.
pub const REPLY: u8 = 2;
/// Flag: the client can take nothing but broadcasts yet.
pub const BROADCAST: u16 = 0x8000;

const MAGIC: [u8; 4] = [0x63, 0x82, 0x53, 0x63];
const FIXED: usize = 236;
/// Old relays and clients expect a BOOTP message, which was never shorter.
const SHORTEST: usize = 300;

/// Option codes, by their names in the IANA registry.
pub mod option {
    /// The network's mask.
    pub const SUBNET_MASK: u8 = 1;
    /// Gateways.
    pub const ROUTER: u8 = 3;
    /// Name servers.
    pub const DNS: u8 = 6;
    /// The client's name.
    pub const HOST_NAME: u8 = 12;
    /// The domain of names.
    pub const DOMAIN: u8 = 15;
    /// Time servers.
    pub const NTP: u8 = 42;
    /// WINS servers.
    pub const WINS: u8 = 44;
    /// The address that a client asks for.
    pub const REQUESTED: u8 = 50;
    /// Lease time, seconds.
    pub const LEASE_TIME: u8 = 51;
    /// Whether options go on in `file` and `sname`.
    pub const OVERLOAD: u8 = 52;
    /// The kind of message.
    pub const KIND: u8 = 53;
    /// The server's address.
    pub const SERVER: u8 = 54;
    /// Which options a client wants.
    pub const WANTED: u8 = 55;
    /// When to ask again, seconds.
    pub const RENEW: u8 = 58;
    /// When to ask anybody, seconds.
    pub const REBIND: u8 = 59;
    /// Who the client is.
    pub const CLIENT_ID: u8 = 61;
    /// Routes with their gateways (RFC 3442).
    pub const CLASSLESS_ROUTES: u8 = 121;
    /// CAPWAP access controllers (RFC 5417).
    pub const CONTROLLERS: u8 = 138;
    /// The boot file's server, by name.
    pub const BOOT_FILE: u8 = 67;
}

/// The kind of a message (option 53).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who has an address for me?
    Discover = 1,
    /// I have this one.
    Offer,
    /// I take it, or keep it.
    Request,
    /// Somebody else has it.
    Decline,
    /// It is yours.
    Ack,
    /// It is not.
    Nak,
    /// I do not need it any more.
    Release,
    /// I have an address; what else is there to know?
    Inform,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Discover,
        Kind::Offer,
        Kind::Request,
        Kind::Decline,
        Kind::Ack,
        Kind::Nak,
        Kind::Release,
        Kind::Inform,
    ];
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// [`REQUEST`] or [`REPLY`].
    pub op: u8,
    /// What answers belong to.
    pub xid: u32,
    /// Seconds since the client began.
    pub secs: u16,
    /// [`BROADCAST`] or 0.
    pub flags: u16,
    /// The address the client has and uses.
    pub ciaddr: u32,
    /// The address it is given.
    pub yiaddr: u32,
    /// The next server of its boot.
    pub siaddr: u32,
    /// The relay it came by.
    pub giaddr: u32,
    /// The client's MAC address.
    pub chaddr: MacAddr,
    /// Options in their order, without padding and end.
    pub options: Vec<(u8, Vec<u8>)>,
}

impl Message {
    /// Reads a UDP payload; `None` if it is no DHCP message of an Ethernet client.
    pub fn read(bytes: &[u8]) -> Option<Message> {
        let fixed: &[u8; FIXED] = bytes.first_chunk()?;
        let rest = bytes[FIXED..].strip_prefix(&MAGIC)?;
        if !matches!(fixed[0], REQUEST | REPLY) || fixed[1] != 1 || fixed[2] != 6 {
            return None;
        }
        let mut message = Message {
            op: fixed[0],
            xid: be32(fixed, 4),
            secs: be16(fixed, 8),
            flags: be16(fixed, 10),
            ciaddr: be32(fixed, 12),
            yiaddr: be32(fixed, 16),
            siaddr: be32(fixed, 20),
            giaddr: be32(fixed, 24),
            chaddr: MacAddr(*fixed[28..].first_chunk()?),
            options: Vec::new(),
        };
        message.read_options(rest)?;
        let overload = message.get(option::OVERLOAD).and_then(|data| data.first().copied());
        if matches!(overload, Some(1 | 3)) {
            message.read_options(&fixed[108..236])?;
        }
        if matches!(overload, Some(2 | 3)) {
            message.read_options(&fixed[44..108])?;
        }
        Some(message)
    }

    fn read_options(&mut self, mut bytes: &[u8]) -> Option<()> {
        while let [code, rest @ ..] = bytes {
            match (code, rest) {
                (0, _) => bytes = rest,
                (255, _) => break,
                (_, [len, rest @ ..]) => {
                    let (data, behind) = rest.split_at_checked((*len).into())?;
                    match self.options.iter().position(|(other, _)| other == code) {
                        Some(at) => self.options[at].1.extend_from_slice(data),
                        None => self.options.push((*code, data.to_vec())),
                    }
                    bytes = behind;
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Its bytes. An option longer than 255 bytes comes in parts.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; FIXED];
        bytes[..4].copy_from_slice(&[self.op, 1, 6, 0]);
        bytes[4..8].copy_from_slice(&self.xid.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.secs.to_be_bytes());
        bytes[10..12].copy_from_slice(&self.flags.to_be_bytes());
        for (at, address) in [self.ciaddr, self.yiaddr, self.siaddr, self.giaddr].iter().enumerate()
        {
            bytes[12 + 4 * at..16 + 4 * at].copy_from_slice(&address.to_be_bytes());
        }
        bytes[28..34].copy_from_slice(&self.chaddr.0);
        bytes.extend(MAGIC);
        for (code, data) in &self.options {
            let mut add = |part: &[u8]| {
                bytes.extend([*code, part.len() as u8]);
                bytes.extend(part);
            };
            match data.is_empty() {
                true => add(&[]),
                false => data.chunks(255).for_each(add),
            }
        }
        bytes.push(255);
        bytes.resize(bytes.len().max(SHORTEST), 0);
        bytes
    }

    /// An option's data.
    pub fn get(&self, code: u8) -> Option<&[u8]> {
        self.options.iter().find(|(other, _)| *other == code).map(|(_, data)| data.as_slice())
    }

    /// The kind; BOOTP messages have none.
    pub fn kind(&self) -> Option<Kind> {
        let [kind] = self.get(option::KIND)? else { return None };
        Kind::ALL.get(usize::from(*kind).checked_sub(1)?).copied()
    }

    /// An option that is a number of four bytes, or an address, or several, of which the first.
    pub fn number(&self, code: u8) -> Option<u32> {
        self.get(code)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }

    /// An option that is addresses.
    pub fn addresses(&self, code: u8) -> Vec<u32> {
        let (addresses, _) = self.get(code).unwrap_or(&[]).as_chunks();
        addresses.iter().map(|bytes| u32::from_be_bytes(*bytes)).collect()
    }

    /// The routes of [`option::CLASSLESS_ROUTES`] and their gateways, 0 where the network is on the link;
    /// `None` without the option, none at all if it is cut off or names no network.
    pub fn classless_routes(&self) -> Option<Vec<(Ipv4Prefix, u32)>> {
        let mut rest = self.get(option::CLASSLESS_ROUTES)?;
        let mut routes = Vec::new();
        while let [len @ 0..=32, behind @ ..] = rest {
            let n_octets = usize::from(len.div_ceil(8));
            let Some((octets, behind)) = behind.split_at_checked(n_octets) else { break };
            let Some((gateway, behind)) = behind.split_first_chunk() else { break };
            let mut bytes = [0; 4];
            bytes[..n_octets].copy_from_slice(octets);
            let network = Ipv4Prefix::new(u32::from_be_bytes(bytes), *len);
            routes.push((network, u32::from_be_bytes(*gateway)));
            rest = behind;
        }
        if !rest.is_empty() {
            routes.clear();
        }
        Some(routes)
    }

    /// An option that is text; what is no printable ASCII becomes `?`.
    pub fn text(&self, code: u8) -> Option<String> {
        let is_plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        let show = |&byte: &u8| if is_plain(byte) { char::from(byte) } else { '?' };
        let data = self.get(code)?;
        let end = data.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        Some(data[..end].iter().map(show).collect())
    }

    /// Adds an option.
    pub fn push(&mut self, code: u8, data: impl Into<Vec<u8>>) {
        self.options.push((code, data.into()));
    }

    /// Adds an option of addresses, if there are any.
    pub fn push_addresses(&mut self, code: u8, addresses: &[u32]) {
        if !addresses.is_empty() {
            let bytes: Vec<u8> = addresses.iter().flat_map(|one| one.to_be_bytes()).collect();
            self.push(code, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Message {
        let mut message = Message {
            op: REQUEST,
            xid: 0x1234_5678,
            secs: 3,
            flags: BROADCAST,
            ciaddr: 0x0a00_0009,
            chaddr: MacAddr([2, 0, 0, 0, 0, 9]),
            ..Message::default()
        };
        message.push(option::KIND, [Kind::Request as u8]);
        message.push(option::HOST_NAME, *b"pc\x01");
        message.push_addresses(option::DNS, &[0x0101_0101, 0x0808_0808]);
        message.push(224, vec![7; 600]);
        message
    }

    #[test]
    fn what_is_written_is_read() {
        let message = sample();
        let read = Message::read(&message.to_bytes()).unwrap();
        assert_eq!(read, message);
        assert_eq!(read.kind(), Some(Kind::Request));
        assert_eq!(read.text(option::HOST_NAME).as_deref(), Some("pc?"));
        assert_eq!(read.addresses(option::DNS), [0x0101_0101, 0x0808_0808]);
        assert_eq!(read.number(option::DNS), Some(0x0101_0101));
        assert_eq!(Message { op: 1, ..Message::default() }.to_bytes().len(), SHORTEST);
    }

    #[test]
    fn options_go_on_where_overload_says() {
        let mut bytes = Message { op: REPLY, ..Message::default() }.to_bytes();
        bytes[240..244].copy_from_slice(&[52, 1, 3, 255]);
        bytes[108..112].copy_from_slice(&[53, 1, 5, 255]);
        bytes[44..48].copy_from_slice(&[15, 1, b'x', 255]);
        let read = Message::read(&bytes).unwrap();
        assert_eq!((read.kind(), read.text(15).as_deref()), (Some(Kind::Ack), Some("x")));
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        let bytes = sample().to_bytes();
        for len in 0..bytes.len() - 1 {
            assert_eq!(
                Message::read(&bytes[..len]).filter(|read| *read == sample()),
                None,
                "{len}"
            );
        }
        for (at, byte) in [(0, 3), (1, 2), (2, 5), (236, 0)] {
            let mut other = bytes.clone();
            other[at] = byte;
            assert_eq!(Message::read(&other), None, "{at}");
        }
    }
}
