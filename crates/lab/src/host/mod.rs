//! A host of a lab: a network namespace, its interfaces, and the programs that run in it.
//!
//! ```text
//! LinuxHost ─┬─ namespace ── eth1 (veth, offloads off) ══ a router's port, another host
//!            └─ start(words) ─► Process: what it prints, how it ends
//! Machine ─── the same with a kernel of its own (`kind: uml`)
//! ```
//!
//! The namespace has no name and each program its own namespace of processes, so nothing is left
//! when the lab is gone, however it went.
//!
//! Frames are to be what they seem: the offloads that leave checksums and segmentation to others are
//! switched off on a host's interfaces, unless the lab asks for them.
//!
//! Never touches the namespace or the interfaces of the machine.
//! Missing: **a file system of its own** (`/etc` has the machine's files).

mod process;
// A machine with a kernel of its own.
pub mod uml;

pub use process::{Ended, Process};
pub use uml::Machine;

use crate::linux::netlink::{End, Netlink, Route};
use crate::topology::{HostSpec, LinkSpec, NodeSpec};
use port::linux::interface::{Offloads, set_offloads};
use port::linux::{Namespace, Unavailable};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What runs programs in a lab.
pub enum Host {
    /// The kernel of this machine, in a namespace.
    Linux(LinuxHost),
    /// A kernel of its own.
    Uml(Machine),
}

impl Host {
    /// Starts a program, in the lab's directory.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start(&self, words: &[String]) -> io::Result<Process> {
        match self {
            Host::Linux(host) => host.start(words),
            Host::Uml(machine) => machine.start(words),
        }
    }

    /// The host in a namespace, if it is one.
    pub fn linux(&self) -> Option<&LinuxHost> {
        match self {
            Host::Linux(host) => Some(host),
            Host::Uml(_) => None,
        }
    }

    /// Ends a machine with a kernel of its own, and with it all that runs there.
    pub(crate) fn end(&self) {
        if let Host::Uml(machine) = self {
            machine.end();
        }
    }

    /// Why nothing runs there any more, if so.
    pub fn failure(&self) -> Option<String> {
        match self {
            Host::Linux(_) => None,
            Host::Uml(machine) => {
                machine.failure().map(|why| format!("node {}: {why}", machine.name()))
            }
        }
    }
}

/// A host.
pub struct LinuxHost {
    name: String,
    namespace: Arc<Namespace>,
    /// Where its programs are: the lab's directory.
    directory: PathBuf,
}

impl LinuxHost {
    /// A host without interfaces but `lo`, which is up.
    ///
    /// # Errors
    /// [`Unavailable`], as a rule for lack of rights.
    pub fn new(name: &str, directory: &Path) -> Result<LinuxHost, Unavailable> {
        let namespace = Arc::new(Namespace::new()?);
        Netlink::open_in(&namespace)?.set_up("lo", true)?;
        Ok(LinuxHost { name: name.to_string(), namespace, directory: directory.to_path_buf() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is.
    pub fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// Switches its interfaces on and gives it its addresses and routes; tells, interface by
    /// interface, which offloads are off now and were not.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel refuses.
    pub fn configure(&self, spec: &HostSpec) -> Result<Vec<String>, Unavailable> {
        let mut netlink = Netlink::open_in(&self.namespace)?;
        let mut remarks = Vec::new();
        for interface in &spec.interfaces {
            if !spec.offloads {
                let off = self.namespace.run(|| set_offloads(interface, Offloads::NONE));
                let tried = || format!("enter {}", self.name);
                let off = off.map_err(|error| Unavailable::because(tried(), error))??;
                if !off.is_empty() {
                    remarks.push(format!("{}:{interface}: {}", self.name, off.join(", ")));
                }
            }
            netlink.set_silent(interface)?;
            netlink.set_up(interface, true)?;
        }
        for (interface, address, length) in &spec.addresses {
            let interface = interface.map_or("lo", |at| spec.interfaces[at].as_str());
            netlink.add_address(interface, *address, *length)?;
        }
        for (destination, gateway) in &spec.routes {
            let at = spec.interface_to(*gateway).expect("checked when the lab was read");
            let index = netlink.link(&spec.interfaces[at])?.index;
            netlink.add_route(&Route::by(*destination, *gateway, index))?;
        }
        Ok(remarks)
    }

    /// Waits until its interfaces run: the kernel begins to send some time after both ends of a wire
    /// are on, and drops what it is given before. Two seconds at most: a wire may end at nothing.
    ///
    /// # Errors
    /// [`Unavailable`]: an interface is not there.
    pub fn wait_for_wires(&self, spec: &HostSpec) -> Result<(), Unavailable> {
        const PAUSE: Duration = Duration::from_millis(2);
        let (mut netlink, mut pauses) = (Netlink::open_in(&self.namespace)?, 0..1000);
        for interface in &spec.interfaces {
            while !netlink.link(interface)?.running && pauses.next().is_some() {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Starts a program, in the lab's directory.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start(&self, words: &[String]) -> io::Result<Process> {
        Process::start(&self.namespace, words, &self.directory)
    }
}

/// A cable between two hosts: a veth pair.
///
/// # Errors
/// [`Unavailable`]: what the kernel refuses.
pub fn connect(
    link: &LinkSpec,
    nodes: &[NodeSpec],
    namespaces: [&Namespace; 2],
) -> Result<(), Unavailable> {
    let end = |at: usize| {
        let end = link.ends[at];
        let host = nodes[end.node].host().expect("both ends are hosts");
        let name = host.interfaces[end.port - 1].as_str();
        End { name, namespace: Some(namespaces[at]), mtu: link.mtu, ..End::default() }
    };
    Netlink::open_in(namespaces[0])?.add_veth(&end(0), &end(1))
}
