//! `/ip neighbor`: who is told of the router, and whom it hears.

use crate::left_out::lacks;
use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use std::time::Duration;
use wire::MacAddr;
use wire::craft::{self, ip};
use wire::discovery::{Told, cdp, lldp, mndp};

const CONFIG: &str = "\
/system identity set name=gw
/interface bridge add name=lan protocol-mode=none
/interface bridge port add bridge=lan interface=ether2
/interface bridge port add bridge=lan interface=ether3
/ip address add address=10.0.0.1/24 interface=ether1
/ip address add address=10.0.1.1/24 interface=lan
/ip neighbor discovery-settings set discover-interface-list=static
";

fn told(n: u8) -> Told {
    Told {
        mac: mac(n),
        identity: format!("sw{n}"),
        platform: "Cisco".to_string(),
        ttl: 30,
        ..Told::default()
    }
}

fn frame(dst: MacAddr, n: u8, rest: &[&[u8]]) -> Vec<u8> {
    [&dst.0[..], &mac(n).0, &rest.concat()].concat()
}

fn by_lldp(told: &Told, n: u8) -> Vec<u8> {
    frame(lldp::GROUP, n, &[&lldp::ETHERTYPE.to_be_bytes(), &lldp::write(told, 1)])
}

fn by_cdp(told: &Told, n: u8) -> Vec<u8> {
    frame(cdp::GROUP, n, &[&cdp::write(told)])
}

fn by_mndp(told: &Told, n: u8, src: u32) -> Vec<u8> {
    let payload = mndp::write(told, 1);
    let frame = craft::udp(src, mndp::PORT, u32::MAX, mndp::PORT);
    craft::Frame { src_mac: mac(n), dst_mac: MacAddr::BROADCAST, payload: &payload, ..frame }
        .build()
}

/// Who is known: by which interface, by what, and the name.
fn known(rig: &mut Rig) -> Vec<String> {
    let script = "/ip neighbor\n:foreach n in=[find] do={:put ([get $n interface].\" \".[get $n discovered-by].\" \".[get $n identity])}";
    let mut known: Vec<_> = rig.run(script).lines().map(str::to_string).collect();
    known.sort();
    known
}

#[test]
fn what_is_said() {
    let mut rig = Rig::new(3, CONFIG);
    rig.wait(Duration::from_millis(10));
    for (port, speaks, mndp_from) in [(1, 2, Some(ip(10, 0, 0, 1))), (2, 2, Some(ip(10, 0, 1, 1)))]
    {
        let frames = rig.take(port);
        let lldp: Vec<_> = frames.iter().filter(|frame| frame[..6] == lldp::GROUP.0).collect();
        let cdp: Vec<_> = frames.iter().filter(|frame| frame[..6] == cdp::GROUP.0).collect();
        assert_eq!((lldp.len(), cdp.len()), (1, 1), "{port}");
        let said = [lldp::read(&lldp[0][14..]).unwrap(), cdp::read(&cdp[0][12..]).unwrap()];
        for said in said {
            assert_eq!((said.identity.as_str(), said.interface), ("gw", format!("ether{port}")));
        }
        let by_udp: Vec<_> =
            frames.iter().filter(|frame| frame[..6] == [255; 6] && frame[23] == 17).collect();
        assert_eq!(frames.len() - by_udp.len(), speaks, "{port}");
        let said = mndp::read(&by_udp[0][42..]).unwrap();
        assert_eq!((said.address, by_udp.len()), (mndp_from, 1), "{port}");
    }
    rig.wait(Duration::from_secs(55));
    assert_eq!(rig.take(1).len(), 0);
    rig.wait(Duration::from_secs(6));
    assert_eq!(rig.take(1).len(), 3);
    // OUTPUT may forbid it, but for what is below IP.
    rig.run("/ip firewall filter add chain=output action=drop");
    rig.wait(Duration::from_secs(60));
    assert_eq!(rig.take(1).len(), 2);
    assert!(rig.router.frames().balance());
}

