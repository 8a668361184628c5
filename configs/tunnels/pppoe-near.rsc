/interface pppoe-client add name=t1 interface=ether2 user=u password=p profile=default disabled=no
/ip route add dst-address=198.19.0.0/24 gateway=t1
