/ip addr a addr=10.0.0.1/8 int=ether1
/ip fi f p
/int eth set 0 mtu=1400 comment=\41\42
# a comment
/interface ethernet set ether2 disabled=yes
