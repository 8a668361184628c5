//! Tunnels over IPv4: IPIP, GRE, 6to4, EoIP and L2TP version 3.
//!
//! ```text
//!            | IPv4 A ► B, protocol 4  |                        IPv4 packet |   ipip   20 bytes more
//!            | IPv4 A ► B, protocol 47 | GRE 4 |        IPv4, IPv6 packet |   gre    24
//!            | IPv4 A ► B, protocol 41 |                        IPv6 packet |   6to4   20
//!            | IPv4 A ► B, protocol 47 | GRE 8 | Ethernet frame             |   eoip   28, and its 14
//!            | IPv4 A ► B, 115 or UDP | session, cookie | Ethernet frame    |   l2tp-ether   24 to 48, and its 14
//!
//! link_out ─► [encapsulate] ─► LOCAL OUT … port       port … LOCAL IN ─► [decapsulate] ─► link_in
//! ```
//!
//! A tunnel stands on a route, not on an interface: it runs while one leads to the other end, and
//! while its keepalive is answered. IPIP, GRE and 6to4 lead to one neighbour, whom nobody
//! asks by ARP; EoIP and L2TP are pieces of Ethernet, may be ports of a bridge and have VLANs. A 6to4 tunnel
//! without `remote-address` leads to whoever has the IPv4 address in an IPv6 one (`six_to_four`): it
//! runs while its own end is there.
//!
//! How deep tunnels lie in each other is bounded (`MOST` in `flow::tunnel`), and one that leads to
//! itself is named in the log, its packets counted as `tunnel-loop`. Missing:
//! **ECN of the outer header** (RFC 6040's compatibility mode: always zero).

// What is done with the menus.
pub(crate) mod facilities;
// Whether a tunnel is up.
pub(crate) mod life;
// Frames behind L2TP version 3.
pub mod l2tp_ether;
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
use wire::l2tp3;
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
    /// Ethernet frames behind L2TP version 3.
    L2tpEther,
}

impl Carries {
    /// Whether frames go in, not packets.
    pub(crate) fn is_ethernet(self) -> bool {
        matches!(self, Carries::Eoip | Carries::L2tpEther)
    }

    /// What is left of 1,500 bytes for the IP packet inside.
    fn mtu(self) -> u16 {
        match self {
            Carries::Ipip | Carries::SixToFour => 1480,
            Carries::Gre => 1476,
            Carries::Eoip => 1458,
            Carries::L2tpEther => 1420,
        }
    }

    /// Whether packets of this EtherType go in; of frames, any.
    pub(crate) fn takes(self, ether_type: u16) -> bool {
        match self {
            Carries::Ipip => ether_type == ETHERTYPE_IPV4,
            Carries::Gre => matches!(ether_type, ETHERTYPE_IPV4 | ETHERTYPE_IPV6),
            Carries::SixToFour => ether_type == ETHERTYPE_IPV6,
            Carries::Eoip | Carries::L2tpEther => true,
        }
    }

    /// What `type` of the interface says.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Carries::Ipip => "ipip-tunnel",
            Carries::Gre => "gre-tunnel",
            Carries::SixToFour => "6to4-tunnel",
            Carries::Eoip => "eoip",
            Carries::L2tpEther => "l2tp-ether",
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
    /// `tunnel-id`; of L2TP `local-session-id`.
    pub id: u32,
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
    /// What L2TP says in front of a frame.
    pub(crate) l2tp: Option<l2tp_ether::Session>,
}

