//! PPPoE (RFC 2516): `/interface pppoe-client`, and `/interface pppoe-server` with its sessions.
//!
//! ```text
//! client  PADI ─► … PADS, session id ─► LCP, PAP or CHAP, IPCP ─► pppoe-out1 runs, has its address
//! server  PADI, PADO: no memory (the cookie remembers) ─► PADR ─► … ─► <pppoe-user>
//!
//! to_router ─► [session_in] ─► link_in ─► IP            8 bytes off, 8 bytes on
//!                      link_out ─► [session_out] ─► link_out of the interface below
//! ```
//!
//! A session stands on an interface of Ethernet frames. Who talks to whom is in `state`; what an open
//! session means (interface, address, routes) is compiled like any configuration: the router finds it
//! out ([`News`](crate::News)), and the compiler makes a change of it. Missing: **MRRU**, **scanning**.

// The menus.
pub(crate) mod menu;
// Sessions and those that are to be, as they happen.
pub(crate) mod state;
// What is shown.
pub(crate) mod status;

use super::InterfaceId;
use super::ppp::calls::{Carrier, ITEMS, Owner};
use super::ppp::dial::{Binding, Dialler, Listener};
use super::ppp::users::{Scripts, Terms};
use config::{ItemId, Read, Tree};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use wire::MacAddr;

/// A session's place in [`Sessions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionAt(pub u32);

impl SessionAt {
    /// None: of a client without a session.
    pub(crate) const NONE: SessionAt = SessionAt(u32::MAX);
}

/// A session: what the compiler is told of it when it is open.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// No other one ever has it.
    pub(crate) number: u64,
    /// Its call's place.
    pub(crate) place: u32,
    /// Whose it is.
    pub(crate) owner: Owner,
    /// Its interface's name: of a server's that nobody has logged in to, of its number.
    pub(crate) name: Arc<str>,
    /// Of a server's: how long the user's name is in it.
    pub(crate) user_len: u16,
    /// Of a server's: the binding whose interface it has, and the user, whose name is not in that.
    pub(crate) bound: Option<Box<(ItemId, String)>>,
    /// It counts among those that are not open yet.
    pub(crate) half_open: bool,
    /// What carries its packets.
    pub(crate) carrier: Carrier,
    /// The router's address.
    pub local: u32,
    /// The other end's.
    pub remote: u32,
    /// The longest packet that both ends take.
    pub mtu: u16,
    /// Which of the addresses are of pools, to be given back.
    pub(crate) of_pool: [bool; 2],
    /// What is granted to a server's user, once he has logged in; of a client, what its profile says.
    pub(crate) terms: Option<Arc<Terms>>,
    /// MPPE: what passes has to go the slow way, by its keys.
    pub(crate) encrypted: bool,
    /// Of a client: the distance of its default route.
    pub(crate) route: Option<u8>,
    /// IPv6's interface identifiers of this end and the other, if both speak of it.
    pub(crate) identifiers: Option<Box<([u8; 8], [u8; 8])>>,
}

impl Session {
    /// Whether all that stands in front of its packets is a header, the same for all but for their length.
    pub(crate) fn has_header(&self) -> bool {
        self.on().is_some() && !self.encrypted
    }

    /// Of PPPoE: the interface it stands on; none of others.
    pub fn on(&self) -> InterfaceId {
        match self.carrier {
            Carrier::Pppoe { on, .. } => on,
            Carrier::L2tp { .. } | Carrier::Pptp { .. } => InterfaceId::NONE,
        }
    }

    /// Of PPPoE: the other end.
    pub fn peer(&self) -> MacAddr {
        match self.carrier {
            Carrier::Pppoe { peer, .. } => peer,
            Carrier::L2tp { .. } | Carrier::Pptp { .. } => MacAddr::default(),
        }
    }

    /// Its number in its packets.
    pub fn id(&self) -> u16 {
        match self.carrier {
            Carrier::Pppoe { id, .. } | Carrier::L2tp { id, .. } | Carrier::Pptp { id, .. } => id,
        }
    }

    /// Whether it is one of the router's servers.
    pub(crate) fn is_servers(&self) -> bool {
        matches!(self.owner, Owner::Server(_))
    }

    /// What its interface is, as an item.
    pub(crate) fn item(&self) -> ItemId {
        match (&self.owner, &self.bound) {
            (Owner::Client(item), _) => *item,
            (Owner::Server(_), Some(bound)) => bound.0,
            (Owner::Server(_), None) => ItemId(ITEMS + self.place),
        }
    }

