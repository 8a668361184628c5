//! Does things to hosts and devices, and writes down what was done, in the words of `ip`, `sysctl`,
//! `ethtool` and `tc`, or RouterOS's.
//!
//! ```text
//!  Maker::veth, host, kernel, router … ─► commands (what a reader would type), facts (what came of it)
//! ```
//!
//! Wires with a rate are shaped where hosts send: HTB, preamble, gap and FCS counted, no frame below
//! 84 bytes. What a device sends is what came in, so its ends need no shaping.

use super::plan::{Backend, Device, Plan};
use super::processors::Processors;
use super::rig::{DEVICE_ENDS, RigError};
use crate::linux::netlink::{End, Netlink, Route};
use crate::machine;
use crate::real::{self, PortSpec, Running, StartError};
use crate::underway::Files;
use measure::iperf3::Setup;
use port::linux::interface::{Interface, Offloads, set_offloads};
use port::linux::{Namespace, Unavailable};
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread;
use wire::Ipv4Prefix;

/// Does something on a thread of its own.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let done = thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Does things and writes them down.
pub(super) struct Maker {
    /// What was done.
    pub(super) commands: Vec<String>,
    /// What came of it.
    pub(super) facts: Vec<String>,
}

impl Maker {
    /// All of it, for the result.
    pub(super) fn setup(self, device: Device, mtu: u32) -> Setup {
        let Maker { commands, facts } = self;
        Setup { device: device.name().to_string(), mtu, commands, facts }
    }

    pub(super) fn veth(
        &mut self,
        ends: [(&Namespace, &str); 2],
        mtu: u32,
    ) -> Result<(), Unavailable> {
        let end = |at: usize| End {
            name: ends[at].1,
            namespace: Some(ends[at].0),
            mtu: Some(mtu),
            queues: Some(1),
            ..End::default()
        };
        Netlink::open_in(ends[0].0)?.add_veth(&end(0), &end(1))?;
        let (a, b) = (ends[0].1, ends[1].1);
        self.commands.push(format!("ip link add {a} mtu {mtu} type veth peer name {b} mtu {mtu}"));
        Ok(())
    }

    pub(super) fn host(
        &mut self,
        host: &Namespace,
        end: &str,
        address: Ipv4Addr,
        plan: &Plan,
    ) -> Result<(), RigError> {
        self.offloads(host, end, plan.offloads)?;
        self.configure(host, end, (address, 24), plan)
    }

    /// A host at the end of an interface that is lent: what leaves it is as the plan has it, and
    /// nothing is set at the interface itself.
    pub(super) fn lent(
        &mut self,
        host: &Namespace,
        end: &str,
        address: (Ipv4Addr, u8),
        plan: &Plan,
    ) -> Result<(), RigError> {
        self.offloads(host, end, true)?;
        // A macvlan's segmentation is fixed: so nothing is left to segment.
        if !plan.offloads {
            Netlink::open_in(host)?.set_gso_max(end, 65_536, 1)?;
            self.commands.push(format!("ip link set {end} gso_max_segs 1"));
        }
        self.configure(host, end, address, plan)
    }

    fn configure(
        &mut self,
        host: &Namespace,
        end: &str,
        (address, length): (Ipv4Addr, u8),
        plan: &Plan,
    ) -> Result<(), RigError> {
        let timestamps = if plan.timestamps { "1" } else { "0" };
        self.sysctl(host, "net.ipv4.tcp_timestamps", timestamps)?;
        for (name, value) in &plan.sysctl {
            self.sysctl(host, name, value)?;
        }
        let mut netlink = Netlink::open_in(host)?;
        netlink.set_up("lo", true)?;
        netlink.set_silent(end)?;
        netlink.set_up(end, true)?;
        netlink.add_address(end, address, length)?;
        self.commands.push(format!("ip address add {address}/{length} dev {end}"));
        if let Some(rate) = plan.link {
            // Each segment through the shaper by itself, or it does not see their headers.
            netlink.set_gso_max(end, 65_536, 1)?;
            self.commands.push(format!("ip link set {end} gso_max_segs 1"));
            // A quarter of a millisecond, two long frames at least.
            let burst = (rate / 8.0 / 4000.0).max(20_000.0);
            self.run(host, &format!("tc qdisc add dev {end} root handle 1: htb default 1"))?;
            self.run(
                host,
                &format!(
                    "tc class add dev {end} parent 1: classid 1:1 htb rate {rate:.0}bit \
                     burst {burst:.0} cburst {burst:.0} overhead 24 mpu 84 quantum 20000"
                ),
            )?;
        }
        Ok(())
    }

    pub(super) fn route(
        &mut self,
        host: &Namespace,
        end: &str,
        to: Ipv4Prefix,
        by: Ipv4Addr,
    ) -> Result<(), Unavailable> {
        let mut netlink = Netlink::open_in(host)?;
        let index = netlink.link(end)?.index;
        netlink.add_route(&Route::by(to, by, index))?;
        self.commands.push(format!("ip route add {to} via {by} dev {end}"));
        Ok(())
    }

