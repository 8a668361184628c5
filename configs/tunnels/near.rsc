# Two routers, one behind the other: this one has the tester's first port, and dials.
/ip address
add address=198.18.0.1/24 interface=ether1
add address=10.0.0.1/30 interface=ether2
/ppp profile set default change-tcp-mss=no
/ip firewall connection tracking set enabled=no
