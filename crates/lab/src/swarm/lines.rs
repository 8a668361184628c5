//! Lines that boxes of the swarm are told: at the start, and while packets flow.

/// Addresses of nobody, in networks that are there or are not.
pub(super) const NOBODY: &[&str] = &[
    "10.1.1.99",
    "10.2.2.99",
    "10.200.1.2",
    "172.16.0.1",
    "172.17.0.1",
    "8.8.8.8",
    "2001:db8:1:1::99",
    "2001:db8:a::1",
    "fd00:200:1::2",
];

pub(super) const SETTINGS: &[&str] = &[
    "/ip settings set allow-fast-path=no",
    "/ip settings set icmp-rate-limit=0",
    "/ip settings set arp-timeout=5s",
    "/ip settings set max-neighbor-entries=8",
    "/ip firewall connection tracking set enabled=yes",
    "/ip firewall connection tracking set enabled=no",
    "/ip firewall connection tracking set loose-tcp-tracking=no",
    "/ip firewall connection tracking set udp-timeout=2s udp-stream-timeout=4s icmp-timeout=1s",
    "/interface ethernet set ether1 mtu=1400",
    "/interface ethernet set [find] mtu=600",
    "/ip route add dst-address=172.16.0.0/16 type=unreachable",
    "/ip route add dst-address=172.17.0.0/16 type=blackhole",
    "/ip route add dst-address=172.18.0.0/16 type=prohibit",
];

/// The default firewall's rules.
pub(super) const DEFAULT: &[&str] = &[
    "/ip firewall filter add chain=input protocol=icmp action=accept",
    "/ip firewall filter add chain=input connection-state=established,related action=accept",
    "/ip firewall filter add chain=forward connection-state=established,related \
     action=fasttrack-connection",
    "/ip firewall filter add chain=forward connection-state=established,related action=accept",
    "/ip firewall filter add chain=forward connection-state=invalid action=drop",
];

pub(super) const FILTER: &[&str] = &[
    "/ip firewall filter add chain=forward action=passthrough",
    "/ip firewall filter add chain=forward protocol=tcp dst-port=80 action=accept",
    "/ip firewall filter add chain=forward protocol=udp dst-port=7 action=accept log=yes",
    "/ip firewall filter add chain=forward protocol=tcp tcp-flags=syn,!ack action=passthrough",
    "/ip firewall filter add chain=forward packet-size=600-1500 action=passthrough",
    "/ip firewall filter add chain=forward src-address=10.1.0.0/16 protocol=udp action=drop",
    "/ip firewall filter add chain=forward protocol=tcp dst-address=10.2.0.0/16 action=reject \
     reject-with=tcp-reset",
    "/ip firewall filter add chain=forward protocol=udp dst-address=10.3.0.0/16 action=reject",
    "/ip firewall filter add chain=forward ttl=less-than:63 action=jump jump-target=far",
    "/ip firewall filter add chain=far protocol=icmp action=return",
    "/ip firewall filter add chain=far action=log log-prefix=far",
    "/ip firewall filter add chain=forward in-interface=all-vlan action=passthrough",
    "/ip firewall filter add chain=forward limit=50,5:packet action=passthrough",
    "/ip firewall filter add chain=forward nth=3,1 action=passthrough",
    "/ip firewall filter add chain=output action=passthrough",
    "/ip firewall nat add chain=dstnat protocol=tcp dst-port=81 action=redirect to-ports=80",
    "/ip firewall filter add chain=forward per-connection-classifier=both-addresses:2/0 \
     action=passthrough",
    "/ip firewall filter add chain=forward connection-bytes=1000-100000 action=passthrough",
    "/ip firewall filter add chain=forward protocol=udp dst-limit=20,5,dst-address/10s action=accept",
    "/ip firewall filter add chain=forward protocol=tcp connection-limit=3,32 action=log",
    "/ip firewall filter add chain=forward protocol=udp action=add-src-to-address-list \
     address-list=seen address-list-timeout=1s",
    "/ip firewall filter add chain=forward src-address-list=seen action=passthrough",
    "/ip firewall nat add chain=srcnat src-address=10.2.0.0/16 action=netmap to-addresses=10.99.0.0/16",
];

