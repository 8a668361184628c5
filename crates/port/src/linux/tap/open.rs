//! From a name to the queues of a TAP interface: one that is there, or a new one that ends with us.

use super::{Facts, Options};
use crate::linux::interface::Interface;
use crate::linux::{Unavailable, vnet};
use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use wire::MacAddr;

// linux/if_tun.h
const SET_IFF: libc::c_ulong = 0x4004_54ca;
const SET_OFFLOAD: libc::c_ulong = 0x4004_54d0;
const SET_HEADER_SIZE: libc::c_ulong = 0x4004_54d8;
const SET_CARRIER: libc::c_ulong = 0x4004_54e2;
const TAP: i16 = 0x0002;
const NO_PI: i16 = 0x1000;
const VNET_HEADER: i16 = 0x4000;
const MULTI_QUEUE: i16 = 0x0100;
const CHECKSUM: c_int = 0x01;
const TSO: c_int = 0x02 | 0x04 | 0x08; // IPv4, IPv6, with ECN
const USO: c_int = 0x20 | 0x40; // IPv4, IPv6

/// The most queues the kernel's driver has.
const MAX_QUEUES: u32 = 256;

/// The queues' files, and what the interface is.
pub(super) fn open(name: &str, options: &Options) -> Result<(Vec<File>, Facts), Unavailable> {
    let tried = || format!("open the TAP interface {name}");
    let because = |error| Unavailable::because(tried(), error);
    let fits = (1..libc::IFNAMSIZ).contains(&name.len()) && !name.contains(['/', '\0']);
    if !fits || !(1..=MAX_QUEUES).contains(&options.queues) {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "no such name or number of queues");
        return Err(because(error).remedy("1 to 15 letters, 1 to 256 queues"));
    }
    let existed = Interface::of(name).is_ok();
    let (first, name, multi_queue) = match attach(name, options.queues > 1) {
        Ok((file, name)) => (file, name, options.queues > 1),
        // One that was made for several queues can be had with one of them.
        Err(error) if existed && options.queues == 1 && is(&error, libc::EINVAL) => {
            let (file, name) = attach(name, true).map_err(|_| refused(because(error), 1))?;
            (file, name, true)
        }
        Err(error) => return Err(refused(because(error), options.queues)),
    };
    let mut files = vec![first];
    for _ in 1..options.queues {
        let more = attach(&name, multi_queue).map_err(|error| refused(because(error), 2))?;
        files.push(more.0);
    }
    let set = |request, value| ioctl_value(files[0].as_raw_fd(), request, value).map_err(because);
    for file in &files {
        let size = vnet::LEN as c_int;
        set_header_size(file.as_raw_fd(), size).map_err(because)?;
    }
    // USO came with Linux 6.2.
    let (checksum, udp) = match options.offload {
        false => set(SET_OFFLOAD, 0).map(|()| (false, false))?,
        true => match set(SET_OFFLOAD, CHECKSUM | TSO | USO) {
            Ok(()) => (true, true),
            Err(_) => set(SET_OFFLOAD, CHECKSUM | TSO).map(|()| (true, false))?,
        },
    };
    if !existed || options.mac.is_some() || options.mtu.is_some() {
        configure(&name, options, !existed).map_err(because)?;
    }
    let interface = Interface::of(&name)?;
    let facts = Facts {
        mac: interface.mac.unwrap_or_default(),
        mtu: interface.mtu,
        name,
        index: interface.index,
        queues: files.len() as u32,
        offload: checksum,
        udp_offload: udp,
        made: !existed,
    };
    Ok((files, facts))
}

/// Makes the wire carry, or not, as the kernel sees it.
pub(super) fn set_carrier(fd: RawFd, on: bool) -> io::Result<()> {
    let on = c_int::from(on);
    // SAFETY: the descriptor is open, and the request reads one integer, which lives until the call
    // ends.
    match unsafe { libc::ioctl(fd, SET_CARRIER as _, &raw const on) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A file that is a queue of the interface, and the interface's name.
fn attach(name: &str, multi_queue: bool) -> io::Result<(File, String)> {
    let mut open = OpenOptions::new();
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = open.read(true).write(true).custom_flags(flags).open("/dev/net/tun")?;
    let mut request = named(name);
    let more = if multi_queue { MULTI_QUEUE } else { 0 };
    request.ifr_ifru.ifru_flags = TAP | NO_PI | VNET_HEADER | more;
    ioctl(file.as_raw_fd(), SET_IFF, &mut request)?;
    let name = request.ifr_name.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    let name = String::from_utf8(name).map_err(|_| io::Error::other("a name that is no text"))?;
    Ok((file, name))
}

/// What a new interface needs to be of use, and what was asked for of one that was there.
fn configure(name: &str, options: &Options, made: bool) -> io::Result<()> {
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    if let Some(MacAddr(mac)) = options.mac {
        let mut request = named(name);
        let data = std::array::from_fn(|at| mac.get(at).map_or(0, |&byte| byte as libc::c_char));
        let sa_family = libc::ARPHRD_ETHER;
        request.ifr_ifru.ifru_hwaddr = libc::sockaddr { sa_family, sa_data: data };
        ioctl(socket.as_raw_fd(), libc::SIOCSIFHWADDR, &mut request)?;
    }
    if let Some(mtu) = options.mtu {
        let mut request = named(name);
        request.ifr_ifru.ifru_mtu = mtu.into();
        ioctl(socket.as_raw_fd(), libc::SIOCSIFMTU, &mut request)?;
    }
    if made && options.up {
        let mut request = named(name);
        ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: SIOCGIFFLAGS has filled in the flags.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as i16;
        ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &mut request)?;
    }
    Ok(())
}

fn refused(unavailable: Unavailable, queues: u32) -> Unavailable {
    let remedy = match unavailable.error.raw_os_error() {
        Some(libc::EBUSY) => "another program has it: end that one",
        Some(libc::EINVAL) if queues > 1 => {
            "it is no TAP interface, or was made without `multi_queue`: delete it, or ask for one queue"
        }
        Some(libc::EINVAL) => "it is no TAP interface: take another name",
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => "load the module: `modprobe tun`",
        _ => return unavailable,
    };
    unavailable.remedy(remedy)
}

fn is(error: &io::Error, errno: c_int) -> bool {
    error.raw_os_error() == Some(errno)
}

fn named(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain memory, for which all zeros are legal.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (byte, of) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *byte = of as libc::c_char;
    }
    request
}

fn ioctl(fd: RawFd, request: libc::c_ulong, ifreq: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the requests given here read and write one `ifreq`, which
    // lives until the call ends.
    match unsafe { libc::ioctl(fd, request as _, ifreq as *mut libc::ifreq) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn ioctl_value(fd: RawFd, request: libc::c_ulong, value: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open, and TUNSETOFFLOAD takes its argument itself, not a pointer.
    match unsafe { libc::ioctl(fd, request as _, libc::c_ulong::from(value as u32)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_header_size(fd: RawFd, size: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the request reads one integer, which lives until the call
    // ends.
    match unsafe { libc::ioctl(fd, SET_HEADER_SIZE as _, &raw const size) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
