//! From an interface's name to sockets on all its queues, and the program that feeds them.
//!
//! ```text
//!  interface ─► sockets on its queues ─► fill rings filled ─► map of sockets ─► program ─► link
//!                zero-copy │ copy                                        native │ generic
//! ```
//!
//! The link comes last: when the first frame arrives everything is in place. What cannot be had is
//! said with its remedy.

use super::facts::{Facts, Options};
use super::link::Watch;
use super::queue::Queue;
use super::socket::Manner;
use super::umem::{Bound, Failure, Step};
use super::{Attached, Unavailable};
use crate::linux::Kernels;
use crate::linux::ahead::Ahead;
use crate::linux::bpf::{self, Mode};
use crate::linux::interface::Interface;
use crate::{Slab, Slots};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Mutex;
use std::time::Duration;

/// How long a queue or a program that is in use may take to become free: the kernel tidies up some
/// time after a process has gone, half a second at times.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSES: usize = 100;

pub(super) fn open(
    name: &str,
    slab: &Slab,
    options: &Options,
) -> Result<(Vec<Queue>, Attached), Unavailable> {
    let interface = Interface::of(name)?;
    check_length(&interface, slab)?;
    let entries = options.ring.clamp(32, 1 << 15).next_power_of_two();
    let mut tried = vec![];
    let (chunk, aligned) = slab.slots().chunk();
    let multi_buffer = slab.slots().stride() > chunk;
    let manners: &[bool] = match options.zero_copy {
        Some(true) => &[true],
        Some(false) => &[false],
        None => &[true, false],
    };
    let mut bounds = None;
    for &zero_copy in manners {
        let manner = Manner { zero_copy, multi_buffer };
        match bind_all(slab, &interface, manner, entries) {
            Ok(bound) => {
                bounds = Some(bound);
                break;
            }
            Err(failure) if zero_copy && options.zero_copy.is_none() && is_inability(&failure) => {
                tried.push(match interface.driver.as_str() {
                    "" => "its driver has no zero-copy, frames are copied".to_string(),
                    driver => format!("{driver} has no zero-copy, frames are copied"),
                });
            }
            Err(failure) => return Err(explain(failure, &interface, manner, slab)),
        }
    }
    let bounds = bounds.expect("the last manner binds or returns");
    let first = &bounds[0];
    let zero_copy = first.socket().is_zero_copy();
    let shares_umem = first.shares;
    let mut budget = 0;
    for bound in &bounds {
        budget = bound.socket().budget(options.budget.min(entries));
        // A packet under way costs the kernel some 800 bytes, and the frame.
        let each = 1024 + slab.slots().max_frame();
        bound.socket().send_buffer((entries as usize * each) as libc::c_int);
    }
    let fill = entries.min((slab.capacity() / 4) as u32);
    let mut pool = slab.pool();
    let mut queues: Vec<Queue> = bounds
        .into_iter()
        .zip(0..)
        .map(|(bound, queue)| Queue::new(queue, bound, slab, zero_copy, fill))
        .collect();
    queues.iter_mut().for_each(|queue| queue.fill(&mut pool));
    drop(pool);

    let sockets = bpf::Map::sockets(queues.len())?;
    for queue in &queues {
        sockets.set(queue.number, queue.bound().socket().as_raw_fd() as u32)?;
    }
    let kernels = if options.kernel { Some(Kernels::new()?) } else { None };
    let lost = bpf::SharedArray::new("no_socket", 1)?;
    let of_kernel = kernels.as_ref().map(Kernels::map);
    let program = bpf::redirect(&sockets, &lost, of_kernel, multi_buffer)?;
    let (link, mode) = attach(&program, &interface, options.mode, &mut tried)?;
    let link = Mutex::new(Some(link));
    // Where the driver runs the program, it counts what that, or the socket behind it, does not take.
    let counted_twice = if mode == Mode::Native { queues.len() } else { 0 };
    let ahead = Ahead::of(name, counted_twice)?;
    let watch = Watch::new(interface.index)
        .map_err(|error| Unavailable::because("open a socket to ask about interfaces", error))?;
    let facts = Facts {
        interface: interface.name,
        driver: interface.driver,
        mode,
        zero_copy,
        multi_buffer,
        chunk,
        aligned,
        shares_umem,
        rx_queues: interface.queues.rx,
        tx_queues: interface.queues.tx,
        ring: entries,
        fill,
        budget,
        kernel: options.kernel,
        tried,
    };
    Ok((queues, Attached { link, sockets, lost, ahead, watch, kernels, facts }))
}

fn check_length(interface: &Interface, slab: &Slab) -> Result<(), Unavailable> {
    let Interface { name, mtu, .. } = interface;
    let most = slab.slots().max_frame();
    let longest = *mtu as usize + 14;
    if longest <= most {
        return Ok(());
    }
    // With two tags; a slab that is made for what there is might hold it otherwise.
    let limit = Slots::LONGEST.max_frame() - 22;
    let (most, mtu) = match *mtu as usize > limit {
        true => (Slots::LONGEST.max_frame(), limit),
        false => (most, most - 14),
    };
    let error = io::Error::other(format!(
        "its MTU of {} makes frames of {longest} bytes, the longest here have {most}",
        interface.mtu
    ));
    Err(Unavailable::because(format!("use {name} by AF_XDP"), error)
        .remedy(format!("`ip link set {name} mtu {mtu}`, or less")))
}

