//! A folder with a plan and a device's configuration, and the program that is run on them.

#![allow(dead_code)] // not every test uses all of it

use std::path::PathBuf;
use std::process::{Command, Output};

/// Two procedures, which virtual time has done in a moment.
pub(crate) const SMALL: &str = r#"
name = "small"
[device]
configuration = "device.rsc"
[medium]
link = "10G"
[traffic]
frame-sizes = [64, 512]
flows = "pair"
[[procedure]]
kind = "throughput"
[[procedure]]
kind = "frame-loss"
"#;

/// Gone at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// With this plan in `plan.toml`, and `device.rsc`. No two tests may have the same name.
    pub(crate) fn with(name: &str, plan: &str) -> Folder {
        let name = format!("wirespeed-{name}-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        folder.write("plan.toml", plan);
        let device = "/ip address add address=198.18.1.1/24 interface=ether1\n\
                      /ip address add address=198.19.1.1/24 interface=ether2\n";
        folder.write("device.rsc", device);
        folder
    }

    pub(crate) fn write(&self, file: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(file);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn path(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
    command.args(arguments);
    command
}

/// Runs it to its end.
pub(crate) fn wirespeed(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
