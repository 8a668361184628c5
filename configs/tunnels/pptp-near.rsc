/interface pptp-client add name=t1 connect-to=10.0.0.2 user=u password=p profile=default disabled=no
/ip route add dst-address=198.19.0.0/24 gateway=t1
