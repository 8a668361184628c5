//! `/tool sniffer quick`: frames as they come and go, a row each.
//!
//! ```text
//! INTERFACE      TIME    NUM DIR SRC-MAC           DST-MAC           VLAN SRC-ADDRESS   …  PROTOCOL SIZE CPU FP
//! ether1        6.886      5 <-  04:F0:21:45:C9:0C 08:00:27:7D:3B:33      9.9.9.9:443 (https) …
//! ```

use super::capture::{direction, seconds};
use crate::firewall::syntax;
use crate::interface::InterfaceId;
use crate::interface::bridge::filter::menu::mac_protocol_name;
use crate::router::Router;
use crate::tool::sight::{Filter, Sight, address_text};
use crate::tool::tap::{Tap, TapId};
use crate::tool::{self, Frames};
use config::{Call, Group, Job, Progress, Record, Reply, Started, Value};
use port::record::Direction;
use std::fmt::Write as _;
use wire::Moment;

/// Rows between two looks; what comes beyond them is missing, which its number shows.
const MOST_ROWS: usize = 10_000;

/// What was seen and is not shown yet.
#[derive(Debug)]
pub(crate) struct Quick {
    pub(crate) filter: Filter,
    started: Moment,
    next: u64,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    at: Moment,
    port: InterfaceId,
    way: Direction,
    number: u64,
    sight: Sight,
}

impl Quick {
    /// Notes a frame, if it is looked for.
    pub(crate) fn see(&mut self, at: Moment, port: InterfaceId, way: Direction, sight: Sight) {
        if !self.filter.wants(&sight) {
            return;
        }
        let number = self.next;
        self.next += 1;
        if self.rows.len() < MOST_ROWS {
            self.rows.push(Row { at, port, way, number, sight });
        }
    }
}

/// Starts it.
pub(super) fn start(r: &mut Router, call: &Call, now: Moment) -> Result<Started<Router>, String> {
    let filter = Filter::read(&r.program, |name| call.argument(name));
    let frames = Frames::read(call, "freeze-frame-interval", now)?;
    let tap = r.put_tap(Tap::Quick(Quick { filter, started: now, next: 0, rows: Vec::new() }));
    Ok(Started::Job(Box::new(Look { tap, frames })))
}

struct Look {
    tap: TapId,
    frames: Frames,
}

impl Job<Router> for Look {
    fn poll(
        &mut self,
        r: &mut Router,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        self.frames.elapsed(now);
        if let Some(Tap::Quick(quick)) = r.tools.taps.get(self.tap) {
            let (started, rows) = (quick.started, std::mem::take(&mut quick.rows));
            out.extend(rows.iter().map(|row| record(r, started, row)));
        }
        Ok(self.frames.progress(now, Reply::Nothing))
    }

    fn stop(&mut self, r: &mut Router, _: Moment) {
        r.take_tap(self.tap);
    }
}

fn record(r: &Router, started: Moment, row: &Row) -> Record {
    let Row { at, port, way, number, sight } = row;
    let text = |text: String| Value::Text(text);
    let mut record = Record::default()
        .with("interface", text(r.interface_name(*port)))
        .with("time", text(seconds(started, *at)))
        .with("num", tool::count(*number))
        .with("direction", text(direction(*way).to_string()))
        .with("src-mac", Value::Mac(sight.src_mac))
        .with("dst-mac", Value::Mac(sight.dst_mac));
    if let Some(vlan) = sight.vlan {
        record = record.with("vlan", Value::Number(vlan.into()));
    }
    let mut protocol = mac_protocol_name(sight.ether_type);
    if let Some(ip) = sight.ip {
        let (src_port, dst_port) = (ip.ports.map(|p| p.0), ip.ports.map(|p| p.1));
        record = record
            .with("src-address", text(address_text(ip.src, src_port)))
            .with("dst-address", text(address_text(ip.dst, dst_port)));
        let _ = write!(protocol, ":{}", syntax::protocol_name(ip.protocol));
    }
    record
        .with("protocol", text(protocol))
        .with("size", tool::count(sight.len as u64))
        .with("cpu", Value::Number(0))
        .with("fp", Value::Bool(false))
}

/// Rows below the title.
pub(super) fn rows(group: &Group) -> String {
    let mut text = String::new();
    let line = |cells: [&str; 13]| {
        let [interface, time, num, dir, src_mac, dst_mac, vlan, src, dst, protocol, size, cpu, fp] =
            cells;
        let line = format!(
            "{interface:<12} {time:>8} {num:>6} {dir:<3} {src_mac:<17} {dst_mac:<17} {vlan:<4} \
             {src:<23} {dst:<23} {protocol:<8} {size:>4} {cpu:>3} {fp}"
        );
        line.trim_end().to_string() + "\n"
    };
    if group.before == 0 && !group.records.is_empty() {
        text += &line([
            "INTERFACE",
            "TIME",
            "NUM",
            "DIR",
            "SRC-MAC",
            "DST-MAC",
            "VLAN",
            "SRC-ADDRESS",
            "DST-ADDRESS",
            "PROTOCOL",
            "SIZE",
            "CPU",
            "FP",
        ]);
    }
    for record in group.records {
        let get = |name| record.get(name).map_or(String::new(), Value::to_string);
        let dir = if get("direction") == "tx" { "->" } else { "<-" };
        text += &line([
            &get("interface"),
            &get("time"),
            &get("num"),
            dir,
            &get("src-mac"),
            &get("dst-mac"),
            &get("vlan"),
            &get("src-address"),
            &get("dst-address"),
            &get("protocol"),
            &get("size"),
            &get("cpu"),
            &get("fp"),
        ]);
    }
    text
}
