//! `/ip hotspot`: clients get no further than to the page until they have logged in; users, limits, bindings, gardens.

use crate::rig::{Rig, mac, own_mac};
use crate::talker::{Line, Talker};
use router::discard::Discard;
use std::time::Duration;
use wire::TcpFlags;
use wire::craft::{self, Frame, ip};

const CONFIG: &str = "\
/ip address add address=10.0.0.1/24 interface=ether1
/ip address add address=192.0.2.1/24 interface=ether2
/ip firewall filter
add chain=input connection-state=established,related
add chain=input protocol=icmp
add chain=input action=drop
add chain=forward connection-state=established,related action=fasttrack-connection
add chain=forward
/ip firewall nat add chain=srcnat action=masquerade out-interface=ether2
/ip hotspot add name=h interface=ether1
/ip hotspot user profile add name=quick shared-users=2 rate-limit=1M/2M address-list=guests session-timeout=1h
/ip hotspot user
add name=ann password=secret
add name=bob password=word profile=quick
add name=eve password=e limit-bytes-total=2000
add name=may password=m limit-uptime=10s
add name=own password=o mac-address=06:00:00:00:00:07
/ip hotspot ip-binding
add address=10.0.0.50 type=bypassed
add mac-address=06:00:00:00:00:33 type=blocked
/ip hotspot walled-garden ip
add dst-address=192.0.2.77
add dst-address=192.0.2.78 action=drop
";

const ROUTER: u32 = ip(10, 0, 0, 1);
const FAR: u32 = ip(192, 0, 2, 9);

struct House {
    rig: Option<Rig>,
    port: u16,
}

impl House {
    fn new(more: &str) -> House {
        let mut rig = Rig::new(2, &format!("{CONFIG}{more}"));
        for host in [5, 6, 7, 50] {
            rig.introduce(1, mac(host), ip(10, 0, 0, host), ROUTER);
        }
        let mut house = House { rig: Some(rig), port: 20_000 };
        house.introduce();
        house
    }

    fn introduce(&mut self) {
        for far in [9, 77, 78] {
            self.rig().introduce(2, mac(far), ip(192, 0, 2, far), ip(192, 0, 2, 1));
        }
    }

    fn rig(&mut self) -> &mut Rig {
        self.rig.as_mut().unwrap()
    }

    /// What a host's browser is answered: the head, and the body; `None` if nobody answers.
    fn http(&mut self, host: u8, dst: u32, request: &str) -> Option<(String, String)> {
        self.port += 1;
        let line = Line { host, src: ip(10, 0, 0, host), dst, mac: own_mac(1), by: 1, to: 80 };
        let mut talker = Talker::dial(self.rig.take().unwrap(), line, self.port);
        let said = talker.is_open().then(|| talker.say(request.as_bytes()));
        self.rig = Some(talker.rig);
        let said = String::from_utf8(said?).unwrap();
        let (head, body) = said.split_once("\r\n\r\n")?;
        Some((head.to_string(), body.to_string()))
    }

    fn get(&mut self, host: u8, dst: u32, path: &str, cookie: &str) -> (String, String) {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n{cookie}\r\n");
        self.http(host, dst, &request).unwrap_or_else(|| panic!("{path}: nobody answers"))
    }

    fn login(&mut self, host: u8, name: &str, password: &str) -> (String, String) {
        let path =
            format!("/login?username={name}&password={password}&dst=http%3A%2F%2Fa.example%2Fx");
        self.get(host, ROUTER, &path, "")
    }

    /// Whether a host's datagram goes out, and what comes back at once.
    fn udp(&mut self, host: u8, dst: u32, port: u16, len: usize) -> (bool, usize) {
        let payload = vec![7; len];
        let frame = craft::udp(ip(10, 0, 0, host), 5000 + port, dst, port);
        let frame = Frame { src_mac: mac(host), dst_mac: own_mac(1), payload: &payload, ..frame };
        let out = self.rig().pass(1, &frame.build());
        let is_it = |(port, frame): &&(usize, Vec<u8>)| *port == 2 && frame[23] == 17;
        let back = out.iter().filter(|(port, frame)| *port == 1 && frame[12..14] == [8, 0]);
        (out.iter().any(|one| is_it(&one)), back.count())
    }

