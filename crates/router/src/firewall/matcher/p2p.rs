//! `p2p`: programs of peer-to-peer networks, by what their connections begin with.
//!
//! ```text
//! p2p=gnutella ─► a pattern of ours ─► as layer7-protocol: first 2 KB or 10 packets of a connection
//! ```
//!
//! RouterOS has had it until 6.38. What is encrypted is not recognised, as there.
//!
//! **Missing**: `blubster`, of which nobody says how it begins.

use super::layer7::{Pattern, Patterns};
use config::Type;
use std::sync::{Arc, LazyLock};

/// `p2p` as typed.
pub(crate) const NAMES: Type = Type::Only(&ALL, BUILT, "nobody says how it is to be recognised");
const ALL: Type = Type::Enum(&[
    "all-p2p",
    "bit-torrent",
    "blubster",
    "direct-connect",
    "edonkey",
    "fasttrack",
    "gnutella",
    "soulseek",
    "warez",
    "winmx",
]);
const BUILT: &[&str] = &[
    "all-p2p",
    "bit-torrent",
    "direct-connect",
    "edonkey",
    "fasttrack",
    "gnutella",
    "soulseek",
    "warez",
    "winmx",
];

/// The programs, and how their connections begin; zero bytes are left out before.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "bit-torrent",
        r"^(\x13bittorrent protocol|azver\x01$|d1:[are]d2:id20:|get /(announce|scrape)\?.*info_hash=)",
    ),
    ("direct-connect", r"^\$(mynick |lock |key )"),
    // e3, c5 or d4, a length, and a greeting or a search.
    ("edonkey", r"^[\xc5\xd4\xe3].{1,4}(\x01\x10.{16}|\x4c.{16}|\x16\x01)"),
    ("fasttrack", r"^(give [0-9]{8}|get /(\.hash=|\.supernode|\.files|\.status)|.*x-kazaa-)"),
    ("gnutella", r"^(gnutella connect/|gnd[\x01-\x7f]|get /(get/[0-9]+/|uri-res/n2r\?urn:sha1:))"),
    // The length of a login, its code, and the length of a name.
    ("soulseek", r"^(.{1,2}\x01.[ -~]+.[0-9a-f]{32}|.\x01.[ -~]+\x01[fp])"),
    ("warez", r"^\x03[\[\]z].{1,2}\x05$"),
    ("winmx", r#"^(1?(send|get)[!-~]+ "|(send|get)$)"#),
];

static PATTERNS: LazyLock<Arc<Patterns>> = LazyLock::new(|| {
    let programs = PROGRAMS.iter().map(|(name, begins)| (name.to_string(), begins.to_string()));
    let all: Vec<&str> = PROGRAMS.iter().map(|(_, begins)| *begins).collect();
    let any = ("all-p2p".to_string(), all.join("|"));
    Patterns::of(programs.chain([any]).collect()).into()
});

/// The pattern of a program, or of all.
pub(crate) fn find(name: &str) -> Option<Pattern> {
    PATTERNS.find(name)
}

/// The program that these payloads of a connection, without zero bytes, are of.
pub(crate) fn program(payload: &[u8]) -> Option<&'static str> {
    let first = PATTERNS.matching(payload).into_iter().next()?;
    PROGRAMS.get(first as usize).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_their_first_words() {
        let cases: &[(&[u8], &str)] = &[
            (b"\x13BitTorrent protocol\x10\x05", "bit-torrent"),
            (b"d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe", "bit-torrent"),
            (b"GET /announce?info_hash=%124Vx HTTP/1.0\r\n", "bit-torrent"),
            (b"$MyNick somebody|$Lock EXTENDEDPROTOCOL", "direct-connect"),
            (b"\xe3\x4f\x01\x10abcdefghijklmnop\x04\x36", "edonkey"),
            (b"GIVE 12345678", "fasttrack"),
            (b"GNUTELLA CONNECT/0.6\r\nUser-Agent: x", "gnutella"),
            (b"GET /uri-res/N2R?urn:sha1:ABC HTTP/1.1\r\n", "gnutella"),
            (b"\x48\x01\x08somebody\x20d51c9a7e9353746a6020f9602d452929", "soulseek"),
            (b"\x03Z\x04\x05", "warez"),
            (b"SEND", "winmx"),
            (b"GET / HTTP/1.1\r\nHost: example.com\r\n", ""),
            (b"\x16\x03\x01\x02\x01\x01\xfc\x03\x03 TLS", ""),
            (b"220 mail.example.com ESMTP\r\n", ""),
            (b"SSH-2.0-OpenSSH_9.6\r\n", ""),
            (b"", ""),
        ];
        for (payload, expected) in cases {
            let found = PATTERNS.matching(payload);
            let is = |name: &str| find(name).is_some_and(|pattern| pattern.is_one_of(&found));
            let mut names: Vec<_> =
                PROGRAMS.iter().map(|(name, _)| *name).filter(|name| is(name)).collect();
            assert_eq!(is("all-p2p"), !names.is_empty(), "{payload:?}");
            assert_eq!(names.pop().unwrap_or_default(), *expected, "{payload:?}");
            assert_eq!(program(payload).unwrap_or_default(), *expected, "{payload:?}");
            assert!(names.is_empty(), "{payload:?}: {names:?}");
        }
    }
}
