//! DHCPv6 messages (RFC 8415), in UDP from and to ports 546 and 547.
//!
//! ```text
//! | kind 1 | transaction 3 | option: code 2, length 2, data … |
//!   IA_NA, IA_PD: | iaid 4 | T1 4 | T2 4 | options: addresses, prefixes, a status |
//!     address:    | address 16 | preferred 4 | valid 4 | options |
//!     prefix:     | preferred 4 | valid 4 | length 1 | prefix 16 | options |
//!
//! | kind 12, 13 | hops 1 | link 16 | peer 16 | option …: the message itself, the interface … |
//! ```
//!
//! Associations are the only options with options in them that are read, and those to one depth: what
//! a message can ask of us is bounded by its length. Our own codec: the crates there are for it bring a
//! resolver's and dice along, which the router may not have.
//!
//! **Missing**: authentication, temporary addresses.

use crate::bytes::{be16, be32};
use std::net::Ipv6Addr;

/// The client's port.
pub const CLIENT_PORT: u16 = 546;
/// The server's port.
pub const SERVER_PORT: u16 = 547;
/// Where clients find servers: `ff02::1:2`.
pub const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
/// The most options of a message, and associations with what is in them, that are read.
pub const MAX_OPTIONS: usize = 64;
/// RFC 8415 §11.1: a DUID is not longer.
pub const MAX_DUID: usize = 130;

/// Option codes, by their names in the IANA registry.
pub mod option {
    /// Who the client is.
    pub const CLIENT_ID: u16 = 1;
    /// Who the server is.
    pub const SERVER_ID: u16 = 2;
    /// Addresses.
    pub const IA_NA: u16 = 3;
    /// An address.
    pub const IA_ADDRESS: u16 = 5;
    /// Which options a client wants.
    pub const WANTED: u16 = 6;
    /// How much a server wants to be chosen.
    pub const PREFERENCE: u16 = 7;
    /// For how long a client has been asking, in hundredths of a second.
    pub const ELAPSED: u16 = 8;
    /// The message that a relay passes on.
    pub const RELAYED: u16 = 9;
    /// What became of it.
    pub const STATUS: u16 = 13;
    /// Two messages instead of four.
    pub const RAPID_COMMIT: u16 = 14;
    /// By which interface of a relay a message came, and is to go.
    pub const INTERFACE_ID: u16 = 18;
    /// Name servers.
    pub const DNS: u16 = 23;
    /// The domains names are looked for in.
    pub const DOMAINS: u16 = 24;
    /// Prefixes.
    pub const IA_PD: u16 = 25;
    /// A prefix.
    pub const IA_PREFIX: u16 = 26;
    /// When to ask for the rest of the configuration again.
    pub const REFRESH: u16 = 32;
    /// Bounds of a client's patience.
    pub const SOL_MAX_RT: u16 = 82;
}

/// Status codes.
pub mod status {
    /// It is as it should be.
    pub const SUCCESS: u16 = 0;
    /// There are no addresses.
    pub const NO_ADDRESSES: u16 = 2;
    /// The server knows of no such association.
    pub const NO_BINDING: u16 = 3;
    /// The address is not of this link.
    pub const NOT_ON_LINK: u16 = 4;
    /// There are no prefixes.
    pub const NO_PREFIXES: u16 = 6;
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who has something for me?
    Solicit = 1,
    /// I have this.
    Advertise,
    /// I take it.
    Request,
    /// Are my addresses of this link?
    Confirm,
    /// I keep it; to the server that gave it.
    Renew,
    /// I keep it; to any server.
    Rebind,
    /// It is yours.
    Reply,
    /// I do not need it any more.
    Release,
    /// Somebody else has it.
    Decline,
    /// Ask again.
    Reconfigure,
    /// What else is there to know?
    Information,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Solicit,
        Kind::Advertise,
        Kind::Request,
        Kind::Confirm,
        Kind::Renew,
        Kind::Rebind,
        Kind::Reply,
        Kind::Release,
        Kind::Decline,
        Kind::Reconfigure,
        Kind::Information,
    ];
}

/// An address or a prefix, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    /// The address, or the prefix's first.
    pub address: Ipv6Addr,
    /// The prefix's length; 128 of an address.
    pub len: u8,
    /// In seconds; all ones are for ever.
    pub preferred_s: u32,
    /// In seconds.
    pub valid_s: u32,
}

