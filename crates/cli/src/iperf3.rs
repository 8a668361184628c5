//! `wirespeed iperf3`: the iperf3 method, run.

use crate::arguments::quantity;
use crate::device::{Outside, usage};
use crate::failure::Failure;
use crate::keep;
use crate::so_far::SoFar;
use clap::Args;
use daemon::live::Interrupt;
use lab::iperf3::external::Ends;
use lab::iperf3::{self as method, Iperf3Error, Options, Progress};
use lab::iperf3::{Device, External, Plan};
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
    /// What is measured instead of the plan's devices, beside its baseline: linux (the kernel),
    /// wirespeed (the built-in router), external (whatever is connected to two interfaces)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = device)]
    device: Vec<Device>,
    /// The wires' L1 rate: 1G, 10G [default: the plan's; of an external device's interfaces their own,
    /// where that is less]
    #[arg(long, value_name = "RATE", value_parser = quantity)]
    link: Option<f64>,
    #[command(flatten)]
    outside: Outside,
    /// Lend interfaces that have addresses or routes, too: this machine hears nothing from them
    /// meanwhile
    #[arg(long, help_heading = "An external device")]
    allow_in_use: bool,
}

fn device(text: &str) -> Result<Device, String> {
    match text {
        "linux" => Ok(Device::Linux),
        "wirespeed" => Ok(Device::Wirespeed),
        "external" => Ok(Device::External),
        _ => Err("the devices are: linux, wirespeed, external".to_string()),
    }
}

impl Arguments {
    /// The plan as it is to be run, and what is outside, if that is asked for.
    ///
    /// # Errors
    /// [`Failure::Usage`]: it does not fit the plan, or the device.
    fn devices(&self, plan: &Plan) -> Result<(Plan, Option<External>), Failure> {
        let plan = plan.of(&self.device, self.link).map_err(usage)?;
        let (outside, is_external) = (&self.outside, plan.is_of(Device::External));
        outside.is_of(is_external, self.allow_in_use)?;
        if !is_external {
            return Ok((plan, None));
        }
        let ports = outside.interfaces()?;
        let (ours, gateways) = outside.ipv4()?;
        let ends = Ends::new(ours, gateways).map_err(usage)?;
        outside.check(ends.is_for_tests())?;
        Ok((plan, Some(External { ports, ends, in_use: self.allow_in_use, link: self.link })))
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = &arguments.plan;
    let text = keep::read(path, "the plan")?;
    let plan = method::plan::read(&text)
        .map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    let (plan, external) = arguments.devices(&plan)?;
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
        Iperf3Error::Failed(_) => Failure::Failed(error.to_string()),
        _ => Failure::Environment(error.to_string()),
    })?;
    // `so_far` goes when the results are where they should be.
    let files = (arguments.json.as_deref(), arguments.html.as_deref());
    keep::finish(&report::File::Iperf3(results), files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<(Plan, Option<External>), String> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            arguments: Arguments,
        }
        let plan = method::plan::read(include_str!("../../../plans/iperf3.toml")).unwrap();
        let words = ["iperf3", "x.toml"].into_iter().chain(words.split_whitespace());
        let line =
            <Line as clap::Parser>::try_parse_from(words).map_err(|error| error.to_string())?;
        line.arguments.devices(&plan).map_err(|failure| failure.to_string())
    }

    #[test]
    fn devices() {
        assert_eq!(read("").unwrap().1, None);
        assert_eq!(read("--device linux").unwrap().0.devices, [Device::Direct, Device::Linux]);
        let ports = "--device external --port b=eth2@red --port a=eth1";
        let (plan, external) = read(ports).unwrap();
        assert_eq!(plan.devices, [Device::Direct, Device::External]);
        assert_eq!((external.as_ref().unwrap().in_use, external.unwrap().link), (false, None));
        let more = "--address a=10.0.0.2/24 --allow-any-address --allow-in-use --link 10G";
        let (plan, external) = read(&format!("{ports} {more}")).unwrap();
        let external = external.unwrap();
        assert_eq!((plan.link, external.link, external.in_use), (Some(1e10), Some(1e10), true));
        assert_eq!(external.ends.gateways.unwrap()[0].to_string(), "10.0.0.1");
        for (words, expected) in [
            ("--device bsd", "the devices are: linux, wirespeed, external"),
            ("--allow-in-use", "--device external"),
            (&format!("{ports} --address a=10.0.0.2/24"), "RFC 6815"),
            (&format!("{ports} --gateway a=198.18.7.1"), "is no host of 198.18.1.0/24"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }
}
