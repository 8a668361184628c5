//! Licences of everything we are built from.
//!
//! A dependency's SPDX expression must leave a choice that consists of allowed licences only.
//! Test dependencies count too: one rule, no exceptions to argue about.

use crate::metadata::Package;

/// What may come in, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("0BSD", "asks for nothing"),
    ("Apache-2.0", "our own"),
    ("BSD-3-Clause", "asks for its notice, and not to be named as who endorses"),
    ("BSL-1.0", "asks for its notice in sources only; of libraries for other systems"),
    ("MIT", "asks for its notice only"),
    ("NCSA", "asks for its notice only; of libFuzzer, which is built with `--features libfuzzer`"),
    (
        "Unicode-3.0",
        "tables of character classes, in the compiler's own tools; asks for its notice",
    ),
    ("Zlib", "asks not to be misrepresented"),
];

/// Complains about packages without a licence we may use.
pub(crate) fn check(packages: &[Package]) -> Vec<String> {
    packages
        .iter()
        .filter(|package| !is_allowed(&package.license))
        .map(|Package { name, version, license, .. }| {
            let allowed: Vec<_> = ALLOWED.iter().map(|(licence, _)| *licence).collect();
            let license = if license.is_empty() { "none" } else { license };
            format!("{name} {version}: licence {license}; allowed: {}", allowed.join(", "))
        })
        .collect()
}

/// Whether an SPDX expression can be met with allowed licences. The old `A/B` means `A OR B`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest) == Some(true) && rest.is_empty()
}

/// `a OR b …`; `None` where the expression cannot be read.
fn either(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = both(words)?;
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        allowed |= both(words)?;
    }
    Some(allowed)
}

/// `a AND b …`, which binds tighter.
fn both(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = one(words)?;
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        allowed &= one(words)?;
    }
    Some(allowed)
}

/// A licence, perhaps with an exception (which only ever allows more), or parentheses.
fn one(words: &mut &[&str]) -> Option<bool> {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let allowed = either(words)?;
            let [")", rest @ ..] = *words else { return None };
            *words = rest;
            Some(allowed)
        }
        [licence, "WITH", _, rest @ ..] | [licence, rest @ ..] => {
            *words = rest;
            Some(ALLOWED.iter().any(|(allowed, _)| allowed == licence))
        }
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_expressions() {
        for (expression, allowed) in [
            ("MIT", true),
            ("MIT/Apache-2.0", true),
            ("Unlicense OR MIT", true),
            ("MIT OR Apache-2.0 OR LGPL-2.1-or-later", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("GPL-3.0-only", false),
            ("GPL-3.0 OR LGPL-2.1", false),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR GPL-3.0) AND GPL-3.0", false),
            ("GPL-3.0 AND MIT OR MIT", true),
            ("", false),
            ("MIT OR", false),
            ("(MIT", false),
            ("MIT MIT", false),
        ] {
            assert_eq!(is_allowed(expression), allowed, "{expression:?}");
        }
    }
}
