//! Templates: what is assumed, what is printed, what is refused.

use super::*;

/// As the manual prints it, the assumed values beside those that were given.
#[test]
fn assumed_values_are_printed() {
    let mut b = Box_::new();
    let (text, _) = b.run(
        "/tool traffic-generator packet-template
        add name=r13 header-stack=mac,ip,udp ip-gateway=1.1.1.254 ip-dst=3.3.3.3
        print detail",
    );
    let _ = text;
    let (text, _) = b.run("/tool traffic-generator packet-template print terse");
    let expected = " 0 name=\"r13\" header-stack=mac,ip,udp assumed-interface=ether1 \
        assumed-mac-src=02:00:00:00:00:01 assumed-mac-dst=02:00:00:00:09:FE assumed-mac-protocol=ip \
        ip-gateway=1.1.1.254 assumed-ip-dscp=0 assumed-ip-id=0 assumed-ip-frag-off=0 \
        assumed-ip-ttl=64 ip-dst=3.3.3.3 assumed-ip-src=1.1.1.1 assumed-ip-protocol=udp \
        assumed-udp-src-port=100 assumed-udp-dst-port=200 assumed-udp-checksum=0 \
        data=uninitialized data-byte=0 special-footer=yes \
        compute-checksum-from-offset=no-checksum\n";
    assert_eq!(text, expected);
}

fn assumed(b: &Box_, name: &str) -> (Option<usize>, String) {
    let template = b.generator.catalogue.template(name).unwrap();
    let assumed = b.generator.assumptions.of(template).unwrap();
    (assumed.port, assumed.found.mac_dst.to_string())
}

/// The article's templates, by their gateways (routing) and by both ends (bridging).
#[test]
fn the_port_follows_from_the_addresses() {
    let mut b = Box_::new();
    b.run(
        "/tool traffic-generator packet-template
        add name=r12 header-stack=mac,ip,udp ip-gateway=1.1.1.254 ip-dst=2.2.2.2
        add name=r32 header-stack=mac,ip,udp ip-gateway=3.3.3.254 ip-dst=2.2.2.2
        add name=b21 header-stack=mac,ip,udp ip-src=2.2.2.2 ip-dst=1.1.1.1
        add name=far ip-dst=2.2.2.254
        add name=given interface=ether3 ip-dst=2.2.2.254 mac-dst=02:aa:00:00:00:01
        add name=all interface=ether3 ip-dst=224.0.0.5
        add name=six header-stack=mac,ipv6,udp ipv6-gateway=2001:db8:2::fe ipv6-dst=2001:db8:9::1
        add name=bridged header-stack=mac,ipv6,udp ipv6-src=2001:db8:2::1 ipv6-dst=2001:db8:1::1
        add name=group header-stack=mac,ipv6,udp interface=ether3 ipv6-dst=ff02::5",
    );
    let gateway = GATEWAY_MAC.to_string();
    assert_eq!(assumed(&b, "r12"), (Some(0), gateway.clone()));
    assert_eq!(assumed(&b, "r32"), (Some(2), gateway.clone()));
    assert_eq!(assumed(&b, "b21"), (Some(1), mac(0).to_string()), "the box's own other port");
    assert_eq!(assumed(&b, "far"), (Some(1), gateway));
    assert_eq!(assumed(&b, "given").0, Some(2));
    assert_eq!(assumed(&b, "all").1, "FF:FF:FF:FF:FF:FF");
    assert_eq!(assumed(&b, "six"), (Some(1), GATEWAY_MAC.to_string()));
    assert_eq!(assumed(&b, "bridged"), (Some(1), mac(0).to_string()));
    assert_eq!(assumed(&b, "group").1, "33:33:00:00:00:05");
}

/// Values are assumed when a template is set, and not again until it is set, be it with nothing.
#[test]
fn an_empty_set_resolves_again() {
    let mut b = Box_::new();
    b.run("/tool traffic-generator packet-template add name=a ip-gateway=1.1.1.254 ip-dst=2.2.2.2");
    let asked = b.hosts.asked.len();
    b.run("/tool traffic-generator packet-template add name=other interface=ether1 mac-dst=02:00:00:00:00:07");
    b.pass(Duration::from_millis(100));
    assert_eq!(b.hosts.asked.len(), asked, "nobody is asked again by himself");
    b.run("/tool traffic-generator packet-template set a");
    b.breathe();
    assert_eq!(b.hosts.asked.len(), asked + 1);
    b.run("/tool traffic-generator packet-template set [find]");
    b.breathe();
    assert_eq!(b.hosts.asked.len(), asked + 2, "{:?}", b.hosts.asked);
}

#[test]
fn a_neighbour_that_does_not_answer_is_waited_for() {
    let mut b = Box_::new();
    b.hosts.silent_until = Moment::from_nanos(u64::MAX);
    b.run("/tool traffic-generator packet-template add name=a ip-gateway=1.1.1.254 ip-dst=2.2.2.2");
    let (text, _) = b.run("/tool traffic-generator packet-template print");
    assert!(text.contains(";;; no ARP reply of 1.1.1.254 on ether1"), "{text}");
    let begun = b.now;
    for (tests, command) in [(1, "quick"), (2, "start")] {
        let error = b.fails(&format!("/tool traffic-generator {command} tx-template=a"));
        assert_eq!(error, "failure: a: no ARP reply of 1.1.1.254 on ether1");
        assert!(b.now.since(begun) >= tests * Duration::from_secs(3));
    }
    b.hosts.silent_until = b.now + Duration::from_secs(1);
    b.run("/tool traffic-generator packet-template set a");
    b.run("/tool traffic-generator start tx-template=a pps=10");
    assert!(b.generator.is_running() && b.now >= b.hosts.silent_until);
    b.run("/tool traffic-generator stop");
    let (_, records) =
        b.run("/tool traffic-generator quick tx-template=a pps=10 packet-size=60 duration=1s");
    assert_eq!(whole(total(&records), "tx-packet"), 10);
    b.close();
}

