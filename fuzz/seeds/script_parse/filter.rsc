/ip firewall filter
add action=fasttrack-connection chain=forward connection-state=established,related \
    disabled=no
add chain=forward action=jump jump-target=web protocol=tcp dst-port=80,8080-8090 tcp-flags=syn,!ack
add chain=web limit=10/1s,5:packet log=yes log-prefix="web \"x\""
add chain=web action=reject reject-with=tcp-reset protocol=tcp comment=no
/ip firewall address-list add list=bad address=10.0.0.0-10.0.0.9
/ip firewall filter add chain=input src-address-list=!bad packet-size=64-128 ttl=less-than:5 action=drop
