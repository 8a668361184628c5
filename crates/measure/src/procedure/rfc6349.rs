//! TCP throughput over a path (RFC 6349): what the path is, and what TCP makes of it.
//!
//! ```text
//!  path MTU (§3.1)        the largest segment that comes through, none larger does   (RFC 4821)
//!  baseline RTT (§3.2)    handshakes on an empty path, the quickest
//!  bottleneck (§3.2)      frames that come through while more are sent than can
//!        │ BDP = RTT · bandwidth
//!        ▼
//!  transfers (§4)         n connections, a window ─► transfer time ratio, efficiency, buffer delay
//! ```
//!
//! *TCP transfer time ratio*: actual by ideal time. *TCP efficiency*: bytes sent that were not sent
//! again, by all sent. *Buffer delay*: how much longer the mean RTT is during the transfer than on the
//! empty path. The ideal is the bottleneck's frames, full of data.
//!
//! Data flows from the servers behind the second port to the clients behind the first.
//! Between hosts that are not ours iperf3 does the transfers: [`iperf3::HostPath`](crate::iperf3::HostPath).
//! Missing: **traffic management tests** (§5), **transfers both ways at once**.

use super::bisect::Answer;
use super::tcp::{Talk, TcpLoad, TcpOutput};
use super::throughput::answer;
use super::{Run, Stop, TrialInput};
use crate::tcp::Transactions;
use crate::trial::{Outcome, Reason, Trial};
use std::time::Duration;
use wire::{BitRate, FrameLen, PacketRate};

/// Ethernet with FCS, and IPv4 and TCP, around a segment.
const AROUND: (u32, u32) = (18, 40);
/// The smallest MSS tried; IPv4 takes no path for less than that (RFC 791: 576 bytes, less 40).
const MSS_LEAST: u16 = 536;
/// Handshakes on the empty path.
const HANDSHAKES: u64 = 20;

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// The largest IP packet that comes through whole.
    pub mtu: u32,
    /// Whether larger ones were tried.
    pub mtu_is_limit: bool,
    /// The shortest round trip of an empty path.
    pub rtt: Duration,
    /// Full frames a second the narrowest place lets through.
    pub frames: PacketRate,
}

impl Path {
    /// Bytes of data in a full segment.
    pub fn mss(&self) -> u32 {
        self.mtu.saturating_sub(AROUND.1)
    }

    /// The bottleneck's bits a second, L2 with FCS.
    pub fn bottleneck_bps(&self) -> f64 {
        self.frames.0 * (f64::from(self.mtu) + f64::from(AROUND.0)) * 8.0
    }

    /// What TCP carries at best: the bottleneck's frames, full of data.
    pub fn ideal_bps(&self) -> f64 {
        self.frames.0 * f64::from(self.mss()) * 8.0
    }

    /// Bandwidth-delay product, in bytes: what has to be under way to fill the path.
    pub fn bdp_bytes(&self) -> f64 {
        bdp_bits(self.bottleneck_bps(), self.rtt) / 8.0
    }
}

/// RFC 6349 §3.3.1: bandwidth times round-trip time, in bits.
pub fn bdp_bits(bits_per_second: f64, rtt: Duration) -> f64 {
    bits_per_second * rtt.as_secs_f64()
}

/// §4.1: actual by ideal transfer time.
pub fn transfer_time_ratio(actual: Duration, bytes: u64, ideal_bps: f64) -> f64 {
    actual.as_secs_f64() / (bytes as f64 * 8.0 / ideal_bps)
}

/// §4.2.1: per cent of the bytes sent, those sent again included, that were not sent again.
pub fn efficiency_percent(sent_in_all: u64, sent_again: u64) -> f64 {
    100.0 * sent_in_all.saturating_sub(sent_again) as f64 / sent_in_all.max(1) as f64
}

/// §4.2.2: per cent by which the mean round trip is longer than the baseline.
pub fn buffer_delay_percent(mean: Duration, baseline: Duration) -> f64 {
    100.0 * (mean.as_secs_f64() - baseline.as_secs_f64()) / baseline.as_secs_f64()
}

/// What was found of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// This.
    Path(Path),
    /// Nothing, or no handshake, came through.
    Nothing,
    /// The tester fell short, again and again: what its trials counted says nothing of the path.
    Invalid(Reason),
}

/// What carries the transfers: nothing is asked but that the answer comes.
fn transfer(mss: u16, connections: u64, window: u32, bytes: u64) -> TcpLoad {
    let transactions =
        Transactions { count: 1, request: 1, response: bytes, think: Duration::ZERO };
    TcpLoad { mss: Some(mss), ..TcpLoad::of(connections, Talk { transactions, window }) }
}

