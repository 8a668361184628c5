//! Facts of an interface: its driver, queues, link, and the offloads that fake frames.
//!
//! ```text
//!  Interface::of("eth1") ─► index, MAC, MTU, up, carrier, driver, queues, rings, speed, offloads
//!  set_offloads("eth1", Offloads::NONE) ─► what it changed
//!  set_queues("eth1", 4, 2)
//! ```
//!
//! A checksum that the kernel leaves to the hardware is no checksum, and a super-frame of 64 KiB is
//! no frame: a port that takes frames from the kernel's own sockets wants these offloads off, at the
//! *other* end of a veth pair too. They are changed by whoever is asked to, never by opening a port;
//! by the kernel's own calls, so that the program `ethtool` need not be there.
//!
//! An interface is looked for in the calling thread's network namespace.
//!
//! Missing: **offloads by their new names** (one by one, as `ethtool -k` shows them).
//!
//! Source: `netdevice(7)`, `linux/ethtool.h`.

use super::Unavailable;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use wire::MacAddr;

/// What an interface is at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number in its namespace.
    pub index: u32,
    /// Its address; `None` if it is no Ethernet interface.
    pub mac: Option<MacAddr>,
    /// What it carries, without the Ethernet header.
    pub mtu: u32,
    /// Whether it was switched on.
    pub up: bool,
    /// Whether its wire carries.
    pub carrier: bool,
    /// `veth`, `virtio_net`, `i40e` …; empty if it does not say.
    pub driver: String,
    /// Where it is plugged in: `0000:03:00.0`; empty if nowhere.
    pub bus: String,
    /// The queues it receives and sends by.
    pub queues: Queues,
    /// The frames its hardware rings hold, received and sent; `None` if it has no such rings.
    pub rings: Option<(u32, u32)>,
    /// In Mbit/s; `None` if it does not know.
    pub speed_mbps: Option<u32>,
    /// What it leaves to others.
    pub offloads: Offloads,
}

/// How many queues an interface has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// Those it receives by.
    pub rx: u32,
    /// Those it sends by.
    pub tx: u32,
    /// As many as it could receive by.
    pub rx_max: u32,
    /// As many as it could send by.
    pub tx_max: u32,
    /// Whether each of them does both, and they are counted once.
    pub combined: bool,
}

impl Queues {
    /// Of an interface that has no choice.
    const ONE: Queues = Queues { rx: 1, tx: 1, rx_max: 1, tx_max: 1, combined: false };

    /// What `ethtool -L` is to be told behind the interface's name to have so many to receive by, and
    /// as many as that to send by if it can; `None` if it has not as many.
    pub fn words(&self, wanted: u32) -> Option<String> {
        let tx = wanted.min(self.tx_max);
        (1..=self.rx_max).contains(&wanted).then(|| match self.combined {
            true => format!("combined {wanted}"),
            false => format!("rx {wanted} tx {tx}"),
        })
    }
}

/// The offloads that fake frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Checksums of sent packets are left to the hardware.
    pub tx_checksum: bool,
    /// So is cutting large TCP segments.
    pub tso: bool,
    /// Large packets are cut as late as possible.
    pub gso: bool,
    /// Received packets are joined.
    pub gro: bool,
    /// The hardware joins them, for good.
    pub lro: bool,
}

impl Offloads {
    /// Frames are what they seem.
    pub const NONE: Offloads =
        Offloads { tx_checksum: false, tso: false, gso: false, gro: false, lro: false };

    /// Each with the name `ethtool -K` takes.
    pub fn each(self) -> [(&'static str, bool); 5] {
        let Offloads { tx_checksum, tso, gso, gro, lro } = self;
        [("tx", tx_checksum), ("tso", tso), ("gso", gso), ("gro", gro), ("lro", lro)]
    }

    /// The names of those that are on, as `ethtool -K` takes them.
    pub fn on(self) -> Vec<&'static str> {
        self.each().into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
    }
}

// linux/ethtool.h: commands, to get and to set.
const GET_SETTINGS: u32 = 0x01;
const GET_DRIVER: u32 = 0x03;
const GET_LINK: u32 = 0x0a;
const GET_RINGS: u32 = 0x10;
const CHANNELS: (u32, u32) = (0x3c, 0x3d);
const TX_CHECKSUM: (u32, u32) = (0x16, 0x17);
const TSO: (u32, u32) = (0x1e, 0x1f);
const GSO: (u32, u32) = (0x23, 0x24);
const GRO: (u32, u32) = (0x2b, 0x2c);
const FLAGS: (u32, u32) = (0x25, 0x26);
/// `ETH_FLAG_LRO`.
const LRO: u32 = 1 << 15;

