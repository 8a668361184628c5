//! `/system ntp client`: whom it asks, whom it believes, and what the clock says then.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use std::time::Duration;
use wire::craft::{self, ip};
use wire::layers;

const CONFIG: &str = "\
/ip address add address=10.0.0.1/24 interface=ether1
/ip arp add address=10.0.0.8 mac-address=06:00:00:00:00:08 interface=ether1
/ip arp add address=10.0.0.9 mac-address=06:00:00:00:00:09 interface=ether1
";
/// 2026-11-25 20:00:00.
const DAY: u64 = 1_795_636_800;

/// Who is asked within this time: server, port, cookie.
fn asked(rig: &mut Rig, within: u64) -> Vec<(u32, u16, u64)> {
    rig.wait(Duration::from_secs(within));
    let read = |frame: &Vec<u8>| {
        let layers = layers::network(frame).ok()?;
        let payload = &frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)];
        let cookie = u64::from_be_bytes(payload.get(40..48)?.try_into().unwrap());
        (layers.tuple.dst_port == 123).then_some((layers.tuple.dst, layers.tuple.src_port, cookie))
    };
    rig.take(1).iter().filter_map(read).collect()
}

/// A server says that it is so many seconds since 1970.
fn says(rig: &mut Rig, from: u8, (port, cookie): (u16, u64), stratum: u8, unix: u64) {
    let mut bytes = [0; 48];
    (bytes[0], bytes[1]) = (0x24, stratum);
    bytes[24..32].copy_from_slice(&cookie.to_be_bytes());
    let time = ((unix + 2_208_988_800) << 32).to_be_bytes();
    bytes[32..40].copy_from_slice(&time);
    bytes[40..48].copy_from_slice(&time);
    let frame = craft::udp(ip(10, 0, 0, from), 123, ip(10, 0, 0, 1), port);
    let frame = craft::Frame { src_mac: mac(from), dst_mac: own_mac(1), payload: &bytes, ..frame };
    rig.send(1, &frame.build());
    rig.breathe();
}

fn unix(rig: &mut Rig) -> u64 {
    let now = rig.now;
    rig.router.status(now).unix()
}

#[test]
fn both_versions_words() {
    for config in [
        "/system ntp client set enabled=yes primary-ntp=10.0.0.9",
        "/system ntp client set enabled=yes\n/system ntp client servers add address=10.0.0.9",
        "/system ntp client set enabled=yes servers=10.0.0.9",
        "/ip dns static add name=time.lan address=10.0.0.9\n\
         /system ntp client set enabled=yes server-dns-names=time.lan",
    ] {
        let mut rig = Rig::new(1, &format!("{CONFIG}{config}"));
        let all = asked(&mut rig, 1);
        let [(server, port, cookie)] = all[..] else { panic!("{config}: {all:?}") };
        assert_eq!(server, ip(10, 0, 0, 9), "{config}");
        says(&mut rig, 9, (port, cookie), 2, DAY);
        assert_eq!(unix(&mut rig), DAY, "{config}");
        rig.wait(Duration::from_secs(10));
        assert_eq!(unix(&mut rig), DAY + 10, "{config}");
        let print = rig.run("/system ntp client print");
        assert!(print.contains("synchronized") && print.contains("10.0.0.9"), "{print}");
        // It is asked again after a minute, and then less often.
        assert_eq!(asked(&mut rig, 50).len(), 0);
        assert_eq!(asked(&mut rig, 10).len(), 1);
        assert!(rig.router.frames().balance());
    }
}

#[test]
fn who_is_not_believed() {
    const TWO: &str =
        "/system ntp client set enabled=yes primary-ntp=10.0.0.8 secondary-ntp=10.0.0.9";
    let mut rig = Rig::new(1, &format!("{CONFIG}{TWO}"));
    let all = asked(&mut rig, 1);
    let [(first, port, cookie)] = all[..] else { panic!("{all:?}") };
    assert_eq!(first, ip(10, 0, 0, 8));
    // Another number, another host, another port.
    says(&mut rig, 8, (port, cookie ^ 1), 2, DAY);
    says(&mut rig, 9, (port, cookie), 2, DAY);
    says(&mut rig, 8, (port ^ 1, cookie), 2, DAY);
    assert!(unix(&mut rig) < DAY);
    assert_eq!(rig.router.discards().get(Discard::BadNtp), 1);
    // One that does not want to be asked; then the other has its turn.
    says(&mut rig, 8, (port, cookie), 0, DAY);
    let all = asked(&mut rig, 1);
    let [(second, port, cookie)] = all[..] else { panic!("{all:?}") };
    assert_eq!(second, ip(10, 0, 0, 9));
    says(&mut rig, 9, (port, cookie), 1, DAY);
    assert_eq!(unix(&mut rig), DAY);
}

/// Nobody answers: all are asked, then there is a pause.
#[test]
fn silence() {
    let two = "/system ntp client set enabled=yes primary-ntp=10.0.0.8 secondary-ntp=10.0.0.9";
    let mut rig = Rig::new(1, &format!("{CONFIG}{two}"));
    assert_eq!(asked(&mut rig, 10).len(), 2);
    assert_eq!(asked(&mut rig, 15).len(), 2);
    rig.run("/system ntp client set enabled=no");
    assert_eq!(asked(&mut rig, 60).len(), 0);
}

/// The server tells what the router's own clock shows, and at which distance from one; not before it knows.
#[test]
fn who_asks_is_told() {
    let server = "/system ntp server set enabled=yes";
    let client = "/system ntp client set enabled=yes primary-ntp=10.0.0.9";
    for (config, synced, stratum) in [
        (String::new(), false, None),
        (server.to_string(), false, Some(0)),
        (format!("{server} use-local-clock=yes local-clock-stratum=7"), false, Some(7)),
        (format!("{server} use-local-clock=yes\n{client}"), true, Some(3)),
    ] {
        let mut rig = Rig::new(1, &format!("{CONFIG}{config}"));
        if synced {
            let [(_, port, cookie)] = asked(&mut rig, 1)[..] else { panic!("{config}") };
            says(&mut rig, 9, (port, cookie), 2, DAY);
        }
        rig.take(1);
        let question = wire::ntp::question(77);
        let frame = craft::udp(ip(10, 0, 0, 8), 5000, ip(10, 0, 0, 1), 123);
        let frame =
            craft::Frame { src_mac: mac(8), dst_mac: own_mac(1), payload: &question, ..frame };
        rig.send(1, &frame.build());
        rig.breathe();
        let told: Vec<_> = rig
            .take(1)
            .iter()
            .filter_map(|frame| wire::ntp::read(frame.get(42..)?))
            .map(|answer| {
                assert_eq!((answer.origin, answer.alarm), (77, answer.stratum == 0), "{config}");
                let apart = (answer.sent / 1_000_000_000).abs_diff(unix(&mut rig));
                assert!(apart <= 1, "{config}: {answer:?}");
                answer.stratum
            })
            .collect();
        assert_eq!(told, stratum.into_iter().collect::<Vec<_>>(), "{config}");
        assert!(rig.router.frames().balance());
    }
}
