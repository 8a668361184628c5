//! Output of `print` for a running router, to the letter.

use crate::rig::{Rig, mac, own_mac};
use std::time::Duration;
use wire::craft::{self, ip};

const CONFIGURATION: &str = "/interface bridge add name=lan protocol-mode=none
/interface bridge port
add interface=ether3 bridge=lan
add interface=ether4 bridge=lan horizon=7
/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2 comment=\"to the lab\"
add address=10.0.3.254/24 interface=lan
/ip arp add address=10.0.3.9 mac-address=06:00:00:00:00:09 interface=lan
/ip route
add gateway=10.0.2.1
add dst-address=10.9.0.0/16 gateway=10.0.7.1 distance=5
add dst-address=192.168.0.0/16 type=blackhole
add dst-address=172.16.0.0/12 gateway=ether1 disabled=yes
/ip firewall filter
add chain=forward action=fasttrack-connection connection-state=established,related
add chain=forward connection-state=established,related comment=\"allow already established connections\"
add chain=forward in-interface=ether3 action=drop
add chain=forward protocol=tcp dst-port=!80,8000-8080 src-address=172.16.0.0/24 action=drop disabled=yes
/queue simple add name=q target=10.0.1.77/32 max-limit=1M/2M
";

/// A configured router whose neighbours are known: 10.0.1.1 by ether1, 10.0.2.1 by ether2.
fn router() -> Rig {
    let mut rig = Rig::new(4, CONFIGURATION);
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig
}

/// A datagram from 10.0.1.1 to 10.0.2.1, or its answer.
fn datagram(answer: bool) -> Vec<u8> {
    let (there, back) = ((ip(10, 0, 1, 1), 1000), (ip(10, 0, 2, 1), 2000));
    let (from, to, port) = if answer { (back, there, 2) } else { (there, back, 1) };
    let udp = craft::udp(from.0, from.1, to.0, to.1);
    craft::Frame { src_mac: mac(port), dst_mac: own_mac(port), ..udp }.build()
}

/// The configuration under way: a connection that is fasttracked, ten answers by FastTrack.
fn busy() -> Rig {
    let mut rig = router();
    for answer in [false, true].into_iter().chain([true; 10]) {
        let out = rig.pass(if answer { 2 } else { 1 }, &datagram(answer));
        assert_eq!(out.len(), 1, "{:?}", rig.router.discards());
    }
    rig.wait(Duration::from_millis(1500));
    rig
}

/// Compares all but blanks at the ends, which the flags line has.
fn check(rig: &mut Rig, script: &str, expected: &str) {
    let text = rig.run(script);
    let lines = text.lines().map(str::trim_end);
    assert!(lines.eq(expected.lines()), "{script}\nprinted\n{text}\nnot\n{expected}");
}

