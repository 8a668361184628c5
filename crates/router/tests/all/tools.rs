//! Torch, the sniffer and monitor-traffic: what they show of traffic that is known, to the letter.

use crate::left_out::left_out;
use crate::rig::{Rig, mac, own_mac};
use config::{Call, Display, Group, Job, Progress, Record, Reply, Started, Value};
use port::record::Reader;
use router::Router;
use std::time::Duration;
use wire::arp::ArpMessage;
use wire::craft::{self, Frame, ip};
use wire::{TcpFlags, vlan};

/// A command that has been started on a rig.
struct Running {
    call: Call,
    job: Box<dyn Job<Router>>,
    records: Vec<Record>,
    /// What each poll with something to show has shown.
    frames: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
    reply: Option<Reply>,
}

impl Running {
    fn start(rig: &mut Rig, script: &str) -> Result<Running, String> {
        let output = rig.console.run(script, &rig.router.status(rig.now));
        let call = output.map_err(|error| error.text)?.calls.remove(0);
        match rig.router.start(&call, rig.console.tree(), rig.now)? {
            Started::Done(_) => panic!("{script}: done at once"),
            Started::Job(job) => Ok(Running {
                call,
                job,
                records: Vec::new(),
                frames: Vec::new(),
                files: Vec::new(),
                reply: None,
            }),
        }
    }

    fn poll(&mut self, rig: &mut Rig) {
        let before = self.records.len();
        let progress = self.job.poll(&mut rig.router, rig.now, &mut self.records);
        self.files.extend(self.job.take_files());
        if let Ok(Progress::Done(reply)) = &progress {
            self.reply = Some(reply.clone());
            self.job.stop(&mut rig.router, rig.now);
        }
        let group = Group {
            call: &self.call,
            records: &self.records[before..],
            before,
            latest: self.records.last(),
            last: self.reply.is_some(),
            width: 80,
        };
        match self.call.command.display {
            Display::Append(show) | Display::Redraw(show) if self.records.len() > before => {
                self.frames.push(show(&group));
            }
            _ => {}
        }
    }

    fn stop(&mut self, rig: &mut Rig) {
        self.job.stop(&mut rig.router, rig.now);
    }

    /// What was shown last, without blanks at the ends.
    fn shown(&self) -> String {
        let last = self.frames.last().map_or("", String::as_str);
        last.lines().map(|line| line.trim_end().to_string() + "\n").collect()
    }
}

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2";

/// Two networks, a host in each.
fn router(more: &str) -> Rig {
    let mut rig = Rig::new(2, &format!("{NETS}\n{more}"));
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig
}

/// A frame from the host at 1 to the host at 2, of `len` bytes.
fn there(len: usize) -> Vec<u8> {
    let udp = craft::udp(ip(10, 0, 1, 1), 4000, ip(10, 0, 2, 1), 53);
    frame(1, &Frame { payload: &vec![0; len - 42], ..udp })
}

/// A segment back, padded to 60 bytes.
fn back() -> Vec<u8> {
    frame(2, &craft::tcp(ip(10, 0, 2, 1), 8291, ip(10, 0, 1, 1), 4001, TcpFlags::ACK))
}

fn frame(port: u8, frame: &Frame) -> Vec<u8> {
    Frame { src_mac: mac(port), dst_mac: own_mac(port), ..*frame }.build()
}

/// Frames there and back, then a second is over.
fn a_second(rig: &mut Rig, n_there: usize, n_back: usize) {
    for _ in 0..n_there {
        assert_eq!(rig.pass(1, &there(1000)).len(), 1, "{:?}", rig.router.discards());
    }
    for _ in 0..n_back {
        assert_eq!(rig.pass(2, &back()).len(), 1, "{:?}", rig.router.discards());
    }
    rig.wait(Duration::from_secs(1));
}

