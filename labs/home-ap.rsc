# The "default Home AP" of RouterOS v6 (defconf, since 6.36), as far as it is a router's: a bridge
# over all ports but the first, addresses, masquerade, and the default firewall with FastTrack.
# Two lines are other than in the original, which gets its address at the WAN by DHCP: here it is fixed,
# and there is a route. And its bridge waits for nobody: with RSTP ports open after three seconds.
/system identity set name=home-ap
/interface bridge
add name=bridge protocol-mode=none comment=defconf
/interface bridge port
add bridge=bridge interface=ether2 comment=defconf
add bridge=bridge interface=ether3 comment=defconf
add bridge=bridge interface=ether4 comment=defconf
/interface list
add name=WAN comment=defconf
add name=LAN comment=defconf
/interface list member
add list=LAN interface=bridge comment=defconf
add list=WAN interface=ether1 comment=defconf
/ip address
add address=192.168.88.1/24 interface=bridge comment=defconf
add address=203.0.113.2/30 interface=ether1
/ip route
add gateway=203.0.113.1
/ip firewall filter
add chain=input action=accept connection-state=established,related,untracked comment="defconf: accept established,related,untracked"
add chain=input action=drop connection-state=invalid comment="defconf: drop invalid"
add chain=input action=accept protocol=icmp comment="defconf: accept ICMP"
add chain=input action=drop in-interface-list=!LAN comment="defconf: drop all not coming from LAN"
add chain=forward action=fasttrack-connection connection-state=established,related comment="defconf: fasttrack"
add chain=forward action=accept connection-state=established,related,untracked comment="defconf: accept established,related, untracked"
add chain=forward action=drop connection-state=invalid comment="defconf: drop invalid"
add chain=forward action=drop connection-state=new connection-nat-state=!dstnat in-interface-list=WAN comment="defconf: drop all from WAN not DSTNATed"
/ip firewall nat
add chain=srcnat action=masquerade ipsec-policy=out,none out-interface-list=WAN comment="defconf: masquerade"
