//! Counts, rates, sizes and latencies as RouterOS shows them (`routeros/A-script.md`, A.4).
//!
//! ```text
//! count    15577081      ─► 15 577 081          groups of three
//! rate     463373600     ─► 463.3Mbps           one decimal, cut off, never rounded
//! size     4453376       ─► 4349.0KiB           units of 1024
//! latency  11740         ─► 11.7us              three digits
//! ```
//!
//! For the eye only: values that programs get are exact.

/// `15 577 081`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `-15 577 081`.
pub fn signed_count(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

/// `106.4Mbps` of bits per second. The next unit begins at 2,000 of the one before it, which fits
/// every sample there is.
pub fn rate(bits_per_second: u64) -> String {
    scaled(bits_per_second, 1000, 2000, &["bps", "kbps", "Mbps", "Gbps", "Tbps"])
}

/// `4349.0KiB` of bytes. The next unit begins at 5,120 of the one before it, which fits every
/// sample there is.
pub fn size(bytes: u64) -> String {
    scaled(bytes, 1024, 5120, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// `11.7us`, `316us`, `2.94ms`, `1.02s` of nanoseconds: three digits, cut off; `0s` if there is
/// nothing, and less than a microsecond in nanoseconds (RouterOS has no such latencies).
pub fn latency(ns: u64) -> String {
    if ns == 0 {
        return "0s".to_string();
    }
    let (unit, one) = match ns {
        0..1_000 => return format!("{ns}ns"),
        1_000..1_000_000 => ("us", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    let (whole, hundredths) = (ns / one, ns % one * 100 / one);
    let digits = match whole {
        0..10 => format!("{whole}.{hundredths:02}"),
        10..100 => format!("{whole}.{}", hundredths / 10),
        _ => return format!("{whole}{unit}"),
    };
    format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// One decimal, cut off; none of the smallest unit.
fn scaled(number: u64, step: u64, next: u64, units: &[&str]) -> String {
    let (mut one, mut at) = (1u64, 0);
    while at + 1 < units.len() && number / one >= next {
        (one, at) = (one * step, at + 1);
    }
    let tenths = u128::from(number) * 10 / u128::from(one);
    match at {
        0 => format!("{number}{}", units[0]),
        _ => format!("{}.{}{}", tenths / 10, tenths % 10, units[at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_documents_print_them() {
        let check = |shown: String, expected: &str| assert_eq!(shown, expected);
        for (number, expected) in
            [(0, "0"), (999, "999"), (1000, "1 000"), (15_577_081, "15 577 081")]
        {
            check(count(number), expected);
        }
        check(signed_count(-13_291_128), "-13 291 128");
        for (bits, expected) in [
            (0, "0bps"),
            (992, "992bps"),
            (1984, "1984bps"),
            (2300, "2.3kbps"),
            (1_546_400, "1546.4kbps"),
            (39_946 * 1450 * 8, "463.3Mbps"),
            (1_142_400_000, "1142.4Mbps"),
            (15_577_081 * 480, "7.4Gbps"),
            (u64::MAX, "18446744.0Tbps"),
        ] {
            check(rate(bits), expected);
        }
        for (bytes, expected) in [
            (0, "0B"),
            (4_453_376, "4349.0KiB"),
            (6_815_744, "6.5MiB"),
            (3_840_200_000, "3662.3MiB"),
            (7_623_566_950, "7.0GiB"),
        ] {
            check(size(bytes), expected);
        }
        for (ns, expected) in [
            (0, "0s"),
            (40, "40ns"),
            (11_740, "11.7us"),
            (316_999, "316us"),
            (2_940_000, "2.94ms"),
            (963_000, "963us"),
            (1_020_000_000, "1.02s"),
            (10_000, "10us"),
        ] {
            check(latency(ns), expected);
        }
    }
}
