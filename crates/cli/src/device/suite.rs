//! Arguments of `wirespeed test` about its device: which, behind which interfaces, and the hosts there.

use super::bench::in_order;
use super::hosts::Hosts;
use crate::arguments::quantity;
use crate::failure::Failure;
use clap::Args;
use daemon::real::PortSpec;
use lab::suite::plan::{Modifier, Said, moved};
use lab::suite::{Device, External, Plan};
use std::str::FromStr;
use wire::BitRate;

#[derive(Args)]
pub(crate) struct DeviceArguments {
    /// What is measured: wirespeed (the built-in router in memory), linux (the kernel, in a
    /// namespace between veths), external (whatever is connected to ports of this machine)
    #[arg(long, value_name = "NAME", default_value = "wirespeed", value_parser = kind)]
    device: Kind,

    /// The wires' L1 rate, what 100 % is: 1G, 10G [default: the plan's; of an external device's
    /// interfaces their own, where they tell]
    #[arg(long, value_name = "RATE", value_parser = quantity)]
    link: Option<f64>,

    /// An external device's ports, as many as the plan wants: a=xdp:eth1 and b=packet:eth2, of a
    /// bridge c and d, too. They are the tester's while this runs: by xdp the machine itself gets
    /// nothing from them
    #[arg(long = "port", value_name = "a|b|…=BACKEND:INTERFACE", value_parser = PortSpec::from_str)]
    #[arg(help_heading = "An external device")]
    ports: Vec<PortSpec>,

    #[command(flatten)]
    hosts: Hosts,

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
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    BuiltIn,
    Linux,
    External,
}

fn kind(text: &str) -> Result<Kind, String> {
    match text {
        "wirespeed" => Ok(Kind::BuiltIn),
        "linux" => Ok(Kind::Linux),
        "external" => Ok(Kind::External),
        _ => Err("the devices are: wirespeed, linux, external".to_string()),
    }
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

fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

impl DeviceArguments {
    /// Whether frames leave this machine.
    pub(crate) fn is_external(&self) -> bool {
        self.device == Kind::External
    }

    /// Whether any address will do.
    pub(crate) fn any_address(&self) -> bool {
        self.hosts.any_address
    }

    /// The wires' rate, if it was said.
    pub(crate) fn link(&self) -> Option<BitRate> {
        self.link.map(BitRate)
    }

    /// The device.
    ///
    /// # Errors
    /// [`Failure::Usage`]: what was said is about another one.
    pub(crate) fn device(&self, simulated: bool) -> Result<Device, Failure> {
        let DeviceArguments { ports, hosts, modifier, reset_command, .. } = self;
        let of_others = !ports.is_empty() || modifier.is_some() || reset_command.is_some();
        if !self.is_external() && (of_others || hosts.are_said()) {
            let why = "ports, addresses and what a device is set up for are an external device's: \
                       --device external";
            return Err(usage(why));
        }
        if simulated && self.link.is_some() {
            return Err(usage(
                "the wires of virtual time are the plan's ([virtual], link): leave --link out",
            ));
        }
        if simulated && self.device != Kind::BuiltIn {
            return Err(usage("only the built-in router has virtual time: leave --virtual out"));
        }
        Ok(match self.device {
            Kind::BuiltIn => Device::BuiltIn,
            Kind::Linux => Device::Linux,
            Kind::External => Device::External(Box::new(External {
                ports: in_order(ports)?,
                modifier: modifier.unwrap_or(Modifier::None),
                reset: reset_command.clone(),
            })),
        })
    }

    /// Puts the plan's hosts where an external device is.
    ///
    /// # Errors
    /// [`Failure::Usage`]: somebody is where he cannot be, or may not be.
    pub(crate) fn place(&self, plan: &mut Plan) -> Result<(), Failure> {
        if !self.is_external() {
            return Ok(());
        }
        let (hosts, devices) = (self.hosts.ours()?, self.hosts.the_devices()?);
        let said = [0, 1].map(|port| Said { host: hosts[port], device: devices[port] });
        plan.ends = moved(plan, said, self.hosts.any_address).map_err(usage)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        device: DeviceArguments,
    }

    fn read(words: &str) -> Result<Device, String> {
        let words = ["test"].into_iter().chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        match line.device.device(false) {
            Ok(device) => Ok(device),
            Err(Failure::Usage(text)) => Err(text),
            Err(_) => panic!("a usage error has another code"),
        }
    }

    #[test]
    fn what_is_said_is_understood() {
        assert_eq!(read(""), Ok(Device::BuiltIn));
        assert_eq!(read("--device linux"), Ok(Device::Linux));
        let ports = "--device external --port b=packet:eth2 --port a=xdp:eth1";
        let Ok(Device::External(plain)) = read(ports) else { panic!("no external device") };
        let interfaces = |device: &External| -> Vec<String> {
            device.ports.iter().map(|port| port.interface.clone()).collect()
        };
        assert_eq!(interfaces(&plain), ["eth1", "eth2"]);
        assert_eq!((plain.modifier, &plain.reset), (Modifier::None, &None));
        let four = format!("{ports} --port d=xdp:eth4 --port c=xdp:eth3 --reset-command sync");
        let Ok(Device::External(four)) = read(&four) else { panic!("no external device") };
        assert_eq!(interfaces(&four), ["eth1", "eth2", "eth3", "eth4"]);
        assert_eq!(four.reset.as_deref(), Some("sync"));
        let filters = format!("{ports} --modifier 25-filters-permit-last");
        let Ok(Device::External(filters)) = read(&filters) else { panic!("no external device") };
        assert_eq!(filters.modifier, Modifier::FiltersLast);
    }

    #[test]
    fn virtual_time_is_the_built_in_routers() {
        let line = Line::try_parse_from(["test", "--device", "linux"]).unwrap();
        assert!(matches!(line.device.device(true), Err(Failure::Usage(_))));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (words, expected) in [
            ("--device bsd", "the devices are: wirespeed, linux, external"),
            ("--device external", "has two ports or more"),
            ("--device external --port a=xdp:eth1 --port c=xdp:eth2", "are called a and b"),
            ("--device external --port a=xdp:eth1 --port b=xdp:eth1", "the same interface, eth1"),
            ("--device linux --reset-command sync", "--device external"),
            ("--port a=xdp:eth1", "--device external"),
            ("--device linux --allow-any-address", "--device external"),
            ("--device linux --modifier none", "--device external"),
            ("--device external --modifier many", "modifiers are none, 1-filter"),
            ("--link 0", "a number above zero"),
            ("--address a=198.18.1.2", "an address is"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }
}
