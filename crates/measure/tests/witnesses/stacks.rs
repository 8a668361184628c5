//! Every stack that a plan's stream can have, as scapy and tshark read its frames.
//!
//! ```text
//!  stack, fields set at random ─► frames ─┬─► scapy: the layers we mean, our values in their fields,
//!                                         │          built again with its lengths and checksums the same
//!                                         └─► tshark: nothing malformed, no wrong checksum or length
//! ```

use super::veth::left_out::lacks;
use super::{File, rebuilt};
use measure::frame::Varying;
use measure::stack::Hosts;
use measure::{Lengths, Pick, Prng, Stack, Values};
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
const NAMES: [(&str, &str); 13] = [
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
    ("cw", "EoMCW"),
];

/// Fields that are set, to any value: the least, and how many bits of more.
const FIELDS: [(&str, u128, u32); 31] = [
    ("vlan.pcp", 0, 3),
    ("vlan.vid", 1, 11),
    ("svlan.pcp", 0, 3),
    ("svlan.vid", 1, 11),
    ("mpls.label", 16, 19),
    ("mpls.tc", 0, 3),
    ("mpls.ttl", 1, 7),
    ("cw.sequence", 0, 16),
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
        "ipv4/ipv4/ipv4",
        "ipv6/ipv4/ipv6/ipv4",
        "ipv4/gre/ipv6/ipv4/ipv6",
        "ipv4/gre/ipv4/gre/ipv4",
    ];
    let mut all: Vec<String> = vec!["eth".into(), "eth/arp".into(), "eth/vlan/arp".into()];
    for link in links {
        for network in networks {
            let icmp = if network.ends_with("ipv4") { "icmp" } else { "icmpv6" };
            all.push(format!("{link}/{network}"));
            all.extend(["udp", "tcp", icmp].map(|above| format!("{link}/{network}/{above}")));
        }
    }
    for below in ["eth/ipv4/gre", "eth/vlan/ipv6/gre", "eth/mpls", "eth/vlan/mpls/mpls/cw"] {
        for inside in ["ipv4", "ipv4/udp", "ipv6/tcp", "vlan/ipv4/icmp", "vlan/ipv6/icmpv6"] {
            all.push(format!("{below}/eth/{inside}"));
        }
    }
    all
}

/// Fields and their values.
type Given = &'static [(&'static str, u128)];

/// Raw bytes in front of a header: what they are, which fields say that they are there, and how many
/// frames Wireshark takes them for that.
const RAW: [(&str, Given, &str); 7] = [
    // 802.1ah.
    ("eth/raw(00000064)/eth/ipv4/udp", &[("eth.type", 0x88e7)], "ieee8021ah && eth && udp"),
    // IPv6's destination options, IPv4's authentication header.
    ("eth/ipv6/raw(1100010400000000)/udp", &[("ipv6.next-header", 60)], "ipv6.dstopts && udp"),
    (
        "eth/ipv4/raw(060400000000010000000001000102030405060708090a0b)/tcp",
        &[("ipv4.protocol", 51)],
        "ah && tcp",
    ),
    // VXLAN over either.
    (
        "eth/ipv4/udp/raw(0800000000000100)/eth/ipv4/tcp",
        &[("udp.dst", 4789)],
        "vxlan.vni == 1 && tcp.checksum.status == 1",
    ),
    (
        "eth/ipv6/udp/raw(0800000000000100)/eth/vlan/ipv4/udp",
        &[("udp.dst", 4789)],
        "vxlan.vni == 1 && vlan && udp",
    ),
    // PPP behind GRE, IPv4 as RFC 1661 numbers it in one byte: an odd number of them.
    (
        "eth/ipv4/gre/raw(ff0321)/ipv4/icmp",
        &[("gre.type", 0x880b)],
        "ppp && icmp.checksum.status == 1",
    ),
    // No raw bytes: scapy counts what is behind ARP as padding, outside of the tunnel.
    ("eth/ipv4/gre/eth/arp", &[], "gre.proto == 0x6558 && arp"),
];

