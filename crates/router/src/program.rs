//! Program: the configuration compiled, immutable, swapped whole between two batches.
//!
//! ```text
//! config::Tree (said) ──► Program (meant) ──► State (happening: connections, neighbours, counters)
//! ```
//!
//! Nothing here outlives a change of the configuration; nothing in the state is lost by one.

use crate::book::Book;
use crate::counter::CounterBook;
use crate::facility::FACILITIES;
use crate::firewall::address_list::AddressLists;
use crate::firewall::classes::Tuples;
use crate::firewall::compile::Setting;
use crate::firewall::connection::{self, Enabled};
use crate::firewall::filter::Filter;
use crate::firewall::mangle::Mangle;
use crate::firewall::mark::{Mark, MarkBook};
use crate::firewall::matcher::hours::{Clock, Hours};
use crate::firewall::matcher::layer7::Patterns;
use crate::firewall::nat::Nat;
use crate::firewall::raw::Raw;
use crate::firewall::state::SlotBook;
use crate::interface::bonding::{Bond, BondAt};
use crate::interface::bridge::filter::Chain;
use crate::interface::bridge::{self, Bridge};
use crate::interface::l2tp::L2tp;
use crate::interface::menu::ETHERNET;
use crate::interface::ppp::aaa::Aaa;
use crate::interface::ppp::users::Users;
use crate::interface::pppoe::{Pppoe, Session, SessionAt, Sessions};
use crate::interface::pptp::Pptp;
use crate::interface::tunnel::{Carries, TunnelAt, Tunnels};
use crate::interface::vlan::Vlans;
use crate::interface::vrrp::Vrrp;
use crate::interface::wireguard::{Wireguard, WireguardAt};
use crate::interface::{InterfaceId, InterfaceIds, Interfaces, Link, Names};
use crate::ip::address::{Address, OwnSources};
use crate::ip::arp;
use crate::ip::dhcp::{self, client::Leased};
use crate::ip::dns;
use crate::ip::fed::FedTables;
use crate::ip::gateway::{Gateway, Gateways};
use crate::ip::pool::Pool;
use crate::ip::rule as route_rule;
use crate::ip::settings::{ReversePath, Settings};
use crate::ip::vrf::Vrfs;
use crate::ip::{hotspot, ipsec, nat_pmp, traffic_flow, upnp};
use crate::ipv6;
use crate::queue::interface::PortQueues;
use crate::queue::leaf::QueueId;
use crate::queue::simple::{Simple, Sorted};
use crate::queue::{self, Path, QueueLeafId, Trees};
use crate::unmet::{BRIDGE_PATH, FASTTRACK, IPV4, Unmet};
use config::{Item, Tree, Value};
use port::{Capabilities, Offloads};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use wire::vlan::Tag;
use wire::{FiveTuple, MacAddr, Moment};

/// A port of the device, as the device describes it.
#[derive(Clone, Debug)]
pub struct PortInfo {
    /// Its name: `ether1`.
    pub name: String,
    /// Its MAC address.
    pub mac: MacAddr,
    /// What its driver can do.
    pub capabilities: Capabilities,
}

/// The way out by an interface, in the form the fast path reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WayOut {
    /// The port's place; none of the ports' if the interface does not run or has no port of its own.
    pub(crate) port: u16,
    /// The longest frame without a tag that the interface takes, FCS not counted.
    pub(crate) longest: u16,
    /// Frames can be sent in FastPath.
    pub(crate) fast_tx: bool,
    /// What is left to do to a frame, and the port does.
    pub(crate) offload: Offloads,
}

/// What an interface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A port of the device.
    Ethernet {
        /// Its place among the ports.
        port: u32,
    },
    /// A bridge.
    Bridge(BridgeAt),
    /// A VLAN.
    Vlan {
        /// The interface it stands on.
        on: InterfaceId,
        /// The tag of its frames there.
        tag: Tag,
    },
    /// A tunnel.
    Tunnel {
        /// Its place, if it is enabled.
        at: TunnelAt,
        /// What it carries.
        carries: Carries,
    },
    /// A bond.
    Bond(BondAt),
    /// A virtual router.
    Vrrp {
        /// The interface it stands on.
        on: InterfaceId,
    },
    /// WireGuard's, by its place.
    Wireguard(WireguardAt),
    /// Hardware that is not here: it never runs.
    Absent,
    /// PPPoE's: a client, or a session of a server.
    Session(SessionAt),
}

