//! A program and its arguments, as a line or as a list.
//!
//! ```text
//! exec: ping -c 3 10.0.0.1            ─► ping │ -c │ 3 │ 10.0.0.1
//! exec: sh -c 'echo $$; ls *'         ─► sh │ -c │ echo $$; ls *
//! exec: [sh, -c, "echo $$; ls *"]     ─► the same
//! ```
//!
//! A line is parted at blanks, as containerlab does it; quotes and backslashes keep blanks together,
//! as in a shell. Nothing else of a shell is there: who wants variables or pipes says `sh -c`.

use super::yaml::{Fault, Node};

/// The program and its arguments.
pub(super) fn words(node: &Node) -> Result<Vec<String>, Fault> {
    if node.is_list() {
        let words = node.list()?.iter().map(|word| word.text().map(str::to_string));
        let words: Vec<_> = words.collect::<Result<_, _>>()?;
        return if words.is_empty() { Err(node.fault("which program?")) } else { Ok(words) };
    }
    split(node.text()?).map_err(|why| node.fault(why))
}

fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err("a quote ' is not closed"),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('"') => break,
                        Some('\\') => match characters.next() {
                            Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                            Some(c) => word.extend(['\\', c]),
                            None => return Err("a quote \" is not closed"),
                        },
                        Some(c) => word.push(c),
                        None => return Err("a quote \" is not closed"),
                    }
                }
            }
            '\\' => match characters.next() {
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err("nothing stands behind the backslash"),
            },
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.is_empty() { Err("which program?") } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn lines_are_parted_as_a_shell_does_it() {
        for (line, expected) in [
            ("ping  -c 3\t10.0.0.1 ", &["ping", "-c", "3", "10.0.0.1"][..]),
            ("sh -c 'a \"b\" $c'", &["sh", "-c", "a \"b\" $c"]),
            (r#"a "b \" c" 'd'e"f" "#, &["a", "b \" c", "def"]),
            (r#"a\ b "\n" '' "#, &["a b", "\\n", ""]),
        ] {
            assert_eq!(split(line).unwrap(), expected, "{line}");
        }
        for line in ["", "  ", "a 'b", "a \"b", "a \"b\\", "a\\"] {
            assert!(split(line).is_err(), "{line:?}");
        }
    }
}
