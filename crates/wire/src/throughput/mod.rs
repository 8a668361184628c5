//! The arithmetic of throughput (sources 000 and 002): what fits a wire, a window, a bucket, the
//! air.
//!
//! ```text
//!  preamble 8 │ Ethernet 14 │ tags │ tunnel │ IP packet │ FCS 4 │ gap 12
//!  └───────────────────────────── layer 1 ─────────────────────────────┘
//!             └───────────────── layer 2 ───────────────┘
//!                                           └─ layer 3 ─┘
//! ```
//!
//! Pure functions over bits per second, bytes and times. Never rounds.

// Headers between Ethernet and the packet that matters.
pub mod encapsulation;

// Windows, losses, and the multipliers of the iperf3 method.
pub mod tcp;

// Token buckets and the windows one looks at them through.
pub mod bucket;

// 802.11n, ac and ad: data rates from modulation, coding, width, streams and guard interval.
pub mod wireless;

pub use bucket::TokenBucket;
pub use encapsulation::Encapsulation;

/// What the ports of a device carry together, in bit/s on layer 1 and one direction: `8x10G+1x1G`,
/// `1G`. Vendors print twice that, both directions together, as capacity.
pub fn ports(text: &str) -> Option<f64> {
    let one = |text: &str| -> Option<f64> {
        let (count, rate) = text.split_once(['x', '*']).unwrap_or(("1", text));
        let unit = match rate.chars().last()? {
            'M' => 1e6,
            'G' => 1e9,
            _ => return None,
        };
        let (count, rate): (u32, f64) = (count.parse().ok()?, rate[..rate.len() - 1].parse().ok()?);
        (rate > 0.0).then_some(f64::from(count) * rate * unit)
    };
    text.split('+').map(one).sum::<Option<f64>>().filter(|rate| *rate > 0.0 && rate.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities() {
        for (text, gbps) in [
            ("8x10G+1x1G", Some(81.0)),
            ("8*10G+1*1G", Some(81.0)),
            ("1.3G+0.3G+2x1G", Some(3.6)), // source 000 prints 4.6
            ("100M", Some(0.1)),
            ("", None),
            ("G", None),
            ("-1G", None),
            ("10", None),
            ("1G+", None),
            ("0xG", None),
            ("1€", None),
        ] {
            let rate = ports(text);
            let same = rate.zip(gbps).map_or(rate.is_none() && gbps.is_none(), |(rate, gbps)| {
                (rate / 1e9 - gbps).abs() < 1e-9
            });
            assert!(same, "{text}: {rate:?}");
        }
    }
}
