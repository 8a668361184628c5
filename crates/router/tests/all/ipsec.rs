//! IPsec: two of our routers agree upon keys in virtual time; what is encrypted, what is not let in, keys made anew, ends
//! that are silent; forged and repeated packets.

use crate::rig::{Rig, mac, own_mac};
use crate::tunnels::{Pair, answer, datagram};
use router::discard::Discard;
use std::fmt::Write;
use wire::craft::{self, ip};

/// Both, with a policy for what is between their hosts.
const PEERS: &str = "/ip arp add address=10.0.$me.1 mac-address=06:00:00:00:00:0$me interface=ether1
    /ip route add dst-address=10.0.$you.0/24 gateway=192.168.0.$you
    /ip ipsec profile set [find name=default] dh-group=x25519 enc-algorithm=aes-256 hash-algorithm=sha256 \
    dpd-interval=10s
    /ip ipsec proposal set [find name=default] pfs-group=x25519
    /ip ipsec peer add name=p address=192.168.0.$you/32 exchange-mode=$mode
    /ip ipsec identity add peer=p secret=word
    ";
const POLICY: &str = "/ip ipsec policy add peer=p tunnel=yes src-address=10.0.$me.0/24 \
    dst-address=10.0.$you.0/24
    ";

/// Both versions of IKE.
const MODES: [&str; 2] = ["ike2", "main"];

/// Both of them, by this version.
pub(crate) fn of(mode: &str, more: &str) -> Pair {
    Pair::new(&format!("{PEERS}{more}").replace("$mode", mode))
}

/// The same with the policy, and keys agreed upon.
fn pair(mode: &str, more: &str) -> Pair {
    let mut pair = of(mode, &format!("{POLICY}{more}"));
    pair.wait(3);
    let version = if mode == "main" { 0x10 } else { 0x20 };
    let is_ike = |frame: &[u8]| frame[23] == 17 && frame.get(59) == Some(&version);
    assert!(pair.seen.iter().any(|(_, frame)| is_ike(frame)), "{}", state(&mut pair));
    pair
}

/// What a failing test has to show.
pub(crate) fn state(pair: &mut Pair) -> String {
    let mut text = String::new();
    for rig in &mut pair.routers {
        let discards: Vec<_> = rig.router.discards().iter().collect();
        _ = write!(text, "\n{discards:?}");
        for menu in
            ["/log print", "/ip ipsec active-peers print detail", "/ip ipsec installed-sa print"]
        {
            _ = write!(text, "\n{}", rig.run(menu));
        }
    }
    text
}

/// What IP sees of it at the other host.
fn arrived(sent: &craft::Frame<'_>) -> Vec<u8> {
    craft::Frame { src_mac: own_mac(1), dst_mac: mac(2), ttl: 62, ..*sent }.build()
}

fn is_esp(frame: &[u8]) -> bool {
    frame[23] == 50
}

#[test]
fn packets_are_encrypted_on_their_way() {
    MODES.into_iter().for_each(packets_are_encrypted_on_their_way_by);
}

fn packets_are_encrypted_on_their_way_by(mode: &str) {
    for (encryption, integrity) in [
        ("aes-128-cbc", "sha1"),
        ("aes-192-cbc", "sha256"),
        ("aes-256-cbc", "sha512"),
        ("aes-128-gcm", "null"),
        ("aes-256-gcm", "sha1"),
        ("3des", "sha1"),
        ("null", "sha256"),
    ] {
        let case = format!("{encryption} {integrity}");
        let mut pair = pair(
            mode,
            &format!(
                "/ip ipsec proposal set [find name=default] enc-algorithms={encryption} \
             auth-algorithms={integrity}"
            ),
        );
        for len in [18, 19, 30, 100, 1000, 1380] {
            let payload = vec![7; len];
            let sent = craft::Frame { tos: 0xb8, dont_fragment: true, ..datagram(&payload) };
            let out = pair.pass(&sent.build());
            assert_eq!(out, [arrived(&sent)], "{case}, {len} bytes: {}", state(&mut pair));
            let (_, frame) = &pair.seen[0];
            assert!(is_esp(frame) && wire::checksum::is_ok(&frame[14..34]), "{case}");
            assert_eq!(frame[26..34], [192, 168, 0, 1, 192, 168, 0, 2], "{case}");
            let is_plain = frame.windows(16).any(|some| some == [7; 16]);
            assert_eq!(is_plain, encryption == "null", "{case}");
        }
        let back = pair.pass_back(&answer(&[9; 500]).build());
        assert_eq!(back.len(), 1, "{case}: {}", state(&mut pair));
        let text = pair.routers[0].run("/ip ipsec policy print");
        assert!(text.contains("established"), "{case}: {text}");
        pair.balanced();
    }
}

