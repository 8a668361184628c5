//! Prefix lists as text: a full table as route collectors and looking glasses hand it out.
//!
//! ```text
//! # comment, to the end of the line
//! 1.0.0.0/24
//! 1.0.4.0/22
//! 2001:200::/32
//! ```
//!
//! One prefix a line, blanks around it and empty lines allowed; an address alone is a /32, or
//! a /128; host bits are cleared. The reader brings plain text: it unpacks nothing and opens nothing itself.

use std::io::BufRead;
use std::net::Ipv6Addr;
use wire::{Ipv4Prefix, Ipv6Prefix};

/// What a prefix list held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixList {
    /// The IPv4 prefixes, in the list's order, repeated ones included.
    pub ipv4: Vec<Ipv4Prefix>,
    /// The same of IPv6.
    pub ipv6: Vec<Ipv6Prefix>,
}

/// A prefix list could not be read.
#[derive(Debug)]
pub struct ListError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a line of a prefix list.
#[derive(Debug)]
pub enum Reason {
    /// Not a prefix: what stands there instead, cut to 64 characters.
    NotAPrefix(String),
    /// The reader failed, or gave bytes that are not UTF-8.
    Read(std::io::Error),
}

impl std::fmt::Display for ListError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = self.line;
        match &self.reason {
            Reason::NotAPrefix(text) => {
                write!(f, "line {line}: expected a prefix (1.2.3.0/24), found \"{text}\"")
            }
            Reason::Read(error) => write!(f, "line {line}: {error}"),
        }
    }
}

impl std::error::Error for ListError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::NotAPrefix(_) => None,
            Reason::Read(error) => Some(error),
        }
    }
}

/// Reads a whole list. A `&str`'s `as_bytes()` is a reader, too.
///
/// # Errors
/// [`ListError`] for the first line that is wrong; nothing of the list is kept then.
pub fn read(mut reader: impl BufRead) -> Result<PrefixList, ListError> {
    let mut list = PrefixList::default();
    let mut text = String::new();
    for line in 1.. {
        text.clear();
        let fail = |reason| ListError { line, reason };
        if reader.read_line(&mut text).map_err(|error| fail(Reason::Read(error)))? == 0 {
            break;
        }
        let (prefix, _comment) = text.split_once('#').unwrap_or((&text, ""));
        let prefix = prefix.trim();
        if let Ok(prefix) = prefix.parse() {
            list.ipv4.push(prefix);
        } else if let Some(prefix) = ipv6(prefix) {
            list.ipv6.push(prefix);
        } else if !prefix.is_empty() {
            return Err(fail(Reason::NotAPrefix(prefix.chars().take(64).collect())));
        }
    }
    Ok(list)
}

fn ipv6(text: &str) -> Option<Ipv6Prefix> {
    let (addr, len) = text.split_once('/').unwrap_or((text, "128"));
    let digits = len.len() <= 3 && len.bytes().all(|b| b.is_ascii_digit());
    let len = len.parse().ok().filter(|&len: &u8| digits && len <= 128)?;
    Some(Ipv6Prefix::new(addr.parse::<Ipv6Addr>().ok()?.into(), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_prefixes_of_both_families() {
        let text =
            "# a list\n\n1.0.0.0/24\n  10.0.0.1/8\t# host bits\r\n2001:200::/32\n::1\n9.9.9.9";
        let list = read(text.as_bytes()).unwrap();
        let shown: Vec<String> = list.ipv4.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["1.0.0.0/24", "10.0.0.0/8", "9.9.9.9/32"]);
        let shown: Vec<String> = list.ipv6.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["2001:200::/32", "::1/128"]);
        assert_eq!(read("".as_bytes()).unwrap(), PrefixList::default());
    }

    #[test]
    fn says_which_line_is_wrong() {
        let check = |text: &[u8], message: &str| {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(message), "{error:?} should contain {message:?}");
        };
        check(
            b"1.0.0.0/24\n1.0.0.0/33\n",
            "line 2: expected a prefix (1.2.3.0/24), found \"1.0.0.0/33\"",
        );
        check(b"1.0.0/24", "line 1: ");
        check(b"#\n\n2001::/129", "line 3: ");
        check(b"1.0.0.0/24 1.0.1.0/24", "line 1: ");
        check(b"1.0.0.0/+8", "line 1: ");
        check(b"1.0.0.0/24\n\xff\xff\n", "line 2: ");
        check(&[b'x'; 1000], "found \"xxxx");
    }
}
