# sep/05/2022 11:11:11 by RouterOS 6.48.6
# software id = EEEE-FFFF
#
# model = RB750Gr3
/interface bridge
add name=lan
add name=loopback protocol-mode=none
/interface gre
add allow-fast-path=no name=gre-branch1 remote-address=198.51.100.77
/interface eoip
add mac-address=02:00:00:00:EE:01 name=eoip-branch2 remote-address=\
    198.51.100.88 tunnel-id=7
/interface ipip
add local-address=203.0.113.5 name=ipip-dc remote-address=198.51.100.99
/interface list
add name=WAN
/ip ipsec profile
set [ find default=yes ] enc-algorithm=aes-256,aes-128
/ip ipsec proposal
set [ find default=yes ] enc-algorithms=aes-256-cbc,aes-128-cbc
/ip pool
add name=vpn ranges=192.168.89.2-192.168.89.254
add name=lan ranges=192.168.1.100-192.168.1.199
/ip dhcp-server
add address-pool=lan disabled=no interface=lan name=lan
/ppp profile
set *FFFFFFFE local-address=192.168.89.1 remote-address=vpn
add change-tcp-mss=yes dns-server=192.168.1.1 local-address=192.168.89.1 \
    name=l2tp remote-address=vpn use-encryption=required
/interface bridge port
add bridge=lan interface=ether2
add bridge=lan interface=ether3
add bridge=lan interface=eoip-branch2
/interface l2tp-server server
set default-profile=l2tp enabled=no ipsec-secret=example use-ipsec=yes
/interface list member
add interface=ether1 list=WAN
/interface pptp-server server
set enabled=no
/interface sstp-server server
set default-profile=default-encryption
/ip address
add address=192.168.1.1/24 interface=lan network=192.168.1.0
add address=203.0.113.5/24 interface=ether1 network=203.0.113.0
add address=10.255.255.1 interface=loopback network=10.255.255.1
add address=172.31.0.1/30 interface=gre-branch1 network=172.31.0.0
add address=172.31.0.5/30 interface=ipip-dc network=172.31.0.4
/ip dhcp-server network
add address=192.168.1.0/24 dns-server=192.168.1.1 gateway=192.168.1.1
/ip dns
set allow-remote-requests=yes servers=9.9.9.9
/ip firewall filter
add action=accept chain=input connection-state=established,related
add action=accept chain=input dst-port=500,1701,4500 protocol=udp
add action=accept chain=input protocol=ipsec-esp
add action=accept chain=input protocol=gre
add action=accept chain=input protocol=ipencap
add action=accept chain=input in-interface=!ether1
add action=drop chain=input
/ip firewall mangle
add action=change-mss chain=forward new-mss=1360 out-interface=gre-branch1 \
    passthrough=yes protocol=tcp tcp-flags=syn tcp-mss=1361-65535
/ip firewall nat
add action=accept chain=srcnat dst-address=192.168.2.0/24 src-address=\
    192.168.1.0/24
add action=masquerade chain=srcnat ipsec-policy=out,none out-interface-list=\
    WAN
add action=masquerade chain=srcnat comment="masq. vpn traffic" src-address=\
    192.168.89.0/24
/ip route
add distance=1 gateway=203.0.113.1
add distance=1 dst-address=192.168.2.0/24 gateway=gre-branch1
add distance=1 dst-address=10.50.0.0/16 gateway=172.31.0.6 pref-src=\
    192.168.1.1
/ip ssh
set strong-crypto=yes
/ppp secret
add name=vpn password=example profile=l2tp service=l2tp
/system clock
set time-zone-name=Europe/London
/system identity
set name=hq
/tool netwatch
add down-script=":log error \"branch 1 is gone\"" host=172.31.0.2 interval=\
    30s up-script=":log info \"branch 1 is back\""
