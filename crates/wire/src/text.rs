//! Numbers as RouterOS prints them.
//!
//! ```text
//! Thousands(15577081)  15 577 081      Bits(7476998880)     7.4Gbps   {:#} 7.4 Gbps
//! Latency(2_940_000)   2.94ms          Bytes(7600000000)    7.0GiB    {:#} 7.0 GiB
//! ```
//!
//! Rates and sizes are cut, never rounded up: `463.37` is `463.3`, so a printed rate was really
//! reached. The console glues the unit to the number; `{:#}` puts a blank between, as WinBox
//! does. All honour width and alignment.
//!
//! The rules are read off the source documents' screens. Where these leave room, we chose: the
//! next unit of bits begins at 2000 of the former (seen: between 1984 and 2300), that of bytes at
//! 5 · 1024 (seen: between 4.25 and 6.5 times 1024).

use std::fmt;

/// Groups of three digits, split by blanks: `15 577 081`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thousands(pub u64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::with_capacity(digits.len() * 4 / 3);
        for (at, digit) in digits.char_indices() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push(' ');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

/// A rate in bits per second: `106.4Mbps`, `1984bps`, `0bps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits(pub u64);

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, 1000, 2, &["bps", "kbps", "Mbps", "Gbps", "Tbps"])
    }
}

/// A number of bytes: `4349.0KiB`, `6.5MiB`, `0B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, 1024, 5, &["B", "KiB", "MiB", "GiB", "TiB"])
    }
}

/// The largest of `units`, each `step` times the one before, of which there are at least
/// `enough`; the number with one decimal, cut, but for the smallest unit.
fn scaled(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    step: u64,
    enough: u64,
    units: &[&str],
) -> fmt::Result {
    let mut idx = 0;
    let mut unit = 1;
    while idx + 1 < units.len() && value / unit >= enough * step {
        unit *= step;
        idx += 1;
    }
    let blank = if f.alternate() { " " } else { "" };
    let (whole, name) = (value / unit, units[idx]);
    if idx == 0 {
        return f.pad(&format!("{whole}{blank}{name}"));
    }
    let tenth = value % unit * 10 / unit;
    f.pad(&format!("{whole}.{tenth}{blank}{name}"))
}

/// A latency in nanoseconds, three significant digits, cut, without trailing zeros: `11.7us`,
/// `316us`, `2.94ms`, `1.02s`, `0s`. Below a microsecond, where RouterOS shows nothing, `912ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency(pub u64);

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0 => return f.pad("0s"),
            1..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "us"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let whole = self.0 / unit;
        let decimals = match whole {
            0..10 => 2,
            10..100 => 1,
            _ => 0,
        };
        // Two decimals of the rest, of which the last is cut where only one may stay.
        let hundredths = self.0 % unit * 100 / unit;
        let fraction = format!("{hundredths:02}");
        let fraction = fraction[..decimals].trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        f.pad(&format!("{whole}{point}{fraction}{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: fmt::Display>(cases: &[(T, &str)]) {
        for (value, expected) in cases {
            assert_eq!(value.to_string(), *expected);
        }
    }

    #[test]
    fn thousands() {
        check(&[
            (Thousands(0), "0"),
            (Thousands(999), "999"),
            (Thousands(1_000), "1 000"),
            (Thousands(15_577_081), "15 577 081"),
            (Thousands(13_291_128), "13 291 128"),
            (Thousands(u64::MAX), "18 446 744 073 709 551 615"),
        ]);
        assert_eq!(format!("[{:>9}]", Thousands(2_633)), "[    2 633]");
    }

    #[test]
    fn rates_on_the_console() {
        check(&[
            (Bits(0), "0bps"),
            (Bits(1440), "1440bps"),
            (Bits(1999), "1999bps"),
            (Bits(2000), "2.0kbps"),
            (Bits(39_946 * 1450 * 8), "463.3Mbps"),
            (Bits(15_577_081 * 480), "7.4Gbps"),
            (Bits(125_000_000), "125.0Mbps"),
            (Bits(1_142_499_999), "1142.4Mbps"),
            (Bits(1_086_199_999), "1086.1Mbps"),
            (Bits(u64::MAX), "18446744.0Tbps"),
        ]);
    }

    #[test]
    fn rates_in_winbox() {
        for (rate, expected) in [
            (0, "0 bps"),
            (992, "992 bps"),
            (1_984, "1984 bps"),
            (2_300, "2.3 kbps"),
            (54_400, "54.4 kbps"),
            (1_546_499, "1546.4 kbps"),
            (6_799_999, "6.7 Mbps"),
        ] {
            assert_eq!(format!("{:#}", Bits(rate)), expected);
        }
    }

    /// The interface list of the 2014 document: packets a second of 60 bytes, and what it printed.
    #[test]
    fn rates_of_a_whole_screen() {
        for (pps, expected) in [
            (996_885, "478.5Mbps"),
            (970_618, "465.8Mbps"),
            (994_356, "477.2Mbps"),
            (1_000_701, "480.3Mbps"),
            (1_069_736, "513.4Mbps"),
            (1_025_024, "492.0Mbps"),
            (851_693, "408.8Mbps"),
            (948_640, "455.3Mbps"),
        ] {
            assert_eq!(Bits(pps * 60 * 8).to_string(), expected, "{pps} pps");
        }
    }

    #[test]
    fn sizes() {
        for (bytes, expected) in [
            (0, "0 B"),
            (5_119, "5119 B"),
            (5_120, "5.0 KiB"),
            (4_349 << 10, "4349.0 KiB"),
            (13 << 19, "6.5 MiB"),
            ((3_662 << 20) + (3 << 20) / 10 + 1, "3662.3 MiB"),
            ((7 << 30) + (1 << 30) / 10 + 1, "7.1 GiB"),
        ] {
            assert_eq!(format!("{:#}", Bytes(bytes)), expected);
        }
        check(&[(Bytes(7_600_000_000), "7.0GiB"), (Bytes(u64::MAX), "16777215.9TiB")]);
    }

    #[test]
    fn latencies() {
        check(&[
            (Latency(0), "0s"),
            (Latency(912), "912ns"),
            (Latency(11_799), "11.7us"),
            (Latency(15_500), "15.5us"),
            (Latency(31_000), "31us"),
            (Latency(20_090), "20us"),
            (Latency(316_999), "316us"),
            (Latency(963_000), "963us"),
            (Latency(2_949_999), "2.94ms"),
            (Latency(2_009_999), "2ms"),
            (Latency(3_100_000), "3.1ms"),
            (Latency(1_020_000_000), "1.02s"),
            (Latency(123_456_000_000), "123s"),
        ]);
    }
}
