//! The rules, as RouterOS says them and as nft does.

use super::packets::{Sent, conversations, mixed, to_router, with_fragments, with_text};

/// A rule, or a few.
pub(crate) struct Case {
    /// The matcher it is about.
    pub(crate) name: &'static str,
    /// Our lines.
    pub(crate) ours: &'static [String],
    /// What stands in nft's table.
    pub(crate) kernel: String,
    /// The packets of a seed.
    pub(crate) packets: fn(u64) -> Vec<Sent>,
    /// With connection tracking.
    pub(crate) tracked: bool,
    /// No packet is to match.
    pub(crate) never: bool,
}

type Packets = fn(u64) -> Vec<Sent>;

/// One rule of forward that drops: matcher, ours, nft's.
const FORWARD: &[(&str, &str, &str, Packets)] = &[
    ("in-interface", "in-interface=ether1", "iifname tap1", mixed),
    ("in-interface", "in-interface=!ether1", "iifname != tap1", mixed),
    ("out-interface", "out-interface=ether2", "oifname tap2", mixed),
    ("protocol", "protocol=udp", "ip protocol udp", mixed),
    ("protocol", "protocol=!tcp", "ip protocol != tcp", mixed),
    ("protocol", "protocol=gre", "ip protocol 47", mixed),
    ("fragment", "fragment=yes", "ip frag-off & 0x1fff != 0", with_fragments),
    ("fragment", "fragment=no", "ip frag-off & 0x1fff == 0", with_fragments),
    (
        "src-mac-address",
        "src-mac-address=06:00:00:00:01:02",
        "ether saddr 06:00:00:00:01:02",
        mixed,
    ),
    (
        "src-mac-address",
        "src-mac-address=!06:00:00:00:01:02",
        "ether saddr != 06:00:00:00:01:02",
        mixed,
    ),
    ("src-address", "src-address=10.0.1.2", "ip saddr 10.0.1.2", mixed),
    ("src-address", "src-address=10.0.1.0/24", "ip saddr 10.0.1.0/24", mixed),
    ("src-address", "src-address=10.0.1.2-10.0.2.1", "ip saddr 10.0.1.2-10.0.2.1", mixed),
    ("src-address", "src-address=!10.0.1.0/30", "ip saddr != 10.0.1.0/30", mixed),
    ("dst-address", "dst-address=10.0.2.3", "ip daddr 10.0.2.3", mixed),
    ("dst-address", "dst-address=!10.0.2.1-10.0.2.2", "ip daddr != 10.0.2.1-10.0.2.2", mixed),
    ("src-address-type", "src-address-type=unicast", "fib saddr type unicast", mixed),
    ("ttl", "ttl=equal:63", "ip ttl 63", mixed),
    ("ttl", "ttl=not-equal:63", "ip ttl != 63", mixed),
    ("ttl", "ttl=less-than:5", "ip ttl < 5", mixed),
    ("ttl", "ttl=greater-than:5", "ip ttl > 5", mixed),
    ("dscp", "dscp=46", "ip dscp 46", mixed),
    ("dscp", "dscp=!10", "ip dscp != 10", mixed),
    ("packet-size", "packet-size=100-200", "ip length 100-200", mixed),
    ("packet-size", "packet-size=!100-1000", "ip length != 100-1000", mixed),
    ("ipv4-options", "ipv4-options=record-route", "ip option rr exists", mixed),
    ("ipv4-options", "ipv4-options=router-alert", "ip option ra exists", mixed),
    ("ipv4-options", "ipv4-options=none", "ip hdrlength 5", mixed),
    ("dst-port", "protocol=udp dst-port=53", "udp dport 53", mixed),
    ("dst-port", "protocol=tcp dst-port=22,80-81", "tcp dport { 22, 80-81 }", mixed),
    ("dst-port", "protocol=tcp dst-port=!80", "tcp dport != 80", mixed),
    (
        "dst-port",
        "protocol=udp dst-port=53",
        "udp dport 53 ip frag-off & 0x1fff == 0",
        with_fragments,
    ),
    ("src-port", "protocol=udp src-port=1000-1001", "udp sport 1000-1001", mixed),
    ("src-port", "protocol=tcp src-port=!22,1000", "tcp sport != { 22, 1000 }", mixed),
    ("tcp-flags", "protocol=tcp tcp-flags=syn,!ack", "tcp flags & (syn | ack) == syn", mixed),
    (
        "tcp-flags",
        "protocol=tcp tcp-flags=fin,psh,urg",
        "tcp flags & (fin | psh | urg) == fin | psh | urg",
        mixed,
    ),
    ("tcp-flags", "protocol=tcp tcp-flags=!syn,!rst", "tcp flags & (syn | rst) == 0", mixed),
    (
        "tcp-mss",
        "protocol=tcp tcp-mss=0-1400",
        "tcp flags & syn == syn tcp option maxseg size 0-1400",
        mixed,
    ),
    (
        "tcp-mss",
        "protocol=tcp tcp-mss=!0-1400",
        "tcp flags & syn == syn tcp option maxseg size != 0-1400",
        mixed,
    ),
    ("icmp-options", "protocol=icmp icmp-options=8:0", "icmp type 8 icmp code 0", mixed),
    (
        "icmp-options",
        "protocol=icmp icmp-options=!8:0-255",
        "ip protocol icmp icmp type != 8",
        mixed,
    ),
    ("content", "content=abc", "@th,64,24 0x616263", with_text),
    ("nth", "nth=3,1", "numgen inc mod 3 == 0", mixed),
    ("nth", "protocol=udp nth=4,3", "ip protocol udp numgen inc mod 4 == 2", mixed),
    ("limit", "limit=1/1h,7:packet", "limit rate 1/hour burst 7 packets", mixed),
    (
        "limit",
        "protocol=tcp limit=3/1d,5",
        "ip protocol tcp limit rate 3/day burst 5 packets",
        mixed,
    ),
];

