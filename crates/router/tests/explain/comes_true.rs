//! Truth of `/tool explain`: random configurations and frames, each explained and then sent.
//!
//! ```text
//! frame ─┬─► explain ─► frames that would leave, discards, who would carry it ─┐ equal
//!        └─► send ────► frames that left,        discards, who carried it ─────┘
//! ```

use crate::configuration::{self, Configuration};
use crate::everything;
use crate::rig::{Rig, mac, own_mac};
use crate::session;
use crate::traffic::{self, Answer, Packet};
use port::Slab;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use router::discard::Discard;
use router::tool::explain::Path;
use std::cell::RefCell;
use std::time::Duration;
use wire::MacAddr;
use wire::craft::{self, ip};
use wire::layers::{self, protocol};

#[derive(Clone, Debug)]
enum Step {
    Send(Packet),
    Answer(Answer),
    Wait(u64),
    Type(String),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => traffic::packet().prop_map(Step::Send),
        8 => traffic::answer().prop_map(Step::Answer),
        1 => (1..3000u64).prop_map(Step::Wait),
        1 => configuration::change().prop_map(Step::Type),
    ]
}

/// Sends one frame, if what was said of it comes true.
fn foretold(rig: &mut Rig, port: usize, frame: &[u8]) -> Result<Vec<(usize, Vec<u8>)>, String> {
    // What is held back for the rest of its datagram is not part of the question.
    let inside = session::unwrap(frame).map(|(inside, _)| inside);
    let frame_inside = inside.as_deref().unwrap_or(frame);
    let layers = layers::network(frame_inside).unwrap_or_default();
    let in_pieces = layers.fragment
        || layers.ether_type == layers::ETHERTYPE_IPV6
            && frame_inside.get(usize::from(layers.l3) + 6) == Some(&wire::ipv6::header::FRAGMENT);
    // Nor are packets that wait for an answer of ARP or of neighbour discovery, which may come in
    // by an EoIP tunnel.
    let is_discovery = match layers.ether_type {
        layers::ETHERTYPE_IPV4 => layers.protocol == protocol::GRE,
        layers::ETHERTYPE_IPV6 => {
            matches!(frame.get(usize::from(layers.l3) + 40), Some(133..=137))
        }
        other => other == layers::ETHERTYPE_ARP,
    };
    let waited_for = is_discovery && rig.router.held().neighbours > 0;
    let tree = rig.console.tree().clone();
    let before = everything(rig);
    let said = rig.router.explain_frame(rig.ether(port as u8), frame, &tree, rig.now)?;
    let after = everything(rig);
    if before != after {
        return Err(format!("explaining has changed\n{before}\nto\n{after}"));
    }
    let discards = |rig: &Rig| -> Vec<u64> {
        Discard::ALL.iter().map(|&why| rig.router.discards().get(why)).collect()
    };
    let (was, paths) = (discards(rig), rig.router.path_counts());
    rig.router.watch_steps();
    let sent = rig.pass(port, frame);
    let steps = rig.router.watch_steps();
    if in_pieces || waited_for {
        return Ok(sent);
    }
    let now = rig.router.path_counts();
    let fasttracked = (now.ipv4_fasttrack, now.ipv6_fasttrack);
    let path = if fasttracked != (paths.ipv4_fasttrack, paths.ipv6_fasttrack) {
        Path::Fasttrack
    } else if steps.contains(&router::step::Step::PhysicalIn) {
        Path::Slow
    } else if now.replayed != paths.replayed {
        Path::Recipe
    } else if now.ipv4_fast_path != paths.ipv4_fast_path
        || now.ipv6_fast_path != paths.ipv6_fast_path
    {
        Path::FastPath
    } else if now.bridge_fast_path != paths.bridge_fast_path {
        Path::BridgeFastPath
    } else {
        Path::Batch
    };
    let foretold: Vec<(usize, Vec<u8>)> =
        said.sent.iter().map(|(id, frame)| (id.index(), frame.clone())).collect();
    if foretold != sent {
        let show = |frames: &[(usize, Vec<u8>)]| {
            let lines = frames.iter().map(|(port, frame)| {
                format!("  ether{port} {} {frame:02x?}\n", traffic::show(frame))
            });
            lines.collect::<String>()
        };
        return Err(format!("said\n{}did\n{}", show(&foretold), show(&sent)));
    }
    if said.path != Some(path) {
        return Err(format!("said {:?}, took {path:?} by {steps:?}", said.path));
    }
    for (at, &why) in Discard::ALL.iter().enumerate() {
        let times = discards(rig)[at] - was[at];
        let told = said.discards.iter().filter(|&&other| other == why).count() as u64;
        // The oldest of those that wait gives way: another packet's fate, of which nothing is said.
        // So does whom a kind of queue drops for it, or for having waited too long.
        let is_another = why == Discard::NeighbourQueueFull && (told, times) == (0, 1)
            || why == Discard::QueueFull && told < times;
        if told != times && !is_another {
            return Err(format!("said {told} × {why}, counted {times}"));
        }
    }
    Ok(sent)
}

/// What a router holds when it is dropped is lost to its slab, so a slab serves for a while and is
/// then replaced.
fn slab() -> Slab {
    thread_local! {
        static SLAB: RefCell<Slab> = RefCell::new(Slab::new(8192).unwrap());
    }
    SLAB.with_borrow_mut(|slab| {
        if slab.frames_out() > slab.capacity() / 2 {
            *slab = Slab::new(slab.capacity()).unwrap();
        }
        slab.clone()
    })
}

