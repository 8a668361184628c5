//! Counts, rates, sizes and latencies in cells: [`wire::text`] as functions.
//!
//! For the eye only: values that programs get are exact.

use wire::text::{Bits, Bytes, Latency, Thousands};

/// `15 577 081`.
pub fn count(number: u64) -> String {
    Thousands(number).to_string()
}

/// `-15 577 081`.
pub fn signed_count(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", Thousands(number.unsigned_abs()))
}

/// `106.4Mbps` of bits per second, cut off.
pub fn rate(bits_per_second: u64) -> String {
    Bits(bits_per_second).to_string()
}

/// `4349.0KiB` of bytes, cut off.
pub fn size(bytes: u64) -> String {
    Bytes(bytes).to_string()
}

/// `11.7us` of nanoseconds, three digits, cut off.
pub fn latency(ns: u64) -> String {
    Latency(ns).to_string()
}
