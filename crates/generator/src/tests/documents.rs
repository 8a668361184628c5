//! The documents' own tables, character by character.

use super::*;

fn number(number: i64) -> Value {
    Value::Number(number)
}

/// One TOT line of source 001: packets, rates in 0.1 Mbit/s, the least latency in 0.1 µs.
struct Line {
    num: Option<i64>,
    tx: (i64, i64),
    rx: (i64, i64),
    lost_rate: i64,
    lat_min: i64,
}

fn record(line: &Line) -> Record {
    let tot = || Value::Text("TOT".to_string());
    Record::default()
        .with("seq", tot())
        .with("num", line.num.map_or_else(tot, number))
        .with("tx-packet", number(line.tx.0))
        .with("tx-rate", number(line.tx.1 * 100_000))
        .with("rx-packet", number(line.rx.0))
        .with("rx-rate", number(line.rx.1 * 100_000))
        .with("lost-packet", number(line.tx.0 - line.rx.0))
        .with("lost-rate", number(line.lost_rate * 100_000))
        .with("lat-min", number(line.lat_min * 100))
}

fn line(
    num: impl Into<Option<i64>>,
    tx: (i64, i64),
    rx: (i64, i64),
    lost_rate: i64,
    lat_min: i64,
) -> Line {
    Line { num: num.into(), tx, rx, lost_rate, lat_min }
}

fn call() -> config::Call {
    config::Call { command: COMMANDS[0], items: None, arguments: [].into() }
}

/// The records as shown, without the title.
fn shown(show: fn(&Group) -> String, records: &[Record], width: usize) -> Vec<String> {
    let call = call();
    let group = Group { call: &call, records, before: 0, latest: None, last: true, width };
    show(&group).lines().skip(1).map(str::to_string).collect()
}

/// Source 001's first run. Its LOST-RATEs are TX-RATE less RX-RATE in bits, so their last digit
/// may be one off the difference of what is printed.
#[test]
fn the_articles_first_run() {
    let records: Vec<Record> = [
        line(0, (666_013, 1101), (665_401, 1064), 36, 219),
        line(1, (797_870, 1319), (780_769, 1249), 69, 117),
        line(2, (693_307, 1146), (691_959, 1107), 39, 223),
        line(3, (805_247, 1331), (781_710, 1250), 80, 124),
        line(4, (839_077, 1342), (403_396, 645), 697, 299),
        line(5, (839_043, 1342), (413_945, 662), 680, 149),
        line(None, (4_640_557, 7582), (3_737_180, 5979), 1603, 117),
    ]
    .iter()
    .map(record)
    .collect();
    let expected = [
        "TOT    0         666 013 110.1Mbps       665 401 106.4Mbps                    612   3.6Mbps 21.9us ",
        "TOT    1         797 870 131.9Mbps       780 769 124.9Mbps                 17 101   6.9Mbps 11.7us ",
        "TOT    2         693 307 114.6Mbps       691 959 110.7Mbps                  1 348   3.9Mbps 22.3us ",
        "TOT    3         805 247 133.1Mbps       781 710 125.0Mbps                 23 537   8.0Mbps 12.4us ",
        "TOT    4         839 077 134.2Mbps       403 396  64.5Mbps                435 681  69.7Mbps 29.9us ",
        "TOT    5         839 043 134.2Mbps       413 945  66.2Mbps                425 098  68.0Mbps 14.9us ",
        "TOT    TOT     4 640 557 758.2Mbps     3 737 180 597.9Mbps                903 377 160.3Mbps 11.7us ",
    ];
    assert_eq!(shown(display::quick, &records, 100), expected);
}

