//! `/tool torch`: who talks to whom by an interface, and how much (`routeros/I-tools.md`, I.4).
//!
//! ```text
//! MAC-PROTOCOL    IP-PROTOCOL SRC-ADDRESS     SRC-PORT    DST-PORT          TX         RX TX-PACKETS RX-PACKETS
//! ip              tcp         192.168.4.31    63444       8291 (winbox)    3.5kbps    1664bps      1          2
//!                                                                          3.5kbps    1664bps      1          2
//! ```
//!
//! Traffic is told apart by the parameters that were given, and by nothing else: without any there
//! is only the last line, the sum. The source is whoever is behind the interface: what is sent
//! there counts as TX of the row that what comes from there is RX of. Rates are over the time
//! since the last frame, exactly. A row without traffic stays for `entry-timeout`.
//!
//! Sees packets before the firewall; bytes are L2 without FCS.
//! Where addresses of both families are given, each packet is told apart by those of its own.
//!
//! **Missing**: `cpu` (a router has one).

use super::sight::{self, Filter, Sight};
use super::tap::{Tap, TapId};
use crate::counter::Count;
use crate::firewall::syntax;
use crate::interface::bridge::filter::menu::{mac_protocol, mac_protocol_name, read_mac_protocol};
use crate::router::Router;
use config::{
    Call, Command, Display, Group, Job, Progress, Property, Record, Reply, Started, Type, Unnamed,
    Value, number,
};
use port::record::Direction;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use wire::{Ipv4Prefix, Ipv6Prefix, Moment};

/// `/tool torch`.
pub(crate) static TORCH: Command = Command {
    menu: "/tool",
    name: "torch",
    unnamed: Unnamed::Parameter("interface"),
    parameters: &[
        Property::new("interface", super::INTERFACE, "Where to look.").required(),
        Property::new("mac-protocol", any(&Type::Custom(read_mac_protocol)), "By EtherType."),
        Property::new("ip-protocol", any(&Type::Custom(syntax::read_protocol)), "By IP protocol."),
        Property::new("src-address", Type::Cidr, "By address behind the interface, of these."),
        Property::new("dst-address", Type::Cidr, "By address it talks to, of these."),
        Property::new("port", any(&Type::Custom(sight::read_port)), "By ports of TCP and UDP."),
        Property::new("vlan-id", any(&Type::Number(0, 4095)), "By VLAN."),
        Property::new("dscp", any(&Type::Number(0, 63)), "By DSCP."),
        Property::new("duration", Type::Time, "For how long; until stopped if not given."),
        Property::new("freeze-frame-interval", Type::Time, "From one frame to the next.")
            .default("1s"),
        Property::new("entry-timeout", Type::Time, "How long a row without traffic stays.")
            .default("3s"),
        Property::new("src-address6", Type::Cidr6, "As src-address, of IPv6."),
        Property::new("dst-address6", Type::Cidr6, "As dst-address, of IPv6."),
        Property::missing("cpu", "a router runs on one core"),
    ],
    display: Display::Redraw(frame),
    help: "Shows who talks to whom by an interface.",
};

const fn any(kind: &'static Type) -> Type {
    Type::Or(&["any"], kind)
}

/// More rows than this are not kept apart; the sum counts them all the same.
const MOST_ROWS: usize = 10_000;

/// What is told apart: the parameters that were given, in the order of the columns.
type Key = [Option<u128>; 10];

const MAC_PROTOCOL: usize = 0;
const IP_PROTOCOL: usize = 1;
const SRC_ADDRESS: usize = 2;
const DST_ADDRESS: usize = 3;
const SRC_ADDRESS6: usize = 4;
const DST_ADDRESS6: usize = 5;
const SRC_PORT: usize = 6;
const DST_PORT: usize = 7;
const VLAN_ID: usize = 8;
const DSCP: usize = 9;

/// What is looked at, and what was seen.
#[derive(Debug)]
pub(crate) struct Torch {
    pub(crate) filter: Filter,
    wants: Wants,
    rows: BTreeMap<Key, Row>,
    sum: Row,
}

/// Which parameters were given, and what must be there.
#[derive(Clone, Debug, Default)]
struct Wants {
    mac_protocol: Option<(u16, u16)>,
    ip_protocol: Option<Option<u8>>,
    src_address: Networks,
    dst_address: Networks,
    port: Option<(u16, u16)>,
    vlan_id: Option<Option<u16>>,
    dscp: Option<Option<u8>>,
}

/// Of either family, the networks whose addresses are told apart.
type Networks = (Option<Ipv4Prefix>, Option<Ipv6Prefix>);

/// Since the last frame.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    tx: Count,
    rx: Count,
    last: Moment,
}

