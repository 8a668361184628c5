//! Figures of TCP against its trials, and against each other.
//!
//! ```text
//!  connections a second  ◄─► the load of a trial that passed ≤ what the hosts do at most
//!  handshake, transaction ◄─► latencies of a trial that passed
//!  transactions, goodput  ◄─► counts by the time a trial took
//!  path: bottleneck, ideal, BDP ◄─► MTU, round trip     transfer: throughput x ratio = ideal,
//!     efficiency ◄─► bytes sent again, windows ◄─► the BDP, buffer delay ◄─► mean round trip
//! ```

use super::super::Kind;
use super::figures::{close, value};
use measure::SuiteResults;
use measure::procedure::rfc6349::{buffer_delay_percent, efficiency_percent};
use measure::suite_result::{Cell, TcpRecord, TrialRecord};
use std::time::Duration;

/// Checks a cell.
pub(super) fn check(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let mut wrong = |text: String| note(Kind::Inconsistent, text);
    match cell.procedure.as_str() {
        "tcp-connections" => connections(cell, &mut wrong),
        "tcp-concurrent" => concurrent(cell, &mut wrong),
        "tcp-transactions" => transactions(cell, &mut wrong),
        "tcp-path" => path(results, cell, &mut wrong),
        "tcp-throughput" => transfer(results, cell, &mut wrong),
        _ => return,
    }
    times(cell, &mut wrong);
    for (n, trial) in (1..).zip(&cell.trials).filter(|(_, trial)| trial.outcome == "pass") {
        counts(cell, trial, &mut |text| wrong(format!("trial {n}: {text}")));
    }
    for trial in passed(cell) {
        let (Some(tcp), true) = (trial.tcp, trial.load > 0.0) else { continue };
        // The last of so many is opened so long after the first, and takes some time.
        let least = (tcp.opened.saturating_sub(1)) as f64 / trial.load;
        let took = tcp.took_ns as f64 / 1e9;
        if took < least * 0.99 {
            let (opened, load) = (tcp.opened, trial.load);
            wrong(format!("{opened} connections, {load:.0} a second, took {took} s"));
        }
    }
}

/// Counts of a trial that passed against each other and its times.
fn counts(cell: &Cell, trial: &TrialRecord, wrong: &mut impl FnMut(String)) {
    let Some(tcp) = trial.tcp else { return };
    let TrialRecord { intended, sent, received, duration, .. } = *trial;
    if sent > intended || received > sent {
        wrong(format!("{received} frames received of {sent} sent, and {intended} were to be"));
    }
    let is_lossless = cell.figures.first().is_some_and(|figure| figure.name.contains("0 loss"));
    let again = tcp.retransmitted;
    if is_lossless && again > 0 {
        wrong(format!("it passed without loss, and {again} segments were sent again"));
    }
    // Acknowledgements may be lost, and the next one says as much; so many are not.
    if again == 0 && sent.saturating_sub(received) > sent / 4 {
        wrong(format!("{received} of {sent} frames came, and nothing was sent again"));
    }
    // A handshake is a frame there and one back at least.
    if received < tcp.established.saturating_mul(2) {
        let established = tcp.established;
        wrong(format!("{established} connections established by {received} frames"));
    }
    if again > sent {
        wrong(format!("{again} segments sent again, of {sent} frames in all"));
    }
    let took = tcp.took_ns;
    if tcp.rtt_mean_ns.is_some_and(|rtt| rtt > took) {
        let rtt = tcp.rtt_mean_ns.unwrap_or_default();
        wrong(format!("a round trip of {rtt} ns in the mean, and it took {took} ns"));
    }
    if duration > took as f64 / 1e9 * 1.001 + 1e-6 {
        wrong(format!("{duration} s long, and it took {took} ns"));
    }
}

fn passed(cell: &Cell) -> impl Iterator<Item = &TrialRecord> + Clone {
    cell.trials.iter().filter(|trial| trial.outcome == "pass")
}

fn of_tcp(cell: &Cell) -> impl Iterator<Item = TcpRecord> + Clone {
    passed(cell).filter_map(|trial| trial.tcp)
}

fn connections(cell: &Cell, wrong: &mut impl FnMut(String)) {
    let Some(rate) = cell.figures.first().and_then(|figure| figure.value) else { return };
    if !passed(cell).any(|trial| close(trial.load, rate)) {
        wrong(format!("no trial passed at {rate:.0} connections a second"));
    }
    let most = cell.figures.iter().find(|figure| figure.name.ends_with(", as many as may be"));
    let Some((most, value)) = most.and_then(|most| Some((most, most.value?))) else { return };
    // It is where the search begins.
    let highest = cell.trials.iter().map(|trial| trial.load).fold(0.0, f64::max);
    if highest > value * (1.0 + 1e-6) || rate > value * (1.0 + 1e-6) {
        wrong(format!("{}: {value:.0} /s, and {highest:.0} were tried", most.name));
    }
}