/// A bridge's place in [`Program::bridges`] (and of its hosts in the state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeAt(pub u16);

impl BridgeAt {
    /// As an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// An interface as compiled.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its number.
    pub id: InterfaceId,
    /// Its name.
    pub name: Arc<str>,
    /// Its kind.
    pub kind: Kind,
    /// Its MAC address.
    pub mac: MacAddr,
    /// The longest IP packet: what is configured, or less if the link takes less.
    pub mtu: u16,
    /// Not disabled.
    pub enabled: bool,
    /// Frames pass: it is enabled, and its link (of a bridge: that of some port) is up.
    pub running: bool,
    /// The bond it is a slave of.
    pub bond: Option<BondAt>,
    /// The bridge it is a port of.
    pub bridge: Option<BridgeAt>,
    /// Frames can be received in FastPath.
    pub fast_rx: bool,
    /// Frames can be sent in FastPath.
    pub fast_tx: bool,
    /// What is left to do to a frame, and its port does.
    pub offload: Offloads,
    /// What it does with ARP.
    pub arp: arp::Mode,
    /// What few have.
    pub(crate) rest: Option<Box<Rest>>,
}

/// What few interfaces have; of sessions, which may be many, none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rest {
    /// The VLANs that stand on it.
    pub(crate) vlans: Vlans,
    /// Addresses beside its own whose frames are for others: virtual routers' that have theirs now.
    pub(crate) aliases: Vec<(MacAddr, InterfaceId)>,
    /// The MTU that is configured, if it is another one.
    pub(crate) configured_mtu: Option<u16>,
    /// How long an answer to ARP is believed, if not as long as on others.
    pub(crate) arp_timeout: Option<Duration>,
}

impl Interface {
    /// The VLANs that stand on it, if any do.
    #[inline]
    pub(crate) fn vlans(&self) -> Option<&Vlans> {
        self.rest.as_ref().map(|rest| &rest.vlans).filter(|vlans| !vlans.is_empty())
    }

    /// What few have.
    pub(crate) fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// The interface that is none: disabled, nameless.
    pub(crate) fn none() -> Interface {
        Interface {
            id: InterfaceId::NONE,
            name: "".into(),
            kind: Kind::Ethernet { port: u32::MAX },
            mac: MacAddr::default(),
            mtu: 0,
            enabled: false,
            running: false,
            bond: None,
            bridge: None,
            fast_rx: false,
            fast_tx: false,
            offload: Offloads::NONE,
            arp: arp::Mode::default(),
            rest: None,
        }
    }
}

