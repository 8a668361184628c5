//! FTP's helper: data connections that a control connection announces (RFC 959, RFC 2428), and the sequence
//! numbers of a TCP stream whose text is rewritten on its way.
//!
//! ```text
//! client  PORT 10,0,1,1,156,64         EPRT |1|10.0.1.1|40000|       the client waits there
//! server  227 … (10,0,2,1,156,64)      229 … (|||40000|)             the server waits there
//!
//! sequence numbers:   sender's ──(+ offset)──► receiver's
//!                     sender's ◄─(− offset)─── what the receiver acknowledges
//! ```
//!
//! Pure: text and numbers. A line is understood where it is whole in one segment, as in Linux.

use super::flow::Direction;
use std::net::Ipv4Addr;
use std::ops::Range;
use wire::checksum::Delta;

/// A port that somebody waits at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    /// Where in the text it is said.
    pub(crate) at: Range<usize>,
    /// The address; the speaker's own if none is said.
    pub(crate) address: Option<u32>,
    pub(crate) port: u16,
    form: Form,
}

/// How it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `10,0,1,1,156,64`.
    Numbers,
    /// `|1|10.0.1.1|40000|`, or without protocol and address.
    Bars(char),
}

impl Announced {
    /// Reads what a side says: of the client's commands and the server's replies those that announce
    /// a port.
    pub(crate) fn read(payload: &[u8], from: Direction) -> Option<Announced> {
        let text = std::str::from_utf8(payload.get(..payload.len().min(512))?).ok()?;
        let line = &text[..text.find('\n')?];
        let word = line.get(..4)?;
        let rest = 4..line.len();
        match from {
            Direction::Original if word.eq_ignore_ascii_case("PORT") => numbers(line, rest),
            Direction::Original if word.eq_ignore_ascii_case("EPRT") => bars(line, rest, true),
            Direction::Reply if word == "227 " => numbers(line, rest),
            Direction::Reply if word == "229 " => bars(line, rest, false),
            _ => None,
        }
    }

    /// The same of another address and port.
    pub(crate) fn say(&self, address: u32, port: u16) -> String {
        let address = Ipv4Addr::from(address);
        match (self.form, self.address) {
            (Form::Numbers, _) => {
                let [a, b, c, d] = address.octets();
                format!("{a},{b},{c},{d},{},{}", port >> 8, port & 0xff)
            }
            (Form::Bars(bar), Some(_)) => format!("{bar}1{bar}{address}{bar}{port}{bar}"),
            (Form::Bars(bar), None) => format!("{bar}{bar}{bar}{port}{bar}"),
        }
    }
}

/// Six numbers of a byte each: address and port.
fn numbers(line: &str, within: Range<usize>) -> Option<Announced> {
    let start = within.start + line[within.clone()].find(|c: char| c.is_ascii_digit())?;
    let is_part = |c: char| c.is_ascii_digit() || c == ',';
    let len = line[start..].find(|c| !is_part(c)).unwrap_or(line.len() - start);
    let mut bytes = line[start..start + len].split(',').map(|number| number.parse::<u8>().ok());
    let mut next = || bytes.next().flatten();
    let address = u32::from_be_bytes([next()?, next()?, next()?, next()?]);
    let port = u16::from_be_bytes([next()?, next()?]);
    let whole = bytes.next().is_none() && port != 0;
    let (at, address) = (start..start + len, Some(address));
    whole.then_some(Announced { at, address, port, form: Form::Numbers })
}

/// Protocol, address and port, each behind a bar; of a reply only the port.
fn bars(line: &str, within: Range<usize>, has_address: bool) -> Option<Announced> {
    let mut text = &line[within.clone()];
    let mut start = within.start;
    let skip = match has_address {
        true => text.find(|c: char| c != ' ')?,
        false => text.find('(')? + 1,
    };
    (text, start) = (text.get(skip..)?, start + skip);
    let bar = text.chars().next().filter(|c| ('!'..='~').contains(c) && !c.is_ascii_digit())?;
    let mut parts = text[1..].split(bar);
    let (protocol, address, port) = (parts.next()?, parts.next()?, parts.next()?);
    // What follows the last bar is not ours.
    parts.next()?;
    let len = 4 + protocol.len() + address.len() + port.len();
    let address = match (has_address, protocol, address) {
        (true, "1", address) => Some(address.parse::<Ipv4Addr>().ok()?.into()),
        (false, "", "") => None,
        _ => return None,
    };
    let port = port.parse().ok().filter(|&port| port != 0)?;
    Some(Announced { at: start..start + len, address, port, form: Form::Bars(bar) })
}

/// By how much a direction's sequence numbers differ behind us: from a place on by `after`, and by
/// `before` up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shift {
    at: u32,
    before: u32,
    after: u32,
}

/// Whether a sequence number is behind another one.
fn is_behind(seq: u32, other: u32) -> bool {
    (seq.wrapping_sub(other) as i32) > 0
}

impl Shift {
    /// The text of the segment that begins at `seq` has become longer by so much (shorter, as a
    /// wrapped number). A segment that is sent again is no news.
    pub(crate) fn grow(&mut self, seq: u32, by: u32) {
        if by != 0 && (self.before == self.after || is_behind(seq, self.at)) {
            *self = Shift { at: seq, before: self.after, after: self.after.wrapping_add(by) };
        }
    }

    fn of(&self, seq: u32) -> u32 {
        if is_behind(seq, self.at) { self.after } else { self.before }
    }

    /// The receiver's number for a sender's.
    pub(crate) fn forth(&self, seq: u32) -> u32 {
        seq.wrapping_add(self.of(seq))
    }

