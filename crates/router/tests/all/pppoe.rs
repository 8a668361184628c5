//! PPPoE: two of our routers, a client and a server, in virtual time; what passes between them, what is
//! refused, and what forged packets come to.

// What those who log in get, and when their sessions end.
mod profiles;
// Interfaces that stay.
mod bindings;

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use router::interface::InterfaceId;
use router::step::Step;
use std::time::Duration;
use wire::arp::ArpMessage;
use wire::craft::{self, ip};
use wire::pppoe::{self, Code, Discovery, tag};
use wire::{MacAddr, TcpFlags};

/// A client and a server, joined by their second ports, and a host at each one's first.
pub(crate) struct Pair {
    pub(crate) client: Rig,
    pub(crate) server: Rig,
    /// What passed between them: whether from the client, and the frame.
    pub(crate) seen: Vec<(bool, Vec<u8>)>,
    pub(crate) cut: bool,
}

const CLIENT: &str = "/interface pppoe-client add interface=ether2 user=bob password=secret";
const SERVER: &str = "/interface pppoe-server server add interface=ether2 service-name=isp";
const SECRET: &str = "/ppp secret add name=bob password=secret local-address=10.9.0.1 \
                      remote-address=10.9.0.2";

impl Pair {
    /// `$` in the scripts is the customary beginning of the client, the server and its secret.
    pub(crate) fn new(client: &str, server: &str) -> Pair {
        let client = client.replace("$C", CLIENT);
        let server = server.replace("$S", SERVER).replace("$P", SECRET);
        let mut pair =
            Pair { client: Rig::new(2, ""), server: Rig::new(2, ""), seen: Vec::new(), cut: false };
        // Each has its own MAC addresses: both rigs' ports are called alike.
        pair.server.run("/interface ethernet set ether2 mac-address=02:00:00:00:00:aa");
        pair.client.run("/ip address add address=10.0.1.254/24 interface=ether1");
        pair.server.run("/ip address add address=10.0.2.254/24 interface=ether1");
        pair.server.run(&server);
        pair.client.run(&client);
        pair.settle();
        for (n, rig) in [(1, &mut pair.client), (2, &mut pair.server)] {
            let own = ip(10, 0, n, 254);
            rig.send(1, &craft::arp(ArpMessage::request(mac(n), ip(10, 0, n, 1), own)).build());
        }
        pair.wait(6);
        pair
    }

    pub(crate) fn settle(&mut self) {
        loop {
            let mut moved = false;
            self.client.breathe();
            self.server.breathe();
            for from_client in [true, false] {
                let (from, to) = match from_client {
                    true => (&mut self.client, &mut self.server),
                    false => (&mut self.server, &mut self.client),
                };
                for frame in from.take(2) {
                    moved = true;
                    if !self.cut {
                        to.send(2, &frame);
                    }
                    self.seen.push((from_client, frame));
                }
            }
            let last = self.seen.len().saturating_sub(12);
            assert!(last < 20_000, "no end of it: {:02x?}", &self.seen[last..]);
            if !moved {
                return;
            }
        }
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds * 10 {
            for rig in [&mut self.client, &mut self.server] {
                rig.now = rig.now + Duration::from_millis(100);
            }
            self.settle();
        }
    }

    fn runs(&self) -> bool {
        id(&self.client, "pppoe-out1").is_some_and(|id| self.client.router.program().runs(id))
    }

    /// Sends from the client's host; what comes out at the server's.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.server.take(1);
        self.client.take(1);
        self.seen.clear();
        self.client.send(1, bytes);
        self.settle();
        let all = self.server.take(1);
        all.into_iter().filter(|frame| frame[12..14] != [0x08, 0x06]).collect()
    }

    pub(crate) fn balanced(&mut self) {
        for rig in [&mut self.client, &mut self.server] {
            rig.take(1);
            let frames = rig.router.frames();
            assert!(frames.balance(), "{frames:?} {:?}", rig.router.discards());
            assert_eq!(rig.frames_in_use() as u64, frames.held, "{frames:?}");
        }
    }
}

