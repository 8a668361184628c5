//! The identity of a port's interface, whatever it was called by.
//!
//! ```text
//!  eth1 ────────────────────┐
//!  eth1@/proc/self/ns/net ──┼─► (the namespace's file, the number there) ─► the same, or not
//!  wan0, its other name ────┘
//! ```
//!
//! A TAP that is yet to be made has no number: it goes by its name.

use super::{PortSpec, namespace, open};
use port::linux::Unavailable;
use std::io;

/// What two ports have in common if they are one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The file that is its network namespace.
    namespace: (u64, u64),
    interface: Which,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Which {
    Number(u32),
    Name(String),
}

impl Identity {
    /// That of a port's interface; `None` if there is no such namespace.
    pub(crate) fn of(spec: &PortSpec) -> Option<Identity> {
        let namespace = namespace::file(spec.namespace.as_deref())?;
        let interface = match open::interface(spec) {
            Ok(interface) => Which::Number(interface.index),
            Err(_) => Which::Name(spec.interface.clone()),
        };
        Some(Identity { namespace, interface })
    }

    /// That of the interface of this number in a namespace; the program's own without a name.
    pub(crate) fn numbered(namespace: Option<&str>, index: u32) -> Option<Identity> {
        Some(Identity { namespace: namespace::file(namespace)?, interface: Which::Number(index) })
    }
}

/// Whether each port is an interface of its own; if not, the port that is not, and why.
///
/// # Errors
/// Two are the same.
pub(super) fn distinct(ports: &[PortSpec]) -> Result<(), (&PortSpec, Unavailable)> {
    let all: Vec<_> = ports.iter().map(Identity::of).collect();
    for (at, spec) in ports.iter().enumerate() {
        let same = all[..at].iter().position(|other| other.is_some() && *other == all[at]);
        if let Some(other) = same.map(|other| &ports[other].name) {
            let why = format!("two ports are the same interface, {other} is it too");
            let tried = format!("take the interface {}", spec.interface);
            let unavailable = Unavailable::because(tried, io::Error::other(why));
            return Err((spec, unavailable.remedy("leave out one of them")));
        }
    }
    Ok(())
}