/// The second run: `1086.1...`, latencies of three units. What overflowed there is exact here.
#[test]
fn the_articles_second_run() {
    let records: Vec<Record> = [
        line(0, (1_970_004, 1628), (767_734, 614), 1014, 3160),
        line(1, (2_307_840, 1907), (512_347, 409), 1497, 375),
        line(2, (1_980_927, 1637), (763_490, 610), 1026, 29_400),
        line(5, (2_360_743, 1888), (261_714, 209), 1679, 9630),
        line(None, (13_291_128, 10_861), (3_062_328, 2449), 8412, 191),
    ]
    .iter()
    .map(record)
    .collect();
    let expected = [
        "TOT    0       1 970 004 162.8Mbps       767 734  61.4Mbps              1 202 270 101.4Mbps 316us  ",
        "TOT    1       2 307 840 190.7Mbps       512 347  40.9Mbps              1 795 493 149.7Mbps 37.5us ",
        "TOT    2       1 980 927 163.7Mbps       763 490  61.0Mbps              1 217 437 102.6Mbps 2.94ms ",
        "TOT    5       2 360 743 188.8Mbps       261 714  20.9Mbps              2 099 029 167.9Mbps 963us  ",
        // The article: 125.3Mbps, which is the difference modulo 2³² bits.
        "TOT    TOT    13 291 128 1086.1...     3 062 328 244.9Mbps             10 228 800 841.2Mbps 19.1us ",
    ];
    assert_eq!(shown(display::quick, &records, 100), expected);
}

/// The third and the fourth run, from a wider terminal.
#[test]
fn the_articles_wider_lines() {
    let records: Vec<Record> = [
        line(None, (13_926_377, 11_380), (2_586_802, 2069), 9311, 416),
        line(None, (16_309_055, 11_424), (2_978_839, 2042), 9381, 533),
    ]
    .iter()
    .map(record)
    .collect();
    let expected = [
        "TOT    TOT    13 926 377 1138.0...     2 586 802 206.9Mbps                  11 339 575 931.1Mbps 41.6us ",
        "TOT    TOT    16 309 055 1142.4...     2 978 839 204.2Mbps                  13 330 216 938.1Mbps 53.3us ",
    ];
    assert_eq!(shown(display::quick, &records, 104), expected);
    assert_eq!(shown(display::quick, &records, 111), expected, "LAT-AVG does not fit");
}

/// The manual's title, and a line with RX-OOO; in 80 characters LOST-PACKET still fits.
#[test]
fn the_manuals_columns() {
    let second = Record::default()
        .with("seq", number(37))
        .with("num", Value::Text("TOT".to_string()))
        .with("tx-packet", number(78_976))
        .with("tx-rate", number(916_100_000))
        .with("rx-packet", number(76_485))
        .with("rx-rate", number(887_200_000))
        .with("rx-ooo", number(22_529))
        .with("lost-packet", number(2_491))
        .with("lost-rate", number(28_800_000));
    let call = call();
    let check = |width, expected: &str| {
        let records = std::slice::from_ref(&second);
        let group = Group { call: &call, records, before: 0, latest: None, last: false, width };
        assert_eq!(display::quick(&group), expected, "in {width} characters");
    };
    check(
        80,
        "SEQ    NUM     TX-PACKET   TX-RATE     RX-PACKET   RX-RATE RX-OOO   LOST-PACKET\n\
         37     TOT        78 976 916.1Mbps        76 485 887.2Mbps 22 529         2 491\n",
    );
    check(
        128,
        "SEQ    NUM     TX-PACKET   TX-RATE     RX-PACKET   RX-RATE        RX-OOO   LOST-PACKET \
         LOST-RATE LAT-MIN LAT-AVG LAT-MAX JITTER \n\
         37     TOT        78 976 916.1Mbps        76 485 887.2Mbps        22 529         2 491  \
         28.8Mbps                                \n",
    );
}

