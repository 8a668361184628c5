//! Virtual routers: who has the addresses, how long hosts are without, and what is refused.

use crate::ipv6::{Sent, ip6, says, solicitation};
use crate::rig::{Rig, mac};
use router::discard::Discard;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use wire::arp::ArpMessage;
use wire::craft::{self, ip};
use wire::icmpv6::{Neighbour, group_mac, kind, solicited_node};
use wire::ipv6::header;
use wire::vrrp::{self, Advertisement, Authentication};
use wire::{Ipv6, MacAddr, Moment, ah};

/// Two routers and a host on one network, by their first ports.
struct Lan {
    routers: Vec<Rig>,
    /// Those whose cable is cut.
    cut: [bool; 2],
    /// What passed, when, and from whom.
    seen: Vec<(Moment, usize, Vec<u8>)>,
}

const VIRTUAL: u32 = 0xc0a8_0064; // 192.168.0.100
const MAC: MacAddr = vrrp::mac(49);

impl Lan {
    /// Routers 192.168.0.1 and .2, each with its own properties of `/interface vrrp`.
    fn new(on: &str, properties: [&str; 2]) -> Lan {
        let router = |(n, properties): (usize, &&str)| {
            let mut rig = Rig::new(2, "");
            if on == "bridge1" {
                rig.run("/interface bridge add protocol-mode=none");
                rig.run("/interface bridge port add bridge=bridge1 interface=ether1");
            }
            rig.run(&format!("/ip address add address=192.168.0.{n}/24 interface={on}"));
            rig.run(&format!("/interface vrrp add interface={on} vrid=49 {properties}"));
            rig.run("/ip address add address=192.168.0.100/32 interface=vrrp1");
            rig
        };
        let routers = (1..).zip(&properties).map(router).collect();
        Lan { routers, cut: [false; 2], seen: Vec::new() }
    }

    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for n in 0..2 {
                self.routers[n].breathe();
                for frame in self.routers[n].take(1) {
                    moved = true;
                    if self.cut[n] {
                        continue;
                    }
                    if !self.cut[1 - n] {
                        self.routers[1 - n].send(1, &frame);
                    }
                    self.seen.push((self.routers[n].now, n, frame));
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn wait(&mut self, ms: u64) {
        for _ in 0..ms {
            for rig in &mut self.routers {
                rig.now = rig.now + Duration::from_millis(1);
            }
            self.settle();
        }
    }

    /// The host's frame reaches both; which of them answered it, and what.
    fn ask(&mut self, frame: &[u8]) -> Vec<(usize, Vec<u8>)> {
        self.seen.clear();
        for n in 0..2 {
            if !self.cut[n] {
                self.routers[n].send(1, frame);
            }
        }
        self.settle();
        let seen = self.seen.drain(..).map(|(_, n, frame)| (n, frame));
        seen.filter(|(_, frame)| frame[..6] == mac(9).0).collect()
    }

    /// Who says that it has the virtual address, by ARP, and answers a ping to it.
    fn owner(&mut self) -> Option<usize> {
        let host = ip(192, 168, 0, 9);
        let answers = self.ask(&craft::arp(ArpMessage::request(mac(9), host, VIRTUAL)).build());
        assert!(answers.len() <= 1, "{answers:02x?}");
        let (owner, answer) = answers.first()?;
        assert_eq!(answer[6..12], MAC.0, "from the virtual address");
        assert_eq!(answer[22..28], MAC.0, "which is the answer");
        for n in 0..2 {
            // Both know the host.
            let own = ip(192, 168, 0, n + 1);
            self.ask(&craft::arp(ArpMessage::request(mac(9), host, own)).build());
        }
        let ping =
            craft::Frame { src_mac: mac(9), dst_mac: MAC, ..craft::ping(host, VIRTUAL) }.build();
        let pongs = self.ask(&ping);
        assert_eq!(pongs.len(), 1, "{pongs:02x?}");
        assert_eq!((pongs[0].0, &pongs[0].1[26..30]), (*owner, &VIRTUAL.to_be_bytes()[..]));
        Some(*owner)
    }

    fn balanced(&self) {
        for rig in &self.routers {
            let frames = rig.router.frames();
            assert!(frames.balance(), "{frames:?} {:?}", rig.router.discards());
        }
    }
}

#[test]
fn the_better_one_has_the_addresses() {
    for on in ["ether1", "bridge1"] {
        let proven =
            ["simple", "ah"].map(|how| format!("version=2 authentication={how} password=abc"));
        for version in ["version=3", "version=2", &proven[0], &proven[1]] {
            let properties = ["priority=200", "priority=100"].map(|p| format!("{p} {version}"));
            let mut lan = Lan::new(on, [&properties[0], &properties[1]]);
            lan.wait(1);
            assert_eq!(lan.owner(), None, "nobody before the others had time to speak");
            lan.wait(3300);
            assert_eq!(lan.owner(), Some(0), "{on} {version}");
            lan.wait(20_000);
            assert_eq!(lan.owner(), Some(0), "{on} {version}");
            let flags = lan.routers[0].run("/interface vrrp print");
            assert!(flags.contains("RM"), "{flags}");
            let flags = lan.routers[1].run("/interface vrrp print");
            assert!(flags.contains(" B "), "{flags}");
            let paths = lan.routers[1].run("/ip route print");
            assert!(!paths.contains("192.168.0.100"), "{paths}");
            lan.balanced();
        }
    }
}

/// What is advertised, as it stands on the wire.
#[test]
fn advertisements() {
    let mut lan =
        Lan::new("ether1", ["priority=255 interval=200ms", "priority=100 interval=200ms"]);
    lan.routers[0].run("/interface vrrp disable vrrp1");
    lan.wait(1);
    lan.seen.clear();
    lan.routers[0].run("/interface vrrp enable vrrp1");
    lan.wait(5);
    let gratuitous = lan.seen.iter().find(|(_, _, frame)| frame[12..14] == [8, 6]).expect("ARP");
    assert_eq!(gratuitous.2[..12], [&[0xff; 6][..], &MAC.0].concat()[..]);
    assert_eq!(gratuitous.2[38..42], VIRTUAL.to_be_bytes());
    lan.wait(1994);
    let advertised: Vec<_> = lan.seen.iter().filter(|(_, _, f)| f[12..14] == [8, 0]).collect();
    assert_eq!(advertised.len(), 10, "one in 200 ms");
    for (_, n, frame) in &advertised {
        assert_eq!((*n, &frame[..6]), (0, &[1, 0, 0x5e, 0, 0, 0x12][..]));
        assert_eq!((&frame[6..12], frame[22], frame[23]), (&MAC.0[..], 255, 112));
        let src = Ipv4Addr::new(192, 168, 0, 1).into();
        let said = Advertisement::read(&frame[34..], src).expect("an advertisement");
        assert_eq!((said.vrid, said.priority, said.interval_cs), (49, 255, 20));
        assert_eq!(said.addresses, [IpAddr::from(Ipv4Addr::from(VIRTUAL))]);
    }
}

/// The master's cable is cut: the backup takes over after three intervals and its skew. The master
/// comes back: it takes over again at its first word, or never if it does not preempt.
#[test]
fn failover() {
    for (interval_ms, polite) in [(1000, false), (100, false), (100, true)] {
        let preempts = if polite { " preemption-mode=no" } else { "" };
        let properties =
            ["200", "100"].map(|p| format!("priority={p} interval={interval_ms}ms{preempts}"));
        let mut lan = Lan::new("ether1", [&properties[0], &properties[1]]);
        lan.wait(interval_ms * 10);
        assert_eq!(lan.owner(), Some(0));
        lan.cut[0] = true;
        lan.routers[0].run("/interface ethernet disable ether1");
        let skew = interval_ms * (256 - 100) / 256;
        let longest = interval_ms * 3 + skew;
        let mut without = 0;
        while lan.owner() != Some(1) {
            lan.wait(1);
            without += 1;
            assert!(without <= longest + 2, "{without} ms and nobody has the address");
        }
        assert!(without >= interval_ms * 2, "{without} ms");
        lan.cut[0] = false;
        lan.routers[0].run("/interface ethernet enable ether1");
        lan.wait(interval_ms * 8);
        let expected = if polite { 1 } else { 0 };
        assert_eq!(lan.owner(), Some(expected), "{interval_ms} {polite}");
        // One that goes says so, and the other one need not wait.
        lan.wait(interval_ms);
        lan.routers[expected].run("/interface vrrp disable vrrp1");
        lan.wait(interval_ms + 2);
        assert_eq!(lan.owner(), Some(1 - expected), "{interval_ms} {polite}");
        lan.balanced();
    }
}

#[test]
fn scripts() {
    let properties = ["200", "100"]
        .map(|p| format!("priority={p} interval=100ms on-master=\"up\" on-backup=\"wait\""));
    let mut lan = Lan::new("ether1", [&properties[0], &properties[1]]);
    let ran = |lan: &mut Lan, n: usize| -> Vec<String> {
        lan.wait(1000);
        std::iter::from_fn(|| lan.routers[n].router.take_script())
            .map(|wanted| {
                assert_eq!(wanted.who, "vrrp vrrp1");
                wanted.script
            })
            .collect()
    };
    assert_eq!(ran(&mut lan, 0), ["wait", "up"]);
    assert_eq!(ran(&mut lan, 1), ["wait"]);
    lan.cut[0] = true;
    lan.routers[0].run("/interface ethernet disable ether1");
    assert_eq!(ran(&mut lan, 1), ["up"]);
    lan.cut[0] = false;
    lan.routers[0].run("/interface ethernet enable ether1");
    assert_eq!(ran(&mut lan, 0), ["wait", "up"]);
    assert_eq!(ran(&mut lan, 1), ["wait"]);
}

/// What hosts send to the virtual address is routed, in FastPath from the second packet on.
#[test]
fn routed() {
    for rule in ["", "/ip firewall filter add chain=forward action=accept"] {
        let mut rig = Rig::new(2, rule);
        rig.run("/ip address add address=192.168.0.1/24 interface=ether1");
        rig.run("/ip address add address=10.0.2.254/24 interface=ether2");
        rig.run("/interface vrrp add interface=ether1 vrid=49 priority=255");
        rig.run("/ip address add address=192.168.0.100/32 interface=vrrp1");
        rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
        rig.wait(Duration::from_millis(10));
        rig.take(1);
        let udp = craft::udp(ip(192, 168, 0, 9), 1000, ip(10, 0, 2, 1), 2000);
        let frame = craft::Frame { src_mac: mac(9), dst_mac: MAC, ..udp }.build();
        for _ in 0..10 {
            let out = rig.pass(1, &frame);
            assert_eq!((out.len(), out[0].0), (1, 2), "{:?}", rig.router.discards());
        }
        let paths = rig.router.path_counts();
        let quick = paths.replayed + paths.ipv4_fast_path.packets;
        assert!(quick >= 8, "{rule}: {paths:?}");
        let id = rig.router.program().names.find("vrrp1").unwrap();
        assert_eq!(rig.router.interface_counts(id).rx.packets, 10);
        assert!(rig.router.frames().balance());
    }
}

/// What is no advertisement for this virtual router changes nothing, and is counted.
#[test]
fn hostile() {
    let mut lan = Lan::new("ether1", ["priority=100", "priority=90 disabled=yes"]);
    lan.wait(4000);
    assert_eq!(lan.owner(), Some(0));
    let src = ip(192, 168, 0, 7);
    let good = Advertisement {
        version: 3,
        vrid: 49,
        priority: 250,
        interval_cs: 100,
        addresses: vec![Ipv4Addr::from(VIRTUAL).into()],
        authentication: Authentication::None,
    };
    let bytes = good.to_bytes(Ipv4Addr::from(src).into());
    let mut broken = bytes.clone();
    broken[2] ^= 1;
    let other_version =
        Advertisement { version: 2, ..good.clone() }.to_bytes(Ipv4Addr::from(src).into());
    let other_router =
        Advertisement { vrid: 50, ..good.clone() }.to_bytes(Ipv4Addr::from(src).into());
    for (payload, ttl, why) in [
        (&bytes[..], 254, Discard::BadVrrp),
        (&broken, 255, Discard::BadVrrp),
        (&bytes[..9], 255, Discard::BadVrrp),
        (&[], 255, Discard::BadVrrp),
        (&other_version, 255, Discard::BadVrrp),
        (&other_router, 255, Discard::NoListener),
    ] {
        let frame = advertisement(src, payload, ttl);
        let before = lan.routers[0].router.discards().get(why);
        lan.ask(&frame);
        let discards = lan.routers[0].router.discards();
        assert_eq!(discards.get(why), before + 1, "{payload:02x?} {discards:?}");
        assert_eq!(lan.owner(), Some(0));
    }
    lan.ask(&advertisement(src, &bytes, 255));
    lan.wait(2);
    assert_eq!(lan.owner(), None, "a better one was heard");
    lan.balanced();
}

/// `authentication=ah`: what another one, an older one, or nobody has sealed.
#[test]
fn what_is_not_proven_is_not_believed() {
    let with = "version=2 authentication=ah password=abc";
    let mut lan = Lan::new("ether1", [&format!("priority=100 {with}"), "disabled=yes"]);
    lan.wait(6000);
    assert_eq!(lan.owner(), Some(0));
    let src = ip(192, 168, 0, 7);
    let said = |authentication| {
        let (version, vrid, priority, interval_cs) = (2, 49, 250, 100);
        let addresses = vec![Ipv4Addr::from(VIRTUAL).into()];
        Advertisement { version, vrid, priority, interval_cs, addresses, authentication }
            .to_bytes(Ipv4Addr::from(src).into())
    };
    let sealed = |sequence: u32, next_header: u8, key: &[u8]| {
        let header = ah::Header { next_header, spi: src, sequence }.to_bytes();
        let payload = [&header[..], &said(Authentication::Header)].concat();
        let mut frame = packet(src, &payload, 255, 51);
        ah::seal(&mut frame[14..], key);
        frame
    };
    for frame in [
        sealed(100, 112, b"abd"),
        sealed(100, 17, b"abc"),
        sealed(0, 112, b"abc"),
        sealed(100, 112, b"abc")[..50].to_vec(),
        advertisement(src, &said(Authentication::Header), 255),
        advertisement(src, &said(Authentication::None), 255),
        advertisement(src, &said(Authentication::Simple(*b"abc\0\0\0\0\0")), 255),
    ] {
        let before = lan.routers[0].router.discards().total();
        lan.ask(&frame);
        let discards = lan.routers[0].router.discards();
        assert_eq!(discards.total(), before + 1, "{frame:02x?} {discards:?}");
        assert_eq!(lan.owner(), Some(0));
    }
    lan.ask(&sealed(100, 112, b"abc"));
    lan.wait(2);
    assert_eq!(lan.owner(), None, "a better one was heard");
    lan.balanced();
}

fn advertisement(src: u32, payload: &[u8], ttl: u8) -> Vec<u8> {
    packet(src, payload, ttl, 112)
}

fn packet(src: u32, payload: &[u8], ttl: u8, protocol: u8) -> Vec<u8> {
    let (src_mac, dst_mac) = (mac(7), MacAddr([1, 0, 0x5e, 0, 0, 0x12]));
    let body = craft::Body::Ip { protocol };
    craft::Frame {
        src_mac,
        dst_mac,
        src,
        dst: vrrp::GROUP,
        ttl,
        body,
        payload,
        ..Default::default()
    }
    .build()
}

#[test]
fn refused() {
    let mut rig = Rig::new(2, "/interface vrrp add name=v interface=ether1 vrid=5");
    rig.run("/interface gre add name=g remote-address=10.0.0.1");
    for (line, why) in [
        ("/interface vrrp add interface=ether1 vrid=5", "v has this vrid on ether1 already"),
        ("/interface vrrp add interface=ether1 vrid=256", "out of range"),
        ("/interface vrrp add interface=ether2 interval=1ms", "interval out of range"),
        ("/interface vrrp add interface=ether2 version=2 interval=1500ms", "whole seconds"),
        ("/interface vrrp add interface=ether2 interval=41s", "at most 40.95s"),
        ("/interface vrrp add interface=ether2 authentication=simple", "no authentication"),
        ("/interface vrrp add interface=ether2 authentication=ah", "no authentication"),
        ("/interface vrrp add interface=ether2 version=2 password=123456789", "longer than 8"),
        ("/interface vrrp add interface=g", "carries no Ethernet frames"),
        ("/interface vrrp add interface=ether2 v3-protocol=ipv6 version=2", "knows no IPv6"),
        ("/interface vrrp add interface=ether2 on-fail=x", "netwatch"),
        ("/interface vrrp add", "interface"),
    ] {
        match rig.try_run(line) {
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(why), "{line}: {text}");
            }
            Ok(_) => panic!("{line} was taken"),
        }
    }
}

