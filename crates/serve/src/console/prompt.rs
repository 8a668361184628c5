//! Prompt of the console: who, where, and what is still open; and sentences that fit the terminal.

use super::colour::Colours;

/// `[admin@MikroTik] /ip address> `; in safe mode `[admin@MikroTik] /ip address<SAFE> `.
pub(super) fn main(
    user: &str,
    identity: &str,
    (place, is_safe): (&str, bool),
    colours: Colours,
) -> String {
    let place = match place {
        "/" => String::new(),
        place => colours.paint("dir", place),
    };
    let end = if is_safe { "<SAFE>" } else { ">" };
    format!("[{user}@{identity}] {place}{end} ")
}

/// `{... `, while brackets of a command are open.
pub(super) fn more(open: char) -> String {
    format!("{open}... ")
}

/// Each line of `text` broken at blanks, so that none has more than `width` characters if it need
/// not.
pub(super) fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if used > 0 && used + length > width {
                wrapped.truncate(wrapped.trim_end_matches(' ').len());
                wrapped.push('\n');
                used = 0;
            }
            wrapped.push_str(word);
            used += word.chars().count();
        }
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_routeros() {
        let plain = Colours(false);
        assert_eq!(main("admin", "MikroTik", ("/", false), plain), "[admin@MikroTik] > ");
        let place = main("admin", "dut", ("/ip address", false), plain);
        assert_eq!(place, "[admin@dut] /ip address> ");
        assert_eq!(main("admin", "dut", ("/", true), plain), "[admin@dut] <SAFE> ");
        assert_eq!(more('{'), "{... ");
    }

    #[test]
    fn wrapped() {
        assert_eq!(wrap("one two three\nfour", 7), "one two\nthree\nfour");
        assert_eq!(wrap("one  two", 4), "one\ntwo");
        assert_eq!(wrap("unbreakable\n  x\n", 4), "unbreakable\n  x\n");
        assert_eq!(wrap("", 4), "");
    }
}
