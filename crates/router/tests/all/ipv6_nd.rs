//! Neighbour discovery's control side: what a router tells its links, and what it hears of others.

use crate::ipv6::{Sent, discards, ip6, ping, says, solicitation};
use crate::rig::{Rig, mac, own_mac};
use port::Capabilities;
use std::time::Duration;
use wire::icmpv6::{self, Neighbour, group_mac, kind};
use wire::ipv6::header;
use wire::router_advertisement::{PrefixInfo, RouterAdvertisement};
use wire::{Ipv6, MacAddr};

/// The router's own address on its first link.
const LINK: &str = "fe80::ff:fe00:1";
/// Another router's there.
const OTHER: &str = "fe80::9";
const ONE: &str = "/ipv6 address add address=2001:db8:1::1/64 interface=ether1\n";
const ACCEPT: &str = "/ipv6 settings set accept-router-advertisements=yes\n";

/// A router that has just been told this.
fn fresh(script: &str) -> Rig {
    let mut rig = Rig::with_ports(&[Capabilities::default(); 2]);
    rig.run(script);
    rig
}

/// What the router says on its first link within so many seconds, one behind the other.
fn hear(rig: &mut Rig, tenths: u64) -> Vec<String> {
    rig.wait(Duration::from_millis(tenths * 100));
    rig.take(1).iter().map(|frame| said(frame)).collect()
}

/// The same, only what begins so.
fn hear_of(rig: &mut Rig, tenths: u64, what: &str) -> Vec<String> {
    let all = hear(rig, tenths);
    all.into_iter().filter(|text| text.starts_with(what)).collect()
}

fn said(frame: &[u8]) -> String {
    let packet = Ipv6::new(&frame[14..]).unwrap();
    let (src, dst, mut message) = (packet.src(), packet.dst(), packet.payload());
    let to = if dst.is_multicast() { group_mac(dst) } else { mac(9) };
    assert_eq!(frame[..6], to.0, "{dst}");
    if packet.next_header() == header::HOP_BY_HOP {
        assert_eq!((packet.hop_limit(), &message[..8]), (1, &wire::mld::ALERT[..]));
        message = &message[8..];
    } else {
        assert_eq!(packet.hop_limit(), 255);
    }
    assert!(icmpv6::is_intact(src, dst, message), "checksum");
    let address = |at: usize| {
        let bytes: [u8; 16] = message[at..at + 16].try_into().unwrap();
        std::net::Ipv6Addr::from(bytes)
    };
    match message[0] {
        kind::ROUTER_ADVERTISEMENT => {
            assert_eq!((src, dst), (ip6(LINK), ip6("ff02::1")));
            told(&RouterAdvertisement::read(message).unwrap())
        }
        kind::NEIGHBOUR_SOLICITATION => format!("ns {src} {}", address(8)),
        kind::NEIGHBOUR_ADVERTISEMENT => format!("na {src} {}", message[4] >> 5 & 1),
        kind::ROUTER_SOLICITATION => format!("rs {src} {dst}"),
        kind::REDIRECT => format!("redirect {} {}", address(24), address(8)),
        kind::LISTENER_REPORT_V2 => {
            assert_eq!(dst, wire::mld::REPORTS);
            let records = message[8..].chunks(20).enumerate();
            let records = records.map(|(n, r)| format!(" {}{}", r[0], address(8 + n * 20 + 4)));
            format!("mld{}", records.collect::<String>())
        }
        kind @ (131 | 132) => format!("mld1 {kind} {}", address(8)),
        other => format!("type {other}"),
    }
}

