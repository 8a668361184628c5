# The provider's router of isp-access.yaml.
/interface bridge
add name=access protocol-mode=none
/interface bridge port
add bridge=access interface=ether1 horizon=1
add bridge=access interface=ether2 horizon=1
add bridge=access interface=ether3 horizon=1
/interface list
add name=subscribers
/ip pool
add name=subscribers ranges=100.64.0.10-100.64.15.250
/ppp profile
add name=subscriber local-address=100.64.0.1 remote-address=subscribers interface-list=subscribers \
    change-tcp-mss=yes use-ipv6=no only-one=yes
/interface pppoe-server server
add service-name=isp interface=access default-profile=subscriber authentication=mschap2 \
    one-session-per-host=no keepalive-timeout=60 disabled=no
/ppp aaa
set use-radius=yes interim-update=1m
/radius
add service=ppp address=10.0.9.2 secret=known-to-both timeout=3s
/radius incoming
set accept=yes
/ip address
add address=10.0.9.1/24 interface=ether4
add address=203.0.113.2/24 interface=ether5
/ip route
add gateway=203.0.113.1
/ip firewall filter
add chain=input connection-state=established,related action=accept
add chain=input connection-state=invalid action=drop
add chain=input protocol=icmp action=accept
add chain=input in-interface=ether4 src-address=10.0.9.2 protocol=udp dst-port=3799 action=accept
add chain=input action=drop
add chain=forward connection-state=established,related action=accept
add chain=forward connection-state=invalid action=drop
add chain=forward in-interface-list=subscribers out-interface-list=subscribers action=drop \
    comment="nobody reaches his neighbour"
add chain=forward in-interface-list=subscribers protocol=tcp dst-port=25 action=reject \
    reject-with=tcp-reset src-address-list=basic comment="no mail from basic tariffs"
add chain=forward in-interface-list=subscribers out-interface=ether5 action=accept
add chain=forward dst-address=198.18.7.0/24 in-interface=ether5 protocol=icmp action=accept
add chain=forward action=drop
/ip firewall nat
add chain=srcnat out-interface=ether5 src-address=100.64.0.0/16 action=src-nat to-addresses=203.0.113.2
