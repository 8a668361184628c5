//! The lock on an interface: two of us must not have the same one.
//!
//! ```text
//!  Claim::take(eth1, 7) ─► a socket listens at the abstract address "wirespeed interface 7",
//!                          in the interface's namespace
//!  another process      ─► the address is in use; who listens there is asked for its process
//! ```
//!
//! Such an address belongs to a network namespace, as the interface does, and is gone with the
//! process, however that ends: nothing is left to be cleared away. The interface goes by its
//! number, so that renaming it does not open the lock.
//!
//! Never keeps programs out that do not ask here: it is an agreement.

use port::linux::Unavailable;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// An interface that is ours until this is dropped.
#[derive(Debug)]
pub struct Claim {
    /// Held, never accepted from.
    _socket: UnixListener,
}

impl Claim {
    /// Takes the interface of this number in the calling thread's namespace; `name` is for words.
    ///
    /// # Errors
    /// [`Unavailable`]: somebody has it, and who.
    pub fn take(name: &str, index: u32) -> Result<Claim, Unavailable> {
        let tried = || format!("take the interface {name}");
        let because = |error| Unavailable::because(tried(), error);
        let address = format!("wirespeed interface {index}");
        let address = SocketAddr::from_abstract_name(address).map_err(because)?;
        for attempt in 1.. {
            match UnixListener::bind_addr(&address) {
                Ok(socket) => return Ok(Claim { _socket: socket }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    let holder = holder(&address);
                    if holder.is_some_and(|pid| pid == std::process::id()) && attempt < ATTEMPTS {
                        std::thread::sleep(PAUSE);
                        continue;
                    }
                    let who = holder.map_or("another process".to_string(), describe);
                    let error = io::Error::new(error.kind(), format!("{who} has it"));
                    let remedy = "take another interface, or end that one first";
                    return Err(because(error).remedy(remedy));
                }
                Err(error) => return Err(because(error)),
            }
        }
        unreachable!("the last attempt returns")
    }
}

/// What we had ourselves is free a moment later: a process that another thread is just starting still
/// has all that we had, until it is itself.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// The process that listens at this address.
fn holder(address: &SocketAddr) -> Option<u32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    let credentials = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
}

fn describe(pid: u32) -> String {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = command.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    // Enough to know it by; an argument may hold anything.
    let line: Vec<_> = words.filter(|word| !word.is_empty()).take(4).collect();
    let line: String = line.join(" ").chars().filter(|c| !c.is_control()).take(80).collect();
    if line.is_empty() { format!("process {pid}") } else { format!("process {pid} ({line})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_taken_once_and_its_holder_is_named() {
        // No interface has such a number; nobody else asks for it.
        let index = u32::MAX - std::process::id();
        let claim = Claim::take("eth1", index).unwrap();
        let taken = Claim::take("eth1", index).unwrap_err().to_string();
        let who = format!("cannot take the interface eth1: process {} (", std::process::id());
        assert!(taken.starts_with(&who) && taken.contains("has it; take another"), "{taken}");
        drop(Claim::take("eth2", index - 1).unwrap());
        drop(claim);
        Claim::take("eth1", index).unwrap();
    }
}