fn told(said: &RouterAdvertisement) -> String {
    let mut text = format!("ra {}", said.lifetime_s);
    let flags = [(said.managed, " M"), (said.other, " O"), (said.mac.is_some(), " mac")];
    flags.iter().filter(|(is, _)| *is).for_each(|(_, word)| text += word);
    let numbers = [
        ("hops", said.hop_limit.into()),
        ("preference", said.preference.into()),
        ("reachable", said.reachable_ms),
        ("retransmit", said.retransmit_ms),
        ("mtu", said.mtu.unwrap_or(0)),
    ];
    for (name, number) in numbers.into_iter().filter(|(_, number)| *number != 0) {
        text += &format!(" {name}={number}");
    }
    for PrefixInfo { prefix, len, on_link, autonomous, valid_s, preferred_s } in &said.prefixes {
        let letters =
            format!("{}{}", if *on_link { "L" } else { "" }, if *autonomous { "A" } else { "" });
        text += &format!(" {prefix}/{len},{letters},{valid_s},{preferred_s}");
    }
    for server in &said.dns {
        text += &format!(" dns={server},{}", said.dns_s);
    }
    text
}

/// RFC 4861 §6.2.1, §6.2.3, RFC 8106: what hosts are told, by what is typed.
#[test]
fn advertised() {
    let plain = " 2001:db8:1::/64,LA,2592000,604800";
    #[rustfmt::skip]
    let cases = [
        ("", format!("ra 1800 mac{plain}")),
        ("/ipv6 nd set [find default=yes] ra-lifetime=none advertise-mac-address=no", format!("ra 0{plain}")),
        ("/ipv6 nd set [find] managed-address-configuration=yes other-configuration=yes ra-preference=high",
            format!("ra 1800 M O mac preference=1{plain}")),
        ("/ipv6 nd set [find] hop-limit=64 mtu=1480 reachable-time=30s retransmit-interval=1s",
            format!("ra 1800 mac hops=64 reachable=30000 retransmit=1000 mtu=1480{plain}")),
        ("/ipv6 nd set [find] dns=2001:db8::53,2001:db8::54 ra-interval=10s-20s",
            format!("ra 1800 mac{plain} dns=2001:db8::53,60 dns=2001:db8::54,60")),
        ("/ipv6 nd prefix default set valid-lifetime=1h preferred-lifetime=30m autonomous=no",
            "ra 1800 mac 2001:db8:1::/64,L,3600,1800".to_string()),
        ("/ipv6 nd prefix add prefix=2001:db8:1::/64 interface=ether1 valid-lifetime=infinity on-link=no",
            "ra 1800 mac 2001:db8:1::/64,A,4294967295,604800".to_string()),
        ("/ipv6 nd prefix add prefix=2001:db8:7::/64 interface=ether1",
            format!("ra 1800 mac 2001:db8:7::/64,LA,2592000,604800{plain}")),
        ("/ipv6 nd add interface=ether1 ra-lifetime=20m", format!("ra 1200 mac{plain}")),
        ("/ipv6 nd add interface=ether1 disabled=yes", String::new()),
        ("/ipv6 nd disable [find]", String::new()),
        ("/ipv6 address set [find address=2001:db8:1::1/64] advertise=no", String::new()),
        ("/ipv6 settings set forward=no", format!("ra 0 mac{plain}")),
        ("/ipv6 settings set disable-ipv6=yes", String::new()),
    ];
    for (script, expected) in cases {
        let mut rig = fresh(&format!("{ONE}{script}"));
        let first = hear_of(&mut rig, 26, "ra");
        assert_eq!(first.join(""), expected, "{script}");
        // What does not forward is a host on its other links, and asks for routers there.
        let other = rig.take(2).len();
        assert_eq!(other > 0, script.contains("forward=no"), "{script}");
    }
}