/// Those of a group stand as its master does: one link lost on its network moves the addresses of both.
#[test]
fn groups() {
    for word in ["group-master", "group-authority"] {
        let group = format!(
            "version=3 priority=PRIORITY\n\
             /ip address add address=10.9.0.N/24 interface=ether2\n\
             /interface vrrp add interface=ether2 vrid=7 priority=50 {word}=vrrp1\n\
             /ip address add address=10.9.0.100/32 interface=vrrp2"
        );
        let of = |n: &str, priority| group.replace('N', n).replace("PRIORITY", priority);
        let own = [of("1", "200"), of("2", "100")];
        // The order in which they were typed does not matter.
        let mut lan = Lan::new("ether1", [&own[0], &own[1]]);
        lan.wait(5000);
        let standings = |lan: &mut Lan| {
            let mut of = |n: usize| {
                let masters = lan.routers[n].run(":put [:len [/interface vrrp find master]]");
                masters.trim().to_string()
            };
            [of(0), of(1)]
        };
        assert_eq!(
            standings(&mut lan),
            ["2", "0"],
            "{word}: nobody is heard on the second network"
        );
        lan.cut[0] = true;
        lan.wait(5000);
        assert_eq!(standings(&mut lan), ["2", "2"], "{word}: nobody hears the other one now");
        lan.cut[0] = false;
        lan.wait(5000);
        assert_eq!(standings(&mut lan), ["2", "0"], "{word}");
        for (line, why) in [
            (format!("/interface vrrp set vrrp1 {word}=vrrp2"), "is in no other group"),
            (format!("/interface vrrp set vrrp1 {word}=vrrp9"), "input does not match"),
        ] {
            let error = lan.routers[0].try_run(&line).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
        lan.routers[0].run(&format!("/interface vrrp set vrrp1 {word}=self"));
    }
}

const VIRTUAL6: &str = "2001:db8::100";
const MAC6: MacAddr = vrrp::mac6(49);
/// The virtual router's address of the link, the same on both.
const LINK6: &str = "fe80::200:5eff:fe00:231";
const GROUP6: &str = "ff02::12";

/// The same over IPv6; beside it a virtual router of IPv4 has the same number.
fn lan6(properties: [&str; 2]) -> Lan {
    let mut lan = Lan::new("ether1", properties);
    for (n, rig) in (1..).zip(&mut lan.routers) {
        rig.run(&format!(
            "/interface vrrp add name=six interface=ether1 vrid=49 v3-protocol=ipv6 {}
             /ipv6 address add address=2001:db8::{n}/64 interface=ether1 advertise=no no-dad=yes
             /ipv6 address add address=2001:db8::100/64 interface=six
             /interface ethernet set ether1 mac-address=02:00:00:00:00:0{n}",
            properties[n - 1],
        ));
    }
    lan
}

impl Lan {
    /// Who says that it has an address, by neighbour discovery; what is sent to the one of the network is
    /// answered from there, too.
    fn owner6(&mut self, target: &str) -> Option<usize> {
        let group = solicited_node(ip6(target)).to_string();
        let question = solicitation(target, Some(mac(9)));
        let answers = self.ask(&says(9, "2001:db8::9", &group, question).build());
        assert!(answers.len() <= 1, "{answers:02x?}");
        let (owner, answer) = answers.first()?;
        let said = Neighbour::read(&answer[54..]).unwrap();
        assert_eq!((said.mac, &answer[6..12]), (Some(MAC6), &MAC6.0[..]));
        assert!(said.advertisement && said.router && said.solicited && said.override_);
        if target == VIRTUAL6 {
            // Both know the host.
            for own in ["2001:db8::1", "2001:db8::2"] {
                let group = solicited_node(ip6(own)).to_string();
                let question = solicitation(own, Some(mac(9)));
                self.ask(&says(9, "2001:db8::9", &group, question).build());
            }
            let payload = vec![kind::ECHO_REQUEST, 0, 0, 0, 0, 7, 0, 1, 9, 9, 9];
            let (src, dst) = (ip6("2001:db8::9"), ip6(target));
            let (next_header, hop_limit) = (header::ICMPV6, 64);
            let (src_mac, dst_mac) = (mac(9), MAC6);
            let ping = Sent { src_mac, dst_mac, src, dst, next_header, hop_limit, payload };
            let pongs = self.ask(&ping.build());
            assert_eq!(pongs.len(), 1, "{pongs:02x?}");
            assert_eq!((pongs[0].0, Ipv6::new(&pongs[0].1[14..]).unwrap().src()), (*owner, dst));
        }
        Some(*owner)
    }
}

/// Over IPv6: who has the addresses, those of the network and the link's, and how long hosts are without.
#[test]
fn over_ipv6() {
    let mut lan = lan6(["priority=200", "priority=100"]);
    lan.wait(1);
    assert_eq!(lan.owner6(VIRTUAL6), None, "nobody before the others had time to speak");
    lan.wait(4000);
    for target in [VIRTUAL6, LINK6] {
        assert_eq!(lan.owner6(target), Some(0), "{target}");
    }
    let routes = lan.routers[1].run("/ipv6 route print");
    assert!(!routes.contains("six"), "a backup's network: {routes}");
    lan.seen.clear();
    lan.wait(3000);
    let advertised: Vec<_> =
        lan.seen.iter().filter(|(_, _, f)| f[12..14] == [0x86, 0xdd]).collect();
    let mut n = 0;
    for (_, from, frame) in advertised {
        let packet = Ipv6::new(&frame[14..]).unwrap();
        if packet.next_header() != 112 {
            continue;
        }
        n += 1;
        assert_eq!((*from, &frame[..12]), (0, &[group_mac(ip6(GROUP6)).0, MAC6.0].concat()[..]));
        assert_eq!((packet.dst(), packet.hop_limit()), (ip6(GROUP6), 255));
        assert_eq!(packet.src(), ip6("fe80::ff:fe00:1"), "the link's own address");
        let said = Advertisement::read(packet.payload(), packet.src().into()).expect("one");
        assert_eq!((said.vrid, said.priority, said.interval_cs), (49, 200, 100));
        assert_eq!(said.addresses, [LINK6, VIRTUAL6].map(|own| IpAddr::from(ip6(own))));
    }
    assert_eq!(n, 3, "one a second");
    // The master's cable is cut, and is there again.
    for (cut, master) in [(true, 1), (false, 0)] {
        lan.cut[0] = cut;
        lan.seen.clear();
        lan.wait(4000);
        assert_eq!(lan.routers[master].run(":put [/interface vrrp get six master]").trim(), "true");
        let moved = lan.seen.iter().filter(|(_, n, frame)| {
            let said = (frame.len() > 78).then(|| Neighbour::read(&frame[54..]).ok()).flatten();
            *n == master && said.is_some_and(|said| said.target == ip6(VIRTUAL6))
        });
        assert_eq!(moved.count(), usize::from(cut), "it is said where the address is now");
        assert_eq!(lan.owner6(VIRTUAL6), Some(master));
    }
    assert_eq!(lan.owner(), Some(0), "the virtual router of IPv4");
    // One that goes says so, and the other one need not wait.
    lan.routers[0].run("/interface vrrp disable six");
    lan.wait(700);
    assert_eq!(lan.owner6(VIRTUAL6), Some(1));
    lan.balanced();
}

/// Hosts are told of the virtual router as of any other, by whoever it is.
#[test]
fn told_to_hosts() {
    let mut lan = lan6(["priority=200", "priority=100"]);
    lan.wait(4000);
    lan.seen.clear();
    let asks = Sent {
        payload: vec![kind::ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0],
        ..says(9, "fe80::9", "ff02::2", solicitation("::", None))
    };
    lan.routers[0].send(1, &asks.build());
    lan.routers[1].send(1, &asks.build());
    lan.wait(4000);
    let told: Vec<_> = lan
        .seen
        .iter()
        .filter(|(_, _, frame)| {
            frame[12..14] == [0x86, 0xdd] && frame.get(54) == Some(&kind::ROUTER_ADVERTISEMENT)
        })
        .map(|(_, from, frame)| (*from, Ipv6::new(&frame[14..]).unwrap().src()))
        .collect();
    assert!(!told.is_empty() && told.iter().all(|told| *told == (0, ip6(LINK6))), "{told:?}");
}

#[test]
fn hostile_over_ipv6() {
    let mut lan = lan6(["priority=100", "priority=90 disabled=yes"]);
    lan.wait(4000);
    assert_eq!(lan.owner6(VIRTUAL6), Some(0));
    let good = Advertisement {
        version: 3,
        vrid: 49,
        priority: 250,
        interval_cs: 100,
        addresses: vec![ip6(LINK6).into()],
        authentication: Authentication::None,
    };
    let (near, far) = ("fe80::7", "2001:db8::7");
    let bytes = |src: &str| good.to_bytes(ip6(src).into());
    let mut broken = bytes(near);
    broken[2] ^= 1;
    let other_router = Advertisement { vrid: 50, ..good.clone() }.to_bytes(ip6(near).into());
    let sent = |src: &str, payload: &[u8], hop_limit: u8| {
        let (src, dst, dst_mac) = (ip6(src), ip6(GROUP6), group_mac(ip6(GROUP6)));
        let payload = payload.to_vec();
        Sent { src_mac: mac(7), dst_mac, src, dst, next_header: 112, hop_limit, payload }.build()
    };
    for (frame, why) in [
        (sent(near, &bytes(near), 254), Discard::BadVrrp),
        (sent(far, &bytes(far), 255), Discard::BadVrrp),
        (sent(near, &broken, 255), Discard::BadVrrp),
        (sent(near, &bytes(near)[..9], 255), Discard::BadVrrp),
        (sent(near, &[], 255), Discard::BadVrrp),
        (sent(near, &other_router, 255), Discard::NoListener),
    ] {
        let before = lan.routers[0].router.discards().get(why);
        lan.ask(&frame);
        let discards = lan.routers[0].router.discards();
        assert_eq!(discards.get(why), before + 1, "{frame:02x?} {discards:?}");
        assert_eq!(lan.owner6(VIRTUAL6), Some(0));
    }
    lan.ask(&sent(near, &bytes(near), 255));
    lan.wait(2);
    assert_eq!(lan.owner6(VIRTUAL6), None, "a better one was heard");
    assert_eq!(lan.owner(), Some(0), "that was not IPv4's");
    lan.balanced();
}
