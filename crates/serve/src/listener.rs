//! A socket that clients connect to, and the thread that waits there.
//!
//! ```text
//! bind ─► thread: poll(socket, wake) ─► accept ─► Shared::welcome ─► a thread for the client
//! drop ─► wake ─► the thread ends, the socket is closed, its file removed
//! ```

use crate::server::Shared;
use crate::stream::Stream;
use rustix::event::{PollFd, PollFlags, poll};
use std::fs;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Clients that may connect while we welcome others; 128, the standard library's, keep a thousand
/// that come at once waiting for seconds.
const BACKLOG: i32 = 2048;

/// A socket being listened at, until dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) address: Option<SocketAddr>,
    path: Option<PathBuf>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

/// Which door somebody came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// The Unix socket.
    Unix,
    /// One that the program's caller has opened.
    Tcp,
    /// That of `/ip service`.
    Service,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listening {
    /// Listens at this address.
    pub(crate) fn tcp(shared: &Arc<Shared>, at: SocketAddr, door: Door) -> io::Result<Listening> {
        let socket = TcpListener::bind(at)?;
        rustix::net::listen(&socket, BACKLOG)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let mut listening = Listening::start(shared, Socket::Tcp(socket), door)?;
        listening.address = Some(address);
        Ok(listening)
    }

    /// Listens at this path, for our own user only. What a process that is no more has left there
    /// is replaced.
    pub(crate) fn unix(shared: &Arc<Shared>, path: &Path) -> io::Result<Listening> {
        if UnixStream::connect(path).is_ok() {
            let why = format!("{}: another device listens here", path.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
        }
        if fs::symlink_metadata(path).is_ok_and(|meta| !is_socket(&meta)) {
            let why = format!("{}: there is something that is no socket", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        // Under another name until only we may open it; then at once in the old one's place.
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".{}", std::process::id()));
        let new = PathBuf::from(new);
        let _ = fs::remove_file(&new);
        let socket = UnixListener::bind(&new)?;
        rustix::net::listen(&socket, BACKLOG)?;
        let placed = fs::set_permissions(&new, fs::Permissions::from_mode(0o600))
            .and_then(|()| socket.set_nonblocking(true))
            .and_then(|()| fs::rename(&new, path));
        if let Err(error) = placed {
            let _ = fs::remove_file(&new);
            return Err(error);
        }
        let mut listening = Listening::start(shared, Socket::Unix(socket), Door::Unix)?;
        listening.path = Some(path.to_path_buf());
        Ok(listening)
    }

    fn start(shared: &Arc<Shared>, socket: Socket, door: Door) -> io::Result<Listening> {
        let (wake, woken) = UnixStream::pair()?;
        let shared = Arc::clone(shared);
        let run = move || {
            while wait(&socket, &woken) {
                match socket.accept() {
                    Ok(stream) => shared.welcome(stream, door),
                    // Somebody else was faster, or gave up.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    // No file descriptor is left: wait until somebody goes.
                    Err(_) => thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        let builder = thread::Builder::new().name("api listener".to_string());
        let thread = Some(builder.stack_size(256 << 10).spawn(run)?);
        Ok(Listening { address: None, path: None, wake, thread })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.wake.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

impl Socket {
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Socket::Tcp(socket) => socket.accept().map(|(stream, _)| Stream::Tcp(stream)),
            Socket::Unix(socket) => socket.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

/// Waits until somebody connects; `false` if it is over.
fn wait(socket: &Socket, woken: &UnixStream) -> bool {
    let connected = match socket {
        Socket::Tcp(socket) => PollFd::new(socket, PollFlags::IN),
        Socket::Unix(socket) => PollFd::new(socket, PollFlags::IN),
    };
    let mut both = [connected, PollFd::new(woken, PollFlags::IN)];
    match poll(&mut both, None) {
        Ok(_) => both[1].revents().is_empty(),
        Err(rustix::io::Errno::INTR) => true,
        Err(_) => false,
    }
}

fn is_socket(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    meta.file_type().is_socket()
}
