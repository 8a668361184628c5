/interface bridge
add name=bridge1 protocol-mode=none ageing-time=1m
/interface bridge port
add bridge=bridge1 interface=ether1 horizon=1
add bridge=bridge1 interface=ether2
/interface bridge filter add chain=forward mac-protocol=ip ip-protocol=tcp dst-port=80 action=drop
