//! `quick`, `stats` and `monitor`: what was counted, as records.
//!
//! Programs get whole numbers: packets, bytes, bits a second, nanoseconds. What was not measured is
//! not there: RX-OOO without `measure-out-of-order`, latencies of streams nothing came of.

use super::Generator;
use super::count::{BUCKETS, Counts, Flow, Sample};
use super::test::Test;
use config::{Record, Value, number};
use std::time::Duration;

fn count(number: u64) -> Value {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

/// Which second, or all of them.
fn seq(sample: &Sample, total: bool) -> Value {
    if total { text("TOT") } else { count(sample.seq) }
}

/// A group: a line for each stream, and one for all.
pub(super) fn of_streams(test: &Test, sample: &Sample, total: bool) -> Vec<Record> {
    let lines = test.nums().map(|num| count(num.into())).zip(&sample.streams);
    let all = sample.total();
    lines
        .chain([(text("TOT"), &all)])
        .map(|(num, counts)| {
            let head = Record::default().with("seq", seq(sample, total)).with("num", num);
            line(head, counts, sample.time, test.measure_out_of_order)
        })
        .collect()
}

/// What was sent, received and lost of a stream, or of all.
fn line(record: Record, counts: &Counts, time: Duration, out_of_order: bool) -> Record {
    let mut record = flows(record, counts.tx, counts.rx, time);
    if out_of_order {
        record = record.with("rx-ooo", count(counts.out_of_order));
    }
    let mut record = lost(record, counts.tx, counts.rx, time);
    if counts.latency.count > 0 {
        record = record
            .with("lat-min", count(counts.latency.min_ns))
            .with("lat-avg", count(counts.latency.avg_ns()))
            .with("lat-max", count(counts.latency.max_ns))
            .with("jitter", count(counts.latency.jitter_ns()));
    }
    record
        .with("rx-duplicate", count(counts.duplicate))
        .with("rx-stale", count(counts.stale))
        .with("rx-bad-csum", count(counts.bad_checksum))
}

fn flows(record: Record, tx: Flow, rx: Flow, time: Duration) -> Record {
    record
        .with("tx-packet", count(tx.packets))
        .with("tx-rate", count(tx.rate(time)))
        .with("rx-packet", count(rx.packets))
        .with("rx-rate", count(rx.rate(time)))
}

/// Both may be below zero: at a port more may come in than goes out.
fn lost(record: Record, tx: Flow, rx: Flow, time: Duration) -> Record {
    let difference = |one: u64, other: u64| Value::Number(one as i64 - other as i64);
    record
        .with("lost-packet", difference(tx.packets, rx.packets))
        .with("lost-rate", difference(tx.rate(time), rx.rate(time)))
}

/// The kept seconds, then all of the test; `true` for that one.
fn samples(test: &Test) -> Vec<(Sample, bool)> {
    let kept = test.kept().iter().map(|sample| (sample.clone(), false));
    kept.chain([(test.total(), true)]).collect()
}

/// `stats stream`.
pub(super) fn stream(generator: &Generator) -> Vec<Record> {
    let Some(test) = generator.shown() else { return Vec::new() };
    let samples = samples(test);
    samples.iter().flat_map(|(sample, total)| of_streams(test, sample, *total)).collect()
}

/// The ports that streams of the test are sent from or frames came to, in their order.
fn ports(test: &Test) -> Vec<usize> {
    let total = test.total();
    let streams = 0..total.streams.len();
    let takes_part = |port: &usize| {
        streams.clone().any(|stream| {
            test.port_of(stream) == *port || total.received_at(stream, *port).packets > 0
        })
    };
    (0..total.unknown.len()).filter(takes_part).collect()
}

/// What a stream sent from a port.
fn sent_from(test: &Test, sample: &Sample, stream: usize, port: usize) -> Flow {
    if test.port_of(stream) == port { sample.streams[stream].tx } else { Flow::default() }
}

/// `stats port`.
pub(super) fn port(generator: &Generator) -> Vec<Record> {
    let Some(test) = generator.shown() else { return Vec::new() };
    let ports = ports(test);
    let mut records = Vec::new();
    for (sample, total) in &samples(test) {
        let of_port = |port: usize| {
            let streams = 0..sample.streams.len();
            let add = |flows: &mut dyn Iterator<Item = Flow>| {
                flows.fold(Flow::default(), |mut all, flow| {
                    all.add(flow);
                    all
                })
            };
            let tx = add(&mut streams.clone().map(|stream| sent_from(test, sample, stream, port)));
            let rx = add(&mut streams.map(|stream| sample.received_at(stream, port)));
            (sample.unknown[port], tx, rx)
        };
        let mut all = (Flow::default(), Flow::default(), Flow::default());
        let mut lines: Vec<_> = Vec::new();
        for &port in &ports {
            let (unknown, tx, rx) = of_port(port);
            all.0.add(unknown);
            all.1.add(tx);
            all.2.add(rx);
            lines.push((generator.catalogue.label(port), (unknown, tx, rx)));
        }
        lines.push(("TOT".to_string(), all));
        records.extend(lines.into_iter().map(|(label, (unknown, tx, rx))| {
            let head = Record::default()
                .with("seq", seq(sample, *total))
                .with("port", Value::Text(label))
                .with("rx-unk-packet", count(unknown.packets))
                .with("rx-unk-byte", count(unknown.bytes))
                .with("rx-unk-rate", count(unknown.rate(sample.time)));
            lost(flows(head, tx, rx, sample.time), tx, rx, sample.time)
        }));
    }
    records
}

/// `stats raw`: each stream at each port it was sent from or came to, then each port.
pub(super) fn raw(generator: &Generator) -> Vec<Record> {
    let Some(test) = generator.shown() else { return Vec::new() };
    let (ports, nums): (Vec<usize>, Vec<u8>) = (ports(test), test.nums().collect());
    let whole = test.total();
    let mut records = Vec::new();
    for (sample, total) in &samples(test) {
        let mut push = |label: String, num: Value, tx: Flow, rx: Flow| {
            let head = Record::default()
                .with("seq", seq(sample, *total))
                .with("port", Value::Text(label))
                .with("num", num);
            records.push(lost(flows(head, tx, rx, sample.time), tx, rx, sample.time));
        };
        for (stream, num) in nums.iter().enumerate() {
            for &port in &ports {
                let takes_part =
                    test.port_of(stream) == port || whole.received_at(stream, port).packets > 0;
                if takes_part {
                    let tx = sent_from(test, sample, stream, port);
                    let rx = sample.received_at(stream, port);
                    push(generator.catalogue.label(port), count((*num).into()), tx, rx);
                }
            }
            let Counts { tx, rx, .. } = sample.streams[stream];
            push("TOT".to_string(), count((*num).into()), tx, rx);
        }
        for &port in &ports {
            let (mut tx, mut rx) = (Flow::default(), Flow::default());
            for stream in 0..nums.len() {
                tx.add(sent_from(test, sample, stream, port));
                rx.add(sample.received_at(stream, port));
            }
            push(generator.catalogue.label(port), text("TOT"), tx, rx);
        }
        let Counts { tx, rx, .. } = sample.total();
        push("TOT".to_string(), text("TOT"), tx, rx);
    }
    records
}

/// `stats latency-distribution`: a line for each range, and one for all of them.
pub(super) fn distribution(
    generator: &Generator,
    num: Option<u64>,
    seq: Option<u64>,
) -> Vec<Record> {
    let Some(test) = generator.shown() else { return Vec::new() };
    let sample = match seq {
        Some(seq) => test.kept().iter().find(|sample| sample.seq == seq).cloned(),
        None => Some(test.total()),
    };
    let Some(sample) = sample else { return Vec::new() };
    let mut counts = Counts::default();
    for (stream, other) in test.nums().zip(&sample.streams) {
        if num.is_none_or(|num| num == u64::from(stream)) {
            counts.add(other);
        }
    }
    let received: u64 = counts.buckets.iter().sum();
    let within = &counts.buckets[..BUCKETS];
    let line = |from: u64, to: u64, packets: u64| {
        let from = if from == 0 { "0".to_string() } else { number::latency(from) };
        let millionths = (u128::from(packets) * 1_000_000).checked_div(received.into());
        Record::default()
            .with("latency", Value::Text(format!("{from}-{}", number::latency(to))))
            .with("count", count(packets))
            .with("share", count(millionths.unwrap_or(0) as u64))
    };
    let width = test.bucket_ns();
    let buckets = within.iter().zip(0u64..);
    let mut records: Vec<Record> =
        buckets.map(|(packets, i)| line(i * width, (i + 1) * width, *packets)).collect();
    records.push(line(0, BUCKETS as u64 * width, within.iter().sum()));
    records
}

/// `monitor`: the last whole second of the test, and all of it.
pub(super) fn monitor(generator: &Generator) -> Record {
    let running = Record::default().with("running", Value::Bool(generator.is_running()));
    let Some(test) = generator.shown() else { return running };
    let second = test.kept().back();
    let last = second.map(Sample::total).unwrap_or_default();
    let (time, total) = (second.map_or(Duration::ZERO, |second| second.time), test.total());
    let all = total.total();
    let unknown = total.unknown.iter().map(|flow| flow.packets).sum();
    running
        .with("test-id", count(test.test_id().into()))
        .with("seconds", count(second.map_or(0, |second| second.seq)))
        .with("tx-packets-per-second", count(per_second(last.tx.packets, time)))
        .with("tx-bits-per-second", count(last.tx.rate(time)))
        .with("rx-packets-per-second", count(per_second(last.rx.packets, time)))
        .with("rx-bits-per-second", count(last.rx.rate(time)))
        .with("tx-packets", count(all.tx.packets))
        .with("rx-packets", count(all.rx.packets))
        .with("rx-out-of-order", count(all.out_of_order))
        .with("rx-unknown", count(unknown))
        .with("lost-packets", Value::Number(all.lost()))
}

fn per_second(packets: u64, time: Duration) -> u64 {
    (u128::from(packets) * 1_000_000_000).checked_div(time.as_nanos()).unwrap_or(0) as u64
}
