//! A device's server: its sockets, its clients, and the end of both.
//!
//! ```text
//! Server ─┬─ unix(PATH)            trusted: only our own user may open it
//!         ├─ tcp(ADDRESS)          whoever logs in
//!         ├─ /ip service api       the same, as configured
//!         └─ stop                  sockets closed, clients told, their commands stopped
//! ```
//!
//! Each client has a thread, and each command under way another; there are at most [`CLIENTS`] of a
//! kind, so clients from the network cannot keep the local console out.

use crate::client::{self, Client};
use crate::connection::Connection;
use crate::device::Device;
use crate::listener::{Door, Listening};
use crate::login;
use crate::outbox::{Outbox, fatal};
use crate::safe::Safe;
use crate::service;
use crate::stream::{Peer, Stream};
use config::Tree;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Clients at a time, of the network and of this machine each.
pub const CLIENTS: usize = 2048;

/// The stack of a client's thread, of which an idle one touches a few pages.
const CLIENT_STACK: usize = 256 << 10;

/// How long the end waits for commands to end.
const END: Duration = Duration::from_secs(5);

/// A device being served, until stopped or dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    listening: Vec<Listening>,
}

/// How long clients may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until they have logged in.
    pub login: Duration,
    /// Between two reads of anything, while something is there to be read.
    pub reading: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { login: Duration::from_secs(30), reading: Duration::from_secs(10) }
    }
}

/// What all of a server's threads share.
pub(crate) struct Shared {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) patience: Patience,
    pub(crate) door: login::Door,
    pub(crate) safe: Safe,
    clients: Mutex<Clients>,
    gone: Condvar,
    service: Mutex<Option<Listening>>,
}

#[derive(Default)]
struct Clients {
    next: u64,
    over: bool,
    there: BTreeMap<u64, There>,
    /// How many of them are of this machine.
    local: usize,
}

struct There {
    is_local: bool,
    connection: Weak<Connection>,
}

impl Server {
    /// Serves a device, so far to nobody but those whom its `/ip service` admits. A device without
    /// users gets `admin`, with an empty password as RouterOS has it.
    ///
    /// # Errors
    /// The device refuses, or its `/ip service` names a port that is not free.
    pub fn new(device: Arc<dyn Device>) -> Result<Server, String> {
        Server::patient(device, Patience::default())
    }

