//! A connection's two directions: TCP or a Unix socket.
//!
//! Read by one thread and written by others, both through `&Stream`. Closing it from anywhere wakes
//! them all.

use rustix::net::sockopt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Either kind of connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    /// A process of our own user, or root: it could read our memory as well.
    Local,
    /// A process of another user.
    Stranger,
    /// Somebody with this address.
    Remote(IpAddr),
}

impl Stream {
    /// Who is at the other end.
    pub(crate) fn peer(&self) -> io::Result<Peer> {
        match self {
            Stream::Tcp(stream) => Ok(Peer::Remote(stream.peer_addr()?.ip().to_canonical())),
            Stream::Unix(stream) => {
                let uid = sockopt::socket_peercred(stream)?.uid;
                let trusted = uid.is_root() || uid == rustix::process::geteuid();
                Ok(if trusted { Peer::Local } else { Peer::Stranger })
            }
        }
    }

    /// A connection of ours with people: small answers go out at once, and a peer that vanished
    /// without a word is found out after some minutes.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        if let Stream::Tcp(stream) = self {
            stream.set_nodelay(true)?;
            sockopt::set_socket_keepalive(stream, true)?;
            sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
            sockopt::set_tcp_keepintvl(stream, Duration::from_secs(20))?;
            sockopt::set_tcp_keepcnt(stream, 6)?;
        }
        Ok(())
    }

    /// How long a read may wait; `None` for ever.
    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        // Zero would be an error to them, and means "at once" to us.
        let timeout = timeout.map(|timeout| timeout.max(Duration::from_millis(1)));
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
            Stream::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// How long a write may wait for the peer to read anything.
    pub(crate) fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_write_timeout(Some(timeout)),
            Stream::Unix(stream) => stream.set_write_timeout(Some(timeout)),
        }
    }

    /// Ends both directions; whoever reads or writes finds out. Once is enough.
    pub(crate) fn close(&self) {
        // It fails if the peer was faster.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&mut &*stream).read(buffer),
            Stream::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&mut &*stream).write(bytes),
            Stream::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
