//! Configurations in the field: what states the present behaviour is taken, and what is not built is refused
//! with the reason, never as if it were mistyped.

use crate::rig::{Rig, mac, own_mac};
use config::{AnyName, Type};
use router::MENUS;
use wire::craft::{self, ip};

const OURS: &str = "/interface bridge add name=lan protocol-mode=none
/interface bridge port add bridge=lan interface=ether2
/ip address add address=192.168.1.1/24 interface=ether1
/ip route add gateway=192.168.1.254
/ipv6 address add address=2001:db8::1/64 interface=ether1
/ipv6 route add gateway=2001:db8::9
/ip arp add address=192.168.1.9 mac-address=06:00:00:00:00:09 interface=ether1
/ip firewall filter add chain=forward
/ip firewall nat add chain=srcnat action=masquerade
/ip firewall address-list add list=a address=10.0.0.1
/queue simple add name=q target=10.0.0.2
";

/// A line, and the reason why it is refused; none if it is taken.
const LINES: &[(&str, &str)] = &[
    // `/interface ethernet`.
    ("/interface ethernet set ether1 arp=enabled arp-timeout=auto", ""),
    ("/interface ethernet set ether1 arp=proxy-arp arp-timeout=20s", ""),
    ("/interface ethernet set ether1 loop-protect=off loop-protect-disable-time=5m", ""),
    ("/interface ethernet set ether1 loop-protect=default loop-protect-send-interval=5s", ""),
    ("/interface ethernet set ether1 loop-protect=on", "loops are not looked for"),
    ("/interface ethernet set ether1 auto-negotiation=yes full-duplex=yes speed=100Mbps", ""),
    ("/interface ethernet set ether1 auto-negotiation=no speed=1Gbps", ""),
    ("/interface ethernet set ether1 advertise=10M-half,10M-full,100M-full,1000M-full", ""),
    ("/interface ethernet set ether1 advertise=10M-baseT-half,1G-baseT-full,2.5G-baseX", ""),
    ("/interface ethernet set ether1 speed=1G-baseT-full", ""),
    ("/interface ethernet set ether1 rx-flow-control=off tx-flow-control=off", ""),
    ("/interface ethernet set ether1 rx-flow-control=on", "they do not push back"),
    ("/interface ethernet set ether1 bandwidth=unlimited/unlimited", ""),
    ("/interface ethernet set ether1 bandwidth=10M/10M", "use /queue simple"),
    ("/interface ethernet set ether1 l2mtu=1598 orig-mac-address=6C:3B:6B:01:02:03", ""),
    ("/interface ethernet set ether1 disable-running-check=no cable-settings=default", ""),
    ("/interface ethernet set ether1 poe-out=off poe-priority=10 poe-voltage=auto", ""),
    ("/interface ethernet set ether1 poe-out=forced-on", ""),
    ("/interface ethernet set ether1 !power-cycle-ping-address !power-cycle-ping-timeout", ""),
    ("/interface ethernet set ether1 power-cycle-ping-address=1.1.1.1", "ports give no power"),
    ("/interface ethernet set ether1 fec-mode=fec74", "errors are not corrected"),
    ("/interface ethernet set ether1 sfp-shutdown-temperature=95C", ""),
    ("/interface ethernet set ether1 master-port=ether2", "use /interface bridge port"),
    // Bridges.
    ("/interface bridge add arp=enabled arp-timeout=auto fast-forward=yes", ""),
    ("/interface bridge add arp=reply-only", ""),
    ("/interface bridge add igmp-snooping=no dhcp-snooping=no multicast-querier=no", ""),
    ("/interface bridge add igmp-snooping=yes membership-interval=5m", ""),
    ("/interface bridge add igmp-snooping=yes multicast-querier=yes", "the bridge asks nobody"),
    ("/interface bridge port set 0 multicast-router=permanent fast-leave=yes", ""),
    ("/interface bridge add priority=0x8000 forward-delay=15s max-message-age=20s", ""),
    ("/interface bridge add priority=0x2000", ""),
    ("/interface bridge add transmit-hold-count=6 region-name=\"\" region-revision=0", ""),
    ("/interface bridge add region-name=test", "MSTP is not built"),
    ("/interface bridge add protocol-mode=none", ""),
    ("/interface bridge add protocol-mode=rstp", ""),
    ("/interface bridge add protocol-mode=mstp", "use rstp"),
    ("/interface bridge port set 0 hw=yes edge=auto point-to-point=auto", ""),
    ("/interface bridge port set 0 path-cost=10 priority=0x80 trusted=no fast-leave=no", ""),
    ("/interface bridge port set 0 path-cost=8010", ""),
    ("/interface bridge port set 0 trusted=yes", ""),
    ("/interface bridge port set 0 bpdu-guard=yes", ""),
    // Numbers that exports of RouterOS name.
    ("/ppp profile set *0 local-address=10.9.9.1 !bridge on-up=\"\"", ""),
    ("/ppp profile set *FFFFFFFE remote-address=10.9.9.2", ""),
    ("/interface bridge settings set use-ip-firewall=no", ""),
    ("/interface bridge settings set use-ip-firewall=yes", ""),
    ("/interface bridge settings set use-ip-firewall-for-vlan=yes", "use /interface bridge filter"),
    // IP.
    ("/ip settings set rp-filter=no send-redirects=yes secure-redirects=yes", ""),
    ("/ip settings set accept-redirects=no accept-source-route=no tcp-syncookies=yes", ""),
    ("/ip settings set route-cache=yes tcp-timestamps=random-offset", ""),
    ("/ip settings set rp-filter=loose", ""),
    ("/ip address add address=192.168.7.1/24 interface=ether3 netmask=255.255.255.0", ""),
    ("/ip address add address=192.168.7.1/24 interface=ether3 broadcast=192.168.7.255", ""),
    ("/ip address add address=10.9.9.1 interface=ether3 broadcast=10.9.9.2", ""),
    ("/ip route set 0 check-gateway=none routing-table=main", ""),
    ("/ip route set 0 scope=30 target-scope=10 suppress-hw-offload=no pref-src=\"\"", ""),
    ("/ip route set 0 !routing-mark !vrf-interface !pref-src", ""),
    ("/ip route set 0 check-gateway=ping", ""),
    ("/ip route set 0 check-gateway=bfd", "BFD is not built"),
    ("/ip route set 0 routing-table=wan2", ""),
    ("/ip route set 0 routing-mark=wan2", ""),
    ("/ip route set 0 !routing-mark", ""),
    ("/ip route set 0 target-scope=11 scope=10", ""),
    ("/ip route set 0 pref-src=192.168.1.1", ""),
    ("/ip route add dst-address=10.8.0.0/16 gateway=1.1.1.1%ether1", ""),
    ("/ip arp set 0 published=no", ""),
    ("/ip arp set 0 published=yes", ""),
    // DHCP.
    ("/ip dhcp-server add interface=ether3 relay=0.0.0.0 use-radius=no lease-script=\"\"", ""),
    (
        "/ip dhcp-server add interface=ether3 bootp-support=static authoritative=after-2sec-delay",
        "",
    ),
    ("/ip dhcp-server add interface=ether3 use-radius=yes", "RADIUS is not asked of leases"),
    ("/ip dhcp-server config set store-leases-disk=5m", ""),
    ("/ip dhcp-client add interface=ether3 dhcp-options=hostname,clientid", ""),
    ("/ip dhcp-client add interface=ether3 script=x", ""),
    ("/ip dns set use-doh-server=\"\" verify-doh-cert=no max-concurrent-tcp-sessions=20", ""),
    ("/ip dns static add name=router.lan address=192.168.88.1 type=A match-subdomain=no", ""),
    ("/ip dns static add name=x.lan type=FWD forward-to=1.1.1.1 match-subdomain=yes", ""),
    // The firewall.
    ("/ip firewall nat set 0 ipsec-policy=out,none randomise-ports=no", ""),
    ("/ip firewall nat set 0 randomise-ports=yes", ""),
    ("/ip firewall filter set 0 ipsec-policy=in,ipsec", ""),
    ("/ip firewall filter set 0 protocol=ipv6-encap hw-offload=yes", ""),
    ("/ip firewall mangle add chain=forward action=sniff-pc sniff-target=10.0.0.9 sniff-id=7", ""),
    ("/ip firewall filter set 0 p2p=!all-p2p", ""),
    ("/ip firewall filter set 0 p2p=blubster", "nobody says how it is to be recognised"),
    ("/ip firewall nat set 0 action=endpoint-independent-nat", "this action is not built"),
    ("/interface bridge filter add chain=forward action=mark-packet", "this action is not built"),
    ("/ip firewall filter set 0 !in-interface-list !layer7-protocol !time", ""),
    ("/ip firewall filter set 0 layer7-protocol=\"\"", ""),
    ("/ip firewall address-list add list=a address=example.com", ""),
    ("/ip dns static add name=a.lan address=10.0.0.1 regexp=\"\"", ""),
    ("/queue type add kind=pcq name=p pcq-limit=50KiB pcq-total-limit=2000KiB", ""),
    ("/interface bridge add fast-forward=no dhcp-snooping=yes", ""),
    ("/ip pool add name=a ranges=10.0.0.0/26; /ip pool add name=b ranges=10.0.0.2-10.0.0.9", ""),
    ("/ppp profile add name=p bridge-learning=no !bridge !bridge-horizon", ""),
    ("/ip firewall connection remove numbers=[find]", ""),
    ("/ip firewall connection remove [find]", ""),
    // Queues.
    ("/queue simple set 0 priority=8/8 limit-at=0/0 burst-time=0s/0s parent=none", ""),
    ("/queue simple set 0 total-queue=default-small total-priority=8", ""),
    // The sniffer.
    ("/tool sniffer set streaming-enabled=no filter-stream=no filter-cpu=\"\"", ""),
    ("/tool sniffer set streaming-server=0.0.0.0:37008 filter-ipv6-address=\"\"", ""),
    ("/ip route add dst-address=\"\" gateway=192.168.88.9 distance=7", ""),
    ("/ip route vrf add routing-mark=red !bgp-nexthop", ""),
    ("/interface list add name=mactel; /interface list member add list=mactel", ""),
    ("/ip dhcp-server network add address=10.7.0.0/24 caps-manager=10.7.0.1", ""),
    ("/ip dhcp-server add interface=ether4 server-address=192.168.88.1", ""),
    ("/system logging action add name=d target=disk disk-file-name=flash/mine", ""),
    ("/tool sniffer set streaming-enabled=yes streaming-server=192.168.88.5", ""),
];

