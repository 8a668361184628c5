//! The plan of the iperf3 method: `plans/iperf3.toml`.
//!
//! Every value is looked at before anything is started; what cannot be is refused with the reason.

use measure::iperf3::{Direction, Protocol, Tool};
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::throughput::tcp::{Headers, MSS, iperf3_with};

/// What is between the two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// A cable: the baseline.
    Direct,
    /// The Linux kernel, routing.
    Linux,
    /// The built-in router.
    Wirespeed,
    /// Whatever is connected to two interfaces of this machine.
    External,
}

impl Device {
    /// What it is called in results.
    pub fn name(self) -> &'static str {
        match self {
            Device::Direct => measure::iperf3::DIRECT,
            Device::Linux => "linux kernel",
            Device::Wirespeed => "wirespeed router",
            Device::External => "external",
        }
    }
}

/// How the built-in router has its interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// AF_XDP, and AF_PACKET where frames are too long for it, or hosts have offloads.
    #[default]
    Xdp,
    /// AF_PACKET.
    Packet,
    /// TAP: the hosts' interfaces are the router's own, without a veth pair between.
    Tap,
}

/// Who puts processes, and the built-in router's threads, on processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The plan, as the source has it: pairs one after the other.
    #[default]
    Pinned,
    /// The system, which moves them.
    Free,
    /// The bench: each device is first measured at each of a few places, three times a second each,
    /// and then where the median was the highest.
    Probed,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// What it is called.
    pub name: String,
    /// What is measured, one after the other.
    pub devices: Vec<Device>,
    /// Of what.
    #[serde(default = "tcp")]
    pub protocols: Vec<Protocol>,
    /// From where.
    #[serde(default = "one_way")]
    pub directions: Vec<Direction>,
    /// IP packets, bytes; may be empty if latency or windows are not.
    #[serde(default = "six")]
    pub packets: Vec<u32>,
    /// How long packets take to the other host and back, and who is to ask: `ping`, `irtt`.
    #[serde(default)]
    pub latency: Vec<Tool>,
    /// RFC 6349: a transfer with each of these windows (`-w`), in bytes, for `streams` connections,
    /// after what the path is has been found out. The wires have a rate then.
    #[serde(default)]
    pub windows: Vec<u32>,
    /// Pairs of processes in each direction.
    #[serde(default = "one")]
    pub pairs: u32,
    /// Streams of each pair, `-P`.
    #[serde(default = "eight")]
    pub streams: u32,
    /// Measured, after the warm-up; whole seconds.
    #[serde(deserialize_with = "seconds")]
    pub duration: Duration,
    /// Sent before that.
    #[serde(default = "second", deserialize_with = "seconds")]
    pub warm_up: Duration,
    /// The wires' rate on layer 1, bit/s: they are as fast as the machine if there is none.
    #[serde(default, deserialize_with = "rate")]
    pub link: Option<f64>,
    /// UDP: what all pairs of one direction send together, bit/s of payload; as fast as they can if
    /// there is none.
    #[serde(default, deserialize_with = "rate")]
    pub udp_rate: Option<f64>,
    /// Whether hosts leave checksums and segments to the wires.
    #[serde(default)]
    pub offloads: bool,
    /// TCP's time stamps.
    #[serde(default = "yes")]
    pub timestamps: bool,
    /// TCP: bytes that iperf3 hands to its kernel at a time (`-l`); those of a packet if it is not
    /// said, as the source has it, and then such calls are what the sender is busy with.
    #[serde(default)]
    pub write: Option<u32>,
    /// Who puts processes on processors.
    #[serde(default)]
    pub placement: Placement,
    /// The processors that processes are put on; all of this process's if empty.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// The built-in router's interfaces.
    #[serde(default)]
    pub backend: Backend,
    /// Its I/O workers (`wirespeed router --workers`), unless their places are probed; with pinned
    /// processes the system places them, and without any its thread is on the last of `cores`.
    #[serde(default)]
    pub workers: usize,
    /// What the built-in router does beside routing: a script beside the plan.
    #[serde(default)]
    pub configuration: Option<String>,
    /// Settings of the two hosts' kernels, in their namespaces.
    #[serde(default)]
    pub sysctl: BTreeMap<String, String>,
    /// What `--quick` changes.
    #[serde(default)]
    pub quick: Quick,
}