    fn goes(&mut self, host: u8) -> bool {
        self.udp(host, FAR, 7777, 100).0
    }

    fn wait(&mut self, seconds: u64) {
        self.rig().wait(Duration::from_secs(seconds));
        self.introduce();
        self.rig().take(1);
        self.rig().take(2);
    }

    fn count(&mut self, find: &str) -> String {
        self.rig().run(&format!(":put [:len [{find}]]")).trim().to_string()
    }
}

#[test]
fn who_has_not_logged_in() {
    for reference in [true, false] {
        let mut house = House::new("");
        house.rig().router.set_reference(reference);
        for (what, host, dst, port, out, back) in [
            ("on", 5, FAR, 7777, false, 1),
            ("names", 5, FAR, 53, false, 1),
            ("DHCP of somebody else", 5, FAR, 67, false, 1),
            ("the garden", 5, ip(192, 0, 2, 77), 7777, true, 0),
            ("its wall", 5, ip(192, 0, 2, 78), 7777, false, 0),
            ("bypassed", 50, FAR, 7777, true, 0),
            ("blocked", 0x33, FAR, 7777, false, 0),
        ] {
            for n in 0..3 {
                let said = house.udp(host, dst, port, 30);
                let discards: Vec<_> = house.rig().router.discards().iter().collect();
                assert_eq!(said, (out, back), "{what} {n} {reference}: {discards:?}");
            }
        }
        // HTTPS is refused at once.
        let syn = craft::tcp(ip(10, 0, 0, 5), 4000, FAR, 443, TcpFlags::SYN);
        let syn = Frame { src_mac: mac(5), dst_mac: own_mac(1), ..syn };
        let out = house.rig().pass(1, &syn.build());
        assert!(out.len() == 1 && out[0].0 == 1 && out[0].1[47] & 4 != 0, "{out:02x?}");
        let discards = house.rig().router.discards();
        assert_eq!(discards.get(Discard::HotspotBlocked), 3, "{discards:?}");
        assert_eq!(discards.get(Discard::HotspotLogin), 10, "{discards:?}");
        assert_eq!(house.count("/ip hotspot host find"), "3");
        assert_eq!(house.count("/ip hotspot host find bypassed"), "1");
        let frames = house.rig().router.frames();
        assert!(frames.balance(), "{frames:?}");
    }
}

#[test]
fn a_browser_is_sent_to_the_page_and_on() {
    for reference in [true, false] {
        let mut house = House::new("");
        house.rig().router.set_reference(reference);
        let (head, _) = house.get(5, FAR, "/x?y=1", "");
        let to = "Location: http://10.0.0.1/login?dst=http://a.example/x%3Fy%3D1";
        assert!(head.starts_with("HTTP/1.1 302 ") && head.contains(to), "{head}");
        let (head, body) = house.get(5, ROUTER, "/login?dst=http://a.example/x", "");
        let has_form = body.contains("action=\"/login\"") && body.contains("http://a.example/x");
        assert!(head.starts_with("HTTP/1.1 200 ") && has_form, "{head}\n{body}");
        let (_, body) = house.login(5, "ann", "wrong");
        assert!(body.contains("invalid username or password"), "{body}");
        assert!(!house.goes(5));
        let (head, _) = house.login(5, "ann", "secret");
        assert!(head.contains("Location: http://a.example/x"), "{head}");
        for _ in 0..5 {
            assert!(house.goes(5));
        }
        let replayed = house.rig().router.path_counts().replayed;
        assert_eq!(replayed > 0, !reference, "{replayed}");
        assert!(!house.goes(6), "somebody else");
        let text = house.rig().run("/ip hotspot active print detail");
        assert!(text.contains("user=\"ann\"") && text.contains("login-by=\"http-pap\""), "{text}");
        let bytes = house.rig().run(":put [/ip hotspot user get [find name=ann] bytes-in]");
        assert_eq!(bytes.trim(), (5 * 128).to_string());
        let (_, body) = house.get(5, ROUTER, "/status", "");
        assert!(body.contains("Welcome, ann"), "{body}");
        // A user is one client, if its profile does not say more.
        let (_, body) = house.login(6, "ann", "secret");
        assert!(body.contains("no more sessions"), "{body}");
        let (_, body) = house.get(5, ROUTER, "/logout", "");
        assert!(body.contains("logged out"), "{body}");
        assert!(!house.goes(5));
        let frames = house.rig().router.frames();
        assert!(frames.balance(), "{frames:?}");
    }
}

