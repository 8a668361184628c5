//! Frames that hosts should not send, or seldom do.

use super::host::{Host, packet6};
use std::net::{IpAddr, Ipv6Addr};
use wire::craft::{self, Body, Frame};
use wire::icmp::IcmpHeader;
use wire::icmpv6::{self, kind};
use wire::ipv6::header;
use wire::layers::{ETHERTYPE_ARP, protocol};
use wire::tcp::TcpHeader;
use wire::{Ipv4Prefix, MacAddr};

impl Host {
    /// One of them, to an address; `choose` says which of so many.
    pub(super) fn odd(&self, to: IpAddr, choose: impl FnMut(usize) -> usize) -> Option<Vec<u8>> {
        match to {
            IpAddr::V4(to) => self.odd4(to.into(), choose),
            IpAddr::V6(to) => self.odd6(to, choose),
        }
    }

    fn odd4(&self, to: u32, mut choose: impl FnMut(usize) -> usize) -> Option<Vec<u8>> {
        let (IpAddr::V4(address), IpAddr::V4(gateway)) = (self.v4.address, self.v4.gateway) else {
            return None;
        };
        let (address, gateway) = (u32::from(address), u32::from(gateway));
        let network = Ipv4Prefix::new(address, self.v4.prefix);
        let plain = Frame {
            src_mac: self.mac,
            dst_mac: self.gateway_mac(self.v4)?,
            vlan: self.vlan,
            src: address,
            dst: to,
            body: Body::Udp { src_port: 9, dst_port: 9 },
            ..Frame::default()
        };
        // Somebody who is not there, in the host's own network.
        let ghost = network.bits() | 99;
        let fragment = Body::Ip { protocol: protocol::UDP };
        let long = [0; 1000];
        Some(match choose(16) {
            0 => Frame { ttl: 1, ..plain }.build(),
            1 => Frame { ttl: 1, src: ghost, ..plain }.build(),
            2 => Frame { src: craft::ip(127, 0, 0, 1), ..plain }.build(),
            3 => Frame { dst: craft::ip(224, 0, 0, 9), ..plain }.build(),
            4 => Frame { dst: craft::ip(240, 0, 0, 1), ..plain }.build(),
            5 => Frame { dst: craft::ip(172, 16 + choose(4) as u8, 0, 1), ..plain }.build(),
            6 => Frame { dst: network.last(), dst_mac: MacAddr::BROADCAST, ..plain }.build(),
            7 => Frame {
                dst: gateway,
                body: Body::Tcp { header: TcpHeader::default(), options: &[] },
                ..plain
            }
            .build(),
            8 => Frame { options: &[7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0], ..plain }.build(),
            9 => Frame { payload: &long, dont_fragment: choose(2) == 0, ..plain }.build(),
            10 => {
                let fragment_offset = [0, 1000, 1008, 65_528][choose(4)];
                let more_fragments = choose(2) == 0;
                let ident = choose(3) as u16;
                Frame {
                    body: fragment,
                    fragment_offset,
                    more_fragments,
                    ident,
                    payload: &long,
                    ..plain
                }
                .build()
            }
            11 => Frame { body: Body::Raw { ether_type: 0x86dd }, payload: &long[..60], ..plain }
                .build(),
            12 => Frame { dst_mac: MacAddr([1, 0x80, 0xc2, 0, 0, 0]), ..plain }.build(),
            13 => Frame {
                body: Body::Raw { ether_type: ETHERTYPE_ARP },
                payload: &long[..30],
                ..plain
            }
            .build(),
            14 => {
                let tags = [0x81, 0, 0, 5, 0x88, 0xa8, 0, 6, 0x81, 0, 0, 7, 8, 0];
                Frame { body: Body::Raw { ether_type: 0x88a8 }, payload: &tags, ..plain }.build()
            }
            _ => Frame {
                src: ghost,
                dst: gateway,
                body: Body::Icmp(IcmpHeader::echo_request(1, 1)),
                ..plain
            }
            .build(),
        })
    }

    fn odd6(&self, to: Ipv6Addr, mut choose: impl FnMut(usize) -> usize) -> Option<Vec<u8>> {
        let own = self.v6?;
        let (IpAddr::V6(src), IpAddr::V6(gateway)) = (own.address, own.gateway) else {
            return None;
        };
        let mac = self.gateway_mac(own)?;
        let echo = [kind::ECHO_REQUEST, 0, 0, 0, 0, 1, 0, 1];
        let icmp = |src, dst, hop_limit, message: &[u8]| {
            let mut message = message.to_vec();
            icmpv6::fill_checksum(src, dst, &mut message);
            packet6(src, dst, header::ICMPV6, hop_limit, &message)
        };
        let of = |text: &str| -> Ipv6Addr { text.parse().expect("an address") };
        // An extension header of eight bytes, and an echo request behind it.
        let behind = |next: u8, rest: [u8; 7]| {
            let mut message = echo;
            icmpv6::fill_checksum(src, to, &mut message);
            packet6(src, to, next, 64, &[&[header::ICMPV6][..], &rest, &message].concat())
        };
        let packet = match choose(16) {
            0 => icmp(src, to, 1, &echo),
            1 => icmp(of("::1"), to, 64, &echo),
            2 => icmp(of("fe80::99"), to, 64, &echo),
            3 => icmp(src, of("ff05::1:3"), 64, &echo),
            4 => icmp(src, of("fe80::1"), 64, &echo),
            5 => icmp(
                src,
                of(["2001:db8:a::1", "2001:db8:b::1", "::ffff:1.2.3.4"][choose(3)]),
                64,
                &echo,
            ),
            6 => icmp(src, gateway, 64, &[[kind::ECHO_REQUEST; 1].as_slice(), &[0; 40]].concat()),
            7 => behind(header::HOP_BY_HOP, [0, 1, 4, 0, 0, 0, 0]),
            8 => behind(header::DESTINATION, [0, 1, 4, 0, 0, 0, 0]),
            9 => behind(header::ROUTING, [0, choose(2) as u8, 1, 0, 0, 0, 0]),
            10 => behind(header::FRAGMENT, [0, 0, choose(2) as u8, 0, 0, 0, 7]),
            11 => behind(header::HOP_BY_HOP, [200, 1, 4, 0, 0, 0, 0]),
            // Neighbour discovery from afar, and of a router that is none.
            12 => icmp(src, gateway, 64, &[&[kind::NEIGHBOUR_SOLICITATION][..], &[0; 23]].concat()),
            13 => icmp(
                src,
                of("ff02::1"),
                255,
                &[&[kind::ROUTER_ADVERTISEMENT][..], &[0; 15]].concat(),
            ),
            14 => packet6(src, to, protocol::UDP, 64, &[0; 1000]),
            _ => packet6(src, to, 200, 64, &[]),
        };
        Some(self.frame6(mac, &packet))
    }
}
