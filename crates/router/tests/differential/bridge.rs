//! Rules of `/interface bridge filter` and `nat`.

use proptest::prelude::*;
use proptest::sample::select;

/// What bridge1 knows of VLANs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vlans {
    /// Nothing: frames pass as they are, and VLANs stand on it.
    Unaware,
    /// It keeps them apart; every port has a VLAN of its own.
    Apart,
    /// All ports belong to all VLANs.
    Mixed,
    /// VLANs of the ports are its ports.
    Below,
}

pub(super) fn bridge_rule(built: bool) -> impl Strategy<Value = String> {
    const MATCHERS: &[&str] = &[
        "",
        " in-interface=ether1",
        " out-interface=!ether2",
        " in-interface-list=some",
        " in-interface-list=other out-interface-list=!some",
        " in-bridge-list=some",
        " mac-protocol=ip ip-protocol=udp dst-port=53",
        " mac-protocol=arp arp-opcode=request",
        " mac-protocol=vlan",
        " packet-type=broadcast",
        " packet-type=!host",
        " src-mac-address=06:00:00:00:01:01/FF:FF:FF:FF:FF:FF",
        " dst-mac-address=!06:00:00:00:02:01/FF:FF:FF:FF:FF:FF",
        " src-address=10.0.1.0/24",
        " vlan-id=5",
        " vlan-priority=!1",
        " vlan-encap=arp",
        " arp-gratuitous=no",
        " arp-dst-mac-address=!06:00:00:00:02:01/FF:FF:FF:FF:FF:FF",
        " 802.3-sap=!0x42",
        " limit=5/1s,2:packet",
    ];
    let chain = select(vec!["forward", "forward", "input", "output", "own"]);
    let action = select(vec![
        "accept",
        "drop",
        "drop",
        "passthrough",
        "log",
        "jump jump-target=own",
        "return",
    ]);
    (chain, select(MATCHERS), action).prop_map(move |(chain, matcher, action)| match built {
        true => format!("/interface bridge filter add chain={chain}{matcher} action={action}"),
        false => "/interface bridge settings set allow-fast-path=yes".into(),
    })
}

pub(super) fn bridge_nat_rule() -> impl Strategy<Value = String> {
    let rule = select(vec![
        "chain=dstnat action=redirect dst-mac-address=06:00:00:00:02:01/FF:FF:FF:FF:FF:FF",
        "chain=dstnat action=dst-nat to-dst-mac-address=06:00:00:00:02:01 in-interface=ether1",
        "chain=dstnat action=arp-reply to-arp-reply-mac-address=06:00:00:00:02:02",
        "chain=dstnat action=drop mac-protocol=ip ip-protocol=udp dst-port=53",
        "chain=dstnat action=jump jump-target=mine",
        "chain=mine action=src-nat to-src-mac-address=06:00:00:00:03:03",
        "chain=srcnat action=jump jump-target=mine out-interface=!ether2",
        "chain=srcnat action=src-nat to-src-mac-address=06:00:00:00:03:03 out-interface=ether3",
        "chain=srcnat action=drop limit=5/1s,2:packet",
        "chain=srcnat action=passthrough",
    ]);
    rule.prop_map(|rule| format!("/interface bridge nat add {rule}"))
}
