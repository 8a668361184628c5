//! Clients that mean no good, or know no better.

mod device;

#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;

use device::{answer, say, serve, serve_with};
use serve::client::{Client, Failure};
use serve::server::{CLIENTS, Patience};
use serve::{Sentence, word};
use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Little, so that nobody waits for it to be over.
const SHORT: Patience =
    Patience { login: Duration::from_millis(300), reading: Duration::from_millis(300) };

/// What comes until the connection ends.
fn rest(client: &mut Client) -> String {
    let mut text = String::new();
    while let Ok(sentence) = client.receive() {
        text += &format!("{sentence:?}\n");
    }
    text
}

#[test]
fn malformed_sentences_end_the_connection_and_say_why() {
    let served = serve();
    let check = |mut client: Client, bytes: &[u8], expected: &str| {
        // It may be refused before it is sent.
        let _ = client.send_bytes(bytes);
        let (said, start) = (rest(&mut client), bytes.len().min(20));
        assert!(said.contains("!trap") && said.contains("!fatal"), "{said}");
        assert!(said.contains(expected), "{:x?}: {said}", &bytes[..start]);
    };
    check(served.stranger(), b"\xf8", "no word begins with 0xf8");
    check(served.stranger(), &[0xf0, 0xff, 0xff, 0xff, 0xff], "a word of 4294967295 bytes");
    // Strangers get less room than those who have logged in.
    let mut long = Vec::new();
    word::write(&mut long, &[b'x'; 5000]);
    check(served.stranger(), &long, "a word of 5000 bytes, where 4096 are the most");
    long.push(0);
    let mut client = served.client();
    client.send_bytes(&long).unwrap();
    assert_eq!(client.receive().unwrap().text("message").unwrap(), "no such command prefix");
    check(client, &[0xc1, 0x00, 0x01], "a word of 65537 bytes, where 65536 are the most");
    let mut many = Sentence::new("/x").words;
    many.resize(4097, b"=a=b".to_vec());
    let mut bytes = Vec::new();
    Sentence { words: many }.write(&mut bytes);
    check(served.client(), &bytes, "more than 4096 words");
    let mut bytes = Vec::new();
    Sentence { words: vec![vec![b'x'; 60_000]; 18] }.write(&mut bytes);
    check(served.client(), &bytes, "more than 1048576 bytes");
    // Nobody else has noticed.
    assert_eq!(answer(&mut served.client(), "/system/identity/print"), "!re =name=test\n!done\n");
}

#[test]
fn what_is_no_text_is_refused() {
    let served = serve();
    let mut client = served.client();
    client.send(&Sentence::new("/ip/address/print").word([b'?', 0xff])).unwrap();
    let trap = client.receive().unwrap();
    assert_eq!(trap.text("message").unwrap(), "failure: a word that is not UTF-8");
    assert_eq!(client.receive().unwrap().kind(), "!done");
}

#[test]
fn half_a_sentence_and_nothing_at_all_time_out() {
    let served = serve_with(SHORT);
    for begun in [&b""[..], b"\x06/lo", b"\x06/login\x05=na"] {
        let mut client = served.stranger();
        client.send_bytes(begun).unwrap();
        assert_eq!(rest(&mut client), "[\"!fatal\", \"login timed out\"]\n");
    }
    // Whoever has logged in may think as long as they like.
    let mut known = served.client();
    known.send_bytes(b"\x05/quit").unwrap();
    std::thread::sleep(2 * SHORT.login);
    known.send_bytes(b"\0").unwrap();
    assert!(rest(&mut known).contains("session terminated"));
}

#[test]
fn a_client_that_stops_reading_is_let_go() {
    let served = serve_with(SHORT);
    let client = served.client();
    client.send(&say("/tool/count =every=0s =size=60000 .tag=1")).unwrap();
    served.until("it counts", |device| device.under_way.load(Ordering::SeqCst) == 1);
    // Meanwhile others are served.
    let mut other = served.client();
    let began = device::now();
    assert_eq!(answer(&mut other, "/system/identity/print"), "!re =name=test\n!done\n");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    served.until("it is stopped", |device| device.under_way.load(Ordering::SeqCst) == 0);
    drop(client);
}

#[test]
fn too_many_at_once() {
    let served = serve();
    let mut client = served.client();
    for n in 0..64 {
        client.send(&say(&format!("/tool/count =every=1h .tag={n}"))).unwrap();
    }
    client.send(&say("/system/identity/print .tag=more")).unwrap();
    let more = loop {
        let sentence = client.receive().unwrap();
        if sentence.tag() == Some(b"more") {
            break sentence;
        }
    };
    assert_eq!(more.text("message").unwrap(), "failure: too many commands under way (64)");
    client.send(&say("/cancel .tag=all")).unwrap();
    served.until("all stopped", |device| device.under_way.load(Ordering::SeqCst) == 0);
}

/// Resident memory of this process, in KiB.
fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_thousand_idle_clients_cost_little_and_hold_nobody_up() {
    // Each takes a file descriptor at both ends; the usual limit is 1024.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let idle = limit.maximum.map_or(1000, |most| (most as usize).saturating_sub(200) / 2).min(1000);
    let served = serve();
    let first: Vec<_> = (0..50).map(|_| served.client()).collect();
    let before = resident_kib();
    let clients: Vec<_> = (0..idle).map(|_| served.client()).collect();
    let each = (resident_kib() - before) as f64 / idle as f64;
    eprintln!("{each:.1} KiB for each of {idle} idle clients, both ends in this process");
    assert!(each < 64.0, "{each:.1} KiB for each idle client");
    let began = device::now();
    assert_eq!(answer(&mut served.client(), "/system/identity/print"), "!re =name=test\n!done\n");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    drop((first, clients));
}

#[test]
fn there_is_an_end_to_connections() {
    let served = serve_with(Patience { login: Duration::from_secs(60), ..Patience::default() });
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    if limit.maximum.is_some_and(|most| (most as usize) < 3 * CLIENTS) {
        let needed = 3 * CLIENTS;
        return left_out::left_out(format!("this test needs {needed} file descriptors"));
    }
    let there: Vec<_> = (0..CLIENTS).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    let mut more = served.stranger();
    let Err(Failure::Fatal(why)) = more.login("admin", Some("")) else { panic!("let in") };
    assert_eq!(why, format!("too many connections ({CLIENTS})"));
    drop(there);
    served.until("there is room again", |_| {
        Client::tcp(served.address, Duration::from_secs(5))
            .and_then(|mut client| client.login("admin", Some("")))
            .is_ok()
    });
}

#[test]
fn noise() {
    let served = serve();
    let mut state = 1u64;
    for n in 0..200 {
        let mut stream = TcpStream::connect(served.address).unwrap();
        let bytes: Vec<u8> = (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let _ = std::io::Write::write_all(&mut stream, &bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(answer(&mut served.client(), "/system/identity/print"), "!re =name=test\n!done\n");
}
