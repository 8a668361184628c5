//! Regular expressions for `find name~"^ether[1-4]$"`: POSIX extended, on text.
//!
//! ```text
//! a.c   [a-z]   [^0-9]   [[:digit:]]   a|b   (ab)   a*   a+   a?   a{2,3}   ^a   a$   \.
//! ```
//!
//! Compiled to a little program whose threads run side by side over the text (Thompson's way), so
//! no expression takes more than program × text steps, however it nests.
//!
//! **Missing**: back-references, which POSIX leaves out of extended expressions too.

use std::iter::Peekable;
use std::str::Chars;

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    program: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    /// One character of the set; on to the next step.
    One(Set),
    /// Both go on.
    Fork(usize, usize),
    Jump(usize),
    /// Only at the beginning, only at the end.
    Begin,
    End,
    Match,
}

/// Characters: any of these ranges, or none of them.
#[derive(Clone, Debug)]
struct Set {
    ranges: Vec<(char, char)>,
    negated: bool,
}

/// What an expression is made of.
#[derive(Clone, Debug)]
enum Node {
    One(Set),
    Begin,
    End,
    All(Vec<Node>),
    Any(Vec<Node>),
    /// At least, at most.
    Repeat(Box<Node>, u32, Option<u32>),
}

/// Steps a program may have: `((a{100}){100}){100}` is a typing error.
const MAX_STEPS: usize = 20_000;
const MAX_REPEAT: u32 = 255;
const MAX_DEPTH: u32 = 50;

impl Pattern {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let mut parser = Parser { rest: text.chars().peekable(), depth: 0 };
        let node = parser.alternatives()?;
        if parser.rest.next().is_some() {
            return Err("a ) without its (".to_string());
        }
        let mut program = Vec::new();
        emit(&mut program, &node)?;
        program.push(Step::Match);
        Ok(Pattern { program })
    }

    /// Whether it matches anywhere in the text.
    pub fn matches(&self, text: &str) -> bool {
        let mut threads = Threads::new(self.program.len());
        let mut next = Threads::new(self.program.len());
        let mut rest = text.chars();
        let mut begin = true;
        loop {
            let end = rest.as_str().is_empty();
            // The match may begin here.
            threads.start(&self.program, 0, begin, end);
            if threads.matched {
                return true;
            }
            let Some(c) = rest.next() else { return false };
            let end = rest.as_str().is_empty();
            next.clear();
            for &at in &threads.waiting {
                if let Step::One(set) = &self.program[at]
                    && set.has(c)
                {
                    next.start(&self.program, at + 1, false, end);
                }
            }
            std::mem::swap(&mut threads, &mut next);
            begin = false;
        }
    }
}

/// The steps that wait for a character, each once.
struct Threads {
    waiting: Vec<usize>,
    seen: Vec<bool>,
    stack: Vec<usize>,
    matched: bool,
}

impl Threads {
    fn new(n_steps: usize) -> Threads {
        Threads {
            waiting: Vec::new(),
            seen: vec![false; n_steps],
            stack: Vec::new(),
            matched: false,
        }
    }

    fn clear(&mut self) {
        self.waiting.clear();
        self.seen.fill(false);
        self.matched = false;
    }

    /// Follows everything that needs no character.
    fn start(&mut self, program: &[Step], at: usize, begin: bool, end: bool) {
        self.stack.push(at);
        while let Some(at) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[at], true) {
                continue;
            }
            match program[at] {
                Step::One(_) => self.waiting.push(at),
                Step::Fork(a, b) => self.stack.extend([b, a]),
                Step::Jump(to) => self.stack.push(to),
                Step::Begin if begin => self.stack.push(at + 1),
                Step::End if end => self.stack.push(at + 1),
                Step::Begin | Step::End => {}
                Step::Match => self.matched = true,
            }
        }
    }
}

impl Set {
    fn has(&self, c: char) -> bool {
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != self.negated
    }

