//! Users: who may log in, from where, and what they may do.
//!
//! ```text
//! /user add name=noc group=read password=secret
//!                                        └─ hashed as it is read: the configuration never has it
//! ```
//!
//! The menu's table says how a password is read, and reading it hashes it (Argon2id, a salt of its
//! own), so no tree, no script's undo and no file ever holds it in clear. What is a hash of ours
//! already is taken as it is. It is never shown, and users are not exported, as RouterOS v6 does not
//! export them.
//!
//! A group is a list of policies, as RouterOS has them. What they mean here: with `policy` and `write` all may
//! be done; with `write` all but changing users and groups; with `read` nothing is changed; with none of them
//! nobody logs in. Who comes by the network needs `api`, who comes by the device's own socket `local`. A new
//! device has RouterOS's three groups, and the user `admin` of group `full` without a password.
//!
//! **Missing**: what the other policies say, which are kept; `/user active`, `last-logged-in`.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use config::{Item, Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::net::{IpAddr, Ipv4Addr};

/// The menu.
pub const MENU: Menu = Menu {
    path: "/user",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", Type::Text, "What the user logs in as.").required().column(),
        Property::new("group", Type::Reference(&[GROUPS.path]), "What the user may do.")
            .required()
            .column(),
        Property::new("address", ADDRESSES, "Where the user may come from; anywhere if empty.")
            .column(),
        Property::new("password", Type::Custom(hash), "Kept hashed, never shown.").secret(),
    ],
    help: "Who may log in.",
};

/// The menu of groups.
pub const GROUPS: Menu = Menu {
    path: "/user group",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("default", '*', "RouterOS begins with it."),
        Property::new("name", Type::Text, "Its name.").required().column(),
        Property::new("policy", Type::Custom(policy), "What who is in it may; !name: may not.")
            .default("")
            .column(),
        Property::only("skin", &Type::Text, &["default"], "there is no WebFig").default("default"),
    ],
    help: "What users may do, by groups.",
};

/// RouterOS's groups; what they do not say they may not.
const DEFAULT: [(&str, &str); 3] = [
    ("read", "local,telnet,ssh,reboot,read,test,winbox,password,web,sniff,sensitive,api,romon"),
    (
        "write",
        "local,telnet,ssh,reboot,read,write,test,winbox,password,web,sniff,sensitive,api,romon",
    ),
    (
        "full",
        "local,telnet,ssh,ftp,reboot,read,write,policy,test,winbox,password,web,sniff,sensitive,api,romon",
    ),
];

const POLICIES: &[&str] = &[
    "api",
    "dude",
    "ftp",
    "local",
    "password",
    "policy",
    "read",
    "reboot",
    "rest-api",
    "romon",
    "sensitive",
    "sniff",
    "ssh",
    "telnet",
    "test",
    "tikapp",
    "web",
    "winbox",
    "write",
];

/// Reads a list of policies.
fn policy(text: &str) -> Result<Value, String> {
    let known = |word: &str| POLICIES.contains(&word.strip_prefix('!').unwrap_or(word));
    match text.is_empty() || text.split(',').all(known) {
        true => Ok(Value::Text(text.to_string())),
        false => Err(format!("policies, and those that are not: {}", POLICIES.join(", "))),
    }
}

/// Networks that somebody may come from.
pub(crate) const ADDRESSES: Type = Type::List(&Type::Cidr);

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Everything.
    Full,
    /// Everything but changing users.
    Write,
    /// Look.
    Read,
}

/// Somebody who has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) group: Group,
}

/// What a password is checked against, copied out of the configuration so that checking, which
/// takes its time, holds nothing up.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) user: User,
    /// The hash; empty if there is no password.
    password: String,
}

impl Account {
    /// The account of this name, if it may log in from there (`None` is this machine, trusted).
    pub(crate) fn find(tree: &Tree, name: &str, from: Option<IpAddr>) -> Option<Account> {
        let item = tree.enabled(MENU.path).find(|item| item.name("name") == name)?;
        let read = MENU.read(item);
        if from.is_some_and(|from| !admits(&read, from)) {
            return None;
        }
        let password = match item.get("password") {
            Some(Value::Text(hash)) => hash.clone(),
            _ => String::new(),
        };
        let group = group_of(tree, item, if from.is_some() { "api" } else { "local" })?;
        Some(Account { user: User { name: name.to_string(), group }, password })
    }

    /// Whether this is the password. Takes some 20 ms and 19 MiB, unless there is none.
    pub(crate) fn accepts(&self, password: &str) -> bool {
        if self.password.is_empty() {
            return password.is_empty();
        }
        let Ok(hash) = PasswordHash::new(&self.password) else { return false };
        Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
    }

    /// Takes as long as checking a password, for a user that is not there.
    pub(crate) fn accepts_nobody(password: &str) -> bool {
        let _ = hasher().hash_password(password.as_bytes());
        false
    }
}

/// Whether the item's `address` admits this one; an empty list admits all.
pub(crate) fn admits(item: &Read, from: IpAddr) -> bool {
    let address = item.opt("address");
    let Some(Value::List(networks)) = address.as_deref() else { return true };
    let within = |network: &Value| match (network, from) {
        (Value::Cidr(network, length), IpAddr::V4(from)) => is_within(from, *network, *length),
        _ => false,
    };
    networks.is_empty() || networks.iter().any(within)
}

fn is_within(address: Ipv4Addr, network: Ipv4Addr, length: u8) -> bool {
    let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
    (address.to_bits() ^ network.to_bits()) & mask == 0
}

