# A NAT44 gateway as RFC 9693 wants it: the initiator behind ether1, the responder behind ether2,
# every connection masqueraded and tracked.
/ip address
add address=198.18.1.1/24 interface=ether1
add address=198.19.1.1/24 interface=ether2
/ip firewall connection tracking
set enabled=yes
/ip firewall nat
add chain=srcnat out-interface=ether2 action=masquerade
