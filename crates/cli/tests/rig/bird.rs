//! A routing daemon in a namespace, with its files in a directory of its own.

use port::linux::Namespace;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A bird that is killed when this is dropped.
pub(crate) struct Bird {
    child: Child,
    socket: PathBuf,
}

impl Bird {
    pub(crate) fn start(namespace: &Namespace, home: &Path, name: &str, config: &str) -> Bird {
        let file = |end: &str| home.join(format!("{name}.{end}"));
        let (path, socket) = (file("conf"), file("ctl"));
        std::fs::write(&path, config).unwrap();
        let log = std::fs::File::create(file("log")).unwrap();
        let mut command = Command::new("bird");
        command.args(["-f", "-c"]).arg(&path).arg("-s").arg(&socket).arg("-P").arg(file("pid"));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = namespace.spawn(command).expect("bird is installed (package bird2)");
        Bird { child, socket }
    }

    /// What it answers to a command.
    pub(crate) fn says(&self, words: &str) -> String {
        let mut command = Command::new("birdc");
        let output = command.arg("-s").arg(&self.socket).args(words.split(' ')).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "birdc {words}: {text}");
        text
    }
}

impl Drop for Bird {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
