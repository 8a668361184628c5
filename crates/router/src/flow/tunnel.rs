//! Into a tunnel's outer packet, and out of it.
//!
//! ```text
//! link_out ─► [encapsulate] ─► output    a packet of the router's own: LOCAL OUT and all behind it
//! local_in ─► [decapsulate] ─► link_in   comes in by the tunnel; or is a keepalive, and ends here
//! ticks    ─► [tick]: which tunnels run, who is to be asked
//! ```

use super::leave::way_to;
use super::local::{no_listener, refuse};
use super::{Onward, l2tp, link_in, local_out, output, pppoe, reason, v6, wireguard};
use crate::discard::Discard;
use crate::fast;
use crate::fast::enclose;
use crate::interface::InterfaceId;
use crate::interface::ingress::Arrival;
use crate::interface::tunnel::outer::{Inner, OuterHeader};
use crate::interface::tunnel::{Carries, Head, Tunnel, TunnelAt, six_to_four};
use crate::ip::icmp::{self, write_ipv4};
use crate::ip::{address, fragment};
use crate::ipv6;
use crate::packet::Packet;
use crate::program::Kind;
use crate::router::Router;
use crate::step::Step;
use crate::story::Event;
use port::Frame;
use wire::gre::{self, Gre};
use wire::l2tp::PORT;
use wire::l2tp3::is_version_3;
use wire::layers::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Layers, protocol};
use wire::{Ipv6, Moment, Tcp, TcpFlags, checksum};

/// How deep tunnels may lie in each other, in and out together: a packet that comes by two and
/// leaves by two is not rare.
pub(crate) const MOST: u8 = 6;

/// Puts a frame of a tunnel into its outer packet, which the router then sends as its own: by the
/// recipe of the one before, if there is one that fits.
pub(super) fn encapsulate(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    at: TunnelAt,
    frame: Frame,
    fast: bool,
) {
    r.at(Step::Encapsulation);
    if !r.program.runs(interface) {
        return r.discard_frame(frame, Discard::InterfaceDown);
    }
    if frame.has_offload() {
        return r.finish_out(frame, |r, frame| encapsulate(r, now, interface, at, frame, fast));
    }
    let inner = Inner::of(r.io.slab.bytes(&frame));
    let mut tunnel = *r.program.tunnels.get(at);
    if !tunnel.carries.takes(inner.ether_type) {
        return r.discard_frame(frame, Discard::UnknownProtocol);
    }
    let automatic = tunnel.is_automatic();
    if automatic {
        tunnel.remote = six_to_four::end_of(r.io.slab.bytes(&frame)).unwrap_or_default();
    }
    let known = if automatic { ends(r, &tunnel) } else { ends_now(r, at, &tunnel) };
    let Some((src, interface_out, mtu)) = known else {
        return r.discard_frame(frame, Discard::NoRoute);
    };
    // What is sent to an address of our own comes back for ever (RFC 6324).
    let to_itself = interface_out == interface || automatic && !interface_out.is_some();
    if r.link.depth >= MOST || to_itself {
        return r.discard_frame(frame, Discard::TunnelLoop);
    }
    let header = tunnel.overhead();
    // The Ethernet header of what is no Ethernet is for its form alone: the outer one takes its place.
    let (link, made) = match tunnel.carries {
        Carries::Ipip | Carries::Gre | Carries::SixToFour => (14, header),
        Carries::Eoip | Carries::L2tpEther => (0, header + 14),
    };
    let carried = frame.len() - link;
    let total = carried + header;
    let df = tunnel.inherits_df && inner.df;
    if total > usize::from(u16::MAX) {
        return r.discard_frame(frame, Discard::TooLong);
    }
    let room = mtu.saturating_sub(header as u16);
    let most = if link == 0 { room } else { room.max(inner.least) };
    if df && carried > usize::from(most) {
        return too_long(r, now, interface, frame, most, link == 0);
    }
    // What nobody could make shorter leaves in pieces all the same (RFC 4213 §3.2.2).
    let df = df && carried <= usize::from(room);
    let fast = fast && tunnel.allows_fast_path;
    r.count_out(interface, carried, fast);
    let Some(mut frame) = with_room(r, frame, made) else { return };
    let identification = (!df).then(|| r.link.next_identification());
    let bytes = r.io.slab.bytes_mut(&mut frame);
    bytes[..12].fill(0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    let outer = OuterHeader::new(&tunnel, src);
    outer.write(outer.kind(), &mut bytes[14..], &inner, carried, identification);
    r.tell(|| Event::Encapsulated { tunnel: interface, src, dst: tunnel.remote });
    r.link.depth += 1;
    send_outer(r, now, frame, fast);
    r.link.depth -= 1;
    enclose::learn(r, &tunnel, outer, mtu);
}

/// LOCAL OUT of an outer packet.
pub(super) fn send_outer(r: &mut Router, now: Moment, frame: Frame, fast: bool) {
    let Err(frame) = fast::tunnel::send(r, now, frame, fast) else { return };
    match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) => {
            let mut p = r.packet(frame, layers, InterfaceId::NONE);
            (p.fast, p.is_outer) = (fast, true);
            output::<u32>(r, now, p)
        }
        Err(malformed) => r.discard_frame(frame, reason(malformed)),
    }
}

