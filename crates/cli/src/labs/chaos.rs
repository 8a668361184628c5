//! `wirespeed lab chaos`.

use crate::failure::Failure;
use clap::Args;
use daemon::live::Interrupt;
use lab::chaos::{PATIENCE, Plan, Ran, Recovery, run};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
The router runs as a process of its own between two hosts in namespaces, whose ping, curl and iperf3 go
through it. It is stopped, killed and started anew; interfaces are deleted, links go down, memory and
disk run out, lines are typed, processors are busy. After each fault all three must work again within
30 s, and afterwards the machine must be as before. It takes root, iperf3, curl, python3 and unshare.

Examples:
  wirespeed lab chaos --minutes 10
  wirespeed lab chaos --minutes 1 --seed 7")]
pub(super) struct Arguments {
    /// For how long faults are begun
    #[arg(long, value_name = "M", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
    /// Where the faults are drawn from
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

pub(super) fn chaos(arguments: &Arguments) -> Result<(), Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Environment(format!("finding this program: {error}")))?;
    let time = Duration::from_secs(60 * arguments.minutes);
    let interrupt = Interrupt::default();
    crate::signals::raise(&interrupt)?;
    let plan = Plan { program, seed: arguments.seed, time };
    let ran = run(&plan, tell, || interrupt.is_raised());
    let ran = ran.map_err(|error| Failure::Environment(error.to_string()))?;
    summary(&ran);
    match ran.wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(ran.wrong.join("\n"))),
    }
}

/// A line for each fault.
fn tell(recovery: &Recovery) {
    let Recovery { fault, at, took, seen } = recovery;
    let at = at.as_secs_f64();
    match took {
        Some(took) => {
            outln!("{at:7.1} s  {fault}: {seen}; all work after {:.2} s", took.as_secs_f64());
        }
        None => outln!("{at:7.1} s  {fault}: {seen}; NOT all work after {} s", PATIENCE.as_secs()),
    }
}

/// How long hosts were without the router, by kind of fault.
fn summary(ran: &Ran) {
    let mut by_fault = BTreeMap::<_, Vec<Duration>>::new();
    for recovery in &ran.recoveries {
        by_fault.entry(recovery.fault).or_default().extend(recovery.took);
    }
    outln!("{:<24} {:>6} {:>10} {:>10}", "fault", "times", "median s", "longest s");
    for (fault, mut times) in by_fault {
        times.sort();
        let Some(last) = times.last() else { continue };
        let (median, longest) = (times[times.len() / 2].as_secs_f64(), last.as_secs_f64());
        let name = fault.to_string();
        outln!("{name:<24} {:>6} {median:>10.2} {longest:>10.2}", times.len());
    }
}
