//! `wirespeed lab` as its user meets it: what it refuses and how, what it prints, and that a lab that
//! was left running is gone afterwards.

#[cfg(target_os = "linux")]
#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;

use std::path::PathBuf;
use std::process::{Command, Output};

fn labs(name: &str) -> String {
    format!("{}/../../labs/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A directory of our own, as XDG_RUNTIME_DIR would be. Not among the build's: sockets have short
/// paths.
struct Runtime(PathBuf);

impl Runtime {
    fn new(test: &str) -> Runtime {
        let path = std::env::temp_dir().join(format!("ws-cli-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Runtime(path)
    }

    fn wirespeed(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
        command.arg("lab").args(arguments).env("XDG_RUNTIME_DIR", &self.0).current_dir(&self.0);
        command.output().unwrap()
    }

    fn check(&self, arguments: &[&str], code: i32, expected: &[&str]) -> String {
        let output = self.wirespeed(arguments);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{text}");
        for part in expected {
            assert!(text.contains(part), "{arguments:?}: {part:?} in\n{text}");
        }
        text
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// By its plain name, as whoever stands beside it types it: the programs of its hosts start there.
#[cfg(target_os = "linux")]
#[test]
fn a_lab_with_hosts_is_run_from_beside_it() {
    if let Err(unavailable) = port::linux::Namespace::new() {
        return left_out::left_out(unavailable);
    }
    let runtime = Runtime::new("beside");
    let lab = "name: beside
topology:
  nodes: { a: { kind: linux }, b: { kind: linux } }
  links: [{ endpoints: [a:eth1, b:eth1] }]
steps: [{ node: a, exec: ls, expect: [{ output: ^beside.yaml$ }] }]
";
    runtime.file("beside.yaml", lab);
    runtime.check(&["run", "beside.yaml"], 0, &["PASS beside: 1 of 1 steps"]);
}

#[test]
fn a_lab_runs_and_says_how_it_went() {
    let runtime = Runtime::new("run");
    let two = labs("two-routers.yaml");
    let json = runtime.0.join("result.json");
    let json = json.to_str().unwrap();
    let expected = ["[admin@alice] > /ping 10.0.2.2", "PASS two-routers: 7 of 7 steps"];
    let text = runtime.check(&["run", &two], 0, &expected);
    let kept = runtime.check(&["run", &two, "--json", json], 0, &[]);
    assert_eq!(kept, format!("{text}transcript written to {json}\n"), "the same bytes");
    let seeded = runtime.check(&["run", &two, "--seed", "7"], 0, &["virtual time, seed 7"]);
    assert_eq!(seeded.replace("seed 7", "seed 1"), text);
    runtime.check(&["run", &two, "--time", "real"], 0, &["(real time, 4 nodes on "]);
    let json = std::fs::read_to_string(json).unwrap();
    assert!(json.contains("\"lab\": \"two-routers\"") && json.contains("\"met\": true"), "{json}");
    runtime.check(&["check", &two], 0, &["two-routers: 4 nodes, 3 links, 7 steps"]);
}

#[test]
fn refusals() {
    let runtime = Runtime::new("refusals");
    let file = |name, text| runtime.file(name, text);
    let unknown = file("unknown.yaml", "name: a\ntopology: { nodes: { a: } }\nstep: []\n");
    let fails = file(
        "fails.yaml",
        "name: a\ntopology: { nodes: { a: } }\nsteps: [{ node: a, run: :put 1, fails: x }]\n",
    );
    let script =
        file("script.yaml", "name: a\ntopology: { nodes: { a: { startup-config: gone.rsc } } }\n");
    file("wrong.rsc", "/ip address\nadd adress=1.1.1.1\n");
    let startup = file(
        "startup.yaml",
        "name: a\ntopology: { nodes: { a: { startup-config: wrong.rsc } } }\n",
    );
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["run", "nosuch.yaml"], 3, &["reading nosuch.yaml"]),
        (&["run", &unknown], 2, &["unknown.yaml:3:1: step is no key here; legal are: name"]),
        (&["check", &unknown], 2, &["unknown.yaml:3:1"]),
        (&["up", &unknown], 2, &["unknown.yaml:3:1"]),
        (&["run", &fails], 1, &["FAIL refused with other words", "not all was as expected"]),
        (&["run", &script], 3, &["script.yaml:2:22: reading gone.rsc, looked for beside the lab"]),
        (&["run", &startup], 1, &["wrong.rsc:2:5: node a refuses it: expected end of command"]),
        (&["up", &startup], 1, &["wrong.rsc:2:5: node a refuses it"]),
        (&["down", "nosuch"], 1, &["there is no lab nosuch"]),
        (&["down", "../x"], 2, &["no name of a lab"]),
        (&["run", &fails, "--time", "soon"], 2, &["virtual, real"]),
    ];
    for (arguments, code, expected) in cases {
        runtime.check(arguments, *code, expected);
    }
}

#[test]
fn up_and_down_leave_nothing_behind() {
    let runtime = Runtime::new("up");
    let two = labs("two-routers.yaml");
    let up = ["lab two-routers is up since 2", "  r1 ", "two-routers/r1.sock"];
    runtime.check(&["up", &two], 0, &up);
    runtime.check(&["list"], 0, &up);
    runtime.check(&["up", &two], 3, &["lab two-routers is up already; end it: wirespeed lab down"]);
    // Somebody is connected meanwhile.
    let socket = runtime.0.join("wirespeed/two-routers/r1.sock");
    let connection = std::os::unix::net::UnixStream::connect(socket).unwrap();
    runtime.check(&["down", &two], 0, &["lab two-routers is down"]);
    drop(connection);
    assert_eq!(runtime.check(&["list"], 0, &[]), "");
    let left: Vec<_> = std::fs::read_dir(runtime.0.join("wirespeed")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
