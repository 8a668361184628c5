//! Windows, losses, and the multipliers of the iperf3 method.

use std::time::Duration;

/// The window that keeps a path full: rate times round trip, in bytes.
pub fn window(rate: f64, rtt: Duration) -> f64 {
    rate * rtt.as_secs_f64() / 8.0
}

/// The rate that a window of so many bytes allows, bit/s of TCP payload; infinite without a round
/// trip.
pub fn rate_of_window(bytes: f64, rtt: Duration) -> f64 {
    bytes * 8.0 / rtt.as_secs_f64()
}

/// The rate that Reno's congestion avoidance reaches when a share `loss` of its segments is lost,
/// bit/s of payload (Mathis, Semke, Mahdavi, Ott 1997: MSS / RTT · √(3/2) / √loss, every segment
/// acknowledged). An estimate for one long connection; CUBIC and BBR reach more. Infinite without
/// loss.
pub fn mathis(segment: f64, rtt: Duration, loss: f64) -> f64 {
    segment * 8.0 / rtt.as_secs_f64() * 1.5f64.sqrt() / loss.sqrt()
}

/// What TCP payload a wire carries at best with packets of this MTU, 40 bytes of headers each
/// (RFC 6349 §3.3): 94.9 of 100 Mbit/s.
pub fn ideal(wire: f64, mtu: f64) -> f64 {
    wire * (mtu - 40.0) / (mtu + 38.0)
}

/// How iperf3 makes packets of one length, and what its payload rate is on other layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iperf3 {
    /// `-M`: the MSS to set; 0 for UDP, which has none.
    pub mss: u32,
    /// `-l`: payload of a packet.
    pub length: u32,
    /// From payload to IP packets.
    pub l3: f64,
    /// From payload to Ethernet frames without FCS, as source 002 counts layer 2.
    pub l2: f64,
    /// From payload to Ethernet frames with FCS.
    pub l2_fcs: f64,
    /// From payload to what a wire is busy with: with preamble and gap.
    pub l1: f64,
}

/// What stands between Ethernet and iperf3's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// UDP; else TCP.
    pub udp: bool,
    /// TCP's time stamps: 12 bytes with their padding, on by default on Linux.
    pub timestamps: bool,
    /// Options in the IPv4 header, padding counted: a multiple of 4.
    pub ip_options: u32,
}

impl Default for Headers {
    /// Source 002's: TCP with time stamps, IPv4 without options.
    fn default() -> Headers {
        Headers { udp: false, timestamps: true, ip_options: 0 }
    }
}

/// The segments that Linux makes for who asks (`TCP_MAXSEG`), and iperf3 asks for (`-M`: at most 9
/// KiB).
pub const MSS: std::ops::RangeInclusive<u32> = 88..=9216;

impl Headers {
    /// Bytes from the IP header to the payload.
    pub fn bytes(self) -> u32 {
        let transport = match (self.udp, self.timestamps) {
            (true, _) => 8,
            (false, true) => 32,
            (false, false) => 20,
        };
        20 + self.ip_options + transport
    }
}

/// For IP packets of this length with source 002's headers; `None` if that leaves no payload.
pub fn iperf3(packet: u32) -> Option<Iperf3> {
    iperf3_with(packet, Headers::default())
}

/// For IP packets of this length; `None` if that leaves no payload, or there is no such packet.
pub fn iperf3_with(packet: u32, headers: Headers) -> Option<Iperf3> {
    if headers.ip_options > 40 || !headers.ip_options.is_multiple_of(4) || packet > 65_535 {
        return None;
    }
    let length = packet.checked_sub(headers.bytes()).filter(|length| *length > 0)?;
    let by = |bytes: u32| f64::from(bytes) / f64::from(length);
    // The shortest frames are filled up.
    let frame = packet.max(46) + 14;
    Some(Iperf3 {
        // The MSS counts options as payload (RFC 6691 §2).
        mss: if headers.udp { 0 } else { packet - 40 },
        length,
        l3: by(packet),
        l2: by(frame),
        l2_fcs: by(frame + 4),
        l1: by(frame + 24),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_000s_windows() {
        // Window scaled, in bytes; round trip in ms; Mbit/s as printed, cut or rounded.
        for (bytes, ms, mbps) in [(4_225_024.0, 60, 563.336), (18_944.0, 6, 25.259)] {
            let rate = rate_of_window(bytes, Duration::from_millis(ms)) / 1e6;
            assert!((rate - mbps).abs() < 0.001, "{rate}");
            assert!((window(rate * 1e6, Duration::from_millis(ms)) - bytes).abs() < 1e-6);
        }
    }

    #[test]
    fn rfc_6349s_ideals() {
        for (mbps, ideal_mbps) in [(100.0, 94.9), (1e3, 949.2), (1e4, 9492.8)] {
            let got = ideal(mbps, 1500.0);
            assert!((got - ideal_mbps).abs() < ideal_mbps * 1e-3, "{got}");
        }
    }

    #[test]
    fn loss() {
        // 1460 bytes, 100 ms, one in 10,000: 14.3 Mbit/s.
        let rate = mathis(1460.0, Duration::from_millis(100), 1e-4);
        assert!((rate - 14.305e6).abs() < 1e3, "{rate}");
        assert!(mathis(1460.0, Duration::from_millis(100), 0.0).is_infinite());
    }

    #[test]
    fn source_002s_multipliers() {
        for (packet, mss, length, l3, l2) in [
            (128, 88, 76, 1.6842, 1.8684),
            (256, 216, 204, 1.2549, 1.3235),
            (512, 472, 460, 1.1130, 1.1435),
            (1024, 984, 972, 1.0535, 1.0679),
            (1500, 1460, 1448, 1.0359, 1.0456),
            (9000, 8960, 8948, 1.0058, 1.0074),
        ] {
            let got = iperf3(packet).unwrap();
            assert_eq!((got.mss, got.length), (mss, length));
            assert!((got.l3 - l3).abs() < 0.000_05 && (got.l2 - l2).abs() < 0.000_05, "{got:?}");
        }
        assert_eq!(iperf3(52), None);
        assert_eq!(iperf3(u32::MAX), None);
    }

    #[test]
    fn other_headers() {
        let of = |udp, timestamps, ip_options| Headers { udp, timestamps, ip_options };
        for (packet, headers, expected) in [
            (64, of(true, false, 0), Some((0, 36))),
            (64, of(false, true, 0), Some((24, 12))), // which is why source 002 has no such row
            (128, of(false, false, 0), Some((88, 88))),
            (128, of(false, true, 8), Some((88, 68))),
            (128, of(false, true, 7), None),
            (128, of(false, true, 44), None),
            (28, of(true, false, 0), None),
            (29, of(true, false, 0), Some((0, 1))),
        ] {
            let got = iperf3_with(packet, headers);
            assert_eq!(got.map(|got| (got.mss, got.length)), expected, "{packet} {headers:?}");
        }
        let short = iperf3_with(29, of(true, false, 0)).unwrap();
        assert_eq!((short.l3, short.l2_fcs, short.l1), (29.0, 64.0, 84.0));
    }
}