pub(crate) fn id(rig: &Rig, name: &str) -> Option<InterfaceId> {
    rig.router.program().names.find(name)
}

pub(crate) fn counts(rig: &Rig, name: &str) -> [(u64, u64); 2] {
    let counts = rig.router.interface_counts(id(rig, name).expect("the interface"));
    [(counts.rx.packets, counts.rx.bytes), (counts.tx.packets, counts.tx.bytes)]
}

pub(crate) fn log(rig: &Rig) -> Vec<String> {
    let lines = rig.router.log().iter();
    lines.map(|line| line.display(|_| None).to_string()).collect()
}

/// From the client's host to the server's.
pub(crate) fn datagram(payload: &[u8]) -> craft::Frame<'_> {
    craft::Frame {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        payload,
        ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000)
    }
}

#[test]
fn a_session_carries_packets() {
    let mut pair = Pair::new(
        "$C add-default-route=yes",
        "$S\n$P\n/ip route add dst-address=10.0.1.0/24 gateway=10.9.0.2",
    );
    assert!(pair.runs(), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
    let before = (counts(&pair.client, "pppoe-out1"), counts(&pair.server, "<pppoe-bob>"));
    assert_eq!(before, Default::default(), "control packets are not the interfaces'");
    let sent = craft::Frame { tos: 0xb8, ..datagram(&[7; 100]) };
    let out = pair.pass(&sent.build());
    let arrived = craft::Frame { src_mac: own_mac(1), dst_mac: mac(2), ttl: 62, ..sent }.build();
    assert_eq!(
        out,
        [arrived],
        "{:?} {:?}",
        pair.client.router.discards(),
        pair.server.router.discards()
    );
    let (from_client, frame) = &pair.seen[0];
    assert!(from_client);
    assert_eq!(frame[..6], [2, 0, 0, 0, 0, 0xaa]);
    assert_eq!(frame[12..14], [0x88, 0x64]);
    assert_eq!(frame[14..16], [0x11, 0]);
    assert_eq!(frame[18..22], [0, 130, 0, 0x21]);
    let inner = craft::Frame { ttl: 63, ..sent }.build();
    assert_eq!(frame[22..], inner[14..]);
    assert_eq!(counts(&pair.client, "pppoe-out1"), [(0, 0), (1, 128)]);
    assert_eq!(counts(&pair.server, "<pppoe-bob>"), [(1, 128), (0, 0)]);

    // 1,492 bytes fit, one more with DF does not.
    let long = vec![9; 1492 - 28];
    let fits = craft::Frame { dont_fragment: true, ..datagram(&long) };
    assert_eq!(pair.pass(&fits.build()).len(), 1);
    let longer = vec![9; 1493 - 28];
    let sent = craft::Frame { dont_fragment: true, ..datagram(&longer) };
    assert_eq!(pair.pass(&sent.build()), Vec::<Vec<u8>>::new());
    let answers = pair.client.take(1);
    let icmp = answers.iter().find(|frame| frame[23] == 1).expect("an ICMP error");
    assert_eq!((&icmp[34..36], &icmp[40..42]), (&[3, 4][..], &1492_u16.to_be_bytes()[..]));

    // The SYN of a forwarded connection is told what the link takes.
    let syn = craft::tcp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000, TcpFlags::SYN);
    let craft::Body::Tcp { header, .. } = syn.body else { panic!("TCP") };
    let body = craft::Body::Tcp { header, options: &[2, 4, 0x05, 0xb4] };
    let syn = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), body, ..syn };
    let out = pair.pass(&syn.build());
    assert_eq!(out[0][54..58], [2, 4, 0x05, 0xac], "1452");
    assert_eq!(wire::layers::network(&out[0]).map(|layers| layers.l4), Ok(34));
    pair.balanced();
}