    /// The sender's number for a receiver's.
    pub(crate) fn back(&self, ack: u32) -> u32 {
        let shift = if is_behind(ack.wrapping_sub(self.before), self.at) {
            self.after
        } else {
            self.before
        };
        ack.wrapping_sub(shift)
    }
}

/// Changes a 32-bit number of a TCP header, and the checksum with it.
fn replace(tcp: &mut [u8], at: usize, new: impl Fn(u32) -> u32) {
    let Some(&[a, b, c, d]) = tcp.get(at..at + 4).and_then(<[u8]>::first_chunk) else { return };
    let old = u32::from_be_bytes([a, b, c, d]);
    let new = new(old);
    tcp[at..at + 4].copy_from_slice(&new.to_be_bytes());
    // A number in the middle of a word counts as the bytes of two.
    let (old, new) =
        if at.is_multiple_of(2) { (old, new) } else { (old.rotate_left(8), new.rotate_left(8)) };
    let sum = u16::from_be_bytes([tcp[16], tcp[17]]);
    let sum = Delta::default().u32(old, new).apply(sum);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
}

/// Brings the sequence number of a segment to its receiver's.
pub(crate) fn shift_seq(tcp: &mut [u8], shift: &Shift) {
    if tcp.len() >= 20 {
        replace(tcp, 4, |seq| shift.forth(seq));
    }
}

/// Brings what a segment acknowledges, by SACK too, to the other side's numbers.
pub(crate) fn shift_acks(tcp: &mut [u8], shift: &Shift) {
    if tcp.len() < 20 {
        return;
    }
    if tcp[13] & 0x10 != 0 {
        replace(tcp, 8, |ack| shift.back(ack));
    }
    let end = (usize::from(tcp[12] >> 4) * 4).min(tcp.len());
    let mut at = 20;
    while at < end {
        let len = match tcp[at] {
            0 => return,
            1 => 1,
            _ => usize::from(*tcp.get(at + 1).unwrap_or(&0)).max(2),
        };
        if tcp[at] == 5 && at + len <= end {
            for edge in (at + 2..at + len).step_by(4).filter(|edge| edge + 4 <= at + len) {
                replace(tcp, edge, |ack| shift.back(ack));
            }
        }
        at += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Original, Reply};

    #[test]
    fn what_lines_announce() {
        /// A line, who says it, and how it says another address and port, with its own port.
        type Case = (&'static str, Direction, Option<(&'static str, u16)>);
        let cases: [Case; 17] = [
            ("PORT 10,0,1,1,156,64\r\n", Original, Some(("192,0,2,9,4,210", 40000))),
            ("port 10,0,1,1,0,21\r\n", Original, Some(("192,0,2,9,4,210", 21))),
            ("EPRT |1|10.0.1.1|40000|\r\n", Original, Some(("|1|192.0.2.9|1234|", 40000))),
            ("EPRT !1!10.0.1.1!40000!\r\n", Original, Some(("!1!192.0.2.9!1234!", 40000))),
            (
                "227 Entering Passive Mode (10,0,1,1,156,64).\r\n",
                Reply,
                Some(("192,0,2,9,4,210", 40000)),
            ),
            ("227 =10,0,1,1,156,64\r\n", Reply, Some(("192,0,2,9,4,210", 40000))),
            ("229 Extended (|||40000|)\r\n", Reply, Some(("|||1234|", 40000))),
            ("PORT 10,0,1,1,156,64", Original, None),
            ("PORT 10,0,1,1,156\r\n", Original, None),
            ("PORT 10,0,1,1,156,64,1\r\n", Original, None),
            ("PORT 10,0,1,256,156,64\r\n", Original, None),
            ("PORT 10,0,1,1,0,0\r\n", Original, None),
            ("EPRT |2|2001:db8::1|40000|\r\n", Original, None),
            ("EPRT |1|10.0.1.1|40000\r\n", Original, None),
            ("229 Extended (|||70000|)\r\n", Reply, None),
            ("227 (10,0,1,1,156,64)\r\n", Original, None),
            ("é\r\n", Original, None),
        ];
        for (line, from, expected) in cases {
            let read = Announced::read(line.as_bytes(), from);
            let said = read.as_ref().map(|read| (read.say(0xc000_0209, 1234), read.port));
            let expected = expected.map(|(said, port)| (said.to_string(), port));
            assert_eq!(said, expected, "{line}");
            if let Some(read) = read {
                // The same said again is the same text.
                let again = read.say(read.address.unwrap_or(0), read.port);
                assert_eq!(again, line[read.at], "{line}");
            }
        }
    }

    #[test]
    fn numbers_go_forth_and_back() {
        for start in [0, 1000, u32::MAX - 20] {
            let mut shift = Shift::default();
            let seq = |n: u32| start.wrapping_add(n);
            assert_eq!(shift.forth(seq(10)), seq(10));
            shift.grow(seq(10), 3);
            shift.grow(seq(10), 3);
            for (sent, came) in [(5, 5), (10, 10), (30, 33), (31, 34)] {
                assert_eq!(shift.forth(seq(sent)), seq(came));
                assert_eq!(shift.back(seq(came)), seq(sent));
            }
            shift.grow(seq(40), 2u32.wrapping_neg());
            for (sent, came) in [(40, 43), (60, 61), (70, 71)] {
                assert_eq!(shift.forth(seq(sent)), seq(came));
                assert_eq!(shift.back(seq(came)), seq(sent), "{sent}");
            }
        }
    }
}
