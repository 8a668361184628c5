//! IRC's helper: direct connections between clients, DCC.
//!
//! ```text
//! PRIVMSG friend :␁DCC SEND file 167772417 5000 1234␁      the speaker waits at 10.0.1.1:5000
//! ```
//!
//! The address is a decimal number. Pure: text. A message is understood where it is whole in one segment.

use std::ops::Range;

/// A port that a client waits at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    /// Where in the text address and port are said.
    pub(crate) at: Range<usize>,
    pub(crate) address: u32,
    pub(crate) port: u16,
}

impl Announced {
    /// Reads the first offer in what a client says.
    pub(crate) fn read(payload: &[u8]) -> Option<Announced> {
        let text = std::str::from_utf8(payload.get(..payload.len().min(512))?).ok()?;
        let start = text.find("\u{1}DCC ")? + 5;
        let end = start + text[start..].find(['\u{1}', '\n'])?;
        let mut at = start;
        let words: Vec<(usize, &str)> = text[start..end]
            .split(' ')
            .map(|word| {
                let word = (at, word);
                at += word.1.len() + 1;
                word
            })
            .collect();
        let is_offer = ["SEND", "CHAT", "MOVE", "TSEND", "SCHAT"].contains(&words.first()?.1);
        // The file's name may have blanks: address and port are the two numbers behind it.
        let pair = words.windows(2).skip(1).rev().find_map(|pair| {
            let address = pair[0].1.parse().ok().filter(|&address: &u32| address > 0x00ff_ffff)?;
            let port = pair[1].1.parse().ok().filter(|&port: &u16| port != 0)?;
            let end = pair[1].0 + pair[1].1.len();
            Some(Announced { at: pair[0].0..end, address, port })
        });
        pair.filter(|_| is_offer)
    }

    /// The same of another address and port.
    pub(crate) fn say(address: u32, port: u16) -> String {
        format!("{address} {port}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lines_announce() {
        let offer = |at, port| Some(Announced { at, address: 0x0a00_0101, port });
        let cases = [
            ("PRIVMSG x :\u{1}DCC SEND file 167772417 5000 12\u{1}\r\n", offer(26..40, 5000)),
            ("PRIVMSG x :\u{1}DCC SEND a b 167772417 5000\u{1}\r\n", offer(25..39, 5000)),
            ("PRIVMSG x :\u{1}DCC CHAT chat 167772417 70000\u{1}\r\n", None),
            ("PRIVMSG x :\u{1}DCC RESUME chat 167772417 7000\u{1}\r\n", None),
            ("PRIVMSG x :\u{1}DCC SEND file 167772417", None),
            ("PRIVMSG x :\u{1}DCC \u{1}", None),
            ("PRIVMSG x :hello\r\n", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(Announced::read(line.as_bytes()), expected, "{line:?}");
        }
    }
}