    /// The same, with as much patience as is said.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn patient(device: Arc<dyn Device>, patience: Patience) -> Result<Server, String> {
        let mut host = device.host();
        let mut tree = host.edit()?;
        (crate::FACTORY.install)(&mut tree);
        let installed = host.commit(&tree);
        host.release();
        installed?;
        drop(host);
        let shared = Arc::new(Shared {
            device,
            patience,
            door: login::Door::default(),
            safe: Safe::default(),
            clients: Mutex::default(),
            gone: Condvar::new(),
            service: Mutex::default(),
        });
        shared.apply_service(&tree)?;
        Ok(Server { shared, listening: Vec::new() })
    }

    /// Listens at a path, for our own user and root, who need no password.
    ///
    /// # Errors
    /// Another process listens there, or the path is not ours to use.
    pub fn unix(&mut self, path: &Path) -> io::Result<()> {
        self.listening.push(Listening::unix(&self.shared, path)?);
        Ok(())
    }

    /// Listens at an address, which may leave the port (0) to the system; returns where.
    ///
    /// # Errors
    /// The port is not free, or not ours to use.
    pub fn tcp(&mut self, at: SocketAddr) -> io::Result<SocketAddr> {
        let listening = Listening::tcp(&self.shared, at, Door::Tcp)?;
        let address = listening.address.unwrap_or(at);
        self.listening.push(listening);
        Ok(address)
    }

    /// A client in this process, connected through a pair of sockets.
    ///
    /// # Errors
    /// The system has no more sockets.
    pub fn connect(&self) -> Result<Client, client::Failure> {
        let (ours, theirs) = UnixStream::pair()?;
        self.shared.welcome(Stream::Unix(theirs), Door::Unix);
        Client::new(Stream::Unix(ours))
    }

    /// Closes all sockets and ends all connections and what they have under way. Dropping does the
    /// same.
    pub fn stop(self) {}
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.clients().over = true;
        self.listening.clear();
        self.shared.service().take();
        let clients: Vec<_> =
            self.shared.clients().there.values().map(|client| client.connection.clone()).collect();
        for client in clients.iter().filter_map(Weak::upgrade) {
            client.outbox.stream.close();
        }
        let there = self.shared.clients();
        let waited = self.shared.gone.wait_timeout_while(there, END, |c| !c.there.is_empty());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Shared {
    /// Takes in somebody who has connected, or says why not.
    pub(crate) fn welcome(self: &Arc<Self>, stream: Stream, door: Door) {
        let Ok(peer) = stream.peer() else { return };
        let refuse = |stream: Stream, why: &str| {
            Outbox::new(stream).send(&fatal(why));
        };
        if peer == Peer::Stranger {
            return refuse(stream, "this socket belongs to another user");
        }
        if let (Door::Service, Peer::Remote(from)) = (door, peer)
            && !service::is_admitted(&self.device.host().tree(), from)
        {
            // As RouterOS does: without a word.
            return;
        }
        let is_local = peer == Peer::Local;
        let id = {
            let mut clients = self.clients();
            let local = clients.local;
            let alike = if is_local { local } else { clients.there.len() - local };
            if alike >= CLIENTS || clients.over {
                drop(clients);
                return refuse(stream, &format!("too many connections ({CLIENTS})"));
            }
            clients.next += 1;
            let id = clients.next;
            clients.local += usize::from(is_local);
            clients.there.insert(id, There { is_local, connection: Weak::new() });
            id
        };
        let connection = Arc::new(Connection::new(Arc::clone(self), stream, peer, id));
        if let Some(place) = self.clients().there.get_mut(&id) {
            place.connection = Arc::downgrade(&connection);
        }
        let builder = thread::Builder::new().name("api client".to_string());
        let client = Arc::clone(&connection);
        if builder.stack_size(CLIENT_STACK).spawn(move || client.serve()).is_err() {
            connection.outbox.send(&fatal("no thread left for a connection"));
        }
    }

    /// A connection and all its commands have ended.
    pub(crate) fn leave(&self, id: u64) {
        let mut clients = self.clients();
        if let Some(There { is_local, .. }) = clients.there.remove(&id) {
            clients.local -= usize::from(is_local);
        }
        drop(clients);
        self.gone.notify_all();
    }

    /// Makes what `/ip service` says so.
    ///
    /// # Errors
    /// The port is not free; nobody listens then.
    pub(crate) fn apply_service(self: &Arc<Self>, tree: &Tree) -> Result<(), String> {
        let mut listening = self.service();
        let wanted = service::wanted(tree);
        if listening.as_ref().and_then(|listening| listening.address) == wanted {
            return Ok(());
        }
        // First the old one: the new may be the same port of more addresses.
        *listening = None;
        if let Some(at) = wanted.filter(|_| !self.clients().over) {
            let new = Listening::tcp(self, at, Door::Service);
            *listening =
                Some(new.map_err(|error| format!("failure: cannot listen at {at}: {error}"))?);
        }
        Ok(())
    }

    /// A line of the device's log about somebody.
    pub(crate) fn log_login(&self, name: &str, peer: Peer, well: bool) {
        let from = match peer {
            Peer::Remote(address) => format!(" from {address}"),
            Peer::Local | Peer::Stranger => String::new(),
        };
        // A name is whatever somebody sent.
        let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        let mut host = self.device.host();
        match well {
            true => {
                host.log("system,info,account", &format!("user {name} logged in{from} via api"))
            }
            false => host.log(
                "system,error,critical",
                &format!("login failure for user {name}{from} via api"),
            ),
        }
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn service(&self) -> MutexGuard<'_, Option<Listening>> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("clients", &self.clients().there.len()).finish()
    }
}
