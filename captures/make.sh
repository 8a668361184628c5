#!/usr/bin/env bash
# Makes the captures of this folder anew: real tools talk in two network namespaces of their own.
#
#   client namespace                                    server namespace
#   192.168.88.11 … .14  c0 ═════════ veth ═════════ s0  203.0.113.1, .2
#   iperf3 curl dig ping traceroute                      iperf3 -s, http.server, dnsmasq
#          └ tcpdump: home.pcap
#
# Needs root and the Debian packages: iperf3 curl dnsutils tcpdump tshark ethtool iproute2
# iputils-ping traceroute dnsmasq-base python3. Takes about two minutes; nothing leaves the
# namespaces, and they are taken down however the script ends.
#
# Written here: home.pcap.gz (the capture), home.frames.csv.gz (tshark's reading of it, one line a
# frame), tiny.* (one short conversation in every file format), MADE (versions, date, counts).
set -euo pipefail
cd "$(dirname "$0")"

tag=wsc$$
c="ip netns exec $tag-c" s="ip netns exec $tag-s"
work=$(mktemp -d)
take_down() {
    set +e
    for ns in $tag-c $tag-s; do
        ip netns pids $ns 2>/dev/null | xargs -r kill 2>/dev/null
    done
    sleep 0.3
    for ns in $tag-c $tag-s; do
        ip netns pids $ns 2>/dev/null | xargs -r kill -9 2>/dev/null
        ip netns delete $ns 2>/dev/null
    done
    rm -rf "$work"
}
trap take_down EXIT
trap 'exit 1' INT TERM HUP

echo "== two namespaces and a cable" >&2
ip netns add $tag-c
ip netns add $tag-s
ip link add c0 netns $tag-c address 06:00:c0:a8:58:0b type veth peer name s0 netns $tag-s address 06:00:cb:00:71:01
# What is in the capture must be what a wire would carry: whole checksums, no segment longer than
# the MTU.
$c ethtool -K c0 tx off rx off tso off gso off gro off sg off >/dev/null
$s ethtool -K s0 tx off rx off tso off gso off gro off sg off >/dev/null
for n in 11 12 13 14; do $c ip address add 192.168.88.$n/24 dev c0; done
for n in 1 2; do $s ip address add 203.0.113.$n/24 dev s0; done
for ns in "$c" "$s"; do $ns ip link set lo up; done
$c ip link set c0 up
$s ip link set s0 up
$c ip route add 203.0.113.0/24 dev c0 src 192.168.88.11
$s ip route add 192.168.88.0/24 dev s0 src 203.0.113.1
$s sysctl -qw net.ipv4.icmp_ratelimit=0

echo "== servers" >&2
mkdir "$work/www"
for size in 0 100 1000 6000 60000; do
    yes 'a line of a page, forty characters long' | head -c $size >"$work/www/$size" || true
done
# iperf3's own server exits at once if two tests overlap; they run one after another below.
$s iperf3 -s >"$work/iperf3.log" 2>&1 &
(cd "$work/www" && exec $s python3 -m http.server 80 --bind 0.0.0.0) >/dev/null 2>&1 &
$s dnsmasq --keep-in-foreground --no-resolv --no-hosts --no-daemon --conf-file=/dev/null \
    --pid-file= --user=root --address=/example.net/198.51.100.7 --listen-address=203.0.113.1,203.0.113.2 \
    --bind-interfaces --cache-size=0 >/dev/null 2>&1 &
sleep 1.5

echo "== capture" >&2
$c timeout 240 tcpdump -i c0 -s 0 -B 16384 -U --time-stamp-precision=nano -w "$work/home.pcap" -Z root 2>"$work/tcpdump.log" &
sleep 1

echo "== dig" >&2
queries() { # FROM COUNT OPTIONS…: one query a line, as dig -f reads them
    local from=$1 count=$2 n
    shift 2
    for ((n = 0; n < count; n++)); do
        echo "@203.0.113.$((n % 2 + 1)) -b $from +tries=1 +time=2 $* host$n.example.net A"
    done
}
for n in 11 12 13 14; do
    queries 192.168.88.$n 800 +nocookie >"$work/dig.$n"
    timeout 60 $c dig -f "$work/dig.$n" >/dev/null 2>&1 &
    pids[n]=$!
done
wait "${pids[@]}" || true
queries 192.168.88.12 60 +tcp >"$work/dig.tcp"
timeout 30 $c dig -f "$work/dig.tcp" >/dev/null 2>&1 || true
# Nobody listens on this port: ICMP port unreachable.
queries 192.168.88.13 20 -p 5353 >"$work/dig.closed"
timeout 30 $c dig -f "$work/dig.closed" >/dev/null 2>&1 || true

echo "== curl" >&2
for n in $(seq 400); do
    size=$((n % 40 == 0 ? 6000 : n % 3 == 0 ? 1000 : n % 3 == 1 ? 100 : 0))
    echo "--interface 192.168.88.$((11 + n % 4)) http://203.0.113.$((n % 2 + 1))/$size"
done | timeout 60 xargs -P 4 -L 1 $c curl -s -o /dev/null --max-time 5 || true
for n in $(seq 10); do # refused
    $c curl -s -o /dev/null --max-time 2 http://203.0.113.1:81/ || true
done
for n in 1 2 3; do # given up half way: a reset
    $c curl -s -o /dev/null --limit-rate 2000 --max-time 0.5 http://203.0.113.2/60000 || true
done