#[test]
fn interfaces() {
    let mut rig = router();
    check(
        &mut rig,
        "/interface ethernet disable ether2\n/interface ethernet print",
        r#"Flags: X - disabled, R - running, S - slave
 #    NAME   MTU  MAC-ADDRESS
 0 R  ether1 1500 02:00:00:00:00:01
 1 X  ether2 1500 02:00:00:00:00:02
 2 RS ether3 1500 02:00:00:00:00:03
 3 RS ether4 1500 02:00:00:00:00:04"#,
    );
    check(
        &mut rig,
        "/interface ethernet print stats where name=ether1",
        r#"Flags: X - disabled, R - running, S - slave
 #   NAME   RX-BYTE TX-BYTE RX-PACKET TX-PACKET
 0 R ether1      60      60         1         1"#,
    );
    check(
        &mut rig,
        "/interface print",
        r#"Flags: D - dynamic, X - disabled, R - running, S - slave
 #    NAME   TYPE   ACTUAL-MTU L2MTU MAX-L2MTU MAC-ADDRESS
 0 R  ether1 ether  1500       1906  1906      02:00:00:00:00:01
 1 X  ether2 ether  1500       1906  1906      02:00:00:00:00:02
 2 RS ether3 ether  1500       1906  1906      02:00:00:00:00:03
 3 RS ether4 ether  1500       1906  1906      02:00:00:00:00:04
 4 R  lan    bridge 1500       1906            02:00:00:00:00:03"#,
    );
    check(
        &mut rig,
        "/interface print stats where rx-packet>0",
        r#"Flags: D - dynamic, X - disabled, R - running, S - slave
 #   NAME   RX-BYTE TX-BYTE RX-PACKET TX-PACKET RX-DROP TX-DROP TX-QUEUE-DROP RX-ERROR TX-ERROR
 0 R ether1      60      60         1         1       0       0             0        0        0
 1 X ether2      60      60         1         1       0       0             0        0        0"#,
    );
    check(
        &mut rig,
        "/interface print stats-detail where name=ether1",
        r#"Flags: D - dynamic, X - disabled, R - running, S - slave
 0 R  name="ether1" link-downs=0 rx-byte=60 tx-byte=60 rx-packet=1 tx-packet=1
      rx-drop=0 tx-drop=0 tx-queue-drop=0 rx-error=0 tx-error=0 fp-rx-byte=0
      fp-tx-byte=0 fp-rx-packet=0 fp-tx-packet=0"#,
    );
    check(
        &mut rig,
        "/interface bridge print",
        r#"Flags: X - disabled, R - running, D - dynamic
 0 R  name="lan" mtu=auto actual-mtu=1500 protocol-mode=none ageing-time=5m
      auto-mac=yes mac-address=02:00:00:00:00:03 arp=enabled arp-timeout=auto
      fast-forward=yes priority=0x8000 forward-delay=15s max-message-age=20s
      transmit-hold-count=6 vlan-filtering=no pvid=1 ether-type=0x8100
      frame-types=admit-all ingress-filtering=no igmp-snooping=no
      dhcp-snooping=no"#,
    );
    check(
        &mut rig,
        "/interface bridge port print",
        r#"Flags: X - disabled, I - inactive, D - dynamic
 #   INTERFACE BRIDGE HORIZON PRIORITY PATH-COST ROLE PVID
 0   ether3    lan    none    0x80     10             1
 1   ether4    lan    7       0x80     10             1"#,
    );
    check(
        &mut rig,
        "/interface bridge settings print",
        r#"              use-ip-firewall: no
     use-ip-firewall-for-vlan: no
    use-ip-firewall-for-pppoe: no
              allow-fast-path: yes
      bridge-fast-path-active: yes
       bridge-fast-path-unmet:
     bridge-fast-path-packets: 0
       bridge-fast-path-bytes: 0
  bridge-fast-forward-packets: 0
    bridge-fast-forward-bytes: 0"#,
    );
    check(
        &mut rig,
        "/interface bridge host print",
        r#"Flags: D - dynamic, L - local
 #    MAC-ADDRESS       ON-INTERFACE BRIDGE AGE
 0 DL 02:00:00:00:00:03 ether3       lan
 1 DL 02:00:00:00:00:04 ether4       lan"#,
    );
}

#[test]
fn addresses_and_neighbours() {
    let mut rig = router();
    check(
        &mut rig,
        "/ip address disable 1\n/ip address print",
        r#"Flags: X - disabled, I - invalid, D - dynamic
 #   ADDRESS            NETWORK         INTERFACE
 0   10.0.1.254/24      10.0.1.0        ether1
 1 X ;;; to the lab
     10.0.2.254/24      10.0.2.0        ether2
 2   10.0.3.254/24      10.0.3.0        lan"#,
    );
    check(
        &mut rig,
        "/ip address print detail where interface=lan",
        r#"Flags: X - disabled, I - invalid, D - dynamic
 0    address=10.0.3.254/24 network=10.0.3.0 interface=lan actual-interface=lan"#,
    );
    check(
        &mut rig,
        "/ip arp print",
        r#"Flags: X - disabled, H - DHCP, D - dynamic, C - complete
 #    ADDRESS  MAC-ADDRESS       INTERFACE
 0 C  10.0.3.9 06:00:00:00:00:09 lan
 1 DC 10.0.1.1 06:00:00:00:00:01 ether1
 2 DC 10.0.2.1 06:00:00:00:00:02 ether2"#,
    );
    check(
        &mut rig,
        "/ip arp print detail where dynamic",
        r#"Flags: X - disabled, H - DHCP, D - dynamic, C - complete
 0 DC address=10.0.1.1 mac-address=06:00:00:00:00:01 interface=ether1
      published=no status="reachable"

 1 DC address=10.0.2.1 mac-address=06:00:00:00:00:02 interface=ether2
      published=no status="reachable""#,
    );
}

