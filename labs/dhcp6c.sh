#!/bin/sh
# WIDE's DHCPv6 client on eth1: an address there, and of a prefix of 60 bits a network on lan; what it has
# is shown when both are there, and given back.
d=$(mktemp -d)
cat > "$d/conf" <<'END'
interface eth1 { send ia-na 0; send ia-pd 0; };
id-assoc na 0 { };
id-assoc pd 0 { prefix-interface lan { sla-id 1; sla-len 4; }; };
END
until ip -6 address show dev eth1 | grep inet6 | grep -qv tentative; do sleep 0.1; done
# Its identity is its own, not the machine's.
export d
unshare -m sh -c '
  mount -t tmpfs none /var/lib/dhcpv6
  dhcp6c -f -D -c "$d/conf" -p "$d/pid" eth1 2> "$d/said" &
  has() { ip -6 -o address show dev "$1" scope global | grep "$2" | grep -qv tentative; }
  n=0
  until has lan inet6 && has eth1 /128 || [ $n -gt 300 ]; do sleep 0.1; n=$((n + 1)); done
  ip -6 -o address show scope global
  kill $!
  wait
  grep "client6_recv.*status" "$d/said"'
rm -r "$d"
