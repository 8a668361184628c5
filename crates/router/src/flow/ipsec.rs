//! IPsec's part of the flow: packets encrypted on their way out, decrypted on their way in, IKE's messages.
//!
//! ```text
//!  ip_out ─► [encrypt] ─► LOCAL OUT         local_in ─► [receive] ─┬─ ESP: [decrypt] ─► PREROUTING
//!                                                                  └─ IKE: Turn::received
//! ```
//!
//! ```text
//! tunnel     │ IPv4 │ UDP, behind NAT │ ESP 8 │ IV │ packet                      │ padding, its length, 4 │ ICV │
//! transport  │ its own │ …            │ ESP 8 │ IV │ what is behind its IPv4 header │ …, its protocol     │ ICV │
//! ```

use super::leave::Leaving;
use super::local::refuse;
use super::routing;
use super::tunnel::{MOST, in_one_piece, send_outer};
use crate::discard::Discard;
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::ip::datagram::{self, End};
use crate::ip::dns::resolver::own_address;
use crate::ip::fragment;
use crate::ip::icmp::{self, write_ipv4};
use crate::ip::ipsec::exchange::{Bad, Turn};
use crate::ip::ipsec::is_own;
use crate::ip::ipsec::settings::{Action, Key, Settings};
use crate::packet::Packet;
use crate::router::Router;
use crate::step::Step;
use crate::story::Event;
use port::Frame;
use std::ops::Range;
use wire::ike::{NAT_PORT, PORT};
use wire::layers::{self, ETHERTYPE_IPV4, protocol};
use wire::{FiveTuple, Layers, Moment, checksum};

/// ESP's SPI and sequence number.
const ESP: usize = 8;
const UDP: usize = 8;
/// What stands in front of IKE's messages on the port for those behind NAT.
const NO_SPI: [u8; 4] = [0; 4];
/// What is longer may not be in one frame.
const LONG: usize = 1600;
const IPV4_INSIDE: u8 = 4;
const NOTHING_INSIDE: u8 = 59;

/// Whether a packet for the router is IPsec's, and there is some.
pub(super) fn is_asked(r: &Router, p: &Packet) -> bool {
    let FiveTuple { protocol, dst_port, .. } = p.layers.tuple;
    let is_its = match protocol {
        protocol::ESP => true,
        protocol::UDP => [PORT, NAT_PORT].contains(&dst_port),
        _ => false,
    };
    is_its && r.program.ipsec.is_some()
}

/// It has come to LOCAL IN.
pub(super) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let tuple = p.layers.tuple;
    let is_ike = tuple.protocol == protocol::UDP && tuple.dst_port == PORT;
    if !p.rest.is_empty() && !is_ike && usize::from(p.ip_len) > LONG {
        return decrypt_long(r, now, p);
    }
    let Some(p) = in_one_piece(r, p) else { return };
    if tuple.protocol == protocol::ESP {
        let start = usize::from(p.layers.l3) + r.ip_header(&p).len();
        return decrypt(r, now, p, start);
    }
    let Some(bytes) = r.datagram(&p) else { return r.discard(p, Discard::BadIke) };
    let message = match (tuple.dst_port == NAT_PORT, bytes.strip_prefix(&NO_SPI)) {
        (false, _) => bytes,
        (true, Some(message)) => message,
        // Somebody keeps a NAT open.
        (true, None) if bytes == [0xff] => return r.consume(p),
        (true, None) => {
            let start = usize::from(p.layers.l4) + UDP;
            return decrypt(r, now, p, start);
        }
    };
    let ends = (
        End { address: tuple.dst, port: tuple.dst_port },
        End { address: tuple.src, port: tuple.src_port },
    );
    let message = message.to_vec();
    r.tell(|| Event::Local);
    match turn(r, now, |turn, _| turn.received(ends, &message)) {
        Ok(()) => r.consume(p),
        Err(Bad) => r.discard(p, Discard::BadIke),
    }
}

