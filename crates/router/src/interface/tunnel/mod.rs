//! Tunnels over IPv4: IPIP, GRE, 6to4 and EoIP.
//!
//! ```text
//!            | IPv4 A ► B, protocol 4  |                        IPv4 packet |   ipip   20 bytes more
//!            | IPv4 A ► B, protocol 47 | GRE 4 |        IPv4, IPv6 packet |   gre    24
//!            | IPv4 A ► B, protocol 41 |                        IPv6 packet |   6to4   20
//!            | IPv4 A ► B, protocol 47 | GRE 8 | Ethernet frame             |   eoip   28, and its 14
//!
//! link_out ─► [encapsulate] ─► LOCAL OUT … port       port … LOCAL IN ─► [decapsulate] ─► link_in
//! ```
//!
//! A tunnel stands on a route, not on an interface: it runs while one leads to the other end, and
//! while its keepalive is answered. IPIP, GRE and 6to4 lead to one neighbour, whom nobody
//! asks by ARP; EoIP is a piece of Ethernet, may be a port of a bridge and have VLANs. A 6to4 tunnel
//! without `remote-address` leads to whoever has the IPv4 address in an IPv6 one (`six_to_four`): it
//! runs while its own end is there.
//!
//! How deep tunnels lie in each other is bounded (`MOST` in `flow::tunnel`), and one that leads to
//! itself is named in the log, its packets counted as `tunnel-loop`. Missing:
//! **ipsec-secret**, **ECN of the outer header** (RFC 6040's compatibility mode: always zero).

// What is done with the menus.
pub(crate) mod facilities;
// Whether a tunnel is up.
pub(crate) mod life;
// The menus.
pub mod menu;
// What is in front of each packet.
pub(crate) mod outer;
// IPv6 in IPv4: whose an IPv6 address is, and what may come out.
pub(crate) mod six_to_four;

use super::InterfaceId;
use config::{Read, Value};
use std::collections::HashMap;
use std::time::Duration;
use wire::gre::Gre;
use wire::ipv4::protocol;
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};

/// A tunnel's place in [`Tunnels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TunnelAt(pub u16);

/// What a tunnel carries, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carries {
    /// IPv4 in IPv4.
    Ipip,
    /// IPv4 and IPv6 behind GRE.
    Gre,
    /// IPv6 in IPv4.
    SixToFour,
    /// Ethernet frames behind MikroTik's GRE.
    Eoip,
}

impl Carries {
    /// The outer packet's protocol.
    pub(crate) fn protocol(self) -> u8 {
        match self {
            Carries::Ipip => protocol::IPIP,
            Carries::SixToFour => protocol::IPV6,
            Carries::Gre | Carries::Eoip => protocol::GRE,
        }
    }

    /// Bytes of header in front of what is carried.
    pub(crate) fn overhead(self) -> usize {
        match self {
            Carries::Ipip | Carries::SixToFour => 20,
            Carries::Gre => 24,
            Carries::Eoip => 28,
        }
    }

    /// What is left of 1,500 bytes for the IP packet inside.
    fn mtu(self) -> u16 {
        match self {
            Carries::Ipip | Carries::SixToFour => 1480,
            Carries::Gre => 1476,
            Carries::Eoip => 1458,
        }
    }

    /// Whether packets of this EtherType go in; of frames, any.
    pub(crate) fn takes(self, ether_type: u16) -> bool {
        match self {
            Carries::Ipip => ether_type == ETHERTYPE_IPV4,
            Carries::Gre => matches!(ether_type, ETHERTYPE_IPV4 | ETHERTYPE_IPV6),
            Carries::SixToFour => ether_type == ETHERTYPE_IPV6,
            Carries::Eoip => true,
        }
    }

    /// What `type` of the interface says.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Carries::Ipip => "ipip-tunnel",
            Carries::Gre => "gre-tunnel",
            Carries::SixToFour => "6to4-tunnel",
            Carries::Eoip => "eoip",
        }
    }
}

/// `keepalive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// How often the other end is asked.
    pub interval: Duration,
    /// How often it may not answer.
    pub retries: u32,
}

