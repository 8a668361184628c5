# Routing with 25 firewall rules: the row "25 ip filter rules" of the performance tables.
#
# The rules match nothing and all traffic passes them all, down to the end of the chain, where
# what no rule took is accepted. As in RFC 2544 §11.4 they drop unrelated addresses and ports:
# ten sources, ten destination networks, five UDP ports, so no single look-up answers them all.
# A rule in the filter turns connection tracking on (enabled=auto): this row pays for it, too.
/ip address
add address=198.18.0.1/24 interface=ether1
add address=198.19.0.1/24 interface=ether2
/ip firewall filter
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
