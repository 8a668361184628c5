//! `wirespeed test --pcap` and `report pcap`: a plan's frames in a file, none of them sent, as others
//! read them and as we count them again; and those of the kernel's generator.

mod folder;
#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;

use folder::{Folder, text, wirespeed};
use port::pcap;
use port::record::{Reader, Record};
use std::process::{Command, Output};

const PLAN: &str = r#"
name = "small"
[device]
modifiers = ["none", "1-percent-broadcasts", "management-queries", "routing-updates"]
[medium]
link = "10G"
[traffic]
frame-sizes = [64, 1518]
flows = "networks"
[[procedure]]
kind = "throughput"
"#;

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap_or_else(|e| panic!("{program}: {e}"))
}

#[test]
fn frames_as_wireshark_reads_them() {
    let folder = Folder::with("read", PLAN);
    let plan = folder.path("plan.toml");
    for file in ["frames.pcapng", "frames.pcap"] {
        let file = folder.path(file);
        let out = wirespeed(&["test", &plan, "--pcap", &file, "--packets", "200"]);
        let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
        assert!(out.status.success(), "{stdout}{stderr}");
        // 8 trials of 200 frames from each port, and 4 of ARP before each. What is asked and told by
        // the first port takes its share of the second's, too: one frame in each of 4 trials.
        assert!(stdout.contains("3228 frames of \"small\", seed 1"), "{stdout}");
        assert!(stdout.contains("none was sent"), "{stdout}");
        assert_eq!(stdout.matches("steady load at").count(), 8, "{stdout}");
        if left_out::lacks(&["tshark"]) {
            return;
        }
        let count = |filter: &str| {
            let checks = ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE"];
            let out =
                run("tshark", &["-n", "-o", checks[0], "-o", checks[1], "-r", &file, "-Y", filter]);
            assert!(out.status.success(), "{filter}: {}", text(&out.stderr));
            text(&out.stdout).lines().count()
        };
        for (filter, n) in [
            ("frame", 3228),
            ("arp.opcode == 1", 32),
            ("_ws.malformed || _ws.expert.severity >= 0x600000", 0),
            ("ip.checksum.status == 0 || udp.checksum.status == 0", 0),
            ("echo && frame.len == 60", 1600 - 4),
            ("echo && frame.len == 1514", 1600 - 4),
            ("eth.dst == ff:ff:ff:ff:ff:ff && echo", 8),
            ("snmp.get_request_element && snmp.name == 1.3.6.1.2.1.1.3.0", 2),
            ("rip.version == 1 && rip.command == 2 && ip.ttl == 1", 2),
            ("rip.metric == 1", 1),
            ("rip.metric == 2", 1),
            ("frame.time_epoch < 2 && echo", 0),
        ] {
            assert_eq!(count(filter), n, "{filter} in {file}");
        }
    }
}

/// With UDP checksums, of one length, of a mix and of random destinations: all of them right.
#[test]
fn checksums_as_wireshark_reckons_them() {
    if left_out::lacks(&["tshark"]) {
        return;
    }
    let sizes = "frame-sizes = [64, 65, 1518, \"imix\"]";
    for flows in ["networks", "pair", "hosts"] {
        for (key, right, none) in [("udp-checksum = true\n", 400, 0), ("", 0, 400)] {
            let plan = PLAN
                .replace("[traffic]\n", &format!("[traffic]\n{key}"))
                .replace("frame-sizes = [64, 1518]", sizes)
                .replace("\"networks\"", &format!("\"{flows}\""))
                .replace(
                    ", \"1-percent-broadcasts\", \"management-queries\", \"routing-updates\"",
                    "",
                );
            let folder = Folder::with("sums", &plan);
            let file = folder.path("frames.pcap");
            let plan = folder.path("plan.toml");
            let out = wirespeed(&["test", &plan, "--pcap", &file, "--packets", "50"]);
            assert!(out.status.success(), "{}{}", text(&out.stdout), text(&out.stderr));
            let count = |filter: &str| {
                let check = "udp.check_checksum:TRUE";
                let out = run("tshark", &["-n", "-o", check, "-r", &file, "-Y", filter]);
                text(&out.stdout).lines().count()
            };
            // 4 sizes of 50 frames from each of two ports; a bridge's hosts show themselves before.
            let told = count("echo && udp.checksum.status == 1");
            let untold = count("echo && udp.checksum == 0");
            assert_eq!(count("udp.checksum.status == 0"), 0, "{flows} {key}");
            let is_bridge = flows == "hosts";
            let fits = |n: usize, expected: usize| match is_bridge && expected > 0 {
                true => n >= expected,
                false => n == expected,
            };
            assert!(fits(told, right) && fits(untold, none), "{flows} {key}{told} {untold}");
        }
    }
}