echo "== iperf3" >&2
iperf() { timeout 20 $c iperf3 -c 203.0.113.1 --repeating-payload "$@" >/dev/null 2>&1 || true; sleep 0.3; }
iperf -n 150K -M 536 -l 4K
iperf -n 100K -M 1200 -l 1K -R
iperf -n 100K -M 1460 -l 8K -P 4 -B 192.168.88.14
iperf -u -b 2M -n 60K -l 64
iperf -u -b 2M -n 60K -l 512 -R
iperf -u -b 4M -n 90K -l 3000

echo "== ping and traceroute" >&2
for n in 11 12 13 14; do
    timeout 10 $c ping -q -c 20 -i 0.05 -I 192.168.88.$n 203.0.113.1 >/dev/null || true
done
timeout 10 $c ping -q -c 5 -i 0.1 -s 3000 203.0.113.2 >/dev/null || true
timeout 10 $c ping -q -c 3 -i 0.1 -s 1472 -M do 203.0.113.2 >/dev/null || true
timeout 10 $c traceroute -n 203.0.113.1 >/dev/null || true
timeout 10 $c traceroute -n -I 203.0.113.2 >/dev/null || true
timeout 10 $c traceroute -n -T -p 80 203.0.113.2 >/dev/null || true

echo "== from outside, uninvited" >&2
timeout 10 $s ping -q -c 5 -i 0.1 192.168.88.11 >/dev/null || true
for port in 22 23 80 443 8080; do
    $s curl -s -o /dev/null --max-time 2 http://192.168.88.12:$port/ || true
done
queries x 5 -p 53 | sed 's/ -b x//; s/@203.0.113.[12]/@192.168.88.13/' >"$work/dig.in"
timeout 10 $s dig -f "$work/dig.in" >/dev/null 2>&1 || true

sleep 1
for pid in $(ip netns pids $tag-c); do
    [ "$(cat /proc/$pid/comm 2>/dev/null)" = tcpdump ] && kill -INT $pid
done
sleep 1
grep -q '^0 packets dropped by kernel' "$work/tcpdump.log" || {
    cat "$work/tcpdump.log" >&2
    echo "the capture is not complete: make it again on a quieter machine" >&2
    exit 1
}

echo "== one short conversation in every format" >&2
tiny() { # FILE COMMAND…
    local file=$1
    shift
    $c timeout 20 "$@" 2>/dev/null &
    local capture=$!
    sleep 1.5
    $c curl -s -o /dev/null http://203.0.113.1/100
    $c dig +tries=1 @203.0.113.1 tiny.example.net >/dev/null
    $c ping -q -c 2 -i 0.1 127.0.0.1 >/dev/null # only a capture on lo sees it
    sleep 0.5
    for pid in $(ip netns pids $tag-c); do
        case "$(cat /proc/$pid/comm 2>/dev/null)" in tcpdump | dumpcap | tshark) kill -INT $pid ;; esac
    done
    wait $capture || true
    install -m 644 "$work/$file" .
}
tiny tiny.pcap tcpdump -i c0 -U -Z root -w "$work/tiny.pcap" ip
tiny tiny-nano.pcap tcpdump -i c0 -U -Z root --time-stamp-precision=nano -w "$work/tiny-nano.pcap" ip
tiny tiny-snap96.pcap tcpdump -i c0 -U -Z root -s 96 -w "$work/tiny-snap96.pcap" ip
tiny tiny.pcapng dumpcap -q -i c0 -f ip -w "$work/tiny.pcapng"
tiny tiny-two-interfaces.pcapng dumpcap -q -i c0 -f ip -i lo -f ip -w "$work/tiny-two-interfaces.pcapng"

echo "== tshark reads them" >&2
fields() { # FILE FIELD…: CSV
    local file=$1 field list=()
    shift
    for field in "$@"; do list+=(-e "$field"); done
    # The first of several: ICMP errors quote a packet.
    tshark -n -r "$file" -o ip.defragment:FALSE -o tcp.desegment_tcp_streams:FALSE \
        -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE \
        -T fields -E header=y -E separator=, -E occurrence=f "${list[@]}" 2>/dev/null
}
fields "$work/home.pcap" frame.number frame.time_epoch frame.len eth.type ip.src ip.dst ip.proto ip.len \
    ip.ttl ip.id ip.flags.mf ip.frag_offset ip.checksum.status tcp.stream tcp.srcport tcp.dstport tcp.flags \
    tcp.len tcp.checksum.status udp.stream udp.srcport udp.dstport udp.checksum.status icmp.type icmp.ident \
    >"$work/home.frames.csv"
gzip -9n <"$work/home.frames.csv" >home.frames.csv.gz
gzip -9n <"$work/home.pcap" >home.pcap.gz
for file in tiny*.pcap tiny*.pcapng; do
    echo "file,number,interface,time,len,cap_len,src,dst,proto" >"$work/head"
    fields "$file" frame.number frame.interface_id frame.time_epoch frame.len frame.cap_len ip.src ip.dst ip.proto |
        tail -n +2 | sed "s/^/$file,/"
done >"$work/tiny.rest"
cat "$work/head" "$work/tiny.rest" >tiny.csv

{
    echo "made $(date -u +%Y-%m-%d) on Linux $(uname -r)"
    iperf3 --version | head -1
    curl --version | head -1 | cut -d' ' -f1-2
    dig -v 2>&1
    dnsmasq --version | head -1 | cut -d' ' -f1-3
    python3 --version
    tcpdump --version 2>&1 | head -2
    tshark --version 2>/dev/null | head -1
    ping -V
    traceroute --version 2>&1 | head -1
    grep packets "$work/tcpdump.log"
    echo "home.pcap: $(stat -c %s "$work/home.pcap") bytes"
} >MADE
cat MADE
