//! `/interface bonding`: several ports that are one interface.
//!
//! ```text
//! ether1 ─┐                                 ┌─ active-backup   the one that is active
//! ether2 ─┴─► link_in ─► bonding1 ─► …      ├─ balance-rr      each in its turn
//!             LACPDUs ─► the slave's        ├─ balance-xor     by a hash of the frame
//!                        machine            ├─ 802.3ad         the same, of those LACP agrees on
//!                                           ├─ balance-tlb     the same, each from its own address
//!                                           ├─ balance-alb     and ARP tells hosts one or another
//!                            … ─► link_out ─┴─ broadcast       a copy by each
//! ```
//!
//! Which slaves are active is found out by `State` (links with their delays, ARP's answers, and LACP) and
//! compiled into the [`Bond`]; frames that come by another slave are dropped. Where the slave follows from
//! the frame's addresses alone (active-backup, and layer-2 of the modes that hash) a neighbour has a
//! rewrite, and the fast path sends by it. What balance-alb's slaves get for themselves goes box by box.
//!
//! A switch knows one port for each address, so those of balance-tlb and balance-alb that are not the first
//! send from their own; and take what is for the bond only in balance-alb, where hosts were told their
//! addresses. Missing: **FastPath of the other modes and policies**, **load that is measured** (balance-tlb
//! and balance-alb hash).

// LACP for one slave.
pub(crate) mod lacp;
// The menu.
pub mod menu;

use super::InterfaceId;
use crate::interface::Names;
use config::{Read, Value};
use std::collections::BTreeSet;
use std::time::Duration;
use wire::ethernet::ETHERTYPE_ARP;
use wire::layers::{self, ETHERTYPE_IPV4};
use wire::{MacAddr, Moment};

/// A bond's place in the program, and of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BondAt(pub u16);

impl BondAt {
    /// As an index.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// `mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each in its turn.
    RoundRobin,
    /// One, and another if it fails.
    ActiveBackup,
    /// By a hash.
    Xor,
    /// A copy by each.
    Broadcast,
    /// By a hash, of those that LACP agrees on.
    Lacp,
    /// By a hash, each from its own address; one receives.
    Tlb,
    /// The same, and hosts are told the addresses of one or another by ARP.
    Alb,
}

impl Mode {
    /// The words of the property, the default first.
    const WORDS: &[&str] = &[
        "balance-rr",
        "802.3ad",
        "active-backup",
        "balance-alb",
        "balance-tlb",
        "balance-xor",
        "broadcast",
    ];

    fn of(word: &str) -> Mode {
        match word {
            "802.3ad" => Mode::Lacp,
            "active-backup" => Mode::ActiveBackup,
            "balance-alb" => Mode::Alb,
            "balance-tlb" => Mode::Tlb,
            "balance-xor" => Mode::Xor,
            "broadcast" => Mode::Broadcast,
            _ => Mode::RoundRobin,
        }
    }
}

/// `transmit-hash-policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The MAC addresses and the EtherType.
    Layer2,
    /// And the IP addresses.
    Layer2And3,
    /// IP addresses and ports.
    Layer3And4,
}

impl Policy {
    const WORDS: &[&str] = &["layer-2", "layer-2-and-3", "layer-3-and-4"];

    fn of(word: &str) -> Policy {
        match word {
            "layer-2-and-3" => Policy::Layer2And3,
            "layer-3-and-4" => Policy::Layer3And4,
            _ => Policy::Layer2,
        }
    }

    /// The hash of a frame, as Linux's bonding has it; fragments have no ports.
    fn hash(self, frame: &[u8]) -> u32 {
        let layers = layers::network(frame).unwrap_or_default();
        let l2 = || {
            let last = |at: usize| frame.get(at).map_or(0, |&byte| u32::from(byte));
            let ether_type = [12, 13].map(|at| frame.get(at).copied().unwrap_or(0));
            last(5) ^ last(11) ^ u32::from(u16::from_be_bytes(ether_type))
        };
        let mixed = |hash: u32| hash ^ hash >> 16 ^ (hash ^ hash >> 16) >> 8;
        let tuple = layers.tuple;
        match self {
            Policy::Layer2 => l2(),
            _ if layers.ether_type != ETHERTYPE_IPV4 => l2(),
            Policy::Layer2And3 => mixed(l2() ^ tuple.src ^ tuple.dst),
            Policy::Layer3And4 => {
                let both = u32::from(tuple.src_port) << 16 | u32::from(tuple.dst_port);
                let ports = if layers.fragment || layers.l4 == 0 { 0 } else { both };
                mixed(ports ^ tuple.src ^ tuple.dst)
            }
        }
    }
}

