//! Every stack that a plan's stream can have, as scapy and tshark read its frames.
//!
//! ```text
//!  stack, fields set at random ─► frames ─┬─► scapy: the layers we mean, our values in their fields,
//!                                         │          built again with its lengths and checksums the same
//!                                         └─► tshark: nothing malformed, no wrong checksum or length
//! ```

use super::{File, is_there, rebuilt};
use measure::stack::Hosts;
use measure::{Lengths, Prng, Stack};
use std::process::Command;
use wire::{FrameLen, MacAddr, Moment};

const HOSTS: Hosts = Hosts {
    src_mac: MacAddr([6, 0, 0, 0, 0, 1]),
    dst_mac: MacAddr([2, 0, 0, 0, 0, 1]),
    src: 0xc612_0102,
    dst: 0xc613_0102,
    src6: 0x2001_0002_0000_0001_0000_0000_0000_0002,
    dst6: 0x2001_0002_0000_0002_0000_0000_0000_0002,
};

/// What scapy calls a header.
const NAMES: [(&str, &str); 12] = [
    ("eth", "Ether"),
    ("vlan", "Dot1Q"),
    ("svlan", "Dot1AD"),
    ("mpls", "MPLS"),
    ("arp", "ARP"),
    ("ipv4", "IP"),
    ("ipv6", "IPv6"),
    ("icmp", "ICMP"),
    ("icmpv6", "ICMPv6EchoRequest"),
    ("udp", "UDP"),
    ("tcp", "TCP"),
    ("gre", "GRE"),
];

/// Fields that are set, to any value: the least, and how many bits of more.
const FIELDS: [(&str, u128, u32); 30] = [
    ("vlan.pcp", 0, 3),
    ("vlan.vid", 1, 11),
    ("svlan.pcp", 0, 3),
    ("svlan.vid", 1, 11),
    ("mpls.label", 16, 19),
    ("mpls.tc", 0, 3),
    ("mpls.ttl", 1, 7),
    ("arp.op", 1, 1),
    ("arp.spa", 0, 32),
    ("arp.tpa", 0, 32),
    ("ipv4.dscp", 0, 6),
    ("ipv4.ecn", 0, 2),
    ("ipv4.id", 0, 16),
    ("ipv4.ttl", 1, 7),
    ("ipv4.src", 0x0a00_0000, 24),
    ("ipv4.dst", 0x0b00_0000, 24),
    ("ipv6.traffic-class", 0, 8),
    ("ipv6.flow-label", 0, 20),
    ("ipv6.hop-limit", 1, 7),
    ("ipv6.src", 0x2001_0002 << 96, 64),
    ("ipv6.dst", 0x2001_0002 << 96, 64),
    ("icmp.id", 0, 16),
    ("icmp.seq", 0, 16),
    ("icmpv6.seq", 0, 16),
    // Ports of nobody's protocol: tshark would look for it.
    ("udp.src", 0xc000, 4),
    ("tcp.src", 0xc000, 4),
    ("tcp.seq", 0, 32),
    ("tcp.ack", 0, 32),
    ("tcp.flags", 0, 8),
    ("tcp.window", 0, 16),
];

/// Whatever can be in front of a network, be one, and be on it.
fn stacks() -> Vec<String> {
    let links = ["eth", "eth/vlan", "eth/svlan/vlan", "eth/mpls", "eth/vlan/mpls/mpls"];
    let networks = [
        "ipv4",
        "ipv6",
        "ipv4/ipv4",
        "ipv4/ipv6",
        "ipv6/ipv4",
        "ipv6/ipv6",
        "ipv4/gre/ipv4",
        "ipv4/gre/ipv6",
        "ipv6/gre/ipv4",
        "ipv6/gre/ipv6",
    ];
    let mut all: Vec<String> = vec!["eth".into(), "eth/arp".into(), "eth/vlan/arp".into()];
    for link in links {
        for network in networks {
            let icmp = if network.ends_with("ipv4") { "icmp" } else { "icmpv6" };
            all.push(format!("{link}/{network}"));
            all.extend(["udp", "tcp", icmp].map(|above| format!("{link}/{network}/{above}")));
        }
    }
    all
}

