//! A capture of real tools replayed through the router in virtual time.
//!
//! ```text
//!  captures/home.pcap.gz ─► frames, readdressed ─► [ router ] ─► frames out ─┐
//!  tshark's reading ─► model: connections, states, drops ─► expected ────────┴─ the same?
//! ```
//!
//! The capture was taken between clients and servers that were neighbours; here the router stands
//! between them. Clients' frames go to its ether1, servers' to its ether2, each at its own time.
//! What the servers would have seen through a masquerading router is written into their frames:
//! the port that the router chose is read off the first packet of a connection and checked (the
//! client's own if free, else one that nobody uses), all else is worked out by [`model`] and
//! [`bytes`], which use nothing of the router's.
//!
//! Every frame out is compared byte by byte, every connection at its last packet, and all counters
//! at the end; on the slow path alone, frame by frame, and on the fast path in batches.

mod witness;

mod bytes;
mod model;

mod replay;

mod checks;

mod ports;

#[path = "../rig/mod.rs"]
mod rig;

use model::{Fate, Policy, State, Step, TTL_EXCEEDED, work_out};
use replay::{Mode, Replay};
use witness::Row;

/// Neighbours are typed: nobody here would answer ARP. IPv6, which says something when an interface
/// comes up, is switched off.
const ADDRESSES: &str = "/ipv6 settings set disable-ipv6=yes
/ip address
add address=192.168.88.1/24 interface=ether1
add address=203.0.113.254/24 interface=ether2
/ip arp
add address=192.168.88.11 mac-address=06:00:C0:A8:58:0B interface=ether1
add address=192.168.88.12 mac-address=06:00:C0:A8:58:0B interface=ether1
add address=192.168.88.13 mac-address=06:00:C0:A8:58:0B interface=ether1
add address=192.168.88.14 mac-address=06:00:C0:A8:58:0B interface=ether1
add address=203.0.113.1 mac-address=06:00:CB:00:71:01 interface=ether2
add address=203.0.113.2 mac-address=06:00:CB:00:71:01 interface=ether2
";

const MASQUERADE: &str = "/ip firewall nat
add chain=srcnat action=masquerade out-interface=ether2
";

/// Ports that no client uses: every connection but pings gets another one.
const OTHER_PORTS: (u16, u16) = (2000, 9999);
const MASQUERADE_TO_OTHER_PORTS: &str = "/ip firewall nat
add chain=srcnat action=masquerade out-interface=ether2 protocol=tcp to-ports=2000-9999
add chain=srcnat action=masquerade out-interface=ether2 protocol=udp to-ports=2000-9999
add chain=srcnat action=masquerade out-interface=ether2
";

/// What a home router comes with.
const HOME: &str = "/ip firewall filter
add chain=forward action=accept connection-state=established,related
add chain=forward action=drop connection-state=invalid
add chain=forward action=drop connection-state=new connection-nat-state=!dstnat in-interface=ether2
add chain=forward action=passthrough connection-state=new
";

const FASTTRACK: &str = "/ip firewall filter
add chain=forward action=fasttrack-connection connection-state=established,related
";

/// A datagram as a rule sees it.
type Matches = fn(&Step, &Row) -> bool;

/// A configuration, and what the model has to know of it.
struct Setup {
    script: String,
    policy: Policy,
    /// There is a masquerade rule.
    nat: bool,
    /// The only ports that it may give to TCP and UDP.
    to_ports: Option<(u16, u16)>,
    /// What reaches and matches each filter rule.
    rules: Vec<Matches>,
}

/// Every frame through the router in both modes.
fn check(setup: &Setup) {
    let rows = witness::rows();
    let model = work_out(&rows, setup.policy);
    for mode in [Mode::Reference, Mode::Fast] {
        Replay::new(setup, &rows, &model, mode).run();
    }
}

fn is_known(step: &Step, _: &Row) -> bool {
    matches!(step.state, State::Established | State::Related)
}

fn is_invalid(step: &Step, _: &Row) -> bool {
    step.state == State::Invalid
}

fn is_uninvited(step: &Step, row: &Row) -> bool {
    step.state == State::New && !row.from_client
}

