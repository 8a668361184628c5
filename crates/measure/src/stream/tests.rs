//! Frames of streams: what varies and how often, and that every frame is right.

use super::*;
use proptest::prelude::*;
use std::collections::HashSet;
use wire::{FiveTuple, Ipv4Prefix, MacAddr, checksum, layers};

fn plan(l2: u32, variation: Variation) -> StreamPlan {
    let template = Template::default();
    StreamPlan { id: 3, template, frame: FrameLen::with_fcs(l2), variation, seed: 42 }
}

fn next(stream: &mut Stream) -> Vec<u8> {
    let mut bytes = vec![0xee; stream.frame().in_memory() as usize];
    stream.write(Moment::from_nanos(77), &mut bytes);
    bytes
}

fn tuples(plan: StreamPlan, n: usize) -> Vec<FiveTuple> {
    let mut stream = plan.build().unwrap();
    (0..n).map(|_| layers::parse(&next(&mut stream)).unwrap().tuple).collect()
}

#[test]
fn frames_alike_differ_in_their_sequence_only() {
    let mut stream = plan(64, Variation::NONE).build().unwrap();
    let (first, second) = (next(&mut stream), next(&mut stream));
    assert_eq!(first[..42], second[..42]);
    let trailer = |sequence| Trailer { stream: 3, test: 0, sequence, time: Moment::from_nanos(77) };
    assert_eq!(Trailer::read(&first), Some(trailer::Found::Good(trailer(0))));
    assert_eq!(Trailer::read(&second), Some(trailer::Found::Good(trailer(1))));
}

