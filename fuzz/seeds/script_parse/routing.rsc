/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
/ip route
add gateway=10.0.1.1 distance=2
add dst-address=10.9.0.0/16 type=blackhole
/ip settings set allow-fast-path=no
