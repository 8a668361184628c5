//! Every source file: module docs, length, `unsafe`; and the purity of `router` and `measure`.
//!
//! Comments and strings are blanked out first ([`code`]), so a word in a sentence is not a breach.

use super::tree::File;

/// Lines that can still be read in one sitting.
const MOST_LINES: usize = 700;

/// Files that may be longer, and why.
const LONGER: &[(&str, usize, &str)] = &[];

/// The crate with a wall around `unsafe`.
const UNSAFE: &str = "crates/port/";

/// Crates that take time and frames as arguments and give frames back.
const PURE: &[&str] = &["crates/router/src/", "crates/measure/src/", "crates/generator/src/"];

/// What the pure crates never name (invariant 2).
const IMPURE: &[(&str, &str)] = &[
    ("Instant", "a clock: take `now: Moment` as an argument"),
    ("SystemTime", "a clock: take `now: Moment` as an argument"),
    ("thread", "a thread: `lab` decides where code runs"),
    ("print!", "printing: return what is to be shown"),
    ("println!", "printing: return what is to be shown"),
    ("eprint!", "printing: return what is to be shown"),
    ("eprintln!", "printing: return what is to be shown"),
    ("std::fs", "a system call: files are opened at the edges (lab, cli)"),
    ("std::env", "a system call: the environment is read at the edges (lab, cli)"),
    ("std::process", "a system call: processes are run at the edges (lab, cli)"),
    ("TcpStream", "a socket"),
    ("TcpListener", "a socket"),
    ("UdpSocket", "a socket"),
];

/// Of these it is another thing: smoltcp's time, a number that it is given.
const GIVEN: (&str, &str) = ("crates/router/src/ip/tcp.rs", "Instant");

/// Words with which no noun phrase begins: somebody looks for a word of the field, not for a riddle.
const RIDDLES: &[&str] = &[
    "What", "Where", "How", "Whether", "Who", "Whom", "Whose", "Which", "When", "Why", "That",
    "If", "The same",
];

/// How a test that is left out says so in vain: the harness keeps what a test that passes prints.
const WHISPERS: &[&str] = &["eprintln!(\"skipped", "eprintln!(\"left out"];

/// Crates whose examples nobody would run: `doctest = false`, since looking for them takes as long as
/// compiling the crate.
const NO_EXAMPLES: &[&str] = &[
    "crates/daemon/src/",
    "crates/generator/src/",
    "crates/measure/src/",
    "crates/product/src/",
    "crates/report/src/",
];

/// Complains about source files.
pub(crate) fn check(sources: &[File]) -> Vec<String> {
    sources.iter().flat_map(complaints).collect()
}

fn complaints(File { path, text }: &File) -> Vec<String> {
    let mut complaints = Vec::new();
    if !text.starts_with("//!") {
        complaints.push(format!("{path}:1: begin with `//!`: what it is, where it stands"));
    }
    let head = text.lines().next().unwrap_or("").trim_start_matches("//! ");
    let riddle = RIDDLES.iter().find(|word| {
        head.strip_prefix(**word).is_some_and(|rest| rest.starts_with([' ', ':', ',']))
    });
    if let Some(word) = riddle {
        complaints.push(format!(
            "{path}:1: begin with a noun phrase, the field's term, not with `{word}`: see the glossary"
        ));
    }
    let most = LONGER.iter().find(|(long, ..)| long == path).map_or(MOST_LINES, |(_, n, _)| *n);
    let lines = text.lines().count();
    if lines > most {
        complaints.push(format!("{path}: {lines} lines, at most {most}: tests beside, or split"));
    }
    // (This file names them.)
    let may_whisper = path.starts_with("crates/xtask/");
    let whispers = |line: &str| WHISPERS.iter().any(|whisper| line.contains(whisper));
    for (n, _) in text.lines().enumerate().filter(|(_, line)| !may_whisper && whispers(line)) {
        complaints
            .push(format!("{path}:{}: nobody hears this: use `left_out` of port's tests", n + 1));
    }
    let has_none = NO_EXAMPLES.iter().any(|none| path.starts_with(none));
    if let Some(n) = example(text).filter(|_| has_none) {
        complaints
            .push(format!("{path}:{n}: an example here is not run: make it a test, or `text`"));
    }
    let code = code(text);
    let is_test = path.split('/').any(|part| part.starts_with("tests"));
    let pure = PURE.iter().any(|pure| path.starts_with(pure)) && !is_test;
    for (n, line) in code.lines().enumerate() {
        let mut complain = |why: &str| complaints.push(format!("{path}:{}: {why}", n + 1));
        if !path.starts_with(UNSAFE) && names(line, "unsafe") {
            complain("`unsafe` lives in `port` only");
        }
        for (name, why) in IMPURE.iter().filter(|(name, _)| pure && names(line, name)) {
            if (&path[..], *name) != GIVEN {
                complain(&format!("`{name}` is {why}"));
            }
        }
    }
    complaints
}