/// Raw and mangle: what is left untracked, marked, edited.
pub(super) const RAW: &[&str] = &[
    "/ip firewall raw add chain=prerouting protocol=udp dst-port=7 action=notrack",
    "/ip firewall raw add chain=prerouting src-address=10.2.0.0/16 action=accept",
    "/ip firewall raw add chain=prerouting protocol=icmp packet-size=500-2000 action=drop",
    "/ip firewall raw add chain=output action=notrack",
    "/ip firewall mangle add chain=prerouting connection-state=new action=mark-connection \
     new-connection-mark=c1",
    "/ip firewall mangle add chain=prerouting connection-mark=c1 action=mark-packet new-packet-mark=p1",
    "/ip firewall mangle add chain=forward packet-mark=p1 action=change-dscp new-dscp=10",
    "/ip firewall mangle add chain=forward protocol=tcp tcp-flags=syn action=change-mss new-mss=600",
    "/ip firewall mangle add chain=postrouting action=change-ttl new-ttl=decrement:1",
    "/ip firewall mangle add chain=postrouting packet-mark=!p1 action=mark-packet new-packet-mark=p2 \
     passthrough=no",
    "/ip firewall mangle add chain=forward connection-state=established action=fasttrack-connection",
    "/ip firewall mangle add chain=output action=set-priority new-priority=3",
    "/ip firewall mangle add chain=prerouting src-address=10.1.0.0/16 action=mark-routing \
     new-routing-mark=second",
    "/ip route add dst-address=10.0.0.0/8 gateway=10.200.1.1 routing-mark=second",
    "/ip route rule add src-address=10.2.0.0/16 action=lookup table=second",
    "/ip firewall filter add chain=input action=passthrough",
    "/ip firewall filter add chain=forward connection-nat-state=srcnat action=passthrough",
    "/ip firewall filter add chain=forward packet-mark=p1 connection-mark=c1 action=passthrough",
    "/ip firewall filter add chain=forward connection-state=untracked action=log",
];

pub(super) const QUEUES: &[&str] = &[
    "/queue simple add target=10.1.0.0/16 max-limit=100M/100M",
    "/queue simple add target=10.0.0.0/8 max-limit=2M/2M",
    "/queue simple add target=10.2.0.0/16 dst=10.1.0.0/16 max-limit=500k/10M bucket-size=0.01/0.01",
    "/queue simple add target=ether1 max-limit=5M/5M queue=default/default",
    "/queue simple add target=10.1.1.0/24 max-limit=1M/2M limit-at=100k/100k priority=1/2 \
     queue=pcq-upload-default/pcq-download-default",
    // No SFQ: a new hash (perturb) puts the packets of a flow out of order, and order is checked.
    "/queue simple add target=10.1.2.0/24 max-limit=2M/2M burst-limit=8M/8M burst-threshold=1M/1M \
     burst-time=2s/2s queue=pcq-upload-default/synchronous-default",
    "/queue simple add target=10.3.0.0/16 total-max-limit=1M total-queue=default",
    "/queue tree add parent=global max-limit=20M",
    "/queue tree add parent=global packet-mark=p1 max-limit=500k queue=default",
    "/queue tree add parent=ether1 max-limit=10M queue=pcq-download-default",
    "/queue tree add parent=ether1 packet-mark=p2,no-mark max-limit=1M bucket-size=0.01",
    "/queue type add name=fair kind=fq-codel;\
     /queue simple add target=10.1.3.0/24 max-limit=3M/3M queue=fair/fair",
    "/queue type add name=whole kind=cake cake-bandwidth=8M cake-overhead-scheme=ethernet \
     cake-ack-filter=filter;/queue tree add parent=ether1 queue=whole",
    "/queue type add name=line kind=cake cake-bandwidth=8M cake-autorate-ingress=yes;\
     /queue tree add parent=ether1 queue=line",
];

pub(super) const BRIDGES: &[&str] = &[
    "/interface bridge settings set allow-fast-path=no",
    "/interface bridge set [find] ageing-time=2s",
    "/interface bridge port set [find interface=ether2] learn=no",
    "/interface bridge filter add chain=forward action=passthrough",
    "/interface bridge filter add chain=forward mac-protocol=arp action=accept log=yes",
    "/interface bridge filter add chain=input action=passthrough",
    "/interface bridge filter add chain=forward mac-protocol=ip src-address=10.0.0.0/8 \
     ip-protocol=udp action=drop",
    "/interface bridge filter add chain=output packet-type=broadcast action=passthrough",
];

