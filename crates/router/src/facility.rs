//! Facilities: each menu of the router, with all that is done with it, in one table; and their list.
//!
//! ```text
//!                    ┌ menu      what can be typed
//!                    │ check     what may not                        (typing)
//! FACILITIES ─► each ┤ compile   what it means: a part of the Program (a change)
//!                    │ value, setting, remark, rows   what is shown   (print, get, find)
//!                    └ commands  what can be done                     (anything else)
//! ```
//!
//! A facility stands beside its code, as a `static` made of [`Facility::of`] its menu, and here as one
//! line. Whoever needs all menus, compiles, checks or shows one goes through the list: nobody else
//! knows a menu by its path (a test looks for them).
//!
//! Nothing of it is on a packet's way.

use crate::compiler::Compiling;
use crate::router::Router;
use crate::status::{Page, RouterStatus, Values};
use crate::system::{identity, logging, ntp};
use crate::{firewall, interface, ip, ipv6, mpls, queue, snmp, status, tool};
use config::{Call, Command, Display, Item, ItemId, Menu, Reply, Started, Tree, Unnamed, Value};
use interface::bridge;
use ip::dhcp::facilities as dhcp;
use ip::dns::facilities as dns;
use std::collections::BTreeMap;
use wire::Moment;

/// A menu, and all that is done with it.
#[derive(Clone, Copy)]
pub(crate) struct Facility {
    /// What can be typed; tools without a configuration have none.
    pub(crate) menu: Option<&'static Menu>,
    /// The facility that compiles this one's items together with its own: interfaces of all kinds.
    pub(crate) part_of: Option<&'static Facility>,
    /// Those that are compiled before it, and whose every change means that it is compiled anew.
    pub(crate) after: &'static [&'static Facility],
    /// Whether it is compiled anew when a port's link goes up or down, or a tunnel does.
    pub(crate) follows_links: bool,
    /// Whether it is compiled anew when a gateway falls silent, or answers again.
    pub(crate) follows_gateways: bool,
    /// Whether it is compiled anew when a DHCP client gets an address, or loses it.
    pub(crate) follows_leases: bool,
    /// Whether it is compiled anew when the router has found out something of IPv6.
    pub(crate) follows_found: bool,
    /// Whether it is compiled anew when other tables are fed than before.
    pub(crate) follows_tables: bool,
    /// Whether it is compiled anew when a session is opened, or is over.
    pub(crate) follows_sessions: bool,
    /// Makes its part of the program; called when a menu it is made of has changed.
    pub(crate) compile: fn(&mut Compiling),
    /// Whether all flows learn anew when it is compiled anew.
    pub(crate) relearn: bool,
    /// What an item that is added or changed must not be, in RouterOS's words.
    pub(crate) check: fn(&Item, &Tree) -> Result<(), String>,
    /// What the router says of an item's property.
    pub(crate) value: fn(&RouterStatus, &Item, &str) -> Option<Value>,
    /// What the router says of a setting.
    pub(crate) setting: fn(&RouterStatus, &str) -> Option<Value>,
    /// What is to be said of an item beside: why it is invalid.
    pub(crate) remark: fn(&RouterStatus, &Item) -> Option<String>,
    /// The items that the router made itself.
    pub(crate) rows: Rows,
    /// The items that a device begins with, which say `default=yes` of themselves.
    pub(crate) factory: fn() -> Vec<Values>,
    /// What can be done beside.
    pub(crate) commands: &'static [(&'static Command, Start)],
}

/// Starts a command; what takes no time is done when it returns.
pub(crate) type Start = fn(&mut Router, &Call, &Tree, Moment) -> Result<Started<Router>, String>;

/// The items of a menu that the router made itself.
#[derive(Clone, Copy)]
pub(crate) enum Rows {
    /// None ever.
    None,
    /// So few that they are all made at once.
    Few(fn(&RouterStatus) -> Vec<Item>),
    /// Maybe millions: at most so many behind an item.
    Many {
        page: Page,
        /// The one with this number, where it is not the one behind the number before.
        item: Option<fn(&RouterStatus, ItemId) -> Option<Item>>,
    },
}

