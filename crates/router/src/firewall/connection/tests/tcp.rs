//! The TCP machine: conversations as data, and the fast path's share of it against the whole.

use super::*;
use crate::packet::ConnectionState::{Established, Invalid, New as NewState};
use proptest::prelude::*;
use wire::TcpFlags;
use wire::craft::{Body, Frame};
use wire::tcp::TcpHeader;

/// A segment of a conversation: `> SA seq ack len`, the client's `>` or the server's `<`.
#[derive(Clone, Copy, Debug)]
struct Seg<'a> {
    there: bool,
    flags: u8,
    seq: u32,
    ack: u32,
    len: usize,
    window: u16,
    options: &'a [u8],
}

const WINDOW: u16 = 10_000;

fn frame(seg: Seg<'_>) -> Vec<u8> {
    let header = TcpHeader {
        src_port: if seg.there { 40_000 } else { 80 },
        dst_port: if seg.there { 80 } else { 40_000 },
        seq: seg.seq,
        ack: seg.ack,
        flags: TcpFlags(seg.flags),
        window: seg.window,
        ..TcpHeader::default()
    };
    let (src, dst) = if seg.there { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let body = Body::Tcp { header, options: seg.options };
    Frame { src, dst, body, payload: &[0x41; 20_000][..seg.len], ..Frame::default() }.build()
}

/// Reads `> PA 101 501 20`; anything behind that is `w` and a window.
fn seg(text: &str) -> Seg<'static> {
    let mut words = text.split_whitespace();
    let there = words.next() == Some(">");
    let letter = |c| match c {
        'S' => 2,
        'A' => 16,
        'F' => 1,
        'R' => 4,
        'P' => 8,
        'U' => 32,
        '-' => 0,
        other => panic!("{other}"),
    };
    let flags = words.next().unwrap().chars().map(letter).sum();
    let mut numbers = words.map(|w| w.trim_start_matches('w').parse::<u32>().unwrap());
    let mut number = |default| numbers.next().unwrap_or(default);
    let (seq, ack, len) = (number(0), number(0), number(0) as usize);
    Seg { there, flags, seq, ack, len, window: number(WINDOW.into()) as u16, options: &[] }
}

const I: ConnectionState = Invalid;
const E: ConnectionState = Established;
const N: ConnectionState = NewState;

/// Each step: a segment, what `connection-state` is for it, and the `tcp-state` afterwards
/// (`""`: no connection).
fn check(name: &str, steps: &[(&str, ConnectionState, &str)]) -> Bench {
    let mut bench = Bench::new(8);
    talk(&mut bench, name, steps);
    bench
}

fn talk(bench: &mut Bench, name: &str, steps: &[(&str, ConnectionState, &str)]) {
    for (n, &(text, state, tcp_state)) in steps.iter().enumerate() {
        let got = bench.pass(&frame(seg(text))).0;
        let entry = bench.connections.list(bench.now).next();
        let after = entry.as_ref().and_then(|e| e.tcp_state).map_or("", TcpState::name);
        assert_eq!((got, after), (state, tcp_state), "{name}, step {n}: {text}\n{entry:#?}");
    }
}

/// SYN 100, SYN,ACK 500: next are 101 and 501.
const HANDSHAKE: [(&str, ConnectionState, &str); 3] = [
    ("> S 100", N, "syn-sent"),
    ("< SA 500 101", E, "syn-received"),
    ("> A 101 501", E, "established"),
];

fn established() -> Bench {
    check("handshake", &HANDSHAKE)
}

fn flags(bench: &Bench) -> String {
    bench.connections.list(bench.now).next().map_or(String::new(), |e| e.flags.to_string())
}

fn timeout(bench: &Bench) -> u64 {
    bench.connections.list(bench.now).next().map_or(0, |e| e.timeout.as_secs())
}

#[test]
fn a_whole_life() {
    let mut bench = established();
    assert_eq!((flags(&bench).as_str(), timeout(&bench)), ("SAC", 86_400));
    let end = [
        ("> PA 101 501 20", E, "established"),
        ("< A 501 121", E, "established"),
        ("< PA 501 121 1000", E, "established"),
        ("> A 121 1501", E, "established"),
        ("> FA 121 1501", E, "fin-wait"),
        ("< A 1501 122", E, "close-wait"),
        ("< FA 1501 122", E, "last-ack"),
        ("> A 122 1502", E, "time-wait"),
    ];
    talk(&mut bench, "close", &end);
    assert_eq!(timeout(&bench), 10);
    bench.wait(10_256);
    assert!(bench.connections.is_empty(), "the shorter timeout is seen to at once");
}

