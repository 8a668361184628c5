//! Spanning tree: which ports of a bridge forward, so that no frame goes round in a loop.
//!
//! ```text
//! BPDU (01:80:C2:00:00:00) ─► [ port machines ] ─► which ports are closed ─► hosts::Hosts
//!                                │    ▲    └─────► BPDUs to send, hosts to forget
//!         a second has passed ───┘    └ roles, chosen by the bridge: the best vector is the root's
//! ```
//!
//! RSTP (IEEE 802.1D-2004, clause 17), and with `protocol-mode=stp` the same machines held to the
//! old protocol. Time is virtual: a second passes when the router's time says so. What is received is
//! heard at the end of a breath, so that a batch meets the same ports from its first frame to its last.
//!
//! Never forwards or touches a frame. Missing: **MSTP**, **a hello time to set**, and
//! where STP asks for short ageing after a change of the topology, hosts are forgotten at once.

// The machines of one port.
mod port;

use super::Bridge;
use crate::interface::InterfaceId;
pub use port::PortSettings;
use port::{HELLO, Info, Others, StpPort};
use std::time::Duration;
use wire::bpdu::{Bpdu, Times, Vector};
use wire::{MacAddr, Moment};

/// What is configured of a bridge's spanning tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// RSTP; else the old STP.
    pub rapid: bool,
    /// `priority`: the lowest becomes the root.
    pub priority: u16,
    /// `max-message-age`, seconds.
    pub max_age: u16,
    /// `forward-delay`, seconds.
    pub forward_delay: u16,
    /// `transmit-hold-count`: BPDUs a port may send in a second.
    pub hold: u16,
    /// By place of the port.
    pub ports: Vec<PortSettings>,
}

/// A port's role in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It does not run.
    Disabled,
    /// Towards the root.
    Root,
    /// Away from the root.
    Designated,
    /// Another way to the root, closed.
    Alternate,
    /// Another port to the same segment, closed.
    Backup,
}

impl Role {
    /// RouterOS's word.
    pub fn name(self) -> &'static str {
        match self {
            Role::Disabled => "disabled-port",
            Role::Root => "root-port",
            Role::Designated => "designated-port",
            Role::Alternate => "alternate-port",
            Role::Backup => "backup-port",
        }
    }
}

/// What is to be told of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortState {
    /// Its number in the bridge's messages.
    pub number: u16,
    /// Its role.
    pub role: Role,
    /// It learns hosts.
    pub learning: bool,
    /// It forwards.
    pub forwarding: bool,
    /// No bridge is behind it.
    pub edge: bool,
    /// One bridge at most is at the other end.
    pub point_to_point: bool,
    /// RSTP is spoken there.
    pub rapid: bool,
    /// The root, the cost and the bridge that the segment's designated port tells of.
    pub designated: Vector,
}

/// What a bridge has come to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// BPDUs to send, and by which ports.
    pub send: Vec<(InterfaceId, Bpdu)>,
    /// Ports behind which hosts are to be forgotten.
    pub flush: Vec<InterfaceId>,
    /// Some port's state has changed.
    pub changed: bool,
}

/// A bridge's spanning tree.
#[derive(Clone, Debug)]
pub struct Stp {
    settings: Settings,
    id: u64,
    root: Vector,
    root_times: Times,
    root_port: Option<usize>,
    ports: Vec<StpPort>,
    next_tick: Moment,
    /// Some port's state has changed since it was said last.
    changed: bool,
    /// What is still to be sent under an identifier that the bridge no longer has.
    farewells: Vec<(InterfaceId, Bpdu)>,
}

const SECOND: Duration = Duration::from_secs(1);
/// Seconds that are made up for when the clock has jumped.
const MOST_TICKS: usize = 3;
/// Steps until all machines rest: each changes a flag that was not so; more would be a fault.
const MOST_STEPS: usize = 200;

impl Stp {
    /// Of a bridge that was just made: all ports are closed.
    pub fn new(bridge: &Bridge, settings: &Settings, now: Moment) -> Stp {
        let mut stp = Stp {
            settings: settings.clone(),
            id: 0,
            root: Vector::default(),
            root_times: Times::default(),
            root_port: None,
            ports: Vec::new(),
            next_tick: now + SECOND,
            changed: true,
            farewells: Vec::new(),
        };
        stp.adopt(bridge, settings, |_| false);
        stp
    }

