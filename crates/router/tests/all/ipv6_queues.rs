//! Queues of IPv6: whose a packet is, by prefix, interface and mark; who shares a rate; what waits, and goes on.

use crate::ipv6::{Sent, discards, introduce, ip6, rig, to};
use crate::rig::{Rig, mac, own_mac};
use std::time::Duration;

const A: &str = "2001:db8:1::a";
const C: &str = "2001:db8:1::c";
const B: &str = "2001:db8:2::b";

/// 66 bytes and more in a queue, from a host behind ether1.
fn up(src: &str, len: usize) -> Sent {
    let mut sent = Sent { src: ip6(src), ..to(B) };
    sent.payload.resize(8 + len, 7);
    let udp_len = (sent.payload.len() as u16).to_be_bytes();
    sent.payload[4..6].copy_from_slice(&udp_len);
    sent
}

/// An answer, to this address.
fn down(dst: &str) -> Sent {
    let sent = up(A, 4);
    let mut payload = sent.payload.clone();
    payload[..4].copy_from_slice(&[
        sent.payload[2],
        sent.payload[3],
        sent.payload[0],
        sent.payload[1],
    ]);
    let (src, dst) = (ip6(B), ip6(dst));
    Sent { src_mac: mac(2), dst_mac: own_mac(2), src, dst, payload, ..sent }
}

/// Packets of each simple queue, upload and download.
fn counted(rig: &Rig) -> Vec<[u64; 2]> {
    let tree = rig.console.tree().clone();
    rig.router.queue_stats(&tree).iter().map(|both| both.map(|stats| stats.packets)).collect()
}

/// Which of the queues has what host a sends and gets, if any.
#[test]
fn whose_it_is() {
    #[rustfmt::skip]
    let cases: [(&[&str], Option<usize>); 10] = [
        (&["2001:db8:1::/64"], Some(0)),
        (&["10.0.0.0/8", "2001:db8:1::a/128"], Some(1)),
        (&["0.0.0.0/0"], None),
        (&["0.0.0.0/0", "2001:db8:1::/48"], Some(1)),
        (&["ether1"], Some(0)),
        (&["2001:db8:1::/64 dst=2001:db8:3::/64", "2001:db8:1::/48,10.0.0.0/8 dst=2001:db8:2::/64"], Some(1)),
        (&["2001:db8:1::/64 dst=10.0.0.0/8", "2001:db8:1::/64 dst=ether2"], Some(1)),
        (&["2001:db8:1::/64 packet-marks=six", "2001:db8:1::a"], Some(0)),
        (&["2001:db8:1::/64 packet-marks=no-mark", "2001:db8:1::a"], Some(1)),
        (&["2001:db8:1::b"], None),
    ];
    let marked =
        "/ipv6 firewall mangle add chain=prerouting action=mark-packet new-packet-mark=six";
    let nat = "/ipv6 firewall nat add chain=srcnat action=masquerade";
    for (queues, expected) in cases {
        for (reference, masquerade) in [(true, false), (false, false), (true, true), (false, true)]
        {
            let mut script = vec![marked.to_string()];
            script.extend(masquerade.then(|| nat.to_string()));
            script.extend(queues.iter().map(|queue| format!("/queue simple add target={queue}")));
            let mut rig = rig(&script.join("\n"));
            rig.router.set_reference(reference);
            let back = down(if masquerade { "2001:db8:2::1" } else { A });
            for _ in 0..6 {
                assert_eq!(rig.pass(1, &up(A, 4).build()).len(), 1, "{:?}", discards(&rig));
                assert_eq!(rig.pass(2, &back.build()).len(), 1, "{:?}", discards(&rig));
            }
            let mut want = vec![[0; 2]; queues.len()];
            expected.into_iter().for_each(|at| want[at] = [6; 2]);
            assert_eq!(counted(&rig), want, "{queues:?}, {masquerade}");
            assert_eq!(rig.router.path_counts().replayed > 5, !reference, "{queues:?}");
        }
    }
}