/// The compiled configuration. Cloning is cheap: what may be large is shared.
#[derive(Clone, Debug)]
pub struct Program {
    /// By number; place 0 is a disabled interface that nobody uses.
    pub interfaces: Vec<Interface>,
    /// By number: the ways out.
    pub(crate) ways_out: Arc<[WayOut]>,
    /// By port: what is known of its link.
    pub(crate) links: Arc<[Link]>,
    /// The interface behind each port.
    pub ports: Vec<InterfaceId>,
    /// By name.
    pub names: Names,
    /// The bridges.
    pub bridges: Vec<Bridge>,
    /// The tunnels.
    pub tunnels: Arc<Tunnels>,
    /// Interfaces of WireGuard.
    pub wireguards: Arc<Vec<Wireguard>>,
    /// The virtual routers.
    pub vrrps: Vec<Vrrp>,
    /// The bonds.
    pub bonds: Vec<Bond>,
    /// PPPoE's clients and servers.
    pub(crate) pppoe: Arc<Pppoe>,
    /// L2TP's clients and its server.
    pub(crate) l2tp: Arc<L2tp>,
    /// PPTP's.
    pub(crate) pptp: Arc<Pptp>,
    /// RADIUS.
    pub(crate) aaa: Arc<Aaa>,
    /// The open sessions.
    pub sessions: Arc<Sessions>,
    /// Who may log in by PPP.
    pub(crate) users: Arc<Users>,
    /// The sessions that were open when this was compiled.
    pub(crate) opened: Arc<[Arc<Session>]>,
    /// The interfaces that run by what they know themselves, when this was compiled.
    pub(crate) up: Arc<BTreeSet<InterfaceId>>,
    /// The gateways that did not answer, when this was compiled.
    pub(crate) silent: Arc<BTreeSet<Gateway>>,
    /// What is behind the gateways of routes.
    pub(crate) gateways: Arc<Gateways>,
    /// `/interface bridge settings allow-fast-path`.
    pub(crate) bridges_allow_fast_path: bool,
    /// `use-ip-firewall`.
    pub(crate) bridges_use_ip_firewall: bool,
    /// `/interface bridge filter`.
    pub bridge_filter: Arc<bridge::filter::Filter>,
    /// `/interface bridge nat`.
    pub(crate) bridge_nat: Arc<bridge::filter::Filter>,
    /// What of a frame the filter's rules look at.
    pub(crate) bridge_looks_at: [u64; 4],
    /// IPv6.
    pub v6: ipv6::Meant,
    /// The router's own addresses.
    pub addresses: Vec<Address>,
    /// Addresses of others that are answered for on an interface: `/ip arp published`, in order.
    pub(crate) published: Arc<[(InterfaceId, u32)]>,
    /// What may be one of them, or of their broadcasts.
    pub(crate) own_sources: OwnSources,
    /// What DHCP clients were given, when this was compiled.
    pub(crate) leased: Arc<[Leased]>,
    /// The tables and rules that were fed.
    pub(crate) fed: Arc<FedTables>,
    /// `/ip pool`.
    pub(crate) pools: Arc<[Pool]>,
    /// `/ip dhcp-server` and `/ip dhcp-client`.
    pub(crate) dhcp: Arc<dhcp::settings::Settings>,
    /// `/ip dhcp-relay`.
    pub(crate) relays: Arc<[dhcp::relay::Relay]>,
    /// `/ip dns`.
    pub(crate) dns: Arc<dns::resolver::Settings>,
    /// `/ip nat-pmp`.
    pub(crate) nat_pmp: Arc<nat_pmp::Settings>,
    pub(crate) mpls: Arc<crate::mpls::Settings>,
    pub(crate) hotspot: Arc<hotspot::Settings>,
    pub(crate) rated: Arc<[hotspot::Rated]>,
    /// `/ip upnp`.
    pub(crate) upnp: Arc<upnp::Settings>,
    /// `/system`.
    pub(crate) system: crate::system::Settings,
    /// `/ip route vrf`.
    pub(crate) vrfs: Arc<Vrfs>,
    /// `/ip route rule`.
    pub(crate) route_rules: Arc<[route_rule::Rule]>,
    /// `/ip firewall address-list`.
    pub(crate) lists: Arc<AddressLists>,
    /// `/ip firewall layer7-protocol`.
    pub(crate) patterns: Arc<Patterns>,
    /// `/ip accounting`: how many pairs at most, if it is enabled.
    pub(crate) accounted: Option<u32>,
    /// `/ip ipsec`, where there is some.
    pub(crate) ipsec: Option<Arc<ipsec::settings::Settings>>,
    /// `/ip traffic-flow`, where anybody is told.
    pub(crate) traffic_flow: Option<Arc<traffic_flow::Settings>>,
    /// `/ip settings`.
    pub settings: Settings,
    /// `/ip firewall raw`.
    pub raw: Arc<Raw>,
    /// `/ip firewall mangle`.
    pub mangle: Arc<Mangle>,
    /// `/ip firewall filter`.
    pub filter: Arc<Filter>,
    /// `/ip firewall nat`.
    pub nat: Arc<Nat>,
    /// `/queue simple`.
    pub queues: Arc<Simple>,
    /// The simple queues of sessions.
    pub(crate) dynamic_queues: Arc<[Arc<Item>]>,
    /// `/queue tree`.
    pub trees: Arc<Trees>,
    /// The queues of ports.
    pub(crate) port_queues: Arc<PortQueues>,
    /// `/ip firewall connection tracking`.
    pub connection_settings: connection::Settings,
    /// Whether connections are tracked.
    pub tracking: bool,
    /// Whether a routed packet needs nothing but the FIB.
    pub(crate) stateless: bool,
    /// What tells first packets apart, where that is enough to know their way ([`first`](crate::fast::first)).
    pub(crate) tuples: Option<Arc<Tuples>>,
    /// Why quick ways are not taken.
    pub unmet: Unmet,
    /// Which item has which number.
    pub(crate) books: Books,
}

/// Which item has which number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    pub(crate) interfaces: InterfaceIds,
    /// Rules' counters.
    pub(crate) counters: CounterBook,
    /// Rules' memory.
    pub(crate) slots: SlotBook,
    /// Names of marks.
    pub(crate) marks: MarkBook,
    pub(crate) queues: Book<QueueId>,
}

