//! Streams of a plan: run in virtual time, each counted by itself; and written, as Wireshark reads them.

mod folder;
#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;
// Running and reading plans.
mod plans;

use folder::{Folder, text, wirespeed};
use plans::{HEAD, ROUTER, VIRTUAL, committed, count, run, streams, wrong};

#[test]
fn the_plans_that_come_with_the_program() {
    let folder = Folder::with("streams", "");
    for (plan, expected) in [
        (
            "plans/streams.toml",
            &[
                ("plain", 2000),
                ("weighted", 500),
                ("bursts", 208),
                ("three bursts", 96),
                ("ramp", 310),
                ("fields", 400),
                ("4-tuples", 1000),
                ("rows", 90),
                ("tunnel", 100),
            ][..],
        ),
        (
            "plans/streams-bridge.toml",
            &[("QinQ", 240), ("MPLS", 100), ("ARP", 50), ("IPv6", 200), ("raw", 50), ("6in4", 50)],
        ),
    ] {
        let (results, printed, page) = run(&committed(plan), &folder);
        let all = streams(&results);
        for stream in all {
            assert_eq!((stream.received, stream.lost), (stream.sent, 0), "{stream:?}");
            assert_eq!(wrong(stream), 0, "{stream:?}");
            assert!(stream.sent > 0 && stream.intended == stream.sent, "{stream:?}");
            assert_eq!(stream.latency.as_ref().map(|latency| latency.count), Some(stream.received));
            assert!(printed.contains(&stream.name) && page.contains(&stream.name), "{printed}");
        }
        for (name, sent) in expected {
            let stream = all.iter().find(|stream| stream.name == *name).unwrap();
            assert_eq!(stream.sent, *sent, "{name}");
        }
        let alone: Vec<u32> = results.self_tests.iter().map(|one| one.frame_size).collect();
        assert!(alone.contains(&64) && alone.contains(&1518), "the tester alone: {alone:?}");
        assert!(printed.contains("no frame of any stream: duplicate, reordered"), "{printed}");
        let again = run(&committed(plan), &folder).0;
        assert_eq!(streams(&again), all, "the same seed, the same run");
    }
}

/// Where random choices start from is the command line's to say: of streams without a seed of their own.
#[test]
fn seeds_of_the_command_line() {
    let base = "stack = \"eth/ipv4/udp\"\nsizes = \"64-1518\"\nrate = \"1kpps\"";
    let random = "field = [{ name = \"udp.src\", random = \"1024-65535\" }]";
    let of_the_plan = stream("random", &format!("{base}\n{random}"));
    let of_its_own = stream("random", &format!("{base}\nseed = 7\n{random}"));
    let folder = Folder::with("seeds", "");
    let written = |stream: &str, seed: &[&str]| {
        let plan = folder.write("plan.toml", format!("seed = 3\n{HEAD}{stream}"));
        let file = folder.path("a.pcap");
        let out = wirespeed(&[&["test", &plan, "--pcap", &file][..], seed].concat());
        assert!(out.status.success(), "{}", text(&out.stderr));
        (std::fs::read(file).unwrap(), text(&out.stdout))
    };
    let (five, said) = written(&of_the_plan, &["--seed", "5"]);
    assert!(said.contains("seed 5"), "{said}");
    assert!(five == written(&of_the_plan, &["--seed", "5"]).0, "the same seed, the same frames");
    assert!(five != written(&of_the_plan, &["--seed", "1"]).0, "another seed, other frames");
    assert!(written(&of_the_plan, &[]).0 == written(&of_the_plan, &["--seed", "3"]).0);
    assert!(written(&of_its_own, &[]).0 == written(&of_its_own, &["--seed", "5"]).0);
}

fn stream(name: &str, rest: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\n{rest}\npackets = 500\n")
}

