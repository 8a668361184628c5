//! `wirespeed test`: a plan, run.

use crate::device::suite::DeviceArguments;
use crate::failure::Failure;
use crate::frames::Frames;
use crate::keep;
use crate::progress::Shown;
use crate::so_far::SoFar;
use clap::Args;
use lab::suite::fit::Unfit;
use lab::suite::plan::{self, Allowed};
use lab::suite::{self, Device, Options, Plan, Progress};
use lab::{machine, placement};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(Args)]
#[command(after_help = "\
Examples:
  wirespeed test plans/rfc2544.toml --quick --html rfc2544.html
  wirespeed test plans/rfc8219.toml --virtual
  wirespeed test plans/mikrotik.toml --json results.json
  wirespeed test plans/streams.toml --virtual --html streams.html
  wirespeed test plans/replay.toml --virtual
  wirespeed test plans/rfc2544.toml --device linux --quick
  wirespeed test plans/performance-table.toml --quick        as `bench`, with its options
  wirespeed test plans/rfc2544.toml --device external --port a=xdp:eth1 --port b=packet:eth2
  wirespeed test plans/rfc9693.toml --device external --port a=xdp:eth1 --port b=xdp:eth2 \\
      --reset-command 'ssh admin@192.0.2.1 \"/ip firewall connection remove [find]\"'
  wirespeed test plans/rfc2544.toml --pcap frames.pcapng --packets 100 --load 50%

Ctrl-C ends it: what was measured is printed and written, what came of the trial under way included,
and marked as incomplete.

Exit codes: 0 done, 1 failed, interrupted, with numbers that cannot be, or with no valid trial, 2 usage
or an impossible plan, 3 environment")]
pub(crate) struct Arguments {
    /// The plan: device, traffic, procedures (see plans/)
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// Shortened as the plan says: no result by the RFC, and marked as that (not with --virtual,
    /// whose plan has its own lengths)
    #[arg(long)]
    quick: bool,

    /// In virtual time: simulated wires and a modelled processor, the same numbers everywhere
    #[arg(long = "virtual")]
    simulated: bool,

    /// Write the whole result to a file; - is standard output (the tables then go to standard error)
    /// [default: with neither --json nor --html both files, in the folder of --output, called PLAN-TIME]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Draw it as one page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Where both files go that nobody gave a name; it is made if it is not there
    #[arg(long, value_name = "FOLDER", default_value = "results",
          conflicts_with_all = ["json", "html", "no_files"])]
    output: PathBuf,

    /// Write neither
    #[arg(long, conflicts_with_all = ["json", "html"])]
    no_files: bool,

    /// Where random choices start from; what has a seed of its own in the plan keeps it
    /// [default: the plan's]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    #[command(flatten)]
    outside: DeviceArguments,

    #[command(flatten)]
    frames: Frames,
}

impl Arguments {
    /// Where the result and its page go, of a run that began at this time (RFC 3339).
    fn files(&self, began: &str) -> [Option<PathBuf>; 2] {
        if self.json.is_some() || self.html.is_some() || self.no_files {
            return [self.json.clone(), self.html.clone()];
        }
        let plan = self.plan.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{plan}-{}", began.replace(':', ""));
        ["json", "html"].map(|end| Some(self.output.join(format!("{name}.{end}"))))
    }

    /// Makes the folder for files that nobody gave a name.
    fn make_folder(&self) -> Result<(), Failure> {
        if self.json.is_some() || self.html.is_some() || self.no_files {
            return Ok(());
        }
        std::fs::create_dir_all(&self.output).map_err(|error| {
            let folder = self.output.display();
            let text = format!(
                "cannot make the folder {folder}: {error}; --output names another, --no-files none"
            );
            Failure::Environment(text)
        })
    }

