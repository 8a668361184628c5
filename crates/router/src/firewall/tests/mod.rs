//! A router in miniature: the real menus, the real interpreter, rules over packets made to order.

mod chains;
mod classes;
mod invalid;
mod matchers;
mod nat;
mod patch;
mod recipe;

use super::address_list::AddressLists;
use super::compile::Setting;
use super::filter::{Decision, Filter, FilterChain, FilterVerdict};
use super::log::Log;
use super::mark::MarkBook;
use super::matcher::connection::Whole;
use super::matcher::layer7::Patterns;
use super::menu;
use super::nat::{Nat, NatChain, NatVerdict};
use super::rule::{Books, stats};
use super::state::{RuleState, SlotBook};
use crate::counter::{Count, CounterBook, Counters};
use crate::interface::{InterfaceId, InterfaceKind, Names, bridge};
use crate::ip::feed::Protocol;
use crate::ip::route::{Routes, Target};
use crate::packet::{ConnectionState, View};
use crate::trace::Trace;
use config::{Interpreter, Item, ItemId, Menu, Status, Tree, Value};
use std::sync::{Arc, LazyLock};
use wire::craft::Frame;
use wire::{Ipv4Prefix, Layers, Moment, layers};

const ETHER1: InterfaceId = InterfaceId(1);
const ETHER2: InterfaceId = InterfaceId(2);
const ETHER3: InterfaceId = InterfaceId(3);
const BRIDGE1: InterfaceId = InterfaceId(4);

/// Asks the firewall about its rules.
struct Checked;

impl Status for Checked {
    fn check(&self, _menu: &Menu, item: &Item, _tree: &Tree) -> Result<(), String> {
        menu::check(item)
    }
}

/// ether1, ether2, and bridge1 with ether3 as its port.
pub(super) struct Fixture {
    session: Interpreter,
    names: Names,
    use_ip_firewall: bool,
    marks: MarkBook,
    book: CounterBook,
    slots: SlotBook,
    counters: Counters,
    state: RuleState,
    trace: Trace,
    log: Log,
    now: Moment,
    filter: Filter,
    nat: Nat,
}

impl Fixture {
    /// # Panics
    /// If the script is refused.
    pub(super) fn new(script: &str) -> Fixture {
        let mut fixture = Fixture::empty();
        fixture.edit(script);
        fixture
    }

    fn empty() -> Fixture {
        let mut menus = crate::MENUS.to_vec();
        for menu in [&bridge::menu::BRIDGE, &bridge::menu::PORT] {
            if !menus.iter().any(|known| known.path == menu.path) {
                menus.push(menu);
            }
        }
        let mut session = Interpreter::new(menus);
        let mut names = Names::default();
        let text = |text: &str| Value::Text(text.to_string());
        for (name, id) in [("ether1", ETHER1), ("ether2", ETHER2), ("ether3", ETHER3)] {
            let values = [("name", text(name)), ("default-name", text(name))].into();
            session.tree_mut().push(&crate::interface::menu::ETHERNET, values);
            names.insert(name, id, InterfaceKind::Ethernet);
        }
        session.tree_mut().push(&bridge::menu::BRIDGE, [("name", text("bridge1"))].into());
        names.insert("bridge1", BRIDGE1, InterfaceKind::Bridge);
        let port = [("bridge", text("bridge1")), ("interface", text("ether3"))].into();
        session.tree_mut().push(&bridge::menu::PORT, port);
        let (mut book, mut slots) = (CounterBook::default(), SlotBook::default());
        let mut setting = Setting {
            tree: session.tree(),
            lists: &Arc::new(AddressLists::compile(session.tree())),
            patterns: &Arc::new(Patterns::compile(session.tree())),
            names: &names,
            marks: &MarkBook::default(),
            use_ip_firewall: true,
            ipsec: false,
            book: &mut book,
            slots: &mut slots,
        };
        let (filter, nat) = (Filter::compile(&mut setting), Nat::compile(&mut setting));
        Fixture {
            session,
            names,
            use_ip_firewall: true,
            marks: MarkBook::default(),
            book,
            slots,
            counters: Counters::default(),
            state: RuleState::new(1),
            trace: Trace::default(),
            log: Log::new(16),
            now: Moment::ZERO,
            filter,
            nat,
        }
    }

    /// # Panics
    /// If the script is refused.
    fn edit(&mut self, script: &str) {
        if let Err(error) = self.session.run(script, &Checked) {
            panic!("{}: {}\n{script}", error.text, error.help);
        }
        self.compile();
    }

    fn compile(&mut self) {
        let (filter, nat) =
            self.setting(|setting| (Filter::compile(setting), Nat::compile(setting)));
        (self.filter, self.nat) = (filter, nat);
    }

    fn setting<T>(&mut self, compile: impl FnOnce(&mut Setting) -> T) -> T {
        let tables = [&menu::FILTER, &menu::NAT];
        self.marks.enter(self.session.tree(), &tables, [].into_iter());
        let compiled = compile(&mut Setting {
            tree: self.session.tree(),
            lists: &Arc::new(AddressLists::compile(self.session.tree())),
            patterns: &Arc::new(Patterns::compile(self.session.tree())),
            names: &self.names,
            marks: &self.marks,
            use_ip_firewall: self.use_ip_firewall,
            ipsec: false,
            book: &mut self.book,
            slots: &mut self.slots,
        });
        self.counters.admit(&self.book.take_fresh());
        self.state.admit(&self.slots.take_fresh());
        compiled
    }

