//! Programs: loaded, attached, or run over frames the kernel makes itself.
//!
//! ```text
//!  instructions ── load ─► Program ── attach ────► Link: runs for every frame of an interface
//!                 (verified)  │ ──── trace ─────► Link: runs at a point in the kernel
//!                             └───── run_live ──► one frame after the other, made for it
//! ```
//!
//! A link goes with its descriptor. What the verifier says against a program is a bug of ours, and
//! in the error in full.

use super::assembler::Instruction;
use super::syscall::{self, unavailable};
use crate::linux::Unavailable;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// What a program is for (`enum bpf_prog_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Frames as they are received.
    Xdp = 6,
    /// Packets of the kernel's, as they come to its stack (`BPF_PROG_TYPE_SCHED_CLS`).
    Ingress = 3,
    /// Points in the kernel.
    RawTracepoint = 17,
}

/// Where frames meet an XDP program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel has made a packet of its own of them (`XDP_FLAGS_DRV_MODE`).
    Native,
    /// In the network stack: every driver, and slower (`XDP_FLAGS_SKB_MODE`).
    Generic,
}

/// A program in the kernel.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
    name: String,
}

/// A program at its place, for as long as this lives.
#[derive(Debug)]
pub struct Link {
    _fd: OwnedFd,
}

/// `BPF_F_XDP_HAS_FRAGS`: the program takes frames in several buffers.
const HAS_FRAGS: u32 = 1 << 5;
/// `BPF_XDP`, the attach type.
const ATTACH_XDP: u32 = 37;
/// `BPF_TCX_INGRESS`, the attach type.
const ATTACH_INGRESS: u32 = 46;
/// `BPF_F_TEST_XDP_LIVE_FRAMES`.
const LIVE_FRAMES: u32 = 1 << 1;

#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

#[repr(C)]
struct RawTracepoint {
    name: u64,
    program: u32,
    padding: u32,
}

#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    result: u32,
    bytes_in: u32,
    bytes_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_in_bytes: u32,
    context_out_bytes: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch: u32,
    padding: u32,
}

/// What an older kernel does not know, it calls invalid.
fn before_tcx(unavailable: Unavailable) -> Unavailable {
    match unavailable.error.raw_os_error() {
        Some(libc::EINVAL) => unavailable.remedy("it takes Linux 6.6 (TCX)"),
        _ => unavailable,
    }
}

impl Program {
    /// Loads an XDP program. With `frags` it also takes frames in several buffers, and may be
    /// attached where the MTU is larger than one holds.
    ///
    /// # Errors
    /// [`Unavailable`]: no rights, or the verifier's log.
    pub fn xdp(name: &str, code: &[Instruction], frags: bool) -> Result<Program, Unavailable> {
        Program::load(Kind::Xdp, name, code, if frags { HAS_FRAGS } else { 0 })
    }

    /// Loads a program for [`attach_ingress`](Self::attach_ingress).
    ///
    /// # Errors
    /// As of [`xdp`](Self::xdp).
    pub fn ingress(name: &str, code: &[Instruction]) -> Result<Program, Unavailable> {
        Program::load(Kind::Ingress, name, code, 0).map_err(before_tcx)
    }

    /// Loads a program for [`trace`](Self::trace).
    ///
    /// # Errors
    /// As of [`xdp`](Self::xdp).
    pub fn tracepoint(name: &str, code: &[Instruction]) -> Result<Program, Unavailable> {
        Program::load(Kind::RawTracepoint, name, code, 0)
    }