/// What both are told beside, and whether packets then count as FastPath.
#[test]
fn a_session_is_quick() {
    let no_mss = "/ppp profile add name=p change-tcp-mss=no";
    let vlan = "/interface vlan add name=v interface=ether2 vlan-id=7";
    let bridge = "/interface bridge add name=v protocol-mode=none\n\
                  /interface bridge port add bridge=v interface=ether2";
    let filter = "/ip firewall filter add chain=forward connection-state=established";
    let masquerade = "/ip firewall nat add chain=srcnat action=masquerade out-interface=pppoe-out1";
    for (below, client, server, is_fast) in [
        ("", no_mss, no_mss, true),
        (vlan, no_mss, no_mss, true),
        (bridge, no_mss, no_mss, true),
        ("", "", "", false),
        (vlan, masquerade, filter, false),
        (bridge, masquerade, filter, false),
        ("", no_mss, "/queue simple add target=10.9.0.0/24 max-limit=100M/100M", false),
    ] {
        let on = if below.is_empty() { "ether2" } else { "v" };
        let with = |more: &str, script: &str| match more == no_mss {
            true => format!("{no_mss}\n{script} profile=p"),
            false => format!("{script}\n{more}"),
        };
        let named = |line: &str| line.replace("interface=ether2", &format!("interface={on}"));
        let routes = "/ip route add dst-address=10.0.1.0/24 gateway=10.9.0.2";
        let mut pair = Pair::new(
            &with(client, &format!("{below}\n{} add-default-route=yes", named(CLIENT))),
            &with(server, &format!("{below}\n{}\n{routes}\n{SECRET}", named(SERVER))),
        );
        assert!(pair.runs(), "{below} {:#?}", log(&pair.client));
        for round in 0..8 {
            let before = [&pair.client, &pair.server].map(|rig| rig.router.path_counts());
            for rig in [&mut pair.client, &mut pair.server] {
                rig.router.watch_steps();
            }
            let out = pair.pass(&datagram(&[round; 40]).build());
            let there = out.first().unwrap_or_else(|| panic!("{below} {client} {server} {round}"));
            let layers = wire::layers::parse(there).unwrap();
            let back = craft::Frame {
                src_mac: mac(2),
                dst_mac: own_mac(1),
                payload: &[round; 30],
                ..craft::udp(layers.tuple.dst, 2000, layers.tuple.src, 1000)
            };
            pair.server.send(1, &back.build());
            pair.settle();
            let back = pair.client.take(1);
            assert_eq!(back.iter().filter(|frame| frame[12..14] == [8, 0]).count(), 1, "{below}");
            if round < 4 {
                continue;
            }
            for (rig, was) in [&mut pair.client, &mut pair.server].into_iter().zip(before) {
                let steps = rig.router.watch_steps();
                let why = format!("{below} {client} {:?}", rig.router.program().unmet);
                assert!(!steps.contains(&Step::PhysicalIn), "{why} {steps:?}");
                let now = rig.router.path_counts();
                let fast = now.ipv4_fast_path.packets - was.ipv4_fast_path.packets;
                let replayed = now.replayed - was.replayed;
                let expected = if is_fast { (2, 0) } else { (0, 2) };
                let queued = server.contains("queue");
                assert!(
                    (fast, replayed) == expected || queued,
                    "{below} {client} {fast} {replayed}"
                );
            }
        }
        if is_fast {
            let fast = |rig: &Rig, name: &str| {
                let counts = rig.router.interface_counts(id(rig, name).unwrap());
                let [rx, tx] = [(counts.rx, counts.fast_rx), (counts.tx, counts.fast_tx)];
                assert!(rx.0 == rx.1 && tx.0 == tx.1, "{name} {counts:?}");
                assert_eq!((rx.0.bytes, tx.0.bytes), (8 * 58, 8 * 68), "{name}");
            };
            fast(&pair.client, "pppoe-out1");
        }
        pair.balanced();
    }
}

