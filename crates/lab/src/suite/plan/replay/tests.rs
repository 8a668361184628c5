//! Replays that can be, and replays that cannot.

use super::*;
use crate::suite::plan::{Plan, read, read_with};
use port::pcap;
use port::record::Record;
use wire::Ipv4Prefix;
use wire::craft;

const HEAD: &str = "name = \"x\"\n[device]\n[medium]\nlink = \"1G\"\n[traffic]\nflows = \"pair\"\n\
                    [[procedure]]\nkind = \"streams\"\n[[replay]]\n";

const GOOD: &str = "file = \"a.pcap\"\nmap = { \"10.0.0.0/8\" = \"198.18.1.0/24\", \"8.8.8.8/32\" = \
                    \"198.19.1.8/32\" }\n";

/// Two hosts that ask and are answered, and an ARP request, a millisecond apart.
fn capture() -> Vec<u8> {
    let mut writer = pcap::Writer::new(vec![]).unwrap();
    let (a, b) = (0x0a00_0005, 0x0808_0808);
    let arp = wire::arp::ArpMessage::request(Default::default(), a, b);
    let query = craft::udp(a, 4000, b, 53).build();
    let answer = craft::Frame { payload: &[7; 300], ..craft::udp(b, 53, a, 4000) }.build();
    for (n, frame) in [query, answer, craft::arp(arp).build()].iter().enumerate() {
        writer.write(&Record::ethernet(n as u64 * 1_000_000, frame)).unwrap();
    }
    writer.finish().unwrap()
}

fn open(file: &str) -> Result<Vec<u8>, String> {
    match file {
        "a.pcap" => Ok(capture()),
        "empty.pcap" => Ok(pcap::Writer::new(vec![]).unwrap().finish().unwrap()),
        "text.pcap" => Ok(b"no capture".to_vec()),
        file => Err(format!("cannot read {file}: No such file")),
    }
}

fn plan_for(text: &str, allowed: Allowed) -> Result<Plan, String> {
    read_with(text, allowed, None, &open).map_err(|bad| bad.to_string())
}

fn replay(more: &str) -> Replay {
    let text = format!("{HEAD}{GOOD}{more}");
    let plan = plan_for(&text, Allowed::default()).unwrap_or_else(|bad| panic!("{bad}\n{text}"));
    plan.replays[0].clone()
}

#[test]
fn what_is_said_is_done() {
    let link = BitRate::gbps(1.0);
    let until = |more: &str| replay(more).until(link).unwrap().as_micros();
    // The ARP request is left out: no router forwards it.
    for (more, until_us) in [
        ("", 1000),
        ("speed = 2\n", 500),
        ("speed = 0.5\n", 2000),
        ("loop = 3\n", 2 * 2000 + 1000),
        ("loop = 3\npackets = 3\n", 2000),
        ("loop = 3\nduration = \"3.5ms\"\n", 3000),
        ("start = \"1s\"\n", 1_001_000),
        ("rate = 100\n", 10_000),
        ("rate = \"asap\"\n", 0), // one of each side
    ] {
        assert_eq!(until(more), until_us, "{more}");
    }
    let plain = replay("");
    let done = "a.pcap, 1 frames left out that are not IP, 10.0.0.0/8 as 198.18.1.0/24, 8.8.8.8/32 as \
                198.19.1.8/32";
    assert_eq!(plain.described(), done);
    assert_eq!((plain.load().as_str(), plain.ports), ("captured speed x 1", [0, 1]));
    assert_eq!(plain.sizes(Side::Second), "346");
    assert_eq!(replay("rate = \"asap\"\n").load(), "as soon as each port's wire is free");
    let many = replay("loop = 4\neach-loop = { \"198.18.1.0/24\" = 10 }\nrate = \"1Mbps(L2)\"\n");
    assert_eq!(many.load(), "1 Mbps(L2), both ports together, 4 loops");
    let port = |n: u8| End::of(Ipv4Prefix::new(u32::from_be_bytes([198, n, 1, 0]), 24));
    let last = |n| many.hosts_in(&port(n)).unwrap().iter().map(|a| a & 255).collect::<Vec<_>>();
    assert_eq!((last(18), last(19)), (vec![5, 15, 25, 35], vec![8]));
    // A bridge forwards all there is.
    let text = format!("{HEAD}{GOOD}").replace("pair", "hosts");
    let bridged = plan_for(&text, Allowed::default()).unwrap();
    assert_eq!(bridged.replays[0].plan.frames.len(), 3);
    let text = format!(
        "{HEAD}{GOOD}duration = \"10s\"\nstart = \"20s\"\n[quick]\ndivide-durations-by = 100.0\n"
    );
    let plan = plan_for(&text, Allowed::default()).unwrap();
    let quick = plan.clone().scaled(&plan.quick);
    assert_eq!(quick.replays[0].start, Duration::from_millis(200));
    assert_eq!(quick.replays[0].plan.duration, Some(Duration::from_millis(100)));
}