fn is_new(step: &Step, row: &Row) -> bool {
    step.state == State::New && row.from_client
}

/// The capture holds what it is there for.
#[test]
fn the_capture_is_rich_enough() {
    let rows = witness::rows();
    let model = work_out(&rows, HOME_POLICY);
    let at_least = |what: &str, n: usize, got: usize| assert!(got >= n, "{got} {what}, not {n}");
    let connections = |protocol| {
        model.connections.iter().filter(move |connection| connection.tuple.0 == protocol)
    };
    at_least("TCP connections", 400, connections(6).count());
    at_least("UDP connections", 3000, connections(17).count());
    at_least("ICMP connections", 5, connections(1).count());
    for (state, n) in [("time-wait", 300), ("close", 10)] {
        at_least(state, n, connections(6).filter(|tcp| tcp.tcp_state() == state).count());
    }
    at_least("refused", 5, connections(6).filter(|tcp| tcp.refused).count());
    for (state, n) in [(State::Invalid, 10), (State::Related, 10), (State::Established, 6000)] {
        at_least("of a state", n, model.steps.iter().filter(|step| step.state == state).count());
    }
    let in_pieces = |step: &&Step| step.fate == Fate::Forwarded && step.datagram.len() > 1;
    at_least("in fragments", 20, model.steps.iter().filter(in_pieces).count());
    at_least("too far", 5, model.steps.iter().filter(|step| step.fate == TTL_EXCEEDED).count());
}

/// Nothing but routes: FastPath.
#[test]
fn through_plain_routing() {
    check(&Setup {
        script: String::new(),
        policy: Policy::default(),
        nat: false,
        to_ports: None,
        rules: Vec::new(),
    });
}

const HOME_POLICY: Policy =
    Policy { tracking: true, drop_invalid: true, drop_uninvited: true, fasttrack: false };

#[test]
fn through_a_home_router() {
    check(&Setup {
        script: format!("{MASQUERADE}{HOME}"),
        policy: HOME_POLICY,
        nat: true,
        to_ports: None,
        rules: vec![is_known, is_invalid, is_uninvited, is_new],
    });
}

#[test]
fn through_a_home_router_with_fasttrack() {
    check(&Setup {
        script: format!("{MASQUERADE}{FASTTRACK}{HOME}"),
        policy: Policy { fasttrack: true, ..HOME_POLICY },
        nat: true,
        to_ports: None,
        rules: vec![is_known, is_known, is_invalid, is_uninvited, is_new],
    });
}

/// Every port changes, so every packet of a long connection is rewritten on the fast path too.
#[test]
fn through_a_home_router_with_other_ports() {
    check(&Setup {
        script: format!("{MASQUERADE_TO_OTHER_PORTS}{HOME}"),
        policy: HOME_POLICY,
        nat: true,
        to_ports: Some(OTHER_PORTS),
        rules: vec![is_known, is_invalid, is_uninvited, is_new],
    });
}

/// 25 rules that match nothing, and one behind them that sees all.
#[test]
fn through_25_rules() {
    let rules =
        (0..25).map(|n| format!("add chain=forward src-address=10.{n}.0.0/16 action=drop\n"));
    let rules: String = rules.collect();
    let mut expected: Vec<Matches> = vec![|_, _| false; 25];
    expected.push(|_, _| true);
    check(&Setup {
        script: format!("/ip firewall filter\n{rules}add chain=forward action=accept\n"),
        policy: Policy { tracking: true, ..Policy::default() },
        nat: false,
        to_ports: None,
        rules: expected,
    });
}

/// A queue for each client, which knows it by its own address though the servers do not.
#[test]
fn through_simple_queues() {
    let queues = (11..=14).map(|n| format!("add target=192.168.88.{n}/32 max-limit=1G/1G\n"));
    let queues: String = queues.collect();
    check(&Setup {
        script: format!("{MASQUERADE}/queue simple\n{queues}"),
        policy: Policy { tracking: true, ..Policy::default() },
        nat: true,
        to_ports: None,
        rules: Vec::new(),
    });
}