/// Lets IKE do what is due, or take a message, and sends what comes of it.
fn turn<T>(r: &mut Router, now: Moment, run: impl FnOnce(&mut Turn<'_>, &Router) -> T) -> T {
    let settings = r.program.ipsec.clone();
    let nothing = Settings::default();
    let settings = settings.as_deref().unwrap_or(&nothing);
    let mut ike = std::mem::take(&mut r.services.ipsec);
    let mut dice = std::mem::take(&mut r.services.dice);
    let (out, said) = (Vec::new(), Vec::new());
    let mut turn = Turn { ike: &mut ike, settings, dice: &mut dice, now, out, said };
    let done = run(&mut turn, r);
    let Turn { out, said, .. } = turn;
    (r.services.ipsec, r.services.dice) = (ike, dice);
    for text in said {
        r.stats.log.say(now, "ipsec,info", &text);
    }
    for datagram in out {
        let marked =
            if datagram.in_nat { [&NO_SPI[..], &datagram.bytes].concat() } else { datagram.bytes };
        datagram::send(r, now, datagram.ends, &marked);
    }
    done
}

/// Lets IKE do what is due.
#[cold]
pub(super) fn tick(r: &mut Router, now: Moment) {
    turn(r, now, |turn, r| turn.tick(|to| own_address(r, to)));
}

/// Whether a packet came as it is that a policy wants encrypted.
#[inline]
pub(super) fn is_in_the_clear(r: &Router, p: &Packet) -> bool {
    r.program.ipsec.is_some()
        && !p.is_decrypted
        && p.port.is_some()
        && p.layers.ether_type == ETHERTYPE_IPV4
        && r.ipsec_wants(&p.layers.tuple)
}

/// IPSEC POLICY: whether a packet that leaves is encrypted first. `None` if it is gone: it must be, and there are no
/// keys, or it is too long by that.
#[inline]
pub(super) fn meet(r: &mut Router, now: Moment, p: Packet) -> Option<(Packet, bool)> {
    if r.program.ipsec.is_none() || p.layers.ether_type != ETHERTYPE_IPV4 {
        return Some((p, false));
    }
    meet_some(r, now, p)
}

#[inline(never)]
fn meet_some(r: &mut Router, now: Moment, mut p: Packet) -> Option<(Packet, bool)> {
    let tuple = p.layers.tuple;
    let is_ours = p.port == InterfaceId::NONE && is_own(tuple);
    let Some(policy) = r.ipsec_out(&tuple).filter(|_| !is_ours).cloned() else {
        return Some((p, false));
    };
    if policy.action == Action::Discard {
        r.discard(p, Discard::IpsecDiscard);
        return None;
    }
    let mtu = r.program.interface(p.out_interface).mtu;
    let Some(most) = most(r, policy.key(tuple.dst), mtu) else {
        r.services.ipsec.due = now;
        if policy.is_optional {
            // The next one may be encrypted.
            p.trace.once = true;
            return Some((p, false));
        }
        r.discard(p, Discard::NoSecurityAssociation);
        return None;
    };
    if r.longest_piece(&p) > most && r.dont_fragment(&p) {
        let error = icmp::Error::fragmentation_needed(most);
        refuse(r, now, p, Discard::FragmentationNeeded, error);
        return None;
    }
    p.fast = false;
    r.tell(|| Event::Encrypts);
    Some((p, true))
}

/// A packet that a policy wants encrypted has passed its queues.
pub(super) fn encrypt(r: &mut Router, now: Moment, leaving: Leaving) {
    let Leaving { frame, rest, l3, .. } = leaving;
    for frame in std::iter::once(frame).chain(rest.into_iter().map(|piece| piece.frame)) {
        if frame.has_offload() {
            r.finish_out(frame, |r, frame| encrypt_one(r, now, frame, l3));
        } else {
            encrypt_one(r, now, frame, l3);
        }
    }
}

fn encrypt_one(r: &mut Router, now: Moment, frame: Frame, l3: u16) {
    let layers = layers::network(r.io.slab.bytes(&frame)).unwrap_or_default();
    let policy = r.ipsec_out(&layers.tuple).map(|policy| policy.key(layers.tuple.dst));
    // The other end may have agreed to a part of the policy only.
    let admits = |at: &u32| {
        let child = r.services.ipsec.children.get(at);
        child.is_some_and(|child| child.admits(&layers.tuple.reversed()))
    };
    let Some(at) = policy.and_then(|key| child_of(r, key)).filter(admits) else {
        return r.discard_frame(frame, Discard::NoSecurityAssociation);
    };
    if r.link.depth >= MOST {
        return r.discard_frame(frame, Discard::TunnelLoop);
    }
    r.at(Step::Encapsulation);
    let Some(sealed) = sealed(r, &frame, &layers, usize::from(l3), at) else {
        return r.discard_frame(frame, Discard::NoFrame);
    };
    r.io.pool.free(frame);
    r.link.depth += 1;
    send_outer(r, now, sealed, false);
    r.link.depth -= 1;
}

/// The SPI of what comes of the child that a policy's packets leave by.
fn child_of(r: &Router, policy: Key) -> Option<u32> {
    r.services.ipsec.current.get(&policy).copied()
}

/// How long a packet may be that a policy wants encrypted, to fit so; `None` without keys.
fn most(r: &Router, policy: Key, mtu: u16) -> Option<u16> {
    let child = r.services.ipsec.children.get(&child_of(r, policy)?)?;
    let sealer = &child.sealers[1];
    let around = 20 + if child.in_nat { UDP } else { 0 } + ESP + sealer.iv_len() + sealer.icv_len();
    let blocks = usize::from(mtu).saturating_sub(around) / sealer.block() * sealer.block();
    let most = blocks.saturating_sub(2) + if child.is_tunnel { 0 } else { 20 };
    Some(most as u16)
}

/// A new frame with the packet encrypted.
fn sealed(r: &mut Router, frame: &Frame, layers: &Layers, l3: usize, at: u32) -> Option<Frame> {
    let slab = r.io.slab.clone();
    let packet = slab.bytes(frame).get(l3..usize::from(layers.l3_end))?;
    let identification = r.link.next_identification();
    let child = r.services.ipsec.children.get_mut(&at)?;
    let header = 4 * usize::from(packet.first()? & 0xf);
    let (inside, next) = match child.is_tunnel {
        true => (packet, IPV4_INSIDE),
        false => (packet.get(header..)?, *packet.get(9)?),
    };
    let sealer = child.sealers.clone();
    let sealer = &sealer[1];
    let padding = (sealer.block() - (inside.len() + 2) % sealer.block()) % sealer.block();
    let ip_len = if child.is_tunnel { 20 } else { header };
    let udp_len = if child.in_nat { UDP } else { 0 };
    let esp = 14 + ip_len + udp_len;
    let begin = esp + ESP + sealer.iv_len();
    let end = begin + inside.len() + padding + 2;
    let len = end + sealer.icv_len();
    if len - 14 > usize::from(u16::MAX) {
        return None;
    }
    let sequence = child.sequence.checked_add(1)?;
    let mut new = r.io.pool.alloc(len)?;
    child.sequence = sequence;
    child.counts[1].add(packet.len() as u64);
    let (own, other, spi) = (child.ends.0, child.ends.1, child.spis[1]);
    let bytes = slab.bytes_mut(&mut new);
    bytes[..12].fill(0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    bytes[esp..esp + 4].copy_from_slice(&spi.to_be_bytes());
    bytes[esp + 4..esp + ESP].copy_from_slice(&sequence.to_be_bytes());
    bytes[begin..begin + inside.len()].copy_from_slice(inside);
    if child.in_nat && !child.is_tunnel && next == protocol::UDP && inside.len() >= UDP {
        bytes[begin + 6..begin + 8].fill(0);
    }
    for (n, byte) in bytes[begin + inside.len()..end - 2].iter_mut().enumerate() {
        *byte = n as u8 + 1;
    }
    bytes[end - 2..end].copy_from_slice(&[padding as u8, next]);
    sealer.seal(&mut bytes[esp..len], ESP, u64::from(spi) << 32 | u64::from(sequence));
    let outer = if udp_len == 0 { protocol::ESP } else { protocol::UDP };
    match child.is_tunnel {
        true => {
            write_ipv4(&mut bytes[14..len], packet[1] & 0xfc, outer, own.address, other.address);
            bytes[18..20].copy_from_slice(&identification.to_be_bytes());
        }
        false => {
            bytes[14..14 + header].copy_from_slice(&packet[..header]);
            bytes[16..18].copy_from_slice(&((len - 14) as u16).to_be_bytes());
            bytes[23] = outer;
        }
    }
    if udp_len > 0 {
        let udp = &mut bytes[14 + ip_len..];
        udp[..2].copy_from_slice(&own.port.to_be_bytes());
        udp[2..4].copy_from_slice(&other.port.to_be_bytes());
        udp[4..6].copy_from_slice(&((len - 14 - ip_len) as u16).to_be_bytes());
        udp[6..8].fill(0);
    }
    bytes[24..26].fill(0);
    let sum = checksum::of(&bytes[14..14 + ip_len]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    r.tell(|| Event::Encrypted { spi, own: own.address, other: other.address });
    Some(new)
}

/// ESP has come, which begins here: what is inside comes in again.
fn decrypt(r: &mut Router, now: Moment, mut p: Packet, start: usize) {
    r.at(Step::Decapsulation);
    let slab = r.io.slab.clone();
    let opened = open(r, slab.bytes_mut(&mut p.frame), &p.layers, start);
    let inside = match opened {
        Ok(Some(inside)) => inside,
        Ok(None) => return r.consume(p),
        Err(why) => return r.discard(p, why),
    };
    p.frame.truncate(inside.end);
    p.frame.pull(inside.start);
    let came = Came { port: p.port, in_interface: p.in_interface, vrf: p.vrf };
    let frame = r.recycle(p);
    come_again(r, now, frame, came);
}

/// The same of a packet that came in pieces and is longer than a frame: what is inside comes in again in pieces.
fn decrypt_long(r: &mut Router, now: Moment, p: Packet) {
    r.at(Step::Decapsulation);
    let mut bytes = vec![0; usize::from(p.layers.l3) + usize::from(p.ip_len)];
    if !fragment::join(&r.io.slab, &p, &mut bytes) {
        return r.discard(p, Discard::BadFragment);
    }
    let start = usize::from(p.layers.l3) + r.ip_header(&p).len() + udp_len(&p.layers);
    let whole = Layers { l3_end: bytes.len() as u16, ..p.layers };
    let inside = match open(r, &mut bytes, &whole, start) {
        Ok(Some(inside)) => inside,
        Ok(None) => return r.consume(p),
        Err(why) => return r.discard(p, why),
    };
    let came = Came { port: p.port, in_interface: p.in_interface, vrf: p.vrf };
    let mtu = usize::from(r.program.interface(p.in_interface).mtu);
    r.consume(p);
    let mut pieces = Vec::new();
    let all = fragment::split_bytes(&mut r.io.pool, &bytes[inside], 14, mtu, |f| pieces.push(f));
    r.stats.tally.made += pieces.len() as u64;
    if !all {
        r.stats.discards.add(Discard::NoFrame);
    }
    pieces.into_iter().for_each(|frame| come_again(r, now, frame, came));
}

/// How what was encrypted came.
#[derive(Clone, Copy)]
struct Came {
    port: InterfaceId,
    in_interface: InterfaceId,
    vrf: Mark,
}

/// What has come out of ESP comes in by where that came.
fn come_again(r: &mut Router, now: Moment, frame: Frame, came: Came) {
    let layers = match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) if layers.ether_type == ETHERTYPE_IPV4 => layers,
        _ => return r.discard_frame(frame, Discard::MalformedTunnel),
    };
    if r.link.depth >= MOST {
        return r.discard_frame(frame, Discard::TunnelLoop);
    }
    let mut inner = r.packet(frame, layers, came.port);
    (inner.in_interface, inner.vrf, inner.is_decrypted) = (came.in_interface, came.vrf, true);
    r.link.depth += 1;
    routing::<u32>(r, now, inner);
    r.link.depth -= 1;
}

/// Of ESP in UDP its header's length.
fn udp_len(layers: &Layers) -> usize {
    if layers.protocol == protocol::UDP { UDP } else { 0 }
}

/// Decrypts ESP, which begins at `start` of a frame's bytes, where it is, and makes a frame of what is inside: says
/// where. Nothing if nothing is inside.
fn open(
    r: &mut Router,
    bytes: &mut [u8],
    outer: &Layers,
    start: usize,
) -> Result<Option<Range<usize>>, Discard> {
    let (l3, end) = (usize::from(outer.l3), usize::from(outer.l3_end));
    let header = start - l3 - udp_len(outer);
    let esp = bytes.get_mut(start..end).filter(|esp| esp.len() > ESP);
    let esp = esp.ok_or(Discard::MalformedTunnel)?;
    let word = |at: usize| u32::from_be_bytes([esp[at], esp[at + 1], esp[at + 2], esp[at + 3]]);
    let (spi, sequence) = (word(0), word(4));
    let child = r.services.ipsec.children.get_mut(&spi).ok_or(Discard::NoSecurityAssociation)?;
    if !child.window.is_new(sequence) {
        return Err(Discard::Repeated);
    }
    let plain = child.sealers[0].open(esp, ESP).ok_or(Discard::Undecryptable)?;
    child.window.note(sequence);
    let (begin, tail) = (start + plain.start, start + plain.end);
    if plain.len() < 2 {
        return Err(Discard::MalformedTunnel);
    }
    let (padding, next) = (usize::from(bytes[tail - 2]), bytes[tail - 1]);
    let last = (tail - 2).checked_sub(padding).filter(|last| *last >= begin);
    let last = last.ok_or(Discard::MalformedTunnel)?;
    child.counts[0].add((last - begin) as u64);
    // Behind NAT the other end may have another address by now.
    if child.in_nat && outer.protocol == protocol::UDP {
        child.ends.1 = End { address: outer.tuple.src, port: outer.tuple.src_port };
    }
    if next == NOTHING_INSIDE {
        return Ok(None);
    }
    // (In transport mode, IPv4 in IPv4 has the number, too.)
    if child.is_tunnel && next != IPV4_INSIDE {
        return Err(Discard::MalformedTunnel);
    }
    let (is_tunnel, in_nat, policy) = (child.is_tunnel, child.in_nat, child.key());
    let at = if is_tunnel { begin } else { begin - header };
    let macs: [u8; 12] = std::array::from_fn(|n| bytes[n]);
    if !is_tunnel {
        bytes.copy_within(l3..l3 + header, at);
        let ip = &mut bytes[at..last];
        let len = ip.len() as u16;
        ip[2..4].copy_from_slice(&len.to_be_bytes());
        ip[6..8].fill(0);
        ip[9] = next;
        if in_nat && next == protocol::UDP && ip.len() >= header + UDP {
            // It is of other addresses (RFC 3948 §3.1.2).
            ip[header + 6..header + 8].fill(0);
        }
        ip[10..12].fill(0);
        let sum = checksum::of(&ip[..header]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    bytes[at - 14..at - 2].copy_from_slice(&macs);
    bytes[at - 2..at].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    let inside = at - 14..last;
    let layers = layers::network(&bytes[inside.clone()]).ok();
    let layers = layers.filter(|layers| layers.ether_type == ETHERTYPE_IPV4);
    let layers = layers.ok_or(Discard::MalformedTunnel)?;
    let child = r.services.ipsec.children.get(&spi);
    if !child.is_some_and(|child| child.admits(&layers.tuple)) {
        return Err(Discard::OutsidePolicy);
    }
    // The other end has shown that it knows these keys: so what leaves goes by them, too.
    take_over(r, policy, spi);
    r.tell(|| Event::Decrypted { spi });
    Ok(Some(inside))
}

/// Packets of a policy leave by the newest of its children that the other end uses.
fn take_over(r: &mut Router, policy: Key, spi: u32) {
    let ipsec = &mut r.services.ipsec;
    let Some(current) = ipsec.current.get(&policy).copied().filter(|current| *current != spi)
    else {
        return;
    };
    let since = |spi: u32| ipsec.children.get(&spi).map(|child| child.since);
    if since(spi) > since(current) {
        ipsec.current.insert(policy, spi);
    }
}
