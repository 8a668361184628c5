//! `wirespeed test --pcap`: a plan's frames in a file, as others read them, and none of them sent.

use std::path::PathBuf;
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

/// A folder with a plan, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, plan: &str) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("wirespeed-frames-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("plan.toml"), plan).unwrap();
        Folder(folder)
    }

    fn path(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap_or_else(|e| panic!("{program}: {e}"))
}

fn wirespeed(arguments: &[&str]) -> Output {
    run(env!("CARGO_BIN_EXE_wirespeed"), arguments)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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
        if Command::new("tshark").arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "no tshark here");
            eprintln!("skipped: no tshark here");
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
            ("rip.version == 2 && rip.command == 2 && ip.ttl == 1", 2),
            ("rip.metric == 1", 1),
            ("rip.metric == 2", 1),
            ("frame.time_epoch < 2 && echo", 0),
        ] {
            assert_eq!(count(filter), n, "{filter} in {file}");
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
