//! Counters of an endpoint.
//!
//! ```text
//! clients   opened = opening + established + failed to open
//!           established = open + closed + reset + timed out
//! ```

use crate::latency_histogram::LatencyHistogram;
use std::time::Duration;

/// Counters since the endpoint was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// Connections clients began to open.
    pub opened: u64,
    /// Connections that were established, at this end.
    pub established: u64,
    /// That ended with all said on both sides.
    pub closed: u64,
    /// That ended by a reset, before they were established or after.
    pub reset: u64,
    /// That were given up for lack of an answer, before they were established or after.
    pub timed_out: u64,
    /// Of the reset and timed out, those that were never established.
    pub never_established: u64,
    /// Requests that were answered whole (clients), or requests answered (servers).
    pub transactions: u64,
    /// Connections whose peer closed before all transactions were done.
    pub cut_short: u64,
    /// Bytes of data sent for the first time.
    pub bytes_sent: u64,
    /// Bytes of data sent again.
    pub bytes_sent_again: u64,
    /// Bytes of data received in order.
    pub bytes_received: u64,
    /// Round trips that were measured on data (RFC 6298), and their sum in nanoseconds.
    pub rtt: (u64, u64),
    /// Segments with data or a FIN that were sent again.
    pub retransmitted: u64,
    /// SYNs, and answers to SYNs, that were sent again.
    pub retransmitted_syns: u64,
    /// Segments that came before what was next.
    pub out_of_order: u64,
    /// Segments that were copies, or outside the window.
    pub old_segments: u64,
    /// Segments whose bytes were not those that had been sent.
    pub wrong_bytes: u64,
    /// Frames with TCP in them that were cut off or whose checksum was wrong.
    pub corrupt: u64,
    /// Segments of no connection, answered with a reset.
    pub stray: u64,
    /// Frames that are nobody's here.
    pub foreign: u64,
    /// Segments that were not sent for lack of a frame; they are sent again.
    pub starved: u64,
    /// Times that a connection was due and every tuple of addresses and ports in use.
    pub no_tuple: u64,
    /// Segments sent.
    pub segments_sent: u64,
    /// Segments received.
    pub segments_received: u64,
    /// The most connections there were at a time, closing and waiting ones included.
    pub concurrent_max: u64,
    /// From the SYN to the acknowledgement of the answer to it, in nanoseconds, of clients.
    pub connect_ns: LatencyHistogram,
    /// From the request to the last byte of the response, in nanoseconds, of clients.
    pub transaction_ns: LatencyHistogram,
}

impl Counts {
    /// The mean of the round trips that were measured on data; none if there were none.
    pub fn rtt_mean(&self) -> Option<Duration> {
        let (n, ns) = self.rtt;
        (n > 0).then(|| Duration::from_nanos(ns / n))
    }
}

/// The longest time told apart, 1,000 seconds.
const NS_MAX: u64 = 1_000_000_000_000;

impl Default for Counts {
    fn default() -> Counts {
        let times = LatencyHistogram::up_to(NS_MAX, 3);
        Counts {
            opened: 0,
            established: 0,
            closed: 0,
            reset: 0,
            timed_out: 0,
            never_established: 0,
            transactions: 0,
            cut_short: 0,
            bytes_sent: 0,
            bytes_sent_again: 0,
            bytes_received: 0,
            rtt: (0, 0),
            retransmitted: 0,
            retransmitted_syns: 0,
            out_of_order: 0,
            old_segments: 0,
            wrong_bytes: 0,
            corrupt: 0,
            stray: 0,
            foreign: 0,
            starved: 0,
            no_tuple: 0,
            segments_sent: 0,
            segments_received: 0,
            concurrent_max: 0,
            connect_ns: times.clone(),
            transaction_ns: times,
        }
    }
}
