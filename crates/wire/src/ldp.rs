//! LDP (RFC 5036): which label a router wants to see for which network.
//!
//! ```text
//! PDU       | version 2 | length 2 | LSR's identifier 4 | label space 2 | messages …
//! message   | U, type 2 | length 2 | identifier 4 | TLVs …
//! TLV       | U F, type 2 | length 2 | value …
//! ```
//!
//! Hellos come by UDP, one PDU a datagram; all else by TCP, PDU after PDU. Views take any bytes: a length that
//! contradicts another ends the session ([`Fault`]). What is not known and says so (U) is passed over.
//!
//! Missing: **labels of ATM and Frame Relay**, **path vectors**, IPv6's prefixes and pseudowires, which are
//! passed over.

use crate::Ipv4Prefix;
use crate::bytes::{be16, be32};
use crate::mpls::Label;

/// The port, of UDP and of TCP.
pub const PORT: u16 = 646;
/// All routers of a link, 224.0.0.2: whom hellos are for.
pub const GROUP: u32 = 0xe000_0002;
/// The longest PDU, if nobody says less (§3.5.3).
pub const LONGEST: u16 = 4096;

/// Version and length.
const HEAD: usize = 4;
const VERSION: u16 = 1;
/// To be passed over by whoever does not know it.
const UNKNOWN_BIT: u16 = 0x8000;
/// Messages to a PDU of ours: so long that it is no longer than anybody takes.
const FILL: usize = 1024;

/// What a router says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Something is wrong, or over.
    Notification {
        /// What (§3.9), without its two flags.
        status: u32,
        /// Whether the session ends.
        is_fatal: bool,
    },
    /// Somebody is there.
    Hello {
        /// How long that holds, in seconds; 0 is the default, 65,535 for ever.
        hold: u16,
        /// It is for one router alone, maybe far away.
        is_targeted: bool,
        /// Whom TCP speaks to, if it is not the sender.
        transport: Option<u32>,
    },
    /// How a session is to be.
    Init {
        /// So many seconds without a PDU end it.
        keepalive: u16,
        /// Labels are asked for one by one.
        on_demand: bool,
        /// The longest PDU; up to 255 is the default.
        longest: u16,
        /// Whom it is meant for: the identifier and its label space.
        receiver: (u32, u16),
    },
    /// Still there.
    KeepAlive,
    /// The sender has these addresses.
    Address(Vec<u32>),
    /// No longer.
    AddressWithdraw(Vec<u32>),
    /// Packets for these networks are to come with this label.
    Mapping(Vec<Fec>, Label),
    /// Which label, for these?
    Request(Vec<Fec>),
    /// No longer with this label, or with any.
    Withdraw(Vec<Fec>, Option<Label>),
    /// The label is not used any more.
    Release(Vec<Fec>, Option<Label>),
    /// What is passed over.
    Other(u16),
}

/// What a label is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fec {
    /// All that the message can be about.
    Wildcard,
    /// A network.
    Prefix(Ipv4Prefix),
}

/// A message, and the number its sender gave it.
pub type Numbered = (u32, Message);

/// What one router says at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Its identifier.
    pub lsr: u32,
    /// Whose labels these are; 0 are those of the router as a whole.
    pub space: u16,
    /// What it says.
    pub messages: Vec<Numbered>,
}

/// What ends a session, by its number in a notification (§3.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub u32);

/// Numbers of what notifications say (§3.9).
pub mod status {
    /// Whose identifier is this?
    pub const BAD_IDENTIFIER: u32 = 1;
    /// Not version 1.
    pub const BAD_VERSION: u32 = 2;
    /// A PDU too short or too long.
    pub const BAD_PDU_LENGTH: u32 = 3;
    /// A message that does not fit its PDU.
    pub const BAD_MESSAGE_LENGTH: u32 = 5;
    /// A TLV that does not fit its message.
    pub const BAD_TLV_LENGTH: u32 = 7;
    /// A value that cannot be.
    pub const MALFORMED_TLV: u32 = 8;
    /// Nobody has said hello for too long.
    pub const HOLD_EXPIRED: u32 = 9;
    /// The router does not want any more.
    pub const SHUTDOWN: u32 = 10;
    /// There is no way there.
    pub const NO_ROUTE: u32 = 13;
    /// No hello was heard of who wants to have a session.
    pub const NO_HELLO: u32 = 16;
    /// Nothing was heard for too long.
    pub const KEEPALIVE_EXPIRED: u32 = 20;
}

