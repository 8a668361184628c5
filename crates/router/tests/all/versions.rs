//! `/export version=`: the words of RouterOS 6 and 7 for the same.

use crate::rig::Rig;

const OLD: &str = "/ip route
add distance=1 gateway=10.0.0.1 routing-mark=isp2
add dst-address=10.1.0.0/16 type=blackhole
/ip route rule
add src-address=10.2.0.0/16 table=isp3
/ip route vrf
add interfaces=ether2 routing-mark=red
/ip firewall mangle
add action=mark-routing chain=prerouting new-routing-mark=isp4
/ip dhcp-server
add interface=ether3 name=d
/interface bridge
add name=b
/interface ethernet
set ether1 speed=1Gbps
/system ntp client
set enabled=yes primary-ntp=10.0.0.9 server-dns-names=a.example";

const NEW: &str = "/interface ethernet
set [ find default-name=ether1 ] speed=1G-baseT-full
/interface bridge
add ingress-filtering=no name=b port-cost-mode=short
/ip vrf
add interfaces=ether2 name=red
/routing table
add fib name=isp2
add fib name=isp3
add fib name=isp4
/ip route
add gateway=10.0.0.1 routing-table=isp2
add blackhole dst-address=10.1.0.0/16
/routing rule
add src-address=10.2.0.0/16 table=isp3
/ip dhcp-server
add authoritative=after-2sec-delay interface=ether3 lease-time=10m name=d
/ip firewall mangle
add action=mark-routing chain=prerouting new-routing-mark=isp4
/ip firewall connection tracking
set udp-timeout=10s
/system ntp client
set enabled=yes
/system ntp client servers
add address=10.0.0.9
add address=a.example";

fn lines(export: &str) -> Vec<&str> {
    export
        .lines()
        .filter(|line| !line.starts_with("# by") && *line != "#" && !line.is_empty())
        .collect()
}

#[test]
fn one_configuration_in_two_versions() {
    let mut old = Rig::new(4, OLD);
    let typed = old.run("/export");
    assert_eq!(old.run("/export version=6"), typed);
    let export = old.run("/export version=7");
    let mut expected = lines(NEW);
    let mut got = lines(&export);
    expected.sort_unstable();
    got.sort_unstable();
    assert_eq!(got, expected, "{export}");
    assert_eq!(old.run("/export"), typed, "an export changes nothing");
    let mut new = Rig::new(4, &export);
    assert_eq!(new.run("/export version=7"), export);
    assert_eq!(new.run("/export version=6"), typed);
}

/// What has no counterpart is said above the line.
#[test]
fn without_a_counterpart() {
    for (script, version, told) in [
        (
            "/ip route add dst-address=10.1.0.0/16 type=prohibit",
            7,
            "# version 7 has no type=prohibit: packets end here silently\nadd blackhole dst-address=10.1.0.0/16",
        ),
        (
            "/ip firewall filter add chain=forward hw-offload=yes",
            6,
            "# version 6 has no hw-offload=yes\nadd chain=forward",
        ),
        (
            "/ipv6 firewall nat add chain=srcnat action=masquerade",
            6,
            "# version 6 has no /ipv6 firewall nat\nadd action=masquerade chain=srcnat",
        ),
        (
            "/system ntp client servers\nadd address=10.0.0.1\nadd address=10.0.0.2\nadd address=10.0.0.3",
            6,
            "# version 6 has two addresses, and no room for 10.0.0.3\n\
             set primary-ntp=10.0.0.1 secondary-ntp=10.0.0.2",
        ),
        (
            "/ip dns static add name=a.example type=FWD address-list=a",
            6,
            "# version 6 has no address-list=a\nadd name=a.example type=FWD",
        ),
        ("/ip route add gateway=10.0.0.1 routing-table=main", 6, "add gateway=10.0.0.1"),
        // Rules of version 6 are of IPv4.
        ("/ip route rule add table=a", 7, "/routing rule\nadd dst-address=0.0.0.0/0 table=a"),
        (
            "/routing rule add dst-address=2001:db8::/32 table=a",
            6,
            "# version 6 has no rules of IPv6\nadd dst-address=2001:db8::/32 table=a",
        ),
        ("/routing rule add min-prefix=0", 6, "# version 6 has no min-prefix=0\nadd"),
    ] {
        let export = Rig::new(4, script).run(&format!("/export version={version}"));
        assert!(export.contains(told), "{script}: {export}");
    }
    let error = Rig::new(1, "").try_run("/export version=5").unwrap_err();
    assert_eq!(error.text, "input does not match any value of version");
}

/// VRFs in the words of version 7 are the same.
#[test]
fn vrfs_of_version_7() {
    let mut rig = Rig::new(4, "/ip vrf add name=red interfaces=ether2");
    for (line, why) in [
        ("/ip route vrf add routing-mark=red interfaces=ether3", "already have VRF red"),
        ("/ip route vrf add routing-mark=blue interfaces=ether2", "ether2 is in VRF red"),
        ("/ip vrf add name=main interfaces=ether3", "main is the router itself"),
    ] {
        let error = rig.try_run(line).unwrap_err().text;
        assert!(error.contains(why), "{line}: {error}");
    }
}
