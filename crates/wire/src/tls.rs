//! TLS handshake in the clear: the server's name (RFC 8446 §4.1.2, RFC 6066 §3).
//!
//! ```text
//! record 22 │ version │ length ┬ handshake 1 │ length │ version │ random │ session │ suites │ …
//!                              └ … compression │ extensions ─► 0: list ─► 0: host name
//! ```

/// What is left to read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|b| u16::from_be_bytes([b[0], b[1]]))
    }
}

/// The host name that a ClientHello at the start of a TCP payload asks for; `None` if there is none
/// in these bytes.
pub fn server_name(payload: &[u8]) -> Option<&[u8]> {
    const HANDSHAKE: u8 = 22;
    const CLIENT_HELLO: u8 = 1;
    const SERVER_NAME: u16 = 0;
    const HOST_NAME: u8 = 0;
    let mut record = Cursor(payload);
    if record.u8()? != HANDSHAKE || record.u8()? != 3 {
        return None;
    }
    record.take(3)?; // minor version, length: the segment may hold less of it, or more
    if record.u8()? != CLIENT_HELLO {
        return None;
    }
    record.take(3 + 2 + 32)?; // length, version, random
    let session = record.u8()?;
    record.take(session.into())?;
    let suites = record.u16()?;
    record.take(suites.into())?;
    let compressions = record.u8()?;
    record.take(compressions.into())?;
    let len = usize::from(record.u16()?);
    // Of a longer ClientHello the name may still be in what is here.
    let mut extensions = Cursor(record.0.get(..len).unwrap_or(record.0));
    loop {
        let (kind, len) = (extensions.u16()?, extensions.u16()?);
        let body = extensions.take(len.into())?;
        if kind != SERVER_NAME {
            continue;
        }
        let mut list = Cursor(body);
        list.u16()?;
        loop {
            let (kind, len) = (list.u8()?, list.u16()?);
            let name = list.take(len.into())?;
            if kind == HOST_NAME {
                return Some(name);
            }
        }
    }
}

/// A ClientHello with this server name and nothing else to speak of: for tests.
pub fn client_hello(name: &str) -> Vec<u8> {
    let len16 = |bytes: &[u8]| (bytes.len() as u16).to_be_bytes();
    let with_len = |bytes: &[u8]| [&len16(bytes), bytes].concat();
    let entry = [&[0][..], &with_len(name.as_bytes())].concat();
    let sni = [&[0, 0][..], &with_len(&with_len(&entry))].concat();
    let alpn = [&[0, 16][..], &with_len(&with_len(b"\x02h2"))].concat();
    let extensions = with_len(&[alpn, sni].concat());
    let body = [&[3, 3][..], &[7; 32], &[0], &with_len(&[0x13, 1]), &[1, 0], &extensions].concat();
    let handshake = [&[1, 0][..], &with_len(&body)].concat();
    [&[22, 3, 1][..], &with_len(&handshake)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_and_no_cut_or_flip_panics() {
        let hello = client_hello("www.example.com");
        assert_eq!(server_name(&hello), Some(&b"www.example.com"[..]));
        for end in 0..hello.len() {
            let name = server_name(&hello[..end]);
            assert!(name.is_none() || end == hello.len(), "cut at {end}: {name:?}");
        }
        for at in 0..hello.len() {
            for bit in 0..8 {
                let mut other = hello.clone();
                other[at] ^= 1 << bit;
                let _ = server_name(&other);
            }
        }
        assert_eq!(server_name(b"GET / HTTP/1.1\r\n"), None);
    }
}
