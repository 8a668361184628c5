//! Capture of an interface's frames, and sending out of it, by a packet socket.

use port::linux::bpf::clock_ns;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

pub(crate) struct Capture(OwnedFd);

impl Capture {
    /// Begins to capture in the calling thread's namespace.
    pub(crate) fn open(interface: &str) -> Capture {
        let all = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(all)) };
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        // SAFETY: new, and ours.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let index = port::linux::bpf::interface_index(interface).unwrap();
        // SAFETY: zeroes are a valid value of this plain structure.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_protocol = all;
        to.sll_ifindex = index as i32;
        let room = 64 << 20;
        // SAFETY: all pointers are to variables of the sizes given.
        let results = unsafe {
            [
                libc::bind(fd, (&raw const to).cast(), size_of_val(&to) as u32),
                libc::setsockopt(
                    fd,
                    libc::SOL_SOCKET,
                    libc::SO_RCVBUFFORCE,
                    (&raw const room).cast(),
                    4,
                ),
            ]
        };
        assert_eq!(results, [0, 0], "{}", std::io::Error::last_os_error());
        Capture(socket)
    }

    /// The next so many frames, waiting ten seconds for them at most.
    pub(crate) fn frames(&self, n: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let end = clock_ns() + 10_000_000_000;
        while frames.len() < n {
            let mut frame = vec![0u8; 4096];
            let (fd, flags) = (self.0.as_raw_fd(), libc::MSG_DONTWAIT);
            // SAFETY: the buffer is as long as said.
            let len = unsafe { libc::recv(fd, frame.as_mut_ptr().cast(), frame.len(), flags) };
            if len >= 0 {
                frame.truncate(len as usize);
                frames.push(frame);
                continue;
            }
            assert!(clock_ns() < end, "{} of {n} frames", frames.len());
            std::thread::sleep(Duration::from_millis(1));
        }
        frames
    }

    /// Sends a frame.
    pub(crate) fn send(&self, frame: &[u8]) {
        // SAFETY: the frame is as long as said, and only read.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(sent, frame.len() as isize, "{}", std::io::Error::last_os_error());
    }

    /// Whether nothing more has come.
    pub(crate) fn is_empty(&self) -> bool {
        let (mut byte, flags) = (0u8, libc::MSG_DONTWAIT);
        // SAFETY: a byte is ours.
        unsafe { libc::recv(self.0.as_raw_fd(), (&raw mut byte).cast(), 1, flags) < 0 }
    }
}
