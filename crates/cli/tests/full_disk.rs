//! Disks that are full, readers that have gone: a result is kept somewhere, and an old one as it was.
//!
//! ```text
//!  a tmpfs of 256k, full to its last page: a.json (good) and fill
//!  wirespeed test … --json DISK/a.json ─► a.json as it was; the results in the working directory,
//!                                         in the temporary folder, on standard output
//! ```

mod folder;
#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;

use folder::{Folder, SMALL, command, text, wirespeed};
use std::process::{Command, Stdio};

/// Mounts the disk where nobody else sees it, runs the program from `$1` with the temporary folder
/// `$2`, and says what is on the disk then.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=256k none "$DISK" || exit 90
printf good > "$DISK/a.json"
dd if=/dev/zero of="$DISK/fill" bs=4k 2> /dev/null
cd "$1" && TMPDIR="$2" "$PROGRAM" test "$PLAN" --virtual --json "$DISK/a.json"
echo "code $?, $(cat "$DISK/a.json"), on it: $(ls -A "$DISK" | tr '\n' ' ')"
"#;

/// Whether this may mount something in a namespace of its own.
fn may_mount(disk: &str) -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "mount", "-t", "tmpfs", "none", disk]).stderr(Stdio::null());
    unshare.status().is_ok_and(|status| status.success())
}

#[test]
fn results_outlive_a_full_disk() {
    let folder = Folder::with("full-disk", SMALL);
    let [disk, home, temporary] = ["disk", "home", "temporary"].map(|name| {
        let path = folder.path(name);
        std::fs::create_dir(&path).unwrap();
        path
    });
    if !may_mount(&disk) {
        let why = "to fill a disk takes a mount namespace, which is root's";
        return left_out::left_out(why);
    }
    let run = |from: &str, temporary: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["-m", "sh", "-c", SCRIPT, "sh", from, temporary]);
        unshare.env("DISK", &disk).env("PROGRAM", env!("CARGO_BIN_EXE_wirespeed"));
        let out = unshare.env("PLAN", folder.path("plan.toml")).output().unwrap();
        (text(&out.stdout), text(&out.stderr))
    };
    // Half a page is left, and no more: a run's results are some kilobytes.
    let kept = "code 3, good, on it: a.json fill ";
    let is_whole = |path: &str| {
        let results = report::suite::read(&std::fs::read_to_string(path).unwrap()).unwrap();
        results.complete && results.cells.len() == 4
    };
    for turn in ["a.json", "a.json.1"] {
        let (out, err) = run(&home, &temporary);
        assert!(out.ends_with(&format!("{kept}\n")), "{out}{err}");
        let at = format!("{home}/{turn}");
        assert!(
            err.contains("No space left") && err.contains(&format!("are in {at} instead")),
            "{err}"
        );
        assert!(is_whole(&at), "{at}");
    }
    let (out, err) = run(&disk, &temporary);
    assert!(out.ends_with(&format!("{kept}\n")), "{out}{err}");
    assert!(err.contains(&format!("are in {temporary}/a.json instead")), "{err}");
    assert!(is_whole(&format!("{temporary}/a.json")));
    let (out, err) = run(&disk, &disk);
    assert!(
        out.contains(kept) && err.contains("printed above, as the file would have them"),
        "{err}"
    );
    let (begin, end) = (out.find("{\n").unwrap(), out.rfind("}\n").unwrap());
    assert!(report::suite::read(&out[begin..=end]).unwrap().complete, "{out}");
}

#[test]
fn an_old_file_is_replaced_whole_or_not_at_all() {
    let folder = Folder::with("replaced", SMALL);
    let (plan, json) = (folder.path("plan.toml"), folder.write("a.json", "old"));
    let link = folder.path("link.json");
    std::os::unix::fs::symlink("a.json", &link).unwrap();
    assert!(wirespeed(&["test", &plan, "--virtual", "--json", &link]).status.success());
    let results = std::fs::read_to_string(&json).unwrap();
    assert!(report::suite::read(&results).unwrap().complete);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    // A plan that cannot be leaves the file as it is, and none where none was.
    folder.write("bad.toml", SMALL.replace("64, 512", "63"));
    let none = folder.path("none.json");
    for file in [&json, &none] {
        let out = wirespeed(&["test", &folder.path("bad.toml"), "--virtual", "--json", file]);
        assert_eq!(out.status.code(), Some(2));
    }
    assert_eq!(std::fs::read_to_string(&json).unwrap(), results);
    assert!(!std::path::Path::new(&none).exists());
    // Nor does a run leave anything else.
    let mut names: Vec<_> = std::fs::read_dir(folder.path(".")).unwrap().collect();
    names.retain(|name| name.as_ref().unwrap().file_name().to_string_lossy().contains("part"));
    assert!(names.is_empty(), "{names:?}");
}

/// `-` is standard output: nothing but the file, the tables beside it.
#[test]
fn results_on_standard_output() {
    let folder = Folder::with("dash", SMALL);
    let plan = folder.path("plan.toml");
    let mut test = command(&["test", &plan, "--virtual", "--json", "-"]);
    let out = test.current_dir(folder.path(".")).output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(report::suite::read(&text(&out.stdout)).unwrap().complete);
    assert!(text(&out.stderr).contains("Frame loss rate"));
    assert!(!std::path::Path::new(&folder.path("-")).exists());
}

/// Whoever reads no further ends nothing: no panic, and the file is written all the same.
#[test]
fn readers_that_have_gone() {
    let folder = Folder::with("gone", SMALL);
    let (plan, json) = (folder.path("plan.toml"), folder.path("a.json"));
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/data/check/S2-baseline.csv");
    for (arguments, code) in [
        (vec!["test", &plan, "--virtual", "--json", &json], 0),
        (vec!["report", "check", table], 1),
        (vec!["calc", "wire", "1G"], 0),
    ] {
        for both in [false, true] {
            // Ends whose readers are gone before anything is written.
            let gone = || Stdio::from(std::io::pipe().unwrap().1);
            let mut run = command(&arguments);
            run.stdout(gone()).stderr(if both { gone() } else { Stdio::piped() });
            let out = run.output().unwrap();
            let err = text(&out.stderr);
            assert_eq!(out.status.code(), Some(code), "{arguments:?}: {err}");
            assert!(!err.contains("panicked") && !err.contains("Broken pipe"), "{err}");
        }
    }
    assert!(report::suite::read(&std::fs::read_to_string(&json).unwrap()).unwrap().complete);
    // A disk is another matter.
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let out = command(&["calc", "wire", "1G"]).stdout(full).output().unwrap();
    assert_eq!(out.status.code(), Some(3));
    assert!(text(&out.stderr).contains("cannot write to standard output: No space left"));
}
