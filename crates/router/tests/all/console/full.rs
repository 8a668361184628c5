//! A configuration with something in each menu.

/// Something in every menu, in their order, and all that can be away from its default.
pub(super) const FULL: &str = "/interface ethernet
set ether1 name=wan mtu=1400 comment=\"to the lab\" mac-address=02:00:00:00:00:11
set ether4 disabled=yes
/interface bridge
add name=lan protocol-mode=stp priority=0x7000 forward-delay=10s max-message-age=19s transmit-hold-count=5 vlan-filtering=yes pvid=5 ether-type=0x88a8 ingress-filtering=yes ageing-time=1m mtu=1280 auto-mac=no admin-mac=02:00:00:00:00:77 dhcp-snooping=yes fast-forward=no igmp-snooping=yes membership-interval=5m
add disabled=yes
/interface bonding
add slaves=ether4 mode=802.3ad lacp-rate=1sec transmit-hash-policy=layer-3-and-4 min-links=1
/interface vlan
add name=voice vlan-id=10 interface=wan mtu=1300
add name=outer vlan-id=100 interface=lan use-service-tag=yes disabled=yes comment=z
/interface ipip
add name=i remote-address=10.0.2.9 local-address=10.0.2.254 keepalive=1m,3 dscp=46 mtu=1400
/interface gre
add remote-address=10.0.2.9 clamp-tcp-mss=no dont-fragment=inherit disabled=yes comment=g
/interface 6to4
add name=six remote-address=10.0.2.9 keepalive=5s,4 dscp=0 mtu=1280 clamp-tcp-mss=no dont-fragment=inherit
/interface eoip
add remote-address=10.0.2.9 tunnel-id=65535 mac-address=06:00:00:00:00:99 keepalive=0,0
/interface l2tp-ether
add name=far connect-to=10.0.2.9 unmanaged-mode=yes local-session-id=7 remote-session-id=4294967295 \\
    send-cookie=0123456789ABCDEF peer-cookie=deadbeef l2tp-proto-version=l2tpv3-ip \\
    use-l2-specific-sublayer=yes allow-fast-path=yes mac-address=06:00:00:00:00:98 mtu=1400 comment=l
/interface wireguard
add name=wg1 listen-port=13232 mtu=1400 private-key=\"ERERERERERERERERERERERERERERERERERERERERERE=\" comment=w
add name=wg2 disabled=yes private-key=\"ERERERERERERERERERERERERERERERERERERERERERE=\"
/interface wireguard peers
add interface=wg1 name=laptop public-key=\"D6poTtKIZ7l/Smot7l34zpdOdrcBjj8iocTPJnhXDyA=\" preshared-key=\"ERERERERERERERERERERERERERERERERERERERERERE=\" \\
    allowed-address=10.9.0.2/32,fd00:9::2/128 persistent-keepalive=25s responder=yes comment=p
add interface=wg1 private-key=\"ERERERERERERERERERERERERERERERERERERERERERE=\" endpoint-address=vpn.example.com endpoint-port=51820 \\
    allowed-address=::/0 client-address=10.9.0.3/32 client-dns=10.9.0.1 client-endpoint=a.example \\
    client-keepalive=25s client-listen-port=1 client-allowed-address=0.0.0.0/0 disabled=yes
/interface vrrp
add interface=wan vrid=9 priority=254 version=2 authentication=simple password=x interval=3s
add interface=lan preemption-mode=no disabled=yes comment=v
/interface absent
add name=wlan1
add name=radio disabled=yes comment=a
/ip pool
add name=p ranges=10.0.2.10-10.0.2.20,10.0.2.30 comment=p
add ranges=10.0.3.0/24 next-pool=p
/ppp profile
add name=p local-address=10.9.0.1 remote-address=10.9.0.2 change-tcp-mss=no only-one=yes comment=q
/interface pppoe-client
add interface=wan user=bob password=\"a b\" profile=p max-mtu=1400 max-mru=1480 keepalive-timeout=disabled \\
    service-name=isp ac-name=ac add-default-route=yes default-route-distance=3 allow=chap
