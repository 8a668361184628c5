//! Values with a syntax of the firewall's own. Each has a reader for the property's
//! [`Type::Custom`], which keeps the text, and a type that says what it means.
//!
//! ```text
//! limit=10/1m,5:packet   tcp-flags=syn,!ack   icmp-options=3:0-4   ttl=less-than:5   nth=4,1
//! ```

use config::{AnyName, Type, Value};
use std::time::Duration;
use wire::TcpFlags;

/// The protocols that have names (RouterOS's words, IANA's numbers).
pub const PROTOCOLS: &[(&str, u8)] = &[
    ("icmp", 1),
    ("igmp", 2),
    ("ggp", 3),
    ("ip-encap", 4),
    ("st", 5),
    ("tcp", 6),
    ("egp", 8),
    ("pup", 12),
    ("udp", 17),
    ("hmp", 20),
    ("xns-idp", 22),
    ("rdp", 27),
    ("iso-tp4", 29),
    ("dccp", 33),
    ("xtp", 36),
    ("ddp", 37),
    ("idpr-cmtp", 38),
    ("ipv6", 41),
    ("ipv6-route", 43),
    ("ipv6-frag", 44),
    ("rsvp", 46),
    ("gre", 47),
    ("ipsec-esp", 50),
    ("ipsec-ah", 51),
    ("icmpv6", 58),
    ("ipv6-nonxt", 59),
    ("ipv6-opts", 60),
    ("rspf", 73),
    ("vmtp", 81),
    ("ospf", 89),
    ("ipip", 94),
    ("etherip", 97),
    ("encap", 98),
    ("pim", 103),
    ("vrrp", 112),
    ("l2tp", 115),
    ("sctp", 132),
    ("udp-lite", 136),
];

/// The protocol of this name or number.
pub fn protocol_number(text: &str) -> Option<u8> {
    // Version 7's words, and IANA's.
    let text = match text {
        "ipv6-encap" => "ipv6",
        "ipencap" => "ip-encap",
        text => text,
    };
    let named = PROTOCOLS.iter().find(|&&(name, _)| name == text).map(|&(_, number)| number);
    named.or_else(|| number(text))
}

/// The protocol's name, or its number.
pub fn protocol_name(number: u8) -> String {
    let named = PROTOCOLS.iter().find(|&&(_, n)| n == number);
    named.map_or_else(|| number.to_string(), |&(name, _)| name.to_string())
}

/// Reads `tcp`, or `6`, which means the same and is printed as the name.
pub fn read_protocol(text: &str) -> Result<Value, String> {
    let number = protocol_number(text).ok_or("a protocol's name (tcp, udp, icmp, …) or 0..255")?;
    Ok(Value::Text(protocol_name(number)))
}

/// `icmp-options`: a type and a range of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpOptions {
    /// The ICMP type.
    pub kind: u8,
    /// Least and greatest code.
    pub codes: (u8, u8),
}

impl IcmpOptions {
    /// Reads `type`, `type:code` or `type:code-code`.
    pub fn parse(text: &str) -> Option<IcmpOptions> {
        let (kind, codes) = text.split_once(':').unwrap_or((text, "0-255"));
        let (low, high) = codes.split_once('-').unwrap_or((codes, codes));
        Some(IcmpOptions { kind: number(kind)?, codes: (number(low)?, number(high)?) })
    }
}

/// Reads `icmp-options`.
pub fn read_icmp_options(text: &str) -> Result<Value, String> {
    keep(text, IcmpOptions::parse(text).is_some(), "type:code or type:code-code, as in 3:0-4")
}

/// `tcp-flags`: which flags are looked at, and how they must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagTest {
    /// Flags that must be set.
    pub set: u8,
    /// Flags that must not be set.
    pub unset: u8,
}

impl FlagTest {
    /// Reads `syn,!ack`.
    pub fn parse(text: &str) -> Option<FlagTest> {
        let mut flags = FlagTest { set: 0, unset: 0 };
        for word in text.split(',') {
            let (side, word) = match word.strip_prefix('!') {
                Some(word) => (&mut flags.unset, word),
                None => (&mut flags.set, word),
            };
            *side |= TcpFlags::NAMES.iter().find(|&&(name, _)| name == word)?.1.0;
        }
        Some(flags)
    }
}

/// Reads `tcp-flags`.
pub fn read_tcp_flags(text: &str) -> Result<Value, String> {
    let expected = "some of fin,syn,rst,psh,ack,urg,ece,cwr, each with or without !";
    keep(text, FlagTest::parse(text).is_some(), expected)
}

/// `ttl`: a comparison, as the range of TTLs that satisfy it (or, negated, do not).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl {
    /// Least and greatest TTL; the first greater than the second when none satisfies it.
    pub range: (u8, u8),
    /// `not-equal`: outside of the range.
    pub not: bool,
}

impl Ttl {
    /// Reads `equal:64`, `not-equal:64`, `less-than:5`, `greater-than:5`.
    pub fn parse(text: &str) -> Option<Ttl> {
        let (word, ttl) = text.split_once(':')?;
        let n: u8 = number(ttl)?;
        let (range, not) = match word {
            "equal" => ((n, n), false),
            "not-equal" => ((n, n), true),
            "less-than" => (n.checked_sub(1).map_or((1, 0), |below| (0, below)), false),
            "greater-than" => (n.checked_add(1).map_or((1, 0), |above| (above, u8::MAX)), false),
            _ => return None,
        };
        Some(Ttl { range, not })
    }
}

/// Reads `ttl`.
pub fn read_ttl(text: &str) -> Result<Value, String> {
    let expected = "equal:N, not-equal:N, less-than:N or greater-than:N, N in 0..255";
    keep(text, Ttl::parse(text).is_some(), expected)
}

