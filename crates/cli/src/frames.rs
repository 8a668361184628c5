//! `wirespeed test --pcap`: a plan's frames in a capture file, none of them sent.

use crate::arguments::quantity;
use crate::failure::Failure;
use lab::suite::dry_run::{Excerpt, Unwritten, write};
use lab::suite::fit::Unfit;
use lab::suite::plan::Offer;
use lab::suite::plan::Procedure;
use lab::suite::{Device, Plan};
use port::record::Record;
use port::{pcap, pcapng};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use wire::PacketRate;

#[derive(clap::Args)]
pub(crate) struct Frames {
    /// Write the frames that a run would send to a file, and send none: .pcapng (with its ports) or
    /// .pcap, times in nanoseconds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "html"])]
    #[arg(help_heading = "Frames, not sent")]
    pcap: Option<PathBuf>,

    /// So many from each port, in each trial; of a plan's own streams so many of each
    /// [default: 1000]
    #[arg(long, value_name = "NUMBER", requires = "pcap", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    #[arg(help_heading = "Frames, not sent")]
    packets: Option<u64>,

    /// At this load from each port: a share of the wire, or frames a second (50%, 100k)
    /// [default: 100%]
    #[arg(long, value_name = "LOAD", requires = "pcap", value_parser = offer)]
    #[arg(help_heading = "Frames, not sent")]
    load: Option<Offer>,
}

fn offer(text: &str) -> Result<Offer, String> {
    let share = text.strip_suffix('%').map(|percent| percent.trim().parse::<f64>());
    match share {
        Some(Ok(percent)) if percent > 0.0 && percent <= 100.0 => Ok(Offer::Share(percent / 100.0)),
        Some(_) => Err("a share of the wire is above 0% and at most 100%".to_string()),
        None => quantity(text).map(|rate| Offer::Rate(PacketRate(rate))),
    }
}

/// A capture file, as its name ends.
enum Capture {
    Pcap(pcap::Writer<BufWriter<File>>),
    Pcapng(pcapng::Writer<BufWriter<File>>),
}

impl Capture {
    fn create(path: &Path, ports: usize) -> io::Result<Capture> {
        let file = BufWriter::new(File::create(path)?);
        if path.extension().is_some_and(|extension| extension == "pcap") {
            return pcap::Writer::new(file).map(Capture::Pcap);
        }
        let names: Vec<String> = (1..=ports).map(|port| format!("port {port}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        pcapng::Writer::with_interfaces(file, &names).map(Capture::Pcapng)
    }

    fn write(&mut self, port: usize, record: &Record<'_>) -> io::Result<()> {
        match self {
            Capture::Pcap(writer) => writer.write(record),
            Capture::Pcapng(writer) => writer.write_from(port as u32, record),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Capture::Pcap(writer) => writer.finish().map(drop),
            Capture::Pcapng(writer) => writer.finish().map(drop),
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::Environment(format!("cannot write {}: {error}", path.display()))
}

impl Frames {
    /// Whether frames are to be written, not sent.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.pcap.is_some()
    }

    /// Where they are written to.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.pcap.as_deref()
    }

    /// Writes the plan's frames, and says which.
    ///
    /// # Errors
    /// [`Failure`]: the file cannot be written, or the plan has no frames that could be.
    pub(crate) fn write(
        &self,
        plan: &Plan,
        device: &Device,
        (simulated, quick): (bool, bool),
    ) -> Result<(), Failure> {
        let Some(path) = &self.pcap else { return Ok(()) };
        let extension = path.extension().and_then(|extension| extension.to_str());
        if !matches!(extension, Some("pcap" | "pcapng")) {
            let why = "the name of a capture file ends in .pcapng or .pcap";
            return Err(Failure::Usage(format!("{}: {why}", path.display())));
        }
        let is_streams = |one: &Procedure| matches!(one, Procedure::Streams(_));
        if self.load.is_some() && plan.procedures.iter().all(is_streams) {
            let why = "--load: the plan has nothing but streams, each at its own; leave it out";
            return Err(Failure::Usage(why.to_string()));
        }
        let load = self.load.unwrap_or(Offer::Share(1.0));
        let excerpt = Excerpt { simulated, quick, frames: self.packets.unwrap_or(1000), load };
        // Not before there is something to write: a plan may have nothing.
        let (mut capture, mut n) = (None, 0u64);
        let written = write(plan, device, &excerpt, &mut |port, record| {
            n += 1;
            let capture = match &mut capture {
                Some(capture) => capture,
                none => none.insert(Capture::create(path, plan.ports)?),
            };
            capture.write(port, record)
        });
        let written = written.map_err(|unwritten| match unwritten {
            Unwritten::Unfit(Unfit::Unavailable(why)) => Failure::Environment(why.to_string()),
            Unwritten::Unfit(Unfit::Impossible(why)) => Failure::Usage(why),
            Unwritten::Io(error) => cannot_write(path, &error),
        })?;
        let finished = capture.map_or(Ok(()), Capture::finish);
        finished.map_err(|error| cannot_write(path, &error))?;
        for trial in &written {
            outln!("{trial}");
        }
        outln!(
            "{n} frames of {:?}, seed {}, written to {}; none was sent",
            plan.name,
            plan.seed,
            path.display()
        );
        outln!(
            "Other loads and times have the same frames. The device is asked by ARP in a run; here \
             it is at 02:00:00:00:00:01 and so on, and answers nothing else"
        );
        Ok(())
    }
}