/// All facilities. A script is exported in this order, and what a facility is compiled of stands
/// before it.
pub(crate) static FACILITIES: &[&Facility] = &[
    &interface::facilities::ALL,
    &interface::facilities::ETHERNET,
    &bridge::facilities::BRIDGE,
    &interface::bonding::menu::FACILITY,
    &interface::vlan::FACILITY,
    &interface::tunnel::facilities::IPIP,
    &interface::tunnel::facilities::GRE,
    &interface::tunnel::facilities::SIX_TO_FOUR,
    &interface::tunnel::facilities::EOIP,
    &interface::tunnel::facilities::L2TP_ETHER,
    &interface::wireguard::facilities::FACILITY,
    &interface::wireguard::facilities::PEER,
    &interface::vrrp::menu::FACILITY,
    &interface::absent::FACILITY,
    &ip::pool::FACILITY,
    &interface::ppp::menu::PROFILES,
    &interface::pppoe::menu::CLIENTS,
    &interface::pppoe::menu::SERVERS,
    &interface::pppoe::menu::SESSIONS,
    &interface::l2tp::menu::CLIENTS,
    &interface::l2tp::menu::SERVERS,
    &interface::l2tp::menu::SESSIONS,
    &interface::l2tp::menu::SECRETS,
    &interface::pptp::menu::CLIENTS,
    &interface::pptp::menu::SERVERS,
    &interface::pptp::menu::SESSIONS,
    &interface::ppp::menu::SECRETS,
    &interface::ppp::aaa::SERVERS,
    &interface::ppp::aaa::LISTENS,
    &interface::ppp::aaa::USES,
    &interface::ppp::menu::ACTIVES,
    &bridge::facilities::PORT,
    &bridge::vlan::FACILITY,
    &interface::list::LISTS,
    &interface::list::MEMBERS,
    &bridge::facilities::SETTINGS,
    &bridge::filter::menu::FACILITY,
    &bridge::filter::menu::NAT_FACILITY,
    &bridge::facilities::HOST,
    &bridge::facilities::MDB,
    &ip::rule::ROUTING_TABLE,
    &ip::facilities::SETTINGS,
    &ip::vrf::FACILITY,
    &ip::vrf::VRF7_FACILITY,
    &ip::facilities::ADDRESS,
    &ip::facilities::ARP,
    &ip::facilities::ROUTE,
    &ip::rule::FACILITY,
    &ip::rule::ROUTING_RULE,
    &ip::pool::USED_FACILITY,
    &dhcp::OPTION,
    &dhcp::SETS,
    &dhcp::CLIENT_OPTION,
    &dhcp::SERVER,
    &dhcp::NETWORK,
    &dhcp::LEASE,
    &dhcp::CONFIG,
    &dhcp::CLIENT,
    &ip::dhcp::relay::FACILITY,
    &dns::DNS,
    &dns::FORWARDERS,
    &dns::STATIC,
    &dns::CACHE,
    &ip::hotspot::menu::USER_PROFILES,
    &ip::hotspot::menu::PROFILES,
    &ip::hotspot::menu::FACILITY,
    &ip::hotspot::menu::USERS,
    &ip::hotspot::menu::BINDINGS,
    &ip::hotspot::menu::GARDENS,
    &ip::hotspot::menu::ACTIVES,
    &ip::hotspot::menu::HOSTS,
    &ip::nat_pmp::FACILITY,
    &ip::nat_pmp::SIDES_FACILITY,
    &ip::upnp::FACILITY,
    &ip::upnp::SIDES_FACILITY,
    &ip::traffic_flow::menu::FACILITY,
    &ip::traffic_flow::menu::TARGETS,
    &ip::ipsec::facilities::PROFILE,
    &ip::ipsec::facilities::PROPOSAL,
    &ip::ipsec::facilities::PEER,
    &ip::ipsec::facilities::IDENTITY,
    &ip::ipsec::facilities::POLICY,
    &ip::ipsec::facilities::ACTIVE,
    &ip::ipsec::facilities::SA,
    &mpls::menu::FACILITY,
    &mpls::menu::OF_INTERFACES,
    &mpls::menu::OF_LDP,
    &mpls::menu::OF_LDP_INTERFACES,
    &mpls::menu::NEIGHBORS,
    &mpls::menu::OF_ACCEPTS,
    &mpls::menu::OF_ADVERTISES,
    &mpls::menu::LOCALS,
    &mpls::menu::REMOTES,
    &mpls::menu::TABLE,
    &ip::accounting::FACILITY,
    &ip::accounting::SNAPSHOTS,
    &ip::accounting::REST,
    &ip::discovery::menu::FACILITY,
    &ip::discovery::menu::DISCOVERY,
    &firewall::facilities::ADDRESS_LIST,
    &firewall::facilities::LAYER7,
    &firewall::facilities::RAW,
    &firewall::facilities::MANGLE,
    &firewall::facilities::FILTER,
    &firewall::facilities::NAT,
    &firewall::connection::service::FACILITY,
    &firewall::connection::facilities::TRACKING,
    &firewall::connection::facilities::CONNECTION,
    &firewall::connection::facilities::CONNECTION6,
    &ipv6::facilities::SETTINGS,
    &ipv6::pool::FACILITY,
    &ipv6::pool::USED_FACILITY,
    &ipv6::facilities::ADDRESS,
    &ipv6::facilities::NEIGHBOR,
    &ipv6::facilities::ROUTE,
    &ipv6::dhcp::facilities::OPTION,
    &ipv6::dhcp::facilities::SETS,
    &ipv6::dhcp::facilities::SERVER,
    &ipv6::dhcp::facilities::BINDING,
    &ipv6::dhcp::facilities::CLIENT,
    &ipv6::dhcp::facilities::RELAY,
    &ipv6::nd::facilities::FACILITY,
    &ipv6::nd::facilities::PREFIX_FACILITY,
    &ipv6::nd::facilities::DEFAULT_FACILITY,
    &ipv6::nd::facilities::PROXY_FACILITY,
    &firewall::facilities::ADDRESS_LIST6,
    &firewall::facilities::RAW6,
    &firewall::facilities::MANGLE6,
    &firewall::facilities::FILTER6,
    &firewall::facilities::NAT6,
    &queue::types::FACILITY,
    &queue::facilities::SIMPLE,
    &queue::facilities::TREE,
    &queue::interface::FACILITY,
    &snmp::menu::FACILITY,
    &snmp::menu::COMMUNITIES,
    &tool::FACILITY,
    &tool::sniffer::facilities::SNIFFER,
    &tool::sniffer::facilities::PACKET,
    &status::discard::FACILITY,
    &status::log::FACILITY,
    &identity::FACILITY,
    &logging::menu::ACTIONS,
    &logging::menu::RULES,
    &ntp::menu::FACILITY,
    &ntp::menu::SERVERS_FACILITY,
    &ntp::menu::SERVER_FACILITY,
];

