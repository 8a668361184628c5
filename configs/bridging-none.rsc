# Bridging, no configuration: the row "none (fast path)" of the performance tables.
#
# Two ports, 500 hosts behind each. Once they are learnt, every frame has one port to go to.
/interface bridge
add name=bridge1 protocol-mode=none
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2
