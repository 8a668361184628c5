//! A netlink socket: requests with their answers, and dumps that are whole.
//!
//! ```text
//!  request ─► kernel ─► error 0 (done) │ error and why
//!  dump    ─► kernel ─► message … message │ interrupted ─► once more, from the beginning
//! ```
//!
//! A socket belongs to the network namespace of the thread that opened it, wherever it is used.

use super::message::{Message, Received, attribute, messages, text, u32_at};
use port::linux::{Namespace, Unavailable};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// A way to ask the kernel, in one network namespace.
pub struct Netlink {
    pub(super) socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

// Flags of a request, and kinds of answers.
const REQUEST: u16 = 1;
const ACK: u16 = 4;
/// `NLM_F_ROOT | NLM_F_MATCH`.
const DUMP: u16 = 0x300;
/// The thing must exist already.
pub(super) const REPLACE: u16 = 0x100;
/// It must not exist yet.
pub(super) const EXCLUSIVE: u16 = 0x200;
/// Make it.
pub(super) const CREATE: u16 = 0x400;
/// The table changed while it was read.
const INTERRUPTED: u16 = 0x10;
/// An error comes with attributes that explain it.
const EXPLAINED: u16 = 0x200;
/// The error does not repeat the request.
const CAPPED: u16 = 0x100;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLMSGERR_ATTR_MSG`.
const WORDS: u16 = 1;

/// The kernel fills no more than this at once.
pub(super) const BUFFER: usize = 64 << 10;
/// How often a dump is begun anew because the table changed meanwhile. After that what came is
/// taken: a table that changes all the time is never read whole.
const ATTEMPTS: u32 = 10;

impl Netlink {
    /// In the calling thread's namespace.
    ///
    /// # Errors
    /// [`Unavailable`]: no such sockets here.
    pub fn open() -> Result<Netlink, Unavailable> {
        let socket = subscribe(0).map_err(|e| unavailable("open a netlink socket", e))?;
        Ok(Netlink { socket, sequence: 0, buffer: vec![0; BUFFER] })
    }

    /// The same for the families of generic netlink.
    pub(super) fn open_generic() -> Result<Netlink, Unavailable> {
        let socket = bound(0, Some(net::netlink::GENERIC));
        let socket = socket.map_err(|e| unavailable("open a generic netlink socket", e))?;
        Ok(Netlink { socket, sequence: 0, buffer: vec![0; BUFFER] })
    }

    /// The same for netfilter.
    pub(super) fn open_netfilter() -> Result<Netlink, Unavailable> {
        let socket = bound(0, Some(net::netlink::NETFILTER));
        let socket = socket.map_err(|e| unavailable("open a netfilter netlink socket", e))?;
        Ok(Netlink { socket, sequence: 0, buffer: vec![0; BUFFER] })
    }

    /// In `namespace`.
    ///
    /// # Errors
    /// [`Unavailable`]: no such sockets here, or the namespace cannot be entered.
    pub fn open_in(namespace: &Namespace) -> Result<Netlink, Unavailable> {
        namespace
            .run(Netlink::open)
            .map_err(|error| Unavailable::because("enter a network namespace", error))?
    }

    /// Asks for something to be done, and waits until it is.
    pub(super) fn request(
        &mut self,
        tried: impl FnOnce() -> String,
        message: Message,
        flags: u16,
    ) -> Result<(), Unavailable> {
        self.exchange(message, ACK | flags, &mut |_| ()).map(drop).map_err(|e| e.named(tried()))
    }

    /// Asks for one thing.
    pub(super) fn get(
        &mut self,
        tried: impl FnOnce() -> String,
        message: Message,
        answer: &mut dyn FnMut(Received<'_>),
    ) -> Result<(), Unavailable> {
        self.exchange(message, ACK, answer).map(drop).map_err(|e| e.named(tried()))
    }

    /// Asks for all there are. `make` gives the request; what `each` collects it must forget when it
    /// is called with `None`: the dump begins.
    pub(super) fn dump(
        &mut self,
        tried: &str,
        make: impl Fn() -> Message,
        each: &mut dyn FnMut(Option<Received<'_>>),
    ) -> Result<(), Unavailable> {
        for attempt in 1.. {
            each(None);
            let whole = self.exchange(make(), DUMP, &mut |message| each(Some(message)));
            match whole {
                Ok(false) if attempt < ATTEMPTS => {}
                Ok(_) => break,
                Err(refusal) => return Err(refusal.named(tried)),
            }
        }
        Ok(())
    }

    /// One request and all that is answered; whether it was undisturbed.
    fn exchange(
        &mut self,
        message: Message,
        flags: u16,
        each: &mut dyn FnMut(Received<'_>),
    ) -> Result<bool, Refusal> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = message.finish(self.sequence);
        let flags = u16::from_ne_bytes([bytes[6], bytes[7]]) | flags | REQUEST;
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        net::send(&self.socket, &bytes, SendFlags::empty())?;
        let mut whole = true;
        loop {
            let received = match net::recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((received, _)) => received,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for message in messages(&self.buffer[..received]) {
                if message.sequence != self.sequence {
                    continue; // what is left of an answer that nobody waited for
                }
                whole &= message.flags & INTERRUPTED == 0;
                match message.kind {
                    DONE | ERROR => return Refusal::read(&message).map(|()| whole),
                    _ => each(message),
                }
            }
        }
    }
}

/// A socket that hears of these groups, a bit each (group 1 is bit 0).
pub(super) fn subscribe(groups: u32) -> Result<OwnedFd, Errno> {
    bound(groups, None)
}

fn bound(groups: u32, protocol: Option<net::Protocol>) -> Result<OwnedFd, Errno> {
    let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
    let socket = net::socket_with(family, SocketType::RAW, flags, protocol)?;
    port::linux::netlink::explain(socket.as_fd());
    net::bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

/// What the kernel would not do.
struct Refusal {
    error: Errno,
    /// In its own words, if it gave any.
    words: Option<String>,
}

impl Refusal {
    /// What an `NLMSG_ERROR` or `NLMSG_DONE` says.
    fn read(message: &Received<'_>) -> Result<(), Refusal> {
        let code = u32_at(message.body, 0).unwrap_or(0) as i32;
        if code == 0 {
            return Ok(());
        }
        // After an error's code stands the header of the request, or all of it.
        let request = u32_at(message.body, 4).unwrap_or(0) as usize;
        let after = match message.kind {
            DONE => 4,
            _ if message.flags & CAPPED != 0 => 4 + 16,
            _ => 4 + request.next_multiple_of(4),
        };
        let attributes = message.body.get(after..).filter(|_| message.flags & EXPLAINED != 0);
        let words = attributes.and_then(|bytes| attribute(bytes, WORDS)).map(text);
        Err(Refusal { error: Errno::from_raw_os_error(-code), words })
    }

    fn named(self, tried: impl Into<String>) -> Unavailable {
        let unavailable = unavailable(tried, self.error);
        match (self.words, unavailable.remedy.is_some()) {
            (Some(words), false) => unavailable.remedy(format!("the kernel says: {words}")),
            _ => unavailable,
        }
    }
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Refusal {
        Refusal { error, words: None }
    }
}

/// An error of a system call, with what was tried.
pub(super) fn unavailable(tried: impl Into<String>, error: Errno) -> Unavailable {
    Unavailable::because(tried, io::Error::from_raw_os_error(error.raw_os_error()))
}
