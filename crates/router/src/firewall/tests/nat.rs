//! Tests of the translation that the rules of `/ip firewall nat` choose.

use super::*;
use wire::Ipv4Prefix;
use wire::craft::{self, ip};

fn udp() -> Packet {
    Packet::of(&craft::udp(ip(10, 0, 0, 1), 4000, ip(172, 16, 5, 9), 53))
}

#[test]
fn nat_rules_choose_a_translation() {
    use NatChain::{Dstnat, Srcnat};
    let host = |addr| Some(Ipv4Prefix::host(addr).into());
    let public = ip(203, 0, 113, 1);
    let cases = [
        ("", Srcnat, NatVerdict::None),
        (
            "add chain=srcnat action=masquerade",
            Srcnat,
            NatVerdict::Masquerade { ports: None, random: false },
        ),
        ("add chain=srcnat action=masquerade", Dstnat, NatVerdict::None),
        (
            "add chain=srcnat action=masquerade protocol=udp to-ports=1024-2047",
            Srcnat,
            NatVerdict::Masquerade { ports: Some((1024, 2047)), random: false },
        ),
        (
            "add chain=srcnat action=src-nat to-addresses=203.0.113.1",
            Srcnat,
            NatVerdict::Src { addresses: host(public), ports: None, random: false },
        ),
        (
            "add chain=dstnat action=dst-nat to-addresses=203.0.113.1 protocol=udp to-ports=53",
            Dstnat,
            NatVerdict::Dst { addresses: host(public), ports: Some((53, 53)), random: false },
        ),
        (
            "add chain=dstnat action=dst-nat to-addresses=0.0.0.0 protocol=udp to-ports=53",
            Dstnat,
            NatVerdict::Dst { addresses: None, ports: Some((53, 53)), random: false },
        ),
        (
            "add chain=dstnat action=redirect protocol=udp dst-port=53 to-ports=5353",
            Dstnat,
            NatVerdict::Redirect { ports: Some((5353, 5353)), random: false },
        ),
        (
            "add chain=srcnat action=accept dst-address=172.16.0.0/12\n\
             add chain=srcnat action=masquerade",
            Srcnat,
            NatVerdict::Accept,
        ),
        (
            "add chain=srcnat action=jump jump-target=out\nadd chain=out action=passthrough\n\
             add chain=out action=masquerade out-interface=ether2",
            Srcnat,
            NatVerdict::Masquerade { ports: None, random: false },
        ),
        ("add chain=srcnat action=masquerade out-interface=ether1", Srcnat, NatVerdict::None),
    ];
    for (rules, chain, want) in cases {
        let mut fixture = Fixture::new(&format!("/ip firewall nat\n{rules}"));
        assert_eq!(fixture.nat(chain, &udp()), want, "{rules}");
        let items = fixture.items("/ip firewall nat");
        let invalid: Vec<_> = items.iter().filter_map(|&item| fixture.nat.invalid(item)).collect();
        assert!(invalid.is_empty(), "{rules}: {invalid:?}");
    }
}

#[test]
fn nat_rules_that_cannot_be_say_why() {
    let cases: &[(&str, &[&str])] = &[
        (
            "add chain=dstnat action=src-nat to-addresses=1.1.1.1",
            &["action=src-nat is possible in srcnat only"],
        ),
        ("add chain=dstnat action=masquerade", &["action=masquerade is possible in srcnat only"]),
        (
            "add chain=srcnat action=redirect protocol=tcp to-ports=80",
            &["action=redirect is possible in dstnat only"],
        ),
        (
            // Reachable from both: possible in neither, as in Linux.
            "add chain=srcnat action=jump jump-target=a\nadd chain=dstnat action=jump jump-target=a\n\
             add chain=a action=masquerade",
            &["", "", "action=masquerade is possible in srcnat only"],
        ),
        ("add chain=srcnat action=src-nat", &["action=src-nat needs to-addresses or to-ports"]),
        (
            "add chain=srcnat action=masquerade in-interface=ether1",
            &["incoming interface matching not possible in output and srcnat chains"],
        ),
        (
            "add chain=dstnat action=accept out-interface=ether1",
            &["outgoing interface matching not possible in input and dstnat chains"],
        ),
    ];
    for &(rules, want) in cases {
        let fixture = Fixture::new(&format!("/ip firewall nat\n{rules}"));
        let items = fixture.items("/ip firewall nat").into_iter();
        let reason = |item| fixture.nat.invalid(item).map(ToString::to_string);
        let reasons: Vec<String> = items.map(|item| reason(item).unwrap_or_default()).collect();
        assert_eq!(reasons, want, "{rules}");
    }
}
