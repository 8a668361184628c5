//! A case of the swarm: boxes, cables, hosts, what they send, and what happens to them; as TOML.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// All that a run follows from, bit for bit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Where random choices of the run start from: which frames a fault hits.
    pub seed: u64,
    /// How long flows and events last, in milliseconds.
    pub storm_ms: u64,
    /// The routers and bridges.
    #[serde(default, rename = "box")]
    pub boxes: Vec<Box>,
    /// The hosts.
    #[serde(default, rename = "host")]
    pub hosts: Vec<Host>,
    /// The cables between them.
    #[serde(default, rename = "cable")]
    pub cables: Vec<Cable>,
    /// What hosts send in the storm.
    #[serde(default, rename = "flow")]
    pub flows: Vec<Flow>,
    /// What happens in the storm, in any order.
    #[serde(default, rename = "event")]
    pub events: Vec<Event>,
}

/// A device of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Box {
    /// Its name.
    pub name: String,
    /// How many ports it has: `ether1`, `ether2` …
    pub ports: u8,
    /// Its configuration.
    pub lines: Vec<String>,
}

/// A simple host: answers ARP, pings, UDP to port 7 and TCP to port 80.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: std::net::Ipv4Addr,
    /// How long its network's prefix is.
    pub prefix: u8,
    /// Where it sends what is not in its network.
    pub gateway: std::net::Ipv4Addr,
    /// Its address of IPv6, in a network of 64 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v6: Option<V6>,
    /// The VLAN whose tag its frames carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
}

/// A host's address of IPv6, and where it sends what is not in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct V6 {
    /// Its address.
    pub address: std::net::Ipv6Addr,
    /// The router's address in its network.
    pub gateway: std::net::Ipv6Addr,
}

/// A cable: its ends are `box:port` or a host's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cable {
    /// Both ends.
    pub ends: [String; 2],
    /// How long a frame takes, in microseconds.
    pub delay_us: u64,
}

/// What a host sends to another one, which answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The host that begins.
    pub from: String,
    /// The host that answers, by IPv6 if `/6` follows its name; or an address that may be nobody's.
    pub to: String,
    /// What kind of packets.
    pub kind: Kind,
    /// How often, in microseconds.
    pub every_us: u64,
    /// How many at once.
    pub burst: u8,
    /// How many bytes of payload.
    pub len: u16,
}

/// What a flow's packets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// UDP to the echo port.
    Udp,
    /// TCP connections, one after the other.
    Tcp,
    /// Echo requests.
    Ping,
    /// What hosts should not send, or seldom do: one of many kinds each time.
    Odd,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, in milliseconds since the storm began.
    pub at_ms: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum What {
    /// A cable harms frames for a while.
    Harm {
        /// One of the cable's ends.
        cable: String,
        /// How.
        how: Harm,
        /// How often of a million times.
        ppm: u32,
        /// For how long, in milliseconds.
        for_ms: u64,
    },
    /// Somebody types a line; what it changed is taken back when the storm is over.
    Type {
        /// At which box.
        at: String,
        /// The line.
        line: String,
    },
    /// The box is started anew from its export; connections, neighbours and hosts are gone.
    Restart {
        /// Which box.
        at: String,
    },
    /// The link of a port goes down, and up again.
    Flap {
        /// The box's end, `box:port`.
        port: String,
        /// How long it is down, in milliseconds.
        for_ms: u64,
    },
}

/// How a cable harms frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Harm {
    /// They vanish.
    Loss,
    /// They come twice.
    Twice,
    /// One bit is another.
    Flip,
    /// The end is cut off.
    Cut,
    /// They come up to 3 ms later, and are overtaken.
    Late,
}

/// The address that a flow's `to` means: `h1`, `h1/6` or an address.
pub(super) fn address(hosts: &[Host], to: &str) -> Option<IpAddr> {
    let find = |name: &str| hosts.iter().find(|host| host.name == name);
    if let Some(name) = to.strip_suffix("/6") {
        return find(name)?.v6.map(|v6| v6.address.into());
    }
    find(to).map(|host| host.address.into()).or_else(|| to.parse().ok())
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn read(text: &str) -> Result<Case, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The case as it is read again.
    ///
    /// # Panics
    /// Never: it is plain data.
    pub fn write(&self) -> String {
        toml::to_string(self).expect("plain data")
    }

    /// Without what speaks of boxes, hosts and cables that are not there.
    pub(super) fn pruned(mut self) -> Case {
        let is_box = |boxes: &[Box], end: &str| {
            let (name, port) = end.split_once(':').unwrap_or((end, "1"));
            let port = port.parse::<u8>().unwrap_or(0);
            boxes.iter().any(|own| own.name == name && (1..=own.ports).contains(&port))
        };
        let is_host = |hosts: &[Host], name: &str| hosts.iter().any(|host| host.name == name);
        let (boxes, hosts) = (&self.boxes, &self.hosts);
        self.cables.retain(|cable| {
            cable
                .ends
                .iter()
                .all(|end| is_box(boxes, end) && end.contains(':') || is_host(hosts, end))
        });
        self.flows.retain(|flow| is_host(hosts, &flow.from) && address(hosts, &flow.to).is_some());
        let cables = &self.cables;
        self.events.retain(|event| match &event.what {
            What::Harm { cable, .. } => cables.iter().any(|own| own.ends.contains(cable)),
            What::Type { at, .. } | What::Restart { at } => is_box(boxes, at),
            What::Flap { port, .. } => is_box(boxes, port),
        });
        self
    }
}
