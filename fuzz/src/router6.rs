//! IPv6 for the two routers of [`router`](super::router): snippets of configuration, hosts that say who they
//! are, packets between them.

use wire::icmpv6::{Neighbour, fill_checksum, group_mac, kind, solicited_node};
use wire::ipv6::{Ipv6Header, header};
use wire::layers::protocol;
use wire::{MacAddr, checksum::Sum};

use std::net::Ipv6Addr;

/// What configurations are made of, the addresses first.
pub(super) const SNIPPETS: &[&str] = &[
    "/ipv6 address\n\
     add address=2001:db8:1::fe/64 interface=ether1 no-dad=yes advertise=no\n\
     add address=2001:db8:2::fe/64 interface=ether2 no-dad=yes advertise=no\n\
     add address=2001:db8:3::fe/64 interface=ether3 no-dad=yes advertise=no\n\
     /ipv6 route\nadd gateway=2001:db8:2::1\nadd gateway=2001:db8:3::1 routing-table=wan\n\
     add dst-address=2001:db8:9::/48 type=prohibit routing-table=wan",
    "/routing rule add src-address=2001:db8:1::/64 table=wan",
    "/routing rule add interface=ether2 action=lookup-only-in-table table=wan",
    "/routing rule add dst-address=2001:db8:9::/48 action=unreachable",
    "/routing rule add table=wan min-prefix=0",
    "/routing rule remove [find]",
    "/ip vrf add name=red interfaces=ether1,ether3",
    "/ip vrf remove [find]",
    "/ipv6 firewall mangle add chain=prerouting protocol=udp action=mark-routing new-routing-mark=wan",
    "/ipv6 firewall filter\nadd chain=forward connection-state=established,related \
     action=fasttrack-connection\nadd chain=forward connection-state=established,related",
    "/ipv6 firewall filter add chain=forward protocol=tcp dst-port=80 action=reject",
    "/ipv6 firewall nat add chain=srcnat out-interface=ether2 action=masquerade",
    "/ip firewall connection tracking set enabled=no",
];

/// A host's address.
fn address(port: u8, host: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, port.into(), 0, 0, 0, 0, host.into())
}

/// A host asks for the router, which learns where it is.
pub(super) fn solicitation(port: u8, host: u8, mac: MacAddr) -> Vec<u8> {
    let (src, target) = (address(port, host), address(port, 0xfe));
    let (advertisement, router, solicited, override_) = (false, false, false, false);
    let said = Neighbour { advertisement, router, solicited, override_, target, mac: Some(mac) };
    let (bytes, len) = said.to_bytes();
    let mut message = bytes[..len].to_vec();
    let dst = solicited_node(target);
    fill_checksum(src, dst, &mut message);
    frame((mac, group_mac(dst)), (src, dst), (header::ICMPV6, 255), &message)
}

/// A packet made of four bytes: right in every length and checksum.
pub(super) fn packet(
    (port, host): (u8, u8),
    macs: (MacAddr, MacAddr),
    [to, what, flags, size]: [u8; 4],
) -> Vec<u8> {
    let src = address(port, host);
    let dst = match to / 4 % 4 {
        0 | 1 => address(1 + to % 4, 1 + to / 32 % 3),
        2 => address(9, to / 32),
        _ => address(port, 0xfe),
    };
    let ports = [1000 + u16::from(what / 4 % 4), [80, 53][usize::from(what / 16 % 2)]];
    let ports = ports.map(u16::to_be_bytes).concat();
    let payload = vec![what; usize::from(size) * 6];
    let (protocol, at, mut upper) = match what % 4 {
        0 | 3 => {
            let len = (8 + payload.len()) as u16;
            (protocol::UDP, 6, [&ports, &len.to_be_bytes()[..], &[0; 2], &payload].concat())
        }
        1 => {
            let rest = [0, 0, 0, to, 0, 0, 0, what, 0x50, flags, 0x20, 0, 0, 0, 0, 0];
            (protocol::TCP, 16, [&ports, &rest[..], &payload].concat())
        }
        _ => {
            let head = [kind::ECHO_REQUEST, 0, 0, 0, 0, 1, 0, flags];
            (header::ICMPV6, 2, [&head[..], &payload].concat())
        }
    };
    let (from, whither) = (src.octets(), dst.octets());
    let sum = Sum::pseudo_ipv6(from, whither, protocol, upper.len() as u32).bytes(&upper).finish();
    let sum = if sum == 0 && protocol == protocol::UDP { 0xffff } else { sum };
    upper[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    let limit = if to & 0x83 == 0x83 { flags & 3 } else { 64 };
    frame(macs, (src, dst), (protocol, limit), &upper)
}

fn frame(
    (from, to): (MacAddr, MacAddr),
    (src, dst): (Ipv6Addr, Ipv6Addr),
    (next_header, hop_limit): (u8, u8),
    upper: &[u8],
) -> Vec<u8> {
    let (traffic_class, flow_label, payload_len) = (0, 0, upper.len() as u16);
    let header =
        Ipv6Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    [&to.0[..], &from.0, &[0x86, 0xdd], &header.to_bytes(), upper].concat()
}
