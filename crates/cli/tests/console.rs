//! `wirespeed console`, as somebody at a terminal sees it, and as a pipe does.
//!
//! The terminal is tmux, which draws what the console writes, so a test compares screens and not
//! streams of escape sequences.

#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirespeed");

/// A directory that is gone afterwards.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("wirespeed-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // It is the system's to clear up, if it cannot be done here.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A terminal of 80 columns and 24 rows with a console in it.
struct Terminal {
    directory: Directory,
}

impl Terminal {
    /// `None` where there is no tmux; with `CI` set there has to be one.
    fn new(name: &str) -> Option<Terminal> {
        if left_out::lacks(&["tmux"]) {
            return None;
        }
        let terminal = Terminal { directory: Directory::new(name) };
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh"]);
        terminal.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
        Some(terminal)
    }

    fn start(&self, arguments: &str) {
        // The shell's prompt ends every test's screen, with the exit code.
        let state = self.directory.0.display();
        let command = format!(
            "clear; XDG_STATE_HOME={state} {PROGRAM} console {arguments}; echo \"exit $?\""
        );
        self.types(&command);
        self.keys(&["Enter"]);
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let socket = self.directory.0.join("tmux");
        let output = Command::new("tmux").arg("-S").arg(socket).args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// A line, and Return.
    fn line(&self, text: &str) {
        self.types(text);
        self.keys(&["Enter"]);
    }

    fn screen(&self) -> String {
        let screen = self.tmux(&["capture-pane", "-p"]);
        screen.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// Waits until the screen ends like this.
    fn ends(&self, expected: &str) -> String {
        self.until(expected, |screen| screen.trim_end().ends_with(expected.trim_end()))
    }

    /// Waits until the screen has this.
    fn shows(&self, expected: &str) -> String {
        self.until(expected, |screen| screen.contains(expected))
    }

    fn until(&self, expected: &str, is_there: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        for _ in 0..400 {
            screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            sleep(Duration::from_millis(25));
        }
        panic!("expected\n{expected}\nbut the screen is\n{screen}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn at_a_terminal() {
    let Some(terminal) = Terminal::new("terminal") else { return };
    terminal.start("");
    terminal.ends("[admin@MikroTik] >");

    // One match completes with a blank; several are listed by a second Tab.
    terminal.types("/ip addr");
    terminal.keys(&["Tab"]);
    terminal.types("a");
    terminal.keys(&["Tab"]);
    terminal.types("i");
    terminal.keys(&["Tab"]);
    terminal.types("ether");
    terminal.keys(&["Tab", "Tab"]);
    terminal.ends(
        "[admin@MikroTik] > /ip address add interface=ether\n\
         ether1  ether2  ether3  ether4  ether5\n\
         [admin@MikroTik] > /ip address add interface=ether\n",
    );

    // `?` explains, and the line is there again.
    terminal.types("1 address=?");
    terminal.shows("address ::= an address and prefix length, as 1.2.3.4/24; required\n");
    terminal.ends("[admin@MikroTik] > /ip address add interface=ether1 address=");
    terminal.line("1.1.1.1/24");
    terminal.line("/ip address");
    terminal.line("print");
    terminal.ends(
        "[admin@MikroTik] /ip address> print\n\
         Flags: X - disabled, I - invalid, D - dynamic\n \
         #   ADDRESS            NETWORK         INTERFACE\n \
         0   1.1.1.1/24         1.1.1.0         ether1\n\
         [admin@MikroTik] /ip address>\n",
    );

    // The caret stands below the word that was refused.
    terminal.line("set 0 interfac=ether9");
    terminal.ends(
        "[admin@MikroTik] /ip address> set 0 interfac=ether9\n                                             \
         ^\n\
         input does not match any value of interface\n\
         interface is one of: ether1, ether2, ether3, ether4, ether5; did you mean\n\
         ether1?\n\
         [admin@MikroTik] /ip address>\n",
    );

    // The name follows; brackets keep a line open.
    terminal.line("/system identity set name=dut");
    terminal.ends("[admin@dut] /ip address>");
    terminal.line(":put [");
    terminal.ends("[...");
    terminal.line("get 0 interface ]");
    terminal.ends("[... get 0 interface ]\nether1\n[admin@dut] /ip address>");
    terminal.line(":put [");
    terminal.ends("[...");
    terminal.keys(&["C-c"]);
    terminal.ends("[admin@dut] /ip address>");
    terminal.line("/quit");
    terminal.shows("exit 0");

    // What was typed is there the next time.
    terminal.start("");
    terminal.ends("[admin@MikroTik] >");
    terminal.keys(&["Up", "Up"]);
    terminal.ends("[admin@MikroTik] > :put [");
    terminal.keys(&["C-c"]);
    terminal.ends(":put [\n[admin@MikroTik] >");
    terminal.keys(&["C-d"]);
    terminal.shows("exit 0");
}

#[test]
fn what_goes_on() {
    let Some(terminal) = Terminal::new("monitor") else { return };
    terminal.start("");
    terminal.ends("[admin@MikroTik] >");
    terminal.line("/ip address add address=10.0.0.1/24 interface=ether1");
    terminal.ends("[admin@MikroTik] >");

    // A monitor stays in its place, can be held, leaves a frame behind, and ends on Q.
    let hint = "-- [Q quit|D dump|C-z pause]";
    terminal.line("/tool flood-ping 10.0.0.1");
    let first = terminal.ends(hint);
    let second = terminal.until("another frame", |screen| screen != first && screen.contains(hint));
    assert_eq!(first.lines().count(), second.lines().count(), "{second}");
    terminal.keys(&["C-z"]);
    let held = terminal.ends("-- [Q quit|D dump|C-z continue]");
    sleep(Duration::from_millis(300));
    assert_eq!(terminal.screen(), held);
    terminal.keys(&["C-z"]);
    terminal.ends(hint);
    terminal.keys(&["d"]);
    terminal.until("two frames", |screen| screen.matches("sent:").count() == 2);
    terminal.keys(&["q"]);
    let screen = terminal.ends("[admin@MikroTik] >");
    assert!(!screen.contains("--"), "{screen}");

    // A long print stops at every screen.
    terminal.line("/ip firewall filter");
    terminal.ends("[admin@MikroTik] /ip firewall filter>");
    for number in 0..20 {
        terminal.line(&format!("add chain=input comment={number}"));
    }
    terminal.shows("comment=19");
    terminal.keys(&["C-l"]);
    terminal.line("print");
    let more = "-- [Q quit|D dump|down]";
    let page = terminal.ends(more);
    assert_eq!(page.lines().count(), 24, "{page}");
    terminal.keys(&["Space"]);
    terminal.until("the next page", |screen| screen != page && screen.trim_end().ends_with(more));
    terminal.keys(&["q"]);
    terminal.ends("[admin@MikroTik] /ip firewall filter>");
    terminal.line("print without-paging");
    terminal.shows(";;; 19");
    terminal.ends("[admin@MikroTik] /ip firewall filter>");
}

/// A device that goes and comes back.
#[test]
fn a_connection_that_is_lost() {
    let Some(terminal) = Terminal::new("lost") else { return };
    let runtime = &terminal.directory.0;
    let file = runtime.join("one.yaml");
    fs::write(&file, "name: one\ntopology: { nodes: { dut: { kind: wirespeed } } }\n").unwrap();
    let lab = |arguments: &[&str]| {
        let mut lab = Command::new(PROGRAM);
        lab.arg("lab").args(arguments).env("XDG_RUNTIME_DIR", runtime).stdin(Stdio::null());
        let output = lab.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(output.status.success(), "{text}");
        text
    };
    let up = || lab(&["up", &file.display().to_string()]);
    let said = up();
    let socket = said.split("--connect ").nth(1).and_then(|s| s.split_whitespace().next());
    terminal.start(&format!("--connect {}", socket.expect(&said)));
    terminal.ends("[admin@dut] >");
    terminal.line("/ip address");
    terminal.ends("[admin@dut] /ip address>");
    lab(&["down", "one"]);
    terminal.line("print count-only");
    terminal.shows("the connection is lost: ");
    terminal.ends("[admin@dut] /ip address> print count-only");
    terminal.keys(&["Enter"]);
    terminal.shows("cannot talk to unix:");
    up();
    terminal.keys(&["Enter"]);
    terminal.ends("connected again\n[admin@dut] /ip address> print count-only");
    terminal.keys(&["Enter"]);
    terminal.ends("print count-only\n0\n[admin@dut] /ip address>");
    lab(&["down", "one"]);
}

/// What a console without a terminal prints, its errors, and its exit code.
fn piped(arguments: &[&str], input: &str) -> (String, String, Option<i32>) {
    let mut console = Command::new(PROGRAM)
        .arg("console")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who reads files does not read this.
    drop(console.stdin.take().unwrap().write_all(input.as_bytes()));
    let output = console.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

#[test]
fn in_a_pipe() {
    let script = "/ip address\nadd address=1.1.1.1/24 interface=ether1\n:put [get 0 network]\n";
    assert_eq!(piped(&[], script), ("1.1.1.0\n".to_string(), String::new(), Some(0)));

    let wrong = format!("{script}add address=2.2.2.2/24 interface=ehter2\n:put no\n");
    let (out, err, code) = piped(&[], &wrong);
    assert_eq!((out.as_str(), code), ("1.1.1.0\n", Some(1)));
    assert_eq!(
        err,
        "wirespeed: <stdin>:4:34: input does not match any value of interface\n    \
         add address=2.2.2.2/24 interface=ehter2\n                                     ^\n\
         interface is one of: ether1, ether2, ether3, ether4, ether5; did you mean ether2?\n"
    );
}

#[test]
fn from_files() {
    let directory = Directory::new("files");
    let file = |name: &str, text: &str| {
        let path = directory.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let one = file("one.rsc", "/ip address add address=1.1.1.1/24 interface=ether1\n");
    // Ends elsewhere; the second begins at the root all the same.
    let one_and_a_half = file("half.rsc", "/ip firewall filter\n");
    let two = file("two.rsc", ":put [ip address print count-only]\n/nowhere\n");
    let (out, err, code) = piped(&[&one, &one_and_a_half, &two], "");
    assert_eq!((out.as_str(), code), ("1\n", Some(1)));
    assert!(err.starts_with(&format!("wirespeed: {two}:2:2: bad command name nowhere")), "{err}");

    let absent = directory.0.join("absent.rsc").display().to_string();
    let (_, err, code) = piped(&[&absent], "");
    assert_eq!(code, Some(3));
    assert!(err.contains("cannot read") && err.contains("absent.rsc"), "{err}");
}

#[test]
fn without_a_device() {
    let check = |to: &str, code: i32, expected: &str| {
        let (out, err, got) = piped(&["--connect", to], ":put x\n");
        assert_eq!((out.as_str(), got), ("", Some(code)), "{err}");
        assert!(err.contains(expected), "{err}");
    };
    let nowhere = Path::new("/nowhere/dut.sock").display();
    check(&format!("unix:{nowhere}"), 3, "cannot talk to unix:/nowhere/dut.sock: No such file");
    check("127.0.0.1:1", 3, "cannot talk to 127.0.0.1:1: Connection refused");
    check("dut:port", 2, "HOST:PORT");
}