mod kind {
    pub(super) const NOTIFICATION: u16 = 0x0001;
    pub(super) const HELLO: u16 = 0x0100;
    pub(super) const INIT: u16 = 0x0200;
    pub(super) const KEEPALIVE: u16 = 0x0201;
    pub(super) const ADDRESS: u16 = 0x0300;
    pub(super) const ADDRESS_WITHDRAW: u16 = 0x0301;
    pub(super) const MAPPING: u16 = 0x0400;
    pub(super) const REQUEST: u16 = 0x0401;
    pub(super) const WITHDRAW: u16 = 0x0402;
    pub(super) const RELEASE: u16 = 0x0403;
}

mod tlv {
    pub(super) const FEC: u16 = 0x0100;
    pub(super) const ADDRESSES: u16 = 0x0101;
    pub(super) const LABEL: u16 = 0x0200;
    pub(super) const STATUS: u16 = 0x0300;
    pub(super) const HELLO: u16 = 0x0400;
    pub(super) const TRANSPORT: u16 = 0x0401;
    pub(super) const SESSION: u16 = 0x0500;
}

/// IPv4's number among families of addresses.
const IPV4: u16 = 1;

impl Pdu {
    /// The first PDU of what TCP has brought, and how long it is; `None` if it is not whole yet.
    ///
    /// # Errors
    /// What ends the session.
    pub fn first(bytes: &[u8]) -> Result<Option<(Pdu, usize)>, Fault> {
        let Some(head) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let (version, len) = (be16(head, 0), be16(head, 2));
        if version != VERSION {
            return Err(Fault(status::BAD_VERSION));
        }
        if !(6..=LONGEST).contains(&len) {
            return Err(Fault(status::BAD_PDU_LENGTH));
        }
        let end = HEAD + usize::from(len);
        let Some(body) = bytes.get(HEAD..end) else { return Ok(None) };
        let mut messages = Vec::new();
        let mut rest = &body[6..];
        while !rest.is_empty() {
            let (numbered, behind) = message(rest)?;
            messages.push(numbered);
            rest = behind;
        }
        Ok(Some((Pdu { lsr: be32(body, 0), space: be16(body, 4), messages }, end)))
    }

    /// As a datagram says it: nothing is behind it.
    ///
    /// # Errors
    /// As of [`first`](Self::first); what is cut off is too short.
    pub fn read(bytes: &[u8]) -> Result<Pdu, Fault> {
        let whole = Pdu::first(bytes)?.filter(|(_, len)| *len == bytes.len());
        whole.map(|(pdu, _)| pdu).ok_or(Fault(status::BAD_PDU_LENGTH))
    }
}

/// PDUs with these messages, whose numbers begin with `id`: so many that each is short.
pub fn write(lsr: u32, messages: &[Message], id: &mut u32) -> Vec<u8> {
    let mut all = Vec::new();
    let mut rest = messages.iter().peekable();
    while rest.peek().is_some() {
        let from = all.len();
        all.extend(VERSION.to_be_bytes());
        all.extend([0; 2]);
        all.extend(lsr.to_be_bytes());
        all.extend([0; 2]);
        while let Some(message) = rest.next_if(|_| all.len() - from < FILL) {
            *id = id.wrapping_add(1);
            put_message(&mut all, message, *id);
        }
        put_len(&mut all, from + 2);
    }
    all
}

/// Writes how much stands behind a length.
fn put_len(bytes: &mut [u8], at: usize) {
    let len = (bytes.len() - at - 2) as u16;
    bytes[at..at + 2].copy_from_slice(&len.to_be_bytes());
}