fn concurrent(cell: &Cell, wrong: &mut impl FnMut(String)) {
    let Some(most) = cell.figures.first().and_then(|figure| figure.value) else { return };
    let held = |tcp: &TcpRecord| close(tcp.due as f64, most) && tcp.concurrent_max >= tcp.due;
    if !of_tcp(cell).any(|tcp| held(&tcp)) {
        wrong(format!("no trial held {most:.0} connections at a time"));
    }
}

/// The least and the greatest of the repetitions are trials'.
fn transactions(cell: &Cell, wrong: &mut impl FnMut(String)) {
    type Of = fn(&TcpRecord) -> f64;
    let each: [(&str, Of); 3] = [
        ("TCP transactions per second[", |tcp| tcp.transactions as f64 / seconds(tcp)),
        ("goodput, both ways", |tcp| tcp.bytes_received as f64 * 8e-6 / seconds(tcp)),
        ("segments sent again", |tcp| tcp.retransmitted as f64),
    ];
    for (start, of) in each {
        let figure = cell.figures.iter().find(|figure| figure.name.starts_with(start));
        let Some((figure, spread)) = figure.and_then(|one| Some((one, one.spread?))) else {
            continue;
        };
        for said in [spread.min, spread.max] {
            if !of_tcp(cell).any(|tcp| close(of(&tcp), said)) {
                wrong(format!("{}: no trial had {said} {}", figure.name, figure.unit()));
            }
        }
    }
}

fn seconds(tcp: &TcpRecord) -> f64 {
    tcp.took_ns.max(1) as f64 / 1e9
}

/// Handshakes and transactions are those of one trial that passed.
fn times(cell: &Cell, wrong: &mut impl FnMut(String)) {
    for figure in &cell.figures {
        let (Some(said), Some((what, which))) = (figure.value, figure.name.split_once(' ')) else {
            continue;
        };
        let of = |tcp: TcpRecord| {
            let times = match what {
                "handshake" => tcp.connect?,
                "transaction" => tcp.transaction?,
                _ => return None,
            };
            match which {
                "p50" => Some(times.p50_ns),
                "p99" => Some(times.p99_ns),
                "max" => Some(times.max_ns),
                _ => None,
            }
        };
        let mut of_trials = of_tcp(cell).filter_map(of).peekable();
        if of_trials.peek().is_some() && !of_trials.any(|ns| close(ns as f64, said)) {
            wrong(format!("{}: no trial has {said:.0} ns", figure.name));
        }
    }
}

/// What follows from the MTU, the round trip and the narrowest place (RFC 6349 §3).
fn path(results: &SuiteResults, cell: &Cell, wrong: &mut impl FnMut(String)) {
    let [mtu, rtt, bottleneck, ideal, bdp] = [
        "path MTU",
        "baseline RTT",
        "bottleneck bandwidth",
        "ideal TCP throughput",
        "bandwidth-delay product",
    ]
    .map(|start| value(cell, start));
    let (Some(mtu), Some(rtt), Some(bottleneck)) = (mtu, rtt, bottleneck) else { return };
    let [l2, l1] = [18.0, 38.0].map(|around| mtu + around);
    for (name, said, exact) in [
        ("ideal TCP throughput", ideal, bottleneck * (mtu - 40.0) / l2),
        ("bandwidth-delay product", bdp, bottleneck * rtt / 8e3),
    ] {
        if let Some(said) = said.filter(|said| !close(*said, exact)) {
            wrong(format!("{name}: {said}, and of its path it is {exact}"));
        }
    }
    if bottleneck * l1 / l2 > results.wire_mbps * 1.001 {
        let wire = results.wire_mbps;
        wrong(format!("a bottleneck of {bottleneck} Mbps(L2), and the wire is {wire} Mbps(L1)"));
    }
    let is_seen = |tcp: TcpRecord| tcp.connect.is_some_and(|times| times.min_ns as f64 == rtt);
    if !cell.trials.is_empty() && !of_tcp(cell).any(is_seen) {
        wrong(format!("baseline RTT: no handshake took {rtt:.0} ns"));
    }
}

