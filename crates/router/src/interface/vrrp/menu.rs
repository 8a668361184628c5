//! The property table of `/interface vrrp` (`routeros/G-interfaces.md`, G.4), and what its items must
//! not be.

use super::{Machine, Vrrp};
use crate::facility::Facility;
use crate::interface::bonding::menu::no_slave;
use crate::interface::facilities::ALL;
use crate::interface::menu::{ANY_INTERFACE, ARP_MODE, ARP_TIMEOUT};
use crate::interface::vlan::{no_loop, no_point_to_point};
use crate::ip::icmp;
use crate::status::RouterStatus;
use config::{Item, Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::time::Duration;

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    part_of: Some(&ALL),
    check: |item, tree| check(tree, item),
    value,
    ..Facility::of(&VRRP)
};

/// `/interface vrrp`.
pub static VRRP: Menu = Menu {
    path: "/interface vrrp",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("vrrp"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("running", 'R', "It is the master, and packets pass."),
        Property::flag("master", 'M', "It has the addresses."),
        Property::flag("backup", 'B', "Another one has them."),
        Property::new("name", Type::Text, "Name of the interface.").column(),
        Property::new("mtu", Type::Number(68, 65535), "The longest IP packet, bytes.")
            .default("1500")
            .column(),
        Property::new("mac-address", Type::Mac, "The virtual router's, made of vrid.")
            .read_only()
            .column(),
        Property::new("interface", ANY_INTERFACE, "The interface it stands on.")
            .required()
            .column(),
        Property::new("vrid", Type::Number(1, 255), "The virtual router's number.")
            .default("1")
            .column(),
        Property::new(
            "priority",
            Type::Number(1, 255),
            "The highest is the master; 255 is the addresses' owner.",
        )
        .default("100")
        .column(),
        Property::new("interval", Type::Time, "Between two advertisements: 10ms to 4m15s.")
            .default("1s")
            .column(),
        Property::new("preemption-mode", Type::Bool, "Takes over from one with lower priority.")
            .default("yes"),
        Property::new("version", Type::Number(2, 3), "VRRP's version.").default("3").column(),
        Property::new(
            "v3-protocol",
            Type::Enum(&["ipv4", "ipv6"]),
            "By which it speaks, and of which its addresses are.",
        )
        .default("ipv4"),
        Property::new(
            "authentication",
            Type::Enum(&["none", "ah", "simple"]),
            "Of version 2: by the authentication header, or a password in the clear.",
        )
        .default("none"),
        Property::new("password", Type::Text, "Of authentication: up to 8 characters."),
        ARP_MODE,
        ARP_TIMEOUT,
        Property::new("on-master", Type::Text, "The script that runs when it has become master."),
        Property::new("on-backup", Type::Text, "The script that runs when it has become backup."),
        Property::missing("on-fail", "use /tool netwatch"),
        Property::new("group-master", LEADER, "It is master when that one is, and backup with it.")
            .default("none"),
        Property::new("group-authority", LEADER, "The same, as later versions have it.")
            .default("none"),
        Property::new(
            "remote-address",
            Type::Address,
            "With sync-connection-tracking: the other router's; without one whoever has said that it is there.",
        ),
        Property::new(
            "sync-connection-tracking",
            Type::Bool,
            "As the master it tells the backups of all connections, in a format of its own (UDP port 8275).",
        )
        .default("no"),
    ],
    help: "Virtual routers by VRRP: of several routers one has the addresses.",
};

const LEADER: Type = Type::Or(&["none", "self"], &Type::Reference(&["/interface vrrp"]));

fn value(status: &RouterStatus, item: &Item, property: &str) -> Option<Value> {
    let is = |what: fn(&Machine) -> bool| {
        let machine = status.virtual_router(item);
        Some(Value::Bool(!item.disabled && machine.is_some_and(what)))
    };
    match property {
        "master" => is(Machine::is_master),
        "backup" => is(Machine::is_backup),
        _ => status.ethernet(item, property),
    }
}

impl RouterStatus<'_> {
    /// What an item's virtual router knows.
    fn virtual_router(&self, item: &Item) -> Option<&Machine> {
        let id = self.interface(item)?.id;
        let mut vrrps = self.router.program.vrrps.iter().zip(&self.router.link.machines);
        vrrps.find(|(vrrp, _)| vrrp.interface == id).map(|(_, machine)| machine)
    }
}

/// What a virtual router that is added or changed must not be.
///
/// # Errors
/// RouterOS's words.
fn check(tree: &Tree, item: &Item) -> Result<(), String> {
    let read = VRRP.read(item);
    let (on, name) = (read.text("interface"), read.text("name"));
    let mut others = tree.read(&VRRP).filter(|other| other.id() != item.id);
    let number = |item: &Read| (item.number("vrid"), Vrrp::is_ipv6(item));
    if let Some(other) =
        others.find(|other| other.text("interface") == on && number(other) == number(&read))
    {
        return Err(format!("failure: {} has this vrid on {on} already", other.name()));
    }
    let (interval, version) = (read.time("interval"), read.number("version"));
    let range = Duration::from_millis(10)..=Duration::from_secs(255);
    if !range.contains(&interval) {
        return Err("failure: interval out of range (10ms..4m15s)".to_string());
    }
    if version == 3 && interval > Duration::from_millis(40_950) {
        return Err("failure: version 3 has intervals of at most 40.95s".to_string());
    }
    if version == 2 && Vrrp::is_ipv6(&read) {
        return Err("failure: version 2 knows no IPv6".to_string());
    }
    if version == 2 && interval.subsec_nanos() != 0 {
        return Err("failure: version 2 has intervals of whole seconds".to_string());
    }
    if version == 3 && read.text("authentication") != "none" {
        return Err("failure: version 3 has no authentication".to_string());
    }
    let remote = Vrrp::remote(&read);
    if remote.is_some_and(|remote| !icmp::is_host(remote)) {
        return Err("failure: remote-address is no host's".to_string());
    }
    if read.bool("sync-connection-tracking") && Vrrp::is_ipv6(&read) && remote.is_none() {
        return Err(
            "failure: sync-connection-tracking goes by IPv4: with v3-protocol=ipv6 it needs \
                    remote-address"
                .to_string(),
        );
    }
    if Vrrp::password(&read).is_none_or(|password| password.len() > 8) {
        return Err("failure: password is longer than 8 characters".to_string());
    }
    let leads = |other: &Read| Vrrp::leader(other).is_some_and(|leader| leader == name);
    if let Some(leader) = Vrrp::leader(&read) {
        let led = tree.read(&VRRP).find(|other| other.name() == leader);
        let is_led = led.is_some_and(|other| Vrrp::leader(&other).is_some());
        if is_led || tree.read(&VRRP).any(|other| other.id() != item.id && leads(&other)) {
            return Err("failure: the master of a group is in no other group".to_string());
        }
    }
    no_point_to_point(tree, &on)?;
    no_slave(tree, &on)?;
    no_loop(tree, &name, &on)
}