/// A shorter run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Quick {
    /// Instead of the plan's.
    #[serde(default, deserialize_with = "some_seconds")]
    pub duration: Option<Duration>,
    /// Instead of the plan's.
    #[serde(default, deserialize_with = "some_seconds")]
    pub warm_up: Option<Duration>,
    /// Instead of the plan's.
    #[serde(default)]
    pub packets: Option<Vec<u32>>,
    /// Instead of the plan's.
    #[serde(default)]
    pub streams: Option<u32>,
}

fn tcp() -> Vec<Protocol> {
    vec![Protocol::Tcp]
}

fn one_way() -> Vec<Direction> {
    vec![Direction::OneWay]
}

/// The source's.
fn six() -> Vec<u32> {
    vec![128, 256, 512, 1024, 1500, 9000]
}

fn one() -> u32 {
    1
}

fn second() -> Duration {
    Duration::from_secs(1)
}

fn eight() -> u32 {
    8
}

fn yes() -> bool {
    true
}

/// iperf3 takes whole seconds.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    let whole = text.strip_suffix('s').and_then(|digits| digits.parse().ok());
    let wrong = || de::Error::custom(format!("{text:?}: iperf3 takes whole seconds, as 30s"));
    whole.map(Duration::from_secs).ok_or_else(wrong)
}

fn some_seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    seconds(from).map(Some)
}

fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(from)?;
    let rate = wire::throughput::ports(&text).filter(|_| !text.contains(['x', '*', '+']));
    let wrong = || de::Error::custom(format!("{text:?}: a rate is 100M, 1G, 2.5G"));
    rate.map(Some).ok_or_else(wrong)
}

/// The longest that Linux's veths carry.
const LONGEST: u32 = 65_535;
/// iperf3 numbers its UDP packets in their payload.
const UDP_LEAST: u32 = 16;

/// Reads a plan.
///
/// # Errors
/// Where and what is wrong with it, in words.
pub fn read(text: &str) -> Result<Plan, String> {
    let plan: Plan = toml::from_str(text).map_err(|error| error.to_string().trim().to_string())?;
    plan.check()?;
    plan.quickened().check().map_err(|why| format!("[quick] {why}"))?;
    Ok(plan)
}

impl Plan {
    /// With what `--quick` changes.
    #[must_use]
    pub fn quickened(&self) -> Plan {
        let mut plan = self.clone();
        let Quick { duration, warm_up, packets, streams } = plan.quick.clone();
        plan.duration = duration.unwrap_or(plan.duration);
        plan.warm_up = warm_up.unwrap_or(plan.warm_up);
        plan.packets = packets.unwrap_or(plan.packets);
        plan.streams = streams.unwrap_or(plan.streams);
        plan
    }

    /// The same of other devices, the baseline kept where the plan has it, and with other wires; what
    /// is not said stays.
    ///
    /// # Errors
    /// It does not go with the rest of the plan: why.
    pub fn of(&self, devices: &[Device], link: Option<f64>) -> Result<Plan, String> {
        let mut plan = Plan { link: link.or(self.link), ..self.clone() };
        if !devices.is_empty() {
            plan.devices.retain(|device| *device == Device::Direct);
            plan.devices.dedup();
            plan.devices.extend(devices.iter().filter(|device| **device != Device::Direct));
        }
        plan.check().map(|()| plan)
    }

    /// For which of its rows places are probed: a second of the first protocol, the first direction
    /// and the longest packets.
    #[must_use]
    pub(super) fn probe(&self) -> Plan {
        let second = Duration::from_secs(1);
        let longest = self.packets.iter().copied().filter(|&n| n <= 1500).max();
        Plan {
            protocols: self.protocols[..1].to_vec(),
            directions: self.directions[..1].to_vec(),
            packets: vec![longest.unwrap_or(self.packets[0])],
            duration: second,
            warm_up: second,
            ..self.clone()
        }
    }

