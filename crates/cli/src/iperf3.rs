//! `wirespeed iperf3`: the iperf3 method, run.

use crate::device::iperf3::DeviceArguments;
use crate::failure::Failure;
use crate::keep;
use crate::so_far::{self, SoFar};
use clap::Args;
use daemon::live::Interrupt;
use lab::iperf3::{self as method, Iperf3Error, Options, PairError, Progress};
use measure::Environment;
use measure::iperf3::Results;
use std::path::{Path, PathBuf};

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
        Progress::Kept(results) => so_far.write(|| {
            let why = Some(so_far::WHY.to_string());
            report::write(&Results { incomplete_because: why, ..results.clone() })
        }),
    });
    let results = results.map_err(|error| match &error {
        Iperf3Error::Pair(PairError::Failed(_)) => Failure::Failed(error.to_string()),
        _ => Failure::Environment(error.to_string()),
    })?;
    // `so_far` goes when the results are where they should be.
    finish((arguments.json.as_deref(), arguments.html.as_deref()), &results)
}

/// Prints first, then writes: whatever a disk does, the figures are there.
fn finish(files: (Option<&Path>, Option<&Path>), results: &Results) -> Result<(), Failure> {
    keep::finish(&report::iperf3::document(results), files, || report::write(results))?;
    if let Some(why) = &results.incomplete_because {
        return Err(Failure::Failed(format!("incomplete: {why}")));
    }
    match results.faults().len() {
        0 if results.is_all_invalid() => Err(Failure::nothing_valid("row")),
        0 => Ok(()),
        n => Err(Failure::Failed(format!("{n} figures are impossible; they are named above"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::iperf3::Validity;

    const ROWS: &str = include_str!("../../report/data/iperf3-1.json");
    const LATENCIES: &str =
        include_str!("../../../results/2026-11-22-latency-beside-the-kernel.json");
    const PATHS: &str = include_str!("../../../results/2026-11-22-rfc6349-hosts-quick.json");

    /// Something measured, and whether it says anything.
    fn validities(of: &mut Results) -> impl Iterator<Item = &mut Validity> {
        let rows = of.rows.iter_mut().map(|row| &mut row.validity);
        let latencies = of.latencies.iter_mut().map(|latency| &mut latency.validity);
        let transfers = of.paths.iter_mut().flat_map(|path| &mut path.transfers);
        rows.chain(latencies).chain(transfers.map(|transfer| &mut transfer.validity))
    }

    /// One that is valid is a result; without any there is none, as with `test` and `bench`.
    #[test]
    fn how_a_run_ends() {
        let why = || Some("the clocks differ by 3s".to_string());
        for stored in [ROWS, LATENCIES, PATHS] {
            let ended = |change: &dyn Fn(&mut Results)| {
                let mut results = report::read::<Results>(stored).unwrap();
                change(&mut results);
                finish((None, None), &results).map_err(|failure| failure.to_string())
            };
            let all = |of: &mut Results| validities(of).for_each(|it| it.invalid = why());
            let invalid = Err(
                "every row was invalid: the tester fell short, or the machine was busy, and nothing was measured",
            );
            assert_eq!(ended(&|_| {}), Ok(()));
            assert_eq!(
                ended(&|of| validities(of).skip(1).for_each(|it| it.invalid = why())),
                Ok(())
            );
            assert_eq!(ended(&all), invalid.map_err(String::from));
            let stopped = |of: &mut Results| {
                all(of);
                of.incomplete_because = Some("interrupted".to_string());
            };
            assert_eq!(ended(&stopped), Err("incomplete: interrupted".to_string()));
        }
        // Of a path without its own time no transfer says anything.
        let mut results = report::read::<Results>(PATHS).unwrap();
        results.paths.iter_mut().for_each(|path| path.validity.invalid = why());
        assert!(finish((None, None), &results).is_err());
    }
}
