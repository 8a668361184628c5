//! `/ip ipsec`, compiled: peers, and the policies that say which packets are encrypted with whom.

use super::crypt::{Encryption, Group, Integrity, Prf};
use super::menu::{IDENTITY, PEER, POLICY, PROFILE, PROPOSAL};
use super::tunnels;
use crate::firewall::syntax::protocol_number;
use config::{ItemId, Read, Tree, Value};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::ike::Selector;
use wire::{FiveTuple, Ipv4Prefix};

/// `/ip ipsec`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) peers: Vec<Arc<Peer>>,
    /// In order: the first that is for a packet decides.
    pub(crate) policies: Vec<Arc<Policy>>,
}

/// A router with which keys are agreed upon.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) item: ItemId,
    pub(crate) name: String,
    pub(crate) address: Ipv4Prefix,
    pub(crate) port: u16,
    pub(crate) own: Option<u32>,
    /// By IKEv1.
    pub(crate) is_v1: bool,
    pub(crate) passive: bool,
    pub(crate) initial_contact: bool,
    pub(crate) profile: Profile,
    /// Nothing is agreed upon without.
    pub(crate) identity: Option<Identity>,
}

/// How keys are agreed upon.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) encryption: Vec<Encryption>,
    pub(crate) integrity: Integrity,
    pub(crate) prf: Prf,
    pub(crate) groups: Vec<Group>,
    pub(crate) lifetime: Duration,
    pub(crate) nat_traversal: bool,
    /// In IKEv1, who begins says whether children have a secret of their own.
    pub(crate) obeys: bool,
    pub(crate) probe_after: Option<Duration>,
    pub(crate) probes: u32,
}

/// How both ends prove who they are.
#[derive(PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) secret: Vec<u8>,
    pub(crate) own: Option<Id>,
    pub(crate) other: Option<Id>,
}

impl std::fmt::Debug for Identity {
    /// The secret is nobody's business.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {:?}", self.own, self.other)
    }
}

/// Who an end says it is (RFC 7296 §3.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) kind: u8,
    pub(crate) data: Vec<u8>,
}

const ADDRESS: u8 = 1;
const NAMES: [(&str, u8); 3] = [("fqdn", 2), ("user-fqdn", 3), ("key-id", 11)];

impl Id {
    /// The address that an end has.
    pub(crate) fn of_address(address: u32) -> Id {
        Id { kind: ADDRESS, data: address.to_be_bytes().to_vec() }
    }

    /// The payload's body.
    pub(crate) fn body(&self) -> Vec<u8> {
        [&[self.kind, 0, 0, 0], &self.data[..]].concat()
    }

    /// What such a body says.
    pub(crate) fn read(body: &[u8]) -> Option<Id> {
        let kind = *body.first()?;
        Some(Id { kind, data: body.get(4..)?.to_vec() })
    }

    fn typed(text: &str) -> Option<Id> {
        let (kind, data) = text.split_once(':')?;
        if kind == "address" {
            return Some(Id::of_address(data.parse::<Ipv4Addr>().ok()?.into()));
        }
        let (_, kind) = NAMES.into_iter().find(|(name, _)| *name == kind)?;
        (!data.is_empty()).then(|| Id { kind, data: data.as_bytes().to_vec() })
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.kind, self.data.first_chunk::<4>()) {
            (ADDRESS, Some(address)) => write!(f, "{}", Ipv4Addr::from(*address)),
            _ => f.write_str(&String::from_utf8_lossy(&self.data)),
        }
    }
}

/// Reads `auto`, `address:10.0.0.1`, `fqdn:a.example`, `user-fqdn:me@a.example`, `key-id:x`.
pub(super) fn id(text: &str) -> Result<Value, String> {
    match text == "auto" || Id::typed(text).is_some() {
        true => Ok(Value::Text(text.to_string())),
        false => Err("auto, address:, fqdn:, user-fqdn: or key-id: and who it is".to_string()),
    }
}

/// Which packets are encrypted, with whom.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) item: ItemId,
    pub(crate) own: Selector,
    pub(crate) other: Selector,
    pub(crate) action: Action,
    pub(crate) is_tunnel: bool,
    /// Without keys packets go as they are.
    pub(crate) is_optional: bool,
    /// Each host at the other end has keys of its own: L2TP's clients.
    pub(crate) is_by_host: bool,
    /// By item; `None` if there is no such peer.
    pub(crate) peer: Option<ItemId>,
    pub(crate) own_end: Option<u32>,
    pub(crate) proposal: Proposal,
}

/// What becomes of a policy's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    None,
    Discard,
    Encrypt,
}