/// `nth`: of each `every` packets, the one with number `packet`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nth {
    /// The length of the round.
    pub every: u32,
    /// The packet that matches.
    pub packet: u32,
}

impl Nth {
    /// Reads `every,packet`.
    pub fn parse(text: &str) -> Option<Nth> {
        let (every, packet) = text.split_once(',')?;
        let nth = Nth { every: number(every)?, packet: number(packet)? };
        (nth.every > 0).then_some(nth)
    }
}

/// Reads `nth`.
pub fn read_nth(text: &str) -> Result<Value, String> {
    keep(text, Nth::parse(text).is_some(), "every,packet, as in 4,1")
}

/// `limit`: a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Packets or bits that are let through in each `per`.
    pub count: u64,
    /// The time in which `count` tokens come in.
    pub per: Duration,
    /// The bucket's depth, in packets or bits.
    pub burst: u64,
    /// Bits (of the IP packet) are counted, not packets.
    pub bits: bool,
}

impl Limit {
    /// Reads `count[/time],burst[:packet|bit]`; without a time, per second. Counts may end in
    /// `k`, `M` or `G` (1000).
    pub fn parse(text: &str) -> Option<Limit> {
        let (rate, burst) = text.split_once(',')?;
        let (count, per) = match rate.split_once('/') {
            Some((count, per)) => (count, time(per)?),
            None => (rate, Duration::from_secs(1)),
        };
        let (burst, bits) = match burst.split_once(':') {
            Some((burst, "bit")) => (burst, true),
            Some((burst, "packet")) => (burst, false),
            Some(_) => return None,
            None => (burst, false),
        };
        let limit = Limit { count: multiple(count)?, per, burst: multiple(burst)?, bits };
        (!limit.per.is_zero() && limit.per <= Duration::from_secs(7 * 86400)).then_some(limit)
    }
}

/// Reads `limit`.
pub fn read_limit(text: &str) -> Result<Value, String> {
    let expected = "count[/time],burst[:packet|bit], as in 10/1m,5:packet";
    keep(text, Limit::parse(text).is_some(), expected)
}

pub(crate) fn keep(text: &str, is_good: bool, expected: &str) -> Result<Value, String> {
    if is_good { Ok(Value::Text(text.to_string())) } else { Err(expected.to_string()) }
}

/// A plain decimal number: no sign, as `str::parse` would allow.
pub(crate) fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

pub(crate) fn multiple(text: &str) -> Option<u64> {
    let (text, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    number::<u64>(text)?.checked_mul(factor)
}

pub(crate) fn time(text: &str) -> Option<Duration> {
    match Type::Time.parse(text, &AnyName) {
        Ok(Value::Time(time)) => Some(time),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_by_name_and_number() {
        for (typed, printed) in [("tcp", "tcp"), ("6", "tcp"), ("253", "253"), ("ospf", "ospf")] {
            assert_eq!(read_protocol(typed), Ok(Value::Text(printed.into())), "{typed}");
        }
        for bad in ["", "256", "tpc", "-1", "+6", "6 "] {
            assert!(read_protocol(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn icmp_options() {
        let good = [("8:0", (8, (0, 0))), ("3:0-4", (3, (0, 4))), ("11", (11, (0, 255)))];
        for (text, (kind, codes)) in good {
            assert_eq!(IcmpOptions::parse(text), Some(IcmpOptions { kind, codes }), "{text}");
        }
        for bad in ["", ":", "8:", ":0", "256:0", "8:0-", "8:0-256", "8:0:0"] {
            assert!(read_icmp_options(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tcp_flags() {
        let good = [("syn", (2, 0)), ("syn,!ack", (2, 16)), ("!fin,!syn,!rst,!ack", (0, 0x17))];
        for (text, (set, unset)) in good {
            assert_eq!(FlagTest::parse(text), Some(FlagTest { set, unset }), "{text}");
        }
        for bad in ["", "syn,", "sin", "!!syn", "SYN"] {
            assert!(read_tcp_flags(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ttl() {
        let good = [
            ("equal:64", ((64, 64), false)),
            ("not-equal:64", ((64, 64), true)),
            ("less-than:5", ((0, 4), false)),
            ("less-than:0", ((1, 0), false)),
            ("greater-than:5", ((6, 255), false)),
            ("greater-than:255", ((1, 0), false)),
        ];
        for (text, (range, not)) in good {
            assert_eq!(Ttl::parse(text), Some(Ttl { range, not }), "{text}");
        }
        for bad in ["64", "equal", "equal:", "equal:256", "about:5", "less-than:-1"] {
            assert!(read_ttl(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn nth() {
        assert_eq!(Nth::parse("4,1"), Some(Nth { every: 4, packet: 1 }));
        for bad in ["4", "0,1", "4,1,1", "a,1", ","] {
            assert!(read_nth(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn limits() {
        let limit = |count, secs, burst, bits| {
            Some(Limit { count, per: Duration::from_secs(secs), burst, bits })
        };
        let good = [
            ("10,5", limit(10, 1, 5, false)),
            ("10,5:packet", limit(10, 1, 5, false)),
            ("10/1m,5:packet", limit(10, 60, 5, false)),
            ("1/1h30m,2", limit(1, 5400, 2, false)),
            ("3/10,2", limit(3, 10, 2, false)),
            ("10M,64k:bit", limit(10_000_000, 1, 64_000, true)),
        ];
        for (text, want) in good {
            assert_eq!(Limit::parse(text), want, "{text}");
        }
        for bad in ["", "10", "10/,5", "10/0s,5", "10/8d,5", "10,5:byte", "k,5", "1/1x,2", "1/é,2"]
        {
            assert!(read_limit(bad).is_err(), "{bad}");
        }
    }
}
