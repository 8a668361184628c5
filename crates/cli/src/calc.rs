//! `wirespeed calc`: the arithmetic of throughput (source 000).

use crate::arguments;
use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::time::Duration;
use wire::throughput::{Encapsulation, TokenBucket, encapsulation, ports, tcp, wireless};
use wire::{BitRate, FrameLen, PacketRate};

#[derive(Args)]
#[command(after_help = "\
Examples:
  wirespeed calc wire 10G
  wirespeed calc rate 14880.952k --size 64
  wirespeed calc encapsulated 1G --by vlan+pppoe
  wirespeed calc capacity 8x10G+1x1G
  wirespeed calc window --rate 1G --rtt 100ms
  wirespeed calc loss 0.01% --rtt 100ms
  wirespeed calc bucket 10M --size 10 --from 100M
  wirespeed calc iperf3 128,256,512,1024,1500
  wirespeed calc wireless --mcs 9 --streams 4 --width 80
  wirespeed calc wireless --modulation 256-QAM --coding 5/6 --width 80
  wirespeed calc wireless --n --mcs 31")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// How many frames a wire carries, and what of its rate is left for each layer
    Wire {
        /// The wire's rate in bit/s: 100M, 1G, 10G
        #[arg(value_name = "RATE", value_parser = arguments::quantity)]
        rate: f64,
        /// Frame sizes in bytes, FCS included
        #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "64,512,1518",
              value_parser = arguments::any_frame_len)]
        sizes: Vec<FrameLen>,
    },
    /// What a rate in packets, or in bits of a layer, is on each layer
    Rate {
        /// Packets per second: 1488095, 1488.095k, 14.88Mpps; with --layer bit/s; or as plans have
        /// it: 985.3Mbps(L2)
        #[arg(value_name = "RATE", value_parser = rate_of)]
        rate: (f64, Unit),
        /// The rate is in bit/s of this layer: L1 (preamble and gap), L2 (frames with FCS), L2-FCS
        /// (without), L3 (IP packets)
        #[arg(long, value_name = "LAYER", value_parser = layer)]
        layer: Option<Layer>,
        /// The frames' size in bytes, FCS included
        #[arg(long, value_name = "BYTES", value_parser = arguments::any_frame_len)]
        size: FrameLen,
    },
    /// The TCP window a path needs, or the rate a window allows
    Window {
        /// The round-trip time: 500ms, 0.1ms, 80us
        #[arg(long, value_name = "TIME", value_parser = round_trip)]
        rtt: Duration,
        /// The rate to reach, bit/s
        #[arg(long, value_name = "RATE", value_parser = arguments::quantity,
              required_unless_present = "window", conflicts_with = "window")]
        rate: Option<f64>,
        /// The window there is, in bytes
        #[arg(long, value_name = "BYTES", value_parser = arguments::quantity)]
        window: Option<f64>,
    },
    /// What of a wire is left for IP packets within tags and tunnels
    Encapsulated {
        /// The wire's rate in bit/s
        #[arg(value_name = "RATE", value_parser = arguments::quantity)]
        rate: f64,
        /// What stands between Ethernet and the packet: vlan, qinq, mpls, pppoe, l2tp, pptp, gre,
        /// ipip, 6to4, eoip, vxlan; several with +
        #[arg(long, value_name = "KIND[+KIND…]", default_value = "", value_parser = stack)]
        by: Encapsulation,
        /// IP packet sizes in bytes
        #[arg(long, value_name = "BYTES,…", value_delimiter = ',',
              default_value = "46,128,256,512,1024,1280,1500",
              value_parser = clap::value_parser!(u32).range(20..=65535))]
        packets: Vec<u32>,
    },
    /// What a device's ports carry together, in one direction and in both
    Capacity {
        /// Its ports: 24x1G+2x10G
        #[arg(value_name = "PORTS", value_parser = capacity)]
        ports: f64,
    },
    /// The rate at which one TCP connection settles when segments are lost (Mathis 1997)
    Loss {
        /// The share of segments that are lost: 0.01%, 1e-4
        #[arg(value_name = "SHARE", value_parser = share)]
        share: f64,
        /// The round-trip time: 500ms, 0.1ms, 80us
        #[arg(long, value_name = "TIME", value_parser = round_trip)]
        rtt: Duration,
        /// Payload of a segment
        #[arg(long, value_name = "BYTES", default_value_t = 1460,
              value_parser = clap::value_parser!(u32).range(1..=65535))]
        mss: u32,
    },
    /// What a token bucket (a queue's max-limit and bucket-size) lets pass
    Bucket {
        /// max-limit in bit/s
        #[arg(value_name = "RATE", value_parser = arguments::quantity)]
        rate: f64,
        /// bucket-size: seconds of max-limit that it holds
        #[arg(long, value_name = "SECONDS", default_value_t = 0.1, value_parser = bucket_size)]
        size: f64,
        /// What comes in, bit/s
        #[arg(long, value_name = "RATE", value_parser = arguments::quantity)]
        from: f64,
    },
    /// The options that make iperf3's TCP packets so long, and the factors from its payload rate to
    /// layers 3 and 2 (source 002: no FCS)
    Iperf3 {
        /// IP packet sizes in bytes
        #[arg(value_name = "BYTES,…", value_delimiter = ',',
              default_value = "128,256,512,1024,1500,9000",
              value_parser = clap::value_parser!(u32).range(29..=65535))]
        packets: Vec<u32>,
        /// UDP instead of TCP
        #[arg(long, conflicts_with = "no_timestamps")]
        udp: bool,
        /// TCP without time stamps (net.ipv4.tcp_timestamps=0)
        #[arg(long)]
        no_timestamps: bool,
        /// Bytes of options in the IPv4 header, a multiple of 4
        #[arg(long, value_name = "BYTES", default_value_t = 0)]
        ip_options: u32,
    },
    /// Data rates of 802.11n and ac (all widths and guard intervals), or ad
    Wireless {
        /// VHT MCS 0 to 9; of 802.11n 0 to 31; of 802.11ad 0 to 24 (from 13 on OFDM)
        #[arg(long, required_unless_present = "modulation", conflicts_with = "modulation")]
        mcs: Option<u32>,
        /// In place of an MCS: BPSK, QPSK, 16-QAM, 64-QAM, 256-QAM; of 802.11ad DBPSK, pi/2-BPSK,
        /// pi/2-QPSK, pi/2-16QAM, SQPSK
        #[arg(long, value_name = "NAME", requires = "coding")]
        modulation: Option<String>,
        /// And the code's rate: 1/2, 5/8, 2/3, 3/4, 13/16, 5/6
        #[arg(long, value_name = "N/M", requires = "modulation")]
        coding: Option<String>,
        /// Spatial streams [default: 1; of 802.11n what the MCS says]
        #[arg(long)]
        streams: Option<u32>,
        /// Channel width in MHz: 20, 40, 80, 160; all, if not given
        #[arg(long)]
        width: Option<u32>,
        /// 802.11n: its MCS, 20 and 40 MHz
        #[arg(long, conflicts_with = "ad")]
        n: bool,
        /// 802.11ad
        #[arg(long, conflicts_with_all = ["streams", "width"])]
        ad: bool,
    },
}

