//! The state machines of one port: what each looks at, and what it does then.
//!
//! ```text
//!  BPDU ─► migration ─► information ─┐             ┌─► transition (role) ─► state ─► topology change
//!                       ageing ──────┴─► selection ┘            └─► transmit ─► BPDU
//! ```
//!
//! Variables, states and the order of conditions are those of IEEE 802.1D-2004, 17.17 to 17.31,
//! whose names stand in the comments. Timers count seconds down, one by one.

use super::{Role, Settings};
use crate::interface::InterfaceId;
use wire::bpdu::{self, Bpdu, Message, Times, Vector};

/// MigrateTime: how long a port keeps to the protocol it has found, seconds.
pub(super) const MIGRATE: u16 = 3;
/// HelloTime, seconds; RouterOS has no property for it.
pub(super) const HELLO: u16 = 2;

/// Whence a port's information comes (`infoIs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Info {
    Disabled,
    Aged,
    Mine,
    Received,
}

/// The topology change machine's states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    Inactive,
    Learning,
    Active,
}

/// What is configured of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// `path-cost`.
    pub cost: u32,
    /// `priority`, of which the upper four bits count.
    pub priority: u8,
    /// `edge=yes`, `yes-discover`: an edge until a BPDU comes.
    pub admin_edge: bool,
    /// `edge=auto`, `no-discover`, `yes-discover`: an edge where no BPDU comes.
    pub auto_edge: bool,
    /// `point-to-point`: one bridge at most is at the other end.
    pub point_to_point: bool,
    /// `restricted-role`: never the root port.
    pub restricted_role: bool,
    /// `restricted-tcn`: topology changes from there are not believed.
    pub restricted_tcn: bool,
    /// `bpdu-guard`: whoever sends a BPDU there closes it.
    pub guard: bool,
}

/// A port's variables (17.19).
#[derive(Clone, Debug)]
pub(super) struct StpPort {
    pub(super) interface: InterfaceId,
    pub(super) number: u16,
    pub(super) settings: PortSettings,
    pub(super) enabled: bool,
    /// A BPDU has come where none may, and closed it until its link goes down.
    pub(super) tripped: bool,

    pub(super) role: Role,
    pub(super) selected_role: Role,
    pub(super) info: Info,
    pub(super) topology: Topology,
    pub(super) priority: Vector,
    pub(super) times: Times,
    pub(super) designated: Vector,
    pub(super) designated_times: Times,

    pub(super) agree: bool,
    pub(super) agreed: bool,
    pub(super) disputed: bool,
    pub(super) forward: bool,
    pub(super) forwarding: bool,
    pub(super) learn: bool,
    pub(super) learning: bool,
    pub(super) new_info: bool,
    pub(super) edge: bool,
    pub(super) proposed: bool,
    pub(super) proposing: bool,
    pub(super) reroot: bool,
    pub(super) reselect: bool,
    pub(super) selected: bool,
    pub(super) update: bool,
    pub(super) send_rapid: bool,
    pub(super) sync: bool,
    pub(super) synced: bool,
    pub(super) tc_ack: bool,
    pub(super) tc_prop: bool,
    pub(super) received_tc: bool,
    pub(super) received_tcn: bool,
    pub(super) received_tc_ack: bool,
    pub(super) received_rapid: bool,
    pub(super) received_old: bool,
    /// `fdbFlush`: hosts learnt here are to be forgotten.
    pub(super) flush: bool,

    pub(super) edge_delay: u16,
    pub(super) forward_wait: u16,
    pub(super) hello_when: u16,
    pub(super) migrate_wait: u16,
    pub(super) recent_backup: u16,
    pub(super) info_while: u16,
    pub(super) recent_root: u16,
    pub(super) tc_while: u16,
    pub(super) sent: u16,
    /// BPDUs received and sent.
    pub(super) counts: (u64, u64),
}