#[test]
fn impossible_replays() {
    for (from, to, expected) in [
        ("a.pcap", "b.pcap", "10:8: cannot read b.pcap: No such file"),
        ("a.pcap", "empty.pcap", "10:8: empty.pcap: it holds no frames"),
        ("a.pcap", "text.pcap", "10:8: text.pcap: at byte 0: neither pcap nor pcapng"),
        (
            "198.19.1.8/32",
            "198.19.1.1/32",
            "10:8: replay 1: 198.19.1.1, in frame 1 of a.pcap, is the device's",
        ),
        ("198.18.1.0/24", "198.18.1.9/24", "11:24: \"198.18.1.9/24\" is no network"),
        ("198.18.1.0/24", "2001:2::/64", "11:24: 10.0.0.0/8 and 2001:2::/64: both of IPv4"),
        ("file", "speed = 0\nfile", "10:9: a speed is 0.000001 to 1000000 times"),
        (
            "file",
            "speed = 2\nrate = 9\nfile",
            "11:8: a speed, of the times in the capture, or a rate",
        ),
        ("file", "speed = 1000\nfile", "10:9: replay 1, by port 2: a rate above the wire"),
        ("file", "rate = \"fast\"\nfile", "10:8: \"fast\" is no rate: 10000 or \"10kpps\""),
        ("file", "rate = \"130%\"\nfile", "10:8: replay 1, by port 2: a rate above the wire"),
        ("file", "loop = 0\nfile", "10:8: a number from 1 to 1000000"),
        (
            "file",
            "each-loop = { \"198.18.1.0/24\" = 1 }\nfile",
            "10:15: each-loop is of replays that loop",
        ),
        (
            "file",
            "loop = 99\neach-loop = { \"198.18.1.0/24\" = 3 }\nfile",
            "12:8: a.pcap: 198.18.1.5, in frame 1, leaves 198.18.1.0/24 with 99 loops of 3 each",
        ),
        ("file", "split = \"halves\"\nfile", "10:9: \"halves\" parts nothing: \"hosts\""),
        ("file", "split = [\"10.0.0.0\"]\nfile", "10:9: \"10.0.0.0\" is no network"),
        ("file", "from = 3\nfile", "10:8: ports are 1 to 2"),
        ("file", "to = 1\nfile", "10:6: a replay comes out of another port"),
        ("file", "vlan = 4095\nfile", "10:8: \"strip\" takes tags off"),
        ("file", "macs = \"mine\"\nfile", "10:8: MAC addresses: \"hosts\", ours"),
        ("file", "recognise = \"all\"\nfile", "10:13: frames are known by \"packets\""),
        ("file", "sizes = 64\nfile", "10:1: unknown field `sizes`"),
        ("kind = \"streams\"", "kind = \"latency\"", "8:8: latency has frame-sizes, in [traffic]"),
    ] {
        let text = format!("{HEAD}{GOOD}");
        assert!(text.contains(from), "{from}");
        let bad = plan_for(&text.replacen(from, to, 1), Allowed::default()).unwrap_err();
        assert!(bad.starts_with(expected), "{from} → {to}: {bad}");
    }
    let bad = read(&format!("{HEAD}{GOOD}"), Allowed::default()).unwrap_err().to_string();
    assert!(bad.contains("a.pcap: nobody is here to read it"), "{bad}");
    // Together they are too much, each by itself is not.
    let stream =
        "[[stream]]\nstack = \"eth/ipv4/udp\"\nsizes = 64\nrate = \"95%\"\nduration = \"1s\"\n";
    let text = format!("{HEAD}{GOOD}rate = \"50%\"\nloop = 1000000\nduration = \"1s\"\n{stream}");
    let bad = plan_for(&text, Allowed::default()).unwrap_err();
    assert!(bad.contains("a rate above the wire: with stream 1 what port 1 sends"), "{bad}");
}

/// Hosts that the capture has apart stay apart, however large the networks are, unless that is not wanted.
#[test]
fn addresses_that_become_one() {
    // In the capture 10.0.0.5 and 8.8.8.8 speak.
    for (map, expected) in [
        ("\"10.0.0.0/8\" = \"198.18.1.0/24\"", None),
        (
            "\"0.0.0.0/0\" = \"198.18.1.40/32\"",
            Some(
                "11:23: 10.0.0.5 and 8.8.8.8 of a.pcap both become 198.18.1.40, and what they say",
            ),
        ),
        (
            "\"10.0.0.0/8\" = \"198.18.1.0/29\", \"8.0.0.0/8\" = \"198.18.1.5/32\"",
            Some("11:24: 10.0.0.5 and 8.8.8.8 of a.pcap both become 198.18.1.5"),
        ),
        // One of them as it was: the other comes to it.
        (
            "\"10.0.0.0/8\" = \"8.8.8.8/32\"",
            Some("11:24: 10.0.0.5 and 8.8.8.8 of a.pcap both become 8.8.8.8"),
        ),
    ] {
        let text = format!("{HEAD}file = \"a.pcap\"\nmap = {{ {map} }}\n");
        let said = plan_for(&text, Allowed::default()).err();
        let begins = said.as_deref().zip(expected).map(|(said, part)| said.starts_with(part));
        assert!(said.is_some() == expected.is_some() && begins != Some(false), "{map}: {said:?}");
        let meant = format!("{text}merge-addresses = true\n");
        let plan = plan_for(&meant, Allowed::default());
        assert!(plan.is_ok(), "{plan:?}");
    }
}

/// RFC 6815: what leaves this machine has addresses for benchmarks, or somebody said that it may.
#[test]
fn addresses_outside() {
    let strict = Allowed { external: true, any_address: false };
    let text = format!("{HEAD}{GOOD}");
    assert!(plan_for(&text, strict).is_ok());
    let text = text.replace("198.18.1.0/24", "192.0.2.0/24");
    let bad = plan_for(&text, strict).unwrap_err();
    let expected = "10:8: a.pcap: 192.0.2.5, in frame 1, is not in 198.18.0.0/15";
    assert!(bad.starts_with(expected), "{bad}");
    assert!(plan_for(&text, Allowed { any_address: true, ..strict }).is_ok());
    assert!(plan_for(&text, Allowed::default()).is_ok(), "nothing leaves this machine");
}