#[test]
fn fields_in_turn() {
    let hosts = vec![
        (Field::SrcMac, Values::Range(0x0200_0000_00fe, 0x0200_0000_0100), Pick::InTurn),
        (Field::DstPort, Values::List(vec![5, 9]), Pick::InTurn),
        (
            Field::Dst,
            Values::Networks(vec![
                "10.0.0.0/8".parse().unwrap(),
                "1.2.3.4/32".parse().unwrap(),
                "1.2.3.6/31".parse().unwrap(),
            ]),
            Pick::InTurn,
        ),
    ];
    let mut stream = plan(128, Variation::Fields(hosts)).build().unwrap();
    let seen: Vec<_> = (0..4)
        .map(|_| {
            let frame = next(&mut stream);
            let tuple = layers::parse(&frame).unwrap().tuple;
            (frame[10..12].to_vec(), tuple.dst_port, std::net::Ipv4Addr::from(tuple.dst))
        })
        .collect();
    let expected = [
        (vec![0, 0xfe], 5, [10, 0, 0, 1].into()),
        (vec![0, 0xff], 9, [1, 2, 3, 4].into()),
        (vec![1, 0x00], 5, [1, 2, 3, 6].into()),
        (vec![0, 0xfe], 9, [10, 0, 0, 1].into()),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn random_addresses_stay_in_their_networks_and_reach_them_all() {
    let networks: Vec<Ipv4Prefix> =
        (0..50).map(|i| Ipv4Prefix::new(i << 24 | 0x0001_0000, 16 + i as u8 % 17)).collect();
    let fields = vec![(Field::Dst, Values::Networks(networks.clone()), Pick::Random)];
    let mut seen = HashSet::new();
    for tuple in tuples(plan(64, Variation::Fields(fields)), 2000) {
        let index = networks.iter().position(|network| network.contains(tuple.dst));
        seen.insert(index.unwrap_or_else(|| panic!("{tuple:?} in no network")));
    }
    assert_eq!(seen.len(), networks.len());
}

#[test]
fn flows_are_distinct_and_come_again() {
    let fields = vec![
        (Field::SrcPort, Values::Range(1024, 1123)),
        (Field::Dst, Values::List(vec![1, 2, 3])),
        (Field::Src, Values::Range(500, 600)),
    ];
    let flows = |pick| Variation::Flows { fields: fields.clone(), count: 1000, pick };
    let in_turn = tuples(plan(64, flows(Pick::InTurn)), 2000);
    assert_eq!(in_turn[..1000].iter().collect::<HashSet<_>>().len(), 1000);
    assert_eq!(in_turn[..1000], in_turn[1000..]);
    assert_eq!((in_turn[100].src_port, in_turn[100].dst, in_turn[300].src), (1024, 2, 501));

    let random = tuples(plan(64, flows(Pick::Random)), 20_000);
    let all: HashSet<_> = in_turn.iter().collect();
    assert_eq!(random.iter().collect::<HashSet<_>>(), all);
    assert_eq!(random, tuples(plan(64, flows(Pick::Random)), 20_000), "same seed, same flows");
}

#[test]
fn refused() {
    let fields = |field, values| Variation::Fields(vec![(field, values, Pick::InTurn)]);
    let flows = |field, count| {
        let fields = vec![(field, Values::Range(0, 9))];
        Variation::Flows { fields, count, pick: Pick::InTurn }
    };
    let twice = vec![(Field::Src, Values::Range(0, 9), Pick::InTurn); 2];
    for (variation, message) in [
        (fields(Field::Src, Values::List(vec![])), "Src: no values to go through"),
        (fields(Field::SrcPort, Values::Range(9, 8)), "SrcPort: no values to go through"),
        (fields(Field::SrcPort, Values::Range(0, 70_000)), "SrcPort: 70000 is more than 65535"),
        (fields(Field::Dst, Values::Networks(vec![])), "Dst: no values to go through"),
        (Variation::Fields(twice), "Src is varied twice"),
        (flows(Field::Src, 11), "11 flows: there can be 1 to 10 of these values"),
        (flows(Field::Src, 0), "0 flows: there can be 1 to 10 of these values"),
        (
            flows(Field::SrcMac, 5),
            "flows differ in addresses and ports: vary MAC addresses as fields",
        ),
    ] {
        let error = plan(64, variation).build().map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error = plan(60, Variation::NONE).build().map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "a frame of 60 bytes (with FCS): use 64 to 9860");
}

fn variations() -> impl Strategy<Value = Variation> {
    let pick = || prop_oneof![Just(Pick::InTurn), Just(Pick::Random)];
    prop_oneof![
        Just(Variation::NONE),
        (pick(), pick(), pick()).prop_map(|(a, b, c)| Variation::Fields(vec![
            (Field::DstMac, Values::Range(0, 0xffff_ffff_ffff), a),
            (Field::Src, Values::Range(0, 0xffff_ffff), b),
            (Field::SrcPort, Values::Range(0, 0xffff), c),
        ])),
        pick().prop_map(|pick| Variation::Flows {
            fields: vec![
                (Field::DstPort, Values::Range(0xfff0, 0xffff)),
                (Field::Src, Values::Range(0xffff_ff00, 0xffff_ffff))
            ],
            count: 100,
            pick,
        }),
    ]
}

const PREFIX: u128 = 0x2001_0002_0000 << 80;

/// The same between two hosts of IPv6.
fn plan6(l2: u32, variation: Variation) -> StreamPlan {
    let ends = Ends::V6 { src: PREFIX | 1 << 64 | 0x101, dst: PREFIX | 2 << 64 | 0x101 };
    let plan = plan(l2, variation);
    StreamPlan { template: Template { ends, ..plan.template }, ..plan }
}

/// Source, destination and ports of a frame of IPv6 that is right.
fn tuple6(frame: &[u8]) -> (u128, u128, [u16; 2]) {
    let packet = wire::Ipv6::new(&frame[IPV4..]).unwrap();
    let (src, dst, datagram) = (packet.src(), packet.dst(), packet.payload());
    assert_eq!(datagram.len(), frame.len() - 54);
    let len = datagram.len() as u32;
    assert!(Sum::pseudo_ipv6(src.octets(), dst.octets(), 17, len).bytes(datagram).is_ok());
    assert_ne!(datagram[6..8], [0, 0]);
    let port = |at: usize| u16::from_be_bytes([datagram[at], datagram[at + 1]]);
    (src.into(), dst.into(), [0, 2].map(port))
}

#[test]
fn flows_of_ipv6_are_those_of_ipv4() {
    let fields = vec![
        (Field::Src, Values::Range(0x101, 0x119)),
        (Field::Dst, Values::Range(0x101, 0x119)),
        (Field::SrcPort, Values::Range(1024, 1031)),
    ];
    for pick in [Pick::InTurn, Pick::Backwards] {
        let flows = Variation::Flows { fields: fields.clone(), count: 5000, pick };
        let four = tuples(plan(64, flows.clone()), 5000);
        let mut stream = plan6(84, flows).build().unwrap();
        let six: Vec<_> = (0..5000).map(|_| tuple6(&next(&mut stream))).collect();
        for (six, four) in six.iter().zip(&four) {
            let (src, dst) = (u128::from(four.src), u128::from(four.dst));
            let ports = [four.src_port, four.dst_port];
            assert_eq!(*six, (PREFIX | 1 << 64 | src, PREFIX | 2 << 64 | dst, ports));
        }
        assert_eq!(six.iter().collect::<HashSet<_>>().len(), 5000);
        assert_eq!(tuple6(&next(&mut stream)), six[0], "then again");
    }
}

#[test]
fn random_addresses_of_ipv6_are_any_of_their_networks() {
    let networks = ["2001:db8::/32", "2400::/12", "2001:db8:7:7::/64"];
    let networks: Vec<wire::Ipv6Prefix> = networks.map(|text| text.parse().unwrap()).to_vec();
    let values = Values::Networks6(networks.clone());
    let anywhere = |pick| Variation::Fields(vec![(Field::Dst, values.clone(), pick)]);
    let mut stream = plan6(127, anywhere(Pick::Random)).build().unwrap();
    let seen: Vec<u128> = (0..300).map(|_| tuple6(&next(&mut stream)).1).collect();
    let place = |dst: &u128| networks.iter().rposition(|network| network.contains(*dst));
    assert_eq!(seen.iter().map(place).collect::<HashSet<_>>(), (0..3).map(Some).collect());
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 300, "any address");
    let mut stream = plan6(84, anywhere(Pick::InTurn)).build().unwrap();
    let first = |network: &wire::Ipv6Prefix| network.bits() + 1;
    let seen: Vec<u128> = (0..3).map(|_| tuple6(&next(&mut stream)).1).collect();
    assert_eq!(seen, networks.iter().map(first).collect::<Vec<_>>());
    for (plan, network) in [(plan(64, anywhere(Pick::Random)), "2001:db8::/32"), {
        let long = Values::Networks6(vec!["2001:db8::/65".parse().unwrap()]);
        (plan6(84, Variation::Fields(vec![(Field::Dst, long, Pick::Random)])), "2001:db8::/65")
    }] {
        let error = plan.build().map(|_| ()).unwrap_err();
        assert_eq!(error, BadStream::Variation(BadVariation::Networks(Field::Dst)), "{network}");
    }
    let error = plan6(64, Variation::NONE).build().map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "a frame of 64 bytes (with FCS): use 84 to 9860");
}

