//! BPF programs, assembled in the code and loaded with bpf(2) alone: no compiler, no library.
//!
//! ```text
//!  Assembler ─► Program ── attach ─► Link on an interface      (redirect: frames to AF_XDP sockets)
//!                 │  ▲
//!                 │  └── Map: what program and process both see
//!                 └───── run_live: the kernel runs it over frames it makes itself
//! ```
//!
//! Everything is held by a descriptor: when the process is gone, however it went, so are program,
//! map and link. Never pinned in a file system, never attached with netlink, which would outlive us.
//!
//! Missing: **per-CPU maps**, **BTF**, **programs other than XDP, ingress (TCX) and raw tracepoints**.

// Instructions, labels, and the bytes they become.
pub mod assembler;
// What program and process both see.
pub mod map;
// A loaded program, and where it is attached.
pub mod program;
// The program that hands frames to AF_XDP sockets.
pub mod redirect;
// Of a packet port: what the kernel's stack is to have.
pub mod end;
// Frames made in the kernel, by a plan and at a rate.
pub mod generator;
// Test frames known, counted and dropped where they are received.
pub mod counter;
// The system call.
mod syscall;

pub use assembler::Assembler;
pub use counter::Counter;
pub use end::{Past, end};
pub use generator::Generator;
pub use map::{Map, SharedArray};
pub use program::{Link, Mode, Program};
pub use redirect::redirect;

use super::Unavailable;
use std::ffi::CString;
use std::io;

/// What an XDP program's return value makes of the frame (`enum xdp_action`).
pub mod action {
    /// Freed, with a warning in the trace.
    pub const ABORTED: i32 = 0;
    /// Freed.
    pub const DROP: i32 = 1;
    /// On to the kernel's network stack.
    pub const PASS: i32 = 2;
    /// Back out of the interface it came from.
    pub const TX: i32 = 3;
    /// Where a redirect helper said.
    pub const REDIRECT: i32 = 4;
}

/// What an ingress program's return value makes of the packet (`enum tcx_action_base`).
pub mod ingress {
    /// On to the kernel's network stack.
    pub const PASS: i32 = 0;
    /// Freed.
    pub const DROP: i32 = 2;
}

/// Functions of the kernel's a program may call (`bpf_helpers(7)`), by number.
pub mod helper {
    /// `bpf_map_lookup_elem`: the value of a key, or null.
    pub const MAP_LOOKUP_ELEM: i32 = 1;
    /// `bpf_ktime_get_ns`: `CLOCK_MONOTONIC`, in nanoseconds.
    pub const KTIME_GET_NS: i32 = 5;
    /// `bpf_get_smp_processor_id`: the processor it runs on.
    pub const GET_SMP_PROCESSOR_ID: i32 = 8;
    /// `bpf_skb_pull_data`: has the first bytes of a packet where a program can read them.
    pub const SKB_PULL_DATA: i32 = 39;
    /// `bpf_redirect_map`: to the socket or device of this key.
    pub const REDIRECT_MAP: i32 = 51;
    /// `bpf_xdp_adjust_tail`: makes the frame longer or shorter at its end.
    pub const XDP_ADJUST_TAIL: i32 = 65;
    /// `bpf_send_signal_thread`: to the thread it runs in.
    pub const SEND_SIGNAL_THREAD: i32 = 117;
    /// `bpf_xdp_store_bytes`: copies bytes into the frame.
    pub const XDP_STORE_BYTES: i32 = 190;
}

/// The index of an interface in the calling thread's namespace.
///
/// # Errors
/// [`Unavailable`]: there is no such interface.
pub fn interface_index(interface: &str) -> Result<u32, Unavailable> {
    let tried = || format!("find the interface {interface}");
    let name = CString::new(interface)
        .map_err(|_| Unavailable::because(tried(), io::ErrorKind::InvalidInput.into()))?;
    // SAFETY: `name` ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(Unavailable::last(tried()).remedy("`ip link` shows those there are")),
        index => Ok(index),
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds: the clock that programs in the kernel read.
pub fn clock_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is ours; the clock is there on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
