# Routing over a full BGP table: no other configuration. The table itself does not stand here: it is
# fed (`--routes FILE`, or a synthetic one of 900,000 routes), dealt out in turn over eight next
# hops on each side: 198.18.0.101 to .108 and 198.19.0.101 to .108.
/ip address
add address=198.18.0.1/24 interface=ether1
add address=198.19.0.1/24 interface=ether2
