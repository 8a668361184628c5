//! Our reading of a frame against etherparse's: the same frames, whole, damaged and cut off.
//!
//! Where the two disagree on purpose, [`difference`] says why; everywhere else the verdicts must
//! be the same, and so must every field.

use std::cell::RefCell;
use std::collections::BTreeMap;

use etherparse::checksum::Sum16BitWords;
use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use wire::arp::{Arp, ArpMessage};
use wire::craft::{Body, Frame};
use wire::icmp::{Icmp, IcmpHeader};
use wire::layers::{self, Layers, Malformed};
use wire::tcp::{TcpFlags, TcpHeader, TcpOption};
use wire::vlan::Tci;
use wire::{Ethernet, Ipv4, Ipv6, MacAddr, Tcp, Udp};

/// Why etherparse may see this frame otherwise than we do; `None` if it must not.
fn difference(frame: &[u8], ours: Result<Layers, Malformed>) -> Option<&'static str> {
    let (mut at, mut tags) = (12, 0);
    let ether_type = loop {
        match frame.get(at..at + 2) {
            Some(&[0x81, 0x00] | &[0x88, 0xa8]) => (at, tags) = (at + 4, tags + 1),
            Some(&[a, b]) => break u16::from_be_bytes([a, b]),
            _ => break 0,
        }
    };
    if matches!(ether_type, 0x9100 | 0x88e5) {
        return Some("0x9100 and MACsec are tags for etherparse, unknown payload for us");
    }
    if tags > 3 {
        return Some("etherparse stops after three tags");
    }
    let l3 = frame.get(at + 2..).unwrap_or_default();
    match (ether_type, ours) {
        (0x0806, Err(_)) if l3.len() >= 8 && l3[..6] != [0, 1, 8, 0, 6, 4] => {
            Some("etherparse reads ARP of any hardware, we only Ethernet and IPv4")
        }
        (0x86dd, Ok(_)) => Some("etherparse reads IPv6 beyond its fixed header"),
        (0x0800, Ok(layers)) => match layers.protocol {
            2 | 51 | 58 => Some("IGMP, AH and ICMPv6 are read by etherparse only"),
            1 if layers.l4 > 0
                && !layers.fragment
                && matches!(frame[usize::from(layers.l4)..], [13 | 14, 0, ..]) =>
            {
                Some("etherparse wants ICMP timestamps to have their exact length")
            }
            _ => None,
        },
        (0x0800, Err(Malformed::Transport)) => {
            let l4 = &l3[usize::from(l3[0] & 0xf) * 4..];
            if l3[6] & 0x3f != 0 || l3[7] != 0 {
                Some("etherparse does not look into fragments, we read the first one's ports")
            } else if l3[9] == 17 && l4.get(4..6) == Some(&[0, 0]) {
                Some("etherparse takes UDP length 0 as \"to the end\" (RFC 2675), we refuse it")
            } else {
                None
            }
        }
        _ => None,
    }
}