/// The documents' sizes.
const SIZES: [FrameLen; 3] = [FrameLen::MIN, FrameLen::with_fcs(512), FrameLen::MAX];

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.what {
        What::Wire { rate, sizes } => {
            outln!("{HEAD}");
            for &size in sizes {
                layers(size, BitRate(*rate).max_frames(size));
            }
        }
        What::Rate { rate: (_, Unit::Frames | Unit::Bits(_)), layer: Some(_), .. } => {
            let text = "calc rate: the rate says itself what it is: leave --layer out";
            return Err(Failure::Usage(text.to_string()));
        }
        What::Rate { rate: (rate, unit), layer, size } => {
            outln!("{HEAD}");
            let layer = if let Unit::Bits(layer) = unit { Some(*layer) } else { *layer };
            let bits = layer.map_or(1.0, |layer| 8.0 * f64::from(layer(*size)));
            layers(*size, PacketRate(rate / bits));
        }
        What::Window { rtt, rate, window } => {
            if let Some(rate) = rate {
                // By whole nanoseconds: 80 µs are no binary fraction of a second.
                outln!("window: {:.0} bytes", (rate * rtt.as_nanos() as f64 / 8e9).ceil());
            }
            if let Some(window) = window {
                let most = tcp::rate_of_window(*window, *rtt) / 1e6;
                outln!("at most: {most:.3} Mbit/s of TCP payload");
            }
        }
        What::Encapsulated { rate, by, packets } => {
            if let Some(long) = packets.iter().find(|&&packet| packet > by.longest()) {
                return Err(Failure::Usage(format!(
                    "no packet of {long} bytes: with what is around it the outer IP packet would be \
                     longer than 65535; {} at most",
                    by.longest()
                )));
            }
            outln!("packet  frame         kpps       L3 Mbps  share");
            for &packet in packets {
                let pps = by.max_packets(BitRate(*rate), packet);
                let l3 = pps.0 * f64::from(packet) * 8.0 / 1e6;
                let (l2, share) = (by.l2(packet), by.efficiency(packet) * 100.0);
                outln!("{packet:>6} {l2:>6} {:>12.3} {l3:>13.3} {share:>5.2}%", pps.as_kpps());
            }
        }
        What::Capacity { ports } => {
            outln!("one direction:   {:.3} Gbit/s on layer 1", ports / 1e9);
            outln!("both directions: {:.3} Gbit/s, what vendors call capacity", ports * 2.0 / 1e9);
            for &size in &SIZES {
                let kpps = BitRate(*ports).max_frames(size).as_kpps();
                outln!("{:>5} byte:      {kpps:.3} kpps in one direction", size.l2());
            }
        }
        What::Loss { share, rtt, mss } => {
            let rate = tcp::mathis(f64::from(*mss), *rtt, *share) / 1e6;
            outln!("about: {rate:.3} Mbit/s of TCP payload (Mathis 1997: Reno, one connection)");
        }
        What::Bucket { rate, size, from } => {
            let bucket = TokenBucket::of(*rate, *size);
            let second = bucket.passes_of(*from, Duration::from_secs(1)) / 1e6;
            outln!("holds:          {} Mbit", decimal(bucket.capacity / 1e6));
            outln!("in any second:  {} Mbit at most", decimal(second));
            match bucket.lasts(*from) {
                Some(time) => {
                    outln!("full, it lets that through for {} s", decimal(time.as_secs_f64()))
                }
                None => outln!("that is within the limit for ever"),
            }
        }
        What::Iperf3 { packets, udp, no_timestamps, ip_options } => {
            let (timestamps, ip_options) = (!no_timestamps, *ip_options);
            let headers = tcp::Headers { udp: *udp, timestamps, ip_options };
            let of = |&packet: &u32| {
                let made = tcp::iperf3_with(packet, headers).map(|iperf3| (packet, iperf3));
                made.ok_or_else(|| {
                    let least = headers.bytes() + 1;
                    Failure::Usage(format!(
                        "no packet of {packet} bytes: these headers take {} of at least {least}, \
                         and IP options are 0 to 40 bytes, a multiple of 4",
                        headers.bytes()
                    ))
                })
            };
            let rows = packets.iter().map(of).collect::<Result<Vec<_>, Failure>>()?;
            let bad = rows.iter().find(|(_, made)| !headers.udp && !tcp::MSS.contains(&made.mss));
            if let Some((packet, made)) = bad {
                let (least, most) = (tcp::MSS.start(), tcp::MSS.end());
                return Err(Failure::Usage(format!(
                    "no TCP packet of {packet} bytes: it needs -M {}, and iperf3 on Linux takes \
                     {least} to {most}: packets of {} to {} bytes",
                    made.mss,
                    least + 40,
                    most + 40
                )));
            }
            outln!("packet      -M      -l   to L3   to L2");
            for (packet, iperf3) in rows {
                let tcp::Iperf3 { mss, length, l3, l2, .. } = iperf3;
                let mss = if headers.udp { "-".to_string() } else { mss.to_string() };
                outln!("{packet:>6} {mss:>7} {length:>7} {l3:>7.4} {l2:>7.4}");
            }
        }
        What::Wireless { mcs, modulation, coding, streams, width, n, ad } => {
            let named = modulation.as_deref().zip(coding.as_deref());
            match (*n, *ad) {
                (_, true) => directional(*mcs, named)?,
                (n, _) => wireless(n, (*mcs, named), *streams, *width)?,
            }
        }
    }
    Ok(())
}

