//! SIP's helper: addresses in SIP (RFC 3261), and in SDP where voice is waited for (RFC 4566, RFC 3264).
//!
//! ```text
//! INVITE sip:bob@192.0.2.9 SIP/2.0           Via, From, To, Contact, routes, the request's own line:
//! Via: SIP/2.0/UDP 10.0.1.1:5060             an end's address, and with its port, as it is seen there
//! Contact: <sip:alice@10.0.1.1:5060>
//!
//! c=IN IP4 10.0.1.1                          the speaker's address
//! m=audio 8000 RTP/AVP 0                     its port, and the next one for RTCP: announced
//! ```
//!
//! Pure: text. A message is understood where it is whole in one datagram.
//!
//! **Missing**: SIP over TCP, `rport` where the source's port is translated, IPv6.

use std::borrow::Cow;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Address and port.
pub(crate) type Place = (u32, u16);

/// One end of the connection: as the sender of the message knows it, and as the receiver does.
pub(crate) type End = (Place, Place);

/// What may be announced: voice at two ports, or calls at another port than the sender's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Media,
    Signalling,
}

/// A header's line that names ends.
const NAMING: [&str; 13] = [
    "via",
    "v",
    "from",
    "f",
    "to",
    "t",
    "contact",
    "m",
    "route",
    "record-route",
    "refer-to",
    "r",
    "reply-to",
];
/// More media in a message are not read.
const MOST_MEDIA: usize = 8;

/// The message as its receiver is to see it; `None` if it is none, or stays as it is. `announce` is told
/// of each place of the speaker's, and says where the others can reach it.
pub(crate) fn translate(
    payload: &[u8],
    ends: &[End; 2],
    mut announce: impl FnMut(Use, Place) -> Option<Place>,
) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(payload).ok()?;
    let first = text.lines().next()?;
    if !first.starts_with("SIP/2.0 ") && !first.ends_with(" SIP/2.0") {
        return None;
    }
    let head_len = text.find("\r\n\r\n").map_or(text.len(), |at| at + 4);
    let (head, body) = text.split_at(head_len);
    let has_sdp = head.lines().any(|line| {
        let (name, value) = header(line);
        let is_type = name.eq_ignore_ascii_case("content-type") || name.eq_ignore_ascii_case("c");
        is_type && value.trim().to_ascii_lowercase().starts_with("application/sdp")
    });
    let new_body = match has_sdp {
        true => sdp(body, ends, &mut announce),
        false => body.to_string(),
    };
    let mut new = String::with_capacity(text.len() + 64);
    for (n, line) in head.split_inclusive('\n').enumerate() {
        let (name, _) = header(line);
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if n > 0 && (is("content-length") || is("l")) && new_body.len() != body.len() {
            new += &format!("{name}: {}\r\n", new_body.len());
        } else if n == 0 || NAMING.iter().any(|naming| is(naming)) {
            let is_contact = is("contact") || is("m");
            new += &named(line, ends, |place| {
                if is_contact { announce(Use::Signalling, place) } else { None }
            });
        } else {
            new += line;
        }
    }
    new += &new_body;
    (new.as_bytes() != payload).then(|| new.into_bytes())
}

/// A header's name and value.
fn header(line: &str) -> (&str, &str) {
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    (name.trim(), value)
}