impl Interface {
    /// The interface of this name.
    ///
    /// # Errors
    /// [`Unavailable`]: there is none, or its name is no name.
    pub fn of(name: &str) -> Result<Interface, Unavailable> {
        let handle = Handle::open(name)?;
        let tried = || format!("look at the interface {name}");
        let because = |error| Unavailable::because(tried(), error);
        let index = handle.index().map_err(|error| {
            let unavailable = because(error);
            unavailable.remedy("`ip link` in its network namespace shows those there are")
        })?;
        let (flags, mtu) = (handle.flags().map_err(because)?, handle.mtu().map_err(because)?);
        let mut driver = [0; 49];
        driver[0] = GET_DRIVER;
        let known = handle.ethtool(&mut driver).is_ok();
        let text = |at| if known { text(&driver, at) } else { String::new() };
        Ok(Interface {
            name: name.to_string(),
            index,
            mac: handle.mac().map_err(because)?,
            mtu,
            up: flags & libc::IFF_UP != 0,
            carrier: flags & libc::IFF_UP != 0 && handle.value(GET_LINK) == Some(1),
            driver: text(4),
            bus: text(4 + 3 * 32),
            queues: handle.queues(),
            rings: handle.rings(),
            speed_mbps: handle.speed(),
            offloads: handle.offloads(),
        })
    }
}

/// Makes an interface's offloads the `wanted` ones; tells what it changed, in `ethtool -K`'s words
/// (`tso off`).
///
/// # Errors
/// [`Unavailable`]: there is no such interface, rights are lacking, or an offload is fixed.
pub fn set_offloads(name: &str, wanted: Offloads) -> Result<Vec<String>, Unavailable> {
    let handle = Handle::open(name)?;
    handle.index().map_err(|error| Unavailable::because(format!("find {name}"), error))?;
    let before = handle.offloads();
    let commands = [TX_CHECKSUM, TSO, GSO, GRO, FLAGS];
    for (((offload, was), (_, on)), command) in
        before.each().into_iter().zip(wanted.each()).zip(commands)
    {
        if was == on {
            continue;
        }
        let value = match command {
            FLAGS => {
                let flags = handle.value(FLAGS.0).unwrap_or(0);
                if on { flags | LRO } else { flags & !LRO }
            }
            _ => u32::from(on),
        };
        // A veth pair's end loses its segmentation when XDP comes to the other end, and refuses to
        // have switched off what went meanwhile.
        let switched = handle.ethtool(&mut [command.1, value]);
        let stands = || handle.offloads().each().contains(&(offload, on));
        if let Err(error) = switched
            && !stands()
        {
            let switch = if on { "on" } else { "off" };
            return Err(Unavailable::because(
                format!("switch {offload} of {name} {switch}"),
                error,
            ));
        }
    }
    // One may have taken another along: without checksums there is no segmentation.
    let after = handle.offloads();
    let refused: Vec<_> =
        after.each().into_iter().zip(wanted.each()).filter(|(a, w)| a != w).collect();
    if let Some(((offload, on), _)) = refused.first() {
        let error = io::Error::other(if *on { "it stays on" } else { "it stays off" });
        return Err(Unavailable::because(format!("change {offload} of {name}"), error));
    }
    let changes =
        before.each().into_iter().zip(after.each()).filter(|(before, after)| before != after);
    let word = |(name, on): (&str, bool)| format!("{name} {}", if on { "on" } else { "off" });
    Ok(changes.map(|(_, after)| word(after)).collect())
}

/// Makes an interface receive by `rx` queues and send by `tx`, as `ethtool -L` does, where it counts
/// them apart.
///
/// # Errors
/// [`Unavailable`]: there is no such interface, rights are lacking, it counts queues that do both, it
/// has not as many, or somebody uses one that would go.
pub fn set_queues(name: &str, rx: u32, tx: u32) -> Result<(), Unavailable> {
    let handle = Handle::open(name)?;
    let because = |error| Unavailable::because(format!("give {name} {rx} and {tx} queues"), error);
    let mut words = handle.channel_words().map_err(because)?;
    words[0] = CHANNELS.1;
    (words[5], words[6]) = (rx, tx);
    handle.ethtool(&mut words).map_err(because)
}

