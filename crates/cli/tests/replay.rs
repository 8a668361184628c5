//! Captures replayed by a plan: each frame known again when it comes back; written, as Wireshark reads
//! them and as tcprewrite writes them.
//!
//! ```text
//!  capture ─► [[replay]] ─┬─► router in virtual time ─► so many sent, received, lost: of each way
//!                         └─► --pcap ─► tshark: right checksums    tcprewrite: the same bytes
//! ```

mod folder;
#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;
// Running and reading plans.
mod plans;

use folder::{Folder, text, wirespeed};
use measure::suite_result::StreamRecord;
use plans::{HEAD, ROUTER, VIRTUAL, committed, count, run, streams, wrong};
use port::pcap;
use port::record::Reader;
use std::process::Command;

#[test]
fn the_plan_that_comes_with_the_program() {
    let folder = Folder::with("replay", "");
    let (results, printed, page) = run(&committed("plans/replay.toml"), &folder);
    let all = streams(&results);
    let expected = [
        ("page 1 ► 2", (1, 2), 8),
        ("page 2 ► 1", (2, 1), 6),
        ("ten clients 1 ► 2", (1, 2), 80),
        ("ten clients 2 ► 1", (2, 1), 70),
        ("one way", (2, 1), 40),
    ];
    let seen: Vec<_> = all.iter().map(|s| (s.name.as_str(), (s.from, s.to), s.sent)).collect();
    assert_eq!(seen, expected);
    for stream in all {
        let StreamRecord { sent, intended, received, lost, .. } = *stream;
        assert_eq!((intended, received, lost), (sent, sent, 0), "{stream:?}");
        assert_eq!(wrong(stream), 0, "{stream:?}");
        let count = stream.latency.as_ref().map(|latency| latency.count);
        assert_eq!(count, Some(received), "{}", stream.name);
        assert!(stream.capture.as_ref().is_some_and(|capture| capture.file.contains("tiny")));
        assert!(printed.contains(&stream.name) && page.contains(&stream.name), "{printed}");
    }
    let trial = results.cells[0].trials.last().unwrap();
    assert_eq!((trial.sent, trial.received, trial.foreign), (204, 204, 0));
    assert!(printed.contains("duplicate, reordered, elsewhere, altered; 0 foreign"), "{printed}");
    let again = run(&committed("plans/replay.toml"), &folder).0;
    assert_eq!(streams(&again), all, "the same seed, the same run");
}

const HOSTS: &str = "map = { \"192.168.88.0/24\" = \"198.18.1.0/24\", \"203.0.113.1/32\" = \
                     \"198.19.1.101/32\", \"203.0.113.2/32\" = \"198.19.1.102/32\" }\n";

/// 14,000 frames of a home: pages, DNS, fragments, traceroutes, ICMP errors, two ways. All that is not
/// back the router says that it dropped, and why.
#[test]
fn a_whole_home() {
    if left_out::lacks(&["gzip"]) {
        return;
    }
    let mut gzip = Command::new("gzip");
    let unpacked = gzip.arg("-dc").arg(committed("captures/home.pcap.gz")).output().unwrap();
    let text = format!("{HEAD}[[replay]]\nfile = \"home.pcap\"\nspeed = 10\n{HOSTS}{VIRTUAL}");
    let folder = Folder::with("replay-home", &text);
    folder.write("home.pcap", &unpacked.stdout);
    folder.write("other.rsc", ROUTER);
    let (results, printed, _) = run(&folder.path("plan.toml"), &folder);
    let [to, back] = streams(&results) else { panic!("{printed}") };
    assert_eq!((to.sent, back.sent), (7508, 6452), "10 frames are not IP: {printed}");
    // Traceroute's, and what IPv6 says when an interface comes up: to groups the router is not in.
    let dropped = &results.cells[0].dropped;
    let of = |reason: &str| dropped.get(reason).copied().unwrap_or_default();
    assert_eq!((of("ttl-exceeded"), of("multicast-destination")), (9, 2), "{dropped:?}");
    // Four of these it heard itself.
    assert_eq!(to.lost + back.lost, dropped.values().sum::<u64>() + 4, "{dropped:?}");
    for way in [to, back] {
        assert_eq!((wrong(way), way.received + way.lost), (0, way.sent), "{way:?}");
    }
}

