//! Rules of `/ip firewall mangle`.

use super::{marks, matchers};
use proptest::prelude::*;
use proptest::sample::select;

pub(super) fn mangle_rule() -> impl Strategy<Value = String> {
    let chain = select(vec![
        "prerouting",
        "prerouting",
        "forward",
        "forward",
        "postrouting",
        "input",
        "output",
        "one",
    ]);
    let action = select(vec![
        "accept",
        "passthrough",
        "jump jump-target=one",
        "return",
        "log log-prefix=M",
        "mark-routing new-routing-mark=wan",
        "mark-routing new-routing-mark=wan",
        "mark-routing new-routing-mark=other passthrough=no",
        "mark-packet new-packet-mark=a",
        "mark-packet new-packet-mark=b passthrough=no",
        "mark-connection new-connection-mark=a",
        "mark-connection new-connection-mark=b passthrough=no",
        "mark-connection new-connection-mark=c",
        "change-dscp new-dscp=10",
        "change-dscp new-dscp=46 passthrough=no",
        "change-ttl new-ttl=set:64",
        "change-ttl new-ttl=set:1",
        "change-ttl new-ttl=increment:1",
        "change-ttl new-ttl=decrement:2",
        "change-mss new-mss=1000 protocol=tcp",
        "change-mss new-mss=clamp-to-pmtu protocol=tcp tcp-flags=syn",
        "set-priority new-priority=5",
        "set-priority new-priority=from-dscp-high-3-bits",
        "clear-df",
        "strip-ipv4-options",
        "fasttrack-connection",
    ]);
    let rule = (chain, matchers(), marks(), action, prop::bool::weighted(0.2));
    rule.prop_map(|(chain, matchers, marks, action, disabled)| {
        let matchers = if action.contains("protocol=tcp") { "" } else { &matchers };
        let disabled = if disabled { " disabled=yes" } else { "" };
        format!("/ip firewall mangle add chain={chain}{matchers}{marks} action={action}{disabled}")
    })
}
