//! DPDK's `rte_fib` and `rte_fib6` beside our table: the same routes and addresses, in the same run.
//!
//! Left out with one line where no C compiler or no `libdpdk` is installed (Debian: `dpdk-dev`, `gcc`).

use router::ip::fib::NextHopId;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/rte_fib/rte_fib.c");
/// Without huge pages, devices and shared files.
const ARGUMENTS: &[&str] =
    &["--no-huge", "-m", "4096", "--no-pci", "--no-telemetry", "--no-shconf", "-l", "0"];

/// A family's number, how many hexadecimal digits an address has, and an address as such.
pub(crate) trait Family: Copy {
    const NUMBER: u8;
    fn hex(self) -> String;
}

impl Family for u32 {
    const NUMBER: u8 = 4;
    fn hex(self) -> String {
        format!("{self:08x}")
    }
}

impl Family for u128 {
    const NUMBER: u8 = 6;
    fn hex(self) -> String {
        format!("{self:032x}")
    }
}

/// The least nanoseconds that a look-up took; `None` where it cannot be built or run.
pub(crate) fn ns_per_lookup<A: Family>(
    routes: impl ExactSizeIterator<Item = (A, u8, NextHopId)>,
    addresses: &[A],
) -> Option<f64> {
    let program = build().or_else(|| {
        eprintln!("no rows of rte_fib: cc and libdpdk are not installed");
        None
    })?;
    let mut text = format!("{} {} {}\n", A::NUMBER, routes.len(), addresses.len());
    for (address, len, hop) in routes {
        text += &format!("{} {len} {}\n", address.hex(), hop.0);
    }
    addresses.iter().for_each(|address| text += &format!("{}\n", address.hex()));
    let mut command = Command::new(program);
    command.args(ARGUMENTS).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut input = child.stdin.take()?;
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).is_ok());
    let output = child.wait_with_output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let ns = said.split_whitespace().rev().nth(1).and_then(|ns| ns.parse().ok());
    if !writer.join().ok()? || ns.is_none() {
        eprintln!("no row of rte_fib for IPv{}: it ended with {}", A::NUMBER, output.status);
    }
    ns
}

/// The program, built once.
fn build() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rte_fib");
    let flags = Command::new("pkg-config").args(["--cflags", "libdpdk"]).output().ok()?;
    if !flags.status.success() {
        return None;
    }
    let flags = String::from_utf8_lossy(&flags.stdout);
    let mut cc = Command::new("cc");
    cc.args(["-O3", "-march=native", "-o"])
        .arg(&program)
        .args(flags.split_whitespace())
        .arg(SOURCE);
    let built = cc.args(["-lrte_fib", "-lrte_rib", "-lrte_eal"]).status().ok()?;
    built.success().then_some(program)
}
