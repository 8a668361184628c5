//! `/ipv6 settings`, as typed.

use super::menu::SETTINGS;
use config::Tree;

/// What holds for all of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether there is no IPv6 at all.
    pub disabled: bool,
    /// Whether packets are forwarded.
    pub forward: bool,
    /// Whether other routers are heard.
    pub accepts_advertisements: bool,
    /// Whether they may go the quick ways, and be counted there.
    pub allow_fast_path: bool,
    /// Entries of the table of neighbours.
    pub max_neighbor_entries: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::read(&Tree::default())
    }
}

impl Settings {
    /// Reads them from the configuration.
    pub fn read(tree: &Tree) -> Settings {
        let settings = tree.read_settings(&SETTINGS);
        let forward = settings.bool("forward");
        Settings {
            disabled: settings.bool("disable-ipv6"),
            forward,
            accepts_advertisements: match settings.text("accept-router-advertisements").as_str() {
                "yes" => true,
                "no" => false,
                _ => !forward,
            },
            allow_fast_path: settings.bool("allow-fast-path"),
            max_neighbor_entries: settings.number("max-neighbor-entries") as usize,
        }
    }
}
