# 2024-02-11 10:22:31 by RouterOS 7.13.2
# software id = 2B3C-4D5E
#
# model = RB5009UG+S+
/interface bridge
add name=bridge port-cost-mode=short
/interface ethernet
set [ find default-name=ether1 ] name=wan1
set [ find default-name=ether2 ] name=wan2
/interface list
add name=WAN
add name=LAN
/ip pool
add name=dhcp_pool0 ranges=10.20.0.100-10.20.0.199
/ip dhcp-server
add address-pool=dhcp_pool0 interface=bridge name=dhcp1
/ip smb users
set [ find default=yes ] disabled=yes
/port
set 0 name=serial0
/routing table
add disabled=no fib name=to-wan1
add disabled=no fib name=to-wan2
/interface bridge port
add bridge=bridge interface=ether3 internal-path-cost=10 path-cost=10
add bridge=bridge interface=ether4 internal-path-cost=10 path-cost=10
/ip firewall connection tracking
set udp-timeout=10s
/ip neighbor discovery-settings
set discover-interface-list=!dynamic
/ip settings
set rp-filter=loose tcp-syncookies=yes
/ipv6 settings
set disable-ipv6=yes max-neighbor-entries=8192
/interface list member
add interface=wan1 list=WAN
add interface=wan2 list=WAN
add interface=bridge list=LAN
/interface ovpn-server server
set auth=sha1,md5
/ip address
add address=10.20.0.1/24 interface=bridge network=10.20.0.0
add address=192.0.2.2/30 interface=wan1 network=192.0.2.0
/ip dhcp-client
add add-default-route=no interface=wan2 use-peer-dns=no use-peer-ntp=no
/ip dhcp-server network
add address=10.20.0.0/24 dns-server=10.20.0.1 gateway=10.20.0.1 netmask=24
/ip dns
set allow-remote-requests=yes servers=1.1.1.1,8.8.8.8
/ip firewall filter
add action=fasttrack-connection chain=forward connection-mark=no-mark \
    connection-state=established,related hw-offload=yes
add action=accept chain=forward connection-state=\
    established,related,untracked
add action=drop chain=forward connection-state=invalid
/ip firewall mangle
add action=mark-connection chain=input connection-state=new in-interface=wan1 \
    new-connection-mark=wan1 passthrough=yes
add action=mark-connection chain=input connection-state=new in-interface=wan2 \
    new-connection-mark=wan2 passthrough=yes
add action=mark-routing chain=output connection-mark=wan1 new-routing-mark=\
    to-wan1 passthrough=no
add action=mark-routing chain=output connection-mark=wan2 new-routing-mark=\
    to-wan2 passthrough=no
add action=mark-connection chain=prerouting connection-mark=no-mark \
    dst-address-type=!local in-interface-list=LAN new-connection-mark=wan1 \
    passthrough=yes per-connection-classifier=src-address-and-port:2/0
add action=mark-connection chain=prerouting connection-mark=no-mark \
    dst-address-type=!local in-interface-list=LAN new-connection-mark=wan2 \
    passthrough=yes per-connection-classifier=src-address-and-port:2/1
/ip firewall nat
add action=masquerade chain=srcnat out-interface-list=WAN
/ip route
add check-gateway=ping disabled=no distance=1 dst-address=0.0.0.0/0 gateway=\
    192.0.2.1 pref-src="" routing-table=main scope=30 suppress-hw-offload=no \
    target-scope=10
add disabled=no distance=1 dst-address=0.0.0.0/0 gateway=192.0.2.1 \
    pref-src="" routing-table=to-wan1 scope=30 suppress-hw-offload=no \
    target-scope=10
add disabled=no distance=1 dst-address=0.0.0.0/0 gateway=198.51.100.1%wan2 \
    pref-src="" routing-table=to-wan2 scope=30 suppress-hw-offload=no \
    target-scope=10
add blackhole disabled=no distance=1 dst-address=10.0.0.0/8 gateway="" \
    routing-table=main scope=30 suppress-hw-offload=no
/ip service
set telnet disabled=yes
set ftp disabled=yes
set ssh address=10.20.0.0/24
set winbox address=10.20.0.0/24
/routing bfd configuration
add disabled=no interfaces=all min-rx=200ms min-tx=200ms multiplier=5
/routing rule
add action=lookup-only-in-table disabled=no dst-address=10.20.0.0/24 table=\
    main
add action=lookup disabled=no routing-mark=to-wan1 table=to-wan1
/system clock
set time-zone-name=America/New_York
/system identity
set name=edge
/system note
set show-at-login=no
/system ntp client
set enabled=yes
/system ntp client servers
add address=192.0.2.123
add address=192.0.2.124
/tool netwatch
add disabled=no down-script=\
    "/ip route disable [find routing-table=to-wan1]" host=192.0.2.1 \
    interval=10s test-script="" type=icmp up-script=\
    "/ip route enable [find routing-table=to-wan1]"
