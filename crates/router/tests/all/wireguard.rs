//! WireGuard: two of our routers agree upon keys in virtual time; what is encrypted, whose it may be, keys made anew,
//! peers that move or are silent; forged and repeated packets, and too many who begin.

use crate::ipv6::{Sent, ip6, to};
use crate::rig::{Rig, mac, own_mac};
use crate::tunnels::{Pair, answer, datagram};
use config::Started;
use router::discard::Discard;
use std::fmt::Write;
use std::time::Duration;
use wire::checksum::{self, Sum};
use wire::craft::{self, ip};
use wire::wireguard::{self, Message};

/// Both, with a route to the other's hosts.
const INTERFACE: &str =
    "/ip arp add address=10.0.$me.1 mac-address=06:00:00:00:00:0$me interface=ether1
    /ip arp add address=192.168.0.$you mac-address=02:00:00:00:00:02 interface=ether2
    /interface wireguard add name=wg private-key=\"$secret\" listen-port=1300$me
    /ip address add address=172.16.0.$me/24 interface=wg
    /ip route add dst-address=10.0.$you.0/24 gateway=wg
    ";
const SECRETS: [&str; 2] = [
    "ERERERERERERERERERERERERERERERERERERERERERE=",
    "IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiI=",
];

/// Both of them, each the other's peer, with more said of it.
fn pair(more: &str) -> Pair {
    pair_of([more, more])
}

fn pair_of(more: [&str; 2]) -> Pair {
    let mut pair = Pair::new("");
    for (n, secret) in SECRETS.into_iter().enumerate() {
        let (me, you) = ((n + 1).to_string(), (2 - n).to_string());
        let at = |text: &str| text.replace("$me", &me).replace("$you", &you);
        pair.routers[n].run(&at(&INTERFACE.replace("$secret", secret)));
    }
    let keys = [0, 1].map(|n| pair.routers[n].run(":put [/interface wireguard get wg public-key]"));
    for n in 0..2 {
        let (you, key) = (2 - n, keys[1 - n].trim());
        pair.routers[n].run(&format!(
            "/interface wireguard peers add interface=wg public-key=\"{key}\" \
             endpoint-address=192.168.0.{you} endpoint-port=1300{you} \
             allowed-address=10.0.{you}.0/24,172.16.0.{you}/32 {}",
            more[n]
        ));
    }
    pair
}

/// What a failing test has to show.
fn state(pair: &mut Pair) -> String {
    let mut text = String::new();
    for rig in &mut pair.routers {
        let discards: Vec<_> = rig.router.discards().iter().collect();
        _ = write!(text, "\n{discards:?} {:?}", rig.router.frames());
        for menu in ["/log print", "/interface wireguard peers print detail"] {
            _ = write!(text, "\n{}", rig.run(menu));
        }
    }
    text
}

/// What IP sees of it at the other host.
fn arrived(sent: &craft::Frame<'_>) -> Vec<u8> {
    craft::Frame { src_mac: own_mac(1), dst_mac: mac(2), ttl: 62, ..*sent }.build()
}

/// The kinds of what passed on the underlay, each by who sent it: 0 or 1.
fn kinds(pair: &Pair) -> Vec<(usize, u8)> {
    let is_ours = |frame: &[u8]| frame[23] == 17 && frame[36..38] > [0x32, 0xc8][..];
    pair.seen.iter().filter(|(_, f)| is_ours(f)).map(|(n, frame)| (*n, frame[42])).collect()
}

