# feb/17/2021 22:04:39 by RouterOS 6.47.8
# software id = 5656-7878
#
/interface ethernet
set [ find default-name=ether1 ] name=ether1-WAN
set [ find default-name=ether2 ] name=ether2-LAN
/queue type
add kind=pcq name=pcq-down pcq-classifier=dst-address pcq-dst-address6-mask=64 \
    pcq-src-address6-mask=64
add kind=pcq name=pcq-up pcq-classifier=src-address pcq-dst-address6-mask=64 \
    pcq-src-address6-mask=64
add kind=sfq name=sfq sfq-allot=1514 sfq-perturb=5
add kind=red name=red1 red-avg-packet=1000
set 9 pfifo-limit=50
/queue tree
add max-limit=45M name=download parent=global
add limit-at=10M max-limit=45M name=voice-down packet-mark=voice parent=\
    download priority=1 queue=pcq-down
add limit-at=20M max-limit=45M name=web-down packet-mark=web parent=download \
    priority=4 queue=pcq-down
add limit-at=5M max-limit=45M name=rest-down packet-mark=rest parent=download \
    queue=sfq
add max-limit=9M name=upload parent=ether1-WAN
add limit-at=2M max-limit=9M name=voice-up packet-mark=voice parent=upload \
    priority=1 queue=pcq-up
add limit-at=4M max-limit=9M name=rest-up packet-mark=web,rest parent=upload \
    priority=8 queue=pcq-up bucket-size=0.01
/queue simple
add burst-limit=8M/8M burst-threshold=3M/3M burst-time=16s/16s limit-at=1M/1M \
    max-limit=4M/4M name=boss priority=2/2 target=192.168.7.7/32
add max-limit=20M/20M name=office target=192.168.7.0/24
add max-limit=2M/2M name=printer parent=office target=192.168.7.9/32
/ip address
add address=192.168.7.1/24 interface=ether2-LAN network=192.168.7.0
add address=203.0.113.30/28 interface=ether1-WAN network=203.0.113.16
/ip firewall layer7-protocol
add name=speedtest regexp="^.*(get|GET).+speedtest.*\$"
/ip firewall mangle
add action=mark-connection chain=forward comment=SIP dst-port=5060-5061 \
    new-connection-mark=voice passthrough=yes protocol=udp
add action=mark-connection chain=forward dscp=46 new-connection-mark=voice \
    passthrough=yes
add action=mark-connection chain=forward connection-mark=no-mark dst-port=\
    80,443 new-connection-mark=web passthrough=yes protocol=tcp
add action=mark-connection chain=forward connection-mark=no-mark \
    new-connection-mark=rest passthrough=yes
add action=mark-packet chain=forward connection-mark=voice new-packet-mark=\
    voice passthrough=no
add action=mark-packet chain=forward connection-bytes=0-1000000 \
    connection-mark=web new-packet-mark=web passthrough=no
add action=mark-packet chain=forward connection-mark=web new-packet-mark=rest \
    passthrough=no
add action=mark-packet chain=forward connection-mark=rest new-packet-mark=\
    rest passthrough=no
add action=set-priority chain=postrouting dscp=46 new-priority=6 passthrough=\
    yes
/ip firewall nat
add action=src-nat chain=srcnat out-interface=ether1-WAN to-addresses=\
    203.0.113.30
/ip route
add distance=1 gateway=203.0.113.17
/queue interface
set ether1-WAN queue=ethernet-default
set ether2-LAN queue=ethernet-default
/system clock
set time-zone-name=Africa/Nairobi
/system resource irq rps
set ether1-WAN disabled=no
/system scheduler
add interval=1h name=halfday on-event=":local h [:pick [/system clock get time\
    ] 0 2]\r\
    \n:if (\$h >= 8 and \$h < 18) do={\r\
    \n  /queue simple set [find name=office] max-limit=20M/20M\r\
    \n} else={\r\
    \n  /queue simple set [find name=office] max-limit=40M/40M\r\
    \n}" policy=read,write start-time=startup
