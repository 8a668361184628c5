//! Survey of a script: each command tried on its own, after what was accepted before it.
//!
//! ```text
//! /ip dhcp-server network              a menu that is not here: what follows is in it all the same
//! add address=192.168.88.0/24 …        ─► missing, or without a meaning here
//! /ip address add address=…            ─► works, or refused with the reason
//! ```
//!
//! A script that is imported is refused whole by its first line that does not work. Here every line
//! has its say, so that somebody with the configuration of another box learns what to expect. Of a line
//! that gives a name and has an argument too much the rest is run, for what comes later may speak of it: the
//! line counts as missing all the same.

use crate::error::{At, Error};
use crate::inert;
use crate::interpreter::Interpreter;
use crate::script::Lexer;
use crate::session::Reply;
use crate::{ItemId, Status};
use std::ops::Range;

/// A command of a script, and what would come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Where it stands.
    pub at: At,
    /// The menu it is in: `/ip dhcp-server network`.
    pub menu: String,
    /// The command as it was typed, on one line.
    pub text: String,
    /// What came of it.
    pub verdict: Verdict,
    /// The items it made.
    pub items: Vec<ItemId>,
}

/// What comes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is accepted.
    Works,
    /// Its menu has no meaning here, and nothing that packets meet.
    Inert(&'static str),
    /// RouterOS has it, this device does not.
    Missing(String),
    /// It is refused for another reason: what it names is not there, for one.
    Refused(String),
}

/// The first words of commands: what stands before them in a line is a path.
const VERBS: &[&str] = &[
    "add",
    "set",
    "remove",
    "enable",
    "disable",
    "move",
    "edit",
    "print",
    "export",
    "import",
    "find",
    "get",
    "unset",
    "comment",
    "reset",
    "reset-counters",
    "run",
    "monitor",
    "ping",
];

/// Tries the commands of a script, one after the other. Lines that are inert are kept, and the
/// interfaces that no hardware has are there, as in a tolerant import.
///
/// # Errors
/// The script cannot be read at all: a bracket or a string is not closed.
pub fn survey(
    script: &str,
    interpreter: &mut Interpreter,
    status: &dyn Status,
) -> Result<Vec<Tried>, Error> {
    let script = script.strip_prefix(crate::script::BYTE_ORDER_MARK).unwrap_or(script);
    let mut tried = Vec::new();
    let mut place = String::new();
    interpreter.run(&inert::absent(script)?, status)?;
    for (at, range) in statements(script)? {
        let text = &script[range];
        let (menu, command) = split(&place, text);
        if command.is_empty() {
            place = menu;
            continue;
        }
        // A global command is in no menu, and a path of the line's own is left behind it.
        let line =
            if command.starts_with(':') { command.clone() } else { format!("{menu} {command}") };
        let known = interpreter.menus().iter().any(|known| known.path == menu);
        let inert = inert::why_of(&menu, &command);
        let kept = inert.map(|_| inert::keep(&menu, &command));
        let ran = interpreter.run(kept.as_deref().unwrap_or(line.trim()), status);
        let (verdict, items) = match ran {
            Ok(output) => match output.reply {
                Reply::Items(items) => (inert.map_or(Verdict::Works, Verdict::Inert), items),
                _ => (inert.map_or(Verdict::Works, Verdict::Inert), Vec::new()),
            },
            Err(error) => {
                let verdict = if error.text.starts_with("not implemented") {
                    Verdict::Missing(said(&error))
                } else if !known && inert.is_none() && !line.starts_with(':') {
                    Verdict::Missing("not implemented: this menu".to_string())
                } else {
                    Verdict::Refused(said(&error))
                };
                let rest =
                    kept.is_none().then(|| run_rest(interpreter, status, line.trim(), error));
                (verdict, rest.unwrap_or_default())
            }
        };
        let text =
            text.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>().join(" ");
        let menu = if menu.is_empty() { "/".to_string() } else { menu };
        tried.push(Tried { at, menu, text, verdict, items });
    }
    Ok(tried)
}

/// Runs a command that gives a name without the arguments that are not known, or not implemented; the items
/// it made. (Of a rule of the firewall, which nobody names, another rule would be left.)
fn run_rest(
    interpreter: &mut Interpreter,
    status: &dyn Status,
    line: &str,
    mut error: Error,
) -> Vec<ItemId> {
    let mut line = line.to_string();
    while line.contains(" name=") {
        let too_much = ["not implemented", "expected end of command"];
        let is_too_much = too_much.iter().any(|text| error.text.starts_with(text));
        let Some(range) = argument(&line, error.at).filter(|_| is_too_much) else {
            return Vec::new();
        };
        line.replace_range(range, "");
        match interpreter.run(&line, status) {
            Ok(output) => match output.reply {
                Reply::Items(items) => return items,
                _ => return Vec::new(),
            },
            Err(next) => error = next,
        }
    }
    Vec::new()
}