/// All menus of the router, those that others refer to first.
pub const MENUS: &[&Menu] = &all_menus::<{ count(false) }>();

/// The commands of the router's menus, for [`config::Interpreter::with_commands`]; what they are told
/// to do begins with [`Router::start`].
pub const COMMANDS: [&Command; count(true)] = all_commands();

impl Facility {
    /// One without a menu: tools.
    pub(crate) const NONE: Facility = Facility {
        menu: None,
        part_of: None,
        after: &[],
        follows_links: false,
        follows_gateways: false,
        follows_leases: false,
        follows_found: false,
        follows_tables: false,
        follows_sessions: false,
        compile: |_| (),
        relearn: false,
        check: |_, _| Ok(()),
        value: |_, _, _| None,
        setting: |_, _| None,
        remark: |_, _| None,
        rows: Rows::None,
        factory: Vec::new,
        commands: &[],
    };

    /// That of a menu, with which nothing is done yet.
    pub(crate) const fn of(menu: &'static Menu) -> Facility {
        Facility { menu: Some(menu), ..Facility::NONE }
    }

    /// That of the menu of this path; nothing is done with a menu that is not the router's.
    pub(crate) fn find(path: &str) -> &'static Facility {
        let is = |facility: &&&Facility| facility.menu.is_some_and(|menu| menu.path == path);
        FACILITIES.iter().find(is).copied().unwrap_or(&Facility::NONE)
    }

    /// Whether the two are the same one.
    pub(crate) fn is(&self, other: &Facility) -> bool {
        std::ptr::eq(self, other)
    }
}

