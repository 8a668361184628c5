//! DHCPv6: a client and a server of ours at the ends of a cable, and messages that neither would send.

use crate::ipv6::{Sent, discards, ip6, ping};
use crate::rig::{Rig, mac, own_mac};
use port::Capabilities;
use std::time::Duration;
use wire::Ipv6;
use wire::checksum::Sum;
use wire::dhcp6::{
    Association, CLIENT_PORT, Kind, Lent, Message, SERVER_PORT, SERVERS, option, status,
};
use wire::icmpv6::group_mac;
use wire::layers::protocol;

const ISP: &str = "/ipv6 pool add name=isp prefix=2001:db8:100::/40 prefix-length=56
/ipv6 pool add name=one prefix=2001:db8:1::/64 prefix-length=128
/ipv6 address add address=2001:db8:1::1/64 interface=ether1 advertise=no
/ipv6 dhcp-server option add name=dns code=23 value=\"'2001:db8::53'\"
/ipv6 dhcp-server add name=s interface=ether1 address-pool=one prefix-pool=isp dhcp-option=dns lease-time=2m";
const HOME: &str = "/ipv6 dhcp-client add interface=ether1 request=address,prefix pool-name=home \
                    add-default-route=yes
/ipv6 address add address=::1 from-pool=home interface=ether2";

fn fresh(script: &str) -> Rig {
    let mut rig = Rig::with_ports(&[Capabilities::default(); 2]);
    rig.run(script);
    rig
}

/// Lets time pass with a cable between their first ports.
fn cable(home: &mut Rig, isp: &mut Rig, seconds: u64) {
    for _ in 0..seconds * 10 {
        for rig in [&mut *home, &mut *isp] {
            rig.wait(Duration::from_millis(100));
        }
        home.take(1).iter().for_each(|frame| isp.send(1, frame));
        isp.take(1).iter().for_each(|frame| home.send(1, frame));
        home.breathe();
        isp.breathe();
    }
}

fn count(rig: &mut Rig, what: &str) -> usize {
    let (menu, rest) = what.split_once(" where ").unwrap_or((what, ""));
    let rest = if rest.is_empty() { String::new() } else { format!(" where {rest}") };
    rig.run(&format!("{menu} print count-only{rest}")).trim().parse().unwrap()
}