/// A device that drops, translates and is too slow: each stream has its own integers.
#[test]
fn each_stream_by_itself() {
    let tcp = "stack = \"eth/ipv4/tcp\"\nsizes = \"76-1518\"\nrate = \"1kpps\"";
    let udp = "stack = \"eth/ipv4/udp\"\nsizes = \"csit\"\nrate = \"1kpps\"";
    let back = format!("from = 2\nto = 1\n{udp}");
    let all = stream("tcp", tcp) + &stream("udp", udp) + &stream("back", &back);
    let folder = Folder::with("streams-each", &format!("{HEAD}{all}{VIRTUAL}"));
    let check = |configuration: &str, expected: [(u64, u64); 3]| {
        folder.write("other.rsc", format!("{ROUTER}{configuration}"));
        let (results, printed, _) = run(&folder.path("plan.toml"), &folder);
        for (stream, (received, lost)) in streams(&results).iter().zip(expected) {
            let found = (stream.received, stream.lost, wrong(stream));
            assert_eq!(found, (received, lost, 0), "{}: {printed}", stream.name);
        }
    };
    check("", [(500, 0); 3]);
    check(
        "/ip firewall filter add chain=forward protocol=tcp action=drop\n",
        [(0, 500), (500, 0), (500, 0)],
    );
    // Other source addresses, and checksums that are right for them; frames of every length.
    check(
        "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade\n",
        [(500, 0); 3],
    );
    // A microsecond each is two milliseconds now: a sixth of what is offered, and rings of 256.
    let slow = VIRTUAL.replace("1us", "2ms");
    let slow = Folder::with("streams-slow", &format!("{HEAD}{all}{slow}"));
    slow.write("other.rsc", ROUTER);
    let (results, printed, page) = run(&slow.path("plan.toml"), &slow);
    for stream in streams(&results) {
        assert!(stream.received > 0 && stream.lost > 0, "{printed}");
        assert_eq!((stream.sent, stream.received + stream.lost), (500, 500), "{printed}");
        assert_eq!(stream.wrong_size + stream.bad_checksum + stream.elsewhere, 0, "{printed}");
    }
    assert!(streams(&results).iter().any(|stream| stream.gaps > 0), "{printed}");
    assert!(printed.contains("gaps") && page.contains("<th>gaps</th>"), "{printed}");
}

/// Latency is the device's, whatever shape a load has: a frame's time is when its bits are on the wire,
/// and not when it was put before others that were due as well. Nor is any lost that was due while the
/// wire was not free.
#[test]
fn no_latency_is_the_testers_own() {
    let fast = "[virtual]\nlink = \"1G\"\nframe = \"1ns\"\nbyte-ps = 1\npause-every = \"100s\"\n\
                pause = \"1ns\"\n[virtual.scaling]\ndivide-durations-by = 1.0\n";
    let udp = "stack = \"eth/ipv4/udp\"";
    let folder = Folder::with("streams-latency", "");
    folder.write("other.rsc", ROUTER);
    let check = |most_ns: u64, all: &[&str]| {
        let streams: Vec<String> = (all.iter().enumerate())
            .map(|(n, rest)| format!("[[stream]]\nname = \"{n}\"\n{udp}\n{rest}\n"))
            .collect();
        let plan = format!("{HEAD}{}{fast}", streams.concat());
        let (results, printed, _) = run(&folder.write("plan.toml", plan), &folder);
        let trial = results.cells[0].trials.last().unwrap();
        assert_eq!(trial.outcome, "pass", "{all:?}: {printed}");
        assert_eq!(trial.sent, trial.streams.iter().map(|stream| stream.sent).sum::<u64>());
        for stream in &trial.streams {
            let latency = stream.latency.as_ref().unwrap();
            assert_eq!((stream.sent, stream.lost), (stream.intended, 0), "{all:?}: {stream:?}");
            assert!(latency.max_ns <= most_ns, "{all:?}: {stream:?}");
        }
    };
    // A nanosecond the device's, two of rounding: to whole ones, on two wires.
    let alike = 3;
    // Whatever stores and forwards still sends a long frame when a short one behind it has come
    // (and histograms round up, by less than a hundredth).
    let mixed = 8 * (1518 - 64) * 101 / 100;
    check(alike, &["sizes = 64\nrate = \"95%\"\nduration = \"10ms\""]);
    check(mixed, &["sizes = \"imix\"\nrate = \"95%\"\nduration = \"10ms\""]);
    check(alike, &["sizes = \"imix\"\nrate = \"1%\"\npackets = 20"]);
    check(mixed, &["sizes = \"64-1518\"\nrate = \"100%\"\nduration = \"10ms\""]);
    check(alike, &["sizes = 64\nrate = \"50%\"\nshape = \"burst 100\"\nduration = \"10ms\""]);
    // More than any queue holds.
    check(alike, &["sizes = 64\nrate = \"100kpps\"\nshape = \"burst 20000\"\npackets = 20000"]);
    check(alike, &["sizes = 300\nrate = \"50%\"\nshape = \"poisson\"\nduration = \"10ms\""]);
    check(
        mixed,
        &[
            "sizes = 64\nrate = \"100kpps\"\nshape = \"multi-burst 3 x 4000, 1ms apart\"",
            "sizes = 1518\nrate = \"20%\"\nduration = \"10ms\"",
            "sizes = \"imix\"\nrate = \"20%\"\nduration = \"10ms\"",
            "from = 2\nto = 1\nsizes = 64\nrate = \"20%\"\nduration = \"10ms\"",
        ],
    );
}

