//! The kernel as oracle: the same rule and the same packets through our router and through
//! netfilter; both must let the same packets out and count the same.
//!
//! ```text
//!            ┌─► [ router: /ip firewall ] ─► which packets came out, what the rules counted ─┐
//!  packets ──┤                                                                               ├─ equal
//!            └─► tap1 [ kernel: nft ] tap2 ─► the same                                      ─┘
//! ```
//!
//! 10.0.1.1 to .3 are behind ether1 (tap1), 10.0.2.1 to .3 behind ether2 (tap2), the router is .254 in
//! both. Each case has a namespace of its own. What nft cannot say (`content` anywhere, `psd`, PCC,
//! `layer7-protocol`, `tls-host`, bridge ports, priorities, `random`) is tested beside its matcher.

mod cases;
#[path = "../../../port/tests/left_out/mod.rs"]
mod left_out;
mod packets;
#[path = "../rig/mod.rs"]
mod rig;

use cases::Case;
use packets::Sent;
use port::linux::Namespace;
use port::linux::tap::{Options, TapPort};
use port::{Batch, Port, Slab};
use rig::{Rig, own_mac};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use wire::{MacAddr, Moment, layers};

/// What became of the packets: those that came out, and what each rule counted.
#[derive(Debug, PartialEq, Eq)]
struct Fate {
    /// Port, identification, and the addresses it came out with.
    out: BTreeSet<(usize, u16, u32, u32)>,
    /// Packets and IP bytes.
    counts: Vec<(u64, u64)>,
}

impl Fate {
    /// Notes a frame that came out, if it is one of those sent.
    fn note(&mut self, port: usize, frame: &[u8]) {
        let Ok(layers) = layers::parse(frame) else { return };
        let ours = layers.tuple.src & 0xff != 254 && layers.tuple.src >> 24 == 10;
        let l3 = usize::from(layers.l3);
        if let (true, Some(&[a, b])) = (ours, frame.get(l3 + 4..l3 + 6)) {
            let ident = u16::from_be_bytes([a, b]);
            self.out.insert((port, ident, layers.tuple.src, layers.tuple.dst));
        }
    }
}

/// A host's address on the link.
fn host_mac(net: usize, host: u8) -> MacAddr {
    MacAddr([6, 0, 0, 0, net as u8, host])
}

fn through_us(case: &Case, packets: &[Sent], unix: u64) -> Fate {
    let mut rig = Rig::new(2, "");
    rig.router.set_clock(unix);
    for net in 1..=2 {
        rig.run(&format!("/ip address add address=10.0.{net}.254/24 interface=ether{net}"));
        for host in 1..=3 {
            let mac = host_mac(net, host);
            rig.run(&format!(
                "/ip arp add address=10.0.{net}.{host} mac-address={mac} interface=ether{net}"
            ));
        }
    }
    let tracking = if case.tracked { "yes" } else { "no" };
    rig.run(&format!("/ip firewall connection tracking set enabled={tracking}"));
    for line in case.ours {
        rig.run(line);
    }
    let mut fate = Fate { out: BTreeSet::new(), counts: Vec::new() };
    for packet in packets {
        let frame = packet.to(own_mac(packet.port as u8));
        for (port, frame) in rig.pass(packet.port, &frame) {
            fate.note(port, &frame);
        }
    }
    let tree = rig.console.tree();
    for menu in ["/ip firewall filter", "/ip firewall nat"] {
        let counts = rig.router.rule_counts(menu, tree);
        fate.counts.extend(counts.iter().map(|count| (count.packets, count.bytes)));
    }
    fate
}