    /// No file is written that is read, and none twice.
    fn apart(&self, plan: &Plan) -> Result<(), Failure> {
        let beside = |file: &String| self.plan.with_file_name(file);
        let mut read = vec![("the plan", self.plan.clone())];
        read.extend(
            plan.configuration.iter().map(|file| ("the device's configuration", beside(file))),
        );
        read.extend(
            plan.replays.iter().map(|replay| ("a capture of the plan", beside(&replay.file))),
        );
        let written = [
            ("--json", self.json.as_deref()),
            ("--html", self.html.as_deref()),
            ("--pcap", self.frames.file()),
        ];
        keep::apart(&read, &written)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = &arguments.plan;
    let text = keep::read(path, "the plan")?;
    let outside = &arguments.outside;
    let device = outside.device(arguments.simulated)?;
    if arguments.simulated && arguments.quick {
        let why = "virtual time is as short as the plan's [virtual] says, and --quick would change \
                   nothing: leave one of them out";
        return Err(Failure::Usage(why.to_string()));
    }
    let allowed = Allowed { any_address: outside.any_address(), external: outside.is_external() };
    // Beside the plan, as its configuration.
    let capture = |file: &str| {
        let file = path.with_file_name(file);
        std::fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))
    };
    let plan = plan::read_with(&text, allowed, arguments.seed, &capture);
    let mut plan = plan.map_err(|bad| Failure::Usage(format!("{}:{bad}", path.display())))?;
    arguments.apart(&plan)?;
    for replay in &plan.replays {
        for warning in &replay.warnings {
            say!("warning: {}: {}: {warning}", path.display(), replay.name);
        }
    }
    if arguments.simulated {
        let fits = suite::fits_virtual_time(&plan);
        fits.map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    }
    // Whom frames could reach comes before all: no interface is looked at until that is settled.
    outside.place(&mut plan)?;
    let plan = suite::fit(&plan, &device, outside.link());
    let plan = plan.map_err(|unfit| match unfit {
        Unfit::Impossible(why) => Failure::Usage(format!("{}: {why}", path.display())),
        Unfit::Unavailable(unavailable) => Failure::Environment(unavailable.to_string()),
    })?;
    if arguments.frames.is_asked_for() {
        return arguments.frames.write(&plan, &device, (arguments.simulated, arguments.quick));
    }
    let script = match &plan.configuration {
        Some(file) => keep::read(&path.with_file_name(file), "the device's configuration")?,
        None => String::new(),
    };
    let pair = match (arguments.simulated, placement::pair()) {
        (true, _) => None,
        (false, Some(pair)) => Some(pair),
        (false, None) => {
            let text = "tester and device need a processor each, and this process may use only \
                        one: try --virtual, or allow it more (taskset, cgroup)";
            return Err(Failure::Environment(text.to_string()));
        }
    };
    let interrupt = Arc::new(AtomicBool::new(false));
    crate::signals::set(&interrupt)?;
    let mut environment = crate::bench::in_memory(plan.seed);
    arguments.make_folder()?;
    let files = arguments.files(&environment.timestamp);
    keep::writable(files.iter().flatten().map(PathBuf::as_path))?;
    if device != Device::BuiltIn {
        environment.sysctls = machine::sysctls();
    }
    let quick = arguments.quick;
    let options = Options { device, text, script, quick, pair, interrupt, environment };
    let (plan, scaling) = suite::scaled(&plan, &options);
    if pair.is_some() && !machine::missing_features().is_empty() {
        let missing = machine::missing_features().join(", ");
        return Err(Failure::Environment(format!("this processor lacks {missing}: build it here")));
    }
    let mut shown = Shown::new(suite::run::cells(&plan), false);
    // What takes seconds is not killed.
    let file = files[0].as_deref().filter(|_| pair.is_some());
    let mut so_far = SoFar::beside(file);
    let results = suite::run(&plan, scaling, &options, |progress| {
        show(&mut shown, &progress);
        if let Progress::Done(results) = progress {
            so_far.write(|| report::File::Suite(results.clone()));
        }
    });
    drop(shown);
    // `so_far` goes when the results are where they should be.
    let files = (files[0].as_deref(), files[1].as_deref());
    keep::finish(&report::File::Suite(results), files)
}

fn show(shown: &mut Shown, progress: &Progress<'_>) {
    match progress {
        Progress::Begin { configuration, frame, procedure } => {
            shown.begin(|| place(configuration, &frame.words(), procedure));
        }
        Progress::Done(so_far) => {
            let Some(cell) = so_far.cells.last() else { return };
            shown.done(|| {
                let first = cell.figures.first().map_or(String::new(), report::suite::figure);
                let place = place(&cell.configuration, &cell.size().words(), &cell.procedure);
                format!("{place}: {first}")
            });
        }
    }
}

/// What is measured. Streams have lengths of their own, and not the plan's one.
fn place(configuration: &str, size: &str, procedure: &str) -> String {
    match procedure {
        "streams" => format!("{configuration}, {procedure}"),
        _ => format!("{configuration}, {size}, {procedure}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_lengths_of_their_own() {
        assert_eq!(place("none", "64 byte", "streams"), "none, streams");
        assert_eq!(place("none", "64 byte", "reset"), "none, 64 byte, reset");
    }
}