/// 802.11ad.
fn directional(mcs: Option<u32>, named: Option<(&str, &str)>) -> Result<(), Failure> {
    let all = match (mcs, named) {
        (Some(mcs), _) => vec![mcs],
        (_, Some((modulation, coding))) => wireless::ad_named(modulation, coding),
        _ => vec![],
    };
    let rates: Option<Vec<_>> = all.iter().map(|&mcs| Some((mcs, wireless::ad(mcs)?))).collect();
    let rates = rates.filter(|rates| !rates.is_empty());
    let why = "802.11ad has MCS 0 to 24: DBPSK 1/2; of a single carrier pi/2-BPSK, pi/2-QPSK and \
               pi/2-16QAM with 1/2, 5/8, 3/4 and (not 16QAM) 13/16; of OFDM SQPSK 1/2 and 5/8, QPSK \
               to 3/4, 16-QAM, and 64-QAM from 5/8 on";
    for (mcs, rate) in rates.ok_or_else(|| no_rate(why))? {
        outln!("802.11ad MCS {mcs}: {rate} Mbit/s");
    }
    Ok(())
}

/// 802.11n and ac.
fn wireless(
    n: bool,
    (mcs, named): (Option<u32>, Option<(&str, &str)>),
    streams: Option<u32>,
    width: Option<u32>,
) -> Result<(), Failure> {
    let named = named.map(|(modulation, coding)| {
        wireless::vht_named(modulation, coding).ok_or_else(|| {
            no_rate(
                "802.11n and ac have BPSK 1/2, QPSK 1/2 and 3/4, 16-QAM 1/2 and 3/4, 64-QAM 2/3, \
                 3/4 and 5/6; ac 256-QAM 3/4 and 5/6",
            )
        })
    });
    let named = named.transpose()?;
    let (mcs, streams) = match (n, mcs.or(named).unwrap_or(0)) {
        (true, mcs) if mcs >= 8 || named.is_none() => {
            let of_mcs = mcs / 8 + 1;
            if named.is_some() {
                return Err(no_rate("256-QAM is 802.11ac's"));
            }
            if mcs > 31 || streams.is_some_and(|streams| streams != of_mcs) {
                let why = "802.11n has MCS 0 to 31, and 8 of them for each number of streams: \
                           8 to 15 are of two";
                return Err(no_rate(why));
            }
            (mcs % 8, of_mcs)
        }
        (_, mcs) => (mcs, streams.unwrap_or(1)),
    };
    let widths = width.map_or(if n { vec![20, 40] } else { vec![20, 40, 80, 160] }, |w| vec![w]);
    let rates: Vec<_> = widths
        .iter()
        .map(|&width| {
            let of = |short| match n {
                true => wireless::ht(mcs, streams, width, short),
                false => wireless::vht(mcs, streams, width, short),
            };
            (width, of(false), of(true))
        })
        .collect();
    if rates.iter().all(|(_, long, _)| long.is_none()) {
        return Err(no_rate(match n {
            true => "802.11n has 1 to 4 streams, 20 and 40 MHz",
            false => {
                "802.11ac has MCS 0 to 9, 1 to 8 streams, 20, 40, 80 and 160 MHz, and leaves some \
                 combinations out (802.11n's MCS 8 to 31: --n)"
            }
        }));
    }
    outln!("width MHz   800 ns guard   400 ns guard (Mbit/s)");
    let cell = |rate: Option<f64>| rate.map_or("n/a".to_string(), |r| format!("{r:.1}"));
    for (width, long, short) in rates {
        outln!("{width:>9} {:>14} {:>14}", cell(long), cell(short));
    }
    Ok(())
}