/// The IPv4 header of a session's outer packet, which may leave in pieces. The frame has room for an Ethernet
/// header and for that.
pub(super) fn outer(r: &mut Router, frame: &mut Frame, protocol: u8, (own, peer): (u32, u32)) {
    let identification = r.link.next_identification();
    let bytes = r.io.slab.bytes_mut(frame);
    bytes[..12].fill(0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    write_ipv4(&mut bytes[14..], 0, protocol, own, peer);
    bytes[18..20].copy_from_slice(&identification.to_be_bytes());
    bytes[24..26].fill(0);
    let sum = checksum::of(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
}

/// Whether a packet for the router is one that a tunnel's other end has put around others.
pub(super) fn is_outer(r: &Router, p: &Packet) -> bool {
    matches!(p.layers.protocol, protocol::IPIP | protocol::GRE | protocol::IPV6 | protocol::L2TP)
        || l2tp::is_asked(r, p)
        || is_l2tp_ether(r, p)
}

/// Whether a packet for the router is L2TP's of version 3, in UDP, and a tunnel waits for such.
pub(super) fn is_l2tp_ether(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    tuple.protocol == protocol::UDP
        && tuple.dst_port == PORT
        && r.program.tunnels.has(protocol::UDP)
        && r.transport(p).get(8..).is_some_and(is_version_3)
}

/// [`ends`], which are the same as long as recipes hold.
fn ends_now(r: &mut Router, at: TunnelAt, tunnel: &Tunnel) -> Option<(u32, InterfaceId, u16)> {
    let epoch = r.learnt.recipes.epoch();
    let known = r.learnt.ends.get(usize::from(at.0)).filter(|(of, _)| *of == epoch);
    if let Some(&(_, ends)) = known {
        return Some(ends);
    }
    let ends = ends(r, tunnel)?;
    if r.learnt.ends.len() <= usize::from(at.0) {
        r.learnt.ends.resize(usize::from(at.0) + 1, (0, (0, InterfaceId::NONE, 0)));
    }
    r.learnt.ends[usize::from(at.0)] = (epoch, ends);
    Some(ends)
}

/// The address that a tunnel's packets have here, the interface they leave by, and its MTU; `None`
/// if no route leads to the other end.
fn ends(r: &mut Router, tunnel: &Tunnel) -> Option<(u32, InterfaceId, u16)> {
    let layers = Layers {
        tuple: wire::FiveTuple { src: tunnel.local, dst: tunnel.remote, ..Default::default() },
        ..Layers::default()
    };
    let (interface, toward, mtu) = match way_to(r, &layers)? {
        Onward::Here => (InterfaceId::NONE, tunnel.remote, u16::MAX),
        Onward::Out(hop) => (hop.interface, hop.address, r.program.interface(hop.interface).mtu),
    };
    let own = match tunnel.local {
        0 => match r.v4.routes.pref_src(r.program.vrf_of_own(tunnel.local), tunnel.remote) {
            Some(own) => own,
            None => address::source(&r.program.addresses, interface, toward)?,
        },
        local => local,
    };
    Some((own, interface, mtu))
}

/// Whether the way to a tunnel's other end is the tunnel itself.
pub(super) fn leads_back(r: &mut Router, interface: InterfaceId, remote: u32) -> bool {
    let tuple = wire::FiveTuple { dst: remote, ..Default::default() };
    let way = way_to(r, &Layers { tuple, ..Layers::default() });
    matches!(way, Some(Onward::Out(hop)) if hop.interface == interface)
}

/// Refuses what would have to leave in pieces, and must not: `mtu` is what fits.
fn too_long(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    frame: Frame,
    mtu: u16,
    is_ethernet: bool,
) {
    match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) if !is_ethernet && layers.ether_type == ETHERTYPE_IPV6 => {
            let (why, error) = (Discard::PacketTooBig, ipv6::icmp::Error::too_big(mtu));
            v6::refuse_frame(r, now, frame, interface, why, error)
        }
        Ok(layers) if !is_ethernet => {
            let p = r.packet(frame, layers, interface);
            let error = icmp::Error::fragmentation_needed(mtu);
            refuse(r, now, p, Discard::FragmentationNeeded, error)
        }
        _ => r.discard_frame(frame, Discard::FragmentationNeeded),
    }
}

