//! Nodes on threads: sessions come and go, change the configuration one at a time, and a node that
//! fails says so.

use config::{Host, Interpreter};
use lab::assemble::{self, Real};
use lab::clock::Clock;
use lab::live::{Interrupt, Live};
use lab::node::{self, Environment, Node, Socket};
use lab::topology::Topology;
use lab::underway::Files;
use port::Slab;
use std::path::Path;
use std::thread;
use std::time::Duration;
use wire::Moment;

const LAB: &str = "
name: live
topology:
  nodes: { a: , b: }
  links: [ endpoints: [a:ether1, b:ether1] ]
";

fn real() -> Real {
    assemble::real(&Topology::read(LAB).unwrap(), 1, Path::new(".")).unwrap()
}

fn lives() -> Vec<Live> {
    real().lives
}

/// Types a script: what a session does, by hand.
fn run(host: &mut dyn Host, script: &str) -> Result<String, String> {
    let mut console = Interpreter::new(node::menus());
    *console.tree_mut() = host.edit()?;
    let mut output = Err("nobody looked".to_string());
    host.look(&mut |status| {
        output = console.run(script, status).map_err(|error| error.to_string());
    });
    let done = output.and_then(|output| host.commit(console.tree()).map(|()| output.text));
    host.release();
    done
}

#[test]
fn sessions_come_and_go_and_change_one_at_a_time() {
    let lives = lives();
    thread::scope(|scope| {
        for (at, live) in lives.iter().enumerate() {
            for session in 0..3 {
                scope.spawn(move || {
                    for i in 0..10 {
                        let mut host = live.host(Files::none(), Interrupt::default());
                        let script = format!(
                            "/ip address add address=10.{at}.{session}.{i} interface=ether1"
                        );
                        run(&mut host, &script).unwrap();
                    }
                });
            }
        }
    });
    for live in lives {
        let mut host = live.host(Files::none(), Interrupt::default());
        let count = run(&mut host, "/ip address print count-only").unwrap();
        assert_eq!(count.trim(), "30");
        drop(host);
        live.stop().unwrap();
    }
}

#[test]
fn a_refused_change_changes_nothing_and_lets_go() {
    let lives = lives();
    let mut host = lives[0].host(Files::none(), Interrupt::default());
    let before = host.tree();
    let refused = run(&mut host, "/ip address add address=1.1.1.1 interface=ether9").unwrap_err();
    assert!(refused.contains("input does not match any value of interface"), "{refused}");
    assert_eq!(host.tree(), before);
    // A session that goes away in the middle of a change does not keep the others out.
    let mut gone = lives[0].host(Files::none(), Interrupt::default());
    gone.edit().unwrap();
    drop(gone);
    run(&mut host, "/ip address add address=1.1.1.1 interface=ether1").unwrap();
}

#[test]
fn a_box_says_what_it_is() {
    let lives = lives();
    let mut host = lives[1].host(Files::none(), Interrupt::default());
    for (script, expected) in [
        ("/system identity print", "name: b"),
        ("/system identity set name=edge; /system identity print", "name: edge"),
        ("/system resource print", "platform: wirespeed"),
        ("/system resource cpu print", "cpu0"),
        ("/system clock print", "gmt-offset: +00:00"),
    ] {
        let text = run(&mut host, script).unwrap();
        assert!(text.contains(expected), "{script}\n{text}");
    }
    let refused = run(&mut host, "/system resource set uptime=1s").unwrap_err();
    assert!(!refused.is_empty());
}

#[test]
fn waiting_ends_when_it_is_due_interrupted_or_too_late() {
    let Real { lives, clock, .. } = real();
    let interrupt = Interrupt::default();
    let mut host = lives[0].host(Files::none(), interrupt.clone());
    let due = clock.now() + Duration::from_millis(2);
    assert!(host.wait(due));
    assert!(clock.now() >= due);
    let hour = clock.now() + Duration::from_secs(3600);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| host.wait(hour));
        interrupt.raise();
        assert!(!waiting.join().unwrap(), "an interrupted wait");
    });
    interrupt.clear();
    let mut host = lives[0].host(Files::none(), interrupt).until(clock.now());
    assert!(!host.wait(hour), "a wait beyond the deadline");
}

#[test]
fn a_node_that_panics_says_so() {
    let slab = Slab::new(1 << 10).unwrap();
    let node = Node::new("a", 1, 2, &slab, Environment::simulated(), Moment::ZERO);
    // One socket for two ports: the router refuses to breathe.
    let live = Live::start(node, vec![Socket::empty()], Clock::start(), None).unwrap();
    while live.failure().is_none() {
        thread::yield_now();
    }
    let mut host = live.host(Files::none(), Interrupt::default());
    let refused = host.edit().unwrap_err();
    assert!(refused.starts_with("failure: the device has stopped: "), "{refused}");
    assert!(live.stop().unwrap_err().contains("ports given to breathe"));
}