/// RFC 8415 §18.2, §18.3: a prefix is had, kept, given back and lost; all that hangs on it follows.
#[test]
fn a_prefix_is_delegated() {
    for rapid in ["yes", "no"] {
        let (mut home, mut isp) = (fresh(HOME), fresh(ISP));
        // Both have the MAC addresses of rigs: the home's is another one.
        home.run("/interface ethernet set ether1 mac-address=02:00:00:00:00:77");
        home.run(&format!("/ipv6 dhcp-client set 0 rapid-commit={rapid}"));
        assert_eq!(count(&mut home, "/ipv6 address where invalid"), 1);
        cable(&mut home, &mut isp, 6);
        let status = home.run("/ipv6 dhcp-client print detail");
        for word in ["status=bound", "2001:db8:100::/56, 1m5", "primary-dns=2001:db8::53"] {
            assert!(status.contains(word), "{rapid}: {word} in\n{status}");
        }
        assert_eq!(count(&mut home, "/ipv6 address where invalid"), 0);
        let addresses = home.run("/ipv6 address print");
        for own in ["2001:db8:100::1/64", "2001:db8:1::/128"] {
            assert!(
                addresses.contains(own) || own.starts_with("2001:db8:1::"),
                "{own} in\n{addresses}"
            );
        }
        assert_eq!(count(&mut home, "/ipv6 address where dynamic global"), 1, "{addresses}");
        assert_eq!(count(&mut home, "/ipv6 route where active dst-address=::/0"), 1);
        assert_eq!(
            count(&mut home, "/ipv6 route where unreachable dst-address=2001:db8:100::/56"),
            1
        );
        assert_eq!(count(&mut home, "/ipv6 pool where dynamic name=home"), 1);
        let bindings = isp.run("/ipv6 dhcp-server binding print");
        assert_eq!(bindings.matches("bound").count(), 2, "{bindings}");
        let routes = isp.run("/ipv6 route print");
        assert!(routes.contains("fe80::ff:fe00:77%ether1"), "{routes}");
        // What the home's hosts are told ends with the lease.
        home.wait(Duration::from_secs(1));
        let told = home.take(2).into_iter().find_map(|frame| {
            let packet = Ipv6::new(&frame[14..]).unwrap();
            wire::router_advertisement::RouterAdvertisement::read(packet.payload()).ok()
        });
        let told = told.expect("an advertisement");
        assert_eq!(
            (told.dns, told.prefixes[0].prefix),
            (vec![ip6("2001:db8::53")], ip6("2001:db8:100::"))
        );
        assert!((100..=120).contains(&told.prefixes[0].valid_s), "{:?}", told.prefixes);
        // It is renewed after half of the time, and so all the time.
        cable(&mut home, &mut isp, 170);
        assert_eq!(count(&mut home, "/ipv6 dhcp-client where status=bound"), 1);
        assert_eq!(count(&mut isp, "/ipv6 dhcp-server binding where expires-after>1m"), 2);
        home.run("/ipv6 dhcp-client release 0");
        home.breathe();
        assert_eq!(count(&mut home, "/ipv6 address where invalid"), 1);
        home.take(1).iter().for_each(|frame| isp.send(1, frame));
        isp.breathe();
        assert_eq!(count(&mut isp, "/ipv6 dhcp-server binding"), 0);
        assert_eq!(count(&mut isp, "/ipv6 pool used"), 0);
        cable(&mut home, &mut isp, 6);
        assert_eq!(count(&mut home, "/ipv6 dhcp-client where status=bound"), 1);
        // Nobody answers any more.
        home.wait(Duration::from_secs(100));
        assert_eq!(count(&mut home, "/ipv6 dhcp-client where status~\"re\""), 1);
        home.wait(Duration::from_secs(30));
        assert_eq!(count(&mut home, "/ipv6 dhcp-client where status=\"searching...\""), 1);
        assert_eq!(count(&mut home, "/ipv6 address where invalid"), 1);
        assert!(home.run("/log print").contains("lost 2001:db8:100::/56 - lease expired"));
        isp.wait(Duration::from_secs(130));
        assert_eq!(count(&mut isp, "/ipv6 dhcp-server binding"), 0);
        // The client goes, and says so.
        cable(&mut home, &mut isp, 8);
        home.run("/ipv6 dhcp-client disable 0");
        home.breathe();
        home.take(1).iter().for_each(|frame| isp.send(1, frame));
        isp.breathe();
        assert_eq!(count(&mut isp, "/ipv6 dhcp-server binding"), 0);
        assert!(home.router.frames().balance() && isp.router.frames().balance());
    }
}

/// `script` and `binding-script`: what is got and lost, told to scripts.
#[test]
fn scripts_know_what_was_bound() {
    let (mut home, mut isp) = (fresh(HOME), fresh(ISP));
    home.run("/interface ethernet set ether1 mac-address=02:00:00:00:00:77");
    home.run("/ipv6 dhcp-client set 0 script=\":put got\"");
    isp.run("/ipv6 dhcp-server set s binding-script=\":put bound\"");
    let ran = |rig: &mut Rig| -> Vec<String> {
        let all = std::iter::from_fn(|| rig.router.take_script());
        all.map(|wanted| format!("{} {} {}", wanted.who, wanted.script, wanted.known)).collect()
    };
    let check = |ran: &[String], words: &[&[&str]]| {
        assert_eq!(ran.len(), words.len(), "{ran:#?}");
        for word in words.iter().flat_map(|words| *words) {
            assert!(ran.iter().any(|ran| ran.contains(word)), "{word} in\n{ran:#?}");
        }
    };
    cable(&mut home, &mut isp, 170);
    let prefix = "\"pd-prefix\" \"2001:db8:100::/56\"";
    check(
        &ran(&mut home),
        &[&["dhcpv6-client ether1 :put got", "\"pd-valid\" 1", "\"na-valid\" 1", prefix]],
    );
    let bound = "\"bindingPrefix\" \"2001:db8:100::/56\"";
    let of = ["dhcpv6-server s :put bound", "\"bindingBound\" 1", bound];
    check(
        &ran(&mut isp),
        &[&of, &["\"bindingAddress\" \"2001:db8:1::", "\"bindingDUID\" \"0x0003000102"]],
    );
    // Nobody is there any more.
    home.wait(Duration::from_secs(130));
    isp.wait(Duration::from_secs(130));
    check(&ran(&mut home), &[&["\"pd-valid\" 0", "\"na-valid\" 0", prefix]]);
    check(&ran(&mut isp), &[&["\"bindingBound\" 0", bound], &[]]);
}

