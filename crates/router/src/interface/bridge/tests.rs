//! The bridging decision: bridges as data, one frame each.

use super::*;
use crate::interface::InterfaceKind;
use config::Mismatch;
use std::collections::BTreeMap;

/// ether1..ether4 are interfaces 1..4 with addresses ending in their number; bridge1 is 9.
fn bridge(properties: &[(&'static str, Value)], ports: &[&[(&'static str, Value)]]) -> Bridge {
    let (tree, names) = typed(properties, ports);
    let mac = |id: InterfaceId| (id.0 < 9).then(|| own(id.0));
    compile_all(&tree, &names, &mac).remove(0)
}

/// All enabled bridges, all of whose ports run.
fn compile_all(
    tree: &Tree,
    names: &Names,
    mac: &dyn Fn(InterfaceId) -> Option<MacAddr>,
) -> Vec<Bridge> {
    let mut taken = Vec::new();
    let bridges = tree.enabled(menu::BRIDGE.path).filter_map(|item| {
        let ports = ports_of(tree, names, text(item, "name")?, &mut taken);
        compile(tree, names, item, &ports, mac, &|_| true)
    });
    bridges.collect()
}

fn typed(
    properties: &[(&'static str, Value)],
    ports: &[&[(&'static str, Value)]],
) -> (Tree, Names) {
    let (mut tree, mut names) = (Tree::default(), Names::default());
    let mut values = BTreeMap::from([
        ("name", Value::Text("bridge1".into())),
        ("protocol-mode", Value::Text("none".into())),
    ]);
    values.extend(properties.iter().cloned());
    tree.push(&menu::BRIDGE, values);
    names.insert("bridge1", InterfaceId(9), InterfaceKind::Bridge);
    for (n, port) in (1..).zip(ports) {
        let mut values = BTreeMap::from([
            ("bridge", Value::Text("bridge1".into())),
            ("interface", Value::Text(format!("ether{n}"))),
        ]);
        values.extend(port.iter().cloned());
        tree.push(&menu::PORT, values);
        names.insert(&format!("ether{n}"), InterfaceId(n), InterfaceKind::Ethernet);
    }
    (tree, names)
}

fn own(n: u32) -> MacAddr {
    MacAddr::from_u64(0x000c_4200_0000 + u64::from(n))
}

/// A host behind port n.
fn host(n: u16) -> MacAddr {
    MacAddr::from_u64(0x0200_0000_0000 + u64::from(n))
}

fn hosts(bridge: &Bridge) -> Hosts {
    let mut hosts = Hosts::new(0, 100);
    hosts.set_local(bridge.local_addresses());
    for n in 1..=4 {
        hosts.learn(host(n).to_u64(), InterfaceId(n.into()), 0);
    }
    hosts
}

fn check(bridge: &Bridge, from: u32, dst: &str, expected: &str) {
    let dst = match dst.split_once(' ') {
        Some(("host", n)) => host(n.parse().unwrap()),
        Some(("own", n)) => own(n.parse().unwrap()),
        _ => dst.parse().unwrap(),
    };
    let found = match bridge.decide(InterfaceId(from), dst, 0, &hosts(bridge)) {
        Decision::Local => "local".into(),
        Decision::Port(port) => format!("port {}", port.0),
        Decision::Flood { ports, local } => {
            let ports: Vec<_> = ports.iter().map(|port| port.0.to_string()).collect();
            format!("flood {}{}", ports.join(" "), if local { " local" } else { "" })
        }
        Decision::Discard(reason) => format!("discard {reason}"),
    };
    assert_eq!(found, expected, "from {from} to {dst} in {bridge:#?}");
}

const ALL: &str = "FF:FF:FF:FF:FF:FF";
const GROUP: &str = "01:00:5E:00:00:05";
const NOBODY: &str = "02:00:00:00:77:77";

#[test]
fn a_plain_bridge() {
    let bridge = bridge(&[], &[&[], &[], &[]]);
    for (from, dst, expected) in [
        (1, "host 2", "port 2"),
        (2, "host 1", "port 1"),
        (1, "host 1", "discard same-port"),
        (1, "own 1", "local"),
        (1, "own 3", "local"),
        (1, NOBODY, "flood 2 3"),
        (3, NOBODY, "flood 1 2"),
        (1, ALL, "flood 2 3 local"),
        (2, GROUP, "flood 1 3 local"),
        // What the router sends.
        (9, "host 2", "port 2"),
        (9, NOBODY, "flood 1 2 3"),
        (9, ALL, "flood 1 2 3"),
        (9, GROUP, "flood 1 2 3"),
        // The reserved group: forwarded, as protocol-mode=none wants it, but for MAC control.
        (1, "01:80:C2:00:00:00", "flood 2 3 local"),
        (1, "01:80:C2:00:00:0E", "flood 2 3 local"),
        (1, "01:80:C2:00:00:01", "discard link-local-group"),
        // Host 4 was learnt by a port that is not one any more.
        (1, "host 4", "flood 2 3"),
        // Not a port.
        (4, "host 1", "discard interface-down"),
        (0, "host 1", "discard interface-down"),
    ] {
        check(&bridge, from, dst, expected);
    }
}

#[test]
fn a_bridge_without_ports_and_with_one() {
    check(&bridge(&[], &[]), 9, ALL, "discard no-bridge-port");
    check(&bridge(&[], &[]), 9, NOBODY, "discard no-bridge-port");
    check(&bridge(&[], &[&[]]), 1, ALL, "local");
    check(&bridge(&[], &[&[]]), 1, NOBODY, "discard no-bridge-port");
}

#[test]
fn a_port_is_spared_what_it_does_not_want() {
    for (property, unicast, multicast, broadcast) in [
        ("broadcast-flood", "flood 2 3", "flood 2 3 local", "flood 2 local"),
        ("unknown-multicast-flood", "flood 2 3", "flood 2 local", "flood 2 3 local"),
        ("unknown-unicast-flood", "flood 2", "flood 2 3 local", "flood 2 3 local"),
    ] {
        let bridge = bridge(&[], &[&[], &[], &[(property, Value::Bool(false))]]);
        check(&bridge, 1, NOBODY, unicast);
        check(&bridge, 1, GROUP, multicast);
        check(&bridge, 1, ALL, broadcast);
        check(&bridge, 1, "host 3", "port 3");
    }
}

#[test]
fn the_same_horizon_is_not_crossed() {
    let horizon = |n| ("horizon", Value::Number(n));
    let bridge = bridge(&[], &[&[horizon(1)], &[horizon(1)], &[horizon(2)], &[]]);
    for (from, dst, expected) in [
        (1, "host 2", "discard no-bridge-port"),
        (1, "host 3", "port 3"),
        (1, "host 4", "port 4"),
        (4, "host 1", "port 1"),
        (1, ALL, "flood 3 4 local"),
        (3, ALL, "flood 1 2 4 local"),
        (9, ALL, "flood 1 2 3 4"),
        (9, "host 1", "port 1"),
    ] {
        check(&bridge, from, dst, expected);
    }
}

#[test]
fn the_address_is_the_lowest_or_the_one_given() {
    let admin = || ("admin-mac", Value::Mac(host(77)));
    let no = || ("auto-mac", Value::Bool(false));
    assert_eq!(bridge(&[], &[&[], &[]]).mac, own(1));
    assert_eq!(bridge(&[], &[]).mac, MacAddr::default());
    assert_eq!(bridge(&[admin()], &[&[]]).mac, own(1));
    assert_eq!(bridge(&[admin(), no()], &[&[]]).mac, host(77));
    let given = bridge(&[admin(), no()], &[&[], &[]]);
    check(&given, 1, "02:00:00:00:00:4D", "local");
    check(&given, 1, "own 1", "local");
}

#[test]
fn properties_are_compiled() {
    let plain = bridge(&[], &[&[], &[("learn", Value::Text("no".into()))]]);
    assert_eq!((plain.ageing_ms, plain.mtu), (300_000, None));
    assert_eq!(plain.ports().iter().map(|port| port.learn).collect::<Vec<_>>(), [true, false]);
    let set = [("ageing-time", Value::Time(Duration::from_secs(10))), ("mtu", Value::Number(1400))];
    let set = bridge(&set, &[]);
    assert_eq!((set.ageing_ms, set.mtu), (10_000, Some(1400)));
}

#[test]
fn an_interface_is_a_port_once() {
    let (mut tree, names) = typed(&[], &[&[], &[]]);
    let again = tree.items(menu::PORT.path)[0].clone();
    assert_eq!(menu::check_port(&tree, &again), Ok(()));
    let id = tree.push(&menu::PORT, again.values.clone());
    let again = tree.items(menu::PORT.path).iter().find(|item| item.id == id).unwrap();
    assert_eq!(
        menu::check_port(&tree, again),
        Err("failure: device already added as bridge port".to_string())
    );
    let bridges = compile_all(&tree, &names, &|id| Some(own(id.0)));
    assert_eq!(bridges[0].ports().len(), 2);
    assert!(
        bridges[0].port(InterfaceId(0)).is_none() && bridges[0].port(InterfaceId(999)).is_none()
    );
}

#[test]
fn mstp_is_refused_by_name() {
    let accepts = |menu: &config::Menu, name: &str, text: &str| {
        let property = menu.properties.iter().find(|property| property.name == name).unwrap();
        property.kind.parse(text, &config::AnyName)
    };
    for mode in ["none", "stp", "rstp"] {
        assert_eq!(accepts(&menu::BRIDGE, "protocol-mode", mode), Ok(Value::Text(mode.into())));
    }
    let error = accepts(&menu::BRIDGE, "protocol-mode", "mstp").unwrap_err();
    let Mismatch::Missing(why) = error else { panic!("{error:?}") };
    assert!(why.contains("use rstp"), "{why}");
    for mode in ["", "nonsense"] {
        let error = accepts(&menu::BRIDGE, "protocol-mode", mode).unwrap_err();
        assert_eq!(error, Mismatch::NoMatch(["rstp", "none", "stp"].map(str::to_string).to_vec()));
    }
    assert_eq!(accepts(&menu::SETTINGS, "use-ip-firewall", "no"), Ok(Value::Bool(false)));
    assert!(accepts(&menu::SETTINGS, "use-ip-firewall-for-vlan", "yes").is_err());
}

/// The commands of the documents (source 001's bridging set-up), and what must be refused.
#[test]
fn bridges_are_typed() {
    struct Device;
    impl config::Status for Device {
        fn check(&self, menu: &config::Menu, item: &Item, tree: &Tree) -> Result<(), String> {
            if menu.path == menu::PORT.path { menu::check_port(tree, item) } else { Ok(()) }
        }
    }
    let ethernet = &crate::interface::menu::ETHERNET;
    let mut interpreter = config::Interpreter::new([
        &crate::interface::menu::INTERFACE,
        ethernet,
        &menu::BRIDGE,
        &menu::PORT,
        &menu::SETTINGS,
    ]);
    for n in 1..=3 {
        let values = BTreeMap::from([("name", Value::Text(format!("ether{n}")))]);
        interpreter.tree_mut().push(ethernet, values);
    }
    for line in [
        "/interface bridge add",
        "/interface bridge add name=lan ageing-time=1m protocol-mode=none",
        "/interface bridge port add interface=ether1 bridge=bridge1",
        "/interface bridge port add interface=ether2 bridge=bridge1 horizon=1 learn=no",
        "/interface bridge settings set allow-fast-path=no use-ip-firewall=no",
    ] {
        if let Err(error) = interpreter.run(line, &Device) {
            panic!("{line}: {error}");
        }
    }
    for (line, why) in [
        (
            "/interface bridge port add interface=ether2 bridge=lan",
            "failure: device already added as bridge port",
        ),
        ("/interface bridge port add interface=ether3 bridge=nowhere", "nowhere"),
        ("/interface bridge port add interface=ether3 bridge=lan pvid=0", "pvid"),
        ("/interface bridge port add interface=ether3 bridge=lan pvid=4095", "pvid"),
        ("/interface bridge set lan ether-type=0x9200", "ether-type"),
        ("/interface bridge add name=b protocol-mode=mstp", "use rstp"),
        ("/interface bridge settings set use-ip-firewall-for-pppoe=yes", "bridge filter"),
    ] {
        let error = interpreter.run(line, &Device).unwrap_err().to_string();
        assert!(error.contains(why), "{line}: {error}");
    }
    let mut names = Names::default();
    names.insert("bridge1", InterfaceId(9), InterfaceKind::Bridge);
    names.insert("lan", InterfaceId(10), InterfaceKind::Bridge);
    for n in 1..=3 {
        names.insert(&format!("ether{n}"), InterfaceId(n), InterfaceKind::Ethernet);
    }
    let bridges = compile_all(interpreter.tree(), &names, &|id| (id.0 < 9).then(|| own(id.0)));
    assert_eq!(
        bridges.iter().map(|bridge| bridge.ageing_ms).collect::<Vec<_>>(),
        [300_000, 60_000]
    );
    let ports: Vec<_> =
        bridges[0].ports().iter().map(|p| (p.interface.0, p.learn, p.horizon)).collect();
    assert_eq!(ports, [(1, true, None), (2, false, Some(1))]);
}
