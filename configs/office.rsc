# A small office: LAN on ether2, the Internet on ether1. README's console session runs on it.
#
#   wirespeed console --stay configs/office.rsc
/system identity set name=office
/ip address
add address=192.168.88.1/24 interface=ether2
add address=203.0.113.2/30 interface=ether1
/ip arp add address=203.0.113.1 mac-address=00:00:5E:00:53:01 interface=ether1
/ip route add gateway=203.0.113.1
/ip firewall filter
add chain=forward action=fasttrack-connection connection-state=established,related
add chain=forward action=accept connection-state=established,related
add chain=forward action=drop connection-state=invalid
add chain=forward action=drop protocol=tcp dst-port=25 comment="no mail from here"
add chain=forward action=drop in-interface=ether1 connection-nat-state=!dstnat
/ip firewall nat add chain=srcnat action=masquerade out-interface=ether1
