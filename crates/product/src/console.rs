//! `wirespeed console`: RouterOS's console, on a device that runs or on one made for it.
//!
//! ```text
//! --connect ─► Client ══ Unix socket, TCP ══► a device somewhere
//! (without) ─► Client ══ socket pair ══► Server ─► a node in this process, of ports without cables
//! ```

use crate::failure::Failure;
use crate::served::Served;
use clap::Args;
use daemon::state::Labs;
use serve::Client;
use serve::console::{self, Options};
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Examples:
  wirespeed console                                   a device in memory, to try things on
  wirespeed console configs/office.rsc                does this script run?
  wirespeed console --stay configs/office.rsc         and then look at what came of it
  wirespeed console edge                              the router edge, which runs here
  wirespeed console --connect 192.0.2.1 --user admin  a device that runs
  wirespeed console --connect unix:/run/dut.sock
  echo '/ip route print' | wirespeed console --connect 192.0.2.1

In the console ? explains, Tab completes, Q ends what runs on and /quit ends the console.
A password is asked for, or taken from WIRESPEED_PASSWORD.")]
#[allow(missing_docs)] // a line here would be the command's help
pub struct Arguments {
    /// Scripts to run, instead of lines from the terminal; or, first, the name of a router that runs
    /// on this machine
    #[arg(value_name = "[NAME] FILE.rsc")]
    files: Vec<PathBuf>,
    /// The device's API; without it the device is made here, in memory
    #[arg(long, value_name = "unix:PATH|HOST[:PORT]")]
    connect: Option<String>,
    /// Who logs in
    #[arg(long, default_value = "admin", value_name = "NAME")]
    user: String,
    /// Show the prompt when the scripts have run
    #[arg(long)]
    stay: bool,
    /// Ports of the device that is made here
    #[arg(long, default_value_t = 5, value_name = "N", conflicts_with = "connect",
          value_parser = clap::value_parser!(u16).range(1..=64))]
    ports: u16,
}

type Connect = Box<dyn FnMut() -> Result<Client, serve::client::Failure>>;

/// RouterOS's.
const API_PORT: u16 = 8728;
/// A device that does not answer for so long is not there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs it until whoever types leaves.
///
/// # Errors
/// [`Failure`]: nobody answers, or a command was refused.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { mut files, mut connect, user, stay, ports } = arguments;
    if connect.is_none()
        && let Some(socket) = files.first().and_then(|name| running(name))
    {
        files.remove(0);
        connect = Some(format!("unix:{}", socket.display()));
    }
    if connect.is_none()
        && let Some(name) = files.first().and_then(|name| name.to_str())
        && is_name(name)
        && !Path::new(name).exists()
    {
        let why =
            format!("no router {name} runs here (`wirespeed lab list`), and no file is so called");
        return Err(Failure::Environment(why));
    }
    // Kept until the console has ended.
    let mut server = None;
    let mut password = None;
    let (device, connect): (String, Connect) = match connect {
        Some(to) => match to.strip_prefix("unix:").map(PathBuf::from) {
            Some(path) => (to, Box::new(move || Client::unix(&path))),
            None => {
                let to = address(&to)?;
                password = ask(&user)?;
                (to.clone(), Box::new(move || tcp(&to)))
            }
        },
        None => {
            let (device, live) = Served::scratch(usize::from(ports))?;
            let made = serve::Server::new(Arc::new(device)).map_err(Failure::Environment)?;
            let made = Arc::new(made);
            server = Some((Arc::clone(&made), live));
            ("the device in memory".to_string(), Box::new(move || made.connect()))
        }
    };
    let options = Options { user, password, device, connect, files, stay, history: history() };
    let done = console::run(options);
    drop(server);
    done.map_err(|failure| match failure {
        console::Failure::Script(text) => Failure::Failed(text),
        console::Failure::Environment(text) => Failure::Environment(text),
    })
}

/// Whether it can only be a router's name: a script's file has an end (`.rsc`) or a path.
fn is_name(text: &str) -> bool {
    !text.contains(['/', '.'])
}

/// The console of the router of this name, if it runs here and no file is called so.
fn running(name: &Path) -> Option<PathBuf> {
    let text = name.to_str().filter(|text| !text.contains('/') && !text.starts_with('.'))?;
    let info = if name.exists() { None } else { Labs::ours().ok()?.find(text) };
    info?.nodes.into_iter().find(|node| node.name == text).map(|node| node.socket)
}

/// With RouterOS's port, if none is given.
fn address(to: &str) -> Result<String, Failure> {
    let usage = || {
        Failure::Usage(format!(
            "--connect {to}: a device is unix:PATH, HOST or HOST:PORT, as 192.0.2.1:8728"
        ))
    };
    match to.rsplit_once(':') {
        // An IPv6 address has more of them, and needs brackets before a port.
        Some((host, _)) if host.contains(':') && !host.ends_with(']') => {
            Ok(format!("[{to}]:{API_PORT}"))
        }
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(to.to_string()),
        None if !to.is_empty() => Ok(format!("{to}:{API_PORT}")),
        _ => Err(usage()),
    }
}

fn tcp(to: &str) -> Result<Client, serve::client::Failure> {
    let mut last = std::io::Error::other("it has no address").into();
    for address in to.to_socket_addrs()? {
        match Client::tcp(address, PATIENCE) {
            Ok(client) => return Ok(client),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

/// The password, where one may be needed.
fn ask(user: &str) -> Result<Option<String>, Failure> {
    if let Ok(password) = std::env::var("WIRESPEED_PASSWORD") {
        return Ok(Some(password));
    }
    let asked = console::ask_password(&format!("Password of {user}: "));
    asked.map_err(|error| Failure::Environment(format!("cannot ask for the password: {error}")))
}

/// Where typed lines are kept: `$XDG_STATE_HOME/wirespeed/history`.
fn history() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(Path::new(&variable("HOME")?).join(".local/state")));
    state.map(|state| state.join("wirespeed/history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (to, expected) in [
            ("192.0.2.1", Some("192.0.2.1:8728")),
            ("192.0.2.1:1", Some("192.0.2.1:1")),
            ("dut", Some("dut:8728")),
            ("2001:db8::1", Some("[2001:db8::1]:8728")),
            ("[2001:db8::1]:9", Some("[2001:db8::1]:9")),
            ("dut:", None),
            (":8728", None),
            ("", None),
            ("dut:99999", None),
        ] {
            assert_eq!(address(to).ok().as_deref(), expected, "{to}");
        }
    }
}
