# mar/03/2023 08:40:52 by RouterOS 6.48.6
# software id = 9C0D-1E2F
#
# model = RB3011UiAS
/interface bridge
add name=bridge-lan
/interface ethernet
set [ find default-name=ether1 ] comment="ISP 1" name=ether1-wan1
set [ find default-name=ether2 ] comment="ISP 2" name=ether2-wan2
/interface list
add name=WAN
add name=LAN
/ip pool
add name=lan ranges=192.168.10.50-192.168.10.250
/ip dhcp-server
add address-pool=lan disabled=no interface=bridge-lan lease-time=12h name=lan
/system logging action
set 3 remote=192.168.10.5
/interface bridge port
add bridge=bridge-lan interface=ether3
add bridge=bridge-lan interface=ether4
add bridge=bridge-lan interface=ether5
/ip neighbor discovery-settings
set discover-interface-list=LAN
/interface list member
add interface=ether1-wan1 list=WAN
add interface=ether2-wan2 list=WAN
add interface=bridge-lan list=LAN
/ip address
add address=192.168.10.1/24 interface=bridge-lan network=192.168.10.0
add address=198.51.100.2/30 interface=ether1-wan1 network=198.51.100.0
add address=203.0.113.2/30 interface=ether2-wan2 network=203.0.113.0
/ip dhcp-server lease
add address=192.168.10.5 client-id=1:2:0:0:0:0:5 comment=nas mac-address=\
    02:00:00:00:00:05 server=lan
add address=192.168.10.6 mac-address=02:00:00:00:00:06 server=lan
/ip dhcp-server network
add address=192.168.10.0/24 dns-server=192.168.10.1 domain=office.example \
    gateway=192.168.10.1 ntp-server=192.168.10.1
/ip dns
set allow-remote-requests=yes cache-size=4096KiB servers=9.9.9.9,1.1.1.1
/ip dns static
add address=192.168.10.5 name=nas.office.example
add name=files.office.example cname=nas.office.example type=CNAME
/ip firewall address-list
add address=192.168.0.0/16 list=local
add address=10.0.0.0/8 list=local
add address=172.16.0.0/12 list=local
/ip firewall filter
add action=accept chain=input connection-state=established,related
add action=drop chain=input connection-state=invalid
add action=accept chain=input protocol=icmp
add action=add-src-to-address-list address-list=knock1 address-list-timeout=\
    15s chain=input dst-port=4001 in-interface-list=WAN protocol=tcp
add action=add-src-to-address-list address-list=friends address-list-timeout=\
    1h chain=input dst-port=4002 in-interface-list=WAN protocol=tcp \
    src-address-list=knock1
add action=accept chain=input dst-port=8291,22 protocol=tcp src-address-list=\
    friends
add action=drop chain=input in-interface-list=!LAN
add action=accept chain=forward connection-state=established,related
add action=drop chain=forward connection-state=invalid
add action=drop chain=forward connection-nat-state=!dstnat connection-state=\
    new in-interface-list=WAN
/ip firewall mangle
add action=accept chain=prerouting dst-address-list=local in-interface=\
    bridge-lan
add action=mark-connection chain=prerouting connection-mark=no-mark \
    connection-state=new in-interface=ether1-wan1 new-connection-mark=\
    wan1_conn passthrough=yes
add action=mark-connection chain=prerouting connection-mark=no-mark \
    connection-state=new in-interface=ether2-wan2 new-connection-mark=\
    wan2_conn passthrough=yes
add action=mark-connection chain=prerouting connection-mark=no-mark \
    dst-address-type=!local in-interface=bridge-lan new-connection-mark=\
    wan1_conn passthrough=yes per-connection-classifier=both-addresses:2/0
add action=mark-connection chain=prerouting connection-mark=no-mark \
    dst-address-type=!local in-interface=bridge-lan new-connection-mark=\
    wan2_conn passthrough=yes per-connection-classifier=both-addresses:2/1
add action=mark-routing chain=prerouting connection-mark=wan1_conn \
    in-interface=bridge-lan new-routing-mark=to_wan1 passthrough=no
add action=mark-routing chain=prerouting connection-mark=wan2_conn \
    in-interface=bridge-lan new-routing-mark=to_wan2 passthrough=no
add action=mark-routing chain=output connection-mark=wan1_conn \
    new-routing-mark=to_wan1 passthrough=no
add action=mark-routing chain=output connection-mark=wan2_conn \
    new-routing-mark=to_wan2 passthrough=no
/ip firewall nat
add action=masquerade chain=srcnat out-interface=ether1-wan1
add action=masquerade chain=srcnat out-interface=ether2-wan2
add action=dst-nat chain=dstnat comment="web server" dst-port=80,443 \
    in-interface-list=WAN protocol=tcp to-addresses=192.168.10.5
/ip firewall service-port
set ftp disabled=yes
set sip disabled=yes
/ip route
add check-gateway=ping distance=1 gateway=198.51.100.1 routing-mark=to_wan1
add check-gateway=ping distance=1 gateway=203.0.113.1 routing-mark=to_wan2
add check-gateway=ping comment=primary distance=1 gateway=198.51.100.1
add check-gateway=ping comment=backup distance=2 gateway=203.0.113.1
/ip service
set telnet disabled=yes
set ftp disabled=yes
set www disabled=yes
set api-ssl disabled=yes
/system clock
set time-zone-name=Europe/Berlin
/system identity
set name=office-gw
/system logging
add action=remote topics=critical
add action=remote topics=error
add action=remote topics=warning
add topics=dhcp,!debug
/system ntp client
set enabled=yes primary-ntp=192.0.2.123 secondary-ntp=192.0.2.124
/system scheduler
add interval=1d name=nightly on-event=nightly policy=read,write,test \
    start-date=jan/01/2023 start-time=03:30:00
/system script
add dont-require-permissions=no name=nightly owner=admin policy=\
    read,write,test source=":log info \"good morning\"\r\
    \n/ip dns cache flush"
/tool netwatch
add comment="ISP 1" down-script="/ip route disable [find comment=primary]\r\
    \n:log warning \"ISP 1 is down\"" host=198.51.100.1 interval=10s \
    timeout=1s up-script="/ip route enable [find comment=primary]\r\
    \n:log warning \"ISP 1 is up\""