/// What both are told, whether they come together, and what the logs must say.
#[test]
fn who_may_log_in() {
    let connected = ["pppoe-out1: connected"];
    let refused = ["pppoe-out1: terminating... - authentication failed"];
    for (client, server, runs, said) in [
        ("$C", "$S\n$P", true, &connected[..]),
        ("$C", "$S authentication=pap\n$P", true, &connected),
        ("$C allow=pap", "$S authentication=chap,pap\n$P", true, &connected),
        ("$C allow=chap", "$S authentication=pap\n$P", false, &["user"; 0]),
        (
            "$C",
            "$S\n/ppp secret add name=bob password=other local-address=10.9.0.1 remote-address=10.9.0.2",
            false,
            &refused,
        ),
        ("$C", "$S\n/ppp secret add name=eve password=secret", false, &refused),
        ("$C", "$S\n/ppp secret add name=bob password=secret", false, &refused),
        (
            "$C",
            "$S\n/ppp secret add name=bob password=secret service=l2tp local-address=10.9.0.1 remote-address=10.9.0.2",
            false,
            &refused,
        ),
        ("$C", "$S\n$P caller-id=02:00:00:00:00:02", true, &connected),
        ("$C", "$S\n$P caller-id=02:00:00:00:00:03", false, &refused),
        (
            "$C",
            "/ppp profile add name=p local-address=10.9.0.1 remote-address=10.9.0.2\n$S default-profile=p\n/ppp secret add name=bob password=secret",
            true,
            &connected,
        ),
        ("$C service-name=isp", "$S\n$P", true, &connected),
        ("$C service-name=other", "$S\n$P", false, &["pppoe-out1: initializing..."]),
        ("$C ac-name=wirespeed", "$S\n$P", true, &connected),
        ("$C ac-name=other", "$S\n$P", false, &["pppoe-out1: initializing..."]),
        ("$C", "$S max-mtu=1400\n$P", true, &connected),
        ("$C disabled=yes", "$S\n$P", false, &[]),
        ("$C", "$S disabled=yes\n$P", false, &[]),
        ("$C", "", false, &[]),
    ] {
        let mut pair = Pair::new(client, server);
        let logs = (log(&pair.client), log(&pair.server));
        assert_eq!(pair.runs(), runs, "{client} {server} {logs:#?}");
        for line in said {
            assert!(logs.0.iter().any(|said| said == line), "{client} {server} {logs:#?}");
        }
        if server.contains("1400") {
            let program = pair.client.router.program();
            assert_eq!(program.interface(id(&pair.client, "pppoe-out1").unwrap()).mtu, 1400);
        }
        pair.balanced();
    }
}

/// The profile's scripts run at both ends, with what they may know.
#[test]
fn scripts() {
    let profile = "/ppp profile add name=p on-up=\"begun\" on-down=\"over\"";
    let server = format!("{profile}\n$S default-profile=p\n$P");
    let mut pair = Pair::new(&format!("{profile}\n$C profile=p"), &server);
    assert!(pair.runs());
    let known = [
        "\"user\" \"bob\"",
        "\"local-address\" 10.9.0.1",
        "\"remote-address\" 10.9.0.2",
        "\"caller-id\" \"02:00:00:00:00:02\"",
        "\"interface\" \"<pppoe-bob>\"",
    ];
    for (script, knows) in [("begun", &known[..]), ("over", &known[..])] {
        let wanted = pair.server.router.take_script().expect(script);
        assert_eq!((&*wanted.who, &*wanted.script), ("ppp <pppoe-bob>", script));
        for known in knows {
            assert!(wanted.known.contains(&format!(":local {known};")), "{}", wanted.known);
        }
        let wanted = pair.client.router.take_script().expect(script);
        assert_eq!((&*wanted.who, &*wanted.script), ("ppp pppoe-out1", script));
        assert!(!pair.server.router.has_scripts() && !pair.client.router.has_scripts());
        pair.client.run("/interface pppoe-client disable pppoe-out1");
        pair.wait(1);
    }
}