#[test]
fn monitor_traffic_shows_what_passed_exactly() {
    let mut rig = router("");
    let mut monitor = Running::start(&mut rig, "/interface monitor-traffic ether1").unwrap();
    a_second(&mut rig, 250, 5);
    monitor.poll(&mut rig);
    assert_eq!(
        monitor.shown(),
        "                         name: ether1
        rx-packets-per-second: 250
           rx-bits-per-second: 2.0Mbps
     fp-rx-packets-per-second: 250
        fp-rx-bits-per-second: 2.0Mbps
          rx-drops-per-second: 0
         rx-errors-per-second: 0
        tx-packets-per-second: 5
           tx-bits-per-second: 2.4kbps
     fp-tx-packets-per-second: 5
        fp-tx-bits-per-second: 2.4kbps
          tx-drops-per-second: 0
    tx-queue-drops-per-second: 0
         tx-errors-per-second: 0\n"
    );
    assert_eq!(monitor.records[0].get("rx-bits-per-second"), Some(&Value::Number(2_000_000)));
    // After the counters have gone back to zero it goes on with what came since.
    rig.pass(1, &there(100));
    rig.run("/interface ethernet reset-counters ether1");
    a_second(&mut rig, 3, 0);
    monitor.poll(&mut rig);
    assert_eq!(monitor.records[1].get("rx-packets-per-second"), Some(&Value::Number(3)));
}

#[test]
fn several_interfaces_stand_side_by_side() {
    let mut rig = router("/interface bridge add name=lan protocol-mode=none");
    let script = "/interface monitor-traffic ether1,lan,aggregate interval=500ms duration=1s";
    let mut monitor = Running::start(&mut rig, script).unwrap();
    for _ in 0..10 {
        rig.pass(1, &there(1000));
    }
    rig.wait(Duration::from_millis(500));
    monitor.poll(&mut rig);
    let shown = monitor.shown();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "                         name:    ether1  lan aggregate");
    assert_eq!(lines[1], "        rx-packets-per-second:        20    0        20");
    assert_eq!(lines[2], "           rx-bits-per-second: 160.0kbps 0bps 160.0kbps");
    assert_eq!(lines[7], "        tx-packets-per-second:         0    0        20");
    rig.wait(Duration::from_millis(500));
    monitor.poll(&mut rig);
    assert_eq!(monitor.reply, Some(Reply::Nothing), "{shown}");
    let once = "/interface monitor-traffic aggregate once";
    let mut once = Running::start(&mut rig, once).unwrap();
    rig.wait(Duration::from_secs(1));
    once.poll(&mut rig);
    assert_eq!((once.records.len(), once.reply.is_some()), (1, true));
}