/// A transfer by its own figures, by its path's and by its trial (RFC 6349 §4).
fn transfer(results: &SuiteResults, cell: &Cell, wrong: &mut impl FnMut(String)) {
    let [throughput, ideal, ratio, efficiency] =
        ["TCP throughput", "ideal", "TCP transfer time ratio", "TCP efficiency"]
            .map(|start| value(cell, start));
    let (Some(throughput), Some(ideal)) = (throughput, ideal) else { return };
    if let Some(ratio) = ratio.filter(|ratio| !close(ratio * throughput, ideal)) {
        wrong(format!(
            "TCP throughput {throughput} Mbit/s {ratio} times is not the ideal {ideal} Mbit/s"
        ));
    }
    // Buffers that were full before the first byte was counted, and what else ends leave.
    if throughput > ideal * 1.05 {
        wrong(format!("TCP throughput {throughput} Mbit/s is above the ideal {ideal} Mbit/s"));
    }
    let paths = results.cells.iter().filter(|other| {
        other.procedure == "tcp-path"
            && (&other.configuration, other.size()) == (&cell.configuration, cell.size())
    });
    let mut of_path =
        paths.clone().filter_map(|other| value(other, "ideal TCP throughput")).peekable();
    if of_path.peek().is_some() && !of_path.any(|other| close(other, ideal)) {
        wrong(format!("ideal: {ideal} Mbit/s, and no path of it has that"));
    }
    // Each connection asks with one byte, which goes the other way.
    let rate = |tcp: TcpRecord| {
        let bytes = tcp.bytes_received.saturating_sub(tcp.due);
        Some(bytes as f64 * 8e3 / tcp.transaction?.max_ns.max(1) as f64)
    };
    if !cell.trials.is_empty() && !of_tcp(cell).filter_map(rate).any(|rate| close(rate, throughput))
    {
        wrong(format!("TCP throughput: no transfer had {throughput} Mbit/s"));
    }
    let never_again = of_tcp(cell).all(|tcp| tcp.retransmitted == 0);
    let least = if never_again { 100.0 } else { 0.0 };
    if let Some(said) = efficiency.filter(|said| !(least..=100.0).contains(said)) {
        wrong(format!("TCP efficiency: {said} %, which is {least} to 100 here"));
    }
    let exact = |tcp: TcpRecord| {
        let again = tcp.sent_again?;
        let data = tcp.bytes_sent.saturating_sub(tcp.due);
        Some(efficiency_percent(data.saturating_add(again), again))
    };
    let mut of_trials = of_tcp(cell).filter_map(exact).peekable();
    if let Some(said) = efficiency.filter(|_| of_trials.peek().is_some())
        && !of_trials.any(|exact| close(exact, said))
    {
        wrong(format!("TCP efficiency: no transfer had {said} %"));
    }
    if let Some(path) = paths.clone().next() {
        on_its_path(path, cell, wrong);
    }
}

/// Windows and buffer delay by what the path was found to be (RFC 6349 §3.3, §4.1.3).
fn on_its_path(path: &Cell, cell: &Cell, wrong: &mut impl FnMut(String)) {
    let [mtu, rtt, bdp] =
        ["path MTU", "baseline RTT", "bandwidth-delay product"].map(|start| value(path, start));
    let (Some(mtu), Some(rtt), Some(bdp)) = (mtu, rtt, bdp) else { return };
    let [connections, share, window, delay] =
        ["connections", "windows, of the BDP", "window of each", "buffer delay"]
            .map(|start| value(cell, start));
    if let (Some(connections), Some(share), Some(window)) = (connections, share, window) {
        let (all, of_bdp) = (window * connections, share / 100.0 * bdp);
        // Whole bytes of each; a segment at least, which older files do not say; no more than TCP has.
        let is_bound = window <= mtu - 40.0 || window >= f64::from(1 << 30);
        if !is_bound && (all - of_bdp).abs() > connections + 1e-6 * of_bdp {
            wrong(format!("windows of {all} bytes, and {share} % of the BDP are {of_bdp:.0}"));
        }
    }
    let ns = |ns: f64| Duration::from_nanos(ns.max(0.0) as u64);
    let mean = |tcp: TcpRecord| Some(buffer_delay_percent(ns(tcp.rtt_mean_ns? as f64), ns(rtt)));
    let mut of_trials = of_tcp(cell).filter_map(mean).peekable();
    if let Some(said) = delay.filter(|_| of_trials.peek().is_some())
        && !of_trials.any(|exact| close(exact, said))
    {
        wrong(format!("buffer delay: no transfer had {said} %"));
    }
}
