//! `/snmp`: who may ask, and what is answered; net-snmp's tools walk over a router in `labs/snmp.yaml`.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use wire::craft::{self, ip};
use wire::layers;
use wire::snmp::agent::{self, Kind, Request};
use wire::snmp::v3::{self, Head, Scoped, flag};

const CONFIG: &str = "\
/system identity set name=gw
/ip address add address=10.0.0.1/24 interface=ether1
/ip address add address=10.0.1.1/24 interface=ether2
/ip arp add address=10.0.0.9 mac-address=06:00:00:00:00:09 interface=ether1
/queue simple add name=q1 target=10.0.1.7/32 max-limit=1M/1M
/queue simple add name=q2 target=10.0.1.8/32 max-limit=1M/1M
/snmp set enabled=yes contact=me
";

fn asks(kind: Kind, names: &[&[u32]]) -> Request {
    Request {
        is_2c: true,
        community: b"public".to_vec(),
        kind,
        request: 7,
        non_repeaters: 0,
        repetitions: 10,
        names: names.iter().map(|name| name.to_vec()).collect(),
    }
}

/// What the router says to a request: a payload.
fn answer(rig: &mut Rig, request: &[u8]) -> Option<Vec<u8>> {
    let frame = craft::udp(ip(10, 0, 0, 9), 5000, ip(10, 0, 0, 1), 161);
    let frame = craft::Frame { src_mac: mac(9), dst_mac: own_mac(1), payload: request, ..frame };
    let out = rig.pass(1, &frame.build());
    assert!(rig.router.frames().balance());
    let frame = &out.first()?.1;
    let layers = layers::network(frame).unwrap();
    if layers.tuple.src_port != 161 {
        return None; // that nobody listens
    }
    assert_eq!(layers.tuple.dst_port, 5000);
    assert!(frame.len() <= 1514, "{}", frame.len());
    Some(frame[usize::from(layers.l4) + 8..usize::from(layers.l3_end)].to_vec())
}

/// Whether these bytes are in a payload.
fn has(payload: &[u8], bytes: &[u8]) -> bool {
    payload.windows(bytes.len()).any(|window| window == bytes)
}

const NAME: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 5];

#[test]
fn who_may_ask() {
    let get = asks(Kind::Get, &[&[1, 3, 6, 1, 2, 1, 1, 5, 0]]);
    let other = Request { community: b"other".to_vec(), ..get.clone() };
    for (config, request, answered) in [
        ("", &get, true),
        ("", &other, false),
        ("/snmp set enabled=no", &get, false),
        ("/snmp community set [find default=yes] addresses=10.0.0.0/24", &get, true),
        ("/snmp community set [find default=yes] addresses=10.0.1.0/24,10.0.2.0/24", &get, false),
        ("/snmp community set [find default=yes] name=other", &other, true),
        ("/snmp community set [find default=yes] read-access=no", &get, false),
        ("/ip firewall filter add chain=input protocol=udp dst-port=161 action=drop", &get, false),
        ("/ip firewall filter add chain=output protocol=udp src-port=161 action=drop", &get, false),
    ] {
        let mut rig = Rig::new(2, &format!("{CONFIG}{config}"));
        let said = answer(&mut rig, &agent::request(request));
        let said = said.is_some_and(|payload| has(&payload, &[4, 2, b'g', b'w']));
        assert_eq!(said, answered, "{config}");
        let export = rig.run("/export");
        assert_eq!(Rig::new(2, &export).run("/export"), export, "{config}");
    }
}

/// All that there is, name by name: each answer is behind what was asked for.
fn walk(rig: &mut Rig, is_2c: bool) -> usize {
    let (mut name, mut count) = (vec![1, 3], 0);
    loop {
        let request = Request { is_2c, ..asks(Kind::GetNext, &[&name]) };
        let payload = answer(rig, &agent::request(&request)).expect("an answer");
        if wire::snmp::response(&payload).unwrap().error == 2 || has(&payload, &[0x82, 0]) {
            return count;
        }
        let next = agent::names(&payload).unwrap().remove(0);
        assert!(next > name, "{next:?} is not behind {name:?}");
        (name, count) = (next, count + 1);
    }
}

