//! Colours, as RouterOS uses them: menus cyan, commands magenta, parameters green, errors red.
//!
//! None where nobody sees them: output that is no terminal, or `NO_COLOR` set.

/// Whether, and how, text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colours(pub(super) bool);

const RESET: &str = "\x1b[0m";

impl Colours {
    /// `text` in the colour of a class, as `/console/inspect` names it.
    pub(super) fn paint(self, class: &str, text: &str) -> String {
        match self.code(class) {
            Some(code) if !text.is_empty() => format!("{code}{text}{RESET}"),
            _ => text.to_string(),
        }
    }

    /// `text` with each character in the colour of its class.
    pub(super) fn paint_each(self, text: &str, classes: &[&str]) -> String {
        let mut painted = String::with_capacity(text.len() * 2);
        let mut now = None;
        for (i, c) in text.chars().enumerate() {
            let code = classes.get(i).and_then(|class| self.code(class));
            if code != now {
                if now.is_some() {
                    painted.push_str(RESET);
                }
                painted.push_str(code.unwrap_or(""));
                now = code;
            }
            painted.push(c);
        }
        if now.is_some() {
            painted.push_str(RESET);
        }
        painted
    }

    fn code(self, class: &str) -> Option<&'static str> {
        if !self.0 {
            return None;
        }
        Some(match class {
            "dir" | "path" => "\x1b[36m",
            "cmd" => "\x1b[35m",
            "arg" => "\x1b[32m",
            "syntax-meta" => "\x1b[33m",
            "variable-local" | "variable-global" | "varname-local" => "\x1b[1;32m",
            "escaped" => "\x1b[33m",
            "comment" => "\x1b[90m",
            "ambiguous" => "\x1b[34m",
            "error" | "variable-undefined" => "\x1b[31m",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn painted() {
        let classes = ["dir", "dir", "none", "cmd", "cmd"];
        let on = Colours(true).paint_each("ip add!", &classes);
        assert_eq!(on, "\x1b[36mip\x1b[0m \x1b[35mad\x1b[0md!");
        assert_eq!(Colours(false).paint_each("ip add!", &classes), "ip add!");
        assert_eq!(Colours(true).paint("arg", ""), "");
    }
}
