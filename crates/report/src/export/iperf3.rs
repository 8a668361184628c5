//! Records of the iperf3 method.
//!
//! ```text
//! kind,device,protocol,…,tool,sent,…,window,…       throughput │ latency │ transfer: a line for each,
//!                                                   empty where a column is of another kind
//! ```

use crate::document::{Column, Table, optional};
use measure::iperf3::{HostPath, HostTransfer, Latency, Results, Row, Validity};

/// A record: of one of these, a transfer with its path.
#[derive(Clone, Copy, Default)]
struct Line<'a> {
    kind: &'static str,
    device: &'a str,
    validity: Option<&'a Validity>,
    row: Option<&'a Row>,
    latency: Option<&'a Latency>,
    path: Option<&'a HostPath>,
    transfer: Option<&'a HostTransfer>,
}

impl<'a> Line<'a> {
    fn of(kind: &'static str, device: &'a str, validity: &'a Validity) -> Line<'a> {
        Line { kind, device, validity: Some(validity), ..Line::default() }
    }
}

fn columns<'a>() -> [Column<Line<'a>>; 42] {
    [
        ("kind", |of| of.kind.to_string()),
        ("device", |of| of.device.to_string()),
        ("protocol", |of| optional(of.row.map(|row| row.setting.protocol))),
        ("direction", |of| optional(of.row.map(|row| row.setting.direction))),
        ("packet_l3", |of| optional(of.row.map(|row| row.setting.packet))),
        ("pairs", |of| optional(of.row.map(|row| row.setting.pairs))),
        ("streams", |of| optional(of.row.map(|row| row.setting.streams))),
        ("length", |of| optional(of.row.map(|row| row.length))),
        ("mss", |of| optional(of.row.map(|row| row.mss))),
        ("payload_mbps", |of| optional(of.row.map(|row| row.payload_mbps))),
        ("l3_mbps", |of| optional(of.row.map(|row| row.l3_mbps))),
        ("l2_without_fcs_mbps", |of| optional(of.row.map(|row| row.l2_without_fcs_mbps))),
        ("l2_mbps", |of| optional(of.row.map(|row| row.l2_mbps))),
        ("l1_mbps", |of| optional(of.row.map(|row| row.l1_mbps))),
        ("kpps", |of| optional(of.row.map(|row| row.kpps))),
        ("link_l1_mbps", |of| optional(of.row.and_then(|row| row.setting.link_mbps))),
        ("retransmits", |of| {
            let of_transfer = of.transfer.map(|transfer| transfer.retransmits);
            optional(of.row.and_then(|row| row.retransmits).or(of_transfer))
        }),
        ("lost_packet", |of| optional(of.row.and_then(|row| row.lost))),
        ("fault", |of| {
            let faults = of.row.map(Row::faults).unwrap_or_default();
            faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }),
        ("tool", |of| optional(of.latency.map(|latency| latency.tool))),
        ("sent", |of| optional(of.latency.map(|latency| latency.sent))),
        ("received", |of| optional(of.latency.map(|latency| latency.received))),
        ("rtt_min_ns", |of| optional(of.latency.map(|latency| latency.min_ns))),
        ("rtt_median_ns", |of| optional(of.latency.map(|latency| latency.median_ns))),
        ("rtt_mean_ns", |of| {
            let of_transfer =
                of.transfer.and_then(|transfer| transfer.rtt_us).map(|us| us.saturating_mul(1000));
            optional(of.latency.map(|latency| latency.mean_ns).or(of_transfer))
        }),
        ("rtt_p99_ns", |of| optional(of.latency.map(|latency| latency.p99_ns))),
        ("rtt_max_ns", |of| optional(of.latency.map(|latency| latency.max_ns))),
        ("path_mtu", |of| optional(of.path.map(|path| path.mtu))),
        ("path_rtt_ns", |of| optional(of.path.map(|path| path.rtt_ns))),
        ("path_bottleneck_l2_mbps", |of| {
            optional(of.path.map(|path| path.path().bottleneck_bps() / 1e6))
        }),
        ("path_bdp_byte", |of| optional(of.path.map(|path| path.path().bdp_bytes()))),
        ("path_ideal_tcp_mbps", |of| optional(of.path.map(|path| path.path().ideal_bps() / 1e6))),
        ("window", |of| optional(of.transfer.map(|transfer| transfer.window))),
        ("connections", |of| optional(of.transfer.map(|transfer| transfer.connections))),
        ("transferred_byte", |of| optional(of.transfer.map(|transfer| transfer.bytes))),
        ("transfer_s", |of| optional(of.transfer.map(|transfer| transfer.seconds))),
        ("transfer_time_ratio", |of| optional(of.transfer.map(|transfer| transfer.ratio))),
        ("efficiency_percent", |of| optional(of.transfer.map(|transfer| transfer.efficiency))),
        ("buffer_delay_percent", |of| {
            optional(of.transfer.and_then(|transfer| transfer.buffer_delay))
        }),
        ("stolen_ns", |of| optional(of.validity.map(|of| of.stolen_ns))),
        ("repeated", |of| optional(of.validity.map(|of| of.disturbed.len()))),
        ("invalid", |of| match of.path.zip(of.transfer) {
            Some((path, transfer)) => optional(path.invalid(transfer)),
            None => optional(of.validity.and_then(|of| of.invalid.as_ref())),
        }),
    ]
}

fn lines(results: &Results) -> impl Iterator<Item = Line<'_>> {
    let rows = results.rows.iter().map(|row| {
        let line = Line::of("throughput", &row.setting.device, &row.validity);
        Line { row: Some(row), ..line }
    });
    let latencies = results.latencies.iter().map(|of| {
        let line = Line::of("latency", &of.device, &of.validity);
        Line { latency: Some(of), ..line }
    });
    let transfers = results.paths.iter().flat_map(|path| {
        path.transfers.iter().map(move |of| {
            let line = Line::of("transfer", &path.device, &of.validity);
            Line { path: Some(path), transfer: Some(of), ..line }
        })
    });
    rows.chain(latencies).chain(transfers)
}

/// All of it.
pub(crate) fn records(results: &Results) -> Table {
    Table::records(&columns(), lines(results))
}
