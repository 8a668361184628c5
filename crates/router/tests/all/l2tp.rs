//! L2TP: two of our routers, a client and a server, in virtual time; tunnels that are proved, messages that
//! are lost, and what forged ones come to.

use crate::pppoe::{Pair, counts, datagram, id, log};
use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use wire::craft::{self, ip};
use wire::l2tp::{self, avp, message};

const CLIENT: &str = "/ip address add address=10.0.0.1/24 interface=ether2\n\
                      /interface l2tp-client add connect-to=10.0.0.2 user=bob password=secret \
                      add-default-route=yes";
const SERVER: &str = "/ip address add address=10.0.0.2/24 interface=ether2\n\
                      /interface l2tp-server server set enabled=yes";
const ROUTE: &str = "/ip route add dst-address=10.0.1.0/24 gateway=10.9.0.2";

fn pair(client: &str, server: &str) -> Pair {
    let server = format!("{SERVER} {server}\n$P\n{ROUTE}");
    Pair::new(&format!("{CLIENT} {client}"), &server)
}

fn runs(pair: &Pair) -> bool {
    id(&pair.client, "l2tp-out1").is_some_and(|id| pair.client.router.program().runs(id))
}

#[test]
fn a_session_carries_packets() {
    for (profile, encrypted) in [("default", false), ("default-encryption", true)] {
        let mut pair = pair(&format!("profile={profile}"), &format!("default-profile={profile}"));
        assert!(runs(&pair), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
        for len in [30, 100, 1000, 1450 - 28] {
            let payload = vec![7; len];
            let sent = craft::Frame { tos: 0xb8, dont_fragment: true, ..datagram(&payload) };
            let fits = !encrypted || len < 1420;
            let out = pair.pass(&sent.build());
            let arrived =
                craft::Frame { src_mac: own_mac(1), dst_mac: mac(2), ttl: 62, ..sent }.build();
            let wanted = if fits { vec![arrived] } else { Vec::new() };
            assert_eq!(out, wanted, "{profile} {len} {:?}", pair.server.router.discards());
            if fits {
                let (_, frame) = &pair.seen[0];
                assert_eq!(frame[23], 17, "UDP");
                assert_eq!(frame[34..38], [0x06, 0xa5, 0x06, 0xa5], "1701, both");
                assert_eq!(frame[42..44], [0, 2]);
                let protocol = if encrypted { 0xfd } else { 0x21 };
                assert_eq!(frame[48..52], [0xff, 0x03, 0, protocol]);
            }
        }
        let [_, tx] = counts(&pair.client, "l2tp-out1");
        assert_eq!(counts(&pair.server, "<l2tp-bob>")[0], tx);
        let text = pair.server.run("/ppp active print");
        assert!(text.contains("l2tp") && text.contains("10.0.0.1"), "{text}");
        assert_eq!(text.contains("MPPE128 stateless"), encrypted, "{text}");
        let text = pair.server.run("/interface l2tp-server print");
        assert!(text.contains("<l2tp-bob>"), "{text}");
        let text = pair.server.run("/interface print");
        assert!(text.contains("l2tp-in"), "{text}");
        assert!(pair.client.run("/interface print").contains("l2tp-out"));
        pair.balanced();
    }
}

/// What both are told, and whether they come together; and what the server's log says.
#[test]
fn who_gets_a_tunnel() {
    let secret = |secret: &str| format!("\n/ppp l2tp-secret add secret={secret}");
    for (client, server, comes, said) in [
        (String::new(), String::new(), true, "<l2tp-bob>: connected"),
        (secret("a"), secret("a"), true, "<l2tp-bob>: connected"),
        (secret("a"), secret("b"), false, ""),
        (String::new(), secret("b"), false, ""),
        (secret("a"), String::new(), false, "10.0.0.1 wants to have the tunnel proved"),
        (
            secret("a"),
            "\n/ppp l2tp-secret add address=10.0.0.1 secret=a\n/ppp l2tp-secret add secret=b"
                .to_string(),
            true,
            "<l2tp-bob>: connected",
        ),
        (String::new(), "\n/ppp secret set [find name=bob] password=other".to_string(), true, ""),
        (String::new(), "\n/interface l2tp-server server set enabled=no".to_string(), false, ""),
        ("disabled=yes".to_string(), String::new(), false, ""),
    ] {
        let mut pair = pair(&client, &server);
        let case = format!("{client} {server} {:#?} {:#?}", log(&pair.client), log(&pair.server));
        assert_eq!(runs(&pair), comes, "{case}");
        assert!(said.is_empty() || log(&pair.server).iter().any(|l| l.starts_with(said)), "{case}");
        pair.balanced();
    }
}

#[test]
fn a_session_ends_and_comes_again() {
    let mut pair = pair("keepalive-timeout=10", "keepalive-timeout=10");
    assert!(runs(&pair));
    pair.cut = true;
    pair.wait(30);
    assert!(!runs(&pair));
    assert_eq!(id(&pair.server, "<l2tp-bob>"), None);
    pair.cut = false;
    pair.wait(40);
    assert!(runs(&pair), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
    pair.client.run("/interface l2tp-client disable l2tp-out1");
    pair.wait(1);
    assert_eq!(id(&pair.server, "<l2tp-bob>"), None, "{:#?}", log(&pair.server));
    pair.client.run("/interface l2tp-client enable l2tp-out1");
    pair.wait(6);
    assert!(runs(&pair));
    pair.server.run("/ppp active remove [find name=bob]");
    pair.wait(1);
    assert!(!runs(&pair));
    pair.wait(10);
    assert!(runs(&pair));
    pair.server.run("/interface l2tp-server server set enabled=no");
    pair.wait(1);
    assert!(!runs(&pair));
    pair.server.run("/interface l2tp-server server set enabled=yes");
    pair.wait(30);
    assert!(runs(&pair), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
    // A tunnel that is open asks each minute, and stays.
    pair.wait(200);
    assert!(runs(&pair));
    assert_eq!(log(&pair.server).last().unwrap(), "bob logged in, 10.9.0.2 from 10.0.0.1");
    pair.balanced();
}

/// To the server, as a host of its network.
fn from(host: u8, port: u16, payload: &[u8]) -> Vec<u8> {
    craft::Frame {
        src_mac: mac(host),
        dst_mac: wire::MacAddr([2, 0, 0, 0, 0, 0xaa]),
        payload,
        ..craft::udp(ip(10, 0, 0, host), port, ip(10, 0, 0, 2), 1701)
    }
    .build()
}

fn request(tunnel: u16) -> Vec<u8> {
    let avps = [
        (avp::MESSAGE, message::SCCRQ.to_be_bytes().to_vec()),
        (avp::PROTOCOL_VERSION, vec![1, 0]),
        (avp::HOST_NAME, b"storm".to_vec()),
        (avp::TUNNEL, tunnel.to_be_bytes().to_vec()),
    ];
    l2tp::control((0, 0), (0, 0), &avps)
}

/// Fifty thousand requests, which come to no more than so many half-open tunnels, and a session that
/// does not notice.
#[test]
fn a_storm() {
    let mut pair = pair("", "");
    assert!(runs(&pair));
    for n in 0..50_000_u32 {
        let (port, tunnel) = (1024 + (n / 60_000) as u16, (n % 60_000) as u16 + 1);
        pair.server.send(2, &from(9, port, &request(tunnel)));
        if n % 64 == 0 {
            pair.server.breathe();
            pair.server.take(2);
        }
    }
    pair.server.breathe();
    pair.server.take(2);
    let refused = pair.server.router.discards().get(Discard::TooManySessions);
    assert_eq!(refused, 50_000 - 1024);
    let out = pair.pass(&datagram(&[1; 99]).build());
    assert_eq!(out.len(), 1, "{:?}", pair.server.router.discards());
    pair.wait(60);
    assert!(runs(&pair), "{:#?}", log(&pair.server));
    pair.client.run("/interface l2tp-client disable l2tp-out1");
    pair.wait(1);
    pair.client.run("/interface l2tp-client enable l2tp-out1");
    pair.wait(6);
    assert!(runs(&pair), "there is room again");
    pair.balanced();
}

/// Datagrams that nobody would send who keeps to the RFC, and what becomes of them.
#[test]
fn datagrams_of_others() {
    let mut rig = Rig::new(2, "/interface ethernet set ether2 mac-address=02:00:00:00:00:aa");
    rig.run(SERVER);
    let hello = |tunnel| l2tp::control((tunnel, 0), (0, 0), &[(avp::MESSAGE, vec![0, 6])]);
    let mut cut = request(5);
    cut.truncate(30);
    let mut long = request(5);
    long[13] = 0xff;
    let no_tunnel = l2tp::control((0, 0), (0, 0), &[(avp::MESSAGE, vec![0, 1])]);
    let data = [&l2tp::data_header(7, 9)[..], &[0, 0x21, 0x45]].concat();
    for (what, payload, why) in [
        ("cut off", cut, Some(Discard::MalformedL2tp)),
        ("an attribute beyond the end", long, Some(Discard::MalformedL2tp)),
        ("without its number", no_tunnel, Some(Discard::MalformedL2tp)),
        ("nothing", Vec::new(), Some(Discard::MalformedL2tp)),
        ("a tunnel that is none", hello(77), Some(Discard::UnknownSession)),
        ("a session that is none", data, Some(Discard::UnknownSession)),
        ("no request", hello(0), Some(Discard::MalformedL2tp)),
        ("a request", request(5), None),
        ("the same again", request(5), None),
    ] {
        let before = why.map(|why| rig.router.discards().get(why));
        rig.send(2, &from(9, 1701, &payload));
        rig.breathe();
        let after = why.map(|why| rig.router.discards().get(why));
        assert_eq!(after, before.map(|n| n + 1), "{what} {:?}", rig.router.discards());
    }
}