#[test]
fn users_get_what_their_profiles_say() {
    let mut house = House::new("");
    for host in [5, 6] {
        let (head, body) = house.login(host, "bob", "word");
        assert!(head.starts_with("HTTP/1.1 302"), "{head} {body}");
    }
    assert_eq!(house.count("/ip firewall address-list find list=guests"), "2");
    house.wait(1);
    let text = house.rig().run("/queue simple print detail");
    assert!(text.contains("hs-<bob>") && text.contains("max-limit=1M/2M"), "{text}");
    assert_eq!(house.count("/queue simple find dynamic"), "2");
    house.rig().run("/ip hotspot active remove [find address=10.0.0.5]");
    assert!(!house.goes(5) && house.goes(6));
    house.wait(1);
    assert_eq!(house.count("/queue simple find dynamic"), "1");
    assert_eq!(house.count("/ip firewall address-list find list=guests"), "1");
    // Only from where it may be.
    assert!(house.login(5, "own", "o").1.contains("invalid"));
    assert!(house.login(7, "own", "o").0.contains(" 302 "));
}

#[test]
fn limits_end_sessions() {
    let mut house = House::new("");
    assert!(house.login(5, "eve", "e").0.contains(" 302 "));
    for _ in 0..30 {
        house.goes(5);
    }
    house.wait(2);
    assert!(!house.goes(5), "{}", house.rig().run("/log print"));
    assert!(house.login(5, "eve", "e").1.contains("limit"));
    assert!(house.login(6, "may", "m").0.contains(" 302 "));
    house.wait(5);
    assert!(house.goes(6));
    house.wait(6);
    assert!(!house.goes(6), "{}", house.rig().run("/log print"));
    assert!(house.login(7, "ann", "secret").0.contains(" 302 "));
    house.wait(299);
    assert!(house.goes(7));
    house.wait(301);
    assert!(!house.goes(7), "{}", house.rig().run("/log print"));
}

/// FastTracked connections end with their clients' sessions; another MAC address is another client.
#[test]
fn who_is_logged_out_is_out() {
    for reference in [true, false] {
        let mut house = House::new("");
        house.rig().router.set_reference(reference);
        assert!(house.login(5, "ann", "secret").0.contains(" 302 "));
        let there = craft::udp(ip(10, 0, 0, 5), 4000, FAR, 9);
        let there = Frame { src_mac: mac(5), dst_mac: own_mac(1), ..there }.build();
        let back = craft::udp(FAR, 9, ip(192, 0, 2, 1), 4000);
        let back = Frame { src_mac: mac(9), dst_mac: own_mac(2), ..back }.build();
        for n in 0..4 {
            assert_eq!(house.rig().pass(1, &there).len(), 1, "{n}");
            assert_eq!(house.rig().pass(2, &back).len(), 1, "{n}");
        }
        house.rig().run("/ip hotspot active remove [find]");
        let is_out = |out: &[(usize, Vec<u8>)]| out.iter().any(|(port, _)| *port == 2);
        assert!(!is_out(&house.rig().pass(1, &there)), "{reference}");
        assert!(house.rig().pass(2, &back).is_empty(), "{reference}");
        assert!(house.login(5, "ann", "secret").0.contains(" 302 "));
        assert!(house.goes(5));
        let stolen = craft::udp(ip(10, 0, 0, 5), 5000, FAR, 7777);
        let stolen = Frame { src_mac: mac(8), dst_mac: own_mac(1), ..stolen }.build();
        assert!(!is_out(&house.rig().pass(1, &stolen)), "{reference}");
    }
}

