//! An interface, and whether it is what its port asks for.
//!
//! ```text
//!  there? Ethernet? ─► link ─► whose else: XDP programs, bridges, macvlans; the kernel's addresses
//!                   ─► queues, driver, XDP, MTU against options ─► FastPath ─► offloads
//! ```

use super::machine::not_ours;
use super::{Report, Verdict, Wanted};
use crate::linux::netlink::route::MAIN;
use crate::linux::netlink::{Address, Link, Netlink, device};
use crate::linux::others::{self, Other};
use crate::linux::veth::{self, OtherEnd, inside};
use crate::real::open;
use crate::real::spec::{Backend, PortSpec};
use port::linux::interface::Interface;
use port::linux::{Namespace, Unavailable};
use port::slab::Slots;

/// What was looked up in the interface's namespace.
struct Found {
    interface: Interface,
    link: Link,
    /// What its driver can do with XDP, if the kernel says.
    xdp: Option<device::XdpFeatures>,
    /// Who else has its frames.
    others: Vec<Other>,
    /// The kernel's addresses on it.
    addresses: Vec<Address>,
    /// Whether the kernel's default route leads by it.
    default_route: bool,
    /// The other end of a veth, if it is seen.
    end: Option<OtherEnd>,
}

pub(super) fn look(
    report: &mut Report,
    spec: &PortSpec,
    wanted: &Wanted<'_>,
) -> Result<(), Unavailable> {
    let slots = wanted.slots;
    let looked = match &spec.namespace {
        // To be entered takes more rights than to be in.
        None => find(spec, wanted.ports),
        Some(name) => Namespace::open(name)?.run(|| find(spec, wanted.ports)).map_err(|error| {
            Unavailable::because(format!("enter the network namespace {name}"), error)
        })?,
    };
    let (of, name) = (spec.name.as_str(), &spec.interface);
    let found = match looked {
        Ok(found) => found,
        // A TAP that is not there yet is made.
        Err(why) if spec.backend == Backend::Tap && is_missing(&why) => {
            report.good(of, "interface", format!("{name}, which is made by TAP"));
            if let Some(advice) = not_ours(spec) {
                let is = "without CAP_NET_ADMIN it is not made";
                report.add(of, "TAP", is, Verdict::Stop, &advice);
            }
            fast_path(report, spec, slots);
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let interface = &found.interface;
    let at = spec.namespace.as_ref().map_or(String::new(), |place| format!(" in {place}"));
    let inside = inside(spec.namespace.as_deref());
    let Some(mac) = interface.mac else {
        let advice = "take an Ethernet interface: `ip -br link` shows them";
        report.add(of, "interface", format!("{name}{at} is no Ethernet"), Verdict::Stop, advice);
        return Ok(());
    };
    report.good(of, "interface", format!("{name}{at}, {mac}, MTU {}", interface.mtu));
    carries(report, of, interface, &inside);
    others(report, spec, &found);
    queues(report, spec, &found, &inside);
    let driver = if interface.driver.is_empty() { "unnamed" } else { &interface.driver };
    match spec.backend {
        Backend::Xdp => xdp(report, spec, &found, slots, &inside),
        Backend::Packet => report.good(of, "driver", driver),
        Backend::Tap => tap(report, spec, &found, driver),
    }
    fast_path(report, spec, slots);
    let itself =
        found.end.as_ref().and_then(|end| veth::onto_itself(&found.link, end, wanted.ports));
    match itself {
        Some((is, advice)) => report.add(of, "cable", is, Verdict::Warn, &advice),
        None => offloads(report, spec, &found, &inside),
    }
    Ok(())
}

/// In the interface's namespace.
fn find(spec: &PortSpec, ports: &[PortSpec]) -> Result<Found, Unavailable> {
    let interface = Interface::of(&spec.interface)?;
    let index = interface.index;
    let mut netlink = Netlink::open()?;
    let link = netlink.link(&spec.interface)?;
    let links = netlink.links().unwrap_or_default();
    let others = others::others(spec, &link, &links, &inside(spec.namespace.as_deref()));
    let mut addresses = netlink.addresses()?;
    addresses.retain(|address| address.interface == index);
    let routes = netlink.routes(MAIN)?;
    let is_veth = interface.driver == "veth";
    Ok(Found {
        xdp: device::xdp_features(index)?,
        others,
        addresses,
        default_route: routes.iter().any(|route| {
            let by_it = route.next_hops.iter().any(|hop| hop.interface == index);
            route.destination.len() == 0 && by_it
        }),
        end: is_veth.then(|| veth::other_end(&link, spec.namespace.as_deref(), ports)).flatten(),
        link,
        interface,
    })
}

/// Whether it says that there is no such interface.
fn is_missing(why: &Unavailable) -> bool {
    why.error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}

fn carries(report: &mut Report, of: &str, interface: &Interface, inside: &str) {
    match (interface.up, interface.carrier) {
        (true, true) => {
            let speed = interface.speed_mbps.map(|mbps| format!(", {mbps} Mbit/s"));
            report.good(of, "link", format!("up{}", speed.unwrap_or_default()));
        }
        (true, false) => {
            let advice = "see to the cable, or to the other end: the router waits for it";
            report.add(of, "link", "no carrier", Verdict::Better, advice);
        }
        (false, _) => {
            let advice = format!("type `{inside}ip link set {} up`", interface.name);
            report.add(of, "link", "down", Verdict::Better, &advice);
        }
    }
}

/// Who else has it, and what the kernel, which is cut off from it, has there.
fn others(report: &mut Report, spec: &PortSpec, found: &Found) {
    let (of, name) = (spec.name.as_str(), &spec.interface);
    for Other { what, is, advice } in &found.others {
        report.add(of, what, is, Verdict::Warn, advice);
    }
    if spec.backend == Backend::Tap || found.addresses.is_empty() && !found.default_route {
        return;
    }
    let list = found.addresses.iter().map(|held| format!("{}/{}", held.address, held.prefix_len));
    let mut has: Vec<_> = list.collect();
    has.extend(found.default_route.then(|| "the default route".to_string()));
    let is = format!("it has {} on {name}", has.join(", "));
    if spec.options.kernel == Some(true) {
        return report.good(of, "kernel", format!("{is}, left to it by kernel=yes"));
    }
    let advice = "the router takes its frames: who reaches this machine that way (ssh) is cut off; \
                  take another interface, or say kernel=yes";
    report.add(of, "kernel", is, Verdict::Warn, advice);
}

fn queues(report: &mut Report, spec: &PortSpec, found: &Found, inside: &str) {
    let (of, name, queues) = (spec.name.as_str(), &spec.interface, found.interface.queues);
    let is = format!("{} to receive by, {} to send by", queues.rx, queues.tx);
    match spec.backend {
        Backend::Tap => {}
        // A socket belongs to one queue of each kind, and every queue needs one.
        Backend::Xdp if spec.options.queues.is_some_and(|wanted| wanted != queues.rx) => {
            let wanted = spec.options.queues.unwrap_or_default();
            let is = format!("{is}, where {wanted} are asked for");
            let advice = open::queues_remedy(&found.interface, wanted, inside);
            report.add(of, "queues", is, Verdict::Stop, &advice);
        }
        Backend::Xdp if queues.tx < queues.rx => {
            let words = queues.words(queues.tx).unwrap_or_default();
            let advice = format!("type `{inside}ethtool -L {name} {words}`");
            report.add(of, "queues", is, Verdict::Better, &advice);
        }
        _ => report.good(of, "queues", is),
    }
}

/// Whether the driver has what is asked for.
fn xdp(report: &mut Report, spec: &PortSpec, found: &Found, slots: Slots, inside: &str) {
    /// What a page holds of a frame beside what XDP keeps for itself, with any driver.
    const ONE_BUFFER: u32 = 3498;
    let (of, name, interface) = (spec.name.as_str(), &spec.interface, &found.interface);
    let (driver, mtu) = (&interface.driver, interface.mtu);
    let native_asked = spec.options.native == Some(true);
    // A veth has native XDP, if it has the queues.
    let of_veth = (driver == "veth").then(|| {
        veth::fewer_queues(interface, found.end.as_ref()).unwrap_or_else(|| {
            let rx = interface.queues.rx;
            let is = format!("its other end sends by more queues than the {rx} it receives by");
            (
                format!("{is}: no native XDP that way"),
                format!("type there `ethtool -L PEER tx {rx}`"),
            )
        })
    });
    match found.xdp {
        Some(can) if can.native && can.redirect => {
            let copy = if can.zero_copy { "zero-copy" } else { "frames copied once" };
            report.good(of, "driver", format!("{driver}: native XDP, {copy}"));
            if mtu > ONE_BUFFER && !can.several_buffers {
                let advice = format!("type `{inside}ip link set {name} mtu 1500`");
                let is = format!("MTU {mtu} with a driver of one buffer a frame");
                let verdict = if native_asked { Verdict::Stop } else { Verdict::Better };
                report.add(of, "jumbo frames", is, verdict, &advice);
            }
        }
        Some(_) if of_veth.is_some() => {
            let (is, advice) = of_veth.unwrap_or_default();
            let verdict = if native_asked { Verdict::Stop } else { Verdict::Better };
            report.add(of, "driver", is, verdict, &advice);
        }
        Some(_) if native_asked => {
            let advice = "leave out mode=native; packet:… may be as fast here";
            report.add(of, "driver", format!("{driver}: no native XDP"), Verdict::Stop, advice);
        }
        Some(_) => {
            let advice = "it works, slowly; packet:… may be as fast here";
            let is = format!("{driver}: no native XDP, the generic one is used");
            report.add(of, "driver", is, Verdict::Better, advice);
        }
        None => {
            let is = format!("{driver}; this kernel does not say what it can, native XDP is tried");
            report.good(of, "driver", is);
        }
    }
    let copies = found.xdp.is_some_and(|can| !can.zero_copy);
    if spec.options.copy == Some(false) && copies {
        let is = format!("{driver}: no zero-copy, which copy=no asks for");
        report.add(of, "zero-copy", is, Verdict::Stop, "leave out copy=no");
    }
    let longest = mtu as usize + 14;
    if longest > slots.max_frame() {
        let most = Slots::LONGEST.max_frame() - open::HEADER;
        let advice = format!("type `{inside}ip link set {name} mtu {most}`, or less");
        let is = format!("MTU {mtu}, longer than the router's frames can be");
        report.add(of, "mtu", is, Verdict::Stop, &advice);
    }
    if found.link.xdp.is_some() {
        let advice = format!(
            "end the program that put it there, or type `{inside}ip link set {name} xdp off`"
        );
        report.add(of, "XDP", "a program is attached already", Verdict::Stop, &advice);
    }
}

/// Whether an interface that is there can be had as a TAP.
fn tap(report: &mut Report, spec: &PortSpec, found: &Found, driver: &str) {
    let (of, name, queues) =
        (spec.name.as_str(), &spec.interface, spec.options.queues.unwrap_or(1));
    let Some(tun) = found.link.tun.filter(|tun| tun.tap) else {
        let is = format!("{name} is there, and no TAP ({driver})");
        return report.add(of, "TAP", is, Verdict::Stop, "take another name: the router makes it");
    };
    if let Some(advice) = not_ours(spec) {
        let is = format!("{name} is there, and not this user's");
        return report.add(of, "TAP", is, Verdict::Stop, &advice);
    }
    let used = match tun.multi_queue {
        true => tun.queues.unwrap_or(0),
        // A program's end is what makes it carry.
        false => u32::from(found.interface.carrier),
    };
    if queues > 1 && !tun.multi_queue {
        let advice = "delete it, and the router makes it, or leave out queues=";
        let is = format!("{name} was made without `multi_queue`, for one queue");
        report.add(of, "TAP", is, Verdict::Stop, advice);
    } else if used > 0 && !tun.multi_queue {
        let advice = "end the program that has it, or take another name";
        report.add(of, "TAP", format!("another program has {name}"), Verdict::Stop, advice);
    } else {
        report.good(of, "TAP", format!("{name} is there"));
    }
}

/// Which of its frames may take the short ways.
fn fast_path(report: &mut Report, spec: &PortSpec, slots: Slots) {
    let can = open::capabilities(spec, slots);
    let of = spec.name.as_str();
    match (can.fast_path_rx, can.fast_path_tx) {
        (true, true) => report.good(of, "FastPath", "both ways"),
        (false, true) => {
            let is = "half: what is sent by it, not what is received (offload=yes)";
            report.good(of, "FastPath", is);
        }
        _ => report.good(of, "FastPath", "none"),
    }
}

/// Whether frames that come are what they seem.
fn offloads(report: &mut Report, spec: &PortSpec, found: &Found, inside: &str) {
    let (of, interface) = (spec.name.as_str(), &found.interface);
    let on = interface.offloads.on();
    if spec.backend == Backend::Xdp && interface.driver == "veth" {
        return match veth::undone(&found.link, found.end.as_ref()) {
            Some((is, advice)) => report.add(of, "offloads", is, Verdict::Warn, &advice),
            None => report.good(of, "offloads", "off at the other end"),
        };
    }
    if on.is_empty() {
        return report.good(of, "offloads", "off");
    }
    let off: Vec<String> = on.iter().map(|name| format!("{name} off")).collect();
    let (is, off) = (format!("on: {}", on.join(" ")), off.join(" "));
    let name = &interface.name;
    match spec.backend {
        Backend::Tap => report.good(of, "offloads", format!("{is} (TAP understands them)")),
        Backend::Packet if spec.options.offload == Some(true) => {
            report.good(of, "offloads", format!("{is} (taken as they are: offload=yes)"));
        }
        _ if interface.offloads.gro || interface.offloads.lro => {
            let advice =
                format!("type `{inside}ethtool -K {name} {off}`: received frames are joined");
            report.add(of, "offloads", is, Verdict::Better, &advice);
        }
        _ => report.good(of, "offloads", is),
    }
}
