//! Tunnels: what is written around packets, what comes out again, when they run, and what is refused.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use router::interface::InterfaceId;
use std::time::Duration;
use wire::TcpFlags;
use wire::arp::ArpMessage;
use wire::craft::{self, ip};

/// Two routers, an underlay by their second ports, and a host at each one's first.
pub(crate) struct Pair {
    pub(crate) routers: [Rig; 2],
    /// What passed on the underlay, from the first or the second router, but for ARP.
    pub(crate) seen: Vec<(usize, Vec<u8>)>,
    /// Whether it loses everything.
    pub(crate) cut: bool,
    /// What it does to frames from one of them.
    pub(crate) changes: fn(usize, &mut [u8]),
}

/// Addresses of both: the underlay 192.168.0.n, the hosts' networks 10.0.n.0/24.
fn base(n: u8) -> String {
    format!(
        "/ip address add address=192.168.0.{n}/24 interface=ether2
         /ip address add address=10.0.{n}.254/24 interface=ether1"
    )
}

impl Pair {
    /// `script` is for both; `$me`, `$you` in it are 1 and 2, or 2 and 1.
    pub(crate) fn new(script: &str) -> Pair {
        let router = |n: u8| {
            let mut rig = Rig::new(2, "");
            rig.run(&at(&base(n), n));
            rig.run(&at(script, n));
            rig
        };
        let routers = [router(1), router(2)];
        let mut pair = Pair { routers, seen: Vec::new(), cut: false, changes: |_, _| () };
        pair.settle();
        for n in [1, 2] {
            let rig = &mut pair.routers[n - 1];
            let n = n as u8;
            let own = ip(10, 0, n, 254);
            rig.send(1, &craft::arp(ArpMessage::request(mac(n), ip(10, 0, n, 1), own)).build());
        }
        pair.settle();
        pair
    }

    /// Lets both breathe until nothing moves any more.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for n in 0..2 {
                self.routers[n].breathe();
                for mut frame in self.routers[n].take(2) {
                    moved = true;
                    (self.changes)(n, &mut frame);
                    if !self.cut {
                        self.routers[1 - n].send(2, &frame);
                    }
                    if frame[12..14] != [0x08, 0x06] {
                        self.seen.push((n, frame));
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds * 10 {
            for rig in &mut self.routers {
                rig.now = rig.now + Duration::from_millis(100);
            }
            self.settle();
        }
    }

    /// Sends from the first one's host; what comes out at the second one's, ARP left out.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.pass_from(0, bytes)
    }

    /// The same from the second one's.
    pub(crate) fn pass_back(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.pass_from(1, bytes)
    }

    fn pass_from(&mut self, n: usize, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.routers[1 - n].take(1);
        self.seen.clear();
        self.routers[n].send(1, bytes);
        self.settle();
        let all = self.routers[1 - n].take(1);
        all.into_iter().filter(|frame| frame[12..14] != [0x08, 0x06]).collect()
    }

    /// Of received and sent, those in FastPath.
    pub(crate) fn fast_counts(&self, n: usize, name: &str) -> [(u64, u64); 2] {
        let counts = self.routers[n].router.interface_counts(self.id(n, name));
        [counts.fast_rx, counts.fast_tx].map(|count| (count.packets, count.bytes))
    }

    pub(crate) fn counts(&self, n: usize, name: &str) -> [(u64, u64); 2] {
        let counts = self.routers[n].router.interface_counts(self.id(n, name));
        [(counts.rx.packets, counts.rx.bytes), (counts.tx.packets, counts.tx.bytes)]
    }

    fn id(&self, n: usize, name: &str) -> InterfaceId {
        self.routers[n].router.program().names.find(name).expect("the interface")
    }

    pub(crate) fn runs(&self, n: usize, name: &str) -> bool {
        self.routers[n].router.program().runs(self.id(n, name))
    }

    pub(crate) fn balanced(&mut self) {
        for rig in &mut self.routers {
            rig.take(1);
            let frames = rig.router.frames();
            assert!(frames.balance(), "{frames:?} {:?}", rig.router.discards());
            assert_eq!(rig.frames_in_use() as u64, frames.held, "{frames:?}");
        }
    }
}

