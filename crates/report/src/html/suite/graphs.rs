//! The graphs of a suite: what each RFC wants drawn, from the figures and the trials.
//!
//! ```text
//!  throughput, forwarding, broadcasts    rate by frame size, with the wire's line
//!  frame loss, congestion                loss by load, by frame size
//!  latency, delay variation              percentiles, distributions
//!  bursts, recovery, addresses           by frame size, by number
//!  connections, TCP                      made against offered, rate and delay by window
//! ```
//!
//! Never changes a number. What the tester limited, and what failed, is hollow.

use super::super::chart::{Chart, Series};
use super::super::distribution;
use super::{by_configuration, configurations, find, places, sizes};
use crate::document::once;
use crate::suite::{short, time, whole};
use measure::SuiteResults;
use measure::histogram::at_quantile;
use measure::result::Limit;
use measure::suite_result::{Cell, Figure, Size, TrialRecord};
use std::fmt::Write;

/// What a configuration is called in a drawing: `none` is one without modifiers.
fn plain(configuration: &str) -> &str {
    if configuration == "none" { "no filters" } else { configuration }
}

const HOLLOW: &str = "Hollow marks: the tester was the bottleneck; the device may be faster.";

/// All graphs of a procedure.
pub(crate) fn of(results: &SuiteResults, procedure: &str, cells: &[&Cell]) -> String {
    let starting = |start: &'static str| move |name: &str| name.starts_with(start);
    match procedure {
        "throughput" => {
            rates(results, cells, 1.0, &starting("throughput"), "frames per second from each port")
        }
        "broadcast" => rates(
            results,
            cells,
            1.0,
            &starting("broadcast"),
            "frames per second from the sending port",
        ),
        "forwarding" => {
            let ports = f64::from(results.senders);
            let named = |name: &str| name.starts_with("FRMOL") || name.starts_with("MFR");
            rates(results, cells, ports, &named, "frames per second, all sending ports together")
        }
        "frame-loss" => losses(cells),
        "latency" => latencies(cells),
        "delay-variation" => {
            by_size(
                "Delay variation by frame size",
                "PDV: the 99.9th percentile of the latencies less the least. IPDV: how much longer a frame \
             took than the one before it, at most.",
                cells,
                &["PDV", "IPDV max"],
                (time, false),
            ) + &variations(cells)
        }
        "back-to-back" => by_size(
            "Longest burst without loss, by frame size",
            "",
            cells,
            &["back-to-back"],
            (whole, false),
        ),
        "recovery" => {
            by_size("Recovery time by frame size", "", cells, &["recovery"], (time, false))
        }
        "congestion" => by_size(
            "Loss under congestion, by frame size",
            "What goes to the free port is to come through: loss there is head-of-line blocking.",
            cells,
            &["loss to the free port", "loss to the congested port"],
            (|value| format!("{} %", short(value)), false),
        ),
        "address-caching" | "address-learning" => addresses(procedure, cells),
        "establishment" => offered(cells, "Connection", &|trial| {
            let share = trial.received as f64 / trial.sent.max(1) as f64;
            (trial.kind == "establish").then_some(trial.load * share)
        }),
        "tcp-connections" => offered(cells, "TCP connection", &|trial| {
            let tcp = trial.tcp?;
            let seconds = tcp.took_ns as f64 / 1e9;
            (trial.load > 0.0 && seconds > 0.0).then(|| tcp.established as f64 / seconds)
        }),
        "tcp-transactions" => {
            let of = cells.iter().filter(|cell| !cell.histogram.is_empty());
            let strips =
                of.map(|cell| (plain(&cell.configuration).to_string(), &cell.histogram[..]));
            let title = "How long a request takes until it is answered whole";
            distribution::svg(title, QUANTILES, strips)
        }
        "tcp-throughput" => windows(cells),
        _ => String::new(),
    }
}

const QUANTILES: &str = "Every one counts. The lines across a distribution are its median and its 99.9th \
                         percentile.";

fn by(name: &str, configuration: &str, cells: &[&Cell]) -> String {
    match (configurations(cells).len(), name.split_once('[')) {
        (1, _) => name.to_string(),
        (_, Some((short, _))) => format!("{}, {short}", plain(configuration)),
        _ => format!("{}, {name}", plain(configuration)),
    }
}

