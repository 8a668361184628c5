//! DHCP: what servers answer, what clients do with it, and what neither believes.

use crate::rig::{Rig, mac};
use proptest::prelude::*;
use router::discard::Discard;
use std::time::Duration;
use wire::arp::Operation;
use wire::craft::{self, ip};
use wire::dhcp::{self, Kind, Message, option};
use wire::{MacAddr, layers};

pub(crate) const SERVER: &str = "\
/ip address add address=10.0.0.1/24 interface=ether1
/ip pool add name=p ranges=10.0.0.10-10.0.0.12
/ip dhcp-server option add name=tz code=101 value=s'UTC'
/ip dhcp-server option add name=secret code=224 value=0x0102'7' force=yes
/ip dhcp-server option sets add name=all options=tz,secret
/ip dhcp-server network add address=10.0.0.0/24 gateway=10.0.0.1 dns-server=10.0.0.1,8.8.8.8 \\
    domain=lan ntp-server=10.0.0.2 next-server=10.0.0.3 boot-file-name=x.img dhcp-option-set=all
/ip dhcp-server lease add address=10.0.0.99 mac-address=06:00:00:00:00:63 comment=typed
/ip dhcp-server add name=s interface=ether1 address-pool=p lease-time=10m conflict-detection=no
";

/// A message of host `n`.
fn said(n: u8, kind: Kind, edit: impl FnOnce(&mut Message)) -> Message {
    let mut message = Message {
        op: dhcp::REQUEST,
        xid: 0x0102_0300 | u32::from(n),
        chaddr: mac(n),
        ..Message::default()
    };
    message.push(option::KIND, [kind as u8]);
    edit(&mut message);
    message
}

fn want(address: u32) -> impl Fn(&mut Message) {
    move |message| message.push_addresses(option::REQUESTED, &[address])
}

/// Its frame: broadcast from nobody, or from the address it has.
fn frame(message: &Message) -> Vec<u8> {
    let payload = message.to_bytes();
    let dst = u32::MAX;
    let frame = craft::udp(message.ciaddr, dhcp::CLIENT_PORT, dst, dhcp::SERVER_PORT);
    craft::Frame {
        src_mac: message.chaddr,
        dst_mac: MacAddr::BROADCAST,
        payload: &payload,
        ..frame
    }
    .build()
}

/// What came out that is DHCP: to which MAC and IP address, and what it says.
fn answers(frames: &[Vec<u8>]) -> Vec<(MacAddr, u32, Message)> {
    let all = frames.iter().filter_map(|frame| {
        let layers = layers::network(frame).ok()?;
        let message = Message::read(frame.get(usize::from(layers.l4) + 8..)?)?;
        Some((MacAddr(*frame.first_chunk()?), layers.tuple.dst, message))
    });
    all.collect()
}

impl Rig {
    /// What the server answers.
    fn ask(&mut self, message: &Message) -> Vec<(MacAddr, u32, Message)> {
        self.send(1, &frame(message));
        self.breathe();
        answers(&self.take(1))
    }

    fn balanced(&self) {
        let frames = self.router.frames();
        assert!(frames.balance(), "{frames:?} {:?}", self.router.discards());
    }
}