fn put_message(all: &mut Vec<u8>, message: &Message, id: u32) {
    let kind = match message {
        Message::Notification { .. } => kind::NOTIFICATION,
        Message::Hello { .. } => kind::HELLO,
        Message::Init { .. } => kind::INIT,
        Message::KeepAlive => kind::KEEPALIVE,
        Message::Address(_) => kind::ADDRESS,
        Message::AddressWithdraw(_) => kind::ADDRESS_WITHDRAW,
        Message::Mapping(..) => kind::MAPPING,
        Message::Request(_) => kind::REQUEST,
        Message::Withdraw(..) => kind::WITHDRAW,
        Message::Release(..) => kind::RELEASE,
        Message::Other(kind) => *kind,
    };
    all.extend(kind.to_be_bytes());
    let at = all.len();
    all.extend([0; 2]);
    all.extend(id.to_be_bytes());
    match message {
        Message::Notification { status, is_fatal } => {
            let code = status | if *is_fatal { 1 << 31 } else { 0 };
            put(all, tlv::STATUS, &[&code.to_be_bytes(), &[0; 6]]);
        }
        Message::Hello { hold, is_targeted, transport } => {
            // Who is greeted so is asked to do the same.
            let flags: u16 = if *is_targeted { 0xc000 } else { 0 };
            put(all, tlv::HELLO, &[&hold.to_be_bytes(), &flags.to_be_bytes()]);
            if let Some(transport) = transport {
                put(all, tlv::TRANSPORT, &[&transport.to_be_bytes()]);
            }
        }
        Message::Init { keepalive, on_demand, longest, receiver: (lsr, space) } => {
            let parts: [&[u8]; 6] = [
                &VERSION.to_be_bytes(),
                &keepalive.to_be_bytes(),
                &[if *on_demand { 0x80 } else { 0 }, 0],
                &longest.to_be_bytes(),
                &lsr.to_be_bytes(),
                &space.to_be_bytes(),
            ];
            put(all, tlv::SESSION, &parts);
        }
        Message::KeepAlive | Message::Other(_) => {}
        Message::Address(addresses) | Message::AddressWithdraw(addresses) => {
            let list: Vec<u8> = addresses.iter().flat_map(|own| own.to_be_bytes()).collect();
            put(all, tlv::ADDRESSES, &[&IPV4.to_be_bytes(), &list]);
        }
        Message::Mapping(fecs, label) => put_fecs(all, fecs, Some(*label)),
        Message::Request(fecs) => put_fecs(all, fecs, None),
        Message::Withdraw(fecs, label) | Message::Release(fecs, label) => {
            put_fecs(all, fecs, *label);
        }
    }
    put_len(all, at);
}

fn put(all: &mut Vec<u8>, kind: u16, parts: &[&[u8]]) {
    all.extend(kind.to_be_bytes());
    let at = all.len();
    all.extend([0; 2]);
    parts.iter().for_each(|part| all.extend_from_slice(part));
    put_len(all, at);
}

fn put_fecs(all: &mut Vec<u8>, fecs: &[Fec], label: Option<Label>) {
    let mut elements = Vec::new();
    for fec in fecs {
        match fec {
            Fec::Wildcard => elements.push(1),
            Fec::Prefix(prefix) => {
                elements.extend([2, 0, 1, prefix.len()]);
                let bytes = usize::from(prefix.len().div_ceil(8));
                elements.extend(&prefix.bits().to_be_bytes()[..bytes]);
            }
        }
    }
    put(all, tlv::FEC, &[&elements]);
    if let Some(label) = label {
        put(all, tlv::LABEL, &[&label.number().to_be_bytes()]);
    }
}

/// What a message's TLVs say that somebody asks for.
#[derive(Default)]
struct Said {
    fecs: Option<Vec<Fec>>,
    addresses: Option<Vec<u32>>,
    label: Option<Label>,
    status: Option<u32>,
    hello: Option<(u16, u16)>,
    transport: Option<u32>,
    session: Option<Message>,
}

fn message(bytes: &[u8]) -> Result<(Numbered, &[u8]), Fault> {
    let head = bytes.first_chunk::<8>().ok_or(Fault(status::BAD_MESSAGE_LENGTH))?;
    let (kind, len) = (be16(head, 0) & !UNKNOWN_BIT, usize::from(be16(head, 2)));
    let body = bytes.get(8..4 + len).ok_or(Fault(status::BAD_MESSAGE_LENGTH))?;
    let said = Said::of(body)?;
    let missing = Fault(status::MALFORMED_TLV);
    let message = match kind {
        kind::NOTIFICATION => {
            let code = said.status.ok_or(missing)?;
            Message::Notification { status: code & 0x3fff_ffff, is_fatal: code >> 31 != 0 }
        }
        kind::HELLO => {
            let (hold, flags) = said.hello.ok_or(missing)?;
            let (is_targeted, transport) = (flags & 0x8000 != 0, said.transport);
            Message::Hello { hold, is_targeted, transport }
        }
        kind::INIT => said.session.ok_or(missing)?,
        kind::KEEPALIVE => Message::KeepAlive,
        kind::ADDRESS => Message::Address(said.addresses.ok_or(missing)?),
        kind::ADDRESS_WITHDRAW => Message::AddressWithdraw(said.addresses.ok_or(missing)?),
        // A label of another kind of link is none of ours.
        kind::MAPPING => match (said.fecs.ok_or(missing)?, said.label) {
            (fecs, Some(label)) => Message::Mapping(fecs, label),
            (_, None) => Message::Other(kind),
        },
        kind::REQUEST => Message::Request(said.fecs.ok_or(missing)?),
        kind::WITHDRAW => Message::Withdraw(said.fecs.ok_or(missing)?, said.label),
        kind::RELEASE => Message::Release(said.fecs.ok_or(missing)?, said.label),
        other => Message::Other(other),
    };
    Ok(((be32(head, 4), message), &bytes[4 + len..]))
}

