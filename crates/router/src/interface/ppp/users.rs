//! `/ppp secret` and `/ppp profile`: users of the router's PPP servers, and what each gets.
//!
//! ```text
//! name, proof ─► secret ─► its profile, or the server's ─► Offer: addresses or pools, and the rest
//!                                                            └► addresses taken ─► Grant
//! ```

use super::machine::{Encryption, Pass, Proof};
use super::menu::{PROFILE, SECRET};
use super::rate::Rate;
use config::{Read, Tree, Value};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::Ipv4Prefix;

/// Where an address comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Whence {
    #[default]
    Nowhere,
    Address(u32),
    /// Of `/ip pool`, by name.
    Pool(String),
}

impl Whence {
    fn or(&self, other: &Whence) -> Whence {
        if *self == Whence::Nowhere { other.clone() } else { self.clone() }
    }
}

/// What both a profile and a session have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Terms {
    /// `change-tcp-mss`.
    pub(crate) clamps_mss: bool,
    /// His earlier sessions end.
    pub(crate) only_one: bool,
    pub(crate) encryption: Encryption,
    /// `use-ipv6`.
    pub(crate) ipv6: bool,
    pub(crate) rate: Option<Rate>,
    pub(crate) parent_queue: Option<String>,
    pub(crate) queue_type: Option<Value>,
    pub(crate) address_list: Option<String>,
    pub(crate) interface_list: Option<String>,
    /// `incoming-filter`, `outgoing-filter`.
    pub(crate) filters: [Option<String>; 2],
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) session_timeout: Option<Duration>,
    pub(crate) dns: [u32; 2],
    pub(crate) wins: [u32; 2],
    /// To the networks behind him: gateway (he, if 0) and distance.
    pub(crate) routes: Vec<(Ipv4Prefix, u32, u8)>,
    /// Bytes from him and to him; 0 is any number.
    pub(crate) limits: [u64; 2],
    /// RADIUS has let him in; what it wants to be told with each account, and how often.
    pub(crate) by_radius: bool,
    pub(crate) class: Option<Vec<u8>>,
    pub(crate) interim: Option<Duration>,
    pub(crate) scripts: Arc<Scripts>,
}

/// What runs when a session has begun, and when it is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scripts {
    pub(crate) on_up: String,
    pub(crate) on_down: String,
}

/// A profile as compiled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Profile {
    local: Whence,
    remote: Whence,
    pub(crate) terms: Arc<Terms>,
}

#[derive(Clone, Debug, PartialEq)]
struct Secret {
    password: String,
    /// None is the server's.
    profile: Option<String>,
    service: String,
    local: Whence,
    remote: Whence,
    caller_id: String,
    routes: Vec<(Ipv4Prefix, u32, u8)>,
    limits: [u64; 2],
}

/// What somebody may have who has logged in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) local: Whence,
    pub(crate) remote: Whence,
    pub(crate) terms: Arc<Terms>,
}

/// Why somebody may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nobody has this name.
    Unknown,
    /// Somebody has, and another password.
    Wrong,
    /// He calls from elsewhere.
    Caller,
    /// There are no addresses for him.
    NoAddress,
    /// Nobody answers who would know.
    Timeout,
}

/// Who logs in, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    pub(crate) user: &'a str,
    pub(crate) proof: &'a Proof,
    /// The server's profile.
    pub(crate) profile: &'a str,
    /// `pppoe`, `l2tp`, `pptp`.
    pub(crate) service: &'a str,
    /// From where, as RouterOS writes it.
    pub(crate) caller: &'a str,
}

/// Who may log in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Users {
    profiles: HashMap<String, Arc<Profile>>,
    secrets: HashMap<String, Vec<Secret>>,
}

impl Users {
    /// Reads both menus.
    pub(crate) fn read(tree: &Tree) -> Users {
        let enabled = |item: &Read| !item.bool("disabled");
        let profiles = tree.read(&PROFILE);
        let profiles = profiles.map(|item| (item.text("name"), Arc::new(Profile::read(&item))));
        let mut secrets: HashMap<String, Vec<Secret>> = HashMap::new();
        for item in tree.read(&SECRET).filter(enabled) {
            let secret = Secret {
                password: item.text("password"),
                profile: Some(item.text("profile")).filter(|name| name != "default"),
                service: item.text("service"),
                local: whence(&item, "local-address"),
                remote: whence(&item, "remote-address"),
                caller_id: item.text("caller-id"),
                routes: routes(&item.text("routes")).unwrap_or_default(),
                limits: ["limit-bytes-in", "limit-bytes-out"].map(|name| item.number(name) as u64),
            };
            secrets.entry(item.text("name")).or_default().push(secret);
        }
        Users { profiles: profiles.collect(), secrets }
    }

    /// The profile of this name; for those that always are, what they say without being typed.
    pub(crate) fn profile(&self, name: &str) -> Arc<Profile> {
        self.profiles.get(name).cloned().unwrap_or_else(|| Arc::new(Profile::built_in(name)))
    }