/// Of both ends' groups and hashes.
#[test]
fn keys_are_agreed_upon_by_each_group() {
    MODES.into_iter().for_each(keys_are_agreed_upon_by_each_group_by);
}

fn keys_are_agreed_upon_by_each_group_by(mode: &str) {
    for (group, hash, cipher) in [
        ("modp1024", "sha1", "aes-128"),
        ("modp1536", "sha1", "3des"),
        ("modp2048", "sha256", "aes-192"),
        ("modp3072", "sha512", "aes-256"),
        ("ecp256", "sha256", "aes-128"),
        ("x25519", "sha512", "aes-256"),
    ] {
        let mut pair = pair(
            mode,
            &format!(
                "/ip ipsec profile set [find name=default] dh-group={group} hash-algorithm={hash} \
             enc-algorithm={cipher} prf-algorithm=sha384"
            ),
        );
        let out = pair.pass(&datagram(&[1; 64]).build());
        assert_eq!(out.len(), 1, "{group} {hash} {cipher}: {}", state(&mut pair));
    }
}

/// A packet that would be too long by ESP; one that may leave in pieces.
#[test]
fn what_becomes_too_long() {
    MODES.into_iter().for_each(what_becomes_too_long_by);
}

fn what_becomes_too_long_by(mode: &str) {
    let mut pair = pair(mode, "");
    let long = craft::Frame { dont_fragment: true, ..datagram(&[9; 1472]) };
    assert_eq!(pair.pass(&long.build()), Vec::<Vec<u8>>::new());
    let answers = pair.routers[0].take(1);
    let icmp = answers.iter().find(|frame| frame[23] == 1).expect("an ICMP error");
    let mtu = u16::from_be_bytes([icmp[40], icmp[41]]);
    assert_eq!(icmp[34..36], [3, 4]);
    let payload = vec![9; usize::from(mtu) - 28];
    let fits = craft::Frame { dont_fragment: true, ..datagram(&payload) };
    assert_eq!(pair.pass(&fits.build()), [arrived(&fits)], "{mtu} {}", state(&mut pair));
    let long = craft::Frame { dont_fragment: false, ..long };
    assert_eq!(pair.pass(&long.build()), [arrived(&long)], "{}", state(&mut pair));
    assert_eq!(pair.seen.len(), 2, "in two pieces");
    pair.balanced();
}

/// A frame's packet in pieces of 1,500 bytes.
fn pieces(frame: &[u8]) -> Vec<Vec<u8>> {
    let (head, body) = frame.split_at(34);
    let chunks = body.chunks(1480).enumerate();
    let piece = |(n, chunk): (usize, &[u8])| {
        let mut piece = [head, chunk].concat();
        let more = if n * 1480 + chunk.len() < body.len() { 0x2000 } else { 0 };
        piece[16..18].copy_from_slice(&(20 + chunk.len() as u16).to_be_bytes());
        piece[20..22].copy_from_slice(&(more | (n * 1480 / 8) as u16).to_be_bytes());
        piece[24..26].fill(0);
        let sum = wire::checksum::of(&piece[14..34]);
        piece[24..26].copy_from_slice(&sum.to_be_bytes());
        piece
    };
    chunks.map(piece).collect()
}

/// A datagram of many pieces, each of which is encrypted by itself.
#[test]
fn what_is_longer_than_a_frame() {
    MODES.into_iter().for_each(what_is_longer_than_a_frame_by);
}

