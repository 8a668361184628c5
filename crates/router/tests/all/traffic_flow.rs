//! `/ip traffic-flow`: what collectors are told of packets that take FastPath, FastTrack, NAT or none of these.

use crate::ipv6::{introduce, to};
use crate::rig::{Rig, mac, own_mac};
use std::net::IpAddr;
use std::time::Duration;
use wire::craft::{self, Frame, ip};
use wire::layers;

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
/ip arp add address=10.0.2.9 mac-address=06:00:00:00:00:09 interface=ether2
/ip traffic-flow set enabled=yes inactive-flow-timeout=2s active-flow-timeout=10s
";
const FASTTRACK: &str = "/ip firewall filter
add chain=forward action=fasttrack-connection connection-state=established,related
add chain=forward action=accept";
const TRACKED: &str = "/ip firewall connection tracking set enabled=yes";
const UNTRACKED: &str = "/ip firewall connection tracking set enabled=no";
const NOTRACK: &str = "/ip firewall connection tracking set enabled=yes
/ip firewall raw add chain=prerouting action=notrack";
const MASQUERADE: &str = "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade";

/// A record: where from and to, as it came; packets, bytes, interfaces; where from and its port, as it left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    src: IpAddr,
    dst: IpAddr,
    ports: [u16; 2],
    packets: u64,
    bytes: u64,
    interfaces: [u32; 2],
    left: (IpAddr, u16),
    lasted_ms: u64,
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |all, &byte| all << 8 | u64::from(byte))
}

/// The records of a payload; `templates` are those told so far.
fn records(payload: &[u8], templates: &mut Vec<(u64, Vec<(u64, usize)>)>) -> Vec<Told> {
    let at = |at: usize| number(&payload[at..at + 2]) as usize;
    let ipfix = at(0) == 10;
    assert_eq!(at(0), if ipfix { 10 } else { 9 });
    let (mut set, mut all) = (if ipfix { 16 } else { 20 }, vec![]);
    while set < payload.len() {
        let (id, end, mut next) = (at(set), set + at(set + 2), set + 4);
        while id < 256 && next + 4 <= end {
            let n = at(next + 2);
            let fields = (0..n).map(|n| (at(next + 4 + 4 * n) as u64, at(next + 6 + 4 * n)));
            templates.push((at(next) as u64, fields.collect()));
            next += 4 + 4 * n;
        }
        if id >= 256 {
            let (_, fields) = templates.iter().rfind(|(known, _)| *known == id as u64).unwrap();
            let len: usize = fields.iter().map(|(_, len)| len).sum();
            while next + len <= end {
                let mut from = next;
                let places = fields.iter().map(|&(field, len)| {
                    from += len;
                    (field, from - len..from)
                });
                let places: Vec<_> = places.collect();
                let bytes = |wanted: &[u64]| {
                    let place = places.iter().find(|(field, _)| wanted.contains(field));
                    &payload[place.unwrap().1.clone()]
                };
                let address = |wanted: &[u64]| -> IpAddr {
                    let bytes = bytes(wanted);
                    match <[u8; 4]>::try_from(bytes) {
                        Ok(four) => four.into(),
                        Err(_) => <[u8; 16]>::try_from(bytes).unwrap().into(),
                    }
                };
                let value = |wanted: &[u64]| number(bytes(wanted));
                all.push(Told {
                    src: address(&[8, 27]),
                    dst: address(&[12, 28]),
                    ports: [7, 11].map(|field| value(&[field]) as u16),
                    packets: value(&[2]),
                    bytes: value(&[1]),
                    interfaces: [10, 14].map(|field| value(&[field]) as u32),
                    left: (address(&[225, 281]), value(&[227]) as u16),
                    lasted_ms: value(&[21, 153]) - value(&[22, 152]),
                });
                next += len;
            }
        }
        set = end;
    }
    all
}

