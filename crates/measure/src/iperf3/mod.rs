//! The iperf3 method of source 002: what pairs of iperf3 processes have measured, on every layer.
//!
//! ```text
//! output ─► Figures, a pair each ─┐
//! link, packet length, headers ───┴─► Row ─► Results { wirespeed-iperf3/1 } ─► report, JSON
//!                                      ├ faults: above the wire, sums, packets of another length
//!                                      ├ mixed: the simple IMIX, computed of a device's rows
//!                                      ├ validity: what the machine did meanwhile
//! what ping and irtt printed ─► Latency ┘
//! ```
//!
//! The rate of a row is the sum of its pairs' rates, each by its receiver's bytes and seconds. Layers
//! follow from the length of the packets: every one of a TCP connection but its last is full, since
//! what is written is what fits. Where frames are what they seem the interface's counters say so.
//!
//! Never starts anything. Missing: **packets with IP options** (iperf3 cannot make any).

// How long packets take, by ping and irtt.
mod latency;
// What cannot be of latencies, paths and pairs.
mod fault;
// What kept a rate from being higher.
mod limit;
// What iperf3 wrote.
mod output;
// What TCP makes of the path (RFC 6349).
mod path;
// What the machine did meanwhile.
mod validity;

pub use latency::{Latency, Tool, pings};
pub use output::figures;
pub use path::{HostPath, HostTransfer};
pub use validity::{AGAIN, Validity, undisturbed};

use crate::result::{Environment, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use wire::throughput::tcp::{Headers, iperf3_with};

/// Name and version of the format.
pub const SCHEMA: &str = "wirespeed-iperf3/1";

/// What the hosts without a device are called, as if they were one.
pub const DIRECT: &str = "node to node";

/// A run: the whole of a result file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: String,
    /// The plan's name.
    pub name: String,
    /// The plan, as it was read.
    pub plan: String,
    /// Whether it was shortened.
    pub quick: bool,
    /// Where and how it was run.
    pub environment: Environment,
    /// Why it is not all that was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete_because: Option<String>,
    /// What a device cannot do, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
    /// How hosts and devices were set up, in order.
    pub setups: Vec<Setup>,
    /// What was measured.
    pub rows: Vec<Row>,
    /// How long packets took, if it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Latency>,
    /// What TCP made of each path (RFC 6349), if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<HostPath>,
}

/// How two hosts and what is between them were set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Which setting it is: [`Row::setting`] names it.
    pub device: String,
    /// Of all interfaces.
    pub mtu: u32,
    /// What was done, in the words of `ip`, `sysctl`, `ethtool` and `tc`, or RouterOS's.
    pub commands: Vec<String>,
    /// What came of it: offloads, ports, processors.
    pub facts: Vec<String>,
}

/// What packets are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// As the source has it.
    Tcp,
    /// With losses counted.
    Udp,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the first host to the second.
    OneWay,
    /// As many pairs the other way as well.
    BothWays,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Protocol::Tcp => "TCP",
            Protocol::Udp => "UDP",
        })
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Direction::OneWay => "one way",
            Direction::BothWays => "both ways",
        })
    }
}

/// How exactly the ends of a window are known, in seconds: what a shaper has saved up and a receiver
/// reads late may fall into it.
const EDGE: f64 = 0.005;

/// What one pair of processes has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Payload received in the window that counts.
    pub bytes: u64,
    /// In which time, by the receiver's clock.
    pub seconds: f64,
    /// Payload received in all, before and after it, too.
    pub all_bytes: u64,
    /// UDP: packets sent in all.
    pub packets_sent: Option<u64>,
    /// UDP: packets received in all.
    pub packets_received: Option<u64>,
    /// UDP: what iperf3 calls lost; packets behind the last one received are none of them.
    pub lost_told: Option<u64>,
    /// TCP: segments sent again, in all.
    pub retransmits: Option<u64>,
    /// TCP: the MSS that was used.
    pub mss: Option<u32>,
    /// How busy the sender was, per cent of one processor.
    pub client_cpu: Option<f64>,
    /// How busy the receiver was.
    pub server_cpu: Option<f64>,
}

impl Figures {
    /// Payload, bit/s.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.seconds
    }

    /// UDP: packets that were sent and had not arrived at the end; negative if more arrived.
    pub fn lost(&self) -> Option<i64> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Some(signed(self.packets_sent?) - signed(self.packets_received?))
    }
}

/// A pair of processes: what was started, and all that they wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// From the second host to the first.
    pub reverse: bool,
    /// The sender.
    pub client_command: String,
    /// The receiver.
    pub server_command: String,
    /// What came of it.
    pub figures: Figures,
    /// The sender's JSON.
    pub client: Value,
    /// The receiver's JSON.
    pub server: Value,
}

/// What an interface has counted during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    /// Frames that came to the receiving host.
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
}

