# Bridging with 25 bridge filter rules: the row "25 bridge filter rules" of the performance tables.
#
# The rules match nothing and all traffic passes them all, down to the end of the chain, where
# what no rule took is accepted: ten unrelated sources, ten networks, five MAC addresses.
/interface bridge
add name=bridge1 protocol-mode=none
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2
/interface bridge filter
add chain=forward mac-protocol=ip src-address=192.0.2.1/32 action=drop
add chain=forward mac-protocol=ip src-address=192.0.2.2/32 action=drop
add chain=forward mac-protocol=ip src-address=192.0.2.3/32 action=drop
add chain=forward mac-protocol=ip src-address=192.0.2.4/32 action=drop
add chain=forward mac-protocol=ip src-address=192.0.2.5/32 action=drop
add chain=forward mac-protocol=ip src-address=192.0.2.6/32 action=drop
add chain=forward mac-protocol=ip src-address=192.0.2.7/32 action=drop
add chain=forward mac-protocol=ip src-address=192.0.2.8/32 action=drop
add chain=forward mac-protocol=ip src-address=192.0.2.9/32 action=drop
add chain=forward mac-protocol=ip src-address=192.0.2.10/32 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.8/29 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.16/29 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.24/29 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.32/29 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.40/29 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.48/29 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.56/29 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.64/29 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.72/29 action=drop
add chain=forward mac-protocol=ip dst-address=203.0.113.80/29 action=drop
add chain=forward src-mac-address=02:00:5E:00:53:01/FF:FF:FF:FF:FF:FF action=drop
add chain=forward src-mac-address=02:00:5E:00:53:02/FF:FF:FF:FF:FF:FF action=drop
add chain=forward src-mac-address=02:00:5E:00:53:03/FF:FF:FF:FF:FF:FF action=drop
add chain=forward src-mac-address=02:00:5E:00:53:04/FF:FF:FF:FF:FF:FF action=drop
add chain=forward src-mac-address=02:00:5E:00:53:05/FF:FF:FF:FF:FF:FF action=drop
