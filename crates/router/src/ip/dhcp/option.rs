//! What users write of options: `0x0a0b`, `'10.0.0.1'`, `'160'`, `s'text'`, one behind the other.

use config::Value;
use std::net::{Ipv4Addr, Ipv6Addr};

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
