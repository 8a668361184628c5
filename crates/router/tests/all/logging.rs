//! `/system logging`: which lines are kept, and what a syslog server is told.

use crate::rig::{Rig, mac, own_mac};
use std::time::Duration;
use wire::craft::{self, ip};
use wire::layers;

const CONFIG: &str = "\
/ip address add address=10.0.0.1/24 interface=ether1
/ip arp add address=10.0.0.9 mac-address=06:00:00:00:00:09 interface=ether1
/system identity set name=gw
";

fn says(rig: &mut Rig, topics: &str, message: &str) {
    rig.router.log_message(rig.now, topics, message);
}

/// What is in the log, without times.
fn log(rig: &mut Rig) -> Vec<String> {
    let text = rig.run("/log print");
    text.lines().map(|line| line.split_once(' ').unwrap().1.trim().to_string()).collect()
}

#[test]
fn what_is_kept() {
    for (config, kept) in [
        ("", &["dhcp,info a", "script,error b", "dhcp,warning c"][..]),
        ("/system logging set 0 topics=info,!dhcp", &["script,error b", "dhcp,warning c"]),
        ("/system logging disable 1", &["dhcp,info a", "dhcp,warning c"]),
        (
            "/system logging add topics=debug prefix=D",
            &["dhcp,info a", "script,error b", "dhcp,warning c", "dhcp,debug D: d"],
        ),
        // Twice to one place is once, unless it looks different there.
        (
            "/system logging add topics=dhcp",
            &["dhcp,info a", "script,error b", "dhcp,warning c", "dhcp,debug d"],
        ),
        (
            "/system logging add topics=script prefix=S",
            &["dhcp,info a", "script,error b", "script,error S: b", "dhcp,warning c"],
        ),
        ("/system logging action set memory memory-lines=1", &["dhcp,warning c"]),
        (
            "/system logging action set memory memory-lines=1 memory-stop-on-full=yes",
            &["dhcp,info a"],
        ),
        (
            "/system logging action add name=own memory-lines=1 target=memory
             /system logging add topics=dhcp action=own",
            &["dhcp,info a", "script,error b", "dhcp,warning c", "dhcp,debug d"],
        ),
    ] {
        let mut rig = Rig::new(1, CONFIG);
        rig.run(config);
        let lines =
            [("dhcp,info", "a"), ("script,error", "b"), ("dhcp,warning", "c"), ("dhcp,debug", "d")];
        lines.iter().for_each(|(topics, text)| says(&mut rig, topics, text));
        assert_eq!(log(&mut rig), kept, "{config}");
        let export = rig.run("/export");
        assert_eq!(Rig::new(1, &export).run("/export"), export, "{config}");
    }
}

#[test]
fn buffers_have_names() {
    let mut rig = Rig::new(
        1,
        "/system logging action add name=own target=memory\n/system logging add topics=dhcp action=own",
    );
    says(&mut rig, "dhcp,info", "a");
    says(&mut rig, "script,info", "b");
    for (buffer, count) in [("own", "1"), ("memory", "2"), ("remote", "0")] {
        let found = rig.run(&format!(":put [:len [/log find buffer={buffer}]]"));
        assert_eq!(found.trim(), count, "{buffer}");
    }
    rig.run("/system logging remove [find action=own]");
    assert_eq!(log(&mut rig).len(), 2);
}

/// The datagrams that left: source, destination, text.
fn told(rig: &mut Rig) -> Vec<String> {
    rig.wait(Duration::from_millis(200));
    let frames = rig.take(1);
    let text = |frame: &Vec<u8>| {
        let layers = layers::network(frame).ok()?;
        let payload = &frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)];
        (layers.tuple.dst_port == 514 && layers.tuple.dst == ip(10, 0, 0, 9))
            .then(|| String::from_utf8(payload.to_vec()).unwrap())
    };
    frames.iter().filter_map(text).collect()
}

#[test]
fn syslog_servers() {
    const LOGS: &str = "/system logging add topics=dhcp action=remote\n";
    for (action, expected) in [
        ("set 3 remote=10.0.0.9", &["dhcp,info hello"][..]),
        ("set remote remote=10.0.0.9 bsd-syslog=yes", &["<30>Jan  1 00:00:00 gw dhcp,info hello"]),
        (
            "set remote remote=10.0.0.9 bsd-syslog=yes syslog-facility=local0 syslog-severity=alert",
            &["<129>Jan  1 00:00:00 gw dhcp,info hello"],
        ),
        (
            "set remote remote=10.0.0.9 bsd-syslog=yes syslog-time-format=iso8601",
            &["<30>1 1970-01-01T00:00:00.000Z gw dhcp,info - - - hello"],
        ),
        ("set remote remote=10.9.9.9", &[]),
    ] {
        let mut rig = Rig::new(1, CONFIG);
        rig.run(&format!("{LOGS}/system logging action {action}"));
        says(&mut rig, "dhcp,info", "hello");
        says(&mut rig, "script,info", "not that");
        assert_eq!(told(&mut rig), expected, "{action}");
        assert!(rig.router.frames().balance());
    }
}

/// A rule's line goes there as well, and one that logs syslog itself is no endless loop; what OUTPUT
/// drops does not leave.
#[test]
fn through_its_own_output() {
    let mut rig = Rig::new(1, CONFIG);
    rig.run(
        "/system logging action set remote remote=10.0.0.9\n\
             /system logging add topics=firewall action=remote\n\
             /ip firewall filter add chain=output protocol=udp dst-port=514 log=yes log-prefix=S\n\
             /ip firewall filter add chain=input protocol=icmp log=yes log-prefix=P",
    );
    let ping = craft::ping(ip(10, 0, 0, 9), ip(10, 0, 0, 1));
    let ping = craft::Frame { src_mac: mac(9), dst_mac: own_mac(1), ..ping }.build();
    rig.send(1, &ping);
    rig.breathe();
    let told_of = told(&mut rig);
    assert_eq!(told_of.len(), 1, "{told_of:?}");
    assert!(told_of[0].starts_with("firewall,info P input: in:ether1"), "{told_of:?}");
    assert_eq!(log(&mut rig).len(), 2);
    rig.run("/ip firewall filter set [find chain=output] action=drop");
    rig.send(1, &ping);
    rig.breathe();
    assert!(told(&mut rig).is_empty());
    assert!(rig.router.frames().balance());
}

/// For whoever runs the router.
#[test]
fn outside() {
    let mut rig = Rig::new(
        1,
        "/system logging add topics=dhcp action=disk\n/system logging action set disk disk-file-name=x",
    );
    says(&mut rig, "dhcp,critical", "a");
    let taken: Vec<_> = std::iter::from_fn(|| rig.router.take_outside()).collect();
    let lines: Vec<_> = taken.iter().map(|(to, line)| format!("{to:?} {line}")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0], "Echo jan/01/1970 00:00:00 dhcp,critical a");
    assert!(lines[1].starts_with("File { name: \"x\", lines: 1000, files: 2"), "{lines:?}");
}

/// However much is said, no more waits than may.
#[test]
fn too_much() {
    let mut rig = Rig::new(1, CONFIG);
    rig.run("/system logging add topics=dhcp action=disk");
    (0..5000).for_each(|n| says(&mut rig, "dhcp,info", &n.to_string()));
    assert_eq!(std::iter::from_fn(|| rig.router.take_outside()).count(), 1024);
    assert_eq!(log(&mut rig).len(), 1000);
}