/// A frame of any kind we can make, then perhaps more tags put on, up to three words changed, and
/// the end cut off.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let options = prop_oneof![
        3 => Just(vec![]),
        1 => Just(vec![148, 4, 0, 0]),
        1 => Just(vec![2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 3, 7]),
        1 => prop::collection::vec(any::<u8>(), 0..41),
    ];
    let header = (any::<u32>(), any::<u32>(), any::<u8>(), any::<u8>(), any::<u16>());
    let shape = (0..7u8, prop::option::of(0..4096u16), 0..8u8, 0..120usize, any::<bool>());
    let word = prop_oneof![4 => any::<[u8; 2]>(), 2 => Just([0, 0]), 1 => Just([0x91, 0x00])];
    let damage = prop::collection::vec((0..32usize, word), 0..4);
    let tags = prop_oneof![8 => Just(0..0), 1 => (1..5usize).prop_map(|n| 0..n)];
    let cut = prop_oneof![2 => Just(usize::MAX), 1 => 0..100usize];
    (header, shape, options, tags, damage, cut).prop_map(
        |(header, (kind, vlan, fragment, len, bits), options, tags, damage, cut)| {
            let (src, dst, tos, ttl, port) = header;
            let tcp =
                TcpHeader { src_port: port, seq: dst, flags: TcpFlags(tos), ..Default::default() };
            let payload: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(ttl)).collect();
            let body = match kind {
                0 | 1 => Body::Udp { src_port: port, dst_port: 7 },
                2 => Body::Tcp { header: tcp, options: &options },
                3 => Body::Icmp(IcmpHeader { kind: tos % 20, code: ttl % 3, rest: [1, 2, 3, 4] }),
                4 => Body::Ip { protocol: tos },
                5 => Body::Arp(ArpMessage::request(MacAddr([2; 6]), src, dst)),
                _ => Body::Raw { ether_type: if bits { 0x86dd } else { port } },
            };
            let mut payload_v6 = vec![0x60, 0, 0, 0, 0, len as u8, tos, ttl];
            payload_v6.extend([ttl; 32]);
            payload_v6.extend(&payload);
            let is_v6 = matches!(body, Body::Raw { ether_type: 0x86dd });
            let mut frame = Frame {
                vlan: vlan.filter(|_| bits).map(Tci),
                src,
                dst,
                tos,
                ttl,
                dont_fragment: bits,
                more_fragments: fragment == 1,
                fragment_offset: [0, 0, 8, 0x8000].get(usize::from(fragment)).map_or(0, |at| *at),
                options: if kind == 1 { &options } else { &[] },
                body,
                payload: if is_v6 { &payload_v6 } else { &payload },
                ..Frame::default()
            }
            .build();
            for tag in tags {
                frame.splice(12..12, [0x81, 0x00, tos, tag as u8]);
            }
            for (at, word) in damage {
                if let Some(at) = frame.get_mut(2 * at..2 * at + 2) {
                    at.copy_from_slice(&word);
                }
            }
            frame.truncate(cut);
            frame
        },
    )
}

#[test]
fn we_read_what_etherparse_reads() {
    let seen = RefCell::new(BTreeMap::<&str, u32>::new());
    // A seed of its own: the same frames in each run, so that the counts below hold for sure.
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config = Config { cases: 20_000, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new_with_rng(config, rng).run(&frames(), |frame| {
        let verdict = compare(&frame)?;
        *seen.borrow_mut().entry(verdict).or_default() += 1;
        Ok(())
    });
    let seen = seen.into_inner();
    if let Err(error) = result {
        let TestError::Fail(reason, frame) = error else { panic!("{error}") };
        let hex: Vec<_> = frame
            .chunks(2)
            .map(|b| b.iter().map(|b| format!("{b:02x}")).collect::<String>() + " ")
            .collect();
        panic!("{reason}\nframe: {}\nours: {:?}", hex.concat(), layers::parse(&frame));
    }
    // The comparison must not have been void, and no excuse must be left that is never used.
    assert!(seen["read alike"] > 9_000 && seen["refused alike"] > 3_000, "{seen:#?}");
    assert_eq!(seen.len(), 2 + 8, "verdicts that occurred: {seen:#?}");
}

/// Compares both readings; the verdict is for the statistics.
fn compare(frame: &[u8]) -> Result<&'static str, TestCaseError> {
    let ours = layers::parse(frame);
    let theirs = SlicedPacket::from_ethernet(frame);
    if let (Ok(layers), Some("etherparse reads IPv6 beyond its fixed header")) =
        (ours, difference(frame, ours))
    {
        compare_ipv6(frame, layers)?; // all but what lies beyond
    }
    if let Some(difference) = difference(frame, ours) {
        return Ok(difference);
    }
    match (ours, theirs) {
        (Ok(layers), Ok(packet)) => {
            compare_fields(frame, layers, &packet)?;
            Ok("read alike")
        }
        (Err(_), Err(_)) => Ok("refused alike"),
        (ours, theirs) => {
            Err(TestCaseError::fail(format!("ours {ours:?}, etherparse's {theirs:?}")))
        }
    }
}

