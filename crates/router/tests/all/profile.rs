//! `/tool profile` on a router that works.

use crate::rig::{Rig, mac, own_mac};
use config::{Display, Group, Progress, Record, Started};
use std::time::Duration;
use wire::craft::{self, ip};

const SCRIPT: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
/ip firewall filter add chain=forward action=accept protocol=udp
/queue simple add name=all target=10.0.1.0/24 max-limit=100M/100M";

/// What `/tool profile` says of this traffic, and what its rows look like.
fn profile(rig: &mut Rig, arguments: &str, work: impl FnOnce(&mut Rig)) -> (Vec<Record>, String) {
    let script = format!("/tool profile {arguments}");
    let output = rig.console.run(&script, &rig.router.status(rig.now)).unwrap();
    let call = &output.calls[0];
    let tree = rig.console.tree().clone();
    let Ok(Started::Job(mut job)) = rig.router.start(call, &tree, rig.now) else { panic!() };
    work(rig);
    rig.now = rig.now + Duration::from_secs(5);
    let mut records = Vec::new();
    let progress = job.poll(&mut rig.router, rig.now, &mut records).unwrap();
    assert!(matches!(progress, Progress::Done(_)), "{progress:?}");
    job.stop(&mut rig.router, rig.now);
    let Display::Redraw(show) = call.command.display else { panic!() };
    let latest = records.last();
    let group = Group { call, records: &records, before: 0, latest, last: true, width: 80 };
    let text = show(&group);
    (records, text)
}

#[test]
fn shares_are_those_of_what_works_and_add_up() {
    let mut rig = Rig::new(2, SCRIPT);
    let refused = {
        let output = rig.console.run("/tool profile", &rig.router.status(rig.now)).unwrap();
        let tree = rig.console.tree().clone();
        rig.router.start(&output.calls[0], &tree, rig.now).err()
    };
    assert!(refused.unwrap().starts_with("failure: nothing takes time here"));

    let Some(cycles) = port::cycles::NOW else { return };
    rig.router.set_profiler(Some(cycles));
    for n in 1..=2u8 {
        rig.introduce(n.into(), mac(n), ip(10, 0, n, 1), ip(10, 0, n, 254));
    }
    let udp = craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 7);
    let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..udp }.build();
    let tenths = |record: &Record| {
        let usage = record.get("usage").unwrap().to_string();
        usage.trim_end_matches('%').replace('.', "").parse::<u64>().unwrap()
    };
    let lacks = |records: &[Record]| {
        ["ethernet", "networking", "firewall", "queuing", "idle"].into_iter().find(|facility| {
            let row = records.iter().find(|row| row.get("name").unwrap().to_string() == *facility);
            row.is_none_or(|row| tenths(row) == 0)
        })
    };
    // Where the machine does something else meanwhile, that takes all the time: once more then.
    let mut text = String::new();
    for again in 0..5 {
        let records;
        (records, text) = profile(&mut rig, "cpu=all duration=5s", |rig| {
            for _ in 0..2000 {
                assert_eq!(rig.pass(1, &frame).len(), 1);
            }
        });
        assert_eq!(records.iter().map(tenths).sum::<u64>(), 1000, "{text}");
        match lacks(&records) {
            None => break,
            Some(facility) => assert!(again < 4, "{facility}\n{text}"),
        }
    }
    assert!(!text.contains("bridging"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "NAME                    CPU       USAGE");
    assert!(lines[1].starts_with("ethernet                  0       "), "{text}");

    // Nothing passes: nothing but idling (and looking at it).
    let (_, text) = profile(&mut rig, "duration=1s", |rig| {
        for _ in 0..100_000 {
            rig.breathe();
        }
    });
    let idle = text.lines().find(|line| line.starts_with("idle")).unwrap();
    assert!(idle.contains("all") && idle.contains(" 9") || idle.contains("100.0%"), "{text}");
}