impl Program {
    /// A program without anything, not even ports.
    pub(crate) fn empty() -> Program {
        let tree = Tree::default();
        let interfaces = Interfaces::default();
        let Interfaces { by_id, ways_out, ports, names, bridges, tunnels, vrrps, bonds, .. } =
            interfaces;
        let lists = Arc::new(AddressLists::compile(&tree));
        let patterns = Arc::default();
        let mut books = Books::default();
        let mut setting = Setting {
            tree: &tree,
            lists: &lists,
            patterns: &patterns,
            names: &names,
            marks: &books.marks,
            use_ip_firewall: false,
            ipsec: false,
            book: &mut books.counters,
            slots: &mut books.slots,
        };
        let (filter, nat) = (Filter::compile(&mut setting), Nat::compile(&mut setting));
        let (raw, mangle) = (Raw::compile(&mut setting), Mangle::compile(&mut setting));
        Program {
            leased: Arc::default(),
            fed: Arc::default(),
            pools: Arc::default(),
            dhcp: Arc::default(),
            dns: Arc::default(),
            vrfs: Arc::default(),
            route_rules: Arc::default(),
            raw: Arc::new(raw),
            mangle: Arc::new(mangle),
            filter: Arc::new(filter),
            nat: Arc::new(nat),
            bridges_allow_fast_path: true,
            bridges_use_ip_firewall: false,
            bridge_filter: Arc::default(),
            bridge_nat: Arc::default(),
            queues: Arc::default(),
            accounted: None,
            traffic_flow: None,
            ipsec: None,
            dynamic_queues: Arc::default(),
            trees: Arc::default(),
            port_queues: Arc::default(),
            v6: ipv6::Meant::default(),
            addresses: Vec::new(),
            published: Arc::default(),
            own_sources: OwnSources::of(&[]),
            settings: Settings::read(&tree),
            connection_settings: connection::Settings::read(&tree),
            tracking: false,
            stateless: false,
            tuples: None,
            bridge_looks_at: [0; 4],
            unmet: Unmet::default(),
            interfaces: by_id,
            ways_out,
            links: Arc::default(),
            ports,
            names,
            bridges,
            tunnels,
            wireguards: interfaces.wireguards,
            vrrps,
            bonds,
            pppoe: Arc::default(),
            l2tp: Arc::default(),
            pptp: Arc::default(),
            aaa: Arc::default(),
            sessions: Arc::default(),
            users: Arc::default(),
            opened: Arc::default(),
            system: crate::system::Settings::default(),
            relays: Arc::default(),
            nat_pmp: Arc::default(),
            mpls: Arc::default(),
            hotspot: Arc::default(),
            rated: Arc::default(),
            upnp: Arc::default(),
            up: Arc::default(),
            silent: Arc::default(),
            gateways: Arc::default(),
            lists,
            patterns,
            books,
        }
    }

    /// What a device comes with: its ports, and helpers.
    pub fn factory_tree(ports: &[PortInfo]) -> Tree {
        let mut tree = Tree::default();
        for port in ports {
            let name = Value::Text(port.name.clone());
            let values = [("name", name.clone()), ("default-name", name.clone())];
            tree.push(&ETHERNET, values.into());
            queue::interface::factory(&mut tree, name);
        }
        connection::service::furnish(&mut tree);
        for facility in FACILITIES {
            let Some(menu) = facility.menu else { continue };
            for values in (facility.factory)() {
                tree.push(menu, values);
            }
        }
        tree
    }

    /// Enters the interfaces.
    pub(crate) fn set_interfaces(&mut self, interfaces: Interfaces) {
        let Interfaces { by_id, ways_out, ports, names, bridges, tunnels, .. } = interfaces;
        (self.interfaces, self.ways_out, self.ports) = (by_id, ways_out, ports);
        (self.names, self.bridges, self.tunnels) = (names, bridges, tunnels);
        (self.vrrps, self.bonds, self.wireguards) =
            (interfaces.vrrps, interfaces.bonds, interfaces.wireguards);
        (self.pppoe, self.sessions) = (interfaces.pppoe.into(), interfaces.sessions.into());
        (self.l2tp, self.pptp) = (interfaces.l2tp.into(), interfaces.pptp.into());
        self.aaa = interfaces.aaa.into();
    }

