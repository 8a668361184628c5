//! The router's menus as a whole: what every one of them must do, and what only a running router
//! knows.

mod full;

use self::full::FULL;
use crate::rig::{Rig, mac, own_mac};
use config::{Access, Menu, MenuKind};
use router::MENUS;
use router::ip::feed::Protocol;
use router::ip::route::Target;
use wire::craft::{self, ip};

fn text(rig: &mut Rig, script: &str) -> String {
    rig.run(script).trim_end().to_string()
}

#[test]
fn the_tables_fit_together() {
    assert_eq!(config::menu::faults(MENUS), [""; 0]);
}

/// Everything that was typed is in the export, and the export makes it again, in another router.
#[test]
fn an_export_can_be_imported() {
    let mut first = Rig::new(4, FULL);
    let export = text(&mut first, "/export");
    for menu in MENUS.iter().filter(|menu| !is_made_by_the_router(menu)) {
        assert!(export.contains(menu.path), "{} is not in\n{export}", menu.path);
    }
    let mut second = Rig::new(4, &export);
    assert_eq!(text(&mut second, "/export"), export);
    for menu in MENUS {
        let (one, two) = (first.console.tree(), second.console.tree());
        assert_eq!(one.items(menu.path), two.items(menu.path), "{}", menu.path);
    }
    assert_eq!(first.console.tree(), second.console.tree());
    let mut third = Rig::new(4, &text(&mut first, "/export verbose"));
    assert_eq!(text(&mut third, "/export"), export, "by way of verbose");
}

fn is_made_by_the_router(menu: &Menu) -> bool {
    let users = |property: &config::Property| {
        !matches!(property.access, Access::ReadOnly | Access::Missing(_))
    };
    let is_fixed = matches!(menu.kind, MenuKind::List { fixed: true, .. } | MenuKind::Settings);
    is_fixed && !menu.properties.iter().any(users)
}

/// What RouterOS has and we have not, what is read-only, and what nobody has: never swallowed.
#[test]
fn what_cannot_be_set_is_refused() {
    let mut rig = Rig::new(4, FULL);
    for menu in MENUS {
        let verb = match menu.kind {
            MenuKind::List { fixed: false, .. } => "add",
            MenuKind::List { .. } | MenuKind::Union { .. } => "set [find]",
            MenuKind::Settings => "set",
        };
        let mut refused = |name: &str| {
            let script = format!("{} {verb} {name}=x", menu.path);
            let error = rig.try_run(&script).expect_err(&script);
            format!("{} {}", error.text, error.help)
        };
        for property in menu.properties {
            match property.access {
                Access::Missing(remark) => {
                    let error = refused(property.name);
                    assert!(error.contains(remark), "{} {}: {error}", menu.path, property.name);
                }
                // Whether an item is disabled can be set; what only shows it cannot.
                Access::ReadOnly if property.name != "disabled" => {
                    let error = refused(property.name);
                    assert!(
                        error.contains("read-only"),
                        "{} {}: {error}",
                        menu.path,
                        property.name
                    );
                }
                _ => {}
            }
        }
        let error = refused("no-such-thing");
        assert!(error.starts_with("expected end of command"), "{}: {error}", menu.path);
    }
}

