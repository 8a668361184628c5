# Routing with connection tracking alone: what following 10,000 connections costs when nothing
# looks at them (the second run of the wiki's two-box test).
/ip address
add address=198.18.0.1/24 interface=ether1
add address=198.19.0.1/24 interface=ether2
/ip firewall connection tracking
set enabled=yes
