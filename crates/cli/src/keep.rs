//! Result files: whole or not at all, and kept somewhere in any case.
//!
//! ```text
//!  text ─► .NAME.PID.part beside it ─► fsync ─► rename ─► NAME     what was there stays until then
//!             └ fails ─► the working directory ─► the temporary folder ─► standard output
//! ```
//!
//! Written in place, a file that was good is gone as soon as a full disk is met; so is a run that
//! took an hour. What is no file (`/dev/stdout`, a pipe) is written to as it is; `-` is standard
//! output.
//!
//! Never leaves an empty file, or part of one.

use crate::failure::Failure;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Whether a name stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Sees that no file is to be written that is read, and none twice, by whatever names: the later one
/// would be all there is. What is no file (`/dev/null`) may be named as often as one likes.
///
/// # Errors
/// [`Failure::Usage`]: one is; which, and by which names.
pub(crate) fn apart(
    read: &[(&str, PathBuf)],
    written: &[(&str, Option<&Path>)],
) -> Result<(), Failure> {
    let mut known: Vec<(&str, Identity)> = vec![];
    for (what, path) in read {
        known.extend(Identity::of(path).map(|identity| (*what, identity)));
    }
    let n_read = known.len();
    for (option, path) in written {
        let Some(path) = path else { continue };
        let Some(identity) = Identity::of(path) else { continue };
        let other = known.iter().position(|(_, other)| *other == identity);
        if let Some(other) = other {
            let (what, name) = (known[other].0, path.display());
            return Err(Failure::Usage(match other < n_read {
                true => format!("{option} {name}: that is {what}, which would be lost"),
                false => format!("{option} {name}: {what} is written there, too; a file for each"),
            }));
        }
        known.push((option, identity));
    }
    Ok(())
}

/// Which file a name stands for, however it is spelt.
#[derive(PartialEq, Eq)]
enum Identity {
    Stdout,
    /// Device and number, where there is one.
    #[cfg(unix)]
    There(u64, u64),
    Named(PathBuf),
}

impl Identity {
    /// `None` of what is no file.
    fn of(path: &Path) -> Option<Identity> {
        if is_stdout(path) {
            return Some(Identity::Stdout);
        }
        match fs::metadata(path) {
            Ok(there) if !there.is_file() => None,
            #[cfg(unix)]
            Ok(there) => {
                use std::os::unix::fs::MetadataExt;
                Some(Identity::There(there.dev(), there.ino()))
            }
            _ => {
                let folder = folder(path);
                let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
                Some(Identity::Named(folder.join(path.file_name()?)))
            }
        }
    }
}

/// Looks whether a file can be written, before it takes an hour to have something to write. What
/// is there stays as it is.
///
/// # Errors
/// It cannot.
fn check(path: &Path) -> io::Result<()> {
    if is_stdout(path) {
        return Ok(());
    }
    if path.exists() {
        // Nothing is written: only whether one may.
        OpenOptions::new().append(true).open(path)?;
        if !path.is_file() {
            return Ok(());
        }
    }
    let (part, _) = beside(&resolved(path))?;
    fs::remove_file(part)
}

/// The same of all that a run will write, before it begins: a result that cannot be written is a
/// result lost.
///
/// # Errors
/// [`Failure::Environment`]: one cannot be.
pub(crate) fn writable<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    files.into_iter().try_for_each(|file| {
        check(file).map_err(|error| Failure::cannot("write the results to", file, &error))
    })
}

/// The text of a file that a run wants: a plan, a configuration.
///
/// # Errors
/// [`Failure::Environment`]: it cannot be read.
pub(crate) fn read(path: &Path, what: &str) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::cannot(&format!("read {what} in"), path, &error))
}