/// What is typed while packets flow.
pub(super) const CHANGES: &[&str] = &[
    "/ip firewall filter remove [find]",
    "/ip firewall filter disable [find chain=forward]",
    "/ip firewall filter enable [find]",
    "/ip firewall filter add chain=forward action=drop",
    "/ip firewall nat remove [find]",
    "/ip firewall mangle remove [find]",
    "/ip firewall mangle disable [find chain=prerouting]",
    "/ip firewall mangle set [find action=mark-packet] new-packet-mark=p3",
    "/ip firewall raw remove [find]",
    "/ip firewall connection remove [find]",
    "/ip firewall filter reset-counters-all",
    "/queue simple remove [find]",
    "/queue tree disable [find]",
    "/queue simple set [find] queue=default-small/default-small",
    "/ip route rule remove [find]",
    "/routing rule remove [find]",
    "/routing rule disable [find]",
    "/ip firewall address-list add list=seen address=10.1.0.0/16 timeout=1s",
    "/ip firewall address-list remove [find]",
    "/queue simple set [find] max-limit=1M/1M",
    "/queue simple set [find] queue=pcq-upload-default/pcq-download-default",
    "/queue tree set [find] max-limit=2M",
    "/queue tree remove [find]",
    "/ip route remove [find dst-address=0.0.0.0/0]",
    "/ip route disable [find static]",
    "/ip route enable [find static]",
    "/ip address disable [find]",
    "/ip address enable [find]",
    "/interface ethernet disable ether1",
    "/interface ethernet enable ether1",
    "/interface ethernet set ether1 mac-address=02:00:00:00:77:01",
    "/interface vlan disable [find]",
    "/interface gre disable [find]",
    "/interface gre enable [find]",
    "/interface eoip set [find] dscp=46 keepalive=1s,2",
    "/interface l2tp-ether set [find] allow-fast-path=yes",
    "/interface bonding set [find] mode=active-backup",
    "/interface vlan enable [find]",
    "/interface bridge port disable [find]",
    "/interface bridge port enable [find]",
    "/interface bridge set [find] vlan-filtering=yes",
    "/interface bridge set [find] vlan-filtering=no",
    "/interface bridge port set [find] pvid=9",
    "/ip settings set ip-forward=no",
    "/ip settings set ip-forward=yes",
    "/ip settings set rp-filter=strict",
    "/ip arp remove [find]",
    "/ip firewall nat add chain=srcnat action=masquerade out-interface=ether1",
    "/ip firewall nat add chain=dstnat protocol=udp dst-port=7 action=dst-nat to-addresses=10.1.1.1",
    "/interface 6to4 disable [find]",
    "/interface 6to4 set [find] keepalive=500ms,2",
    "/interface ipip set [find] clamp-tcp-mss=no dont-fragment=inherit",
    "/interface eoip disable [find]",
    "/interface vrrp disable [find]",
    "/interface vrrp enable [find]",
    "/interface vrrp set [find] priority=40",
    "/interface vrrp set [find] sync-connection-tracking=no",
    "/interface vrrp set [find] preemption-mode=no",
    "/interface bonding set [find] transmit-hash-policy=layer-3-and-4",
    "/interface bonding disable [find]",
    "/interface bonding enable [find]",
    "/interface bridge set [find] priority=0x1000",
    "/interface bridge port set [find] path-cost=200",
    "/interface ethernet set ether1 arp=proxy-arp",
    "/interface ethernet set ether1 arp=disabled",
    "/interface ethernet set ether2 mtu=900",
    "/queue simple enable [find]",
    "/ipv6 address disable [find]",
    "/ipv6 address enable [find]",
    "/ipv6 route disable [find static]",
    "/ipv6 route enable [find static]",
    "/ipv6 firewall filter remove [find]",
    "/ipv6 firewall filter disable [find]",
    "/ipv6 firewall mangle remove [find]",
    "/ipv6 firewall nat remove [find]",
    "/ipv6 settings set max-neighbor-entries=4",
];

/// A default firewall of IPv6.
pub(super) const DEFAULT6: &[&str] = &[
    "/ipv6 firewall filter add chain=input protocol=icmpv6 action=accept",
    "/ipv6 firewall filter add chain=input protocol=udp dst-port=546 src-address=fe80::/10 action=accept",
    "/ipv6 firewall filter add chain=forward protocol=icmpv6 hop-limit=equal:1 action=drop",
    "/ipv6 firewall filter add chain=forward src-address-list=bad action=drop",
];

