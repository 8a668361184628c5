//! Reasons for a packet's slower way, and what to change.
//!
//! ```text
//! an unmet condition of FastPath │ what kept a recipe from being kept ─► why, and the line to type
//! ```

use crate::fast::Left;
use crate::flow::Unkept;

/// A reason, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The reason.
    pub why: &'static str,
    /// What to change.
    pub change: &'static str,
}

/// What to change about an unmet condition of FastPath ([`Unmet`](crate::unmet::Unmet)).
pub(crate) const CHANGES: &[(&str, &str)] = &[
    (
        "/interface bridge settings use-ip-firewall=yes",
        "/interface bridge settings set use-ip-firewall=no, and filter by /interface bridge filter",
    ),
    ("/ip settings allow-fast-path=no", "/ip settings set allow-fast-path=yes"),
    (
        "there are rules in /ip firewall",
        "nothing to change: the flow's rule results are cached, with counters",
    ),
    (
        "connection tracking is active",
        "/ip firewall connection tracking set enabled=no, if neither NAT nor connection-state is used",
    ),
    ("connection tracking is not active", "/ip firewall connection tracking set enabled=yes"),
    (
        "there are simple queues",
        "nothing to change: cached flows go through the queues at nearly the same speed",
    ),
    (
        "there is a queue tree with parent=global",
        "give the tree an interface as its parent: FastPath goes through that",
    ),
    (
        "there are rules in /interface bridge filter",
        "nothing to change: the filter's results are cached for frames like this one",
    ),
    ("there are rules in /interface bridge nat", "use /ip firewall nat for what is routed"),
    (
        "a bridge has vlan-filtering=yes",
        "nothing to change: VLANs are filtered batch by batch, only not counted as FastPath",
    ),
    (
        "/interface bridge settings allow-fast-path=no",
        "/interface bridge settings set allow-fast-path=yes",
    ),
];

impl Reason {
    /// The port's driver receives no FastPath.
    pub(crate) const SLOW_RX: Reason = Reason {
        why: "the in-interface's driver cannot receive in FastPath",
        change: "use a port whose driver can (fast path in /interface ethernet print stats)",
    };
    /// A bridge does not know where the destination is.
    pub(crate) const FLOOD: Reason = Reason {
        why: "the bridge does not know behind which port the destination is, or it is the router's",
        change: "nothing to change: as soon as the destination has sent a frame, it is known",
    };
    /// Several gateways.
    pub(crate) const ECMP: Reason = Reason {
        why: "the route has several gateways",
        change: "use one gateway, or turn connection tracking on, so that recipes are kept",
    };
    /// A policy has it encrypted.
    pub(crate) const IPSEC: Reason = Reason {
        why: "a policy of IPsec has it encrypted, each one anew",
        change: "if it may go as it is, put a policy with action=none in front",
    };
    /// Too long for the way out.
    pub(crate) const SPLIT: Reason = Reason {
        why: "it is longer than the out-interface's MTU and leaves in pieces",
        change: "raise the out-interface's mtu, or have senders lower theirs",
    };
    /// A TTL of 1, a SYN, a damaged header.
    pub(crate) const OUT_OF_THE_ORDINARY: Reason = Reason {
        why: "it is out of the ordinary (its flags, its TTL, its checksum), so each one is looked at",
        change: "nothing: ordinary packets of this flow are not affected",
    };

    /// For an unmet condition.
    pub(crate) fn unmet(why: &'static str) -> Reason {
        let found = CHANGES.iter().find(|(condition, _)| *condition == why);
        Reason { why, change: found.map_or("wait until it is done, or stop it", |found| found.1) }
    }

    /// For what a batch loop leaves to the slow path.
    pub(crate) fn left(left: Left) -> Reason {
        match left {
            Left::Unusual => Reason::OUT_OF_THE_ORDINARY,
            Left::Options => Reason::kept(Unkept::Options),
            Left::Ecmp => Reason::ECMP,
            Left::TooLong => Reason::SPLIT,
            Left::Neighbour => Reason::kept(Unkept::Neighbour),
            Left::BridgeRules => Reason::kept(Unkept::BridgeFilter),
            Left::Unknown => Reason::FLOOD,
            Left::IpFirewall => Reason::unmet("/interface bridge settings use-ip-firewall=yes"),
        }
    }

    /// For what kept a recipe from being kept.
    pub(crate) fn kept(unkept: Unkept) -> Reason {
        let (why, change) = match unkept {
            Unkept::Protocol => (
                "only TCP and UDP have recipes",
                "nothing: other protocols take the slow path while anything is tracked or filtered",
            ),
            Unkept::Options => ("its IP header has options", "have the sender leave them out"),
            Unkept::Fragments => (
                "it came in fragments",
                "have the sender use a smaller MTU, so that nothing needs to be put together",
            ),
            Unkept::Once => (
                "a rule on its way remembers, reads the payload or writes a log line",
                "put a rule that accepts established connections before those with limit, nth, \
                 random, content, tcp-mss, in-bridge-port or log",
            ),
            Unkept::Own => ("it is the router's own", "nothing: recipes are for what is forwarded"),
            Unkept::BridgeFilter => (
                "rules of /interface bridge nat, or in chain input or output of \
                 /interface bridge filter, look at each frame",
                "filter by /ip firewall what is routed, and by chain forward what is bridged",
            ),
            Unkept::Links => (
                "it came by two bridges, with more than two tags, or padded in a PPPoE session",
                "put the address on an interface below",
            ),
            Unkept::Flooded => (
                "a bridge on its way out does not know behind which port the neighbour is, or there \
                 are two",
                "nothing: once the neighbour has sent a frame it will be faster",
            ),
            Unkept::Encrypted => (
                "it comes out of a session with MPPE",
                "nothing: each packet is decrypted for itself",
            ),
            Unkept::Tunnel => (
                "a tunnel's outer packet waits in queues, is translated, or comes by a bridge that \
                 learns",
                "put the tunnel's own address on an interface without queues, NAT and bridge",
            ),
            Unkept::Invalid => (
                "it belongs to no connection",
                "drop it early: connection-state=invalid action=drop",
            ),
            Unkept::Tracked => (
                "it is not tracked, but a connection of its addresses and ports is",
                "let notrack take all packets of these addresses and ports",
            ),
            Unkept::Marked => (
                "each packet gives its connection another mark",
                "mark connections where connection-mark=no-mark",
            ),
            Unkept::Unsettled => (
                "its connection is still changing",
                "nothing: once both sides have spoken it will be faster",
            ),
            Unkept::Fasttrack => (
                "FastTrack shows it to the regular path now and then",
                "nothing: the next one is fasttracked again",
            ),
            Unkept::Neighbour => (
                "the neighbour is not known yet",
                "nothing: once it has answered it will be faster",
            ),
            Unkept::Full => ("no room for more flows", "raise max-entries"),
        };
        Reason { why, change }
    }
}
