//! The commands around a test, and what they refuse.

use super::*;

#[test]
fn a_session_with_start_stop_and_stats() {
    let mut b = Box_::ready();
    b.run(
        "/tool traffic-generator port add name=p0 interface=ether1
        /tool traffic-generator stream add num=3 tx-template=t packet-size=100 pps=1000",
    );
    b.run("/tool traffic-generator start");
    b.pass(Duration::from_millis(2500));
    let (text, _) = b.run("/tool traffic-generator monitor once");
    assert!(text.contains("running: yes\n"), "{text}");
    assert!(text.contains("tx-packets-per-second: 1 000\n"), "{text}");
    assert!(text.contains("tx-bits-per-second: 800.0kbps\n"), "{text}");
    assert!(b.fails("/tool traffic-generator start").starts_with("failure: a test is under way"));
    b.run("/tool traffic-generator stop");
    b.pass(Duration::from_millis(10));

    b.width = 86;
    let (text, _) = b.run(
        "/tool traffic-generator set measure-out-of-order=no
        /tool traffic-generator stats stream print",
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with(" 0 1      3           1 000 800.0kbps"), "{text}");
    assert!(lines.last().unwrap().starts_with(" 7 TOT    TOT         2 500"), "{text}");
    let (_, records) = b.run("/tool traffic-generator stats port print");
    let ports: Vec<String> =
        records.iter().rev().take(3).map(|r| r.get("port").unwrap().to_string()).collect();
    assert_eq!(ports, ["TOT", "ether2", "p0:ether1"]);
    let (_, records) = b.run("/tool traffic-generator stats raw print");
    let lost = |port: &str, num: &str| {
        let is = |record: &&Record| {
            record.get("port").unwrap().to_string() == port
                && record.get("num").unwrap().to_string() == num
        };
        whole(records.iter().rev().find(is).unwrap(), "lost-packet")
    };
    assert_eq!((lost("p0:ether1", "3"), lost("ether2", "3"), lost("TOT", "3")), (2500, -2500, 0));
    let (text, records) = b.run("/tool traffic-generator stats latency-distribution print");
    assert_eq!(records.len(), 65);
    assert!(text.lines().last().unwrap().contains("100%"), "all within 100 us: {text}");
    let of = |b: &mut Box_, which: &str| {
        let (_, records) =
            b.run(&format!("/tool traffic-generator stats latency-distribution print {which}"));
        records.last().map(|record| whole(record, "count"))
    };
    assert_eq!(of(&mut b, "stream-num=3"), Some(2500));
    assert_eq!(of(&mut b, "stream-num=4"), Some(0));
    assert_eq!(of(&mut b, "seq=2"), Some(1000));
    assert_eq!(of(&mut b, "seq=99"), None);
    b.close();
}

#[test]
fn samples_are_kept_as_many_as_asked_for() {
    let mut b = Box_::ready();
    b.step = Duration::from_micros(200);
    b.run("/tool traffic-generator set stats-samples-to-keep=2");
    let (_, records) = b.run(
        "/tool traffic-generator quick tx-template=t pps=10 duration=5s
        /tool traffic-generator stats stream print",
    );
    let seconds: Vec<String> =
        records.iter().step_by(2).map(|r| r.get("seq").unwrap().to_string()).collect();
    assert_eq!(seconds, ["4", "5", "TOT"]);
    b.close();
}

