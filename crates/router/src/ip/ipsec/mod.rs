//! `/ip ipsec`: packets encrypted for another router, or host, by ESP (RFC 4303), with keys agreed upon by IKEv2
//! (RFC 7296) or [IKEv1](ikev1).
//!
//! ```text
//!  POSTROUTING ─► the first policy for a packet ─► its child ─► ESP ─► OUTPUT
//!  LOCAL IN ─► ESP ─► the child of its SPI ─► is it for such packets? ─► PREROUTING
//!  LOCAL IN ─► IKE ─► [Turn] ─► keys            chores ─► [Turn::tick] ─► peers asked, keys made anew
//! ```
//!
//! A policy's packets leave the quick ways at its box, each time; all others go as if there were no IPsec. What a policy
//! wants to have encrypted is not let in as it is. FastTrack gives nothing up here: a FastTracked connection's
//! packets meet the policies, too (RouterOS sends them as they are).
//!
//! Tunnels that have a secret have [policies of their own](tunnels).
//!
//! Missing: **AH**, **IPv6, inside or outside**, **policies made of templates**, and what [`exchange`] and [`ikev1`] say.

// What proposals name, and what is done with their keys.
pub(crate) mod crypt;
// Messages asked and answered: what is common, the first ones, who one is, keys for packets, what is due.
mod child;
pub(crate) mod exchange;
// The same of version 1.
pub(crate) mod ikev1;
mod init;
mod prove;
mod tick;
// Its menus, and what they show.
pub(crate) mod facilities;
// Their property tables.
pub(crate) mod menu;
// What one end would do, and the other chooses.
pub(crate) mod propose;
// Those of tunnels that have a secret.
mod tunnels;
// Policies and peers, compiled.
pub(crate) mod settings;
// What was agreed upon.
pub(crate) mod state;

use crate::router::Router;
use settings::{Action, Policy};
use std::sync::Arc;
use wire::FiveTuple;
use wire::ike::{NAT_PORT, PORT};
use wire::layers::protocol;

impl Router {
    /// The policy that decides about a packet which leaves, and asks for something.
    #[inline]
    pub(crate) fn ipsec_out(&self, tuple: &FiveTuple) -> Option<&Arc<Policy>> {
        let settings = self.program.ipsec.as_deref()?;
        settings.decides(tuple).filter(|policy| policy.action != Action::None)
    }

    /// Whether a packet that came as it is should have come encrypted.
    #[inline]
    pub(crate) fn ipsec_wants(&self, tuple: &FiveTuple) -> bool {
        self.program.ipsec.is_some() && !is_own(tuple.reversed()) && {
            let policy = self.ipsec_out(&tuple.reversed());
            policy.is_some_and(|policy| !policy.is_optional && policy.action == Action::Encrypt)
        }
    }
}

/// Whether a packet is what IPsec itself sends.
pub(crate) fn is_own(tuple: FiveTuple) -> bool {
    match tuple.protocol {
        protocol::ESP => true,
        protocol::UDP => [PORT, NAT_PORT].contains(&tuple.src_port),
        _ => false,
    }
}