#[test]
fn lines_of_real_configurations() {
    for (line, why) in LINES {
        let mut rig = Rig::new(4, OURS);
        let result = rig.try_run(line).map_err(|error| error.text);
        match (result, *why) {
            (Ok(_), "") => {}
            (Err(text), why) if !why.is_empty() => {
                assert!(
                    text.starts_with("not implemented: ") && text.contains(why),
                    "{line}: {text}"
                );
            }
            (result, _) => panic!("{line}: {result:?}"),
        }
        // Whatever was taken is in the export, and the export is taken.
        let export = rig.run("/export");
        assert_eq!(Rig::new(4, &export).run("/export"), export, "{line}");
        let verbose = rig.run("/export verbose");
        assert_eq!(Rig::new(4, &verbose).run("/export"), export, "{line}, by way of verbose");
    }
}

/// Typing errors stay typing errors, in RouterOS's words.
#[test]
fn mistyped() {
    let mut rig = Rig::new(4, OURS);
    for (line, text) in [
        (
            "/interface bridge add protocol-mode=rtsp",
            "input does not match any value of protocol-mode",
        ),
        (
            "/ip firewall address-list add list=a address=10.0.0.300",
            "invalid value for argument address",
        ),
        ("/ip route set 0 gateway=1.1.1%ether1", "input does not match any value of gateway"),
        (
            "/ip address add address=10.7.0.1/24 netmask=255.255.0.0 interface=ether3",
            "failure: netmask of 10.7.0.1/24 is 255.255.255.0",
        ),
        (
            "/ip address add address=10.7.0.1/24 broadcast=10.7.0.254 interface=ether3",
            "failure: broadcast of 10.7.0.1/24 is 10.7.0.255",
        ),
    ] {
        assert_eq!(rig.try_run(line).map_err(|error| error.text), Err(text.to_string()), "{line}");
    }
}

