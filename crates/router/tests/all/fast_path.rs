//! FastPath by kind of interface, as MikroTik lists it: two routers, and between them a link of each kind.
//!
//! ```text
//! host 1 ── ether1 [ 1 ] ether2 ══ over ══ ether2 [ 2 ] ether1 ── host 2
//! ```

use crate::pppoe;
use crate::rig::{Rig, mac, own_mac};
use crate::tunnels::{Pair, answer, datagram, script};
use wire::craft::{self, ip};

/// What a link is made of, and whether what comes in by it, and goes out, may do so in FastPath. `over` is
/// the link's interface.
type Kind = (&'static str, &'static str, bool, bool);

const KINDS: &[Kind] = &[
    (
        "bridge (6.29)",
        "/interface bridge add name=over protocol-mode=none
         /interface bridge port add bridge=over interface=ether2",
        true,
        true,
    ),
    ("VLAN (6.30)", "/interface vlan add name=over interface=ether2 vlan-id=5", true, true),
    ("bonding (6.30, receive only)", "/interface bonding add name=over slaves=ether2", true, false),
    ("IPIP (6.33)", "/interface ipip add name=over $ENDS", true, true),
    ("GRE (6.33)", "/interface gre add name=over $ENDS", true, true),
    ("EoIP (6.33)", "/interface eoip add name=over tunnel-id=1 $ENDS", true, true),
    (
        "L2TP version 3",
        "/interface l2tp-ether add name=over connect-to=192.168.0.$you unmanaged-mode=yes \
         local-session-id=1 remote-session-id=1 allow-fast-path=yes",
        true,
        true,
    ),
    ("IPIP", "/interface ipip add name=over allow-fast-path=no $ENDS", false, false),
    ("GRE", "/interface gre add name=over allow-fast-path=no $ENDS", false, false),
    ("EoIP", "/interface eoip add name=over tunnel-id=1 allow-fast-path=no $ENDS", false, false),
];

/// A tracked router has FastPath for what is FastTracked only.
const TRACKED: &str = "/ip firewall filter
add chain=forward action=fasttrack-connection connection-state=established
add chain=forward action=accept connection-state=established";

#[test]
fn by_kind_of_interface() {
    for (kind, add, rx, tx) in KINDS {
        for firewall in ["", TRACKED] {
            let mut pair = Pair::new(&script(&format!(
                "/interface ethernet set ether2 mac-address=02:00:00:00:01:0$me
                 {add}
                 /ip address add address=172.16.0.$me/30 interface=over
                 /ip route add dst-address=10.0.$you.0/24 gateway=172.16.0.$you
                 {firewall}"
            )));
            let (there, back) = (datagram(&[7; 100]).build(), answer(&[7; 100]).build());
            for _ in 0..4 {
                assert_eq!(pair.pass(&there).len(), 1, "{kind} {:?}", pair.seen);
                assert_eq!(pair.pass_back(&back).len(), 1, "{kind}");
            }
            let before = [0, 1].map(|n| pair.routers[n].router.path_counts().replayed);
            let fast = |pair: &Pair, n| pair.fast_counts(n, "over");
            let counts = |pair: &Pair, n| pair.counts(n, "over");
            let (was, were) = ([0, 1].map(|n| fast(&pair, n)), [0, 1].map(|n| counts(&pair, n)));
            for _ in 0..5 {
                assert_eq!(pair.pass(&there).len(), 1, "{kind}");
                assert_eq!(pair.pass_back(&back).len(), 1, "{kind}");
            }
            for n in 0..2 {
                let differ = |a: (u64, u64), b: (u64, u64)| (a.0 - b.0, a.1 - b.1);
                let (all, quick) = (counts(&pair, n), fast(&pair, n));
                for (way, is_fast) in [(0, rx), (1, tx)] {
                    let passed = differ(all[way], were[n][way]);
                    let wanted = if *is_fast { passed } else { (0, 0) };
                    let way_name = ["rx", "tx"][way];
                    assert_eq!(passed.0, 5, "{kind} {way_name} {firewall}");
                    let got = differ(quick[way], was[n][way]);
                    assert_eq!(got, wanted, "{kind} fp-{way_name} of router {n} {firewall}");
                }
                // Of a tunnel, the outer packets have recipes, whatever counts.
                let replayed = pair.routers[n].router.path_counts().replayed - before[n];
                if kind.contains("IP") || kind.contains("GRE") {
                    assert!(replayed >= 10, "{kind}: {replayed} of router {n} {firewall}");
                }
            }
            pair.balanced();
        }
    }
}

/// A session by a client and a server of ours, with what is added for each; its interfaces; whether FastPath.
type Session = (&'static str, &'static str, &'static str, [&'static str; 2], bool);

const L2TP: [&str; 2] = [
    "/ip address add address=10.0.0.1/24 interface=ether2
     /interface l2tp-client add connect-to=10.0.0.2 user=bob password=secret add-default-route=yes",
    "/ip address add address=10.0.0.2/24 interface=ether2\n/interface l2tp-server server set enabled=yes",
];
const PPTP: [&str; 2] = [
    "/ip address add address=10.0.0.1/24 interface=ether2
     /interface pptp-client add connect-to=10.0.0.2 user=bob password=secret add-default-route=yes",
    "/ip address add address=10.0.0.2/24 interface=ether2\n/interface pptp-server server set enabled=yes",
];
const PPPOE: [&str; 2] = ["$C add-default-route=yes", "$S"];

