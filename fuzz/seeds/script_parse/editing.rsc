/ip address add address=1.1.1.1/24 interface=ether1; add address=2.2.2.2/30 interface=ether2
print detail
set [find interface="ether1"] comment=a
disable 0,1
remove [find where address~"^2"]
export
:put [get 0 address]
.. route print count-only where distance>0
/ip firewall filter add chain=forward; move 0 0
/ip/address/print