/// `check-gateway`: a default router that keeps silent is none, though the lease lasts; another one takes its
/// place, until it answers again.
#[test]
fn a_default_router_that_falls_silent() {
    let (mut home, mut isp) = (fresh(HOME), fresh(ISP));
    home.run("/interface ethernet set ether1 mac-address=02:00:00:00:00:77");
    home.run(
        "/ipv6 dhcp-client set 0 check-gateway=ping; /ipv6 route add gateway=ether2 distance=9",
    );
    isp.run("/ipv6 dhcp-server set 0 lease-time=1h");
    isp.run("/ipv6 firewall filter add chain=input protocol=icmpv6 icmp-options=128:0 action=drop");
    for (disabled, active) in [("no", 0), ("yes", 1), ("no", 0)] {
        isp.run(&format!("/ipv6 firewall filter set 0 disabled={disabled}"));
        cable(&mut home, &mut isp, 40);
        let is = format!("{disabled}:\n{}", home.run("/ipv6 route print detail"));
        let default = "/ipv6 route where dst-address=::/0 active";
        assert_eq!(count(&mut home, &format!("{default} dynamic")), active, "{is}");
        assert_eq!(count(&mut home, &format!("{default} !dynamic")), 1 - active, "{is}");
        let said = ["ether1 unreachable", "ether1 reachable via ether1"][active];
        assert!(is.contains(said), "{said} in {is}");
        assert_eq!(count(&mut home, "/ipv6 dhcp-client where status=bound"), 1);
    }
}

/// A typed binding is its client's only; an item that goes takes it away.
#[test]
fn typed_bindings() {
    let (mut home, mut isp) = (fresh(HOME), fresh(ISP));
    home.run("/interface ethernet set ether1 mac-address=02:00:00:00:00:77");
    isp.run(
        "/ipv6 dhcp-server binding add address=2001:db8:100::/56 duid=0x01
/ipv6 dhcp-server binding add address=2001:db8:142::/48 duid=0x00030001020000000077 life-time=1h",
    );
    cable(&mut home, &mut isp, 6);
    let status = home.run("/ipv6 dhcp-client print detail");
    assert!(status.contains("2001:db8:142::/48, 59m"), "{status}");
    assert_eq!(count(&mut isp, "/ipv6 dhcp-server binding where status=waiting"), 1);
    assert_eq!(count(&mut isp, "/ipv6 dhcp-server binding where !dynamic status=bound"), 1);
    isp.run("/ipv6 dhcp-server binding remove 1");
    home.run("/ipv6 dhcp-client renew 0");
    cable(&mut home, &mut isp, 6);
    let status = home.run("/ipv6 dhcp-client print detail");
    assert!(status.contains("2001:db8:100:100::/56"), "that of 0x01 is reserved:\n{status}");
}

/// RFC 8415 §12: a client that starts anew from its export asks for the same by the same number, whatever
/// its interface is numbered then (the swarm's seed 2300).
#[test]
fn after_a_start_the_number_is_the_same() {
    let mut isp = fresh(ISP);
    isp.run("/ipv6 pool set isp prefix=2001:db8:100::/56");
    let scripts = [
        "/interface vlan add name=v interface=ether1 vlan-id=5
         /interface bridge add name=b protocol-mode=none",
        "/interface bridge add name=b protocol-mode=none
         /interface bridge add name=c protocol-mode=none
         /interface vlan add name=v interface=ether1 vlan-id=5",
    ];
    isp.run("/interface vlan add name=v interface=ether1 vlan-id=5");
    isp.run(
        "/ipv6 address set [find dynamic=no] interface=v; /ipv6 dhcp-server set [find] interface=v",
    );
    for script in scripts {
        let mut home = fresh(script);
        home.run("/interface ethernet set ether1 mac-address=02:00:00:00:00:77");
        home.run("/ipv6 dhcp-client add interface=v request=prefix pool-name=home");
        cable(&mut home, &mut isp, 6);
        assert_eq!(count(&mut home, "/ipv6 dhcp-client where status=bound"), 1, "{script}");
        assert_eq!(count(&mut isp, "/ipv6 dhcp-server binding where status=bound"), 1);
    }
}