/// Runs a program in the namespace.
fn run(at: &Namespace, program: &str, arguments: &[&str], input: &str) -> String {
    let ran = at.run(|| {
        let mut child = Command::new(program)
            .args(arguments)
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        child.stdin.take().expect("a pipe").write_all(input.as_bytes())?;
        child.wait_with_output()
    });
    let ran = ran.expect("a thread").expect(program);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{program} {arguments:?}: {said}\n{input}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

fn through_kernel(case: &Case, packets: &[Sent], at: &Namespace) -> Fate {
    let slab = Slab::new(1024).expect("memory");
    let mut pool = slab.pool();
    let mut taps: Vec<TapPort> = (1..=2)
        .map(|net| {
            let opened = at.run(|| {
                // No router solicitations.
                std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")
                    .expect("a namespace of our own");
                let options = Options { offload: false, ..Options::default() };
                TapPort::open(&format!("tap{net}"), &slab, &options)
            });
            opened.expect("a thread").unwrap_or_else(|unavailable| panic!("{unavailable}"))
        })
        .collect();
    let mut commands = String::new();
    for net in 1..=2 {
        commands += &format!("address add 10.0.{net}.254/24 dev tap{net}\n");
        for host in 1..=3 {
            let mac = host_mac(net, host);
            commands += &format!("neighbour add 10.0.{net}.{host} dev tap{net} lladdr {mac}\n");
        }
    }
    run(at, "ip", &["-batch", "-"], &commands);
    let settings = ["ipv4/conf/all/forwarding", "netfilter/nf_conntrack_acct"];
    at.run(|| {
        for setting in settings {
            let _ = std::fs::write(format!("/proc/sys/net/{setting}"), "1");
        }
        for of in ["all", "tap1", "tap2"] {
            let _ = std::fs::write(format!("/proc/sys/net/ipv4/conf/{of}/rp_filter"), "0");
        }
    })
    .expect("a thread");
    run(at, "nft", &["-f", "-"], &format!("table ip t {{\n{}\n}}\n", case.kernel));
    let mut fate = Fate { out: BTreeSet::new(), counts: Vec::new() };
    let mut batch = Batch::new();
    let mut take = |taps: &mut [TapPort], fate: &mut Fate| {
        let mut taken = 0;
        for (n, tap) in taps.iter_mut().enumerate() {
            let mut pool = slab.pool();
            while tap.receive(Moment::ZERO, &mut pool, &mut batch) > 0 {
                taken += batch.len();
                batch.as_slice().iter().for_each(|frame| fate.note(n + 1, slab.bytes(frame)));
                batch.free_all(&mut pool);
            }
        }
        taken
    };
    for packet in packets {
        let tap = &mut taps[packet.port - 1];
        let bytes = packet.to(tap.facts().mac);
        let mut frame = pool.alloc(bytes.len()).expect("a frame");
        slab.bytes_mut(&mut frame).copy_from_slice(&bytes);
        let mut out = Batch::new();
        out.push(frame);
        tap.send(Moment::ZERO, &mut pool, &mut out);
        take(&mut taps, &mut fate);
    }
    // The kernel forwards while we write; but another core may have had a hand in it.
    let mut quiet = 0;
    while quiet < 5 {
        quiet = if take(&mut taps, &mut fate) == 0 { quiet + 1 } else { 0 };
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let listed = run(at, "nft", &["list", "table", "ip", "t"], "");
    let mut words = listed.split_whitespace();
    // counter packets 3 bytes 84
    while words.any(|word| word == "counter") {
        let [packets, bytes] = [(); 2].map(|()| words.nth(1).and_then(|n| n.parse().ok()));
        fate.counts.extend(packets.zip(bytes));
    }
    fate
}

#[test]
fn rules_do_what_netfilter_does() {
    if left_out::lacks(&["nft", "ip"]) {
        return;
    }
    if let Err(unavailable) = Namespace::new() {
        return left_out::left_out(unavailable);
    }
    #[allow(clippy::disallowed_methods, reason = "the kernel goes by its own clock")]
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let cases = cases::all(unix);
    let (mut n_packets, mut differ) = (0, String::new());
    for (n, case) in cases.iter().enumerate() {
        let packets = (case.packets)(n as u64 + 1);
        let at = Namespace::new().unwrap_or_else(|unavailable| panic!("{unavailable}"));
        let kernel = through_kernel(case, &packets, &at);
        let ours = through_us(case, &packets, unix);
        n_packets += packets.len();
        let matched = ours.counts.iter().any(|&(packets, _)| packets > 0);
        if !matched && !case.never {
            differ += &format!("{}: no packet matches {:?}\n", case.name, case.ours);
        }
        if ours != kernel {
            let only =
                |a: &Fate, b: &Fate| a.out.difference(&b.out).take(3).copied().collect::<Vec<_>>();
            differ += &format!(
                "{}: counted {:?}, by the kernel {:?}; let out {} and {}: only we {:?}, only it {:?}\n",
                case.name,
                ours.counts,
                kernel.counts,
                ours.out.len(),
                kernel.out.len(),
                only(&ours, &kernel),
                only(&kernel, &ours),
            );
            for (_, ident, ..) in only(&ours, &kernel).into_iter().chain(only(&kernel, &ours)) {
                let packet = packets.iter().find(|packet| packet.ident == ident);
                differ += &format!("   {ident}: {}\n", packet.map_or("?", |packet| &packet.text));
            }
        }
    }
    assert!(differ.is_empty(), "\n{differ}");
    let matchers: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    eprintln!("{} rules, {} matchers, {n_packets} packets", cases.len(), matchers.len());
    assert!(matchers.len() >= 25, "{matchers:?}");
}
