//! `docs/status.md`: every menu of RouterOS v6 that the documents name, what works of it and what is
//! missing. Made of the menus themselves; `WIRESPEED_BLESS=1 cargo test -p cli --test status` writes it.

use config::{Access, Menu, Type};
use std::fmt::Write;
use std::path::PathBuf;

/// The menus of RouterOS v6 that are not here, with what for; from the source documents and the
/// public manuals.
const MISSING: &[(&str, &str)] = &[
    ("/interface ethernet switch", "switch chips"),
    ("/ip hotspot walled-garden", "gardens by names of hosts"),
    ("/ip hotspot cookie", "what browsers keep of hotspots"),
    ("/interface vpls", "VPLS"),
    ("/mpls traffic-eng", "traffic engineering"),
    ("/routing", "BGP, OSPF, RIP and filters; the host's daemons feed routes"),
    ("/tool traffic-monitor", "tools"),
    ("/user ssh-keys", "keys of users"),
];

fn menus() -> Vec<&'static Menu> {
    let mut menus = lab::node::menus();
    menus.extend(serve::MENUS.iter().copied());
    menus.sort_by_key(|menu| menu.path);
    menus
}

/// Properties of a kind, or that nothing is to be said.
fn named(menu: &Menu, is: impl Fn(&config::Property) -> bool) -> String {
    let names: Vec<_> = menu.properties.iter().filter(|p| is(p)).map(|p| p.name).collect();
    if names.is_empty() { "–".to_string() } else { names.join(", ") }
}

fn page() -> String {
    let mut page = String::from(
        "# Every menu, and what is missing of it\n\nMade of the menus themselves by `crates/cli/tests/status.rs`; do not edit. A property that is\n*missing* is refused with the reason when it is typed. Of one that takes *only what is* the value that\nsays what the router does anyway is taken, and every other one refused with the reason.\n\n| menu | is | missing | takes only what is |\n| --- | --- | --- | --- |\n",
    );
    for menu in menus() {
        let missing = named(menu, |p| matches!(p.access, Access::Missing(_)));
        let only = named(menu, |p| matches!(p.kind, Type::Only(..)));
        let help = menu.help.trim_end_matches('.');
        let _ = writeln!(page, "| `{}` | {help} | {missing} | {only} |", menu.path);
    }
    page += "\n## Menus that are not here\n\n| menu | what for |\n| --- | --- |\n";
    for (menu, what) in MISSING {
        let names: Vec<String> = menu.split(", ").map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "| {} | {what} |", names.join(", "));
    }
    page += "\n## Menus that are inert\n\nTheir lines change nothing about packets. A tolerant import keeps them word for word in `/system inert`\n([guide](guide/import.md)); any other refuses them.\n\n| menu and those below | why |\n| --- | --- |\n";
    for (menu, why) in config::inert::TABLE {
        let _ = writeln!(page, "| `{menu}` | {why} |");
    }
    page += "\nOf these menus only their own lines, or those that say no more than this:\n\n| menu | lines | why |\n| --- | --- | --- |\n";
    for (menu, why) in config::inert::ALONE {
        let _ = writeln!(page, "| `{menu}` | all | {why} |");
    }
    for (menu, why, said) in config::inert::SOME {
        let _ = writeln!(page, "| `{menu}` | {} | {why} |", said.join(" "));
    }
    page
}

#[test]
fn the_page_says_what_the_menus_are() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/status.md");
    let page = page();
    if std::env::var_os("WIRESPEED_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, page, "docs/status.md: WIRESPEED_BLESS=1 cargo test -p cli --test status");
}

/// A menu that is built leaves the list of those that are not.
#[test]
fn what_is_here_is_not_missing() {
    for missing in MISSING.iter().flat_map(|(menus, _)| menus.split(", ")) {
        let here = menus().into_iter().find(|menu| menu.path == missing);
        assert!(here.is_none(), "{missing} is built");
        assert!(config::inert::why(missing).is_none(), "{missing} is inert");
    }
}