/// What was lost on the way is counted where it was lost.
#[test]
fn drops_and_errors_are_counted_by_interface() {
    let mut rig = router("");
    let mut monitor = Running::start(&mut rig, "/interface monitor-traffic ether1,ether2").unwrap();
    rig.send(1, &[0; 10]);
    rig.breathe();
    // A ring of 1024 holds no more, until somebody receives.
    for _ in 0..1100 {
        rig.send(1, &there(100));
    }
    rig.wait(Duration::from_secs(1));
    monitor.poll(&mut rig);
    let get = |record: usize, name: &str| match monitor.records[record].get(name) {
        Some(Value::Number(n)) => *n,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(get(0, "rx-errors-per-second"), 1);
    let lost = get(0, "rx-drops-per-second");
    let received = get(0, "rx-packets-per-second") - 1;
    assert_eq!(lost + received, 1100, "lost {lost}");
    assert!(lost > 0, "the ring took all");
    let shown = rig.run("/interface print stats where rx-error>0");
    assert!(shown.contains(&format!(" {lost} ")), "{shown}");
}

#[test]
fn torch_tells_apart_what_was_asked_for() {
    let mut rig = router("");
    let script = "/tool torch ether1 src-address=0.0.0.0/0 port=any ip-protocol=any";
    let mut torch = Running::start(&mut rig, script).unwrap();
    a_second(&mut rig, 10, 20);
    torch.poll(&mut rig);
    assert_eq!(
        torch.shown(),
        "MAC-PROTOCOL    IP-PROTOCOL SRC-ADDRESS     SRC-PORT    DST-PORT              TX         RX TX-PACKETS RX-PACKETS
ip              tcp         10.0.1.1        4001        8291 (winbox)    9.6kbps       0bps         20          0
ip              udp         10.0.1.1        4000        53 (dns)            0bps   80.0kbps          0         10
                                                                         9.6kbps   80.0kbps         20         10\n"
    );
    // Rows without traffic stay for three seconds.
    for (seconds, rows) in [(1, 3), (2, 3), (3, 1)] {
        rig.wait(Duration::from_secs(1));
        torch.poll(&mut rig);
        assert_eq!(torch.shown().lines().count(), rows + 1, "{seconds} s\n{}", torch.shown());
    }
    torch.stop(&mut rig);
    let mut plain = Running::start(&mut rig, "/tool torch interface=ether2").unwrap();
    a_second(&mut rig, 10, 20);
    plain.poll(&mut rig);
    assert_eq!(
        plain.shown(),
        "        TX         RX TX-PACKETS RX-PACKETS
  80.0kbps    9.6kbps         10         20\n"
    );
}

/// Conditions and columns, and what they let through, as rows of keys.
#[test]
fn torch_shows_what_fits() {
    for (conditions, keys) in [
        ("dst-address=10.0.2.0/24", &["10.0.2.1"] as &[&str]),
        ("dst-address=10.0.3.0/24", &[]),
        ("src-address=10.0.1.1/32 dst-address=0.0.0.0/0", &["10.0.1.1 10.0.2.1"]),
        ("port=dns", &["4000 53 (dns)"]),
        ("port=4000-4001", &["4000 53 (dns)", "4001 8291 (winbox)"]),
        ("ip-protocol=udp", &["ip udp"]),
        ("mac-protocol=any", &["ip", "arp"]),
        ("mac-protocol=arp", &["arp"]),
        ("vlan-id=any", &["5"]),
        ("vlan-id=6", &[]),
        ("dscp=46 src-address=0.0.0.0/0", &["10.0.1.9 46"]),
        ("dscp=any", &["0", "46"]),
    ] {
        let mut rig = router("");
        let script = format!("/tool torch ether1 {conditions}");
        let mut torch = Running::start(&mut rig, &script).unwrap();
        a_second(&mut rig, 1, 1);
        rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        let arp = ArpMessage::request(mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        let tagged = Frame { vlan: Some(vlan::Tci(5)), ..craft::arp(arp) };
        rig.pass(1, &frame(1, &tagged));
        let marked = Frame { tos: 46 << 2, ..craft::ping(ip(10, 0, 1, 9), ip(10, 0, 9, 9)) };
        rig.pass(1, &frame(1, &marked));
        rig.wait(Duration::from_secs(1));
        torch.poll(&mut rig);
        let (_, rows) = torch.records.split_last().unwrap();
        let keys_of = |Record(values): &Record| {
            let keys = values.iter().take_while(|(name, _)| *name != "tx");
            keys.map(|(_, value)| value.to_string()).collect::<Vec<_>>().join(" ")
        };
        let rows: Vec<String> = rows.iter().map(keys_of).collect();
        assert_eq!(rows, keys, "{conditions}");
    }
}

#[test]
fn a_look_at_the_wire_closes_fast_path_for_as_long_as_it_lasts() {
    let mut rig = router("");
    let unmet = |rig: &mut Rig| {
        let get = |what: &str| format!(":put [{what}]\n");
        rig.run(
            &(get("/ip settings get ipv4-fast-path-unmet")
                + &get("/interface bridge settings get bridge-fast-path-unmet")),
        )
    };
    let fast = |rig: &Rig| rig.router.interface_counts(rig.ether(1)).fast_rx.packets;
    let before = fast(&rig);
    a_second(&mut rig, 2, 0);
    assert_eq!(fast(&rig), before + 2);
    let mut one = Running::start(&mut rig, "/tool torch ether1").unwrap();
    let mut two = Running::start(&mut rig, "/tool torch ether2").unwrap();
    rig.run("/tool sniffer start");
    a_second(&mut rig, 2, 0);
    assert_eq!(fast(&rig), before + 2, "seen, so not fast");
    let both = "/tool torch is running; /tool sniffer is running\n";
    assert_eq!(unmet(&mut rig), both.repeat(2));
    rig.run("/ip settings set allow-fast-path=no\n/ip settings set allow-fast-path=yes");
    assert_eq!(unmet(&mut rig), both.repeat(2), "whatever the configuration");
    one.stop(&mut rig);
    rig.run("/tool sniffer stop");
    assert_eq!(unmet(&mut rig), "/tool torch is running\n".repeat(2));
    two.stop(&mut rig);
    assert_eq!(unmet(&mut rig), "\n\n");
    a_second(&mut rig, 2, 0);
    assert_eq!(fast(&rig), before + 4);
}

#[test]
fn quick_shows_frames_as_they_come() {
    let mut rig = router("/ip firewall filter add chain=forward protocol=tcp action=drop");
    rig.wait(Duration::from_secs(1));
    let mut quick = Running::start(&mut rig, "/tool sniffer quick duration=2s").unwrap();
    rig.wait(Duration::from_millis(1500));
    rig.pass(1, &there(100));
    rig.pass(2, &back());
    quick.poll(&mut rig);
    assert_eq!(
        quick.shown(),
        "INTERFACE        TIME    NUM DIR SRC-MAC           DST-MAC           VLAN SRC-ADDRESS             DST-ADDRESS             PROTOCOL SIZE CPU FP
ether1          1.500      0 <-  06:00:00:00:00:01 02:00:00:00:00:01      10.0.1.1:4000           10.0.2.1:53 (dns)       ip:udp    100   0 no
ether2          1.500      1 ->  02:00:00:00:00:02 06:00:00:00:00:02      10.0.1.1:4000           10.0.2.1:53 (dns)       ip:udp    100   0 no
ether2          1.500      2 <-  06:00:00:00:00:02 02:00:00:00:00:02      10.0.2.1:8291 (winbox)  10.0.1.1:4001           ip:tcp     60   0 no\n"
    );
    rig.wait(Duration::from_millis(500));
    quick.poll(&mut rig);
    assert_eq!(quick.reply, Some(Reply::Nothing));
    // Each filter alone: how many of the three frames it lets through.
    for (filter, n) in [
        ("interface=ether2", 2),
        ("interface=ether1,ether2", 3),
        ("direction=tx", 1),
        ("mac-address=06:00:00:00:00:01", 1),
        ("mac-address=06:00:00:00:00:00/FF:FF:FF:FF:FF:00", 3),
        ("mac-protocol=arp", 0),
        ("mac-protocol=!arp", 3),
        ("ip-address=10.0.1.0/24", 3),
        ("ip-address=10.0.1.9,10.0.2.1", 3),
        ("ip-address=10.0.1.9,10.0.2.1 operator-between-entries=and", 0),
        ("ip-protocol=udp", 2),
        ("port=53", 2),
        ("port=!dns", 1),
        ("port=8000-8999", 1),
        ("ip-protocol=udp interface=ether1", 1),
        ("vlan=5", 0),
    ] {
        let mut quick = Running::start(&mut rig, &format!("/tool sniffer quick {filter}")).unwrap();
        rig.pass(1, &there(100));
        rig.pass(2, &back());
        quick.poll(&mut rig);
        assert_eq!(quick.records.len(), n, "{filter}\n{}", quick.shown());
        quick.stop(&mut rig);
    }
}

/// What is in a file: interface, direction, length on the wire, length in the file.
fn contents(file: &[u8]) -> Vec<(Option<port::record::Direction>, u32, usize)> {
    let mut reader = Reader::new(file).unwrap();
    let mut all = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        all.push((record.direction, record.original_len, record.bytes.len()));
    }
    all
}

#[test]
fn the_sniffer_keeps_and_writes_frames() {
    use port::record::Direction::{In, Out};
    let mut rig = router("/tool sniffer set file-name=out.pcapng only-headers=yes");
    rig.run("/tool sniffer start");
    assert_eq!(rig.run(":put [/tool sniffer get running]").trim(), "true");
    assert_eq!(
        Running::start(&mut rig, "/tool sniffer start").err().as_deref(),
        Some("failure: sniffer is already running")
    );
    rig.now = rig.now + Duration::from_millis(1234);
    rig.pass(1, &there(1000));
    rig.pass(2, &back());
    let shown = rig.run("/tool sniffer packet print");
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    assert_eq!(
        shown,
        [
            " #   TIME  INTERFACE SRC-ADDRESS            DST-ADDRESS       IP-PROTOCOL SIZE",
            " 0   1.234 ether1    10.0.1.1:4000          10.0.2.1:53 (dns) udp         1000",
            " 1   1.234 ether2    10.0.1.1:4000          10.0.2.1:53 (dns) udp         1000",
            " 2   1.234 ether2    10.0.2.1:8291 (winbox) 10.0.1.1:4001     tcp         60",
            " 3   1.234 ether1    10.0.2.1:8291 (winbox) 10.0.1.1:4001     tcp         60",
        ]
    );
    let detail = rig.run("/tool sniffer packet print detail where num=2");
    assert!(detail.contains("direction=\"rx\" src-mac=06:00:00:00:00:02"), "{detail}");
    let mut save = Running::start(&mut rig, "/tool sniffer save file-name=mem.pcapng").unwrap();
    save.poll(&mut rig);
    let mut stop = Running::start(&mut rig, "/tool sniffer stop").unwrap();
    stop.poll(&mut rig);
    assert_eq!(rig.run(":put [/tool sniffer get running]").trim(), "false");
    let expected =
        [(Some(In), 1000, 42), (Some(Out), 1000, 42), (Some(In), 60, 54), (Some(Out), 60, 54)];
    for (run, name) in [(&save, "mem.pcapng"), (&stop, "out.pcapng")] {
        let [(file, content)] = &run.files[..] else { panic!("{:?}", run.files) };
        assert_eq!(file, name);
        assert_eq!(contents(content), expected, "{name}");
    }
    // It is written once; a second stop has nothing to do.
    rig.run("/tool sniffer stop");
}

#[test]
fn what_the_sniffer_keeps_has_a_limit() {
    // With its header and trailer, a frame of 1000 takes 1044 bytes.
    let numbers = |rig: &mut Rig| {
        let text = rig.run("/tool sniffer packet print terse");
        let num = |line: &str| {
            let at = line.find("num=").unwrap() + 4;
            line[at..].split(' ').next().unwrap().parse::<u64>().unwrap()
        };
        text.lines().map(num).collect::<Vec<_>>()
    };
    let mut rig = router("/tool sniffer set memory-limit=10KiB filter-direction=rx");
    rig.run("/tool sniffer start");
    (0..20).for_each(|_| drop(rig.pass(1, &there(1000))));
    assert_eq!(numbers(&mut rig), (11..20).collect::<Vec<_>>(), "the newest nine");
    rig.run("/tool sniffer stop\n/tool sniffer set memory-scroll=no\n/tool sniffer start");
    (0..20).for_each(|_| drop(rig.pass(1, &there(1000))));
    assert_eq!(numbers(&mut rig), (0..9).collect::<Vec<_>>(), "the first nine");
    assert_eq!(
        rig.run(":put [/tool sniffer get running]").trim(),
        "false",
        "it has stopped itself"
    );
    rig.run("/tool sniffer stop\n/tool sniffer set memory-scroll=yes file-name=f file-limit=20KiB");
    rig.run("/tool sniffer start");
    (0..40).for_each(|_| drop(rig.pass(1, &there(1000))));
    assert_eq!(rig.run(":put [/tool sniffer get running]").trim(), "false", "the file is full");
    let mut stop = Running::start(&mut rig, "/tool sniffer stop").unwrap();
    stop.poll(&mut rig);
    let [(_, content)] = &stop.files[..] else { panic!("no file") };
    assert!((19_000..=20_480).contains(&content.len()), "{}", content.len());
    assert_eq!(contents(content).len(), 19);
    let error = Running::start(&mut router(""), "/tool sniffer save file-name=x").err();
    assert_eq!(error.as_deref(), Some("failure: nothing has been sniffed"));
}

/// Wireshark's own reader of the file: interfaces, directions, addresses, lengths.
#[test]
fn wireshark_reads_the_file() {
    let mut rig = router("/tool sniffer set file-name=x");
    rig.run("/tool sniffer start");
    rig.now = rig.now + Duration::from_nanos(1_234_567_891);
    rig.pass(1, &there(100));
    let mut stop = Running::start(&mut rig, "/tool sniffer stop").unwrap();
    stop.poll(&mut rig);
    let path = std::env::temp_dir().join(format!("wirespeed-{}.pcapng", std::process::id()));
    std::fs::write(&path, &stop.files[0].1).unwrap();
    let fields = [
        "frame.time_epoch",
        "frame.interface_name",
        "frame.packet_flags_direction",
        "frame.len",
        "ip.src",
        "ip.dst",
        "udp.dstport",
    ];
    let mut tshark = std::process::Command::new("tshark");
    tshark.arg("-r").arg(&path).args(["-T", "fields", "-E", "separator=,"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = match tshark.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return left_out("tshark is not here");
        }
        Err(error) => panic!("{error}"),
    };
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "1.234567891,ether1,0x00000001,100,10.0.1.1,10.0.2.1,53",
            "1.234567891,ether2,0x00000002,100,10.0.1.1,10.0.2.1,53",
        ],
        "{errors}"
    );
}