/// An association of a client: IA_NA or IA_PD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Association {
    /// Whether it is of prefixes.
    pub is_pd: bool,
    /// Its number at the client.
    pub iaid: u32,
    /// When to ask the server again, in seconds.
    pub t1_s: u32,
    /// When to ask any.
    pub t2_s: u32,
    /// What is in it.
    pub lent: Vec<Lent>,
    /// What became of it.
    pub status: Option<u16>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub kind: Kind,
    /// What answers belong to, 24 bits.
    pub xid: u32,
    /// Associations, in their order.
    pub associations: Vec<Association>,
    /// The other options, in their order.
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Message {
    /// An empty message.
    pub fn new(kind: Kind, xid: u32) -> Message {
        let (associations, options) = (Vec::new(), Vec::new());
        Message { kind, xid: xid & 0xff_ffff, associations, options }
    }

    /// Reads a UDP payload; `None` if it is no message between a client and a server, or an option runs
    /// past its end.
    pub fn read(bytes: &[u8]) -> Option<Message> {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let kind = Kind::ALL.into_iter().find(|&kind| kind as u8 == head[0])?;
        let mut message = Message::new(kind, be32(head, 0));
        let mut left = MAX_OPTIONS;
        each(rest, |code, data| {
            left = left.checked_sub(1)?;
            match code {
                option::IA_NA | option::IA_PD => {
                    message.associations.push(Association::read(code, data, &mut left)?);
                }
                _ => message.options.push((code, data.to_vec())),
            }
            Some(())
        })?;
        Some(message)
    }

    /// The message as it is sent.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.xid.to_be_bytes().to_vec();
        bytes[0] = self.kind as u8;
        for (code, data) in &self.options {
            put_option(&mut bytes, *code, data);
        }
        for association in &self.associations {
            association.put(&mut bytes);
        }
        bytes
    }

    /// The first option of this code.
    pub fn get(&self, code: u16) -> Option<&[u8]> {
        let mut options = self.options.iter();
        options.find(|(other, _)| *other == code).map(|(_, data)| &data[..])
    }

    /// Adds an option.
    pub fn push(&mut self, code: u16, data: impl Into<Vec<u8>>) {
        self.options.push((code, data.into()));
    }

    /// The DUID in an option: of 1 to [`MAX_DUID`] bytes.
    pub fn duid(&self, code: u16) -> Option<&[u8]> {
        self.get(code).filter(|duid| (1..=MAX_DUID).contains(&duid.len()))
    }

    /// What became of all of it; success if nothing is said.
    pub fn status(&self) -> u16 {
        let status = self.get(option::STATUS).and_then(|data| data.first_chunk::<2>());
        status.map_or(status::SUCCESS, |status| u16::from_be_bytes(*status))
    }

    /// The addresses in an option.
    pub fn addresses(&self, code: u16) -> Vec<Ipv6Addr> {
        let data = self.get(code).unwrap_or(&[]);
        data.as_chunks::<16>().0.iter().map(|address| Ipv6Addr::from(*address)).collect()
    }

    /// Whether the client wants this option.
    pub fn wants(&self, code: u16) -> bool {
        let wanted = self.get(option::WANTED).unwrap_or(&[]);
        wanted.as_chunks::<2>().0.iter().any(|wanted| u16::from_be_bytes(*wanted) == code)
    }
}

/// A message between relays and servers (RFC 8415 §9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relayed {
    /// Whether it is a server's, relay-reply, on its way back; else relay-forward.
    pub reply: bool,
    /// How many relays it has come by before.
    pub hops: u8,
    /// An address of the link where the client is, if the relay has one there.
    pub link: Ipv6Addr,
    /// The client, or the relay that it came from.
    pub peer: Ipv6Addr,
    /// Options, in their order.
    pub options: Vec<(u16, Vec<u8>)>,
}

/// The kinds of relays' messages.
const RELAY_FORWARD: u8 = 12;
const RELAY_REPLY: u8 = 13;

