//! What the machine allows, told before anything is touched: `wirespeed router --check`.
//!
//! ```text
//!  interface, where, how ─┐                                    ┌ good
//!  rights, limits, kernel ┼─► Finding: what, what is, and what ┼ better: what to type
//!  cores                  ┘            is to be done about it  └ stop: the router would not start
//! ```
//!
//! Only looks: it opens sockets and maps and closes them, and reads files. It attaches nothing, sets
//! nothing, and binds to no interface, so it cannot find out who else has bound to one: what uses an
//! interface is known when the router starts.

use super::netlink::{Netlink, device};
use port::linux::bpf::Map;
use port::linux::interface::Interface;
use port::linux::{Namespace, Unavailable};
use rustix::net::{AddressFamily, SocketType, socket};
use std::fs;

/// How an interface is to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// AF_XDP.
    Xdp,
    /// AF_PACKET.
    Packet,
    /// TAP.
    Tap,
}

/// An interface to look at.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What the router calls it.
    pub port: String,
    /// How it is to be had.
    pub how: How,
    /// Its name.
    pub interface: String,
    /// Where it is: a name, or a path; the program's own namespace if `None`.
    pub namespace: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It works, and could be better.
    Better,
    /// The router would not start.
    Stop,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whose it is: a port's name, `machine`, `core 1`.
    pub of: String,
    /// What: `driver`, `queues`, `memory lock`.
    pub what: String,
    /// What is.
    pub is: String,
    /// How bad that is.
    pub verdict: Verdict,
    /// What to do about it, with the command to type; empty if nothing.
    pub advice: String,
}

/// All findings, in the order in which they were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// As printed.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Good => "ok",
            Verdict::Better => "better",
            Verdict::Stop => "STOP",
        }
    }
}

impl Report {
    /// Whether something would keep the router from starting.
    pub fn stops(&self) -> bool {
        self.findings.iter().any(|finding| finding.verdict == Verdict::Stop)
    }

    /// As a table, each advice on a line of its own below what it is about.
    pub fn table(&self) -> String {
        let width = |of: fn(&Finding) -> &str| {
            self.findings.iter().map(|finding| of(finding).len()).max().unwrap_or(0)
        };
        let (of, what) = (width(|f| &f.of), width(|f| &f.what));
        let mut text = String::new();
        for f in &self.findings {
            let verdict = f.verdict.word();
            text += &format!("{:of$}  {:what$}  {verdict:6}  {}\n", f.of, f.what, f.is);
            if !f.advice.is_empty() {
                text += &format!("{:indent$}{}\n", "", f.advice, indent = of + what + 12);
            }
        }
        text
    }

    /// As JSON.
    pub fn json(&self) -> serde_json::Value {
        let finding = |f: &Finding| {
            serde_json::json!({
                "of": f.of,
                "what": f.what,
                "is": f.is,
                "verdict": f.verdict.word().to_lowercase(),
                "advice": f.advice,
            })
        };
        let findings: Vec<_> = self.findings.iter().map(finding).collect();
        serde_json::json!({ "stops": self.stops(), "findings": findings })
    }

    fn add(&mut self, of: &str, what: &str, is: impl Into<String>, verdict: Verdict, advice: &str) {
        self.findings.push(Finding {
            of: of.to_string(),
            what: what.to_string(),
            is: is.into(),
            verdict,
            advice: advice.to_string(),
        });
    }

    fn good(&mut self, of: &str, what: &str, is: impl Into<String>) {
        self.add(of, what, is, Verdict::Good, "");
    }

    fn stop(&mut self, of: &str, what: &str, why: &Unavailable, advice: &str) {
        let advice = why.remedy.as_deref().unwrap_or(advice);
        self.add(of, what, why.error.to_string(), Verdict::Stop, advice);
    }
}

