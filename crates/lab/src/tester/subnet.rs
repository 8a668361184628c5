//! A subnet of the tester's hosts on a port, what they say of themselves to the gateway there, and how it answers.
//!
//! ```text
//!  IPv4   ARP: who has 198.18.0.1? tell 198.18.0.101            ─► the gateway's MAC, a known neighbour
//!  IPv6   solicitation: who has 2001:2:0:1::1? I am at 06:…     ─► the gateway's MAC, a stale neighbour
//!         advertisement: 2001:2:0:1::101 is at 06:…, solicited  ─► a reachable one
//! ```
//!
//! A router of IPv6 asks a neighbour that it uses and has not heard of for half a minute whether it is still
//! there, and forgets it where nobody answers (RFC 4861 §7.3). So that no trial depends on the answer, the hosts
//! confirm themselves every few seconds, as an answer does (§7.2.5), before they are asked; a host that is
//! no tester has to wait for the question (§4.4).
//!
//! Never sends or receives: the [`Tester`](super::Tester) does.

use crate::net::{Net, after};
use crate::traffic::{HOSTS, tester_mac};
use measure::Family;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::arp::{ArpMessage, Operation};
use wire::icmpv6::{Neighbour, group_mac, solicited_node};
use wire::layers::{ETHERTYPE_ARP, ETHERTYPE_IPV6};
use wire::{Arp, Ipv6, MacAddr, craft};

/// Where the ICMPv6 message begins in a frame.
const ICMPV6: usize = 14 + wire::ipv6::HEADER_LEN;

/// Longer frames are no introductions.
pub(super) const LONGEST: usize = 128;

/// Hosts of ours on a port, and the gateway they have there: an address of the device's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// The port, from 0.
    pub port: usize,
    /// The device's address.
    pub gateway: IpAddr,
    /// Where that is, once it has said so.
    pub gateway_mac: Option<MacAddr>,
    /// The hosts, of the same family.
    pub hosts: Vec<IpAddr>,
}

impl Subnet {
    /// Hosts whose gateway has said nothing yet.
    pub fn new(port: usize, gateway: IpAddr, hosts: Vec<IpAddr>) -> Subnet {
        Subnet { port, gateway, gateway_mac: None, hosts }
    }

    /// Both of a net, with the table's hosts.
    pub fn of(net: &Net) -> Vec<Subnet> {
        let hosts = |port: usize| (0..HOSTS).map(|n| after(net.hosts[port], n)).collect();
        [0, 1].map(|port| Subnet::new(port, net.gateways[port], hosts(port))).to_vec()
    }

    /// The family of its addresses.
    pub fn family(&self) -> Family {
        Family::of(self.gateway)
    }