fn at(script: &str, n: u8) -> String {
    script.replace("$me", &n.to_string()).replace("$you", &(3 - n).to_string())
}

const ENDS: &str = "local-address=192.168.0.$me remote-address=192.168.0.$you";

pub(crate) fn script(text: &str) -> String {
    text.replace("$ENDS", ENDS)
}

/// From host 1 to host 2, routed.
pub(crate) fn datagram(payload: &[u8]) -> craft::Frame<'_> {
    craft::Frame {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        payload,
        ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000)
    }
}

/// From host 2 to host 1.
pub(crate) fn answer(payload: &[u8]) -> craft::Frame<'_> {
    craft::Frame {
        src_mac: mac(2),
        dst_mac: own_mac(1),
        payload,
        ..craft::udp(ip(10, 0, 2, 1), 2000, ip(10, 0, 1, 1), 1000)
    }
}

/// What IP sees of it at the other host.
fn arrived<'a>(sent: &craft::Frame<'a>, ttl: u8) -> Vec<u8> {
    craft::Frame { src_mac: own_mac(1), dst_mac: mac(2), ttl, ..*sent }.build()
}

/// A tunnel `t` for both, where the inner packet begins in the underlay's frames, what stands
/// before it behind the outer IP header, and the outer protocol.
type Kind = (&'static str, usize, &'static [u8], u8);

const ROUTED: &[Kind] = &[
    ("/interface ipip add name=t $ENDS", 34, &[], 4),
    ("/interface gre add name=t $ENDS", 38, &[0, 0, 8, 0], 47),
    ("/interface eoip add name=t tunnel-id=258 $ENDS", 56, &[0x20, 1, 0x64, 0, 0, 142, 2, 1], 47),
    ("/interface ipip add name=t remote-address=192.168.0.$you", 34, &[], 4),
];

#[test]
fn routed() {
    for (tunnel, start, header, protocol) in ROUTED {
        let mut pair = Pair::new(&script(&format!(
            "{tunnel}
             /ip address add address=172.16.0.$me/30 interface=t
             /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you"
        )));
        assert!(pair.runs(0, "t") && pair.runs(1, "t"), "{tunnel}");
        let sent = craft::Frame { tos: 0xb8, ..datagram(&[7; 100]) };
        let out = pair.pass(&sent.build());
        assert_eq!(out, [arrived(&sent, 62)], "{tunnel}: {:?}", pair.routers[0].router.discards());
        let (from, frame) = pair.seen.last().expect("a frame");
        assert_eq!(*from, 0);
        assert_eq!(frame[23], *protocol, "{tunnel}");
        assert_eq!(frame[15], 0xb8, "DSCP is inherited");
        assert_eq!(frame[26..34], [192, 168, 0, 1, 192, 168, 0, 2]);
        assert_eq!(frame[34..34 + header.len()], **header, "{tunnel}");
        assert!(wire::checksum::is_ok(&frame[14..34]), "{tunnel}");
        let inner = craft::Frame { ttl: 63, ..sent }.build();
        assert_eq!(frame[*start..], inner[14..], "{tunnel}");

        // 1,500 bytes with DF are too long; without it they leave in pieces, and come out whole.
        let before = pair.counts(0, "t")[1];
        let long = craft::Frame { dont_fragment: true, ..datagram(&[9; 1472]) };
        assert_eq!(pair.pass(&long.build()), Vec::<Vec<u8>>::new());
        let answers = pair.routers[0].take(1);
        let icmp = answers.iter().find(|frame| frame[23] == 1).expect("an ICMP error");
        let mtu = u16::from_be_bytes([icmp[40], icmp[41]]);
        assert_eq!((&icmp[34..36], pair.counts(0, "t")[1]), (&[3, 4][..], before));
        let payload = vec![9; usize::from(mtu) - 28];
        let fits = craft::Frame { dont_fragment: true, ..datagram(&payload) };
        assert_eq!(pair.pass(&fits.build()), [arrived(&fits, 62)], "{tunnel} {mtu}");
        pair.balanced();
    }
}

