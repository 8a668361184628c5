//! The capture as files in two replaying ports, what the router sends captured to memory.
//!
//! ```text
//!  clients' pcap ─► ReplayPort ─► CapturePort ═► [ router ] ◄═ CapturePort ◄─ ReplayPort ◄─ servers'
//! ```
//!
//! Plain routing: what comes out by one port does not depend on the other's frames.

use crate::model::{Fate, Policy, TTL_EXCEEDED, work_out};
use crate::replay::time_exceeded;
use crate::rig::own_mac;
use crate::witness::{self, CLIENT_MAC, Row, SERVER_MAC};
use crate::{ADDRESSES, bytes};
use config::Interpreter;
use port::capture::Captured;
use port::record::{Direction, Reader, Record};
use port::{CapturePort, ReplayPort, Slab, pcap};
use router::{MENUS, PortInfo, Router};
use std::time::Duration;
use wire::Moment;

const START: Moment = Moment::from_nanos(1_000_000_000);

/// The frames of one side as a file, addressed to the router.
fn file(rows: &[Row], from_client: bool, port: u8) -> Vec<u8> {
    let mut writer = pcap::Writer::new(Vec::new()).unwrap();
    for row in rows.iter().filter(|row| row.from_client == from_client) {
        let mut frame = row.bytes.clone();
        if frame[0] & 1 == 0 {
            frame[..6].copy_from_slice(&own_mac(port).0);
        }
        writer.write(&Record::ethernet(row.time_ns, &frame)).unwrap();
    }
    writer.finish().unwrap()
}

/// What leaves by the clients' or the servers' port, and when.
fn expected(rows: &[Row], to_client: bool) -> Vec<(u64, Vec<u8>)> {
    let model = work_out(rows, Policy::default());
    let mut out = Vec::new();
    for (row, step) in rows.iter().zip(&model.steps) {
        let time = START.as_nanos() + row.time_ns;
        match step.fate {
            Fate::Forwarded if row.from_client != to_client => {
                let mut frame = row.bytes.clone();
                bytes::hop(std::slice::from_mut(&mut frame));
                match to_client {
                    true => bytes::set_macs(&mut frame, CLIENT_MAC, own_mac(1).0),
                    false => bytes::set_macs(&mut frame, SERVER_MAC, own_mac(2).0),
                }
                bytes::finish(std::slice::from_mut(&mut frame));
                out.push((time, frame));
            }
            TTL_EXCEEDED if row.from_client == to_client => out.push((time, time_exceeded(row))),
            _ => {}
        }
    }
    out
}

#[test]
fn through_replaying_ports() {
    let rows = witness::rows();
    let slab = Slab::new(4096).unwrap();
    let infos = [1, 2].map(|n| PortInfo {
        name: format!("ether{n}"),
        mac: own_mac(n),
        capabilities: Default::default(),
    });
    let mut router = Router::new(infos.to_vec(), &slab);
    let mut console = Interpreter::new(MENUS.to_vec());
    *console.tree_mut() = router.factory_tree();
    console.run(ADDRESSES, &()).unwrap();
    router.configure(console.tree(), Moment::ZERO).unwrap();

    let files = [file(&rows, true, 1), file(&rows, false, 2)];
    let sides = [true, false].into_iter().zip(&files);
    let mut ports: Vec<_> = sides
        .map(|(from_client, file)| {
            // A replay begins with its file's first frame; the sides begin at different times.
            let first = rows.iter().find(|row| row.from_client == from_client).unwrap();
            let start = START + Duration::from_nanos(first.time_ns);
            let replay = ReplayPort::new(Reader::new(&file[..]).unwrap(), start);
            CapturePort::new(replay, Vec::<Captured>::new())
        })
        .collect();
    for row in &rows {
        router.breathe(START + Duration::from_nanos(row.time_ns), &mut ports);
    }
    for (capture, to_client) in ports.into_iter().zip([true, false]) {
        let (replay, captured, error) = capture.finish();
        assert!(error.is_none() && replay.error().is_none() && replay.next_arrival().is_none());
        assert_eq!(replay.skipped(), Default::default());
        let n_in = rows.iter().filter(|row| row.from_client == to_client).count();
        let (came, left): (Vec<_>, Vec<_>) =
            captured.into_iter().partition(|frame| frame.direction == Some(Direction::In));
        assert_eq!(came.len(), n_in);
        let expected = expected(&rows, to_client);
        assert_eq!(left.len(), expected.len());
        for (n, (left, expected)) in left.into_iter().zip(expected).enumerate() {
            assert_eq!(
                (left.timestamp_ns, left.bytes),
                expected,
                "frame {n} to clients: {to_client}"
            );
        }
    }
}