#[test]
fn by_kind_of_session() {
    const P: &str = "/ppp profile add name=p change-tcp-mss=no";
    let l2tp = ["l2tp-out1", "<l2tp-bob>"];
    let pptp = ["pptp-out1", "<pptp-bob>"];
    let sessions: [Session; 6] = [
        ("PPPoE (6.35)", "profile=p", "default-profile=p", ["pppoe-out1", "<pppoe-bob>"], true),
        (
            "L2TP (6.35)",
            "profile=p allow-fast-path=yes",
            "default-profile=p allow-fast-path=yes",
            l2tp,
            true,
        ),
        ("L2TP", "profile=p", "default-profile=p", l2tp, false),
        (
            "L2TP with MPPE",
            "profile=default-encryption allow-fast-path=yes",
            "default-profile=default-encryption allow-fast-path=yes",
            l2tp,
            false,
        ),
        ("PPTP", "profile=p", "default-profile=p", pptp, false),
        (
            "PPTP with MPPE",
            "profile=default-encryption",
            "default-profile=default-encryption",
            pptp,
            false,
        ),
    ];
    for (kind, client, server, names, is_fast) in sessions {
        let [dial, listen] = match kind {
            _ if kind.starts_with("L2TP") => L2TP,
            _ if kind.starts_with("PPTP") => PPTP,
            _ => PPPOE,
        };
        let route = "/ip route add dst-address=10.0.1.0/24 gateway=10.9.0.2";
        let mut pair = pppoe::Pair::new(
            &format!("{P}\n{dial} {client}"),
            &format!("{P}\n{listen} {server}\n$P\n{route}"),
        );
        let (there, back) = (datagram(&[7; 100]).build(), answer(&[7; 100]).build());
        let all = |pair: &pppoe::Pair| {
            [&pair.client, &pair.server]
                .into_iter()
                .zip(names)
                .map(|(rig, name)| {
                    let id = pppoe::id(rig, name).expect("the session");
                    (rig.router.interface_counts(id), rig.router.path_counts().replayed)
                })
                .collect::<Vec<_>>()
        };
        let mut was = Vec::new();
        for round in 0..9 {
            if round == 4 {
                was = all(&pair);
            }
            assert_eq!(
                pair.pass(&there).len(),
                1,
                "{kind} {round} {:#?}",
                pppoe::log(&pair.client)
            );
            pair.server.send(1, &back);
            pair.settle();
            let out = pair.client.take(1);
            assert_eq!(out.iter().filter(|frame| frame[12..14] == [8, 0]).count(), 1, "{kind}");
        }
        for ((now, replayed), (was, before)) in all(&pair).into_iter().zip(was) {
            for (all, fast, were, quick) in [
                (now.rx, now.fast_rx, was.rx, was.fast_rx),
                (now.tx, now.fast_tx, was.tx, was.fast_tx),
            ] {
                let (all, fast) = (all.bytes - were.bytes, fast.bytes - quick.bytes);
                assert_eq!(all, 5 * 128, "{kind}");
                assert_eq!(fast, if is_fast { all } else { 0 }, "{kind}");
            }
            // Coming in and going out, outside; what is encrypted is looked at packet by packet.
            let least = if kind.contains("MPPE") { 5 } else { 10 };
            assert!(
                replayed - before >= least || kind.starts_with("PPPoE"),
                "{kind} {}",
                replayed - before
            );
        }
        pair.balanced();
    }
}

/// RouterOS's default configuration without its fasttrack rule: what goes from the LAN's bridge to the uplink
/// has a recipe from its third packet on.
#[test]
fn default_configuration() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../labs/home-ap.rsc");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.contains("fasttrack-connection"));
    let mut rig = Rig::new(4, &lines.collect::<Vec<_>>().join("\n"));
    let (host, server) = (ip(192, 168, 88, 10), ip(198, 51, 100, 1));
    rig.introduce(1, mac(1), ip(203, 0, 113, 1), ip(203, 0, 113, 2));
    rig.introduce(2, mac(2), host, ip(192, 168, 88, 1));
    let dst_mac =
        rig.router.program().interface(rig.router.program().names.find("bridge").unwrap()).mac;
    let there = craft::Frame { src_mac: mac(2), dst_mac, ..craft::udp(host, 5000, server, 53) };
    let (there, masked) = (there.build(), ip(203, 0, 113, 2));
    let back = craft::udp(server, 53, masked, 5000);
    let back = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..back }.build();
    for _ in 0..7 {
        assert_eq!(rig.pass(2, &there).len(), 1, "{:?}", rig.router.discards());
        assert_eq!(rig.pass(1, &back).len(), 1, "{:?}", rig.router.discards());
    }
    // But for the first two each way.
    assert_eq!(rig.router.path_counts().replayed, 10, "{:?}", rig.router.path_counts());
}
