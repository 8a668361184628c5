# 2023-06-21 13:37:00 by RouterOS 7.9.2
# software id = ABCD-0004
#
/interface bonding
add mode=active-backup name=bond1 primary=ether3 slaves=ether3,ether4
/interface vlan
add interface=bond1 name=vlan10 vlan-id=10
add interface=bond1 name=vlan20 vlan-id=20
/interface vrrp
add interface=vlan10 name=vrrp10 priority=200 vrid=10
add interface=vlan20 name=vrrp20 vrid=20
/interface list
add name=LAN
/ip firewall layer7-protocol
add name=torrent regexp="^(\\x13bittorrent protocol)"
/interface list member
add interface=vlan10 list=LAN
add interface=vlan20 list=LAN
/ip address
add address=10.0.10.2/24 interface=vlan10 network=10.0.10.0
add address=10.0.10.1/32 interface=vrrp10 network=10.0.10.1
add address=10.0.20.2/24 interface=vlan20 network=10.0.20.0
add address=10.0.20.1/32 interface=vrrp20 network=10.0.20.1
add address=172.16.0.2/24 interface=ether1 network=172.16.0.0
/ip dhcp-relay
add dhcp-server=172.16.0.10 disabled=no interface=vlan10 local-address=\
    10.0.10.2 name=relay10
/ip firewall address-list
add address=172.16.0.0/24 list=core
add address=10.0.0.0/16 list=inside
/ip firewall filter
add action=accept chain=input protocol=vrrp
add action=accept chain=input protocol=icmp
add action=accept chain=input src-address-list=core
add action=accept chain=input connection-state=established,related
add action=drop chain=input
add action=accept chain=forward connection-state=established,related
add action=drop chain=forward layer7-protocol=torrent src-address-list=inside
add action=accept chain=forward connection-limit=200,32 protocol=tcp \
    tcp-flags=syn src-address-list=inside
add action=drop chain=forward connection-limit=!200,32 dst-limit=\
    100,50,src-address/1m disabled=yes
/ip route
add disabled=no distance=1 dst-address=0.0.0.0/0 gateway=172.16.0.1 \
    routing-table=main scope=30 suppress-hw-offload=no target-scope=10
add disabled=no dst-address=192.168.0.0/16 gateway=172.16.0.3%ether1
/system clock
set time-zone-name=Europe/Warsaw
/system identity
set name=gw-a
/system logging
add action=echo prefix=V topics=vrrp
/system ntp client
set enabled=yes
/system ntp client servers
add address=172.16.0.1
/system script
add dont-require-permissions=no name=report owner=admin policy=read source=\
    ":put [/system identity get name]"
/tool bandwidth-server
set enabled=no