/// RFC 4861 §6.2.4, §6.2.5, §6.2.6: three within 16 seconds each, then by the interval; who asks is told
/// within half a second, but not twice in three; who stops says so.
#[test]
fn when_it_is_advertised() {
    let mut rig = fresh(ONE);
    assert_eq!(hear_of(&mut rig, 26, "ra").len(), 1);
    assert_eq!(hear_of(&mut rig, 325, "ra").len(), 2);
    assert_eq!(hear_of(&mut rig, 1800, "ra").len(), 0);
    let n = hear_of(&mut rig, 36_000, "ra").len();
    assert!((6..=18).contains(&n), "{n} in an hour");
    let ask = |rig: &mut Rig| {
        let payload = vec![kind::ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
        let sent = says(9, OTHER, "ff02::2", solicitation(LINK, None));
        rig.send(1, &Sent { payload, ..sent }.build());
    };
    rig.wait(Duration::from_secs(5));
    rig.take(1);
    ask(&mut rig);
    assert_eq!(hear_of(&mut rig, 6, "ra").len(), 1);
    (0..9).for_each(|_| ask(&mut rig));
    assert_eq!(hear_of(&mut rig, 20, "ra").len(), 0, "within three seconds");
    assert_eq!(hear_of(&mut rig, 20, "ra").len(), 1);
    rig.run("/ipv6 nd disable [find]");
    assert_eq!(hear_of(&mut rig, 10, "ra"), ["ra 0 mac 2001:db8:1::/64,LA,7200,0"]);
    assert_eq!(hear_of(&mut rig, 6000, "ra").len(), 0);
}

/// RFC 4862 §5.4: hosts hear of a network when the router's own address there is sure, and not at all of one
/// where somebody else has it.
#[test]
fn a_network_whose_address_is_not_sure_yet() {
    let mut rig = fresh(ONE);
    let all = hear(&mut rig, 26);
    let is = |what: &'static str| move |text: &&String| text.starts_with(what);
    let first = all.iter().position(|text| text.starts_with("ra")).expect("an advertisement");
    assert_eq!(all[..first].iter().filter(is("ns")).count(), 2, "{all:?}");
    assert_eq!(hear(&mut rig, 50).iter().filter(is("ra")).count(), 0);
    for duplicate in [false, true] {
        let target = if duplicate { "2001:db8:3::1" } else { "2001:db8:2::1" };
        rig.run(&format!("/ipv6 address add address={target}/64 interface=ether1"));
        let asked =
            (0..11).position(|_| hear(&mut rig, 1).iter().any(|text| text.starts_with("ns")));
        asked.expect("it is asked for");
        if duplicate {
            let message = Neighbour { advertisement: true, ..solicitation(target, Some(mac(9))) };
            rig.send(1, &says(9, target, "ff02::1", message).build());
        }
        assert!(hear(&mut rig, 9).iter().all(|text| !text.contains("ra ")), "too soon");
        let told = hear_of(&mut rig, 200, "ra");
        let network = target.replace("::1", "::/64");
        assert_eq!(told.iter().any(|text| text.contains(&network)), !duplicate, "{told:?}");
    }
}

/// RFC 7084 L-13: of a network that is gone it is told that nobody should begin with it any more.
#[test]
fn a_network_that_goes() {
    let mut rig =
        fresh(&format!("{ONE}/ipv6 address add address=2001:db8:2::1/64 interface=ether1"));
    let rows = rig.run("/ipv6 nd prefix print count-only where dynamic");
    assert_eq!(rows.trim(), "2");
    rig.wait(Duration::from_secs(60));
    rig.take(1);
    rig.run("/ipv6 address remove [find address=2001:db8:1::1/64]");
    let told = hear_of(&mut rig, 600, "ra");
    let gone = " 2001:db8:1::/64,LA,7200,0";
    assert_eq!(told.iter().filter(|text| text.ends_with(gone)).count(), 3, "{told:#?}");
}

/// RFC 4862 §5.4: an own address is looked for; who has it, too, is believed.
#[test]
fn duplicates() {
    let target = "2001:db8:1::1";
    let has = |rig: &mut Rig| {
        let asks = says(9, OTHER, "ff02::1:ff00:1", solicitation(target, Some(mac(9))));
        let out = rig.pass(1, &asks.build());
        out.iter().any(|(_, frame)| frame[54] == kind::NEIGHBOUR_ADVERTISEMENT)
    };
    let tell = |rig: &mut Rig, src: &str, advertisement: bool| {
        let message = Neighbour {
            advertisement,
            mac: advertisement.then(|| mac(9)),
            ..solicitation(target, None)
        };
        let dst = if advertisement { "ff02::1" } else { "ff02::1:ff00:1" };
        rig.send(1, &says(9, src, dst, message).build());
        rig.breathe();
    };
    let mut rig = fresh(ONE);
    let asked = hear_of(&mut rig, 11, "ns");
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked.contains(&format!(":: {target}").replacen("::", "ns ::", 1)), "{asked:?}");
    // Whoever asks for the same at the same time, or has it.
    for (src, advertisement) in [("::", false), (target, true)] {
        let mut rig = fresh(ONE);
        rig.wait(Duration::from_millis(500));
        tell(&mut rig, src, advertisement);
        assert!(!has(&mut rig), "{src}");
        let log = rig.run("/log print");
        assert!(log.contains("duplicate address: 2001:db8:1::1 on ether1 is"), "{log}");
        assert_eq!(rig.run("/ipv6 address print count-only where invalid").trim(), "1");
        assert_eq!(
            rig.run("/ipv6 route print count-only where dst-address=2001:db8:1::/64").trim(),
            "0"
        );
        // Typed anew it is looked for again.
        rig.run("/ipv6 address disable [find address=2001:db8:1::1/64]");
        rig.wait(Duration::from_millis(100));
        rig.run("/ipv6 address enable [find address=2001:db8:1::1/64]");
        rig.wait(Duration::from_secs(3));
        assert!(has(&mut rig), "{src}");
        // Later it is ours: who comes then is told so.
        rig.take(1);
        tell(&mut rig, "::", false);
        assert_eq!(hear_of(&mut rig, 1, "na"), [format!("na {target} 1")]);
        tell(&mut rig, target, true);
        assert!(has(&mut rig), "{src}");
    }
    // What is not sure overrides nothing (RFC 4429).
    let mut rig = fresh(ONE);
    rig.breathe();
    let asks = says(9, OTHER, "ff02::1:ff00:1", solicitation(target, Some(mac(9))));
    rig.send(1, &asks.build());
    rig.breathe();
    assert_eq!(hear_of(&mut rig, 0, "na"), [format!("na {target} 0")]);
    let mut rig = fresh(&ONE.replace("ether1\n", "ether1 no-dad=yes"));
    assert_eq!(hear_of(&mut rig, 30, "ns"), [format!("ns :: {LINK}")]);
    // Of an interface of which nothing was typed nothing is said.
    let mut rig = fresh("");
    assert_eq!(hear(&mut rig, 100), [""; 0]);
}