/// What is measured in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// `node to node`, or the router between the nodes.
    pub device: String,
    /// Of what.
    pub protocol: Protocol,
    /// From where.
    pub direction: Direction,
    /// IP packet, bytes.
    pub packet: u32,
    /// TCP has time stamps.
    pub timestamps: bool,
    /// Pairs of processes in each direction.
    pub pairs: u32,
    /// Streams of each pair.
    pub streams: u32,
    /// The wire's rate in 10⁶ bit/s (L1), if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_mbps: Option<f64>,
}

impl Setting {
    /// What stands before the payload.
    pub fn headers(&self) -> Headers {
        let udp = self.protocol == Protocol::Udp;
        Headers { udp, timestamps: self.timestamps && !udp, ip_options: 0 }
    }

    /// In a few words, which tell it from the others of a run.
    pub fn name(&self) -> String {
        let Setting { device, protocol, direction, packet, .. } = self;
        format!("{device}, {protocol}, {direction}, {packet} byte")
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    #[serde(flatten)]
    pub setting: Setting,
    /// `-l`.
    pub length: u32,
    /// `-M`; 0 for UDP.
    pub mss: u32,
    /// Payload of all pairs, 10⁶ bit/s: what iperf3 says.
    pub payload_mbps: f64,
    /// IP packets, 10⁶ bit/s.
    pub l3_mbps: f64,
    /// Frames without FCS, as the source counts layer 2.
    pub l2_without_fcs_mbps: f64,
    /// Frames with FCS.
    pub l2_mbps: f64,
    /// With preamble and gap.
    pub l1_mbps: f64,
    /// Thousands of packets per second.
    pub kpps: f64,
    /// Layer 3 twice, in and out, as data sheets count.
    pub data_sheet_mbps: f64,
    /// UDP: packets lost in all.
    pub lost: Option<i64>,
    /// TCP: segments sent again in all.
    pub retransmits: Option<u64>,
    /// What came to the second host, one way and without offloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<Arrived>,
    /// What to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Whether it says something about the device.
    #[serde(flatten)]
    pub validity: Validity,
    /// Who measured it.
    pub pairs_run: Vec<Pair>,
}

impl Row {
    /// Of what its pairs did; `None` if there is no packet so short.
    pub fn of(setting: Setting, pairs_run: Vec<Pair>, arrived: Option<Arrived>) -> Option<Row> {
        let by = iperf3_with(setting.packet, setting.headers())?;
        let payload = pairs_run.iter().map(|pair| pair.figures.rate()).sum::<f64>() / 1e6;
        let figures = || pairs_run.iter().map(|pair| pair.figures);
        let mut remarks = Vec::new();
        let told: Option<u64> = figures().map(|figures| figures.lost_told).sum();
        let lost: Option<i64> = figures().map(|figures| figures.lost()).sum();
        if let (Some(told), Some(lost)) = (told, lost)
            && i64::try_from(told) != Ok(lost)
        {
            remarks.push(format!("iperf3 itself counts {told} lost: none behind the last to come"));
        }
        for (who, load) in [
            ("a sender", figures().filter_map(|f| f.client_cpu).fold(0.0, f64::max)),
            ("a receiver", figures().filter_map(|f| f.server_cpu).fold(0.0, f64::max)),
        ] {
            if load > 90.0 {
                remarks
                    .push(format!("{who} was busy for {load:.0} %: the tester may be the limit"));
            }
        }
        Some(Row {
            length: by.length,
            mss: by.mss,
            payload_mbps: payload,
            l3_mbps: payload * by.l3,
            l2_without_fcs_mbps: payload * by.l2,
            l2_mbps: payload * by.l2_fcs,
            l1_mbps: payload * by.l1,
            kpps: payload * 1e3 / 8.0 / f64::from(by.length),
            data_sheet_mbps: payload * by.l3 * 2.0,
            lost,
            retransmits: figures().map(|figures| figures.retransmits).sum(),
            arrived,
            remarks,
            validity: Validity::default(),
            setting,
            pairs_run,
        })
    }

    /// The most that the wire carries in this row, both directions counted if both are used, in
    /// 10⁶ bit/s of IP packets.
    pub fn most_l3_mbps(&self) -> Option<f64> {
        let by = iperf3_with(self.setting.packet, self.setting.headers())?;
        let ways = if self.setting.direction == Direction::BothWays { 2.0 } else { 1.0 };
        Some(self.setting.link_mbps? * ways * by.l3 / by.l1)
    }