#[test]
fn routes() {
    let mut rig = router();
    check(
        &mut rig,
        "/ip route print",
        r#"Flags: X - disabled, A - active, D - dynamic, C - connect, S - static, r - rip,
b - bgp, o - ospf, B - blackhole, U - unreachable, P - prohibit
 #      DST-ADDRESS    PREF-SRC   GATEWAY  DISTANCE
 0 A S  0.0.0.0/0                 10.0.2.1 1
 1   S  10.9.0.0/16               10.0.7.1 5
 2 A SB 192.168.0.0/16                     1
 3 X S  172.16.0.0/12             ether1   1
 4 ADC  10.0.1.0/24    10.0.1.254 ether1   0
 5 ADC  10.0.2.0/24    10.0.2.254 ether2   0
 6 ADC  10.0.3.0/24    10.0.3.254 lan      0"#,
    );
    check(
        &mut rig,
        "/ip route print detail where active !blackhole",
        r#"Flags: X - disabled, A - active, D - dynamic, C - connect, S - static, r - rip,
b - bgp, o - ospf, B - blackhole, U - unreachable, P - prohibit
 0 A S  dst-address=0.0.0.0/0 gateway=10.0.2.1 distance=1 type=unicast scope=30
        target-scope=10 gateway-status=10.0.2.1 reachable via ether2

 1 ADC  dst-address=10.0.1.0/24 pref-src=10.0.1.254 gateway=ether1 distance=0
        type=unicast scope=10 target-scope=10 gateway-status=ether1 reachable

 2 ADC  dst-address=10.0.2.0/24 pref-src=10.0.2.254 gateway=ether2 distance=0
        type=unicast scope=10 target-scope=10 gateway-status=ether2 reachable

 3 ADC  dst-address=10.0.3.0/24 pref-src=10.0.3.254 gateway=lan distance=0
        type=unicast scope=10 target-scope=10 gateway-status=lan reachable"#,
    );
}

#[test]
fn fed_routes_and_pages_of_them() {
    use router::ip::feed::Protocol;
    use router::ip::route::Target;
    let mut rig = router();
    let gateway = Target::Gateways(vec![(rig.ether(2), u32::from_be_bytes([10, 0, 2, 9]))]);
    let feed = |(prefix, target, protocol): (&str, &Target, Protocol)| {
        (prefix.parse().unwrap(), target.clone(), protocol)
    };
    let fed = [
        ("11.0.0.0/8", &gateway, Protocol::Bgp),
        ("12.0.0.0/8", &gateway, Protocol::Ospf),
        ("13.0.0.0/8", &gateway, Protocol::Rip),
        ("10.9.0.0/16", &Target::Blackhole, Protocol::Other),
        ("0.0.0.0/0", &gateway, Protocol::Static),
        ("14.0.0.0/8", &Target::Prohibit, Protocol::Static),
        ("16.0.0.0/8", &Target::Unreachable, Protocol::Elsewhere),
    ];
    rig.router.feed(fed.map(feed)).unwrap();
    assert_eq!(rig.router.withdraw_routes(["12.0.0.0/8".parse().unwrap()]), 1);
    rig.router.feed([feed(("15.0.0.0/8", &gateway, Protocol::Bgp))]).unwrap();
    let text = rig.run("/ip route print where dynamic !connect");
    let rows: Vec<_> = text.lines().skip(3).map(str::trim_end).collect();
    assert_eq!(
        rows,
        [
            " 0 ADb  11.0.0.0/8           10.0.2.9 20",
            " 1 ADb  15.0.0.0/8           10.0.2.9 20",
            " 2 ADr  13.0.0.0/8           10.0.2.9 120",
            " 3 AD B 10.9.0.0/16                   20",
            " 4  DS  0.0.0.0/0            10.0.2.9 1",
            " 5 ADSP 14.0.0.0/8                    1",
            " 6 AD U 16.0.0.0/8                    255",
        ],
        "{text}"
    );
    let many =
        (0..3000u32).map(|n| (wire::Ipv4Prefix::new(0x2000_0000 | n << 8, 24), gateway.clone()));
    rig.router.feed_routes(many).unwrap();
    for (line, expected) in [
        (":put [:len [/ip route find bgp]]", "3002"),
        ("/ip route print count-only where gateway=10.0.2.9 active", "3003"),
        (
            ":put [/ip route get [find dst-address=32.0.7.0/24] gateway-status]",
            "10.0.2.9 reachable via ether2",
        ),
        (
            ":put [/ip route get [find dst-address=16.0.0.0/8] gateway-status]",
            "the host sends there by an interface that is no port",
        ),
    ] {
        assert_eq!(rig.run(line).trim(), expected, "{line}");
    }
}