#[test]
fn what_cannot_be_written_is_said() {
    let folder = Folder::with("bad", PLAN);
    let plan = folder.path("plan.toml");
    let check = |arguments: &[&str], code, expected: &str| {
        let out = wirespeed(&[&["test", plan.as_str()], arguments].concat());
        let stderr = text(&out.stderr);
        assert_eq!((out.status.code(), stderr.contains(expected)), (Some(code), true), "{stderr}");
        assert!(out.stdout.is_empty(), "{arguments:?}");
    };
    let (good, other) = (folder.path("a.pcap"), folder.path("a.txt"));
    check(&["--pcap", &other], 2, "ends in .pcapng or .pcap");
    check(&["--pcap", &good, "--load", "20M"], 2, "a rate above the wire: 20000000 frames");
    check(&["--pcap", &good, "--load", "120%"], 2, "above 0% and at most 100%");
    check(&["--pcap", &good, "--packets", "0"], 2, "0 is not in 1..=10000000");
    check(&["--pcap", &good, "--json", "a.json"], 2, "cannot be used with");
    check(&["--packets", "7"], 2, "--pcap <FILE>");
    check(&["--pcap", "/nowhere/a.pcap"], 3, "cannot write /nowhere/a.pcap: No such file");
    assert!(!std::path::Path::new(&good).exists(), "nothing is begun that cannot be");
    #[cfg(target_os = "linux")]
    {
        let full = folder.path("full.pcap");
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        check(&["--pcap", &full], 3, "No space left on device");
    }
    let tcp =
        Folder::with("tcp", &PLAN.replace("throughput", "tcp-connections").replace("64,", ""));
    let out = wirespeed(&["test", &tcp.path("plan.toml"), "--pcap", &tcp.path("a.pcap")]);
    let stderr = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("depends on what is answered"), "{stderr}");
}

/// The lines of the table that `report pcap` prints, each in words; the head is the first.
fn counted(file: &str, code: i32) -> (Vec<Vec<String>>, String) {
    let out = wirespeed(&["report", "pcap", file]);
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(code), "{stdout}{stderr}");
    let words = |line: &str| line.split_whitespace().map(String::from).collect();
    (stdout.lines().map(words).collect(), stderr)
}

#[test]
fn what_was_written_is_counted_again() {
    let folder = Folder::with("count", PLAN);
    let plan = folder.path("plan.toml");
    for end in ["pcap", "pcapng"] {
        let file = folder.path(&format!("all.{end}"));
        let out = wirespeed(&["test", &plan, "--pcap", &file, "--packets", "50"]);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let (lines, _) = counted(&file, 0);
        // ARP before each of 8 trials, two queries, two updates.
        let said = text(&out.stdout);
        let n = said.split("frames of").next().and_then(|all| all.split_whitespace().last());
        let n: u64 = n.and_then(|n| n.parse().ok()).unwrap();
        let head = lines[0].join(" ");
        let expected = format!("{n} frames in ");
        assert!(head.contains(&expected) && head.ends_with(", 36 of them foreign"), "{head}");
        let rows = &lines[2..lines.len() - 3];
        // Streams 0 and 1 in 8 trials, broadcasts as 240 and 241 in two.
        assert_eq!(rows.len(), 2 * 8 + 2 * 2, "{lines:?}");
        let mut received = 0;
        for row in rows {
            received += row[4].parse::<u64>().unwrap();
            assert_eq!(row[5..11], ["0"; 6], "nothing lost, doubled, late, or damaged: {row:?}");
            let delays: Vec<&str> = row[11..].iter().map(String::as_str).collect();
            assert_eq!(delays, ["0", "ns", "0", "ns", "0", "ns", "0", "ns"], "made as it is sent");
        }
        assert_eq!(received, n - 36, "{rows:?}");
    }
}

