# 2026-10-02 19:11:23 by RouterOS 7.16.1
# software id = ABCD-1234
#
# model = RB5009UG+S+
# serial number = HXXXXXXXXXX
/interface bridge
add admin-mac=48:A9:8A:00:00:01 auto-mac=no comment=defconf name=bridge
/interface wireguard
add comment="road warriors" listen-port=51820 mtu=1420 name=wg-road
add listen-port=13231 mtu=1420 name=wg-site
/interface list
add comment=defconf name=WAN
add comment=defconf name=LAN
add name=VPN
/ip pool
add name=default-dhcp ranges=192.168.88.10-192.168.88.254
/ip dhcp-server
add address-pool=default-dhcp interface=bridge name=defconf
/interface bridge port
add bridge=bridge comment=defconf interface=ether2
add bridge=bridge comment=defconf interface=ether3
add bridge=bridge comment=defconf interface=ether4
/ip neighbor discovery-settings
set discover-interface-list=LAN
/interface list member
add comment=defconf interface=bridge list=LAN
add comment=defconf interface=ether1 list=WAN
add interface=wg-road list=VPN
add interface=wg-site list=VPN
/interface wireguard peers
add allowed-address=10.77.0.2/32,fd77::2/128 client-address=10.77.0.2/32 \
    client-dns=10.77.0.1 client-endpoint=home.example.net client-keepalive=25s \
    comment="phone, split tunnel" interface=wg-road name=phone public-key=\
    "D6poTtKIZ7l/Smot7l34zpdOdrcBjj8iocTPJnhXDyA=" responder=yes
add allowed-address=10.77.0.3/32 interface=wg-road name=laptop \
    preshared-key="REREREREREREREREREREREREREREREREREREREREREQ=" public-key=\
    "e06Qm75//kTEZaIgA31gjuNYl9Me+XLwf3SJLLD3PxM=" responder=yes
add allowed-address=192.168.90.0/24,172.31.0.2/32 endpoint-address=\
    site-b.example.net endpoint-port=13231 interface=wg-site name=site-b \
    persistent-keepalive=25s public-key=\
    "ew1H2TQn+DERYHgcfHM/2J+IlwrvSQ2KoO4ZpMuKGxQ="
/ip address
add address=192.168.88.1/24 comment=defconf interface=bridge network=\
    192.168.88.0
add address=10.77.0.1/24 interface=wg-road network=10.77.0.0
add address=172.31.0.1/30 interface=wg-site network=172.31.0.0
/ip dhcp-client
add comment=defconf interface=ether1
/ip dhcp-server network
add address=192.168.88.0/24 comment=defconf dns-server=192.168.88.1 gateway=\
    192.168.88.1
/ip dns
set allow-remote-requests=yes servers=9.9.9.9,1.1.1.1
/ip dns static
add address=192.168.88.1 comment=defconf name=router.lan type=A
/ip firewall filter
add action=accept chain=input comment=\
    "defconf: accept established,related,untracked" connection-state=\
    established,related,untracked
add action=drop chain=input comment="defconf: drop invalid" connection-state=\
    invalid
add action=accept chain=input comment="defconf: accept ICMP" protocol=icmp
add action=accept chain=input comment=WireGuard dst-port=51820,13231 \
    protocol=udp
add action=accept chain=input comment="DNS from the VPN" dst-port=53 \
    in-interface-list=VPN protocol=udp
add action=drop chain=input comment="defconf: drop all not coming from LAN" \
    in-interface-list=!LAN
add action=fasttrack-connection chain=forward comment="defconf: fasttrack" \
    connection-state=established,related hw-offload=yes
add action=accept chain=forward comment=\
    "defconf: accept established,related, untracked" connection-state=\
    established,related,untracked
add action=drop chain=forward comment="defconf: drop invalid" \
    connection-state=invalid
add action=accept chain=forward comment="VPN to LAN" in-interface-list=VPN \
    out-interface-list=LAN
add action=drop chain=forward comment=\
    "defconf: drop all from WAN not DSTNATed" connection-nat-state=!dstnat \
    connection-state=new in-interface-list=WAN
/ip firewall mangle
add action=change-mss chain=forward comment="MSS through the site tunnel" \
    new-mss=clamp-to-pmtu out-interface=wg-site passthrough=yes protocol=tcp \
    tcp-flags=syn
/ip firewall nat
add action=masquerade chain=srcnat comment="defconf: masquerade" \
    ipsec-policy=out,none out-interface-list=WAN
/ip route
add disabled=no distance=1 dst-address=192.168.90.0/24 gateway=wg-site \
    routing-table=main scope=30 suppress-hw-offload=no target-scope=10
/ip service
set telnet disabled=yes
set ftp disabled=yes
set www disabled=yes
/ipv6 address
add address=fd77::1/64 advertise=no interface=wg-road
/system clock
set time-zone-name=Europe/Riga
/system identity
set name=home
/system note
set show-at-login=no
/system ntp client
set enabled=yes
/system ntp client servers
add address=pool.ntp.org
/tool mac-server
set allowed-interface-list=LAN
/tool mac-server mac-winbox
set allowed-interface-list=LAN
