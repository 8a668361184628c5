//! TCP as hosts of ours speak it, with the Linux kernel as its peer, and tshark looking on.
//!
//! ```text
//!  our clients ═ capture ═ va ════ vb ═ kernel ═ a program that accepts and answers
//!  our servers ═ capture ═ va ════ vb ═ kernel ═ a program that asks and compares
//! ```
//!
//! What one side opened the other accepted, what one sent the other received, nobody reset anything:
//! by our counters, the program's and the kernel's. Whether something was sent again depends on how
//! long the machine stops: where nothing was, tshark must have nothing to say.

#![cfg(target_os = "linux")]

#[path = "../../../port/tests/veth/mod.rs"]
mod veth;

use measure::tcp::{Counts, Endpoint, NextHop, Plan, Role, Transactions};
use port::capture::CapturePort;
use port::linux::bpf::clock_ns;
use port::linux::{Namespace, packet, xdp};
use port::{Port, Slab, pcap};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use veth::left_out::lacks;
use veth::{Veth, sh};
use wire::{Ipv4Range, MacAddr, Moment};

const OURS: u32 = 0x0a00_0002;
const THEIRS: u32 = 0x0a00_0001;
/// Longer than any machine stops.
const PATIENCE_NS: u64 = 120_000_000_000;

/// What is said.
const CONNECTIONS: u64 = 160;
const TALK: Transactions =
    Transactions { count: 3, request: 700, response: 20_000, think: Duration::ZERO };

fn plan(role: Role) -> Plan {
    Plan {
        role,
        mac: MacAddr([2, 0, 0, 0, 0, 9]),
        next_hop: NextHop::Arp(THEIRS),
        addresses: Ipv4Range::new(OURS, OURS).unwrap(),
        ports: (80, 80),
        transactions: TALK,
        mss: 1460,
        window: 1 << 20,
        retries: 15,
        time_wait: Duration::from_millis(10),
        compare: false,
        seed: 7,
    }
}

fn clients() -> Plan {
    let role = Role::Clients {
        servers: Ipv4Range::new(THEIRS, THEIRS).unwrap(),
        services: (80, 80),
        rate: None,
        concurrent: 16,
        total: Some(CONNECTIONS),
        hold: Duration::ZERO,
    };
    Plan { ports: (20_000, 29_999), ..plan(role) }
}

/// A program of this folder, in the kernel's namespace.
fn start(at: &Namespace, program: &str, arguments: &[u64]) -> Child {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tcp_kernel").join(program);
    let mut command = Command::new("python3");
    command.arg(path).args(arguments.iter().map(u64::to_string)).stdout(Stdio::piped());
    at.spawn(command).unwrap()
}