    fn of(c: char) -> Set {
        Set { ranges: vec![(c, c)], negated: false }
    }
}

fn emit(program: &mut Vec<Step>, node: &Node) -> Result<(), String> {
    if program.len() > MAX_STEPS {
        return Err("the expression is too large".to_string());
    }
    match node {
        Node::One(set) => program.push(Step::One(set.clone())),
        Node::Begin => program.push(Step::Begin),
        Node::End => program.push(Step::End),
        Node::All(nodes) => {
            for node in nodes {
                emit(program, node)?;
            }
        }
        Node::Any(nodes) => {
            let mut ends = Vec::new();
            for (i, node) in nodes.iter().enumerate() {
                let fork = program.len();
                let last = i + 1 == nodes.len();
                if !last {
                    program.push(Step::Fork(fork + 1, 0));
                }
                emit(program, node)?;
                if !last {
                    ends.push(program.len());
                    program.push(Step::Jump(0));
                    program[fork] = Step::Fork(fork + 1, program.len());
                }
            }
            for end in ends {
                program[end] = Step::Jump(program.len());
            }
        }
        Node::Repeat(node, least, most) => {
            for _ in 0..*least {
                emit(program, node)?;
            }
            match most {
                None => {
                    let fork = program.len();
                    program.push(Step::Fork(fork + 1, 0));
                    emit(program, node)?;
                    program.push(Step::Jump(fork));
                    program[fork] = Step::Fork(fork + 1, program.len());
                }
                Some(most) => {
                    for _ in *least..*most {
                        let fork = program.len();
                        program.push(Step::Fork(fork + 1, 0));
                        emit(program, node)?;
                        program[fork] = Step::Fork(fork + 1, program.len());
                    }
                }
            }
        }
    }
    Ok(())
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    depth: u32,
}

impl Parser<'_> {
    fn alternatives(&mut self) -> Result<Node, String> {
        let mut nodes = vec![self.sequence()?];
        while self.rest.next_if_eq(&'|').is_some() {
            nodes.push(self.sequence()?);
        }
        Ok(Node::Any(nodes))
    }

    fn sequence(&mut self) -> Result<Node, String> {
        let mut nodes = Vec::new();
        while let Some(c) = self.rest.next_if(|c| !matches!(c, '|' | ')')) {
            let node = match c {
                '(' => self.group()?,
                '[' => Node::One(self.set()?),
                '.' => Node::One(Set { ranges: Vec::new(), negated: true }),
                '^' => Node::Begin,
                '$' => Node::End,
                '*' | '+' | '?' | '{' => return Err(format!("nothing before {c} to repeat")),
                '\\' => Node::One(Set::of(self.rest.next().ok_or("a \\ at the end")?)),
                c => Node::One(Set::of(c)),
            };
            nodes.push(self.repeated(node)?);
        }
        Ok(Node::All(nodes))
    }

    fn group(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("too many ( inside each other".to_string());
        }
        let node = self.alternatives()?;
        self.depth -= 1;
        self.rest.next_if_eq(&')').map(|_| node).ok_or_else(|| "a ( without its )".to_string())
    }

    fn repeated(&mut self, mut node: Node) -> Result<Node, String> {
        // `a***` is `a*`, but would nest.
        let mut n_repeats = 0;
        while let Some(c) = self.rest.next_if(|c| matches!(c, '*' | '+' | '?' | '{')) {
            n_repeats += 1;
            if n_repeats > 3 {
                return Err("too many repetitions of repetitions".to_string());
            }
            let (least, most) = match c {
                '*' => (0, None),
                '+' => (1, None),
                '?' => (0, Some(1)),
                _ => self.bounds()?,
            };
            node = Node::Repeat(node.into(), least, most);
        }
        Ok(node)
    }

    /// `2}`, `2,}` or `2,3}`.
    fn bounds(&mut self) -> Result<(u32, Option<u32>), String> {
        let bad = || format!("repetitions are {{n}}, {{n,}} or {{n,m}}, up to {MAX_REPEAT}");
        let least = self.number().ok_or_else(bad)?;
        let most = if self.rest.next_if_eq(&',').is_none() {
            Some(least)
        } else if self.rest.peek() == Some(&'}') {
            None
        } else {
            Some(self.number().filter(|most| *most >= least).ok_or_else(bad)?)
        };
        self.rest.next_if_eq(&'}').map(|_| (least, most)).ok_or_else(bad)
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.rest.peek().and_then(|c| c.to_digit(10)) {
            self.rest.next();
            number = Some(number.unwrap_or(0) * 10 + digit).filter(|n| *n <= MAX_REPEAT);
            number?;
        }
        number
    }

    /// Behind the `[`.
    fn set(&mut self) -> Result<Set, String> {
        let open = || "a [ without its ]".to_string();
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges = Vec::new();
        let mut first = true;
        loop {
            let c = self.rest.next().ok_or_else(open)?;
            match c {
                ']' if !first => return Ok(Set { ranges, negated }),
                '[' if self.rest.next_if_eq(&':').is_some() => {
                    let mut name = String::new();
                    while let Some(c) = self.rest.next_if(char::is_ascii_lowercase) {
                        name.push(c);
                    }
                    let closed = self.rest.next() == Some(':') && self.rest.next() == Some(']');
                    let class = class(&name).filter(|_| closed);
                    ranges.extend(class.ok_or_else(|| format!("no class [:{name}:]"))?);
                }
                low => {
                    let mut high = low;
                    // A minus before the ] is itself.
                    let mut ahead = self.rest.clone();
                    if ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']') {
                        self.rest.next();
                        high = self.rest.next().ok_or_else(open)?;
                    }
                    if low > high {
                        return Err(format!("the range {low}-{high} is the wrong way round"));
                    }
                    ranges.push((low, high));
                }
            }
            first = false;
        }
    }
}

