# A gateway as homes and offices have it: clients behind ether1, servers behind ether2, every
# connection tracked and masqueraded, and established ones on FastTrack.
/ip address
add address=198.18.1.1/24 interface=ether1
add address=198.19.1.1/24 interface=ether2
/ip firewall connection tracking
set enabled=yes
/ip firewall nat
add chain=srcnat out-interface=ether2 action=masquerade
/ip firewall filter
add chain=forward connection-state=established,related action=fasttrack-connection
add chain=forward connection-state=established,related action=accept
add chain=forward connection-state=invalid action=drop
