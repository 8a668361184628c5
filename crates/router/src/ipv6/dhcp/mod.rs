//! DHCPv6 (RFC 8415): `/ipv6 dhcp-client` asks for an address and prefixes, `/ipv6 dhcp-server` gives
//! them out, `/ipv6 dhcp-relay` passes on what others ask and give.
//!
//! ```text
//! filter input ─► LOCAL IN ─┬─► [server] ─► bindings ─► a route to each delegated prefix ─► found
//!                           ├─► [relay] ─► servers elsewhere, and their clients
//!                           └─► [client] ─► an address, a pool, a default route ──────────► found
//!                 timers ───────┴─► flow::v6::local_out
//! ```
//!
//! Client and server speak from the link's own address. What they get passes the firewall: ports 546 and 547.
//!
//! **Missing**: reconfiguration, authentication, `make-static`.

// The client.
pub(crate) mod client;
// What is done with the menus.
pub(crate) mod facilities;
// The property tables.
pub(crate) mod menu;
// The relay.
pub(crate) mod relay;
// The server.
pub(crate) mod server;
// What the configuration means.
pub(crate) mod settings;

use super::datagram::{payload, send};
use super::nd::autoconf;
use super::{ALL_NODES, address};
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::packet::{Ends, Packet};
use crate::program::Program;
use crate::router::Router;
use settings::Relay;
use wire::dhcp6::{CLIENT_PORT, Message, Relayed, SERVER_PORT};
use wire::layers::protocol;
use wire::{MacAddr, Moment};

/// Whether a packet for the router is DHCPv6's.
pub(crate) fn is_asked(program: &Program, p: &Packet) -> bool {
    let (tuple, on, dhcp) = (&p.layers.tuple, p.in_interface, &program.v6.dhcp);
    tuple.protocol == protocol::UDP
        && match tuple.dst_port {
            SERVER_PORT => {
                let is_relays = |relay: &Relay| relay.servers.contains(&p.ends.src);
                dhcp.server_on(on).is_some()
                    || dhcp.relay_on(on).is_some()
                    || dhcp.relays.iter().any(is_relays)
            }
            CLIENT_PORT => dhcp.client_on(on).is_some(),
            _ => false,
        }
}

/// A message has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let bytes = payload(r, &p).map(<[u8]>::to_vec);
    match bytes.and_then(|bytes| hear(r, now, &p, &bytes)) {
        Some(()) => r.consume(p),
        None => r.discard(p, Discard::BadDhcp),
    }
}

/// Whoever it is for hears it; `None` if it is nothing that anybody takes.
fn hear(r: &mut Router, now: Moment, p: &Packet, bytes: &[u8]) -> Option<()> {
    let program = r.program.clone();
    let (interface, from, dhcp) = (p.in_interface, p.ends.src, &program.v6.dhcp);
    let of_link = wire::Ipv6Prefix::LINK_LOCAL.contains(from);
    if p.layers.tuple.dst_port == CLIENT_PORT {
        let message = Message::read(bytes).filter(|_| of_link)?;
        client::hear(r, now, interface, from, &message);
        return Some(());
    }
    match Relayed::read(bytes) {
        Some(told) if told.reply => relay::reply(r, now, from, &told),
        _ if dhcp.relay_on(interface).is_some() => relay::forward(r, now, (interface, from), bytes),
        Some(asked) => {
            let server = dhcp.server_on(interface)?;
            let answer = server::relayed(r, now, server, from, &asked, 0)?;
            let own = program.v6.is_own(interface, p.ends.dst).then_some(p.ends.dst);
            let own = own.or_else(|| address::source(&program.v6.addresses, interface, from))?;
            let ends = Ends { src: own, dst: from };
            send(r, now, interface, ends, (SERVER_PORT, SERVER_PORT), &answer.to_bytes());
            Some(())
        }
        None => {
            let message = Message::read(bytes).filter(|_| of_link)?;
            let server = dhcp.server_on(interface)?;
            if let Some(answer) = server::answer(r, now, server, from, &message) {
                say(r, now, interface, from, (SERVER_PORT, CLIENT_PORT), &answer);
            }
            Some(())
        }
    }
}

/// Sends a message by an interface, from its own address there.
fn say(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    dst: u128,
    ports: (u16, u16),
    message: &Message,
) {
    let Some(src) = address::source(&r.program.v6.addresses, interface, ALL_NODES) else { return };
    send(r, now, interface, Ends { src, dst }, ports, &message.to_bytes());
}

/// Who the router is on an interface: a DUID of its MAC address (RFC 8415 §11.4).
fn duid(mac: MacAddr) -> Vec<u8> {
    [&[0, 3, 0, 1], &mac.0[..]].concat()
}

/// The name servers that the router was told: by DHCPv6, and by other routers.
pub(crate) fn dns_servers(r: &Router) -> Vec<u128> {
    let mut all = client::dns_servers(r);
    all.extend(autoconf::dns_servers(r));
    let mut seen = Vec::new();
    all.retain(|server| {
        let fresh = !seen.contains(server);
        seen.push(*server);
        fresh
    });
    all
}