/// A typed lease's rates are a simple queue of its address, which packets wait in.
#[test]
fn leases_have_rates() {
    let mut rig = Rig::new(2, SERVER);
    rig.run("/ip address add address=10.0.2.1/24 interface=ether2");
    rig.run("/ip dhcp-server lease set [find comment=typed] rate-limit=\"64k/128k\"");
    let print = rig.run("/queue simple print detail");
    assert!(print.contains("target=10.0.0.99/32 "), "{print}");
    assert!(print.contains("max-limit=64k/128k"), "{print}");
    rig.introduce(1, mac(0x63), ip(10, 0, 0, 99), ip(10, 0, 0, 1));
    let payload = [0; 1400];
    let datagram = craft::udp(ip(10, 0, 2, 9), 1, ip(10, 0, 0, 99), 2);
    let datagram = craft::Frame { dst_mac: crate::rig::own_mac(2), payload: &payload, ..datagram };
    let frame = datagram.build();
    // Ten seconds of 1 Mbps down.
    let mut came = 0;
    for _ in 0..900 {
        rig.send(2, &frame);
        rig.wait(Duration::from_millis(11));
        came += rig.take(1).len();
    }
    let kbps = came * frame.len() * 8 / 9900;
    assert!((120..150).contains(&kbps), "{kbps} kbps");
    rig.run("/ip dhcp-server lease set [find comment=typed] rate-limit=\"1M/1M\"");
    assert!(rig.run("/queue simple print detail").contains("max-limit=1M/1M"));
    rig.run("/ip dhcp-server lease disable [find comment=typed]");
    assert!(!rig.run("/queue simple print detail").contains("10.0.0.99"));
    let error = rig.try_run("/ip dhcp-server lease set 0 rate-limit=fast").unwrap_err();
    assert!(error.text.contains("rate-limit"), "{error:?}");
}

/// Where nobody is learnt, those with a lease are neighbours as long as it lasts, whoever else says that he
/// has the address.
#[test]
fn leases_are_neighbours() {
    let bind = |rig: &mut Rig, n: u8, address: u32| {
        let select = |message: &mut Message| {
            want(address)(message);
            message.push_addresses(option::SERVER, &[ip(10, 0, 0, 1)]);
        };
        rig.ask(&said(n, Kind::Discover, want(address)));
        assert_eq!(rig.ask(&said(n, Kind::Request, select)).len(), 1);
    };
    for arp in ["enabled", "reply-only"] {
        let mut rig = Rig::new(2, SERVER);
        rig.run("/ip dhcp-server set s add-arp=yes");
        rig.run(&format!("/interface ethernet set ether1 arp={arp}"));
        let rows =
            |rig: &mut Rig| rig.run("/ip arp print count-only where DHCP").trim().to_string();
        bind(&mut rig, 7, ip(10, 0, 0, 11));
        assert_eq!(rows(&mut rig), "1", "{arp}");
        let thief = wire::arp::ArpMessage::request(mac(9), ip(10, 0, 0, 11), ip(10, 0, 0, 1));
        rig.send(1, &craft::arp(thief).build());
        rig.wait(Duration::from_secs(400));
        rig.take(1);
        // A packet for it goes to the one who has the lease.
        rig.run("/ip address add address=10.0.2.1/24 interface=ether2");
        let datagram = craft::udp(ip(10, 0, 2, 9), 1, ip(10, 0, 0, 11), 2);
        let datagram = craft::Frame { dst_mac: crate::rig::own_mac(2), ..datagram };
        let sent = rig.pass(2, &datagram.build());
        assert_eq!(sent.len(), 1, "{arp}: {:?}", rig.router.discards());
        assert_eq!(sent[0].1[..6], mac(7).0, "{arp}");
        rig.wait(Duration::from_secs(250));
        assert_eq!(rows(&mut rig), "0", "{arp}: the lease has ended");
        // One that is given back ends at once.
        bind(&mut rig, 8, ip(10, 0, 0, 12));
        assert_eq!(rows(&mut rig), "1", "{arp}");
        let release = said(8, Kind::Release, |message| message.ciaddr = ip(10, 0, 0, 12));
        rig.ask(&release);
        rig.wait(Duration::from_secs(1));
        assert_eq!(rows(&mut rig), "0", "{arp}: given back");
        rig.balanced();
    }
}

