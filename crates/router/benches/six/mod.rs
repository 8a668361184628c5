//! A router between two networks of IPv6, its table, and UDP through it.

use super::device::{Device, own_mac, tree_of};
use router::ip::fed::Fed;
use router::ip::feed::Protocol;
use router::ip::route::Target;
use std::net::Ipv6Addr;
use wire::checksum::Sum;
use wire::icmpv6::{Neighbour, fill_checksum, group_mac, solicited_node};
use wire::ipv6::{Ipv6Header, header};
use wire::layers::protocol;
use wire::{Ipv6Prefix, MacAddr};

const NETS: &str = "/ipv6 address
add address=2001:2:0:1::fe/64 interface=ether1 advertise=no no-dad=yes
add address=2001:2:0:2::fe/64 interface=ether2 advertise=no no-dad=yes\n";
const HOSTS: usize = 10;

fn host(net: u16, n: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 2, 0, net, 0, 0, 0, 1 + n as u16)
}

fn mac(side: u8) -> MacAddr {
    MacAddr([6, 0, 0, 0, 0, side])
}

/// A router that knows ten hosts on its first side, and one on the other.
pub(crate) fn routed(script: &str) -> Device {
    let mut device = Device::new(&format!("{NETS}{script}"));
    device.breathe();
    device.drain();
    (0..HOSTS).for_each(|n| introduce(&mut device, 0, host(1, n)));
    introduce(&mut device, 1, host(2, 0));
    device
}

/// A host asks for the router.
fn introduce(device: &mut Device, port: usize, own: Ipv6Addr) {
    let target = Ipv6Addr::new(0x2001, 2, 0, 1 + port as u16, 0, 0, 0, 0xfe);
    let (advertisement, router, solicited, override_) = (false, false, false, false);
    let mac = mac(port as u8 + 1);
    let asks = Neighbour { advertisement, router, solicited, override_, target, mac: Some(mac) };
    let (bytes, len) = asks.to_bytes();
    let (mut message, group) = (bytes[..len].to_vec(), solicited_node(target));
    fill_checksum(own, group, &mut message);
    let frame = packet([mac, group_mac(group)], [own, group], header::ICMPV6, 255, &message);
    device.send(port, &[frame]);
    device.breathe();
    device.drain();
}

fn packet(
    [src_mac, dst_mac]: [MacAddr; 2],
    [src, dst]: [Ipv6Addr; 2],
    next_header: u8,
    hop_limit: u8,
    payload: &[u8],
) -> Vec<u8> {
    let (traffic_class, flow_label, payload_len) = (0, 0, payload.len() as u16);
    let header =
        Ipv6Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    [&dst_mac.0[..], &src_mac.0, &[0x86, 0xdd], &header.to_bytes(), payload].concat()
}

/// The shortest datagram. Its checksum is right: what is damaged begins no connection.
fn udp(port: u8, src: (Ipv6Addr, u16), dst: (Ipv6Addr, u16)) -> Vec<u8> {
    let [from, to] = [src.1, dst.1].map(u16::to_be_bytes);
    let sum = Sum::pseudo_ipv6(src.0.octets(), dst.0.octets(), protocol::UDP, 8);
    let sum = sum.bytes(&[from, to, [0, 8]].concat()).finish();
    let sum = if sum == 0 { u16::MAX } else { sum };
    let datagram = [from, to, [0, 8], sum.to_be_bytes()].concat();
    let macs = [mac(port), own_mac(port)];
    packet(macs, [src.0, dst.0], protocol::UDP, 64, &datagram)
}

/// UDP both ways, of ten hosts, each connection with its own port.
pub(crate) fn udp_flows(flows: usize) -> Vec<(usize, Vec<Vec<u8>>)> {
    let client = |n: usize| (host(1, n / 1024 % HOSTS), 10_000 + n as u16);
    let server = (host(2, 0), 7);
    vec![
        (0, (0..flows).map(|n| udp(1, client(n), server)).collect()),
        (1, (0..flows).map(|n| udp(2, server, client(n))).collect()),
    ]
}

/// All of these networks lie behind the host on the other side; of a router without anything else.
pub(crate) fn feed(device: &mut Device, routes: &[Ipv6Prefix]) {
    let ether2 = device.router.program().names.find("ether2").expect("a port");
    let target = Target::Gateways(vec![(ether2, host(2, 0).into())]);
    let fed =
        |&prefix: &Ipv6Prefix| Fed { prefix, target: target.clone(), protocol: Protocol::Bgp };
    device.router.feed6(routes.iter().map(fed).collect());
    let tree = tree_of(&device.router, NETS);
    // What is news is compiled with the next configuration.
    device.router.configure(&tree, device.now).expect("few gateways");
}

/// Datagrams to so many addresses, each of a network drawn at random.
pub(crate) fn anywhere(routes: &[Ipv6Prefix], n: usize) -> Vec<Vec<u8>> {
    let mut random = Random(1);
    let frame = |_| {
        let prefix = routes[random.next() as usize % routes.len()];
        let host = u128::from(random.next()) << 64 | u128::from(random.next());
        let dst = prefix.bits() + (host & (prefix.last() - prefix.bits()));
        udp(1, (self::host(1, 0), 1), (dst.into(), 7))
    };
    (0..n).map(frame).collect()
}

/// 25 rules that match nothing.
pub(crate) fn rules() -> String {
    (0..25)
        .map(|n| format!("add chain=forward src-address=2001:db8:{n}::/48 action=drop\n"))
        .fold("/ipv6 firewall filter\n".to_owned(), |all, rule| all + &rule)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        let mut step = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.0 >> 32
        };
        step() << 32 | step()
    }
}
