//! Configurations as they are in the field (`configs/field/`): what of each is taken, that it is
//! exported, and that a device made of that export says the same.

use daemon::import::{self, Count, Others};
use std::path::PathBuf;

const OTHERS: Others = (serve::MENUS, Some(&serve::FACTORY));

/// The files, and how many of a hundred commands are taken at least: those that work, and those
/// without a meaning here.
const FILES: &[(&str, usize)] = &[
    ("bridge-wireless-link.rsc", 100),
    ("dual-wan-pcc.rsc", 100),
    ("dual-wan-v7.rsc", 100),
    ("home-defconf-v7.rsc", 100),
    ("home-defconf.rsc", 100),
    ("hotspot.rsc", 96),
    ("ipv6-home.rsc", 100),
    ("isp-pppoe.rsc", 100),
    ("office-terse.rsc", 100),
    ("qos-tree.rsc", 100),
    ("switch.rsc", 96),
    ("verbose-v6.rsc", 92),
    ("vlan-campus.rsc", 98),
    ("vpn-server.rsc", 97),
    ("vrrp-pair.rsc", 100),
    ("wireguard-v7.rsc", 100),
];

/// Of all commands together.
const ALL: usize = 98;

#[test]
fn configurations_of_the_field_are_taken() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../configs/field");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), FILES.len(), "each file has its line");
    let (mut total, mut faults) = (Count::default(), Vec::new());
    for (name, at_least) in FILES {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let (surveyed, export) =
            import::tolerant(name, &import::text(&bytes), OTHERS, None).unwrap();
        total.add(surveyed.total);
        if surveyed.total.percent() < *at_least {
            faults.push(format!("{name}: {:?}\n{:#?}", surveyed.total, surveyed.lines));
        }
        let (again, same) = import::tolerant(name, &export, OTHERS, None).unwrap();
        let refused = |line: &&import::Line| ["missing", "refused"].contains(&line.verdict);
        let refused: Vec<_> = again.lines.iter().filter(refused).collect();
        if export != same || !refused.is_empty() {
            faults.push(format!("{name} exported is another one: {refused:#?}\n{export}"));
        }
    }
    assert!(total.percent() >= ALL, "{total:?}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What is exported in the words of a version is taken, and means the same: said in the words of version
/// 6 it is what the file is in those.
#[test]
fn configurations_of_the_field_are_said_in_either_version() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../configs/field");
    let mut faults = Vec::new();
    for (name, _) in FILES {
        let text = import::text(&std::fs::read(folder.join(name)).unwrap());
        let said = |text: &str, version| {
            let (surveyed, said) = import::tolerant(name, text, OTHERS, Some(version)).unwrap();
            let refused = |line: &import::Line| ["missing", "refused"].contains(&line.verdict);
            let lines = surveyed.lines.into_iter().filter(refused);
            (lines.map(|line| format!("{line:?}")).collect::<Vec<_>>(), said)
        };
        let (_, old) = said(&text, "6");
        for version in ["6", "7"] {
            let (_, export) = said(&text, version);
            let (refused, again) = said(&export, version);
            let (_, as_old) = said(&export, "6");
            let plain = |text: &str| {
                let lines = text.lines().filter(|line| !line.starts_with('#'));
                lines.collect::<Vec<_>>().join("\n")
            };
            if plain(&again) != plain(&export)
                || plain(&as_old) != plain(&old)
                || !refused.is_empty()
            {
                faults.push(format!(
                    "{name}, version {version}: {refused:?}\n{export}\n{as_old}\n{old}"
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