fn check(configuration: &Configuration, steps: &[Step]) -> Result<(), String> {
    let mut rig = Rig::with_slab(&slab(), &configuration.capabilities());
    for line in configuration.lines() {
        // Some are there already.
        let _ = rig.try_run(&line);
    }
    if let Some(port) = configuration.session {
        let tag = traffic::tag_behind(&rig, port);
        session::dial(std::slice::from_mut(&mut rig), port, tag.map(wire::vlan::Tci::id), false);
    }
    let mut last = Vec::new();
    let mut story = String::new();
    for step in steps {
        story.push_str(&format!("{step:?}\n"));
        let frames = match step {
            Step::Send(packet) => {
                let frames = packet.frames(&rig).into_iter();
                frames.map(|frame| (packet.port, frame)).collect()
            }
            Step::Answer(answer) => {
                let replies = last.iter().filter_map(|(port, frame): &(usize, Vec<u8>)| {
                    Some((*port, answer.to(*port, frame)?))
                });
                replies.take(8).collect()
            }
            Step::Wait(ms) => {
                rig.now = rig.now + Duration::from_millis(*ms);
                Vec::new()
            }
            Step::Type(line) => {
                let _ = rig.try_run(line);
                Vec::new()
            }
        };
        // Until all is said that a bridge says of itself.
        for _ in 0..4 {
            rig.breathe();
            (1..=rig.n_ports()).for_each(|port| drop(rig.take(port)));
        }
        for (port, frame) in frames {
            last = foretold(&mut rig, port, &frame).map_err(|why| {
                let lines = configuration.lines().join("\n");
                let told = rig.router.explain_frame(
                    rig.ether(port as u8),
                    &frame,
                    &rig.console.tree().clone(),
                    rig.now,
                );
                let rows = told.map(|told| told.rows).unwrap_or_default();
                let rows: Vec<_> = rows.iter().map(|row| format!("  {row:?}")).collect();
                format!(
                    "{lines}\n{story}port {port} {}\n{why}\nnow:\n{}",
                    traffic::show(&frame),
                    rows.join("\n")
                )
            })?;
        }
    }
    Ok(())
}

/// Has each of these frames explained and sent; says who carried the last one.
fn last_of(rig: &mut Rig, frames: &[(usize, Vec<u8>)]) -> Path {
    let before = rig.router.path_counts().replayed;
    for (port, frame) in frames {
        foretold(rig, *port, frame).unwrap_or_else(|why| panic!("{}: {why}", traffic::show(frame)));
    }
    if rig.router.path_counts().replayed > before { Path::Recipe } else { Path::Slow }
}

#[test]
fn packets_in_a_session_have_the_recipe_of_what_is_inside() {
    let mut rig = Rig::new(2, "");
    rig.run(session::SECRET);
    rig.run("/ip address add address=10.0.1.254/24 interface=ether1");
    rig.run("/interface pppoe-server server add interface=ether2 authentication=pap");
    rig.run("/ip firewall connection tracking set enabled=yes");
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    session::dial(std::slice::from_mut(&mut rig), 2, None, false);
    let (src_mac, dst_mac) = (MacAddr([6, 0, 0, 0, 2, 1]), own_mac(2));
    let udp = craft::udp(ip(172, 16, 7, 1), 1000, ip(10, 0, 1, 1), 53);
    let frame =
        session::wrap(&craft::Frame { src_mac, dst_mac, payload: &[0; 18], ..udp }.build(), 1);
    let answer = craft::udp(ip(10, 0, 1, 1), 53, ip(172, 16, 7, 1), 1000);
    let answer = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..answer }.build();
    let frames = [(2, frame.clone()), (1, answer), (2, frame.clone()), (2, frame)];
    assert_eq!(last_of(&mut rig, &frames), Path::Recipe);
}

#[test]
fn first_packets_have_the_recipe_of_their_class() {
    let mut rig = Rig::new(2, "");
    for n in 1..=2u8 {
        rig.run(&format!("/ip address add address=10.0.{n}.254/24 interface=ether{n}"));
        rig.introduce(n.into(), mac(n), ip(10, 0, n, 1), ip(10, 0, n, 254));
    }
    rig.run("/ip firewall connection tracking set enabled=no");
    rig.run("/ip firewall filter add chain=forward protocol=tcp action=drop");
    let frames = (1000..1006).map(|port| {
        let udp = craft::udp(ip(10, 0, 1, 1), port, ip(10, 0, 2, 1), 53);
        (1, craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..udp }.build())
    });
    assert_eq!(last_of(&mut rig, &frames.collect::<Vec<_>>()), Path::Recipe);
}

#[test]
fn what_is_said_comes_true() {
    let cases = std::env::var("WIRESPEED_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let steps = proptest::collection::vec(step(), 1..25);
    let result = TestRunner::new(config).run(
        &(configuration::configuration(), steps),
        |(configuration, steps)| {
            check(&configuration.of_pppoe(), &steps).map_err(TestCaseError::fail)
        },
    );
    match result {
        Ok(()) => {}
        Err(TestError::Fail(story, _)) => panic!("{story}"),
        Err(abort) => panic!("{abort}"),
    }
}
