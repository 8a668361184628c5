//! FastTrack: the flag, the packets that stay on the regular path, the counts.

use super::*;

/// A packet passes as in a router whose first rule is fasttrack-connection for what is
/// established: the FastTrack way if that is allowed, else the regular way.
fn pass(bench: &mut Bench, tuple: FiveTuple) -> bool {
    let now_ms = bench.now.as_millis_u32();
    if let Some(id) = bench.connections.flows().find(tuple.hash(), &tuple)
        && Connections::fasttrack_allows(bench.connections.flow(id))
    {
        bench.connections.flow_mut(id).count(28, now_ms);
        return true;
    }
    let (state, flow) = bench.pass_udp(tuple);
    if state == ConnectionState::Established {
        bench.connections.set_fasttrack(flow.unwrap());
    }
    false
}

#[test]
fn two_original_packets_and_one_reply_stay_regular() {
    let there = udp(CLIENT, 1, SERVER, 2);
    let mut bench = Bench::new(8);
    assert!(!pass(&mut bench, there), "new");
    assert!(!pass(&mut bench, there.reversed()), "established: gets marked");
    assert_eq!(bench.connections.fasttracked(), 1);
    assert!(pass(&mut bench, there.reversed()), "its direction is set up");
    assert!(!pass(&mut bench, there), "sets up the other direction");
    for _ in 0..100 {
        assert!(pass(&mut bench, there) && pass(&mut bench, there.reversed()));
    }
    let entry = bench.connections.list(bench.now).next().unwrap();
    assert_eq!(entry.flags.to_string(), "SACF");
    let packets = entry.counts.map(|c| c.packets);
    let regular = [0, 1].map(|i| entry.counts[i].packets - entry.fasttrack[i].packets);
    assert_eq!((packets, regular), ([102, 102], [2, 1]), "orig and repl, as in the table");
    assert_eq!(entry.fasttrack[0].bytes, 100 * 28);
}

#[test]
fn a_packet_now_and_then_stays_regular() {
    let there = udp(CLIENT, 1, SERVER, 2);
    let mut bench = Bench::new(8);
    let mut regular = [0, 0];
    for _ in 0..60 * 60 {
        for (i, tuple) in [there, there.reversed()].into_iter().enumerate() {
            regular[i] += u32::from(!pass(&mut bench, tuple));
        }
        bench.wait(1000);
    }
    // An hour of it, with a timeout of three minutes: (2, 1) and one each about every timeout.
    assert!((18..26).contains(&regular[0]) && (17..25).contains(&regular[1]), "{regular:?}");
    bench.wait(181_000);
    assert_eq!((bench.connections.fasttracked(), bench.connections.len()), (0, 0));
}

#[test]
fn only_tcp_and_udp() {
    let mut bench = Bench::new(8);
    let flow = bench.pass(&wire::craft::ping(CLIENT, SERVER).build()).1.unwrap();
    bench.connections.set_fasttrack(flow);
    assert_eq!(bench.connections.fasttracked(), 0);
    assert!(!Connections::fasttrack_allows(bench.connections.flow(flow)));
}