/// The manual's `stats`.
#[test]
fn the_manuals_statistics() {
    let base = |num: Value, tx: (i64, i64), rx: (i64, i64), lost_rate: i64| {
        Record::default()
            .with("seq", number(1))
            .with("num", num)
            .with("tx-packet", number(tx.0))
            .with("tx-rate", number(tx.1 * 100_000))
            .with("rx-packet", number(rx.0))
            .with("rx-rate", number(rx.1 * 100_000))
            .with("lost-packet", number(tx.0 - rx.0))
            .with("lost-rate", number(lost_rate * 100_000))
    };
    let tot = || Value::Text("TOT".to_string());
    let records = [
        base(number(3), (43_064, 4995), (25_180, 2920), 2074),
        base(number(4), (43_062, 4995), (39_946, 4633), 361),
        base(tot(), (87_087, 10_102), (73_431, 8517), 1584),
    ];
    let expected = [
        " 0 1      3          43 064 499.5Mbps        25 180 292.0Mbps        17 884 207.4Mbps",
        " 1 1      4          43 062 499.5Mbps        39 946 463.3Mbps         3 116  36.1Mbps",
        " 2 1      TOT        87 087 1010.2...        73 431 851.7Mbps        13 656 158.4Mbps",
    ];
    assert_eq!(shown(display::stream, &records, 86), expected);

    let with_port = |record: Record, port: &str| record.with("port", Value::Text(port.to_string()));
    let records = [
        with_port(base(number(3), (43_064, 4995), (0, 0), 4995), "port0:ether1"),
        with_port(base(number(3), (0, 0), (25_180, 2920), -2920), "port1:ether2"),
        with_port(base(number(3), (43_064, 4995), (25_180, 2920), 2074), "TOT"),
    ];
    let expected = [
        " 0 1      port0:e... 3          43 064 499.5Mbps             0      0bps        43 064 499.5Mbps",
        " 1 1      port1:e... 3               0      0bps        25 180 292.0Mbps       -25 180 292.0Mbps",
        " 2 1      TOT        3          43 064 499.5Mbps        25 180 292.0Mbps        17 884 207.4Mbps",
    ];
    assert_eq!(shown(display::raw, &records, 100), expected);

    let unknown = |record: Record| {
        let record = record.with("rx-unk-packet", number(0)).with("rx-unk-byte", number(0));
        record.with("rx-unk-rate", number(0))
    };
    let records =
        [unknown(with_port(base(tot(), (43_064, 4995), (39_946, 4633), 362), "port0:ether1"))];
    let call = call();
    let group =
        Group { call: &call, records: &records, before: 0, latest: None, last: true, width: 100 };
    assert_eq!(
        display::port(&group),
        " # SEQ    PORT        RX-UNK-PACKET    RX-UNK-BYTE RX-UNK...     TX-PACKET   TX-RATE     RX-PACKET\n \
         0 1      port0:et...             0              0      0bps        43 064 499.5Mbps        39 946\n"
    );
}

/// Counts of the manual's latency distribution, of 6,588,581 packets in all.
#[test]
fn the_manuals_latency_distribution() {
    let line = |latency: &str, count: i64| {
        Record::default()
            .with("latency", Value::Text(latency.to_string()))
            .with("count", number(count))
            .with("share", number(count * 1_000_000 / 6_588_581))
    };
    let records = [
        line("0-15.5us", 0),
        line("171us-186us", 4),
        line("202us-217us", 90),
        line("264us-279us", 1_384),
        line("279us-295us", 1_990),
        line("465us-481us", 17_740),
        line("729us-745us", 39_750),
        line("838us-853us", 35_831),
        line("0-993us", 1_221_523),
    ];
    let call = call();
    let group =
        Group { call: &call, records: &records, before: 0, latest: None, last: true, width: 100 };
    let expected = "
 # LATENCY                 COUNT        SHARE GRAPH                                               
 0 0-15.5us                    0           0%
 1 171us-186us                 4           0% *                                                   
 2 202us-217us                90       0.001% *                                                   
 3 264us-279us             1 384       0.021% -*                                                  
 4 279us-295us             1 990        0.03% --*                                                 
 5 465us-481us            17 740       0.269% ----------------------*                             
 6 729us-745us            39 750       0.603% ---------------------------------------------------*
 7 838us-853us            35 831       0.543% ----------------------------------------------*     
 8 0-993us             1 221 523       18.54%
";
    assert_eq!(display::distribution(&group), expected.trim_start_matches('\n'));
}
