//! Open brackets and quotes of a line, by which it is continued on the next.

/// What is still open at the end of `text`: `{`, `[`, `(`, `"`, or `\` for a line that is joined
/// with the next; the innermost. `None` if it can be run. Closing brackets that fit none are left
/// to the parser to complain about.
///
/// ```
/// use config::inspect::open;
/// assert_eq!(open(":if (1 = 1) do={\n:put [find"), Some('['));
/// assert_eq!(open(":put \"a]\" # {"), None);
/// ```
pub fn open(text: &str) -> Option<char> {
    let mut stack: Vec<char> = Vec::new();
    let mut chars = text.chars().peekable();
    let mut before = '\n';
    while let Some(c) = chars.next() {
        if stack.last() == Some(&'"') {
            match c {
                '\\' => drop(chars.next()),
                '"' => drop(stack.pop()),
                '$' => {
                    if let Some(c) = chars.next_if(|c| matches!(c, '[' | '(')) {
                        stack.push(c);
                    }
                }
                _ => {}
            }
        } else {
            match c {
                '"' | '[' | '(' | '{' => stack.push(c),
                ']' | ')' | '}' => {
                    let opening =
                        ['[', '(', '{'][usize::from(c == ')') + 2 * usize::from(c == '}')];
                    let _ = stack.pop_if(|last| *last == opening);
                }
                '#' => while chars.next_if(|c| *c != '\n').is_some() {},
                '\\' => drop(chars.next_if(|c| *c == '"')),
                _ => {}
            }
        }
        before = c;
    }
    let last = text.rsplit('\n').next().unwrap_or("").trim_end_matches([' ', '\t', '\r']);
    let joined = last.ends_with('\\') && !last.ends_with("\\\\") && before != '#';
    stack.pop().or(joined.then_some('\\'))
}

#[cfg(test)]
mod tests {
    use super::open;

    #[test]
    fn innermost() {
        for (text, expected) in [
            ("", None),
            ("/ip address print", None),
            (":put {1;2", Some('{')),
            (":put [find name=(1", Some('(')),
            (":put \"a", Some('"')),
            (":put \"a\\\"", Some('"')),
            (":put \"a $[find ", Some('[')),
            (":put \"a $[find ]", Some('"')),
            (":put \"a $[find ]\"", None),
            ("add a=1 \\", Some('\\')),
            ("add a=1 \\ \t", Some('\\')),
            ("{\n# }", Some('{')),
            ("{ } }", None),
            (")]}", None),
            ("# the \\", None),
        ] {
            assert_eq!(open(text), expected, "{text}");
        }
    }
}