/// One message after the other, and what comes of each: `offer 10.0.0.12`.
#[test]
fn a_server_answers() {
    use Kind::{Decline, Discover, Inform, Release, Request};
    let nothing = |_: &mut Message| {};
    let server = ip(10, 0, 0, 1);
    let at = |n: u8| ip(10, 0, 0, n);
    let select = |n: u8, server: u32| {
        move |message: &mut Message| {
            want(at(n))(message);
            message.push_addresses(option::SERVER, &[server]);
        }
    };
    let has = |n: u8| move |message: &mut Message| message.ciaddr = at(n);
    let mut rig = Rig::new(2, SERVER);
    for (name, message, expected) in [
        ("from the end", said(1, Discover, nothing), "Offer 10.0.0.12"),
        ("it is offered the same", said(1, Discover, nothing), "Offer 10.0.0.12"),
        ("takes it", said(1, Request, select(12, server)), "Ack 10.0.0.12"),
        ("another", said(2, Discover, want(at(10))), "Offer 10.0.0.10"),
        ("takes another server's", said(2, Request, select(10, at(2))), ""),
        ("so it is free", said(3, Discover, want(at(10))), "Offer 10.0.0.10"),
        ("what it is not offered", said(3, Request, select(11, server)), "Nak"),
        ("takes it", said(3, Request, select(10, server)), "Ack 10.0.0.10"),
        ("somebody else's", said(4, Discover, want(at(12))), "Offer 10.0.0.11"),
        ("none is left", said(5, Discover, nothing), ""),
        ("typed", said(0x63, Discover, want(at(11))), "Offer 10.0.0.99"),
        ("typed, not that", said(0x63, Request, want(at(11))), ""),
        ("typed", said(0x63, Request, want(at(99))), "Ack 10.0.0.99"),
        ("renews", said(1, Request, has(12)), "Ack 10.0.0.12"),
        ("nobody knows it, too early", said(7, Request, want(at(12))), ""),
        (
            "nobody knows it, after 2 s",
            said(7, Request, |m| (want(at(12))(m), m.secs = 2).1),
            "Nak",
        ),
        ("from elsewhere", said(7, Request, want(ip(192, 168, 0, 7))), "Nak"),
        ("informs itself", said(8, Inform, has(77)), "Ack 0.0.0.0"),
        ("not its own", said(4, Release, has(12)), ""),
        ("gives back", said(1, Release, has(12)), ""),
        ("and another gets it", said(5, Discover, nothing), "Offer 10.0.0.12"),
        ("somebody has it", said(5, Decline, want(at(12))), ""),
        ("not that again", said(5, Discover, nothing), ""),
    ] {
        let all: Vec<String> = rig
            .ask(&message)
            .iter()
            .map(|(_, _, answer)| {
                assert_eq!((answer.op, answer.xid), (dhcp::REPLY, message.xid), "{name}");
                assert_eq!(answer.number(option::SERVER), Some(server), "{name}");
                let kind = answer.kind().unwrap();
                let address = std::net::Ipv4Addr::from(answer.yiaddr);
                match kind {
                    Kind::Nak => "Nak".to_string(),
                    kind => format!("{kind:?} {address}"),
                }
            })
            .collect();
        assert_eq!(all.join(","), expected, "{name}");
        rig.balanced();
    }
    let leases = rig.run("/ip dhcp-server lease print detail without-paging");
    for words in ["comment: typed", "typed", "status=bound", "status=conflict", "expires-after=10m"]
    {
        assert!(leases.contains(words.trim_start_matches("comment: ")), "{words}: {leases}");
    }
    let used = rig.run("/ip pool used print");
    assert!(used.contains("DHCP") && used.contains("06:00:00:00:00:03"), "{used}");
    // Leases end: the pool is free again, but for what was never let.
    rig.wait(Duration::from_secs(601));
    assert_eq!(rig.run(":put [:len [/ip pool used find]]").trim(), "0");
    let log = rig.run("/log print");
    for words in [
        "s assigned 10.0.0.12 to 06:00:00:00:00:01",
        "s deassigned 10.0.0.12 from 06:00:00:00:00:01",
        "s failed to give out IP address: pool <p> is empty",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    rig.balanced();
}

/// A client whose lease says so is in address lists, for as long as the address is its own.
/// The server's script runs when a lease begins and when it ends, however it does; a client's words are no
/// part of it.
#[test]
fn a_lease_runs_a_script() {
    let mut rig = Rig::new(2, SERVER);
    rig.run("/ip dhcp-server set s lease-script=\":put x\"");
    let ran = |rig: &mut Rig| -> Vec<String> {
        let all = std::iter::from_fn(|| rig.router.take_script());
        all.map(|wanted| {
            assert_eq!((&*wanted.who, &*wanted.script), ("dhcp-server s", ":put x"));
            for known in [
                ":local \"leaseServerName\" \"s\";",
                ":local \"leaseActMAC\" \"06:00:00:00:00:01\";",
                ":local \"leaseActIP\" 10.0.0.12;",
                ":local \"lease-hostname\" \"a\\\"; /quit\";",
            ] {
                assert!(wanted.known.contains(known), "{known}: {}", wanted.known);
            }
            wanted.known.chars().find(char::is_ascii_digit).into_iter().collect()
        })
        .collect()
    };
    let address = ip(10, 0, 0, 12);
    let named = |message: &mut Message| message.push(option::HOST_NAME, *b"a\"; /quit");
    let asks = |rig: &mut Rig, kinds: &[Kind]| {
        for &kind in kinds {
            rig.ask(&said(1, kind, |message| {
                want(address)(message);
                named(message);
            }));
        }
    };
    asks(&mut rig, &[Kind::Discover, Kind::Request, Kind::Request]);
    assert_eq!(ran(&mut rig), ["1"]);
    rig.ask(&said(1, Kind::Release, |message| message.ciaddr = address));
    assert_eq!(ran(&mut rig), ["0"]);
    asks(&mut rig, &[Kind::Discover, Kind::Request]);
    assert_eq!(ran(&mut rig), ["1"]);
    rig.wait(Duration::from_secs(601));
    assert_eq!(ran(&mut rig), ["0"], "it ran out");
}

#[test]
fn a_lease_is_in_its_address_lists() {
    let mut rig = Rig::new(2, SERVER);
    rig.run("/ip dhcp-server lease set [find address=10.0.0.99] address-lists=printers,slow");
    const COUNT: &str = ":put [/ip firewall address-list print count-only where address=10.0.0.99]";
    let mut check = |expected: &str, kind: Option<Kind>| {
        if let Some(kind) = kind {
            let address = ip(10, 0, 0, 99);
            rig.ask(&said(0x63, kind, |message| match kind {
                Kind::Release => message.ciaddr = address,
                _ => want(address)(message),
            }));
        }
        assert_eq!(rig.run(COUNT).trim(), expected, "{kind:?}");
        rig.balanced();
    };
    check("0", None);
    check("0", Some(Kind::Discover));
    check("2", Some(Kind::Request));
    check("0", Some(Kind::Release));
    check("2", Some(Kind::Request));
    rig.wait(Duration::from_secs(602));
    assert_eq!(rig.run(COUNT).trim(), "0", "the lease is over");
}

#[test]
fn answers_say_what_is_configured() {
    let mut rig = Rig::new(2, SERVER);
    let all = rig.ask(&said(1, Kind::Discover, |_| {}));
    let (to, dst, offer) = &all[0];
    assert_eq!((*to, *dst), (mac(1), ip(10, 0, 0, 12)), "unicast");
    assert_eq!(offer.siaddr, ip(10, 0, 0, 3));
    for (code, expected) in [
        (option::SUBNET_MASK, &[255, 255, 255, 0][..]),
        (option::ROUTER, &[10, 0, 0, 1]),
        (option::DNS, &[10, 0, 0, 1, 8, 8, 8, 8]),
        (option::DOMAIN, b"lan"),
        (option::NTP, &[10, 0, 0, 2]),
        (option::BOOT_FILE, b"x.img"),
        (option::LEASE_TIME, &[0, 0, 2, 88]),
        (option::RENEW, &[0, 0, 1, 44]),
        (option::REBIND, &[0, 0, 2, 13]),
        (101, b"UTC"),
        (224, &[1, 2, 7]),
    ] {
        assert_eq!(offer.get(code), Some(expected), "{code}");
    }
    // Only what it wants, and what is forced.
    let wants = |message: &mut Message| message.push(option::WANTED, [option::DOMAIN]);
    let (_, _, offer) = rig.ask(&said(2, Kind::Discover, wants)).remove(0);
    for (code, there) in [(option::DOMAIN, true), (option::DNS, false), (101, false), (224, true)] {
        assert_eq!(offer.get(code).is_some(), there, "{code}");
    }
    let broadcast = |message: &mut Message| message.flags = dhcp::BROADCAST;
    let (to, dst, _) = rig.ask(&said(2, Kind::Discover, broadcast)).remove(0);
    assert_eq!((to, dst), (MacAddr::BROADCAST, u32::MAX));
    rig.balanced();
}

/// ARP is asked first: what answers is not given out.
#[test]
fn an_address_that_somebody_has_is_not_offered() {
    let mut rig = Rig::new(1, SERVER);
    rig.run("/ip dhcp-server set s conflict-detection=yes");
    for (taken, expected) in [(&[][..], 12), (&[12], 11), (&[12, 11], 10)] {
        let host = 20 + taken.len() as u8;
        let mut sent = vec![frame(&said(host, Kind::Discover, |_| {}))];
        let mut offered = Vec::new();
        for _ in 0..30 {
            sent.drain(..).for_each(|frame| rig.send(1, &frame));
            rig.wait(Duration::from_millis(100));
            let out = rig.take(1);
            offered.extend(answers(&out).into_iter().map(|(_, _, offer)| offer.yiaddr as u8));
            for frame in out {
                let Ok(arp) = wire::Arp::new(&frame[14..]).map(|arp| arp.message()) else {
                    continue;
                };
                if arp.operation == Operation::Request && taken.contains(&(arp.target_ip as u8)) {
                    sent.push(craft::arp(arp.reply_from(mac(99))).build());
                }
            }
        }
        assert_eq!(offered, [expected], "{taken:?}");
        let release = "/ip dhcp-server set s disabled=yes\n/ip dhcp-server set s disabled=no";
        rig.run(release);
        rig.balanced();
    }
}

#[test]
fn what_is_no_client_is_discarded() {
    let relayed = said(1, Kind::Discover, |message| message.giaddr = u32::MAX);
    let reply = Message { op: dhcp::REPLY, ..said(1, Kind::Discover, |_| {}) };
    let group = Message { chaddr: MacAddr::BROADCAST, ..said(1, Kind::Discover, |_| {}) };
    let mut cut = frame(&said(1, Kind::Discover, |_| {}));
    cut[14 + 20 + 8 + 236] = 0;
    for (name, mut bytes) in [
        ("relayed by nobody", frame(&relayed)),
        ("a reply", frame(&reply)),
        ("a group's", frame(&Message { chaddr: mac(1), ..group.clone() })),
        ("cut", cut),
    ] {
        if name == "a group's" {
            bytes[14 + 20 + 8 + 28..][..6].copy_from_slice(&[0xff; 6]);
            bytes[40..42].fill(0);
        }
        let mut rig = Rig::new(1, SERVER);
        assert_eq!(rig.pass(1, &bytes), [], "{name}");
        assert_eq!(rig.router.discards().get(Discard::BadDhcp), 1, "{name}");
        rig.balanced();
    }
    // Where nobody serves, nobody's source is a martian's.
    let mut rig = Rig::new(1, "/ip address add address=10.0.0.1/24 interface=ether1");
    assert_eq!(rig.pass(1, &frame(&said(1, Kind::Discover, |_| {}))), []);
    assert_eq!(rig.router.discards().get(Discard::MartianSource), 1);
    // The firewall's input chain is asked.
    let mut rig = Rig::new(1, SERVER);
    rig.run("/ip firewall filter add chain=input protocol=udp dst-port=67 action=drop");
    assert_eq!(rig.pass(1, &frame(&said(1, Kind::Discover, |_| {}))), []);
    assert_eq!(rig.router.discards().get(Discard::FilterDrop), 1);
}

#[test]
fn a_starved_pool_harms_nobody_who_has_an_address() {
    let mut rig = Rig::new(1, SERVER);
    rig.ask(&said(1, Kind::Discover, |_| {}));
    let take = said(1, Kind::Request, want(ip(10, 0, 0, 12)));
    assert_eq!(rig.ask(&take).len(), 1);
    for n in 0..500u32 {
        let mut message = said(2, Kind::Discover, |_| {});
        message.chaddr = MacAddr([6, 0, 0, 1, (n >> 8) as u8, n as u8]);
        rig.ask(&message);
    }
    assert_eq!(rig.run(":put [:len [/ip dhcp-server lease find dynamic]]").trim(), "3");
    assert_eq!(rig.ask(&take).len(), 1, "still its own");
    // Half a minute later, what nobody took is free.
    rig.wait(Duration::from_secs(31));
    assert_eq!(rig.ask(&said(3, Kind::Discover, |_| {})).len(), 1);
    rig.balanced();
}

/// A server and a client, by their first ports.
pub(crate) struct Pair {
    pub(crate) server: Rig,
    pub(crate) client: Rig,
    cut: bool,
}

impl Pair {
    pub(crate) fn new(server: &str, client: &str) -> Pair {
        Pair { server: Rig::new(2, server), client: Rig::new(2, client), cut: false }
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(10) {
            for rig in [&mut self.server, &mut self.client] {
                rig.now = rig.now + Duration::from_millis(10);
            }
            loop {
                self.server.breathe();
                self.client.breathe();
                let (down, up) = (self.server.take(1), self.client.take(1));
                if down.is_empty() && up.is_empty() {
                    break;
                }
                if !self.cut {
                    down.iter().for_each(|frame| self.client.send(1, frame));
                    up.iter().for_each(|frame| self.server.send(1, frame));
                }
            }
        }
    }

    pub(crate) fn status(&mut self) -> String {
        self.client.run(":put [/ip dhcp-client get 0 status]").trim().to_string()
    }

    pub(crate) fn balanced(&self) {
        self.server.balanced();
        self.client.balanced();
    }
}

#[test]
fn a_client_lives_through_its_lease() {
    for (server, on) in [
        (SERVER.to_string(), "ether1"),
        (
            format!(
                "/interface bridge add name=b protocol-mode=none\n\
                 /interface bridge port add bridge=b interface=ether1\n{}",
                SERVER.replace("interface=ether1", "interface=b")
            ),
            "ether1",
        ),
        (
            format!(
                "/interface vlan add name=v vlan-id=7 interface=ether1\n{}",
                SERVER.replace("interface=ether1", "interface=v")
            ),
            "w",
        ),
    ] {
        let client = format!(
            "/interface ethernet set ether1 mac-address=06:00:00:00:00:55\n\
             /interface vlan add name=w vlan-id=7 interface=ether1\n\
             /ip firewall filter add chain=input action=drop\n\
             /ip address add address=192.168.0.1/24 interface=ether2\n\
             /ip firewall nat add chain=srcnat action=masquerade out-interface={on}\n\
             /ip dhcp-client add interface={on} default-route-distance=3"
        );
        let mut pair = Pair::new(&server, &client);
        pair.wait(50);
        assert_eq!(pair.status(), "bound", "{on}: {}", pair.client.run("/log print"));
        let addresses = pair.client.run("/ip address print");
        assert!(addresses.contains("D 10.0.0.12/24"), "{addresses}");
        let routes = pair.client.run("/ip route print detail");
        assert!(routes.contains("ADS") && routes.contains("gateway=10.0.0.1"), "{routes}");
        assert!(routes.contains("distance=3"), "{routes}");
        let detail = pair.client.run("/ip dhcp-client print detail");
        for words in ["address=10.0.0.12/24", "gateway=10.0.0.1", "secondary-dns=8.8.8.8"] {
            assert!(detail.contains(words), "{words}: {detail}");
        }
        // A host behind it is masqueraded with what it was given.
        pair.client.introduce(2, mac(9), ip(192, 168, 0, 9), ip(192, 168, 0, 1));
        let host = craft::udp(ip(192, 168, 0, 9), 1000, ip(1, 1, 1, 1), 2000);
        let host = craft::Frame { src_mac: mac(9), dst_mac: crate::rig::own_mac(2), ..host };
        pair.client.send(2, &host.build());
        pair.server.run("/ip route add gateway=10.0.0.254");
        pair.server.run("/ip firewall filter add chain=forward src-address=10.0.0.12 action=drop");
        pair.wait(20);
        let drops = (pair.server.router.discards(), pair.client.router.discards());
        let drops = format!("{drops:?}");
        let met = pair.server.router.discards().get(Discard::FilterDrop);
        assert_eq!(met, 1, "{on} {drops} {}", pair.client.run("/ip arp print"));
        // It renews at half of the time, so that it never ends.
        pair.wait(650_000);
        let drops = (pair.server.router.discards(), pair.client.router.discards());
        let drops = format!("{drops:?}");
        assert_eq!(pair.status(), "bound", "{on} {drops}");
        let log = pair.client.run("/log print");
        assert_eq!(log.matches("got IP address 10.0.0.12").count(), 1, "{log}");
        assert!(!log.contains("lost"), "{log}");
        // Nobody answers any more: it renews, asks anybody, and gives it up.
        pair.cut = true;
        let mut seen = Vec::new();
        for _ in 0..70 {
            pair.wait(10_000);
            seen.push(pair.status());
        }
        seen.dedup();
        let way = ["bound", "renewing...", "rebinding...", "searching..."];
        assert!(way.map(str::to_string).ends_with(&seen), "{seen:?}");
        assert_eq!(pair.client.run(":put [:len [/ip address find dynamic]]").trim(), "0");
        pair.cut = false;
        pair.wait(70_000);
        assert_eq!(pair.status(), "bound");
        // Given back, and taken anew.
        pair.client.run("/ip dhcp-client release 0");
        pair.wait(100);
        assert_eq!(pair.status(), "bound");
        pair.client.run("/ip dhcp-client renew 0");
        pair.wait(100);
        assert_eq!(pair.status(), "bound");
        pair.client.run("/ip dhcp-client disable 0");
        pair.wait(100);
        assert_eq!(pair.client.run(":put [:len [/ip address find dynamic]]").trim(), "0");
        assert_eq!(pair.server.run(":put [:len [/ip pool used find]]").trim(), "0");
        pair.balanced();
    }
}

#[test]
fn a_client_follows_its_link_and_its_server() {
    let mut pair = Pair::new(SERVER, "/ip dhcp-client add interface=ether1 add-default-route=no");
    pair.wait(50);
    assert_eq!(pair.status(), "bound");
    assert_eq!(pair.client.run(":put [:len [/ip route find dst-address=0.0.0.0/0]]").trim(), "0");
    pair.client.run("/interface ethernet disable ether1");
    pair.wait(50);
    assert_eq!(pair.status(), "stopped");
    pair.client.run("/interface ethernet enable ether1");
    pair.wait(50);
    assert_eq!(pair.status(), "bound");
    // The server has another network: it says no when it is asked.
    pair.server.run(
        "/ip address set 0 address=10.0.1.1/24\n/ip pool set p ranges=10.0.1.10-10.0.1.12\n\
         /ip dhcp-server network set 0 address=10.0.1.0/24 gateway=10.0.1.1\n\
         /ip dhcp-server disable s\n/ip dhcp-server enable s\n\
         /ip dhcp-server set s authoritative=yes",
    );
    pair.wait(700_000);
    let detail = pair.client.run("/ip dhcp-client print detail");
    assert!(detail.contains("address=10.0.1.12/24"), "{detail}");
    pair.balanced();
}

#[test]
fn what_cannot_be_is_refused() {
    let mut rig = Rig::new(2, SERVER);
    for (script, words) in [
        ("/ip pool add ranges=10.0.0.12-10.0.0.20,10.0.0.20-10.0.0.30", "overlap"),
        ("/ip dhcp-server add interface=ether1", "has a dhcp server already"),
        ("/ip dhcp-server add interface=ether2 lease-time=0s", "at least 1s"),
        ("/ip dhcp-server lease add address=10.0.0.7", "mac-address or client-id"),
        ("/ip dhcp-server lease add address=10.0.0.99 client-id=1:2", "already have"),
        ("/ip dhcp-server config set store-leases-disk=1m", "not stored"),
        (
            "/ip dhcp-client add interface=ether2\n/ip dhcp-client add interface=ether2",
            "already exists",
        ),
    ] {
        let error = rig.try_run(script).expect_err(script);
        let text = format!("{} {}", error.text, error.help);
        assert!(text.contains(words), "{script}: {text}");
    }
}

proptest! {
    /// Whatever comes to either port: nothing panics, and every frame is accounted for.
    #[test]
    fn nothing_a_host_says_does_harm(
        noise in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..24),
        len in 0usize..400,
        kinds in proptest::collection::vec(1u8..10, 1..6),
        to_client in any::<bool>(),
    ) {
        // There cannot be many slabs.
        thread_local!(static SLAB: port::Slab = port::Slab::new(4096).unwrap());
        let mut rig = SLAB.with(|slab| Rig::with_slab(slab, &[port::Capabilities::default(); 2]));
        rig.run(SERVER);
        rig.run("/ip dhcp-client add interface=ether2");
        rig.wait(Duration::from_millis(100));
        let asked = answers(&rig.take(2));
        for kind in kinds {
            let mut message = said(kind, Kind::Discover, want(ip(10, 0, 0, kind)));
            message.options[0].1 = vec![kind];
            if to_client {
                let client = &asked[0].2;
                (message.op, message.xid) = (dhcp::REPLY, client.xid);
                (message.chaddr, message.yiaddr) = (client.chaddr, ip(10, 9, 0, kind));
            }
            let mut payload = message.to_bytes();
            payload.resize(len.max(240), 7);
            for &(at, byte) in &noise {
                let at = usize::from(at) % payload.len();
                payload[at] = byte;
            }
            let (from, to) = match to_client {
                true => (dhcp::SERVER_PORT, dhcp::CLIENT_PORT),
                false => (dhcp::CLIENT_PORT, dhcp::SERVER_PORT),
            };
            let frame = craft::udp(if to_client { ip(10, 9, 0, 1) } else { 0 }, from, u32::MAX, to);
            let frame = craft::Frame {
                src_mac: mac(3),
                dst_mac: MacAddr::BROADCAST,
                payload: &payload,
                ..frame
            };
            rig.send(if to_client { 2 } else { 1 }, &frame.build());
            rig.breathe();
            rig.wait(Duration::from_millis(400));
        }
        for port in 1..=2 {
            for frame in rig.take(port) {
                let arp = wire::Arp::new(&frame[14..]).is_ok();
                prop_assert!(arp || layers::network(&frame).is_ok());
            }
        }
        rig.balanced();
    }
}
