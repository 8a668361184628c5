//! From what `quick` or `start` was asked for to the plan of a test.
//!
//! ```text
//! tx-template=a,b  ─► stream 0 of a, stream 1 of b     (numbered in the order given)
//! stream=x,y       ─► those of the menu, their numbers
//! neither          ─► all streams of the menu that are not disabled
//!    packet-size= pps= mbps= packet-count= num= port= interface= : a value for each, or one for all
//! ```

use super::Generator;
use super::assume::Assumed;
use super::catalogue::{Headers, StreamItem, Template};
use super::stack::Found;
use super::test::{LanePlan, Plan};
use config::{Call, Value};
use measure::frame::Lengths;
use measure::template::FRAME_LENGTHS;
use port::slab::MAX_FRAME;
use std::net::IpAddr;
use wire::{FrameLen, PacketRate};

/// RouterOS's most.
const MOST_STREAMS: usize = 16;

/// Why there is no test.
pub(super) enum NoTest {
    /// A neighbour has not answered yet, of whom this is said: wait.
    Wait(String),
    /// RouterOS's words.
    Bad(String),
}

impl From<String> for NoTest {
    fn from(why: String) -> NoTest {
        NoTest::Bad(why)
    }
}

impl Generator {
    /// The plan of a test.
    pub(super) fn plan(&self, call: &Call) -> Result<Plan, NoTest> {
        let settings = &self.catalogue.settings;
        let streams = self.streams(call)?;
        let mut lanes = Vec::new();
        let test_id = match call.arguments.get("test-id") {
            Some(Value::Number(id)) => *id as u8,
            _ => settings.test_id,
        };
        for stream in &streams {
            lanes.push(self.lane(stream, test_id)?);
        }
        lanes.sort_by_key(|lane| lane.num);
        if let Some(pair) = lanes.windows(2).find(|pair| pair[0].num == pair[1].num) {
            let num = pair[0].num;
            return Err(format!("failure: two streams have the number {num}").into());
        }
        let flag = |name: &str, default| match call.arguments.get(name) {
            Some(Value::Bool(flag)) => *flag,
            _ => default,
        };
        let duration = match call.arguments.get("duration") {
            Some(Value::Time(duration)) => Some(*duration),
            _ => None,
        };
        Ok(Plan {
            test_id,
            measure_out_of_order: flag("measure-out-of-order", settings.measure_out_of_order),
            latency_max: settings.latency_max,
            samples: settings.samples,
            duration,
            lanes,
        })
    }