/// A bond as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bond {
    /// Its number as an interface.
    pub interface: InterfaceId,
    /// Its slaves, in the order of the configuration.
    pub slaves: Vec<InterfaceId>,
    /// Those by which frames pass.
    pub active: Vec<InterfaceId>,
    /// `mode`.
    pub mode: Mode,
    /// `transmit-hash-policy`.
    pub policy: Policy,
    /// `primary`.
    pub primary: Option<InterfaceId>,
    /// `min-links`, but at least one.
    pub min_links: usize,
    /// `lacp-rate=1sec`.
    pub fast: bool,
    /// `down-delay` and `up-delay`.
    pub delays: [Duration; 2],
    /// `arp-interval` and `arp-ip-targets`, where those tell whether a slave is up.
    pub watch: Option<(Duration, Vec<u32>)>,
}

impl Bond {
    /// Reads an item. Of its slaves those in `up` are active.
    pub(super) fn read(
        item: &Read,
        interface: InterfaceId,
        names: &Names,
        up: &BTreeSet<InterfaceId>,
    ) -> Bond {
        let slaves: Vec<InterfaceId> =
            item.list("slaves").iter().filter_map(|slave| names.find(&slave.to_string())).collect();
        Bond {
            interface,
            active: slaves.iter().copied().filter(|slave| up.contains(slave)).collect(),
            mode: Mode::of(&item.text("mode")),
            policy: Policy::of(&item.text("transmit-hash-policy")),
            primary: names.find(&item.text("primary")).filter(|slave| slaves.contains(slave)),
            min_links: (item.number("min-links") as usize).max(1),
            fast: item.text("lacp-rate") == "1sec",
            delays: [item.time("down-delay"), item.time("up-delay")],
            watch: (item.text("link-monitoring") == "arp").then(|| {
                let targets = item.list("arp-ip-targets");
                let targets = targets.iter().filter_map(|target| match target {
                    Value::Address(address) => Some(u32::from(*address)),
                    _ => None,
                });
                (item.time("arp-interval").max(SHORTEST), targets.collect())
            }),
            slaves,
        }
    }

    /// The address that is forced.
    pub(super) fn forced_mac(item: &Read) -> Option<MacAddr> {
        match item.opt("forced-mac-address").as_deref() {
            Some(Value::Mac(mac)) => Some(*mac),
            _ => None,
        }
    }

    /// The slave by which a frame leaves, where it follows from its first 14 bytes alone.
    pub(crate) fn slave_of(&self, header: &[u8; 14]) -> Option<InterfaceId> {
        match (self.mode, self.policy) {
            (Mode::ActiveBackup, _) => self.active.first().copied(),
            (Mode::Xor | Mode::Lacp | Mode::Tlb | Mode::Alb, Policy::Layer2) => self.hashed(header),
            _ => None,
        }
    }

    /// The slave by which a frame leaves, where one does; `turn` counts the frames.
    pub(crate) fn slave(&self, frame: &[u8], turn: u32) -> Option<InterfaceId> {
        match self.mode {
            Mode::ActiveBackup => self.active.first().copied(),
            Mode::RoundRobin => self.active.get(turn as usize % self.active.len().max(1)).copied(),
            Mode::Xor | Mode::Lacp | Mode::Tlb | Mode::Alb => self.hashed(frame),
            Mode::Broadcast => None,
        }
    }

    /// The slave whose address is the bond's for others, in balance-tlb and balance-alb: it receives.
    pub(crate) fn receiver(&self) -> Option<InterfaceId> {
        let shares = matches!(self.mode, Mode::Tlb | Mode::Alb);
        let primary = self.primary.filter(|primary| self.active.contains(primary));
        primary.or(self.active.first().copied()).filter(|_| shares)
    }

    /// The slave whose address a host is told, in balance-alb.
    pub(crate) fn told_to(&self, host: u32) -> Option<InterfaceId> {
        let n = u32::try_from(self.active.len()).ok().filter(|&n| n != 0)?;
        let hash = host ^ host >> 8;
        (self.mode == Mode::Alb).then(|| self.active[(hash % n) as usize])
    }

    fn hashed(&self, frame: &[u8]) -> Option<InterfaceId> {
        // Whoever hears these learns the sender's address.
        let is_for_all = frame.first().is_some_and(|first| first & 1 == 1);
        let is_arp = frame.get(12..14) == Some(&ETHERTYPE_ARP.to_be_bytes());
        if let Some(receiver) = self.receiver().filter(|_| is_for_all || is_arp) {
            return Some(receiver);
        }
        let n = u32::try_from(self.active.len()).ok().filter(|&n| n != 0)?;
        self.active.get((self.policy.hash(frame) % n) as usize).copied()
    }
}

