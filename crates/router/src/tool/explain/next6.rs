//! The frames of a conversation over IPv6: what answers a frame, and what follows it.

use super::question::segment;
use super::question6::{fill_checksum, tuple};
use crate::router::Router;
use wire::icmpv6::{Neighbour, kind};
use wire::ipv6::{HEADER_LEN, header};
use wire::layers::{self, protocol};
use wire::{FiveTuple, MacAddr, TcpFlags};

/// Where a frame's IPv6 header stands, if nothing but its transport follows.
fn plain(frame: &[u8]) -> Option<(usize, FiveTuple<u128>)> {
    let (tuple, upper) = tuple(frame)?;
    let layers = layers::network(frame).ok()?;
    let l3 = usize::from(layers.l3);
    (upper.len() + HEADER_LEN == usize::from(layers.l3_end) - l3).then_some((l3, tuple))
}

/// The frame that answers one the router has sent.
pub(super) fn answer(r: &Router, frame: &[u8], syn: bool) -> Option<Vec<u8>> {
    let (l3, asked) = plain(frame)?;
    let mut back = frame.to_vec();
    back.copy_within(6..12, 0);
    let from = MacAddr(*frame.first_chunk()?);
    let from = if from.is_multicast() { MacAddr([0x06, 0, 0, 0, 0, 0x04]) } else { from };
    back[6..12].copy_from_slice(&from.0);
    let tuple = asked.reversed();
    let ip = &mut back[l3..];
    ip[7] = 64;
    ip[8..24].copy_from_slice(&tuple.src.to_be_bytes());
    ip[24..40].copy_from_slice(&tuple.dst.to_be_bytes());
    let len = HEADER_LEN + usize::from(u16::from_be_bytes([ip[4], ip[5]]));
    let upper = &mut ip[HEADER_LEN..len];
    match tuple.protocol {
        protocol::UDP => {
            upper[..2].copy_from_slice(&tuple.src_port.to_be_bytes());
            upper[2..4].copy_from_slice(&tuple.dst_port.to_be_bytes());
        }
        protocol::TCP => {
            let flags = if syn { TcpFlags::SYN.0 | TcpFlags::ACK.0 } else { TcpFlags::ACK.0 };
            let mut header = segment(r, tuple, Some(flags));
            if syn {
                // The other side has not spoken yet: it begins anywhere.
                let seq = u32::from_be_bytes(*upper.get(4..)?.first_chunk()?);
                (header.seq, header.ack) = (1, seq.wrapping_add(1));
            }
            write(upper, &header.to_bytes());
        }
        header::ICMPV6 if upper[0] == kind::ECHO_REQUEST => upper[0] = kind::ECHO_REPLY,
        header::ICMPV6 => return None,
        _ => {}
    }
    fill_checksum(tuple.src, tuple.dst, tuple.protocol, upper);
    Some(back)
}

/// The next frame like the first one: a segment goes on where its connection stands.
pub(super) fn again(r: &Router, first: &[u8]) -> Option<Vec<u8>> {
    let (l3, tuple) = plain(first)?;
    let mut next = first.to_vec();
    let len = HEADER_LEN + usize::from(u16::from_be_bytes([first[l3 + 4], first[l3 + 5]]));
    let upper = next.get_mut(l3 + HEADER_LEN..l3 + len)?;
    let opens = upper.get(13).is_some_and(|flags| flags & TcpFlags::SYN.0 != 0);
    if tuple.protocol == protocol::TCP && opens {
        write(upper, &segment(r, tuple, Some(TcpFlags::ACK.0)).to_bytes());
        fill_checksum(tuple.src, tuple.dst, tuple.protocol, upper);
    }
    Some(next)
}

/// Writes a TCP header over another one, whose options become data.
fn write(upper: &mut [u8], header: &[u8]) {
    if let Some(place) = upper.get_mut(..header.len()) {
        place.copy_from_slice(header);
    }
}

/// What the neighbour says that a solicitation in this frame asks for; `None` if there is none in it.
pub(super) fn advertisement(frame: &[u8]) -> Option<Vec<u8>> {
    const NEIGHBOUR: MacAddr = MacAddr([0x06, 0, 0, 0, 0, 0x03]);
    let (l3, asked) = plain(frame)?;
    let message = frame.get(l3 + HEADER_LEN..)?;
    let said =
        Neighbour::read(message).ok().filter(|said| !said.advertisement && asked.src != 0)?;
    let target = said.target;
    let (advertisement, solicited, override_, router) = (true, true, true, false);
    let mac = Some(NEIGHBOUR);
    let said = Neighbour { advertisement, router, solicited, override_, target, mac };
    let (bytes, len) = said.to_bytes();
    let mut upper = bytes[..len].to_vec();
    fill_checksum(target.into(), asked.src, header::ICMPV6, &mut upper);
    let mut back = frame[..l3 + HEADER_LEN].to_vec();
    back.copy_within(6..12, 0);
    back[6..12].copy_from_slice(&NEIGHBOUR.0);
    back[l3 + 4..l3 + 6].copy_from_slice(&(len as u16).to_be_bytes());
    back[l3 + 8..l3 + 24].copy_from_slice(&target.octets());
    back[l3 + 24..l3 + 40].copy_from_slice(&asked.src.to_be_bytes());
    back.extend(upper);
    Some(back)
}