impl Said {
    fn of(mut rest: &[u8]) -> Result<Said, Fault> {
        let mut said = Said::default();
        let wrong = Fault(status::MALFORMED_TLV);
        while !rest.is_empty() {
            let head = rest.first_chunk::<4>().ok_or(Fault(status::BAD_TLV_LENGTH))?;
            // Whether it is to be sent on does not matter here: nothing is.
            let (kind, len) = (be16(head, 0) & 0x3fff, usize::from(be16(head, 2)));
            let value = rest.get(4..4 + len).ok_or(Fault(status::BAD_TLV_LENGTH))?;
            rest = &rest[4 + len..];
            match kind {
                tlv::FEC => said.fecs = Some(fecs(value)?),
                tlv::ADDRESSES => {
                    let (family, list) = value.split_first_chunk::<2>().ok_or(wrong)?;
                    let is_ours = be16(family, 0) == IPV4;
                    let of_ours = if is_ours { list } else { &[] };
                    if of_ours.len() % 4 != 0 {
                        return Err(wrong);
                    }
                    said.addresses = Some(of_ours.chunks_exact(4).map(|a| be32(a, 0)).collect());
                }
                tlv::LABEL => {
                    let number = value.first_chunk::<4>().filter(|_| len == 4).ok_or(wrong)?;
                    said.label = Some(Label::new(be32(number, 0)).ok_or(wrong)?);
                }
                tlv::STATUS => said.status = Some(be32(value.get(..10).ok_or(wrong)?, 0)),
                tlv::HELLO => {
                    let value = value.get(..4).ok_or(wrong)?;
                    said.hello = Some((be16(value, 0), be16(value, 2)));
                }
                tlv::TRANSPORT => said.transport = Some(be32(value.get(..4).ok_or(wrong)?, 0)),
                tlv::SESSION => {
                    let value = value.get(..14).ok_or(wrong)?;
                    if be16(value, 0) != VERSION {
                        return Err(Fault(status::BAD_VERSION));
                    }
                    said.session = Some(Message::Init {
                        keepalive: be16(value, 2),
                        on_demand: value[4] & 0x80 != 0,
                        longest: be16(value, 6),
                        receiver: (be32(value, 8), be16(value, 12)),
                    });
                }
                _ => {}
            }
        }
        Ok(said)
    }
}