    /// Ways that pairs send at a time.
    pub(super) fn ways(&self) -> usize {
        if self.directions.contains(&Direction::BothWays) { 2 } else { 1 }
    }

    /// The headers of a protocol's packets.
    pub fn headers(&self, protocol: Protocol) -> Headers {
        let udp = protocol == Protocol::Udp;
        Headers { udp, timestamps: self.timestamps && !udp, ip_options: 0 }
    }

    /// How many rows it has, latencies and transfers among them.
    pub fn rows(&self) -> usize {
        let of_pairs = self.protocols.len() * self.directions.len() * self.packets.len();
        self.devices.len() * (of_pairs + self.latency.len() + self.windows.len())
    }

    /// Whether a device is among its.
    pub fn is_of(&self, device: Device) -> bool {
        self.devices.contains(&device)
    }

    /// Whether it measures paths, whatever packets it has beside that.
    pub fn is_of_paths(&self) -> bool {
        !(self.latency.is_empty() && self.windows.is_empty())
    }

    fn check(&self) -> Result<(), String> {
        let within = |what: &str, n: u64, least: u64, most: u64| match n {
            n if n < least || n > most => Err(format!("{what} is {n}; it is {least} to {most}")),
            _ => Ok(()),
        };
        within("pairs", u64::from(self.pairs), 1, 64)?;
        within("streams", u64::from(self.streams), 1, 128)?; // iperf3's own limit
        within("duration", self.duration.as_secs(), 1, 600)?;
        within("warm-up", self.warm_up.as_secs(), 1, 60)?;
        if self.rows() == 0 {
            return Err("devices, protocols, directions or packets are empty, and so are latency and windows"
                .to_string());
        }
        if self.link.is_some() && self.offloads {
            return Err("link with offloads = true: a wire's rate cannot be kept frame by frame \
                        when super-frames go over it"
                .to_string());
        }
        if let Some(bytes) = self.write {
            within("write", u64::from(bytes), 88, 1 << 20)?; // iperf3's own limit
        }
        within("workers", self.workers as u64, 0, 64)?;
        if self.placement == Placement::Probed && self.pairs * self.ways() as u32 > 1 {
            return Err("placement = \"probed\" with more than one pair of processes: places are \
                        known for a sender and a receiver; \"pinned\" or \"free\" instead"
                .to_string());
        }
        for &window in &self.windows {
            within("a window", u64::from(window), 2048, 512 << 20)?; // iperf3's own limit
        }
        if !self.windows.is_empty() && self.link.is_none() {
            return Err("windows without link: what TCP makes of a path is told by its narrowest \
                        place, which would be the machine"
                .to_string());
        }
        if self.placement == Placement::Probed && self.packets.is_empty() {
            return Err("placement = \"probed\" without packets: places are compared by rates; \
                        \"pinned\" or \"free\" instead"
                .to_string());
        }
        if let Some(long) = self.packets.iter().find(|&&n| n > 1500)
            && self.backend == Backend::Tap
        {
            return Err(format!("packets of {long} bytes: a tap's MTU is 1500"));
        }
        for &protocol in &self.protocols {
            for &packet in &self.packets {
                self.packet(protocol, packet)?;
            }
        }
        Ok(())
    }