/// The queues of the interface of this number in the namespace that a socket belongs to; `None` if
/// it is not there, or is being renamed.
pub(super) fn queues(socket: BorrowedFd<'_>, index: u32) -> Option<Queues> {
    let socket = socket.try_clone_to_owned().ok()?;
    // SAFETY: `ifreq` is plain memory, for which all zeros are legal.
    let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
    asked.ifr_ifru.ifru_ifindex = index as libc::c_int;
    // SAFETY: the request reads and writes one `ifreq`, which lives until the call ends.
    let found =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFNAME as _, &raw mut asked) } == 0;
    let queues = found.then(|| Handle { socket, name: asked.ifr_name }.channels())?;
    match queues {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => None,
        queues => Some(queues.unwrap_or(Queues::ONE)),
    }
}

/// A socket to ask about one interface by.
struct Handle {
    socket: OwnedFd,
    name: [libc::c_char; libc::IFNAMSIZ],
}

impl Handle {
    fn open(name: &str) -> Result<Handle, Unavailable> {
        let fits = (1..libc::IFNAMSIZ).contains(&name.len()) && !name.contains(['/', '\0']);
        if !fits {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "not a name of an interface");
            return Err(Unavailable::because(format!("look at the interface {name:?}"), error));
        }
        let mut bytes = [0; libc::IFNAMSIZ];
        for (byte, of) in bytes.iter_mut().zip(name.bytes()) {
            *byte = of as libc::c_char;
        }
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(Unavailable::last("open a socket to ask about interfaces"));
        }
        // SAFETY: it was just opened, and belongs to nobody else.
        Ok(Handle { socket: unsafe { OwnedFd::from_raw_fd(fd) }, name: bytes })
    }

    /// An `ifreq` of this name through `request`.
    fn ask(&self, request: libc::c_ulong) -> io::Result<libc::ifreq> {
        // SAFETY: `ifreq` is plain memory, for which all zeros are legal.
        let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
        asked.ifr_name = self.name;
        // SAFETY: the requests used here read and write one `ifreq`, which lives until the call ends.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), request as _, &raw mut asked) } {
            0 => Ok(asked),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn index(&self) -> io::Result<u32> {
        // SAFETY: SIOCGIFINDEX has filled in the index.
        self.ask(libc::SIOCGIFINDEX).map(|ifreq| unsafe { ifreq.ifr_ifru.ifru_ifindex } as u32)
    }

    fn mtu(&self) -> io::Result<u32> {
        // SAFETY: SIOCGIFMTU has filled in the MTU.
        self.ask(libc::SIOCGIFMTU).map(|ifreq| unsafe { ifreq.ifr_ifru.ifru_mtu } as u32)
    }

    fn flags(&self) -> io::Result<libc::c_int> {
        // SAFETY: SIOCGIFFLAGS has filled in the flags.
        let flags = self.ask(libc::SIOCGIFFLAGS).map(|ifreq| unsafe { ifreq.ifr_ifru.ifru_flags });
        flags.map(libc::c_int::from)
    }

    fn mac(&self) -> io::Result<Option<MacAddr>> {
        // SAFETY: SIOCGIFHWADDR has filled in the address.
        let address = self.ask(libc::SIOCGIFHWADDR).map(|i| unsafe { i.ifr_ifru.ifru_hwaddr })?;
        let bytes = std::array::from_fn(|at| address.sa_data[at] as u8);
        Ok((address.sa_family == libc::ARPHRD_ETHER).then_some(MacAddr(bytes)))
    }

    /// An ethtool command, with its arguments and room for its answer.
    fn ethtool(&self, words: &mut [u32]) -> io::Result<()> {
        // SAFETY: `ifreq` is plain memory, for which all zeros are legal.
        let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
        asked.ifr_name = self.name;
        asked.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        // SAFETY: each command in this file is given with as many words as its structure has (the
        // kernel copies no more), and they live until the call ends.
        let done =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut asked) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// What an `ethtool_value` is; `None` if the driver has no such thing.
    fn value(&self, command: u32) -> Option<u32> {
        let mut words = [command, 0];
        self.ethtool(&mut words).ok().map(|()| words[1])
    }

    fn queues(&self) -> Queues {
        self.channels().unwrap_or(Queues::ONE)
    }

    fn channels(&self) -> io::Result<Queues> {
        let words = self.channel_words()?;
        Ok(Queues {
            rx: (words[5] + words[8]).max(1),
            tx: (words[6] + words[8]).max(1),
            rx_max: words[1].max(words[4]).max(1),
            tx_max: words[2].max(words[4]).max(1),
            combined: words[4] > 0,
        })
    }

    /// `ethtool_channels`: command, max rx, tx, other, combined, then as many there are of each.
    fn channel_words(&self) -> io::Result<[u32; 9]> {
        let mut words = [CHANNELS.0, 0, 0, 0, 0, 0, 0, 0, 0];
        self.ethtool(&mut words).map(|()| words)
    }

    fn rings(&self) -> Option<(u32, u32)> {
        // `ethtool_ringparam`: command, max rx, mini, jumbo, tx, then what is set of each.
        let mut words = [GET_RINGS, 0, 0, 0, 0, 0, 0, 0, 0];
        self.ethtool(&mut words).ok()?;
        (words[5] | words[8] != 0).then_some((words[5], words[8]))
    }

    fn speed(&self) -> Option<u32> {
        // `ethtool_cmd`: the lower half of the speed at byte 12, the upper one at byte 28.
        let mut words = [0; 11];
        words[0] = GET_SETTINGS;
        self.ethtool(&mut words).ok()?;
        let half =
            |at: usize| u32::from(u16::from_ne_bytes([byte(&words, at), byte(&words, at + 1)]));
        let speed = half(28) << 16 | half(12);
        // 0xffff and 0xffff_ffff say "unknown".
        (speed != 0 && speed & 0xffff != 0xffff).then_some(speed)
    }

    fn offloads(&self) -> Offloads {
        let on = |command| self.value(command).is_some_and(|value| value != 0);
        Offloads {
            tx_checksum: on(TX_CHECKSUM.0),
            tso: on(TSO.0),
            gso: on(GSO.0),
            gro: on(GRO.0),
            lro: self.value(FLAGS.0).is_some_and(|flags| flags & LRO != 0),
        }
    }
}

