//! Address families: what IPv4 and IPv6 do alike is written once, over the type of an address.

use crate::firewall::connection::tally::{Tally, Tally4, Tally6};
use crate::firewall::connection::{Connections, New};
use std::fmt::Debug;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use wire::checksum::{Delta, Sum};
use wire::icmpv6::{self, group_mac, solicited_node};
use wire::ipv6::header;
use wire::layers::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, protocol};
use wire::{FiveTuple, Ipv4Prefix, Ipv4Range, Ipv6, Ipv6Prefix, Layers, MacAddr, icmp};

/// An address of a family, in host order: `u32` of IPv4, `u128` of IPv6.
pub trait Family: Copy + Eq + Ord + Hash + Debug + Default {
    /// The EtherType of its packets.
    const ETHERTYPE: u16;
    /// PPP's protocol number of its packets.
    const PPP: u16;
    /// Whether an answer that is no longer sure is kept until it is used (RFC 4861 §7.3.2: stale).
    const LINGERS: bool;

    /// Bits for a hash, those of the interface still to be mixed in.
    fn mix(self) -> u64;

    /// Whom to ask for an address that nobody has answered for.
    fn everybody(self) -> MacAddr;

    /// Addresses that belong together.
    type Block: Block<Self>;

    /// How its flows are counted.
    type Tally: Tally;

    /// An address, or 32 bits that are the same for the same one: to know whom something may concern.
    fn folded(self) -> u32;

    /// The protocol of its control messages.
    const ICMP: u8;
    /// How long the pieces of a datagram wait for each other.
    const PATIENCE: Duration;

    /// What connection tracking makes of a control message of this type.
    fn control(kind: u8) -> Control;

    /// [`FiveTuple::hash`].
    fn hash_of(tuple: &FiveTuple<Self>) -> u32;

    /// Whether two tuples are the same, without branches: they would be as hard to foresee as tuples.
    fn same(one: &FiveTuple<Self>, other: &FiveTuple<Self>) -> bool;

    /// What the checksum of a transport begins with.
    fn pseudo_header(src: Self, dst: Self, protocol: u8, len: u16) -> Sum;

    /// The packet that an error quotes; `None` for a later fragment.
    fn quoted(packet: &[u8]) -> Option<Quoted<Self>>;

    /// Whether a control message of this type has an identifier, for which ports stand.
    fn has_identifier(kind: u8) -> bool;

    /// What new addresses mean for the checksum of a control message.
    fn over_control(addresses: Delta) -> Delta;

    /// Writes addresses into a header; `None` if it is cut off. Says what that changes for transports that sum
    /// them up, and adds to `change` all that it changes.
    fn put_addresses(packet: &mut [u8], src: Self, dst: Self, change: &mut Delta) -> Option<Delta>;

    /// Notes addresses in layers that have room for them.
    fn note(layers: &mut Layers, src: Self, dst: Self);

    /// Whether a connection that begins was announced by another one: then it is related.
    fn meet(_: &mut Connections<Self>, _: &mut New<Self>, _now_ms: u32) -> bool {
        false
    }

    /// As it is written, with a port or without.
    fn written(self, port: Option<u16>) -> String;

    /// As one of either family.
    fn ip(self) -> IpAddr;

    /// One of either family, if it is of this.
    fn of(address: IpAddr) -> Option<Self>;
}

/// Addresses from one to another: a range of IPv4, a prefix of IPv6.
pub trait Block<A>: Copy + Eq + Debug {
    /// The least of them.
    fn least(&self) -> A;

    /// The greatest of them.
    fn greatest(&self) -> A;

    /// A single one.
    fn host(address: A) -> Self;

    /// How many they are, or the greatest number.
    fn count(&self) -> u64;

    /// That of a number less than their count: each has another.
    fn number(&self, at: u64) -> A;

    /// The one that has the place that `old` has in its network. Addresses that are no network count as the
    /// smallest one that they are in, as in Linux.
    fn at_place_of(&self, old: A) -> A;
}

/// What an error quotes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted<A> {
    /// Its tuple.
    pub tuple: FiveTuple<A>,
    /// Where its transport header begins, if that is there.
    pub l4: Option<u16>,
    /// Where it ends.
    pub end: u16,
}

impl Block<u32> for Ipv4Range {
    fn least(&self) -> u32 {
        self.first()
    }

    fn greatest(&self) -> u32 {
        self.last()
    }

    fn host(address: u32) -> Ipv4Range {
        Ipv4Prefix::host(address).into()
    }

    fn count(&self) -> u64 {
        u64::from(self.last() - self.first()) + 1
    }

    fn number(&self, at: u64) -> u32 {
        self.first() + at as u32
    }

    fn at_place_of(&self, old: u32) -> u32 {
        let differ = self.first() ^ self.last();
        let host = u32::MAX.checked_shr(differ.leading_zeros()).unwrap_or(0);
        self.first() & !host | old & host
    }
}

impl Block<u128> for Ipv6Prefix {
    fn least(&self) -> u128 {
        self.bits()
    }

    fn greatest(&self) -> u128 {
        self.last()
    }

