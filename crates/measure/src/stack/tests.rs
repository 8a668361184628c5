//! Every header in every place, against `wire`'s plain reading and computing.

use super::*;
use crate::frame::{Link, Varying};
use crate::receive::Receiver;
use crate::vary::{Pick, Values};
use wire::{FrameLen, Moment};

pub(super) const HOSTS: Hosts = Hosts {
    src_mac: MacAddr([6, 0, 0, 0, 0, 1]),
    dst_mac: MacAddr([2, 0, 0, 0, 0, 1]),
    src: 0xc612_0102,
    dst: 0xc613_0102,
    src6: 0x2001_0002_0000_0001_0000_0000_0000_0002,
    dst6: 0x2001_0002_0000_0002_0000_0000_0000_0002,
};

fn lengths(l2: u32) -> Lengths {
    FrameLen::with_fcs(l2).into()
}

/// The headers of the first frame, in hexadecimal, and that it comes back as it was.
fn frame(stack: &str, l2: u32) -> Vec<u8> {
    let plan = Stack::parse(stack).unwrap().plan(&HOSTS, lengths(l2), true);
    let mut stream = plan.build(7, 0, 1).unwrap_or_else(|bad| panic!("{stack}: {bad}"));
    let now = Moment::from_nanos(5);
    let mut receiver = Receiver::new(now, [&stream]);
    let mut bytes = vec![0; stream.next_len()];
    stream.write(now, &mut bytes);
    receiver.count(now, &bytes);
    assert_eq!(receiver.tally(7).received, 1, "{stack}: {:?}", receiver.tally(7));
    bytes
}

#[test]
fn headers_say_what_is_behind_them() {
    for (stack, at, expected) in [
        ("eth", 12, "88b5"),
        ("eth/raw(0102)", 12, "88b50102"),
        ("eth/vlan/ipv4/udp", 12, "810000010800"),
        ("eth/svlan/vlan/ipv4", 12, "88a80001810000010800"),
        ("eth/mpls/mpls/ipv4/icmp", 12, "884700010040000101404500"),
        ("eth/arp", 12, "08060001080006040001060000000001c6120102000000000000c6130102"),
        ("eth/ipv4/raw(ff)", 23, "fd"),
        ("eth/ipv4/gre/ipv4/tcp", 34, "000008004500"),
        ("eth/ipv4/ipv6/udp", 23, "29"),
        ("eth/ipv6/ipv4/udp", 12, "86dd60000000005c0440"),
        ("eth/ipv6/icmpv6", 20, "3a40"),
        ("eth/ipv6/tcp", 20, "0640"),
        ("eth/ipv4/gre/eth/ipv4/udp", 34, "000065580200000000010600000000010800450000"),
        ("eth/ipv4/gre/eth/vlan/arp", 34, "00006558020000000001060000000001810000010806"),
        ("eth/mpls/eth/ipv4/udp", 12, "8847000101400200000000010600000000010800450000"),
        ("eth/mpls/mpls/cw/eth/vlan", 12, "8847000100400001014000000000020000000001060000000001"),
        ("eth/raw(0064)/eth/ipv6/tcp", 12, "88b5006402000000000106000000000186dd60"),
        ("eth/ipv4/raw(11)/udp", 23, "fd"),
    ] {
        let bytes = frame(stack, 150);
        let shown: String = bytes[at..].iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(shown.starts_with(expected), "{stack}: {shown}");
    }
}

