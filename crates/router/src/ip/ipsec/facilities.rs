//! Facilities of `/ip ipsec`: compiled, shown, and what can be done.

use super::crypt::{Encryption, Integrity};
use super::menu;
use super::settings::{Id, Policy, Settings};
use super::state::{Child, Of, Phase};
use crate::facility::{DONE, Facility, Rows};
use crate::firewall::syntax::protocol_name;
use crate::status::{Numbers, RouterStatus, Values, dynamic, ip, number};
use config::{Command, Display, Item, ItemId, Unnamed, Value};
use std::time::Duration;
use wire::Moment;
use wire::ike::Selector;

/// `/ip ipsec policy`, which compiles all of them.
pub(crate) static POLICY: Facility = Facility {
    // Tunnels have policies of their own.
    after: &[&crate::interface::facilities::ALL],
    compile: |c| {
        let settings = Settings::read(c.tree);
        if c.program.ipsec.as_deref() != Some(&settings) {
            c.program.ipsec = (!settings.is_empty()).then(|| settings.into());
        }
    },
    relearn: true,
    rows: Rows::Few(of_tunnels),
    check: |item, _| {
        let is_six = |name| matches!(item.get(name), Some(Value::Cidr6(..)));
        let is_template = item.get("template") == Some(&Value::Bool(true));
        match !is_template && (is_six("src-address") || is_six("dst-address")) {
            true => {
                Err("not implemented: IPsec is of IPv4: say src-address=10.0.0.0/8".to_string())
            }
            false => Ok(()),
        }
    },
    value: policy,
    factory: || {
        let text = |text: &str| Value::Text(text.to_string());
        let all = || Value::Cidr6(0.into(), 0);
        vec![
            [
                ("src-address", all()),
                ("dst-address", all()),
                ("protocol", text("all")),
                ("template", Value::Bool(true)),
                ("default", Value::Bool(true)),
            ]
            .into(),
        ]
    },
    ..Facility::of(&menu::POLICY)
};

/// `/ip ipsec profile`.
pub(crate) static PROFILE: Facility =
    Facility { part_of: Some(&POLICY), factory: one_default, ..Facility::of(&menu::PROFILE) };

/// `/ip ipsec proposal`.
pub(crate) static PROPOSAL: Facility =
    Facility { part_of: Some(&POLICY), factory: one_default, ..Facility::of(&menu::PROPOSAL) };

/// `/ip ipsec peer`.
pub(crate) static PEER: Facility = Facility {
    part_of: Some(&POLICY),
    value: |status, item, property| match property {
        "responder" => {
            let settings = status.router.program.ipsec.as_ref()?;
            Some(Value::Bool(settings.peer(item.id)?.passive))
        }
        _ => None,
    },
    ..Facility::of(&menu::PEER)
};

/// `/ip ipsec identity`.
pub(crate) static IDENTITY: Facility =
    Facility { part_of: Some(&POLICY), ..Facility::of(&menu::IDENTITY) };

/// `/ip ipsec active-peers`.
pub(crate) static ACTIVE: Facility = Facility {
    rows: Rows::Few(active_peers),
    commands: &[(&KILL, |r, _, _, now| {
        r.services.ipsec.forget(now);
        DONE
    })],
    ..Facility::of(&menu::ACTIVE)
};

/// `/ip ipsec installed-sa`.
pub(crate) static SA: Facility = Facility {
    rows: Rows::Few(installed_sas),
    commands: &[(&FLUSH, |r, _, _, now| {
        r.services.ipsec.forget(now);
        DONE
    })],
    ..Facility::of(&menu::SA)
};

const KILL: Command = Command {
    menu: menu::ACTIVE.path,
    name: "kill-connections",
    unnamed: Unnamed::Nothing,
    parameters: &[],
    display: Display::Nothing,
    help: "Forgets all keys: they are agreed upon anew.",
};

const FLUSH: Command = Command { menu: menu::SA.path, name: "flush", ..KILL };

fn one_default() -> Vec<Values> {
    let name = Value::Text("default".to_string());
    vec![[("name", name), ("default", Value::Bool(true))].into()]
}

fn policy(status: &RouterStatus, item: &Item, property: &str) -> Option<Value> {
    let policy = status.router.program.ipsec.as_ref()?.policy(item.id)?;
    let count = || children(status, item.id);
    let encrypts = policy.action == super::settings::Action::Encrypt;
    match property {
        "active" => Some(Value::Bool(count() > 0)),
        "invalid" => Some(Value::Bool(encrypts && policy.peer.is_none())),
        "ph2-count" => Some(number(count() as u64)),
        "ph2-state" if encrypts => {
            let word = if count() > 0 { "established" } else { "no-phase2" };
            Some(Value::Text(word.to_string()))
        }
        _ => None,
    }
}

fn children(status: &RouterStatus, policy: ItemId) -> usize {
    let all = status.router.services.ipsec.children.values();
    all.filter(|child| child.policy.item == policy).count()
}