/// How packets are encrypted; the default is by nothing, to which nobody agrees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) encryption: Vec<Encryption>,
    pub(crate) integrity: Vec<Integrity>,
    pub(crate) group: Option<Group>,
    pub(crate) lifetime: Duration,
}

/// A policy, and of one that is for many hosts which.
pub(crate) type Key = (ItemId, u32);

impl Policy {
    /// Whose children a packet's to this address are.
    pub(crate) fn key(&self, to: u32) -> Key {
        (self.item, if self.is_by_host { to } else { 0 })
    }

    /// Whether a tunnel's secret has brought it.
    pub(crate) fn is_of_tunnel(&self) -> bool {
        self.peer == Some(self.item)
    }

    /// Whether it is for a packet from here to there.
    pub(crate) fn is_for(&self, tuple: &FiveTuple) -> bool {
        self.own.admits(tuple.protocol, tuple.src_port, tuple.src)
            && self.other.admits(tuple.protocol, tuple.dst_port, tuple.dst)
    }
}

impl Settings {
    /// Whether there is anything to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.peers.is_empty() && self.policies.is_empty()
    }

    pub(crate) fn peer(&self, item: ItemId) -> Option<&Arc<Peer>> {
        self.peers.iter().find(|peer| peer.item == item)
    }

    pub(crate) fn policy(&self, item: ItemId) -> Option<&Arc<Policy>> {
        self.policies.iter().find(|policy| policy.item == item)
    }

    /// The policy that decides about a packet.
    pub(crate) fn decides(&self, tuple: &FiveTuple) -> Option<&Arc<Policy>> {
        self.policies.iter().find(|policy| policy.is_for(tuple))
    }

    /// The peer that an address is, or may be, by this version of IKE: the one that is said most exactly.
    pub(crate) fn peer_at(&self, own: u32, address: u32, is_v1: bool) -> Option<&Arc<Peer>> {
        let is = |peer: &&Arc<Peer>| {
            peer.address.contains(address)
                && peer.is_v1 == is_v1
                && peer.own.is_none_or(|one| one == own)
                && peer.identity.is_some()
        };
        // Of two the first, which is typed.
        self.peers.iter().rev().filter(is).max_by_key(|peer| peer.address.len())
    }

    /// Reads the menus.
    pub(crate) fn read(tree: &Tree) -> Settings {
        let peers = tree.read(&PEER).filter(|item| !item.bool("disabled"));
        let peers: Vec<Arc<Peer>> = peers.map(|item| peer(tree, &item).into()).collect();
        let policies = tree.read(&POLICY).filter(|item| !item.bool("disabled"));
        let policies = policies.filter_map(|item| Some(policy(tree, &peers, &item)?.into()));
        let policies = policies.collect();
        let mut settings = Settings { peers, policies };
        tunnels::read(tree, &mut settings);
        settings
    }
}

pub(super) fn named<'a>(
    tree: &'a Tree,
    menu: &'static config::Menu,
    name: &str,
) -> Option<Read<'a>> {
    tree.read(menu).find(|item| item.name() == name)
}

pub(super) fn address(item: &Read, name: &str) -> Option<u32> {
    match item.opt(name).as_deref() {
        Some(Value::Address(address)) => Some(u32::from(*address)).filter(|address| *address != 0),
        _ => None,
    }
}

fn peer(tree: &Tree, item: &Read) -> Peer {
    let prefix = match &*item.value("address") {
        Value::Cidr(address, len) => Ipv4Prefix::new((*address).into(), *len),
        _ => Ipv4Prefix::new(0, 0),
    };
    let profile = named(tree, &PROFILE, &item.text("profile"));
    let profile = profile.as_ref().map_or_else(Profile::default, Profile::read);
    let identities = tree.read(&IDENTITY).filter(|one| !one.bool("disabled"));
    let identity = identities.filter(|one| one.text("peer") == item.name()).map(|one| {
        let id = |name| Id::typed(&one.text(name));
        let secret = one.text("secret").into_bytes();
        Identity { secret, own: id("my-id"), other: id("remote-id") }
    });
    Peer {
        item: item.id(),
        name: item.name().to_string(),
        address: prefix,
        port: item.number("port") as u16,
        own: address(item, "local-address"),
        is_v1: item.text("exchange-mode") != "ike2",
        passive: item.bool("passive"),
        initial_contact: item.bool("send-initial-contact"),
        profile,
        identity: identity.into_iter().find(|identity| !identity.secret.is_empty()),
    }
}

impl Default for Profile {
    fn default() -> Profile {
        Profile {
            encryption: vec![Encryption::Cbc(128), Encryption::TripleDes],
            integrity: Integrity::Sha1,
            prf: Prf::Sha1,
            groups: vec![Group(14), Group(2)],
            lifetime: Duration::from_secs(86_400),
            nat_traversal: true,
            obeys: true,
            probe_after: Some(Duration::from_secs(120)),
            probes: 5,
        }
    }
}

