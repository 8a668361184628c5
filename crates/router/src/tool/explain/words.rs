//! Answer of `/tool explain` in words: a row for each box and each rule.
//!
//! ```text
//! At(FilterForward), Rules([no, yes]) ─► filter forward
//!                                          0  chain=forward … protocol=icmp: protocol is udp
//!                                          1  chain=forward … : drop
//! ```

use super::{Row, Verdict, question};
use crate::discard::Discard;
use crate::firewall::connection::FlowId;
use crate::firewall::mark::{Mark, MarkNames};
use crate::firewall::menu::{FILTER, NAT};
use crate::firewall::told::{Failed, Has, Met};
use crate::firewall::{mangle, raw};
use crate::interface::InterfaceId;
use crate::interface::bridge;
use crate::ip::menu::{RULE, RULE7};
use crate::ip::route::Target;
use crate::ip::rule::{Action, Decision as Decided, Lookup, Origin};
use crate::ipv6::firewall as firewall6;
use crate::packet::ConnectionState;
use crate::parts::Stacked;
use crate::queue::trees::TREE;
use crate::queue::{Decision, QueueLeafId};
use crate::router::Router;
use crate::step::Step;
use crate::story::{Edit, Event, Flow, Made, Near, Table, tuple};
use config::{Item, ItemId, Menu, Tree, Value};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Moment;