/// Policies of tunnels that have a secret.
fn of_tunnels(status: &RouterStatus) -> Vec<Item> {
    let Some(settings) = &status.router.program.ipsec else { return Vec::new() };
    let mut numbers = Numbers::default();
    let row = |policy: &Policy| {
        let peer = policy.peer.and_then(|item| settings.peer(item));
        let network = |side: &Selector| {
            let [first, last] = side.addresses;
            Value::Cidr(first.into(), if first == last { 32 } else { 0 })
        };
        let port = |side: &Selector| match side.ports {
            [one, two] if one == two => number(one.into()),
            _ => text("any"),
        };
        let n = children(status, policy.item);
        Values::from([
            ("active", Value::Bool(n > 0)),
            ("peer", text(peer.map_or("", |peer| &peer.name))),
            ("tunnel", Value::Bool(false)),
            ("src-address", network(&policy.own)),
            ("src-port", port(&policy.own)),
            ("dst-address", network(&policy.other)),
            ("dst-port", port(&policy.other)),
            ("protocol", text(&protocol_name(policy.own.protocol))),
            ("action", text("encrypt")),
            ("level", text(if policy.is_optional { "use" } else { "require" })),
            ("proposal", text("default")),
            ("ph2-count", number(n as u64)),
            ("ph2-state", text(if n > 0 { "established" } else { "no-phase2" })),
        ])
    };
    let all = settings.policies.iter().filter(|policy| policy.is_of_tunnel());
    all.map(|policy| dynamic(numbers.of(u64::from(policy.item.0)), row(policy))).collect()
}

fn text(text: &(impl ToString + ?Sized)) -> Value {
    Value::Text(text.to_string())
}

/// Whole seconds.
fn seconds(time: Duration) -> Value {
    Value::Time(Duration::from_secs(time.as_secs()))
}

fn active_peers(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let state = &status.router.services.ipsec;
    let row = |of: Of, spis: [u64; 2], id: Option<&Id>, word: &str, [since, heard]: [Moment; 2]| {
        let children = state.children.values().filter(|child| child.of == of.spi).count();
        let [spi_i, spi_r] = spis.map(|spi| text(&format_args!("{spi:016x}")));
        Values::from([
            ("id", text(&id.map_or(String::new(), ToString::to_string))),
            ("state", text(word)),
            ("uptime", seconds(status.now.since(since))),
            ("ph2-total", number(children as u64)),
            ("local-address", ip(of.ends.0.address)),
            ("remote-address", ip(of.ends.1.address)),
            ("last-seen", seconds(status.now.since(heard))),
            ("spii", spi_i),
            ("spir", spi_r),
            ("responder", Value::Bool(!of.began)),
            ("natt-peer", Value::Bool(of.in_nat)),
        ])
    };
    let two = state.sas.values().map(|sa| {
        let word = match sa.phase {
            Phase::Init => "message-1-sent",
            Phase::Auth => "message-2-sent",
            Phase::Up => "established",
        };
        (sa.own_spi(), row(sa.of(), sa.spis, sa.other_id.as_ref(), word, [sa.since, sa.heard]))
    });
    let one = state.v1.values().map(|sa| {
        let (id, word) = (sa.other_id.as_ref(), sa.stage.word());
        (sa.own_cookie(), row(sa.of(), sa.cookies, id, word, [sa.since, sa.heard]))
    });
    two.chain(one).map(|(at, row)| dynamic(numbers.of(at), row)).collect()
}

fn installed_sas(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let state = &status.router.services.ipsec;
    let row = |child: &Child, way: usize| {
        let (own, other) = (ip(child.ends.0.address), ip(child.ends.1.address));
        let (from, to) = if way == 0 { (other, own) } else { (own, other) };
        let is_used = state.current.get(&child.key()) == Some(&child.spis[0]);
        let (cipher, bits) = match child.suite.encryption {
            Encryption::Null => ("null", 0),
            Encryption::TripleDes => ("3des", 192),
            Encryption::Cbc(bits) => ("aes-cbc", bits),
            Encryption::Gcm(bits) => ("aes-gcm", bits),
        };
        let proof = match child.suite.integrity {
            Integrity::None => "null",
            Integrity::Sha1 => "sha1",
            Integrity::Sha256 => "sha256",
            Integrity::Sha512 => "sha512",
        };
        Values::from([
            ("esp", Value::Bool(true)),
            ("hw-aead", Value::Bool(false)),
            ("ah", Value::Bool(false)),
            ("spi", text(&format_args!("{:#x}", child.spis[way]))),
            ("src-address", from),
            ("dst-address", to),
            ("state", text(if is_used { "mature" } else { "dying" })),
            ("auth-algorithm", text(proof)),
            ("enc-algorithm", text(cipher)),
            ("enc-key-size", number(bits.into())),
            ("addtime", seconds(status.now.since(child.since))),
            ("expires-in", seconds(child.ends_at.since(status.now))),
            ("current-bytes", number(child.counts[way].bytes)),
            ("current-packets", number(child.counts[way].packets)),
            ("replay", number(super::state::Window::SIZE.into())),
        ])
    };
    let ways = state.children.values().flat_map(|child| [(child, 0), (child, 1)]);
    ways.map(|(child, way)| {
        let at = u64::from(child.spis[0]) << 1 | way as u64;
        dynamic(numbers.of(at), row(child, way))
    })
    .collect()
}