/// Numbers from 1, seconds and microseconds since 1970: one lost, one twice, two change places, and a
/// stranger between them.
#[test]
fn the_kernel_s_generator_is_known() {
    let folder = Folder::with("pktgen", PLAN);
    let mut writer = pcap::Writer::new(vec![]).unwrap();
    let second = 1_700_000_000;
    for (number, micros, late_ns) in [
        (1u32, 10u32, 700),
        (2, 20, 800),
        (4, 40, 900),
        (3, 30, 11_000),
        (3, 30, 12_000),
        (6, 60, 1000),
    ] {
        let words = [0xbe9b_e955, number, second, micros];
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let frame = wire::craft::udp(0x0a00_0001, 9, 0x0a00_0002, 9);
        let frame = wire::craft::Frame { payload: &payload, ..frame }.build();
        let at = u64::from(second) * 1_000_000_000 + u64::from(micros) * 1000 + late_ns;
        writer.write(&Record::ethernet(at, &frame)).unwrap();
    }
    writer.write(&Record::ethernet(u64::from(second) * 1_000_000_000, &[0xff; 60])).unwrap();
    let bytes = writer.finish().unwrap();
    let file = folder.path("pktgen.pcap");
    std::fs::write(&file, &bytes).unwrap();
    let (lines, _) = counted(&file, 0);
    let expected = ["pktgen", "1", "64", "79,522.9", "5", "1", "1", "1", "(by", "1)"];
    assert_eq!(lines[2][..10], expected, "{lines:?}");
    let delays = ["700", "ns", "900", "ns", "11000", "ns", "11000", "ns"];
    assert_eq!(lines[2][10..13], ["2", "0", "0"], "gaps, wrong size, bad checksum: {lines:?}");
    assert_eq!(lines[2][13..], delays, "{lines:?}");
    assert!(
        lines[0].join(" ").ends_with("7 frames in 0.000061000 s, 1 of them foreign"),
        "{lines:?}"
    );

    // The same for programs.
    let runs = |code: i32| -> (Vec<measure::survey::Seen>, Option<String>) {
        let out = wirespeed(&["report", "pcap", "--json", &file]);
        assert_eq!(out.status.code(), Some(code), "{}", text(&out.stderr));
        let of: measure::survey::Surveys = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!((of.schema.as_str(), of.captures.len()), (measure::survey::SCHEMA, 1));
        let capture = of.captures.into_iter().next().unwrap();
        (capture.runs, capture.incomplete_because)
    };
    let (all, ended) = runs(0);
    assert_eq!((all.len(), all[0].received, all[0].missing, ended), (1, 5, 1, None));

    // Cut off: what is before is counted. Nothing of a capture: refused.
    std::fs::write(&file, &bytes[..bytes.len() - 100]).unwrap();
    let (lines, error) = counted(&file, 1);
    assert_eq!(lines[2][4], "4", "{lines:?}");
    let (all, ended) = runs(1);
    assert!(all[0].received == 4 && ended.is_some_and(|why| why.contains("ends inside")));
    assert!(error.contains("the file ends inside") && error.contains("counted above"), "{error}");
    let (lines, error) = counted(&folder.path("plan.toml"), 2);
    assert!(lines.is_empty() && error.contains("neither pcap nor pcapng"), "{error}");
    let (lines, error) = counted(&folder.path("none.pcap"), 3);
    assert!(lines.is_empty() && error.contains("cannot read"), "{error}");
}

