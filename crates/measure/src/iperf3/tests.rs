//! Of stored output of iperf3 3.12, and of rows whose numbers are known.

use super::*;
use crate::Conditions;
use std::time::Duration;

const TCP: [&str; 2] = [
    include_str!("../../data/iperf3-3.12-tcp-client.json"),
    include_str!("../../data/iperf3-3.12-tcp-server.json"),
];
const UDP: [&str; 2] = [
    include_str!("../../data/iperf3-3.12-udp-client.json"),
    include_str!("../../data/iperf3-3.12-udp-server.json"),
];

fn read(texts: [&str; 2]) -> [Value; 2] {
    texts.map(|text| serde_json::from_str(text).unwrap())
}

fn setting(packet: u32, protocol: Protocol, link_mbps: Option<f64>) -> Setting {
    let (device, direction) = ("node to node".to_string(), Direction::OneWay);
    Setting {
        device,
        protocol,
        direction,
        packet,
        timestamps: true,
        pairs: 1,
        streams: 2,
        link_mbps,
    }
}

fn pair(figures: Figures) -> Pair {
    let (client_command, server_command) = (String::new(), String::new());
    let (client, server) = (Value::Null, Value::Null);
    Pair { reverse: false, client_command, server_command, figures, client, server }
}

/// A row of one pair with this rate of payload.
fn row(packet: u32, mbps: f64, link_mbps: Option<f64>) -> Row {
    let bytes = (mbps * 1e6 / 8.0 * 30.0) as u64;
    let figures = Figures { bytes, seconds: 30.0, ..Figures::default() };
    Row::of(setting(packet, Protocol::Tcp, link_mbps), vec![pair(figures)], None).unwrap()
}

#[test]
fn what_iperf3_wrote() {
    let [client, server] = read(TCP);
    // Whole, and without its first second: the receiver's bytes and seconds, cut together.
    for (from, to) in [(0, 2), (1, 2), (0, 1)] {
        let got = figures(&client, &server, f64::from(from)..f64::from(to), 204).unwrap();
        let sums = server["intervals"].as_array().unwrap();
        let kept = &sums[from as usize..to as usize];
        let kept: Vec<_> = kept.iter().map(|one| &one["sum"]).collect();
        let bytes: u64 = kept.iter().map(|sum| sum["bytes"].as_u64().unwrap()).sum();
        let seconds: f64 = kept.iter().map(|sum| sum["seconds"].as_f64().unwrap()).sum();
        assert_eq!((got.bytes, got.seconds), (bytes, seconds));
        assert!(got.bytes > 0 && (got.seconds - f64::from(to - from)).abs() < 0.1, "{got:?}");
        assert_eq!((got.mss, got.packets_sent), (Some(216), None));
        assert!(got.all_bytes > got.bytes && got.retransmits.is_some());
    }
    assert!(figures(&client, &server, 1.0..3.0, 204).unwrap_err().contains("of the 2 s that"));

    let [client, server] = read(UDP);
    let got = figures(&client, &server, 0.0..1.0, 100).unwrap();
    let (sent, received) = (got.packets_sent.unwrap(), got.packets_received.unwrap());
    assert_eq!(received * 100, got.all_bytes);
    assert_eq!(got.lost(), Some(sent as i64 - received as i64));
}

