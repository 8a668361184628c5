//! The check against a real kernel, in namespaces of our own.

use super::*;
use crate::linux::netlink::End;

fn wanted(port: &str, how: How, interface: &str, namespace: &Namespace) -> Wanted {
    let namespace = Some(namespace.path().display().to_string());
    Wanted { port: port.to_string(), how, interface: interface.to_string(), namespace }
}

fn find<'a>(report: &'a Report, of: &str, what: &str) -> &'a Finding {
    let found = report.findings.iter().find(|f| (f.of.as_str(), f.what.as_str()) == (of, what));
    found.unwrap_or_else(|| panic!("no {what} of {of} in\n{}", report.table()))
}

#[test]
fn what_is_there_is_told_and_nothing_is_changed() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(unavailable) => {
            assert!(std::env::var_os("CI").is_none(), "{unavailable}");
            return eprintln!("skipped: {unavailable}");
        }
    };
    let mut netlink = Netlink::open_in(&namespace).unwrap();
    let a = End { name: "va", queues: Some(1), ..End::default() };
    netlink.add_veth(&a, &End { name: "vb", queues: Some(1), ..End::default() }).unwrap();
    netlink.set_up("vb", true).unwrap();
    let before =
        (netlink.links().unwrap(), namespace.run(|| Interface::of("va").unwrap()).unwrap());
    let report = check(
        &[
            wanted("ether1", How::Xdp, "va", &namespace),
            wanted("ether2", How::Packet, "vb", &namespace),
            wanted("ether3", How::Tap, "tap0", &namespace),
            wanted("ether4", How::Packet, "no-such-if", &namespace),
            wanted("ether5", How::Xdp, "lo", &namespace),
        ],
        &[0, 4000],
        1 << 20,
    );
    let text = report.table();
    let driver = find(&report, "ether1", "driver");
    assert!(driver.is.starts_with("veth"), "{text}");
    assert_eq!(find(&report, "ether1", "link").is, "down");
    let up = &find(&report, "ether1", "link").advice;
    assert!(
        up.starts_with("type `nsenter --net=/proc/") && up.ends_with("ip link set va up`"),
        "{up}"
    );
    assert_eq!(find(&report, "ether2", "link").is, "no carrier");
    let offloads = find(&report, "ether1", "offloads");
    assert!(offloads.advice.contains("ethtool -K va tx off"), "{text}");
    assert!(find(&report, "ether3", "interface").is.contains("made by TAP"), "{text}");
    let missing = find(&report, "ether4", "interface");
    assert_eq!(missing.verdict, Verdict::Stop);
    assert!(missing.is.contains("No such device") && missing.advice.contains("ip link"), "{text}");
    assert_eq!(find(&report, "ether5", "interface").verdict, Verdict::Stop);
    assert_eq!(find(&report, "core 4000", "processor").verdict, Verdict::Stop);
    assert!(find(&report, "core 0", "steal").is.contains('%'), "{text}");
    assert!(report.stops());
    assert_eq!(report.json()["stops"], true);
    let after = (netlink.links().unwrap(), namespace.run(|| Interface::of("va").unwrap()).unwrap());
    assert_eq!(before, after, "looking changed something");

    let report = check(&[wanted("ether1", How::Packet, "va", &namespace)], &[], 1 << 20);
    assert!(!report.stops(), "{}", report.table());
}

#[test]
fn lists_of_processors() {
    for (list, number, expected) in
        [("", 0, false), ("1", 1, true), ("1,4-7", 5, true), ("1,4-7", 3, false), ("x-y", 0, false)]
    {
        assert_eq!(listed(list, number), expected, "{number} in {list:?}");
    }
}
