//! The kernel that machines boot, its modules, and busybox, which is their first program.
//!
//! ```text
//! linux.uml ── --version ─► 6.1.176 ─► /usr/lib/uml/modules/6.1.176/modules.dep
//!                                        8021q ─► llc, stp, mrp, garp, 8021q: in this order
//! ```
//!
//! Debian's packages, of which nothing is configured and nothing runs by itself. Never loads a
//! module into the kernel of this machine.

use port::linux::Unavailable;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is installed to have machines.
const INSTALL: &str = "install them: `apt-get install user-mode-linux busybox-static`";
/// Where the package has the modules of its kernels.
const MODULES: &str = "/usr/lib/uml/modules";

/// What machines boot.
pub(crate) struct Kernel {
    /// The kernel, which is a program.
    pub(crate) program: PathBuf,
    /// Their first program.
    pub(crate) busybox: PathBuf,
    /// What is compiled and preloaded, where it cannot start without.
    pub(crate) preload: Option<&'static str>,
    modules: Modules,
}

/// The modules of a kernel, by name; what each needs first, as `modules.dep` has it.
struct Modules {
    directory: PathBuf,
    files: BTreeMap<String, Vec<String>>,
    built_in: Vec<String>,
}

impl Kernel {
    /// The one that is installed.
    ///
    /// # Errors
    /// [`Unavailable`]: none is, or it cannot be used.
    pub(crate) fn find() -> Result<Kernel, Unavailable> {
        let tried = "boot User Mode Linux";
        let missing = |what: &str| {
            let error = io::Error::new(io::ErrorKind::NotFound, format!("there is no {what} here"));
            Unavailable::because(tried, error).remedy(INSTALL)
        };
        let program = which("linux.uml").ok_or_else(|| missing("program linux.uml"))?;
        let busybox = which("busybox").ok_or_else(|| missing("program busybox"))?;
        let preload = has_amx().then_some(include_str!("xstate.c"));
        if preload.is_some() && which("cc").is_none() {
            let remedy = "User Mode Linux wants one on a processor with AMX: `apt-get install gcc`";
            return Err(missing("C compiler").remedy(remedy));
        }
        let version = Command::new(&program).arg("--version").output();
        let version = version.map_err(|error| Unavailable::because(tried, error))?.stdout;
        let directory = Path::new(MODULES).join(String::from_utf8_lossy(&version).trim());
        let read = |name: &str| {
            let path = directory.join(name);
            let because = |error| Unavailable::because(format!("read {}", path.display()), error);
            std::fs::read_to_string(&path).map_err(because)
        };
        let files = Modules::files(&read("modules.dep")?);
        let built_in = read("modules.builtin")?.lines().map(name).collect();
        let modules = Modules { directory, files, built_in };
        Ok(Kernel { program, busybox, preload, modules })
    }

    /// The files of these modules and of all that they need, in the order to load them in.
    ///
    /// # Errors
    /// [`Unavailable`]: this kernel has none of that name.
    pub(crate) fn modules(&self, names: &[&str]) -> Result<Vec<PathBuf>, Unavailable> {
        self.modules.order(names)
    }
}

impl Modules {
    /// Of `modules.dep`: `kernel/net/8021q/8021q.ko: kernel/net/802/garp.ko …`, each before those
    /// it needs itself.
    fn files(dep: &str) -> BTreeMap<String, Vec<String>> {
        let lines = dep.lines().filter_map(|line| line.split_once(':'));
        let entry = |(file, needs): (&str, &str)| {
            let needs = needs.split_whitespace().rev().map(str::to_string);
            (name(file), needs.chain([file.to_string()]).collect())
        };
        lines.map(entry).collect()
    }

    fn order(&self, names: &[&str]) -> Result<Vec<PathBuf>, Unavailable> {
        let mut order: Vec<PathBuf> = Vec::new();
        for wanted in names {
            let wanted = name(wanted);
            let Some(files) = self.files.get(&wanted) else {
                if self.built_in.contains(&wanted) {
                    continue;
                }
                return Err(self.unknown(&wanted));
            };
            for file in files.iter().map(|file| self.directory.join(file)) {
                if !order.contains(&file) {
                    order.push(file);
                }
            }
        }
        Ok(order)
    }

    fn unknown(&self, wanted: &str) -> Unavailable {
        let directory = self.directory.display();
        let error = format!("there is none of that name in {directory}");
        let error = io::Error::new(io::ErrorKind::NotFound, error);
        let unavailable = Unavailable::because(format!("load the module {wanted}"), error);
        let alike = |other: &&String| other.contains(wanted) || wanted.contains(other.as_str());
        let alike: Vec<_> = self.files.keys().filter(alike).map(String::as_str).take(8).collect();
        match alike.is_empty() {
            true => unavailable.remedy(format!("{directory}/modules.dep lists those there are")),
            false => unavailable.remedy(format!("is it one of {}?", alike.join(", "))),
        }
    }
}

/// A module's name, which is its file's, and in which `-` is as good as `_`.
fn name(file: &str) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    file.split(".ko").next().unwrap_or(file).replace('-', "_")
}

/// Whether the processor has AMX: more registers than User Mode Linux has room for.
fn has_amx() -> bool {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    processors.split_whitespace().any(|flag| flag == "amx_tile")
}

/// Where a program is; where root's are is looked as well.
fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).collect::<Vec<_>>();
    let more = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let places = directories.into_iter().chain(more).map(|at| at.join(OsStr::new(program)));
    places.into_iter().find(|place| place.is_absolute() && place.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_after_what_they_need() {
        let dep = "kernel/net/802/stp.ko: kernel/net/llc/llc.ko\n\
                   kernel/net/llc/llc.ko:\n\
                   kernel/net/8021q/8021q.ko: kernel/net/802/stp.ko kernel/net/llc/llc.ko\n\
                   kernel/net/sched/sch-x.ko.xz:\n";
        let (directory, built_in) = (PathBuf::from("/m"), vec!["vlan".to_string()]);
        let modules = Modules { directory, files: Modules::files(dep), built_in };
        for (names, expected) in [
            (&[][..], Ok(&[][..])),
            (&["vlan"], Ok(&[])),
            (&["stp"], Ok(&["net/llc/llc.ko", "net/802/stp.ko"])),
            (&["llc", "8021q"], Ok(&["net/llc/llc.ko", "net/802/stp.ko", "net/8021q/8021q.ko"])),
            (&["sch_x"], Ok(&["net/sched/sch-x.ko.xz"])),
            (&["sch-x", "sch_x"], Ok(&["net/sched/sch-x.ko.xz"])),
            (
                &["8021"],
                Err(
                    "cannot load the module 8021: there is none of that name in /m; is it one of 8021q?",
                ),
            ),
            (
                &["frob"],
                Err(
                    "cannot load the module frob: there is none of that name in /m; /m/modules.dep lists those there are",
                ),
            ),
        ] {
            let order = modules.order(names).map_err(|error| error.to_string());
            let expected = expected.map(|files: &[&str]| {
                files.iter().map(|file| Path::new("/m/kernel").join(file)).collect::<Vec<_>>()
            });
            assert_eq!(order, expected.map_err(str::to_string), "{names:?}");
        }
    }
}