/// The tunnel's own packets leave in pieces where the tunnel promises more than its way takes, and
/// are put together again.
#[test]
fn outer_fragments() {
    for (tunnel, ..) in ROUTED {
        for firewall in ["", "/ip firewall filter add chain=input action=accept"] {
            let mut pair = Pair::new(&script(&format!(
                "{tunnel} mtu=1500
                 {firewall}
                 /ip address add address=172.16.0.$me/30 interface=t
                 /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you"
            )));
            let sent = craft::Frame { dont_fragment: true, ..datagram(&[5; 1472]) };
            pair.pass(&datagram(&[]).build());
            assert_eq!(pair.pass(&sent.build()), [arrived(&sent, 62)], "{tunnel}");
            assert_eq!(pair.seen.len(), 2, "two pieces of {tunnel}");
            pair.balanced();
            // With `inherit` nothing may leave in pieces: the sender is told.
            let mut pair = Pair::new(&script(&format!(
                "{tunnel} mtu=1500 dont-fragment=inherit
                 /ip address add address=172.16.0.$me/30 interface=t
                 /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you"
            )));
            pair.pass(&datagram(&[]).build());
            assert_eq!(pair.pass(&sent.build()), Vec::<Vec<u8>>::new());
            let discards = pair.routers[0].router.discards();
            assert_eq!(discards.get(Discard::FragmentationNeeded), 1, "{tunnel}");
            pair.balanced();
        }
    }
}

/// EoIP is Ethernet: a bridge's port, with VLANs of its own, over a VLAN; and IPIP inside it.
#[test]
fn nested() {
    let cases = [
        // Both hosts in one bridged network.
        "/interface eoip add name=t tunnel-id=7 $ENDS
         /interface bridge add name=b protocol-mode=none
         /interface bridge port add bridge=b interface=ether1
         /interface bridge port add bridge=b interface=t",
        // The same with a VLAN of the tunnel.
        "/interface eoip add name=e tunnel-id=7 $ENDS
         /interface vlan add name=t interface=e vlan-id=30
         /interface bridge add name=b protocol-mode=none
         /interface bridge port add bridge=b interface=ether1
         /interface bridge port add bridge=b interface=t",
        // EoIP in IPIP over a VLAN.
        "/interface vlan add name=v interface=ether2 vlan-id=9
         /ip address add address=192.168.9.$me/24 interface=v
         /interface ipip add name=i local-address=192.168.9.$me remote-address=192.168.9.$you
         /ip address add address=172.16.0.$me/30 interface=i
         /interface eoip add name=t tunnel-id=0 local-address=172.16.0.$me remote-address=172.16.0.$you
         /interface bridge add name=b protocol-mode=none
         /interface bridge port add bridge=b interface=ether1
         /interface bridge port add bridge=b interface=t",
    ];
    for case in cases {
        let mut pair = Pair::new(&script(case));
        for len in [10, 400, 1472] {
            let bridged = craft::Frame { dst_mac: mac(2), ..datagram(&vec![3; len]) }.build();
            for _ in 0..3 {
                assert_eq!(pair.pass(&bridged), std::slice::from_ref(&bridged), "{case}");
            }
        }
        let [_, (frames, bytes)] = pair.counts(0, "t");
        let [(received, came), _] = pair.counts(1, "t");
        assert_eq!((frames, bytes), (received, came), "{case}");
        assert!(frames >= 9 && bytes >= 3 * (52 + 442 + 1514), "{case}: {frames} {bytes}");
        pair.balanced();
    }
}

/// The firewall sees the outer packet in output and input, the inner one in forward.
#[test]
fn firewall() {
    for (tunnel, _, _, protocol) in ROUTED {
        let rule = |chain: &str, port: &str| {
            format!("/ip firewall filter add chain={chain} action=passthrough {port}\n")
        };
        let mut pair = Pair::new(&script(&format!(
            "{tunnel} keepalive=0s,0
             /ip address add address=172.16.0.$me/30 interface=t
             /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you
             {}{}{}{}{}",
            rule("output", &format!("protocol={protocol}")),
            rule("input", &format!("protocol={protocol}")),
            rule("forward", "out-interface=t protocol=udp"),
            rule("forward", "in-interface=t protocol=udp"),
            rule("forward", &format!("protocol={protocol}")),
        )));
        pair.pass(&datagram(&[1; 20]).build());
        let reset: Vec<Vec<_>> = (0..2).map(|n| rules(&mut pair, n)).collect();
        for _ in 0..5 {
            assert_eq!(pair.pass(&datagram(&[1; 20]).build()).len(), 1);
        }
        let after: Vec<Vec<_>> = (0..2).map(|n| rules(&mut pair, n)).collect();
        let passed = |n: usize| -> Vec<u64> {
            after[n].iter().zip(&reset[n]).map(|(after, before)| after - before).collect()
        };
        assert_eq!(passed(0), [5, 0, 5, 0, 0], "{tunnel}");
        assert_eq!(passed(1), [0, 5, 0, 5, 0], "{tunnel}");
    }
}