#[test]
fn raw_templates_show_what_packet_templates_make() {
    let mut b = Box_::ready();
    let (text, _) = b.run("/tool traffic-generator raw-packet-template print terse");
    let header = "020000000002020000000001080045000000000000004011000001010101020202020064\
                  00c800000000";
    assert!(
        text.starts_with(&format!(" 0 D name=\"<t>\" header={header} header-length=42 ")),
        "{text}"
    );
    let (text, _) = b.run("/tool traffic-generator port print");
    assert!(text.contains("D <ether1> ether1    mac"), "{text}");
}

#[test]
fn refused() {
    let mut b = Box_::new();
    let mut check = |menu: &str, arguments: &str, expected: &str| {
        let error = b.fails(&format!("/tool traffic-generator {menu} add {arguments}"));
        assert!(error.starts_with(expected), "{arguments}: {error}");
    };
    let mut packet =
        |arguments: &str, expected: &str| check("packet-template", arguments, expected);
    packet("header-stack=ip,udp", "failure: header-stack: an ethernet frame begins with mac");
    packet("header-stack=mac,udp", "failure: header-stack: udp and tcp come after ip");
    packet("header-stack=mac,ip,vlan", "failure: header-stack: vlan comes after mac or vlan");
    packet("header-stack=mac,ip,mac", "failure: header-stack: mac comes first");
    packet("header-stack=mac,ip,udp,ip,tcp", "failure: header-stack: at most 1 udp or tcp header");
    let many = vec!["vlan"; 16].join(",");
    packet(&format!("header-stack=mac,{many}"), "failure: header-stack: 1 to 16 headers");
    packet("header-stack=mac,raw", "failure: a raw header needs raw-header=");
    packet("header-stack=mac,mpls", "input does not match any value of header-stack");
    packet(
        "header-stack=mac,ipv6 ipv6-dst=2001:db8::/48",
        "failure: 2001:db8::/48 has too many addresses: 64 bits vary at most",
    );
    packet(
        "header-stack=mac,vlan,vlan,ip vlan-id=1,2,3",
        "failure: vlan-id has 3 values, the stack 2 vlan headers: give 1 or 2",
    );
    packet("vlan-id=4096", "value of vlan-id out of range (0..4095)");
    packet("interface=ether9", "input does not match any value of interface");
    packet("raw-header=123", "invalid value for argument raw-header");
    packet("random-byte-offsets-and-masks=42", "invalid value for argument random-byte-offsets");
    packet("random-ranges=42:24:1-5", "invalid value for argument random-ranges");
    packet("random-ranges=42:8:1-300", "invalid value for argument random-ranges");
    let mut raw =
        |arguments: &str, expected: &str| check("raw-packet-template", arguments, expected);
    raw("header=0200 ip-header-offset=14", "failure: the ip header at 14 does not fit");
    raw("header=0200 udp-header-offset=1", "failure: the udp header at 1 does not fit");
    raw(
        "header=0200 udp-header-offset=1 tcp-header-offset=2",
        "failure: udp-header-offset or tcp-header-offset, not both",
    );
    b.run("/tool traffic-generator port add name=p interface=ether1");
    let error = b.fails("/tool traffic-generator packet-template add port=p interface=ether1");
    assert!(error.starts_with("failure: port or interface, not both"), "{error}");
    b.run(T);
    b.run("/tool traffic-generator stream add num=2 tx-template=t name=two");
    let error = b.fails("/tool traffic-generator stream add num=2 tx-template=t");
    assert!(error.starts_with("failure: two has the number 2 already"), "{error}");
}

/// What was typed comes out of an export, and means the same when it is read again.
#[test]
fn exports_are_read_again() {
    let mut b = Box_::new();
    b.run(
        "/tool traffic-generator packet-template
        add name=a header-stack=mac,vlan,ip,tcp ip-dst=10.0.0.0/24 ip-src=1.1.1.1-1.1.1.9 \
        vlan-id=5 tcp-flags=syn,ack tcp-src-port=1000/65280 tcp-dst-port=80-90 interface=ether3 \
        mac-dst=02:00:00:00:00:00/FF:FF:FF:FF:00:00 random-ranges=90:16:1-1000 \
        random-byte-offsets-and-masks=100/0f,101/ff data=random
        /tool traffic-generator raw-packet-template add name=r header=aabbcc special-footer=no
        /tool traffic-generator stream add tx-template=a packet-size=100-200 mbps=5",
    );
    let (text, _) = b.run("/export");
    let mut other = Box_::new();
    other.run(&text);
    assert_eq!(other.run("/export").0, text);
    assert!(text.contains("tcp-src-port=1000/65280"), "{text}");
}
