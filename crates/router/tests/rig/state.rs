//! All that a router's user can see, as lines: two routers that agree give the same ones.

use super::Rig;
use router::counter::Count;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

impl Rig {
    /// Counters, tables and queues, one line each, in an order that does not depend on chance.
    /// What says how a packet was carried, and not what became of it, is left out.
    pub(crate) fn state(&mut self) -> Vec<String> {
        let now = self.now;
        let tree = self.console.tree();
        let router = &mut self.router;
        let mut lines = Vec::new();
        for (reason, n) in router.discards().iter() {
            lines.push(format!("discard {reason}: {n}"));
        }
        let paths = router.path_counts();
        lines.push(format!("ipv4-fast-path {:?}", paths.ipv4_fast_path));
        lines.push(format!("ipv4-fasttrack {:?}", paths.ipv4_fasttrack));
        lines.push(format!("ipv6-fast-path {:?}", paths.ipv6_fast_path));
        lines.push(format!("ipv6-fasttrack {:?}", paths.ipv6_fasttrack));
        lines.push(format!("bridge-fast-path {:?}", paths.bridge_fast_path));
        lines.push(format!("held {:?}", router.held()));
        for menu in [
            "/ip firewall raw",
            "/ip firewall mangle",
            "/ip firewall filter",
            "/ip firewall nat",
            "/interface bridge filter",
            "/ipv6 firewall raw",
            "/ipv6 firewall mangle",
            "/ipv6 firewall filter",
            "/ipv6 firewall nat",
        ] {
            for (n, count) in router.rule_counts(menu, tree).iter().enumerate() {
                lines.push(format!("{menu} {n}: {count:?}"));
            }
        }
        for (n, stats) in router.queue_stats(tree).iter().enumerate() {
            lines.push(format!("queue {n}: {stats:?}"));
        }
        let program = router.program();
        for interface in program.interfaces.iter().skip(1) {
            let counts = router.interface_counts(interface.id);
            lines.push(format!("{}: {counts:?}", interface.name));
            let within =
                |part: Count, all: Count| part.packets <= all.packets && part.bytes <= all.bytes;
            let plausible = within(counts.fast_rx, counts.rx) && within(counts.fast_tx, counts.tx);
            assert!(plausible, "more in FastPath than at all: {counts:?} at {}", interface.name);
        }
        let mut rows = Vec::new();
        for neighbour in router.neighbours().iter() {
            let name = &program.interface(neighbour.interface).name;
            let address = Ipv4Addr::from(neighbour.address);
            let mut row = format!("arp {address} {name} {:?}", neighbour.status);
            if let Some(mac) = neighbour.mac {
                // An unused entry's used_ms may be anything; of a used one it decides probing.
                let _ = write!(row, " {mac} used {}", neighbour.used_ms);
            }
            rows.push(row);
        }
        for neighbour in router.neighbours6().iter() {
            let name = &program.interface(neighbour.interface).name;
            let address = Ipv6Addr::from(neighbour.address);
            let (status, mac) = (neighbour.status, neighbour.mac);
            let used = neighbour.used_ms;
            rows.push(format!("neighbour {address} {name} {status:?} {mac:?} used {used}"));
        }
        for bridge in &program.bridges {
            for row in router.hosts(bridge.interface, now) {
                rows.push(format!("host {row:?}"));
            }
        }
        for entry in router.list_entries(now) {
            rows.push(format!("address-list {entry}"));
        }
        for entry in router.connections().list(now) {
            rows.push(format!("connection {} {:?}", entry.flags, entry));
        }
        for entry in router.connections6().list(now) {
            rows.push(format!("connection {} {:?}", entry.flags, entry));
        }
        rows.sort();
        lines.append(&mut rows);
        lines.push(format!("connections {:?}", router.connections().counts));
        lines.push(format!("connections6 {:?}", router.connections6().counts));
        for line in router.log().iter() {
            let text = line.display(|id| Some(&*program.interface(id).name));
            lines.push(format!("log {:?} {text}", line.at));
        }
        lines
    }
}
