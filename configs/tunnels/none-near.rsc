/ip route add dst-address=198.19.0.0/24 gateway=10.0.0.2
