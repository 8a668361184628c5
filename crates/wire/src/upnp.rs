//! UPnP's messages (UPnP Device Architecture 1.0): requests by HTTP, in TCP and in UDP, and calls in SOAP.
//!
//! ```text
//! M-SEARCH * HTTP/1.1 ␍␊ ST: … ␍␊ ␍␊            by UDP: who is there?
//! POST /control HTTP/1.1 ␍␊ Content-Length: … ␍␊ ␍␊ <s:Envelope><s:Body><u:Action><NewPort>5</NewPort>…
//! ```
//!
//! Any bytes may come: what is longer than [`LONGEST`] is none. XML is read as far as calls need it: elements
//! and their text. Missing: **CDATA**, **chunked bodies**, **entities of its own**, none of which clients send.

/// The longest head of a request, and the longest body.
pub const LONGEST: usize = 8192;
/// UDP's port, and the group.
pub const PORT: u16 = 1900;
/// 239.255.255.250.
pub const GROUP: u32 = 0xefff_fffa;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// `GET`, `POST`, `M-SEARCH` …
    pub method: &'a str,
    /// What it is about.
    pub path: &'a str,
    /// Its lines, the first one left out.
    head: &'a str,
    /// What stands behind the empty line.
    pub body: &'a [u8],
}

/// Bytes that are no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad;

impl<'a> Request<'a> {
    /// Reads the first request of a stream: that and its length; `None` if more of it is to come.
    ///
    /// ```
    /// use wire::upnp::Request;
    /// let (request, len) = Request::read(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n").unwrap().unwrap();
    /// assert_eq!((request.method, request.path, len), ("GET", "/x", 28));
    /// assert_eq!(request.header("host"), Some("a"));
    /// ```
    ///
    /// # Errors
    /// [`Bad`].
    pub fn read(stream: &'a [u8]) -> Result<Option<(Request<'a>, usize)>, Bad> {
        let part = &stream[..stream.len().min(LONGEST)];
        let Some(end) = part.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if stream.len() >= LONGEST { Err(Bad) } else { Ok(None) };
        };
        let head = std::str::from_utf8(&stream[..end]).map_err(|_| Bad)?;
        let (first, head) = head.split_once("\r\n").unwrap_or((head, ""));
        let mut words = first.split(' ');
        let (Some(method), Some(path), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Bad);
        };
        if !version.starts_with("HTTP/1.") || method.is_empty() {
            return Err(Bad);
        }
        let request = Request { method, path, head, body: &[] };
        let len = match request.header("content-length") {
            Some(text) => text.parse().ok().filter(|len| *len <= LONGEST).ok_or(Bad)?,
            None => 0,
        };
        let body = stream.get(end + 4..end + 4 + len);
        Ok(body.map(|body| (Request { body, ..request }, end + 4 + len)))
    }

    /// A header's value, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let mut lines = self.head.split("\r\n").filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// A call in SOAP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is to be done.
    pub action: String,
    /// With what.
    pub arguments: Vec<(String, String)>,
}

impl Call {
    /// Reads the first element of a body, and the elements in it; `None` if there is none.
    pub fn read(body: &[u8]) -> Option<Call> {
        let mut text = std::str::from_utf8(body).ok()?;
        let mut call: Option<Call> = None;
        let (mut in_body, mut open) = (false, String::new());
        // Each turn takes a tag, and the text in front of it.
        while let Some((before, rest)) = text.split_once('<') {
            if let Some(comment) = rest.strip_prefix("!--") {
                text = comment.split_once("-->")?.1;
                continue;
            }
            let (tag, behind) = rest.split_once('>')?;
            text = behind;
            if tag.starts_with(['?', '!']) {
                continue;
            }
            let (ends, name) = match tag.strip_prefix('/') {
                Some(name) => (true, name),
                None => (false, tag),
            };
            let is_empty = name.ends_with('/');
            let name = name.split([' ', '\t', '\r', '\n', '/']).next()?;
            let name = name.split_once(':').map_or(name, |(_, name)| name);
            match (&mut call, ends) {
                (None, false) if in_body => {
                    call = Some(Call { action: name.to_string(), arguments: Vec::new() });
                    if is_empty {
                        break;
                    }
                }
                (None, false) => in_body |= name == "Body",
                (None, true) => {}
                (Some(call), true) if name == call.action => break,
                (Some(call), true) => {
                    if name == open {
                        call.arguments.push((std::mem::take(&mut open), plain(before)));
                    }
                }
                (Some(call), false) if is_empty => {
                    call.arguments.push((name.to_string(), String::new()));
                }
                (Some(_), false) => open = name.to_string(),
            }
        }
        call.filter(|call| !call.action.is_empty())
    }