/// A line, its ends as the receiver knows them. `other` says it of another port of the sender's.
fn named<'a>(
    line: &'a str,
    ends: &[End; 2],
    mut other: impl FnMut(Place) -> Option<Place>,
) -> Cow<'a, str> {
    let mut new = String::new();
    let mut done = 0;
    let mut at = 0;
    while let Some(skip) = line[at..].find(|c: char| c.is_ascii_digit()) {
        let start = at + skip;
        let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ':';
        let len = line[start..].find(|c| !is_part(c)).unwrap_or(line.len() - start);
        at = start + len;
        let word = line[start..at].trim_end_matches(['.', ':']);
        // A number within a word is a name's.
        let is_word = !line[..start].ends_with(|c: char| c.is_alphanumeric() || c == '.');
        let place = match word.parse::<SocketAddrV4>() {
            Ok(place) => Some((u32::from(*place.ip()), Some(place.port()))),
            Err(_) => word.parse::<Ipv4Addr>().ok().map(|address| (u32::from(address), None)),
        };
        let Some((address, port)) = place.filter(|_| is_word) else { continue };
        let seen = ends.iter().enumerate().find_map(|(n, (as_sent, as_seen))| match port {
            _ if address != as_sent.0 => None,
            None => Some((as_seen.0, None)),
            Some(port) if port == as_sent.1 => Some((as_seen.0, Some(as_seen.1))),
            Some(port) if n == 0 => {
                other((address, port)).map(|(address, port)| (address, Some(port)))
            }
            Some(_) => None,
        });
        if let Some((address, port)) = seen {
            new += &line[done..start];
            new += &Ipv4Addr::from(address).to_string();
            if let Some(port) = port {
                new += &format!(":{port}");
            }
            done = start + word.len();
        }
    }
    if done == 0 {
        return Cow::Borrowed(line);
    }
    new += &line[done..];
    Cow::Owned(new)
}