/// A device that drops, one that translates, one that is too slow, one that answers itself.
#[test]
fn each_frame_is_accounted_for() {
    let all = std::fs::read(committed("captures/tiny.pcap")).unwrap();
    let check = |capture: &[u8], more: &str, device: &str, virtual_time: &str| {
        let text = format!(
            "{HEAD}[[replay]]\nfile = \"tiny.pcap\"\nloop = 20\n{HOSTS}{more}{virtual_time}"
        );
        let folder = Folder::with("replay-each", &text);
        folder.write("tiny.pcap", capture);
        folder.write("other.rsc", format!("{ROUTER}{device}"));
        let (results, printed, _) = run(&folder.path("plan.toml"), &folder);
        let trial = results.cells[0].trials.last().unwrap().clone();
        for way in &trial.streams {
            assert_eq!(way.altered() + way.elsewhere + way.duplicate, 0, "{printed}");
            assert_eq!((way.sent, way.sent), (way.intended, way.received + way.lost), "{printed}");
        }
        let received: Vec<u64> = trial.streams.iter().map(|way| way.received).collect();
        (received, trial.foreign, printed)
    };
    assert_eq!(check(&all, "", "", VIRTUAL).0, [160, 140]);
    let drops = "/ip firewall filter add chain=forward protocol=tcp action=drop\n";
    assert_eq!(check(&all, "", drops, VIRTUAL).0, [20, 20], "a query and its answer");
    // A query, with another source address: nobody's frame, unless it is known by its payload. (TCP of
    // which only one side is heard is invalid, and no NAT translates that.)
    let nat = "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade\n";
    for (recognise, received, foreign) in [("packets", 0, 20), ("payloads", 20, 0)] {
        let recognise = format!("rate = 1000\nrecognise = \"{recognise}\"\n");
        let seen = check(&queries(&all), &recognise, nat, VIRTUAL);
        assert_eq!((seen.0, seen.1), (vec![received], foreign), "{}", seen.2);
    }
    // Ten frames a second and a hundred waiting at each port, of a thousand a second.
    let slow = VIRTUAL.replace("\"1us\"", "\"100ms\"\nring = 100");
    let (received, _, printed) = check(&all, "rate = 1000\n", "", &slow);
    assert!(received.iter().all(|n| (1..140).contains(n)), "{printed}");
}

/// What 192.168.88.0/24 sent by UDP.
fn queries(capture: &[u8]) -> Vec<u8> {
    let mut reader = Reader::new(capture).unwrap();
    let mut writer = pcap::Writer::new(vec![]).unwrap();
    while let Some(record) = reader.read().unwrap() {
        if record.bytes[23] == 17 && record.bytes[26..29] == [192, 168, 88] {
            writer.write(&record).unwrap();
        }
    }
    writer.finish().unwrap()
}

/// The frames of a written capture from an address of ours, or to one: interface, time, bytes.
fn written(file: &str) -> Vec<(u32, u64, Vec<u8>)> {
    let bytes = std::fs::read(file).unwrap();
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    let mut all = vec![];
    while let Some(record) = reader.read().unwrap() {
        if record.bytes[12..14] == [8, 0] && record.bytes[23] != 253 {
            all.push((record.interface, record.timestamp_ns, record.bytes.to_vec()));
        }
    }
    all
}

fn write(name: &str, plan: &str) -> (Folder, String) {
    let folder = Folder::with(name, plan);
    folder.write("tiny.pcap", std::fs::read(committed("captures/tiny.pcap")).unwrap());
    let file = folder.path("out.pcapng");
    let out = wirespeed(&["test", &folder.path("plan.toml"), "--pcap", &file]);
    assert!(out.status.success(), "{}{}", text(&out.stdout), text(&out.stderr));
    (folder, file)
}

/// Twice as fast is half as long, three loops are three times as many, checksums are right.
#[test]
fn frames_as_wireshark_reads_them() {
    let plan = |more: &str| format!("{HEAD}[[replay]]\nfile = \"tiny.pcap\"\n{HOSTS}{more}");
    let times = |file: &str| {
        let all: Vec<u64> = written(file).iter().map(|(_, ns, _)| *ns).collect();
        all.iter().map(|ns| ns - all[0]).collect::<Vec<_>>()
    };
    let (_folder, plain) = write("replay-plain", &plan(""));
    let (_folder, fast) = write("replay-fast", &plan("speed = 2\n"));
    let (_folder, loops) = write(
        "replay-loops",
        &plan("loop = 3\neach-loop = { \"198.18.1.0/24\" = 1, \"198.19.1.0/24\" = 5 }\n"),
    );
    let halves: Vec<u64> = times(&plain).iter().map(|ns| ns.div_ceil(2)).collect();
    assert_eq!((halves.len(), times(&fast)), (15, halves));
    assert_eq!(times(&loops).len(), 45);
    assert_eq!(times(&loops)[..15], times(&plain));
    if left_out::lacks(&["tshark"]) {
        return;
    }
    for (filter, n) in [
        ("ip.checksum.status == 1", 45),
        ("tcp.checksum.status == 1 || udp.checksum.status == 1", 45),
        ("_ws.malformed", 0),
        ("ip.src == 198.18.1.11 && ip.dst == 198.19.1.101", 8),
        ("ip.src == 198.18.1.13 && ip.dst == 198.19.1.111", 8),
        ("ip.dst == 198.18.1.12 && ip.src == 198.19.1.106", 7),
        ("http.request && frame.interface_name == \"port 1\"", 3),
        ("dns.flags.response == 1 && frame.interface_name == \"port 2\"", 3),
        // To the device, from hosts whom it was told of by ARP.
        ("ip && eth.dst != 02:00:00:00:00:01 && eth.dst != 02:00:00:00:00:02", 0),
        ("arp.src.proto_ipv4 == 198.18.1.13 && arp.opcode == 1", 1),
    ] {
        assert_eq!(count(&loops, filter), n, "{filter}");
    }
}

