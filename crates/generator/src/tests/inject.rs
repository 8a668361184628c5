//! Single frames, and captures at their times.

use super::*;
use port::pcap::Writer;
use port::record;

#[test]
fn one_frame_goes_out_as_it_is() {
    let mut b = Box_::new();
    let hex = "ffffffffffff02000000000988b5cafe";
    b.run(&format!("/tool traffic-generator inject interface=ether3 data={hex}"));
    b.pass(Duration::from_millis(1));
    assert_eq!(b.seen, [menu::template::bytes(hex)]);
    let error = b.fails("/tool traffic-generator inject interface=ether3 data=00");
    assert_eq!(error, "failure: data has 1 bytes, a frame 14 to 1920");
    b.close();
}

/// A capture of frames at these microseconds, each as long as 60 and its number.
fn capture(times: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(vec![]).unwrap();
    for (i, time) in times.iter().enumerate() {
        let bytes = vec![i as u8; 60 + i];
        writer
            .write(&record::Record::ethernet(1_700_000_000_000_000_000 + time * 1000, &bytes))
            .unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn a_capture_keeps_its_times() {
    let mut b = Box_::new();
    b.file = capture(&[0, 100_000, 250_000, 200_000, 1_000_000]);
    let begun = b.now;
    let (text, records) =
        b.run("/tool traffic-generator inject-pcap interface=ether3 pcap-file=a.pcap");
    b.pass(Duration::from_millis(1));
    let lens: Vec<usize> = b.seen.iter().map(Vec::len).collect();
    assert_eq!(lens, [60, 61, 62, 63, 64], "in their order");
    let took = b.now.since(begun);
    assert!((1.0..1.1).contains(&took.as_secs_f64()), "{took:?}");
    let last = records.last().unwrap();
    assert_eq!((whole(last, "tx-packets"), whole(last, "tx-bytes")), (5, 310));
    assert!(text.ends_with("   iteration: 1\n  tx-packets: 5\n    tx-bytes: 310\n"), "{text}");

    let begun = b.now;
    b.run(
        "/tool traffic-generator inject-pcap interface=ether3 pcap-file=a.pcap speed-multiplier=10",
    );
    let took = b.now.since(begun);
    assert!((0.1..0.12).contains(&took.as_secs_f64()), "{took:?}");
    b.close();
}

/// With `loop` it goes on, each time as long as the capture and one mean gap, until it is stopped.
#[test]
fn a_loop_goes_on_until_it_is_stopped() {
    let mut b = Box_::new();
    b.file = capture(&[0, 1000, 2000]);
    let script = "/tool traffic-generator inject-pcap interface=ether3 pcap-file=a loop=yes";
    let output = b.interpreter.run(script, &b.generator).unwrap();
    let Ok(Started::Job(mut job)) = start(&mut b.generator, &output.calls[0], b.now) else {
        panic!("it takes time");
    };
    assert_eq!(job.wants_file().as_deref(), Some("a"));
    job.give_file(Ok(b.file.clone()));
    job.poll(&mut b.generator, b.now, &mut vec![]).unwrap();
    b.pass(Duration::from_millis(30));
    job.stop(&mut b.generator, b.now);
    assert!((29..=31).contains(&b.seen.len()), "one a millisecond: {}", b.seen.len());
    let sent = b.seen.len();
    b.pass(Duration::from_millis(30));
    assert!(b.seen.len() <= sent + 1);
    b.close();
}

#[test]
fn what_is_no_capture_is_refused() {
    let mut b = Box_::new();
    let mut check = |file: Vec<u8>, expected: &str| {
        b.file = file;
        let error = b.fails("/tool traffic-generator inject-pcap interface=ether3 pcap-file=a");
        assert!(error.starts_with(expected), "{error}");
    };
    check(vec![], "failure: pcap-file: at byte 0");
    check(b"no capture".to_vec(), "failure: pcap-file: at byte 0: neither pcap nor pcapng");
    check(capture(&[]), "failure: pcap-file: it holds no packets");
    let mut cut = capture(&[0]);
    cut.truncate(60);
    check(cut, "failure: pcap-file: at byte");
}