fn compare_fields(
    frame: &[u8],
    layers: Layers,
    packet: &SlicedPacket<'_>,
) -> Result<(), TestCaseError> {
    let ethernet = Ethernet::new(frame).unwrap();
    let outer = packet.link.as_ref().and_then(|link| link.to_header()?.ethernet2()).unwrap();
    prop_assert_eq!(ethernet.dst().0, outer.destination);
    prop_assert_eq!(ethernet.src().0, outer.source);
    prop_assert_eq!(ethernet.ether_type(), outer.ether_type.0);
    let vlan = packet.vlan_ids().first().map(|id| id.value());
    prop_assert_eq!(layers.vlan.map(|tci| Tci(tci).id()), vlan);
    prop_assert_eq!(layers.ether_type, packet.ether_payload().unwrap().ether_type.0);
    let l3 = &frame[usize::from(layers.l3)..];
    match &packet.net {
        Some(NetSlice::Ipv4(theirs)) => {
            let header = theirs.header();
            let ours = Ipv4::new(l3).unwrap();
            prop_assert_eq!(layers.tuple.src.to_be_bytes(), header.source());
            prop_assert_eq!(layers.tuple.dst.to_be_bytes(), header.destination());
            prop_assert_eq!(layers.protocol, header.protocol().0);
            prop_assert_eq!(layers.options, !header.options().is_empty());
            prop_assert_eq!(layers.fragment, header.is_fragmenting_payload());
            prop_assert_eq!(layers.later_fragment, header.fragments_offset().value() > 0);
            prop_assert_eq!(layers.l3_end - layers.l3, header.total_len());
            prop_assert_eq!(ours.payload(), theirs.payload().payload);
            prop_assert_eq!(ours.dscp(), header.dcp().value());
            prop_assert_eq!(ours.ident(), header.identification());
            prop_assert_eq!(ours.dont_fragment(), header.dont_fragment());
            prop_assert_eq!(ours.more_fragments(), header.more_fragments());
            prop_assert_eq!(ours.fragment_offset(), header.fragments_offset().value() << 3);
            prop_assert_eq!(ours.ttl(), header.ttl());
            let sum = Sum16BitWords::new().add_slice(header.slice()).ones_complement();
            prop_assert_eq!(ours.checksum_ok(), sum == 0);
            compare_transport(frame, layers, &packet.transport)
        }
        Some(NetSlice::Arp(theirs)) => {
            let ours = Arp::new(l3).unwrap().message();
            prop_assert_eq!(&ours.to_bytes()[..], theirs.slice());
            prop_assert_eq!(ours.operation.number(), theirs.operation().0);
            prop_assert_eq!(ours.sender_mac.0, theirs.sender_hw_addr());
            prop_assert_eq!(ours.sender_ip.to_be_bytes(), theirs.sender_protocol_addr());
            prop_assert_eq!(ours.target_mac.0, theirs.target_hw_addr());
            prop_assert_eq!(ours.target_ip.to_be_bytes(), theirs.target_protocol_addr());
            Ok(())
        }
        net => {
            prop_assert!(net.is_none());
            let expected = Layers {
                ether_type: layers.ether_type,
                vlan: layers.vlan,
                l3: layers.l3,
                l3_end: frame.len() as u16,
                ..Layers::default()
            };
            prop_assert_eq!(layers, expected);
            Ok(())
        }
    }
}

fn compare_ipv6(frame: &[u8], layers: Layers) -> Result<(), TestCaseError> {
    let l3 = &frame[usize::from(layers.l3)..];
    let ours = Ipv6::new(l3).unwrap();
    let theirs = etherparse::Ipv6HeaderSlice::from_slice(l3).unwrap();
    prop_assert_eq!(layers.protocol, theirs.next_header().0);
    prop_assert_eq!(layers.l3_end - layers.l3, 40 + theirs.payload_length());
    prop_assert_eq!(ours.traffic_class(), theirs.traffic_class());
    prop_assert_eq!(ours.flow_label(), theirs.flow_label().value());
    prop_assert_eq!(ours.hop_limit(), theirs.hop_limit());
    prop_assert_eq!((ours.src(), ours.dst()), (theirs.source_addr(), theirs.destination_addr()));
    prop_assert_eq!(&ours.header().to_bytes()[..], theirs.slice());
    Ok(())
}

