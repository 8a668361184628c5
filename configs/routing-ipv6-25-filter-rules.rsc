# IPv6 routing with 25 firewall rules: the row "25 ip filter rules" of the performance tables, by IPv6.
#
# The rules match nothing and all traffic passes them all, down to the end of the chain, where
# what no rule took is accepted. As in RFC 2544 §11.4 they drop unrelated addresses and ports:
# ten sources, ten destination networks (RFC 3849), five UDP ports, so no single look-up answers them all.
# A rule in the filter turns connection tracking on (enabled=auto): this row pays for it, too.
/ipv6 address
add address=2001:2:0:1::1/64 interface=ether1 advertise=no no-dad=yes
add address=2001:2:0:2::1/64 interface=ether2 advertise=no no-dad=yes
/ipv6 firewall filter
add chain=forward src-address=2001:db8::1/128 action=drop
add chain=forward src-address=2001:db8::2/128 action=drop
add chain=forward src-address=2001:db8::3/128 action=drop
add chain=forward src-address=2001:db8::4/128 action=drop
add chain=forward src-address=2001:db8::5/128 action=drop
add chain=forward src-address=2001:db8::6/128 action=drop
add chain=forward src-address=2001:db8::7/128 action=drop
add chain=forward src-address=2001:db8::8/128 action=drop
add chain=forward src-address=2001:db8::9/128 action=drop
add chain=forward src-address=2001:db8::a/128 action=drop
add chain=forward dst-address=2001:db8:1::/48 action=drop
add chain=forward dst-address=2001:db8:2::/48 action=drop
add chain=forward dst-address=2001:db8:3::/48 action=drop
add chain=forward dst-address=2001:db8:4::/48 action=drop
add chain=forward dst-address=2001:db8:5::/48 action=drop
add chain=forward dst-address=2001:db8:6::/48 action=drop
add chain=forward dst-address=2001:db8:7::/48 action=drop
add chain=forward dst-address=2001:db8:8::/48 action=drop
add chain=forward dst-address=2001:db8:9::/48 action=drop
add chain=forward dst-address=2001:db8:a::/48 action=drop
add chain=forward protocol=udp dst-port=20001 action=drop
add chain=forward protocol=udp dst-port=20002 action=drop
add chain=forward protocol=udp dst-port=20003 action=drop
add chain=forward protocol=udp dst-port=20004 action=drop
add chain=forward protocol=udp dst-port=20005 action=drop
