//! Profiles of PPP: what those who log in get, and when their sessions end by themselves.

use super::*;

/// A profile, what is done, and what the server then shows.
#[test]
fn what_a_profile_says() {
    let pool = "/ip pool add name=p ranges=10.9.0.10-10.9.0.11";
    let secret = "/ppp secret add name=bob password=secret";
    let profile = |rest: &str| {
        format!(
            "{pool}\n/interface list add name=customers\n\
             /ppp profile add name=p local-address=10.9.0.1 remote-address=p {rest}\n\
             $S default-profile=p\n{secret}"
        )
    };
    let plain = "$C add-default-route=yes";
    for (client, server, command, lines) in [
        (plain, profile(""), "/ip pool used print", &["10.9.0.11", "PPP", "bob"][..]),
        (
            plain,
            profile("rate-limit=\"1M/2M 2M/4M 512k/1M 8 5 256k\""),
            "/queue simple print detail",
            &[
                " D ",
                "name=\"<pppoe-bob>\"",
                "target=<pppoe-bob>",
                "max-limit=1M/2M",
                "burst-limit=2M/4M",
                "burst-threshold=512k/1M",
                "burst-time=8s/8s",
                "priority=5/5",
                "limit-at=256k/256k",
            ],
        ),
        (
            plain,
            profile("address-list=clients"),
            "/ip firewall address-list print",
            &["D", "clients", "10.9.0.11"],
        ),
        (
            plain,
            profile("").replace(secret, &format!("{secret} routes=10.0.1.0/24,10.7.0.0/16")),
            "/ip route print",
            &["ADS  10.0.1.0/24", "10.9.0.11", "ADS  10.7.0.0/16"],
        ),
    ] {
        let mut pair = Pair::new(client, &server);
        assert!(pair.runs(), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
        let text = pair.server.run(command);
        for line in lines {
            assert!(text.contains(line), "{server}: {line} in\n{text}");
        }
        pair.client.run("/interface pppoe-client disable pppoe-out1");
        pair.wait(1);
        let text = pair.server.run(command);
        let last = lines.iter().find(|line| line.len() > 3).unwrap();
        assert!(!text.contains(last), "{server}: {last} still in\n{text}");
        pair.balanced();
    }
}

/// What a profile or a secret limits, whether packets pass each second, and after how many seconds the
/// session is over, and why.
#[test]
fn sessions_that_end_by_themselves() {
    for (profile, secret, passes, over, why) in [
        ("session-timeout=20s", "", true, Some(20), "session timeout"),
        ("idle-timeout=10s", "", true, None, ""),
        ("idle-timeout=10s", "", false, Some(10), "idle timeout"),
        ("", "limit-bytes-in=2000", true, Some(16), "traffic limit reached"),
        ("", "limit-bytes-out=2000", true, None, ""),
    ] {
        let mut pair = Pair::new(
            "$C add-default-route=yes",
            &format!("/ppp profile add name=p {profile}\n$S default-profile=p\n$P {secret}"),
        );
        let begun = pair.server.now;
        let is_there = |pair: &Pair| id(&pair.server, "<pppoe-bob>").is_some();
        assert!(is_there(&pair), "{:#?}", log(&pair.server));
        let ended = (0..40).find(|_| {
            pair.wait(1);
            if passes {
                pair.client.send(1, &datagram(&[1; 100]).build());
            }
            !is_there(&pair)
        });
        let case = format!("{profile} {secret} {ended:?} {:#?} {:?}", log(&pair.server), begun);
        assert_eq!(ended.is_some(), over.is_some(), "{case}");
        if let (Some(ended), Some(over)) = (ended, over) {
            assert!((over - 8..=over + 2).contains(&ended), "{case}");
            let line = format!("<pppoe-bob>: terminating... - {why}");
            assert!(log(&pair.server).contains(&line), "{case}");
            assert!(
                log(&pair.server).iter().any(|said| said.starts_with("bob logged out, ")),
                "{case}"
            );
        }
    }
}

/// Name servers go from the profile to the client, which asks them; and lists have sessions.
#[test]
fn name_servers_and_lists() {
    let server = "/interface list add name=customers\n\
                  /ppp profile add name=p dns-server=10.0.2.1,10.0.2.2 interface-list=customers\n\
                  $S default-profile=p\n$P\n\
                  /ip firewall filter add chain=forward in-interface-list=customers action=drop\n\
                  /ip firewall filter add chain=forward in-interface-list=dynamic";
    let mut pair = Pair::new("$C add-default-route=yes use-peer-dns=yes", server);
    let text = pair.client.run("/ip dns print");
    assert!(text.contains("10.0.2.1") && text.contains("10.0.2.2"), "{text}");
    assert_eq!(pair.pass(&datagram(&[1; 9]).build()), Vec::<Vec<u8>>::new());
    let drops = pair.server.router.discards().get(Discard::FilterDrop);
    assert_eq!(drops, 1, "{:?}", pair.server.router.discards());
    // Its administrator ends it.
    pair.server.run("/ppp active remove [find name=bob]");
    pair.wait(1);
    let line = "<pppoe-bob>: terminating... - administrator request";
    assert!(log(&pair.server).iter().any(|said| said == line), "{:#?}", log(&pair.server));
    pair.wait(6);
    assert!(pair.runs(), "it has come again");
}

/// Packets of a session go through its profile's chains, where chain ppp is asked.
#[test]
fn filters() {
    let server = |more: &str| {
        format!(
            "/ppp profile add name=p local-address=10.9.0.1 remote-address=10.9.0.2 {more}\n\
             $S default-profile=p\n/ppp secret add name=bob password=secret\n\
             /ip route add dst-address=10.0.1.0/24 gateway=10.9.0.2\n\
             /ip firewall filter\n\
             add chain=forward action=jump jump-target=ppp\n\
             add chain=bad protocol=udp dst-port=2001 action=drop\n\
             add chain=ppp action=return"
        )
    };
    let to = |port| {
        craft::Frame {
            src_mac: mac(1),
            dst_mac: own_mac(1),
            payload: &[7; 10],
            ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), port)
        }
        .build()
    };
    for (more, passes) in
        [("", true), ("incoming-filter=bad", false), ("outgoing-filter=bad", true)]
    {
        let mut pair = Pair::new("$C add-default-route=yes", &server(more));
        assert!(pair.runs(), "{:#?} {:#?}", log(&pair.client), log(&pair.server));
        assert_eq!(pair.pass(&to(2000)).len(), 1, "{more}");
        assert_eq!(pair.pass(&to(2001)).len(), usize::from(passes), "{more}");
        let text = pair.server.run("/ip firewall filter print");
        assert_eq!(
            text.contains("chain=ppp action=jump jump-target=bad"),
            !more.is_empty(),
            "{text}"
        );
        pair.client.run("/interface pppoe-client disable pppoe-out1");
        pair.wait(1);
        let text = pair.server.run("/ip firewall filter print");
        assert!(!text.contains("jump-target=bad"), "{text}");
        pair.balanced();
    }
}
