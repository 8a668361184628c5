//! Facilities of `/interface wireguard`: compiled, shown, and the configuration of a client.

use super::menu::{self, PEERS, WIREGUARD, encoded, key_of, list, text, time};
use super::noise::{Key, public};
use crate::facility::{self, Facility};
use crate::interface::facilities::ALL;
use crate::router::Router;
use crate::status::{RouterStatus, number};
use crate::tool::Told;
use config::{Call, Command, Display, Group, Item, Read, Record, Started, Tree, Unnamed, Value};
use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

/// `/interface wireguard`.
pub(crate) static FACILITY: Facility = Facility {
    part_of: Some(&ALL),
    value: |status, item, property| match property {
        "public-key" => Some(Value::Text(encoded(&public_key(status, item)?))),
        _ => status.ethernet(item, property),
    },
    ..Facility::of(&WIREGUARD)
};

/// `/interface wireguard peers`.
pub(crate) static PEER: Facility = Facility {
    part_of: Some(&ALL),
    check: |item, tree| menu::check(tree, item),
    value: peer,
    commands: &[(&SHOW_CLIENT, show_client)],
    ..Facility::of(&PEERS)
};

const SHOW_CLIENT: Command = Command {
    menu: PEERS.path,
    name: "show-client-config",
    unnamed: Unnamed::Items,
    parameters: &[],
    display: Display::Append(shown),
    help: "What these peers, as clients, have in their file of wg-quick.",
};

/// The public key of an interface's private one, typed or made.
fn public_key(status: &RouterStatus, item: &Item) -> Option<Key> {
    let program = &status.router.program;
    let wireguard = program.wireguards.iter().find(|one| one.item == item.id)?;
    status.router.link.wireguard.keys_of(wireguard).map(|keys| keys.public)
}

fn peer(status: &RouterStatus, item: &Item, property: &str) -> Option<Value> {
    let known = status.router.link.wireguard.peers.get(&item.id)?;
    let end = || known.endpoint.map(|(_, end)| end);
    Some(match property {
        "current-endpoint-address" => match end()?.ip() {
            IpAddr::V4(v4) => Value::Address(v4),
            IpAddr::V6(v6) => Value::Address6(v6),
        },
        "current-endpoint-port" => number(end()?.port().into()),
        "rx" => number(known.bytes[0]),
        "tx" => number(known.bytes[1]),
        "last-handshake" => {
            Value::Time(Duration::from_secs(status.now.since(known.shaken?).as_secs()))
        }
        _ => return None,
    })
}

/// The file of wg-quick for each of these peers.
fn show_client(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    _: wire::Moment,
) -> Result<Started<Router>, String> {
    let wanted = facility::items(call, tree)?;
    let mut out = String::new();
    for peer in tree.read(&PEERS).filter(|peer| wanted.contains(&peer.id())) {
        let own = tree.read(&WIREGUARD).find(|one| one.name() == peer.text("interface"));
        let Some(own) = own else { continue };
        let made = r.link.wireguard.made.get(&own.id()).map(|made| made.secret);
        client(&mut out, &peer, key_of(&own, "private-key").or(made), own.number("listen-port"));
    }
    Ok(Told::started(vec![Record(vec![("config", Value::Text(out))])]))
}

fn shown(group: &Group) -> String {
    let texts = group.records.iter().filter_map(|record| record.get("config"));
    texts.map(ToString::to_string).collect()
}

/// One client's.
fn client(out: &mut String, peer: &Read, secret: Option<Key>, port: i64) {
    out.push_str("[Interface]\n");
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(out, "{name} = {value}");
        }
    };
    let all = |name: &str| {
        let all: Vec<String> = list(peer, name).iter().map(ToString::to_string).collect();
        all.join(", ")
    };
    let public = secret.map_or(String::new(), |key| encoded(&public(&key)));
    let endpoint = Some(text(peer, "client-endpoint")).filter(|endpoint| !endpoint.is_empty());
    let allowed = Some(all("client-allowed-address")).filter(|all| !all.is_empty());
    let keepalive = time(peer, "client-keepalive").map(|time| time.as_secs().to_string());
    line("ListenPort", text(peer, "client-listen-port"));
    line("PrivateKey", text(peer, "private-key"));
    line("Address", all("client-address"));
    line("DNS", all("client-dns"));
    line("\n[Peer]\nPublicKey", public);
    line("PresharedKey", text(peer, "preshared-key"));
    line("AllowedIPs", allowed.unwrap_or_else(|| "0.0.0.0/0, ::/0".to_string()));
    line("Endpoint", endpoint.map_or(String::new(), |endpoint| format!("{endpoint}:{port}")));
    line("PersistentKeepalive", keepalive.unwrap_or_default());
}