    /// Leads whatever leaves by an interface with queue trees through them.
    pub(crate) fn shape_ways_out(&mut self) {
        let ways = self.ways_out.iter().zip(&self.interfaces).map(|(way, interface)| {
            let shaped = self.trees.are_on(interface.id);
            let port = match interface.kind {
                Kind::Ethernet { port } if interface.running && !shaped => port as u16,
                _ => u16::MAX,
            };
            WayOut { port, ..*way }
        });
        self.ways_out = ways.collect();
    }

    /// Finds out which quick ways everything else leaves open.
    pub(crate) fn open_quick_ways(&mut self) {
        let tables = [self.raw.len(), self.mangle.len(), self.filter.len(), self.nat.len()];
        // RouterOS makes two rules in mangle of a profile's change-tcp-mss.
        let clamps = self.clamps_mss();
        let rules = tables.iter().any(|&rules| rules > 0) || clamps;
        self.tracking = match self.connection_settings.enabled {
            Enabled::Yes => true,
            Enabled::No => false,
            Enabled::Auto => {
                rules || self.nat_pmp.enabled || self.upnp.enabled || self.hotspot.is_on()
            }
        };
        let no_rules = self.raw.is_empty() && self.mangle.is_empty() && self.filter.is_empty();
        let one_table = self.route_rules.is_empty() && self.vrfs.is_empty();
        let no_rules = no_rules && one_table && !clamps;
        let nobody_told = self.traffic_flow.is_none();
        let looks = self.accounted.is_some() || self.ipsec.is_some() || self.hotspot.is_on();
        let nobody_counts = nobody_told && !looks;
        let nothing = !self.tracking && no_rules && !self.has_queues() && nobody_counts;
        let any_source = self.settings.reverse_path == ReversePath::No;
        self.stateless = nothing && self.settings.ip_forward && any_source;
        // Flows of a class share what is counted, those of a pair do not.
        let others = clamps || !self.nat.is_empty() || !self.queues.is_empty() || looks;
        let by_class = rules && one_table && any_source && !self.tracking && !others;
        self.tuples = by_class.then(|| {
            let (raw, mangle) = (self.raw.rules().gates(), self.mangle.rules().gates());
            Arc::new(Tuples::of(&[raw, mangle, self.filter.rules().gates()]))
        });
        let asks = self.has_queues() || !nobody_told;
        self.v6.open_quick_ways(self.connection_settings.enabled, asks);
        let filtering = self.bridges.iter().any(|bridge| bridge.filtering.is_some());
        self.unmet = Unmet::of(&[
            (!self.settings.allow_fast_path, "/ip settings allow-fast-path=no", &[IPV4, FASTTRACK]),
            (!any_source, "/ip settings rp-filter checks sources", &[IPV4]),
            (rules && !clamps, "there are rules in /ip firewall", &[IPV4]),
            (clamps, "a PPP session has change-tcp-mss, a rule in /ip firewall mangle", &[IPV4]),
            (self.tracking, "connection tracking is active", &[IPV4]),
            (!self.tracking, "connection tracking is not active", &[FASTTRACK]),
            (!self.queues.is_empty(), "there are simple queues", &[IPV4]),
            (self.accounted.is_some(), "/ip accounting is enabled", &[IPV4]),
            (self.hotspot.is_on(), "there is a hotspot", &[IPV4]),
            (!self.vrfs.is_empty(), "there are VRFs in /ip route vrf", &[IPV4]),
            (self.trees.has_global(), "there is a queue tree with parent=global", &[IPV4]),
            (
                !self.bridge_filter.is_empty(),
                "there are rules in /interface bridge filter",
                &[BRIDGE_PATH],
            ),
            (
                !self.bridge_nat.is_empty(),
                "there are rules in /interface bridge nat",
                &[BRIDGE_PATH],
            ),
            (filtering, "a bridge has vlan-filtering=yes", &[BRIDGE_PATH]),
            (
                !self.bridges_allow_fast_path,
                "/interface bridge settings allow-fast-path=no",
                &[BRIDGE_PATH],
            ),
            (
                self.bridges_use_ip_firewall,
                "/interface bridge settings use-ip-firewall=yes",
                &[BRIDGE_PATH],
            ),
        ]);
    }

    /// The queue of a port; `None` if frames do not wait there.
    pub(crate) fn ports_queue(&self, port: InterfaceId) -> Option<QueueLeafId> {
        self.port_queues.of(port)
    }

