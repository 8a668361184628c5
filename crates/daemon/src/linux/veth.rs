//! The other end of a veth pair, and what its kernel leaves undone in the frames it sends.
//!
//! ```text
//!  veth ─► peer's number, its namespace's number ─► this namespace, or which of /run/netns?
//!                                                        └ found: its offloads    └ not: unknown
//! ```
//!
//! A kernel that sends through a veth leaves checksums, and the cutting of large segments, to the
//! other end; AF_XDP takes such frames as they are. Small packets of other protocols pass, so ping
//! works, and TCP does not.
//!
//! Where both ends are ports there are no programs: that is a cable of the router's onto itself.
//!
//! Only looks. Missing: **namespaces without a name** in which there is no port, whose ends of pairs
//! are not seen.

use super::netlink::{Link, Netlink};
use crate::real::PortSpec;
use crate::real::identity::Identity;
use port::linux::Namespace;
use port::linux::interface::Interface;
use std::fs::{self, File};
use std::path::Path;

/// The other end of a veth pair.
pub struct OtherEnd {
    interface: Interface,
    /// Where it is; `None`: where the program is.
    namespace: Option<String>,
}

/// What goes before a command that is to be run in a namespace.
pub fn inside(namespace: Option<&str>) -> String {
    match namespace {
        None => String::new(),
        Some(path) if path.contains('/') => format!("nsenter --net={path} "),
        Some(name) => format!("ip netns exec {name} "),
    }
}

/// If both ends of a pair are ports: what is, and what to do about it. No program sends by it then.
pub fn onto_itself(link: &Link, end: &OtherEnd, ports: &[PortSpec]) -> Option<(String, String)> {
    let there = Identity::numbered(end.namespace.as_deref(), end.interface.index)?;
    let port = ports.iter().find(|spec| Identity::of(spec).is_some_and(|it| it == there))?;
    let is = format!(
        "both ends of a veth pair, {} and {}, are the router's own ports ({} is one): a cable from \
         the router onto itself",
        link.name, end.interface.name, port.name
    );
    let advice = "take one end for a port, the other for a host, unless this is meant".to_string();
    Some((is, advice))
}

/// What is wrong with frames that come by this veth from its other end, if that is seen: what is,
/// and what to do about it. `None`: nothing is.
pub fn undone(link: &Link, end: Option<&OtherEnd>) -> Option<(String, String)> {
    let name = &link.name;
    let Some(OtherEnd { interface: end, namespace: there }) = end else {
        let is = format!("{name} is a veth whose other end is not seen from here");
        let advice = "if programs send from there, type there `ethtool -K PEER tx off tso off gso \
                      off`, or their TCP does not get through: their checksums are left undone";
        return Some((is, advice.to_string()));
    };
    let of = end.offloads;
    let on = [("tx", of.tx_checksum), ("tso", of.tso), ("gso", of.gso)];
    let on: Vec<_> = on.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    if on.is_empty() {
        return None;
    }
    let (inside, peer) = (inside(there.as_deref()), &end.name);
    let place = there.as_ref().map_or(String::new(), |there| format!(" in {there}"));
    let is = format!("{name} is a veth; its other end {peer}{place} has on: {}", on.join(" "));
    let advice = format!(
        "type `{inside}ethtool -K {peer} tx off tso off gso off`, or TCP of programs there does \
         not get through: their checksums are left undone"
    );
    Some((is, advice))
}

/// If a veth receives by fewer queues than its other end sends by, and so takes no native XDP: what
/// is, and what to do about it.
pub fn fewer_queues(interface: &Interface, end: Option<&OtherEnd>) -> Option<(String, String)> {
    let OtherEnd { interface: end, namespace: there } = end?;
    let (name, rx, tx, peer) = (&interface.name, interface.queues.rx, end.queues.tx, &end.name);
    if tx <= rx {
        return None;
    }
    let place = there.as_ref().map_or(String::new(), |there| format!(" in {there}"));
    let is = format!(
        "{name} is a veth that receives by {rx}, and its other end {peer}{place} sends by {tx} \
         queues: no native XDP that way"
    );
    let inside = inside(there.as_deref());
    Some((is, format!("type `{inside}ethtool -L {peer} tx {rx}`")))
}

/// The other end of a link of the calling thread's namespace, which has this name if it is not the
/// program's own. It is looked for where there are ports as well; `None` if it is not seen.
pub fn other_end(link: &Link, namespace: Option<&str>, ports: &[PortSpec]) -> Option<OtherEnd> {
    let (index, mut netlink) = (link.peer?, Netlink::open().ok()?);
    let Some(number) = link.peer_namespace else {
        let interface = numbered(index)?;
        return Some(OtherEnd { interface, namespace: namespace.map(str::to_string) });
    };
    let mut is_it = |path: &Path| {
        let known = File::open(path).ok().and_then(|file| netlink.number_of(&file).ok());
        known.flatten() == Some(number)
    };
    let look_in =
        |path: &Path| Namespace::open(path.to_str()?).ok()?.run(|| numbered(index)).ok()?;
    let own = Path::new("/proc/self/ns/net");
    if is_it(own) {
        return Some(OtherEnd { interface: look_in(own)?, namespace: None });
    }
    let named = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    if let Some(path) = named.map(|entry| entry.path()).find(|path| is_it(path)) {
        let namespace = path.file_name().and_then(|name| name.to_str()).map(str::to_string);
        return Some(OtherEnd { interface: look_in(&path)?, namespace });
    }
    let paths = ports.iter().filter_map(|spec| spec.namespace.as_deref());
    let path = paths.filter(|name| name.contains('/')).find(|path| is_it(Path::new(path)))?;
    Some(OtherEnd { interface: look_in(Path::new(path))?, namespace: Some(path.to_string()) })
}

/// The interface of this number in the calling thread's namespace.
fn numbered(index: u32) -> Option<Interface> {
    let links = Netlink::open().and_then(|mut netlink| netlink.links()).ok()?;
    Interface::of(&links.into_iter().find(|link| link.index == index)?.name).ok()
}
