//! MPLS: labels put on, switched and taken off, by each path alike; LDP between four of our routers in virtual time.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use router::ip::feed::Protocol;
use router::ip::route::Target;
use std::fmt::Write;
use std::time::Duration;
use wire::Ipv4Prefix;
use wire::arp::ArpMessage;
use wire::craft::{self, Frame, ip};
use wire::mpls::{ETHERTYPE_MPLS, Entry, Label};

/// One router between two: labels are typed.
const TYPED: &str = "/ip address
    add address=10.0.1.254/24 interface=ether1
    add address=10.0.2.254/24 interface=ether2
    /ip route
    add dst-address=10.1.0.0/16 gateway=10.0.2.1
    add dst-address=10.2.0.0/16 gateway=10.0.2.1
    add dst-address=10.3.0.0/16 gateway=10.0.2.1
    add dst-address=10.4.0.0/16 gateway=10.0.2.1,10.0.2.2
    /mpls local-bindings
    add dst-address=10.1.0.0/16 label=101
    add dst-address=10.2.0.0/16 label=102
    add dst-address=10.3.0.0/16 label=103
    add dst-address=10.4.0.0/16 label=104
    add dst-address=10.5.0.0/16 label=105
    add dst-address=10.0.1.0/24 label=106
    /mpls remote-bindings
    add dst-address=10.1.0.0/16 nexthop=10.0.2.1 label=201
    add dst-address=10.2.0.0/16 nexthop=10.0.2.1 label=impl-null
    add dst-address=10.4.0.0/16 nexthop=10.0.2.1 label=204
    add dst-address=10.4.0.0/16 nexthop=10.0.2.2 label=205";

fn typed(more: &str, reference: bool) -> Rig {
    let mut rig = Rig::new(2, &format!("{TYPED}\n{more}"));
    rig.router.set_reference(reference);
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig.introduce(2, mac(3), ip(10, 0, 2, 2), ip(10, 0, 2, 254));
    rig.wait(Duration::from_secs(1));
    rig
}

fn entry(label: u32, class: u8, is_bottom: bool, ttl: u8) -> [u8; 4] {
    Entry { label: Label::new(label).unwrap(), class, is_bottom, ttl }.bytes()
}

/// A frame of an IP packet with labels in front of it: label, class, TTL.
fn labelled(frame: &Frame<'_>, labels: &[(u32, u8, u8)]) -> Vec<u8> {
    let plain = frame.build();
    let mut bytes = plain[..12].to_vec();
    bytes.extend(ETHERTYPE_MPLS.to_be_bytes());
    for (n, &(label, class, ttl)) in labels.iter().enumerate() {
        bytes.extend(entry(label, class, n + 1 == labels.len(), ttl));
    }
    bytes.extend(&plain[14..]);
    bytes
}

fn to(dst: u32) -> Frame<'static> {
    let frame = craft::udp(ip(10, 0, 1, 1), 1000, dst, 2000);
    Frame { src_mac: mac(1), dst_mac: own_mac(1), payload: &[7; 40], ttl: 60, ..frame }
}

/// What leaves for the router behind the second port.
fn from<'a>(frame: &Frame<'a>, n: u8) -> Frame<'a> {
    Frame { src_mac: own_mac(2), dst_mac: mac(n), ..*frame }
}

