//! Who may log in to the router's PPP servers, and what he gets: `/ppp secret` and `/ppp profile`.
//!
//! ```text
//! name, proof ─► secret ─► its profile, or the server's ─► addresses: the secret's, or the profile's
//! ```

use super::machine::Proof;
use super::menu::{PROFILE, SECRET};
use config::{Read, Tree, Value};
use std::collections::HashMap;
use wire::MacAddr;

/// A profile as compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    local: u32,
    remote: u32,
    pub(crate) clamps_mss: bool,
    only_one: bool,
}

/// What every profile says that says nothing.
const PLAIN: Profile = Profile { local: 0, remote: 0, clamps_mss: true, only_one: false };

#[derive(Clone, Debug, PartialEq, Eq)]
struct Secret {
    password: String,
    /// None is the server's.
    profile: Option<String>,
    local: u32,
    remote: u32,
    caller_id: String,
}

/// What somebody gets who has logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The router's end.
    pub(crate) local: u32,
    /// His.
    pub(crate) remote: u32,
    /// `change-tcp-mss`.
    pub(crate) clamps_mss: bool,
    /// His earlier sessions end.
    pub(crate) only_one: bool,
}

/// Why somebody may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nobody has this name, or another password.
    Unknown,
    /// He calls from elsewhere.
    Caller,
    /// There are no addresses for him.
    NoAddress,
}

/// Who may log in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Users {
    profiles: HashMap<String, Profile>,
    secrets: HashMap<String, Secret>,
}

impl Users {
    /// Reads both menus.
    pub(crate) fn read(tree: &Tree) -> Users {
        let enabled = |item: &Read| !item.bool("disabled");
        let profiles = tree.read(&PROFILE).map(|item| {
            let profile = Profile {
                local: address(&item, "local-address"),
                remote: address(&item, "remote-address"),
                clamps_mss: item.text("change-tcp-mss") != "no",
                only_one: item.text("only-one") == "yes",
            };
            (item.text("name"), profile)
        });
        let secrets = tree.read(&SECRET).filter(enabled).filter_map(|item| {
            let service = item.text("service");
            let secret = Secret {
                password: item.text("password"),
                profile: Some(item.text("profile")).filter(|name| name != "default"),
                local: address(&item, "local-address"),
                remote: address(&item, "remote-address"),
                caller_id: item.text("caller-id"),
            };
            matches!(&*service, "any" | "pppoe").then(|| (item.text("name"), secret))
        });
        Users { profiles: profiles.collect(), secrets: secrets.collect() }
    }

    /// The profile of this name; one that says nothing for those that always are.
    pub(crate) fn profile(&self, name: &str) -> Profile {
        self.profiles.get(name).copied().unwrap_or(PLAIN)
    }

    /// Whether somebody may log in, at a server with this profile and from this address.
    pub(crate) fn admit(
        &self,
        user: &str,
        proof: &Proof,
        profile: &str,
        caller: MacAddr,
    ) -> Result<Grant, Refusal> {
        let secret = self.secrets.get(user).ok_or(Refusal::Unknown)?;
        if !proof.is_of(&secret.password) {
            return Err(Refusal::Unknown);
        }
        if !secret.caller_id.is_empty() && secret.caller_id != caller.to_string() {
            return Err(Refusal::Caller);
        }
        let profile = self.profile(secret.profile.as_deref().unwrap_or(profile));
        let either = |own: u32, other: u32| if own == 0 { other } else { own };
        let grant = Grant {
            local: either(secret.local, profile.local),
            remote: either(secret.remote, profile.remote),
            clamps_mss: profile.clamps_mss,
            only_one: profile.only_one,
        };
        if grant.local == 0 || grant.remote == 0 || grant.local == grant.remote {
            return Err(Refusal::NoAddress);
        }
        Ok(grant)
    }
}

fn address(item: &Read, name: &str) -> u32 {
    match item.opt(name).as_deref() {
        Some(Value::Address(address)) => u32::from(*address),
        _ => 0,
    }
}