/// Writes a file anew: as it was, or whole.
///
/// # Errors
/// It could not be written; what was there before still is.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if path.exists() && !path.is_file() {
        return OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
    }
    let path = resolved(path);
    let (part, mut file) = beside(&path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| {
        if let Ok(old) = fs::metadata(&path) {
            fs::set_permissions(&part, old.permissions())?;
        }
        fs::rename(&part, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    } else if let Ok(folder) = File::open(folder(&path)) {
        // The name, too, is to outlast a power cut; where folders cannot be synced it may not.
        let _ = folder.sync_all();
    }
    written
}

/// Writes results to a file, or to the next best place. `or_print`: at the very last they are
/// printed, for whoever reads standard output.
///
/// # Errors
/// They are not where they should be: why, and where they are instead.
pub(crate) fn keep(path: &Path, what: &str, text: &str, or_print: bool) -> Result<(), String> {
    if is_stdout(path) {
        out!("{text}");
        return Ok(());
    }
    let why = match replace(path, text) {
        Ok(()) => {
            say!("{what} written to {}", path.display());
            return Ok(());
        }
        Err(error) => format!("cannot write {}: {error}", path.display()),
    };
    let be = if what.ends_with('s') { "are" } else { "is" };
    let name = path.file_name().unwrap_or("results".as_ref());
    let tried = folder(path).canonicalize().ok();
    let others = [std::env::current_dir().ok(), Some(std::env::temp_dir())];
    for other in others.into_iter().flatten().filter(|other| other.canonicalize().ok() != tried) {
        let free = free(&other.join(name));
        if free.as_ref().is_some_and(|free| replace(free, text).is_ok()) {
            let at = free.unwrap_or_default();
            return Err(format!("{why}; the {what} {be} in {} instead", at.display()));
        }
    }
    if or_print {
        out!("{text}");
        return Err(format!("{why}; the {what} {be} printed above, as the file would have them"));
    }
    Err(format!("{why}; `wirespeed report html` draws it from the results"))
}

/// The end of a run: prints tables, then writes the files that were asked for, results and a page;
/// whatever a disk does, the figures are there. Where one of the files is to be on standard output the
/// tables are not.
///
/// # Errors
/// [`Failure::Environment`]: a file is not where it should be. [`Failure::Failed`]: figures are
/// impossible, or the run did not do all that it was to, or nothing in it is valid.
pub(crate) fn finish(
    run: &report::File,
    (json, html): (Option<&Path>, Option<&Path>),
) -> Result<(), Failure> {
    let document = run.document();
    let tables = document.text();
    match json.into_iter().chain(html).any(is_stdout) {
        true => crate::out::stderr(&tables),
        false => out!("{tables}"),
    }
    let mut failed = vec![];
    if let Some(path) = json {
        failed.extend(run.write().and_then(|text| keep(path, "results", &text, true)).err());
    }
    if let Some(path) = html {
        failed.extend(keep(path, "page", &document.page(), false).err());
    }
    if !failed.is_empty() {
        let text = format!("{}; the figures are printed above", failed.join("; "));
        return Err(Failure::Environment(text));
    }
    match (run.faults().as_slice(), run.incomplete_because(), run.nothing_valid()) {
        ([], None, None) => Ok(()),
        ([], Some(why), _) => Err(Failure::Failed(format!("incomplete: {why}"))),
        // One that is valid among them is a result, and each of the others has its mark there.
        ([], None, Some(what)) => Err(Failure::Failed(format!(
            "every {what} was invalid: the tester fell short, or the machine was busy, and nothing was \
             measured"
        ))),
        (some, ..) => Err(Failure::Failed(format!("impossible figures: {}", some.join("; ")))),
    }
}

/// The file that a name stands for: renaming would replace a symbolic link by it.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file of nobody's beside another.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_string_lossy();
    let part = folder(path).join(format!(".{name}.{}.part", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).open(&part)?;
    Ok((part, file))
}

/// A name that nothing has yet.
fn free(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let names = (0..100).map(|n| match n {
        0 => path.to_path_buf(),
        n => path.with_file_name(format!("{name}.{n}")),
    });
    names.into_iter().find(|path| fs::symlink_metadata(path).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Verdict;
    use report::File;

    const WHY: &str = "invalid: the clocks differ by 3s";

    /// Makes all, or all but one, of what a file has invalid.
    fn invalid(file: &mut File, but: usize) {
        match file {
            File::Bench(of) => {
                of.rows.iter_mut().skip(but).for_each(|row| row.verdict = Verdict::Invalid);
            }
            File::Suite(of) => {
                let trials = of.cells.iter_mut().flat_map(|cell| &mut cell.trials);
                trials.skip(but).for_each(|trial| trial.outcome = WHY.to_string());
            }
            File::Iperf3(of) => {
                let rows = of.rows.iter_mut().map(|row| &mut row.validity);
                let latencies = of.latencies.iter_mut().map(|latency| &mut latency.validity);
                let transfers = of.paths.iter_mut().flat_map(|path| &mut path.transfers);
                let all = rows.chain(latencies).chain(transfers.map(|one| &mut one.validity));
                all.skip(but).for_each(|validity| validity.invalid = Some(WHY.to_string()));
            }
            File::Survey(_) => {}
        }
    }

    /// One row or trial that is valid is a result, and a device that lost frames was measured all the same.
    #[test]
    fn how_a_run_ends() {
        for (stored, what) in [
            (include_str!("../../report/data/bench-2.json"), "row"),
            (include_str!("../../report/data/test-2-delays.json"), "trial"),
            (include_str!("../../report/data/iperf3-1.json"), "row"),
            (include_str!("../../report/data/iperf3-1-latency.json"), "row"),
            (include_str!("../../report/data/iperf3-1-path.json"), "row"),
        ] {
            let ended = |change: &dyn Fn(File) -> File| {
                let file = change(File::read(stored).unwrap());
                finish(&file, (None, None)).map_err(|failure| failure.to_string())
            };
            let all = |but: usize| {
                move |mut file: File| {
                    invalid(&mut file, but);
                    file
                }
            };
            assert_eq!(ended(&|file| file), Ok(()));
            assert_eq!(ended(&all(1)), Ok(()), "{what}");
            let none = ended(&all(0)).unwrap_err();
            assert!(none.starts_with(&format!("every {what} was invalid: the tester")), "{none}");
            let stopped = ended(&|file| all(0)(file).incomplete("interrupted"));
            assert_eq!(stopped, Err("incomplete: interrupted".to_string()));
        }
        let mut file = File::read(include_str!("../../report/data/test-2-delays.json")).unwrap();
        let File::Suite(results) = &mut file else { panic!("a suite") };
        results.cells[0].trials[0].sent += 1;
        let said = finish(&file, (None, None)).unwrap_err().to_string();
        assert!(said.starts_with("impossible figures: "), "{said}");
        let File::Suite(results) = &mut file else { panic!("a suite") };
        results.cells.clear();
        assert!(finish(&file, (None, None)).is_ok());
    }
}
