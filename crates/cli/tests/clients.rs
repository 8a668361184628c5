//! The programs people drive RouterOS with, against a running node of ours on loopback.
//!
//! ```text
//! clients/librouteros_client.py   librouteros (PyPI)        ─┐
//! clients/routeros_api_client.py  RouterOS-api (PyPI)        ├─ TCP ─► serve ─► a live node
//! clients/playbook.yaml           Ansible, community.routeros ┘
//! ```
//!
//! They are installed into `target/clients` from PyPI, once. Without Python or without PyPI the tests
//! say so and return, except when `CI` is set.

#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;

use config::{Host, Language};
use lab::clock::{self, Clock};
use lab::live::{Interrupt, Live};
use lab::machine;
use lab::node::{self, Node, Socket};
use lab::underway::Files;
use port::Slab;
use serve::{Device, Server};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

/// What is installed; changing it installs anew.
const PACKAGES: &[&str] = &["librouteros==4.2.2", "RouterOS-api==0.21.0", "ansible-core==2.19.14"];

/// The wheel with Ansible's collections, of which one is taken.
const COLLECTIONS: &str = "ansible==12.3.0";

/// Unpacks `community.routeros` from the wheel in the first folder to the second.
const UNPACK: &str = "import glob, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0])
of = 'ansible_collections/community/routeros/'
wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.startswith(of)])";

/// A node named `dut` with two ports without cables, served.
struct Dut {
    live: Live,
    language: Arc<Language>,
}

impl Dut {
    fn serve() -> (Server, SocketAddr) {
        let slab = Slab::new(1 << 12).expect("memory for frames");
        let (clock, ports) = (Clock::start(), 2);
        let environment = machine::environment(clock::unix());
        let node = Node::new("dut", 1, ports, &slab, environment, clock.now());
        let sockets = (0..ports).map(|_| Socket::empty()).collect();
        let live = Live::start(node, sockets, clock, None).expect("a thread");
        let dut = Dut { live, language: Arc::new(node::language(serve::MENUS)) };
        let mut server = Server::new(Arc::new(dut)).expect("a device to serve");
        let address = server.tcp("127.0.0.1:0".parse().expect("an address")).expect("a port");
        (server, address)
    }
}

impl Device for Dut {
    fn language(&self) -> Arc<Language> {
        Arc::clone(&self.language)
    }

    fn host(&self) -> Box<dyn Host + '_> {
        Box::new(self.live.host(Files::none(), Interrupt::default()))
    }
}

/// Where the programs are, or why they are not there.
fn installed() -> Result<PathBuf, String> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    INSTALLED.get_or_init(install).clone()
}

fn install() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let stamp = home.join("installed");
    let wanted = format!("{PACKAGES:?} {COLLECTIONS}");
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(home);
    }
    let _ = std::fs::remove_dir_all(&home);
    let (python, wheels) = (home.join("bin/python"), home.join("wheels"));
    let pip = || {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
        pip
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
    run(pip().arg("install").args(PACKAGES))?;
    run(pip().args(["download", "--no-deps", COLLECTIONS, "--dest"]).arg(&wheels))?;
    run(Command::new(&python).args(["-c", UNPACK]).arg(&wheels).arg(home.join("collections")))?;
    let _ = std::fs::remove_dir_all(&wheels);
    std::fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(home)
}

/// What a program says, if it succeeds.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).to_string());
    match output.status.success() {
        true => Ok(said.concat()),
        false => Err(format!("{command:?}: {}\n{}", output.status, said.concat())),
    }
}

/// Runs a program of the virtual environment, told where the device is.
fn check(program: &str, arguments: &[&str]) {
    if left_out::lacks(&["python3"]) {
        return;
    }
    let home = match installed() {
        Ok(home) => home,
        Err(why) => {
            return left_out::left_out(format!("{program} cannot be installed: {why}"));
        }
    };
    let (server, address) = Dut::serve();
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let mut command = Command::new(home.join("bin").join(program));
    for argument in arguments {
        command.arg(argument.replace("{host}", &host).replace("{port}", &port));
    }
    command.current_dir(here).env("ANSIBLE_COLLECTIONS_PATH", home.join("collections"));
    // The modules run in the interpreter that has librouteros.
    command.env("ANSIBLE_PYTHON_INTERPRETER", home.join("bin/python"));
    command.env("ANSIBLE_HOME", home.join("ansible")).env("ANSIBLE_LOCALHOST_WARNING", "false");
    if let Err(why) = run(&mut command) {
        panic!("{why}");
    }
    server.stop();
}

#[test]
fn librouteros() {
    check("python", &["librouteros_client.py", "{host}", "{port}"]);
}

#[test]
fn routeros_api() {
    check("python", &["routeros_api_client.py", "{host}", "{port}"]);
}

#[test]
fn ansible() {
    let device = ["-e", "device_host={host}", "-e", "device_port={port}"];
    check("ansible-playbook", &[&device[..], &["playbook.yaml"]].concat());
}