/// A bit that is turned anywhere an IP header or a checksum covers shows.
#[test]
fn damage_shows() {
    for stack in [
        "eth/vlan/ipv4/udp",
        "eth/ipv4/tcp",
        "eth/ipv4/icmp",
        "eth/ipv6/udp",
        "eth/ipv6/tcp",
        "eth/mpls/ipv6/icmpv6",
        "eth/ipv4/gre/ipv4/udp",
        "eth/ipv4/ipv6/icmpv6",
        "eth/ipv6/ipv4/icmp",
        "eth/ipv4/gre/eth/ipv4/udp",
        "eth/ipv6/gre/eth/vlan/ipv6/tcp",
        "eth/mpls/eth/ipv4/tcp",
        "eth/mpls/cw/eth/ipv6/icmpv6",
        // An odd number of bytes.
        "eth/raw(010203)/ipv4/udp",
        "eth/ipv4/raw(010203)/udp",
        "eth/ipv6/raw(1100010400000000)/tcp",
        "eth/ipv4/udp/raw(0800000000000100)/eth/ipv4/tcp",
        "eth/ipv6/udp/raw(00)/ipv4/icmp",
        "eth/ipv4/udp/raw(00)/ipv4",
        "eth/ipv4/icmp/raw(00)/ipv6",
        // As many IP headers as there is room for.
        "eth/ipv4/ipv4/ipv4/udp",
        "eth/ipv4/ipv6/ipv4/ipv4/tcp",
        "eth/ipv4/gre/ipv6/gre/ipv4/icmp",
        "eth/ipv4/udp/raw(0800000000000100)/eth/ipv4/gre/ipv4/tcp",
        "eth/ipv4/udp/raw(00)/ipv4/udp/raw(00)/ipv4/udp",
        "eth/ipv4/udp/raw(00)/ipv4/ipv4",
    ] {
        let stack = Stack::parse(stack).unwrap();
        let plan = stack.plan(&HOSTS, lengths(200), true);
        let mut stream = plan.build(7, 0, 1).unwrap();
        let now = Moment::from_nanos(5);
        let mut receiver = Receiver::new(now, [&stream]);
        let mut bytes = vec![0; stream.next_len()];
        stream.write(now, &mut bytes);
        let (transport, _) = plan.transport.unwrap();
        let ipv4 = plan.ipv4.iter().flat_map(|ip| *ip..ip + 20);
        let ipv6 = plan.ipv6.iter().flat_map(|ip| ip + 4..ip + 6);
        let tunnels = plan.tunnels.iter().flat_map(|udp| udp + 4..udp + 6);
        let rest = transport..bytes.len() - crate::trailer::LEN;
        let mut damaged = 0;
        for at in ipv4.chain(ipv6).chain(tunnels).chain(rest) {
            bytes[at] ^= 0x10;
            receiver.count(now, &bytes);
            bytes[at] ^= 0x10;
            damaged += 1;
            assert_eq!(receiver.tally(7).corrupt, damaged, "{stack}: byte {at}");
        }
        receiver.count(now, &bytes[..bytes.len()]);
        let tally = receiver.tally(7);
        assert_eq!((tally.received, tally.wrong_size), (1, 0), "{stack}");
    }
}

