//! Bridges in a triangle: the spanning tree opens every way but one, and mends itself.

use crate::rig::{Rig, mac};
use std::time::Duration;
use wire::craft::{self, ip};

/// Routers whose ports are joined by cables: (router, port) to (router, port).
struct Lan {
    rigs: Vec<Rig>,
    cables: Vec<((usize, usize), (usize, usize))>,
    /// Frames that the cables have carried.
    carried: usize,
}

/// Three routers, `ether1` and `ether2` of each in the triangle, `ether3` for a host. Each has
/// addresses of its own.
fn triangle(scripts: [&str; 3]) -> Lan {
    let rigs = scripts.iter().enumerate().map(|(n, script)| {
        let ports = (1..=3).map(|port| {
            format!(
                "/interface ethernet set ether{port} mac-address=02:00:00:00:{n:02X}:{port:02X}
                 /interface bridge port add bridge=b interface=ether{port}\n"
            )
        });
        Rig::new(
            3,
            &format!("/interface bridge add name=b {script}\n{}", ports.collect::<String>()),
        )
    });
    let cables = vec![((0, 1), (1, 2)), ((1, 1), (2, 2)), ((2, 1), (0, 2))];
    Lan { rigs: rigs.collect(), cables, carried: 0 }
}

impl Lan {
    /// Lets time pass in steps of 100 ms.
    fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds * 10 {
            for rig in &mut self.rigs {
                rig.now = rig.now + Duration::from_millis(100);
            }
            self.settle();
        }
    }

    /// Carries frames until none is on its way.
    fn settle(&mut self) {
        for round in 0.. {
            self.rigs.iter_mut().for_each(Rig::breathe);
            let mut moved = 0;
            for ((a, a_port), (b, b_port)) in self.cables.clone() {
                for (from, from_port, to, to_port) in
                    [(a, a_port, b, b_port), (b, b_port, a, a_port)]
                {
                    for frame in self.rigs[from].take(from_port) {
                        self.rigs[to].send(to_port, &frame);
                        moved += 1;
                    }
                }
            }
            self.carried += moved;
            if moved == 0 {
                break;
            }
            assert!(round < 50, "frames go round and round");
        }
    }

    /// The roles of a router's ports in the triangle.
    fn roles(&mut self, at: usize) -> Vec<String> {
        let role = |port| format!("/interface bridge port get {port} role");
        (0..2).map(|port| self.rigs[at].run(&format!(":put [{}]", role(port)))).collect()
    }

    /// How many copies of a broadcast that a host at router `from` sends come to the other hosts.
    fn broadcast(&mut self, from: usize) -> Vec<usize> {
        for rig in &mut self.rigs {
            rig.take(3);
        }
        let template = craft::udp(ip(10, 0, 0, 1), 7, ip(10, 0, 0, 255), 7);
        let dst_mac = wire::MacAddr([0xff; 6]);
        let frame = craft::Frame { src_mac: mac(from as u8), dst_mac, ..template }.build();
        self.rigs[from].send(3, &frame);
        self.settle();
        self.rigs
            .iter_mut()
            .map(|rig| rig.take(3).into_iter().filter(|other| *other == frame).count())
            .collect()
    }
}

/// With RSTP and with STP, and one that speaks STP among two that speak RSTP.
#[test]
fn a_triangle_has_one_closed_port() {
    const STP: &str = "protocol-mode=stp forward-delay=4s max-message-age=6s";
    let cases: [([&str; 3], u64); 4] = [
        (["", "", ""], 5),
        (["", "", "priority=0x1000"], 5),
        ([STP, STP, STP], 25),
        (["", "forward-delay=4s max-message-age=6s", STP], 60),
    ];
    for (scripts, seconds) in cases {
        let mut lan = triangle(scripts);
        lan.wait(seconds);
        let roles: Vec<String> = (0..3).flat_map(|at| lan.roles(at)).collect();
        let count = |role: &str| roles.iter().filter(|other| other.trim() == role).count();
        assert_eq!(
            (count("root-port"), count("designated-port"), count("alternate-port")),
            (2, 3, 1),
            "{scripts:?}: {roles:?}"
        );
        for from in 0..3 {
            let mut expected = vec![1; 3];
            expected[from] = 0;
            assert_eq!(lan.broadcast(from), expected, "{scripts:?}: from {from}, {roles:?}");
        }
        let root = if scripts[2].contains("priority") { 2 } else { 0 };
        let is_root = lan.rigs[root].run(":put [/interface bridge get b root-bridge]");
        assert_eq!(is_root.trim(), "true", "{scripts:?}");
        for rig in &mut lan.rigs {
            assert!(rig.router.frames().balance(), "{:?}", rig.router.frames());
        }
    }
}

/// Ports that join an STP bridge one after the other, as at a console, speak STP from the first BPDU on:
/// what they said in RSTP nobody heard, and frames went round (the swarm's seeds 28 and 31).
#[test]
fn ports_that_come_later_speak_stp() {
    let mut lan = triangle(["", "", ""]);
    for (at, priority) in ["0x8000", "0x1000", "0x4000"].iter().enumerate() {
        let rig = &mut lan.rigs[at];
        rig.run("/interface bridge remove [find]; /interface bridge port remove [find]");
        let times = "forward-delay=4s max-message-age=6s";
        rig.run(&format!(
            "/interface bridge add name=b protocol-mode=stp priority={priority} {times}"
        ));
        for port in 1..=3 {
            rig.run(&format!("/interface bridge port add bridge=b interface=ether{port}"));
        }
    }
    lan.wait(1);
    for at in 0..3 {
        let rapid = lan.rigs[at].run(":put [/interface bridge port get 0 sending-rstp]");
        assert_eq!(rapid.trim(), "false");
    }
    lan.wait(24);
    assert_eq!(
        lan.broadcast(0),
        [0, 1, 1],
        "{:?}",
        (0..3).map(|at| lan.roles(at)).collect::<Vec<_>>()
    );
}