/// Of every property of which only some values are built, all of those are taken, the first is the
/// default, and another value is refused with the remark.
#[test]
fn only_what_is_built() {
    const SAMPLES: &[&str] = &[
        "aggressive",
        "yes",
        "number",
        "radsec",
        "2",
        "3",
        "40",
        "no",
        "1",
        "9",
        "2M",
        "2M/2M",
        "7s",
        "7s/7s",
        "3/3",
        "x",
        "on",
        "off",
        "ping",
        "proxy-arp",
        "balance-tlb",
        "arp",
        "ipv6",
        "ah",
        "rstp",
        "high",
        "low",
        "short",
        "fec74",
        "loose",
        "sfp",
        "permanent",
        "forced-on",
        "1.2.3.4",
        "2001:db8::1",
        "2001:db8::/96",
        "pcq-upload-default",
        "0.5",
        "unlimited/2M",
        "0x1000",
        "mstp",
        "only-1.2",
        "special-classless",
        "FWD",
        "1500",
        "required",
        "email",
        "tcp",
        "cef",
        "broadcast",
        "authorized",
        "4-bytes",
        "sha1",
        "md5",
        "main",
        "eap",
        "port-strict",
        "ah",
        "modp768",
    ];
    let mut n_properties = 0;
    for menu in MENUS {
        for property in menu.properties {
            let Type::Only(kind, built, remark) = property.kind else { continue };
            let name = property.name;
            let set = |value: &str| {
                let mut rig = Rig::new(4, OURS);
                let which = if menu.is_list() { " [find !dynamic]" } else { "" };
                rig.try_run(&format!("{} set{which} {name}=\"{value}\"", menu.path))
                    .map_err(|error| error.text)
            };
            // What an action needs are other properties.
            if name == "action" {
                continue;
            }
            for value in built {
                assert_eq!(set(value), Ok(String::new()), "{} {name}={value}", menu.path);
            }
            if !property.default.is_empty() {
                assert_eq!(built.first(), Some(&property.default), "{} {name}", menu.path);
            }
            let values = built.iter().filter_map(|text| kind.parse(text, &AnyName).ok());
            let values: Vec<_> = values.collect();
            let another = SAMPLES.iter().find(|text| {
                kind.parse(text, &AnyName).is_ok_and(|value| !values.contains(&value))
            });
            let another = another.unwrap_or_else(|| panic!("no sample for {} {name}", menu.path));
            let refused = Err(format!("not implemented: {remark}"));
            assert_eq!(set(another), refused, "{} {name}={another}", menu.path);
            n_properties += 1;
        }
    }
    assert!(n_properties > 60, "{n_properties}");
}