    fn host(address: u128) -> Ipv6Prefix {
        Ipv6Prefix::new(address, 128)
    }

    fn count(&self) -> u64 {
        1u64.checked_shl(128 - u32::from(self.len())).unwrap_or(u64::MAX)
    }

    fn number(&self, at: u64) -> u128 {
        // An odd factor: no two numbers have the same one, and hosts lie all over a long network.
        let spread = u128::from(at).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        self.bits() | spread & (self.bits() ^ self.last())
    }

    fn at_place_of(&self, old: u128) -> u128 {
        self.bits() | old & (self.bits() ^ self.last())
    }
}

/// What a control message is to connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// It may begin one.
    Query,
    /// It is about a packet of one.
    Error,
    /// It has nothing to do with any: neighbours and groups of a link.
    OfLink,
    /// It belongs to one that is there, or nowhere.
    Other,
}

impl Family for u32 {
    const ETHERTYPE: u16 = ETHERTYPE_IPV4;
    const PPP: u16 = 0x0021;
    const LINGERS: bool = false;

    #[inline]
    fn mix(self) -> u64 {
        u64::from(self) << 16
    }

    fn everybody(self) -> MacAddr {
        MacAddr::BROADCAST
    }

    type Block = Ipv4Range;
    type Tally = Tally4;

    fn folded(self) -> u32 {
        self
    }

    const ICMP: u8 = protocol::ICMP;
    /// Linux's.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn control(kind: u8) -> Control {
        match kind {
            // Echo, timestamp, information and address mask requests (RFC 5508 §3.1).
            8 | 13 | 15 | 17 => Control::Query,
            _ if icmp::is_error(kind) => Control::Error,
            _ => Control::Other,
        }
    }

    #[inline(always)]
    fn hash_of(tuple: &FiveTuple) -> u32 {
        (*tuple).hash()
    }

    #[inline(always)]
    fn same(one: &FiveTuple, other: &FiveTuple) -> bool {
        // Put together, what lies side by side is read at once.
        let addresses = |tuple: &FiveTuple| u64::from(tuple.dst) << 32 | u64::from(tuple.src);
        let ports = |tuple: &FiveTuple| u32::from(tuple.dst_port) << 16 | u32::from(tuple.src_port);
        let differ = (addresses(one) ^ addresses(other)) | u64::from(ports(one) ^ ports(other));
        differ | u64::from(one.protocol ^ other.protocol) == 0
    }

    fn pseudo_header(src: u32, dst: u32, protocol: u8, len: u16) -> Sum {
        match protocol {
            protocol::ICMP => Sum::default(),
            _ => Sum::pseudo_ipv4(src, dst, protocol, len),
        }
    }

    fn quoted(packet: &[u8]) -> Option<Quoted<u32>> {
        let layers = layers::quoted(packet).ok()?;
        let l4 = (layers.l4 != 0).then_some(layers.l4);
        let quoted = Quoted { tuple: layers.tuple, l4, end: layers.l3_end };
        (!layers.later_fragment).then_some(quoted)
    }

    #[inline(always)]
    fn has_identifier(kind: u8) -> bool {
        icmp::is_query(kind)
    }

    #[inline(always)]
    fn over_control(_: Delta) -> Delta {
        Delta::default()
    }

    #[inline(always)]
    fn put_addresses(packet: &mut [u8], src: u32, dst: u32, change: &mut Delta) -> Option<Delta> {
        let header = packet.first_chunk_mut::<20>()?;
        let old_src = u32::from_be_bytes([header[12], header[13], header[14], header[15]]);
        let old_dst = u32::from_be_bytes([header[16], header[17], header[18], header[19]]);
        let addresses = Delta::default().u32(old_src, src).u32(old_dst, dst);
        let checksum = u16::from_be_bytes([header[10], header[11]]);
        let new_checksum = addresses.apply(checksum);
        header[10..12].copy_from_slice(&new_checksum.to_be_bytes());
        header[12..16].copy_from_slice(&src.to_be_bytes());
        header[16..20].copy_from_slice(&dst.to_be_bytes());
        *change = change.and(addresses).u16(checksum, new_checksum);
        Some(addresses)
    }

    #[inline(always)]
    fn note(layers: &mut Layers, src: u32, dst: u32) {
        (layers.tuple.src, layers.tuple.dst) = (src, dst);
    }

    fn meet(connections: &mut Connections, new: &mut New, now_ms: u32) -> bool {
        connections.meet(new, now_ms)
    }

    fn written(self, port: Option<u16>) -> String {
        let address = Ipv4Addr::from(self);
        port.map_or_else(|| address.to_string(), |port| format!("{address}:{port}"))
    }

    fn ip(self) -> IpAddr {
        Ipv4Addr::from(self).into()
    }

    fn of(address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => Some(address.into()),
            IpAddr::V6(_) => None,
        }
    }
}

impl Family for u128 {
    const ETHERTYPE: u16 = ETHERTYPE_IPV6;
    const PPP: u16 = 0x0057;
    const LINGERS: bool = true;