impl Wants {
    fn read(call: &Call) -> Wants {
        let given = |name: &str| call.arguments.get(name);
        // A value that is not `any`, within what was given.
        fn one<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
            if *value == Value::Text("any".to_string()) { None } else { read(value) }
        }
        let prefix = |name| match given(name) {
            Some(&Value::Cidr(address, len)) => Some(Ipv4Prefix::new(u32::from(address), len)),
            _ => None,
        };
        let prefix6 = |name| match given(name) {
            Some(&Value::Cidr6(address, len)) => Some(Ipv6Prefix::new(u128::from(address), len)),
            _ => None,
        };
        let number = |value: &Value| match value {
            Value::Number(number) => u16::try_from(*number).ok(),
            _ => None,
        };
        let all = (0, u16::MAX);
        Wants {
            mac_protocol: given("mac-protocol")
                .map(|value| one(value, |v| mac_protocol(&v.to_string())).unwrap_or(all)),
            ip_protocol: given("ip-protocol")
                .map(|value| one(value, |v| syntax::protocol_number(&v.to_string()))),
            src_address: (prefix("src-address"), prefix6("src-address6")),
            dst_address: (prefix("dst-address"), prefix6("dst-address6")),
            port: given("port")
                .map(|value| one(value, |v| sight::port_range(&v.to_string())).unwrap_or(all)),
            vlan_id: given("vlan-id").map(|value| one(value, number)),
            dscp: given("dscp").map(|value| one(value, |v| number(v).map(|n| n as u8))),
        }
    }

    /// The row that a frame belongs to; none if it is not looked for.
    fn key(&self, sight: &Sight) -> Option<Key> {
        let mut key = Key::default();
        let within = |(low, high): (u16, u16), n: u16| (low..=high).contains(&n);
        if let Some(range) = self.mac_protocol {
            key[MAC_PROTOCOL] = within(range, sight.ether_type).then_some(sight.ether_type.into());
            key[MAC_PROTOCOL]?;
        }
        if let Some(protocol) = self.ip_protocol {
            let ip = sight.ip.filter(|ip| protocol.is_none_or(|p| p == ip.protocol))?;
            key[MAC_PROTOCOL] = Some(sight.ether_type.into());
            key[IP_PROTOCOL] = Some(ip.protocol.into());
        }
        for (networks, four, six, end) in [
            (self.src_address, SRC_ADDRESS, SRC_ADDRESS6, sight.ip.map(|ip| ip.src)),
            (self.dst_address, DST_ADDRESS, DST_ADDRESS6, sight.ip.map(|ip| ip.dst)),
        ] {
            match (networks, end) {
                ((None, None), _) => {}
                ((Some(network), _), Some(IpAddr::V4(end))) if network.contains(end.into()) => {
                    key[four] = Some(u32::from(end).into());
                }
                ((_, Some(network)), Some(IpAddr::V6(end))) if network.contains(end.into()) => {
                    key[six] = Some(end.into());
                }
                _ => return None,
            }
        }
        if let Some(range) = self.port {
            let (src, dst) = sight.ip.and_then(|ip| ip.ports)?;
            if !within(range, src) && !within(range, dst) {
                return None;
            }
            (key[SRC_PORT], key[DST_PORT]) = (Some(src.into()), Some(dst.into()));
        }
        if let Some(vlan) = self.vlan_id {
            let tag = sight.vlan.filter(|tag| vlan.is_none_or(|vlan| vlan == *tag))?;
            key[VLAN_ID] = Some(tag.into());
        }
        if let Some(dscp) = self.dscp {
            let ip = sight.ip.filter(|ip| dscp.is_none_or(|dscp| dscp == ip.dscp))?;
            key[DSCP] = Some(ip.dscp.into());
        }
        Some(key)
    }
}

impl Torch {
    /// Counts a frame.
    pub(crate) fn see(&mut self, now: Moment, way: Direction, sight: Sight) {
        let sight = if way == Direction::Out { sight.turned() } else { sight };
        let Some(key) = self.wants.key(&sight) else { return };
        self.sum.add(now, way, sight.len);
        let room = self.rows.len() < MOST_ROWS;
        match self.rows.get_mut(&key) {
            Some(row) => row.add(now, way, sight.len),
            None if room && key != Key::default() => {
                self.rows.entry(key).or_default().add(now, way, sight.len);
            }
            None => {}
        }
    }

    /// What passed since this was last asked, `elapsed` ago; the sum comes last.
    fn frame(&mut self, now: Moment, elapsed: Duration, stay: Duration) -> Vec<Record> {
        let mut records = Vec::new();
        for (key, row) in &mut self.rows {
            records.push(row.take(key_record(key), elapsed));
        }
        self.rows.retain(|_, row| now.since(row.last) < stay);
        records.push(self.sum.take(Record::default(), elapsed));
        records
    }
}

impl Row {
    fn add(&mut self, now: Moment, way: Direction, len: usize) {
        let count = if way == Direction::Out { &mut self.tx } else { &mut self.rx };
        count.add(len as u64);
        self.last = now;
    }

    /// Its counts behind its key; it counts from zero again.
    fn take(&mut self, key: Record, elapsed: Duration) -> Record {
        let (tx, rx) = (std::mem::take(&mut self.tx), std::mem::take(&mut self.rx));
        key.with("tx", super::per_second(tx.bytes * 8, elapsed))
            .with("rx", super::per_second(rx.bytes * 8, elapsed))
            .with("tx-packets", super::count(tx.packets))
            .with("rx-packets", super::count(rx.packets))
    }
}