    /// An argument's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.arguments.iter().find(|(other, _)| other == name).map(|(_, value)| &value[..])
    }
}

/// XML's own entities.
const ENTITIES: [(&str, char); 5] =
    [("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&apos;", '\''), ("&amp;", '&')];

/// Text without XML's entities.
fn plain(text: &str) -> String {
    let (mut text, mut plain) = (text.trim(), String::new());
    while let Some(at) = text.find('&') {
        plain.push_str(&text[..at]);
        text = &text[at..];
        let entity = ENTITIES.iter().find(|(entity, _)| text.starts_with(entity));
        let (len, character) = entity.map_or((1, '&'), |(entity, is)| (entity.len(), *is));
        plain.push(character);
        text = &text[len..];
    }
    plain + text
}

/// Text as XML has it; control characters are left out.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars().filter(|character| !character.is_control()) {
        match ENTITIES.iter().find(|(_, is)| *is == character) {
            Some((entity, _)) => escaped.push_str(entity),
            None => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let whole =
            b"POST /c HTTP/1.1\r\nSOAPAction: \"a#b\"\r\nContent-length:  3 \r\n\r\nabcGET ";
        let (request, len) = Request::read(whole).unwrap().unwrap();
        assert_eq!((request.method, request.path, request.body), ("POST", "/c", &b"abc"[..]));
        assert_eq!(request.header("soapaction"), Some("\"a#b\""));
        assert_eq!((request.header("host"), &whole[len..]), (None, &b"GET "[..]));
        for cut in 0..len {
            assert_eq!(Request::read(&whole[..cut]), Ok(None), "{cut}");
        }
        let long = [b'a'; LONGEST];
        for bad in [
            &b"\r\n\r\n"[..],
            b"GET /x\r\n\r\n",
            b"GET /x y HTTP/1.1\r\n\r\n",
            b"GET /x FTP/1.1\r\n\r\n",
            b"GET /\xff HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: 8193\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            &long,
        ] {
            assert_eq!(Request::read(bad), Err(Bad), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn calls() {
        let body = "<?xml version=\"1.0\"?>\r\n<s:Envelope xmlns:s=\"x\"><s:Header/><s:Body>\
                    <!-- <a> --><u:Add xmlns:u=\"y\"><NewHost></NewHost><NewPort> 5 </NewPort><NewX/>\
                    <NewText a='1'>a &lt;b&gt; &amp;amp; &x</NewText></u:Add></s:Body></s:Envelope>";
        let call = Call::read(body.as_bytes()).unwrap();
        assert_eq!(call.action, "Add");
        let wanted =
            [("NewHost", ""), ("NewPort", "5"), ("NewX", ""), ("NewText", "a <b> &amp; &x")];
        for (name, value) in wanted {
            assert_eq!(call.get(name), Some(value), "{call:?}");
        }
        assert_eq!(call.arguments.len(), 4);
        let none = "<e><Body><u:Get xmlns:u='y'/></Body></e>";
        let none = Call::read(none.as_bytes()).unwrap();
        assert_eq!((&none.action[..], none.arguments.len()), ("Get", 0));
        for bad in ["", "<", "<a>", "<Body>", "<Body><", "<Body></Body>", "<Body><!-- <x>", "Body"]
        {
            assert_eq!(Call::read(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(escaped("a<b>&\"\n"), "a&lt;b&gt;&amp;&quot;");
    }

    /// Any bytes: no panic, and what is said to be there is there.
    #[test]
    fn hostile() {
        let words = [
            "GET ",
            "/ ",
            "HTTP/1.1",
            "\r\n",
            "\r\n\r\n",
            "Content-Length: 9",
            "<",
            ">",
            "</",
            "/>",
            "Body",
            "<Body>",
            "<!--",
            "-->",
            "<?",
            "a",
            ":",
            "&",
            "&lt;",
            " ",
            "\u{e4}",
            "<a>",
            "</a>",
        ];
        let mut seed = 1_u64;
        for _ in 0..50_000 {
            let mut text = String::new();
            for _ in 0..seed >> 60 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text += words[(seed >> 33) as usize % words.len()];
            }
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if let Ok(Some((request, len))) = Request::read(text.as_bytes()) {
                assert!(len <= text.len() && request.body.len() <= len);
            }
            if let Some(call) = Call::read(text.as_bytes()) {
                assert!(call.arguments.iter().all(|(_, value)| value.len() <= text.len()));
            }
        }
    }
}