#[test]
fn rules() {
    let mut rig = router();
    check(
        &mut rig,
        "/ip firewall filter print",
        r#"Flags: X - disabled, I - invalid, D - dynamic
 0    chain=forward action=fasttrack-connection
      connection-state=established,related log=no

 1    ;;; allow already established connections
      chain=forward action=accept connection-state=established,related log=no

 2 I  ;;; in/out-interface matcher not possible when interface (ether3) is slave - use master instead (lan)
      chain=forward action=drop in-interface=ether3 log=no

 3 X  chain=forward action=drop protocol=tcp src-address=172.16.0.0/24
      dst-port=!80,8000-8080 log=no"#,
    );
    check(
        &mut rig,
        "/ip firewall filter print stats",
        r#"Flags: X - disabled, I - invalid, D - dynamic
 #    CHAIN   ACTION               BYTES PACKETS
 0    forward fasttrack-connection     0       0
 1    ;;; allow already established connections
      forward accept                   0       0
 2 I  ;;; in/out-interface matcher not possible when interface (ether3) is slave - use master instead (lan)
      forward drop                     0       0
 3 X  forward drop                     0       0"#,
    );
    check(
        &mut rig,
        "/interface bridge filter add chain=forward in-interface=ether1 action=drop\n/interface bridge filter print",
        r#"Flags: X - disabled, I - invalid, D - dynamic
 0    chain=forward action=drop in-interface=ether1 log=no"#,
    );
    check(
        &mut rig,
        "/ip firewall nat add chain=srcnat action=masquerade out-interface=ether2 log-prefix=nat\n/ip firewall nat print",
        r#"Flags: X - disabled, I - invalid, D - dynamic
 0    chain=srcnat action=masquerade out-interface=ether2 log=no
      log-prefix="nat""#,
    );
    check(
        &mut rig,
        "/ip firewall address-list add list=a address=10.0.0.0/8\n/ip firewall address-list print",
        r#"Flags: X - disabled, D - dynamic
 #   LIST ADDRESS    TIMEOUT
 0   a    10.0.0.0/8"#,
    );
}

