//! DHCP options as users write them: `0x0a0b`, `'10.0.0.1'`, `'160'`, `s'text'`, one behind the other.

use config::Value;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::MacAddr;

/// The most an option's data are long.
const MAX: usize = 255;

/// A `value` of `/ip dhcp-server option`.
pub(crate) fn value(text: &str) -> Result<Value, String> {
    match bytes(text) {
        Some(_) => Ok(Value::Text(text.to_string())),
        None => Err("0x…, 'an address or a number', s'text', at most 255 bytes".to_string()),
    }
}

/// The bytes of such a value.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let (mut rest, mut all) = (text, Vec::new());
    while !rest.is_empty() {
        if let Some(hex) = rest.strip_prefix("0x") {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            // `0x010x02`: the second 0 is the next part's.
            let end = if hex[end..].starts_with('x') { end - 1 } else { end };
            let (pairs, odd) = hex.as_bytes()[..end].as_chunks::<2>();
            if !odd.is_empty() || pairs.is_empty() {
                return None;
            }
            for pair in pairs {
                all.push(u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?);
            }
            rest = &hex[end..];
            continue;
        }
        let is_text = rest.starts_with("s'");
        let (inner, behind) = rest.trim_start_matches('s').strip_prefix('\'')?.split_once('\'')?;
        rest = behind;
        let address = inner.parse::<Ipv4Addr>().ok();
        let address6 = inner.parse::<Ipv6Addr>().ok().filter(|_| !is_text);
        let number = inner.parse::<u8>().ok();
        match (is_text, address, number) {
            (false, Some(address), _) => all.extend(address.octets()),
            _ if address6.is_some() => all.extend(address6.iter().flat_map(Ipv6Addr::octets)),
            (false, _, Some(number)) => all.push(number),
            _ => all.extend(inner.as_bytes()),
        }
    }
    Some(all).filter(|all| all.len() <= MAX)
}

/// What `$(…)` stands for in what clients say.
pub(super) struct Own<'a> {
    pub(super) name: &'a str,
    pub(super) mac: MacAddr,
    /// The number of the interface (RFC 4361 §6.1).
    pub(super) iaid: u32,
}

/// A `value` of `/ip dhcp-client option`.
pub(super) fn client_value(text: &str) -> Result<Value, String> {
    let own = Own { name: "name", mac: MacAddr::default(), iaid: 0 };
    value(&own.said(text)).map(|_| Value::Text(text.to_string()))
}

impl Own<'_> {
    /// The value with what its `$(…)` stand for, which in quotes are text, and else values of their own, or more
    /// digits behind `0x`.
    fn said(&self, text: &str) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (mut said, mut rest) = (String::new(), text);
        while let Some((before, variable)) = rest.split_once("$(") {
            let Some((name, behind)) = variable.split_once(')') else { break };
            said += before;
            let quoted = said.matches('\'').count() % 2 == 1;
            let digits = said.rsplit_once("0x").map_or("", |(_, digits)| digits);
            let in_hex = said.contains("0x") && digits.chars().all(|c| c.is_ascii_hexdigit());
            let bytes = match name {
                "HOSTNAME" => self.name.replace('\'', "").into_bytes(),
                "CLIENT_MAC" => self.mac.0.to_vec(),
                "CLIENT_DUID" => {
                    [&self.iaid.to_be_bytes()[..], &[0, 3, 0, 1], &self.mac.0].concat()
                }
                _ => return text.to_string(),
            };
            said += &match (quoted, in_hex) {
                (true, _) if name == "HOSTNAME" => String::from_utf8_lossy(&bytes).into_owned(),
                (true, _) => hex(&bytes),
                (false, true) => hex(&bytes),
                (false, false) => format!("0x{}", hex(&bytes)),
            };
            rest = behind;
        }
        said + rest
    }

    /// The bytes of such a value; `None` of one that is too long now.
    pub(super) fn bytes(&self, text: &str) -> Option<Vec<u8>> {
        bytes(&self.said(text))
    }
}

/// A `client-id`: `1:2:0:0:0:0:9`, hexadecimal.
pub(super) fn client_id(text: &str) -> Result<Value, String> {
    let id = read_id(text).ok_or("bytes in hexadecimal, as 1:2:0:0:0:0:9")?;
    Ok(Value::Text(show_id(&id)))
}

/// Its bytes.
pub(super) fn read_id(text: &str) -> Option<Vec<u8>> {
    let bytes = text.split(':').map(|part| u8::from_str_radix(part, 16).ok());
    bytes.collect::<Option<Vec<u8>>>().filter(|id| (1..=MAX).contains(&id.len()))
}

/// As RouterOS shows it.
pub(super) fn show_id(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:x}")).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_router_is_stands_in_values() {
        let own = Own { name: "gw", mac: MacAddr([2, 0, 0, 0, 0, 1]), iaid: 7 };
        for (text, expected) in [
            ("$(HOSTNAME)", Some(&b"gw"[..])),
            ("s'$(HOSTNAME).lan'", Some(b"gw.lan")),
            ("0x01$(CLIENT_MAC)", Some(&[1, 2, 0, 0, 0, 0, 1])),
            ("$(CLIENT_MAC)", Some(&[2, 0, 0, 0, 0, 1])),
            ("0xff$(CLIENT_DUID)", Some(&[255, 0, 0, 0, 7, 0, 3, 0, 1, 2, 0, 0, 0, 0, 1])),
            ("s'a'$(HOSTNAME)", Some(b"agw")),
            ("$(WHAT)", None),
            ("$(HOSTNAME", None),
        ] {
            assert_eq!(own.bytes(text).as_deref(), expected, "{text}");
            assert_eq!(client_value(text).is_ok(), expected.is_some(), "{text}");
        }
        let nobody = Own { name: "", ..own };
        assert_eq!(nobody.bytes("$(HOSTNAME)"), None);
    }

    #[test]
    fn values_are_bytes() {
        for (text, expected) in [
            ("", Some(&b""[..])),
            ("0x0A0b", Some(&[10, 11])),
            ("'10.0.0.1'", Some(&[10, 0, 0, 1])),
            ("s'10'", Some(b"10")),
            ("'160'", Some(&[160])),
            ("'abc'", Some(b"abc")),
            ("0x010x02s'a''7'", Some(&[1, 2, b'a', 7])),
            ("0x1", None),
            ("0x", None),
            ("abc", None),
            ("'abc", None),
        ] {
            assert_eq!(bytes(text).as_deref(), expected, "{text}");
        }
        assert_eq!(bytes(&format!("0x{}", "00".repeat(256))), None);
        assert_eq!(client_id("01:2:FF"), Ok(Value::Text("1:2:ff".to_string())));
        assert!(client_id("01:2:FFF").is_err() && client_id("").is_err());
    }
}