fn what_is_longer_than_a_frame_by(mode: &str) {
    for more in [
        "",
        "/ip firewall connection tracking set enabled=yes",
        "/ip ipsec proposal set [find] enc-algorithms=aes-128-gcm",
    ] {
        let mut pair = pair(mode, more);
        for len in [2000, 4000, 9000] {
            let payload = vec![7; len];
            let sent = datagram(&payload).build();
            let mut out = Vec::new();
            for piece in pieces(&sent) {
                out.extend(pair.pass(&piece));
            }
            let bytes: usize = out.iter().map(|frame| frame.len() - 34).sum();
            assert_eq!(bytes, len + 8, "{more} {len}: {}", state(&mut pair));
            assert!(pair.seen.iter().all(|(_, frame)| is_esp(frame)), "{more} {len}");
        }
        pair.balanced();
    }
}

/// What is typed beside, and what becomes of a packet: whether it arrives, encrypted, and why not.
#[test]
fn who_gets_through() {
    MODES.into_iter().for_each(who_gets_through_by);
}

fn who_gets_through_by(mode: &str) {
    let none = None;
    let no_keys = Some(Discard::NoSecurityAssociation);
    for (more, first, arrives, encrypted, why) in [
        ("", "", true, true, none),
        ("", "/ip ipsec identity set [find] secret=other", false, false, no_keys),
        ("", "/ip ipsec identity set [find] remote-id=fqdn:a.example", false, false, no_keys),
        ("", "/ip ipsec identity set [find] remote-id=address:192.168.0.2", true, true, none),
        ("/ip ipsec peer set [find] passive=yes", "", false, false, no_keys),
        ("", "/ip ipsec peer set [find] passive=yes", true, true, none),
        ("", "/ip ipsec proposal set [find] enc-algorithms=aes-128-gcm", false, false, no_keys),
        ("", "/ip ipsec profile set [find] dh-group=ecp256", false, false, no_keys),
        ("/ip ipsec profile set [find] dh-group=ecp256,x25519", "", true, true, none),
        ("", "/ip ipsec profile set [find] dh-group=ecp256,x25519", true, true, none),
        ("", "/ip ipsec proposal set [find] pfs-group=none", false, false, no_keys),
        (
            "/ip ipsec proposal set [find] pfs-group=none",
            "/ip ipsec proposal set [find] pfs-group=none",
            true,
            true,
            none,
        ),
        ("", "/ip ipsec peer disable [find]", false, false, no_keys),
        ("", "/ip ipsec policy set [find peer=p] src-address=10.0.1.0/25", true, true, none),
        ("", "/ip ipsec policy set [find peer=p] level=use", true, true, none),
        (
            "/ip ipsec peer disable [find]",
            "/ip ipsec policy set [find peer=p] level=use",
            false,
            false,
            none,
        ),
        (
            "/ip ipsec policy disable [find peer=p]",
            "/ip ipsec policy disable [find peer=p]",
            true,
            false,
            none,
        ),
        ("", "/ip ipsec policy set [find peer=p] action=none", false, false, none),
        (
            "",
            "/ip ipsec policy set [find peer=p] action=discard",
            false,
            false,
            Some(Discard::IpsecDiscard),
        ),
        (
            "",
            "/ip ipsec policy add action=none dst-address=10.0.2.0/24 place-before=0",
            false,
            false,
            none,
        ),
        // FastTracked packets meet the policy all the same.
        (
            "",
            "/ip firewall filter add chain=forward action=fasttrack-connection\n\
             /ip firewall filter add chain=forward action=accept",
            true,
            true,
            none,
        ),
        (
            "/ip firewall filter add chain=forward ipsec-policy=out,none action=drop",
            "/ip firewall filter set [find] ipsec-policy=in,ipsec",
            false,
            true,
            none,
        ),
        (
            "/ip firewall filter add chain=forward ipsec-policy=in,ipsec action=drop",
            "",
            false,
            true,
            none,
        ),
        (
            "",
            "/ip firewall filter add chain=forward ipsec-policy=out,ipsec action=drop",
            false,
            false,
            Some(Discard::FilterDrop),
        ),
        (
            "",
            "/ip firewall nat add chain=srcnat action=masquerade ipsec-policy=out,none",
            true,
            true,
            none,
        ),
    ] {
        // (In version 1 who begins may leave a group out, unless that is strict.)
        let strict = "/ip ipsec profile set [find] proposal-check=strict\n";
        let mut pair = of(mode, &format!("{strict}{POLICY}{more}"));
        pair.routers[0].run(first);
        pair.wait(25);
        for n in 0..3 {
            let payload = [n; 100];
            let sent = datagram(&payload);
            let out = pair.pass(&sent.build());
            let case = format!("{more:?} {first:?}");
            assert_eq!(out.len(), usize::from(arrives), "{case}, {n}: {}", state(&mut pair));
            let esp = pair.seen.iter().any(|(_, frame)| is_esp(frame));
            assert_eq!(esp, encrypted, "{case}, {n}: {}", state(&mut pair));
        }
        if let Some(why) = why {
            let n = pair.routers[0].router.discards().get(why);
            assert_eq!(n, 3, "{more:?} {first:?}: {}", state(&mut pair));
        }
        pair.balanced();
    }
}

