# jul/19/2022 14:00:01 by RouterOS 6.49.6
# software id = CCCC-DDDD
#
# model = RB2011UiAS
/interface bridge
add arp=reply-only name=guests
/interface wireless
set [ find default-name=wlan1 ] disabled=no mode=ap-bridge ssid=cafe
/interface wireless security-profiles
set [ find default=yes ] supplicant-identity=MikroTik
/ip hotspot profile
set [ find default=yes ] html-directory=flash/hotspot
add dns-name=wifi.cafe.example hotspot-address=10.5.50.1 login-by=\
    http-chap,trial name=hsprof1 trial-uptime-limit=1h
/ip pool
add name=hs-pool ranges=10.5.50.2-10.5.50.254
/ip dhcp-server
add add-arp=yes address-pool=hs-pool disabled=no interface=guests lease-time=\
    1h name=dhcp-guests
/ip hotspot
add address-pool=hs-pool disabled=no interface=guests name=hotspot1 profile=\
    hsprof1
/ip hotspot user profile
set [ find default=yes ] idle-timeout=10m keepalive-timeout=2m \
    mac-cookie-timeout=3d rate-limit=2M/10M
/interface bridge port
add bridge=guests interface=wlan1
add bridge=guests interface=ether5
/ip address
add address=10.5.50.1/24 comment="hotspot network" interface=guests network=\
    10.5.50.0
/ip dhcp-client
add disabled=no interface=ether1
/ip dhcp-server network
add address=10.5.50.0/24 comment="hotspot network" gateway=10.5.50.1
/ip dns
set allow-remote-requests=yes
/ip firewall filter
add action=passthrough chain=unused-hs-chain comment=\
    "place hotspot rules here" disabled=yes
add action=drop chain=forward dst-address=192.168.0.0/16 in-interface=guests
/ip firewall nat
add action=passthrough chain=unused-hs-chain comment=\
    "place hotspot rules here" disabled=yes
add action=masquerade chain=srcnat comment="masquerade hotspot network" \
    src-address=10.5.50.0/24
/ip hotspot ip-binding
add mac-address=02:00:00:00:00:31 type=bypassed
/ip hotspot user
add name=admin password=example
/ip hotspot walled-garden
add dst-host=*.cafe.example
/queue simple
add max-limit=10M/40M name=guests queue=pcq-upload-default/pcq-download-default \
    target=10.5.50.0/24
/system clock
set time-zone-name=Europe/Lisbon
/system identity
set name=cafe
/system leds
set 0 interface=wlan1
/lcd
set time-interval=hour
