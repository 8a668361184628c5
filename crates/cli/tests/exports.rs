//! Exports of one kind of device, imported by every other: the console's own, a router on real interfaces,
//! a node of a lab.

mod folder;

use folder::Folder;
use std::process::Command;

const PORTS: usize = 5;

/// Something in every menu, and much that is away from its default. Each of them may be left out.
const LINES: &[&str] = &[
    "/interface ethernet set ether1 mtu=1400 comment=\"to the lab\" speed=100Mbps",
    "/interface ethernet set ether5 name=\"guest net\" advertise=100M-full l2mtu=1598",
    "/interface bridge add name=lan protocol-mode=none ageing-time=1m\n\
     /interface bridge port add interface=ether2 bridge=lan horizon=3 pvid=7\n\
     /interface bridge vlan add bridge=lan vlan-ids=7,10-19 tagged=lan",
    "/interface bridge add name=silent",
    "/interface bridge settings set allow-fast-path=no",
    "/interface bridge filter add chain=forward mac-protocol=arp arp-opcode=request action=drop",
    "/interface bridge nat add chain=dstnat action=dst-nat to-dst-mac-address=06:00:00:00:00:09",
    "/interface vlan add name=v10 interface=ether1 vlan-id=10\n\
     /interface vlan add name=v20 interface=v10 vlan-id=20 use-service-tag=yes disabled=yes",
    "/interface bonding add slaves=ether4 mode=802.3ad transmit-hash-policy=layer-2-and-3",
    "/interface ipip add name=i1 remote-address=10.0.1.9",
    "/interface gre add name=g1 remote-address=10.0.1.9 keepalive=0s,0",
    "/interface 6to4 add name=s1 local-address=10.0.1.254",
    "/interface eoip add name=e1 remote-address=10.0.1.9 tunnel-id=7 mac-address=06:00:00:00:00:99",
    "/interface l2tp-ether add name=l3 connect-to=10.0.1.9 unmanaged-mode=yes local-session-id=1 remote-session-id=2 send-cookie=deadbeef mac-address=06:00:00:00:00:98",
    "/interface wireguard add name=wg1 listen-port=13232 private-key=\"ERERERERERERERERERERERERERERERERERERERERERE=\"\n\
     /interface wireguard peers add interface=wg1 public-key=\"D6poTtKIZ7l/Smot7l34zpdOdrcBjj8iocTPJnhXDyA=\" allowed-address=10.9.0.2/32,fd00:9::/64 preshared-key=\"ERERERERERERERERERERERERERERERERERERERERERE=\"",
    "/interface vrrp add name=v1 interface=ether1 vrid=9 priority=200",
    "/interface absent add name=wlan1\n/ip route vrf add routing-mark=red interfaces=wlan1\n/ip vrf add name=green\n\
     /ip firewall filter add chain=forward in-interface=wlan1",
    "/ppp profile add name=p local-address=10.9.0.1 only-one=yes\n\
     /ppp secret add name=bob password=\"a b\" profile=p remote-address=10.9.0.2",
    "/interface pppoe-client add name=dsl interface=ether1 user=bob use-peer-dns=no allow=chap",
    "/interface pppoe-server server add interface=ether1 service-name=isp max-sessions=9",
    "/interface bridge nat add chain=srcnat action=src-nat to-src-mac-address=02:00:00:00:00:09",
    "/interface list add name=WAN include=none\n\
     /interface list member add list=WAN interface=ether1",
    "/ip settings set max-neighbor-entries=100 rp-filter=no",
    "/ip address add address=10.0.1.254/24 interface=ether1 broadcast=10.0.1.255",
    "/ip arp add address=10.0.1.9 mac-address=06:00:00:00:00:09 interface=ether1",
    "/ip route rule add src-address=10.0.1.0/24 action=lookup table=second",
    "/ip route add gateway=10.0.1.1,10.0.1.2%ether1 distance=7 check-gateway=none",
    "/ip route add dst-address=10.8.0.0/16 type=prohibit comment=\"a; \\$b \\\"c\\\"\"",
    "/ip route add gateway=10.0.1.3 routing-mark=by-isp2",
    "/ip route rule add src-address=10.9.0.0/16 interface=ether1 action=lookup-only-in-table \
     table=by-isp2",
    "/ip pool add name=p ranges=10.0.2.10-10.0.2.20\n\
     /ip dhcp-server option add name=tz code=101 value=s'UTC'\n\
     /ip dhcp-server option sets add name=all options=tz\n\
     /ip dhcp-server add name=d interface=ether3 address-pool=p dhcp-option-set=all\n\
     /ip dhcp-server lease add address=10.0.2.9 mac-address=06:00:00:00:00:19 server=d",
    "/ip dhcp-server network add address=10.0.2.0/24 gateway=10.0.2.254 dns-server=8.8.8.8",
    "/ip dhcp-server config set store-leases-disk=never",
    "/ip dns set servers=1.1.1.1,8.8.8.8 allow-remote-requests=yes cache-size=4096KiB",
    "/ip dns forwarders add name=hq dns-servers=10.0.0.9\n\
     /ip dns static add name=router.lan address=10.0.2.254 ttl=1h\n\
     /ip dns static add regexp=^a.*b type=NXDOMAIN disabled=yes",
    "/ip hotspot profile add name=guests login-by=mac\n\
     /ip hotspot add name=hs interface=ether2 profile=guests\n\
     /ip hotspot user profile add name=guest shared-users=3\n\
     /ip hotspot user add name=ann password=secret profile=guest\n\
     /ip hotspot ip-binding add address=10.0.0.60 type=bypassed\n\
     /ip hotspot walled-garden ip add dst-address=192.0.2.9 action=reject",
    "/ip nat-pmp set enabled=yes\n/ip nat-pmp interfaces add interface=ether1 type=external",
    "/ip traffic-flow set enabled=yes\n/ip traffic-flow target add dst-address=10.0.0.9 version=ipfix",
    "/mpls set propagate-ttl=no\n\
     /mpls interface add interface=ether1 mpls-mtu=1520\n\
     /mpls ldp set enabled=yes lsr-id=10.0.1.1\n\
     /mpls ldp interface add interface=ether1 hold-time=9s\n\
     /mpls ldp accept-filter add prefix=10.0.0.0/8 neighbor=10.0.1.9 accept=no\n\
     /mpls ldp advertise-filter add prefix=10.0.0.0/8 advertise=no\n\
     /mpls local-bindings add dst-address=10.99.0.0/16 label=99\n\
     /mpls remote-bindings add dst-address=10.99.0.0/16 nexthop=10.0.1.9 label=expl-null",
    "/ip accounting set enabled=yes threshold=99",
    "/ip ipsec peer add name=office address=203.0.113.9/32 exchange-mode=ike2\n\
     /ip ipsec identity add peer=office secret=word\n\
     /ip ipsec policy add peer=office tunnel=yes src-address=10.0.0.0/24 dst-address=10.9.0.0/24",
    "/interface l2tp-server add name=office user=bob",
    "/ip upnp set enabled=yes\n/ip upnp interfaces add interface=ether1 type=external",
    "/ip dhcp-client add interface=ether4 add-default-route=no use-peer-dns=no",
    "/ip firewall filter add chain=input ipsec-policy=in,ipsec",
    "/ip firewall filter add chain=forward in-interface=ether1 action=jump jump-target=nowhere",
    "/ip firewall filter add chain=forward protocol=tcp dst-port=80,443-450 log-prefix=\"a b\"",
    "/ip firewall layer7-protocol add name=get regexp=^get",
    "/ip firewall raw add chain=prerouting protocol=udp dst-port=5060 action=notrack",
    "/ip firewall mangle add chain=forward action=mark-packet new-packet-mark=web passthrough=no",
    "/ip firewall mangle add chain=forward protocol=tcp tcp-flags=syn action=change-mss new-mss=1360",
    "/ip firewall nat add chain=srcnat action=masquerade ipsec-policy=out,none",
    "/ip firewall address-list add list=bad address=192.168.0.0/16",
    "/ip firewall connection tracking set enabled=yes udp-timeout=30s",
    "/ipv6 settings set max-neighbor-entries=100",
    "/ipv6 address add address=2001:db8:1::1/64 interface=ether1 advertise=no",
    "/ipv6 pool add name=six prefix=2001:db8:40::/48 prefix-length=64\n\
     /ipv6 address add address=::1 from-pool=six interface=ether3",
    "/ipv6 pool add name=seven prefix=2001:db8:50::/48 prefix-length=56\n\
     /ipv6 dhcp-server option add name=dns code=23 value=0x20010db8000000000000000000000053\n\
     /ipv6 dhcp-server option sets add name=all options=dns\n\
     /ipv6 dhcp-server add name=s interface=ether3 address-pool=seven dhcp-option-set=all\n\
     /ipv6 dhcp-server binding add address=2001:db8:50:100::/56 duid=0x0001 server=s",
    "/ipv6 dhcp-client add interface=ether4 request=prefix pool-name=isp add-default-route=yes",
    "/ipv6 dhcp-relay add interface=ether4 dhcp-server=2001:db8:9::53 link-address=2001:db8:7::1",
    "/ipv6 nd set [find default=yes] ra-interval=20s-1m dns=2001:db8::53 advertise-dns=no",
    "/ipv6 nd add interface=ether2 managed-address-configuration=yes ra-preference=low",
    "/ipv6 nd prefix add prefix=2001:db8:1::/64 interface=ether1 autonomous=no",
    "/ipv6 nd prefix default set valid-lifetime=1d preferred-lifetime=1h",
    "/ipv6 nd proxy add interface=ether1 address=2001:db8:1::77",
    "/ipv6 route add gateway=2001:db8:1::9,fe80::1%ether1 distance=7",
    "/ipv6 route add gateway=2001:db8:1::9 distance=8 check-gateway=ping scope=20 target-scope=30 \
     pref-src=2001:db8:1::1",
    "/ipv6 firewall address-list add list=bad address=fec0::/10",
    "/ipv6 firewall filter add chain=input protocol=icmpv6 icmp-options=128:0 hop-limit=equal:255",
    "/ipv6 firewall nat add chain=srcnat action=masquerade out-interface=ether1",
    "/ipv6 firewall raw add chain=prerouting protocol=udp dst-port=53 action=notrack",
    "/ipv6 firewall mangle add chain=forward action=mark-packet new-packet-mark=six",
    "/ip service set telnet disabled=yes port=2323",
    "/ip service set www address=10.0.0.0/8 certificate=none",
    "/queue type add name=fair kind=fq-codel fq-codel-limit=100",
    "/queue tree add name=up parent=ether1 max-limit=10M packet-mark=web queue=default",
    "/queue interface set ether2 queue=ethernet-default",
    "/queue simple add name=a target=10.0.2.0/24 max-limit=1M/2500k queue=default/default",
    "/queue simple add target=10.0.2.7/32 disabled=yes total-queue=default",
    "/tool sniffer set only-headers=yes file-name=\"a b.pcapng\" filter-ip-address=10.0.0.0/8",
    "/tool traffic-generator port add name=p1 interface=ether1\n\
     /tool traffic-generator packet-template add name=t1 header-stack=mac,ip,udp port=p1 \
        ip-dst=10.0.9.9 udp-dst-port=9\n\
     /tool traffic-generator stream add num=3 tx-template=t1 packet-size=100 pps=1000",
    "/tool traffic-generator raw-packet-template add name=r header=aabbcc special-footer=no",
    "/interface l2tp-client add name=l2tp-out1 connect-to=10.0.1.7 user=u password=p",
    "/interface l2tp-server server set enabled=yes authentication=chap,mschap2",
    "/interface pptp-client add name=pptp-out1 connect-to=10.0.1.7 user=u password=p",
    "/interface pptp-server server set enabled=yes authentication=chap,mschap2",
    "/radius add address=10.0.1.8 secret=s service=ppp timeout=1s",
    "/radius incoming set accept=yes",
    "/ppp l2tp-secret add address=10.0.1.9 secret=s",
    "/ppp aaa set use-radius=yes interim-update=5m",
    "/routing table add name=by-isp3 fib\n\
     /routing rule add src-address=10.7.0.0/16 action=lookup table=by-isp3\n\
     /ip route add gateway=10.0.1.3 routing-table=by-isp3\n\
     /ip route add blackhole dst-address=10.66.0.0/16",
    "/system script add name=hello policy=read source=\":log info \\\"a b\\\"\\r\\n:put 1\"",
    "/system scheduler add name=daily interval=1d start-date=jan/01/2024 start-time=03:30:00 \
     on-event=hello policy=read,test",
    "/tool netwatch add host=10.0.1.9 interval=10s up-script=\":log info up\"",
    "/ip dhcp-relay add name=r1 interface=ether2 dhcp-server=10.0.1.8 add-relay-info=yes",
    "/ip neighbor discovery-settings set discover-interface-list=static protocol=lldp,mndp",
    "/snmp set enabled=yes contact=\"a b\" trap-version=2\n\
     /snmp community set [find default=yes] addresses=10.0.0.0/8\n\
     /snmp community add name=ops addresses=10.0.1.0/24 write-access=no",
    "/system logging action add name=far target=remote remote=10.0.1.8 bsd-syslog=yes\n\
     /system logging add topics=firewall,!debug action=far prefix=fw",
    "/system ntp server set enabled=yes use-local-clock=yes\n\
     /system ntp client set enabled=yes\n\
     /system ntp client servers add address=10.0.1.8",
    "/system note set note=\"Two\\r\\nlines.\" show-at-login=no",
    "/ip proxy set enabled=no port=3128",
    "/system identity set name=\"our box\"",
    "/system clock set time-zone-name=Europe/Riga time-zone-autodetect=no",
];