/// A queue that comes, goes or changes while packets flow by recipes has the next of them, or no more. The
/// swarm found that it had not (seeds 1000519, 1000593).
#[test]
fn queues_come_and_go_under_load() {
    let first = "/queue simple add name=one target=10.0.0.0/8 max-limit=1M/1M";
    let second = "/queue simple add name=two target=2001:db8:1::/64 max-limit=9M/9M place-before=0";
    #[rustfmt::skip]
    let cases: [(&[&str], &str, [u64; 2]); 6] = [
        (&[first], "/queue simple add target=::/0 max-limit=9M/9M", [0, 6]),
        (&[first], "/queue simple set one target=ether1", [6, 0]),
        (&[first], "/queue simple set one target=10.0.0.0/8,2001:db8:1::a/128", [6, 0]),
        (&["/queue simple add name=one target=::/0 max-limit=9M/9M"], second, [6, 6]),
        (&["/queue simple add name=one target=::/0 max-limit=9M/9M", second], "/queue simple disable two", [6, 6]),
        (&[first], "/queue simple add target=2001:db8:1::/64 packet-marks=x max-limit=9M/9M", [0, 0]),
    ];
    for (script, change, want) in cases {
        for reference in [true, false] {
            let mut rig = rig(&script.join("\n"));
            rig.router.set_reference(reference);
            (0..6).for_each(|_| assert_eq!(rig.pass(1, &up(A, 4).build()).len(), 1));
            rig.run(change);
            (0..6).for_each(|_| assert_eq!(rig.pass(1, &up(A, 4).build()).len(), 1));
            let mut own: Vec<u64> = counted(&rig).iter().map(|[up, _]| *up).collect();
            own.resize(2, 0);
            assert_eq!(own, want, "{script:?}, {change}, {reference}");
        }
    }
}

/// Of twenty packets of a and then of c that come at once: how many of c's are among the first ten that leave, and how
/// many of both leave at all.
#[test]
fn who_shares_what() {
    let pcq = |mask: u8| {
        format!(
            "/queue type add name=each kind=pcq pcq-classifier=src-address pcq-rate=8k pcq-limit=1 \
             pcq-src-address6-mask={mask}
             /queue tree add parent=global queue=each"
        )
    };
    let fair = "/queue type add name=fair kind=fq-codel fq-codel-target=1m fq-codel-interval=2m \
        fq-codel-quantum=256
        /queue tree add parent=ether2 queue=fair max-limit=8k bucket-size=0";
    let simple = "/queue simple add target=::/0 max-limit=8k/8k bucket-size=0/0";
    #[rustfmt::skip]
    let cases = [
        // A kilobyte waits of each host, or of both together: of a, who was first.
        (pcq(128), 5, [10, 10]),
        (pcq(64), 0, [10, 0]),
        // One goes, and ten of whoever comes first wait; fair queues take all.
        (simple.to_string(), 0, [11, 0]),
        // A turn is 256 bytes at least, three packets.
        (fair.to_string(), 4, [20, 20]),
    ];
    for (script, of_c, all) in cases {
        for reference in [true, false] {
            let mut rig = rig(&script);
            introduce(&mut rig, 1, 3, C, "2001:db8:1::1");
            rig.router.set_reference(reference);
            for src in [A, C] {
                (0..20).for_each(|_| rig.send(1, &up(src, 38).build()));
            }
            rig.breathe();
            rig.wait(Duration::from_secs(6));
            let out = rig.take(2);
            let of = |src: &str, frames: &[Vec<u8>]| {
                frames.iter().filter(|frame| frame[22..38] == ip6(src).octets()).count()
            };
            assert_eq!([A, C].map(|src| of(src, &out)), all, "{script} {:?}", discards(&rig));
            assert_eq!(of(C, &out[..10]), of_c, "{script}");
            assert!(rig.router.frames().balance(), "{script}");
        }
    }
}

/// Congestion Experienced is written where the traffic class lies.
#[test]
fn marked() {
    let mut rig = rig(
        "/queue type add name=mark kind=codel codel-ecn=yes codel-target=1ms codel-interval=10ms
        /queue tree add parent=global queue=mark max-limit=8k bucket-size=0",
    );
    for _ in 0..20 {
        let mut frame = up(A, 38).build();
        frame[15] |= 2 << 4; // ECT(0)
        rig.send(1, &frame);
    }
    rig.breathe();
    rig.wait(Duration::from_secs(6));
    let mut out = rig.take(2);
    out.retain(|frame| frame[20] == 17);
    assert_eq!(out.len(), 20, "{:?}", discards(&rig));
    let marked = out.iter().filter(|frame| frame[15] == 3 << 4).count();
    assert!(marked > 0 && out.iter().all(|frame| frame[14] == 0x60), "{marked}");
}
