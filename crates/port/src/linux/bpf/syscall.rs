//! bpf(2): one system call with a command, and a structure for each command.
//!
//! ```text
//! bpf(command, &structure) ─► descriptor or 0, or what is lacking (Unavailable)
//! ```
//!
//! The structures are the leading fields of `union bpf_attr` in `linux/bpf.h`; what is not given is
//! zero to the kernel. Never keeps a pointer after the call.

use crate::linux::Unavailable;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

pub(super) const MAP_CREATE: libc::c_int = 0;
pub(super) const MAP_LOOKUP_ELEM: libc::c_int = 1;
pub(super) const MAP_UPDATE_ELEM: libc::c_int = 2;
pub(super) const MAP_DELETE_ELEM: libc::c_int = 3;
pub(super) const PROG_LOAD: libc::c_int = 5;
pub(super) const PROG_TEST_RUN: libc::c_int = 10;
pub(super) const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
pub(super) const LINK_CREATE: libc::c_int = 28;

/// Calls bpf(2) and returns what it returned.
///
/// # Safety
/// `attr` is the structure of `command`, without padding that is not zero, and its pointers are
/// good for what the kernel reads and writes there.
pub(super) unsafe fn call<T>(command: libc::c_int, attr: &mut T) -> io::Result<i32> {
    // SAFETY: `attr` is ours and as long as said; the rest is the caller's promise.
    match unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attr, size_of::<T>()) } {
        result if result >= 0 => Ok(result as i32),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The same for commands that make a descriptor.
///
/// # Safety
/// As of [`call`].
pub(super) unsafe fn open<T>(command: libc::c_int, attr: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise.
    let fd = unsafe { call(command, attr) }?;
    // SAFETY: these commands return a new descriptor, which is ours alone and closed on exec.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What was lacking, with the remedy for BPF's own refusals.
pub(super) fn unavailable(tried: impl Into<String>, error: io::Error) -> Unavailable {
    let remedy = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            let switch = std::fs::read_to_string("/proc/sys/kernel/unprivileged_bpf_disabled");
            let value = switch.as_deref().map_or("unknown", str::trim);
            format!(
                "run as root, or with CAP_BPF and CAP_NET_ADMIN \
                 (kernel.unprivileged_bpf_disabled is {value}); before Linux 5.11 the memory lock \
                 limit (`ulimit -l`) must be raised too"
            )
        }
        Some(libc::ENOSYS) => "the kernel was built without CONFIG_BPF_SYSCALL".to_string(),
        Some(libc::ENOMEM) => "there is no memory left for it (see `ulimit -l` and the memory \
                               limit of the control group)"
            .to_string(),
        _ => return Unavailable::because(tried, error),
    };
    Unavailable::because(tried, error).remedy(remedy)
}

/// A name as the kernel shows it (`bpftool`): at most 15 letters, digits, `_` and `.`.
pub(super) fn name(text: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    let legal = |byte: u8| if byte.is_ascii_alphanumeric() { byte } else { b'_' };
    bytes.iter_mut().take(15).zip(text.bytes()).for_each(|(to, from)| *to = legal(from));
    bytes
}