fn no_rate(why: &str) -> Failure {
    Failure::Usage(format!("there is no such data rate: {why}"))
}

fn stack(text: &str) -> Result<Encapsulation, String> {
    let names = || encapsulation::KINDS.map(|(name, ..)| name).join(", ");
    Encapsulation::named(text).ok_or_else(|| format!("known are {}; several with +", names()))
}

/// The bytes of a frame that a layer counts.
type Layer = fn(FrameLen) -> u32;

fn layer(text: &str) -> Result<Layer, String> {
    match text.to_ascii_uppercase().as_str() {
        "L1" => Ok(FrameLen::l1),
        "L2" => Ok(FrameLen::l2),
        "L2-FCS" => Ok(FrameLen::in_memory),
        "L3" => Ok(FrameLen::l3),
        _ => Err("layers are L1, L2, L2-FCS, L3".to_string()),
    }
}

/// What a rate says of itself.
#[derive(Clone, Copy)]
enum Unit {
    /// Nothing: what `--layer` says, else frames.
    None,
    Frames,
    Bits(Layer),
}

/// Frames a second, or bits of the layer behind them.
fn rate_of(text: &str) -> Result<(f64, Unit), String> {
    let number = |digits: &str| arguments::quantity(digits.trim());
    if let Some(frames) = text.strip_suffix("pps").or(text.strip_suffix("fps")) {
        return Ok((number(frames)?, Unit::Frames));
    }
    if let Some((digits, named)) = text.strip_suffix(')').and_then(|text| text.split_once("bps(")) {
        return Ok((number(digits)?, Unit::Bits(layer(named)?)));
    }
    if text.ends_with("bps") {
        return Err(format!("{text} of which layer? {text}(L1), (L2), (L2-FCS) or (L3)"));
    }
    Ok((number(text)?, Unit::None))
}