    fn packet(&self, protocol: Protocol, packet: u32) -> Result<(), String> {
        let headers = self.headers(protocol);
        let of = iperf3_with(packet, headers).filter(|_| packet <= LONGEST);
        let of = of.ok_or_else(|| format!("there is no {protocol} packet of {packet} bytes"))?;
        if protocol == Protocol::Tcp && !MSS.contains(&of.mss) {
            let (least, most) = (MSS.start() + 40, MSS.end() + 40);
            return Err(format!(
                "TCP packets of {packet} bytes: iperf3 on Linux makes {least} to {most}"
            ));
        }
        if protocol == Protocol::Udp && of.length < UDP_LEAST {
            let least = UDP_LEAST + headers.bytes();
            return Err(format!("UDP packets of {packet} bytes: iperf3 makes them of {least} on"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str =
        "name = \"x\"\ndevices = [\"direct\"]\npairs = 1\nduration = \"1s\"\nwarm-up = \"1s\"\n";

    #[test]
    fn our_plan() {
        let plan = read(include_str!("../../../../plans/iperf3.toml")).unwrap();
        assert_eq!(plan.packets, six());
        assert_eq!(plan.devices, [Device::Direct, Device::Linux, Device::Wirespeed]);
        assert!(plan.quickened().packets.len() < 6);
        assert!(plan.timestamps && !plan.offloads);
        for beside in [
            include_str!("../../../../plans/iperf3-beside-the-kernel.toml"),
            include_str!("../../../../plans/iperf3-super-frames.toml"),
            include_str!("../../../../plans/latency-beside-the-kernel.toml"),
        ] {
            let plan = read(beside).unwrap();
            let turns =
                plan.devices.chunks(2).filter(|by| **by == [Device::Linux, Device::Wirespeed]);
            assert_eq!(turns.count(), 5, "{}", plan.name);
            let (each, placement) = match plan.packets.is_empty() {
                true => (plan.latency.len(), Placement::Pinned),
                false => (1, Placement::Probed),
            };
            assert_eq!((plan.rows(), plan.placement), (10 * each, placement), "{}", plan.name);
        }
        let plan = read(include_str!("../../../../plans/rfc6349-hosts.toml")).unwrap();
        assert!(plan.rows() == 2 * plan.windows.len() && plan.duration.as_secs() >= 30);
    }

    /// The baseline stays where there is one; turns are one.
    #[test]
    fn devices_that_are_said() {
        let plan = read(include_str!("../../../../plans/iperf3.toml")).unwrap();
        let external = plan.of(&[Device::External], Some(1e10)).unwrap();
        assert_eq!(external.devices, [Device::Direct, Device::External]);
        assert_eq!((external.link, plan.link), (Some(1e10), Some(1e9)));
        assert_eq!(plan.of(&[], None), Ok(plan));
        let turns = include_str!("../../../../plans/latency-beside-the-kernel.toml");
        let turns = read(turns).unwrap().of(&[Device::External], None).unwrap();
        assert_eq!(turns.devices, [Device::External]);
        let offloads = read(&format!("{SHORT}offloads = true\n")).unwrap();
        assert!(offloads.of(&[], Some(1e9)).unwrap_err().contains("super-frames"));
    }

    #[test]
    fn what_cannot_be() {
        for (line, expected) in [
            ("warm-ups = 1", "unknown field `warm-ups`"),
            ("packets = [64]", "TCP packets of 64 bytes: iperf3 on Linux makes 128 to 9256"),
            ("packets = [40]\nprotocols = [\"udp\"]", "iperf3 makes them of 44 on"),
            ("packets = [20]", "no TCP packet of 20 bytes"),
            ("packets = [70000]", "no TCP packet of 70000 bytes"),
            ("packets = []", "are empty"),
            (
                "packets = []\nlatency = [\"ping\"]\nplacement = \"probed\"",
                "\"probed\" without packets",
            ),
            ("windows = [65536]", "windows without link"),
            ("windows = [1000]\nlink = \"1G\"", "a window is 1000; it is 2048 to"),
            ("latency = [\"pong\"]", "unknown variant `pong`, expected `ping` or `irtt`"),
            ("streams = 0", "streams is 0; it is 1 to 128"),
            ("link = \"1\"", "a rate is 100M, 1G, 2.5G"),
            ("link = \"1G\"\noffloads = true", "super-frames"),
            ("quick = { duration = \"1.5s\" }", "whole seconds, as 30s"),
            ("quick = { duration = \"0s\" }", "[quick] duration is 0"),
            ("backend = \"dpdk\"", "unknown variant `dpdk`"),
            ("placement = \"there\"", "unknown variant `there`"),
            ("placement = \"probed\"\ndirections = [\"both-ways\"]", "more than one pair"),
        ] {
            let error = read(&format!("{SHORT}{line}\n")).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
        assert!(read(SHORT).is_ok());
        assert!(read("").unwrap_err().contains("missing field `name`"));
        let udp = read(&format!("{SHORT}protocols = [\"udp\"]\npackets = [64]\n")).unwrap();
        assert_eq!(udp.headers(Protocol::Udp).bytes(), 28);
    }
}