/// §26.1's graph; one for each configuration where each has several lines.
fn rates(
    results: &SuiteResults,
    cells: &[&Cell],
    ports: f64,
    named: &dyn Fn(&str) -> bool,
    y_name: &str,
) -> String {
    let all = cells.iter().flat_map(|cell| &cell.figures).map(|figure| figure.name.as_str());
    // Not the upper bounds beside them.
    let metrics = once(all.filter(|name| named(name)));
    let title = "Frame rate by frame size";
    if metrics.len() < 2 || configurations(cells).len() < 2 {
        return rates_of(results, (title, cells), ports, &metrics, y_name);
    }
    by_configuration(cells, |configuration, of| {
        let title = format!("{title}: {}", plain(configuration));
        rates_of(results, (&title, of), ports, &metrics, y_name)
    })
}

/// A criterion in a word; whether it is a goal (RFC 9971) if that alone tells it from another.
fn criterion(metric: &str, all: &[&str]) -> String {
    let (name, inside) = metric.split_once('[').unwrap_or((metric, ""));
    let word = |metric: &str| {
        let inside = metric.split_once('[').map_or(metric, |(_, inside)| inside);
        inside.split(' ').next().unwrap_or(inside).to_string()
    };
    if all.iter().any(|other| other.split('[').next() != Some(name)) {
        return name.to_string();
    }
    let alike = all.iter().filter(|other| word(other) == word(metric)).count();
    match (alike, inside.contains("exceed"), inside.contains("verified")) {
        (1, ..) => word(metric),
        (_, true, _) => format!("{}, a goal", word(metric)),
        (_, _, true) => format!("{}, verified", word(metric)),
        _ => format!("{}, a search", word(metric)),
    }
}

/// In the RFC's words: the x coordinate is the frame size, the y coordinate the frame rate; one line is
/// the theoretical rate, the others are the device's.
fn rates_of(
    results: &SuiteResults,
    (title, cells): (&str, &[&Cell]),
    ports: f64,
    metrics: &[&str],
    y_name: &str,
) -> String {
    let places = places(&sizes(cells));
    let wire = places.iter().map(|&size| Some(results.wire_rate(size?).0 * ports)).collect();
    let mut series = vec![Series::limit("the wire (theoretical)", wire)];
    let mut limited: Vec<String> = vec![];
    for configuration in configurations(cells) {
        for metric in metrics {
            let cell = |size: &Place<'_>| find(cells, configuration, (*size)?);
            let rate = |size| figure(cell(size)?, metric)?.value;
            // Each criterion's own: the tester may have been fast enough for another.
            let hollow = |size| {
                let by_tester = |cell: &Cell| {
                    let at = cell.figures.iter().position(|one| one.name.starts_with(metric));
                    at.and_then(|at| cell.limit_of(at)) == Some(Limit::Tester)
                };
                cell(size).is_some_and(by_tester)
            };
            let hollow: Vec<bool> = places.iter().map(hollow).collect();
            let name = match metrics {
                [_] => plain(configuration).to_string(),
                _ => criterion(metric, metrics),
            };
            if hollow.contains(&true) && !limited.contains(&name) {
                limited.push(name.clone());
            }
            let points = places.iter().map(rate).collect();
            series.push(Series { hollow, ..Series::line(name, points) });
        }
    }
    let mut caption = format!("Criteria: {}.", metrics.join(", "));
    if !limited.is_empty() {
        let _ = write!(caption, " {HOLLOW} (Here: {}.)", limited.join(", "));
    }
    Chart {
        title: title.to_string(),
        caption,
        y_name,
        x_name: of_sizes(&places),
        x: names_of(&places),
        series,
        ..Chart::default()
    }
    .svg()
}

/// On an axis of frame sizes; free between lengths and mixes.
type Place<'a> = Option<Size<'a>>;