/// A time as paths have it: of a cable to that of an hour.
fn round_trip(text: &str) -> Result<Duration, String> {
    let why = "a time is a number and a unit, above zero, an hour at most: 80us, 0.1ms, 2s";
    let micros = text.strip_suffix("us").or(text.strip_suffix("µs"));
    let (digits, unit) = match (micros, text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(digits), ..) => (digits, 1e-6),
        (_, Some(digits), _) => (digits, 1e-3),
        (.., Some(digits)) => (digits, 1.0),
        _ => return Err(why.to_string()),
    };
    let seconds = digits.parse::<f64>().map(|number| number * unit).ok();
    let seconds = seconds.filter(|seconds| (1e-9..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| why.to_string())
}

/// As RouterOS has it: up to ten seconds of max-limit.
fn bucket_size(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0 && *seconds <= 10.0);
    seconds.ok_or_else(|| "seconds of max-limit, above 0 and 10 at most".to_string())
}

fn capacity(text: &str) -> Result<f64, String> {
    ports(text).ok_or_else(|| "ports are 1G, 8x10G, 24x1G+2x10G".to_string())
}

fn share(text: &str) -> Result<f64, String> {
    let (digits, unit) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 1e-2));
    let share = digits.parse::<f64>().map(|share| share * unit).ok();
    let share = share.filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "a share is above 0 and below 1: 0.01%, 1e-4".to_string())
}

const HEAD: &str = "frame         kpps       L1 Mbps       L2 Mbps       L3 Mbps";

fn layers(size: FrameLen, rate: PacketRate) {
    outln!(
        "{:>5} {:>12} {:>13} {:>13} {:>13}",
        size.l2(),
        decimal(rate.as_kpps()),
        decimal(rate.l1(size).as_mbps()),
        decimal(rate.l2(size).as_mbps()),
        decimal(rate.l3(size).as_mbps())
    );
}

/// To a thousandth; of less than a tenth three digits, of what no wire carries its power of ten.
fn decimal(value: f64) -> String {
    match value.abs() {
        0.0 | 0.1..1e12 => format!("{value:.3}"),
        small if small < 0.1 => {
            let places = (2.0 - small.log10().floor()).min(300.0);
            format!("{value:.*}", places as usize)
        }
        _ => format!("{value:.3e}"),
    }
}