#[test]
fn cookies_and_mac_addresses() {
    let more = "/ip hotspot profile set [find default=yes] login-by=cookie,http-pap,mac mac-auth-password=x
        /ip hotspot user add name=06:00:00:00:00:07 password=x";
    let mut house = House::new(more);
    assert!(house.goes(7), "by its MAC address: {}", house.rig().run("/ip hotspot export"));
    let (head, _) = house.login(5, "ann", "secret");
    let cookie = head.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).expect("one");
    let cookie = format!("Cookie: other=1; {}\r\n", cookie.split(';').next().unwrap());
    house.rig().run("/ip hotspot active remove [find address=10.0.0.5]");
    assert!(!house.goes(5));
    // It is of no use to others.
    let (head, _) = house.get(6, ROUTER, "/login", &cookie);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let (head, _) = house.get(5, ROUTER, "/login", &cookie);
    assert!(head.starts_with("HTTP/1.1 302 "), "{head}");
    assert!(house.goes(5));
}

#[test]
fn who_only_tries() {
    let more = "/ip hotspot profile set [find default=yes] login-by=trial,http-pap \
        trial-uptime-limit=20s trial-uptime-reset=2m trial-user-profile=quick";
    let mut house = House::new(more);
    let (_, body) = house.get(5, ROUTER, "/login?dst=http://a.example/x", "");
    let link = "/login?username=T-06:00:00:00:00:05&amp;dst=http://a.example/x";
    assert!(body.contains(link), "{body}");
    assert!(house.login(6, "T-06:00:00:00:00:05", "").1.contains("invalid"), "another one's");
    assert!(house.login(5, "T-06:00:00:00:00:05", "").0.contains("http://a.example/x"));
    assert!(house.goes(5));
    assert_eq!(house.count("/ip firewall address-list find list=guests"), "1");
    house.wait(21);
    assert!(!house.goes(5), "{}", house.rig().run("/log print"));
    assert!(house.login(5, "T-06:00:00:00:00:05", "").1.contains("limit"));
    house.wait(120);
    assert!(house.login(5, "T-06:00:00:00:00:05", "").0.contains(" 302 "));
    assert!(house.goes(5));
}

/// Without connections there is no way to the page, nor past it.
#[test]
fn untracked_packets_go_no_further() {
    for more in [
        "/ip firewall raw add chain=prerouting action=notrack",
        "/ip firewall connection tracking set enabled=no",
    ] {
        let mut house = House::new(more);
        let syn = craft::tcp(ip(10, 0, 0, 5), 4000, FAR, 80, TcpFlags::SYN);
        let syn = Frame { src_mac: mac(5), dst_mac: own_mac(1), ..syn }.build();
        for _ in 0..2 {
            let out = house.rig().pass(1, &syn);
            assert!(out.iter().all(|(port, _)| *port == 1), "{more}: {out:02x?}");
        }
        assert_eq!(house.rig().router.discards().get(Discard::HotspotLogin), 2, "{more}");
    }
}

/// Without a hotspot none of it is there.
#[test]
fn hotspots_come_and_go() {
    let mut house = House::new("");
    assert!(!house.goes(5));
    house.rig().run("/ip hotspot disable h");
    assert!(house.goes(5));
    assert_eq!(house.count("/ip hotspot host find"), "0");
    house.rig().run("/ip hotspot enable h");
    assert!(!house.goes(5));
    house.rig().run("/ip hotspot ip-binding add address=10.0.0.5 type=bypassed");
    assert!(house.goes(5));
    house.rig().run("/ip hotspot remove h");
    house.wait(2);
    assert_eq!(house.count("/ip hotspot host find"), "0");
}
