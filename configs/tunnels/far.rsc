# The second of two routers: it has the tester's second port, and is dialled.
/ip address
add address=198.19.0.1/24 interface=ether1
add address=10.0.0.2/30 interface=ether2
/ppp profile set default change-tcp-mss=no
/ip firewall connection tracking set enabled=no
