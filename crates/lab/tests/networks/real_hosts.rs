//! Our labs with real hosts, shortened: real programs through routers.

use crate::rig;
use rig::{can_have_hosts, labs, plan, run};

/// Runs a lab of ours with these words replaced, each of which is there.
fn check(name: &str, shorter: &[(&str, &str)]) -> (lab::run::Report, String) {
    let mut yaml = std::fs::read_to_string(labs().join(name)).unwrap();
    for (from, to) in shorter {
        assert!(yaml.contains(from), "{from:?} is not in {name}");
        yaml = yaml.replace(from, to);
    }
    let (report, transcript) = run(&plan(&yaml));
    assert!(report.passed(), "{transcript}");
    (report, transcript)
}

#[test]
fn programs_work_through_two_routers() {
    if !can_have_hosts(&["sysctl", "ping", "traceroute", "python3", "curl", "iperf3", "wrk"]) {
        return;
    }
    let (_, transcript) = check(
        "real-hosts.yaml",
        &[
            ("50000000", "5000000"),
            ("10.0.2.2 22 2\n", "10.0.2.2 22 0.5\n"),
            ("established-timeout=5s", "established-timeout=3s"),
            ("wait: 5s", "wait: 3s"),
            // How much passes is the machine's affair: that something does is not.
            ("mbit_per_second, at-least: 10 }", "mbit_per_second, at-least: 0.001 }"),
            ("at-most: 5 }", "at-most: 99.9 }"),
        ],
    );
    for shown in ["# client:eth1: tx off", "AF_XDP", "0% packet loss", "requests in"] {
        assert!(transcript.contains(shown), "{shown:?} in\n{transcript}");
    }
}

#[test]
fn programs_work_by_ipv6_across_a_narrow_link() {
    if can_have_hosts(&["sysctl", "ip", "ping", "traceroute", "python3", "curl"]) {
        check("real-hosts-ipv6.yaml", &[]);
    }
}

#[test]
fn a_house_gets_its_addresses_and_names_from_the_router() {
    if can_have_hosts(&["sysctl", "busybox", "dnsmasq", "dig", "python3", "curl"]) {
        check("home.yaml", &[]);
    }
}

#[test]
fn a_house_with_both_families_gets_a_prefix_and_hands_it_out() {
    let tools = ["sysctl", "ip", "busybox", "dnsmasq", "kea-dhcp6", "rdisc6", "dhclient"];
    if can_have_hosts(&tools) && can_have_hosts(&["python3", "curl", "traceroute", "ping"]) {
        check("dual-stack-home.yaml", &[]);
    }
}

#[test]
fn the_other_ends_of_ipv6_are_real_ones() {
    let tools = ["sysctl", "ip", "unshare", "radvd", "dnsmasq", "kea-dhcp6", "dhcp6c"];
    if can_have_hosts(&tools) {
        check("ipv6-peers.yaml", &[]);
    }
}

#[test]
fn services_stand_what_measures_them() {
    let tools = [
        "sysctl",
        "ip",
        "unshare",
        "perfdhcp",
        "kea-dhcp4",
        "dhcpcd",
        "dhclient",
        "unbound",
        "kdig",
        "dnsperf",
        "rsyslogd",
    ];
    if can_have_hosts(&tools) {
        check("services.yaml", &[]);
    }
}

#[test]
fn managers_ask_by_every_version_of_snmp() {
    if can_have_hosts(&["sysctl", "snmpget", "snmpbulkwalk"]) {
        check("snmp.yaml", &[]);
    }
}

#[test]
fn the_home_router_shows_what_fasttrack_does() {
    if !can_have_hosts(&["sysctl", "ping", "curl", "python3", "dig", "iperf3"]) {
        return;
    }
    let (report, transcript) = check(
        "home-router.yaml",
        &[
            ("-t 4 -O 1", "-t 2"),
            ("-b 20M -l 64 -R -t 4", "-b 10M -l 64 -R -t 2"),
            (":delay 1s", ":delay 100ms"),
            ("profile duration=2s", "profile duration=500ms freeze-frame-interval=500ms"),
            ("/1000000000", "/10000000"),
            ("^1000000000 ", "^10000000 "),
            ("at-least: 10000 }", "at-least: 1 }"),
            // How much passes is the machine's affair: that something does is not.
            ("mbit_per_second, at-least: 10 }", "mbit_per_second, at-least: 0.001 }"),
            ("packets_per_second, at-least: 1000 }", "packets_per_second, at-least: 1 }"),
        ],
    );
    let table = report.table();
    let rows: Vec<_> = table.lines().collect();
    assert!(rows[0].contains("without FastTrack") && rows[0].contains("with FastTrack"), "{table}");
    for row in [
        "one TCP connection, Mbit/s",
        "  firewall, % of the router's time",
        "UDP of 64 bytes, packets/s",
        "ipv4-fasttrack-packets",
    ] {
        let row =
            rows.iter().find(|line| line.starts_with(row)).unwrap_or_else(|| panic!("{table}"));
        let figures = row.split_whitespace().filter(|word| word.parse::<f64>().is_ok()).count();
        assert!(figures >= 2, "{row}\n{transcript}");
    }
}

