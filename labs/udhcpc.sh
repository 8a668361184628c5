#!/bin/sh
# What busybox's DHCP client does with its lease, in the namespace of a lab's host.
case "$1" in
deconfig) ip -4 address flush dev "$interface" ;;
bound | renew)
    ip address replace "$ip/$mask" dev "$interface"
    [ -z "$router" ] || ip route replace default via "${router%% *}"
    echo "bound $ip/$mask, gateway $router, name server $dns"
    ;;
esac
