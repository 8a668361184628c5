//! Limits of this process: address space and descriptors, looked at before they run out.
//!
//! ```text
//!  ulimit -v  ─► the tables, threads and buffers of a router, and its frames ─► enough?
//!  ulimit -n  ─► its own descriptors, and each port's                        ─►
//! ```
//!
//! Memory that is refused in the middle of something ends a program without a word that helps, so less
//! than this is refused here. Memory that the machine itself has not is another matter: nobody can tell
//! before.

use super::open::Look;
use super::spec::{Backend, PortSpec};
use port::linux::Unavailable;
use rustix::process::{Resource, getrlimit};
use std::io;

/// What a router takes of address space beside its frames: the tables of the FIB and of connections,
/// what allocators of threads keep free, buffers of sockets. With two ports 567 MiB were enough and 520
/// were not.
const ROOM: u64 = 600 << 20;

/// Descriptors of a router's own: threads' wakers, sockets of netlink, its console and its API.
const OWN: u64 = 20;

/// Whether there is address space for a router whose frames take so many bytes.
///
/// # Errors
/// [`Unavailable`]: how much there may be, and what to type.
pub(super) fn room(frames: u64) -> Result<(), Unavailable> {
    enough(Resource::As, ROOM + frames, "have the router's memory", |may, takes| {
        let may = format!("its address space may be {} MiB (`ulimit -v`)", may >> 20);
        (may, format!("`ulimit -v {}` or more, or unlimited (LimitAS= in a unit)", takes >> 10))
    })
}

/// Whether there are descriptors for a router with these ports and so many workers.
///
/// # Errors
/// [`Unavailable`]: how many there may be, and what to type.
pub(super) fn descriptors<'a>(
    ports: impl Iterator<Item = (&'a PortSpec, &'a Look)>,
    workers: usize,
) -> Result<(), Unavailable> {
    let of_port = |(spec, look): (&PortSpec, &Look)| match spec.backend {
        // Sockets, and the program, its maps and its link.
        Backend::Xdp => 8 + u64::from(look.queues),
        Backend::Packet => 5,
        Backend::Tap => 2 + u64::from(look.queues),
    };
    let takes = OWN + ports.map(of_port).sum::<u64>() + workers as u64;
    enough(Resource::Nofile, takes, "have the router's descriptors", |may, takes| {
        let may = format!("this process may have {may} (`ulimit -n`), and it takes {takes}");
        (may, "`ulimit -n 1024` or more (LimitNOFILE= in a unit)".to_string())
    })
}

fn enough(
    resource: Resource,
    takes: u64,
    tried: &str,
    say: impl FnOnce(u64, u64) -> (String, String),
) -> Result<(), Unavailable> {
    match getrlimit(resource).current {
        Some(may) if may < takes => {
            let (why, remedy) = say(may, takes);
            Err(Unavailable::because(tried, io::Error::other(why)).remedy(remedy))
        }
        _ => Ok(()),
    }
}