/// Every read-only property has a value where something is there to have it.
#[test]
fn the_router_answers_for_all_it_alone_knows() {
    const LEFT_OUT: [&str; 8] =
        ["dynamic", "expected", "dying", "dstnat", "DHCP", "rip", "bgp", "ospf"];
    // What never runs; and nobody speaks L2TP, PPTP, LDP, RADIUS, IGMP, LLDP or NTP here, nor IPv6 through a tracking router.
    const SILENT: [&str; 26] = [
        "/interface wireguard",
        "/interface wireguard peers",
        "/ip accounting snapshot",
        "/interface absent",
        "/interface bridge mdb",
        "/ip neighbor",
        "/system ntp client",
        "/interface l2tp-client",
        "/interface l2tp-server",
        "/interface pptp-client",
        "/interface pptp-server",
        "/ipv6 firewall connection",
        "/ipv6 firewall nat",
        "/ip ipsec active-peers",
        "/ip ipsec installed-sa",
        "/ip ipsec peer",
        "/ip ipsec policy",
        "/ip hotspot active",
        "/ip hotspot host",
        "/ip hotspot user",
        "/mpls ldp neighbor",
        "/mpls local-bindings",
        "/mpls remote-bindings",
        "/mpls forwarding-table",
        "/radius",
        "/radius incoming",
    ];
    let mut faults = Vec::new();
    let mut rig = busy();
    for menu in MENUS {
        for property in menu.properties.iter().filter(|p| p.access == Access::ReadOnly) {
            let name = property.name;
            let path = menu.path;
            if SILENT.contains(&path) {
                continue;
            }
            let get = match (menu.is_list(), property.flag) {
                (false, _) => format!("{path} get {name}"),
                // The language's own, and what cannot be here: no helper, no DNAT, nobody dying; no lease, no routing
                // daemon.
                (true, Some(_)) if LEFT_OUT.contains(&name) => continue,
                (true, Some(_)) => format!("{path} find {name}"),
                (true, None) => format!("{path} find {name}~\".\""),
            };
            let found = text(&mut rig, &format!(":put [{get}]"));
            // No rule looks at payloads here.
            let may_be_empty = name.ends_with("-unmet") || ["encoding", "p2p"].contains(&name);
            if !may_be_empty && found.is_empty() {
                faults.push(format!("{get}: nothing"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A router with something to say: invalid items, connections of all kinds, FastTrack, hosts.
fn busy() -> Rig {
    let mut rig = Rig::new(
        8,
        "/interface bridge
add name=lan vlan-filtering=yes
add name=off disabled=yes
add name=apart protocol-mode=none
/interface vlan
add name=bridged interface=ether2 vlan-id=9
/interface ipip
add remote-address=10.0.1.8 keepalive=0,0
/interface gre
add remote-address=10.0.1.8 keepalive=0,0
/interface 6to4 add remote-address=10.0.1.8
/interface eoip
add remote-address=10.0.1.8 tunnel-id=1 keepalive=0,0
/interface l2tp-ether
add connect-to=10.0.1.8 unmanaged-mode=yes local-session-id=1 remote-session-id=2
/interface vrrp
add interface=apart priority=255
add interface=apart vrid=2 interval=30s
/interface bonding
add slaves=ether5,ether6
/interface absent add name=wlan1
/interface pppoe-client add interface=ether7 user=bob password=x
/interface pppoe-server server add interface=ether8
/ppp secret add name=bob password=x local-address=10.9.1.1 remote-address=10.9.1.2
/interface bridge port
add interface=bonding1 bridge=apart
add interface=wlan1 bridge=apart
add interface=eoip-tunnel1 bridge=apart
add interface=l2tp-ether1 bridge=apart
add interface=bridged bridge=lan edge=yes
add interface=ether3 bridge=lan edge=yes
add interface=ether4 bridge=lan edge=yes
/interface bridge filter add chain=forward action=jump jump-target=nowhere
/interface bridge nat add chain=srcnat action=jump jump-target=nowhere
/interface ethernet disable ether4
/ip firewall service-port disable irc
/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
add address=10.0.3.254/24 interface=lan
add address=10.0.4.254/24 interface=ether4
/ip arp add address=10.0.1.9 mac-address=06:00:00:00:00:09 interface=ether1
/ip pool add name=p ranges=10.0.1.100-10.0.1.101
/ip dhcp-server option add name=o code=200 value=0x01
/ip dhcp-server add interface=ether1 address-pool=p conflict-detection=no authoritative=yes
/ip dhcp-server add interface=ether6
/ip dns set allow-remote-requests=yes
/ip dhcp-server lease
add address=10.0.1.99 mac-address=06:00:00:00:00:63 block-access=yes
/ip dhcp-client add interface=ether1 default-route-distance=200
/ip route
add gateway=10.0.2.1
add dst-address=10.8.0.0/16 type=prohibit
add dst-address=10.7.0.0/16 type=blackhole
add dst-address=10.6.0.0/16 type=unreachable
/ipv6 pool
add name=six prefix=2001:db8:40::/48 prefix-length=64
/ipv6 pool
add name=p56 prefix=2001:db8:5000::/40 prefix-length=56
add name=a128 prefix=2001:db8:60::/64 prefix-length=128
/ipv6 dhcp-server option add name=dns6 code=23 value=\"'2001:db8::53''2001:db8::54'\"
/ipv6 dhcp-server
add name=s6 interface=ether8 address-pool=a128 prefix-pool=p56 dhcp-option=dns6
add name=x6 interface=off
/ipv6 dhcp-client add interface=ether7 request=address,prefix pool-name=mine
/ipv6 nd add interface=off
/ipv6 nd prefix add prefix=2001:db8:9::/64 interface=off
/ipv6 nd proxy add address=2001:db8:9::9 interface=off
/ipv6 address
add address=::1 from-pool=six interface=ether1
add address=2001:db8:1::1/64 interface=ether1
add address=2001:db8:2::1/64 interface=off
add address=fe80::5/64 interface=ether1
/ipv6 route
add gateway=2001:db8:1::9
add dst-address=2001:db8:8::/48 type=prohibit
add dst-address=2001:db8:7::/48 type=blackhole
add dst-address=2001:db8:6::/48 type=unreachable
/ipv6 firewall filter
add chain=output in-interface=ether1 action=drop
/ipv6 firewall raw
add chain=output in-interface=ether1 action=notrack
/ipv6 firewall mangle
add chain=output in-interface=ether1 action=mark-packet new-packet-mark=x
/ip firewall raw
add chain=output in-interface=ether1 action=notrack
/ip firewall mangle
add chain=output in-interface=ether1 action=mark-packet new-packet-mark=x
add chain=prerouting action=mark-connection new-connection-mark=m
/ip firewall filter
add chain=forward action=fasttrack-connection connection-state=established
add chain=forward in-interface=ether3
/ip firewall nat
add chain=srcnat out-interface=ether2 action=masquerade
add chain=srcnat in-interface=ether1
/queue tree
add name=nowhere parent=global limit-at=2M max-limit=1M
add name=up parent=ether3 max-limit=1M
/queue simple
add name=q target=10.0.3.0/24
add name=lost target=off",
    );
    rig.run("/tool sniffer start");
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(3, mac(3), ip(10, 0, 3, 1), ip(10, 0, 3, 254));
    rig.pass(1, &craft::Frame { vlan: Some(wire::vlan::Tci(5)), ..craft::udp(1, 2, 3, 4) }.build());
    rig.run("/tool sniffer stop");
    rig.router.log_message(rig.now, "script,info", "hello");
    for running in [false, true] {
        let link = router::Link { running, ..router::Link::default() };
        rig.router.set_link(3, link, rig.now).unwrap();
    }
    let fed = [
        ("11.0.0.0/8", Protocol::Bgp),
        ("12.0.0.0/8", Protocol::Ospf),
        ("13.0.0.0/8", Protocol::Rip),
    ];
    let fed = fed.map(|(prefix, protocol)| (prefix.parse().unwrap(), Target::Blackhole, protocol));
    rig.router.feed(fed).unwrap();
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig.introduce(3, mac(3), ip(10, 0, 3, 1), ip(10, 0, 3, 254));
    given(&mut rig);
    dial(&mut rig);
    crate::ipv6::introduce(&mut rig, 1, 1, "2001:db8:1::a", "2001:db8:1::1");
    let syn = wire::TcpFlags::SYN;
    let (here, there, router) = (ip(10, 0, 1, 1), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    for frame in [
        craft::udp(here, 1000, there, 2000),
        craft::udp(here, 1000, there, 5060),
        craft::tcp(here, 1000, there, 80, syn),
        craft::ping(here, there),
        craft::Frame {
            body: craft::Body::Ip { protocol: 47 },
            payload: &[0x20, 1, 0x88, 0x0b, 0, 0, 0, 7],
            ..craft::udp(here, 0, there, 0)
        },
    ] {
        let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame };
        assert_eq!(rig.pass(1, &frame.build()).len(), 1, "{:?}", rig.router.discards());
    }
    for _ in 0..4 {
        let answer = craft::udp(there, 2000, router, 1000);
        let answer = craft::Frame { src_mac: mac(2), dst_mac: own_mac(2), ..answer };
        assert_eq!(rig.pass(2, &answer.build()).len(), 1, "{:?}", rig.router.discards());
        let again = craft::udp(here, 1000, there, 2000);
        let again = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..again };
        assert_eq!(rig.pass(1, &again.build()).len(), 1, "{:?}", rig.router.discards());
    }
    rig
}

/// It is asked for a name, and asks another, which it knows by ARP.
fn known(rig: &mut Rig) {
    use wire::dns::{self, Message, kind};
    let (server, own) = (ip(10, 9, 0, 1), ip(10, 0, 1, 254));
    let said = |rig: &mut Rig, src: (u32, u16), dst: (u32, u16), payload: &[u8]| {
        let frame = craft::udp(src.0, src.1, dst.0, dst.1);
        let macs = (mac(1), own_mac(1));
        rig.pass(1, &craft::Frame { src_mac: macs.0, dst_mac: macs.1, payload, ..frame }.build())
    };
    let query = dns::query(1, "a.b", kind::A, 512).unwrap();
    rig.introduce(1, mac(1), server, ip(10, 9, 0, 9));
    let out = said(rig, (ip(10, 0, 1, 1), 5000), (own, 53), &query);
    let asked = out.iter().find_map(|(_, frame)| {
        let port = u16::from_be_bytes([frame[34], frame[35]]);
        Some((port, Message::read(&frame[42..])?, frame[42..].to_vec()))
    });
    let (port, read, bytes) = asked.unwrap();
    let answers = [("a.b".to_string(), kind::A, 600, vec![1, 2, 3, 4])];
    let response = dns::response(&bytes, &read, 0, &answers);
    said(rig, (server, 53), (ip(10, 9, 0, 9), port), &response);
}

/// Its PPPoE client calls its own server, by a cable from one port to another.
fn dial(rig: &mut Rig) {
    for _ in 0..100 {
        rig.wait(std::time::Duration::from_millis(100));
        for (from, to) in [(7, 8), (8, 7)] {
            rig.take(from).iter().for_each(|frame| rig.send(to, frame));
            rig.breathe();
        }
    }
    (1..=rig.n_ports()).for_each(|port| drop(rig.take(port)));
}

/// A DHCP client of it gets an address from a neighbour, and it gives one to another.
fn given(rig: &mut Rig) {
    use wire::dhcp::{self, Kind, Message, option};
    let send = |rig: &mut Rig, from, message: &Message| {
        let ports = (dhcp::SERVER_PORT, dhcp::CLIENT_PORT);
        let (src, dst) = if message.op == dhcp::REPLY { ports } else { (ports.1, ports.0) };
        let frame = craft::udp(from, src, u32::MAX, dst);
        let payload = message.to_bytes();
        let dst_mac = wire::MacAddr::BROADCAST;
        rig.send(1, &craft::Frame { src_mac: mac(7), dst_mac, payload: &payload, ..frame }.build());
        rig.breathe();
    };
    let server = ip(10, 0, 1, 77);
    for kind in [Kind::Offer, Kind::Ack] {
        // Who has not heard the first question hears the second.
        rig.wait(std::time::Duration::from_millis(if kind == Kind::Offer { 6000 } else { 10 }));
        let asked = rig.take(1).into_iter().rev();
        let said = asked.filter_map(|frame| Message::read(frame.get(42..)?)).next();
        let mut message = Message { op: dhcp::REPLY, yiaddr: ip(10, 9, 0, 9), ..said.unwrap() };
        message.options = vec![(option::KIND, vec![kind as u8])];
        message.push_addresses(option::SERVER, &[server]);
        message.push_addresses(option::ROUTER, &[ip(10, 9, 0, 1)]);
        message.push_addresses(option::DNS, &[ip(10, 9, 0, 1), ip(10, 9, 0, 2)]);
        message.push(option::LEASE_TIME, [0, 0, 14, 16]);
        send(rig, server, &message);
    }
    for kind in [Kind::Discover, Kind::Request] {
        let mut message = Message { op: dhcp::REQUEST, chaddr: mac(7), ..Message::default() };
        message.push(option::KIND, [kind as u8]);
        message.push(option::CLIENT_ID, [1, 2, 3]);
        message.push(option::HOST_NAME, *b"pc");
        message.push_addresses(option::REQUESTED, &[ip(10, 0, 1, 100)]);
        send(rig, 0, &message);
    }
    known(rig);
    (1..=rig.n_ports()).for_each(|port| drop(rig.take(port)));
}

#[test]
fn items_that_cannot_be_are_refused() {
    let mut rig = busy();
    for (script, expected) in [
        (
            "/ip address add address=10.0.1.254/8 interface=ether1",
            "failure: already have such address",
        ),
        ("/ip address set 0 network=10.0.0.0", "failure: network of 10.0.1.254/24 is 10.0.1.0"),
        ("/ip route add dst-address=10.5.0.0/16", "missing value(s) of argument(s) gateway"),
        ("/ip route set 0 !gateway", "missing value(s) of argument(s) gateway"),
        (
            "/ip route add gateway=ether1,10.0.2.1",
            "failure: an interface as gateway must be the only one",
        ),
        (
            "/ip arp add address=10.0.1.9 mac-address=06:00:00:00:00:08 interface=ether1",
            "failure: already have such entry",
        ),
        (
            "/interface bridge port add interface=ether3 bridge=lan",
            "failure: device already added as bridge port",
        ),
        (
            "/ip firewall filter add chain=forward port=80",
            "failure: ports can be specified if proto is tcp,udp,udp-lite,dccp,sctp",
        ),
        (
            "/interface bridge filter add chain=forward action=jump",
            "failure: action=jump needs a jump-target",
        ),
        ("/ip arp remove [find dynamic]", "failure: cannot remove dynamic arp"),
        ("/ip route set [find connect] distance=3", "failure: cannot change dynamic route"),
        ("/ip firewall filter remove [find dynamic]", "failure: cannot remove dynamic filter"),
    ] {
        let got = rig.try_run(script).map_err(|error| error.text);
        assert_eq!(got, Err(expected.to_string()), "{script}");
    }
}

#[test]
fn counters_go_back_to_zero_one_by_one_and_all() {
    let mut rig = busy();
    let counted = |rig: &mut Rig, menu: &str, condition: &str| {
        text(rig, &format!(":put [{menu} print count-only where {condition}]"))
            .lines()
            .last()
            .map(str::to_string)
    };
    for (menu, condition, before) in [
        ("/ip firewall filter", "packets>0 !dynamic", "1"),
        ("/ip firewall nat", "packets>0", "1"),
        ("/interface ethernet", "rx-packet>0", "5"),
        ("/interface", "tx-packet>0", "2"),
    ] {
        assert_eq!(counted(&mut rig, menu, condition).as_deref(), Some(before), "{menu}");
        rig.run(&format!("{menu} reset-counters [find]"));
        assert_eq!(counted(&mut rig, menu, condition).as_deref(), Some("0"), "{menu}");
    }
    // The dummy rule's are those of FastTrack, and stay.
    assert_eq!(counted(&mut rig, "/ip firewall filter", "packets>0").as_deref(), Some("1"));
    for menu in ["/ip firewall filter", "/ip firewall nat", "/queue simple"] {
        rig.run(&format!("{menu} reset-counters-all"));
    }
    let call = rig.console.run("/ip firewall nat reset-counters", &()).unwrap().calls.remove(0);
    let error = rig.router.start(&call, rig.console.tree(), rig.now).err();
    assert_eq!(error.as_deref(), Some("missing value(s) of argument(s) numbers"));
}

#[test]
fn a_connection_can_be_ended() {
    let mut rig = busy();
    let count = "/ip firewall connection tracking get total-entries";
    assert_eq!(text(&mut rig, &format!(":put [{count}]")), "8", "those of DHCP and DNS, too");
    rig.run("/ip firewall connection remove [find protocol=tcp]");
    assert_eq!(text(&mut rig, &format!(":put [{count}]")), "7");
    assert_eq!(text(&mut rig, ":put [/ip firewall connection find fasttrack]"), "*C0000003");
    rig.run("/ip firewall connection remove *C0000003");
    assert_eq!(text(&mut rig, ":put [/ip firewall connection find fasttrack]"), "");
    assert_eq!(text(&mut rig, ":put [/ip firewall filter find dynamic]"), "");
}

/// Why a quick way is not taken can be read beside whether it is.
#[test]
fn reasons_stand_beside_the_ways() {
    let mut rig = Rig::new(2, "");
    let way = |rig: &mut Rig, name: &str| {
        let get = |what: &str| format!(":put [/ip settings get ipv4-{name}-{what}]\n");
        text(rig, &(get("active") + &get("unmet")))
    };
    assert_eq!(way(&mut rig, "fast-path"), "true");
    let unmet = "false\nconnection tracking is not active; no connection is fasttracked";
    assert_eq!(way(&mut rig, "fasttrack"), unmet);
    rig.run("/ip settings set allow-fast-path=no\n/queue simple add target=10.0.0.1");
    let unmet = "false\n/ip settings allow-fast-path=no; there are simple queues";
    assert_eq!(way(&mut rig, "fast-path"), unmet);
    let mut rig = busy();
    assert_eq!(way(&mut rig, "fasttrack"), "true");
}

/// Neighbours typed are used without asking, replace learnt ones, and go when they are removed.
#[test]
fn neighbours_can_be_typed() {
    let mut rig = busy();
    let to = |last| craft::udp(ip(10, 0, 2, 1), 1, ip(10, 0, 1, last), 2);
    let pass = |rig: &mut Rig, last| {
        let frame = craft::Frame { src_mac: mac(2), dst_mac: own_mac(2), ..to(last) }.build();
        let out = rig.pass(2, &frame);
        out.first().map(|(port, frame)| (*port, frame[5], frame[12..14] == [8, 6]))
    };
    assert_eq!(pass(&mut rig, 9), Some((1, 9, false)), "{:?}", rig.router.discards());
    assert_eq!(pass(&mut rig, 1), Some((1, 1, false)));
    rig.run("/ip arp add address=10.0.1.1 mac-address=06:00:00:00:00:55 interface=ether1");
    assert_eq!(pass(&mut rig, 1), Some((1, 0x55, false)));
    rig.run("/ip arp remove 0,1");
    assert_eq!(pass(&mut rig, 1), Some((1, 0xff, true)), "an ARP request");
    assert_eq!(pass(&mut rig, 9), Some((1, 0xff, true)), "an ARP request");
    // A header with the old address would not reach anybody who checks.
    rig.run("/ip arp add address=10.0.1.1 mac-address=06:00:00:00:00:01 interface=ether1");
    rig.run("/interface ethernet set ether1 mac-address=02:00:00:00:00:99");
    let frame = craft::Frame { src_mac: mac(2), dst_mac: own_mac(2), ..to(1) }.build();
    assert_eq!(rig.pass(2, &frame)[0].1[6..12], [0x02, 0, 0, 0, 0, 0x99]);
}