/// The frame with `n` bytes more in front; or another one with its bytes, if there is no room.
pub(super) fn with_room(r: &mut Router, mut frame: Frame, n: usize) -> Option<Frame> {
    if r.io.slab.push(&mut frame, n) {
        return Some(frame);
    }
    let Some(mut copy) = r.io.pool.copy(&frame) else {
        r.discard_frame(frame, Discard::FramesShort);
        return None;
    };
    if !r.io.slab.push(&mut copy, n) {
        r.io.pool.free(copy);
        r.discard_frame(frame, Discard::TooLong);
        return None;
    }
    r.io.pool.free(frame);
    Some(copy)
}

/// The tunnel that an outer packet, which is whole, is of.
pub(super) fn of(r: &Router, p: &Packet) -> Option<TunnelAt> {
    let start = usize::from(p.layers.l3) + r.ip_header(p).len();
    let payload = r.io.slab.bytes(&p.frame).get(start..usize::from(p.layers.l3_end))?;
    let head = Head::read(p.layers.protocol, payload)?;
    let tuple = &p.layers.tuple;
    r.program.tunnels.find((tuple.src, tuple.dst), p.layers.protocol, head)
}

/// Takes off what a tunnel's other end has put around a packet or frame, and has come to LOCAL IN: what is
/// inside comes in again, by the tunnel.
pub(super) fn decapsulate(r: &mut Router, now: Moment, p: Packet) {
    r.at(Step::Decapsulation);
    let is_whole = p.rest.is_empty();
    let Some(mut p) = in_one_piece(r, p) else { return };
    let header = r.ip_header(&p).len();
    let start = usize::from(p.layers.l3) + header;
    let end = usize::from(p.layers.l3_end);
    let payload = &r.io.slab.bytes(&p.frame)[start..end];
    let Some(head) = Head::read(p.layers.protocol, payload) else {
        return r.discard(p, Discard::MalformedTunnel);
    };
    let (src, dst) = (p.layers.tuple.src, p.layers.tuple.dst);
    let found = r.program.tunnels.find((src, dst), p.layers.protocol, head);
    let Some(found) = found else { return no_listener(r, now, p) };
    let tunnel = *r.program.tunnels.get(found);
    let outer_len = p.frame.len();
    // Where what is carried begins, of what EtherType it is if it is no frame, and its length.
    let (at, ether_type, len) = match (head, &tunnel.l2tp) {
        (Head::L2tp(_), session) => {
            let frame = session.and_then(|session| session.frame_in(payload));
            let Some(frame) = frame else { return r.discard(p, Discard::BadL2tpCookie) };
            let is_udp = p.layers.protocol == protocol::UDP;
            if is_udp && r.datagram(&p).is_none() {
                return r.discard(p, Discard::MalformedTunnel);
            }
            (start + frame.start, None, frame.len())
        }
        (Head::Gre(Gre::Packet { protocol, at, .. }), _) => {
            (start + at, Some(protocol), end - start - at)
        }
        (Head::Gre(Gre::Eoip { len, .. }), _) => (start + gre::EOIP_LEN, None, len),
        (Head::Nothing, _) if tunnel.carries == Carries::SixToFour => {
            (start, Some(ETHERTYPE_IPV6), end - start)
        }
        (Head::Nothing, _) => (start, Some(ETHERTYPE_IPV4), end - start),
    };
    r.heard_from(found);
    if !r.program.runs(tunnel.interface) {
        return r.discard(p, Discard::InterfaceDown);
    }
    if r.link.depth >= MOST {
        return r.discard(p, Discard::TunnelLoop);
    }
    if len == 0 {
        // A keepalive, or the answer to ours: that it came is all it says.
        return r.consume(p);
    }
    if tunnel.carries == Carries::SixToFour {
        let packet = &r.io.slab.bytes(&p.frame)[at..at + len];
        if let Err(why) = six_to_four::admit(&tunnel, (src, dst), packet) {
            return r.discard(p, why);
        }
    }
    p.frame.truncate(at + len);
    match ether_type {
        None => p.frame.pull(at),
        Some(ether_type) => {
            p.frame.pull(at - 14);
            let bytes = r.io.slab.bytes_mut(&mut p.frame);
            bytes[..12].fill(0);
            bytes[12..14].copy_from_slice(&ether_type.to_be_bytes());
        }
    }
    if is_whole && r.program.interface(tunnel.interface).fast_rx {
        r.count_fast_outer(p.ingress, p.in_bridge_port, outer_len);
    }
    let frame = r.recycle(p);
    let link = if tunnel.carries.is_ethernet() { 0 } else { 14 };
    let len = (frame.len() - link) as u64;
    r.stats.interface_counts[tunnel.interface.index()].rx.add(len);
    r.link.depth += 1;
    inside(r, now, found, frame, is_whole);
    r.link.depth -= 1;
}