#[test]
fn fasttrack() {
    let mut rig = busy();
    check(
        &mut rig,
        "/ip firewall filter print stats",
        r#"Flags: X - disabled, I - invalid, D - dynamic
 #    CHAIN   ACTION               BYTES PACKETS
 0  D ;;; special dummy rule to show fasttrack counters
      forward passthrough            280      10
 1    forward fasttrack-connection    28       1
 2    ;;; allow already established connections
      forward accept                  28       1
 3 I  ;;; in/out-interface matcher not possible when interface (ether3) is slave - use master instead (lan)
      forward drop                     0       0
 4 X  forward drop                     0       0"#,
    );
    check(
        &mut rig,
        "/ip firewall connection print",
        r#"Flags: E - expected, S - seen-reply, A - assured, C - confirmed, D - dying,
F - fasttrack, s - srcnat, d - dstnat
 #     PR.. SRC-ADDRESS           DST-ADDRESS           TCP-STATE   TIMEOUT
 0 SCF udp  10.0.1.1:1000         10.0.2.1:2000                     8s"#,
    );
    check(
        &mut rig,
        "/ip firewall connection print detail",
        r#"Flags: E - expected, S - seen-reply, A - assured, C - confirmed, D - dying,
F - fasttrack, s - srcnat, d - dstnat
 0 SCF protocol=udp src-address=10.0.1.1:1000 dst-address=10.0.2.1:2000
       reply-src-address=10.0.2.1:2000 reply-dst-address=10.0.1.1:1000
       timeout=8s orig-packets=1 orig-bytes=28 orig-fasttrack-packets=0
       orig-fasttrack-bytes=0 repl-packets=11 repl-bytes=308
       repl-fasttrack-packets=10 repl-fasttrack-bytes=280 orig-rate=0bps
       repl-rate=0bps"#,
    );
}

#[test]
fn queues() {
    let mut rig = router();
    check(
        &mut rig,
        "/queue simple add name=lost target=10.0.8.1/32 dst=lan disabled=yes\n/queue simple print",
        r#"Flags: X - disabled, I - invalid, D - dynamic
 0    name="q" target=10.0.1.77/32 max-limit=1M/2M bucket-size=0.1/0.1
      queue=default-small/default-small parent=none limit-at=0/0 priority=8/8
      burst-limit=0/0 burst-threshold=0/0 burst-time=0s/0s

 1 X  name="lost" target=10.0.8.1/32 dst=lan max-limit=0/0 bucket-size=0.1/0.1
      queue=default-small/default-small parent=none limit-at=0/0 priority=8/8
      burst-limit=0/0 burst-threshold=0/0 burst-time=0s/0s"#,
    );
    check(
        &mut rig,
        "/queue simple print stats where name=q",
        r#"Flags: X - disabled, I - invalid, D - dynamic
 0    name="q" target=10.0.1.77/32 bytes=0/0 packets=0/0 dropped=0/0
      queued-bytes=0/0 queued-packets=0/0 rate=0bps/0bps packet-rate=0/0
      total-bytes=0 total-packets=0 total-dropped=0 total-queued-bytes=0
      total-queued-packets=0 total-rate=0bps total-packet-rate=0"#,
    );
}

#[test]
fn tracking() {
    let mut rig = busy();
    check(
        &mut rig,
        "/ip firewall connection tracking print",
        r#"                   enabled: auto
      tcp-syn-sent-timeout: 5s
  tcp-syn-received-timeout: 5s
   tcp-established-timeout: 1d
      tcp-fin-wait-timeout: 10s
    tcp-close-wait-timeout: 10s
      tcp-last-ack-timeout: 10s
     tcp-time-wait-timeout: 10s
         tcp-close-timeout: 10s
   tcp-max-retrans-timeout: 5m
       tcp-unacked-timeout: 5m
               udp-timeout: 10s
        udp-stream-timeout: 3m
              icmp-timeout: 10s
           generic-timeout: 10m
        loose-tcp-tracking: yes
             total-entries: 1
               max-entries: 1048576
               active-ipv4: yes
               active-ipv6: no"#,
    );
}

#[test]
fn what_was_dropped_and_why() {
    let mut rig = router();
    check(&mut rig, "/tool discard print", " #   REASON PACKETS MEANING");
    for to in [ip(10, 7, 7, 7), ip(192, 168, 0, 1), ip(192, 168, 0, 2), ip(127, 0, 0, 1)] {
        let udp = craft::udp(ip(10, 0, 1, 1), 1000, to, 2000);
        let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..udp }.build();
        rig.pass(1, &frame);
    }
    check(
        &mut rig,
        "/tool discard print",
        r#" #   REASON              PACKETS MEANING
 0   martian-destination       1 A destination that may not be: loopba...
 1   route-blackhole           2 The route's type is blackhole."#,
    );
    check(&mut rig, ":put [/tool discard get route-blackhole packets]", "2");
}