fn rules(pair: &mut Pair, n: usize) -> Vec<u64> {
    let rig = &mut pair.routers[n];
    let counts = rig.router.rule_counts("/ip firewall filter", rig.console.tree());
    counts.iter().map(|count| count.packets).collect()
}

/// `clamp-tcp-mss`: what comes out of the tunnel promises no more than fits it.
#[test]
fn clamped() {
    for (clamp, mss) in [("yes", 1440), ("no", 1460)] {
        let mut pair = Pair::new(&script(&format!(
            "/interface ipip add name=t clamp-tcp-mss={clamp} $ENDS
             /ip address add address=172.16.0.$me/30 interface=t
             /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you"
        )));
        let tcp = craft::tcp(ip(10, 0, 1, 1), 1, ip(10, 0, 2, 1), 80, TcpFlags::SYN);
        let mut bytes =
            craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), payload: &[2, 4, 5, 180], ..tcp }
                .build();
        // The payload becomes options: an MSS of 1,460.
        bytes[46] = 6 << 4;
        bytes[50..52].fill(0);
        let sum = wire::checksum::tcp(ip(10, 0, 1, 1), ip(10, 0, 2, 1), &bytes[34..58]);
        bytes[50..52].copy_from_slice(&sum.to_be_bytes());
        let out = pair.pass(&bytes);
        let tcp = wire::Tcp::new(&out[0][34..58]).expect("TCP");
        assert_eq!(tcp.mss(), Some(mss));
        assert!(tcp.checksum_ok(ip(10, 0, 1, 1), ip(10, 0, 2, 1)));
    }
}

/// Without a route a tunnel is down, and so is what stands on it; keepalives bring it down when they
/// stay unanswered, and up when they are answered again.
#[test]
fn up_and_down() {
    for tunnel in ["ipip add name=t", "gre add name=t", "eoip add name=t tunnel-id=1"] {
        let mut pair = Pair::new(&script(&format!(
            "/interface {tunnel} keepalive=2s,3 $ENDS
             /ip address add address=172.16.0.$me/30 interface=t"
        )));
        pair.wait(60);
        assert!(pair.runs(0, "t") && pair.runs(1, "t"), "{tunnel}: answered");
        pair.cut = true;
        pair.wait(5);
        assert!(pair.runs(0, "t"), "{tunnel}: two of three missed");
        pair.wait(4);
        assert!(!pair.runs(0, "t") && !pair.runs(1, "t"), "{tunnel}: three missed");
        pair.cut = false;
        pair.wait(3);
        assert!(pair.runs(0, "t") && pair.runs(1, "t"), "{tunnel}: heard again");

        let rig = &mut pair.routers[0];
        rig.run("/ip address remove [find interface=ether2]");
        rig.wait(Duration::from_millis(200));
        assert!(!pair.runs(0, "t"), "{tunnel}: no route");
        let rig = &mut pair.routers[0];
        let printed = rig.run("/ip route print");
        assert!(!printed.contains("ADC  172.16.0.0/30"), "{printed}");
        rig.run("/ip address add address=192.168.0.1/24 interface=ether2");
        assert!(pair.runs(0, "t"), "{tunnel}: a route again");
        let log = pair.routers[0].run("/log print");
        assert!(log.contains("t link down") && log.contains("t link up"), "{log}");
        pair.wait(1);
        pair.balanced();
    }
}

