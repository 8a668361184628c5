# 2024-08-20 18:31:00 by RouterOS 7.15.3
# software id = ABCD-0001
#
/interface bridge
add name=bridge protocol-mode=none
/interface list
add name=WAN
add name=LAN
/interface bridge port
add bridge=bridge interface=ether2
add bridge=bridge interface=ether3
/ipv6 settings
set accept-redirects=no accept-router-advertisements=no
/interface list member
add interface=ether1 list=WAN
add interface=bridge list=LAN
/ip address
add address=192.168.70.1/24 interface=bridge network=192.168.70.0
/ip dhcp-client
add interface=ether1 use-peer-dns=no
/ip firewall nat
add action=masquerade chain=srcnat out-interface-list=WAN
/ipv6 route
add disabled=no distance=1 dst-address=::/0 gateway=2001:db8:ffff::1 \
    routing-table=main scope=30 target-scope=10
add blackhole disabled=no distance=254 dst-address=2001:db8:70::/48 gateway="" \
    routing-table=main scope=30 target-scope=10
/ipv6 address
add address=2001:db8:ffff::2 advertise=no interface=ether1
add address=2001:db8:70:1::1 interface=bridge
/ipv6 firewall filter
add action=accept chain=input connection-state=established,related
add action=accept chain=input protocol=icmpv6
add action=drop chain=input in-interface-list=!LAN
add action=accept chain=forward connection-state=established,related
add action=accept chain=forward protocol=icmpv6
add action=drop chain=forward connection-state=invalid
add action=drop chain=forward in-interface-list=!LAN
/ipv6 nd
set [ find default=yes ] interface=bridge ra-interval=1m-2m
/system clock
set time-zone-autodetect=no time-zone-name=Asia/Tokyo
/system identity
set name=six
/system note
set show-at-login=no