add name=dsl interface=outer disabled=yes comment=d
/interface pppoe-server server
add service-name=isp interface=wan max-mtu=1480 max-mru=1400 authentication=pap keepalive-timeout=60 \\
    one-session-per-host=yes max-sessions=9 default-profile=p
add interface=wan disabled=yes
/interface pppoe-server add name=home user=bob service=isp
/interface l2tp-client
add connect-to=10.0.2.9 user=bob password=x keepalive-timeout=20 disabled=yes comment=l
/interface l2tp-server server
set enabled=yes authentication=chap max-mtu=1400
/interface l2tp-server add user=bob comment=b
/ppp l2tp-secret
add address=10.0.2.9 secret=s
/interface pptp-client
add connect-to=10.0.2.9 user=bob password=x keepalive-timeout=20 disabled=yes comment=l
/interface pptp-server server
set enabled=yes authentication=chap max-mtu=1400
/interface pptp-server add user=bob disabled=yes
/ppp secret
add name=bob password=x service=pppoe caller-id=06:00:00:00:00:01 profile=p local-address=10.9.0.3
add name=eve remote-address=10.9.0.4 disabled=yes comment=e
/radius
add address=10.0.2.9 secret=s service=ppp timeout=1s comment=r
/radius incoming
set accept=yes
/ppp aaa
set use-radius=yes interim-update=5m
/interface bridge port
add interface=ether2 bridge=lan pvid=7 frame-types=admit-only-vlan-tagged ingress-filtering=yes tag-stacking=yes learn=no horizon=3 broadcast-flood=no
add interface=ether3 bridge=lan priority=0x70 path-cost=20 edge=yes point-to-point=no restricted-role=yes restricted-tcn=yes unknown-unicast-flood=no unknown-multicast-flood=no trusted=yes fast-leave=yes multicast-router=permanent
/interface bridge vlan
add bridge=lan vlan-ids=10,20-29 tagged=ether2,lan untagged=ether3
/interface list
add name=inner
add name=LAN include=inner exclude=dynamic comment=w
/interface list member
add list=inner interface=lan
add list=LAN interface=voice
/interface bridge settings set allow-fast-path=no use-ip-firewall=yes
/interface bridge filter
add chain=forward in-interface=ether2 mac-protocol=arp arp-opcode=request
add chain=forward src-mac-address=06:00:00:00:00:00/FF:00:00:00:00:00 vlan-id=!5 action=drop
add chain=mine ip-protocol=tcp dst-port=80-90 packet-type=host limit=10/1m,5:packet log=yes \\
    log-prefix=\"a b\" dst-address=10.0.0.0/8
/interface bridge nat
add chain=dstnat action=dst-nat to-dst-mac-address=02:00:00:00:00:09 mac-protocol=!ip
add chain=dstnat action=arp-reply to-arp-reply-mac-address=02:00:00:00:00:09 arp-gratuitous=no arp-hardware-type=1
add chain=srcnat action=src-nat to-src-mac-address=02:00:00:00:00:09 vlan-encap=ip vlan-priority=3 disabled=yes
add chain=srcnat stp-type=config stp-flags=topology-change stp-port=1-9 802.3-sap=0x42
/routing table add name=isp9
/ip settings set ip-forward=no max-neighbor-entries=100 arp-timeout=10s icmp-rate-limit=0 \\
    icmp-rate-mask=0x8 allow-fast-path=no
