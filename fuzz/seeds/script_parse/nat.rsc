/ip firewall nat
add chain=srcnat out-interface=ether2 action=masquerade
add chain=dstnat protocol=tcp dst-port=8080 action=dst-nat to-addresses=10.0.2.1 to-ports=80-90
add chain=dstnat protocol=udp dst-port=53 action=redirect to-ports=5353
/ip firewall connection tracking set enabled=yes tcp-established-timeout=1h