    /// Whether its interface is there as long as it is, and no longer.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.is_servers() && self.bound.is_none()
    }

    /// What the user of a server's session has.
    pub(crate) fn granted(&self) -> Option<&Arc<Terms>> {
        self.terms.as_ref().filter(|_| self.is_servers())
    }

    /// Who has logged in to a server's: his name is in the interface's, `<pppoe-user>`.
    pub(crate) fn user(&self) -> &str {
        if let Some(bound) = &self.bound {
            return &bound.1;
        }
        let before = "<".len() + self.carrier.service().len() + "-".len();
        self.name.get(before..before + usize::from(self.user_len)).unwrap_or("")
    }

    /// `change-tcp-mss`.
    pub(crate) fn clamps_mss(&self) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.clamps_mss)
    }

    /// `on-up` and `on-down`.
    pub(crate) fn scripts(&self) -> Option<&Scripts> {
        self.terms.as_ref().map(|terms| &*terms.scripts)
    }
}

/// A session, and the number of its interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its interface.
    pub interface: InterfaceId,
    /// What it is.
    pub session: Arc<Session>,
}

/// The open sessions.
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    list: Vec<Standing>,
    /// L2TP's, by tunnel and number.
    by_l2tp: HashMap<(u16, u16), InterfaceId>,
    /// PPTP's, by the call's number.
    by_pptp: HashMap<u16, InterfaceId>,
}

impl Sessions {
    pub(super) fn with_room(sessions: usize) -> Sessions {
        Sessions { list: Vec::with_capacity(sessions), ..Sessions::default() }
    }

    pub(super) fn add(&mut self, interface: InterfaceId, session: &Arc<Session>) -> SessionAt {
        let at = SessionAt(self.list.len() as u32);
        self.list.push(Standing { interface, session: session.clone() });
        match session.carrier {
            Carrier::L2tp { tunnel, id, .. } => _ = self.by_l2tp.insert((tunnel, id), interface),
            Carrier::Pptp { id, .. } => _ = self.by_pptp.insert(id, interface),
            // Its call knows its place.
            Carrier::Pppoe { .. } => {}
        }
        at
    }

    /// All of them.
    pub fn list(&self) -> &[Standing] {
        &self.list
    }

    /// The one at a place.
    #[inline]
    pub(crate) fn get(&self, at: SessionAt) -> Option<&Standing> {
        self.list.get(at.0 as usize)
    }

    /// Whether there are any of L2TP.
    #[inline]
    pub(crate) fn has_l2tp(&self) -> bool {
        !self.by_l2tp.is_empty()
    }

    /// Whether there are any of PPTP.
    #[inline]
    pub(crate) fn has_pptp(&self) -> bool {
        !self.by_pptp.is_empty()
    }

    /// The interface of PPTP's session with this number.
    #[inline]
    pub(crate) fn of_pptp(&self, id: u16) -> Option<InterfaceId> {
        self.by_pptp.get(&id).copied()
    }

    /// The interface of L2TP's session with this number, in the tunnel with that one.
    #[inline]
    pub(crate) fn of_l2tp(&self, tunnel: u16, id: u16) -> Option<InterfaceId> {
        self.by_l2tp.get(&(tunnel, id)).copied()
    }
}

/// A client as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dialer {
    pub(crate) ppp: Dialler,
    pub(crate) on: InterfaceId,
    /// Any if empty.
    pub(crate) service: String,
    /// Any if empty.
    pub(crate) ac_name: String,
}

/// A server as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Concentrator {
    pub(crate) ppp: Listener,
    pub(crate) on: InterfaceId,
    pub(crate) service: Arc<str>,
    /// Whether it offers to who asks for any service.
    pub(crate) accepts_any: bool,
    /// How long offers wait: one of several concentrators lets others come first.
    pub(crate) pado_delay: Duration,
}

/// Clients and servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pppoe {
    pub(crate) dialers: Vec<Dialer>,
    pub(crate) concentrators: Vec<Concentrator>,
    pub(crate) bindings: Vec<Binding>,
}

impl Pppoe {
    /// Reads both menus. `lower` says which interface has a name, and how long its packets may be.
    pub(super) fn read(tree: &Tree, lower: impl Fn(&str) -> Option<(InterfaceId, u16)>) -> Pppoe {
        let below = |name: &str| {
            let (on, mtu) = lower(name)?;
            Some((on, mtu.saturating_sub(wire::pppoe::OVERHEAD as u16)))
        };
        let enabled = |item: &Read| !item.bool("disabled");
        let dialers = tree.read(&menu::CLIENT).filter(enabled).filter_map(|item| {
            let (on, most) = below(&item.text("interface"))?;
            let (service, ac_name) = (item.text("service-name"), item.text("ac-name"));
            Some(Dialer { ppp: Dialler::read(&item, most), on, service, ac_name })
        });
        let concentrators = tree.read(&menu::SERVER).filter(enabled).filter_map(|item| {
            let (on, most) = below(&item.text("interface"))?;
            let ppp = Listener::read(&item, most).limited(&item);
            Some(Concentrator {
                ppp,
                on,
                service: item.text("service-name").into(),
                accepts_any: item.bool("accept-empty-service"),
                pado_delay: Duration::from_millis(item.number("pado-delay") as u64),
            })
        });
        let (dialers, concentrators) = (dialers.collect(), concentrators.collect());
        Pppoe { dialers, concentrators, bindings: Binding::read(tree, &menu::SESSION) }
    }
}