fn advertises(said: &RouterAdvertisement) -> Sent {
    let sent = says(9, OTHER, "ff02::1", solicitation(LINK, None));
    Sent { payload: said.to_bytes(), ..sent }
}

fn router(lifetime_s: u16, prefixes: &[(&str, bool, bool, u32)]) -> RouterAdvertisement {
    let prefixes = prefixes.iter().map(|&(prefix, on_link, autonomous, valid_s)| {
        let preferred_s = valid_s;
        PrefixInfo { prefix: ip6(prefix), len: 64, on_link, autonomous, valid_s, preferred_s }
    });
    let (mac, mtu) = (Some(mac(9)), Some(1400));
    RouterAdvertisement {
        lifetime_s,
        mac,
        mtu,
        prefixes: prefixes.collect(),
        ..RouterAdvertisement::default()
    }
}

/// RFC 4861 §6.3, RFC 4862 §5.5: an uplink that configures itself.
#[test]
fn autoconfigured() {
    let mut rig = fresh(ACCEPT);
    let asked = hear_of(&mut rig, 150, "rs");
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_eq!(asked[2], format!("rs {LINK} ff02::2"));
    let addresses = |rig: &mut Rig| {
        let text = rig.run("/ipv6 address print where global");
        text.lines().filter(|line| line.contains("2001:db8:5:")).count()
    };
    let gateways = |rig: &mut Rig| {
        rig.run("/ipv6 route print count-only where active dst-address=::/0").trim() == "1"
    };
    let said =
        router(600, &[("2001:db8:5::", true, true, 9000), ("2001:db8:6::", true, false, 9000)]);
    rig.send(1, &advertises(&said).build());
    rig.breathe();
    let text = rig.run("/ipv6 address print");
    assert!(text.contains("2001:db8:5::ff:fe00:1/64"), "{text}");
    assert_eq!((addresses(&mut rig), gateways(&mut rig)), (1, true));
    let text = rig.run("/ipv6 route print");
    for route in ["fe80::9%ether1", "2001:db8:5::/64", "2001:db8:6::/64"] {
        assert!(text.contains(route), "{route} in\n{text}");
    }
    // The new address is looked for, and joined to its group.
    let heard = hear(&mut rig, 40);
    assert!(heard.contains(&"ns :: 2001:db8:5::ff:fe00:1".to_string()), "{heard:?}");
    // What goes there keeps to the MTU that was told.
    rig.run("/ipv6 address add address=2001:db8:2::1/64 interface=ether2 advertise=no");
    rig.wait(Duration::from_secs(4));
    rig.take(2);
    let payload = [&[0x03, 0xe8, 0x07, 0xd0, 5, 180, 0, 0][..], &[0; 1452]].concat();
    let long =
        Sent { src: ip6("2001:db8:2::b"), payload, dst_mac: own_mac(2), ..ping("2001:db8:9::1") };
    rig.send(2, &Sent { next_header: 17, ..long }.build());
    rig.breathe();
    assert_eq!(discards(&rig), [("packet-too-big", 1)]);
    // Two hours are the least that a prefix can be shortened to; a router that says 0 is none.
    rig.send(1, &advertises(&router(0, &[("2001:db8:5::", true, true, 1)])).build());
    rig.breathe();
    assert_eq!((addresses(&mut rig), gateways(&mut rig)), (1, false));
    rig.wait(Duration::from_secs(7000));
    assert_eq!(addresses(&mut rig), 1);
    rig.wait(Duration::from_secs(300));
    assert_eq!(addresses(&mut rig), 0);
}