    /// The device's ends: frames are what they seem, or the kernel takes what hosts leave to it.
    pub(super) fn device_ends(
        &mut self,
        namespace: &Namespace,
        plan: &Plan,
        device: Device,
    ) -> Result<(), RigError> {
        for end in DEVICE_ENDS {
            self.offloads(namespace, end, plan.offloads && device == Device::Linux)?;
            let mut netlink = Netlink::open_in(namespace)?;
            netlink.set_silent(end)?;
            netlink.set_up(end, true)?;
        }
        Ok(())
    }

    pub(super) fn kernel(
        &mut self,
        namespace: &Namespace,
        addresses: [Ipv4Addr; 2],
    ) -> Result<(), RigError> {
        self.sysctl(namespace, "net.ipv4.ip_forward", "1")?;
        for (end, address) in DEVICE_ENDS.into_iter().zip(addresses) {
            Netlink::open_in(namespace)?.add_address(end, address, 24)?;
            self.commands.push(format!("ip address add {address}/24 dev {end}"));
        }
        Ok(())
    }

    pub(super) fn router(
        &mut self,
        places: [(&Namespace, &str); 2],
        plan: &Plan,
        mtu: u32,
        addresses: [Ipv4Addr; 2],
        script: &str,
        place: &Processors,
    ) -> Result<Running, RigError> {
        let mut startup = "/ip address\n".to_string();
        for (at, address) in addresses.into_iter().enumerate() {
            startup += &format!("add address={address}/24 interface=ether{}\n", at + 1);
        }
        if mtu > 1500 {
            startup += "/interface ethernet\n";
            for at in 1..=2 {
                startup += &format!("set ether{at} mtu={mtu}\n");
            }
        }
        startup += script;
        // What hosts leave to others does not come by AF_XDP.
        let offload = plan.offloads;
        let start = |backend: real::spec::Backend| {
            let port = |at: usize| PortSpec {
                name: format!("ether{}", at + 1),
                backend,
                interface: places[at].1.to_string(),
                namespace: Some(places[at].0.path().display().to_string()),
                options: real::spec::Options {
                    offload: offload.then_some(true),
                    ..real::spec::Options::default()
                },
            };
            let plan = real::Plan {
                name: "device".to_string(),
                ports: vec![port(0), port(1)],
                workers: place.workers,
                cores: place.router.clone(),
                startup: startup.clone(),
                files: Files::none(),
                kernel_routes: None,
            };
            let begin = || {
                real::start(
                    &plan,
                    &Arc::new(crate::node::language(&[])),
                    Arc::new(|_| {}),
                    &crate::live::Interrupt::default(),
                )
            };
            // Threads inherit their class from the one that starts them.
            match place.gives_way {
                true => apart(|| {
                    machine::give_way();
                    begin()
                }),
                false => begin(),
            }
        };
        let running = match plan.backend {
            Backend::Tap => start(real::spec::Backend::Tap),
            _ if offload => start(real::spec::Backend::Packet),
            Backend::Packet => start(real::spec::Backend::Packet),
            Backend::Xdp => match start(real::spec::Backend::Xdp) {
                // Longer frames than a page do not fit AF_XDP's native mode.
                Err(StartError::Port(name, unavailable)) if mtu > 1500 => {
                    self.facts.push(format!("{name}: {unavailable}; AF_PACKET instead"));
                    start(real::spec::Backend::Packet)
                }
                started => started,
            },
        };
        let running = running.map_err(RigError::Router)?;
        let lines = startup.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        self.commands.extend(lines.map(str::to_string));
        self.facts.extend(running.facts().iter().map(|(name, facts)| format!("{name}: {facts}")));
        Ok(running)
    }

    /// Makes the offloads what the plan says, and writes down what they are then.
    fn offloads(
        &mut self,
        namespace: &Namespace,
        end: &str,
        kept: bool,
    ) -> Result<(), Unavailable> {
        let enter = |error| Unavailable::because("enter a namespace", error);
        let inside = || {
            let changed = if kept { vec![] } else { set_offloads(end, Offloads::NONE)? };
            Ok((changed, Interface::of(end)?.offloads.on().join(", ")))
        };
        let (changed, on) = namespace.run(inside).map_err(enter)??;
        if !changed.is_empty() {
            self.commands.push(format!("ethtool -K {end} {}", changed.join(" ")));
        }
        let on = if on.is_empty() { "none" } else { &on };
        self.facts.push(format!("{end}: offloads on: {on}"));
        Ok(())
    }

    fn sysctl(&mut self, host: &Namespace, name: &str, value: &str) -> Result<(), RigError> {
        let command = format!("sysctl -w {name}={value}");
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let legal = name.starts_with("net.") && !name.contains('/') && !name.contains("..");
        let written = match legal {
            true => host.run(|| fs::write(&path, value)).and_then(|written| written),
            false => Err(io::Error::other("the plan sets what begins with net. only")),
        };
        written.map_err(|error| RigError::Command(command.clone(), error.to_string()))?;
        self.commands.push(command);
        Ok(())
    }

    fn run(&mut self, namespace: &Namespace, command: &str) -> Result<(), RigError> {
        let failed = |said| RigError::Command(command.to_string(), said);
        crate::linux::command::ask(namespace, command).map_err(failed)?;
        self.commands.push(command.to_string());
        Ok(())
    }
}