#[test]
fn a_session_ends() {
    let routes = "$C add-default-route=yes";
    let mut pair = Pair::new(routes, "$S\n$P");
    assert!(pair.runs());
    // The wire is cut: both notice, and come back when it is mended.
    pair.cut = true;
    pair.wait(12);
    assert!(!pair.runs());
    assert_eq!(id(&pair.server, "<pppoe-bob>"), None);
    let silent = "pppoe-out1: terminating... - peer is not responding";
    assert!(log(&pair.client).iter().any(|line| line == silent), "{:#?}", log(&pair.client));
    pair.cut = false;
    pair.wait(20);
    assert!(pair.runs(), "{:#?}", log(&pair.client));

    // Each side's administrator.
    pair.client.run("/interface pppoe-client disable pppoe-out1");
    pair.wait(1);
    assert_eq!(id(&pair.server, "<pppoe-bob>"), None, "{:#?}", log(&pair.server));
    pair.client.run("/interface pppoe-client enable pppoe-out1");
    pair.wait(5);
    assert!(pair.runs());
    pair.server.run("/interface pppoe-server server disable [find service-name=isp]");
    pair.wait(1);
    assert!(!pair.runs());
    pair.server.run("/interface pppoe-server server enable [find service-name=isp]");
    pair.wait(20);
    assert!(pair.runs());
    // The interface below.
    pair.client.run("/interface ethernet disable ether2");
    pair.wait(12);
    assert!(!pair.runs());
    assert_eq!(id(&pair.server, "<pppoe-bob>"), None);
    pair.balanced();
}

#[test]
fn what_is_shown() {
    let mut pair = Pair::new("$C add-default-route=yes", "$S\n$P");
    for (server, command, lines) in [
        (true, "/ppp active print", &["bob", "pppoe", "02:00:00:00:00:02", "10.9.0.2"][..]),
        (true, "/interface pppoe-server print", &["DR", "<pppoe-bob>", "isp"]),
        (true, "/interface print", &["<pppoe-bob>", "pppoe-in"]),
        (true, "/ip address print", &["10.9.0.1/32", "10.9.0.2", "<pppoe-bob>"]),
        (false, "/interface pppoe-client print", &["R ", "pppoe-out1", "ether2"]),
        (false, "/interface print", &["pppoe-out1", "pppoe-out"]),
        (false, "/ip address print", &["10.9.0.2/32", "10.9.0.1", "pppoe-out1"]),
        (false, "/ip route print", &["0.0.0.0/0", "pppoe-out1", "10.9.0.1/32"]),
    ] {
        let rig = if server { &mut pair.server } else { &mut pair.client };
        let text = rig.run(command);
        for line in lines {
            assert!(text.contains(line), "{command}: {line} in\n{text}");
        }
    }
}

#[test]
fn what_cannot_be() {
    let mut rig = Rig::new(
        2,
        "/interface ipip add name=t remote-address=10.0.0.1\n$C".replace("$C", CLIENT).as_str(),
    );
    for (script, error) in [
        ("/interface pppoe-client add interface=t user=a", "carries no Ethernet frames"),
        ("/interface vlan add interface=pppoe-out1 vlan-id=5", "carries no Ethernet frames"),
        ("/interface pppoe-client add interface=ether1 allow=\"\"", "allow"),
        ("/ppp profile add name=p remote-address=pool1", "pool1"),
        ("/ppp profile add name=p rate-limit=fast", "max-limit"),
        ("/ppp profile add name=p bridge=bridge1", "BCP"),
        ("/ppp secret add name=a routes=x", "dst-address"),
        ("/ppp secret add name=a profile=none", "profile"),
        ("/interface pppoe-server add name=ether1", "already"),
    ] {
        let refused = rig.try_run(script).expect_err(script).to_string();
        assert!(refused.contains(error), "{script}: {refused}");
    }
}

