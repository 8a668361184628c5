# The device under test of MikroTik's "Performance Testing with Traffic Generator" (2012), bridging.
# The wiki's commands, as they stand.
/interface bridge add
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether6
add bridge=bridge1 interface=ether11
