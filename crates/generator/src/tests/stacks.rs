//! Every header stack, as Wireshark reads it.

#[path = "../../../port/tests/left_out/mod.rs"]
mod left_out;

use super::*;
use port::pcap::Writer;
use port::record;
use std::process::Command;

/// Templates, how long their packets are, and what Wireshark calls their protocols.
const STACKS: &[(&str, &str, &str)] = &[
    ("header-stack=mac,ip,udp", "60", "eth:ethertype:ip:udp:data"),
    ("header-stack=mac,ip,udp udp-checksum=auto", "61-200", "eth:ethertype:ip:udp:data"),
    ("header-stack=mac,ip,tcp", "100", "eth:ethertype:ip:tcp:data"),
    ("header-stack=mac,ip,tcp tcp-flags=syn tcp-syn=5-500", "72-300", "eth:ethertype:ip:tcp"),
    (
        "header-stack=mac,vlan,ip,udp vlan-id=7 vlan-priority=3",
        "64",
        "eth:ethertype:vlan:ethertype:ip:udp:data",
    ),
    (
        "header-stack=mac,vlan,vlan,ip,tcp vlan-id=7,9 mac-protocol=service-vlan",
        "90",
        "eth:ethertype:ieee8021ad:ethertype:vlan:ethertype:ip:tcp:data",
    ),
    (
        "header-stack=mac,ip,ip,udp ip-src=3.3.3.3,10.0.0.1 ip-dst=9.9.9.9,10.0.1.0/24 udp-checksum=auto",
        "100-150",
        "eth:ethertype:ip:ip:udp:data",
    ),
    (
        // An ICMP echo request whose checksum is that of its header: the payload is zeros.
        "header-stack=mac,ip,raw raw-header=0800f7ff00000000 ip-protocol=icmp special-footer=no",
        "60",
        "eth:ethertype:ip:icmp:data",
    ),
    (
        "header-stack=mac,raw raw-header=0001080006040001020000000001010101010000000000000202 \
         mac-protocol=arp mac-dst=ff:ff:ff:ff:ff:ff special-footer=no",
        "60",
        "eth:ethertype:arp",
    ),
    (
        "ip-src=1.0.0.0/8 ip-dst=2.0.0.1-2.0.0.200 udp-src-port=50000/65280 udp-dst-port=40000-40010 \
         udp-checksum=auto random-ranges=50:32:0-4294967295 random-byte-offsets-and-masks=60/ff",
        "100-101",
        "eth:ethertype:ip:udp:data",
    ),
    (
        "header-stack=mac,ip,ip,ip,ip,tcp ip-src=3.3.3.3,4.4.4.0/24,5.5.5.5,10.0.0.1 \
         ip-dst=9.9.9.9,10.0.1.0/24,10.0.2.0/24,10.0.3.0/24",
        "150-160",
        "eth:ethertype:ip:ip:ip:ip:tcp:data",
    ),
    ("header-stack=mac,ipv6,udp ipv6-dst=2001:db8:9::1", "80", "eth:ethertype:ipv6:udp:data"),
    (
        "header-stack=mac,ipv6,tcp ipv6-src=2001:db8:3::/120 ipv6-dst=2001:db8:9::/64",
        "92-200",
        "eth:ethertype:ipv6:tcp:data",
    ),
    (
        "header-stack=mac,vlan,ipv6,udp vlan-id=7 ipv6-dst=2001:db8:9::1 ipv6-traffic-class=184 \
         ipv6-flow-label=74565 ipv6-hop-limit=3 udp-src-port=50000-50010",
        "84-90",
        "eth:ethertype:vlan:ethertype:ipv6:udp:data",
    ),
    (
        "header-stack=mac,ip,ipv6,udp ip-src=3.3.3.3 ip-dst=9.9.9.9 ipv6-src=2001:db8::1 \
         ipv6-dst=2001:db8:8::/96",
        "100",
        "eth:ethertype:ip:ipv6:udp:data",
    ),
    (
        // RFC 3692: an experiment's.
        "header-stack=mac,ipv6,raw ipv6-dst=2001:db8:9::1 raw-header=0102030405060708 \
         ipv6-next-header=253",
        "100",
        "eth:ethertype:ipv6:data",
    ),
];

