//! The facilities of tunnels' menus: their items are compiled together with all interfaces.

use super::l2tp_ether;
use super::menu::{self, check};
use crate::facility::Facility;
use crate::interface::facilities::ALL;
use config::Menu;

/// `/interface ipip`.
pub(crate) static IPIP: Facility =
    Facility { check: |item, tree| check(tree, &menu::IPIP, item), ..tunnel(&menu::IPIP) };

/// `/interface gre`.
pub(crate) static GRE: Facility =
    Facility { check: |item, tree| check(tree, &menu::GRE, item), ..tunnel(&menu::GRE) };

/// `/interface 6to4`.
pub(crate) static SIX_TO_FOUR: Facility = Facility {
    check: |item, tree| check(tree, &menu::SIX_TO_FOUR, item),
    ..tunnel(&menu::SIX_TO_FOUR)
};

/// `/interface eoip`.
pub(crate) static EOIP: Facility =
    Facility { check: |item, tree| check(tree, &menu::EOIP, item), ..tunnel(&menu::EOIP) };

/// `/interface l2tp-ether`.
pub(crate) static L2TP_ETHER: Facility =
    Facility { check: |item, tree| l2tp_ether::check(tree, item), ..tunnel(&l2tp_ether::MENU) };

/// What is done alike with each.
const fn tunnel(menu: &'static Menu) -> Facility {
    Facility {
        part_of: Some(&ALL),
        value: |status, item, property| status.ethernet(item, property),
        ..Facility::of(menu)
    }
}
