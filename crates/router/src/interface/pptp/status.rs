//! Rows of PPTP's sessions, as `print` shows them.

use crate::interface::l2tp::status::sessions_of;
use crate::interface::ppp::calls::Carrier;
use crate::status::RouterStatus;
use config::Item;

/// `/interface pptp-server`.
pub(crate) fn sessions(status: &RouterStatus) -> Vec<Item> {
    sessions_of(status, |carrier| matches!(carrier, Carrier::Pptp { .. }))
}
