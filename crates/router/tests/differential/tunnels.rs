//! Tunnels of random configurations.

use proptest::prelude::*;
use proptest::sample::subsequence;

/// Tunnels, to hosts behind the ports and in each other.
pub(super) fn tunnels() -> impl Strategy<Value = Vec<String>> {
    const TUNNELS: &[&str] = &[
        "/interface ipip add name=tunnel1 remote-address=10.0.2.1 keepalive=1s,3
         /ip address add address=172.16.6.254/24 interface=tunnel1",
        "/interface gre add name=tunnel2 remote-address=10.0.3.1 mtu=1500 keepalive=0s,0
         /ip route add dst-address=172.16.6.0/24 gateway=tunnel2
         /ipv6 route add dst-address=2001:db8:ac10:6::/64 gateway=tunnel2",
        "/interface eoip add name=tunnel3 remote-address=10.0.2.1 tunnel-id=1 keepalive=0s,0
         /interface bridge port add bridge=bridge1 interface=tunnel3",
        "/interface eoip add name=tunnel4 remote-address=10.0.4.1 tunnel-id=1 dont-fragment=inherit \
         keepalive=0s,0
         /ip address add address=172.16.6.253/24 interface=tunnel4",
        "/interface gre add name=tunnel5 remote-address=172.16.6.1 dscp=46 keepalive=0s,0
         /ip route add dst-address=172.16.0.0/21 gateway=tunnel5",
        "/interface ipip add name=tunnel6 remote-address=10.0.2.1 local-address=10.0.2.254 \
         keepalive=0s,0 allow-fast-path=no clamp-tcp-mss=no
         /ip route add dst-address=172.16.6.0/24 gateway=tunnel6",
        "/interface 6to4 add name=tunnel7 remote-address=10.0.2.1 keepalive=1s,3
         /ipv6 route add dst-address=2001:db8:ac10::/61 gateway=tunnel7",
        "/interface 6to4 add name=tunnel8 local-address=10.0.3.254
         /ipv6 route add dst-address=2001:db8:ac10::/62 gateway=::10.0.3.1%tunnel8",
        "/interface l2tp-ether add name=tunnel9 connect-to=10.0.3.1 l2tp-proto-version=l2tpv3-ip \
         local-session-id=9 remote-session-id=7 peer-cookie=deadbeef send-cookie=0123456789abcdef \
         unmanaged-mode=yes allow-fast-path=yes
         /ip address add address=172.16.6.252/24 interface=tunnel9",
        "/interface l2tp-ether add name=tunnel10 connect-to=10.0.2.1 use-l2-specific-sublayer=yes \
         local-session-id=9 remote-session-id=7 send-cookie=01234567 unmanaged-mode=yes
         /interface bridge port add bridge=bridge1 interface=tunnel10",
    ];
    let some = subsequence(TUNNELS, 1..4);
    let some = some.prop_map(|lines| lines.into_iter().map(String::from).collect());
    prop_oneof![1 => Just(Vec::new()), 1 => some]
}