/// The other tool for this has the same frames.
#[test]
fn frames_as_tcprewrite_writes_them() {
    let bridge = HEAD.replace("pair", "hosts");
    let plan = format!(
        "{bridge}[[replay]]\nfile = \"tiny.pcap\"\nsplit = \"none\"\nmacs = \"keep\"\nmap = {{ \"192.168.88.0/24\" = \
         \"10.5.0.0/16\", \"203.0.113.0/24\" = \"172.16.0.0/12\" }}\n"
    );
    let (folder, ours) = write("replay-rewrite", &plan);
    let theirs = folder.path("theirs.pcap");
    let pnat = "--pnat=192.168.88.0/24:10.5.0.0/16,203.0.113.0/24:172.16.0.0/12";
    let files =
        [format!("--infile={}", committed("captures/tiny.pcap")), format!("--outfile={theirs}")];
    if left_out::lacks(&["tcprewrite"]) {
        return;
    }
    let out = Command::new("tcprewrite").arg(pnat).args(&files).output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    // The bridge's hosts introduce themselves by frames of their own.
    let is_theirs = |bytes: &[u8]| bytes[26] == 10 || bytes[26] == 172;
    let ours = written(&ours);
    let ours: Vec<_> = ours.iter().map(|(.., bytes)| bytes).filter(|b| is_theirs(b)).collect();
    let theirs = written(&theirs);
    assert_eq!((ours.len(), theirs.len()), (15, 15));
    for (n, (ours, (.., theirs))) in ours.into_iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "frame {}", n + 1);
    }
}

/// What was written by one plan is sent again by another, by the ports it was written for.
#[test]
fn what_was_written_is_replayed() {
    let stream = "[[stream]]\nstack = \"eth/ipv4/udp\"\nsizes = \"64-1518\"\nrate = \"10kpps\"\n\
                  packets = 100\n";
    let back = format!("{stream}from = 2\nto = 1\n");
    let (written, file) = write("replay-written", &format!("{HEAD}{stream}{back}"));
    let text =
        format!("{HEAD}[[replay]]\nfile = \"out.pcapng\"\nsplit = \"interface 0\"\n{VIRTUAL}");
    let folder = Folder::with("replay-again", &text);
    std::fs::copy(&file, folder.path("out.pcapng")).unwrap();
    drop(written);
    folder.write("other.rsc", ROUTER);
    let (results, printed, _) = run(&folder.path("plan.toml"), &folder);
    // ARP, by which hosts are introduced, is left out.
    assert!(printed.contains("4 frames left out that are not IP"), "{printed}");
    let counted = streams(&results).iter().map(|s| (s.sent, s.received, s.lost));
    assert_eq!(counted.collect::<Vec<_>>(), [(100, 100, 0); 2], "{printed}");
}

/// ARP, by which the hosts of a capture say that they are there, is none of its frames.
#[test]
fn frames_are_counted_without_arp() {
    let folder =
        Folder::with("replay-arp", &format!("{HEAD}[[replay]]\nfile = \"tiny.pcap\"\n{HOSTS}"));
    folder.write("tiny.pcap", std::fs::read(committed("captures/tiny.pcap")).unwrap());
    let plan = folder.path("plan.toml");
    let out = wirespeed(&["test", &plan, "--pcap", &folder.path("a.pcapng")]);
    let printed = text(&out.stdout);
    assert!(printed.contains("8 + 7 frames (by port), and "), "{printed}");
    // The captures' hosts, and the tester's own.
    let before = printed.split("frames (by port), and ").nth(1).unwrap();
    let before: u64 = before.split(' ').next().unwrap().parse().unwrap();
    assert!(before > 4, "{printed}");
}