/// Writes the rows of a story. The router is the trial it happened on.
pub(super) struct Writer<'a> {
    r: &'a Router,
    tree: &'a Tree,
    now: Moment,
    rows: Vec<Row>,
    /// How many things of the router's own are being told of, one within the other.
    makes: usize,
    /// Told when it was decided.
    refused: Vec<Discard>,
    numbers: HashMap<(&'static str, ItemId), usize>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(r: &'a Router, tree: &'a Tree, now: Moment) -> Writer<'a> {
        let (rows, refused) = (Vec::new(), Vec::new());
        let mut numbers = HashMap::new();
        let six = [&firewall6::RAW, &firewall6::MANGLE, &firewall6::FILTER];
        let four = [&raw::MENU, &mangle::MENU, &FILTER, &NAT, &bridge::filter::menu::FILTER];
        for menu in four.into_iter().chain(six).chain([&RULE, &RULE7]) {
            // As `print` counts: the dummy rules of FastTrack take the first numbers.
            let ahead = if r.v4.connections.fasttracked() > 0 { dummies(menu) } else { 0 };
            let items = tree.items(menu.path).iter().enumerate();
            numbers.extend(items.map(|(at, item)| ((menu.path, item.id), at + ahead)));
        }
        Writer { r, tree, now, rows, makes: 0, refused, numbers }
    }

    /// The rows of what happened to a packet that arrived like this.
    pub(super) fn write(mut self, arrives: &str, story: &[Event]) -> Vec<Row> {
        for event in story {
            self.event(event);
            if let ([first], true) = (&mut self.rows[..], matches!(event, Event::At(_))) {
                first.text = arrives.to_string();
            }
        }
        for row in &mut self.rows {
            if let (Some(step), "") = (row.step, row.text.as_str()) {
                (row.verdict, row.text) = nothing_told(self.r, step);
            }
        }
        self.rows
    }

    fn event(&mut self, event: &Event) {
        let r = self.r;
        match event {
            Event::At(step) => self.rows.push(Row {
                step: Some(*step),
                verdict: if step.is_built() { Verdict::Passes } else { Verdict::Missing },
                makes: self.makes,
                ..Row::default()
            }),
            Event::Bridged { ports, local } => {
                let ports: Vec<&str> = ports.iter().map(|&port| self.name(port)).collect();
                let router = local.then_some("the router itself");
                let to: Vec<&str> = ports.into_iter().chain(router).collect();
                let flood = if to.len() > 1 { "floods to" } else { "to" };
                match to.is_empty() {
                    true => self.text("to no port"),
                    false => self.text(&format!("{flood} {}", to.join(", "))),
                }
            }
            Event::To(port) => self.text(&format!("to {}", self.name(*port))),
            Event::Rules { table, chain, met } => self.rules(*table, chain, met),
            Event::Tracked { state, flow, related } => self.tracked(*state, *flow, *related),
            Event::Fasttracked { flow } => self.text(&format!(
                "fasttracked: past mangle, filter and queues; {}",
                self.connection(*flow)
            )),
            Event::Untracked => self.text("untracked: raw said notrack"),
            Event::Edited(edit, from, to) => {
                let what = match edit {
                    Edit::Dscp => "dscp",
                    Edit::Ttl => "ttl",
                    Edit::Mss => "mss",
                };
                self.text(&format!("{what} {from} becomes {to}"));
            }
            Event::Collected => self.text("waits for the rest of its datagram"),
            Event::Translated { from, to } if from == to => {}
            Event::Translated { from, to } => self.text(&format!("{from} becomes {to}")),
            Event::Routed { decision: Decided::Ends(action, by), .. } => {
                let does = match action {
                    Action::Unreachable => "makes it unreachable",
                    Action::Prohibit => "prohibits it",
                    _ => "drops it",
                };
                self.text(&format!("{} {does}", self.route_rule(*by)));
            }
            Event::Routed { dst: IpAddr::V4(dst), decision } => {
                self.routed(u32::from(*dst), *decision);
            }
            Event::Routed { dst: IpAddr::V6(dst), decision } => {
                self.routed(u128::from(*dst), *decision);
            }
            Event::NextHop(hop) => match self.rows.last().map_or("", |row| &row.text) {
                // It asks no table: for a link.
                "" => self.text(&format!("to {}", self.hop(*hop))),
                text if text.contains("connected") => {}
                _ => self.text(&format!("gateway {}", self.hop(*hop))),
            },
            Event::Ttl(ttl) => self.text(&format!("{ttl} becomes {}", ttl.saturating_sub(1))),
            Event::MarkedFasttrack => {
                self.note(Verdict::Passes, "the connection is fasttracked from now on".to_string());
            }
            Event::Entered(flow) => {
                self.note(Verdict::Passes, format!("begins {}", self.connection(*flow)));
            }
            Event::Queued { leaf, decision } => self.queued(*leaf, *decision),
            Event::Resumed => {
                let waits = |row: &&mut Row| row.verdict == Verdict::Waits;
                if let Some(row) = self.rows.iter_mut().rev().find(waits) {
                    row.verdict = Verdict::Passes;
                    row.text = row.text.replace(WAITS, "has its turn at once");
                }
            }
            Event::Split { mtu } => {
                let text = format!("too long: leaves in pieces of at most {mtu} bytes");
                self.note(Verdict::Passes, text);
            }
            Event::Neighbour(hop) => {
                let mac = question::mac_known(r, hop.interface, hop.address).unwrap_or_default();
                self.note(Verdict::Passes, format!("neighbour {} is {mac}", self.hop(*hop)));
            }
            Event::Waits { hop, asked } => {
                let asked = if *asked { "was asked, has not answered" } else { "is not known" };
                let text = format!("waits: neighbour {} {asked}", self.hop(*hop));
                self.note(Verdict::Waits, text);
            }
            Event::Vlan(vlan) => self.text(&format!("its tag comes off: {}", self.name(*vlan))),
            Event::Decapsulated(tunnel) => {
                self.text(&format!("out of its outer packet: {}", self.name(*tunnel)));
            }
            Event::Encapsulated { tunnel, src, dst } => {
                let (src, dst) = (Ipv4Addr::from(*src), Ipv4Addr::from(*dst));
                let name = self.name(*tunnel).to_string();
                self.text(&format!("into a packet of {name}, from {src} to {dst}:"));
            }
            Event::Pushed(label) => {
                self.text(&format!("label {} is put on", label.number()));
            }
            Event::Popped(label) => {
                self.text(&format!("label {} comes off", label.number()));
            }
            Event::Switched { from, to, hop } => {
                let to = match to.filter(|to| to.is_written()) {
                    Some(to) => format!("label {}", to.number()),
                    None => "no label".to_string(),
                };
                let hop = self.hop(*hop);
                let text = format!("label {}: on to {hop} with {to}", from.number());
                self.note(Verdict::Passes, text);
            }
            Event::Encrypts => self.text("a policy has it encrypted"),
            Event::Encrypted { spi, own, other } => {
                let (own, other) = (Ipv4Addr::from(*own), Ipv4Addr::from(*other));
                self.text(&format!(
                    "encrypted with the key of SPI {spi:#x}, from {own} to {other}:"
                ));
            }
            Event::Decrypted { spi } => {
                self.text(&format!("decrypted with the key of SPI {spi:#x}:"));
            }
            Event::Local => self.text("for the router itself"),
            Event::Turned => {
                self.note(Verdict::Answers, "answers: echo reply, which goes back:".to_string());
            }
            Event::Makes(made) => {
                let text = match made {
                    Made::ArpRequest { interface, address } => {
                        let address = Ipv4Addr::from(*address).into();
                        let hop = Near { interface: *interface, address };
                        format!("makes an ARP request: who has {}?", self.hop(hop))
                    }
                    Made::ArpReply => "makes an ARP reply".to_string(),
                    Made::Solicitation { interface, address } => {
                        let address = Ipv6Addr::from(*address).into();
                        let hop = Near { interface: *interface, address };
                        format!("makes a neighbour solicitation: who has {}?", self.hop(hop))
                    }
                    Made::Advertisement => "makes a neighbour advertisement".to_string(),
                    Made::Icmp6Error { kind, code } => {
                        format!(
                            "makes an ICMPv6 error, type {kind} code {code} ({})",
                            icmp6(*kind, *code)
                        )
                    }
                    Made::IcmpError { kind, code } => {
                        format!(
                            "makes an ICMP error, type {kind} code {code} ({})",
                            icmp(*kind, *code)
                        )
                    }
                    Made::Copy => "sends a copy to whoever watches".to_string(),
                    Made::Dns => "makes a DNS message".to_string(),
                    Made::Dhcp => "makes a DHCP message".to_string(),
                    Made::TcpReset => "makes a TCP reset".to_string(),
                    Made::TcpHold => "makes a TCP answer with window 0 (tarpit)".to_string(),
                };
                self.note(Verdict::Makes, text);
                self.makes += 1;
            }
            Event::Done => self.makes -= 1,
            Event::Sent(port) => {
                let name = self.name(*port).to_string();
                self.text(&format!("out by {name}"));
                self.verdict(Verdict::Sent);
            }
            Event::Refuses(why) => {
                self.refused.push(*why);
                self.drops(*why);
            }
            Event::Discarded(why) => match self.refused.iter().position(|told| told == why) {
                Some(at) => _ = self.refused.remove(at),
                None => self.drops(*why),
            },
            Event::Kept(_) | Event::Left(_) => {}
        }
    }

    /// Says more of the box at hand.
    fn text(&mut self, text: &str) {
        let row = self.rows.iter_mut().rev().find(|row| row.step.is_some());
        if let Some(row) = row {
            let comma = if row.text.is_empty() { "" } else { ", " };
            row.text = format!("{}{comma}{text}", row.text);
        }
    }

    fn verdict(&mut self, verdict: Verdict) {
        let row = self.rows.iter_mut().rev().find(|row| row.step.is_some());
        if let Some(row) = row {
            row.verdict = verdict;
        }
    }

    /// Says where it ends: at the box at hand, if that one does something.
    fn drops(&mut self, why: Discard) {
        match self.rows.last_mut() {
            Some(Row { step: Some(step), verdict, text, .. }) if step.is_built() => {
                let comma = if text.is_empty() { "" } else { ", " };
                (*verdict, *text) = (Verdict::Drops, format!("{text}{comma}drops: {why}"));
            }
            _ => self.note(Verdict::Drops, format!("drops: {why}")),
        }
    }

    /// Says something that belongs to no box.
    fn note(&mut self, verdict: Verdict, text: String) {
        self.rows.push(Row { verdict, text, makes: self.makes, ..Row::default() });
    }

    fn rules(&mut self, table: Table, chain: &str, met: &[Met]) {
        let menu: &Menu = match table {
            Table::BridgeFilter => &bridge::filter::menu::FILTER,
            Table::BridgeNat => &bridge::filter::menu::NAT,
            Table::Raw => &raw::MENU,
            Table::Mangle => &mangle::MENU,
            Table::Filter => &FILTER,
            Table::Nat => &NAT,
            Table::Raw6 => &firewall6::RAW,
            Table::Mangle6 => &firewall6::MANGLE,
            Table::Filter6 => &firewall6::FILTER,
        };
        let mut open = true;
        for met in met {
            let Some(item) = self.tree.item(menu.path, met.rule) else {
                // A bridge's own, `dhcp-snooping`.
                if met.failed.is_none() {
                    let text = "dhcp-snooping: matches, drop".to_string();
                    let (verdict, makes) = (Verdict::Matches, self.makes);
                    self.rows.push(Row { verdict, text, makes, ..Row::default() });
                    open = false;
                }
                continue;
            };
            let outcome = match &met.failed {
                Some(failed) => self.failed(failed),
                None => {
                    let action = text(item, "action").unwrap_or("accept").to_string();
                    let ends = item.get("passthrough") == Some(&Value::Bool(false));
                    open = match action.as_str() {
                        "accept" | "drop" | "reject" => false,
                        "jump" | "return" | "passthrough" | "log" | "fasttrack-connection" => true,
                        _ => {
                            matches!(
                                table,
                                Table::Raw | Table::Mangle | Table::Raw6 | Table::Mangle6
                            ) && !ends
                        }
                    };
                    match text(item, "jump-target").filter(|_| action == "jump") {
                        Some(target) => format!("matches, jump to {target}"),
                        None => format!("matches, {action}"),
                    }
                }
            };
            self.rows.push(Row {
                rule: self.numbers.get(&(menu.path, met.rule)).copied(),
                verdict: if met.failed.is_none() { Verdict::Matches } else { Verdict::NoMatch },
                text: format!("{}: {outcome}", rule(menu, item)),
                makes: self.makes,
                depth: met.depth,
                ..Row::default()
            });
        }
        let nothing = if table == Table::Nat { "not translated" } else { "accept" };
        match (met.is_empty(), open) {
            (true, _) => self.text(&format!("no rule in chain {chain}: {nothing}")),
            (false, true) => {
                self.note(Verdict::Passes, format!("end of chain {chain}: {nothing}"));
            }
            (false, false) => {}
        }
        if !met.is_empty() {
            let rules = if met.len() == 1 { "rule" } else { "rules" };
            self.text(&format!("{} {rules} of chain {chain}", met.len()));
        }
    }

    fn failed(&self, failed: &Failed) -> String {
        let Failed { property, has } = failed;
        let marks = &self.r.program.books.marks;
        match has {
            Has::Interface(id) if !id.is_some() => format!("there is no {property}"),
            Has::Interface(id) => format!("{property} is {}", self.name(*id)),
            Has::PacketMark(mark) => self.mark(property, &marks.packet, *mark),
            Has::RoutingMark(mark) => self.mark(property, &marks.routing, *mark),
            Has::ConnectionMark(mark) => self.mark(property, &marks.connection, *mark),
            Has::Text(text) => format!("{property} is {text}"),
            Has::Nothing => format!("it has no {property}"),
        }
    }

    fn mark(&self, property: &str, names: &MarkNames, mark: Mark) -> String {
        format!("{property} is {}", names.name(mark).unwrap_or(Mark::NO_MARK))
    }

    fn tracked(&mut self, state: ConnectionState, flow: Option<Flow>, related: Option<Flow>) {
        let word = ConnectionState::WORDS[state as usize];
        let about = match (flow.or(related), state) {
            (Some(flow), _) => self.connection(flow),
            (None, ConnectionState::New) => "no connection is known, this is a first packet".into(),
            (None, _) => "it belongs to no connection, and cannot begin one".to_string(),
        };
        self.text(&format!("{word}: {about}"));
    }

    /// `connection udp 10.0.1.1:1000->10.0.2.1:2000, flags SAC`.
    fn connection(&self, flow: Flow) -> String {
        let told = match flow.of_ipv6 {
            true => self.connection_of::<u128>(flow.id),
            false => self.connection_of::<u32>(flow.id),
        };
        told.unwrap_or_else(|| "a connection".to_string())
    }

    fn connection_of<F: Stacked>(&self, flow: FlowId) -> Option<String> {
        let connections = F::connections(self.r);
        let entry = connections.entry(connections.flow(flow).connection, self.now)?;
        let tcp =
            entry.tcp_state.map_or(String::new(), |tcp| format!(", tcp-state {}", tcp.name()));
        Some(format!("connection {}, flags {}{tcp}", tuple(&entry.original), entry.flags))
    }

    /// A queue has the packet, or lets it pass.
    fn queued(&mut self, leaf: QueueLeafId, decision: Decision) {
        let program = &self.r.program;
        let tree_item = program.trees.item_of(leaf);
        let (name, boxes): (String, &[Step]) = match tree_item {
            Some(item) => {
                let item = self.tree.item(TREE.path, item);
                let name = item.map_or("", |item| item.name("name"));
                let boxes = &[Step::HtbGlobal, Step::HtbGlobalInput, Step::InterfaceHtb];
                (format!("queue {name}"), boxes)
            }
            None => {
                let item = program.queues.item_of(self.tree, leaf);
                let name = item.map_or("", |(item, _)| item.name("name"));
                let direction = match item {
                    Some((_, true)) => "total",
                    _ => ["upload", "download"][leaf.direction() as usize],
                };
                (
                    format!("queue {name}, {direction}"),
                    &[Step::SimpleQueues, Step::SimpleQueuesInput],
                )
            }
        };
        let (verdict, what) = match decision {
            Decision::Pass => (Verdict::Passes, "within its limit"),
            Decision::Enqueue => (Verdict::Waits, WAITS),
            Decision::DropFull => (Verdict::Drops, "no room to wait"),
        };
        let is_its = |row: &&mut Row| row.step.is_some_and(|step| boxes.contains(&step));
        if let Some(row) = self.rows.iter_mut().rev().find(is_its) {
            let before =
                if row.text.is_empty() { String::new() } else { format!("{}; ", row.text) };
            row.text = format!("{before}{name}: {what}");
            row.verdict = verdict;
        }
    }

    fn hop(&self, hop: Near) -> String {
        format!("{} on {}", hop.address, self.name(hop.interface))
    }

    /// Where the route to an address leads.
    /// What the tables have decided, and which rule has chosen the table.
    fn routed<F: Stacked>(&mut self, address: F, decision: Decided) {
        let Decided::Route { table, leaf, by } = decision else { return };
        let (r, dst) = (self.r, address.ip());
        let prefix = F::routes(r).prefix_in(table, address).map(F::first);
        let prefix = prefix.map(|(first, len)| format!("{}/{len}", first.ip())).unwrap_or_default();
        let name = r.program.books.marks.routing.name(table);
        let within = name.map(|name| format!(" of table {name}")).unwrap_or_default();
        let by = by.map(|by| format!(" by {}", self.route_rule(by))).unwrap_or_default();
        let prefix = format!("{prefix}{within}{by}");
        let text = match F::routes(r).target(leaf) {
            None => format!("no route to {dst}{within}{by}"),
            Some(Target::Local) => format!("{dst} is an address of the router itself"),
            Some(Target::Broadcast) => format!("{dst} is a broadcast address here"),
            Some(Target::Connected(interface)) => {
                format!("{prefix}, connected by {}", self.name(*interface))
            }
            Some(Target::Gateways(ways)) if ways.len() > 1 => {
                format!("{prefix}, one of {} gateways (ECMP)", ways.len())
            }
            Some(Target::Gateways(_)) => prefix,
            Some(Target::Blackhole) => format!("{prefix}, type=blackhole"),
            Some(Target::Unreachable) => format!("{prefix}, type=unreachable"),
            Some(Target::Prohibit) => format!("{prefix}, type=prohibit"),
            Some(Target::Martian) => format!("{prefix}, which is never forwarded"),
            Some(Target::Multicast) => format!("{prefix}, multicast"),
        };
        self.text(&text);
    }

    /// `rule 0 of /routing rule`.
    fn route_rule(&self, by: Origin) -> String {
        match by {
            Origin::Kernel(priority) => format!("the kernel's rule {priority}"),
            Origin::Typed(menu, item) => match self.numbers.get(&(menu, item)) {
                Some(number) => format!("rule {number} of {menu}"),
                None => format!("a rule of {menu}"),
            },
        }
    }

    fn name(&self, id: InterfaceId) -> &'a str {
        &self.r.program.interface(id).name
    }
}