/// By the slow path and by the fast one.
#[test]
fn labels_are_put_on_switched_and_taken_off() {
    let far = ip(10, 1, 2, 3);
    let last = ip(10, 2, 2, 3);
    let untold = ip(10, 3, 2, 3);
    let (a, b, c) = (to(far), to(last), to(untold));
    let down = |frame: &Frame<'static>, ttl| Frame { ttl, ..from(frame, 2) };
    let (swap, pop, none) = ("another label", "no label", "nobody told one");
    for (case, sent, expected) in [
        ("one is put on", a.build(), labelled(&down(&a, 59), &[(201, 0, 59)])),
        ("implicit null", b.build(), down(&b, 59).build()),
        (none, c.build(), down(&c, 59).build()),
        (swap, labelled(&a, &[(101, 5, 44)]), labelled(&from(&a, 2), &[(201, 5, 43)])),
        (
            "its stack stays",
            labelled(&a, &[(101, 0, 9), (77, 3, 200)]),
            labelled(&from(&a, 2), &[(201, 0, 8), (77, 3, 200)]),
        ),
        (pop, labelled(&b, &[(102, 0, 44)]), down(&b, 43).build()),
        ("a TTL does not rise", labelled(&b, &[(102, 0, 200)]), down(&b, 60).build()),
        (
            "the one below",
            labelled(&b, &[(102, 0, 44), (77, 3, 200)]),
            labelled(&from(&b, 2), &[(77, 3, 43)]),
        ),
        ("IP goes on", labelled(&c, &[(103, 0, 44)]), down(&c, 43).build()),
        ("explicit null", labelled(&c, &[(0, 0, 44)]), down(&c, 43).build()),
        (
            "explicit null, then one of ours",
            labelled(&a, &[(0, 0, 44), (101, 0, 90)]),
            labelled(&from(&a, 2), &[(201, 0, 43)]),
        ),
    ] {
        for reference in [true, false] {
            let mut rig = typed("", reference);
            for n in 0..3 {
                let out = rig.pass(1, &sent);
                let words = format!("{case}, {n}, slow path only: {reference}");
                let discards: Vec<_> = rig.router.discards().iter().collect();
                assert_eq!(out, [(2, expected.clone())], "{words}: {discards:?}");
            }
            let frames = rig.router.frames();
            assert!(frames.balance(), "{case}: {frames:?}");
        }
    }
}

#[test]
fn what_goes_no_further() {
    let far = to(ip(10, 1, 2, 3));
    let long = Frame { payload: &[7; 1490], ..far };
    let mut cut = labelled(&far, &[(101, 0, 9)]);
    cut.truncate(16);
    let mut endless = labelled(&far, &[(0, 0, 9); 12]);
    let at = 14 + 4 * 11 + 2;
    endless[at] &= 0xfe;
    let icmp = |kind: u8, code: u8| Some([kind, code]);
    for (case, sent, why, error) in [
        ("cut off", cut, Discard::MalformedLabel, None),
        ("too many", endless, Discard::MalformedLabel, None),
        ("unknown", labelled(&far, &[(999, 0, 9)]), Discard::UnknownLabel, None),
        ("no route", labelled(&far, &[(105, 0, 9)]), Discard::UnknownLabel, None),
        ("router alert", labelled(&far, &[(1, 0, 9)]), Discard::UnknownLabel, None),
        ("below none", labelled(&far, &[(103, 0, 9), (77, 0, 9)]), Discard::UnknownLabel, None),
        ("TTL", labelled(&far, &[(101, 0, 1)]), Discard::TtlExceeded, icmp(11, 0)),
        ("too long", labelled(&long, &[(101, 0, 9)]), Discard::FragmentationNeeded, icmp(3, 4)),
    ] {
        for reference in [true, false] {
            let mut rig = typed("", reference);
            rig.pass(1, &labelled(&far, &[(101, 0, 9)]));
            let out = rig.pass(1, &sent);
            let words = format!("{case}, slow path only: {reference}");
            assert_eq!(rig.router.discards().get(why), 1, "{words}: {:?}", rig.router.discards());
            let said: Vec<_> = out.iter().map(|(port, frame)| (*port, &frame[34..36])).collect();
            let expected: Vec<_> = error.iter().map(|error| (1, &error[..])).collect();
            assert_eq!(said, expected, "{words}");
            let frames = rig.router.frames();
            assert!(frames.balance(), "{words}: {frames:?}");
        }
    }
}

/// A pair of addresses has one of two ways, with its label, as packets without one have.
#[test]
fn several_ways_have_a_label_each() {
    let mut rig = typed("", false);
    let mut seen = [0; 2];
    for n in 0..40 {
        let frame = to(ip(10, 4, 0, n));
        let plain = rig.pass(1, &frame.build());
        let out = rig.pass(1, &labelled(&frame, &[(104, 0, 60)]));
        assert_eq!(plain[0].1[..18], out[0].1[..18], "{n}");
        let way = usize::from(out[0].1[..6] == mac(3).0);
        assert_eq!(out[0].1[14..18], entry(204 + way as u32, 0, true, 59), "{n}");
        seen[way] += 1;
    }
    assert!(seen.iter().all(|n| *n > 5), "{seen:?}");
}

