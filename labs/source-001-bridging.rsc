# The traffic generator of MikroTik's "Performance Testing with Traffic Generator" (2012), bridging.
# The commands are the wiki's. Its text has lost the addresses: these are our choice, one network,
# since the device under test is a bridge.
/ip address
add address=1.1.1.1/24 interface=ether1 network=1.1.1.0
add address=1.1.1.2/24 interface=ether6 network=1.1.1.0
add address=1.1.1.3/24 interface=ether11 network=1.1.1.0

/tool traffic-generator packet-template
add header-stack=mac,ip,udp ip-src=1.1.1.1 ip-dst=1.1.1.2 name=b12
add header-stack=mac,ip,udp ip-src=1.1.1.1 ip-dst=1.1.1.3 name=b13
add header-stack=mac,ip,udp ip-src=1.1.1.2 ip-dst=1.1.1.1 name=b21
add header-stack=mac,ip,udp ip-src=1.1.1.2 ip-dst=1.1.1.3 name=b23
add header-stack=mac,ip,udp ip-src=1.1.1.3 ip-dst=1.1.1.1 name=b31
add header-stack=mac,ip,udp ip-src=1.1.1.3 ip-dst=1.1.1.2 name=b32
