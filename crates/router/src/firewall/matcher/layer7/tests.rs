//! Patterns of l7-filter's kind against payloads, and what is kept of connections.

use super::*;
use wire::FiveTuple;

fn patterns(regexps: &[&str]) -> Arc<Patterns> {
    let names = (0..regexps.len()).map(|n| n.to_string()).collect();
    let automaton = Some(automaton(regexps, MAX_AUTOMATON.1).unwrap());
    Arc::new(Patterns { names, automaton, id: regexps.len() as u64 })
}

fn key(n: u32) -> Key {
    (FiveTuple { src: n, ..FiveTuple::default() }, 0)
}

#[test]
fn one_automaton_tells_which_patterns_match() {
    let all = patterns(&[
        r"^(\x13bittorrent protocol|azver\x01$|get /scrape\?info_hash=)",
        r"http/(0\.9|1\.0|1\.1) [1-5][0-9][0-9]",
        r"^ssh-[12]\.[0-9]",
        r"\xff\xfe.*end",
        r"^$",
    ]);
    let cases: [(&[u8], &[u32]); 7] = [
        (b"\x13BitTorrent protocol", &[0]),
        (b"azver\x01", &[0]),
        (b"azver\x01more", &[]),
        (b"GET / HTTP/1.1\r\n\r\nHTTP/1.1 200 OK\r\n\xff\xfe\nend", &[1, 3]),
        (b"SSH-2.0-OpenSSH", &[2]),
        (b"no SSH-2.0", &[]),
        (b"", &[4]),
    ];
    for (payload, want) in cases {
        assert_eq!(all.matching(payload), want, "{:?}", String::from_utf8_lossy(payload));
    }
}

#[test]
fn what_needs_too_much_is_refused() {
    for good in ["a", "^get", r"[\x09-\x0d -~]*", ".*a.*b.*c", "(a|b){1,50}", &"x".repeat(2048)] {
        assert!(read(good).is_ok(), "{good}");
    }
    let long = "x".repeat(2049);
    for bad in ["", "(", "a{1000}{1000}", "((a{100}){100}){100}", r"(a)\1", "(?=a)", &long] {
        assert!(read(bad).is_err(), "{bad}");
    }
    // What would explode in a backtracking engine takes linear time here.
    let all = patterns(&["(a*)*b", "(a|aa)+$", "(x+x+)+y"]);
    let payload = [vec![b'a'; 1024], vec![b'x'; 1024]].concat();
    assert_eq!(all.matching(&payload), [0u32; 0]);
}

#[test]
fn a_connection_is_decided_after_ten_packets_or_two_kilobytes() {
    let patterns = patterns(&["hello", "x{100}"]);
    let [hello, many] = ["0", "1"].map(|name| patterns.find(name).unwrap());
    let mut payloads = Payloads::default();
    let mut see = |pattern, n, payload: &[u8], seen| {
        payloads.matches(pattern, &Part { connection: key(n), payload, seen }, |_| true)
    };
    // Split over packets, with zero bytes between.
    assert_eq!(see(&hello, 1, b"h\0e\0l", false), (false, false));
    assert_eq!(see(&hello, 1, b"l\0o", false), (true, false));
    assert_eq!(see(&many, 1, b"l\0o", true), (false, false), "the same packet adds nothing");
    for _ in 0..7 {
        assert_eq!(see(&hello, 1, b"..", false), (true, false));
    }
    assert_eq!(see(&hello, 1, b"", false), (true, false), "no payload, no packet");
    assert_eq!(see(&hello, 1, b"..", false), (true, true), "the tenth");
    assert_eq!(see(&hello, 1, b"..", false), (true, true));
    assert_eq!(see(&many, 1, &[b'x'; 100], false), (false, true), "too late");
    assert_eq!(see(&many, 2, &[b'.'; 2000], false), (false, false));
    assert_eq!(see(&many, 2, &[b'x'; 100], false), (false, true), "48 bytes fit");
    assert_eq!(see(&many, 3, &[b'x'; 100], false), (true, false));
}

#[test]
fn a_flood_of_connections_takes_bounded_memory() {
    let patterns = patterns(&["hello"]);
    let hello = patterns.find("0").unwrap();
    let mut payloads = Payloads::default();
    for n in 0..50_000 {
        let part = Part { connection: key(n), payload: b"hello", seen: false };
        // The newest twenty thousand are still there.
        let (matches, _) = payloads.matches(&hello, &part, |(tuple, _)| tuple.src + 20_000 > n);
        assert!(matches == (n < 8192 || payloads.by_connection.contains_key(&key(n))), "{n}");
        assert!(payloads.undecided <= MAX_UNDECIDED, "{n}: {}", payloads.undecided);
    }
}