/// A network that no address is in is a typing error: said before the run, which goes on.
#[test]
fn a_map_of_nothing_is_said() {
    // The home's second server is not in the small capture.
    let there = HOSTS.replace(", \"203.0.113.2/32\" = \"198.19.1.102/32\"", "");
    let hosts = there.replace(" }", ", \"10.0.0.0/8\" = \"198.18.0.0/16\" }");
    let more = "loop = 2\neach-loop = { \"10.9.0.0/16\" = 1 }\n";
    for (hosts, more, expected) in [
        (HOSTS, "", vec!["map: no frame of tiny.pcap is in 203.0.113.2/32"]),
        (&there, "", vec![]),
        (&hosts, "", vec!["map: no frame of tiny.pcap is in 10.0.0.0/8"]),
        (
            &there,
            more,
            vec!["each-loop: no frame of tiny.pcap, as the map leaves it, is in 10.9.0.0/16"],
        ),
    ] {
        let folder = Folder::with(
            "replay-map",
            &format!("{HEAD}[[replay]]\nfile = \"tiny.pcap\"\n{hosts}{more}"),
        );
        folder.write("tiny.pcap", std::fs::read(committed("captures/tiny.pcap")).unwrap());
        let plan = folder.path("plan.toml");
        let out = wirespeed(&["test", &plan, "--pcap", &folder.path("a.pcapng")]);
        let stderr = text(&out.stderr);
        assert!(out.status.success(), "{stderr}");
        assert_eq!(stderr.matches("warning: ").count(), expected.len(), "{stderr}");
        assert!(expected.iter().all(|part| stderr.contains(part)), "{stderr}");
    }
}

/// Who sends what, and what it is called then: a replay of two ways has a name for each.
#[test]
fn names_and_sides() {
    let check = |capture: &str, rest: &str, expected: &[(&str, (u32, u32), u64)]| {
        let text = format!("{HEAD}[[replay]]\nfile = \"{capture}\"\n{HOSTS}{rest}{VIRTUAL}");
        let folder = Folder::with("replay-sides", &text);
        let file = committed(&format!("captures/{capture}"));
        folder.write(capture, std::fs::read(file).unwrap());
        folder.write("other.rsc", ROUTER);
        let (results, printed, page) = run(&folder.path("plan.toml"), &folder);
        let all = streams(&results);
        let seen: Vec<_> = all.iter().map(|s| (s.name.as_str(), (s.from, s.to), s.sent)).collect();
        assert_eq!(seen, expected, "{rest}");
        for one in all {
            assert!(printed.contains(&one.name) && page.contains(&one.name), "{rest}: {printed}");
        }
    };
    let (to, back) = (("replay 1 1 ► 2", (1, 2), 8), ("replay 1 2 ► 1", (2, 1), 7));
    check("tiny.pcap", "", &[to, back]);
    check("tiny.pcap", "split = \"hosts\"\n", &[to, back]);
    check("tiny.pcap", "split = [\"192.168.88.0/24\"]\n", &[to, back]);
    let named = [("page 1 ► 2", (1, 2), 8), ("page 2 ► 1", (2, 1), 7)];
    check("tiny.pcap", "name = \"page\"\n", &named);
    // Who is of the networks leaves by the first port, whoever spoke first.
    let servers = [("replay 1 1 ► 2", (1, 2), 7), ("replay 1 2 ► 1", (2, 1), 8)];
    check("tiny.pcap", "split = [\"203.0.113.0/24\"]\n", &servers);
    let other = [("replay 1 2 ► 1", (2, 1), 8), ("replay 1 1 ► 2", (1, 2), 7)];
    check("tiny.pcap", "from = 2\nto = 1\n", &other);
    // One way has no other to be told from.
    check("tiny.pcap", "split = \"none\"\n", &[("replay 1", (1, 2), 15)]);
    let back_only = "name = \"all\"\nsplit = \"none\"\nfrom = 2\nto = 1\n";
    check("tiny.pcap", back_only, &[("all", (2, 1), 15)]);
}

#[test]
fn refused_before_anything_is_sent() {
    let folder = Folder::with("replay-bad", &format!("{HEAD}[[replay]]\nfile = \"tiny.pcap\"\n"));
    let plan = folder.path("plan.toml");
    let check = |arguments: &[&str], code, expected: &str| {
        let out = wirespeed(&[&["test", plan.as_str()], arguments].concat());
        let stderr = text(&out.stderr);
        assert_eq!((out.status.code(), stderr.contains(expected)), (Some(code), true), "{stderr}");
        assert!(out.stdout.is_empty(), "{arguments:?}");
    };
    check(&["--virtual"], 2, "plan.toml:11:8: cannot read");
    folder.write("tiny.pcap", std::fs::read(committed("captures/tiny-snap96.pcap")).unwrap());
    check(&["--virtual"], 2, "tiny.pcap: frame 4 was captured in part, 96 of 144 bytes");
    folder.write("tiny.pcap", std::fs::read(committed("captures/tiny.pcap")).unwrap());
    let outside = ["--device", "external", "--port", "a=xdp:none0", "--port", "b=xdp:none1"];
    check(&outside, 2, "192.168.88.11, in frame 1, is not in 198.18.0.0/15");
}