/// The elements that are known. One that is not says its length nowhere, or in its own way: it ends the list.
fn fecs(mut rest: &[u8]) -> Result<Vec<Fec>, Fault> {
    let wrong = Fault(status::MALFORMED_TLV);
    let mut all = Vec::new();
    while let Some((&kind, behind)) = rest.split_first() {
        match kind {
            1 => {
                all.push(Fec::Wildcard);
                rest = behind;
            }
            2 => {
                let head = behind.first_chunk::<3>().ok_or(wrong)?;
                let (family, len) = (be16(head, 0), head[2]);
                let n = usize::from(len.div_ceil(8));
                let bytes = behind.get(3..3 + n).ok_or(wrong)?;
                if family == IPV4 {
                    if len > 32 {
                        return Err(wrong);
                    }
                    let mut bits = [0; 4];
                    bits[..n].copy_from_slice(bytes);
                    all.push(Fec::Prefix(Ipv4Prefix::new(u32::from_be_bytes(bits), len)));
                }
                rest = &behind[3 + n..];
            }
            _ => break,
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(number: u32) -> Label {
        Label::new(number).unwrap()
    }

    fn all() -> Vec<Message> {
        let net = |bits: u32, len| Fec::Prefix(Ipv4Prefix::new(bits, len));
        vec![
            Message::Hello { hold: 15, is_targeted: false, transport: Some(0x0aff_0001) },
            Message::Hello { hold: 45, is_targeted: true, transport: None },
            Message::Init {
                keepalive: 180,
                on_demand: false,
                longest: 4096,
                receiver: (0x0aff_0002, 0),
            },
            Message::KeepAlive,
            Message::Address(vec![0x0a00_0001, 0x0aff_0001]),
            Message::AddressWithdraw(vec![0x0a00_0001]),
            Message::Mapping(vec![net(0x0aff_0002, 32)], label(16)),
            Message::Mapping(vec![net(0, 0), net(0x0a01_0000, 16)], Label::IMPLICIT_NULL),
            Message::Request(vec![net(0x0a80_0000, 9)]),
            Message::Withdraw(vec![Fec::Wildcard], Some(label(1000))),
            Message::Release(vec![net(0x0a01_0200, 24)], None),
            Message::Notification { status: status::SHUTDOWN, is_fatal: true },
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        let (all, mut id) = (all(), 7);
        let bytes = write(0x0aff_0001, &all, &mut id);
        let pdu = Pdu::read(&bytes).unwrap();
        assert_eq!((pdu.lsr, pdu.space), (0x0aff_0001, 0));
        let (ids, read): (Vec<u32>, Vec<Message>) = pdu.messages.into_iter().unzip();
        assert_eq!(read, all);
        assert_eq!(ids, (8..8 + all.len() as u32).collect::<Vec<_>>());
    }

    /// A mapping as FRR's ldpd sends it.
    #[test]
    fn bytes_of_the_document() {
        let bytes = [
            0, 1, 0, 34, 10, 255, 0, 1, 0, 0, // PDU
            4, 0, 0, 24, 0, 0, 0, 9, // mapping
            1, 0, 0, 8, 2, 0, 1, 32, 10, 255, 0, 2, // prefix
            2, 0, 0, 4, 0, 0, 0, 18, // label
        ];
        let fec = Fec::Prefix(Ipv4Prefix::new(0x0aff_0002, 32));
        let mapping = Message::Mapping(vec![fec], label(18));
        let pdu = Pdu::read(&bytes).unwrap();
        assert_eq!(pdu.messages, [(9, mapping.clone())]);
        assert_eq!(write(0x0aff_0001, &[mapping], &mut 8), bytes);
    }

    #[test]
    fn many_go_in_several() {
        let many: Vec<Message> = (0..500)
            .map(|n| {
                let fec = Fec::Prefix(Ipv4Prefix::new(0x0a00_0000 | n << 8, 24));
                Message::Mapping(vec![fec], label(16 + n))
            })
            .collect();
        let bytes = write(1, &many, &mut 0);
        let (mut rest, mut read) = (&bytes[..], Vec::new());
        while let Some((pdu, len)) = Pdu::first(rest).unwrap() {
            assert!(len < 1200, "{len}");
            read.extend(pdu.messages.into_iter().map(|(_, message)| message));
            rest = &rest[len..];
        }
        assert!(rest.is_empty());
        assert_eq!(read, many);
    }

    #[test]
    fn what_contradicts_itself_is_a_fault() {
        let good = write(1, &all(), &mut 0);
        for (at, value, fault) in [
            (1, 2, status::BAD_VERSION),
            (2, 0xff, status::BAD_PDU_LENGTH),
            (13, 0xff, status::BAD_MESSAGE_LENGTH),
            (21, 0xff, status::BAD_TLV_LENGTH),
            (21, 0x02, status::MALFORMED_TLV),
        ] {
            let mut bytes = good.clone();
            bytes[at] = value;
            assert_eq!(Pdu::first(&bytes), Err(Fault(fault)), "{at}");
        }
        for len in 0..good.len() {
            assert_eq!(Pdu::first(&good[..len]), Ok(None), "{len}");
        }
    }

    #[test]
    fn no_bytes_panic() {
        let good = write(1, &all(), &mut 0);
        let mut dice = 1u64;
        for _ in 0..20_000 {
            let mut bytes = good.clone();
            for _ in 0..4 {
                dice = dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let at = (dice >> 33) as usize % bytes.len();
                bytes[at] ^= (dice >> 20) as u8;
            }
            let _ = Pdu::first(&bytes);
        }
    }
}