    /// Takes over a configuration: ports that stay keep what they know, but for an address or a
    /// priority that has changed. `runs` says whether a port's link is up.
    ///
    /// A bridge whose identifier changes is another one to its neighbours, and they would believe the
    /// old one for three hellos more, and tell each other of it (a root that is no more makes loops
    /// for as long). So its last messages under the old identifier are too old to be kept (17.21.23).
    pub fn adopt(
        &mut self,
        bridge: &Bridge,
        settings: &Settings,
        runs: impl Fn(InterfaceId) -> bool,
    ) {
        let id = u64::from(settings.priority) << 48 | bridge.mac.to_u64();
        let anew = settings.rapid != self.settings.rapid || id != self.id;
        let (rapid, max_age) = (settings.rapid, settings.max_age);
        let mut old = std::mem::take(&mut self.ports);
        if id != self.id {
            self.farewells.extend(old.iter().filter_map(StpPort::farewell));
        }
        (self.id, self.settings) = (id, settings.clone());
        for (port, settings) in bridge.ports().iter().zip(&settings.ports) {
            let at = old.iter().position(|old| old.interface == port.interface);
            let number = self.free_number(&old);
            let mut new = match at.map(|at| old.swap_remove(at)) {
                Some(known) if !anew => StpPort { settings: *settings, ..known },
                Some(StpPort { number, .. }) => {
                    StpPort::new(port.interface, number, *settings, rapid, max_age)
                }
                None => StpPort::new(port.interface, number, *settings, rapid, max_age),
            };
            new.tripped &= settings.guard && runs(port.interface);
            new.enabled = runs(port.interface) && !new.tripped;
            (new.reselect, new.selected) = (true, false);
            self.ports.push(new);
        }
        self.changed = true;
        if self.ports.is_empty() {
            self.select_roles(); // No port asks for it.
        }
        self.rest();
    }

    /// The least port number that neither a port has nor one of `others`.
    fn free_number(&self, others: &[StpPort]) -> u16 {
        let all = || self.ports.iter().chain(others);
        (1..).find(|&n| all().all(|port| port.number != n)).unwrap_or(0xfff)
    }

    /// When there is something to do: at the next second, or at once.
    pub fn due(&self) -> Moment {
        if self.changed { Moment::ZERO } else { self.next_tick }
    }

    /// Hears a BPDU.
    pub fn receive(&mut self, port: InterfaceId, bpdu: Bpdu) {
        let rapid = self.settings.rapid;
        // A bridge that speaks STP does not know RSTP's messages (9.3.4).
        if !rapid && matches!(bpdu, Bpdu::Rapid(_)) {
            return;
        }
        if let Some(port) = self.ports.iter_mut().find(|other| other.interface == port) {
            port.receive(bpdu, rapid);
            self.rest();
        }
    }

    /// Lets the seconds pass that are over by now, and says what came of it and of what was heard.
    pub fn work(&mut self, now: Moment) -> Outcome {
        let send = std::mem::take(&mut self.farewells);
        let mut outcome = Outcome { send, ..Outcome::default() };
        self.rest();
        self.transmit(&mut outcome);
        for _ in 0..MOST_TICKS {
            if now < self.next_tick {
                break;
            }
            self.next_tick = self.next_tick + SECOND;
            self.ports.iter_mut().for_each(StpPort::tick);
            self.rest();
            self.transmit(&mut outcome);
        }
        if self.next_tick <= now {
            self.next_tick = now + SECOND;
        }
        outcome.changed = std::mem::take(&mut self.changed);
        for port in &mut self.ports {
            if std::mem::take(&mut port.flush) {
                outcome.flush.push(port.interface);
            }
        }
        outcome
    }

    /// Runs all machines until none has anything to do.
    fn rest(&mut self) {
        let rapid = self.settings.rapid;
        for _ in 0..MOST_STEPS {
            let mut busy = false;
            for port in &mut self.ports {
                port.migrate(rapid);
                port.detect();
                busy |= port.inform();
            }
            if self.ports.iter().any(|port| port.reselect) {
                self.select_roles();
                busy = true;
            }
            for at in 0..self.ports.len() {
                // A designated port decides by itself, and most are that.
                let alone = matches!(self.ports[at].role, Role::Designated | Role::Disabled);
                let mut others = if alone { Others::default() } else { self.others(at) };
                busy |= self.ports[at].change_role(&self.settings, &mut others);
                if others.sync || others.reroot {
                    for port in &mut self.ports {
                        port.sync |= others.sync;
                        port.reroot |= others.reroot;
                    }
                }
            }
            for at in 0..self.ports.len() {
                let changed = self.ports[at].change_state();
                self.changed |= changed;
                let (something, tell) = self.ports[at].change_topology(&self.settings);
                busy |= changed || something;
                if tell {
                    let others = self.ports.iter_mut().enumerate().filter(|&(n, _)| n != at);
                    others.for_each(|(_, port)| port.tc_prop = true);
                }
            }
            if !busy {
                break;
            }
        }
    }