/// A router between two hosts by each backend; hosts with offloads by those that can.
#[test]
fn every_backend_carries_programs() {
    if !can_have_hosts(&["ping", "python3", "curl"]) {
        return;
    }
    let lab = "
name: backends
topology:
  nodes:
    r1: { kind: wirespeed, ports: 2 }
    a: { kind: linux, addresses: { eth1: 10.0.1.2/24 }, gateway: 10.0.1.1, offloads: OFFLOADS }
    b: { kind: linux, addresses: { eth1: 10.0.2.2/24 }, gateway: 10.0.2.1, offloads: OFFLOADS }
  links:
    - { endpoints: [r1:ether1, a:eth1], backend: FIRST }
    - { endpoints: [r1:ether2, b:eth1], backend: SECOND }
steps:
  - node: r1
    run: |
      /ip address add address=10.0.1.1/24 interface=ether1
      /ip address add address=10.0.2.1/24 interface=ether2
  - { node: a, exec: ping -c 2 -i 0.1 -W 5 10.0.2.2, expect: [{ output: ^64 bytes from }] }
  - { node: b, exec: python3 hosts.py web 80, background: web, ready: ^ready }
  - { node: a, exec: python3 hosts.py checksum http://10.0.2.2/3000000, expect: [output: right$] }
";
    for (first, second, offloads) in [
        ("packet", "packet", "off"),
        ("xdp", "packet", "off"),
        ("tap", "xdp", "off"),
        ("tap", "tap", "on"),
        ("packet", "tap", "on"),
    ] {
        let lab = lab.replace("FIRST", first).replace("SECOND", second);
        let lab = lab.replace("OFFLOADS", offloads);
        let (report, transcript) = run(&plan(&lab));
        assert!(report.passed(), "{transcript}");
        assert_eq!(transcript.contains("handed on"), offloads == "on", "{transcript}");
    }
}

/// Spanning tree with a Linux kernel's bridge: a loop that none of them makes.
#[test]
fn a_triangle_with_a_linux_bridge_is_a_tree() {
    if !can_have_hosts(&["ip", "ping"]) {
        return;
    }
    check("spanning-tree.yaml", &[]);
}

/// IGMP snooping of a Linux host's reports, and DHCP servers behind a port that is trusted and one that is not.
#[test]
fn a_bridge_heeds_who_asks_for_multicast_and_where_servers_are() {
    if can_have_hosts(&["ip", "busybox", "dnsmasq", "python3"]) {
        check("snooping.yaml", &[]);
    }
}

/// Three of nfdump's collectors, of packets that most take FastTrack.
#[test]
fn collectors_are_told_of_flows() {
    if can_have_hosts(&["ip", "nfcapd", "nfdump", "python3"]) {
        check("traffic-flow.yaml", &[]);
    }
}

#[test]
fn a_host_opens_a_port_by_nat_pmp() {
    if can_have_hosts(&["ip", "curl", "natpmpc", "python3"]) {
        check("port-mapping.yaml", &[]);
    }
}

#[test]
fn guests_log_in_at_a_hotspot() {
    if can_have_hosts(&["ip", "busybox", "curl", "python3"]) {
        check("hotspot.yaml", &[]);
    }
}

/// wireguard-go behind a NAT begins; with another one our router does.
#[test]
fn a_laptop_and_a_branch_by_wireguard() {
    if can_have_hosts(&["ip", "wireguard-go", "wg", "iperf3"]) {
        check("wireguard.yaml", &[]);
    }
}

#[test]
fn a_host_opens_a_port_by_upnp() {
    if can_have_hosts(&["ip", "curl", "upnpc", "python3"]) {
        check("upnp.yaml", &[]);
    }
}

/// FTP, TFTP and SIP through NAT both ways, by real clients and servers.
#[test]
fn helpers_carry_programs_through_nat() {
    if can_have_hosts(&["ip", "curl", "busybox", "vsftpd", "dnsmasq", "python3", "sha256sum"]) {
        check("helpers.yaml", &[]);
    }
}