#[test]
fn no_such_stack() {
    for (text, expected) in [
        ("eth/ip", "\"ip\" is no header: eth, vlan, svlan, mpls, arp, ipv4, ipv6, icmp, icmpv6"),
        ("ipv4/udp", "a frame begins with eth, not with ipv4"),
        ("eth/udp", "udp cannot be behind eth"),
        ("eth/ipv4/icmpv6", "icmpv6 cannot be behind ipv4"),
        ("eth/ipv4/udp/tcp", "tcp cannot be behind udp"),
        ("eth/ipv4/vlan", "vlan cannot be behind ipv4"),
        ("eth/eth", "eth cannot be behind eth"),
        ("eth/ipv4/eth", "eth cannot be behind ipv4"),
        ("eth/cw/eth", "cw cannot be behind eth"),
        ("eth/mpls/cw/ipv4", "ipv4 cannot be behind cw"),
        ("eth/raw(00)/udp", "no ip header of its version in front of the udp header"),
        ("eth/ipv6/raw(00)/icmp", "no ip header of its version in front of the icmp header"),
        ("eth/ipv4/tcp/raw(00)/ipv4/udp", "tcp around udp: a tunnel is of udp, with an ip header"),
        ("eth/ipv4/udp/raw(00)/udp", "udp around udp: a tunnel is of udp, with an ip header of"),
        (&format!("eth{}", "/ipv4".repeat(64)), "65 headers are too many: at most 64"),
        ("eth/raw(0g)", "\"0g\": raw bytes are hexadecimal digits"),
        ("eth/raw(012)", "\"012\": raw bytes are hexadecimal digits"),
        ("eth/raw()", "\"\": raw bytes are"),
        ("", "\"\" is no header"),
    ] {
        let error = Stack::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let stack = Stack::parse("eth/ipv4/gre/ipv4/udp/raw(01020304)").unwrap();
    for (name, expected) in [
        ("ipv4", "ipv4: fields are written header.field"),
        ("ipv6.dst", "the stack has no ipv6"),
        ("ipv4#3.dst", "the stack has no ipv4#3"),
        ("ipv4#0.dst", "the stack has no ipv4#0"),
        ("udp.length", "udp.length is no field: there are udp.src, udp.dst"),
        ("raw.3:2", "raw.3:2 is no field: there are raw.0:1 to raw.3:1"),
        ("raw.x", "raw.x is no field"),
    ] {
        let error = stack.place(name).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{name}: {error}");
    }
    assert_eq!(stack.place("ipv4#2.dst").unwrap().at, 14 + 20 + 4 + 16);
    assert_eq!(stack.to_string(), "eth/ipv4/gre/ipv4/udp/raw(01020304)");
}

#[test]
fn values_are_put_into_their_bits() {
    let stack = Stack::parse("eth/vlan/mpls/ipv6/tcp").unwrap();
    let mut plan = stack.plan(&HOSTS, lengths(200), true);
    for (name, value) in [
        ("vlan.pcp", 5u128),
        ("vlan.vid", 4094),
        ("mpls.label", 0xabcde),
        ("mpls.tc", 7),
        ("ipv6.traffic-class", 0xb8),
        ("ipv6.flow-label", 0x12345),
        ("ipv6.dst", 0x2001_0002 << 96 | 7),
        ("tcp.flags", 2),
        ("eth.dst", 0x0200_0000_0009),
    ] {
        let place = stack.place(name).unwrap();
        place.set(&mut plan, value);
        assert_eq!(place.get(&plan), value, "{name}");
    }
    assert_eq!(plan.header[14..16], [0xaf, 0xfe]);
    assert_eq!(plan.header[18..22], [0xab, 0xcd, 0xef, 64]);
    assert_eq!(plan.header[22..26], [0x6b, 0x81, 0x23, 0x45]);
}

/// Fields that go by one number: rows of a table, and combinations.
#[test]
fn linked_fields_change_together() {
    let stack = Stack::parse("eth/ipv4/udp").unwrap();
    let mut plan = stack.plan(&HOSTS, lengths(128), true);
    let (src, dst) = (stack.place("udp.src").unwrap(), stack.place("udp.dst").unwrap());
    let varying = |place: Place, values, divisor| Varying {
        at: place.at,
        width: place.width,
        mask: 0xffff,
        values,
        pick: Pick::InTurn,
        link: Some((0, divisor)),
    };
    let ports = |bytes: &[u8]| {
        (u16::from_be_bytes([bytes[34], bytes[35]]), u16::from_be_bytes([bytes[36], bytes[37]]))
    };
    let mut check = |pick, count, values: [Values; 2], divisor, expected: &[(u16, u16)]| {
        let [a, b] = values;
        plan.links = vec![Link { count, pick }];
        plan.varying = vec![varying(src, a, 1), varying(dst, b, divisor)];
        let mut stream = plan.build(7, 0, 1).unwrap();
        let now = Moment::from_nanos(5);
        let mut receiver = Receiver::new(now, [&stream]);
        for (n, expected) in expected.iter().enumerate() {
            let mut bytes = vec![0; stream.next_len()];
            stream.write(now, &mut bytes);
            receiver.count(now, &bytes);
            assert_eq!(ports(&bytes), *expected, "frame {n}");
        }
        assert_eq!(receiver.tally(7).received, expected.len() as u64, "checksums");
    };
    let list = |values: &[u64]| Values::List(values.to_vec());
    let rows = [list(&[1, 2, 3]), list(&[10, 20, 30])];
    check(Pick::InTurn, 3, rows.clone(), 1, &[(1, 10), (2, 20), (3, 30), (1, 10)]);
    check(Pick::Backwards, 3, rows, 1, &[(3, 30), (2, 20), (1, 10), (3, 30)]);
    let combined = [Values::Range(1, 2), Values::Steps { first: 10, last: 35, step: 10 }];
    let all = [(1, 10), (2, 10), (1, 20), (2, 20), (1, 30), (1, 10)];
    check(Pick::InTurn, 5, combined, 2, &all);
    plan.varying[0].link = Some((1, 1));
    let error = plan.build(7, 0, 1).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "nothing that the field at byte 34 could go by");
}