#[test]
fn frames_of_quick() {
    let mut b = Box_::ready();
    b.step = Duration::from_micros(200);
    let mut seqs = |arguments: &str| {
        let script = format!("/tool traffic-generator quick tx-template=t pps=10 {arguments}");
        let (_, records) = b.run(&script);
        let seqs = records.iter().step_by(2).map(|r| r.get("seq").unwrap().to_string());
        seqs.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(seqs("duration=3s"), "1 2 3 TOT");
    assert_eq!(seqs("duration=3s entries-to-show=2"), "1 1 2 2 3 TOT");
    assert_eq!(seqs("duration=4s freeze-frame-interval=2s"), "2 4 TOT");
    b.close();
}

/// Without out-of-order being measured the column is blank for `quick`.
#[test]
fn out_of_order_is_blank_if_it_is_not_measured() {
    let mut b = Box_::ready();
    let (text, records) = b.run(
        "/tool traffic-generator quick tx-template=t pps=10 duration=1s measure-out-of-order=no",
    );
    assert!(records.iter().all(|record| record.get("rx-ooo").is_none()), "{text}");
    let line = text.lines().last().unwrap();
    assert_eq!(&line[58..73], " ".repeat(15), "{text}");
    b.close();
}

/// Interrupted, it sends no more, and what was counted stays.
#[test]
fn quick_ends_when_it_is_stopped() {
    let mut b = Box_::ready();
    let output = b
        .interpreter
        .run("/tool traffic-generator quick tx-template=t pps=1000", &b.generator)
        .unwrap();
    let Ok(Started::Job(mut job)) = start(&mut b.generator, &output.calls[0], b.now) else {
        panic!("quick takes time");
    };
    let mut out = vec![];
    for _ in 0..100 {
        job.poll(&mut b.generator, b.now, &mut out).unwrap();
        b.pass(Duration::from_millis(10));
    }
    assert!(b.generator.is_running());
    job.stop(&mut b.generator, b.now);
    b.pass(Duration::from_millis(1));
    assert!(!b.generator.is_running());
    let all = b.generator.totals().unwrap().total();
    assert_eq!((all.tx.packets / 10, all.lost()), (100, 0), "what was under way has come");
    let (text, _) = b.run("/tool traffic-generator stats stream print");
    assert!(text.lines().last().unwrap().contains("TOT    TOT"), "{text}");
    b.close();
}

#[test]
fn refused() {
    let mut b = Box_::ready();
    b.run(
        "/tool traffic-generator packet-template
        add name=nowhere ip-dst=77.7.7.7
        add name=tcp header-stack=mac,ip,tcp interface=ether1 ip-dst=2.2.2.2
        add name=empty interface=ether1 mac-dst=02:00:00:00:00:09
        /tool traffic-generator port add name=off interface=ether3 disabled=yes
        /tool traffic-generator stream add num=1 tx-template=t disabled=yes",
    );
    let mut check = |arguments: &str, expected: &str| {
        let error = b.fails(&format!("/tool traffic-generator {arguments}"));
        assert_eq!(error, expected, "{arguments}");
    };
    check("quick", "failure: nothing to send: give tx-template=, or add streams");
    check("stop", "failure: no test is under way");
    check(
        "quick tx-template=nowhere",
        "failure: nowhere: no port or interface, and no route says which",
    );
    check(
        "quick tx-template=empty",
        "failure: empty: no ip-src, and no address on its port to assume",
    );
    check(
        "quick tx-template=tcp packet-size=60",
        "failure: tcp: packet-size 60 is too small: headers and footer take 72",
    );
    check("quick tx-template=t packet-size=59", "failure: t: packet-size 59-59: use 60 to 1920");
    check(
        "quick tx-template=t packet-size=9000",
        "failure: t: packet-size 9000-9000: use 60 to 1920",
    );
    check("quick tx-template=t,t num=1,1", "failure: two streams have the number 1");
    check("quick tx-template=t,t mbps=1,2,3", "failure: mbps has 3 values for 2 streams: 1 or 2");
    check("quick tx-template=t port=off", "failure: t: its port has no interface, or is disabled");
    check("quick tx-template=t port=off interface=ether1", "failure: port or interface, not both");
    let many = vec!["t"; 17].join(",");
    check(&format!("quick tx-template={many}"), "failure: 17 streams, at most 16");
    check(
        "quick tx-template=t cpu-core=1",
        "not implemented: the generator has one core, its box's",
    );
}