fn compare_transport(
    frame: &[u8],
    layers: Layers,
    theirs: &Option<TransportSlice<'_>>,
) -> Result<(), TestCaseError> {
    let l4 = &frame[usize::from(layers.l4)..usize::from(layers.l3_end)];
    let (src, dst) = (layers.tuple.src, layers.tuple.dst);
    let ports = (layers.tuple.src_port, layers.tuple.dst_port);
    match theirs {
        Some(TransportSlice::Udp(theirs)) => {
            let ours = Udp::new(l4).unwrap();
            prop_assert_eq!(ports, (theirs.source_port(), theirs.destination_port()));
            prop_assert_eq!((ours.src_port(), ours.dst_port()), ports);
            prop_assert_eq!(ours.payload(), theirs.payload());
            let right = theirs
                .to_header()
                .calc_checksum_ipv4_raw(src.to_be_bytes(), dst.to_be_bytes(), theirs.payload())
                .unwrap();
            let ok = ours.checksum() == right || ours.checksum() == 0;
            prop_assert_eq!(ours.checksum_ok(src, dst), ok);
        }
        Some(TransportSlice::Tcp(theirs)) => {
            let ours = Tcp::new(l4).unwrap();
            prop_assert_eq!(ports, (theirs.source_port(), theirs.destination_port()));
            prop_assert_eq!(
                (ours.seq(), ours.ack()),
                (theirs.sequence_number(), theirs.acknowledgment_number())
            );
            prop_assert_eq!(
                (ours.window(), ours.urgent()),
                (theirs.window_size(), theirs.urgent_pointer())
            );
            prop_assert_eq!(ours.payload(), theirs.payload());
            let flags = [
                (TcpFlags::FIN, theirs.fin()),
                (TcpFlags::SYN, theirs.syn()),
                (TcpFlags::RST, theirs.rst()),
                (TcpFlags::PSH, theirs.psh()),
                (TcpFlags::ACK, theirs.ack()),
                (TcpFlags::URG, theirs.urg()),
                (TcpFlags::ECE, theirs.ece()),
                (TcpFlags::CWR, theirs.cwr()),
            ];
            for (flag, set) in flags {
                prop_assert_eq!(ours.flags().contains(flag), set, "{}", flag);
            }
            compare_tcp_options(ours, theirs)?;
            if ours.checksum() != 0xffff {
                let right =
                    theirs.calc_checksum_ipv4(src.to_be_bytes(), dst.to_be_bytes()).unwrap();
                prop_assert_eq!(ours.checksum_ok(src, dst), ours.checksum() == right);
            }
        }
        Some(TransportSlice::Icmpv4(theirs)) => {
            let ours = Icmp::new(l4).unwrap();
            prop_assert_eq!((ours.kind(), ours.code()), (theirs.type_u8(), theirs.code_u8()));
            prop_assert_eq!(ours.header().rest, theirs.bytes5to8());
            prop_assert_eq!(ours.checksum(), theirs.checksum());
        }
        other => {
            prop_assert!(other.is_none());
            let first_fragment = layers.fragment && !layers.later_fragment;
            prop_assert!(layers.l4 == 0 || first_fragment, "only we read a first fragment's ports");
        }
    }
    Ok(())
}

/// Option by option, up to where etherparse gives up: at a kind it does not know, or a length
/// that is wrong for the kind. We go on behind both.
fn compare_tcp_options(
    ours: Tcp<&[u8]>,
    theirs: &etherparse::TcpSlice<'_>,
) -> Result<(), TestCaseError> {
    let mut ours = ours.options();
    for theirs in theirs.options_iterator() {
        let expected = match theirs {
            Ok(TcpOptionElement::Noop) => continue,
            Ok(TcpOptionElement::MaximumSegmentSize(mss)) => TcpOption::Mss(mss),
            Ok(TcpOptionElement::WindowScale(shift)) => TcpOption::WindowScale(shift),
            Ok(TcpOptionElement::SelectiveAcknowledgementPermitted) => TcpOption::SackPermitted,
            Ok(TcpOptionElement::Timestamp(value, echo)) => TcpOption::Timestamps { value, echo },
            Ok(TcpOptionElement::SelectiveAcknowledgement(..)) => {
                let is_sack = matches!(ours.next(), Some(TcpOption::Other { kind: 5, .. }));
                prop_assert!(is_sack);
                continue;
            }
            Err(_) => return Ok(()),
        };
        prop_assert_eq!(ours.next(), Some(expected));
    }
    prop_assert_eq!(ours.next(), None);
    Ok(())
}