/// `propagate-ttl=no`: a provider's routers are not seen from outside.
#[test]
fn ttls_stay_where_they_are() {
    let (far, last) = (to(ip(10, 1, 2, 3)), to(ip(10, 2, 2, 3)));
    for reference in [true, false] {
        let mut rig = typed("/mpls set propagate-ttl=no", reference);
        let pushed = Frame { ttl: 59, ..from(&far, 2) };
        for _ in 0..2 {
            assert_eq!(rig.pass(1, &far.build()), [(2, labelled(&pushed, &[(201, 0, 255)]))]);
            let out = rig.pass(1, &labelled(&last, &[(102, 0, 9)]));
            assert_eq!(out, [(2, from(&last, 2).build())]);
        }
    }
}

/// On VLANs; by recipes with tracking, NAT and a queue.
#[test]
fn labels_and_everything_else() {
    let far = to(ip(10, 1, 2, 3));
    let tracked = "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade
        /queue simple add target=10.0.1.1/32 max-limit=100M/100M";
    for reference in [true, false] {
        let mut rig = typed(tracked, reference);
        for n in 0..4 {
            let out = rig.pass(1, &far.build());
            let expected = Frame { src: ip(10, 0, 2, 254), ttl: 59, ..from(&far, 2) };
            assert_eq!(out, [(2, labelled(&expected, &[(201, 0, 59)]))], "{n} {reference}");
        }
        let replayed = rig.router.path_counts().replayed;
        assert_eq!(replayed > 0, !reference, "{replayed}");
    }
    let vlans = "/interface vlan add name=v vlan-id=7 interface=ether2
        /ip address set [find interface=ether2] interface=v";
    for reference in [true, false] {
        let mut rig = Rig::new(2, &format!("{TYPED}\n{vlans}"));
        rig.router.set_reference(reference);
        rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        let tag = Some(wire::vlan::Tci::new(7, 0));
        let request = craft::arp(ArpMessage::request(mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254)));
        rig.pass(2, &Frame { vlan: tag, ..request }.build());
        rig.wait(Duration::from_secs(1));
        for sent in [far.build(), labelled(&far, &[(101, 0, 60)])] {
            for n in 0..3 {
                let out = rig.pass(1, &sent);
                let mut expected = own_mac(2).0.to_vec();
                expected.extend([0x81, 0x00, 0, 7, 0x88, 0x47]);
                expected.extend(entry(201, 0, true, 59));
                assert_eq!(out.len(), 1, "{n} {reference}");
                assert_eq!(out[0].1[6..22], expected, "{n} {reference}");
            }
        }
        let v = rig.router.program().names.find("v").unwrap();
        let tx = rig.router.interface_counts(v).tx;
        let frame = far.build().len() as u64 + 4;
        assert_eq!(tx.bytes, 6 * frame + 60, "{reference}: {tx:?}");
    }
}

#[test]
fn fast_path_is_counted_and_can_be_closed() {
    for (more, reference, expected) in [
        ("", false, 5),
        ("", true, 5),
        ("/mpls set allow-fast-path=no", false, 0),
        ("/mpls set allow-fast-path=no", true, 0),
    ] {
        let mut rig = typed(more, reference);
        let far = to(ip(10, 1, 2, 3));
        for _ in 0..5 {
            rig.pass(1, &labelled(&far, &[(101, 0, 60)]));
        }
        // What gets a label is of IPv4's.
        rig.pass(1, &far.build());
        assert_eq!(rig.router.path_counts().ipv4_fast_path.packets, 1, "{more} {reference}");
        let count = rig.router.path_counts().mpls_fast_path;
        let len = far.build().len() as u64 - 14 + 4;
        assert_eq!((count.packets, count.bytes), (expected, expected * len), "{more} {reference}");
        let text = rig.run("/mpls print");
        assert!(text.contains(&format!("mpls-fast-path-packets: {expected}")), "{text}");
        let rx = rig.router.interface_counts(rig.ether(1)).fast_rx.packets;
        assert_eq!(rx - u64::from(rx > expected), expected, "{more} {reference}");
    }
}

