//! `/ip accounting`: pairs of addresses, by recipes as box by box; what it does not see; more pairs than have room.

use crate::rig::{Rig, mac, own_mac};
use wire::craft::{self, Frame, ip};

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
/ip accounting set enabled=yes
";
const FASTTRACK: &str = "/ip firewall filter
add chain=forward action=fasttrack-connection connection-state=established,related
add chain=forward action=accept";
const DROP: &str = "/ip firewall filter add chain=forward protocol=udp dst-port=9 action=drop";
const MASQUERADE: &str = "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade";
const DST_NAT: &str = "/ip firewall nat add chain=dstnat dst-address=10.0.2.254 protocol=udp \
                       action=dst-nat to-addresses=10.0.2.1";

fn rig(script: &str, reference: bool) -> Rig {
    let mut rig = Rig::new(2, NETS);
    rig.run(script);
    rig.router.set_reference(reference);
    for (port, n) in [(1, 1), (1, 3), (2, 1), (2, 3)] {
        let [own, router] = [n, 254].map(|last| ip(10, 0, port, last));
        rig.introduce(port.into(), mac(10 * port + n), own, router);
    }
    rig.take(1);
    rig.take(2);
    rig
}

/// From a host at a port to another address.
fn send(rig: &mut Rig, port: u8, n: u8, dst: u32, dst_port: u16) {
    let payload = [7; 72];
    let frame = Frame {
        src_mac: mac(10 * port + n),
        dst_mac: own_mac(port),
        payload: &payload,
        ..craft::udp(ip(10, 0, port, n), 1000, dst, dst_port)
    };
    rig.pass(port.into(), &frame.build());
}

/// What a snapshot has: from whom to whom, packets and bytes, a line each.
fn taken(rig: &mut Rig) -> Vec<String> {
    rig.run("/ip accounting snapshot take");
    let script = ":foreach i in=[/ip accounting snapshot find] do={ :put (\
                  [/ip accounting snapshot get $i src-address] . \" \" . \
                  [/ip accounting snapshot get $i dst-address] . \" \" . \
                  [/ip accounting snapshot get $i packets] . \" \" . \
                  [/ip accounting snapshot get $i bytes]) }";
    rig.run(script).lines().map(str::to_string).collect()
}

#[test]
fn who_sent_how_much_to_whom() {
    let there = "10.0.1.1 10.0.2.1 20 2000";
    let other = "10.0.1.3 10.0.2.3 5 500";
    for (script, dst, expected) in [
        ("", ip(10, 0, 2, 1), &[there, other][..]),
        ("/ip firewall connection tracking set enabled=yes", ip(10, 0, 2, 1), &[there, other]),
        ("/ip firewall connection tracking set enabled=no", ip(10, 0, 2, 1), &[there, other]),
        (MASQUERADE, ip(10, 0, 2, 1), &[there, other]),
        (DST_NAT, ip(10, 0, 2, 254), &[there, other]),
        // Dropped before.
        (DROP, ip(10, 0, 2, 1), &["10.0.1.1 10.0.2.1 18 1800", other]),
        ("/ip accounting set enabled=no", ip(10, 0, 2, 1), &[]),
        ("/ip accounting set threshold=1", ip(10, 0, 2, 1), &[there]),
    ] {
        for reference in [false, true] {
            let case = format!("{script} {reference}");
            let mut rig = rig(script, reference);
            for n in 0..20 {
                let dst_port = if n < 2 { 9 } else { 7 };
                send(&mut rig, 1, 1, dst, dst_port);
                if n % 4 == 0 {
                    send(&mut rig, 1, 3, ip(10, 0, 2, 3), 7);
                }
            }
            let uncounted = rig.run("/ip accounting uncounted print");
            assert_eq!(taken(&mut rig), expected, "{case}");
            let beyond = script.contains("threshold");
            assert_eq!(uncounted.contains("500"), beyond, "{case} {uncounted}");
            if !reference {
                let paths = rig.router.path_counts();
                let enabled = !script.contains("enabled=no") || script.contains("tracking");
                assert_eq!(paths.ipv4_fast_path.packets == 0, enabled, "{case} {paths:?}");
                assert!(!enabled || paths.replayed >= 14, "{case} {paths:?}");
            }
            // All begins anew, and flows that went by recipes are counted once more.
            send(&mut rig, 1, 1, dst, 7);
            let again = if expected.is_empty() { vec![] } else { vec!["10.0.1.1 10.0.2.1 1 100"] };
            assert_eq!(taken(&mut rig), again, "{case}");
            assert!(!rig.run("/ip accounting uncounted print").contains("500"), "{case}");
            assert_eq!(taken(&mut rig), [""; 0], "{case}");
        }
    }
}

/// Both conditions of the documents: it closes FastPath, and what is FastTracked passes it by.
#[test]
fn what_is_fasttracked_is_not_seen() {
    for reference in [false, true] {
        let mut rig = rig(FASTTRACK, reference);
        for _ in 0..10 {
            send(&mut rig, 1, 1, ip(10, 0, 2, 1), 7);
            send(&mut rig, 2, 1, ip(10, 0, 1, 1), 1000);
        }
        let fasttracked = rig.router.path_counts().ipv4_fasttrack.packets;
        let counted: u64 = taken(&mut rig)
            .iter()
            .map(|line| line.split(' ').nth(2).unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(counted + fasttracked, 20, "{reference}");
        let said = rig.run("/ip settings print");
        assert!(said.contains("/ip accounting is enabled"), "{said}");
    }
}
