//! The specification of a port: which interface it is, and how it is opened (`--port`).
//!
//! ```text
//! ether1=xdp:eth1@red,mode=native,ring=4096
//! ▲      ▲   ▲    ▲   └ options of the backend
//! │      │   │    └ the network namespace: a name, or a path with / in it
//! │      │   └ the interface
//! │      └ the backend: xdp, packet, tap
//! └ what the router calls it; ether1, ether2 … in order, if it is left out
//! ```
//!
//! Never looks at the system: whether there is such an interface is found when it is opened.

use std::fmt;
use std::str::FromStr;

/// A port: its name, its interface, and how that is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// What the router calls it; empty until [`name_all`] has been there, if nobody said.
    pub name: String,
    /// By which of Linux's ways.
    pub backend: Backend,
    /// The interface's name.
    pub interface: String,
    /// Where it is: a name, or a path if there is a `/` in it; the program's own namespace if
    /// `None`.
    pub namespace: Option<String>,
    /// What was said beyond that.
    pub options: Options,
}

/// One of Linux's ways to have an interface's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// AF_XDP: frames come before the kernel sees them, without a copy where the driver can.
    Xdp,
    /// AF_PACKET: a copy of what the kernel sees, on every interface.
    Packet,
    /// An interface of our own, whose other end is the kernel.
    Tap,
}

/// How an interface is opened, where somebody said so; else the backend finds what is best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `queues`: how many of its queues.
    pub queues: Option<u32>,
    /// `ring`: frames in each ring, a power of two.
    pub ring: Option<u32>,
    /// `mode=native`: frames come from the driver; `generic`: from the kernel, on any driver.
    pub native: Option<bool>,
    /// `copy=no`: frames stay where the driver has put them; `yes`: they are copied.
    pub copy: Option<bool>,
    /// `offload=yes`: super-frames and checksums that are left to do are taken as they are, off
    /// FastPath; `no`: every frame is what it seems.
    pub offload: Option<bool>,
    /// `kernel=yes`: what is for the kernel's own addresses on the interface goes to it (by AF_PACKET:
    /// all goes to it as well); `no`: every frame is the router's.
    pub kernel: Option<bool>,
}

impl Backend {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Backend::Xdp => "xdp",
            Backend::Packet => "packet",
            Backend::Tap => "tap",
        }
    }

    /// The options it knows.
    fn options(self) -> &'static [&'static str] {
        match self {
            Backend::Xdp => &["queues", "ring", "mode", "copy", "kernel"],
            Backend::Packet => &["queues", "ring", "offload", "kernel"],
            Backend::Tap => &["queues", "offload"],
        }
    }
}

/// The longest name of an interface (`IFNAMSIZ`, less its end).
const LONGEST: usize = 15;

impl FromStr for PortSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<PortSpec, String> {
        let wrong = |why: String| format!("port {text}: {why}");
        let mut parts = text.split(',');
        let place = parts.next().unwrap_or_default();
        let (before, after) = place.split_once(':').ok_or_else(|| {
            wrong("a port is NAME=BACKEND:INTERFACE[@NAMESPACE], as ether1=xdp:eth1".to_string())
        })?;
        let (name, backend) = before.split_once('=').map_or(("", before), |named| named);
        let named = before.contains('=');
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        if named && (name.is_empty() || !name.chars().all(plain)) {
            return Err(wrong(format!("{name:?} is no name of a port, as ether1 is")));
        }
        let backend = match backend {
            "xdp" => Backend::Xdp,
            "packet" => Backend::Packet,
            "tap" => Backend::Tap,
            _ => {
                return Err(wrong(format!(
                    "the backends are xdp, packet and tap, not {backend:?}"
                )));
            }
        };
        let (interface, namespace) = match after.split_once('@') {
            Some((_, "")) => return Err(wrong("behind @ stands a network namespace".to_string())),
            Some((interface, namespace)) => (interface, Some(namespace.to_string())),
            None => (after, None),
        };
        legal(interface).map_err(wrong)?;
        let mut options = Options::default();
        for part in parts {
            options.set(backend, part).map_err(|why| wrong(why + &comma(backend, text, part)))?;
        }
        let (name, interface) = (name.to_string(), interface.to_string());
        Ok(PortSpec { name, backend, interface, namespace, options })
    }
}