/// A plan's frames, some of them lost, cut in the middle or damaged on their way: counted as that, and
/// Wireshark finds the same. What a snap length cut off is not damaged.
#[test]
fn damage_is_told_from_loss_and_from_snap_lengths() {
    let plan = PLAN
        .replace("[traffic]\n", "[traffic]\nudp-checksum = true\n")
        .replace("[64, 1518]", "[256]")
        .replace(", \"1-percent-broadcasts\", \"management-queries\", \"routing-updates\"", "");
    let folder = Folder::with("damage", &plan);
    let file = folder.path("frames.pcap");
    let out = wirespeed(&["test", &folder.path("plan.toml"), "--pcap", &file, "--packets", "50"]);
    assert!(out.status.success(), "{}", text(&out.stderr));

    // Of stream 0: two lost in one piece and one alone, and one of each fault.
    let mut reader = Reader::new(std::fs::File::open(&file).unwrap()).unwrap();
    let (mut whole, mut cut) = (vec![], vec![]);
    let [mut damaged, mut short] =
        [&mut whole, &mut cut].map(|file| pcap::Writer::new(file).unwrap());
    let mut n = 0;
    while let Some(record) = reader.read().unwrap() {
        let mut bytes = record.bytes.to_vec();
        let of = bytes.len() - 17;
        if bytes.len() == 252 && bytes[of] == 0 {
            n += 1;
            match n - 1 {
                10 | 11 | 20 => continue,
                15 => bytes[22] ^= 1,                              // TTL
                25 => bytes[100] ^= 1,                             // data
                30 => bytes.splice(90..90, [0; 4]).for_each(drop), // more than the headers say
                35 => *bytes.last_mut().unwrap() ^= 1,             // the trailer
                _ => {}
            }
        }
        damaged.write(&Record::ethernet(record.timestamp_ns, &bytes)).unwrap();
        let snapped = &bytes[..bytes.len().min(96)];
        let original_len = bytes.len() as u32;
        let record = Record { original_len, ..Record::ethernet(record.timestamp_ns, snapped) };
        short.write(&record).unwrap();
    }
    assert_eq!(n, 50);
    damaged.finish().unwrap();
    short.finish().unwrap();
    let (file, snapped) = (folder.path("damaged.pcap"), folder.path("snapped.pcap"));
    std::fs::write(&file, whole).unwrap();
    std::fs::write(&snapped, cut).unwrap();

    let (lines, _) = counted(&file, 0);
    let head = lines[0].join(" ");
    assert!(head.ends_with("1 with a damaged trailer, of a stream unknown therefore"), "{head}");
    // Of the 7 that are missing 3 are lost and 4 came damaged; each is a gap but two in one piece.
    let expected = ["43", "7", "0", "0", "6", "1", "2"];
    assert_eq!(lines[2][4..11], expected, "{lines:?}");
    assert_eq!(lines[3][4..11], ["50", "0", "0", "0", "0", "0", "0"], "{lines:?}");
    // Nothing of theirs is left of the others: no trailer, no stream, and no fault.
    let (lines, _) = counted(&snapped, 0);
    let head = lines[0].join(" ");
    assert!(head.ends_with("not captured whole") && !head.contains("damaged trailer"), "{head}");

    // In CSV and Markdown, and again from JSON.
    let printed = |arguments: &[&str]| {
        let out = wirespeed(&[&["report"], arguments].concat());
        assert!(out.status.success(), "{arguments:?}: {}", text(&out.stderr));
        text(&out.stdout)
    };
    let csv = printed(&["pcap", "--format", "csv", &file]);
    assert!(csv.lines().nth(1).unwrap().contains(",43,7,0,0,0,0,6,1,2,"), "{csv}");
    let page = printed(&["pcap", "--format", "markdown", &file]);
    assert!(page.contains("| 43 | 7 | 0 | 0 | 6 | 1 | 2 |"), "{page}");
    let json = folder.path("counts.json");
    std::fs::write(&json, printed(&["pcap", "--json", &file])).unwrap();
    assert_eq!(printed(&["table", &json]), printed(&["pcap", &file]));
    assert_eq!(printed(&["table", "--format", "csv", &json]), csv);
    for arguments in [
        ["table", "--format", "trials"],
        ["html", "--output", "a.html"],
        ["compare", "--base", &json],
    ] {
        let out = wirespeed(&[&["report"], &arguments[..], &[json.as_str()]].concat());
        assert_eq!(out.status.code(), Some(2), "{arguments:?}");
        assert!(text(&out.stderr).contains("report pcap"), "{}", text(&out.stderr));
    }

    if left_out::lacks(&["tshark"]) {
        return;
    }
    for (filter, n) in [
        ("ip.checksum.status == 0", 1),
        // What is behind the wrong TTL's header is right; the trailer is covered, too.
        ("udp.checksum.status == 0", 3),
        ("frame.len == 256", 1),
    ] {
        let checks = ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE"];
        let read = ["-n", "-o", checks[0], "-o", checks[1], "-r", &file, "-Y", filter];
        let out = run("tshark", &read);
        assert_eq!(text(&out.stdout).lines().count(), n, "{filter}: {}", text(&out.stdout));
    }
}