/ip route vrf add routing-mark=red interfaces=radio comment=v
/ip vrf add name=green disabled=yes
/ip address
add address=10.0.1.254/24 interface=wan
add address=10.0.2.254/24 interface=lan network=10.0.2.0 disabled=yes comment=x
/ip arp add address=10.0.1.9 mac-address=06:00:00:00:00:09 interface=wan
/ip route
add gateway=10.0.1.1,10.0.1.2 distance=7
add dst-address=10.9.0.0/16 gateway=lan
add dst-address=10.8.0.0/16 type=prohibit
add gateway=10.0.1.9 routing-table=isp9
add blackhole dst-address=10.66.0.0/16 gateway=\"\"
/ip route rule
add src-address=10.0.1.0/24 routing-mark=second action=lookup-only-in-table table=second
/routing rule
add src-address=10.77.0.0/16 table=isp9
add dst-address=2001:db8:77::/48 interface=wan min-prefix=0 table=isp9
/ip dhcp-server option
add name=tz code=101 value=\"s'UTC'0x00\" force=yes
/ip dhcp-server option sets
add name=all options=tz
/ip dhcp-client option
set clientid value=\"0x07\\$(CLIENT_MAC)\"
add code=60 name=vendor value=\"s'a'\"
/ip dhcp-server
add name=d interface=lan address-pool=p lease-time=1h authoritative=yes dhcp-option-set=all delay-threshold=2s \\
    conflict-detection=no add-arp=yes
add interface=wan disabled=yes bootp-support=none always-broadcast=yes
/ip dhcp-server network
add address=10.0.2.0/24 gateway=10.0.2.254 dns-server=10.0.2.254,8.8.8.8 domain=lan boot-file-name=\"a b\" dhcp-option=tz
/ip dhcp-server lease
add address=10.0.2.9 mac-address=06:00:00:00:00:19 client-id=1:2:FF server=d lease-time=1d block-access=yes comment=l
add address=10.0.2.8 mac-address=06:00:00:00:00:18 always-broadcast=yes disabled=yes
/ip dhcp-server config set store-leases-disk=never
/ip dhcp-client
add interface=voice add-default-route=no use-peer-dns=no default-route-distance=9 dhcp-options=clientid disabled=yes
/ip dhcp-relay
add interface=voice dhcp-server=10.0.2.9,10.0.2.8 local-address=10.0.2.1 add-relay-info=yes disabled=yes
/ip dns set servers=1.1.1.1,8.8.8.8 allow-remote-requests=yes cache-size=4096 cache-max-ttl=1d max-udp-packet-size=1232
/ip dns forwarders
add name=hq dns-servers=10.0.2.9,2001:db8::9 verify-doh-cert=no comment=f
/ip dns static
add name=corp.lan type=FWD forward-to=hq,10.0.2.8
add name=router.lan address=10.0.2.254 ttl=1h comment=n
add regexp=\"^a.*b\" type=NXDOMAIN disabled=yes
add name=x type=CNAME cname=router.lan match-subdomain=yes
add name=y type=AAAA address=2001:db8::1
add name=z type=SRV srv-target=y srv-port=5060 srv-weight=1
add name=z type=TXT text=\"a b\"
add name=w type=FWD forward-to=1.1.1.1,9.9.9.9 address-list=w match-subdomain=yes
/ip hotspot user profile add name=guest shared-users=unlimited rate-limit=1M/2M address-list=guests
/ip hotspot profile add name=guests hotspot-address=10.0.0.1 login-by=http-pap,mac mac-auth-password=x
/ip hotspot add name=hs interface=lan profile=guests idle-timeout=none
/ip hotspot user add name=ann password=secret profile=guest server=hs limit-uptime=1h
/ip hotspot ip-binding add address=10.0.0.60-10.0.0.69 type=bypassed
/ip hotspot walled-garden ip add dst-address=192.0.2.9 protocol=tcp dst-port=80,8000-8099
/ip nat-pmp set enabled=yes
/ip nat-pmp interfaces
add interface=wan type=external forced-ip=10.0.1.254
add interface=lan type=internal disabled=yes
/ip upnp set enabled=yes show-dummy-rule=no
/ip upnp interfaces
add interface=wan type=external forced-ip=10.0.1.254
add interface=lan type=internal disabled=yes
/ip traffic-flow set enabled=yes interfaces=wan,lan active-flow-timeout=1m inactive-flow-timeout=5s
/ip traffic-flow target
add dst-address=10.0.2.9 comment=t
add dst-address=10.0.2.9 port=9996 src-address=10.0.2.254 version=ipfix v9-template-refresh=5 \\
    v9-template-timeout=1m disabled=yes
