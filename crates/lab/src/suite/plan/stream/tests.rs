//! Streams that can be, and streams that cannot.

use super::*;
use crate::suite::plan::{Plan, Procedure, read};
use measure::Stream;
use wire::{Moment, PacketRate};

const HEAD: &str = "name = \"x\"\n[device]\n[medium]\nlink = \"1G\"\n[traffic]\nflows = \"pair\"\n\
                    [[procedure]]\nkind = \"streams\"\n[[stream]]\n";

fn plan(stream: &str) -> Result<Plan, String> {
    read(&format!("{HEAD}{stream}"), Allowed::default()).map_err(|bad| bad.to_string())
}

fn spec(stream: &str) -> Spec {
    let plan = plan(stream).unwrap_or_else(|bad| panic!("{bad}\n{stream}"));
    plan.streams()[0].clone()
}

const HOSTS: Hosts = Hosts {
    src_mac: MacAddr([6, 0, 0, 0, 0, 1]),
    dst_mac: MacAddr([2, 0, 0, 0, 0, 1]),
    src: 0xc612_0102,
    dst: 0xc613_0102,
    src6: 0,
    dst6: 0,
};

/// The next frame's bytes here, in hexadecimal.
fn next(stream: &mut Stream, at: std::ops::Range<usize>) -> String {
    let mut bytes = vec![0; stream.next_len()];
    stream.write(Moment::ZERO, &mut bytes);
    bytes[at].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn rates_shapes_and_ends() {
    let base = "stack = \"eth/ipv4/udp\"\nsizes = 64\n";
    let link = BitRate::gbps(1.0);
    for (said, frames, until_us) in [
        ("rate = 1000\nduration = \"2s\"", Some(2000), 2_000_000),
        ("rate = \"10kpps\"\npackets = 101", Some(101), 10_000),
        ("rate = \"10kpps\"\npackets = 101\nstart = \"1s\"", Some(101), 1_010_000),
        ("rate = \"1kpps\"\npackets = 5000\nduration = \"1s\"", Some(1000), 1_000_000),
        ("rate = 0.01\npackets = 865", Some(865), 86_400_000_000),
        ("rate = 0.01\npackets = 1000\nduration = \"200s\"", Some(2), 200_000_000),
        ("rate = \"512kbps(L2)\"\nduration = \"1s\"", Some(1000), 1_000_000),
        ("rate = \"368kbps(L3)\"\nduration = \"1s\"", Some(1000), 1_000_000),
        ("rate = \"672kbps(L1)\"\nduration = \"1s\"", Some(1000), 1_000_000),
        ("rate = \"100%\"\nduration = \"21ms\"", Some(31_250), 21_000),
        ("rate = \"1kpps\"\nshape = \"burst 16\"\nduration = \"1s\"", Some(1008), 1_000_000),
        (
            "rate = \"1kpps\"\nshape = \"multi-burst 3 x 4, 10ms apart\"",
            Some(12),
            2 * 13_000 + 3000,
        ),
        ("rate = \"1kpps\"\nshape = \"poisson\"\nduration = \"1s\"", None, 1_000_000),
        ("rate = \"1kpps\"\nshape = \"ramp to 3kpps\"\nduration = \"1s\"", Some(2000), 1_000_000),
    ] {
        let spec = spec(&format!("{base}{said}"));
        let (schedule, most) = spec.schedule(Moment::ZERO, link).unwrap();
        let all = schedule.frames().map(|all| all.min(most.unwrap_or(u64::MAX)));
        assert_eq!(all, frames, "{said}");
        assert_eq!(spec.until(link).unwrap().as_micros(), until_us, "{said}");
    }
}

#[test]
fn lengths() {
    for (sizes, expected, mean) in [
        ("64", "64", 64.0),
        ("\"1518\"", "1518", 1518.0),
        ("\"64-1518\"", "64 to 1518, each as likely", 791.0),
        (
            "\"imix\"",
            "simple: IMIX - aAaaAagaAaAa (A=594); frames with FCS: 64:7, 594:4, 1518:1, mean 361.8 B",
            4342.0 / 12.0,
        ),
        ("\"IMIX - aaafg\"", "aaafg: IMIX - aaafg", 598.0),
        ("\"aA (A=100)\"", "aA: IMIX - aA (A=100)", 82.0),
        ("\"IMIX - az\"", "IMIX - az (z=1518); frames with FCS: 64:1, 1518:1", 791.0),
        ("\"IMIX - 3a g\"", "3a g: IMIX - aaag; frames with FCS: 64:3", 427.5),
        ("\"64:7,570:4,1518:1\"", "weighted: IMIX -", 4246.0 / 12.0),
    ] {
        let spec =
            spec(&format!("stack = \"eth/ipv4/udp\"\nsizes = {sizes}\nrate = 1000\npackets = 9"));
        let said = spec.sizes();
        let expected = expected.trim_start_matches("aaafg: ");
        assert!(said.contains(expected.trim_start_matches("aA: ")), "{sizes}: {said}");
        assert!((spec.mean_l2() - mean).abs() < 1e-9, "{sizes}: {}", spec.mean_l2());
    }
}

/// Frames a second are equally far apart, if the longest has the room; bits are as long as they are.
#[test]
fn gaps_of_several_lengths() {
    for (rate, expected) in [
        ("\"1kpps\"", true),
        ("81000", true),
        // 1518 bytes at 1 Gbit/s: 81274 a second.
        ("82000", false),
        ("\"1Mbps(L2)\"", false),
        ("\"5%\"", false),
    ] {
        let spec = spec(&format!(
            "stack = \"eth/ipv4/udp\"\nsizes = \"imix\"\nrate = {rate}\npackets = 9"
        ));
        assert_eq!(spec.longest().l2(), 1518);
        assert_eq!(spec.has_one_gap(BitRate::gbps(1.0)), expected, "{rate}");
    }
}

#[test]
fn fields_go_their_ways() {
    let base = "stack = \"eth/vlan/ipv4/udp\"\nsizes = 128\nrate = 1000\npackets = 9\n";
    let (src, dst, vid, udp) = (30..34, 34..38, 14..16, 38..42);
    for (field, at, expected) in [
        ("name = \"ipv4.dst\"\nvalue = \"198.19.1.9\"", dst.clone(), &["c6130109", "c6130109"][..]),
        (
            "name = \"ipv4.dst\"\nincrement = \"198.19.1.2-198.19.1.3\"",
            dst.clone(),
            &["c6130102", "c6130103", "c6130102"],
        ),
        (
            "name = \"ipv4.src\"\ndecrement = \"198.18.1.9-198.18.1.4\"\nstep = 2",
            src.clone(),
            &["c6120109", "c6120107", "c6120105", "c6120109"],
        ),
        ("name = \"vlan.vid\"\nlist = [7, 0x0005]", vid.clone(), &["0007", "0005", "0007"]),
        (
            "name = \"vlan.pcp\"\nincrement = \"0-6\"\nstep = 3",
            vid.clone(),
            &["0001", "6001", "c001", "0001"],
        ),
        (
            "name = \"udp.dst\"\nvalue = 0x1200\nmask = 0x00ff\nincrement = \"0x0001-0x0002\"",
            40..42,
            &["1201", "1202", "1201"],
        ),
        ("name = \"udp.src\"\nincrement = 5", udp.clone(), &["00050007", "00050007"]),
    ] {
        let spec = spec(&format!("{base}[[stream.field]]\n{field}\n"));
        let mut stream = spec.frames(&HOSTS).build(1, 0, spec.seed).unwrap();
        for (n, expected) in expected.iter().enumerate() {
            assert_eq!(next(&mut stream, at.clone()), *expected, "{field}: frame {n}");
        }
    }
    let random = "[[stream.field]]\nname = \"ipv4.dst\"\nrandom = \"198.19.0.0/24\"\n";
    let of = |seed: u64| {
        let spec = spec(&format!("{base}seed = {seed}\n{random}"));
        let mut stream = spec.frames(&HOSTS).build(1, 0, spec.seed).unwrap();
        (0..20).map(|_| next(&mut stream, dst.clone())).collect::<Vec<_>>()
    };
    assert_eq!(of(1), of(1), "a seed's values are its own");
    assert_ne!(of(1), of(2));
    assert!(of(1).iter().all(|value| value.starts_with("c61300")), "{:?}", of(1));
    // The hosts of an IPv6 network: what is before them stays.
    for (network, stays) in [
        ("2001:2:0:1::/64", "2001000200000001"),
        ("2001:2::7:0:0/112", "20010002000000000000000700"),
    ] {
        let spec = spec(&format!(
            "stack = \"eth/ipv6/udp\"\nsizes = 128\nrate = 1000\npackets = 9\n[[stream.field]]\n\
             name = \"ipv6.dst\"\nrandom = \"{network}\"\n"
        ));
        let mut stream = spec.frames(&HOSTS).build(1, 0, spec.seed).unwrap();
        let all: Vec<String> = (0..20).map(|_| next(&mut stream, 38..54)).collect();
        assert!(all.iter().all(|value| value.starts_with(stays)), "{network}: {all:?}");
        assert!(all.iter().any(|value| *value != all[0]), "{network}: {all:?}");
    }
}

#[test]
fn tuples_go_together() {
    let base = "stack = \"eth/ipv4/udp\"\nsizes = 128\nrate = 1000\npackets = 9\n[[stream.tuple]]\n\
                fields = [\"ipv4.src\", \"udp.src\", \"udp.dst\"]\n";
    for (tuple, expected) in [
        (
            "rows = [[\"198.18.1.2\", 1, 2], [\"198.18.1.3\", 3, 4]]",
            &["c6120102 00010002", "c6120103 00030004", "c6120102 00010002"][..],
        ),
        (
            "rows = [[\"198.18.1.2\", 1, 2], [\"198.18.1.3\", 3, 4]]\norder = \"backwards\"",
            &["c6120103 00030004", "c6120102 00010002"],
        ),
        (
            "values = [\"198.18.1.2-198.18.1.3\", [5, 9], 7]",
            &[
                "c6120102 00050007",
                "c6120103 00050007",
                "c6120102 00090007",
                "c6120103 00090007",
                "c6120102 00050007",
            ],
        ),
        (
            "values = [\"198.18.1.2-198.18.1.3\", [5, 9], 7]\nflows = 2",
            &["c6120102 00050007", "c6120103 00050007", "c6120102 00050007"],
        ),
    ] {
        let spec = spec(&format!("{base}{tuple}"));
        let mut stream = spec.frames(&HOSTS).build(1, 0, spec.seed).unwrap();
        for (n, expected) in expected.iter().enumerate() {
            let found = next(&mut stream, 26..38);
            let found = format!("{} {}", &found[..8], &found[16..]);
            assert_eq!(found, *expected, "{tuple}: frame {n}");
        }
    }
}

#[test]
fn impossible_streams() {
    let good = "name = \"a\"\nstack = \"eth/ipv4/udp\"\nsizes = 64\nrate = 1000\npackets = 9\n";
    assert!(plan(good).is_ok());
    for (from, to, expected) in [
        ("eth/ipv4/udp", "eth/ip/udp", "11:9: \"ip\" is no header: eth, vlan"),
        (
            "eth/ipv4/udp",
            "eth/ipv6/udp",
            "12:9: frames of 64 bytes: headers, trailer and FCS of eth/ipv6/udp take 84",
        ),
        ("64", "63", "12:9: frames of 63 bytes: 64 to 9860"),
        ("64", "\"imax\"", "12:9: m stands for no length"),
        ("64", "\"64-63\"", "12:9: frames of 63 bytes"),
        ("64", "\"64:0\"", "12:9: a weight of 0"),
        ("64", "\"j\"", "12:9: frames of 16000 bytes: 64 to 9860"),
        ("1000", "\"100Mbps\"", "13:8: \"100Mbps\" of which layer?"),
        ("1000", "0", "13:8: a rate is above zero"),
        ("1000", "\"fast\"", "13:8: \"fast\" is no rate"),
        ("1000", "\"101%\"", "13:8: a: 1502976 frames a second, but the wire carries 1488095"),
        (
            "eth/ipv4/udp\"\nsizes = 64\nrate = 1000",
            "eth/arp\"\nsizes = 64\nrate = \"1Mbps(L3)\"",
            "13:8: a: a rate of layer 3, and no IP packet",
        ),
        ("packets = 9", "", "9:1: packets = 1000 or duration"),
        (
            "rate = 1000\npackets = 9",
            "rate = 0.01\npackets = 866",
            "13:8: a: the last of its packets is due after 86500 s, and no stream takes longer than a \
             day, 86400 s: fewer packets, a higher rate, or duration = \"60m\", which ends it",
        ),
        (
            "packets = 9",
            "shape = \"multi-burst 3 x 16, 800m apart\"",
            "13:8: a: the last of its packets is due after 96000 s, and no",
        ),
        ("packets = 9", "shape = \"ramp to 2kpps\"", "9:1: a ramp has a duration"),
        (
            "packets = 9",
            "duration = \"1ms\"\nshape = \"burst 2000\"",
            "15:9: a: 2000 frames back to back take 0.001 s, and the stream is to be over after 1ms",
        ),
        ("packets = 9", "packets = 9\nshape = \"bursts\"", "15:9: \"bursts\" is no shape"),
        ("packets = 9", "packets = 9\nfrom = 0", "15:8: ports are 1 to 16"),
        ("packets = 9", "packets = 9\nto = 1", "15:6: a stream comes out of another port"),
        ("packets = 9", "packets = 9\nto = 3", "9:1: a router has networks on ports 1 and 2"),
        ("packets = 9", "packets = 9\nspeed = 3", "15:1: unknown field `speed`"),
        (
            "packets = 9",
            "packets = 9\n[[stream]]\nname = \"a\"\nstack = \"eth\"\nsizes = 64\nrate = 1\npackets = 1",
            "16:8: \"a\" is stream 1, too",
        ),
        ("kind = \"streams\"", "kind = \"latency\"", "8:8: latency has frame-sizes"),
        (
            "kind = \"streams\"",
            "kind = \"streams\"\n[[procedure]]\nkind = \"streams\"",
            "10:8: streams are all run at once",
        ),
        (
            "kind = \"streams\"",
            "kind = \"streams\"\nduration = \"1s\"",
            "9:12: streams takes nothing, not duration",
        ),
    ] {
        let text = format!("{HEAD}{good}");
        assert!(text.contains(from), "{from}");
        let error = read(&text.replace(from, to), Allowed::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{from} → {to}: {error}");
    }
    for (network, expected) in [
        ("2001:2::/48", "17:10: 2001:2::/48: of an IPv6 address the last 64 bits change"),
        ("2001:2::1/64", "17:10: 2001:2::1/64: bits behind the first 64 are set: 2001:2::/64"),
        ("2001:2::/129", "17:10: \"2001:2::/129\" is no network"),
    ] {
        let good = good.replace("ipv4", "ipv6").replace("64", "128");
        let text =
            format!("{HEAD}{good}[[stream.field]]\nname = \"ipv6.dst\"\nrandom = \"{network}\"");
        let error = read(&text, Allowed::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{network}: {error}");
    }
    let field = |field: &str| format!("{good}[[stream.field]]\n{field}");
    let tuple = |tuple: &str| format!("{good}[[stream.tuple]]\n{tuple}");
    for (stream, expected) in [
        (
            field("name = \"ipv4.dest\"\nvalue = 1"),
            "16:8: ipv4.dest is no field: there are ipv4.dscp",
        ),
        (field("name = \"tcp.dst\"\nvalue = 1"), "16:8: the stack has no tcp"),
        (
            field("name = \"udp.dst\"\nvalue = 65536"),
            "17:9: 65536: udp.dst has 16 bits, 65535 at most",
        ),
        (field("name = \"udp.dst\"\nvalue = \"x\""), "17:9: \"x\": udp.dst is a number"),
        (
            field("name = \"ipv4.dst\"\nvalue = \"1.2.3\""),
            "17:9: \"1.2.3\": ipv4.dst is an address, 198.18.1.2",
        ),
        (field("name = \"udp.dst\""), "16:8: a field has a value, a list"),
        (field("name = \"udp.dst\"\nlist = [1]\nrandom = \"1-2\""), "18:10: one of list"),
        (
            field("name = \"udp.dst\"\nincrement = \"2-1\""),
            "17:13: 2-1: from the lowest to the highest",
        ),
        (field("name = \"udp.dst\"\ndecrement = \"1-2\""), "17:13: 1-2: a decrement goes down"),
        (
            field("name = \"udp.dst\"\nrandom = \"1-2\"\nstep = 2"),
            "18:8: a step goes through a range",
        ),
        (
            field("name = \"udp.dst\"\nrandom = \"1-9\"\nmask = 0"),
            "18:8: a mask says which bits change",
        ),
        (
            field("name = \"udp.dst\"\nincrement = \"0-15\"\nmask = 0x0007"),
            "18:8: under this mask 0x0 and 0x8, which udp.dst goes through, are one value",
        ),
        (
            field("name = \"udp.dst\"\ndecrement = \"9-1\"\nstep = 2\nmask = 0x00f6"),
            "19:8: under this mask 0x1 and 0x9",
        ),
        (
            field("name = \"udp.dst\"\nlist = [1, 2, 1, 0x0101]\nmask = 0x00ff"),
            "18:8: under this mask 0x1 and 0x101",
        ),
        (
            field("name = \"ipv4.dst\"\nincrement = \"198.18.0.0/15\"\nmask = \"0.0.255.255\""),
            "18:8: under this mask 0xc6120000 and 0xc6130000",
        ),
        (
            field("name = \"udp.dst\"\nincrement = \"1-9\"\nstep = 9"),
            "18:8: a step of 9 leaves the range",
        ),
        (
            field("name = \"udp.dst\"\nvalue = 1000\ndecrement = \"20-0\"\nstep = 5"),
            "17:9: nothing of this value stays: all bits of udp.dst change; say which do with mask",
        ),
        (field("name = \"udp.dst\"\nvalue = 9\nrandom = \"1-9\""), "17:9: nothing of this value"),
        (field("name = \"udp.dst\"\nvalue = 9\nlist = [1, 9]"), "17:9: nothing of this value"),
        (field("name = \"udp.dst\"\nvalue = 9\nmask = 1"), "18:8: a mask says which bits change"),
        (field("name = \"udp.dst\"\nlist = []"), "17:8: a list of nothing"),
        (
            field(
                "name = \"udp.dst\"\nlist = [1]\n[[stream.field]]\nname = \"udp.dst\"\nlist = [2]",
            ),
            "19:8: this field has a table before",
        ),
        (
            field("name = \"ipv4.protocol\"\nvalue = 6"),
            "9:1: frames of a are damaged as they are sent",
        ),
        (tuple("fields = [\"udp.dst\"]"), "16:10: two fields at least"),
        (tuple("fields = [\"udp.dst\", \"udp.src\"]"), "16:10: a tuple has rows"),
        (
            tuple("fields = [\"udp.dst\", \"udp.src\"]\nrows = [[1, 2], [3]]"),
            "17:17: 1 values for 2 fields",
        ),
        (tuple("fields = [\"udp.dst\", \"udp.src\"]\nrows = []"), "17:8: no rows"),
        (
            tuple("fields = [\"udp.dst\", \"udp.src\"]\nvalues = [1]"),
            "17:10: 1 values for 2 fields",
        ),
        (
            tuple("fields = [\"udp.dst\", \"udp.src\"]\nvalues = [[1, 2], [1, 2]]\nflows = 5"),
            "18:9: a number from 1 to 4",
        ),
    ] {
        let error = plan(&stream).unwrap_err();
        assert!(error.starts_with(expected), "{stream}: {error}");
    }
    let two = |second: &str| {
        format!("{good}[[stream]]\nstack = \"eth/ipv4/udp\"\nsizes = 64\nrate = \"100%\"\n{second}")
    };
    let error = plan(&two("duration = \"1s\"")).unwrap_err();
    assert!(error.starts_with("18:8: a rate above the wire: with stream 2 what port 1"), "{error}");
    assert!(plan(&two("duration = \"1s\"\nstart = \"1s\"")).is_ok(), "one after the other");
    assert!(plan(&two("duration = \"1s\"\nfrom = 2")).is_ok(), "by another port");
    let outside = Allowed { external: true, any_address: false };
    for (name, value, ours) in
        [("ipv4.dst", "8.8.8.8", false), ("ipv4.dst", "198.19.255.255", true)]
    {
        let stream = field(&format!("name = \"{name}\"\nvalue = \"{value}\""));
        let read = read(&format!("{HEAD}{stream}"), outside).map_err(|bad| bad.to_string());
        assert_eq!(read.is_ok(), ours, "{value}: {read:?}");
        if let Err(why) = read {
            assert!(why.starts_with("17:9: not in 198.18.0.0/15"), "{why}");
        }
    }
}

/// Raw bytes that are a packet of somebody's, behind a type that says so or in a tunnel.
#[test]
fn raw_bytes_of_other_people() {
    let outside = Allowed { external: true, any_address: false };
    let packet = |to: &str| format!("raw(450000280000000040fd0000c6120102{to})");
    let typed = "field = [{ name = \"eth.type\", value = 0x0800 }]";
    let listed = "field = [{ name = \"eth.type\", list = [0x88b5, 0x0800] }]";
    let varied = "field = [{ name = \"eth.type\", value = 0x0800 }, \
                  { name = \"raw.16:4\", list = [0xc6130102, 0x08080808] }]";
    let inside = "field = [{ name = \"eth#2.type\", value = 0x0800 }, \
                  { name = \"raw.16:4\", list = [0xc6130102, 0x08080808] }]";
    for (stack, field, ours) in [
        (format!("eth/{}", packet("08080808")), typed, false),
        (format!("eth/{}", packet("08080808")), listed, false),
        (format!("eth/{}", packet("08080808")), "", false),
        (format!("eth/{}", packet("c6130102")), typed, true),
        (format!("eth/{}", packet("c6130102")), varied, false),
        (format!("eth/vlan/{}", packet("08080808")), "", false),
        (format!("eth/ipv4/gre/{}", packet("08080808")), "", false),
        (
            format!("eth/ipv4/udp/raw(0200000000010200000000020800{}", &packet("08080808")[4..]),
            "",
            false,
        ),
        (format!("eth/mpls/eth/{}", packet("c6130102")), inside, false),
        (format!("eth/mpls/mpls/cw/eth/{}", packet("c6130102")), inside, false),
        (format!("eth/mpls/cw/eth/{}", packet("c6130102")), "", true),
        ("eth/mpls/eth/ipv4/udp".to_string(), "", true),
        ("eth/raw(0a0b0c0d)".to_string(), "", true),
        ("eth/ipv4/udp".to_string(), "", true),
        ("eth/ipv6/udp".to_string(), "", true),
    ] {
        let stream = format!("stack = \"{stack}\"\nsizes = 128\nrate = 1000\npackets = 9\n{field}");
        let text = format!("{HEAD}{stream}");
        let read_for = |allowed| read(&text, allowed).map_err(|bad| bad.to_string());
        let found = read_for(outside);
        assert_eq!(found.is_ok(), ours, "{stream}: {found:?}");
        if let Err(why) = found {
            assert!(why.contains("8.8.8.8") && why.contains("RFC 6815"), "{why}");
        }
        assert!(read_for(Allowed::default()).is_ok(), "{stream}");
        assert!(read_for(Allowed { any_address: true, ..outside }).is_ok(), "{stream}");
    }
}

#[test]
fn made_short() {
    let text = format!(
        "{HEAD}stack = \"eth/ipv4/udp\"\nsizes = 64\nrate = 1000\nduration = \"10s\"\nstart = \"20s\"\n\
         [quick]\ndivide-durations-by = 100.0\n"
    );
    let plan = read(&text, Allowed::default()).unwrap();
    let quick = plan.clone().scaled(&plan.quick);
    let spec = &quick.streams()[0];
    assert_eq!(spec.start, Duration::from_millis(200));
    assert_eq!(spec.duration, Some(Duration::from_millis(100)));
    assert_eq!(spec.rate, Rate::Frames(PacketRate(1000.0)));
    assert!(matches!(quick.procedures[0], Procedure::Streams(_)));
}
