//! Netlink socket options that no safe crate offers: reasons and filters.
//!
//! ```text
//!  EINVAL  ─ NETLINK_EXT_ACK ─►       EINVAL, "Device does not allow enslaving to a bridge"
//!  a dump  ─ NETLINK_GET_STRICT_CHK ► only of the table or interface that was asked for
//! ```
//!
//! Never speaks netlink itself.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Asks the kernel to say on this socket why a request is refused, and to heed the filters of
/// dumps. A kernel too old for either does without: nothing fails.
pub fn explain(socket: BorrowedFd<'_>) {
    let on: libc::c_int = 1;
    for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK, libc::NETLINK_GET_STRICT_CHK] {
        // SAFETY: the descriptor is open, and `on` is as long as said while the call lasts.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_NETLINK,
                option,
                (&raw const on).cast(),
                size_of_val(&on) as libc::socklen_t,
            );
        }
    }
}
