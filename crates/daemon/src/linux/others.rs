//! Other receivers of a port's frames: what takes them before AF_PACKET sees them, and what of
//! the kernel's stands behind it and gets none any more.
//!
//! ```text
//!  wire ─► XDP program ─► AF_PACKET ─► ╳ ─► VLANs ─► bridge, bond, team; macvlan, ipvlan ─► IP
//!          └ xdp:…        └ packet:…   └ since Linux 6.6 the router lets nothing by
//! ```
//!
//! What these send leaves by the interface all the same.
//!
//! Only looks. Missing: **links made on it that are in other namespaces** (a container's macvlan),
//! which the kernel does not show here.

use super::netlink::Link;
use crate::real::spec::{Backend, PortSpec};

/// Somebody who has them, or had.
pub struct Other {
    /// What it is: `XDP`, `bridge`, `macvlan`.
    pub what: String,
    /// What is.
    pub is: String,
    /// What to do about it.
    pub advice: String,
}

/// Kinds of links that are made on another one and get its frames.
const MADE_ON_ANOTHER: [&str; 6] = ["macvlan", "macvtap", "ipvlan", "ipvtap", "vlan", "macsec"];

/// Who else has frames of `link`, a port's interface; `links` are all in its namespace, and `inside` is
/// what goes before a command there. A TAP interface's kernel end is no port of the router's, and an
/// XDP program in the way of AF_XDP keeps it from being opened: neither is told here.
pub fn others(spec: &PortSpec, link: &Link, links: &[Link], inside: &str) -> Vec<Other> {
    if spec.backend == Backend::Tap {
        return Vec::new();
    }
    let name = &link.name;
    let mut others = Vec::new();
    if let Some(program) = link.xdp.filter(|_| spec.backend == Backend::Packet) {
        others.push(Other {
            what: "XDP".to_string(),
            is: format!(
                "program {program} is attached to {name}: what it drops or redirects does not come, \
                 and what it changes comes changed"
            ),
            advice: format!(
                "end what put it there, or type `{inside}ip link set {name} xdp off`; `bpftool prog \
                 show id {program}` tells what it is"
            ),
        });
    }
    if let Some(index) = link.master {
        let master = links.iter().find(|link| link.index == index);
        let (kind, called) = match master {
            Some(master) if master.kind.is_empty() => ("bridge", master.name.clone()),
            Some(master) => (master.kind.as_str(), master.name.clone()),
            None => ("bridge", format!("number {index}")),
        };
        // The kernel's own routing of what comes, which the router has all of: no port of anything.
        if kind != "vrf" {
            others.push(Other {
                what: kind.to_string(),
                is: format!(
                    "{name} is a port of the kernel's {kind} {called}, which gets none of its frames \
                     any more, and sends by it all the same"
                ),
                advice: format!("type `{inside}ip link set {name} nomaster`"),
            });
        }
    }
    let made_on = |other: &&Link| {
        let here = other.peer == Some(link.index) && other.peer_namespace.is_none();
        here && MADE_ON_ANOTHER.contains(&other.kind.as_str())
    };
    for other in links.iter().filter(made_on) {
        let (kind, called) = (&other.kind, &other.name);
        others.push(Other {
            what: kind.clone(),
            is: format!(
                "the kernel's {called} is made on {name}: it gets no frames any more, and sends by it \
                 all the same"
            ),
            advice: format!("take another interface, or type `{inside}ip link delete {called}`"),
        });
    }
    others
}
