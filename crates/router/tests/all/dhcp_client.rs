//! DHCP clients beside their address: routes, a script, the router's name.

use crate::dhcp::{Pair, SERVER};

/// Option 121 stands for the gateway, unless both are wanted (RFC 3442).
#[test]
fn a_client_takes_classless_routes() {
    // 10.9.0.0/16 by 10.0.0.7; 10.8.1.0/24 on the link; 0.0.0.0/0 by 10.0.0.8.
    const SOME: &str = "0x100a090a000007180a080100000000";
    const ALL: &str = "0x100a090a000007000a000008";
    let default = "0.0.0.0/0 10.0.0.1";
    let some = ["10.9.0.0/16 10.0.0.7", "10.8.1.0/24 ether1"];
    for (option, how, expected) in [
        (SOME, "yes", some.to_vec()),
        (SOME, "special-classless", [&some[..], &[default]].concat()),
        (SOME, "no", vec![]),
        (ALL, "yes", vec!["10.9.0.0/16 10.0.0.7", "0.0.0.0/0 10.0.0.8"]),
        (ALL, "special-classless", vec!["10.9.0.0/16 10.0.0.7", "0.0.0.0/0 10.0.0.8"]),
        // What is cut off, or longer than an address, is none.
        ("0x100a090a0000", "yes", vec![default]),
        ("0x210a0900000a000007", "yes", vec![default]),
    ] {
        let server = format!(
            "{SERVER}\n/ip dhcp-server option add name=routes code=121 value={option}\n\
             /ip dhcp-server network set 0 dhcp-option=routes"
        );
        let client = format!("/ip dhcp-client add interface=ether1 add-default-route={how}");
        let mut pair = Pair::new(&server, &client);
        pair.wait(50);
        assert_eq!(pair.status(), "bound");
        let print = ":foreach i in=[/ip route find dynamic static] do={:put \
             ([/ip route get $i dst-address] . \" \" . [/ip route get $i gateway])}";
        let routes = pair.client.run(print);
        let mut routes: Vec<_> = routes.lines().collect();
        let mut expected = expected;
        routes.sort_unstable();
        expected.sort_unstable();
        assert_eq!(
            routes,
            expected,
            "{option} {how}: {}",
            pair.client.run("/ip route print detail")
        );
        pair.balanced();
    }
}

/// A server learns the router's name, unless that is not to be said.
#[test]
fn a_client_says_its_name() {
    for (options, said) in
        [("", true), ("dhcp-options=clientid", false), ("dhcp-options=hostname", true)]
    {
        let name = "gateway-of-a-house".repeat(5);
        let client = format!(
            "/system identity set name={name}\n/ip dhcp-client add interface=ether1 {options}"
        );
        let mut pair = Pair::new(SERVER, &client);
        pair.wait(50);
        assert_eq!(pair.status(), "bound");
        let leases = pair.server.run("/ip dhcp-server lease print detail");
        assert_eq!(leases.contains(&name[..63]), said, "{options}: {leases}");
        assert!(!leases.contains(&name[..64]), "{options}: {leases}");
    }
}

/// `/ip dhcp-client option`: what a user wants to be said.
#[test]
fn a_client_says_what_it_is_told_to() {
    let client = "/ip dhcp-client option add name=vendor code=60 value=\"s'ws-\\$(HOSTNAME)'\"\n\
                  /ip dhcp-client option set clientid value=\"0x07\\$(CLIENT_MAC)\"\n\
                  /ip dhcp-client add interface=ether1 dhcp-options=clientid,vendor";
    let mut pair = Pair::new(SERVER, client);
    pair.wait(50);
    assert_eq!(pair.status(), "bound");
    let leases = pair.server.run("/ip dhcp-server lease print detail");
    assert!(leases.contains("active-client-id=7:2:0:0:0:"), "{leases}");
    for (line, error) in [
        ("/ip dhcp-client option add name=a code=53 value=0x01", "says this option itself"),
        ("/ip dhcp-client option add name=a code=60 value=\"\\$(WHO)\"", "invalid value"),
        ("/ip dhcp-client set 0 dhcp-options=nothing", "does not match any value"),
    ] {
        let said = pair.client.try_run(line).unwrap_err();
        assert!(said.text.contains(error), "{line}: {said:?}");
    }
    let export = pair.client.run("/export");
    assert!(export.contains("set clientid value=\"0x07\\$(CLIENT_MAC)\""), "{export}");
    assert!(export.contains("dhcp-options=clientid,vendor"), "{export}");
}

/// A client's script knows what it was given, and runs again when that is lost.
#[test]
fn a_client_has_a_script() {
    let script = "/ip route add dst-address=10.77.0.0/16 gateway=$\\\"gateway-address\\\" \
                  distance=(\\$bound + 1) comment=(\\$interface . \\\" \\\" . \\$\\\"lease-address\\\")";
    let client = format!(
        "/interface ethernet set ether1 name=\"to \\\"isp\\\"\"\n\
         /ip dhcp-client add interface=\"to \\\"isp\\\"\" script=\"{}\"",
        script.replace("$\\\"g", "\\$\\\"g")
    );
    let mut pair = Pair::new(SERVER, &client);
    for (command, distance) in [("", 2), ("/ip dhcp-client release 0", 1)] {
        pair.client.run(command);
        pair.wait(if command.is_empty() { 50 } else { 1 });
        let wanted = pair.client.router.take_script();
        let wanted = wanted.unwrap_or_else(|| panic!("{command}: no script"));
        assert_eq!(wanted.who, "dhcp-client to \"isp\"");
        let source = format!("{}\n{}", wanted.known, wanted.script);
        pair.client.run(&source);
        let export = pair.client.run("/ip route export terse");
        let added = export.lines().last().unwrap_or_default();
        assert!(added.contains("gateway=10.0.0.1"), "{source}: {export}");
        assert!(added.contains("comment=\"to \\\"isp\\\" 10.0.0.1"), "{source}: {export}");
        assert_eq!(added.contains("distance=2"), distance == 2, "{source}: {export}");
    }
    // A renewal that changes nothing is no news; it gets an address again.
    pair.wait(3000);
    assert_eq!(pair.status(), "bound");
    assert!(pair.client.router.take_script().is_some());
    pair.client.run("/ip dhcp-client renew 0");
    pair.wait(1000);
    assert!(!pair.client.router.has_scripts());
}

/// Time servers that a client was told are asked in place of those typed, as long as it has an address.
#[test]
fn a_client_is_told_the_time() {
    for (uses, asked) in [("yes", "10.0.0.1"), ("no", "")] {
        let server = SERVER.replace("ntp-server=10.0.0.2", "ntp-server=10.0.0.1");
        let server = format!("{server}\n/system ntp server set enabled=yes use-local-clock=yes");
        let client = format!(
            "/ip dhcp-client add interface=ether1 use-peer-ntp={uses}\n\
             /system ntp client set enabled=yes primary-ntp=10.0.0.77"
        );
        let mut pair = Pair::new(&server, &client);
        pair.wait(10_000);
        let synced = pair.client.run(":put [/system ntp client get synced-server]");
        assert_eq!(synced.trim(), asked, "{uses}");
        pair.client.run("/ip dhcp-client disable 0");
        pair.wait(1000);
        assert_eq!(pair.client.run(":put [/system ntp client get status]").trim(), "started");
        pair.balanced();
    }
}