proptest! {
    /// Whatever varies, and whatever the length: headers parse, both checksums are right, MAC
    /// addresses that are not varied stay, the trailer is readable.
    #[test]
    fn every_frame_is_right(
        variation in variations(), l2 in 64u32..1600, udp_checksum: bool, fill: u8, seed: u64,
    ) {
        let template = Template { udp_checksum, fill, ..Template::default() };
        let frame = FrameLen::with_fcs(l2);
        let mut stream = StreamPlan { id: 9, template, frame, variation, seed }.build().unwrap();
        for sequence in 0..8 {
            let bytes = next(&mut stream);
            let layers = layers::parse(&bytes).unwrap();
            prop_assert_eq!(usize::from(layers.l3_end), bytes.len());
            prop_assert!(checksum::is_ok(&bytes[IPV4..UDP]));
            let tuple = layers.tuple;
            prop_assert_eq!(bytes[UDP + 6..UDP + 8] != [0, 0], udp_checksum);
            prop_assert!(checksum::udp_ok(tuple.src, tuple.dst, &bytes[UDP..]));
            prop_assert_eq!(&bytes[6..12], &MacAddr([2, 0, 0, 0, 0, 1]).0);
            let trailer = Trailer { stream: 9, test: 0, sequence, time: Moment::from_nanos(77) };
            prop_assert_eq!(Trailer::read(&bytes), Some(trailer::Found::Good(trailer)));
        }
    }
}
