//! Any bytes as what neighbours, subscribers and servers say to the router: none of it panics.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::MacAddr;
use wire::bpdu::Bpdu;
use wire::dhcp6;
use wire::gre::Gre;
use wire::icmpv6::Neighbour;
use wire::l2tp;
use wire::lacp::Lacpdu;
use wire::mld::Query;
use wire::ppp::Control;
use wire::pppoe::Discovery;
use wire::pptp;
use wire::radius::Packet;
use wire::router_advertisement::RouterAdvertisement;
use wire::vrrp::Advertisement;

/// Where VRRP's packet is said to come from.
const SRC: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);

/// Reads the bytes as PPPoE, PPP, L2TP, PPTP, RADIUS, DHCPv6, VRRP and what is told of connections, LACP, the
/// spanning tree, NAT-PMP, UPnP, GRE, neighbour discovery and MLD. What was read of those that are written as well
/// is written, and read again.
pub fn run(bytes: &[u8]) {
    if let Some(said) = Discovery::read(bytes) {
        let tags: Vec<_> = said.tags().collect();
        let again = Discovery::write(said.code, said.session, &tags);
        let again = Discovery::read(&again).map(|said| said.tags().collect::<Vec<_>>());
        assert_eq!(again, Some(tags));
    }
    if let Some(said) = Control::read(bytes) {
        let written = said.write(0xc021);
        assert_eq!(Control::read(&written[2..]), Some(said));
        let _ = said.options();
        let _ = wire::ppp::value_and_name(said.data);
    }
    if let Some((header, range)) = l2tp::locate(bytes) {
        let _ = l2tp::Message::read(&bytes[range], b"secret");
        assert_eq!(l2tp::read(bytes).map(|(header, _)| header), Some(header));
    }
    if let Some(said) = pptp::Message::read(bytes) {
        assert_eq!(pptp::Message::read(&said.write()), Some(said));
    }
    if let Ok(Some(len)) = pptp::length(bytes) {
        assert!(len <= bytes.len());
    }
    if let Some((header, range)) = pptp::locate(bytes) {
        let mut again = vec![0; header.len() + range.len()];
        header.write(range.len() as u16, &mut again);
        assert_eq!(pptp::locate(&again).map(|(again, _)| again), Some(header));
    }
    if let Some(packet) = Packet::read(bytes) {
        for (kind, value) in &packet.attributes {
            let _ = (packet.number(*kind), packet.text(*kind), packet.vendor(311, *kind));
            let _ = wire::radius::mppe_key(value, b"secret", &packet.authenticator);
            let _ = wire::radius::show(value, b"secret", &packet.authenticator);
        }
        let _ = packet.is_proved([0; 16], b"secret");
        assert_eq!(Packet::read(&packet.write()), Some(packet));
    }
    if let Some(relayed) = dhcp6::Relayed::read(bytes) {
        assert_eq!(dhcp6::Relayed::read(&relayed.to_bytes()), Some(relayed));
    }
    if let Some(message) = dhcp6::Message::read(bytes) {
        let _ = message.addresses(dhcp6::option::DNS);
        let again = dhcp6::Message::read(&message.to_bytes());
        assert_eq!(again.map(|again| again.associations), Some(message.associations));
    }
    for src in [IpAddr::from(SRC), IpAddr::from(Ipv6Addr::LOCALHOST)] {
        let Some(said) = Advertisement::read(bytes, src) else { continue };
        let again = Advertisement::read(&said.to_bytes(src), src);
        assert_eq!(again.map(|again| again.vrid), Some(said.vrid));
    }
    if let Some((header, records)) = wire::vrrp_sync::read(bytes) {
        let mut again = header.to_bytes().to_vec();
        records.iter().for_each(|record| record.write(&mut again));
        assert_eq!(again, bytes);
    }
    if let Some(said) = Lacpdu::read(bytes) {
        assert_eq!(Lacpdu::read(&said.to_bytes()), Some(said));
    }
    // What is a message's of one version only is not written in another.
    let again = |said: Bpdu| Bpdu::read(&said.frame(MacAddr::default()));
    if let Some(said) = Bpdu::read(bytes).and_then(again) {
        assert_eq!(again(said), Some(said));
    }
    let _ = wire::nat_pmp::read(bytes);
    if let Ok(Some((request, len))) = wire::upnp::Request::read(bytes) {
        assert!(request.body.len() <= len && len <= bytes.len());
        let _ = (request.header("st"), wire::upnp::Call::read(request.body));
    }
    let _ = wire::upnp::Call::read(bytes);
    let _ = (Gre::read(bytes), wire::pppoe::session(bytes));
    let _ = (Neighbour::read(bytes), Query::read(bytes), RouterAdvertisement::read(bytes));
}