#[test]
fn packets_are_encrypted_on_their_way() {
    for shared in ["", "preshared-key=\"MzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzM=\""] {
        let mut pair = pair(shared);
        for (n, len) in [18, 19, 30, 100, 1000, 1380].into_iter().enumerate() {
            let payload = vec![7; len];
            let sent = craft::Frame { tos: 0xb8, dont_fragment: true, ..datagram(&payload) };
            let out = pair.pass(&sent.build());
            assert_eq!(out, [arrived(&sent)], "{len} bytes: {}", state(&mut pair));
            // The first packet waits for the keys.
            let expected: &[_] = if n == 0 { &[(0, 1), (1, 2), (0, 4)] } else { &[(0, 4)] };
            assert_eq!(kinds(&pair), expected, "{}", state(&mut pair));
            for (_, frame) in &pair.seen {
                assert!(checksum::is_ok(&frame[14..34]), "{frame:02x?}");
                assert!(Message::read(&frame[42..]).is_some(), "{frame:02x?}");
                assert!(!frame.windows(16).any(|some| some == [7; 16]), "{frame:02x?}");
            }
        }
        let back = pair.pass_back(&answer(&[9; 500]).build());
        assert_eq!(back.len(), 1, "{}", state(&mut pair));
        let [[rx, _], [tx, _]] =
            [pair.counts(0, "wg"), pair.counts(1, "wg")].map(|all| all.map(|(n, _)| n));
        assert_eq!((rx, tx), (1, 6), "what came and went: {}", state(&mut pair));
        let text = pair.routers[0].run("/interface wireguard peers print detail");
        for part in [
            "current-endpoint-address=192.168.0.2",
            "last-handshake=0s",
            "current-endpoint-port=13002",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        pair.balanced();
    }
}

/// Who does not have the same shared key, or expects another end, agrees upon nothing.
#[test]
fn keys_that_do_not_fit() {
    let shared = "preshared-key=\"MzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzM=\"";
    let mut pair = pair_of([shared, ""]);
    assert!(pair.pass(&datagram(&[1; 64]).build()).is_empty());
    pair.wait(12);
    assert!(
        pair.routers[0].router.discards().get(Discard::Undecryptable) > 0,
        "{}",
        state(&mut pair)
    );
    // What waits is given up.
    assert_eq!(pair.routers[0].router.frames().held, 1);
    pair.wait(90);
    assert_eq!(pair.routers[0].router.frames().held, 0, "{}", state(&mut pair));
    pair.routers[0].run("/interface wireguard peers set 0 preshared-key=\"\"");
    let out = pair.pass(&datagram(&[1; 64]).build());
    assert_eq!(out.len(), 1, "{}", state(&mut pair));
    pair.balanced();
}

/// IPv6 inside; a packet that is for no peer, and one from nobody's network.
#[test]
fn whose_packets_are() {
    let mut pair = pair("");
    for n in 0..2 {
        let (me, you) = (n + 1, 2 - n);
        pair.routers[n].run(&format!(
            "/ipv6 address add address=2001:db8:{me}::254/64 interface=ether1 advertise=no
             /ipv6 route add dst-address=2001:db8:{you}::/64 gateway=wg
             /interface wireguard peers set 0 allowed-address=10.0.{you}.0/25,2001:db8:{you}::/64"
        ));
    }
    pair.wait(1);
    let six = |src: &str, dst: &str| {
        let mut payload = vec![5; 77];
        payload[..8].copy_from_slice(&[3, 232, 7, 208, 0, 77, 0, 0]);
        Sent { src: ip6(src), payload, ..to(dst) }.build()
    };
    pair.pass(&six("2001:db8:1::1", "2001:db8:2::1"));
    assert_eq!(kinds(&pair), [(0, 1), (1, 2), (0, 4)], "{}", state(&mut pair));
    let counts =
        |pair: &Pair| [0, 1].map(|n| pair.routers[n].router.discards().get(Discard::OutsidePolicy));
    assert_eq!(counts(&pair), [0, 0], "{}", state(&mut pair));
    assert_eq!(pair.counts(1, "wg")[0].0, 1, "{}", state(&mut pair));
    // For nobody's network; from one that is not the sender's there.
    let beyond = craft::Frame {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        payload: &[1; 64],
        ..craft::udp(ip(10, 0, 1, 1), 1, ip(10, 0, 2, 200), 2)
    };
    assert!(pair.pass(&beyond.build()).is_empty());
    assert_eq!(counts(&pair), [1, 0]);
    let from = craft::Frame {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        payload: &[1; 64],
        ..craft::udp(ip(10, 0, 1, 200), 1, ip(10, 0, 2, 1), 2)
    };
    assert!(pair.pass(&from.build()).is_empty());
    assert_eq!(counts(&pair), [1, 1], "{}", state(&mut pair));
    pair.balanced();
}

/// Nothing is lost when keys are made anew, by who has begun; of what is not used nothing is left.
#[test]
fn keys_are_made_anew() {
    let mut pair = pair("");
    let mut shakes = 0;
    for second in 0..400 {
        let out = pair.pass(&datagram(&[1; 64]).build());
        assert_eq!(out.len(), 1, "after {second} s: {}", state(&mut pair));
        let now = kinds(&pair);
        shakes += now.iter().filter(|one| **one == (0, 1)).count();
        pair.seen.clear();
        pair.wait(1);
        shakes += kinds(&pair).iter().filter(|one| **one == (0, 1)).count();
        assert!(!kinds(&pair).contains(&(1, 1)), "{}", state(&mut pair));
    }
    assert!((3..=4).contains(&shakes), "{shakes} handshakes in 400 s");
    // Nobody speaks: nothing is said, and then the keys are gone.
    pair.wait(20);
    pair.seen.clear();
    pair.wait(700);
    assert_eq!(kinds(&pair), [], "{}", state(&mut pair));
    let back = pair.pass_back(&answer(&[9; 500]).build());
    assert_eq!((back.len(), kinds(&pair)[0]), (1, (1, 1)), "{}", state(&mut pair));
    pair.balanced();
}

/// Who has taken packets says so within ten seconds; who hears nothing of it begins anew, for 90 seconds.
#[test]
fn silence() {
    let mut pair = pair("");
    pair.pass(&datagram(&[1; 64]).build());
    pair.seen.clear();
    pair.wait(30);
    assert_eq!(kinds(&pair), [(1, 4)], "{}", state(&mut pair));
    pair.cut = true;
    pair.pass(&datagram(&[1; 64]).build());
    pair.wait(14);
    assert_eq!(kinds(&pair), [(0, 4)], "{}", state(&mut pair));
    pair.wait(600);
    let asked = kinds(&pair).iter().filter(|one| **one == (0, 1)).count();
    assert!((18..=20).contains(&asked), "{asked}: {}", state(&mut pair));
    pair.cut = false;
    assert_eq!(pair.pass(&datagram(&[1; 64]).build()).len(), 1, "{}", state(&mut pair));
    pair.balanced();
}

/// A NAT is kept open; who must not begin does not, and is found again where he has moved to.
#[test]
fn keepalives_and_ends_that_move() {
    let mut pair = pair_of(["persistent-keepalive=20s", "responder=yes"]);
    pair.wait(100);
    let sent = |pair: &Pair| kinds(pair).iter().filter(|one| **one == (0, 4)).count();
    assert!((4..=6).contains(&sent(&pair)), "{}", state(&mut pair));
    assert!(!kinds(&pair).contains(&(1, 1)));
    assert_eq!(pair.pass_back(&answer(&[2; 100]).build()).len(), 1, "{}", state(&mut pair));
    // The first one has another address, and is heard by it before anybody asks.
    pair.routers[0].run("/ip address set [find address=192.168.0.1/24] address=192.168.0.77/24");
    pair.wait(25);
    let text = pair.routers[1].run("/interface wireguard peers print detail");
    assert!(text.contains("current-endpoint-address=192.168.0.77"), "{text}");
    assert_eq!(pair.pass_back(&answer(&[2; 100]).build()).len(), 1, "{}", state(&mut pair));
    // Without keys he waits for the other one, however long.
    pair.routers[0].run("/interface wireguard peers set 0 persistent-keepalive=0s");
    pair.wait(600);
    pair.seen.clear();
    assert!(pair.pass_back(&answer(&[2; 100]).build()).is_empty());
    assert_eq!(kinds(&pair), [], "{}", state(&mut pair));
    pair.balanced();
}

/// What is repeated, changed, cut off or for nobody is not let in, and changes nothing.
#[test]
fn forged_packets() {
    let mut pair = pair("");
    pair.pass(&datagram(&[1; 64]).build());
    let taken: Vec<Vec<u8>> = pair.seen.iter().map(|(_, frame)| frame.clone()).collect();
    let [initiation, response, data] = [0, 1, 2].map(|n| taken[n].clone());
    let after = pair.counts(1, "wg");
    let mut check = |frame: &[u8], to: usize, why: Discard, what: &str| {
        let before = pair.routers[to].router.discards().get(why);
        pair.routers[to].send(2, frame);
        pair.wait(1);
        let rise = pair.routers[to].router.discards().get(why) - before;
        assert_eq!(rise, 1, "{what}: {}", state(&mut pair));
        assert_eq!(pair.counts(1, "wg"), after, "{what}");
    };
    let with = |frame: &[u8], change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = frame.to_vec();
        change(&mut frame);
        let (ip_len, udp_len) = ((frame.len() - 14) as u16, (frame.len() - 34) as u16);
        frame[16..18].copy_from_slice(&ip_len.to_be_bytes());
        frame[38..40].copy_from_slice(&udp_len.to_be_bytes());
        frame[24..26].fill(0);
        let sum = checksum::of(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame[40..42].fill(0);
        frame
    };
    check(&data, 1, Discard::Repeated, "data again");
    check(&initiation, 1, Discard::Repeated, "an initiation again");
    check(&response, 0, Discard::NoSecurityAssociation, "a response again");
    let next = |frame: &mut Vec<u8>| frame[50] += 1;
    check(&with(&data, &next), 1, Discard::Undecryptable, "data with another counter");
    check(&with(&data, &|frame| frame[46] ^= 1), 1, Discard::NoSecurityAssociation, "to nobody");
    check(&with(&data, &|frame| frame.truncate(73)), 1, Discard::MalformedTunnel, "cut off");
    check(&with(&initiation, &|frame| frame[100] ^= 1), 1, Discard::Undecryptable, "changed");
    check(&with(&initiation, &|frame| frame.push(0)), 1, Discard::MalformedTunnel, "too long");
    check(&with(&response, &|frame| frame[42] = 9), 0, Discard::MalformedTunnel, "of no kind");
    assert_eq!(pair.pass(&datagram(&[1; 64]).build()).len(), 1, "{}", state(&mut pair));
    pair.balanced();
}

/// When too many begin, who begins has to prove that he is where he says.
#[test]
fn too_many_begin() {
    let mut pair = pair("");
    pair.pass(&datagram(&[1; 64]).build());
    let initiation = pair.seen[0].1.clone();
    pair.wait(200);
    pair.seen.clear();
    for _ in 0..150 {
        pair.routers[1].send(2, &initiation);
    }
    pair.routers[1].breathe();
    let cookies = pair.routers[1].take(2);
    assert_eq!(cookies.len(), 50, "{}", state(&mut pair));
    for frame in &cookies {
        assert!(matches!(Message::read(&frame[42..]), Some(Message::Cookie(_))), "{frame:02x?}");
    }
    // Another one gets a cookie as well, and begins anew with it.
    assert!(pair.pass(&datagram(&[1; 64]).build()).is_empty());
    assert_eq!(kinds(&pair), [(0, 1), (1, 3)], "{}", state(&mut pair));
    for _ in 0..150 {
        pair.routers[1].send(2, &initiation);
    }
    pair.routers[1].breathe();
    pair.routers[1].take(2);
    pair.wait(6);
    let [second, third] = [2, 3].map(|n| pair.seen[n].1.clone());
    let mac2 = |frame: &[u8]| {
        wireguard::macs(&frame[42..])[1].clone().map(|n| frame[42 + n]).any(|b| b != 0)
    };
    assert!(mac2(&second) && third[42] == 2, "{:?} {}", kinds(&pair), state(&mut pair));
    pair.balanced();
}

/// Peers that are changed, removed or disabled are that at once, and the others stay.
#[test]
fn changes() {
    let mut pair = pair("");
    pair.pass(&datagram(&[1; 64]).build());
    // (What says nothing of the keys lets them be.)
    pair.routers[0]
        .run("/interface wireguard peers set 0 comment=x; /interface wireguard set wg mtu=1300");
    pair.pass(&datagram(&[1; 64]).build());
    assert_eq!(kinds(&pair), [(0, 4)], "{}", state(&mut pair));
    for (off, on) in [
        ("/interface wireguard peers disable 0", "/interface wireguard peers enable 0"),
        ("/interface wireguard disable wg", "/interface wireguard enable wg"),
        (
            "/interface wireguard set wg listen-port=99",
            "/interface wireguard set wg listen-port=13001",
        ),
    ] {
        pair.routers[0].run(off);
        pair.wait(1);
        assert!(
            pair.pass_back(&answer(&[9; 500]).build()).is_empty(),
            "{off}: {}",
            state(&mut pair)
        );
        pair.routers[0].run(on);
        pair.wait(6);
        assert_eq!(pair.pass(&datagram(&[1; 64]).build()).len(), 1, "{on}: {}", state(&mut pair));
        assert_eq!(
            pair.pass_back(&answer(&[9; 500]).build()).len(),
            1,
            "{on}: {}",
            state(&mut pair)
        );
        pair.balanced();
    }
    pair.routers[0].run("/interface bridge add name=b protocol-mode=none");
    for (line, error) in [
        ("/interface bridge port add bridge=b interface=wg", "carries no Ethernet frames"),
        ("/interface vlan add interface=wg vlan-id=7", "carries no Ethernet frames"),
        ("/interface wireguard add private-key=word", "44 characters of base64"),
        (
            "/interface wireguard peers add interface=wg",
            "missing value(s) of argument(s) public-key",
        ),
        (
            "/interface wireguard peers add interface=wg public-key=[/interface wireguard peers get 0 public-key]",
            "already",
        ),
    ] {
        let said = pair.routers[0].try_run(line).unwrap_err().to_string();
        assert!(said.contains(error), "{line}: {said}");
    }
}

/// An interface without a key has one made; what a client is to be told.
#[test]
fn keys_that_are_made() {
    let mut rig = Rig::new(2, "");
    rig.run("/interface wireguard add name=\"w g\"");
    rig.wait(Duration::from_millis(10));
    let public = rig.run(":put [/interface wireguard get \"w g\" public-key]");
    assert_eq!(public.trim().len(), 44, "{public}");
    let script = rig.router.take_script().expect("who keeps the key").script;
    rig.run(&script);
    assert_eq!(rig.run(":put [/interface wireguard get \"w g\" public-key]"), public);
    assert!(rig.run("/export").contains("private-key="));
    rig.run(&format!(
        "/interface wireguard peers add interface=\"w g\" private-key=\"{}\" client-address=10.9.0.2/32 \
         client-dns=10.9.0.1 client-endpoint=vpn.example.com client-keepalive=25s allowed-address=10.9.0.2/32",
        SECRETS[0]
    ));
    let line = "/interface wireguard peers show-client-config 0";
    let output = rig.console.run(line, &rig.router.status(rig.now)).unwrap();
    let started = rig.router.start(&output.calls[0], rig.console.tree(), rig.now);
    let Ok(Started::Job(mut job)) = started else { panic!("{:?}", started.err()) };
    let mut records = Vec::new();
    job.poll(&mut rig.router, rig.now, &mut records).unwrap();
    let text = records[0].get("config").unwrap().to_string();
    let expected = format!(
        "[Interface]\nPrivateKey = {}\nAddress = 10.9.0.2/32\nDNS = 10.9.0.1\n\n[Peer]\nPublicKey = {}\n\
         AllowedIPs = 0.0.0.0/0, ::/0\nEndpoint = vpn.example.com:13231\nPersistentKeepalive = 25\n",
        SECRETS[0],
        public.trim()
    );
    assert_eq!(text.trim(), expected.trim());
}

/// What is inside goes by the recipes of its flows, both ways; outer packets meet the firewall as any others.
#[test]
fn packets_inside_have_recipes() {
    for tracking in ["no", "yes"] {
        let mut pair = pair("");
        for rig in &mut pair.routers {
            rig.run(&format!("/ip firewall connection tracking set enabled={tracking}"));
        }
        for _ in 0..3 {
            pair.pass(&datagram(&[1; 64]).build());
            pair.pass_back(&answer(&[2; 64]).build());
        }
        let quick = |pair: &Pair| [0, 1].map(|n| pair.routers[n].router.path_counts().replayed);
        let before = quick(&pair);
        for _ in 0..10 {
            let sent = datagram(&[1; 64]);
            assert_eq!(pair.pass(&sent.build()), [arrived(&sent)], "{}", state(&mut pair));
            assert_eq!(pair.pass_back(&answer(&[2; 64]).build()).len(), 1);
        }
        let (after, least) = (quick(&pair), if tracking == "yes" { 20 } else { 0 });
        let is_quick = (0..2).all(|n| after[n] - before[n] >= least);
        assert!(is_quick, "{before:?} {after:?} {}", state(&mut pair));
        pair.balanced();
    }
}

/// Outside it is IPv6: found by an address, or heard from.
#[test]
fn ipv6_outside() {
    let mut pair = pair_of(["", ""]);
    for (n, rig) in pair.routers.iter_mut().enumerate() {
        let (me, you) = (n + 1, 2 - n);
        let end = if n == 0 { format!("2001:db8:ff::{you}") } else { String::new() };
        rig.run(&format!(
            "/ipv6 address add address=2001:db8:ff::{me}/64 interface=ether2 advertise=no
             /interface wireguard peers set 0 endpoint-address=\"{end}\""
        ));
    }
    pair.wait(3);
    // Nobody knows yet where the first one is: nothing waits for him.
    assert!(pair.pass_back(&answer(&[9; 500]).build()).is_empty());
    let second = &pair.routers[1].router;
    let lost = second.discards().get(Discard::NoSecurityAssociation);
    assert_eq!((lost, second.frames().held), (1, 0), "{}", state(&mut pair));
    pair.seen.clear();
    for len in [18, 19, 1000] {
        let payload = vec![7; len];
        let sent = datagram(&payload);
        assert_eq!(pair.pass(&sent.build()), [arrived(&sent)], "{len}: {}", state(&mut pair));
        let is_outer = |frame: &[u8]| frame[12..14] == [0x86, 0xdd] && frame[20] == 17;
        let outer: Vec<_> = pair.seen.iter().filter(|(_, frame)| is_outer(frame)).collect();
        assert_eq!(outer.len(), if len == 18 { 3 } else { 1 }, "{}", state(&mut pair));
        for (_, frame) in outer {
            let (src, dst) = (frame[22..38].try_into().unwrap(), frame[38..54].try_into().unwrap());
            let udp = &frame[54..];
            assert!(Sum::pseudo_ipv6(src, dst, 17, udp.len() as u32).bytes(udp).is_ok());
        }
    }
    assert_eq!(pair.pass_back(&answer(&[9; 500]).build()).len(), 1, "{}", state(&mut pair));
    let text = pair.routers[1].run("/interface wireguard peers print detail");
    assert!(text.contains("current-endpoint-address=2001:db8:ff::1"), "{text}");
    pair.balanced();
}