/// Every header that the bridge's plan has, and all that the router's varies.
#[test]
fn frames_as_wireshark_reads_them() {
    let folder = Folder::with("streams-pcap", "");
    for (plan, filters) in [
        (
            "plans/streams-bridge.toml",
            &[
                ("eth.type == 0x88a8 && vlan", 240),
                ("vlan.priority == 7 && udp", 1),
                ("mpls && tcp", 100),
                ("mpls.label == 1048575", 1),
                (
                    "arp.opcode == 1 && arp.dst.proto_ipv4 >= 198.18.1.2 && arp.dst.proto_ipv4 <= 198.18.1.51",
                    50,
                ),
                ("ipv6 && udp && !ip", 200),
                ("icmpv6 && vlan", 50),
                ("icmp.type == 8", 50),
                ("ipv6 && tcp", 50),
                ("ipv6.nxt == 4 && udp", 50),
                ("gre && icmpv6", 50),
                ("ip.proto == 41 && udp", 50),
                ("eth.type == 0x88b5", 50),
            ][..],
        ),
        (
            "plans/streams.toml",
            &[
                ("ip.dsfield.dscp == 46", 400),
                ("udp.srcport <= 1123 && ip.src >= 198.18.1.11 && ip.src <= 198.18.1.20", 1000),
                ("gre && tcp", 100),
                ("tcp.dstport >= 40001 && tcp.dstport <= 40003", 90),
                ("icmp.type == 8 && frame.len < 60", 0),
            ],
        ),
    ] {
        let file = folder.path("streams.pcapng");
        let out = wirespeed(&["test", &committed(plan), "--pcap", &file, "--packets", "5000"]);
        let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
        assert!(out.status.success(), "{stdout}{stderr}");
        assert!(stdout.contains("streams, each at its own load"), "{stdout}");
        if left_out::lacks(&["tshark"]) {
            return;
        }
        let count = |filter: &str| count(&file, filter);
        for status in
            ["ip.checksum", "udp.checksum", "tcp.checksum", "icmp.checksum", "icmpv6.checksum"]
        {
            assert_eq!(count(&format!("{status}.status == 0")), 0, "{status} in {plan}");
            let seen = count(&format!("{status}.status == 1")) > 0;
            assert!(
                seen || plan == "plans/streams.toml" && status == "icmpv6.checksum",
                "{status} in {plan}"
            );
        }
        let lengths = "ip.bogus_ip_length || udp.length.bad || ipv6.plen_exceeds_framing";
        assert_eq!(count(lengths), 0, "{plan}");
        for &(filter, n) in filters {
            let found = count(filter);
            let any = n == 1 && found > 0;
            assert!(found == n || any, "{filter} in {plan}: {found}");
        }
    }
}