/// Whether such interfaces stand on routes: what comes by them comes out of packets for the router.
pub(super) fn is_one(kind: Kind) -> bool {
    matches!(kind, Kind::Tunnel { .. } | Kind::Session(_) | Kind::Wireguard(_))
}

/// What a recipe has taken out of a tunnel's outer packet comes in by the tunnel.
pub(super) fn inside_again(r: &mut Router, now: Moment, interface: InterfaceId, frame: Frame) {
    match r.program.interface(interface).kind {
        Kind::Tunnel { at, .. } => inside(r, now, at, frame, true),
        Kind::Wireguard(_) => wireguard::inside(r, now, interface, frame),
        _ => pppoe::inside_again(r, now, interface, frame),
    }
}

/// What has come out of a tunnel, and was counted, comes in by it as by a port; `is_whole` if it came
/// in one piece. Whoever took it out has noted that it lies one deeper.
pub(super) fn inside(r: &mut Router, now: Moment, at: TunnelAt, frame: Frame, is_whole: bool) {
    let tunnel = *r.program.tunnels.get(at);
    let interface = tunnel.interface;
    let (layers, malformed) = match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) => (layers, None),
        Err(layers::Malformed::Ethernet) => {
            r.stats.troubles.entry(interface).or_default().rx_error += 1;
            return r.discard_frame(frame, Discard::MalformedEthernet);
        }
        Err(malformed) => (Layers::default(), Some(malformed)),
    };
    let mut p = r.packet(frame, layers, interface);
    p.malformed = malformed;
    (p.fast, p.arrived_len) = (is_whole, p.frame.len() as u16);
    p.fast &= r.program.interface(interface).fast_rx;
    if is_whole {
        // What came in pieces has no recipe: the next one may come whole, and fast.
        let arrival = Arrival::of(interface, r.io.slab.bytes(&p.frame));
        p.arrival = arrival.map(|(arrival, _)| arrival);
    }
    r.tell(|| Event::Decapsulated(interface));
    if r.src_mac(&p).is_multicast() {
        return r.discard(p, Discard::BadSourceMac);
    }
    if is_our_question(r, &tunnel, &p) {
        return answer_keepalive(r, now, p);
    }
    if tunnel.carries == Carries::SixToFour
        && six_to_four::is_answer(&tunnel, &r.io.slab.bytes(&p.frame)[14..])
    {
        return r.consume(p);
    }
    if tunnel.clamps_mss {
        clamp_mss(r, interface, &mut p);
    }
    link_in(r, now, p, interface);
}