impl StpPort {
    pub(super) fn new(
        interface: InterfaceId,
        number: u16,
        settings: PortSettings,
        rapid: bool,
        max_age: u16,
    ) -> StpPort {
        StpPort {
            interface,
            number,
            settings,
            enabled: false,
            tripped: false,
            role: Role::Disabled,
            selected_role: Role::Disabled,
            info: Info::Disabled,
            topology: Topology::Inactive,
            priority: Vector::default(),
            times: Times::default(),
            designated: Vector::default(),
            designated_times: Times::default(),
            agree: false,
            agreed: false,
            disputed: false,
            forward: false,
            forwarding: false,
            learn: false,
            learning: false,
            new_info: true,
            edge: settings.admin_edge,
            proposed: false,
            proposing: false,
            reroot: false,
            reselect: true,
            selected: false,
            update: false,
            send_rapid: rapid,
            sync: false,
            synced: true,
            tc_ack: false,
            tc_prop: false,
            received_tc: false,
            received_tcn: false,
            received_tc_ack: false,
            received_rapid: false,
            received_old: false,
            flush: false,
            edge_delay: MIGRATE,
            forward_wait: max_age,
            hello_when: 0,
            migrate_wait: MIGRATE,
            recent_backup: 0,
            info_while: 0,
            recent_root: 0,
            tc_while: 0,
            sent: 0,
            counts: (0, 0),
        }
    }

    /// Its identifier in a [`Vector`].
    pub(super) fn id(&self) -> u16 {
        u16::from(self.settings.priority & 0xf0) << 8 | self.number & 0xfff
    }

    /// A second has passed (17.22).
    pub(super) fn tick(&mut self) {
        for timer in [
            &mut self.edge_delay,
            &mut self.forward_wait,
            &mut self.hello_when,
            &mut self.migrate_wait,
            &mut self.recent_backup,
            &mut self.info_while,
            &mut self.recent_root,
            &mut self.tc_while,
            &mut self.sent,
        ] {
            *timer = timer.saturating_sub(1);
        }
    }

    /// `forwardDelay` (17.20.5): where RSTP is spoken, a hello is enough.
    fn forward_delay(&self) -> u16 {
        if self.send_rapid { HELLO } else { self.designated_times.forward_delay }
    }

    fn is_designated(&self) -> bool {
        self.role == Role::Designated
    }

    fn is_active(&self) -> bool {
        matches!(self.role, Role::Root | Role::Designated)
    }

    /// Port receive (17.23) and port information's RECEIVE (17.27).
    pub(super) fn receive(&mut self, bpdu: Bpdu, rapid: bool) {
        self.counts.0 += 1;
        if !self.enabled {
            return;
        }
        if self.settings.guard {
            (self.tripped, self.enabled) = (true, false);
            (self.reselect, self.selected) = (true, false);
            return;
        }
        self.received_rapid |= matches!(bpdu, Bpdu::Rapid(_));
        self.received_old |= !matches!(bpdu, Bpdu::Rapid(_));
        self.edge = false;
        self.edge_delay = MIGRATE;
        let message = match bpdu {
            Bpdu::Config(message) | Bpdu::Rapid(message) => message,
            Bpdu::Notification => {
                self.received_tcn |= !self.settings.restricted_tcn;
                return;
            }
        };
        let (vector, times) = (message.vector, message.times);
        let known = self.info == Info::Received;
        if message.role == bpdu::Role::Designated {
            // "Superior" includes whatever the same port of the same bridge says anew.
            let same_sender = (vector.bridge ^ self.priority.bridge) << 16 == 0
                && (vector.port ^ self.priority.port) & 0xfff == 0;
            if known && vector == self.priority && times == self.times {
                self.hear_repeated(&message);
            } else if vector < self.priority || known && same_sender {
                self.hear_superior(&message);
            } else if vector > self.priority && message.learning {
                // recordDispute
                (self.disputed, self.agreed) = (true, false);
            }
        } else if matches!(message.role, bpdu::Role::Root | bpdu::Role::Alternate)
            && vector >= self.priority
        {
            // recordAgreement
            self.agreed = rapid && self.settings.point_to_point && message.agreement;
            self.proposing &= !self.agreed;
            self.hear_changes(&message);
        }
    }