/// How many dummy rules of FastTrack stand in front of a menu's.
fn dummies(menu: &Menu) -> usize {
    match menu.path {
        path if path == FILTER.path => 1,
        path if path == mangle::MENU.path => mangle::DUMMIES.len(),
        _ => 0,
    }
}

/// Of a packet that a queue holds back.
const WAITS: &str = "waits for its turn";

/// What there is to say of a box where nothing was told.
fn nothing_told(r: &Router, step: Step) -> (Verdict, String) {
    let text = match step {
        _ if !step.is_built() => return (Verdict::Missing, "passes (missing)".to_string()),
        Step::BridgeForward | Step::BridgeInput | Step::BridgeOutput => "no rules",
        Step::TrackPrerouting | Step::TrackOutput => "connections are not tracked",
        Step::RawPrerouting | Step::RawOutput => "no rules",
        Step::ManglePrerouting
        | Step::MangleInput
        | Step::MangleForward
        | Step::MangleOutput
        | Step::ManglePostrouting => "no rules",
        Step::DstNat | Step::SrcNat if r.program.tracking => "not translated",
        Step::DstNat | Step::SrcNat => "connections are not tracked, so not translated",
        Step::SimpleQueues | Step::SimpleQueuesInput if r.program.queues.is_empty() => "no queues",
        Step::SimpleQueues | Step::SimpleQueuesInput => "no queue is for it",
        Step::HtbGlobal | Step::HtbGlobalInput | Step::InterfaceHtb => "no queue tree",
        Step::IpsecPolicy if r.program.ipsec.is_none() => "no policies",
        Step::IpsecPolicy => "no policy is for it",
        Step::HotspotIn | Step::HotspotOut if !r.program.hotspot.is_on() => "no hotspot",
        Step::HotspotIn | Step::HotspotOut => "passes",
        Step::MplsDecision => "no label",
        Step::MplsOutput => "no label is told for its route",
        Step::Accounting if r.program.accounted.is_none() => "not enabled",
        Step::Accounting => "counted by its addresses",
        _ => "",
    };
    (Verdict::Passes, text.to_string())
}

