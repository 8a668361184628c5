//! A host's end of an interface that is lent.
//!
//! ```text
//!  new ─► lock on the interface ─► its child, made in the host's namespace ─► drop: deleted
//! ```
//!
//! The lock is the one that our router takes: two of us never have the same interface.

use super::{HostInterface, inside};
use crate::clock::Clock;
use crate::linux::netlink::Netlink;
use crate::real::claim::Claim;
use port::linux::interface::Interface;
use port::linux::{Namespace, Unavailable};
use std::time::Duration;
use wire::Moment;

/// An interface's child in a host, which goes when this is dropped.
pub(in super::super) struct HostPort {
    /// In the host's namespace.
    netlink: Netlink,
    end: &'static str,
    _claim: Claim,
}

/// How long a child that is just going may stay: the system clears namespaces away in its own time.
const GOING: Duration = Duration::from_secs(2);
/// `EINVAL`: there is a child already.
const HAS_ONE: i32 = 22;

impl HostPort {
    pub(super) fn new(
        port: &HostInterface,
        host: &Namespace,
        end: &'static str,
        mtu: u32,
    ) -> Result<HostPort, Unavailable> {
        let name = port.interface.as_str();
        let claim = inside(port, || {
            let claim = Claim::take(name, Interface::of(name)?.index)?;
            let mut netlink = Netlink::open()?;
            let clock = Clock::start();
            loop {
                match netlink.add_passthru(name, end, host, mtu) {
                    Ok(()) => return Ok(claim),
                    Err(error) if error.error.raw_os_error() != Some(HAS_ONE) => return Err(error),
                    Err(error) if clock.now().since(Moment::ZERO) >= GOING => {
                        return Err(error.remedy(
                            "a macvlan of somebody else's (a container's?) is there already: `ip -d \
                             link` in its namespace",
                        ));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                }
            }
        })?;
        let netlink = Netlink::open_in(host)?;
        Ok(HostPort { netlink, end, _claim: claim })
    }
}

impl Drop for HostPort {
    fn drop(&mut self) {
        // At once, not when the system gets round to it: the next host wants the interface. It has
        // gone already if somebody has deleted the interface.
        let _ = self.netlink.delete(self.end);
    }
}
