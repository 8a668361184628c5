# IPv6 routing with connection tracking alone: what following 10,000 connections costs when nothing looks
# at them.
/ipv6 address
add address=2001:2:0:1::1/64 interface=ether1 advertise=no no-dad=yes
add address=2001:2:0:2::1/64 interface=ether2 advertise=no no-dad=yes
/ip firewall connection tracking
set enabled=yes