/// Up, down, in steps, and only some bits.
#[test]
fn fields_go_up_and_down() {
    let stack = Stack::parse("eth/ipv4/udp").unwrap();
    let mut plan = stack.plan(&HOSTS, lengths(128), true);
    let place = stack.place("udp.dst").unwrap();
    let mut check = |values, pick, mask, expected: &[u16]| {
        let link = None;
        plan.varying = vec![Varying { at: place.at, width: 2, mask, values, pick, link }];
        let mut stream = plan.build(7, 0, 1).unwrap();
        for (n, expected) in expected.iter().enumerate() {
            let mut bytes = vec![0; stream.next_len()];
            stream.write(Moment::from_nanos(5), &mut bytes);
            assert_eq!(u16::from_be_bytes([bytes[36], bytes[37]]), *expected, "frame {n}");
        }
    };
    let all = 0xffff;
    check(Values::Range(5, 7), Pick::Backwards, all, &[7, 6, 5, 7]);
    check(Values::List(vec![9, 1, 5]), Pick::Backwards, all, &[5, 1, 9, 5]);
    let steps = Values::Steps { first: 10, last: 35, step: 10 };
    check(steps.clone(), Pick::InTurn, all, &[10, 20, 30, 10]);
    check(steps, Pick::Backwards, all, &[30, 20, 10, 30]);
    check(Values::Range(0x100, 0x102), Pick::InTurn, 0xff00, &[0x107, 0x107, 0x107]);
}

/// A whole 9 KiB of headers: every checksum is right, whichever header's field varies.
#[test]
fn as_many_headers_as_there_are() {
    let stack = format!("eth{}/ipv6/tcp", "/ipv4".repeat(61));
    let stack = Stack::parse(&stack).unwrap();
    let lengths = Lengths::Even(FrameLen::with_fcs(1400), FrameLen::with_fcs(9860));
    let mut plan = stack.plan(&HOSTS, lengths, true);
    assert_eq!((plan.ipv4.len(), plan.header.len()), (61, 14 + 61 * 20 + 40 + 20));
    for name in ["ipv4.src", "ipv4#2.ttl", "ipv4#17.dst", "ipv4#61.id", "ipv6.dst", "tcp.seq"] {
        let place = stack.place(name).unwrap();
        let width = if name.ends_with("ttl") { 1 } else { 2 };
        let values = Values::Range(0, (1 << (8 * width)) - 1);
        let (mask, pick, link) = (u64::MAX >> (64 - 8 * width), Pick::Random, None);
        plan.varying.push(Varying { at: place.at, width, mask, values, pick, link });
    }
    let mut stream = plan.build(7, 0, 1).unwrap();
    let now = Moment::from_nanos(5);
    let mut receiver = Receiver::new(now, [&stream]);
    for _ in 0..100 {
        let mut bytes = vec![0; stream.next_len()];
        stream.write(now, &mut bytes);
        receiver.count(now, &bytes);
        for ip in &plan.ipv4 {
            assert!(wire::checksum::is_ok(&bytes[*ip..ip + 20]), "the header at {ip}");
        }
    }
    assert_eq!(receiver.tally(7).received, 100, "{:?}", receiver.tally(7));
    // They need their room.
    plan.lengths = FrameLen::with_fcs(1280).into();
    let error = plan.build(7, 0, 1).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "packet-size 1276 is too small: headers and footer take 1312");
}
