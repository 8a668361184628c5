//! Long tables are walked a page at a time: connections, while they come and go.

use crate::rig::{Rig, mac, own_mac};
use config::{ItemId, Status};
use router::ip::route::Target;
use std::collections::BTreeSet;
use wire::Ipv4Prefix;
use wire::craft::{self, Frame, ip};

const N: u16 = 3000;

fn rig() -> Rig {
    let mut rig = Rig::new(
        2,
        "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
/ip firewall connection tracking set enabled=yes udp-timeout=1h",
    );
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    for port in 1..=N {
        let udp = craft::udp(ip(10, 0, 1, 1), port, ip(10, 0, 2, 1), 53);
        let frame = Frame { src_mac: mac(1), dst_mac: own_mac(1), ..udp };
        assert_eq!(rig.pass(1, &frame.build()).len(), 1, "{:?}", rig.router.discards());
    }
    rig
}

const CONNECTION: &str = "/ip firewall connection";

/// The next page, as the console asks for it.
fn page(rig: &mut Rig, after: Option<ItemId>) -> Vec<ItemId> {
    let menu = router::MENUS.iter().find(|menu| menu.path == CONNECTION).unwrap();
    let items = rig.router.status(rig.now).dynamic_page(menu, after, 64);
    items.into_iter().map(|item| item.id).collect()
}

#[test]
fn every_connection_is_seen_once_while_others_end() {
    let mut rig = rig();
    let (mut seen, mut after, mut ended) = (BTreeSet::new(), None, 0);
    loop {
        let ids = page(&mut rig, after);
        assert!(ids.len() <= 64, "{}", ids.len());
        let Some(&last) = ids.last() else { break };
        assert!(ids.iter().all(|id| seen.insert(*id)), "twice");
        after = Some(last);
        // The page's last one and one that is still to come end: the walk goes on behind them.
        rig.run(&format!("{CONNECTION} remove {last}"));
        if let Some(next) = page(&mut rig, after).first().copied() {
            rig.run(&format!("{CONNECTION} remove {next}"));
            ended += 1;
        }
    }
    assert_eq!(seen.len() + ended, usize::from(N));
}

#[test]
fn print_shows_them_all_behind_one_title() {
    let mut rig = rig();
    let text = rig.run(&format!("{CONNECTION} print"));
    let head = text.lines().take_while(|line| !line.contains("PR..")).count() + 1;
    assert_eq!(text.lines().count(), head + usize::from(N));
    assert_eq!(text.matches("PR..").count(), 1);
    let widths: BTreeSet<usize> =
        text.lines().skip(head).map(|line| line.find("10.0.2.1:53").unwrap()).collect();
    assert!(widths.len() <= 2, "columns wander: {widths:?}"); // numbers get a fourth digit
    let count = rig.run(&format!("{CONNECTION} print count-only where protocol=udp"));
    assert_eq!(count.trim(), N.to_string());
    let one = rig.run(&format!("{CONNECTION} print detail where src-address=10.0.1.1:777"));
    assert!(one.contains("orig-packets=1 orig-bytes=28"), "{one}");
}

/// Whatever the device made is found by its identity, and only there: scripts ask for each.
#[test]
fn items_of_the_devices_own_are_found_by_their_identities() {
    let mut rig = rig();
    let gateway = Target::Gateways(vec![(rig.ether(2), ip(10, 0, 2, 1))]);
    let many = (0..200u32).map(|n| (Ipv4Prefix::new(0x2000_0000 | n << 8, 24), gateway.clone()));
    rig.router.feed_routes(many).unwrap();
    rig.router.log_message(rig.now, "script,info", "hello");
    rig.run("/tool sniffer start");
    // One that is for nobody here.
    rig.pass(1, &craft::udp(ip(10, 0, 1, 1), 1, ip(10, 9, 9, 9), 53).build());
    rig.run("/tool sniffer stop");
    let status = rig.router.status(rig.now);
    for (path, at_least) in [
        (CONNECTION, 3000),
        ("/ip route", 202),
        ("/ip arp", 2),
        ("/log", 1),
        ("/tool sniffer packet", 1),
        ("/tool discard", 1),
    ] {
        let menu = router::MENUS.iter().find(|menu| menu.path == path).unwrap();
        let all = status.dynamic(menu);
        assert!(all.len() >= at_least, "{path}: {}", all.len());
        for item in &all {
            assert_eq!(status.dynamic_item(menu, item.id).as_ref(), Some(item), "{path}");
        }
        let ids: BTreeSet<_> = all.iter().map(|item| item.id.0).collect();
        for strange in [0x8000_0000, 0xbfff_ffff, 0xc000_0000, 0xfffe_ffff, 0xffff_0000, u32::MAX] {
            let found = status.dynamic_item(menu, ItemId(strange));
            assert_eq!(found.is_some(), ids.contains(&strange), "{path} {strange:x}");
        }
    }
}

#[test]
fn a_script_asks_for_each() {
    let mut rig = rig();
    let count = rig.run(&format!(
        ":local n 0; :foreach c in=[{CONNECTION} find] do={{ \
         :if ([{CONNECTION} get $c protocol] = \"udp\") do={{ :set n ($n + 1) }} }}; :put $n"
    ));
    assert_eq!(count.trim(), N.to_string());
}
