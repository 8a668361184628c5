# 2023-10-01 07:55:12 by RouterOS 7.11.2
# software id = 1212-3434
#
# model = CRS326-24G-2S+
/interface bridge
add comment="all VLANs" frame-types=admit-only-vlan-tagged name=bridge1 \
    priority=0x1000 vlan-filtering=yes
/interface ethernet
set [ find default-name=ether1 ] l2mtu=1592
set [ find default-name=sfp-sfpplus1 ] advertise=\
    10M-half,10M-full,100M-half,100M-full,1000M-half,1000M-full
/interface vlan
add interface=bridge1 name=mgmt vlan-id=99
add interface=bridge1 name=staff vlan-id=10
add interface=bridge1 name=students vlan-id=20
add interface=bridge1 name=voice vlan-id=30
/interface bonding
add mode=802.3ad name=bond-core slaves=sfp-sfpplus1,sfp-sfpplus2 \
    transmit-hash-policy=layer-2-and-3
/interface ethernet switch
set 0 l3-hw-offloading=yes
/interface list
add name=mgmt
add exclude=dynamic name=discover
/ip pool
add name=staff ranges=10.10.0.50-10.10.3.250
add name=students ranges=10.20.0.50-10.20.7.250
add name=voice ranges=10.30.0.50-10.30.0.250
/ip dhcp-server option
add code=66 name=tftp value="'10.30.0.5'"
add code=150 name=cisco value=0x0A1E0005
/ip dhcp-server option sets
add name=phones options=tftp,cisco
/ip dhcp-server
add address-pool=staff interface=staff lease-time=8h name=staff
add address-pool=students interface=students lease-time=2h name=students
add address-pool=voice interface=voice lease-time=1d name=voice
/snmp community
set [ find default=yes ] disabled=yes
add addresses=10.99.0.0/24 name=campus
/interface bridge port
add bridge=bridge1 edge=yes frame-types=\
    admit-only-untagged-and-priority-tagged interface=ether2 pvid=10
add bridge=bridge1 edge=yes frame-types=\
    admit-only-untagged-and-priority-tagged interface=ether3 pvid=20
add bpdu-guard=yes bridge=bridge1 edge=yes interface=ether4 pvid=30
add bridge=bridge1 frame-types=admit-only-vlan-tagged interface=bond-core
/interface bridge vlan
add bridge=bridge1 tagged=bridge1,bond-core vlan-ids=99
add bridge=bridge1 tagged=bridge1,bond-core untagged=ether2 vlan-ids=10
add bridge=bridge1 tagged=bridge1,bond-core untagged=ether3 vlan-ids=20
add bridge=bridge1 tagged=bridge1,bond-core untagged=ether4 vlan-ids=30
/interface list member
add interface=mgmt list=mgmt
/ip address
add address=10.99.0.1/24 interface=mgmt network=10.99.0.0
add address=10.10.0.1/22 interface=staff network=10.10.0.0
add address=10.20.0.1/21 interface=students network=10.20.0.0
add address=10.30.0.1/24 interface=voice network=10.30.0.0
add address=10.0.0.2/30 interface=ether1 network=10.0.0.0
/ip dhcp-relay
add dhcp-server=10.99.0.10 disabled=yes interface=mgmt local-address=\
    10.99.0.1 name=relay1
/ip dhcp-server lease
add address=10.30.0.60 lease-time=1w mac-address=02:00:00:00:30:60 server=\
    voice
add address-lists=printers address=10.10.0.30 mac-address=02:00:00:00:10:30 \
    server=staff
/ip dhcp-server network
add address=10.10.0.0/22 dns-server=10.99.0.53 domain=campus.example gateway=\
    10.10.0.1
add address=10.20.0.0/21 dns-server=10.99.0.53 gateway=10.20.0.1
add address=10.30.0.0/24 dhcp-option-set=phones dns-server=10.99.0.53 \
    gateway=10.30.0.1
/ip dns
set servers=10.99.0.53
/ip firewall filter
add action=accept chain=forward connection-state=established,related
add action=drop chain=forward in-interface=students out-interface=staff
add action=drop chain=forward in-interface=students out-interface=mgmt
add action=drop chain=input in-interface=students protocol=tcp dst-port=\
    22,80,8291
/ip route
add disabled=no distance=1 dst-address=0.0.0.0/0 gateway=10.0.0.1 \
    routing-table=main suppress-hw-offload=no
/ip service
set telnet disabled=yes
set ftp disabled=yes
set www disabled=yes
set api disabled=yes
set api-ssl disabled=yes
/snmp
set enabled=yes location="building 3"
/system clock
set time-zone-name=Europe/Vienna
/system identity
set name=campus-core
/system logging action
add name=siem remote=10.99.0.20 remote-port=5514 src-address=10.99.0.1 \
    syslog-facility=local0 bsd-syslog=yes target=remote
/system logging
add action=siem topics=info
add action=siem topics=warning
/system note
set note="Property of the campus.\r\
    \nNo entry."
/system ntp client
set enabled=yes
/system ntp client servers
add address=10.99.0.123
/user group
add name=helpdesk policy="read,test,winbox,web,!local,!telnet,!ssh,!ftp,!reboo\
    t,!write,!policy,!password,!sniff,!sensitive,!api,!romon,!rest-api"