    fn transmit(&mut self, outcome: &mut Outcome) {
        for port in &mut self.ports {
            if let Some(bpdu) = port.transmit(self.settings.hold) {
                outcome.send.push((port.interface, bpdu));
            }
        }
    }

    fn others(&self, at: usize) -> Others {
        let settled = |port: &StpPort| port.selected && port.role == port.selected_role;
        let synced = |port: &StpPort| port.role == Role::Root || port.synced;
        let others = || self.ports.iter().enumerate().filter(|&(n, _)| n != at).map(|(_, p)| p);
        Others {
            all_synced: self.ports.iter().all(settled) && others().all(synced),
            rerooted: others().all(|port| port.recent_root == 0),
            ..Others::default()
        }
    }

    /// Port role selection (17.28): the best vector heard, the way to its sender added, is the
    /// root's; what each port is follows.
    fn select_roles(&mut self) {
        let Settings { max_age, forward_delay, .. } = self.settings;
        let own = Vector { root: self.id, cost: 0, bridge: self.id, port: 0 };
        let mut best = (own, 0);
        let mut root_port = None;
        for (at, port) in self.ports.iter().enumerate() {
            let is_ours = (port.priority.bridge ^ self.id) << 16 == 0;
            if port.info != Info::Received || is_ours || port.settings.restricted_role {
                continue;
            }
            let cost = port.priority.cost.saturating_add(port.settings.cost);
            let candidate = (Vector { cost, ..port.priority }, port.id());
            if candidate < best {
                (best, root_port) = (candidate, Some(at));
            }
        }
        self.root = best.0;
        self.root_times = match root_port.map(|at| self.ports[at].times) {
            Some(times) => Times { age: times.age + 1, ..times },
            None => Times { age: 0, max_age, hello: HELLO, forward_delay },
        };
        self.root_port = root_port;
        for (at, port) in self.ports.iter_mut().enumerate() {
            port.designated = Vector {
                root: self.root.root,
                cost: self.root.cost,
                bridge: self.id,
                port: port.id(),
            };
            port.designated_times = Times { hello: HELLO, ..self.root_times };
            (port.selected_role, port.update) = match port.info {
                Info::Disabled => (Role::Disabled, false),
                Info::Aged => (Role::Designated, true),
                Info::Mine => {
                    let same =
                        port.priority == port.designated && port.times == port.designated_times;
                    (Role::Designated, !same)
                }
                Info::Received if root_port == Some(at) => (Role::Root, false),
                Info::Received if port.designated < port.priority => (Role::Designated, true),
                Info::Received if (port.priority.bridge ^ self.id) << 16 == 0 => {
                    (Role::Backup, false)
                }
                Info::Received => (Role::Alternate, false),
            };
            (port.reselect, port.selected) = (false, true);
        }
    }

    /// The ports that do not forward, and whether they learn.
    pub fn closed(&self) -> impl Iterator<Item = (InterfaceId, bool)> + '_ {
        self.ports.iter().filter(|p| !p.forwarding).map(|port| (port.interface, port.learning))
    }

    /// What is to be told of a port.
    pub fn port(&self, interface: InterfaceId) -> Option<PortState> {
        let port = self.ports.iter().find(|port| port.interface == interface)?;
        Some(PortState {
            number: port.number,
            role: port.role,
            learning: port.learning,
            forwarding: port.forwarding,
            edge: port.edge,
            point_to_point: port.settings.point_to_point,
            rapid: port.send_rapid,
            designated: port.priority,
        })
    }

    /// The root bridge, the cost of the way there, and the port towards it; no port if it is this
    /// one.
    pub fn root(&self) -> (u64, u32, Option<InterfaceId>) {
        (self.root.root, self.root.cost, self.root_port.map(|at| self.ports[at].interface))
    }

    /// This bridge, as its messages name it.
    pub fn id(&self) -> u64 {
        self.id
    }
}

/// A bridge as RouterOS shows it: `0x8000.02:00:00:00:00:01`.
pub fn bridge_name(id: u64) -> String {
    let mac = MacAddr::from_u64(id & 0xffff_ffff_ffff);
    format!("0x{:X}.{mac}", id >> 48)
}
