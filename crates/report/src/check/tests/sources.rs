//! The errors of the five source documents' tables, each found again: a sum that is none, a number
//! that was cut off, a measurement that is told twice. What `report check` finds of them (rates above
//! wires, layers, wrapped counters) is in [`super`]; the others are of one table each, and are
//! reckoned here.

use super::*;

/// A number of a table: file, line from 1, column from 0.
fn at(file: &str, line: usize, column: usize) -> f64 {
    let text = cell(file, line, column);
    let digits: String =
        text.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ' ' | '-')).collect();
    digits.replace(' ', "").parse().unwrap_or_else(|_| panic!("{file}:{line}: {text}"))
}

fn cell(file: &str, line: usize, column: usize) -> String {
    let (_, text) = read(&[&format!("{file}.csv")]).remove(0);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let record = reader.records().nth(line - 1).unwrap().unwrap();
    record[column].to_string()
}

/// Frames a second in 10^3 that wires of so many 10^9 bits carry, of so many bytes.
fn most(gbps: f64, bytes: f64) -> f64 {
    gbps * 1e6 / (bytes + 20.0) / 8.0
}

/// How a printed number follows from the exact one.
#[derive(Debug, PartialEq)]
enum Print {
    Rounded,
    RoundedUp,
    CutOff,
    Wrong,
}

/// `digit` is what the last one printed is worth.
fn print(printed: f64, exact: f64, digit: f64) -> Print {
    let off = exact - printed;
    match () {
        () if off.abs() >= digit => Print::Wrong,
        () if off > digit / 2.0 || (off - digit / 2.0).abs() < digit * 0.01 => Print::CutOff,
        () if off < 0.0 => Print::RoundedUp,
        () => Print::Rounded,
    }
}

#[test]
fn numbers_cut_off_and_rounded() {
    use Print::{CutOff, RoundedUp, Wrong};
    let sum = |file, line: usize| at(file, line, 7);
    for (printed, exact, digit, expected) in [
        // Wire speed, marked so: digits cut off, or one too many.
        (sum("S3-rb750gr2", 3), most(1.0, 512.0), 0.1, CutOff),
        (sum("S3-rb750gr2", 4), most(1.0, 1518.0), 0.1, CutOff),
        (sum("S3-ccr1072", 3), most(80.0, 512.0), 10.0, CutOff),
        (sum("S3-ccr1072", 4), most(80.0, 1518.0), 1.0, RoundedUp),
        (sum("S4-ccr-fastpath", 3), most(80.0, 512.0), 1.0, Wrong),
        (at("S3-pppoe", 7, 7) / 1e3, most(20.0, 512.0 + 8.0), 0.1, Wrong),
        // Price lists: what the ports carry of 64 bytes.
        (at("S4-pricelist", 4, 7), most(12.0, 64.0) / 1e3, 0.1, CutOff),
        (at("S4-pricelist", 6, 7), most(16.0, 64.0) / 1e3, 1.0, RoundedUp),
        // What a model is sold with is more than was ever measured.
        (at("S4-pricelist", 7, 7), at("S4-ccr-fastpath", 8, 7) / 1e3, 0.1, Wrong),
        // Packets without FCS, 60 bytes each.
        (at("S4-interface-rates", 3, 2), at("S4-interface-rates", 3, 4) * 480.0 / 1e6, 0.1, CutOff),
        (7.4, at("S4-monitor-aggregate", 2, 1) * 60.0 * 8.0 / 1e9, 0.1, CutOff),
        // Sums and quotients beside their expressions.
        (at("S0-marketing-capacity", 9, 1), 1.3 + 0.3 + 1.0 * 2.0, 0.1, Wrong),
        (at("S0-worked-arithmetic", 12, 2), 1028.0 / 1066.0 * 100.0, 0.01, CutOff),
        (at("S0-worked-arithmetic", 17, 2), 4225024.0 * 8.0 / 60.0, 1.0, CutOff),
        (at("S0-worked-arithmetic", 19, 2), 22.0 / 20.0, 1.0, Wrong),
        // Both ways, of what was measured one way.
        (at("S2-models", 2, 2), 2.0 * at("S2-dut", 4, 3) / 1e3, 0.1, CutOff),
        // One measurement, told twice.
        (at("S4-pppoe", 8, 7), at("S3-pppoe", 7, 7), 100.0, Wrong),
        (at("S4-pppoe", 9, 7), at("S3-pppoe", 8, 7), 100.0, Wrong),
        (at("S4-pppoe", 10, 7), at("S3-pppoe", 9, 7), 100.0, Wrong),
        (at("S4-l2tp", 10, 7), at("S3-l2tp", 9, 7), 100.0, Wrong),
        // The same device in two versions.
        (at("S4-ccr-fastpath", 2, 7), at("S3-ccr1072", 2, 7), 0.1, Wrong),
        (at("S4-ccr-fastpath", 5, 7), at("S3-ccr1072", 8, 7), 0.1, Wrong),
    ] {
        assert_eq!(print(printed, exact, digit), expected, "{printed}, {exact}");
    }
}

#[test]
fn wholes_and_limits() {
    // Shares of one case are more than all.
    let shares = (21..=42).filter(|line| {
        let of = |column| cell("S0S3-fasttrack-before-after", *line, column);
        of(1) == "with" && of(4).starts_with("profile_")
    });
    let shares: f64 = shares.map(|line| at("S0S3-fasttrack-before-after", line, 5)).sum();
    assert!((shares - 100.5).abs() < 1e-9, "{shares}");
    // Thirteen minutes of sixty: the others must be 60 each.
    let shown: f64 =
        cell("S0-token-windows", 2, 1).split(' ').map(|n| n.parse::<f64>().unwrap()).sum();
    assert_eq!((at("S0-token-windows", 2, 2) - shown) / 47.0, 60.0);
    // A distribution whose last row leaves out most packets.
    let missing = 100.0 - at("docs-latency-distribution", 2, 3);
    assert!((missing - 81.46).abs() < 1e-9);
    // Marked as wire speed, below the ports that the model's name says.
    for (line, ports) in [(15, 12.0 + 10.0), (21, 8.0 + 1.0 + 10.0)] {
        let kpps = at("S4-ccr-fastpath", line, 7);
        assert!(kpps < most(ports, 512.0) * 0.95, "{line}");
    }
    // Streams that sent less than every test of packets as short asks for.
    let asked = [at("S1-tests", 2, 2), at("S1-tests", 7, 2)].into_iter().fold(f64::MAX, f64::min);
    let sent = (2..=7).map(|line| at("S1-tg-quick", line, 5)).fold(0.0, f64::max);
    assert!(sent < asked * 0.99, "{sent} of {asked}");
    // A CPU that was the limit; packets too short to be IP's.
    assert!(cell("S0-speed-test", 18, 2).contains("local-cpu-load:100%"));
    let each = at("S3-firewall-rules", 6, 8) * 1024.0 / at("S3-firewall-rules", 6, 9);
    assert!((each - 18.4).abs() < 0.05, "{each}");
}

/// Multipliers from TCP's payload to layers 3 and 2 (without FCS), to four decimals.
#[test]
fn multipliers() {
    for line in 2..=7 {
        let [packet, data, l3, l2] = [0, 3, 4, 5].map(|of| at("S2-iperf-sizes", line, of));
        for (bytes, printed) in [(packet, l3), (packet + 14.0, l2)] {
            assert!((printed - bytes / data).abs() < 0.000_051, "{line}: {printed}");
        }
    }
}
