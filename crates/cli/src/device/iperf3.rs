//! Arguments of `wirespeed iperf3` about its device: which, on which interfaces, and the hosts there.

use super::hosts::{Hosts, NAMES, each};
use crate::arguments::quantity;
use crate::failure::Failure;
use clap::Args;
use lab::iperf3::external::{Ends, HostInterface};
use lab::iperf3::{Device, External, Plan};
use std::str::FromStr;

#[derive(Args)]
pub(crate) struct DeviceArguments {
    /// What is measured instead of the plan's devices, beside its baseline: linux (the kernel),
    /// wirespeed (the built-in router), external (whatever is connected to two interfaces)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = device)]
    device: Vec<Device>,

    /// The wires' L1 rate: 1G, 10G [default: the plan's; of an external device's interfaces their own,
    /// where that is less]
    #[arg(long, value_name = "RATE", value_parser = quantity)]
    link: Option<f64>,

    /// The interfaces that it is connected to, a for the first host and b for the second: a=eth1,
    /// b=eth2@NAMESPACE. The hosts have all of their frames while this runs; their settings stay as
    /// they are
    #[arg(long = "port", value_name = "a|b=INTERFACE", value_parser = port)]
    #[arg(help_heading = "An external device")]
    ports: Vec<(usize, HostInterface)>,

    #[command(flatten)]
    hosts: Hosts,

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

fn port(text: &str) -> Result<(usize, HostInterface), String> {
    let (name, rest) = text.split_once('=').unwrap_or(("", text));
    let port = NAMES.iter().position(|known| *known == name);
    let port = port.ok_or_else(|| format!("a port is a=eth1 or b=eth2, not {text:?}"))?;
    Ok((port, HostInterface::from_str(rest)?))
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

impl DeviceArguments {
    /// The plan as it is to be run, and what is outside, if that is asked for.
    ///
    /// # Errors
    /// [`Failure::Usage`]: it does not fit the plan, or the device.
    pub(crate) fn read(&self, plan: &Plan) -> Result<(Plan, Option<External>), Failure> {
        let plan = plan.of(&self.device, self.link).map_err(usage)?;
        let DeviceArguments { ports, hosts, .. } = self;
        if !plan.is_of(Device::External) {
            if hosts.are_said() || !ports.is_empty() || self.allow_in_use {
                let text = "ports and addresses are an external device's: --device external";
                return Err(usage(text));
            }
            return Ok((plan, None));
        }
        let two = "an external device has two ports: --port a=eth1 --port b=eth2";
        let [Some(a), Some(b)] = each("--port", ports)? else { return Err(usage(two)) };
        if a == b {
            return Err(usage(format!("a and b are the same interface, {a}")));
        }
        let (addresses, gateways) = (hosts.ours()?, hosts.the_devices()?);
        let ends = Ends::new(addresses, gateways).map_err(usage)?;
        hosts.check(ends.is_for_tests())?;
        let (in_use, link) = (self.allow_in_use, self.link);
        Ok((plan, Some(External { ports: [a, b], ends, in_use, link })))
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

    fn read(words: &str) -> Result<(Plan, Option<External>), String> {
        let plan = lab::iperf3::plan::read(include_str!("../../../../plans/iperf3.toml")).unwrap();
        let words = ["iperf3"].into_iter().chain(words.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.device.read(&plan).map_err(|failure| match failure {
            Failure::Usage(text) => text,
            _ => panic!("a usage error has another code"),
        })
    }

    #[test]
    fn what_is_said_is_understood() {
        assert_eq!(read("").unwrap().1, None);
        let ports = "--device external --port b=eth2@red --port a=eth1";
        let (plan, external) = read(ports).unwrap();
        let external = external.unwrap();
        assert_eq!(plan.devices, [Device::Direct, Device::External]);
        assert_eq!(external.ports.map(|port| port.to_string()), ["eth1", "eth2@red"]);
        assert_eq!((external.in_use, external.link), (false, None));
        let more = "--address a=10.0.0.2/24 --allow-any-address --allow-in-use --link 10G";
        let (plan, external) = read(&format!("{ports} {more}")).unwrap();
        let external = external.unwrap();
        assert_eq!((plan.link, external.link, external.in_use), (Some(1e10), Some(1e10), true));
        assert_eq!(external.ends.gateways.unwrap()[0].to_string(), "10.0.0.1");
        assert_eq!(read("--device linux").unwrap().0.devices, [Device::Direct, Device::Linux]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let external = "--device external --port a=eth1 --port b=eth2";
        for (words, expected) in [
            ("--device bsd", "the devices are: linux, wirespeed, external"),
            ("--device external", "has two ports"),
            ("--device external --port a=eth1", "has two ports"),
            ("--device external --port a=eth1 --port a=eth2", "--port a stands there twice"),
            ("--device external --port a=eth1 --port b=eth1", "the same interface, eth1"),
            ("--device external --port c=eth1", "a port is a=eth1 or b=eth2"),
            ("--device external --port a=xdp:eth1", "by no backend: eth1"),
            ("--port a=eth1", "--device external"),
            ("--allow-in-use", "--device external"),
            (&format!("{external} --address a=10.0.0.2/24"), "RFC 6815"),
            (&format!("{external} --gateway a=198.18.7.1"), "is no host of 198.18.1.0/24"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }
}
