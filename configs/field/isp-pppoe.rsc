# nov/28/2022 02:10:00 by RouterOS 6.48.6
# software id = AAAA-BBBB
#
# model = CCR1009-7G-1C-1S+
/interface ethernet
set [ find default-name=sfp-sfpplus1 ] comment=uplink
set [ find default-name=ether1 ] comment="access ring"
/interface vlan
add interface=ether1 name=vlan100 vlan-id=100
add interface=ether1 name=vlan200 vlan-id=200
/ip pool
add name=subscribers ranges=100.64.0.2-100.64.255.254
add name=walled ranges=10.255.0.2-10.255.3.254
/ppp profile
add dns-server=192.0.2.53,192.0.2.54 local-address=100.64.0.1 name=20M \
    only-one=yes rate-limit=5M/20M remote-address=subscribers
add dns-server=192.0.2.53,192.0.2.54 local-address=100.64.0.1 name=100M \
    only-one=yes rate-limit=50M/100M remote-address=subscribers
add address-list=debtors local-address=100.64.0.1 name=walled \
    remote-address=walled
/queue type
add kind=pcq name=down pcq-classifier=dst-address pcq-rate=20M
add kind=pcq name=up pcq-classifier=src-address pcq-rate=5M
add kind=sfq name=sfq1
/snmp community
set [ find default=yes ] addresses=192.0.2.0/24 name=monitoring
/interface pppoe-server server
add authentication=pap,chap,mschap2 default-profile=20M disabled=no \
    interface=vlan100 max-mru=1480 max-mtu=1480 one-session-per-host=yes \
    service-name=internet
add authentication=pap,chap default-profile=20M disabled=no interface=vlan200 \
    keepalive-timeout=30 one-session-per-host=yes service-name=internet
/ip address
add address=192.0.2.10/30 interface=sfp-sfpplus1 network=192.0.2.8
add address=10.255.0.1/22 interface=ether2 network=10.255.0.0
/ip cloud
set update-time=no
/ip dns
set servers=192.0.2.53,192.0.2.54
/ip firewall address-list
add address=192.0.2.0/24 list=noc
add address=203.0.113.0/24 list=noc
/ip firewall filter
add action=accept chain=input connection-state=established,related
add action=accept chain=input protocol=icmp
add action=accept chain=input src-address-list=noc
add action=add-src-to-address-list address-list=scanners \
    address-list-timeout=1d chain=input protocol=tcp psd=21,3s,3,1
add action=drop chain=input src-address-list=scanners
add action=drop chain=input in-interface=sfp-sfpplus1
add action=jump chain=forward jump-target=debtors src-address-list=debtors
add action=accept chain=debtors dst-address=192.0.2.80
add action=accept chain=debtors dst-port=53 protocol=udp
add action=reject chain=debtors reject-with=icmp-network-unreachable
add action=drop chain=forward dst-port=25 protocol=tcp src-address=\
    100.64.0.0/16 src-address-list=!noc
/ip firewall mangle
add action=change-mss chain=forward new-mss=clamp-to-pmtu out-interface=\
    all-ppp passthrough=yes protocol=tcp tcp-flags=syn
/ip firewall nat
add action=src-nat chain=srcnat out-interface=sfp-sfpplus1 src-address=\
    100.64.0.0/16 to-addresses=203.0.113.16-203.0.113.31
add action=dst-nat chain=dstnat dst-port=80 protocol=tcp src-address-list=\
    debtors to-addresses=192.0.2.80 to-ports=8080
/ip firewall raw
add action=drop chain=prerouting in-interface=sfp-sfpplus1 src-address=\
    10.0.0.0/8
add action=drop chain=prerouting dst-port=19,123,1900 in-interface=\
    sfp-sfpplus1 packet-size=400-65535 protocol=udp
add action=notrack chain=prerouting dst-address=192.0.2.8/30
/ip route
add distance=1 gateway=192.0.2.9
add distance=254 dst-address=203.0.113.0/24 type=blackhole
/ip service
set telnet address=192.0.2.0/24
set ftp disabled=yes
set www disabled=yes
set ssh address=192.0.2.0/24 port=2222
set api disabled=yes
set winbox address=192.0.2.0/24
set api-ssl disabled=yes
/ip traffic-flow
set cache-entries=64k
/ppp aaa
set interim-update=5m use-radius=no
/ppp secret
add name=alice password=a profile=20M service=pppoe
add name=bob password=b profile=100M remote-address=100.64.9.9 service=pppoe
add disabled=yes name=carol password=c profile=walled service=pppoe
/snmp
set contact=noc@isp.example enabled=yes location="rack 4" trap-version=2
/system clock
set time-zone-name=UTC
/system identity
set name=bras-1
/system logging
set 0 topics=info,!pppoe,!ppp
add action=disk topics=pppoe,error
/system ntp client
set enabled=yes primary-ntp=192.0.2.123
/system watchdog
set watchdog-timer=no
/tool bandwidth-server
set authenticate=yes enabled=no
/tool graphing interface
add interface=sfp-sfpplus1
/tool romon
set enabled=yes