    fn load(
        kind: Kind,
        name: &str,
        code: &[Instruction],
        flags: u32,
    ) -> Result<Program, Unavailable> {
        let mut attr = Load {
            kind: kind as u32,
            instructions: code.len() as u32,
            code: code.as_ptr() as u64,
            // The helpers used here are open to programs of any licence.
            license: c"Apache-2.0".as_ptr() as u64,
            flags,
            name: syscall::name(name),
            attach_type: match kind {
                Kind::Xdp => ATTACH_XDP,
                Kind::Ingress => ATTACH_INGRESS,
                Kind::RawTracepoint => 0,
            },
            ..Load::default()
        };
        let tried = || format!("load the BPF program {name}");
        // SAFETY: code and licence are read within the lengths given; there is no log to write.
        let error = match unsafe { syscall::open(syscall::PROG_LOAD, &mut attr) } {
            Ok(fd) => return Ok(Program { fd, name: name.to_string() }),
            Err(error) => error,
        };
        if !matches!(error.raw_os_error(), Some(libc::EACCES | libc::EINVAL | libc::E2BIG)) {
            return Err(unavailable(tried(), error));
        }
        // Once more, for the verifier's reasons.
        let mut log = vec![0u8; 1 << 20];
        (attr.log_level, attr.log_bytes, attr.log) = (1, log.len() as u32, log.as_mut_ptr() as u64);
        // SAFETY: as above, and the log has the room given.
        match unsafe { syscall::open(syscall::PROG_LOAD, &mut attr) } {
            Ok(fd) => Ok(Program { fd, name: name.to_string() }),
            Err(error) => {
                let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
                let log = String::from_utf8_lossy(&log[..end]);
                let tail: Vec<&str> = log.trim_end().lines().rev().take(12).collect();
                let tail: Vec<&str> = tail.into_iter().rev().collect();
                let said = io::Error::other(format!("{error}: {}", tail.join("\n")));
                match tail.is_empty() {
                    true => Err(unavailable(tried(), error)),
                    false => Err(Unavailable::because(tried(), said)),
                }
            }
        }
    }

    /// Attaches an XDP program to the interface of this index, in the calling thread's namespace.
    ///
    /// # Errors
    /// [`Unavailable`]: no such interface, another program is there, the driver cannot.
    pub fn attach(&self, interface: u32, mode: Mode) -> Result<Link, Unavailable> {
        let flags = match mode {
            Mode::Native => 4,
            Mode::Generic => 2,
        };
        let program = self.fd.as_raw_fd() as u32;
        let mut attr = LinkCreate { program, interface, attach_type: ATTACH_XDP, flags };
        // SAFETY: the structure is this command's, and holds no pointers.
        let fd = unsafe { syscall::open(syscall::LINK_CREATE, &mut attr) };
        let fd = fd.map_err(|error| {
            let remedy = match error.raw_os_error() {
                Some(libc::EBUSY | libc::EEXIST) => {
                    "another XDP program is attached: `ip link` shows its id, \
                     `ip link set dev INTERFACE xdp off` takes one of netlink's away"
                }
                Some(libc::EOPNOTSUPP) => {
                    "the driver, or its settings (MTU, offloads), do not allow native XDP: use generic"
                }
                Some(libc::ERANGE) => {
                    "the MTU is larger than one buffer: lower it, or use a program with \
                     BPF_F_XDP_HAS_FRAGS"
                }
                // `veth_xdp_set`, for one: a queue to receive by for each that the other end sends by.
                Some(libc::ENOSPC) => {
                    "it has too few queues: a veth may not receive by fewer than its other end sends \
                     by (there: `ethtool -L PEER tx N`)"
                }
                Some(libc::ENODEV) => "there is no such interface in this network namespace",
                _ => "",
            };
            let tried = format!("attach the BPF program {} ({mode:?} XDP)", self.name);
            let unavailable = unavailable(tried, error);
            if remedy.is_empty() { unavailable } else { unavailable.remedy(remedy) }
        })?;
        Ok(Link { _fd: fd })
    }

