//! Introductions: what hosts say of themselves to a router, and how it answers.
//!
//! ```text
//!  IPv4   ARP: who has 198.18.0.1? tell 198.18.0.101            ─► the router's MAC, a known neighbour
//!  IPv6   solicitation: who has 2001:2:0:1::1? I am at 06:…     ─► the router's MAC, a stale neighbour
//!         advertisement: 2001:2:0:1::101 is at 06:…, solicited  ─► a reachable one
//! ```
//!
//! A router of IPv6 asks a neighbour that it uses and has not heard of for half a minute whether it is still
//! there, and forgets it where nobody answers (RFC 4861 §7.3). Nobody answers in a trial. So the hosts
//! confirm themselves every few seconds, as an answer does (§7.2.5), before they are asked; a host that is
//! no tester has to wait for the question (§4.4).
//!
//! Never sends or receives: [`tester`](crate::tester) does.

use crate::net::Net;
use crate::traffic::tester_mac;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::arp::{ArpMessage, Operation};
use wire::icmpv6::{Neighbour, group_mac, solicited_node};
use wire::layers::{ETHERTYPE_ARP, ETHERTYPE_IPV6};
use wire::{Arp, Ipv6, MacAddr, craft};

/// Where the ICMPv6 message begins in a frame.
const ICMPV6: usize = 14 + wire::ipv6::HEADER_LEN;

/// What routers are asked by.
pub(crate) fn protocol(net: &Net) -> &'static str {
    if net.gateways[0].is_ipv6() { "neighbour solicitations" } else { "ARP" }
}

/// Host `n` behind a port asks for its router.
pub(crate) fn question(net: &Net, port: usize, n: u32) -> Vec<u8> {
    let mac = tester_mac(port);
    match (net.host(port, n), net.gateways[port]) {
        (IpAddr::V6(host), IpAddr::V6(gateway)) => {
            let group = solicited_node(gateway);
            craft::neighbour(said(false, gateway, mac), [mac, group_mac(group)], [host, group])
        }
        (IpAddr::V4(host), IpAddr::V4(gateway)) => {
            craft::arp(ArpMessage::request(mac, host.into(), gateway.into())).build()
        }
        mixed => unreachable!("a net of two families: {mixed:?}"),
    }
}

/// Host `n` behind a port confirms to the router at this MAC address that it is there; with IPv4 nothing
/// is to be confirmed.
pub(crate) fn confirmation(net: &Net, port: usize, n: u32, router: MacAddr) -> Option<Vec<u8>> {
    let (IpAddr::V6(host), IpAddr::V6(gateway)) = (net.host(port, n), net.gateways[port]) else {
        return None;
    };
    let mac = tester_mac(port);
    Some(craft::neighbour(said(true, host, mac), [mac, router], [host, gateway]))
}

fn said(advertisement: bool, target: Ipv6Addr, mac: MacAddr) -> Neighbour {
    let (solicited, override_) = (advertisement, advertisement);
    Neighbour { advertisement, router: false, solicited, override_, target, mac: Some(mac) }
}

/// What a host behind a port answers, if this frame asks for one of them.
pub(crate) fn reply(net: &Net, port: usize, frame: &[u8]) -> Option<Vec<u8>> {
    reply_from(tester_mac(port), |address| net.has(port, address), frame)
}

/// What somebody with this MAC address answers, if this frame asks for an address of his.
pub(crate) fn reply_from(
    mac: MacAddr,
    is_his: impl Fn(IpAddr) -> bool,
    frame: &[u8],
) -> Option<Vec<u8>> {
    match frame.get(12..14)?.try_into().map(u16::from_be_bytes) {
        Ok(ETHERTYPE_ARP) => {
            let request = Arp::new(frame.get(14..)?).ok()?.message();
            let is_asked = request.operation == Operation::Request
                && !request.is_gratuitous()
                && is_his(Ipv4Addr::from(request.target_ip).into());
            is_asked.then(|| craft::arp(request.reply_from(mac)).build())
        }
        Ok(ETHERTYPE_IPV6) => {
            let packet = Ipv6::new(frame.get(14..)?).ok()?;
            let is_icmp = packet.next_header() == wire::ipv6::header::ICMPV6;
            let asked = Neighbour::read(packet.payload()).ok().filter(|_| is_icmp)?;
            // Who only looks whether an address is free has none to be told at.
            let is_asked = !asked.advertisement
                && is_his(asked.target.into())
                && !packet.src().is_unspecified();
            let to = MacAddr(*frame.get(6..)?.first_chunk()?);
            let said = said(true, asked.target, mac);
            is_asked.then(|| craft::neighbour(said, [mac, to], [asked.target, packet.src()]))
        }
        _ => None,
    }
}

/// The MAC address of the router behind a port, if this frame says it.
pub(crate) fn answer(net: &Net, port: usize, frame: &[u8]) -> Option<MacAddr> {
    match net.gateways[port] {
        IpAddr::V4(gateway) => {
            let reply = Arp::new(frame.get(14..)?).ok()?.message();
            let is_it =
                reply.operation == Operation::Reply && u32::from(gateway) == reply.sender_ip;
            is_it.then_some(reply.sender_mac)
        }
        IpAddr::V6(gateway) => {
            let is_ipv6 = frame.get(12..14)? == ETHERTYPE_IPV6.to_be_bytes();
            let packet = Ipv6::new(frame.get(14..).filter(|_| is_ipv6)?).ok()?;
            let is_icmp = packet.next_header() == wire::ipv6::header::ICMPV6;
            let said = Neighbour::read(frame.get(ICMPV6..).filter(|_| is_icmp)?).ok()?;
            said.mac.filter(|_| said.advertisement && said.target == gateway)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Family;

    #[test]
    fn a_router_is_asked_and_its_answer_read() {
        let mac = MacAddr([2, 0, 0, 0, 0, 9]);
        let [four, six] = [Family::Ipv4, Family::Ipv6].map(Net::of);
        let asked = Arp::new(&question(&four, 1, 3)[14..]).unwrap().message();
        let reply = craft::arp(asked.reply_from(mac)).build();
        assert_eq!(answer(&four, 1, &reply), Some(mac));
        assert_eq!((answer(&four, 0, &reply), answer(&six, 1, &reply)), (None, None));
        assert_eq!(confirmation(&four, 1, 3, mac), None);

        let frame = question(&six, 1, 3);
        assert_eq!(frame[..6], [0x33, 0x33, 0xff, 0, 0, 1]);
        assert_eq!(answer(&six, 1, &frame), None, "a question");
        let (IpAddr::V6(gateway), IpAddr::V6(host)) = (six.gateways[1], six.host(1, 3)) else {
            panic!("{six:?}")
        };
        let said = Neighbour { router: true, ..said(true, gateway, mac) };
        let reply = craft::neighbour(said, [mac, tester_mac(1)], [gateway, host]);
        assert_eq!((answer(&six, 1, &reply), answer(&six, 0, &reply)), (Some(mac), None));
        assert_eq!(answer(&six, 1, &reply[..40]), None);
        let frame = confirmation(&six, 1, 3, mac).unwrap();
        let said = Neighbour::read(&frame[ICMPV6..]).unwrap();
        assert_eq!((said.target, said.solicited, said.mac), (host, true, Some(tester_mac(1))));
        assert_eq!(frame[..6], mac.0);
    }
}