/// The same with connection tracking, of conversations; the rule counts only.
const TRACKED: &[(&str, &str, &str)] = &[
    ("connection-state", "connection-state=new", "ct state new"),
    ("connection-state", "connection-state=established", "ct state established"),
    ("connection-state", "connection-state=!new", "ct state != new"),
    ("connection-bytes", "connection-bytes=0-500", "ct bytes 0-500"),
    ("connection-bytes", "connection-bytes=1000-0", "ct bytes >= 1000"),
    ("connection-bytes", "connection-bytes=!300-900", "ct bytes != 300-900"),
    (
        "connection-bytes",
        "protocol=udp connection-bytes=200-400",
        "ip protocol udp ct bytes 200-400",
    ),
];

/// Whole tables.
const TABLES: &[(&str, &[&str], &str, Packets, bool)] = &[
    (
        "dst-address-type",
        &[
            "filter add chain=input action=passthrough dst-address-type=local",
            "filter add chain=input action=passthrough dst-address-type=!local",
            "filter add chain=forward action=drop dst-address-type=unicast protocol=udp",
        ],
        "chain i { type filter hook input priority 0; fib daddr type local counter; \
         fib daddr type != local counter; }
         chain f { type filter hook forward priority 0; \
         fib daddr type unicast ip protocol udp counter drop; }",
        to_router,
        false,
    ),
    (
        "src-address-list",
        &[
            "address-list add list=bad address=10.0.1.2",
            "address-list add list=bad address=10.0.2.2-10.0.2.9",
            "filter add chain=forward action=drop src-address-list=bad",
            "filter add chain=forward action=drop dst-address-list=!bad protocol=tcp",
        ],
        "set bad { type ipv4_addr; flags interval; elements = { 10.0.1.2, 10.0.2.2-10.0.2.9 } }
         chain f { type filter hook forward priority 0; ip saddr @bad counter drop; \
         ip protocol tcp ip daddr != @bad counter drop; }",
        mixed,
        false,
    ),
    (
        "dst-address-list",
        &[
            "address-list add list=few address=10.0.2.0/31",
            "filter add chain=forward action=drop dst-address-list=few",
        ],
        "set few { type ipv4_addr; flags interval; elements = { 10.0.2.0/31 } }
         chain f { type filter hook forward priority 0; ip daddr @few counter drop; }",
        mixed,
        false,
    ),
    (
        "add-src-to-address-list",
        &[
            "filter add chain=forward action=drop src-address-list=seen protocol=udp",
            "filter add chain=forward action=add-src-to-address-list address-list=seen \
             protocol=tcp dst-port=22 address-list-timeout=1h",
        ],
        "set seen { type ipv4_addr; flags dynamic, timeout; timeout 1h; }
         chain f { type filter hook forward priority 0; ip protocol udp ip saddr @seen counter drop; \
         tcp dport 22 counter add @seen { ip saddr }; }",
        mixed,
        false,
    ),
    (
        "add-dst-to-address-list",
        &[
            "filter add chain=forward action=add-dst-to-address-list address-list=seen ttl=less-than:3",
            "filter add chain=forward action=drop dst-address-list=seen",
        ],
        "set seen { type ipv4_addr; flags dynamic; size 100; }
         chain f { type filter hook forward priority 0; ip ttl < 3 counter add @seen { ip daddr }; \
         ip daddr @seen counter drop; }",
        mixed,
        false,
    ),
    (
        "dst-limit",
        &["filter add chain=forward action=drop dst-limit=1/1h,3,dst-address"],
        "set m { type ipv4_addr; flags dynamic; size 100; }
         chain f { type filter hook forward priority 0; \
         add @m { ip daddr limit rate 1/hour burst 3 packets } counter drop; }",
        mixed,
        false,
    ),
    (
        "dst-limit",
        &["filter add chain=forward action=drop protocol=udp \
           dst-limit=1/1d,2,addresses-and-dst-port/1h"],
        "set m { type ipv4_addr . ipv4_addr . inet_service; flags dynamic; size 100; }
         chain f { type filter hook forward priority 0; ip protocol udp \
         add @m { ip saddr . ip daddr . udp dport limit rate 1/day burst 2 packets } counter drop; }",
        mixed,
        false,
    ),
    (
        "connection-limit",
        &["filter add chain=forward action=passthrough connection-limit=2,32"],
        "set m { type ipv4_addr; flags dynamic; size 100; }
         chain f { type filter hook forward priority 0; \
         add @m { ip saddr ct count over 2 } counter; }",
        conversations,
        true,
    ),
    (
        "connection-limit",
        &["filter add chain=forward action=drop connection-state=new in-interface=ether1 \
           connection-limit=5,0"],
        "chain f { type filter hook forward priority 0; iifname tap1 ct state new \
         ct count over 5 counter drop; }",
        conversations,
        true,
    ),
    (
        "connection-state",
        &["filter add chain=forward action=drop in-interface=ether1 connection-state=new protocol=udp"],
        "chain f { type filter hook forward priority 0; iifname tap1 ct state new ip protocol udp counter drop; }",
        conversations,
        true,
    ),
    (
        "jump",
        &[
            "filter add chain=own action=return src-address=10.0.1.1",
            "filter add chain=own action=drop dscp=46",
            "filter add chain=forward action=jump jump-target=own protocol=udp",
            "filter add chain=forward action=drop dst-address=10.0.2.1",
        ],
        "chain own { ip saddr 10.0.1.1 counter return; ip dscp 46 counter drop; }
         chain f { type filter hook forward priority 0; ip protocol udp counter jump own; \
         ip daddr 10.0.2.1 counter drop; }",
        mixed,
        false,
    ),
    (
        "netmap",
        &["nat add chain=srcnat action=netmap src-address=10.0.1.0/24 to-addresses=10.9.9.0/24"],
        "chain n { type nat hook postrouting priority 100; ip saddr 10.0.1.0/24 counter \
         snat ip prefix to ip saddr map { 10.0.1.0/24 : 10.9.9.0/24 }; }",
        conversations,
        true,
    ),
];