/// A tunnel that leads to itself, and two that lead into each other, drop and say so.
#[test]
fn loops() {
    let cases = [
        "/interface ipip add name=t local-address=192.168.0.1 remote-address=192.168.5.5
         /ip route add dst-address=192.168.5.0/24 gateway=192.168.0.9
         /ip address add address=192.168.5.1/30 interface=t
         /ip route add dst-address=192.168.5.5/32 gateway=t
         /ip route add dst-address=10.0.2.0/24 gateway=t",
        "/interface gre add name=t local-address=192.168.0.1 remote-address=192.168.5.5
         /interface gre add name=u local-address=192.168.0.1 remote-address=192.168.6.6
         /ip route add dst-address=192.168.5.5/32 gateway=192.168.0.9 distance=2
         /ip route add dst-address=192.168.6.6/32 gateway=192.168.0.9 distance=2
         /ip route add dst-address=192.168.5.5/32 gateway=u
         /ip route add dst-address=192.168.6.6/32 gateway=t
         /ip route add dst-address=10.0.2.0/24 gateway=t",
    ];
    for case in cases {
        let mut rig = Rig::new(2, &base(1));
        rig.run(case);
        rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        rig.wait(Duration::from_millis(500));
        let before = rig.router.discards().get(Discard::TunnelLoop);
        let out = rig.pass(1, &datagram(&[0; 1000]).build());
        assert_eq!(out, [], "{case}");
        let loops = rig.router.discards().get(Discard::TunnelLoop) - before;
        assert!((1..=4).contains(&loops), "{case}: {loops} {:?}", rig.router.discards());
        let frames = rig.router.frames();
        assert!(frames.balance(), "{case}: {frames:?}");
    }
}

/// What is no packet of a tunnel of ours ends by name, whatever it claims.
#[test]
fn hostile() {
    let mut pair = Pair::new(&script(
        "/interface gre add name=g $ENDS
         /interface eoip add name=e tunnel-id=5 $ENDS
         /interface ipip add name=i $ENDS",
    ));
    let cases: &[(u8, &[u8], Discard)] = &[
        (47, &[], Discard::MalformedTunnel),
        (47, &[0x20, 1, 0x64, 0, 0xff, 0xff, 5, 0], Discard::MalformedTunnel),
        (47, &[0x20, 1, 0x64, 0, 0, 0, 6, 0], Discard::NoListener),
        (47, &[0x20, 1, 0x64, 0, 0, 5, 5, 0, 1, 2, 3, 4, 5], Discard::MalformedEthernet),
        (47, &[0x20, 0, 8, 0, 0, 0, 0, 1, 0x45], Discard::NoListener),
        (47, &[0, 0, 8, 0, 0x45, 0], Discard::MalformedIpv4),
        (47, &[0, 0, 0x65, 0x58, 0x45, 0], Discard::UnknownProtocol),
        (4, &[0x45, 0, 0, 19, 0, 0, 0, 0, 0, 0], Discard::MalformedIpv4),
    ];
    for (protocol, payload, why) in cases {
        let before = pair.routers[1].router.discards().get(*why);
        let mut frame = craft::Frame {
            src_mac: own_mac(2),
            dst_mac: own_mac(2),
            payload,
            ..craft::udp(ip(192, 168, 0, 1), 0, ip(192, 168, 0, 2), 0)
        }
        .build();
        // A UDP header less.
        frame.drain(34..42);
        frame[23] = *protocol;
        let total = (20 + payload.len()) as u16;
        frame[16..18].copy_from_slice(&total.to_be_bytes());
        frame[24..26].fill(0);
        let sum = wire::checksum::of(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        pair.routers[1].send(2, &frame);
        pair.settle();
        let discards = pair.routers[1].router.discards();
        assert_eq!(discards.get(*why), before + 1, "{payload:02x?} {discards:?}");
    }
    pair.balanced();
    // Tunnels in tunnels in tunnels: the same packet around itself, again and again.
    let mut inner = Vec::new();
    for _ in 0..60 {
        let total = (20 + inner.len()) as u16;
        let mut header =
            vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 4, 0, 0, 192, 168, 0, 1, 192, 168, 0, 2];
        header[2..4].copy_from_slice(&total.to_be_bytes());
        let sum = wire::checksum::of(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        inner = [header, inner].concat();
    }
    let frame = [&own_mac(2).0[..], &own_mac(2).0, &[8, 0], &inner].concat();
    pair.routers[1].send(2, &frame);
    pair.settle();
    assert_eq!(pair.routers[1].router.discards().get(Discard::TunnelLoop), 1);
    pair.balanced();
}

#[test]
fn refused() {
    let mut rig = Rig::new(2, "/interface gre add name=g remote-address=10.0.0.1");
    for (line, why) in [
        ("/interface gre add", "remote-address"),
        ("/interface gre add remote-address=0.0.0.0", "no host"),
        ("/interface gre add remote-address=10.0.0.1", "g has these ends already"),
        ("/interface ipip add remote-address=10.0.0.1 local-address=10.0.0.1", "to itself"),
        ("/interface eoip add remote-address=10.0.0.1", "tunnel-id"),
        ("/interface ipip add remote-address=10.0.0.2 keepalive=often", "10s,10"),
        ("/interface ipip add name=g remote-address=10.0.0.2", "already have"),
        ("/interface vlan add interface=g vlan-id=5", "carries no Ethernet frames"),
        (
            "/interface bridge add name=b; /interface bridge port add bridge=b interface=g",
            "carries no Ethernet frames",
        ),
    ] {
        match rig.try_run(line) {
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(why), "{line}: {text}");
            }
            Ok(_) => panic!("{line} was taken"),
        }
    }
    let printed = rig.run("/interface print");
    assert!(printed.contains("gre-tunnel"), "{printed}");
    let exported = rig.run("/interface gre export");
    assert!(exported.contains("add name=g remote-address=10.0.0.1"), "{exported}");
}

