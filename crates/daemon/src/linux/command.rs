//! Commands of other programs (`ip`, `nft`, `tc`), run in a namespace.

use port::linux::Namespace;
use std::io::ErrorKind;
use std::process::Command;

/// Runs a command in a namespace and returns what it prints.
///
/// # Errors
/// It cannot be started, or it failed: the first line of what it said.
pub fn ask(namespace: &Namespace, words: &str) -> Result<String, String> {
    let mut split = words.split_whitespace();
    let program = split.next().ok_or("no command")?;
    let mut command = Command::new(program);
    command.args(split);
    let output = namespace.output(command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("there is no program {program}"),
        _ => error.to_string(),
    })?;
    let [out, err] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() {
        return Ok(out);
    }
    let said = if err.trim().is_empty() { out } else { err };
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Err(first.trim().to_string())
}