    fn hear_superior(&mut self, message: &Message) {
        (self.agreed, self.proposing) = (false, false);
        self.proposed |= message.proposal;
        self.hear_changes(message);
        // betterorsameInfo(Received)
        self.agree &= self.info == Info::Received && message.vector <= self.priority;
        (self.priority, self.times) = (message.vector, message.times);
        self.refresh();
        self.info = Info::Received;
        (self.reselect, self.selected) = (true, false);
    }

    fn hear_repeated(&mut self, message: &Message) {
        self.proposed |= message.proposal;
        self.hear_changes(message);
        self.refresh();
    }

    /// updtRcvdInfoWhile
    fn refresh(&mut self) {
        let lives = self.times.age < self.times.max_age;
        self.info_while = if lives { 3 * self.times.hello } else { 0 };
    }

    /// setTcFlags
    fn hear_changes(&mut self, message: &Message) {
        self.received_tc |= message.topology_change && !self.settings.restricted_tcn;
        self.received_tc_ack |= message.acknowledgement;
    }

    /// Port protocol migration (17.24).
    pub(super) fn migrate(&mut self, rapid: bool) {
        if !self.enabled {
            (self.send_rapid, self.migrate_wait) = (rapid, MIGRATE);
            (self.received_rapid, self.received_old) = (false, false);
            return;
        }
        if self.migrate_wait == 0 {
            let change = match self.send_rapid {
                true => self.received_old,
                false => rapid && self.received_rapid,
            };
            if change {
                self.send_rapid = !self.send_rapid;
                self.migrate_wait = MIGRATE;
            }
        }
        (self.received_rapid, self.received_old) = (false, false);
    }

    /// Bridge detection (17.25).
    pub(super) fn detect(&mut self) {
        if !self.enabled {
            self.edge = self.settings.admin_edge;
            self.edge_delay = MIGRATE;
        } else if self.edge_delay == 0
            && self.settings.auto_edge
            && self.send_rapid
            && self.proposing
        {
            self.edge = true;
        }
    }

    /// Port information (17.27), but for what a BPDU brings; whether it did something.
    pub(super) fn inform(&mut self) -> bool {
        match self.info {
            Info::Disabled if self.enabled => self.info = Info::Aged,
            Info::Disabled => return false,
            _ if !self.enabled => {
                (self.proposing, self.proposed) = (false, false);
                (self.agree, self.agreed) = (false, false);
                (self.info_while, self.info) = (0, Info::Disabled);
            }
            Info::Received if self.info_while == 0 && !self.update => self.info = Info::Aged,
            _ if self.selected && self.update => {
                (self.proposing, self.proposed) = (false, false);
                // betterorsameInfo(Mine)
                self.agreed &= self.designated <= self.priority && self.info == Info::Mine;
                self.synced &= self.agreed;
                (self.priority, self.times) = (self.designated, self.designated_times);
                (self.update, self.info, self.new_info) = (false, Info::Mine, true);
                return true;
            }
            _ => return false,
        }
        (self.reselect, self.selected) = (true, false);
        true
    }

    /// Port state transition (17.30).
    pub(super) fn change_state(&mut self) -> bool {
        let before = (self.learning, self.forwarding);
        self.learning = self.learn;
        self.forwarding = self.forward;
        before != (self.learning, self.forwarding)
    }

    /// Port transmit (17.26): what is to be sent.
    pub(super) fn transmit(&mut self, hold: u16) -> Option<Bpdu> {
        if !self.enabled || !self.selected || self.update {
            return None;
        }
        if self.hello_when == 0 {
            self.new_info |= self.is_designated() || self.role == Role::Root && self.tc_while != 0;
            self.hello_when = HELLO;
        }
        if !self.new_info || self.sent >= hold {
            return None;
        }
        let message = self.message();
        let bpdu = match self.role {
            _ if self.send_rapid => Bpdu::Rapid(message),
            Role::Designated => Bpdu::Config(message),
            Role::Root => Bpdu::Notification,
            _ => {
                self.new_info = false;
                return None;
            }
        };
        self.new_info = false;
        self.tc_ack &= self.role == Role::Root && !self.send_rapid;
        self.sent += 1;
        self.hello_when = HELLO;
        self.counts.1 += 1;
        Some(bpdu)
    }