/// Whether an interface can be called so.
fn legal(interface: &str) -> Result<(), String> {
    if !(1..=LONGEST).contains(&interface.len()) {
        return Err(format!("an interface's name has 1 to {LONGEST} letters, as eth1 has"));
    }
    let illegal = |c: char| "%/:".contains(c) || c.is_whitespace() || c.is_control();
    match interface.chars().find(|c| illegal(*c)) {
        None => Ok(()),
        Some('%') => Err(format!(
            "{interface} is a pattern, and % is in no interface's name: say the whole name, as {}",
            interface.replace("%d", "0").replace('%', "")
        )),
        Some(c) => Err(format!(
            "no interface's name has {c:?} in it: `ip -br link` shows the names there are, and a \
             network namespace stands behind @"
        )),
    }
}

/// What to do if what should be an option is the rest of an interface's name, as the kernel allows.
fn comma(backend: Backend, text: &str, part: &str) -> String {
    if part.is_empty() || part.contains('=') || backend.options().contains(&part) {
        return String::new();
    }
    let (_, name) = text.split_once(':').unwrap_or(("", text));
    let (name, _) = name.split_once('@').unwrap_or((name, ""));
    let name: Vec<_> = name.split(',').take_while(|part| !part.contains('=')).collect();
    let (name, new) = (name.join(","), name.join("-"));
    format!(
        "; options are parted by commas, so an interface called {name:?} cannot be a port: rename it, \
         `ip link set dev '{name}' name {new}`"
    )
}

impl Options {
    fn set(&mut self, backend: Backend, text: &str) -> Result<(), String> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        if !backend.options().contains(&key) {
            let legal = backend.options().join(", ");
            return Err(format!("the options of {} are {legal}, not {key:?}", backend.word()));
        }
        let number = |least: u32, most: u32| {
            let number = value.parse().ok().filter(|n| (least..=most).contains(n));
            number.ok_or_else(|| format!("{key} is a number, {least} to {most}, not {value:?}"))
        };
        let one_of = |yes: &str, no: &str| match value {
            _ if value == yes => Ok(true),
            _ if value == no => Ok(false),
            _ => Err(format!("{key} is {yes} or {no}, not {value:?}")),
        };
        let said = match key {
            "queues" => self.queues.replace(number(1, 256)?).is_some(),
            "ring" => {
                let frames = number(64, 65536)?;
                if !frames.is_power_of_two() {
                    return Err(format!("ring is a power of two, not {frames}"));
                }
                self.ring.replace(frames).is_some()
            }
            "mode" => self.native.replace(one_of("native", "generic")?).is_some(),
            "copy" => self.copy.replace(one_of("yes", "no")?).is_some(),
            "kernel" => self.kernel.replace(one_of("yes", "no")?).is_some(),
            _ => self.offload.replace(one_of("yes", "no")?).is_some(),
        };
        if said { Err(format!("{key} stands there twice")) } else { Ok(()) }
    }
}

/// As it was typed.
impl fmt::Display for PortSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(f, "{}=", self.name)?;
        }
        write!(f, "{}:{}", self.backend.word(), self.interface)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "@{namespace}")?;
        }
        let Options { queues, ring, native, copy, offload, kernel } = self.options;
        let yes = |yes| if yes { "yes" } else { "no" }.to_string();
        let mode = |native| if native { "native" } else { "generic" }.to_string();
        for (key, value) in [
            ("queues", queues.map(|n| n.to_string())),
            ("ring", ring.map(|n| n.to_string())),
            ("mode", native.map(mode)),
            ("copy", copy.map(yes)),
            ("offload", offload.map(yes)),
            ("kernel", kernel.map(yes)),
        ] {
            if let Some(value) = value {
                write!(f, ",{key}={value}")?;
            }
        }
        Ok(())
    }
}