/// What the path is. `most` is the largest MSS the
/// hosts have; `link` is the wire they are on, filled for so long, and for twice that.
///
/// # Errors
/// [`Stop`].
pub fn path(
    run: &mut Run<'_>,
    most: u16,
    (link, duration): (BitRate, Duration),
) -> Result<Found, Stop> {
    let largest = match largest(run, most)? {
        Ok(largest) => largest,
        Err(reason) => return Ok(Found::Invalid(reason)),
    };
    let Some(good) = largest else { return Ok(Found::Nothing) };
    let handshakes = TcpLoad {
        connections: HANDSHAKES,
        concurrent: 1,
        transactions: Transactions { count: 0, request: 0, response: 0, think: Duration::ZERO },
        ..transfer(good, 1, u32::from(good), 0)
    };
    let output = run.trial(TrialInput::Tcp(handshakes))?;
    if let Outcome::Invalid(reason) = output.trial.outcome {
        return Ok(Found::Invalid(reason));
    }
    let times = output.tcp.map(|tcp| tcp.clients.connect_ns).filter(|times| !times.is_empty());
    let Some(times) = times else { return Ok(Found::Nothing) };
    // What buffers hold when sending ends comes once in both: the difference is free of it.
    let mut received = [0, 0];
    for (times, received) in [1, 2].into_iter().zip(&mut received) {
        let frame = FrameLen::with_fcs(u32::from(good) + AROUND.0 + AROUND.1);
        let load = link.max_frames(frame);
        let input = TrialInput::Flood { frame, load, duration: duration * times };
        let trial = run.trial(input)?.trial;
        if let Some(reason) = unfilled(&trial) {
            return Ok(Found::Invalid(reason));
        }
        *received = trial.counts.received;
    }
    let frames = received[1].saturating_sub(received[0]) as f64 / duration.as_secs_f64();
    if frames <= 0.0 {
        return Ok(Found::Nothing);
    }
    Ok(Found::Path(Path {
        mtu: u32::from(good) + AROUND.1,
        mtu_is_limit: good < most,
        rtt: Duration::from_nanos(times.min()),
        frames: PacketRate(frames),
    }))
}

/// The largest MSS that comes through, none if not even a small one does; or why nobody knows.
fn largest(run: &mut Run<'_>, most: u16) -> Result<Result<Option<u16>, Reason>, Stop> {
    let mut comes_through = |mss: u16| -> Result<Result<bool, Reason>, Stop> {
        // One segment, which is not to be sent again: a larger one would never come.
        let load = TcpLoad { lossless: true, ..transfer(mss, 1, u32::from(mss), u64::from(mss)) };
        Ok(match run.trial(TrialInput::Tcp(load))?.trial.outcome {
            Outcome::Pass => Ok(true),
            Outcome::Fail { .. } => Ok(false),
            Outcome::Invalid(reason) => Err(reason),
        })
    };
    let least = MSS_LEAST.min(most);
    // The smallest, the largest, then halves of what is between.
    let (mut good, mut bad, mut next) = (None, most + 1, least);
    loop {
        match comes_through(next)? {
            Err(reason) => return Ok(Err(reason)),
            Ok(false) if good.is_none() => return Ok(Ok(None)),
            Ok(true) => good = Some(next),
            Ok(false) => bad = next,
        }
        let low = good.unwrap_or(least);
        if bad - low <= 1 {
            return Ok(Ok(good));
        }
        next = if (low, bad) == (least, most + 1) { most } else { low.midpoint(bad) };
    }
}

/// Why a flood says nothing of what it went through. That a hundredth of it found no room on the
/// tester's own wire is no reason: more than that wire carries is not asked.
fn unfilled(trial: &Trial) -> Option<Reason> {
    match trial.outcome {
        Outcome::Invalid(Reason::OfferedBelowIntended { sent, intended })
            if intended - sent <= intended / 100 =>
        {
            None
        }
        Outcome::Invalid(reason) => Some(reason),
        Outcome::Pass | Outcome::Fail { .. } => None,
    }
}

/// What came of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Connections at the same time.
    pub connections: u64,
    /// The receive window of each, in bytes.
    pub window: u32,
    /// All windows together, as a share of the BDP: what was asked for, or more where that is less than a
    /// segment for each.
    pub share: f64,
    /// Then what a segment is of the BDP, per cent.
    pub segment_percent: Option<f64>,
    /// Bytes of data, all connections.
    pub bytes: u64,
    /// From the first request to the last byte of the last answer.
    pub time: Duration,
    /// Actual by ideal time.
    pub ratio: f64,
    /// Per cent.
    pub efficiency: f64,
    /// Per cent; none if no round trip was measured, or the windows are less than two segments: one that
    /// is alone waits for the receiver's delayed acknowledgement (RFC 1122 §4.2.3.2), which is no buffer's.
    pub buffer_delay: Option<f64>,
}

