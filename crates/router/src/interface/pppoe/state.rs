//! How clients of PPPoE find their servers, and what servers know of hosts that look for one: nothing.
//!
//! ```text
//! Dial (a client)   Idle ─► Asking: PADI ─► Requesting: PADR ─► Calling ─► over: Idle
//! ```
//!
//! An offer of a server carries a cookie, which it can make again; what becomes of a request that gives it
//! back is a [`Call`](crate::interface::ppp::calls::Call).

use crate::interface::InterfaceId;
use config::ItemId;
use std::collections::{HashMap, HashSet};
use wire::{MacAddr, Moment, md5};

/// Where a client stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dial {
    /// It begins at this time.
    Idle(Moment),
    /// It has sent so many PADIs.
    Asking { due: Moment, tries: u8, uniq: [u8; 8] },
    /// A concentrator has made an offer, of which this is to be given back.
    Requesting {
        due: Moment,
        tries: u8,
        uniq: [u8; 8],
        ac: MacAddr,
        ac_name: String,
        back: Vec<(u16, Vec<u8>)>,
    },
    /// It has a call.
    Calling,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The numbers of servers' sessions.
    pub(crate) ids: HashSet<u16>,
    /// Of clients.
    pub(crate) dials: HashMap<ItemId, (super::Dialer, Dial)>,
    /// What cookies are made of.
    secret: Option<[u8; 16]>,
    next_id: u16,
}

impl State {
    /// A number that no session of the servers has; there are fewer sessions than numbers.
    pub(crate) fn fresh_id(&mut self) -> u16 {
        loop {
            self.next_id = if self.next_id == 0xfffe { 1 } else { self.next_id + 1 };
            if self.ids.insert(self.next_id) {
                return self.next_id;
            }
        }
    }

    /// The cookie of an offer: only who has had it can give it back.
    pub(crate) fn cookie(
        &mut self,
        on: InterfaceId,
        peer: MacAddr,
        service: &str,
        mut dice: impl FnMut() -> u32,
    ) -> [u8; 16] {
        let secret = self.secret.get_or_insert_with(|| {
            let mut secret = [0; 16];
            for part in secret.chunks_exact_mut(4) {
                part.copy_from_slice(&dice().to_be_bytes());
            }
            secret
        });
        md5::digest(&[&secret[..], &on.0.to_be_bytes(), &peer.0, service.as_bytes()].concat())
    }
}