impl Relayed {
    /// Reads a UDP payload; `None` if it is no relay's message, or an option runs past its end.
    pub fn read(bytes: &[u8]) -> Option<Relayed> {
        let (head, rest) = bytes.split_first_chunk::<34>()?;
        let reply = match head[0] {
            RELAY_FORWARD => false,
            RELAY_REPLY => true,
            _ => return None,
        };
        let (link, peer) = (head[2..].first_chunk::<16>()?, head[18..].first_chunk::<16>()?);
        let (link, peer) = (Ipv6Addr::from(*link), Ipv6Addr::from(*peer));
        let mut read = Relayed { reply, hops: head[1], link, peer, options: Vec::new() };
        each(rest, |code, data| {
            read.options.push((code, data.to_vec()));
            (read.options.len() <= MAX_OPTIONS).then_some(())
        })?;
        Some(read)
    }

    /// The message as it is sent.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![if self.reply { RELAY_REPLY } else { RELAY_FORWARD }, self.hops];
        bytes.extend(self.link.octets());
        bytes.extend(self.peer.octets());
        for (code, data) in &self.options {
            put_option(&mut bytes, *code, data);
        }
        bytes
    }

    /// The first option of this code.
    pub fn get(&self, code: u16) -> Option<&[u8]> {
        let mut options = self.options.iter();
        options.find(|(other, _)| *other == code).map(|(_, data)| &data[..])
    }
}

impl Association {
    fn read(code: u16, data: &[u8], left: &mut usize) -> Option<Association> {
        let (head, rest) = data.split_first_chunk::<12>()?;
        let mut read = Association {
            is_pd: code == option::IA_PD,
            iaid: be32(head, 0),
            t1_s: be32(head, 4),
            t2_s: be32(head, 8),
            lent: Vec::new(),
            status: None,
        };
        each(rest, |code, data| {
            *left = left.checked_sub(1)?;
            match (code, read.is_pd) {
                (option::STATUS, _) if data.len() >= 2 => read.status = Some(be16(data, 0)),
                (option::IA_ADDRESS, false) => {
                    let data: &[u8; 24] = data.first_chunk()?;
                    let address = Ipv6Addr::from(*data.first_chunk::<16>()?);
                    let (preferred_s, valid_s) = (be32(data, 16), be32(data, 20));
                    read.lent.push(Lent { address, len: 128, preferred_s, valid_s });
                }
                (option::IA_PREFIX, true) => {
                    let data: &[u8; 25] = data.first_chunk()?;
                    let address = Ipv6Addr::from(*data[9..].first_chunk::<16>()?);
                    let (preferred_s, valid_s) = (be32(data, 0), be32(data, 4));
                    let len = Some(data[8]).filter(|&len| len <= 128)?;
                    read.lent.push(Lent { address, len, preferred_s, valid_s });
                }
                _ => {}
            }
            Some(())
        })?;
        Some(read)
    }

    fn put(&self, to: &mut Vec<u8>) {
        let mut data = Vec::new();
        for word in [self.iaid, self.t1_s, self.t2_s] {
            data.extend(word.to_be_bytes());
        }
        for lent in &self.lent {
            let mut inner = Vec::new();
            let times = [lent.preferred_s.to_be_bytes(), lent.valid_s.to_be_bytes()].concat();
            if self.is_pd {
                inner.extend(times);
                inner.push(lent.len);
                inner.extend(lent.address.octets());
                put_option(&mut data, option::IA_PREFIX, &inner);
            } else {
                inner.extend(lent.address.octets());
                inner.extend(times);
                put_option(&mut data, option::IA_ADDRESS, &inner);
            }
        }
        if let Some(status) = self.status {
            put_option(&mut data, option::STATUS, &status.to_be_bytes());
        }
        put_option(to, if self.is_pd { option::IA_PD } else { option::IA_NA }, &data);
    }
}

fn put_option(to: &mut Vec<u8>, code: u16, data: &[u8]) {
    to.extend(code.to_be_bytes());
    to.extend((data.len() as u16).to_be_bytes());
    to.extend(data);
}

