//! `tls-host`: the server that a TLS client asks for, as a glob.
//!
//! Of one TCP segment: a ClientHello that is spread over several is not put together, as in
//! RouterOS.

/// Whether a name is as a pattern says: `*` stands for any text, `?` for any one character, letters
/// for themselves, small or capital.
pub(crate) fn is_like(name: &[u8], pattern: &[u8]) -> bool {
    let (mut at, mut p) = (0, 0);
    // Where to go on when what follows the last `*` does not fit: it then stands for one more.
    let mut retry: Option<(usize, usize)> = None;
    while at < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((at, p + 1));
                p += 1;
                continue;
            }
            Some(&c) if c == b'?' || c.eq_ignore_ascii_case(&name[at]) => {
                (at, p) = (at + 1, p + 1);
                continue;
            }
            _ => {}
        }
        let Some((from, after)) = &mut retry else { return false };
        *from += 1;
        (at, p) = (*from, *after);
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        let cases = [
            ("www.example.com", "*.example.com", true),
            ("WWW.Example.com", "*.example.COM", true),
            ("example.com", "*.example.com", false),
            ("a.b.c", "a*c", true),
            ("a.b.c", "a*b", false),
            ("abab", "*ab", true),
            ("abc", "a?c", true),
            ("ac", "a?c", false),
            ("", "*", true),
            ("", "", true),
            ("a", "", false),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "*a*a*a*a*a*a*b", false),
        ];
        for (name, pattern, want) in cases {
            assert_eq!(is_like(name.as_bytes(), pattern.as_bytes()), want, "{name} {pattern}");
        }
    }
}