#[test]
fn the_log_is_lines() {
    let mut rig = router(
        "/ip firewall filter add chain=forward action=log log-prefix=hey
/ip firewall filter add chain=forward action=drop",
    );
    rig.now = rig.now + Duration::from_secs(90_061);
    rig.router.log_message(rig.now, "script,info", "first\nline");
    rig.now = rig.now + Duration::from_secs(1);
    rig.pass(1, &there(100));
    assert_eq!(
        rig.run("/log print"),
        "1d 01:01:01 script,info first line
1d 01:01:02 firewall,info hey forward: in:ether1 out:ether2, connection-state:new src-mac \
         06:00:00:00:00:01, proto UDP, 10.0.1.1:4000->10.0.2.1:53, len 86\n"
    );
    let found = rig.run("/log print where topics~\"script\"");
    assert_eq!(found, "1d 01:01:01 script,info first line\n");
    assert_eq!(rig.run(":put [/log print count-only]").lines().last(), Some("2"));
    for n in 0..2000 {
        rig.router.log_message(rig.now, "script,info", &n.to_string());
    }
    let shown = rig.run("/log print");
    assert_eq!(shown.lines().count(), 1000, "the newest");
    assert!(shown.ends_with(" script,info 1999\n"), "{shown}");
}

#[test]
fn what_cannot_be_is_refused() {
    let mut rig = router("");
    for (script, error) in [
        ("/tool torch", "missing value(s) of argument(s) interface"),
        ("/tool torch lan", "input does not match any value of interface"),
        (
            "/tool torch ether1 freeze-frame-interval=0s",
            "value of freeze-frame-interval out of range (10ms..)",
        ),
        (
            "/interface monitor-traffic ether1 interval=1ms",
            "value of interval out of range (10ms..)",
        ),
        ("/interface monitor-traffic ether9", "input does not match any value of interface"),
    ] {
        let refused = Running::start(&mut rig, script).err();
        assert_eq!(refused.as_deref(), Some(error), "{script}");
    }
}
