//! `wirespeed test`: a plan, run.

use crate::arguments::quantity;
use crate::device::{Outside, usage};
use crate::failure::Failure;
use crate::frames::Frames;
use crate::keep;
use crate::progress::Shown;
use crate::so_far::SoFar;
use clap::Args;
use lab::suite::fit::Unfit;
use lab::suite::plan::{self, Allowed, Modifier, Said, moved};
use lab::suite::{self, Device, External, Options, Plan, Progress};
use lab::{machine, placement};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::BitRate;

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

    /// What is measured: wirespeed (the built-in router in memory), linux (the kernel, in a
    /// namespace between veths), external (whatever is connected to ports of this machine)
    #[arg(long, value_name = "NAME", default_value = "wirespeed",
          value_parser = ["wirespeed", "linux", "external"])]
    device: String,
    /// The wires' L1 rate, what 100 % is: 1G, 10G [default: the plan's; of an external device's
    /// interfaces their own, where they tell]
    #[arg(long, value_name = "RATE", value_parser = quantity)]
    link: Option<f64>,
    #[command(flatten)]
    outside: Outside,
    /// What its owner has set it up for: none, 1-filter, 25-filters-permit-last, … [default: none]
    #[arg(long, value_name = "NAME", value_parser = modifier)]
    #[arg(help_heading = "An external device")]
    modifier: Option<Modifier>,
    /// What makes it forget its connections and the hosts it has learned, before each trial that
    /// wants that (RFC 9693, RFC 2889): a line for the shell, which ends when it has. Without one
    /// nobody clears its tables: trials use connections that no earlier one had, and what takes an
    /// empty table is not run
    #[arg(long, value_name = "COMMAND", value_parser = a_command, help_heading = "An external device")]
    reset_command: Option<String>,

    #[command(flatten)]
    frames: Frames,
}

fn a_command(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("nothing would be run: a line for the shell, or leave it out".to_string()),
        _ => Ok(text.to_string()),
    }
}

fn modifier(text: &str) -> Result<Modifier, String> {
    let known = Modifier::ALL.iter().find(|(name, _)| *name == text);
    let names: Vec<&str> = Modifier::ALL.iter().map(|(name, _)| *name).collect();
    known.map(|known| known.1).ok_or_else(|| format!("modifiers are {}", names.join(", ")))
}

impl Arguments {
    /// The device.
    ///
    /// # Errors
    /// [`Failure::Usage`]: what was said is about another one.
    fn device(&self) -> Result<Device, Failure> {
        let of_its_owner = self.modifier.is_some() || self.reset_command.is_some();
        self.outside.is_of(self.device == "external", of_its_owner)?;
        if self.simulated && self.link.is_some() {
            return Err(usage(
                "the wires of virtual time are the plan's ([virtual], link): leave --link out",
            ));
        }
        if self.simulated && self.device != "wirespeed" {
            return Err(usage("only the built-in router has virtual time: leave --virtual out"));
        }
        Ok(match self.device.as_str() {
            "wirespeed" => Device::BuiltIn,
            "linux" => Device::Linux,
            _ => Device::External(Box::new(External {
                ports: self.outside.ports()?,
                modifier: self.modifier.unwrap_or(Modifier::None),
                reset: self.reset_command.clone(),
            })),
        })
    }

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
    let device = arguments.device()?;
    let external = matches!(device, Device::External(_));
    if arguments.simulated && arguments.quick {
        let why = "virtual time is as short as the plan's [virtual] says, and --quick would change \
                   nothing: leave one of them out";
        return Err(Failure::Usage(why.to_string()));
    }
    let allowed = Allowed { any_address: outside.any_address, external };
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
    if external {
        let (hosts, devices) = outside.ipv4()?;
        let said = [0, 1].map(|port| Said { host: hosts[port], device: devices[port] });
        plan.ends = moved(&plan, said, outside.any_address).map_err(usage)?;
    }
    let plan = suite::fit(&plan, &device, arguments.link.map(BitRate));
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

    fn read(words: &str) -> Result<Device, String> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            arguments: Arguments,
        }
        let words = ["test", "x.toml"].into_iter().chain(words.split_whitespace());
        let line =
            <Line as clap::Parser>::try_parse_from(words).map_err(|error| error.to_string())?;
        line.arguments.device().map_err(|failure| failure.to_string())
    }

    #[test]
    fn devices() {
        assert_eq!((read(""), read("--device linux")), (Ok(Device::BuiltIn), Ok(Device::Linux)));
        let ports = "--device external --port b=packet:eth2 --port a=xdp:eth1";
        let four = format!("{ports} --port d=xdp:eth4 --port c=xdp:eth3 --reset-command sync");
        let Ok(Device::External(four)) = read(&four) else { panic!("no external device") };
        assert_eq!(
            four.ports.iter().map(|port| port.interface.as_str()).collect::<String>(),
            "eth1eth2eth3eth4"
        );
        assert_eq!((four.modifier, four.reset.as_deref()), (Modifier::None, Some("sync")));
        let filters = format!("{ports} --modifier 25-filters-permit-last");
        let Ok(Device::External(filters)) = read(&filters) else { panic!("no external device") };
        assert_eq!(filters.modifier, Modifier::FiltersLast);
        for (words, expected) in [
            ("--device bsd", "possible values: wirespeed, linux, external"),
            ("--device external", "has two ports or more"),
            ("--device linux --reset-command sync", "--device external"),
            ("--device linux --modifier none", "--device external"),
            ("--device linux --virtual", "only the built-in router"),
            ("--device external --modifier many", "modifiers are none, 1-filter"),
            ("--link 0", "a number above zero"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }

    #[test]
    fn streams_have_lengths_of_their_own() {
        assert_eq!(place("none", "64 byte", "streams"), "none, streams");
        assert_eq!(place("none", "64 byte", "reset"), "none, 64 byte, reset");
    }
}
