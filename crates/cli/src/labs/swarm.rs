//! `wirespeed lab swarm`.

use crate::failure::Failure;
use clap::Args;
use daemon::live::Interrupt;
use lab::swarm::{Bag, Case, Find, Hunt, hunt, run};
use port::pcap::Writer;
use port::record::Record;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Each seed draws routers, bridges, VLANs, hosts, configurations, traffic and faults, and runs them in
virtual time. Beside each router stands one that takes the slow path only: both must send and show the
same. A failing seed is made smaller and written to a file that --replay runs again.

Examples:
  wirespeed lab swarm --seeds 1000
  wirespeed lab swarm --minutes 10 --seed 50000 --output finds
  wirespeed lab swarm --replay finds/seed-50123.toml")]
pub(super) struct Arguments {
    /// How many seeds [default: as many as run in --minutes, or 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// For how long at most
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..))]
    minutes: Option<u64>,
    /// Where the files of failing seeds go
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    output: PathBuf,
    /// A file with one state a line, all of which must have been reached by some seed
    #[arg(long, value_name = "FILE")]
    reach: Option<PathBuf>,
    /// Runs the case of this file, and nothing else
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["seeds", "minutes", "reach"])]
    replay: Option<PathBuf>,
}

pub(super) fn swarm(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.replay {
        return replay(file, &arguments.output);
    }
    let wanted = arguments.reach.as_deref().map(read).transpose()?.unwrap_or_default();
    let seeds = arguments.seeds.unwrap_or(if arguments.minutes.is_some() { u64::MAX } else { 100 });
    let plan = Hunt {
        first: arguments.seed,
        seeds,
        time: arguments.minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        shrinking: 300,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let interrupt = Interrupt::default();
    crate::signals::raise(&interrupt)?;
    std::panic::set_hook(Box::new(|_| {})); // a panic is a find, and told as one
    let found = |find: &Find| tell(find, &arguments.output);
    let counted = |n| say!("{n} seeds");
    let bag = hunt(&plan, &found, &counted, &|| interrupt.is_raised());
    let _ = std::panic::take_hook();
    summary(&bag);
    let missed: Vec<&str> = wanted.lines().filter(|state| !bag.reached.has(state)).collect();
    if !bag.finds.is_empty() {
        return Err(Failure::Failed(format!("{} seeds failed", bag.finds.len())));
    }
    match missed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(format!("no seed reached: {}", missed.join(", ")))),
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file);
    text.map_err(|error| Failure::Environment(format!("reading {}: {error}", file.display())))
}

fn replay(file: &Path, output: &Path) -> Result<(), Failure> {
    let shown = file.display();
    let case = Case::read(&read(file)?).map_err(|why| Failure::Usage(format!("{shown}: {why}")))?;
    let outcome = run(&case);
    let Some(failure) = outcome.failure else {
        outln!("{shown}: passes, {} frames", outcome.n_frames);
        return Ok(());
    };
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let capture = output.join(format!("{name}.pcap"));
    write_frames(&capture, &outcome.frames)?;
    let at = failure.at.as_nanos() as f64 / 1e9;
    Err(Failure::Failed(format!(
        "{shown}: after {at:.6} s, {}\n{}",
        failure.what,
        capture.display()
    )))
}

/// Tells of a find, and writes its files.
fn tell(find: &Find, output: &Path) {
    let at = find.failure.at.as_nanos() as f64 / 1e9;
    outln!("seed {}: after {at:.6} s, {}", find.seed, find.failure.what);
    let file = output.join(format!("seed-{}.toml", find.seed));
    let capture = output.join(format!("seed-{}.pcap", find.seed));
    let written = std::fs::create_dir_all(output)
        .and_then(|()| std::fs::write(&file, find.case.write()))
        .map_err(|error| format!("writing {}: {error}", file.display()))
        .and_then(|()| write_frames(&capture, &find.frames).map_err(|failure| failure.to_string()));
    match written {
        Ok(()) => outln!("  {} {}", file.display(), capture.display()),
        Err(error) => outln!("  {error}"),
    }
}

fn write_frames(file: &Path, frames: &[(wire::Moment, Vec<u8>)]) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let mut writer = Writer::new(std::io::BufWriter::new(std::fs::File::create(file)?))?;
        for (at, frame) in frames {
            writer.write(&Record::ethernet(at.as_nanos(), frame))?;
        }
        std::io::Write::flush(&mut writer.finish()?)
    };
    write().map_err(|error| Failure::Environment(format!("writing {}: {error}", file.display())))
}

/// What was reached, and what never.
fn summary(bag: &Bag) {
    let rate = bag.seeds as f64 / bag.took.as_secs_f64().max(1e-9) * 3600.0;
    let (seeds, frames, took) = (bag.seeds, bag.frames, bag.took.as_secs_f64());
    outln!("{seeds} seeds, {frames} frames in {took:.1} s ({rate:.0} seeds an hour)");
    for (state, n) in bag.reached.iter() {
        outln!("  {n:>7}  {state}");
    }
    outln!("never: {}", bag.reached.never_discarded().join(", "));
}