/// Encrypted both ways: what is on the wire, and what comes out.
#[test]
fn an_encrypted_session() {
    let mut pair = Pair::new(
        "$C profile=default-encryption add-default-route=yes allow=mschap2",
        "$S default-profile=default-encryption authentication=mschap2\n$P\n\
         /ip route add dst-address=10.0.1.0/24 gateway=10.9.0.2",
    );
    assert!(pair.runs(), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
    let text = pair.server.run("/ppp active print");
    assert!(text.contains("MPPE128 stateless"), "{text}");
    for n in 0..600_u32 {
        let payload = n.to_be_bytes().repeat(10);
        let sent = datagram(&payload);
        let out = pair.pass(&sent.build());
        let arrived =
            craft::Frame { src_mac: own_mac(1), dst_mac: mac(2), ttl: 62, ..sent }.build();
        assert_eq!(out, [arrived], "{n} {:?}", pair.server.router.discards());
        let (_, frame) = &pair.seen[0];
        assert_eq!(frame[20..22], [0, 0xfd]);
        assert!(!frame.windows(40).any(|window| window == payload), "in the clear");
    }
    // 1,488 bytes fit.
    let long = vec![9; 1488 - 28];
    let fits = craft::Frame { dont_fragment: true, ..datagram(&long) };
    assert_eq!(pair.pass(&fits.build()).len(), 1);
    // What is in the clear is not taken, nor what cannot be decrypted.
    let (_, encrypted) = pair.seen[0].clone();
    let mut clear = encrypted.clone();
    clear[20..22].copy_from_slice(&[0, 0x21]);
    let mut flags = encrypted.clone();
    flags[22] = 0;
    for (frame, why) in [
        (clear, Discard::NotEncrypted),
        (flags, Discard::Undecryptable),
        (encrypted[..24].to_vec(), Discard::MalformedPppoe),
        (encrypted, Discard::Undecryptable),
    ] {
        let before = pair.server.router.discards().get(why);
        pair.server.send(2, &frame);
        pair.server.breathe();
        assert_eq!(pair.server.router.discards().get(why), before + 1, "{why:?}");
    }
    pair.balanced();
}

/// A server alone, and frames that nobody would send who keeps to the RFC.
#[test]
fn frames_of_others() {
    let host = MacAddr([6, 0, 0, 0, 0, 9]);
    let discovery = |dst: MacAddr, src: MacAddr, code, session, tags: &[(u16, &[u8])]| {
        let packet = Discovery::write(code, session, tags);
        [&dst.0[..], &src.0, &[0x88, 0x63], &packet].concat()
    };
    let data = |src: MacAddr, session: u16, ppp: &[u8]| {
        let header = pppoe::header(session, ppp.len() as u16);
        [&own_mac(2).0[..], &src.0, &[0x88, 0x64], &header, ppp].concat()
    };
    let script = format!("{SERVER} max-sessions=2\n{SECRET}");
    let mut rig = Rig::new(2, &script);
    let all = MacAddr::BROADCAST;
    // A storm of requests costs no memory.
    for n in 0..2000_u32 {
        let [_, b, c, d] = n.to_be_bytes();
        let from = MacAddr([6, 1, 0, b, c, d]);
        rig.send(2, &discovery(all, from, Code::Padi, 0, &[(tag::SERVICE_NAME, b"")]));
        rig.breathe();
        assert_eq!(rig.take(2).len(), 1);
    }
    rig.send(
        2,
        &discovery(all, host, Code::Padi, 0, &[(tag::SERVICE_NAME, b""), (tag::HOST_UNIQ, b"u")]),
    );
    rig.breathe();
    let pado = rig.take(2).pop().expect("an offer");
    let pado = Discovery::read(&pado[14..]).expect("an offer");
    assert_eq!(
        (pado.tag(tag::HOST_UNIQ), pado.tag(tag::SERVICE_NAME)),
        (Some(&b"u"[..]), Some(&b"isp"[..]))
    );
    let cookie = pado.tag(tag::AC_COOKIE).expect("a cookie").to_vec();
    let other = MacAddr([6, 0, 0, 0, 0, 10]);
    let request = |src, cookie: &[u8], uniq: &'static [u8]| {
        let tags =
            [(tag::SERVICE_NAME, &b""[..]), (tag::AC_COOKIE, cookie), (tag::HOST_UNIQ, uniq)];
        discovery(own_mac(2), src, Code::Padr, 0, &tags)
    };
    let cut = |bytes: Vec<u8>, n: usize| bytes[..bytes.len() - n].to_vec();
    for (what, frame, why, answers) in [
        ("no cookie", request(host, b"", b"1"), Some(Discard::BadPppoeCookie), 0),
        ("another's cookie", request(other, &cookie, b"1"), Some(Discard::BadPppoeCookie), 0),
        ("cut off", cut(request(host, &cookie, b"1"), 1), Some(Discard::MalformedPppoe), 0),
        (
            "to everybody",
            discovery(all, host, Code::Padr, 0, &[]),
            Some(Discard::MalformedPppoe),
            0,
        ),
        (
            "an answer nobody waits for",
            discovery(own_mac(2), host, Code::Pads, 7, &[]),
            Some(Discard::NoListener),
            0,
        ),
        (
            "another service",
            discovery(all, host, Code::Padi, 0, &[(tag::SERVICE_NAME, b"tv")]),
            Some(Discard::NoListener),
            0,
        ),
        ("no such session", data(host, 77, &[0, 0x21, 0x45]), Some(Discard::UnknownSession), 0),
        (
            "nor its end",
            discovery(own_mac(2), host, Code::Padt, 77, &[]),
            Some(Discard::UnknownSession),
            0,
        ),
        ("no protocol", data(host, 1, &[0]), Some(Discard::MalformedPppoe), 0),
        ("a request", request(host, &cookie, b"1"), None, 2), // the session, and a Configure-Request
        ("the same again", request(host, &cookie, b"1"), None, 1),
        ("before it is open", data(host, 1, &[0, 0x21, 0x45, 0]), Some(Discard::UnknownSession), 0),
        (
            "a forged end",
            discovery(own_mac(2), other, Code::Padt, 1, &[]),
            Some(Discard::UnknownSession),
            0,
        ),
        (
            "a forged packet",
            data(other, 1, &[0xc0, 0x21, 5, 1, 0, 4]),
            Some(Discard::UnknownSession),
            0,
        ),
        ("a second one", request(host, &cookie, b"2"), None, 2),
        ("too many", request(host, &cookie, b"3"), Some(Discard::TooManySessions), 1),
        ("what LCP cannot read", data(host, 1, &[0xc0, 0x21, 1, 1, 0, 99]), None, 0),
        ("the end", discovery(own_mac(2), host, Code::Padt, 1, &[]), None, 1),
    ] {
        let before = rig.router.discards().clone();
        rig.send(2, &frame);
        rig.breathe();
        let out = rig.take(2);
        assert_eq!(out.len(), answers, "{what}: {out:02x?}");
        let after = rig.router.discards();
        let new: Vec<Discard> =
            after.iter().filter(|(why, n)| before.get(*why) != *n).map(|(why, _)| why).collect();
        assert_eq!(new, why.into_iter().collect::<Vec<_>>(), "{what}");
    }
    assert!(rig.router.frames().balance());
}