fn rig(version: &str, script: &str) -> Rig {
    let mut rig = Rig::new(2, NETS);
    rig.run(&format!("/ip traffic-flow target add dst-address=10.0.2.9 version={version}"));
    rig.run(script);
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig.take(1);
    rig.take(2);
    rig
}

/// What the collector has got, and what of it is the router's own.
fn collected(rig: &mut Rig, templates: &mut Vec<(u64, Vec<(u64, usize)>)>) -> Vec<Told> {
    let mut all = vec![];
    for frame in rig.take(2) {
        let Ok(layers) = layers::network(&frame) else { continue };
        if layers.tuple.dst == ip(10, 0, 2, 9) && layers.tuple.dst_port == 2055 {
            let payload = &frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)];
            all.extend(records(payload, templates));
        }
    }
    all.retain(|told| told.ports[1] != 2055);
    all.sort();
    all
}

fn datagram(back: bool, payload: &[u8]) -> Frame<'_> {
    let (one, two) = (ip(10, 0, 1, 1), ip(10, 0, 2, 1));
    match back {
        false => {
            Frame { src_mac: mac(1), dst_mac: own_mac(1), payload, ..craft::udp(one, 1, two, 2) }
        }
        true => {
            Frame { src_mac: mac(2), dst_mac: own_mac(2), payload, ..craft::udp(two, 2, one, 1) }
        }
    }
}

/// Every packet is told of once, whatever way it took.
#[test]
fn every_packet_is_told_of() {
    let payload = [7; 100];
    for version in ["9", "ipfix"] {
        for script in ["", TRACKED, UNTRACKED, NOTRACK, FASTTRACK, MASQUERADE] {
            for reference in [false, true] {
                let case = format!("{version} {script} {reference}");
                let mut rig = rig(version, script);
                rig.router.set_reference(reference);
                let nat = script == MASQUERADE;
                let port = |rig: &Rig| {
                    let connection = rig.router.connections().list(rig.now).next();
                    connection.map_or(0, |connection| connection.reply.dst_port)
                };
                for _ in 0..20 {
                    assert_eq!(rig.pass(1, &datagram(false, &payload).build()).len(), 1, "{case}");
                    if !nat {
                        assert_eq!(rig.pass(2, &datagram(true, &payload).build()).len(), 1);
                    }
                    rig.wait(Duration::from_millis(50));
                }
                let outside = port(&rig);
                rig.wait(Duration::from_secs(14));
                let told = collected(&mut rig, &mut vec![]);
                let address = |text: &str| -> IpAddr { text.parse().unwrap() };
                let (one, two) = (address("10.0.1.1"), address("10.0.2.1"));
                let [a, b] = [1, 2].map(|n| rig.ether(n).0);
                let ways = if nat { 1 } else { 2 };
                assert_eq!(told.len(), ways, "{case}: {told:#?}");
                for (n, told) in told.iter().enumerate() {
                    let (src, dst, ports, interfaces) =
                        [(one, two, [1, 2], [a, b]), (two, one, [2, 1], [b, a])][n];
                    let left = if nat { (address("10.0.2.254"), outside) } else { (src, ports[0]) };
                    let lasted_ms = told.lasted_ms;
                    let wanted = Told {
                        src,
                        dst,
                        ports,
                        packets: 20,
                        bytes: 20 * 128,
                        interfaces,
                        left,
                        lasted_ms,
                    };
                    assert_eq!(*told, wanted, "{case}");
                    assert!((940..=1000).contains(&lasted_ms), "{case}: {lasted_ms}");
                }
                if script.is_empty() {
                    assert_eq!(rig.router.path_counts().ipv4_fast_path.packets, 40, "{case}");
                }
                if script == FASTTRACK {
                    assert_eq!(rig.router.path_counts().ipv4_fasttrack.packets, 37, "{case}");
                }
            }
        }
    }
}