    /// What its gateway is asked by.
    pub fn protocol(&self) -> &'static str {
        match self.family() {
            Family::Ipv4 => "ARP",
            Family::Ipv6 => "neighbour solicitations",
        }
    }

    /// What its hosts say of themselves: each asks for the gateway, and confirms itself to one that is known.
    pub(super) fn introductions(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let confirmed = self.gateway_mac.into_iter();
        let confirmations = confirmed.flat_map(move |mac| {
            self.hosts.iter().filter_map(move |host| self.confirmation(*host, mac))
        });
        self.hosts.iter().map(|host| self.question(*host)).chain(confirmations)
    }

    /// A host asks for the gateway.
    pub(super) fn question(&self, host: IpAddr) -> Vec<u8> {
        let mac = tester_mac(self.port);
        match (host, self.gateway) {
            (IpAddr::V6(host), IpAddr::V6(gateway)) => {
                let group = solicited_node(gateway);
                craft::neighbour(said(false, gateway, mac), [mac, group_mac(group)], [host, group])
            }
            (IpAddr::V4(host), IpAddr::V4(gateway)) => {
                craft::arp(ArpMessage::request(mac, host.into(), gateway.into())).build()
            }
            mixed => unreachable!("a subnet of two families: {mixed:?}"),
        }
    }

    /// A host confirms to the gateway at this MAC address that it is there; with IPv4 nothing is to be confirmed.
    fn confirmation(&self, host: IpAddr, gateway_mac: MacAddr) -> Option<Vec<u8>> {
        let (IpAddr::V6(host), IpAddr::V6(gateway)) = (host, self.gateway) else { return None };
        let mac = tester_mac(self.port);
        Some(craft::neighbour(said(true, host, mac), [mac, gateway_mac], [host, gateway]))
    }

    /// The gateway's MAC address, if this frame says it.
    pub(super) fn answer(&self, frame: &[u8]) -> Option<MacAddr> {
        match self.gateway {
            IpAddr::V4(gateway) => {
                let message = Arp::new(frame.get(14..)?).ok()?.message();
                (message.sender_ip == u32::from(gateway)).then_some(message.sender_mac)
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
}

fn said(advertisement: bool, target: Ipv6Addr, mac: MacAddr) -> Neighbour {
    let (solicited, override_) = (advertisement, advertisement);
    Neighbour { advertisement, router: false, solicited, override_, target, mac: Some(mac) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_is_asked_and_its_answer_read() {
        let mac = MacAddr([2, 0, 0, 0, 0, 9]);
        let [four, six] = [Family::Ipv4, Family::Ipv6].map(|family| Subnet::of(&Net::of(family)));
        let host = |subnet: &Subnet| subnet.hosts[3];
        let asked = Arp::new(&four[1].question(host(&four[1]))[14..]).unwrap().message();
        let reply = craft::arp(asked.reply_from(mac)).build();
        assert_eq!(four[1].answer(&reply), Some(mac));
        assert_eq!((four[0].answer(&reply), six[1].answer(&reply)), (None, None));
        assert_eq!(four[1].confirmation(host(&four[1]), mac), None);

        let six_host = host(&six[1]);
        let frame = six[1].question(six_host);
        assert_eq!(frame[..6], [0x33, 0x33, 0xff, 0, 0, 1]);
        assert_eq!(six[1].answer(&frame), None, "a question");
        let (IpAddr::V6(gateway), IpAddr::V6(host)) = (six[1].gateway, six_host) else {
            panic!("{six:?}")
        };
        let said = Neighbour { router: true, ..said(true, gateway, mac) };
        let reply = craft::neighbour(said, [mac, tester_mac(1)], [gateway, host]);
        assert_eq!((six[1].answer(&reply), six[0].answer(&reply)), (Some(mac), None));
        assert_eq!(six[1].answer(&reply[..40]), None);
        let frame = six[1].confirmation(six_host, mac).unwrap();
        let said = Neighbour::read(&frame[ICMPV6..]).unwrap();
        assert_eq!((said.target, said.solicited, said.mac), (host, true, Some(tester_mac(1))));
        assert_eq!(frame[..6], mac.0);
    }

    #[test]
    fn hosts_answer_by_ipv6() {
        let subnets = Subnet::of(&Net::of(Family::Ipv6));
        let here = &subnets[1];
        let mac = MacAddr([2, 0, 0, 0, 0, 9]);
        let v6 = |address: IpAddr| match address {
            IpAddr::V6(address) => address,
            IpAddr::V4(_) => panic!("{address}"),
        };
        let reply = |frame: &[u8]| {
            reply_from(tester_mac(1), |address| here.hosts.contains(&address), frame)
        };
        let ask = |src: Ipv6Addr, target: IpAddr| {
            let said = Neighbour { mac: Some(mac), ..said(false, v6(target), mac) };
            craft::neighbour(said, [mac, tester_mac(1)], [src, v6(target)])
        };
        let gateway = v6(here.gateway);
        for host in [here.hosts[0], here.hosts[24]] {
            let frame = reply(&ask(gateway, host)).unwrap();
            assert_eq!((&frame[..6], &frame[6..12]), (&mac.0[..], &tester_mac(1).0[..]));
            let packet = Ipv6::new(&frame[14..]).unwrap();
            assert_eq!((packet.src(), packet.dst(), packet.hop_limit()), (v6(host), gateway, 255));
            let said = Neighbour::read(packet.payload()).unwrap();
            assert!(said.advertisement && said.solicited && said.override_ && !said.router);
            assert_eq!((said.target, said.mac), (v6(host), Some(tester_mac(1))));
        }
        for other in [after(here.hosts[24], 1), subnets[0].hosts[0], here.gateway] {
            assert_eq!(reply(&ask(gateway, other)), None, "{other}");
        }
        assert_eq!(reply(&ask(Ipv6Addr::UNSPECIFIED, here.hosts[0])), None);
        assert_eq!(reply(&ask(gateway, here.hosts[0])[..60]), None, "cut off");
    }
}