/// Mixed batches keep their order.
#[test]
fn labelled_frames_and_others_in_turn() {
    let (far, last) = (to(ip(10, 1, 2, 3)), to(ip(10, 3, 2, 3)));
    for reference in [true, false] {
        let mut rig = typed("", reference);
        let sent: Vec<Vec<u8>> = (0..30u8)
            .map(|n| {
                let far = Frame { tos: n * 4, ..far };
                match n % 3 {
                    0 => labelled(&far, &[(101, 0, 60)]),
                    1 => Frame { tos: n * 4, ..last }.build(),
                    _ => far.build(),
                }
            })
            .collect();
        sent.iter().for_each(|frame| rig.send(1, frame));
        rig.breathe();
        let tos = |frame: &Vec<u8>| frame[if frame[12..14] == [0x88, 0x47] { 19 } else { 15 }] / 4;
        let order: Vec<u8> = rig.take(2).iter().map(tos).collect();
        assert_eq!(order, (0..30).collect::<Vec<_>>(), "{reference}");
    }
}

/// Routers in a row, a host at each end: 10.100.n.0/24 is between router n and n + 1.
struct Line {
    routers: Vec<Rig>,
    /// What went over each wire, to the right.
    seen: Vec<Vec<Vec<u8>>>,
    cut: Option<usize>,
}

const N: usize = 4;

impl Line {
    fn new(more: &str) -> Line {
        let router = |n: usize| {
            let mut rig = Rig::new(2, "");
            let left =
                if n == 0 { "10.0.1.254/24".into() } else { format!("10.100.{}.2/24", n - 1) };
            let right =
                if n + 1 == N { "10.0.2.254/24".into() } else { format!("10.100.{n}.1/24") };
            let mut script = format!(
                "/interface bridge add name=loopback protocol-mode=none
                 /ip address add address={left} interface=ether1
                 /ip address add address={right} interface=ether2
                 /ip address add address=10.255.0.{n}/32 interface=loopback
                 /mpls ldp set enabled=yes lsr-id=10.255.0.{n} transport-address=10.255.0.{n}\n"
            );
            if n > 0 {
                let to = format!("gateway=10.100.{}.1", n - 1);
                _ = writeln!(script, "/ip route add dst-address=10.0.1.0/24 {to}");
                _ = writeln!(script, "/mpls ldp interface add interface=ether1");
                for m in 0..n {
                    _ = writeln!(script, "/ip route add dst-address=10.255.0.{m}/32 {to}");
                }
            }
            if n + 1 < N {
                let to = format!("gateway=10.100.{n}.2");
                _ = writeln!(script, "/ip route add dst-address=10.0.2.0/24 {to}");
                _ = writeln!(script, "/mpls ldp interface add interface=ether2");
                for m in n + 1..N {
                    _ = writeln!(script, "/ip route add dst-address=10.255.0.{m}/32 {to}");
                }
            }
            rig.router.set_seed(n as u64);
            rig.run(&script);
            rig.run(&more.replace("$n", &n.to_string()));
            rig
        };
        let routers = (0..N).map(router).collect();
        let mut line = Line { routers, seen: vec![Vec::new(); N - 1], cut: None };
        line.introduce();
        line
    }