/// Whoever sends as it is what should come encrypted; packets that came before, or were changed.
#[test]
fn what_is_not_let_in() {
    MODES.into_iter().for_each(what_is_not_let_in_by);
}

fn what_is_not_let_in_by(mode: &str) {
    let mut pair = pair(mode, "");
    let sent = datagram(&[7; 100]).build();
    assert_eq!(pair.pass(&sent).len(), 1, "{}", state(&mut pair));
    let (_, esp) = pair.seen[0].clone();
    let refuses = |rig: &mut Rig, frame: &[u8], why: Discard| {
        let before = rig.router.discards().get(why);
        rig.send(2, frame);
        rig.breathe();
        let n = rig.router.discards().get(why) - before;
        assert_eq!((n, rig.take(1).len()), (1, 0), "{why}: {:?}", rig.router.discards());
    };
    let other = &mut pair.routers[1];
    refuses(other, &esp, Discard::Repeated);
    let clear = craft::Frame {
        src_mac: own_mac(2),
        dst_mac: own_mac(2),
        ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000)
    };
    refuses(other, &clear.build(), Discard::NotEncrypted);
    let mut of_nobody = esp.clone();
    of_nobody[34] ^= 1;
    refuses(other, &of_nobody, Discard::NoSecurityAssociation);
    for at in [41, 42, 60, esp.len() - 1] {
        let mut changed = esp.clone();
        changed[at] ^= 1;
        // (A number that has not come yet.)
        changed[38] = 1;
        refuses(other, &changed, Discard::Undecryptable);
    }
    for len in [34, 38, 41] {
        let mut short = esp[..len].to_vec();
        short[16..18].copy_from_slice(&((len - 14) as u16).to_be_bytes());
        short[24..26].fill(0);
        let sum = wire::checksum::of(&short[14..34]);
        short[24..26].copy_from_slice(&sum.to_be_bytes());
        refuses(other, &short, Discard::MalformedTunnel);
    }
    assert_eq!(pair.pass(&sent).len(), 1, "{}", state(&mut pair));
    pair.balanced();
}

/// What the other end has agreed to a part of: nothing else goes by its keys.
#[test]
fn a_part_of_a_policy() {
    MODES.into_iter().for_each(a_part_of_a_policy_by);
}

fn a_part_of_a_policy_by(mode: &str) {
    let mut pair = of(mode, &format!("{POLICY}/ip ipsec peer set [find] passive=yes"));
    let one = &mut pair.routers[0];
    one.run("/ip ipsec policy set [find peer=p] src-address=10.0.1.0/25");
    one.run("/ip ipsec peer set [find] passive=no");
    pair.wait(3);
    assert_eq!(pair.pass(&datagram(&[7; 100]).build()).len(), 1, "{}", state(&mut pair));
    let out = pair.pass_back(&answer(&[7; 100]).build());
    assert_eq!(out.len(), 1, "{}", state(&mut pair));
    let beyond = craft::Frame { dst: ip(10, 0, 1, 200), ..answer(&[7; 100]) };
    let out = pair.pass_back(&beyond.build());
    let n = pair.routers[1].router.discards().get(Discard::NoSecurityAssociation);
    assert_eq!((out.len(), pair.seen.len(), n), (0, 0, 1), "{}", state(&mut pair));
    pair.balanced();
}