    fn message(&self) -> Message {
        Message {
            vector: self.designated,
            times: self.designated_times,
            role: match self.role {
                Role::Disabled => bpdu::Role::Unknown,
                Role::Alternate | Role::Backup => bpdu::Role::Alternate,
                Role::Root => bpdu::Role::Root,
                Role::Designated => bpdu::Role::Designated,
            },
            topology_change: self.tc_while != 0,
            acknowledgement: self.tc_ack && !self.send_rapid,
            proposal: self.proposing,
            agreement: self.agree,
            learning: self.learning,
            forwarding: self.forwarding,
        }
    }

    /// What tells the others that nothing more comes from this port: its word, too old to be kept.
    pub(super) fn farewell(&self) -> Option<(InterfaceId, Bpdu)> {
        let speaks = self.enabled && self.is_designated();
        let times = Times { age: self.designated_times.max_age, ..self.designated_times };
        let message = Message { times, ..self.message() };
        let bpdu = if self.send_rapid { Bpdu::Rapid(message) } else { Bpdu::Config(message) };
        speaks.then_some((self.interface, bpdu))
    }

    /// newTcWhile (17.21.7)
    fn start_tc(&mut self, settings: &Settings) {
        if self.tc_while != 0 {
            return;
        }
        if self.send_rapid {
            (self.tc_while, self.new_info) = (HELLO + 1, true);
        } else {
            self.tc_while = settings.max_age + settings.forward_delay;
        }
    }

    /// Topology change (17.31): whether it did something, and whether others are to be told.
    pub(super) fn change_topology(&mut self, settings: &Settings) -> (bool, bool) {
        let heard = self.received_tc || self.received_tcn || self.received_tc_ack || self.tc_prop;
        match self.topology {
            Topology::Inactive if self.learn => {
                self.topology = Topology::Learning;
                self.forget_changes();
                (true, false)
            }
            Topology::Inactive => {
                self.forget_changes();
                (false, false)
            }
            Topology::Learning if self.is_active() && self.forward && !self.edge => {
                self.start_tc(settings);
                (self.topology, self.new_info) = (Topology::Active, true);
                (true, true)
            }
            Topology::Learning if !(self.is_active() || self.learn || self.learning) => {
                (self.topology, self.flush) = (Topology::Inactive, true);
                (self.tc_while, self.tc_ack) = (0, false);
                self.forget_changes();
                (true, false)
            }
            Topology::Learning => {
                self.forget_changes();
                (heard, false)
            }
            Topology::Active if !self.is_active() || self.edge => {
                self.topology = Topology::Learning;
                self.forget_changes();
                (true, false)
            }
            Topology::Active if self.received_tc || self.received_tcn => {
                if self.received_tcn {
                    self.start_tc(settings);
                }
                (self.received_tc, self.received_tcn) = (false, false);
                self.tc_ack |= self.is_designated();
                (true, true)
            }
            Topology::Active if self.tc_prop => {
                self.start_tc(settings);
                (self.flush, self.tc_prop) = (true, false);
                (true, false)
            }
            Topology::Active if self.received_tc_ack => {
                (self.tc_while, self.received_tc_ack) = (0, false);
                (true, false)
            }
            Topology::Active => (false, false),
        }
    }

    fn forget_changes(&mut self) {
        (self.received_tc, self.received_tcn, self.received_tc_ack) = (false, false, false);
        self.tc_prop = false;
    }

    /// Port role transitions (17.29) where the port alone decides; whether it did something. What
    /// asks all ports, or tells them, is in [`Others`].
    pub(super) fn change_role(&mut self, settings: &Settings, others: &mut Others) -> bool {
        if !self.selected || self.update {
            return false;
        }
        if self.role != self.selected_role {
            self.role = self.selected_role;
            match self.role {
                Role::Root => self.recent_root = settings.forward_delay,
                Role::Designated => {}
                Role::Disabled | Role::Alternate | Role::Backup => {
                    (self.learn, self.forward) = (false, false);
                }
            }
            return true;
        }
        match self.role {
            Role::Disabled => self.is_disabled(settings),
            Role::Root => self.is_root(settings, others),
            Role::Designated => self.designate(),
            Role::Alternate | Role::Backup => self.block(settings, others),
        }
    }