/// RFC 8415 §18.2.6: a client that wants nothing but name servers.
#[test]
fn stateless() {
    let (mut home, mut isp) =
        (fresh("/ipv6 dhcp-client add interface=ether1 request=info"), fresh(ISP));
    home.run("/interface ethernet set ether1 mac-address=02:00:00:00:00:77");
    cable(&mut home, &mut isp, 5);
    let status = home.run("/ipv6 dhcp-client print detail");
    assert!(
        status.contains("status=bound") && status.contains("primary-dns=2001:db8::53"),
        "{status}"
    );
    assert_eq!(count(&mut isp, "/ipv6 dhcp-server binding"), 0);
}

/// A client's message to the server on the first port.
fn says(message: &[u8]) -> Sent {
    let (src, dst) = (ip6("fe80::c"), SERVERS);
    let mut payload = [CLIENT_PORT.to_be_bytes(), SERVER_PORT.to_be_bytes()].concat();
    let len = 8 + message.len() as u16;
    payload.extend(len.to_be_bytes());
    payload.extend([0, 0]);
    payload.extend(message);
    let sum = Sum::pseudo_ipv6(src.octets(), dst.octets(), protocol::UDP, len.into());
    let sum = sum.bytes(&payload).finish().to_be_bytes();
    payload[6..8].copy_from_slice(&sum);
    let (dst_mac, src_mac) = (group_mac(dst), mac(3));
    Sent { src, dst, dst_mac, src_mac, next_header: protocol::UDP, payload, ..ping("::1") }
}

fn asks(kind: Kind, change: impl Fn(&mut Message)) -> Sent {
    let mut message = Message::new(kind, 7);
    message.push(option::CLIENT_ID, [9]);
    message.push(option::WANTED, option::DNS.to_be_bytes());
    message.associations.push(Association { is_pd: true, iaid: 1, ..Association::default() });
    change(&mut message);
    says(&message.to_bytes())
}

/// What the server answers: its kind, the status, and what it lends.
fn answers(rig: &mut Rig, sent: &Sent) -> Option<String> {
    rig.send(1, &sent.build());
    rig.breathe();
    let read = rig.take(1).into_iter().find_map(|frame| {
        let packet = Ipv6::new(&frame[14..]).unwrap();
        assert_eq!(frame[..6], mac(3).0);
        (packet.next_header() == protocol::UDP).then(|| Message::read(&packet.payload()[8..]))
    });
    let message = read??;
    let mut text = format!("{:?} {}", message.kind, message.status());
    for association in &message.associations {
        let lent = association.lent.iter();
        let lent: Vec<_> =
            lent.map(|l| format!(" {}/{},{}", l.address, l.len, l.valid_s)).collect();
        text += &lent.concat();
        text += &association.status.map_or(String::new(), |status| format!(" !{status}"));
    }
    Some(text)
}