/// What a user may do who comes in this way; nothing of one who may not log in by it.
fn group_of(tree: &Tree, user: &Item, way: &str) -> Option<Group> {
    let name = user.name("group");
    let group = tree.enabled(GROUPS.path).find(|group| group.name("name") == name)?;
    let policy = GROUPS.read(group).text("policy");
    let may = |what: &str| policy.split(',').any(|word| word == what);
    match (may(way), may("write"), may("policy"), may("read")) {
        (true, true, true, _) => Some(Group::Full),
        (true, true, false, _) => Some(Group::Write),
        (true, false, _, true) => Some(Group::Read),
        _ => None,
    }
}

/// A new device's groups and its user, where there are none.
pub(crate) fn install(tree: &mut Tree) {
    if tree.items(GROUPS.path).is_empty() {
        for (name, policy) in DEFAULT {
            let [name, policy] = [name, policy].map(|text| Value::Text(text.to_string()));
            let default = ("default", Value::Bool(true));
            tree.push(&GROUPS, [("name", name), ("policy", policy), default].into());
        }
    }
    if tree.items(MENU.path).is_empty() {
        let text = |text: &str| Value::Text(text.to_string());
        let admin = [("name", text("admin")), ("group", text("full"))];
        tree.push(&MENU, admin.into());
    }
}

/// A change that would leave nobody who could make another.
pub(crate) fn check(tree: &Tree) -> Result<(), String> {
    let manages = |item| group_of(tree, item, "local") == Some(Group::Full);
    match tree.enabled(MENU.path).any(manages) {
        true => Ok(()),
        false => Err("failure: at least one enabled user of group full must remain".to_string()),
    }
}

/// What is kept of a password.
fn hash(password: &str) -> Result<Value, String> {
    if password.is_empty() {
        return Ok(Value::Text(String::new()));
    }
    if PasswordHash::new(password).is_ok_and(|hash| is_ours(&hash)) {
        return Ok(Value::Text(password.to_string()));
    }
    let hash = hasher().hash_password(password.as_bytes());
    hash.map(|hash| Value::Text(hash.to_string())).map_err(|why| format!("a password: {why}"))
}

/// OWASP's parameters for Argon2id: 19 MiB, two passes, one lane.
fn hasher() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::DEFAULT)
}

/// Whether checking against this hash costs what it should: one that asks for gigabytes would be a
/// way to stop the device.
fn is_ours(hash: &PasswordHash) -> bool {
    let expensive = |params: Params| {
        params.m_cost() > Params::DEFAULT_M_COST || params.t_cost() > 4 || params.p_cost() > 4
    };
    hash.algorithm.as_str() == "argon2id"
        && hash.hash.is_some()
        && Params::try_from(hash).is_ok_and(|params| !expensive(params))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(users: &[&[(&'static str, &str)]]) -> Tree {
        let mut tree = Tree::default();
        install(&mut tree);
        tree.items_mut(MENU.path).clear();
        let own = [("name", "helpdesk"), ("policy", "read,api,!write")];
        tree.push(&GROUPS, own.map(|(name, text)| (name, Value::Text(text.to_string()))).into());
        for user in users {
            let value = |(name, text): &(&'static str, &str)| {
                let kind = MENU.property(name).unwrap().kind;
                (*name, kind.parse(text, &config::AnyName).unwrap())
            };
            tree.push(&MENU, user.iter().map(value).collect());
        }
        tree
    }

    #[test]
    fn who_may_log_in() {
        let tree = tree(&[
            &[("name", "admin"), ("group", "full")],
            &[("name", "noc"), ("group", "read"), ("password", "secret")],
            &[("name", "help"), ("group", "helpdesk")],
            &[("name", "far"), ("group", "write"), ("address", "10.0.0.0/8,192.0.2.7")],
        ]);
        let check = |name: &str, password: &str, from: &str, expected: Option<Group>| {
            let account = Account::find(&tree, name, Some(from.parse().unwrap()));
            let group = account.filter(|a| a.accepts(password)).map(|a| a.user.group);
            assert_eq!(group, expected, "{name} {password} from {from}");
        };
        check("admin", "", "127.0.0.1", Some(Group::Full));
        check("admin", "x", "127.0.0.1", None);
        check("help", "", "127.0.0.1", Some(Group::Read));
        assert!(Account::find(&tree, "help", None).is_none(), "it may not come by the socket");
        check("nobody", "", "127.0.0.1", None);
        check("noc", "secret", "::1", Some(Group::Read));
        check("noc", "Secret", "::1", None);
        check("noc", "", "::1", None);
        check("far", "", "10.1.2.3", Some(Group::Write));
        check("far", "", "192.0.2.7", Some(Group::Write));
        check("far", "", "192.0.2.8", None);
        check("far", "", "::1", None);
        assert!(!Account::accepts_nobody(""));
    }

    #[test]
    fn the_configuration_never_has_the_password() {
        let Ok(Value::Text(first)) = hash("secret") else { panic!("no hash") };
        let Ok(Value::Text(second)) = hash("secret") else { panic!("no hash") };
        assert!(first.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{first}");
        assert_ne!(first, second, "each has a salt of its own");
        assert_eq!(hash(&first), Ok(Value::Text(first.clone())), "a hash is kept");
        // Somebody else's hash would be checked at their cost, so it is a password.
        let dear = first.replace("m=19456", "m=4000000");
        assert!(matches!(hash(&dear), Ok(Value::Text(hash)) if hash != dear));
    }

    #[test]
    fn somebody_can_always_manage_users() {
        let mut new = Tree::default();
        assert!(check(&new).is_err());
        install(&mut new);
        install(&mut new);
        assert_eq!((new.items(MENU.path).len(), check(&new)), (1, Ok(())));
    }
}