/// A rule as it was typed, its action first.
fn rule(menu: &Menu, item: &Item) -> String {
    let action = item.get("action").is_none().then_some(" action=accept");
    let mut words = format!("chain={}{}", text(item, "chain").unwrap_or(""), action.unwrap_or(""));
    for property in menu.properties.iter().filter(|property| property.name != "chain") {
        let Some(value) = item.get(property.name) else { continue };
        let value = value.to_string();
        let quote = if value.is_empty() || value.contains([' ', ';', '"']) { "\"" } else { "" };
        words.push_str(&format!(" {}={quote}{value}{quote}", property.name));
    }
    words
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// What an ICMPv6 error says (RFC 4443 §3).
fn icmp6(kind: u8, code: u8) -> &'static str {
    match (kind, code) {
        (1, 0) => "no route to destination",
        (1, 1) => "administratively prohibited",
        (1, 2) => "beyond scope of source address",
        (1, 3) => "address unreachable",
        (1, 4) => "port unreachable",
        (2, _) => "packet too big",
        (3, 0) => "hop limit exceeded",
        (3, 1) => "reassembly time exceeded",
        (4, _) => "parameter problem",
        _ => "error",
    }
}

/// What an ICMP error says (RFC 792, RFC 1812 §5.2.7.1).
fn icmp(kind: u8, code: u8) -> &'static str {
    match (kind, code) {
        (3, 0) => "network unreachable",
        (3, 1) => "host unreachable",
        (3, 2) => "protocol unreachable",
        (3, 3) => "port unreachable",
        (3, 4) => "fragmentation needed and DF set",
        (3, 9) => "network prohibited",
        (3, 10) => "host prohibited",
        (3, 13) => "administratively prohibited",
        (11, 0) => "TTL exceeded",
        (11, 1) => "reassembly time exceeded",
        _ => "error",
    }
}