/// A tunnel as compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Its number as an interface.
    pub interface: InterfaceId,
    /// What it carries.
    pub carries: Carries,
    /// The router's own end; 0 if any is right.
    pub local: u32,
    /// The other end; 0 if each packet says which.
    pub remote: u32,
    /// `tunnel-id`.
    pub id: u16,
    /// `dscp`; `None` is the inner packet's.
    pub dscp: Option<u8>,
    /// `dont-fragment=inherit`.
    pub inherits_df: bool,
    /// `clamp-tcp-mss`.
    pub clamps_mss: bool,
    /// `keepalive`.
    pub keepalive: Option<Keepalive>,
    /// `allow-fast-path`.
    pub allows_fast_path: bool,
}

impl Tunnel {
    /// Reads an item; its MTU beside.
    pub(super) fn read(item: &Read, interface: InterfaceId, carries: Carries) -> (Tunnel, u16) {
        let address = |name| match *item.value(name) {
            Value::Address(address) => u32::from(address),
            _ => 0,
        };
        let number = |name| match *item.value(name) {
            Value::Number(number) => Some(number),
            _ => None,
        };
        let tunnel = Tunnel {
            interface,
            carries,
            local: address("local-address"),
            remote: address("remote-address"),
            id: if carries == Carries::Eoip { item.number("tunnel-id") as u16 } else { 0 },
            dscp: number("dscp").map(|dscp| dscp as u8),
            inherits_df: item.text("dont-fragment") == "inherit",
            clamps_mss: item.bool("clamp-tcp-mss"),
            keepalive: menu::read_keepalive(&item.value("keepalive")),
            // RouterOS has no such property of 6to4.
            allows_fast_path: carries != Carries::SixToFour && item.bool("allow-fast-path"),
        };
        // Of many other ends none can be asked.
        let keepalive = tunnel.keepalive.filter(|_| !tunnel.is_automatic());
        let tunnel = Tunnel { keepalive, ..tunnel };
        (tunnel, number("mtu").map_or(carries.mtu(), |mtu| mtu as u16))
    }

    /// Whether packets of this protocol, with this header in their payload, are of such a tunnel.
    #[inline]
    pub(crate) fn is_of(&self, outer: u8, gre: Option<Gre>) -> bool {
        told_by(outer, gre) == Some((self.carries, self.id))
    }

    /// Whether it leads to whoever has the IPv4 address in an IPv6 one.
    pub(crate) fn is_automatic(&self) -> bool {
        self.remote == 0
    }
}

/// What an outer packet carries, and the tunnel's number.
#[inline]
fn told_by(outer: u8, gre: Option<Gre>) -> Option<(Carries, u16)> {
    match gre {
        None if outer == protocol::IPV6 => Some((Carries::SixToFour, 0)),
        None => Some((Carries::Ipip, 0)),
        // Of tunnels with a key there are none.
        Some(Gre::Packet { key, .. }) => key.is_none().then_some((Carries::Gre, 0)),
        Some(Gre::Eoip { id, .. }) => Some((Carries::Eoip, id)),
    }
}

/// The enabled tunnels, and which one an outer packet belongs to.
#[derive(Clone, Debug, Default)]
pub struct Tunnels {
    list: Vec<Tunnel>,
    /// By what it carries, the other end and the number: those with a local address first.
    by_ends: HashMap<(Carries, u32, u16), Vec<TunnelAt>>,
}

impl Tunnels {
    /// Adds a tunnel.
    pub(super) fn add(&mut self, tunnel: Tunnel) -> Option<TunnelAt> {
        let at = TunnelAt(u16::try_from(self.list.len()).ok()?);
        self.list.push(tunnel);
        let places = self.by_ends.entry((tunnel.carries, tunnel.remote, tunnel.id)).or_default();
        let before = if tunnel.local == 0 { places.len() } else { 0 };
        places.insert(before, at);
        Some(at)
    }

    /// All of them, by place.
    pub fn list(&self) -> &[Tunnel] {
        &self.list
    }

    /// The tunnel at a place.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, at: TunnelAt) -> &Tunnel {
        &self.list[usize::from(at.0)]
    }

    /// The tunnel that a packet from `src` to `dst` came by: of this protocol, and with this header
    /// in its payload. One that leads to `src` alone goes before one that leads to everybody.
    pub(crate) fn find(
        &self,
        (src, dst): (u32, u32),
        outer: u8,
        gre: Option<Gre>,
    ) -> Option<TunnelAt> {
        let (carries, id) = told_by(outer, gre)?;
        let here =
            |at: &&TunnelAt| matches!(self.get(**at).local, 0) || self.get(**at).local == dst;
        let to = |remote| self.by_ends.get(&(carries, remote, id))?.iter().find(here).copied();
        to(src).or_else(|| to(0))
    }
}