    /// Whether somebody may log in.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn admit(&self, attempt: Attempt) -> Result<(Offer, Pass), Refusal> {
        let fits = |secret: &&Secret| secret.service == "any" || secret.service == attempt.service;
        let secrets = self.secrets.get(attempt.user);
        let secret = secrets.into_iter().flatten().find(fits).ok_or(Refusal::Unknown)?;
        let pass = attempt.proof.check(attempt.user, &secret.password).ok_or(Refusal::Wrong)?;
        if !secret.caller_id.is_empty() && !secret.caller_id.eq_ignore_ascii_case(attempt.caller) {
            return Err(Refusal::Caller);
        }
        let profile = self.profile(secret.profile.as_deref().unwrap_or(attempt.profile));
        let mut terms = profile.terms.clone();
        if !secret.routes.is_empty() || secret.limits != [0; 2] {
            let own = Arc::make_mut(&mut terms);
            (own.routes, own.limits) = (secret.routes.clone(), secret.limits);
        }
        let local = secret.local.or(&profile.local);
        Ok((Offer { local, remote: secret.remote.or(&profile.remote), terms }, pass))
    }
}

impl Users {
    /// What somebody gets of a profile alone.
    pub(crate) fn offer(&self, profile: &str) -> Offer {
        let profile = self.profile(profile);
        let Profile { local, remote, terms } = Profile::clone(&profile);
        Offer { local, remote, terms }
    }
}

impl Profile {
    /// What one of those says that always are.
    fn built_in(name: &str) -> Profile {
        let encryption = match name {
            "default-encryption" => Encryption::Yes,
            _ => Encryption::No,
        };
        let terms = Terms { clamps_mss: true, ipv6: true, encryption, ..Terms::default() };
        Profile { local: Whence::Nowhere, remote: Whence::Nowhere, terms: Arc::new(terms) }
    }

    fn read(item: &Read) -> Profile {
        let plain = Profile::built_in(&item.text("name"));
        let name = |property| Some(item.text(property)).filter(|text| !text.is_empty());
        let time = |property| match item.opt(property).as_deref() {
            Some(Value::Time(time)) => Some(*time).filter(|time| !time.is_zero()),
            _ => None,
        };
        let two = |property| {
            let mut both = [0; 2];
            if let Some(Value::List(addresses)) = item.opt(property).as_deref() {
                for (to, value) in both.iter_mut().zip(addresses) {
                    if let Value::Address(address) = value {
                        *to = (*address).into();
                    }
                }
            }
            both
        };
        Profile {
            local: whence(item, "local-address"),
            remote: whence(item, "remote-address"),
            terms: Arc::new(Terms {
                clamps_mss: item.text("change-tcp-mss") != "no",
                only_one: item.text("only-one") == "yes",
                encryption: match &*item.text("use-encryption") {
                    "yes" => Encryption::Yes,
                    "required" => Encryption::Required,
                    "no" => Encryption::No,
                    _ => plain.terms.encryption,
                },
                ipv6: item.text("use-ipv6") != "no",
                rate: name("rate-limit").and_then(|line| Rate::read(&line).ok()),
                parent_queue: name("parent-queue").filter(|name| name != "none"),
                queue_type: item.opt("queue-type").map(std::borrow::Cow::into_owned),
                address_list: name("address-list"),
                interface_list: name("interface-list"),
                filters: [name("incoming-filter"), name("outgoing-filter")],
                idle_timeout: time("idle-timeout"),
                session_timeout: time("session-timeout"),
                dns: two("dns-server"),
                wins: two("wins-server"),
                routes: Vec::new(),
                limits: [0; 2],
                scripts: Arc::new(Scripts {
                    on_up: item.text("on-up"),
                    on_down: item.text("on-down"),
                }),
                ..Terms::default()
            }),
        }
    }
}

fn whence(item: &Read, name: &str) -> Whence {
    match item.opt(name).as_deref() {
        Some(Value::Address(address)) => Whence::Address(u32::from(*address)),
        Some(Value::Text(pool)) if !pool.is_empty() => Whence::Pool(pool.clone()),
        _ => Whence::Nowhere,
    }
}

/// `dst-address [gateway [distance]]`, one after the other with commas between them: a secret's `routes`,
/// and RADIUS's `Framed-Route`.
pub(crate) fn routes(text: &str) -> Result<Vec<(Ipv4Prefix, u32, u8)>, String> {
    let mut routes = Vec::new();
    for route in text.split(',').map(str::trim).filter(|route| !route.is_empty()) {
        let wrong = || format!("dst-address [gateway [distance]], not {route}");
        let mut words = route.split_whitespace();
        let (address, len) =
            words.next().map_or(("", "32"), |word| word.split_once('/').unwrap_or((word, "32")));
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let len = len.parse().ok().filter(|len| *len <= 32).ok_or_else(wrong)?;
        let gateway: Ipv4Addr =
            words.next().map_or(Ok(Ipv4Addr::UNSPECIFIED), str::parse).map_err(|_| wrong())?;
        let distance = words.next().map_or(Ok(1), str::parse).map_err(|_| wrong())?;
        if words.next().is_some() || distance == 0 {
            return Err(wrong());
        }
        routes.push((Ipv4Prefix::new(address.into(), len), gateway.into(), distance));
    }
    Ok(routes)
}