/// Without IPsec every packet is `none`, and none is `ipsec`.
#[test]
fn ipsec_policies() {
    for (policy, passes) in [("in,none", false), ("out,none", false), ("in,ipsec", true)] {
        let script = format!(
            "/ip address\nadd address=10.0.1.254/24 interface=ether1\n\
             add address=10.0.2.254/24 interface=ether2\n\
             /ip arp add address=10.0.2.2 mac-address=06:00:00:00:00:02 interface=ether2\n\
             /ip firewall filter add chain=forward ipsec-policy={policy} action=drop"
        );
        let mut rig = Rig::new(2, &script);
        let frame = craft::udp(ip(10, 0, 1, 2), 1, ip(10, 0, 2, 2), 2);
        let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame };
        let sent = rig.pass(1, &frame.build()).len();
        assert_eq!(sent, usize::from(passes), "{policy}");
        let print = rig.run("/ip firewall filter print");
        let marked = print.contains("no packet matches, for there is no policy in /ip ipsec");
        assert_eq!(marked, passes, "{policy}: {print}");
    }
}

/// The router writes its address into the list of a packet that has one.
#[test]
fn routes_are_recorded() {
    let mut rig = Rig::new(
        2,
        "/ip address\nadd address=10.0.1.254/24 interface=ether1\n\
         add address=10.0.2.254/24 interface=ether2\n\
         /ip arp add address=10.0.2.2 mac-address=06:00:00:00:00:02 interface=ether2",
    );
    let frame = craft::udp(ip(10, 0, 1, 2), 1, ip(10, 0, 2, 2), 2);
    let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame };
    let mut bytes = frame.build();
    let options = [7, 7, 4, 0, 0, 0, 0, 0];
    bytes.splice(34..34, options);
    bytes[14] = 0x47;
    let length = u16::from_be_bytes([bytes[16], bytes[17]]) + 8;
    bytes[16..18].copy_from_slice(&length.to_be_bytes());
    let checksum = wire::checksum::ipv4_header(&bytes[14..42]);
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    // The second as the first: packets with options have no recipe.
    for _ in 0..2 {
        let sent = rig.pass(1, &bytes);
        assert_eq!(sent.len(), 1, "{:?}", rig.router.discards());
        let sent = &sent[0].1;
        assert_eq!(sent[34..42], [7, 7, 8, 10, 0, 2, 254, 0]);
        assert!(wire::checksum::is_ok(&sent[14..42]));
    }
}