    #[inline]
    fn mix(self) -> u64 {
        let (net, host) = ((self >> 64) as u64, self as u64);
        let product =
            u128::from(net ^ 0x243f_6a88_85a3_08d3) * u128::from(host ^ 0x1319_8a2e_0370_7345);
        (product as u64 ^ (product >> 64) as u64) << 16
    }

    fn everybody(self) -> MacAddr {
        group_mac(solicited_node(self.into()))
    }

    type Block = Ipv6Prefix;
    type Tally = Tally6;

    fn folded(self) -> u32 {
        FiveTuple { src: self, ..FiveTuple::default() }.folded().src
    }

    const ICMP: u8 = header::ICMPV6;
    /// RFC 8200 §4.5.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn control(kind: u8) -> Control {
        match kind {
            icmpv6::kind::ECHO_REQUEST => Control::Query,
            _ if icmpv6::is_error(kind) => Control::Error,
            // Groups' listeners, routers, neighbours: as Linux.
            130..=136 | 143 => Control::OfLink,
            _ => Control::Other,
        }
    }

    #[inline(always)]
    fn hash_of(tuple: &FiveTuple<u128>) -> u32 {
        (*tuple).hash()
    }

    #[inline(always)]
    fn same(one: &FiveTuple<u128>, other: &FiveTuple<u128>) -> bool {
        let differ = (one.src ^ other.src) | (one.dst ^ other.dst);
        let ports = (one.src_port ^ other.src_port) | (one.dst_port ^ other.dst_port);
        differ | u128::from(ports) | u128::from(one.protocol ^ other.protocol) == 0
    }

    fn pseudo_header(src: u128, dst: u128, protocol: u8, len: u16) -> Sum {
        Sum::pseudo_ipv6(src.to_be_bytes(), dst.to_be_bytes(), protocol, len.into())
    }

    fn quoted(packet: &[u8]) -> Option<Quoted<u128>> {
        // What is quoted is cut off: its headers are looked at as if what is there were all.
        let mut start = [0; QUOTED];
        let len = packet.len().min(QUOTED);
        start[..len].copy_from_slice(&packet[..len]);
        let payload = len.checked_sub(wire::ipv6::HEADER_LEN)?;
        start[4..6].copy_from_slice(&(payload as u16).to_be_bytes());
        let ip = Ipv6::new(&start[..len]).ok()?;
        let found = ip.extensions().ok()?;
        if found.fragment.is_some_and(|(offset, _)| offset != 0) {
            return None;
        }
        let upper = &start[usize::from(found.end)..len];
        let (src_port, dst_port) = ports_of(found.protocol, upper)?;
        let (src, dst, protocol) = (ip.src().into(), ip.dst().into(), found.protocol);
        let tuple = FiveTuple { src, dst, src_port, dst_port, protocol };
        let end = packet.len().min(usize::from(u16::MAX)) as u16;
        Some(Quoted { tuple, l4: Some(found.end), end })
    }

    #[inline(always)]
    fn has_identifier(kind: u8) -> bool {
        matches!(kind, icmpv6::kind::ECHO_REQUEST | icmpv6::kind::ECHO_REPLY)
    }

    #[inline(always)]
    fn over_control(addresses: Delta) -> Delta {
        addresses
    }

    #[inline(always)]
    fn put_addresses(packet: &mut [u8], src: u128, dst: u128, change: &mut Delta) -> Option<Delta> {
        let header: &mut [u8; 32] = packet.get_mut(8..)?.first_chunk_mut()?;
        let mut addresses = Delta::default();
        for (at, new) in [(0, src), (16, dst)] {
            let old: &mut [u8; 16] = header[at..].first_chunk_mut()?;
            addresses = addresses.u128(u128::from_be_bytes(*old), new);
            *old = new.to_be_bytes();
        }
        *change = change.and(addresses);
        Some(addresses)
    }

    #[inline(always)]
    fn note(_: &mut Layers, _: u128, _: u128) {}

    fn written(self, port: Option<u16>) -> String {
        let address = Ipv6Addr::from(self);
        port.map_or_else(|| address.to_string(), |port| format!("[{address}]:{port}"))
    }

    fn ip(self) -> IpAddr {
        Ipv6Addr::from(self).into()
    }

    fn of(address: IpAddr) -> Option<u128> {
        match address {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) => Some(address.into()),
        }
    }
}

/// How much of what an error of IPv6 quotes is looked at: its ports are in it unless its extension
/// headers are longer than anybody's.
const QUOTED: usize = 256;

/// The ports of an IPv6 packet, or what stands for them, as of IPv4; `None` if they are not there.
/// `upper` is what follows the extension headers.
pub(crate) fn ports_of(protocol: u8, upper: &[u8]) -> Option<(u16, u16)> {
    match (protocol, upper) {
        (protocol::TCP | protocol::UDP, &[a, b, c, d, ..]) => {
            Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
        }
        (
            header::ICMPV6,
            &[icmpv6::kind::ECHO_REQUEST | icmpv6::kind::ECHO_REPLY, _, _, _, a, b, ..],
        ) => {
            let identifier = u16::from_be_bytes([a, b]);
            Some((identifier, identifier))
        }
        (protocol::TCP | protocol::UDP, _) => None,
        _ => Some((0, 0)),
    }
}
