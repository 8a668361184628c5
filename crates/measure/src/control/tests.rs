//! Tests of control frames: when they are sent, and what is made of what comes back.

use super::*;
use port::{Slab, memory};
use wire::icmp;

const PATH: Path = Path {
    src_mac: MacAddr([6, 0, 0, 0, 0, 1]),
    dst_mac: MacAddr([2, 0, 0, 0, 0, 1]),
    src: craft::ip(198, 18, 1, 2),
    dst: craft::ip(198, 18, 1, 1),
    broadcast: craft::ip(198, 18, 1, 255),
};

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u32) -> Moment {
    Moment::ZERO + SECOND * seconds
}

/// Polls every half second, and returns what was sent when.
fn run(control: &mut Control, seconds: u32) -> Vec<(Moment, Vec<u8>)> {
    let slab = Slab::new(64).unwrap();
    let mut pool = slab.pool();
    let (mut out, mut other) = memory::wire(32);
    let (mut sent, mut batch) = (vec![], Batch::new());
    for half in 0..2 * seconds {
        let now = Moment::ZERO + SECOND / 2 * half;
        control.poll(now, &mut pool, &mut out);
        other.receive(now, &mut pool, &mut batch);
        sent.extend(batch.as_slice().iter().map(|frame| (now, slab.bytes(frame).to_vec())));
        batch.free_all(&mut pool);
    }
    sent
}

fn payload(frame: &[u8]) -> &[u8] {
    let layers = wire::layers::parse(frame).unwrap();
    &frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)]
}

#[test]
fn when_they_are_sent() {
    for (duration, queries, updates) in [
        (Duration::from_millis(20), vec![10], vec![10]),
        (SECOND, vec![10], vec![10]),
        (SECOND * 3, vec![10, 11, 12], vec![10]),
        (SECOND * 61, (10..71).collect(), vec![10, 40, 70]),
    ] {
        let mut asked = Control::queries(&PATH, 7, at(10), duration);
        let mut said = Control::updates(&PATH, Version::One, 0, (at(10), duration));
        let is_when = |sent: Vec<(Moment, Vec<u8>)>, seconds: &[u32]| {
            let when: Vec<Moment> = sent.iter().map(|(now, _)| *now).collect();
            let expected: Vec<Moment> = seconds.iter().map(|seconds| at(*seconds)).collect();
            assert_eq!(when, expected, "{duration:?}");
        };
        assert_eq!(asked.left(), queries.len() as u64);
        is_when(run(&mut asked, 100), &queries);
        is_when(run(&mut said, 100), &updates);
        let told = (asked.told().queries, said.told().updates);
        assert_eq!(told, (queries.len() as u64, updates.len() as u64));
        assert_eq!(asked.next_due(), Moment::from_nanos(u64::MAX));
    }
}

#[test]
fn states_go_by_turns() {
    for (version, mac, address, first) in [
        (Version::One, [0xff; 6], [198, 18, 1, 255], "198.18.32.0/24"),
        (Version::Two, [1, 0, 0x5e, 0, 0, 9], [224, 0, 0, 9], "198.51.100.0/27"),
    ] {
        let mut updates = Control::updates(&PATH, version, 1, (at(0), SECOND * 90));
        let sent = run(&mut updates, 90);
        let metrics = sent.iter().map(|(_, frame)| {
            let routes: Vec<rip::Route> = rip::routes(payload(frame)).unwrap().collect();
            assert_eq!((routes.len(), payload(frame)[1]), (NETWORKS as usize, version as u8));
            assert_eq!(routes[0].network.to_string(), first);
            routes[0].metric
        });
        assert_eq!(metrics.collect::<Vec<_>>(), [2, 1, 2]);
        assert_eq!((&sent[0].1[..6], &sent[0].1[30..34]), (&mac[..], &address[..]));
    }
}

/// An answer as a device gives it: the question's bytes, but for the kind of message and the error.
fn answer(question: &[u8], error: u8) -> Vec<u8> {
    let mut payload = payload(question).to_vec();
    let pdu = payload.iter().position(|byte| *byte == 0xa0).unwrap();
    payload[pdu] = 0xa2;
    let error_at = pdu + 2 + 2 + usize::from(payload[pdu + 3]) + 2;
    payload[error_at] = error;
    let plain = craft::udp(PATH.dst, snmp::PORT, PATH.src, QUERY_PORT);
    Frame { payload: &payload, ..plain }.build()
}

#[test]
fn what_comes_back() {
    let mut control = Control::queries(&PATH, 1, at(0), SECOND * 4);
    let sent: Vec<Vec<u8>> = run(&mut control, 4).into_iter().map(|(_, frame)| frame).collect();
    let unreachable = |about: &[u8]| {
        let body = craft::Body::Icmp(icmp::IcmpHeader::unreachable(3));
        let (src, dst) = (PATH.dst, PATH.src);
        Frame { src, dst, body, payload: &about[14..], ..Frame::default() }.build()
    };
    let mut cut = answer(&sent[3], 0);
    cut.truncate(50);
    let came = [
        answer(&sent[0], 0),
        answer(&sent[0], 0), // twice: once is enough
        answer(&sent[1], 2),
        unreachable(&sent[2]),
        unreachable(&craft::udp(PATH.src, 7, PATH.dst, 7).build()),
        sent[3].clone(),
        cut,
        vec![0; 60],
        vec![],
    ];
    came.iter().for_each(|frame| control.frame(frame));
    let told = Told { queries: 4, answered: 1, errors: 1, refused: 1, ..Told::default() };
    assert_eq!((control.told(), control.is_waiting()), (told, true));
    let said = "management queries (SNMP): 1 of 4 answered, 1 with an error, 1 refused (ICMP)";
    assert_eq!(told.describe(), [said]);

    let mut control = Control::updates(&PATH, Version::One, 0, (at(0), SECOND));
    let sent = run(&mut control, 1).remove(0).1;
    let silent = "routing updates (RIP): 1 sent, nothing the device sends tells of their networks";
    assert_eq!(control.told().describe(), [silent]);
    let other = [rip::Route { network: Ipv4Prefix::ALL, metric: 1 }];
    let other = rip::response(Version::Two, &other);
    let plain = craft::udp(PATH.dst, rip::PORT, rip::GROUP, rip::PORT);
    control.frame(&Frame { payload: &other, ..plain }.build());
    assert_eq!(control.told().passed_on, 0);
    control.frame(&sent);
    assert_eq!(control.told().passed_on, 1);
    assert!(control.told().describe()[0].contains("1 of the device's own tell"));
}
