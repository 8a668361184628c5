# IPv6 routing with FastTrack: 25 firewall rules as in routing-ipv6-25-filter-rules.rsc, but established
# connections are fasttracked and pass the rules no more. Nothing is masqueraded: with IPv6 nobody has to.
/ipv6 address
add address=2001:2:0:1::1/64 interface=ether1 advertise=no no-dad=yes
add address=2001:2:0:2::1/64 interface=ether2 advertise=no no-dad=yes
/ip firewall connection tracking
set enabled=yes
/ipv6 firewall filter
add chain=forward connection-state=established,related action=fasttrack-connection
add chain=forward connection-state=established,related action=accept
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