#[test]
fn who_is_heard() {
    let mut rig = Rig::new(3, CONFIG);
    rig.wait(Duration::from_secs(1));
    for (port, bytes) in [
        (1, by_lldp(&told(1), 1)),
        (1, by_cdp(&told(1), 1)),
        (2, by_lldp(&told(2), 2)),
        (3, by_cdp(&told(3), 3)),
        (1, by_mndp(&told(4), 4, 0)),
        (2, by_mndp(&told(5), 5, ip(10, 0, 1, 5))),
    ] {
        rig.send(port, &bytes);
    }
    rig.breathe();
    let expected = [
        "ether1 cdp,lldp sw1",
        "ether1 mndp sw4",
        "ether2,lan lldp sw2",
        "ether2,lan mndp sw5",
        "ether3,lan cdp sw3",
    ];
    assert_eq!(known(&mut rig), expected, "{:?}", rig.router.discards());
    // LLDP stays on its link, CDP and MNDP are flooded as any multicast.
    let passed = rig.take(3);
    let passed: Vec<_> =
        passed.iter().filter(|frame| frame[6] == 6).map(|frame| frame[11]).collect();
    assert_eq!(passed, [5]);
    // What says that it is gone is gone; what is not heard again, too.
    rig.send(1, &by_lldp(&Told { ttl: 0, ..told(1) }, 1));
    rig.breathe();
    assert_eq!(known(&mut rig).len(), 4);
    rig.wait(Duration::from_secs(31));
    assert_eq!(known(&mut rig), ["ether1 mndp sw4", "ether2,lan mndp sw5"]);
    rig.run("/ip neighbor discovery-settings set discover-interface-list=none");
    assert_eq!(known(&mut rig).len(), 0);
    assert!(rig.router.frames().balance());
}

/// A question is answered at once, but not a thousand times.
#[test]
fn questions() {
    let mut rig = Rig::new(3, CONFIG);
    rig.wait(Duration::from_secs(5));
    rig.take(1);
    let frame = craft::udp(ip(10, 0, 0, 7), mndp::PORT, u32::MAX, mndp::PORT);
    let question =
        craft::Frame { src_mac: mac(7), dst_mac: MacAddr::BROADCAST, payload: &[0; 4], ..frame };
    for _ in 0..100 {
        rig.send(1, &question.build());
        rig.wait(Duration::from_millis(10));
    }
    let said = rig.take(1).len();
    assert!((3..=6).contains(&said), "{said}");
}

/// More than there is room for, damaged, our own.
#[test]
fn hostile() {
    let mut rig = Rig::new(3, CONFIG);
    rig.wait(Duration::from_secs(1));
    for n in 0..1000u16 {
        let own = MacAddr([6, 0, 0, 1, (n >> 8) as u8, n as u8]);
        rig.send(1, &by_lldp(&Told { mac: own, ..told(1) }, 1));
        rig.breathe();
    }
    assert_eq!(known(&mut rig).len(), 256);
    assert_eq!(rig.router.discards().get(Discard::TooManyNeighbours), 744);
    let whole = by_lldp(&told(1), 1);
    (15..whole.len() - 1).for_each(|len| rig.send(1, &whole[..len]));
    rig.send(1, &by_lldp(&Told { mac: own_mac(1), ..told(1) }, 1));
    rig.breathe();
    assert!(rig.router.discards().get(Discard::BadAnnouncement) > 10);
    assert!(rig.router.frames().balance());
}

/// As tshark reads it.
#[test]
fn tshark_reads_what_is_said() {
    if lacks(&["tshark"]) {
        return;
    }
    let mut rig = Rig::new(3, CONFIG);
    rig.wait(Duration::from_millis(10));
    let mut pcap = vec![
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0,
    ];
    for frame in rig.take(1) {
        let len = (frame.len() as u32).to_le_bytes();
        pcap.extend([&[0; 8][..], &len, &len, &frame].concat());
    }
    let path =
        std::env::temp_dir().join(format!("wirespeed-discovery-{}.pcap", std::process::id()));
    std::fs::write(&path, pcap).unwrap();
    let mut tshark = std::process::Command::new("tshark");
    let output = tshark.arg("-V").arg("-r").arg(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for expected in [
        "System Name: gw",
        "Device ID: gw",
        "Identity: gw",
        "Port Id: ether1",
        "Management Address: 10.0.0.1",
        "IP address: 10.0.0.1",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    for fault in ["Malformed", "incorrect", "Bad:"] {
        assert!(!text.contains(fault), "{fault}: {text}");
    }
}
