//! `wirespeed calc`: the arithmetic of throughput (source 000).

use crate::arguments;
use clap::{Args, Subcommand};
use std::time::Duration;
use wire::{BitRate, FrameLen, PacketRate};

#[derive(Args)]
#[command(after_help = "\
Examples:
  wirespeed calc wire 10G
  wirespeed calc rate 14880.952k --size 64
  wirespeed calc window --rate 1G --rtt 100ms")]
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
              value_parser = arguments::frame_len)]
        sizes: Vec<FrameLen>,
    },
    /// What a rate in packets is in bits, on each layer
    Rate {
        /// Packets per second: 1488095, 1488.095k, 14.88M
        #[arg(value_name = "PPS", value_parser = arguments::quantity)]
        pps: f64,
        /// The frames' size in bytes, FCS included
        #[arg(long, value_name = "BYTES", value_parser = arguments::frame_len)]
        size: FrameLen,
    },
    /// The TCP window a path needs, or the rate a window allows
    Window {
        /// The round-trip time: 500ms, 1ms
        #[arg(long, value_name = "TIME", value_parser = arguments::duration)]
        rtt: Duration,
        /// The rate to reach, bit/s
        #[arg(long, value_name = "RATE", value_parser = arguments::quantity,
              required_unless_present = "window", conflicts_with = "window")]
        rate: Option<f64>,
        /// The window there is, in bytes
        #[arg(long, value_name = "BYTES", value_parser = arguments::quantity)]
        window: Option<f64>,
    },
}

pub(crate) fn run(arguments: &Arguments) {
    match &arguments.what {
        What::Wire { rate, sizes } => {
            println!("{HEAD}");
            for &size in sizes {
                layers(size, BitRate(*rate).max_frames(size));
            }
        }
        What::Rate { pps, size } => {
            println!("{HEAD}");
            layers(*size, PacketRate(*pps));
        }
        What::Window { rtt, rate, window } => {
            let seconds = rtt.as_secs_f64();
            if let Some(rate) = rate {
                println!("window: {:.0} bytes", (rate * seconds / 8.0).ceil());
            }
            if let Some(window) = window {
                println!("at most: {:.3} Mbit/s of TCP payload", window * 8.0 / seconds / 1e6);
            }
        }
    }
}

const HEAD: &str = "frame         kpps       L1 Mbps       L2 Mbps       L3 Mbps";

fn layers(size: FrameLen, rate: PacketRate) {
    println!(
        "{:>5} {:>12.3} {:>13.3} {:>13.3} {:>13.3}",
        size.l2(),
        rate.as_kpps(),
        rate.l1(size).as_mbps(),
        rate.l2(size).as_mbps(),
        rate.l3(size).as_mbps()
    );
}
