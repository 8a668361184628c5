//! Interfaces of servers that stay while their users are not there.

use super::{Pair, counts, datagram, id, log};
use wire::craft;

const ADDRESSES: &str = "/ip address add address=10.0.0.N/24 interface=ether2\n";

/// Both ends by each carrier, with a rule and a route of the server's that name the binding.
fn pair(carrier: &str, binding: &str) -> Pair {
    let addresses = |n: &str| ADDRESSES.replace('N', n);
    let dial = format!("/interface {carrier}-client add user=bob password=secret ");
    let (client, server) = match carrier {
        "pppoe" => (format!("{dial} interface=ether2"), "$S".to_string()),
        _ => (
            format!("{}{dial} connect-to=10.0.0.2", addresses("1")),
            format!("{}/interface {carrier}-server server set enabled=yes", addresses("2")),
        ),
    };
    let server = format!(
        "{server}\n$P\n/interface {carrier}-server add name=office {binding}\n\
         /ip route add dst-address=10.0.1.0/24 gateway=office\n\
         /ip firewall filter add chain=forward in-interface=office action=accept"
    );
    Pair::new(&format!("{client} add-default-route=yes"), &server)
}

fn runs(pair: &Pair) -> bool {
    id(&pair.server, "office").is_some_and(|id| pair.server.router.program().runs(id))
}

#[test]
fn a_binding_is_its_users_interface() {
    for carrier in ["pppoe", "l2tp", "pptp"] {
        let mut pair = pair(carrier, "user=bob");
        let said = log(&pair.server);
        assert!(runs(&pair), "{carrier} {said:#?}");
        assert!(said.contains(&"office: connected".to_string()), "{said:#?}");
        assert!(said.iter().any(|line| line.starts_with("bob logged in, 10.9.0.2 ")), "{said:#?}");
        let payload = [7; 100];
        assert_eq!(pair.pass(&datagram(&payload).build()).len(), 1, "{carrier}");
        assert_eq!(counts(&pair.server, "office")[0].0, 1, "{carrier}");
        let back = craft::Frame {
            src_mac: super::mac(2),
            dst_mac: wire::MacAddr([2, 0, 0, 0, 0, 1]),
            payload: &payload,
            ..craft::udp(craft::ip(10, 0, 2, 1), 2000, craft::ip(10, 0, 1, 1), 1000)
        };
        pair.server.send(1, &back.build());
        pair.settle();
        assert_eq!(pair.client.take(1).len(), 1, "{carrier}: by the route to the binding");
        let matched = pair.server.run("/ip firewall filter print stats");
        assert!(matched.lines().any(|line| line.ends_with(" 1")), "{matched}");

        for (command, texts) in [
            (format!("/interface {carrier}-server print"), vec!["R office", "bob"]),
            ("/interface print".to_string(), vec!["office", &*format!("{carrier}-in")]),
            ("/ppp active print".to_string(), vec!["bob", carrier]),
            (format!("/interface {carrier}-server export"), vec!["add name=office user=bob"]),
        ] {
            let text = pair.server.run(&command);
            texts.iter().for_each(|one| assert!(text.contains(one), "{command}: {one} in\n{text}"));
            assert!(!text.contains(&format!("<{carrier}-bob>")), "{text}");
        }

        // Its user goes: it stays, and does not run.
        pair.client.run(&format!("/interface {carrier}-client disable [find]"));
        pair.wait(1);
        assert!(id(&pair.server, "office").is_some() && !runs(&pair), "{carrier}");
        pair.client.run(&format!("/interface {carrier}-client enable [find]"));
        pair.wait(10);
        assert!(runs(&pair), "{carrier} {:#?}", log(&pair.server));

        // Without it the session ends, and the next one has an interface of its own.
        pair.server.run(&format!("/interface {carrier}-server disable office"));
        pair.wait(10);
        assert!(!runs(&pair), "{carrier}");
        let own = format!("<{carrier}-bob>");
        assert!(id(&pair.server, &own).is_some(), "{carrier} {:#?}", log(&pair.server));
        pair.balanced();
    }
}

#[test]
fn whom_a_binding_is_for() {
    for (binding, carrier, is_his) in [
        ("user=bob", "pppoe", true),
        ("user=alice", "pppoe", false),
        ("", "pppoe", false),
        ("user=bob service=isp", "pppoe", true),
        ("user=bob service=other", "pppoe", false),
        ("user=bob disabled=yes", "l2tp", false),
    ] {
        let pair = pair(carrier, binding);
        assert_eq!(runs(&pair), is_his, "{carrier} {binding} {:#?}", log(&pair.server));
        let own = format!("<{carrier}-bob>");
        assert_eq!(id(&pair.server, &own).is_some(), !is_his, "{carrier} {binding}");
    }
}
