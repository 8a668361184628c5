//! A machine with two interfaces, and a box that they are connected to: the kernel, told by the test to
//! route, or to be a bridge.
//!
//! ```text
//!  machine: eth1 ═══ veth ═══ d0 [ box ] d1 ═══ veth ═══ eth2 :machine
//! ```

use super::can_have_hosts;
use lab::iperf3::External;
use lab::iperf3::external::{Ends, HostInterface};
use lab::kernel::ask;
use lab::linux::netlink::{Link, Netlink};
use port::linux::Namespace;
use port::linux::interface::{Interface, Offloads};

pub(crate) struct Outside {
    pub(crate) machine: Namespace,
    pub(crate) device: Namespace,
}

impl Outside {
    /// Cables of this MTU, up, without addresses on either side; `None`, said, without rights or
    /// programs.
    pub(crate) fn new(mtu: u32) -> Option<Outside> {
        if !can_have_hosts(&["sysctl"]) {
            return None;
        }
        let outside =
            Outside { machine: Namespace::new().unwrap(), device: Namespace::new().unwrap() };
        let there = outside.device.path();
        for (near, far) in [("eth1", "d0"), ("eth2", "d1")] {
            let peer = format!("peer name {far} mtu {mtu} netns {}", there.display());
            outside.at_machine(&format!("ip link add name {near} mtu {mtu} type veth {peer}"));
            outside.at_machine(&format!("ip link set {near} up"));
            outside.at_device(&format!("ip link set {far} up"));
        }
        Some(outside)
    }

    /// The same with a router, .1 in both networks.
    pub(crate) fn routed(mtu: u32) -> Option<Outside> {
        let outside = Outside::new(mtu)?;
        outside.at_device("sysctl -qw net.ipv4.ip_forward=1");
        outside.at_device("ip address add 198.18.1.1/24 dev d0");
        outside.at_device("ip address add 198.19.1.1/24 dev d1");
        Some(outside)
    }

    pub(crate) fn at_machine(&self, words: &str) -> String {
        ask(&self.machine, words).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn at_device(&self, words: &str) -> String {
        ask(&self.device, words).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What `wirespeed iperf3 --device external` is told of it.
    pub(crate) fn external(&self) -> External {
        let place = |interface: &str| HostInterface {
            interface: interface.to_string(),
            namespace: Some(self.machine.path().display().to_string()),
        };
        External {
            ports: [place("eth1"), place("eth2")],
            ends: Ends::new([None; 2], [None; 2]).unwrap(),
            in_use: false,
            link: None,
        }
    }

    /// What the machine's interfaces are, its routes, and the interfaces' offloads.
    pub(crate) fn interfaces(&self) -> (Vec<Link>, String, [Option<Offloads>; 2]) {
        let links = Netlink::open_in(&self.machine).unwrap().links().unwrap();
        let offloads =
            || ["eth1", "eth2"].map(|name| Interface::of(name).ok().map(|of| of.offloads));
        let offloads = self.machine.run(offloads).unwrap();
        (links, self.at_machine("ip route"), offloads)
    }
}