fn class(name: &str) -> Option<&'static [(char, char)]> {
    Some(match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "blank" => &[(' ', ' '), ('\t', '\t')],
        "digit" => &[('0', '9')],
        "lower" => &[('a', 'z')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[(' ', ' '), ('\t', '\r')],
        "upper" => &[('A', 'Z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches() {
        let cases = [
            ("", "", true),
            ("", "abc", true),
            ("b", "abc", true),
            ("^b", "abc", false),
            ("^ether[1-4]$", "ether4", true),
            ("^ether[1-4]$", "ether5", false),
            ("^ether[1-4]$", "ether44", false),
            ("a.c", "xabcx", true),
            ("a|b|cd", "xcdx", true),
            ("^(a|b)+$", "abba", true),
            ("^(a|b)+$", "abca", false),
            ("^a{2,3}$", "a", false),
            ("^a{2,3}$", "aaa", true),
            ("^a{2,3}$", "aaaa", false),
            ("^a{2}b{1,}$", "aabbb", true),
            ("^(|x)y?$", "", true),
            (r"^1\.1$", "1.1", true),
            (r"^1\.1$", "121", false),
            ("[^0-9]", "12 3", true),
            ("[^0-9]", "123", false),
            ("^[[:alpha:]_-]+$", "a_B-", true),
            ("^[]a]+$", "]a", true),
            ("^(a*)*$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false),
            ("ü+", "grüüße", true),
            ("a^b", "ab", false),
            ("(^a|b$)", "xb", true),
        ];
        for (pattern, text, expected) in cases {
            let compiled = Pattern::new(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}"));
            assert_eq!(compiled.matches(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn refuses() {
        let deep = "(".repeat(1000);
        for pattern in
            ["(", ")", "[", "[a", "*", "a{", "a{3,2}", "a{999}", "[[:no:]]", "[z-a]", "\\", &deep]
        {
            assert!(Pattern::new(pattern).is_err(), "{pattern}");
        }
        assert!(Pattern::new("((a{200}){200}){200}").is_err());
    }
}
