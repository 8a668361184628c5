# The device under test of MikroTik's "Performance Testing with Traffic Generator" (2012), bridging.
# The wiki's commands, but for protocol-mode: frames are sent at once, not when RSTP has found out
# that no bridge is behind the ports.
/interface bridge add protocol-mode=none
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether6
add bridge=bridge1 interface=ether11
