//! `wirespeed lab run`.

use crate::arguments;
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use daemon::live::Interrupt;
use lab::run::{Lab, Plan};
use lab::topology::Time;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The lab
    #[arg(value_name = "FILE.yaml")]
    file: PathBuf,
    /// Virtual time, where the same seed gives the same bytes, or real time on threads [default:
    /// what the file says]
    #[arg(long, value_name = "TIME")]
    time: Option<TimeArgument>,
    /// Where random choices start from [default: what the file says]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How long a step may take, in the lab's time
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = arguments::duration)]
    limit: Duration,
    /// Where the nodes' files are, in a directory of each one's name [default: they have none]
    #[arg(long, value_name = "DIRECTORY")]
    files: Option<PathBuf>,
    /// Also writes what was typed, printed and found to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum TimeArgument {
    Virtual,
    Real,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lab = [("the lab", arguments.file.clone())];
    crate::keep::apart(&lab, &[("--json", arguments.json.as_deref())])?;
    let (topology, scripts) = super::read(&arguments.file)?;
    let time = match arguments.time {
        None => topology.time,
        Some(TimeArgument::Virtual) => Time::Virtual,
        Some(TimeArgument::Real) => Time::Real,
    };
    let seed = arguments.seed.unwrap_or(topology.seed);
    super::make_homes(arguments.files.as_deref(), &topology)?;
    let (files, limit) = (arguments.files.clone(), arguments.limit);
    let plan = Plan { topology, scripts, time, seed, files, rehearsed: false, limit };
    let interrupt = Interrupt::default();
    crate::signals::raise(&interrupt)?;
    let language = crate::served::language();
    let lab = Lab::up(&plan, &language, interrupt.clone());
    let mut lab = lab.map_err(|error| super::failed(&error))?;
    let mut stdout = std::io::stdout().lock();
    let mut gone = false;
    let report = lab.run(&plan, &mut |event| {
        // Whoever reads no further wants no more either.
        if write!(stdout, "{event}").and_then(|()| stdout.flush()).is_err() && !gone {
            gone = true;
            interrupt.raise();
        }
    });
    let ended = lab.down();
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report).expect("a report is plain data");
        crate::keep::keep(path, "transcript", &(text + "\n"), true)
            .map_err(Failure::Environment)?;
    }
    ended.map_err(Failure::Failed)?;
    if interrupt.is_raised() {
        return Err(Failure::Failed("interrupted".to_string()));
    }
    if report.passed() {
        return Ok(());
    }
    Err(Failure::Failed(format!("{}: not all was as expected", arguments.file.display())))
}