/// A frame, what it is of, and the values of its fields.
struct Made {
    stack: String,
    fields: Vec<(&'static str, u128)>,
    bytes: Vec<u8>,
}

fn made() -> Vec<Made> {
    of(stacks().into_iter().map(|stack| (stack, &[][..])))
}

/// With random values in the fields, or these.
fn of(stacks: impl Iterator<Item = (String, Given)>) -> Vec<Made> {
    let mut prng = Prng::new(7);
    let mut all = vec![];
    for (stack, given) in stacks {
        let parsed = Stack::parse(&stack).unwrap_or_else(|bad| panic!("{stack}: {bad}"));
        // Even and odd, and with and without a checksum over IPv4.
        for (turn, l2) in [220, 257, 1518].into_iter().enumerate() {
            let lengths: Lengths = FrameLen::with_fcs(l2).into();
            let mut plan = parsed.plan(&HOSTS, lengths, turn != 1);
            let mut fields = vec![];
            for (name, least, bits) in FIELDS {
                let Ok(place) = parsed.place(name) else { continue };
                if given.iter().any(|(given, _)| *given == name) {
                    continue;
                }
                let random = u128::from(prng.next()) & ((1 << bits) - 1);
                place.set(&mut plan, least + random);
                fields.push((name, least + random));
            }
            for (name, value) in given {
                parsed.place(name).unwrap().set(&mut plan, *value);
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

/// Wireshark, told what is behind labels, if anything is told; its checks are on.
struct Wireshark {
    file: File,
    labelled: Option<&'static str>,
}

impl Wireshark {
    fn new(name: &str, made: &[Made], labelled: Option<&'static str>) -> Wireshark {
        Wireshark { file: capture(name, made), labelled }
    }

    /// How many frames are as the filter says, and which.
    fn read(&self, filter: &str) -> (usize, String) {
        let mut command = Command::new("tshark");
        command.args(["-n", "-r"]).arg(&self.file.0).args(["-Y", filter]);
        for check in [
            "ip.check_checksum:TRUE",
            "udp.check_checksum:TRUE",
            "tcp.check_checksum:TRUE",
            // RFC 6935: of tunnels.
            "udp.ignore_ipv6_zero_checksum:TRUE",
        ] {
            command.args(["-o", check]);
        }
        if let Some(labelled) = self.labelled {
            command.args(["-d", &format!("mpls.label==16-600000,{labelled}")]);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        (text.lines().count(), text)
    }

    fn finds_nothing_wrong(&self) {
        let wrong = "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0 || \
                     tcp.checksum.status == 0 || icmp.checksum.status == 0 || \
                     icmpv6.checksum.status == 0 || ip.bogus_ip_length || ip.bogus_header_length || \
                     udp.length.bad || ipv6.plen_exceeds_framing";
        assert_eq!(self.read(wrong), (0, String::new()));
    }
}

#[test]
fn wireshark_finds_nothing_wrong_with_any_stack() {
    if lacks(&["tshark"]) {
        return;
    }
    // Behind labels it guesses; of a pseudowire (RFC 4448) it is told.
    let kind = |one: &Made| match one.stack.as_str() {
        stack if stack.contains("mpls/cw") => Some("pwethcw"),
        stack if stack.contains("mpls/eth") => Some("pwethnocw"),
        _ => None,
    };
    for labelled in [None, Some("pwethnocw"), Some("pwethcw")] {
        let made: Vec<Made> = made().into_iter().filter(|one| kind(one) == labelled).collect();
        let name = format!("stacks-tshark-{}.pcap", labelled.unwrap_or("plain"));
        let wireshark = Wireshark::new(&name, &made, labelled);
        wireshark.finds_nothing_wrong();
        // What it looked at: every header of every frame.
        let of = |what: fn(&str) -> bool| made.iter().filter(|one| what(&one.stack)).count();
        for (filter, expected) in [
            ("frame", made.len()),
            ("ip.checksum.status == 1", of(|stack| stack.contains("ipv4"))),
            ("tcp.checksum.status == 1", of(|stack| stack.ends_with("tcp"))),
            ("udp.checksum.status >= 1", of(|stack| stack.ends_with("udp"))),
            ("icmp.checksum.status == 1", of(|stack| stack.ends_with("icmp"))),
            ("icmpv6.checksum.status == 1", of(|stack| stack.ends_with("icmpv6"))),
            ("mpls", of(|stack| stack.contains("mpls"))),
            ("gre", of(|stack| stack.contains("gre"))),
            ("gre.proto == 0x6558", of(|stack| stack.contains("gre/eth"))),
            ("count(eth.dst) == 2", of(|stack| stack.contains("/eth"))),
            ("pwethcw", of(|stack| stack.contains("cw"))),
            ("arp", of(|stack| stack.ends_with("arp"))),
        ] {
            let (found, said) = wireshark.read(filter);
            assert_eq!(found, expected, "{filter}, {labelled:?}: {said}");
        }
    }
}

#[test]
fn wireshark_knows_what_raw_bytes_in_front_of_headers_are() {
    if lacks(&["tshark"]) {
        return;
    }
    for (at, (stack, given, filter)) in RAW.into_iter().enumerate() {
        let made = of(std::iter::once((stack.to_string(), given)));
        let wireshark = Wireshark::new(&format!("stacks-raw-{at}.pcap"), &made, None);
        wireshark.finds_nothing_wrong();
        let (found, _) = wireshark.read(filter);
        assert_eq!(found, made.len(), "{stack}: {filter}: {}", wireshark.read("frame").1);
    }
}

/// Fields of every header of several networks vary, and lengths with them.
#[test]
fn wireshark_finds_checksums_right_whatever_varies() {
    if lacks(&["tshark"]) {
        return;
    }
    let stacks = [
        "eth/ipv4/ipv4/ipv6/ipv4/udp",
        "eth/ipv6/ipv4/gre/ipv6/ipv4/tcp",
        "eth/vlan/ipv4/gre/eth/ipv6/gre/ipv4/ipv4/icmp",
        "eth/ipv4/ipv6/ipv6/ipv6/icmpv6",
    ];
    let mut made = vec![];
    for stack in stacks {
        let parsed = Stack::parse(stack).unwrap();
        let lengths = Lengths::Even(FrameLen::with_fcs(300), FrameLen::with_fcs(1518));
        let mut plan = parsed.plan(&HOSTS, lengths, true);
        for nth in 1..=4 {
            for field in ["ipv4.src", "ipv4.id", "ipv4.ttl", "ipv6.dst", "ipv6.hop-limit"] {
                let name = field.replace('.', &format!("#{nth}."));
                let Ok(place) = parsed.place(&name) else { continue };
                // Of an address its last bits.
                let (at, width) = match field {
                    "ipv4.src" => (place.at + 2, 2),
                    "ipv6.dst" => (place.at + 14, 2),
                    "ipv4.id" => (place.at, 2),
                    _ => (place.at, 1),
                };
                plan.varying.push(Varying {
                    at,
                    width,
                    mask: u64::MAX >> (64 - 8 * width),
                    values: Values::Range(1, (1 << (8 * width)) - 1),
                    pick: Pick::Random,
                    link: None,
                });
            }
        }
        let mut stream = plan.build(1, 0, 1).unwrap_or_else(|bad| panic!("{stack}: {bad}"));
        for _ in 0..50 {
            let mut bytes = vec![0; stream.next_len()];
            stream.write(Moment::from_nanos(1), &mut bytes);
            made.push(Made { stack: stack.to_string(), fields: vec![], bytes });
        }
    }
    let wireshark = Wireshark::new("stacks-varying.pcap", &made, None);
    wireshark.finds_nothing_wrong();
    for (filter, expected) in [
        ("count(ip.checksum) == 3 && udp.checksum.status == 1", 50),
        ("count(ip.checksum) == 2 && count(ipv6.dst) == 2 && tcp.checksum.status == 1", 50),
        ("count(ip.checksum) == 3 && gre && icmp.checksum.status == 1", 50),
        ("count(ipv6.dst) == 3 && icmpv6.checksum.status == 1", 50),
        ("ip.checksum.status == 1", 200),
    ] {
        let (found, said) = wireshark.read(filter);
        assert_eq!(found, expected, "{filter}: {said}");
    }
}
