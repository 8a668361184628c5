//! The machine: the kernel, what this process may do, what it may lock in memory, threads and
//! processors.

use super::{Report, Verdict, Wanted, line};
use crate::linux::tap::User;
use crate::real::open;
use crate::real::spec::{Backend, PortSpec};
use port::linux::Unavailable;
use port::linux::bpf::Map;
use rustix::net::{AddressFamily, SocketType, socket};
use std::fs;

/// `CAP_…`: numbers of linux/capability.h.
const NET_ADMIN: u32 = 12;
const NET_RAW: u32 = 13;
const IPC_LOCK: u32 = 14;
const SYS_ADMIN: u32 = 21;
const BPF: u32 = 39;

pub(super) fn look(report: &mut Report, wanted: &Wanted<'_>) {
    report.good("machine", "kernel", crate::machine::kernel());
    let has = |backend| wanted.ports.iter().any(|port| port.backend == backend);
    rights(report, wanted.ports);
    if has(Backend::Xdp) {
        memory_lock(report, wanted.memory, may(IPC_LOCK));
    }
    threads(report, wanted);
    if has(Backend::Xdp) {
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
    if has(Backend::Packet) {
        match socket(AddressFamily::PACKET, SocketType::RAW, None) {
            Ok(_) => report.good("machine", "AF_PACKET", "there"),
            Err(error) => {
                let why = Unavailable::because("open an AF_PACKET socket", error.into());
                report.stop("machine", "AF_PACKET", &why, "type `modprobe af_packet`");
            }
        }
    }
    if has(Backend::Tap) {
        match fs::File::options().read(true).write(true).open("/dev/net/tun") {
            Ok(_) => report.good("machine", "TAP", "there"),
            Err(error) => {
                let why = Unavailable::because("open /dev/net/tun", error);
                report.stop("machine", "TAP", &why, "type `modprobe tun`");
            }
        }
    }
}

/// Whether this process has a capability.
fn may(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = line(&status, "CapEff:").and_then(|bits| u64::from_str_radix(bits, 16).ok());
    effective.unwrap_or(0) >> number & 1 == 1
}

/// Why this user cannot have a port's TAP interface, and what lets it; `None` if it can.
pub(super) fn not_ours(port: &PortSpec) -> Option<String> {
    if port.backend != Backend::Tap || may(NET_ADMIN) {
        return None;
    }
    let (tun, user) = (open::tun(port), User::ours());
    let may_have = tun.as_ref().is_some_and(|tun| user.may_have(tun));
    (!may_have).then(|| user.remedy(&port.interface, tun.as_ref()))
}

/// Where the running program is, as a shell takes it: it need not be where a shell looks for it.
fn program() -> String {
    let path = std::env::current_exe().map(|path| path.display().to_string());
    quoted(&path.unwrap_or_else(|_| "wirespeed".to_string()))
}

/// A word of a shell's.
fn quoted(word: &str) -> String {
    match word.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-_.+".contains(&b)) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What this process may do, and what its ports take.
fn rights(report: &mut Report, ports: &[PortSpec]) {
    let any = |is: fn(&PortSpec) -> bool| ports.iter().any(is);
    let elsewhere = any(|port| port.namespace.is_some());
    let [xdp, packet, tap] = [
        any(|port| port.backend == Backend::Xdp),
        any(|port| port.backend == Backend::Packet),
        // Who owns one needs no right to have it.
        any(|port| not_ours(port).is_some()),
    ];
    // A program keeps its frames from the kernel; without kernel=no it may be missing.
    let alone = any(|port| port.backend == Backend::Packet && port.options.kernel == Some(false));
    let advice = |capability: &str| {
        let also = if elsewhere { ",cap_sys_admin" } else { "" };
        format!(
            "{capability}run it with sudo, or `sudo setcap \
             cap_net_admin,cap_net_raw,cap_bpf,cap_ipc_lock{also}+ep {}`",
            program()
        )
    };
    let unlucky = "a port by packet shares its frames with the kernel otherwise: ";
    let administers = xdp || packet || tap || may(NET_ADMIN);
    for (name, wanted, needed, granted) in [
        // Who may administer the system may load programs of networking, too.
        (
            "CAP_NET_ADMIN",
            administers,
            xdp || tap || alone,
            may(NET_ADMIN) || !tap && may(SYS_ADMIN),
        ),
        ("CAP_NET_RAW", xdp || packet, true, may(NET_RAW)),
        ("CAP_BPF", xdp || packet, xdp || alone, may(BPF) || may(SYS_ADMIN)),
        ("CAP_SYS_ADMIN", elsewhere, true, may(SYS_ADMIN)),
    ] {
        match (wanted, granted) {
            (false, _) => {}
            (true, true) => report.good("machine", name, "granted"),
            (true, false) if needed => {
                report.add("machine", name, "not granted", Verdict::Stop, &advice(""));
            }
            (true, false) => {
                report.add("machine", name, "not granted", Verdict::Warn, &advice(unlucky));
            }
        }
    }
}

/// Whether the frames' memory, in bytes, can be given to AF_XDP.
fn memory_lock(report: &mut Report, memory: u64, unbound: bool) {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let limit = line(&limits, "Max locked memory").unwrap_or_default();
    let soft = limit.split_whitespace().next().unwrap_or("unlimited");
    let least = memory.div_ceil(1024);
    match soft.parse::<u64>() {
        _ if unbound => report.good("machine", "memory lock", "does not bind (CAP_IPC_LOCK)"),
        Ok(bytes) if bytes < memory => {
            let is = format!("{} KiB, and frames take {least}", bytes >> 10);
            let advice = format!(
                "type `ulimit -l {least}` first (LimitMEMLOCK= in a unit), or run it with sudo"
            );
            report.add("machine", "memory lock", is, Verdict::Stop, &advice);
        }
        Ok(bytes) => {
            let is = format!("{} KiB, of which frames take {least}", bytes >> 10);
            report.good("machine", "memory lock", is);
        }
        Err(_) => report.good("machine", "memory lock", soft),
    }
}

/// Whether each thread can have a processor.
fn threads(report: &mut Report, wanted: &Wanted<'_>) {
    let (threads, cores) = (wanted.threads, port::affinity::allowed().len());
    let (some, on) = (if threads == 1 { "" } else { "s" }, if cores == 1 { "" } else { "s" });
    let is = format!("{threads} thread{some}, {cores} processor{on}");
    if threads <= cores {
        return report.good("machine", "threads", is);
    }
    let advice = match cores {
        1 => "leave out --workers: they take turns otherwise".to_string(),
        _ => format!("take --workers {} at most: they take turns otherwise", cores - 1),
    };
    report.add("machine", "threads", is, Verdict::Better, &advice);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The advice is typed into a shell: it names the program that runs, which need not be where the
    /// shell would look for it.
    #[test]
    fn the_program_is_named_as_a_shell_takes_it() {
        for (path, expected) in [
            ("/usr/bin/wirespeed", "/usr/bin/wirespeed"),
            ("/home/a/my builds/wirespeed", "'/home/a/my builds/wirespeed'"),
            ("/tmp/it's", r"'/tmp/it'\''s'"),
            ("/tmp/$(x)", "'/tmp/$(x)'"),
        ] {
            assert_eq!(quoted(path), expected);
        }
        let ours = std::env::current_exe().unwrap();
        assert_eq!(program(), quoted(&ours.display().to_string()));
    }
}