/// RFC 8415 §16, §18.3: who is answered, and with what.
#[test]
fn a_server_answers() {
    let own = [&[0, 3, 0, 1], &own_mac(1).0[..]].concat();
    let ours = |message: &mut Message| message.push(option::SERVER_ID, own.clone());
    let lent = |prefix: &str, len| Lent { address: ip6(prefix), len, preferred_s: 9, valid_s: 9 };
    let want = |prefix: &'static str, len| {
        move |message: &mut Message| message.associations[0].lent.push(lent(prefix, len))
    };
    let na = |message: &mut Message| message.associations[0].is_pd = false;
    let first = "2001:db8:100::/56,120";
    #[rustfmt::skip]
    let cases: Vec<(&str, Sent, Option<String>)> = vec![
        ("solicit", asks(Kind::Solicit, |_| ()), Some(format!("Advertise 0 {first}"))),
        ("rapid", asks(Kind::Solicit, |m| m.push(option::RAPID_COMMIT, [])), Some(format!("Reply 0 {first}"))),
        ("a hint", asks(Kind::Solicit, want("2001:db8:105::", 56)), Some("Advertise 0 2001:db8:105::/56,120".to_string())),
        ("a foreign hint", asks(Kind::Solicit, want("2001:db9::", 56)), Some(format!("Advertise 0 {first} 2001:db9::/56,0"))),
        ("an address", asks(Kind::Solicit, na), Some("Advertise 0 2001:db8:1::2/128,120".to_string())),
        ("to another server", asks(Kind::Request, |m| m.push(option::SERVER_ID, [1])), None),
        ("to no server", asks(Kind::Request, |_| ()), None),
        ("request", asks(Kind::Request, ours), Some(format!("Reply 0 {first}"))),
        ("renew of nothing known", asks(Kind::Renew, ours), Some(format!("Reply 0 {first}"))),
        ("release of nothing", asks(Kind::Release, ours), Some("Reply 0".to_string())),
        ("nobody asks", asks(Kind::Solicit, |m| drop(m.options.remove(0))), None),
        ("an advertisement", asks(Kind::Advertise, ours), None),
        ("confirm, on the link", asks(Kind::Confirm, |m| { na(m); want("2001:db8:1::5", 128)(m) }), Some("Reply 0".to_string())),
        ("confirm, elsewhere", asks(Kind::Confirm, |m| { na(m); want("2001:db9::5", 128)(m) }), Some(format!("Reply {}", status::NOT_ON_LINK))),
        ("information", asks(Kind::Information, |m| m.associations.clear()), Some("Reply 0".to_string())),
        ("information, and more", asks(Kind::Information, |_| ()), None),
    ];
    for (what, sent, expected) in cases {
        let mut rig = fresh(ISP);
        rig.wait(Duration::from_secs(3));
        rig.take(1);
        let neighbour = wire::icmpv6::Neighbour {
            advertisement: false,
            router: false,
            solicited: false,
            override_: false,
            target: ip6("fe80::ff:fe00:1"),
            mac: Some(mac(3)),
        };
        rig.pass(1, &crate::ipv6::says(3, "fe80::c", "ff02::1:ff00:1", neighbour).build());
        assert_eq!(answers(&mut rig, &sent), expected, "{what}");
        assert_eq!(discards(&rig), [], "{what}");
    }
    // None is left, and who asks for many at once gets a few.
    let mut rig = fresh(&ISP.replace("2001:db8:100::/40", "2001:db8:100::/55"));
    rig.wait(Duration::from_secs(3));
    let many = asks(Kind::Solicit, |message| {
        message.push(option::RAPID_COMMIT, []);
        let one = message.associations[0].clone();
        message.associations.extend((2..9).map(|iaid| Association { iaid, ..one.clone() }));
    });
    rig.pass(1, &many.build());
    let text = rig.run("/ipv6 pool used print count-only");
    assert_eq!(text.trim(), "2");
    assert!(rig.router.frames().balance());
}

/// What is no message is dropped by name.
#[test]
fn no_messages() {
    let good = asks(Kind::Solicit, |_| ());
    let bytes = || Message::new(Kind::Solicit, 7).to_bytes();
    let cases: [(&str, Sent); 6] = [
        ("empty", says(&[])),
        ("a relay's", says(&[12, 0, 0, 0, 0, 0, 0, 0])),
        ("an option past its end", says(&[bytes(), vec![0, 1, 0, 9, 1]].concat())),
        ("half an option", says(&[bytes(), vec![0, 1, 0]].concat())),
        ("an association cut off", says(&[bytes(), vec![0, 25, 0, 4, 0, 0, 0, 1]].concat())),
        ("too many", says(&[bytes(), [9, 9, 0, 0].repeat(65)].concat())),
    ];
    for (what, sent) in cases {
        let mut rig = fresh(ISP);
        rig.wait(Duration::from_secs(3));
        rig.send(1, &sent.build());
        rig.breathe();
        assert_eq!(discards(&rig), [("bad-dhcp", 1)], "{what}");
    }
    // From beyond the link, damaged, and where nobody serves.
    let mut rig = fresh(ISP);
    rig.wait(Duration::from_secs(3));
    let mut damaged = Sent { payload: good.payload.clone(), ..asks(Kind::Solicit, |_| ()) };
    damaged.payload[6] ^= 1;
    rig.send(1, &damaged.build());
    rig.send(1, &Sent { src: ip6("2001:db8:1::c"), ..asks(Kind::Solicit, |_| ()) }.build());
    rig.send(2, &good.build());
    rig.breathe();
    let all: u64 = discards(&rig).iter().map(|(_, n)| n).sum();
    assert_eq!(all, 3, "{:?}", discards(&rig));
}
