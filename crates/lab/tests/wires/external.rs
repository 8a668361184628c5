//! Whatever is between two interfaces is measured: here a kernel that the test set up, which is
//! told nothing of the tester and asks for its hosts by ARP.
//!
//! Every test makes namespaces of its own; without the right to, each says so and returns (except
//! with `CI` set).

use crate::rig;
use lab::bench::external::{DEVICE, External, PATCH};
use lab::bench::patch::Patch;
use lab::bench::veth::{DEVICE_ENDS, Rig, device_mac};
use lab::bench::{self, BenchError, Kept, Kind, Plan};
use lab::configuration::{ALL, Configuration};
use lab::kernel::ask;
use lab::net::Net;
use lab::placement;
use lab::real::PortSpec;
use measure::template::shortest;
use measure::{Environment, Family, Mode, Results};
use rig::can_have_hosts;
use std::net::IpAddr;
use std::time::Duration;

/// Cables without a device; none, said, without rights or one of these programs.
fn rig(programs: &[&str]) -> Option<Rig> {
    can_have_hosts(programs).then(|| Rig::new(placement::pair()).unwrap())
}

fn net(hosts: [&str; 2], gateways: [&str; 2]) -> Net {
    let hosts = hosts.map(|address| (address.parse::<IpAddr>().unwrap(), 24));
    Net::new(hosts, gateways.map(|address| address.parse().unwrap())).unwrap()
}

/// Makes the kernel between the cables a router with the gateways' addresses.
fn route(rig: &Rig, net: &Net) {
    let six = net.family() == Family::Ipv6;
    let forward = if six { "ipv6.conf.all.forwarding" } else { "ipv4.ip_forward" };
    for (end, gateway) in DEVICE_ENDS.into_iter().zip(net.gateways) {
        let (bits, more) = if six { (64, " nodad") } else { (24, "") };
        if six {
            ask(&rig.device, &format!("sysctl -qw net.ipv6.conf.{end}.disable_ipv6=0")).unwrap();
        }
        ask(&rig.device, &format!("ip address add {gateway}/{bits} dev {end}{more}")).unwrap();
    }
    ask(&rig.device, &format!("sysctl -qw net.{forward}=1")).unwrap();
}

fn measure(rig: &Rig, backends: [&str; 2], net: Net, patch: bool) -> Result<Results, BenchError> {
    let mut names = ["a", "b"].into_iter().zip(backends).zip(rig.tester_ends());
    let ports: [PortSpec; 2] = std::array::from_fn(|_| {
        let ((name, backend), (namespace, end)) = names.next().unwrap();
        let text = format!("{name}={backend}:{end}@{}", namespace.path().display());
        text.parse().unwrap()
    });
    let is_asked = |row: &&Configuration| {
        (row.mode, row.family, row.name) == (Mode::Routing, net.family(), "none")
    };
    let plan = Plan {
        devices: vec![Kind::External],
        pair: placement::pair(),
        sizes: vec![shortest(net.family())],
        configurations: ALL.iter().filter(is_asked).collect(),
        duration: Duration::from_millis(200),
        seed: 1,
        table: None,
        turns: None,
        external: Some(External { ports, net, patch }),
        criterion: None,
        generator: None,
        documents: Vec::new(),
    };
    let kept = Kept::new(Environment::default());
    bench::run(&plan, &kept, |_| {}).map(|()| kept.so_far())
}

#[test]
fn a_kernel_between_two_interfaces() {
    let _turn = crate::turn();
    let others = net(["10.1.0.2", "10.2.0.2"], ["10.1.0.1", "10.2.0.254"]);
    for (backends, net) in [
        (["xdp", "packet"], Net::default()),
        (["packet", "packet"], Net::default()),
        (["xdp", "xdp"], others),
        (["xdp", "packet"], Net::of(Family::Ipv6)),
    ] {
        let Some(rig) = rig(&["sysctl"]) else { return };
        route(&rig, &net);
        let results = measure(&rig, backends, net, false).unwrap();
        let [row] = results.rows.as_slice() else { panic!("{results:?}") };
        assert_eq!(row.faults(), [], "{row:?}");
        assert_eq!(row.device, DEVICE);
        assert!(row.forwarded > 0 && row.tester_pps.is_some_and(|pps| pps > 0.0), "{row:?}");
        let seen: u64 = DEVICE_ENDS.iter().map(|end| rig.counters(end).rx).sum();
        assert!(seen >= row.forwarded, "{seen} at the kernel's ends, {row:?}");
        let [setup] = results.setups.as_slice() else { panic!("{results:?}") };
        for (i, gateway) in net.gateways.into_iter().enumerate() {
            let expected = format!("{} is at {}", gateway, device_mac(i));
            assert!(setup.witness.contains(&expected), "{expected}: {setup:?}");
        }
        let alone = "through two veths of this machine and nothing between";
        assert!(setup.witness.iter().any(|line| line.contains(alone)), "{setup:?}");
        assert!(row.medium.wire.contains(&format!("a={}:t0@", backends[0])), "{row:?}");
        // It knows our hosts, by ARP alone, or by neighbour discovery.
        let neighbours = ask(&rig.device, "ip neighbour show").unwrap();
        let known = neighbours.lines().filter(|line| line.contains("lladdr 06:00:00:00:00:0"));
        assert_eq!(known.count(), 50, "{neighbours}");
    }
}