#[test]
fn what_is_no_output() {
    let [client, server] = read(TCP);
    let refused: Value = serde_json::json!({
        "start": { "version": "iperf 3.12" }, "intervals": [], "end": {},
        "error": "unable to connect to server: Connection refused"
    });
    let mut cut = server.clone();
    cut["intervals"][0]["sum"] = Value::Null;
    for (client, server, expected) in [
        (&refused, &server, "the client says: unable to connect"),
        (&client, &refused, "the server says: unable to connect"),
        (&Value::Null, &server, "what the client wrote is not of iperf3"),
        (&client, &cut, "lacks an interval's sum"),
    ] {
        let error = figures(client, server, 0.0..2.0, 204).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn layers_are_the_sources() {
    // Its own example: 128-byte packets, and its multipliers.
    let got = row(128, 449.89, None);
    assert_eq!((got.mss, got.length), (88, 76));
    assert!((got.l3_mbps - 449.89 * 1.6842).abs() < 0.05, "{got:?}");
    assert!((got.l2_without_fcs_mbps - 449.89 * 1.8684).abs() < 0.05, "{got:?}");
    assert!((got.l2_mbps / got.l3_mbps - 146.0 / 128.0).abs() < 1e-9);
    assert!((got.l1_mbps / got.l3_mbps - 166.0 / 128.0).abs() < 1e-9);
    assert!((got.data_sheet_mbps / got.l3_mbps - 2.0).abs() < 1e-9);
    assert!((got.kpps - got.l3_mbps * 1e3 / 8.0 / 128.0).abs() < 1e-6);
}

/// The six rows of the source that no gigabit wire carries are found, and how far they are above.
#[test]
fn the_sources_impossible_rows() {
    for (packet, l3, most, above) in [
        (128, 778.1, 771.1, "0.91 %"),
        (256, 873.4, 870.7, "0.30 %"),
        (512, 933.8, 930.9, "0.31 %"),
        (1024, 966.8, 964.2, "0.27 %"),
        (1500, 980.0, 975.3, "0.48 %"),
        (9000, 1000.7, 995.8, "0.49 %"),
    ] {
        let payload = l3 / (f64::from(packet) / f64::from(packet - 52));
        let got = row(packet, payload, Some(1000.0));
        assert!((got.most_l3_mbps().unwrap() - most).abs() < 0.06, "{packet}: {got:?}");
        let faults: Vec<_> = got.faults().iter().map(ToString::to_string).collect();
        assert!(faults.len() == 1 && faults[0].contains(above), "{packet}: {faults:?}");
        assert_eq!(row(packet, payload * 0.99, Some(1000.0)).faults(), []);
        assert_eq!(row(packet, payload, None).faults(), []);
        // Of a second nobody knows its ends so well.
        let mut short = got;
        short.pairs_run[0].figures.bytes /= 30;
        short.pairs_run[0].figures.seconds = 1.0;
        assert_eq!(short.faults().is_empty(), above != "0.91 %", "{packet}");
    }
}

#[test]
fn what_cannot_be() {
    let sound = row(1500, 100.0, Some(1000.0));
    let told = |change: &dyn Fn(&mut Row)| {
        let mut row = sound.clone();
        change(&mut row);
        row.faults().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let frames = |bytes| Some(Arrived { frames: 10_000, bytes });
    for (change, expected) in [
        (&(|row: &mut Row| row.lost = Some(-1)) as &dyn Fn(&mut Row), "-1 packets lost"),
        (
            &|row: &mut Row| row.pairs_run[0].figures.mss = Some(536),
            "the MSS was 536, not the 1460",
        ),
        (&|row: &mut Row| row.arrived = frames(10_000_000), "have 986.0 bytes on average"),
    ] {
        let told = told(change);
        assert!(told.contains(expected), "{told}");
    }
    assert_eq!(told(&|row| row.arrived = frames(15_100_000)), "");
    // That it is invalid is said, and no fault.
    let stolen = Duration::from_millis(610);
    let judged = |row: &Row| row.clone().judged(&Conditions { stolen, ..Conditions::default() });
    assert_eq!(told(&|row| *row = judged(row)), "");
    assert!(!judged(&sound).validity.is_valid());
}

#[test]
fn the_mix() {
    // 1 Mpps whatever the length: the mix is 1 Mpps of 340.33 bytes.
    let payload = |packet: u32| f64::from(packet - 52) * 8.0;
    let rows = [128, 512, 1024, 1500].map(|packet| row(packet, payload(packet), None));
    let mix = mixed(&rows.each_ref()).unwrap();
    assert!((mix.kpps - 1000.0).abs() < 1e-6 && (mix.l3_mbps - 2722.667).abs() < 0.001, "{mix:?}");
    assert_eq!(mix.basis, "40 as 128, 576 between 512 and 1024, 1500 measured");
    // A device that takes 1 ns a byte: 128·7 + 576·4 + 1500 ns for twelve.
    let rows = [128, 512, 1024, 1500]
        .map(|packet| row(packet, payload(packet) * 1000.0 / f64::from(packet), None));
    let mix = mixed(&rows.each_ref()).unwrap();
    assert!((mix.kpps - 12e6 / 4700.0).abs() < 0.1, "{mix:?}");
    assert_eq!(mixed(&[&rows[0]]), None, "there is no 1500");
    // An invalid row has no time: 576 lies between its neighbours then, and without a 1500 there is
    // no mix.
    for (at, expected) in [(1, Some("576 between 128 and 1024")), (3, None)] {
        let mut rows = rows.clone();
        rows[at].validity.invalid = Some("the clocks differ".to_string());
        let basis = mixed(&rows.each_ref()).map(|mix| mix.basis);
        assert_eq!(basis.is_some(), expected.is_some());
        assert!(expected.is_none_or(|part| basis.unwrap().contains(part)));
    }
    assert_eq!(mixed(&[&rows[3], &row(128, 0.0, None)]), None, "nothing came");
}