    fn run(&mut self, chain: FilterChain, packet: &Packet) -> FilterVerdict {
        self.trace.clear();
        let mut books = Books {
            now: self.now,
            state: &mut self.state,
            trace: &mut self.trace,
            counters: &mut self.counters,
            log: &mut self.log,
        };
        self.filter.run(chain, &packet.view(), &mut books)
    }

    pub(super) fn forward(&mut self, packet: &Packet) -> Decision {
        self.run(FilterChain::Forward, packet).decision
    }

    fn nat(&mut self, chain: NatChain, packet: &Packet) -> NatVerdict {
        self.trace.clear();
        let mut books = Books {
            now: self.now,
            state: &mut self.state,
            trace: &mut self.trace,
            counters: &mut self.counters,
            log: &mut self.log,
        };
        self.nat.run(chain, &packet.view(), &mut books)
    }

    fn items(&self, path: &str) -> Vec<ItemId> {
        self.session.tree().items(path).iter().map(|item| item.id).collect()
    }

    /// What the filter rules have counted, in their order.
    fn counted(&self) -> Vec<Count> {
        let items = self.items("/ip firewall filter");
        items.into_iter().map(|item| stats(item, &self.book, &self.counters)).collect()
    }

    /// The compiled filter.
    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// What was typed.
    pub(super) fn item(&self, id: ItemId) -> Option<&Item> {
        let items = self.session.tree().items("/ip firewall filter").iter();
        items.map(|item| &**item).find(|item| item.id == id)
    }

    /// Packets the filter rules have counted, in their order.
    pub(super) fn packets(&self) -> Vec<u64> {
        self.counted().iter().map(|count| count.packets).collect()
    }

    /// Why the filter rules are invalid, in their order; empty for those that are not.
    fn reasons(&self) -> Vec<String> {
        let reason = |item| self.filter.invalid(item).map(ToString::to_string);
        let items = self.items("/ip firewall filter").into_iter();
        items.map(|item| reason(item).unwrap_or_default()).collect()
    }
}

/// A frame and what the flow knows about it.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) frame: Vec<u8>,
    pub(super) layers: Layers,
    pub(super) in_interface: InterfaceId,
    pub(super) out_interface: InterfaceId,
    in_bridge_port: InterfaceId,
    out_bridge_port: InterfaceId,
    pub(super) state: ConnectionState,
    srcnat: bool,
    dstnat: bool,
    ingress_priority: Option<u8>,
}

impl Packet {
    /// From ether1 to ether2, new.
    pub(super) fn of(frame: &Frame) -> Packet {
        let frame = frame.build();
        let layers = layers::parse(&frame).expect("well-formed");
        Packet {
            frame,
            layers,
            in_interface: ETHER1,
            out_interface: ETHER2,
            in_bridge_port: InterfaceId::NONE,
            out_bridge_port: InterfaceId::NONE,
            state: ConnectionState::New,
            srcnat: false,
            dstnat: false,
            ingress_priority: None,
        }
    }

    fn ip_len(&self) -> u16 {
        self.layers.l3_end - self.layers.l3
    }

    fn view(&self) -> View<'_> {
        View {
            ipsec: [false; 2],
            headers: 0,
            ends: crate::packet::Ends::default(),
            frame: &self.frame,
            layers: &self.layers,
            ip_len: self.ip_len(),
            in_interface: self.in_interface,
            out_interface: self.out_interface,
            in_bridge_port: self.in_bridge_port,
            out_bridge_port: self.out_bridge_port,
            connection_state: self.state,
            srcnat: self.srcnat,
            dstnat: self.dstnat,
            marks: Default::default(),
            connection_mark: Default::default(),
            connection: Whole::default(),
            ingress_priority: self.ingress_priority,
            routes: &ROUTES,
            routes6: None,
            vrf: Default::default(),
        }
    }
}

/// A routing table in miniature.
static ROUTES: LazyLock<Routes> = LazyLock::new(|| {
    let routes: [([u8; 4], u8, Target); 8] = [
        ([0; 4], 0, Target::Connected(InterfaceId(1))),
        ([10, 0, 0, 254], 32, Target::Local),
        ([10, 0, 0, 255], 32, Target::Broadcast),
        ([255; 4], 32, Target::Broadcast),
        ([224, 0, 0, 0], 4, Target::Multicast),
        ([192, 0, 2, 0], 24, Target::Blackhole),
        ([203, 0, 113, 0], 24, Target::Unreachable),
        ([198, 51, 100, 0], 24, Target::Prohibit),
    ];
    let routes = routes.map(|(address, len, target)| {
        let prefix = Ipv4Prefix::new(u32::from_be_bytes(address), len);
        (prefix, target, Protocol::Static)
    });
    let mut table = Routes::default();
    table.feed(routes).expect("few gateways");
    table
});
