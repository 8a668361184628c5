//! Offers of Tab for the properties of a node: a node takes each of them, and refuses none as not
//! implemented.

use config::{Access, AnyName, MenuKind, Session};
use lab::live::Interrupt;
use lab::node::{self, Environment, Node, Socket};
use lab::underway::Files;
use lab::world::World;
use port::{SimulatedPort, Slab};
use std::sync::Arc;
use wire::Moment;

#[test]
fn what_tab_offers_is_taken() {
    let slab = Slab::new(1 << 14).unwrap();
    let node = Node::new("dut", 1, 4, &slab, Environment::simulated(), Moment::ZERO);
    let sockets = (0..4).map(|_| Socket::<SimulatedPort>::empty()).collect();
    let mut world = World::new(vec![(node, sockets)], vec![vec![]], slab);
    let mut host = world.host(0, Files::none(), Interrupt::default());
    let session = Session::new(Arc::new(node::language(&[])));
    let mut n_words = 0;
    for menu in node::menus() {
        let verb = match menu.kind {
            MenuKind::List { fixed: false, .. } => "add",
            MenuKind::Settings => "set",
            _ => "set 0",
        };
        for property in menu.properties {
            let name = property.name;
            let line = format!("{} {verb} {name}=", menu.path);
            let offered = session.complete(&line, &mut host);
            // `disabled` is a flag that every list can set.
            let is_settable = matches!(property.access, Access::Optional | Access::Required);
            // The beginning of another one's name means that one: `slave=` is `slaves=`.
            let means_another =
                |other: &&config::Property| other.name != name && other.name.starts_with(name);
            if !is_settable && menu.properties.iter().any(|other| means_another(&other)) {
                continue;
            }
            if !is_settable && name != "disabled" {
                assert!(offered.is_empty(), "{line}: {offered:?}");
            }
            for word in offered {
                let word = word.word.trim_matches('"').to_string();
                let value = property.kind.parse(&word, &AnyName);
                assert!(value.is_ok(), "{line}{word}: {value:?}");
                n_words += 1;
            }
        }
    }
    assert!(n_words > 300, "{n_words}");
    let actions = session.complete("/ip firewall filter add action=", &mut host);
    let actions: Vec<String> = actions.into_iter().map(|offered| offered.word).collect();
    assert!(actions.contains(&"fasttrack-connection".to_string()), "{actions:?}");
    // What is not built is not offered.
    let actions = session.complete("/ip firewall nat add action=", &mut host);
    assert!(
        actions.iter().all(|offered| offered.word != "endpoint-independent-nat"),
        "{actions:?}"
    );
}
