//! Capture of the sniffer: the newest frames in memory, and the file that is growing.

use super::menu::{SNIFFER, bytes, server};
use crate::firewall::syntax;
use crate::interface::InterfaceId;
use crate::interface::bridge::filter::menu::mac_protocol_name;
use crate::ip::datagram::End;
use crate::router::Router;
use crate::tool::sight::{Filter, Sight, address_text};
use config::{Tree, Value};
use port::pcapng::Writer;
use port::record::{Direction, Record};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use wire::Moment;

/// One frame.
#[derive(Debug)]
pub(crate) struct Packet {
    at: Moment,
    port: InterfaceId,
    way: Direction,
    /// From 0, in the order in which they were seen.
    pub(crate) number: u64,
    /// What it was on the wire; fewer bytes may be kept.
    sight: Sight,
    bytes: Box<[u8]>,
}

/// What `start` keeps.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) filter: Filter,
    started: Moment,
    only_headers: bool,
    scroll: bool,
    memory: VecDeque<Arc<Packet>>,
    memory_len: usize,
    memory_limit: usize,
    next: u64,
    file: Option<File>,
    /// The interfaces of the file, by number: the device's ports.
    ports: Vec<(InterfaceId, String)>,
    full: bool,
    /// Who gets them as they come, and those that were not sent yet.
    to: Option<End>,
    streamed: Vec<Box<[u8]>>,
}

#[derive(Debug)]
struct File {
    name: String,
    packets: Vec<Arc<Packet>>,
    len: usize,
    limit: usize,
}

/// Frames that a breath sends on at most.
const MOST_STREAMED: usize = 4096;

/// What a frame takes in a file beside its bytes: block header and trailer, direction.
const OVERHEAD: usize = 44;

impl Capture {
    /// As `/tool sniffer` says.
    pub(super) fn new(r: &Router, tree: &Tree, now: Moment) -> Capture {
        let settings = tree.read_settings(&SNIFFER);
        let filter = Filter::read(&r.program, |name| {
            settings.opt(&format!("filter-{name}")).map(Cow::into_owned)
        });
        let ports: Vec<_> = r.program.ports.iter().map(|&id| (id, r.interface_name(id))).collect();
        let name = settings.text("file-name");
        let limit = bytes(&settings.text("file-limit"));
        let file = File { name, packets: Vec::new(), len: as_file(&ports, &[]).len(), limit };
        Capture {
            filter,
            started: now,
            only_headers: settings.bool("only-headers"),
            scroll: settings.bool("memory-scroll"),
            memory: VecDeque::new(),
            memory_len: 0,
            memory_limit: bytes(&settings.text("memory-limit")),
            next: 0,
            file: Some(file).filter(|file| !file.name.is_empty()),
            ports,
            full: false,
            to: settings
                .bool("streaming-enabled")
                .then(|| server(&settings.text("streaming-server")))
                .flatten(),
            streamed: Vec::new(),
        }
    }

    /// Whether it wants no more.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// What is to be sent on, and to whom.
    pub(crate) fn take_streamed(&mut self) -> Option<(End, Vec<Box<[u8]>>)> {
        let to = self.to.filter(|_| !self.streamed.is_empty())?;
        Some((to, std::mem::take(&mut self.streamed)))
    }

    /// Sends a frame on, but for those that were sent on already.
    fn stream(&mut self, sight: &Sight, frame: &[u8]) {
        let Some(to) = self.to else { return };
        let is_own = sight.ip.is_some_and(|ip| {
            let address = IpAddr::V4(to.address.into());
            ip.dst == address && ip.ports.is_some_and(|(_, port)| port == to.port)
        });
        if !is_own && self.streamed.len() < MOST_STREAMED {
            self.streamed.push(frame.into());
        }
    }