#[test]
fn what_cannot_begin() {
    let cases = ["> SA 1 1", "> F 1", "> FA 1 1", "> R 1", "> RA 1 1", "> -", "> SF 1", "> SR 1"];
    for case in cases.into_iter().chain(["> FPU 1", "> SFRPAU 1 1", "> P 1", "> U 1"]) {
        check("nothing to begin with", &[(case, I, "")]);
    }
}

#[test]
fn impossible_flags_leave_the_entry_alone() {
    for case in ["> SF 101", "> - 101", "> FPU 101 501", "< SR 501 101", "< SFA 501 101", "> P 101"]
    {
        let mut bench = established();
        let before = bench.connections.list(bench.now).next();
        talk(&mut bench, "impossible", &[(case, I, "established")]);
        assert_eq!(bench.connections.list(bench.now).next(), before, "{case}");
    }
}

#[test]
fn half_open() {
    let bench = check(
        "no answer",
        &[("> S 100", N, "syn-sent"), ("> S 100", N, "syn-sent"), ("> A 101 501", I, "syn-sent")],
    );
    assert_eq!((flags(&bench).as_str(), timeout(&bench)), ("C", 5));
    let mut bench = check(
        "refused",
        &[("> S 100", N, "syn-sent"), ("< RA 0 101", E, "close"), ("> S 300", N, "syn-sent")],
    );
    assert_eq!(bench.connections.counts.created, 2, "the next SYN is another connection");
    bench.wait(5_256);
    assert!(bench.connections.is_empty());
    check(
        "an ACK of an older connection is the client's to reset",
        &[("> S 100", N, "syn-sent"), ("< A 7777 9999", E, "syn-sent"), ("> R 9999", E, "close")],
    );
    check(
        "SYN,ACK again",
        &[HANDSHAKE[0], HANDSHAKE[1], ("< SA 500 101", E, "syn-received"), HANDSHAKE[2]],
    );
    check("SYN,ACK of a wrong number", &[HANDSHAKE[0], ("< SA 500 999", I, "syn-sent")]);
    check(
        "simultaneous open",
        &[
            ("> S 100", N, "syn-sent"),
            ("< S 500", E, "syn-sent"),
            ("> SA 100 501", E, "syn-received"),
            ("< SA 500 101", E, "syn-received"),
            ("> A 101 501", E, "established"),
        ],
    );
}

#[test]
fn windows() {
    // After the handshake each side may send 10,000 bytes.
    let cases: &[(&str, ConnectionState, &str)] = &[
        ("> PA 101 501 1000", E, "established"),
        ("> PA 10101 501 10", E, "established"), // its left edge is the window's right edge
        ("> PA 10102 501 10", I, "established"), // beyond the window
        ("< PA 20000 101 10", I, "established"),
        ("> A 101 502", I, "established"), // acknowledges what was never sent
        ("< A 501 102", I, "established"),
        ("< A 501 101 1", E, "established"),
        ("> R 90000", I, "established"), // a reset out of the window
        ("< RA 60000 101", I, "established"),
        ("> R 101", E, "close"),
        ("< R 501", E, "close"),
        ("> FA 50000 501", I, "established"),
        ("> A 101 501", E, "established"),
        ("> A 100 501", E, "established"),        // a keepalive
        ("> A 4294900000 501", I, "established"), // far in the past
        ("> S 101", E, "established"),            // ignored: the server is to say
        ("< SA 501 101", E, "established"),
    ];
    for &case in cases {
        let mut bench = established();
        talk(&mut bench, "windows", &[case]);
    }
}

#[test]
fn sequence_numbers_wrap() {
    check(
        "wrap",
        &[
            ("> S 4294967290", N, "syn-sent"),
            ("< SA 4294967295 4294967291", E, "syn-received"),
            ("> A 4294967291 0", E, "established"),
            ("> PA 4294967291 0 20", E, "established"),
            ("< PA 0 15 5000", E, "established"),
            ("> A 15 5000", E, "established"),
            ("> PA 4000000000 5000 20", I, "established"),
        ],
    );
}

