//! Others across a lossy link, and we: irtt, iperf3 and our own tester send through a router that
//! drops some, and what each of them calls lost is what the router's rules have counted.
//!
//! ```text
//!  irtt, iperf3 ─ a ═ veth ═ ether1 ┐ r1 ┌ ether2 ═ veth ═ b ─ their servers
//!                                   │    │   chain=forward: random=6 drop, the others accept
//!  our tester ── tg ═ memory ═ ether3 ┘  └ ether4 ═ memory ═ tg
//! ```
//!
//! All numbers are counts: how fast it was is printed, and no test asks.

use crate::rig;
use lab::run::Report;
use rig::{can_have_hosts, plan, run};
use serde_json::Value;

/// The rules tell test packets from handshakes by their length.
const LAB: &str = "
name: lossy
seed: 7
topology:
  nodes:
    r1: { kind: wirespeed, ports: 4 }
    tg: { kind: wirespeed, ports: 2 }
    a: { kind: linux, addresses: { eth1: 10.0.1.2/24 }, gateway: 10.0.1.1 }
    b: { kind: linux, addresses: { eth1: 10.0.2.2/24 }, gateway: 10.0.2.1 }
  links:
    - { endpoints: [r1:ether1, a:eth1] }
    - { endpoints: [r1:ether2, b:eth1] }
    - { endpoints: [r1:ether3, tg:ether1] }
    - { endpoints: [r1:ether4, tg:ether2] }
steps:
  - node: r1
    run: |
      /ip address add address=10.0.1.1/24 interface=ether1
      /ip address add address=10.0.2.1/24 interface=ether2
      /ip address add address=10.0.3.1/24 interface=ether3
      /ip address add address=10.0.4.1/24 interface=ether4
      /ip firewall filter
      add chain=forward protocol=udp packet-size=150-1500 random=6 action=drop comment=lost
      add chain=forward protocol=udp packet-size=150-1500 action=accept comment=passed
      /
  - node: tg
    run: |
      /ip address add address=10.0.3.2/24 interface=ether1
      /ip address add address=10.0.4.2/24 interface=ether2
      /tool traffic-generator packet-template
      add name=there header-stack=mac,ip,udp ip-gateway=10.0.3.1 ip-dst=10.0.4.2
      /
  # Neighbours are known before anything counts.
  - { node: a, exec: ping -c 2 -i 0.1 -W 10 10.0.2.2 }
  - { node: b, exec: irtt server -i 0, background: irtt, ready: ListenerStart }
  - node: b
    exec: sh -c 'iperf3 -s -1 -J & until grep -q :1451 /proc/net/tcp*; do sleep 0.05; done; echo ready; wait'
    background: iperf3
    ready: ^ready
  - { node: r1, title: counters, run: COUNTERS }
  - { node: a, title: irtt, exec: irtt client -i 2ms -d 2s -l 200 --wait=1s -Q -o - 10.0.2.2 }
  - { node: r1, title: counters, run: COUNTERS }
  - { node: a, title: iperf3 client, exec: iperf3 -c 10.0.2.2 -u -b 800K -l 200 -w 200K -t 2 -J }
  - { title: iperf3 server, join: iperf3 }
  - { node: b, title: refused, exec: cat /proc/net/snmp }
  - { node: r1, title: counters, run: COUNTERS }
  - node: tg
    title: ours
    run: /tool traffic-generator quick tx-template=there packet-size=200 pps=1000 packet-count=900 duration=20s
  - { node: r1, title: counters, run: COUNTERS }
";

const COUNTERS: &str = "':put (\"counted \" . [/ip firewall filter get [find comment=lost] packets] . \" \" . \
                        [/ip firewall filter get [find comment=passed] packets] . \" \" . \
                        [/ip firewall filter get [find comment=passed] bytes])'";

/// What the rules counted in a step: packets dropped, packets passed and their bytes of layer 3.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counted {
    lost: u64,
    passed: u64,
    passed_bytes: u64,
}

/// What was printed in the steps of this title.
fn printed<'a>(report: &'a Report, title: &'a str) -> impl Iterator<Item = &'a str> {
    let steps = report.steps.iter().filter(move |step| step.title == title);
    steps.flat_map(|step| step.commands.iter().map(|typed| typed.output.as_str()))
}

fn only<'a>(report: &'a Report, title: &'a str) -> &'a str {
    printed(report, title).next().unwrap_or_else(|| panic!("no step {title}"))
}

/// The differences between one look at the counters and the next.
fn counted(report: &Report) -> Vec<Counted> {
    let looks: Vec<Vec<u64>> = printed(report, "counters")
        .map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    let since = |pair: &[Vec<u64>]| Counted {
        lost: pair[1][0] - pair[0][0],
        passed: pair[1][1] - pair[0][1],
        passed_bytes: pair[1][2] - pair[0][2],
    };
    looks.windows(2).map(since).collect()
}