/// An EoIP tunnel without a MAC address has the same after a start from an export, whatever was there before
/// it (the swarm's seed 20087).
#[test]
fn the_same_address_after_a_start() {
    let eoip = "/interface eoip add name=e remote-address=10.0.0.2 tunnel-id=1";
    let before = [
        "",
        "/interface bridge add name=b\n",
        "/interface gre add name=g remote-address=10.0.0.3\n",
    ];
    let macs = before.map(|before| {
        let mut rig = Rig::new(1, &format!("{before}{eoip}"));
        rig.run(":put [/interface eoip get e mac-address]")
    });
    assert!(macs.iter().all(|mac| mac.trim().len() == 17 && *mac == macs[0]), "{macs:?}");
}

/// Outer packets that come by a bridge without FastPath are none of it, whether or not its port learns.
#[test]
fn a_bridge_without_fast_path_counts_none() {
    for (learn, allow, fast) in [("yes", "no", "0"), ("no", "no", "0"), ("no", "yes", "6")] {
        for reference in [false, true] {
            let script = format!(
                "/interface bridge add protocol-mode=none
                 /interface bridge port add bridge=bridge1 interface=ether1 learn={learn}
                 /interface bridge settings set allow-fast-path={allow}
                 /ip address add address=10.0.1.254/24 interface=bridge1
                 /ip address add address=10.0.2.254/24 interface=ether2
                 /interface ipip add name=t local-address=10.0.1.254 remote-address=10.0.1.1 \
                     keepalive=0s,0 allow-fast-path=yes
                 /ip address add address=10.9.0.1/24 interface=t"
            );
            let mut rig = Rig::new(2, &script);
            rig.router.set_reference(reference);
            rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
            rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
            let inner = craft::udp(ip(10, 9, 0, 2), 1, ip(10, 0, 2, 1), 2).build()[14..].to_vec();
            let body = craft::Body::Ip { protocol: 4 };
            let outer = craft::udp(ip(10, 0, 1, 1), 0, ip(10, 0, 1, 254), 0);
            let (src_mac, dst_mac) = (mac(1), own_mac(1));
            let outer = craft::Frame { src_mac, dst_mac, body, payload: &inner, ..outer }.build();
            for _ in 0..6 {
                assert_eq!(rig.pass(1, &outer).len(), 1, "{:?}", rig.router.discards());
            }
            let counted = rig.run(":put [/interface get bridge1 fp-rx-packet]");
            assert_eq!(counted.trim(), fast, "learn={learn} allow={allow} {reference}");
        }
    }
}