/// Menus in which nobody can say anything, or nothing that is exported.
const SILENT: &[&str] = &["/user", "/system inert", "/file"];

fn wirespeed(folder: &Folder, arguments: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
    command.args(arguments.split(' ')).current_dir(folder.path(""));
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// What a device of these lines exports, briefly and with its defaults.
fn exports(folder: &Folder, lines: &str) -> [String; 2] {
    let script = format!("{lines}\n/export file=brief\n/export verbose file=verbose\n");
    folder.write("made.rsc", script);
    let (code, text) = wirespeed(folder, "console made.rsc");
    assert_eq!(code, Some(0), "{lines}\n{text}");
    ["brief.rsc", "verbose.rsc"].map(|name| {
        // The head says when it was made, remarks what is so at the moment.
        let text = std::fs::read_to_string(folder.path(name)).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| format!("{line}\n")).collect()
    })
}

/// Every kind of device takes it, and exports the same.
fn is_taken(folder: &Folder, export: &str, brief: &str) {
    assert_eq!(exports(folder, export)[0], brief, "{export}");
    folder.write("export.rsc", export);
    let ports: String = (0..PORTS).map(|at| format!(" --port tap:wsexport{at}")).collect();
    let (_, text) = wirespeed(folder, &format!("router export.rsc --check{ports}"));
    assert!(text.contains("export.rsc has no error"), "{text}\n{export}");
    folder.write(
        "lab.yaml",
        "name: exports\ntopology:\n  nodes: { dut: { ports: 5, startup-config: export.rsc } }\n\
         steps: [{ node: dut, run: /system identity print }]\n",
    );
    for arguments in ["lab check lab.yaml", "lab run lab.yaml"] {
        let (code, text) = wirespeed(folder, arguments);
        assert_eq!(code, Some(0), "{arguments}: {text}\n{export}");
    }
}

