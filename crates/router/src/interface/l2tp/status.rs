//! Rows of L2TP's sessions, and of others that stand on no interface, as `print` shows them.

use crate::interface::ppp::calls::Carrier;
use crate::interface::pppoe::status::open;
use crate::status::{RouterStatus, Values, dynamic};
use config::{Item, Value};

/// `/interface l2tp-server`.
pub(crate) fn sessions(status: &RouterStatus) -> Vec<Item> {
    sessions_of(status, |carrier| matches!(carrier, Carrier::L2tp { .. }))
}

/// The sessions of a server of which this is so, without a binding.
pub(crate) fn sessions_of(status: &RouterStatus, is: fn(&Carrier) -> bool) -> Vec<Item> {
    let text = |text: &str| Value::Text(text.to_string());
    let sessions = open(status);
    let sessions = sessions.filter(|(call, _)| is(&call.carrier) && call.is_dynamic());
    let rows = sessions.map(|(call, item)| {
        let values = Values::from([
            ("name", text(&call.name)),
            ("user", text(call.user())),
            ("client-address", text(&call.carrier.caller())),
            ("encoding", call.encoding()),
            ("uptime", call.uptime(status.now)),
        ]);
        dynamic(item, values)
    });
    rows.collect()
}