/// The numbers it printed at its end.
fn said(mut child: Child) -> Vec<u64> {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The kernel's counters of TCP in a namespace.
fn kernel_counters(at: &Namespace) -> HashMap<String, u64> {
    let text = sh(at, "grep ^Tcp: /proc/net/snmp");
    let mut lines = text.lines().map(|line| line.split_whitespace().skip(1));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    names.map(str::to_string).zip(values.map(|n| n.parse().unwrap_or(0))).collect()
}

/// A capture file, gone at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(std::env::temp_dir().join(format!("wirespeed-{name}-{}.pcap", std::process::id())))
    }

    fn tshark(&self, words: &str) -> Vec<String> {
        let mut command = Command::new("tshark");
        command.arg("-2").arg("-r").arg(&self.0);
        command.args(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
        // What is said there is nobody's protocol, whatever its bytes look like.
        command.args(["-d", "tcp.port==80,data"]).args(words.split('~'));
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}: {error}");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// How our end's port is opened.
#[derive(Clone, Copy, Debug)]
enum By {
    Packet,
    Xdp,
}

/// A pair with the kernel's address at one end, and our port at the other.
fn lab(by: By, slab: &Slab) -> Option<(Veth, Box<dyn Port>)> {
    let pair = Veth::new()?;
    sh(&pair.b, "ip address add 10.0.0.1/24 dev vb");
    let port: Box<dyn Port> = match by {
        By::Packet => {
            let open = || packet::PacketPort::open("va", slab, &packet::Options::default());
            Box::new(pair.a.run(open).unwrap().unwrap())
        }
        By::Xdp => {
            let open = || xdp::XdpPort::open("va", slab, &xdp::Options::default());
            Box::new(pair.a.run(open).unwrap().unwrap())
        }
    };
    Some((pair, port))
}

/// Lets an endpoint run until `done`; what it counted, and its capture.
fn run(
    plan: Plan,
    port: Box<dyn Port>,
    slab: &Slab,
    file: &File,
    mut done: impl FnMut(&Endpoint) -> bool,
) -> Counts {
    let written = std::io::BufWriter::new(std::fs::File::create(&file.0).unwrap());
    let mut port = CapturePort::new(port, pcap::Writer::new(written).unwrap());
    let (mut endpoint, mut pool) = (Endpoint::new(plan).unwrap(), slab.pool());
    let begin = clock_ns();
    while !done(&endpoint) {
        let now = Moment::from_nanos(clock_ns() - begin);
        if endpoint.poll(now, &mut pool, &mut port) == 0 {
            std::thread::yield_now();
        }
        assert!(now.as_nanos() < PATIENCE_NS, "not done: {}", told(endpoint.counts()));
    }
    assert_eq!(port.n_missed(), 0);
    endpoint.counts().clone()
}

/// Counts without their histograms.
fn told(counts: &Counts) -> String {
    format!("{counts:?}").split("connect_ns").next().unwrap_or_default().to_string()
}

/// What all runs have in common: nothing reset, damaged or given up, and where nothing was sent
/// again tshark sees whole, faultless connections.
fn check(ours: &Counts, kernel: &HashMap<String, u64>, file: &File) -> bool {
    let told = format!("{}\n{kernel:?}", told(ours));
    let bad = [ours.reset, ours.timed_out, ours.corrupt, ours.stray, ours.cut_short, ours.no_tuple];
    assert_eq!(bad, [0; 6], "{told}");
    for name in ["InErrs", "InCsumErrors", "OutRsts", "EstabResets", "AttemptFails"] {
        assert_eq!(kernel[name], 0, "{name}: {told}");
    }
    // The kernel writes 0xffff where the sum is 0, as UDP does; tshark objects, no receiver does.
    let bad = "tcp.flags.reset == 1 || ip.checksum.status == 0 || _ws.malformed \
               || (tcp.checksum.status == 0 && !(ip.src == 10.0.0.1 && tcp.checksum == 0xffff))";
    assert_eq!(file.tshark(&format!("-Y~{bad}")), [""; 0], "{told}");
    let again = ours.retransmitted + ours.retransmitted_syns + kernel["RetransSegs"];
    if again + ours.out_of_order + ours.old_segments > 0 {
        eprintln!("{again} segments were sent again: the machine stopped for a while");
        return false;
    }
    // Not a fault: a window that opens, or is full.
    let flags = "tcp.analysis.flags && !tcp.analysis.window_update && !tcp.analysis.window_full";
    let flagged = file.tshark(&format!("-Y~{flags}"));
    assert!(flagged.is_empty(), "{}\n{told}", flagged.join("\n"));
    // SYN, its answer, ACK, data, FIN: 31, without a reset.
    let mut streams = file.tshark("-Y~tcp~-T~fields~-e~tcp.stream~-e~tcp.completeness");
    streams.sort();
    streams.dedup();
    assert_eq!(streams.len() as u64, CONNECTIONS, "{told}");
    let whole = |line: &&String| line.ends_with("\t31");
    assert_eq!(streams.iter().filter(whole).count(), streams.len(), "{streams:?}");
    true
}

/// A machine that stops makes TCP send again; one that never has a quiet second is no reason to fail.
const TRIES: usize = 5;

#[test]
fn the_kernel_accepts_what_we_open() {
    if lacks(&["tshark", "python3"]) {
        return;
    }
    for by in [By::Packet, By::Xdp] {
        for _ in 0..TRIES {
            let slab = Slab::new(1 << 14).unwrap();
            let Some((pair, port)) = lab(by, &slab) else { return };
            let file = File::new(&format!("accepts-{by:?}"));
            let arguments = [CONNECTIONS, u64::from(TALK.request), TALK.response];
            let mut child = start(&pair.b, "server.py", &arguments);
            let mut ready = String::new();
            BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
            assert_eq!(ready, "ready\n");
            let ours = run(clients(), port, &slab, &file, Endpoint::is_done);
            let transactions = CONNECTIONS * u64::from(TALK.count);
            let asked = transactions * u64::from(TALK.request);
            let answered = transactions * TALK.response;
            assert_eq!(said(child), [CONNECTIONS, asked, answered], "{}", told(&ours));
            let counted = [ours.opened, ours.established, ours.closed, ours.transactions];
            assert_eq!(counted, [CONNECTIONS, CONNECTIONS, CONNECTIONS, transactions]);
            assert_eq!((ours.bytes_sent, ours.bytes_received), (asked, answered));
            let kernel = kernel_counters(&pair.b);
            assert_eq!(kernel["PassiveOpens"], CONNECTIONS, "{kernel:?}");
            if check(&ours, &kernel, &file) {
                break;
            }
        }
    }
}

#[test]
fn we_accept_what_the_kernel_opens() {
    if lacks(&["tshark", "python3"]) {
        return;
    }
    for by in [By::Packet, By::Xdp] {
        for _ in 0..TRIES {
            let slab = Slab::new(1 << 14).unwrap();
            let Some((pair, port)) = lab(by, &slab) else { return };
            let file = File::new(&format!("opens-{by:?}"));
            let Transactions { count, request, response, .. } = TALK;
            let words = [u64::from(count), u64::from(request), response];
            let mut child = start(&pair.b, "client.py", &[&[CONNECTIONS, 8], &words[..]].concat());
            let mut over = false;
            let ours = run(plan(Role::Servers), port, &slab, &file, |endpoint| {
                over = over || child.try_wait().unwrap().is_some();
                over && endpoint.connections() == 0
            });
            let transactions = CONNECTIONS * u64::from(count);
            let (asked, answered) = (transactions * words[1], transactions * words[2]);
            assert_eq!(said(child), [CONNECTIONS, asked, answered], "{}", told(&ours));
            let counted = [ours.established, ours.closed, ours.transactions];
            assert_eq!(counted, [CONNECTIONS, CONNECTIONS, transactions], "{}", told(&ours));
            assert_eq!((ours.bytes_sent, ours.bytes_received), (answered, asked));
            let kernel = kernel_counters(&pair.b);
            assert_eq!(kernel["ActiveOpens"], CONNECTIONS, "{kernel:?}");
            if check(&ours, &kernel, &file) {
                break;
            }
        }
    }
}