    /// Has an ingress program run for all that comes to the interface of this index, in the calling
    /// thread's namespace: behind packet sockets, before the kernel's own stack.
    ///
    /// # Errors
    /// [`Unavailable`]: no such interface, no rights, a kernel before 6.6.
    pub fn attach_ingress(&self, interface: u32) -> Result<Link, Unavailable> {
        let program = self.fd.as_raw_fd() as u32;
        let mut attr = LinkCreate { program, interface, attach_type: ATTACH_INGRESS, flags: 0 };
        // SAFETY: the structure is this command's, and holds no pointers.
        let fd = unsafe { syscall::open(syscall::LINK_CREATE, &mut attr) };
        let tried = || format!("attach the BPF program {} (ingress)", self.name);
        Ok(Link { _fd: fd.map_err(|error| before_tcx(unavailable(tried(), error)))? })
    }

    /// Has a tracepoint program run wherever the kernel passes this tracepoint.
    ///
    /// # Errors
    /// [`Unavailable`]: no such tracepoint, no rights.
    pub fn trace(&self, tracepoint: &str) -> Result<Link, Unavailable> {
        let name = CString::new(tracepoint).expect("tracepoints have no zero in their names");
        let program = self.fd.as_raw_fd() as u32;
        let mut attr = RawTracepoint { name: name.as_ptr() as u64, program, padding: 0 };
        // SAFETY: the structure is this command's, and the name ends with a zero.
        let fd = unsafe { syscall::open(syscall::RAW_TRACEPOINT_OPEN, &mut attr) };
        let tried = || format!("watch the kernel's tracepoint {tracepoint}");
        Ok(Link { _fd: fd.map_err(|error| unavailable(tried(), error))? })
    }

    /// Runs an XDP program over one frame, and returns its action and the frame as it left it.
    ///
    /// # Errors
    /// [`Unavailable`]: no rights, or the frame is too short or too long (14 bytes, a page).
    pub fn run_once(&self, frame: &[u8]) -> Result<(u32, Vec<u8>), Unavailable> {
        let mut out = vec![0; frame.len() + 256];
        let mut attr = TestRun {
            program: self.fd.as_raw_fd() as u32,
            bytes_in: frame.len() as u32,
            bytes_out: out.len() as u32,
            data_in: frame.as_ptr() as u64,
            data_out: out.as_mut_ptr() as u64,
            repeat: 1,
            ..TestRun::default()
        };
        // SAFETY: both pointers are good for the lengths given.
        unsafe { syscall::call(syscall::PROG_TEST_RUN, &mut attr) }
            .map_err(|error| unavailable(format!("run the BPF program {}", self.name), error))?;
        out.truncate(attr.bytes_out as usize);
        Ok((attr.result, out))
    }

    /// Runs an XDP program `repeat` times, each time over a frame from a pool of copies of `frame`
    /// that really goes where the program's action sends it. (A frame that came back to the pool
    /// is as it was left: the program writes all that anybody may have changed.) Up to `batch`
    /// frames, at most 256, are made before those for the stack are handed over.
    ///
    /// A signal ends it early, which is no error.
    ///
    /// # Errors
    /// [`Unavailable`]: no rights, frame too long, a kernel before 5.18.
    pub fn run_live(&self, frame: &[u8], repeat: u32, batch: u32) -> Result<(), Unavailable> {
        let mut attr = TestRun {
            program: self.fd.as_raw_fd() as u32,
            bytes_in: frame.len() as u32,
            data_in: frame.as_ptr() as u64,
            repeat,
            flags: LIVE_FRAMES,
            batch,
            ..TestRun::default()
        };
        // SAFETY: the frame is only read.
        match unsafe { syscall::call(syscall::PROG_TEST_RUN, &mut attr) } {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => Ok(()),
            Err(error) => {
                let is_refused = error.raw_os_error() == Some(libc::EINVAL);
                let tried = format!("run the BPF program {} over live frames", self.name);
                let unavailable = unavailable(tried, error);
                Err(if is_refused {
                    unavailable.remedy("it takes Linux 5.18, and frames within one page")
                } else {
                    unavailable
                })
            }
        }
    }
}
