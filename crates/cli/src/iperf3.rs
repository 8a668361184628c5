//! `wirespeed iperf3`: the iperf3 method, run.

use crate::device::iperf3::DeviceArguments;
use crate::failure::Failure;
use crate::keep;
use crate::so_far::SoFar;
use clap::Args;
use daemon::live::Interrupt;
use lab::iperf3::{self as method, Iperf3Error, Options, PairError, Progress};
use measure::Environment;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  wirespeed iperf3 plans/iperf3.toml --quick
  wirespeed iperf3 plans/iperf3.toml --json results/iperf3.json --html iperf3.html
  wirespeed iperf3 plans/latency-beside-the-kernel.toml     ping and irtt, by turns
  wirespeed iperf3 plans/rfc6349-hosts.toml --quick          what TCP makes of a path
  wirespeed iperf3 plans/iperf3.toml --device external --port a=eth1 --port b=eth2
  wirespeed report check results/iperf3.json

It needs root and iperf3 (for latency ping and irtt). Hosts are network namespaces of their own; nothing
is left of them. Through an external device each host has a macvlan of an interface of this machine,
which itself stays where it is, settings and all, whatever ends the program.
Ctrl-C ends it: what was measured is printed and written, and marked as incomplete. A run that is
killed leaves what it had in FILE.so-far, beside the file of --json.

Exit codes: 0 done, 1 failed, interrupted, with rows that cannot be, or with none that is valid, 2
usage or an impossible plan, 3 environment (no iperf3, no permission)")]
pub(crate) struct Arguments {
    /// The plan: devices, packet lengths, pairs of processes (see plans/iperf3.toml)
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Shortened as the plan says
    #[arg(long)]
    quick: bool,
    /// Write the whole result to a file, with all that iperf3 wrote; - is standard output (the tables
    /// then go to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw it as one page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = &arguments.plan;
    let text = keep::read(path, "the plan")?;
    let plan = method::plan::read(&text)
        .map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    let (plan, external) = arguments.device.read(&plan)?;
    let script = match &plan.configuration {
        Some(file) => keep::read(&path.with_file_name(file), "the router's configuration")?,
        None => String::new(),
    };
    let beside = |file: &String| ("the router's configuration", path.with_file_name(file));
    let mut read = vec![("the plan", path.clone())];
    read.extend(plan.configuration.iter().map(beside));
    let written = [("--json", arguments.json.as_deref()), ("--html", arguments.html.as_deref())];
    keep::apart(&read, &written)?;
    keep::writable(written.into_iter().filter_map(|(_, file)| file))?;
    let interrupt = Interrupt::default();
    crate::signals::raise(&interrupt)?;
    let quick = arguments.quick;
    let environment =
        Environment { sysctls: daemon::machine::sysctls(), ..crate::bench::in_memory(0) };
    let options = Options { text, script, quick, interrupt, environment, external };
    let rows = if quick { plan.quickened().rows() } else { plan.rows() };
    let mut done = 0;
    let mut so_far = SoFar::beside(arguments.json.as_deref());
    let results = method::run(&plan, &options, |progress| match progress {
        Progress::Line(line) => {
            done += 1;
            say!("[{done}/{rows}] {line}");
        }
        Progress::Kept(results) => so_far.write(|| report::File::Iperf3(results.clone())),
    });
    let results = results.map_err(|error| match &error {
        Iperf3Error::Pair(PairError::Failed(_)) => Failure::Failed(error.to_string()),
        _ => Failure::Environment(error.to_string()),
    })?;
    // `so_far` goes when the results are where they should be.
    let files = (arguments.json.as_deref(), arguments.html.as_deref());
    keep::finish(&report::File::Iperf3(results), files)
}