impl Tunnel {
    /// Reads an item; its MTU beside.
    pub(super) fn read(item: &Read, interface: InterfaceId, carries: Carries) -> (Tunnel, u16) {
        if carries == Carries::L2tpEther {
            return Tunnel::read_l2tp(item, interface);
        }
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
            id: if carries == Carries::Eoip { item.number("tunnel-id") as u32 } else { 0 },
            dscp: number("dscp").map(|dscp| dscp as u8),
            inherits_df: item.text("dont-fragment") == "inherit",
            clamps_mss: item.bool("clamp-tcp-mss"),
            keepalive: menu::read_keepalive(&item.value("keepalive")),
            // RouterOS has no such property of 6to4.
            allows_fast_path: carries != Carries::SixToFour && item.bool("allow-fast-path"),
            l2tp: None,
        };
        // Of many other ends none can be asked.
        let keepalive = tunnel.keepalive.filter(|_| !tunnel.is_automatic());
        let tunnel = Tunnel { keepalive, ..tunnel };
        (tunnel, number("mtu").map_or(carries.mtu(), |mtu| mtu as u16))
    }

    /// The same of one of L2TP version 3.
    fn read_l2tp(item: &Read, interface: InterfaceId) -> (Tunnel, u16) {
        let address = |name| match *item.value(name) {
            Value::Address(address) => u32::from(address),
            _ => 0,
        };
        let tunnel = Tunnel {
            interface,
            carries: Carries::L2tpEther,
            local: address("local-address"),
            remote: address("connect-to"),
            id: item.number("local-session-id") as u32,
            dscp: None,
            inherits_df: false,
            clamps_mss: false,
            keepalive: None,
            allows_fast_path: item.bool("allow-fast-path"),
            l2tp: Some(l2tp_ether::Session::read(item)),
        };
        (tunnel, item.number("mtu") as u16)
    }

    /// The outer packet's protocol.
    pub(crate) fn protocol(&self) -> u8 {
        match self.carries {
            Carries::Ipip => protocol::IPIP,
            Carries::SixToFour => protocol::IPV6,
            Carries::Gre | Carries::Eoip => protocol::GRE,
            Carries::L2tpEther if self.is_in_udp() => protocol::UDP,
            Carries::L2tpEther => protocol::L2TP,
        }
    }

    fn is_in_udp(&self) -> bool {
        self.l2tp.is_some_and(|session| session.is_in_udp())
    }

    /// Bytes of header in front of what is carried.
    pub(crate) fn overhead(&self) -> usize {
        match self.carries {
            Carries::Ipip | Carries::SixToFour => 20,
            Carries::Gre => 24,
            Carries::Eoip => 28,
            Carries::L2tpEther => 20 + self.l2tp.map_or(0, |session| session.header().1),
        }
    }

    /// Whether packets of this protocol, with this header in their payload, are of such a tunnel.
    #[inline]
    pub(crate) fn is_of(&self, outer: u8, head: Head) -> bool {
        told_by(outer, head) == Some((self.carries, self.id)) && self.protocol() == outer
    }

    /// Whether it leads to whoever has the IPv4 address in an IPv6 one.
    pub(crate) fn is_automatic(&self) -> bool {
        self.remote == 0
    }
}

/// What stands behind the outer IP header, as far as it says whose the packet is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Head {
    /// What is carried.
    Nothing,
    Gre(Gre),
    /// A session of L2TP version 3.
    L2tp(u32),
}

impl Head {
    /// Of the payload of an outer packet of this protocol; `None` if it is malformed.
    pub(crate) fn read(outer: u8, payload: &[u8]) -> Option<Head> {
        match outer {
            protocol::GRE => Gre::read(payload).map(Head::Gre),
            protocol::L2TP => l2tp3::in_ip(payload).map(Head::L2tp),
            protocol::UDP => l2tp_ether::session_in_udp(payload).map(Head::L2tp),
            _ => Some(Head::Nothing),
        }
    }
}

/// What an outer packet carries, and the tunnel's number.
#[inline]
fn told_by(outer: u8, head: Head) -> Option<(Carries, u32)> {
    match head {
        Head::Nothing if outer == protocol::IPV6 => Some((Carries::SixToFour, 0)),
        Head::Nothing => Some((Carries::Ipip, 0)),
        // Of tunnels with a key there are none.
        Head::Gre(Gre::Packet { key, .. }) => key.is_none().then_some((Carries::Gre, 0)),
        Head::Gre(Gre::Eoip { id, .. }) => Some((Carries::Eoip, id.into())),
        Head::L2tp(session) => Some((Carries::L2tpEther, session)),
    }
}

/// The enabled tunnels, and which one an outer packet belongs to.
#[derive(Clone, Debug, Default)]
pub struct Tunnels {
    list: Vec<Tunnel>,
    /// The protocols of outer packets.
    protocols: Vec<u8>,
    /// By the outer protocol, what it carries, the other end and the number: those with a local address first.
    by_ends: HashMap<(u8, Carries, u32, u32), Vec<TunnelAt>>,
}

impl Tunnels {
    /// Adds a tunnel.
    pub(super) fn add(&mut self, tunnel: Tunnel) -> Option<TunnelAt> {
        let at = TunnelAt(u16::try_from(self.list.len()).ok()?);
        self.list.push(tunnel);
        if !self.has(tunnel.protocol()) {
            self.protocols.push(tunnel.protocol());
        }
        let key = (tunnel.protocol(), tunnel.carries, tunnel.remote, tunnel.id);
        let places = self.by_ends.entry(key).or_default();
        let before = if tunnel.local == 0 { places.len() } else { 0 };
        places.insert(before, at);
        Some(at)
    }

    /// All of them, by place.
    pub fn list(&self) -> &[Tunnel] {
        &self.list
    }

    /// Whether one's outer packets are of this protocol.
    pub(crate) fn has(&self, protocol: u8) -> bool {
        self.protocols.contains(&protocol)
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
    pub(crate) fn find(&self, (src, dst): (u32, u32), outer: u8, head: Head) -> Option<TunnelAt> {
        let (carries, id) = told_by(outer, head)?;
        let here =
            |at: &&TunnelAt| matches!(self.get(**at).local, 0) || self.get(**at).local == dst;
        let to =
            |remote| self.by_ends.get(&(outer, carries, remote, id))?.iter().find(here).copied();
        to(src).or_else(|| to(0))
    }
}