/// Whether a packet is what the other end wants to have back, to know that we live: from us to it,
/// though it has come from there.
fn is_our_question(r: &Router, tunnel: &Tunnel, p: &Packet) -> bool {
    p.malformed.is_none()
        && p.layers.ether_type == ETHERTYPE_IPV4
        && !tunnel.carries.is_ethernet()
        && p.layers.protocol == tunnel.protocol()
        && p.layers.tuple.dst == tunnel.remote
        && r.program.is_local(p.layers.tuple.src)
        && checksum::is_ok(r.ip_header(p))
}

/// Gives it back, as it is.
fn answer_keepalive(r: &mut Router, now: Moment, mut p: Packet) {
    (p.port, p.in_interface, p.fast) = (InterfaceId::NONE, InterfaceId::NONE, false);
    p.arrival = None;
    output::<u32>(r, now, p);
}

/// `clamp-tcp-mss`: no segment of the connection that begins here may be longer than the tunnel takes.
fn clamp_mss(r: &mut Router, interface: InterfaceId, p: &mut Packet) {
    let Layers { ether_type, l3, l3_end, vlan, .. } = p.layers;
    if vlan.is_some() || p.malformed.is_some() {
        return;
    }
    let mtu = r.program.interface(interface).mtu;
    let bytes = &mut r.io.slab.bytes_mut(&mut p.frame)[..usize::from(l3_end)];
    let (l4, headers) = match ether_type {
        ETHERTYPE_IPV6 => (begins_tcp6(&bytes[usize::from(l3)..]).map(|at| l3 + at), 60),
        _ => (begins_tcp(&p.layers), 40),
    };
    let Some(l4) = l4 else { return };
    let Ok(mut tcp) = Tcp::new(&mut bytes[usize::from(l4)..]) else { return };
    if tcp.flags().contains(TcpFlags::SYN) {
        tcp.clamp_mss(mtu.saturating_sub(headers));
    }
}

/// Where the TCP header of an IPv4 packet begins, if it has one.
fn begins_tcp(&Layers { protocol, fragment, l4, .. }: &Layers) -> Option<u16> {
    (protocol == protocol::TCP && !fragment && l4 != 0).then_some(l4)
}

/// The same within an IPv6 packet.
fn begins_tcp6(packet: &[u8]) -> Option<u16> {
    let found = Ipv6::new(packet).ok()?.extensions().ok()?;
    (found.protocol == protocol::TCP && found.fragment.is_none()).then_some(found.end)
}

/// A datagram that came in pieces, in one: what is inside has headers of its own.
pub(super) fn in_one_piece(r: &mut Router, p: Packet) -> Option<Packet> {
    if p.rest.is_empty() {
        return Some(p);
    }
    let header = r.ip_header(&p).len();
    let l3 = usize::from(p.layers.l3);
    let Some(mut frame) = r.io.pool.alloc(l3 + usize::from(p.ip_len)) else {
        r.discard(p, Discard::TooLong);
        return None;
    };
    let slab = r.io.slab.clone();
    let out = slab.bytes_mut(&mut frame);
    let whole = fragment::join(&slab, &p, &mut out[..l3 + usize::from(p.ip_len)]);
    if !whole {
        r.io.pool.free(frame);
        r.discard(p, Discard::BadFragment);
        return None;
    }
    out[l3 + 2..l3 + 4].copy_from_slice(&p.ip_len.to_be_bytes());
    out[l3 + 6..l3 + 8].fill(0);
    out[l3 + 10..l3 + 12].fill(0);
    let sum = checksum::of(&out[l3..l3 + header]);
    out[l3 + 10..l3 + 12].copy_from_slice(&sum.to_be_bytes());
    r.stats.tally.made += 1;
    match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) => {
            let port = p.port;
            r.consume(p);
            Some(r.packet(frame, layers, port))
        }
        Err(malformed) => {
            r.consume(p);
            r.discard_frame(frame, reason(malformed));
            None
        }
    }
}