    /// All that cannot be. None in a sound row.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if let Some(by) = iperf3_with(self.setting.packet, self.setting.headers()) {
            for (reverse, way) in [(false, "there"), (true, "back")] {
                let pairs = || self.pairs_run.iter().filter(|pair| pair.reverse == reverse);
                let shortest = pairs().map(|pair| pair.figures.seconds).fold(f64::MAX, f64::min);
                let most = |link: f64| link * (1.0 + EDGE / shortest);
                let l1 = pairs().map(|pair| pair.figures.rate()).sum::<f64>() / 1e6 * by.l1;
                if let Some(link) = self.setting.link_mbps.filter(|link| l1 > most(*link)) {
                    let above = (l1 / link - 1.0) * 100.0;
                    faults.push(Fault(format!(
                        "{way}, {l1:.1} Mbps(L1) are {above:.2} % above the wire's {link}"
                    )));
                }
            }
        } else {
            faults.push(Fault(format!("there is no packet of {} bytes", self.setting.packet)));
        }
        for pair in &self.pairs_run {
            if let Some(mss) = pair.figures.mss.filter(|mss| *mss != self.mss && self.mss > 0) {
                faults.push(Fault(format!("the MSS was {mss}, not the {} asked for", self.mss)));
            }
        }
        if let Some(lost) = self.lost.filter(|lost| *lost < 0) {
            faults.push(Fault(format!("{lost} packets lost: more came than were sent")));
        }
        faults.extend(self.not_the_pairs().into_iter().map(Fault));
        faults.extend(self.other_lengths());
        faults
    }

    /// Whether the frames that came are as long as they should be: payload is bytes less headers.
    fn other_lengths(&self) -> Option<Fault> {
        let arrived = self.arrived.filter(|arrived| arrived.frames > 1000)?;
        let mean = arrived.bytes as f64 / arrived.frames as f64 - 14.0;
        let packet = f64::from(self.setting.packet);
        // A connection's first and last packets are short, and so is what controls the test.
        ((mean / packet - 1.0).abs() > 0.05).then(|| {
            Fault(format!(
                "the packets that came have {mean:.1} bytes on average, not {packet}: layers 3 and \
                 2 do not follow from the payload"
            ))
        })
    }
}

/// The simple IMIX of the source, computed of rows of single lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixed {
    /// Thousands of packets per second.
    pub kpps: f64,
    /// 10⁶ bit/s of IP packets.
    pub l3_mbps: f64,
    /// Where each length's time comes from.
    pub basis: String,
}

/// IP packets and how many of each: "Simple IMIX" (source 002).
pub const SIMPLE_IMIX: [(u32, u32); 3] = [(40, 7), (576, 4), (1500, 1)];

/// What a device would do with the simple IMIX, if each packet took it the time that packets of this
/// length took in these rows; times of lengths between are interpolated, those of shorter ones are
/// the shortest row's. Invalid rows have no times. `None` if the others do not reach from 128 bytes, the shortest TCP, to 1500, or
/// one has no packets.
pub fn mixed(rows: &[&Row]) -> Option<Mixed> {
    let valid = rows.iter().filter(|row| row.validity.is_valid());
    let mut times: Vec<(u32, f64)> =
        valid.map(|row| (row.setting.packet, 1e-3 / row.kpps)).collect();
    times.sort_by_key(|(packet, _)| *packet);
    let too_long = times.first().is_none_or(|(packet, _)| *packet > 128);
    if too_long || times.iter().any(|(_, time)| !time.is_finite()) {
        return None;
    }
    let (mut time, mut packets, mut bytes, mut basis) = (0.0, 0.0, 0.0, Vec::new());
    for (length, count) in SIMPLE_IMIX {
        let above = times.iter().position(|(packet, _)| *packet >= length)?;
        let (packet, at_above) = times[above];
        let each = match above.checked_sub(1).map(|below| times[below]) {
            _ if packet == length => {
                basis.push(format!("{length} measured"));
                at_above
            }
            None => {
                basis.push(format!("{length} as {packet}"));
                at_above
            }
            Some((shorter, at_below)) => {
                basis.push(format!("{length} between {shorter} and {packet}"));
                let share = f64::from(length - shorter) / f64::from(packet - shorter);
                at_below + share * (at_above - at_below)
            }
        };
        time += f64::from(count) * each;
        packets += f64::from(count);
        bytes += f64::from(count) * f64::from(length);
    }
    let (kpps, l3_mbps) = (packets / time / 1e3, bytes * 8.0 / time / 1e6);
    Some(Mixed { kpps, l3_mbps, basis: basis.join(", ") })
}

impl Results {
    /// All that cannot be, each with the row's name.
    pub fn faults(&self) -> Vec<String> {
        let of = |row: &Row| {
            let name = row.setting.name();
            let faults = row.faults().into_iter();
            faults.map(|fault| format!("{name}: {fault}")).collect::<Vec<_>>()
        };
        let of_rows = self.rows.iter().flat_map(of);
        of_rows.chain(self.faults_beside_rows()).collect()
    }
}

#[cfg(test)]
mod tests;