/// Looks at the machine, at each interface, and at each core the router's threads are to run on.
/// `memory` is what frames will take, in bytes.
pub fn check(wanted: &[Wanted], cores: &[usize], memory: u64) -> Report {
    let mut report = Report::default();
    machine(&mut report, wanted, memory);
    for wanted in wanted {
        if let Err(why) = port(&mut report, wanted) {
            report.stop(&wanted.port, "interface", &why, "");
        }
    }
    for &core in cores {
        self::core(&mut report, core);
    }
    report
}

/// `CAP_…`: numbers of linux/capability.h.
const RIGHTS: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (13, "CAP_NET_RAW"), (39, "CAP_BPF")];
const IPC_LOCK: u32 = 14;

fn machine(report: &mut Report, wanted: &[Wanted], memory: u64) {
    report.good("machine", "kernel", crate::machine::kernel());
    let has = |how| wanted.iter().any(|wanted| wanted.how == how);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = line(&status, "CapEff:").and_then(|bits| u64::from_str_radix(bits, 16).ok());
    let may = |number: u32| effective.unwrap_or(0) >> number & 1 == 1;
    for (number, name) in RIGHTS {
        if number == 39 && !has(How::Xdp) {
            continue;
        }
        if may(number) {
            report.good("machine", name, "granted");
        } else {
            let advice = "run it with sudo, or `sudo setcap \
                          cap_net_admin,cap_net_raw,cap_bpf,cap_ipc_lock+ep $(which wirespeed)`";
            report.add("machine", name, "not granted", Verdict::Stop, advice);
        }
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let limit = line(&limits, "Max locked memory").unwrap_or_default();
    let soft = limit.split_whitespace().next().unwrap_or("unlimited");
    let least = memory >> 10;
    match soft.parse::<u64>() {
        Ok(bytes) if has(How::Xdp) && bytes < memory && !may(IPC_LOCK) => {
            let is = format!("{} KiB, of which frames take {least}", bytes >> 10);
            let advice = format!("type `ulimit -l {least}` first, or run it with sudo");
            report.add("machine", "memory lock", is, Verdict::Stop, &advice);
        }
        _ if may(IPC_LOCK) => report.good("machine", "memory lock", "does not bind (CAP_IPC_LOCK)"),
        _ => report.good("machine", "memory lock", soft),
    }
    if has(How::Xdp) {
        match socket(AddressFamily::XDP, SocketType::RAW, None) {
            Ok(_) => report.good("machine", "AF_XDP", "there"),
            Err(error) => {
                let why = Unavailable::because("open an AF_XDP socket", error.into());
                report.stop("machine", "AF_XDP", &why, "take packet:… instead of xdp:…");
            }
        }
        match Map::sockets(1) {
            Ok(_) => report.good("machine", "BPF", "there"),
            Err(why) => report.stop("machine", "BPF", &why, "take packet:… instead of xdp:…"),
        }
    }
    if has(How::Packet) {
        match socket(AddressFamily::PACKET, SocketType::RAW, None) {
            Ok(_) => report.good("machine", "AF_PACKET", "there"),
            Err(error) => {
                let why = Unavailable::because("open an AF_PACKET socket", error.into());
                report.stop("machine", "AF_PACKET", &why, "type `modprobe af_packet`");
            }
        }
    }
    if has(How::Tap) {
        match fs::File::options().read(true).write(true).open("/dev/net/tun") {
            Ok(_) => report.good("machine", "TAP", "there"),
            Err(error) => {
                let why = Unavailable::because("open /dev/net/tun", error);
                report.stop("machine", "TAP", &why, "type `modprobe tun`");
            }
        }
    }
}

/// What follows `name` on its line.
fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn port(report: &mut Report, wanted: &Wanted) -> Result<(), Unavailable> {
    let namespace = match &wanted.namespace {
        Some(name) => Namespace::open(name)?,
        None => Namespace::current()?,
    };
    let look = || {
        let interface = Interface::of(&wanted.interface)?;
        let link = Netlink::open()?.link(&wanted.interface)?;
        let features = device::xdp_features(interface.index)?;
        Ok((interface, link, features))
    };
    let inside = namespace.run(look);
    let looked = inside.map_err(|error| Unavailable::because("enter the namespace", error))?;
    let of = wanted.port.as_str();
    let place = wanted.namespace.as_deref().unwrap_or_default();
    let name = &wanted.interface;
    let (interface, link, features) = match looked {
        Ok(found) => found,
        // A TAP that is not there yet is made.
        Err(why) if wanted.how == How::Tap && is_missing(&why) => {
            report.good(of, "interface", format!("{name}, which is made by TAP"));
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let at = if place.is_empty() { String::new() } else { format!(" in {place}") };
    let inside = match place {
        "" => String::new(),
        _ if place.contains('/') => format!("nsenter --net={place} "),
        _ => format!("ip netns exec {place} "),
    };
    let mac = interface.mac.map(|mac| mac.to_string()).unwrap_or_default();
    if interface.mac.is_none() {
        let advice = "take an Ethernet interface: `ip -br link` shows them";
        report.add(of, "interface", format!("{name}{at} is no Ethernet"), Verdict::Stop, advice);
        return Ok(());
    }
    report.good(of, "interface", format!("{name}{at}, {mac}, MTU {}", interface.mtu));
    match (interface.up, interface.carrier) {
        (true, true) => {
            let speed = interface.speed_mbps.map(|mbps| format!(", {mbps} Mbit/s"));
            report.good(of, "link", format!("up{}", speed.unwrap_or_default()));
        }
        (true, false) => {
            let advice = "see to the cable, or to the other end: the router waits for it";
            report.add(of, "link", "no carrier", Verdict::Better, advice);
        }
        (false, _) => {
            let advice = format!("type `{inside}ip link set {name} up`");
            report.add(of, "link", "down", Verdict::Better, &advice);
        }
    }
    if let Some(master) = link.master {
        let advice = format!("type `{inside}ip link set {name} nomaster`");
        let is = format!("port of the kernel's interface {master}, which takes its frames");
        report.add(of, "bridge", is, Verdict::Better, &advice);
    }
    queues(report, of, wanted, &interface, &inside);
    if wanted.how == How::Xdp {
        xdp(report, of, &interface, link.xdp, features, &inside);
    } else {
        let driver = if interface.driver.is_empty() { "unnamed" } else { &interface.driver };
        report.good(of, "driver", driver);
    }
    offloads(report, of, wanted, &interface, &inside);
    Ok(())
}

/// Whether it says that there is no such interface.
fn is_missing(why: &Unavailable) -> bool {
    why.error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}

fn queues(report: &mut Report, of: &str, wanted: &Wanted, interface: &Interface, inside: &str) {
    let queues = interface.queues;
    let is = format!("{} to receive by, {} to send by", queues.rx, queues.tx);
    // A socket belongs to one queue of each kind.
    if wanted.how == How::Xdp && queues.tx < queues.rx {
        let name = &interface.name;
        let advice = format!("type `{inside}ethtool -L {name} rx {}`", queues.tx);
        report.add(of, "queues", is, Verdict::Better, &advice);
    } else {
        report.good(of, "queues", is);
    }
}

fn xdp(
    report: &mut Report,
    of: &str,
    interface: &Interface,
    attached: bool,
    features: Option<device::XdpFeatures>,
    inside: &str,
) {
    let (driver, name) = (&interface.driver, &interface.name);
    match features {
        Some(can) if can.native && can.redirect => {
            let copy = if can.zero_copy { "zero-copy" } else { "frames copied once" };
            report.good(of, "driver", format!("{driver}: native XDP, {copy}"));
            if interface.mtu > 3498 && !can.several_buffers {
                let advice = format!("type `{inside}ip link set {name} mtu 1500`");
                let is = format!("MTU {} with a driver of one buffer a frame", interface.mtu);
                report.add(of, "jumbo frames", is, Verdict::Stop, &advice);
            }
        }
        Some(_) => {
            let advice = "it works, slowly; packet:… may be as fast here";
            let is = format!("{driver}: no native XDP, the generic one is used");
            report.add(of, "driver", is, Verdict::Better, advice);
        }
        None => {
            let is = format!("{driver}; this kernel does not say what it can, native XDP is tried");
            report.good(of, "driver", is);
        }
    }
    if attached {
        let advice = format!(
            "end the program that put it there, or type `{inside}ip link set {name} xdp off`"
        );
        report.add(of, "XDP", "a program is attached already", Verdict::Stop, &advice);
    }
}

/// Whether frames that come are what they seem.
fn offloads(report: &mut Report, of: &str, wanted: &Wanted, interface: &Interface, inside: &str) {
    let on = interface.offloads.on();
    if on.is_empty() {
        return report.good(of, "offloads", "off");
    }
    let off: Vec<String> = on.iter().map(|name| format!("{name} off")).collect();
    let (is, off) = (format!("on: {}", on.join(" ")), off.join(" "));
    let name = &interface.name;
    match (wanted.how, interface.driver.as_str()) {
        (How::Tap, _) => report.good(of, "offloads", format!("{is} (TAP understands them)")),
        (How::Xdp, "veth") => {
            let advice = format!(
                "type `{inside}ethtool -K {name} {off}`, and the same for its other end: the \
                 kernel's own frames have no checksums otherwise"
            );
            report.add(of, "offloads", is, Verdict::Better, &advice);
        }
        _ if interface.offloads.gro || interface.offloads.lro => {
            let advice =
                format!("type `{inside}ethtool -K {name} {off}`: received frames are joined");
            report.add(of, "offloads", is, Verdict::Better, &advice);
        }
        _ => report.good(of, "offloads", is),
    }
}

/// A processor one of the router's threads is to have.
fn core(report: &mut Report, core: usize) {
    let of = format!("core {core}");
    let cpus = "/sys/devices/system/cpu";
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_string());
    let Ok(_) = fs::metadata(format!("{cpus}/cpu{core}")) else {
        let advice = "`nproc` says how many there are, counted from 0";
        return report.add(&of, "processor", "not there", Verdict::Stop, advice);
    };
    let isolated = read(&format!("{cpus}/isolated")).unwrap_or_default();
    if listed(&isolated, core) {
        report.good(&of, "isolated", "yes");
    } else {
        let advice = format!("boot with `isolcpus={core} nohz_full={core}`: others run there, too");
        report.add(&of, "isolated", "no", Verdict::Better, &advice);
    }
    if let Ok(governor) = read(&format!("{cpus}/cpu{core}/cpufreq/scaling_governor")) {
        if governor == "performance" {
            report.good(&of, "governor", governor);
        } else {
            let advice = format!("type `cpupower -c {core} frequency-set -g performance`");
            report.add(&of, "governor", governor, Verdict::Better, &advice);
        }
    }
    let siblings = read(&format!("{cpus}/cpu{core}/topology/thread_siblings_list"));
    match siblings.as_deref() {
        Ok(alone) if alone == core.to_string() => report.good(&of, "hyper-threads", "none"),
        Ok(together) => {
            let advice = "leave the other one idle: they share what they run on";
            report.add(
                &of,
                "hyper-threads",
                format!("{together} are one core"),
                Verdict::Better,
                advice,
            );
        }
        Err(_) => {}
    }
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let times = line(&stat, &format!("cpu{core} ")).unwrap_or_default();
    let times: Vec<u64> = times.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal.
    let (steal, busy) = (times.get(7).copied().unwrap_or(0), times.iter().take(8).sum::<u64>());
    let permille = steal * 1000 / busy.max(1);
    let is = format!("{}.{} % since the start", permille / 10, permille % 10);
    if permille >= 10 {
        let advice = "figures vary: the machine below gives this processor to others";
        report.add(&of, "steal", is, Verdict::Better, advice);
    } else {
        report.good(&of, "steal", is);
    }
}

/// Whether a list like `1,4-7` holds a number.
fn listed(list: &str, number: usize) -> bool {
    list.split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) => (first..=last).contains(&number),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests;