#[test]
fn a_cable_is_the_tester_alone() {
    let _turn = crate::turn();
    let Some(rig) = rig(&[]) else { return };
    let _patch = Patch::new(&rig).unwrap();
    let results = measure(&rig, ["packet", "packet"], Net::default(), true).unwrap();
    let [row] = results.rows.as_slice() else { panic!("{results:?}") };
    assert_eq!(row.faults(), [], "{row:?}");
    assert!(row.device == PATCH && row.forwarded > 0, "{row:?}");
    assert_eq!(row.medium.generator, "user space, AF_PACKET");
}

#[test]
fn nobody_at_the_other_end_is_said() {
    let _turn = crate::turn();
    let Some(rig) = rig(&[]) else { return };
    // One address of two.
    ask(&rig.device, "ip address add 198.18.0.1/24 dev d0").unwrap();
    assert_eq!(why_not(&rig), "nobody answers ARP for 198.19.0.1 on b (t1)");
}

/// Why there is no figure of the kernel between the cables.
fn why_not(rig: &Rig) -> String {
    match measure(rig, ["xdp", "xdp"], Net::default(), false) {
        Err(BenchError::Unfit(DEVICE, unfit)) => unfit.to_string(),
        other => panic!("{other:?}"),
    }
}

/// A device that answers ARP and forwards nothing, or nothing one way: found before anything is
/// measured.
#[test]
fn ways_that_carry_nothing_are_said() {
    let _turn = crate::turn();
    let Some(rig) = rig(&["sysctl"]) else { return };
    route(&rig, &Net::default());
    ask(&rig.device, "ip rule add iif d1 blackhole pref 10").unwrap();
    let why = why_not(&rig);
    for words in [
        "the device does not forward from b (t1) to a (t0): a (t0) sent 30336 test frames, b (t1) \
         received ",
        "; b (t1) sent 30336 test frames, a (t0) received 0 of them",
        "By ARP, 198.18.0.1 is at 02:00:00:00:00:01 on a (t0), 198.19.0.1 is at",
        "its route to 198.18.0.101, and its firewall",
    ] {
        assert!(why.contains(words), "{words} in {why}");
    }
    ask(&rig.device, "ip rule add iif d0 blackhole pref 10").unwrap();
    assert!(why_not(&rig).starts_with("the device does not forward: a (t0) sent 30336"));
}

/// A device that loses one frame in a hundred, however slowly they come: it has a row, and no load
/// that it forwards without loss.
#[test]
fn one_that_loses_some_is_measured() {
    let _turn = crate::turn();
    let Some(rig) = rig(&["sysctl", "nft"]) else { return };
    route(&rig, &Net::default());
    for words in [
        "nft add table ip filter",
        "nft add chain ip filter forward { type filter hook forward priority 0 ; }",
        "nft add rule ip filter forward numgen inc mod 100 < 1 drop",
    ] {
        ask(&rig.device, words).unwrap();
    }
    let results = measure(&rig, ["xdp", "xdp"], Net::default(), false).unwrap();
    let [row] = results.rows.as_slice() else { panic!("{results:?}") };
    assert!(row.faults().is_empty() && row.forwarded > 0 && row.lost > 0, "{row:?}");
    assert_eq!(row.no_drop, None, "{row:?}");
    let [remark] = results.setups[0].remarks.as_slice() else { panic!("{results:?}") };
    let expected = "64 byte: it loses frames one batch at a time: of ";
    assert!(remark.starts_with(expected), "{remark}");
}