/// The menu command `reset-counters`.
pub(crate) const fn reset(menu: &'static Menu) -> Command {
    Command {
        menu: menu.path,
        name: "reset-counters",
        unnamed: Unnamed::Items,
        parameters: &[],
        display: Display::Nothing,
        help: "Sets the counters of these items to zero.",
    }
}

/// The menu command `reset-counters-all`.
pub(crate) const fn reset_all(menu: &'static Menu) -> Command {
    Command {
        name: "reset-counters-all",
        unnamed: Unnamed::Nothing,
        help: "Sets the counters of all items to zero.",
        ..reset(menu)
    }
}

/// The items that a command is about: those named, or all, if it takes no names.
///
/// # Errors
/// RouterOS's words for a command that needs names and has none.
pub(crate) fn items(call: &Call, tree: &Tree) -> Result<Vec<ItemId>, String> {
    match (call.command.unnamed, &call.items) {
        (Unnamed::Items, Some(items)) => Ok(items.clone()),
        (Unnamed::Items, None) => Err("missing value(s) of argument(s) numbers".to_string()),
        _ => Ok(tree.items(call.command.menu).iter().map(|item| item.id).collect()),
    }
}

/// What a command that is done at once says.
pub(crate) const DONE: Result<Started<Router>, String> = Ok(Started::Done(Reply::Nothing));

impl Router {
    /// Starts one of the [`COMMANDS`], after the configuration `tree` was taken over. What takes no
    /// time is done when it returns.
    ///
    /// # Errors
    /// RouterOS's words for arguments that cannot be, and for a command that is not the router's.
    pub fn start(
        &mut self,
        call: &Call,
        tree: &Tree,
        now: Moment,
    ) -> Result<Started<Router>, String> {
        let Command { menu, name, .. } = *call.command;
        let mut all = FACILITIES.iter().flat_map(|facility| facility.commands);
        match all.find(|(command, _)| (command.menu, command.name) == (menu, name)) {
            Some((_, start)) => start(self, call, tree, now),
            None => Err(format!("bad command name {name}")),
        }
    }
}

/// [`Status::check`](config::Status::check) of the router's menus, which asks nothing of the
/// running router: whoever reads a script of thousands of lines need not hold it up.
///
/// # Errors
/// RouterOS's words.
pub fn check(menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
    (Facility::find(menu.path).check)(item, tree)
}

/// [`Status::factory`](config::Status::factory) of the router's menus.
pub fn factory(menu: &Menu) -> Vec<BTreeMap<&'static str, Value>> {
    (Facility::find(menu.path).factory)()
}

/// How many menus there are, or commands.
const fn count(commands: bool) -> usize {
    let (mut all, mut at) = (0, 0);
    while at < FACILITIES.len() {
        let Facility { menu, commands: own, .. } = FACILITIES[at];
        all += if commands { own.len() } else { menu.is_some() as usize };
        at += 1;
    }
    all
}

const fn all_menus<const N: usize>() -> [&'static Menu; N] {
    let mut all = [&interface::menu::INTERFACE; N];
    let (mut to, mut at) = (0, 0);
    while at < FACILITIES.len() {
        if let Some(menu) = FACILITIES[at].menu {
            all[to] = menu;
            to += 1;
        }
        at += 1;
    }
    all
}

const fn all_commands<const N: usize>() -> [&'static Command; N] {
    let mut all = [&tool::explain::COMMAND; N];
    let (mut to, mut at) = (0, 0);
    while at < FACILITIES.len() {
        let mut own = 0;
        while own < FACILITIES[at].commands.len() {
            all[to] = FACILITIES[at].commands[own].0;
            to += 1;
            own += 1;
        }
        at += 1;
    }
    all
}
