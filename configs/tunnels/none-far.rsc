/ip route add dst-address=198.18.0.0/24 gateway=10.0.0.1