#[test]
fn windows_are_scaled_if_both_offer_it() {
    let scale = [3, 3, 7, 0]; // shift 7
    for (server_scales, state) in [(true, E), (false, I)] {
        let mut bench = Bench::new(8);
        let options: &[u8] = if server_scales { &scale } else { &[] };
        bench.pass(&frame(Seg { options: &scale, ..seg("> S 100") }));
        bench.pass(&frame(Seg { options, ..seg("< SA 500 101") }));
        bench.pass(&frame(seg("> A 101 501 0 w1000")));
        let far = bench.pass(&frame(seg("< PA 60501 101 1000"))).0;
        assert_eq!(far, state, "1000 << 7 is 128,000; server scales: {server_scales}");
    }
}

#[test]
fn selective_acknowledgements_count() {
    let permitted = [4, 2, 1, 1];
    // SACK of 501..1501 while 101 is acknowledged... by the client, of the server's data.
    let block = |left: u32, right: u32| {
        let mut option = vec![1, 1, 5, 10];
        option.extend(left.to_be_bytes());
        option.extend(right.to_be_bytes());
        option
    };
    let mut bench = Bench::new(8);
    bench.pass(&frame(Seg { options: &permitted, ..seg("> S 100") }));
    bench.pass(&frame(Seg { options: &permitted, ..seg("< SA 500 101") }));
    bench.pass(&frame(seg("> A 101 501")));
    bench.pass(&frame(seg("< PA 501 101 1000")));
    let good = block(1001, 1501);
    assert_eq!(bench.pass(&frame(Seg { options: &good, ..seg("> A 101 501") })).0, E);
    let bad = block(1001, 9999);
    let of_the_future = bench.pass(&frame(Seg { options: &bad, ..seg("> A 101 501") })).0;
    assert_eq!(of_the_future, I, "acknowledges what was never sent");
}

#[test]
fn picked_up_in_the_middle() {
    let mut bench = check(
        "loose",
        &[("> PA 70000 90000 10", N, "established"), ("> PA 70010 90000 10", N, "established")],
    );
    assert_eq!((flags(&bench).as_str(), timeout(&bench)), ("C", 300), "not worth a day yet");
    talk(&mut bench, "loose", &[("< A 90000 70020", E, "established")]);
    talk(&mut bench, "loose", &[("> PA 70020 90000 10", E, "established")]);
    assert_eq!(flags(&bench), "SAC");

    let mut strict = Bench::new(8);
    strict.connections.configure(Settings { loose_tcp: false, ..Settings::default() });
    talk(&mut strict, "not loose", &[("> PA 70000 90000 10", I, ""), HANDSHAKE[0]]);
}

#[test]
fn a_closed_connection_is_used_again() {
    let close = [
        ("> FA 101 501", E, "fin-wait"),
        ("< FA 501 102", E, "last-ack"),
        ("> A 102 502", E, "time-wait"),
    ];
    let mut bench = established();
    talk(&mut bench, "close", &close);
    talk(
        &mut bench,
        "the same way",
        &[("> S 900", N, "syn-sent"), ("< SA 7000 901", E, "syn-received")],
    );
    let mut bench = established();
    talk(&mut bench, "close", &close);
    talk(
        &mut bench,
        "the other way",
        &[("< S 900", N, "syn-sent"), ("> SA 70 901", E, "syn-received")],
    );
    assert_eq!(bench.connections.counts.created, 2);
}

#[test]
fn out_of_step_and_in_again() {
    // The client lost its connection without a word and opens another; the server agrees.
    let mut bench = established();
    talk(
        &mut bench,
        "resynchronised",
        &[
            ("> S 900000", E, "established"),
            ("< SA 700000 900001", E, "syn-received"),
            ("> A 900001 700001", E, "established"),
            ("> PA 900001 700001 100", E, "established"),
        ],
    );
    // A challenge ACK in LAST-ACK is not the ACK of the last FIN (RFC 5961).
    let mut bench = established();
    talk(
        &mut bench,
        "challenged",
        &[
            ("> FA 101 501", E, "fin-wait"),
            ("< FA 501 102", E, "last-ack"),
            ("> S 900", E, "last-ack"),
            ("< A 502 102", E, "last-ack"),
            ("> A 102 502", E, "time-wait"),
        ],
    );
}

#[test]
fn timeouts_of_an_established_connection() {
    let mut bench = established();
    talk(&mut bench, "data", &[("> PA 101 501 100", E, "established")]);
    assert_eq!(timeout(&bench), 300, "unacknowledged");
    talk(&mut bench, "acknowledged", &[("< A 501 201", E, "established")]);
    assert_eq!(timeout(&bench), 86_400);
    for n in 0..4 {
        assert_eq!(timeout(&bench), 86_400, "{n} retransmissions");
        talk(&mut bench, "again", &[("< A 501 201", E, "established")]);
        if n == 2 {
            break;
        }
    }
    assert_eq!(timeout(&bench), 300, "max-retrans after three");
    bench.wait(300_256);
    assert!(bench.connections.is_empty());
}