#[test]
fn every_device_takes_every_export() {
    let folder = Folder::with("exports", "");
    let menus = lab::node::menus().into_iter().chain(serve::MENUS.iter().copied());
    let settable = |menu: &&config::Menu| {
        let mut own = menu.properties.iter();
        own.any(|p| matches!(p.access, config::Access::Optional | config::Access::Required))
            && !matches!(menu.kind, config::MenuKind::Union { .. })
    };
    let [_, verbose] = exports(&folder, &LINES.join("\n"));
    let unsaid: Vec<_> = menus
        .filter(settable)
        .map(|menu| menu.path)
        .filter(|path| !SILENT.contains(path) && !verbose.contains(path))
        .collect();
    assert!(unsaid.is_empty(), "{unsaid:?} are not in\n{verbose}");
    // All of it, nothing, and parts.
    let mut chosen: u64 = 0x9e37_79b9_7f4a_7c15;
    for part in 0..6 {
        let lines = LINES.iter().enumerate().filter(|(at, _)| match part {
            0 => true,
            1 => false,
            _ => chosen >> (at % 64) & 1 == 1,
        });
        let lines: Vec<&str> = lines.map(|(_, line)| *line).collect();
        chosen = chosen.rotate_left(13).wrapping_mul(5).wrapping_add(part);
        let lines = lines.join("\n");
        let [brief, verbose] = exports(&folder, &lines);
        is_taken(&folder, &brief, &brief);
        is_taken(&folder, &verbose, &brief);
    }
}

