//! The script of a machine's first program: `init.sh`, and what the lab's file says put into it.

use super::kernel::Kernel;
use super::line::N_LINES;
use crate::topology::HostSpec;
use std::path::{Path, PathBuf};

const INIT: &str = include_str!("init.sh");

pub(super) fn init(
    name: &str,
    kernel: &Kernel,
    modules: &[PathBuf],
    spec: &HostSpec,
    directory: &Path,
) -> String {
    let load = modules.iter().map(|file| format!("load {}", quoted(&file.to_string_lossy())));
    let load = load.collect::<Vec<_>>().join("\n");
    let lines = (0..N_LINES).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    [
        ("@BUSYBOX@", quoted(&kernel.busybox.to_string_lossy())),
        ("@LINES@", lines),
        ("@MODULES@", load),
        ("@NAME@", quoted(name)),
        ("@NETWORK@", network(spec)),
        ("@ENVIRONMENT@", environment()),
        ("@DIRECTORY@", quoted(&directory.to_string_lossy())),
    ]
    .iter()
    .fold(INIT.to_string(), |script, (from, to)| script.replace(from, to))
}

/// Its interfaces under their names, silent where there is IPv6, up, with addresses and routes.
fn network(spec: &HostSpec) -> String {
    let mut lines = Vec::new();
    for (at, interface) in spec.interfaces.iter().enumerate() {
        let name = quoted(interface);
        lines.push(format!("try $b ip link set vec{at} name {name}"));
        let silent = format!("/proc/sys/net/ipv6/conf/{interface}/addr_gen_mode");
        lines.push(format!("if [ -e {silent} ]; then echo 1 >{silent}; fi"));
        lines.push(format!("try $b ip link set {name} up"));
    }
    for (interface, address, length) in &spec.addresses {
        let interface = interface.map_or("lo", |at| spec.interfaces[at].as_str());
        lines.push(format!("try $b ip addr add {address}/{length} dev {}", quoted(interface)));
    }
    for (destination, gateway) in &spec.routes {
        lines.push(format!("try $b ip route add {destination} via {gateway}"));
    }
    lines.join("\n")
}

/// What programs have in their environment, the same as on a host.
fn environment() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("PATH={path}:/usr/local/sbin:/usr/sbin:/sbin");
    let all = [path.as_str(), "HOME=/root", "LC_ALL=C.UTF-8", "PYTHONUNBUFFERED=1"];
    all.map(quoted).join(" ")
}

/// As a shell takes it for one word, in one line.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%^".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => {
            let escaped = word.replace('\\', "\\\\").replace('\'', "\\'");
            format!("$'{}'", escaped.replace('\n', "\\n").replace('\r', "\\r"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_word_and_one_line() {
        for (word, expected) in [
            ("a/b.c", "a/b.c"),
            ("", "$''"),
            ("it's", "$'it\\'s'"),
            ("a\n$b \\c", "$'a\\n$b \\\\c'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