/// A gateway on an interface, whatever networks are connected.
#[test]
fn gateways_by_interface() {
    let mut rig = Rig::new(
        3,
        "/ip address\nadd address=10.0.1.254/24 interface=ether1\n\
         add address=10.0.2.254/24 interface=ether2\n\
         /ip arp add address=10.9.9.9 mac-address=06:00:00:00:00:09 interface=ether2\n\
         /ip route add dst-address=10.7.0.0/16 gateway=10.9.9.9%ether2",
    );
    let frame = craft::udp(ip(10, 0, 1, 2), 1, ip(10, 7, 0, 2), 2);
    let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame };
    let sent = rig.pass(1, &frame.build());
    assert_eq!(sent.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [2]);
    assert_eq!(sent[0].1[..6], [6, 0, 0, 0, 0, 9]);
}

/// Sources that no route leads to, or by another interface, are not passed on (RFC 3704), by the slow
/// way as by the quick ones.
#[test]
fn sources_are_checked() {
    const ROUTES: &str = "/ip address\nadd address=10.0.1.254/24 interface=ether1\n\
         add address=10.0.2.254/24 interface=ether2\nadd address=10.0.3.254/24 interface=ether3\n\
         /ip arp add address=10.0.2.2 mac-address=06:00:00:00:00:02 interface=ether2\n\
         /ip settings set rp-filter=";
    for (filter, passes) in [
        ("no", [true, true, true]),
        ("loose", [true, true, false]),
        ("strict", [true, false, false]),
    ] {
        for reference in [true, false] {
            let mut rig = Rig::new(3, &format!("{ROUTES}{filter}"));
            rig.router.set_reference(reference);
            for (src, passes) in
                [ip(10, 0, 1, 2), ip(10, 0, 3, 2), ip(10, 9, 9, 9)].into_iter().zip(passes)
            {
                let frame = craft::udp(src, 1, ip(10, 0, 2, 2), 2);
                let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame };
                for turn in 0..2 {
                    let sent = rig.pass(1, &frame.build());
                    assert_eq!(!sent.is_empty(), passes, "{filter} {src:x} {reference} {turn}");
                }
            }
            assert!(rig.router.frames().balance());
        }
    }
}

/// RouterOS's own queue types are changed like any other, by name or by number.
#[test]
fn queue_types_of_the_factory() {
    let mut rig = Rig::new(1, "/queue type\nset 9 pfifo-limit=77\nset default kind=sfq");
    let export = rig.run("/queue type export terse");
    assert!(export.contains("set default kind=sfq\n"), "{export}");
    assert!(export.contains("set default-small pfifo-limit=77\n"), "{export}");
    assert_eq!(Rig::new(1, &export).run("/queue type export terse"), export);
}