/// A segment near what two talking ends would send.
fn any_segment() -> impl Strategy<Value = Seg<'static>> {
    let flags = prop_oneof![8 => Just(16u8), 3 => Just(24), 1 => Just(2), 1 => Just(18),
        1 => Just(17), 1 => Just(4), 1 => Just(20), 1 => Just(0)];
    let number = prop_oneof![6 => 95u32..130, 2 => 0u32..20_000, 1 => any::<u32>()];
    let window = prop_oneof![4 => Just(WINDOW), 1 => any::<u16>(), 1 => Just(0)];
    (any::<bool>(), flags, number.clone(), number, 0usize..40, window, 0u8..4).prop_map(
        |(there, flags, seq, ack, len, window, options)| {
            let options: &[u8] = match options {
                0 => &[3, 3, 2, 0],
                1 => &[4, 2, 1, 1],
                2 => &[1, 1, 5, 10, 0, 0, 0, 100, 0, 0, 0, 120],
                _ => &[],
            };
            Seg { there, flags, seq, ack, len, window, options }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Whatever is sent: with the fast path in front, the same states, counts and timeouts.
    #[test]
    fn fast_is_slow(
        handshake: bool,
        segments in prop::collection::vec((any_segment(), 0u64..400), 0..60),
    ) {
        let [mut slow, mut fast] = [(); 2].map(|()| Bench::new(4));
        let opening = HANDSHAKE.map(|(text, ..)| (seg(text), 0));
        let opening = opening.into_iter().take(if handshake { 3 } else { 0 });
        for (segment, wait) in opening.chain(segments) {
            let bytes = frame(segment);
            let tuple = layers::parse(&bytes).unwrap().tuple;
            let expected = slow.pass(&bytes).0;
            let view = wire::Tcp::new(&bytes[34..54 + segment.options.len() + segment.len]).unwrap();
            let flow = fast.connections.flows().find(tuple.hash(), &tuple);
            let flow = flow.filter(|&flow| fast.connections.is_settled(flow));
            let now_ms = fast.now.as_millis_u32();
            let got = match flow {
                Some(flow) if fast.connections.tcp_fast(flow, &view, now_ms) => {
                    let len = (40 + segment.options.len() + segment.len) as u16;
                    fast.connections.flow_mut(flow).count(len, now_ms);
                    fast.connections.flow(flow).state()
                }
                _ => fast.pass(&bytes).0,
            };
            prop_assert_eq!(got, expected, "{:?}", segment);
            let [a, b] = [&slow, &fast].map(|b| b.connections.list(b.now).collect::<Vec<_>>());
            prop_assert_eq!(a, b, "{:?}", segment);
            slow.wait(wait * wait);
            fast.wait(wait * wait);
        }
    }
}

#[test]
fn the_fast_way_is_taken() {
    let mut bench = established();
    let bytes = frame(seg("> PA 101 501 100"));
    let layers = layers::parse(&bytes).unwrap();
    let flow = bench.connections.flows().find(layers.tuple.hash(), &layers.tuple).unwrap();
    assert!(bench.connections.is_settled(flow));
    let segment = |bytes: &'static [u8]| wire::Tcp::new(&bytes[34..]).unwrap();
    let take = |bench: &mut Bench, text| {
        bench.connections.tcp_fast(flow, &segment(frame(seg(text)).leak()), 0)
    };
    assert!(take(&mut bench, "> PA 101 501 100"));
    assert!(!take(&mut bench, "> PA 90000 501 100"), "out of window");
    for text in ["> S 201", "> FA 201 501", "> R 201", "> - 201", "> SA 201 501"] {
        assert!(!take(&mut bench, text), "{text}");
    }
}

#[test]
fn fasttrack_resynchronises() {
    let mut bench = established();
    let flow = bench.connections.get(ConnectionId(0)).unwrap().flow(Direction::Original);
    bench.connections.set_fasttrack(flow);
    // Megabytes pass unseen; then a packet that stays on the regular path, and the end.
    talk(
        &mut bench,
        "unseen",
        &[
            ("> A 101 8000501", E, "established"),
            ("< PA 8000501 101 1000", E, "established"),
            ("> A 101 8001501", E, "established"),
            ("> FA 101 9000501", E, "fin-wait"),
        ],
    );
}