    fn introduce(&mut self) {
        for (n, port, host) in [(0, 1, ip(10, 0, 1, 1)), (N - 1, 2, ip(10, 0, 2, 1))] {
            let own = host + 253;
            let request = craft::arp(ArpMessage::request(mac(1), host, own)).build();
            self.routers[n].send(port, &request);
        }
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for n in 0..N {
                self.routers[n].breathe();
                for (port, to, at) in [(1, n.wrapping_sub(1), 2), (2, n + 1, 1)] {
                    if to >= N {
                        continue;
                    }
                    let wire = n.min(to);
                    for frame in self.routers[n].take(port) {
                        moved = true;
                        if self.cut != Some(wire) {
                            self.routers[to].send(at, &frame);
                        }
                        if to > n {
                            self.seen[wire].push(frame);
                        }
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn wait(&mut self, tenths: u64) {
        for _ in 0..tenths {
            for rig in &mut self.routers {
                rig.now = rig.now + Duration::from_millis(100);
            }
            self.settle();
        }
        self.introduce();
        self.routers[0].take(1);
        self.routers[N - 1].take(2);
    }

    /// Sends from the left host; what comes out for the right one, and the label on each wire.
    fn pass(&mut self) -> (usize, Vec<Option<u32>>) {
        let frame = craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000);
        let bytes = Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame }.build();
        self.seen.iter_mut().for_each(Vec::clear);
        self.routers[0].send(1, &bytes);
        self.settle();
        let of_it = |frame: &&Vec<u8>| frame.len() >= bytes.len();
        let label = |frame: &Vec<u8>| {
            let entry = Entry::read(*frame[14..].first_chunk().unwrap());
            (frame[12..14] == [0x88, 0x47]).then(|| entry.label.number())
        };
        let labels = self.seen.iter().map(|seen| seen.iter().rfind(of_it).and_then(label));
        let labels = labels.collect();
        let out = self.routers[N - 1].take(2);
        (out.iter().filter(|frame| frame[12..14] == [8, 0]).count(), labels)
    }

    fn state(&mut self) -> String {
        let mut text = String::new();
        for rig in &mut self.routers {
            let discards: Vec<_> = rig.router.discards().iter().collect();
            _ = write!(text, "\n===== {discards:?}");
            for menu in [
                "/mpls ldp neighbor print detail",
                "/mpls local-bindings print",
                "/mpls remote-bindings print",
                "/mpls forwarding-table print",
                "/log print",
            ] {
                _ = write!(text, "\n{}", rig.run(menu));
            }
        }
        text
    }
}

/// Each end of the tunnels that labels make has its own idea of its networks.
#[test]
fn routers_agree_upon_labels() {
    for (more, last) in [("", None), ("/mpls ldp set use-explicit-null=yes", Some(0))] {
        let mut line = Line::new(more);
        line.wait(30);
        for n in 0..N {
            let text = line.routers[n].run(":put [:len [/mpls ldp neighbor find operational]]");
            let neighbours = if n == 0 || n + 1 == N { "1\n" } else { "2\n" };
            assert_eq!(text, neighbours, "router {n}: {}", line.state());
        }
        for round in 0..4 {
            let (out, labels) = line.pass();
            assert_eq!(out, 1, "{round}: {labels:?} {}", line.state());
            let switched = |label: Option<u32>| label.is_some_and(|label| label >= 16);
            let is_so = switched(labels[0]) && switched(labels[1]) && labels[2] == last;
            assert!(is_so, "{labels:?} {}", line.state());
        }
        for rig in &line.routers {
            let frames = rig.router.frames();
            assert!(frames.balance(), "{frames:?} {:?}", rig.router.discards());
        }
    }
}

/// Without a session there are no labels, and packets go on by IP.
#[test]
fn labels_go_with_their_sessions() {
    let mut line = Line::new("/mpls ldp interface set [find] hello-interval=1s hold-time=4s");
    line.wait(30);
    let labels = |line: &mut Line| {
        let (out, labels) = line.pass();
        assert_eq!(out, 1, "{labels:?} {}", line.state());
        labels.iter().map(Option::is_some).collect::<Vec<_>>()
    };
    assert_eq!(labels(&mut line), [true, true, false], "{}", line.state());
    line.cut = Some(1);
    line.wait(60);
    line.cut = None;
    // Hellos come again, but a session that failed is begun anew no sooner than in five seconds.
    line.wait(5);
    line.pass();
    let after = labels(&mut line);
    assert!(!after[1], "{after:?} {}", line.state());
    line.wait(100);
    assert_eq!(labels(&mut line), [true, true, false], "{}", line.state());
    line.routers[1].run("/mpls ldp set enabled=no");
    line.wait(10);
    assert_eq!(labels(&mut line), [false, false, false], "{}", line.state());
    assert_eq!(line.routers[1].run("/mpls local-bindings print count-only"), "0\n");
    line.routers[1].run("/mpls ldp set enabled=yes");
    line.wait(100);
    assert_eq!(labels(&mut line), [true, true, false], "{}", line.state());
}

/// Networks that come and go have labels that come and go.
#[test]
fn labels_follow_routes() {
    let mut line = Line::new("");
    line.wait(30);
    let count = |line: &mut Line, n: usize, menu: &str, prefix: &str| {
        let find = format!(":put [:len [{menu} find dst-address={prefix}]]");
        line.routers[n].run(&find).trim().parse::<u32>().unwrap()
    };
    assert_eq!(count(&mut line, 0, "/mpls remote-bindings", "10.9.0.0/16"), 0);
    line.routers[1].run("/ip route add dst-address=10.9.0.0/16 gateway=10.100.1.2");
    line.wait(5);
    assert_eq!(count(&mut line, 1, "/mpls local-bindings", "10.9.0.0/16"), 1, "{}", line.state());
    assert_eq!(count(&mut line, 0, "/mpls remote-bindings", "10.9.0.0/16"), 1, "{}", line.state());
    assert_eq!(count(&mut line, 2, "/mpls remote-bindings", "10.9.0.0/16"), 1, "{}", line.state());
    line.routers[1].run("/ip route remove [find dst-address=10.9.0.0/16]");
    line.wait(5);
    for n in [0, 2] {
        let left = count(&mut line, n, "/mpls remote-bindings", "10.9.0.0/16");
        assert_eq!(left, 0, "{}", line.state());
    }
    // What is filtered is not told, or not kept.
    line.routers[1].run("/mpls ldp advertise-filter add prefix=10.0.2.0/24 advertise=no");
    line.wait(5);
    assert_eq!(count(&mut line, 0, "/mpls remote-bindings", "10.0.2.0/24"), 0, "{}", line.state());
    assert_eq!(line.pass().0, 1);
}

/// Whatever comes as a hello or in a session, nothing panics, and the session is there again afterwards.
#[test]
fn damaged_messages() {
    let mut line = Line::new("/mpls ldp interface set [find] hello-interval=1s hold-time=4s");
    let mut dice = 0x1234_5678_9abc_def0u64;
    for _ in 0..60 {
        line.wait(1);
        for rig in &mut line.routers {
            rig.now = rig.now + Duration::from_millis(50);
        }
        for n in 0..N - 1 {
            line.routers[n].breathe();
            for mut frame in line.routers[n].take(2) {
                dice = dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let is_ldp = frame[12..14] == [8, 0] && frame.len() > 60;
                if is_ldp {
                    let at = 42 + (dice >> 33) as usize % (frame.len() - 42);
                    frame[at] ^= 1 << (dice >> 20 & 7);
                    if frame[23] == 17 {
                        frame[40..42].fill(0);
                    }
                }
                line.routers[n + 1].send(1, &frame);
            }
        }
    }
    line.wait(100);
    let (out, labels) = line.pass();
    assert!(out == 1 && labels[0].is_some(), "{labels:?} {}", line.state());
}

/// Routes of the host's daemons have labels, but for BGP's; so have they where a label is told before the route is there.
#[test]
fn routes_that_were_fed_have_labels() {
    let ldp = "/mpls ldp set enabled=yes lsr-id=10.255.0.9
        /mpls remote-bindings add dst-address=10.8.0.0/16 nexthop=10.0.2.1 label=208";
    for reference in [true, false] {
        let mut rig = typed(ldp, reference);
        let target = Target::Gateways(vec![(rig.ether(2), ip(10, 0, 2, 1))]);
        let net = |n: u8| Ipv4Prefix::new(ip(10, n, 0, 0), 16);
        let fed = [(8, Protocol::Ospf), (9, Protocol::Bgp)];
        let fed = fed.map(|(n, protocol)| (net(n), target.clone(), protocol));
        rig.router.feed(fed).unwrap();
        rig.wait(Duration::from_secs(1));
        for (n, bindings, label) in [(8, "1\n", Some(208)), (9, "0\n", None)] {
            let find = format!(":put [:len [/mpls local-bindings find dst-address=10.{n}.0.0/16]]");
            assert_eq!(rig.run(&find), bindings, "{n}");
            let frame = to(ip(10, n, 0, 1));
            let down = Frame { ttl: 59, ..from(&frame, 2) };
            let expected = match label {
                Some(label) => labelled(&down, &[(label, 0, 59)]),
                None => down.build(),
            };
            assert_eq!(rig.pass(1, &frame.build()), [(2, expected)], "{n} {reference}");
        }
        assert_eq!(rig.router.withdraw_routes([net(8)]), 1);
        rig.wait(Duration::from_secs(1));
        let find = ":put [:len [/mpls local-bindings find dst-address=10.8.0.0/16]]";
        assert_eq!(rig.run(find), "0\n");
    }
}
