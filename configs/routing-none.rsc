# Routing, no configuration: the row "none (fast path)" of the performance tables.
#
# Two networks, one on each port, out of the range set aside for benchmarks (RFC 2544, C.2.2).
# The tester is hosts .101 to .125 in each. Nothing else is configured, so there is nothing to ask
# but the routing table, and IPv4 FastPath is active.
/ip address
add address=198.18.0.1/24 interface=ether1
add address=198.19.0.1/24 interface=ether2
