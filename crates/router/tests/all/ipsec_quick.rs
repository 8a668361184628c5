//! IPsec by IKEv1: how many quick modes there are at a time.

use crate::ipsec::{of, state};

/// Of IKEv1's quick modes one end has one at a time under way: strongSwan forgets the first of four.
#[test]
fn one_quick_mode_at_a_time() {
    let policies: String = (0..6)
        .map(|n| {
            format!(
                "/ip ipsec policy add peer=p tunnel=yes src-address=10.$me.{n}.0/24 \
                 dst-address=10.$you.{n}.0/24\n"
            )
        })
        .collect();
    let mut pair = of("main", &policies);
    pair.wait(10);
    let count = ":put [:len [/ip ipsec policy find ph2-state=established]]";
    for n in 0..2 {
        assert_eq!(pair.routers[n].run(count).trim(), "6", "{}", state(&mut pair));
    }
    // Who has begun each, and how many of its three messages have passed.
    let mut under_way: Vec<(usize, u32, usize)> = Vec::new();
    for (from, frame) in &pair.seen {
        if frame[23] != 17 || frame.get(60) != Some(&32) {
            continue;
        }
        let id = u32::from_be_bytes([frame[62], frame[63], frame[64], frame[65]]);
        match under_way.iter_mut().find(|one| one.1 == id) {
            Some(one) => one.2 += 1,
            None => {
                let others = under_way.iter().filter(|one| one.0 == *from && one.2 < 3);
                assert_eq!(others.count(), 0, "{under_way:?}");
                under_way.push((*from, id, 1));
            }
        }
    }
    assert!(under_way.len() >= 6, "{under_way:?}");
}