/// Who is not believed, and that only so many are.
#[test]
fn routers_not_believed() {
    let good = || advertises(&router(600, &[("2001:db8:5::", true, true, 9000)]));
    let bad = |change: fn(&mut Sent)| {
        let mut sent = good();
        change(&mut sent);
        sent
    };
    let cases: [(&str, &str, Sent, &[(&str, u64)]); 9] = [
        (
            "a host's address",
            ACCEPT,
            bad(|sent| sent.src = ip6("2001:db8:5::9")),
            &[("bad-discovery", 1)],
        ),
        ("from afar", ACCEPT, bad(|sent| sent.hop_limit = 254), &[("bad-discovery", 1)]),
        ("code", ACCEPT, bad(|sent| sent.payload[1] = 1), &[("bad-discovery", 1)]),
        (
            "an option without a length",
            ACCEPT,
            bad(|sent| sent.payload[17] = 0),
            &[("bad-discovery", 1)],
        ),
        ("cut off", ACCEPT, bad(|sent| sent.payload.truncate(15)), &[("bad-discovery", 1)]),
        (
            "a prefix of 129 bits",
            ACCEPT,
            bad(|sent| {
                let at = sent.payload.windows(2).position(|two| two == [3, 4]).unwrap();
                sent.payload[at + 2] = 129;
            }),
            &[("bad-discovery", 1)],
        ),
        ("nobody listens", "", good(), &[("no-listener", 1)]),
        ("it is a router there itself", &[ACCEPT, ONE].concat(), good(), &[("no-listener", 1)]),
        ("a link's prefix", ACCEPT, advertises(&router(0, &[("fe80::", true, true, 9000)])), &[]),
    ];
    for (what, script, sent, expected) in cases {
        let mut rig = fresh(script);
        rig.wait(Duration::from_secs(1));
        rig.send(1, &sent.build());
        rig.breathe();
        assert_eq!(discards(&rig), expected, "{what}");
        let text = rig.run("/ipv6 address print");
        assert!(!text.contains("2001:db8:5:"), "{what}: {text}");
    }
    let mut rig = fresh(ACCEPT);
    rig.wait(Duration::from_secs(1));
    for n in 0..100_u32 {
        let prefix = format!("2001:db8:{n:x}::");
        let src = ip6(&format!("fe80::{:x}", n + 16));
        let said = router(600, &[(&prefix, true, true, 9000)]);
        rig.send(1, &Sent { src, ..advertises(&said) }.build());
        rig.breathe();
    }
    assert_eq!(rig.run("/ipv6 address print count-only where global").trim(), "16");
    assert_eq!(rig.run("/ipv6 route print count-only where dst-address=::/0").trim(), "1");
}