#[test]
fn a_walk_ends() {
    let mut rig = Rig::new(2, CONFIG);
    let all = walk(&mut rig, true);
    // 7 + 1 + 17 × 2 + 1 + 4 × 2 + 2 + 6 × 2 + 8 × 2
    assert_eq!(all, 81);
    // Version 1 stops where a counter of 64 bits would be.
    let mut rig = Rig::new(2, CONFIG);
    assert!(walk(&mut rig, false) < all);
}

/// Version 3: who does not know the engine is told it; users sign or encrypt in `labs/snmp.yaml`.
#[test]
fn version_3() {
    let users =
        "/snmp community add name=signs security=authorized authentication-password=longenough";
    let mut rig = Rig::new(2, &format!("{CONFIG}{users}"));
    let engine = [0x80, 0, 0x3a, 0x8c, 4];
    let named = |engine: &[u8], user: &[u8], flags: u8| Head {
        id: 5,
        flags,
        engine: engine.to_vec(),
        user: user.to_vec(),
        ..Head::default()
    };
    let asked = Scoped {
        engine: engine.to_vec(),
        context: Vec::new(),
        request: asks(Kind::GetNext, &[NAME]),
    };
    let stats = |n: u8| [0x2b, 6, 1, 6, 3, 15, 1, 1, n, 0];
    for (head, says) in [
        (named(b"", b"", flag::REPORTABLE), Some(stats(4).to_vec())),
        (named(b"another", b"public", flag::REPORTABLE), Some(stats(4).to_vec())),
        (named(b"", b"", 0), None),
        (named(&engine, b"nobody", flag::REPORTABLE), Some(stats(3).to_vec())),
        (named(&engine, b"signs", flag::REPORTABLE), Some(stats(1).to_vec())),
        (named(&engine, b"public", flag::REPORTABLE), Some(vec![4, 2, b'g', b'w'])),
    ] {
        let payload = v3::write(&head, 1400, &v3::request(&asked));
        let said = answer(&mut rig, &payload);
        assert_eq!(said.is_some(), says.is_some(), "{head:?}");
        let (Some(said), Some(says)) = (said, says) else { continue };
        assert!(has(&said, &says), "{head:?} {said:02x?}");
        let read = v3::read(&said).unwrap();
        assert_eq!((read.head.id, &read.head.engine[..]), (5, &engine[..]));
        assert!(read.head.flags == 0 && read.head.boots > 0, "{:?}", read.head);
    }
}

#[test]
fn many_at_once() {
    let mut rig = Rig::new(2, CONFIG);
    let queues: &[u32] = &[1, 3, 6, 1, 4, 1, 14988, 1, 1, 2, 1, 1, 2];
    let payload = answer(&mut rig, &agent::request(&asks(Kind::GetBulk, &[queues]))).unwrap();
    assert!(has(&payload, b"q1") && has(&payload, b"q2"));
    // However much is wanted, it is one frame.
    let greedy = Request { repetitions: 1 << 30, ..asks(Kind::GetBulk, &[&[1, 3], NAME]) };
    let payload = answer(&mut rig, &agent::request(&greedy)).unwrap();
    assert!(payload.len() > 1000);
    let names = agent::names(&payload).unwrap();
    assert!(names.len() > 20 && names.iter().all(|name| name.starts_with(&[1, 3])), "{names:?}");
    let set = answer(&mut rig, &agent::request(&asks(Kind::Set, &[NAME]))).unwrap();
    assert_eq!(wire::snmp::response(&set).unwrap().error, 17);
    let many: Vec<&[u32]> = vec![&[1, 3, 6, 1, 2, 1, 1, 1, 0]; 100];
    let payload = answer(&mut rig, &agent::request(&asks(Kind::Get, &many))).unwrap();
    assert_eq!(wire::snmp::response(&payload).unwrap().error, 1);
}

#[test]
fn damaged() {
    let mut rig = Rig::new(2, CONFIG);
    let whole = agent::request(&asks(Kind::GetBulk, &[NAME]));
    (0..whole.len()).for_each(|len| assert_eq!(answer(&mut rig, &whole[..len]), None));
    assert_eq!(rig.router.discards().get(Discard::BadSnmp), whole.len() as u64);
}
