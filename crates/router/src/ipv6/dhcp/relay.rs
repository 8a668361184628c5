//! `/ipv6 dhcp-relay`: clients of a server that is elsewhere (RFC 8415 §19).
//!
//! ```text
//! a client's message, or another relay's ─► relay-forward: hops, link, peer, interface-id ─► each server
//! a server's relay-reply ─ by interface-id, or link ─► what is in it, to the peer, out by that interface
//! ```
//!
//! What is for servers passes OUTPUT as all that the router sends. Replies of others than the relay's servers
//! are not passed on. Never answers itself. **Missing**: routes to what servers delegate (RFC 8987),
//! options of a user's.

use super::send;
use super::settings::Relay;
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::ip::route::Target;
use crate::ipv6::{ALL_NODES, address};
use crate::packet::Ends;
use crate::program::Program;
use crate::router::Router;
use std::time::Duration;
use wire::dhcp6::{CLIENT_PORT, Kind, Message, Relayed, SERVER_PORT, option};
use wire::{Ipv6Prefix, Moment};

/// HOP_COUNT_LIMIT (RFC 8415 §7.6).
const HOPS: u8 = 8;

/// A client's message on a relay's interface, or another relay's on its way to servers; `None` if it is
/// none that is passed on.
pub(super) fn forward(
    r: &mut Router,
    now: Moment,
    (interface, from): (InterfaceId, u128),
    bytes: &[u8],
) -> Option<()> {
    let program = r.program.clone();
    let relay = program.v6.dhcp.relay_on(interface)?;
    let near = Ipv6Prefix::LINK_LOCAL.contains(from);
    let (hops, link) = match Relayed::read(bytes) {
        // Where the client is the first relay has said; from which link it came, if its address does not
        // say that, is for us to say (RFC 8415 §19.1.2).
        Some(by) if !by.reply && by.hops < HOPS => {
            (by.hops + 1, if near { link(&program, relay) } else { 0 })
        }
        Some(_) => return None,
        None => {
            let message = Message::read(bytes)?;
            if matches!(message.kind, Kind::Advertise | Kind::Reply | Kind::Reconfigure) {
                return None;
            }
            let elapsed = message.get(option::ELAPSED).and_then(|data| data.first_chunk::<2>());
            let asks_since = elapsed.map_or(0, |data| u16::from_be_bytes(*data));
            if Duration::from_millis(10 * u64::from(asks_since)) < relay.delay {
                return Some(());
            }
            (0, link(&program, relay))
        }
    };
    let name = program.interface(interface).name.as_bytes().to_vec();
    let options = vec![(option::INTERFACE_ID, name), (option::RELAYED, bytes.to_vec())];
    let (link, peer) = (link.into(), from.into());
    let bytes = Relayed { reply: false, hops, link, peer, options }.to_bytes();
    for &server in &relay.servers {
        let Some(src) = own_toward(&program, server) else { continue };
        let ends = Ends { src, dst: server };
        send(r, now, InterfaceId::NONE, ends, (SERVER_PORT, SERVER_PORT), &bytes);
    }
    Some(())
}

/// What a server has for a relay's client; `None` if it is no server of the relay, or says nothing.
pub(super) fn reply(r: &mut Router, now: Moment, from: u128, told: &Relayed) -> Option<()> {
    let program = r.program.clone();
    let name = told.get(option::INTERFACE_ID);
    let is_its = |relay: &&Relay| {
        let of_link = || link(&program, relay) == u128::from(told.link);
        let of_name = |name| program.interface(relay.interface).name.as_bytes() == name;
        relay.servers.contains(&from) && name.map_or_else(of_link, of_name)
    };
    let relay = program.v6.dhcp.relays.iter().find(is_its)?;
    let bytes = told.get(option::RELAYED)?;
    // Whoever is behind it is a client, or another relay.
    let port = match (Message::read(bytes), Relayed::read(bytes)) {
        (Some(message), _) => match message.kind {
            Kind::Advertise | Kind::Reply | Kind::Reconfigure => CLIENT_PORT,
            _ => return None,
        },
        (None, Some(inner)) if inner.reply => SERVER_PORT,
        _ => return None,
    };
    let peer = u128::from(told.peer);
    let toward = if Ipv6Prefix::LINK_LOCAL.contains(peer) { ALL_NODES } else { peer };
    let src = address::source(&program.v6.addresses, relay.interface, toward)?;
    let ends = Ends { src, dst: peer };
    send(r, now, relay.interface, ends, (SERVER_PORT, port), bytes);
    Some(())
}

/// What tells servers the link: an address of the interface, unless another one is typed; 0 where it has
/// none, for the interface's name says it, too.
fn link(program: &Program, relay: &Relay) -> u128 {
    let own = program.v6.addresses.iter().filter(|own| own.interface == relay.interface);
    let wide = own.filter(|own| !own.is_link_local()).map(|own| own.address).next();
    if relay.link == 0 { wide.unwrap_or(0) } else { relay.link }
}

/// The router's own address for packets to a server, if there is a way to it.
fn own_toward(program: &Program, server: u128) -> Option<u128> {
    let v6 = &program.v6;
    if let Some(own) = v6.routes.pref_src(Mark::NONE, server) {
        return Some(own);
    }
    let interface = match v6.routes.lookup(server)? {
        &Target::Connected(interface) => interface,
        Target::Gateways(ways) => ways.first()?.0,
        Target::Local => return Some(server),
        _ => return None,
    };
    address::source(&v6.addresses, interface, server)
}
