//! Source files and documents of the repository, read once.

use std::fs;
use std::path::Path;

/// A text file, by its path from the root, with slashes.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What tidy reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Every `.rs` under `crates/` and `fuzz/`.
    pub(crate) sources: Vec<File>,
    /// Every `.md` at the root, and under `docs/`.
    pub(crate) documents: Vec<File>,
}

impl Tree {
    /// Reads the tree, sorted by path.
    ///
    /// # Errors
    /// If a folder or file cannot be read, with its path.
    pub(crate) fn read(root: &Path) -> Result<Tree, String> {
        let mut tree = Tree::default();
        for folder in ["crates", "fuzz"] {
            walk(root, folder, "rs", &mut tree.sources)?;
        }
        files(root, "", "md", &mut tree.documents)?;
        walk(root, "docs", "md", &mut tree.documents)?;
        tree.sources.sort_by(|a, b| a.path.cmp(&b.path));
        tree.documents.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A source's text; empty if it is not there, which the rules complain about.
    pub(crate) fn source(&self, path: &str) -> &str {
        find(&self.sources, path)
    }

    /// A document's text; empty if it is not there.
    pub(crate) fn document(&self, path: &str) -> &str {
        find(&self.documents, path)
    }
}

fn find<'a>(files: &'a [File], path: &str) -> &'a str {
    files.iter().find(|file| file.path == path).map_or("", |file| &file.text)
}

/// All files with an extension in a folder and below, build outputs left out.
fn walk(root: &Path, folder: &str, extension: &str, into: &mut Vec<File>) -> Result<(), String> {
    for below in files(root, folder, extension, into)? {
        if !below.ends_with("/target") && !below.ends_with("/corpus") {
            walk(root, &below, extension, into)?;
        }
    }
    Ok(())
}

/// The files with an extension right in a folder. Returns the folders beside them.
fn files(
    root: &Path,
    folder: &str,
    extension: &str,
    into: &mut Vec<File>,
) -> Result<Vec<String>, String> {
    let here = root.join(folder);
    if !here.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", here.display());
    let mut folders = Vec::new();
    for entry in fs::read_dir(&here).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if entry.file_type().map_err(failed)?.is_dir() {
            folders.push(path);
        } else if path.rsplit_once('.').is_some_and(|(_, end)| end == extension) {
            let text = fs::read_to_string(entry.path())
                .map_err(|error| format!("{}: {error}", entry.path().display()))?;
            into.push(File { path, text });
        }
    }
    Ok(folders)
}