fn of_sizes(places: &[Place<'_>]) -> &'static str {
    match places.iter().flatten().any(|size| size.mix.is_some()) {
        false => "frame size, bytes with FCS",
        true => "frame size, bytes with FCS; mixes of lengths apart, by their names",
    }
}

fn names_of(places: &[Place<'_>]) -> Vec<String> {
    places.iter().map(|size| size.map_or(String::new(), |size| size.to_string())).collect()
}

fn figure<'a>(cell: &'a Cell, name: &str) -> Option<&'a Figure> {
    cell.figures.iter().find(|figure| figure.name.starts_with(name))
}

/// Figures whose names begin so, by frame size; nothing for a single size of a single configuration.
fn by_size(
    title: &str,
    caption: &str,
    cells: &[&Cell],
    names: &[&str],
    (show, logarithmic): (fn(f64) -> String, bool),
) -> String {
    let places = places(&sizes(cells));
    let mut series = vec![];
    for configuration in configurations(cells) {
        for name in names {
            let value =
                |size: &Place<'_>| figure(find(cells, configuration, (*size)?)?, name)?.value;
            let points: Vec<Option<f64>> = places.iter().map(value).collect();
            let name = match names {
                [_] => plain(configuration).to_string(),
                _ => by(name, configuration, cells),
            };
            series.push(Series::line(name, points));
        }
    }
    if places.len() < 2 && series.len() < 2 {
        return String::new();
    }
    let all = cells.iter().flat_map(|cell| &cell.figures).map(|figure| figure.name.as_str());
    let criteria = once(all.filter(|name| names.iter().any(|start| name.starts_with(start))));
    let criteria = format!("Criteria: {}.", criteria.join(", "));
    let unit = cells.iter().find_map(|cell| figure(cell, names[0])).map(Figure::unit);
    Chart {
        title: title.to_string(),
        caption: [caption, &criteria]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
        y_name: match unit {
            Some("ns") => "time",
            Some("frames") => "frames",
            _ => "per cent of the frames sent",
        },
        x_name: of_sizes(&places),
        x: names_of(&places),
        logarithmic,
        series,
        show,
        ..Chart::default()
    }
    .svg()
}

/// §26.3's graph: loss against load, both in per cent; a chart for each configuration. Where all loss
/// is low, the same once more, drawn large.
///
/// > The X axis MUST be the input frame rate […] The Y axis MUST be the percent loss […]. The left
/// > end of the X axis and the bottom of the Y axis MUST be 0 percent; the right end of the X axis and
/// > the top of the Y axis MUST be 100 percent.
fn losses(cells: &[&Cell]) -> String {
    /// Per cent of loss below which points are hardly told from zero, on an axis to 100.
    const LOW: f64 = 10.0;
    by_configuration(cells, |configuration, of| {
        let hundredths = |load: f64| (100.0 * load).round() as u32;
        let mut loads: Vec<u32> = of
            .iter()
            .flat_map(|cell| &cell.points)
            .map(|point| hundredths(point.load_percent))
            .collect();
        // The RFC's axis: 0 to 100.
        loads.extend([0.0, 100.0].map(hundredths));
        loads.sort_unstable();
        loads.dedup();
        let series = |cell: &&Cell| {
            let at = |load: &u32| {
                cell.points.iter().find(|point| hundredths(point.load_percent) == *load)
            };
            Series {
                hollow: loads
                    .iter()
                    .map(|load| at(load).is_some_and(|point| point.invalid))
                    .collect(),
                ..Series::line(
                    cell.size().words(),
                    loads.iter().map(|load| at(load).map(|point| point.loss_percent)).collect(),
                )
            }
        };
        let invalid = of.iter().flat_map(|cell| &cell.points).any(|point| point.invalid);
        let mut caption =
            "From the wire's highest rate down, until two loads in a row lose nothing.".to_string();
        if invalid {
            caption += " Hollow marks are invalid: the tester fell short, and they say nothing about the device.";
        }
        let chart = |title: &str, up_to: f64, caption: &str| {
            Chart {
                title: format!("{title}: {}", plain(configuration)),
                caption: caption.to_string(),
                y_name: "frames lost, per cent of those sent",
                x_name: "load, per cent of the wire's rate",
                at: loads.iter().map(|load| f64::from(*load) / 100.0).collect(),
                up_to,
                series: of.iter().map(series).collect(),
                show: |percent| format!("{} %", short(percent)),
                ..Chart::default()
            }
            .svg()
        };
        let mut out = chart("Frame loss rate by load", 100.0, &caption);
        let points = of.iter().flat_map(|cell| &cell.points).map(|point| point.loss_percent);
        let most = points.fold(0.0, f64::max);
        if most > 0.0 && most < LOW {
            out += &chart("Frame loss rate by load, drawn large", 0.0, "The same points.");
        }
        out
    })
}

/// Percentiles and the whole distribution, a pair of charts for each configuration.
fn latencies(cells: &[&Cell]) -> String {
    const SHARES: [(&str, f64); 7] = [
        ("fastest", 0.0),
        ("50 %", 0.5),
        ("90 %", 0.9),
        ("99 %", 0.99),
        ("99.9 %", 0.999),
        ("99.99 %", 0.9999),
        ("slowest", 1.0),
    ];
    by_configuration(cells, |configuration, of| {
        let of = || of.iter().filter(|cell| !cell.histogram.is_empty());
        let series = of().map(|cell| {
            let at = |share| at_quantile(&cell.histogram, share).map(|ns| ns.max(1) as f64);
            let points = SHARES.iter().map(|&(_, share)| at(share)).collect();
            Series::line(cell.size().words(), points)
        });
        let percentiles = Chart {
            title: format!("Latency percentiles at the throughput rate: {}", plain(configuration)),
            caption: "Every frame of every repetition.".to_string(),
            y_name: "latency (logarithmic)",
            series: series.collect(),
            ..Chart::of_times(&SHARES.map(|(name, _)| name))
        }
        .svg();
        let strips = of().map(|cell| (cell.size().words(), &cell.histogram[..]));
        let title = format!("Distribution of latency: {}", plain(configuration));
        percentiles + &distribution::svg(&title, QUANTILES, strips)
    })
}

/// PDV's distribution (RFC 5481 §4.2): by how much frames are slower than the fastest.
fn variations(cells: &[&Cell]) -> String {
    by_configuration(cells, |configuration, of| {
        let shifted = of.iter().filter_map(|cell| {
            let least = cell.histogram.first()?.0;
            let less = cell.histogram.iter().map(|(ns, n)| (ns - least, *n)).collect();
            Some((cell.size().words(), less))
        });
        let shifted: Vec<(String, Vec<(u64, u64)>)> = shifted.collect();
        let strips = shifted.iter().map(|(name, buckets)| (name.clone(), &buckets[..]));
        let title = format!("Distribution of delay variation (PDV): {}", plain(configuration));
        let caption = "By how much each frame was slower than the fastest of all repetitions, all directions \
                       together; the fastest themselves stand at the left edge. (The figure is the median of \
                       what each repetition has for itself, in the direction where that is the worst: one that \
                       is slower, and as steady, only moves to the right.)";
        distribution::svg(&title, caption, strips)
    })
}

/// Trials of a search: so many addresses, or so quickly, and how many frames went to every port.
fn addresses(procedure: &str, cells: &[&Cell]) -> String {
    let by_rate = procedure == "address-learning";
    let x = |trial: &TrialRecord| if by_rate { trial.load } else { trial.intended as f64 };
    scatter(
        cells,
        &x,
        &|trial| (trial.kind == "learn").then_some(trial.flooded as f64),
        None,
        Chart {
            title: match by_rate {
                true => "Frames flooded, by the rate at which addresses were shown".to_string(),
                false => "Frames flooded, by the number of addresses shown".to_string(),
            },
            caption: "Each mark is a trial. A frame to an address that the bridge has learned comes out of one \
                      port; one to an address it has not comes out of all. Hollow marks did not pass."
                .to_string(),
            y_name: "frames that came out of other ports",
            x_name: if by_rate { "addresses shown per second" } else { "addresses shown" },
            ..Chart::default()
        },
    )
}

/// Connections made per second against those offered.
fn offered(cells: &[&Cell], what: &str, made: &dyn Fn(&TrialRecord) -> Option<f64>) -> String {
    let caption = "Each mark is a trial; hollow ones did not pass. On the dashed line every connection that \
                   was offered in a second was made in it.";
    scatter(
        cells,
        &|trial| trial.load,
        made,
        Some("all that were offered"),
        Chart {
            title: format!("{what}s made against those offered"),
            caption: caption.to_string(),
            y_name: "connections established per second",
            x_name: "connections offered per second",
            ..Chart::default()
        },
    )
}

/// A mark for each valid trial.
fn scatter(
    cells: &[&Cell],
    x: &dyn Fn(&TrialRecord) -> f64,
    y: &dyn Fn(&TrialRecord) -> Option<f64>,
    diagonal: Option<&str>,
    chart: Chart<'_>,
) -> String {
    let of = |cell: &&Cell| -> Vec<(f64, f64, bool)> {
        let valid = cell.trials.iter().filter(|trial| trial.is_valid());
        valid.filter_map(|trial| Some((x(trial), y(trial)?, trial.outcome != "pass"))).collect()
    };
    let all: Vec<Vec<(f64, f64, bool)>> = cells.iter().map(of).collect();
    let mut at: Vec<f64> = all.iter().flatten().map(|(x, ..)| *x).collect();
    if diagonal.is_some() {
        at.push(0.0);
    }
    at.sort_by(f64::total_cmp);
    at.dedup();
    let series = cells.iter().zip(&all).map(|(cell, trials)| {
        // Of trials at the same place the last.
        let trial = |place: &f64| trials.iter().rev().find(|(x, ..)| x == place);
        Series {
            hollow: at
                .iter()
                .map(|place| trial(place).is_some_and(|(.., failed)| *failed))
                .collect(),
            scattered: true,
            ..Series::line(
                format!("{}, {}", plain(&cell.configuration), cell.size().words()),
                at.iter().map(|place| trial(place).map(|(_, y, _)| *y)).collect(),
            )
        }
    });
    let limit = diagonal.map(|name| Series::limit(name, at.iter().map(|x| Some(*x)).collect()));
    let series: Vec<Series> = limit.into_iter().chain(series).collect();
    if all.iter().all(Vec::is_empty) {
        return String::new();
    }
    Chart { at, series, ..chart }.svg()
}

/// RFC 6349: rate, efficiency and buffer delay by window, a line for each number of connections.
fn windows(cells: &[&Cell]) -> String {
    let value = |cell: &Cell, name: &str| figure(cell, name).and_then(|figure| figure.value);
    let mut shares: Vec<f64> = cells.iter().filter_map(|cell| value(cell, "windows")).collect();
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    let mut connections: Vec<f64> =
        cells.iter().filter_map(|cell| value(cell, "connections")).collect();
    connections.sort_by(f64::total_cmp);
    connections.dedup();
    if shares.len() < 2 {
        return String::new();
    }
    let lines = |name: &str| -> Vec<Series> {
        let line = |n: &f64| {
            let at = |share: &f64| {
                let same = |cell: &&&Cell| {
                    value(cell, "connections") == Some(*n) && value(cell, "windows") == Some(*share)
                };
                value(cells.iter().find(same)?, name)
            };
            let plural = if *n == 1.0 { "" } else { "s" };
            Series::line(
                format!("{} connection{plural}", whole(*n)),
                shares.iter().map(at).collect(),
            )
        };
        connections.iter().map(line).collect()
    };
    let best = cells.iter().filter_map(|cell| value(cell, "ideal")).fold(0.0, f64::max);
    let mut rate = vec![Series::limit("TCP at best (theoretical)", vec![Some(best); shares.len()])];
    rate.extend(lines("TCP throughput"));
    let chart = |title: &str, caption: &str, y_name, series, show| {
        Chart {
            title: title.to_string(),
            caption: caption.to_string(),
            y_name,
            x_name: "windows of all connections, per cent of the bandwidth-delay product",
            x: shares.iter().map(|share| whole(*share)).collect(),
            series,
            show,
            ..Chart::default()
        }
        .svg()
    };
    let percent = |value: f64| format!("{} %", short(value));
    let below = "Below 100 % the window is the limit, above it what is between the hosts.";
    chart(
        "TCP throughput by window",
        below,
        "Mbps of TCP payload, all connections together",
        rate,
        whole,
    ) + &chart(
        "Buffer delay by window",
        "By how much the round trip was longer, in the mean, than on the empty path.",
        "per cent of the baseline round trip",
        lines("buffer delay"),
        percent,
    ) + &chart(
        "TCP efficiency by window",
        "The share of the bytes sent that were not sent again.",
        "per cent",
        lines("TCP efficiency"),
        percent,
    )
}