    /// Whether an interface that is no port has queue trees.
    pub(crate) fn is_shaped_above(&self, interface: InterfaceId) -> bool {
        let is_port = matches!(self.interface(interface).kind, Kind::Ethernet { .. });
        !is_port && self.trees.are_on(interface)
    }

    /// Whether some session changes the MSS of TCP connections.
    fn clamps_mss(&self) -> bool {
        self.sessions.list().iter().any(|standing| standing.session.clamps_mss())
    }

    /// Whether routed packets pass any queue.
    pub(crate) fn has_queues(&self) -> bool {
        !self.queues.is_empty() || self.trees.has_global()
    }

    /// The queues of a routed packet with these addresses, which are not translated back.
    pub(crate) fn queue_path<A: Sorted>(
        &self,
        tuple: &FiveTuple<A>,
        in_interface: InterfaceId,
        out_interface: InterfaceId,
        mark: Mark,
        (clock, now): (&mut Clock, Moment),
    ) -> Path {
        let global = self.trees.global(mark);
        let FiveTuple { src, dst, .. } = *tuple;
        let (ways, is_now) =
            ((in_interface, out_interface), &mut |hours: &Hours| clock.is(hours, now));
        let found = self.queues.classify_at(src, dst, ways, mark, is_now);
        Path::of([global, found.map(|found| found.leaf), found.and_then(|found| found.total)])
    }

    /// The interface.
    #[inline]
    pub fn interface(&self, id: InterfaceId) -> &Interface {
        &self.interfaces[id.index()]
    }

    /// The bridge.
    #[inline]
    pub fn bridge(&self, at: BridgeAt) -> &Bridge {
        &self.bridges[at.index()]
    }

    /// Whether rules of bridges look at what the router sends.
    pub(crate) fn has_bridge_output(&self) -> bool {
        self.bridge_filter.has(Chain::Output) || self.bridge_nat.has(Chain::SrcNat)
    }

    /// `ipv4-fast-path-active`.
    #[inline]
    pub fn ipv4_fast_path(&self) -> bool {
        self.unmet.ipv4_fast_path.is_empty()
    }

    /// `ipv4-fasttrack-active`, but for a connection that uses it.
    #[inline]
    pub fn fasttrack(&self) -> bool {
        self.unmet.ipv4_fasttrack.is_empty()
    }

    /// Whether a routed packet needs nothing but the FIB.
    #[inline]
    pub fn is_stateless(&self) -> bool {
        self.stateless
    }

    /// `bridge-fast-path-active`.
    #[inline]
    pub fn bridge_fast_path(&self) -> bool {
        self.unmet.bridge_fast_path.is_empty()
    }

    /// The interface on this one whose address this is, beside its own.
    #[inline]
    pub(crate) fn alias(&self, on: InterfaceId, mac: MacAddr) -> Option<InterfaceId> {
        let aliases = &self.interface(on).rest.as_ref()?.aliases;
        aliases.iter().find(|(alias, _)| *alias == mac).map(|&(_, interface)| interface)
    }

    /// Whether it is a virtual router's.
    pub(crate) fn is_virtual(&self, id: InterfaceId) -> bool {
        self.interfaces.get(id.index()).is_some_and(|i| matches!(i.kind, Kind::Vrrp { .. }))
    }

    /// Whether there are sessions of L2TP.
    #[inline]
    pub(crate) fn has_l2tp(&self) -> bool {
        self.sessions.has_l2tp()
    }

    /// Whether packets are carried in others: by tunnels, or by sessions over IP.
    #[inline]
    pub(crate) fn has_tunnels(&self) -> bool {
        !self.tunnels.list().is_empty() || self.has_outer_sessions()
    }

    /// Whether there are sessions whose packets come in outer ones: L2TP's, or PPTP's.
    #[inline]
    pub(crate) fn has_outer_sessions(&self) -> bool {
        self.sessions.has_l2tp() || self.sessions.has_pptp()
    }

    /// Whether frames pass by the interface: it is enabled, and its link is up.
    pub fn runs(&self, id: InterfaceId) -> bool {
        self.interfaces.get(id.index()).is_some_and(|i| i.running)
    }

    /// Whether the interface is there and not disabled: its addresses are the router's own.
    pub fn is_enabled(&self, id: InterfaceId) -> bool {
        self.interfaces.get(id.index()).is_some_and(|i| i.enabled)
    }
}