/// Where the argument at a place stands: `name=value`, or `!name`.
fn argument(line: &str, at: At) -> Option<Range<usize>> {
    let statement = Lexer::new(line).next().ok()??;
    let mut lines = vec![0];
    lines.extend(line.match_indices('\n').map(|(at, _)| at + 1));
    let place = offset(line, &lines, at);
    let mut starts: Vec<usize> =
        statement.words.iter().map(|word| offset(line, &lines, word.at)).collect();
    starts.push(offset(line, &lines, statement.end));
    let word = starts.windows(2).find(|word| (word[0]..word[1]).contains(&place))?;
    let text = &line[word[0]..word[1]];
    (text.contains('=') || text.starts_with('!')).then_some(word[0]..word[1])
}

fn said(error: &Error) -> String {
    let help = if error.help.is_empty() { String::new() } else { format!("; {}", error.help) };
    format!("{}{}", error.text, help.replace('\n', " "))
}

/// The statements of a script without a byte order mark: their places and where their text is.
pub(crate) fn statements(script: &str) -> Result<Vec<(At, Range<usize>)>, Error> {
    let mut lexer = Lexer::new(script);
    let mut statements = Vec::new();
    let mut lines = vec![0];
    lines.extend(script.match_indices('\n').map(|(at, _)| at + 1));
    let offset = |at: At| offset(script, &lines, at);
    while let Some(statement) = lexer.next().map_err(|error| error.locate(script))? {
        let Some(first) = statement.words.first() else { continue };
        let (from, to) = (offset(first.at), offset(statement.end));
        statements.push((first.at, from..to.max(from)));
    }
    Ok(statements)
}

/// The byte at a place; `lines` are where the lines begin.
fn offset(script: &str, lines: &[usize], at: At) -> usize {
    let line = lines.get(at.line.saturating_sub(1) as usize).copied().unwrap_or(script.len());
    let column = at.column.saturating_sub(1) as usize;
    let within = script[line..].char_indices().nth(column).map(|(at, _)| at);
    line + within.unwrap_or(script.len() - line)
}

/// The menu that a line is in, from where it stands, and what is left of it: a command, or nothing.
pub(crate) fn split(place: &str, line: &str) -> (String, String) {
    if line.starts_with(':') {
        return (String::new(), line.to_string());
    }
    let absolute = line.starts_with('/');
    let mut path = if absolute { String::new() } else { place.to_string() };
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '/']);
        let end = rest.find([' ', '\t', '/', '\n', '\r']).unwrap_or(rest.len());
        let word = &rest[..end];
        let is_command =
            VERBS.contains(&word) || word.contains(['=', '[', '"', '$', '{', '(', '\\']);
        if word.is_empty() || is_command {
            return (path, rest.trim_end().to_string());
        }
        if word == ".." {
            path.truncate(path.rfind([' ', '/']).unwrap_or(0));
        } else {
            path = if path.is_empty() { format!("/{word}") } else { format!("{path} {word}") };
        }
        rest = &rest[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_menus() {
        for (place, line, menu, command) in [
            ("", "/ip address", "/ip address", ""),
            ("", "/ip/address/add address=10.0.0.1/24", "/ip address", "add address=10.0.0.1/24"),
            ("/ip address", "add address=10.0.0.1/24", "/ip address", "add address=10.0.0.1/24"),
            (
                "/ip address",
                "/ip dhcp-server network add a=b",
                "/ip dhcp-server network",
                "add a=b",
            ),
            ("/ip", "dns set servers=1.1.1.1", "/ip dns", "set servers=1.1.1.1"),
            ("/ip address", "..", "/ip", ""),
            (
                "/ip address",
                "set [ find default=yes ] a=b",
                "/ip address",
                "set [ find default=yes ] a=b",
            ),
            ("/ip", ":put 1", "", ":put 1"),
            ("/interface bridge", "/", "", ""),
        ] {
            let expected = (menu.to_string(), command.to_string());
            assert_eq!(split(place, line), expected, "{place} {line}");
        }
    }

    #[test]
    fn statements_have_places() {
        let script = "# a comment\n/ip address\nadd address=1 \\\n    interface=é; add b=2\n";
        let found: Vec<_> = statements(script).unwrap();
        let lines: Vec<_> =
            found.into_iter().map(|(at, range)| (at.line, &script[range])).collect();
        let expected =
            [(2, "/ip address"), (3, "add address=1 \\\n    interface=é"), (4, "add b=2")];
        assert_eq!(lines, expected);
        assert!(statements("add a=\"b").is_err());
    }
}