/// Goes over options; `None` if one runs past the end, or `each` says so.
fn each(mut rest: &[u8], mut each: impl FnMut(u16, &[u8]) -> Option<()>) -> Option<()> {
    while !rest.is_empty() {
        let (head, behind) = rest.split_first_chunk::<4>()?;
        let (data, behind) = behind.split_at_checked(be16(head, 2).into())?;
        each(be16(head, 0), data)?;
        rest = behind;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message() -> Message {
        let lent = |address: &str, len| {
            let address = address.parse().unwrap();
            Lent { address, len, preferred_s: 3600, valid_s: 7200 }
        };
        let mut message = Message::new(Kind::Reply, 0x0012_3456);
        message.push(option::CLIENT_ID, [0, 3, 0, 1, 2, 0, 0, 0, 0, 1]);
        message.push(option::WANTED, [0, 23, 0, 24]);
        message.push(option::DNS, "2001:db8::53".parse::<Ipv6Addr>().unwrap().octets());
        for (is_pd, lent) in [(false, lent("2001:db8::5", 128)), (true, lent("2001:db8:5::", 56))] {
            let (iaid, t1_s, t2_s, lent) = (7, 1800, 2880, vec![lent]);
            let status = Some(status::SUCCESS);
            message.associations.push(Association { is_pd, iaid, t1_s, t2_s, lent, status });
        }
        message
    }

    #[test]
    fn messages_are_read_as_written() {
        let message = message();
        let bytes = message.to_bytes();
        assert_eq!(bytes[..4], [7, 0x12, 0x34, 0x56]);
        assert_eq!(Message::read(&bytes), Some(message.clone()));
        assert!(message.wants(24) && !message.wants(25));
        assert_eq!(message.addresses(option::DNS).len(), 1);
        assert_eq!((message.status(), message.duid(option::SERVER_ID)), (0, None));
        for cut in 1..bytes.len() {
            // An option's end is a message's; any other place is none.
            if let Some(read) = Message::read(&bytes[..cut]) {
                assert!(read.options.len() + read.associations.len() < 5, "{cut}");
            }
        }
    }

    #[test]
    fn messages_that_are_none() {
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = message().to_bytes();
            change(&mut bytes);
            Message::read(&bytes)
        };
        assert_eq!(with(&|bytes| bytes[0] = 12), None, "a relay's");
        assert_eq!(with(&|bytes| bytes[6] = 0xff), None, "past the end");
        assert_eq!(with(&|bytes| bytes.extend([0, 3, 0, 4, 0, 0, 0, 1])), None, "cut off");
        let many = |bytes: &mut Vec<u8>| (0..MAX_OPTIONS).for_each(|_| bytes.extend([9, 9, 0, 0]));
        assert_eq!(with(&many), None, "too many");
        let long = |bytes: &mut Vec<u8>| {
            let at = bytes.len() - 6 - 25 + 8;
            bytes[at] = 129;
        };
        assert_eq!(with(&long), None, "a prefix of 129 bits");
    }

    #[test]
    fn relays_messages() {
        let (link, peer) = ("2001:db8::1".parse().unwrap(), "fe80::9".parse().unwrap());
        let options = vec![
            (option::INTERFACE_ID, b"ether1".to_vec()),
            (option::RELAYED, message().to_bytes()),
        ];
        for reply in [false, true] {
            let relayed = Relayed { reply, hops: 3, link, peer, options: options.clone() };
            let bytes = relayed.to_bytes();
            assert_eq!(bytes[..2], [12 + u8::from(reply), 3]);
            assert_eq!(Relayed::read(&bytes), Some(relayed.clone()));
            assert_eq!(Message::read(relayed.get(option::RELAYED).unwrap()), Some(message()));
            assert_eq!(Message::read(&bytes), None);
            assert_eq!(Relayed::read(&bytes[..bytes.len() - 1]), None, "past the end");
            assert_eq!(Relayed::read(&bytes[..33]), None, "cut off");
        }
        assert_eq!(Relayed::read(&[11; 40]), None);
        let many = [&[12; 34][..], &[0, 9, 0, 0].repeat(MAX_OPTIONS + 1)].concat();
        assert_eq!(Relayed::read(&many), None, "too many");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(mut bytes in proptest::collection::vec(0_u8..40, 0..300)) {
            if let Some(kind) = bytes.first_mut() {
                *kind = *kind % 11 + 1;
            }
            if let Some(message) = Message::read(&bytes) {
                prop_assert_eq!(Message::read(&message.to_bytes()).map(|again| again.kind), Some(message.kind));
            }
        }
    }
}