/// The frames of a template, 40 of them.
fn frames(template: &str, size: &str) -> Vec<Vec<u8>> {
    let mut b = Box_::new();
    let add = "/tool traffic-generator packet-template add name=s interface=ether3";
    let to = if template.contains("mac-dst") { "" } else { "mac-dst=02:00:00:00:00:09" };
    let dst = if template.contains("ip-dst") { "" } else { "ip-dst=198.18.0.1" };
    b.run(&format!("{add} {to} {dst} {template}"));
    b.run(&format!(
        "/tool traffic-generator start tx-template=s packet-size={size} pps=10000 packet-count=40"
    ));
    b.pass(Duration::from_millis(10));
    assert_eq!(b.seen.len(), 40, "{template}");
    std::mem::take(&mut b.seen)
}

/// What tshark says of frames: protocols and complaints, a line each; `None`, said, without tshark.
fn read_by_tshark(name: &str, frames: &[Vec<u8>]) -> Option<String> {
    if left_out::lacks(&["tshark"]) {
        return None;
    }
    let mut writer = Writer::new(vec![]).unwrap();
    for (i, frame) in frames.iter().enumerate() {
        writer.write(&record::Record::ethernet(i as u64 * 1000, frame)).unwrap();
    }
    let file = std::env::temp_dir().join(format!("wirespeed-{}-{name}.pcap", std::process::id()));
    std::fs::write(&file, writer.finish().unwrap()).unwrap();
    let output = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(&file)
        .args(
            "-o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -o tcp.check_checksum:TRUE"
                .split(' '),
        )
        .args("-o tcp.analyze_sequence_numbers:FALSE -o tcp.desegment_tcp_streams:FALSE".split(' '))
        .args("-T fields -e frame.protocols -e _ws.expert.message -e _ws.malformed".split(' '))
        .output();
    std::fs::remove_file(&file).unwrap();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn wireshark_reads_every_stack() {
    for (i, (template, size, protocols)) in STACKS.iter().enumerate() {
        let frames = frames(template, size);
        let Some(text) = read_by_tshark(&i.to_string(), &frames) else { return };
        assert_eq!(text.lines().count(), 40);
        for line in text.lines() {
            let (found, complaints) = line.split_once('\t').unwrap_or((line, ""));
            assert!(found.starts_with(protocols), "{template}: {found}");
            assert_eq!(
                complaints
                    .trim()
                    .replace("Connection establish request (SYN): server port 200", ""),
                "",
                "{template}: {line}"
            );
        }
    }
}

#[test]
fn raw_templates_are_sent_as_given_with_lengths_and_checksums() {
    let mut b = Box_::new();
    let header = "02000000000902000000000108004500000000000000401100000a0000010a000002\
                  0064006400000000";
    b.run(&format!(
        "/tool traffic-generator port add name=p interface=ether3
         /tool traffic-generator raw-packet-template add name=r port=p header={header} \
         ip-header-offset=14 udp-header-offset=34 udp-compute-checksum=yes data=incrementing"
    ));
    b.run("/tool traffic-generator start tx-template=r packet-size=90 pps=10000 packet-count=5");
    b.pass(Duration::from_millis(10));
    assert_eq!(b.seen.len(), 5);
    assert_eq!(b.seen[0][42..46], [0, 1, 2, 3]);
    let Some(text) = read_by_tshark("raw", &b.seen) else { return };
    assert_eq!(text, "eth:ethertype:ip:udp:data\t\t\n".repeat(5));
}

#[test]
fn what_varies_varies() {
    let frames = frames(STACKS[9].0, STACKS[9].1);
    let distinct = |range: std::ops::Range<usize>| {
        let parts = frames.iter().map(|frame| frame[range.clone()].to_vec());
        parts.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(distinct(26..30), 40, "1.0.0.0/8, one after the other");
    assert_eq!(distinct(30..34), 40);
    assert!(distinct(34..36) > 30, "the low bits of the port");
    assert_eq!(distinct(34..35), 1, "its high bits stay");
    assert_eq!(distinct(36..38), 11);
    assert_eq!(distinct(50..54), 40);
    let lens: std::collections::BTreeSet<usize> = frames.iter().map(Vec::len).collect();
    assert_eq!(lens, [100, 101].into());
}