    fn is_disabled(&mut self, settings: &Settings) -> bool {
        if self.learning || self.forwarding {
            return false; // not yet: its state follows
        }
        let settled = self.synced && !self.sync && !self.reroot;
        (self.forward_wait, self.recent_root) = (settings.max_age, 0);
        (self.synced, self.sync, self.reroot) = (true, false, false);
        !settled
    }

    fn is_root(&mut self, settings: &Settings, others: &mut Others) -> bool {
        self.recent_root = settings.forward_delay;
        let quick = others.rerooted && self.recent_backup == 0 && settings.rapid;
        if self.proposed && !self.agree {
            (others.sync, self.proposed) = (true, false);
        } else if others.all_synced && !self.agree || self.proposed && self.agree {
            (self.proposed, self.sync) = (false, false);
            (self.agree, self.new_info) = (true, true);
        } else if !self.forward && !self.reroot {
            others.reroot = true;
            self.reroot = true;
        } else if (self.forward_wait == 0 || quick) && !self.learn {
            (self.forward_wait, self.learn) = (self.forward_delay(), true);
        } else if (self.forward_wait == 0 || quick) && !self.forward {
            (self.forward_wait, self.forward) = (0, true);
        } else if self.reroot && self.forward {
            self.reroot = false;
        } else {
            return false;
        }
        true
    }

    fn designate(&mut self) -> bool {
        let quick = self.forward_wait == 0 || self.agreed || self.edge;
        let may = quick && (self.recent_root == 0 || !self.reroot) && !self.sync;
        if !self.forward && !self.agreed && !self.proposing && !self.edge {
            (self.proposing, self.new_info) = (true, true);
            let max_age = self.designated_times.max_age;
            self.edge_delay = if self.settings.point_to_point { MIGRATE } else { max_age };
        } else if !self.synced && (!self.learning && !self.forwarding || self.agreed || self.edge)
            || self.sync && self.synced
        {
            (self.recent_root, self.synced, self.sync) = (0, true, false);
        } else if self.recent_root == 0 && self.reroot {
            self.reroot = false;
        } else if may && !self.learn {
            (self.learn, self.forward_wait) = (true, self.forward_delay());
        } else if may && !self.forward {
            (self.forward, self.forward_wait) = (true, 0);
            self.agreed = self.send_rapid;
        } else if (self.sync && !self.synced
            || self.reroot && self.recent_root != 0
            || self.disputed)
            && !self.edge
            && (self.learn || self.forward)
        {
            (self.learn, self.forward, self.disputed) = (false, false, false);
            self.forward_wait = self.forward_delay();
        } else {
            return false;
        }
        true
    }

    fn block(&mut self, settings: &Settings, others: &mut Others) -> bool {
        if self.learning || self.forwarding {
            return false; // not yet: its state follows
        }
        self.forward_wait = settings.forward_delay;
        self.recent_root = 0;
        if self.role == Role::Backup {
            self.recent_backup = 2 * HELLO;
        }
        if self.proposed && !self.agree {
            (others.sync, self.proposed) = (true, false);
        } else if others.all_synced && !self.agree || self.proposed && self.agree {
            (self.proposed, self.agree, self.new_info) = (false, true, true);
        } else if self.sync || self.reroot || !self.synced {
            (self.synced, self.sync, self.reroot) = (true, false, false);
        } else {
            return false;
        }
        true
    }
}

/// What a port learns of all ports, and wants of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Others {
    /// allSynced: the roles of all are settled, and nothing but a root port may make a loop.
    pub(super) all_synced: bool,
    /// reRooted: no other port was a root port lately.
    pub(super) rerooted: bool,
    /// setSyncTree.
    pub(super) sync: bool,
    /// setReRootTree.
    pub(super) reroot: bool,
}
