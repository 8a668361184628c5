# IPv6 routing, no configuration: the row "none (fast path)" of the performance tables, by IPv6.
#
# Two networks, one on each port, out of the range set aside for benchmarks (RFC 5180 §8). The tester
# is hosts ::101 to ::119 in each. Nothing else is configured, so there is nothing to ask but the
# routing table, and IPv6 FastPath is active. Nobody else can have the addresses: without no-dad each is
# looked for on its link for a second before it is used.
/ipv6 address
add address=2001:2:0:1::1/64 interface=ether1 advertise=no no-dad=yes
add address=2001:2:0:2::1/64 interface=ether2 advertise=no no-dad=yes