fn key_record(key: &Key) -> Record {
    let mut record = Record::default();
    let mut add = |name, value: Option<Value>| {
        if let Some(value) = value {
            record.0.push((name, value));
        }
    };
    let text = |text: String| Value::Text(text);
    let address = |n: u128| Value::Address(Ipv4Addr::from(n as u32));
    let address6 = |n: u128| Value::Address6(n.into());
    add("mac-protocol", key[MAC_PROTOCOL].map(|n| text(mac_protocol_name(n as u16))));
    add("ip-protocol", key[IP_PROTOCOL].map(|n| text(syntax::protocol_name(n as u8))));
    add("src-address", key[SRC_ADDRESS].map(address));
    add("dst-address", key[DST_ADDRESS].map(address));
    add("src-address6", key[SRC_ADDRESS6].map(address6));
    add("dst-address6", key[DST_ADDRESS6].map(address6));
    add("src-port", key[SRC_PORT].map(|n| text(sight::port_text(n as u16))));
    add("dst-port", key[DST_PORT].map(|n| text(sight::port_text(n as u16))));
    add("vlan-id", key[VLAN_ID].map(|n| Value::Number(n as i64)));
    add("dscp", key[DSCP].map(|n| Value::Number(n as i64)));
    record
}

/// Starts `/tool torch`.
pub(crate) fn start(r: &mut Router, call: &Call, now: Moment) -> Result<Started<Router>, String> {
    let interface = super::interface(r, &call.argument("interface").unwrap_or(Value::Bool(false)))?;
    let torch = Torch {
        filter: Filter::of(interface),
        wants: Wants::read(call),
        rows: BTreeMap::new(),
        sum: Row::default(),
    };
    let frames = super::Frames::read(call, "freeze-frame-interval", now)?;
    let stay = super::time(call, "entry-timeout").unwrap_or_default();
    let tap = r.put_tap(Tap::Torch(torch));
    Ok(Started::Job(Box::new(Look { tap, frames, stay })))
}

struct Look {
    tap: TapId,
    frames: super::Frames,
    stay: Duration,
}

impl Job<Router> for Look {
    fn poll(
        &mut self,
        r: &mut Router,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        if let (Some(elapsed), Some(Tap::Torch(torch))) =
            (self.frames.elapsed(now), r.tools.taps.get(self.tap))
        {
            out.extend(torch.frame(now, elapsed, self.stay));
        }
        Ok(self.frames.progress(now, Reply::Nothing))
    }

    fn stop(&mut self, r: &mut Router, _: Moment) {
        r.take_tap(self.tap);
    }
}

/// The columns that tell rows apart: name, least width.
const COLUMNS: [(&str, usize); 10] = [
    ("mac-protocol", 15),
    ("ip-protocol", 11),
    ("src-address", 15),
    ("dst-address", 15),
    ("src-address6", 25),
    ("dst-address6", 25),
    ("src-port", 11),
    ("dst-port", 11),
    ("vlan-id", 7),
    ("dscp", 4),
];

/// The table.
fn frame(group: &Group) -> String {
    if group.records.is_empty() {
        return String::new();
    }
    let get =
        |record: &Record, name: &str| record.get(name).map_or(String::new(), Value::to_string);
    let shown = COLUMNS.iter().filter(|(name, _)| {
        // Without traffic there is no row to say which columns there are.
        let given = group.call.arguments.contains_key(*name)
            || (name.ends_with("-port") && group.call.arguments.contains_key("port"))
            || (*name == "mac-protocol" && group.call.arguments.contains_key("ip-protocol"));
        given || group.records.iter().any(|record| record.get(name).is_some())
    });
    let columns: Vec<(&str, usize)> = shown
        .map(|&(name, least)| {
            let widest = group.records.iter().map(|record| get(record, name).len()).max();
            (name, widest.unwrap_or(0).max(least))
        })
        .collect();
    let line = |keys: &dyn Fn(&str) -> String, counts: [String; 4]| {
        let mut line = String::new();
        for &(name, width) in &columns {
            line += &format!("{:<width$} ", keys(name));
        }
        let counts = counts.map(|count| format!("{count:>10}"));
        line + &counts.join(" ") + "\n"
    };
    let titles = ["TX", "RX", "TX-PACKETS", "RX-PACKETS"].map(str::to_string);
    let mut text = line(&|name| name.to_uppercase(), titles);
    for record in group.records {
        let rate = |name| match record.get(name) {
            Some(&Value::Number(bits)) => number::rate(bits.unsigned_abs()),
            _ => String::new(),
        };
        let packets = |name| match record.get(name) {
            Some(&Value::Number(packets)) => number::signed_count(packets),
            _ => String::new(),
        };
        let counts = [rate("tx"), rate("rx"), packets("tx-packets"), packets("rx-packets")];
        text += &line(&|name| get(record, name), counts);
    }
    text
}