/ip ipsec profile add name=office hash-algorithm=sha256 enc-algorithm=aes-256 dh-group=ecp256
/ip ipsec proposal add name=office auth-algorithms=sha256 enc-algorithms=aes-256-gcm,aes-256-cbc pfs-group=none
/ip ipsec peer add name=office address=203.0.113.9/32 exchange-mode=ike2 profile=office
/ip ipsec identity add peer=office secret=word my-id=fqdn:home.example remote-id=address:203.0.113.9
/ip ipsec policy add peer=office tunnel=yes src-address=10.0.0.0/24 dst-address=10.9.0.0/24 proposal=office
/mpls set propagate-ttl=no dynamic-label-range=1000-1999
/mpls interface add interface=all mpls-mtu=1512
/mpls ldp set enabled=yes lsr-id=10.255.0.1 transport-address=10.255.0.1
/mpls ldp interface add interface=lan hello-interval=2s hold-time=6s
/mpls ldp accept-filter add prefix=10.0.0.0/8 accept=no
/mpls ldp advertise-filter add neighbor=10.255.0.2 advertise=no
/mpls local-bindings add dst-address=10.200.0.0/16 label=500
/mpls remote-bindings add dst-address=10.200.0.0/16 nexthop=10.0.0.9 label=impl-null
/ip accounting set enabled=yes threshold=512
/ip neighbor discovery-settings
set discover-interface-list=!dynamic protocol=lldp mode=rx-only
/ip firewall address-list add list=bad address=192.168.0.0/16 comment=y
/ip firewall layer7-protocol
add name=http regexp=^get
/ip firewall raw
add chain=prerouting protocol=udp dst-port=5060 action=notrack comment=r
add chain=output dst-address=10.9.0.0/16 action=drop disabled=yes
/ip firewall mangle
add chain=prerouting connection-state=new action=mark-connection new-connection-mark=web
add chain=forward connection-mark=web action=mark-packet new-packet-mark=web passthrough=no
add chain=forward protocol=tcp tcp-flags=syn action=change-mss new-mss=1360
/ip firewall filter
add chain=input in-interface-list=!LAN protocol=icmp icmp-options=8:0 comment=\"; \\$ \\\"\"
add chain=forward connection-state=!established,related src-address=10.0.0.1-10.0.0.9 \\
    dst-address-list=bad ttl=less-than:5 dscp=!3 packet-size=0-100 random=50 nth=3,1 action=jump \\
    jump-target=mine
add chain=mine protocol=tcp tcp-flags=syn,!ack tcp-mss=0-500 dst-port=80,443-450 action=reject \\
    reject-with=tcp-reset
add chain=forward src-address-type=!local content=x ipv4-options=any fragment=yes \\
    src-mac-address=06:00:00:00:00:01 limit=5,10:packet action=drop log=yes log-prefix=L