/// A flow that goes on is told of now and then, each packet once.
#[test]
fn a_long_flow() {
    let mut rig = rig("9", TRACKED);
    let (mut templates, mut all) = (vec![], vec![]);
    for second in 0..60 {
        rig.pass(1, &datagram(false, &[1; 10]).build());
        rig.wait(Duration::from_secs(1));
        all.extend(collected(&mut rig, &mut templates));
        let told: u64 = all.iter().map(|told: &Told| told.packets).sum();
        assert!(told + 17 > second, "{second}: {told}");
    }
    rig.wait(Duration::from_secs(10));
    all.extend(collected(&mut rig, &mut templates));
    assert_eq!(all.iter().map(|told| told.packets).sum::<u64>(), 60, "{all:#?}");
    assert!(all.len() >= 4, "{all:#?}");
    assert!(all.iter().all(|told| told.lasted_ms <= 15_000), "{all:#?}");
}

#[test]
fn who_is_told_of_what() {
    for (script, told) in [
        ("", 1),
        ("/ip traffic-flow set enabled=no", 0),
        ("/ip traffic-flow target disable [find]", 0),
        ("/ip traffic-flow set interfaces=ether1", 1),
        ("/ip traffic-flow set interfaces=ether2", 0),
        ("/ip traffic-flow set interfaces=ether2,ether1", 1),
        ("/ip traffic-flow target add dst-address=10.0.2.9 version=9", 2),
    ] {
        let mut rig = rig("9", script);
        rig.pass(1, &datagram(false, &[1; 10]).build());
        rig.wait(Duration::from_secs(14));
        // The second one has templates of its own: they are the same.
        let got = collected(&mut rig, &mut vec![]);
        assert_eq!(got.len(), told, "{script}: {got:#?}");
    }
    let mut rig = Rig::new(1, "");
    for (script, error) in [
        ("/ip traffic-flow set packet-sampling=yes", "every packet counts"),
        ("/ip traffic-flow set inactive-flow-timeout=0s", "a second at least"),
        ("/ip traffic-flow target add dst-address=10.0.0.1 version=1", "version 1 is not written"),
        ("/ip traffic-flow target add version=9", "dst-address"),
    ] {
        let refused = rig.try_run(script).expect_err(script).to_string();
        assert!(refused.contains(error), "{script}: {refused}");
    }
}

#[test]
fn version_five_and_ipv6() {
    let six = "/ipv6 address
add address=2001:db8:1::1/64 interface=ether1 advertise=no no-dad=yes
add address=2001:db8:2::1/64 interface=ether2 advertise=no no-dad=yes";
    for version in ["5", "9", "ipfix"] {
        let mut rig = rig(version, six);
        introduce(&mut rig, 1, 1, "2001:db8:1::a", "2001:db8:1::1");
        introduce(&mut rig, 2, 2, "2001:db8:2::b", "2001:db8:2::1");
        for _ in 0..5 {
            assert_eq!(rig.pass(1, &to("2001:db8:2::b").build()).len(), 1, "{version}");
            assert_eq!(rig.pass(1, &datagram(false, &[5; 10]).build()).len(), 1, "{version}");
        }
        rig.wait(Duration::from_secs(14));
        if version == "5" {
            let frames = rig.take(2);
            let is_v5 = |frame: &&Vec<u8>| frame.len() > 66 && frame[42..44] == [0, 5];
            let told = frames.iter().filter(is_v5).find(|frame| frame[45] > 0).unwrap();
            assert_eq!(told.len(), 42 + 24 + 48 * usize::from(told[45]), "{told:02x?}");
            let record = &told[66..];
            assert_eq!(record[..8], [10, 0, 1, 1, 10, 0, 2, 1], "{record:02x?}");
            assert_eq!(record[16..24], [0, 0, 0, 5, 0, 0, 0, 5 * 38]);
            continue;
        }
        let mut got = collected(&mut rig, &mut vec![]);
        got.retain(|told| told.src.is_ipv6() && told.ports == [1000, 2000]);
        assert_eq!(got.len(), 1, "{version}: {got:#?}");
        assert_eq!((got[0].packets, got[0].bytes), (5, 5 * 52), "{got:#?}");
    }
}
