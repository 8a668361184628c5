//! Shortage of frames: queues and neighbours that could hold them all keep nothing more when a quarter of
//! them is left, and it is counted.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use wire::craft::{self, Frame, ip};

/// A quarter of the rig's 4096 frames.
const LEFT: usize = 1024;
/// What its pools may keep for themselves.
const IN_POOLS: usize = 3 * 128;

const NETS: &str = "/ip address add address=10.0.1.254/24 interface=ether1
/ip address add address=10.0.2.254/16 interface=ether2\n";

fn datagram(src: u32, dst: u32) -> Vec<u8> {
    Frame { src_mac: mac(1), dst_mac: own_mac(1), ..craft::udp(src, 4000, dst, 9) }.build()
}

/// Floods with what waits until some of it is refused; then all else passes as before, and when the
/// cause goes nothing is missing.
fn check(script: &str, flood: impl Fn(u32) -> Vec<u8>, end: &str) {
    for reference in [false, true] {
        let mut rig = Rig::new(2, &format!("{NETS}{script}"));
        rig.router.set_reference(reference);
        rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
        for n in 0..6000 {
            rig.pass(1, &flood(n));
        }
        let state = |rig: &Rig| format!("{:?} {:?}", rig.router.discards(), rig.router.frames());
        let held = rig.router.frames().held as usize;
        assert!(held <= 4096 - LEFT + IN_POOLS, "{held}: {}", state(&rig));
        assert!(held >= 4096 - LEFT - IN_POOLS, "{held}: {}", state(&rig));
        let short = rig.router.discards().get(Discard::FramesShort);
        // Whoever need not wait passes, however many: they could not all be held.
        for _ in 0..5000 {
            let out = rig.pass(1, &datagram(ip(10, 0, 1, 1), ip(10, 0, 2, 1)));
            assert_eq!(out.len(), 1, "{}", state(&rig));
        }
        assert!(short > 0 && rig.router.frames().balance(), "{}", state(&rig));
        assert_eq!(rig.router.discards().get(Discard::NoFrame), 0, "{}", state(&rig));
        rig.run(end);
        rig.wait(std::time::Duration::from_secs(5));
        (1..=2).for_each(|port| drop(rig.take(port)));
        assert_eq!(rig.router.frames().held, 0, "{}", state(&rig));
        assert!(rig.router.frames().balance(), "{}", state(&rig));
        assert_eq!(rig.frames_in_use(), 0, "{}", state(&rig));
        // As much as before may wait again.
        let short = rig.router.discards().get(Discard::FramesShort);
        rig.run(script);
        (0..100).for_each(|n| drop(rig.pass(1, &flood(n))));
        assert_eq!(rig.router.discards().get(Discard::FramesShort), short, "{}", state(&rig));
    }
}

#[test]
fn queues_keep_their_distance() {
    check(
        ":for n from=1 to=200 do={/queue simple add target=(10.0.3.0 + $n) max-limit=512/512 queue=default/default}",
        |n| datagram(ip(10, 0, 3, 1 + (n % 200) as u8), ip(10, 0, 2, 1)),
        "/queue simple remove [find]",
    );
}

#[test]
fn neighbours_who_do_not_answer_do_too() {
    // 64 packets wait for each of them, for three seconds.
    check("", |n| datagram(ip(10, 0, 1, 1), ip(10, 0, 9, (n % 200) as u8)), "");
}