/// Gives names to those that have none: `ether1` for the first, `ether2` for the second.
///
/// # Errors
/// Two are called the same, or two are the same interface.
pub fn name_all(specs: &mut [PortSpec]) -> Result<(), String> {
    for (at, spec) in specs.iter_mut().enumerate() {
        if spec.name.is_empty() {
            spec.name = format!("ether{}", at + 1);
        }
    }
    for (at, spec) in specs.iter().enumerate() {
        if specs[..at].iter().any(|other| other.name == spec.name) {
            return Err(format!("two ports are called {}", spec.name));
        }
        let place = |spec: &PortSpec| (spec.interface.clone(), spec.namespace.clone());
        if let Some(other) = specs[..at].iter().find(|other| place(other) == place(spec)) {
            let (a, b) = (&other.name, &spec.name);
            return Err(format!("{a} and {b} are the same interface, {}", spec.interface));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_shown_again() {
        for text in [
            "ether1=xdp:eth1",
            "xdp:eth1",
            "wan=packet:enp3s0f1@red",
            "ether2=tap:home@/proc/self/fd/3,queues=2,offload=yes",
            "ether1=xdp:eth1,queues=4,ring=4096,mode=native,copy=no",
            "ether1=xdp:eth1,mode=generic,copy=yes,kernel=yes",
            "ether1=packet:eth1,ring=64,offload=no",
        ] {
            assert_eq!(text.parse::<PortSpec>().unwrap().to_string(), text);
        }
        let spec: PortSpec = "a=xdp:b@c,mode=native".parse().unwrap();
        assert_eq!((spec.name.as_str(), spec.namespace.as_deref()), ("a", Some("c")));
        assert_eq!((spec.options.native, spec.options.copy), (Some(true), None));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("", "a port is NAME=BACKEND:INTERFACE[@NAMESPACE], as ether1=xdp:eth1"),
            ("eth1", "a port is NAME=BACKEND:INTERFACE"),
            ("ether1=eth1", "a port is NAME=BACKEND:INTERFACE"),
            ("ether1=dpdk:eth1", "the backends are xdp, packet and tap, not \"dpdk\""),
            ("=xdp:eth1", "\"\" is no name of a port"),
            ("a b=xdp:eth1", "\"a b\" is no name of a port"),
            ("ether1=xdp:", "an interface's name has 1 to 15 letters"),
            ("ether1=xdp:sixteen-letters-", "1 to 15 letters"),
            (
                "tap:e%d",
                "e%d is a pattern, and % is in no interface's name: say the whole name, as e0",
            ),
            ("xdp:/dev/eth1", "no interface's name has '/' in it: `ip -br link` shows"),
            ("xdp:eth 1", "no interface's name has ' ' in it"),
            ("xdp:eth1:0", "no interface's name has ':' in it"),
            (
                "xdp:a,b",
                "called \"a,b\" cannot be a port: rename it, `ip link set dev 'a,b' name a-b`",
            ),
            ("packet:a,b,c@red,ring=64", "`ip link set dev 'a,b,c' name a-b-c`"),
            ("xdp:a,b,ring=64", "`ip link set dev 'a,b' name a-b`"),
            ("ether1=xdp:eth1@", "behind @ stands a network namespace"),
            (
                "ether1=xdp:eth1,",
                "the options of xdp are queues, ring, mode, copy, kernel, not \"\"",
            ),
            ("ether1=xdp:eth1,offload=yes", "the options of xdp are"),
            ("ether1=tap:eth1,mode=native", "the options of tap are queues, offload"),
            ("ether1=xdp:eth1,queues=0", "queues is a number, 1 to 256, not \"0\""),
            ("ether1=xdp:eth1,ring=100", "ring is a power of two, not 100"),
            ("ether1=xdp:eth1,ring=32", "ring is a number, 64 to 65536"),
            ("ether1=xdp:eth1,mode=fast", "mode is native or generic, not \"fast\""),
            ("ether1=xdp:eth1,copy", "copy is yes or no, not \"\""),
            ("ether1=xdp:eth1,copy=no,copy=no", "copy stands there twice"),
        ] {
            let error = text.parse::<PortSpec>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(error.starts_with(&format!("port {text}: ")), "{error}");
        }
    }

    #[test]
    fn ports_are_named_in_order() {
        let names = |texts: &[&str]| {
            let mut specs: Vec<PortSpec> = texts.iter().map(|text| text.parse().unwrap()).collect();
            name_all(&mut specs)
                .map(|()| specs.into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(names(&["xdp:a", "wan=xdp:b", "tap:c"]).as_deref(), Ok("ether1 wan ether3"));
        assert_eq!(names(&["xdp:a", "ether1=xdp:b"]).unwrap_err(), "two ports are called ether1");
        let twice = names(&["xdp:a", "packet:a"]).unwrap_err();
        assert_eq!(twice, "ether1 and ether2 are the same interface, a");
        assert!(names(&["xdp:a", "xdp:a@b"]).is_ok());
    }
}