/// RFC 3810 §6.1, §6.2, RFC 2710: the groups of own addresses are told, and who asks is answered.
#[test]
fn listened_to() {
    let mut rig = fresh(ONE);
    let mut groups: Vec<String> = Vec::new();
    let first = hear_of(&mut rig, 40, "mld");
    for text in &first {
        groups.extend(text.split(' ').skip(1).map(str::to_string));
    }
    groups.sort();
    groups.dedup();
    // The address of the link and the typed one end alike.
    assert_eq!(groups, ["4ff02::1:ff00:1", "4ff02::2"]);
    let query = |group: &str, more: &[u8]| {
        let group = ip6(group).octets();
        let payload = [&[kind::LISTENER_QUERY, 0, 0, 0, 3, 232, 0, 0][..], &group, more].concat();
        let sent = says(9, OTHER, "ff02::1", solicitation(LINK, None));
        Sent { payload, hop_limit: 1, ..sent }
    };
    rig.send(1, &query("::", &[2, 125, 0, 0]).build());
    assert_eq!(hear(&mut rig, 11), ["mld 2ff02::2 2ff02::1:ff00:1"]);
    rig.send(1, &query("ff02::2", &[2, 125, 0, 0]).build());
    assert_eq!(hear(&mut rig, 11), ["mld 2ff02::2"]);
    rig.send(1, &query("ff02::99", &[2, 125, 0, 0]).build());
    rig.send(1, &Sent { hop_limit: 2, ..query("::", &[2, 125, 0, 0]) }.build());
    assert_eq!(hear(&mut rig, 11), [""; 0]);
    assert_eq!(discards(&rig), [("bad-discovery", 1)]);
    rig.send(1, &query("::", &[]).build());
    assert_eq!(hear(&mut rig, 11), ["mld1 131 ff02::2", "mld1 131 ff02::1:ff00:1"]);
    rig.run("/ipv6 address add address=2001:db8:3::77/64 interface=ether1 advertise=no");
    let told = hear_of(&mut rig, 30, "mld");
    assert_eq!(told, ["mld1 131 ff02::1:ff00:77"; 2]);
    rig.run("/ipv6 address remove [find address=2001:db8:3::77/64]");
    assert_eq!(hear_of(&mut rig, 1, "mld"), ["mld1 132 ff02::1:ff00:77"]);
}

/// RFC 4861 §8.2: who sends what goes back to his link is told where it is.
#[test]
fn redirected() {
    let mut rig =
        fresh(&format!("{ONE}/ipv6 route add dst-address=2001:db8:7::/48 gateway=fe80::7%ether1"));
    rig.wait(Duration::from_secs(4));
    rig.take(1);
    let from = |dst: &str, src: &str| {
        let payload = [&[0x03, 0xe8, 0x07, 0xd0, 0, 12, 0, 0][..], &[1, 2, 3, 4]].concat();
        Sent { src: ip6(src), src_mac: mac(9), next_header: 17, payload, ..ping(dst) }
    };
    crate::ipv6::introduce(&mut rig, 1, 9, "2001:db8:1::9", LINK);
    for (dst, src, expected) in [
        ("2001:db8:1::5", "2001:db8:1::9", Some("redirect 2001:db8:1::5 2001:db8:1::5")),
        ("2001:db8:7::1", "2001:db8:1::9", Some("redirect 2001:db8:7::1 fe80::7")),
        ("2001:db8:7::1", "2001:db8:99::9", None),
    ] {
        rig.send(1, &from(dst, src).build());
        rig.breathe();
        let told = hear_of(&mut rig, 1, "redirect");
        assert_eq!(told.first().map(String::as_str), expected, "{dst}");
    }
}