/// What can never work is no error, and is said.
#[test]
fn a_check_says_what_stands_above_items() {
    let folder = Folder::with("remarks", "");
    let rules = "add chain=nowhere\n".repeat(20);
    folder.write("a.rsc", format!("/interface bridge add name=lan\n/ip firewall filter\n{rules}"));
    let (_, text) = wirespeed(&folder, "router a.rsc --check --port tap:wsexport");
    assert!(text.contains("a.rsc has no error"), "{text}");
    assert_eq!(text.matches("no rule jumps to chain=nowhere").count(), 8, "{text}");
    assert!(text.contains("and more of these"), "{text}");
}

/// A start configuration that `lab run` would refuse is refused by `lab check`, in the same words.
#[test]
fn a_check_tries_what_a_run_would() {
    let folder = Folder::with("checked", "");
    folder.write("bad.rsc", "/ip address add address=10.0.0.1/24 interface=ether9\n");
    folder.write(
        "lab.yaml",
        "name: checked\ntopology:\n  nodes: { dut: { ports: 2, startup-config: bad.rsc } }\n\
         steps: [{ node: dut, run: /system identity print }]\n",
    );
    let told =
        ["lab check lab.yaml", "lab run lab.yaml"].map(|arguments| wirespeed(&folder, arguments));
    let [(code, text), run] = told;
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("bad.rsc:1:47: node dut refuses it"), "{text}");
    assert_eq!((code, text), run);
}

/// A byte order mark is nothing; what is UTF-16 is called so.
#[test]
fn encodings_are_named() {
    let folder = Folder::with("encodings", "");
    folder.write("marked.rsc", b"\xef\xbb\xbf/ip address print\r\n");
    folder.write("wide.rsc", b"\xff\xfe/\0i\0p\0");
    for (arguments, code, said) in [
        ("console marked.rsc", 0, "Flags:"),
        ("router marked.rsc --check --port tap:wsexport", 0, "marked.rsc has no error"),
        ("console wide.rsc", 3, "cannot read wide.rsc: the file is UTF-16; save it as UTF-8"),
        ("router wide.rsc --port tap:wsexport", 3, "the file is UTF-16; save it as UTF-8"),
    ] {
        let (ended, text) = wirespeed(&folder, arguments);
        assert!(text.contains(said), "{arguments}: {text}");
        // Whether it could have the interface is another matter.
        assert!(
            arguments.contains("--check") || ended == Some(code),
            "{arguments}: {ended:?} {text}"
        );
    }
}