/// Who asks, for which service, of a server with these settings: how many offers there are at once, and after the
/// 300 ms that they may wait.
#[test]
fn who_offers_when() {
    let padi = |n: u16, service: &[u8]| {
        let [hi, lo] = n.to_be_bytes();
        let packet = Discovery::write(Code::Padi, 0, &[(tag::SERVICE_NAME, service)]);
        [&[0xff; 6][..], &[6, 0, 0, 0, hi, lo], &[0x88, 0x63], &packet].concat()
    };
    for (settings, service, hosts, at_once, later) in [
        ("", &b""[..], 3, 3, 0),
        ("pado-delay=300", b"", 1, 0, 1),
        ("pado-delay=300", b"isp", 1500, 0, 1024),
        ("accept-empty-service=no", b"", 1, 0, 0),
        ("accept-empty-service=no", b"isp", 1, 1, 0),
    ] {
        let mut rig = Rig::new(2, &format!("{SERVER} {settings}\n{SECRET}"));
        let mut came = 0;
        for n in 0..hosts {
            rig.send(2, &padi(n, service));
            rig.breathe();
            came += rig.take(2).len();
        }
        assert_eq!(came, at_once, "{settings}");
        let refused: u64 = rig.router.discards().iter().map(|(_, n)| n).sum();
        assert_eq!(refused as usize, usize::from(hosts) - at_once - later, "{settings}");
        rig.wait(Duration::from_millis(299));
        assert_eq!(rig.take(2).len(), 0, "{settings}");
        rig.wait(Duration::from_millis(1));
        assert_eq!(rig.take(2).len(), later, "{settings}");
        assert!(rig.router.frames().balance());
    }
}