/// Looks at the routes to the other ends, and asks those that are to be asked; `up` takes the tunnels
/// that run. Returns when something is due next, if that is before `due`.
pub(super) fn tick(
    r: &mut Router,
    now: Moment,
    up: &mut Vec<InterfaceId>,
    mut due: Moment,
) -> Moment {
    let program = r.program.clone();
    for (place, tunnel) in program.tunnels.list().iter().enumerate() {
        let (ends, leads) = if tunnel.is_automatic() {
            (None, is_there(r, tunnel.local))
        } else {
            let ends = ends(r, tunnel);
            (ends, ends.is_some())
        };
        let Some(life) = r.link.lives.get_mut(place) else { continue };
        let asks = life.tick(now, leads, tunnel.keepalive);
        due = life.due().map_or(due, |at| due.min(at));
        if life.is_up(tunnel.keepalive) {
            up.push(tunnel.interface);
        }
        if let (true, Some((own, ..))) = (asks, ends) {
            ask(r, now, tunnel, own);
        }
        let itself = ends.is_some_and(|(_, out, _)| out == tunnel.interface);
        if itself && !r.link.up.contains(&tunnel.interface) {
            let name = &program.interface(tunnel.interface).name;
            let text = format!("{name}: the way to its remote-address leads by the tunnel itself");
            r.stats.log.say(now, "interface,warning", &text);
        }
    }
    due
}

/// Whether the router's own end of a tunnel to everybody is there: any address will do if none was typed.
fn is_there(r: &Router, local: u32) -> bool {
    if local == 0 { !r.program.addresses.is_empty() } else { r.program.is_local(local) }
}

/// Sends a keepalive. GRE's is a packet that the other end forwards to us (IPIP's is made alike), 6to4's
/// an echo request to whoever is there, EoIP's a frame of no bytes, which both ends send.
fn ask(r: &mut Router, now: Moment, tunnel: &Tunnel, own: u32) {
    let addresses = &r.program.v6.addresses;
    let link = ipv6::address::source(addresses, tunnel.interface, six_to_four::KEEPALIVE_TO);
    let (header, protocol) = (tunnel.overhead(), tunnel.protocol());
    let back = match tunnel.carries {
        Carries::Ipip => 20,
        Carries::Gre => 24,
        Carries::SixToFour => six_to_four::KEEPALIVE_LEN,
        // L2TP's has no keepalive.
        Carries::Eoip | Carries::L2tpEther => 0,
    };
    let Some(mut frame) = r.io.pool.alloc(14 + header + back) else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    let bytes = r.io.slab.bytes_mut(&mut frame);
    bytes.fill(0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    match tunnel.carries {
        // Behind the header that comes back is nothing: GRE's protocol 0.
        Carries::Ipip => write_ipv4(&mut bytes[34..], 0xc0, protocol, tunnel.remote, own),
        Carries::Gre => {
            bytes[34..38].copy_from_slice(&gre::header(ETHERTYPE_IPV4));
            write_ipv4(&mut bytes[38..], 0xc0, protocol, tunnel.remote, own);
        }
        Carries::SixToFour => {
            bytes[34..].copy_from_slice(&six_to_four::question(tunnel, link.unwrap_or_default()))
        }
        Carries::Eoip => bytes[34..42].copy_from_slice(&gre::eoip(tunnel.id as u16, 0)),
        Carries::L2tpEther => {}
    }
    write_ipv4(&mut bytes[14..], 0xc0, protocol, own, tunnel.remote);
    r.stats.tally.made += 1;
    r.tools.sent = true;
    local_out(r, now, frame);
}
