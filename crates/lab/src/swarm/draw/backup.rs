//! Virtual addresses (VRRP), and the backup that stands in for a router of the swarm.
//!
//! ```text
//!        r ── the rest
//!   LAN ─┤  transit
//!        v ─┘            v: takes over while r is silent on the LAN, and tells and is told of connections
//! ```
//!
//! What r cannot send to the LAN itself it sends by the backup.

use super::Drawing;
use crate::swarm::case;

/// Whether a box is a backup.
pub(in crate::swarm) fn is_backup(own: &case::Box) -> bool {
    own.name.starts_with('v')
}

impl Drawing {
    pub(super) fn is_backup(&self, at: usize) -> bool {
        is_backup(&self.case.boxes[at])
    }

    /// A box beside a router, at the switch of one of its networks and at the router itself.
    pub(super) fn backup(&mut self, at: usize, switch: usize, number: usize) -> usize {
        let own = self.new_box(format!("v{number}"));
        for other in [switch, at] {
            let ports = [self.port(other), self.port(own)];
            self.cable(self.end(other, ports[0]), self.end(own, ports[1]));
        }
        let port = self.case.boxes[at].ports;
        let (transit, lan) = (format!("10.202.{number}"), format!("10.{}.{number}", at + 1));
        let (transit6, lan6) =
            (format!("fd00:202:{number}:"), format!("2001:db8:{}:{number}:", at + 1));
        for (at, last, interface) in [(at, 1, format!("ether{port}")), (own, 2, "ether2".into())] {
            self.address(at, &interface, [&transit, &transit6], last);
        }
        self.line(own, format!("/ip route add gateway={transit}.1"));
        let add = format!("/ip route add dst-address={lan}.0/24");
        self.line(at, format!("{add} gateway={transit}.2 distance=2"));
        if self.v6 {
            self.line(own, format!("/ipv6 route add dst-address=::/0 gateway={transit6}:1"));
            let add = format!("/ipv6 route add dst-address={lan6}:/64");
            self.line(at, format!("{add} gateway={transit6}:2 distance=2"));
        }
        own
    }

    /// A box's own addresses in a network, by their last byte.
    pub(super) fn address(&mut self, at: usize, interface: &str, prefixes: [&str; 2], last: u8) {
        let [v4, v6] = prefixes;
        self.line(at, format!("/ip address add address={v4}.{last}/24 interface={interface}"));
        if self.v6 {
            let add = format!("/ipv6 address add address={v6}:{last:x}/64");
            self.line(at, format!("{add} interface={interface}"));
        }
    }

    /// A virtual address of a box, with more properties of each family's.
    pub(super) fn virtual_address(
        &mut self,
        at: usize,
        interface: &str,
        number: usize,
        [v4, v6]: [&str; 2],
        [more, more6]: [&str; 2],
    ) {
        let add = format!("/interface vrrp add interface={interface} vrid={number} interval=200ms");
        self.line(at, format!("{add} name=w{number}{more}"));
        self.line(at, format!("/ip address add address={v4}.254/32 interface=w{number}"));
        if self.v6 {
            self.line(at, format!("{add} v3-protocol=ipv6 name=six{number}{more6}"));
            self.line(at, format!("/ipv6 address add address={v6}:fe/64 interface=six{number}"));
        }
    }

    /// A virtual address of two boxes, the first before the second.
    pub(super) fn share(&mut self, ends: [(usize, &str); 2], number: usize, prefixes: [&str; 2]) {
        let syncs = self.dice.percent(70);
        let says = self.dice.percent(50);
        for ((at, interface), (priority, other)) in ends.into_iter().zip([(100, 252), (60, 253)]) {
            let priority = format!(" priority={priority}");
            let mut more = priority.clone();
            if syncs {
                more += " sync-connection-tracking=yes";
            }
            if syncs && says {
                more += &format!(" remote-address={}.{other}", prefixes[0]);
            }
            self.virtual_address(at, interface, number, prefixes, [&more, &priority]);
        }
    }
}
