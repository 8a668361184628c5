//! PPTP: two of our routers, a client and a server, in virtual time; a net that loses packets and puts them out
//! of order, a NAT between them, and what forged messages come to.

// What forged messages come to.
mod hostile;
// Nets between the two.
mod net;

use crate::pppoe::{Pair, counts, datagram, id, log};
use crate::rig::{Rig, mac, own_mac};
use wire::craft;

const CLIENT: &str = "/ip address add address=10.0.0.1/24 interface=ether2\n\
                      /interface pptp-client add connect-to=10.0.0.2 user=bob password=secret \
                      add-default-route=yes";
const SERVER: &str = "/ip address add address=10.0.0.2/24 interface=ether2\n\
                      /interface pptp-server server set enabled=yes";
const ROUTE: &str = "/ip route add dst-address=10.0.1.0/24 gateway=10.9.0.2";

fn pair(client: &str, server: &str) -> Pair {
    // What a case says of the secret stands behind it.
    let secret = if server.contains("$P") { "" } else { "\n$P" };
    let server = format!("{SERVER} {server}{secret}\n{ROUTE}");
    Pair::new(&format!("{CLIENT} {client}"), &server)
}

fn runs(rig: &Rig) -> bool {
    id(rig, "pptp-out1").is_some_and(|id| rig.router.program().runs(id))
}

#[test]
fn a_session_carries_packets() {
    for (profile, encrypted) in [("default", false), ("default-encryption", true)] {
        let mut pair = pair(&format!("profile={profile}"), &format!("default-profile={profile}"));
        assert!(runs(&pair.client), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
        for len in [30, 100, 1000, 1450 - 28] {
            let payload = vec![7; len];
            let sent = craft::Frame { tos: 0xb8, dont_fragment: true, ..datagram(&payload) };
            let fits = !encrypted || len < 1420;
            let out = pair.pass(&sent.build());
            let arrived =
                craft::Frame { src_mac: own_mac(1), dst_mac: mac(2), ttl: 62, ..sent }.build();
            let wanted = if fits { vec![arrived] } else { Vec::new() };
            assert_eq!(out, wanted, "{profile} {len} {:?}", pair.server.router.discards());
            if fits {
                let (_, frame) = &pair.seen[0];
                assert_eq!(frame[23], 47, "GRE");
                assert_eq!(frame[34] & 0xef, 0x20, "a key, and perhaps a number");
                assert_eq!(frame[36..38], [0x88, 0x0b]);
                let ppp = if frame[35] & 0x80 == 0 { 46 } else { 50 };
                let protocol = if encrypted { 0xfd } else { 0x21 };
                assert_eq!(frame[ppp..ppp + 4], [0xff, 0x03, 0, protocol]);
            }
        }
        let [_, tx] = counts(&pair.client, "pptp-out1");
        assert_eq!(counts(&pair.server, "<pptp-bob>")[0], tx);
        let text = pair.server.run("/ppp active print");
        assert!(text.contains("pptp") && text.contains("10.0.0.1"), "{text}");
        assert_eq!(text.contains("MPPE128 stateless"), encrypted, "{text}");
        let text = pair.server.run("/interface pptp-server print");
        assert!(text.contains("<pptp-bob>"), "{text}");
        let text = pair.server.run("/interface print");
        assert!(text.contains("pptp-in"), "{text}");
        assert!(pair.client.run("/interface print").contains("pptp-out"));
        pair.balanced();
    }
}

/// What both are told, and whether they come together; and what the server's log says.
#[test]
fn who_gets_a_session() {
    let other = "\n$P\n/ppp secret set [find name=bob] password=other";
    let l2tp = "\n$P\n/ppp secret set [find name=bob] service=l2tp";
    let refuses = "\n/ip firewall filter add chain=input protocol=tcp dst-port=1723 action=drop";
    // Connections are tracked, and calls belong to their control connection.
    let related = "\n/ip firewall filter\nadd chain=input connection-state=established,related\n\
                   add chain=input protocol=tcp dst-port=1723\nadd chain=input action=drop";
    for (client, server, comes, said) in [
        ("", "", true, "TCP connection established from 10.0.0.1"),
        ("", "", true, "<pptp-bob>: connected"),
        ("", other, false, "user bob authentication failed"),
        ("", l2tp, false, "user bob authentication failed"),
        ("allow=pap", "", false, ""),
        ("allow=pap profile=default", "authentication=pap default-profile=default", true, ""),
        ("", "\n/interface pptp-server server set enabled=no", false, ""),
        ("disabled=yes", "", false, ""),
        ("", refuses, false, ""),
        ("", related, true, "<pptp-bob>: connected"),
        (related, related, true, "<pptp-bob>: connected"),
    ] {
        let mut pair = pair(client, server);
        let case = format!("{client} {server} {:#?} {:#?}", log(&pair.client), log(&pair.server));
        assert_eq!(runs(&pair.client), comes, "{case}");
        assert!(said.is_empty() || log(&pair.server).iter().any(|l| l.starts_with(said)), "{case}");
        pair.balanced();
    }
}

#[test]
fn a_session_ends_and_comes_again() {
    let mut pair = pair("keepalive-timeout=10", "keepalive-timeout=10");
    assert!(runs(&pair.client));
    pair.cut = true;
    pair.wait(30);
    assert!(!runs(&pair.client));
    assert_eq!(id(&pair.server, "<pptp-bob>"), None);
    pair.cut = false;
    pair.wait(40);
    assert!(runs(&pair.client), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
    pair.client.run("/interface pptp-client disable pptp-out1");
    pair.wait(1);
    assert_eq!(id(&pair.server, "<pptp-bob>"), None, "{:#?}", log(&pair.server));
    pair.client.run("/interface pptp-client enable pptp-out1");
    pair.wait(6);
    assert!(runs(&pair.client));
    pair.server.run("/ppp active remove [find name=bob]");
    pair.wait(1);
    assert!(!runs(&pair.client));
    pair.wait(10);
    assert!(runs(&pair.client));
    pair.server.run("/interface pptp-server server set enabled=no");
    pair.wait(1);
    assert!(!runs(&pair.client));
    pair.wait(20);
    pair.server.run("/interface pptp-server server set enabled=yes");
    pair.wait(30);
    assert!(runs(&pair.client), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
    // A control connection that is open asks each minute, and stays.
    pair.wait(200);
    assert!(runs(&pair.client), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
    assert_eq!(log(&pair.server).last().unwrap(), "bob logged in, 10.9.0.2 from 10.0.0.1");
    pair.balanced();
}

/// Without PPP's questions the control connection's tell that nobody is there.
#[test]
fn silence() {
    let mut pair = pair("keepalive-timeout=disabled", "keepalive-timeout=disabled");
    assert!(runs(&pair.client));
    pair.wait(150);
    assert!(runs(&pair.client));
    pair.cut = true;
    pair.wait(140);
    assert!(!runs(&pair.client), "{:#?}", log(&pair.client));
    assert_eq!(id(&pair.server, "<pptp-bob>"), None, "{:#?}", log(&pair.server));
}
