# oct/30/2021 09:09:09 by RouterOS 6.47.10
# software id = ABCD-0002
#
# model = CRS112-8P-4S
/interface bridge
add name=bridge1 priority=0x4000
/interface ethernet
set [ find default-name=ether1 ] comment=uplink poe-out=off rx-flow-control=\
    off tx-flow-control=off
set [ find default-name=ether2 ] comment=camera poe-out=forced-on
set [ find default-name=ether3 ] loop-protect=on poe-priority=5
set [ find default-name=ether8 ] disabled=yes
set [ find default-name=sfp9 ] auto-negotiation=no speed=1Gbps
/interface wireless security-profiles
set [ find default=yes ] supplicant-identity=MikroTik
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 edge=yes-discover interface=ether2
add bridge=bridge1 interface=ether3 path-cost=20000
add bridge=bridge1 horizon=1 interface=ether4
add bridge=bridge1 horizon=1 interface=ether5
add bridge=bridge1 hw=no interface=sfp9 priority=0x40
/ip neighbor discovery-settings
set discover-interface-list=all
/ip address
add address=192.168.3.2/24 interface=bridge1 network=192.168.3.0
/ip dns
set servers=192.168.3.1
/ip route
add distance=1 gateway=192.168.3.1
/ip service
set telnet disabled=yes
set ftp disabled=yes
set api disabled=yes
set api-ssl disabled=yes
/snmp
set enabled=yes
/system clock
set time-zone-name=Australia/Sydney
/system identity
set name=sw-kitchen
/system ntp client
set enabled=yes primary-ntp=192.168.3.1
/system routerboard settings
set auto-upgrade=yes
/tool mac-server ping
set enabled=no