/// A cable that carries nothing any more, without a link that goes down: three hellos later the
/// closed port has opened.
#[test]
fn another_way_opens() {
    let mut lan = triangle(["", "", ""]);
    lan.wait(5);
    assert_eq!(lan.broadcast(1), [1, 0, 1]);
    lan.cables.remove(0);
    lan.wait(8);
    assert_eq!(lan.broadcast(1), [1, 0, 1]);
    assert_eq!(lan.broadcast(0), [0, 1, 1]);
}

/// An edge forwards at once, another port when nobody has spoken for three seconds; a frame that
/// comes before then ends by name.
#[test]
fn edges() {
    let cases = [("edge=yes", 0), ("edge=auto", 4), ("edge=no-discover", 4), ("edge=no", 23)];
    for (edge, seconds) in cases {
        let mut rig = Rig::new(2, "/interface bridge add name=b");
        for port in ["ether1", "ether2"] {
            rig.run(&format!("/interface bridge port add bridge=b interface={port} {edge}"));
        }
        let frame = craft::Frame { src_mac: mac(1), dst_mac: mac(2), ..craft::udp(1, 1, 2, 2) };
        let frame = frame.build();
        let passes = |rig: &mut Rig| rig.pass(1, &frame).contains(&(2, frame.clone()));
        if seconds > 0 {
            rig.wait(Duration::from_secs(seconds - 2));
            assert!(!passes(&mut rig), "{edge} is too early");
            let closed = rig.router.discards().get(router::discard::Discard::PortClosed);
            assert_eq!(closed, 1, "{edge}");
            rig.wait(Duration::from_secs(3));
        }
        assert!(passes(&mut rig), "{edge}: {:?}", rig.router.discards());
    }
}

/// BPDUs do not leave a bridge that speaks; where `protocol-mode=none` they pass like any frame.
#[test]
fn reserved_addresses() {
    let bpdu = wire::bpdu::Bpdu::Notification.frame(mac(1));
    let mut lldp = bpdu;
    lldp[5] = 0x0e;
    for (mode, passes) in [("none", true), ("rstp", false), ("stp", false)] {
        for frame in [bpdu, lldp] {
            let mut rig = Rig::new(
                2,
                &format!(
                    "/interface bridge add name=b protocol-mode={mode}
                     /interface bridge port add bridge=b interface=ether1 edge=yes
                     /interface bridge port add bridge=b interface=ether2 edge=yes"
                ),
            );
            let out = rig.pass(1, &frame);
            assert_eq!(out.contains(&(2, frame.to_vec())), passes, "{mode}");
        }
    }
}

/// A port with `bpdu-guard=yes` is closed by a bridge behind it, until its link or its configuration changes.
#[test]
fn guarded_ports() {
    let mut lan = triangle(["", "", ""]);
    lan.rigs[0].run("/interface bridge port set 0 bpdu-guard=yes");
    lan.wait(40);
    assert_eq!(lan.roles(0)[0].trim(), "disabled-port");
    let shut = lan.broadcast(0);
    assert_eq!(shut, [0, 1, 1], "by the other port");
    lan.rigs[0].run("/interface bridge port set [find] bpdu-guard=no");
    lan.wait(40);
    assert!(lan.roles(0).iter().all(|role| role.trim() != "disabled-port"));
    assert_eq!(lan.broadcast(0), [0, 1, 1]);
}

/// The last port that leaves takes the way to the root with it.
#[test]
fn without_ports() {
    let mut lan = triangle(["", "", ""]);
    lan.wait(5);
    let bridge = |property| format!(":put [/interface bridge get b {property}]");
    assert!(lan.rigs[1].run(&bridge("root-port")).contains("ether"));
    lan.rigs[1].run("/interface bridge port remove [find]");
    lan.wait(2);
    let said = ["root-bridge", "root-port", "root-path-cost"]
        .map(|property| lan.rigs[1].run(&bridge(property)).trim().to_string());
    assert_eq!(said, ["true", "none", "0"]);
}

/// A root that becomes another bridge, by its priority or its address, takes its old word back: its
/// neighbour by two cables does not wait for three hellos that do not come.
#[test]
fn a_root_by_another_name() {
    for change in [
        "/interface bridge set b priority=0xF000",
        "/interface bridge set b auto-mac=no admin-mac=02:FF:00:00:00:01",
    ] {
        let mut lan = triangle(["", "", ""]);
        lan.rigs.pop();
        lan.cables = vec![((0, 1), (1, 1)), ((0, 2), (1, 2))];
        lan.wait(5);
        assert_eq!(lan.broadcast(1), [1, 0]);
        lan.rigs[0].run(change);
        lan.wait(1);
        let root = |rig: &mut Rig| rig.run(":put [/interface bridge get b root-bridge-id]");
        let roots = lan.rigs.iter_mut().map(root).collect::<Vec<_>>();
        assert!(roots.iter().all(|root| root.contains("02:00:00:00:01:01")), "{change}: {roots:?}");
        lan.wait(4);
        assert_eq!(lan.broadcast(1), [1, 0], "{change}");
    }
}
