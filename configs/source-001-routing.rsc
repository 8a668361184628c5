# The device under test of MikroTik's "Performance Testing with Traffic Generator" (2012), routing.
# The commands are the wiki's. Its text has lost the addresses: these are our choice, the tester
# being 1.1.1.1, 2.2.2.2 and 3.3.3.3.
/ip address
add address=1.1.1.254/24 interface=ether1 network=1.1.1.0
add address=2.2.2.254/24 interface=ether6 network=2.2.2.0
add address=3.3.3.254/24 interface=ether11 network=3.3.3.0