/// The session's description, with the sender's places as others can reach them.
fn sdp(
    body: &str,
    ends: &[End; 2],
    announce: &mut impl FnMut(Use, Place) -> Option<Place>,
) -> String {
    let lines: Vec<&str> = body.split_inclusive('\n').collect();
    let address = |line: &str| {
        let address = line.strip_prefix("c=IN IP4 ")?.trim_end();
        address.split('/').next()?.parse::<Ipv4Addr>().ok().map(u32::from)
    };
    let is_media = |line: &&str| line.starts_with("m=");
    let first = lines.iter().position(is_media).unwrap_or(lines.len());
    let of_session = lines[..first].iter().find_map(|line| address(line));
    let mut new = String::with_capacity(body.len() + 32);
    // The port of RTCP, as sent and as seen.
    let mut control = (0, 0);
    let mut media = 0;
    for (n, line) in lines.iter().enumerate() {
        let own = (ends[0].0.0, ends[0].1.0);
        if is_media(line) && media < MOST_MEDIA {
            media += 1;
            let rest = &lines[n + 1..];
            let end = rest.iter().position(is_media).unwrap_or(rest.len());
            let at = rest[..end].iter().find_map(|line| address(line)).or(of_session);
            let mut words: Vec<Cow<str>> = line.split(' ').map(Cow::Borrowed).collect();
            let port = words.get(1).and_then(|port| port.parse::<u16>().ok());
            control = (0, 0);
            if let (Some(at), Some(port @ 1..=65534)) = (at, port)
                && let Some((_, seen)) = announce(Use::Media, (at, port))
            {
                control = (port + 1, seen.saturating_add(1));
                words[1] = Cow::Owned(seen.to_string());
            }
            new += &words.join(" ");
        } else if line.starts_with("c=IN IP4 ") || line.starts_with("o=") {
            let ends = [((own.0, 0), (own.1, 0)), ((0, 0), (0, 0))];
            new += &named(line, &ends, |_| None);
        } else if let Some(rest) = line.strip_prefix("a=rtcp:")
            && let Some(rest) = rest.strip_prefix(&control.0.to_string())
            && !rest.starts_with(|c: char| c.is_ascii_digit())
        {
            let ends = [((own.0, 0), (own.1, 0)), ((0, 0), (0, 0))];
            new += &format!("a=rtcp:{}", control.1);
            new += &named(rest, &ends, |_| None);
        } else {
            new += line;
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: End = ((0x0a00_0101, 5060), (0xc000_0201, 1024));
    const PEER: End = ((0xcb00_7105, 5060), (0xcb00_7105, 5060));

    fn seen(text: &str) -> Option<String> {
        let announce = |what, (address, port): Place| match what {
            Use::Media => (address == OWN.0.0).then_some((OWN.1.0, port + 10)),
            Use::Signalling => Some((OWN.1.0, port + 1)),
        };
        let new = translate(text.replace('\n', "\r\n").as_bytes(), &[OWN, PEER], announce)?;
        Some(String::from_utf8(new).unwrap().replace("\r\n", "\n"))
    }

    #[test]
    fn a_call() {
        let said = "INVITE sip:bob@203.0.113.5 SIP/2.0
Via: SIP/2.0/UDP 10.0.1.1:5060;branch=z9hG4bK10.0.1.1
From: <sip:alice@10.0.1.1>;tag=1
To: <sip:bob@203.0.113.5>
Call-ID: 1@10.0.1.1
m: <sip:alice@10.0.1.1:5070>, <sip:alice@10.0.1.15:5060>
Content-Type: application/sdp
Content-Length: 118

v=0
o=alice 1 1 IN IP4 10.0.1.1
c=IN IP4 10.0.1.1
m=audio 8000 RTP/AVP 0
a=rtcp:8001
m=video 0 RTP/AVP 31
m=audio 8100 RTP/AVP 0
c=IN IP4 10.9.9.9
";
        let want = "INVITE sip:bob@203.0.113.5 SIP/2.0
Via: SIP/2.0/UDP 192.0.2.1:1024;branch=z9hG4bK10.0.1.1
From: <sip:alice@192.0.2.1>;tag=1
To: <sip:bob@203.0.113.5>
Call-ID: 1@10.0.1.1
m: <sip:alice@192.0.2.1:5071>, <sip:alice@10.0.1.15:5060>
Content-Type: application/sdp
Content-Length: 160

v=0
o=alice 1 1 IN IP4 192.0.2.1
c=IN IP4 192.0.2.1
m=audio 8010 RTP/AVP 0
a=rtcp:8011
m=video 0 RTP/AVP 31
m=audio 8100 RTP/AVP 0
c=IN IP4 10.9.9.9
";
        let new = seen(said).expect("addresses");
        let body = |text: &str| text.split_once("\n\n").map(|(_, body)| body.to_string());
        let (len, new_body) = (body(want).unwrap(), body(&new).unwrap());
        assert_eq!(new_body, len);
        let crlf = new_body.replace('\n', "\r\n").len();
        assert_eq!(new, want.replace("Length: 160", &format!("Length: {crlf}")));
    }

    proptest::proptest! {
        /// Whatever comes, nothing breaks, and what is translated is translated once.
        #[test]
        fn hostile_text(pieces in proptest::collection::vec(proptest::sample::select(vec![
            "INVITE sip:1.2.3.4 SIP/2.0", "SIP/2.0 200 OK", "\r\n", "\n", "\r\n\r\n", "Via: ", "m:", "é",
            "10.0.1.1", "10.0.1.1:5060", "10.0.1.1:", ".", ":", "99999", "Content-Type: application/sdp",
            "Content-Length: 7", "m=audio ", "m=", "c=IN IP4 ", "a=rtcp:", "8000", "65535", " ", "o=",
        ]), 0..24)) {
            let text = format!("SIP/2.0 200 OK\r\n{}", pieces.concat());
            for text in [text, pieces.concat()] {
                let _ = translate(text.as_bytes(), &[OWN, PEER], |_, (address, port)| {
                    (port > 9).then_some((address ^ 1, port.wrapping_add(1)))
                });
            }
        }
    }

    #[test]
    fn what_stays() {
        for text in [
            "",
            "hello",
            "GET / HTTP/1.1\n\n",
            "SIP/2.0 200 OK\nCall-ID: 1@10.0.1.1\n\n",
            "SIP/2.0 200 OK\nVia: SIP/2.0/UDP 10.0.1.11:5060\n\n",
            "SIP/2.0 200 OK\nContent-Type: application/sdp\n\nm=\nm=audio\nc=IN IP4 é\nm=audio 99999 x",
        ] {
            assert_eq!(seen(text), None, "{text}");
        }
    }
}
