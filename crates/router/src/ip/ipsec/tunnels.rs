//! Policies of tunnels that have an `ipsec-secret`: their own packets are encrypted, in transport mode, by IKEv1.
//!
//! ```text
//!  /interface gre add remote-address=… ipsec-secret=…      a peer, an identity, a policy for both ends' GRE
//!  /interface l2tp-server server set use-ipsec=yes …       a peer that is anybody, a policy for anybody's L2TP
//! ```
//!
//! Profile and proposal are those called `default`. Two clients behind the same NAT have the same address, so that the
//! newer one's keys are used, as on RouterOS.

use super::menu::{PROFILE, PROPOSAL};
use super::settings::{
    Action, Identity, Peer, Policy, Profile, Proposal, Settings, address, named,
};
use crate::interface::l2tp::menu::{CLIENT, SERVER};
use crate::interface::tunnel::menu::{EOIP, GRE, IPIP, SIX_TO_FOUR};
use config::{ItemId, Menu, Read, Tree};
use wire::ike::{PORT, Selector};
use wire::layers::protocol;
use wire::{Ipv4Prefix, l2tp};

/// The server's policy and peer: settings have no number.
const OF_SERVER: ItemId = ItemId(u32::MAX);
/// What they call the peer of a server's clients.
const CLIENTS: &str = "l2tp-in-server";

const ANY: [u32; 2] = [0, u32::MAX];
const ANY_PORT: [u16; 2] = [0, u16::MAX];
const L2TP: [u16; 2] = [l2tp::PORT; 2];

/// Adds theirs.
pub(super) fn read(tree: &Tree, settings: &mut Settings) {
    let tunnels: [(&Menu, &str, u8, [u16; 2]); 5] = [
        (&IPIP, "remote-address", protocol::IPIP, ANY_PORT),
        (&GRE, "remote-address", protocol::GRE, ANY_PORT),
        (&EOIP, "remote-address", protocol::GRE, ANY_PORT),
        (&SIX_TO_FOUR, "remote-address", protocol::IPV6, ANY_PORT),
        (&CLIENT, "connect-to", protocol::UDP, L2TP),
    ];
    for (menu, remote, protocol, ports) in tunnels {
        for item in tree.read(menu).filter(|item| !item.bool("disabled")) {
            let wants = menu.path != CLIENT.path || item.bool("use-ipsec");
            let Some(remote) = address(&item, remote).filter(|_| wants) else { continue };
            let own = match menu.path == CLIENT.path {
                true => None,
                false => address(&item, "local-address"),
            };
            let side = |end: [u32; 2]| Selector { protocol, ports, addresses: end };
            let (own_side, other) = (side(own.map_or(ANY, |own| [own; 2])), side([remote; 2]));
            let policy = policy(tree, item.id(), own_side, other);
            add(tree, settings, &item, Ipv4Prefix::new(remote, 32), own, policy);
        }
    }
    let Some(server) = tree.read(&SERVER).next().filter(|server| server.bool("enabled")) else {
        return;
    };
    let is_optional = match &*server.text("use-ipsec") {
        "required" => false,
        "yes" => true,
        _ => return,
    };
    let side = |ports| Selector { protocol: protocol::UDP, ports, addresses: ANY };
    let policy = policy(tree, OF_SERVER, side(L2TP), side(ANY_PORT));
    let policy = Policy { is_optional, is_by_host: true, ..policy };
    add(tree, settings, &server, Ipv4Prefix::new(0, 0), None, policy);
}

fn policy(tree: &Tree, item: ItemId, own: Selector, other: Selector) -> Policy {
    let proposal = named(tree, &PROPOSAL, "default");
    Policy {
        item,
        own,
        other,
        action: Action::Encrypt,
        is_tunnel: false,
        is_optional: false,
        is_by_host: false,
        peer: Some(item),
        own_end: None,
        proposal: proposal.as_ref().map_or_else(Proposal::default, Proposal::read),
    }
}

/// Adds a policy and its peer, if there is a secret.
fn add(
    tree: &Tree,
    settings: &mut Settings,
    item: &Read,
    address: Ipv4Prefix,
    own: Option<u32>,
    policy: Policy,
) {
    let secret = item.text("ipsec-secret").into_bytes();
    if secret.is_empty() {
        return;
    }
    let profile = named(tree, &PROFILE, "default");
    let is_server = policy.is_by_host;
    let peer = Peer {
        item: policy.item,
        name: if is_server { CLIENTS.to_string() } else { item.name().to_string() },
        address,
        port: PORT,
        own,
        is_v1: true,
        passive: is_server,
        initial_contact: true,
        profile: profile.as_ref().map_or_else(Profile::default, Profile::read),
        identity: Some(Identity { secret, own: None, other: None }),
    };
    settings.peers.push(peer.into());
    settings.policies.push(policy.into());
}