    /// Keeps a frame, if it is looked for and there is room.
    pub(crate) fn see(
        &mut self,
        at: Moment,
        port: InterfaceId,
        way: Direction,
        sight: Sight,
        frame: &[u8],
    ) {
        if self.full || !self.filter.wants(&sight) {
            return;
        }
        let kept = if self.only_headers { &frame[..sight.headers] } else { frame };
        let size = kept.len().next_multiple_of(4) + OVERHEAD;
        let has_room = |file: &File| file.len + size <= file.limit;
        let memory_full = self.memory_len + size > self.memory_limit;
        if !self.file.as_ref().is_none_or(has_room) || (memory_full && !self.scroll) {
            self.full = true;
            return;
        }
        self.stream(&sight, kept);
        let packet = Packet { at, port, way, number: self.next, sight, bytes: kept.into() };
        self.next += 1;
        let packet = Arc::new(packet);
        if let Some(file) = &mut self.file {
            file.len += size;
            file.packets.push(packet.clone());
        }
        self.memory_len += size;
        self.memory.push_back(packet);
        while self.memory_len > self.memory_limit
            && let Some(oldest) = self.memory.pop_front()
        {
            self.memory_len -= oldest.bytes.len().next_multiple_of(4) + OVERHEAD;
        }
    }

    /// The file it was to fill, its name and content, once.
    pub(super) fn take_file(&mut self) -> Option<(String, Vec<u8>)> {
        let file = self.file.take()?;
        let content = as_file(&self.ports, &file.packets);
        Some((file.name, content))
    }

    /// What is in memory, as a file.
    pub(super) fn memory_as_file(&self) -> Vec<u8> {
        let packets: Vec<_> = self.memory.iter().cloned().collect();
        as_file(&self.ports, &packets)
    }

    /// Frames in memory from this number on.
    pub(crate) fn from(&self, number: u64) -> impl Iterator<Item = &Packet> {
        let first = self.memory.front().map_or(0, |packet| packet.number);
        let skip = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        self.memory.iter().skip(skip).map(|packet| &**packet)
    }

    /// The properties of `/tool sniffer packet`.
    pub(crate) fn values(&self, r: &Router, packet: &Packet) -> BTreeMap<&'static str, Value> {
        let Packet { sight, .. } = packet;
        let text = |text: String| Value::Text(text);
        let number = |n: u64| Value::Number(i64::try_from(n).unwrap_or(i64::MAX));
        let mut values = BTreeMap::from([
            ("time", text(seconds(self.started, packet.at))),
            ("num", number(packet.number)),
            ("direction", text(direction(packet.way).to_string())),
            ("src-mac", Value::Mac(sight.src_mac)),
            ("dst-mac", Value::Mac(sight.dst_mac)),
            ("interface", text(r.interface_name(packet.port))),
            ("protocol", text(mac_protocol_name(sight.ether_type))),
            ("size", number(sight.len as u64)),
            ("fp", Value::Bool(false)),
        ]);
        if let Some(vlan) = sight.vlan {
            values.insert("vlan", number(vlan.into()));
        }
        if let Some(ip) = sight.ip {
            let (src_port, dst_port) = (ip.ports.map(|p| p.0), ip.ports.map(|p| p.1));
            values.insert("src-address", text(address_text(ip.src, src_port)));
            values.insert("dst-address", text(address_text(ip.dst, dst_port)));
            values.insert("ip-protocol", text(syntax::protocol_name(ip.protocol)));
        }
        values
    }
}

/// `rx` or `tx`.
pub(super) fn direction(way: Direction) -> &'static str {
    match way {
        Direction::In => "rx",
        Direction::Out => "tx",
    }
}

/// `6.886` seconds between two moments.
pub(super) fn seconds(from: Moment, to: Moment) -> String {
    let ms = (to - from).as_millis();
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

fn as_file(ports: &[(InterfaceId, String)], packets: &[Arc<Packet>]) -> Vec<u8> {
    let names: Vec<&str> = ports.iter().map(|(_, name)| name.as_str()).collect();
    let write = || -> std::io::Result<Vec<u8>> {
        let mut writer = Writer::with_interfaces(Vec::new(), &names)?;
        for packet in packets {
            let record = Record {
                original_len: packet.sight.len as u32,
                direction: Some(packet.way),
                ..Record::ethernet(packet.at.as_nanos(), &packet.bytes)
            };
            let interface = ports.iter().position(|(id, _)| *id == packet.port).unwrap_or(0);
            writer.write_from(interface as u32, &record)?;
        }
        writer.finish()
    };
    // Writing to memory does not fail, and frames are shorter than any limit.
    write().unwrap_or_default()
}