/// The shortest `arp-interval`.
const SHORTEST: Duration = Duration::from_millis(10);
/// After so many intervals without a frame a slave is down.
const SILENT: u32 = 3;

/// What a bond knows of its slaves.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// By place among the slaves.
    pub(crate) slaves: Vec<Slave>,
    /// In active-backup: the one that is used.
    current: Option<InterfaceId>,
    /// Frames that were sent in turn.
    pub(crate) turn: u32,
    /// When ARP is to ask next, and which slave it asks by where only one may send.
    asks: Option<(Moment, usize)>,
    /// The slaves that hosts were told, in balance-alb.
    pub(crate) told: Vec<InterfaceId>,
}

/// A slave's link, and who is at its other end.
#[derive(Clone, Debug)]
pub(crate) struct Slave {
    /// Whether it counts as up.
    up: bool,
    /// Since when its link says otherwise.
    since: Option<Moment>,
    /// When something came by it.
    pub(crate) heard: Option<Moment>,
    pub(crate) lacp: lacp::Machine,
}

impl State {
    /// Of a bond that is new.
    pub(crate) fn new(bond: &Bond) -> State {
        let slave = Slave { up: false, since: None, heard: None, lacp: lacp::Machine::NEW };
        let slaves = vec![slave; bond.slaves.len()];
        State { slaves, current: None, turn: 0, asks: None, told: Vec::new() }
    }

    /// By which slaves ARP asks its targets now; none between two times.
    pub(crate) fn asks(&mut self, now: Moment, bond: &Bond) -> Vec<InterfaceId> {
        let Some((interval, _)) = bond.watch else { return Vec::new() };
        let (due, turn) = self.asks.unwrap_or((now, 0));
        if now < due {
            return Vec::new();
        }
        self.asks = Some((now + interval, turn + 1));
        match (bond.mode, self.current) {
            // The others hear what it asks from the other end.
            (Mode::ActiveBackup, Some(current)) => vec![current],
            // None is known to be of use: one after the other.
            (Mode::ActiveBackup, None) => {
                bond.slaves.get(turn % bond.slaves.len().max(1)).copied().into_iter().collect()
            }
            _ => bond.slaves.clone(),
        }
    }

    /// When ARP asks next.
    pub(crate) fn asks_at(&self) -> Option<Moment> {
        self.asks.map(|(due, _)| due)
    }

    /// Takes in which links are up; returns which slaves count as up.
    fn links(&mut self, now: Moment, bond: &Bond, link: &dyn Fn(InterfaceId) -> bool) -> Vec<bool> {
        for (slave, &id) in self.slaves.iter_mut().zip(&bond.slaves) {
            let is_alive = bond.watch.as_ref().is_none_or(|(interval, _)| {
                slave.heard.is_some_and(|heard| now.since(heard) <= *interval * SILENT)
            });
            if (link(id) && is_alive) == slave.up {
                slave.since = None;
                continue;
            }
            let since = *slave.since.get_or_insert(now);
            if now.since(since) >= bond.delays[usize::from(!slave.up)] {
                (slave.up, slave.since) = (!slave.up, None);
                if !slave.up {
                    slave.lacp.down();
                }
            }
        }
        self.slaves.iter().map(|slave| slave.up).collect()
    }

    /// Whether a link has changed that does not count yet.
    pub(crate) fn waits(&self) -> bool {
        self.slaves.iter().any(|slave| slave.since.is_some())
    }

    /// Which slaves LACP is to aggregate: those with the other end that most of them have.
    fn selected(&self) -> Vec<bool> {
        let partners: Vec<_> = self.slaves.iter().map(|slave| slave.lacp.partner()).collect();
        let count = |partner| partners.iter().filter(|other| **other == Some(partner)).count();
        let best = partners.iter().flatten().copied().map(|partner| (count(partner), partner));
        // Of equals the first: max_by_key would take the last.
        let best = best.rev().max_by_key(|&(count, _)| count).map(|(_, partner)| partner);
        partners.iter().map(|partner| partner.is_some() && *partner == best).collect()
    }