impl Profile {
    pub(super) fn read(item: &Read) -> Profile {
        let hash = item.text("hash-algorithm");
        let by = item.text("prf-algorithm");
        let prf = match if by == "auto" { &hash } else { &by }.as_str() {
            "sha256" => Prf::Sha256,
            "sha384" => Prf::Sha384,
            "sha512" => Prf::Sha512,
            _ => Prf::Sha1,
        };
        let words = |name| item.list(name).into_iter().map(|word| word.to_string());
        Profile {
            encryption: words("enc-algorithm").filter_map(|word| encryption(&word)).collect(),
            integrity: integrity(&hash),
            prf,
            groups: words("dh-group").filter_map(|word| group(&word)).collect(),
            lifetime: item.time("lifetime").max(SHORTEST),
            nat_traversal: item.bool("nat-traversal"),
            obeys: item.text("proposal-check") == "obey",
            probe_after: match &*item.value("dpd-interval") {
                Value::Time(time) => Some((*time).max(Duration::from_secs(1))),
                _ => None,
            },
            probes: item.number("dpd-maximum-failures") as u32,
        }
    }
}

/// No keys are made anew more often.
pub(super) const SHORTEST: Duration = Duration::from_secs(10);

fn encryption(word: &str) -> Option<Encryption> {
    let (kind, bits) = match word.split('-').collect::<Vec<_>>()[..] {
        ["null"] => return Some(Encryption::Null),
        ["3des"] => return Some(Encryption::TripleDes),
        ["aes", bits] => ("cbc", bits),
        ["aes", bits, kind] => (kind, bits),
        _ => return None,
    };
    let bits = bits.parse().ok()?;
    Some(if kind == "gcm" { Encryption::Gcm(bits) } else { Encryption::Cbc(bits) })
}

fn integrity(word: &str) -> Integrity {
    match word {
        "sha1" => Integrity::Sha1,
        "sha256" => Integrity::Sha256,
        "sha512" => Integrity::Sha512,
        _ => Integrity::None,
    }
}

fn group(word: &str) -> Option<Group> {
    let number = match word {
        "modp1024" => 2,
        "modp1536" => 5,
        "modp2048" => 14,
        "modp3072" => 15,
        "modp4096" => 16,
        "ecp256" => 19,
        "x25519" => 31,
        _ => return None,
    };
    Some(Group(number))
}

impl Proposal {
    pub(super) fn read(item: &Read) -> Proposal {
        let words = |name| item.list(name).into_iter().map(|word| word.to_string());
        Proposal {
            encryption: words("enc-algorithms").filter_map(|word| encryption(&word)).collect(),
            integrity: words("auth-algorithms").map(|word| integrity(&word)).collect(),
            group: group(&item.text("pfs-group")),
            lifetime: item.time("lifetime").max(SHORTEST),
        }
    }
}

/// A policy; nothing if it is a template, which alone may be of IPv6.
fn policy(tree: &Tree, peers: &[Arc<Peer>], item: &Read) -> Option<Policy> {
    if item.bool("template") {
        return None;
    }
    let protocol = protocol_number(&item.text("protocol")).unwrap_or(0);
    let side = |network, port| {
        let addresses = match *item.value(network) {
            Value::Cidr(address, len) => {
                let prefix = Ipv4Prefix::new(address.into(), len);
                [prefix.bits(), prefix.last()]
            }
            _ => return None,
        };
        let ports = match *item.value(port) {
            Value::Number(port) => [port as u16; 2],
            _ => [0, u16::MAX],
        };
        Some(Selector { protocol, ports, addresses })
    };
    let name = item.text("peer");
    let (own_end, other_end) = (address(item, "sa-src-address"), address(item, "sa-dst-address"));
    let is_peer = |peer: &&Arc<Peer>| match name.is_empty() {
        true => peer.address.len() == 32 && Some(peer.address.bits()) == other_end,
        false => peer.name == name,
    };
    let peer = peers.iter().find(is_peer).filter(|peer| peer.identity.is_some());
    Some(Policy {
        item: item.id(),
        own: side("src-address", "src-port")?,
        other: side("dst-address", "dst-port")?,
        action: match &*item.text("action") {
            "discard" => Action::Discard,
            "none" => Action::None,
            _ => Action::Encrypt,
        },
        is_tunnel: item.bool("tunnel"),
        is_optional: item.text("level") == "use",
        is_by_host: false,
        peer: peer.map(|peer| peer.item),
        own_end,
        proposal: named(tree, &PROPOSAL, &item.text("proposal"))
            .as_ref()
            .map_or_else(Proposal::default, Proposal::read),
    })
}
