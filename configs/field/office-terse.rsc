# may/12/2020 12:12:12 by RouterOS 6.46.4
/interface bridge add name=bridge1
/interface vlan add interface=bridge1 name=guest vlan-id=50
/interface pppoe-client add add-default-route=yes disabled=no interface=ether1 name=pppoe-out1 password=secret use-peer-dns=yes user=line@isp.example
/interface list add name=WAN
/interface list add name=LAN
/ip pool add name=office ranges=192.168.5.20-192.168.5.200
/ip pool add name=guest ranges=192.168.50.20-192.168.50.200
/ip dhcp-server add address-pool=office disabled=no interface=bridge1 lease-time=1d name=office
/ip dhcp-server add address-pool=guest disabled=no interface=guest name=guest
/ip dhcp-server lease add address=192.168.5.21 comment="front desk" mac-address=02:00:00:00:05:21 rate-limit=5M/20M server=office
/interface bridge port add bridge=bridge1 interface=ether2
/interface bridge port add bridge=bridge1 interface=ether3
/ip settings set tcp-syncookies=yes
/interface list member add interface=pppoe-out1 list=WAN
/interface list member add interface=bridge1 list=LAN
/interface list member add interface=guest list=LAN
/ip address add address=192.168.5.1/24 interface=bridge1 network=192.168.5.0
/ip address add address=192.168.50.1/24 interface=guest network=192.168.50.0
/ip dhcp-server network add address=192.168.5.0/24 dns-server=192.168.5.1 gateway=192.168.5.1
/ip dhcp-server network add address=192.168.50.0/24 dns-server=9.9.9.9 gateway=192.168.50.1
/ip dns set allow-remote-requests=yes
/ip dns static add address=192.168.5.9 regexp=".*\\.dev\\.office\$"
/ip firewall filter add action=accept chain=input connection-state=established,related,untracked
/ip firewall filter add action=drop chain=input connection-state=invalid
/ip firewall filter add action=accept chain=input protocol=icmp limit=50,5:packet
/ip firewall filter add action=accept chain=input in-interface-list=LAN
/ip firewall filter add action=drop chain=input
/ip firewall filter add action=fasttrack-connection chain=forward connection-state=established,related
/ip firewall filter add action=accept chain=forward connection-state=established,related,untracked
/ip firewall filter add action=drop chain=forward in-interface=guest out-interface=bridge1
/ip firewall filter add action=drop chain=forward dst-port=22-23 in-interface=guest protocol=tcp time=9h-18h,mon,tue,wed,thu,fri
/ip firewall filter add action=drop chain=forward connection-nat-state=!dstnat connection-state=new in-interface-list=WAN
/ip firewall mangle add action=change-mss chain=forward new-mss=clamp-to-pmtu out-interface=pppoe-out1 passthrough=yes protocol=tcp tcp-flags=syn
/ip firewall nat add action=masquerade chain=srcnat out-interface-list=WAN
/ip firewall nat add action=dst-nat chain=dstnat comment="hairpin" dst-address-type=local dst-port=443 protocol=tcp to-addresses=192.168.5.9
/ip firewall nat add action=masquerade chain=srcnat dst-address=192.168.5.9 out-interface=bridge1 src-address=192.168.5.0/24
/ip upnp set enabled=no
/system clock set time-zone-name=Europe/Paris
/system identity set name=office
/system ntp client set enabled=yes server-dns-names=pool.ntp.example
/system scheduler add name=boot on-event=":log info \"started\"" policy=read start-time=startup
/user group set full skin=default