/// A frame, what it is of, and the values of its fields.
struct Made {
    stack: String,
    fields: Vec<(&'static str, u128)>,
    bytes: Vec<u8>,
}

fn made() -> Vec<Made> {
    let mut prng = Prng::new(7);
    let mut all = vec![];
    for stack in stacks() {
        let parsed = Stack::parse(&stack).unwrap_or_else(|bad| panic!("{stack}: {bad}"));
        // Even and odd, and with and without a checksum over IPv4.
        for (turn, l2) in [180, 257, 1518].into_iter().enumerate() {
            let lengths: Lengths = FrameLen::with_fcs(l2).into();
            let mut plan = parsed.plan(&HOSTS, lengths, turn != 1);
            let mut fields = vec![];
            for (name, least, bits) in FIELDS {
                let Ok(place) = parsed.place(name) else { continue };
                let random = u128::from(prng.next()) & ((1 << bits) - 1);
                place.set(&mut plan, least + random);
                fields.push((name, least + random));
            }
            let mut stream = plan.build(1, 0, 1).unwrap_or_else(|bad| panic!("{stack}: {bad}"));
            let mut bytes = vec![0; stream.next_len()];
            stream.write(Moment::from_nanos(1), &mut bytes);
            all.push(Made { stack: stack.clone(), fields, bytes });
        }
    }
    all
}

fn capture(name: &str, made: &[Made]) -> File {
    let frames: Vec<Vec<u8>> = made.iter().map(|one| one.bytes.clone()).collect();
    File::capture(name, &frames)
}

#[test]
fn scapy_builds_every_stack_s_frames() {
    let made = made();
    let Some(read) = rebuilt(&capture("stacks-scapy.pcap", &made)) else { return };
    assert_eq!(read.len(), made.len());
    for (line, Made { stack, fields, .. }) in read.iter().zip(&made) {
        let (layers, values) = line.split_once(' ').unwrap_or((line, ""));
        let name = |ours: &str| NAMES.iter().find(|(known, _)| *known == ours).unwrap().1;
        let meant: Vec<&str> = stack.split('/').map(name).collect();
        let behind = layers.strip_prefix(&meant.join("/"));
        // The trailer, in what is no protocol's; an echo request has its data itself.
        assert!(matches!(behind, Some("" | "/Raw" | "/Padding")), "{stack}: {line}");
        let values: Vec<&str> = values.split(' ').collect();
        for (name, value) in fields {
            let expected = format!("{name}={value}");
            assert!(values.contains(&expected.as_str()), "{stack}: {expected} in {line}");
        }
    }
}

#[test]
fn wireshark_finds_nothing_wrong_with_any_stack() {
    if !is_there("tshark") {
        return;
    }
    let made = made();
    let file = capture("stacks-tshark.pcap", &made);
    let read = |filter: &str| {
        let mut command = Command::new("tshark");
        command.args(["-n", "-r"]).arg(&file.0).args(["-Y", filter]);
        for check in
            ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "tcp.check_checksum:TRUE"]
        {
            command.args(["-o", check]);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let wrong = read(
        "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0 || tcp.checksum.status \
         == 0 || icmp.checksum.status == 0 || icmpv6.checksum.status == 0 || ip.bogus_ip_length || \
         ip.bogus_header_length || udp.length.bad || ipv6.plen_exceeds_framing",
    );
    assert_eq!(wrong, "");
    // What it looked at: every header of every frame.
    let of = |what: fn(&str) -> bool| made.iter().filter(|one| what(&one.stack)).count();
    for (filter, expected) in [
        ("frame", made.len()),
        ("ip.checksum.status == 1", of(|stack| stack.contains("ipv4"))),
        ("tcp.checksum.status == 1", of(|stack| stack.ends_with("tcp"))),
        ("icmp.checksum.status == 1", of(|stack| stack.ends_with("icmp"))),
        ("icmpv6.checksum.status == 1", of(|stack| stack.ends_with("icmpv6"))),
        ("mpls", of(|stack| stack.contains("mpls"))),
        ("gre", of(|stack| stack.contains("gre"))),
        ("arp", of(|stack| stack.ends_with("arp"))),
    ] {
        assert_eq!(read(filter).lines().count(), expected, "{filter}");
    }
}
