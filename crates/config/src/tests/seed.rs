//! All commands of source 001, continuation lines, tabs and trailing blanks as they stand there;
//! only the addresses, which its text lost, are filled in (`J-seed-numbers.md`, J.4).

use super::*;

const DUT_ADDRESSES: &str = "/ip address
add address=1.1.1.254/24 interface=ether1 network=1.1.1.0
add address=2.2.2.254/24 interface=ether6 network=2.2.2.0
add address=3.3.3.254/24 interface=ether11 network=3.3.3.0
";

const DUT_FIREWALL: &str = "/ip firewall connection tracking set enabled=yes
/ip firewall filter
add chain=forward protocol=tcp connection-state=invalid \\
 \taction=drop comment=\"drop invalid connections\"  
add chain=forward connection-state=established action=accept \\ 
 \tcomment=\"allow already established connections\"  
add chain=forward connection-state=related action=accept \\
 \tcomment=\"allow related connections\"  
/ip firewall filter
add chain=forward protocol=icmp action=jump jump-target=icmp 

add chain=icmp protocol=icmp icmp-options=0:0 action=accept \\
 \tcomment=\"echo reply\"  
add chain=icmp protocol=icmp icmp-options=3:0 action=accept \\
 \tcomment=\"net unreachable\"  
add chain=icmp protocol=icmp icmp-options=3:1 action=accept \\
 \tcomment=\"host unreachable\"
add chain=icmp protocol=icmp icmp-options=3:4 action=accept \\
 \tcomment=\"host unreachable fragmentation required\"  
add chain=icmp protocol=icmp icmp-options=4:0 action=accept \\
 \tcomment=\"allow source quench\"  
add chain=icmp protocol=icmp icmp-options=8:0 action=accept \\
 \tcomment=\"allow echo request\"  
add chain=icmp protocol=icmp icmp-options=11:0 action=accept \\
 \tcomment=\"allow time exceed\"  
add chain=icmp protocol=icmp icmp-options=12:0 action=accept \\ 
 \tcomment=\"allow parameter bad\"  
add chain=icmp action=drop comment=\"deny all other types\"  
";

const DUT_BRIDGE: &str = "/interface bridge add
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether6
add bridge=bridge1 interface=ether11
";

const GENERATOR: &str = "/ip address
add address=1.1.1.1/24 interface=ether1 network=1.1.1.0
add address=2.2.2.2/24 interface=ether6 network=2.2.2.0
add address=3.3.3.3/24 interface=ether11 network=3.3.3.0
/tool traffic-generator packet-template
add name=r12 header-stack=mac,ip,udp ip-gateway=1.1.1.254 ip-dst=2.2.2.2
add name=r13 header-stack=mac,ip,udp ip-gateway=1.1.1.254 ip-dst=3.3.3.3
add name=r21 header-stack=mac,ip,udp ip-gateway=2.2.2.254 ip-dst=1.1.1.1
add name=r23 header-stack=mac,ip,udp ip-gateway=2.2.2.254 ip-dst=3.3.3.3
add name=r32 header-stack=mac,ip,udp ip-gateway=3.3.3.254 ip-dst=2.2.2.2
add name=r31 header-stack=mac,ip,udp ip-gateway=3.3.3.254 ip-dst=1.1.1.1
add header-stack=mac,ip,udp ip-src=1.1.1.1 ip-dst=2.2.2.2 name=b12
add header-stack=mac,ip,udp ip-src=1.1.1.1 ip-dst=3.3.3.3 name=b13
add header-stack=mac,ip,udp ip-src=2.2.2.2 ip-dst=1.1.1.1 name=b21
add header-stack=mac,ip,udp ip-src=2.2.2.2 ip-dst=3.3.3.3 name=b23
add header-stack=mac,ip,udp ip-src=3.3.3.3 ip-dst=1.1.1.1 name=b31
add header-stack=mac,ip,udp ip-src=3.3.3.3 ip-dst=2.2.2.2 name=b32
/tool traffic-gen quick tx-template=r12,r13,r21,r23,r31,r32 packet-size=60 
/tool traffic-generator
quick tx-template=r12,r13,r21,r23,r31,r32 packet-size=60 mbps=300
quick tx-template=r12,r13,r21,r23,r31,r32 packet-size=508 mbps=500
/tool traffic-generator
quick tx-template=r12,r13,r21,r23,r31,r32 packet-size=1514 mbps=500
quick tx-template=b12,b13,b21,b23,b31,b32 packet-size=60 mbps=200
/tool traffic-generator
quick tx-template=b12,b13,b21,b23,b31,b32 packet-size=508 mbps=500
/tool traffic-generator
quick tx-template=b12,b13,b21,b23,b31,b32 packet-size=1514 mbps=500
";

#[test]
fn device_under_test() {
    let router = after(&[DUT_ADDRESSES, DUT_FIREWALL, DUT_BRIDGE].concat());
    let tree = router.tree();
    let counts = [&ADDRESS, &FILTER, &BRIDGE, &BRIDGE_PORT].map(|menu| tree.items(menu.path).len());
    assert_eq!(counts, [3, 13, 1, 3]);
    assert_eq!(tree.read_settings(&TRACKING).text("enabled"), "yes");
    let rules: Vec<Read> = tree.read(&FILTER).collect();
    assert_eq!(rules[1].comment(), "allow already established connections");
    assert_eq!(rules[7].text("icmp-options"), "3:4");
    assert_eq!(rules[11].comment(), "allow parameter bad");
    assert_eq!(rules[12].text("action"), "drop");
    let bridge = tree.read(&BRIDGE_PORT).next().map(|port| port.text("bridge"));
    assert_eq!(bridge.as_deref(), Some("bridge1"));
}

#[test]
fn traffic_generator() {
    let mut router = router();
    let output = router.run(GENERATOR, &()).unwrap_or_else(|error| panic!("{error}"));
    let calls: Vec<(i64, i64)> = output
        .calls
        .iter()
        .map(|call| {
            let number = |name| match call.argument(name) {
                Some(Value::Number(number)) => number,
                other => panic!("{name}: {other:?}"),
            };
            (number("packet-size"), number("mbps"))
        })
        .collect();
    assert_eq!(
        calls,
        [(60, 0), (60, 300), (508, 500), (1514, 500), (60, 200), (508, 500), (1514, 500)]
    );
    assert_eq!(
        output.calls[0].argument("tx-template").map(|v| v.to_string()).as_deref(),
        Some("r12,r13,r21,r23,r31,r32")
    );
    assert_eq!(router.tree().items(TEMPLATE.path).len(), 12);
}

/// As the text stands, with its addresses lost, RouterOS refuses it; so do we.
#[test]
fn lost_addresses_are_refused() {
    let error =
        router().run("/ip address\nadd address= interface=ether1 network=", &()).unwrap_err();
    assert_eq!(error.text, "invalid value for argument address");
    assert_eq!(error.at, At { line: 2, column: 13 });
}
