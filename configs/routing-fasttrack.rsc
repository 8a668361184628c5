# Routing with FastTrack: 25 firewall rules as in routing-25-filter-rules.rsc, but established
# connections are fasttracked and pass the rules no more. Half of the connections are masqueraded
# (those of the client's ports 10000 to 10199), as on a home router.
/ip address
add address=198.18.0.1/24 interface=ether1
add address=198.19.0.1/24 interface=ether2
/ip firewall connection tracking
set enabled=yes
/ip firewall nat
add chain=srcnat out-interface=ether2 protocol=udp src-port=10000-10199 action=masquerade
/ip firewall filter
add chain=forward connection-state=established,related action=fasttrack-connection
add chain=forward connection-state=established,related action=accept
add chain=forward src-address=192.0.2.1 action=drop
add chain=forward src-address=192.0.2.2 action=drop
add chain=forward src-address=192.0.2.3 action=drop
add chain=forward src-address=192.0.2.4 action=drop
add chain=forward src-address=192.0.2.5 action=drop
add chain=forward src-address=192.0.2.6 action=drop
add chain=forward src-address=192.0.2.7 action=drop
add chain=forward src-address=192.0.2.8 action=drop
add chain=forward src-address=192.0.2.9 action=drop
add chain=forward src-address=192.0.2.10 action=drop
add chain=forward dst-address=203.0.113.8/29 action=drop
add chain=forward dst-address=203.0.113.16/29 action=drop
add chain=forward dst-address=203.0.113.24/29 action=drop
add chain=forward dst-address=203.0.113.32/29 action=drop
add chain=forward dst-address=203.0.113.40/29 action=drop
add chain=forward dst-address=203.0.113.48/29 action=drop
add chain=forward dst-address=203.0.113.56/29 action=drop
add chain=forward dst-address=203.0.113.64/29 action=drop
add chain=forward dst-address=203.0.113.72/29 action=drop
add chain=forward dst-address=203.0.113.80/29 action=drop
add chain=forward protocol=udp dst-port=20001 action=drop
add chain=forward protocol=udp dst-port=20002 action=drop
add chain=forward protocol=udp dst-port=20003 action=drop
add chain=forward protocol=udp dst-port=20004 action=drop
add chain=forward protocol=udp dst-port=20005 action=drop
