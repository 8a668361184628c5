//! Facilities: the one list of menus, and that nobody else keeps one.

use router::MENUS;
use std::path::{Path, PathBuf};

/// The sources of the router, tests left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|name| name == "tests");
        if path.is_dir() && !is_test {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            found.push(path);
        }
    }
}

/// A menu is written out where it is defined, and nowhere else: whoever needs one goes through its
/// `Menu` or its facility, so that adding one is a file and a line.
#[test]
fn nobody_else_knows_a_menu_by_its_path() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|file| (file.clone(), std::fs::read_to_string(file).unwrap()))
        .collect();
    for menu in MENUS {
        let quoted = format!("\"{}\"", menu.path);
        let named: Vec<_> = texts.iter().filter(|(_, text)| text.contains(&quoted)).collect();
        let files: Vec<_> = named.iter().map(|(file, _)| file).collect();
        assert_eq!(files.len(), 1, "{quoted} is in {files:#?}");
        assert!(named[0].1.contains(&format!("path: {quoted}")), "{quoted} is in {files:#?}");
    }
}