/// A socket on every queue that receives, all in one manner.
fn bind_all(
    slab: &Slab,
    interface: &Interface,
    manner: Manner,
    entries: u32,
) -> Result<Vec<Bound>, Failure> {
    let mut pauses = 0..PAUSES; // for all queues together
    (0..interface.queues.rx)
        .map(|queue| {
            loop {
                match Bound::new(slab, interface.index, queue, manner, entries) {
                    Err(failure) if is(&failure.error, libc::EBUSY) && pauses.next().is_some() => {
                        std::thread::sleep(PAUSE);
                    }
                    result => return result,
                }
            }
        })
        .collect()
}

fn is(error: &io::Error, code: libc::c_int) -> bool {
    error.raw_os_error() == Some(code)
}

/// Whether a driver says by this that it has no zero-copy, or not with these chunks.
fn is_inability(failure: &Failure) -> bool {
    let codes = [libc::EOPNOTSUPP, libc::EINVAL, libc::ENOTSUP, libc::ENOSYS];
    failure.step == Step::Bind && codes.iter().any(|&code| is(&failure.error, code))
}

/// What went wrong with a socket, and what to do.
fn explain(failure: Failure, interface: &Interface, manner: Manner, slab: &Slab) -> Unavailable {
    let Failure { step, error } = failure;
    let name = &interface.name;
    let tried = match step {
        Step::Socket => "open an AF_XDP socket".to_string(),
        Step::Register => "give the frames' memory to AF_XDP".to_string(),
        Step::Rings => "make the rings of an AF_XDP socket".to_string(),
        Step::Bind => format!("bind an AF_XDP socket to {name}"),
    };
    let code = error.raw_os_error().unwrap_or(0);
    let remedy = match (step, code) {
        (Step::Socket, libc::EAFNOSUPPORT) => {
            format!("this kernel is built without CONFIG_XDP_SOCKETS: use packet:{name}")
        }
        (Step::Register, libc::ENOBUFS) => {
            let kib = slab.memory().1.div_ceil(1024);
            format!(
                "the memory lock limit is too small: `ulimit -l {kib}` or more (LimitMEMLOCK= in \
                 a unit), or the capability CAP_IPC_LOCK"
            )
        }
        (Step::Bind, libc::EBUSY) => {
            format!("another program has {name} in use by AF_XDP: stop it")
        }
        (Step::Bind, libc::EOPNOTSUPP) if manner.zero_copy => {
            format!("its driver ({}) has no zero-copy: leave out copy=no", interface.driver)
        }
        (Step::Bind, libc::EINVAL) if manner.multi_buffer => {
            "frames in several buffers take Linux 6.6: MTUs of up to 3690 bytes do without"
                .to_string()
        }
        (Step::Bind, libc::ENETDOWN) => format!("`ip link set {name} up`"),
        _ => return Unavailable::because(tried, error),
    };
    Unavailable::because(tried, error).remedy(remedy)
}

/// Attaches the program in the mode asked for, or the best there is.
fn attach(
    program: &bpf::Program,
    interface: &Interface,
    mode: Option<Mode>,
    tried: &mut Vec<String>,
) -> Result<(bpf::Link, Mode), Unavailable> {
    let modes: &[Mode] = match mode {
        Some(Mode::Native) => &[Mode::Native],
        Some(Mode::Generic) => &[Mode::Generic],
        None => &[Mode::Native, Mode::Generic],
    };
    let mut pauses = 0..PAUSES;
    let mut modes = modes.iter().copied().peekable();
    loop {
        let mode = *modes.peek().expect("the last mode attaches or returns");
        let unavailable = match program.attach(interface.index, mode) {
            Ok(link) => return Ok((link, mode)),
            Err(unavailable) => unavailable,
        };
        match unavailable.error.raw_os_error() {
            Some(libc::EBUSY | libc::EEXIST) if pauses.next().is_some() => {
                std::thread::sleep(PAUSE)
            }
            Some(libc::EBUSY | libc::EEXIST | libc::EPERM | libc::ENODEV) => {
                return Err(unavailable);
            }
            _ => {
                modes.next();
                if modes.peek().is_none() {
                    return Err(unavailable);
                }
                let Unavailable { error, remedy, .. } = unavailable;
                // The others' remedy is what happens now.
                let remedy = remedy.filter(|_| is(&error, libc::ENOSPC));
                let remedy = remedy.map_or(String::new(), |remedy| format!("; {remedy}"));
                tried.push(format!(
                    "the driver takes no XDP program ({error}{remedy}): the generic way is slower, \
                     packet: may be as fast"
                ));
            }
        }
    }
}