fn json(text: &str) -> Value {
    let begin = text.find('{').unwrap_or_else(|| panic!("no JSON in {text}"));
    serde_json::from_str(&text[begin..]).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn all_of_us_miss_what_the_router_dropped() {
    if !can_have_hosts(&["ping", "irtt", "iperf3"]) {
        return;
    }
    let (report, transcript) = run(&plan(&LAB.replace("COUNTERS", COUNTERS)));
    assert!(report.passed(), "{transcript}");
    let counted = counted(&report);
    let [irtt, iperf3, ours] = counted[..] else { panic!("{counted:?}\n{transcript}") };
    check_irtt(&json(only(&report, "irtt")), irtt);
    let [client, server] = ["iperf3 client", "iperf3 server"].map(|t| json(only(&report, t)));
    check_iperf3(&client, &server, full_buffers(only(&report, "refused")), iperf3);
    check_ours(only(&report, "ours"), ours);
}

/// irtt: each packet goes there and is answered; a packet or its answer may be lost.
fn check_irtt(said: &Value, counted: Counted) {
    let stats = &said["stats"];
    let of = |what: &str| number(&stats[what]);
    let (sent, answers) = (of("packets_sent"), of("packets_received"));
    // What came to the router are packets and answers: those of them it passed are the answers that
    // came and the packets that the server had.
    let arrived = counted.passed - answers;
    let shown = format!("{counted:?}\n{stats:#}");
    assert_eq!(sent - answers, counted.lost, "{shown}");
    assert_eq!(sent + arrived, counted.passed + counted.lost, "{shown}");
    assert_eq!(counted.passed_bytes, (answers + arrived) * (200 + 28), "{shown}");
    // As of the last answer: packets may have come behind it whose answers were lost.
    let told = of("server_packets_received");
    assert!(told <= arrived && arrived - told <= counted.lost, "{told} of {arrived}: {shown}");
    assert_eq!(of("duplicates"), 0, "{shown}");
    let (there, back) = (sent - arrived, arrived - answers);
    let median = number(&stats["rtt"]["median"]) / 1000;
    println!("irtt: {sent} sent, {there} lost there and {back} back; median {median} µs");
}

/// iperf3: what it calls lost are gaps; packets behind the last one it has read are none.
fn check_iperf3(client: &Value, server: &Value, full_buffers: u64, counted: Counted) {
    let sent = number(&client["end"]["sum"]["packets"]);
    let sum = &server["end"]["sum"];
    let (highest, told) = (number(&sum["packets"]), number(&sum["lost_packets"]));
    let shown = format!("{counted:?}, {sent} sent, {full_buffers} refused\n{sum:#}");
    let lost = counted.lost + full_buffers;
    assert_eq!(sent, counted.passed + counted.lost, "{shown}");
    assert_eq!(counted.passed_bytes, counted.passed * (200 + 28), "{shown}");
    assert!(told <= lost && lost - told <= sent - highest, "{shown}");
    // Its rate is these bytes by its seconds.
    let intervals = server["intervals"].as_array().into_iter().flatten();
    let bytes: u64 = intervals.map(|interval| number(&interval["sum"]["bytes"])).sum();
    assert_eq!(bytes, (highest - told) * 200, "{shown}");
    println!("iperf3: {sent} sent, {told} lost and {} unread, {bytes} bytes", sent - highest);
}

/// Datagrams that the receiver's sockets had no room for, by the text of `/proc/net/snmp`.
fn full_buffers(snmp: &str) -> u64 {
    let mut rows = snmp.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (rows.next().unwrap_or(""), rows.next().unwrap_or(""));
    let mut pairs = names.split(' ').zip(values.split(' '));
    let found = pairs.find(|(name, _)| *name == "RcvbufErrors");
    found.and_then(|(_, value)| value.parse().ok()).unwrap_or_else(|| panic!("{snmp}"))
}

/// Our tester's last line: every packet has come or is lost.
fn check_ours(said: &str, counted: Counted) {
    let total = said.lines().rfind(|line| line.starts_with("TOT"));
    let total = total.unwrap_or_else(|| panic!("no total: {said}"));
    let words: Vec<&str> = total.split_whitespace().collect();
    let [_, _, sent, _, received, _, _, lost, ..] = words[..] else { panic!("{total}") };
    let [sent, received, lost] = [sent, received, lost].map(|word| word.parse::<u64>().unwrap());
    let shown = format!("{counted:?}\n{total}");
    assert_eq!((sent, received + lost), (900, 900), "{shown}");
    assert_eq!((lost, received), (counted.lost, counted.passed), "{shown}");
    // `packet-size` is a frame's without FCS.
    assert_eq!(counted.passed_bytes, received * (200 - 14), "{shown}");
    println!("ours: {sent} sent, {lost} lost");
}
