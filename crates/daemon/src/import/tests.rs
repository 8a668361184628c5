//! Tests of the report, and of what is kept though it has no meaning here.

use super::*;

#[test]
fn lines_have_verdicts() {
    let script = "\u{feff}/interface bridge\r\nadd name=bridge protocol-mode=none\r\n\
        /interface bridge port\r\nadd bridge=bridge interface=sfp-sfpplus1\r\n\
        /interface wireless\r\nset [ find default-name=wlan1 ] ssid=x\r\n\
        /routing bgp connection\r\nadd name=a\r\n\
        /ip address add address=10.0.0.1/24 interface=nowhere\r\n\
        /ip firewall filter add chain=forward action=jump jump-target=gone\r\n\
        /ip service set telnet disabled=yes\r\n:put 1\r\n";
    let surveyed = survey("a.rsc", &text(script.as_bytes()), (&[], None)).unwrap();
    let lines: Vec<_> =
        surveyed.lines.iter().map(|l| (l.line, l.menu.as_str(), l.verdict)).collect();
    let expected = [
        (6, "/interface wireless", "inert"),
        (8, "/routing bgp connection", "missing"),
        (9, "/ip address", "refused"),
        (10, "/ip firewall filter", "works"),
        (11, "/ip service", "missing"),
    ];
    assert_eq!(lines, expected, "{:#?}", surveyed.lines);
    let Count { commands, works, inert, missing, refused } = surveyed.total;
    assert_eq!((commands, works, inert, missing, refused), (8, 4, 1, 2, 1));
    assert_eq!(surveyed.total.percent(), 62);
}

/// Of a line with a name the rest is there for those that speak of it; of a rule there is nothing left.
#[test]
fn one_argument_takes_no_other_lines_along() {
    let script = "/interface bridge add multicast-querier=yes name=lan unknown=1\n\
        /interface bridge port add bridge=lan interface=ether2\n\
        /ip address add address=10.0.0.1/24 interface=lan\n\
        /ip firewall filter add chain=forward hotspot=auth action=drop\n\
        /ip firewall filter remove 0\n";
    let surveyed = survey("a.rsc", script, (&[], None)).unwrap();
    let lines: Vec<_> = surveyed.lines.iter().map(|l| (l.line, l.verdict)).collect();
    assert_eq!(lines, [(1, "missing"), (4, "missing"), (5, "refused")], "{:#?}", surveyed.lines);
}

#[test]
fn ports_are_those_that_are_named() {
    let script =
        "set [ find default-name=ether10 ] name=wan\nadd interface=sfp-sfpplus2; x=ether-a";
    let expected = ["ether1", "ether2", "ether3", "ether4", "ether5", "ether10", "sfp-sfpplus2"];
    assert_eq!(ports(script), expected);
}

#[test]
fn bytes_become_text() {
    for (bytes, expected) in
        [(&b"a\r\nb"[..], "a\nb"), (b"caf\xe9", "caf\u{e9}"), ("caf\u{e9}".as_bytes(), "caf\u{e9}")]
    {
        assert_eq!(text(bytes), expected);
    }
}

