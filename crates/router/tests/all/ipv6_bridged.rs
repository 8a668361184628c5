//! IPv6 between a bridge's ports and another interface, as a home router has it: the quick ways, and what is learnt.

use crate::ipv6::{Sent, discards, ip6, says, solicitation, to};
use crate::rig::{Rig, mac, own_mac};

const A: &str = "2001:db8:1::a";
const B: &str = "2001:db8:2::b";

/// A LAN of ether1 and ether3, a WAN on ether2; a host of each is known.
fn rig(more: &str) -> Rig {
    let mut rig = Rig::new(
        3,
        &format!(
            "/interface bridge add name=lan protocol-mode=none
            /interface bridge port add bridge=lan interface=ether1
            /interface bridge port add bridge=lan interface=ether3
            /ipv6 address add address=2001:db8:1::1/64 interface=lan advertise=no
            /ipv6 address add address=2001:db8:2::1/64 interface=ether2 advertise=no
            {more}"
        ),
    );
    asks(&mut rig, 1, 1, A, "2001:db8:1::1");
    asks(&mut rig, 2, 2, B, "2001:db8:2::1");
    rig
}

/// A host asks for the router, and all of its link hear it.
fn asks(rig: &mut Rig, port: usize, n: u8, own: &str, router: &str) {
    let group = wire::icmpv6::solicited_node(ip6(router)).to_string();
    rig.pass(port, &says(n, own, &group, solicitation(router, Some(mac(n)))).build());
}

fn answer() -> Sent {
    let payload = [7, 0xd0, 3, 0xe8, 0, 12, 0, 0, 1, 2, 3, 4].to_vec();
    let (src, dst) = (ip6(B), ip6(A));
    Sent { src_mac: mac(2), dst_mac: own_mac(2), src, dst, payload, ..to(A) }
}

/// So many datagrams each way, in one batch each; what comes out, and where.
fn exchange(rig: &mut Rig, n: usize, lan: u8) {
    for (port, sent, to) in [(lan, to(B), 2), (2, answer(), lan)] {
        (0..n).for_each(|_| rig.send(port.into(), &sent.build()));
        rig.breathe();
        let host = if to == 2 { 2 } else { 1 };
        let own = if to == 2 { own_mac(2) } else { own_mac(1) };
        let expected = Sent { src_mac: own, dst_mac: mac(host), hop_limit: 63, ..sent }.build();
        assert_eq!(rig.take(to.into()), vec![expected; n], "by {port}: {:?}", discards(rig));
    }
}

#[test]
fn quick_ways() {
    let rule = "/ipv6 firewall filter add chain=forward";
    let fasttrack = format!("{rule} connection-state=established action=fasttrack-connection");
    // Rules, and what of a hundred packets goes how: FastPath, FastTrack, recipes.
    for (rules, fast_path, fasttracked, replayed) in [
        (String::new(), 100, 0, 0),
        (format!("{rule} action=accept"), 0, 0, 90),
        (fasttrack, 0, 90, 0),
        ("/queue simple add target=2001:db8:1::/64 max-limit=1G/1G".to_string(), 0, 0, 90),
        ("/ipv6 firewall nat add chain=srcnat action=accept".to_string(), 0, 0, 90),
    ] {
        let mut rig = rig(&rules);
        (0..5).for_each(|_| exchange(&mut rig, 1, 1));
        (0..3).for_each(|_| exchange(&mut rig, 15, 1));
        let paths = rig.router.path_counts();
        assert_eq!(paths.ipv6_fast_path.packets, fast_path, "{rules}");
        assert!(paths.ipv6_fasttrack.packets >= fasttracked, "{rules}: {paths:?}");
        assert!(paths.replayed >= replayed, "{rules}: {paths:?}");
        // The host goes to another port: what leads to it follows.
        exchange(&mut rig, 1, 3);
        exchange(&mut rig, 9, 3);
        assert!(rig.router.frames().balance(), "{:?}", rig.router.frames());
    }
}

/// A batch of both families, and of what is bridged, in their order.
#[test]
fn among_others() {
    for reference in [true, false] {
        let mut rig = rig("");
        rig.router.set_reference(reference);
        exchange(&mut rig, 2, 1);
        let bridged = Sent { dst_mac: mac(3), ..to(A) };
        asks(&mut rig, 3, 3, "2001:db8:1::c", "2001:db8:1::1");
        for _ in 0..4 {
            rig.send(1, &to(B).build());
            rig.send(1, &bridged.build());
        }
        rig.breathe();
        let routed = Sent { src_mac: own_mac(2), dst_mac: mac(2), hop_limit: 63, ..to(B) };
        assert_eq!(rig.take(2), vec![routed.build(); 4], "{:?}", discards(&rig));
        assert_eq!(rig.take(3), vec![bridged.build(); 4]);
    }
}