/// RFC 6583: who scans a network fills a quarter of the table; neighbours who have answered stay, and new
/// ones are found.
#[test]
fn a_scan_is_bounded() {
    scan("/ipv6 settings set max-neighbor-entries=64", 5000, 16);
    scan("", 65_536, 2048);
}

/// So many addresses of nobody, of which this many at most are looked for at once.
fn scan(settings: &str, addresses: u32, most: usize) {
    let mut rig = Rig::new(
        2,
        &format!(
            "{ONE}/ipv6 address add address=2001:db8:2::1/64 interface=ether2 advertise=no
        {settings}"
        ),
    );
    crate::ipv6::introduce(&mut rig, 2, 2, "2001:db8:2::b", "2001:db8:2::1");
    let to = |dst: String| {
        let payload = [&[0x03, 0xe8, 0x07, 0xd0, 0, 12, 0, 0][..], &[1, 2, 3, 4]].concat();
        Sent { next_header: 17, payload, ..ping(&dst) }
    };
    for n in 0..addresses {
        let (high, low) = (n >> 16, n & 0xffff);
        rig.send(1, &to(format!("2001:db8:2::1:{high:x}:{low:x}")).build());
        rig.breathe();
        if n % 64 == 0 {
            rig.take(2);
        }
    }
    let unresolved = rig.run("/ipv6 neighbor print count-only where status=incomplete");
    assert_eq!(unresolved.trim(), most.to_string());
    rig.take(2);
    rig.send(1, &to("2001:db8:2::b".to_string()).build());
    rig.breathe();
    assert_eq!(rig.take(2).len(), 1, "known");
    rig.send(1, &to("2001:db8:2::c".to_string()).build());
    rig.breathe();
    let asks = rig.take(2);
    assert!(said(&asks[0]).ends_with("2001:db8:2::c"), "new");
    rig.wait(Duration::from_secs(5));
    assert_eq!(rig.run("/ipv6 neighbor print count-only").trim(), "1");
    rig.take(1);
    rig.take(2);
    assert_eq!(rig.frames_in_use(), 0);
    assert!(rig.router.frames().balance());
}

/// `/ipv6 pool`: an address has its network of it, as long as it has one.
#[test]
fn pools() {
    let mut rig = fresh(
        "/ipv6 pool add name=isp prefix=2001:db8:40::/62 prefix-length=64
/ipv6 address add address=::1 from-pool=isp interface=ether1
/ipv6 address add address=::2:1/64 from-pool=isp interface=ether2 advertise=no",
    );
    let addresses = rig.run("/ipv6 address print");
    for own in ["2001:db8:40::1/64", "2001:db8:40:1::2:1/64"] {
        assert!(addresses.contains(own), "{own} in\n{addresses}");
    }
    assert_eq!(hear_of(&mut rig, 26, "ra"), ["ra 1800 mac 2001:db8:40::/64,LA,2592000,604800"]);
    let used = rig.run("/ipv6 pool used print");
    assert!(used.contains("2001:db8:40:1::/64") && used.contains("Address"), "{used}");
    rig.run("/ipv6 pool set isp prefix=2001:db8:50::/62");
    let addresses = rig.run("/ipv6 address print");
    assert!(addresses.contains("2001:db8:50::1/64"), "{addresses}");
    rig.run("/ipv6 pool remove isp");
    assert_eq!(rig.run("/ipv6 address print count-only where invalid").trim(), "2");
    assert_eq!(rig.run("/ipv6 pool used print count-only").trim(), "0");
    let exported = rig.run("/ipv6 address export");
    assert!(exported.contains("from-pool=isp"), "{exported}");
    assert!(!rig.run("/ipv6 nd export").contains("add"), "the first item is every device's");
    rig.run("/ipv6 nd set [find default=yes] advertise-dns=no");
    assert!(rig.run("/ipv6 nd export").contains("set [ find default=yes ] advertise-dns=no"));
}