/// Packets both ways through a session, and others that come to the same port beside it: each quick way
/// does with all of them what the slow path does.
#[test]
fn quick_ways_know_sessions() {
    let profile = "/ppp profile add name=p change-tcp-mss=no";
    let rules = "/ip firewall filter\n\
                 add chain=forward in-interface=pppoe-out1\n\
                 add chain=forward in-interface=ether2\n\
                 add chain=forward out-interface=pppoe-out1";
    for script in [
        "",
        "/ip firewall connection tracking set enabled=yes",
        rules,
        &format!(
            "{rules}\nadd chain=forward action=fasttrack-connection connection-state=established"
        ),
        "/ip firewall nat add chain=srcnat out-interface=pppoe-out1 action=masquerade",
    ] {
        let of = |reference| {
            let client = format!("{profile}\n$C profile=p add-default-route=yes\n{script}");
            let route = "/ip route add dst-address=10.0.1.0/24 gateway=10.9.0.2";
            let mut pair =
                Pair::new(&client, &format!("{profile}\n$S default-profile=p\n$P\n{route}"));
            assert!(pair.runs());
            for rig in [&mut pair.client, &mut pair.server] {
                rig.router.set_reference(reference);
            }
            pair.client.run("/ip address add address=10.0.3.254/24 interface=ether2");
            pair.settle();
            let mut frames = Vec::new();
            for n in 0..40_u16 {
                let payload = vec![n as u8; usize::from(n % 7) * 100];
                let (host, server, beside) = (ip(10, 0, 1, 1), ip(10, 0, 2, 1), ip(10, 0, 3, 1));
                let port = 2000 + n % 3;
                let udp = |from: u8, src, dst, to| craft::Frame {
                    src_mac: mac(from),
                    dst_mac: to,
                    payload: &payload,
                    ..craft::udp(src, port, dst, port)
                };
                pair.client.send(1, &udp(1, host, server, own_mac(1)).build());
                pair.server.send(1, &udp(2, server, host, own_mac(1)).build());
                pair.client.send(2, &udp(3, beside, host, own_mac(2)).build());
                // The session's connection, beside the session.
                pair.client.send(2, &udp(3, server, host, own_mac(2)).build());
                pair.settle();
                frames.push((pair.client.take(1), pair.server.take(1)));
            }
            let seen = std::mem::take(&mut pair.seen);
            let discards =
                [&pair.client, &pair.server].map(|rig| format!("{:?}", rig.router.discards()));
            let counts = ["ether1", "ether2", "pppoe-out1"].map(|name| counts(&pair.client, name));
            let of_server =
                ["ether1", "ether2", "<pppoe-bob>"].map(|name| self::counts(&pair.server, name));
            let rules = pair.client.run("/ip firewall filter print stats");
            pair.balanced();
            (frames, seen, discards, counts, of_server, rules)
        };
        let (fast, slow) = (of(false), of(true));
        assert_eq!(fast.3, slow.3, "{script}: the client's interfaces");
        assert_eq!(fast.4, slow.4, "{script}: the server's interfaces");
        assert_eq!(fast.5, slow.5, "{script}: its rules");
        assert_eq!(fast.2, slow.2, "{script}: discards");
        assert!(fast.0 == slow.0 && fast.1 == slow.1, "{script}: frames");
        let [_, _, [rx, tx]] = fast.3;
        assert_eq!((rx.0, tx.0), (40, 40), "{script}");
    }
}
