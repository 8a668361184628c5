# Routing as RFC 2544 wants it (appendix C.2.2): the device is .1 of a network on each port, the
# tester is host .2 and the routers .10 in each, and behind these routers are the networks
# 65 to 254. (The appendix says "192.18.0.0"; 198.18.0.0/15 is meant.)
/ip address
add address=198.18.1.1/24 interface=ether1
add address=198.19.1.1/24 interface=ether2
