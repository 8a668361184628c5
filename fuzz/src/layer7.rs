//! Any pattern and any payload for `/ip firewall layer7-protocol`: the first line is the pattern, the
//! rest is what connections carry.
//!
//! What is accepted at the console is compiled, alone and with others, and asked. Nothing may panic or
//! take long; and more of a payload never makes a pattern without `$` match less.

use crate::LANGUAGE;
use config::Interpreter;
use router::firewall::matcher::layer7::Patterns;

/// Words of patterns.
pub fn words() -> Vec<Vec<u8>> {
    let words = ["(", ")*", ".*", "^", "[\\x09-\\x0d -~]", "{1,50}", "|", "\\xff", "+", "?", "$"];
    words.map(|word| word.as_bytes().to_vec()).to_vec()
}

/// Asks for the pattern in the payload.
pub fn run(input: &[u8]) {
    let mut parts = input.splitn(2, |&byte| byte == b'\n');
    let pattern = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let payload = parts.next().unwrap_or_default();
    let payload = &payload[..payload.len().min(2048)];
    let mut console = Interpreter::of(LANGUAGE.clone());
    let quoted: String = pattern
        .chars()
        .flat_map(|c| match c {
            '"' | '\\' | '$' | '?' => vec!['\\', c],
            c if c.is_control() => vec!['.'],
            c => vec![c],
        })
        .collect();
    let menu = "/ip firewall layer7-protocol";
    let add =
        format!("{menu}\nadd name=other regexp=\"^get .*http\"\nadd name=one regexp=\"{quoted}\"");
    if console.run(&add, &()).is_err() {
        return;
    }
    let patterns = Patterns::compile(console.tree());
    let whole = patterns.matching(payload);
    assert!(whole.is_sorted(), "{whole:?}");
    if !pattern.contains(['$', '\\']) {
        for end in [0, payload.len() / 3, payload.len() / 2] {
            let part = patterns.matching(&payload[..end]);
            assert!(part.iter().all(|at| whole.contains(at)), "{part:?} of {whole:?} at {end}");
        }
    }
}
