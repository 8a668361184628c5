//! Two hosts, and what is between them.
//!
//! ```text
//!  node to node     a: t0 ═══════════ veth ═══════════ t1 :b
//!  through a box    a: t0 ═ veth ═ d0 [ device ] d1 ═ veth ═ t1 :b
//!  our router's taps    a: t0 [ router ] t1 :b
//!                        └ shaped ┘  kernel, or router  └ shaped ┘
//! ```
//!
//! What is outside is [`external`]'s. The namespaces have no names; nothing is left
//! when this is dropped. Never touches an interface it did not make.

use super::Options;
use super::external::{self, HostPort};
use super::maker::Maker;
use super::plan::{Backend, Device, Plan};
use super::processors::Processors;
use crate::bench::veth::Counters;
use crate::real::{Running, StartError};
use measure::iperf3::{Arrived, Setup};
use port::linux::{Namespace, Unavailable};
use std::fmt;
use std::fs;
use std::net::Ipv4Addr;
use wire::Ipv4Prefix;

/// The hosts' interfaces.
pub(super) const ENDS: [&str; 2] = ["t0", "t1"];
/// The device's.
pub(super) const DEVICE_ENDS: [&str; 2] = ["d0", "d1"];
/// The hosts' networks when something routes between them (RFC 2544, C.2.2).
const NETWORKS: [[u8; 3]; 2] = [[198, 18, 1], [198, 19, 1]];

/// It cannot be set up.
#[derive(Debug)]
pub enum RigError {
    /// Rights or facilities are lacking.
    Unavailable(Unavailable),
    /// A command failed: which, and what it said.
    Command(String, String),
    /// The built-in router does not start.
    Router(StartError),
    /// Nobody answers for the device's address, at the interface of this name.
    NobodyThere(Ipv4Addr, String),
    /// An external device was not said.
    NotConnected,
    /// Somebody wanted an end.
    Interrupted,
}

impl fmt::Display for RigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RigError::Unavailable(unavailable) => unavailable.fmt(f),
            RigError::Command(command, said) => write!(f, "`{command}` failed: {said}"),
            RigError::Router(error) => error.fmt(f),
            RigError::NobodyThere(address, port) => {
                write!(f, "nobody answers ARP for {address} at {port}")
            }
            RigError::Interrupted => f.write_str("interrupted"),
            RigError::NotConnected => f.write_str("nobody said where it is connected: --port"),
        }
    }
}

impl std::error::Error for RigError {}

impl From<Unavailable> for RigError {
    fn from(unavailable: Unavailable) -> RigError {
        RigError::Unavailable(unavailable)
    }
}

/// Two hosts and a device.
pub struct Rig {
    /// Before the namespaces: it lets its interfaces go first.
    _router: Option<Running>,
    /// And the hosts' ends of interfaces that are lent go before the hosts.
    _lent: Vec<HostPort>,
    /// The hosts.
    pub hosts: [Namespace; 2],
    _device: Option<Namespace>,
    /// Their addresses.
    pub addresses: [Ipv4Addr; 2],
    /// The wire's rate in 10⁶ bit/s (L1), if it has one that is known.
    pub link_mbps: Option<f64>,
    /// Whether the second host's interface counts packets one by one.
    counts: bool,
    /// What was done.
    pub setup: Setup,
}

impl Rig {
    /// Sets up a device, all interfaces with this MTU.
    ///
    /// # Errors
    /// [`RigError`]; nothing is left then.
    pub(super) fn new(
        plan: &Plan,
        options: &Options,
        device: Device,
        mtu: u32,
        place: &Processors,
    ) -> Result<Rig, RigError> {
        if device == Device::External {
            let external = options.external.as_ref().ok_or(RigError::NotConnected)?;
            return external::rig(plan, options, external, mtu, place);
        }
        let mut maker = Maker { commands: Vec::new(), facts: place.facts(plan, device) };
        let hosts = [Namespace::new()?, Namespace::new()?];
        let mut between = None;
        let routed = device != Device::Direct;
        let taps = device == Device::Wirespeed && plan.backend == Backend::Tap;
        if taps {
            // The hosts' ends are made when the router starts.
        } else if routed {
            let namespace = Namespace::new()?;
            for at in 0..2 {
                maker.veth([(&hosts[at], ENDS[at]), (&namespace, DEVICE_ENDS[at])], mtu)?;
            }
            between = Some(namespace);
        } else {
            maker.veth([(&hosts[0], ENDS[0]), (&hosts[1], ENDS[1])], mtu)?;
        }
        let address = |at: usize, last: u8| {
            let [a, b, c] = NETWORKS[if routed { at } else { 0 }];
            Ipv4Addr::new(a, b, c, last)
        };
        let addresses = [address(0, 2), address(1, if routed { 2 } else { 3 })];
        if let Some(namespace) = &between {
            maker.device_ends(namespace, plan, device)?;
        }
        let mut router = None;
        if device == Device::Wirespeed {
            let places = match &between {
                None => [(&hosts[0], ENDS[0]), (&hosts[1], ENDS[1])],
                Some(between) => DEVICE_ENDS.map(|end| (between, end)),
            };
            let addresses = [address(0, 1), address(1, 1)];
            router = Some(maker.router(places, plan, mtu, addresses, &options.script, place)?);
        }
        for at in 0..2 {
            maker.host(&hosts[at], ENDS[at], addresses[at], plan)?;
            if routed {
                let to = Ipv4Prefix::new(address(1 - at, 0).into(), 24);
                maker.route(&hosts[at], ENDS[at], to, address(at, 1))?;
            }
        }
        if let (Some(namespace), Device::Linux) = (&between, device) {
            maker.kernel(namespace, [address(0, 1), address(1, 1)])?;
        }
        Ok(Rig {
            _router: router,
            _lent: Vec::new(),
            hosts,
            _device: between,
            addresses,
            link_mbps: plan.link.map(|rate| rate / 1e6),
            // With offloads it counts super-frames.
            counts: !plan.offloads,
            setup: maker.setup(device, mtu),
        })
    }

    /// Around what is outside: the hosts' ends, the wire's rate, and whether packets are counted one
    /// by one.
    pub(super) fn external(
        lent: Vec<HostPort>,
        hosts: [Namespace; 2],
        addresses: [Ipv4Addr; 2],
        (link_mbps, counts): (Option<f64>, bool),
        setup: Setup,
    ) -> Rig {
        Rig {
            _router: None,
            _lent: lent,
            hosts,
            _device: None,
            addresses,
            link_mbps,
            counts,
            setup,
        }
    }

    /// What the second host's interface has counted, if it counts packets one by one.
    pub fn arrived(&self) -> Option<Arrived> {
        let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        let read = || {
            let counted = Counters::of(&self.hosts[1].run(read).unwrap_or_default(), ENDS[1]);
            Arrived { frames: counted.rx, bytes: counted.rx_bytes }
        };
        self.counts.then(read)
    }
}