fn byte(words: &[u32], at: usize) -> u8 {
    words[at / 4].to_ne_bytes()[at % 4]
}

/// The text of up to 32 bytes that begins at a byte of `words`.
fn text(words: &[u32], at: usize) -> String {
    let mut bytes: Vec<u8> = (at..at + 32).map(|at| byte(words, at)).collect();
    bytes.push(0);
    let text = CStr::from_bytes_until_nul(&bytes).map(|text| text.to_string_lossy().into_owned());
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_interface_is_said() {
        for (name, expected) in [
            ("no-such-if", "cannot look at the interface no-such-if: No such device"),
            ("", "not a name of an interface"),
            ("a/b", "not a name of an interface"),
            ("sixteen-letters-", "not a name of an interface"),
        ] {
            let text = Interface::of(name).unwrap_err().to_string();
            assert!(text.contains(expected), "{name}: {text}");
        }
        assert!(set_offloads("no-such-if", Offloads::NONE).is_err());
    }

    #[test]
    fn queues_are_had_by_the_words_that_the_interface_takes() {
        let card = Queues { rx: 2, tx: 2, rx_max: 8, tx_max: 8, combined: true };
        let veth = Queues { rx: 1, tx: 1, rx_max: 4, tx_max: 2, combined: false };
        for (queues, wanted, expected) in [
            (card, 4, Some("combined 4")),
            (card, 9, None),
            (card, 0, None),
            (veth, 2, Some("rx 2 tx 2")),
            (veth, 4, Some("rx 4 tx 2")),
            (veth, 5, None),
        ] {
            assert_eq!(queues.words(wanted).as_deref(), expected, "{queues:?} {wanted}");
        }
    }

    #[test]
    fn the_loopback_is_told() {
        let lo = Interface::of("lo").unwrap();
        assert_eq!((lo.index, lo.mac, lo.name.as_str()), (1, None, "lo"), "{lo:?}");
        assert!(lo.mtu >= 1500 && lo.queues.rx >= 1, "{lo:?}");
    }
}