impl Transfer {
    /// Data, in bits a second.
    pub fn throughput_bps(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.time.as_secs_f64().max(1e-9)
    }

    fn of(output: &TcpOutput, path: &Path, asked: f64) -> Transfer {
        let senders = &output.servers;
        let bytes = output.clients.bytes_received;
        let time = Duration::from_nanos(output.clients.transaction_ns.max());
        let sent = senders.bytes_sent + senders.bytes_sent_again;
        let (connections, window) = (output.load.connections, output.load.window);
        let (mss, bdp) = (f64::from(path.mss()), path.bdp_bytes());
        let is_least = bdp * asked < mss * connections as f64;
        let acknowledged_at_once = window >= 2 * path.mss();
        Transfer {
            connections,
            window,
            share: if is_least { mss * connections as f64 / bdp } else { asked },
            segment_percent: is_least.then_some(mss / bdp * 100.0),
            bytes,
            time,
            ratio: transfer_time_ratio(time, bytes, path.ideal_bps()),
            efficiency: efficiency_percent(sent, senders.bytes_sent_again),
            buffer_delay: senders
                .rtt_mean()
                .filter(|_| acknowledged_at_once)
                .map(|mean| buffer_delay_percent(mean, path.rtt)),
        }
    }
}

/// A transfer by so many connections, as long as the path at its best needs `duration` for, with
/// windows that are together this share of the BDP; none if it did not come to its end.
///
/// # Errors
/// [`Stop`].
pub fn throughput(
    run: &mut Run<'_>,
    path: &Path,
    (connections, share): (u64, f64),
    duration: Duration,
) -> Result<Option<Transfer>, Stop> {
    let mss = path.mss();
    let each = |all: f64| all / connections as f64;
    let window = (each(path.bdp_bytes() * share) as u32).clamp(mss, 1 << 30);
    let bytes = each(path.ideal_bps() * duration.as_secs_f64() / 8.0);
    let bytes = (bytes as u64).max(1);
    let output = run.trial(TrialInput::Tcp(transfer(mss as u16, connections, window, bytes)))?;
    let passed = answer(&output) == Answer::Pass;
    Ok(output.tcp.filter(|_| passed).map(|tcp| Transfer::of(&tcp, path, share)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rfc_s_own_numbers() {
        // §3.3.1: link in Mbit/s, RTT in µs, BDP in bits.
        for (mbps, rtt_us, bits) in [
            (1.536, 20_000, 30_720.0),
            (1.536, 50_000, 76_800.0),
            (1.536, 100_000, 153_600.0),
            (44.21, 10_000, 442_100.0),
            (44.21, 15_000, 663_150.0),
            (44.21, 25_000, 1_105_250.0),
            (100.0, 1000, 100_000.0),
            (1000.0, 100, 100_000.0),
            (10_000.0, 50, 500_000.0),
        ] {
            let found = bdp_bits(mbps * 1e6, Duration::from_micros(rtt_us));
            assert!((found - bits).abs() < 1e-3, "{mbps} {rtt_us}: {found}");
        }
        // §4.2.1: 100,000 bytes, and 2,000 of them again.
        assert!((efficiency_percent(102_000, 2_000) - 98.039).abs() < 1e-3);
        assert_eq!((efficiency_percent(0, 0), efficiency_percent(10, 0)), (0.0, 100.0));
        // §4.2.2: 25 ms become 32.
        let ms = Duration::from_millis;
        assert!((buffer_delay_percent(ms(32), ms(25)) - 28.0).abs() < 1e-9);
        let ratio = transfer_time_ratio(Duration::from_secs(12), 100_000_000, 100e6);
        assert!((ratio - 1.5).abs() < 1e-12);
    }

    /// Ethernet's ideal: (MTU − 40) of every MTU + 38 bytes on the wire.
    #[test]
    fn what_tcp_carries_at_best() {
        for (mbps, ideal_mbps) in [(100.0, 94.9), (1000.0, 949.2), (10_000.0, 9492.0)] {
            let path = Path {
                mtu: 1500,
                mtu_is_limit: false,
                rtt: Duration::from_millis(1),
                frames: BitRate::mbps(mbps).max_frames(FrameLen::with_fcs(1518)),
            };
            let found = path.ideal_bps() / 1e6;
            assert!((found / ideal_mbps - 1.0).abs() < 1e-3, "{mbps}: {found}");
        }
    }
}