/// RFC 4861 §7.2.8: for whom is elsewhere the router answers, without conviction, and what comes goes on.
#[test]
fn proxied() {
    let mut rig = crate::ipv6::rig(
        "/ipv6 nd proxy add interface=ether1 address=2001:db8:1::77
/ipv6 route add dst-address=2001:db8:1::77/128 gateway=2001:db8:2::b",
    );
    let ask = |target: &str, group: &str| {
        says(9, "2001:db8:1::9", group, solicitation(target, Some(mac(9)))).build()
    };
    let out = rig.pass(1, &ask("2001:db8:1::77", "ff02::1:ff00:77"));
    let told: Vec<_> = out.iter().map(|(port, frame)| (*port, said(frame))).collect();
    assert_eq!(told, [(1, format!("na {LINK} 0"))]);
    let sent =
        Sent { next_header: 17, payload: vec![0, 9, 0, 9, 0, 8, 0, 0], ..ping("2001:db8:1::77") };
    let out = rig.pass(1, &sent.build());
    assert_eq!(out.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [2]);
    // Not for others, nor elsewhere.
    assert_eq!(rig.pass(1, &ask("2001:db8:1::78", "ff02::1:ff00:78")), []);
    assert_eq!(rig.pass(2, &ask("2001:db8:1::77", "ff02::1:ff00:77")), []);
    rig.run("/ipv6 nd proxy disable 0");
    assert_eq!(rig.pass(1, &ask("2001:db8:1::77", "ff02::1:ff00:77")), []);
}

/// What is refused, and why.
#[test]
fn refused_items() {
    let mut rig = fresh(ONE);
    for (line, why) in [
        ("/ipv6 nd add interface=ether1 ra-interval=1s-2s", "ra-interval"),
        ("/ipv6 nd add interface=ether1 ra-interval=soon", "two times"),
        ("/ipv6 nd add interface=ether1 ra-lifetime=5s", "ra-lifetime"),
        ("/ipv6 nd add interface=all", "has an item already"),
        ("/ipv6 nd prefix add interface=ether1 prefix=2001:db8::1/64", "is no network"),
        ("/ipv6 nd prefix add interface=ether1 prefix=fe80::/64", "nothing to advertise"),
        (
            "/ipv6 nd prefix add interface=ether1 prefix=2001:db8::/64 valid-lifetime=1m",
            "longer than",
        ),
        ("/ipv6 pool add name=a prefix=2001:db8::/64 prefix-length=56", "shorter"),
        ("/ipv6 nd proxy add interface=ether1 address=ff02::1", "nobody's elsewhere"),
        ("/ipv6 nd proxy add interface=ether1 address=fe80::1", "nobody's elsewhere"),
        ("/ipv6 address add address=2001:db8::1/129 interface=ether1", "2001:db8::1/129"),
        ("/ipv6 route add dst-address=2001:db8::/129 gateway=fe80::1%ether1", "2001:db8::/129"),
        ("/ipv6 pool add name=a prefix=::/129 prefix-length=129", "::/129"),
        ("/ipv6 firewall filter add chain=input src-address=::/129 action=drop", "::/129"),
    ] {
        let error = rig.try_run(line).expect_err(line);
        assert!(error.to_string().contains(why), "{line}: {error}");
    }
}

/// A MAC address that is a group's is nobody's.
#[test]
fn a_group_is_no_router() {
    let mut rig = fresh(ACCEPT);
    rig.wait(Duration::from_secs(1));
    let group = MacAddr([3, 0, 0, 0, 0, 1]);
    let said = RouterAdvertisement { mac: Some(group), ..router(600, &[]) };
    rig.send(1, &advertises(&said).build());
    rig.breathe();
    assert_eq!(rig.run("/ipv6 neighbor print count-only").trim(), "0");
}
