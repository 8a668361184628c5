//! `/ip route vrf`: routers within the router.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use wire::craft::{self, Frame, ip};

/// Two customers with the same network, each with a way out; and what is not theirs.
const TWO: &str = "/ip route vrf
add routing-mark=red interfaces=ether1,ether2
add routing-mark=blue interfaces=ether3,ether4
/ip address
add address=10.0.0.254/24 interface=ether1
add address=10.1.0.254/24 interface=ether2
add address=10.0.0.254/24 interface=ether3
add address=10.1.0.254/24 interface=ether4
add address=10.9.0.254/24 interface=ether5
/ip route
add dst-address=172.16.0.0/16 gateway=10.1.0.1 routing-mark=red
add dst-address=172.17.0.0/16 gateway=172.16.0.1 target-scope=30 routing-mark=red
add dst-address=172.16.0.0/16 gateway=10.1.0.1 vrf-interface=ether3
add dst-address=192.168.0.0/16 gateway=10.9.0.1@main routing-mark=red
add dst-address=198.51.100.0/24 gateway=10.9.0.1
add dst-address=10.0.0.0/24 gateway=ether1
";

fn rig(script: &str) -> Rig {
    let mut rig = Rig::new(5, &format!("{TWO}{script}"));
    for (n, net) in [(1, 0), (2, 1), (3, 0), (4, 1), (5, 9)] {
        rig.introduce(n, mac(n as u8), ip(10, net, 0, 1), ip(10, net, 0, 254));
    }
    rig
}

/// The ports by which three packets of a flow leave: the last ones by their recipe, if they have one.
fn ways(rig: &mut Rig, port: usize, src: u32, dst: u32) -> [Option<usize>; 3] {
    let udp = craft::udp(src, 1000, dst, 53);
    let frame = Frame { src_mac: mac(port as u8), dst_mac: own_mac(port as u8), ..udp }.build();
    std::array::from_fn(|_| {
        let out = rig.pass(port, &frame);
        // What comes back is an answer to it.
        out.into_iter().find(|(to, _)| *to != port).map(|(to, _)| to)
    })
}

#[test]
fn an_interface_asks_the_table_of_its_vrf() {
    let host = ip(10, 0, 0, 1);
    let cases: &[(&str, usize, u32, u32, Option<usize>)] = &[
        // The same addresses in two VRFs.
        ("", 1, host, ip(10, 1, 0, 1), Some(2)),
        ("", 3, host, ip(10, 1, 0, 1), Some(4)),
        ("", 1, host, ip(172, 16, 5, 5), Some(2)),
        ("", 3, host, ip(172, 16, 5, 5), Some(4)),
        // A gateway behind another one, in the VRF; main's own route does not hold it up.
        ("", 1, host, ip(172, 17, 5, 5), Some(2)),
        // A route that leaves the VRF, and main's own by an interface of one.
        ("", 1, host, ip(192, 168, 1, 1), Some(5)),
        ("", 5, ip(10, 9, 0, 1), host, Some(1)),
        // A VRF's table stands for itself.
        ("", 1, host, ip(198, 51, 100, 1), None),
        ("", 5, ip(10, 9, 0, 1), ip(172, 16, 5, 5), None),
        // An address of another VRF is not the router's own here.
        ("", 5, ip(10, 9, 0, 1), ip(10, 1, 0, 254), None),
        // Rules and marks come first.
        ("/ip route rule add interface=ether1 table=main", 1, host, ip(198, 51, 100, 1), Some(5)),
        (
            "/ip firewall mangle add chain=prerouting in-interface=ether5 action=mark-routing \
             new-routing-mark=blue",
            5,
            ip(10, 9, 0, 1),
            ip(172, 16, 5, 5),
            Some(4),
        ),
        // A mark without a VRF falls back to the VRF.
        (
            "/ip firewall mangle add chain=prerouting action=mark-routing new-routing-mark=other",
            1,
            host,
            ip(172, 16, 5, 5),
            Some(2),
        ),
        // In version 7's words it is the same.
        (
            "/ip route vrf remove [find routing-mark=red]
/ip vrf add name=red interfaces=ether1,ether2",
            1,
            host,
            ip(198, 51, 100, 1),
            None,
        ),
        // A VRF that is disabled is none.
        ("/ip route vrf disable [find routing-mark=red]", 1, host, ip(198, 51, 100, 1), Some(5)),
    ];
    for tracking in ["auto", "yes"] {
        for &(script, port, src, dst, expected) in cases {
            let mut rig = rig(script);
            rig.run(&format!("/ip firewall connection tracking set enabled={tracking}"));
            let got = ways(&mut rig, port, src, dst);
            assert_eq!(got, [expected; 3], "{script} {port} {dst:x}: {:?}", rig.router.discards());
        }
    }
}

/// Who asks the router in a VRF is answered there, by whatever the router answers with.
#[test]
fn answers_go_back_in_the_vrf() {
    let mut rig = rig("");
    for port in [1, 3, 5] {
        let net = if port == 5 { 9 } else { 0 };
        let (host, own) = (ip(10, net, 0, 1), ip(10, net, 0, 254));
        let from = |frame: Frame<'static>| {
            Frame { src_mac: mac(port), dst_mac: own_mac(port), ..frame }.build()
        };
        let asked = [
            ("ping", from(craft::ping(host, own))),
            ("a port nobody listens on", from(craft::udp(host, 1, own, 9))),
            ("no route", from(craft::udp(host, 1, ip(203, 0, 113, 1), 9))),
            ("TTL", from(Frame { ttl: 1, ..craft::udp(host, 1, ip(10, 1, 0, 1), 9) })),
        ];
        for (what, frame) in asked {
            let out = rig.pass(port.into(), &frame);
            let dst = out.first().map(|(to, bytes)| (*to, bytes[30..34].to_vec()));
            let expected = Some((port.into(), host.to_be_bytes().to_vec()));
            assert_eq!(dst, expected, "{what} by {port}: {:?}", rig.router.discards());
        }
    }
    assert!(rig.router.frames().balance());
}

/// Addresses, connected networks and gateways are shown where they are; what cannot be is refused.
#[test]
fn what_is_shown_and_what_is_refused() {
    let mut rig = rig("");
    let shown = |rig: &mut Rig, what: &str| rig.run(&format!(":put [{what}]")).trim().to_string();
    let find = "/ip route get [find dst-address=10.1.0.0/24 routing-mark=blue]";
    assert_eq!(shown(&mut rig, &format!("{find} gateway-status")), "ether4 reachable");
    let find = "/ip route get [find dst-address=172.17.0.0/16]";
    let status = shown(&mut rig, &format!("{find} gateway-status"));
    assert_eq!(status, "172.16.0.1 recursive via 10.1.0.1 ether2");
    let status = rig.run("/ip settings print");
    assert!(status.contains("there are VRFs in /ip route vrf"), "{status}");
    for (line, error) in [
        ("add routing-mark=red", "already have VRF red"),
        ("add routing-mark=green interfaces=ether5,ether4", "ether4 is in VRF blue"),
        ("add routing-mark=main", "main is the router itself"),
        ("add routing-mark=green interfaces=ether9", "ether9"),
        ("add routing-mark=green route-distinguisher=1:1", "BGP is not built"),
    ] {
        let refused = rig.try_run(&format!("/ip route vrf {line}")).unwrap_err().to_string();
        assert!(refused.contains(error), "{line}: {refused}");
    }
    assert_eq!(rig.router.discards().get(Discard::NoRoute), 0);
}