/// The line at which an example for rustdoc begins.
fn example(text: &str) -> Option<usize> {
    let fence = |line: &str| {
        let words = line.trim_start().strip_prefix("//!").or(line.trim_start().strip_prefix("///"));
        words.and_then(|words| words.trim().strip_prefix("```")).map(str::to_string)
    };
    let mut within = false;
    for (n, word) in text.lines().enumerate().filter_map(|(n, line)| Some((n, fence(line)?))) {
        if !within && word != "text" {
            return Some(n + 1);
        }
        within = !within;
    }
    None
}

/// Whether a line of code has a name in it, whole.
fn names(line: &str, name: &str) -> bool {
    let part_of_a_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        !before.ends_with(part_of_a_name)
            && (name.ends_with('!') || !after.starts_with(part_of_a_name))
    })
}

/// The code of a file: comments and the insides of strings become blanks, lines stay lines.
pub(crate) fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest),
            'r' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw_string(rest),
            '\'' => char_literal(rest),
            _ => 0,
        };
        if skip == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            let (skipped, after) = rest.split_at(skip);
            code.extend(skipped.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = after;
        }
    }
    code
}

/// Length of the block comment that `rest` begins with; they nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Length of the string that `rest` begins with.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// Length of the raw string that `rest` begins with; 0 if it is none.
fn raw_string(rest: &str) -> usize {
    let hashes = rest[1..].bytes().take_while(|&b| b == b'#').count();
    if !rest[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let begin = hashes + 2;
    rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len())
}

/// Length of the character that `rest` begins with; 0 if it is a lifetime.
fn char_literal(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1)
        }
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_comments_and_strings() {
        for (text, expected) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c\n*/ d */ e", "a          \n        e"),
            (r#"f("a\"b", x)"#, "f(      , x)"),
            ("r#\"a\"b\"# + rest", "         + rest"),
            ("'\"' 'a 'b' '\\'' x", "    'a          x"),
            ("b'\\\\' for", "b     for"),
            ("\"open", "     "),
            ("/* open", "       "),
            ("'", "'"),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn sees_breaches_and_only_those() {
        let check =
            |path: &str, text: &str| complaints(&File { path: path.into(), text: text.into() });
        let router = "crates/router/src/x.rs";
        for (path, text, expected) in [
            (router, "//! x\nfn a() {}\n", ""),
            (router, "// x\n", ":1: begin with"),
            ("crates/lab/src/x.rs", "//! What a thing is.\n", "with `What`: see the glossary"),
            ("crates/lab/src/x.rs", "//! Whatever comes.\n", ""),
            (router, "//! Instant, unsafe\nlet s = \"println!\"; // std::thread", ""),
            (router, "//! x\nuse std::time::Instant;", ":2: `Instant` is a clock"),
            (router, "//! x\nuse std::thread;", "`thread` is a thread"),
            (router, "//! x\neprintln!(\"{x}\");", "`eprintln!` is printing"),
            (router, "//! x\nstd::fs::read(x)", "`std::fs` is a system call"),
            (router, "//! x\nfn per_thread(threads: u8) {}", ""),
            ("crates/router/src/fib/tests.rs", "//! x\nuse std::fs;", ""),
            ("crates/lab/src/x.rs", "//! x\nuse std::time::Instant;", ""),
            ("crates/lab/tests/x.rs", "//! x\neprintln!(\"skipped: y\");", ":2: nobody hears this"),
            ("crates/lab/src/x.rs", "//! x\neprintln!(\"skipped: y\");", ":2: nobody hears this"),
            ("crates/lab/src/x.rs", "//! x\nunsafe { a() }", ":2: `unsafe` lives in `port`"),
            ("crates/report/src/x.rs", "//! x\n//! ```text\n//! y\n//! ```\n", ""),
            (
                "crates/report/src/x.rs",
                "//! x\n//! ```\n//! y();\n//! ```\n",
                ":2: an example here",
            ),
            ("crates/wire/src/x.rs", "//! x\n//! ```\n//! y();\n//! ```\n", ""),
            ("crates/lab/src/x.rs", "//! x\n#![forbid(unsafe_code)]", ""),
            ("crates/port/src/x.rs", "//! x\nunsafe { a() }", ""),
            ("crates/lab/src/x.rs", &"//! x\n".repeat(MOST_LINES), ""),
            ("crates/lab/src/x.rs", &"//! x\n".repeat(MOST_LINES + 1), "701 lines"),
        ] {
            let complaints = check(path, text);
            assert_eq!(
                complaints.len(),
                usize::from(!expected.is_empty()),
                "{complaints:?}\n{text}"
            );
            assert!(complaints.iter().all(|it| it.contains(expected)), "{complaints:?}\n{text}");
        }
    }
}
