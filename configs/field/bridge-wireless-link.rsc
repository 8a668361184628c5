# jun/06/2019 06:06:06 by RouterOS 6.44.3
# software id = ABCD-0003
#
# model = RBDisc5nD
/interface bridge
add admin-mac=02:00:00:CC:00:01 auto-mac=no name=bridge1
/interface wireless
set [ find default-name=wlan1 ] band=5ghz-a/n channel-width=20/40mhz-Ce \
    disabled=no frequency=5500 mode=station-bridge radio-name=cpe1 ssid=ptp \
    wireless-protocol=nv2
/interface wireless nstreme
set wlan1 enable-polling=no
/interface wireless security-profiles
set [ find default=yes ] authentication-types=wpa2-psk mode=dynamic-keys \
    supplicant-identity=cpe1 wpa2-pre-shared-key=example-key
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=wlan1
/ip address
add address=192.168.255.2/24 interface=bridge1 network=192.168.255.0
/ip cloud
set update-time=no
/ip dns
set servers=192.168.255.1
/ip route
add distance=1 gateway=192.168.255.1
/ip service
set telnet disabled=yes
set www port=8080
/system clock
set time-zone-name=America/Bogota
/system identity
set name=cpe1
/system leds
set 0 interface=wlan1
/system logging
add disabled=yes topics=wireless,debug
/system ntp client
set enabled=yes primary-ntp=192.168.255.1 secondary-ntp=192.0.2.123
/tool bandwidth-server
set authenticate=no
/tool netwatch
add host=192.168.255.1 interval=5m