    /// Does what is due; returns the active slaves, and what each slave is to say by LACP. `own` is
    /// the end that a slave is (its place).
    pub(crate) fn tick(
        &mut self,
        now: Moment,
        bond: &Bond,
        link: &dyn Fn(InterfaceId) -> bool,
        own: &dyn Fn(usize) -> wire::lacp::End,
    ) -> (Vec<InterfaceId>, Vec<(InterfaceId, wire::lacp::Lacpdu)>) {
        let up = self.links(now, bond, link);
        let mut says = Vec::new();
        let mut active = up.clone();
        if bond.mode == Mode::Lacp {
            let selected = self.selected();
            for (place, slave) in self.slaves.iter_mut().enumerate() {
                if up[place] {
                    let said = slave.lacp.tick(now, &own(place), selected[place]);
                    says.extend(said.map(|said| (bond.slaves[place], said)));
                }
                active[place] = up[place] && slave.lacp.passes(selected[place]);
            }
        }
        let all = bond.slaves.iter().copied().zip(active).filter(|(_, active)| *active);
        let mut all: Vec<InterfaceId> = all.map(|(slave, _)| slave).collect();
        if bond.mode == Mode::ActiveBackup {
            let stays = self.current.filter(|current| all.contains(current));
            let primary = bond.primary.filter(|primary| all.contains(primary));
            self.current = primary.or(stays).or(all.first().copied());
            all = self.current.into_iter().collect();
        }
        (all, says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bond(mode: Mode) -> Bond {
        let slaves: Vec<_> = (1..=3).map(InterfaceId).collect();
        Bond {
            interface: InterfaceId(9),
            active: slaves.clone(),
            slaves,
            mode,
            policy: Policy::Layer2,
            primary: None,
            min_links: 1,
            fast: false,
            delays: [Duration::from_millis(200), Duration::from_millis(500)],
            watch: None,
        }
    }

    /// Milliseconds, the links that are up there, and the slaves that are active then.
    type Step = (u64, &'static [u32], &'static [u32]);

    #[test]
    fn which_slaves_are_active() {
        let primary = Bond { primary: Some(InterfaceId(2)), ..bond(Mode::ActiveBackup) };
        let cases: &[(Bond, &[Step])] = &[
            (
                bond(Mode::RoundRobin),
                &[
                    (499, &[1, 2, 3], &[]),
                    (500, &[1, 2, 3], &[1, 2, 3]),
                    (600, &[1, 3], &[1, 2, 3]),
                    (700, &[1, 2, 3], &[1, 2, 3]),
                    (900, &[1, 3], &[1, 2, 3]),
                    (1100, &[1, 3], &[1, 3]),
                ],
            ),
            (
                bond(Mode::ActiveBackup),
                &[
                    (500, &[1, 2, 3], &[1]),
                    (1000, &[2, 3], &[2]),
                    (2000, &[1, 2, 3], &[2]),
                    (3000, &[], &[]),
                ],
            ),
            (primary, &[(500, &[1, 2], &[2]), (1000, &[1, 3], &[1]), (2000, &[1, 2, 3], &[2])]),
        ];
        for (bond, steps) in cases {
            let (mut state, mut at) = (State::new(bond), 0);
            for (then, links, expected) in *steps {
                let mut active = Vec::new();
                for ms in at..=*then {
                    let now = Moment::ZERO + Duration::from_millis(ms);
                    let link = |id: InterfaceId| links.contains(&id.0);
                    active = state.tick(now, bond, &link, &|_| unreachable!()).0;
                }
                at = then + 1;
                let active: Vec<u32> = active.iter().map(|id| id.0).collect();
                assert_eq!(active, *expected, "at {then} of {:?}", bond.mode);
            }
        }
    }

    #[test]
    fn what_is_alike_goes_by_one_slave() {
        let frame = |port: u16| {
            let payload = [0; 20];
            let udp = wire::craft::udp(1, port, 2, 5);
            wire::craft::Frame { payload: &payload, ..udp }.build()
        };
        for (policy, differs) in
            [(Policy::Layer2, false), (Policy::Layer2And3, false), (Policy::Layer3And4, true)]
        {
            let bond = Bond { policy, ..bond(Mode::Xor) };
            let slaves: BTreeSet<_> =
                (1000..1100).map(|port| bond.slave(&frame(port), 0)).collect();
            assert_eq!(slaves.len() > 1, differs, "{policy:?} {slaves:?}");
            assert_eq!(bond.slave(&frame(7), 0), bond.slave(&frame(7), 1));
        }
        let header = frame(7).first_chunk().copied().unwrap();
        assert_eq!(bond(Mode::Xor).slave_of(&header), bond(Mode::Xor).slave(&frame(7), 0));
        let bond = bond(Mode::RoundRobin);
        let turns: Vec<_> = (0..4).map(|turn| bond.slave(&frame(1), turn).unwrap().0).collect();
        assert_eq!(turns, [1, 2, 3, 1]);
    }
}
