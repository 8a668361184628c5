//! A network namespace in which ports are, watched.
//!
//! ```text
//!  netlink: links, addresses ─► WatchedNamespace::hear ─► events, for the supervisor
//!                                   └────────► the kernel's addresses, kept
//! ```

use super::PortSpec;
use crate::linux::netlink::{Address, Event, Link, Netlink, Topics, Watch};
use port::linux::{Namespace, Unavailable};
use std::fs;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A namespace in which ports are.
pub(super) struct WatchedNamespace {
    pub(super) name: Option<String>,
    watch: Watch,
    /// Which file the name leads to.
    file: Option<(u64, u64)>,
    /// The kernel's addresses there.
    addresses: Vec<Address>,
}

impl WatchedNamespace {
    /// Watches a namespace: of this name, or the program's own.
    ///
    /// # Errors
    /// There is none, or it cannot be watched.
    pub(super) fn watch(name: Option<&str>) -> Result<WatchedNamespace, Unavailable> {
        let topics = Topics { links: true, addresses: true, ..Topics::default() };
        let watch = match name {
            None => Watch::open(topics),
            Some(name) => Watch::open_in(&Namespace::open(name)?, topics),
        };
        let (watch, addresses) = (watch?, Vec::new());
        Ok(WatchedNamespace { name: name.map(str::to_string), watch, file: file(name), addresses })
    }

    /// Whether a port is there.
    pub(super) fn is_of(&self, spec: &PortSpec) -> bool {
        self.name == spec.namespace
    }

    /// What has happened since.
    pub(super) fn hear(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        // What could not be read is read anew the next time.
        let _ = self.watch.poll(&mut |event| events.push(event));
        events.iter().for_each(|event| self.note(event));
        events
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Anew => self.addresses.clear(),
            Event::Address(address) => {
                self.addresses.retain(|held| held != address);
                self.addresses.push(*address);
            }
            Event::AddressGone(address) => self.addresses.retain(|held| held != address),
            _ => {}
        }
    }

    /// What of the kernel's can be reached by this interface: its addresses there, and those on
    /// the loopback interface that are not only its own.
    pub(super) fn addresses_by(&self, index: u32) -> impl Iterator<Item = IpAddr> {
        /// It has the same number in every namespace.
        const LOOPBACK: u32 = 1;
        let here = self.addresses.iter().filter(move |address| match address.interface {
            LOOPBACK => !address.address.is_loopback(),
            other => other == index,
        });
        here.map(|address| address.address)
    }

    /// Whether its name leads elsewhere by now, or nowhere.
    pub(super) fn is_gone(&self) -> bool {
        self.name.is_some() && file(self.name.as_deref()) != self.file
    }

    /// The links there are now.
    pub(super) fn links(&self) -> Vec<Link> {
        let netlink = match &self.name {
            None => Netlink::open(),
            Some(name) => Namespace::open(name).and_then(|place| Netlink::open_in(&place)),
        };
        netlink.and_then(|mut netlink| netlink.links()).unwrap_or_default()
    }
}

/// What a namespace's name leads to; the program's own without a name.
pub(super) fn file(name: Option<&str>) -> Option<(u64, u64)> {
    let path = match name {
        None => PathBuf::from("/proc/self/ns/net"),
        Some(name) if name.contains('/') => PathBuf::from(name),
        Some(name) => Path::new("/run/netns").join(name),
    };
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

impl AsFd for WatchedNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}
