//! FastPath and FastTrack: when they are taken, and what their counters say
//! (`routeros/C-fastpath.md`).

use crate::rig::{Rig, mac, own_mac};
use port::Capabilities;
use router::firewall::connection::Flags;
use wire::TcpFlags;
use wire::craft::{self, Body, Frame, ip};
use wire::tcp::TcpHeader;

const NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2";

const FASTTRACK: &str = "/ip firewall filter
add chain=forward action=fasttrack-connection connection-state=established,related
add chain=forward action=accept connection-state=established,related
add chain=forward action=accept";

fn rig(capabilities: &[Capabilities], script: &str) -> Rig {
    let mut rig = Rig::with_ports(capabilities);
    rig.run(NETS);
    rig.run(script);
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig
}

/// A datagram of host 1 to host 2, or back.
fn datagram(back: bool) -> Frame<'static> {
    let (one, two) = (ip(10, 0, 1, 1), ip(10, 0, 2, 1));
    match back {
        false => Frame { src_mac: mac(1), dst_mac: own_mac(1), ..craft::udp(one, 1, two, 2) },
        true => Frame { src_mac: mac(2), dst_mac: own_mac(2), ..craft::udp(two, 2, one, 1) },
    }
}

fn exchange(rig: &mut Rig, times: usize) {
    for _ in 0..times {
        assert_eq!(rig.pass(1, &datagram(false).build()).len(), 1);
        assert_eq!(rig.pass(2, &datagram(true).build()).len(), 1);
    }
}

/// C.5: original 1 (new), reply 1 (established, gets marked), original 2 (sets up its direction)
/// take the regular way; all others FastTrack.
#[test]
fn two_and_one_packets_stay_on_the_regular_path() {
    for reference in [false, true] {
        let mut rig = rig(&[Capabilities::default(); 2], FASTTRACK);
        rig.router.set_reference(reference);
        exchange(&mut rig, 10);
        let connections: Vec<_> = rig.router.connections().list(rig.now).collect();
        let [connection] = &connections[..] else { panic!("{connections:?}") };
        assert!(connection.flags.has(Flags::FASTTRACK));
        let fasttracked = connection.fasttrack.map(|count| count.packets);
        assert_eq!(connection.counts.map(|count| count.packets), [10, 10]);
        assert_eq!(fasttracked, [8, 9]);
        assert_eq!(rig.router.path_counts().ipv4_fasttrack.packets, 17);
        assert_eq!(rig.router.path_counts().ipv4_fast_path.packets, 0);
        let rules = rig.router.rule_counts("/ip firewall filter", rig.console.tree());
        let rules: Vec<_> = rules.iter().map(|count| count.packets).collect();
        assert_eq!(rules, [2, 2, 1], "both rules count the same packets; the first was new");
    }
}

/// What ends a connection is seen by it, FastTracked or not.
#[test]
fn a_fin_is_seen() {
    for reference in [false, true] {
        let mut rig = rig(&[Capabilities::default(); 2], FASTTRACK);
        rig.router.set_reference(reference);
        let (one, two) = (ip(10, 0, 1, 1), ip(10, 0, 2, 1));
        let mut send = |back: bool, flags: TcpFlags, seq, ack| {
            let (src, dst) = if back { (two, one) } else { (one, two) };
            let (port, src_port, dst_port) = if back { (2, 80, 1000) } else { (1, 1000, 80) };
            let window = 8000;
            let header = TcpHeader { src_port, dst_port, seq, ack, flags, window, urgent: 0 };
            let frame = Frame {
                src_mac: mac(port),
                dst_mac: own_mac(port),
                src,
                dst,
                body: Body::Tcp { header, options: &[] },
                ..Frame::default()
            };
            assert_eq!(rig.pass(port.into(), &frame.build()).len(), 1);
            let state = rig.router.connections().list(rig.now).next().unwrap().tcp_state;
            (format!("{:?}", state.unwrap()), rig.router.path_counts().ipv4_fasttrack.packets)
        };
        let ack = TcpFlags::ACK;
        let fin = TcpFlags(0x11);
        #[rustfmt::skip]
        let steps = [
            (false, TcpFlags::SYN, 100, 0, "SynSent", 0),
            (true, TcpFlags(0x12), 500, 101, "SynReceived", 0),
            (false, ack, 101, 501, "Established", 0),
            (false, ack, 101, 501, "Established", 1),
            (true, ack, 501, 101, "Established", 2),
            (false, fin, 101, 501, "FinWait", 2),
            (true, fin, 501, 102, "LastAck", 2),
            (false, ack, 102, 502, "TimeWait", 3),
        ];
        for (n, (back, flags, seq, ack, state, fasttracked)) in steps.into_iter().enumerate() {
            let got = send(back, flags, seq, ack);
            let last = n == steps.len() - 1;
            // The last acknowledgement may be carried by FastTrack, which does not see it.
            assert!(last || got == (state.to_string(), fasttracked), "step {n}: {got:?}");
        }
    }
}

/// C.3: the conditions, and half-FastPath: a slow receiver makes all of it slow, a slow sender
/// only its own counter.
#[test]
fn conditions_and_counters() {
    let all = Capabilities::default();
    let no_rx = Capabilities { fast_path_rx: false, ..all };
    let no_tx = Capabilities { fast_path_tx: false, ..all };
    // Ports, configuration; FastPath packets; fp-rx of ether1, fp-tx of ether2.
    #[rustfmt::skip]
    let cases = [
        ([all, all], "", 5, 5, 5),
        ([no_rx, all], "", 0, 0, 0),
        ([all, no_tx], "", 5, 5, 0),
        ([all, all], "/ip settings set allow-fast-path=no", 0, 0, 0),
        ([all, all], "/ip firewall connection tracking set enabled=yes", 0, 0, 0),
        ([all, all], "/ip firewall filter add chain=input action=accept", 0, 0, 0),
        ([all, all], "/ip firewall nat add chain=srcnat action=accept", 0, 0, 0),
        ([all, all], "/queue simple add target=10.9.9.9/32", 0, 0, 0),
    ];
    for (n, (ports, script, fast_path, rx, tx)) in cases.into_iter().enumerate() {
        for reference in [false, true] {
            let mut rig = rig(&ports, script);
            rig.router.set_reference(reference);
            for _ in 0..5 {
                assert_eq!(rig.pass(1, &datagram(false).build()).len(), 1, "case {n}");
            }
            let counts = |n| rig.router.interface_counts(rig.ether(n));
            let got = (
                rig.router.path_counts().ipv4_fast_path.packets,
                counts(1).fast_rx.packets,
                counts(2).fast_tx.packets,
            );
            assert_eq!(got, (fast_path, rx, tx), "case {n}, reference {reference}");
        }
    }
}

/// Filter and queues are skipped: a rule typed behind, and a full queue, do not matter.
#[test]
fn filter_and_queues_are_skipped() {
    let script = format!("{FASTTRACK}\n/queue simple add target=10.0.1.1/32 max-limit=8k/8k");
    let mut rig = rig(&[Capabilities::default(); 2], &script);
    exchange(&mut rig, 3);
    for _ in 0..1000 {
        assert_eq!(rig.pass(1, &datagram(false).build()).len(), 1);
    }
    let stats = rig.router.queue_stats(rig.console.tree());
    assert_eq!((stats[0][0].packets, stats[0][1].packets), (2, 1), "what took the regular way");
}