/// Configurations as people have them, each with what is in it of hardware and services.
const SAMPLES: &[(&str, usize, &str)] = &[
    (
        "home with wireless",
        5,
        "\u{feff}# jan/02/2024 10:00:00 by RouterOS 6.49.10\r\n\
        /interface bridge\r\nadd name=bridge protocol-mode=none\r\n\
        /interface wireless\r\nset [ find default-name=wlan1 ] band=2ghz-b/g/n disabled=no \\\r\n    \
        mode=ap-bridge ssid=\"our \\\"home\\\"\"\r\nset [ find default-name=wlan2 ] name=fast disabled=no\r\n\
        /interface wireless security-profiles\r\nset [ find default=yes ] supplicant-identity=\\\r\n    MikroTik\r\n\
        /ip hotspot profile\r\nset [ find default=yes ] html-directory=hotspot\r\n\
        /interface bridge port\r\nadd bridge=bridge interface=ether2\r\nadd bridge=bridge interface=wlan1\r\n\
        add bridge=bridge interface=fast\r\n\
        /interface list\r\nadd name=LAN\r\n/interface list member\r\nadd list=LAN interface=fast\r\n\
        /ip address\r\nadd address=192.168.88.1/24 interface=bridge\r\n\
        /ip firewall filter\r\nadd action=drop chain=forward in-interface=wlan1\r\n\
        /system leds\r\nset 0 disabled=yes\r\n\
        /tool mac-server\r\nset allowed-interface-list=LAN\r\n",
    ),
    (
        "dual WAN with a modem",
        4,
        "/interface lte apn\nset [ find default=yes ] apn=internet\n\
        /port\nset 0 name=serial0\n\
        /ip address\nadd address=10.0.1.2/24 interface=ether1\nadd address=10.0.2.2/24 interface=ether2\n\
        /ip firewall mangle\nadd action=mark-connection chain=prerouting connection-state=new \
        in-interface=ether1 new-connection-mark=one\n\
        /ip firewall nat\nadd action=masquerade chain=srcnat out-interface=ether1\n\
        add action=masquerade chain=srcnat out-interface=lte1\n\
        /ip route\nadd gateway=10.0.1.1\nadd distance=2 gateway=10.0.2.1\n\
        /ip cloud\nset ddns-enabled=yes\n/system routerboard settings\nset auto-upgrade=yes\n",
    ),
    (
        "VLANs of a campus",
        3,
        "/interface bridge\nadd name=core vlan-filtering=yes protocol-mode=none\n\
        /interface vlan\nadd interface=core name=staff vlan-id=10\n\
        /caps-man configuration\nadd name=c1 ssid=campus\n/caps-man manager\nset enabled=yes\n\
        /interface bridge port\nadd bridge=core interface=ether2 pvid=10\nadd bridge=core interface=cap1\n\
        /interface bridge vlan\nadd bridge=core tagged=core,cap1 untagged=ether2 vlan-ids=10\n\
        /ip address\nadd address=10.10.0.1/16 interface=staff\n/tool romon\nset enabled=yes\n",
    ),
    (
        "one command a line, of version 7",
        4,
        "/interface/wifi add configuration.mode=ap disabled=no name=guest\n\
        /interface bridge add name=lan protocol-mode=none\n\
        /interface bridge port add bridge=lan interface=guest\n\
        /disk set usb1 media-interface=none\n/container config set ram-high=0\n\
        /iot mqtt brokers add address=10.0.0.9 name=a\n\
        /ip address add address=10.3.0.1/24 interface=lan\n",
    ),
    (
        "a switch with a display, verbose",
        3,
        "/interface ethernet\nset [ find default-name=ether1 ] advertise=100M-full arp=enabled \
        auto-negotiation=yes disabled=no mtu=1500 name=uplink\n\
        /lcd\nset color-scheme=light default-screen=main-menu enabled=yes\n\
        /system console\nset [ find vcno=1 ] channel=0 disabled=no term=linux\n\
        /ip settings\nset ip-forward=yes rp-filter=no\n\
        /user aaa\nset accounting=yes default-group=read use-radius=no\n",
    ),
];

/// Tolerantly all of it works; what is exported then makes the same again, and has each line in it.
#[test]
fn what_people_have_is_kept() {
    for (name, inert, script) in SAMPLES {
        let script = text(script.as_bytes());
        let (surveyed, export) = tolerant(name, &script, (&[], None), None).unwrap();
        assert_eq!(surveyed.total.percent(), 100, "{name}: {:#?}", surveyed.lines);
        assert_eq!(surveyed.total.inert, *inert, "{name}: {:#?}", surveyed.lines);
        let (_, again) = tolerant(name, &export, (&[], None), None).unwrap();
        assert_eq!(again, export, "{name}");
        for line in surveyed.lines.iter().filter(|line| line.verdict == "inert") {
            assert!(export.contains(&format!("{}\n", line.menu)), "{name}: {export}");
        }
        // As `/import tolerant=yes` does it: all of it at once.
        let (tolerated, kept) = config::inert::tolerant(&script).unwrap();
        assert_eq!(kept, *inert, "{name}");
        assert_eq!(
            tolerated.lines().count(),
            script.trim_start_matches('\u{feff}').lines().count()
        );
        let mut device = Interpreter::new(node::menus()).with_commands(node::commands());
        let slab = Slab::new(64).unwrap();
        let infos = ports(&script).into_iter().map(|name| PortInfo {
            name,
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            capabilities: Capabilities::default(),
        });
        *device.tree_mut() = Router::new(infos.collect(), &slab).factory_tree();
        device.run(&tolerated, &Paper).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(device.run("/export", &Paper).unwrap().text, export, "{name}");
        // Without tolerance none of these loads.
        assert!(device.run(&script, &Paper).is_err(), "{name}");
    }
}

/// What a packet would meet is refused by a tolerant import as by any other.
#[test]
fn what_packets_meet_is_not_inert() {
    for line in [
        "/ip hotspot walled-garden add dst-host=*.example",
        "/ip ipsec peer add address=10.0.0.9 exchange-mode=aggressive",
        "/interface ethernet switch rule add ports=ether1",
        "/ip firewall filter add chain=forward hotspot=auth action=drop",
        "/system inert add menu=\"/ip firewall filter\" line=\"add chain=forward\"",
        "/system inert add menu=\"/lcd\" line=\"set a=b; /ip address remove 0\"",
    ] {
        let surveyed = survey("a", line, (&[], None)).unwrap();
        assert_eq!((surveyed.total.works, surveyed.total.inert), (0, 0), "{line}");
    }
}

#[test]
fn an_inert_menu_is_not_built() {
    for menu in node::menus() {
        assert_eq!(config::inert::why(menu.path), None, "{} is built", menu.path);
    }
}