add chain=forward action=fasttrack-connection connection-state=established
/ip firewall nat
add chain=srcnat out-interface=wan action=masquerade
add chain=dstnat protocol=udp dst-port=53 action=dst-nat to-addresses=10.0.2.1 to-ports=5353
add chain=srcnat action=src-nat to-addresses=10.0.1.100-10.0.1.110 disabled=yes
/ip firewall connection tracking set enabled=yes udp-timeout=30s loose-tcp-tracking=no
/ipv6 settings set forward=no max-neighbor-entries=100
/ipv6 pool
add name=six prefix=2001:db8:40::/48 prefix-length=64
/ipv6 address
add address=2001:db8:1::1/64 interface=wan advertise=no no-dad=yes
add address=2001:db8:2::/64 eui-64=yes interface=lan disabled=yes comment=six
add address=::1 from-pool=six interface=lan
/ipv6 route
add dst-address=2001:db8:9::/48 gateway=2001:db8:1::9,fe80::1%wan distance=7
add dst-address=2001:db8:8::/48 type=prohibit
/ipv6 dhcp-server option
add name=dns6 code=23 value=\"'2001:db8::53'\"
/ipv6 dhcp-server option sets
add name=all6 options=dns6
/ipv6 dhcp-server
add name=s6 interface=lan address-pool=six lease-time=1h dhcp-option=dns6 dhcp-option-set=all6 preference=9
/ipv6 dhcp-server binding
add address=2001:db8:40:100::/64 duid=0x00030001020000000099 iaid=7 server=s6 life-time=1d comment=b
/ipv6 dhcp-client
add interface=voice request=prefix,address pool-name=isp6 prefix-hint=::/56 add-default-route=yes disabled=yes
/ipv6 dhcp-relay
add interface=voice dhcp-server=2001:db8:9::53,2001:db8:9::54 link-address=2001:db8:7::1 delay-time=2s comment=r
/ipv6 nd
set [ find default=yes ] ra-interval=20s-1m dns=2001:db8::53 hop-limit=64
add interface=lan managed-address-configuration=yes ra-preference=low mtu=1480
/ipv6 nd prefix
add prefix=2001:db8:1::/64 interface=wan autonomous=no valid-lifetime=infinity
/ipv6 nd prefix default set preferred-lifetime=1h
/ipv6 nd proxy add interface=wan address=2001:db8:1::77 comment=x
/ipv6 firewall address-list add list=bad address=fec0::/10
/ipv6 firewall raw
add chain=prerouting protocol=udp dst-port=53 action=notrack comment=n
/ipv6 firewall mangle
add chain=forward action=mark-packet new-packet-mark=six passthrough=no
/ipv6 firewall filter
add chain=input protocol=icmpv6 icmp-options=128:0 hop-limit=equal:255 comment=pings
add chain=forward src-address=!2001:db8::/32 dst-address-list=bad action=reject \\
    reject-with=icmp-admin-prohibited
/ipv6 firewall nat
add chain=srcnat action=masquerade comment=six
/queue type
add name=fair kind=fq-codel
/queue simple
add name=a target=10.0.2.0/24,lan dst=wan max-limit=1M/2500k bucket-size=1/0.01 queue=default/default
add target=10.0.2.7/32 disabled=yes
/queue tree
add name=up parent=wan max-limit=10M queue=fair
/queue interface set ether2 queue=fair
/ip firewall service-port set ftp disabled=yes ports=21,2121
/ip firewall service-port set sip sip-direct-media=no sip-timeout=30m
/snmp
set enabled=yes contact=c location=\"a b\" trap-version=2
/snmp community
set 0 name=monitoring addresses=10.0.0.0/8
add name=other read-access=no
/tool sniffer set only-headers=yes memory-limit=2MiB memory-scroll=no file-name=\"a b.pcapng\" \\
    file-limit=20 filter-interface=wan,lan filter-mac-address=!06:00:00:00:00:01 \\
    filter-mac-protocol=ip,arp filter-ip-address=10.0.0.0/8,1.2.3.4 filter-ip-protocol=udp \\
    filter-port=!dns,8000-8080 filter-vlan=5 filter-direction=rx \\
    filter-operator-between-entries=and
/system identity
set name=gw
/system logging action
set memory memory-lines=77
set 3 remote=10.0.2.9 bsd-syslog=yes
add name=own target=disk
/system logging
set 0 topics=info,!dhcp prefix=P
disable 3
add topics=dhcp action=own comment=l
/system ntp client set enabled=yes primary-ntp=10.0.2.9 server-dns-names=a.example,b.example
/system ntp client servers
add address=10.0.2.10
add address=c.example iburst=no
/system ntp server set enabled=yes
";