/// What cannot be is refused where it is typed.
#[test]
fn what_is_refused() {
    let mut rig = Rig::new(2, "");
    for (line, why) in [
        ("policy add src-address=2001:db8::/32", "IPsec is of IPv4"),
        ("peer add address=10.0.0.1 exchange-mode=aggressive", "main mode is built"),
        ("identity add peer=nobody secret=x", "does not match any value of peer"),
        ("proposal add enc-algorithms=twofish", "AES in CBC and GCM"),
        ("profile add dh-group=modp768", "modp1024 to modp4096"),
    ] {
        let refused = rig.try_run(&format!("/ip ipsec {line}")).expect_err(line);
        assert!(refused.text.contains(why), "{line}: {}", refused.text);
    }
}

/// Of packets that go on and on none is lost while keys are made anew.
#[test]
fn keys_are_made_anew() {
    MODES.into_iter().for_each(keys_are_made_anew_by);
}

fn keys_are_made_anew_by(mode: &str) {
    let mut pair = pair(
        mode,
        "/ip ipsec proposal set [find] lifetime=20s
         /ip ipsec profile set [find] lifetime=50s",
    );
    let (mut spis, mut ike) =
        (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    for n in 0..150u8 {
        let there = pair.pass(&datagram(&[n; 100]).build());
        assert_eq!(there.len(), 1, "{n}: {}", state(&mut pair));
        let (_, frame) = pair.seen.iter().find(|(_, frame)| is_esp(frame)).expect("ESP");
        spis.insert(frame[34..38].to_vec());
        let back = pair.pass_back(&answer(&[n; 100]).build());
        assert_eq!(back.len(), 1, "{n}: {}", state(&mut pair));
        pair.wait(1);
        ike.insert(pair.routers[0].run(":put [/ip ipsec active-peers get 0 spii]"));
    }
    assert!((7..=11).contains(&spis.len()), "{} SPIs: {}", spis.len(), state(&mut pair));
    assert!((3..=5).contains(&ike.len()), "{ike:?}");
    let text = pair.routers[0].run("/ip ipsec installed-sa print count-only");
    assert!(["2", "4"].contains(&text.trim()), "{text}");
    pair.balanced();
}

/// An end that is silent is given up, and found again; one that has forgotten all is told new keys.
#[test]
fn ends_that_are_silent() {
    MODES.into_iter().for_each(ends_that_are_silent_by);
}

fn ends_that_are_silent_by(mode: &str) {
    let mut pair = pair(mode, "");
    pair.cut = true;
    pair.wait(60);
    let text = pair.routers[0].run("/log print");
    assert!(text.contains("p does not answer"), "{text}");
    assert_eq!(pair.routers[0].run("/ip ipsec installed-sa print count-only").trim(), "0");
    pair.cut = false;
    pair.wait(25);
    assert_eq!(pair.pass(&datagram(&[7; 100]).build()).len(), 1, "{}", state(&mut pair));
    // Only one of them has forgotten.
    pair.routers[1].run("/ip ipsec installed-sa flush");
    pair.wait(15);
    assert_eq!(pair.pass(&datagram(&[7; 100]).build()).len(), 1, "{}", state(&mut pair));
    assert_eq!(pair.pass_back(&answer(&[7; 100]).build()).len(), 1, "{}", state(&mut pair));
    pair.balanced();
}

/// 192.168.0.1 is 192.168.0.9 to the other one.
fn translate(from: usize, frame: &mut [u8]) {
    let (at, is, becomes) = if from == 0 { (29, 1, 9) } else { (33, 9, 1) };
    if frame[12..14] != [8, 0] || frame[26..29] != [192, 168, 0] || frame[at] != is {
        return;
    }
    frame[at] = becomes;
    frame[24..26].fill(0);
    let sum = wire::checksum::of(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    if frame[23] == 17 {
        frame[40..42].fill(0);
    }
}

/// The first one is known by another address, as behind NAT: ESP goes in UDP, both ways, and NAT is kept open.
#[test]
fn behind_nat() {
    MODES.into_iter().for_each(behind_nat_by);
}

fn behind_nat_by(mode: &str) {
    let mut pair = of(mode, &format!("{POLICY}/ip ipsec peer disable [find]"));
    pair.changes = translate;
    let other = &mut pair.routers[1];
    other.run("/ip ipsec peer set [find] address=192.168.0.9/32 passive=yes disabled=no");
    other.run("/ip arp add address=192.168.0.9 mac-address=02:00:00:00:00:02 interface=ether2");
    other.run("/ip route set [find dst-address=10.0.1.0/24] gateway=192.168.0.9");
    pair.routers[0].run("/ip ipsec peer enable [find]");
    pair.wait(3);
    for n in 0..3 {
        let payload = [n; 100];
        let sent = datagram(&payload);
        assert_eq!(pair.pass(&sent.build()), [arrived(&sent)], "{}", state(&mut pair));
        let (_, frame) = &pair.seen[0];
        assert_eq!((frame[23], &frame[34..38]), (17, &[0x11, 0x94, 0x11, 0x94][..]), "UDP, 4500");
        let back = pair.pass_back(&answer(&payload).build());
        assert_eq!(back.len(), 1, "{}", state(&mut pair));
    }
    pair.seen.clear();
    pair.wait(60);
    let kept = pair.seen.iter().filter(|(n, frame)| *n == 0 && frame[38..40] == [0, 9]).count();
    assert!((2..=4).contains(&kept), "{kept}");
    let text = pair.routers[0].run("/ip ipsec active-peers print");
    assert!(text.contains(" N "), "{text}");
    pair.balanced();
}

/// In version 1 who begins says whether there is a group.
#[test]
fn who_begins_says_whether_there_is_a_group() {
    for (own, group) in [("none", "modp1024"), ("modp2048", "modp1024"), ("x25519", "none")] {
        let text = format!("/ip ipsec proposal set [find] pfs-group={group}");
        let mut pair = of("main", &format!("{POLICY}{text}"));
        pair.routers[0].run(&format!("/ip ipsec proposal set [find] pfs-group={own}"));
        pair.routers[1].run("/ip ipsec peer set [find] passive=yes");
        pair.wait(20);
        let out = pair.pass(&datagram(&[7; 100]).build());
        assert_eq!(out.len(), 1, "{own} {group}: {}", state(&mut pair));
    }
}

/// Packets between the routers themselves: what is behind their own headers is encrypted, of a tunnel as of a ping.
#[test]
fn transport() {
    MODES.into_iter().for_each(transport_by);
}

fn transport_by(mode: &str) {
    let mut pair = of(
        mode,
        "/ip ipsec policy add peer=p src-address=192.168.0.$me/32 dst-address=192.168.0.$you/32 protocol=gre
         /interface gre add name=t local-address=192.168.0.$me remote-address=192.168.0.$you
         /ip address add address=172.16.0.$me/30 interface=t
         /ip route remove [find dst-address=10.0.$you.0/24]
         /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you",
    );
    pair.wait(5);
    for n in 0..4 {
        let payload = [n; 300];
        let sent = datagram(&payload);
        assert_eq!(pair.pass(&sent.build()), [arrived(&sent)], "{}", state(&mut pair));
        assert!(pair.seen.iter().all(|(_, frame)| is_esp(frame)), "{n}");
        assert_eq!(pair.seen[0].1[26..34], [192, 168, 0, 1, 192, 168, 0, 2]);
    }
    pair.balanced();
}

/// Tunnels whose own packets are encrypted by a secret of theirs.
#[test]
fn tunnels_with_a_secret() {
    for (menu, more, protocol) in [
        ("gre", "", 47),
        ("ipip", "", 4),
        ("gre", "local-address=192.168.0.$me", 47),
        ("eoip", "tunnel-id=5 local-address=192.168.0.$me", 47),
    ] {
        let mut pair = Pair::new(&format!(
            "/ip arp add address=10.0.$me.1 mac-address=06:00:00:00:00:0$me interface=ether1
             /interface {menu} add name=t remote-address=192.168.0.$you {more} ipsec-secret=word
             /ip address add address=172.16.0.$me/30 interface=t
             /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you"
        ));
        pair.wait(8);
        for n in 0..4 {
            let payload = [n; 300];
            let sent = datagram(&payload);
            assert_eq!(pair.pass(&sent.build()), [arrived(&sent)], "{menu}: {}", state(&mut pair));
            assert!(pair.seen.iter().all(|(_, frame)| is_esp(frame)), "{menu}, {n}");
        }
        let text = pair.routers[0].run("/ip ipsec policy print where dynamic");
        assert!(text.contains("192.168.0.2/32") && text.contains("established"), "{menu}: {text}");
        // Without the same secret nothing passes, and never in the clear.
        pair.routers[1].run(&format!("/interface {menu} set t ipsec-secret=other"));
        pair.wait(40);
        pair.seen.clear();
        assert_eq!(
            pair.pass(&datagram(&[1; 300]).build()).len(),
            0,
            "{menu}: {}",
            state(&mut pair)
        );
        let is_clear = |(_, frame): &(usize, Vec<u8>)| frame[23] == protocol;
        assert!(!pair.seen.iter().any(is_clear), "{menu}");
        pair.balanced();
    }
}

/// L2TP over IPsec: a client of a server that wants it, or lets it; as it is, and behind NAT.
#[test]
fn l2tp_clients() {
    for (server, client, nat, arrives, encrypted) in [
        ("required", "yes", false, true, true),
        ("yes", "yes", false, true, true),
        ("yes", "no", false, true, false),
        ("no", "no", false, true, false),
        ("required", "no", false, false, false),
        ("required", "yes", true, true, true),
        ("yes", "yes", true, true, true),
    ] {
        let mut pair = Pair::new(
            "/ip arp add address=10.0.$me.1 mac-address=06:00:00:00:00:0$me interface=ether1",
        );
        let [one, two] = &mut pair.routers;
        two.run(&format!(
            "/ppp secret add name=bob password=secret local-address=172.16.7.254 \
             remote-address=172.16.7.1 routes=10.0.1.0/24
             /interface l2tp-server server set enabled=yes use-ipsec={server} ipsec-secret=word"
        ));
        if nat {
            pair.changes = translate;
            two.run(
                "/ip arp add address=192.168.0.9 mac-address=02:00:00:00:00:02 interface=ether2",
            );
        }
        one.run(&format!(
            "/interface l2tp-client add name=t connect-to=192.168.0.2 user=bob password=secret \
             use-ipsec={client} ipsec-secret=word disabled=no
             /ip route add dst-address=10.0.2.0/24 gateway=t"
        ));
        pair.wait(25);
        let case = format!("server {server}, client {client}, NAT {nat}");
        for n in 0..3 {
            let payload = [n; 300];
            let sent = datagram(&payload);
            let out = pair.pass(&sent.build());
            assert_eq!(out.len(), usize::from(arrives), "{case}: {}", state(&mut pair));
            let is_clear =
                |(_, frame): &(usize, Vec<u8>)| frame[23] == 17 && frame[36..38] == [6, 165];
            let clear = pair.seen.iter().any(is_clear);
            assert_eq!(clear, arrives && !encrypted, "{case}: {}", state(&mut pair));
            let back = pair.pass_back(&answer(&payload).build());
            assert_eq!(back.len(), usize::from(arrives), "{case}: {}", state(&mut pair));
        }
        pair.balanced();
    }
}

/// IKE's messages with a byte changed, or cut off, as somebody on the way might: nothing panics, and when that is over both
/// ends agree.
#[test]
fn messages_are_changed_on_their_way() {
    thread_local! {
        static DICE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    fn change(_: usize, frame: &mut [u8]) {
        let seed = DICE.get();
        if seed == 0 || frame[12..14] != [8, 0] || frame[23] != 17 || frame.len() < 71 {
            return;
        }
        let next =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        DICE.set(next | 1);
        let at = 42 + (next >> 33) as usize % (frame.len() - 42);
        if next >> 20 & 3 != 0 {
            frame[at] ^= 1 << (next >> 40 & 7);
            frame[40..42].fill(0);
        }
    }
    for mode in MODES {
        for seed in 1..60 {
            let mut pair = of(mode, &format!("{POLICY}/ip ipsec peer disable [find]"));
            pair.changes = change;
            DICE.set(seed);
            pair.routers.iter_mut().for_each(|rig| _ = rig.run("/ip ipsec peer enable [find]"));
            pair.wait(8);
            DICE.set(0);
            pair.wait(75);
            let out = pair.pass(&datagram(&[7; 100]).build());
            let seen: Vec<_> =
                pair.seen.iter().map(|(n, frame)| (*n, frame[..42].to_vec())).collect();
            assert_eq!(out.len(), 1, "{mode}, seed {seed}: {seen:02x?} {}", state(&mut pair));
            pair.balanced();
        }
    }
}