    /// The streams asked for, with what was said about each.
    fn streams(&self, call: &Call) -> Result<Vec<StreamItem>, String> {
        let names = |name: &str| match call.arguments.get(name) {
            Some(Value::List(list)) => list.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let (by_stream, templates): (Vec<String>, Vec<String>) =
            (names("stream"), names("tx-template"));
        let known = &self.catalogue.streams;
        let mut streams: Vec<StreamItem> = if !by_stream.is_empty() {
            let find = |name: &String| {
                let found = known.iter().find(|stream| stream.name == *name);
                found.cloned().ok_or_else(|| format!("failure: there is no stream {name}"))
            };
            by_stream.iter().map(find).collect::<Result<_, _>>()?
        } else if !templates.is_empty() {
            let numbered = templates.iter().zip(0..=u8::MAX);
            numbered.map(|(name, num)| StreamItem::of_template(num, name.clone())).collect()
        } else {
            known.iter().filter(|stream| !stream.disabled).cloned().collect()
        };
        if streams.is_empty() {
            return Err("failure: nothing to send: give tx-template=, or add streams".to_string());
        }
        if streams.len() > MOST_STREAMS {
            let n = streams.len();
            return Err(format!("failure: {n} streams, at most {MOST_STREAMS}"));
        }
        if call.arguments.contains_key("port") && call.arguments.contains_key("interface") {
            return Err("failure: port or interface, not both".to_string());
        }
        each(call, &["tx-template"], &mut streams, |stream, value| {
            stream.template = value.to_string();
        })?;
        each(call, &["num", "id"], &mut streams, |stream, value| stream.num = number(value) as u8)?;
        each(call, &["packet-size"], &mut streams, |stream, value| {
            if let Value::Numbers(least, most) = value {
                stream.packet_size = (*least, *most);
            }
        })?;
        each(call, &["pps"], &mut streams, |stream, value| stream.pps = number(value))?;
        each(call, &["mbps"], &mut streams, |stream, value| stream.mbps = number(value))?;
        each(call, &["packet-count"], &mut streams, |stream, value| {
            stream.packet_count = number(value);
        })?;
        each(call, &["interface"], &mut streams, |stream, value| {
            stream.interface = Some(value.to_string());
        })?;
        let ports = &self.catalogue.ports;
        each(call, &["port"], &mut streams, |stream, value| {
            let port = ports.iter().find(|port| port.name == value.to_string() && !port.disabled);
            stream.interface = Some(port.map_or_else(String::new, |port| port.interface.clone()));
        })?;
        Ok(streams)
    }

    fn lane(&self, stream: &StreamItem, test_id: u8) -> Result<LanePlan, NoTest> {
        let name = &stream.template;
        let fault = |why: &str| format!("failure: {name}: {why}");
        let template = self.catalogue.template(name);
        let template = template.ok_or_else(|| format!("failure: there is no template {name}"))?;
        let assumed = self.assumptions.of(template);
        let assumed = assumed.ok_or_else(|| fault("it has not been looked at yet"))?;
        let own = stream.interface.as_ref().map(|name| {
            let port = self.catalogue.port(name);
            port.ok_or_else(|| fault("its port has no interface, or is disabled"))
        });
        let port = own.transpose()?.or(assumed.port);
        let port = port.ok_or_else(|| fault("no port or interface, and no route says which"))?;
        if assumed.is_asking() {
            return Err(NoTest::Wait(fault(assumed.lacks.as_deref().unwrap_or("not known yet"))));
        }
        let mut found = assumed.found;
        if let Some(interface) = self.catalogue.interfaces.get(port) {
            found.mac_src = interface.mac;
        }
        if let Some(lacks) = lacks(template, assumed) {
            return Err(fault(&lacks).into());
        }
        let (least, most) = stream.lengths();
        let (low, high) = (FRAME_LENGTHS.0, FrameLen::without_fcs(MAX_FRAME as u32));
        if least < low || most > high || least > most {
            let [least, most, low, high] = [least, most, low, high].map(FrameLen::in_memory);
            return Err(fault(&format!("packet-size {least}-{most}: use {low} to {high}")).into());
        }
        let plan = template.plan(found, Lengths::Even(least, most));
        let seed = self.tests << 8 | u64::from(stream.num);
        let built = plan.build(stream.num, test_id, seed).map_err(|bad| fault(&bad.to_string()))?;
        // By the mean length, if lengths differ: each is as likely as any other.
        let bits = f64::from(least.in_memory() + most.in_memory()) / 2.0 * 8.0;
        let by_bits = (stream.mbps > 0).then(|| stream.mbps as f64 * 1e6 / bits);
        let by_packets = (stream.pps > 0).then_some(stream.pps as f64);
        let rate = match (by_bits, by_packets) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Ok(LanePlan {
            num: stream.num,
            port,
            stream: built,
            rate: rate.map(PacketRate),
            packets: stream.packet_count,
            checksum_from: template.check(),
        })
    }
}

/// What a template needs and has not.
fn lacks(template: &Template, assumed: &Assumed) -> Option<String> {
    let Headers::Stack(headers) = &template.headers else { return None };
    let Found { mac_dst, ip_src, ip_dst, .. } = assumed.found;
    headers.iter().find_map(|header| {
        let name = header.name();
        let lacks = |side: &str| header.given(&format!("{name}-{side}")).is_none();
        let is = |ip: Option<IpAddr>| ip.is_some_and(|ip| ip.is_ipv4() == (name == "ip"));
        match name {
            "mac" if lacks("dst") && mac_dst == Default::default() => {
                Some(assumed.lacks.clone().unwrap_or_else(|| {
                    "no mac-dst: give it, or ip-gateway, or ip-dst and an address on its port"
                        .to_string()
                }))
            }
            "ip" | "ipv6" if lacks("src") && !is(ip_src) => {
                Some(format!("no {name}-src, and no address on its port to assume"))
            }
            "ip" | "ipv6" if lacks("dst") && !is(ip_dst) => Some(format!("no {name}-dst")),
            _ => None,
        }
    })
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Number(number) => *number as u64,
        _ => 0,
    }
}

/// Gives each stream its value of a list; one value is for all.
fn each(
    call: &Call,
    names: &[&str],
    streams: &mut [StreamItem],
    mut set: impl FnMut(&mut StreamItem, &Value),
) -> Result<(), String> {
    for name in names {
        let Some(Value::List(values)) = call.arguments.get(name) else { continue };
        let (n, there) = (streams.len(), values.len());
        if there != 1 && there != n {
            return Err(format!("failure: {name} has {there} values for {n} streams: 1 or {n}"));
        }
        for (i, stream) in streams.iter_mut().enumerate() {
            set(stream, &values[if there == 1 { 0 } else { i }]);
        }
    }
    Ok(())
}
