# Routing by both families: IPv4 as RFC 2544 wants it (appendix C.2.2), IPv6 in 2001:2::/48 (RFC 5180 §8).
# The device is .1 and ::1 of a network on each port, the tester is hosts .2 and ::101.
/ip address
add address=198.18.1.1/24 interface=ether1
add address=198.19.1.1/24 interface=ether2
/ipv6 address
add address=2001:2:0:1::1/64 interface=ether1 advertise=no
add address=2001:2:0:2::1/64 interface=ether2 advertise=no