/// More rules and settings of IPv6.
pub(super) const FILTER6: &[&str] = &[
    "/ipv6 firewall filter add chain=forward action=passthrough",
    "/ipv6 firewall filter add chain=forward protocol=tcp dst-port=80 action=accept",
    "/ipv6 firewall filter add chain=forward protocol=udp dst-port=7 action=accept log=yes",
    "/ipv6 firewall filter add chain=forward src-address=2001:db8:1::/48 protocol=udp action=drop",
    "/ipv6 firewall filter add chain=forward protocol=udp dst-address=2001:db8:3::/48 action=reject",
    "/ipv6 firewall filter add chain=forward limit=50,5:packet action=passthrough",
    "/ipv6 firewall filter add chain=output action=passthrough",
    "/ipv6 firewall filter add chain=forward connection-limit=20,64 action=passthrough",
    "/ipv6 firewall filter add chain=forward dst-limit=10/1s,5,dst-address action=passthrough",
    "/ipv6 firewall filter add chain=forward src-address-type=!unicast action=drop",
    "/ipv6 firewall mangle add chain=prerouting action=mark-routing new-routing-mark=second6 \
     per-connection-classifier=both-addresses-and-ports:2/0 passthrough=no",
    "/ipv6 route add dst-address=2001:db8:a::/48 type=blackhole routing-table=second6",
    "/routing rule add src-address=2001:db8:2::/48 dst-address=2001:db8:a::/48 table=second6",
    "/routing rule add dst-address=2001:db8:b::/48 action=unreachable",
    "/routing rule add table=second6 min-prefix=0",
    "/ipv6 firewall address-list add list=bad address=2001:db8:2::/64",
    "/ipv6 route add dst-address=2001:db8:a::/48 type=unreachable",
    "/ipv6 route add dst-address=2001:db8:b::/48 type=blackhole",
    "/ipv6 settings set forward=no",
    "/ipv6 settings set forward=yes",
    "/ipv6 settings set max-neighbor-entries=24",
    "/ipv6 firewall nat add chain=srcnat action=masquerade protocol=udp",
    "/ipv6 firewall nat add chain=dstnat protocol=tcp dst-port=81 action=redirect to-ports=80",
    "/ipv6 firewall raw add chain=prerouting protocol=udp dst-port=7 action=notrack",
    "/ipv6 firewall raw add chain=prerouting src-address=2001:db8:2::/48 action=accept",
    "/ipv6 firewall filter add chain=forward connection-state=established,related \
     action=fasttrack-connection",
    "/ipv6 firewall filter add chain=forward connection-state=established,related action=accept",
    "/ipv6 firewall filter add chain=forward connection-state=invalid action=drop",
    "/ipv6 firewall mangle add chain=forward protocol=tcp tcp-flags=syn action=change-mss new-mss=600",
    "/ipv6 firewall mangle add chain=postrouting action=mark-packet new-packet-mark=p6",
    "/ipv6 firewall mangle add chain=forward action=change-dscp new-dscp=20",
    "/queue tree add parent=global packet-mark=p6 max-limit=1M queue=default",
    "/queue simple add target=2001:db8:1::/48 max-limit=2M/2M",
];

/// What a home's router does beside routing.
pub(super) const LAN: &[&str] = &[
    "/ip dns set servers=10.200.1.1 allow-remote-requests=yes",
    "/ip dns static add name=router.lan address=10.1.1.254",
    "/ip dhcp-server add name=lan interface=ether1",
    "/ip dhcp-server remove [find]",
    "/ip dhcp-server disable [find]",
    "/ip dhcp-client disable [find]",
    "/ip dhcp-client enable [find]",
    "/interface pppoe-client disable [find]",
    "/interface pppoe-client enable [find]",
    "/interface l2tp-client disable [find]",
    "/interface l2tp-client enable [find]",
    "/interface l2tp-server server set enabled=no",
    "/interface l2tp-server server set enabled=yes",
    "/interface pptp-client disable [find]",
    "/interface pptp-client enable [find]",
    "/interface pptp-server server set enabled=no",
    "/interface pptp-server server set enabled=yes",
    "/ip dhcp-client set [find] add-default-route=no",
    "/ppp secret set [find] password=q",
    "/ppp profile set [find] change-tcp-mss=yes",
    "/ppp profile set [find] incoming-filter=of-session outgoing-filter=of-session",
    "/ip firewall filter add chain=forward action=jump jump-target=ppp",
    "/ip firewall filter add chain=of-session protocol=udp dst-port=7 action=drop",
    "/interface pppoe-server server set [find] one-session-per-host=yes keepalive-timeout=2",
];
