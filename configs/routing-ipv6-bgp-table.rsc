# IPv6 routing over a full BGP table: no other configuration. The table itself does not stand here: it is
# fed (`--routes FILE`, or a synthetic one of 160,000 routes), dealt out in turn over eight next
# hops on each side: 2001:2:0:1::101 to ::108 and 2001:2:0:2::101 to ::108.
/ipv6 address
add address=2001:2:0:1::1/64 interface=ether1 advertise=no no-dad=yes
add address=2001:2:0:2::1/64 interface=ether2 advertise=no no-dad=yes