/// All cases, at this time.
pub(crate) fn all(unix: u64) -> Vec<Case> {
    let line = |text: &str| format!("/ip firewall {text}");
    let own = |lines: Vec<String>| -> &'static [String] { lines.leak() };
    let mut cases = Vec::new();
    for &(name, ours, nft, packets) in FORWARD {
        cases.push(Case {
            name,
            ours: own(vec![line(&format!("filter add chain=forward action=drop {ours}"))]),
            kernel: format!(
                "chain f {{ type filter hook forward priority 0; {nft} counter drop; }}"
            ),
            packets,
            tracked: false,
            never: false,
        });
    }
    for &(name, ours, nft) in TRACKED {
        cases.push(Case {
            name,
            ours: own(vec![line(&format!("filter add chain=forward action=passthrough {ours}"))]),
            kernel: format!("chain f {{ type filter hook forward priority 0; {nft} counter; }}"),
            packets: conversations,
            tracked: true,
            never: false,
        });
    }
    for &(name, ours, nft, packets, tracked) in TABLES {
        let ours = own(ours.iter().map(|text| line(text)).collect());
        cases.push(Case { name, ours, kernel: nft.to_string(), packets, tracked, never: false });
    }
    // An hour around now, on this day and on none; an hour later than that.
    let hour = unix / 3600 % 24;
    let day = (unix / 86_400 + 4) % 7;
    let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let times = [
        (hour, hour + 1, day, false),
        (hour, hour + 1, (day + 1) % 7, true),
        ((hour + 2) % 24, (hour + 3) % 24, day, true),
    ];
    for (from, to, day, never) in times.into_iter().filter(|&(from, to, ..)| from < to && to < 24) {
        let name = days[day as usize];
        cases.push(Case {
            name: "time",
            ours: own(vec![line(&format!(
                "filter add chain=forward action=drop time={from}h-{to}h,{name}"
            ))]),
            kernel: format!(
                "chain f {{ type filter hook forward priority 0; meta day {day} \
                 meta hour \"{from:02}:00\"-\"{to:02}:00\" counter drop; }}"
            ),
            packets: mixed,
            tracked: false,
            never,
        });
    }
    cases
}
